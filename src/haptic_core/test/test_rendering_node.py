"""The tick protocol of a rendering node on a live graph, and its diagnostics."""

from __future__ import annotations

import itertools
import math

from diagnostic_msgs.msg import DiagnosticStatus

from haptic_core.commands import NONE, WRENCH
from haptic_friction.node import FrictionNode

#: ROS domain of these tests
DOMAIN = 50


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

    status = bench.until(reported)[0]
    values = {entry.key: entry.value for entry in status.values}
    assert status.level == DiagnosticStatus.WARN
    assert (values["missed ticks"], values["rejected: not finite"]) == ("3", "1")
    assert float(values["rate [1/s]"]) > 0.0
    assert 0.0 < float(values["compute time p50 [us]"]) <= float(values["compute time p99 [us]"])
