"""The five-bar's equations of motion against a numerical Lagrangian of its single links; energy; gears; the hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from haptic_core.commands import ACCELERATION, POSITION, VELOCITY, Motion
from haptic_devices.components.commanded_motion import CommandedMotion
from haptic_devices.device import load_parameters
from haptic_devices.five_bar import DEFAULT_FILE, FiveBar, FiveBarParameters, LinkInertia, aim, inertia_constants
from haptic_devices.hands.operator import HandParameters, SimulatedHand
from haptic_devices.motions.planar import MotionPlan

DEFAULT = load_parameters(FiveBarParameters, DEFAULT_FILE)
HOME = np.array([DEFAULT.home_upper_arm, DEFAULT.home_forearm])
MOTOR = DEFAULT.gear_ratio**2 * DEFAULT.rotor_inertia
#: no friction to speak of, no gear damping, no sensor noise
FREE = {"friction_coulomb": 0.0, "friction_static": 1e-12, "friction_viscous": 0.0, "gear_damping": 0.0}
NO_SERVO = {"position_gain": 0.0, "integral_gain": 0.0, "velocity_gain": 0.0}


def five_bar(period: float, *, hand: SimulatedHand | None = None, **changes: Any) -> FiveBar:
    device = FiveBar(FiveBarParameters(**{**DEFAULT.model_dump(), **changes}), hand)
    device.configure(period)
    device.activate()
    return device


def start(device: FiveBar, q: np.ndarray, qd: np.ndarray, twist: Any = (0.0, 0.0)) -> None:
    """Links at q with rates qd, the gears twisted by some angles [rad]."""
    device.links[:2], device.links[2:] = q, qd
    device.truth().position[:], device.truth().velocity[:] = q + twist, qd


# ---- the linkage as single bodies -----------------------------------------------------------------


def arm(angle: float, length: float) -> np.ndarray:
    return length * np.array([np.cos(angle), np.sin(angle)])


def hinges(q: np.ndarray) -> dict[str, np.ndarray]:
    """Places of all hinges and the tool, from the geometry alone."""
    p = DEFAULT
    base, elbow = np.zeros(2), arm(q[0], p.length_upper_arm)
    return {
        "base": base,
        "elbow": elbow,
        "crank": base - arm(q[1], p.length_crank),
        "rear": elbow - arm(q[1], p.length_crank),
        "tool": elbow + arm(q[1], p.length_forearm),
    }


RODS = [
    ("base", "elbow", DEFAULT.mass_upper_arm),
    ("base", "crank", DEFAULT.mass_crank),
    ("crank", "rear", DEFAULT.mass_coupling_rod),
    ("rear", "tool", DEFAULT.mass_forearm),
]


def kinetic_energy(q: np.ndarray, qd: np.ndarray, tool_mass: float) -> float:
    """Of four uniform rods and a mass at the tool: a rod with end velocities a, b has m/6 (a.a + a.b + b.b)."""
    h = 1e-3
    places = [hinges(q + factor * h * qd) for factor in (2, 1, -1, -2)]
    v = {name: (-far + 8 * near - 8 * nearb + farb) / (12 * h) for name, far, near, nearb, farb in (
        (name, *(place[name] for place in places)) for name in places[0]
    )}  # fmt: skip
    energy = 0.5 * tool_mass * v["tool"] @ v["tool"]
    for a, b, mass in RODS:
        energy += mass / 6.0 * (v[a] @ v[a] + v[a] @ v[b] + v[b] @ v[b])
    return float(energy)


def acceleration(q: np.ndarray, qd: np.ndarray, tau: np.ndarray, tool_mass: float) -> np.ndarray:
    """d/dt dL/dqd - dL/dq = tau, solved for qdd, by central differences of the kinetic energy."""
    h, unit = 1e-3, np.eye(2)

    def slope_q(i: int) -> float:
        ahead, behind = (kinetic_energy(q + sign * h * unit[i], qd, tool_mass) for sign in (1, -1))
        return (ahead - behind) / (2 * h)

    def momentum(q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return np.array(
            [
                (kinetic_energy(q, qd + h * e, tool_mass) - kinetic_energy(q, qd - h * e, tool_mass)) / (2 * h)
                for e in unit
            ]
        )

    mass = np.column_stack([(momentum(q, qd + h * e) - momentum(q, qd - h * e)) / (2 * h) for e in unit])
    along = (momentum(q + h * qd, qd) - momentum(q - h * qd, qd)) / (2 * h)
    return np.linalg.solve(mass, tau + np.array([slope_q(0), slope_q(1)]) - along)


def test_the_coupling_rod_is_as_long_as_the_upper_arm_and_parallel_to_it():
    for q in np.random.default_rng(0).uniform(-3, 3, (5, 2)):
        at = hinges(q)
        assert at["rear"] - at["crank"] == pytest.approx(at["elbow"] - at["base"], abs=1e-15)


STATES = np.random.default_rng(0).uniform(-1, 1, (12, 6)) * [0.5, 0.5, 5.0, 5.0, 20.0, 20.0]


@pytest.mark.parametrize("state", STATES, ids=range(len(STATES)))
def test_links_follow_the_lagrangian_of_the_single_bodies(state):
    q, qd, tau, period = HOME + state[:2], state[2:4], state[4:], 1e-6
    device = five_bar(period, **FREE, **NO_SERVO)
    start(device, q, qd, tau / DEFAULT.gear_stiffness)
    device.follow(None)
    simulated = (device.links[2:] - qd) / period
    expected = acceleration(q, qd, tau, DEFAULT.mass_tool + DEFAULT.mass_grip)
    # size 10 to 500 rad/s^2; the central differences in q leave h^2 |qd|^2 = 3e-5 of it, the step's error is smaller
    assert simulated == pytest.approx(expected, rel=1e-4, abs=0.01)


@pytest.mark.parametrize("tau", [(30.0, 0.0), (0.0, -50.0), (12.0, 34.0)])
def test_each_motor_turns_its_own_inertia_against_its_gear_and_nothing_else(tau):
    period, gain = 1e-6, 1e5
    changes = {**NO_SERVO, "position_gain": gain, "gear_damping": 7.0, "encoder_resolution": 0.0}
    device = five_bar(period, **{**FREE, **changes})
    twist, slip = np.array([1e-3, -2e-3]), np.array([0.3, -0.2])
    start(device, HOME, np.array([1.0, 2.0]), twist)
    device.truth().velocity[:] += slip
    before = device.truth().velocity.copy()
    nothing = np.zeros(7)
    # the servo has not yet seen the twist: its error is tau over its gain
    device.follow(Motion(POSITION, nothing, nothing[:6], nothing[:6], joint_position=HOME + np.array(tau) / gain))
    assert device.truth().effort == pytest.approx(tau, abs=1e-9)
    expected = (np.array(tau) - DEFAULT.gear_stiffness * twist - 7.0 * slip) / MOTOR
    # within the step the gears yield by slip T/2: K slip T/(2 N^2 J_r) = 0.008 rad/s^2
    assert (device.truth().velocity - before) / period == pytest.approx(expected, abs=0.01)


def test_the_hand_s_mass_moves_with_the_tool():
    q, qd, tau, period = HOME + STATES[0, :2], STATES[0, 2:4], STATES[0, 4:], 1e-6
    numbers = {"stiffness": 0, "damping": 0, "expected_resistance": 0, "tremor_force": 0}
    holder = HandParameters(mass=0.9, tremor_low=8, tremor_high=12, **numbers)
    idle = SimulatedHand(holder, MotionPlan(period, np.zeros((10, 7)), ()), 0)
    device = five_bar(period, hand=idle, **FREE, **NO_SERVO)
    start(device, q, qd, tau / DEFAULT.gear_stiffness)
    device.follow(None)
    expected = acceleration(q, qd, tau, DEFAULT.mass_tool + DEFAULT.mass_grip + 0.9)
    assert (device.links[2:] - qd) / period == pytest.approx(expected, rel=1e-4, abs=0.01)  # as above


def test_the_hand_s_force_acts_at_the_tool():
    period, force = 1e-6, np.array([20.0, -35.0])
    numbers = {"stiffness": 0, "damping": 0, "expected_resistance": 0, "tremor_force": 0, "mass": 0}
    holder = HandParameters(tremor_low=8, tremor_high=12, **numbers)
    table = np.tile([0, 0, 0, 0, *force, 1.0], (10, 1))
    device = five_bar(period, hand=SimulatedHand(holder, MotionPlan(period, table, ()), 0), **FREE, **NO_SERVO)
    q = HOME + np.array([0.2, -0.3])
    start(device, q, np.zeros(2))
    device.follow(None)
    h = 1e-6
    jacobian = np.column_stack([(hinges(q + h * e)["tool"] - hinges(q - h * e)["tool"]) / (2 * h) for e in np.eye(2)])
    expected = acceleration(q, np.zeros(2), jacobian.T @ force, DEFAULT.mass_tool + DEFAULT.mass_grip)
    assert (device.links[2:] / period) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("state", STATES[:6], ids=range(6))
def test_feedforward_is_the_torque_for_the_commanded_acceleration_up_to_the_sensor(state):
    q, qd, qdd = HOME + state[:2], state[2:4], state[4:]
    device, h = five_bar(1e-3, friction_coulomb=0.0), 1e-4

    def tool(t: float) -> np.ndarray:
        return hinges(q + t * qd + t * t / 2 * qdd)["tool"] + device.geometry.axis

    velocity = (tool(h) - tool(-h)) / (2 * h)
    change = (tool(h) - 2 * tool(0.0) + tool(-h)) / h**2
    m11, m22, h12 = inertia_constants(DEFAULT, DEFAULT.mass_tool)
    inertia, target = LinkInertia(m11 + MOTOR, m22 + MOTOR, h12), np.zeros((3, 2))
    tool_motion, no_joints = (tool(0.0), velocity, change), (np.zeros(2), np.zeros(2), np.zeros(2, dtype=np.bool_))
    wanted = CommandedMotion(POSITION | VELOCITY | ACCELERATION, *tool_motion, *no_joints)
    aim(device.geometry, inertia, np.full(2, np.inf), wanted, 1e-3, target)
    assert target[:2].ravel() == pytest.approx([*q, *qd], abs=1e-5)  # central difference: h^2 |qdd| |qd|
    found = acceleration(q, qd, target[2] - MOTOR * qdd, DEFAULT.mass_tool)
    # up to 25 rad/s^2 and as much from the turning; second differences leave 1e-16/h^2 = 1e-8 and h^2 of it
    assert found == pytest.approx(qdd, rel=1e-3, abs=0.05)


# ---- energy ---------------------------------------------------------------------------------------


def energy(device: FiveBar) -> float:
    truth = device.truth()
    p = device.parameters
    links = kinetic_energy(device.links[:2], device.links[2:], p.mass_tool + p.mass_grip)
    twist = truth.position - device.links[:2]
    return links + 0.5 * MOTOR * truth.velocity @ truth.velocity + 0.5 * p.gear_stiffness * twist @ twist


def coast(period: float, duration: float = 0.2) -> float:
    """Largest relative error of the energy in a free motion with twisted gears."""
    device = five_bar(period, range=0.75, **FREE, **NO_SERVO)
    start(device, HOME + np.array([0.2, -0.1]), np.array([1.5, 2.5]), [2e-3, -1e-3])
    before, largest = energy(device), 0.0
    for _ in range(round(duration / period)):
        device.follow(None)
        largest = max(largest, abs(energy(device) / before - 1.0))
    return largest


def test_without_friction_the_energy_is_kept_to_the_order_of_the_integrator():
    errors = np.array([coast(period) for period in (1e-3, 5e-4, 2.5e-4)])
    # semi-implicit Euler: the energy swings by a share of the step times the gears' frequency, first order
    assert errors[:-1] / errors[1:] == pytest.approx([2.0, 2.0], rel=0.1)
    assert errors[0] < 0.02


def test_friction_and_gear_damping_only_take_energy():
    device = five_bar(1e-3, **NO_SERVO)
    start(device, HOME, np.array([1.0, -1.0]), [1e-3, 1e-3])
    levels = [energy(device)]
    for _ in range(400):
        device.follow(None)
        levels.append(energy(device))
    # the springs of the joints' friction hold up to 10 N m x 3 mrad/6 each and give that back
    assert max(np.diff(levels)) < 0.02
    assert levels[-1] < 0.01 * levels[0]


def test_a_coasting_arm_stops_within_the_closed_form_s_way():
    """A stiff gear and one motor: the friction's work is the kinetic energy."""
    changes = {"friction_viscous": 0.0, "friction_static": 8.5, "friction_displacement": 1e-5, "gear_damping": 100.0}
    device = five_bar(1e-3, **{**changes, **NO_SERVO, "gear_stiffness": 1e5})
    start(device, HOME, np.array([0.0, 1.0]))
    before = energy(device)
    for _ in range(400):
        device.follow(None)
    way = device.truth().position - HOME
    assert abs(device.truth().velocity).max() < 1e-3
    # both joints rub; the gears' damping takes the rest at the start and at the stop
    assert 8.5 * np.abs(way).sum() == pytest.approx(before, rel=0.05)


# ---- gears ----------------------------------------------------------------------------------------


def test_with_locked_motors_the_links_swing_on_the_gears_at_the_closed_form_s_frequency():
    device = five_bar(1e-4, **{**FREE, "position_gain": 1e7, "integral_gain": 0.0, "velocity_gain": 0.0,
                               "effort_limit": 1000.0, "encoder_resolution": 0.0, "rotor_inertia": 0.1})  # fmt: skip
    start(device, HOME, np.zeros(2))
    device.links[:2] += [1e-4, 0.0]
    angles = []
    for _ in range(5000):
        device.follow(None)
        angles.append(device.links[0] - HOME[0])
    power = np.abs(np.fft.rfft(np.hanning(5000) * np.array(angles), 8 * 5000))
    found = np.fft.rfftfreq(8 * 5000, 1e-4)[np.argmax(power)]
    tool_mass = DEFAULT.mass_tool + DEFAULT.mass_grip
    inertia = 2.0 * kinetic_energy(HOME, np.array([1.0, 0.0]), tool_mass)
    expected = np.sqrt(DEFAULT.gear_stiffness / inertia) / (2 * np.pi)
    # 0.5 s of swinging, interpolated to 0.25 Hz; the motor's 1000 kg m^2 do not move
    assert found == pytest.approx(expected, abs=0.5)
