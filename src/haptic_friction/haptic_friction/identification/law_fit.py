"""Fit of a law to the speeds and forces of sliding samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from haptic_friction.identification.estimates import LAWS
from haptic_friction.identification.fitting import Solution, solve
from haptic_friction.identification.records import wrong_direction

#: the 5 % and 95 % speeds must differ by this factor for a viscosity
_SPEED_RANGE = 1.5


@dataclass(frozen=True)
class LawFit:
    """The fit of one law.

    Attributes:
        law: name of the fitted law.
        names: names of its parameters in the requested law.
        solution: least-squares solution.
        upper: upper bounds of the parameters.
        speeds: slowest and fastest sliding speed [m/s].
    """

    law: str
    names: list[str]
    solution: Solution
    upper: np.ndarray
    speeds: np.ndarray


def fit_law(law: str, speed: np.ndarray, along: np.ndarray) -> tuple[LawFit, dict[str, str]]:
    """Fits a law, or only its force g if all samples slide at one speed; also returns the undetermined parameters."""
    names, missing = list(LAWS[law]), {}
    if law != "coulomb":
        slow, fast = np.percentile(speed, (5, 95))
        if fast < _SPEED_RANGE * slow:
            reason = (
                f"the sliding speed stays between {slow:.3g} and {fast:.3g} m/s: only g = {along.mean():.4g} N is known"
            )
            missing = dict.fromkeys(names, reason)
            law, names = "coulomb", names[:1]
    if along.mean() <= 0.0:
        raise ValueError(wrong_direction(float(along.mean())))
    start = _linear_start(law, speed, along)
    scale, lower, upper = np.maximum(start, 1e-3 * along.mean()), np.zeros(len(start)), np.full(len(start), np.inf)
    if law == "stribeck":
        slow, fast = np.percentile(speed, (2, 98))
        scale[2], lower[2], upper[2] = start[2], slow / 3.0, 3.0 * fast
    solution = solve(
        lambda theta: _magnitude(law, theta, speed)[:, None],
        along[:, None],
        start,
        scale=scale,
        lower=lower,
        upper=upper,
    )
    return LawFit(law, names, solution, upper, np.percentile(speed, (2, 98))), missing


def _linear_start(law: str, speed: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Solves linear least squares for starting values; for Stribeck's law at the best of 30 Stribeck velocities."""

    def fit(*columns: np.ndarray) -> tuple[np.ndarray, float]:
        matrix = np.column_stack((np.ones_like(speed), *columns))
        theta = np.maximum(np.linalg.lstsq(matrix, along, rcond=None)[0], 0.0)
        return theta, float(np.sum((along - matrix @ theta) ** 2))

    if law == "coulomb":
        return fit()[0]
    if law == "viscous_coulomb":
        return fit(speed)[0]
    slow, fast = np.percentile(speed, (2, 98))
    candidates = np.geomspace(slow, fast, 30)
    fits = [(*fit(np.exp(-((speed / stribeck) ** 2)), speed), stribeck) for stribeck in candidates]
    theta, _, stribeck = min(fits, key=lambda candidate: candidate[1])
    return np.array([theta[0], theta[1], stribeck, theta[2]])


def stribeck_unseen(
    theta: np.ndarray, lower: np.ndarray, found: Sequence[tuple[float, float] | None], speeds: np.ndarray
) -> dict[str, str]:
    """Returns the reason for static force and Stribeck velocity if the samples do not determine them; else nothing.

    Args:
        theta, lower: parameters of the law and their lower bounds.
        found: intervals of the parameters.
        speeds: slowest and fastest sliding speed [m/s].
    """
    slow, fast = speeds
    reason = ""
    if found[1] is None or found[2] is None or found[1][0] <= 0.0:
        reason = f"no Stribeck effect between {slow:.3g} and {fast:.3g} m/s"
    elif not slow < theta[2] < fast or found[2][0] <= lower[2]:
        reason = f"the Stribeck velocity is not between {slow:.3g} and {fast:.3g} m/s, the speeds of sliding"
    return dict.fromkeys(("static_force", "stribeck_velocity"), reason) if reason else {}


def _magnitude(law: str, theta: np.ndarray, speed: np.ndarray) -> np.ndarray:
    """Evaluates g(s); Stribeck's static force is given as its excess over the kinetic one, which is not negative."""
    if law == "coulomb":
        return np.full_like(speed, theta[0])
    if law == "viscous_coulomb":
        return theta[0] + theta[1] * speed
    kinetic, excess, stribeck, viscosity = theta
    return kinetic + excess * np.exp(-((speed / stribeck) ** 2)) + viscosity * speed


def reported(law: str, theta: np.ndarray) -> np.ndarray:
    """Converts fitted parameters to those of the constructor: Stribeck's static force instead of its excess."""
    if law != "stribeck":
        return theta
    return np.concatenate((theta[:1], theta[:1] + theta[1:2], theta[2:]))
