"""Convex contact between rigid and articulated bodies (Castro et al., "Irrotational Contact Fields")."""

from convex_contact.dynamics import BodyState, JointLimits, WorldDynamics
from convex_contact.materials import Material, PairLaw
from convex_contact.native import NativeLibraryError
from convex_contact.shapes import Box, Capsule, Cylinder, HalfSpace, Hull, Shape, Solid, Sphere
from convex_contact.world import Body, Geometry, Placement, Tree, World, WorldError

__all__ = [
    "Body",
    "BodyState",
    "Box",
    "Capsule",
    "Cylinder",
    "Geometry",
    "HalfSpace",
    "Hull",
    "JointLimits",
    "Material",
    "NativeLibraryError",
    "PairLaw",
    "Placement",
    "Shape",
    "Solid",
    "Sphere",
    "Tree",
    "World",
    "WorldDynamics",
    "WorldError",
]
