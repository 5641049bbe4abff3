"""Studies: what the user asks for, resumption, any number of workers, what goes wrong."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import types
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import distributed
import pytest
import yaml
from machine_speed import limit
from rich.console import Console

import haptic_experiments
import haptic_verification
from haptic_bringup import cli
from haptic_core.errors import HapticError
from haptic_experiments import study
from haptic_experiments.study import load_study, read_settings, study_names
from haptic_launch.runner import UsageError

#: Dask's own page, on any free port
NO_PORT = "127.0.0.1:0"
HERE = Path(__file__).parent
NAMES = [
    path.stem.replace("_", "-")
    for package in (haptic_experiments, haptic_verification)
    for path in Path(package.__file__).with_name("studies").glob("[a-z]*.py")
]
RUN = "from haptic_bringup import cli; from haptic_experiments import study; import sys; "
RUN += "study.study_modules = lambda: {'tiny': 'tiny_study'}; "
RUN += "sys.argv = ['haptics', 'study', 'tiny', '--workers', '1']; "


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> types.ModuleType:
    """A study named tiny beside the real ones, in a working directory of its own."""
    monkeypatch.syspath_prepend(HERE)
    import tiny_study

    modules = study.study_modules()
    monkeypatch.setattr(study, "study_modules", lambda: {**modules, "tiny": "tiny_study"})
    monkeypatch.chdir(tmp_path)
    return tiny_study


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster in this process, for tests that are not about processes."""

    @contextlib.contextmanager
    def cluster(workers: int | None, scheduler: str | None) -> Iterator[Any]:
        del workers, scheduler
        local = distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=NO_PORT)
        with local, distributed.Client(local) as client:
            yield client

    monkeypatch.setattr(study, "cluster", cluster)


@pytest.fixture
def run() -> Callable[..., tuple[int, str]]:
    """Runs the study tiny; returns its exit code and what it printed."""

    def call(*words: str, **options: Any) -> tuple[int, str]:
        text = StringIO()
        code = study.run_study("tiny", list(words), Console(file=text, width=200), **options)
        return code, text.getvalue()

    return call


def runs() -> list[Path]:
    return sorted(Path("runs").glob("*"))


def facts(run: Path) -> dict[str, Any]:
    return yaml.safe_load((run / "run.yaml").read_text())


def drawn() -> list[int]:
    """Seeds of the tasks that ran, each as often as it did."""
    return sorted(int(path.name[5:].partition("-")[0]) for path in Path().glob("drawn*"))


# What the user asks for


@pytest.mark.parametrize("name", ["design-wall", "tau-wall"])
def test_studies_are_whole(name: str) -> None:
    """Defaults are allowed, and all tasks have names that are files."""
    found = load_study(name)
    work = found.tasks(found.settings())
    assert name in study_names() and len(work) > 5
    assert all(Path(task).name == task and "0x" not in repr(work[task]) for task in work)
    for field in found.settings.model_fields.values():
        assert field.description and (field.default is not None or "default: " in field.description)


def test_settings_are_read(tiny: types.ModuleType) -> None:
    given = {"count": "7", "scale": "1e-3", "names": "x, y,z", "axis": "[0,1.5]", "file": "12"}
    settings = read_settings(tiny.STUDY, given, "")
    assert settings == tiny.Settings(count=7, scale=1e-3, names=("x", "y", "z"), axis=(0.0, 1.5), file="12")


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("cuont:=3", "argument 'cuont' is unknown, expected one of: count, scale, names, axis, file"),
        ("count:=0", "argument count: expected greater than or equal to 1, got '0'"),
        ("count:=many", "argument count: expected a valid integer, got 'many'"),
        ("scale:=0", "argument scale: expected greater than 0, got '0'"),
        ("axis:=1", "argument axis: expected more values, got '1'"),
        ("axis:=1,b", "argument axis: expected a valid number, got '1,b'"),
        ("count=3", "argument 'count=3': expected name:=value"),
        ("file:=missing", "missing: cannot be read"),
    ],
)
def test_wrong_arguments(run: Any, word: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        run(word)
    assert str(caught.value) == message
    assert not runs()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["nope"],
            f"study 'nope' is unknown, expected one of: {', '.join(sorted([*NAMES, 'tiny']))}",
        ),
        (["tiny", "count:=x"], "argument count: expected a valid integer, got 'x'"),
        (["tiny", "--workers", "0"], "--workers: expected 1 or more, got 0"),
        (["claims"], "argument runs: required, give runs:=VALUE"),
        (
            ["tiny", "--workers", "1", "--scheduler", "tcp://a:1"],
            "--workers and --scheduler: expected one of them, got both",
        ),
    ],
)
def test_errors_are_one_line_and_a_hint(
    words: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["haptics", "study", *words])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    lines = capsys.readouterr().err.splitlines()
    assert caught.value.code == 2
    assert lines[0] == f"error: {message}" and lines[1].startswith("  hint: ") and len(lines) == 2


def test_list_and_arguments_are_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(cli, "console", lambda: Console(width=200))
    for words, expected in (
        (["list"], ("tau-wall", "design-wall")),
        (["study", "tiny", "-s"], ("count", "a,b", "[m]")),
        (["study", "claims", "-s"], ("runs", "required")),
    ):
        monkeypatch.setattr(sys, "argv", ["haptics", *words])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        assert caught.value.code == 0
        shown = capsys.readouterr().out
        assert all(word in shown for word in expected)


# What a run leaves behind


def test_a_run_is_whole(run: Any, threads: None) -> None:
    code, shown = run("count:=3")
    assert code == 0 and drawn() == [0, 1, 2]
    (directory,) = runs()
    assert directory.name.endswith("-study-tiny")
    metrics = json.loads((directory / "metrics.json").read_text())
    assert metrics["claims"] == [{"claim": "it adds up [m]", "measured": f"{metrics['sum']:.3f}", "shown": True}]
    assert metrics["count"] == 3 and metrics["never"] is None and metrics["deep"] == [{"none": None}]
    page = (directory / "report.html").read_text()
    for text in ("Tiny", "The sums.", "x [mm]", "draw2", "it adds up [m]", "drawing", "data:image/png;base64,"):
        assert text in page
    assert (directory / "sums.png").stat().st_size > 1000
    document = facts(directory)
    assert document["state"] == "finished" and document["tasks"] == 3 and document["timings"] == {"drawing": 0.5}
    assert document["arguments"]["count"] == 3 and {"git", "versions", "machine", "seconds"} <= set(document)
    assert "x [mm]" in shown and str(directory / "report.html") in shown


@pytest.mark.slow
def test_results_do_not_depend_on_the_workers(run: Any) -> None:
    metrics, processes = [], []
    for workers in (1, 2):
        run("count:=9", workers=workers, fresh=True)
        directory = runs()[-1]
        metrics.append((directory / "metrics.json").read_text())
        found = [study._load(path)["process"].item() for path in (directory / "results").glob("*.npz")]
        assert len(found) == 9
        processes.append(len(set(found)))
        assert facts(directory)["workers"] == workers
    assert metrics[0] == metrics[1]
    assert processes[0] == 1 and processes[1] == 2


def test_a_cluster_elsewhere(run: Any) -> None:
    """Work goes to the scheduler's workers, and they are left as they were."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address=NO_PORT
    ) as cluster:
        assert run(scheduler=cluster.scheduler_address)[0] == 0
        with distributed.Client(cluster) as client:
            assert len(client.scheduler_info()["workers"]) == 2
        assert facts(runs()[0])["workers"] == cluster.scheduler_address
    assert drawn() == [0, 1, 2, 3]


def test_no_cluster_there(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "PATIENCE", 0.5)
    with pytest.raises(HapticError, match=r"scheduler tcp://127\.0\.0\.1:9: no Dask scheduler answers there"):
        run(scheduler="tcp://127.0.0.1:9")


# Resumption


def test_a_failed_task_is_named_and_the_others_stay(run: Any, threads: None) -> None:
    Path("fail2").touch()
    with pytest.raises(HapticError, match=r"^task draw2 failed: ValueError: cannot be drawn$"):
        run()
    (directory,) = runs()
    assert facts(directory)["state"] == "failed"
    kept = {path.stem for path in (directory / "results").glob("*")}
    assert {"draw0", "draw1"} <= kept and "draw2" not in kept
    for path in Path().glob("drawn*"):
        path.unlink()
    Path("fail2").unlink()
    assert "(goes on)" in run()[1]
    assert runs() == [directory] and {f"draw{k}" for k in drawn()} == {f"draw{k}" for k in range(4)} - kept
    assert facts(directory)["state"] == "finished"


@pytest.mark.slow
def break_off(number: signal.Signals, send: Any, **variables: str) -> None:
    """Starts the study, and sends it a signal when two of its tasks are done."""
    Path("wait").touch()
    code = RUN + "cli.main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": f"{HERE}:{os.environ.get('PYTHONPATH', '')}", **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a background job would ignore it
    )
    try:
        while len(list(Path("runs").glob("*/results/*.npz"))) < 2:
            assert process.poll() is None, process.communicate()[0]
            time.sleep(0.05)
    finally:
        send(process.pid, number)
    shown = process.communicate(timeout=limit(100.0))[0]
    assert process.returncode == 130 and "goes on from here" in shown and "Traceback" not in shown
    (directory,) = runs()
    assert facts(directory)["state"] == "interrupted"


@pytest.mark.slow
def test_sigterm_leaves_no_folder_behind(run: Any, threads: None, tmp_path: Path) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    break_off(signal.SIGTERM, os.kill, TMPDIR=str(place))
    assert not list(place.iterdir())


@pytest.mark.slow
def test_ctrl_c_and_going_on(run: Any, threads: None) -> None:
    """Ctrl-C reaches the workers too, as in a terminal; the same command goes on, and comes to the same result."""
    break_off(signal.SIGINT, os.killpg)
    (directory,) = runs()
    Path("wait").unlink()
    run()
    assert runs() == [directory] and drawn() == [0, 1, 2, 3]
    whole = (directory / "metrics.json").read_text()
    run(fresh=True)
    assert (runs()[-1] / "metrics.json").read_text() == whole


@pytest.mark.slow
def test_runs_that_a_study_does_not_resume(run: Any, threads: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A finished run, one with other arguments or other sources, one that is in use, and any with --fresh."""
    run()
    run()
    assert len(runs()) == 2
    Path("fail3").touch()
    with pytest.raises(HapticError):
        run()
    Path("fail3").unlink()
    interrupted = runs()[-1]
    run("scale:=2")
    with monkeypatch.context() as patch:
        patch.setattr(study, "_digest", lambda tasks: "other sources")
        run()
    run(fresh=True)
    assert len(runs()) == 6 and facts(interrupted)["state"] == "failed"


def test_run_files_that_cannot_be_read_are_no_interrupted_runs(run: Any, threads: None) -> None:
    for number in range(2):
        Path(f"runs/{number}-study-tiny").mkdir(parents=True)
    Path("runs/0-study-tiny/run.yaml").write_bytes(b"\xff\xfe")
    os.mkfifo("runs/1-study-tiny/run.yaml")
    assert run()[0] == 0 and len(runs()) == 3


def test_a_run_in_use_is_left_alone(run: Any, threads: None) -> None:
    Path("fail3").touch()
    with pytest.raises(HapticError):
        run()
    Path("fail3").unlink()
    lock = study._lock(runs()[0])
    assert lock is not None
    run()
    assert len(runs()) == 2 and facts(runs()[0])["state"] == "failed"
    lock.close()


def test_digest(tiny: types.ModuleType) -> None:
    """Names, tasks' values, and the sources of the tasks' package are in it."""
    from tau_wall_control.study import StudySettings, tasks

    a = tiny.tasks(tiny.Settings())
    assert study._digest(a) == study._digest(tiny.tasks(tiny.Settings()))
    assert study._digest(a) != study._digest(tiny.tasks(tiny.Settings(scale=2.0)))
    assert study._digest(a) != study._digest({f"other-{name}": task for name, task in a.items()})
    one, two = (study._digest(tasks(StudySettings(parts=("walls",), force=F))) for F in (5.0, 6.0))
    assert one != two


def test_a_result_is_whole_or_not_there(tmp_path: Path) -> None:
    """A result that cannot be written leaves no file that would be taken for it."""

    class Broken:
        def __array__(self, *args: Any, **options: Any) -> Any:
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        study._keep(study.stored(tmp_path, "a"), {"x": Broken()})  # type: ignore[dict-item]
    assert not study.stored(tmp_path, "a").exists()
