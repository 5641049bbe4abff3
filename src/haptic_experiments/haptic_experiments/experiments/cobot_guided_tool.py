"""Report of the guided tool: constraint, contact and friction node on an admittance display.

Beside the run stands the same physics in one process: the same display and hand, the tool and the things that it pushes
in one convex problem (`guided_world`), nothing late. A second one process does what the three nodes do, so that what is
left between it and the run is the messages' doing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from types import SimpleNamespace
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from admittance_constraints import (
    SPLIT_LIMIT,
    ConstraintRenderer,
    PointOnParaboloid,
    ReferenceGenerator,
    split_number,
)
from convex_contact import Material, Simulator, World
from convex_contact.haptics.rendering import make_rendering
from convex_contact.node import fill_contacts, worlds_folder
from haptic_bags.bags import Bag
from haptic_core.commands import ACCELERATION, POSITION, VELOCITY, Motion
from haptic_core.errors import HapticError
from haptic_core.parameters import parse_entries
from haptic_devices import factories
from haptic_devices.device import DeviceError
from haptic_experiments.kit.display import mechanism_of
from haptic_experiments.kit.guided_world import GuidedWorld, RunAwayError, SurfaceFriction
from haptic_experiments.kit.node_graph import draw, latencies
from haptic_experiments.kit.phases import PhasedRun
from haptic_experiments.report import Claim, Report
from haptic_friction.renderer import FrictionRenderer, ReferenceMotion
from haptic_launch.experiments import load_experiment

NAMESPACE = "/cobotic_hand_controller"
#: share by which friction over the guide's force may differ from the coefficient where it slides: rounding
COEFFICIENT = 1e-9
#: how far the reference may be from that of one implicit step: a tick at the fastest push of 0.15 m/s [m]
APART = 1.5e-4
#: how far a thing may be from that one's in the end: this share of its way, or this [m]
BODY_SHARE, BODY = 0.02, 2e-4
#: energy that the cut may make, as a share of what contacts and friction took
MADE = 0.02
#: resting pressed, contact and friction may vary so from tick to tick: sensor noise of 0.02 N through the tool [N]
CHATTER = 0.05
#: residual of the guide [m]
RESIDUAL = 1e-12
#: the resting tool has settled in this time [s], and is let go so long before the end of the press
SETTLED, RAMP = 0.6, 0.4
#: lighter tools that are tried [kg], and for how long: the first push of the hand's plan [s]
LIGHTER, FIRST_PUSH = (0.2, 0.1, 0.05), 2.7
#: things of the study of the limit [kg], contact stiffnesses [N/m], and how near to the limit is looked [-]
THING, STIFFNESSES, NEAR = 0.15, (5e4, 1e6, 1e8), 0.03


@dataclass(frozen=True)
class Pushing:
    """What a run, or one process, did; rows are ticks, base frame.

    Attributes:
        position, velocity: of the reference (n, 3) [m], [m/s].
        surface: force of the guide on the tool along its normal (n,) [N].
        contact, friction: on the tool, found in that tick (n, 3) [N].
        bodies: positions, world (n, b, 3) [m].
        slides: the friction does not stick (n,).
        step_time: time of a tick's rendering, median [s]; nan if not measured.
    """

    position: np.ndarray
    velocity: np.ndarray
    surface: np.ndarray
    contact: np.ndarray
    friction: np.ndarray
    bodies: np.ndarray
    slides: np.ndarray
    step_time: float = math.nan

    def shortened(self, n: int) -> Pushing:
        """The first n ticks."""
        return _pushing([getattr(self, name)[:n] for name in _ROWS], self.step_time)


_ROWS = ("position", "velocity", "surface", "contact", "friction", "bodies", "slides")


def _pushing(columns: Iterable[np.ndarray], step_time: float) -> Pushing:
    return Pushing(**dict(zip(_ROWS, columns, strict=True)), step_time=step_time)


def _of_rows(rows: list[tuple[Any, ...]], times: list[float]) -> Pushing:
    return _pushing(map(np.array, zip(*rows, strict=True)), float(np.median(times)))


@dataclass(frozen=True)
class GuidedRun(PhasedRun):
    """One bag."""

    period: float
    time: np.ndarray
    phases: list[dict[str, Any]]
    names: list[str]
    did: Pushing
    residual: np.ndarray
    kinetic_energy: np.ndarray
    missed: int
    mode: str

    @classmethod
    def from_bag(cls, bag: Bag) -> GuidedRun:
        """Takes the ticks that all topics have.

        Raises:
            HapticError: fewer than two.
        """
        names = ("device_state", "constraints/state", "contact/state", "contact/contacts", "friction/state")
        tables = [bag.topics[f"{NAMESPACE}/{name}"] for name in names]
        ticks = reduce(np.intersect1d, [table["tick"] for table in tables])
        if len(ticks) < 2:
            raise HapticError(f"{bag.path}: too short for a report ({len(ticks)} ticks that all topics have)")
        rows = [np.searchsorted(table["tick"], ticks) for table in tables]
        device, reference, world, contacts, friction = tables
        body = bag.parameters("constraints")["contact_body"]
        period = float(device["period"][0])
        scene = bag.topics[f"{NAMESPACE}/scene"]
        did = Pushing(
            position=reference["pose"][rows[1], :3],
            velocity=reference["twist"][rows[1], :3],
            surface=reference["multipliers"][rows[1], 0],
            contact=np.array([_force_on(contacts, k, body) for k in rows[3]]),
            friction=-np.asarray(friction["force"])[rows[4]],
            bodies=np.asarray(world["position"])[rows[2]].reshape(len(ticks), -1, 3),
            slides=~np.asarray(friction["sticking"], dtype=bool)[rows[4], 0],
        )
        return cls(
            period=period,
            time=ticks * period,
            phases=bag.started("device").get("phases", []),
            names=[str(name) for name in scene["names"][0]],
            did=did,
            residual=reference["constraint_residual"][rows[1]],
            kinetic_energy=reference["kinetic_energy"][rows[1]],
            missed=len(device["tick"]) - len(ticks),
            mode=bag.custom["mode"],
        )


def _force_on(contacts: dict[str, Any], k: int, body: int) -> np.ndarray:
    """Force of all contacts of a row on a body (3,) [N]."""
    a, b = (np.asarray(contacts[name][k]) for name in ("body_a", "body_b"))
    sign = (b == body).astype(float) - (a == body)
    if not sign.any():
        return np.zeros(3)
    normal, tangential = (np.asarray(contacts[n][k]).reshape(-1, 3) for n in ("normal", "tangential_impulse"))
    impulse = np.asarray(contacts["normal_impulse"][k])[:, None] * normal + tangential
    return np.asarray(sign @ impulse / contacts["period"][k])


class OneProcess:
    """Display, hand, guide, things and friction of a run without nodes.

    Args:
        bag: whose parameters to take.
        mass: of the tool [kg]; that of the run if not given.
    """

    def __init__(self, bag: Bag, mass: float | None = None) -> None:
        names = ("device", "constraints", "contact", "friction")
        self._parameters, self._p, self._contact, self._friction = (bag.parameters(name) for name in names)
        if mass is not None:
            entries = self._p["mechanism_parameters"]
            self._p["mechanism_parameters"] = [
                f"mass={mass}",
                *(e for e in entries if not e.strip().startswith("mass")),
            ]
        self._device = factories.cobotic_hand_controller(self._parameters)
        self._device.configure(self._parameters["period"])
        entries = parse_entries(self._contact["world_parameters"])
        self._world = {name: value for name, (value, _) in entries.items()}

    def _wrenches(self, ticks: int, answer: Callable[[np.ndarray, np.ndarray], Any]) -> Iterator[float]:
        """Lets the display follow what is answered to its readings; gives the time of each answer [s]."""
        fields = VELOCITY | ACCELERATION | (POSITION if self._p["feedback"] == "device" else 0)
        self._device.activate()
        for _ in range(ticks):
            reading = self._device.read()
            pose, wrench = reading.tool_pose.copy(), reading.tool_wrench.copy()
            start = time.perf_counter()
            motion = answer(pose, wrench)
            yield time.perf_counter() - start
            self._device.follow(Motion(fields, motion.pose, motion.twist, motion.acceleration))

    def split(self, ticks: int) -> Pushing:
        """The reference with the forces of the step before, then world and friction with it, as the nodes do."""
        p = self._friction
        renderer = ConstraintRenderer.from_parameters(self._p)
        rendering = make_rendering(self._contact, self._world, worlds_folder())
        friction = FrictionRenderer.from_parameters(p)
        contacts: Any = SimpleNamespace()
        rubbing: Any = SimpleNamespace(force=np.zeros(3))
        rows: list[tuple[Any, ...]] = []

        def answer(pose: np.ndarray, wrench: np.ndarray) -> Any:
            motion = renderer.step(pose, wrench, contacts=[contacts], frictions=[rubbing])
            now, reference = renderer.state.motion, renderer.reference
            assert now is not None
            rendering.step(now.pose, now.twist, arrives=True)
            fill_contacts(contacts, rendering.simulator.contacts, rendering.simulator.period)
            surface = 0.0 if reference is None else float(reference.multipliers[0])
            moving = ReferenceMotion(now.twist[:3], [0.0] if reference is None else reference.multipliers)
            friction.step(velocity=now.twist[:3], references=[moving])
            rubbing.force = friction.state.force
            force = _force_on({name: [value] for name, value in vars(contacts).items()}, 0, self._p["contact_body"])
            bodies = rendering.bodies.read().position.copy()
            rows.append(
                (now.pose[:3], now.twist[:3], surface, force, -rubbing.force, bodies, not friction.model.sticking)
            )
            return motion

        return _of_rows(rows, list(self._wrenches(ticks, answer)))

    def implicit(self, ticks: int) -> Pushing:
        """The tool as a free body of the world, on its guide and with its friction, in one step."""
        mechanism = mechanism_of(self._p)
        if not isinstance(mechanism, PointOnParaboloid):
            raise HapticError(f"no one process for the mechanism {self._p['mechanism']}, only for PointOnParaboloid")
        tool = self._contact["proxy"]
        values = {f"bodies.{tool}.prescribed": False, f"bodies.{tool}.mass": mechanism.mass}
        simulator = make_rendering({**self._contact, "proxy": ""}, self._world | values, worlds_folder()).simulator
        p = self._friction
        friction = SurfaceFriction(p["friction_coefficient"], p["stiffness"], p["damping"])
        world = GuidedWorld(simulator, tool, mechanism, self._p["world_position"], friction)
        controller = ConstraintRenderer.from_parameters(self._p).controller
        controller.generator = world  # type: ignore[assignment]
        rows: list[tuple[Any, ...]] = []

        def answer(pose: np.ndarray, wrench: np.ndarray) -> Any:
            motion, now = controller.step(pose, wrench), world.now
            bodies = simulator.body_states()[0]
            rows.append(
                (now.x[:3], now.twist[:3], now.multipliers[0], now.contact, now.friction, bodies, not now.sticks)
            )
            return motion

        return _of_rows(rows, list(self._wrenches(ticks, answer)))


def difference(one: Pushing, other: Pushing) -> dict[str, Any]:
    """Largest distance of references [m], of contact and friction [N], and of things, at all and in the end [m]."""
    n = min(len(one.position), len(other.position))
    a, b = one.shortened(n), other.shortened(n)
    return {
        "motion": float(np.linalg.norm(a.position - b.position, axis=1).max()),
        "contact": float(np.linalg.norm(a.contact - b.contact, axis=1).max()),
        "friction": float(np.linalg.norm(a.friction - b.friction, axis=1).max()),
        "bodies": np.linalg.norm(a.bodies - b.bodies, axis=2).max(axis=0).tolist(),
        "bodies_end": np.linalg.norm(a.bodies[-1] - b.bodies[-1], axis=1).tolist(),
    }


def energies(run: Pushing, *, late: int) -> dict[str, float]:
    """Work of contacts and friction on the tool [J], and what the cut adds to it.

    What acts on the tool over a step is found `late` steps before; the world and the friction themselves give it on the
    way of the tool in the step in which it is found. The difference is made, or lost, where the graph is cut.
    """
    way = np.diff(run.position, axis=0)
    found: dict[str, float] = {}
    for name, force in (("contact", run.contact[1:]), ("friction", run.friction[1:])):
        given = float(np.sum(force * way))
        taken = float(np.sum(force[: len(force) - late] * way[late:]))
        found |= {name: taken, f"{name}_made": taken - given}
    return found


def variation(did: Pushing) -> float:
    """Standard deviation of the contact force from tick to tick, of the worst component [N]."""
    return float(np.diff(did.contact, axis=0).std(axis=0).max())


def lighter(bag: Bag, ticks: int) -> list[dict[str, float | None]]:
    """Standard deviation of the contact force from tick to tick in the first push [N], with lighter tools.

    None where the reference runs away from the display.
    """
    rows = []
    for mass in LIGHTER:
        row: dict[str, float | None] = {"mass": mass}
        for name in ("split", "implicit"):
            try:
                row[name] = variation(getattr(OneProcess(bag, mass), name)(ticks))
            except (RunAwayError, DeviceError):
                row[name] = None
        rows.append(row)
    return rows


# --- the limit of the split ---------------------------------------------------------------------------------------


def pressed(mass: float, stiffness: float, *, implicit: bool, period: float) -> float:
    """How far the contact force is off at the end of a push of a thing that is free to go, as a share of it.

    Args:
        mass: of the tool [kg].
        stiffness: of the contact [N/m]; no dissipation.
        implicit: the tool is a free body of the world, else it follows a reference that gets the force a tick late.
        period: T [s].
    """
    force = 2.0
    surface = Material(stiffness=2.0 * stiffness, dissipation=0.0, relaxation_time=0.0, friction=0.0)
    due = force * THING / (mass + THING)
    world, body = World(gravity=(0.0, 0.0, 0.0)), {"radius": 0.01, "material": surface}
    world.add_sphere("tool", **body, **({"mass": mass} if implicit else {"prescribed": True}))  # type: ignore[arg-type]
    world.add_sphere("thing", **body, mass=THING, position=(0.02 - due / stiffness, 0.0, 0.0))  # type: ignore[arg-type]
    simulator = Simulator(world, period=period, relative_tolerance=1e-12)
    generator = ReferenceGenerator(PointOnParaboloid(mass=mass), period=period, integrator="symplectic_euler")
    felt, found = 1.000001 * due, []
    for _ in range(250):
        if implicit:
            simulator.apply_wrench("tool", (force, 0.0, 0.0))
        else:
            r = generator.step(wrench=[force - felt, 0.0, 0.0, 0.0, 0.0, 0.0])
            simulator.dynamics.prescribe("tool", r.twist)
        simulator.step()
        felt = float(simulator.contacts.impulse[:, 2].sum()) / period
        found.append(felt)
    return float(np.abs(np.array(found[-20:]) - due).max()) / due


def lightest(stiffness: float, period: float, *, implicit: bool = False) -> float:
    """The lightest tool [kg] with which pushing a thing stays quiet, within a few percent, by bisection of decades."""
    low, high = -4.0, 0.0
    while high - low > math.log10(1.0 + NEAR) / 2.0:
        middle = 0.5 * (low + high)
        quiet = pressed(10.0**middle, stiffness, implicit=implicit, period=period) < 1e-3
        low, high = (low, middle) if quiet else (middle, high)
    return float(10.0**high)


def limits(period: float) -> list[dict[str, float]]:
    """The lightest tool as measured, and by the closed form, for some contact stiffnesses."""
    rows = []
    for k in STIFFNESSES:
        # (k T^2 + 2 d T)(1/m - 1/M) = 4 with d = 0
        due = 1.0 / (SPLIT_LIMIT / split_number(1.0, k, 0.0, period) + 1.0 / THING)
        implicit = pressed(0.01 * due, k, implicit=True, period=period)
        rows.append({"stiffness": k, "closed_form": due, "split": lightest(k, period), "implicit_varies": implicit})
    return rows


# --- report -------------------------------------------------------------------------------------------------------


def analyse(bags: dict[str, Bag]) -> Report:
    """Metrics, claims and figure of one or more bags of the experiment."""
    metrics: dict[str, Any] = {}
    claims: list[Claim] = []
    runs: dict[str, tuple[GuidedRun, Pushing]] = {}
    first = next(iter(bags.values()))
    study = limits(first.parameters("device")["period"])
    for name, bag in bags.items():
        run, process = GuidedRun.from_bag(bag), OneProcess(bag)
        ticks = len(run.time)
        implicit, split = process.implicit(ticks), process.split(ticks)
        pressing = rest(run)
        numbers = metrics[name] = {
            "ticks": ticks,
            "missed_ticks": run.missed,
            "residual": float(np.abs(run.residual).max()),
            "surface": [float(run.did.surface.min()), float(run.did.surface.max())],
            "largest_contact": float(np.linalg.norm(run.did.contact, axis=1).max()),
            "coefficient": coefficients(run),
            "way": dict(zip(run.names, ways(run.did).tolist(), strict=True)),
            "energy": energies(run.did, late=1),
            "energy_implicit": energies(implicit, late=0),
            "kinetic_energy": float(run.kinetic_energy.max()),
            "chatter": chatter(run.did, pressing),
            "chatter_implicit": chatter(implicit, pressing),
            "against_split": difference(run.did, split),
            "against_implicit": difference(run.did, implicit),
            "latency_p50_p99": {f"{a} -> {b}": seconds for (a, b), seconds in latencies(bag).items()},
            "step_time": {"implicit": implicit.step_time, "split": split.step_time},
        }
        runs[name] = (run, implicit)
        claims += _claims(name, run, numbers, bag)
    period = first.parameters("device")["period"]
    ticks = min(round(FIRST_PUSH / period), len(next(iter(runs.values()))[0].time))
    run, implicit = next(iter(runs.values()))
    tools: list[dict[str, float | None]] = [
        {
            "mass": mechanism_of(first.parameters("constraints")).parameters["mass"],
            "split": variation(run.did.shortened(ticks)),
            "implicit": variation(implicit.shortened(ticks)),
        },
        *lighter(first, ticks),
    ]
    claims.append(_limit_claim(study))
    claims.append(_lighter_claim(tools))
    parameters = {source: first.parameters(source) for source in ("constraints", "contact", "friction")}
    return Report(
        {"runs": metrics, "limits": study, "lighter": tools}, claims, lambda: _figure(runs, first), _CAPTION, parameters
    )


def rest(run: GuidedRun) -> np.ndarray:
    """Ticks (n,) at which the tool rests pressed, settled."""
    parts = [phase for phase in run.phases if phase["name"] == "press"]
    flags = np.zeros(len(run.time), dtype=bool)
    for phase in parts:
        flags[run.part(phase["start"] + SETTLED, phase["end"] - RAMP)] = True
    return flags


def chatter(did: Pushing, part: np.ndarray) -> float:
    """Standard deviation of contact and friction from tick to tick [N], of the worst component."""
    if part.sum() < 3:
        return 0.0
    return float(max(np.diff(force[part], axis=0).std(axis=0).max() for force in (did.contact, did.friction)))


def ways(did: Pushing) -> np.ndarray:
    """Length of the way of each body (b,) [m]."""
    return np.asarray(np.linalg.norm(np.diff(did.bodies, axis=0), axis=2).sum(axis=0))


def coefficients(run: GuidedRun) -> dict[str, float]:
    """Friction over the guide's force in each pressed slide, where it is farthest from its median."""
    found, did = {}, run.did
    for phase in run.phases:
        part = run.part(phase["start"], phase["end"])
        middle = np.arange(part.start, part.stop)[did.slides[part] & (np.abs(did.surface[part]) > 1.0)]
        if phase["kind"] == "push" and len(middle) > 20:
            share = np.linalg.norm(did.friction[middle], axis=1) / np.abs(did.surface[middle])
            found[phase["name"]] = float(share[np.abs(share - np.median(share)).argmax()])
    return found


def _claims(name: str, run: GuidedRun, n: dict[str, Any], bag: Bag) -> list[Claim]:
    split, implicit, energy = n["against_split"], n["against_implicit"], n["energy"]
    mu, claims = bag.parameters("friction")["friction_coefficient"], []
    if run.mode == "lockstep" and not bag.parameters("device")["command_delay_ticks"]:
        same = [split[key] for key in ("motion", "contact", "friction")] + split["bodies"]
        claims.append(
            Claim(
                f"The nodes do what one process does that takes contact and friction of the tick before ({name}).",
                f"the reference differs by {split['motion']:.1e} m, contact by {split['contact']:.1e} N, friction by "
                f"{split['friction']:.1e} N, the things by {max(split['bodies']):.1e} m at the most",
                not any(same),
            )
        )
    sliding = n["coefficient"]
    took = abs(energy["contact"]) + abs(energy["friction"])
    made = energy["contact_made"] + energy["friction_made"]
    things = {body: (apart, n["way"][body]) for body, apart in zip(run.names, implicit["bodies_end"], strict=True)}
    worst = max(things, key=lambda body: things[body][0])
    claims += [
        Claim(
            f"The tool stays on its guide while it is pressed and pushes ({name}).",
            f"residual {n['residual']:.1e} m at the most; the guide bears {n['surface'][0]:.1f} to "
            f"{n['surface'][1]:.1f} N, the things up to {n['largest_contact']:.1f} N",
            n["residual"] < RESIDUAL,
        ),
        Claim(
            f"Sliding friction is {mu:g} times the guide's force ({name}).",
            ", ".join(f"{phase}: {share:.6f}" for phase, share in sliding.items()) or "no slide",
            all(abs(share - mu) < COEFFICIENT * mu for share in sliding.values()) if sliding else None,
        ),
        Claim(
            f"The tool that rests pressed does not chatter ({name}).",
            f"contact and friction vary by {n['chatter']:.4f} N from tick to tick (limit {CHATTER:g} N), in one "
            f"implicit step by {n['chatter_implicit']:.4f} N",
            n["chatter"] < CHATTER if rest(run).any() else None,
        ),
        Claim(
            f"All in one implicit step moves tool and things the same way ({name}).",
            f"the reference is {1e6 * implicit['motion']:.0f} µm apart at the most, contact {implicit['contact']:.2f} "
            f"N (where it strikes), friction {implicit['friction']:.2f} N; in the end {worst} is "
            f"{1e3 * things[worst][0]:.2f} mm apart after {things[worst][1]:.2f} m",
            implicit["motion"] < APART and all(apart < max(BODY, BODY_SHARE * way) for apart, way in things.values()),
        ),
        Claim(
            f"The cut makes no energy to speak of ({name}).",
            f"contacts took {-1e3 * energy['contact']:.1f} mJ and friction {-1e3 * energy['friction']:.1f} mJ; the "
            f"tick of delay added {1e3 * energy['contact_made']:+.2f} and {1e3 * energy['friction_made']:+.2f} mJ, "
            f"{100.0 * made / took if took else 0.0:+.2f} %",
            abs(made) < MADE * took if took else None,
        ),
    ]
    return claims


def _limit_claim(study: list[dict[str, float]]) -> Claim:
    rows = [
        f"{row['stiffness']:.0e} N/m: {1e3 * row['split']:.1f} g ({1e3 * row['closed_form']:.1f} g)" for row in study
    ]
    return Claim(
        f"The lightest tool that pushes a thing of {THING:g} kg is that of (k T² + 2 d T)(1/m - 1/M) = 4; in one "
        "implicit step there is none.",
        f"measured (closed form) {', '.join(rows)}; a hundredth of that in one step varies by "
        f"{max(row['implicit_varies'] for row in study):.1e}",
        all(
            abs(row["split"] / row["closed_form"] - 1.0) < 2.0 * NEAR and row["implicit_varies"] < 1e-3 for row in study
        ),
    )


def _lighter_claim(tools: list[dict[str, float | None]]) -> Claim:
    def words(value: float | None) -> str:
        return "lost" if value is None else f"{value:.2f}"

    rows = [f"{row['mass']:g} kg: {words(row['split'])} and {words(row['implicit'])} N" for row in tools]
    first = tools[1]
    return Claim(
        "A lighter tool hammers on what it pushes where the graph is cut, and much less in one implicit step.",
        f"contact varies from tick to tick in the first push, split and implicit: {'; '.join(rows)}",
        first["split"] is not None and first["implicit"] is not None and first["split"] > 2.0 * first["implicit"],
    )


_CAPTION = (
    "Top: who takes what within a tick, with the time from publishing to receiving; the cut is dashed. Left below: the "
    "table from above, tool grey, things from the hollow to the full mark, dotted those of one implicit step. Right: "
    "force of the guide, of the things and of the friction on the tool, and how far tool and things are from one "
    "implicit step. Shaded: the hand presses with 20 N."
)


def _figure(runs: dict[str, tuple[GuidedRun, Pushing]], bag: Bag) -> Figure:
    figure = Figure(figsize=(13, 13), layout="constrained")
    grid = figure.add_gridspec(4, 2, height_ratios=(4, 2, 2, 2), width_ratios=(1.0, 1.3))
    draw(figure.add_subplot(grid[0, :]), load_experiment(bag.custom["experiment"]).graph, latencies(bag))
    run, implicit = next(iter(runs.values()))
    _draw_table(
        figure.add_subplot(grid[1:, 0]), run, implicit, np.array(bag.parameters("constraints")["world_position"])
    )
    guide, force, apart = (figure.add_subplot(grid[row, 1]) for row in (1, 2, 3))
    for name, (run, implicit) in runs.items():
        did, n = run.did, min(len(run.time), len(implicit.position))
        guide.plot(run.time, did.surface, linewidth=0.8, label=f"guide, {name}")
        force.plot(run.time, np.linalg.norm(did.contact, axis=1), linewidth=0.6, label=f"things, {name}")
        force.plot(run.time, np.linalg.norm(did.friction, axis=1), linewidth=0.8, label=f"friction, {name}")
        distance = np.linalg.norm((did.position[:n] - implicit.position[:n]), axis=1)
        apart.plot(run.time[:n], 1e6 * distance, linewidth=0.8, label=f"reference, {name}")
        bodies = np.linalg.norm(did.bodies[:n] - implicit.bodies[:n], axis=2).max(axis=1)
        apart.plot(run.time[:n], 1e6 * bodies, linewidth=0.8, label=f"worst thing, {name}")
    for axes, words in ((guide, "force (N)"), (force, "force (N)"), (apart, "to one step (µm)")):
        for phase in run.phases:
            if phase["kind"] == "push" and phase["start"] < run.time[-1]:
                axes.axvspan(phase["start"], min(phase["end"], run.time[-1]), color="tab:red", alpha=0.08)
        axes.set_ylabel(words)
        axes.legend(loc="upper left", fontsize=8)
    apart.set_yscale("log")
    apart.set_ylim(0.1, None)
    apart.set_xlabel("time (s)")
    return figure


def _draw_table(axes: Axes, run: GuidedRun, implicit: Pushing, origin: np.ndarray) -> None:
    axes.plot(*(1e3 * run.did.position[:, :2].T), color="0.75", linewidth=2.5, label="tool")
    axes.set_prop_cycle(color=[colormaps["tab10"](i) for i in range(10)])
    moved = ways(run.did) > 0.0
    for i, name in enumerate(run.names):
        if not moved[i] or np.abs(run.did.bodies[:, i, :2] + origin[:2] - run.did.position[:, :2]).max() < 1e-3:
            continue
        way, due = (1e3 * (did.bodies[:, i, :2] + origin[:2]) for did in (run.did, implicit))
        (line,) = axes.plot(*way.T, linewidth=1.0, label=name)
        axes.plot(*due.T, ":", color=line.get_color(), linewidth=1.5)
        axes.plot(*way[0], marker="s", markersize=9, markerfacecolor="none", color=line.get_color())
        axes.plot(*way[-1], marker="s", markersize=9, color=line.get_color())
    axes.set(xlabel="x (mm)", ylabel="y (mm)", title="seen from above")
    axes.set_aspect("equal")
    axes.legend(fontsize=8)
