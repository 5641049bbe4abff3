"""Runs of contact experiments, and the claims, curves and panels that several of their reports have.

Rows are ticks. The state of tick k is that at k T; contacts are those of the step that ends there, none at tick 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from convex_contact import World
from convex_contact.simulation.convergence import ConvergenceStudy
from haptic_bags.bags import Bag
from haptic_core.errors import HapticError
from haptic_core.parameters import parse_entries
from haptic_experiments.kit.figures import DASHED, Curve, Panel
from haptic_experiments.kit.results import Claims, Report

_Scene = TypeVar("_Scene")
_Run = TypeVar("_Run")
_Signals = TypeVar("_Signals", bound="ContactRun")

#: line of each approximation
STYLES: dict[str, dict[str, Any]] = {
    "sap": {"color": "tab:orange"},
    "lagged": {"color": "tab:blue"},
    "similar": {"color": "tab:green"},
    "lagged_regularized": {"color": "tab:purple", "linestyle": "--"},
    "similar_regularized": {"color": "tab:olive", "linestyle": "--"},
    "lagged_elastoplastic": {"color": "tab:red", "linestyle": ":"},
}
PAPER = ("sap", "lagged", "similar")  #: approximations of the paper's figures of one body


@dataclass(frozen=True)
class Contacts:
    """Contacts of one step, m of them; as in ContactArray."""

    body: np.ndarray  #: numbers of the bodies A and B, shape (m, 2)
    position: np.ndarray  #: contact points in the world [m], shape (m, 3)
    normal: np.ndarray  #: unit vectors from A into B, shape (m, 3)
    signed_distance: np.ndarray  #: gap, negative where the bodies overlap [m], shape (m,)
    force: np.ndarray  #: force on B [N], shape (m, 3)
    normal_force: np.ndarray  #: its normal part [N], shape (m,)
    slip_velocity: np.ndarray  #: velocity of B against A along the surface [m/s], shape (m, 3)
    sticking: np.ndarray  #: flags of the contacts that stick, shape (m,)


@dataclass(frozen=True)
class ContactRun:
    """The signals of one bag on the ticks that all topics have, n of them; b bodies."""

    period: float  #: T [s]
    tick: np.ndarray  #: numbers of the ticks, shape (n,)
    names: list[str]  #: names of the bodies
    masses: np.ndarray  #: masses of the bodies [kg], shape (b,); 0 where they do not move freely
    position: np.ndarray  #: positions of the bodies [m], shape (n, b, 3)
    orientation: np.ndarray  #: quaternions x, y, z, w of the bodies, shape (n, b, 4)
    velocity: np.ndarray  #: velocities of the bodies [m/s], shape (n, b, 3)
    angular_velocity: np.ndarray  #: angular velocities of the bodies [rad/s], shape (n, b, 3)
    contacts: list[Contacts]  #: contacts of each tick
    iterations: np.ndarray  #: Newton steps, shape (n,)
    contact_count: np.ndarray  #: number of contacts, shape (n,)
    condition: np.ndarray  #: condition number of the Hessian, shape (n,); NaN where it was not asked for
    residual: np.ndarray  #: relative residual of the solver, shape (n,)
    solve_time: np.ndarray  #: time of the solver [s], shape (n,)
    tool: np.ndarray  #: position of the device's tool [m], shape (n, 3)
    wrench: np.ndarray  #: commanded wrench [N; N m], shape (n, 6)
    parameters: dict[str, Any]  #: parameters of the node
    device: dict[str, Any]  #: numbers that the device reported at its start

    @classmethod
    def from_bag(cls, bag: Bag, namespace: str = "/script") -> ContactRun:
        """Reads a bag; the ticks are those that all topics have, since in realtime the node may have missed some.

        Raises:
            HapticError: There are fewer than three such ticks.
        """
        names = ("device_state", "device_command", "contact/state", "contact/contacts", "contact/statistics")
        ticks = bag.ticks(namespace, *names, least=3)
        device, command, state, contacts, solver = (ticks[name] for name in names)
        scene = bag.topics[f"{namespace}/scene"]
        count, n = len(scene["mass"][0]), len(ticks.tick)
        return cls(
            period=ticks.period,
            tick=ticks.tick,
            names=[str(name) for name in scene["name"][0]],
            masses=np.asarray(scene["mass"][0]),
            position=state["position"].reshape(n, count, 3),
            orientation=state["orientation"].reshape(n, count, 4),
            velocity=state["velocity"].reshape(n, count, 3),
            angular_velocity=state["angular_velocity"].reshape(n, count, 3),
            contacts=_contacts(contacts),
            iterations=solver["iterations"].astype(int),
            contact_count=solver["contacts"].astype(int),
            condition=solver["condition_number"],
            residual=solver["residual"],
            solve_time=solver["solve_time"],
            tool=device["tool_pose"][:, :3],
            wrench=command["tool_wrench"],
            parameters=bag.parameters("contact"),
            device={**bag.started("device")},
        )

    @cached_property
    def time(self) -> np.ndarray:
        """Times of the ticks k T [s], shape (n,)."""
        return self.tick * self.period

    @property
    def step(self) -> float:
        """Time step of the simulation [s]."""
        return float(self.period / self.parameters["substeps"])

    @property
    def approximation(self) -> str:
        """Name of the solver's approximation."""
        return str(self.parameters["approximation"])

    def is_of(self, world: str, step: float) -> bool:
        """Checks whether the run simulated this world with steps of this length [s]."""
        return bool(self.parameters["world"] == world and abs(self.step - step) < 1e-12)

    def scene(self, world: str, kind: Callable[..., _Scene]) -> _Scene:
        """Makes the scene `kind` from the numbers in `world_parameters`.

        Raises:
            HapticError: The run is of another world.
        """
        if self.parameters["world"] != world:
            raise HapticError(f"the report needs the world {world}, the run has {self.parameters['world']}")
        entries = parse_entries(self.parameters["world_parameters"])
        return kind(**{name: float(str(value)) for name, (value, _) in entries.items()})

    def body(self, name: str) -> int:
        """Returns the number of a body.

        Raises:
            HapticError: The world has no body of this name.
        """
        if name not in self.names:
            raise HapticError(f"the run's world has no body {name!r}, which the report needs")
        return self.names.index(name)

    def pairs(self, a: int, b: int) -> list[tuple[Contacts, np.ndarray, float]]:
        """Finds the contacts between two bodies.

        Returns:
            By tick: all contacts, flags of those between the bodies (m,), and the sign that makes b the second body.
        """
        found = []
        for contacts in self.contacts:
            chosen = (contacts.body == (a, b)).all(axis=1) | (contacts.body == (b, a)).all(axis=1)
            sign = 1.0 if not chosen.any() or contacts.body[chosen][0, 1] == b else -1.0
            found.append((contacts, chosen, sign))
        return found

    def force_on(self, a: int, b: int) -> np.ndarray:
        """Sums the force of body a on body b over the step that ends at each tick (n, 3) [N]."""
        return np.array([sign * contacts.force[chosen].sum(axis=0) for contacts, chosen, sign in self.pairs(a, b)])

    def normal_force_on(self, body: int, others: np.ndarray) -> np.ndarray:
        """Sums the normal forces on a body (n,) [N] by other bodies, which are flagged (b,)."""
        return np.array(
            [c.normal_force[(c.body == body).any(axis=1) & others[c.body].any(axis=1)].sum() for c in self.contacts]
        )


def _contacts(rows: Mapping[str, Any]) -> list[Contacts]:
    """Reads the contacts of each tick from the rows of ContactArray."""
    names = ("position", "normal", "signed_distance", "normal_impulse", "tangential_impulse", "slip_velocity")
    bodies, found = ("body_a", "body_b"), []
    columns = {name: rows[name] for name in ("period", "sticking", *names, *bodies)}
    for k, period in enumerate(columns["period"]):
        position, normal, distance, impulse, tangential, slip = (
            np.asarray(columns[name][k], dtype=float) for name in names
        )
        normal = normal.reshape(-1, 3)
        contacts = Contacts(
            body=np.stack([np.asarray(columns[name][k], dtype=int) for name in bodies], axis=1),
            position=position.reshape(-1, 3),
            normal=normal,
            signed_distance=distance,
            force=(impulse[:, None] * normal + tangential.reshape(-1, 3)) / float(period),
            normal_force=impulse / float(period),
            slip_velocity=slip.reshape(-1, 3),
            sticking=np.asarray(columns["sticking"][k], dtype=bool),
        )
        found.append(contacts)
    return found


def runs_of(bags: Mapping[str, Bag], namespace: str = "/script") -> dict[str, ContactRun]:
    """Reads runs and names them by their approximation; a second run of the same keeps the bag's name."""
    named: dict[str, ContactRun] = {}
    for name, bag in bags.items():
        run = ContactRun.from_bag(bag, namespace)
        named[run.approximation if run.approximation not in named else name] = run
    return named


def runs_by_variant(bags: Mapping[str, Bag]) -> dict[str, ContactRun]:
    """Reads runs and names them by their variant, a run without variants by its approximation."""
    runs = {name.removeprefix("bag_"): ContactRun.from_bag(bag) for name, bag in bags.items()}
    return {run.approximation if name == "bag" else name: run for name, run in runs.items()}


def report_of(
    runs: Mapping[str, _Signals],
    measure: Callable[[_Signals], _Run],
    claim: Callable[[Claims, dict[str, _Run]], None],
    figure: Callable[[], Figure],
    caption: str,
    study: Convergence | None = None,
) -> Report:
    """Makes the report of runs with numbers by run.

    Args:
        runs: runs by name.
        measure: measures a run.
        claim: adds the claims on the numbers by run.
        figure: draws the figure.
        caption: caption of the figure.
        study: convergence, whose numbers are metrics too.
    """
    numbers = {name: measure(run) for name, run in runs.items()}
    claims = Claims()
    claim(claims, numbers)
    metrics = {"runs": numbers, **({} if study is None else vars(study))}
    return Report(metrics, claims, figure, caption, {"contact": next(iter(runs.values())).parameters})


def compared(
    claims: Claims,
    text: str,
    measured: Mapping[str, float | None],
    expected: Mapping[str, float],
    *,
    judged: bool = True,
    relative: float = 0.0,
    absolute: float = 0.0,
) -> None:
    """Adds the claim that numbers are those of an independent implementation.

    Args:
        claims: claims to which it is added.
        text: the claim.
        measured: numbers by case; None where a run does not have it.
        expected: numbers by case.
        judged: the run is the one that the expected numbers belong to.
        relative: allowed difference as a fraction of the expected number.
        absolute: allowed difference that is added to it, in the unit of the numbers.
    """
    known = {name: value for name, value in measured.items() if name in expected}
    words = "; ".join(
        f"{name} {'none' if value is None else f'{value:.4g}'} (expected {expected[name]:g})"
        for name, value in known.items()
    )
    met = all(
        value is not None and abs(value - expected[name]) <= absolute + relative * abs(expected[name])
        for name, value in known.items()
    )
    limits = " + ".join(
        limit for limit, used in ((f"{absolute:g}", absolute), (f"{100 * relative:g} %", relative)) if used
    )
    unless = "" if known else "no run of the paper's"
    claims.say(text, f"{words}; limit of the differences {limits}", met if judged else None, unless=unless)


class Convergence(ConvergenceStudy):
    """Position errors of a body over the time step of the simulation, with the claims about them."""

    @classmethod
    def of(cls, world: Callable[[], World], body: str, **study: Any) -> Convergence:
        """Simulates a world with all approximations; the arguments are those of `ConvergenceStudy.simulated`."""
        return cls(**vars(ConvergenceStudy.simulated(lambda *_: world(), body, approximations=tuple(STYLES), **study)))

    def compare_lagged(self, claims: Claims, text: str, expected: Mapping[float, float], relative: float) -> None:
        """Adds the claim that the errors of Lagged [m] by time step [s] are those expected, as in `compared`."""
        found = {f"{period:g} s": self.errors["lagged"][period] for period in expected}
        compared(claims, text, found, {f"{period:g} s": e for period, e in expected.items()}, relative=relative)


def curve(name: str, approximation: str, x: np.ndarray, y: np.ndarray, **style: Any) -> Curve:
    """Makes a curve in the colour of an approximation, with a name in the legend."""
    line = {"linewidth": 1.1, **STYLES.get(approximation, {}), **style}
    return Curve(x, y, name.replace("_", " "), line)


def swept(name: str, approximation: str, values: Mapping[float, float], scale: float = 1.0, **style: Any) -> Curve:
    """Makes a curve of numbers over what is swept, with marks; `scale` is a factor of the numbers."""
    marks = {"marker": "o", "markersize": 4, **style}
    return curve(name, approximation, np.array(list(values)), scale * np.array(list(values.values())), **marks)


def curves(
    runs: Mapping[str, ContactRun],
    values: Callable[[ContactRun], np.ndarray],
    *,
    first: int = 0,
    scale: float = 1.0,
    **style: Any,
) -> list[Curve]:
    """Makes a curve over time of each run.

    Args:
        runs: runs by name.
        values: function that gives a run's values (n,).
        first: tick from which they are drawn; 1 for contacts, which tick 0 does not have.
        scale: factor of the time; 1e3 for milliseconds.
        **style: style of all lines.
    """
    return [
        curve(name, run.approximation, scale * run.time[first:], values(run)[first:], **style)
        for name, run in runs.items()
    ]


def convergence_panel(table: Mapping[str, Mapping[float, float]], title: str) -> Panel:
    """Makes a panel of errors over periods with a line of first order.

    Args:
        table: errors [m] by approximation and period [s].
        title: title of the panel.
    """
    lines = [swept(name, name, errors) for name, errors in table.items()]
    periods = np.array(sorted(next(iter(table.values()))))
    base = min(min(errors.values()) for errors in table.values())
    lines.append(Curve(periods, base * periods / periods[0], "first order", DASHED))
    ticks = {"xticks": periods, "xticklabels": [f"{period:g}" for period in periods]}
    scales = {"xscale": "log", "yscale": "log", **ticks}

    def hide_others(axes: Axes) -> None:
        axes.tick_params(axis="x", which="minor", labelbottom=False)

    return Panel("position error $e_q$ (m)", lines, "time step (s)", scales, title=title, extra=hide_others)
