"""The contact benchmarks' scenes in Drake: point contact, the same stiffness, dissipation and friction.

Drake makes one contact point per pair; a box that must stand still gets small spheres at its corners (`corners`). The
near-rigid limit of SAP is off, so that the stiffness is the wanted one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from importlib.metadata import version
from itertools import product

import numpy as np
from contact_scenes import GRAVITY, Item, Scene
from pydrake.common.eigen_geometry import Quaternion
from pydrake.common.value import Value
from pydrake.geometry import AddContactMaterial, Box, HalfSpace, ProximityProperties, Sphere
from pydrake.math import RigidTransform
from pydrake.multibody.math import SpatialForce
from pydrake.multibody.plant import (
    AddMultibodyPlantSceneGraph,
    ContactModel,
    CoulombFriction,
    DiscreteContactApproximation,
    ExternallyAppliedSpatialForce,
)
from pydrake.multibody.tree import RotationalInertia, SpatialInertia
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder
from pydrake.systems.primitives import ConstantValueSource

VERSION = version("drake")
logging.getLogger("drake").setLevel(logging.ERROR)  # it warns of half spaces and deformable bodies
TIP = 1e-3  # radius of the spheres at a box's corners [m]


class DrakeSimulation:
    """A scene in Drake.

    Args:
        scene: scene to build.
        period: T [s].
        approximation: of Drake's discrete contact.
        corners: boxes are spheres at their corners.
    """

    def __init__(
        self, scene: Scene, period: float, approximation: DiscreteContactApproximation, corners: bool = False
    ) -> None:
        self._scene, self._period, self._steps = scene, period, 0
        builder = DiagramBuilder()
        plant, _ = AddMultibodyPlantSceneGraph(builder, period)
        plant.set_discrete_contact_approximation(approximation)
        plant.set_contact_model(ContactModel.kPoint)
        plant.set_sap_near_rigid_threshold(0.0)
        plant.mutable_gravity_field().set_gravity_vector([0, 0, -GRAVITY])
        c = scene.contact
        surface = ProximityProperties()
        friction = CoulombFriction(c.friction, c.friction)
        AddContactMaterial(c.dissipation, 2.0 * c.stiffness, friction, surface)
        surface.AddProperty("material", "relaxation_time", 0.5 * c.relaxation_time)
        for k, (point, normal) in enumerate(scene.planes):
            pose = HalfSpace.MakePose(normal, point)
            plant.RegisterCollisionGeometry(plant.world_body(), pose, HalfSpace(), f"plane {k}", surface)
        self._bodies, forces = [], []
        for k, item in enumerate(scene.items):
            inertia = SpatialInertia.MakeFromCentralInertia(item.mass, [0, 0, 0], RotationalInertia(*item.moments))
            body = plant.AddRigidBody(f"item {k}", inertia)
            for j, (pose, shape) in enumerate(shapes(item, corners)):
                plant.RegisterCollisionGeometry(body, pose, shape, f"item {k}.{j}", surface)
            if item.force.any():
                force = ExternallyAppliedSpatialForce()
                force.body_index, force.F_Bq_W = body.index(), SpatialForce([0, 0, 0], item.force)
                forces.append(force)
            self._bodies.append(body)
        plant.Finalize()
        if forces:
            source = builder.AddSystem(ConstantValueSource(Value(forces)))
            builder.Connect(source.get_output_port(), plant.get_applied_spatial_force_input_port())
        self._plant = plant
        self._simulator = Simulator(builder.Build())
        self._context = plant.GetMyContextFromRoot(self._simulator.get_mutable_context())
        for body, item in zip(self._bodies, scene.items, strict=True):
            pose = RigidTransform(Quaternion(np.roll(item.orientation, 1)), item.position)
            plant.SetFreeBodyPose(self._context, body, pose)
        self._simulator.Initialize()

    def step(self) -> None:
        self._steps += 1
        self._simulator.AdvanceTo(self._steps * self._period)

    def poses(self) -> np.ndarray:
        """Position and quaternion (x, y, z, w) of the items (n, 7)."""
        rows = []
        for body in self._bodies:
            pose = self._plant.EvalBodyPoseInWorld(self._context, body)
            rows.append([*pose.translation(), *np.roll(pose.rotation().ToQuaternion().wxyz(), -1)])
        return np.array(rows)

    def _twists(self) -> np.ndarray:
        twists = [self._plant.EvalBodySpatialVelocityInWorld(self._context, body) for body in self._bodies]
        return np.array([[*twist.translational(), *twist.rotational()] for twist in twists])

    def residual(self) -> float:
        """Computes the residual of the momentum of one further step."""
        before, centre = self._twists(), self.poses()[:, :3]
        self.step()
        impulse = np.zeros((len(self._bodies), 6))
        number = {int(body.index()): k for k, body in enumerate(self._bodies)}
        results = self._plant.get_contact_results_output_port().Eval(self._context)
        for k in range(results.num_point_pair_contacts()):
            info = results.point_pair_contact_info(k)
            for index, sign in ((info.bodyA_index(), -1.0), (info.bodyB_index(), 1.0)):
                i = number.get(int(index))
                if i is not None:
                    force = sign * self._period * info.contact_force()
                    impulse[i, :3] += force
                    impulse[i, 3:] += np.cross(info.contact_point() - centre[i], force)
        return self._scene.residual(before, self._twists(), impulse, self._period)

    def counts(self) -> tuple[float, float]:
        """Contacts of the last step; Drake does not say how many Newton steps there were."""
        results = self._plant.get_contact_results_output_port().Eval(self._context)
        return results.num_point_pair_contacts(), np.nan


def shapes(item: Item, corners: bool) -> list[tuple[RigidTransform, object]]:
    """Poses and shapes of an item's geometries."""
    if item.shape == "sphere":
        return [(RigidTransform(), Sphere(float(item.half[0])))]
    if not corners:
        return [(RigidTransform(), Box(*(2.0 * item.half)))]
    places = [np.array(signs) * (item.half - TIP) for signs in product((-1.0, 1.0), repeat=3)]
    return [(RigidTransform(place), Sphere(TIP)) for place in places]


def models() -> list[tuple[str, Callable[[Scene, float], DrakeSimulation]]]:
    """Words and a maker of each variant."""
    chosen = DiscreteContactApproximation.kLagged, DiscreteContactApproximation.kSap
    return [
        (words, lambda scene, period, a=a: DrakeSimulation(scene, period, a))
        for words, a in zip(("Lagged", "SAP"), chosen, strict=True)
    ]


def creep_models() -> list[tuple[str, Callable[[Scene, float], DrakeSimulation]]]:
    """The same for the table of creep."""
    kinds = DiscreteContactApproximation
    chosen = {"Lagged": kinds.kLagged, "Similar": kinds.kSimilar, "SAP": kinds.kSap}
    return [
        (words, lambda scene, period, a=a: DrakeSimulation(scene, period, a, corners=True))
        for words, a in chosen.items()
    ]
