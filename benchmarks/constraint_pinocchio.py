"""The benchmark's mechanisms in Pinocchio.

It has accelerations, and a step of one's own: semi-implicit Euler or RK4, here in Python. Constraints act on
accelerations (`constraintDynamics`, a point constraint) with Baumgarte's correction; with rates of 0.5/T and 0.1/T
neither rule adds an error of its own. The planar loops leave the point's third row empty, which a proximal term of
1e-12 makes regular.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pinocchio as pin
from constraint_cases import INERTIA, ROD, Case, DiskOnSphere, RollingDisk, Rows, TwoLinkOnCircle, rotated

VERSION = pin.__version__
RATES = {"semi-implicit": 0.5, "RK4": 0.1}  # of Baumgarte's correction, times T


class PinocchioSimulation:
    """A model under point constraints.

    Args:
        model: of Pinocchio.
        period: T [s].
        rule: "semi-implicit" or "RK4".
        q, v: start.
        natural: natural coordinates of rows of q and v.
        points: two joints and the point in each that coincide.
    """

    compiled_loop = False

    def __init__(
        self,
        model: pin.Model,
        period: float,
        rule: str,
        q: np.ndarray,
        v: np.ndarray,
        natural: Callable[..., Rows],
        points: Sequence[tuple[int, Sequence[float], int, Sequence[float]]] = (),
    ) -> None:
        self.model, self.data = model, model.createData()
        self._period, self._rule, self.q, self.v, self.natural = period, rule, np.array(q), np.array(v), natural
        self.rate = RATES[rule] / period
        self.tau = np.zeros(model.nv)
        self._points, self._kept = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        for one, here, other, there in points:
            point = pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, one, at(here), other, at(there))
            gains = pin.BaumgarteCorrectorParameters(self.rate**2, 2 * self.rate)
            point.setBaumgarteCorrectorParameters(gains)
            self._points.append(point)
        for point in self._points:
            self._kept.append(point.createData())
        pin.initConstraintDynamics(model, self.data, self._points, self._kept)
        self._settings = pin.ProximalSettings(1e-14, 1e-12, 1)

    def acceleration(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Of the model under its constraints, a copy."""
        if not len(self._points):
            return pin.aba(self.model, self.data, q, v, self.tau).copy()
        arguments = self.model, self.data, q, v, self.tau, self._points, self._kept, self._settings
        return pin.constraintDynamics(*arguments).copy()

    def step(self) -> None:
        T, q, v, model = self._period, self.q, self.v, self.model
        if self._rule == "RK4":
            a = self.acceleration(q, v)
            v2 = v + T / 2 * a
            a2 = self.acceleration(pin.integrate(model, q, T / 2 * v), v2)
            v3 = v + T / 2 * a2
            a3 = self.acceleration(pin.integrate(model, q, T / 2 * v2), v3)
            v4 = v + T * a3
            a4 = self.acceleration(pin.integrate(model, q, T * v3), v4)
            self.q = pin.integrate(model, q, T / 6 * (v + 2 * v2 + 2 * v3 + v4))
            self.v = v + T / 6 * (a + 2 * a2 + 2 * a3 + a4)
        else:
            self.v = v + T * self.acceleration(q, v)
            self.q = pin.integrate(model, q, T * self.v)

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.step()

    def state(self) -> Rows:
        return self.q, self.v  # a step makes new ones


class Rolling(PinocchioSimulation):
    """Rolling stated by hand: `forwardDynamics` takes any J and drift with J a + drift = 0."""

    radius = 0.0

    def acceleration(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        c, s = self.radius * np.cos(q[2]), self.radius * np.sin(q[2])
        J = np.array([[1.0, 0.0, 0.0, c], [0.0, 1.0, 0.0, s]])
        drift = v[2] * v[3] * np.array([-s, c]) + self.rate * (J @ v)
        return pin.forwardDynamics(self.model, self.data, q, v, self.tau, J, drift, 0.0).copy()


def models(case: Case) -> list[tuple[str, Callable[[float], PinocchioSimulation]]]:
    """Words and a maker of each formulation; the maker takes the period."""
    kinds = {
        "Pendulum": [(pendulum, "joint")],
        "TwoLinkOnCircle": [(two_link, "point on a rod")],
        "FourBar": [(four_bar, "point constraint")],
        "DiskOnSphere": [(disk_on_sphere, "point constraint"), (disk_on_ball, "ball joint")],
        "RollingDisk": [(rolling_disk, "J stated by hand")],
    }
    return [
        (f"{words}, {rule}", lambda period, make=make, rule=rule: make(case, period, rule))
        for make, words in kinds[case.name]
        for rule in RATES
    ]


def at(position: Sequence[float]) -> pin.SE3:
    """A placement without rotation."""
    return pin.SE3(np.eye(3), np.array(position, dtype=float))


def as_it_is(q: np.ndarray, v: np.ndarray) -> Rows:
    """The model's coordinates are the natural ones."""
    return q, v


def empty() -> pin.Model:
    """A model without gravity."""
    model = pin.Model()
    model.gravity = pin.Motion.Zero()
    return model


def body(
    model: pin.Model, parent: int, joint: object, placement: pin.SE3, mass: float, center: Sequence[float],
    J: Sequence[float],
) -> int:  # fmt: skip
    """A body behind a joint, its principal moments about its centre of mass."""
    number = model.addJoint(parent, joint, placement, f"joint {model.njoints}")
    inertia = pin.Inertia(mass, np.array(center, dtype=float), np.diag(np.array(J, dtype=float)))
    model.appendBodyToJoint(number, inertia, pin.SE3.Identity())
    return number


def bar(model: pin.Model, parent: int, position: Sequence[float], mass: float, length: float) -> int:
    """A thin bar along x behind a hinge about z."""
    J = mass * length**2 / 12
    return body(model, parent, pin.JointModelRZ(), at(position), mass, [length / 2, 0, 0], [0, J, J])


def pendulum(case: Case, period: float, rule: str) -> PinocchioSimulation:
    m, model = case.mechanism, pin.Model()
    model.gravity = pin.Motion(np.array([0, 0, -m.gravity]), np.zeros(3))
    axis = pin.JointModelRevoluteUnaligned(np.array([0.0, -1.0, 0.0]))
    body(model, 0, axis, at([0, 0, 0]), m.mass, [0, 0, -m.length], [0, 0, 0])
    return PinocchioSimulation(model, period, rule, case.q, case.v, as_it_is)


def two_link(case: TwoLinkOnCircle, period: float, rule: str) -> PinocchioSimulation:
    """It has no distance constraint; a light rod from the centre to the end is the circle's radius."""
    m, model = case.mechanism, empty()
    first = bar(model, 0, [*m.base, 0], m.link_mass, m.link_length)
    second = bar(model, first, [m.link_length, 0, 0], m.link_mass, m.link_length)
    rod = body(model, 0, pin.JointModelRZ(), at([0, 0, 0]), 0.0, [0, 0, 0], [ROD] * 3)
    points = [(second, [m.link_length, 0, 0], rod, [m.circle_radius, 0, 0])]
    return PinocchioSimulation(model, period, rule, *case.with_rod(), case.of_rod, points)


def four_bar(case: Case, period: float, rule: str) -> PinocchioSimulation:
    m, model = case.mechanism, empty()
    a, b, c = m.lengths
    crank = bar(model, 0, [0, 0, 0], m.density * a, a)
    coupler = bar(model, crank, [a, 0, 0], m.density * b, b)
    rocker = bar(model, 0, [m.ground, 0, 0], m.density * c, c)
    points = [(coupler, [b, 0, 0], rocker, [c, 0, 0])]
    return PinocchioSimulation(model, period, rule, case.q, case.v, as_it_is, points)


def disk_on_sphere(case: DiskOnSphere, period: float, rule: str) -> PinocchioSimulation:
    """A free body; the point of its axis in the sphere's centre is constrained to it."""
    m, model = case.mechanism, empty()
    disk = body(model, 0, pin.JointModelFreeFlyer(), at([0, 0, 0]), m.mass, [0, 0, 0], INERTIA)

    def natural(q: np.ndarray, v: np.ndarray) -> Rows:
        return q, np.column_stack([rotated(q[:, 3:], v[:, :3]), rotated(q[:, 3:], v[:, 3:])])

    points = [(disk, [0, 0, -m.sphere_radius], 0, m.center)]
    return PinocchioSimulation(model, period, rule, case.q, case.body_twist(), natural, points)


def disk_on_ball(case: DiskOnSphere, period: float, rule: str) -> PinocchioSimulation:
    """A body on a ball joint in the sphere's centre."""
    m, model = case.mechanism, empty()
    body(model, 0, pin.JointModelSpherical(), at(m.center), m.mass, [0, 0, m.sphere_radius], INERTIA)

    def natural(q: np.ndarray, v: np.ndarray) -> Rows:
        return case.turning(q, rotated(q, v))

    return PinocchioSimulation(model, period, rule, case.q[3:], case.body_twist()[3:], natural)


def rolling_disk(case: RollingDisk, period: float, rule: str) -> PinocchioSimulation:
    """Joints keep it upright and at its height."""
    m, model = case.mechanism, empty()
    upright = pin.SE3(pin.utils.rotate("x", np.pi / 2), np.zeros(3))
    number = 0
    for joint in (pin.JointModelPX(), pin.JointModelPY(), pin.JointModelRZ()):
        number = model.addJoint(number, joint, at([0, 0, 0]), f"joint {model.njoints}")
    body(model, number, pin.JointModelRZ(), upright, m.mass, [0, 0, 0], INERTIA)
    keep = [0, 1, 3, 4]

    def natural(q: np.ndarray, v: np.ndarray) -> Rows:
        j, rate = np.insert(q, 2, m.radius, axis=1), np.insert(v, 2, 0.0, axis=1)
        return case.of_joints(j, rate)

    q, v = case.joints()
    made = Rolling(model, period, rule, q[keep], v[keep], natural)
    made.radius = m.radius
    return made
