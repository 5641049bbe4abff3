"""Named NumPy arrays that compiled kernels receive as one argument.

Numba unpacks every array argument of a call, about 60 ns each; a world and its contacts have eighty. A structure that
is unpacked once makes a call cost less than a microsecond.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.experimental import structref

from convex_contact.solver.borrowed import Borrowed, Record

#: The arrays of :class:`WorldArrays`, see :mod:`convex_contact.simulation.dynamics`.
WORLD_FIELDS = (
    "settings", "counters",
    "q", "v", "v_star", "effort", "gravity",
    "tree_kind", "tree_q", "tree_v", "tree_body", "mass", "inertia", "inertia_inverse", "A",
    "body_tree", "body_pose", "body_twist", "body_wrench", "body_radius", "body_margin", "body_speed", "body_link",
    "link_jacobian",
    "geometry_kind", "geometry_body", "geometry_class", "geometry_local", "geometry_pose", "geometry_size",
    "geometry_center", "geometry_extent", "geometry_radius", "geometry_bounds", "geometry_shape", "hull_range",
    "hull_vertices", "finite", "large", "planes", "disabled_start", "disabled_other", "law", "context",
    "sweep", "pair", "pair_reach", "pair_fill", "pair_start", "pair_second", "pair_sorted", "native_pair",
    "native_reach", "native_start",
    "native_normal", "native_point", "native_gap",
    "geometry_mesh", "mesh_root", "mesh_element", "mesh_flattest", "box_bounds", "box_child", "element_vertex",
    "element_plane", "element_field", "box_stack", "polygon", "moved_plane",
)  # fmt: skip

#: The arrays of :class:`ContactArrays`, see :mod:`convex_contact.collision.contacts`.
CONTACT_FIELDS = (
    "count", "geometry", "feature", "body", "tree", "point", "frame", "phi0", "J", "bias", "v_n0", "stiffness",
    "dissipation", "relaxation_time", "friction", "area", "anchor", "previous", "taken",
)  # fmt: skip


@structref.register
class WorldType(types.StructRef):
    """Numba's type of :class:`WorldRecord`."""

    def preprocess_fields(self, fields: Any) -> Any:
        return tuple((name, types.unliteral(kind)) for name, kind in fields)


@structref.register
class ContactType(types.StructRef):
    """Numba's type of :class:`ContactRecord`."""

    def preprocess_fields(self, fields: Any) -> Any:
        return tuple((name, types.unliteral(kind)) for name, kind in fields)


class WorldRecord(Record):
    """The arrays of a world, as kernels see them."""


class ContactRecord(Record):
    """The arrays of a list of contacts, as kernels see them."""


structref.define_proxy(WorldRecord, WorldType, list(WORLD_FIELDS))
structref.define_proxy(ContactRecord, ContactType, list(CONTACT_FIELDS))


@njit(cache=True)
def _world_record(arrays: tuple[np.ndarray, ...]) -> WorldRecord:
    return WorldRecord(*arrays)


@njit(cache=True)
def _contact_record(arrays: tuple[np.ndarray, ...]) -> ContactRecord:
    return ContactRecord(*arrays)


class _Arrays:
    """Arrays by name, and the record of them for kernels, made anew after an array was replaced."""

    _fields: tuple[str, ...]

    def __init__(self, **arrays: np.ndarray) -> None:
        if set(arrays) != set(self._fields):
            raise TypeError(f"arrays: {set(arrays) ^ set(self._fields)} are too many or missing")
        self.__dict__.update(arrays)
        self._record: Any = None

    def replace(self, **arrays: np.ndarray) -> None:
        """Puts other arrays of the same kind in the place of some."""
        self.__dict__.update(arrays)
        self._record = None

    def __getattr__(self, name: str) -> np.ndarray:  # for type checkers; arrays are found before
        raise AttributeError(name)

    def _made(self) -> tuple[np.ndarray, ...]:
        return tuple(self.__dict__[name] for name in self._fields)


class WorldArrays(_Arrays):
    """The arrays of a world and its state; their meaning stands in :mod:`convex_contact.simulation.dynamics`."""

    _fields = WORLD_FIELDS

    @property
    def record(self) -> Any:
        """The argument for compiled kernels."""
        if self._record is None:
            self._record = Borrowed(_world_record(self._made()))
        return self._record


class ContactArrays(_Arrays):
    """The arrays of a list of contacts; their meaning stands in :mod:`convex_contact.collision.contacts`."""

    _fields = CONTACT_FIELDS

    @property
    def record(self) -> Any:
        """The argument for compiled kernels."""
        if self._record is None:
            self._record = Borrowed(_contact_record(self._made()))
        return self._record
