"""Known laws and synthetic records, for the tests of the identification."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.signal import lfilter
from scipy.stats import binom

from haptic_friction import CoulombLaw, FrictionLaw, ModelC, StribeckLaw, ViscousCoulombLaw
from haptic_friction.identification import Identification

#: period (s), stiffness (N/m), damping (N s/m)
T, K, B = 1e-3, 6000.0, 10.0
CONTACT = {"stiffness": K, "damping": B}
#: parameters of each law; Stribeck's falls gently enough for Phi_Z with these K, B, T
PARAMETERS: dict[str, dict[str, float]] = {
    "coulomb": {"force": 4.0},
    "viscous_coulomb": {"force": 4.0, "viscosity": 5.0},
    "stribeck": {"kinetic_force": 4.0, "static_force": 5.5, "stribeck_velocity": 0.08, "viscosity": 5.0},
}
LAWS: dict[str, FrictionLaw] = {
    "coulomb": CoulombLaw(**PARAMETERS["coulomb"]),
    "viscous_coulomb": ViscousCoulombLaw(**PARAMETERS["viscous_coulomb"]),
    "stribeck": StribeckLaw(**PARAMETERS["stribeck"]),
}


def speeds(random: np.random.Generator, samples: int) -> np.ndarray:
    """Sliding speeds between 0.02 and 0.3 m/s that vary like a hand's, (samples, 1)."""
    time = T * np.arange(samples)[:, None]
    frequency, phase = np.array([0.7, 1.9, 3.1]), random.uniform(0.0, 6.28, 3)
    return 0.16 + 0.14 * np.mean(np.sin(2 * np.pi * frequency * time + phase), axis=1, keepdims=True)


def strokes(random: np.random.Generator, samples: int, dimension: int) -> np.ndarray:
    """Strokes of up to 0.2 m/s and rests with a tremor of 10 Hz, (samples, dimension)."""
    time = T * np.arange(samples)
    parts = [
        0.08 * np.sin(2 * np.pi * frequency * time[:, None] + random.uniform(0.0, 6.28, dimension))
        for frequency in (1.1, 2.3, 3.7)
    ]
    moving = (np.sin(2 * np.pi * 0.8 * time + random.uniform(0.0, 6.28)) > -0.2).astype(float)
    smooth = lfilter([0.02], [1.0, -0.98], moving)[:, None]
    return smooth**2 * sum(parts) + 0.004 * np.sin(
        2 * np.pi * 10.0 * time[:, None] + random.uniform(0.0, 6.28, dimension)
    )


def noise(random: np.random.Generator, like: np.ndarray, rms: float, correlation: float) -> np.ndarray:
    """Gaussian noise of the shape of a signal, white or with the autocorrelation `correlation` ** lag."""
    white = random.normal(size=(1000 + len(like), like.shape[1]))
    coloured = lfilter([np.sqrt(1.0 - correlation**2)], [1.0, -correlation], white, axis=0)
    return rms * coloured[1000:]


def quantised(velocity: np.ndarray, count: float) -> np.ndarray:
    """The difference of the counts of an encoder, over the period."""
    position = np.round(T * np.cumsum(velocity, axis=0) / count) * count
    return np.diff(position, axis=0, prepend=np.zeros_like(position[:1])) / T


def response(law: str, velocity: np.ndarray) -> np.ndarray:
    model = ModelC(LAWS[law], period=T, dimension=velocity.shape[1], **CONTACT)
    return model.simulate(velocity)


def coverage(trials: int, known: dict[str, float], identify: Callable[[np.random.Generator], Identification]) -> None:
    """Counts how often the intervals contain the known answers, and checks the count.

    The count of a calibrated interval is binomial; fewer than its 0.1 % quantile are refused. Nor may an interval be
    wider than twice what the scatter of the values asks for. One record in twenty may tell too little.
    """
    hits: dict[str, int] = dict.fromkeys(known, 0)
    values: dict[str, list[float]] = {name: [] for name in known}
    widths: dict[str, list[float]] = {name: [] for name in known}
    for trial in range(trials):
        found = identify(np.random.default_rng([7, trial]))
        for name, value in known.items():
            if name in found.not_identified:
                continue
            estimate = found.estimates[name]
            hits[name] += estimate.contains(value)
            values[name].append(estimate.value)
            widths[name].append(estimate.high - estimate.low)
    for name in known:
        identified = len(values[name])
        assert identified >= 0.95 * trials, name
        least = binom.ppf(0.001, identified, 0.95)
        assert hits[name] >= least, (name, hits[name], least)
        assert np.median(widths[name]) < 2.0 * (2.0 * 1.96 * np.std(values[name])), name
