"""Processes that a launch file describes: command lines, names, environments, parameters and their types."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from launch_texts import Launch, parameters, say, write

from haptic_launch.launch_file import LaunchFileError, load_launch_file
from haptic_launch.launch_nodes import with_required

# Processes


def test_the_command_line_of_a_node(launch: Launch, prefix: Path) -> None:
    (process,) = launch(
        """
- node:
    pkg: demo
    exec: talker
    name: friction
    namespace: joystick
    output: screen
    args: --rate $(env RATE) 'two words'
    on_exit: shutdown
    param:
    - {name: stiffness, value: 6000.0}
    - {from: $(find-pkg-share demo)/demo.yaml}
    - name: law
      param: [{name: force, value: 4.0}, {name: deep, param: [{name: er, value: true}]}]
    remap:
    - {from: device_state, to: /joystick/$(env STATE)}
    - {from: a, to: b}
    env: [{name: A_$(env RATE), value: x $(env RATE)}]
""",
        RATE="1 kHz",
        STATE="state",
    )
    names = [word if "/parameters/" not in word else "FILE" for word in process.command]
    assert names == [
        f"{prefix}/lib/demo/talker",
        *("--rate", "1 kHz", "two words", "--ros-args", "-r", "__node:=friction", "-r", "__ns:=/joystick"),
        *(
            "--params-file",
            "FILE",
            "--params-file",
            f"{prefix}/share/demo/demo.yaml",
            "--params-file",
            "FILE",
        ),
        *("-r", "device_state:=/joystick/state", "-r", "a:=b"),
    ]
    assert parameters(process) == [
        {"/joystick/friction": {"ros__parameters": {"stiffness": 6000.0}}},
        {"/**": {"ros__parameters": {"rate": 1.5}}},
        {"/joystick/friction": {"ros__parameters": {"law.force": 4.0, "law.deep.er": True}}},
    ]
    assert process.name == "friction"
    assert process.fully_qualified_name == "/joystick/friction"
    assert process.on_exit_shutdown
    assert process.environment == {
        "AMENT_PREFIX_PATH": str(prefix),
        "RATE": "1 kHz",
        "STATE": "state",
        "A_1 kHz": "x 1 kHz",
    }
    assert process.source.endswith("main.launch.yaml:2: node 'friction'")


def test_a_node_that_is_started_again(launch: Launch) -> None:
    text = "- arg: {name: again, default: 'false'}\n- node: {pkg: demo, exec: talker, respawn: $(var again)%s}"
    assert launch(text % "")[0].respawn_delay is None
    assert launch(text % "", {"again": "true"})[0].respawn_delay == 0.0
    assert launch(text % ", respawn_delay: 1.5", {"again": "true"})[0].respawn_delay == 1.5
    assert launch(text % ", respawn_delay: 1.5")[0].respawn_delay is None


def test_parameters_of_one_node_below_a_name_of_another(launch: Launch) -> None:
    """YAML's anchors: as the nodes of a composed process take what they would take alone."""
    text = """
- arg: {name: mode, default: lockstep}
- node: {pkg: demo, exec: talker, name: wall, param: &wall [
    {name: mode, value: $(var mode)}, {name: period, value: "2", type: float}, {name: list, value: [1, $(var mode)]}]}
- node: {pkg: demo, exec: talker, name: all, param: [{name: nodes, value: [wall]}, {name: wall, param: *wall}]}
"""
    alone, together = launch(text.replace('"2"', "$(var mode)"), {"mode": "2"})
    values = {name: value for file in parameters(alone) for name, value in file["/**"]["ros__parameters"].items()}
    assert values == {"mode": 2, "period": 2.0, "list": [1, 2]}
    nested = parameters(together)[1]["/**"]["ros__parameters"]
    assert nested == {f"wall.{name}": value for name, value in values.items()}


def test_run_requires_the_nodes_of_the_loop_whose_clock_waits_for_them(launch: Launch) -> None:
    mode = "{name: mode, value: realtime}"
    specs = launch(
        f"""
- node: {{pkg: demo, exec: talker, name: recorder, param: [{mode}]}}
- node: {{pkg: demo, exec: talker, name: wall, namespace: tau, param: [{mode}]}}
- node: {{pkg: demo, exec: talker, name: device, namespace: tau, param: [{mode}, {{name: sources, value: [wall]}}]}}
- node: {{pkg: demo, exec: talker, name: spawner, param: [{{name: rate, value: 1}}]}}
- executable: {{cmd: echo mode}}
"""
    )
    assert [spec.name for spec in with_required(specs) if spec.required] == ["recorder", "wall"]


def test_a_node_without_name_or_namespace(launch: Launch, prefix: Path) -> None:
    text = "- node: {pkg: demo, exec: talker, param: [{name: a, value: 1}]%s}"
    (process,) = launch(text % "")
    assert process.command[:2] == [f"{prefix}/lib/demo/talker", "--ros-args"]
    assert (process.name, process.fully_qualified_name) == ("talker", None)
    assert parameters(process) == [{"/**": {"ros__parameters": {"a": 1}}}]
    (process,) = launch(text % ", name: b")
    assert process.command[1:4] == ["--ros-args", "-r", "__node:=b"]
    assert (process.name, process.fully_qualified_name) == ("b", "/b")
    assert parameters(process) == [{"/**": {"ros__parameters": {"a": 1}}}]
    (process,) = launch(text % ", name: b, namespace: /")
    assert parameters(process) == [{"/b": {"ros__parameters": {"a": 1}}}]


def test_namespaces_of_groups(launch: Launch) -> None:
    text = """
- group:
  - push_ros_namespace: {namespace: left}
  - node: {pkg: demo, exec: talker, name: a}
  - node: {pkg: demo, exec: talker, name: a, namespace: arm/}
  - node: {pkg: demo, exec: talker, name: b, namespace: /tau}
  - push-ros-namespace: {namespace: deep}
  - node: {pkg: demo, exec: talker, name: a}
- node: {pkg: demo, exec: talker, name: c, namespace: x}
- node: {pkg: demo, exec: talker, name: d}
"""
    processes = launch(text)
    names = [process.fully_qualified_name for process in processes]
    assert names == ["/left/a", "/left/arm/a", "/tau/b", "/left/deep/a", "/x/c", "/d"]
    assert [process.name for process in processes] == ["left/a", "left/arm/a", "b", "left/deep/a", "c", "d"]
    spaces = [word for process in processes for word in process.command if word.startswith("__ns:=")]
    assert spaces == [f"__ns:={space}" for space in ("/left", "/left/arm", "/tau", "/left/deep", "/x")]


def test_an_executable(launch: Launch) -> None:
    text = "- executable: {cmd: bash -c 'echo $0' $(env WHO), name: greet, env: [{name: B, value: c}]}\n"
    greet, first, second = launch(text + "- executable: {cmd: ls, on_exit: shutdown}\n" * 2, WHO="you and me")
    assert greet.command == ["bash", "-c", "echo $0", "you and me"]
    assert greet.name == "greet" and greet.environment["B"] == "c" and not greet.on_exit_shutdown
    assert greet.fully_qualified_name is None
    assert [first.name, second.name] == ["ls-1", "ls-2"] and first.on_exit_shutdown


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("a b  c", ["a", "b", "c"]),
        ("a 'b c' \"d e\"", ["a", "b c", "d e"]),
        ("a $(env V)", ["a", "x y"]),
        ("a --v=$(env V)!", ["a", "--v=x y!"]),
        ("a $(env V) $(env V)$(env V) b", ["a", "x y", "x yx y", "b"]),
        ("$(env V)", ["x y"]),
        ("a $(env E)", ["a", ""]),
        ("  a\t$(env V)\n", ["a", "x y"]),
    ],
)
def test_splitting_a_command(launch: Launch, command: str, arguments: list[str]) -> None:
    (process,) = launch(say(command), V="x y", E="")
    assert process.command == arguments


def test_the_environment_is_the_callers_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FROM_CALLER", "1")
    (process,) = load_launch_file(write(tmp_path / "a.launch.yaml", say("x $(env FROM_CALLER)"))).evaluate()
    assert process.command == ["x", "1"]
    assert process.environment == dict(os.environ)


def test_the_caller_may_find_packages_and_executables(tmp_path: Path) -> None:
    text = "- node: {pkg: p, exec: e, args: $(find-pkg-share q)}"
    (process,) = load_launch_file(write(tmp_path / "a.launch.yaml", text)).evaluate(
        find_package_share=lambda package: f"/share/{package}",
        find_executable=lambda package, executable: f"/lib/{package}/{executable}",
    )
    assert process.command == ["/lib/p/e", "/share/q", "--ros-args"]


def test_parameter_files_are_temporary_by_default(tmp_path: Path, prefix: Path) -> None:
    text = "- node: {pkg: demo, exec: talker, param: [{name: a, value: 1}]}"
    description = load_launch_file(write(tmp_path / "a.launch.yaml", text))
    (process,) = description.evaluate(environment={"AMENT_PREFIX_PATH": str(prefix)})
    assert parameters(process) == [{"/**": {"ros__parameters": {"a": 1}}}]


# Types of parameters


@pytest.mark.parametrize(
    ("attributes", "value"),
    [
        ("value: 5", 5),
        ("value: 5.0", 5.0),
        ("value: true", True),
        ("value: text", "text"),
        ("value: ''", ""),
        ("value: '5'", "5"),
        ("value: 'true'", "true"),
        ("value: [1.0, 2.0]", [1.0, 2.0]),
        ("value: [a, b]", ["a", "b"]),
        ("value: $(env INT)", 5),
        ("value: $(env FLOAT)", 2.5),
        ("value: $(env BOOL)", True),
        ("value: $(env TEXT)", "x y"),
        ("value: $(env EMPTY)", ""),
        ("value: $(env LIST)", [1.0, 2.0]),
        ("value: '[$(env INT), 6]'", [5, 6]),
        ("value: [$(env INT), 6]", [5, 6]),
        ("value: [$(env TEXT), b]", ["x y", "b"]),
        ("value: \"'$(env INT)'\"", "5"),
        ("value: $(equals a a)", True),
        ("value: $(env INT)0", 50),
        ("value: $(env INT), type: yaml", 5),
        ("value: $(env INT), type: str", "5"),
        ("value: $(env DATE), type: str", "2026-01-01"),
        ("value: $(env INT), type: float", 5.0),
        ("value: $(env INT), type: int", 5),
        ("value: $(env ONE), type: bool", True),
        ("value: 2.5, type: float", 2.5),
        ("value: [$(env INT), 6.0], type: list_of_float", [5.0, 6.0]),
        ("value: [$(env INT), x], type: list_of_str", ["5", "x"]),
    ],
)
def test_the_type_of_a_parameter(launch: Launch, attributes: str, value: object) -> None:
    text = f"- node: {{pkg: demo, exec: talker, param: [{{name: a, {attributes}}}]}}"
    environment = {
        "INT": "5",
        "FLOAT": "2.5",
        "BOOL": "true",
        "TEXT": "x y",
        "EMPTY": "",
        "LIST": "[1.0, 2.0]",
    }
    (process,) = launch(text, **environment, DATE="2026-01-01", ONE="1")
    (content,) = parameters(process)
    found = content["/**"]["ros__parameters"]["a"]
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ("value: [1, 2.5]", "the elements of [1, 2.5] have to have one type, not float, int"),
        ("value: [true, 1]", "have to have one type, not bool, int"),
        ("value: [$(env FLOAT), 1]", "the elements of a list have to have one type"),
        ("value: {b: 1}", "use 'param' for nesting"),
        ("value: ", "value None is neither"),
        ("value: 2026-01-01", "is neither a boolean, a number, a string"),
        ("value: $(env NULL)", "'null' is no parameter value (type: str keeps it as it is)"),
        ("value: '{b: $(env FLOAT)}'", "'{b: 2.5}' is no parameter value"),
        ("value: $(env BROKEN)", "cannot be read as YAML"),
        ("value: $(env FLOAT), type: int", "'2.5' cannot be read as int"),
        ("value: $(env FLOAT), type: bool", "'2.5' cannot be read as bool"),
        ("value: 3, type: float", "value 3 does not have the stated type float"),
        ("value: '3', type: int", "value '3' does not have the stated type int"),
        ("value: [1], type: int", "value [1] is a list but type is int"),
        ("value: []", "a list needs one element or more; ROS 2 reads no type from an empty one"),
        ("value: 1.0, type: list_of_float", "is not a list but type is list_of_float"),
        ("value: [1], type: list_of_float", "does not have the stated type list_of_float"),
        ("value: 1, type: double", "unknown type 'double'; understood: str, bool, float, int, list_of_str"),
        ("param: []", "attribute 'param' has to be a list of mappings, and not empty"),
        ("value: 1, param: [{name: b, value: 2}]", "either 'value' (and 'type') or nested 'param'"),
        ("type: str", "either 'value' (and 'type') or nested 'param'"),
        ("value: 1, from: file", "a 'param' has either 'from' (a file) or 'name'"),
        (
            "value: 1, unit: m",
            "'param' has unknown attributes 'unit'; understood: from, name, param, type, value",
        ),
    ],
)
def test_parameters_that_are_refused(launch: Launch, attributes: str, message: str) -> None:
    with pytest.raises(LaunchFileError) as caught:
        text = f"- node: {{pkg: demo, exec: talker, name: n, param: [{{name: a, {attributes}}}]}}"
        launch(text, FLOAT="2.5", NULL="null", BROKEN="[1")
    assert message in str(caught.value)
    assert "main.launch.yaml:2: node 'n'" in str(caught.value) and "\n" not in str(caught.value)
