"""The launch argument `params_file`: what goes before what, and what is refused before a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from haptic_core.parameter_files import read_parameter_file
from haptic_launch.experiments import load_experiment
from haptic_launch.file_parameters import nodes_of_run, with_parameter_file
from haptic_launch.launch_file import LaunchDescription, load_launch_file
from haptic_launch.runner import UsageError


def description(name: str = "friction_impedance") -> LaunchDescription:
    return load_launch_file(load_experiment(name).launch_file)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "my.yaml"


def changed(file: Path, text: str, name: str = "friction_impedance", **arguments: str) -> dict[str, object]:
    file.write_text(text)
    nodes = nodes_of_run(description(name), {**arguments, "params_file": str(file)})
    return {f"{node.full_name}.{key}": node.parameters[key] for node in nodes for key in node.changed}


FRICTION = "/joystick/friction: {ros__parameters: {friction_force: 2, mass: 3.0}}"


def test_the_file_goes_before_the_launch_file_and_arguments_of_the_user_before_the_file(file: Path) -> None:
    assert changed(file, FRICTION) == {"/joystick/friction.friction_force": 2.0, "/joystick/friction.mass": 3.0}
    assert changed(file, FRICTION, friction_force="4.0") == {"/joystick/friction.mass": 3.0}
    # 2.0 is the launch file's own mass
    assert changed(file, "/joystick/friction: {ros__parameters: {mass: 2.0}}") == {}


def test_nested_parameters_replace_entries_of_a_list_but_not_those_of_an_argument(file: Path) -> None:
    text = "/joystick/device: {ros__parameters: {hand_values: {expected_resistance: 0.5, mass: 1.0e-1}}}"
    name = "/joystick/device.hand_parameters"
    # the launch file has an entry expected_resistance=0.3
    assert changed(file, text, "touch_clutter") == {name: ["expected_resistance=0.5", "mass=0.1"]}
    assert changed(file, text, "touch_clutter", hand_parameters="['mass=0.2']") == {}


def test_arguments_that_are_not_the_users_do_not_go_before_the_file(file: Path) -> None:
    file.write_text(FRICTION)
    arguments = {"friction_force": "4.0", "params_file": str(file)}
    nodes = {node.name: node for node in nodes_of_run(description(), arguments, given=())}
    assert nodes["friction"].parameters["friction_force"] == 2.0


def test_a_value_that_follows_from_an_argument_of_the_user_goes_before_the_file(file: Path) -> None:
    """`layout` is set by `let` from `automatic`."""
    with pytest.raises(UsageError, match="/recorder: parameter layout"):
        changed(file, "/recorder: {ros__parameters: {layout: processes}}", "tau_touch_world")
    assert (
        changed(file, "/recorder: {ros__parameters: {layout: processes}}", "tau_touch_world", layout="composed") == {}
    )


@pytest.mark.parametrize("layout", ["processes", "composed"])
def test_a_node_of_a_shared_process_has_its_own_name(file: Path, layout: str) -> None:
    text = "/tau/wall: {ros__parameters: {release_gap: 0.0002}}"
    assert changed(file, text, "tau_touch_world", layout=layout) == {"/tau/wall.release_gap": 0.0002}


def test_a_pattern_reaches_each_node_that_has_the_parameter(file: Path) -> None:
    text = "/**: {ros__parameters: {stiffness: 5000.0, use_sim_time: false}}"
    assert changed(file, text) == {"/joystick/friction.stiffness": 5000.0}


@pytest.mark.parametrize(
    "text, message",
    [
        (
            "friction: {ros__parameters: {mass: 3.0}}",
            "node /friction: not in this run; did you mean /joystick/friction?",
        ),
        ("/joystick/friktion: {ros__parameters: {}}", "node /joystick/friktion: not in this run; did you mean"),
        ("/joystick/friction: {ros__parameters: {forc: 3.0}}", "node /joystick/friction: parameter forc: unknown"),
        ("/**: {ros__parameters: {stifness: 3.0}}", "node /**: parameter stifness: unknown; did you mean stiffness?"),
        (
            "/joystick/friction: {ros__parameters: {mass: x}}",
            "node /joystick/friction: parameter mass: expected double",
        ),
        (
            "/joystick/device: {ros__parameters: {mode: realtime}}",
            "node /joystick/device: parameter mode: is 'lockstep'",
        ),
        ("/recorder: {ros__parameters: {experiment: clutter}}", "node /recorder: parameter experiment: is"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_with_file_node_and_parameter(file: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        changed(file, text)
    assert str(refused.value).startswith(f"argument params_file: {file}: {message}")
    assert "\n" not in str(refused.value)


def test_the_file_for_the_nodes_has_full_names_and_what_changes(file: Path, tmp_path: Path) -> None:
    file.write_text("/**: {ros__parameters: {stiffness: 5000}}\n" + FRICTION)
    arguments = {"mass": "2.0", "params_file": str(file)}
    resolved = with_parameter_file(description(), arguments, tmp_path / "resolved.yaml")
    assert resolved == {**arguments, "params_file": str(tmp_path / "resolved.yaml")}
    expected = {"/joystick/friction": {"friction_force": 2.0, "stiffness": 5000.0}}
    assert read_parameter_file(tmp_path / "resolved.yaml") == expected
    assert with_parameter_file(description(), {"mass": "2.0"}, tmp_path / "none.yaml") == {"mass": "2.0"}
    assert not (tmp_path / "none.yaml").exists()
