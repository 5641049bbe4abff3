"""The tick protocol of a rendering node on a live graph, and its diagnostics."""

from __future__ import annotations

import itertools
import math
from typing import Any, ClassVar

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.serialization import serialize_message

from haptic_core.cdr import encoder
from haptic_core.commands import NONE, WRENCH
from haptic_core.messages import detail_of
from haptic_core.tick_inputs import Input
from haptic_friction.node import FrictionNode
from haptic_msgs.msg import DeviceState, WallState


def test_each_state_gets_exactly_one_command_of_its_tick(make):
    bench = make().start()
    for tick in range(50):
        bench.publish(tick, velocity=float(tick))
    bench.until(lambda: len(bench.commands) >= 50)
    bench.answer(50)
    assert [command.tick for command in bench.commands] == list(range(51))
    assert {command.source for command in bench.commands} == {"damper"}
    assert [command.tool_wrench.force.x for command in bench.commands[:50]] == [-2.0 * tick for tick in range(50)]


def test_a_state_that_is_not_finite_is_answered_with_none_and_counted(make):
    bench = make().start()
    modes = [bench.answer(tick, velocity=v).mode for tick, v in enumerate((1.0, math.nan, 1.0))]
    assert modes == [WRENCH, NONE, WRENCH]
    assert bench.node.rejections.counts == {"not finite": 1}


def test_a_tick_that_repeats_or_goes_backwards_is_not_answered_but_counted(make):
    bench = make().start()
    for tick in (5, 4, 5):
        bench.publish(tick)
    bench.answer(6)
    assert [command.tick for command in bench.commands] == [5, 6]
    assert bench.node.rejections.counts == {"wrong tick": 2}


def test_a_device_that_starts_anew_with_tick_0_resets_the_node(make):
    bench = make().start()
    for tick in range(4):
        bench.answer(tick)
    before = bench.node.state.dissipated_energy
    bench.commands.clear()
    bench.answer(0)
    assert (before, bench.node.state.dissipated_energy) == (4.0, 1.0)
    event = bench.event("reset")
    assert (event.tick, detail_of(event)) == (0, {"because": "the device has started anew"})
    bench.answer(1)
    bench.publish(0)  # a second start, after one tick
    bench.until(lambda: [command.tick for command in bench.commands] == [0, 1, 0])
    bench.publish(0)  # but the same tick twice is none
    bench.until(lambda: bench.node.rejections.counts)
    assert bench.node.rejections.counts == {"wrong tick": 1}


def test_the_friction_node_rejects_a_state_of_another_period(make):
    bench = make(FrictionNode).start()
    assert [bench.answer(0).mode, bench.answer(1, period=0.002).mode] == [WRENCH, NONE]
    assert bench.node.rejections.counts == {"wrong period": 1}


def test_diagnostics_carry_rate_compute_time_missed_ticks_and_rejections(make):
    bench = make().start()
    bench.answer(0, velocity=math.nan)
    ticks = itertools.count(4)  # three were missed
    name = bench.node.get_fully_qualified_name().lstrip("/")

    def reported() -> list[DiagnosticStatus]:
        bench.answer(next(ticks))
        return [status for status in bench.diagnostics if status.name == name]

    assert bench.until(reported)[0].level == DiagnosticStatus.OK  # the first one, when it became active
    status = bench.until(lambda: reported()[1:])[0]
    values = {entry.key: entry.value for entry in status.values}
    assert status.level == DiagnosticStatus.WARN
    assert (values["missed ticks"], values["rejected: not finite"]) == ("3", "1")
    assert float(values["rate [1/s]"]) > 0.0
    assert 0.0 < float(values["compute time p50 [us]"]) <= float(values["compute time p99 [us]"])


@pytest.fixture
def waiting_type(damper_type: type) -> type:
    """A node that can wait for walls, and answers what its test says."""

    class WaitingNode(damper_type):
        input_types: ClassVar = {"wall": Input(WallState)}
        answer = 1.0

        def render(self, device: DeviceState) -> None:
            self.command.tool_wrench.force.x = self.answer

    return WaitingNode


def wall(tick: int, **fields: Any) -> bytes:
    return encoder(WallState)(WallState(tick=tick, **fields))  # every time the same bytes: they name tests


def test_malformed_device_state_does_not_replace_a_waiting_one(make, waiting_type):
    bench = make(waiting_type, inputs=["wall"])
    assert bench.start().node.active
    node, receive = bench.node, bench.node._receiver("wall", WallState)
    state = serialize_message(DeviceState(tick=5, period=1e-3))
    node._on_device_state(state)
    for bad in (state, state[:50], b"", serialize_message(DeviceState(tick=2**63, period=1e-3))):
        node._on_device_state(bad)
    receive(wall(5))
    assert bench.until(lambda: bench.commands)[0].tick == 5
    assert node.rejections.counts == {"wrong tick": 2, "malformed": 2}


@pytest.mark.parametrize(
    ("message", "kinds"),
    [
        (wall(0, effort=[math.nan]), {"not finite": 1, "unusable input": 1}),
        (wall(0, push=[1.0]), {"wrong length": 1, "unusable input": 1}),
        (wall(0, rendered_stiffness=1e300), {"too large": 1, "unusable input": 1}),
    ],
)
def test_a_tick_with_an_input_that_cannot_be_used_is_answered_with_none(make, waiting_type, message, kinds):
    bench = make(waiting_type, inputs=["wall"]).start()
    receive = bench.node._receiver("wall", WallState)
    receive(message)
    assert bench.answer(0).mode == NONE
    assert bench.node.rejections.counts == kinds
    receive(wall(1))
    assert bench.answer(1).mode == WRENCH


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x00\x01\x00\x00", wall(0)[:40], b"\x00\x01\x00\x00" + b"\xff" * 60])
def test_bytes_that_are_no_input_are_refused_as_malformed(make, waiting_type, data):
    bench = make(waiting_type, inputs=["wall"]).start()
    receive = bench.node._receiver("wall", WallState)
    receive(data)
    assert bench.node.rejections.counts == {"malformed": 1}
    receive(wall(0))
    assert bench.answer(0).mode == WRENCH


@pytest.mark.parametrize("answer", [math.nan, math.inf, 1e300])
def test_an_answer_that_is_no_number_is_not_given_and_the_node_starts_anew(make, waiting_type, answer):
    bench = make(waiting_type).start()
    bench.answer(0)
    bench.node.answer = answer
    assert bench.answer(1).mode == NONE
    assert bench.node.rejections.counts == {"no answer": 1}
    assert "tool_wrench: expected" in detail_of(bench.event("reset"))["because"]
    bench.node.answer = 2.0
    assert bench.answer(2).mode == WRENCH
    assert bench.node.state.dissipated_energy == 2.0  # its reset makes it zero, at tick 1


def test_garbage_of_tick_0_is_no_new_start(make, waiting_type):
    bench = make(waiting_type).start()
    bench.answer(7)
    for bad in (DeviceState(), DeviceState(period=1e-3, status=9)):
        bench.node._on_device_state(serialize_message(bad))
    assert bench.node.rejections.counts == {"wrong period": 1, "unknown status": 1}
    assert bench.answer(8).mode == WRENCH
    assert bench.node.state.dissipated_energy == 2.0  # no reset
