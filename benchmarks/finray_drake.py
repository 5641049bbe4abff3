"""The pushed FinRay finger in Drake: the same tetrahedra, material and motor.

Drake's surface triangles meet the rod's pressure field, in one contact for each polygon.
"""

from __future__ import annotations

import numpy as np
from application_scenes import PUSHER, PushedFinger
from drake_scene import DrakeSimulation, surface, surface_elements, tetrahedra
from pydrake.geometry import Box, GeometryInstance
from pydrake.math import RigidTransform
from pydrake.multibody.fem import DeformableBodyConfig, MaterialModel
from pydrake.multibody.plant import ContactModel
from pydrake.systems.primitives import ConstantVectorSource

#: of the rod, Pa; resolution of its mesh, m. Ten times the modulus chatters in Drake at steps of 10 ms with Lagged:
#: its contacts of deformable bodies do not dissipate
MODULUS, RESOLUTION = 1e6, 2e-3


class DrakeFinger(DrakeSimulation):
    """Three constraints hold each vertex of the base at the world."""

    def __init__(self, scene: PushedFinger, period: float, approximation: str) -> None:
        super().__init__(period, approximation, ContactModel.kHydroelastic)
        plant, mesh, e = self.plant, scene.mesh, scene.elasticity
        hard = surface_elements(
            compliant=True, hydroelastic_modulus=MODULUS, mesh_resolution_hint=RESOLUTION, mu_static=scene.friction,
            mu_dynamic=scene.friction,
        )  # fmt: skip
        rod = self._rod = self.add_urdf(PUSHER, scene.start, hard)
        self.actuate(rod, "slide", scene.gain, 0.0, scene.force)
        material = DeformableBodyConfig()
        material.set_youngs_modulus(e.modulus)
        material.set_poissons_ratio(e.poisson_ratio)
        material.set_mass_density(e.density)
        material.set_stiffness_damping_coefficient(e.damping)
        material.set_mass_damping_coefficient(0.0)
        material.set_material_model(MaterialModel.kLinearCorotated)
        shape = GeometryInstance(RigidTransform(), tetrahedra(mesh.vertices, mesh.tetrahedra, "finger"), "finger")
        shape.set_proximity_properties(surface(0.0, scene.friction))
        self._model = plant.mutable_deformable_model()
        self._body = self._model.RegisterDeformableBody(shape, material, 1.0)
        held, identity = Box(1e-6, 1.0, 1.0), RigidTransform()
        self._model.AddFixedConstraint(self._body, plant.world_body(), identity, held, identity)
        self.finish()
        wanted = self.builder.AddSystem(ConstantVectorSource([scene.target, 0.0]))
        self.builder.Connect(wanted.get_output_port(), plant.get_desired_state_input_port(rod))
        self.start()
        self._scene = scene

    def figures(self) -> list[str]:
        positions = np.asarray(self._model.GetPositions(self.context, self._body))
        return self._scene.figures(positions.reshape(3, -1).T)
