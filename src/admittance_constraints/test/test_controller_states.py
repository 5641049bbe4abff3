"""The controller of Fig. 2: approach, waiting, displays that do not obey, restart, changes and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from admittance_displays import GAINS, GOAL, PERIOD, QUIET, Servo, hand, made, off, pose, same, settled
from scipy.spatial.transform import Rotation

from admittance_constraints import (
    AdmittanceController,
    DiskOnSphere,
    DisplayTransform,
    FourBar,
    FreeDirectionFriction,
    Mechanism,
    Pendulum,
    PointOnSurface,
    RollingDisk,
    SingularConfigurationError,
    ToolMotion,
    TwoLinkOnCircle,
)
from admittance_constraints.display.feedback import pose_difference
from haptic_friction import CoulombLaw

# --- approach ---------------------------------------------------------------------------------------------------


def approach(seconds: float = 0.4, wrench: np.ndarray = QUIET, ticks: int = 500) -> list[ToolMotion]:
    """Gives the commands from a tool that is 5 cm and 0.9 rad from the disk's plane, with an ideal display."""
    lifted = Rotation.from_rotvec([0.5, 0.4, -0.6]) * Rotation.from_euler("x", 90, degrees=True)
    measured, controller, motions = pose([0.02, 0.01, 0.08], lifted), made(approach_time=seconds), []
    for _ in range(ticks):
        motions.append(controller.step(measured, wrench))
        measured = motions[-1].pose
    return motions


def test_approach_is_smooth_and_lasts_its_time() -> None:
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
    # the trapezoidal rule: T^2/12 times the third derivative, 60 times the distance over the time cubed
    np.testing.assert_allclose(np.diff(path, axis=0) / PERIOD, middle[:, :3], atol=1e-5)
    np.testing.assert_allclose(step, middle[:, 3:], atol=1e-4)
    acceleration = np.array([m.acceleration for m in way])
    middle = (acceleration[1:] + acceleration[:-1]) / 2
    np.testing.assert_allclose(np.diff(velocity, axis=0) / PERIOD, middle, atol=5e-3)
    for m in after:
        same(m, ToolMotion(way[-1].pose, np.zeros(6), np.zeros(6))) if m is not after[0] else None
        np.testing.assert_allclose(m.pose[:3], [0.02, 0.01, 0.03], atol=1e-15)


def test_approach_ends_on_the_mechanism() -> None:
    motions = approach()
    axis = Rotation.from_quat(motions[-1].pose[3:]).apply([0, 0, 1])
    assert abs(axis[2]) < 1e-14  # upright


def test_forces_do_not_act_during_the_approach() -> None:
    pushed, quiet = approach(wrench=np.array([3.0, 2.0, -5.0, 0.1, 0.1, 0.1])), approach()
    for one, other in zip(pushed[:400], quiet[:400], strict=True):
        same(one, other)
    assert np.abs(pushed[-1].twist).max() > 0.01


def test_tool_at_the_start_needs_no_approach() -> None:
    controller = made()
    controller.step(pose([0.0, 0.0, 0.0309]), hand(0))
    assert not controller.waiting
    controller.restart()
    controller.step(pose([0.0, 0.0, 0.0311]), hand(0))
    assert controller.waiting


def test_feedback_acts_during_the_approach() -> None:
    """A slow display: the correction of the feedback acts during the approach, too."""
    display = Servo(pose([0.02, 0.0, 0.05]), lag=0.01)
    controller = made(gains=GAINS, approach_time=0.5)
    for _ in range(900):
        display.follow(controller.step(display.pose, QUIET))
    np.testing.assert_allclose(display.pose[:3], [0.02, 0.0, 0.03], atol=2e-5)  # exp(-25 * 0.4)


# --- a tool that cannot follow ----------------------------------------------------------------------------------


def blocked(
    controller: AdmittanceController, wrench: np.ndarray, ticks: int, part: int = 0, at: np.ndarray = GOAL
) -> tuple[np.ndarray, ToolMotion]:
    """Gives a component of the reference's lead over a tool that does not move, and the last command."""
    leads = []
    for _ in range(ticks):
        motion = controller.step(at, wrench)
        assert controller.motion is not None
        leads.append(pose_difference(controller.motion.pose, at)[part])
    return np.array(leads), motion


@pytest.mark.covering(2)
@pytest.mark.parametrize(("part", "limit"), [(0, 0.02), (5, 0.3)])
@pytest.mark.parametrize("gains", [None, GAINS], ids=["poses", "velocities"])
def test_reference_waits_ahead_of_a_blocked_tool_and_comes_back(
    part: int, limit: float, gains: dict[str, Any] | None
) -> None:
    lead = (0.02, 3.0) if part < 3 else (0.02, 0.3)  # over 2 cm the disk rolls by 0.7 rad
    controller, push = made(gains=gains, largest_lead=lead), (1.0 if part < 3 else 0.02) * np.eye(6)[part]
    leads, motion = blocked(controller, push, 800, part)
    assert 0.9 * limit < leads.max() <= limit and (np.diff(leads[:100]) > 0.0).all()
    assert controller.waiting and leads[-1] == leads.max() and (leads[-50:] == leads[-1]).all()
    np.testing.assert_array_equal(controller.motion.twist, 0.0)  # type: ignore[union-attr]
    if gains is None:
        np.testing.assert_array_equal(motion.twist, 0.0)
    else:  # the correction of one period: a gentle pull
        pull = PERIOD * (GAINS["proportional"] + PERIOD * GAINS["integral"])
        np.testing.assert_allclose(motion.twist, pull * pose_difference(motion.pose, GOAL), atol=1e-12)
        np.testing.assert_array_equal(motion.acceleration, 0.0)
    back, _ = blocked(controller, -push, 800, part)
    assert not controller.waiting or back[-1] == back.min()
    assert (np.diff(back[:100]) < 0.0).all() and -limit <= back.min() < 0.0


def test_waiting_reference_is_output_at_rest() -> None:
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
    assert moving.kinetic_energy > 0.0  # the results of before have not changed


def test_reference_moves_on_when_the_tool_follows_again() -> None:
    """A display that is let go comes to the reference, which goes on under the force."""
    controller, display = made(gains=GAINS, largest_lead=(0.02, 3.0)), Servo(GOAL, lag=0.004)
    push = np.array([0.2, 0, 0, 0, 0, 0])
    blocked(controller, push, 800)
    for _ in range(1000):
        display.follow(controller.step(display.pose, push))
    assert display.pose[0] > 0.05 and not controller.waiting


def test_reference_does_not_wait_for_a_tool_that_is_pushed_away() -> None:
    """The reference rests, and the correction that brings the tool back goes on."""
    controller = settled(Servo(GOAL))
    for _ in range(50):
        motion = controller.step(GOAL + 0.05 * np.eye(7)[1], QUIET)
    assert motion.twist[1] == pytest.approx(-0.2)
    assert not controller.waiting


# --- a display that does not obey -------------------------------------------------------------------------------


def test_reference_rests_while_the_display_does_not_obey() -> None:
    controller, display = made(gains=GAINS), Servo(GOAL, lag=0.004)
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
def test_tool_that_has_moved_meanwhile_approaches_the_reference_smoothly(gains: dict[str, Any] | None) -> None:
    controller = made(gains=gains, approach_time=0.2)
    measured = GOAL
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


def test_interrupted_approach_starts_anew_from_rest() -> None:
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


def test_tool_moved_to_the_end_of_an_interrupted_approach_needs_no_approach() -> None:
    controller = made(approach_time=0.4)
    controller.step(pose([0.0, 0.0, 0.08]), QUIET)
    controller.step(pose([0.0, 0.0, 0.08]), QUIET, follows=False)
    motion = controller.step(GOAL, QUIET)
    np.testing.assert_allclose(motion.pose, GOAL, atol=1e-12)
    assert not controller.waiting


def test_a_display_that_never_obeyed_is_not_moved() -> None:
    controller, start = made(), pose([0.1, 0.0, 0.3])
    for _ in range(5):
        same(controller.step(start, hand(0), follows=False), ToolMotion(start, np.zeros(6), np.zeros(6)))


# --- restart, take over, singular places ------------------------------------------------------------------------


def test_a_restart_forgets_everything() -> None:
    controller, fresh = made(gains=GAINS), made(gains=GAINS)
    display = Servo(GOAL, lag=0.004)
    for k in range(300):
        display.follow(controller.step(display.pose, hand(k)))
    controller.restart()
    assert controller.reference is None and controller.motion is None and controller.waiting
    for k in range(100):
        motion = controller.step(display.pose, hand(k))
        same(motion, fresh.step(display.pose, hand(k)))
        display.follow(motion)


#: at which tick one controller takes over from another: during the approach, in motion, ahead of a blocked tool,
#: and while the display does not obey
@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.covering
@pytest.mark.parametrize("orientation", ["euler", "quaternion"])
@pytest.mark.parametrize("change", ["mass", "friction", "gains"])
def test_change_of_parameters_moves_nothing_by_itself(change: str, orientation: str) -> None:
    options: dict[str, Any] = {"gains": GAINS, "generator": {"orientation": orientation, "integrator": "algorithm1"}}
    old = made(**options)
    new_options = {**options, "generator": dict(options["generator"])}
    if change == "friction":
        new_options["generator"]["friction"] = FreeDirectionFriction(translation=CoulombLaw(0.01))
    if change == "gains":
        new_options["gains"] = {**GAINS, "integral": 0.0}
    new = made(RollingDisk(mass=0.5) if change == "mass" else None, **new_options)
    display = Servo(GOAL, lag=0.004)
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


def test_smaller_bound_acts_at_once_without_a_jump_of_acceleration() -> None:
    """The part of c beyond the new bound is not commanded as an acceleration."""
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
def test_tool_approaches_the_mechanism_of_new_dimensions(
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


def test_singular_configuration_is_refused_and_nothing_changes() -> None:
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
        (lambda: DisplayTransform(position=[0.0, 0.0]), r"^position: expected shape \(3,\), got \(2,\)$"),
        (
            lambda: DisplayTransform(orientation=[0, 0, 0, 0.9]),
            "^orientation: expected a quaternion of length 1, got",
        ),
        (
            lambda: DisplayTransform(tool_orientation=[0, 0, 1, 1]),
            "^tool_orientation: expected a quaternion of length 1",
        ),
        (lambda: made(force_deadband=-1.0), "^force_deadband: expected 0 or more"),
        (lambda: made(moment_deadband=-1.0), "^moment_deadband: expected 0 or more"),
        (lambda: made(approach_time=-1.0), "^approach_time: expected 0 or more"),
        (lambda: made(derivative_cutoff=0.0), "^derivative_cutoff: expected more than 0"),
        (lambda: made(largest_correction=(0.2, -2.0)), r"^largest_correction\[1\]: expected 0 or more, got -2.0$"),
        (lambda: made(largest_lead=(-0.2, 2.0)), r"^largest_lead\[0\]: expected 0 or more, got -0.2$"),
        (lambda: made(largest_lead=0.1), r"^largest_lead: expected shape \(2,\), got \(\)$"),
    ],
)
def test_bad_arguments_are_refused_by_name(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_force_rises_smoothly_after_the_approach() -> None:
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
