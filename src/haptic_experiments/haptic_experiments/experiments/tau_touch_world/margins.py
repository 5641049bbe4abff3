"""Lighter bodies in the scene of `tau_touch_world`: down to which mass contact is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from convex_contact.problem.errors import ConvergenceError
from haptic_devices.device import DeviceError
from haptic_experiments.experiments.tau_touch_world.references import Touch, TouchScene
from haptic_launch.launch_nodes import LaunchedNode
from tau_wall_control import TauError
from tau_wall_control.control.controller import WallController

#: masses of the box [kg], and least fraction of the ticks with contact where contact is kept
MASSES, KEPT = (0.5, 0.1, 0.03), 0.95
BELOW = [0.017, -0.013, 0.011]  #: position of the box below the tool [m]


@dataclass(frozen=True)
class Played:
    """Contact with a lighter box."""

    contact: float  #: fraction of the ticks with contact
    depth: float  #: largest depth of the tool [m]
    push_work: float  #: work of the pushes [J]
    cut_work: float  #: work of the difference of action and reaction [J]


#: numbers by the mass of the box [kg]; None where the tool was thrown out of the workspace
Masses = dict[str, Played | None]


@dataclass(frozen=True)
class Margins:
    """A lighter box, by the kind of the computation."""

    pushed: dict[str, Masses]  #: the tool pushes it from the side
    pressed: dict[str, Masses]  #: the tool presses on it from above


def margins(nodes: list[LaunchedNode], controller: WallController | None) -> Margins:
    """Simulates lighter boxes."""
    pushed: dict[str, Masses] = {}
    pressed: dict[str, Masses] = {}
    for mass in MASSES:
        entry: dict[str, Any] = {"bodies.box.mass": mass}
        side = TouchScene(nodes, first="push the box", last="push the box", entries=entry, controller=controller)
        entry |= {"bodies.box.position": BELOW}
        top = TouchScene(nodes, first="on the box", last="press the box", entries=entry, controller=controller)
        late = slice(round(0.3 * side.ticks), side.ticks)
        for found, scene, part in ((pushed, side, late), (pressed, top, slice(None))):
            split = partial(scene.split, raise_on_stop=True)
            plays = {"nodes": split, "bodies taken for fixed": partial(split, yielding=False)}
            if scene is side:
                plays["and one tick later"] = partial(split, yielding=False, late=1)
            for name, play in (plays | {"implicit": scene.implicit}).items():
                found.setdefault(name, {})[f"{mass:g}"] = _played(play, part)
    return Margins(pushed, pressed)


def _played(play: Callable[[], Touch], part: slice) -> Played | None:
    try:
        touch = play()
    except (TauError, DeviceError, ConvergenceError):
        return None
    return Played(
        contact=float((touch.load[part] > 0.0).mean()),
        depth=float(touch.depth.max()),
        push_work=float(touch.normal_work[-1]),
        cut_work=float(touch.cut_work[-1]),
    )


def lightest(found: Masses) -> float:
    """Finds the lightest mass down to which contact is kept [kg]; infinite if that of the heaviest is lost."""
    lightest_kept = float("inf")
    for mass in MASSES:
        played = found[f"{mass:g}"]
        if played is None or played.contact < KEPT:
            break
        lightest_kept = mass
    return lightest_kept
