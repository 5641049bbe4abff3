"""Elements of launch files: substitutions, arguments, let, group, include and conditions."""

from __future__ import annotations

from pathlib import Path

import pytest
from launch_texts import ARGUMENTS, Launch, said, say, write

from haptic_launch.launch_file import Argument, LaunchFileError, load_launch_file

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


def test_set_env_acts_on_what_comes_after_it_to_the_end_of_its_group(launch: Launch) -> None:
    setting = "{set_env: {name: A, value: in $(env A none)}}"
    shown = say("$(env A none)")
    text = shown + "- group: {%s}\n" + shown
    inside = f"[{setting}, {shown.strip().removeprefix('- ')}]"
    found = launch(text % f"children: {inside}")
    assert said(found) == ["none", "in none", "none"]
    assert [process.environment.get("A") for process in found] == [None, "in none", None]
    found = launch(text % f"scoped: false, children: {inside}", A="out")
    assert said(found) == ["out", "in out", "in out"]
    assert [process.environment["A"] for process in found] == ["out", "in out", "in out"]


def test_set_env_obeys_its_condition_and_an_env_of_a_process_wins(launch: Launch) -> None:
    text = "- set_env: {name: A, value: a, if: $(env C)}\n- executable: {cmd: x, env: [{name: A, value: own}]}\n"
    for condition, expected in (("true", ["own", "a"]), ("false", ["own", "user"])):
        found = launch(text + say("x"), A="user", C=condition)
        assert [process.environment["A"] for process in found] == expected


@pytest.mark.parametrize("name", ["''", "A=B"])
def test_set_env_refuses_what_is_no_name(launch: Launch, name: str) -> None:
    with pytest.raises(LaunchFileError, match=r"set_env.*'name' has to be the name of an environment variable"):
        launch(f"- set_env: {{name: {name}, value: a}}")


def test_group_is_a_scope_by_default(launch: Launch) -> None:
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
