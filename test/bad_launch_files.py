"""Table of wrong launch files and metadata of an experiment "mine", and of the error that each gives."""

from __future__ import annotations

from bad_inputs import Case

_MINE = ("run", "mine")
_FILE = "experiment mine: its launch file: "
_ARG = "- arg: {name: a, default: '1'}\n"
_DEVICE = (
    "- node: {pkg: haptic_devices, exec: device_node, name: device, namespace: /j, "
    "param: [{name: sources, value: [%s]}]}\n"
)
_NODE = "- node: {pkg: haptic_friction, exec: friction_node, name: friction, namespace: /j, param: [%s]}"


def _launch(elements: str, error: str, *words: str, code: int = 1) -> Case:
    return Case((*_MINE, *words), error, code, launch="\n" + elements)


def _with(attribute: str) -> str:
    """Elements of a device and its friction node with another attribute of that node."""
    return _DEVICE % "friction" + (_NODE % "{name: mass, value: 1.0}")[:-1] + f", {attribute}}}"


_LAUNCH_FILES = [
    Case(_MINE, "...mine.launch.yaml: 'launch' has to hold a list of elements", 1, launch="7"),
    Case(_MINE, "...mine.launch.yaml: not YAML: line 1", 1, launch="[1"),
    Case(_MINE, "...mine.launch.yaml: not YAML: ", 1, launch="[" * 20_000),
    Case(_MINE, "...mine.launch.yaml: a launch file is one mapping with the single key 'launch'", 1, launch="[]\nx: 1"),
    _launch("- 7", "...each element in 'launch' is a mapping with one key, its kind; got 7"),
    _launch("- log: {message: x}", "...2: log: unknown element 'log'; understood: arg, let, "),
    _launch("- arg: {name: a, default: 5}", "...2: arg 'a': attribute 'default' has to be text, not 5"),
    _launch("- arg: {name: a, name: b}", "...mine.launch.yaml: line 2, column 18: expected each key of a mapping once"),
    Case(
        _MINE,
        "...mine.launch.yaml: line 1, column 9: expected no alias within ",
        1,
        launch="&a [group: {children: *a}]",
    ),
    _launch("- let: {name: a, value: $(nonsense x)}", "...unknown substitution $(nonsense ...); understood: "),
    _launch("- let: {name: a, value: $(var a}", "...attribute 'value': cannot read '$(var a' at column 8: "),
    _launch("- let: {name: a, value: $(var b)}", "...$(var b): no argument or let of that name so far; known here: "),
    _launch("- let: {name: a, value: $(env NOWHERE_SET)}", "...$(env NOWHERE_SET): the environment variable is not "),
    _launch("- let: {name: a, value: $(find-pkg-share nowhere)}", "...package 'nowhere' not found in "),
    _launch("- include: {file: /nowhere.yaml}", "...nowhere.yaml: cannot be read: No such file or directory"),
    _launch("- include: {file: $(dirname)/mine.launch.yaml}", "...more than 20 files include each other; the last is "),
    _launch("- group: {if: maybe, children: []}", "...a condition has to be true, 1, false or 0, not 'maybe'"),
    _launch("- arg: {name: a}", "...argument 'a' is required: give a:=VALUE"),
    _launch(_ARG, "argument 'b' is unknown, expected one of: a", "b:=1", code=2),
    _launch(_NODE % "{name: mass, value: []}", "...param 'mass': a list needs one element or more"),
    _launch(_NODE % "{name: mass, value: [1, 2.5]}", "...the elements of [1, 2.5] have to have one type"),
    _launch(_NODE % "{name: mass, value: 1.0, type: integer}", "...unknown type 'integer'; understood: "),
    _launch(_NODE % "{from: /nowhere.yaml}", "...parameter file /nowhere.yaml: cannot be read: No such file"),
    _launch(_NODE % "{from: FOLDER/fifo}", "...fifo: cannot be read: expected a regular file, got a FIFO"),
    _launch(_NODE % "{from: FOLDER/text.yaml}", "...text.yaml: expected names of nodes over ros__parameters, got "),
    _launch(_NODE % "{from: FOLDER/binary.yaml}", "...binary.yaml: not UTF-8 text: line 1"),
    _launch(_NODE % "{name: mass, value: -1.0}", "node /j/friction: parameter mass: expected from 0.001 ", code=2),
    _launch(_NODE % "{name: mass, value: heavy}", "node /j/friction: parameter mass: expected double", code=2),
    _launch(
        _NODE % "{name: mass, value: 1.0}", _FILE + "expected one node with the parameter sources, the device, got 0"
    ),
    _launch(_DEVICE % "nobody", _FILE + "source nobody of the device is no node in /j"),
    _launch(
        _DEVICE % "friction" + _NODE % "{name: mass, value: 1.0}" + "\n" + _NODE % "{name: mass, value: 1.0}",
        _FILE + "expected one node /j/friction, got 2",
    ),
    _launch(
        _DEVICE % "friction" + _NODE % "{name: inputs, value: [force]}",
        _FILE
        + "node /j/friction: parameter inputs: expected kinds of wall, contacts, bodies, constraints, ..., got 'force'",
    ),
    _launch(
        _DEVICE.replace("]}]", "]}, {name: device, value: nowhere}]") % "friction" + _NODE % "{name: mass, value: 1.0}",
        "node /j/device: parameter device: expected one of ..., got 'nowhere'",
        code=2,
    ),
    _launch(
        _DEVICE % "friction" + _NODE % "{name: law, value: stribeck}, {name: static_force, value: 1.0}",
        "node /j/friction: parameter static_force: expected friction_force = ..., got 1.0",
        code=2,
    ),
    _launch(
        _with("args: '--ros-args -p stiffness:=-1.0'"),
        "node /j/friction: parameter stiffness: expected from 1 ",
        code=2,
    ),
    _launch(_with("args: '--ros-args -p mass'"), "...node 'friction': argument -p: expected name:=value, got 'mass'"),
    _launch(_with("remap: [{from: a b, to: c}]"), "...node 'friction': remapped name 'a b' is not valid: "),
    _launch(_with("remap: [{from: a, to: ''}]"), "...node 'friction': ..."),
    _launch(
        _with("respawn: 'false'").replace("pkg: haptic_friction", "pkg: nowhere"),
        "...node 'friction': package 'nowhere' not found in ",
    ),
    _launch(
        _with("respawn: 'false'").replace("friction_node", "friction_nod"),
        "...node 'friction': package 'haptic_friction' has no executable 'friction_nod' in ",
    ),
    _launch(
        _with("respawn: 'false'") + "\n- executable: {cmd: /nowhere/prog}",
        "...expected an installed program, got '/nowhere/prog'",
    ),
    _launch(_NODE % "{name: mas, value: 1.0}", "node /j/friction: parameter mas: unknown, expected one of ", code=2),
    _launch(_NODE % "{name: law_file, value: fifo}", "node /j/friction: parameter law_file: fifo: cannot be ", code=2),
    _launch(
        _ARG + _NODE % "{name: mass, value: $(var a)}",
        "argument a: expected from 0.001 to 1000 [kg], got -1",
        "a:=-1",
        code=2,
    ),
    _launch(
        _ARG + "- let: {name: b, value: $(var a)}\n" + _NODE % "{name: mass, value: $(var b)}",
        "argument a: expected from 0.001 to 1000 [kg], got -1",
        "a:=-1",
        code=2,
    ),
]

_EXPERIMENT_FILES = [
    Case(_MINE, f"...experiment.yaml: {error}", 1, metadata=metadata)
    for metadata, error in (
        ("", "expected a mapping of fields, without name, got nothing"),
        ("7", "expected a mapping of fields, without name, got a number"),
        ("[]", "expected a mapping of fields, without name, got a list of 0"),
        ("{title: [}", "not YAML: line 1, column 10: expected a YAML"),
        ("{1: a}", "expected a mapping of fields, without name, got a mapping of 1"),
        ("{name: mine, title: a}", "expected a mapping of fields, without name, got a mapping of 2"),
        ("{title: a, paper: b}", "line 1: summary: field required"),
        ("{title: 1, paper: b, summary: c}", "line 1: title: input should be a valid string, got a number"),
        ("{title: a, paper: b, summary: c, colour: d}", "line 1: unknown field"),
        ("{title: a, paper: b, summary: c, variants: [1]}", "line 1: variants: ..., got a list of 1"),
        (
            "{title: a, paper: b, summary: c, variants: {x: {y: 1}}}",
            "line 1: variants...: input should be a valid ",
        ),
        ("{title: a, paper: b, summary: c, also_recorded: {x: {}}}", "line 1: also_recorded: unknown field"),
    )
]

CASES = [*_LAUNCH_FILES, *_EXPERIMENT_FILES]
