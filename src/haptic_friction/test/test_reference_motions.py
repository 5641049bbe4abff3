"""Motions of one mass in closed form, against independent solutions and differential equations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from haptic_friction.reference.motions import (
    free_drift,
    model_a_motion,
    model_d_deviation,
    noise_drift,
    ramp_response,
    slide_to_rest,
    stop_time,
)

RUNS = json.loads((Path(__file__).parent / "data/fig06_07_modelA.json").read_text())["runs"]
STIFFNESS = [8.3e4, 2.5e5, 7.5e5]
#: period (s) and mass (kg) of the drifts
T, M = 1e-3, 2.0


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run['fig']}-{run['T']}")
def test_the_closed_form_is_the_independent_solution(run: dict[str, Any]) -> None:
    velocity, force = model_a_motion(
        run["n_steps"], period=run["T"], mass=run["M"], force=run["F"], pull=run["h"], start=run["v0"]
    )
    np.testing.assert_allclose(velocity, run["v"], rtol=0, atol=1e-13)  # 200 additions of numbers around 1
    np.testing.assert_allclose(force, run["f"], rtol=0, atol=1e-13 / run["T"])


@pytest.mark.parametrize("pull", [-1.0, -10.0])
def test_the_closed_form_is_odd_and_scales_with_the_mass(pull: float) -> None:
    v, f = model_a_motion(100, period=2e-3, mass=2.0, force=8.0, pull=pull, start=0.7)
    w, g = model_a_motion(100, period=2e-3, mass=2.0, force=8.0, pull=-pull, start=-0.7)
    np.testing.assert_array_equal(w, -v)
    np.testing.assert_array_equal(g, -f)
    heavy, _ = model_a_motion(100, period=2e-3, mass=4.0, force=16.0, pull=2 * pull, start=0.7)
    np.testing.assert_allclose(heavy, v, rtol=0, atol=1e-14)


def test_before_the_stop_the_closed_form_does_not_cross() -> None:
    v, f = model_a_motion(10, period=1e-3, mass=1.0, force=8.0, pull=-1.0, start=0.7)
    np.testing.assert_allclose(v, 0.7 - 9e-3 * np.arange(1, 11), rtol=0, atol=1e-15)
    assert f.tolist() == [8.0] * 10


def test_the_stop_time_is_the_paper_s() -> None:
    assert stop_time(mass=1.0, force=8.0, pull=-1.0, start=0.7) == pytest.approx(0.7 / 9.0)
    assert stop_time(mass=1.0, force=8.0, pull=1.0, start=-0.7) == pytest.approx(0.7 / 9.0)


@pytest.mark.parametrize(
    ("stiffness", "damping", "mass"), [(8.3e4, 2 * 8.3e4**0.5, 1.0), (2.5e5, 3000.0, 1.0), (1e4, 700.0, 4.0)]
)
def test_the_ramp_response_is_that_of_the_differential_equation(stiffness: float, damping: float, mass: float) -> None:
    time, slope, force = np.linspace(0.0, 0.25, 126), 0.1, 10.0
    h = ramp_response(time, slope=slope, mass=mass, stiffness=stiffness, damping=damping, force=force)

    def force_of(t: float, y: np.ndarray) -> float:
        return float(stiffness * y[0] + damping * (slope * t - y[1]))

    def release(t: float, y: np.ndarray) -> float:
        return force_of(t, y) - force

    release.terminal = True  # type: ignore[attr-defined]
    tight: Any = {"rtol": 1e-11, "atol": 1e-14, "dense_output": True}
    rest = solve_ivp(lambda t, y: [slope * t - y[1], 0.0], (0.0, 1.0), [0.0, 0.0], events=release, **tight)
    start, at_release = rest.t_events[0][0], rest.y_events[0][0]
    slide = solve_ivp(
        lambda t, y: [slope * t - y[1], (force_of(t, y) - force) / mass], (start, 0.25), at_release, **tight
    )
    expected = [force_of(t, (rest if t <= start else slide).sol(t)) for t in time]
    assert 0.0 < start < 0.2
    np.testing.assert_allclose(h, expected, rtol=0, atol=1e-6)  # B times the solver's error of the velocity
    assert (slide.y[1] >= -1e-12).all()  # it does not stop again


def test_at_the_end_the_mass_follows_the_ramp() -> None:
    h = ramp_response(np.linspace(0, 1, 1001), slope=0.1, mass=2.0, stiffness=1e5, damping=1e3, force=10.0)
    assert h[-1] == pytest.approx(10.0 + 2.0 * 0.1, rel=1e-12)


def test_before_it_slides_the_force_is_that_of_spring_and_damper() -> None:
    time = np.linspace(0.0, 0.02, 21)
    h = ramp_response(time, slope=0.1, mass=1.0, stiffness=1e4, damping=200.0, force=10.0)
    np.testing.assert_allclose(h, 1e4 * 0.05 * time**2 + 200.0 * 0.1 * time)


@pytest.mark.parametrize("stiffness", STIFFNESS)
def test_the_slide_to_rest_is_that_of_the_differential_equation(stiffness: float) -> None:
    M, F, damping = 2.0, 7.0, 2.0 * (2.0 * stiffness) ** 0.5
    time = np.linspace(0.0, 0.6, 601)
    u = slide_to_rest(time, mass=M, stiffness=stiffness, damping=damping, force=F, start=1.0)
    stop = 1.0 * M / F

    def stuck(_: float, y: np.ndarray) -> list[float]:
        return [y[1], -(stiffness * y[0] + damping * y[1]) / M]

    free = solve_ivp(stuck, (stop, 0.6), [F / stiffness, 0.0], rtol=1e-11, atol=1e-15, dense_output=True)
    expected = np.where(time < stop, 1.0 - F / M * time, free.sol(np.maximum(time, stop))[1])
    np.testing.assert_allclose(u, expected, rtol=0, atol=1e-10)


def test_a_free_mass_goes_where_the_force_takes_it() -> None:
    n = 2000
    force = np.tile([3.0, 4.0], (n, 1))
    # sums of implicit Euler: T^2/M |h| n (n + 1)/2
    assert free_drift(force, M, T) == pytest.approx(5.0 / M * T**2 * n * (n + 1) / 2)


def test_the_drift_of_a_free_mass_by_noise() -> None:
    random, n = np.random.default_rng(0), 300
    ways = [free_drift(random.normal(0.0, 0.05, (n, 2)), M, T) for _ in range(2000)]
    # RMS of 2000 samples: 2 %; sums against integral: 1/n
    assert np.sqrt(np.mean(np.square(ways))) == pytest.approx(noise_drift(0.05, M, T, n * T), rel=0.06)


@pytest.mark.parametrize("stiffness", STIFFNESS)
def test_steps_of_model_d_satisfy_their_equations(stiffness: float) -> None:
    file = np.load(Path(__file__).parent / "data/fig14_modelD.npz")
    u, f, e = (file[f"K{stiffness:.1e}_D_{name}"] for name in ("u", "f", "e"))
    values = {"mass": 1.0, "stiffness": stiffness, "damping": 2.0 * stiffness**0.5, "friction": 7.0}
    h, start = np.zeros(len(u)), {"period": 1e-3, "start": 1.0}
    # rounding of velocities around 1 m/s, times M/T
    assert model_d_deviation(u, f, e, h, **values, **start) < 1e-12
    for name, value in values.items():  # each of the equations has a coefficient of its own
        assert model_d_deviation(u, f, e, h, **values | {name: 1.001 * value}, **start) > 1e-4
    assert model_d_deviation(u, f, e, h + 0.1, **values, **start) == pytest.approx(0.1, abs=1e-12)
