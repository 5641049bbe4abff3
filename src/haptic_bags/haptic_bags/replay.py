"""Replay of a bag: the recorded messages of its device drive the rendering nodes of its own or another experiment."""

from __future__ import annotations

import dataclasses
import os
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from haptic_bags.bags import Event, find_bag
from haptic_bags.recording import PLAYED, Recording, ReplayError
from haptic_core.environment import check_environment
from haptic_core.errors import HapticError
from haptic_core.parameter_files import PARAMS_FILE
from haptic_files import FileError, read_yaml, write_text
from haptic_launch.experiments import Experiment, experiment_names, load_experiment
from haptic_launch.file_parameters import nodes_of_run, with_parameter_file
from haptic_launch.launch_elements import (
    ArgumentElement,
    Element,
    GroupElement,
    IncludeElement,
    LetElement,
    NodeElement,
)
from haptic_launch.launch_file import LaunchDescription, LaunchFileError, find_executable, load_launch_file
from haptic_launch.launch_nodes import parameters_of, with_required
from haptic_launch.launch_parameters import dump_parameters
from haptic_launch.launch_substitutions import parse_template, variables_in
from haptic_launch.node_checks import check_parameters
from haptic_launch.processes import ProcessSpec, run_processes
from haptic_launch.runner import (
    UsageError,
    bag_directory,
    bag_parameters,
    effective_arguments,
    new_run_directory,
    parse_arguments,
    run_facts,
)

DEVICE, RECORDER = "device_node", "recorder"
#: executable that runs several nodes in one process; a replay starts one process per node
COMPOSED = "composed_nodes"
#: device's executable in a launch file: fixed, or chosen by include/hardware.launch.yaml
_DEVICES = ((DEVICE,), parse_template("$(var device_executable)"))
#: parameters of the device that the player has as well
_COMMON_PARAMETERS = ("answer_timeout", "activation_timeout")
#: parameter of a rendering node with the device's delay, for its energy; a replay keeps the recorded delay
_DELAY_PARAMETER = "passivity_delay"
#: reason by name of each argument that a replay sets itself
_FIXED = {
    "mode": "a replay waits for every answer, also that of a realtime recording",
    "record": "a replay is always recorded",
    "hardware": "a replay has the recording for its device",
    "layout": "a replay has each node in a process of its own",
    "respawn": "a replay ends when a node does",
    "input_device": "a replay has the motion of the recorded hand",
    "output": "a replay writes runs/<time>-replay-<experiment>",
    "period": "the period is the recording's",
}


# ---- arguments ------------------------------------------------------------------------------------


def _flattened(elements: Sequence[Element]) -> Iterator[Element]:
    for element in elements:
        if isinstance(element, GroupElement):
            yield from _flattened(element.children)
        else:
            yield element


def _read_by_nodes(elements: Sequence[Element]) -> set[str]:
    """Finds the arguments that elements other than device, recorder, `arg` and `let` read."""
    names: set[str] = set()
    for element in elements:
        executable = element.executable if isinstance(element, NodeElement) else ()
        if isinstance(element, (ArgumentElement, LetElement)) or executable in ((RECORDER,), (COMPOSED,)):
            continue
        if isinstance(element, GroupElement):
            names |= variables_in(element.condition) | _read_by_nodes(element.children)
        elif isinstance(element, NodeElement) and executable in _DEVICES:
            kept = [entry for entry in element.parameters if entry.name in [(name,) for name in _COMMON_PARAMETERS]]
            names |= variables_in(kept)
        elif isinstance(element, NodeElement):
            rest = tuple(entry for entry in element.parameters if entry.name != (_DELAY_PARAMETER,))
            names |= variables_in(dataclasses.replace(element, parameters=rest))
        else:
            names |= variables_in(element)
    return names


def reachable_arguments(description: LaunchDescription) -> list[str]:
    """Returns the arguments that have an effect in a replay: those that reach more than device and recorder.

    An argument may reach a node through the default of another argument or a `let`. If the path of an included file is
    an argument, all arguments count.
    """
    declared = [argument.name for argument in description.arguments]
    elements = list(_flattened(description.expanded))
    if any(isinstance(element, IncludeElement) for element in elements):
        return [name for name in declared if name not in _FIXED]
    reached = _read_by_nodes(description.expanded)
    while True:
        more: set[str] = set()
        for element in elements:
            if isinstance(element, ArgumentElement) and element.argument.name in reached:
                more |= variables_in(element.default)
            elif isinstance(element, LetElement) and "".join(map(str, element.name)) in reached:
                more |= variables_in(element.value)
        if more <= reached:
            return [name for name in declared if name in reached and name not in _FIXED]
        reached |= more


def check_overrides(description: LaunchDescription, given: Mapping[str, str]) -> None:
    """Refuses arguments that have no effect in a replay.

    Raises:
        UsageError: an argument is unknown, its value is not allowed, or it does not reach the rendering nodes.
    """
    effective_arguments(description, given)
    reachable = reachable_arguments(description)
    hint = f"arguments of the rendering nodes: {', '.join(reachable)}"
    for name in given:
        if name in _FIXED:
            raise UsageError(f"argument {name}: {_FIXED[name]}", hint)
        if name not in reachable:
            raise UsageError(f"argument {name}: acts on the device alone, and the device is replayed", hint)


def recorded_arguments(bag: Path) -> dict[str, str] | None:
    """Reads the launch arguments of the recorded run from the run.yaml beside its bag; None without that file.

    Raises:
        ReplayError: the file does not hold arguments.
    """
    file = bag.parent / "run.yaml"
    if not file.exists():
        return None
    hint = f"without the file, {bag} is replayed with the parameters that its nodes had"
    try:
        document = read_yaml(file).value
        settings = list((document.get("variants") or {"": {}}).items())
        folders = [bag_directory(bag.parent, index, name).name for index, (name, _) in enumerate(settings)]
        variant = dict(zip(folders, (values for _, values in settings), strict=True)).get(bag.name, {})
        return {str(name): str(value) for name, value in {**document["arguments"], **variant}.items()}
    except (FileError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise ReplayError(f"{file}: expected the arguments of a run: {error}", hint) from None


# ---- processes ------------------------------------------------------------------------------------


def _executed(specs: Sequence[ProcessSpec], executable: str, experiment: Experiment) -> ProcessSpec:
    found = [spec for spec in specs if Path(spec.command[0]).name == executable]
    if len(found) != 1:
        raise ReplayError(
            f"experiment {experiment.name}: expected one {executable} in {experiment.launch_file.name}, "
            f"found {len(found)}",
            "docs/experiments.md says what a replay needs",
        )
    return found[0]


def _check_device(recording: Recording, experiment: Experiment, parameters: Mapping[str, Any]) -> None:
    if experiment.clock != recording.clock:
        raise ReplayError(
            f"experiment {experiment.name}: its device is {experiment.clock}, that of the recording {recording.clock}",
            _same_device(recording),
        )
    recorded = recording.parameters(recording.device).get("device")
    if recorded is not None and parameters.get("device", "joystick") != recorded:
        raise ReplayError(
            f"experiment {experiment.name}: its device is a {parameters.get('device')}, the recorded one a {recorded}",
            _same_device(recording),
        )
    period = recording.first_state().period
    if abs(parameters.get("period", period) - period) > 1e-9:
        raise ReplayError(
            f"experiment {experiment.name}: its period is {parameters['period']:g} s, the recording's {period:g} s",
            _same_device(recording),
        )


def _same_device(recording: Recording) -> str:
    return f"the same device: {', '.join(_experiments_of(recording.clock))}"


def _experiments_of(clock: str) -> list[str]:
    return [name for name in experiment_names() if load_experiment(name).clock == clock]


def replay_processes(
    recording: Recording, experiment: Experiment, specs: Sequence[ProcessSpec], bag: Path, directory: Path
) -> list[ProcessSpec]:
    """Replaces the device among the processes of an experiment by the player.

    Args:
        recording: recording that is played.
        experiment: experiment of the processes.
        specs: processes of its launch file.
        bag: directory that the recorder writes.
        directory: directory for parameter files.

    Raises:
        ReplayError: the launch file does not have exactly one device and one recorder.
    """
    device, recorder = (_executed(specs, name, experiment) for name in (DEVICE, RECORDER))
    parameters = parameters_of(device)
    played = {
        "bag": str(recording.path.absolute()),
        "period": recording.first_state().period,
        "recorded": True,
        **{name: parameters[name] for name in ("sources", *_COMMON_PARAMETERS) if name in parameters},
    }
    options = list(zip(device.command, device.command[1:], strict=False))
    remapped = [rule for option, rule in options if option == "-r" and not rule.startswith("__node:=")]
    player = dataclasses.replace(
        device,
        name="player",
        command=[
            find_executable("haptic_bags", "player"),
            *("--ros-args", "-r", "__node:=player", *(word for rule in remapped for word in ("-r", rule))),
            *("--params-file", _parameter_file(directory, "player", played)),
        ],
        fully_qualified_name=None,
    )
    written = {"output": str(bag.absolute()), "mode": "lockstep", "replay_of": str(recording.path.absolute())}
    file = _parameter_file(directory, "recorder", written, recorder.fully_qualified_name)
    writer = dataclasses.replace(recorder, command=[*recorder.command, "--params-file", file])
    return [{id(device): player, id(recorder): writer}.get(id(spec), spec) for spec in specs]


def with_recorded_parameters(
    recording: Recording, specs: Sequence[ProcessSpec], default: Sequence[ProcessSpec], directory: Path
) -> list[ProcessSpec]:
    """Gives the processes the parameters of the recorded nodes, for a bag without run.yaml.

    Args:
        recording: recording that is played.
        specs: processes with the arguments of the user.
        default: processes without the arguments of the user; a parameter that differs between both is the user's, as
            are all of a process that is not among them.
        directory: directory for parameter files.
    """
    changed = []
    plain_parameters = {(spec.name, spec.fully_qualified_name): parameters_of(spec) for spec in default}
    for spec in specs:
        renders = Path(spec.command[0]).name not in (DEVICE, RECORDER)
        recorded = recording.parameters(spec.name) if renders else {}
        given, without = parameters_of(spec), plain_parameters.get((spec.name, spec.fully_qualified_name), {})
        users = {name for name in given.keys() | without.keys() if given.get(name) != without.get(name)}
        kept = {
            name: value for name, value in recorded.items() if name not in users | {"mode", "recorded", PARAMS_FILE}
        }
        if kept:
            file = _parameter_file(directory, f"recorded_{spec.name}", kept, spec.fully_qualified_name)
            spec = dataclasses.replace(spec, command=[*spec.command, "--params-file", file])
        changed.append(spec)
    return changed


def _parameter_file(directory: Path, name: str, values: Mapping[str, Any], full_name: str | None = None) -> str:
    path = directory / f"{name}.yaml"
    keys = ["/**"] if full_name is None else ["/**", full_name]  # a full name goes before /**
    write_text(path, dump_parameters(dict.fromkeys(keys, values)))
    return str(path)


# ---- the command ----------------------------------------------------------------------------------


# Longer than 70 lines because of its docstring and its checks.
def play(path: Path, into: str | None, words: Sequence[str], console: Console) -> tuple[int, Path]:
    """Replays a bag into its own experiment or another one.

    Args:
        path: directory of a bag, or of a run with one bag.
        into: experiment whose rendering nodes answer; None: the recorded one.
        words: arguments name:=value of that experiment's launch file.
        console: console for progress.

    Returns:
        The exit code (0; 1 if a node failed or the bag lacks ticks; 130 after Ctrl-C) and the run's directory.

    Raises:
        HapticError: the bag cannot be replayed with these arguments.
    """
    check_environment(os.environ)
    given = parse_arguments(words)
    if into is not None:
        load_experiment(into)
    bag = find_bag(path)
    recording = Recording.read(bag, PLAYED)
    experiment = _experiment(into or recording.experiment)
    description = load_launch_file(experiment.launch_file)
    check_overrides(description, given)
    declared = {argument.name for argument in description.arguments}
    same = experiment.name == recording.experiment
    recorded = recorded_arguments(bag) if same else {}
    period = repr(float(recording.first_state().period))
    own = {"mode": "lockstep", "record": "true", "hardware": "simulated", "layout": "processes", "respawn": "false"}
    own["input_device"] = "none"
    arguments = {k: v for k, v in {**(recorded or {}), **own, "period": period}.items() if k in declared}
    arguments.pop("output", None)
    arguments.pop(PARAMS_FILE, None)
    if recorded is not None and same and bag_parameters(bag).exists():
        arguments[PARAMS_FILE] = str(bag_parameters(bag))
    with tempfile.TemporaryDirectory(prefix="haptic_replay_") as folder:
        file = Path(folder) / "parameters.yaml"
        try:
            nodes = nodes_of_run(description, {**arguments, **given}, [*given, *_FIXED])
            check_parameters([node for node in nodes if not node.executable.endswith(f"/{DEVICE}")])
            values = with_parameter_file(description, {**arguments, **given}, file, given=[*given, *_FIXED])
            specs, default = (description.evaluate(chosen) for chosen in (values, arguments))
        except LaunchFileError as error:
            raise HapticError(str(error)) from None
        arguments |= given
        device, _ = (parameters_of(_executed(specs, name, experiment)) for name in (DEVICE, RECORDER))
        _check_device(recording, experiment, device)
        changes = recording.changes(recording.sources)  # raises before any process starts
        if recorded is None:
            specs = with_recorded_parameters(recording, specs, default, Path(folder))
        directory = new_run_directory(f"replay-{experiment.name}")
        if file.exists():
            shutil.copy(file, bag_parameters(directory / "bag"))
        processes = replay_processes(recording, experiment, specs, directory / "bag", Path(folder))
        lost = [event for event in changes if event.source not in device.get("sources", [])]
        _announce(recording, experiment, lost, given, console)
        code = run_processes(with_required(processes))
    document = {
        "experiment": experiment.name,
        "exit_code": code,
        "replay_of": {
            "bag": str(bag.absolute()),
            "experiment": recording.experiment,
            "mode": recording.custom.get("mode"),
            "ticks": len(recording.ticks),
            "ticks_replayed": len(recording.played),
        },
        "overrides": given,
        "into": into,
        "arguments": arguments,
        **run_facts(),
    }
    write_text(directory / "run.yaml", yaml.safe_dump(document, sort_keys=False))
    return code, directory


def _experiment(name: str) -> Experiment:
    try:
        return load_experiment(name)
    except HapticError as error:
        raise ReplayError(str(error), "./haptics list; --into EXPERIMENT chooses one") from None


def _announce(
    recording: Recording, experiment: Experiment, lost: Sequence[Event], given: Mapping[str, str], console: Console
) -> None:
    changed = " with " + shlex.join(f"{name}:={value}" for name, value in given.items()) if given else ""
    played, ticks = len(recording.played), len(recording.ticks)
    rest = f" ({ticks - played} without any answer are left out)" if ticks > played else ""
    console.print(
        f"replaying {played} ticks of {recording.path}{rest} into {experiment.name}{changed}",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    if lost:
        names = ", ".join(sorted({event.source for event in lost}))
        console.print(f"{len(lost)} recorded changes of {names} have no node here", highlight=False)
