"""Signals and measures of the admittance experiment on the simulated manipulator, for its report.

Rows are ticks, columns x and y, or the two joints. The target of a row is what the servo compares with the
measurement of that tick: the motion commanded at that tick, or the delay earlier.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.ndimage import binary_erosion

from haptic_bags.bags import Bag
from haptic_bags.ticks import Rows
from haptic_devices.five_bar import FiveBar, FiveBarParameters, force_analysis, friction_analysis
from haptic_devices.five_bar.force_analysis import SlidingMotion, rms_length
from haptic_devices.five_bar.friction_analysis import tool_forces
from haptic_devices.five_bar.motion_analysis import (
    compliant_drift,
    coulomb_force_ranges,
    high_passed,
    low_passed,
    path_motion,
)
from haptic_experiments.kit.phases import phased
from haptic_experiments.kit.planar import PlanarRun, box_diagonal
from haptic_experiments.kit.results import MERGED, key
from haptic_files.moved_modules import renamed
from haptic_friction.reference.lag import radius_of_curvature
from haptic_friction.reference.motions import free_drift

NAMESPACE = "/five_bar"
__getattr__ = renamed(
    __name__,
    {
        "jacobians": f"{friction_analysis.__name__}:tool_jacobians",
        "forces_of_friction": f"{friction_analysis.__name__}:tool_forces",
        "joint_friction_force": f"{friction_analysis.__name__}:coulomb_forces",
        "rms": f"{force_analysis.__name__}:rms_length",
        **{name: f"{force_analysis.__name__}:{name}" for name in ("Straight", "Curved", "straight", "curve")},
    },
)
SETTLING = 0.6  #: a rest counts from here on, when the hand has let go of its stiffness [s]
#: shortest remaining rest that a drift is computed from: two periods of the slowest swing of the hand's force (1.5 Hz),
#: since the joints' presliding follows it with hysteresis and has no straight line over a part of a period [s]
SHORTEST_REST = 1.3
SLIDING_SPEED = 0.02  #: speed above which the tool slides [m/s]
#: force and motion are compared below this frequency: twice that of the tremor, which belongs to the motion [Hz]
MOTION_FREQUENCY = 20.0
#: radius [m] of the hand's intended path above which it counts as straight (0.15 m deviate by 3 mm), and below which it
#: counts as a curve
STRAIGHT_RADIUS, CURVE_RADIUS = 1.0, 0.2
#: so long before and after, too, a straight motion is straight: letters have points of inflection [s]
STRAIGHT_TIME = 0.1
OSCILLATION_FREQUENCY = 30.0  #: motion above this frequency is neither the hand's nor its tremor's [Hz]
SECTORS, SECTOR_SAMPLES = 12, 50  #: sectors of the direction of motion, and the fewest samples of a sector that counts


@dataclass(frozen=True)
class Run(PlanarRun):
    """The signals of one bag on common ticks; the force is that of the hand, as measured."""

    intention: np.ndarray  #: position that the hand wants (n, 2) [m]
    target: np.ndarray  #: commanded position with which the servo compares this tick's measurement (n, 2) [m]
    target_velocity: np.ndarray  #: commanded velocity, exactly zero while model A sticks (n, 2) [m/s]
    joints: np.ndarray  #: true angles of the motors (n, 2) [rad]

    @classmethod
    def from_bag(cls, bag: Bag) -> Run:
        """Takes the ticks that all topics have; in realtime the friction node may have missed some.

        Raises:
            HapticError: Fewer than two common ticks.
        """
        ticks = bag.ticks(NAMESPACE, "device_state", "simulation_state", "device_command", "friction/state")
        device, truth, _, friction = ticks.values()
        node = bag.parameters("device")
        acts = ticks.tick - node["command_delay_ticks"] - (node["mode"] == "realtime")
        command = Rows.held(bag.topics[f"{NAMESPACE}/device_command"], acts)
        started = (command["tick"].astype(np.int64) <= acts)[:, None]
        position = device["tool_pose"][:, 0:2]
        return cls(
            **phased(ticks, bag),
            measured=position,
            position=truth["tool_pose"][:, 0:2],
            velocity=truth["tool_twist"][:, 0:2],
            force=device["tool_wrench"][:, 0:2],
            intention=truth["operator_target"][:, 0:2],
            target=np.where(started, command["tool_pose"][:, 0:2], position[0]),
            target_velocity=np.where(started, command["tool_twist"][:, 0:2], 0.0),
            joints=truth["joint_position"],
            sticking=friction["sticking"][:, 0].astype(bool),
        )


@dataclass(frozen=True)
class Motion(SlidingMotion):
    """Force and true motion below 20 Hz.

    The tool slides when it is faster than 0.02 m/s. It goes straight while the hand's intention does, also 0.1 s before
    and after; it goes round a curve while the hand's intention does.
    """

    @classmethod
    def of(cls, run: Run) -> Motion:
        """Computes force and motion from the true velocity and the measured force."""
        motion = path_motion(smooth(run.velocity, run.period), run.time)
        intended = np.gradient(run.intention, run.time, axis=0)
        radius = radius_of_curvature(intended, run.time)
        leads = np.linalg.norm(intended, axis=1) > SLIDING_SPEED
        leads &= run.during("slide")
        window = np.ones(2 * round(STRAIGHT_TIME / run.period) + 1)
        goes_straight = binary_erosion(leads & (radius > STRAIGHT_RADIUS), window)
        sliding = motion.speed > SLIDING_SPEED
        return cls(
            **vars(motion),
            force=smooth(run.force, run.period),
            sliding=sliding & run.during("slide"),
            straight=sliding & goes_straight,
            curved=sliding & leads & (radius < CURVE_RADIUS),
        )


@dataclass(frozen=True)
class Rest:
    """A rest without its beginning: commanded motion, drift, and what a free mass would do.

    The gears are elastic, so that the force displaces the tool. The drift is the slope of a straight line times the
    length of the rest, fitted to the true position together with that compliance (position = c + d t + S h).
    """

    name: str  #: name of the phase
    start: float  #: start [s]
    length: float  #: length [s]
    largest_force: float  #: largest force [N]
    force_rms_about_mean: float  #: RMS of the force about its mean [N]
    largest_target_speed: float  #: largest commanded speed [m/s]
    target_travel: float  #: diagonal of the box of the commanded positions [m]
    sticking_share: float  #: fraction of the ticks that stick
    drift: float  #: drift [m]
    travel: float  #: diagonal of the box of the true positions [m]
    measured_travel: float  #: diagonal of the box of the measured positions [m]
    free_drift: float  #: displacement of a free mass under the force [m]
    free_drift_about_mean: float  #: displacement of a free mass under the force's fluctuation [m]


@dataclass(frozen=True)
class Compensated:
    """Joint friction, what the compensation leaves of it, and the servo's error, while the hand leads."""

    friction_rms: float  #: RMS of the friction torque of one joint [N m]
    residual_rms: float  #: RMS of the torque that is left of it [N m]
    largest_residual: float  #: largest torque that is left [N m]
    tracking_rms: float  #: RMS error of the tool's position [m]
    largest_tracking_error: float  #: largest error of the tool's position [m]


@dataclass(frozen=True)
class JointFriction:
    """The joints' Coulomb friction at the tool, over 72 directions and the positions of the run."""

    #: range of its component along the motion [N]
    along: tuple[float, float] = field(metadata=key("joint_friction_along"))
    force: tuple[float, float] = field(metadata=key("joint_friction_force"))  #: range of the force [N]
    angle: float = field(metadata=key("joint_friction_angle"))  #: largest angle to the motion [rad]
    rms: float = field(metadata=key("joint_friction_rms"))  #: RMS over the run [N]
    #: fraction of it in the measured force, by regression of the residual of that on J^-T tau
    share: float = field(metadata=key("joint_friction_share"))


@dataclass(frozen=True)
class Isotropy:
    """Rendered friction |h - M a| by direction of motion.

    Viscous and Stribeck parts of a law depend on the speed: what counts is the deviation from the law.
    """

    #: middle [rad], |h - M a| [N] and mean deviation [N] of each sector of directions that has samples
    sectors: list[tuple[float, float, float]]
    largest_deviation: float  #: largest of these deviations [N]
    #: force that the joints' friction would ask for; None if the device is not known
    joint_friction: JointFriction | None = field(metadata=MERGED)


def smooth(values: np.ndarray, period: float) -> np.ndarray:
    """Filters signals (n, k) below 20 Hz without phase shift; returns short or slowly sampled ones as they are."""
    return low_passed(values, period, MOTION_FREQUENCY)


def rests(run: Run, mass: float) -> list[Rest]:
    """Measures each rest; `mass` is that of the free mass [kg]."""
    results = []
    for phase, part in run.settled_rests(SETTLING, SHORTEST_REST):
        time, force, position = run.time[part] - run.time[part.start], run.force[part], run.position[part]
        results.append(
            Rest(
                name=phase["name"],
                start=float(phase["start"] + SETTLING),
                length=float(time[-1]),
                largest_force=float(np.linalg.norm(force, axis=1).max()),
                force_rms_about_mean=rms_length(force - force.mean(axis=0)),
                largest_target_speed=float(np.linalg.norm(run.target_velocity[part], axis=1).max()),
                target_travel=box_diagonal(run.target[part]),
                sticking_share=float(run.sticking[part].mean()),
                drift=float(np.linalg.norm(compliant_drift(time, force, position))),
                travel=box_diagonal(position),
                measured_travel=box_diagonal(run.measured[part]),
                free_drift=free_drift(force, mass, run.period),
                free_drift_about_mean=free_drift(force - force.mean(axis=0), mass, run.period),
            )
        )
    return results


def manipulator(description: dict[str, Any]) -> FiveBar | None:
    """Makes the simulated device that a bag's device node described; returns None if it described another one."""
    try:
        return FiveBar(FiveBarParameters(**description["device"]))
    except (KeyError, TypeError, ValueError):
        return None


def friction_torque(device: FiveBar, run: Run) -> np.ndarray:
    """Computes the true friction torque (n, 2) [N m] of the joints in the period before each tick."""
    return friction_analysis.friction_torque(device, run.joints, run.period)


def compensation_torque(device: FiveBar, run: Run) -> np.ndarray:
    """Computes the torque (n, 2) [N m] that the servo's compensation added in that period, from the commands."""
    return friction_analysis.compensation_torque(device, run.target, run.target_velocity, run.period)


def compensated(run: Run, friction: np.ndarray, added: np.ndarray) -> Compensated | None:
    """Measures torques of friction and compensation (n, 2) [N m] while the hand leads; None if it does not."""
    leads = run.during("slide")
    if not leads.any():
        return None
    error = run.position[leads] - run.target[leads]
    return Compensated(
        friction_rms=rms_length(friction[leads]) / 2.0**0.5,  # of one joint
        residual_rms=rms_length((friction - added)[leads]) / 2.0**0.5,
        largest_residual=float(np.abs(friction - added)[leads].max()),
        tracking_rms=rms_length(error),
        largest_tracking_error=float(np.linalg.norm(error, axis=1).max()),
    )


def isotropy(run: Run, motion: Motion, device: FiveBar | None, mass: float, resistance: np.ndarray) -> Isotropy | None:
    """Measures the friction that a mass [kg] and a resistance (n,) [N] leave of the force; None without motion."""
    chosen = motion.sliding
    if not chosen.any():
        return None
    friction = np.linalg.norm(motion.force - mass * motion.acceleration, axis=1)
    width = 2.0 * np.pi / SECTORS
    sector = np.round(np.arctan2(motion.along[:, 1], motion.along[:, 0]) / width).astype(int) % SECTORS
    sectors = []
    for place in range(SECTORS):
        inside = chosen & (sector == place)
        if inside.sum() >= SECTOR_SAMPLES:
            deviation = float((friction - resistance)[inside].mean())
            sectors.append((place * width, float(friction[inside].mean()), deviation))
    joints = None if device is None else _joint_friction(run, motion, device, motion.residual(mass, resistance))
    return Isotropy(sectors, max((abs(s[2]) for s in sectors), default=0.0), joints)


def _joint_friction(run: Run, motion: Motion, device: FiveBar, residual: np.ndarray) -> JointFriction:
    """Measures the joints' friction; `residual` (n, 2) [N] is the rest of the measured force."""
    chosen = motion.sliding
    every = np.flatnonzero(chosen)[:: max(1, chosen.sum() // 50)]
    along, force, angle = coulomb_force_ranges(device, run.joints[every])
    felt = smooth(tool_forces(device, run.joints, friction_torque(device, run)), run.period)[chosen]
    squares = float(np.sum(felt**2))
    share = float(np.sum(residual[chosen] * felt)) / squares if squares else 0.0
    return JointFriction(along, force, angle, rms_length(felt), share)


def shaking(run: Run, motion: Motion) -> float | None:
    """Computes the RMS [m/s] of the true velocity above 30 Hz while the tool slides.

    Returns None if the tool does not slide, or T is too long.
    """
    fast = high_passed(run.velocity, run.period, OSCILLATION_FREQUENCY)
    return rms_length(fast[motion.sliding]) if motion.sliding.any() and fast is not None else None
