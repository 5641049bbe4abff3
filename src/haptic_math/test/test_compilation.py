"""A compilation that takes long is announced while it goes on, once, on a terminal only."""

import io
from collections.abc import Callable
from types import SimpleNamespace

import numba
import pytest
from numba.core import event

from haptic_math import compilation


class Clock:
    """Clock of the compilations, whose timers elapse when the test says so.

    Attributes:
        time: present time [s].
        timers: delay [s] and function of each timer that is not cancelled.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.time = 0.0
        self.timers: list[tuple[float, Callable[[], None]]] = []
        monkeypatch.setattr(compilation.time, "perf_counter", lambda: self.time)
        monkeypatch.setattr(compilation.threading, "Timer", self._timer)

    def _timer(self, delay: float, function: Callable[[], None]) -> SimpleNamespace:
        entry = (delay, function)
        return SimpleNamespace(start=lambda: self.timers.append(entry), cancel=lambda: self.timers.remove(entry))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture
def stderr(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    return _stderr(Terminal(), monkeypatch)


def _stderr(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    monkeypatch.setattr(compilation, "sys", SimpleNamespace(stderr=stream, modules={}))
    return stream


def compilation_of(module: str) -> SimpleNamespace:
    return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=SimpleNamespace(__module__=module))})


OWN = compilation_of("my_library.kernels")
TEXT = "my_library compiles its functions, once"


def test_compilation_that_goes_on_is_announced_once(clock: Clock, stderr: io.StringIO) -> None:
    listener = compilation._Announcement("my_library", TEXT)
    listener.on_start(OWN)
    ((delay, elapse),) = clock.timers
    assert delay == 3.0 and stderr.getvalue() == ""
    elapse()
    assert stderr.getvalue() == f"{TEXT}\n"
    listener.on_end(OWN)
    clock.timers.clear()
    listener.on_start(OWN)
    assert not clock.timers


@pytest.mark.usefixtures("stderr")
def test_short_compilations_add_up(clock: Clock) -> None:
    listener = compilation._Announcement("my_library", TEXT)
    for _ in range(2):
        listener.on_start(OWN)
        clock.time += 1.25
        listener.on_end(OWN)
        assert not clock.timers
    listener.on_start(OWN)
    assert clock.timers[0][0] == 0.5


@pytest.mark.usefixtures("stderr")
def test_nested_compilations_count_once(clock: Clock) -> None:
    listener = compilation._Announcement("my_library", TEXT)
    listener.on_start(OWN)
    listener.on_start(OWN)
    assert len(clock.timers) == 1
    clock.time += 1.0
    listener.on_end(OWN)
    assert len(clock.timers) == 1
    listener.on_end(OWN)
    listener.on_start(OWN)
    assert [delay for delay, _ in clock.timers] == [2.0]


@pytest.mark.usefixtures("stderr")
def test_compilation_of_another_library_is_not_announced(clock: Clock) -> None:
    compilation._Announcement("my_library", TEXT).on_start(compilation_of("another_library.kernels"))
    assert not clock.timers


def test_nothing_is_printed_into_a_file(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    _stderr(io.StringIO(), monkeypatch)
    compilation._Announcement("my_library", TEXT).on_start(OWN)
    assert not clock.timers


@pytest.mark.usefixtures("clock")
def test_numba_reports_its_compilations(stderr: io.StringIO) -> None:
    def function(x: float) -> float:
        return x + 1.0

    function.__module__ = "my_library.kernels"
    before = list(event._registered["numba:compile"])
    compilation.announce_compilation("my_library", "two minutes")
    listener = event._registered["numba:compile"][-1]
    try:
        numba.njit(function)(1.0)
    finally:
        event._registered["numba:compile"][:] = before
    assert listener._depth == 0 and listener._timer is not None
    listener._print()
    assert stderr.getvalue() == "my_library compiles its functions, once; a first call can take two minutes\n"
