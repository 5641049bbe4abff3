"""Compiles the solver of a step: half of what the first step on a machine compiles.

The runner of an experiment's first run starts `python -m convex_contact.compile_ahead` beside the nodes
(`haptic_launch.compile_ahead`). The solver is the same for all worlds; a node that needs it waits until it is compiled
(`solver.stages`).
"""

from __future__ import annotations

from convex_contact.solver import newton
from convex_contact.solver.stages import address_of
from convex_contact.solver.workspace import new_workspace
from haptic_files.garbage_collection import collect_rarely


def main() -> None:
    """Compiles the solver, unless Numba's cache has it."""
    collect_rarely()
    workspace = new_workspace()
    newton.address_of_iterate(workspace)
    address_of(newton.solve, workspace, 0)


if __name__ == "__main__":
    main()
