"""Identification: parameters of a friction law or of model C from recorded velocity and force.

Sign convention as everywhere: the force f points in the direction of sliding; the body that moves with the velocity
feels -f. Signals are arrays of shape (n_samples, dimension), in m/s and N.

A law is fitted to the sliding samples, model C (Kikuuwe et al., eq. (38)) to the whole record: its response to the
recorded velocity, from an unknown displacement at the first sample, is brought to the recorded force by least squares.
Starting values come from linear regressions: |f| = g(|u|) while sliding gives the law, f = K e + B de/dt with
e = integral of u since it stuck gives K and B.

Residuals of recorded signals are correlated (filters, encoders, what the model lacks), so the 95 % intervals do not
assume independent samples: they come from a delete-one-block jackknife of the linearised fit, Student's t with the
number of blocks that tell of the parameter. A block is many correlation times long.

What the intervals do not contain: a bias. Noise of the velocity is the main one: in the regressor of a least-squares
fit it divides D by 1 + x, x the share of the noise in the variance of the speed, and likewise B while it sticks;
`velocity_resolution` extends the intervals by that. And where the force answers a velocity that is later by t than the
recorded one, B comes out as B - K t, since K (x - t u) + B u = K x + (B - K t) u.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from haptic_friction import laws
from haptic_friction.fitting import Solution, intervals, solve
from haptic_friction.laws import FrictionLaw, checked
from haptic_friction.model_c import ModelC

#: parameters of each law: names of the constructor's arguments, in its order, with their units
LAWS: dict[str, dict[str, str]] = {
    "coulomb": {"force": "N"},
    "viscous_coulomb": {"force": "N", "viscosity": "N s/m"},
    "stribeck": {"kinetic_force": "N", "static_force": "N", "stribeck_velocity": "m/s", "viscosity": "N s/m"},
}
_CLASSES = {"coulomb": "CoulombLaw", "viscous_coulomb": "ViscousCoulombLaw", "stribeck": "StribeckLaw"}
_CONTACT = {"stiffness": "N/m", "damping": "N s/m"}

#: fewest samples of a record and of sliding, and of sticking, that anything is concluded from
FEWEST, FEWEST_STATIC = 50, 20
#: a force below this share of the kinetic one is static: a sliding contact never bears less than g's minimum
_STATIC_SHARE = 0.8
#: shortest stretch below it that is a rest and not noise [samples]
_SHORTEST_STICK = 5
#: the 5 % and 95 % speeds must differ by this factor for a viscosity
_SPEED_RANGE = 1.5
#: if as much quantisation again changes a parameter by more than this share it is lost in it; how often that is tried
_CHANGE_BY_QUANTISATION, _REPETITIONS = 0.25, 4


@dataclass(frozen=True)
class Estimate:
    """One parameter with its 95 % confidence interval.

    Attributes:
        value: least-squares estimate.
        low: lower end of the interval; 0 where a parameter cannot be negative.
        high: upper end.
        unit: of all three.
    """

    value: float
    low: float
    high: float
    unit: str

    def contains(self, value: float) -> bool:
        """Whether the interval contains a value."""
        return self.low <= value <= self.high

    def digits(self) -> tuple[str, str, str]:
        """Value, low and high with two digits of the interval's half width."""
        half = 0.5 * (self.high - self.low)
        digits = min(9, max(0, 1 - math.floor(math.log10(half)))) if half > 0.0 else 9
        value, low, high = (f"{number:.{digits}f}" for number in (self.value, self.low, self.high))
        return value, low, high

    def __str__(self) -> str:
        value, low, high = self.digits()
        return f"{value} [{low}, {high}] {self.unit}"


@dataclass(frozen=True)
class Identification:
    """What a record tells of friction.

    Attributes:
        law: "coulomb", "viscous_coulomb" or "stribeck": the law that was asked for.
        estimates: parameters that the record tells, by the names of the arguments of the law and of `ModelC`.
        residual_rms: RMS of the force that is left [N], over samples and components.
        samples: number of samples that were fitted.
        not_identified: the other parameters, each with the reason.
        period: T of the record [s]; None for a law.
        dimension: number of components of the signals.
    """

    law: str
    estimates: Mapping[str, Estimate]
    residual_rms: float
    samples: int
    not_identified: Mapping[str, str] = field(default_factory=dict)
    period: float | None = None
    dimension: int = 1

    def friction_law(self) -> FrictionLaw:
        """The identified law Phi.

        Raises:
            ValueError: a parameter of the law was not identified.
        """
        return _law(self.law, self._values(LAWS[self.law]))

    def model_c(self) -> ModelC:
        """The identified model C, at the period of the record.

        Raises:
            ValueError: a parameter was not identified, or only a law was.
        """
        if self.period is None:
            raise ValueError("period: only a law was identified; model C comes from identify_model_c")
        contact = dict(zip(_CONTACT, self._values(_CONTACT), strict=True))
        return ModelC(self.friction_law(), period=self.period, dimension=self.dimension, **contact)

    def _values(self, names: Mapping[str, str]) -> list[float]:
        for name in names:
            if name not in self.estimates:
                raise ValueError(f"{name}: not identified ({self.not_identified.get(name, 'no such parameter')})")
        return [self.estimates[name].value for name in names]


def identify_law(
    velocity: ArrayLike,
    force: ArrayLike,
    *,
    law: str = "viscous_coulomb",
    sliding: ArrayLike | None = None,
    minimum_speed: float = 0.01,
    velocity_resolution: float = 0.0,
) -> Identification:
    """Fits f = g(|v|) v/|v| to the samples that slide; eqs. (23), (24), and Stribeck's g.

    Only the component of the force along the velocity counts, so noise across it makes no bias.

    Args:
        velocity: sliding velocity v [m/s], shape (n_samples, dimension).
        force: friction force f [N] in the direction of sliding, the same shape.
        law: "coulomb", g = F; "viscous_coulomb", g = F + D s; "stribeck",
            g = Fc + (Fs - Fc) exp(-(s/vs)^2) + D s.
        sliding: which samples slide, boolean (n_samples,); all if not given. A contact with compliance (model C) needs
            it: after a stop the spring stretches by F/K before anything slides.
        minimum_speed: samples slower than this [m/s] do not count as sliding.
        velocity_resolution: what one count of a position encoder makes in the velocity [m/s], count over period. Where
            given, the intervals also contain the bias of that quantisation, found by repeating the fit with more of it.

    Returns:
        Estimates under the names of the law's arguments.

    Raises:
        ValueError: unknown law, wrong shapes, numbers that are not finite, too few samples, nothing slides, or a
            force against the velocity; the message names the argument.
    """
    _check_law(law)
    u, f = _signals(velocity, force)
    slides = _moving(u, minimum_speed)
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

    def fit(v: np.ndarray) -> Identification:
        speed = np.linalg.norm(v[slides], axis=1)
        along = np.sum(force_there * v[slides], axis=1) / speed
        found, missing = _fit_law(law, speed, along)
        return _identification(law, found, missing, np.percentile(speed, (2, 98)), dimension=u.shape[1])

    return _widened(fit, u, velocity_resolution)


def identify_model_c(
    velocity: ArrayLike,
    force: ArrayLike,
    *,
    period: float,
    law: str = "coulomb",
    minimum_speed: float = 0.01,
    velocity_resolution: float = 0.0,
) -> Identification:
    """Fits law, stiffness K and damping B of model C, eq. (38), to a contiguous record.

    Args:
        velocity: velocity u of the free end [m/s], shape (n_samples, dimension), one row a period. For a model that
            rendered the force it is the model's input, the measured velocity; the true one gives B less K times the
            delay of the measurement.
        force: friction force f [N], the same shape, in the direction of sliding: the body feels -f.
        period: sampling period T [s], above 0.
        law: as in `identify_law`.
        minimum_speed: speed above which the contact may slide [m/s]; only for the starting values, and for the
            speeds by which a parameter of the law is said to be identifiable.
        velocity_resolution: what one count of a position encoder makes in the velocity [m/s], count over period. Where
            given, the intervals also contain the bias of that quantisation, found by repeating the fit with more of it.

    Returns:
        Estimates under the names of the arguments of the law and of `ModelC`. Without samples that stick, K and B are
        not identified and the law is that of |f| = g(|u|).

    Raises:
        ValueError: as in `identify_law`, or a period that is not above 0.
    """
    _check_law(law)
    T = checked("period", period, "s", positive=True)
    u, f = _signals(velocity, force)
    return _widened(lambda v: _fit_model_c(v, f, T, law, minimum_speed), u, velocity_resolution)


# The fits


def _fit_model_c(u: np.ndarray, f: np.ndarray, T: float, law: str, minimum_speed: float) -> Identification:
    slides, static = _split(u, f, minimum_speed)
    speed, magnitude = np.linalg.norm(u[slides], axis=1), np.linalg.norm(f[slides], axis=1)
    start, missing = _fit_law(law, speed, magnitude)
    speeds = np.percentile(speed, (2, 98))
    dimension, count = u.shape[1], len(start.names)
    contact = _presliding(u, f, T, static)
    if isinstance(contact, str):
        missing |= dict.fromkeys(_CONTACT, contact)
        return _identification(law, start, missing, speeds, T, dimension)

    K, B = contact
    largest = np.abs(f).max()
    theta = start.solution.theta.copy()
    if start.law == "stribeck":  # no steeper than where Phi_Z exists, eq. (15)
        theta[1] = min(theta[1], 0.9 * (B + T * K + theta[3]) * theta[2] / math.sqrt(2.0 / math.e))
    # displacement before the first sample, by the static branch of (38) or in steady sliding
    before = (f[0] - B * u[0]) / K - T * u[0] if static[1] else f[0] / K
    free = np.full(dimension, np.inf)

    def response(values: np.ndarray) -> np.ndarray:
        contact_law = _law(start.law, _reported(start.law, values[:count]))
        options = {"stiffness": values[count], "damping": values[count + 1]}
        try:
            model = ModelC(contact_law, period=T, dimension=dimension, **options)
        except ValueError:  # Phi_Z does not exist for so steep a law: no prediction
            return np.zeros_like(f)
        model.reset(displacement=values[count + 2 :])
        return model.simulate(u)

    solution = solve(
        response,
        f,
        np.concatenate((theta, contact, before)),
        scale=np.concatenate((np.maximum(theta, 1e-3 * largest), (K, max(B, K * T)), np.full(dimension, largest / K))),
        lower=np.concatenate((start.solution.lower, (1e-3 * K, 0.0), -free)),
        upper=np.concatenate((start.upper, (np.inf, np.inf), free)),
    )
    found = _LawFit(start.law, [*start.names, *_CONTACT], solution, start.upper)
    return _identification(law, found, missing, np.array([0.0, speeds[1]]), T, dimension)


def _identification(
    law: str,
    found: _LawFit,
    missing: dict[str, str],
    speeds: np.ndarray,
    period: float | None = None,
    dimension: int = 1,
) -> Identification:
    """The result, in the parameters of the constructors; `speeds` are the slowest and the fastest of sliding."""
    solution, reasons, estimates = found.solution, dict(missing), {}
    nuisances = len(solution.theta) - len(found.names)
    if found.law == "stribeck":
        reasons |= _stribeck_unseen(solution, intervals(solution, nuisances), speeds)
        jacobian = solution.jacobian.copy()
        jacobian[:, :, 0] -= jacobian[:, :, 1]  # of Fc at constant Fs
        solution = replace(solution, theta=_reported(found.law, solution.theta), jacobian=jacobian)
    units = {**LAWS[law], **_CONTACT}
    for name, value, interval, lower in zip(
        found.names, solution.theta, intervals(solution, nuisances), solution.lower, strict=False
    ):
        if name in reasons:
            continue
        if interval is None:
            reasons[name] = "too short a part of the record tells of it"
        elif name == "stiffness" and interval[0] <= lower:
            reasons[name] = f"the interval around {value:.3g} N/m reaches 0"
        else:
            estimates[name] = Estimate(float(value), float(interval[0]), float(interval[1]), units[name])
    rms = float(np.sqrt(np.mean(solution.residuals**2)))
    return Identification(law, estimates, rms, len(solution.residuals), reasons, period, dimension)


def _widened(fit: Callable[[np.ndarray], Identification], u: np.ndarray, resolution: float) -> Identification:
    """The identification, with the bias that the quantised velocity makes inside the intervals.

    The fit is repeated with as much quantisation again (Cook and Stefanski's simulation and extrapolation): what that
    does, the quantisation in the record did before: a bias of 1/(1 + x), x the noise's share, was 1 + 2 x times as
    large. Up to x = 1/2 the intervals are extended by twice the change; beyond, a parameter is lost. The values stay
    those of least squares.
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


def _reported(law: str, theta: np.ndarray) -> np.ndarray:
    """Parameters of the law's constructor: Stribeck's static force for its excess over the kinetic one."""
    if law != "stribeck":
        return theta
    return np.concatenate((theta[:1], theta[:1] + theta[1:2], theta[2:]))


# Input


def _check_law(law: str) -> None:
    if law not in LAWS:
        raise ValueError(f"law: expected one of {', '.join(LAWS)}, got {law!r}")


def _law(law: str, values: ArrayLike) -> FrictionLaw:
    first, *others = (float(value) for value in np.asarray(values))
    made: FrictionLaw = getattr(laws, _CLASSES[law])(first, **dict(zip(list(LAWS[law])[1:], others, strict=True)))
    return made


def _signals(velocity: ArrayLike, force: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Both signals as checked arrays of one shape (n, dimension)."""
    result = []
    for name, signal, unit in (("velocity", velocity, "m/s"), ("force", force, "N")):
        array = np.ascontiguousarray(signal, dtype=float)
        if array.ndim != 2 or array.shape[1] < 1:
            raise ValueError(f"{name}: expected shape (n_samples, dimension), got {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"{name}: expected finite numbers [{unit}]")
        result.append(array)
    u, f = result
    if u.shape != f.shape:
        raise ValueError(f"force: expected the shape of velocity {u.shape}, got {f.shape}")
    if len(u) < FEWEST:
        raise ValueError(f"velocity: expected {FEWEST} samples or more, got {len(u)}")
    return u, f


def _moving(u: np.ndarray, minimum_speed: float) -> np.ndarray:
    speed: np.ndarray = np.linalg.norm(u, axis=1)
    return speed > checked("minimum_speed", minimum_speed, "m/s")


def _split(u: np.ndarray, f: np.ndarray, minimum_speed: float) -> tuple[np.ndarray, np.ndarray]:
    """Samples of model C that certainly slide, and those that certainly stick.

    A sliding contact bears |f| = g(|v|), no less than the least of g; a force well below that is static. The least of
    g comes from a straight line through |f| over the speed, again without what turned out static.
    """
    moving, speed, magnitude = _moving(u, minimum_speed), np.linalg.norm(u, axis=1), np.linalg.norm(f, axis=1)
    slides, static = moving, np.zeros(len(u), dtype=bool)
    for _ in range(3):
        if slides.sum() < FEWEST:
            raise ValueError(
                f"velocity: nothing slides, {slides.sum()} samples above minimum_speed = {minimum_speed:g} m/s that "
                f"bear a kinetic force (expected {FEWEST} or more)"
            )
        line = np.column_stack((np.ones(slides.sum()), speed[slides]))
        intercept, slope = np.linalg.lstsq(line, magnitude[slides], rcond=None)[0]
        least = _STATIC_SHARE * min(intercept, intercept + slope * speed.max())
        static = _stretches(magnitude < least)
        slides = moving & ~static
    along = float(np.sum(f[slides] * u[slides]) / speed[slides].sum())
    if along <= 0.0:
        raise ValueError(_against(along))
    return slides, static


def _against(along: float) -> str:
    return f"force: expected in the direction of sliding, got {along:.3g} N along it on average (is it -f?)"


def _stretches(mask: np.ndarray) -> np.ndarray:
    """The mask without stretches shorter than a rest, and without the first sample of each."""
    result = np.zeros_like(mask)
    for first, end in _ranges(mask):
        result[first + 1 : end] = end - first >= _SHORTEST_STICK
    return result


def _ranges(mask: np.ndarray) -> np.ndarray:
    """First sample and end of each stretch of a mask, (n, 2)."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(np.int8)))
    return edges.reshape(-1, 2)


# Starting values, and what the record can tell at all


def _presliding(u: np.ndarray, f: np.ndarray, T: float, static: np.ndarray) -> tuple[float, float] | str:
    """K and B by regression of f on e and u within each rest, or why there are none.

    e = T u + T u + ... up to a constant of the rest; the static branch of (38) is f = K e + B u exactly.
    """
    if static.sum() < FEWEST_STATIC:
        return f"{static.sum()} samples stick (expected {FEWEST_STATIC} or more)"
    stretch, rate, displacement = [], [], []
    for first, end in _ranges(static):
        e = T * np.cumsum(u[first:end], axis=0)
        displacement.append(e - e.mean(axis=0))
        rate.append(u[first:end] - u[first:end].mean(axis=0))
        stretch.append(f[first:end] - f[first:end].mean(axis=0))
    columns = np.column_stack([np.concatenate(parts).ravel() for parts in (displacement, rate)])
    force = np.concatenate(stretch).ravel()
    size = columns.std(axis=0)
    size[size < 1e-9 * np.abs(u).max() * np.array([T, 1.0])] = np.inf  # a steady velocity tells nothing of B
    K, B = np.linalg.lstsq(columns / size, force, rcond=None)[0] / size
    if math.isinf(size[0]):
        return "nothing moves while it sticks"
    if B < 0.0:
        K, B = float(columns[:, 0] @ force / (columns[:, 0] @ columns[:, 0])), 0.0
    if K <= 0.0:
        return "the force does not grow with the displacement while it sticks"
    return float(K), float(B)


def _fit_law(law: str, speed: np.ndarray, along: np.ndarray) -> tuple[_LawFit, dict[str, str]]:
    """The law, or only the force g where all samples slide at one speed, and what is not told then."""
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
        raise ValueError(_against(float(along.mean())))
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
    return _LawFit(law, names, solution, upper), missing


def _linear_start(law: str, speed: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Linear least squares; for Stribeck's law at the best of a range of Stribeck velocities."""

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


def _stribeck_unseen(solution: Solution, found: list[tuple[float, float] | None], speeds: np.ndarray) -> dict[str, str]:
    """Static force and Stribeck velocity with the reason, if the samples do not show Stribeck's effect."""
    slow, fast = speeds
    reason = ""
    if found[1] is None or found[2] is None or found[1][0] <= 0.0:
        reason = f"no Stribeck effect between {slow:.3g} and {fast:.3g} m/s"
    elif not slow < solution.theta[2] < fast or found[2][0] <= solution.lower[2]:
        reason = f"the Stribeck velocity is not between {slow:.3g} and {fast:.3g} m/s, the speeds of sliding"
    return dict.fromkeys(("static_force", "stribeck_velocity"), reason) if reason else {}


@dataclass(frozen=True)
class _LawFit:
    """A law's solution: which law was fitted, and its parameters' names in the law that was asked for."""

    law: str
    names: list[str]
    solution: Solution
    upper: np.ndarray


def _magnitude(law: str, theta: np.ndarray, speed: np.ndarray) -> np.ndarray:
    """g(s); Stribeck's static force is given as its excess over the kinetic one, which is not negative."""
    if law == "coulomb":
        return np.full_like(speed, theta[0])
    if law == "viscous_coulomb":
        return theta[0] + theta[1] * speed
    kinetic, excess, stribeck, viscosity = theta
    return kinetic + excess * np.exp(-((speed / stribeck) ** 2)) + viscosity * speed
