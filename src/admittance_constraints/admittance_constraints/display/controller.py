"""The controller of Fig. 2: measured pose and wrench of the display in, its motion out.

Around the reference generator it adds what a display needs: the place of the virtual environment in the display's
base frame and of the virtual tool in the hand, the force below which nothing moves, the way to the start, the
feedback (17), (18), and what happens when the display cannot follow.

With c the correction of the velocity that (17) integrates to, the command of a period is

    velocity = x_r' + c,   acceleration = x_r'' + c' (18),   c' = K_p e + K_i (integral of e) + K_d e',

bounded in c; at the bound c' is zero and the integral of e does not grow outwards, so that a display that is held up
winds up neither. e is formed between poses at the instant of the measurement: the reference of the step before against
what is measured now. e' is its difference through a low-pass filter; the difference of the velocities would take the
lag of a measured velocity for an error, K_d times lag times acceleration. Beside a reference that waits ahead of the
tool c starts from zero in every period: a gentle pull, without c'.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from admittance_constraints import rotations
from admittance_constraints.checks import finite_number, finite_vector
from admittance_constraints.display.feedback import PIDFeedback, pose_difference
from admittance_constraints.generation.reference_generator import Reference, ReferenceGenerator

#: distance [m] and angle [rad] of the tool from its start below which no way to it is needed
_ARRIVED, _TURNED = 1e-3, 1e-2


@dataclass(frozen=True)
class ToolMotion:
    """Motion of the display's tool in its base frame.

    Attributes:
        pose: (7,) x, y, z [m] and quaternion x, y, z, w.
        twist: (6,) of the tool point [m/s; rad/s].
        acceleration: (6,) [m/s^2; rad/s^2].
    """

    pose: np.ndarray
    twist: np.ndarray
    acceleration: np.ndarray


class Placement:
    """Where the mechanism's spatial frame lies in the display's base, and its tool frame in the display's tool.

    Args:
        position: origin of the spatial frame [m], base frame, shape (3,).
        orientation: of the spatial frame, spatial to base, quaternion (x, y, z, w); its length is brought to 1.
        tool_orientation: of the virtual tool's body frame, body to display's tool, quaternion likewise. Both tool
            frames have the same origin.

    Raises:
        ValueError: wrong shape, or the length of a quaternion differs from 1 by more than rounding to two digits.
    """

    def __init__(
        self,
        position: ArrayLike = (0.0, 0.0, 0.0),
        orientation: ArrayLike = (0.0, 0.0, 0.0, 1.0),
        tool_orientation: ArrayLike = (0.0, 0.0, 0.0, 1.0),
    ) -> None:
        self.position = finite_vector("position", position, 3).copy()
        self.rotation = rotations.rotation_from_quaternion(_unit("orientation", orientation))
        self._turn = _unit("orientation", orientation)
        tool = _unit("tool_orientation", tool_orientation)
        self._tool, self._tool_back = tool, tool * [-1.0, -1.0, -1.0, 1.0]

    def wrench(self, wrench: np.ndarray) -> np.ndarray:
        """A wrench [force; moment] of the base frame in the spatial frame."""
        return np.asarray(wrench.reshape(2, 3) @ self.rotation).ravel()

    def vector(self, vector: np.ndarray) -> np.ndarray:
        """A twist or its rate of the spatial frame in the base frame, shape (6,)."""
        return np.asarray(vector.reshape(2, 3) @ self.rotation.T).ravel()

    def inside(self, pose: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Position and quaternion of the virtual tool in the spatial frame for a pose (7,) of the display's tool."""
        back = self._turn * [-1.0, -1.0, -1.0, 1.0]
        turned = rotations.quaternion_product(rotations.quaternion_product(back, pose[3:]), self._tool)
        return self.rotation.T @ (pose[:3] - self.position), turned

    def outside(self, position: np.ndarray, orientation: np.ndarray) -> np.ndarray:
        """Pose (7,) of the display's tool in its base for position and quaternion in the spatial frame."""
        turned = rotations.quaternion_product(rotations.quaternion_product(self._turn, orientation), self._tool_back)
        return np.concatenate([self.position + self.rotation @ position, turned])


class AdmittanceController:
    """Steps a reference generator from what a display measures, and says how the display is to move.

    Args:
        generator: with the control period; where it stands is not used: the reference starts next to the tool.
        placement: of the virtual environment.
        feedback: (17), or None: the pose of the reference is commanded and the display closes the loop.
        derivative_cutoff: corner frequency of the filter of e' [Hz].
        largest_correction: bound of each component of c, [m/s] and [rad/s], shape (2,).
        force_deadband: force that is taken off the measured one [N].
        moment_deadband: likewise [N m].
        largest_lead: distance of the reference from the tool at which it waits, [m] and [rad], shape (2,).
        approach_time: duration of the way from the tool's place to the start [s]; forces do not act meanwhile and come
            in as slowly afterwards, since a hand may have been pulling all the way.

    Attributes:
        reference: what the generator gave last, at rest where it has been stopped; None before its first step.
        motion: commanded last, base frame; None before the first step.
        waiting: the reference does not move: on the way to the start, or ahead of the tool.
    """

    def __init__(
        self,
        generator: ReferenceGenerator,
        placement: Placement | None = None,
        *,
        feedback: PIDFeedback | None = None,
        derivative_cutoff: float = 50.0,
        largest_correction: ArrayLike = (0.2, 2.0),
        force_deadband: float = 0.0,
        moment_deadband: float = 0.0,
        largest_lead: ArrayLike = (0.02, 0.3),
        approach_time: float = 1.0,
    ) -> None:
        self.generator = generator
        self.placement = placement or Placement()
        self.feedback = feedback
        cutoff = finite_number("derivative_cutoff", derivative_cutoff, above=0.0)
        self._filter = 1.0 - math.exp(-2.0 * math.pi * cutoff * generator.period)
        self._bound = np.repeat(_limits("largest_correction", largest_correction), 3)
        self._deadband = (
            finite_number("force_deadband", force_deadband, minimum=0.0),
            finite_number("moment_deadband", moment_deadband, minimum=0.0),
        )
        self._correction, self._error_rate = np.zeros(6), np.zeros(6)
        self._error: np.ndarray | None = None
        self._lead = _limits("largest_lead", largest_lead)
        self._approach_steps = round(finite_number("approach_time", approach_time, minimum=0.0) / generator.period)
        self.restart()

    def restart(self) -> None:
        """Forgets everything: the reference starts anew, next to where the tool is at the next step."""
        self.reference: Reference | None = None
        self.motion: ToolMotion | None = None
        self.waiting = True
        self._way: _Approach | None = None
        self._lost = False
        self._deaf = 0
        self._halt()

    def take_over(self, old: AdmittanceController) -> None:
        """Goes on from where another controller of the same mechanism stands.

        Where the tool of this one cannot be there, since the mechanism's dimensions have changed, it starts anew.
        """
        if old.motion is None or not self.generator.agrees_with(old.generator):
            self.restart()
            return
        self.generator.restore(old.generator.state)
        self.reference, self.motion, self.waiting = old.reference, old.motion, old.waiting
        self._way, self._lost, self._deaf = copy.copy(old._way), old._lost, old._deaf
        self._correction = np.clip(old._correction, -self._bound, self._bound)
        self._error, self._error_rate = old._error, old._error_rate
        if self.feedback is not None and old.feedback is not None:
            self.feedback.restore(old.feedback.error_integral)

    def step(
        self, pose: np.ndarray, wrench: np.ndarray, *, external: np.ndarray | None = None, follows: bool = True
    ) -> ToolMotion:
        """One period.

        Args:
            pose: measured (7,) [m], quaternion x, y, z, w; base frame.
            wrench: of the user on the tool, (6,) [N; N m], at the tool point.
            external: of whatever else acts on the virtual tool, likewise. It adds to the user's, without deadband and
                at once; on the way to the start it does nothing.
            follows: False while the display does not obey: the reference loses its velocity and waits. Afterwards the
                tool is led to it as at the start.

        Returns:
            What to command; the correction of the feedback is in its twist and acceleration.

        Raises:
            SingularConfigurationError: the mechanism has no unique motion here; nothing has changed.
        """
        due = self.motion if self.motion is not None else self._start(pose)
        if self._lost and follows:
            due = self._join(pose)
        self._lost = not follows
        if not follows:
            self._stop()
        elif self._way is not None:
            self._go_on()
        else:
            self._move(pose, wrench, external)
        assert self.motion is not None
        if not follows or self.feedback is None:
            return self.motion
        error = pose_difference(due.pose, pose)
        if self._error is not None:
            change = (error - self._error) / self.generator.period
            self._error_rate = self._error_rate + self._filter * (change - self._error_rate)
        self._error = error
        rate = self._correct(self.feedback, error)
        m = self.motion
        return ToolMotion(m.pose, m.twist + self._correction, m.acceleration + rate)

    # --- parts ----------------------------------------------------------------------------------------------

    def _start(self, pose: np.ndarray) -> ToolMotion:
        """The reference at rest next to the tool, and the way to it."""
        generator = self.generator
        generator.reset(z=generator.mechanism.nearest_parameters(*self.placement.inside(pose)))
        return self._join(pose)

    def _join(self, pose: np.ndarray) -> ToolMotion:
        """The way from the tool to where the reference rests, if that is not where the tool is."""
        goal = self.placement.outside(*self.generator.pose)
        still = ToolMotion(goal, np.zeros(6), np.zeros(6))
        self._way, self._deaf = None, 0
        distance, angle = _distances(pose_difference(goal, pose))
        if distance > _ARRIVED or angle > _TURNED:
            self._way = _Approach(pose, goal, max(1, self._approach_steps), self.generator.period)
            still = ToolMotion(pose.copy(), np.zeros(6), np.zeros(6))
        self.motion = still
        return still

    def _go_on(self) -> None:
        assert self._way is not None
        self.motion = self._way.step()
        if self._way.is_over:
            self._way, self._deaf = None, self._approach_steps

    def _move(self, pose: np.ndarray, wrench: np.ndarray, external: np.ndarray | None) -> None:
        generator = self.generator
        before = generator.state
        felt = self._felt(wrench)
        if self._deaf:
            felt = _smooth(1.0 - self._deaf / self._approach_steps) * felt
        if external is not None:
            felt = felt + external
        r = generator.step(wrench=self.placement.wrench(felt))
        self._deaf = max(0, self._deaf - 1)
        place = self.placement
        target = place.outside(r.x[:3], r.orientation)
        if self._is_too_far(target, pose):
            generator.restore(before)
            self._stop()
            return
        self.reference, self.waiting = r, False
        self.motion = ToolMotion(target, place.vector(r.twist), place.vector(r.twist_rate))

    def _is_too_far(self, target: np.ndarray, pose: np.ndarray) -> bool:
        """Whether the step has taken the reference further ahead of the tool than it may be."""
        lead = _distances(pose_difference(target, pose))
        if lead[0] <= self._lead[0] and lead[1] <= self._lead[1]:
            return False
        assert self.motion is not None
        standing = _distances(pose_difference(self.motion.pose, pose))
        return any(a > limit and a > b for a, b, limit in zip(lead, standing, self._lead, strict=True))

    def _stop(self) -> None:
        """The reference stands where it is."""
        assert self.motion is not None
        self.generator.stop()
        self.motion = ToolMotion(self.motion.pose, np.zeros(6), np.zeros(6))
        self._halt()
        if self.reference is not None and not self.waiting:
            self.reference = self.reference.at_rest()
        self.waiting = True

    def _halt(self) -> None:
        self._correction, self._error_rate = np.zeros(6), np.zeros(6)
        self._error = None
        if self.feedback is not None:
            self.feedback.reset()

    def _correct(self, feedback: PIDFeedback, error: np.ndarray) -> np.ndarray:
        """Integrates (17) to c, within its bound; returns c'."""
        period, before, sum_before = self.generator.period, self._correction, feedback.error_integral
        rate = feedback.step(error, self._error_rate)
        wanted = before + period * rate
        self._correction = np.minimum(np.maximum(wanted, -self._bound), self._bound)
        at_bound = self._correction != wanted
        if at_bound.any():
            pushes_out = at_bound & (error * wanted > 0.0)
            feedback.restore(np.where(pushes_out, sum_before, feedback.error_integral))
            rate = (self._correction - before) / period
        return np.zeros(6) if self.waiting and self._way is None else rate

    def _felt(self, wrench: np.ndarray) -> np.ndarray:
        """The wrench less the deadbands."""
        if not any(self._deadband):
            return wrench
        felt = wrench.copy()
        for rows, deadband in zip((slice(0, 3), slice(3, 6)), self._deadband, strict=True):
            size = math.sqrt(float(felt[rows] @ felt[rows]))
            felt[rows] *= 0.0 if size <= deadband else 1.0 - deadband / size
        return felt


class _Approach:
    """The way from a pose to another: straight, and about one axis, with a quintic in time."""

    def __init__(self, start: np.ndarray, end: np.ndarray, steps: int, period: float) -> None:
        self._end, self._steps, self._duration = end, steps, steps * period
        self._away = pose_difference(start, end)
        self._done = 0

    @property
    def is_over(self) -> bool:
        return self._done >= self._steps

    def step(self) -> ToolMotion:
        self._done += 1
        s = min(self._done / self._steps, 1.0)
        left = 1.0 - _smooth(s)
        rate = -30.0 * s**2 * (1.0 - s) ** 2 / self._duration
        curvature = -60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / self._duration**2
        turn = _quaternion_of(left * self._away[3:])
        place, turned = self._end[:3] + left * self._away[:3], rotations.quaternion_product(turn, self._end[3:])
        return ToolMotion(np.concatenate([place, turned]), rate * self._away, curvature * self._away)


def _smooth(s: float) -> float:
    """From 0 to 1 with zero first and second derivatives at both ends."""
    return s**3 * (10.0 - 15.0 * s + 6.0 * s * s)


def _distances(difference: np.ndarray) -> tuple[float, float]:
    a, b, c, d, e, f = difference.tolist()
    return math.sqrt(a * a + b * b + c * c), math.sqrt(d * d + e * e + f * f)


def _quaternion_of(rotation_vector: np.ndarray) -> np.ndarray:
    angle = math.sqrt(float(rotation_vector @ rotation_vector))
    factor = 0.5 if angle < 1e-12 else math.sin(0.5 * angle) / angle
    return np.array((*(factor * rotation_vector), math.cos(0.5 * angle)))


def _limits(name: str, values: ArrayLike) -> np.ndarray:
    """Two numbers that are not negative."""
    pair = finite_vector(name, values, 2).copy()
    for i, value in enumerate(pair.tolist()):
        finite_number(f"{name}[{i}]", value, minimum=0.0)
    return pair


def _unit(name: str, quaternion: ArrayLike) -> np.ndarray:
    Q = finite_vector(name, quaternion, 4)
    size = float(np.linalg.norm(Q))
    if not abs(size - 1.0) < 0.01:
        raise ValueError(f"{name}: expected a quaternion of length 1, got length {size:g}")
    return Q / size
