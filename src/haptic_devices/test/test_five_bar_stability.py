"""When a rendered mass oscillates in the hand: the linear loop is the simulation's, and its limit is documented."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from haptic_core.commands import POSITION, VELOCITY, Motion
from haptic_devices import factories
from haptic_devices.device import load_parameters
from haptic_devices.five_bar import DEFAULT_FILE, FiveBar, FiveBarParameters, stability
from haptic_devices.five_bar.stability import (
    circle_plan,
    grasp,
    grip_stability,
    loop_matrix,
    oscillation,
    smallest_mass,
    spectral_radius_map,
)
from haptic_devices.hands.operator import HandParameters, SimulatedHand
from haptic_devices.motions.planar import MotionPlan

PERIOD = 1e-3
DEFAULT = load_parameters(FiveBarParameters, DEFAULT_FILE)
HAND = load_parameters(HandParameters, factories.HAND_FILE)
#: what the linear loop leaves out: dry friction, counts, noise
LINEAR = {"friction_coulomb": 0.0, "friction_static": 1e-12, "encoder_resolution": 0.0, "force_noise": 0.0,
          "torque_noise": 0.0, "force_resolution": 0.0, "torque_resolution": 0.0}  # fmt: skip


def five_bar(**changes: Any) -> FiveBar:
    return FiveBar(FiveBarParameters(**{**DEFAULT.model_dump(), **changes}))


# ---- the hand -------------------------------------------------------------------------------------


def test_firmness_scales_stiffness_damping_and_mass_and_leaves_the_damping_ratio():
    firm = grasp(HAND, 3.0)
    assert (firm.stiffness, firm.damping, firm.mass) == pytest.approx((1500.0, 45.0, 0.6))
    assert firm.tremor_force == 0.0 and firm.expected_resistance == HAND.expected_resistance
    ratios = [h.damping / np.sqrt(h.stiffness * h.mass) for h in (HAND, firm)]
    assert ratios[0] == pytest.approx(ratios[1])


# ---- the linear loop ------------------------------------------------------------------------------


def simulate(start: np.ndarray, mass: float, firmness: float, delay: int, ticks: int, **changes: Any) -> np.ndarray:
    """Motors' and links' angles about home, rendered position: (ticks, 6), from the links' displacement (2,)."""
    holder = HandParameters(**{**grasp(HAND, firmness).model_dump(), "expected_resistance": 0.0})
    plan = MotionPlan(PERIOD, np.tile([0.0] * 6 + [1.0], (ticks, 1)), ())
    device = FiveBar(FiveBarParameters(**{**DEFAULT.model_dump(), **LINEAR, **changes}), SimulatedHand(holder, plan, 0))
    device.configure(PERIOD)
    device.activate()
    home = np.array(device.geometry.home)
    device.links[:2] += start
    pose, velocity, rows = np.zeros(7), np.zeros(2), []
    under_way = [None] * delay
    for _ in range(ticks):
        velocity += PERIOD / mass * device.read().tool_wrench[:2]
        pose[:2] += PERIOD * velocity
        twist = np.array([*velocity, 0, 0, 0, 0])
        under_way.append(Motion(POSITION | VELOCITY, pose.copy(), twist, np.zeros(6)))
        device.follow(under_way.pop(0))
        rows.append([*device.truth().position - home, *device.links[:2] - home, *pose[:2]])
    return np.array(rows)


@pytest.mark.parametrize("delay", [0, 1, 2])
@pytest.mark.parametrize(("mass", "firmness"), [(2.0, 1.0), (1.0, 4.0), (5.0, 2.0)])
def test_small_motions_of_the_simulated_device_are_those_of_the_matrix(mass, firmness, delay):
    start, ticks = np.array([2e-5, -1e-5]), 40
    simulated = simulate(start, mass, firmness, delay, ticks)
    matrix = loop_matrix(five_bar(), grasp(HAND, firmness), mass, period=PERIOD, delay=delay)
    state, rows = np.zeros(len(matrix)), []
    state[4:6] = start
    for _ in range(ticks):
        state = matrix @ state
        rows.append([*state[0:2], *state[4:6], *state[18:20]])
    error = np.abs(simulated - np.array(rows)).max(axis=0)
    # the simulation's substeps of 0.1 ms lag by up to half of that: 0.05 ms at 70 Hz is 2 % of the amplitude, which
    # three periods turn into a few more; a tick of delay would be 40 %
    assert (error < 0.06 * np.abs(rows).max(axis=0)).all()


def test_the_map_is_the_spectral_radius_of_each_matrix():
    masses, firmness, device = [0.5, 2.0, 7.0], [0.5, 3.0], five_bar()
    found = spectral_radius_map(device, HAND, masses, firmness, period=PERIOD, delay=1)
    for i, mass in enumerate(masses):
        for j, value in enumerate(firmness):
            matrix = loop_matrix(device, grasp(HAND, value), mass, period=PERIOD, delay=1)
            # eigenvalues of a matrix of 24 rows with entries up to 1e5
            assert found[i, j] == pytest.approx(np.abs(np.linalg.eigvals(matrix)).max(), rel=1e-6)


def test_an_infinite_mass_leaves_a_stable_servo_that_stands_still():
    matrix = loop_matrix(five_bar(), HAND, np.inf, period=PERIOD)
    sizes = np.sort(np.abs(np.linalg.eigvals(matrix)))
    # rendered position and velocity stay what they are: two double eigenvalues 1, with the square root of a rounding
    assert sizes[-4:] == pytest.approx(np.ones(4), abs=1e-6)
    assert sizes[-5] < 0.999


def test_the_smallest_mass_divides_stable_from_unstable():
    device = five_bar()
    for delay in (0, 1):
        limit = smallest_mass(device, HAND, 2.0, period=PERIOD, delay=delay)
        below, above = spectral_radius_map(device, HAND, [0.98 * limit, limit], [2.0], period=PERIOD, delay=delay)[:, 0]
        assert below > 1.0 > above


def test_a_servo_that_is_unstable_by_itself_has_no_smallest_mass():
    assert smallest_mass(five_bar(velocity_gain=3000.0), HAND, 1.0, period=PERIOD) == float("inf")


@pytest.mark.slow
def test_the_delay_hardly_matters_because_the_links_resonance_on_the_gears_makes_the_gain():
    limits = [smallest_mass(five_bar(), HAND, 1.0, period=PERIOD, delay=delay) for delay in (0, 1, 3, 10)]
    assert max(limits) < 1.3 * min(limits)


@pytest.mark.slow
def test_a_firmer_grasp_a_heavier_grip_and_softer_gears_need_a_larger_mass():
    limits = [smallest_mass(five_bar(), HAND, f, period=PERIOD) for f in (0.5, 1.0, 2.0, 4.0, 8.0)]
    assert (np.diff(limits) > 0.0).all()
    for changes in ({"mass_grip": 0.6}, {"gear_stiffness": 2.0e4, "gear_damping": 8.0}, {"gear_damping": 5.0}):
        assert smallest_mass(five_bar(**changes), HAND, 1.0, period=PERIOD) > 1.02 * limits[1]


# ---- the table in five_bar.yaml -------------------------------------------------------------------

TEXT = DEFAULT_FILE.read_text()
ROWS: dict[str, tuple[int, dict[str, float]]] = {
    "no delay": (0, {}),
    "one tick of delay": (1, {}),
    "gears twice as stiff": (0, {"gear_stiffness": 6.2e4}),
    "rigid gears": (0, {"gear_stiffness": 1e6, "gear_damping": 100.0}),
    "servo at 65 rad/s": (0, {"position_gain": 3 * 65.0**2, "integral_gain": 65.0**3, "velocity_gain": 3 * 65.0}),
    "sensor filter at 500 Hz": (0, {"sensor_cutoff": 500.0}),
}


def documented(label: str) -> list[float]:
    row = re.search(rf"^#   {label}\s{{2,}}(.*)$", TEXT, re.MULTILINE)
    return [float(cell.removesuffix(" kg")) for cell in re.split(r"\s{2,}", row[1].strip())]


@pytest.mark.covering(2)
@pytest.mark.parametrize("label", ROWS)
def test_the_documented_smallest_masses_are_those_of_the_linear_loop(label):
    delay, changes = ROWS[label]
    device = five_bar(**changes)
    found = [smallest_mass(device, HAND, f, period=PERIOD, delay=delay) for f in documented("firmness")]
    assert documented(label) == pytest.approx(found, rel=0.02, abs=0.006)  # two or three digits, of a grid of 1 %


# ---- the real loop --------------------------------------------------------------------------------


def test_the_circle_is_led_at_constant_speed():
    plan = circle_plan(PERIOD)
    circle = next(phase for phase in plan.phases if phase.name == "circle")
    rows = plan.table[round(circle.start / PERIOD) :]
    assert np.linalg.norm(rows[:, 2:4], axis=1) == pytest.approx(np.full(len(rows), 0.08))
    assert np.gradient(rows[:, :2], PERIOD, axis=0)[1:-1] == pytest.approx(rows[1:-1, 2:4], abs=1e-6)


@pytest.mark.covering(2)
@pytest.mark.parametrize("delay", [0, 1])
@pytest.mark.parametrize("firmness", [1.0, 4.0])
def test_the_simulated_device_under_model_a_shakes_below_the_linear_limit_and_not_above(firmness, delay):
    limit = smallest_mass(five_bar(), HAND, firmness, period=PERIOD, delay=delay)

    def shaking(mass: float) -> float:
        return oscillation(DEFAULT, grasp(HAND, firmness), mass, friction_force=6.0, period=PERIOD, delay=delay)

    # encoder counts and sensor noise alone leave under 1 mm/s; the motion itself has 80 mm/s. The dry friction that the
    # linear loop leaves out damps a little: not nearer than 25 %
    assert shaking(1.25 * limit) < 2e-3
    assert shaking(0.75 * limit) > 0.05


def test_the_paper_s_mass_is_quiet_in_a_normal_grasp_and_half_of_it_is_not_in_a_firm_one():
    def shaking(firmness: float, mass: float) -> float:
        return oscillation(DEFAULT, grasp(HAND, firmness), mass, friction_force=6.0, period=PERIOD, delay=1)

    assert shaking(1.0, 2.0) < 2e-3
    assert shaking(4.0, 1.0) > 0.05


def test_the_leading_hand_expects_the_friction_force_whatever_it_expected_before():
    hands = [HandParameters(**{**HAND.model_dump(), "expected_resistance": force}) for force in (0.0, 20.0)]
    first, second = (oscillation(DEFAULT, each, 2.0, friction_force=6.0, period=PERIOD) for each in hands)
    assert first == second


def test_oscillation_depends_on_seed_friction_force_and_delay():
    changes = ({}, {"seed": 1}, {"friction_force": 3.0}, {"delay": 1}, {"delay": 3})
    usual = {"friction_force": 6.0, "period": PERIOD}
    assert len({oscillation(DEFAULT, HAND, 2.0, **{**usual, **change}) for change in changes}) == 5


def test_a_speed_beyond_the_limit_is_reported_as_infinite():
    slow = FiveBarParameters(**{**DEFAULT.model_dump(), "velocity_limit": 0.2})
    assert oscillation(slow, HAND, 2.0, friction_force=6.0, period=PERIOD) == float("inf")


def test_grip_stability_holds_the_limits_and_the_shaking_of_each_grasp(monkeypatch):
    """The circle is shorter than usual: the run takes one second."""
    monkeypatch.setattr(stability, "STEADY", 0.4)
    own = {"friction_force": 6.0, "period": PERIOD, "delay": 1}
    found = grip_stability(five_bar(), HAND, [4.0], [1.0], **own)
    assert found.delay == 1 and list(found.smallest_mass) == ["4"]
    for delay, limit in enumerate(found.smallest_mass["4"]):
        below, above = spectral_radius_map(five_bar(), HAND, [0.98 * limit, limit], [4.0], period=PERIOD, delay=delay)[
            :, 0
        ]
        assert below > 1.0 > above
    assert found.shaking == [(4.0, 1.0, oscillation(DEFAULT, grasp(HAND, 4.0), 1.0, **own))]
