"""Free rigid bodies: state, A, free motion, integration."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

from convex_contact import Material, World, WorldDynamics
from convex_contact.model.bodies import rotate_quaternion, rotate_quaternion_linearly, write_pose, write_quaternion

GRAVITY = np.array([0.0, 0.0, -9.81])


def lone(
    period: float = 1e-3, linear_rotation: bool = False, gravity: object = GRAVITY, **body: object
) -> WorldDynamics:
    w = World(gravity=np.asarray(gravity))
    w.add_box("b", size=(0.1, 0.2, 0.3), material=Material(), **{"mass": 2.0} | body)
    return WorldDynamics(w, period=period, linear_rotation=linear_rotation)


def run(d: WorldDynamics, steps: int) -> None:
    for _ in range(steps):
        d.prepare()
        d.advance(d.arrays.v_star.copy())


def test_a_pose_is_that_of_the_normalised_quaternion() -> None:
    turn, pose = Rotation.from_rotvec([0.4, -0.8, 1.1]), np.empty(12)
    for size in (1.0, 3.0):
        write_pose(pose, np.concatenate([[1.0, 2.0, 3.0], size * turn.as_quat()]))
        np.testing.assert_allclose(pose[:9].reshape(3, 3), turn.as_matrix(), rtol=0, atol=1e-15)
        assert pose[9:].tolist() == [1.0, 2.0, 3.0]


def test_the_quaternion_of_a_pose_is_eigen_s_to_the_last_bit() -> None:
    turns = [*Rotation.random(200, random_state=0), *(Rotation.from_rotvec(np.pi * axis) for axis in np.eye(3))]
    for turn in turns:
        matrix, out = turn.as_matrix(), np.empty(4)
        write_quaternion(np.concatenate([matrix.ravel(), np.zeros(3)]), out)
        np.testing.assert_array_equal(out, pin.Quaternion(matrix).coeffs())


def test_block_of_a_is_mass_and_turned_inertia() -> None:
    turn = Rotation.from_rotvec([0.4, -1.0, 0.3])
    d = lone(orientation=turn.as_quat())
    d.prepare()
    inertia = 2.0 / 12 * np.diag([0.04 + 0.09, 0.01 + 0.09, 0.01 + 0.04])
    expected = np.zeros((6, 6))
    expected[:3, :3], expected[3:, 3:] = 2.0 * np.eye(3), turn.as_matrix() @ inertia @ turn.as_matrix().T
    np.testing.assert_allclose(d.arrays.A[0], expected, atol=1e-16)


def test_free_fall_is_that_of_symplectic_euler() -> None:
    d = lone(position=(1, 2, 3), velocity=(0.5, 0, 1))
    n, dt = 400, d.period
    run(d, n)
    s = d.state("b")
    np.testing.assert_allclose(s.velocity, np.array([0.5, 0, 1]) + n * dt * GRAVITY, rtol=1e-12)
    expected = np.array([1, 2, 3]) + n * dt * np.array([0.5, 0, 1]) + dt**2 * n * (n + 1) / 2 * GRAVITY
    np.testing.assert_allclose(s.position, expected, rtol=1e-12)
    assert d.time == pytest.approx(n * dt)


def test_applied_wrench_accelerates_as_newton_and_euler_say() -> None:
    turn = Rotation.from_rotvec([0.4, -1.0, 0.3])
    omega = np.array([3.0, -2.0, 5.0])
    d = lone(orientation=turn.as_quat(), angular_velocity=omega, gravity=(0, 0, 0))
    d.arrays.body_wrench[0] = [1, 2, 3, 0.4, 0.5, 0.6]
    d.prepare()
    inertia = d.arrays.A[0, 3:, 3:]
    angular = np.linalg.solve(inertia, np.array([0.4, 0.5, 0.6]) - np.cross(omega, inertia @ omega))
    np.testing.assert_allclose(d.arrays.v_star[:3], d.period * np.array([1, 2, 3]) / 2.0, rtol=1e-13)
    np.testing.assert_allclose(d.arrays.v_star[3:], omega + d.period * angular, rtol=1e-13)


def top_error(period: float, linear: bool) -> float:
    """Angle between the symmetry axis of a torque-free symmetric top and its closed form after 0.5 s, rad."""
    spin, transverse, slow, fast = 2e-3, 4e-3, 3.0, 20.0
    w = World(gravity=(0, 0, 0))
    omega = np.array([slow, 0.0, fast])
    w.add_sphere("top", mass=1.0, radius=0.1, inertia=(transverse, transverse, spin), angular_velocity=omega)
    d = WorldDynamics(w, period=period, linear_rotation=linear)
    run(d, round(0.5 / period))
    momentum = np.array([transverse * slow, 0.0, spin * fast])
    rate = np.linalg.norm(momentum) / transverse  # of the precession about the momentum
    axis = Rotation.from_rotvec(momentum / np.linalg.norm(momentum) * rate * 0.5).apply([0, 0, 1])
    actual = Rotation.from_quat(d.state("top").orientation).apply([0, 0, 1])
    return float(np.linalg.norm(actual - axis))


@pytest.mark.parametrize("linear", [False, True])
def test_torque_free_top_precesses_as_in_closed_form_at_first_order(linear: bool) -> None:
    errors = [top_error(period, linear) for period in (4e-4, 2e-4, 1e-4)]
    assert errors[2] < 5e-3
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 2.0, rtol=0.05)


def test_exponential_map_is_exact_and_the_linear_one_of_third_order() -> None:
    start = Rotation.from_rotvec([0.3, 0.2, -0.7])
    angle = []
    for size in (0.2, 0.1):
        r = size * np.array([0.6, 0.0, -0.8])
        exact = Rotation.from_rotvec(r) * start
        quaternion = np.array(rotate_quaternion(*start.as_quat(), *r))
        assert (exact.inv() * Rotation.from_quat(quaternion)).magnitude() < 1e-15
        linear = Rotation.from_quat(np.array(rotate_quaternion_linearly(*start.as_quat(), *r)))
        angle.append((exact.inv() * linear).magnitude())
    assert angle[0] / angle[1] == pytest.approx(8.0, rel=0.02)
    assert angle[1] == pytest.approx(0.1**3 / 12, rel=0.01)


@pytest.mark.parametrize("size", [0.0, 1e-9, 0.99e-4, 1.01e-4, 3.0])
def test_small_and_large_turns_join(size: float) -> None:
    exact = Rotation.from_rotvec([0, 2 * size, 0])
    q = np.array(rotate_quaternion(0.0, 0.0, 0.0, 1.0, 0.0, 2 * size, 0.0))
    np.testing.assert_allclose(q * np.sign(q[3]), exact.as_quat() * np.sign(exact.as_quat()[3]), atol=1e-16)


def test_which_rotation_is_integrated_is_the_users_choice() -> None:
    states = []
    for linear in (False, True):
        d = lone(period=0.1, linear_rotation=linear, angular_velocity=(0, 0, 1.0), gravity=(0, 0, 0))
        run(d, 1)
        states.append(Rotation.from_quat(d.state("b").orientation).magnitude())
    np.testing.assert_allclose(states, [0.1, 2 * np.arctan(0.05)], rtol=1e-12)


def test_a_body_whose_frame_is_not_at_its_centre_turns_about_its_centre() -> None:
    c = np.array([0.1, 0.0, 0.0])
    turn = Rotation.from_rotvec([0, 0, 0.5])
    d = lone(center=c, orientation=turn.as_quat(), angular_velocity=(0, 0, 2.0), velocity=(0, 0, 0), gravity=(0, 0, 0))
    before = d.state("b")
    np.testing.assert_allclose(before.position, 0, atol=1e-16)
    np.testing.assert_allclose(before.velocity, 0, atol=1e-16)
    centre = before.position + turn.apply(c)
    speed = np.cross([0, 0, 2.0], turn.apply(c))
    run(d, 100)
    after = d.state("b")
    np.testing.assert_allclose(
        after.position + Rotation.from_quat(after.orientation).apply(c), centre + 0.1 * speed, atol=1e-12
    )


def test_reset_returns_to_the_start() -> None:
    d = lone(position=(1, 2, 3), angular_velocity=(1, 2, 3))
    q, v = d.arrays.q.copy(), d.arrays.v.copy()
    d.arrays.body_wrench[0] = 1.0
    run(d, 10)
    assert not np.array_equal(d.arrays.q, q)
    d.reset()
    np.testing.assert_array_equal(d.arrays.q, q)
    np.testing.assert_array_equal(d.arrays.v, v)
    assert d.time == 0 and not d.arrays.body_wrench.any()


def test_period_and_threshold_must_be_positive() -> None:
    for name in ("period", "threshold"):
        with pytest.raises(ValueError, match=f"^{name}: expected more than 0, got 0.0$"):
            WorldDynamics(World(), **{"period": 1e-3} | {name: 0})
