"""Identification of the LuGre model: bristle stiffness and damping, viscosity, and the Stribeck curve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from haptic_friction.classical.bristles import LuGreModel
from haptic_friction.identification.estimates import BRISTLE, Identification, check_law, lugre_of
from haptic_friction.identification.fitting import solve
from haptic_friction.identification.identify import (
    fit_directions,
    identification_of,
    presliding_start,
    widened_by_quantisation,
)
from haptic_friction.identification.law_fit import LawFit, reported
from haptic_friction.identification.records import signals, split_samples
from haptic_friction.identification.responses import check_substeps, response_to
from haptic_friction.laws import checked

#: multiples of the regression's stiffness that are tried as start: the bristle deflects plastically before it slides
_STIFFER = (1.0, 1.5, 2.5, 4.0)
#: fraction of g that the bristle's force must reach in a record that slides
_FULL_SLIDING = 0.9


def identify_lugre(
    velocity: ArrayLike,
    force: ArrayLike,
    *,
    period: float,
    law: str = "stribeck",
    minimum_speed: float = 0.01,
    velocity_resolution: float = 0.0,
    substeps: int = 4,
) -> Identification:
    """Fits the LuGre model to a contiguous record: z' = u - s0 |u| z/g(|u|), f = s0 z + s1 z' + s2 u.

    Least squares fit the response of `LuGreModel` to the recorded velocity, from an unknown deflection z at the first
    sample, to the recorded force. Source: Canudas de Wit, Olsson, Astrom, Lischinsky, "A new model for control of
    systems with friction", IEEE Trans. Automatic Control 40 (1995).

    Args:
        velocity: velocity u [m/s], shape (n_samples, dimension), or (n_samples,) along a line, one row per period.
        force: friction force f [N], the same shape, in the direction of sliding; -f acts on the body.
        period: sampling period T [s], above 0.
        law: steady sliding force g(s) + s2 s, as in `identify_law`: "coulomb", g = F and s2 = 0; "viscous_coulomb",
            g = F; "stribeck", g = Fc + (Fs - Fc) exp(-(s/vs)^2).
        minimum_speed: speed above which the contact may slide [m/s]; only for the starting values, and for the
            speeds that decide whether a parameter of the law is identifiable.
        velocity_resolution: change of the velocity by one count of a position encoder [m/s], as in `identify_law`.
        substeps: steps of the model per sample. 1 fits the implicit Euler steps of `LuGreModel` with period T, for a
            force that this model rendered; more fit the differential equation, for a measured force.

    Returns:
        Estimates under the names of the law's arguments, where "viscosity" is s2, and "bristle_stiffness" s0,
        "bristle_damping" s1. Without samples that stick, s0 and s1 are not identified. If all sliding is at one
        speed, neither s2 nor s1 is identified: only their sum acts in presliding.

    Raises:
        ValueError: as in `identify_law`; a period that is not above 0; substeps that are not a whole number from 1;
            a bristle that never reaches 90 % of g.

    Examples:
        >>> import numpy as np
        >>> from haptic_friction import CoulombLaw, LuGreModel, identify_lugre
        >>> velocity = 0.05 * np.sin(np.linspace(0.0, 20.0, 4000))
        >>> model = LuGreModel(CoulombLaw(2.0), bristle_stiffness=1e4, bristle_damping=20.0, period=1e-3)
        >>> force = model.simulate(velocity[:, None])
        >>> found = identify_lugre(velocity, force, period=1e-3, law="coulomb", substeps=1)
        >>> {name: round(estimate.value, 2) for name, estimate in found.estimates.items()}
        {'force': 2.0, 'bristle_stiffness': 10000.0, 'bristle_damping': 20.0}
    """
    check_law(law)
    check_substeps(substeps)
    T = checked("period", period, "s", positive=True)
    u, f = signals(velocity, force)
    return widened_by_quantisation(lambda v: _fit(v, f, T, law, minimum_speed, int(substeps)), u, velocity_resolution)


def _fit(u: np.ndarray, f: np.ndarray, T: float, law: str, minimum_speed: float, substeps: int) -> Identification:
    slides, static = split_samples(u, f, minimum_speed)
    speed, magnitude = np.linalg.norm(u[slides], axis=1), np.linalg.norm(f[slides], axis=1)
    parts, missing = fit_directions(law, speed, magnitude, {"": np.ones(len(speed), dtype=bool)})
    part, dimension = parts[""], u.shape[1]
    bristle = presliding_start(u, f, T, static)
    if isinstance(bristle, str):
        _check_direction(u[slides], f[slides])
        missing |= dict.fromkeys(BRISTLE, bristle)
        found = identification_of(law, parts, part.solution, missing)
        return replace(found, period=T, dimension=dimension)
    count = len(part.names)
    respond = response_to(u, T, substeps)

    def model(values: np.ndarray, period: float) -> LuGreModel:
        made = lugre_of(
            part.law,
            reported(part.law, values[:count]),
            values[count : count + 2],
            period=period,
            dimension=dimension,
        )
        made.reset(displacement=values[count + 2 :])
        return made

    def response(values: np.ndarray) -> np.ndarray:
        return respond(lambda period: model(values, period))

    start = _start(part, f, bristle, response)
    largest, free = np.abs(f).max(), np.full(dimension, np.inf)
    K, B = start[count : count + 2]
    theta, lowest = part.solution.theta, part.solution.lower.copy()
    lowest[0] = 1e-6 * largest  # LuGre needs a g above 0
    solution = solve(
        response,
        f,
        start,
        scale=np.concatenate((np.maximum(theta, 1e-3 * largest), (K, max(B, K * T)), np.full(dimension, largest / K))),
        lower=np.concatenate((lowest, (1e-3 * K, 0.0), -free)),
        upper=np.concatenate((part.upper, (np.inf, np.inf), free)),
    )
    _check_sliding(model(solution.theta, T), u)
    if "viscosity" in missing:
        s1 = solution.theta[count + 1]
        missing["bristle_damping"] = f"{missing['viscosity']}, and of the damping only s1 + s2 = {s1:.4g} N s/m"
    whole = {"": replace(part, speeds=np.array([0.0, part.speeds[1]]))}
    found = identification_of(law, whole, solution, missing, contact=BRISTLE)
    return replace(found, period=T, dimension=dimension)


def _start(
    part: LawFit, f: np.ndarray, bristle: tuple[float, float], response: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Chooses starting parameters and deflection: those of the regressions, with the best of some stiffnesses.

    The damping of the regression is s1 + s2, since z' is u while the bristle is far from sliding.
    """
    K, B = bristle
    theta = part.solution.theta
    s2 = theta[-1] if part.law != "coulomb" else 0.0
    candidates = [np.concatenate((theta, (a * K, max(B - s2, 0.0)), f[0] / (a * K))) for a in _STIFFER]
    return min(candidates, key=lambda values: float(np.sum((response(values) - f) ** 2)))


def _check_direction(u: np.ndarray, f: np.ndarray) -> None:
    """Refuses fast motion in which the force is not along the velocity, because it is elastic."""
    along = float(np.sum(f * u / np.linalg.norm(u, axis=1)[:, None]) / np.linalg.norm(f, axis=1).sum())
    if along < _FULL_SLIDING:
        raise ValueError(
            f"velocity: nothing slides, {100.0 * along:.0f} % of the force is along the velocity "
            f"(expected {100.0 * _FULL_SLIDING:.0f} % or more)"
        )


def _check_sliding(model: LuGreModel, u: np.ndarray) -> None:
    """Refuses a record in which the bristle's force s0 z stays well below g, so that F has little effect."""
    law, dimension = model.law, model.dimension
    bristle = LuGreModel(
        law, bristle_stiffness=model.bristle_stiffness, bristle_damping=0.0, period=model.period, dimension=dimension
    )
    bristle.reset(displacement=model.displacement)
    g = np.array([law.magnitude(s) for s in np.linalg.norm(u, axis=1)])
    reached = float((np.linalg.norm(bristle.simulate(u), axis=1) / g)[1:].max())
    if reached < _FULL_SLIDING:
        raise ValueError(
            f"velocity: nothing slides, the bristle's force reaches {100.0 * reached:.0f} % of g at most "
            f"(expected {100.0 * _FULL_SLIDING:.0f} % or more)"
        )
