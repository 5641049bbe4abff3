"""Controls for the parameters of a node, created from their descriptors."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import viser
from rcl_interfaces.msg import ParameterDescriptor

from haptic_core.errors import shortened
from haptic_core.parameters import FIXED_ONCE_CONFIGURED, limits_in
from haptic_viewer.text import PlainText, Strong, plain

#: parameters that are used at the start only, though they may be set later
_STARTS = ("activation_timeout",)
#: end of a slider as a multiple of the initial value, if the bounds are too wide
_SPAN = 4.0
#: largest distance of the bounds of a slider, as a multiple of the initial value
_WIDE = 40.0
#: smallest number of steps of a slider
_STEPS = 100


@dataclass(frozen=True)
class Control:
    """Control that shows and sets a parameter.

    Attributes:
        kind: "checkbox", "choice", "slider", "number" or "text" (strings, and arrays as JSON).
        label: name and unit of the parameter.
        hint: description and constraints of the parameter.
        disabled: True if the parameter cannot be set.
        low, high, step: bounds and step of a slider, and of a number if they are finite.
        choices: options of a choice.
    """

    kind: str
    label: str
    hint: str
    disabled: bool
    low: float = -math.inf
    high: float = math.inf
    step: float = 0.0
    choices: tuple[str, ...] = ()


def _is_fixed(descriptor: ParameterDescriptor) -> bool:
    """Returns whether a configured node refuses every change of the parameter."""
    return bool(descriptor.read_only or FIXED_ONCE_CONFIGURED in descriptor.additional_constraints)


def control_of(descriptor: ParameterDescriptor, value: Any) -> Control:
    """Creates the control for a parameter.

    Args:
        descriptor: descriptor as `SuiteNode` declares it: description that ends with the unit, constraints in words.
        value: present value.
    """
    name, about, constraints = descriptor.name, descriptor.description, descriptor.additional_constraints
    unit = about[about.rfind("[") + 1 : -1] if about.endswith("]") else ""
    common: dict[str, Any] = {
        "label": plain(name.replace("_", " ") + (f" [{unit}]" if unit not in ("", "-") else "")),
        "hint": plain(f"{name}: {about}" + (f"; {constraints}" if constraints else "")),
        "disabled": _is_fixed(descriptor),
    }
    low, high, choices = limits_in(constraints)
    choices = tuple(dict.fromkeys(map(plain, choices)))  # the page accepts no choice twice
    if isinstance(value, bool):
        return Control("checkbox", **common)
    if isinstance(value, str):
        return Control("choice", choices=choices, **common) if value in choices else Control("text", **common)
    if not isinstance(value, (int, float)):
        return Control("text", **common)
    whole = isinstance(value, int)
    start, end = low, high
    if high - low > _WIDE * abs(value):
        start, end = max(low, min(0.0, _SPAN * value)), min(high, _SPAN * abs(value))
    if _is_fixed(descriptor) or not (math.isfinite(start) and math.isfinite(end) and start < end):
        return Control("number", low=low, high=high, step=1.0 if whole else _tenth(value), **common)
    if whole:
        start, end = math.ceil(start), math.floor(end)
    step = 1.0 if whole else 10.0 ** math.floor(math.log10((end - start) / _STEPS))
    return Control("slider", low=start, high=end, step=step, **common)


def _tenth(value: float) -> float:
    """Returns the power of ten at or below a tenth of a value; 0.001 for zero."""
    return 10.0 ** math.floor(math.log10(abs(value) / 10.0)) if value else 1e-3


def _kind(value: Any) -> type:
    """Returns the type of a value: float for all numbers, list for all sequences."""
    if isinstance(value, bool) or not isinstance(value, (int, float, list, tuple)):
        return type(value)
    return float if isinstance(value, (int, float)) else list


def _text(value: Any) -> str:
    """Returns the content of a text field; its length is not limited, since the user edits it."""
    return plain(value, limit=None) if isinstance(value, str) else json.dumps(value)


class ParameterPanel:
    """Folder with the parameters of one node; those that are read at the start are in a folded sub-folder.

    Args:
        gui: GUI of the page.
        title: title of the folder.
        change: called with name and value when the user has changed a parameter, in viser's thread.
        first: names of the parameters that are shown first; the others are folded. Empty: all are shown.
    """

    def __init__(
        self, gui: viser.GuiApi, title: str, change: Callable[[str, Any], None], first: Sequence[str] = ()
    ) -> None:
        self._gui, self._change, self._first = gui, change, first
        self._folder = gui.add_folder(plain(title))
        self._inputs: dict[str, Any] = {}
        self._values: dict[str, Any] = {}

    def show(self, descriptors: Sequence[ParameterDescriptor], values: Mapping[str, Any]) -> None:
        """Adds the controls, with the present values."""
        self._values = dict(values)
        with self._folder:
            self._answer = PlainText(self._gui)
            shut = [one for one in descriptors if _is_fixed(one) or one.name in _STARTS]
            live = [one for one in descriptors if one not in shut]
            first = [one for name in self._first for one in live if one.name == name] or live
            for descriptor in first:
                self._add(descriptor)
            others = {"more": [one for one in live if one not in first], "read at the start": shut}
            for title, folded in others.items():
                if folded:
                    with self._gui.add_folder(plain(title), expand_by_default=False):
                        for descriptor in folded:
                            self._add(descriptor)

    @property
    def values(self) -> Mapping[str, Any]:
        """Present values by name."""
        return self._values

    def take(self, name: str, value: Any) -> None:
        """Shows the new value of a parameter; ignores an unknown name.

        Raises:
            ValueError: the value has another type than the parameter.
        """
        if name in self._inputs:
            present = self._values[name]
            if _kind(value) is not _kind(present):
                raise ValueError(f"parameter {name}: expected a value such as {present!r}, got {value!r}")
            self._values[name] = value
            self._put(name)
            self._answer.show(f"{name} is {value} now")

    def refuse(self, name: str, reason: str) -> None:
        """Shows the reason why the node has refused a value, and the present value."""
        self._put(name)
        self._answer.show(Strong("refused:"), f" {reason}")

    def _put(self, name: str) -> None:
        item, value = self._inputs[name], self._values[name]
        value = _text(value) if isinstance(value, (list, tuple, str)) else value
        if hasattr(item, "max") and item.max is not None and not isinstance(value, (str, bool)):
            item.min, item.max = min(item.min, value), max(item.max, value)
        item.value = value

    def _add(self, descriptor: ParameterDescriptor) -> None:
        name, value, gui = descriptor.name, self._values[descriptor.name], self._gui
        control = control_of(descriptor, value)
        options: dict[str, Any] = {"hint": control.hint, "disabled": control.disabled}
        if control.kind == "checkbox":
            item: Any = gui.add_checkbox(control.label, value, **options)
        elif control.kind == "choice":
            item = gui.add_dropdown(control.label, control.choices, initial_value=value, **options)
        elif control.kind == "slider":
            kind = type(value)
            low, high, step = kind(control.low), kind(control.high), kind(control.step)
            item = gui.add_slider(control.label, low, high, step, min(max(value, low), high), **options)
        elif control.kind == "number":
            low, high = (float(b) if math.isfinite(b) else None for b in (control.low, control.high))
            item = gui.add_number(control.label, value, min=low, max=high, step=type(value)(control.step), **options)
        else:
            item = gui.add_text(control.label, _text(value), **options)
        self._inputs[name] = item

        @item.on_update
        async def _(event: viser.GuiEvent) -> None:
            if event.client is not None:  # the user, not `take`
                self._change(name, event.target.value)

    def value_of(self, name: str, given: Any) -> Any:
        """Converts the input of a user to the parameter's type; raises ValueError for text that is no such list."""
        present = self._values[name]
        if isinstance(present, (list, tuple)):
            try:
                value = json.loads(given)
            except (ValueError, RecursionError):  # no JSON, integers with too many digits, deeply nested brackets
                value = None
            if not isinstance(value, list):
                example = json.dumps(list(present))
                raise ValueError(f"parameter {name}: expected a list such as {example}, got {shortened(given)}")
            kind = type(present[0]) if present else None
            return [float(entry) if kind is float and type(entry) is int else entry for entry in value]
        return type(present)(given)
