"""The tick loop of a device: delay, watchdog, missed ticks, overspeed, faults, efforts and motions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from haptic_core.commands import EFFORT, MOTION, POSITION, VELOCITY, WRENCH, Motion
from haptic_core.errors import InputError
from haptic_devices.device import Device, DeviceError, Joint, Reading
from haptic_devices.loop import FAULT, OK, SAFE_STOP, SteadyClock, TickLoop
from haptic_msgs.msg import DeviceCommand


class FakeDevice(Device):
    """Notes its commands; its speed and its failure are set by the test."""

    base_frame = "base"

    def __init__(self) -> None:
        self.joints = (Joint("roll", 99.0, 2.0, -1.0, 1.0), Joint("pitch", 99.0, 3.0, -1.0, 1.0))
        self.reading = Reading(2)
        self.written: list[list[float]] = []
        self.stops = 0
        self.broken = False

    def configure(self, period: float) -> None:
        self.period = period

    def activate(self) -> None:
        self.broken = False

    def read(self) -> Reading:
        return self.reading

    def write(self, effort: np.ndarray) -> None:
        if self.broken:
            raise DeviceError("amplifier off")
        self.written.append(effort.tolist())

    def jacobian(self) -> np.ndarray:
        return np.eye(6, 2)

    def safe_stop(self) -> None:
        self.stops += 1

    def deactivate(self) -> None:
        self.safe_stop()


def effort(source: str, tick: int, *values: float) -> DeviceCommand:
    return DeviceCommand(source=source, tick=tick, mode=EFFORT, joint_effort=values)


def advance(loop: TickLoop, ticks: int, *sources: str) -> None:
    """Lets ticks pass in which the sources answer with the effort (tick + 1, 0)."""
    for _ in range(ticks):
        for source in sources:
            loop.offer(effort(source, loop.tick, loop.tick + 1.0, 0.0))
        loop.advance()


def test_the_commands_of_a_tick_are_added_written_and_followed_by_the_next_tick():
    device = FakeDevice()
    loop = TickLoop(device, ["a", "b"])
    wrench = DeviceCommand(source="b", tick=0, mode=WRENCH)
    wrench.tool_wrench.force.y = 5.0
    assert not loop.offer(effort("a", 0, 1.0, 2.0))
    assert loop.offer(wrench)
    assert loop.advance() is device.reading
    assert device.written == [[1.0, 7.0]]
    assert (loop.tick, loop.status, loop.missed) == (1, OK, 0)


@pytest.mark.parametrize("delay", [0, 1, 2, 7])
def test_a_command_acts_exactly_the_delay_later(delay):
    device = FakeDevice()
    advance(TickLoop(device, ["a"], command_delay_ticks=delay), 20, "a")
    assert [first for first, _ in device.written] == [0.0] * delay + [k + 1.0 for k in range(20 - delay)]


def test_a_rejected_command_is_reported_to_the_caller_and_counts_as_an_answer():
    loop = TickLoop(FakeDevice(), ["a"])
    with pytest.raises(InputError, match="joint_effort: expected finite"):
        loop.offer(effort("a", 0, float("nan"), 0.0))
    assert loop.collector.complete
    loop.advance()
    assert loop.missed == 0


def test_ticks_without_all_answers_are_counted_and_the_last_force_stays():
    device = FakeDevice()
    loop = TickLoop(device, ["a", "b"], watchdog_periods=10)
    advance(loop, 2, "a", "b")
    advance(loop, 3, "a")
    assert loop.missed == 3
    assert [first for first, _ in device.written] == [2.0, 4.0, 5.0, 6.0, 7.0]  # b's last was 2


@pytest.mark.parametrize("periods", [1, 3, 20])
@pytest.mark.parametrize("answered", [0, 5])
def test_the_watchdog_stops_a_device_after_exactly_its_periods_of_silence(periods, answered):
    device = FakeDevice()
    loop = TickLoop(device, ["a", "quiet"], watchdog_periods=periods)
    advance(loop, answered, "a", "quiet")
    advance(loop, periods - 1, "a")
    assert (loop.status, device.stops) == (OK, 0)
    advance(loop, 1, "a")
    assert (loop.status, device.stops) == (SAFE_STOP, 1)
    assert loop.reason == f"source quiet: silent for {periods} ticks"
    assert device.written[-1] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("inputs", "answering", "reason"),
    [
        ({"c": {"b"}}, "a", "source b: silent for 3 ticks; c waits for it"),
        ({"b": {"a"}, "c": {"b"}}, "", "source a: silent for 3 ticks; b, c waits for it"),
        ({"b": {"a"}, "c": {"b"}}, "ab", "source c: silent for 3 ticks"),
        ({"b": {"c"}, "c": {"b"}}, "a", "source b, c: silent for 3 ticks"),
        ({}, "a", "source b, c: silent for 3 ticks"),
    ],
)
def test_the_reason_names_the_silent_source_before_those_that_wait_for_it(inputs, answering, reason):
    loop = TickLoop(FakeDevice(), ("a", "b", "c"), watchdog_periods=3)
    loop.inputs = inputs
    advance(loop, 2, *answering)
    assert loop.status == OK
    advance(loop, 1, *answering)
    assert loop.reason == reason


def test_without_a_watchdog_silence_stops_nothing():
    loop = TickLoop(FakeDevice(), ["quiet"])
    advance(loop, 1000)
    assert (loop.status, loop.missed) == (OK, 1000)


def test_after_the_stop_efforts_stay_zero_whatever_is_commanded():
    device = FakeDevice()
    loop = TickLoop(device, ["a"], watchdog_periods=2, command_delay_ticks=1)
    advance(loop, 5, "a")
    advance(loop, 2)
    stopped = len(device.written)
    advance(loop, 10, "a")
    assert loop.status == SAFE_STOP and device.stops == 1
    assert device.written[stopped - 1 :] == [[0.0, 0.0]] * 11  # the delayed commands are dropped, too


def forge(loop: TickLoop) -> None:
    """Offers commands that no source has sent: of another name, of wrong ticks, and a second one of this tick."""
    forged = [effort("stranger", loop.tick, 1000.0, 0.0)]
    forged += [effort("friction", loop.tick + shift, 1000.0, 0.0) for shift in (-1, 1, 10**9) if loop.tick + shift >= 0]
    forged += [effort("friction", loop.tick, value, 0.0) for value in (math.nan, math.inf, 1e300, 1000.0)]
    for command in forged:
        with pytest.raises(InputError):
            loop.offer(command)


@pytest.mark.slow
def test_ten_thousand_forged_commands_change_neither_effort_nor_status():
    efforts, ticks = [], 1251  # eight forged commands a tick, seven in the first
    for forged in (False, True):
        device = FakeDevice()
        loop = TickLoop(device, ["friction"], watchdog_periods=3)
        for _ in range(ticks):
            loop.offer(effort("friction", loop.tick, loop.tick % 10 + 1.0, 0.0))
            if forged:
                forge(loop)
            loop.advance()
        assert (loop.status, loop.missed) == (OK, 0)
        efforts.append(device.written)
    assert efforts[0] == efforts[1] == [[tick % 10 + 1.0, 0.0] for tick in range(ticks)]


def test_nothing_moves_after_an_emergency_stop_while_forged_commands_go_on():
    device = FakeDevice()
    loop = TickLoop(device, ["friction"], watchdog_periods=3)
    advance(loop, 3, "friction")
    loop.stop(SAFE_STOP, "emergency stop by topic")
    assert device.stops == 1  # by the call itself, in the tick that is out
    written = len(device.written)
    for _ in range(10):
        loop.offer(effort("friction", loop.tick, 1000.0, 0.0))
        forge(loop)
        loop.advance()
    assert loop.status == SAFE_STOP
    assert not np.any(device.written[written:])


def test_commands_act_again_after_resume_and_silence_is_counted_anew():
    device = FakeDevice()
    loop = TickLoop(device, ["a"], watchdog_periods=3)
    advance(loop, 5)
    assert loop.status == SAFE_STOP
    loop.resume()
    assert (loop.status, loop.reason, loop.tick, loop.missed) == (OK, "", 5, 5)
    advance(loop, 2)
    assert loop.status == OK and device.written[-1] == [0.0, 0.0]
    advance(loop, 1, "a")
    assert device.written[-1] == [8.0, 0.0]
    advance(loop, 3)
    assert loop.status == SAFE_STOP


def test_resume_does_not_wait_for_an_answer_that_has_already_come():
    loop = TickLoop(FakeDevice(), ["a", "b"])
    loop.offer(effort("a", 0, 1.0, 0.0))
    loop.resume()
    assert loop.offer(effort("b", 0, 1.0, 0.0))


@pytest.mark.parametrize("tick", [0, 7])
def test_restart_begins_at_a_tick_without_commands_and_counts_silence_from_it(tick):
    device = FakeDevice()
    loop = TickLoop(device, ["a"], watchdog_periods=2)
    advance(loop, 3, "a")
    advance(loop, 4)
    loop.restart(tick)
    assert (loop.tick, loop.missed, loop.status, loop.reason) == (tick, 0, OK, "")
    advance(loop, 1)
    assert device.written[-1] == [0.0, 0.0] and loop.status == OK
    advance(loop, 1)
    assert loop.status == SAFE_STOP


@pytest.mark.parametrize(("joint", "speed", "name"), [(0, 2.1, "roll"), (1, -3.1, "pitch")])
def test_a_joint_above_its_speed_limit_stops_the_device_by_name(joint, speed, name):
    device = FakeDevice()
    loop = TickLoop(device, ["a"])
    device.reading.velocity[:] = (2.0, -3.0)  # the limits themselves are allowed
    advance(loop, 1, "a")
    assert loop.status == OK
    device.reading.velocity[joint] = speed
    advance(loop, 1, "a")
    assert (loop.status, device.stops) == (SAFE_STOP, 1)
    assert loop.reason.startswith(f"joint {name}: speed {speed:.3g} above the limit")
    advance(loop, 1, "a")
    assert device.written[-1] == [0.0, 0.0]


def test_a_failing_device_is_a_fault_with_its_own_words():
    device = FakeDevice()
    loop = TickLoop(device, ["a"])
    device.broken = True
    advance(loop, 1, "a")
    assert (loop.status, loop.reason, device.stops, loop.tick) == (FAULT, "amplifier off", 1, 1)


# ---- motion ---------------------------------------------------------------------------------------


class FakeManipulator(FakeDevice):
    """Notes the motions that it receives: (fields, x of the pose), or None to hold."""

    kind = "admittance"

    def __init__(self) -> None:
        super().__init__()
        self.followed: list[tuple[int, float] | None] = []

    def write(self, effort: np.ndarray) -> None:
        raise AssertionError("an admittance device gets no efforts")

    def follow(self, motion: Motion | None) -> None:
        if self.broken:
            raise DeviceError("amplifier off")
        self.followed.append(motion and (motion.fields, motion.pose[0]))


def motion(tick: int, x: float = 0.0, fields: int = POSITION | VELOCITY, source: str = "a") -> DeviceCommand:
    command = DeviceCommand(source=source, tick=tick, mode=MOTION, motion_fields=fields)
    command.tool_pose.position.x = x
    return command


def lead(loop: TickLoop, ticks: int) -> None:
    """Lets ticks pass in which source a commands position and velocity with x = tick + 1."""
    for _ in range(ticks):
        loop.offer(motion(loop.tick, loop.tick + 1.0))
        loop.advance()


@pytest.mark.parametrize("delay", [0, 1, 2, 7])
def test_a_motion_reaches_the_device_exactly_the_delay_later_and_before_that_it_holds(delay):
    device = FakeManipulator()
    lead(TickLoop(device, ["a"], command_delay_ticks=delay), 20)
    assert device.followed == [None] * delay + [(3, k + 1.0) for k in range(20 - delay)]


def test_one_source_of_several_commands_the_motion():
    device = FakeManipulator()
    loop = TickLoop(device, ["none", "a"])
    loop.offer(motion(0, 5.0))
    assert loop.offer(DeviceCommand(source="none", tick=0))
    loop.advance()
    assert device.followed == [(3, 5.0)]


def test_without_a_usable_motion_the_device_holds():
    device = FakeManipulator()
    loop = TickLoop(device, ["a"])
    loop.advance()  # no answer at all
    lead(loop, 1)
    with pytest.raises(InputError, match="tool_pose: expected finite numbers, got nan"):
        loop.offer(motion(2, float("nan")))
    loop.advance()
    lead(loop, 1)
    loop.offer(DeviceCommand(source="a", tick=4))
    loop.advance()
    assert device.followed == [None, (3, 2.0), None, (3, 4.0), None]


def test_a_late_answer_leaves_the_last_position_without_its_velocity_until_the_watchdog():
    device = FakeManipulator()
    loop = TickLoop(device, ["a"], watchdog_periods=4)
    lead(loop, 2)
    for _ in range(5):
        loop.advance()
    assert (loop.status, loop.missed, device.stops) == (SAFE_STOP, 5, 1)
    assert device.followed == [(3, 1.0), (3, 2.0), (POSITION, 2.0), (POSITION, 2.0), (POSITION, 2.0), None, None]


def test_a_late_velocity_without_position_is_not_extrapolated():
    device = FakeManipulator()
    loop = TickLoop(device, ["a"], watchdog_periods=4)
    loop.offer(motion(0, fields=VELOCITY))
    loop.advance()
    loop.advance()
    assert device.followed == [(VELOCITY, 0.0), None]


def test_after_the_stop_an_admittance_device_holds_whatever_is_commanded_or_under_way():
    device = FakeManipulator()
    loop = TickLoop(device, ["a"], command_delay_ticks=2)
    lead(loop, 4)
    device.reading.velocity[0] = 2.1
    lead(loop, 1)
    assert (loop.status, device.stops) == (SAFE_STOP, 1)
    stopped = len(device.followed)
    lead(loop, 5)
    assert device.followed[stopped:] == [None] * 5
    device.reading.velocity[0] = 0.0
    loop.resume()
    lead(loop, 3)
    assert device.followed[-3:] == [None, None, (3, 11.0)]


def test_a_failing_admittance_device_is_a_fault_with_its_own_words():
    device = FakeManipulator()
    loop = TickLoop(device, ["a"])
    device.broken = True
    lead(loop, 1)
    assert (loop.status, loop.reason, device.stops) == (FAULT, "amplifier off", 1)


def test_a_script_takes_motions_of_several_sources_beside_forces_and_ignores_the_motions():
    device = FakeDevice()
    device.kind = "scripted"
    loop = TickLoop(device, ["a", "b", "c"])
    loop.offer(motion(0, 1.0, source="a"))
    loop.offer(motion(0, 2.0, source="b"))
    assert loop.offer(effort("c", 0, 3.0, 4.0))
    loop.advance()
    assert device.written == [[3.0, 4.0]]


@pytest.mark.parametrize(("call", "what"), [("write", "efforts"), ("follow", "motion")])
def test_device_without_the_method_of_its_kind_is_refused(call, what):
    with pytest.raises(NotImplementedError, match=f"^FakeDevice takes no {what}$"):
        getattr(Device, call)(FakeDevice(), None)


# ---- the clock of a realtime loop -------------------------------------------------------------------


def ticks_on_a_clock(cost: float, *, shared: bool, periods: int = 1000) -> tuple[np.ndarray, int, int]:
    """When ticks were opened, how many of them without an answer to the one before, and how many were skipped.

    An answer takes `cost`. With `shared` the answering node has the loop's thread in pieces of a hundredth of a period,
    and what it had not finished is dropped when a new tick comes; else it has its own, and answers them all in turn.
    """
    clock, now, left, opened, unanswered, skipped = SteadyClock(1.0, 0.0), 0.0, cost, [0.0], 0, 0
    finished = cost
    while now < periods:
        answering = shared and left > 0.0
        if clock.is_due(now, answering=answering):
            unanswered += left > 0.0 if shared else finished > now
            skipped += clock.open(now)
            opened.append(now)
            left, finished = cost, max(now, finished) + cost
        elif answering:
            now, left = now + 0.01, max(0.0, left - 0.01 - 1e-12)
        else:
            now = clock.due
    return np.array(opened), unanswered, skipped


def test_a_clock_whose_answers_come_in_time_is_even():
    opened, unanswered, skipped = ticks_on_a_clock(0.8, shared=True)
    assert len(opened) == 1000
    np.testing.assert_array_equal(opened, np.arange(len(opened)))
    assert (unanswered, skipped) == (0, 0)


def test_clock_does_not_wait_for_answers_of_other_processes():
    opened, unanswered, skipped = ticks_on_a_clock(1.2, shared=False)
    np.testing.assert_array_equal(opened, np.arange(len(opened)))
    assert (unanswered, skipped) == (len(opened) - 1, 0)


def test_an_answer_that_is_being_made_is_waited_for_and_the_grid_stays():
    """1.2 periods each: of six periods five have a tick, and each tick has its answer."""
    opened, unanswered, skipped = ticks_on_a_clock(1.2, shared=True)
    assert unanswered == 0 and abs(skipped - 1000 / 6) < 3
    assert abs(len(opened) + skipped - 1000) < 3  # each period has its tick or was skipped
    assert np.diff(opened).max() < 1.2 + 0.02


def test_no_answer_is_waited_for_longer_than_a_period_beyond_its_tick():
    opened, unanswered, skipped = ticks_on_a_clock(5.0, shared=True)
    assert unanswered == len(opened) - 1 and np.diff(opened).max() < 2.0 + 0.02
    assert abs(len(opened) + skipped - 1000) < 3


def test_after_one_slow_tick_the_clock_is_back_on_its_grid():
    clock = SteadyClock(1.0, 0.0)
    assert not clock.is_due(1.5, answering=True) and clock.is_due(1.5, answering=False)
    assert clock.open(1.5) == 0 and clock.due == 2.0
    assert clock.open(9.25) == 7 and clock.due == 10.0


def test_skipped_ticks_are_missed_ones():
    loop = TickLoop(FakeDevice(), ["a"], watchdog_periods=20)
    loop.offer(effort("a", 0, 1.0, 2.0))
    loop.advance(skipped=3)
    assert loop.missed == 3
    loop.advance(skipped=1)
    assert loop.missed == 5
