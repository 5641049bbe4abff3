"""Runs of the constrained mechanisms on the admittance display, as their reports use them.

Rows are ticks. Poses, twists and wrenches of the virtual tool are in the mechanism's spatial frame. The reference of
a row is what was due at that tick, computed at the tick before; the node's feedback (17) compares with the same. Where
the display closes the loop instead, command_delay_ticks make its target later by as much. A run leaves out the ticks
at which the tool was led to the mechanism, as there is no motion of the mechanism yet, and those in the safe state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any, Generic, TypeVar

import numpy as np
from matplotlib.figure import Figure

from admittance_constraints import Mechanism, mechanisms
from admittance_constraints.display.tool_path import RecordedFrames, ToolPath
from admittance_constraints.model.loading import installed_mechanism
from haptic_bags.bags import Bag
from haptic_core.commands import NONE
from haptic_core.errors import HapticError
from haptic_core.parameters import entry_values
from haptic_devices.loop import OK
from haptic_experiments.kit.figures import Curve, Panel, panels, shade
from haptic_experiments.kit.phases import PhasedRun, phased
from haptic_experiments.kit.results import Claims, Report
from haptic_experiments.kit.signals import Spread, largest

_Numbers = TypeVar("_Numbers")
_Mechanism = TypeVar("_Mechanism", bound=Mechanism)

NAMESPACE = "/cobotic_hand_controller"
IMPEDANCE_LIMIT = 5e3  #: stiffness that impedance displays reach, "a few kN/m" [N/m]
COUNTS = 10.0  #: "on the order of the resolution": RMS within so many counts of the sensor
RESIDUAL = 1e-12  #: residual of a holonomic constraint that passes for rounding [m] or [rad]


@dataclass(frozen=True)
class DisplayNumbers:
    """Numbers of every mechanism's report; errors are those of the measured tool against the reference."""

    ticks: int  #: number of ticks that count
    led_ticks: int  #: number of ticks left out because the tool was led to the mechanism
    stopped_ticks: int  #: number of ticks left out because the display's status was not OK
    refused_ticks: int  #: number of ticks whose step was refused
    holonomic_residual: float  #: largest residual of the holonomic constraints [m] or [rad]
    tracking_error: Spread  #: distance [m]
    turning_error: Spread  #: angle [rad]
    position_resolution: float  #: one count of the display's sensors in position [m]; NaN if it is not known
    angle_resolution: float  #: one count in orientation [rad]; NaN if it is not known


@dataclass(frozen=True)
class DisplayRun(PhasedRun, Generic[_Mechanism]):
    """The signals of one bag on common ticks."""

    mechanism: _Mechanism  #: the rendered mechanism
    measured: ToolPath  #: motion by the display's sensors
    true: ToolPath  #: motion of the simulated display
    reference: ToolPath  #: motion that was due
    wrench: np.ndarray  #: measured wrench of the user on the tool [N; N m], shape (n, 6)
    touched: np.ndarray  #: whether the simulated hand acts on the tool, shape (n,)
    state: dict[str, np.ndarray]  #: fields of ConstrainedReference, rows as `reference`
    device: dict[str, Any]  #: numbers of the display
    parameters: dict[str, Any]  #: parameters of the node
    led: int = 0  #: number of ticks left out because the tool was led to the mechanism
    stopped: int = 0  #: number of ticks left out because the display's status was not OK
    refused: int = 0  #: number of ticks whose step was refused, at which the display held
    changed: tuple[str, ...] = ()  #: parameters of the node that were changed during the run

    @classmethod
    def from_bag(cls, bag: Bag) -> DisplayRun[Any]:
        """Takes the ticks that all topics have; in realtime the node may have missed some.

        Raises:
            HapticError: There are fewer than two such ticks, or the mechanism cannot be made here.
        """
        names = ("device_state", "simulation_state", "constraints/state")
        obeys = bag.topics[f"{NAMESPACE}/device_state"]["status"] == OK
        state, command = (bag.topics[f"{NAMESPACE}/{name}"] for name in (names[2], "device_command"))
        node, start = bag.parameters("constraints"), bag.started("device")
        delay = bag.parameters("device")["command_delay_ticks"] if node["feedback"] == "device" else 0
        led = _is_led(state)
        if led.all():
            raise HapticError(f"{bag.path}: no report: the mechanism did not start; the tool was led to it, or held")
        keep = {names[0]: obeys, names[2]: ~led}
        ticks = bag.ticks(NAMESPACE, *names, shift={names[2]: 1 + delay}, keep=keep)
        device, truth, due = (ticks[name] for name in names)
        mechanism: Any = mechanism_of(node)  # of the class that the caller names
        frames = RecordedFrames(node["frame_position"], node["frame_orientation"], node["tool_orientation"])
        return cls(
            **phased(ticks, bag),
            mechanism=mechanism,
            measured=frames.path(device["tool_pose"], device["tool_twist"]),
            true=frames.path(truth["tool_pose"], truth["tool_twist"]),
            reference=frames.path(due["pose"], due["twist"]),
            wrench=frames.wrench(device["tool_wrench"]),
            touched=truth["operator_wrench"].any(axis=1),
            state={name: due[name] for name, values in state.items() if isinstance(values, np.ndarray)},
            device=start.get("device", {}),
            parameters=node,
            led=int(led.sum()),
            stopped=int(np.sum(~obeys)),
            refused=int(np.sum(command["mode"] == NONE)),
            changed=_changed(bag),
        )

    @cached_property
    def tracking_error(self) -> np.ndarray:
        """Distance of the measured tool from the reference, (n,) [m]."""
        return np.asarray(np.linalg.norm(self.measured.position - self.reference.position, axis=1))

    @cached_property
    def turning_error(self) -> np.ndarray:
        """Angle between the measured tool and the reference, (n,) [rad]."""
        return np.asarray((self.reference.rotation.inv() * self.measured.rotation).magnitude())

    @property
    def left_out(self) -> str:
        """Sentence of the figure's caption about the ticks that are left out; empty if there are none."""
        words = [
            f"{count} ticks {where}"
            for count, where in ((self.led, "on the way to the mechanism"), (self.stopped, "in the safe state"))
            if count
        ]
        return f" Left out: {' and '.join(words)}." if words else ""

    @property
    def changes(self) -> str:
        """Sentence of the general report about changed parameters; empty if there are none."""
        return f" Changed during the run: {', '.join(self.changed)}." if self.changed else ""

    def common_numbers(self) -> DisplayNumbers:
        """Computes the numbers of every mechanism's report."""
        return DisplayNumbers(
            ticks=len(self.time),
            led_ticks=self.led,
            stopped_ticks=self.stopped,
            refused_ticks=self.refused,
            holonomic_residual=largest(self.state["constraint_residual"]),
            tracking_error=Spread.of(self.tracking_error),
            turning_error=Spread.of(self.turning_error),
            position_resolution=self.device.get("position_resolution", math.nan),
            angle_resolution=self.device.get("angle_resolution", math.nan),
        )


def _is_led(state: dict[str, Any]) -> np.ndarray:
    """Ticks (n,) of ConstrainedReference at which the mechanism has not started, or the tool is led back to it."""
    started = np.zeros(len(state["tick"]), dtype=bool)
    for name in ("z", "q", "q_velocity", "multipliers"):
        started |= np.any(state[name], axis=1)
    return ~started | (np.any(state["twist"], axis=1) & ~np.any(state["q_velocity"], axis=1))


def _changed(bag: Bag) -> tuple[str, ...]:
    """Finds the names of the node's parameters that were changed while it ran."""
    changes = [e.detail for e in bag.events if e.source == "constraints" and e.kind == "parameter"]
    return tuple(sorted({name for detail in changes for name in detail}))


def mechanism_of(node: dict[str, Any]) -> Mechanism:
    """Makes the mechanism that the node's parameters name.

    Raises:
        HapticError: It cannot be made here, for example since its file is gone.
    """
    name, entries = node["mechanism"], tuple(node["mechanism_parameters"])
    try:
        return _ready_mechanism(name, entries) if name in mechanisms.__all__ else _mechanism(name, entries)
    except ValueError as error:
        reason = " ".join(str(error).split())
        raise HapticError(f"the run's mechanism cannot be made for the report: {reason}") from None


def _mechanism(name: str, entries: tuple[str, ...]) -> Mechanism:
    return installed_mechanism(name, **entry_values(entries))


#: mechanisms of the suite have no state and no file that may change; to derive one takes some 10 ms
_ready_mechanism = lru_cache(maxsize=8)(_mechanism)


def display_report(
    bags: Mapping[str, Bag],
    kind: type[_Mechanism],
    measure: Callable[[DisplayRun[_Mechanism]], _Numbers],
    claim: Callable[[Claims, _Numbers], None],
    draw: Callable[[DisplayRun[_Mechanism]], Figure],
    caption: str,
) -> Report:
    """Makes the report of an experiment on the display.

    The paper's claims are about the first run, if all runs have the experiment's mechanism, with the same parameters
    throughout; else the report is a general one.

    Args:
        bags: bags by name.
        kind: class of the experiment's mechanism.
        measure: function that returns the numbers of a run.
        claim: function that adds the claims about them.
        draw: function that draws the figure of a run.
        caption: caption of the figure.
    """
    runs = {name: DisplayRun.from_bag(bag) for name, bag in bags.items()}
    if not all(type(run.mechanism) is kind and not run.changed for run in runs.values()):
        return general_report(runs)
    numbers, run = {name: measure(run) for name, run in runs.items()}, next(iter(runs.values()))
    claims = Claims()
    claim(claims, next(iter(numbers.values())))
    parameters = {"constraints": run.parameters}
    return Report({"runs": numbers}, claims, lambda: draw(run), caption + run.left_out, parameters)


def signal_panel(run: DisplayRun[Any], title: str, values: np.ndarray, **settings: Any) -> Panel:
    """Makes a panel of one signal (n,) over time, with the hand's pushes shaded; settings as of `Panel`."""
    curve = Curve(run.time, values, style={"color": "black", "linewidth": 0.6})
    return Panel("", [curve], settings=settings, title=title, extra=partial(shade, run=run, kinds=("push",)))


def general_report(runs: Mapping[str, DisplayRun[Any]]) -> Report:
    """Makes a report without the paper's claims: about another mechanism, or one whose parameters changed."""
    claims, common = Claims(), {name: run.common_numbers() for name, run in runs.items()}
    for run, numbers in zip(runs.values(), common.values(), strict=True):
        claims.say(
            f"The reference satisfies the holonomic constraints of {run.parameters['mechanism']}.",
            f"largest residual {numbers.holonomic_residual:.1e} (rounding: below {RESIDUAL:g}); the tool is at "
            f"most {1e3 * numbers.tracking_error.largest:.2g} mm and "
            f"{1e3 * numbers.turning_error.largest:.2g} mrad from it; {run.refused} steps refused."
            f"{run.left_out}{run.changes}",
            numbers.holonomic_residual < RESIDUAL if not run.stopped else None,
        )

    def curves(values: Callable[[DisplayRun[Any]], np.ndarray]) -> list[Curve]:
        return [Curve(run.time, values(run), name) for name, run in runs.items()]

    def draw() -> Figure:
        rows = (
            Panel("distance from the reference (mm)", curves(lambda run: 1e3 * run.tracking_error), ""),
            Panel("angle from the reference (mrad)", curves(lambda run: 1e3 * run.turning_error), ""),
            Panel("kinetic energy (J)", curves(lambda run: run.state["kinetic_energy"])),
        )
        return panels(*rows, size=(11, 9), sharex=True)

    caption = "Error of the measured tool against the reference, and the reference's kinetic energy."
    parameters = {"constraints": next(iter(runs.values())).parameters}
    return Report({"runs": common}, claims, draw, caption, parameters)
