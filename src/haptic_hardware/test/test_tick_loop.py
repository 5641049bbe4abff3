"""The C++ tick loop of the ros2_control controller against the Python one; it needs a compiler, not ros2_control."""

from __future__ import annotations

import ctypes
import itertools
import json
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from haptic_core.commands import EFFORT, MODE_NAMES, MOTION, NONE, WRENCH, CommandConflictError, check_modes
from haptic_core.errors import InputError
from haptic_devices.control.hosted import RUN, STOP, HostedDevice, parse_parameters
from haptic_devices.device import Device, Joint, Reading
from haptic_devices.factories import find_device
from haptic_devices.loop import OK, SAFE_STOP, TickLoop
from haptic_devices.node.topics import _in_tool_axes
from haptic_msgs.msg import DeviceCommand

KINDS = ["", "unknown source", "late", "wrong tick", "duplicate", "unknown mode", "wrong length", "not finite"]
JOINTS, WATCHDOG = 3, 5
SOURCES = ("a", "b")


def conflict(library: ctypes.CDLL, modes: dict[str, str], kind: str) -> str:
    """Why the modes of the sources do not fit the device; empty: they do."""
    texts, text = ctypes.c_char_p * len(modes), ctypes.create_string_buffer(200)
    given = [texts(*(word.encode() for word in words)) for words in (modes, modes.values())]
    library.mode_conflict_of(len(modes), *given, int(kind == "admittance"), text)
    return text.value.decode()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["impedance", "admittance"])
@pytest.mark.parametrize("modes", [*itertools.product(MODE_NAMES, repeat=2), ("MOTION",) * 3, ("WRENCH",), ("",)])
def test_conflicting_modes_are_refused_at_the_start_with_the_same_words(
    library: ctypes.CDLL, modes: tuple[str, ...], kind: str
) -> None:
    given = dict(zip("abc", modes, strict=False))
    try:
        check_modes(given, kind)
        expected = ""
    except CommandConflictError as error:
        expected = str(error)
    assert conflict(library, given, kind) == expected


def pointer(values: np.ndarray) -> Any:
    return values.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


class Native:
    """The C++ loop, with the Python loop's names."""

    def __init__(self, library: ctypes.CDLL, follows: bool, sources: int = len(SOURCES)) -> None:
        self._library, self._follows = library, follows
        self._loop = ctypes.c_void_p(library.make(sources, JOINTS, int(follows), ctypes.c_long(WATCHDOG)))

    def close(self) -> None:
        self._library.destroy(self._loop)

    def offer(self, command: DeviceCommand) -> str:
        """Kind of the rejection; empty: taken."""
        w, p, t, a = command.tool_wrench, command.tool_pose, command.tool_twist, command.tool_acceleration
        q = p.orientation
        groups = (w.force, w.torque, p.position, q, t.linear, t.angular, a.linear, a.angular)
        numbers = np.array([getattr(g, axis) for g in groups for axis in ("xyzw" if g is q else "xyz")])
        arrays: list[Any] = []
        for field in (command.joint_effort, command.joint_position, command.joint_velocity):
            values = np.array(field, dtype=float)
            arrays += [pointer(values), len(values)]
        source = command.source.encode()
        return KINDS[
            self._library.offer(
                self._loop, ctypes.c_long(command.tick), source, command.mode, command.motion_fields, pointer(numbers),
                *arrays,
            )
        ]  # fmt: skip

    def advance(self, skipped: int = 0) -> Any:
        """The efforts and the wrench, or the motion as (fields, by_joints, tool, positions, velocities)."""
        out = np.empty(3 * JOINTS + 27)
        self._library.advance(self._loop, ctypes.c_long(skipped), pointer(out))
        effort, wrench, fields, by_joints, tool, positions, velocities = np.split(
            out, np.cumsum([JOINTS, 6, 1, 1, 19, JOINTS])
        )
        if self._follows:
            assert not effort.any() and not wrench.any()
            return int(fields[0]), int(by_joints[0]), tool, positions, velocities
        assert fields[0] == 0.0
        return effort, wrench

    def look(self) -> dict[str, int]:
        out = (ctypes.c_long * 8)()
        self._library.look(self._loop, out)
        names = ("tick", "complete", "missed", "status", "silent", "conflicting", "stopped", "held_up")
        return dict(zip(names, out, strict=True))

    def restart(self) -> None:
        self._library.restart(self._loop)

    def resume(self) -> None:
        self._library.resume(self._loop)

    def stop(self) -> None:
        self._library.stop(self._loop)


class Bench(Device):
    """Notes what acts; its Jacobian is the identity of six columns, of which the first JOINTS are joints."""

    base_frame = "base"

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.joints = tuple(Joint(f"j{i}", 99.0, 99.0, -99.0, 99.0) for i in range(JOINTS))
        self._reading = Reading(JOINTS)
        self.acted: Any = None

    def configure(self, period: float) -> None: ...
    def activate(self) -> None: ...
    def read(self) -> Reading:
        return self._reading

    def write(self, effort: np.ndarray) -> None:
        self.acted = effort

    def follow(self, motion: Any) -> None:
        self.acted = motion

    def jacobian(self) -> np.ndarray:
        return np.eye(6)[:, :JOINTS]

    def safe_stop(self) -> None: ...
    def deactivate(self) -> None: ...


def command(random: np.random.Generator, tick: int, source: str, modes: tuple[int, ...]) -> DeviceCommand:
    """A command that is bad in one way out of ten."""
    message = DeviceCommand(tick=tick, source=source, mode=int(random.choice(modes)))
    message.joint_effort = random.normal(size=JOINTS).tolist()
    for vector in (message.tool_wrench.force, message.tool_wrench.torque, message.tool_pose.position,
                   message.tool_twist.linear, message.tool_acceleration.angular):  # fmt: skip
        vector.x, vector.y, vector.z = random.normal(size=3)
    message.motion_fields = int(random.integers(1, 8))
    if random.random() < 0.3:
        message.joint_position = random.normal(size=JOINTS).tolist()
    if random.random() < 0.3:
        message.joint_velocity = random.normal(size=JOINTS).tolist()
    bad = random.integers(0, 60)
    if bad == 0:
        message.mode = 9
    elif bad == 1:
        message.joint_effort = [1.0]
        message.joint_position = [1.0]
    elif bad == 2:
        message.tool_wrench.torque.y = message.tool_twist.linear.z = float("nan")
        message.joint_effort = [0.0, float("inf"), 0.0]
    elif bad == 3:
        message.motion_fields = int(random.choice([0, 8]))
    elif bad == 4:
        message.joint_velocity = [float("nan")] * JOINTS
    elif bad == 5:
        message.tool_pose.orientation.w = float("inf")
    return message


@pytest.mark.slow
@pytest.mark.parametrize("follows", [False, True], ids=["impedance", "admittance"])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.fuzz) for seed in range(1, 5))])
def test_it_decides_as_the_python_loop_does(library: ctypes.CDLL, follows: bool, seed: int) -> None:
    random = np.random.default_rng(seed)
    device = Bench("admittance" if follows else "impedance")
    loop = TickLoop(device, SOURCES, watchdog_periods=WATCHDOG)
    native = Native(library, follows)
    seen: set[str] = set()
    causes: set[str] = set()
    stops = 0
    for _ in range(2000):
        for source in random.permutation(["a", "b", "b", "c"]):
            if random.random() < (0.6 if source == "c" else 0.15):
                continue  # late, or never
            # one admittance source commands motions, the other one nothing: more cannot be combined
            modes = ((NONE, MOTION) if source == "a" else (NONE,)) if follows else (NONE, EFFORT, WRENCH)
            tick = loop.tick + int(random.choice([0, 0, 0, 0, 0, -1, 1]))
            message = command(random, max(tick, 0), str(source), modes)
            try:
                loop.offer(message)
                expected = ""
            except InputError as error:
                expected = error.kind
            assert native.offer(message) == expected
            seen.add(expected)
        assert native.look()["complete"] == loop.collector.complete
        if random.random() < 0.002:  # a user presses the button
            loop.stop(SAFE_STOP, "emergency stop")
            native.stop()
        skipped = int(random.choice([1, 2, WATCHDOG - 1, WATCHDOG])) if random.random() < 0.05 else 0
        loop.advance(skipped)
        acted = native.advance(skipped)
        if follows:
            compare_motion(acted, device.acted)
        else:
            effort, wrench = acted
            # the device adds the two in this order; here nothing is rounded but the last sum
            np.testing.assert_allclose(effort + wrench[:JOINTS], device.acted, rtol=0.0, atol=1e-14)
        now = native.look()
        assert (now["tick"], now["missed"], now["status"]) == (loop.tick, loop.missed, loop.status)
        if loop.status == SAFE_STOP:
            causes.add(compare_reason(now, loop.reason))
            stops += 1
            again, anew = random.random() < 0.2, random.random() < 0.1
            if anew:
                loop.restart()
                native.restart()
            elif again:
                loop.resume()
                native.resume()
    assert seen == set(KINDS)
    assert stops > 5 and causes == {"stopped", "held up", "silent"}
    native.close()


def compare_reason(now: dict[str, int], reason: str) -> str:
    """Compares why the loops are in their safe state; returns the cause in a word."""
    if now["stopped"]:
        assert reason == "emergency stop"
        return "stopped"
    if now["held_up"]:
        assert reason == f"the device was held up for {now['held_up']} ticks"
        return "held up"
    silent = [source for i, source in enumerate(SOURCES) if now["silent"] >> i & 1]
    assert reason == f"source {', '.join(silent)}: silent for {WATCHDOG} ticks"
    return "silent"


def compare_motion(acted: Any, expected: Any) -> None:
    fields, by_joints, tool, positions, velocities = acted
    if expected is None:
        assert fields == 0
        return
    assert fields == expected.fields
    assert_array_equal(tool, np.concatenate([expected.pose, expected.twist, expected.acceleration]))
    for bit, given, wanted in ((1, positions, expected.joint_position), (2, velocities, expected.joint_velocity)):
        assert bool(by_joints & bit) == (wanted is not None)
        if wanted is not None:
            assert_array_equal(given, wanted)


@pytest.mark.parametrize(
    ("follows", "modes", "conflict"),
    [
        (True, (MOTION, NONE), 0), (True, (MOTION, MOTION), 3), (True, (MOTION, EFFORT), 3), (True, (NONE, WRENCH), 2),
        (True, (NONE, NONE), 0), (False, (EFFORT, WRENCH), 0), (False, (EFFORT, MOTION), 3), (False, (MOTION, NONE), 1),
    ],
)  # fmt: skip
def test_modes_that_cannot_be_combined_stop_the_loop(
    library: ctypes.CDLL, follows: bool, modes: tuple[int, int], conflict: int
) -> None:
    native = Native(library, follows)
    for source, mode in zip(SOURCES, modes, strict=True):
        message = DeviceCommand(source=source, mode=mode, motion_fields=1, joint_effort=[1.0] * JOINTS)
        assert native.offer(message) == ""
    native.advance()
    now = native.look()
    assert now["conflicting"] == conflict
    assert now["status"] == (SAFE_STOP if conflict else OK)
    native.resume()
    assert native.look()["status"] == OK and native.look()["conflicting"] == 0
    native.close()


@pytest.mark.parametrize("follows", [False, True], ids=["impedance", "admittance"])
def test_a_stop_by_hand_is_latched_until_resume_and_nothing_of_before_acts_after_it(
    library: ctypes.CDLL, follows: bool
) -> None:
    native = Native(library, follows, 1)
    message = DeviceCommand(
        source="a", mode=MOTION if follows else EFFORT, motion_fields=7, joint_effort=[1.0] * JOINTS
    )

    def acts(answered: bool) -> bool:
        message.tick = native.look()["tick"]
        if answered:
            assert native.offer(message) == ""
        acted = native.advance()
        return bool(acted[0]) if follows else bool(acted[0].any())

    assert acts(True)
    native.stop()
    assert not any(acts(True) for _ in range(10))
    assert native.look()["status"] == SAFE_STOP and native.look()["stopped"]
    native.resume()
    assert not native.look()["stopped"]
    assert not acts(False) and acts(True)
    native.close()


@pytest.mark.slow
def test_both_loops_and_the_host_act_alike_with_limits_stops_and_the_ramp(library: ctypes.CDLL) -> None:
    """The controller's loop with the host behind it, as under ros2_control, against the device node's loop."""
    entries = ("effort_limit=1", "effort_rate_limit=400", "velocity_limit=5", "workspace=0.06")
    texts = {"device": "joystick", "held": "false", "device_parameters": json.dumps(entries), "engagement_time": "0.01"}
    host, device = HostedDevice("joystick", texts), find_device("joystick")(parse_parameters(texts))
    device.configure(1e-3)
    device.activate()
    loop = TickLoop(device, ["a"], watchdog_periods=WATCHDOG, engagement_time=0.01)
    native = ctypes.c_void_p(library.make(1, 2, 0, ctypes.c_long(WATCHDOG)))
    random, out, look = np.random.default_rng(5), np.empty(33), (ctypes.c_long * 8)()
    reasons, limited, resets = set(), set(), 0
    for tick in range(4000):
        if random.random() < 0.9:
            level = [random.normal(scale=0.3), random.normal(scale=0.3)] if tick % 500 < 300 else [0.5, -0.8]
            values, nothing = np.array(level), np.zeros(25)
            loop.offer(DeviceCommand(source="a", tick=tick, mode=EFFORT, joint_effort=level))
            library.offer(native, ctypes.c_long(tick), b"a", EFFORT, 0, pointer(nothing), pointer(values), 2,
                          pointer(nothing), 0, pointer(nothing), 0)  # fmt: skip
        if random.random() < 0.003:
            loop.stop(SAFE_STOP, "emergency stop")
            library.stop(native)
        elif loop.status != OK and random.random() < 0.1:
            device.activate()
            loop.resume()
            library.resume(native)
            resets += 1
        skipped = WATCHDOG if random.random() < 0.002 else 0
        library.advance(native, ctypes.c_long(skipped), pointer(out))
        library.look(native, look)
        host.commands[0] = RUN if look[3] == OK else STOP
        host.commands[1], host.commands[2:] = resets, out[:8]
        host.write()
        host.read()
        loop.advance(skipped)
        assert_array_equal(host.device.read().values, device.read().values)
        assert max(look[3], host.status) == loop.status and host.safety.limited == loop.safety.limited
        reasons.add(loop.reason.partition(" ")[0])
        limited.add(loop.safety.limited)
    assert reasons >= {"", "emergency", "the", "joint", "tool:"}  # stopped, held up, too fast, too far
    assert limited >= {0, 2, 3, 16}  # effort and rate, and the ramp
    assert host.safety.counts == loop.safety.counts
    library.destroy(native)


def test_the_watchdog_s_length_counts(library: ctypes.CDLL) -> None:
    for watchdog in (1, 4):
        loop = ctypes.c_void_p(library.make(1, JOINTS, 0, ctypes.c_long(watchdog)))
        out = np.empty(3 * JOINTS + 27)
        look = (ctypes.c_long * 8)()
        stopped = None
        for tick in range(10):
            library.advance(loop, ctypes.c_long(0), pointer(out))
            library.look(loop, look)
            if look[3] == SAFE_STOP and stopped is None:
                stopped = tick
        assert stopped == watchdog - 1  # the last answer, before tick 0, is then `watchdog` ticks old
        library.destroy(loop)


NAN = float("nan")


def settled(library: ctypes.CDLL, commands: list[float], follows: bool) -> list[float]:
    array = np.array(commands)
    library.settle_commands(pointer(array), JOINTS, int(follows))
    return array.tolist()


def test_efforts_without_a_command_are_zero_and_the_device_runs_without_our_controller(library: ctypes.CDLL) -> None:
    unclaimed = [NAN] * (8 + JOINTS)
    assert settled(library, unclaimed, False) == [1.0, 0.0, *[0.0] * (6 + JOINTS)]
    commanded = [2.0, 3.0, 1.0, float("inf"), -1.0, 0.1, 0.2, NAN, 0.4, 0.5, 0.6]
    assert settled(library, commanded, False) == [2.0, 3.0, 1.0, 0.0, -1.0, 0.1, 0.2, 0.0, 0.4, 0.5, 0.6]


def motion(
    fields: float, by_joints: float, *, tool: float = 0.5, position: float = 0.1, velocity: float = 0.2
) -> list[float]:
    return [1.0, 1.0, fields, by_joints, *[tool] * 19, *[position] * JOINTS, *[velocity] * JOINTS]


@pytest.mark.parametrize(
    ("given", "fields", "by_joints"),
    [
        (motion(7.0, 0.0), 7, 0),
        (motion(7.0, 0.0, position=NAN, velocity=NAN), 7, 0),
        (motion(3.0, 3.0), 3, 3),
        (motion(7.0, 0.0, tool=NAN), 0, 0),
        (motion(1.0, 1.0, position=NAN), 0, 0),
        (motion(2.0, 2.0, velocity=float("inf")), 0, 0),
        (motion(8.0, 0.0), 0, 0),
        (motion(1.0, 4.0), 0, 0),
        (motion(1.0, NAN), 0, 0),
        # another controller: joint positions, joint velocities, both, none
        (motion(NAN, NAN, tool=NAN, velocity=NAN), 1, 1),
        (motion(NAN, NAN, tool=NAN, position=NAN), 2, 2),
        (motion(NAN, NAN, tool=NAN), 3, 3),
        (motion(NAN, NAN, tool=NAN, position=NAN, velocity=NAN), 0, 0),
    ],
)
def test_a_motion_is_whole_or_none(library: ctypes.CDLL, given: list[float], fields: int, by_joints: int) -> None:
    found = settled(library, given, True)
    assert found[2:4] == [fields, by_joints]
    assert_array_equal(found[4:], given[4:])


def test_a_wrench_is_turned_as_the_device_node_turns_it(library: ctypes.CDLL) -> None:
    random = np.random.default_rng(3)
    for _ in range(20):
        q, wrench, out = random.normal(size=4), random.normal(size=6), np.empty(6)
        q /= np.linalg.norm(q)
        library.turn_back(pointer(q), pointer(wrench), pointer(out))
        np.testing.assert_allclose(out, _in_tool_axes(q, wrench), rtol=0.0, atol=1e-14)


def test_percentiles_of_the_last_cycles(library: ctypes.CDLL) -> None:
    values = np.random.default_rng(4).permutation(np.arange(1001.0))
    for percent in (0, 50, 99, 100):
        found = library.percentile(pointer(values), len(values), ctypes.c_double(percent))
        assert found == 10.0 * percent
