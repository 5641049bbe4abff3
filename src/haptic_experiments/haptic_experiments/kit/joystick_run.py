"""A run of `friction_impedance` as arrays: rests, direction of the force, and what identification finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from haptic_bags.bags import Bag
from haptic_core.errors import HapticError
from haptic_experiments.identification import identify_bag, known_parameters
from haptic_experiments.kit.phases import phased
from haptic_experiments.kit.planar import PlanarRun, box_diagonal, radius_of_curvature
from haptic_experiments.kit.results import OPTIONAL
from haptic_friction.identification import Estimate
from haptic_friction.reference.lag import path_lag, steady_lag

#: a rest counts from here on, when the hand has let go of its stiffness [s]
_SETTLING = 0.6
#: shortest remaining rest that a drift is computed from [s]
_SHORTEST_REST = 0.5
#: speed above which the tip slides [m/s]
_SLIDING_SPEED = 0.02
#: force above this frequency is neither the hand's nor its tremor's [Hz]
CHATTER_FREQUENCY = 50.0
#: symbols under which parameters are named in the claims
SYMBOLS = {"force": "F", "viscosity": "D", "stiffness": "K", "damping": "B"}


@dataclass(frozen=True)
class Run(PlanarRun):
    """The signals of one bag on common ticks; the force is the friction force f, the tip feels -f."""

    displacement: np.ndarray  #: elastic displacement e of the model (n, 2) [m]

    @classmethod
    def from_bag(cls, bag: Bag) -> Run:
        """Takes the ticks that all topics have; in realtime the friction node may have missed some."""
        ticks = bag.ticks("/joystick", "device_state", "simulation_state", "friction/state")
        device, truth, friction = ticks.values()
        return cls(
            **phased(ticks, bag),
            measured=device["tool_pose"][:, 0:2],
            position=truth["tool_pose"][:, 0:2],
            velocity=truth["tool_twist"][:, 0:2],
            force=friction["force"],
            # elements in parallel have one each; the last one begins to slip last
            displacement=friction["elastic_displacement"][:, -2:],
            sticking=friction["sticking"][:, 0].astype(bool),
        )


@dataclass(frozen=True)
class Rest:
    """A rest without its beginning.

    The stuck element is a spring: the tip moves with the force without drifting. What may not move is
    the point where the element holds on to the ground, the true position less the elastic displacement
    (which follows the quantised position). The drift is the slope of a straight line through it times
    the length; a sine of the hand's or the tremor's frequency averages out over the rest.
    """

    start: float  #: start [s]
    length: float  #: length [s]
    drift: float  #: drift of the true position [m]
    travel: float  #: diagonal of the box of the true positions [m]
    largest_force: float  #: largest force [N]
    sticking_share: float  #: fraction of the ticks that stick
    chatter_force: float  #: RMS of the force above 50 Hz [N]


@dataclass(frozen=True)
class Sliding:
    """Angle between force and velocity in all samples in which the tip slides."""

    samples: int  #: number of samples
    median_angle: float  #: median of the angle between -f and -v [rad]
    p95_angle: float  #: 95th percentile of that angle [rad]
    median_lag: float  #: angle that spring and encoder explain [rad]
    within_lag_share: float  #: fraction of the samples with less than that
    within_steady_lag_share: float  #: the same with the settled lag of the spring
    opposing_share: float  #: fraction of the samples with an angle below 90 degrees
    mean_force: float  #: mean force [N]
    sign_flips_per_second: float  #: changes of sign of the force along the motion [1/s]


@dataclass(frozen=True)
class Identified:
    """Result of `identify_bag` beside the known parameters; None where it finds nothing."""

    estimates: Mapping[str, Estimate]  #: estimates by name of the parameter
    known: dict[str, float]  #: known parameters by name, in the units of the estimates
    not_identified: dict[str, str]  #: reasons by name of the parameter
    law: str | None = field(default=None, metadata=OPTIONAL)  #: name of the law
    #: whether the known parameter lies in the interval, by name
    contained: dict[str, bool] | None = field(default=None, metadata=OPTIONAL)
    residual_rms: float | None = field(default=None, metadata=OPTIONAL)  #: RMS of the force that is left [N]
    samples: int | None = field(default=None, metadata=OPTIONAL)  #: number of samples

    @property
    def words(self) -> str:
        """Estimates and intervals in words."""
        found = [f"{SYMBOLS.get(name, name)} = {estimate}" for name, estimate in self.estimates.items()]
        missing = [f"{SYMBOLS.get(n, n)} not identified: {why}" for n, why in self.not_identified.items()]
        return ", ".join(found + missing)

    @property
    def outside(self) -> list[str]:
        """Names of the parameters whose intervals do not contain the known ones."""
        return [name for name, inside in (self.contained or {}).items() if not inside]

    @property
    def is_complete(self) -> bool:
        """All known parameters are identified, and no others."""
        return not self.not_identified and set(self.known) == set(self.estimates)


def rest_drifts(run: Run) -> list[Rest]:
    """Measures each rest."""
    results = []
    for phase, part in run.settled_rests(_SETTLING, _SHORTEST_REST):
        time, force, position = run.time[part], run.force[part], run.position[part]
        rate = np.polyfit(time - time[0], position - run.displacement[part], 1)[0]
        length = float(time[-1] - time[0])
        results.append(
            Rest(
                start=float(phase["start"] + _SETTLING),
                length=length,
                drift=float(np.linalg.norm(rate)) * length,
                travel=box_diagonal(position),
                largest_force=float(np.linalg.norm(force, axis=1).max()),
                sticking_share=float(run.sticking[part].mean()),
                chatter_force=chatter_force(force, run.period),
            )
        )
    return results


def chatter_force(force: np.ndarray, period: float) -> float:
    """Computes the RMS [N] of a force (n, 2) above 50 Hz."""
    spectrum = np.fft.rfft(force - force.mean(axis=0), axis=0)
    high = np.fft.rfftfreq(len(force), period) > CHATTER_FREQUENCY
    return float(np.sqrt(2.0 * np.sum(np.abs(spectrum[high]) ** 2)) / len(force))


def opposition(run: Run, yield_distance: float, count: float, delay: float) -> Sliding | None:
    """Measures the angle between force and velocity; None if the tip does not slide.

    The spring yields by F/K and turns with the path: on a curve of radius R the force lags the velocity by F/(K R),
    once it has settled over a path of some F/K. The encoder adds the angle by which the path turns during the
    measurement's delay, and one count along both axes of an elongation of F/K.

    Args:
        run: Signals.
        yield_distance: F/K [m].
        count: Displacement of the tip for one count of the encoder [m].
        delay: Delay of the measured velocity [s].
    """
    speed = np.linalg.norm(run.velocity, axis=1)
    magnitude = np.linalg.norm(run.force, axis=1)
    sliding = (speed > _SLIDING_SPEED) & (magnitude > 0.0) & ~run.sticking
    if not sliding.any():
        return None
    along = np.sum(run.force[sliding] * run.velocity[sliding], axis=1)
    angle = np.arccos(np.clip(along / (speed[sliding] * magnitude[sliding]), -1.0, 1.0))
    radius = radius_of_curvature(run.velocity, run.time)[sliding]
    encoder = delay * speed[sliding] / radius + np.sqrt(2.0) * count / yield_distance
    # where the true tip does not slide yet, the elongation may point anywhere
    lag = np.nan_to_num(path_lag(run.position, run.velocity, yield_distance)[sliding], nan=np.pi) + encoder
    flips = np.count_nonzero(np.diff(np.sign(along)) != 0.0)
    return Sliding(
        samples=int(sliding.sum()),
        median_angle=float(np.median(angle)),
        p95_angle=float(np.percentile(angle, 95)),
        median_lag=float(np.median(lag)),
        within_lag_share=float(np.mean(angle < lag)),
        within_steady_lag_share=float(np.mean(angle < steady_lag(radius, yield_distance) + encoder)),
        opposing_share=float(np.mean(angle < 0.5 * np.pi)),
        mean_force=float(magnitude[sliding].mean()),
        sign_flips_per_second=float(flips / (sliding.sum() * run.period)),
    )


def measurement_delay(bag: Bag) -> float:
    """Computes the delay [s] of the measured velocity: T/2 of the difference, and the filter's (1 - a) T/a."""
    period, device = bag.parameters("friction")["period"], bag.started("device")["device"]
    return float(period * (0.5 + 1.0 / np.expm1(2.0 * np.pi * device["velocity_cutoff"] * period)))


def identification(bag: Bag, velocity: str) -> Identified:
    """Identifies the friction from a velocity.

    With the measured velocity, the input of the element, these are the node's parameters. With the true one, the
    encoder and the filter are a part of what is identified, and the known damping is B - K t, t their delay.
    """
    known = known_parameters(bag)
    if velocity == "true" and known:
        known["damping"] -= known["stiffness"] * measurement_delay(bag)
    try:
        found = identify_bag(bag, velocity=velocity)
    except HapticError as error:
        return Identified({}, known, {"all": str(error)})
    return Identified(
        estimates=found.estimates,
        known=known,
        not_identified=dict(found.not_identified),
        law=found.law,
        contained={name: e.contains(known[name]) for name, e in found.estimates.items() if name in known},
        residual_rms=found.residual_rms,
        samples=found.samples,
    )
