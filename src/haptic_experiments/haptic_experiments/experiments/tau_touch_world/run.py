"""Arrays of a run of `tau_touch_world`, and measures of its motion and forces. Rows are ticks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from convex_contact.haptics.settings import ToolTransform
from haptic_bags.bags import Bag
from haptic_bags.ticks import Ticks
from haptic_experiments.experiments.tau_touch_world.references import TOPICS, Touch, pressed_planes
from haptic_experiments.kit.composed import variation
from haptic_experiments.kit.phases import PhasedRun, phased
from haptic_files.moved_modules import renamed
from haptic_math.spectra import spectrum_without_trend

__getattr__ = renamed(__name__, {"spectrum": "haptic_math.spectra:spectrum_without_trend"})

#: least frequency of the tool's motion at rest that is not the hand's, whose tremor ends at 12 Hz [Hz]
VIBRATION = 20.0


@dataclass(frozen=True)
class TouchRun(PhasedRun):
    """Signals of a bag."""

    touch: Touch  #: motion and forces of the nodes; depth of the true tool, without works and step time
    plane: np.ndarray  #: point at the tool, and normal, of the plane that pushes at each tick (n, 6); NaN without
    momentum: np.ndarray  #: change of momentum less all impulses, of each body that can move (n, b) [N s]
    names: list[str]  #: names of these bodies
    mode: str  #: mode of the loop
    missed: float  #: fraction of the ticks that some node did not answer

    @classmethod
    def from_bag(cls, bag: Bag) -> TouchRun:
        """Reads a bag; the ticks are those that all topics have, since in realtime a node may have missed some.

        Raises:
            HapticError: There are fewer than two such ticks.
        """
        ticks = bag.ticks("/tau", *TOPICS, "contact/contacts")
        scene = bag.topics["/tau/scene"]
        masses = np.asarray(scene["mass"][0])
        free = np.flatnonzero(masses > 0.0)
        touch, n = Touch.of_ticks(ticks, free.tolist()), len(ticks.tick)
        off = touch.position - ticks["device_state"]["tool_pose"][:, :3]
        distance = ticks["contact/planes"]["signed_distance"]
        depth, plane = np.zeros(n), np.full((n, 6), np.nan)
        for k, (pressing, normals) in enumerate(pressed_planes(ticks)):
            for i in np.flatnonzero(pressing > 0.0):
                inside = -distance[k][i] - normals[i] @ off[k]
                if np.isnan(plane[k, 0]) or inside > depth[k]:
                    plane[k] = *(touch.position[k] + inside * normals[i]), *normals[i]
                depth[k] = max(depth[k], inside)
        frame = ToolTransform.of(bag.parameters("contact")).frame.rotation
        return cls(
            **phased(ticks, bag),
            touch=replace(touch, depth=depth),
            plane=plane,
            momentum=imbalance(ticks, touch, masses, frame),
            names=[str(scene["name"][0][i]) for i in free],
            mode=bag.custom.get("mode", "lockstep"),
            missed=1.0 - n / len(bag.topics["/tau/device_state"]["tick"]),
        )


def imbalance(ticks: Ticks, touch: Touch, masses: np.ndarray, frame: np.ndarray) -> np.ndarray:
    """Computes the momentum (n, b) [N s] that is unaccounted for, for each of the b bodies with a mass.

    m dv - T m g - contacts + T (push and friction on the tool in the tick before, at this body's planes)
    """
    free, contacts, period = np.flatnonzero(masses > 0.0), ticks["contact/contacts"], ticks.period
    pushed, planes = pressed_planes(ticks), ticks["contact/planes"]
    wrong = np.zeros((len(ticks.tick), len(free)))
    for k in range(1, len(ticks.tick)):
        pressing, normals = pushed[k - 1]
        body = np.asarray(planes["body"][k - 1])
        if ticks.tick[k] != ticks.tick[k - 1] + 1 or len(pressing) != len(body):
            continue
        load, forces = pressing.sum(), pressing[:, None] * normals
        if load > 0.0:
            forces = forces + pressing[:, None] / load * touch.friction[k - 1]
        normal, tangential = (np.reshape(contacts[name][k], (-1, 3)) for name in ("normal", "tangential_impulse"))
        impulses = np.asarray(contacts["normal_impulse"][k])[:, None] * normal + tangential
        first, second = (np.asarray(contacts[name][k]) for name in ("body_a", "body_b"))
        for j, b in enumerate(free):
            change = touch.twist[k, j, :3] - touch.twist[k - 1, j, :3]
            gained = masses[b] * (change + period * np.array([0.0, 0.0, 9.81]))
            gained -= impulses[second == b].sum(axis=0) - impulses[first == b].sum(axis=0)
            gained += period * forces[body == b].sum(axis=0) @ frame
            wrong[k, j] = np.linalg.norm(gained)
    return wrong


@dataclass(frozen=True)
class Difference:
    """Largest distance of tools and of bodies [m], and of pushes and of frictions [N]."""

    motion: float
    bodies: float
    push: float
    friction: float


@dataclass(frozen=True)
class Vibration:
    """Highest line of a signal above `VIBRATION`: its frequency [Hz], and its amplitude in the signal's unit."""

    frequency: float
    amplitude: float


def difference(one: Touch, other: Touch, part: np.ndarray | slice = slice(None)) -> Difference:
    """Compares two runs in a part of their common ticks."""
    n = min(len(one.position), len(other.position))

    def apart(name: str) -> float:
        a, b = (getattr(touch, name)[:n][part] for touch in (one, other))
        return float(np.linalg.norm((a - b)[..., :3], axis=-1).max(initial=0.0))

    return Difference(*(apart(name) for name in ("position", "pose", "push", "friction")))


def transitions(sticking: np.ndarray, load: np.ndarray, lasting: int) -> int:
    """Counts changes between sticking and sliding of a pressed contact, without states shorter than `lasting` ticks."""
    states = sticking[load > 0.0].astype(int)
    if not len(states):
        return 0
    edges = [0, *(np.flatnonzero(np.diff(states)) + 1).tolist(), len(states)]
    kept = [states[a] for a, b in pairwise(edges) if b - a >= lasting]
    return int(np.count_nonzero(np.diff(kept)))


def chatter(touch: Touch, part: np.ndarray) -> float:
    """Computes the standard deviation of friction's change from tick to tick [N], of the worst component."""
    return variation(touch.friction, part)


def vibration(signal: np.ndarray, period: float) -> Vibration:
    """Finds the highest line of a signal (n, 3)."""
    frequency, amplitude = spectrum_without_trend(signal, period)
    fast = np.flatnonzero(frequency > VIBRATION)
    k = fast[np.argmax(amplitude[fast])]
    return Vibration(float(frequency[k]), float(amplitude[k]))
