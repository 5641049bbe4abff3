"""Report of the disk on the sphere on the display: Figs. 10 and 11 of Faulring et al., from the measured state."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d import Axes3D

from admittance_constraints import DiskOnSphere
from haptic_bags.bags import Bag
from haptic_experiments.kit.display import DisplayRun, ToolPath, are_judged, general_report, shade, spread
from haptic_experiments.report import Claim, Report

#: force along the normal that counts as large [N]
LARGE_FORCE = 15.0
#: angle from the vertical that counts as having left the pole [rad]
_DOWN = 0.5
#: interval at which Fig. 10 shows the disk [s]
_SHOWN = 1.0


def sphere_signals(run: DisplayRun, path: ToolPath) -> dict[str, np.ndarray]:
    """Signals of Fig. 11, arrays (n,).

    radial: distance of the disk's centre from the sphere's surface, outward positive [m]; tangent: angle between the
    sphere's normal there and the disk's axis [rad]; force: measured, along the normal, outward positive [N]; tilt: of
    the normal from the vertical, 0 at the pole of the angles [rad].
    """
    assert isinstance(run.mechanism, DiskOnSphere)
    out = path.position - np.array(run.mechanism.center)
    distance = np.linalg.norm(out, axis=1)
    normal = out / distance[:, None]
    axis = path.rotation.as_matrix()[:, :, 2]
    across = np.linalg.norm(np.cross(normal, axis), axis=1)
    return {
        "radial": distance - run.mechanism.sphere_radius,
        "tangent": np.arctan2(across, np.sum(normal * axis, axis=1)),
        "force": np.sum(run.wrench[:, :3] * normal, axis=1),
        "tilt": np.arctan2(np.hypot(normal[:, 0], normal[:, 1]), normal[:, 2]),
    }


def measure(run: DisplayRun) -> dict[str, Any]:
    """Numbers of one run."""
    measured, true = sphere_signals(run, run.measured), sphere_signals(run, run.true)
    pushed = np.abs(measured["force"]) > LARGE_FORCE
    free = np.abs(measured["force"]) < 0.1 * LARGE_FORCE
    down = np.flatnonzero(measured["tilt"] > _DOWN)
    numbers = run.common_metrics() | {
        "radial": spread(measured["radial"]),
        "tangent": spread(measured["tangent"]),
        "true_radial": spread(true["radial"]),
        "true_tangent": spread(true["tangent"]),
        "orientation": run.parameters["orientation"],
        "largest_tilt": float(measured["tilt"].max()),
        "passed_pole_within": float(measured["tilt"][down[0] : down[-1]].min()) if len(down) > 1 else None,
        "push": float(measured["force"].min()),
        "pull": float(measured["force"].max()),
    }
    for name, flags in (("radial_under_force", pushed), ("radial_without_force", free)):
        numbers[name] = spread(measured["radial"][flags]) if flags.any() else None
    return numbers


def analyse(bags: dict[str, Bag]) -> Report:
    """Metrics, claims and figure of one or more bags of the experiment."""
    runs = {name: DisplayRun.from_bag(bag) for name, bag in bags.items()}
    if not are_judged(runs, DiskOnSphere):
        return general_report(runs)
    metrics = {name: measure(run) for name, run in runs.items()}
    first = next(iter(metrics.values()))
    claims = [_radial_claim(first), _tangent_claim(first), _pole_claim(first)]
    run = next(iter(runs.values()))
    return Report(
        {"runs": metrics}, claims, lambda: _figure(run), _CAPTION + run.left_out, {"constraints": run.parameters}
    )


#: small: RMS within so many counts, as for the rolling disk
_ORDER = 10.0
#: what impedance displays reach, "a few kN/m" [N/m]
_IMPEDANCE_LIMIT = 5e3


def _radial_claim(n: dict[str, Any]) -> Claim:
    text = "Small radial error even during the application of a large radial force (Fig. 11A, C)."
    if n["radial_under_force"] is None:
        return Claim(text, f"no force above {LARGE_FORCE:g} N along the normal", None)
    under, without = n["radial_under_force"], n["radial_without_force"]
    stiffness, count = LARGE_FORCE / max(under["largest"], 1e-9), n["position_resolution"]
    quiet = f", without force {1e6 * without['rms']:.2g} µm RMS" if without else ""
    return Claim(
        text,
        f"up to {max(-n['push'], 0.0):.1f} N inwards, {max(n['pull'], 0.0):.1f} N outwards; radial error above "
        f"{LARGE_FORCE:g} N: {1e6 * under['rms']:.2g} µm RMS (limit {_ORDER:g} counts of {1e6 * count:g} µm), largest "
        f"{1e6 * under['largest']:.2g} µm (limit {1e-3 * _IMPEDANCE_LIMIT:g} kN/m){quiet}; true largest "
        f"{1e6 * n['true_radial']['largest']:.2g} µm",
        under["rms"] <= _ORDER * count and stiffness > _IMPEDANCE_LIMIT,
    )


def _tangent_claim(n: dict[str, Any]) -> Claim:
    tangent = n["tangent"]
    return Claim(
        "The disk stays tangent to the sphere (Fig. 11B).",
        f"angle between disk axis and normal: RMS {1e3 * tangent['rms']:.2g} mrad, largest "
        f"{1e3 * tangent['largest']:.2g} mrad (limit half a degree, {1e3 * _TANGENT_LIMIT:.2g} mrad); one count is "
        f"{1e3 * n['angle_resolution']:g} mrad; true largest {1e3 * n['true_tangent']['largest']:.2g} mrad",
        tangent["largest"] < _TANGENT_LIMIT,
    )


#: half a degree [rad]
_TANGENT_LIMIT = 0.0087


def _pole_claim(n: dict[str, Any]) -> Claim:
    text = "Singular angles need not be placed outside of the workspace (quaternions; the paper places them outside)."
    within, lowest = n["passed_pole_within"], f"{np.degrees(n['largest_tilt']):.0f}°"
    if n["orientation"] != "quaternion":
        return Claim(text, f"this run integrates angles; {n['refused_ticks']} steps refused", None)
    if within is None:
        return Claim(text, f"the disk went down to {lowest}, not twice to more than {_DOWN:g} rad", None)
    if within > _AT_THE_POLE:
        return Claim(text, f"down to {lowest}, the disk came no nearer to the pole than {within:.2g} rad", None)
    return Claim(
        text,
        f"down to {lowest}, and past the pole of the angles within {1e3 * within:.2g} mrad, before and after it more "
        f"than {_DOWN:g} rad away; {n['refused_ticks']} steps refused",
        n["refused_ticks"] == 0,
    )


#: angle from the pole that counts as passing it [rad]
_AT_THE_POLE = 0.01

_CAPTION = (
    "Left: the measured disk on the sphere every second, as in Fig. 10; the arrow is an axis of the disk. Right: Fig. "
    "11 from the measured state: deviation from the sphere's surface, angle between the sphere's normal and the disk's "
    "axis, force along the normal (outward positive). Shaded: the hand pushes or pulls with 20 N."
)


def _figure(run: DisplayRun) -> Figure:
    signals = sphere_signals(run, run.measured)
    figure = Figure(figsize=(13, 9), layout="constrained")
    grid = figure.add_gridspec(4, 2, width_ratios=(1, 1))
    _draw_sphere(figure.add_subplot(grid[:, 0], projection="3d"), run)
    panels = (
        ("A: deviation from the sphere (µm)", 1e6 * signals["radial"]),
        ("B: error of tangency (mrad)", 1e3 * signals["tangent"]),
        ("C: force along the normal (N)", signals["force"]),
        ("distance from the reference (mm)", 1e3 * run.tracking_error),
    )
    for row, (title, values) in enumerate(panels):
        axes = figure.add_subplot(grid[row, 1])
        axes.plot(run.time, values, "k-", linewidth=0.6)
        axes.set(title=title, xlabel="time (s)")
        shade(axes, run, "push")
    return figure


def _draw_sphere(axes: Axes3D, run: DisplayRun) -> None:
    assert isinstance(run.mechanism, DiskOnSphere)
    radius, center = 1e3 * run.mechanism.sphere_radius, 1e3 * np.array(run.mechanism.center)
    u, v = np.mgrid[0 : 2 * np.pi : 25j, 0 : 0.6 * np.pi : 11j]  # type: ignore[misc]
    shell = (radius * np.cos(u) * np.sin(v), radius * np.sin(u) * np.sin(v), radius * np.cos(v))
    axes.plot_wireframe(*(center[i] + shell[i] for i in range(3)), color="0.8", linewidth=0.4)
    p, rotations = 1e3 * run.measured.position, run.measured.rotation.as_matrix()
    axes.plot(*p.T, color="tab:red", linewidth=0.8)
    angle = np.linspace(0.0, 2.0 * np.pi, 25)
    rim = 0.2 * radius * np.column_stack((np.cos(angle), np.sin(angle), np.zeros_like(angle)))
    for k in range(0, len(p), max(1, round(_SHOWN / run.period))):
        axes.plot(*(p[k] + rim @ rotations[k].T).T, color="tab:blue", linewidth=1.0)
        axes.quiver(*p[k], *(0.4 * radius * rotations[k][:, 0]), color="black", linewidth=0.8)
    axes.set(xlabel="x (mm)", ylabel="y (mm)", title="the disk every second (Fig. 10)")
    axes.set_aspect("equal")
    axes.view_init(elev=50)
