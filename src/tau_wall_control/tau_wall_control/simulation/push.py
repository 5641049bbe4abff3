"""A push against a held pose, on the full nonlinear model (docs/tau.md, "Test signal")."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from haptic_files.moved_modules import renamed
from haptic_math.quantities import finite_number
from tau_wall_control.checks import instance, pose_controller, vector, whole_number
from tau_wall_control.control.controller import WallController
from tau_wall_control.device import kernels
from tau_wall_control.device.tau_device import TauDevice
from tau_wall_control.errors import SingularError, TauError, UnreachableError
from tau_wall_control.simulation.push_loop import PushLaw, PushLoop, run_push

#: pole of the velocity filter of the realistic loop [rad/s]
VELOCITY_POLE = 2000.0
#: expectation for forces and their noise
_FORCE = "a finite number, not negative [N]"


class PoseController(Protocol):
    """A controller that holds a contact pose, such as a user's own.

    Attributes:
        period: Ts [s].
        normal: normal of the wall, unit vector (3,), world axes.

    Examples:
        >>> import numpy as np
        >>> from tau_wall_control import TauDevice, simulate_push
        >>> class Spring:
        ...     device, period, normal = TauDevice.default(), 1e-3, np.array([0.0, 0.0, 1.0])
        ...     def start(self, position, rotation=None):
        ...         self.reference = self.device.inverse_kinematics(position)
        ...         self.weight = self.device.gravity_torque_at(position)
        ...     def step(self, theta, rate):
        ...         return self.weight - 50.0 * (theta - self.reference) - 0.5 * rate
        >>> result = simulate_push(Spring.device, Spring(), point=(0.0, 0.0, 0.0), force=1.0, duration=1.1)
        >>> 0.0 < result.max_penetration < 2e-3
        True
    """

    period: float
    normal: np.ndarray

    def start(self, position: ArrayLike, rotation: ArrayLike | None = None) -> None:
        """Takes a pose as the reference: position (3,) [m], rotation (3, 3)."""

    def step(self, theta: ArrayLike, rate: ArrayLike) -> np.ndarray:
        """Returns joint torques (6,) [N m] for angles (6,) [rad] and rates (6,) [rad/s]."""


@dataclass(frozen=True)
class PushResult:
    """Result of a push. `code` is not 0 if the tool left the workspace; later samples are NaN.

    Attributes:
        time: times of the samples (n,) [s].
        position: position of the TCP at the samples (n, 3) [m].
        torque: torques that act from each sample on (n, 6) [N m].
        force: force of the push (n,) [N].
        deviation: deviation from the wall along its normal (n,) [m], negative inside.
        max_penetration: largest -deviation from the step on, not below 0; infinite if the tool left [m].
        stiffness: force/max_penetration; 0 if the tool left [N/m].
        rmse: RMS of the deviation over the whole run [m].
        initial_deviation: largest |deviation| before the step [m].
        lateral: largest deviation along the wall [m].
        peak_torque: largest |torque| over the limit [-].
        code: 0, or the reason of an early end (`kernels`).

    Examples:
        >>> from tau_wall_control import TauDevice, design_wall_controller, simulate_push
        >>> device = TauDevice.default()
        >>> controller = design_wall_controller(device, scheme="sopc")
        >>> result = simulate_push(device, controller, point=(0.0, 0.0, 0.0), force=13.0, duration=1.5)
        >>> abs(result.stiffness * result.max_penetration - 13.0) < 1e-9, result.code
        (True, 0)
        >>> bool(abs(result.deviation[-1]) < 1e-6)  # integral action brings the tool back to the wall
        True
    """

    time: np.ndarray
    position: np.ndarray
    torque: np.ndarray
    force: np.ndarray
    deviation: np.ndarray
    max_penetration: float
    stiffness: float
    rmse: float
    initial_deviation: float
    lateral: float
    peak_torque: float
    code: int

    def __repr__(self) -> str:
        depth = f"max_penetration={self.max_penetration:.4g} m, stiffness={self.stiffness:.4g} N/m"
        return f"PushResult({len(self.time)} samples, {depth}, rmse={self.rmse:.4g} m, code={self.code})"


class PushSimulation:
    """Simulation of pushes at one point, with the constants of all runs prepared once.

    Args:
        device: device of the controller's design.
        controller: a `WallController`, whose runs are compiled, or any other controller that holds a pose.
        point: contact point (3,) [m], at zero orientation.
        direction: direction of the push; default: the device's `disturbance.direction` for the controller's normal.
        quantized: true for joint angles in counts of the encoders and joint velocities from their filtered differences.
        delay: delay of the torques [samples].
        velocity_pole: pole of the filter of these differences [rad/s].
        plant: simulated device; that of the design if not given.

    Examples:
        >>> import numpy as np
        >>> from tau_wall_control import PushSimulation, TauDevice, design_wall_controller
        >>> device = TauDevice.default()
        >>> simulation = PushSimulation(device, design_wall_controller(device, scheme="sopc"), point=(0.0, 0.0, 0.0))
        >>> runs = [simulation.run(np.full(200, force), step_time=0.0, nominal=force) for force in (1.0, 2.0)]
        >>> round(runs[1].max_penetration / runs[0].max_penetration, 1)  # small pushes are linear
        2.0
    """

    def __init__(
        self,
        device: TauDevice,
        controller: WallController | PoseController,
        *,
        point: ArrayLike,
        direction: ArrayLike | None = None,
        quantized: bool = False,
        delay: int = 0,
        velocity_pole: float = VELOCITY_POLE,
        plant: TauDevice | None = None,
    ) -> None:
        for name, given in (("device", device), ("plant", device if plant is None else plant)):
            instance(name, given, TauDevice, "TauDevice.default()")
        self.controller = pose_controller(controller)
        finite_number("velocity_pole", velocity_pole, above=0.0, expected="a number above 0", error=TauError)
        self.delay = whole_number("delay", delay, "samples")
        self.plant = device if plant is None else plant
        self.point = vector("point", point, (3,))
        self.normal = controller.normal
        if direction is None:
            self.direction = push_direction(device, self.normal)
        else:
            self.direction = vector("direction", direction, (3,))
            if not abs(np.linalg.norm(self.direction) - 1.0) < 1e-6:
                raise TauError(f"direction: expected a unit vector, got {self.direction.tolist()}")
        if isinstance(controller, WallController):
            self._prepared = controller.prepare(self.point)
        self._resting = self.plant.gravity_torque_at(self.point)
        self._resolution = device.parameters.encoders.joint_resolution if quantized else 0.0
        self._smoothing = math.exp(-velocity_pole * controller.period)
        self._peak = device.peak_torque

    def __repr__(self) -> str:
        return f"PushSimulation(point={self.point.tolist()}, delay={self.delay}, controller {self.controller!r})"

    def run(self, force: ArrayLike, *, step_time: float, nominal: float) -> PushResult:
        """Simulates a force (n,) [N] along the direction, one value per period, from rest at the point.

        Args:
            force: force of the push (n,) [N].
            step_time: time from which penetration counts [s].
            nominal: force for the stiffness [N].
        """
        push = vector("force", force, (np.size(force),))
        if not len(push):
            raise TauError("force: expected one value or more, got none")
        n, Ts = len(push), self.controller.period
        position, torque = np.full((n, 3), np.nan), np.full((n, 6), np.nan)
        if isinstance(self.controller, WallController):
            code = self._run_compiled(self.controller, push, position, torque)
        else:
            code = self._run_any(self.controller, push, position, torque)
        t = Ts * np.arange(n)
        offset = position - self.point
        deviation = offset @ self.normal
        late = t >= step_time - 0.5 * Ts
        valid = ~np.isnan(deviation)
        penetration = math.inf if code else max(0.0, -float(deviation[late].min(initial=math.inf)))
        stiffness = nominal / penetration if penetration > 0.0 else math.inf
        lateral = offset - np.outer(deviation, self.normal)
        return PushResult(
            time=t,
            position=position,
            torque=torque,
            force=push,
            deviation=deviation,
            max_penetration=penetration,
            stiffness=stiffness,
            rmse=math.sqrt(float(np.mean(deviation[valid] ** 2))),
            initial_deviation=float(np.abs(deviation[~late & valid]).max(initial=0.0)),
            lateral=float(np.linalg.norm(lateral[valid], axis=1).max()),
            peak_torque=float(np.abs(torque[valid]).max(initial=0.0)) / self._peak,
            code=code,
        )

    def _run_compiled(
        self, controller: WallController, push: np.ndarray, position: np.ndarray, torque: np.ndarray
    ) -> int:
        """Writes position (n, 3) and acting torque (n, 6) of a run; returns a code of `kernels`."""
        return int(
            run_push(
                *self.plant.arrays,
                np.concatenate([self.point, [0.0, 0.0, 0.0, 1.0], np.zeros(6)]),
                PushLaw(controller.mode, controller.delay, controller.period, self._peak, *self._prepared),
                PushLoop(self.delay, self._resolution, self._smoothing, self._resting),
                push,
                self.direction,
                position,
                torque,
            )
        )

    def _run_any(self, controller: PoseController, push: np.ndarray, position: np.ndarray, torque: np.ndarray) -> int:
        """Runs the same simulation as `run_push` with any controller, in Python."""
        controller.start(self.point)
        state, line = self.plant.state(self.point), [self._resting] * (self.delay + 1)
        before, smooth = None, np.zeros(6)
        for k, force in enumerate(push):
            position[k] = state.position
            theta, rate = state.joints()
            if self._resolution > 0.0:
                theta = np.rint(theta / self._resolution) * self._resolution
                change = np.zeros(6) if before is None else (theta - before) / controller.period
                smooth = self._smoothing * smooth + (1.0 - self._smoothing) * change
                before, rate = theta, smooth
            line[-1] = controller.step(theta, rate)
            torque[k] = line[0]
            try:
                state.step(line[0], np.concatenate([force * self.direction, np.zeros(3)]), controller.period)
            except (UnreachableError, SingularError) as error:
                return kernels.UNREACHABLE if isinstance(error, UnreachableError) else kernels.SINGULAR
            line = [*line[1:], line[-1]]
        return kernels.OK


def push_direction(device: TauDevice, normal: ArrayLike) -> np.ndarray:
    """Returns the unit vector (3,) of the device's `disturbance.direction` at a wall with a normal.

    The device's direction is for a wall with the normal z. For another wall it is rotated by the smallest rotation from
    z to the normal, so that a push against the normal stays one.
    """
    n, (x, y, z) = np.asarray(normal, dtype=float), device.parameters.disturbance.direction
    if (x, y) == (0.0, 0.0):
        return z * n
    axis = np.array([-n[1], n[0], 0.0])  # z cross n
    given = np.array([x, y, z])
    if n[2] < -1.0 + 1e-12:
        return given * [1.0, -1.0, -1.0]
    return np.asarray(given * n[2] + np.cross(axis, given) + axis * (axis @ given) / (1.0 + n[2]))


#: rise time of a ramp, and duration of a tap [s]
RAMP, TAP = 0.2, 0.01


def push_signal(
    device: TauDevice,
    *,
    force: float,
    duration: float,
    shape: str = "step",
    noise: float = 0.0,
    seed: int | tuple[int, ...] = 0,
) -> np.ndarray:
    """Returns the test signal (n,) [N]: 0, then from the step time the force with white noise.

    Shapes: "step"; "ramp" rises in 0.2 s; "tap" is half a sine of 10 ms, without noise after it.

    Raises:
        TauError: an argument is out of its range.
    """
    force = finite_number("force", force, minimum=0.0, expected=_FORCE, error=TauError)
    noise = finite_number("noise", noise, minimum=0.0, expected=_FORCE, error=TauError)
    duration = finite_number("duration", duration, above=0.0, expected="a number above 0 [s]", error=TauError)
    Ts, start = device.parameters.control.sample_time, device.parameters.disturbance.step_time
    n = round(duration / Ts)
    first = min(n, round(start / Ts))
    signal, t = np.zeros(n), Ts * np.arange(n - first)
    if shape == "step":
        signal[first:] = force
    elif shape == "ramp":
        signal[first:] = force * np.minimum(t / RAMP, 1.0)
    elif shape == "tap":
        signal[first:] = force * np.sin(np.pi * np.minimum(t / TAP, 1.0))
    else:
        raise TauError(f"shape: expected step, ramp or tap, got {shape!r}")
    if noise and shape != "tap":
        signal[first:] += noise * np.random.default_rng(seed).standard_normal(n - first)
    return signal


def simulate_push(
    device: TauDevice,
    controller: WallController | PoseController,
    *,
    point: ArrayLike,
    force: float = 13.0,
    duration: float = 2.0,
    noise: float = 0.0,
    quantized: bool = False,
    delay: int = 0,
    seed: int | tuple[int, ...] = 0,
    plant: TauDevice | None = None,
    direction: ArrayLike | None = None,
    signal: ArrayLike | None = None,
) -> PushResult:
    """Simulates a push against the wall through a point: full nonlinear model, RK4 at the control period.

    Args:
        device: device of the controller's design.
        controller: a `WallController`, or any other controller that holds a pose (`PoseController`).
        point: contact point at which the tool rests (3,) [m].
        force: height of the step [N], into the wall.
        duration: duration of the run [s].
        noise: standard deviation of the force's noise [N].
        quantized: true for encoder counts instead of true angles.
        delay: delay of the torques [samples].
        seed: seed of the noise.
        plant: simulated device; that of the design if not given.
        direction: direction of the force, unit vector; default: the device's, see `push_direction`.
        signal: force (n,) [N] instead of step and noise; `force` is then only used for the stiffness.

    Raises:
        TauError: the point is out of reach or singular, or a number is out of range.

    Examples:
        >>> from tau_wall_control import TauDevice, design_wall_controller, simulate_push
        >>> device = TauDevice.default()
        >>> controller = design_wall_controller(device, scheme="sopc")
        >>> result = simulate_push(device, controller, point=(0.0, 0.0, 0.0), force=13.0, duration=1.5)
        >>> wrench = device.dynamics((0.0, 0.0, 0.0)).actuated_map.T @ (result.torque[-1] - result.torque[0])
        >>> round(float(wrench[2]), 3)  # at rest the motors balance the push of 13 N
        13.0
    """
    force = finite_number("force", force, minimum=0.0, expected=_FORCE, error=TauError)
    run = PushSimulation(
        device, controller, point=point, direction=direction, quantized=quantized, delay=delay, plant=plant
    )
    push = push_signal(device, force=force, duration=duration, noise=noise, seed=seed) if signal is None else signal
    return run.run(push, step_time=device.parameters.disturbance.step_time, nominal=force)


def stiffest_push(
    device: TauDevice, point: ArrayLike, normal: ArrayLike = (0.0, 0.0, 1.0), *, torque: float | None = None
) -> float:
    """Returns the largest force into a wall that the motors can hold at a pose at rest, gravity included [N].

    Args:
        device: the device.
        point: position of the TCP [m].
        normal: normal of the wall, towards the free side.
        torque: limit of each joint torque [N m]; the peak torque if not given.
    """
    limit = device.peak_torque if torque is None else torque
    n = np.asarray(normal, dtype=float) / np.linalg.norm(normal)
    G = device.dynamics(point).actuated_map
    per_newton = np.linalg.solve(G.T, np.concatenate([n, np.zeros(3)]))
    gravity = device.gravity_torque_at(point)
    with np.errstate(divide="ignore", invalid="ignore"):
        limits = (limit * np.sign(per_newton) - gravity) / per_newton
    return float(np.nanmin(np.where(np.abs(per_newton) > 1e-12, limits, np.inf)))


def continuous_push(device: TauDevice, point: ArrayLike, normal: ArrayLike = (0.0, 0.0, 1.0)) -> float:
    """Returns the largest force into a wall that the motors can hold for good at a pose at rest, gravity included [N].

    Args:
        device: the device.
        point: position of the TCP [m].
        normal: of the wall, towards the free side.
    """
    return stiffest_push(device, point, normal, torque=device.continuous_torque)


def continuous_torque_fraction(
    device: TauDevice, point: ArrayLike, force: float, normal: ArrayLike = (0.0, 0.0, 1.0)
) -> np.ndarray:
    """Returns the torques of a push at rest (6,) as fractions of the continuous torque; above 1 the motors get too hot.

    Args:
        device: the device.
        point: position of the TCP [m].
        force: of the hand into the wall [N].
        normal: of the wall, towards the free side.
    """
    n = np.asarray(normal, dtype=float) / np.linalg.norm(normal)
    G = device.dynamics(point).actuated_map
    torque = device.gravity_torque_at(point) + np.linalg.solve(G.T, force * np.concatenate([n, np.zeros(3)]))
    return np.asarray(np.abs(torque) / device.continuous_torque)


__getattr__ = renamed(__name__, {"continuous_share": "continuous_torque_fraction"})
