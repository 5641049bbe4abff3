"""Many steps of a simulator and the states after each of them, in one compiled call where Python has nothing to do.

>>> motion = trajectory(simulator, 500)
>>> motion.position[:, world.number("ball")]  # of the ball (501, 3)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from convex_contact.model.arrays import WorldRecord
from convex_contact.model.bodies import FREE
from convex_contact.problem import checks
from convex_contact.simulation.compiled_step import STATUSES, StepRecord, make_steps
from convex_contact.solver import newton
from haptic_math.array_assignment import assign

if TYPE_CHECKING:
    from convex_contact.simulation.simulator import Simulator


class StateTrajectory(NamedTuple):
    """States of a world before the first and after each of n steps; nb bodies, in the order of the world.

    Attributes:
        time: times of the states [s], shape (n + 1,).
        q: coordinates, see :class:`~convex_contact.simulation.state_access.StateAccess`, shape (n + 1, nq).
        v: velocities by the same order of trees and bodies, shape (n + 1, nv).
        position: of the bodies' frames in the world frame [m], shape (n + 1, nb, 3).
        orientation: quaternions (x, y, z, w), body to world, shape (n + 1, nb, 4).
        velocity: of the frames' origins in the world frame [m/s], shape (n + 1, nb, 3).
        angular_velocity: in the world frame [rad/s], shape (n + 1, nb, 3).

    Examples:
        >>> from convex_contact import Simulator, World, trajectory
        >>> world = World(gravity=(0.0, 0.0, -10.0))
        >>> _ = world.add_sphere("ball", mass=1.0, radius=0.1, velocity=(1.0, 0.0, 0.0))
        >>> motion = trajectory(Simulator(world, period=0.1), 2)
        >>> motion.time.tolist(), motion.position[:, 0].round(6).tolist()
        ([0.0, 0.1, 0.2], [[0.0, 0.0, 0.0], [0.1, 0.0, -0.1], [0.2, 0.0, -0.3]])
    """

    time: np.ndarray
    q: np.ndarray
    v: np.ndarray
    position: np.ndarray
    orientation: np.ndarray
    velocity: np.ndarray
    angular_velocity: np.ndarray


@njit(cache=True, nogil=True, error_model="numpy")
def make_forced_steps(
    x: StepRecord, into_first: bool, period: float, horizon: float, first: int, forces: np.ndarray, effort: np.ndarray,
    wrench: np.ndarray, q: np.ndarray, v: np.ndarray,
) -> int:  # fmt: skip
    """Makes whole steps with a force in each, and writes the coordinates and velocities after each.

    Args:
        x, into_first, period, horizon: see :func:`~convex_contact.simulation.compiled_step.make_steps`.
        first: number of the first step; the last one is len(q) - 2.
        forces: forces of the steps beside the others, shape (n, nv); without rows: none.
        effort: joint forces in all steps, shape (nv,).
        wrench: wrenches on bodies in all steps, shape (nb, 6).
        q: output, coordinates after step k in row k + 1, shape (n + 1, nq).
        v: output, velocities likewise, shape (n + 1, nv).

    Returns:
        Number of these steps that converged, times STATUSES, plus the status of the last one that was tried.
    """
    w = x.world
    for k in range(first, len(q) - 1):
        if len(forces):
            _apply(w, forces[k], effort, wrench)
        result = make_steps(x, into_first == ((k - first) % 2 == 0), period, horizon, 1, True, 0)
        if result < STATUSES:
            return STATUSES * (k - first) + result
        assign(q[k + 1], w.q)
        assign(v[k + 1], w.v)
    return STATUSES * (len(q) - 1 - first) + newton.CONVERGED


@njit(cache=True, nogil=True, error_model="numpy")
def _apply(w: WorldRecord, force: np.ndarray, effort: np.ndarray, wrench: np.ndarray) -> None:
    """Sets the applied forces to the sum of a force (nv,) and those of all steps."""
    assign(w.effort, effort + force)
    for tree in range(len(w.tree_kind)):
        if w.tree_kind[tree] == FREE:
            body, i = w.tree_body[tree], w.tree_v[tree]
            assign(w.body_wrench[body], wrench[body] + force[i : i + 6])


def trajectory(simulator: Simulator, steps: int, forces: ArrayLike | None = None) -> StateTrajectory:
    """Makes steps and returns the states; they have the bits of as many single steps.

    Args:
        simulator: simulator, which makes the steps.
        steps: number of steps, not negative.
        forces: generalised forces of each step beside the simulator's own, shape (steps, nv): force and torque at the
            centre of mass of free bodies in the world frame, joint forces of trees [N, N m].

    Raises:
        ValueError: a number or a shape is wrong.
        ConvergenceError: a step failed; the steps before it are made.

    Examples:
        >>> from convex_contact import Simulator, World, trajectory
        >>> world = World(gravity=(0.0, 0.0, 0.0))
        >>> _ = world.add_sphere("ball", mass=2.0, radius=0.1)
        >>> push = [[4.0, 0.0, 0.0, 0.0, 0.0, 0.0]] * 3  # 4 N
        >>> trajectory(Simulator(world, period=0.5), 3, push).v[:, 0].tolist()
        [0.0, 1.0, 2.0, 3.0]
    """
    if not isinstance(steps, int) or steps < 0:
        raise ValueError(f"steps: expected a whole number, not negative, got {steps!r}")
    d = simulator.dynamics
    given = np.zeros((0, d.nv)) if forces is None else checks.array("forces", forces, (steps, d.nv))
    compiled = simulator.is_whole and simulator.control is None and not d.prescribed  # they have no coordinates
    return (_compiled_trajectory if compiled else _interpreted_trajectory)(simulator, steps, given)


def _compiled_trajectory(simulator: Simulator, steps: int, forces: np.ndarray) -> StateTrajectory:
    """Makes whole steps, see :func:`trajectory`."""
    d, a = simulator.dynamics, simulator.dynamics.arrays
    q, v = np.empty((steps + 1, len(a.q))), np.empty((steps + 1, d.nv))
    time = np.cumsum([d.time, *[d.period] * steps])
    q[0], v[0] = a.q, a.v
    effort, wrench = a.effort.copy(), a.body_wrench.copy()

    def run(record: Any, into_first: bool, period: float, horizon: float, made: int) -> int:
        result = make_forced_steps(record, into_first, period, horizon, made, forces, effort, wrench, q, v)
        return int(result)

    try:
        simulator._advance(steps, run)
    finally:
        a.effort[:], a.body_wrench[:] = effort, wrench
    return StateTrajectory(time, q, v, *simulator._bodies.read_states(q, v))


def _interpreted_trajectory(simulator: Simulator, steps: int, forces: np.ndarray) -> StateTrajectory:
    """Makes steps with Python's work between them, see :func:`trajectory`."""
    d, a = simulator.dynamics, simulator.dynamics.arrays
    states = [(d.time, a.q.copy(), a.v.copy(), *simulator.body_states())]
    effort, wrench = a.effort.copy(), a.body_wrench.copy()
    try:
        for k in range(steps):
            if len(forces):
                _apply(a.record, forces[k], effort, wrench)
            simulator.step()
            states.append((d.time, a.q.copy(), a.v.copy(), *simulator.body_states()))
    finally:
        a.effort[:], a.body_wrench[:] = effort, wrench
    return StateTrajectory(*(np.array(column) for column in zip(*states, strict=True)))
