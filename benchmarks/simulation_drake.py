"""The scenes of the simulation benchmark in Drake: discrete steps, or CENIC with an accuracy.

Drake makes one contact point per pair. A box that lies on a plane gets small spheres at its corners, which touch planes
alone; boxes on each other meet in hydroelastic surfaces. The near-rigid limit of SAP is off, so that the stiffness is
the wanted one.
"""

from __future__ import annotations

import logging
from importlib.metadata import version
from itertools import product
from typing import Any

import numpy as np
from contact_scenes import GRAVITY
from drake_scene import surface, surface_elements, triangles
from pydrake.common.eigen_geometry import Quaternion
from pydrake.common.value import Value
from pydrake.geometry import Box, CollisionFilterDeclaration, Convex, GeometrySet, HalfSpace, Sphere
from pydrake.math import RigidTransform
from pydrake.multibody.math import SpatialForce, SpatialVelocity
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import (
    AddMultibodyPlantSceneGraph,
    ContactModel,
    DiscreteContactApproximation,
    ExternallyAppliedSpatialForce,
)
from pydrake.multibody.tree import PdControllerGains, RotationalInertia, SpatialInertia
from pydrake.systems.analysis import ApplySimulatorConfig, Simulator, SimulatorConfig
from pydrake.systems.framework import DiagramBuilder
from pydrake.systems.primitives import ConstantValueSource
from scipy.spatial import ConvexHull
from simulation_measures import Observation
from simulation_scenes import SIDE, Body, Scene
from simulation_settings import Setting
from simulation_trees import Tree

TITLE = "Drake"
VERSION = version("drake")
logging.getLogger("drake").setLevel(logging.ERROR)  # it warns of half spaces
#: radius of the spheres at a box's corners [m]
TIP = 1e-3


class Simulation:
    """A scene in Drake.

    Args:
        scene: scene to build.
        setting: options: `approximation` of discrete contact, or `scheme` of integration.
    """

    def __init__(self, scene: Scene, setting: Setting) -> None:
        self._scene, self._setting, self._steps, self._time = scene, setting, 0, 0.0
        self._builder = DiagramBuilder()
        self._plant, self._scene_graph = AddMultibodyPlantSceneGraph(self._builder, setting.period or 0.0)
        plant = self._plant
        stacked = sum(body.shape == "box" for body in scene.items) > 1
        plant.set_contact_model(ContactModel.kHydroelasticWithFallback if stacked else ContactModel.kPoint)
        if setting.period is not None:
            kind = setting.options["approximation"].title()
            plant.set_discrete_contact_approximation(getattr(DiscreteContactApproximation, f"k{kind}"))
            plant.set_sap_near_rigid_threshold(0.0)
        plant.mutable_gravity_field().set_gravity_vector([0, 0, -GRAVITY])
        ground = self._surface(scene.plane_friction, np.inf if stacked else None)
        planes = [
            plant.RegisterCollisionGeometry(
                plant.world_body(), HalfSpace.MakePose(normal, point), HalfSpace(), f"plane {k}", ground
            )
            for k, (point, normal) in enumerate(scene.planes)
        ]
        self._links: list[Any] = []
        tips, boxes, forces = [], [], []
        for k, body in enumerate(scene.items):
            corners, shapes = self._add_body(k, body, stacked)
            tips += corners
            boxes += shapes if corners else []
            if body.force.any():
                force = ExternallyAppliedSpatialForce()
                force.body_index, force.F_Bq_W = self._links[-1].index(), SpatialForce([0, 0, 0], body.force)
                forces.append(force)
        trees = [self._add_tree(tree) for tree in scene.trees]
        self._exclude(tips, boxes, planes)
        plant.Finalize()
        if forces:
            source = self._builder.AddSystem(ConstantValueSource(Value(forces)))
            self._builder.Connect(source.get_output_port(), plant.get_applied_spatial_force_input_port())
        self._simulator = Simulator(self._builder.Build())
        self._context = plant.GetMyContextFromRoot(self._simulator.get_mutable_context())
        self._start(trees)

    def _surface(self, friction: float | None, modulus: float | None) -> Any:
        """Properties of a geometry; a hydroelastic modulus (Pa) is infinite for a rigid one."""
        c = self._scene.contact
        mu = c.friction if friction is None else friction
        return surface(c.dissipation, mu, 2.0 * c.stiffness, 0.5 * c.relaxation_time, modulus)

    def _add_body(self, k: int, body: Body, stacked: bool) -> tuple[list[Any], list[Any]]:
        """Adds a free body; returns the geometries at its corners, and its others."""
        plant = self._plant
        inertia = SpatialInertia.MakeFromCentralInertia(body.mass, [0, 0, 0], RotationalInertia(*body.moments))
        link = plant.AddRigidBody(f"item {k}", inertia)
        self._links.append(link)
        # pressure E at half a side below the surface: a face s^2 that gives by x bears 2 E s x, and two in series half
        # of it, which four corners of stiffness k bear elsewhere
        modulus = 4.0 * self._scene.contact.stiffness / SIDE if stacked else None
        material = self._surface(body.friction, modulus)

        def register(place: Any, shape: Any, name: str) -> Any:
            return plant.RegisterCollisionGeometry(link, RigidTransform(place), shape, f"item {k} {name}", material)

        if body.shape == "sphere":
            return [], [register([0, 0, 0], Sphere(float(body.half[0])), "ball")]
        if body.points is not None:
            faces = outward(body.points)
            return [], [register([0, 0, 0], Convex(triangles(body.points, faces, f"hull{k}").source()), "hull")]
        whole = [register([0, 0, 0], Box(*(2.0 * body.half)), "box")]
        if stacked:
            return [], whole
        signs = product((-1.0, 1.0), repeat=3)
        return [register(np.array(s) * (body.half - TIP), Sphere(TIP), f"corner {s}") for s in signs], whole

    def _add_tree(self, tree: Tree) -> Any:
        plant, c = self._plant, self._scene.contact
        parser = Parser(plant=plant)
        parser.SetAutoRenaming(True)
        material = surface_elements(
            point_contact_stiffness=2.0 * c.stiffness, hunt_crossley_dissipation=c.dissipation,
            relaxation_time=0.5 * c.relaxation_time, mu_static=c.friction, mu_dynamic=c.friction,
        )  # fmt: skip
        text = tree.urdf().replace("</collision>", f"{material}</collision>")
        (number,) = parser.AddModelsFromString(text, "urdf")
        self._links += [plant.GetBodyByName(link.name, number) for link in tree.links]
        for link in tree.moved if tree.stiffness else ():
            motor = plant.AddJointActuator(f"{link.joint} motor", plant.GetJointByName(link.joint, number))
            motor.set_controller_gains(PdControllerGains(p=tree.stiffness, d=tree.damping))
            motor.set_default_gear_ratio(1.0)
            motor.set_default_rotor_inertia(tree.armature)
        return number

    def _exclude(self, tips: list[Any], boxes: list[Any], planes: list[Any]) -> None:
        """Lets corners touch planes alone, their boxes no planes, and trees planes alone."""
        declaration = CollisionFilterDeclaration()
        if tips:
            shapes = [g for link in self._links for g in self._plant.GetCollisionGeometriesForBody(link)]
            others = GeometrySet([shape for shape in shapes if shape not in tips])
            declaration.ExcludeBetween(GeometrySet(tips), others)
            declaration.ExcludeBetween(GeometrySet(boxes), GeometrySet(planes))
        if self._scene.trees:
            declaration.ExcludeWithin(self._plant.CollectRegisteredGeometries(self._links))
        self._scene_graph.collision_filter_manager().Apply(declaration)

    def _start(self, trees: list[Any]) -> None:
        plant, context, scene = self._plant, self._context, self._scene
        for link, body in zip(self._links, scene.items, strict=False):
            pose = RigidTransform(Quaternion(np.roll(body.orientation, 1)), body.position)
            plant.SetFreeBodyPose(context, link, pose)
            plant.SetFreeBodySpatialVelocity(context, link, SpatialVelocity(np.zeros(3), body.velocity))
        for number, tree in zip(trees, scene.trees, strict=True):
            root = plant.GetBodyByName(tree.links[0].name, number)
            plant.SetFreeBodyPose(context, root, RigidTransform(tree.position))
            for link in tree.moved:
                joint = plant.GetJointByName(link.joint, number)
                joint.set_angle(context, link.angle)
                joint.set_angular_rate(context, link.speed)
            if tree.stiffness:
                order = [plant.get_joint_actuator(i).joint().name() for i in plant.GetJointActuatorIndices(number)]
                angles = {link.joint: link.angle for link in tree.moved}
                wanted = [angles[name] for name in order] + [0.0] * len(order)
                plant.get_desired_state_input_port(number).FixValue(context, wanted)
        if self._setting.accuracy is not None:
            config = SimulatorConfig(integration_scheme=self._setting.options["scheme"], max_step_size=0.01)
            config.accuracy, config.use_error_control = self._setting.accuracy, True
            ApplySimulatorConfig(config, self._simulator)
        self._simulator.Initialize()

    def step(self) -> None:
        """Makes one step."""
        self._steps += 1
        self._simulator.AdvanceTo(self._steps * self._setting.period)

    def advance(self, duration: float) -> None:
        """Makes steps that choose their lengths, for a duration (s)."""
        self._time += duration
        self._simulator.AdvanceTo(self._time)

    @property
    def steps(self) -> int:
        """Steps since the start."""
        return self._steps or int(self._simulator.get_integrator().get_num_steps_taken())

    def observe(self) -> Observation:
        """The bodies now."""
        position, orientation, velocity, spin = [], [], [], []
        for link in self._links:
            pose = self._plant.EvalBodyPoseInWorld(self._context, link)
            twist = self._plant.EvalBodySpatialVelocityInWorld(self._context, link)
            position.append(pose.translation())
            orientation.append(np.roll(pose.rotation().ToQuaternion().wxyz(), -1))
            velocity.append(twist.translational())
            spin.append(twist.rotational())
        columns = (np.array(column) for column in (position, orientation, velocity, spin))
        return Observation(float(self._simulator.get_context().get_time()), *columns)


def outward(points: np.ndarray) -> np.ndarray:
    """Triangles (m, 3) of the hull of points (n, 3), seen from outside counterclockwise."""
    faces = ConvexHull(points).simplices
    a, b, c = (points[faces[:, i]] for i in range(3))
    inside = np.einsum("fi,fi->f", np.cross(b - a, c - a), a - points.mean(axis=0)) < 0.0
    faces[inside] = faces[inside][:, ::-1]
    return np.asarray(faces)
