"""The arrays of a world at its start, from its description."""

from __future__ import annotations

from typing import Any

import numpy as np

from convex_contact.collision.contact_surface import mesh_arrays
from convex_contact.model import bodies, native
from convex_contact.model.arrays import LAW_COLUMNS, WorldArrays
from convex_contact.model.pressure_fields import Mesh
from convex_contact.model.shapes import HALF_SPACE, HULL, SPHERE, Hull
from convex_contact.model.tree_arrays import tree_table
from convex_contact.model.tree_kernels import VELOCITIES
from convex_contact.model.world import Body, World, WorldError

#: Multiple of the median extent beyond which a geometry is tested against all others.
LARGE = 8.0


def pair_arrays(n: int) -> dict[str, np.ndarray]:
    """Returns the arrays that have a row for each of at most n pairs of geometries."""
    return {
        "pair": np.zeros((n, 2), dtype=np.int64),
        "pair_reach": np.zeros(n),
        "pair_second": np.zeros(n, dtype=np.int64),
        "pair_sorted": np.zeros(n, dtype=np.int64),
        "native_pair": np.zeros((n, 2), dtype=np.int64),
        "native_reach": np.zeros(n),
        "native_start": np.zeros(n + 1, dtype=np.int64),
        "native_normal": np.zeros((n, 3)),
    }


def world_arrays(world: World, threshold: float) -> tuple[WorldArrays, native.ShapeTable | None, list[list[int]]]:
    """Returns the arrays of a world at its start, its shapes in the compiled library, and the bodies of each tree.

    Articulated trees come first, then free bodies in their order.
    """
    nb = len(world.bodies)
    free = [i for i, body in enumerate(world.bodies) if body.kind == "free"]
    tree_bodies = [list(tree.bodies) for tree in world.trees] + [[i] for i in free]
    nt, articulated = len(tree_bodies), len(world.trees)
    nq = [len(tree.q) for tree in world.trees] + [7] * len(free)
    nv = [len(tree.v) for tree in world.trees] + [6] * len(free)
    width = max(nv, default=6)
    width = max(width, 6)
    tree_q, tree_v = np.concatenate([[0], np.cumsum(nq)]), np.concatenate([[0], np.cumsum(nv)])
    a: dict[str, np.ndarray] = {
        "settings": np.array([threshold]),
        "counters": np.zeros(8, dtype=np.int64),
        "q": np.zeros(int(tree_q[-1])),
        "v": np.zeros(int(tree_v[-1])),
        "v_star": np.zeros(int(tree_v[-1])),
        "effort": np.zeros(int(tree_v[-1])),
        "gravity": world.gravity.copy(),
        "tree_kind": np.array([bodies.ARTICULATED] * articulated + [bodies.FREE] * len(free), dtype=np.int64),
        "tree_q": tree_q.astype(np.int64),
        "tree_v": tree_v.astype(np.int64),
        "tree_body": np.array([-1] * articulated + free, dtype=np.int64),
        "mass": np.zeros(nt),
        "inertia": np.zeros((nt, 9)),
        "inertia_inverse": np.zeros((nt, 9)),
        "A": np.zeros((nt, width, width)),
        "body_tree": np.full(nb, -1, dtype=np.int64),
        "body_pose": np.zeros((nb, 12)),
        "body_twist": np.zeros((nb, 6)),
        "body_wrench": np.zeros((nb, 6)),
        "body_radius": np.zeros(nb),
        "body_margin": np.zeros(nb),
        "body_speed": np.zeros((2, nb)),
        "body_link": np.full(nb, -1, dtype=np.int64),
    }
    first_body = np.array([members[0] if members else -1 for members in tree_bodies[:articulated]], dtype=np.int64)
    a.update(tree_table([tree.model for tree in world.trees], tree_q, tree_v, first_body))
    links = 0
    for t, members in enumerate(tree_bodies):
        for number in members:
            a["body_tree"][number] = t
            if t < articulated:
                a["body_link"][number] = links
                links += 1
    a["link_jacobian"] = np.zeros((links, 6, width))
    a["link_dof"] = np.full(links, -1, dtype=np.int64)
    for body, kind, k in zip(a["joint_body"], a["joint_kind"], a["joint_v"], strict=True):
        a["link_dof"][a["body_link"][body]] = k + VELOCITIES[kind] - 1
    for t, tree in enumerate(world.trees):
        a["q"][tree_q[t] : tree_q[t + 1]], a["v"][tree_v[t] : tree_v[t + 1]] = tree.q, tree.v
    for number, body in enumerate(world.bodies):
        _start_body(a, number, body)
    shapes = _geometry_arrays(world, a)
    a.update(pair_arrays(64 + 16 * len(a["geometry_kind"])))
    a["native_point"], a["native_gap"] = np.zeros((8 * len(a["pair"]), 3)), np.zeros(8 * len(a["pair"]))
    return WorldArrays(**a), shapes, tree_bodies


def _start_body(a: dict[str, np.ndarray], number: int, body: Body) -> None:
    """Writes the pose of a body, and inertia and state of a free one."""
    rotation = body.placement.rotation
    lever = rotation @ body.center
    a["body_pose"][number] = np.concatenate([rotation.ravel(), body.placement.position + lever])
    if body.kind != "free":
        return
    t = a["body_tree"][number]
    i, j = a["tree_q"][t], a["tree_v"][t]
    a["q"][i : i + 3], a["q"][i + 3 : i + 7] = body.placement.position + lever, body.placement.orientation
    a["v"][j : j + 3] = body.velocity + np.cross(body.angular_velocity, lever)
    a["v"][j + 3 : j + 6] = body.angular_velocity
    a["mass"][t] = body.mass
    a["inertia"][t], a["inertia_inverse"][t] = body.inertia.ravel(), np.linalg.inv(body.inertia).ravel()


# Longer than others: one array after the other.
def _geometry_arrays(world: World, a: dict[str, np.ndarray]) -> native.ShapeTable | None:
    """Adds the arrays of all geometries; returns the shapes in the compiled library if they are needed."""
    items = list(world.numbered_geometries())
    ng = len(items)
    shapes = [g.shape for _, g in items]
    kinds = np.array([s.kind for s in shapes], dtype=np.int64).reshape(ng)
    a["geometry_kind"] = kinds
    a["geometry_body"] = np.array([b for b, _ in items], dtype=np.int64).reshape(ng)
    a["geometry_local"], a["geometry_pose"] = np.zeros((ng, 12)), np.zeros((ng, 12))
    for i, (number, g) in enumerate(items):
        center = world.bodies[number].center
        a["geometry_local"][i] = np.concatenate([g.placement.rotation.ravel(), g.placement.position - center])
        reach = float(np.linalg.norm(g.placement.position - center)) + g.shape.radius
        a["body_radius"][number] = max(a["body_radius"][number], reach)
    for name, attribute in (("size", "parameters"), ("center", "center"), ("extent", "extent")):
        a[f"geometry_{name}"] = np.array([getattr(s, attribute) for s in shapes]).reshape(ng, 3)
    a["geometry_radius"] = np.array([s.radius for s in shapes]).reshape(ng)
    a["geometry_bounds"] = np.zeros((ng, 6))

    finite = np.flatnonzero(kinds != HALF_SPACE)
    widest = a["geometry_extent"].max(axis=1, initial=0.0)
    typical = float(np.median(widest[finite])) if len(finite) else 0.0
    a["large"] = finite[widest[finite] > LARGE * typical].astype(np.int64)
    a["finite"] = finite[widest[finite] <= LARGE * typical].astype(np.int64)
    a["sweep"] = np.zeros((len(a["finite"]), 6))
    a["planes"] = np.flatnonzero(kinds == HALF_SPACE).astype(np.int64)
    a["pair_start"], a["pair_fill"] = np.zeros(ng + 1, dtype=np.int64), np.zeros(ng, dtype=np.int64)

    others: list[list[int]] = [[] for _ in items]
    for i, j in world.disabled:
        for x in np.flatnonzero(a["geometry_body"] == i):
            for y in np.flatnonzero(a["geometry_body"] == j):
                others[min(x, y)].append(int(max(x, y)))
    first = np.searchsorted(a["geometry_body"], np.arange(len(world.bodies)))
    for (i, k), (j, m) in world.disabled_geometries:
        one, two = int(first[i] + k), int(first[j] + m)
        others[min(one, two)].append(max(one, two))
    a["disabled_start"] = np.concatenate([[0], np.cumsum([len(o) for o in others])]).astype(np.int64)
    a["disabled_other"] = np.array([y for o in others for y in sorted(o)], dtype=np.int64)

    meshes: dict[int, tuple[int, Mesh]] = {}
    a["geometry_mesh"] = np.full(ng, -1, dtype=np.int64)
    for i, (_, g) in enumerate(items):
        if g.mesh is not None:
            a["geometry_mesh"][i] = meshes.setdefault(id(g.mesh), (len(meshes), g.mesh))[0]
    a.update(mesh_arrays([mesh for _, mesh in meshes.values()]))

    _classify(world, items, a)
    hulls = [s.vertices if isinstance(s, Hull) else np.zeros((0, 3)) for s in shapes]
    ends = np.concatenate([[0], np.cumsum([len(h) for h in hulls])]).astype(np.int64)
    a["hull_range"] = np.stack([ends[:-1], ends[1:]], axis=1)
    a["hull_vertices"] = np.concatenate([*hulls, np.zeros((0, 3))])

    moving = a["body_tree"][a["geometry_body"]] >= 0
    solid = kinds[(kinds != HALF_SPACE)]
    needed = np.isin(kinds, [HULL]).any() or ((solid != SPHERE).sum() > 1 and bool(moving.any()))
    a["geometry_shape"] = np.full(ng, -1, dtype=np.int64)
    a["context"] = np.zeros(1, dtype=np.int64)
    if not needed:
        return None
    table = native.ShapeTable()
    a["context"][0] = table.address
    known: dict[Any, int] = {}
    for i, s in enumerate(shapes):
        if s.kind == HALF_SPACE:
            continue
        key = id(s) if isinstance(s, Hull) else (s.kind, *s.parameters)
        if key not in known:
            known[key] = (
                table.add_hull(s.vertices) if isinstance(s, Hull) else table.add_primitive(s.kind, s.parameters)
            )
        a["geometry_shape"][i] = known[key]
    return table


def _classify(world: World, items: list[Any], a: dict[str, np.ndarray]) -> None:
    """Assigns a class to each geometry, and combined values to each pair of classes.

    Raises:
        WorldError: two surfaces that can touch are both rigid.
    """
    special = {body for pair in world.pair_laws for body in pair}
    members: dict[Any, list[Any]] = {}
    for number, g in items:
        members.setdefault((g.material, g.modulus, number if number in special else -1), []).append((number, g))
    numbers = {key: i for i, key in enumerate(members)}
    a["geometry_class"] = np.array(
        [numbers[g.material, g.modulus, number if number in special else -1] for number, g in items], dtype=np.int64
    ).reshape(len(items))
    a["law"] = np.zeros((len(members), len(members), LAW_COLUMNS))
    groups = list(members.values())
    materials = [group[0][1].material for group in groups]
    grooved = [m.friction_direction is not None for m in materials]
    a["class_friction"] = np.array(
        [(*(m.friction_direction or (0.0, 0.0, 0.0)), *m.principal_friction) for m in materials]
    ).reshape(len(groups), 5)
    moves = [any(world.bodies[number].kind in ("free", "link") for number, _ in group) for group in groups]
    for i, group in enumerate(groups):
        for j in range(i, len(groups)):
            if not (moves[i] or moves[j]) or (i == j and len(group) == 1):
                continue
            (one, g), (two, h) = group[0], groups[j][-1]
            try:
                law = world.law(g, h, one, two)
                pair = world.pair_laws.get((min(one, two), max(one, two)))
                directional = (grooved[i] or grooved[j]) and (pair is None or pair.friction is None)
                if directional and law.static_friction is not None:
                    raise ValueError("static_friction: expected none where the other surface has a friction_direction")
            except ValueError as error:
                raise WorldError(f"{world.bodies[one].name} and {world.bodies[two].name}: {error}") from None
            a["law"][i, j] = a["law"][j, i] = (
                law.stiffness,
                law.dissipation,
                law.relaxation_time,
                law.friction,
                law.rest_friction,
                law.stribeck_velocity,
                law.torsional_friction,
                directional,
            )
