"""Articulated trees from URDF: against Pinocchio's own calls, finite differences and closed forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

from convex_contact import Box, Hull, Material, World, WorldDynamics, WorldError

DATA = Path(__file__).with_name("data")
ARM = DATA / "arm.urdf"
Q = np.array([np.cos(0.4), np.sin(0.4), -0.7, 0.3])
V = np.array([1.0, -2.0, 0.5])
PERIOD = 1e-3


def arm(gravity: Any = (0, 0, -9.81), **options: Any) -> WorldDynamics:
    w = World(gravity)
    w.add_urdf("arm", ARM, **{"q": Q, "v": V} | options)
    d = WorldDynamics(w, period=PERIOD)
    d.prepare()
    return d


def test_block_of_a_is_pinocchios_mass_matrix_with_implicit_terms() -> None:
    model = pin.buildModelFromUrdf(str(ARM))
    mass = pin.crba(model, model.createData(), Q)
    mass = np.triu(mass) + np.triu(mass, 1).T
    np.testing.assert_allclose(arm().arrays.A[0, :3, :3], mass + PERIOD * np.diag([0.3, 0.1, 0.0]), atol=1e-14)
    d = arm(armature=0.02, stiffness=[0.0, 5.0, 100.0], damping=0.4)
    expected = mass + 0.02 * np.eye(3) + PERIOD * 0.4 * np.eye(3) + PERIOD**2 * np.diag([0, 5, 100])
    np.testing.assert_allclose(d.arrays.A[0, :3, :3], expected, atol=1e-14)


def test_free_motion_is_that_of_forward_dynamics_as_the_period_shrinks() -> None:
    gravity = (1.0, 2.0, -3.0)
    d = arm(gravity, position=(0.1, 0.2, 0.3), orientation=(0.5, 0.5, 0.5, 0.5))
    model = pin.buildModelFromUrdf(str(ARM))
    model.gravity.linear = Rotation.from_quat([0.5, 0.5, 0.5, 0.5]).inv().apply(gravity)
    effort = np.array([0.3, -1.0, 2.0])
    d.arrays.effort[:] = effort
    expected = pin.aba(model, model.createData(), Q, V, effort - np.array([0.3, 0.1, 0.0]) * V)
    errors = []
    for d.period in (1e-3, 1e-4, 1e-5):
        d.prepare()
        errors.append(np.abs((d.arrays.v_star - V) / d.period - expected).max() / np.abs(expected).max())
    assert errors[2] < 1e-4
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 10.0, rtol=0.05)  # damping acts at the end


def test_stiff_springs_are_implicit_and_bring_the_joint_to_rest() -> None:
    d = arm(stiffness=[0.0, 0.0, 1e9], v=(0, 0, 1.0), damping=1.0)
    for _ in range(50):
        d.prepare()
        d.advance(d.arrays.v_star.copy())
    assert abs(d.arrays.q[3] - Q[3]) < 1e-6 and abs(d.arrays.v[2]) < 1e-6


def test_states_of_links_are_pinocchios_placements() -> None:
    root = pin.SE3(Rotation.from_rotvec([0, 0.3, 0]).as_matrix(), np.array([1.0, 2.0, 3.0]))
    d = arm(position=root.translation, orientation=Rotation.from_matrix(root.rotation).as_quat())
    model = pin.buildModelFromUrdf(str(ARM))
    data = model.createData()
    pin.forwardKinematics(model, data, Q, V)
    for joint, name in ((1, "upper"), (2, "lower"), (3, "hand")):
        s, placement = d.state(f"arm/{name}"), root * data.oMi[joint]
        np.testing.assert_allclose(s.position, placement.translation, atol=1e-14)
        np.testing.assert_allclose(Rotation.from_quat(s.orientation).as_matrix(), placement.rotation, atol=1e-14)
        motion = pin.getVelocity(model, data, joint, pin.LOCAL_WORLD_ALIGNED)
        np.testing.assert_allclose(s.velocity, root.rotation @ motion.linear, atol=1e-13)
        np.testing.assert_allclose(s.angular_velocity, root.rotation @ motion.angular, atol=1e-13)
    np.testing.assert_allclose(d.state("arm/base").position, root.translation, atol=1e-15)


def test_limits_and_damping_are_read_from_the_file() -> None:
    d = arm()
    limits = d.joint_limits()
    np.testing.assert_array_equal(limits.velocity, [1, 2])
    np.testing.assert_array_equal(limits.coordinate, [2, 3])
    np.testing.assert_allclose(limits.lower, [-2.0, 0.02])
    np.testing.assert_allclose(limits.upper, [3.1, 3.2])


def test_the_start_lies_within_the_limits() -> None:
    w = World()
    w.add_urdf("arm", ARM)
    np.testing.assert_allclose(w.trees[0].q, [1, 0, 0, 0.02])


def test_shapes_of_the_file_become_geometries_with_meshes_as_hulls() -> None:
    w = World()
    w.add_urdf("arm", ARM, material=Material(friction=0.9))
    names = [body.name for body in w.bodies]
    assert names == ["arm/base", "arm/upper", "arm/lower", "arm/hand"]
    kinds = [[g.shape.name for g in body.geometries] for body in w.bodies]
    assert kinds == [["cylinder"], ["cylinder"], ["box"], ["sphere", "hull"]]
    assert isinstance(w.bodies[2].geometries[0].shape, Box)
    wedge = w.bodies[3].geometries[1]
    assert isinstance(wedge.shape, Hull)
    np.testing.assert_allclose(wedge.shape.extent, [0.03, 0.04, 0.07], atol=1e-12)  # scaled by the file
    np.testing.assert_allclose(wedge.placement.position, [0.05, 0, 0])
    assert {g.material.friction for body in w.bodies for g in body.geometries} == {0.9}


def test_links_that_a_joint_connects_do_not_collide() -> None:
    w = World()
    w.add_urdf("arm", ARM)
    assert w.disabled == {(0, 1), (1, 2), (2, 3)}
    free = World()
    free.add_urdf("arm", ARM, self_collision=False)
    assert free.disabled == {(i, j) for i in range(4) for j in range(i + 1, 4)}


def test_a_floating_tree_falls_freely_and_keeps_its_momentum() -> None:
    w = World()
    w.add_urdf(
        "arm", ARM, floating=True, position=(0, 0, 1), damping=0.0, v=np.array([0.1, 0.2, 0.3, 1, 2, 3, 1, -1, 0.1])
    )
    d = WorldDynamics(w, period=1e-4)
    model, a = d.tree_models[0].model, d.arrays
    np.testing.assert_allclose(a.q[:7], [0, 0, 1, 0, 0, 0, 1])
    momentum = []
    for step in range(201):
        if step in (0, 200):
            data = model.createData()
            pin.computeCentroidalMomentum(model, data, a.q, a.v)
            momentum.append(data.hg.copy())
        d.prepare()
        d.advance(d.arrays.v_star.copy())
    mass = sum(inertia.mass for inertia in model.inertias)
    np.testing.assert_allclose(momentum[1].linear - momentum[0].linear, [0, 0, -9.81 * mass * 0.02], atol=2e-3)
    np.testing.assert_allclose(momentum[1].angular, momentum[0].angular, atol=2e-3)


def test_two_arms_and_free_bodies_keep_their_places_in_the_state() -> None:
    w = World()
    w.add_sphere("ball", mass=1.0, radius=0.1, position=(5, 0, 0))
    w.add_urdf("left", ARM, position=(0, 1, 0))
    w.add_urdf("right", ARM, position=(0, -1, 0), v=V)
    d = WorldDynamics(w, period=PERIOD)
    a = d.arrays
    np.testing.assert_array_equal(a.tree_q, [0, 4, 8, 15])
    np.testing.assert_array_equal(a.tree_v, [0, 3, 6, 12])
    np.testing.assert_array_equal(a.v[3:6], V)
    np.testing.assert_array_equal(a.q[8:11], [5, 0, 0])
    d.prepare()
    np.testing.assert_allclose(d.state("right/upper").position, [0, -1, 0.2])
    assert a.v_star[11] == 0 and a.v_star[8] == pytest.approx(-9.81 * PERIOD)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"path": "no.urdf"}, "arm: no.urdf: cannot be read: No such file"),
        ({"q": (1, 2)}, "arm: q: expected 4 finite numbers"),
        ({"v": (1, 2)}, "arm: v: expected 3 finite numbers"),
        ({"armature": (1, 2)}, "arm: armature: expected 3 finite numbers"),
        ({"stiffness": -1.0}, "arm: stiffness: expected no negative numbers"),
        ({"position": (0, 0)}, "arm: position: expected 3 finite numbers"),
    ],
)
def test_error_names_the_option_that_does_not_fit(options: dict[str, Any], expected: str) -> None:
    w = World()
    with pytest.raises(WorldError) as caught:
        w.add_urdf("arm", **{"path": ARM} | options)
    assert str(caught.value).startswith(expected)
    assert not w.bodies and not w.trees and not w.disabled


def test_a_joint_that_moves_no_mass_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.urdf"
    limit = "<limit lower='0' upper='1' effort='1' velocity='1'/>"
    joint = f"<joint name='j' type='revolute'><parent link='a'/><child link='b'/>{limit}</joint>"
    path.write_text(f"<robot name='x'><link name='a'/><link name='b'/>{joint}</robot>")
    w = World()
    with pytest.raises(WorldError, match=r"^x: x\.urdf: joint \w+ moves no mass"):
        w.add_urdf("x", path)
    w.add_urdf("x", path, armature=0.1)
    with pytest.raises(WorldError, match="name: 'x' is empty or taken"):
        w.add_urdf("x", path)


def test_a_file_that_is_no_urdf_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.urdf"
    path.write_text("<robot name='x'><link name='a'/><joint name='j' type='revolute'/></robot>")
    with pytest.raises(WorldError, match=r"^arm: x\.urdf: "):
        World().add_urdf("arm", path)
