"""Closed forms of the classical models, alone and coupled."""

from __future__ import annotations

import math

import numpy as np
import pytest
from classical_cases import COULOMB, EPS, FALLING, IMPEDANCES, S0, THRESHOLD, VISCOUS, F, M, Motion, T

from haptic_friction import CoulombLaw, StribeckLaw
from haptic_friction.classical.bristles import (
    DahlModel,
    ElastoplasticModel,
    HaywardArmstrongModel,
    LuGreModel,
    ResetIntegratorModel,
)
from haptic_friction.classical.thresholds import KarnoppModel, QuinnModel, RegularizedCoulombModel
from haptic_friction.models.model import ImpedanceModel, WithCompliance, WithMass
from haptic_friction.models.model_c import ModelC


@pytest.mark.parametrize("explicit", [False, True])
def test_dahl_bends_as_a_geometric_series_and_slides_at_f(explicit: bool) -> None:
    model = DahlModel(COULOMB, bristle_stiffness=S0, period=T, explicit=explicit)
    speed = 0.01
    rate = T * S0 * speed / F
    force = model.simulate(np.full((500, 1), speed))[:, 0]
    k = np.arange(1, 501)
    left = (1.0 - rate) ** k if explicit else (1.0 + rate) ** -k
    np.testing.assert_allclose(force, F * (1.0 - left), rtol=0, atol=100 * EPS * F)
    assert force[-1] == pytest.approx(F, rel=10 * EPS)
    assert model.sliding_velocity[0] == pytest.approx(speed, rel=10 * EPS)


@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize("speed", [5e-4, 2e-3, 0.02])
@pytest.mark.parametrize("law_viscosity", [0.0, 5.0])
def test_lugre_slides_at_g_and_the_viscous_force(explicit: bool, speed: float, law_viscosity: float) -> None:
    law = StribeckLaw(F, static_force=1.5 * F, stribeck_velocity=1e-3, viscosity=law_viscosity)
    model = LuGreModel(law, bristle_stiffness=S0, bristle_damping=100.0, viscosity=7.0, period=T, explicit=explicit)
    force = model.simulate(np.full((10000, 1), -speed))[-1, 0]
    g = F + 0.5 * F * math.exp(-((speed / 1e-3) ** 2)) + law_viscosity * speed
    assert force == pytest.approx(-(g + 7.0 * speed), rel=1e-12)
    assert model.displacement[0] == pytest.approx(-g / S0, rel=1e-12)


@pytest.mark.parametrize("law", [COULOMB, VISCOUS])
def test_elastoplastic_slides_at_g_and_the_viscous_force(law: CoulombLaw) -> None:
    model = ElastoplasticModel(law, bristle_stiffness=S0, bristle_damping=100.0, viscosity=7.0, period=T)
    force = model.simulate(np.full((3000, 1), 0.01))[-1, 0]
    assert force == pytest.approx(law.magnitude(0.01) + 0.07, rel=1e-12)


def test_elastoplastic_overshoots_in_a_long_step_from_rest() -> None:
    model = ElastoplasticModel(COULOMB, bristle_stiffness=S0, bristle_damping=0.0, period=T)
    force = model.simulate([[0.7], [0.7], [0.7]])[:, 0]
    assert force[0] == pytest.approx(S0 * T * 0.7) and force[0] > 11.0 * F
    assert F < force[2] < force[1] < 2.0 * F  # from then on alpha = 1


def oscillation(amplitude: float, steps: int) -> np.ndarray:
    """Velocities that move the free end between 0 and an amplitude [m] for a number of periods of 100 steps."""
    position = 0.5 * amplitude * (1.0 - np.cos(2.0 * np.pi * np.arange(steps + 1) / 100.0))
    return np.diff(position)[:, None] / T


@pytest.mark.parametrize(("amplitude", "drifts"), [(0.69, False), (0.8, True)])
def test_elastoplastic_is_elastic_below_its_fraction_of_zmax(amplitude: float, drifts: bool) -> None:
    zmax = F / S0
    model = ElastoplasticModel(COULOMB, bristle_stiffness=S0, bristle_damping=0.0, period=T)
    force = model.simulate(oscillation(amplitude * zmax, 100_000))[:, 0]
    if drifts:
        assert force.max() < 0.9 * F and model.displacement[0] < -0.05 * zmax and model.dissipated_energy > 1e-6
        return
    # 1e5 roundings of at most eps zmax/2
    assert abs(model.displacement[0]) < 1e5 * EPS * zmax
    assert model.dissipated_energy == 0.0 and model.sticking
    assert force.max() == pytest.approx(amplitude * F, rel=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        DahlModel(COULOMB, bristle_stiffness=S0, period=T),
        LuGreModel(COULOMB, bristle_stiffness=S0, bristle_damping=0.0, period=T),
    ],
    ids=["dahl", "lugre"],
)
def test_dahl_and_lugre_forget_where_they_were_bent(model: ImpedanceModel) -> None:
    zmax = F / S0
    force = model.simulate(oscillation(0.5 * zmax, 100_000))[:, 0]
    assert force.max() < 0.5 * F
    # between equal ends it settles about zero, a quarter of zmax from where it began
    assert model.displacement[0] == pytest.approx(-0.25 * zmax, rel=0.1)


def test_a_reset_integrator_that_has_slipped_sticks_at_rest_in_every_direction() -> None:
    """A displacement that was shortened to F/s0 has this length but for rounding, which is no sliding."""
    for direction in np.random.default_rng(0).normal(size=(30, 3)):
        model = ResetIntegratorModel(COULOMB, bristle_stiffness=S0, bristle_damping=0.0, period=T, dimension=3)
        for _ in range(3):
            model.step(0.1 * direction)
        assert not model.sticking
        model.step(np.zeros(3))
        assert model.sticking and not model.sliding_velocity.any()
        assert np.linalg.norm(model.force) == pytest.approx(F, rel=10 * EPS)


@pytest.mark.parametrize("gain", [0.0, 0.3])
def test_the_reset_integrator_saturates(gain: float) -> None:
    damping, speed = 50.0, 0.01
    model = ResetIntegratorModel(COULOMB, bristle_stiffness=S0, bristle_damping=damping, stiction_gain=gain, period=T)
    force = model.simulate(np.full((20, 1), speed))[:, 0]
    z = T * speed * np.arange(1, 21)
    inside = z < F / S0 * (1 - 1e-9)
    np.testing.assert_allclose(force[inside], S0 * (1.0 + gain) * z[inside] + damping * speed, rtol=1e-12)
    assert 0 < np.count_nonzero(inside) < 10
    np.testing.assert_allclose(force[~inside], F, rtol=2 * EPS)
    np.testing.assert_allclose(model.displacement, F / S0, rtol=2 * EPS)
    assert not model.sticking
    # the way back begins at once
    assert model.step([-speed])[0] == pytest.approx(S0 * (1.0 + gain) * (F / S0 - T * speed) - damping * speed)
    assert model.sticking


@pytest.mark.parametrize("creep", [0.0, 8.0])
def test_hayward_and_armstrongs_spring_has_a_longest_length(creep: float, motion: Motion) -> None:
    model = HaywardArmstrongModel(COULOMB, bristle_stiffness=2e3, creep_exponent=creep, period=T, dimension=3)
    reached = 0.0
    for u in motion(600, 3):
        force = model.step(u)
        bend = float(np.linalg.norm(model.displacement))
        reached = max(reached, bend)
        assert bend <= F / 2e3 * (1 + 4 * EPS)
        np.testing.assert_allclose(force, 2e3 * model.displacement, rtol=2 * EPS)
    assert reached == pytest.approx(F / 2e3, rel=4 * EPS)


def test_without_creep_hayward_and_armstrongs_is_model_c_without_damping(motion: Motion) -> None:
    velocities = motion(600, 3)
    ours = HaywardArmstrongModel(COULOMB, bristle_stiffness=2e3, period=T, dimension=3)
    model_c = ModelC(COULOMB, stiffness=2e3, damping=0.0, period=T, dimension=3)
    np.testing.assert_allclose(ours.simulate(velocities), model_c.simulate(velocities), rtol=0, atol=1000 * EPS * F)
    np.testing.assert_allclose(ours.displacement, model_c.displacement, rtol=0, atol=1000 * EPS * F / 2e3)
    assert ours.dissipated_energy == pytest.approx(model_c.dissipated_energy, rel=1e-12)


def test_stuck_mass_of_karnopp_keeps_its_velocity_by_default() -> None:
    for zero in (False, True):
        model = KarnoppModel(COULOMB, mass=M, zero_velocity=zero, **THRESHOLD)
        model.reset(velocity=[0.04])
        velocities = model.simulate(np.full((100, 1), 5.0))
        np.testing.assert_array_equal(velocities, np.full((100, 1), 0.0 if zero else 0.04))
        assert model.sticking


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [1, 3])
def test_karnopps_static_set_ends_at_the_breakaway_force(dimension: int) -> None:
    direction = np.array([0.48, -0.6, 0.64]) if dimension == 3 else np.array([-1.0])
    model = KarnoppModel(FALLING, mass=M, zero_velocity=True, dimension=dimension, **THRESHOLD)
    for factor, inside in ((0.999, True), (1.001, False)):
        model.reset(velocity=0.01 * direction)
        v = model.step(factor * 1.5 * F * direction)
        assert model.sticking is inside
        f = min(factor, 1.0) * 1.5 * F * direction
        np.testing.assert_allclose(model.friction_force, f, rtol=10 * EPS)
        expected = 0.0 * direction if inside else (0.01 + T / M * 0.001 * 1.5 * F) * direction
        np.testing.assert_allclose(v, expected, rtol=1e-12, atol=0)


def test_quinn_and_the_regularised_force_creep_and_decay_as_stated() -> None:
    eps = THRESHOLD["velocity_threshold"]
    decay = 1.0 - T * F / (M * eps)
    quinn = QuinnModel(COULOMB, mass=M, **THRESHOLD)
    quinn.reset(velocity=[1e-3])
    np.testing.assert_allclose(
        quinn.simulate(np.full((50, 1), 4.0))[:, 0], 1e-3 * decay ** np.arange(1, 51), rtol=1e-12
    )
    creeping = WithMass(RegularizedCoulombModel(COULOMB, **THRESHOLD), mass=M)
    assert creeping.simulate(np.full((1000, 1), 4.0))[-1, 0] == pytest.approx(eps * 4.0 / F, rel=1e-12)


def test_a_karnopp_mass_behind_a_spring() -> None:
    model = WithCompliance(KarnoppModel(COULOMB, mass=M, **THRESHOLD), stiffness=500.0, damping=20.0)
    bare = KarnoppModel(COULOMB, mass=M, **THRESHOLD)
    stretch, v = 0.0, 0.0
    for _ in range(300):
        force = model.step([0.1])[0]
        stretch += T * (0.1 - v)
        expected = 500.0 * stretch + 20.0 * (0.1 - v)
        assert force == pytest.approx(expected, rel=1e-9)
        v = bare.step([expected])[0]
    assert v > 0.05
    np.testing.assert_allclose(model.state["velocity"], v, rtol=1e-9)


@pytest.mark.parametrize("name", IMPEDANCES)
def test_behind_a_mass_it_takes_its_force_of_the_step_before(name: str) -> None:
    bare, coupled = IMPEDANCES[name](), WithMass(IMPEDANCES[name](), mass=M)  # type: ignore[arg-type]
    u, f = 0.0, 0.0
    for h in 20.0 * np.sin(0.1 * np.arange(200)):
        u += T / M * (h - f)
        assert coupled.step([h])[0] == pytest.approx(u, rel=1e-9, abs=1e-12)
        f = bare.step([u])[0]
