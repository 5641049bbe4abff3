"""The finger with its gears, worms and clutch in Drake: the same URDF files and the same meshes.

Drake makes the pressure inside compliant tetrahedra itself, from the distance to the surface, as this suite does; it is
given the largest pressure.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from application_scenes import gear_figures
from drake_scene import DrakeSimulation, surface, tetrahedra, triangles
from pydrake.common.eigen_geometry import Quaternion
from pydrake.geometry import CollisionFilterDeclaration, GeometrySet
from pydrake.math import RigidTransform
from pydrake.multibody.plant import ContactModel
from pydrake.systems.primitives import TrajectorySource
from pydrake.trajectories import PiecewisePolynomial

from convex_contact import World
from convex_contact.model.pressure_fields import PressureField
from convex_contact.scenes import barrett_finger as scene
from convex_contact.scenes.barrett_finger import (
    DISTAL_SHAFT,
    ROTOR,
    SHAFT_DISTANCE,
    THREAD_LEAD,
    WORM_RADIUS,
    Finger,
)

_DATA = Path(scene.__file__).with_name("data")
#: of the motor's controller, which has no position term here; Drake wants one, N m/rad
_LEAST_GAIN = 1e-12


class DrakeGears(DrakeSimulation):
    """All seven degrees of freedom, with thread and pulley as couplers; the obstacle, which is not met, is left out."""

    def __init__(self, finger: Finger, period: float, approximation: str) -> None:
        super().__init__(period, approximation, ContactModel.kHydroelastic, 0.0)
        plant, self._finger = self.plant, finger
        x, y = finger.motor_position
        trees = {
            "motor": self.add_urdf(_DATA / "shaft.urdf", (x, y, 0.0)),
            "proximal": self.add_urdf(_DATA / "threaded_shaft.urdf"),
            "distal": self.add_urdf(_DATA / "shaft.urdf", (0.0, SHAFT_DISTANCE, 0.0)),
            "finger": self.add_urdf(
                _DATA / "worm_driven_finger.urdf", (WORM_RADIUS + finger.wheel.pitch_radius, 0.0, 0.0)
            ),
        }
        self._trees = trees
        self.actuate(trees["motor"], "turn", _LEAST_GAIN, finger.motor_gain, finger.loading_effort, ROTOR)
        self.give_armature(trees["distal"], "turn", DISTAL_SHAFT)
        for joint in ("proximal", "wheel"):
            plant.GetJointByName(joint, trees["finger"]).set_default_damping(finger.joint_damping)
        for tree, joint, other, ratio in (
            ("proximal", "slide", "wind", -THREAD_LEAD / (2.0 * np.pi)),
            ("finger", "distal", "wheel", 1.0),
        ):
            joints = (plant.GetJointByName(name, trees[tree]) for name in (joint, other))
            plant.AddCouplerConstraint(*joints, ratio)
        world = finger.world()
        self._add_meshes(world)
        self.finish()
        speed = finger.motor_speed
        wanted = np.array([[0.0, 0.0, 0.0], [-speed, speed, speed]])
        times = [0.0, finger.loading_time, 1e3]
        source = self.builder.AddSystem(TrajectorySource(PiecewisePolynomial.ZeroOrderHold(times, wanted)))
        self.builder.Connect(source.get_output_port(), plant.get_desired_state_input_port(trees["motor"]))
        self.start()
        begin = float(world.trees[3].q[1])
        for joint in ("wheel", "distal"):
            self.place(trees["finger"], joint, begin)

    def _add_meshes(self, world: World) -> None:
        """The meshes of the world's bodies, and the pairs that may touch."""
        finger, plant = self._finger, self.plant
        frictions = {
            "motor/shaft": [0.0],
            "proximal/gear": [0.0, finger.clutch_friction],
            "distal/shaft": [0.0, finger.worm_friction],
            "proximal/worm": [finger.worm_friction, finger.clutch_friction],
            "finger/proximal": [finger.worm_friction],
            "finger/distal_wheel": [finger.worm_friction],
        }
        made: list[tuple[str, Any, bool]] = []
        for name, numbers in frictions.items():
            tree, link = name.split("/")
            body = plant.GetBodyByName(link, self._trees[tree])
            shapes = [g for g in world.bodies[world.number(name)].geometries if g.mesh is not None]
            for k, (geometry, friction) in enumerate(zip(shapes, numbers, strict=True)):
                mesh, place = geometry.mesh, geometry.placement
                words = f"{tree} {link} {k}"
                if isinstance(mesh, PressureField):
                    shape, modulus = tetrahedra(mesh.vertices, mesh.tetrahedra, words), float(mesh.pressure.max())
                else:
                    shape, modulus = triangles(mesh.vertices, mesh.triangles, words), np.inf
                pose = RigidTransform(Quaternion(np.roll(place.orientation, 1)), place.position)
                properties = surface(finger.dissipation, friction, modulus=modulus)
                number = plant.RegisterCollisionGeometry(body, pose, shape, words, properties)
                made.append((name, number, np.isfinite(modulus)))
        meeting = {frozenset(world.bodies[i].name for i in pair) for pair in world.pair_laws}
        filters = self.scene_graph.collision_filter_manager()
        for i, (a, one, soft) in enumerate(made):
            for b, other, yields in made[:i]:
                if frozenset((a, b)) not in meeting or not (soft or yields):
                    sets = GeometrySet(one), GeometrySet(other)
                    filters.Apply(CollisionFilterDeclaration().ExcludeBetween(*sets))

    def figures(self) -> list[str]:
        joints = (("motor", "turn"), ("finger", "proximal"), ("proximal", "slide"))
        return gear_figures(*(self.coordinate(self._trees[tree], joint) for tree, joint in joints), self._finger)
