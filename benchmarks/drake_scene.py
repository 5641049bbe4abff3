"""Scenes of `bench_applications` in Drake: what all of them need."""

from __future__ import annotations

import logging
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from pydrake.common import MemoryFile
from pydrake.geometry import (
    AddCompliantHydroelasticProperties,
    AddContactMaterial,
    AddRigidHydroelasticProperties,
    InMemoryMesh,
    Mesh,
    MeshSource,
    ProximityProperties,
)
from pydrake.math import RigidTransform
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import (
    AddMultibodyPlantSceneGraph,
    ContactModel,
    CoulombFriction,
    DiscreteContactApproximation,
)
from pydrake.multibody.tree import PdControllerGains
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

VERSION = version("drake")
logging.getLogger("drake").setLevel(logging.ERROR)


class DrakeSimulation:
    """A discrete plant: a scene adds to it, calls `finish`, sets the state, and calls `start`.

    Args:
        period: dt, s.
        approximation: "lagged", "similar" or "sap".
        contact: model of contact.
        gravity: m/s^2, downwards.
    """

    def __init__(self, period: float, approximation: str, contact: ContactModel, gravity: float = 9.81) -> None:
        self.builder = DiagramBuilder()
        self.plant, self.scene_graph = AddMultibodyPlantSceneGraph(self.builder, period)
        kind = getattr(DiscreteContactApproximation, f"k{approximation.title()}")
        self.plant.set_discrete_contact_approximation(kind)
        self.plant.set_contact_model(contact)
        self.plant.set_sap_near_rigid_threshold(0.0)
        self.plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, -gravity])
        self._period, self._steps = period, 0

    def add_urdf(self, path: Path, position: Any = (0.0, 0.0, 0.0), surface: str = "") -> Any:
        """Number of the tree of a URDF file, its root fixed to the world.

        Args:
            path: the file.
            position: of the root (3,), m.
            surface: elements of `surface_elements`, for all its shapes.
        """
        parser = Parser(plant=self.plant)
        parser.SetAutoRenaming(True)
        text = path.read_text().replace("</collision>", f"{surface}</collision>")
        (tree,) = parser.AddModelsFromString(text, "urdf")
        root = self.plant.get_body(self.plant.GetBodyIndices(tree)[0])
        self.plant.WeldFrames(self.plant.world_frame(), root.body_frame(), RigidTransform(np.asarray(position)))
        return tree

    def actuate(self, tree: Any, joint: str, kp: float, kd: float, limit: float = np.inf, armature: float = 0.0) -> Any:
        """A motor with a PD controller; kp may not vanish in Drake."""
        motor = self.plant.AddJointActuator(f"{joint} motor", self.plant.GetJointByName(joint, tree), limit)
        motor.set_controller_gains(PdControllerGains(p=kp, d=kd))
        self._give(motor, armature)
        return motor

    def give_armature(self, tree: Any, joint: str, armature: float) -> None:
        """Inertia of a rotor at a joint, kg or kg m^2."""
        self._give(self.plant.AddJointActuator(f"{joint} rotor", self.plant.GetJointByName(joint, tree)), armature)

    def _give(self, motor: Any, armature: float) -> None:
        motor.set_default_gear_ratio(1.0)
        motor.set_default_rotor_inertia(armature)

    def finish(self) -> None:
        """Nothing more is added."""
        self.plant.Finalize()

    def start(self) -> None:
        """Builds the diagram, with the plant's default state."""
        self.simulator = Simulator(self.builder.Build())
        self.context = self.plant.GetMyContextFromRoot(self.simulator.get_mutable_context())

    def step(self) -> None:
        self._steps += 1
        self.simulator.AdvanceTo(self._steps * self._period)

    @property
    def time(self) -> float:
        """s."""
        return self._steps * self._period

    def place(self, tree: Any, joint: str, q: float, v: float = 0.0) -> None:
        """Sets a joint's coordinate and velocity."""
        found = self.plant.GetJointByName(joint, tree)
        state = self.plant.GetPositionsAndVelocities(self.context)
        state[found.position_start()] = q
        state[self.plant.num_positions() + found.velocity_start()] = v
        self.plant.SetPositionsAndVelocities(self.context, state)

    def coordinate(self, tree: Any, joint: str) -> float:
        """Returns the coordinate of a joint, m or rad."""
        found = self.plant.GetJointByName(joint, tree)
        return float(self.plant.GetPositions(self.context)[found.position_start()])


def surface(
    dissipation: float = 0.0,
    friction: float = 0.0,
    stiffness: float | None = None,
    relaxation_time: float = 0.0,
    modulus: float | None = None,
    resolution: float = 1.0,
) -> ProximityProperties:
    """Makes the contact properties of one geometry.

    Args:
        dissipation: s/m.
        friction: -.
        stiffness: of its contacts in points, N/m.
        relaxation_time: of SAP, s.
        modulus: hydroelastic, Pa; infinite: rigid; None: none.
        resolution: of a mesh that Drake makes, m.
    """
    made = ProximityProperties()
    if modulus is not None:
        if np.isinf(modulus):
            AddRigidHydroelasticProperties(resolution, made)
        else:
            AddCompliantHydroelasticProperties(resolution, modulus, made)
    AddContactMaterial(dissipation, stiffness, CoulombFriction(friction, friction), made)
    made.AddProperty("material", "relaxation_time", relaxation_time)
    return made


def surface_elements(compliant: bool = False, **numbers: float) -> str:
    """Properties of the shapes of a URDF file, by Drake's names for its elements."""
    inside = "".join(f'<drake:{name} value="{value!r}"/>' for name, value in numbers.items())
    inside += "<drake:compliant_hydroelastic/>" if compliant else ""
    return f"<drake:proximity_properties>{inside}</drake:proximity_properties>"


def tetrahedra(vertices: np.ndarray, cells: np.ndarray, name: str) -> Mesh:
    """A shape of tetrahedra (m, 4) with vertices (n, 3), m, as the text of a VTK file."""
    lines = ["# vtk DataFile Version 3.0", name, "ASCII", "DATASET UNSTRUCTURED_GRID", f"POINTS {len(vertices)} double"]
    lines += [f"{x!r} {y!r} {z!r}" for x, y, z in vertices.tolist()]
    lines += [f"CELLS {len(cells)} {5 * len(cells)}", *(f"4 {a} {b} {c} {d}" for a, b, c, d in cells.tolist())]
    lines += [f"CELL_TYPES {len(cells)}", *(["10"] * len(cells)), ""]
    return _mesh("\n".join(lines), ".vtk", name)


def triangles(vertices: np.ndarray, faces: np.ndarray, name: str) -> Mesh:
    """A shape of triangles (m, 3) with vertices (n, 3), m, as the text of an OBJ file."""
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in vertices.tolist()]
    lines += [f"f {a} {b} {c}" for a, b, c in (faces + 1).tolist()]
    return _mesh("\n".join([*lines, ""]), ".obj", name)


def _mesh(text: str, extension: str, name: str) -> Mesh:
    return Mesh(MeshSource(InMemoryMesh(mesh_file=MemoryFile(text, extension, name))), 1.0)
