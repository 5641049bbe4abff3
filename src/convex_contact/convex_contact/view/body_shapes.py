"""One simple shape for each body, for viewers that support only these."""

from __future__ import annotations

import numpy as np

from convex_contact.model.shapes import Box, Capsule, Cylinder, HalfSpace, Sphere
from convex_contact.model.world import Body


def simple_shape(body: Body) -> tuple[str, tuple[float, float, float]]:
    """Returns the shape of a body: its own if it is a single primitive in the body's frame, else a bounding box.

    A body with a half space, which has the body's z axis as its normal, is a half space.

    Returns:
        "sphere" (radius, 0, 0), "box" (edges), "cylinder" or "capsule" (radius, length, 0), or "half_space" (0, 0, 0);
        all in [m]. The bounding box is centred at the origin of the body's frame.
    """
    geometry = body.geometries[0] if len(body.geometries) == 1 else None
    if geometry is not None and not geometry.placement.position.any() and geometry.placement.orientation[3] == 1.0:
        shape = geometry.shape
        if isinstance(shape, Sphere):
            return "sphere", (shape.radius, 0.0, 0.0)
        if isinstance(shape, Box):
            return "box", shape.size
        if isinstance(shape, Cylinder | Capsule):
            kind = "cylinder" if isinstance(shape, Cylinder) else "capsule"
            return kind, (shape.base_radius, shape.length, 0.0)
        if isinstance(shape, HalfSpace):
            return "half_space", (0.0, 0.0, 0.0)
    half = np.zeros(3)
    for g in body.geometries:
        if isinstance(g.shape, HalfSpace):
            return "half_space", (0.0, 0.0, 0.0)
        reach = np.abs(g.placement.rotation) @ g.shape.extent
        half = np.maximum(half, np.abs(g.placement.position + g.placement.rotation @ g.shape.center) + reach)
    x, y, z = (2.0 * half).tolist()
    return "box", (x, y, z)
