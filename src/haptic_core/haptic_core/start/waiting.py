"""Waiting within an executor: a timer checks a condition, while callbacks and services are served."""

from __future__ import annotations

import time
from collections.abc import Callable

from rclpy.clock import Clock, ClockType

from haptic_core.errors import HapticError
from haptic_core.suite_node import SuiteNode

#: interval of the checks, and time after which a wait is logged [s]
INTERVAL, PATIENCE = 0.01, 10.0


class Wait:
    """Checks a condition, at once and then by a timer, until it holds or the time is up.

    During the wait the node's diagnostics report a warning, "waiting for ...".

    Args:
        node: node that waits; its executor serves the timer.
        missing: function that returns the missing items; empty if the condition holds.
        timeout: longest wait [s], on a steady clock.
        subject: name of the awaited condition, for the log and the error.
        then: function to call when the condition holds.
        expired: function to call with one line that names the missing items when the time is up, or with the text of
            a HapticError that `missing` raises at a later check.

    Attributes:
        done: true if the condition holds.

    Raises:
        HapticError: from `missing`, at the first check.
    """

    def __init__(
        self,
        node: SuiteNode,
        missing: Callable[[], str],
        *,
        timeout: float,
        subject: str,
        then: Callable[[], object] = lambda: None,
        expired: Callable[[str], object],
    ) -> None:
        self._node, self._missing, self._timeout, self._subject = node, missing, timeout, subject
        self._then, self._expired = then, expired
        self._start, self._logged = time.monotonic(), False
        self._timer = None
        self.done = False
        self._check()
        if not self.done:
            self._timer = node.create_timer(INTERVAL, self._check, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _check(self) -> None:
        try:
            missing = self._missing()
        except HapticError as error:
            if self._timer is None:
                raise
            self.cancel()
            self._expired(str(error))
            return
        waited = time.monotonic() - self._start
        if not missing:
            reported = self._timer is not None
            self.cancel()
            self.done = True
            if reported:
                self._node.report_diagnostics(0.0)
            self._then()
        elif waited > self._timeout:
            self.cancel()
            self._expired(f"waited {self._timeout:g} s for {self._subject}; still missing: {missing}")
        else:
            self._node.waiting_for = missing
            if self._timer is not None:
                self._node.report_diagnostics()
            if waited > PATIENCE and not self._logged:
                self._logged = True
                line = f"waiting for {self._subject}; still missing: {missing} (the first time code is compiled)"
                self._node.get_logger().info(line)

    def cancel(self) -> None:
        """Ends the wait without a result."""
        self._node.waiting_for = ""
        if self._timer is not None:
            self._timer.cancel()
            self._node.destroy_timer(self._timer)
            self._timer = None
