"""Pairs of the broad phase against trying all of them; filters; order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from convex_contact import Box, Geometry, HalfSpace, Material, Pose, Sphere, World, WorldDynamics
from convex_contact.collision.broad_phase import REQUIRED_PAIRS
from convex_contact.simulation.contact_query import find_contacts
from convex_contact.simulation.world_arrays import pair_arrays


def scene(seed: int, count: int = 60, wide: float = 0.5) -> World:
    """Spheres, boxes and capsules thrown into a cube, a table, two half spaces and a compound body."""
    rng = np.random.default_rng(seed)
    w = World()
    w.add_half_space("ground", point=(0, 0, -wide))
    w.add_box("table", size=(4.0, 4.0, 0.1), position=(0, 0, -0.2), fixed=True)
    for i in range(count):
        options: dict[str, Any] = {
            "mass": 1.0,
            "position": rng.uniform(-wide, wide, 3) * [1, 1, 0.5],
            "orientation": rng.normal(size=4),
        }
        if i % 3 == 0:
            w.add_sphere(f"b{i}", radius=rng.uniform(0.01, 0.06), **options)
        elif i % 3 == 1:
            w.add_box(f"b{i}", size=rng.uniform(0.02, 0.1, 3), **options)
        else:
            w.add_capsule(f"b{i}", radius=0.02, length=rng.uniform(0.02, 0.1), **options)
    ends = [Geometry(Sphere(0.03), Pose(np.array([x, 0.0, 0.0])), Material()) for x in (-0.1, 0.1)]
    w.add_body("dumbbell", geometries=ends, mass=1.0)
    w.add_half_space("wall", point=(wide, 0, 0), normal=(-1, 0, 0.2))
    return w


def touching_pairs(world: World, helpers: Any, threshold: float) -> set[tuple[int, int]]:
    """Pairs of geometries with a contact, each pair of bodies in a world of its own."""
    found = set()
    items = list(world.numbered_geometries())
    for i, (one, g) in enumerate(items):
        for j in range(i + 1, len(items)):
            two, h = items[j]
            kinds = {world.bodies[one].kind, world.bodies[two].kind}
            if one == two or kinds == {"fixed"}:
                continue
            poses = []
            for number, geometry in ((one, g), (two, h)):
                p = world.bodies[number].placement
                poses.append(
                    (p.rotation @ geometry.placement.rotation, p.position + p.rotation @ geometry.placement.position)
                )
            if not isinstance(g.shape, HalfSpace) and not isinstance(h.shape, HalfSpace):
                far = g.shape.radius + h.shape.radius + threshold
                if np.linalg.norm(poses[0][1] - poses[1][1]) >= far:
                    continue
            d = helpers.two_bodies(g.shape, poses[0], h.shape, poses[1], threshold=threshold)
            if d.contacts.count[0]:
                found.add((i, j))
    return found


@pytest.mark.parametrize("threshold", [0.1, 0.01])
def test_contacts_are_those_of_trying_every_pair(helpers: Any, threshold: float) -> None:
    world = scene(3, count=30)
    d = WorldDynamics(world, period=1e-3, threshold=threshold, speculative=False)
    d.prepare()
    c = d.collect()
    found = {(int(a), int(b)) for a, b in c.geometry[: c.count[0]]}
    assert found == touching_pairs(world, helpers, threshold)


@pytest.mark.covering(2)
@pytest.mark.parametrize("seed", range(5))
def test_no_pair_of_overlapping_boxes_is_missed(seed: int) -> None:
    d = WorldDynamics(scene(seed, count=200), period=1e-3, speculative=False)
    rng = np.random.default_rng(seed)
    a = d.arrays
    for _ in range(4):  # the order on the axis is kept from call to call
        d.prepare()
        d.collect()
        n = int(a.counters[1])
        found = {(int(i), int(j)) for i, j in a.pair[:n]}
        assert len(found) == n
        low, high, center = a.geometry_bounds[:, :3], a.geometry_bounds[:, 3:], a.geometry_pose[:, 9:]
        apart = np.maximum(low[:, None] - high, low - high[:, None]).max(axis=2)
        distance = np.linalg.norm(center[:, None] - center, axis=2)
        moving, body = a.body_tree[a.geometry_body] >= 0, a.geometry_body
        near = (apart < 0.1) & (distance < a.geometry_radius[:, None] + a.geometry_radius + 0.1)
        near &= (moving[:, None] | moving) & (body[:, None] != body)
        finite = a.geometry_kind != 4
        near &= finite[:, None] & finite & (np.arange(len(body))[:, None] < np.arange(len(body)))
        expected = {(int(i), int(j)) for i, j in np.argwhere(near)}
        planes = {pair for pair in found if 4 in a.geometry_kind[list(pair)]}
        assert found - planes == expected
        order = a.pair[a.pair_sorted[:n]]
        assert sorted(map(tuple, order.tolist())) == [tuple(pair) for pair in order.tolist()]
        a.q.reshape(-1, 7)[:, :3] += rng.normal(scale=0.2, size=(len(a.q) // 7, 3))


def test_bounding_boxes_hold_their_shapes() -> None:
    rng = np.random.default_rng(0)
    w = World()
    points = rng.normal(size=(12, 3)) * 0.05 + [0.2, 0, 0]
    turn = Rotation.from_quat(rng.normal(size=4))
    w.add_hull("hull", mass=1.0, points=points, orientation=turn.as_quat(), position=(1, 2, 3), center=(0, 0, 0))
    d = WorldDynamics(w, period=1e-3)
    d.prepare()
    d.collect()
    low, high = d.arrays.geometry_bounds[0].reshape(2, 3)
    world = turn.apply(points) + np.array([1, 2, 3])
    assert (world >= low - 1e-12).all() and (world <= high + 1e-12).all()


def pile() -> World:
    w = World()
    w.add_half_space("ground")
    for i in range(3):
        w.add_sphere(f"s{i}", mass=1.0, radius=0.05, position=(0.09 * i, 0, 0.05))
    return w


def contact_bodies(world: World) -> list[tuple[int, int]]:
    d = WorldDynamics(world, period=1e-3, threshold=0.01, speculative=False)
    d.prepare()
    c = d.collect()
    return [(int(a), int(b)) for a, b in c.body[: c.count[0]]]


def test_disabled_pairs_have_no_contacts() -> None:
    w = pile()
    assert contact_bodies(w) == [(0, 1), (0, 2), (0, 3), (1, 2), (2, 3)]
    w.disable_pair("s1", "s0")
    w.disable_pair("ground", "s2")
    assert contact_bodies(w) == [(0, 1), (0, 2), (2, 3)]
    with pytest.raises(ValueError, match="s1: a body makes no pair with itself"):
        w.disable_pair("s1", "s1")


def test_arrays_grow_when_a_scene_needs_more() -> None:
    w = World()
    for i in range(40):
        w.add_sphere(f"s{i}", mass=1.0, radius=0.05, position=(1e-3 * i, 0, 0))
    d = WorldDynamics(w, period=1e-3, speculative=False)
    d.prepare()
    assert len(d.contacts.phi0) < 40 * 39 // 2
    assert d.collect().count[0] == 40 * 39 // 2
    assert d.collect().count[0] == 40 * 39 // 2
    boxes = World()
    for i in range(30):
        boxes.add_box(f"b{i}", mass=1.0, size=(0.1, 0.1, 0.1), position=(1e-3 * i, 0, 1e-4 * i))
    d = WorldDynamics(boxes, period=1e-3, speculative=False)
    d.prepare()
    assert d.collect().count[0] >= 30 * 29 // 2


def test_arrays_that_are_just_full_are_large_enough(helpers: Any) -> None:
    d = helpers.two_bodies(Sphere(0.1), (np.eye(3), [0, 0, 0]), Sphere(0.1), (np.eye(3), [0.15, 0, 0]))
    assert int(d.contacts.count[0]) == 1
    for pairs, enough in ((1, True), (0, False)):
        d.arrays.replace(**pair_arrays(pairs))
        assert find_contacts(d.arrays.record, d.contacts.record, d.find_faces) is enough
        assert d.arrays.counters[REQUIRED_PAIRS] == 1


def test_two_fresh_runs_are_equal_bit_by_bit() -> None:
    lists = []
    for _ in range(2):
        d = WorldDynamics(scene(1), period=1e-3)
        for _ in range(5):
            d.prepare()
            c = d.collect()
            d.advance(d.arrays.v_star.copy())
        n = c.count[0]
        names = ("geometry", "feature", "point", "frame", "phi0", "J", "bias", "v_n0", "previous", "tree")
        lists.append([getattr(c, name)[:n].tobytes() for name in names])
    assert lists[0] == lists[1]


def test_the_list_does_not_depend_on_what_was_asked_before() -> None:
    d = WorldDynamics(scene(1), period=1e-3, speculative=False)
    d.prepare()
    c = d.collect()
    first = c.phi0[: c.count[0]].copy()
    q = d.arrays.q.copy()
    rng = np.random.default_rng(0)
    for _ in range(3):
        d.arrays.q.reshape(-1, 7)[:, :3] += rng.normal(scale=1.0, size=(len(q) // 7, 3))
        d.prepare()
        d.collect()
    d.arrays.q[:] = q
    d.prepare()
    c = d.collect()
    np.testing.assert_array_equal(c.phi0[: c.count[0]], first)


def test_a_world_without_bodies_has_no_contacts() -> None:
    d = WorldDynamics(World(), period=1e-3)
    d.prepare()
    assert d.collect().count[0] == 0
    lone = World()
    lone.add_half_space("ground")
    d = WorldDynamics(lone, period=1e-3)
    d.prepare()
    assert d.collect().count[0] == 0
    d.advance(np.zeros(0))
    assert Box((1, 1, 1)).volume() == 1
