"""What the benchmarks rest on: engines installed on demand (here by a pretended installer), and their measures."""

from __future__ import annotations

import contextlib
import importlib
import os
import subprocess
import sys
import uuid
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from machine_speed import limit
from started_runs import HAPTICS, wait_until

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def peers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The module, with one engine: two packages of three in a lock of its own."""
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    module = importlib.import_module("peers")
    monkeypatch.setattr(module, "PEERS", {"pretended": ("pretended_engine", r"pretended(-core)?")})
    monkeypatch.setattr(module, "LOCK", tmp_path / "peers.lock")
    write_lock(tmp_path, "1.0")
    return module


def write_lock(folder: Path, version: str) -> None:
    lines = ["# a comment", f"pretended=={version} ; python_full_version >= '3.10'", "    # via peers.in"]
    lines += [f"pretended-core=={version}", "numpy==2.0.0"]
    (folder / "peers.lock").write_text("\n".join(lines))


class Installer:
    """Pretends to install: writes a module, and notes what it was asked for."""

    def __init__(self, code: str = "") -> None:
        self.calls: list[list[str]] = []
        self.code = code

    def __call__(self, lines: list[str], target: Path) -> None:
        self.calls.append(lines)
        target.mkdir()
        (target / "pretended_engine.py").write_text(f"VERSION = {lines[0].split('==')[1][:3]!r}\n{self.code}")


def forget(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """As if another process asked."""
    sys.modules.pop("pretended_engine", None)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if not entry.startswith(str(home))])


def test_a_peer_is_installed_once_and_again_when_the_lock_changes(
    peers: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install = Installer()
    assert peers.add("pretended", install, home=tmp_path).VERSION == "1.0"
    assert install.calls == [["pretended-core==1.0", "pretended==1.0 ; python_full_version >= '3.10'"]]  # and no NumPy
    assert sys.path[-1].startswith(str(tmp_path / "peers"))  # what the suite has comes first
    peers.add("pretended", install, home=tmp_path)
    forget(monkeypatch, tmp_path)
    peers.add("pretended", install, home=tmp_path)
    assert len(install.calls) == 1
    forget(monkeypatch, tmp_path)
    write_lock(tmp_path, "2.0")
    assert peers.add("pretended", install, home=tmp_path).VERSION == "2.0"
    assert len(install.calls) == 2
    forget(monkeypatch, tmp_path)


def test_a_failed_installation_is_one_line_and_leaves_nothing(
    peers: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(lines: list[str], target: Path) -> None:
        target.mkdir()
        (target / "half").write_text("")
        raise OSError("it does not work")

    with pytest.raises(peers.PeerError, match=r"^pretended could not be installed: it does not work$"):
        peers.add("pretended", fail, home=tmp_path)
    assert list((tmp_path / "peers").iterdir()) == []
    peers.add("pretended", Installer(), home=tmp_path)
    forget(monkeypatch, tmp_path)


def test_a_peer_that_does_not_start_or_is_not_locked_is_refused(
    peers: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(peers.PeerError, match=r"^pretended does not start: no libraries$"):
        peers.add("pretended", Installer("raise ImportError('no libraries')"), home=tmp_path)
    forget(monkeypatch, tmp_path)
    (tmp_path / "peers.lock").write_text("numpy==2.0.0\n")
    with pytest.raises(peers.PeerError, match=r"pretended is not in peers\.lock"):
        peers.add("pretended", Installer(), home=tmp_path)


def test_the_locks_have_every_peer(peers: ModuleType) -> None:
    locks = (BENCHMARKS.parent / "requirements").glob("*.lock")
    names = {line.split("==")[0] for lock in locks for line in peers.pinned(lock)}
    assert names >= {"mujoco-core", "drake", "pin"}


def test_the_cases_of_the_constraints_start_on_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    for kind in importlib.import_module("constraint_cases").CASES:
        case = kind()
        q, v = case.q[None], case.v[None]
        assert case.gap(q)[0] < 1e-15, case.name
        assert case.slip(q, v)[0] < 1e-14, case.name
        g = case.generator(compiled=False)
        rows = g.simulate(wrenches=np.zeros((100, 6)))
        own, ours = rows.kinetic_energy + rows.potential_energy, case.energy(*case.natural(rows))
        np.testing.assert_allclose(ours - ours[0], own - own[0], rtol=0, atol=1e-14 * ours[0], err_msg=case.name)


@pytest.mark.slow
def test_every_scene_of_the_applications_runs_and_fills_its_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    bench, scenes = (importlib.import_module(name) for name in ("bench_applications", "application_scenes"))
    monkeypatch.setattr(scenes, "HELD", 0.02)  # a longer grasp is held
    for application in bench.APPLICATIONS.values():
        case = application.cases[0]
        scene = scenes.gears(slices=16, flank=4) if application.title.startswith("Gears") else case.scene
        simulation = scenes.SIMULATIONS[type(scene)](scene, case.period, case.approximations[0])
        simulation.step()
        assert len(simulation.figures()) == len(application.figures), application.title


@pytest.mark.slow
@pytest.mark.parametrize("name", ["applications", "batch", "constraints", "friction", "loop", "simulation"])
def test_every_benchmark_has_a_help_text(name: str) -> None:
    command = [sys.executable, str(BENCHMARKS / f"bench_{name}.py"), "--help"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "usage" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--rounds", "abc"], "argument --rounds: expected a whole number, got 'abc'"),
        (["--rounds", "0"], "argument --rounds: expected 1 or more, got 0"),
        (["--nonsense"], "unrecognized arguments: --nonsense"),
    ],
)
def test_mistake_in_an_option_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    monkeypatch.setattr(sys, "argv", ["bench_loop.py", *words])
    options = importlib.import_module("options")
    parser = options.Parser()
    parser.add_argument("--rounds", type=options.positive)
    with pytest.raises(SystemExit) as ended:
        parser.parse_args()
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"error: {message}\n  hint: ./haptics bench loop --help\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("emergency_stop", ["--samples", "0"]),
        ("friction", ["ticks:=abc"]),
        ("loop", ["--ticks", "-5"]),
        ("simulation", ["--scenes", "nowhere"]),
    ],
)
def test_mistake_in_a_benchmark_is_one_line(name: str, words: list[str]) -> None:
    command = [*HAPTICS, "bench", name, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=limit(200.0), check=False)
    assert done.returncode == 2 and done.stdout == ""
    error, hint = done.stderr.splitlines()
    assert error.startswith("error: ") and hint == f"  hint: ./haptics bench {name} --help"


@pytest.mark.slow
def test_processes_of_a_killed_benchmark_end() -> None:
    words = ["bench", "loop", "--rounds", "1", "--ticks", "100000000", "--executors", "events", "--realtime", "0"]
    mark = f"HAPTICS_TEST_MARK={uuid.uuid4().hex}"
    environment = {**os.environ, **dict([mark.split("=")])}

    def marked() -> list[str]:
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # it has ended
                if mark.encode() in (process / "environ").read_bytes():
                    found.append((process / "cmdline").read_bytes().decode())
        return found

    with subprocess.Popen([*HAPTICS, *words], env=environment, stdout=subprocess.DEVNULL) as started:
        wait_until(lambda: sum("echo.py" in line for line in marked()) == 2)
        started.kill()
    wait_until(lambda: not marked())
