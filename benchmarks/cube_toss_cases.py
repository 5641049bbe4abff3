"""Cases of the cube toss for all engines: tosses and their starts, the error, the search for parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation
from scipy.stats import qmc

from convex_contact.scenes.tosses import HALF_WIDTH, INERTIA, PERIOD, Toss, load_tosses, mean_errors

#: of the permutation that separates the tosses for identification, its first TRAINING, from the others
SEED, TRAINING = 2020, 95
#: of those, on how many parameters are searched; the rest choose between models
SEARCHED = 60
#: a corner below this height has touched [m]
TOUCH = 1e-3
#: a fraction of the cube's width and degrees: what counts as much as the other in the objective
SCALE = np.array([0.135, 18.0])
#: identified beside the contact where the body is, too: moment of inertia [kg m^2]; centre of mass, from the cube's
#: centre along its z axis [m]; radius of its corners [m]
BODY = {"inertia": (6e-4, 1.4e-3, False), "center": (-1e-2, 1e-2, False), "radius": (1e-4, 1.2e-2, True)}
BODY_START = {"inertia": INERTIA, "center": 0.0, "radius": 1e-3}


@dataclass(frozen=True)
class Scene:
    """Settings of all engines: gravity (3,), m/s^2, and half the cube's side, m."""

    gravity: np.ndarray = field(default_factory=lambda: np.array([0.0, 0.0, -9.81]))
    half_width: float = HALF_WIDTH


@dataclass(frozen=True)
class Start:
    """A state: position (3,), quaternion (x, y, z, w), velocities in the board's axes.

    The velocity is the mean over the interval PERIOD before, as it is recorded.
    """

    position: np.ndarray
    orientation: np.ndarray
    velocity: np.ndarray
    angular_velocity: np.ndarray

    def stepped(self, step: float, gravity: np.ndarray) -> np.ndarray:
        """The velocity with which symplectic Euler with that step follows the parabola, (3,), m/s."""
        return self.velocity + 0.5 * (PERIOD - step) * gravity


@dataclass(frozen=True)
class Motion:
    """Positions (n, 3) and quaternions (x, y, z, w) (n, 4) at the samples after the first."""

    position: np.ndarray
    orientation: np.ndarray


@dataclass(frozen=True)
class Model:
    """A way to simulate.

    Attributes:
        name: of it.
        simulate: motions of parameters, scene, starts, number of samples, steps per sample.
        bounds: of each parameter, and whether it is searched by its logarithm.
        substeps: steps per sample.
        group: tosses that are simulated together; only the time depends on it.
    """

    name: str
    simulate: Callable[..., list[Motion]]
    bounds: dict[str, tuple[float, float, bool]]
    substeps: int = 4
    group: int = 24

    def parameters(self, u: np.ndarray) -> dict[str, float]:
        """Returns the parameters at a point of the unit cube, by name."""
        out = {}
        for (name, (low, high, log)), t in zip(self.bounds.items(), np.clip(u, 0.0, 1.0), strict=True):
            out[name] = float(low * (high / low) ** t if log else low + (high - low) * t)
        return out

    def point(self, x: dict[str, float]) -> np.ndarray:
        """The point in the unit cube of parameters."""
        return np.array(
            [
                np.log(x[name] / low) / np.log(high / low) if log else (x[name] - low) / (high - low)
                for name, (low, high, log) in self.bounds.items()
            ]
        )

    def errors(
        self,
        x: dict[str, float],
        scene: Scene,
        tosses: Sequence[Toss],
        begin: Callable[[Toss], Start] | None = None,
    ) -> np.ndarray:
        """Mean position error (of the cube's width) and rotation error (degrees) of each toss (n, 2)."""
        begin = begin or recorded
        out = np.empty((len(tosses), 2))
        order = np.argsort([t.samples for t in tosses], kind="stable")
        for k in range(0, len(order), self.group):
            some = [tosses[i] for i in order[k : k + self.group]]
            motions = self.simulate(x, scene, [begin(t) for t in some], max(t.samples for t in some), self.substeps)
            for i, toss, motion in zip(order[k : k + self.group], some, motions, strict=True):
                n = toss.samples - 1
                out[i] = mean_errors(motion.position[:n], motion.orientation[:n], toss)
        return out


def recorded(toss: Toss) -> Start:
    """The first sample."""
    return Start(toss.position[0], toss.orientation[0], toss.velocity[0], toss.angular_velocity[0])


def fitted(toss: Toss, scene: Scene, center: np.ndarray) -> Start:
    """The state at the first sample from all samples before the first touch: a parabola and a constant rate of turning.

    Args:
        toss: recorded.
        scene: with gravity.
        center: centre of mass in the cube's axes (3,), m.
    """
    n = first_touch(toss, scene.half_width)
    if n < 4:
        return recorded(toss)
    t = toss.time[:n]
    basis = np.column_stack([np.ones(n), t])
    turns = Rotation.from_quat(toss.orientation[:n])
    first = turns[0]
    for _ in range(3):  # the rotation vectors to it are small then
        angles, rate = np.linalg.lstsq(basis, (turns * first.inv()).as_rotvec(), rcond=None)[0]
        first = Rotation.from_rotvec(angles) * first
    path = toss.position[:n] + turns.apply(center) - 0.5 * np.outer(t**2, scene.gravity)
    place, velocity = np.linalg.lstsq(basis, path, rcond=None)[0]
    lever = first.apply(center)
    velocity = velocity - np.cross(rate, lever) - 0.5 * PERIOD * scene.gravity
    return Start(place - lever, first.as_quat(), velocity, rate)


def first_touch(toss: Toss, half_width: float) -> int:
    """The first sample at which a corner of the cube is at the board."""
    corners = half_width * np.array(list(product((-1.0, 1.0), repeat=3)))
    down = Rotation.from_quat(toss.orientation).as_matrix()[:, 2]
    return int(np.argmax(toss.position[:, 2] + (down @ corners.T).min(axis=1) < TOUCH))


def measured_gravity(tosses: Sequence[Toss]) -> tuple[np.ndarray, np.ndarray]:
    """Gravity (3,), m/s^2, and the centre of mass in the cube's axes (3,), m, from the free flights."""
    flights = [(t, n) for t in tosses if (n := first_touch(t, HALF_WIDTH) - 1) >= 8]
    columns = 6 * len(flights) + 6
    blocks, sides = [], []
    for j, (toss, n) in enumerate(flights):
        block = np.zeros((n, 3, columns))
        block[:, :, 6 * j : 6 * j + 3] = np.eye(3)
        block[:, :, 6 * j + 3 : 6 * j + 6] = toss.time[:n, None, None] * np.eye(3)
        block[:, :, -6:-3] = 0.5 * toss.time[:n, None, None] ** 2 * np.eye(3)
        block[:, :, -3:] = -Rotation.from_quat(toss.orientation[:n]).as_matrix()
        blocks.append(block.reshape(3 * n, columns))
        sides.append(toss.position[:n].ravel())
    solution = np.linalg.lstsq(np.vstack(blocks), np.concatenate(sides), rcond=None)[0]
    return solution[-6:-3], solution[-3:]


def measured_scene(tosses: Sequence[Toss]) -> Scene:
    """Gravity as recorded, and the cube by the same scale: a length in the recording is |g|/9.81 of a metre's."""
    gravity, _ = measured_gravity(tosses)
    return Scene(gravity, HALF_WIDTH * float(np.linalg.norm(gravity)) / 9.81)


def interval(difference: np.ndarray, seed: int = 0) -> np.ndarray:
    """95 % bootstrap interval (2, k) of the mean of paired differences (n, k)."""
    random = np.random.default_rng(seed)
    drawn = random.integers(len(difference), size=(4000, len(difference)))
    return np.quantile(difference[drawn].mean(axis=1), [0.025, 0.975], axis=0)


def split() -> tuple[list[Toss], list[Toss]]:
    """Tosses for identification, and the others."""
    tosses = load_tosses()
    order = np.random.default_rng(SEED).permutation(len(tosses))
    return [tosses[i] for i in order[:TRAINING]], [tosses[i] for i in order[TRAINING:]]


def score(errors: np.ndarray) -> float:
    """The objective: both mean errors over SCALE, averaged."""
    return float((errors / SCALE).mean())


def identify(
    f: Callable[[np.ndarray], float], size: int, evaluations: int, start: np.ndarray | None = None, seed: int = 0
) -> tuple[np.ndarray, float]:
    """Minimises over the unit cube by Nelder & Mead, restarted at its best point.

    Args:
        f: objective.
        size: of its argument.
        evaluations: of it, exactly.
        start: point; without one, a third of the evaluations goes to a Sobol sequence.
        seed: of that.

    Returns:
        The best point (size,) and its value.
    """
    tried: list[tuple[float, np.ndarray]] = []

    class SpentError(Exception):
        pass

    def once(u: np.ndarray) -> float:
        if len(tried) >= evaluations:
            raise SpentError
        inside = np.clip(u, 0.0, 1.0)
        tried.append((f(inside) + float(np.abs(u - inside).sum()), inside))
        return tried[-1][0]

    try:
        number = 2 ** int(np.log2(max(evaluations // 3, 1)))
        for u in qmc.Sobol(size, seed=seed).random(number) if start is None else [start]:
            once(u)
        while True:
            best = min(tried, key=lambda pair: pair[0])[1]
            steps = np.where(best < 0.7, 0.15, -0.15)
            simplex = np.vstack([best, best + np.diag(steps)])
            options = {"initial_simplex": simplex, "xatol": 2e-3, "fatol": 1e-4, "maxfev": evaluations}
            minimize(once, best, method="Nelder-Mead", options=options)
    except SpentError:
        value, u = min(tried, key=lambda pair: pair[0])
        return u, value
