"""The two identifications: of a law from sliding samples, of model C from a whole record."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from haptic_friction.identification.estimates import (
    CONTACT,
    DIRECTIONS,
    LAWS,
    Estimate,
    Identification,
    check_law,
    combined,
    law_of,
    prefixed,
)
from haptic_friction.identification.fitting import Solution, intervals, solve
from haptic_friction.identification.law_fit import LawFit, fit_law, reported, stribeck_unseen
from haptic_friction.identification.records import FEWEST, FEWEST_STATIC, moving_samples, ranges, signals, split_samples
from haptic_friction.laws import checked
from haptic_friction.models.model_c import ModelC

#: largest relative change of a parameter that is identified when the quantisation is doubled; number of trials
_CHANGE_BY_QUANTISATION, _REPETITIONS = 0.25, 4


def identify_law(
    velocity: ArrayLike,
    force: ArrayLike,
    *,
    law: str = "viscous_coulomb",
    sliding: ArrayLike | None = None,
    minimum_speed: float = 0.01,
    velocity_resolution: float = 0.0,
    per_direction: bool = False,
) -> Identification:
    """Fits f = g(|v|) v/|v| to the samples that slide; eqs. (23), (24), and Stribeck's g.

    Only the component of the force along the velocity counts, so noise perpendicular to it makes no bias.

    Args:
        velocity: sliding velocity v [m/s], shape (n_samples, dimension), or (n_samples,) along a line.
        force: friction force f [N] in the direction of sliding, the same shape.
        law: "coulomb", g = F; "viscous_coulomb", g = F + D s; "stribeck",
            g = Fc + (Fs - Fc) exp(-(s/vs)^2) + D s.
        sliding: flags of the samples that slide, boolean (n_samples,); all if not given. They are required for a
            contact with compliance (model C): after a stop its spring is loaded to F/K before the contact slides.
        minimum_speed: speed below which a sample does not count as sliding [m/s].
        velocity_resolution: change of the velocity by one count of a position encoder [m/s], count over period. If it
            is given, the intervals contain the bias of the quantisation, from fits with added quantisation.
        per_direction: fit a law for each direction along a line; requires dimension 1.

    Returns:
        Estimates under the names of the law's arguments; with `per_direction` once with the prefix "forward_" and once
        with "backward_". The parameters of a direction with too few samples are not identified.

    Raises:
        ValueError: unknown law, wrong shapes, numbers that are not finite, too few samples, no sample that slides, or
            a force against the velocity; the message names the argument.

    Examples:
        >>> import numpy as np
        >>> from haptic_friction import identify_law
        >>> velocity = np.linspace(-1.0, 1.0, 2001)
        >>> force = 2.0 * np.sign(velocity) + 0.5 * velocity
        >>> found = identify_law(velocity[:, None], force[:, None])
        >>> {name: round(estimate.value, 3) for name, estimate in found.estimates.items()}
        {'force': 2.0, 'viscosity': 0.5}
    """
    check_law(law)
    u, f = signals(velocity, force)
    slides = moving_samples(u, minimum_speed)
    if sliding is not None:
        mask = np.asarray(sliding)
        if mask.shape != (len(u),) or mask.dtype != bool:
            raise ValueError(f"sliding: expected booleans of shape ({len(u)},), got {mask.dtype} {mask.shape}")
        slides &= mask
    if slides.sum() < FEWEST:
        raise ValueError(
            f"velocity: nothing slides, {slides.sum()} samples above minimum_speed = {minimum_speed:g} m/s "
            f"(expected {FEWEST} or more)"
        )
    force_there = f[slides]

    _check_directions(per_direction, u)

    def fit(v: np.ndarray) -> Identification:
        speed = np.linalg.norm(v[slides], axis=1)
        along = np.sum(force_there * v[slides], axis=1) / speed
        parts, missing = fit_directions(law, speed, along, _parts(v[slides], per_direction))
        found = [identification_of(law, {prefix: part}, part.solution, missing) for prefix, part in parts.items()]
        return _merged(found, missing, law=law, dimension=u.shape[1], per_direction=per_direction)

    return widened_by_quantisation(fit, u, velocity_resolution)


def _check_directions(per_direction: bool, u: np.ndarray) -> None:
    if per_direction and u.shape[1] != 1:
        raise ValueError(f"per_direction: expected signals of dimension 1, got dimension {u.shape[1]}")


def _parts(v: np.ndarray, per_direction: bool) -> dict[str, np.ndarray]:
    """Returns the mask of the rows of a velocity (n, dimension) of each part of a law, by the prefix of the part."""
    if not per_direction:
        return {"": np.ones(len(v), dtype=bool)}
    return dict(zip(DIRECTIONS, (v[:, 0] > 0.0, v[:, 0] < 0.0), strict=True))


def fit_directions(
    law: str, speed: np.ndarray, along: np.ndarray, parts: Mapping[str, np.ndarray]
) -> tuple[dict[str, LawFit], dict[str, str]]:
    """Fits a law to each part with enough samples; also returns the reasons by undetermined parameter."""
    fits, missing = dict[str, LawFit](), dict[str, str]()
    for prefix, mask in parts.items():
        if prefix and mask.sum() < FEWEST:
            reason = f"{mask.sum()} samples slide {prefix.rstrip('_')} (expected {FEWEST} or more)"
            missing |= dict.fromkeys(prefixed(prefix, LAWS[law]), reason)
            continue
        fits[prefix], unknown = fit_law(law, speed[mask], along[mask])
        missing |= {prefix + name: reason for name, reason in unknown.items()}
    return fits, missing


def _merged(
    parts: Sequence[Identification], missing: Mapping[str, str], *, law: str, dimension: int, per_direction: bool
) -> Identification:
    """Merges the identifications of the directions, which have different samples, to one."""
    estimates = {name: estimate for part in parts for name, estimate in part.estimates.items()}
    reasons = dict(missing) | {name: why for part in parts for name, why in part.not_identified.items()}
    count = sum(part.samples for part in parts)
    rms = math.sqrt(sum(part.samples * part.residual_rms**2 for part in parts) / count)
    if len(parts) == 1:
        rms = parts[0].residual_rms
    return Identification(law, estimates, rms, count, reasons, None, dimension, per_direction)


def identify_model_c(
    velocity: ArrayLike,
    force: ArrayLike,
    *,
    period: float,
    law: str = "coulomb",
    minimum_speed: float = 0.01,
    velocity_resolution: float = 0.0,
    per_direction: bool = False,
) -> Identification:
    """Fits law, stiffness K and damping B of model C, eq. (38), to a contiguous record.

    Args:
        velocity: velocity u of the free end [m/s], shape (n_samples, dimension), or (n_samples,) along a line, one row
            per period. For a force that a model rendered, this is the model's input, the measured velocity; with the
            true velocity the estimate of B is B minus K times the delay of the measurement.
        force: friction force f [N], the same shape, in the direction of sliding; -f acts on the body.
        period: sampling period T [s], above 0.
        law: as in `identify_law`.
        minimum_speed: speed above which the contact may slide [m/s]; only for the starting values, and for the
            speeds that decide whether a parameter of the law is identifiable.
        velocity_resolution: change of the velocity by one count of a position encoder [m/s], count over period. If it
            is given, the intervals contain the bias of the quantisation, from fits with added quantisation.
        per_direction: fit a law for each direction along a line; requires dimension 1.

    Returns:
        Estimates under the names of the arguments of the law and of `ModelC`. Without samples that stick, K and B are
        not identified and the law is the fit of |f| = g(|u|).

    Raises:
        ValueError: as in `identify_law`, or a period that is not above 0.

    Examples:
        >>> import numpy as np
        >>> from haptic_friction import CoulombLaw, ModelC, identify_model_c
        >>> velocity = 0.1 * np.sin(np.linspace(0.0, 20.0, 4000))
        >>> model = ModelC(CoulombLaw(2.0), stiffness=1e4, damping=20.0, period=1e-3)
        >>> found = identify_model_c(velocity[:, None], model.simulate(velocity[:, None]), period=1e-3)
        >>> round(found.estimates["force"].value, 2)
        2.0
    """
    check_law(law)
    T = checked("period", period, "s", positive=True)
    u, f = signals(velocity, force)
    _check_directions(per_direction, u)
    return widened_by_quantisation(
        lambda v: _fit_model_c(v, f, T, law, minimum_speed, per_direction), u, velocity_resolution
    )


def _fit_model_c(
    u: np.ndarray, f: np.ndarray, T: float, law: str, minimum_speed: float, per_direction: bool
) -> Identification:
    slides, static = split_samples(u, f, minimum_speed, per_direction)
    speed, magnitude = np.linalg.norm(u[slides], axis=1), np.linalg.norm(f[slides], axis=1)
    start, missing = fit_directions(law, speed, magnitude, _parts(u[slides], per_direction))
    dimension = u.shape[1]
    contact = presliding_start(u, f, T, static)
    if isinstance(contact, str) or (per_direction and len(start) < len(DIRECTIONS)):
        lone = contact if isinstance(contact, str) else "one direction does not slide"
        missing |= dict.fromkeys(CONTACT, lone)
        laws = [identification_of(law, {prefix: part}, part.solution, missing) for prefix, part in start.items()]
        return replace(_merged(laws, missing, law=law, dimension=dimension, per_direction=per_direction), period=T)

    K, B = contact
    largest = np.abs(f).max()
    thetas = [part.solution.theta.copy() for part in start.values()]
    for part, theta in zip(start.values(), thetas, strict=True):
        if part.law == "stribeck":  # Phi_Z must exist, eq. (15)
            theta[1] = min(theta[1], 0.9 * (B + T * K + theta[3]) * theta[2] / math.sqrt(2.0 / math.e))
    ends = np.cumsum([len(theta) for theta in thetas])
    count = int(ends[-1])
    # displacement before the first sample, by the static branch of (38) or in steady sliding
    before = (f[0] - B * u[0]) / K - T * u[0] if static[1] else f[0] / K
    free = np.full(dimension, np.inf)

    def response(values: np.ndarray) -> np.ndarray:
        rows = np.split(values[:count], ends[:-1])
        parts = [law_of(part.law, reported(part.law, row)) for part, row in zip(start.values(), rows, strict=True)]
        options = {"stiffness": values[count], "damping": values[count + 1]}
        try:
            model = ModelC(combined(parts), period=T, dimension=dimension, **options)
        except ValueError:  # Phi_Z does not exist for so steep a law: no prediction
            return np.zeros_like(f)
        model.reset(displacement=values[count + 2 :])
        return model.simulate(u)

    theta, lower = np.concatenate(thetas), np.concatenate([part.solution.lower for part in start.values()])
    upper = np.concatenate([part.upper for part in start.values()])
    solution = solve(
        response,
        f,
        np.concatenate((theta, contact, before)),
        scale=np.concatenate((np.maximum(theta, 1e-3 * largest), (K, max(B, K * T)), np.full(dimension, largest / K))),
        lower=np.concatenate((lower, (1e-3 * K, 0.0), -free)),
        upper=np.concatenate((upper, (np.inf, np.inf), free)),
    )
    whole = {prefix: replace(part, speeds=np.array([0.0, part.speeds[1]])) for prefix, part in start.items()}
    found = identification_of(law, whole, solution, missing, contact=CONTACT)
    return replace(found, period=T, dimension=dimension, per_direction=per_direction)


def identification_of(
    law: str,
    parts: Mapping[str, LawFit],
    solution: Solution,
    missing: Mapping[str, str],
    contact: Mapping[str, str] | None = None,
) -> Identification:
    """Makes the identification from a least-squares solution, in the parameters of the constructors.

    Args:
        law: requested law.
        parts: fit of the law, or of the law of each direction, by the prefix of its parameters.
        solution: least squares of all parameters: those of the parts, of the contact, and nuisances.
        missing: reasons by parameter that is not determined.
        contact: further parameters, such as those of model C, with their units.
    """
    contact = contact or {}
    names = [prefix + name for prefix, part in parts.items() for name in part.names] + list(contact)
    units = {prefix + name: unit for prefix in parts for name, unit in LAWS[law].items()} | dict(contact)
    nuisances, reasons, estimates = len(solution.theta) - len(names), dict(missing), {}
    known = intervals(solution, nuisances)
    theta, jacobian, first = solution.theta.copy(), solution.jacobian.copy(), 0
    for prefix, part in parts.items():
        own = slice(first, first + len(part.names))
        if part.law == "stribeck":
            unseen = stribeck_unseen(solution.theta[own], solution.lower[own], known[own], part.speeds)
            reasons |= {prefix + name: reason for name, reason in unseen.items()}
            jacobian[:, :, first] -= jacobian[:, :, first + 1]  # of Fc at constant Fs
            theta[own] = reported(part.law, theta[own])
        first = own.stop
    solution = replace(solution, theta=theta, jacobian=jacobian)
    for name, value, interval, lower in zip(
        names, solution.theta, intervals(solution, nuisances), solution.lower, strict=False
    ):
        if name in reasons:
            continue
        if interval is None:
            reasons[name] = "too short a part of the record tells of it"
        elif units[name] == "N/m" and interval[0] <= lower:
            reasons[name] = f"the interval around {value:.3g} N/m reaches 0"
        else:
            estimates[name] = Estimate(float(value), float(interval[0]), float(interval[1]), units[name])
    rms = float(np.sqrt(np.mean(solution.residuals**2)))
    return Identification(law, estimates, rms, len(solution.residuals), reasons)


def widened_by_quantisation(
    fit: Callable[[np.ndarray], Identification], u: np.ndarray, resolution: float
) -> Identification:
    """Fits a velocity and extends the intervals by the bias of its quantisation; the values stay those of the fit.

    The fit is repeated with the same quantisation added once more (Cook and Stefanski's simulation and extrapolation).
    The change of a parameter estimates the bias from the quantisation of the record: for a bias of 1/(1 + x), with x
    the fraction of the noise, the bias is 1 + 2 x times the change. Up to x = 1/2 the intervals are extended by twice
    the change; above, a parameter is not identified.
    """
    found = fit(u)
    if checked("velocity_resolution", resolution, "m/s") == 0.0:
        return found
    random = np.random.default_rng(0)
    again: list[Mapping[str, Estimate]] = []
    for _ in range(_REPETITIONS):
        error = random.uniform(-0.5, 0.5, (len(u) + 1, u.shape[1]))
        with contextlib.suppress(ValueError):  # too little is left to identify from
            again.append(fit(u + resolution * np.diff(error, axis=0)).estimates)
    estimates, reasons = {}, dict(found.not_identified)
    for name, estimate in found.estimates.items():
        values = [other[name].value for other in again if name in other]
        change = float(np.mean(values)) - estimate.value if values else -np.inf
        significant = abs(change) > 0.5 * (estimate.high - estimate.low)
        if len(values) < _REPETITIONS or (significant and abs(change) > _CHANGE_BY_QUANTISATION * estimate.value):
            reasons[name] = f"lost in the quantisation of the velocity ({resolution:.3g} m/s)"
            continue
        correction = -(2.0 if significant else 1.0) * change
        low, high = max(0.0, estimate.low + min(correction, 0.0)), estimate.high + max(correction, 0.0)
        estimates[name] = replace(estimate, low=min(low, estimate.value), high=high)
    return replace(found, estimates=estimates, not_identified=reasons)


def presliding_start(u: np.ndarray, f: np.ndarray, T: float, static: np.ndarray) -> tuple[float, float] | str:
    """Computes K and B by regression of f on e and u within each rest; returns the reason if that fails.

    e = T u + T u + ... up to one constant per rest; the static branch of (38) is f = K e + B u exactly.
    """
    if static.sum() < FEWEST_STATIC:
        return f"{static.sum()} samples stick (expected {FEWEST_STATIC} or more)"
    forces, rate, displacement = [], [], []
    for first, end in ranges(static):
        e = T * np.cumsum(u[first:end], axis=0)
        displacement.append(e - e.mean(axis=0))
        rate.append(u[first:end] - u[first:end].mean(axis=0))
        forces.append(f[first:end] - f[first:end].mean(axis=0))
    columns = np.column_stack([np.concatenate(parts).ravel() for parts in (displacement, rate)])
    force = np.concatenate(forces).ravel()
    size = columns.std(axis=0)
    size[size < 1e-9 * np.abs(u).max() * np.array([T, 1.0])] = np.inf  # a steady velocity has no information on B
    K, B = np.linalg.lstsq(columns / size, force, rcond=None)[0] / size
    if math.isinf(size[0]):
        return "nothing moves while it sticks"
    if B < 0.0:
        K, B = float(columns[:, 0] @ force / (columns[:, 0] @ columns[:, 0])), 0.0
    if K <= 0.0:
        return "the force does not grow with the displacement while it sticks"
    return float(K), float(B)
