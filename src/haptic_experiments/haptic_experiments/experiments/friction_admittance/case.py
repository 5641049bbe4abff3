"""One bag of `friction_admittance`: its signals, parameters and device, and its numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from haptic_bags.bags import Bag
from haptic_devices.five_bar import FiveBar, force_analysis
from haptic_devices.hands.operator import HandParameters
from haptic_experiments.experiments.friction_admittance import manipulator
from haptic_experiments.experiments.friction_admittance.grip import GripSettings
from haptic_experiments.experiments.friction_admittance.manipulator import Motion, Run
from haptic_experiments.kit.planar import delay_words
from haptic_experiments.kit.results import OPTIONAL
from haptic_friction.factory import make_law

LAWS = ("coulomb", "viscous_coulomb", "stribeck")  #: laws whose magnitude follows from the node's parameters alone
#: friction compensations in words
COMPENSATIONS = {"none": "no compensation", "model_c": "one model C", "parallel": "models C in parallel"}


@dataclass(frozen=True)
class RunNumbers:
    """Numbers of one bag; a part is None where the run does not show it."""

    label: str  #: delay and compensation in words
    command_delay_ticks: int  #: delay of the commands
    mode: str  #: mode of the loop
    compensation: str  #: friction compensation of the servo
    ticks: int  #: number of ticks
    rests: list[manipulator.Rest]  #: the rests of the hand
    curve: force_analysis.Curved | None  #: curves
    shaking: float | None  #: RMS of the true velocity above 30 Hz while the tool slides [m/s]
    straight: force_analysis.Straight | None = field(metadata=OPTIONAL)  #: straight motions
    isotropy: manipulator.Isotropy | None = field(metadata=OPTIONAL)  #: friction by direction of motion
    #: joint friction and what the compensation leaves of it
    joints: manipulator.Compensated | None = field(metadata=OPTIONAL)


@dataclass(frozen=True)
class Case:
    """Signals, parameters and device of one bag."""

    run: Run  #: the signals
    motion: Motion  #: force and motion below 20 Hz
    friction: dict[str, Any]  #: parameters of the friction node
    node: dict[str, Any]  #: parameters of the device node
    device: FiveBar | None  #: the simulated manipulator; None if it is not known
    hand: HandParameters | None  #: parameters of the hand that holds it; None without a hand

    @classmethod
    def of(cls, bag: Bag) -> Case:
        """Reads a bag."""
        run, description = Run.from_bag(bag), bag.started("device")
        hand = description.get("hand")
        return cls(
            run=run,
            motion=Motion.of(run),
            friction=bag.parameters("friction"),
            node=bag.parameters("device"),
            device=manipulator.manipulator(description),
            hand=HandParameters(**hand) if hand else None,
        )

    @property
    def compensation(self) -> str:
        """Friction compensation of the servo."""
        return self.device.parameters.compensation if self.device else "none"

    @property
    def label(self) -> str:
        """Delay and compensation in words."""
        delay = delay_words(self.node["mode"], self.node["command_delay_ticks"])
        return delay if self.compensation == "none" else f"{delay}, {COMPENSATIONS[self.compensation]}"

    @property
    def is_of_the_paper(self) -> bool:
        """The mass slides by model A, with a friction whose magnitude is known and not zero."""
        p = self.friction
        return p["model"] == "A" and p["law"] in LAWS and p["friction_force"] > 0.0

    @property
    def settings(self) -> GripSettings:
        """Period, delay and friction of the run."""
        p = self.friction
        return GripSettings(self.run.period, self.node["command_delay_ticks"], float(p["friction_force"]), p["mass"])

    def resistance(self) -> np.ndarray:
        """Computes the friction force of the law at the speed of each sample (n,) [N]; NaN for an unknown law."""
        if self.friction["law"] not in LAWS:
            return np.full(len(self.run.time), np.nan)
        law = make_law(self.friction)
        return np.array([law.magnitude(speed) for speed in self.motion.speed])

    def measure(self) -> RunNumbers:
        """Measures all numbers of this bag."""
        run, motion, mass, resistance = self.run, self.motion, float(self.friction["mass"]), self.resistance()
        joints, known = None, bool(np.isfinite(resistance).all())
        if self.device is not None:
            friction = manipulator.friction_torque(self.device, run)
            added = manipulator.compensation_torque(self.device, run)
            joints = manipulator.compensated(run, friction, added)
        return RunNumbers(
            label=self.label,
            command_delay_ticks=self.node["command_delay_ticks"],
            mode=self.node["mode"],
            compensation=self.compensation,
            ticks=len(run.time),
            rests=manipulator.rests(run, mass),
            curve=force_analysis.curve(motion, mass),
            shaking=manipulator.shaking(run, motion),
            straight=force_analysis.straight(motion, mass, resistance) if known else None,
            isotropy=manipulator.isotropy(run, motion, self.device, mass, resistance) if known else None,
            joints=joints,
        )
