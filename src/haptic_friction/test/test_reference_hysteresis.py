"""Masing's rules and loop energies against elastoplastic elements and simulated elements of model C."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from haptic_friction import CoulombLaw, ModelC, ParallelElements
from haptic_friction.reference.hysteresis import LoadingCurve, MeasuredLoop, masing, measured_loops, turning_points

T = 1e-3
CURVE = LoadingCurve(np.array([5e-5, 1e-4, 2e-4, 4e-4, 8e-4]), np.array([1.2, 2.0, 3.0, 3.7, 4.0]), 0.0)
SINGLE = LoadingCurve(np.array([5e-4]), np.array([4.0]), 0.0)


def motion(*turns: float, speed: float = 2e-3) -> np.ndarray:
    """Velocities [m/s] from 0 through displacements [mm] at a constant speed."""
    parts = [np.zeros(0)]
    for a, b in pairwise((0.0, *turns)):
        parts.append(np.full(round(1e-3 * abs(b - a) / (speed * T)), np.sign(b - a) * speed))
    return np.concatenate(parts)


def loops_of(velocity: np.ndarray, curve: LoadingCurve) -> list[MeasuredLoop]:
    """Loops of simulated elements with a first-loading curve."""
    elements: ModelC | ParallelElements
    if len(curve.displacement) == 1:
        stiffness = float(curve.force[0] / curve.displacement[0])
        damping = curve.damping_time * stiffness
        elements = ModelC(CoulombLaw(float(curve.force[0])), stiffness=stiffness, damping=damping, period=T)
    else:
        elements = ParallelElements.from_loading_curve(
            curve.displacement, curve.force, damping_time=curve.damping_time, period=T, dimension=1
        )
    force = elements.simulate(velocity[:, None])[:, 0]
    return measured_loops(np.cumsum(velocity * T), force, curve, T * np.arange(len(velocity)), T)


def elements_force(x: np.ndarray, curve: LoadingCurve) -> np.ndarray:
    """Force of elastoplastic elements written out: each a spring whose force is cut at its breakaway force."""
    stiffness, breakaway = curve.elements
    force, total = np.zeros(len(stiffness)), np.empty(len(x))
    for k, step in enumerate(np.diff(x, prepend=0.0)):
        force = np.clip(force + stiffness * step, -breakaway, breakaway)
        total[k] = force.sum()
    return total


@pytest.mark.parametrize("seed", range(20))
def test_masings_rules_are_what_the_elements_do_on_any_way(seed: int) -> None:
    random = np.random.default_rng(seed)
    turns = random.normal(0.0, 4e-4, 40)
    x = np.concatenate([np.linspace(a, b, 50)[1:] for a, b in pairwise((0.0, *turns))])
    for curve in (CURVE, SINGLE):
        predicted, loops = masing(x, curve)
        np.testing.assert_allclose(predicted, elements_force(x, curve), rtol=0, atol=1e-12)
        assert loops


def test_turning_points_are_where_the_direction_changes_also_after_a_rest() -> None:
    x = np.array([0.0, 1.0, 2.0, 2.0, 3.0, 2.0, 2.0, 1.0, 4.0])
    assert turning_points(x) == [4, 7, 8]
    assert turning_points(np.zeros(5)) == [4]
    assert turning_points(np.array([0.0, 0.0, -1.0, 0.0])) == [2, 3]


def test_the_loops_of_a_known_motion() -> None:
    x = np.cumsum(T * motion(0.4, -0.4, 0.4, 1.0, -1.0, 0.3, -0.2, 0.3, 1.0, -0.5))
    _, loops = masing(x, CURVE)
    turns = [(round(1e3 * x[loop.start], 6), round(1e3 * x[loop.turn], 6), loop.simple) for loop in loops]
    assert turns == [(0.4, -0.4, True), (0.3, -0.2, True), (1.0, -1.0, False)]
    assert [round(1e3 * x[loop.end], 6) for loop in loops] == [0.4, 0.3, 1.0]


def test_a_loop_that_is_passed_between_two_samples_is_closed_where_it_was() -> None:
    velocity = np.concatenate((motion(0.5, -0.1), np.full(100, 6.7e-3)))  # 6.7 µm a step
    (loop,) = loops_of(velocity, CURVE)
    # the slope changes where it closes: between two samples a straight line is off by up to a quarter of K dx
    assert 0.0 < abs(loop.closure) < 0.25 * 24000.0 * 6.7e-6


@pytest.mark.parametrize("damping", [0.0, 40.0])
@pytest.mark.parametrize("speed", [1e-3, 4e-3])
@pytest.mark.parametrize("amplitude", [0.04, 0.15, 0.4, 1.0])
def test_the_energy_of_a_cycle_is_that_of_the_simulated_elements(
    amplitude: float, speed: float, damping: float
) -> None:
    velocity = motion(amplitude, -amplitude, amplitude, -amplitude, speed=speed)
    for undamped, stiffness in ((CURVE, 24000.0), (SINGLE, 8000.0)):
        curve = LoadingCurve(undamped.displacement, undamped.force, damping / stiffness)
        (loop,) = loops_of(velocity, curve)
        assert loop.closed_form_energy == pytest.approx(curve.energy(1e-3 * amplitude, speed))
        # kinks within a step; after a slip the damper relaxes over B/K, up to 5 ms of a cycle of 40 ms and more
        scale = 4.0 * float(curve.at(np.array(1e-3 * amplitude))) * 1e-3 * amplitude
        # the force jumps by 2 B u in the step after each of two reversals, of which the polygon misses half
        jumps = 2.0 * damping * speed * speed * T
        assert loop.energy == pytest.approx(loop.closed_form_energy, rel=0, abs=5e-3 * scale + jumps)
        assert loop.amplitude == pytest.approx(1e-3 * amplitude) and loop.speed == pytest.approx(speed)


def test_an_element_takes_four_times_the_force_times_the_way_it_slips() -> None:
    assert SINGLE.energy(1e-3, 0.0) == pytest.approx(4.0 * 4.0 * 0.5e-3)
    assert SINGLE.energy(4e-4, 0.0) == 0.0
    damped = LoadingCurve(SINGLE.displacement, SINGLE.force, 40.0 / 8000.0)
    assert damped.energy(1e-3, 8e-3) == pytest.approx(4 * 4.0 * 1e-3 - (2 * 4.0 - 40.0 * 8e-3) ** 2 / 8000.0)
    assert damped.energy(1e-4, 8e-3) == pytest.approx(4 * 1e-4 * 40.0 * 8e-3)
