"""Report of the disk on the sphere on the display: Figs. 10 and 11 of Faulring et al., from the measured state."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d import Axes3D

from admittance_constraints import DiskOnSphere
from admittance_constraints.mechanisms.disk_on_sphere import SphereDeviation
from haptic_bags.bags import Bag
from haptic_experiments.kit.display import (
    COUNTS,
    IMPEDANCE_LIMIT,
    DisplayNumbers,
    DisplayRun,
    ToolPath,
    display_report,
    signal_panel,
)
from haptic_experiments.kit.figures import Panel, panels
from haptic_experiments.kit.results import AFTER_DATA, Claims, Report
from haptic_experiments.kit.signals import Spread

LARGE_FORCE = 15.0  #: force along the normal that counts as large [N]
TANGENT_LIMIT = 0.0087  #: largest angle of a disk that is tangent to the sphere, half a degree [rad]
#: angle from the vertical beyond which the disk has left the pole, and within which it passes the pole [rad]
_DOWN, _AT_THE_POLE = 0.5, 0.01
_SHOWN = 1.0  #: interval at which Fig. 10 shows the disk [s]


@dataclass(frozen=True)
class Numbers(DisplayNumbers):
    """Numbers of one run, of the measured tool and (`true_...`) of the true one."""

    radial: Spread  #: deviation from the sphere's surface [m]
    tangent: Spread  #: angle between the disk's axis and the sphere's normal [rad]
    true_radial: Spread  #: deviation of the true tool from the surface [m]
    true_tangent: Spread  #: angle between axis and normal of the true tool [rad]
    orientation: str  #: orientation that the node integrates: a quaternion, or angles
    largest_tilt: float  #: largest angle of the disk from the vertical [rad]
    passed_pole_within: float | None  #: smallest such angle between two times of being down [rad]; None without
    push: float  #: smallest force along the normal, outward positive [N]
    pull: float  #: largest force along the normal, outward positive [N]
    radial_under_force: Spread | None  #: deviation from the surface under a large force [m]; None without such a force
    radial_without_force: Spread | None  #: deviation from the surface without force [m]; None if there is always one


def deviation(run: DisplayRun[DiskOnSphere], path: ToolPath) -> SphereDeviation:
    """Computes the deviation of a motion from the sphere."""
    return run.mechanism.deviation(path.position, path.rotation.as_matrix())


def normal_force(run: DisplayRun[DiskOnSphere]) -> np.ndarray:
    """Computes the measured force along the sphere's normal, outward positive [N], shape (n,)."""
    return np.asarray(np.sum(run.wrench[:, :3] * deviation(run, run.measured).normal, axis=1))


def measure(run: DisplayRun[DiskOnSphere]) -> Numbers:
    """Measures one run."""
    measured, true, force = deviation(run, run.measured), deviation(run, run.true), normal_force(run)
    down = np.flatnonzero(measured.tilt > _DOWN)
    pushed, free = np.abs(force) > LARGE_FORCE, np.abs(force) < 0.1 * LARGE_FORCE
    return Numbers(
        **vars(run.common_numbers()),
        radial=Spread.of(measured.radial),
        tangent=Spread.of(measured.tangency),
        true_radial=Spread.of(true.radial),
        true_tangent=Spread.of(true.tangency),
        orientation=run.parameters["orientation"],
        largest_tilt=float(measured.tilt.max()),
        passed_pole_within=float(measured.tilt[down[0] : down[-1]].min()) if len(down) > 1 else None,
        push=float(force.min()),
        pull=float(force.max()),
        radial_under_force=Spread.of(measured.radial[pushed]) if pushed.any() else None,
        radial_without_force=Spread.of(measured.radial[free]) if free.any() else None,
    )


def analyse(bags: dict[str, Bag]) -> Report:
    """Computes metrics, claims and figure of one or more bags of the experiment."""
    return display_report(bags, DiskOnSphere, measure, _claims, _figure, _CAPTION)


def _claims(claims: Claims, n: Numbers) -> None:
    tangent, without, count = n.tangent, n.radial_without_force, n.position_resolution
    text = "Small radial error even during the application of a large radial force (Fig. 11A, C)."
    if under := claims.reached(text, n.radial_under_force, unless=f"no force above {LARGE_FORCE:g} N along the normal"):
        stiffness = LARGE_FORCE / max(under.largest, 1e-9)
        quiet = f", without force {1e6 * without.rms:.2g} µm RMS" if without else ""
        claims.say(
            text,
            f"up to {max(-n.push, 0.0):.1f} N inwards, {max(n.pull, 0.0):.1f} N outwards; radial error above "
            f"{LARGE_FORCE:g} N: {1e6 * under.rms:.2g} µm RMS (limit {COUNTS:g} counts of {1e6 * count:g} µm, "
            f"{AFTER_DATA}), largest {1e6 * under.largest:.2g} µm (limit {1e-3 * IMPEDANCE_LIMIT:g} kN/m){quiet}; true "
            f"largest {1e6 * n.true_radial.largest:.2g} µm",
            under.rms <= COUNTS * count and stiffness > IMPEDANCE_LIMIT,
        )
    claims.say(
        "The disk stays tangent to the sphere (Fig. 11B).",
        f"angle between disk axis and normal: RMS {1e3 * tangent.rms:.2g} mrad, largest "
        f"{1e3 * tangent.largest:.2g} mrad (limit half a degree, {1e3 * TANGENT_LIMIT:.2g} mrad, {AFTER_DATA}); one "
        f"count is {1e3 * n.angle_resolution:g} mrad; true largest {1e3 * n.true_tangent.largest:.2g} mrad",
        tangent.largest < TANGENT_LIMIT,
    )
    _claim_pole(claims, n)


def _claim_pole(claims: Claims, n: Numbers) -> None:
    within, lowest, refused = n.passed_pole_within, f"{np.degrees(n.largest_tilt):.0f}°", n.refused_ticks
    unless = ""
    if n.orientation != "quaternion":
        unless = f"this run integrates angles; {refused} steps refused"
    elif within is None:
        unless = f"the disk went down to {lowest}, not twice to more than {_DOWN:g} rad"
    elif within > _AT_THE_POLE:
        unless = f"down to {lowest}, the disk came no nearer to the pole than {within:.2g} rad"
    claims.say(
        "Singular angles need not be placed outside of the workspace (quaternions; the paper places them outside).",
        f"down to {lowest}, and past the pole of the angles within {1e3 * (within or 0.0):.2g} mrad, before and after "
        f"it more than {_DOWN:g} rad away; {refused} steps refused",
        refused == 0,
        unless=unless,
    )


_CAPTION = (
    "Left: the measured disk on the sphere every second, as in Fig. 10; the arrow is an axis of the disk. Right: Fig. "
    "11 from the measured state: deviation from the sphere's surface, angle between the sphere's normal and the disk's "
    "axis, force along the normal (outward positive). Shaded: the hand pushes or pulls with 20 N."
)


def _figure(run: DisplayRun[DiskOnSphere]) -> Figure:
    measured = deviation(run, run.measured)
    return panels(
        signal_panel(run, "A: deviation from the sphere (µm)", 1e6 * measured.radial),
        signal_panel(run, "B: error of tangency (mrad)", 1e3 * measured.tangency),
        signal_panel(run, "C: force along the normal (N)", normal_force(run)),
        signal_panel(run, "distance from the reference (mm)", 1e3 * run.tracking_error),
        left=Panel("y (mm)", [], "x (mm)", extra=partial(_draw_sphere, run=run)),
        size=(13, 9),
        per_subplot_kw={"left": {"projection": "3d"}},
    )


def _draw_sphere(axes: Axes3D, run: DisplayRun[DiskOnSphere]) -> None:
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
    axes.set(title="the disk every second (Fig. 10)")
    axes.set_aspect("equal")
    axes.view_init(elev=50)
