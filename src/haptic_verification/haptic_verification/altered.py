"""Deliberate alterations of recordings, and the claims of a report that fail under them.

A claim that no wrong recording fails proves nothing. Each column that the report reads is altered alone, and the
numbers among a node's parameters together, mildly at first. The result for each claim is the first alteration that
fails it.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from types import MappingProxyType
from typing import Any

import numpy as np

from haptic_bags.bags import Bag, Event
from haptic_core.errors import HapticError
from haptic_core.parameters import entry_values
from haptic_experiments.kit.kept import keeping
from haptic_experiments.kit.results import Claim
from haptic_files import with_entries
from haptic_files.moved_modules import renamed

Analyse = Callable[[dict[str, Bag]], Any]

#: columns with the time and the tick of a message, by which a report aligns messages; they are not altered
_TIME_COLUMNS = ("tick", "stamp", "header", "time", "period")
#: delay of an altered column [messages]
_LATE = 10
#: standard deviation of the noise of an altered column, as a fraction of its range
_NOISE = 0.1
#: fraction of the messages before the step of an altered column
_STEP_START = 0.5


def _noisy(values: np.ndarray) -> np.ndarray:
    spread = np.ptp(values, axis=0)
    return values + _NOISE * spread * np.random.default_rng(1).standard_normal(values.shape)


def _late(values: np.ndarray) -> np.ndarray:
    return np.concatenate([values[:1].repeat(min(_LATE, len(values)), axis=0), values[:-_LATE]])


def _shifted(values: np.ndarray) -> np.ndarray:
    first = int(_STEP_START * len(values))
    return np.concatenate([values[:first], values[first:] + np.ptp(values, axis=0) + 1e-3])


def _held(values: np.ndarray) -> np.ndarray:
    return values[:1].repeat(len(values), axis=0)


#: alterations of a column of numbers, in words, the mild ones first
ALTERATIONS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = MappingProxyType(
    {
        "1 % larger": lambda values: 1.01 * values,
        f"{_LATE} messages late": _late,
        f"with noise of {100 * _NOISE:g} % of its range": _noisy,
        "half as large": lambda values: 0.5 * values,
        "with a step by its range": _shifted,
        "of the other sign": lambda values: -values,
        "held at its first value": _held,
        "ten times as large": lambda values: 10.0 * values,
    }
)


#: alterations of a column of truth values, by the alteration of numbers that they replace
TRUTH_ALTERATIONS = MappingProxyType({"1 % larger": "inverted", "held at its first value": "held at its first value"})


class _TrackedColumns(dict[str, Any]):
    """Columns of a topic, with a record of the columns that are read."""

    def __init__(self, columns: Mapping[str, Any]) -> None:
        super().__init__(columns)
        self.read = set[str]()

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        return self.__getitem__(name) if name in self else default


@dataclass(frozen=True)
class CheckedClaim:
    """A claim of a report, and the alteration that fails it.

    Attributes:
        claim: claim about the unaltered recording.
        failed_by: first alteration under which the claim is not shown; empty: none was found.
    """

    claim: Claim
    failed_by: str


def check_claims(
    analyse: Analyse, bags: dict[str, Bag], without: Sequence[str] = (), only: Sequence[str] = ()
) -> list[CheckedClaim]:
    """Finds for each claim of a report the first alteration that fails it.

    Args:
        analyse: function of an experiment's module that makes the report.
        bags: recordings by variant.
        without: words of claims that are not checked, such as those on computing times.
        only: alterations to make, see `alteration`; default: all.

    Raises:
        HapticError: This recording has no such alteration.
    """
    given = [(words, alteration(bags, words)) for words in only]
    with keeping():
        return _check_claims(analyse, bags, without, given)


def _check_claims(
    analyse: Analyse, bags: dict[str, Bag], without: Sequence[str], given: Sequence[tuple[str, dict[str, Bag]]]
) -> list[CheckedClaim]:
    tracked = {
        name: _with_topics(bag, {topic: _TrackedColumns(columns) for topic, columns in bag.topics.items()})
        for name, bag in bags.items()
    }
    claims = list(analyse(tracked).claims)
    failed_by = ["" if claim.shown is not False else "the recording itself" for claim in claims]
    wanted = {k for k, claim in enumerate(claims) if claim.shown and not any(words in claim.text for words in without)}
    for words, altered in given or alterations(bags, columns_read(tracked)):
        if not wanted:
            break
        for k in sorted(wanted & _failed(analyse, altered, claims)):
            failed_by[k] = words
            wanted.remove(k)
    return [CheckedClaim(claim, words) for claim, words in zip(claims, failed_by, strict=True)]


def _failed(analyse: Analyse, bags: dict[str, Bag], claims: list[Claim]) -> set[int]:
    """Returns the indices of the claims that an altered recording fails; empty if the report cannot be made."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = list(analyse(bags).claims)
    except Exception:  # a report may raise any error for values that no device sends
        return set()
    if len(found) != len(claims):
        return set()
    return {k for k, claim in enumerate(found) if claim.shown is False}


def alterations(bags: dict[str, Bag], columns: Sequence[tuple[str, str]]) -> Iterator[tuple[str, dict[str, Bag]]]:
    """Yields the description of each alteration, with the altered recordings by variant.

    All variants are altered together first, then each of several variants alone; at last two variants are exchanged.

    Args:
        bags: recordings by variant.
        columns: topic and name of the columns to alter, each alone and all of a topic together.
    """
    topics = sorted({topic for topic, _ in columns})
    parts = [((topic, name), f"{name} of {topic.lstrip('/')}") for topic, name in columns]
    several = [[name for there, name in columns if there == topic] for topic in topics]
    for names in [tuple(bags), *((name,) for name in bags if len(bags) > 1)]:
        where = f" in {names[0]} alone" if len(names) < len(bags) else ""
        nodes = sorted({node for name in names for node in nodes_of(bags[name])})
        for words, change in ALTERATIONS.items():
            for (topic, column), what in parts:
                is_true = _is_true_or_false(bags[names[0]].topics.get(topic, {}).get(column))
                if is_true and words not in TRUTH_ALTERATIONS:
                    continue
                changed = {name: with_columns(bags[name], topic, [column], change) for name in names}
                yield f"{what} {TRUTH_ALTERATIONS[words] if is_true else words}{where}", {**bags, **changed}
            for node in nodes:
                changed = {name: with_parameters(bags[name], node, change) for name in names}
                yield f"parameters of {node} {words}{where}", {**bags, **changed}
            for topic, all_of_it in zip(topics, several, strict=True):
                changed = {name: with_columns(bags[name], topic, all_of_it, change) for name in names}
                yield f"all of {topic.lstrip('/')} {words}{where}", {**bags, **changed}
    for one, other in combinations(bags, 2):
        changed = {one: _with_topics(bags[one], bags[other].topics), other: _with_topics(bags[other], bags[one].topics)}
        yield f"the recordings of {one} and {other} exchanged", {**bags, **changed}


def alteration(bags: dict[str, Bag], words: str) -> dict[str, Bag]:
    """Alters one column or parameter in all variants of a recording.

    Args:
        bags: recordings by variant.
        words: "COLUMN of TOPIC HOW" or "PARAMETER of NODE HOW", such as "stiffness of friction ten times as large".
            An entry "name=value" of a parameter counts as a parameter.

    Raises:
        HapticError: There is no such column, parameter or alteration.
    """
    first = next(iter(bags.values()))
    truths = {how: ALTERATIONS[number] for number, how in TRUTH_ALTERATIONS.items()}
    for how, change in {**ALTERATIONS, **truths}.items():
        name, _, source = words.removesuffix(f" {how}").partition(" of ")
        if words.endswith(f" {how}") and name in first.topics.get(f"/{source}", {}):
            return {variant: with_columns(bag, f"/{source}", [name], change) for variant, bag in bags.items()}
        if words.endswith(f" {how}") and source in nodes_of(first):
            made = {variant: with_parameters(bag, source, change, name) for variant, bag in bags.items()}
            if made[next(iter(bags))].parameters(source) != first.parameters(source):
                return made
    raise HapticError(
        f"alteration '{words}': expected a column and its topic, or a number among a node's parameters and the node, "
        f"and one of: {', '.join(ALTERATIONS)}"
    )


def _is_true_or_false(values: Any) -> bool:
    first = values if isinstance(values, np.ndarray) else next(iter(values or ()), None)
    return isinstance(first, np.ndarray) and first.dtype.kind == "b"


def columns_read(noted: Mapping[str, Bag]) -> list[tuple[str, str]]:
    """Returns topic and name of each column of numbers that was read, except those of time and tick."""
    return sorted(
        {
            (topic, name)
            for bag in noted.values()
            for topic, columns in bag.topics.items()
            for name in (columns.read if isinstance(columns, _TrackedColumns) else columns)
            if name in columns and name not in _TIME_COLUMNS and _is_numeric(dict.__getitem__(columns, name))
        }
    )


def _is_numeric(values: Any) -> bool:
    if isinstance(values, np.ndarray):
        return values.dtype.kind in "bfiu" and values.size > 0
    return any(isinstance(value, np.ndarray) and value.dtype.kind in "bf" for value in values[:1])


def with_columns(bag: Bag, topic: str, names: Sequence[str], change: Callable[[np.ndarray], np.ndarray]) -> Bag:
    """Returns a copy of the bag with columns of a topic altered; the bag itself if it has none of the columns.

    Truth values are held at their first value by that alteration, and inverted by all others.
    """
    columns = bag.topics.get(topic, {})
    altered = {name: _altered_column(columns[name], change) for name in names if name in columns}
    return _with_topics(bag, {**bag.topics, topic: {**columns, **altered}}) if altered else bag


def _altered_column(values: Any, change: Callable[[np.ndarray], np.ndarray]) -> Any:
    if not isinstance(values, np.ndarray):
        return [_altered_column(value, change) if len(value) else value for value in values]
    if values.dtype.kind == "f" or change is _held:
        return change(values)
    return ~values if values.dtype.kind == "b" else change(values.astype(float)).astype(values.dtype)


def _with_topics(bag: Bag, topics: dict[str, dict[str, Any]]) -> Bag:
    made = copy.copy(bag)
    made.topics = topics
    return made


def nodes_of(bag: Bag) -> list[str]:
    """Returns the names of the nodes that published their parameters when they became active."""
    return [event.source for event in bag.events if event.kind == "state" and event.detail.get("parameters")]


def with_parameters(bag: Bag, source: str, change: Callable[[np.ndarray], np.ndarray], name: str = "") -> Bag:
    """Returns a copy of the bag with the numbers, and lists of numbers, among a node's parameters altered.

    Args:
        bag: recording.
        source: name of the node.
        change: alteration of the numbers.
        name: name of the only parameter, or entry "name=value" of a parameter, to alter; default: all parameters.
    """
    made = copy.copy(bag)
    made.events = [_altered(event, change, name) if event.source == source else event for event in bag.events]
    return made


def _altered(event: Event, change: Callable[[np.ndarray], np.ndarray], only: str) -> Event:
    parameters = event.detail.get("parameters")
    if not isinstance(parameters, dict):
        return event
    changed = {
        name: _changed(value, change) if only in ("", name) else _with_entry(value, only, change)
        for name, value in parameters.items()
    }
    return replace(event, detail={**event.detail, "parameters": changed})


def _with_entry(value: Any, name: str, change: Callable[[np.ndarray], np.ndarray]) -> Any:
    """Alters the number of the entry "name=value" of a parameter, if the parameter has that entry."""
    if not any(str(entry).startswith(f"{name}=") for entry in (value if isinstance(value, list) else ())):
        return value
    return with_entries(value, {name: _changed(entry_values(value)[name], change)})


def _changed(value: Any, change: Callable[[np.ndarray], np.ndarray]) -> Any:
    """Alters a parameter that is a number or a list of numbers; returns any other parameter as it is."""
    listed = value if isinstance(value, list) else [value]
    if not all(isinstance(number, float) for number in listed):
        return value
    altered = [float(change(np.array([number, number]))[0]) for number in listed]
    return altered if isinstance(value, list) else altered[0]


__getattr__ = renamed(__name__, {"judge": "check_claims", "Judged": "CheckedClaim"})
