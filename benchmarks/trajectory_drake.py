"""The arm, the ball and the floor of the trajectory optimisation in Drake, and its derivatives of a step.

Drake differentiates its contact problem by carrying derivatives through the whole step (AutoDiffXd).
"""

from __future__ import annotations

import time

import numpy as np
from drake_scene import VERSION, DrakeSimulation, surface, surface_elements
from pydrake.autodiffutils import ExtractGradient, InitializeAutoDiff
from pydrake.geometry import HalfSpace, Sphere
from pydrake.math import RigidTransform
from pydrake.multibody.plant import ContactModel
from pydrake.multibody.tree import SpatialInertia, default_model_instance

from convex_contact.scenes import pushing_arm as scene

__all__ = ["VERSION", "DrakePush"]


class DrakePush(DrakeSimulation):
    """The same masses, lengths, limits and contacts, Lagged.

    Args:
        stiffness: combined stiffness of all pairs [N/m].
        friction: combined friction coefficient of all pairs.
    """

    def __init__(self, stiffness: float = 2e3, friction: float = 0.5) -> None:
        super().__init__(scene.PERIOD, "lagged", ContactModel.kPoint, scene.GRAVITY)
        plant = self.plant
        numbers = scene.DISSIPATION, friction, 2.0 * stiffness, 0.5 * scene.RELAXATION_TIME
        hand = surface_elements(
            point_contact_stiffness=2.0 * stiffness, hunt_crossley_dissipation=scene.DISSIPATION,
            relaxation_time=0.5 * scene.RELAXATION_TIME, mu_static=friction, mu_dynamic=friction,
        )  # fmt: skip
        self._arm = self.add_urdf(scene.ARM, (0.0, 0.0, scene.SHOULDER), hand)
        for joint in ("turn", "shoulder", "elbow"):
            plant.AddJointActuator(joint, plant.GetJointByName(joint, self._arm))
        ball = SpatialInertia.SolidSphereWithMass(scene.BALL_MASS, scene.BALL_RADIUS)
        self._ball = plant.AddRigidBody("ball", default_model_instance(), ball)
        identity, material = RigidTransform(), surface(*numbers)
        plant.RegisterCollisionGeometry(self._ball, identity, Sphere(scene.BALL_RADIUS), "ball", material)
        plant.RegisterCollisionGeometry(plant.world_body(), identity, HalfSpace(), "floor", surface(*numbers))
        plant.SetUseSampledOutputPorts(False)  # a step is then a function of the state alone
        self.finish()
        self._diagram = self.builder.Build()
        self._carrying = self._diagram.ToAutoDiffXd()
        self._context = self._carrying.CreateDefaultContext()
        self._plant = self._carrying.GetSubsystemByName(plant.get_name())
        self._own = self._plant.GetMyMutableContextFromRoot(self._context)

    def velocity_jacobian(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Derivatives of v after a step by v and inputs (9, 9 + 3), in this suite's order; those by q are made, too.

        Args:
            x: state (19,) of :class:`~convex_contact.control.actuated_world.ActuatedWorld`: joints, position,
                quaternion (x, y, z, w); joints' velocities, velocity, angular velocity.
            u: efforts (3,), N m.
        """
        q, v = x[:10], x[10:]
        there = np.concatenate([q[:3], np.roll(q[6:], 1), q[3:6], v[:3], v[6:], v[3:6], u])
        both = InitializeAutoDiff(there)[:, 0]
        self._plant.SetPositionsAndVelocities(self._own, both[:19])
        self._plant.get_actuation_input_port().FixValue(self._own, both[19:])
        after = self._plant.EvalUniquePeriodicDiscreteUpdate(self._own).get_vector(0).CopyToVector()
        rows = np.r_[0:3, 6:9, 3:6]
        return ExtractGradient(after[10:19])[rows][:, np.r_[10 + rows, 19:22]]

    def linearization(self, states: np.ndarray, inputs: np.ndarray, repetitions: int) -> tuple[float, list[np.ndarray]]:
        """Least processor time of all steps' derivatives along a motion, s, and each step's dv/d(v, u) (9, 12)."""
        spent, found = [], []
        for _ in range(repetitions):
            before = time.process_time()
            found = [self.velocity_jacobian(x, u) for x, u in zip(states[:-1], inputs, strict=True)]
            spent.append(time.process_time() - before)
        return min(spent), found
