"""What the reports of contact experiments share: one bag as arrays, studies with the library, lines and colours.

Rows are ticks. The state of tick k is that at k T; contacts are those of the step that ends there, none at tick 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, TypeVar

import numpy as np
from matplotlib.axes import Axes

from convex_contact import Simulator, World
from haptic_bags.bags import Bag
from haptic_core.errors import HapticError
from haptic_core.parameters import parse_entries
from haptic_experiments.report import Claim

_Scene = TypeVar("_Scene")

#: line of each approximation
STYLES: dict[str, dict[str, Any]] = {
    "sap": {"color": "tab:orange"},
    "lagged": {"color": "tab:blue"},
    "similar": {"color": "tab:green"},
    "lagged_regularized": {"color": "tab:purple", "linestyle": "--"},
    "similar_regularized": {"color": "tab:olive", "linestyle": "--"},
    "lagged_elastoplastic": {"color": "tab:red", "linestyle": ":"},
}
#: those of the paper's figures of one body
PAPER = ("sap", "lagged", "similar")

_NUMBERS = ("position", "normal", "signed_distance", "normal_impulse", "tangential_impulse", "slip_velocity")


@dataclass(frozen=True)
class Contacts:
    """Contacts of one step, m of them; as in ContactArray.

    Attributes:
        body: (m, 2), numbers of the bodies A and B.
        position: (m, 3) [m]; normal: (m, 3), from A into B.
        signed_distance: (m,) [m].
        force: on B, (m, 3) [N]; normal_force: (m,) [N].
        slip_velocity: of B against A (m, 3) [m/s].
        sticking: (m,).
    """

    body: np.ndarray
    position: np.ndarray
    normal: np.ndarray
    signed_distance: np.ndarray
    force: np.ndarray
    normal_force: np.ndarray
    slip_velocity: np.ndarray
    sticking: np.ndarray


@dataclass(frozen=True)
class ContactRun:
    """The signals of one bag on the ticks that all topics have, n of them; b bodies.

    Attributes:
        period: T [s].
        tick: (n,).
        names: of the bodies.
        masses: of the bodies, 0 where they do not move freely (b,) [kg].
        position, velocity, angular_velocity: of the bodies (n, b, 3) [m], [m/s], [rad/s]; orientation: (n, b, 4).
        contacts: of each tick.
        iterations, contact_count: (n,); condition: (n,), NaN where it was not asked for; solve_time: (n,) [s].
        tool: position of the device's tool (n, 3) [m]; wrench: commanded (n, 6) [N; N m].
        parameters: of the node.
        device: all that the device said at its start.
    """

    period: float
    tick: np.ndarray
    names: list[str]
    masses: np.ndarray
    position: np.ndarray
    orientation: np.ndarray
    velocity: np.ndarray
    angular_velocity: np.ndarray
    contacts: list[Contacts]
    iterations: np.ndarray
    contact_count: np.ndarray
    condition: np.ndarray
    residual: np.ndarray
    solve_time: np.ndarray
    tool: np.ndarray
    wrench: np.ndarray
    parameters: dict[str, Any]
    device: dict[str, Any]

    @classmethod
    def from_bag(cls, bag: Bag, namespace: str = "/script") -> ContactRun:
        """Takes the ticks that all topics have; in realtime the node may have missed some.

        Raises:
            HapticError: fewer than three such ticks.
        """
        topics = ("device_state", "device_command", "contact/state", "contact/contacts", "contact/statistics")
        device, command, state, contacts, solver = (bag.topics[f"{namespace}/{name}"] for name in topics)
        tables = (device, command, state, contacts, solver)
        ticks = reduce(np.intersect1d, [table["tick"] for table in tables])
        if len(ticks) < 3:
            raise HapticError(f"{bag.path}: too short for a report ({len(ticks)} ticks that all topics have)")
        here, answer, own, touched, solved = (np.searchsorted(table["tick"], ticks) for table in tables)
        scene = bag.topics[f"{namespace}/scene"]
        count = len(scene["masses"][0])
        n = len(ticks)
        return cls(
            period=float(device["period"][0]),
            tick=ticks.astype(int),
            names=[str(name) for name in scene["names"][0]],
            masses=np.asarray(scene["masses"][0]),
            position=state["position"][own].reshape(n, count, 3),
            orientation=state["orientation"][own].reshape(n, count, 4),
            velocity=state["velocity"][own].reshape(n, count, 3),
            angular_velocity=state["angular_velocity"][own].reshape(n, count, 3),
            contacts=[_contacts(contacts, k) for k in touched],
            iterations=solver["iterations"][solved].astype(int),
            contact_count=solver["contacts"][solved].astype(int),
            condition=solver["condition_number"][solved],
            residual=solver["residual"][solved],
            solve_time=solver["solve_time"][solved],
            tool=device["tool_pose"][here, :3],
            wrench=command["tool_wrench"][answer],
            parameters=bag.parameters("contact"),
            device={**bag.started("device")},
        )

    @cached_property
    def time(self) -> np.ndarray:
        """(n,) [s]."""
        return self.tick * self.period

    @property
    def step(self) -> float:
        """Of the simulation [s]."""
        return float(self.period / self.parameters["substeps"])

    @property
    def approximation(self) -> str:
        """Of the solver."""
        return str(self.parameters["approximation"])

    def scene(self, world: str, kind: Callable[..., _Scene]) -> _Scene:
        """What `kind` makes of the numbers in `world_parameters`.

        Raises:
            HapticError: the run is of another world.
        """
        if self.parameters["world"] != world:
            raise HapticError(f"the report needs the world {world}, the run has {self.parameters['world']}")
        entries = parse_entries(self.parameters["world_parameters"])
        return kind(**{name: float(str(value)) for name, (value, _) in entries.items()})

    def body(self, name: str) -> int:
        """Number of a body.

        Raises:
            HapticError: the world has none of this name.
        """
        if name not in self.names:
            raise HapticError(f"the run's world has no body {name!r}, which the report needs")
        return self.names.index(name)

    def pairs(self, a: int, b: int) -> list[tuple[Contacts, np.ndarray, float]]:
        """Of each tick: contacts, which of them are between two bodies, and the sign that makes b the second body."""
        found = []
        for contacts in self.contacts:
            chosen = (contacts.body == (a, b)).all(axis=1) | (contacts.body == (b, a)).all(axis=1)
            sign = 1.0 if not chosen.any() or contacts.body[chosen][0, 1] == b else -1.0
            found.append((contacts, chosen, sign))
        return found

    def force_on(self, a: int, b: int) -> np.ndarray:
        """Force of body a on body b over the step that ends at each tick (n, 3) [N]."""
        return np.array([sign * contacts.force[chosen].sum(axis=0) for contacts, chosen, sign in self.pairs(a, b)])


def _column(table: Mapping[str, Any], name: str, k: int) -> np.ndarray:
    return np.asarray(table[name][k], dtype=float)


def _contacts(table: Mapping[str, Any], k: int) -> Contacts:
    period = float(table["period"][k])
    position, normal, distance, normal_impulse, tangential, slip = (_column(table, name, k) for name in _NUMBERS)
    normal = normal.reshape(-1, 3)
    force = (normal_impulse[:, None] * normal + tangential.reshape(-1, 3)) / period
    bodies = (np.asarray(table[name][k], dtype=int) for name in ("body_a", "body_b"))
    return Contacts(
        body=np.stack(list(bodies), axis=1),
        position=position.reshape(-1, 3),
        normal=normal,
        signed_distance=distance,
        force=force,
        normal_force=normal_impulse / period,
        slip_velocity=slip.reshape(-1, 3),
        sticking=np.asarray(table["sticking"][k], dtype=bool),
    )


# ---- studies with the library ---------------------------------------------------------------------


def trajectory(
    world: World,
    body: str,
    *,
    period: float,
    duration: float,
    observe: Callable[[Simulator], Any] | None = None,
    **options: Any,
) -> tuple[np.ndarray, np.ndarray, list[Any]]:
    """Times (n + 1,) and positions (n + 1, 3) of a body, the first at time 0, and what `observe` says of each step."""
    simulator = Simulator(world, period=period, **options)
    steps = round(duration / period)
    path, seen = np.empty((steps + 1, 3)), []
    number = world.number(body)
    path[0] = simulator.state(number).position
    for k in range(steps):
        simulator.step()
        path[k + 1] = simulator.state(number).position
        if observe is not None:
            seen.append(observe(simulator))
    return period * np.arange(steps + 1), path, seen


def rms_error(time: np.ndarray, path: np.ndarray, reference_time: np.ndarray, reference: np.ndarray) -> float:
    """sqrt(1/T int |p - p_ref|^2 dt) by trapezoids at the times (n,) of the path [m]; the reference is interpolated."""
    other = np.stack([np.interp(time, reference_time, column) for column in reference.T], axis=1)
    square = np.sum((path - other) ** 2, axis=1)
    return float(np.sqrt(np.trapezoid(square, time) / (time[-1] - time[0])))


def position_errors(
    scene: Callable[[], World], body: str, *, reference: float, periods: Sequence[float], duration: float
) -> dict[str, dict[float, float]]:
    """Position errors of a body [m] by approximation and period [s], against Lagged at the reference period."""
    t, best, _ = trajectory(scene(), body, period=reference, duration=duration)
    return {
        name: {
            period: rms_error(
                *trajectory(scene(), body, period=period, duration=duration, approximation=name)[:2], t, best
            )
            for period in periods
        }
        for name in STYLES
    }


def order(periods: Sequence[float], errors: Sequence[float]) -> float:
    """Slope of the errors over the periods, both logarithmic, by least squares."""
    return float(np.polyfit(np.log(periods), np.log(errors), 1)[0])


def compared(
    text: str,
    measured: Mapping[str, float | None],
    expected: Mapping[str, float],
    judged: bool,
    *,
    relative: float = 0.0,
    absolute: float = 0.0,
) -> Claim:
    """A claim whose numbers stand beside those of an independent implementation, which they must meet.

    Args:
        text: the claim.
        measured: by case; None where a run does not have it.
        expected: by case.
        judged: whether the run is the one that the expected numbers are of.
        relative, absolute: largest difference.
    """
    known = {name: value for name, value in measured.items() if name in expected}
    words = "; ".join(
        f"{name} {'none' if value is None else f'{value:.4g}'} (expected {expected[name]:g})"
        for name, value in known.items()
    )
    if not judged or not known:
        return Claim(text, words or "no run of the paper's", None)
    met = all(
        value is not None and abs(value - expected[name]) <= absolute + relative * abs(expected[name])
        for name, value in known.items()
    )
    return Claim(text, words, met)


# ---- figures ------------------------------------------------------------------------------------------


def style(approximation: str) -> dict[str, Any]:
    """Line of an approximation, with its name as label."""
    return {"label": approximation.replace("_", " "), "linewidth": 1.1, **STYLES.get(approximation, {})}


def draw_convergence(axes: Axes, table: Mapping[str, Mapping[float, float]], title: str) -> None:
    """Errors over periods with a line of first order.

    Args:
        axes: where.
        table: error [m] by approximation and period [s].
        title: of the axes.
    """
    for name, errors in table.items():
        axes.loglog(list(errors), list(errors.values()), marker="o", markersize=4, **style(name))
    periods = np.array(sorted(next(iter(table.values()))))
    base = min(min(errors.values()) for errors in table.values())
    axes.loglog(periods, base * periods / periods[0], "k--", linewidth=0.8, label="first order")
    axes.set(title=title, xlabel="time step (s)", ylabel="position error $e_q$ (m)")


def by_approximation(runs: Mapping[str, ContactRun]) -> dict[str, ContactRun]:
    """Runs by their approximation; a second run of the same keeps the bag's name."""
    named: dict[str, ContactRun] = {}
    for name, run in runs.items():
        named[run.approximation if run.approximation not in named else name] = run
    return named
