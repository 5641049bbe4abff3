"""The controller of Fig. 2: ideal displays, feedback and deadband."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from admittance_displays import GAINS, GOAL, PERIOD, QUIET, Servo, hand, made, off, pose, same, settled
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from admittance_constraints import (
    AdmittanceController,
    DiskOnSphere,
    DisplayTransform,
    FourBar,
    Mechanism,
    ReferenceGenerator,
    RollingDisk,
    TwoLinkOnCircle,
)
from admittance_constraints.display.feedback import pose_difference

# --- an ideal display -------------------------------------------------------------------------------------------

MOVING: dict[str, tuple[Mechanism, dict[str, Any]]] = {
    "rolling_disk": (RollingDisk(inertia=(0.0015, 0.0025, 0.004)), {"z": [0.03, -0.02, 0.4, 0.7]}),
    "disk_on_sphere": (DiskOnSphere(center=(0.1, 0.0, -0.05)), {"z": [0.4, 0.2, 1.2], "orientation": "quaternion"}),
    "two_link": (TwoLinkOnCircle(), {"z": [0.4]}),
    "four_bar": (FourBar(), {}),
}


@pytest.mark.slow
@pytest.mark.covering
@pytest.mark.parametrize("gains", [None, GAINS], ids=["poses", "velocities"])
@pytest.mark.parametrize("name", MOVING)
def test_an_ideal_display_moves_as_the_generator_in_the_placed_frames(name: str, gains: dict[str, Any] | None) -> None:
    """Its measured pose is what was commanded; SciPy rotates wrench and motion here."""
    mechanism, start = MOVING[name]
    random = np.random.default_rng(4)
    origin, (frame, tool) = random.normal(size=3), Rotation.random(2, random_state=5)
    g = ReferenceGenerator(mechanism, period=PERIOD, compiled=False, **start)
    there = Rotation.from_quat(g.pose[1])
    measured = np.concatenate([origin + frame.apply(g.pose[0]), (frame * there * tool.inv()).as_quat()])
    options = {"orientation": start["orientation"]} if "orientation" in start else {}
    controller = made(mechanism, gains=gains, generator=options)
    controller.placement = DisplayTransform(origin, frame.as_quat(), tool.as_quat())
    for k in range(120):
        wrench = hand(k)
        r = g.step(wrench=np.concatenate([frame.inv().apply(wrench[:3]), frame.inv().apply(wrench[3:])]))
        motion = controller.step(measured, wrench)
        turned = frame * Rotation.from_quat(r.orientation) * tool.inv()
        # the start is found by a search whose last step is below 1e-8, and is rounding then (quadratic); 120 steps
        # with accelerations of up to 30 carry it on
        np.testing.assert_allclose(motion.pose[:3], origin + frame.apply(r.x[:3]), atol=1e-12)
        assert (Rotation.from_quat(motion.pose[3:]).inv() * turned).magnitude() < 1e-11
        for found, expected in ((motion.twist, r.twist), (motion.acceleration, r.twist_rate)):
            moved = np.concatenate([frame.apply(expected[:3]), frame.apply(expected[3:])])
            np.testing.assert_allclose(found, moved, atol=1e-9)
        assert not controller.waiting
        measured = motion.pose
    assert np.abs(r.z_velocity).max() > 0.01


def test_state_of_the_given_generator_does_not_matter() -> None:
    """The reference starts at the point next to the tool, at rest."""
    controller = made(generator={"z": [0.5, 0.5, 1.0, 1.0], "z_velocity": [0.0, 0.0, 2.0, 0.0]})
    motion = controller.step(pose([0.01, 0.02, 0.03]), QUIET)
    np.testing.assert_allclose(motion.pose[:3], [0.01, 0.02, 0.03], atol=1e-15)
    np.testing.assert_array_equal(motion.twist, 0.0)


def test_light_bulb_rotates_with_the_moment_of_the_user() -> None:
    """Frame upside down and tool on its side: a moment about the base's z rotates the disk by M t^2 / (2 J)."""
    down = Rotation.from_euler("x", 180, degrees=True)
    side = Rotation.from_euler("x", 90, degrees=True)
    controller = made(RollingDisk(inertia=(0.0025, 0.0025, 0.0025)))
    controller.placement = DisplayTransform([0, 0, 0.03], down.as_quat(), side.as_quat())
    measured = np.array([0.0, 0.0, 0.0, *down.as_quat()])
    for _ in range(200):
        measured = controller.step(measured, np.array([0, 0, 0, 0, 0, 0.01])).pose
    np.testing.assert_allclose(measured[:3], 0.0, atol=1e-15)
    turned = (Rotation.from_quat(measured[3:]) * down.inv()).as_rotvec()
    np.testing.assert_allclose(turned, [0, 0, 0.01 * 0.2**2 / (2 * 0.0025)], atol=1e-13)


# --- feedback ---------------------------------------------------------------------------------------------------


def errors_of(controller: AdmittanceController, display: Servo, ticks: int, goal: np.ndarray) -> np.ndarray:
    """Gives [along x; about z] of the display from a goal without a force of the user, before each step."""
    rows = []
    for _ in range(ticks):
        difference = pose_difference(goal, display.pose)
        rows.append(difference[[0, 5]])
        display.follow(controller.step(display.pose, QUIET))
    return np.array(rows)


@pytest.mark.covering(2)
@pytest.mark.parametrize(("lag", "delay"), [(0.0, 0), (0.004, 0), (0.004, 2), (0.01, 3)])
def test_the_error_is_that_of_the_linear_loop(lag: float, delay: int) -> None:
    """State e, filtered e', integral of e, c, the servo's velocity and its queue, by powers of one matrix."""
    display = Servo(off(0.001, -0.01), lag=lag, delay=delay)
    controller = settled(display, derivative_cutoff=80.0)
    controller._reset_feedback()  # the error jumps before the first difference is taken
    found = errors_of(controller, display, 400, GOAL)
    cutoff, T = 1.0 - np.exp(-2 * np.pi * 80.0 * PERIOD), PERIOD
    K_p, K_i, K_d = (GAINS[name] for name in ("proportional", "integral", "derivative"))
    servo = expm(T * np.array([[-1 / lag, 1 / lag, 0], [0, 0, 0], [1, 0, 0]])) if lag else np.array([[0, 1, 0]] * 3)
    way = servo[2] if lag else np.array([0.0, T, 0.0])
    E, R, S, C, V, OLD, FIRST = range(7)
    unit = np.eye(6 + delay)
    rate = (1 - cutoff) * unit[R] + cutoff / T * (unit[E] - unit[OLD])
    total = unit[S] + T * unit[E]
    c = unit[C] + T * (K_p * unit[E] + K_i * total + K_d * rate)
    command = unit[FIRST] if delay else c
    matrix = np.zeros_like(unit)
    matrix[E] = unit[E] - way[0] * unit[V] - way[1] * command
    matrix[R], matrix[S], matrix[C], matrix[OLD] = rate, total, c, unit[E]
    matrix[V] = servo[0, 0] * unit[V] + servo[0, 1] * command
    if delay:
        matrix[FIRST:-1], matrix[-1] = unit[FIRST + 1 :], c
    assert np.abs(np.linalg.eigvals(matrix)).max() < 1.0
    state, expected = np.zeros((6 + delay, 2)), []
    state[E] = state[OLD] = found[0]
    for _ in found:
        expected.append(state[E])
        state = matrix @ state
    # rounding of quaternions, 1e-16, in the differences over a period is amplified by K_d / T and integrated
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert np.abs(found[-1]).max() < 0.05 * np.abs(found[0]).max()


@pytest.mark.slow
def test_the_error_of_an_ideal_servo_has_three_poles_at_25_per_second() -> None:
    """e(t) = e(0) (1 + 25 t - 625 t^2) exp(-25 t), from e'(0) = 0, e''(0) = -K_p e(0)."""
    display = Servo(off(0.001, 0.01), period=1e-4)
    controller = settled(display, derivative_cutoff=1e5)
    controller._reset_feedback()
    found = errors_of(controller, display, 4000, GOAL)
    t = 25.0 * display.period * np.arange(4000)
    # Euler's method is T/2 times the fastest rate of change, K_p/K_d = 25/s, late, with K_d T = 0.75 % beside it
    np.testing.assert_allclose(found / found[0], np.tile((1 + t - t * t) * np.exp(-t), (2, 1)).T, atol=0.01)


@pytest.mark.slow
@pytest.mark.covering(1)
@pytest.mark.parametrize(("integral", "left"), [(GAINS["integral"], 0.0), (0.0, 0.5 / GAINS["proportional"])])
def test_integral_removes_the_error_of_a_constant_disturbance(integral: float, left: float) -> None:
    """A velocity that drifts by d = 0.5 m/s^2 leaves d/K_p, or nothing with K_i; a constant one leaves nothing."""
    for drift in (False, True):
        display = Servo(GOAL)
        controller = settled(display, gains={**GAINS, "integral": integral}, largest_correction=(10.0, 10.0))
        for k in range(1500):
            display.follow(controller.step(display.pose, QUIET), 0.5 * PERIOD * k if drift else 0.05)
        error = pose_difference(display.pose, GOAL)
        # exp(-25 * 1.5) is left of the beginning
        np.testing.assert_allclose(error, [left if drift else 0.0, 0, 0, 0, 0, 0], atol=1e-9)


@pytest.mark.parametrize("axis", range(6))
def test_the_correction_pulls_the_display_to_the_reference_along_and_about_every_axis(axis: int) -> None:
    controller = settled(Servo(GOAL))
    offset = 1e-4 * np.eye(6)[axis]
    turn = Rotation.from_rotvec(offset[3:]) * Rotation.from_quat(GOAL[3:])
    motion = controller.step(np.concatenate([GOAL[:3] + offset[:3], turn.as_quat()]), QUIET)
    cutoff = 1.0 - np.exp(-2 * np.pi * 50.0 * PERIOD)  # e went from 0 to 1e-4 in a period
    pull = -1e-4 * (GAINS["proportional"] + GAINS["integral"] * PERIOD + GAINS["derivative"] * cutoff / PERIOD)
    np.testing.assert_allclose(motion.acceleration, pull * np.eye(6)[axis], atol=1e-10)
    np.testing.assert_allclose(motion.twist, PERIOD * pull * np.eye(6)[axis], atol=1e-13)


def test_command_is_bounded_and_its_acceleration_is_the_rate_of_its_velocity() -> None:
    """The reference's own acceleration is that at the beginning of the period, and is taken off on both sides."""
    controller = made(gains=GAINS, largest_correction=(0.02, 0.1), largest_lead=(1.0, 3.0))
    display, before, saturated = Servo(GOAL, lag=0.02), np.zeros(6), 0
    for k in range(600):
        motion = controller.step(display.pose, hand(k))
        reference = controller.motion
        assert reference is not None
        c, rate = motion.twist - reference.twist, motion.acceleration - reference.acceleration
        assert (np.abs(c) <= np.repeat([0.02, 0.1], 3) + 1e-15).all()
        np.testing.assert_allclose(c - before, PERIOD * rate, atol=1e-13)
        saturated += int((np.abs(c) >= np.repeat([0.02, 0.1], 3) - 1e-15).any())
        before = c
        display.follow(motion)
    assert 50 < saturated < 550


def released(held: int, bound: float = 0.2) -> np.ndarray:
    """Gives positions along x of a display after its release, blocked before 10 mm beside the reference [m]."""
    display = Servo(GOAL, lag=0.004)
    controller = settled(display, largest_correction=(bound, 2.0))
    display.pose = off(0.01, 0.0)
    places = []
    for k in range(held + 600):
        motion = controller.step(display.pose, QUIET)
        if k >= held:
            display.follow(motion)
            places.append(display.pose[0])
    return np.array(places)


@pytest.mark.slow
def test_return_of_a_blocked_display_does_not_depend_on_how_long_it_was_blocked() -> None:
    """c is at its bound after 10 ms: after two seconds the display comes back as after 0.1 s."""
    short, long = released(100), released(2000)
    # the same, except how an error of 1e-19 m in the reference's position arises
    np.testing.assert_allclose(short, long, rtol=0.0, atol=1e-15)
    # it arrives at 0.2 m/s and K_d/K_p = 40 ms away from where it would brake by itself: 8 mm beyond at most
    assert -0.008 < long.min() < 0.0 and abs(long[-1]) < 1e-4


def test_integral_goes_back_while_the_correction_is_at_its_bound() -> None:
    controller = settled(Servo(GOAL), gains={"proportional": 100.0, "integral": 1e5, "derivative": 0.0})
    assert controller.feedback is not None
    for _ in range(100):  # the bound is reached after 19 periods of 10 mm
        controller.step(off(0.01, 0.0), QUIET)
    held = controller.feedback.error_integral
    assert held[0] == pytest.approx(-19 * 0.01 * PERIOD, abs=0.011 * PERIOD) and np.abs(held[1:]).max() < 1e-15
    motion = controller.step(off(-0.001, 0.0), QUIET)  # the error has changed sign, c is still at its bound
    assert motion.twist[0] == -0.2
    assert controller.feedback.error_integral[0] == pytest.approx(held[0] + 0.001 * PERIOD, abs=1e-12)


# --- deadband ---------------------------------------------------------------------------------------------------


def test_deadband_is_subtracted_from_the_magnitude_of_force_and_moment() -> None:
    random = np.random.default_rng(6)
    start = pose([0.0, 0.0, 0.03])
    one, other = made(force_deadband=0.5, moment_deadband=0.01), made()
    for _ in range(50):
        wrench = random.normal(size=6) * np.repeat([0.5, 0.01], 3)
        shrunk = np.zeros(6)
        for rows, band in ((slice(0, 3), 0.5), (slice(3, 6), 0.01)):
            size = np.linalg.norm(wrench[rows])
            if size > band:
                shrunk[rows] = wrench[rows] / size * (size - band)
        given = wrench.copy()
        one_motion, other_motion = one.step(start, wrench), other.step(start, shrunk)
        # the direction is taken by a division here and not there
        np.testing.assert_allclose(one_motion.twist, other_motion.twist, atol=1e-14)
        np.testing.assert_array_equal(wrench, given)


def test_within_the_deadband_no_bit_moves() -> None:
    controller, start = made(force_deadband=0.5, moment_deadband=0.01), pose([0.0, 0.0, 0.03])
    first = controller.step(start, QUIET)
    for angle in np.linspace(0.0, 6.0, 20):
        wrench = np.array([0.49 * np.cos(angle), 0.49 * np.sin(angle), 0, 0, 0.0099 * np.sin(angle), 0.0])
        same(controller.step(start, wrench), first)
    assert controller.step(start, np.array([0, 0, 0, 0, 0, 0.0101])).twist[5] > 0.0
