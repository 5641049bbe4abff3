"""The cube in Drake: eight small spheres at its corners against a half space, point contact, discrete."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from itertools import product

import numpy as np
from cube_toss_cases import Model, Motion, Scene, Start
from pydrake.geometry import AddContactMaterial, HalfSpace, ProximityProperties, Sphere
from pydrake.math import RigidTransform
from pydrake.multibody.plant import (
    AddMultibodyPlantSceneGraph,
    ContactModel,
    CoulombFriction,
    DiscreteContactApproximation,
)
from pydrake.multibody.tree import QuaternionFloatingJoint, RotationalInertia, SpatialInertia
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

from convex_contact.scenes.tosses import INERTIA, MASS, PERIOD

VERSION = version("drake")
#: of the corners' spheres unless it is identified [m]; they touch the cube's faces from within
RADIUS = 1e-4
#: between cubes, which are simulated together [m]
APART = 10.0


def simulate(
    x: dict[str, float],
    scene: Scene,
    starts: Sequence[Start],
    samples: int,
    substeps: int,
    *,
    approximation: DiscreteContactApproximation,
) -> list[Motion]:
    """Motions from all starts, a row per sample after the first."""
    step = PERIOD / substeps
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, step)
    plant.set_discrete_contact_approximation(approximation)
    plant.set_contact_model(ContactModel.kPoint)
    plant.mutable_gravity_field().set_gravity_vector(scene.gravity)
    material = ProximityProperties()
    AddContactMaterial(
        point_stiffness=2.0 * x["stiffness"],  # two in series
        dissipation=x.get("dissipation", 0.0),
        friction=CoulombFriction(x["friction"], x["friction"]),
        properties=material,
    )
    material.AddProperty("material", "relaxation_time", x.get("relaxation_time", 0.0) / 2.0)
    board = RigidTransform([0, 0, x["height"]])
    plant.RegisterCollisionGeometry(plant.world_body(), board, HalfSpace(), "board", material)
    center, radius, moment = [0, 0, x.get("center", 0.0)], x.get("radius", RADIUS), x.get("inertia", INERTIA)
    inertia = SpatialInertia.MakeFromCentralInertia(MASS, center, RotationalInertia(moment, moment, moment))
    reach = scene.half_width - radius
    joints = []
    for i in range(len(starts)):
        cube = plant.AddRigidBody(f"cube {i}", inertia)
        joints.append(plant.AddJoint(QuaternionFloatingJoint(f"free {i}", plant.world_frame(), cube.body_frame())))
        for j, corner in enumerate(product((-reach, reach), repeat=3)):
            place = RigidTransform(np.array(corner))
            plant.RegisterCollisionGeometry(cube, place, Sphere(radius), f"corner {j}", material)
    plant.Finalize()
    simulator = Simulator(builder.Build())
    context = plant.GetMyContextFromRoot(simulator.get_mutable_context())
    q, v = np.zeros((len(starts), 7)), np.zeros((len(starts), 6))
    for i, s in enumerate(starts):
        q[i, :4], q[i, 4:] = np.roll(s.orientation, 1), s.position + np.array([APART * i, 0, 0])
        v[i, :3], v[i, 3:] = s.angular_velocity, s.stepped(step, scene.gravity)
    order = [(j.position_start(), j.velocity_start()) for j in joints]
    assert order == [(7 * i, 6 * i) for i in range(len(starts))], "joints are in the order of the starts"
    plant.SetPositions(context, q.ravel())
    plant.SetVelocities(context, v.ravel())
    simulator.Initialize()
    rows = np.empty((samples - 1, len(starts), 7))
    for k in range(1, samples):
        simulator.AdvanceTo(k * PERIOD)
        rows[k - 1] = plant.GetPositions(context).reshape(-1, 7)
    rows[:, :, 4] -= APART * np.arange(len(starts))
    return [Motion(r[:, 4:], np.roll(r[:, :4], -1, axis=1)) for r in rows.swapaxes(0, 1)]


def models() -> list[Model]:
    """Ways to simulate, with what is to be identified of each."""
    common = {"friction": (0.08, 0.35, False), "height": (-3e-3, 2e-3, False)}
    stiffness = {"stiffness": (1e3, 10**5.5, True)}
    dissipation, relaxation = {"dissipation": (0.03, 10.0, True)}, {"relaxation_time": (1e-4, 0.1, True)}
    kinds = DiscreteContactApproximation
    return [
        Model("Drake SAP", partial(simulate, approximation=kinds.kSap), stiffness | relaxation | common, 4, 4),
        Model("Drake Lagged", partial(simulate, approximation=kinds.kLagged), stiffness | dissipation | common, 8, 4),
        Model("Drake Similar", partial(simulate, approximation=kinds.kSimilar), stiffness | dissipation | common, 4, 4),
    ]
