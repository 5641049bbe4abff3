"""Compiles the solver of a step: half of what the first step on a machine compiles.

The runner of an experiment's first run starts `python -m convex_contact.compile_ahead` beside the nodes
(`haptic_launch.compile_ahead`). The solver is the same for all worlds; a node that needs it waits until it is compiled
(`solver.stages`).
"""

from __future__ import annotations

import gc

from convex_contact.solver import newton
from convex_contact.solver.stages import address_of
from convex_contact.solver.workspace import new_workspace


def main() -> None:
    """Compiles the solver, unless Numba's cache has it."""
    gc.set_threshold(50_000, 10, 10)  # with Python's own it takes a tenth of the time
    address_of(newton.solve_step, new_workspace())


if __name__ == "__main__":
    main()
