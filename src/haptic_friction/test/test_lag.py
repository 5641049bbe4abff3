"""The lag of a spring's stretch on curved paths: steady circles, the way it needs to settle, and model C."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from haptic_friction import CoulombLaw, ModelC
from haptic_friction.reference.lag import path_lag, radius_of_curvature, steady_lag

YIELD = 1e-3


def circle(radius: float, turns: float, step: float = 2e-6) -> tuple[np.ndarray, np.ndarray]:
    """A path that starts from its centre's side without stretch, and the velocity at 1 m/s."""
    angle = np.arange(0.0, turns * 2.0 * np.pi, step / radius)
    return radius * np.column_stack((np.sin(angle), -np.cos(angle))), np.column_stack((np.cos(angle), np.sin(angle)))


@pytest.mark.parametrize("radius", [1.5e-3, 3e-3, 1e-2])
def test_on_a_circle_the_lag_settles_to_the_steady_one(radius: float) -> None:
    lag = path_lag(*circle(radius, 1.0), YIELD)
    # the stretch of a step, 2 um of 1 mm, is what the angle is known to
    assert lag[-1] == pytest.approx(float(steady_lag(np.array(radius), YIELD)), abs=3e-3)
    assert np.isnan(lag[: round(YIELD / 2e-6) - 2]).all()  # it sticks over the first F/K


def test_lag_after_a_corner_follows_its_equation() -> None:
    step = 1e-6
    first = np.column_stack((np.arange(0.0, 5e-3, step), np.zeros(5000)))
    second = first[-1] + np.column_stack((np.zeros(4000), np.arange(step, 4e-3 + 0.5 * step, step)))
    position = np.vstack((first, second))
    velocity = np.vstack((np.tile([1.0, 0.0], (5000, 1)), np.tile([0.0, 1.0], (4000, 1))))
    lag = path_lag(position, velocity, YIELD)[5000:]
    way = step * np.arange(1, 4001)
    # d' = -sin(d)/(F/K) from a right angle
    found = solve_ivp(lambda _, d: -np.sin(d) / YIELD, (0.0, way[-1]), [0.5 * np.pi], t_eval=way, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(lag, found.y[0], atol=3e-3)


def test_it_is_the_lag_of_model_c_without_damping() -> None:
    position, velocity = circle(4e-3, 0.6, step=2e-5)
    model = ModelC(CoulombLaw(2.0), stiffness=2.0 / YIELD, damping=0.0, period=1e-3, dimension=2)
    way = np.diff(position, axis=0, prepend=position[:1]) / 1e-3
    force = model.simulate(way)
    lag = path_lag(position, velocity, YIELD)
    slides = np.isfinite(lag)
    assert slides.sum() > 500
    cosine = np.sum(force * velocity, axis=1)[slides] / 2.0
    np.testing.assert_allclose(np.arccos(np.clip(cosine, -1.0, 1.0)), lag[slides], atol=1e-6)


def test_the_steady_lag_is_small_on_wide_curves_and_a_right_angle_on_narrow_ones() -> None:
    radius = np.array([np.inf, 1.0, YIELD, 0.1 * YIELD])
    np.testing.assert_allclose(steady_lag(radius, YIELD), [0.0, YIELD, 0.5 * np.pi, 0.5 * np.pi], atol=1e-9)


def test_radius_of_a_path() -> None:
    angle, time = np.linspace(0.0, 3.0, 3001), 1e-3 * np.arange(3001)
    circle = 0.04 * np.column_stack((np.cos(angle), np.sin(angle)))
    inner = radius_of_curvature(np.gradient(circle, time, axis=0), time)[2:-2]
    np.testing.assert_allclose(inner, 0.04, rtol=1e-6)  # finite differences over 1 mrad: its square
    line = np.outer(angle, [0.5, 0.0])
    assert np.isinf(radius_of_curvature(np.gradient(line, time, axis=0), time)).all()
