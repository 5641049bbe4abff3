"""Report of the 2R manipulator on a circle on the display: Fig. 12 of Faulring et al."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from admittance_constraints import TwoLinkOnCircle
from haptic_bags.bags import Bag
from haptic_experiments.kit.display import DisplayRun, ToolPath, are_judged, general_report, spread
from haptic_experiments.report import Claim, Report

#: energies are followed until this share of the energy at the release is left
_REST = 1e-3
#: force along the circle that counts as pushing, or as holding back [N]
_FORCE = 0.5


def energies(mechanism: TwoLinkOnCircle, q: np.ndarray, qdot: np.ndarray) -> np.ndarray:
    """Kinetic energy of link 1 and link 2, (n, 2) [J]: uniform rods of mass m, length l.

    T1 = m l^2 q1'^2/6; T2 = m/2 |v_c|^2 + m l^2 (q1' + q2')^2/24 with the centre's velocity v_c. Their sum is (33).
    """
    m, length = mechanism.link_mass, mechanism.link_length
    rate, both = qdot[:, 0], qdot[:, 0] + qdot[:, 1]
    centre = (length * rate) ** 2 + (0.5 * length * both) ** 2 + length**2 * rate * both * np.cos(q[:, 1])
    first = m * length**2 * rate**2 / 6.0
    return np.column_stack((first, 0.5 * m * centre + m * length**2 * both**2 / 24.0))


def joints_of(mechanism: TwoLinkOnCircle, path: ToolPath, near: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Joint angles and rates (n, 2) of a motion of the end point, which need not be on the circle.

    Args:
        mechanism: the manipulator.
        path: of the end point; its orientation does not count.
        near: angles (n, 2) on the same branch of the elbow.

    Where the end point is as far away as the links are long, or further, rates do not exist: not a number.
    """
    length = mechanism.link_length
    a, b = (path.position[:, i] - mechanism.base[i] for i in range(2))
    bend = np.arccos(np.clip((a**2 + b**2) / (2.0 * length**2) - 1.0, -1.0, 1.0)) * np.sign(np.sin(near[:, 1]))
    q = np.column_stack((np.arctan2(b, a) - 0.5 * bend, bend))
    both = q[:, 0] + q[:, 1]
    sine, u, v = np.where(np.sin(bend) == 0.0, np.nan, np.sin(bend)), path.velocity[:, 0], path.velocity[:, 1]
    first = (np.cos(both) * u + np.sin(both) * v) / (length * sine)
    sum_of_rates = -(np.cos(q[:, 0]) * u + np.sin(q[:, 0]) * v) / (length * sine)
    return q, np.column_stack((first, sum_of_rates - first))


def signals_of(run: DisplayRun) -> dict[str, np.ndarray]:
    """Signals of Fig. 12, arrays (n,) or (n, 2), of the reference and (`measured_...`) of the measured tool.

    speed: of the end point along the circle [m/s]; error: measured less reference along the circle [m]; radial:
    measured distance from the circle [m]; force: measured, along the circle [N].
    """
    mechanism = run.mechanism
    assert isinstance(mechanism, TwoLinkOnCircle)
    q, qdot = run.state["q"], run.state["q_velocity"]
    links = energies(mechanism, q, qdot)
    measured = energies(mechanism, *joints_of(mechanism, run.measured, q))
    p, x = run.measured.position, run.reference.position
    angle, wanted = (np.unwrap(np.arctan2(place[:, 1], place[:, 0])) for place in (p, x))
    tangent = np.column_stack((-np.sin(angle), np.cos(angle)))
    around = np.column_stack((-np.sin(wanted), np.cos(wanted)))
    turn = (angle - wanted + np.pi) % (2.0 * np.pi) - np.pi
    return {
        "links": links,
        "total": links.sum(axis=1),
        "first_rate": qdot[:, 0],
        "measured_links": measured,
        "measured_total": measured.sum(axis=1),
        "speed": np.sum(run.reference.velocity[:, :2] * around, axis=1),
        "measured_speed": np.sum(run.measured.velocity[:, :2] * tangent, axis=1),
        "error": mechanism.circle_radius * turn,
        "radial": np.hypot(p[:, 0], p[:, 1]) - mechanism.circle_radius,
        "force": np.sum(run.wrench[:, :2] * tangent, axis=1),
    }


def measure(run: DisplayRun) -> dict[str, Any]:
    """Numbers of one run."""
    s = signals_of(run)
    assert isinstance(run.mechanism, TwoLinkOnCircle)
    numbers = run.common_metrics() | {
        "circle_radius": run.mechanism.circle_radius,
        "free_direction": spread(s["error"]),
        "radial": spread(s["radial"]),
        "led": _led(run, s),
        "released": _released(run, s),
    }
    return numbers


def _led(run: DisplayRun, s: dict[str, np.ndarray]) -> dict[str, Any] | None:
    """While the hand leads the end point round, from when it is first as fast as it is half of that time."""
    leads = run.named("push") & run.during("slide")
    if not leads.any():
        return None
    fast = leads & (s["measured_speed"] >= np.median(s["measured_speed"][leads]))
    leads[: np.flatnonzero(fast)[0]] = False
    speed, total, force = (s[name][leads] for name in ("measured_speed", "total", "force"))
    turns = len(_changes(force * (np.abs(force) > _FORCE)))
    return {
        "to_its_end": not bool(leads[-1]),
        "from": float(run.time[leads][0]),
        "speed": float(speed.mean()),
        "speed_deviation": float(speed.std()),
        "energy_low": float(total.min()),
        "energy_high": float(total.max()),
        "pushed": float(np.mean(force > _FORCE)),
        "held_back": float(np.mean(force < -_FORCE)),
        "turns": turns,
    }


def _released(run: DisplayRun, s: dict[str, np.ndarray]) -> dict[str, Any] | None:
    """After the release, from when the hand does not act any more until the energy is spent."""
    free = run.during("release") & ~run.touched
    if not free.any():
        return None
    first = int(np.flatnonzero(free)[0])
    total = s["total"][first:]
    if total[0] == 0.0:
        return None
    spent = np.flatnonzero(total < _REST * total[0])
    part = slice(first, first + int(spent[0]) if len(spent) else len(run.time))
    total, links, speed = s["total"][part], s["links"][part], np.abs(s["speed"][part])
    measured = s["measured_total"][part]
    measured = measured[np.isfinite(measured)]
    reversals = _changes(s["first_rate"][part])
    beside = np.maximum(links[reversals - 1, 0], links[reversals, 0])
    return {
        "from": float(run.time[part.start]),
        "to": float(run.time[part.stop - 1]),
        "spent": len(spent) > 0,
        "energy": float(total[0]),
        "largest_rise": float(np.diff(total).max()) if len(total) > 1 else None,
        "measured_rise": float(np.max(measured - np.minimum.accumulate(measured))) if len(measured) else None,
        "speed_rises": int(_rises(speed)),
        "largest_speed_rise": float(np.max(speed - np.minimum.accumulate(speed))),
        "reversals": len(reversals),
        "first_at_reversal": float((beside / total[reversals]).max()) if len(reversals) else None,
        "second_smallest_share": float((links[:, 1] / total).min()),
        "force": float(np.abs(s["force"][part]).max()),
    }


def _changes(values: np.ndarray) -> np.ndarray:
    """Places at which a signal's sign is not what it was before; zeros in between belong to what was before."""
    places = np.flatnonzero(values)
    signs = np.sign(values[places])
    return places[1:][signs[1:] != signs[:-1]]


def _rises(speed: np.ndarray) -> int:
    """How often the speed turns from falling to rising."""
    change = np.sign(np.diff(speed))
    change = change[change != 0]
    return int(np.sum((change[1:] > 0) & (change[:-1] < 0)))


def analyse(bags: dict[str, Bag]) -> Report:
    """Metrics, claims and figure of one or more bags of the experiment."""
    runs = {name: DisplayRun.from_bag(bag) for name, bag in bags.items()}
    if not are_judged(runs, TwoLinkOnCircle):
        return general_report(runs)
    metrics = {name: measure(run) for name, run in runs.items()}
    first = next(iter(metrics.values()))
    claims = [_energy_claim(first), _first_link_claim(first), _second_link_claim(first), _lead_claim(first)]
    claims.append(_tracking_claim(first))
    run = next(iter(runs.values()))
    return Report(
        {"runs": metrics}, claims, lambda: _figure(run), _CAPTION + run.left_out, {"constraints": run.parameters}
    )


_NO_RELEASE = "the run ends before the release"


def _energy_claim(n: dict[str, Any]) -> Claim:
    text = "Once released, the kinetic energy falls monotonically, although the speed rises at times (Fig. 12A, B)."
    free = n["released"]
    if free is None or free["largest_rise"] is None:
        return Claim(text, _NO_RELEASE, None)
    since = f"from {free['from']:.2f} s on, when the hand has let go, {1e3 * free['energy']:.0f} mJ"
    if free["largest_rise"] > 0.0:
        return Claim(text, f"{since}: it rose by up to {free['largest_rise']:.1e} J in a tick", False)
    if not free["speed_rises"]:
        shown = False if free["spent"] else None
        return Claim(text, f"{since}: no rise in any tick; the speed did not rise, either", shown)
    measured = free["measured_rise"]
    also = "" if measured is None else f"; of the measured tool, it was at most {1e3 * measured:.2g} mJ above before"
    return Claim(
        text,
        f"{since}: no rise in any tick of the reference (largest change {free['largest_rise']:.1e} J), its speed rose "
        f"{free['speed_rises']} times, by up to {1e3 * free['largest_speed_rise']:.0f} mm/s{also}",
        True,
    )


#: share of the energy that is zero in two ticks between which the first link's rate changes its sign; one that is not
_ZERO, _NOT_ZERO = 1e-2, 1e-1


def _first_link_claim(n: dict[str, Any]) -> Claim:
    text = "The kinetic energy of link 1 goes to zero each time it reverses."
    free = n["released"]
    if free is None or free["first_at_reversal"] is None:
        return Claim(text, _NO_RELEASE if free is None else "no reversal after the release", None)
    return Claim(
        text,
        f"{free['reversals']} reversals; at most {100 * free['first_at_reversal']:.2g} % of the total in the two ticks "
        f"beside one (limit {100 * _ZERO:g} %)",
        free["first_at_reversal"] < _ZERO,
    )


def _second_link_claim(n: dict[str, Any]) -> Claim:
    text = "The kinetic energy of link 2 never approaches zero."
    free = n["released"]
    if free is None:
        return Claim(text, _NO_RELEASE, None)
    return Claim(
        text,
        f"it never has less than {100 * free['second_smallest_share']:.0f} % of the total (limit {100 * _NOT_ZERO:g} "
        "%; of two equal rods the second has 43 % or more, however they move)",
        free["second_smallest_share"] > _NOT_ZERO,
    )


def _lead_claim(n: dict[str, Any]) -> Claim:
    text = "To keep the speed constant the user must alternately push and hold back, as the energy rises and falls."
    led = n["led"]
    if led is None:
        return Claim(text, "the hand does not lead in this run", None)
    shown = led["turns"] >= _TURNS
    return Claim(
        text,
        f"while energy went between {1e3 * led['energy_low']:.0f} and {1e3 * led['energy_high']:.0f} mJ, the hand "
        f"pushed {100 * led['pushed']:.0f} % of the time, held back {100 * led['held_back']:.0f} % (above {_FORCE:g} "
        f"N), and changed {led['turns']} times between the two (limit {_TURNS}); the speed was "
        f"{1e3 * led['speed']:.0f} mm/s with an RMS deviation of {1e3 * led['speed_deviation']:.0f} mm/s",
        shown if shown or led["to_its_end"] else None,
    )


#: changes between pushing and holding back that are "alternately"
_TURNS = 3


def _tracking_claim(n: dict[str, Any]) -> Claim:
    error, radial, limit = n["free_direction"], n["radial"], _SMALL_ERROR * n["circle_radius"]
    return Claim(
        "The error in the direction of free motion is small (Fig. 12C).",
        f"along the circle {1e3 * error['rms']:.2g} mm RMS (limit {1e3 * limit:.2g} mm), largest "
        f"{1e3 * error['largest']:.2g} mm; radially {1e3 * radial['rms']:.2g} mm RMS, largest "
        f"{1e3 * radial['largest']:.2g} mm",
        error["rms"] < limit,
    )


#: share of the circle's radius that counts as small
_SMALL_ERROR = 1e-2

_CAPTION = (
    "Fig. 12. A: kinetic energy of the manipulator and of its links (reference; dots: total from the measured tool; "
    "enlarged: after the release). "
    "B: measured speed of the end point along the circle. C: measured less desired position along the circle. D: "
    "measured force along the circle, and distance from it. Shaded: released, the hand lets go at its beginning."
)


def _enlarge_release(axes: Axes, run: DisplayRun, s: dict[str, np.ndarray]) -> None:
    """The energies after the release once more, on a logarithmic scale."""
    free = run.during("release") & ~run.touched
    if not s["total"][free].any():
        return
    inset = axes.inset_axes((0.6, 0.28, 0.38, 0.54))
    most = 1e3 * float(s["total"][free].max())
    for values, color in zip((s["total"], *s["links"].T), ("black", "tab:blue", "tab:orange"), strict=True):
        inset.plot(run.time[free], np.maximum(1e3 * values[free], 1e-5 * most), color=color, linewidth=1.0)
    inset.set(yscale="log", ylim=(1e-3 * most, 2.0 * most))
    inset.set_title("released, logarithmic", fontsize="small")
    inset.tick_params(labelsize="small")


def _figure(run: DisplayRun) -> Figure:
    s = signals_of(run)
    figure = Figure(figsize=(11, 11), layout="constrained")
    energy, speed, error, force = figure.subplots(4, 1, sharex=True)
    every = slice(None, None, max(1, len(run.time) // 300))
    energy.plot(
        run.time[every], 1e3 * s["measured_total"][every], ".", color="0.6", markersize=3, label="total, measured"
    )
    energy.plot(run.time, 1e3 * s["total"], "k-", label="total")
    energy.plot(run.time, 1e3 * s["links"][:, 0], "tab:blue", label="link 1")
    energy.plot(run.time, 1e3 * s["links"][:, 1], "tab:orange", label="link 2")
    energy.set(ylabel="energy (mJ)", title="A: kinetic energy")
    energy.margins(y=0.2)
    energy.legend(loc="upper left", ncols=4)
    _enlarge_release(energy, run, s)
    speed.plot(run.time, 1e3 * s["measured_speed"], "k-", linewidth=0.8)
    speed.set(ylabel="speed (mm/s)", title="B: speed along the circle")
    error.plot(run.time, 1e3 * s["error"], "k-", linewidth=0.8)
    error.set(ylabel="error (mm)", title="C: error along the circle")
    force.plot(run.time, s["force"], "k-", linewidth=0.8, label="force")
    force.set(ylabel="force (N)", xlabel="time (s)", title="D: force along the circle, distance from it")
    radial = force.twinx()
    radial.plot(run.time, 1e6 * s["radial"], color="tab:red", linewidth=0.5)
    radial.set_ylabel("distance from the circle (µm)", color="tab:red")
    for axes in (energy, speed, error, force):
        for phase in run.phases:
            if phase["kind"] == "release" and phase["start"] < run.time[-1]:
                axes.axvspan(phase["start"], min(phase["end"], run.time[-1]), color="tab:red", alpha=0.06)
    return figure
