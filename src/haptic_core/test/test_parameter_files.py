"""ROS parameter files: layout, patterns, and what of them a node takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from haptic_core.errors import ParameterError
from haptic_core.parameter_files import matches, read_parameter_file, values_for
from haptic_core.parameters import ParameterSpec

SPECS = {
    "mass": ParameterSpec("mass", "double", 1.0, "Mass [kg]", "kg", validation={"gt<>": [0.0]}),
    "law.name": ParameterSpec("law.name", "string", "coulomb", "Law", ""),
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "my.yaml"


def test_nested_names_of_nodes_and_parameters_are_joined(file: Path) -> None:
    file.write_text("/joystick: {friction: {ros__parameters: {law: {name: stribeck}, mass: 2.0}}}")
    assert read_parameter_file(file) == {"/joystick/friction": {"law.name": "stribeck", "mass": 2.0}}


@pytest.mark.parametrize("text", ["", "# nothing", "/**: {ros__parameters: {}}"])
def test_a_file_may_give_nothing(file: Path, text: str) -> None:
    file.write_text(text)
    assert values_for(file, "/joystick/friction", SPECS) == {}


@pytest.mark.parametrize(
    "pattern, name, expected",
    [
        ("/**", "/joystick/friction", True),
        ("/**", "/friction", True),
        ("/*", "/friction", True),
        ("/*", "/joystick/friction", False),
        ("/joystick/*", "/joystick/friction", True),
        ("/**/friction", "/joystick/friction", True),
        ("/joystick/friction", "/joystick/friction", True),
        ("/friction", "/joystick/friction", False),
        ("/joystick/fric.*", "/joystick/friction", False),
    ],
)
def test_patterns_are_those_of_ros(pattern: str, name: str, expected: bool) -> None:
    assert matches(pattern, name) is expected


def test_the_full_name_goes_before_patterns_in_any_order_and_integers_become_doubles(file: Path) -> None:
    file.write_text("/a/b: {ros__parameters: {mass: 3}}\n/**: {ros__parameters: {mass: 2.0, other: 1}}")
    assert values_for(file, "/a/b", SPECS) == {"mass": 3.0}
    assert values_for(file, "/a/c", SPECS) == {"mass": 2.0}  # which lacks `other`


def test_parameters_that_ros_declares_itself_are_ignored(file: Path) -> None:
    own = "use_sim_time: true, start_type_description_service: true, params_file: old.yaml"
    qos = "qos_overrides: {/parameter_events: {publisher: {depth: 1000}}}"
    file.write_text(f"/a/b: {{ros__parameters: {{{own}, {qos}, mass: 2.0}}}}")
    assert values_for(file, "/a/b", SPECS) == {"mass": 2.0}


@pytest.mark.parametrize(
    "text, message",
    [
        ("/a/b: {ros__parameters: {mass: -1.0}}", "node /a/b: parameter mass: expected above 0 [kg], got -1.0"),
        ("/**: {ros__parameters: {mass: x}}", "node /**: parameter mass: expected double [kg], got 'x'"),
        ("/a/b: {ros__parameters: {masss: 1.0}}", "node /a/b: parameter masss: unknown; did you mean mass?"),
        ("/a/b: {ros__parameters: {mass: }}", "node /a/b: parameter mass: expected a boolean, a number, a text"),
        ("/a/b: {ros__parameters: {mass: []}}", "node /a/b: parameter mass: expected a boolean, a number, a text"),
        ("/a/b: {ros__parameters: {mass: [1, 2.5]}}", "node /a/b: parameter mass: expected a boolean, a number"),
        ("/a/b: {ros__parameters: 3}", "node /a/b: ros__parameters: expected a mapping"),
        ("/a/b: {mass: 1.0}", "node /a/b/mass: expected names of nodes over ros__parameters"),
        ("- 1", "expected names of nodes over ros__parameters, got a list"),
        ("ros__parameters: {mass: 1.0}", "expected the name of a node, got 'ros__parameters'"),
        ("/a/b: [", "not YAML: line 1"),
    ],
)
def test_a_refusal_names_file_node_and_parameter(file: Path, text: str, message: str) -> None:
    file.write_text(text)
    with pytest.raises(ParameterError) as refused:
        values_for(file, "/a/b", SPECS)
    assert str(refused.value).startswith(f"{file}: {message}") and "\n" not in str(refused.value)


def test_a_missing_file_is_refused_by_name(file: Path) -> None:
    with pytest.raises(ParameterError, match=r"my\.yaml"):
        read_parameter_file(file)
