"""The controller of Fig. 2 on displays that are ideal, slow, late, disturbed, blocked, or do not obey.

Displays and placements are modelled here anew, with rotations of SciPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from admittance_constraints import (
    AdmittanceController,
    DiskOnSphere,
    FourBar,
    FreeDirectionFriction,
    Mechanism,
    Pendulum,
    PIDFeedback,
    Placement,
    PointOnSurface,
    ReferenceGenerator,
    RollingDisk,
    SingularConfigurationError,
    ToolMotion,
    TwoLinkOnCircle,
)
from admittance_constraints.display.feedback import pose_difference
from haptic_friction import CoulombLaw

PERIOD = 1e-3
#: the node's defaults: with an ideal servo and no filter the error's poles are all at 25 rad/s
GAINS: dict[str, Any] = {"proportional": 1875.0, "integral": 15625.0, "derivative": 75.0}
QUIET = np.zeros(6)
#: has no state, and takes time to derive
DISK = RollingDisk()


def pose(position: Any, turn: Rotation | None = None) -> np.ndarray:
    """A pose (7,); without a turn the upright disk's, heading along -x: Rx(90 degrees)."""
    turn = Rotation.from_euler("x", 90, degrees=True) if turn is None else turn
    return np.concatenate([position, turn.as_quat()])


def made(
    mechanism: Mechanism | None = None,
    *,
    period: float = PERIOD,
    gains: dict[str, Any] | None = None,
    generator: dict[str, Any] | None = None,
    **options: Any,
) -> AdmittanceController:
    """A controller; with gains it commands velocities, without it commands poses."""
    g = ReferenceGenerator(mechanism or DISK, period=period, compiled=False, **(generator or {}))
    feedback = None if gains is None else PIDFeedback(period=period, **gains)
    return AdmittanceController(g, feedback=feedback, **options)


def same(one: ToolMotion, other: ToolMotion) -> None:
    """To the last bit."""
    for name in ("pose", "twist", "acceleration"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def hand(k: int) -> np.ndarray:
    """A wrench of the user [N; N m] that pushes and turns."""
    return np.sin(0.011 * k * np.arange(1, 7) + np.arange(6)) * [2.0, 2.0, 2.0, 0.02, 0.02, 0.02]


# --- placement --------------------------------------------------------------------------------------------------


@pytest.fixture(params=range(5))
def placed(request: pytest.FixtureRequest) -> tuple[Placement, np.ndarray, Rotation, Rotation]:
    """A placement with its position and rotations as SciPy has them."""
    random = np.random.default_rng(request.param)
    origin, (frame, tool) = random.normal(size=3), Rotation.random(2, random_state=request.param)
    return Placement(origin, frame.as_quat(), tool.as_quat()), origin, frame, tool


def test_a_placement_is_two_rotations_and_an_origin(placed: tuple[Placement, np.ndarray, Rotation, Rotation]) -> None:
    place, origin, frame, tool = placed
    virtual, p = Rotation.random(random_state=9), np.array([0.3, -0.2, 0.5])
    found = place.outside(p, virtual.as_quat())
    # a dozen products of numbers of order one
    np.testing.assert_allclose(found[:3], origin + frame.apply(p), atol=1e-15)
    turned = frame * virtual * tool.inv()
    assert (Rotation.from_quat(found[3:]).inv() * turned).magnitude() < 4e-15
    np.testing.assert_allclose(place.vector(np.arange(6.0))[:3], frame.apply([0, 1, 2]), atol=1e-14)
    np.testing.assert_allclose(place.wrench(np.arange(6.0))[3:], frame.inv().apply([3, 4, 5]), atol=1e-14)


def test_a_placement_there_and_back(placed: tuple[Placement, np.ndarray, Rotation, Rotation]) -> None:
    place = placed[0]
    p, Q = np.array([0.3, -0.2, 0.5]), Rotation.random(random_state=9).as_quat()
    there = place.outside(p, Q)
    back, turned = place.inside(there)
    np.testing.assert_allclose(back, p, atol=1e-15)
    assert abs(turned @ Q) == pytest.approx(1.0, abs=1e-15)
    np.testing.assert_allclose(place.outside(back, turned), there, atol=1e-15)


def test_a_placement_keeps_the_power(placed: tuple[Placement, np.ndarray, Rotation, Rotation]) -> None:
    place = placed[0]
    wrench, twist = np.random.default_rng(1).normal(size=(2, 6))
    assert place.wrench(wrench) @ twist == pytest.approx(wrench @ place.vector(twist), abs=1e-14)


def test_a_quaternion_that_was_rounded_is_brought_to_length_one() -> None:
    rounded = np.array([0.707, 0.0, 0.0, 0.707])
    place = Placement(orientation=rounded, tool_orientation=rounded)
    np.testing.assert_allclose(place.rotation.T @ place.rotation, np.eye(3), atol=1e-15)
    # frame and tool cancel
    np.testing.assert_allclose(place.outside(np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))[3:], [0, 0, 0, 1], atol=1e-15)


@pytest.mark.parametrize("angle", [0.0, 1e-13, 1e-8, 0.3, 3.0, np.pi - 1e-9])
def test_the_difference_of_poses_is_that_of_scipy(angle: float) -> None:
    random = np.random.default_rng(2)
    axis = random.normal(size=3)
    axis /= np.linalg.norm(axis)
    start, turn = Rotation.random(random_state=3), Rotation.from_rotvec(angle * axis)
    p, way = random.normal(size=(2, 3))
    for sign in (1.0, -1.0):  # Q and -Q are one orientation
        target = np.concatenate([p + way, sign * (turn * start).as_quat()])
        found = pose_difference(target, np.concatenate([p, start.as_quat()]))
        np.testing.assert_allclose(found, [*way, *(angle * axis)], atol=1e-14)  # of a product of unit quaternions


# --- an ideal display -------------------------------------------------------------------------------------------

MOVING: dict[str, tuple[Mechanism, dict[str, Any]]] = {
    "rolling_disk": (RollingDisk(inertia=(0.0015, 0.0025, 0.004)), {"z": [0.03, -0.02, 0.4, 0.7]}),
    "disk_on_sphere": (DiskOnSphere(center=(0.1, 0.0, -0.05)), {"z": [0.4, 0.2, 1.2], "orientation": "quaternion"}),
    "two_link": (TwoLinkOnCircle(), {"z": [0.4]}),
    "four_bar": (FourBar(), {}),
}


@pytest.mark.covering
@pytest.mark.parametrize("gains", [None, GAINS], ids=["poses", "velocities"])
@pytest.mark.parametrize("name", MOVING)
def test_an_ideal_display_moves_as_the_generator_in_the_placed_frames(name: str, gains: dict[str, Any] | None) -> None:
    """Its measured pose is what was commanded; wrench in and motion out are turned here by SciPy."""
    mechanism, start = MOVING[name]
    random = np.random.default_rng(4)
    origin, (frame, tool) = random.normal(size=3), Rotation.random(2, random_state=5)
    g = ReferenceGenerator(mechanism, period=PERIOD, compiled=False, **start)
    there = Rotation.from_quat(g.pose[1])
    measured = np.concatenate([origin + frame.apply(g.pose[0]), (frame * there * tool.inv()).as_quat()])
    options = {"orientation": start["orientation"]} if "orientation" in start else {}
    controller = made(mechanism, gains=gains, generator=options)
    controller.placement = Placement(origin, frame.as_quat(), tool.as_quat())
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


def test_where_the_generator_stood_does_not_matter() -> None:
    """The reference starts at the point next to the tool, at rest."""
    controller = made(generator={"z": [0.5, 0.5, 1.0, 1.0], "z_velocity": [0.0, 0.0, 2.0, 0.0]})
    motion = controller.step(pose([0.01, 0.02, 0.03]), QUIET)
    np.testing.assert_allclose(motion.pose[:3], [0.01, 0.02, 0.03], atol=1e-15)
    np.testing.assert_array_equal(motion.twist, 0.0)


def test_a_light_bulb_turns_where_the_user_turns_it() -> None:
    """Frame upside down and tool on its side: a moment about the base's z turns the disk by M t^2 / (2 J)."""
    down = Rotation.from_euler("x", 180, degrees=True)
    side = Rotation.from_euler("x", 90, degrees=True)
    controller = made(RollingDisk(inertia=(0.0025, 0.0025, 0.0025)))
    controller.placement = Placement([0, 0, 0.03], down.as_quat(), side.as_quat())
    measured = np.array([0.0, 0.0, 0.0, *down.as_quat()])
    for _ in range(200):
        measured = controller.step(measured, np.array([0, 0, 0, 0, 0, 0.01])).pose
    np.testing.assert_allclose(measured[:3], 0.0, atol=1e-15)
    turned = (Rotation.from_quat(measured[3:]) * down.inv()).as_rotvec()
    np.testing.assert_allclose(turned, [0, 0, 0.01 * 0.2**2 / (2 * 0.0025)], atol=1e-13)


# --- feedback ---------------------------------------------------------------------------------------------------


class Servo:
    """A display whose velocity follows the command with a time constant [s] and a delay [ticks].

    A disturbance [m/s] adds to its velocity along x.
    """

    def __init__(self, start: np.ndarray, *, lag: float = 0.0, delay: int = 0, period: float = PERIOD) -> None:
        self.pose, self.velocity, self.period = start.copy(), np.zeros(6), period
        self.lag = np.exp(-period / lag) if lag else 0.0
        self.mean = lag * (1.0 - self.lag) / period  # share of the old velocity in the mean over a period
        self.queue = [np.zeros(6) for _ in range(delay)]

    def follow(self, motion: ToolMotion, disturbance: float = 0.0) -> None:
        self.queue.append(motion.twist.copy())
        command = self.queue.pop(0)
        command[0] += disturbance
        way = self.period * (self.mean * self.velocity + (1.0 - self.mean) * command)
        self.velocity = self.lag * self.velocity + (1.0 - self.lag) * command
        self.pose[:3] += way[:3]
        self.pose[3:] = (Rotation.from_rotvec(way[3:]) * Rotation.from_quat(self.pose[3:])).as_quat()


def errors_of(controller: AdmittanceController, display: Servo, ticks: int, goal: np.ndarray) -> np.ndarray:
    """[along x; about z] of the display from a goal while nobody pushes, before each step."""
    rows = []
    for _ in range(ticks):
        difference = pose_difference(goal, display.pose)
        rows.append(difference[[0, 5]])
        display.follow(controller.step(display.pose, QUIET))
    return np.array(rows)


GOAL = pose([0.0, 0.0, 0.03])


def off(position: float, angle: float) -> np.ndarray:
    """The goal, moved along x and turned about z."""
    turn = Rotation.from_rotvec([0, 0, angle]) * Rotation.from_quat(GOAL[3:])
    return np.concatenate([GOAL[:3] + np.array([position, 0.0, 0.0]), turn.as_quat()])


def settled(display: Servo, **options: Any) -> AdmittanceController:
    """A controller whose reference rests at the goal."""
    controller = made(gains=options.pop("gains", GAINS), period=display.period, **options)
    controller.step(GOAL, QUIET)
    return controller


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


def test_the_error_of_an_ideal_servo_has_three_poles_at_25_per_second() -> None:
    """e(t) = e(0) (1 + 25 t - 625 t^2) exp(-25 t), from e'(0) = 0, e''(0) = -K_p e(0)."""
    display = Servo(off(0.001, 0.01), period=1e-4)
    controller = settled(display, derivative_cutoff=1e5)
    controller._reset_feedback()
    found = errors_of(controller, display, 4000, GOAL)
    t = 25.0 * display.period * np.arange(4000)
    # Euler's method is T/2 times the fastest rate of change, K_p/K_d = 25/s, late, with K_d T = 0.75 % beside it
    np.testing.assert_allclose(found / found[0], np.tile((1 + t - t * t) * np.exp(-t), (2, 1)).T, atol=0.01)


@pytest.mark.covering(1)
@pytest.mark.parametrize(("integral", "left"), [(GAINS["integral"], 0.0), (0.0, 0.5 / GAINS["proportional"])])
def test_the_integral_removes_what_a_disturbing_acceleration_leaves(integral: float, left: float) -> None:
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


def test_the_command_is_bounded_and_its_acceleration_is_its_velocitys_rate() -> None:
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
    """Place along x of a display that was held 10 mm beside the reference for some ticks, after its release [m]."""
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


def test_a_display_that_was_held_does_not_come_back_further_for_having_been_held_longer() -> None:
    """c is at its bound after 10 ms; what was held for two seconds comes back as what was held for 0.1 s."""
    short, long = released(100), released(2000)
    # the same but for how an error of 1e-19 m in the reference's place came about
    np.testing.assert_allclose(short, long, rtol=0.0, atol=1e-15)
    # it arrives at 0.2 m/s and K_d/K_p = 40 ms away from where it would brake by itself: 8 mm beyond at most
    assert -0.008 < long.min() < 0.0 and abs(long[-1]) < 1e-4


def test_where_the_correction_is_at_its_bound_the_integral_still_goes_back() -> None:
    controller = settled(Servo(GOAL), gains={"proportional": 100.0, "integral": 1e5, "derivative": 0.0})
    assert controller.feedback is not None
    for _ in range(100):  # the bound is reached after 19 periods of 10 mm
        controller.step(off(0.01, 0.0), QUIET)
    held = controller.feedback.error_integral
    assert held[0] == pytest.approx(-19 * 0.01 * PERIOD, abs=0.011 * PERIOD) and np.abs(held[1:]).max() < 1e-15
    motion = controller.step(off(-0.001, 0.0), QUIET)  # the error has turned, c is still at its bound
    assert motion.twist[0] == -0.2
    assert controller.feedback.error_integral[0] == pytest.approx(held[0] + 0.001 * PERIOD, abs=1e-12)


# --- deadband ---------------------------------------------------------------------------------------------------


def test_the_deadband_is_taken_off_the_size_of_force_and_moment() -> None:
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


# --- the way to the start ---------------------------------------------------------------------------------------


def approach(seconds: float = 0.4, wrench: np.ndarray = QUIET, ticks: int = 500) -> list[ToolMotion]:
    """What is commanded from a tool that is 5 cm and 0.9 rad from the disk's plane, with an ideal display."""
    lifted = Rotation.from_rotvec([0.5, 0.4, -0.6]) * Rotation.from_euler("x", 90, degrees=True)
    measured, controller, motions = pose([0.02, 0.01, 0.08], lifted), made(approach_time=seconds), []
    for _ in range(ticks):
        motions.append(controller.step(measured, wrench))
        measured = motions[-1].pose
    return motions


def test_the_way_to_the_start_is_smooth_and_lasts_its_time() -> None:
    motions = approach()
    way, after = motions[:400], motions[400:]
    path = np.array([m.pose[:3] for m in way])
    # straight down onto the plane: the disk may be anywhere on it
    np.testing.assert_allclose(path[:, :2], [[0.02, 0.01]] * 400, atol=1e-12)
    assert path[0, 2] == pytest.approx(0.08, abs=1e-6) and path[-1, 2] == pytest.approx(0.03, abs=1e-15)
    velocity = np.array([m.twist for m in way])
    assert np.abs(velocity[[0, -1]]).max() < 30 / 400**2 * 0.8 / 0.4  # 30 s^2 at s = 1/400, and below 0.8 rad
    # 15/8 of the mean: the quintic with zero acceleration at both ends
    assert np.abs(velocity[:, 2]).max() == pytest.approx(15 / 8 * 0.05 / 0.4, rel=1e-4)
    turns = Rotation.from_quat([m.pose[3:] for m in way])
    step = (turns[1:] * turns[:-1].inv()).as_rotvec() / PERIOD
    middle = (velocity[1:] + velocity[:-1]) / 2
    # the trapezoidal rule: T^2/12 times the third derivative, 60 times the way over the time cubed
    np.testing.assert_allclose(np.diff(path, axis=0) / PERIOD, middle[:, :3], atol=1e-5)
    np.testing.assert_allclose(step, middle[:, 3:], atol=1e-4)
    acceleration = np.array([m.acceleration for m in way])
    middle = (acceleration[1:] + acceleration[:-1]) / 2
    np.testing.assert_allclose(np.diff(velocity, axis=0) / PERIOD, middle, atol=5e-3)
    for m in after:
        same(m, ToolMotion(way[-1].pose, np.zeros(6), np.zeros(6))) if m is not after[0] else None
        np.testing.assert_allclose(m.pose[:3], [0.02, 0.01, 0.03], atol=1e-15)


def test_the_way_to_the_start_ends_on_the_mechanism() -> None:
    motions = approach()
    axis = Rotation.from_quat(motions[-1].pose[3:]).apply([0, 0, 1])
    assert abs(axis[2]) < 1e-14  # upright


def test_no_force_moves_the_tool_on_the_way_to_the_start() -> None:
    pushed, quiet = approach(wrench=np.array([3.0, 2.0, -5.0, 0.1, 0.1, 0.1])), approach()
    for one, other in zip(pushed[:400], quiet[:400], strict=True):
        same(one, other)
    assert np.abs(pushed[-1].twist).max() > 0.01


def test_a_tool_that_is_there_is_not_led() -> None:
    controller = made()
    controller.step(pose([0.0, 0.0, 0.0309]), hand(0))
    assert not controller.waiting
    controller.restart()
    controller.step(pose([0.0, 0.0, 0.0311]), hand(0))
    assert controller.waiting


def test_the_reference_that_leads_to_the_start_is_followed_with_feedback() -> None:
    """A slow display: the correction of the feedback acts on the way, too."""
    display = Servo(pose([0.02, 0.0, 0.05]), lag=0.01)
    controller = made(gains=GAINS, approach_time=0.5)
    for _ in range(900):
        display.follow(controller.step(display.pose, QUIET))
    np.testing.assert_allclose(display.pose[:3], [0.02, 0.0, 0.03], atol=2e-5)  # exp(-25 * 0.4)


# --- a tool that cannot follow ----------------------------------------------------------------------------------

HEADING_X = pose([0.0, 0.0, 0.03])


def blocked(
    controller: AdmittanceController, wrench: np.ndarray, ticks: int, part: int = 0, at: np.ndarray = HEADING_X
) -> tuple[np.ndarray, ToolMotion]:
    """Component of the reference's lead over a tool that does not move, and the last command."""
    leads = []
    for _ in range(ticks):
        motion = controller.step(at, wrench)
        assert controller.motion is not None
        leads.append(pose_difference(controller.motion.pose, at)[part])
    return np.array(leads), motion


@pytest.mark.covering(2)
@pytest.mark.parametrize(("part", "limit"), [(0, 0.02), (5, 0.3)])
@pytest.mark.parametrize("gains", [None, GAINS], ids=["poses", "velocities"])
def test_the_reference_waits_ahead_of_a_blocked_tool_and_comes_back(
    part: int, limit: float, gains: dict[str, Any] | None
) -> None:
    lead = (0.02, 3.0) if part < 3 else (0.02, 0.3)  # 2 cm of way turn the disk by 0.7 rad
    controller, push = made(gains=gains, largest_lead=lead), (1.0 if part < 3 else 0.02) * np.eye(6)[part]
    leads, motion = blocked(controller, push, 800, part)
    assert 0.9 * limit < leads.max() <= limit and (np.diff(leads[:100]) > 0.0).all()
    assert controller.waiting and leads[-1] == leads.max() and (leads[-50:] == leads[-1]).all()
    np.testing.assert_array_equal(controller.motion.twist, 0.0)  # type: ignore[union-attr]
    if gains is None:
        np.testing.assert_array_equal(motion.twist, 0.0)
    else:  # what one period gives: a gentle pull
        pull = PERIOD * (GAINS["proportional"] + PERIOD * GAINS["integral"])
        np.testing.assert_allclose(motion.twist, pull * pose_difference(motion.pose, HEADING_X), atol=1e-12)
        np.testing.assert_array_equal(motion.acceleration, 0.0)
    back, _ = blocked(controller, -push, 800, part)
    assert not controller.waiting or back[-1] == back.min()
    assert (np.diff(back[:100]) < 0.0).all() and -limit <= back.min() < 0.0


def test_what_waits_is_reported_at_rest_where_it_stands() -> None:
    controller = made()
    blocked(controller, np.array([1.0, 0, 0, 0, 0, 0]), 100)
    moving = controller.reference
    assert moving is not None and moving.kinetic_energy > 0.0
    blocked(controller, np.array([1.0, 0, 0, 0, 0, 0]), 600)
    r = controller.reference
    assert r is not None and controller.motion is not None
    np.testing.assert_allclose(r.x[:3], controller.motion.pose[:3], atol=1e-15)
    for name in ("z_velocity", "q_velocity", "q_acceleration", "x_velocity", "twist", "twist_rate", "multipliers"):
        np.testing.assert_array_equal(getattr(r, name), 0.0, err_msg=name)
    assert r.kinetic_energy == 0.0 and r.holonomic_residual < 1e-15
    assert moving.kinetic_energy > 0.0  # what was given out before has not changed


def test_a_tool_that_follows_again_is_led_on() -> None:
    """A display that is let go comes to the reference, which goes on under the force."""
    controller, display = made(gains=GAINS, largest_lead=(0.02, 3.0)), Servo(HEADING_X, lag=0.004)
    push = np.array([0.2, 0, 0, 0, 0, 0])
    blocked(controller, push, 800)
    for _ in range(1000):
        display.follow(controller.step(display.pose, push))
    assert display.pose[0] > 0.05 and not controller.waiting


def test_a_tool_that_is_pushed_away_is_not_waited_for() -> None:
    """The reference rests; where the tool is pushed to is no reason to drop the correction that brings it back."""
    controller = settled(Servo(GOAL))
    for _ in range(50):
        motion = controller.step(GOAL + 0.05 * np.eye(7)[1], QUIET)
    assert motion.twist[1] == pytest.approx(-0.2)
    assert not controller.waiting


# --- a display that does not obey -------------------------------------------------------------------------------


def test_while_the_display_does_not_obey_the_reference_stands() -> None:
    controller, display = made(gains=GAINS), Servo(HEADING_X, lag=0.004)
    for k in range(200):
        display.follow(controller.step(display.pose, hand(k)))
    before = controller.motion
    assert before is not None and np.abs(before.twist).max() > 0.01
    for k in range(50):
        motion = controller.step(display.pose, hand(k), follows=False)
        same(motion, ToolMotion(before.pose, np.zeros(6), np.zeros(6)))
        assert controller.waiting
    assert controller.reference is not None and controller.reference.kinetic_energy == 0.0
    assert controller.feedback is not None and not controller.feedback.error_integral.any()
    motion = controller.step(display.pose, QUIET)  # it is within a millimetre and goes on from rest
    np.testing.assert_allclose(controller.motion.pose, before.pose, atol=1e-15)  # type: ignore[union-attr]


@pytest.mark.parametrize("gains", [None, GAINS], ids=["poses", "velocities"])
def test_a_tool_that_is_elsewhere_afterwards_is_led_back_smoothly(gains: dict[str, Any] | None) -> None:
    controller = made(gains=gains, approach_time=0.2)
    measured = HEADING_X
    for k in range(200):
        measured = controller.step(measured, hand(k)).pose
    stood = measured.copy()
    controller.step(stood, QUIET, follows=False)
    measured = stood + np.array([0.05, 0.0, 0.02, 0, 0, 0, 0])
    rows = []
    for _ in range(260):
        motion = controller.step(measured, hand(0))
        assert np.linalg.norm(motion.pose[:3] - measured[:3]) < 15 / 8 * 0.054 / 0.2 * PERIOD * 1.001
        rows.append(motion)
        measured = motion.pose
    np.testing.assert_allclose(rows[199].pose, stood, atol=1e-15)
    assert np.abs(rows[0].twist).max() < 1e-3 and np.abs(rows[199].twist).max() < 1e-3
    assert np.abs(rows[-1].twist).max() > 1e-3


def test_a_way_to_the_start_that_was_interrupted_starts_anew_from_rest() -> None:
    controller, measured = made(approach_time=0.4), pose([0.0, 0.0, 0.08])
    for _ in range(200):
        measured = controller.step(measured, QUIET).pose
    assert measured[2] == pytest.approx(0.055, abs=1e-6)
    for _ in range(3):
        assert not controller.step(measured, QUIET, follows=False).twist.any()
    speeds = []
    for _ in range(400):
        motion = controller.step(measured, QUIET)
        speeds.append(np.abs(motion.twist).max())
        measured = motion.pose
    assert max(speeds[0], speeds[-1]) < 1e-4 and max(speeds) == pytest.approx(15 / 8 * 0.025 / 0.4, rel=1e-4)
    assert measured[2] == pytest.approx(0.03, abs=1e-15)


def test_a_tool_that_was_carried_to_the_end_of_an_interrupted_way_is_there() -> None:
    controller = made(approach_time=0.4)
    controller.step(pose([0.0, 0.0, 0.08]), QUIET)
    controller.step(pose([0.0, 0.0, 0.08]), QUIET, follows=False)
    motion = controller.step(HEADING_X, QUIET)
    np.testing.assert_allclose(motion.pose, HEADING_X, atol=1e-12)
    assert not controller.waiting


def test_a_display_that_never_obeyed_is_not_moved() -> None:
    controller, start = made(), pose([0.1, 0.0, 0.3])
    for _ in range(5):
        same(controller.step(start, hand(0), follows=False), ToolMotion(start, np.zeros(6), np.zeros(6)))


# --- restart, take over, singular places ------------------------------------------------------------------------


def test_a_restart_forgets_everything() -> None:
    controller, fresh = made(gains=GAINS), made(gains=GAINS)
    display = Servo(HEADING_X, lag=0.004)
    for k in range(300):
        display.follow(controller.step(display.pose, hand(k)))
    controller.restart()
    assert controller.reference is None and controller.motion is None and controller.waiting
    for k in range(100):
        motion = controller.step(display.pose, hand(k))
        same(motion, fresh.step(display.pose, hand(k)))
        display.follow(motion)


#: at which tick one controller takes over from another: on the way to the start, in motion, ahead of a blocked tool,
#: and while the display does not obey
@pytest.mark.covering
@pytest.mark.parametrize(
    ("tick", "waiting"), [(0, True), (30, True), (150, False), (300, True), (320, True), (330, True)]
)
@pytest.mark.parametrize("force_hold", ["zero", "linear"])
def test_taking_over_changes_no_bit(tick: int, waiting: bool, force_hold: str) -> None:
    options: dict[str, Any] = {
        "gains": GAINS,
        "approach_time": 0.1,
        "largest_lead": (0.004, 0.1),
        "generator": {"integrator": "rk4", "force_hold": force_hold},
    }
    controllers = [made(**options), made(**options)]
    display, following = Servo(pose([0.0, 0.0, 0.04]), lag=0.004), False
    for k in range(tick + 100):
        if k == tick:
            assert controllers[0].waiting == (tick != 150)
            controllers[1].take_over(controllers[0])
            following = True
        arguments = {"follows": not 310 <= k < 330}
        if k == 325:  # carried away
            display.pose[1] += 0.005
        motion = controllers[0].step(display.pose, hand(k), **arguments)
        if following:
            same(controllers[1].step(display.pose, hand(k), **arguments), motion)
            assert controllers[1].waiting == controllers[0].waiting
        if not 200 <= k < 300:
            display.follow(motion)


@pytest.mark.covering
@pytest.mark.parametrize("orientation", ["euler", "quaternion"])
@pytest.mark.parametrize("change", ["mass", "friction", "gains"])
def test_new_numbers_move_nothing_by_themselves(change: str, orientation: str) -> None:
    options: dict[str, Any] = {"gains": GAINS, "generator": {"orientation": orientation, "integrator": "algorithm1"}}
    old = made(**options)
    new_options = {**options, "generator": dict(options["generator"])}
    if change == "friction":
        new_options["generator"]["friction"] = FreeDirectionFriction(translation=CoulombLaw(0.01))
    if change == "gains":
        new_options["gains"] = {**GAINS, "integral": 0.0}
    new = made(RollingDisk(mass=0.5) if change == "mass" else None, **new_options)
    display = Servo(HEADING_X, lag=0.004)
    for k in range(300):
        display.follow(old.step(display.pose, hand(k)))
    before = old.motion
    new.take_over(old)
    new.step(display.pose, hand(300))
    after = new.motion
    assert before is not None and after is not None and not new.waiting
    # the accelerations here are below 20 m/s^2 and 20 rad/s^2
    np.testing.assert_allclose(
        pose_difference(after.pose, before.pose), PERIOD * before.twist, atol=20.0 * PERIOD**2 / 2
    )
    np.testing.assert_allclose(after.twist, before.twist, atol=20.0 * PERIOD)


def test_a_smaller_bound_holds_at_once_and_without_a_blow() -> None:
    """What is cut off c is no acceleration of the period."""
    old, new = (settled(Servo(GOAL), largest_correction=(bound, 2.0)) for bound in (0.2, 0.05))
    for _ in range(50):
        motion = old.step(off(0.01, 0.0), QUIET)
    new.take_over(old)
    after = new.step(off(0.01, 0.0), QUIET)
    assert (motion.twist[0], after.twist[0]) == (-0.2, -0.05)
    np.testing.assert_array_equal(after.acceleration[:3], 0.0)


@pytest.mark.covering(3)
@pytest.mark.parametrize(
    ("old", "new", "start"),
    [
        (RollingDisk(), RollingDisk(radius=0.07), pose([0.0, 0.0, 0.03])),
        (DiskOnSphere(), DiskOnSphere(center=(0.02, 0.0, 0.0)), pose([0.0, -0.05, 0.0])),
        (DiskOnSphere(), DiskOnSphere(sphere_radius=0.06), pose([0.0, -0.05, 0.0])),
        (TwoLinkOnCircle(), TwoLinkOnCircle(circle_radius=0.06), pose([0.05, 0, 0], Rotation.identity())),
        (Pendulum(), Pendulum(length=0.3), pose([0, 0, -0.2], Rotation.identity())),
        (FourBar(), FourBar(lengths=(0.05, 0.13, 0.1)), None),
        (PointOnSurface(), Pendulum(), pose([0.11, 0, 0], Rotation.identity())),
        (RollingDisk(), DiskOnSphere(), pose([0.0, 0.0, 0.03])),
    ],
)
def test_new_dimensions_lead_the_tool_to_where_the_mechanism_is_now(
    old: Mechanism, new: Mechanism, start: np.ndarray | None
) -> None:
    """The tool cannot go on where it is; it is not torn to where it must be, either."""
    options: dict[str, Any] = {"approach_time": 0.1}
    first, second = made(old, **options), made(new, **options)
    if start is None:
        start = np.concatenate(first.generator.pose)
    measured = start
    for _ in range(50):
        measured = first.step(measured, QUIET).pose
    second.take_over(first)
    fastest = 0.0
    for _ in range(101):
        motion = second.step(measured, QUIET)
        fastest = max(fastest, float(np.linalg.norm(motion.pose[:3] - measured[:3])))
        measured = motion.pose
    assert fastest < 0.15 * 15 / 8 / 0.1 * PERIOD  # less than 15 cm in a tenth of a second
    r = second.reference
    assert r is not None and r.holonomic_residual < 1e-12 and not second.waiting
    np.testing.assert_allclose(r.x[:3], measured[:3], atol=1e-12)


def test_a_singular_place_is_refused_and_nothing_changes() -> None:
    """Angles at the sphere's pole; the node answers NONE and the display holds."""
    controller, pole = made(DiskOnSphere()), pose([0.0, 0.0, 0.05], Rotation.identity())
    for _ in range(3):
        with pytest.raises(SingularConfigurationError, match="sin q6 = 0"):
            controller.step(pole, hand(0))
        assert controller.reference is None and controller.waiting
    quaternions = made(DiskOnSphere(), generator={"orientation": "quaternion"})
    np.testing.assert_allclose(quaternions.step(pole, QUIET).pose, pole, atol=1e-12)
    assert quaternions.step(pole, hand(0)).twist.any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Placement(position=[0.0, 0.0]), r"^position: expected shape \(3,\), got \(2,\)$"),
        (
            lambda: Placement(orientation=[0, 0, 0, 0.9]),
            "^orientation: expected a quaternion of length 1, got",
        ),
        (lambda: Placement(tool_orientation=[0, 0, 1, 1]), "^tool_orientation: expected a quaternion of length 1"),
        (lambda: made(force_deadband=-1.0), "^force_deadband: expected 0 or more"),
        (lambda: made(moment_deadband=-1.0), "^moment_deadband: expected 0 or more"),
        (lambda: made(approach_time=-1.0), "^approach_time: expected 0 or more"),
        (lambda: made(derivative_cutoff=0.0), "^derivative_cutoff: expected more than 0"),
        (lambda: made(largest_correction=(0.2, -2.0)), r"^largest_correction\[1\]: expected 0 or more, got -2.0$"),
        (lambda: made(largest_lead=(-0.2, 2.0)), r"^largest_lead\[0\]: expected 0 or more, got -0.2$"),
        (lambda: made(largest_lead=0.1), r"^largest_lead: expected shape \(2,\), got \(1,\)$"),
    ],
)
def test_bad_arguments_are_refused_by_name(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_after_the_way_to_the_start_a_force_comes_in_smoothly() -> None:
    """A hand that has pulled all the way does not throw the mechanism: its acceleration grows from zero."""
    controller = made(approach_time=0.1)
    display = pose([0.0, 0.0, 0.04])
    pull, accelerations = np.array([5.0, 0.0, 0.0, 0.0, 0.0, 0.0]), []
    while len(accelerations) < 150:
        motion = controller.step(display, pull)
        display = motion.pose
        if not controller.waiting:
            accelerations.append(float(motion.acceleration[0]))
    full = accelerations[120]
    assert abs(accelerations[0]) < 1e-4 * abs(full) and abs(accelerations[50]) == pytest.approx(
        0.5 * abs(full), rel=0.1
    )
    # the steepest change of the quintic is 15/8 in its duration of 100 ticks
    assert np.abs(np.diff(accelerations)).max() < 1.2 * 15.0 / 8.0 / 100.0 * abs(full)
