"""The controller of Fig. 2: measured pose and wrench of the display in, its motion out.

Around the reference generator it adds the placement of the virtual environment in the display's base frame and of the
virtual tool in the hand, and a force below which nothing moves. It also adds the approach to the start, the feedback
(17), (18), and a reference that waits when the display cannot follow.

The feedback (17) integrates to a correction c of the velocity. The command of a period is

    velocity = x_r' + c,   acceleration = x_r'' + c' (18),   c' = K_p e + K_i (integral of e) + K_d e',

bounded in c. At the bound c' is zero and the integral of e does not grow outwards: neither winds up while the display
is blocked. The error e is formed between poses at the instant of the measurement: the reference of the step before
against the pose that is measured now. Its rate e' is the difference of e through a low-pass filter. The difference of
the velocities would instead count the lag of a measured velocity as an error, K_d times lag times acceleration. While
the reference waits ahead of the tool, c starts from zero in every period: a gentle pull, without c'.
"""

from __future__ import annotations

import copy
import math

import numpy as np
from numpy.typing import ArrayLike

from admittance_constraints.checks import finite_number, finite_vector
from admittance_constraints.display import motion_kernels
from admittance_constraints.display.approach import Approach, ToolMotion
from admittance_constraints.display.feedback import PIDFeedback, pose_difference
from admittance_constraints.display.placement import DisplayTransform
from admittance_constraints.generation.reference import Reference
from admittance_constraints.generation.reference_generator import ReferenceGenerator
from haptic_math.profiles import smooth_step
from haptic_math.quantities import quaternion_length

#: distance [m] and angle [rad] between the tool and the start below which no approach is needed
_NEAR, _ALIGNED = 1e-3, 1e-2


class AdmittanceController:
    """Controller that steps a reference generator from the measurements of a display and returns the commanded motion.

    Args:
        generator: reference generator with the control period. Its state is not used: the reference starts next to the
            tool.
        placement: pose of the virtual environment.
        feedback: (17), or None: the pose of the reference is commanded and the display closes the loop.
        derivative_cutoff: corner frequency of the filter of e' [Hz].
        largest_correction: bound of each component of c, [m/s] and [rad/s], shape (2,).
        force_deadband: deadband that is subtracted from the measured force [N].
        moment_deadband: deadband that is subtracted from the measured moment [N m].
        largest_lead: distance of the reference from the tool at which it waits, [m] and [rad], shape (2,).
        approach_time: duration of the approach from the tool's pose to the start [s]. Forces do not act during the
            approach. They rise over the same time afterwards, because the user may pull during the approach.

    Attributes:
        reference: last step of the generator, at rest if it was stopped; None before its first step.
        motion: last commanded motion, without the correction of the feedback, base frame; None before the first step.
        waiting: true while the reference does not move: during the approach, or ahead of the tool.

    Examples:
        >>> from admittance_constraints import AdmittanceController, ReferenceGenerator, RollingDisk
        >>> controller = AdmittanceController(ReferenceGenerator(RollingDisk(), period=1e-3))
        >>> controller.placement.position.tolist()
        [0.0, 0.0, 0.0]
    """

    def __init__(
        self,
        generator: ReferenceGenerator,
        placement: DisplayTransform | None = None,
        *,
        feedback: PIDFeedback | None = None,
        derivative_cutoff: float = 50.0,
        largest_correction: ArrayLike = (0.2, 2.0),
        force_deadband: float = 0.0,
        moment_deadband: float = 0.0,
        largest_lead: ArrayLike = (0.02, 0.3),
        approach_time: float = 1.0,
    ) -> None:
        if not isinstance(generator, ReferenceGenerator):
            raise ValueError(f"generator: expected a ReferenceGenerator, got {generator!r}")
        if not isinstance(feedback, (PIDFeedback, type(None))):
            raise ValueError(f"feedback: expected a PIDFeedback or None, got {feedback!r}")
        self.generator = generator
        self.placement = placement or DisplayTransform()
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
        self._compile()
        self.restart()

    def __repr__(self) -> str:
        return f"AdmittanceController({self.generator!r}, feedback={self.feedback!r})"

    def _compile(self) -> None:
        """Compiles the kernels of a tick, or loads them, so that no tick waits for them."""
        pose, zero = np.array((0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)), np.zeros(6)
        motion_kernels.write_without_deadband(zero, *self._deadband, zero)
        motion_kernels.leads_too_far(pose, pose, pose, self._lead)
        motion_kernels.distance_and_angle(pose, pose)
        motion_kernels.write_pose_difference(pose, pose, zero)
        motion_kernels.write_error_rate(zero, zero, zero, self.generator.period, self._filter, zero)
        motion_kernels.write_bounded_sum(zero, zero, self.generator.period, self._bound, zero)

    def restart(self) -> None:
        """Discards the motion: at the next step the reference starts again next to the tool."""
        self.reference: Reference | None = None
        self.motion: ToolMotion | None = None
        self.waiting = True
        self._approach: Approach | None = None
        self._has_stopped = False
        self._ramp_steps = 0
        self._reset_feedback()

    def take_over(self, old: AdmittanceController) -> None:
        """Continues from the state of another controller of the same mechanism.

        If the mechanism with its new dimensions cannot reach the pose of the tool, the reference starts again.
        """
        if old.motion is None or not self.generator.agrees_with(old.generator):
            self.restart()
            return
        self.generator.restore(old.generator.state)
        self.reference, self.motion, self.waiting = old.reference, old.motion, old.waiting
        self._approach = copy.copy(old._approach)
        self._has_stopped, self._ramp_steps = old._has_stopped, old._ramp_steps
        self._correction = np.clip(old._correction, -self._bound, self._bound)
        self._error, self._error_rate = old._error, old._error_rate
        if self.feedback is not None and old.feedback is not None:
            self.feedback.restore(old.feedback.error_integral)

    def step(
        self, pose: ArrayLike, wrench: ArrayLike, *, external: ArrayLike | None = None, follows: bool = True
    ) -> ToolMotion:
        """Computes one period.

        Args:
            pose: measured pose of the tool, base frame, shape (7,): position [m] and quaternion (x, y, z, w).
            wrench: wrench of the user on the tool at the tool point, base frame, shape (6,) [N; N m].
            external: wrench of other bodies on the virtual tool at the tool point, base frame, shape (6,) [N; N m]. It
                is added to the user's wrench without deadband and ramp; during the approach it has no effect.
            follows: false while the display does not follow commands: the reference stops and waits. Afterwards the
                tool approaches it as at the start.

        Returns:
            Motion to command; the correction of the feedback is in its twist and acceleration.

        Raises:
            ValueError: wrong shape, a number that is not finite, or no unit quaternion; nothing has changed.
            SingularConfigurationError: the mechanism has no unique motion here; the reference has not moved.
        """
        pose, wrench = finite_vector("pose", pose, 7), finite_vector("wrench", wrench, 6)
        quaternion_length("orientation of the pose", pose[3:], unit=True)
        if external is not None:
            external = finite_vector("external", external, 6)
        due = self.motion if self.motion is not None else self._start(pose)
        if self._has_stopped and follows:
            due = self._begin_approach(pose)
        self._has_stopped = not follows
        if not follows:
            self._stop()
        elif self._approach is not None:
            self._step_approach(self._approach)
        else:
            self._step_reference(pose, wrench, external)
        assert self.motion is not None
        if not follows or self.feedback is None:
            return self.motion
        error = pose_difference(due.pose, pose)
        if self._error is not None:
            filtered = np.empty(6)
            motion_kernels.write_error_rate(
                error, self._error, self._error_rate, self.generator.period, self._filter, filtered
            )
            self._error_rate = filtered
        self._error = error
        rate = self._correct(self.feedback, error)
        m = self.motion
        return ToolMotion(m.pose, m.twist + self._correction, m.acceleration + rate)

    # --- start and approach ---------------------------------------------------------------------------------

    def _start(self, pose: np.ndarray) -> ToolMotion:
        """Puts the reference at rest next to the tool and begins the approach to it."""
        generator = self.generator
        generator.reset(z=generator.mechanism.nearest_parameters(*self.placement.inside(pose)))
        return self._begin_approach(pose)

    def _begin_approach(self, pose: np.ndarray) -> ToolMotion:
        """Begins the approach from the tool to the resting reference, unless the tool is there; returns the motion."""
        goal = self.placement.outside(*self.generator.pose)
        at_rest = ToolMotion(goal, np.zeros(6), np.zeros(6))
        self._approach, self._ramp_steps = None, 0
        distance, angle = motion_kernels.distance_and_angle(goal, pose)
        if distance > _NEAR or angle > _ALIGNED:
            self._approach = Approach(pose, goal, max(1, self._approach_steps), self.generator.period)
            at_rest = ToolMotion(pose.copy(), np.zeros(6), np.zeros(6))
        self.motion = at_rest
        return at_rest

    def _step_approach(self, approach: Approach) -> None:
        self.motion = approach.step()
        if approach.is_over:
            self._approach, self._ramp_steps = None, self._approach_steps

    # --- reference ------------------------------------------------------------------------------------------

    def _step_reference(self, pose: np.ndarray, wrench: np.ndarray, external: np.ndarray | None) -> None:
        generator, placement = self.generator, self.placement
        before = generator.state
        acting = self._without_deadband(wrench)
        if self._ramp_steps:
            acting = smooth_step(1.0 - self._ramp_steps / self._approach_steps) * acting
        if external is not None:
            acting = acting + external
        r = generator.step(wrench=placement.wrench(acting))
        self._ramp_steps = max(0, self._ramp_steps - 1)
        target = placement.outside(r.x[:3], r.orientation)
        assert self.motion is not None
        if motion_kernels.leads_too_far(target, self.motion.pose, pose, self._lead):
            generator.restore(before)
            self._stop()
            return
        self.reference, self.waiting = r, False
        self.motion = ToolMotion(target, placement.vector(r.twist), placement.vector(r.twist_rate))

    def _stop(self) -> None:
        """Stops the reference at its present pose."""
        assert self.motion is not None
        self.generator.stop()
        self.motion = ToolMotion(self.motion.pose, np.zeros(6), np.zeros(6))
        self._reset_feedback()
        if self.reference is not None and not self.waiting:
            self.reference = self.reference.at_rest()
        self.waiting = True

    def _without_deadband(self, wrench: np.ndarray) -> np.ndarray:
        if not any(self._deadband):
            return wrench
        acting = np.empty(6)
        motion_kernels.write_without_deadband(wrench, *self._deadband, acting)
        return acting

    # --- feedback -------------------------------------------------------------------------------------------

    def _reset_feedback(self) -> None:
        self._correction, self._error_rate = np.zeros(6), np.zeros(6)
        self._error = None
        if self.feedback is not None:
            self.feedback.reset()

    def _correct(self, feedback: PIDFeedback, error: np.ndarray) -> np.ndarray:
        """Integrates (17) to c within its bound; returns c', shape (6,)."""
        period, before, sum_before = self.generator.period, self._correction, feedback.error_integral
        rate = feedback.step(error, self._error_rate)
        self._correction = np.empty(6)
        if motion_kernels.write_bounded_sum(before, rate, period, self._bound, self._correction):
            unbounded = before + period * rate
            drives_outwards = (self._correction != unbounded) & (error * unbounded > 0.0)
            feedback.restore(np.where(drives_outwards, sum_before, feedback.error_integral))
            rate = (self._correction - before) / period
        return np.zeros(6) if self.waiting and self._approach is None else rate


def _limits(name: str, values: ArrayLike) -> np.ndarray:
    """Returns two finite numbers that are not negative; raises ValueError for others."""
    pair = finite_vector(name, values, 2).copy()
    for i, value in enumerate(pair.tolist()):
        finite_number(f"{name}[{i}]", value, minimum=0.0)
    return pair
