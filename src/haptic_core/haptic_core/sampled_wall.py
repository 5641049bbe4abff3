"""A sampled spring-damper wall as a test of `passivity`: the observer's verdict, and the motion of a mass at the wall.

The wall answers the position x_k with the force -K x_k - B (x_k - x_(k-1))/T, held for one period. The device is a mass
m with physical damping b; between the samples it moves exactly as its differential equation says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from haptic_math.passivity import ImpedancePort, PassivityRule

#: samples of the prescribed motions, and how often they go to and fro in them: from almost still to the sampling limit;
#: the first, and the last below, are long, so that their start from rest does not count
_MOTIONS = ((4000, 2), (400, 20), (400, 50), (400, 100), (400, 150), (400, 180))


@dataclass(frozen=True)
class Wall:
    """A wall and the device before it.

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
        """On the device, at a position and one of the sample before [N]."""
        return -self.stiffness * position - self.damping * (position - before) / self.period


@cache
def _motions() -> tuple[tuple[float, ...], ...]:
    """Motions that start at the wall's surface [m]; the device moves evenly between the samples."""
    waves = [1e-3 * np.sin(2.0 * np.pi * turns * np.arange(n + 1) / n) for n, turns in _MOTIONS]
    return tuple(tuple(x.tolist()) for x in [*waves, 1e-3 * (np.arange(4001) % 2)])


def lowest_energy(wall: Wall) -> float:
    """The lowest energy that the observer sees at wall and device damping in the worst of the motions [J]."""
    lowest = 0.0
    for motion in _motions():
        port = ImpedancePort(PassivityRule(wall.period, device_damping=wall.device_damping), (1.0,))
        before = motion[0]
        for position in motion:
            port.arrive((position - before,))
            port.hold((wall.force(position, before),), (0.0,))
            lowest, before = min(lowest, port.energy), position
    return lowest


def says_passive(wall: Wall) -> bool:
    """Whether the observer calls the wall passive; energies below 1e-9 of the wall's own are rounding."""
    return lowest_energy(wall) > -1e-9 * (wall.stiffness + wall.device_damping / wall.period) * 1e-6


def observed_limit(damping: float, device_damping: float, period: float) -> float:
    """The stiffest wall that the observer calls passive [N/m], by bisection to a 4000th of 2 b/T; 0 if none is."""
    low, high = 0.0, 2.0 * device_damping / period
    for _ in range(12):
        middle = 0.5 * (low + high)
        passive = says_passive(Wall(middle, damping, device_damping, period))
        low, high = (middle, high) if passive else (low, middle)
    return low


def is_stable(wall: Wall, mass: float) -> bool:
    """Whether a mass [kg] in lasting contact with the wall comes to rest: eigenvalues of the sampled loop."""
    (a, c), (d, e) = transition(wall, mass)
    K, rate = wall.stiffness, wall.damping / wall.period
    A = np.array([[1.0 - d * (K + rate), a, d * rate], [-e * (K + rate), c, e * rate], [1.0, 0.0, 0.0]])
    return bool(np.abs(np.linalg.eigvals(A)).max() < 1.0)


def transition(wall: Wall, mass: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Changes of position and velocity in one period per unit velocity and per unit held force: m x'' + b x' = F."""
    b, T = wall.device_damping, wall.period
    decay = math.exp(-b * T / mass)
    way = (1.0 - decay) * mass / b
    return (way, decay), ((T - way) / b, (1.0 - decay) / b)


@dataclass(frozen=True)
class Contact:
    """A mass that hits the wall, is pressed against it, and may be kept passive by a controller.

    Attributes:
        mass: m [kg].
        speed: at the surface [m/s].
        press: force towards the wall [N].
        duration: of the run [s].
    """

    mass: float
    speed: float
    press: float
    duration: float


@dataclass(frozen=True)
class Outcome:
    """The result of a contact.

    Attributes:
        speed: the largest one in the last quarter of the run [m/s].
        injected: the largest damping that was added [N s/m].
        damper: the largest force of the controller [N].
        lowest: energy at the port [J].
    """

    speed: float
    injected: float
    damper: float
    lowest: float


def touch(wall: Wall, contact: Contact, rule: PassivityRule) -> Outcome:
    """Simulates a mass that hits the wall, whose force is never attractive."""
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
        stiffnesses: K of each [N/m].
        device_damping, period: as of `Wall`.
        contact: contact law of the walls.
        rules: of the ports; a map for each.
    """

    damping: float
    stiffnesses: Sequence[float]
    device_damping: float
    period: float
    contact: Contact
    rules: Sequence[PassivityRule]

    def walls(self) -> Iterator[Wall]:
        """From soft to stiff."""
        return (Wall(K, self.damping, self.device_damping, self.period) for K in self.stiffnesses)

    def run(self) -> dict[str, np.ndarray]:
        """`passive` (n,), `stable` (n,), `limit` (), and by rule and wall `speed`, `injected`, `damper`, `lowest`."""
        outcomes = [[touch(wall, self.contact, rule) for wall in self.walls()] for rule in self.rules]
        result = {
            name: np.array([[getattr(outcome, name) for outcome in row] for row in outcomes])
            for name in ("speed", "injected", "damper", "lowest")
        }
        return {
            **result,
            "passive": np.array([says_passive(wall) for wall in self.walls()]),
            "stable": np.array([is_stable(wall, self.contact.mass) for wall in self.walls()]),
            "limit": np.array(observed_limit(self.damping, self.device_damping, self.period)),
        }
