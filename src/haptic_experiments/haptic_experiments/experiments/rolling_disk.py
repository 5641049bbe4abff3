"""Report of the upright rolling disk on the display: Figs. 8 and 9 of Faulring et al., from the measured state."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d import Axes3D

from admittance_constraints import RollingDisk
from admittance_constraints.mechanisms.rolling_disk import Parking, RollingMotion
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
from haptic_experiments.kit.results import AFTER_DATA, MERGED, Claims, Report
from haptic_experiments.kit.signals import Spread, largest, rms

EPSILON = 1e-3  #: epsilon of Fig. 9D [m/s]
ROLLING_SPEED = 0.02  #: speed above which the disk rolls [m/s]
#: median of Fig. 9D's error, and of the same error of the velocity along the axis, below which it is effective [%]
ROLLING_ERROR = 5.0
#: interval at which the figure shows the disk while it parks, at first [s]; the paper's Fig. 8 has 0.1 s
_SHOWN, _SHOWN_UNTIL = 0.1, 2.4


@dataclass(frozen=True)
class Rolling:
    """Errors of rolling while the disk rolls, in percent of its speed plus `EPSILON`."""

    rolling_error_median: float  #: median error of Fig. 9D of the measured disk [%]
    rolling_error_p95: float  #: 95th percentile of that error [%]
    true_rolling_error_median: float  #: median error of the true disk [%]
    sideways_error_median: float  #: median of the measured velocity along the axis [%]


@dataclass(frozen=True)
class Pushed:
    """Effect of a push against the constraints."""

    force: float  #: largest force in its direction [N]
    moved: float  #: largest displacement of the measured tool in that direction [m]
    truly_moved: float  #: largest displacement of the true tool in that direction [m]


@dataclass(frozen=True)
class Leaned(Pushed):
    """Effect of a push from above."""

    height_rms: float  #: RMS of the height's error meanwhile [m]


@dataclass(frozen=True)
class Numbers(DisplayNumbers):
    """Numbers of one run, of the measured disk, the true one (`true_...`) and the reference (`reference_...`)."""

    height: Spread  #: error of the height [m]
    upright: Spread  #: error of the upright orientation [rad]
    true_height: Spread  #: error of the true height [m]
    true_upright: Spread  #: error of the true upright orientation [rad]
    reference_sideways: float  #: largest velocity along the axis [m/s]
    reference_rolling: float  #: largest difference of speed and rolling speed [m/s]
    sideways: Spread  #: velocity along the axis [m/s]
    true_sideways: Spread  #: true velocity along the axis [m/s]
    rolling: Rolling | None = field(metadata=MERGED)  #: errors of rolling; None if the disk does not roll
    parking: Parking | None  #: parallel parking; None if it is not there to its end
    push: Pushed | None  #: push across the wheel plane; None if it is not there to its end
    lean: Leaned | None  #: push from above; None if it is not there to its end


def rolling(run: DisplayRun[RollingDisk], path: ToolPath) -> RollingMotion:
    """Computes the quantities of Fig. 9 of a motion."""
    rotation = path.rotation.as_matrix()
    return run.mechanism.rolling_motion(path.position, rotation, path.velocity, path.angular_velocity)


def measure(run: DisplayRun[RollingDisk]) -> Numbers:
    """Measures one run."""
    measured, true, reference = (rolling(run, path) for path in (run.measured, run.true, run.reference))
    return Numbers(
        **vars(run.common_numbers()),
        height=Spread.of(measured.height),
        upright=Spread.of(measured.upright),
        true_height=Spread.of(true.height),
        true_upright=Spread.of(true.upright),
        reference_sideways=largest(reference.sideways),
        reference_rolling=largest(reference.speed - reference.rolling_speed),
        sideways=Spread.of(measured.sideways),
        true_sideways=Spread.of(true.sideways),
        rolling=_rolling(measured, true),
        parking=_parking(run, measured),
        push=_push(run, measured),
        lean=_lean(run, measured),
    )


def _rolling(measured: RollingMotion, true: RollingMotion) -> Rolling | None:
    rolls, truly_rolls = (np.abs(motion.speed) > ROLLING_SPEED for motion in (measured, true))
    if not rolls.any() or not truly_rolls.any():
        return None
    errors = measured.rolling_error(EPSILON)[rolls]
    return Rolling(
        rolling_error_median=float(np.median(errors)),
        rolling_error_p95=float(np.percentile(errors, 95)),
        true_rolling_error_median=float(np.median(true.rolling_error(EPSILON)[truly_rolls])),
        sideways_error_median=float(100.0 * np.median(measured.slip(EPSILON)[rolls])),
    )


def _parking(run: DisplayRun[RollingDisk], motion: RollingMotion) -> Parking | None:
    flags = run.completed("forward", "back")
    if flags is None:
        return None
    first, last = np.flatnonzero(flags)[[0, -1]]
    return motion.parking(run.measured.position, run.period, int(first), int(last))


def _push(run: DisplayRun[RollingDisk], motion: RollingMotion) -> Pushed | None:
    flags = run.completed("push sideways")
    if flags is None:
        return None
    heading = motion.heading[int(np.flatnonzero(flags)[0])]
    return _displaced(run, flags, np.array((np.sin(heading), -np.cos(heading), 0.0)))


def _lean(run: DisplayRun[RollingDisk], motion: RollingMotion) -> Leaned | None:
    flags = run.completed("push down")
    if flags is None:
        return None
    found = _displaced(run, flags, np.array((0.0, 0.0, -1.0)))
    return Leaned(**vars(found), height_rms=rms(motion.height[flags]))


def _displaced(run: DisplayRun[RollingDisk], flags: np.ndarray, along: np.ndarray) -> Pushed:
    """Measures a push in a direction (3,)."""
    positions = (path.position[flags] for path in (run.measured, run.true))
    return Pushed(largest(run.wrench[flags, :3] @ along), *(largest((p - p[0]) @ along) for p in positions))


def analyse(bags: dict[str, Bag]) -> Report:
    """Computes metrics, claims and figure of one or more bags of the experiment."""
    return display_report(bags, RollingDisk, measure, _claims, _figure, _CAPTION)


def _claims(claims: Claims, n: Numbers) -> None:
    height, upright, lean = n.height, n.upright, n.lean
    pressed = "nothing presses on the disk"
    if lean is not None:
        pressed = f"under {lean.force:.1f} N from above RMS {1e6 * lean.height_rms:.2g} µm (same limit)"
    claims.say(
        "The error of the disk's height is negligible, on the order of the display's position resolution (Fig. 9A).",
        f"measured RMS {1e6 * height.rms:.2g} µm (limit {COUNTS:g} counts of {1e6 * n.position_resolution:g} µm, "
        f"{AFTER_DATA}), largest {1e6 * height.largest:.2g} µm; true largest "
        f"{1e6 * n.true_height.largest:.2g} µm; {pressed}",
        max(height.rms, lean.height_rms if lean else 0.0) <= COUNTS * n.position_resolution,
    )
    claims.say(
        "So is the error of its upright orientation (Fig. 9B).",
        f"measured RMS {1e3 * upright.rms:.2g} mrad (limit {COUNTS:g} counts of "
        f"{1e3 * n.angle_resolution:g} mrad, {AFTER_DATA}), largest {1e3 * upright.largest:.2g} mrad; true "
        f"largest {1e3 * n.true_upright.largest:.2g} mrad",
        upright.rms <= COUNTS * n.angle_resolution,
    )
    text = "The nonholonomic constraint is maintained effectively (Fig. 9D)."
    if rolls := claims.reached(text, n.rolling, unless=f"the disk never rolled faster than {ROLLING_SPEED:g} m/s"):
        claims.say(
            text,
            f"100 |v - r w|/(|v| + 1 mm/s), above {1e3 * ROLLING_SPEED:g} mm/s: median "
            f"{rolls.rolling_error_median:.2g} % (limit {ROLLING_ERROR:g} %, {AFTER_DATA}; true "
            f"{rolls.true_rolling_error_median:.2g} %), 95 % below {rolls.rolling_error_p95:.2g} %; sideways, which "
            f"this does not see, likewise median {rolls.sideways_error_median:.2g} % (same limit), "
            f"{1e3 * n.sideways.rms:.2g} mm/s RMS (true {1e3 * n.true_sideways.rms:.2g}); reference: |v - r w| at most "
            f"{n.reference_rolling:.1e}, sideways {n.reference_sideways:.1e} m/s",
            max(rolls.rolling_error_median, rolls.sideways_error_median) < ROLLING_ERROR,
        )
    text = 'The disk moves sideways by "parallel parking" motions, without sliding sideways (Fig. 8).'
    if parking := claims.reached(text, n.parking, unless="no parking to its end"):
        claims.say(
            text,
            f"{1e3 * parking.across:.1f} mm across by rolling {1e3 * parking.rolled:.0f} mm to and fro; along "
            f"{1e3 * parking.along:.1f} mm; slip along the axis {1e3 * parking.slipped:.2g} mm, limit a tenth of the "
            "shift across",
            parking.across > 10.0 * parking.slipped and parking.across > abs(parking.along),
        )
    pushes = [(name, push) for name, push in (("across the wheel plane", n.push), ("from above", lean)) if push]
    claims.each(
        "Infinitely rigid constraints, where an impedance display is limited to a few kN/m.",
        [
            (
                f"{push.force:.1f} N {name} move the measured tool by at most {1e6 * push.moved:.0f} µm, the true one "
                f"by {1e6 * push.truly_moved:.0f} µm",
                push.force > IMPEDANCE_LIMIT * max(push.moved, push.truly_moved),
            )
            for name, push in pushes
        ],
        f" (limit {1e-3 * IMPEDANCE_LIMIT:g} kN/m)",
        unless="no push to its end",
    )


_CAPTION = (
    "Top: path of the measured disk's centre and its tyre track, the disk every 0.1 s at first, as in Fig. 8. Below: "
    "Fig. 9 from the measured state: error of height and of upright orientation, rolling velocity, error of rolling in "
    "percent, velocity along the disk's axis, which the percentage does not see, and distance from the reference. "
    "Shaded: the hand pushes."
)


def _figure(run: DisplayRun[RollingDisk]) -> Figure:
    motion, panel = rolling(run, run.measured), partial(signal_panel, run)
    flat = {} if np.any(motion.sideways) else {"ylim": (-20.0, 20.0)}
    return panels(
        Panel("y (mm)", [], "x (mm)", extra=partial(_draw_path, run=run)),
        [panel("A: height error (µm)", 1e6 * motion.height), panel("B: upright error (mrad)", 1e3 * motion.upright)],
        [
            panel("C: rolling velocity v (mm/s)", 1e3 * motion.speed),
            panel("D: error of rolling (%)", motion.rolling_error(EPSILON), yscale="log", ylim=(1e-2, 5e2)),
        ],
        [
            panel("velocity along the axis (mm/s)", 1e3 * motion.sideways, **flat),
            panel("distance from the reference (mm)", 1e3 * run.tracking_error),
        ],
        size=(12, 14),
        height_ratios=(5, 2, 2, 2),
        per_subplot_kw={"0.0": {"projection": "3d"}},
    )


def _draw_path(axes: Axes3D, run: DisplayRun[RollingDisk]) -> None:
    radius, p = run.mechanism.radius, 1e3 * run.measured.position
    angle = np.linspace(0.0, 2.0 * np.pi, 33)
    rim = np.column_stack((np.cos(angle), np.sin(angle), np.zeros_like(angle)))
    rotations = run.measured.rotation.as_matrix()
    for k in range(0, int(np.searchsorted(run.time, _SHOWN_UNTIL)), max(1, round(_SHOWN / run.period))):
        shown = p[k] + 1e3 * radius * rim @ rotations[k].T
        axes.plot(*shown.T, color="0.55", linewidth=0.5)
        axes.plot(*np.vstack((p[k], shown[0])).T, color="tab:blue", linewidth=0.5)
    axes.plot(p[:, 0], p[:, 1], np.zeros(len(p)), color="tab:red", linewidth=1.5)
    axes.set(title="the disk every 0.1 s at first, and its track (Fig. 8)")
    axes.view_init(elev=35, azim=-65)
    edges = [np.ptp(limits) for limits in (axes.get_xlim(), axes.get_ylim(), axes.get_zlim())]
    axes.set_box_aspect(edges, zoom=1.25)
