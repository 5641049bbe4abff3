"""What the comparison with real tosses rests on: split, starts, search, and derivatives of the identification."""

from __future__ import annotations

import dataclasses
import importlib
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import yaml
from scipy.spatial.transform import Rotation

from convex_contact.scenes.tosses import HALF_WIDTH, INERTIA, PERIOD, Toss

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def toss() -> Any:
    """The benchmark's modules."""
    patch = pytest.MonkeyPatch()
    patch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    yield SimpleNamespace(
        **{name: importlib.import_module(f"cube_toss_{name}") for name in ("cases", "ours", "gradient")}
    )
    patch.undo()


def thrown(
    gravity: np.ndarray, center: np.ndarray, samples: int = 40, rate: tuple[float, ...] = (3.0, -2.0, 4.0)
) -> Toss:
    """A toss by formula: the centre of mass on a parabola, a constant rate; the board is far below."""
    t = PERIOD * np.arange(-1, samples)
    turns = Rotation.from_rotvec(np.outer(t, rate)) * Rotation.from_rotvec([0.3, 0.1, -0.2])
    position = [0.1, -0.2, 2.0] + np.outer(t, [1.0, 0.5, 0.2]) + 0.5 * np.outer(t**2, gravity) - turns.apply(center)
    velocity = np.diff(position, axis=0) / PERIOD
    spin = np.tile(rate, (samples, 1))
    low = position[1:].copy()
    low[-1, 2] = 0.0  # it touches at last
    return Toss(0, low, turns.as_quat()[1:], velocity, spin)


def test_split_is_that_of_the_documentation(toss: Any) -> None:
    training, test = toss.cases.split()
    assert (len(training), len(test)) == (95, 190)
    assert not {t.number for t in training} & {t.number for t in test}
    assert [t.number for t in training] == [t.number for t in toss.cases.split()[0]]


@pytest.mark.parametrize("substeps", [1, 4])
def test_free_flight_follows_the_parabola(toss: Any, substeps: int) -> None:
    """Whatever the step: the recorded velocity is the interval's mean, which `stepped` accounts for."""
    scene = toss.cases.Scene()
    flight = thrown(scene.gravity, np.zeros(3))
    x = {"stiffness": 1e4, "dissipation": 0.5, "friction": 0.2, "height": -1.0}
    model = toss.ours.models()[1]
    (motion,) = model.simulate(x, scene, [toss.cases.recorded(flight)], flight.samples - 1, substeps)
    np.testing.assert_allclose(motion.position, flight.position[1:-1], atol=1e-12)  # rounding
    turns = Rotation.from_quat(motion.orientation) * Rotation.from_quat(flight.orientation[1:-1]).inv()
    assert np.abs(turns.as_rotvec()).max() < 1e-12


def test_start_is_fitted_to_the_flight(toss: Any) -> None:
    center = np.array([1e-3, -2e-3, 6e-3])
    scene = toss.cases.Scene(np.array([0.0, 0.04, -9.6]), 0.051)
    flight = thrown(scene.gravity, center)
    start = toss.cases.fitted(flight, scene, center)
    np.testing.assert_allclose(start.position, flight.position[0], atol=1e-10)
    np.testing.assert_allclose(start.orientation, flight.orientation[0], atol=1e-10)
    np.testing.assert_allclose(start.angular_velocity, [3.0, -2.0, 4.0], atol=1e-9)
    # its recorded mean differs by the lever's centripetal acceleration, 0.2 m/s^2 for half a period
    np.testing.assert_allclose(start.velocity, flight.velocity[0], atol=1e-3)
    noisy = dataclasses.replace(flight, velocity=flight.velocity + 1.0)
    np.testing.assert_allclose(toss.cases.fitted(noisy, scene, center).velocity, start.velocity)


def test_gravity_and_center_are_measured_in_flight(toss: Any) -> None:
    gravity, center = np.array([0.01, 0.04, -9.59]), np.array([1e-3, -2e-3, 6e-3])
    flights = [thrown(gravity, center, rate=rate) for rate in ((3.0, -2.0, 4.0), (-8.0, 1.0, 0.0), (0.0, 9.0, 2.0))]
    found = toss.cases.measured_gravity(flights)
    np.testing.assert_allclose(found[0], gravity, atol=1e-8)
    np.testing.assert_allclose(found[1], center, atol=1e-9)
    scale = np.linalg.norm(gravity) / 9.81
    assert toss.cases.measured_scene(flights).half_width == pytest.approx(HALF_WIDTH * scale)


def test_search_spends_exactly_its_evaluations_and_finds_the_minimum(toss: Any) -> None:
    tried = []

    def f(u: np.ndarray) -> float:
        tried.append(u)
        return float(((u - [0.3, 0.8]) ** 2).sum())

    u, value = toss.cases.identify(f, 2, 120)
    assert len(tried) == 120
    np.testing.assert_allclose(u, [0.3, 0.8], atol=1e-2)  # its tolerance is 2e-3
    assert value == pytest.approx(f(u))
    start = np.array([0.9, 0.1])
    tried.clear()
    toss.cases.identify(f, 2, 30, start)
    np.testing.assert_array_equal(tried[0], start)


def test_points_and_parameters_are_inverse(toss: Any) -> None:
    model = toss.ours.models()[1]
    u = np.array([0.2, 0.4, 0.6, 0.9])
    np.testing.assert_allclose(model.point(model.parameters(u)), u)
    assert list(model.parameters(np.ones(4)).values()) == pytest.approx([high for _, high, _ in model.bounds.values()])


def test_interval_is_that_of_a_mean(toss: Any) -> None:
    values = np.random.default_rng(3).normal(0.2, 1.0, (200, 1))
    low, high = toss.cases.interval(values)
    half = 1.96 * values.std() / np.sqrt(200)
    # 4000 draws place a 2.5 % quantile within 5 % of half the interval
    np.testing.assert_allclose([low[0], high[0]], values.mean() + np.array([-half, half]), atol=0.1 * half)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ours SAP", "ours Lagged", "ours Similar"])
def test_derivatives_of_the_identification(toss: Any, name: str) -> None:
    """Of the residuals of a real toss, through its first touch, against central differences."""
    model = next(m for m in toss.ours.models() if m.name == name)
    model = dataclasses.replace(model, bounds=model.bounds | toss.cases.BODY)
    scene = toss.cases.Scene(np.array([0.0, 0.04, -9.594]), 0.05125)
    x = {"stiffness": 6e4, "dissipation": 0.8, "relaxation_time": 5e-4, "friction": 0.17, "height": -5e-4}
    x |= {"inertia": 9.7e-4, "center": 5.8e-3, "radius": 3e-3}
    names = [n for n in model.bounds if n in toss.gradient.COLUMNS]
    assert len(names) == 5
    recording = toss.cases.split()[0][1]
    _, J = toss.gradient.touch_residuals(model, x, scene, recording, names)
    for column, n in enumerate(names):
        step = 1e-6 * abs(x[n])
        high, low = (
            toss.gradient.touch_residuals(model, x | {n: x[n] + s}, scene, recording)[0] for s in (step, -step)
        )
        slope = (high - low) / (2 * step)
        assert np.abs(slope).max() > 0
        # rounding of residuals of size 1 to 10 over a relative step of 1e-6 is 1e-9 of the derivative in the logarithm
        assert np.abs(J[:, column] - slope).max() < 1e-5 * np.abs(slope).max()


@pytest.mark.slow
def test_gauss_newton_finds_the_parameters_of_a_simulation(toss: Any) -> None:
    """Tosses that the model itself made, from five real starts."""
    model = next(m for m in toss.ours.models() if m.name == "ours Similar")
    scene = toss.cases.Scene()
    truth = {"stiffness": 2e4, "dissipation": 0.8, "friction": 0.18, "height": -1e-3}
    made = []
    for real in toss.cases.split()[0][:5]:
        start = toss.cases.recorded(real)
        (m,) = model.simulate(truth, scene, [start], 45, model.substeps)
        first = real.position[:1], real.orientation[:1]
        position, orientation = np.vstack([first[0], m.position]), np.vstack([first[1], m.orientation])
        made.append(Toss(real.number, position, orientation, real.velocity[:45], real.angular_velocity[:45]))
    guess = {"stiffness": 3e4, "dissipation": 0.5, "friction": 0.2, "height": 0.0}
    found, used = toss.gradient.gauss_newton(model, guess, scene, made, 30)
    assert used <= 30
    for name, value in truth.items():
        assert found[name] == pytest.approx(value, rel=1e-4), name  # it stops when the cost falls by less than 0.1 %


def test_stored_parameters_are_complete(toss: Any) -> None:
    stored = yaml.safe_load((BENCHMARKS / "cube_toss_parameters.yaml").read_text())
    assert {(e["table"], e["model"]) for e in stored["models"]} >= {
        (t, stored["chosen"][t]) for t in ("contact", "body")
    }
    for entry in stored["models"]:
        lacking = {"friction", "height"} - set(entry["parameters"])
        assert not lacking, entry["model"]
        assert ("inertia" in entry["parameters"]) == (entry["table"] == "body")
    assert INERTIA == 8.1e-4
