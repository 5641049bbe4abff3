"""The argument `hardware` of the experiments with a device: which program it starts, and when it is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from haptic_bringup import cli, doctor
from haptic_bringup.runner import prepare_run
from haptic_launch import runner
from haptic_launch.experiments import experiment_names, load_experiment
from haptic_launch.launch_file import LaunchDescription, load_launch_file
from haptic_launch.launch_nodes import launched_nodes
from haptic_launch.launch_substitutions import LaunchFileError

LAUNCH = Path(__file__).parents[3] / "launch"
REALTIME = {"mode": "realtime", "record": "true"}


def device_of(description: LaunchDescription) -> str:
    (device,) = (node for node in launched_nodes(description) if node.parameters.get("sources"))
    return str(device.parameters["device"])


@pytest.mark.slow
@pytest.mark.parametrize("name", experiment_names("haptic_bringup"))
def test_every_experiment_with_a_device_has_the_choice_and_no_other(name: str) -> None:
    description = load_launch_file(load_experiment(name).launch_file)
    argument = next((entry for entry in description.arguments if entry.name == "hardware"), None)
    if device_of(description) == "scripted":
        assert argument is None
        return
    assert argument is not None and argument.default == "simulated"
    started = {}
    for hardware in argument.choices:
        specs = description.evaluate(
            {"hardware": hardware, "layout": "processes"},
            find_executable=lambda package, executable: f"/{package}/{executable}",
        )
        (device,) = (spec for spec in specs if spec.on_exit_shutdown)
        started[hardware] = device.command
    programs = {hardware: command[0] for hardware, command in started.items()}
    assert programs == {
        "simulated": "/haptic_devices/device_node",
        "ros2_control": "/haptic_devices/control_node",
        "mock": "/haptic_devices/mock_control_node",
    }
    files = {hardware: [word for word in command if ":=" in word] for hardware, command in started.items()}
    assert files["simulated"] == files["ros2_control"] == files["mock"]  # the same names and namespace


def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, control: bool, plugins: bool) -> None:
    (tmp_path / "lib").mkdir()
    if plugins:
        (tmp_path / "lib" / "libhaptic_hardware.so").touch()

    def find(package: str) -> str:
        if package == "controller_manager" and not control:
            raise LaunchFileError("package 'controller_manager' not found")
        return str(tmp_path)

    monkeypatch.setattr(runner, "find_package_prefix", find)


@pytest.mark.parametrize("hardware", ["ros2_control", "mock"])
def test_missing_ros2_control_or_plugins_are_named(
    hardware: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed(monkeypatch, tmp_path, control=False, plugins=False)
    with pytest.raises(runner.MissingProgramError) as caught:
        runner.check_hardware({"hardware": hardware, **REALTIME})
    assert str(caught.value) == f"argument hardware: {hardware} needs ros2_control, which is not installed"
    assert caught.value.hint.startswith("sudo apt install ros-jazzy-ros2-control in ")
    runner.check_hardware({"hardware": "simulated", "mode": "lockstep"})
    runner.check_hardware({})


def test_plugins_that_are_not_compiled_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installed(monkeypatch, tmp_path, control=True, plugins=False)
    with pytest.raises(runner.MissingProgramError, match="which are not compiled") as caught:
        runner.check_hardware({"hardware": "ros2_control", **REALTIME})
    assert "./haptics setup" in caught.value.hint


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"hardware": "ros2_control", "mode": "lockstep"}, "ros2_control keeps its own clock, got mode:=lockstep"),
        ({"hardware": "mock"}, "mock keeps its own clock, got mode:=lockstep"),
        ({"hardware": "mock", **REALTIME}, "mock has no truth to record"),
        (
            {"hardware": "ros2_control", "input_device": "spacemouse", **REALTIME},
            "spacemouse leads the hand of the suite's device node, got hardware:=ros2_control",
        ),
    ],
)
def test_runs_that_cannot_be_are_refused(
    arguments: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed(monkeypatch, tmp_path, control=True, plugins=True)
    with pytest.raises(runner.UsageError, match=rf"^argument (hardware|input_device): {message}$"):
        runner.check_hardware(arguments)
    runner.check_hardware({"hardware": "ros2_control", "input_device": "none", **REALTIME})
    runner.check_hardware({"hardware": "mock", "mode": "realtime", "record": "false"})


def test_more_realtime_processes_than_cores_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("mode:=realtime", "layout:=processes")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    message = (
        r"^argument layout: expected composed or automatic, since 4 processes \(contact, device, friction, wall\) "
        r"do not keep 1 ms on 2 cores, got processes$"
    )
    with pytest.raises(runner.UsageError, match=message):
        prepare_run("tau_touch_world", words)
    for other in ((*words, "period:=0.02"), ("mode:=realtime",), ("layout:=processes",)):
        prepare_run("tau_touch_world", other)
    prepare_run("tau_rough_wall", words)  # three processes on two cores miss less than 1 %
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    prepare_run("tau_touch_world", words)


def test_a_user_reads_one_line_and_a_hint(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    installed(monkeypatch, tmp_path, control=False, plugins=False)
    monkeypatch.chdir(tmp_path)
    command = ["haptics", "run", "friction_impedance", "hardware:=ros2_control", "mode:=realtime"]
    monkeypatch.setattr("sys.argv", command)
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 1 and not (tmp_path / "runs").exists()
    error, hint = capsys.readouterr().err.splitlines()
    assert error == "error: argument hardware: ros2_control needs ros2_control, which is not installed"
    assert hint.startswith("  hint: sudo apt install ros-jazzy-ros2-control")


@pytest.mark.parametrize(
    ("present", "compiled", "state", "detail"),
    [
        (False, False, "optional", "absent; the suite's device nodes run without it"),
        (True, False, "optional", "present, but haptic_hardware's plugins are not compiled; "),
        (True, True, "ok", "present"),
    ],
)
def test_doctor_reports_whether_the_plugins_are_installed(
    present: bool, compiled: bool, state: str, detail: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    monkeypatch.setenv("HAPTICS_ACTIVE", str(tmp_path))
    if present:
        (tmp_path / "share" / "controller_manager").mkdir(parents=True)
    if compiled:
        (tmp_path / "install" / "lib").mkdir(parents=True)
        (tmp_path / "install" / "lib" / "libhaptic_hardware.so").touch()
    name, found, text, _ = doctor.optional_rows()[-1]
    assert (name, found) == ("ros2_control", state) and text.startswith(detail)
