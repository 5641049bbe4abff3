"""Identification of elements in parallel (Iwan; Maxwell slip): their stiffnesses and break-away forces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import scipy
from numpy.typing import ArrayLike

from haptic_friction.identification.estimates import Identification, element_units, elements_of
from haptic_friction.identification.fitting import Solution, solve
from haptic_friction.identification.identify import identification_of, widened_by_quantisation
from haptic_friction.identification.records import FEWEST, FEWEST_STATIC, signals, wrong_direction
from haptic_friction.identification.responses import check_substeps, response_to
from haptic_friction.laws import checked
from haptic_math.quantities import float_array

#: number of break-away displacements tried as start, and ratio of the smallest to the largest
_TRIED, _SMALLEST = 40, 1e-3
#: fraction of its break-away force from which an element counts as sliding
_SLIDING = 1.0 - 1e-9


def identify_parallel_elements(
    velocity: ArrayLike,
    force: ArrayLike,
    *,
    period: float,
    elements: int = 4,
    velocity_resolution: float = 0.0,
    substeps: int = 4,
) -> Identification:
    """Fits the stiffnesses K_j and break-away forces F_j of elements in parallel to a contiguous record.

    Each element is elastoplastic: f_j = K_j e_j with e_j' = u while |f_j| < F_j, and |f_j| = F_j while it slides; the
    forces add. This is the generalised Maxwell slip model with constant F_j (Iwan, J. Applied Mechanics 33 (1966);
    Al-Bender, Lampaert, Swevers, IEEE Trans. Automatic Control 50 (2005)). Least squares fit the response of
    `ParallelElements` to the recorded velocity, from unknown displacements e_j at the first sample, to the force.

    Args:
        velocity: velocity u [m/s], shape (n_samples, dimension), or (n_samples,) along a line, one row per period.
        force: friction force f [N], the same shape, in the direction of sliding.
        period: sampling period T [s], above 0.
        elements: number m of elements, from 1; with more than the record shows, some parameters are not identified.
        velocity_resolution: change of the velocity by one count of a position encoder [m/s], as in `identify_law`.
        substeps: steps of the model per sample, as in `identify_lugre`. 1 is for a force that `ParallelElements`
            rendered, and for velocities that are differences of positions over T.

    Returns:
        Estimates "stiffness_1", "force_1", ..., in the order of the break-away displacements F_j/K_j. The break-away
        force of an element that hardly slides is not identified, nor are both numbers of one that hardly sticks.

    Raises:
        ValueError: wrong shapes, numbers that are not finite, too few samples, a number that is out of its range,
            a force against the velocity, or a velocity of zero throughout.

    Examples:
        >>> import numpy as np
        >>> from haptic_friction import ParallelElements, identify_parallel_elements
        >>> model = ParallelElements.from_loading_curve([1e-3, 3e-3], [1.0, 2.0], period=1e-3)
        >>> velocity = 0.05 * np.sin(np.linspace(0.0, 20.0, 4000))
        >>> force = model.simulate(velocity[:, None])
        >>> found = identify_parallel_elements(velocity, force, period=1e-3, elements=2, substeps=1)
        >>> {name: round(estimate.value, 3) for name, estimate in found.estimates.items()}
        {'stiffness_1': 500.0, 'force_1': 0.5, 'stiffness_2': 500.0, 'force_2': 1.5}
    """
    count = _checked_count(elements)
    check_substeps(substeps)
    T = checked("period", period, "s", positive=True)
    u, f = signals(velocity, force)
    work = float(np.sum(f * u)) / max(float(np.linalg.norm(u, axis=1).sum()), 1e-300)
    if not u.any():
        raise ValueError("velocity: expected a motion, got zero throughout")
    if work <= 0.0:
        raise ValueError(wrong_direction(work))
    return widened_by_quantisation(lambda v: _fit(v, f, T, count, int(substeps)), u, velocity_resolution)


def identify_loading_curve(
    displacement: ArrayLike, force: ArrayLike, *, period: float, elements: int = 4
) -> Identification:
    """Fits elements in parallel to a measured first-loading curve, f = sum of K_j min(x, F_j/K_j).

    `ParallelElements.from_loading_curve` interpolates every point of a concave curve; this function fits measured
    points with noise, with many more points than elements.

    Args:
        displacement: x [m] from the relaxed position, shape (n_samples,), rising, above 0.
        force: force f [N] at these displacements, shape (n_samples,).
        period: T [s] of the model that the result makes.
        elements: number m of elements, from 1.

    Returns:
        Estimates as of `identify_parallel_elements`. The last break-away force of a curve that still rises at its end
        is not identified.

    Raises:
        ValueError: wrong shapes, fewer than 50 points, displacements that do not rise from above 0, numbers that are
            not finite or out of their range, or a force that is negative on average.

    Examples:
        >>> import numpy as np
        >>> from haptic_friction import identify_loading_curve
        >>> x = np.linspace(1e-5, 5e-3, 500)
        >>> found = identify_loading_curve(x, np.interp(x, [0.0, 1e-3, 3e-3], [0.0, 1.0, 2.0]), period=1e-3, elements=2)
        >>> {name: round(estimate.value, 3) for name, estimate in found.estimates.items()}
        {'stiffness_1': 500.0, 'force_1': 0.5, 'stiffness_2': 500.0, 'force_2': 1.5}
    """
    count = _checked_count(elements)
    T = checked("period", period, "s", positive=True)
    x = float_array("displacement", displacement, "(n_samples,)")
    if x.ndim != 1 or len(x) < FEWEST:
        raise ValueError(f"displacement: expected shape (n_samples,) with {FEWEST} or more, got {x.shape}")
    steps = np.diff(x, prepend=0.0)
    if not (steps > 0.0).all() or not np.isfinite(x).all():
        raise ValueError("displacement: expected finite, rising values above 0 [m]")
    u, f = signals(steps / T, force)
    if f.shape[1] != 1 or f.mean() <= 0.0:
        raise ValueError(wrong_direction(float(f.mean())))
    return _fit(u, f, T, count, 1, relaxed=True)


def _checked_count(elements: int) -> int:
    if elements != int(elements) or elements < 1:
        raise ValueError(f"elements: expected a whole number from 1, got {elements!r}")
    return int(elements)


def _fit(u: np.ndarray, f: np.ndarray, T: float, count: int, substeps: int, relaxed: bool = False) -> Identification:
    """Fits both kinds of records; `relaxed`: all displacements are zero before the first sample."""
    dimension, units = u.shape[1], element_units(count)
    respond = response_to(u, T, substeps)
    starts = 0 if relaxed else count * dimension

    def response(values: np.ndarray) -> np.ndarray:
        stiffness, breakaway, before = values[: 2 * count : 2], values[1 : 2 * count : 2], values[2 * count :]

        def made(period: float) -> object:
            model = elements_of(stiffness, breakaway, period=period, dimension=dimension)
            if not relaxed:
                model.restore({"displacement": before.reshape(count, dimension)})
            return model

        return respond(made)  # type: ignore[arg-type]

    K, F = _start(u, f, T, count)
    scale = np.column_stack((K, F)).ravel()
    e = np.repeat(F / K, dimension)[:starts]
    free = np.full(starts, np.inf)
    solution = solve(
        response,
        f,
        np.concatenate((scale, np.zeros(starts))),
        scale=np.concatenate((scale, e)),
        lower=np.concatenate((1e-4 * scale, -free)),
        upper=np.concatenate((np.full(2 * count, np.inf), free)),
        ftol=1e-9,
    )
    solution = _in_order(solution, count, dimension if starts else 0)
    missing = _unseen(solution.theta, u, T, count)
    found = identification_of("coulomb", {}, solution, missing, contact=units)
    return replace(found, period=T, dimension=dimension, elements=count)


def _start(u: np.ndarray, f: np.ndarray, T: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Chooses starting stiffnesses and break-away forces, shape (count,) each.

    The force is linear in K_j for given displacements F_j/K_j. Out of many displacements, the one with the smallest
    residual of non-negative least squares is added at a time; then each is replaced by the best given the others.
    """
    x = T * np.cumsum(u, axis=0)
    reach = float(np.linalg.norm(np.ptp(x, axis=0)))
    tried = np.geomspace(_SMALLEST, 1.0, _TRIED) * reach
    unit = elements_of(np.ones(_TRIED), tried, period=T, dimension=u.shape[1])
    forces = unit.batch.simulate(np.broadcast_to(u, (_TRIED, *u.shape))).reshape(_TRIED, -1)
    gram, moment = forces @ forces.T, forces @ f.ravel()
    size = np.sqrt(np.diag(gram))
    root, target = _normal_form(gram / np.outer(size, size), moment / size)

    def left(chosen: list[int]) -> tuple[float, np.ndarray]:
        weights, norm = scipy.optimize.nnls(root[:, chosen], target)
        return float(norm), weights

    chosen: list[int] = []
    for round_ in range(3 * count):
        if round_ >= count:
            chosen.pop(0)
        rest = [j for j in range(_TRIED) if j not in chosen]
        chosen.append(min(rest, key=lambda j: left([*chosen, j])[0]))
    chosen.sort()
    stiffness = left(chosen)[1] / size[chosen]
    stiffness = np.maximum(stiffness, 1e-2 * stiffness.max())
    return stiffness, stiffness * tried[chosen]


def _normal_form(gram: np.ndarray, moment: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns R and b with |R w - b|^2 = w^T gram w - 2 moment^T w + a constant."""
    values, vectors = np.linalg.eigh(gram)
    kept = values > 1e-12 * values[-1]
    root = np.sqrt(values[kept])
    return (vectors[:, kept] * root).T, (vectors[:, kept].T @ moment) / root


def _in_order(solution: Solution, count: int, dimension: int) -> Solution:
    """Sorts the elements of a solution by their break-away displacements."""
    order = np.argsort(solution.theta[1 : 2 * count : 2] / solution.theta[: 2 * count : 2])
    pairs = np.column_stack((2 * order, 2 * order + 1)).ravel()
    before = 2 * count + (order[:, None] * dimension + np.arange(dimension)).ravel().astype(int)
    indices = np.concatenate((pairs, before))
    return replace(
        solution,
        theta=solution.theta[indices],
        lower=solution.lower[indices],
        jacobian=solution.jacobian[:, :, indices],
    )


def _unseen(theta: np.ndarray, u: np.ndarray, T: float, count: int) -> Mapping[str, str]:
    """Returns reasons by parameter of elements that hardly slide or stick, or not without a neighbour."""
    stiffness, breakaway, before = theta[: 2 * count : 2], theta[1 : 2 * count : 2], theta[2 * count :]
    dimension, missing = u.shape[1], dict[str, str]()
    model = elements_of(stiffness, breakaway, period=T, dimension=dimension)
    if len(before):
        model.restore({"displacement": before.reshape(count, dimension)})
    forces = np.linalg.norm(model.batch.simulate(np.broadcast_to(u, (count, *u.shape))), axis=2)
    slides = forces >= _SLIDING * breakaway[:, None]
    moves = np.linalg.norm(u, axis=1) > 0.0
    for j in range(count):
        names = f"stiffness_{j + 1}", f"force_{j + 1}"
        sticking, sliding = int(np.count_nonzero(~slides[j] & moves)), int(np.count_nonzero(slides[j]))
        if sticking < FEWEST_STATIC:
            reason = f"element {j + 1} moves and sticks in {sticking} samples (expected {FEWEST_STATIC} or more)"
            missing |= dict.fromkeys(names, reason)
        elif sliding < FEWEST_STATIC:
            missing[names[1]] = f"element {j + 1} slides in {sliding} samples (expected {FEWEST_STATIC} or more)"
    for j in range(count - 1):
        apart = int(np.count_nonzero(slides[j] != slides[j + 1]))
        if apart < FEWEST_STATIC:
            reason = f"one of elements {j + 1} and {j + 2} slides without the other in {apart} samples"
            pair = [f"{name}_{k}" for k in (j + 1, j + 2) for name in ("stiffness", "force")]
            missing |= dict.fromkeys(pair, f"{reason} (expected {FEWEST_STATIC} or more)")
    return missing
