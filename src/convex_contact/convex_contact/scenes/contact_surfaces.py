"""Closed forms of the world of contact surfaces: bodies at rest, sliding and spinning in hydroelastic contact.

The pressure field is that of Elandt et al. 2019, its contacts those of Masterjohn et al. 2022 (one per face). The world
has the bodies floor, ball, block, disk, pad and lid (`config/hydroelastic_patch/worlds/`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from convex_contact.model.pressure_fields import Hydroelastic
from convex_contact.model.world import Geometry, World, WorldError
from convex_contact.scenes import closed_forms


@dataclass(frozen=True)
class ClosedForms:
    """Closed-form results for the bodies of the world.

    Attributes:
        ball_depth: penetration of the ball on the floor at rest [m].
        lid_depth: penetration of the lid on the pad at rest [m].
        polyhedron: largest depth of the ball's faces below the sphere [m].
        sliding: deceleration of the block [m/s^2].
        spinning: deceleration of the disk [rad/s^2].
    """

    ball_depth: float
    lid_depth: float
    polyhedron: float
    sliding: float
    spinning: float


def compliant_geometry(world: World, name: str) -> tuple[Geometry, Hydroelastic]:
    """Returns the geometry of a compliant body, and the parameters of its pressure field.

    Raises:
        WorldError: the body is not compliant.
    """
    geometry = world.bodies[world.number(name)].geometries[0]
    if not isinstance(geometry.hydroelastic, Hydroelastic):
        raise WorldError(f"{name}: expected a body with a modulus and a resolution")
    return geometry, geometry.hydroelastic


def touching_heights(world: World) -> dict[str, float]:
    """Returns the heights of ball and lid at which they begin to touch [m]."""
    pad = world.bodies[world.number("pad")]
    top = float(pad.placement.position[2] + pad.geometries[0].shape.extent[2])
    return {
        "ball": float(compliant_geometry(world, "ball")[0].shape.parameters[0]),
        "lid": top + float(compliant_geometry(world, "lid")[0].shape.extent[2]),
    }


def closed_forms_of(world: World) -> ClosedForms:
    """Computes the closed forms from the numbers of a world.

    Raises:
        WorldError: a body is missing, or not compliant.
    """
    g = float(np.linalg.norm(world.gravity))
    weight = {name: g * world.bodies[world.number(name)].mass for name in ("ball", "lid")}
    ball, soft = compliant_geometry(world, "ball")
    radius = float(ball.shape.parameters[0])
    gradients = {}
    for name in ("lid", "pad"):
        geometry, meets = compliant_geometry(world, name)
        gradients[name] = meets.modulus / float(geometry.shape.extent.min())
    # the depth is divided as the gradients are; the lid's pressure grows over its fraction of the depth
    fraction = gradients["pad"] / (gradients["lid"] + gradients["pad"])
    half = compliant_geometry(world, "lid")[0].shape.extent
    mu = {}
    floor = world.bodies[world.number("floor")].geometries[0]
    for name in ("block", "disk"):
        geometry = compliant_geometry(world, name)[0]
        mu[name] = world.law(floor, geometry, world.number("floor"), world.number(name)).friction
    disk = float(compliant_geometry(world, "disk")[0].shape.parameters[0])
    return ClosedForms(
        ball_depth=closed_forms.depth_of_sphere(soft.modulus, radius, weight["ball"]),
        lid_depth=closed_forms.depth_of_box(gradients["lid"], half, weight["lid"]) / fraction,
        polyhedron=closed_forms.facet_depth(soft.resolution, radius),
        sliding=closed_forms.sliding_deceleration(mu["block"], g),
        spinning=closed_forms.spinning_deceleration(mu["disk"], g, disk),
    )
