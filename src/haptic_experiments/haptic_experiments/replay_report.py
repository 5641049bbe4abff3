"""The report of a replay: the recorded and the new answers in one page."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from haptic_bags.bag_comparison import TopicComparison, compare_recordings, device_differs, leaves
from haptic_bags.bags import typestore
from haptic_bags.recording import DEVICE_COMMAND, Recording, ReplayError
from haptic_bags.ticks import Ticks
from haptic_bags.units import unit_of
from haptic_core.commands import EFFORT, MOTION, WRENCH
from haptic_experiments.report import Claim, ResultTable, render_page, run_file_of, save_figure
from haptic_files import write_text

#: fields of a command by its mode, in the order in which they are looked for
_COMMANDED = {
    WRENCH: ("tool_wrench.force", "tool_wrench.torque"),
    EFFORT: ("joint_effort",),
    MOTION: ("tool_twist.linear", "tool_twist.angular", "joint_velocity", "tool_pose.position", "joint_position"),
}
#: parameters that a replay sets itself
_OWN_PARAMETERS = {"mode", "recorded", "activation_timeout", "autostart"}
IDENTITY = "the replay is the recording bit for bit"


@dataclass(frozen=True)
class _About:
    title: str
    summary: str
    heading: str = "Recording and replay"
    paper: str = ""


def is_replay(directory: Path) -> bool:
    """Checks whether a directory is that of a replay."""
    return "replay_of" in run_file_of(directory)


def write_replay_report(directory: Path, console: Console) -> dict[str, Any]:
    """Compares a replay with its recording and writes metrics.json, figure.png and report.html.

    Args:
        directory: directory of the replay's run.
        console: prints the result.

    Returns:
        Content of metrics.json.

    Raises:
        HapticError: one of the two bags cannot be read, or the device was not replayed as it was recorded.
    """
    run = run_file_of(directory)
    recorded = Recording.read(Path(run["replay_of"]["bag"]))
    replayed = Recording.read(directory / "bag")
    problem = device_differs(recorded, replayed)
    if problem:
        raise ReplayError(f"{replayed.path}: the replay is not whole: {problem}", "replay the bag again")
    topics = compare_recordings(recorded, replayed)
    if not topics:
        raise ReplayError(f"{directory}: recording and replay have no topic in common", "see docs/experiments.md")
    changes = _changes(recorded, replayed)
    parameters = changed_parameters(recorded, replayed)
    plain = not run.get("overrides") and run["experiment"] == run["replay_of"]["experiment"]
    claims = _claims(topics, changes, plain)
    silent = len(recorded.ticks) - len(recorded.played)
    document: dict[str, Any] = {
        "experiment": run["experiment"],
        "claims": [{"claim": c.text, "measured": c.measured, "shown": c.shown} for c in claims],
        "replay_of": run["replay_of"],
        "overrides": run.get("overrides", {}),
        "ticks": {"recorded": len(recorded.ticks), "replayed": len(replayed.ticks), "without_answer": silent},
        "changes": changes,
        "changed_parameters": parameters,
        "topics": {name: _metrics(topic) for name, topic in topics.items()},
    }
    write_text(directory / "metrics.json", json.dumps(document, indent=2) + "\n")
    figure, caption = plot(recorded, replayed)
    save_figure(figure, directory / "figure.png")
    left_out = f", {silent} that nobody had answered were left out" if silent else ""
    about = _About(
        f"Replay into {run['experiment']}",
        f"The device of {recorded.path} ({recorded.experiment}, {recorded.custom.get('mode')}) was played to the "
        f"rendering nodes of {run['experiment']}: {len(recorded.played)} of {len(recorded.ticks)} ticks{left_out}. "
        "The device does not react to what the nodes answer: only their answers to the same motion and forces are "
        "compared.",
    )
    rows = [(node, name, str(a), str(b)) for node, found in parameters.items() for name, (a, b) in found.items()]
    tables = [
        ResultTable("Topics", _TOPIC_HEADER, [_row(name, topic) for name, topic in topics.items()]),
        ResultTable("Fields that differ", _FIELD_HEADER, _field_rows(topics)),
        ResultTable("Parameters that differ", ("node", "parameter", "recording", "replay"), rows),
    ]
    used = {source: replayed.parameters(source) for source in _rendering(replayed)}
    page = render_page(about, claims, [(directory / "figure.png", caption)], used, document, tables)
    write_text(directory / "report.html", page)
    _print(topics, claims, None if plain else parameters, directory, console)
    return document


# ---- comparison -----------------------------------------------------------------------------------


def _rendering(recording: Recording) -> list[str]:
    return sorted({source for _, source in recording.messages[recording.command_topic]})


def _changes(recorded: Recording, replayed: Recording) -> dict[str, Any]:
    """Compares the changes between ticks; equal when they are the same before the same ticks in the same order."""
    both = [sorted(set(recorded.sources) & set(_rendering(replayed)))] * 2
    lists = [
        [(event.tick, event.source, event.kind, event.detail) for event in recording.changes(sources)]
        for recording, sources in zip((recorded, replayed), both, strict=True)
    ]
    lost = len(recorded.changes(recorded.sources)) - len(lists[0])
    return {"recorded": len(lists[0]), "replayed": len(lists[1]), "equal": lists[0] == lists[1], "without_a_node": lost}


def changed_parameters(recorded: Recording, replayed: Recording) -> dict[str, dict[str, tuple[Any, Any]]]:
    """Finds the parameters with which each node became active that are not those of the recording, both values."""
    found = {}
    for source in _rendering(replayed):
        old, new = recorded.parameters(source), replayed.parameters(source)
        names = [n for n in sorted(old.keys() & new.keys()) if n not in _OWN_PARAMETERS and old[n] != new[n]]
        if names:
            found[source] = {name: (old[name], new[name]) for name in names}
    return found


def _claims(topics: Mapping[str, TopicComparison], changes: Mapping[str, Any], plain: bool) -> list[Claim]:
    compared = sum(topic.compared for topic in topics.values())
    differing = sum(topic.differing for topic in topics.values())
    complete = _is_complete(topics)
    first = min((topic.first for topic in topics.values() if topic.first is not None), default=None)
    measured = f"{differing} of {compared} messages on {len(topics)} topics differ"
    measured += f", from tick {first} on" if first is not None else ""
    measured += "" if complete else "; not every recorded message has a counterpart"
    claims = []
    if plain:
        claims.append(Claim(IDENTITY, measured, all(topic.equal for topic in topics.values()) and complete))
    if changes["recorded"] or changes["replayed"]:
        words = f"{changes['recorded']} recorded, {changes['replayed']} replayed"
        text = "parameters change and nodes are reset before the same ticks, in the same order"
        claims.append(Claim(text, words, changes["equal"]))
    return claims


def _is_complete(topics: Mapping[str, TopicComparison]) -> bool:
    return all(topic.compared == topic.recorded for topic in topics.values())


def _metrics(topic: TopicComparison) -> dict[str, Any]:
    fields = {name: {k: v for k, v in asdict(f).items() if k != "squares"} for name, f in topic.fields.items()}
    return {**asdict(topic), "fields": fields, "equal": topic.equal, "left_out": list(topic.left_out)}


# ---- page and console -----------------------------------------------------------------------------

_TOPIC_HEADER = ("topic", "recorded", "replayed", "compared", "differing", "first tick", "bit for bit")
_FIELD_HEADER = ("topic", "field", "messages", "largest", "RMS", "no numbers to subtract")

#: columns for which the console has room, with their index in a row
_CONSOLE_TOPICS = (("topic", 0), ("ticks compared", 3), ("differing", 4), ("first", 5))
_CONSOLE_FIELDS = (("topic", 0), ("field", 1), ("largest", 3), ("RMS", 4))


def _row(name: str, topic: TopicComparison) -> tuple[str, ...]:
    verdict = "equal" if topic.equal else "differs" if topic.differing else "nothing to compare"
    if topic.left_out:
        verdict += f" (without {', '.join(topic.left_out)}, which is wall-clock time)"
    counts = (topic.recorded, topic.replayed, topic.compared, topic.differing)
    return (name, *map(str, counts), "" if topic.first is None else str(topic.first), verdict)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _unit(kind: str, field: str) -> str:
    unit = unit_of(kind, field)
    return f" [{unit}]" if unit else ""


def _field_rows(topics: Mapping[str, TopicComparison]) -> list[tuple[str, ...]]:
    return [
        (
            name,
            f"{field}{_unit(topic.type, field)}",
            str(found.ticks),
            _number(found.largest),
            _number(found.rms),
            str(found.unlike or ""),
        )
        for name, topic in topics.items()
        for field, found in topic.fields.items()
    ]


def _print(
    topics: Mapping[str, TopicComparison], claims: list[Claim], changed: Mapping[str, Collection[str]] | None,
    directory: Path, console: Console,
) -> None:  # fmt: skip
    """Prints the comparison; changed: parameters that differ by node, None in a replay that changes nothing."""
    _show(console, _CONSOLE_TOPICS, [_row(name, topic) for name, topic in topics.items()])
    _show(console, _CONSOLE_FIELDS, [row for row in _field_rows(topics) if row[3]])
    for claim in claims:
        style = "green" if claim.shown else "red"
        console.print(f"{claim.text}: [{style}]{claim.verdict}[/{style}] ({claim.measured})", soft_wrap=True)
    if changed is not None:
        same = all(topic.equal for topic in topics.values()) and _is_complete(topics)
        names = ", ".join(sorted({name for parameters in changed.values() for name in parameters}))
        why = f": the replay has another {names}" if names else ""
        answers = "those of the recording, bit for bit" if same else f"not the recorded ones{why}"
        console.print(f"the answers are {answers}", soft_wrap=True)
    console.print(f"report: {directory / 'report.html'}", highlight=False, soft_wrap=True)


def _show(console: Console, columns: Sequence[tuple[str, int]], rows: Sequence[tuple[str, ...]]) -> None:
    """Prints the chosen columns of some rows, names in full."""
    if not rows:
        return
    table = Table()
    for name, _ in columns:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(escape(row[index]) for _, index in columns))
    console.print(table)


def _signal(recording: Recording, topic: str, name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Reads ticks and values (n, width) of a field of numbers, of the first source; None if its length varies."""
    messages, kind = recording.messages[topic], recording.types[topic]
    source = min(source for _, source in messages)
    ticks = sorted(tick for tick, of in messages if of == source)
    rows = [
        np.atleast_1d(dict(leaves(typestore().deserialize_cdr(messages[tick, source], kind)))[name]) for tick in ticks
    ]
    if len({row.shape for row in rows}) != 1:
        return None
    return np.array(ticks), np.array(rows, dtype=float)


def _shown_field(recorded: Recording, replayed: Recording) -> tuple[str, str]:
    """Chooses topic and field for the figure: a field of the recorded commands, else numbers of another topic."""
    topic = recorded.command_topic
    commands: list[Any] = [
        typestore().deserialize_cdr(data, DEVICE_COMMAND) for data in recorded.messages[topic].values()
    ]
    for mode, names in _COMMANDED.items():
        of_mode = [dict(leaves(command)) for command in commands if command.mode == mode]
        for name in names:
            if any(np.any(command[name]) for command in of_mode):
                return topic, name
    for other in sorted(recorded.messages.keys() & replayed.messages.keys() - {topic, recorded.clock}):
        first = next(iter(recorded.messages[other].values()))
        for name, value in leaves(typestore().deserialize_cdr(first, recorded.types[other])):
            if isinstance(value, np.ndarray) and value.size and value.dtype.kind == "f":
                return other, name
    return topic, "tool_wrench.force"


def plot(recorded: Recording, replayed: Recording) -> tuple[Figure, str]:
    """Draws the commands of both over time, and their difference where both have a tick."""
    topic, name = _shown_field(recorded, replayed)
    period = float(recorded.first_state().period)
    one, other = (_signal(recording, topic, name) for recording in (recorded, replayed))
    figure = Figure(figsize=(9.0, 6.0), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    unit = _unit(recorded.types[topic], name)
    if one is None or other is None or one[1].shape[1] != other[1].shape[1]:
        upper.set_title(f"{name}: its length is not the same in all messages")
    else:
        (ticks, values), (new_ticks, new_values) = one, other
        moving = [i for i in range(values.shape[1]) if values[:, i].any() or new_values[:, i].any()][:6]
        signals = {"old": {"tick": ticks, "values": values}, "new": {"tick": new_ticks, "values": new_values}}
        common = Ticks.align(replayed.path, signals, least=0)
        difference = common["new"]["values"] - common["old"]["values"]
        for place, i in enumerate(moving or [0]):
            colour, label = f"C{place}", _component(name, i)
            upper.plot(period * ticks, values[:, i], colour, label=f"{label} recording", lw=1.0)
            upper.plot(
                period * new_ticks, new_values[:, i], colour, label=f"{label} replay", ls="--", lw=2.0, alpha=0.6
            )
            lower.plot(period * common.tick, difference[:, i], colour, lw=1.0)
        upper.legend(loc="upper right", fontsize="small", ncols=2)
    upper.set_ylabel(f"{name}{unit}")
    lower.set_ylabel(f"replay - recording{unit}")
    lower.set_xlabel("time (s)")
    return figure, f"{topic}, {name}: recording and replay, and what lies between them."


def _component(name: str, index: int) -> str:
    return "xyz"[index] if "tool" in name and index < 3 else str(index)
