"""The joystick's equations of motion, bearings and energy, against closed forms and a numerical Lagrangian."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from haptic_devices.device import load_parameters
from haptic_devices.hands.operator import HandParameters, SimulatedHand
from haptic_devices.joystick import DEFAULT_FILE, SUBSTEPS, Joystick, JoystickParameters
from haptic_devices.motions.planar import MotionPlan, PlanBuilder

DEFAULT = load_parameters(JoystickParameters, DEFAULT_FILE)
FREE = {"friction_coulomb": 0.0, "friction_viscous": 0.0, "range": 1.5}


def joystick(period: float, *, q: Any = (0, 0), qd: Any = (0, 0), hand: SimulatedHand | None = None, **changes: Any):
    device = Joystick(JoystickParameters(**{**DEFAULT.model_dump(), **changes}), hand)
    device.configure(period)
    device.activate()
    device.truth().position[:], device.truth().velocity[:] = q, qd
    return device


def lagrangian(q: np.ndarray, qd: np.ndarray, stick: float) -> float:
    """Kinetic energy from the geometry alone: the rings turn by q1 and q2, the stick is a rod along R e_z."""
    h = 1e-3
    ends = [
        (Rotation.from_euler("y", a[0]) * Rotation.from_euler("x", -a[1])).apply([0, 0, 1])
        for a in (q + 2 * h * qd, q + h * qd, q - h * qd, q - 2 * h * qd)
    ]
    rate = (-ends[0] + 8 * ends[1] - 8 * ends[2] + ends[3]) / (12 * h)  # fourth order
    return 0.5 * (DEFAULT.inertia_outer * qd[0] ** 2 + DEFAULT.inertia_inner * qd[1] ** 2 + stick * rate @ rate)


def acceleration(q: np.ndarray, qd: np.ndarray, tau: np.ndarray, stick: float) -> np.ndarray:
    """d/dt dL/dqd - dL/dq = tau, solved for qdd, by central differences of the Lagrangian."""
    h, unit = 1e-3, np.eye(2)

    def slope_q(i: int) -> float:
        return (lagrangian(q + h * unit[i], qd, stick) - lagrangian(q - h * unit[i], qd, stick)) / (2 * h)

    def momentum(q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return np.array([(lagrangian(q, qd + h * e, stick) - lagrangian(q, qd - h * e, stick)) / (2 * h) for e in unit])

    mass = np.column_stack([(momentum(q, qd + h * e) - momentum(q, qd - h * e)) / (2 * h) for e in unit])
    along = (momentum(q + h * qd, qd) - momentum(q - h * qd, qd)) / (2 * h)
    return np.linalg.solve(mass, tau + np.array([slope_q(0), slope_q(1)]) - along)


STATES = np.random.default_rng(0).uniform(-1, 1, (12, 6)) * [1.2, 1.2, 8.0, 8.0, 2.0, 2.0]


@pytest.mark.parametrize("state", STATES, ids=range(len(STATES)))
def test_the_equations_of_motion_are_those_of_the_lagrangian(state):
    q, qd, tau = state[:2], state[2:4], state[4:]
    period = 1e-6
    device = joystick(period, q=q, qd=qd, **FREE)
    device.write(tau)
    simulated = (device.truth().velocity - qd) / period
    # size 10 to 300 rad/s^2; the central differences in q leave h^2 |qd|^2 = 1e-4 of it, the step's error is smaller
    assert simulated == pytest.approx(acceleration(q, qd, tau, DEFAULT.inertia_stick), rel=1e-4, abs=0.01)


def test_the_hand_s_mass_moves_with_the_tip():
    q, qd, tau, period = *STATES[0].reshape(3, 2), 1e-6
    numbers = {"stiffness": 0, "damping": 0, "expected_resistance": 0, "tremor_force": 0}
    holder = HandParameters(mass=0.5, tremor_low=8, tremor_high=12, **numbers)
    idle = SimulatedHand(holder, MotionPlan(period, np.zeros((10, 7)), ()), 0)
    device = joystick(period, q=q, qd=qd, hand=idle, **FREE)
    device.write(tau)
    stick = DEFAULT.inertia_stick + 0.5 * DEFAULT.length**2
    simulated = (device.truth().velocity - qd) / period
    assert simulated == pytest.approx(acceleration(q, qd, tau, stick), rel=1e-4, abs=0.01)  # as above


def coast(period: float, duration: float = 0.3) -> tuple[float, float]:
    """Relative error of energy and of the momentum about the outer axis after a free motion."""
    device = joystick(period, q=(0.1, -0.5), qd=(2.0, 2.5), **FREE)
    truth = device.truth()

    def conserved() -> np.ndarray:
        outer = DEFAULT.inertia_outer + DEFAULT.inertia_stick * np.cos(truth.position[1]) ** 2
        inner = DEFAULT.inertia_inner + DEFAULT.inertia_stick
        speed = truth.velocity
        return np.array([0.5 * (outer * speed[0] ** 2 + inner * speed[1] ** 2), outer * speed[0]])

    before = conserved()
    for _ in range(round(duration / period)):
        device.write(np.zeros(2))
    error = conserved() / before - 1.0
    return error[0], error[1]


def test_the_free_stick_keeps_energy_and_momentum_to_the_order_of_the_integrator():
    errors = np.abs([coast(period) for period in (4e-3, 2e-3, 1e-3)])
    # semi-implicit Euler is of first order: halving the period halves the error, up to second-order terms
    assert errors[:-1] / errors[1:] == pytest.approx(np.full((2, 2), 2.0), rel=0.05)
    # at 1 kHz the substep of 0.1 ms turns the stick by 0.2 mrad
    assert errors[-1].max() < 1e-3


def test_coulomb_friction_stops_a_coasting_joint_at_the_position_of_the_closed_form():
    speed, period, coulomb = 0.5, 1e-3, 0.02
    device = joystick(period, qd=(0.0, speed), friction_coulomb=coulomb, friction_viscous=0.0)
    deceleration = coulomb / (DEFAULT.inertia_inner + DEFAULT.inertia_stick)
    for _ in range(round(speed / deceleration / period) + 2):
        device.write(np.zeros(2))
    truth = device.truth()
    assert truth.velocity.tolist() == [0.0, 0.0]
    # each substep uses the speed at its end: the way is short by v dt/2
    way = speed**2 / (2 * deceleration)
    assert truth.position[1] == pytest.approx(way - speed * period / SUBSTEPS / 2, rel=1e-4)
    place = truth.position.copy()
    for _ in range(100):
        device.write(np.zeros(2))
    assert (truth.position == place).all()


@pytest.mark.parametrize(("effort", "moves"), [(0.0199, False), (0.0201, True)])
def test_an_effort_below_the_bearings_friction_moves_nothing(effort, moves):
    device = joystick(1e-3, friction_coulomb=0.02)
    for _ in range(100):
        device.write(np.array([effort, -effort]))
    assert (device.truth().position != 0.0).tolist() == [moves, moves]


def test_viscous_friction_slows_each_joint_by_the_implicit_step_s_factor():
    period, viscous, periods = 1e-3, 0.02, 50
    device = joystick(period, qd=(0.0, 0.5), friction_coulomb=0.0, friction_viscous=viscous)
    for _ in range(periods):
        device.write(np.zeros(2))
    inertia = DEFAULT.inertia_inner + DEFAULT.inertia_stick
    factor = 1.0 + period / SUBSTEPS * viscous / inertia
    # 500 products, one rounding each
    assert device.truth().velocity[1] == pytest.approx(0.5 * factor ** -(periods * SUBSTEPS), rel=1e-12)


def hold_still(period: float, duration: float) -> SimulatedHand:
    builder = PlanBuilder(period, np.array([0.03, -0.02]))
    builder.move("hold", "slide", np.array([0.03, -0.02]), np.zeros(2), duration)
    numbers = {"mass": 0.2, "stiffness": 500, "damping": 15, "expected_resistance": 4, "tremor_force": 0}
    return SimulatedHand(HandParameters(**numbers, tremor_low=8, tremor_high=12), builder.build(), 0)


def test_at_rest_the_wrench_of_the_hand_balances_the_effort():
    device = joystick(1e-3, hand=hold_still(1e-3, 2.0), **{**FREE, "encoder_resolution": 0.0})
    device.truth().position[:] = device.read().position  # where the plan starts
    effort = np.array([0.3, -0.2])
    for _ in range(2000):
        device.write(effort)
    wrench, jacobian = device.truth().tool_wrench, device.jacobian()
    # the motion decays with B/2m = 13/s: e^-26 is left of the 2 N
    assert (jacobian.T @ wrench) == pytest.approx(-effort, abs=1e-9)
    held = np.array([0.03, -0.02]) - device.truth().tool_pose[:2]
    assert wrench[:2] == pytest.approx(500.0 * held, abs=1e-9)


@pytest.mark.slow
def test_the_wrench_on_the_tip_moves_the_stick_without_the_hand_s_mass():
    """Newton for the stick alone: what the hand exerts at the tip, its inertia taken off, makes dp/dt."""
    period = 1e-4
    device = joystick(period, hand=hold_still(period, 0.1), **{**FREE, "encoder_resolution": 0.0})
    device.truth().position[:] = (0.5, -0.4)  # far from the target: the hand pulls hard
    truth = device.truth()
    residuals, sizes = [], []
    for _ in range(60):
        q, qd = truth.position.copy(), truth.velocity.copy()
        jacobian = device.jacobian().copy()
        device.write(np.array([0.2, 0.1]))
        middle_q, middle_qd = (q + truth.position) / 2, (qd + truth.velocity) / 2
        expected = acceleration(
            middle_q, middle_qd, truth.effort + jacobian.T @ truth.tool_wrench, DEFAULT.inertia_stick
        )
        residuals.append((truth.velocity - qd) / period - expected)
        sizes.append(expected)
    # the first Jacobian is that of the plan's start; the others' errors are those of means over 0.1 ms
    assert np.abs(residuals[1:]).max() < 5e-4 * np.abs(sizes).max()
