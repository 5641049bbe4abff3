"""RViz files and PlotJuggler layouts: what they show is published under these names, with these types and QoS."""

from __future__ import annotations

import ast
import functools
import importlib
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml
from launched_nodes import Parameters, launched
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSCompatibility, QoSProfile, ReliabilityPolicy
from rclpy.qos import qos_check_compatible as check_compatible

from haptic_bags.recorder import _message_class
from haptic_bringup import runner
from haptic_core import qos
from haptic_core.parameters import check_all, load_parameter_specs
from haptic_devices.device import Device
from haptic_devices.factories import NODE_PARAMETER_FILE, find_device
from haptic_launch import runner as launch_runner
from haptic_launch.experiments import experiment_names, load_experiment, share
from haptic_launch.launch_file import load_launch_file
from haptic_launch.launch_substitutions import LaunchFileError
from haptic_launch.processes import VIEWERS, ProcessSpec
from tau_wall_control import TauDevice
from tau_wall_control.walls import Plane, drawing

NAMES = experiment_names("haptic_bringup")
#: experiments that have something to see: a device with a robot description, or a world
SHOWN = [
    name
    for name in NAMES
    if "rviz" in {argument.name for argument in load_launch_file(load_experiment(name).launch_file).arguments}
]

each_experiment = pytest.mark.parametrize("name", NAMES)
each_shown = pytest.mark.parametrize("name", SHOWN)

#: RViz's displays of topics, and what they take
TYPES = {
    "rviz_default_plugins/MarkerArray": "MarkerArray",
    "rviz_default_plugins/RobotModel": "String",
    "rviz_default_plugins/Wrench": "WrenchStamped",
}
WITHOUT_TOPIC = {"rviz_default_plugins/Grid", "rviz_default_plugins/TF"}
TOOLS = {"Interact", "MoveCamera", "Select", "FocusCamera", "Measure"}
PANELS = {"Displays", "Selection", "Tool Properties", "Views", "Time"}


@dataclass
class Run:
    """Processes that an experiment's launch file starts, with or without `rviz:=true`, and its device."""

    processes: list[ProcessSpec]
    device: Device
    viewers: list[Parameters]  # of the programs that only show

    def of(self, program: str) -> list[ProcessSpec]:
        return [process for process in self.processes if Path(process.command[0]).name == program]

    @property
    def file(self) -> Path:
        (rviz,) = self.of("rviz2")
        return Path(rviz.command[rviz.command.index("-d") + 1])

    @property
    def namespace(self) -> str:
        """Namespace of the device, the process whose end ends the run."""
        (device,) = (process for process in self.processes if process.on_exit_shutdown)
        return str(device.fully_qualified_name).rpartition("/")[0]

    @property
    def publishers(self) -> Iterator[tuple[str, str, QoSProfile]]:
        """Topic, type and QoS of each publisher of the suite's nodes, as their sources say."""
        for process in self.processes:
            node = process.fully_qualified_name or ""
            for name, kind, profile in published(Path(process.command[0]).name):
                yield f"{node}{name[1:]}" if name[0] == "~" else f"{node.rpartition('/')[0]}/{name}", kind, profile

    @property
    def topics(self) -> dict[str, tuple[str, QoSProfile]]:
        """Type and QoS of what the suite's nodes publish, by topic."""
        found = {topic: (kind, profile) for topic, kind, profile in self.publishers}
        if not self.device.robot_description():
            del found[f"{self.namespace}/robot_description"]
        if not self.device.has_force_sensor:
            del found[f"{self.namespace}/measured_wrench"]
        return found


@functools.cache
def published(executable: str) -> list[tuple[str, str, QoSProfile]]:
    """Name, type and QoS of each publisher that a suite's node makes itself with one of the profiles of `qos`."""
    return list(_published(executable))


def _published(executable: str) -> Iterator[tuple[str, str, QoSProfile]]:
    found = [point for point in entry_points(group="console_scripts") if point.name == executable]
    if executable in VIEWERS or not found:
        return
    for call in _syntax(found[0].module):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
            continue
        if call.func.attr in ("create_publisher", "create_lifecycle_publisher"):
            kind, name, profile = call.args
            if isinstance(profile, ast.Call) and "tick" not in ast.unparse(profile.func):  # those are not for displays
                assert isinstance(kind, ast.Name) and isinstance(name, ast.Constant)
                yield name.value, kind.id, getattr(qos, ast.unparse(profile.func))()


def _syntax(module: str) -> Iterator[ast.AST]:
    """The syntax of a node's module, and of those modules of its folder that it imports."""
    imported = importlib.import_module(module)
    tree = ast.parse(Path(str(imported.__file__)).read_text())
    yield from ast.walk(tree)
    names = {line.module for line in ast.walk(tree) if isinstance(line, ast.ImportFrom) and line.module}
    for name in sorted(names):
        if name.rpartition(".")[0] == imported.__package__:
            yield from ast.walk(ast.parse(Path(str(importlib.import_module(name).__file__)).read_text()))


@functools.cache
def run_of(name: str, rviz: str) -> Run:
    """With each node in a process of its own; those that share one are the same nodes."""
    description = load_launch_file(load_experiment(name).launch_file)
    known = {argument.name for argument in description.arguments}
    assert ("rviz" in known) == (name in SHOWN)
    arguments = {"layout": "processes"} | ({"rviz": rviz} if name in SHOWN else {})
    processes = launched(description, arguments)
    (values,) = (parameters for process, parameters in processes if process.on_exit_shutdown)
    specs = load_parameter_specs(NODE_PARAMETER_FILE)
    parameters = check_all(specs, {**values, "held": False})
    viewers = [values for process, values in processes if process.only_shows]
    return Run([process for process, _ in processes], find_device(parameters["device"])(parameters), viewers)


@pytest.fixture
def run() -> Callable[[str], Run]:
    return lambda name: run_of(name, "true")


@functools.cache
def document_of(file: Path) -> dict[str, Any]:
    return dict(yaml.load(file.read_text(), yaml.CSafeLoader))


def displays(file: Path) -> list[dict[str, Any]]:
    return list(document_of(file)["Visualization Manager"]["Displays"])


def topic_of(display: dict[str, Any]) -> dict[str, Any]:
    return dict(display.get("Topic") or display["Description Topic"])


# RViz


@each_experiment
def test_experiments_with_a_device_or_a_world_are_shown(name: str) -> None:
    found = run_of(name, "false")
    assert not found.of("rviz2") and not found.of("state_publisher")  # not without being asked
    visible = bool(found.device.robot_description()) or any(kind == "MarkerArray" for kind, _ in found.topics.values())
    assert visible == (name in SHOWN)


@each_shown
def test_its_file_is_installed_and_closing_it_does_not_end_the_run(name: str, run: Callable[[str], Run]) -> None:
    found = run(name)
    assert found.file.is_file() and found.file.parent.parent in (share() / "config", share() / "config" / "shared")
    (rviz,) = found.of("rviz2")
    assert rviz.command[:4] == ["/rviz2/rviz2", "-d", str(found.file), "--ros-args"]
    assert found.viewers == [{"use_sim_time": True}] * (1 + len(found.of("state_publisher")))
    assert rviz.only_shows and not rviz.on_exit_shutdown


@each_shown
def test_every_display_gets_messages_of_its_type_with_its_qos(name: str, run: Callable[[str], Run]) -> None:
    found = run(name)
    topics, seen = found.topics, []
    for display in displays(found.file):
        if display["Class"] in WITHOUT_TOPIC:
            continue
        wanted = topic_of(display)
        kind, offered = topics[wanted["Value"]]
        assert kind == TYPES[display["Class"]]
        asked = QoSProfile(
            reliability=ReliabilityPolicy[wanted["Reliability Policy"].upper().replace(" ", "_")],
            durability=DurabilityPolicy[wanted["Durability Policy"].upper().replace(" ", "_")],
            history=HistoryPolicy[wanted["History Policy"].upper().replace(" ", "_")],
            depth=wanted["Depth"],
        )
        compatible, reason = check_compatible(offered, asked)
        assert compatible != QoSCompatibility.ERROR, reason
        for policy in ("reliability", "durability", "history", "depth"):
            assert getattr(asked, policy) == getattr(offered, policy), policy
        seen.append(wanted["Value"])
    assert len(set(seen)) == len(seen)
    # nothing that could be seen is left out
    assert {topic for topic, (kind, _) in topics.items() if kind == "MarkerArray"} <= set(seen)
    assert any(topic.endswith("/robot_description") for topic in seen) == bool(found.device.robot_description())


@each_experiment
def test_each_topic_of_markers_has_one_publisher(name: str) -> None:
    """A node that clears its own markers (DELETEALL) clears those of no other node."""
    found = run_of(name, "false")
    publishers = Counter(topic for topic, kind, _ in found.publishers if kind == "MarkerArray")
    assert all(count == 1 for count in publishers.values()), publishers
    nodes = {process.fully_qualified_name for process in found.processes}
    assert {topic.removesuffix("/markers") for topic in publishers} <= nodes


@each_shown
def test_the_frame_is_the_device_s_and_tf_comes_from_its_description(name: str, run: Callable[[str], Run]) -> None:
    found = run(name)
    manager = document_of(found.file)["Visualization Manager"]
    assert manager["Global Options"]["Fixed Frame"] == found.device.base_frame
    (described,) = [*found.of("state_publisher"), None][:1]
    assert (described is not None) == bool(found.device.robot_description())
    if described is not None:
        assert described.fully_qualified_name == f"{found.namespace}/robot_state_publisher"
        assert described.only_shows and not described.on_exit_shutdown


def test_no_file_is_left_over(run: Callable[[str], Run]) -> None:
    assert {run(name).file.name for name in SHOWN} == {path.name for path in (share() / "config" / "rviz").iterdir()}


@pytest.mark.parametrize("file", sorted((share() / "config" / "rviz").iterdir()), ids=lambda file: file.stem)
def test_files_are_as_rviz_2_writes_them(file: Path) -> None:
    document = document_of(file)
    assert set(document) == {"Panels", "Visualization Manager", "Window Geometry"}
    assert {panel["Class"] for panel in document["Panels"]} == {f"rviz_common/{panel}" for panel in PANELS}
    manager = document["Visualization Manager"]
    assert {tool["Class"] for tool in manager["Tools"]} == {f"rviz_default_plugins/{tool}" for tool in TOOLS}
    assert {display["Class"] for display in manager["Displays"]} <= TYPES.keys() | WITHOUT_TOPIC
    names = [display["Name"] for display in manager["Displays"]]
    assert len(set(names)) == len(names) and "Grid" in names and "TF" in names
    assert all(display["Enabled"] == display["Value"] for display in manager["Displays"])
    view = manager["Views"]["Current"]
    assert view["Class"] == "rviz_default_plugins/Orbit" and 0.02 < view["Distance"] < 5.0
    for display in manager["Displays"]:
        if display["Class"] == "rviz_default_plugins/Wrench":  # shorter arrows than wide ones are not drawn
            assert display["Arrow Width"] < 3.0 * display["Force Arrow Scale"]  # 3 N are seen


def test_of_the_tau_only_the_markers_that_the_model_does_not_show_are_shown() -> None:
    device, drawn = TauDevice.default(), set()
    canvas = SimpleNamespace(
        **{shape: lambda name, *_: drawn.add(name) for shape in ("box", "sphere", "line", "arrow")}
    )
    state = SimpleNamespace(position=np.zeros(3), rotation=np.eye(3), friction=np.zeros(3),
                            in_contact=[False], penetration=[0.0], push=[0.0])  # fmt: skip
    drawing.draw(canvas, device, [Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))], state)  # type: ignore[arg-type]
    (markers,) = (d for d in displays(share() / "config/rviz/tau.rviz") if d["Name"] == "Walls")
    hidden = {name.removeprefix("wall/") for name, shown in markers["Namespaces"].items() if not shown}
    assert len(hidden) == len(markers["Namespaces"])
    assert drawn - hidden == {"wall 1", "contact 1", "force 1", "friction"} and hidden <= drawn


def test_without_rviz_the_run_is_refused_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from haptic_bringup import cli

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runner, "launch", lambda *_: pytest.fail("started"))
    monkeypatch.setattr(launch_runner, "find_package_prefix", missing("rviz2"))
    monkeypatch.setattr("sys.argv", ["haptics", "run", "tau_wall", "rviz:=true"])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 1 and not list(tmp_path.iterdir())
    error, hint = capsys.readouterr().err.splitlines()
    assert error == "error: argument rviz: not installed: rviz2"
    assert hint.startswith("  hint: sudo apt install ros-jazzy-rviz2 in ") and "same bag and report" in hint


def missing(*packages: str) -> Callable[[str], str]:
    def find(package: str) -> str:
        if package in packages:
            raise LaunchFileError(f"package '{package}' not found")
        return "/opt/ros/jazzy"

    return find


def test_both_packages_are_needed_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch_runner, "find_package_prefix", missing(*launch_runner.RVIZ_PACKAGES))
    with pytest.raises(
        launch_runner.MissingProgramError, match=r"not installed: rviz2, robot_state_publisher$"
    ) as caught:
        runner.check_viewer({"rviz": "true"})
    assert "ros-jazzy-rviz2 ros-jazzy-robot-state-publisher" in caught.value.hint
    runner.check_viewer({"rviz": "false"})
    runner.check_viewer({})
    monkeypatch.setattr(launch_runner, "find_package_prefix", missing())
    runner.check_viewer({"rviz": "true"})


# PlotJuggler

#: what each family's experiments record
FAMILIES = {
    "friction": "haptic_msgs/msg/FrictionState",
    "contact": "haptic_msgs/msg/BodyStates",
    "constraints": "haptic_msgs/msg/ConstrainedReference",
    "tau": "haptic_msgs/msg/WallState",
}
#: PlotJuggler leaves out arrays that are longer
LONGEST = 100


def family_of(name: str) -> str:
    """The layout that an experiment has; that of the device's own node where there are several."""
    return [f for f, kind in FAMILIES.items() if kind in load_experiment(name).topics.values()][-1]


def curves(family: str) -> list[str]:
    """The time series that a layout draws, those of curves over another one, too."""
    root = ElementTree.parse(share() / "config" / "plotjuggler" / f"{family}.xml").getroot()
    found = []
    for curve in root.iter("curve"):
        pair = [curve.get("curve_x"), curve.get("curve_y")]
        found += pair if all(pair) else [curve.get("name")]
    return [str(series) for series in found]


def is_drawn_from(series: str, topics: dict[str, str]) -> bool:
    """Returns true if PlotJuggler's name of a curve is that of a numeric field of one of the topics."""
    for topic, kind in topics.items():
        if not series.startswith(topic + "/"):
            continue
        message: Any = _message_class(kind)
        *parts, last = series.removeprefix(topic + "/").split("/")
        for part in parts:
            part_kind = message.get_fields_and_field_types().get(part, "")
            if "/" not in part_kind or "<" in part_kind:
                return False
            package, _, name = part_kind.partition("/")
            message = _message_class(f"{package}/msg/{name}")
        match = re.fullmatch(r"(\w+)(?:\[(\d+)\])?", last)
        assert match is not None, series
        field = message.get_fields_and_field_types().get(match[1], "")
        numbers = r"(double|float|boolean|u?int\d+)"
        if match[2] is None:
            return re.fullmatch(numbers, field) is not None
        return int(match[2]) < LONGEST and re.fullmatch(rf"sequence<{numbers}>", field) is not None
    return False


def test_each_family_has_a_layout_and_each_layout_a_family() -> None:
    layouts = {path.stem for path in (share() / "config" / "plotjuggler").iterdir()}
    assert layouts == {*FAMILIES, "passivity"}


def test_the_layout_of_passivity_draws_the_balance_of_every_port_of_every_experiment() -> None:
    ports = {topic for name in NAMES for topic in load_experiment(name).passivity_topics}
    drawn = curves("passivity")
    fields = ("energy", "power", "injected_damping")
    assert sorted(drawn) == sorted(f"{port}/{field}" for port in ports for field in fields)
    assert all(is_drawn_from(series, dict.fromkeys(ports, "haptic_msgs/msg/PassivityState")) for series in drawn)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_each_curve_is_a_number_that_an_experiment_of_the_family_records(family: str) -> None:
    recorded = [load_experiment(name).recorded.every_tick for name in NAMES if family_of(name) == family]
    series = curves(family)
    assert len(series) > 20
    lost = [name for name in series if not any(is_drawn_from(name, topics) for topics in recorded)]
    assert lost == []


@pytest.mark.slow
@each_experiment
def test_each_experiment_s_own_message_is_drawn(name: str) -> None:
    family, topics = family_of(name), load_experiment(name).recorded.every_tick
    own = [topic for topic, kind in topics.items() if kind in FAMILIES.values()]
    for topic in own:
        assert sum(is_drawn_from(series, {topic: topics[topic]}) for series in curves(family)) >= 3
    assert own


@pytest.mark.parametrize(
    "series",
    [
        "device_state/tool_pose/position",
        "device_state/tool_pose/position/w",
        "device_state/joint_position",
        "device_state/joint_position/x",
        "device_state/joint_position[100]",
        "device_state/tick[0]",
        "device_state/header/frame_id",
        "device_state/nothing/x",
        "device_states/tick",
    ],
)
def test_other_names_are_not_taken_for_curves(series: str) -> None:
    assert not is_drawn_from(f"/tau/{series}", load_experiment("tau_wall").recorded.every_tick)
