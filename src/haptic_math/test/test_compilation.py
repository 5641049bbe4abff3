"""A compilation that takes long is announced once, on a terminal only."""

import sys
from types import SimpleNamespace

import numba
import pytest
from numba.core import event

from haptic_math import compilation


def compiled_in(module: str) -> None:
    """Compiles a new function of a module."""

    def function(x: float) -> float:
        return x + 1.0

    function.__module__ = module
    numba.njit(function)(1.0)


@pytest.fixture
def announcement(monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setattr(compilation, "_PATIENCE", 0.0)
    before = list(event._registered["numba:compile"])
    compilation.announce_compilation("my_library")
    yield
    event._registered["numba:compile"][:] = before


@pytest.mark.usefixtures("announcement")
def test_compilation_is_announced_once(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    compiled_in("another_library.kernels")
    assert capsys.readouterr().err == ""
    compiled_in("my_library.kernels")
    compiled_in("my_library.kernels")
    text = "my_library compiles its functions, once; a first call can take a minute\n"
    assert capsys.readouterr().err == text


@pytest.mark.usefixtures("announcement")
def test_nothing_is_printed_into_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    compiled_in("my_library.kernels")
    assert capsys.readouterr().err == ""


def test_nested_compilations_count_once(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 1.0, 3.0, 3.0])  # starts of the outer and the inner function; the end of the outer one
    monkeypatch.setattr(compilation.time, "perf_counter", lambda: next(times))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    function = SimpleNamespace(py_func=SimpleNamespace(__module__="my_library"))
    listener = compilation._Announcement("my_library")
    for kind in (listener.on_start, listener.on_start, listener.on_end, listener.on_end):
        kind(SimpleNamespace(data={"dispatcher": function}))
    assert capsys.readouterr().err == ""  # 3 s, not 5
