"""Report of the rod that a gripper moves round a circle: section XII-B of Castro et al., run by run.

Times to failure over the frequency, and their errors, are the study `grasp`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.spatial.transform import Rotation

from convex_contact.scenes.grasp import LOST, Grasp
from haptic_bags.bags import Bag
from haptic_experiments.kit.contact import ContactRun, style
from haptic_experiments.report import Claim, Report

SCENE = "convex_contact.grasp_scene:grasp"
#: up to this share of the pendulum frequency the rod is to be held, from that share on it is to be lost [-]
SLOW, FAST = 0.75, 1.0
#: tilt of a rod that is held, at most [rad]
SECURE = np.radians(2.0)


def offset(run: ContactRun, scene: Grasp) -> np.ndarray:
    """Of the rod's centre from where it hung in the hand at the start (n, 3) [m]."""
    grip = run.position[:, run.body("gripper/hand")]
    return np.asarray(run.position[:, run.body("rod")] - grip + np.array([0.0, 0.0, scene.arm]))


def tilt(run: ContactRun) -> np.ndarray:
    """Of the rod's axis against the vertical (n,) [rad]."""
    axis = Rotation.from_quat(run.orientation[:, run.body("rod")]).as_matrix()[:, 2, 2]
    return np.asarray(np.arccos(np.clip(axis, -1.0, 1.0)))


def pads(run: ContactRun) -> np.ndarray:
    """Sum of the normal forces on the rod (n,) [N]."""
    rod = run.body("rod")
    return np.array([c.normal_force[(c.body == rod).any(axis=1)].sum() for c in run.contacts])


def measure(run: ContactRun, scene: Grasp) -> dict[str, Any]:
    """Numbers of one run; the creep is that of whole turns at its end."""
    force, moved = pads(run), offset(run, scene)
    bearing = np.flatnonzero(force > 0.0)
    last = float(run.time[bearing[-1]]) if len(bearing) else 0.0
    lost = run.time[-1] - last > LOST
    turns = int(0.5 * run.time[-1] * scene.frequency) if scene.frequency else 0
    first = int(
        np.argmin(np.abs(run.time - (run.time[-1] - (turns / scene.frequency if turns else 0.5 * run.time[-1]))))
    )
    sunk = moved[first, 2] - moved[-1, 2]
    hand = run.position[:, run.body("gripper/hand"), :2]
    turned = 2.0 * np.pi * scene.frequency * run.time
    circle = scene.circle_radius * np.column_stack([np.cos(turned), np.sin(turned)])
    return {
        "frequency_Hz": scene.frequency,
        "pendulum_frequency_Hz": scene.pendulum_frequency,
        "time_to_failure_s": last if lost else None,
        "largest_tilt_deg": float(np.degrees(tilt(run)[run.time <= last].max(initial=0.0))),
        "creep_um_per_s": None if lost else float(1e6 * sunk / (run.time[-1] - run.time[first])),
        "mean_pad_force_N": float(0.5 * force[1:][run.time[1:] <= last].mean()) if last > 0.0 else 0.0,
        "largest_distance_from_circle_m": float(np.linalg.norm(hand - circle, axis=1).max()),
    }


def analyse(bags: dict[str, Bag]) -> Report:
    """Metrics, claims and figure of one or more bags of the experiment."""
    runs = {name.removeprefix("bag_"): ContactRun.from_bag(bag) for name, bag in bags.items()}
    runs = {run.approximation if name == "bag" else name: run for name, run in runs.items()}
    scenes = {name: run.scene(SCENE, Grasp) for name, run in runs.items()}
    numbers = {name: measure(run, scenes[name]) for name, run in runs.items()}
    claims = [
        _slow_claim(numbers),
        _fast_claim(numbers),
        _creep_claim(runs, numbers),
        _force_claim(scenes, numbers),
        _circle_claim(runs, scenes, numbers),
    ]
    first = next(iter(runs.values()))
    return Report({"runs": numbers}, claims, lambda: _figure(runs, scenes), _CAPTION, {"contact": first.parameters})


def _share(entry: dict[str, Any]) -> float:
    return float(entry["frequency_Hz"] / entry["pendulum_frequency_Hz"])


def _slow_claim(numbers: dict[str, dict[str, Any]]) -> Claim:
    slow = {name: entry for name, entry in numbers.items() if _share(entry) <= SLOW}
    words = "; ".join(
        f"{name} ({e['frequency_Hz']:g} Hz) {'held' if e['time_to_failure_s'] is None else 'lost'}, tilt at most "
        f"{e['largest_tilt_deg']:.2f} deg"
        for name, e in slow.items()
    )
    shown = all(e["time_to_failure_s"] is None and np.radians(e["largest_tilt_deg"]) < SECURE for e in slow.values())
    return Claim("At low frequencies the rod is secure.", words or "no slow run", shown if slow else None)


def _fast_claim(numbers: dict[str, dict[str, Any]]) -> Claim:
    fast = {name: entry for name, entry in numbers.items() if _share(entry) >= FAST}
    words = "; ".join(
        f"{name} ({e['frequency_Hz']:g} Hz, pendulum {e['pendulum_frequency_Hz']:.2f} Hz) "
        + ("held" if e["time_to_failure_s"] is None else f"lost after {e['time_to_failure_s']:.2f} s")
        + f", tilt up to {e['largest_tilt_deg']:.0f} deg"
        for name, e in fast.items()
    )
    shown = all(
        e["time_to_failure_s"] is not None and np.radians(e["largest_tilt_deg"]) > SECURE for e in fast.values()
    )
    return Claim(
        "Near its compound-pendulum frequency it rocks, slides and falls.",
        words or "no fast run",
        shown if fast else None,
    )


def _creep_claim(runs: dict[str, ContactRun], numbers: dict[str, dict[str, Any]]) -> Claim:
    creep = {
        name: entry["creep_um_per_s"]
        for name, entry in numbers.items()
        if _share(entry) <= SLOW and entry["creep_um_per_s"] is not None
    }
    held = [abs(speed) for name, speed in creep.items() if runs[name].approximation == "lagged_elastoplastic"]
    others = [abs(speed) for name, speed in creep.items() if runs[name].approximation != "lagged_elastoplastic"]
    return Claim(
        "A held rod creeps at the order of the stiction tolerance; with elastoplastic stiction it does not "
        "(beyond the paper).",
        "; ".join(f"{name} {speed:.3g} um/s" for name, speed in creep.items()) or "no slow run",
        max(held) < 0.01 * min(others) if held and others else None,
    )


def _force_claim(scenes: dict[str, Grasp], numbers: dict[str, dict[str, Any]]) -> Claim:
    shares = {
        name: entry["mean_pad_force_N"] / (0.5 * scenes[name].effort_limit)
        for name, entry in numbers.items()
        if entry["time_to_failure_s"] is None
    }
    return Claim(
        "The motor saturates: each pad presses with half its effort limit, in the mean over a run that holds the rod.",
        "; ".join(f"{name} {share:.4f} times that" for name, share in shares.items()) or "no run holds the rod",
        all(abs(share - 1.0) < 0.01 for share in shares.values()) if shares else None,
    )


def _circle_claim(runs: dict[str, ContactRun], scenes: dict[str, Grasp], numbers: dict[str, dict[str, Any]]) -> Claim:
    far = {name: entry["largest_distance_from_circle_m"] for name, entry in numbers.items()}
    # the near-rigid spring's stretch is 5e-4 dt^2 a for the mass it moves; the rod and the fingers come on top
    allowed = {
        name: 2e-3 * (runs[name].step ** 2) * scenes[name].circle_radius * (2.0 * np.pi * scenes[name].frequency) ** 2
        for name in far
    }
    return Claim(
        "The hand is on its circle at every tick.",
        f"at most {1e9 * max(far.values()):.0f} nm from it",
        all(far[name] <= allowed[name] + 1e-12 for name in far),
    )


_CAPTION = (
    "Path of the rod's centre against the hand until it is lost, its tilt, how far it has sunk or risen, and the sum "
    "of the pads' normal forces over the motor's effort limit. Thin lines: frequencies below the pendulum's."
)


def _figure(runs: dict[str, ContactRun], scenes: dict[str, Grasp]) -> Figure:
    figure = Figure(figsize=(13, 9), layout="constrained")
    way, angle, sunk, grip = figure.subplots(2, 2).ravel()
    for name, run in runs.items():
        scene, force = scenes[name], pads(run)
        bearing = np.flatnonzero(force > 0.0)
        until = slice(0, int(bearing[-1]) + 1 if len(bearing) else len(run.time))
        line = {**style(run.approximation), "label": f"{name.replace('_', ' ')}, {scene.frequency:g} Hz"}
        if scene.frequency <= SLOW * scene.pendulum_frequency:
            line |= {"linewidth": 0.6}
        moved = offset(run, scene)[until]
        way.plot(1e3 * moved[:, 0], 1e3 * (moved[:, 2] - scene.arm), **line)
        angle.plot(run.time[until], np.degrees(tilt(run)[until]), **line)
        sunk.plot(run.time[until], np.maximum(1e3 * np.abs(moved[:, 2]), 1e-4), **line)
        grip.plot(run.time[1:][until], force[1:][until] / scene.effort_limit, **line)
    way.plot(0.0, 0.0, "k+", label="grip")
    way.set(xlabel="sideways (mm)", ylabel="height of the rod's centre against the grip (mm)")
    way.set_aspect("equal", adjustable="datalim")
    angle.set(ylabel="tilt (deg)", xlabel="time (s)")
    sunk.set(ylabel="sunk (mm)", xlabel="time (s)", yscale="log")
    grip.set(ylabel="normal forces over the effort limit", xlabel="time (s)")
    way.legend(fontsize=8)
    return figure
