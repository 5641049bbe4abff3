"""The gripper that holds a rod in Drake: the same URDF file, nine spheres on each pad, point contact."""

from __future__ import annotations

import math

import numpy as np
from application_scenes import CIRCLE, HAND_DAMPING, HAND_GAIN, finish
from drake_scene import DrakeSimulation, surface, surface_elements
from pydrake.geometry import Box, CollisionFilterDeclaration
from pydrake.math import RigidTransform
from pydrake.multibody.math import SpatialVelocity
from pydrake.multibody.plant import ContactModel
from pydrake.multibody.tree import SpatialInertia, default_model_instance
from pydrake.systems.primitives import ConstantVectorSource, Multiplexer, Sine

from convex_contact.scenes.grasp import DERIVATIVE_GAIN, GRAVITY, GRIPPER, PROPORTIONAL_GAIN, ROTOR, Grasp


class DrakeGrasp(DrakeSimulation):
    """Joints, motors, effort limit, armatures, coupler and contact elements are the same."""

    def __init__(self, grasp: Grasp, period: float, approximation: str) -> None:
        super().__init__(period, approximation, ContactModel.kPoint, GRAVITY)
        plant, self._grasp = self.plant, grasp
        pads = surface_elements(
            point_contact_stiffness=2.0 * grasp.stiffness, hunt_crossley_dissipation=grasp.dissipation,
            relaxation_time=0.5 * grasp.relaxation_time, mu_static=grasp.friction, mu_dynamic=grasp.friction,
        )  # fmt: skip
        hand = self.add_urdf(GRIPPER, surface=pads)
        for joint, _ in CIRCLE:
            self.actuate(hand, joint, HAND_GAIN, HAND_DAMPING)
        self.actuate(hand, "left", PROPORTIONAL_GAIN, DERIVATIVE_GAIN, grasp.effort_limit, ROTOR)
        # all motors of a tree have controllers in Drake; this one is here for its rotor
        self.actuate(hand, "right", 1e-9, 0.0, armature=ROTOR)
        plant.AddCouplerConstraint(plant.GetJointByName("right", hand), plant.GetJointByName("left", hand), 1.0)
        size = grasp.width, grasp.width, grasp.length
        self._rod = plant.AddRigidBody(
            "rod", default_model_instance(), SpatialInertia.SolidBoxWithMass(grasp.mass, *size)
        )
        material = surface(grasp.dissipation, grasp.friction, 2.0 * grasp.stiffness, 0.5 * grasp.relaxation_time)
        plant.RegisterCollisionGeometry(self._rod, RigidTransform(), Box(*size), "rod", material)
        links = [plant.get_body(index) for index in plant.GetBodyIndices(hand)]
        own = CollisionFilterDeclaration().ExcludeWithin(plant.CollectRegisteredGeometries(links))
        self.scene_graph.collision_filter_manager().Apply(own)
        self.finish()
        opening, speed = 0.5 * grasp.width - grasp.overlap, math.tau * grasp.frequency * grasp.circle_radius
        self._lead(hand, opening - 2.0 * grasp.effort_limit / PROPORTIONAL_GAIN)
        self.start()
        for joint, q, v in (("slide_x", grasp.circle_radius, 0.0), ("slide_y", 0.0, speed), ("left", opening, 0.0),
                            ("right", opening, 0.0)):  # fmt: skip
            self.place(hand, joint, q, v)
        plant.SetFreeBodyPose(self.context, self._rod, RigidTransform([grasp.circle_radius, 0.0, -grasp.arm]))
        plant.SetFreeBodySpatialVelocity(self.context, self._rod, SpatialVelocity(np.zeros(3), [0.0, speed, 0.0]))

    def _lead(self, hand: object, closed: float) -> None:
        """Desired positions and velocities of slide_x, slide_y, left and right."""
        grasp, add = self._grasp, self.builder.AddSystem
        phases = [phase for _, phase in CIRCLE]
        wanted = add(Sine([grasp.circle_radius] * 2, [math.tau * grasp.frequency] * 2, phases, True))
        places, rest = add(ConstantVectorSource([closed, 0.0])), add(ConstantVectorSource([0.0, 0.0]))
        joined = add(Multiplexer([2, 2, 2, 2]))
        ports = [wanted.get_output_port(0), places.get_output_port(), wanted.get_output_port(1), rest.get_output_port()]
        for k, port in enumerate(ports):
            self.builder.Connect(port, joined.get_input_port(k))
        self.builder.Connect(joined.get_output_port(), self.plant.get_desired_state_input_port(hand))

    def figures(self) -> list[str]:
        def sunk() -> float:
            height = self.plant.EvalBodyPoseInWorld(self.context, self._rod).translation()[2]
            return float(-self._grasp.arm - height)

        return finish(self, sunk, self.time, self._period)
