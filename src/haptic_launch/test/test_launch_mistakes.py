"""Mistakes in launch files: each is one clear line."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest
from launch_texts import Launch

from haptic_launch import launch_substitutions
from haptic_launch.launch_file import LaunchFileError, find_executable, find_package_share, load_launch_file


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
            "parameter file /no.yaml: cannot be read: No such file",
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
            "line 2, column 30: expected each key of a mapping once",
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


def test_a_console_script_that_pip_installed_is_found_in_bin(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {"AMENT_PREFIX_PATH": str(prefix)}
    (prefix / "bin").mkdir()
    for name in ("listener", "python3"):
        (prefix / "bin" / name).touch(mode=0o755)
    with pytest.raises(LaunchFileError, match=r"has no executable 'listener' in .*/lib/demo$"):
        find_executable("demo", "listener", variables)
    scripts = EntryPoints([EntryPoint("listener", "demo.nodes:main", "console_scripts")])
    monkeypatch.setattr(launch_substitutions, "entry_points", scripts.select)
    assert find_executable("demo", "listener", variables) == f"{prefix}/bin/listener"
    with pytest.raises(LaunchFileError, match="has no executable 'python3'"):  # not a script of the package
        find_executable("demo", "python3", variables)


def test_a_mistake_in_an_included_file_names_the_files_that_include_it(tmp_path: Path, launch: Launch) -> None:
    """The value that is missing may be one that they should set."""
    (tmp_path / "inner.launch.yaml").write_text("launch:\n- let: {name: a, value: $(var b)}\n")
    outer = tmp_path / "outer.launch.yaml"
    outer.write_text(f"launch:\n- include: {{file: {tmp_path}/inner.launch.yaml}}\n")
    with pytest.raises(LaunchFileError) as caught:
        launch(f"- include: {{file: {outer}}}")
    assert "inner.launch.yaml:2: let 'a': $(var b): no argument or let of that name" in str(caught.value)
    assert f"; included in {outer}:2: include; included in " in str(caught.value)
