"""Report of the upright rolling disk on the display: Figs. 8 and 9 of Faulring et al., from the measured state."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d import Axes3D

from admittance_constraints import RollingDisk
from haptic_bags.bags import Bag
from haptic_experiments.kit.display import DisplayRun, ToolPath, are_judged, general_report, shade, spread
from haptic_experiments.report import Claim, Report

#: epsilon of Fig. 9D [m/s]
EPSILON = 1e-3
#: speed above which the disk is said to roll [m/s]
ROLLING_SPEED = 0.02
#: interval at which the figure shows the disk while it parks, at first [s]; the paper's Fig. 8 has 0.1 s
_SHOWN, _SHOWN_UNTIL = 0.1, 2.4


def rolling(path: ToolPath, radius: float) -> dict[str, np.ndarray]:
    """Signals of Fig. 9 from a motion, arrays (n,).

    With the axis a = R e_z of the disk: height x3 - r_d [m]; upright: angle of a with the plane [rad]; heading x4
    [rad]; v = x1' cos x4 + x2' sin x4 [m/s]; rolling r_d w = -r_d x5' [m/s]; error 100 |v - r_d w|/(|v| + epsilon);
    sideways: velocity along the axis, which that metric does not see [m/s].
    """
    axis = path.rotation.as_matrix()[:, :, 2]
    heading = np.arctan2(axis[:, 0], -axis[:, 1])
    flat = np.hypot(axis[:, 0], axis[:, 1])
    ahead = np.column_stack((np.cos(heading), np.sin(heading)))
    speed = np.sum(path.velocity[:, :2] * ahead, axis=1)
    # omega = x4' e_z + x5' a + x6' (cos x4, sin x4, 0): taking the parts along e_z and along a's horizontal direction
    level = axis[:, :2] / flat[:, None]
    spin = np.sum(path.angular_velocity[:, :2] * level, axis=1) / flat
    rolled = -radius * spin
    return {
        "height": path.position[:, 2] - radius,
        "upright": np.arcsin(np.clip(axis[:, 2], -1.0, 1.0)),
        "heading": np.unwrap(heading),
        "speed": speed,
        "rolled": rolled,
        "error": 100.0 * np.abs(speed - rolled) / (np.abs(speed) + EPSILON),
        "sideways": np.sum(path.velocity[:, :2] * level, axis=1),
    }


def measure(run: DisplayRun) -> dict[str, Any]:
    """Numbers of one run."""
    assert isinstance(run.mechanism, RollingDisk)
    radius = run.mechanism.radius
    measured, true, reference = (rolling(path, radius) for path in (run.measured, run.true, run.reference))
    rolls = [np.abs(signals["speed"]) > ROLLING_SPEED for signals in (measured, true)]
    numbers = run.common_metrics() | {
        "height": spread(measured["height"]),
        "upright": spread(measured["upright"]),
        "true_height": spread(true["height"]),
        "true_upright": spread(true["upright"]),
        "reference_sideways": float(np.abs(reference["sideways"]).max()),
        "reference_rolling": float(np.abs(reference["speed"] - reference["rolled"]).max()),
        "sideways": spread(measured["sideways"]),
        "true_sideways": spread(true["sideways"]),
    }
    if all(flags.any() for flags in rolls):
        errors, true_errors = measured["error"][rolls[0]], true["error"][rolls[1]]
        numbers["rolling_error_median"] = float(np.median(errors))
        numbers["rolling_error_p95"] = float(np.percentile(errors, 95))
        numbers["true_rolling_error_median"] = float(np.median(true_errors))
        slips = np.abs(measured["sideways"][rolls[0]]) / (np.abs(measured["speed"][rolls[0]]) + EPSILON)
        numbers["sideways_error_median"] = float(100.0 * np.median(slips))
    numbers["parking"] = _parking(run, measured)
    numbers["push"], numbers["lean"] = _push(run, measured), _lean(run, measured)
    return numbers


def _parking(run: DisplayRun, signals: dict[str, np.ndarray]) -> dict[str, float] | None:
    """What parallel parking did: shift across and along the first heading, the way that was rolled, and the slip.

    The slip is the range of the integral of the velocity along the axis, so that slips to and fro do not cancel.
    """
    flags = run.named("forward", "back")
    if not flags.any() or flags[-1]:
        return None
    first, last = np.flatnonzero(flags)[[0, -1]]
    heading = signals["heading"][first]
    shift = run.measured.position[last, :2] - run.measured.position[first, :2]
    ahead = np.array((np.cos(heading), np.sin(heading)))
    part = slice(first, last)
    slip = np.concatenate(([0.0], np.cumsum(run.period * signals["sideways"][part])))
    return {
        "across": float(abs(ahead[0] * shift[1] - ahead[1] * shift[0])),
        "along": float(ahead @ shift),
        "rolled": float(run.period * np.abs(signals["speed"][part]).sum()),
        "slipped": float(np.ptp(slip)),
    }


def _push(run: DisplayRun, signals: dict[str, np.ndarray]) -> dict[str, float] | None:
    """The push across the wheel plane: its force along the axis and how far the disk gave way."""
    flags = run.named("push sideways")
    if not flags.any() or flags[-1]:
        return None
    first = int(np.flatnonzero(flags)[0])
    heading = signals["heading"][first]
    return _gave_way(run, flags, np.array((np.sin(heading), -np.cos(heading), 0.0)))


def _lean(run: DisplayRun, signals: dict[str, np.ndarray]) -> dict[str, float] | None:
    """The push on the disk from above, with the RMS of the height's error meanwhile."""
    flags = run.named("push down")
    if not flags.any() or flags[-1]:
        return None
    found = _gave_way(run, flags, np.array((0.0, 0.0, -1.0)))
    return found | {"height_rms": spread(signals["height"][flags])["rms"]}


def _gave_way(run: DisplayRun, flags: np.ndarray, along: np.ndarray) -> dict[str, float]:
    """Largest force along a direction (3,), and how far the tool moved along it, measured and true."""
    moved = [
        float(np.abs((path.position[flags] - path.position[flags][0]) @ along).max())
        for path in (run.measured, run.true)
    ]
    force = float(np.abs(run.wrench[flags, :3] @ along).max())
    return {"force": force, "moved": moved[0], "truly_moved": moved[1]}


def analyse(bags: dict[str, Bag]) -> Report:
    """Metrics, claims and figure of one or more bags of the experiment."""
    runs = {name: DisplayRun.from_bag(bag) for name, bag in bags.items()}
    if not are_judged(runs, RollingDisk):
        return general_report(runs)
    metrics = {name: measure(run) for name, run in runs.items()}
    first = next(iter(metrics.values()))
    claims = [_height_claim(first), _upright_claim(first), _rolling_claim(first), _parking_claim(first)]
    claims.append(_push_claim(first))
    run = next(iter(runs.values()))
    return Report(
        {"runs": metrics}, claims, lambda: _figure(run), _CAPTION + run.left_out, {"constraints": run.parameters}
    )


#: "on the order of the resolution": RMS within so many counts
_ORDER = 10.0


def _height_claim(n: dict[str, Any]) -> Claim:
    height, count, lean = n["height"], n["position_resolution"], n["lean"]
    pressed = "nothing presses on the disk"
    if lean is not None:
        pressed = f"under {lean['force']:.1f} N from above RMS {1e6 * lean['height_rms']:.2g} µm (same limit)"
    return Claim(
        "The error of the disk's height is negligible, on the order of the display's position resolution (Fig. 9A).",
        f"measured RMS {1e6 * height['rms']:.2g} µm (limit {_ORDER:g} counts of {1e6 * count:g} µm), largest "
        f"{1e6 * height['largest']:.2g} µm; true largest {1e6 * n['true_height']['largest']:.2g} µm; {pressed}",
        max(height["rms"], lean["height_rms"] if lean else 0.0) <= _ORDER * count,
    )


def _upright_claim(n: dict[str, Any]) -> Claim:
    upright, count = n["upright"], n["angle_resolution"]
    return Claim(
        "So is the error of its upright orientation (Fig. 9B).",
        f"measured RMS {1e3 * upright['rms']:.2g} mrad (limit {_ORDER:g} counts of {1e3 * count:g} mrad), largest "
        f"{1e3 * upright['largest']:.2g} mrad; true largest {1e3 * n['true_upright']['largest']:.2g} mrad",
        upright["rms"] <= _ORDER * count,
    )


def _rolling_claim(n: dict[str, Any]) -> Claim:
    text = "The nonholonomic constraint is maintained effectively (Fig. 9D)."
    if "rolling_error_median" not in n:
        return Claim(text, f"the disk never rolled faster than {ROLLING_SPEED:g} m/s", None)
    return Claim(
        text,
        f"100 |v - r w|/(|v| + 1 mm/s), above {1e3 * ROLLING_SPEED:g} mm/s: median {n['rolling_error_median']:.2g} % "
        f"(limit {_ROLLING_ERROR:g} %; true {n['true_rolling_error_median']:.2g} %), 95 % below "
        f"{n['rolling_error_p95']:.2g} %; sideways, which this does not see, likewise median "
        f"{n['sideways_error_median']:.2g} % (same limit), {1e3 * n['sideways']['rms']:.2g} mm/s RMS (true "
        f"{1e3 * n['true_sideways']['rms']:.2g}); reference: |v - r w| at most {n['reference_rolling']:.1e}, sideways "
        f"{n['reference_sideways']:.1e} m/s",
        max(n["rolling_error_median"], n["sideways_error_median"]) < _ROLLING_ERROR,
    )


#: median of Fig. 9D's metric, and of the same metric of the velocity along the axis, that counts as effective [%]
_ROLLING_ERROR = 5.0


def _parking_claim(n: dict[str, Any]) -> Claim:
    text = 'The disk moves sideways by "parallel parking" motions, without sliding sideways (Fig. 8).'
    parking = n["parking"]
    if parking is None:
        return Claim(text, "no parking to its end", None)
    return Claim(
        text,
        f"{1e3 * parking['across']:.1f} mm across by rolling {1e3 * parking['rolled']:.0f} mm to and fro; along "
        f"{1e3 * parking['along']:.1f} mm; slip along the axis {1e3 * parking['slipped']:.2g} mm, limit a tenth of the "
        "shift across",
        parking["across"] > 10.0 * parking["slipped"] and parking["across"] > abs(parking["along"]),
    )


def _push_claim(n: dict[str, Any]) -> Claim:
    text = "Infinitely rigid constraints, where an impedance display is limited to a few kN/m."
    pushes = {name: push for name, push in (("across the wheel plane", n["push"]), ("from above", n["lean"])) if push}
    if not pushes:
        return Claim(text, "no push to its end", None)
    words = [
        f"{push['force']:.1f} N {name} move the measured tool by at most {1e6 * push['moved']:.0f} µm, the true one by "
        f"{1e6 * push['truly_moved']:.0f} µm"
        for name, push in pushes.items()
    ]
    return Claim(
        text,
        f"{'; '.join(words)} (limit {1e-3 * _IMPEDANCE_LIMIT:g} kN/m)",
        all(push["force"] > _IMPEDANCE_LIMIT * max(push["moved"], push["truly_moved"]) for push in pushes.values()),
    )


#: what impedance displays reach, "a few kN/m" [N/m]
_IMPEDANCE_LIMIT = 5e3

_CAPTION = (
    "Top: path of the measured disk's centre and its tyre track, the disk every 0.1 s at first, as in Fig. 8. Below: "
    "Fig. 9 from the measured state: error of height and of upright orientation, rolling velocity, error of rolling in "
    "percent, velocity along the disk's axis, which the percentage does not see, and distance from the reference. "
    "Shaded: the hand pushes."
)


def _figure(run: DisplayRun) -> Figure:
    assert isinstance(run.mechanism, RollingDisk)
    signals = rolling(run.measured, run.mechanism.radius)
    figure = Figure(figsize=(12, 14), layout="constrained")
    grid = figure.add_gridspec(4, 2, height_ratios=(5, 2, 2, 2))
    _draw_path(figure.add_subplot(grid[0, :], projection="3d"), run)
    panels = (
        ("A: height error (µm)", 1e6 * signals["height"], grid[1, 0]),
        ("B: upright error (mrad)", 1e3 * signals["upright"], grid[1, 1]),
        ("C: rolling velocity v (mm/s)", 1e3 * signals["speed"], grid[2, 0]),
        ("D: error of rolling (%)", signals["error"], grid[2, 1]),
        ("velocity along the axis (mm/s)", 1e3 * signals["sideways"], grid[3, 0]),
        ("distance from the reference (mm)", 1e3 * run.tracking_error, grid[3, 1]),
    )
    for title, values, cell in panels:
        axes = figure.add_subplot(cell)
        axes.plot(run.time, values, "k-", linewidth=0.6)
        axes.set(title=title, xlabel="time (s)")
        if not np.any(values):
            axes.set_ylim(-20.0, 20.0)
        if title.startswith("D"):
            axes.set(yscale="log", ylim=(1e-2, 5e2))
        shade(axes, run, "push")
    return figure


def _draw_path(axes: Axes3D, run: DisplayRun) -> None:
    assert isinstance(run.mechanism, RollingDisk)
    radius, p = run.mechanism.radius, 1e3 * run.measured.position
    angle = np.linspace(0.0, 2.0 * np.pi, 33)
    rim = np.column_stack((np.cos(angle), np.sin(angle), np.zeros_like(angle)))
    every = max(1, round(_SHOWN / run.period))
    rotations = run.measured.rotation.as_matrix()
    for k in range(0, int(np.searchsorted(run.time, _SHOWN_UNTIL)), every):
        shown = p[k] + 1e3 * radius * rim @ rotations[k].T
        axes.plot(*shown.T, color="0.55", linewidth=0.5)
        spoke = np.vstack((p[k], shown[0]))
        axes.plot(*spoke.T, color="tab:blue", linewidth=0.5)
    axes.plot(p[:, 0], p[:, 1], np.zeros(len(p)), color="tab:red", linewidth=1.5)
    axes.set(xlabel="x (mm)", ylabel="y (mm)", title="the disk every 0.1 s at first, and its track (Fig. 8)")
    axes.view_init(elev=35, azim=-65)
    edges = [np.ptp(limits) for limits in (axes.get_xlim(), axes.get_ylim(), axes.get_zlim())]
    axes.set_box_aspect(edges, zoom=1.25)
