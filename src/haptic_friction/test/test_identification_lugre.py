"""Identification of LuGre: an independent solution of its differential equation, intervals, invariances, refusals."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from identification_cases import coverage, noise
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from haptic_friction import CoulombLaw, Identification, LuGreModel, StribeckLaw, identify_lugre
from haptic_friction.identification import lugre

T, SAMPLES = 1e-3, 4000
#: parameters of a steel contact at hand speeds, those of the law first
TRUE = {
    "kinetic_force": 4.0,
    "static_force": 5.5,
    "stribeck_velocity": 0.02,
    "viscosity": 5.0,
    "bristle_stiffness": 2e4,
    "bristle_damping": 60.0,
}
COULOMB = {"force": 4.0, "bristle_stiffness": 2e4, "bristle_damping": 60.0}


def strokes(dimension: int = 1) -> np.ndarray:
    """Velocity of strokes up to 60 mm/s with a tremor, (SAMPLES, dimension)."""
    time = T * np.arange(SAMPLES)[:, None] + np.array([0.1, 0.12])[:dimension]
    slow = np.sin(2.0 * np.pi * 2.3 * time) * np.sin(2.0 * np.pi * 0.31 * time + 0.3)
    return 0.06 * slow + 0.002 * np.sin(2.0 * np.pi * 9.0 * time)


@cache
def ode_force(law: str, dimension: int) -> np.ndarray:
    """Force of the printed equations z' = u - s0 |u| z/g, f = s0 z + s1 z' + s2 u, with u linear between samples."""
    u = strokes(dimension)
    time = T * np.arange(SAMPLES)
    s0, s1 = TRUE["bristle_stiffness"], TRUE["bristle_damping"]
    s2 = TRUE["viscosity"] if law == "stribeck" else 0.0
    excess = TRUE["static_force"] - TRUE["kinetic_force"] if law == "stribeck" else 0.0

    def rate(velocity: np.ndarray, z: np.ndarray) -> np.ndarray:
        speed = np.linalg.norm(velocity, axis=-1, keepdims=True)
        g = TRUE["kinetic_force"] + excess * np.exp(-((speed / TRUE["stribeck_velocity"]) ** 2))
        return velocity - s0 * speed * z / g

    def at(t: float) -> np.ndarray:
        return np.array([np.interp(t, time, component) for component in u.T])

    found = solve_ivp(
        lambda t, z: rate(at(t), z),
        (0.0, time[-1]),
        np.zeros(dimension),
        method="LSODA",
        rtol=1e-9,
        atol=1e-14,
        t_eval=time,
        max_step=T,
    )
    z = found.y.T
    return s0 * z + s1 * rate(u, z) + s2 * u


def rendered(law: str = "stribeck") -> tuple[np.ndarray, np.ndarray]:
    """Velocity and force of the library's own model, stepped at T."""
    u = strokes()
    dry = StribeckLaw(4.0, static_force=5.5, stribeck_velocity=0.02) if law == "stribeck" else CoulombLaw(4.0)
    s2 = TRUE["viscosity"] if law == "stribeck" else 0.0
    return u, LuGreModel(dry, bristle_stiffness=2e4, bristle_damping=60.0, viscosity=s2, period=T).simulate(u)


@pytest.mark.slow
@pytest.mark.parametrize("law, dimension", [("stribeck", 1), ("stribeck", 2), ("coulomb", 1)])
def test_parameters_of_the_differential_equation_are_found(law: str, dimension: int) -> None:
    part = slice(700, None)  # the deflection at its start is unknown
    found = identify_lugre(strokes(dimension)[part], ode_force(law, dimension)[part], period=T, law=law)
    known = TRUE if law == "stribeck" else COULOMB
    assert not found.not_identified and set(found.estimates) == set(known)
    for name, value in known.items():
        # substeps of T/4 and T/8, extrapolated: 1e-5 of the force are left, 1e-4 of s1 and s2
        assert found.estimates[name].value == pytest.approx(value, rel=3e-4), name
    assert found.residual_rms < 5e-5
    assert (found.period, found.dimension, found.samples) == (T, dimension, SAMPLES - 700)


def test_one_step_a_sample_finds_the_parameters_of_a_rendered_force() -> None:
    u, f = rendered()
    found = identify_lugre(u[500:], f[500:], period=T, substeps=1)
    for name, value in TRUE.items():
        assert found.estimates[name].value == pytest.approx(value, rel=1e-5), name
        assert found.estimates[name].contains(value)
    np.testing.assert_allclose(found.lugre_model().simulate(u), f, atol=1e-4)
    np.testing.assert_allclose(found.friction_law().force([0.05]), [4.0 + 1.5 * np.exp(-6.25) + 0.25], rtol=1e-5)


def test_one_step_a_sample_takes_half_a_period_of_stiffness_off_the_damping_of_a_measured_force() -> None:
    """Implicit Euler gives z_k - z_(k-1) for T z' at the end: s0 T/2 z' is too little of s0 z, so s1 is wrong by it."""
    found = identify_lugre(strokes(), ode_force("coulomb", 1), period=T, law="coulomb", substeps=1)
    shift = found.estimates["bristle_damping"].value - 60.0
    assert abs(shift) == pytest.approx(0.5 * TRUE["bristle_stiffness"] * T, rel=0.3)


# Intervals


@pytest.mark.slow
@pytest.mark.parametrize(
    "law, correlation, trials",
    [
        ("coulomb", 0.0, 20),
        pytest.param("stribeck", 0.0, 30, marks=pytest.mark.slow),
        pytest.param("stribeck", 0.9, 30, marks=pytest.mark.slow),
    ],
)
def test_coverage_of_lugre(law: str, correlation: float, trials: int) -> None:
    u, force = strokes(), ode_force(law, 1)

    def identify(random: np.random.Generator) -> Identification:
        return identify_lugre(u, force + noise(random, force, 0.05, correlation), period=T, law=law)

    coverage(trials, TRUE if law == "stribeck" else COULOMB, identify)


# Invariances


def test_units_of_force_and_time_scale_the_parameters() -> None:
    u, f = rendered()
    f = f + noise(np.random.default_rng(1), f, 0.02, 0.5)
    base = identify_lugre(u, f, period=T, substeps=1).estimates
    powers = {"viscosity": (1, 1), "bristle_damping": (1, 1), "stribeck_velocity": (0, -1)}
    scaled = identify_lugre(u / 3.0, 2.0 * f, period=3.0 * T, minimum_speed=0.01 / 3.0, substeps=1).estimates
    for name, estimate in base.items():
        force, time = powers.get(name, (1, 0))
        for end in ("value", "low", "high"):
            expected = getattr(estimate, end) * 2.0**force * 3.0**time
            assert getattr(scaled[name], end) == pytest.approx(expected, rel=1e-4), name


@pytest.mark.slow
def test_a_rotated_frame_gives_the_same_parameters() -> None:
    u, f = strokes(2), ode_force("stribeck", 2)
    f = f + noise(np.random.default_rng(2), f, 0.02, 0.0)
    turn = Rotation.from_euler("z", 0.7).as_matrix()[:2, :2]
    first, second = (identify_lugre(u @ R, f @ R, period=T).estimates for R in (np.eye(2), turn))
    for name, estimate in first.items():
        assert second[name].value == pytest.approx(estimate.value, rel=1e-4), name


# Parameters that a record does not determine, and refused input


def test_a_record_that_only_slides_has_no_bristle() -> None:
    time = T * np.arange(SAMPLES)
    u = 0.1 + 0.05 * np.sin(5.0 * time)
    found = identify_lugre(u, 4.0 + 5.0 * u, period=T, law="viscous_coulomb")
    assert set(found.estimates) == {"force", "viscosity"}
    reason = "0 samples stick (expected 20 or more)"
    assert found.not_identified == {"bristle_stiffness": reason, "bristle_damping": reason}
    with pytest.raises(ValueError, match=r"^bristle_stiffness: not identified \(0 samples stick"):
        found.lugre_model()


def test_at_one_sliding_speed_only_the_sum_of_the_dampings_is_known() -> None:
    time = T * np.arange(SAMPLES)
    u = np.where(time % 1.0 < 0.5, 0.05, 4e-4 * np.cos(2.0 * np.pi * 20.0 * time))
    model = LuGreModel(CoulombLaw(4.0), bristle_stiffness=2e4, bristle_damping=60.0, viscosity=5.0, period=T)
    found = identify_lugre(u, model.simulate(u[:, None]), period=T, law="viscous_coulomb", substeps=1)
    assert set(found.estimates) == {"bristle_stiffness"}
    assert "only g = 4." in found.not_identified["force"]
    assert "of the damping only s1 + s2 = " in found.not_identified["bristle_damping"]


def test_fast_motion_within_the_elastic_range_does_not_slide() -> None:
    time = T * np.arange(SAMPLES)
    u = (0.02 * np.sin(2.0 * np.pi * 100.0 * time))[:, None]  # 64 um of the 200 um to break away
    model = LuGreModel(CoulombLaw(4.0), bristle_stiffness=2e4, bristle_damping=5.0, period=T)
    with pytest.raises(ValueError, match=r"^velocity: nothing slides"):
        identify_lugre(u, model.simulate(u), period=T, law="coulomb", substeps=1)


def test_slow_motion_does_not_slide() -> None:
    u, f = rendered()
    with pytest.raises(ValueError, match=r"^velocity: nothing slides, 0 samples above minimum_speed"):
        identify_lugre(0.1 * u, f, period=T)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"law": "dahl"}, "law: expected one of"),
        ({"period": 0.0}, "period: expected a finite number above 0 [s]"),
        ({"substeps": 0}, "substeps: expected a whole number from 1, got 0"),
        ({"substeps": 1.5}, "substeps: expected a whole number from 1, got 1.5"),
        ({"velocity": np.zeros((10, 1))}, "force: expected the shape of velocity (10, 1)"),
        ({"force": np.full((SAMPLES, 1), np.nan)}, "force: expected finite numbers [N]"),
    ],
)
def test_unusable_input_is_refused_by_name(options: dict[str, Any], message: str) -> None:
    u, f = rendered()
    with pytest.raises(ValueError) as caught:
        identify_lugre(**({"velocity": u, "force": f, "period": T} | options))
    assert str(caught.value).startswith(message) and "\n" not in str(caught.value)


def test_search_starts_from_the_deflection_at_the_first_force() -> None:
    """Of multiples of the stiffness of sticking the one that fits best: here 2.5."""
    part: Any = SimpleNamespace(solution=SimpleNamespace(theta=np.array([2.0])), law="coulomb")
    force = np.array([[0.5, -1.0], [0.0, 0.0]])

    def response(values: np.ndarray) -> np.ndarray:
        return force + abs(values[1] - 2.5e4)

    found = lugre._start(part, force, (1e4, 20.0), response)
    np.testing.assert_allclose(found, [2.0, 2.5e4, 20.0, 0.5 / 2.5e4, -1.0 / 2.5e4])
