"""Writes docs/parameters.md from the nodes' parameter files; with --check it only compares."""

from __future__ import annotations

import sys
from pathlib import Path

from haptic_core.parameters import load_parameter_specs

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "parameters.md"
HEADER = """# Parameters

Written from the nodes' parameter files by `docs/write_parameters.py`. A parameter marked "fixed" is read at start. One
marked "fixed once configured" names a file and can be set only while the node is unconfigured
([security.md](security.md#files)). The others can be set while the node runs and act between ticks, whole or not at
all. A rendering node then leads its command from what it was to what the new values give within `change_time`, so that
no change is felt as a step ([loop.md](loop.md#changes-of-parameters), figures in
[reliability.md](reliability.md#live-parameter-changes)).

Fixed is what cannot be changed without a step, or makes another object: what a node simulates or renders, where it
lies, how its loop runs. The numbers of the passivity controller are fixed because its damper acts and ends within one
tick by design: another bound would be a step of that force. `longest_saturation` is fixed because a shorter one, set
while the motors are at their limits, would stop them within that tick.

## What is checked before a run

`./haptics run` checks the parameters of all nodes before it starts a process or makes a directory: names, types and
bounds of the tables below, whether files can be read, and then what texts of the user name (device, hand and law files,
motions, worlds, mechanisms). The error names the argument of the command line from which the value follows, or else
node and parameter. Parameters that must fit each other, such as `static_force` and `friction_force`, are checked by the
function with which the node is configured, if the user gave one of them. A text has at most 4096 characters, a list one
entry or more. `ros2 launch` leaves all checks to the nodes.

## A parameter file

`./haptics run EXPERIMENT params_file:=my.yaml` takes parameters of the nodes from a ROS parameter file:

```yaml
/joystick/friction:
  ros__parameters:
    friction_force: 2.0
```

The path is relative to the working directory. A key is the full name of a node or a pattern of ROS (`/**`,
`/joystick/*`); a full name goes before a pattern. A pattern gives each node those of the parameters that it has. The
file is checked before anything starts: a node that is not in the run, a parameter that the node does not have, and a
value that it refuses are errors with file, node and parameter.

Three places can give a parameter. **An argument on the command line goes before the file, the file before the launch
file.** `mode`, `recorded` and `period` must be the same in all nodes; give them as arguments (`mode`, `record`,
`period`). The parameters of the recorder follow from the arguments, too. Under `ros2 launch` itself, which does not
tell given arguments from defaults, the file goes before both.

A list of entries `name=value`, such as `device_parameters`, can be given as nested parameters, one for each entry;
the tables name their prefix. They replace the entries of the same names that the launch file has:

```yaml
/joystick/device:
  ros__parameters:
    device_values: {friction_coulomb: 0.0}
    hand_values:
      mass: 0.8
```

The list itself is what an argument of a launch file can carry. Started by `ros2 run`, a node declares each of them
(`ros2 param get /joystick/device hand_values.mass`), with the same rules as for its list.

The output of `ros2 param dump` is such a file. Several outputs in one file give a whole run again:

```
ros2 param dump /joystick/friction > my.yaml
ros2 param dump /joystick/device >> my.yaml
./haptics run friction_impedance params_file:=my.yaml
```

Given to a node itself (`ros2 run ... --ros-args --params-file my.yaml`), the file must have `y` and `n` in quotes,
which `ros2 param dump` does not write: ROS reads them as true and false. A list of texts may also be one text,
`axes: "[x, y]"`.

Parameters that ROS itself declares in every node (`use_sim_time`, `start_type_description_service`, `qos_overrides`),
and `params_file`, are ignored. The run keeps the values that replaced others in `parameters.yaml` beside its bag
(`parameters_<variant>.yaml` for each variant), and a replay of the run has them again. In a replay, `params_file:=`
replaces the recorded file. `haptic_experiments.graph` takes the same argument.
"""


def page() -> str:
    """Makes the text of the page."""
    parts = [HEADER]
    for path in sorted((ROOT / "src").glob("*/*/*.yaml")):
        if not (path.stem.endswith("_node") or path.stem in ("recorder", "player", "viewer")):
            continue  # parameters of a device
        parts.append(f"\n## {path.stem} (`{path.relative_to(ROOT)}`)\n")
        parts.append("| parameter | type | default | bounds | | what it is |\n| --- | --- | --- | --- | --- | --- |")
        for spec in load_parameter_specs(path).values():
            fixed = "fixed" if spec.read_only else "fixed once configured" if spec.file else ""
            nested = f" (nested: `{spec.nested}`)" if spec.nested else ""
            about = spec.description.replace("<", "&lt;") + nested  # runs/<time> is no element
            cells = [f"`{spec.name}`", spec.type, repr(spec.default), spec.constraints, fixed, about]
            parts.append(f"| {' | '.join(cells)} |")
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(
            "docs/parameters.md is not what docs/write_parameters.py writes" if TARGET.read_text() != page() else 0
        )
    TARGET.write_text(page())
