"""Launch files: what each element and substitution means, and one clear line for each mistake."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from haptic_launch.launch_file import (
    Argument,
    LaunchFileError,
    ProcessSpec,
    find_executable,
    find_package_share,
    load_launch_file,
)

Launch = Callable[..., list[ProcessSpec]]


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """An install prefix with the package `demo` and its executable `talker`."""
    root = tmp_path / "install"
    (root / "share/ament_index/resource_index/packages").mkdir(parents=True)
    (root / "share/ament_index/resource_index/packages/demo").touch()
    (root / "share/demo").mkdir()
    (root / "share/demo/demo.yaml").write_text("/**:\n  ros__parameters:\n    rate: 1.5\n")
    (root / "lib/demo").mkdir(parents=True)
    (root / "lib/demo/talker").touch(mode=0o755)
    (root / "lib/demo/readme").touch(mode=0o644)
    return root


@pytest.fixture
def launch(tmp_path: Path, prefix: Path) -> Launch:
    """Evaluates a launch file given as the text below `launch:`."""

    def evaluate(text: str, arguments: dict[str, str] | None = None, **environment: str) -> list[ProcessSpec]:
        variables = {"AMENT_PREFIX_PATH": str(prefix), **environment}
        path = write(tmp_path / "main.launch.yaml", text)
        return load_launch_file(path).evaluate(
            arguments, environment=variables, parameter_directory=tmp_path / "parameters"
        )

    return evaluate


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(f"  {line}\n" for line in text.strip("\n").splitlines())
    path.write_text(f"launch:\n{lines}" if lines else "launch: []\n")
    return path


def say(text: str) -> str:
    return f"- executable: {{cmd: {yaml.safe_dump(text, default_style=chr(34), width=1000).strip()}}}\n"


def said(processes: list[ProcessSpec]) -> list[str]:
    return [" ".join(process.command) for process in processes]


def parameters(process: ProcessSpec) -> list[dict[str, Any]]:
    """The contents of the parameter files of a node, in order."""
    files = [b for a, b in zip(process.command, process.command[1:], strict=False) if a == "--params-file"]
    return [yaml.safe_load(Path(file).read_text()) for file in files]


ARGUMENTS = """
- arg: {name: text, default: x y}
- arg: {name: number, default: "3"}
- arg: {name: "on", default: "true"}
- arg: {name: empty, default: ""}
"""


# Substitutions


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("plain $ text $1 (with) 'quotes'", "plain $ text $1 (with) quotes"),
        ("$(var number)", "3"),
        ("a$(var number)b$(var number)", "a3b3"),
        ("$(var missing fallback)", "fallback"),
        ("$(var missing $(var number))", "3"),
        ("$(var 'number')", "3"),
        ("$(var $(env NAME))", "3"),
        ("$(env NAME)", "number"),
        ("$(env NOT_SET fallback)", "fallback"),
        ("$(env NOT_SET 'two (words)')", "two (words)"),
        ('$(env NOT_SET "it is $(var text)")', "it is x y"),
        ("[$(env NOT_SET '')]", "[]"),
        (r"\$(var number)", "$(var number)"),
        (r"$(env NOT_SET \(\'\))", "(')"),
        ("$(equals $(var number) 3)", "true"),
        ("$(equals $(var number) 3.0)", "true"),
        ("$(equals 0.30000000000000004 0.3)", "true"),
        ("$(equals $(var on) 1)", "true"),
        ("$(equals $(var on) TRUE)", "true"),
        ("$(equals $(var text) 'x y')", "true"),
        ("$(equals $(var text) x)", "false"),
        ("$(equals $(var number) $(var on))", "false"),
        ("$(not $(var on))", "false"),
        ("$(not 0)", "true"),
        ("$(not no)", "true"),
        ("$(and $(var on) $(not $(equals a b)))", "true"),
        ("$(and true off)", "false"),
        ("$(or false 1)", "true"),
        ("$(or false 0)", "false"),
    ],
)
def test_substitutions(launch: Launch, template: str, value: str) -> None:
    assert said(launch(ARGUMENTS + say(template), NAME="number")) == [value]


def test_package_and_file_substitutions(launch: Launch, tmp_path: Path, prefix: Path) -> None:
    found = said(launch(say("$(find-pkg-share demo) $(find-pkg-share $(env NAME)) $(dirname)"), NAME="demo"))
    assert found == [f"{prefix}/share/demo {prefix}/share/demo {tmp_path}"]


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (
            "$(var missing)",
            "$(var missing): no argument or let of that name so far; known here: empty, number",
        ),
        ("$(env NOT_SET)", "the environment variable is not set"),
        ("$(find-pkg-share nowhere)", "package 'nowhere' not found in "),
        ("$(eval 1 + 1)", "unknown substitution $(eval ...); understood: $(var NAME [DEFAULT])"),
        ("$(command ls)", "unknown substitution $(command ...)"),
        ("$(equals a)", "$(equals ...) has 1 arguments; usage: $(equals A B)"),
        ("$(dirname x)", "usage: $(dirname)"),
        ("$(not $(var text))", "$(not ...): 'x y' is neither true nor false"),
        ("$(and true $(var empty))", "$(and ...): '' is neither true nor false"),
        ("$(or false maybe)", "$(or ...): 'maybe' is neither true nor false"),
        ("$(equals $(var empty) '')", "compare with a word"),
        ("$(var number", "$(var is not closed with )"),
        ("$(var  number)", "at column 7: expected an argument (exactly one space"),
        ("$(var number )", "at column 14: expected an argument"),
        ("$(var 'number)", "the quotation mark ' is not closed"),
        ("$(var a'b')", "expected one space or )"),
        ("$(1)", "expected the name of a substitution"),
    ],
)
def test_substitutions_that_cannot_be_evaluated(launch: Launch, template: str, message: str) -> None:
    with pytest.raises(LaunchFileError) as caught:
        launch(ARGUMENTS + say(template))
    assert message in str(caught.value)
    assert "main.launch.yaml:" in str(caught.value) and ": executable: " in str(caught.value)
    assert "\n" not in str(caught.value)


# Arguments

MODE = """
- arg:
    name: mode
    default: lockstep
    description: who waits for whom
    choice: [{value: lockstep}, {value: realtime}]
"""


def test_an_argument_has_its_default_or_the_given_value(launch: Launch) -> None:
    assert said(launch(MODE + say("$(var mode)"))) == ["lockstep"]
    assert said(launch(MODE + say("$(var mode)"), {"mode": "realtime"})) == ["realtime"]


def test_a_default_may_use_earlier_arguments(launch: Launch) -> None:
    text = "- arg: {name: a, default: '1'}\n- arg: {name: b, default: $(var a)2}\n" + say("$(var b)")
    assert said(launch(text)) == ["12"]
    assert said(launch(text, {"a": "7"})) == ["72"]


def test_a_value_outside_of_the_choices_is_refused(launch: Launch) -> None:
    with pytest.raises(LaunchFileError, match="argument 'mode' is 'fast' but has to be one of: lockstep, realtime"):
        launch(MODE, {"mode": "fast"})
    with pytest.raises(LaunchFileError, match="argument 'a' is 'x' but has to be one of: y"):
        launch("- arg: {name: a, default: x, choice: [{value: y}]}")


def test_an_unknown_argument_is_refused_with_a_hint(launch: Launch) -> None:
    with pytest.raises(LaunchFileError) as caught:
        launch(MODE + "- arg: {name: seed, default: '0'}", {"mod": "realtime"})
    assert "unknown argument 'mod'; did you mean 'mode'? (known arguments: mode, seed)" in str(caught.value)


def test_a_required_argument_has_to_be_given(launch: Launch) -> None:
    text = "- arg: {name: device, description: which one, choice: [{value: a}, {value: b}]}\n" + say("$(var device)")
    assert said(launch(text, {"device": "b"})) == ["b"]
    with pytest.raises(LaunchFileError) as caught:
        launch(text)
    expected = "argument 'device' (which one) is required: give device:=VALUE, one of: a, b"
    assert str(caught.value).endswith(expected)


def test_a_required_argument_counts_only_where_it_is_declared(launch: Launch) -> None:
    text = "- group:\n    unless: $(equals $(env REAL 0) 0)\n    children:\n    - arg: {name: port}\n"
    assert launch(text) == []
    with pytest.raises(LaunchFileError, match="argument 'port' is required"):
        launch(text, REAL="1")


def test_arguments_are_listed_with_those_of_included_files(tmp_path: Path) -> None:
    write(tmp_path / "inner.launch.yaml", "- arg: {name: mode, default: other}\n- arg: {name: port}")
    include = "- include: {file: $(dirname)/inner.launch.yaml}\n- include: {file: $(var mode).launch.yaml}"
    group = "- group:\n    if: 'false'\n    children: [{arg: {name: inside, default: $(var mode)}}]\n"
    description = load_launch_file(write(tmp_path / "outer.launch.yaml", MODE + group + include))
    assert description.arguments == [
        Argument("mode", "lockstep", "who waits for whom", ("lockstep", "realtime")),
        Argument("inside", "$(var mode)", "", None, conditional=True),
        Argument("port", None, "", None),
    ]


# let, group, include, conditions


def test_let_sets_a_value_from_here_on(launch: Launch) -> None:
    text = "- let: {name: a, value: '1'}\n" + say("$(var a)") + "- let: {name: a, value: $(var a)2}\n"
    assert said(launch(text + say("$(var a)"))) == ["1", "12"]


def test_a_group_is_a_scope_unless_it_says_otherwise(launch: Launch) -> None:
    inside = "[{let: {name: a, value: in}}, {arg: {name: b, default: in}}, {executable: {cmd: $(var a)}}]"
    text = "- let: {name: a, value: out}\n- group: {%s}\n" + say("$(var a) $(var b none)")
    assert said(launch(text % f"children: {inside}")) == ["in", "out none"]
    assert said(launch(text % f"scoped: true, children: {inside}")) == ["in", "out none"]
    assert said(launch(text % f"scoped: false, children: {inside}")) == ["in", "in in"]
    assert said(launch(f"- let: {{name: a, value: out}}\n- group: {inside}\n" + say("$(var a)"))) == [
        "in",
        "out",
    ]


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("true", True),
        ("1", True),
        (" True ", True),
        ("0", False),
        ("$(var on)", True),
        ("$(not $(var on))", False),
    ],
)
def test_conditions_on_every_element(launch: Launch, tmp_path: Path, condition: str, holds: bool) -> None:
    write(tmp_path / "inner.launch.yaml", say("included"))
    elements = [
        "- arg: {name: a, default: '1', %s}",
        "- let: {name: b, value: '1', %s}",
        "- push_ros_namespace: {namespace: c, %s}",
        "- executable: {cmd: executable, %s}",
        "- node: {pkg: demo, exec: talker, name: node, %s}",
        "- include: {file: $(dirname)/inner.launch.yaml, %s}",
        "- group: {children: [{executable: {cmd: group}}], %s}",
    ]
    found: dict[str, list[str]] = {}
    for word in ("if", "unless"):
        text = ARGUMENTS + "\n".join(elements) % ((f'{word}: "{condition}"',) * len(elements)) + "\n"
        found[word] = said(launch(text + say("$(var a no) $(var b no) $(var ros_namespace no)")))
    found_true, found_false = (found["if"], found["unless"]) if holds else (found["unless"], found["if"])
    assert [line.split("/")[-1] for line in found_true] == ["executable", "c", "included", "group", "c"]
    assert found_true[-1] == "1 1 /c"
    assert found_false == ["no no no"]


def test_an_include_passes_arguments_and_is_no_scope(launch: Launch, tmp_path: Path) -> None:
    inner = "- arg: {name: a, default: default}\n- let: {name: b, value: left}\n" + say("$(var a) $(var c) $(dirname)")
    write(tmp_path / "sub/inner.launch.yaml", inner)
    include = "- include: {file: $(dirname)/sub/inner.launch.yaml, arg: [{name: a, value: $(var c)!}]}\n"
    after = say("$(var a none) $(var b none) $(dirname)")
    sub = tmp_path / "sub"
    assert said(launch("- let: {name: c, value: C}\n" + include + after)) == [f"C! C {sub}", f"C! left {sub}"]
    grouped = "- let: {name: c, value: C}\n- group:\n  " + include + after
    assert said(launch(grouped)) == [f"C! C {sub}", f"none none {sub}"]


def test_a_user_can_set_an_included_files_argument(launch: Launch, tmp_path: Path) -> None:
    write(tmp_path / "inner.launch.yaml", "- arg: {name: a, default: default}\n" + say("$(var a)"))
    text = "- arg: {name: which, default: inner}\n- include: {file: $(dirname)/$(var which).launch.yaml}"
    assert said(launch(text, {"a": "user"})) == ["user"]
    with pytest.raises(LaunchFileError, match=r"unknown argument 'b' \(known arguments: a, which\)"):
        launch(text, {"b": "user"})


def test_an_include_has_to_give_required_arguments(launch: Launch, tmp_path: Path) -> None:
    write(tmp_path / "inner.launch.yaml", "- arg: {name: a}\n" + say("$(var a)"))
    with pytest.raises(LaunchFileError, match=r"inner.launch.yaml requires the argument 'a'; the include has to"):
        launch("- arg: {name: a, default: '1'}\n- include: {file: $(dirname)/inner.launch.yaml}")


def test_files_that_include_each_other_are_refused(launch: Launch) -> None:
    with pytest.raises(LaunchFileError, match="more than 20 files include each other"):
        launch("- include: {file: $(dirname)/main.launch.yaml}")


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
        ("value: []", []),
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


# Mistakes in files


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "- log: {message: x}",
            "2: log: unknown element 'log'; understood: arg, let, group, node, executable, inc",
        ),
        ("- group: [{timer: {period: 1.0}}]", "2: timer: unknown element 'timer'; understood: arg,"),
        (
            "- node: {pkg: demo, exec: talker, name: n, sigterm_timeout: '1'}",
            "2: node 'n': 'node' has unknown attributes",
        ),
        (
            "- node: {pkg: demo, exec: talker, on-exit: shutdown}",
            "'on-exit'; understood: args, env, exec, if, name",
        ),
        ("- node: {pkg: demo}", "'node' needs the attribute 'exec'"),
        ("- node: {pkg: demo, exec: nothing}", "package 'demo' has no executable 'nothing' in "),
        ("- node: {pkg: demo, exec: readme}", "package 'demo' has no executable 'readme' in "),
        ("- node: {pkg: nowhere, exec: x}", "package 'nowhere' not found in "),
        (
            "- node: {pkg: demo, exec: talker, name: a b}",
            "node name 'a b' is not valid: letters, digits and _ only",
        ),
        ("- node: {pkg: demo, exec: talker, name: n, namespace: 1x}", "namespace '/1x' is not valid"),
        ("- push_ros_namespace: {namespace: a//b}", "namespace '/a//b' is not valid"),
        (
            "- node: {pkg: demo, exec: talker, output: paper}",
            "output is 'paper' but has to be one of: screen, log",
        ),
        ("- node: {pkg: demo, exec: talker, on_exit: restart}", "on_exit is 'restart'; understood: shutdown"),
        ("- node: {pkg: demo, exec: talker, respawn: true}", "attribute 'respawn' has to be text, not True"),
        ("- node: {pkg: demo, exec: talker, respawn: maybe}", "has to be true, 1, false or 0, not 'maybe'"),
        ("- node: {pkg: demo, exec: talker, respawn_delay: '1'}", "'respawn_delay' has to be a number like 1.0"),
        ("- node: {pkg: demo, exec: talker, respawn_delay: -1.0}", "not below 0, not -1.0"),
        (
            "- node: {pkg: demo, exec: talker, param: {name: a}}",
            "attribute 'param' has to be a list of mappings",
        ),
        (
            "- node: {pkg: demo, exec: talker, param: [{from: /no.yaml}]}",
            "there is no parameter file /no.yaml",
        ),
        ("- node: {pkg: demo, exec: talker, remap: [{from: a}]}", "'remap' needs the attribute 'to'"),
        (
            '- node: {pkg: demo, exec: talker, args: "\'a"}',
            'cannot split "\'a" into arguments: No closing quotation',
        ),
        ("- executable: {cmd: ''}", "attribute 'cmd' is empty"),
        ("- executable: {name: x}", "executable 'x': 'executable' needs the attribute 'cmd'"),
        (
            "- arg: {name: a, default: 5}",
            "2: arg 'a': attribute 'default' has to be text, not 5; put it in quotes",
        ),
        ("- arg: {name: a, default: }", "attribute 'default' is empty"),
        ("- arg: {name: a, choice: [x, y]}", "'choice' has to be a mapping of attributes, not 'x'"),
        ("- let: {name: a, value: true}", "attribute 'value' has to be text, not True; put it in quotes"),
        ("- let: {name: emptied}", "let 'emptied': 'let' needs the attribute 'value'"),
        (
            "- let: {name: emulate_tty, value: 'true'}",
            "'emulate_tty' is a setting of ros2 launch that this runner",
        ),
        ("- group: {if: true, children: []}", "attribute 'if' has to be text, not True"),
        ("- group: {if: maybe, children: []}", "a condition has to be true, 1, false or 0, not 'maybe'"),
        ("- group: {if: '1', unless: '1', children: []}", "'if' and 'unless' exclude each other"),
        (
            "- group: {scoped: 'false', children: []}",
            "attribute 'scoped' has to be true or false without quotes",
        ),
        ("- group: {scoped: false}", "'group' has to hold a list of elements"),
        (
            "- include: {file: nothing.launch.yaml}",
            "nothing.launch.yaml: cannot be read: No such file",
        ),
        (
            "- include: {file: some.launch.py}",
            "some.launch.py: only YAML launch files (.yaml, .yml) are understood",
        ),
        (
            "- {let: {name: a, value: b}, arg: {name: c}}",
            "each element in 'launch' is a mapping with one key",
        ),
        ("- node", "each element in 'launch' is a mapping with one key, its kind; got 'node'"),
        ("- node: talker", "'node' has to be a mapping of attributes, not 'talker'"),
        (
            "- let: {name: a, value: b, value: c}",
            "'value' is given twice in the mapping that starts in line 2",
        ),
        ("- let: {name: a", "not YAML: "),
    ],
)
def test_mistakes_are_one_clear_line(launch: Launch, text: str, message: str) -> None:
    with pytest.raises(LaunchFileError) as caught:
        launch(text)
    assert message in str(caught.value)
    assert ".launch." in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "node: {}", "launch: {}", "launch: []\nother: 1", "launch: 1"])
def test_files_without_a_launch_list(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.launch.yaml").write_text(text)
    with pytest.raises(LaunchFileError, match="'launch'"):
        load_launch_file(tmp_path / "a.launch.yaml")


def test_mistakes_are_found_in_branches_that_are_not_taken(launch: Launch) -> None:
    text = "- group:\n    if: 'false'\n    children:\n    - nothing: {}"
    with pytest.raises(LaunchFileError, match=r"yaml:5: nothing: unknown element 'nothing'"):
        launch(text)


def test_the_default_search_needs_the_ament_prefix_path(prefix: Path) -> None:
    with pytest.raises(LaunchFileError, match="AMENT_PREFIX_PATH is not set"):
        find_package_share("demo", {})
    variables = {"AMENT_PREFIX_PATH": f"/nowhere:{prefix}"}
    assert find_package_share("demo", variables) == f"{prefix}/share/demo"
    assert find_executable("demo", "talker", variables) == f"{prefix}/lib/demo/talker"
