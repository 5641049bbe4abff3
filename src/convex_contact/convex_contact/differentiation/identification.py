"""Identification of contact friction, stiffness and dissipation from recorded motions by nonlinear least squares.

    >>> trial = Trial(scene, "ball", position, period=2e-3)
    >>> identify([trial], {"friction(floor, ball)": 0.3, "stiffness(floor, ball)": 2e4}).values

The errors are those of a body's pose at all steps. `Rollout.jacobian` computes their derivatives by the parameters,
forward through the steps. The variables of the search are the parameters' logarithms, since all are positive. A motion
must not be chaotic over its length: for a tossed cube, use the part near the first touch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pinocchio as pin
import scipy
from numpy.typing import ArrayLike

from convex_contact.differentiation.rollouts import SURFACE, Rollout, rollout
from convex_contact.model.world import World
from convex_contact.problem import checks
from convex_contact.simulation.simulator import Simulator


@dataclass(frozen=True)
class Trial:
    """A recorded motion.

    Attributes:
        world: function that makes the world at the start of the motion.
        body: name of the recorded free body.
        position: position of its centre of mass at the start and after each step [m], shape (steps + 1, 3); NaN where
            none was recorded.
        period: period of the steps [s].
        orientation: quaternions (x, y, z, w) of any length at the same times, shape (steps + 1, 4); NaN where none was
            recorded; None: not recorded.
        options: options of the :class:`Simulator`.
        actuation: actuation of `rollout`.
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
    """Result of an identification.

    Attributes:
        values: identified values by name.
        deviation: relative standard deviations by name, from the scatter of the errors; NaN where the errors do not
            determine all values.
        error: root mean square of the weighted errors.
        evaluations: simulations of each trial.
        converged: whether a criterion of `scipy.optimize.least_squares` is met.
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
    """Identifies the combined parameters of pairs of bodies that fit motions best.

    Args:
        trials: recorded motions.
        start: first guess by name, KIND(A, B) with stiffness [N/m], dissipation [s/m], relaxation_time [s] (of sap) or
            friction.
        length: error of position with weight 1 [m].
        angle: error of orientation with weight 1 [rad].
        range: values lie between start / range and start x range.
        max_evaluations: largest number of simulations of each trial.

    Raises:
        ValueError: a name is unknown, a guess is not positive, or a shape is wrong.
    """
    if isinstance(trials, Trial) or not all(isinstance(trial, Trial) for trial in trials):
        raise ValueError(f"trials: expected a list of Trial, got {trials!r}")
    if not trials:
        raise ValueError("trials: expected at least one")
    if not isinstance(start, Mapping) or not start:
        raise ValueError(f"start: expected at least one parameter with its first guess, got {start!r}")
    names = list(start)
    guess = np.log([checks.number(name, start[name], above=0.0) for name in names])
    scales = checks.number("length", length, above=0.0), checks.number("angle", angle, above=0.0)
    width = np.log(checks.number("range", range, above=1.0))
    named: dict[tuple[str, frozenset[str]], str] = {}
    for name in names:
        kind, one, two = _parse_name(name)
        other = named.setdefault((kind, frozenset((one, two))), name)
        if other != name:
            raise ValueError(f"start: expected each parameter once, got {other!r} and {name!r}")
    if not checks.is_whole(max_evaluations) or max_evaluations < 1:
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


def _parse_name(name: str) -> tuple[str, str, str]:
    """Returns the kind and the two bodies of a parameter's name."""
    match = re.fullmatch(r"(\w+)\(([^,]+),\s*([^,]+)\)", name) if isinstance(name, str) else None
    if match is None or match[1] not in SURFACE:
        raise ValueError(f"start: there is no {name!r}; expected KIND(A, B) with one of {', '.join(SURFACE)}")
    return match[1], match[2].strip(), match[3].strip()


def _simulate(trial: Trial, values: Mapping[str, float]) -> Rollout:
    """Simulates a trial with these values and records derivatives."""
    world = trial.world()
    pairs: dict[tuple[int, int], dict[str, float]] = {}
    for name, value in values.items():
        kind, a, b = _parse_name(name)
        one, two = world.number(a), world.number(b)
        pairs.setdefault((min(one, two), max(one, two)), {})[kind] = value
    for (one, two), changed in pairs.items():
        old = world.pair_laws.get((one, two))
        known = {} if old is None else vars(old)
        world.set_pair(one, two, **known | changed)
    simulator = Simulator(world, period=trial.period, **{"polish": True} | dict(trial.options))
    return rollout(simulator, len(trial.position) - 1, actuation=trial.actuation)


def _recorded(name: str, value: ArrayLike, steps: int, width: int) -> np.ndarray:
    """Returns recorded numbers (steps + 1, width), NaN where none were recorded.

    Raises:
        ValueError: the shape is another, or there is nothing.
    """
    array = checks.float_array(name, value, (steps + 1, width))
    if array.shape != (steps + 1, width) or steps < 1:
        raise ValueError(f"{name}: expected shape (steps + 1, {width}) with a step or more, got {array.shape}")
    return array


def _errors(trial: Trial, values: Mapping[str, float], scales: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Computes the weighted errors (m,) of a trial, and their derivatives (m, n) by the values."""
    steps = (len(trial.position) if np.ndim(trial.position) else 0) - 1
    position = _recorded("position", trial.position, steps, 3)
    if trial.orientation is not None:
        orientation = _recorded("orientation", trial.orientation, steps, 4)
    motion = _simulate(trial, values)
    q, v = motion.slices(trial.body)
    J = motion.jacobian(list(values))[:, : motion.nv][:, v]
    path = motion.q[:, q]
    errors, slopes = (path[:, :3] - position) / scales[0], J[:, :3] / scales[0]
    if trial.orientation is not None:
        angles, by = np.full((steps + 1, 3), np.nan), np.zeros((steps + 1, 3, 3))
        for k in np.flatnonzero(np.isfinite(orientation).all(axis=1)):
            checks.quaternion_length("orientation", orientation[k])
            given = pin.Quaternion(orientation[k]).normalized().matrix()
            rotation = pin.Quaternion(path[k, 3:]).matrix() @ given.T
            # log(exp(d) R) = log R + J_l^-1 d, and J_l(r) = J_r(r)^T
            angles[k], by[k] = pin.log3(rotation), pin.Jlog3(rotation).T
        errors, slopes = np.hstack([errors, angles / scales[1]]), np.hstack([slopes, by @ J[:, 3:] / scales[1]])
    known = np.isfinite(errors)
    if not known.any():
        raise ValueError(f"position: expected a recorded pose of {trial.body}, got only NaN")
    return errors[known], slopes[known]
