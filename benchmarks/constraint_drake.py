"""The benchmark's mechanisms in Drake.

Constraints exist in its discrete mode alone (SAP); they are rigid up to SAP's regularisation. Where joints can state
the mechanism its continuous mode is measured too, RungeKutta3 at the fixed step T. A constraint to the world body
itself ends the process (a segmentation fault, 1.47 to 1.58); the world is therefore a body on a locked joint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from constraint_cases import GRAVITY, INERTIA, Case, DiskOnSphere, RollingDisk, Rows, rotation
from pydrake.geometry import AddContactMaterial, Box, ProximityProperties, Sphere
from pydrake.math import RigidTransform, RollPitchYaw, RotationMatrix
from pydrake.multibody.plant import (
    AddMultibodyPlantSceneGraph,
    ContactModel,
    CoulombFriction,
    DiscreteContactApproximation,
)
from pydrake.multibody.tree import (
    BallRpyJoint,
    FixedOffsetFrame,
    PlanarJoint,
    PrismaticJoint,
    QuaternionFloatingJoint,
    RevoluteJoint,
    RotationalInertia,
    SpatialInertia,
    UnitInertia,
)
from pydrake.systems.analysis import ResetIntegratorFromFlags, Simulator
from pydrake.systems.framework import DiagramBuilder

VERSION = version("drake")


class DrakeSimulation:
    """A plant; `build` adds its bodies, then `start` is called with what it returned.

    Args:
        period: T [s].
        discrete: mode.
        build: adds bodies and constraints.
        q, v: start, of all joints but the locked one, which is the last.
        natural: natural coordinates of rows of positions and velocities.
    """

    compiled_loop = True

    def __init__(
        self,
        period: float,
        discrete: bool,
        build: Callable[[Any], None],
        q: Sequence[float] | np.ndarray,
        v: Sequence[float] | np.ndarray,
        natural: Callable[..., Rows],
    ) -> None:
        builder = DiagramBuilder()
        self._plant, _ = AddMultibodyPlantSceneGraph(builder, period if discrete else 0.0)
        if discrete:
            self._plant.set_discrete_contact_approximation(DiscreteContactApproximation.kSap)
        self._plant.mutable_gravity_field().set_gravity_vector([0, 0, 0])
        build(self._plant)
        self._plant.Finalize()
        self._simulator = Simulator(builder.Build())
        if not discrete:
            ResetIntegratorFromFlags(self._simulator, "runge_kutta3", period)
            self._simulator.get_mutable_integrator().set_fixed_step_mode(True)
        self._context = self._plant.GetMyContextFromRoot(self._simulator.get_mutable_context())
        self._sizes = len(q), len(v)
        locked = np.zeros(self._plant.num_velocities() - len(v))
        self._plant.SetPositions(self._context, np.concatenate([q, locked]))
        self._plant.SetVelocities(self._context, np.concatenate([v, locked]))
        if locked.size:
            self._plant.GetJointByName("locked").Lock(self._context)
        self._simulator.Initialize()
        self._period, self._steps = period, 0
        self.natural = natural

    def step(self) -> None:
        self.run(1)

    def run(self, steps: int) -> None:
        self._steps += steps
        self._simulator.AdvanceTo(self._steps * self._period)

    def state(self) -> Rows:
        q, v = self._plant.GetPositions(self._context), self._plant.GetVelocities(self._context)
        return q[: self._sizes[0]].copy(), v[: self._sizes[1]].copy()


def models(case: Case) -> list[tuple[str, Callable[[float], DrakeSimulation]]]:
    """Words and a maker of each formulation; the maker takes the period."""
    kinds = {
        "Pendulum": [(pendulum, "joint", True), (pendulum, "joint", False)],
        "TwoLinkOnCircle": [(two_link, "distance constraint", True)],
        "FourBar": [(four_bar, "ball constraint", True)],
        "DiskOnSphere": [(disk_on_sphere, "ball constraint", True), (disk_on_ball, "ball joint", False)],
        "RollingDisk": [(rolling_disk, "friction contact", True)],
    }
    return [
        (f"{words}, {'SAP' if discrete else 'RK3'}", lambda period, make=make, d=discrete: make(case, period, d))
        for make, words, discrete in kinds[case.name]
    ]


def as_it_is(q: np.ndarray, v: np.ndarray) -> Rows:
    """The plant's coordinates are the natural ones."""
    return q, v


def body(plant: Any, name: str, mass: float, center: Sequence[float], J: Sequence[float]) -> Any:
    """A body with its principal moments about its centre of mass."""
    return plant.AddRigidBody(name, SpatialInertia.MakeFromCentralInertia(mass, center, RotationalInertia(*J)))


def massless(plant: Any, name: str) -> Any:
    """A body between two joints."""
    return plant.AddRigidBody(name, SpatialInertia(0.0, [0, 0, 0], UnitInertia(0, 0, 0)))


def frame(plant: Any, name: str, parent: Any, pose: Any) -> Any:
    """A frame on a body's."""
    return plant.AddFrame(FixedOffsetFrame(name, parent, pose))


def bar(plant: Any, name: str, mass: float, length: float, parent: Any, position: Sequence[float]) -> Any:
    """A thin bar along x behind a hinge about z."""
    J = mass * length**2 / 12
    added = body(plant, name, mass, [length / 2, 0, 0], [0, J, J])
    joint = frame(plant, f"{name} joint", parent, RigidTransform(position))
    plant.AddJoint(RevoluteJoint(name, joint, added.body_frame(), [0, 0, 1]))
    return added


def world(plant: Any) -> Any:
    """A body that stays where the world is; the last to be added."""
    added = body(plant, "world's", 1.0, [0, 0, 0], [1, 1, 1])
    plant.AddJoint(PrismaticJoint("locked", plant.world_frame(), added.body_frame(), [0, 0, 1]))
    return added


def pendulum(case: Case, period: float, discrete: bool) -> DrakeSimulation:
    m = case.mechanism

    def build(plant: Any) -> None:
        plant.mutable_gravity_field().set_gravity_vector([0, 0, -m.gravity])
        mass = body(plant, "mass", m.mass, [0, 0, -m.length], [0, 0, 0])
        plant.AddJoint(RevoluteJoint("joint", plant.world_frame(), mass.body_frame(), [0, -1, 0]))

    return DrakeSimulation(period, discrete, build, case.q, case.v, as_it_is)


def two_link(case: Case, period: float, discrete: bool) -> DrakeSimulation:
    m = case.mechanism

    def build(plant: Any) -> None:
        first = bar(plant, "first", m.link_mass, m.link_length, plant.world_frame(), [*m.base, 0])
        second = bar(plant, "second", m.link_mass, m.link_length, first.body_frame(), [m.link_length, 0, 0])
        plant.AddDistanceConstraint(world(plant), [0, 0, 0], second, [m.link_length, 0, 0], m.circle_radius)

    return DrakeSimulation(period, discrete, build, case.q, case.v, as_it_is)


def four_bar(case: Case, period: float, discrete: bool) -> DrakeSimulation:
    m = case.mechanism

    def build(plant: Any) -> None:
        a, b, c = m.lengths
        crank = bar(plant, "crank", m.density * a, a, plant.world_frame(), [0, 0, 0])
        coupler = bar(plant, "coupler", m.density * b, b, crank.body_frame(), [a, 0, 0])
        rocker = bar(plant, "rocker", m.density * c, c, plant.world_frame(), [m.ground, 0, 0])
        plant.AddBallConstraint(coupler, [b, 0, 0], rocker, [c, 0, 0])

    return DrakeSimulation(period, discrete, build, case.q, case.v, as_it_is)


def disk_on_sphere(case: DiskOnSphere, period: float, discrete: bool) -> DrakeSimulation:
    """A free body; the point of its axis in the sphere's centre is constrained to it."""
    m = case.mechanism

    def build(plant: Any) -> None:
        disk = body(plant, "disk", m.mass, [0, 0, 0], INERTIA)
        plant.AddJoint(QuaternionFloatingJoint("free", plant.world_frame(), disk.body_frame()))
        plant.AddBallConstraint(disk, [0, 0, -m.sphere_radius], world(plant), m.center)

    def natural(q: np.ndarray, v: np.ndarray) -> Rows:  # (w, x, y, z; position), (angular velocity; velocity)
        return np.column_stack([q[:, 4:], np.roll(q[:, :4], -1, axis=1)]), np.roll(v, 3, axis=1)

    q = np.concatenate([np.roll(case.q[3:], 1), case.q[:3]])
    return DrakeSimulation(period, discrete, build, q, np.roll(case.v, 3), natural)


def disk_on_ball(case: DiskOnSphere, period: float, discrete: bool) -> DrakeSimulation:
    """A body on a ball joint in the sphere's centre. Roll, pitch and yaw are singular at a pitch of 90 degrees."""
    m = case.mechanism

    def build(plant: Any) -> None:
        disk = body(plant, "disk", m.mass, [0, 0, m.sphere_radius], INERTIA)
        centre = frame(plant, "centre", plant.world_frame(), RigidTransform(m.center))
        plant.AddJoint(BallRpyJoint("ball", centre, disk.body_frame()))

    def natural(q: np.ndarray, v: np.ndarray) -> Rows:
        Q = np.array([RollPitchYaw(row).ToQuaternion().wxyz() for row in q])
        return case.turning(np.roll(Q, -1, axis=1), v)

    q = RollPitchYaw(RotationMatrix(rotation(case.q[None, 3:])[0])).vector()
    return DrakeSimulation(period, discrete, build, q, case.v[3:], natural)


def rolling_disk(case: RollingDisk, period: float, discrete: bool) -> DrakeSimulation:
    """Joints keep it upright; its weight presses it on the plane, where friction (coefficient 1) lets it roll."""
    m = case.mechanism

    def build(plant: Any) -> None:
        plant.mutable_gravity_field().set_gravity_vector([0, 0, -GRAVITY])
        plant.set_contact_model(ContactModel.kPoint)
        moved, lifted = massless(plant, "moved"), massless(plant, "lifted")
        disk = body(plant, "disk", m.mass, [0, 0, 0], INERTIA)
        plant.AddJoint(PlanarJoint("plane", plant.world_frame(), moved.body_frame()))
        plant.AddJoint(PrismaticJoint("height", moved.body_frame(), lifted.body_frame(), [0, 0, 1]))
        upright = frame(plant, "upright", lifted.body_frame(), RigidTransform(RotationMatrix.MakeXRotation(np.pi / 2)))
        plant.AddJoint(RevoluteJoint("roll", upright, disk.body_frame(), [0, 0, 1]))
        material = ProximityProperties()
        AddContactMaterial(point_stiffness=1e8, friction=CoulombFriction(1.0, 1.0), properties=material)
        material.AddProperty("material", "relaxation_time", 1e-3)
        ground = RigidTransform([0, 0, -0.5])
        plant.RegisterCollisionGeometry(disk, RigidTransform(), Sphere(m.radius), "rim", material)
        plant.RegisterCollisionGeometry(plant.world_body(), ground, Box(4, 4, 1), "ground", material)

    def natural(q: np.ndarray, v: np.ndarray) -> Rows:
        return case.of_joints(q[:, ORDER], v[:, ORDER])

    q, v = case.joints()
    return DrakeSimulation(period, discrete, build, q[ORDER], v[ORDER], natural)


ORDER = [0, 1, 3, 2, 4]  # of the plant's joints: x, y, heading, height, roll; its own inverse
