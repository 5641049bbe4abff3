"""Named NumPy arrays that compiled kernels receive as one argument.

Numba unpacks every array argument of a call, about 60 ns each; a world and its contacts have eighty. A structure that
is unpacked once makes a call cost less than a microsecond.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.experimental import structref

from convex_contact.solver.borrowed import Borrowed, Field, Record, RecordType

#: columns of `law`: k, d, tau_d, mu, mu at rest, Stribeck velocity, torsional friction, 1 if a surface has grooves
(
    LAW_STIFFNESS,
    LAW_DISSIPATION,
    LAW_RELAXATION_TIME,
    LAW_FRICTION,
    LAW_REST,
    LAW_STRIBECK,
    LAW_TORSION,
    LAW_DIRECTIONAL,
    LAW_COLUMNS,
) = range(9)

#: arrays of a world and its state: nt trees, of which the first na are articulated with nj joints, nb bodies, nl links,
#: ng geometries, nc classes of them, np pairs at most, nm meshes with ne elements in nn boxes; d is the largest number
#: of velocities of a tree
WORLD_TABLE = (
    Field("settings", "(1,)", "m", "`broad_phase.THRESHOLD`: pairs with a smaller gap are in the problem"),
    Field("counters", "(8,)", "-", "results and required sizes of a query; columns of `broad_phase`"),
    Field(
        "q",
        "(nq,)",
        "m, rad, -",
        "of trees, then of free bodies, each [centre of mass; quaternion x, y, z, w]",
    ),
    Field("v", "(nv,)", "m/s, rad/s", "velocities; of free bodies [linear; angular], world"),
    Field("v_star", "(nv,)", "m/s, rad/s", "velocities at the end of the step without contact"),
    Field("effort", "(nv,)", "N, N m", "applied forces of articulated trees"),
    Field("gravity", "(3,)", "m/s^2", ""),
    Field("tree_kind", "(nt,)", "-", "`bodies.FREE` or `ARTICULATED`"),
    Field("tree_q", "(nt + 1,)", "-", "first coordinate of a tree"),
    Field("tree_v", "(nt + 1,)", "-", "first velocity of a tree"),
    Field("tree_body", "(nt,)", "-", "body of a free tree, -1 of others"),
    Field("tree_origin", "(na, 3)", "m", "reference point of the spatial vectors of an articulated tree, world"),
    Field("tree_factor", "(d, d)", "kg, kg m^2", "L^T D L of a block of A, while v_star is found"),
    Field("drive_effort", "(nv,)", "N, N m", "joint forces of drives at the start of the step"),
    Field("joint_start", "(na + 1,)", "-", "first joint of each articulated tree; none of one without kernels"),
    Field("joint_kind", "(nj,)", "-", "kind of `tree_kernels`"),
    Field("joint_parent", "(nj,)", "-", "joint that moves the link to which a joint is fixed, -1: none"),
    Field("joint_q", "(nj,)", "-", "first coordinate of a joint"),
    Field("joint_v", "(nj,)", "-", "first velocity of a joint"),
    Field("joint_body", "(nj,)", "-", "body of the link that a joint moves"),
    Field("joint_placement", "(nj, 12)", "-, m", "pose of a joint in its parent's link, like body_pose"),
    Field("joint_axis", "(nj, 3)", "-", "axis in the joint's frame"),
    Field("joint_world_axis", "(nj, 3)", "-", "axis in the world"),
    Field("joint_inertia", "(nj, 13)", "kg, m, kg m^2", "of a link in its frame: mass, centre, inertia about it"),
    Field("joint_composite", "(nj, 10)", "kg, kg m, kg m^2", "composite inertia that a joint moves, about tree_origin"),
    Field("joint_velocity", "(nj, 6)", "m/s, rad/s", "spatial velocity of a link at tree_origin"),
    Field("joint_twist", "(nj, 6)", "m/s, rad/s", "joint_velocity for other velocities than v, while margins are set"),
    Field("joint_acceleration", "(nj, 6)", "m/s^2, rad/s^2", "spatial acceleration for constant joint velocities"),
    Field("joint_force", "(nj, 6)", "N, N m", "spatial force for this acceleration"),
    Field("dof_joint", "(nv,)", "-", "joint of a velocity"),
    Field("dof_parent", "(nv,)", "-", "velocity before it on the path from the root, -1: none"),
    Field("dof_run", "(nv,)", "-", "first velocity of the run of successive ones up to a velocity on its path"),
    Field("dof_depth", "(nv,)", "-", "number of velocities on its path"),
    Field("tree_branched", "(na,)", "-", "1: steps take only the entries of A along paths"),
    Field("link_dof", "(nl,)", "-", "last velocity on the path of a link, -1: of a tree without kernels"),
    Field("dof_axis", "(nv, 6)", "-, m", "spatial axis at tree_origin"),
    Field("dof_bias", "(nv,)", "N, N m", "weight and velocity-dependent forces"),
    Field("dof_damping", "(nv,)", "N s/m, N m s/rad", ""),
    Field("dof_stiffness", "(nv,)", "N/m, N m/rad", "of springs"),
    Field("dof_rest", "(nv, 2)", "m, rad, -", "coordinates at which a spring is at rest"),
    Field("dof_armature", "(nv,)", "kg, kg m^2", "reflected inertia of rotors"),
    Field("mass", "(nt,)", "kg", "of free bodies"),
    Field("inertia", "(nt, 9)", "kg m^2", "of free bodies about the centre of mass, along the body's axes, row by row"),
    Field("inertia_inverse", "(nt, 9)", "1/(kg m^2)", "its inverse"),
    Field("A", "(nt, d, d)", "kg, kg m^2", "blocks of A, of which the first rows and columns are used"),
    Field("body_tree", "(nb,)", "-", "tree that moves a body, -1: none"),
    Field("body_pose", "(nb, 12)", "-, m", "rotation row by row, position; of free bodies at the centre of mass"),
    Field("body_twist", "(nb, 6)", "m/s, rad/s", "[v; omega] at the start of the step, at the pose's origin"),
    Field("body_wrench", "(nb, 6)", "N, N m", "[f; m] applied to free bodies and links, at the centre of mass"),
    Field("body_radius", "(nb,)", "m", "of a sphere about the pose's origin that contains all shapes"),
    Field("body_margin", "(nb,)", "m", "distance within which a body's contacts are searched"),
    Field("body_speed", "(2, nb)", "m/s", "bounds of the speed of a body's points, while margins are set"),
    Field("body_link", "(nb,)", "-", "row of link_jacobian; -1: a free body, whose Jacobian is the identity"),
    Field("link_jacobian", "(nl, 6, d)", "-, m", "of links, [v; omega] at the pose's origin by the tree's velocities"),
    Field("geometry_kind", "(ng,)", "-", "kind of shape, of `shapes`"),
    Field("geometry_body", "(ng,)", "-", "body of a geometry"),
    Field("geometry_class", "(ng,)", "-", "row and column of `law`"),
    Field("geometry_local", "(ng, 12)", "-, m", "pose of the shape in the body's pose, like body_pose"),
    Field("geometry_pose", "(ng, 12)", "-, m", "pose of the shape in the world"),
    Field("geometry_size", "(ng, 3)", "m", "parameters of the shape"),
    Field("geometry_center", "(ng, 3)", "m", "centre of the shape's bounding box, in its frame"),
    Field("geometry_extent", "(ng, 3)", "m", "half sides of that box"),
    Field("geometry_radius", "(ng,)", "m", "of the sphere about the shape's origin that contains it"),
    Field("geometry_bounds", "(ng, 6)", "m", "bounding box in the world, least and greatest coordinates"),
    Field("geometry_shape", "(ng,)", "-", "number in the compiled library, -1: none"),
    Field("hull_range", "(ng, 2)", "-", "first row and end of a hull's vertices"),
    Field("hull_vertices", "(n, 3)", "m", "vertices of all hulls, in their frames"),
    Field("finite", "(n,)", "-", "geometries of usual size, for sweep and prune"),
    Field("large", "(n,)", "-", "geometries that are tested against all others"),
    Field("planes", "(n,)", "-", "half spaces"),
    Field("disabled_start", "(ng + 1,)", "-", "first row of a geometry in disabled_other"),
    Field("disabled_other", "(n,)", "-", "geometries with larger numbers that it does not collide with"),
    Field("law", "(nc, nc, 8)", "N/m, s/m, s, -, -, m/s, m, -", "combined values by class of geometry; columns LAW_*"),
    Field(
        "class_friction",
        "(nc, 5)",
        "-",
        "direction of grooves in the body's frame, mu along and across; no grooves: zeros, mu, mu",
    ),
    Field("context", "(1,)", "-", "address of the compiled library's shapes"),
    Field("sweep", "(n, 6)", "m", "bounds of the finite geometries with margins, the sweep's axis first; in its order"),
    Field("pair", "(np, 2)", "-", "geometries that may touch, the smaller number first"),
    Field("pair_reach", "(np,)", "m", "contacts of the pair count below this gap"),
    Field("pair_fill", "(ng,)", "-", "number of sorted pairs, while pairs are sorted"),
    Field("pair_start", "(ng + 1,)", "-", "index of a geometry's first pair, while pairs are sorted"),
    Field("pair_second", "(np,)", "-", "pairs in the order of the second geometry"),
    Field("pair_sorted", "(np,)", "-", "pairs in the order of first and second geometry"),
    Field("native_pair", "(np, 2)", "-", "geometries whose contacts the compiled library makes"),
    Field("native_reach", "(np,)", "m", "pair_reach of such a pair"),
    Field("native_start", "(np + 1,)", "-", "first point of such a pair"),
    Field("native_normal", "(np, 3)", "-", "normal of such a pair, from the first into the second"),
    Field("native_point", "(n, 3)", "m", "points of such pairs, world"),
    Field("native_gap", "(n,)", "m", "their gaps"),
    Field("geometry_mesh", "(ng,)", "-", "number of the mesh for hydroelastic contact, -1: none"),
    Field("mesh_root", "(nm,)", "-", "box that contains a mesh"),
    Field("mesh_element", "(nm,)", "-", "its first element"),
    Field("mesh_flattest", "(nm,)", "Pa/m", "least pressure gradient; 0: rigid"),
    Field("box_bounds", "(nn, 6)", "m", "middle and half sides of a box, in the shape's frame"),
    Field("box_child", "(nn, 2)", "-", "the two boxes in it; or -1 and an element"),
    Field("element_vertex", "(ne, 4, 3)", "m", "corners in the shape's frame; of a triangle the fourth is unused"),
    Field(
        "element_plane",
        "(ne, 4, 4)",
        "-, m",
        "outward unit normal, offset of the faces; a triangle has the first",
    ),
    Field("element_field", "(ne, 4)", "Pa/m, Pa", "grad p, and p at the shape's origin"),
    Field("box_stack", "(256, 2)", "-", "pairs of boxes that a query has not visited yet"),
    Field("polygon", "(2, 12, 3)", "m", "two polygons, while a face is cut"),
    Field("moved_plane", "(4, 4)", "-, m", "faces of an element in the other body's frame"),
)

#: arrays of a list of contacts, of which the first `count[0]` rows are used
CONTACT_TABLE = (
    Field("count", "(1,)", "-", "number of contacts n; further rows are unused"),
    Field("geometry", "(n, 2)", "-", "geometries A < B"),
    Field("feature", "(n,)", "-", "identifier of a point within its pair; -1: unknown"),
    Field("body", "(n, 2)", "-", "bodies of A and B"),
    Field("tree", "(n, 2)", "-", "moving trees; the first is always one, the second -1: none"),
    Field("point", "(n, 3)", "m", "midway between the surfaces, world"),
    Field("frame", "(n, 3, 3)", "-", "rows t1, t2, n (world, right-handed); n points from A into B"),
    Field("phi0", "(n,)", "m", "gap along n; negative: overlap"),
    Field("last", "(n, 2)", "-", "last velocity of the path that moves each side; -1: all of the tree's"),
    Field("J", "(n, 2, 3, d)", "-, m", "rows t1, t2, n, columns as in `branches`; used as far as these go"),
    Field("bias", "(n, 3)", "m/s", "part of the contact velocity that prescribed bodies cause"),
    Field("v_n0", "(n,)", "m/s", "normal velocity at the start of the step; of prescribed bodies in it"),
    Field("stiffness", "(n,)", "N/m", "combined k; of a face its own"),
    Field("dissipation", "(n,)", "s/m", "combined d"),
    Field("relaxation_time", "(n,)", "s", "combined tau_d"),
    Field("friction", "(n,)", "-", "combined mu in this step; 1 where friction_tensor is not the identity"),
    Field("friction_tensor", "(n, 3)", "-", "M11, M12, M22 along t1, t2; the identity without grooves"),
    Field("torsional_friction", "(n,)", "m", "largest torque about n per normal force"),
    Field("elastic_start", "(n, 2)", "m", "elastic displacement before the step; 0 but in lagged_elastoplastic"),
    Field("elastic", "(n, 2)", "m", "the same at the end of the step; both along t1, t2 of this list"),
    Field("area", "(n,)", "m^2", "of a face of a hydroelastic contact surface; 0: a point"),
    Field("anchor", "(n, 2, 3)", "m", "the point in the poses of the two bodies"),
    Field("previous", "(n,)", "-", "the same contact in the list of the step before; -1: new"),
    Field("taken", "(n,)", "-", "1: matched with a contact of the next list, while lists are matched"),
)

#: arrays of the rows of joint laws and limits: nr rows with ne entries, of which no may be left out of a step,
#: nm motors, ns sides of their velocity limits, nc couplers, nf joints with friction, nl limits of positions. There are
#: na actuators and nt bounds of tendons, with ni terms of their lengths. Limits of positions are the last rows.
JOINT_ROW_TABLE = (
    Field("motor", "(nm, 8)", "", "coordinate, kp, kd, q_d, v_d, u_0, effort and velocity limit"),
    Field("motor_row", "(nm,)", "-", "row of a motor's controller"),
    Field("speed", "(ns, 3)", "-", "row, motor and sign of one side of a velocity limit"),
    Field("coupler", "(nc, 5)", "", "row, coordinate, other coordinate, ratio and offset of a coupler"),
    Field("friction", "(nf, 2)", "-, N or N m", "row and friction of a joint"),
    Field("actuator", "(na, 9)", "", "row, first and last + 1 term of its length, and `TendonActuator.share`"),
    Field("tendon", "(nt, 6)", "", "row, first and last + 1 term of a length, bound, sign; 0: limit, -inf: equality"),
    Field("term", "(ni, 2)", "", "coordinate and coefficient of a term of a length"),
    Field("bound", "(nl, 3)", "-, -, m or rad", "coordinate, sign of the row and value of a limit of position"),
    Field("tree", "(nr,)", "-", "tree of a row"),
    Field("second_tree", "(nr,)", "-", "-1: no row couples two trees"),
    Field("start", "(nr + 1,)", "-", "first entry of a row in J"),
    Field("J", "(ne,)", "-, m", "entries of the rows by the velocities of their trees"),
    Field("parameters", "(nr, 6)", "", "columns ROW_BIAS, ... of `contact_kernels`"),
    Field("optional", "(nr, 2)", "-", "velocity of a limit and sign of its row; -1: the row is in every step"),
    Field("idle", "(no, 3)", "-, -, m/s or rad/s", "limits left out of the step: velocity, sign, target velocity"),
    Field("idle_count", "(1,)", "-", "number of these; further rows of idle are unused"),
)

#: arrays of the rows of joints between bodies, gears and motors: ni of these in the order of their rows, nj joints,
#: ng gears, nm motors
BODY_ROW_TABLE = (
    Field("item", "(ni, 3)", "-", "kind of `body_row_kernels`, number of the gear or motor, number of the joint"),
    Field("tree", "(ni, 4)", "-", "trees that the rows of an item may couple, ascending, then -1"),
    Field("body", "(nj, 2)", "-", "bodies a and b of a joint, -1: the world"),
    Field("axes", "(nj, 9)", "-", "axes e of a joint in the pose of a, row by row of the matrix with columns e"),
    Field("point", "(nj, 2, 3)", "m", "point of the joint in the poses of a and b"),
    Field("at_a", "(nj,)", "-", "1: springs, whose rows are along the world's axes at the point of a; 0: at that of b"),
    Field("relative", "(nj, 9)", "-", "rotation of b against a at which angular rows have no error, row by row"),
    Field(
        "spring",
        "(nj, 5)",
        "N/m, N m/rad, s, -, m",
        "stiffness of linear and angular rows, relaxation time (NaN: the period), beta, length of a distance",
    ),
    Field("effort", "(nj, 3)", "N, N m", "applied effort, dual to the joint's velocity"),
    Field("gear", "(ng, 4)", "-", "joints, teeth; the second number of teeth is negative if internal"),
    Field(
        "motor",
        "(nm, 14)",
        "",
        "kp, kd, q_d, v_d, u_0, effort and velocity limit; of a ball q_d (4), v_d (3), u_0 (3)",
    ),
    Field("frame", "(nj, 9)", "-", "axes e in the world, like `axes`; this array and the next three are of the step"),
    Field("displacement", "(nj, 3)", "m", "from the point of a to that of b, world"),
    Field("rotation", "(nj, 9)", "-", "rotation of b from `relative`, world, row by row"),
    Field("lever", "(nj, 2, 3)", "m", "from the origins of a and b to the point whose relative twist rows take, world"),
    Field("scratch", "(13,)", "-", "a rotation row by row and its quaternion, while its rotation vector is found"),
    Field(
        "source", "(mr, 2)", "-", "of each row of the step: item, and the row of the motor whose speed it limits or -1"
    ),
    Field("direction", "(mr, 2, 3)", "-", "u and n of each row of the step, world; of a gear of its second hinge"),
    Field("room", "(2,)", "-", "largest numbers of rows and of entries of their Jacobians in a step"),
    Field("count", "(3,)", "-", "rows in the last step; status of `body_row_kernels`, and the item that failed"),
)

WORLD_FIELDS = tuple(field.name for field in WORLD_TABLE)
CONTACT_FIELDS = tuple(field.name for field in CONTACT_TABLE)
JOINT_ROW_FIELDS = tuple(field.name for field in JOINT_ROW_TABLE)
BODY_ROW_FIELDS = tuple(field.name for field in BODY_ROW_TABLE)


class _ArraysType(RecordType):
    def preprocess_fields(self, fields: Any) -> Any:
        return tuple((name, types.unliteral(kind)) for name, kind in fields)


@structref.register
class WorldType(_ArraysType):
    """Numba's type of :class:`WorldRecord`."""


@structref.register
class ContactType(_ArraysType):
    """Numba's type of :class:`ContactRecord`."""


@structref.register
class JointRowType(_ArraysType):
    """Numba's type of :class:`JointRowRecord`."""


@structref.register
class BodyRowType(_ArraysType):
    """Numba's type of :class:`BodyRowRecord`."""


class WorldRecord(Record):
    """The arrays of a world, as kernels see them."""


class ContactRecord(Record):
    """The arrays of a list of contacts, as kernels see them."""


class JointRowRecord(Record):
    """The arrays of joint laws and limits, as kernels see them."""


class BodyRowRecord(Record):
    """The arrays of joints between bodies, gears and motors, as kernels see them."""


structref.define_proxy(WorldRecord, WorldType, list(WORLD_FIELDS))
structref.define_proxy(ContactRecord, ContactType, list(CONTACT_FIELDS))
structref.define_proxy(JointRowRecord, JointRowType, list(JOINT_ROW_FIELDS))
structref.define_proxy(BodyRowRecord, BodyRowType, list(BODY_ROW_FIELDS))


@njit(cache=True)
def _world_record(arrays: tuple[np.ndarray, ...]) -> WorldRecord:
    return WorldRecord(*arrays)


@njit(cache=True)
def _contact_record(arrays: tuple[np.ndarray, ...]) -> ContactRecord:
    return ContactRecord(*arrays)


@njit(cache=True)
def _joint_row_record(arrays: tuple[np.ndarray, ...]) -> JointRowRecord:
    return JointRowRecord(*arrays)


@njit(cache=True)
def _body_row_record(arrays: tuple[np.ndarray, ...]) -> BodyRowRecord:
    return BodyRowRecord(*arrays)


class _Arrays:
    """Arrays by name, and the record of them for kernels.

    Attributes:
        record: the argument for compiled kernels; made again when an array is replaced.
    """

    record: Any
    _fields: tuple[str, ...]
    _new: Any

    def __init__(self, **arrays: np.ndarray) -> None:
        if set(arrays) != set(self._fields):
            raise TypeError(f"arrays: {set(arrays) ^ set(self._fields)} are too many or missing")
        self.replace(**arrays)

    def replace(self, **arrays: np.ndarray) -> None:
        """Replaces some arrays by others of the same kind."""
        self.__dict__.update(arrays)
        self.record = Borrowed(self._new(tuple(self.__dict__[name] for name in self._fields)))

    def copies(self) -> dict[str, np.ndarray]:
        """Copies all arrays; returns them by name."""
        return {name: self.__dict__[name].copy() for name in self._fields}

    def restore(self, copies: dict[str, np.ndarray]) -> None:
        """Restores the values that :meth:`copies` returned; arrays that have grown since are replaced."""
        arrays = self.__dict__
        for name, values in copies.items():
            if arrays[name].shape == values.shape:
                arrays[name][...] = values
            else:
                self.replace(**{name: values.copy()})

    def __getattr__(self, name: str) -> np.ndarray:  # for type checkers; arrays are found before
        raise AttributeError(name)


class WorldArrays(_Arrays):
    """The arrays of a world and its state; see `WORLD_TABLE`."""

    _fields, _new = WORLD_FIELDS, staticmethod(_world_record)


class ContactArrays(_Arrays):
    """The arrays of a list of contacts; see `CONTACT_TABLE`."""

    _fields, _new = CONTACT_FIELDS, staticmethod(_contact_record)


class JointRowArrays(_Arrays):
    """The arrays of the rows of joint laws and limits; see `JOINT_ROW_TABLE`."""

    _fields, _new = JOINT_ROW_FIELDS, staticmethod(_joint_row_record)


class BodyRowArrays(_Arrays):
    """The arrays of joints between bodies, gears and motors; see `BODY_ROW_TABLE`."""

    _fields, _new = BODY_ROW_FIELDS, staticmethod(_body_row_record)
