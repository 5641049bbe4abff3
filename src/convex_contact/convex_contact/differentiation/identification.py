"""Friction, stiffness and dissipation of contacts from recorded motions: least squares with the derivatives of motions.

    >>> trial = Trial(scene, "ball", position, period=2e-3)
    >>> identify([trial], {"friction(floor, ball)": 0.3, "stiffness(floor, ball)": 2e4}).values

Errors are those of a body's pose at all steps; their derivatives by the parameters are the library's, forward through
the steps (`Rollout.jacobian`), chained to the parameters' logarithms, which are searched: all are positive. A motion
must not be chaotic over its length: of a tossed cube take what is near the first touch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pinocchio as pin
import scipy

from convex_contact.differentiation.rollouts import SURFACE, Rollout, rollout
from convex_contact.model.world import World
from convex_contact.problem import checks
from convex_contact.simulation.simulator import Simulator


@dataclass(frozen=True)
class Trial:
    """A recorded motion.

    Attributes:
        world: Makes the world at the start of the motion.
        body: Name of the free body that was recorded.
        position: Of its centre of mass, at the start and after each step (steps + 1, 3), m; NaN where there is none.
        period: Of the steps, s.
        orientation: Quaternions (x, y, z, w) likewise (steps + 1, 4); None: not recorded.
        options: Of the :class:`Simulator`.
        actuation: As `rollout` takes it.
    """

    world: Callable[[], World]
    body: str
    position: np.ndarray
    period: float
    orientation: np.ndarray | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    actuation: np.ndarray | None = None


@dataclass(frozen=True)
class Identified:
    """What was found.

    Attributes:
        values: By name.
        deviation: Standard deviation of each over its value, from the scatter of the errors; NaN where they do not
            depend on it.
        error: Root mean square of the weighted errors.
        evaluations: Motions that were simulated with derivatives, of each trial.
        converged: One of the criteria of `scipy.optimize.least_squares` is met.
    """

    values: dict[str, float]
    deviation: dict[str, float]
    error: float
    evaluations: int
    converged: bool


def identify(
    trials: Sequence[Trial],
    start: Mapping[str, float],
    *,
    length: float = 1e-3,
    angle: float = 1e-2,
    range: float = 1e3,
    max_evaluations: int = 50,
) -> Identified:
    """Finds the combined values of pairs of bodies that explain motions best.

    Args:
        trials: The motions.
        start: First guess by name, KIND(A, B) with stiffness (N/m), dissipation (s/m), relaxation_time (s; of sap) or
            friction.
        length: An error of position that counts 1, m.
        angle: Likewise of orientation, rad.
        range: Values are looked for between start / range and start x range.
        max_evaluations: At most so many of each trial.

    Raises:
        ValueError: An unknown name, a guess that is not positive, or a wrong shape.
    """
    if not trials:
        raise ValueError("trials: expected at least one")
    if not start:
        raise ValueError("start: expected at least one parameter")
    names = list(start)
    guess = np.log([checks.number(name, start[name], above=0.0) for name in names])
    scales = checks.number("length", length, above=0.0), checks.number("angle", angle, above=0.0)
    width = np.log(checks.number("range", range, above=1.0))
    for name in names:
        _pair(name)
    if not isinstance(max_evaluations, int) or max_evaluations < 1:
        raise ValueError(f"max_evaluations: expected a whole number from 1 on, got {max_evaluations!r}")
    kept: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}

    def evaluated(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if u.tobytes() not in kept:
            kept.clear()
            values = dict(zip(names, np.exp(u).tolist(), strict=True))
            parts = [_errors(trial, values, scales) for trial in trials]
            errors, slopes = (np.concatenate(part) for part in zip(*parts, strict=True))
            kept[u.tobytes()] = errors, slopes * np.exp(u)
        return kept[u.tobytes()]

    found = scipy.optimize.least_squares(
        lambda u: evaluated(u)[0], guess, lambda u: evaluated(u)[1], bounds=(guess - width, guess + width),
        xtol=1e-12, ftol=1e-12, gtol=1e-12, max_nfev=max_evaluations,
    )  # fmt: skip
    errors, slopes = evaluated(found.x)
    scatter = float(errors @ errors) / max(1, len(errors) - len(names))
    normal = slopes.T @ slopes
    deviation = np.full(len(names), np.nan)
    if np.linalg.matrix_rank(normal) == len(names):
        deviation = np.sqrt(scatter * np.diag(np.linalg.inv(normal)))
    return Identified(
        dict(zip(names, np.exp(found.x).tolist(), strict=True)),
        dict(zip(names, deviation.tolist(), strict=True)),
        float(np.sqrt(np.mean(errors**2))),
        int(found.nfev),
        bool(found.success),
    )


def _pair(name: str) -> tuple[str, str, str]:
    """Kind and bodies of a parameter."""
    match = re.fullmatch(r"(\w+)\(([^,]+),\s*([^,]+)\)", name) if isinstance(name, str) else None
    if match is None or match[1] not in SURFACE:
        raise ValueError(f"start: there is no {name!r}; expected KIND(A, B) with one of {', '.join(SURFACE)}")
    return match[1], match[2].strip(), match[3].strip()


def _moved(trial: Trial, values: Mapping[str, float]) -> Rollout:
    """The trial's motion with these values."""
    world = trial.world()
    pairs: dict[tuple[int, int], dict[str, float]] = {}
    for name, value in values.items():
        kind, a, b = _pair(name)
        one, two = world.number(a), world.number(b)
        pairs.setdefault((min(one, two), max(one, two)), {})[kind] = value
    for (one, two), changed in pairs.items():
        old = world.pair_laws.get((one, two))
        known = {} if old is None else {kind: getattr(old, kind) for kind in SURFACE}
        world.set_pair(one, two, **known | changed)
    simulator = Simulator(world, period=trial.period, **{"polish": True} | dict(trial.options))
    return rollout(simulator, len(trial.position) - 1, actuation=trial.actuation)


def _errors(trial: Trial, values: Mapping[str, float], scales: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Weighted errors (m,) of a trial, and their derivatives (m, n) by the values."""
    steps = len(trial.position) - 1
    if np.shape(trial.position) != (steps + 1, 3) or steps < 1:
        raise ValueError(f"position: expected shape (steps + 1, 3), got {np.shape(trial.position)}")
    motion = _moved(trial, values)
    q, v = motion.slices(trial.body)
    J = motion.jacobian(list(values))[:, : motion.nv][:, v]
    path = motion.q[:, q]
    errors, slopes = (path[:, :3] - trial.position) / scales[0], J[:, :3] / scales[0]
    if trial.orientation is not None:
        if np.shape(trial.orientation) != (steps + 1, 4):
            raise ValueError(f"orientation: expected shape {(steps + 1, 4)}, got {np.shape(trial.orientation)}")
        turns = [
            pin.Quaternion(a).matrix() @ pin.Quaternion(b).matrix().T
            for a, b in zip(path[:, 3:], np.asarray(trial.orientation, dtype=float), strict=True)
        ]
        # log(exp(d) R) = log R + J_l^-1 d, and J_l(r) = J_r(r)^T
        angles = np.array([pin.log3(turn) for turn in turns])
        by = np.array([pin.Jlog3(turn).T for turn in turns])
        errors, slopes = np.hstack([errors, angles / scales[1]]), np.hstack([slopes, by @ J[:, 3:] / scales[1]])
    known = np.isfinite(errors)
    return errors[known], slopes[known]
