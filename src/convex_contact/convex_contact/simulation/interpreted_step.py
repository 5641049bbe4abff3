"""A step with rows, couplings or trees of Python; the solver and the contacts are compiled, as in all steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from convex_contact.simulation.constraint_rows import NO_ROWS, flat_rows, joined_rows
from convex_contact.simulation.step_inputs import load_rows
from convex_contact.solver.workspace import TermInputs

if TYPE_CHECKING:
    from convex_contact.simulation.simulator import Simulator


def make_interpreted_step(simulator: Simulator) -> None:
    """Makes a step with Python's work before and after the compiled call.

    Raises:
        ConvergenceError: the step failed.
        ValueError: a row couples more than two trees, or a function of time gave an impossible number.
    """
    sim, d = simulator, simulator.dynamics
    pulling = (*sim.springs, *sim.couplings)
    d.prepare()
    for coupling in pulling:
        coupling.add(sim.period)
    own = joined_rows(sim._body_rows.flat(d), _own_rows(sim))
    parts = sim._body_rows, sim._joint_rows.record, sim._coupling_table(), sim._workspace, sim.approximation
    sim._records.make_step(*parts, lambda everything: _load(sim, own, everything))
    d.move_others()
    for coupling in pulling:
        coupling.finish(sim.period)
    sim._solved = True


def _own_rows(simulator: Simulator) -> TermInputs:
    """Returns the rows in the coming step that controllers and constraints make by Python."""
    d = simulator.dynamics
    simulator._own = [make(d) for make in (*simulator._body_rows.others, *simulator.constraints)]
    rows = flat_rows(d, simulator._own)
    simulator._own_count = len(rows.a)
    return rows


def _load(simulator: Simulator, own: TermInputs, everything: bool) -> int:
    """Loads the rows of a step, with all joint limits or with those that may act; returns their number."""
    joints = simulator._joint_rows
    rows = joined_rows(own, joints.flat(simulator.dynamics, everything=everything) if len(joints) else NO_ROWS)
    if len(rows.a):
        load_rows(simulator._workspace, rows)
    return len(rows.a)
