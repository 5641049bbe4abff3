"""The largest stable stiffness per delay: the position-controlled wall beside the classical spring-damper wall."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tau_wall_control.device.parameters import TauParameters
from tau_wall_control.device.tau_device import TauDevice
from tau_wall_control.simulation.monte_carlo import FIGURES, Design, Pushes, places
from tau_wall_control.simulation.push import VELOCITY_POLE
from tau_wall_control.simulation.z_width import (
    largest_gain,
    rendered_stiffness,
    spring_damper_controller,
    spring_damper_limit,
)
from tau_wall_control.study.schemes import SETTLED, Bound
from tau_wall_control.study.settings import Answer, Finding, Grid, Results, StudySettings, Task, nine_points

#: delays [samples]
DELAYS = (0, 1, 2, 3, 4)
#: poles of the classical wall's velocity filter [rad/s]; 0 for the true velocity
POLES = (0.0, 500.0, 2000.0, 8000.0)
#: stiffness of the classical wall in a push over its largest stable stiffness
SHARE = 0.5
#: torque noise with counts above which a loop is not settled: twice the largest of stable ones [N m]
COUNTS_SETTLED = 0.1


@dataclass(frozen=True)
class SpringDamper:
    """The classical wall at a point: its largest stable stiffness over all dampings, and its response to a push.

    Attributes:
        parameters: parameters of the device.
        point: position of the tool [m].
        delay: delay [samples].
        pole: pole of the velocity filter [rad/s]; 0 for the true velocity.
        force: height of a step at half of that stiffness and damping [N].
        duration: duration of the step [s].
    """

    parameters: TauParameters
    point: tuple[float, float, float]
    delay: int
    pole: float
    force: float
    duration: float

    def run(self) -> dict[str, np.ndarray]:
        """Computes `stiffness` [N/m] and `damping` [N s/m] at the edge, and `figures` (FIGURES) of the step."""
        device = TauDevice(self.parameters)
        edge = spring_damper_limit(device, self.point, delay=self.delay, velocity_pole=self.pole or None)
        made = spring_damper_controller(device, stiffness=SHARE * edge.stiffness, damping=SHARE * edge.damping)
        push = Pushes(
            self.parameters,
            made,
            (self.point,),
            self.force,
            self.duration,
            quantized=self.pole > 0.0,
            velocity_pole=self.pole or VELOCITY_POLE,
            delay=self.delay,
        )
        return {
            "stiffness": np.array(edge.stiffness),
            "damping": np.array(edge.damping),
            "figures": push.run()["figures"][0, 0],
        }


@dataclass(frozen=True)
class GainEdge:
    """The largest stable factor on a controller's gains at a point.

    Attributes:
        parameters: parameters of the device.
        design: design of the controller.
        point: position of the tool [m].
        delay: delay [samples].
    """

    parameters: TauParameters
    design: Design
    point: tuple[float, float, float]
    delay: int

    def run(self) -> dict[str, np.ndarray]:
        """Computes `gain` at the edge of stability, and `stiffness` of the proportional part there [N/m]."""
        controller = self.design.controller(self.parameters)
        gain = largest_gain(controller, self.point, delay=self.delay)
        stiffness = rendered_stiffness(controller, self.point, gain) if gain else 0.0
        return {"gain": np.array(gain), "stiffness": np.array(stiffness)}


def _controllers(delay: int) -> dict[str, Design]:
    known = (("delay", delay),)
    return {
        "mopc": Design("mopc"),
        "observer, knows the delay": Design("observer", options=known),
        "stiff, knows the delay": Design("stiff", options=known),
        "predictive, knows the delay": Design("predictive", options=known),
    }


def _key(name: str) -> str:
    return name.partition(",")[0]


def tasks(settings: StudySettings) -> dict[str, Task]:
    """Returns the edges of stability at the centre, and steps at the nine points."""
    p = settings.tau.parameters
    centre = (0.0, 0.0, p.wall.plane_z)
    nine = nine_points(settings.tau)
    work: dict[str, Task] = {}
    for delay in settings.thin(DELAYS):
        for pole in settings.thin(POLES):
            work[f"spring-{delay}-{pole:g}"] = SpringDamper(
                p, centre, delay, pole, settings.push, p.disturbance.duration
            )
        for name, design in _controllers(delay).items():
            work[f"edge-{delay}-{_key(name)}"] = GainEdge(p, design, centre, delay)
            work[f"push-{delay}-{_key(name)}"] = settings.pushes(design, nine, delay=delay)
            work[f"counts-{delay}-{_key(name)}"] = settings.pushes(design, nine, delay=delay, quantized=True)
        points = places(nine)
        work[f"bound-{delay}"] = Bound(p, points, (settings.push,) * 9, delay)
    return work


@dataclass(frozen=True)
class _Curves:
    """Stiffness over delay [N/m]; of the classical wall by pole of its velocity filter, of controllers by name.

    Attributes:
        delays: [samples].
        spring, damping: of the classical wall on its edge of stability in the centre, [N/m], [N s/m].
        pushed: rendered by the classical wall at half of that edge in a step.
        edge, gain: of the controllers with all gains raised to the edge of stability, and the factor on the gains.
        push, counts: lowest in a step at the nine points, with true state and with encoder counts.
        centre: in a step in the centre.
        bound: of any controller, at the worst point.
    """

    delays: list[int]
    spring: dict[float, list[float]]
    damping: dict[float, list[float]]
    pushed: dict[float, list[float]]
    edge: dict[str, list[float]]
    gain: dict[str, list[float]]
    push: dict[str, list[float]]
    counts: dict[str, list[float]]
    centre: dict[str, list[float]]
    bound: list[float]


def _curves(settings: StudySettings, results: Results) -> _Curves:
    delays, poles = settings.thin(DELAYS), settings.thin(POLES)
    names = list(_controllers(0))
    return _Curves(
        delays=delays,
        spring={p: [float(results[f"spring-{d}-{p:g}"]["stiffness"]) for d in delays] for p in poles},
        damping={p: [float(results[f"spring-{d}-{p:g}"]["damping"]) for d in delays] for p in poles},
        pushed={
            p: [
                _settled(results[f"spring-{d}-{p:g}"]["figures"][None], COUNTS_SETTLED if p else SETTLED)
                for d in delays
            ]
            for p in poles
        },
        edge={n: [float(results[f"edge-{d}-{_key(n)}"]["stiffness"]) for d in delays] for n in names},
        gain={n: [float(results[f"edge-{d}-{_key(n)}"]["gain"]) for d in delays] for n in names},
        push={n: [_settled(results[f"push-{d}-{_key(n)}"]["figures"][:, 0]) for d in delays] for n in names},
        counts={
            n: [_settled(results[f"counts-{d}-{_key(n)}"]["figures"][:, 0], COUNTS_SETTLED) for d in delays]
            for n in names
        },
        centre={n: [float(results[f"push-{d}-{_key(n)}"]["figures"][4, 0, 0]) for d in delays] for n in names},
        bound=[float((settings.push / results[f"bound-{d}"]["penetration"]).min()) for d in delays],
    )


def answer(settings: StudySettings, results: Results) -> Answer:
    """Makes the Z-width plot and the tables of stiffness over delay."""
    c = _curves(settings, results)
    metrics: dict[str, Any] = {
        "delays": list(c.delays),
        "spring_damper_edge": {f"pole_{p:g}" if p else "true_velocity": k for p, k in c.spring.items()},
        "spring_damper_edge_damping": {f"pole_{p:g}" if p else "true_velocity": k for p, k in c.damping.items()},
        "spring_damper_step": {f"pole_{p:g}" if p else "true_velocity": k for p, k in c.pushed.items()},
        "edge": c.edge,
        "edge_gain": c.gain,
        "step_lowest": c.push,
        "step_lowest_counts": c.counts,
        "step_centre": c.centre,
        "bound_lowest": c.bound,
    }
    result = Answer(metrics)
    result.figures["delay_z_width"] = (
        partial(_figure, settings, c),
        "Left: edges of stability of the sampled linear loop in the centre, nobody holding the tool; the classical "
        "wall's K with its best damping, the controllers' proportional stiffness with all gains raised "
        "together (their model of the delay is exact). "
        f"Right: what a step of {settings.push:g} N meets at the worst of the nine points (classical wall: centre, at "
        "half its edge); 0 where it does not settle. Filled: true state, hollow: counts.",
    )
    result.tables += _tables(c)
    result.findings += _findings(settings, c)
    return result


def _tables(c: _Curves) -> list[Grid]:
    edges = [
        (
            str(d),
            *(f"{1e-3 * k[i]:.1f}" for k in c.spring.values()),
            *(f"{1e-3 * c.edge[n][i]:.1f} ({c.gain[n][i]:.2f})" for n in c.edge),
        )
        for i, d in enumerate(c.delays)
    ]
    met = [
        (
            str(d),
            *(f"{1e-3 * k[i]:.1f}" for k in c.pushed.values()),
            *(f"{1e-3 * c.push[n][i]:.1f} / {1e-3 * c.counts[n][i]:.1f}" for n in c.push),
            f"{1e-3 * c.bound[i]:.1f}",
        )
        for i, d in enumerate(c.delays)
    ]
    header = ("delay", *("spring-damper, " + (f"pole {p:g}" if p else "true velocity") for p in c.spring), *c.edge)
    return [
        Grid("Edge of stability in the centre [kN/m] (factor on all gains)", header, edges),
        Grid(
            "Stiffness that a step meets [kN/m], 0: does not settle (controllers: true state / counts, worst of nine)",
            (*header, "bound"),
            met,
        ),
    ]


def _findings(settings: StudySettings, c: _Curves) -> list[Finding]:
    findings = []
    if 1 in c.delays and VELOCITY_POLE in c.pushed:
        i = c.delays.index(1)
        classical, stiff = c.pushed[VELOCITY_POLE][i], c.centre["stiff, knows the delay"][i]
        findings.append(
            Finding(
                "position control renders a stiffer wall than the classical spring-damper on the same device",
                f"a step of {settings.push:g} N, one sample of delay, in the centre: stiff {1e-3 * stiff:.1f} kN/m, "
                f"spring-damper at half of its edge {1e-3 * classical:.1f}",
                bool(stiff > classical),
            )
        )
    if 2 in c.delays:
        i, knows = c.delays.index(2), [n for n in c.push if n != "mopc"]
        last = {n: [d for d, k in zip(c.delays, c.push[n], strict=True) if k > 0.0] for n in c.push}
        findings.append(
            Finding(
                "with two samples of delay the paper's design is unstable; one that knows them is not",
                f"a step of {settings.push:g} N at the nine points: mopc {_words(c.push['mopc'][i])}, "
                + ", ".join(f"{_key(n)} {_words(c.push[n][i])}" for n in knows)
                + "; settles with delays of "
                + ", ".join(f"{_key(n)}: {', '.join(map(str, d))}" for n, d in last.items()),
                bool(c.push["mopc"][i] == 0.0 and c.push["stiff, knows the delay"][i] > 0.0),
            )
        )
    return findings


def _settled(figures: np.ndarray, noise: float = SETTLED) -> float:
    """Returns the lowest stiffness of some points [N/m]; 0 if torques do not come to rest."""
    if figures[:, FIGURES.index("activity")].max() >= noise:
        return 0.0
    return float(figures[:, FIGURES.index("stiffness")].min())


def _words(stiffness: float) -> str:
    return f"{1e-3 * stiffness:.1f} kN/m" if stiffness else "does not settle"


def _figure(settings: StudySettings, c: _Curves) -> Figure:
    figure = Figure(figsize=(13.0, 5.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for i, (pole, k) in enumerate(c.spring.items()):
        words = "spring-damper, " + (f"filter {pole:g} rad/s" if pole else "true velocity")
        grey = f"{0.15 + 0.2 * i:.2f}"
        left.plot(c.delays, 1e-3 * np.array(k), "s--", color=grey, label=words)
        right.plot(c.delays, _shown(c.pushed[pole]), "s--", color=grey, ms=4)
    for i, (name, k) in enumerate(c.edge.items()):
        left.plot(c.delays, _shown(k), "o-", color=f"C{i}", label=name)
        right.plot(c.delays, _shown(c.push[name]), "o-", color=f"C{i}")
        right.plot(c.delays, _shown(c.counts[name]), "o:", color=f"C{i}", mfc="none")
    right.plot(
        c.delays, 1e-3 * np.array(c.bound), "k-", lw=2.0, alpha=0.5, label="bound of any controller, worst point"
    )
    left.set(title="largest stable stiffness in the centre", ylabel="stiffness [kN/m]")
    right.set(title=f"stiffness that a step of {settings.push:g} N meets", ylabel="push / penetration [kN/m]")
    for axes in (left, right):
        axes.set(xlabel="extra delay [samples]", yscale="log", xticks=c.delays)
        axes.grid(alpha=0.3, which="both")
        axes.legend(fontsize=8)
    return figure


def _shown(k: list[float]) -> np.ndarray:
    return np.array([1e-3 * x if x > 0.0 else np.nan for x in k])
