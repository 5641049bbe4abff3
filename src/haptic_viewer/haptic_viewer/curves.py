"""Names and colours of the curves: joints of the device, bodies of the scene, walls, axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from haptic_msgs.msg import Scene

#: largest number of curves in a plot
MOST_CURVES = 6
_COLORS = ("#d62728", "#2ca02c", "#1f77b4", "#ff7f0e", "#9467bd", "#17becf")
#: name of an entry of a list without names, before its number
_NUMBERED = {"elements": "element", "constraints": "constraint", "walls": "wall", "joints": "joint", "bodies": "body"}


@dataclass(frozen=True)
class Curve:
    """A curve of a plot.

    Attributes:
        number: index of the plotted entry of the list, from 0.
        name: name in the legend.
        color: color as CSS text.
    """

    number: int
    name: str
    color: str


class Curves:
    """Curves of each list of numbers, with the names that the experiment gives.

    Args:
        color_of: function that returns the colour of a body on the page, red, green, blue, 0 to 255; None: the body is
            not drawn.
    """

    def __init__(self, color_of: Callable[[str], tuple[int, int, int] | None] = lambda _: None) -> None:
        self._color_of = color_of
        self._names: dict[str, Sequence[str]] = {"axes": ("x", "y", "z"), "directions": ("normal", "tangential")}
        self._moving: Mapping[int, str] = {}

    def set_names(self, kind: str, names: Sequence[str]) -> None:
        """Sets the names of the entries of a list, in their order: joints, or elements of friction."""
        self._names[kind] = tuple(names)

    def set_scene(self, scene: Scene) -> None:
        """Sets the names of the bodies; bodies without mass do not move, and have no curve."""
        pairs = zip(scene.name, scene.mass, strict=True)
        self._moving = {number: name for number, (name, mass) in enumerate(pairs) if mass > 0.0}

    def of(self, kind: str, count: int) -> list[Curve]:
        """Returns the curves of a list.

        Args:
            kind: name of the list: axes, directions, elements, constraints, walls, joints, bodies; empty: one number.
            count: length of the list.
        """
        named = {number: name for number, name in self._moving.items() if number < count} if kind == "bodies" else {}
        if not named:
            known = self._names.get(kind, ())
            fits = len(known) == count or (kind == "joints" and len(known) > count)  # passive joints come last
            unnamed = _NUMBERED.get(kind, "value")
            named = {number: known[number] if fits else f"{unnamed} {number + 1}" for number in range(count)}
        return [
            Curve(number, name, self._color(kind, name, index)) for index, (number, name) in enumerate(named.items())
        ]

    def _color(self, kind: str, name: str, index: int) -> str:
        drawn = self._color_of(name) if kind == "bodies" else None
        return "#{:02x}{:02x}{:02x}".format(*drawn) if drawn else _COLORS[index % len(_COLORS)]
