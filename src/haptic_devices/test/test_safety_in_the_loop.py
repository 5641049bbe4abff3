"""The safety layer in the tick loop and under ros2_control."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from haptic_core.commands import EFFORT, MOTION
from haptic_core.errors import InputError, ParameterError
from haptic_devices.control.hosted import IDLE, RUN, STOP, HostedDevice, parse_parameters
from haptic_devices.device import Device
from haptic_devices.factories import find_device
from haptic_devices.loop import OK, SAFE_STOP, TickLoop
from haptic_msgs.msg import DeviceCommand

T = 1e-3


def make(name: str = "joystick", *entries: str) -> Device:
    """A device that no hand holds, configured and activated."""
    texts = {"device": name, "held": "false", "device_parameters": json.dumps(entries)}
    device = find_device(name)(parse_parameters(texts))
    device.configure(T)
    device.activate()
    return device


def effort(tick: int, *values: float) -> DeviceCommand:
    return DeviceCommand(source="a", tick=tick, mode=EFFORT, joint_effort=values)


def motion(tick: int, x: float) -> DeviceCommand:
    command = DeviceCommand(source="a", tick=tick, mode=MOTION, motion_fields=DeviceCommand.FIELD_POSITION)
    command.tool_pose.position.x = x
    return command


def play(loop: TickLoop, ticks: int, *values: float) -> np.ndarray:
    """Efforts that acted, one row a tick, while the source commands these."""
    rows = []
    for _ in range(ticks):
        loop.offer(effort(loop.tick, *values))
        rows.append(loop.advance().effort.copy())
    return np.array(rows)


# ---- limits of the device's description -----------------------------------------------------------


def test_a_device_s_efforts_are_cut_off_at_the_same_values_as_in_its_driver_and_that_is_counted():
    loop, driver = TickLoop(make("joystick", "effort_rate_limit=1e6"), ["a"]), make()
    for value in (1.0, 2.5, 3.0, 3.5, 2.9):
        acted = play(loop, 1, value, 0.0)
        driver.write(np.array([value, 0.0]))
        assert_array_equal(acted[0], driver.read().effort)
    assert loop.safety.counts == {"effort": 1}


def test_a_force_step_rises_at_the_rate_of_the_description():
    slow = play(TickLoop(make("joystick", "effort_rate_limit=200"), ["a"]), 6, 1.0, 0.0)
    assert_allclose(slow[:, 0], [0.2, 0.4, 0.6, 0.8, 1.0, 1.0], rtol=1e-14)
    assert play(TickLoop(make(), ["a"]), 1, 1.0, 0.0)[0, 0] == 1.0  # 1000 N m/s: at once


def test_the_period_counts_in_the_rate():
    device = make("joystick", "effort_rate_limit=200")
    assert play(TickLoop(device, ["a"], period=2e-3), 1, 1.0, 0.0)[0, 0] == pytest.approx(0.4)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_a_tip_outside_the_workspace_is_a_safe_stop_that_names_the_axis(side):
    loop = TickLoop(make("joystick", "workspace=0.02", "effort_limit=0.5"), ["a"])
    for _ in range(300):
        play(loop, 1, side * 0.1, 0.0)
        if loop.status != OK:
            break
    place = loop.device.read().tool_pose[0]
    assert loop.status == SAFE_STOP and 0.02 < side * place < 0.021
    assert loop.reason == f"tool: x = {place:.4g} m outside the workspace, -0.02 to 0.02 m"
    assert not play(loop, 5, side * 0.1, 0.0).any()


def test_the_stops_of_the_joystick_are_inside_its_workspace():
    loop = TickLoop(make("joystick", "velocity_limit=1000"), ["a"])
    play(loop, 2000, 0.1, 0.0)
    play(loop, 2000, -0.1, 0.05)
    assert loop.status == OK
    position = loop.device.read().position
    assert_allclose(np.abs(position), 0.8, atol=1e-4)  # both stand at their stops, to a count


def test_a_command_whose_sum_is_not_finite_stops_the_device():
    loop = TickLoop(make(), ["a"])
    loop.offer(DeviceCommand(source="a", tick=0, mode=EFFORT, joint_effort=[1.0, 0.0]))
    loop.collector.effort = lambda jacobian: np.array([np.inf, 0.0])  # type: ignore[method-assign]
    written: list[list[float]] = []
    loop.device.write = lambda given: written.append(given.tolist())  # type: ignore[method-assign]
    loop.advance()
    assert written == [[0.0, 0.0]]  # whatever its driver does when it is stopped
    assert (loop.status, loop.reason) == (SAFE_STOP, "joint roll: effort: expected finite, got inf")


def test_an_admittance_device_too_is_judged_by_its_joints_speed():
    loop = TickLoop(make("five_bar", "velocity_limit=0.2"), ["a"])
    for _ in range(200):
        loop.offer(motion(loop.tick, 0.1))
        loop.advance()
    assert loop.status == SAFE_STOP and ": speed " in loop.reason


# ---- never the last command again -----------------------------------------------------------------


def stop(loop: TickLoop, cause: str) -> None:
    """Brings a loop with a watchdog of 5 ticks to its safe state."""
    if cause == "silence":
        for _ in range(5):
            loop.advance()
    elif cause == "held up":
        loop.advance(skipped=5)
    elif cause == "asked":
        loop.stop(SAFE_STOP, "emergency stop")
        loop.advance()
    elif cause == "fast":
        write = loop.device.write
        loop.device.write = lambda given: (write(given), loop.device.read().velocity.fill(math.nan))  # type: ignore
        loop.advance()
        loop.device.write = write  # type: ignore[method-assign]


CAUSES = ("silence", "held up", "asked", "fast")


@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("delay", [0, 3])
def test_no_force_of_before_a_stop_acts_at_it_or_after_it(cause, delay):
    loop = TickLoop(make(), ["a"], command_delay_ticks=delay, watchdog_periods=5, engagement_time=0.01)
    device = loop.device
    assert play(loop, 10, 1.0, -1.0)[-1].all()
    late = effort(loop.tick, 9.0, 9.0)
    written: list[np.ndarray] = []
    write = device.write
    device.write = lambda given: (written.append(given.copy()), write(given))  # type: ignore[method-assign]
    stop(loop, cause)
    if cause == "fast":
        written.clear()  # its force acted in the period whose end showed the speed
    silent = [row for row in written if not row.any()]
    # what missed ticks leave acts until the watchdog does, and not once more
    assert len(written) - len(silent) == (4 if cause == "silence" else 0)
    assert loop.status == SAFE_STOP
    written.clear()
    assert not play(loop, 20, 2.0, 2.0).any()  # commands are ignored
    device.activate()
    loop.resume()
    with pytest.raises(InputError, match="tick of a"):
        loop.offer(late)
    for _ in range(3):  # without a new command
        loop.advance()
    assert not np.any(written)
    written.clear()
    acted = play(loop, delay + 20, 0.5, 0.0)[delay:]
    assert_allclose(acted[:, 0], 0.5 * np.minimum(1.0, np.arange(20) / 10.0), rtol=1e-14)
    assert_array_equal(np.array(written)[delay:], acted)


@pytest.mark.parametrize("cause", ["silence", "held up", "asked"])
@pytest.mark.parametrize("name", ["five_bar", "cobotic_hand_controller"])
def test_an_admittance_device_holds_still_after_a_stop_and_comes_in_slowly(name, cause):
    loop = TickLoop(make(name), ["a"], watchdog_periods=5, engagement_time=0.1)
    for k in range(100):
        loop.offer(motion(loop.tick, 1e-4 * k))
        loop.advance()
    stop(loop, cause)
    assert loop.status == SAFE_STOP
    places = []
    for _ in range(600):
        loop.offer(motion(loop.tick, -0.05))  # is ignored
        places.append(loop.advance().tool_pose[0])
    assert abs(places[-1] - places[-50]) < 2e-6  # a count of the encoders
    loop.resume()
    followed: list[float] = []
    follow = loop.device.follow
    loop.device.follow = lambda given: (followed.append(given.pose[0]), follow(given))  # type: ignore[method-assign]
    for _ in range(120):
        loop.offer(motion(loop.tick, 0.02))
        loop.advance()
    s = np.minimum(1.0, np.arange(120) / 100.0)
    assert_allclose(followed, places[-1] + s * (0.02 - places[-1]), rtol=0.0, atol=1e-15)


def test_a_first_start_has_no_ramp_and_a_new_start_of_a_loop_that_has_run_has_one():
    loop = TickLoop(make(), ["a"], engagement_time=0.01)
    assert (play(loop, 3, 0.5, 0.0)[:, 0] == 0.5).all() and loop.safety.limited == 0
    loop.restart(loop.tick + 1)
    loop.device.activate()
    assert_allclose(play(loop, 3, 0.5, 0.0)[:, 0], [0.0, 0.05, 0.1], rtol=1e-14)


# ---- time that passes without ticks ---------------------------------------------------------------


@pytest.mark.parametrize(("skipped", "stopped"), [(0, False), (19, False), (20, True), (500, True)])
def test_a_device_that_was_held_up_for_as_long_as_the_watchdog_allows_applies_no_older_command(skipped, stopped):
    loop = TickLoop(make(), ["a"], watchdog_periods=20)
    play(loop, 5, 1.0, 0.0)
    loop.offer(effort(loop.tick, 1.0, 0.0))  # came before it was held up
    acted = loop.advance(skipped=skipped).effort[0]
    assert (loop.status == SAFE_STOP, acted) == (stopped, 0.0 if stopped else 1.0)
    assert loop.reason == (f"the device was held up for {skipped} ticks" if stopped else "")


def test_silence_is_counted_in_time_that_passes_also_without_ticks():
    loop = TickLoop(make(), ["a"], watchdog_periods=20)
    play(loop, 5, 1.0, 0.0)
    loop.advance(skipped=12)
    for _ in range(6):
        loop.advance()
        assert loop.status == OK
    loop.advance()  # 12 + 8 periods after the last answer
    assert (loop.status, loop.reason) == (SAFE_STOP, "source a: silent for 20 ticks")


def test_a_motion_of_before_a_hold_up_leaves_its_place_without_its_velocity():
    loop = TickLoop(make("five_bar"), ["a"], watchdog_periods=20)
    given: list[Any] = []
    loop.device.follow = given.append  # type: ignore[method-assign]
    for skipped in (0, 3):
        command = motion(loop.tick, 0.01)
        command.motion_fields = 3
        loop.offer(command)
        loop.advance(skipped)
    assert [each.fields for each in given] == [3, 1]


# ---- under ros2_control ---------------------------------------------------------------------------


def test_the_host_limits_what_any_controller_commands_as_the_loop_does():
    entries = ("effort_rate_limit=300", "effort_limit=1")
    texts = {"device": "joystick", "held": "false", "device_parameters": json.dumps(entries), "engagement_time": "0.02"}
    host, loop = HostedDevice("joystick", texts), TickLoop(make("joystick", *entries), ["a"], engagement_time=0.02)
    host.commands[0] = RUN
    random = np.random.default_rng(2)
    seen = set()
    for tick in range(400):
        command = random.normal(size=2).tolist() if tick % 7 else [0.3, 0.0]
        if tick in (150, 300):
            loop.stop(SAFE_STOP, "asked")
            host.commands[0] = STOP
        elif tick in (160, 310):
            loop.device.activate()
            loop.resume()
            host.commands[:2] = RUN, host.commands[1] + 1.0
        loop.offer(effort(tick, *command))
        host.commands[2:4] = command
        host.write()
        host.read()
        loop.advance()
        assert_array_equal(host.device.read().effort, loop.device.read().effort)
        assert host.states[-1].tolist()[1:] == [loop.status, loop.safety.limited] == [host.status, host.safety.limited]
        seen.add(loop.safety.limited)
    assert host.safety.counts == loop.safety.counts and {*loop.safety.counts} == {"effort", "effort rate"}
    assert {0, 2, 3, 16}.issubset(seen)


def test_the_host_has_no_ramp_at_the_first_start_but_when_a_controller_comes_back():
    texts = {"device": "joystick", "held": "false", "engagement_time": "0.01"}
    host = HostedDevice("joystick", texts)

    def efforts(ticks: int) -> list[float]:
        host.commands[:3] = RUN, host.commands[1], 0.5
        rows = []
        for _ in range(ticks):
            host.write()
            rows.append(host.device.read().effort[0])
        return rows

    host.commands[0] = RUN  # without a command: ros2_control runs before our controller does
    host.write()
    host.commands[1] += 1.0
    assert efforts(2) == [0.5, 0.5]
    host.commands[:2] = IDLE, 2.0
    host.write()
    assert_allclose(efforts(3), [0.0, 0.05, 0.1], rtol=1e-14)


def test_the_host_stops_for_a_command_that_is_not_finite_and_for_a_tip_outside():
    host = HostedDevice("joystick", {"device": "joystick", "held": "false"})
    host.commands[:3] = [RUN, 0.0, math.nan]
    host.write()
    assert (host.status, host.reason) == (SAFE_STOP, "joint roll: effort: expected finite, got nan")
    assert not host.device.read().effort.any()
    host.activate()
    host.device.read().tool_pose[1] = -0.2
    host.read()
    assert (host.status, host.reason) == (SAFE_STOP, "tool: y = -0.2 m outside the workspace, -0.11 to 0.11 m")


def test_after_a_reset_of_a_running_device_commands_rise_at_the_effort_rate_and_are_ramped_in():
    """The device starts with zero effort; the force of before the reset acted again in one tick."""
    loop = TickLoop(make("joystick", "effort_rate_limit=200"), ["a"])
    assert play(loop, 20, 1.0, 0.0)[-1, 0] == 1.0
    loop.device.activate()
    loop.resume()
    assert_allclose(play(loop, 6, 1.0, 0.0)[:, 0], [0.2, 0.4, 0.6, 0.8, 1.0, 1.0], rtol=1e-14)
    loop = TickLoop(make(), ["a"], engagement_time=0.01)
    play(loop, 20, 1.0, 0.0)
    loop.device.activate()
    loop.resume()
    assert_allclose(play(loop, 12, 1.0, 0.0)[:, 0], np.minimum(1.0, 0.1 * np.arange(12)), rtol=1e-14)


def test_a_restart_at_tick_0_is_the_first_start():
    """Counts, the last effort and a ramp that had begun were left."""
    loop = TickLoop(make("joystick", "effort_rate_limit=200"), ["a"], engagement_time=0.01)
    first = play(loop, 6, 1.0, 0.0)
    for stopped in (False, True):
        if stopped:
            loop.stop(SAFE_STOP, "test")
        loop.device.activate()
        loop.restart()
        assert not loop.safety.counts and not loop.safety.limited
        assert_array_equal(play(loop, 6, 1.0, 0.0), first)


def test_a_negative_delay_is_refused():
    with pytest.raises(ParameterError, match="command_delay_ticks: expected 0 or more, got -1"):
        TickLoop(make(), ["a"], command_delay_ticks=-1)
