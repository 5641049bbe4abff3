"""Report of two frictional contacts as a network of nodes on the joystick (Fig. 10 of Kikuuwe et al.).

Beside the run stand, without nodes: the library's network with the recorded velocity of the tool, which does the same
steps; joystick, hand and network in one process, once split like the nodes and once with bodies and contacts in one
implicit step; and that implicit step with a sixteenth of the period. What the tick of delay costs is measured with
lighter slabs and with stiffer contacts.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from convex_contact.model.world_source import open_world
from convex_contact.node import worlds_folder
from haptic_bags.bags import Bag
from haptic_core.errors import HapticError
from haptic_core.parameters import parse_entries
from haptic_devices import factories
from haptic_experiments.kit.node_graph import draw, latencies
from haptic_experiments.kit.signals import largest, phases
from haptic_experiments.report import Claim, Report
from haptic_friction import BASE, Body, Contact, ContactNetwork, CoulombLaw, ImplicitNetwork, ModelC
from haptic_launch.experiments import load_experiment

NAMES = ("lower", "upper")
PARTNERS = ((BASE, 0), (0, 1))
#: what rounding may leave between the nodes and the library over a run [m], [N]: the same sums in another order
SAME_MOTION, SAME_FORCE = 1e-12, 1e-8
#: shorter stretches of sticking are not counted as phases [s]; steps of the fine computation in one period
SHORTEST, FINER = 5e-3, 16
#: RMS by which the implicit step may move the tool and the slabs, and the forces, otherwise, over the RMS of each
APART = 0.05
#: share of the ticks that may be missed in realtime
MISSED = 0.01
#: share of the tool's work that the balance of energy may leave open
OPEN = 0.02
#: a contact is quiet while its force changes so from tick to tick, RMS over the friction force
QUIET = 0.1
#: the hand's last phase is rest; it begins so long before the end [s]
REST = 0.7
#: the paper's elements: stiffness [N/m], damping [N s/m]
PAPER = (3e4, 300.0)
#: ticks of the sweeps: the first stroke and most of the slow one back
SWEPT = 4000
#: ends of the sweeps: factor on the mass, and on the stiffness
LIGHTEST, STIFFEST = 1e-3, 1e3
#: difference of the simulated limit from that of the map: steps of the bisection are 2 %, and just beyond it the
#: instability has to grow
MAP = 0.05
#: what one count of the encoders does against the friction force [J]: 12 um times 5 N
COUNT_WORK = 6e-5


@dataclass(frozen=True)
class StickSlip:
    """What a run, or a computation, did; n ticks, two slabs, two contacts (lower, upper).

    Attributes:
        tool: true place of the tool along x (n,) [m].
        base: measured velocity of the tool (n,) [m/s].
        position, velocity: of the slabs along x (n, 2) [m], [m/s].
        force: of the contacts (n, 2) [N].
        displacement: of their elements (n, 2) [m].
        sticking: (n, 2).
        dissipated: by the contacts in all (2,) [J].
        step_time: of the network, median [s]; nan if not measured.
    """

    tool: np.ndarray
    base: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    force: np.ndarray
    displacement: np.ndarray
    sticking: np.ndarray
    dissipated: np.ndarray
    step_time: float = float("nan")


class Scene:
    """Numbers of a run, and what can be computed from them.

    Args:
        bag: of the run.
    """

    def __init__(self, bag: Bag) -> None:
        self.device, contact = bag.parameters("device"), bag.parameters("contact")
        entries = {name: value for name, (value, _) in parse_entries(contact["world_parameters"]).items()}
        world = open_world(contact["world"], entries, worlds_folder())
        self.period = float(self.device["period"])
        self.bodies = [Body(body.mass, body.spring_stiffness) for body in world.bodies]
        self.home = np.array([body.placement.position[0] for body in world.bodies])
        parameters = [bag.parameters(name) for name in NAMES]
        self.elements = [(p["stiffness"], p["damping"]) for p in parameters]
        self.limits = np.array([p["friction_force"] for p in parameters])
        #: ticks between a command and the period in which it acts
        self.delay = int(self.device["command_delay_ticks"]) + (bag.custom["mode"] == "realtime")

    def network(
        self,
        kind: Callable[..., Any] = ContactNetwork,
        *,
        elements: list[tuple[float, float]] | None = None,
        lighter: float = 1.0,
        finer: int = 1,
        **options: Any,
    ) -> Any:
        """A network like the nodes': springs implicit.

        Args:
            kind: ContactNetwork or ImplicitNetwork.
            elements: stiffness and damping of the contacts; those of the run if not given.
            lighter: factor on the masses.
            finer: steps in one period.
            **options: of ContactNetwork.
        """
        period = self.period / finer
        contacts = [
            Contact(*partners, ModelC(CoulombLaw(F), stiffness=K, damping=B, period=period))
            for partners, F, (K, B) in zip(PARTNERS, self.limits, elements or self.elements, strict=True)
        ]
        if kind is ContactNetwork:
            options.setdefault("implicit_springs", True)
        return kind([Body(lighter * body.mass, body.stiffness) for body in self.bodies], contacts, **options)

    def played(self, base: np.ndarray, tool: np.ndarray, **options: Any) -> StickSlip:
        """The split network with a given velocity of the tool."""
        network, rows = self.network(**options), _Rows()
        for u in base:
            network.step([u])
            rows.add(network)
        return rows.made(tool, base, network)

    def fine(self, base: np.ndarray, tool: np.ndarray) -> StickSlip:
        """The implicit network with shorter steps, at the ticks; the tool's velocity is linear between them."""
        network, n = self.network(ImplicitNetwork, finer=FINER), len(base)
        u = np.interp(np.arange(1, FINER * n + 1) / FINER, np.arange(n + 1), np.concatenate([[0.0], base]))
        done = [values[FINER - 1 :: FINER] for values in network.simulate(u[:, None])]
        position, velocity, force, displacement = (values[:, :, 0] for values in done[:4])
        energy = network.elements.dissipated_energy.copy()
        return StickSlip(tool, base, position, velocity, force, displacement, done[4], energy)

    def together(
        self, kind: Callable[..., Any], ticks: int, *, delay: int, smooth: bool = False, **options: Any
    ) -> StickSlip:
        """Joystick, hand and network in one process.

        Args:
            kind: ContactNetwork does what the nodes do, ImplicitNetwork has nothing late.
            ticks: number of periods.
            delay: of the force on the tool [ticks].
            smooth: encoders without counts.
            **options: of `network`.
        """
        entries = [*self.device["device_parameters"], *(["encoder_resolution=0.0"] if smooth else [])]
        device = factories.joystick({**self.device, "device_parameters": entries})
        device.configure(self.period)
        device.activate()
        network, rows, tool, base, times = self.network(kind, **options), _Rows(), [], [], []
        network.step([0.0])  # compiles
        network.reset()
        late = deque(np.zeros(2) for _ in range(delay))
        for _ in range(ticks):
            u = float(device.read().tool_twist[0])
            tool.append(float(device.truth().tool_pose[0]))
            base.append(u)
            start = time.perf_counter()
            force = network.step([u])
            times.append(time.perf_counter() - start)
            rows.add(network)
            late.append(np.dot(np.array([-force[0, 0], 0.0, 0.0, 0.0, 0.0, 0.0]), device.jacobian()))
            device.write(late.popleft())
        return rows.made(np.array(tool), np.array(base), network, float(np.median(times)))


class _Rows:
    """Signals of a network in the making."""

    def __init__(self) -> None:
        self._rows: list[tuple[np.ndarray, ...]] = []

    def add(self, network: Any) -> None:
        e = network.elements.row("displacement")
        row = (network.position, network.velocity, network.force, e)
        self._rows.append((*(values[:, 0].copy() for values in row), network.elements.sticking.copy()))

    def made(self, tool: np.ndarray, base: np.ndarray, network: Any, step_time: float = float("nan")) -> StickSlip:
        x, v, f, e, sticking = (np.array(column) for column in zip(*self._rows, strict=True))
        return StickSlip(tool, base, x, v, f, e, sticking, network.elements.dissipated_energy.copy(), step_time)


def of_bag(bag: Bag, scene: Scene) -> StickSlip:
    """What the nodes did, at the ticks that all of them computed."""
    device, truth = bag.topics["/joystick/device_state"], bag.topics["/joystick/simulation_state"]
    bodies, *contacts = (bag.topics[f"/joystick/{name}/state"] for name in ("contact", *NAMES))
    ticks = device["tick"]
    for topic in (truth, bodies, *contacts):
        ticks = np.intersect1d(ticks, topic["tick"])
    if not len(ticks):
        raise HapticError("the run has no tick that all nodes computed")

    def rows(topic: dict[str, Any], name: str) -> np.ndarray:
        return np.asarray(topic[name])[np.searchsorted(topic["tick"], ticks)]

    both = [
        np.column_stack([rows(topic, name)[:, 0] for topic in contacts]) for name in ("force", "elastic_displacement")
    ]
    n = len(ticks)
    return StickSlip(
        tool=rows(truth, "tool_pose")[:, 0],
        base=rows(device, "tool_twist")[:, 0],
        position=rows(bodies, "position").reshape(n, -1, 3)[:, :, 0] - scene.home,
        velocity=rows(bodies, "velocity").reshape(n, -1, 3)[:, :, 0],
        force=both[0],
        displacement=both[1],
        sticking=np.column_stack([rows(topic, "sticking")[:, 0] for topic in contacts]).astype(bool),
        dissipated=np.array([rows(topic, "dissipated_energy")[-1] for topic in contacts]),
    )


def missed(bag: Bag) -> float:
    """Share of the device's ticks that went on without an answer of all nodes."""
    said = [event.detail for event in bag.events if event.source == "device" and "missed" in event.detail]
    return float(said[-1]["missed"] / said[-1]["ticks"]) if said else float("nan")


def rms(values: np.ndarray) -> float:
    """Root of the mean square."""
    return float(np.sqrt(np.mean(np.square(values))))


def difference(one: StickSlip, other: StickSlip) -> dict[str, float]:
    """Largest and RMS difference of tool, slabs and forces [m], [N], and of what was dissipated [J]."""
    n = min(len(one.tool), len(other.tool))
    apart = {name: getattr(one, name)[:n] - getattr(other, name)[:n] for name in ("tool", "position", "force")}
    return {
        **{name: largest(values) for name, values in apart.items()},
        **{f"{name}_rms": rms(values) for name, values in apart.items()},
        "dissipated": float(one.dissipated.sum() - other.dissipated.sum()),
    }


def transitions(run: StickSlip, period: float) -> list[dict[str, int]]:
    """Of each contact: phases of sticking of at least `SHORTEST`, and changes between sticking and sliding in all."""
    shortest = max(1, round(SHORTEST / period))
    return [
        {"phases": len(phases(flags, shortest)), "changes": int(np.count_nonzero(np.diff(flags)))}
        for flags in run.sticking.T.astype(int)
    ]


def energy(run: StickSlip, scene: Scene) -> dict[str, float]:
    """Balance of the network's energy [J].

    The tool's work is that of the force that is held over each period on the true way of the tool; `least` is the least
    that it had given in all at a tick, `least_loss` the least of that less what is stored.
    """
    T, d = scene.period, scene.delay
    held = np.concatenate([np.zeros(d), run.force[: len(run.force) - d, 0]])
    work = np.concatenate([[0.0], np.cumsum(held[:-1] * np.diff(run.tool))])
    mass, spring = (np.array([getattr(body, name) for body in scene.bodies]) for name in ("mass", "stiffness"))
    (K, B), e = np.array(scene.elements).T, run.displacement
    stored = 0.5 * (run.velocity**2 @ mass + run.position**2 @ spring + e**2 @ K)
    rates = np.diff(e, axis=0, prepend=0.0) / T
    damped = float(T * (rates**2 @ B).sum())
    rubbed = float(run.dissipated.sum())
    return {
        "work": float(work[-1]),
        "stored": float(stored[-1]),
        "rubbed": rubbed,
        "damped": damped,
        "open": float(work[-1] - stored[-1] - rubbed - damped),
        "least": float(work.min()),
        "least_loss": float((work - stored).min()),
    }


def restless(force: np.ndarray, limits: np.ndarray) -> float:
    """RMS change of the contacts' forces (n, 2) from tick to tick, over the friction force, of the worse one."""
    return max(rms(change) for change in (np.diff(force, axis=0) / limits).T)


def bisected(quiet: Callable[[float], bool], good: float, bad: float, steps: int = 9) -> float:
    """The last quiet factor from a good one towards a bad one, geometrically; nan if the good one is not quiet."""
    if not quiet(good):
        return float("nan")
    if quiet(bad):
        return bad
    for _ in range(steps):
        middle = float(np.sqrt(good * bad))
        good, bad = (middle, bad) if quiet(middle) else (good, middle)
    return good


def spectral_radius(network: Any) -> float:
    """Of the map over one period while both contacts stick."""
    return float(np.abs(np.linalg.eigvals(network.stuck_map())).max())


def lightest(scene: Scene, base: np.ndarray, elements: list[tuple[float, float]], delay: int) -> dict[str, float]:
    """Factor on the slabs' masses down to which the split network is stable: of the stuck map, and as simulated.

    The simulation is driven by the true velocity of the tool, so that no counts make it restless.
    """
    tool = np.zeros_like(base)

    def calm(lighter: float) -> bool:
        run = scene.played(base, tool, elements=elements, lighter=lighter, delay=delay)
        return restless(run.force, scene.limits) < QUIET

    def stable(lighter: float) -> bool:
        return spectral_radius(scene.network(elements=elements, lighter=lighter, delay=delay)) < 1.0

    return {"stuck_map": bisected(stable, 10.0, LIGHTEST, 30), "simulated": bisected(calm, 10.0, LIGHTEST)}


def lightest_implicit(scene: Scene, base: np.ndarray, elements: list[tuple[float, float]]) -> float:
    """The same factor of the implicit network; `LIGHTEST` if it is quiet everywhere."""

    def calm(lighter: float) -> bool:
        network = scene.network(ImplicitNetwork, elements=elements, lighter=lighter)
        return restless(network.simulate(base[:, None]).force[:, :, 0], scene.limits) < QUIET

    return bisected(calm, 10.0, LIGHTEST)


def stiffest(scene: Scene, kind: Callable[..., Any], delay: int) -> float:
    """The stiffest lower contact that the joystick in the hand bears [N/m], its damping in proportion; no counts."""
    K, B = scene.elements[0]

    def calm(factor: float) -> bool:
        elements = [(factor * K, factor * B), scene.elements[1]]
        run = scene.together(kind, SWEPT // 2, delay=delay, smooth=True, elements=elements)
        return restless(run.force, scene.limits) < QUIET

    return K * bisected(calm, 0.1, STIFFEST, 8)


def margins(bag: Bag, scene: Scene) -> dict[str, Any]:
    """What the delay costs: the lightest slabs, and the stiffest contact at the joystick, split and implicit."""
    base = _true_velocity(bag)[:SWEPT]
    found: dict[str, Any] = {}
    for name, elements in (("run", scene.elements), ("paper", [PAPER, PAPER])):
        found[name] = {
            "one_tick": lightest(scene, base, elements, 0),
            "two_ticks": lightest(scene, base, elements, 1),
            "implicit": lightest_implicit(scene, base, elements),
        }
    kinds = {"split": ContactNetwork, "implicit": ImplicitNetwork}
    for delay, words in enumerate(("no_delay", "one_tick_delay")):
        found[f"stiffest_lower_{words}"] = {name: stiffest(scene, kind, delay) for name, kind in kinds.items()}
    return {**found, "tried": STIFFEST * scene.elements[0][0]}


def _true_velocity(bag: Bag) -> np.ndarray:
    return np.asarray(bag.topics["/joystick/simulation_state"]["tool_twist"])[:, 0]


def analyse(bags: dict[str, Bag]) -> Report:
    """Metrics, claims and figure of one or more bags of the experiment."""
    numbers: dict[str, Any] = {}
    claims: list[Claim] = []
    runs: dict[str, tuple[Scene, StickSlip, StickSlip]] = {}
    for name, bag in bags.items():
        scene = Scene(bag)
        run = of_bag(bag, scene)
        implicit = scene.together(ImplicitNetwork, len(run.tool), delay=scene.delay)
        numbers[name] = measure(bag, scene, run, implicit)
        runs[name] = (scene, run, implicit)
        claims += _claims(name, numbers[name])
    first = next(iter(bags.values()))
    margin = margins(first, next(iter(runs.values()))[0])
    parameters = {source: first.parameters(source) for source in ("contact", *NAMES)}
    claims += _margin_claims(margin)
    metrics = {"runs": numbers, "margins": margin}
    return Report(metrics, claims, lambda: _figure(runs, first, margin), _CAPTION, parameters)


def measure(bag: Bag, scene: Scene, run: StickSlip, implicit: StickSlip) -> dict[str, Any]:
    """Numbers of one run."""
    T = scene.period
    complete = len(run.tool) == len(bag.topics["/joystick/device_state"]["tick"])
    split = scene.together(ContactNetwork, len(run.tool), delay=scene.delay)
    true = _true_velocity(bag)[: len(run.tool)]
    rest = round(REST / T)
    return {
        "mode": bag.custom["mode"],
        "ticks": len(run.tool),
        "missed": missed(bag),
        "stopped": int(np.count_nonzero(bag.topics["/joystick/device_state"]["status"])),
        "command_delay_ticks": scene.delay,
        "against_library": difference(run, scene.played(run.base, run.tool)) if complete else None,
        "against_split": difference(run, split),
        "against_implicit": difference(run, implicit),
        "split_against_implicit": difference(split, implicit),
        "rms": {field: rms(getattr(run, field)) for field in ("tool", "position", "force")},
        "transitions": {
            "run": transitions(run, T),
            "implicit": transitions(implicit, T),
            "fine": transitions(scene.fine(run.base, run.tool), T),
            "split_without_counts": transitions(scene.played(true, run.tool), T),
            "fine_without_counts": transitions(scene.fine(true, run.tool), T),
        },
        "stick_share": run.sticking.mean(axis=0).tolist(),
        "rest_change": {
            name: [rms(change) for change in np.diff(one.force[-rest:], axis=0).T]
            for name, one in (("run", run), ("implicit", implicit))
        },
        "energy": energy(run, scene),
        "energy_implicit": energy(implicit, scene),
        "latency_p50_p99": {f"{a} -> {b}": seconds for (a, b), seconds in latencies(bag).items()},
        "step_time": {"split": split.step_time, "implicit": implicit.step_time},
    }


def _claims(name: str, n: dict[str, Any]) -> list[Claim]:
    library, apart, size, joules = n["against_library"], n["against_implicit"], n["rms"], n["energy"]
    counted = n["transitions"]
    lockstep = n["mode"] == "lockstep"
    # a stopped device is left alone by the network, and what was missed is no stick-slip
    sound = not n["stopped"] and not n["missed"] > MISSED
    changes = {
        kind: ", ".join(f"{contact} {of['changes']}" for contact, of in zip(NAMES, contacts, strict=True))
        for kind, contacts in counted.items()
    }
    more = [a["changes"] - b["changes"] for a, b in zip(counted["run"], counted["implicit"], strict=True)]
    same = [
        abs(a["changes"] - b["changes"])
        for a, b in zip(counted["split_without_counts"], counted["fine_without_counts"], strict=True)
    ]
    claims = [
        Claim(
            f"The network of nodes is the library's network, eq. (60), but for rounding ({name}).",
            f"motion differs by {library['position']:.1e} m, forces by {library['force']:.1e} N at the most"
            if library
            else "ticks were missed",
            library["position"] <= SAME_MOTION and library["force"] <= SAME_FORCE if library else None,
        ),
        Claim(
            f"Both contacts stick and slip ({name}).",
            f"{_phases(counted['run'])} stick phases of at least {1e3 * SHORTEST:g} ms, "
            + ", ".join(f"{contact} {100 * s:.0f} %" for contact, s in zip(NAMES, n["stick_share"], strict=True))
            + " of the time",
            all(0.1 < share < 0.95 for share in n["stick_share"]) and all(c["phases"] > 4 for c in counted["run"])
            if sound
            else None,
        ),
        Claim(
            f"They do so without chatter ({name}).",
            f"changes between sticking and sliding: {changes['run']}; in one implicit step {changes['implicit']}; led "
            f"by the true velocity {changes['split_without_counts']}, with a sixteenth of the period besides "
            f"{changes['fine_without_counts']}",
            all(a <= max(4, 0.25 * c["changes"]) for a, c in zip(more, counted["implicit"], strict=True))
            and max(same) <= 2
            if sound
            else None,
        ),
        Claim(
            f"Bodies and contacts in one implicit step move the tool and the slabs the same way ({name}).",
            f"tool {1e3 * apart['tool']:.3f} mm, slabs {1e3 * apart['position']:.3f} mm, forces {apart['force']:.2f} N "
            f"apart at the most; RMS {1e3 * apart['tool_rms']:.3f} mm, {1e3 * apart['position_rms']:.3f} mm, "
            f"{apart['force_rms']:.3f} N",
            all(apart[f"{field}_rms"] < APART * size[field] for field in size) if lockstep else None,
        ),
        Claim(
            f"The network is passive at the tool, and its energy is accounted for ({name}).",
            f"work {1e3 * joules['work']:.1f} mJ, stored {1e3 * joules['stored']:.1f} mJ, rubbed "
            f"{1e3 * joules['rubbed']:.1f} mJ, damped {1e3 * joules['damped']:.1f} mJ, open "
            f"{1e3 * joules['open']:.1f} mJ (implicit: {1e3 * n['energy_implicit']['open']:.1f} mJ); work less stored "
            f"at least {1e3 * joules['least_loss']:.4f} mJ",
            joules["least_loss"] > -COUNT_WORK and abs(joules["open"]) < OPEN * joules["work"] if sound else None,
        ),
    ]
    if not lockstep:
        claims.append(
            Claim(
                f"At 1 kHz at most 1 % of the ticks are missed, and none is spent in the safe state ({name}).",
                f"{100 * n['missed']:.2f} %; {n['stopped']} ticks in the safe state",
                n["missed"] <= MISSED and not n["stopped"],
            )
        )
    return claims


def _phases(counted: list[dict[str, int]]) -> str:
    return ", ".join(f"{contact} {of['phases']}" for contact, of in zip(NAMES, counted, strict=True))


def _margin_claims(n: dict[str, Any]) -> list[Claim]:
    claims = []
    for name, words in (("run", "the run's contacts"), ("paper", "the paper's contacts")):
        ticks = [n[name][key] for key in ("one_tick", "two_ticks")]
        claims.append(
            Claim(
                f"With {words} the split network is unstable below the mass that its linear map tells, the implicit "
                "one at none.",
                "; ".join(
                    f"{late}: {one['simulated']:.3f} of the mass, by the map {one['stuck_map']:.3f}"
                    for late, one in zip(("one tick late", "two ticks late"), ticks, strict=True)
                )
                + f"; implicit quiet down to {n[name]['implicit']:g}",
                all(abs(one["simulated"] / one["stuck_map"] - 1.0) < MAP for one in ticks)
                and n[name]["implicit"] == LIGHTEST,
            )
        )
    shown, parts = True, []
    for key, words in (("no_delay", "no delay"), ("one_tick_delay", "one tick of delay")):
        split, implicit = (1e-3 * n[f"stiffest_lower_{key}"][kind] for kind in ("split", "implicit"))
        parts.append(f"{words}: split {split:.0f} kN/m, implicit {implicit:.0f} kN/m")
        shown = shown and split < implicit
    text = "At the joystick the implicit step bears a stiffer contact than the split one."
    return [*claims, Claim(text, "; ".join(parts) + f" ({1e-3 * n['tried']:.0f} kN/m at the most)", shown)]


_CAPTION = (
    "Top: who takes what within a tick, with the time from publishing to receiving; dashed edges are of the tick "
    "before. Then tool and slabs along x, and the forces of both contacts; shaded: it sticks. Below: how far the run "
    "is from bodies and contacts in one implicit step, and the largest eigenvalue of a period in which both contacts "
    "stick, over the slabs' mass; crosses: where the simulated network became restless."
)


def _figure(runs: dict[str, tuple[Scene, StickSlip, StickSlip]], bag: Bag, margin: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(12, 15), layout="constrained")
    grid = figure.add_gridspec(5, 2, height_ratios=(4.2, 3, 2.2, 2.2, 3))
    graph = figure.add_subplot(grid[0, :])
    place = figure.add_subplot(grid[1, :])
    forces = [figure.add_subplot(grid[row, :], sharex=place) for row in (2, 3)]
    apart, map_ = figure.add_subplot(grid[4, 0]), figure.add_subplot(grid[4, 1])
    draw(graph, load_experiment(bag.custom["experiment"]).graph, latencies(bag))
    for style, (name, (scene, run, implicit)) in zip(("-", ":"), runs.items(), strict=False):
        t = scene.period * np.arange(len(run.tool))
        signals = [("tool", run.tool, "0.6"), *((f"slab {i + 1}", run.position[:, i], f"C{i}") for i in range(2))]
        for label, values, color in signals:
            place.plot(t, 1e3 * values, style, color=color, label=f"{label}, {name}")
        for i, axes in enumerate(forces):
            axes.plot(t, run.force[:, i], style, color=f"C{i}", linewidth=0.8, label=f"{NAMES[i]}, {name}")
        n = min(len(t), len(implicit.tool))
        apart.plot(t[:n], 1e6 * (run.tool - implicit.tool)[:n], style, color="0.4", label=f"tool, {name}")
        for i in range(2):
            way = 1e6 * (run.position - implicit.position)[:n, i]
            apart.plot(t[:n], way, style, color=f"C{i}", label=f"slab {i + 1}, {name}")
    scene, run, _ = next(iter(runs.values()))
    for i, axes in enumerate(forces):
        for start, end in phases(run.sticking[:, i], max(1, round(SHORTEST / scene.period))):
            axes.axvspan(scene.period * start, scene.period * (end - 1), color="0.9", zorder=0)
        axes.set_ylabel(f"{NAMES[i]} contact [N]")
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=7)
    place.set_ylabel("along x [mm]")
    forces[-1].set_xlabel("time [s]")
    apart.set(xlabel="time [s]", ylabel="to one implicit step [µm]")
    place.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=7)
    apart.legend(loc="upper left", fontsize=7, ncols=2)
    low, high = apart.get_ylim()
    apart.set_ylim(low, high + 0.35 * (high - low))  # room for the legend
    _draw_map(map_, scene, margin)
    return figure


def _draw_map(axes: Any, scene: Scene, margin: dict[str, Any]) -> None:
    """Largest eigenvalue over the slabs' mass, of the run's contacts and the paper's."""
    masses = np.geomspace(0.03, 3.0, 200)
    for style, (name, elements) in zip(("-", "--"), (("run", scene.elements), ("paper", [PAPER, PAPER])), strict=True):
        for color, delay, words in (("C3", 0, "one tick late"), ("C4", 1, "two ticks late"), ("C2", None, "implicit")):
            kind, options = (ImplicitNetwork, {}) if delay is None else (ContactNetwork, {"delay": delay})
            radius = [spectral_radius(scene.network(kind, elements=elements, lighter=m, **options)) for m in masses]
            axes.plot(masses, radius, style, color=color, label=f"{words}, contacts of the {name}")
            if delay is not None:
                axes.plot(margin[name][("one_tick", "two_ticks")[delay]]["simulated"], 1.0, "x", color=color)
    axes.axhline(1.0, color="0.7", linewidth=0.8, zorder=0)
    axes.set(xscale="log", ylim=(0.8, 1.6), xlabel="mass of the slabs, over the run's", ylabel="largest eigenvalue")
    axes.legend(fontsize=7)
