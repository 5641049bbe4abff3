"""A run of `friction_impedance` as arrays: rests, direction of the force, and what identification finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from haptic_bags.bags import Bag
from haptic_core.errors import HapticError
from haptic_devices.components.encoder import velocity_delay
from haptic_experiments.identification import identify_bag, known_parameters
from haptic_experiments.kit.phases import phased
from haptic_experiments.kit.planar import PlanarRun, box_diagonal
from haptic_experiments.kit.results import OPTIONAL
from haptic_friction.identification import Estimate
from haptic_friction.reference import opposition as reference
from haptic_friction.reference.opposition import Sliding
from haptic_math.spectra import rms_above

_SETTLING = 0.6  #: a rest counts from here on, when the hand has let go of its stiffness [s]
_SHORTEST_REST = 0.5  #: shortest remaining rest that a drift is computed from [s]
CHATTER_FREQUENCY = 50.0  #: force above this frequency is neither the hand's nor its tremor's [Hz]
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
    return rms_above(force, period, CHATTER_FREQUENCY)


def opposition(run: Run, yield_distance: float, count: float, delay: float) -> Sliding | None:
    """Measures the angle between force and velocity; None if the tip does not slide.

    Args:
        run: signals.
        yield_distance: F/K [m].
        count: displacement of the tip for one count of the encoder [m].
        delay: delay of the measured velocity [s].
    """
    signals = run.time, run.position, run.velocity, run.force, run.sticking, run.period
    return reference.opposition(*signals, yield_distance=yield_distance, count=count, delay=delay)


def measurement_delay(bag: Bag) -> float:
    """Computes the delay [s] of the measured velocity."""
    return velocity_delay(bag.started("device")["device"]["velocity_cutoff"], bag.parameters("friction")["period"])


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
