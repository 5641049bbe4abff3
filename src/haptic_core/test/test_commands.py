"""A device sums the commands of its sources, and refuses wrong ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from haptic_core.commands import (
    ACCELERATION,
    EFFORT,
    MOTION,
    NONE,
    POSITION,
    VELOCITY,
    WRENCH,
    CommandCollector,
    motion_of,
    state_of,
)
from haptic_core.errors import InputError
from haptic_core.events import make_event
from haptic_msgs.msg import DeviceCommand

JOINTS = 2
JACOBIAN = np.arange(12.0).reshape(6, 2) - 5.0
NO_JACOBIAN = np.zeros((6, JOINTS))


def effort(source: str, tick: int, *values: float) -> DeviceCommand:
    return DeviceCommand(source=source, tick=tick, mode=EFFORT, joint_effort=values)


def wrench(source: str, tick: int, *values: float) -> DeviceCommand:
    command = DeviceCommand(source=source, tick=tick, mode=WRENCH)
    f, t = command.tool_wrench.force, command.tool_wrench.torque
    f.x, f.y, f.z, t.x, t.y, t.z = values
    return command


def collector(*sources: str, tick: int = 0) -> CommandCollector:
    made = CommandCollector(sources or ("a",), JOINTS)
    made.expect(tick)
    return made


def test_without_commands_the_effort_is_zero():
    assert collector("a", "b").effort(JACOBIAN).tolist() == [0.0, 0.0]


def test_a_wrench_becomes_joint_effort_by_the_transposed_jacobian():
    c = collector()
    c.offer(wrench("a", 0, 1.0, -2.0, 3.0, -4.0, 5.0, -6.0))
    # small integers: the sums are exact
    assert c.effort(JACOBIAN).tolist() == (JACOBIAN.T @ [1.0, -2.0, 3.0, -4.0, 5.0, -6.0]).tolist()


def test_efforts_and_wrenches_of_all_sources_add():
    c = collector("a", "b", "c", "d")
    c.offer(effort("a", 0, 1.0, 2.0))
    c.offer(wrench("b", 0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    c.offer(effort("c", 0, 10.0, 20.0))
    c.offer(wrench("d", 0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0))
    assert c.complete
    assert c.effort(JACOBIAN).tolist() == [
        11.0 + JACOBIAN[0, 0] + JACOBIAN[5, 0],
        22.0 + JACOBIAN[0, 1] + JACOBIAN[5, 1],
    ]
    assert c.wrench().tolist() == [1.0, 0.0, 0.0, 0.0, 0.0, 1.0]


def test_the_mode_none_contributes_nothing():
    c = collector()
    c.offer(DeviceCommand(source="a", mode=NONE, joint_effort=[1.0, 1.0]))
    assert c.complete
    assert c.effort(JACOBIAN).tolist() == [0.0, 0.0]


def test_the_sum_runs_in_the_order_of_the_sources():
    c = collector("small", "large", "minus")
    for command in (effort("minus", 0, -1e16, 0.0), effort("large", 0, 1e16, 0.0), effort("small", 0, 1.0, 0.0)):
        c.offer(command)
    # (1 + 1e16) - 1e16 rounds to 0; any order with the large numbers first gives 1
    assert c.effort(NO_JACOBIAN)[0] == 0.0


@given(st.data())
def test_the_sum_is_bit_identical_whatever_the_order_of_arrival(data):
    numbers = st.floats(-1e6, 1e6)
    commands = [effort(name, 0, *data.draw(st.tuples(*[numbers] * 2))) for name in "abc"]
    commands += [wrench(name, 0, *data.draw(st.tuples(*[numbers] * 6))) for name in "def"]
    sums = set()
    for order in (commands, data.draw(st.permutations(commands))):
        c = collector(*"abcdef")
        for command in order:
            c.offer(command)
        sums.add(c.effort(JACOBIAN).tobytes())
    assert len(sums) == 1


def rejected(c: CommandCollector, command: DeviceCommand) -> InputError:
    with pytest.raises(InputError) as error:
        c.offer(command)
    return error.value


@pytest.mark.parametrize(
    ("command", "kind", "message"),
    [
        (effort("z", 5, 0.0, 0.0), "unknown source", "source: expected one of a, b, got 'z'"),
        (effort("a", 4, 0.0, 0.0), "late", "tick of a: expected 5, got 4"),
        (effort("a", 6, 0.0, 0.0), "wrong tick", "tick of a: expected 5, got 6"),
    ],
)
def test_a_command_of_another_source_or_tick_is_no_answer(command, kind, message):
    c = collector("a", "b", tick=5)
    error = rejected(c, command)
    assert (error.kind, str(error)) == (kind, message)
    assert c.missing == ["a", "b"]


def test_a_second_answer_is_refused_and_the_first_one_stays():
    c = collector("a", "b", tick=5)
    c.offer(effort("a", 5, 1.0, 2.0))
    error = rejected(c, effort("a", 5, 8.0, 9.0))
    assert (error.kind, str(error)) == ("duplicate", "source a: answered tick 5 twice")
    assert c.missing == ["b"] and not c.complete
    assert c.effort(NO_JACOBIAN).tolist() == [1.0, 2.0]


BAD_FIELDS = [
    (effort("a", 1, 1.0), "wrong length", "joint_effort: expected 2 numbers, got 1"),
    (effort("a", 1, math.nan, 1.0), "not finite", "joint_effort: expected finite numbers, got nan"),
    (DeviceCommand(source="a", tick=1, mode=4), "unknown mode", "mode: expected 0 to 3, got 4"),
]


@pytest.mark.parametrize(("command", "kind", "message"), BAD_FIELDS)
def test_an_unusable_command_counts_as_an_answer_and_contributes_nothing_afterwards(command, kind, message):
    c = collector("a", tick=0)
    c.offer(effort("a", 0, 1.0, 2.0))
    c.expect(1)
    error = rejected(c, command)
    assert (error.kind, str(error)) == (kind, f"command of a: {message}")
    assert c.complete and c.missing == []
    assert c.effort(NO_JACOBIAN).tolist() == [0.0, 0.0]
    c.expect(2)
    assert c.effort(NO_JACOBIAN).tolist() == [0.0, 0.0]


def test_a_source_that_is_only_late_keeps_its_last_force():
    c = collector("a", tick=0)
    c.offer(effort("a", 0, 1.0, 2.0))
    c.expect(1)
    assert c.missing == ["a"]
    assert c.effort(NO_JACOBIAN).tolist() == [1.0, 2.0]


def test_a_source_is_silent_when_its_last_answer_is_that_many_ticks_old():
    c = collector("a", "b")
    for tick in range(4):
        c.expect(tick)
        c.offer(effort("a", tick, 0.0, 0.0))
        if tick == 0:
            c.offer(effort("b", tick, 0.0, 0.0))
    assert c.silent(4) == []
    assert c.silent(3) == ["b"]


def test_an_unusable_answer_is_not_silence():
    c = collector("a", tick=3)
    rejected(c, effort("a", 3, math.nan, 0.0))
    assert c.silent(1) == []


def test_reset_forgets_commands_and_answers():
    c = collector("a", tick=3)
    c.offer(effort("a", 3, 1.0, 2.0))
    c.reset()
    c.expect(0)
    assert c.missing == ["a"]
    assert c.effort(NO_JACOBIAN).tolist() == [0.0, 0.0]


def test_resume_discards_commands_but_not_the_answers_of_the_open_tick():
    c = collector("a", "b", tick=30)
    c.offer(effort("a", 30, 1.0, 2.0))
    c.resume()
    assert c.missing == ["b"] and c.silent(2) == []
    assert c.effort(NO_JACOBIAN).tolist() == [0.0, 0.0]
    c.offer(effort("b", 30, 3.0, 4.0))
    assert c.complete


# ---- motion ---------------------------------------------------------------------------------------


def motion(source: str, tick: int, fields: int, **joints: list[float]) -> DeviceCommand:
    """Position 1 to 3, orientation 0.1 0.7 0.1 0.7, velocity 8 to 13, acceleration 14 to 19."""
    command = DeviceCommand(source=source, tick=tick, mode=MOTION, motion_fields=fields, **joints)
    p, q = command.tool_pose.position, command.tool_pose.orientation
    p.x, p.y, p.z, q.x, q.y, q.z, q.w = 1.0, 2.0, 3.0, 0.1, 0.7, 0.1, 0.7
    for part, start in ((command.tool_twist, 8), (command.tool_acceleration, 14)):
        for vector, first in ((part.linear, start), (part.angular, start + 3)):
            vector.x, vector.y, vector.z = map(float, range(first, first + 3))
    return command


@pytest.mark.parametrize("fields", range(1, 8))
def test_a_motion_is_handed_on_as_arrays_with_its_fields(fields):
    c = collector("other", "a")
    c.offer(motion("a", 0, fields))
    wanted = c.motion()
    assert wanted.fields == fields
    assert wanted.pose.tolist() == [1, 2, 3, 0.1, 0.7, 0.1, 0.7]
    assert wanted.twist.tolist() == [8, 9, 10, 11, 12, 13]
    assert wanted.acceleration.tolist() == [14, 15, 16, 17, 18, 19]
    assert wanted.joint_position is None and wanted.joint_velocity is None


def test_a_motion_of_the_joints_stands_beside_the_pose():
    c = collector()
    c.offer(motion("a", 0, POSITION | VELOCITY, joint_position=[0.1, 0.2], joint_velocity=[0.3, 0.4]))
    assert c.motion().joint_position.tolist() == [0.1, 0.2]
    assert c.motion().joint_velocity.tolist() == [0.3, 0.4]


def test_a_motion_does_not_change_with_the_message_that_brought_it():
    c = collector()
    command = motion("a", 0, POSITION, joint_position=[0.1, 0.2])
    c.offer(command)
    wanted = c.motion()
    command.tool_pose.position.x = 100.0
    command.joint_position[0] = 100.0
    assert (wanted.pose[0], wanted.joint_position[0]) == (1.0, 0.1)


@pytest.mark.parametrize("command", [None, DeviceCommand(source="a", mode=NONE), effort("a", 0, 1.0, 2.0)])
def test_without_a_motion_command_there_is_no_motion(command):
    c = collector()
    if command is not None:
        c.offer(command)
    assert c.motion() is None


@pytest.mark.parametrize("fields", range(1, 8))
def test_a_source_that_is_late_keeps_the_position_and_nothing_else_of_its_last_motion(fields):
    c = collector()
    c.offer(motion("a", 0, fields))
    c.expect(1)
    wanted = c.motion()
    if fields & POSITION:
        assert wanted.fields == POSITION and wanted.pose[0] == 1.0
    else:
        assert wanted is None
    c.offer(motion("a", 1, POSITION | VELOCITY | ACCELERATION))
    assert c.motion().fields == POSITION | VELOCITY | ACCELERATION


@pytest.mark.parametrize("answer", [NONE, MOTION])
def test_after_an_unusable_answer_there_is_no_motion(answer):
    c = collector()
    c.offer(motion("a", 0, POSITION))
    c.expect(1)
    command = motion("a", 1, POSITION)
    command.mode = answer
    if answer == MOTION:
        command.tool_pose.position.y = math.nan
        assert rejected(c, command).kind == "not finite"
    else:
        c.offer(command)
    assert c.motion() is None
    c.expect(2)
    assert c.motion() is None


@pytest.mark.parametrize("command", [None, DeviceCommand(), effort("a", 0, 1.0), wrench("a", 0, *[0.0] * 6)])
def test_a_recorded_command_that_is_no_motion_means_to_hold(command):
    assert motion_of(command) is None


def test_a_motion_to_no_rotation_is_refused_where_it_is_asked_for():
    c = collector()
    command = motion("a", 0, POSITION)
    command.tool_pose.orientation.w = 7.0
    assert rejected(c, command).kind == "no rotation"
    for asked in (motion("a", 1, VELOCITY), motion("a", 2, POSITION, joint_position=[0.1, 0.2])):
        asked.tool_pose.orientation.w = 7.0
        c.expect(asked.tick)
        c.offer(asked)
        assert c.motion() is not None


@pytest.mark.parametrize(
    "detail",
    [
        {"state": "active"},
        {"state": "active", "mode": 3},
        {"parameters": 5},
        {"parameters": {"inputs": 3}},
        {"parameters": {"inputs": ["wall", 1]}},
    ],
)
def test_invalid_state_of_a_source_is_refused(detail):
    with pytest.raises(InputError) as caught:
        state_of(make_event("a", "state", detail))
    assert caught.value.kind == "malformed"


def test_a_source_s_state_is_read():
    detail = {"state": "active", "mode": "WRENCH", "parameters": {"inputs": ["wall"]}}
    assert state_of(make_event("a", "state", detail)) == detail
    assert state_of(make_event("a", "state", {"state": "inactive"})) == {"state": "inactive"}


def test_after_a_reset_no_tick_is_open() -> None:
    made = CommandCollector(("a", "b"), JOINTS)
    made.expect(7)
    made.reset()
    assert made.tick == -1 and set(made.last_answer.values()) == {-1}
