"""Passivity margin of the LuGre model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from classical_cases import COULOMB, FALLING, S0, S1, VISCOUS, F, Motion, T

from haptic_friction import StribeckLaw
from haptic_friction.classical.bristles import LuGreModel
from haptic_friction.models.model import ImpedanceModel


def least_work(model: ImpedanceModel, velocities: np.ndarray) -> float:
    """The lowest that the work done on the element [J] ever was, the start included."""
    works = model.period * np.sum(model.simulate(velocities) * velocities, axis=1)
    return min(0.0, float(np.cumsum(works).min()))


def torn(viscosity: float) -> LuGreModel:
    return LuGreModel(FALLING, bristle_stiffness=S0, bristle_damping=S1, viscosity=viscosity, period=1e-6)


def test_the_margin_is_that_of_the_ratio_of_static_to_kinetic_force() -> None:
    needed = S1 * 0.5  # s1 (Fs - Fc)/Fc
    assert torn(0.0).passivity_margin() == pytest.approx(-needed, rel=1e-12)
    assert torn(needed).passivity_margin() == pytest.approx(0.0, abs=1e-9)
    constant = LuGreModel(COULOMB, bristle_stiffness=S0, bristle_damping=S1, period=T)
    assert constant.passivity_margin() == pytest.approx(0.0, abs=1e-9)
    undamped = LuGreModel(FALLING, bristle_stiffness=S0, bristle_damping=0.0, viscosity=2.0, period=T)
    assert undamped.passivity_margin() == 2.0


@pytest.mark.parametrize("law", [COULOMB, FALLING, VISCOUS, StribeckLaw(4.0, static_force=6.0, stribeck_velocity=0.1)])
@pytest.mark.parametrize("speed", [0.01, 0.3, 20.0])
def test_the_margin_is_the_least_of_the_bracket(law: Any, speed: float) -> None:
    model = LuGreModel(law, bristle_stiffness=S0, bristle_damping=S1, viscosity=5.0, period=T)
    speeds = np.append(np.logspace(-6, math.log10(speed), 400), speed)
    g = np.array([law.magnitude(s) for s in speeds])
    largest = max(law.breakaway_force, g.max())
    r = np.linspace(0.0, 1.0, 2001)[:, None] * largest / g
    bracket = g * r**2 / speeds + S1 * (1.0 - r) + 5.0
    # a grid misses the least value by its curvature, and by the speeds that it leaves out
    assert model.passivity_margin(speed) == pytest.approx(bracket.min(), abs=0.01 * S1)
    assert model.passivity_margin(speed) >= model.passivity_margin() - 1e-9


def test_the_margin_of_a_law_that_grows_with_the_speed() -> None:
    model = LuGreModel(VISCOUS, bristle_stiffness=S0, bristle_damping=30.0, viscosity=5.0, period=T)
    # z is not bounded: the least value is s1 + s2 - s1^2 |u|/(4 g), with |u|/g below 1/D
    assert model.passivity_margin() == pytest.approx(35.0 - 900.0 / 12.0, rel=1e-9)


def test_lugre_gives_energy_without_its_margin_and_none_with_it() -> None:
    bent = 1.49 * F / S0  # as in slow sliding, where g is nearly 1.5 F
    stored, jerk = 0.5 * S0 * bent**2, np.full((40, 1), 10.0)
    for viscosity, active in ((0.0, True), (0.5 * S1, False)):
        model = torn(viscosity)
        model.reset(displacement=[bent])
        # a passive element gives back no more than it stores
        assert (-least_work(model, jerk) > 10.0 * stored) is active
        assert (model.passivity_margin() < -1e-9) is active


def test_implicit_lugre_with_its_margin_is_passive_at_any_period(motion: Motion) -> None:
    for period in (1e-6, 1e-3, 0.1):
        for scale in (1e-3, 0.1, 10.0):
            model = LuGreModel(
                FALLING, bristle_stiffness=S0, bristle_damping=S1, viscosity=0.5 * S1, period=period, dimension=3
            )
            velocities = scale * motion(600, 3)
            assert model.passivity_margin() >= -1e-9
            works = period * np.sum(model.simulate(velocities) * velocities, axis=1)
            assert np.cumsum(works).min() > -1e-12 * np.abs(works).sum()


@pytest.mark.parametrize("speed", [0.0, -1.0, math.nan])
def test_the_margin_needs_a_speed(speed: float) -> None:
    with pytest.raises(ValueError, match=r"^speed: expected"):
        torn(0.0).passivity_margin(speed)
