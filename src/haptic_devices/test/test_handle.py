"""The simulated hand led by a handle: the target's motion, the force at the start, and all devices that have a hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from haptic_core.parameters import check_all, load_parameter_specs
from haptic_devices.device import DeviceError
from haptic_devices.factories import NODE_PARAMETER_FILE, find_device
from haptic_devices.hands import operator, spatial_hand
from haptic_devices.hands.handle import RATE, REACH, STRENGTH, Handle
from haptic_devices.hands.operator import muscle_force
from haptic_devices.hands.spatial_hand import muscle_wrench
from haptic_devices.motions.spatial import GRIP

PERIOD = 1e-3
SPECS = load_parameter_specs(NODE_PARAMETER_FILE)
#: devices that a hand holds, their motion, and a place near its start, where STRENGTH is no bound [m]
DEVICES = {
    "joystick": ("paper", (0.02, -0.015)),
    "five_bar": ("paper_admittance", (-0.065, -0.07)),
    "cobotic_hand_controller": ("push_and_release", (0.03, 0.02)),
    "tau": ("wall_push", (0.006, 0.004)),
}
#: impedances without tremor: springs and dampers of a planar hand, springs of a spatial one
PLANAR = operator.RELEASED._replace(impedance=np.array([500.0, 15.0, 0.0]))
SPRINGS = spatial_hand.RELEASED._replace(impedance=np.array([400.0, 0.0, 2.0, 0.0]))


def planar_row(x=0.0, y=0.0, vx=0.0, vy=0.0, fx=0.0, fy=0.0, grip=1.0):
    return np.array([x, y, vx, vy, fx, fy, grip])


def spatial_row(pose, wrench=(0.0,) * 6, grip=1.0):
    return np.concatenate([pose, np.zeros(6), wrench, [grip]])


def pose_of(position=(0.0, 0.0, 0.0), turn=(0.0, 0.0, 0.0)):
    return np.concatenate([position, Rotation.from_rotvec(turn).as_quat()])


def make(name: str, **values: Any) -> Any:
    motion, _ = DEVICES[name]
    parameters = check_all(SPECS, {"device": name, "motion": motion, **values})
    device = find_device(name)(parameters)
    device.configure(PERIOD)
    device.activate()
    return device


def advance(device: Any, ticks: int) -> None:
    """Nothing is commanded; the TAU's weight is borne, as its node does."""
    for _ in range(ticks):
        if device.kind == "admittance":
            device.follow(None)
        elif device.base_frame == "tau_base":
            device.write(device.mechanism.gravity_torque(device._reading.position))
        else:
            device.write(np.zeros(len(device.joints)))


# ---- the target's motion --------------------------------------------------------------------------


def test_target_follows_a_fixed_handle_by_its_equation():
    row = planar_row(x=0.01, y=-0.02, vx=0.1, vy=-0.05)
    tool = pose_of([*row[:2], 0.1])
    handle = Handle(row, pose_of((0.01, -0.02, 0.0)), tool, (500.0, 0.0))
    goal = np.array([0.025, -0.01])  # nearer than both bounds
    handle.move(pose_of((*goal, 5.0)))
    for _ in range(100):
        handle.advance(tool, PERIOD)

    def equation(_, s):
        return np.concatenate([s[2:], RATE**2 * (goal - s[:2]) - 2 * RATE * s[2:]])

    solved = solve_ivp(equation, (0.0, 0.1), row[:4], rtol=1e-10, atol=1e-13).y[:, -1]
    np.testing.assert_allclose(handle.table[0, :4], solved, atol=1e-9)  # the step is exact, the solver is not
    np.testing.assert_array_equal(handle.table[0, 4:], [0.0, 0.0, 1.0])


def test_the_step_does_not_depend_on_the_period():
    ends = []
    for period in (1e-3, 2e-3):
        handle = Handle(planar_row(), pose_of(), pose_of(), (500.0, 0.0))
        handle.move(pose_of((0.02, 0.01, 0.0)))
        for _ in range(round(0.1 / period)):
            handle.advance(pose_of(), period)
        ends.append(handle.table[0, :4].copy())
    np.testing.assert_allclose(*ends, rtol=1e-12)


def test_a_handle_far_away_moves_the_target_at_a_bounded_speed():
    handle, tool = Handle(planar_row(), pose_of(), pose_of(), (1.0, 0.0)), pose_of()  # so soft that force is no bound
    handle.move(pose_of((3.0, 4.0, 0.0)))
    for _ in range(1000):
        handle.advance(tool, PERIOD)
        assert np.hypot(*handle.table[0, 2:4]) <= RATE * REACH[0] / 2 + 1e-12
    # the equation's steady state, but for the period that the handle stays: of the order of w T
    np.testing.assert_allclose(handle.table[0, 2:4], RATE * REACH[0] / 2 * np.array([0.6, 0.8]), rtol=2 * RATE * PERIOD)


def test_a_tool_that_is_blocked_bounds_the_force():
    stiffness, tool = (400.0, 2.0), pose_of()
    handle = Handle(spatial_row(tool), tool, tool, stiffness)
    handle.move(pose_of((1.0, 0.0, 0.0), (0.0, 2.0, 0.0)))
    for _ in range(2000):
        handle.advance(tool, PERIOD)
    wrench = np.empty(6)
    muscle_wrench(SPRINGS, handle.table[0], 0.0, tool, np.zeros(6), wrench)
    np.testing.assert_allclose(wrench[0], STRENGTH[0], rtol=1e-9)
    # the bound is that of the chord between the quaternions, which leans by a quarter of the 2 rad
    assert np.cos(0.5) * STRENGTH[1] < wrench[4] <= STRENGTH[1]
    assert np.abs(handle.table[0, 7:13]).max() < 1e-9  # at rest


def test_the_target_s_angular_velocity_is_that_of_its_orientation():
    start = pose_of((0.0, 0.0, 0.0), (0.3, -0.2, 0.5))
    tool = start.copy()
    handle = Handle(spatial_row(start), start, tool, (400.0, 2.0))
    handle.move(pose_of((0.01, 0.0, 0.0), (0.35, -0.1, 0.42)))
    turned = [Rotation.from_quat(start[3:])]
    for _ in range(60):
        handle.advance(tool, PERIOD)
        turned.append(Rotation.from_quat(handle.table[0, 3:7]))
        assert np.linalg.norm(handle.table[0, 3:7]) == pytest.approx(1.0, abs=1e-12)
        rates = handle.table[0, 10:13].copy()
    change = (turned[-1] * turned[-2].inv()).as_rotvec() / PERIOD
    assert np.linalg.norm(rates) > 0.3
    np.testing.assert_allclose(rates, change, rtol=0.03)  # a backward difference: off by half a period's change, w T


def test_a_quaternion_of_the_other_sign_is_the_same_orientation():
    ends = []
    for sign in (1.0, -1.0):
        start = pose_of(turn=(0.0, 0.0, 0.2))
        handle = Handle(spatial_row(start), start, start, (400.0, 2.0))
        goal = pose_of(turn=(0.0, 0.1, 0.3))
        goal[3:] *= sign * 1.5  # nor does the length count
        handle.move(goal)
        for _ in range(300):
            handle.advance(start, PERIOD)
        ends.append(handle.table[0, 3:7].copy())
    np.testing.assert_allclose(*ends, atol=1e-12)
    np.testing.assert_allclose(np.abs(ends[0] @ goal[3:7]) / 1.5, 1.0, atol=1e-5)  # e^(-w 0.3 s) is 6e-4


def test_nothing_jumps_where_a_planar_hand_is_taken():
    """The spring's force and the plan's push before, and after, whatever the grip; without the expected resistance."""
    tool, target = pose_of((0.01, 0.02, 0.1)), pose_of((0.03, 0.01, 0.0))
    twist = np.array([0.05, -0.02])
    for grip in (0.0, 0.3, 1.0):
        row = planar_row(0.03, 0.01, 0.0, 0.0, 1.5, -0.5, grip)
        forces = np.empty((2, 2))
        handle = Handle(row, target, tool, (500.0, 0.0))
        for table_row, force in zip((row, handle.table[0]), forces, strict=True):
            muscle_force(PLANAR, table_row, 0.0, tool, twist, force)
        np.testing.assert_allclose(*forces, atol=1e-12)


def test_nothing_jumps_where_a_spatial_hand_is_taken():
    tool, target = pose_of((0.01, 0.02, 0.1), (0.1, 0.0, 0.0)), pose_of((0.03, 0.01, 0.1), (0.1, 0.05, 0.0))
    for grip in (0.0, 0.4, 1.0):
        row = spatial_row(target, wrench=np.array([2.0, 0.0, -1.0, 0.0, 0.0, 0.0]), grip=grip)
        wrenches = np.empty((2, 6))
        handle = Handle(row, target, tool, (400.0, 2.0))
        for table_row, wrench in zip((row, handle.table[0]), wrenches, strict=True):
            muscle_wrench(SPRINGS, table_row, 0.0, tool, np.zeros(6), wrench)
        np.testing.assert_allclose(wrenches[0][:3], wrenches[1][:3], atol=1e-12)
        # the turn is a share of a chord, not of the angle: third order in 0.05 rad
        np.testing.assert_allclose(wrenches[0][3:], wrenches[1][3:], atol=2.0 * 0.05**3)


def test_a_handle_that_is_let_go_stops_where_it_is():
    handle, tool = Handle(planar_row(), pose_of(), pose_of(), (500.0, 0.0)), pose_of()
    handle.move(pose_of((0.03, 0.0, 0.0)))
    for _ in range(60):
        handle.advance(tool, PERIOD)
    place, speed = handle.table[0, 0], handle.table[0, 2]
    handle.release()
    for _ in range(1000):
        handle.advance(tool, PERIOD)
    # the equation from x = h with this speed rises to v/(w e) beyond h and comes back
    assert abs(handle.table[0, 0] - place) < 1e-9 and speed > 0.0


# ---- devices --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", DEVICES)
def test_the_tool_follows_the_handle_by_the_hand_s_impedance(name):
    device, (x, y) = make(name), DEVICES[name][1]
    advance(device, 20)
    begin = device.hold_handle(True).copy()
    assert device.description()["handle_axes"] == (2 if name in ("joystick", "five_bar") else 6)
    goal = begin.copy()
    goal[:2] = x, y
    device.move_handle(goal)
    advance(device, 1500)
    truth = device.truth()
    np.testing.assert_allclose(truth.operator_target[:2], [x, y], atol=1e-6)
    if device.kind == "impedance":
        # friction and tremor: some newtons, hundreds of newtons a metre
        assert np.hypot(*(truth.tool_pose[:2] - [x, y])) < 3e-3
    else:  # holds where it is, whatever the hand pulls with
        assert np.hypot(*(truth.tool_pose[:2] - begin[:2])) < 2e-3
        assert 2.0 < np.linalg.norm(truth.tool_wrench[:3]) < 1.2 * STRENGTH[0]


@pytest.mark.parametrize("name", DEVICES)
def test_a_handle_that_acts_at_the_same_ticks_gives_the_same_run(name):
    runs = []
    for _ in range(2):
        device, seen = make(name), []
        for tick in range(300):
            if tick == 50:
                device.hold_handle(True)
            if tick in (60, 120):
                pose = device.truth().operator_target.copy()
                pose[0] += 0.004
                device.move_handle(pose)
            if tick == 200:
                device.hold_handle(False)
            advance(device, 1)
            seen.append(device.truth().values.tobytes() + device.read().values.tobytes())
        runs.append(seen)
    assert runs[0] == runs[1]


@pytest.mark.parametrize("name", ["joystick", "five_bar"])
def test_a_planar_device_takes_the_handle_s_projection(name):
    runs = []
    for pose in (pose_of((0.01, 0.01, 0.0)), pose_of((0.01, 0.01, 0.3), (0.5, 1.0, 0.0))):
        device = make(name)
        device.hold_handle(True)
        device.move_handle(pose)
        advance(device, 200)
        runs.append(device.truth().values.tobytes())
    assert runs[0] == runs[1]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cobotic_hand_controller", "tau"])
def test_a_spatial_device_s_hand_turns_with_the_handle(name):
    device = make(name)
    begin = device.hold_handle(True).copy()
    turn = Rotation.from_rotvec([0.0, 0.08, 0.0])
    device.move_handle(np.concatenate([begin[:3], (turn * Rotation.from_quat(begin[3:7])).as_quat()]))
    advance(device, 1500)
    wanted = Rotation.from_quat(device.truth().operator_target[3:7]) * Rotation.from_quat(begin[3:7]).inv()
    np.testing.assert_allclose(wanted.as_rotvec(), [0.0, 0.08, 0.0], atol=1e-6)
    if name == "tau":
        turned = Rotation.from_quat(device.truth().tool_pose[3:7]) * Rotation.from_quat(begin[3:7]).inv()
        assert turned.as_rotvec()[1] == pytest.approx(0.08, abs=0.02)  # friction and tremor over 2 N m/rad


@pytest.mark.parametrize("name", DEVICES)
def test_a_device_that_starts_anew_follows_the_plan_again(name):
    device = make(name)
    plain, seen = [], []
    for _ in range(60):
        advance(device, 1)
        plain.append(device.truth().values.tobytes())
    device.hold_handle(True)
    device.move_handle(pose_of((0.01, 0.0, 0.0)))
    advance(device, 30)
    device.activate()
    for _ in range(60):
        advance(device, 1)
        seen.append(device.truth().values.tobytes())
    assert seen == plain


def test_released_handle_has_no_effect():
    devices = [make("joystick") for _ in range(2)]
    devices[1].move_handle(pose_of((0.05, 0.05, 0.0)))
    devices[1].hold_handle(False)
    for device in devices:
        advance(device, 100)
    assert devices[0].truth().values.tobytes() == devices[1].truth().values.tobytes()


@pytest.mark.parametrize("name", DEVICES)
def test_released_tool_has_no_handle_to_lead(name):
    device = make(name, held=False)
    assert device.description()["handle_axes"] == 0
    with pytest.raises(DeviceError, match="the tool is released"):
        device.hold_handle(True)


@pytest.mark.slow
def test_the_tau_s_stops_hold_against_the_strongest_pull():
    device = make("tau")
    device.hold_handle(True)
    for goal in ((1.0, 0.0, 0.0), (-1.0, 1.0, 1.0), (0.0, -1.0, -1.0)):
        device.move_handle(pose_of(goal, (0.0, 3.0, 0.0)))
        advance(device, 1500)  # raises where the tool leaves the workspace
    assert np.abs(device.truth().tool_pose[:3]).max() > 0.025


def test_the_last_column_of_both_plans_is_the_grip():
    assert len(planar_row()) == 7 and len(spatial_row(pose_of())) == GRIP + 1


@pytest.mark.parametrize("name", ["joystick", "tau"])
def test_a_target_that_the_caller_changes_moves_no_hand(name):
    """The filter that smooths the handle's jumps was bypassed."""
    device = make(name)
    advance(device, 5)
    for held in (False, True, False):
        pose = device.hold_handle(held)
        before = device.truth().operator_target.copy()
        pose[0] += 0.02
        advance(device, 1)
        assert abs(device.truth().operator_target[0] - before[0]) < 1e-4


def test_a_planar_hand_exerts_the_same_force_at_the_start_with_any_grip_while_it_moves():
    tool, target = pose_of((0.01, 0.02, 0.0)), pose_of((0.012, 0.025, 0.0))
    for grip in (0.0, 0.3, 1.0):
        row = planar_row(0.012, 0.025, 0.1, -0.2, 0.5, 0.25, grip)
        handle = Handle(row, target, tool, (500.0, 0.0))
        before, after = np.zeros(2), np.zeros(2)
        muscle_force(PLANAR, row, 0.0, tool, np.zeros(6), before)
        muscle_force(PLANAR, handle.table[0], 0.0, tool, np.zeros(6), after)
        np.testing.assert_allclose(after, before, rtol=1e-12)
