"""Parts of a report: claims with verdicts, tables, numbers and a figure."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, TypeVar

import numpy as np
from matplotlib.figure import Figure

_Part = TypeVar("_Part")
#: the measured numbers of a claim in words, and whether they show it; None if the run does not reach it
Verdict = tuple[str, bool | None]

#: reason of a claim without numbers
_MISSING = "not in this run"

#: behind a limit in a claim's sentence that was chosen when the numbers were known
AFTER_DATA = "chosen after the data"

#: metadata of a dataclass's field whose own fields are among those of its owner in metrics.json; none if it is None
MERGED = {"merged": True}
OPTIONAL = {"optional": True}  #: metadata of a dataclass's field that metrics.json does not have while it is None
HIDDEN = {"hidden": True}  #: metadata of a dataclass's field that is not in metrics.json


def key(name: str) -> dict[str, str]:
    """Returns the metadata of a dataclass's field that has another name in metrics.json."""
    return {"key": name}


def plain(value: Any) -> Any:
    """Converts the numbers of a report for JSON.

    Dataclasses and named tuples become mappings (see `MERGED`, `OPTIONAL`, `HIDDEN` and `key`), arrays become lists,
    numbers of NumPy those of Python, infinite numbers and NaN None.
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if is_dataclass(value):
        return _fields(value)
    if isinstance(value, Mapping):
        return {name: plain(x) for name, x in value.items()}
    if isinstance(value, list | tuple):
        return plain(value._asdict()) if hasattr(value, "_asdict") else [plain(x) for x in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _fields(numbers: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for each in fields(numbers):
        value, how = getattr(numbers, each.name), each.metadata
        if "hidden" in how or (value is None and how.keys() & {"merged", "optional"}):
            continue
        found |= plain(value) if "merged" in how else {how.get("key", each.name): plain(value)}
    return found


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, with the numbers of this run."""

    text: str  #: the paper's claim
    measured: str  #: the measured numbers in words, with their limit
    shown: bool | None  #: True or False; None where the run does not reach it
    #: False for a finding: a number that depends on an assumption made to get it, so that it shows nothing
    judged: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.shown, np.bool_):  # of a comparison of NumPy's numbers
            object.__setattr__(self, "shown", bool(self.shown))

    @property
    def verdict(self) -> str:
        """The answer in words."""
        if not self.judged:
            return "a finding, not judged"
        return {True: "shown", False: "NOT shown", None: "not reached in this run"}[self.shown]


class Claims(list[Claim]):
    """The claims of a report, in their order.

    Each method adds one claim. `unless` is the reason why the run cannot show it, empty if it can; a number that is
    None is such a reason by itself. `about` names the number where the claim's text does not. A value that is not a
    number (NaN) shows nothing.
    """

    def say(self, text: str, measured: str = "", shown: bool | None = None, *, unless: str = "") -> None:
        """Adds a claim with a condition of its own."""
        self.append(Claim(text, unless or measured, None if unless or shown is None else bool(shown)))

    def reached(self, text: str, part: _Part | None, *, unless: str) -> _Part | None:
        """Returns the part of the numbers that a claim is about; without it (None) adds the claim as not reached."""
        if part is None:
            self.say(text, unless=unless)
        return part

    def note(self, text: str, measured: str) -> None:
        """Adds a finding, which names its assumption and has no verdict."""
        self.append(Claim(text, measured, None, judged=False))

    def below(
        self, text: str, value: float | None, limit: float, unit: str = "", *, about: str = "", unless: str = ""
    ) -> None:
        """Adds the claim that a number is below a limit."""
        self._number(text, value, f"below {limit:g} {unit}", unit, about, unless, lambda x: x < limit)

    def at_least(
        self, text: str, value: float | None, limit: float, unit: str = "", *, about: str = "", unless: str = ""
    ) -> None:
        """Adds the claim that a number is a limit or more."""
        self._number(text, value, f"at least {limit:g} {unit}", unit, about, unless, lambda x: x >= limit)

    def near(
        self,
        text: str,
        value: float | None,
        expected: float,
        unit: str = "",
        *,
        absolute: float = 0.0,
        relative: float = 0.0,
        about: str = "",
        unless: str = "",
    ) -> None:
        """Adds the claim that a number differs from an expected one by at most a tolerance."""
        off = absolute + relative * abs(expected)
        rule = f"expected {expected:.4g} {unit}".rstrip() + f", within {off:.2g} {unit}"
        self._number(text, value, rule, unit, about, unless, lambda x: abs(x - expected) <= off)

    def all_below(
        self, text: str, numbers: Mapping[str, tuple[float, float]], *, about: str = "", unless: str = ""
    ) -> None:
        """Adds the claim that each of several numbers is below a limit of its own.

        Args:
            text: the claim.
            numbers: number and limit by the name of the quantity, with its unit; none: the run does not reach it.
            about: words before the numbers.
            unless: why the run cannot show it.
        """
        measured = "; ".join(f"{name} {value:.4g} (below {limit:.4g})" for name, (value, limit) in numbers.items())
        shown = all(value < limit for value, limit in numbers.values()) if numbers else None
        self.say(text, f"{about} {measured or 'not in this run'}".lstrip(), shown, unless=unless)

    def all_near(
        self,
        text: str,
        values: Mapping[str, float],
        expected: float,
        *,
        absolute: float = 0.0,
        relative: float = 0.0,
        unless: str = "",
    ) -> None:
        """Adds the claim that several numbers differ from an expected one by at most a tolerance; see `near`."""
        off = absolute + relative * abs(expected)
        measured = ", ".join(f"{name} {value:.6g}" for name, value in values.items())
        shown = all(abs(value - expected) <= off for value in values.values()) if values else None
        rule = f" (expected {expected:.4g}, within {off:.2g})" if values else "not in this run"
        self.say(text, measured + rule, shown, unless=unless)

    def identical(self, text: str, differences: Mapping[str, float], *, unless: str = "") -> None:
        """Adds the claim that two results are the same to the last bit.

        Args:
            text: the claim.
            differences: largest difference by the name of the quantity, with its unit.
            unless: why the run cannot show it.
        """
        measured = "largest differences: " + ", ".join(f"{name} {value:.3g}" for name, value in differences.items())
        missing = unless or ("" if differences else _MISSING)
        self.say(text, measured, all(value == 0.0 for value in differences.values()), unless=missing)

    def each(
        self, text: str, cases: Sequence[tuple[str, bool]], rule: str = "", *, between: str = "; ", unless: str = ""
    ) -> None:
        """Adds the claim that a condition holds in each of several cases.

        Args:
            text: the claim.
            cases: measured numbers in words, and whether the condition holds, by case.
            rule: words behind those of the cases, for example their limit.
            between: words between those of two cases.
            unless: reason why a run without cases cannot show it.
        """
        measured = between.join(words for words, _ in cases) + rule
        self.say(text, measured, all(holds for _, holds in cases), unless="" if cases else unless or _MISSING)

    def set_aside(self, why: str) -> None:
        """Takes the verdicts off all claims so far: the numbers are those of another model, which `why` names."""
        self[:] = [Claim(claim.text, f"{why}: {claim.measured}", None, claim.judged) for claim in self]

    def _number(
        self,
        text: str,
        value: float | None,
        rule: str,
        unit: str,
        about: str,
        unless: str,
        holds: Callable[[float], bool],
    ) -> None:
        if value is None:
            self.say(text, unless=unless or _MISSING)
            return
        lead = f"{about} " if about else ""
        self.say(text, f"{lead}{value:.4g} {unit}".rstrip() + f" ({rule.rstrip()})", holds(value), unless=unless)


@dataclass
class Report:
    """Numbers, claims and figure of an experiment's runs, as its report module returns them."""

    numbers: Any  #: numbers of the runs: a dataclass, or a mapping to dataclasses
    claims: list[Claim]  #: each with its verdict
    #: draws the figure; only called when the figure is needed, since that takes longer than the numbers
    draw: Callable[[], Figure]
    caption: str  #: text below the figure
    #: parameters of the nodes by name, for the page
    parameters: dict[str, dict[str, Any]] = field(default_factory=dict)

    @functools.cached_property
    def metrics(self) -> dict[str, Any]:
        """The numbers as metrics.json has them."""
        return dict(plain(self.numbers))

    @functools.cached_property
    def figure(self) -> Figure:
        """The figure of the run."""
        return self.draw()


@dataclass
class ResultTable:
    """A table of a report."""

    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
