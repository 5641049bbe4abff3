"""The QoS profiles: every reader finds every publisher, deadlines and liveliness are offered where they fit."""

from __future__ import annotations

import pytest
from rclpy.qos import QoSCompatibility, QoSProfile, qos_check_compatible

from haptic_core.qos import (
    DEADLINE_PERIODS,
    MODES,
    STATUS_LEASE,
    display_qos,
    latched_qos,
    recorder_qos,
    status_qos,
    tick_publisher_qos,
    tick_qos,
)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("period", [None, 1e-4, 1e-3, 0.1])
def test_whoever_takes_ticks_reaches_whoever_publishes_them(mode: str, period: float | None) -> None:
    """Also a program of one's own that asks for nothing, and one that offers no deadline to the suite's readers."""
    for reader in (tick_qos(mode), recorder_qos(), display_qos(), QoSProfile(depth=1)):
        assert qos_check_compatible(tick_publisher_qos(mode, period), reader)[0] != QoSCompatibility.ERROR
        assert qos_check_compatible(QoSProfile(depth=1), reader)[0] != QoSCompatibility.ERROR


@pytest.mark.parametrize("period", [1e-4, 1e-3, 0.1])
def test_a_deadline_of_some_periods_is_offered_in_realtime_only(period: float) -> None:
    no_deadline = QoSProfile(depth=1).deadline
    assert tick_publisher_qos("realtime", period).deadline.nanoseconds == round(DEADLINE_PERIODS * period * 1e9)
    for qos in (tick_publisher_qos("lockstep", period), tick_publisher_qos("realtime"), tick_qos("realtime")):
        assert qos.deadline == no_deadline


def test_status_reaches_subscribers_with_and_without_liveliness() -> None:
    assert status_qos().liveliness_lease_duration == STATUS_LEASE
    for reader in (status_qos(), latched_qos(), display_qos()):
        assert qos_check_compatible(status_qos(), reader)[0] != QoSCompatibility.ERROR
    assert qos_check_compatible(latched_qos(), status_qos())[0] == QoSCompatibility.ERROR
