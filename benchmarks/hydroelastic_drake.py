"""A compliant body on a rigid half space in Drake, with polygons as faces."""

from __future__ import annotations

import numpy as np
from application_scenes import Patch
from drake_scene import DrakeSimulation, surface
from pydrake.geometry import Box, Cylinder, HalfSpace, Sphere
from pydrake.math import RigidTransform
from pydrake.multibody.math import SpatialVelocity
from pydrake.multibody.plant import ContactModel
from pydrake.multibody.tree import SpatialInertia, UnitInertia

_SHAPES = {"sphere": Sphere, "box": Box, "cylinder": Cylinder}
_INERTIAS = {"sphere": UnitInertia.SolidSphere, "box": UnitInertia.SolidBox}


class DrakePatch(DrakeSimulation):
    """The same shape, modulus, resolution, dissipation and friction; Drake makes its own mesh."""

    def __init__(self, patch: Patch, period: float, approximation: str) -> None:
        super().__init__(period, approximation, ContactModel.kHydroelastic)
        plant, numbers = self.plant, (patch.dissipation, patch.friction, None, 0.5 * patch.relaxation_time)
        floor, soft = surface(*numbers, np.inf), surface(*numbers, patch.modulus, patch.resolution)
        plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "floor", floor)
        if patch.shape == "cylinder":
            unit = UnitInertia.SolidCylinder(*patch.sizes, [0.0, 0.0, 1.0])
        else:
            unit = _INERTIAS[patch.shape](*patch.sizes)
        self._body = plant.AddRigidBody("body", SpatialInertia(patch.mass, np.zeros(3), unit))
        plant.RegisterCollisionGeometry(self._body, RigidTransform(), _SHAPES[patch.shape](*patch.sizes), "body", soft)
        self.finish()
        self.start()
        plant.SetFreeBodyPose(self.context, self._body, RigidTransform([0.0, 0.0, patch.height]))
        plant.SetFreeBodySpatialVelocity(self.context, self._body, SpatialVelocity(patch.spin, patch.velocity))
        self._height = patch.height

    def figures(self) -> list[str]:
        results = self.plant.get_contact_results_output_port().Eval(self.context)
        count = results.num_hydroelastic_contacts()
        faces = sum(results.hydroelastic_contact_info(i).contact_surface().num_faces() for i in range(count))
        height = self.plant.EvalBodyPoseInWorld(self.context, self._body).translation()[2]
        return [f"{faces}", f"{1e3 * (self._height - height):.4f}"]
