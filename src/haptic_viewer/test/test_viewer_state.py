"""The lines about the state of the run, and the rate of the pictures."""

from __future__ import annotations

from pathlib import Path

import pytest

from haptic_msgs.msg import DeviceState
from haptic_viewer.frame_rate import SLOWEST, FrameRate
from haptic_viewer.state_line import Processors, StateLine, limit_of
from haptic_viewer.text import Strong


def words(*parts: str | Strong) -> str:
    return "".join(part if isinstance(part, str) else part.text for part in parts)


@pytest.mark.parametrize(
    ("factor", "pace", "compute", "busy", "expected"),
    [
        (1.0, 1.0, {}, 1.0, "the pace"),
        (0.5, 1.0, {"contact": 1.5e-3, "friction": 1e-4}, 0.6, "contact, 1500 µs a tick"),
        (0.5, 1.0, {"contact": 2e-4}, 0.99, "the processors, 99 % busy"),
        (3.0, 0.0, {"contact": 5e-5}, 0.7, "the messages between the processes"),
    ],
)
def test_the_limit_of_a_run_is_named(
    factor: float, pace: float, compute: dict[str, float], busy: float, expected: str
) -> None:
    assert limit_of(factor, pace, 1000.0 * factor, compute, busy).startswith(f"limited by {expected}")


def test_the_line_has_factor_missed_ticks_and_status() -> None:
    line = StateLine()
    line.set_status(0, "ok", {"missed ticks": "3"})
    line.set_diagnostics("contact", {"compute time p50 [us]": "12.0"})
    state = DeviceState(tick=1500, period=2e-3)
    shown = words(*line.parts(state, "lockstep", paused=False, pace=1.0))
    assert shown.startswith("tick 1500, 3.000 s, lockstep\n") and "× real time, 3 ticks missed\nlimited by" in shown
    assert "limited" not in words(*line.parts(state, "lockstep", paused=True))
    assert "limited" not in words(*line.parts(state, "realtime", paused=False))
    line.set_status(2, "it hangs")
    assert "3 ticks missed" in words(*line.parts(state, "realtime", paused=False))
    assert words(*line.parts(state, "realtime", paused=False)).endswith("error: it hangs")


def test_the_rate_does_not_include_the_time_without_a_page() -> None:
    line = StateLine()
    line.parts(DeviceState(tick=100, period=1e-3), "lockstep", paused=False)
    line.parts(DeviceState(tick=200, period=1e-3), "lockstep", paused=False)
    assert line.factor > 0.0
    line.begin()
    for tick in (200, 900_000):  # the state of the page before is still the newest one for a while
        line.parts(DeviceState(tick=tick, period=1e-3), "lockstep", paused=False)
        assert line.factor == 0.0


def test_processors_are_busy_for_the_time_in_which_they_are_not_idle(tmp_path: Path) -> None:
    file = tmp_path / "stat"
    file.write_text("cpu  100 0 100 700 100 0 0 0 0 0\n")
    processors = Processors(file)
    assert processors.busy() == pytest.approx(0.2)
    file.write_text("cpu  190 0 100 710 100 0 0 0 0 0\n")  # 90 more of work, 10 idle
    assert processors.busy() == pytest.approx(0.9)
    assert processors.busy() == pytest.approx(0.9)  # no time has passed
    assert Processors(tmp_path / "none").busy() == 0.0


def test_pictures_pause_for_the_run_and_resume() -> None:
    frames = FrameRate(30.0)
    rates = [frames.adapt(0.3, 1.0) for _ in range(10)]
    assert rates[:2] == [15.0, 7.5] and rates[-1] == SLOWEST
    assert frames.adapt(0.95, 1.0) == SLOWEST  # neither behind nor on time
    assert frames.adapt(1.0, 1.0) > SLOWEST
    for _ in range(50):
        frames.adapt(1.0, 1.0)
    assert frames.rate == 30.0
    assert frames.adapt(0.1, 0.0) == 30.0  # as fast as possible: there is nothing to keep
    assert FrameRate(1.0).adapt(0.1, 1.0) == 1.0
