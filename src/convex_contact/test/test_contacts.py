"""Frames, Jacobians, velocities and the matching of contacts from step to step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from convex_contact import Material, World, WorldDynamics, transport_elastic_displacement
from convex_contact.collision.contacts import match, tangents

ARM = Path(__file__).with_name("data") / "arm.urdf"


def clutter(seed: int = 0, arm: bool = True) -> World:
    """Free bodies with random velocities around an arm, over a moving belt."""
    rng = np.random.default_rng(seed)
    w = World()
    w.add_half_space("belt", motion=lambda t: (0.3 + t, 0.1, 0.02, 0, 0, 0))
    if arm:
        w.add_urdf("arm", ARM, q=(np.cos(0.3), np.sin(0.3), -0.8, 0.1), v=(1.0, -2.0, 3.0))
    for i in range(12):
        options: dict[str, Any] = {
            "mass": 1.0,
            "position": np.array([0.2, 0, 0.25]) + rng.uniform(-0.15, 0.15, 3),
            "orientation": rng.normal(size=4),
            "velocity": rng.normal(size=3),
            "angular_velocity": rng.normal(size=3),
            "center": rng.normal(size=3) * 0.01,
        }
        if i % 2:
            w.add_box(f"b{i}", size=rng.uniform(0.05, 0.15, 3), **options)
        else:
            w.add_capsule(f"b{i}", radius=0.04, length=0.1, **options)
    return w


def ready(world: World, **options: Any) -> WorldDynamics:
    d = WorldDynamics(world, **{"period": 1e-3, "speculative": False} | options)
    d.prepare()
    d.collect()
    return d


def test_frames_are_orthonormal_and_right_handed() -> None:
    rng = np.random.default_rng(0)
    normals = rng.normal(size=(500, 3))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    for n in [*normals, *np.eye(3), *-np.eye(3), np.array([0, 1, -1e-17]), np.array([1e-9, 0, -1.0])]:
        t = np.array(tangents(*n)).reshape(2, 3)
        frame = np.vstack([t, n])
        np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-15)
        np.testing.assert_allclose(np.cross(t[0], t[1]), n, atol=1e-15)


def test_frames_of_contacts_are_too() -> None:
    c = ready(clutter()).contacts
    assert c.count[0] > 50
    for frame in c.frame[: c.count[0]]:
        np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-12)
        assert np.linalg.det(frame) == pytest.approx(1.0)


def point_on(d: WorldDynamics, body: int, anchor: np.ndarray) -> np.ndarray:
    pose = d.arrays.body_pose[body]
    return pose[9:] + pose[:9].reshape(3, 3) @ anchor


def test_contact_velocity_is_that_of_the_points_by_finite_differences() -> None:
    """J v + bias against the motion of the two points that the anchors mark, along random velocities."""
    d = ready(clutter())
    p, c, a = d.dense(), d.contacts, d.arrays
    n = int(c.count[0])
    assert {tuple(kinds) for kinds in (c.tree[:n] >= 0)} == {(True, False), (True, True)}
    rng = np.random.default_rng(1)
    q0, twist = a.q.copy(), a.body_twist.copy()
    for _ in range(2):
        v = rng.normal(size=d.nv)
        predicted = (p["J"] @ v).reshape(n, 3) + p["bias"]
        moved = []
        h = 1e-6
        for sign in (-1, 1):
            a.q[:], a.body_twist[:], d.time = q0, twist, 0.0
            d.period = sign * h
            d.advance(v)
            d.period = 1e-3
            belt = a.body_pose[0].copy()
            d.prepare()
            moved.append(
                np.array([[point_on(d, b, x) for b, x in zip(c.body[k], c.anchor[k], strict=True)] for k in range(n)])
            )
            a.body_pose[0] = belt
            a.body_pose[0, 9:] -= sign * h * twist[0, :3]
        velocity = (moved[1] - moved[0]) / (2 * h)
        expected = np.einsum("kij,kj->ki", c.frame[:n], velocity[:, 1] - velocity[:, 0])
        np.testing.assert_allclose(predicted, expected, atol=1e-7)


def test_normal_velocity_at_the_start_is_that_of_the_present_velocity() -> None:
    d = ready(clutter())
    p = d.dense()
    v_c = (p["J"] @ d.arrays.v).reshape(-1, 3) + p["bias"]
    np.testing.assert_allclose(p["v_n0"], v_c[:, 2], atol=1e-12)


def test_a_body_that_falls_onto_the_ground_has_negative_normal_velocity() -> None:
    for ground_first in (True, False):
        w = World()
        if ground_first:
            w.add_half_space("ground")
        w.add_sphere("ball", mass=1.0, radius=0.1, position=(0, 0, 0.1), velocity=(0, 0, -2.0))
        if not ground_first:
            w.add_half_space("ground")
        c = ready(w).contacts
        assert c.v_n0[0] == -2.0
        np.testing.assert_array_equal(c.frame[0, 2], [0, 0, 1.0 if ground_first else -1.0])
        np.testing.assert_array_equal(c.tree[0], [0, -1])


def test_the_belts_velocity_is_that_at_the_end_of_the_step() -> None:
    w = World()
    w.add_half_space("belt", motion=lambda t: (np.sin(t), 0, 0, 0, 0, 0))
    w.add_sphere("ball", mass=1.0, radius=0.1, position=(0, 0, 0.1))
    d = ready(w, period=0.1)
    slip = d.contacts.frame[0].T @ d.contacts.bias[0]
    np.testing.assert_allclose(slip, [-np.sin(0.1), 0, 0], atol=1e-15)  # of the ball against the belt
    d.advance(np.zeros(6))
    np.testing.assert_allclose(d.state("belt").position, [0.1 * np.sin(0.1), 0, 0], atol=1e-15)
    d.prepare()
    np.testing.assert_allclose(d.arrays.body_twist[0, 0], np.sin(0.2))


def test_prescribed_body_follows_the_motion_set_before_each_step() -> None:
    w = World()
    w.add_box("pusher", size=(0.1, 0.1, 0.1), prescribed=True, position=(0, 0, 1))
    w.add_sphere("ball", mass=1.0, radius=0.1)
    d = ready(w)
    d.prescribe("pusher", [1, 0, 0, 0, 0, 2.0])
    d.advance(np.zeros(6))
    s = d.state("pusher")
    np.testing.assert_allclose(s.position, [1e-3, 0, 1], atol=1e-15)
    assert Rotation.from_quat(s.orientation).as_rotvec() == pytest.approx([0, 0, 2e-3])
    d.prescribe("pusher", np.zeros(6), position=(3, 2, 1), orientation=(1, 0, 0, 0))
    np.testing.assert_allclose(d.state("pusher").position, [3, 2, 1])
    np.testing.assert_allclose(np.abs(d.state("pusher").orientation), [1, 0, 0, 0])
    with pytest.raises(ValueError, match="ball: it is free, not prescribed"):
        d.prescribe("ball", np.zeros(6))
    with pytest.raises(ValueError, match="twist: expected 6 finite numbers"):
        d.prescribe("pusher", [1, 2])


def test_delassus_operator_of_a_sphere_on_the_ground() -> None:
    """J A^-1 J^T = diag(7/2, 7/2, 1) / m for a uniform sphere."""
    w = World()
    w.add_half_space("ground")
    w.add_sphere("ball", mass=2.0, radius=0.1, position=(0, 0, 0.1), orientation=(0.1, 0.2, 0.3, 0.4))
    p = ready(w).dense()
    operator = p["J"] @ np.linalg.solve(p["A"], p["J"].T)
    np.testing.assert_allclose(operator, np.diag([1.75, 1.75, 0.5]), atol=1e-14)


def test_self_collision_has_one_block_and_its_parts_cancel_in_rigid_motion() -> None:
    w = World()
    w.add_urdf("arm", ARM, q=(1.0, 0.0, 3.0, 0.1))
    d = ready(w, threshold=0.3)
    c = d.contacts
    assert c.count[0] > 0
    np.testing.assert_array_equal(c.tree[: c.count[0]], np.tile([0, -1], (c.count[0], 1)))
    turning = d.dense()["J"] @ np.array([1.0, 0, 0])  # the first joint turns both links alike
    links = (d.arrays.body_tree[c.body[: c.count[0]]] == 0).all(axis=1)
    assert links.any()
    np.testing.assert_allclose(turning.reshape(-1, 3)[links], 0, atol=1e-12)


# --- from step to step ---------------------------------------------------------------------------------------


def test_contacts_are_found_again_while_bodies_slide_and_turn() -> None:
    w = World()
    w.add_half_space("ground")
    w.add_box("table", size=(0.5, 0.5, 0.1), mass=10.0, position=(0, 0, 0.05))
    w.add_box(
        "box", size=(0.1, 0.1, 0.1), mass=1.0, position=(0, 0, 0.15), velocity=(1, 0.5, 0), angular_velocity=(0, 0, 5)
    )
    w.add_capsule("rod", radius=0.02, length=0.1, mass=1.0, position=(0, 0.15, 0.12), orientation=(1, 0, 0, 1))
    d = ready(w, period=2e-3, threshold=5e-3)
    before = {}
    for step in range(60):
        d.advance(d.arrays.v.copy())
        d.prepare()
        c = d.collect()
        n = int(c.count[0])
        assert n == len(set(c.previous[:n].tolist())) and c.previous[:n].min() >= 0, step
        corner = np.array([c.anchor[k, 1] for k in range(n) if c.body[k, 1] == 2])
        assert len(corner) == 4
        for k in range(n):
            old = before.get(int(c.previous[k])) if before else None
            if old is not None:
                np.testing.assert_allclose(c.anchor[k, 1], old, atol=1e-9)
        before = {k: c.anchor[k, 1].copy() for k in range(n)}


def test_a_contact_that_comes_is_new_and_one_that_goes_is_forgotten() -> None:
    w = World()
    w.add_half_space("ground")
    for i in range(3):
        w.add_sphere(f"s{i}", mass=1.0, radius=0.05, position=(i, 0, 0.05))
    d = ready(w, threshold=0.01)
    d.arrays.q[2] = 1.0  # the first leaves
    d.prepare()
    c = d.collect()
    np.testing.assert_array_equal(c.previous[: c.count[0]], [1, 2])
    d.arrays.q[2] = 0.05
    d.prepare()
    c = d.collect()
    np.testing.assert_array_equal(c.previous[: c.count[0]], [-1, 0, 1])


def test_no_two_contacts_continue_the_same_one() -> None:
    w = World()
    w.add_box("table", size=(0.5, 0.5, 0.1), mass=10.0, position=(0, 0, 0.05))
    w.add_box("box", size=(0.1, 0.1, 0.1), mass=1.0, position=(0, 0, 0.15))
    d = ready(w)
    c = d.collect()
    assert c.count[0] == 4
    c.anchor[1] = c.anchor[0]  # as if one corner had become two
    match(d.arrays.record, c.record, d.previous.record)
    np.testing.assert_array_equal(c.previous[:4], [0, -1, 2, 3])


def test_a_tangential_quantity_follows_its_contact() -> None:
    w = World()
    w.add_half_space("ground")
    w.add_sphere("a", mass=1.0, radius=0.05, position=(0, 0, 0.05))
    w.add_sphere("b", mass=1.0, radius=0.05, position=(0.1, 0, 0.05))
    d = ready(w, threshold=0.01)
    c = d.contacts
    n = int(c.count[0])
    values = np.array([[1e-3, 2e-3], [3e-3, -1e-3], [0.5e-3, 4e-3]])
    world = np.einsum("kr,kri->ki", values, c.frame[:n, :2])
    before = c.frame[2:3].copy()
    d.arrays.q[8] += 0.02  # b moves aside: the contact of the two turns
    d.prepare()
    c = d.collect()
    carried = d.transport_tangential(values)
    moved = np.einsum("kr,kri->ki", carried, c.frame[: c.count[0], :2])
    np.testing.assert_allclose(np.linalg.norm(moved, axis=1), np.linalg.norm(values, axis=1))
    np.testing.assert_allclose(moved[:2], world[:2], atol=1e-18)
    assert abs(moved[2] @ c.frame[2, 2]) < 1e-18
    turned = transport_elastic_displacement(values[2:], before, c.frame[2:3])  # nothing spins
    np.testing.assert_allclose(carried[2:], turned, atol=1e-18)


def test_collecting_again_still_compares_with_the_step_before() -> None:
    w = World()
    w.add_half_space("ground", material=Material())
    w.add_sphere("a", mass=1.0, radius=0.05, position=(0, 0, 0.05))
    d = ready(w, speculative=True)
    d.prepare()
    previous = d.collect().previous[0]
    assert previous == 0
    assert d.collect(again=True).previous[0] == 0
