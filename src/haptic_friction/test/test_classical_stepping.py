"""Stepping, energy, state and symmetry of the classical models in one and three dimensions."""

from __future__ import annotations

import numpy as np
import pytest
from classical_cases import ADMITTANCES, ALL, EPS, IMPEDANCES, Motion, T, inputs_of


@pytest.mark.covering
@pytest.mark.parametrize("dimension", [1, 3])
@pytest.mark.parametrize("name", ALL)
def test_simulate_gives_the_numbers_of_step_and_the_energy_is_the_work_in_sliding(
    name: str, dimension: int, motion: Motion
) -> None:
    stepped, simulated = (ALL[name](dimension=dimension) for _ in range(2))
    inputs = inputs_of(name, motion, 600, dimension)
    outputs, works, stuck = [], [], 0
    for value in inputs:
        outputs.append(stepped.step(value))
        works.append(T * stepped.friction_force @ stepped.sliding_velocity)
        stuck += stepped.sticking
    halves = [simulated.simulate(part) for part in (inputs[:333], inputs[333:])]
    np.testing.assert_array_equal(np.concatenate(halves), outputs)
    for row, value in stepped.state.items():
        np.testing.assert_array_equal(simulated.state[row], value, err_msg=row)
    assert simulated.sticking is stepped.sticking
    for model in (stepped, simulated):
        assert model.dissipated_energy == pytest.approx(sum(works), rel=0.0, abs=600 * EPS * np.abs(works).sum())
    assert sum(works) > 0.01
    if name not in ("dahl", "dahl_explicit", "lugre", "lugre_explicit", "hayward_armstrong_creep"):
        assert 20 <= stuck < 580  # the others slide at every velocity but zero
    else:
        assert 20 <= stuck <= 21  # at rest; explicit Euler begins with z = 0


@pytest.mark.parametrize("name", [name for name in IMPEDANCES if name not in ("regularized", "explicit_coulomb")])
def test_bending_and_sliding_make_the_motion(name: str, motion: Motion) -> None:
    model = ALL[name](dimension=3)
    z = model.displacement
    for u in motion(600, 3):
        model.step(u)
        # z, of a few mm, is rounded; its difference is divided by T
        np.testing.assert_allclose(model.sliding_velocity, u - (model.displacement - z) / T, rtol=0, atol=1e-13)
        z = model.displacement


@pytest.mark.parametrize("name", ALL)
def test_a_reset_starts_again(name: str, motion: Motion) -> None:
    model = ALL[name](dimension=3)
    inputs = inputs_of(name, motion, 300, 3)
    first = model.simulate(inputs)
    model.reset()  # type: ignore[attr-defined]
    assert model.sticking and model.dissipated_energy == 0.0
    assert not any(value.any() for value in model.state.values())
    np.testing.assert_array_equal(model.simulate(inputs), first)


@pytest.mark.parametrize("name", ALL)
def test_a_reset_takes_velocity_or_displacement(name: str) -> None:
    model = ALL[name](dimension=1)
    rest = model.step([0.01])
    if "displacement" in model.rows:
        model.reset(displacement=[1e-3])  # type: ignore[attr-defined]
    elif name in ADMITTANCES:
        model.reset(velocity=[0.3])  # type: ignore[attr-defined]
    else:
        return  # no memory: f is a function of u
    assert abs(model.step([0.01]) - rest) > 0.1


@pytest.mark.parametrize("name", ALL)
def test_turned_input_gives_turned_output(name: str, motion: Motion) -> None:
    straight, turned = (ALL[name](dimension=3) for _ in range(2))
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    inputs = inputs_of(name, motion, 600, 3)
    outputs = straight.simulate(inputs)
    scale = np.abs(outputs).max()
    # rounding adds up over 600 steps, while nothing slides
    np.testing.assert_allclose(turned.simulate(inputs @ Q.T), outputs @ Q.T, rtol=0, atol=1000 * EPS * scale)
    assert turned.dissipated_energy == pytest.approx(straight.dissipated_energy, rel=1000 * EPS)
    assert np.abs(outputs - ALL[name](dimension=3).simulate(inputs * [1.0, 1.0, 0.5])).max() > 0.01 * scale


@pytest.mark.parametrize("name", ALL)
def test_along_a_line_it_is_the_model_of_one_dimension(name: str, motion: Motion) -> None:
    direction = np.array([0.48, -0.6, 0.64])
    inputs = inputs_of(name, motion, 600, 1)
    single = ALL[name](dimension=1).simulate(inputs)
    spatial = ALL[name](dimension=3).simulate(inputs * direction)
    np.testing.assert_allclose(spatial, single * direction, rtol=0, atol=1000 * EPS * np.abs(single).max())
