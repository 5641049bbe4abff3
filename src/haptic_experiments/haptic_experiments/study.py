"""Runs a study: tasks that do not depend on each other, on all cores or on a Dask cluster, then metrics and a report.

A study is a module with a `Study` named STUDY, in a package that is an entry point of group `haptic_studies`. Every
task's result is a file of the run's directory before the next one starts there, so a run that was interrupted goes on
where it stopped. Results do not depend on how many workers there were: tasks bring their seeds, and workers compute
with one thread each.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.util
import logging
import os
import pkgutil
import re
import signal
import tempfile
import threading
import time
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
import yaml
from pydantic import BaseModel, ValidationError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from haptic_core.errors import HapticError, shortened
from haptic_experiments.kit.results import ResultTable
from haptic_experiments.study_report import StudyReport, show, write
from haptic_files import FileError, listed, read_yaml, write_text
from haptic_launch.runner import INTERRUPTED, UsageError, new_run_directory, parse_arguments, run_facts

ENTRY_POINTS = "haptic_studies"  #: entry points that are packages of studies

__all__ = ["ResultTable", "Results", "Study", "StudyReport", "Task", "load_study", "run_study", "study_names"]

Results = dict[str, dict[str, np.ndarray]]

PATIENCE = 10.0  #: longest time until a scheduler answers [s]


class Task(Protocol):
    """A part of a study that is computed on its own.

    It can be pickled, and its repr has all that its result depends on: a dataclass of plain values.
    """

    def run(self) -> dict[str, np.ndarray]:
        """Computes the result, as arrays."""
        ...


@dataclass(frozen=True)
class Study:
    """A study."""

    title: str  #: title for readers
    paper: str  #: paper and figures that it repeats
    summary: str  #: result of the study, in a sentence or two
    settings: type[BaseModel]  #: model of its arguments, with defaults and descriptions
    #: function that makes the tasks by name from the settings. It may raise ValueError about the settings.
    tasks: Callable[[Any], Mapping[str, Task]]
    #: function that makes the report from the settings, the results by name, and the run's directory
    report: Callable[[Any, Results, Path], StudyReport]
    #: default number of workers: 1 for tasks that disturb each other; None: one for each core
    workers: int | None = None


# --- arguments ----------------------------------------------------------------------------------------------


def study_modules() -> dict[str, str]:
    """Finds the module of each study, by the study's name, in the packages of the entry points."""
    found = {}
    for point in entry_points(group=ENTRY_POINTS):
        package = importlib.util.find_spec(point.value)
        folders = None if package is None else package.submodule_search_locations
        for module in pkgutil.iter_modules(folders or ()):
            found[module.name.replace("_", "-")] = f"{point.value}.{module.name}"
    return found


def study_names() -> list[str]:
    """Returns the sorted names of all studies."""
    return sorted(study_modules())


def load_study(name: str) -> Study:
    """Loads a study by its name.

    Raises:
        UsageError: There is no study of this name.
    """
    modules = study_modules()
    if name not in modules:
        raise UsageError(
            f"study {shortened(name)} is unknown, expected one of: {listed(sorted(modules), name)}",
            "see ./haptics list",
        )
    study: Study = import_module(modules[name]).STUDY
    return study


def read_settings(study: Study, given: Mapping[str, str], hint: str) -> Any:
    """Reads a study's settings from name:=value arguments; the values of a sequence are separated by commas.

    Raises:
        UsageError: An argument is refused; the message has its name, the expected and the given value.
    """
    fields = study.settings.model_fields
    for name in given:
        if name not in fields:
            raise UsageError(
                f"argument {shortened(name, 60)} is unknown, expected one of: {listed(fields, name)}", hint
            )
    values: dict[str, Any] = dict(given)
    for name, text in given.items():
        if _is_sequence(fields[name].annotation):
            values[name] = [part.strip() for part in text.strip().strip("[]()").split(",") if part.strip()]
    try:
        return study.settings(**values)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        if name not in given:
            raise UsageError(f"argument {name}: required, give {name}:=VALUE", hint) from None
        if first["type"] == "missing":
            first["msg"] = "expected more values"
        words = re.sub(r"^(Input should (be|have)|Value error,) ?", "expected ", first["msg"]).partition(", unable")[0]
        words = words.replace("expected expected", "expected")
        raise UsageError(f"argument {name}: {words}, got {given[name]!r}", hint) from None


def _is_sequence(annotation: Any) -> bool:
    kinds = typing.get_args(annotation) if typing.get_origin(annotation) not in (tuple, list) else (annotation,)
    return any(typing.get_origin(kind) in (tuple, list) for kind in kinds)


# --- computation --------------------------------------------------------------------------------------------


@contextlib.contextmanager
def cluster(workers: int | None, scheduler: str | None) -> Iterator[Any]:
    """Opens a Dask client: of workers on this machine, by default one for each core, or of a scheduler.

    Raises:
        HapticError: No scheduler answers at the address.
    """
    import distributed

    if scheduler is not None:
        try:
            client = distributed.Client(scheduler, timeout=PATIENCE)
        except (OSError, ValueError) as error:
            why = " ".join(str(error).split())
            raise HapticError(f"scheduler {scheduler}: no Dask scheduler answers there ({why})") from None
        with client:
            yield client
        return
    count = workers or len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(prefix="haptics-study-") as folder:
        # Ctrl-C goes to all processes of a terminal; workers leave it to this one
        with _handled(signal.SIGINT, signal.SIG_IGN):
            local = distributed.LocalCluster(
                n_workers=count,
                threads_per_worker=1,
                processes=True,
                memory_limit=0,
                dashboard_address="127.0.0.1:0",  # any free port, for this machine only
                local_directory=folder,
                scheduler_kwargs={"local_directory": folder},
                env={"TMPDIR": folder},  # files of interrupted tasks are deleted with it
                silence_logs=logging.CRITICAL,
            )
        with local, distributed.Client(local) as client:
            yield client


@contextlib.contextmanager
def _handled(number: signal.Signals, handler: Any) -> Iterator[None]:
    """Replaces the handler of a signal in the main thread; in other threads, Python allows no change."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def stored(folder: Path, name: str) -> Path:
    """Returns the file of a task's result."""
    return folder / f"{name}.npz"


def compute(
    tasks: Mapping[str, Task],
    folder: Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Results:
    """Runs the tasks whose results are not in the folder yet.

    Args:
        tasks: tasks by name; names are file names.
        folder: folder of the results; it is made if missing.
        workers: number of processes on this machine; one for each core if not given.
        scheduler: address of a Dask scheduler whose workers have the suite installed.
        progress: function that is called with the number of finished and of all tasks.

    Raises:
        HapticError: A task failed; the message has its name. Finished results stay.
    """
    folder.mkdir(parents=True, exist_ok=True)
    left = [name for name in tasks if not stored(folder, name).is_file()]
    done = len(tasks) - len(left)
    progress(done, len(tasks))
    if left:
        with cluster(workers, scheduler) as client:
            from distributed import as_completed

            names = {
                client.submit(type(tasks[n]).run, tasks[n], key=f"{n}-{os.urandom(4).hex()}", priority=-i): n
                for i, n in enumerate(left)  # in their order
            }
            finished = as_completed(list(names))
            for future in finished:
                name = names.pop(future)
                try:
                    _keep(stored(folder, name), future.result())
                except Exception as error:
                    client.cancel(list(names))
                    why = str(error).partition("\n")[0]
                    raise HapticError(f"task {name} failed: {type(error).__name__}: {why}") from error
                done += 1
                progress(done, len(tasks))
    return {name: _load(stored(folder, name)) for name in tasks}


def _keep(path: Path, result: Mapping[str, np.ndarray]) -> None:
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        np.savez(file, **result)  # type: ignore[arg-type]
    part.replace(path)


def _load(path: Path) -> dict[str, np.ndarray]:
    with np.load(path, allow_pickle=False) as content:
        return dict(content)


# --- the run ------------------------------------------------------------------------------------------------


def _prepared(name: str, study: Study, words: list[str]) -> tuple[Any, Mapping[str, Task]]:
    """Makes the settings and the tasks of a study from its name:=value arguments."""
    hint = f"see ./haptics study {name} --show-args"
    settings = read_settings(study, parse_arguments(words), hint)
    try:
        return settings, study.tasks(settings)
    except ValueError as error:
        raise UsageError(str(error), hint) from None


def run_study(
    name: str,
    words: list[str],
    console: Console,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    fresh: bool = False,
) -> int:
    """Runs a study with name:=value arguments, or goes on with the run of the same ones that was interrupted.

    Args:
        name: name of the study.
        words: its arguments, name:=value.
        console: console for progress and tables.
        workers: number of processes, see `compute`.
        scheduler: address of a Dask scheduler, see `compute`.
        fresh: the run begins anew in any case.

    Returns:
        0; 130 after Ctrl-C or SIGTERM.

    Raises:
        HapticError: The study cannot be run, or a task failed.
    """
    study = load_study(name)
    _check_workers(workers, scheduler)
    workers = workers if scheduler else workers or study.workers
    settings, tasks = _prepared(name, study, words)
    digest = _digest(tasks)
    _check_scheduler(scheduler)
    with _run_directory(name, digest, fresh) as (directory, before):
        facts: dict[str, Any] = {
            "study": name,
            "state": "running",
            "arguments": settings.model_dump(mode="json"),
            "tasks": len(tasks),
            "digest": digest,
            "workers": scheduler or workers or len(os.sched_getaffinity(0)),
            "seconds": before,
            **run_facts(),
        }
        start = time.monotonic()

        def note(state: str) -> None:
            facts.update(state=state, seconds=round(before + time.monotonic() - start, 1))
            write_text(directory / "run.yaml", yaml.safe_dump(facts, sort_keys=False))

        note("running")
        console.print(f"{name}: {directory}{' (goes on)' if before else ''}", highlight=False, soft_wrap=True)
        try:
            # SIGTERM does what Ctrl-C does, so that no folder is left behind
            with _handled(signal.SIGTERM, signal.default_int_handler), _bar(console, name) as progress:
                results = compute(tasks, directory / "results", workers=workers, scheduler=scheduler, progress=progress)
            made = study.report(settings, results, directory)
        except KeyboardInterrupt:
            note("interrupted")
            console.print("interrupted; the same command goes on from here", highlight=False)
            return INTERRUPTED
        except Exception as error:
            note("failed")
            if isinstance(error, ValueError) and not isinstance(error, HapticError):
                raise HapticError(str(error)) from error
            raise
        facts["timings"] = made.timings
        write(made, study, settings, facts["study"], directory)
        note("finished")
        show(made, directory, console)
        console.print(f"{facts['seconds']:.0f} s on {facts['workers']} workers", highlight=False)
    return 0


def _check_scheduler(scheduler: str | None) -> None:
    """Refuses a Dask scheduler that does not answer, before a directory is made."""
    if scheduler is not None:
        with cluster(None, scheduler):
            pass


def _check_workers(workers: int | None, scheduler: str | None) -> None:
    """Refuses options that contradict each other; raises UsageError."""
    if workers is not None and scheduler is not None:
        raise UsageError("--workers and --scheduler: expected one of them, got both", "a scheduler has its own workers")
    if workers is not None and workers < 1:
        raise UsageError(f"--workers: expected 1 or more, got {workers}", "leave it out for all cores")


@contextlib.contextmanager
def _bar(console: Console, name: str) -> Iterator[Callable[[int, int], None]]:
    columns = (TextColumn(name), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as bar:
        line = bar.add_task(name, total=None)
        yield lambda done, of: bar.update(line, completed=done, total=of)


def _digest(tasks: Mapping[str, Task]) -> str:
    """Hashes everything that results depend on: the tasks, and the sources of the packages that define them."""
    content = hashlib.sha256()
    packages = set()
    for name, task in tasks.items():
        kind = type(task)
        packages.add(kind.__module__.partition(".")[0])
        content.update(f"{name} {kind.__module__}.{kind.__qualname__} {task!r}\n".encode())
    for package in sorted(packages):
        home = getattr(import_module(package), "__file__", None)
        for path in sorted(Path(home).parent.rglob("*.py")) if home and home.endswith("__init__.py") else []:
            content.update(path.read_bytes())
    return content.hexdigest()[:16]


@contextlib.contextmanager
def _run_directory(name: str, digest: str, fresh: bool) -> Iterator[tuple[Path, float]]:
    """Locks the directory of an interrupted run, or a new one; gives it with the seconds that were spent in it."""
    lock, directory, before = None, None, 0.0
    for path in [] if fresh else sorted(Path("runs").glob(f"*-study-{name}*/run.yaml"), reverse=True):
        facts = _facts(path)
        if facts.get("study") != name or facts.get("digest") != digest:
            continue
        lock = None if facts["state"] == "finished" else _lock(path.parent)
        if lock is not None:
            directory, before = path.parent, max(float(facts["seconds"]), 0.1)
        break  # only the newest one: if it is done or in use, a new run is wanted
    if lock is None or directory is None:
        directory = new_run_directory(f"study-{name}")
        lock = _lock(directory)
    try:
        yield directory, before
    finally:
        if lock is not None:
            lock.close()


def _facts(path: Path) -> dict[str, Any]:
    try:
        facts = read_yaml(path).value
    except FileError:
        return {}
    return facts if isinstance(facts, dict) else {}


def _lock(directory: Path) -> IO[str] | None:
    """Locks a run's directory until the file is closed; None if another process has locked it."""
    file = (directory / ".lock").open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file
