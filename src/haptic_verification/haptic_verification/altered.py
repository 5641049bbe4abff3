"""Recordings that are altered on purpose, and the claims of a report that then no longer hold.

A claim that no wrong recording fails says nothing. Each column that the report reads is altered by itself, and the
numbers among a node's parameters together, mildly at first; of each claim the first alteration that fails it is kept.
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

Analyse = Callable[[dict[str, Bag]], Any]

#: columns that say when a message was made, and of which tick it speaks; a report aligns by them
_PLACES = ("tick", "stamp", "header", "time", "period")
#: messages by which an altered column is late
_LATE = 10
#: noise of an altered column, as a share of its range
_NOISE = 0.1
#: share of the messages from which on a column is altered that is right before
_FROM = 0.5


def _noisy(values: np.ndarray) -> np.ndarray:
    spread = np.ptp(values, axis=0)
    return values + _NOISE * spread * np.random.default_rng(1).standard_normal(values.shape)


def _late(values: np.ndarray) -> np.ndarray:
    return np.concatenate([values[:1].repeat(min(_LATE, len(values)), axis=0), values[:-_LATE]])


def _shifted(values: np.ndarray) -> np.ndarray:
    first = int(_FROM * len(values))
    return np.concatenate([values[:first], values[first:] + np.ptp(values, axis=0) + 1e-3])


def _held(values: np.ndarray) -> np.ndarray:
    return values[:1].repeat(len(values), axis=0)


#: what is done to a column of numbers, the mild before the strong
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


#: what is done to a column of truth values, by what is done to numbers at the time
TRUTH_ALTERATIONS = MappingProxyType({"1 % larger": "inverted", "held at its first value": "held at its first value"})


class _Noted(dict[str, Any]):
    """Columns of a topic that notes which of them are read."""

    def __init__(self, columns: Mapping[str, Any]) -> None:
        super().__init__(columns)
        self.read = set[str]()

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        return self.__getitem__(name) if name in self else default


@dataclass(frozen=True)
class Judged:
    """A claim of the recording as it is, and what fails it.

    Attributes:
        claim: As the report of the recording has it.
        failed_by: The first alteration under which it is not shown; empty: none was found.
    """

    claim: Claim
    failed_by: str


def judge(
    analyse: Analyse, bags: dict[str, Bag], without: Sequence[str] = (), only: Sequence[str] = ()
) -> list[Judged]:
    """The claims of a report, each with the first alteration that fails it.

    Args:
        analyse: The report of an experiment, as its module has it.
        bags: What was recorded, by variant.
        without: Words of claims for which nothing is looked for, such as those on computing times.
        only: The alterations to make, see `alteration`; default: all.

    Raises:
        HapticError: An alteration is not one of this recording.
    """
    given = [(words, alteration(bags, words)) for words in only]
    with keeping():
        return _judged(analyse, bags, without, given)


def _judged(
    analyse: Analyse, bags: dict[str, Bag], without: Sequence[str], given: Sequence[tuple[str, dict[str, Bag]]]
) -> list[Judged]:
    noted = {
        name: _with_topics(bag, {topic: _Noted(c) for topic, c in bag.topics.items()}) for name, bag in bags.items()
    }
    claims = list(analyse(noted).claims)
    failed_by = ["" if claim.shown is not False else "the recording itself" for claim in claims]
    wanted = {k for k, claim in enumerate(claims) if claim.shown and not any(words in claim.text for words in without)}
    for words, altered in given or alterations(bags, columns_read(noted)):
        if not wanted:
            break
        for k in sorted(wanted & _failed(analyse, altered, claims)):
            failed_by[k] = words
            wanted.remove(k)
    return [Judged(claim, words) for claim, words in zip(claims, failed_by, strict=True)]


def _failed(analyse: Analyse, bags: dict[str, Bag], claims: list[Claim]) -> set[int]:
    """Places of the claims that an altered recording does not show; none where the report refuses it."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = list(analyse(bags).claims)
    except Exception:  # what a report makes of values that no device sends is its own affair
        return set()
    if len(found) != len(claims):
        return set()
    return {k for k, claim in enumerate(found) if claim.shown is False}


def alterations(bags: dict[str, Bag], columns: Sequence[tuple[str, str]]) -> Iterator[tuple[str, dict[str, Bag]]]:
    """Each alteration in words, with the altered recording.

    First all variants are altered alike, then one of several alone, then two of them are exchanged.

    Args:
        bags: What was recorded, by variant.
        columns: Topic and name of the columns to alter, one after the other and all of a topic together.
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
    """All variants of a recording with one column or parameter altered.

    Args:
        bags: What was recorded, by variant.
        words: "COLUMN of TOPIC HOW" or "PARAMETER of NODE HOW", such as "stiffness of friction ten times as large".
            An entry "name=value" of a parameter counts as a parameter.

    Raises:
        HapticError: There is no such column, parameter or way to alter it.
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
    """Topic and name of each column of numbers that was read, but for those that only say when."""
    return sorted(
        {
            (topic, name)
            for bag in noted.values()
            for topic, columns in bag.topics.items()
            for name in (columns.read if isinstance(columns, _Noted) else columns)
            if name in columns and name not in _PLACES and _is_numeric(dict.__getitem__(columns, name))
        }
    )


def _is_numeric(values: Any) -> bool:
    if isinstance(values, np.ndarray):
        return values.dtype.kind in "bfiu" and values.size > 0
    return any(isinstance(value, np.ndarray) and value.dtype.kind in "bf" for value in values[:1])


def with_columns(bag: Bag, topic: str, names: Sequence[str], change: Callable[[np.ndarray], np.ndarray]) -> Bag:
    """The bag with columns of a topic altered; one of truth values is held, or inverted whatever else the change is."""
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
    """The nodes that said their parameters when they became active."""
    return [event.source for event in bag.events if event.kind == "state" and event.detail.get("parameters")]


def with_parameters(bag: Bag, source: str, change: Callable[[np.ndarray], np.ndarray], name: str = "") -> Bag:
    """The bag with all numbers, and lists of them, altered among the parameters that a node said it has.

    Args:
        bag: What was recorded.
        source: Name of the node.
        change: Of the numbers.
        name: Of the only parameter, or entry "name=value" of a parameter, that is altered; default: all parameters.
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
    """A parameter with the number of one of its entries "name=value" altered, if it has that entry."""
    if not any(str(entry).startswith(f"{name}=") for entry in (value if isinstance(value, list) else ())):
        return value
    return with_entries(value, {name: _changed(entry_values(value)[name], change)})


def _changed(value: Any, change: Callable[[np.ndarray], np.ndarray]) -> Any:
    """A parameter altered, if it is a number or a list of them."""
    listed = value if isinstance(value, list) else [value]
    if not all(isinstance(number, float) for number in listed):
        return value
    altered = [float(change(np.array([number, number]))[0]) for number in listed]
    return altered if isinstance(value, list) else altered[0]
