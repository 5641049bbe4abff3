"""Stability of a rendered mass in a hand: the five-bar under model A in kinetic friction.

While model A slides, its friction force is constant: for small deviations it is a pure mass M that the measured
force accelerates. The hand closes the loop: it reacts to a motion of the grip with its impedance and with the
inertia of hand and grip. This inertia is critical: with a servo without delay, the sensor measures
-(m_hand + m_grip) times the acceleration that the loop has commanded. The loop's gain at high frequencies is then
(m_hand + m_grip)/M, and the lags of servo and filter change its phase.

`spectral_radius_map` analyses the linear sampled loop at the home position, with only viscous friction and without
encoder quantisation; `oscillation` simulates the device while the hand moves it along a circle.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from haptic_core.commands import POSITION, VELOCITY, Motion
from haptic_devices.components import encoder
from haptic_devices.components.force_sensor import filter_matrix
from haptic_devices.five_bar import FiveBar, FiveBarParameters, inertia_constants, tool_jacobian
from haptic_devices.hands.operator import HandParameters, SimulatedHand
from haptic_devices.motions.planar import MotionPlan, PlanBuilder
from haptic_friction import CoulombLaw, ModelA

#: plan of `oscillation`: radius [m] and speed [m/s] of the circle, time of the start and of the steady part [s]
RADIUS, SPEED, START, STEADY = 0.03, 0.08, 0.6, 1.6
#: lowest frequency of an oscillation [Hz]: the circle has 0.4 Hz, a hand's own motion stays below 8 Hz
LOWEST_FREQUENCY = 8.0


def grasp(hand: HandParameters, firmness: float) -> HandParameters:
    """Scales stiffness, damping and mass of a hand by the firmness of its grasp; without tremor.

    With the grip force, stiffness and damping of a grasp increase together (Hasser and Cutkosky 2002: steadily, in a
    pinch grasp), so that the damping ratio stays about the same. The mass increases because the wrist stiffens and the
    forearm moves with the hand, from some 0.2 kg of the hand to about 1 kg at the end of an arm. One factor for all
    three is the simplest law with both effects.
    """
    scaled = {name: firmness * getattr(hand, name) for name in ("mass", "stiffness", "damping")}
    return HandParameters(**{**hand.model_dump(), **scaled, "tremor_force": 0.0})


def loop_matrix(
    device: FiveBar,
    hand: HandParameters,
    mass: float,
    *,
    period: float,
    delay: int = 0,
) -> np.ndarray:
    """Computes the state matrix of one tick of hand, arm, servo, sensor and rendered mass at the home position.

    State, two components each: motors' positions and velocities, links' positions and velocities, filtered force at
    the tool and its rate, velocity estimate, servo's integral part, rendered velocity and position, then the delayed
    positions and velocities.

    Args:
        device: manipulator, of which only parameters and geometry are used.
        hand: impedance and mass of the hand; the tremor is ignored.
        mass: rendered mass M [kg]; infinite: the measured force moves nothing.
        period: control period T [s].
        delay: delay of the commands [ticks].
    """
    p = device.parameters
    home, full_jacobian = np.array(device.geometry.home), np.zeros((6, 2))
    tool_jacobian(device.geometry, home, full_jacobian)
    J = full_jacobian[:2]
    step = scipy.linalg.expm(period * np.vstack((_rates(p, hand, home, J), np.zeros((2, 14)))))
    state = np.eye(20 + 4 * delay)
    motor, _, _, _, force, _, w, integral, v, x = (state[2 * i : 2 * i + 2] for i in range(10))
    v_next = v + period / mass * force
    x_next = x + period * v_next
    pipeline = np.vstack((state[20:], x_next, v_next))  # the command that acts now comes first
    target, target_velocity = np.linalg.solve(J, pipeline[:2]), np.linalg.solve(J, pipeline[2:4])
    error = target - motor
    integral_next = integral + p.integral_gain * period * error
    torque = p.position_gain * error + integral_next + p.velocity_gain * (target_velocity - w)
    arm = step[:12, :12] @ state[:12] + step[:12, 12:] @ torque
    gain = encoder.constants(resolution=0.0, cutoff=p.velocity_cutoff, period=period)[encoder.GAIN]
    w_next = w + gain * ((arm[:2] - motor) / period - w)
    return np.vstack((arm, w_next, integral_next, v_next, x_next, pipeline[4:]))


def _motor(p: FiveBarParameters) -> float:
    return p.gear_ratio**2 * p.rotor_inertia


def _inertia(p: FiveBarParameters, tool_mass: float, q: np.ndarray) -> np.ndarray:
    m11, m22, h = inertia_constants(p, tool_mass)
    coupling = h * np.cos(q[0] - q[1])
    return np.array([[m11, coupling], [coupling, m22]])


def _rates(p: FiveBarParameters, hand: HandParameters, home: np.ndarray, J: np.ndarray) -> np.ndarray:
    """Computes the matrix (12, 14) from the 12 states of motors, links and filter, and motor torques (2,), to rates."""
    beyond = p.mass_grip + hand.mass
    motor, motor_rate, q, qd, force, force_rate, torque = (np.eye(14)[2 * i : 2 * i + 2] for i in range(7))
    spring = p.gear_stiffness * (motor - q) + p.gear_damping * (motor_rate - qd)
    motor_rates = (torque - p.friction_viscous * motor_rate - spring) / _motor(p)
    muscles = -hand.stiffness * J @ q - hand.damping * J @ qd
    qdd = np.linalg.solve(_inertia(p, p.mass_tool + beyond, home), J.T @ muscles + spring)
    _, (stiffness, damping, drive), _ = filter_matrix(p.sensor_cutoff)
    filtered = stiffness * force + damping * force_rate + drive * (muscles - beyond * J @ qdd)
    return np.vstack((motor_rate, motor_rates, qd, qdd, force_rate, filtered))


def spectral_radius_map(
    device: FiveBar,
    hand: HandParameters,
    masses: Sequence[float] | np.ndarray,
    firmness: Sequence[float] | np.ndarray,
    *,
    period: float,
    delay: int = 0,
) -> np.ndarray:
    """Computes the spectral radius of `loop_matrix` by rendered mass [kg] (rows) and firmness of grasp (columns)."""
    radii = []
    for value in firmness:
        # the matrix is affine in 1/M
        still, unit = (loop_matrix(device, grasp(hand, value), m, period=period, delay=delay) for m in (np.inf, 1.0))
        matrices = still + (unit - still) / np.asarray(masses)[:, None, None]
        radii.append(np.abs(np.linalg.eigvals(matrices)).max(axis=-1))
    return np.column_stack(radii)


def smallest_mass(device: FiveBar, hand: HandParameters, firmness: float, *, period: float, delay: int = 0) -> float:
    """Finds the rendered mass [kg], to 1 %, from which up to 100 kg the linear loop is stable; infinite if none is."""
    masses = np.geomspace(0.01, 100.0, 926)
    stable = spectral_radius_map(device, hand, masses, [firmness], period=period, delay=delay)[:, 0] < 1.0
    first = len(masses) - int(np.argmin(np.append(stable[::-1], False)))  # after the last unstable mass
    return float(masses[first]) if first < len(masses) else float("inf")


def circle_plan(period: float) -> MotionPlan:
    """Makes the hand's plan in `oscillation`: to a circle, and along it at constant speed."""
    builder = PlanBuilder(period, np.array([-0.04, -0.02]))
    rate = SPEED / RADIUS
    angle = rate * period * np.arange(1, round(STEADY / period) + 1)
    circle = RADIUS * np.column_stack((np.sin(angle), -np.cos(angle)))
    builder.move("start", "slide", np.array([0.0, -RADIUS]), np.array([SPEED, 0.0]), START)
    builder.path("circle", "slide", circle, rate * np.column_stack((-circle[:, 1], circle[:, 0])))
    return builder.build()


def oscillation(
    parameters: FiveBarParameters,
    hand: HandParameters,
    mass: float,
    *,
    friction_force: float,
    period: float,
    delay: int = 0,
    seed: int = 0,
) -> float:
    """Simulates the grip while model A slides; returns the RMS of the tool's true velocity above 8 Hz [m/s].

    Args:
        parameters: parameters of the device.
        hand: hand that moves the grip along `circle_plan`, and expects the friction force.
        mass: M of model A [kg].
        friction_force: F of model A [N].
        period: control period T [s].
        delay: delay of the commands [ticks].
        seed: seed of tremor and sensor noise.

    Returns:
        RMS over the last second, of both axes together. Infinite if a joint exceeded its speed limit, which would
        stop the device.
    """
    expecting = HandParameters(**{**hand.model_dump(), "expected_resistance": friction_force})
    plan = circle_plan(period)
    device = FiveBar(parameters, SimulatedHand(expecting, plan, seed), seed)
    device.configure(period)
    device.activate()
    model = ModelA(CoulombLaw(friction_force), mass=mass, period=period, dimension=2)
    reading, truth, limit = device.read(), device.truth(), parameters.velocity_limit
    pose = reading.tool_pose.copy()
    delayed: deque[Motion | None] = deque([None] * delay)
    velocities = np.zeros((len(plan.table), 2))
    for k in range(len(plan.table)):
        twist = np.zeros(6)
        twist[:2] = model.step(reading.tool_wrench[:2])
        pose[:2] += period * twist[:2]
        delayed.append(Motion(POSITION | VELOCITY, pose.copy(), twist, np.zeros(6)))
        device.follow(delayed.popleft())
        if not (np.abs(reading.velocity) <= limit).all():
            return float("inf")
        velocities[k] = truth.tool_twist[:2]
    from scipy.signal import butter, sosfiltfilt  # takes half a second, and the device does not need it

    shaking = sosfiltfilt(butter(4, LOWEST_FREQUENCY, "highpass", fs=1.0 / period, output="sos"), velocities, axis=0)
    last = shaking[-round(1.0 / period) :]
    return float(np.sqrt((last**2).sum(axis=1).mean()))


@dataclass(frozen=True)
class Stability:
    """Stability of a rendered mass in grasps that are multiples of one hand.

    Attributes:
        smallest_mass: smallest rendered mass [kg] without and with a tick of delay, by firmness of the grasp.
        shaking: firmness, mass [kg] and RMS velocity above 8 Hz [m/s], infinite where it is too fast, of the simulated
            device under model A.
        delay: delay of the simulated commands [ticks].
    """

    smallest_mass: dict[str, list[float]]
    shaking: list[tuple[float, float, float]]
    delay: int


def grip_stability(
    device: FiveBar,
    hand: HandParameters,
    firmness: Sequence[float],
    masses: Sequence[float],
    *,
    period: float,
    delay: int,
    friction_force: float,
) -> Stability:
    """Finds the smallest mass of the linear loop by firmness, and simulates the device with some masses.

    Args:
        device: the manipulator.
        hand: the hand.
        firmness: factors on the hand's stiffness, damping and mass.
        masses: rendered masses of the simulation [kg].
        period: T [s].
        delay: delay of the simulated commands [ticks].
        friction_force: rendered friction force of the simulation [N].
    """
    limits = {f"{n:g}": [smallest_mass(device, hand, n, period=period, delay=d) for d in (0, 1)] for n in firmness}
    own: dict[str, Any] = {"friction_force": friction_force, "period": period, "delay": delay}
    shaking = [(n, m, oscillation(device.parameters, grasp(hand, n), m, **own)) for n in firmness for m in masses]
    return Stability(limits, shaking, delay)
