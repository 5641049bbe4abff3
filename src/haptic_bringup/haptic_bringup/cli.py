"""The command line: ./haptics COMMAND. Errors are one line and a hint; exit code 2 for usage, 1 for failure."""

from __future__ import annotations

import errno
import functools
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from haptic_bringup.runner import execute_run, prepare_run
from haptic_core.errors import HapticError
from haptic_launch.experiments import UnknownExperimentError, experiment_names, load_experiment
from haptic_launch.launch_file import LaunchFileError, load_launch_file
from haptic_launch.process_guard import start_command
from haptic_launch.runner import LONGEST_RUN, MissingProgramError, UsageError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

#: errors of a disk that is full, read-only or broken
_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)

#: hint after any other error of a file
_FILE_HINT = "check the path and its permissions; the bag of a run, if there is one, stays as it is"
#: class of typer's errors about words of the command line; click's or a copy of it, by typer's version
_CommandLineError: Any = typer.BadParameter.mro()[1]

#: -h goes to the benchmark or to pytest
_PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": ["--help"]}


@functools.cache
def console() -> Console:
    """Returns the terminal; rich is loaded at the first printed line, so a refused command does not wait for it."""
    from rich.console import Console

    return Console()


def new_table(*columns: str) -> Table:
    """Makes an empty table with these headers; texts are never cut, the first column keeps its width."""
    from rich.table import Column, Table

    return Table(*(Column(name, overflow="fold", no_wrap=i == 0) for i, name in enumerate(columns)))


@app.command("list")
def list_experiments() -> None:
    """Lists the experiments and the studies."""
    from haptic_experiments.study import load_study, study_names  # matplotlib loads only when it is needed

    table = new_table("experiment", "what it is", "counterpart of")
    for name in experiment_names():
        experiment = load_experiment(name)
        table.add_row(name, experiment.title, experiment.paper)
    console().print(table)
    table = new_table("study", "what it is", "counterpart of")
    for name in study_names():
        found = load_study(name)
        table.add_row(name, found.title, found.paper)
    console().print(table)


@app.command()
def run(
    experiment: Annotated[str, typer.Argument(help="name, see ./haptics list")],
    arguments: Annotated[list[str] | None, typer.Argument(help="name:=value ...")] = None,
    show_args: Annotated[bool, typer.Option("--show-args", "-s", help="list the arguments and stop")] = False,
) -> None:
    """Runs an experiment and writes runs/<time>-<name>/ with bag, metrics, figure and report."""
    if show_args:
        show_arguments(experiment)
        return
    prepared = prepare_run(experiment, arguments or [])
    raise typer.Exit(execute_run(prepared, console()))


def show_arguments(name: str) -> None:
    """Prints the arguments of an experiment's launch file."""
    from rich.markup import escape  # [m] and [x] are no markup

    table = new_table("argument", "default", "what it is")
    for argument in load_launch_file(load_experiment(name).launch_file).arguments:
        choices = f" ({', '.join(argument.choices)})" if argument.choices else ""
        table.add_row(argument.name, escape(argument.default or ""), escape(f"{argument.description or ''}{choices}"))
    console().print(table)


@app.command()
def devices() -> None:
    """Lists the drivers of real devices: what is connected, and how to run an experiment on it. Moves nothing."""
    from haptic_bringup.real_devices import show_devices

    show_devices(console())


@app.command()
def view(
    experiment: Annotated[str | None, typer.Argument(help="name; without one: what runs, or the gallery")] = None,
    arguments: Annotated[list[str] | None, typer.Argument(help="name:=value ...")] = None,
    bag: Annotated[Path | None, typer.Option(metavar="RUN", help="show this recorded run, or bag, instead")] = None,
    beside: Annotated[Path | None, typer.Option(metavar="RUN", help="with --bag: a second run beside it")] = None,
) -> None:
    """Shows an experiment as a browser page: runs it until it is stopped, in real time, without a bag.

    In the page a user chooses another experiment, and the page stays.
    Without a name, or with view_host:=, view_port:=, view_token:= alone, the page shows what is running.
    Where nothing runs it is the gallery.
    With --bag the page has a timeline through a recorded run, and nothing runs.
    """
    from haptic_viewer.attach import show_gallery, show_what_runs

    words, command = arguments or [], [sys.executable, "-m", "haptic_bringup"]
    if bag is not None or beside is not None:
        view_recorded([*([experiment] if experiment else []), *words], bag, beside)
        return
    if experiment is None or ":=" in experiment:
        show_what_runs([experiment, *words] if experiment else words, command)
    run = prepare_run(experiment, ["view:=true", "record:=false", f"duration:={LONGEST_RUN}", *words])
    chosen = [word for word in words if not word.startswith("view")]
    raise typer.Exit(show_gallery(run.arguments, command, [experiment, *chosen]))


def view_recorded(words: list[str], bag: Path | None, beside: Path | None) -> None:
    """Shows recorded runs as a browser page until it is stopped."""
    from haptic_viewer.attach import page_options

    hint = "./haptics view --bag RUN [--beside RUN] [view_port:=8081]"
    if bag is None:
        raise UsageError("option --beside: expected --bag with the run to show first", hint)
    if named := [word for word in words if ":=" not in word]:
        raise UsageError(f"option --bag: expected no experiment beside it, got {named[0]!r}", hint)
    options = page_options(words)
    from haptic_viewer.playback import show_runs  # reading bags takes a second to load

    show_runs([bag, *([beside] if beside else [])], options)


@app.command()
def study(
    name: Annotated[str, typer.Argument(help="name, see ./haptics list")],
    arguments: Annotated[list[str] | None, typer.Argument(help="name:=value ...")] = None,
    workers: Annotated[int | None, typer.Option(help="processes on this machine; all cores if not given")] = None,
    scheduler: Annotated[str | None, typer.Option(metavar="ADDRESS", help="of a Dask scheduler")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="do not go on with an interrupted run")] = False,
    show_args: Annotated[bool, typer.Option("--show-args", "-s", help="list the arguments and stop")] = False,
) -> None:
    """Runs a study and writes runs/<time>-study-<name>/; one that was interrupted goes on."""
    from rich.markup import escape

    from haptic_experiments.study import load_study, run_study

    if show_args:
        table = new_table("argument", "default", "what it is")
        for field, about in load_study(name).settings.model_fields.items():
            default = "required" if about.is_required() else about.default
            shown = ",".join(map(str, default)) if isinstance(default, tuple) else default
            table.add_row(field, "" if shown is None else escape(str(shown)), escape(about.description or ""))
        console().print(table)
        return
    raise typer.Exit(run_study(name, arguments or [], console(), workers=workers, scheduler=scheduler, fresh=fresh))


@app.command()
def replay(
    bag: Annotated[Path, typer.Argument(metavar="BAG", help="runs/<time>-<name>/bag, or a run with one bag")],
    arguments: Annotated[list[str] | None, typer.Argument(help="name:=value ... of the rendering nodes")] = None,
    into: Annotated[
        str | None,
        typer.Option(metavar="EXPERIMENT", help="experiment whose rendering nodes answer; default: the recorded one"),
    ] = None,
) -> None:
    """Replays a bag's device to rendering nodes, tick by tick, and compares their answers with the recorded ones.

    Without arguments the answers are the recorded ones, bit for bit, and the report says whether they are.
    With --into and name:=value the same hand meets another model or other parameters.
    Writes runs/<time>-replay-<experiment>/ with bag, metrics, figure, report and run.yaml.
    """
    from haptic_bringup.replay import run_replay

    raise typer.Exit(run_replay(bag, into, arguments or [], console()))


@app.command()
def report(directory: Annotated[Path, typer.Argument(metavar="RUN", help="runs/<time>-<name>, or a bag")]) -> None:
    """Builds metrics, figure and report again, from the bag and run.yaml; a replay's also from the recording.

    They replace those in the directory of the run. For a bag, that is the directory that contains it; beside other bags
    the names of the files begin with the bag's.
    """
    from haptic_bags.bags import with_name
    from haptic_experiments.replay_report import is_replay, write_replay_report
    from haptic_experiments.report import write_report

    directory = with_name(directory)
    run = directory.parent if (directory / "metadata.yaml").exists() else directory
    if is_replay(run):
        write_replay_report(run, console())
    else:
        write_report(directory, console())


@app.command()
def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="runs/<time>-<name>, or a bag")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="ends in .csv, .parquet or .mat; replaced if it exists")],
    topic: Annotated[
        list[str] | None, typer.Option(help="one: all its messages; several times: their common ticks; else all topics")
    ] = None,
) -> None:
    """Writes a run as a table (CSV, Parquet) or as structs of MATLAB, and says what is not in the file.

    A CSV or Parquet file has a row for each tick that all topics have, a MAT file all messages of each topic.
    """
    import haptic_bags  # reading bags takes a second to load
    from haptic_bags.tables import check_suffix

    check_suffix(file)  # before a long bag is read
    left_out = haptic_bags.read(run).write(file, topic or ())
    console().print(f"wrote {file}", highlight=False, soft_wrap=True, markup=False)
    for name, reason in left_out.items():
        console().print(f"  without {name}: {reason}", highlight=False, soft_wrap=True, markup=False)


@app.command("repair")
def repair_bag(
    bag: Annotated[Path, typer.Argument(metavar="BAG", help="runs/<time>-<name>/bag, or a run with one bag")],
) -> None:
    """Closes a bag that was not closed: of a recorder that was killed, or whose disk was full.

    Index and metadata are made anew; a chunk at the end that was not written whole is dropped.
    """
    from haptic_bags.repair import repair

    for line in repair(bag).lines():
        console().print(line, highlight=False, soft_wrap=True)


@app.command(context_settings=_PASS_ON)
def bench(
    context: typer.Context, name: Annotated[str, typer.Argument(help="name, see docs/benchmarks.md")] = "loop"
) -> None:
    """Runs a benchmark of benchmarks/ and prints its table; its options: ./haptics bench NAME -h."""
    folder = root() / "benchmarks"
    names = sorted(path.stem.removeprefix("bench_") for path in folder.glob("bench_*.py"))
    if name not in names:
        message = f"benchmark {name!r} is unknown, expected one of: {', '.join(names)}"
        raise UsageError(message, hint="docs/benchmarks.md says what each of them measures")
    command = [sys.executable, str(folder / f"bench_{name}.py"), *context.args]
    raise typer.Exit(subprocess.call(start_command(command)))  # a killed command line ends it


@app.command(context_settings=_PASS_ON)
def test(context: typer.Context) -> None:
    """Runs the tests on two processors, file by file; --all adds the long ones.

    Arguments go to pytest; its options: ./haptics test -h.
    """
    named = any((root() / word.partition("::")[0]).exists() for word in context.args)  # some tests: in one process
    workers = [] if named else ["-n", "2", "--dist", "loadfile", "--no-loadscope-reorder"]
    raise typer.Exit(subprocess.call([sys.executable, "-m", "pytest", *workers, *context.args], cwd=root()))


@app.command()
def docs(
    serve: Annotated[bool, typer.Option("--serve", help="show the site on this machine and follow changes")] = False,
) -> None:
    """Builds the documentation site in site/."""
    action = ["serve", "--livereload"] if serve else ["build"]
    code = subprocess.call([sys.executable, "-m", "mkdocs", *action, "--strict"], cwd=root())
    if not (serve or code):
        console().print(f"site: {root() / 'site' / 'index.html'}", soft_wrap=True)
    raise typer.Exit(code)


@app.command(context_settings=_PASS_ON)
def setup() -> None:
    """Sets the environment up; --clean makes it from nothing."""  # done by the script before this program starts


@app.command(context_settings=_PASS_ON)
def doctor() -> None:
    """Says what is there, what is missing and what to do; --live: which experiments run."""  # done by the script


@app.command("exec", context_settings=_PASS_ON)
def execute(context: typer.Context) -> None:
    """Runs any command inside the suite's environment."""  # done by the script


def root() -> Path:
    """Returns the path of the suite's checkout."""
    path = os.environ.get("HAPTICS_ROOT")
    if not path:
        raise HapticError("this command needs the suite's checkout: run it as ./haptics")
    return Path(path)


def main() -> None:
    """Runs the command line; reports the suite's errors as one line and an exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal without UTF-8 does not end a run
    try:
        sys.exit(app(standalone_mode=len(sys.argv) == 1, prog_name="./haptics") or 0)  # without words: the help
    except _CommandLineError as error:
        words = " ".join(error.format_message().split()).rstrip(".")
        _stop(f"{words[:1].lower()}{words[1:]}", 2, f"{error.ctx.command_path if error.ctx else './haptics'} --help")
    except (UsageError, UnknownExperimentError) as error:
        _stop(error, 2, error.hint)
    except MissingProgramError as error:
        _stop(error, 1, error.hint)
    except LaunchFileError as error:
        _stop(error, 1, "see docs/experiments.md for what a launch file may contain")
    except HapticError as error:
        _stop(error, 1, getattr(error, "hint", "see docs/troubleshooting.md; ./haptics doctor checks the installation"))
    except OSError as error:
        full = error.errno in _DISK_ERRORS
        hint = "is the disk full? a bag that was not closed is closed by ./haptics repair BAG" if full else _FILE_HINT
        _stop(f"{error.filename or 'a file'}: {error.strerror or error}", 1, hint)
    except KeyboardInterrupt:
        sys.exit(130)


def _stop(error: Exception | str, code: int, hint: str) -> None:
    print(f"error: {error}\n  hint: {hint}", file=sys.stderr)
    sys.exit(code)
