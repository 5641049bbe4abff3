"""`./haptics devices`, and `device:=NAME`: which experiments take which device, and what a run is given."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from inverse_service import InverseService
from rich.console import Console
from started_runs import HAPTICS, finish, finished_run, metrics_of

import haptic_devices
from haptic_bags.bags import Bag
from haptic_bringup import cli, real_devices
from haptic_bringup.real_devices import (
    announced,
    check_connected,
    drivers,
    needed_axes,
    show_devices,
    with_input,
    with_real_device,
)
from haptic_bringup.runner import prepare_run
from haptic_core.errors import HapticError, ParameterError
from haptic_devices.drivers.driver import Driver, Presence
from haptic_devices.inputs import gamepad
from haptic_devices.inputs.source import find_input, installed_inputs
from haptic_experiments.graph_steps import ENTRY_POINTS as STEPS
from haptic_experiments.graph_steps import find_step
from haptic_launch.experiments import experiment_names, load_experiment
from haptic_launch.launch_file import LaunchDescription, load_launch_file
from haptic_launch.launch_nodes import launched_nodes
from haptic_launch.runner import MissingProgramError, UsageError, chosen_variants

#: folder of the suite's drivers; packages of the user may have others
SUITE = Path(haptic_devices.__file__).parent
PAGE = (Path(__file__).parents[3] / "docs" / "bring_up.md").read_text()

#: experiments of the joystick, which a real device can replace
PLANAR = ("deformable_peg", "friction_impedance", "joystick_stick_slip", "touch", "touch_clutter")


def description_of(name: str) -> LaunchDescription:
    return load_launch_file(load_experiment(name).launch_file)


def chosen(name: str, **given: str) -> dict[str, str]:
    return with_real_device(name, description_of(name), given)


@pytest.mark.parametrize("name", PLANAR)
def test_every_experiment_of_the_joystick_takes_a_device_with_three_translations(name: str) -> None:
    completed = chosen(name, device="inverse3")
    assert completed == {"device": "inverse3", "mode": "realtime", "duration": "60.0"}
    (device,) = (n for n in launched_nodes(description_of(name), completed) if n.parameters.get("sources"))
    assert (device.parameters["device"], device.parameters["held_axis"]) == ("inverse3", "z")
    assert "device_parameters" in device.parameters


def test_the_list_of_these_experiments_is_complete() -> None:
    """The experiments with the argument are those of PLANAR; each of the others names the device that it needs."""
    with_argument = {
        name
        for name in experiment_names("haptic_bringup")
        if any(a.name == "device" for a in description_of(name).arguments)
    }
    assert with_argument == set(PLANAR)
    for name in PLANAR:
        assert needed_axes(launched_nodes(description_of(name))) == {"x", "y"}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("friction_drift", "experiment friction_drift has no device, got inverse3 "),
        pytest.param(
            "tau_wall",
            r"experiment tau_wall needs tau \(impedance device with 6 degrees of freedom\), got inverse3 ",
            marks=pytest.mark.slow,
        ),
        (
            "friction_admittance",
            r"experiment friction_admittance needs five_bar \(admittance device with 2 degrees of freedom "
            r"and a force sensor\), got inverse3 \(impedance device with 3\)",
        ),
    ],
)
def test_an_experiment_that_needs_another_device_is_refused_in_one_line(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=f"^argument device: {message}"):
        chosen(name, device="inverse3")


def test_a_simulated_device_of_the_other_kind_is_refused_before_a_node_starts() -> None:
    needed = r"experiment friction_impedance needs joystick \(impedance device with 2 degrees of freedom\)"
    with pytest.raises(UsageError, match=rf"^argument device: {needed}, got five_bar \(admittance device\)$"):
        chosen("friction_impedance", device="five_bar")


def test_an_unknown_device_and_an_unknown_argument_are_named() -> None:
    with pytest.raises(UsageError, match=r"^argument device: expected one of .*inverse3.*, got 'inverse4'"):
        chosen("friction_impedance", device="inverse4")
    with pytest.raises(UsageError, match=r"^argument 'stifness' is unknown"):
        chosen("friction_impedance", device="inverse3", stifness="1.0")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mode": "lockstep"}, "argument mode: expected realtime, since inverse3 keeps its own clock, got 'lockstep'"),
        ({"motion": "letters"}, "argument motion: inverse3 is held by a person, not by the simulated hand"),
        ({"held": "false"}, "argument held: inverse3 is held by a person"),
        ({"rviz": "true"}, "argument rviz: the display is that of the simulated device, not of inverse3"),
    ],
)
def test_arguments_that_do_not_fit_a_real_device_are_refused(given: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=f"^{message}"):
        chosen("friction_impedance", device="inverse3", **given)


def test_given_arguments_stay_and_added_ones_are_announced() -> None:
    given = {"device": "inverse3", "duration": "5.0"}
    completed = with_real_device("friction_impedance", description_of("friction_impedance"), given)
    assert completed == {**given, "mode": "realtime"}
    assert announced(given, completed) == "inverse3: mode:=realtime; Ctrl-C ends the run"
    assert announced(completed, completed) == ""


def test_a_run_without_the_argument_or_with_the_simulated_device_is_left_alone() -> None:
    assert chosen("tau_wall", duration="5.0") == {"duration": "5.0"}
    assert chosen("friction_impedance", device="joystick") == {"device": "joystick"}
    assert chosen("tau_wall", device="tau", duration="5.0") == {"duration": "5.0"}


def test_a_device_along_x_takes_friction_along_x_only() -> None:
    with pytest.raises(UsageError, match="friction_impedance acts along x, y, and hapkit moves along x only") as caught:
        chosen("friction_impedance", device="hapkit")
    assert caught.value.hint == "friction experiments take axes:=[x]"
    assert chosen("friction_impedance", device="hapkit", axes="[x]")["mode"] == "realtime"
    with pytest.raises(UsageError, match="touch_clutter acts along x, y"):
        chosen("touch_clutter", device="hapkit")


def test_axes_of_a_node_of_another_package_are_those_of_its_parameter() -> None:
    description = description_of("friction_impedance")
    for axes, needed in ((["x"], {"x"}), (["x", "y"], {"x", "y"}), (None, {"x", "y"})):
        nodes = launched_nodes(description, {"layout": "processes"})
        (source,) = (node for node in nodes if node.name == "friction")
        own = {name: value for name, value in source.parameters.items() if name != "axes"}
        parameters = own if axes is None else {**own, "axes": axes}
        nodes[nodes.index(source)] = replace(source, executable="my_lab/spring_node", parameters=parameters)
        assert needed_axes(nodes) == needed


def test_the_list_has_a_row_for_each_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    known = drivers()
    found = {"inverse3": Presence(True, "device 049D"), "touch": Presence(False, "library libHD.so not found")}

    def search(driver: Driver) -> Presence:
        if driver.name not in found:
            raise RuntimeError("a defect")
        return found[driver.name]

    monkeypatch.setattr(Driver, "find", search)
    monkeypatch.setattr(gamepad, "find_joystick", lambda: "")
    console = Console(width=250, record=True)
    show_devices(console)
    lines = console.export_text().splitlines()
    rows = {name: next(line for line in lines if f" {name} " in line) for name in (*known, "gamepad", "spacemouse")}
    assert "no: no /dev/input/js*" in rows["gamepad"] and "6 (no force)" in rows["spacemouse"]
    assert "yes: device 049D" in rows["inverse3"] and lines[-1].startswith("run: ./haptics run EXPERIMENT device:=NAME")
    assert "no: library libHD.so not found" in rows["touch"]
    assert "the search failed: a defect" in rows["force_dimension"]
    assert {"force_dimension", "hapkit", "inverse3", "touch"} <= known.keys()


@pytest.mark.parametrize(("group", "argument"), [("haptic_devices", "device"), ("haptic_inputs", "input_device")])
def test_a_driver_that_cannot_be_loaded_is_listed_with_the_reason(
    broken_package: str, group: str, argument: str
) -> None:
    console = Console(width=250, record=True)
    show_devices(console)
    name = f"broken_{group}"
    (row,) = (line for line in console.export_text().splitlines() if f" {name} " in line)
    assert f"no: {broken_package}" in row and name not in drivers() | installed_inputs()
    with pytest.raises(UsageError, match=f"^argument {argument}: {name}: {re.escape(broken_package)}$"):
        prepare_run("friction_impedance", (f"{argument}:={name}",))


def test_motions_inputs_and_steps_that_cannot_be_loaded_are_refused_in_one_line(broken_package: str) -> None:
    """They ended in tracebacks, one broken input in that of every input."""
    with pytest.raises(HapticError, match=f"^argument motion: broken_haptic_motions: {re.escape(broken_package)}$"):
        prepare_run("friction_impedance", ("motion:=broken_haptic_motions",))
    with pytest.raises(ParameterError, match=f"^parameter source: broken_haptic_inputs: {re.escape(broken_package)}$"):
        find_input("broken_haptic_inputs")
    assert find_input("gamepad").name == "gamepad"
    with pytest.raises(HapticError, match=re.escape(f"broken/node: {broken_package}")):
        find_step("broken/node")


@pytest.fixture
def broken_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Installs a package whose module cannot be imported, with entry points; returns the reason in the errors."""
    (tmp_path / "broken_lab.py").write_text("import no_such_serial_library\n")
    info = tmp_path / "broken_lab-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-lab\nVersion: 1.0\n")
    names = {group: f"broken_{group}" for group in ("haptic_devices", "haptic_inputs", "haptic_motions")}
    names[STEPS] = "broken.node"
    groups = (f"[{group}]\n{name} = broken_lab:DRIVER\n" for group, name in names.items())
    (info / "entry_points.txt").write_text("".join(groups))
    monkeypatch.syspath_prepend(str(tmp_path))
    return "broken_lab:DRIVER cannot be loaded: ModuleNotFoundError: No module named 'no_such_serial_library'"


def test_a_search_that_raises_refuses_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def search(parameters: object) -> Presence:
        raise OSError("a defect")

    broken = replace(drivers()["hapkit"], search=search)
    monkeypatch.setattr(real_devices, "find_device", lambda name: broken)
    nodes = launched_nodes(description_of("friction_impedance"), {"device": "hapkit", "mode": "realtime"})
    with pytest.raises(MissingProgramError, match=r"hapkit cannot be used: the search failed: a defect$"):
        check_connected(nodes)


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("friction_drift", {}, "gamepad leads a simulated hand, and this run of friction_drift has none"),
        ("tau_wall", {"held": "false"}, "gamepad leads a simulated hand, and this run of tau_wall has none"),
        ("friction_impedance", {"device": "inverse3"}, "gamepad leads a simulated hand, and this run of"),
        ("tau_wall", {}, r"gamepad is not connected: no /dev/input/js\*"),
    ],
)
def test_an_input_without_a_hand_or_that_is_not_there_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, given: dict[str, str], message: str
) -> None:
    monkeypatch.setattr(gamepad, "find_joystick", lambda: "")
    with pytest.raises(UsageError, match=f"^argument input_device: {message}"):
        with_input(name, description_of(name), {"input_device": "gamepad", **given})
    with pytest.raises(UsageError, match=r"^argument input_device: expected one of none, gamepad, spacemouse"):
        with_input(name, description_of(name), {"input_device": "mouse"})


def test_an_input_leads_the_hand_in_real_time_for_a_minute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "js0").touch()
    monkeypatch.setattr(gamepad, "find_joystick", lambda: str(tmp_path / "js0"))
    for name in ("friction_admittance", "rolling_disk"):
        completed = with_input(name, description_of(name), {"input_device": "gamepad"})
        assert completed == {"input_device": "gamepad", "pace": "1.0", "duration": "60.0"}
        (node,) = (n for n in launched_nodes(description_of(name), completed) if n.name == "input")
        assert (node.executable, node.parameters["source"]) == ("haptic_devices/input_node", "gamepad")
        (device,) = (n for n in launched_nodes(description_of(name), completed) if n.parameters.get("sources"))
        assert node.namespace == device.namespace
    assert with_input("tau_wall", description_of("tau_wall"), {"input_device": "none"}) == {"input_device": "none"}
    experiment = load_experiment("friction_impedance")
    assert len(chosen_variants(experiment, {"input_device": "none"}, {})) == 2
    assert len(chosen_variants(experiment, {"input_device": "gamepad"}, {"input": "gamepad"})) == 1


def test_a_device_that_does_not_answer_is_refused_before_the_start() -> None:
    with InverseService().running() as service:
        given = {"device": "inverse3", "device_parameters": f"['address={service.address}']", "mode": "realtime"}
        nodes = launched_nodes(description_of("friction_impedance"), given)
        check_connected(nodes)
        check_connected(launched_nodes(description_of("joystick_stick_slip"), given))
    with pytest.raises(MissingProgramError) as caught:
        check_connected(nodes)
    assert str(caught.value) == f"argument device: inverse3 cannot be used: service not running at {service.address}"
    assert caught.value.hint.startswith("docs/bring_up.md")
    check_connected(launched_nodes(description_of("friction_impedance"), {**given, "hardware": "mock"}))
    check_connected(launched_nodes(description_of("tau_wall")))


def test_a_refused_run_leaves_one_line_a_hint_and_no_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["haptics", "run", "friction_drift", "device:=inverse3"])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 2 and not (tmp_path / "runs").exists()
    error, hint = capsys.readouterr().err.splitlines()
    assert error.startswith("error: argument device: experiment friction_drift has no device, got inverse3")
    assert hint.startswith("  hint: ./haptics devices")


def test_the_page_has_a_row_and_a_section_with_messages_for_each_driver() -> None:
    rows = re.findall(r"^\| `([\w:=]+)` \|", PAGE.partition("## Safety first")[0], re.MULTILINE)
    known = [name for name, driver in drivers().items() if driver.file.is_relative_to(SUITE)]
    assert sorted(rows) == sorted([*known, *(f"input_device:={name}" for name in installed_inputs())])
    for name in known:
        assert f"device:={name}" in PAGE


def test_the_messages_of_the_page_are_those_of_the_drivers() -> None:
    sources = " ".join(path.read_text() for path in SUITE.glob("drivers/*.py"))
    tables = re.findall(r"^\| message \| what to do \|\n.*\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    messages = [row.split("`")[1] for table in tables for row in table.splitlines()]
    assert len(messages) > 12
    for message in messages:  # their words without numbers, addresses and names of files
        words = re.findall(r"(?<![\w./])[a-z]{2,}(?![\w./:])", message)
        assert all(re.search(rf"\b{word}\b", sources) for word in words), message


@pytest.mark.experiment
def test_a_run_on_a_real_device_ends_with_a_bag_and_a_report_without_comparison(tmp_path: Path) -> None:
    with InverseService().running() as service:
        entries = f"['address={service.address}', 'stale_periods=1000', 'answer_timeout=30.0', 'reach=1.0']"
        words = ["device:=inverse3", f"device_parameters:={entries}", "duration:=2.0", "friction_force:=1.0"]
        directory = finished_run(tmp_path, "friction_impedance", *words)
    numbers = metrics_of(directory)["device_run"]
    assert (numbers["device"], numbers["product"]) == ("inverse3", "Haply Inverse3 049D, service 3.5.0")
    assert numbers["ticks"] == 2000 and len(numbers["largest_force"]) == 3
    assert (directory / "report.html").exists() and (directory / "figure.png").exists()
    bag = Bag(directory / "bag")
    np.testing.assert_array_equal(bag.topics["/joystick/device_state"]["tick"], np.arange(2000))
    assert "/joystick/simulation_state" not in bag.topics and service.forces
    said = finish(tmp_path, [*HAPTICS, "replay", str(directory)])
    assert "the replay is the recording bit for bit: shown" in " ".join(said.split())
