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
"""


def page() -> str:
    """The page's text."""
    parts = [HEADER]
    for path in sorted((ROOT / "src").glob("*/*/*.yaml")):
        if not (path.stem.endswith("_node") or path.stem in ("recorder", "player", "viewer")):
            continue  # a device's numbers
        parts.append(f"\n## {path.stem} (`{path.relative_to(ROOT)}`)\n")
        parts.append("| parameter | type | default | bounds | | what it is |\n| --- | --- | --- | --- | --- | --- |")
        for spec in load_parameter_specs(path).values():
            fixed = "fixed" if spec.read_only else "fixed once configured" if spec.file else ""
            about = spec.description.replace("<", "&lt;")  # runs/<time> is no element
            cells = [f"`{spec.name}`", spec.type, repr(spec.default), spec.constraints, fixed, about]
            parts.append(f"| {' | '.join(cells)} |")
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(TARGET.read_text() != page())
    TARGET.write_text(page())
