"""Report of the TAU's tip among bodies: contact, wall and friction node beside the same without nodes, and implicit.

`touch_process` computes what stands beside the run. Rows are ticks, forces act from a row's time on for one period.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from convex_contact.haptics.rendering import ToolPlace
from convex_contact.problem.errors import ConvergenceError
from haptic_bags.bags import Bag
from haptic_core.errors import HapticError
from haptic_devices.device import DeviceError
from haptic_experiments.kit.node_graph import draw, latencies
from haptic_experiments.kit.phases import PhasedRun
from haptic_experiments.kit.touch_process import REFERENCE_STIFFNESS, Touch, TouchProcess
from haptic_experiments.report import Claim, Report
from haptic_launch.experiments import load_experiment
from tau_wall_control import TauError
from tau_wall_control.control.controller import WallController

NODES = ("device", "contact", "wall", "friction")
#: nodes and one process may differ by this: not at all
SAME = 0.0
#: share by which way and dissipation may differ from the reference's
SHARE = 0.05
#: a state of sticking or sliding counts when it lasts as long, half a period of 20 Hz [s]
LASTING = 0.025
#: friction may vary so from tick to tick while the tool is pressed: counts of the encoders through its damping [N]
CHATTER = 0.1
#: a body has been pushed when it has gone so far [m]
MOVED = 1e-3
#: above this frequency the tool's motion at rest is not the hand's, whose tremor ends at 12 Hz [Hz]
VIBRATION = 20.0
#: of the ticks of a realtime run may be missed
MISSED = 0.01
#: masses of the box that are tried [kg]; contact is kept if it is there in this share of the ticks
MASSES, KEPT = (0.5, 0.1, 0.03), 0.95
#: phases in which the tool presses on the box
BORNE = ("press the box", "lean", "drag", "stay")
#: energy that is rounding, and that friction takes where the tool has slid at all [J]
ROUNDING, SLID = 1e-12, 1e-3
#: where the box is below the tool [m]
BELOW = [0.017, -0.013, 0.011]


@dataclass(frozen=True)
class TouchRun(PhasedRun):
    """What a bag says.

    Attributes:
        touch: the run as the processes give it, depth that of the true tool, without works and step time.
        plane: point, of the tool, and normal of the plane that pushes at each tick (n, 6); nan without.
        momentum: of each body that can move, its change of momentum less all impulses on it (n, b) [N s].
        names: of these bodies.
        missed: share of the ticks that some node did not answer.
    """

    period: float
    time: np.ndarray
    phases: list[dict[str, Any]]
    touch: Touch
    plane: np.ndarray
    momentum: np.ndarray
    names: list[str]
    mode: str
    missed: float

    @classmethod
    def from_bag(cls, bag: Bag) -> TouchRun:
        """Takes the ticks that all topics have; in realtime a node may have missed some.

        Raises:
            HapticError: fewer than two such ticks.
        """
        own = ("contact/state", "contact/planes", "contact/contacts", "wall/state", "friction/state")
        tables = [bag.topics[f"/tau/{name}"] for name in ("device_state", "simulation_state", *own)]
        device = tables[0]
        ticks = reduce(np.intersect1d, [table["tick"].astype(np.int64) for table in tables])
        if len(ticks) < 2:
            raise HapticError(f"{bag.path}: too short for a report ({len(ticks)} ticks that all topics have)")
        rows = [np.searchsorted(table["tick"], ticks) for table in tables]
        scene = bag.topics["/tau/scene"]
        masses = np.asarray(scene["masses"][0])
        free = np.flatnonzero(masses > 0.0)
        truth, bodies = tables[1], tables[2]
        n = len(ticks)
        pose, twist = (
            np.concatenate([bodies[name][rows[2]].reshape(n, len(masses), -1)[:, free] for name in pair], axis=2)
            for pair in (("position", "orientation"), ("velocity", "angular_velocity"))
        )
        planes = [_row(tables[3], i) for i in rows[3]]
        contacts = [_row(tables[4], i) for i in rows[4]]
        pushes = [np.asarray(tables[5]["push"][i]) for i in rows[5]]
        place = truth["tool_pose"][rows[1], :3]
        off = place - device["tool_pose"][rows[0], :3]
        friction = -np.asarray(tables[6]["force"])[rows[6]]
        depth, plane, push = np.zeros(n), np.full((n, 6), np.nan), np.zeros((n, 3))
        for k, (seen, pressing) in enumerate(zip(planes, pushes, strict=True)):
            if len(pressing) != len(seen["key"]):
                continue
            normals = np.reshape(seen["normal"], (-1, 3))
            push[k] = pressing @ normals if len(pressing) else 0.0
            for i in np.flatnonzero(pressing > 0.0):
                inside = -seen["signed_distance"][i] - normals[i] @ off[k]
                if np.isnan(plane[k, 0]) or inside > depth[k]:
                    plane[k] = *(place[k] + inside * normals[i]), *normals[i]
                depth[k] = max(depth[k], inside)
        period = float(device["period"][0])
        touch = Touch(
            position=place,
            velocity=truth["tool_twist"][rows[1], :3],
            push=push,
            friction=friction,
            sticking=np.asarray(tables[6]["sticking"], dtype=bool)[rows[6], 0] & push.any(axis=1),
            pose=pose,
            twist=twist,
            depth=depth,
            normal_work=np.zeros(n),
            friction_work=np.zeros(n),
            cut_work=np.zeros(n),
        )
        frame = ToolPlace.of(bag.parameters("contact")).frame.rotation
        return cls(
            period=period,
            time=ticks * period,
            phases=bag.started("device").get("phases", []),
            touch=touch,
            plane=plane,
            momentum=_imbalance(ticks, masses, free, twist, planes, pushes, friction, contacts, frame, period),
            names=[str(scene["names"][0][i]) for i in free],
            mode=bag.custom.get("mode", "lockstep"),
            missed=1.0 - n / len(device["tick"]),
        )


def _row(table: dict[str, Any], i: int) -> dict[str, Any]:
    return {name: np.asarray(values[i]) for name, values in table.items() if name not in ("stamp", "tick", "period")}


def _imbalance(
    ticks: np.ndarray,
    masses: np.ndarray,
    free: np.ndarray,
    twist: np.ndarray,
    planes: list[dict[str, Any]],
    pushes: list[np.ndarray],
    friction: np.ndarray,
    contacts: list[dict[str, Any]],
    frame: np.ndarray,
    period: float,
) -> np.ndarray:
    """m dv - T m g - contacts + T (push and friction on the tool in the tick before, at this body's planes) (n, b)."""
    wrong = np.zeros((len(ticks), len(free)))
    for k in range(1, len(ticks)):
        if ticks[k] != ticks[k - 1] + 1:
            continue
        seen, pressing, here = planes[k - 1], pushes[k - 1], contacts[k]
        if len(pressing) != len(seen["key"]):
            continue
        load = pressing.sum()
        forces = pressing[:, None] * np.reshape(seen["normal"], (-1, 3))
        if load > 0.0:
            forces = forces + pressing[:, None] / load * friction[k - 1]
        impulses = here["normal_impulse"][:, None] * np.reshape(here["normal"], (-1, 3))
        impulses = impulses + np.reshape(here["tangential_impulse"], (-1, 3))
        for j, b in enumerate(free):
            gained = masses[b] * (twist[k, j, :3] - twist[k - 1, j, :3] + period * np.array([0.0, 0.0, 9.81]))
            gained -= impulses[here["body_b"] == b].sum(axis=0) - impulses[here["body_a"] == b].sum(axis=0)
            gained += period * forces[seen["body"] == b].sum(axis=0) @ frame
            wrong[k, j] = np.linalg.norm(gained)
    return wrong


# ---- what is measured -----------------------------------------------------------------------------------


def difference(one: Touch, other: Touch, part: np.ndarray | slice = slice(None)) -> dict[str, float]:
    """Largest distances of tools, of bodies [m], and of pushes and frictions [N]."""
    n = min(len(one.position), len(other.position))

    def apart(name: str) -> np.ndarray:
        a, b = (getattr(touch, name)[:n][part] for touch in (one, other))
        return np.linalg.norm((a - b)[..., :3], axis=-1)

    names = {"motion": "position", "bodies": "pose", "push": "push", "friction": "friction"}
    return {name: float(apart(field).max(initial=0.0)) for name, field in names.items()}


def transitions(sticking: np.ndarray, load: np.ndarray, lasting: int) -> int:
    """How often a pressed contact changes between sticking and sliding, states shorter than some ticks left out."""
    states = sticking[load > 0.0].astype(int)
    if not len(states):
        return 0
    edges = [0, *(np.flatnonzero(np.diff(states)) + 1).tolist(), len(states)]
    kept = [states[a] for a, b in pairwise(edges) if b - a >= lasting]
    return int(np.count_nonzero(np.diff(kept)))


def chatter(touch: Touch, part: np.ndarray) -> float:
    """Standard deviation of friction's change from tick to tick [N], of the worst component."""
    return float(np.diff(touch.friction[part], axis=0).std(axis=0).max()) if part.sum() > 2 else 0.0


def spectrum(signal: np.ndarray, period: float) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies [Hz] and amplitudes of the lines of a signal (n, 3), its trend taken out, Hann's window."""
    n = len(signal)
    t = np.linspace(-1.0, 1.0, n)
    flat = signal - np.polynomial.polynomial.polyval(t, np.polynomial.polynomial.polyfit(t, signal, 1)).T
    lines = np.fft.rfft(np.hanning(n)[:, None] * flat, axis=0) * 4.0 / n
    return np.fft.rfftfreq(n, period), np.linalg.norm(lines, axis=1)


def vibration(signal: np.ndarray, period: float) -> dict[str, float]:
    """The highest line above `VIBRATION`: its frequency [Hz] and amplitude."""
    frequency, amplitude = spectrum(signal, period)
    fast = np.flatnonzero(frequency > VIBRATION)
    k = fast[np.argmax(amplitude[fast])]
    return {"frequency": float(frequency[k]), "amplitude": float(amplitude[k])}


def energies(touch: Touch) -> dict[str, float]:
    """Work of a process's pushes, of its friction, and of what action and reaction differ by [J]."""
    return {
        "push_work": float(touch.normal_work[-1]),
        "most_push_work": float(touch.normal_work.max()),
        "dissipated": -float(touch.friction_work[-1]),
        "cut_work": float(np.abs(touch.cut_work).max()),
    }


def margins(nodes: dict[str, Any], controller: WallController) -> dict[str, Any]:
    """A lighter box: pushed by its side, which ways keep the tool in contact; pressed from above, how deep it gets."""
    pushed: dict[str, Any] = {}
    pressed: dict[str, Any] = {}
    for mass in MASSES:
        entry: dict[str, Any] = {"bodies.box.mass": mass}
        side = TouchProcess(nodes, first="push the box", last="push the box", entries=entry, controller=controller)
        entry |= {"bodies.box.position": BELOW}
        top = TouchProcess(nodes, first="on the box", last="press the box", entries=entry, controller=controller)
        late = slice(round(0.3 * side.ticks), side.ticks)
        for name, play in (
            ("nodes", side.split),
            ("bodies taken for fixed", partial(side.split, told=False)),
            ("and one tick later", partial(side.split, told=False, late=1)),
            ("implicit", side.implicit),
        ):
            pushed.setdefault(name, {})[f"{mass:g}"] = _played(play, late)
        for name, play in (("nodes", top.split), ("bodies taken for fixed", partial(top.split, told=False)),
                           ("implicit", top.implicit)):  # fmt: skip
            pressed.setdefault(name, {})[f"{mass:g}"] = _played(play, slice(None))
    return {"pushed": pushed, "pressed": pressed}


def _played(play: Callable[[], Touch], part: slice) -> dict[str, float] | None:
    """Share of the ticks of contact, depth [m], and work that the coupling did [J]; None: it cannot be played."""
    try:
        touch = play()
    except (TauError, DeviceError, ConvergenceError):  # thrown out of the workspace
        return None
    return {
        "contact": float((touch.load[part] > 0.0).mean()),
        "depth": float(touch.depth.max()),
        "push_work": float(touch.normal_work[-1]),
        "cut_work": float(touch.cut_work[-1]),
    }


def lightest(found: dict[str, Any]) -> float:
    """The lightest mass down to which contact is kept in all [kg]; infinite if not even the heaviest's is."""
    kept = float("inf")
    for mass in MASSES:
        numbers = found[f"{mass:g}"]
        if numbers is None or numbers["contact"] < KEPT:
            break
        kept = mass
    return kept


# ---- the report -----------------------------------------------------------------------------------------


def analyse(bags: dict[str, Bag]) -> Report:
    """Metrics, claims and figure of one or more bags of the experiment."""
    metrics: dict[str, Any] = {}
    claims: list[Claim] = []
    drawn: dict[str, tuple[TouchRun, Touch, Touch]] = {}
    for name, bag in bags.items():
        run = TouchRun.from_bag(bag)
        parameters = {node: bag.parameters(node) for node in NODES}
        process = TouchProcess(parameters)
        ticks = len(run.time)
        split, implicit = process.split(ticks), process.implicit(ticks)
        numbers = metrics[name] = measure(run, process, split, implicit, parameters)
        numbers["margins"] = margins(parameters, process.controller)
        numbers["latency_p50_p99"] = {f"{a} -> {b}": seconds for (a, b), seconds in latencies(bag).items()}
        drawn[name] = (run, split, implicit)
        claims += _claims(name, run, numbers, parameters)
    first = next(iter(bags.values()))
    return Report(
        {"runs": metrics},
        claims,
        lambda: _figure(drawn, first, metrics),
        _CAPTION,
        {source: first.parameters(source) for source in NODES[1:]},
    )


def measure(
    run: TouchRun, process: TouchProcess, split: Touch, implicit: Touch, parameters: dict[str, Any]
) -> dict[str, Any]:
    """Numbers of one run and of the two processes beside it."""
    rest, held, borne = run.named("rest"), ~run.named("let go", "taken"), run.named(*BORNE)
    pressed = {name: run.named(*phases) for name, phases in (("block", ("step", "rest")), ("box", BORNE))}
    pressed = {name: part for name, part in pressed.items() if run.touch.depth[part].any()}
    plain = _plain(run, process, parameters)
    ways = np.linalg.norm(np.diff(implicit.pose[:, :, :3], axis=0), axis=2).sum(axis=0)
    lasting = round(LASTING / run.period)
    sliding = run.during("slide") & run.named("lean", "drag")
    return {
        "ticks": len(run.time),
        "mode": run.mode,
        "missed": run.missed,
        "against_split": difference(run.touch, split),
        "against_implicit": {
            **difference(run.touch, implicit, held & ~borne),
            "on_the_box": difference(run.touch, implicit, borne)["motion"],
            "let_go": difference(run.touch, implicit, ~held)["motion"],
        },
        "bodies": {
            name: {
                "apart": float(np.linalg.norm(run.touch.pose[:, j, :3] - implicit.pose[:, j, :3], axis=1).max()),
                "way": float(ways[j]),
                "fastest": float(np.linalg.norm(run.touch.twist[:, j, :3], axis=1).max()),
                "fastest_implicit": float(np.linalg.norm(implicit.twist[:, j, :3], axis=1).max()),
                "momentum": float(run.momentum[:, j].max()),
            }
            for j, name in enumerate(run.names)
        },
        "limits": _limits(run, plain, parameters),
        "penetration": {name: float(run.touch.depth[part].max()) for name, part in pressed.items()},
        "plain_wall": plain,
        "rest": {
            "position": vibration(run.touch.position[rest], run.period),
            "push": vibration(run.touch.push[rest], run.period),
            "position_plain": plain.pop("position", None),
            "implicit": vibration(implicit.position[rest], run.period),
            "depth": {
                "block": float(run.touch.depth[rest].mean()),
                "box": float(run.touch.depth[run.named("stay")].mean()),
                "plain": plain.pop("depth", 0.0),
            },
            "count": process.count,
        }
        if rest.sum() > 100
        else {},
        "transitions": {
            "run": transitions(run.touch.sticking[sliding], run.touch.load[sliding], lasting),
            "implicit": transitions(implicit.sticking[sliding], implicit.load[sliding], lasting),
            "all": transitions(run.touch.sticking[sliding], run.touch.load[sliding], 1),
        },
        "chatter": chatter(run.touch, run.touch.load > 0.0),
        "energy": {"run": energies(split), "implicit": energies(implicit)},
        "step_time": {"split": split.step_time, "implicit": implicit.step_time},
    }


def _plain(run: TouchRun, process: TouchProcess, parameters: dict[str, Any]) -> dict[str, Any]:
    """A plain wall where the tool rests, under the same pushes: its deepest penetration, and what vibrates there."""
    rest = np.flatnonzero(run.named("rest") & ~np.isnan(run.plane[:, 0]))
    if len(rest) < 100:
        return {}
    plane = run.plane[rest[len(rest) // 2]]
    part = run.named("step", "rest")
    position = process.plain(plane[:3], plane[3:], int(np.flatnonzero(part)[-1]) + 1)
    depth = (plane[:3] - position) @ plane[3:]
    return {
        "penetration": float(depth[part[: len(depth)]].max()),
        "position": vibration(position[run.named("rest")[: len(depth)]], run.period),
        "depth": float(np.maximum(depth[run.named("rest")[: len(depth)]], 0.0).mean()),
    }


def _limits(run: TouchRun, plain: dict[str, Any], parameters: dict[str, Any]) -> dict[str, float]:
    """How far run and reference may be apart, from what either gives way by [m]."""
    p = parameters["friction"]
    load = float(np.percentile(run.touch.load[run.touch.load > 0.0], 99)) if run.touch.load.any() else 0.0
    normal = plain.get("penetration", 0.0) + load / REFERENCE_STIFFNESS
    along = p["friction_coefficient"] * load / p["stiffness"]
    return {"load": load, "normal": normal, "along": along, "tool": normal + along}


def _claims(name: str, run: TouchRun, n: dict[str, Any], parameters: dict[str, Any]) -> list[Claim]:
    split, implicit, limits = n["against_split"], n["against_implicit"], n["limits"]
    delayed = bool(parameters["device"]["command_delay_ticks"])
    claims = []
    if run.mode == "lockstep" and not delayed:
        claims.append(
            Claim(
                f"The nodes do what one process does ({name}).",
                f"tool, bodies, push and friction differ by {split['motion']:.1e} m, {split['bodies']:.1e} m, "
                f"{split['push']:.1e} N, {split['friction']:.1e} N at the most",
                max(split.values()) <= SAME,
            )
        )
    bodies = n["bodies"]
    claims += [
        Claim(
            f"Bodies get what the tool gets: every change of momentum is that of the forces of the tick ({name}).",
            "; ".join(f"{b}: {v['momentum']:.1e} N s unaccounted for" for b, v in bodies.items())
            + f" (limit {MOMENTUM:.0e} N s)",
            all(v["momentum"] < MOMENTUM for v in bodies.values()) if run.mode == "lockstep" else None,
        ),
        *_body_claims(name, bodies, limits),
        Claim(
            f"At fixed bodies and by the box's side the tool moves as in one implicit step ({name}).",
            f"{1e3 * implicit['motion']:.2f} mm apart at the most (limit {1e3 * limits['tool']:.2f} mm: wall, "
            f"reference and sticking friction give way); let go {1e3 * implicit['let_go']:.2f} mm, the wall throws it",
            implicit["motion"] < limits["tool"],
        ),
        *_rest_claims(name, n),
        Claim(
            f"Sticking and sliding change no more often than in one implicit step ({name}).",
            f"{n['transitions']['run']} changes that last {1e3 * LASTING:g} ms while leaning and dragging, implicit "
            f"{n['transitions']['implicit']}; friction varies by {n['chatter']:.3f} N from tick to tick "
            f"(limit {CHATTER:g} N)",
            n["transitions"]["run"] <= n["transitions"]["implicit"] + 1 and n["chatter"] < CHATTER
            if n["transitions"]["implicit"]
            else None,
        ),
        _energy_claim(name, n),
        _margin_claim(name, n["margins"]),
    ]
    if run.mode == "realtime":
        claims.append(
            Claim(
                f"In realtime at most {100 * MISSED:g} % of the ticks are missed ({name}).",
                f"{100 * n['missed']:.2f} % of {len(run.time) / (1.0 - n['missed']):.0f} ticks",
                n["missed"] <= MISSED,
            )
        )
    return claims


#: momentum that may be unaccounted for: the solver's 1e-5 of what 1 kg gets by its weight in a tick [N s]
MOMENTUM = 1e-7


def _body_claims(name: str, bodies: dict[str, Any], limits: dict[str, float]) -> list[Claim]:
    claims = []
    if box := bodies.get("box"):
        claims.append(
            Claim(
                f"A pushed box moves as in one implicit step ({name}).",
                f"{1e3 * box['apart']:.3f} mm apart at the most on {1e3 * box['way']:.1f} mm (limit "
                f"{1e3 * limits['normal']:.2f} mm, by which wall and reference give way)",
                box["apart"] < limits["normal"] if box["way"] > MOVED else None,
            )
        )
    if ball := bodies.get("ball"):
        claims.append(
            Claim(
                f"A knocked ball becomes as fast as in one implicit step ({name}).",
                f"{1e3 * ball['fastest']:.1f} mm/s, implicit {1e3 * ball['fastest_implicit']:.1f} mm/s (limit "
                f"{100 * SHARE:g} %); after the rim {1e3 * ball['apart']:.1f} mm apart on {1e3 * ball['way']:.1f} mm",
                abs(ball["fastest"] - ball["fastest_implicit"]) < SHARE * ball["fastest_implicit"]
                if ball["way"] > MOVED
                else None,
            )
        )
    return claims


def _rest_claims(name: str, n: dict[str, Any]) -> list[Claim]:
    rest, plain = n["rest"], n["plain_wall"]
    if not rest or not plain:
        return []
    line, there, count = rest["position"], rest["position_plain"], rest["count"]
    block, box = (1e3 * n["penetration"].get(body, 0.0) for body in ("block", "box"))
    wall = 1e3 * plain["penetration"]
    return [
        Claim(
            f"The resting tool does not vibrate ({name}).",
            f"highest line above {VIBRATION:g} Hz: {1e6 * line['amplitude']:.1f} µm at {line['frequency']:.0f} Hz "
            f"(limit {1e6 * count:.1f} µm, one count); at the plain wall {1e6 * there['amplitude']:.1f} µm; push "
            f"{rest['push']['amplitude']:.3f} N at {rest['push']['frequency']:.0f} Hz",
            line["amplitude"] < count,
        ),
        Claim(
            f"At rest it is no deeper in the block, or in the top of the box, than in the plain wall ({name}).",
            f"on average {1e6 * rest['depth']['block']:.1f} µm, {1e6 * rest['depth']['box']:.1f} µm, plain wall "
            f"{1e6 * rest['depth']['plain']:.1f} µm (limit: one count more)",
            max(rest["depth"]["block"], rest["depth"]["box"]) <= rest["depth"]["plain"] + count,
        ),
        Claim(
            f"While it is pushed in it is no deeper in the block than in the plain wall under the same push ({name}).",
            f"{block:.3f} mm, plain wall {wall:.3f} mm (limit: one count more)",
            n["penetration"]["block"] <= plain["penetration"] + count,
        ),
        Claim(
            f"Nor is it then deeper in the top of the box, which the table bears ({name}).",
            f"{box:.3f} mm, {1e3 * n['against_implicit']['on_the_box']:.2f} mm from one implicit step "
            f"(limit: that of the plain wall, which stands elsewhere: {wall:.3f} mm and one count)",
            n["penetration"]["box"] <= plain["penetration"] + count if "box" in n["penetration"] else None,
        ),
    ]


def _energy_claim(name: str, n: dict[str, Any]) -> Claim:
    one, other = n["energy"]["run"], n["energy"]["implicit"]
    return Claim(
        f"The cut makes no energy, and friction takes what it takes in one implicit step ({name}).",
        f"action and reaction differ by {one['cut_work']:.1e} J; friction {1e3 * one['dissipated']:.2f} mJ, implicit "
        f"{1e3 * other['dissipated']:.2f} mJ; pushes {1e3 * one['push_work']:+.2f} mJ, implicit "
        f"{1e3 * other['push_work']:+.2f} mJ",
        one["cut_work"] < ROUNDING and abs(one["dissipated"] - other["dissipated"]) < SHARE * other["dissipated"]
        if other["dissipated"] > SLID
        else None,
    )


def _margin_claim(name: str, found: dict[str, Any]) -> Claim:
    light = {kind: lightest(values) for kind, values in found["pushed"].items()}
    thrown = {kind: values[f"{MASSES[-1]:g}"] for kind, values in found["pushed"].items()}
    words = {kind: f"{1e3 * mass:g} g" if np.isfinite(mass) else "no mass" for kind, mass in light.items()}
    made = thrown["bodies taken for fixed"]
    return Claim(
        f"A wall that takes bodies for fixed loses light ones that it pushes; one that is told does not ({name}).",
        f"contact kept down to {words['nodes']}, implicit {words['implicit']}; bodies taken for fixed "
        f"{words['bodies taken for fixed']}, and with reactions one tick later {words['and one tick later']}"
        + (f"; at {1e3 * MASSES[-1]:g} g the pushes then make {1e3 * made['push_work']:.2f} mJ" if made else ""),
        light["nodes"] == light["implicit"] == MASSES[-1] and light["bodies taken for fixed"] > MASSES[-1],
    )


_CAPTION = (
    "Top: who takes what within a tick; dashed edges are of the tick before. Then tool and bodies of the run (solid) "
    "and of one implicit step (dotted), push and friction, how far both are apart, and below the spectra of the tool "
    "that rests on the block, and how deep the tool gets that presses on a lighter box."
)


def _figure(runs: dict[str, tuple[TouchRun, Touch, Touch]], bag: Bag, metrics: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(13, 19), layout="constrained")
    axes = figure.subplot_mosaic(
        [
            ["graph"] * 2,
            ["tool"] * 2,
            ["bodies"] * 2,
            ["push"] * 2,
            ["friction"] * 2,
            ["apart"] * 2,
            ["rest", "margin"],
        ],
        height_ratios=(3, 3, 2, 2, 2, 2, 3),
    )
    draw(axes["graph"], load_experiment(bag.custom["experiment"]).graph, latencies(bag))
    for name, (run, _, implicit) in runs.items():
        n = min(len(run.time), len(implicit.position))
        t, touch = run.time[:n], run.touch
        for i, colour in enumerate(("tab:red", "tab:green", "tab:blue")):
            axes["tool"].plot(t, 1e3 * touch.position[:n, i], color=colour, label=f"{'xyz'[i]}, {name}")
            axes["tool"].plot(t, 1e3 * implicit.position[:n, i], ":", color="black", linewidth=0.8)
        for j, body in enumerate(run.names):
            way = np.linalg.norm(touch.pose[:n, j, :3] - touch.pose[0, j, :3], axis=1)
            axes["bodies"].plot(t, 1e3 * way, label=f"{body}, {name}")
            way = np.linalg.norm(implicit.pose[:n, j, :3] - touch.pose[0, j, :3], axis=1)
            axes["bodies"].plot(t, 1e3 * way, ":", color="black")
        for key, one, other in (
            ("push", touch.load, implicit.load),
            ("friction", *(np.linalg.norm(x.friction, axis=1) for x in (touch, implicit))),
        ):
            axes[key].plot(t, one[:n], linewidth=0.6, label=name)
            axes[key].plot(t, other[:n], ":", color="black", linewidth=0.8, label="one implicit step")
        distance = np.linalg.norm(touch.position[:n] - implicit.position[:n], axis=1)
        axes["apart"].plot(t, 1e3 * distance, label=f"tool, {name}")
        for j, body in enumerate(run.names):
            distance = np.linalg.norm(touch.pose[:n, j, :3] - implicit.pose[:n, j, :3], axis=1)
            axes["apart"].plot(t, 1e3 * distance, label=f"{body}, {name}")
        rest = run.named("rest")
        if rest.sum() > 100:
            for signal, label in ((touch.position, name), (implicit.position, "one implicit step")):
                frequency, amplitude = spectrum(signal[: len(run.time)][rest[: len(signal)]], run.period)
                axes["rest"].loglog(frequency[1:], 1e6 * amplitude[1:], linewidth=0.8, label=label)
            axes["rest"].axhline(1e6 * metrics[name]["rest"]["count"], color="black", linestyle="--", label="one count")
        for kind, values in metrics[name]["margins"]["pressed"].items():
            pairs = [(1e3 * float(m), 1e3 * v["depth"]) for m, v in values.items() if v]
            axes["margin"].loglog(*np.transpose(pairs), "o-", label=kind)
    run = next(iter(runs.values()))[0]
    for key, words in (("tool", "tool [mm]"), ("bodies", "way of bodies [mm]"), ("push", "push [N]"),
                       ("friction", "friction [N]"), ("apart", "to one step [mm]")):  # fmt: skip
        axes[key].set_ylabel(words)
        axes[key].legend(loc="upper left", fontsize=7)
        for phase in run.phases:
            if phase["kind"] in ("push", "slide"):
                colour = "tab:red" if phase["kind"] == "push" else "tab:blue"
                axes[key].axvspan(phase["start"], phase["end"], color=colour, alpha=0.08, linewidth=0)
    for phase in run.phases:
        if phase["kind"] != "move" and phase["start"] < run.time[-1]:
            axes["tool"].text(phase["start"], 26.0, phase["name"], rotation=60, fontsize=6)
    axes["push"].set_ylim(0.0, 9.0)
    axes["friction"].set_ylim(0.0, 2.5)
    axes["apart"].set(xlabel="time [s]", yscale="log", ylim=(1e-3, 1e1))
    axes["rest"].set(xlabel="frequency [Hz]", ylabel="tool at rest [µm]", ylim=(1e-4, 1e2))
    axes["margin"].set(xlabel="mass of the box [g]", ylabel="depth in its top [mm]")
    for key in ("rest", "margin"):
        axes[key].legend(fontsize=8)
    return figure
