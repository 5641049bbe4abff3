"""Closed forms against integrals, and studies of convergence on motions that are known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import dblquad, quad

from convex_contact import Material, Simulator, World
from convex_contact.scenes import closed_forms
from convex_contact.scenes.gear_spectrum import harmonic_bins, harmonic_power, spectrum
from convex_contact.scenes.one_body import falling_sphere
from convex_contact.scenes.peg import Peg, caging
from convex_contact.scenes.pushing_arm import BALL_RADIUS, BALL_START, HAND_PLACE, SHOULDER, push
from convex_contact.scenes.rod_impact import Impact, simulate_impact
from convex_contact.scenes.tosses import HALF_WIDTH, cube_edges
from convex_contact.simulation.convergence import (
    ConvergenceStudy,
    convergence_order,
    extrapolated,
    position_errors,
    rms_error,
    trajectory,
)
from convex_contact.simulation.run_statistics import run_statistics


def test_forces_of_contact_surfaces_are_integrals_of_the_pressure() -> None:
    modulus, radius, depth = 2e5, 0.05, 0.004
    h = radius - depth
    over_cut = quad(
        lambda s: 2.0 * np.pi * s * modulus * (1.0 - np.hypot(s, h) / radius), 0.0, np.sqrt(radius**2 - h**2)
    )[0]
    force = closed_forms.pressure_force_of_sphere(modulus, radius, depth)
    assert force == pytest.approx(over_cut, rel=1e-9)
    assert closed_forms.depth_of_sphere(modulus, radius, force) == pytest.approx(depth, rel=1e-9)

    gradient, a, b = 1e7, 0.06, 0.04
    quarter = dblquad(lambda y, x: gradient * min(depth, a - x, b - y), 0.0, a, 0.0, b, epsrel=1e-5)[0]
    force = closed_forms.pressure_force_of_box(gradient, a, b, depth)
    assert force == pytest.approx(4.0 * quarter, rel=1e-3)
    assert closed_forms.depth_of_box(gradient, (a, b, 0.05), force) == pytest.approx(depth, rel=1e-9)


def test_faces_lie_below_a_sphere_by_at_most_the_facet_depth() -> None:
    """A regular triangle of side l with its corners on the sphere; its centre is the deepest place."""
    size, radius = 0.01, 0.05
    below = radius - np.sqrt(radius**2 - size**2 / 3.0)
    assert closed_forms.facet_depth(size, radius) == pytest.approx(below, rel=0.01)


def test_a_ball_slides_until_it_rolls_at_five_sevenths() -> None:
    speed, mu, g, radius, t = 2.0, 0.5, 9.81, 0.025, closed_forms.sliding_time(2.0, 0.5, 9.81)
    spin = mu * g * t / (0.4 * radius)  # friction mu m g on the lever R turns 2/5 m R^2
    assert speed - mu * g * t == pytest.approx(closed_forms.rolling_speed(speed)) == pytest.approx(radius * spin)


@pytest.mark.parametrize("height", [1e-3, 0.025, 0.06])
def test_a_ball_that_falls_first_rolls_as_long_after_its_release(height: float) -> None:
    """An impact without rebound, with friction mu times its impulse, and then sliding under the weight."""
    speed, mu, g = 2.0, 0.5, 9.81
    fall = np.sqrt(2.0 * height / g)
    slip = speed - 3.5 * mu * g * fall  # by the impact: mu J/m off the speed, mu J R/I on the spin, J = m g fall
    slides = slip / (3.5 * mu * g)
    assert slip > 0.0
    assert fall + slides == pytest.approx(closed_forms.sliding_time(speed, mu, g))


def test_decelerations_by_friction() -> None:
    mu, g, radius, mass = 0.3, 9.81, 0.04, 0.2
    assert closed_forms.sliding_deceleration(mu, g) == pytest.approx(mu * g)
    torque = quad(lambda r: mu * mass * g / (np.pi * radius**2) * r * 2.0 * np.pi * r, 0.0, radius)[0]
    inertia = 0.5 * mass * radius**2
    assert closed_forms.spinning_deceleration(mu, g, radius) == pytest.approx(torque / inertia)


def test_gliding_times_of_table_1() -> None:
    times = {name: closed_forms.gliding_time(name, 2e-3, 1e-3) for name in ("sap", "similar", "lagged")}
    assert times == {"sap": 3e-3, "similar": 2e-3, "lagged": 0.0}
    assert closed_forms.gliding_time("similar_regularized", 2e-3) == 2e-3


def test_the_error_of_a_study_is_its_definition() -> None:
    """sqrt(1/T int |p - p_ref|^2 dt) of a straight line that leaves its reference at 2 m/s."""
    t = np.linspace(0.0, 3.0, 3001)
    path = np.column_stack([2.0 * t, np.zeros_like(t), np.ones_like(t)])
    reference = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    # 2 T/sqrt(3); the trapezoids of a parabola at 1 ms
    assert rms_error(t, path, np.array([0.0, 3.0]), reference) == pytest.approx(2.0 * 3.0 / np.sqrt(3.0), rel=1e-6)


def test_a_trajectory_of_a_study_is_the_simulator_s() -> None:
    t, path, seen = trajectory(falling_sphere(), "ball", period=1e-3, duration=0.02, observe=lambda s: s.time)
    np.testing.assert_allclose(t, np.arange(21) * 1e-3, atol=1e-15)
    np.testing.assert_allclose(seen, t[1:], atol=1e-15)
    n = np.arange(21)
    np.testing.assert_allclose(path[:, 2], 0.05 - 9.81 * 1e-6 * n * (n + 1) / 2, atol=1e-14)


def test_a_fall_converges_with_first_order() -> None:
    """Symplectic Euler falls by g T t/2 too far: the error at t is proportional to T."""
    periods, seen = (1e-3, 2e-3, 4e-3), []

    def scene(approximation: str, period: float) -> object:
        seen.append((approximation, period))
        return falling_sphere(height=10.0)

    errors = position_errors(
        scene,
        "ball",
        approximations=("sap", "lagged"),
        reference=1e-4,
        periods=periods,
        duration=0.04,  # type: ignore[arg-type]
    )
    assert seen == [("lagged", 1e-4), *((name, p) for name in ("sap", "lagged") for p in periods)]
    for by_period in errors.values():
        for period, error in by_period.items():
            assert error == pytest.approx(9.81 * (period - 1e-4) / 2 * 0.04 / np.sqrt(3.0), rel=2e-2)
        assert convergence_order(by_period) == pytest.approx(1.0, abs=0.1)
        assert convergence_order({1.0: 3.0, 2.0: 12.0, 4.0: 0.0}, (1.0, 2.0)) == pytest.approx(2.0)


def test_a_study_of_a_fall_has_the_order_that_its_reference_leaves() -> None:
    """The error is proportional to T - T_ref: of two time steps, one twice the other, the order is a logarithm."""
    periods, reference = (1e-3, 2e-3), 1e-4
    study = ConvergenceStudy.simulated(
        lambda approximation, period: falling_sphere(height=10.0),
        "ball",
        approximations=("lagged", "similar"),
        reference=reference,
        periods=periods,
        duration=0.02,
    )
    order = np.log2((periods[1] - reference) / (periods[0] - reference))
    for name in ("lagged", "similar"):
        assert list(study.errors[name]) == list(periods)
        # the trapezoids of a parabola over 10 and 20 steps differ by 0.4 %
        assert study.orders[name] == pytest.approx(order, abs=0.01)
    assert study.is_first_order


@pytest.mark.parametrize(
    ("orders", "holds"),
    [
        ({"lagged": 1.14, "similar": 0.86, "sap": 0.5}, True),
        ({"lagged": 1.16, "similar": 1.0}, False),
        ({"lagged": 1.0, "similar": 0.84}, False),
    ],
)
def test_a_study_is_of_first_order_if_lagged_and_similar_are(orders: dict[str, float], holds: bool) -> None:
    assert ConvergenceStudy({}, orders).is_first_order is holds


def test_an_error_of_first_order_is_extrapolated_exactly() -> None:
    assert extrapolated(*(3.0 + 7.0 * step for step in (1e-6, 2e-6)), 1e-6, 1e-7) == pytest.approx(
        3.0 + 7e-7, rel=1e-12
    )


@pytest.mark.slow
def test_statistics_of_a_run_are_those_of_its_steps() -> None:
    world = World()
    world.add_half_space("ground", material=Material(stiffness=2e5))
    ball = world.add_sphere("ball", mass=0.5, radius=0.05, position=(0.0, 0.0, 0.05), material=Material(stiffness=2e5))
    found = run_statistics(
        world, period=1e-3, approximation="lagged", duration=0.4, settled=0.1, samples=4, tolerances=True
    )
    sim, iterations = Simulator(world, period=1e-3), []
    for _ in range(400):
        sim.step()
        iterations.append(sim.statistics.iterations)
    assert found.iterations == np.mean(iterations) and found.step_time > 0.0 and found.condition >= 1.0
    assert found.median_penetration == pytest.approx(0.5 * 9.81 / 1e5, rel=1e-3)
    assert found.penetration == pytest.approx(0.05 - sim.state(ball).position[2], rel=1e-3)
    assert found.tolerance.shape == (400,) and found.tolerance[-1] == 1e-4


def test_the_peak_and_the_stick_of_an_impact_leave_out_its_start() -> None:
    t = 1e-3 * np.arange(1, 21)
    force = np.where(t < 0.004, 100.0, 10.0 - np.abs(t - 0.012) / 1e-3)
    impact = Impact(t, force, t, t, (t > 0.0085).astype(float) + (t < 0.002))
    assert impact.peak == pytest.approx((0.012, 10.0)) and impact.sticking_time == pytest.approx(12e-3)


def test_an_impact_begins_with_the_sliding_rod() -> None:
    impact = simulate_impact("lagged", period=1e-5, duration=1e-3, dissipation=True)
    np.testing.assert_allclose(impact.time, 1e-5 * np.arange(1, 101))
    assert impact.force[-1] > 0.0 and impact.slip[-1] == pytest.approx(10.0, rel=0.02) and not impact.sticking.any()


def test_paths_of_the_pushing_arm_begin_at_its_start() -> None:
    problem = push()
    states = np.array([problem.system.start] * 2)
    path, speed = problem.ball_path(states)
    np.testing.assert_allclose(path[:, :2], [BALL_START] * 2, atol=1e-12)
    assert path[0, 2] == pytest.approx(BALL_RADIUS - 0.3 * 9.81 / 2e3) and not speed.any()  # m g/k
    shoulder, elbow, hand = problem.arm_points(states)[0]
    np.testing.assert_allclose(shoulder, [0.0, 0.0, SHOULDER])
    assert np.linalg.norm(hand - elbow) == pytest.approx(HAND_PLACE[0])


def test_the_spectrum_gives_a_sines_amplitude_beside_a_ramp() -> None:
    t = 5e-4 * np.arange(400)
    frequency, amplitude = spectrum(3.0 * np.sin(2.0 * np.pi * 240.0 * t) + 5.0 + 2.0 * t, 5e-4)
    assert frequency[amplitude.argmax()] == pytest.approx(240.0)
    assert amplitude.max() == pytest.approx(3.0, rel=1e-2)


def test_harmonics_are_distinguished_from_noise() -> None:
    t = 5e-4 * np.arange(400)
    tones = sum(np.sin(2.0 * np.pi * 240.0 * k * t + k) for k in (1, 2, 5))  # 1200 Hz is folded back
    assert harmonic_power(np.asarray(tones), 5e-4, 240.0) > 0.98
    noise = np.random.default_rng(1).standard_normal(400)
    assert harmonic_power(noise, 5e-4, 240.0) == pytest.approx(harmonic_bins(400), abs=0.1)
    assert harmonic_bins(400) == pytest.approx(30 / 201)


def test_the_edges_of_a_cube_are_placed_with_it() -> None:
    edges = cube_edges(np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)]))
    assert edges.shape == (12, 2, 3)
    np.testing.assert_allclose(np.linalg.norm(edges[:, 0] - edges[:, 1], axis=1), 2.0 * HALF_WIDTH)
    np.testing.assert_allclose(np.abs(edges - [1.0, 2.0, 3.0]), HALF_WIDTH, rtol=1e-12)


def test_a_wall_s_displacement_is_that_of_its_vertices() -> None:
    scene = Peg(cells=1, layers=1)
    world = scene.world()
    names = [body.name for body in world.bodies]
    states = Simulator(world, period=1e-2, approximation="lagged").body_states()
    position, orientation = (np.array([column, column]) for column in states[:2])
    stations, displacement = scene.wall_displacement("left", names, position, orientation)
    np.testing.assert_allclose(displacement, 0.0, atol=1e-9)
    assert (np.diff(stations) > 0.0).all() and len(stations) > 2
    closing = np.abs(stations - stations.mean())
    assert caging(stations, closing[None])[0] > 0.0 > caging(stations, -closing[None])[0]


def test_pressure_gap_of_a_sphere_is_its_depth_in_the_middle_and_zero_at_the_rim() -> None:
    radius, depth = 0.05, 1e-3
    rim = np.sqrt(radius**2 - (radius - depth) ** 2)
    gap = closed_forms.pressure_gap_of_sphere(np.array([0.0, rim]), radius, depth)
    np.testing.assert_allclose(gap, [depth, 0.0], rtol=1e-12, atol=1e-12 * depth)
