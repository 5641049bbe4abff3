"""The mechanisms of the benchmark, how each starts, and how a motion of any engine is judged.

Every engine's motion is brought to the natural coordinates of a case: those of its bodies, which a constraint may have
let slip. Gap, slip and energy are computed from these here, by the same lines for all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol

import numpy as np

from admittance_constraints import Mechanism, ReferenceGenerator, load_mechanism

START: dict[str, dict[str, Any]] = {
    "RollingDisk": {"z": [0.0, 0.0, 0.3, 0.0], "z_velocity": [0.115, 0.035, 1.5, -4.0]},
    "DiskOnSphere": {"z": [0.4, 0.2, 1.2], "z_velocity": [0.5, 1.0, 0.3]},
    "TwoLinkOnCircle": {"z": [0.0], "z_velocity": [4.0]},
    "Pendulum": {"z": [1.0]},
    "PointOnSurface": {},
    "KnifeEdge": {"z_velocity": [0.3, 0.0, 1.5]},
    "FourBar": {"z_velocity": [4.0, -3.0]},
}
INERTIA = (0.0015, 0.0025, 0.004)  # of the disks in free motion [kg m^2]: with equal moments nothing would tumble
GRAVITY = 9.81  # [m/s^2], where a contact needs it
ROD = 1e-9  # [kg m^2], of the circle's radius where it is a body

Rows = tuple[np.ndarray, np.ndarray]  # coordinates (n, nq) and velocities (n, nv) of n instants


def generator(name: str, mechanism: Mechanism, **options: Any) -> ReferenceGenerator:
    """A generator at the mechanism's start, its velocity consistent with the constraints."""
    z, velocity = START[name].get("z"), START[name].get("z_velocity")
    g = ReferenceGenerator(mechanism, z=z, **options)
    if name == "RollingDisk":
        assert z is not None and velocity is not None
        heading, speed = z[2], -mechanism.radius * velocity[3]  # type: ignore[attr-defined]
        velocity = [speed * np.cos(heading), speed * np.sin(heading), *velocity[2:]]
    if name == "FourBar":
        assert velocity is not None
        velocity = mechanism.project_velocity(mechanism.project_position(mechanism.near), velocity)  # type: ignore[attr-defined]
    g.reset(z=z, z_velocity=velocity)
    return g


class Simulation(Protocol):
    """A case in some engine.

    Attributes:
        compiled_loop: whether `run` is a loop in machine code.
    """

    compiled_loop: bool

    def step(self) -> None:
        """Advances one period, as a node would ask for it."""

    def run(self, steps: int) -> None:
        """Advances many, in the engine's own loop if it has one."""

    def state(self) -> Rows:
        """Copies of the engine's coordinates (nq,) and velocities (nv,)."""

    def natural(self, q: np.ndarray, v: np.ndarray) -> Rows:
        """The case's natural coordinates of rows of states."""


class Case(ABC):
    """A mechanism in free motion.

    Attributes:
        mechanism: ours, with its parameters.
        q, v: the natural coordinates and velocities at the start, shapes (nq,), (nv,).
    """

    def __init__(self) -> None:
        self.name = type(self).__name__
        self.mechanism: Any = load_mechanism(self.name, **({"inertia": INERTIA} if isinstance(self, Disk) else {}))
        still = self.generator(period=1e-15, compiled=False)  # a step so short that nothing moves
        start = still.simulate(wrenches=np.zeros((1, 6)))
        q, v = self.natural(start)
        self.q, self.v = q[0], v[0]

    def generator(self, **options: Any) -> ReferenceGenerator:
        """Ours, at the start."""
        return generator(self.name, self.mechanism, **options)

    @abstractmethod
    def natural(self, r: Any) -> Rows:
        """Natural coordinates and velocities of a trajectory of ours."""

    @abstractmethod
    def marker(self, q: np.ndarray) -> np.ndarray:
        """A point that shows all of the motion [m], shape (n, 3)."""

    @abstractmethod
    def gap(self, q: np.ndarray) -> np.ndarray:
        """How far the holonomic constraints are violated [m], shape (n,)."""

    @abstractmethod
    def slip(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """How fast they are violated, or how fast the contact slips [m/s], shape (n,)."""

    @abstractmethod
    def energy(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Kinetic and potential energy, zero at their least [J], shape (n,)."""


class Pendulum(Case):
    """q: its angle. A joint in every engine: here only the integrators differ."""

    def natural(self, r: Any) -> Rows:
        return r.q, r.q_velocity

    def marker(self, q: np.ndarray) -> np.ndarray:
        angle = q[:, 0]
        return self.mechanism.length * np.stack([np.sin(angle), 0 * angle, -np.cos(angle)], axis=1)

    def gap(self, q: np.ndarray) -> np.ndarray:
        return np.zeros(len(q))

    def slip(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.zeros(len(q))

    def energy(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        m = self.mechanism
        return m.mass * m.length * (m.length * v[:, 0] ** 2 / 2 + m.gravity * (1 - np.cos(q[:, 0])))


def bar(angle: np.ndarray, length: float) -> np.ndarray:
    """From one end of a bar in the plane to the other, shape (n, 2)."""
    return length * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def bar_rate(angle: np.ndarray, rate: np.ndarray, length: float) -> np.ndarray:
    """The rate of `bar`."""
    return length * rate[:, None] * np.stack([-np.sin(angle), np.cos(angle)], axis=1)


def bar_energy(mass: float, length: float, middle: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """Kinetic energy of a thin bar, from the velocity of its middle and its angular velocity."""
    return mass * (middle**2).sum(axis=1) / 2 + mass * length**2 / 24 * rate**2


class TwoLinkOnCircle(Case):
    """q: the joints' angles, the second relative to the first."""

    def natural(self, r: Any) -> Rows:
        return r.q, r.q_velocity

    def marker(self, q: np.ndarray) -> np.ndarray:
        length = self.mechanism.link_length
        end = np.array(self.mechanism.base) + bar(q[:, 0], length) + bar(q.sum(axis=1), length)
        return np.pad(end, ((0, 0), (0, 1)))

    def _rates(self, q: np.ndarray, v: np.ndarray) -> Rows:
        length = self.mechanism.link_length
        return bar_rate(q[:, 0], v[:, 0], length), bar_rate(q.sum(axis=1), v.sum(axis=1), length)

    def with_rod(self) -> Rows:
        """The start with the angle of a rod from the circle's centre to the end, shapes (3,)."""
        z = START[self.name]
        return np.append(self.q, z["z"]), np.append(self.v, z["z_velocity"])

    def of_rod(self, q: np.ndarray, v: np.ndarray) -> Rows:
        """Natural coordinates of these."""
        return q[:, :2], v[:, :2]

    def gap(self, q: np.ndarray) -> np.ndarray:
        return np.abs(np.linalg.norm(self.marker(q), axis=1) - self.mechanism.circle_radius)

    def slip(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        end, (first, second) = self.marker(q)[:, :2], self._rates(q, v)
        return np.abs((end * (first + second)).sum(axis=1)) / np.linalg.norm(end, axis=1)

    def energy(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        m, (first, second) = self.mechanism, self._rates(q, v)
        one = bar_energy(m.link_mass, m.link_length, first / 2, v[:, 0])
        return one + bar_energy(m.link_mass, m.link_length, first + second / 2, v.sum(axis=1))


class FourBar(Case):
    """q: angles of the crank, of the coupler relative to it, and of the rocker."""

    def natural(self, r: Any) -> Rows:
        """Ours has no rocker: it is the constraint, along the line from its pivot to the coupler's end."""
        crank, coupler, _ = self.mechanism.lengths
        q, v = r.q, r.q_velocity
        u = bar(q[:, 0], crank) + bar(q.sum(axis=1), coupler) - [self.mechanism.ground, 0.0]
        rate = bar_rate(q[:, 0], v[:, 0], crank) + bar_rate(q.sum(axis=1), v.sum(axis=1), coupler)
        turn = (u[:, 0] * rate[:, 1] - u[:, 1] * rate[:, 0]) / (u**2).sum(axis=1)
        return np.column_stack([q, np.arctan2(u[:, 1], u[:, 0])]), np.column_stack([v, turn])

    def _rates(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        angles, rates = (np.column_stack([a[:, 0], a[:, 0] + a[:, 1], a[:, 2]]) for a in (q, v))
        crank, coupler, rocker = (bar_rate(angles[:, i], rates[:, i], self.mechanism.lengths[i]) for i in range(3))
        return crank, coupler, rocker

    def marker(self, q: np.ndarray) -> np.ndarray:
        crank, coupler, _ = self.mechanism.lengths
        return np.pad(bar(q[:, 0], crank) + bar(q[:, 0] + q[:, 1], coupler), ((0, 0), (0, 1)))

    def gap(self, q: np.ndarray) -> np.ndarray:
        rocker = bar(q[:, 2], self.mechanism.lengths[2])
        return np.linalg.norm(self.marker(q)[:, :2] - [self.mechanism.ground, 0.0] - rocker, axis=1)

    def slip(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        crank, coupler, rocker = self._rates(q, v)
        return np.linalg.norm(crank + coupler - rocker, axis=1)

    def energy(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        m, (a, b, c), (crank, coupler, rocker) = self.mechanism.density, self.mechanism.lengths, self._rates(q, v)
        return (
            bar_energy(m * a, a, crank / 2, v[:, 0])
            + bar_energy(m * b, b, crank + coupler / 2, v[:, 0] + v[:, 1])
            + bar_energy(m * c, c, rocker / 2, v[:, 2])
        )


def rotation(Q: np.ndarray) -> np.ndarray:
    """Rotation matrices of quaternions (x, y, z, w), shape (n, 3, 3)."""
    x, y, z, w = (Q / np.linalg.norm(Q, axis=1, keepdims=True)).T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), 2, 0)


def rotated(Q: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Vectors of the body frame in the base frame, shape (n, 3)."""
    return np.einsum("nij,nj->ni", rotation(Q), vectors)


class Disk(Case):
    """q: centre and quaternion (x, y, z, w); v: velocity and angular velocity in the base frame. Its axis is body z."""

    def natural(self, r: Any) -> Rows:
        return np.column_stack([r.x[:, :3], r.orientation]), r.twist

    def body_twist(self) -> np.ndarray:
        """Velocity and angular velocity at the start in the body frame, shape (6,)."""
        R = rotation(self.q[None, 3:])[0]
        return np.concatenate([R.T @ self.v[:3], R.T @ self.v[3:]])

    def marker(self, q: np.ndarray) -> np.ndarray:
        return q[:, :3] + 0.03 * rotation(q[:, 3:])[:, :, 0]  # on the rim, so that its spin shows

    def energy(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        omega = np.einsum("nji,nj->ni", rotation(q[:, 3:]), v[:, 3:])
        return self.mechanism.mass * (v[:, :3] ** 2).sum(axis=1) / 2 + omega**2 @ np.array(INERTIA) / 2


class DiskOnSphere(Disk):
    """The point of the disk's axis one radius below it stays in the sphere's centre."""

    def turning(self, Q: np.ndarray, omega: np.ndarray) -> Rows:
        """Natural coordinates of a disk that turns about the sphere's centre; omega in the base frame."""
        arm = self.mechanism.sphere_radius * rotation(Q)[:, :, 2]
        position = np.array(self.mechanism.center) + arm
        return np.column_stack([position, Q]), np.column_stack([np.cross(omega, arm), omega])

    def gap(self, q: np.ndarray) -> np.ndarray:
        return np.linalg.norm(q[:, :3] - self.turning(q[:, 3:], np.zeros((len(q), 3)))[0][:, :3], axis=1)

    def slip(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.linalg.norm(v[:, :3] - self.turning(q[:, 3:], v[:, 3:])[1][:, :3], axis=1)


class RollingDisk(Disk):
    """On the plane x3 = 0, upright."""

    def joints(self) -> Rows:
        """The start in joints that keep it upright: x, y, height, heading, roll, shapes (5,)."""
        z, rates = START[self.name]["z"], START[self.name]["z_velocity"]
        return np.array([*z[:2], self.mechanism.radius, *z[2:]]), np.array([*self.v[:2], 0.0, *rates[2:]])

    def of_joints(self, j: np.ndarray, rate: np.ndarray) -> Rows:
        """Natural coordinates of these joints, R = Rz(heading) Rx(90 degrees) Rz(roll)."""
        plus, minus = (j[:, 3] + j[:, 4]) / 2, (j[:, 3] - j[:, 4]) / 2
        Q = np.sqrt(0.5) * np.stack([np.cos(minus), np.sin(minus), np.sin(plus), np.cos(plus)], axis=1)
        axis = np.stack([np.sin(j[:, 3]), -np.cos(j[:, 3]), 0 * j[:, 3]], axis=1)
        omega = axis * rate[:, 4:] + np.pad(rate[:, 3:4], ((0, 0), (2, 0)))
        return np.column_stack([j[:, :3], Q]), np.column_stack([rate[:, :3], omega])

    def gap(self, q: np.ndarray) -> np.ndarray:
        r = self.mechanism.radius
        return np.maximum(np.abs(q[:, 2] - r), r * np.abs(rotation(q[:, 3:])[:, 2, 2]))

    def slip(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        r = self.mechanism.radius  # the contact lies r below the centre
        return np.hypot(v[:, 0] - r * v[:, 4], v[:, 1] + r * v[:, 3])


CASES: tuple[type[Case], ...] = (Pendulum, TwoLinkOnCircle, FourBar, DiskOnSphere, RollingDisk)
