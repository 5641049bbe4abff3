"""A sampled spring-damper wall as a test of `haptic_math.passivity`: observed energy, and motion of a mass at the wall.

At position x_k the wall exerts the force -K x_k - B (x_k - x_(k-1))/T for one period. The device is a mass m with
physical damping b, whose differential equation is solved exactly between the samples.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from haptic_files.moved_modules import renamed
from haptic_math.passivity import ImpedancePort, PassivityRule

__getattr__ = renamed(__name__, {"says_passive": "is_observed_passive"})

#: numbers of samples and of oscillations of the prescribed motions, from almost still to the sampling limit; the first,
#: and the last in `_motions`, are so long that the start from rest does not matter
_MOTIONS = ((4000, 2), (400, 20), (400, 50), (400, 100), (400, 150), (400, 180))

#: b T/m below which the transition is a series, whose error is below 1e-14; the closed form divides differences by b
_LIGHTLY_DAMPED = 1e-3


@dataclass(frozen=True)
class Wall:
    """A wall and the device that touches it.

    Attributes:
        stiffness: K [N/m].
        damping: B [N s/m].
        device_damping: b [N s/m].
        period: T [s].
    """

    stiffness: float
    damping: float
    device_damping: float
    period: float

    def force(self, position: float, before: float) -> float:
        """Computes the force on the device [N] from its position and that of the previous sample [m]."""
        return -self.stiffness * position - self.damping * (position - before) / self.period


@cache
def _motions() -> tuple[tuple[float, ...], ...]:
    """Returns motions that start at the wall's surface, as sampled positions [m], linear between the samples."""
    waves = [1e-3 * np.sin(2.0 * np.pi * cycles * np.arange(n + 1) / n) for n, cycles in _MOTIONS]
    return tuple(tuple(x.tolist()) for x in [*waves, 1e-3 * (np.arange(4001) % 2)])


def lowest_energy(wall: Wall) -> float:
    """Returns the lowest energy [J] that the observer computes for wall and device damping in the worst motion."""
    lowest = 0.0
    for motion in _motions():
        port = ImpedancePort(PassivityRule(wall.period, device_damping=wall.device_damping), (1.0,))
        before = motion[0]
        for position in motion:
            port.arrive((position - before,))
            port.hold((wall.force(position, before),), (0.0,))
            lowest, before = min(lowest, port.energy), position
    return lowest


def is_observed_passive(wall: Wall) -> bool:
    """Returns whether the observer finds the wall passive; energies below 1e-9 of the wall's own count as rounding."""
    return lowest_energy(wall) > -1e-9 * (wall.stiffness + wall.device_damping / wall.period) * 1e-6


def observed_limit(damping: float, device_damping: float, period: float) -> float:
    """Finds the largest stiffness [N/m] that the observer finds passive, by bisection to 2 b/T/4000; 0 if none is."""
    low, high = 0.0, 2.0 * device_damping / period
    for _ in range(12):
        middle = 0.5 * (low + high)
        passive = is_observed_passive(Wall(middle, damping, device_damping, period))
        low, high = (middle, high) if passive else (low, middle)
    return low


def is_stable(wall: Wall, mass: float) -> bool:
    """Returns whether a mass [kg] in lasting contact with the wall comes to rest (eigenvalues of the sampled loop)."""
    (a, c), (d, e) = transition(wall, mass)
    K, rate = wall.stiffness, wall.damping / wall.period
    A = np.array([[1.0 - d * (K + rate), a, d * rate], [-e * (K + rate), c, e * rate], [1.0, 0.0, 0.0]])
    return bool(np.abs(np.linalg.eigvals(A)).max() < 1.0)


def transition(wall: Wall, mass: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Computes the transition of m x'' + b x' = F over one period with constant F.

    Returns:
        (displacement, velocity) after the period per unit initial velocity, and per unit force.
    """
    b, T = wall.device_damping, wall.period
    y = b * T / mass
    decay = math.exp(-y)
    if y < _LIGHTLY_DAMPED:
        displacement = T * (1.0 - y / 2.0 * (1.0 - y / 3.0 * (1.0 - y / 4.0)))
        forced = T * T / mass * (0.5 - y / 6.0 * (1.0 - y / 4.0 * (1.0 - y / 5.0)))
        return (displacement, decay), (forced, displacement / mass)
    displacement = (1.0 - decay) * mass / b
    return (displacement, decay), ((T - displacement) / b, (1.0 - decay) / b)


@dataclass(frozen=True)
class Contact:
    """A mass that hits the wall with a constant force towards it.

    Attributes:
        mass: m [kg].
        speed: speed at the surface [m/s].
        press: force towards the wall [N].
        duration: duration of the simulation [s].
    """

    mass: float
    speed: float
    press: float
    duration: float


@dataclass(frozen=True)
class Outcome:
    """The result of a contact.

    Attributes:
        speed: largest speed in the last quarter of the simulation [m/s].
        injected: largest damping that the controller added [N s/m].
        damper: largest force of the controller [N].
        lowest: lowest energy at the port [J].
    """

    speed: float
    injected: float
    damper: float
    lowest: float


def touch(wall: Wall, contact: Contact, rule: PassivityRule) -> Outcome:
    """Simulates a mass that hits the wall, with the port of a rule; the wall's force is never attractive."""
    (a, c), (d, e) = transition(wall, contact.mass)
    port = ImpedancePort(rule, (1.0,))
    x, v, before = 0.0, contact.speed, 0.0
    periods = round(contact.duration / wall.period)
    late = injected = damper = lowest = 0.0
    for k in range(periods):
        port.arrive((x - before,))
        wanted = min(0.0, wall.force(x, before)) if x > 0.0 else 0.0
        (held,) = port.hold((wanted,), (v,))
        injected, damper = max(injected, port.damping), max(damper, abs(held - wanted))
        lowest, before = min(lowest, port.energy), x
        force = held + contact.press
        x, v = x + a * v + d * force, c * v + e * force
        if 4 * k >= 3 * periods:
            late = max(late, abs(v))
    return Outcome(late, injected, damper, lowest)


@dataclass(frozen=True)
class Column:
    """Walls of one damping and many stiffnesses: a task of the study.

    Attributes:
        damping: B [N s/m].
        stiffnesses: K of each wall [N/m].
        device_damping, period: as in `Wall`.
        contact: simulated contact.
        rules: rules of the ports; each gives one map.
    """

    damping: float
    stiffnesses: Sequence[float]
    device_damping: float
    period: float
    contact: Contact
    rules: Sequence[PassivityRule]

    def walls(self) -> Iterator[Wall]:
        """Returns the walls in the order of `stiffnesses`."""
        return (Wall(K, self.damping, self.device_damping, self.period) for K in self.stiffnesses)

    def run(self) -> dict[str, np.ndarray]:
        """Computes `passive` (n,), `stable` (n,), `limit` () and, of shape (rules, n), the values of `Outcome`."""
        outcomes = [[touch(wall, self.contact, rule) for wall in self.walls()] for rule in self.rules]
        result = {
            name: np.array([[getattr(outcome, name) for outcome in row] for row in outcomes])
            for name in ("speed", "injected", "damper", "lowest")
        }
        return {
            **result,
            "passive": np.array([is_observed_passive(wall) for wall in self.walls()]),
            "stable": np.array([is_stable(wall, self.contact.mass) for wall in self.walls()]),
            "limit": np.array(observed_limit(self.damping, self.device_damping, self.period)),
        }
