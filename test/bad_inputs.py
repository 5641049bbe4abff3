"""Table of wrong inputs of the command line, and of the error that each gives.

A case is what a user types, the expected error, and its exit code. FOLDER has the files that the cases name.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class Case(NamedTuple):
    """A wrong input.

    Attributes:
        words: of the command line.
        error: beginning of the error; `...` stands for any characters.
        code: exit code.
        launch: elements of the launch file of the experiment "mine", where that is run.
        metadata: its experiment.yaml.
        environment: settings.
    """

    words: tuple[str, ...]
    error: str
    code: int = 2
    launch: str = "[]"
    metadata: str = "{title: a, paper: b, summary: c}"
    environment: Mapping[str, str] = {}


#: of the joystick, before what came
MOTIONS = "expected one of paper, paper_admittance, to_and_fro, letters, strokes, peg for device joystick, got "

FILES: dict[str, bytes] = {
    "empty": b"",
    "text.yaml": b"only a text",
    "list.yaml": b"[1, 2]",
    "broken.yaml": b"a: [1",
    "binary.yaml": b"\xff\xfe\x00\x01",
    "control.yaml": b"a: \x07",
    "date.yaml": b"a: 2020-13-45",
    "alias.yaml": b"a: *nowhere",
    "deep.yaml": b"[" * 20_000,
    "levels.yaml": b"[" * 101 + b"]" * 101,
    "bomb.yaml": b"a0: &a0 {x: 1}\n"
    + b"".join(b"a%d: &a%d {x: *a%d, y: *a%d}\n" % (i + 1, i + 1, i, i) for i in range(30)),
    "merged.yaml": b"a0: &a0 {x: 1}\n"
    + b"".join(b"a%d: &a%d {<<: [*a%d, *a%d]}\n" % (i + 1, i + 1, i, i) for i in range(30)),
    "within.yaml": b"/joystick/friction: {ros__parameters: &a {mass: *a}}",
    "within_node.yaml": b"&a {/joystick: *a}",
    "twice.yaml": b"/joystick/friction: {ros__parameters: {mass: 1.0,\n mass: 2.0}}",
    "two.yaml": b"a: 1\n---\nb: 2",
    "unknown.yaml": b"nonsense: 1",
    "textual.yaml": b"length: long\nmass: heavy",
    "negative.yaml": b"length: -1.0\nmass: -1.0",
    "digits.yaml": b"length: " + b"9" * 5000,
    "broken.xml": b"<dds>\n<",
    "other.xml": b"<robot/>",
    "law.csv": b"speed;force\n0;1",
    "law_words.csv": b"speed,force\n0,1\n1,much",
    "law_short.csv": b"speed,force\n0,1",
    "world_unknown.yaml": b"bodies: {ball: {type: sphere}}",
    "node_unknown.yaml": b"/joystick/friktion: {ros__parameters: {mass: 1.0}}",
    "parameter_unknown.yaml": b"/joystick/friction: {ros__parameters: {mas: 1.0}}",
    "parameter_negative.yaml": b"/joystick/friction: {ros__parameters: {mass: -1.0}}",
    "parameter_text.yaml": b"/joystick/friction: {ros__parameters: {mass: heavy}}",
    "parameter_mode.yaml": b"/joystick/friction: {ros__parameters: {mode: realtime}}",
    "sources.yaml": b"/joystick/device: {ros__parameters: {sources: [nobody]}}",
    "inputs.yaml": b"/joystick/friction: {ros__parameters: {inputs: [nonsense]}}",
    "input_node.yaml": b"/joystick/friction: {ros__parameters: {inputs: [wall]}}",
    "input_twice.yaml": b"/joystick/friction: {ros__parameters: {inputs: ['device:wall', 'device:wall']}}",
    "linked.yaml": b"/joystick/friction: {ros__parameters: {law: stribeck, static_force: 1.0}}",
    "parameter_null.yaml": b"/joystick/friction: {ros__parameters: {mass: null}}",
    "parameter_mixed.yaml": b"/joystick/friction: {ros__parameters: {axes: [x, 1]}}",
    "parameter_empty.yaml": b"/joystick/friction: {ros__parameters: {axes: []}}",
    "parameter_flat.yaml": b"ros__parameters: {mass: 1.0}",
    "number_key.yaml": b"1: {ros__parameters: {mass: 1.0}}",
    "recorder.yaml": b"/recorder: {ros__parameters: {experiment: clutter}}",
    "device_fifo.yaml": b"/joystick/device: {ros__parameters: {device_file: fifo}}",
    "bag_text/metadata.yaml": b"only a text",
    "bag_binary/metadata.yaml": b"\xff\xfe",
    "bag_list/metadata.yaml": b"[]",
    "bag_broken/bag_0.mcap": b"no mcap",
    "run_empty/run.yaml": b"",
    "run_fifo/notes": b"",
    "bag_fifo/metadata.yaml": b"",
    "run_half/bag/bag.mcap": b"no mcap",
    "run_half/bag_b/metadata.yaml": b"",
    "run_lost/bag/metadata.yaml": b"",
    "run_lost/bag_b/bag_b.mcap": b"",
}


def write_files(folder: Path) -> None:
    """Writes the files that the cases name; among them what is no regular file."""
    for name, content in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_bytes(content)
    (folder / "folder").mkdir()
    for name in ("fifo", "run_fifo/run.yaml", "bag_fifo/bag_0.mcap"):
        os.mkfifo(folder / name)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(folder / "socket"))
    with open(folder / "large.yaml", "wb") as file:
        file.truncate(65 * 2**20)


def _run(experiment: str, *cases: tuple[str, str]) -> list[Case]:
    """Cases of one wrong argument, or of words before it; the error names the last one."""
    made = []
    for words, error in cases:
        *_, last = words.split("\t")
        made.append(Case(("run", experiment, *words.split("\t")), f"argument {last.partition(':=')[0]}: {error}"))
    return made


_FRICTION = _run(
    "friction_impedance",
    ("friction_force:=-1", "expected from 0 to 100 [N], got -1.0"),
    ("friction_force:=1e9", "expected from 0 to 100 [N], got 1000000000.0"),
    ("friction_force:=nan", "expected finite [N], got nan"),
    ("friction_force:=-inf", "expected finite [N], got -inf"),
    ("friction_force:=1e400", "expected finite [N], got inf"),
    ("friction_force:=abc", "expected a number, got 'abc'"),
    ("friction_force:= ", "expected a number, got ' '"),
    ("friction_force:=4,0", "expected a number, got '4,0'"),
    ("friction_force:=4 N", "expected a number, got '4 N'"),
    ("friction_force:=[4.0]", "expected a number, got '[4.0]'"),
    ("friction_force:=--help", "expected a number, got '--help'"),
    ("friction_force:=0x10", "expected a number, got '0x10'"),
    ("friction_force:=$(var mass)", "expected a number, got '$(var mass)'"),
    ("friction_force:=true", "expected a number, got 'true'"),
    ("mass:=0", "expected from 0.001 to 1000 [kg], got 0.0"),
    ("stiffness:=0", "expected from 1 to 1e+15 [N/m], got 0.0"),
    ("damping:=-0.1", "expected from 0 to ... [N s/m], got -0.1"),
    ("viscosity:=1001", "expected from 0 to 1000 [N s/m], got 1001.0"),
    ("stribeck_velocity:=0", "expected from 1e-06 to 10 [m/s], got 0.0"),
    ("static_force:=101", "expected from 0 to 100 [N], got 101.0"),
    ("load_mass:=-1", "expected from 0 to ... [kg], got -1.0"),
    ("velocity_threshold:=0", "expected from ... [m/s], got 0.0"),
    ("force_tensor:=[1, 2", "expected a value, or a list of values of one type, got '[1, 2'"),
    ("force_tensor:=[1, a]", "expected a value, or a list of values of one type, got '[1, a]'"),
    ("force_tensor:=[a, b]", "expected double_array [N], got ['a', 'b']"),
    ("force_tensor:=4.0", "expected a list [N], got 4.0"),
    ("force_tensor:=[]", "expected a value, or a list of values of one type, got '[]'"),
    ("force_tensor:=[.nan, 0.0, 0.0, 1.0]", "expected finite [N], got [nan, 0.0, 0.0, 1.0]"),
    ("loading_force:=[-1.0]", "expected entries from ... [N], got [-1.0]"),
    ("axes:=[x, w]", "expected taken from x, y, z, got 'w' in ['x', 'w']"),
    ("axes:=[x, x]", "expected without repetition, got ['x', 'x']"),
    ("axes:=x", "expected a list, got 'x'"),
    ("axes:=[1, 2]", "expected string_array, got [1, 2]"),
    ("seed:=-3", "expected from 0 to 2.14748e+09 [-], got -3"),
    ("seed:=1.5", "expected int [-], got 1.5"),
    ("seed:=abc", "expected ..., got 'abc'"),
    ("seed:=99999999999999999999", "expected from 0 to 2.14748e+09 [-], got 99999999999999999999"),
    ("seed:=" + "9" * 400, "expected from 0 to 2.14748e+09 [-], got 9999..."),
    ("seed:=true", "expected int [-], got True"),
    ("seed:=2020-01-01", "expected a value, or a list of values of one type, got '2020-01-01'"),
    ("seed:={a: 1}", "expected a value, or a list of values of one type, got '{a: 1}'"),
    ("seed:=!!python/object:os.system x", "expected a value, or a list of values of one type, got ..."),
    ("seed:=*a", "expected a value, or a list of values of one type, got '*a'"),
    ("strokes:=[]", "expected a value, or a list of values of one type, got '[]'"),
    ("strokes:=[[1]]", "expected a value, or a list of values of one type, got '[[1]]'"),
    ("strokes:=[1, true]", "expected a value, or a list of values of one type, got '[1, true]'"),
    ("strokes:=[100]", "expected entries from 0 to 99 [-], got [100]"),
    ("strokes:=[-1]", "expected entries from 0 to 99 [-], got [-1]"),
    ("strokes:=[0.5]", "expected int_array [-], got [0.5]"),
    ("strokes:=0", "expected a list [-], got 0"),
    ("strokes:=" + "[" * 20_000, "expected a value, or a list of values of one type, got '[[[["),
    ("strokes:=[" + "1, " * 200 + "1]", "expected fewer than 201 entries [-], got [1, 1, "),
    ("letters:=" + "a" * 100_000, "expected at most 4096 characters, got 'aaaa"),
    ("letters:=" + "a" * 201, "expected fewer than 201 characters, got 'aaaa"),
    ("letters:=\udcff\udcfe", r"expected UTF-8 text, got '\udcff\udcfe'"),
    ("motion:=letters\tletters:=fox", "'f' was not recorded, expected letters of abcdeghlmnopqrsuvwyz"),
    ("motion:=letters\tletters:=a\nb", r"'\n' was not recorded, expected letters of "),
    ("motion:=forth", f"{MOTIONS}'forth'"),
    ("motion:=fifo", f"{MOTIONS}'fifo'"),
    ("output:=/proc/nowhere", "'/proc/nowhere': cannot be made: No such file or directory"),
    ("output:=empty", "empty exists already"),
    ("output:=fifo", "fifo exists already"),
    ("output:=empty/bag", "'empty/bag': cannot be made: Not a directory"),
    ("output:=" + "a" * 1000, "'aaaa...: cannot be made: File name too long"),
    ("mode:=fast", "expected one of lockstep, realtime, got 'fast'"),
    ("mode:=" + "x" * 1000, "expected one of lockstep, realtime, got 'xxxx"),
    ("held:=maybe", "expected one of true, false, got 'maybe'"),
    ("record:=1", "expected one of true, false, got '1'"),
    ("model:=c", "expected one of A, B, C, D, parallel, karnopp, ..., got 'c'"),
    ("law:=gauss", "expected one of coulomb, viscous_coulomb, stribeck, anisotropic, table, ..., got 'gauss'"),
    ("passivity:=on", "expected one of off, observe, control, got 'on'"),
    ("period:=0", "expected from 0.0001 to 0.1 [s], got 0.0"),
    ("period:=1 ms", "expected a number, got '1 ms'"),
    ("duration:=-1", "expected from 0 to 1e+06 [s], got -1.0"),
    ("duration:=1e7", "expected from 0 to 1e+06 [s], got 10000000.0"),
    ("duration:=1e-9", "expected 0 or at least 0.002 s, 2 ticks for a report, got 1e-09"),
    ("pace:=-1", "expected from 0 to 100 [-], got -1.0"),
    ("answer_timeout:=0", "expected from 0.1 to 3600 [s], got 0.0"),
    ("watchdog_periods:=0", "expected from 1 to 10000 [ticks], got 0"),
    ("watchdog_periods:=2.5", "expected int [ticks], got 2.5"),
    ("command_delay_ticks:=101", "expected from 0 to 100 [ticks], got 101"),
    ("rest_duration:=0.1", "expected from 0.4 to 600 [s], got 0.1"),
    ("rest_force:=51", "expected from 0 to 50 [N], got 51.0"),
    ("view:=true\tview_port:=65536", "expected from 0 to 65535 [-], got 65536"),
    ("view:=true\tview_port:=http", "expected int [-], got 'http'"),
    ("device_file:=nowhere.yaml", "nowhere.yaml: cannot be read: No such file or directory"),
    ("device_file:=fifo", "fifo: cannot be read: expected a regular file, got a FIFO"),
    ("device_file:=folder", "folder: cannot be read: expected a regular file, got a directory"),
    ("device_file:=socket", "socket: cannot be read: expected a regular file, got a socket"),
    ("device_file:=/dev/zero", "/dev/zero: cannot be read: expected a regular file, got a character device"),
    ("device_file:=large.yaml", "large.yaml: cannot be read: expected at most 64 MiB"),
    ("device_file:=empty", "empty: expected a mapping of parameter names to values, got nothing"),
    (
        "device_file:=text.yaml",
        "text.yaml: expected a mapping of parameter names to values, got a text of 11",
    ),
    ("device_file:=list.yaml", "list.yaml: expected a mapping of parameter names to values, got a list of 2"),
    ("device_file:=broken.yaml", "broken.yaml: not YAML: line 1, column 6: expected a YAML structure"),
    ("device_file:=binary.yaml", "binary.yaml: not UTF-8 text: line 1"),
    ("device_file:=control.yaml", "control.yaml: not YAML: line 1: a character that YAML does not allow"),
    ("device_file:=date.yaml", "date.yaml: not YAML: line 1, column 4: a tag, key or value that cannot be constructed"),
    ("device_file:=alias.yaml", "alias.yaml: not YAML: line 1, column 4: expected one document"),
    ("device_file:=two.yaml", "two.yaml: not YAML: line 2, column 1: expected one document"),
    ("device_file:=unknown.yaml", "unknown.yaml: line 1: unknown field (and 13 more)"),
    ("device_file:=textual.yaml", "textual.yaml: line 1: ..."),
    ("device_file:=negative.yaml", "negative.yaml: line 1: ..."),
    ("device_file:=digits.yaml", "digits.yaml: not YAML: ..., such as an impossible date or an integer of over 4300 "),
    ("hand_file:=fifo", "fifo: cannot be read: expected a regular file, got a FIFO"),
    ("hand_file:=unknown.yaml", "unknown.yaml: line 1: unknown field (and 7 more)"),
    ("hand_file:=textual.yaml", "textual.yaml: line ..."),
    ("law:=table\tlaw_file:=fifo", "fifo: cannot be read: expected a regular file, got a FIFO"),
    ("law:=table\tlaw_file:=empty", "empty: expected the header speed,force, got an empty file"),
    ("law:=table\tlaw_file:=law.csv", "law.csv: line 1: expected the header speed,force, got a text of 11 characters"),
    ("law:=table\tlaw_file:=law_words.csv", "law_words.csv: line 3: ..."),
    ("law:=table\tlaw_file:=law_short.csv", "law_short.csv: expected two or more points, got 1"),
    ("law:=function\tlaw_function:=nowhere", "..., got 'nowhere'"),
    ("law:=stribeck\tstatic_force:=3.0", "..., got 3.0"),
    ("law:=stribeck\tfriction_force:=6.0", "..., got 5.0"),
    ("law:=anisotropic\tforce_tensor:=[4.0]", "..."),
    ("law:=anisotropic\tforce_tensor:=[4.0, 1.0, 0.0, 2.0]", "expected a symmetric tensor, ..."),
    ("model:=parallel\tloading_force:=[2.0, 1.0, 4.0]", "..."),
    ("params_file:=sources.yaml", "source nobody of the device is no node in /joystick"),
    (
        "params_file:=inputs.yaml",
        "node /joystick/friction: parameter inputs: expected kinds of wall, ...got 'nonsense'",
    ),
    ("params_file:=input_node.yaml", "node /joystick/friction: parameter inputs: expected nodes of device, got 'wall'"),
    ("params_file:=input_twice.yaml", "parameter inputs: expected each name once, got "),
    ("params_file:=linked.yaml", "static_force: expected friction_force = 4 N or more, got 1.0"),
    ("params_file:=nowhere.yaml", "...nowhere.yaml: cannot be read: No such file or directory"),
    ("params_file:=fifo", "...fifo: cannot be read: expected a regular file, got a FIFO"),
    ("params_file:=folder", "...folder: cannot be read: expected a regular file, got a directory"),
    ("params_file:=large.yaml", "...large.yaml: cannot be read: expected at most 64 MiB"),
    ("params_file:=binary.yaml", "...binary.yaml: not UTF-8 text: line 1"),
    ("params_file:=broken.yaml", "...broken.yaml: not YAML: line 1, column 6: expected a YAML structure"),
    ("params_file:=deep.yaml", "...deep.yaml: not YAML: nested too deeply"),
    ("params_file:=levels.yaml", "...levels.yaml: line 1, column 101: expected at most 100 levels"),
    ("params_file:=bomb.yaml", "...bomb.yaml: line 19, column 6: expected at most 1000000 values, with the aliases "),
    (
        "params_file:=merged.yaml",
        "...merged.yaml: line 19, column 16: expected at most 1000000 values, with the aliases ",
    ),
    ("params_file:=within.yaml", "...within.yaml: line 1, column 39: expected no alias within the value that it "),
    ("params_file:=within_node.yaml", "...within_node.yaml: line 1, column 1: expected no alias within the value "),
    ("params_file:=twice.yaml", "...twice.yaml: line 2, column 2: expected each key of a mapping once"),
    (
        "params_file:=text.yaml",
        "...text.yaml: expected names of nodes over ros__parameters, got a text of 11",
    ),
    ("params_file:=list.yaml", "...list.yaml: expected names of nodes over ros__parameters, got a list of 2"),
    ("params_file:=unknown.yaml", "...unknown.yaml: node /nonsense: expected names of nodes over ros__parameters"),
    ("params_file:=number_key.yaml", "...number_key.yaml: expected the name of a node, got 1"),
    ("params_file:=node_unknown.yaml", "...node /joystick/friktion: not in this run; did you mean /joystick/friction?"),
    ("params_file:=parameter_unknown.yaml", "...parameter mas: unknown; did you mean mass?"),
    ("params_file:=parameter_negative.yaml", "...parameter mass: expected from 0.001 to 1000 [kg], got -1.0"),
    ("params_file:=parameter_text.yaml", "...parameter mass: expected double [kg], got 'heavy'"),
    ("params_file:=parameter_mode.yaml", "...parameter mode: is 'lockstep' for all nodes of this run, got 'realtime'"),
    ("params_file:=parameter_null.yaml", "...parameter mass: expected a boolean, a number, ..., got None"),
    ("params_file:=parameter_mixed.yaml", "...parameter axes: expected a boolean, a number, ..., got ['x', 1]"),
    ("params_file:=parameter_empty.yaml", "...parameter axes: expected a boolean, a number, ..., got []"),
    ("params_file:=parameter_flat.yaml", "...expected the name of a node, got 'ros__parameters'"),
    ("params_file:=recorder.yaml", "...node /recorder: parameter experiment: is 'friction_impedance' for all nodes"),
    (
        "params_file:=device_fifo.yaml",
        "node /joystick/device: parameter device_file: fifo: cannot be read: ",
    ),
)

_OTHER_EXPERIMENTS = [
    *_run(
        "touch_clutter",
        ("duration:=0.002", "expected 0 or at least 0.003 s, 3 ticks for a report, got 0.002"),
        ("world:=nonsense", "nonsense: no such world; expected a path, module:function, or one of clutter_mixed, "),
        ("world:=/nowhere.yaml", "/nowhere.yaml: cannot be read: No such file or directory"),
        ("world:=./fifo", "fifo: expected a file ending in .dae, "),
        ("world:=folder/", "folder: expected a file ending in .dae, "),
        ("world:=~/nowhere.yaml", ".../nowhere.yaml: cannot be read: No such file or directory"),
        ("world:=text.yaml", "text.yaml: ..., got a text of 11 characters"),
        ("world:=list.yaml", "list.yaml: ..., got a list of 2"),
        ("world:=broken.yaml", "broken.yaml: not YAML: line 1, column 6: expected a YAML structure"),
        ("world:=binary.yaml", "binary.yaml: not UTF-8 text: line 1"),
        ("world:=unknown.yaml", "unknown.yaml: line 1: ..."),
        ("world:=world_unknown.yaml", "world_unknown.yaml: line 1: ..."),
        ("world:=os:system", "os:system: expected a function of the entry points of group haptic_worlds: "),
        ("world_parameters:=['x=1']", "entry x: touch_clutter.yaml: ...unknown field"),
        ("world_parameters:=['x']", "entry 'x': expected name=value"),
        ("world_parameters:=['x=[']", "entry 'x=[': the value is not YAML"),
        ("world_parameters:=['x=1', 'x=2']", "entry 'x=2': x is given twice"),
        ("world_parameters:=x", "expected a list, got 'x'"),
        ("device_parameters:=['lenght=1']", "entry 'lenght=1': ..., got 1"),
        ("device_parameters:=['length=long']", "entry 'length=long': ..., got 'long'"),
        ("hand_parameters:=['mass=-1']", "entry 'mass=-1': ..., got -1"),
        ("scale:=0", "expected from 0.001 to 1000 [-], got 0.0"),
        ("substeps:=0", "expected from 1 to 1000 [-], got 0"),
        ("max_iterations:=1e3", "expected int [-], got '1e3'"),
        ("approximation:=exact", "expected one of sap, lagged, ..., got 'exact'"),
        ("frame_orientation:=[0.0, 0.0, 1.0, 1.0]", "expected a quaternion of length 1, got [0.0, 0.0, 1.0, 1.0]"),
        ("proxy:=thumb", "...thumb..."),
    ),
    *_run(
        "friction_two_contacts",
        ("body_mass:=[1.0]", "body_stiffness: expected 1 entries, got 2"),
        ("friction_force:=[5.0, 2.5, 1.0]", "expected 2 entries, got 3"),
        ("law:=stribeck\tstatic_force:=[1.0, 3.0]", "..., got 1.0"),
    ),
    *_run(
        "tau_rough_wall",
        ("delayed_inputs:=[nonsense]", "parameter delayed_inputs: expected some of ['wall'], got 'nonsense'"),
    ),
    *_run("friction_zero_reaching", ("stiffness:=[1.0, 2.0]", "expected 1 or 1 entries, as models has, got 2")),
    *_run(
        "rolling_disk",
        ("mechanism:=nowhere", "nowhere: ..."),
        ("integrator:=euler", "expected one of default, algorithm1, symplectic_euler, midpoint, rk4, got 'euler'"),
        ("frame_position:=[0.0, 0.0, 99.0]", "expected entries from -10 to 10 [m], got [0.0, 0.0, 99.0]"),
        ("proportional_gain:=-1", "expected from 0 to 1e+06 [1/s^2], got -1.0"),
        ("hand_parameters:=['=1']", "entry '=1': expected name=value"),
        ("device_parameters:=['nonsense=1']", "entry 'nonsense=1': ..., got 1"),
    ),
    *_run(
        "tau_wall",
        ("per_axis:=10", "expected from 0 to 9 [-], got 10"),
        ("scheme:=best", "expected one of sopc, mopc, ..., got 'best'"),
        ("controller_file:=fifo", "fifo: cannot be read: expected a regular file, got a FIFO"),
        ("controller_file:=text.yaml", "text.yaml: ..."),
        ("device_file:=unknown.yaml", "unknown.yaml: line 1: unknown field (and "),
        ("device_file:=text.yaml", "...text.yaml: expected a mapping of sections, got a text of 11 characters"),
    ),
]

_WORDS = [
    Case(("run", "nonsense"), "experiment 'nonsense' is unknown, expected one of: "),
    Case(("run", ""), "experiment '' is unknown, expected one of: "),
    Case(("run", "../friction_impedance"), "experiment '../friction_impedance' is unknown, expected one of: "),
    Case(("run", "x" * 5000), "experiment 'xxxx"),
    Case(("run", "friction_impedance", "mode=lockstep"), "argument 'mode=lockstep': expected name:=value"),
    Case(("run", "friction_impedance", ":=1"), "argument ':=1': expected name:=value"),
    Case(("run", "friction_impedance", "mass:="), "argument 'mass:=': expected name:=value"),
    Case(("run", "friction_impedance", "x" * 5000), "argument 'xxxx...: expected name:=value"),
    Case(("run", "friction_impedance", "stiffnes:=1"), "argument 'stiffnes' is unknown, expected one of: stiffness"),
    Case(("run", "friction_impedance", "\udcff:=1"), r"argument \udcff: expected UTF-8 text, got '1'"),
    Case(("view", "nonsense"), "experiment 'nonsense' is unknown, expected one of: "),
    Case(("view", "friction_impedance", "pace:=-1"), "argument pace: expected from 0 to 100 [-], got -1.0"),
    Case(("view", "friction_impedance", "view_port:=http"), "argument view_port: expected int [-], got 'http'"),
    *(
        Case((command,), f"missing argument '{name}'")
        for command, name in (("run", "experiment"), ("replay", "BAG"), ("repair", "BAG"), ("study", "name"))
    ),
    Case(("report", "x", "--foo"), "no such option: --foo"),
    Case(("devices", "--foo"), "no such option: --foo"),
    Case(("nonsense",), "no such command 'nonsense'"),
    Case(("study", "nonsense"), "study 'nonsense' is unknown, expected one of: "),
    Case(("study", "tau-wall", "nonsense:=1"), "argument 'nonsense' is unknown, expected one of: "),
    Case(("study", "tau-wall", "--scheduler", "nowhere"), "scheduler nowhere: no Dask scheduler answers there (", 1),
    Case(("study", "realtime", "experiments:=nowhere"), "experiment 'nowhere' is unknown, expected one of: "),
    Case(("bench", "nonsense"), "benchmark 'nonsense' is unknown, expected one of: "),
    *(
        Case((command, path), f"{path}: {error}", 1)
        for command in ("replay", "repair", "report")
        for path, error in (
            ("nowhere", "no "),
            ("fifo", "no..."),
            ("folder", "no..."),
            ("bag_text", "..."),
            ("bag_binary", "..."),
            ("run_empty", "no..."),
        )
    ),
    Case(("report", "run_fifo"), "run_fifo: no", 1),
    *(
        Case((command, "bag_fifo"), "bag_fifo...bag_0.mcap: cannot be read: expected a regular file, got a FIFO", 1)
        for command in ("replay", "repair", "report")
    ),
    Case(("report", "run_half"), "run_half/bag: the bag was not closed", 1),
    Case(("replay", "run_half"), "run_half: has several bags: bag, bag_b", 1),
    Case(("repair", "run_half"), "run_half: has several bags: bag, bag_b", 1),
    Case(("repair", "run_lost"), "run_lost: has several bags: bag, bag_b", 1),
    Case(("repair", "run_lost/bag"), "run_lost/bag: no bag (no .mcap file in it)", 1),
    Case(("replay", "run_half/bag/bag.mcap"), "run_half/bag/bag.mcap: expected the directory of a bag, got a file", 1),
    Case(("replay", "nowhere", "x"), "argument 'x': expected name:=value"),
    Case(("replay", "nowhere", "--into", "nonsense"), "experiment 'nonsense' is unknown, expected one of: "),
]

_SETTINGS = [
    Case(("run", "friction_impedance"), f"{name}: {error}", 1, environment={name: value})
    for name, value, error in (
        ("ROS_DOMAIN_ID", "abc", "expected 0 to 232, got 'abc'"),
        ("ROS_DOMAIN_ID", "-1", "expected 0 to 232, got '-1'"),
        ("ROS_DOMAIN_ID", "233", "expected 0 to 232, got '233'"),
        ("ROS_DOMAIN_ID", "9" * 5000, "expected 0 to 232, got '9999"),
        ("ROS_DOMAIN_ID", "1.5", "expected 0 to 232, got '1.5'"),
        ("ROS_DOMAIN_ID", "\u0664", "expected 0 to 232, got "),
        ("ROS_AUTOMATIC_DISCOVERY_RANGE", "localhost", "expected one of SUBNET, LOCALHOST, OFF, SYSTEM_DEFAULT, got "),
        ("HAPTICS_EXECUTOR", "fast", "expected one of events, single_threaded, got 'fast'"),
        ("HAPTICS_PRIORITY", "high", "expected 0 to 99, got 'high'"),
        ("HAPTICS_PRIORITY", "100", "expected 0 to 99, got '100'"),
        ("FASTRTPS_DEFAULT_PROFILES_FILE", "/nowhere.xml", "/nowhere.xml: cannot be read: No such file or directory"),
        ("FASTRTPS_DEFAULT_PROFILES_FILE", "fifo", "fifo: cannot be read: expected a regular file, got a FIFO"),
        ("FASTRTPS_DEFAULT_PROFILES_FILE", "broken.xml", "broken.xml: not XML: line 2, column 1"),
        ("FASTDDS_DEFAULT_PROFILES_FILE", "empty", "empty: not XML: line 1, column 1"),
        ("FASTDDS_DEFAULT_PROFILES_FILE", "other.xml", "other.xml: expected the root dds or profiles, got 'robot'"),
        ("FASTDDS_BUILTIN_TRANSPORTS", "nonsense", "expected one of DEFAULT, ..., got 'nonsense'"),
        ("ROS_STATIC_PEERS", "999.1.2.3;;", "expected addresses or host names that can be resolved, ..., got '999.1.2"),
        ("ROS_STATIC_PEERS", "127.0.0.1;" + "x" * 300, "expected addresses or host names that can be resolved, "),
        ("RMW_IMPLEMENTATION", "rmw_nowhere_cpp", "expected one of rmw_..., got 'rmw_nowhere_cpp'"),
        ("ROS_LOG_DIR", "/proc/nowhere", "/proc/nowhere: no directory that can be written: No such file or directory"),
        ("ROS_LOG_DIR", "empty", "empty: no directory that can be written: File exists"),
        ("ROS_SECURITY_ENABLE", "True", "expected one of true, false, got 'True'"),
        ("ROS_SECURITY_STRATEGY", "enforce", "expected one of Enforce, Permissive, got 'enforce'"),
    )
]

_SETTINGS += [
    Case(
        ("run", "friction_impedance"),
        f"ROS_SECURITY_KEYSTORE: expected a directory, since ROS_SECURITY_ENABLE is true, got {keystore!r}",
        1,
        environment={"ROS_SECURITY_ENABLE": "true", "ROS_SECURITY_KEYSTORE": keystore},
    )
    for keystore in ("", "nowhere")
]

CASES = [*_FRICTION, *_OTHER_EXPERIMENTS, *_WORDS, *_SETTINGS]
