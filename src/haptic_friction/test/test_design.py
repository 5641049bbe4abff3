"""Design rules of model C: eigenvalues of (63), the limits 1/4 and 0.686, delays against simulations, warnings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from haptic_friction import (
    AnisotropicLaw,
    CoulombLaw,
    FrictionLaw,
    ModelC,
    StribeckLaw,
    WithMass,
    design_model_c,
    evaluate_model_c,
)
from haptic_friction.design import CONVERGENCE_LIMIT, INSTABILITY_LIMIT, model_warning, sticking_matrix

#: masses [kg], stiffnesses [N/m], dampings [N s/m], periods [s]: overdamped, critical, ringing, unstable
CASES = [
    (1.0, 8.3e4, 2.0 * math.sqrt(8.3e4), 1e-3),
    (1.0, 7.5e5, 2.0 * math.sqrt(7.5e5), 1e-3),
    (0.36, 6000.0, 10.0, 1e-3),
    (2.0, 1e5, 0.0, 1e-3),
    (2.0, 1e3, 400.0, 5e-3),
    (0.05, 6000.0, 10.0, 2e-3),
]
IDS = [f"M={M:g} K={K:g} B={B:.0f} T={T:g}" for M, K, B, T in CASES]


def trajectory(M: float, K: float, B: float, T: float, delay: int, steps: int) -> np.ndarray:
    """(e, u) of a mass on a stuck element that starts with 1 m/s, its force `delay` periods later than in (60).

    The element is a `ModelC` that can bear any force; the mass and the queue of forces are written out.
    """
    model = ModelC(CoulombLaw(1e280), stiffness=K, damping=B, period=T)
    u, forces, rows = 1.0, [0.0] * (delay + 1), []
    for _ in range(steps):
        u -= T / M * forces.pop(0)
        forces.append(float(model.step([u])[0]))
        rows.append((float(model.displacement[0]), u))
    return np.array(rows)


def critical(ratio: float, M: float = 2.0, T: float = 1e-3) -> dict[str, float]:
    """Parameters with T^2 K/M = ratio and critical damping."""
    K = ratio * M / (T * T)
    return {"mass": M, "stiffness": K, "damping": 2.0 * math.sqrt(K * M), "period": T}


# The matrix


@pytest.mark.parametrize(("M", "K", "B", "T"), CASES, ids=IDS)
def test_without_delay_the_matrix_is_63_as_printed(M: float, K: float, B: float, T: float) -> None:
    printed = np.array([[1.0 - T**2 * K / M, T - T**2 * B / M], [-T * K / M, 1.0 - T * B / M]])
    matrix = sticking_matrix(mass=M, stiffness=K, damping=B, period=T)
    np.testing.assert_allclose(matrix, printed, rtol=1e-14)
    found = evaluate_model_c(mass=M, stiffness=K, damping=B, period=T)
    # two eigenvalues that nearly coincide split by the square root of the rounding
    np.testing.assert_allclose(
        np.sort_complex(found.eigenvalues), np.sort_complex(np.linalg.eigvals(printed)), atol=1e-7
    )
    assert found.spectral_radius == pytest.approx(np.abs(np.linalg.eigvals(printed)).max(), abs=1e-7)


@pytest.mark.parametrize("delay", [0, 1, 2, 5])
@pytest.mark.parametrize(("M", "K", "B", "T"), CASES, ids=IDS)
def test_powers_of_the_matrix_are_a_simulation_of_the_stuck_element(
    M: float, K: float, B: float, T: float, delay: int
) -> None:
    steps = 30
    matrix = sticking_matrix(mass=M, stiffness=K, damping=B, period=T, delay=delay)
    assert matrix.shape == (2 + delay, 2 + delay)
    expected = trajectory(M, K, B, T, delay, steps)
    states = [np.concatenate((expected[0], np.zeros(delay)))]  # no force is under way after the first step
    for _ in range(steps - 1):
        states.append(matrix @ states[-1])
    predicted = np.array(states)[:, :2]
    scale = np.abs(expected).max(axis=0)
    np.testing.assert_allclose(predicted / scale, expected / scale, rtol=0, atol=1e-11)


@pytest.mark.parametrize(("M", "K", "B", "T"), CASES, ids=IDS)
def test_the_matrix_is_with_mass_of_model_c(M: float, K: float, B: float, T: float) -> None:
    pulled = WithMass(ModelC(CoulombLaw(1e280), stiffness=K, damping=B, period=T), mass=M)
    pulled.reset(velocity=[1.0])
    velocities = pulled.simulate(np.zeros((30, 1)))[:, 0]
    expected = trajectory(M, K, B, T, 0, 30)[:, 1]
    np.testing.assert_allclose(velocities, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("delay", [0, 1, 3])
@pytest.mark.parametrize(("M", "K", "B", "T"), CASES, ids=IDS)
def test_simulation_decays_or_grows_with_the_spectral_radius(
    M: float, K: float, B: float, T: float, delay: int
) -> None:
    found = evaluate_model_c(mass=M, stiffness=K, damping=B, period=T, delay=delay)
    run = np.abs(trajectory(M, K, B, T, delay, 400)).max(axis=1)
    if found.spectral_radius < 0.99:
        assert run[-50:].max() < 0.1 * run[:50].max()
    elif found.spectral_radius > 1.01:
        assert run[-50:].max() > 10.0 * run[:50].max()
    assert found.is_stable == (found.spectral_radius < 1.0)


# The limits


def test_the_limits_are_those_of_the_papers_and_the_errata() -> None:
    assert CONVERGENCE_LIMIT == 0.25
    assert pytest.approx(0.686, abs=5e-4) == INSTABILITY_LIMIT


@pytest.mark.parametrize(
    ("ratio", "monotone", "stable"),
    [
        (0.01, True, True),
        (0.2499, True, True),
        (0.25, True, True),
        (0.2501, False, True),
        (0.685, False, True),
        (0.687, False, False),
        (2.0, False, False),
    ],
)
def test_critical_damping_is_monotone_up_to_a_quarter_and_stable_up_to_0686(
    ratio: float, monotone: bool, stable: bool
) -> None:
    found = evaluate_model_c(**critical(ratio))
    assert (found.is_monotone, found.is_stable) == (monotone, stable)
    assert found.convergence_ratio == pytest.approx(ratio / 0.25)
    assert found.instability_ratio == pytest.approx(ratio / (2.0 * math.sqrt(2.0) - 2.0) ** 2)
    trace, determinant = found.eigenvalues.sum(), found.eigenvalues.prod()
    a, b = ratio, 2.0 * math.sqrt(ratio)  # l^2 - (2 - a - b) l + (1 - b) = 0
    assert (trace.real, determinant.real) == pytest.approx((2.0 - a - b, 1.0 - b), abs=1e-12)


def test_at_the_limit_of_instability_an_eigenvalue_is_minus_one() -> None:
    eigenvalues = evaluate_model_c(**critical(INSTABILITY_LIMIT)).eigenvalues
    assert eigenvalues.real.min() == pytest.approx(-1.0, abs=1e-12)


@pytest.mark.parametrize(("ratio", "oscillates"), [(0.24, False), (0.5, True)])
def test_beyond_a_quarter_the_element_alternates_from_step_to_step(ratio: float, oscillates: bool) -> None:
    p = critical(ratio)
    displacement = trajectory(p["mass"], p["stiffness"], p["damping"], p["period"], 0, 30)[:, 0]
    assert displacement.min() > 0.0 and (np.diff(displacement) > 0.0).any() == oscillates


def test_delay_narrows_what_is_stable() -> None:
    radii = [evaluate_model_c(**critical(0.2), delay=delay).spectral_radius for delay in range(4)]
    assert radii == sorted(radii) and radii[0] < 1.0 < radii[-1]


def test_a_damper_alone_follows_its_delay() -> None:
    """Nearly no spring: u_k = u_(k-1) - b u_(k-1-d), which is unstable from b = 2 without and 1 with one delay."""
    for delay, limit in ((0, 2.0), (1, 1.0)):
        for share, stable in ((0.98, True), (1.02, False)):
            damping = share * limit * 1.0 / 1e-3
            found = evaluate_model_c(mass=1.0, stiffness=1e-6, damping=damping, period=1e-3, delay=delay)
            assert found.is_stable == stable, (delay, share)


# Designs


def test_the_design_is_the_stiffest_monotone_one_over_the_margin() -> None:
    design = design_model_c(mass=0.36, period=1e-3, margin=1.0)
    assert design.stiffness == pytest.approx(0.25 * 0.36 / 1e-6)
    assert design.damping == pytest.approx(2.0 * math.sqrt(design.stiffness * 0.36))
    assert design.is_monotone and design.convergence_ratio == pytest.approx(1.0)
    assert not evaluate_model_c(**critical(1.001 * design.stiffness * 1e-6 / 0.36)).is_monotone
    assert design_model_c(mass=0.36, period=1e-3).stiffness == pytest.approx(design.stiffness / 2.0)
    assert design_model_c(mass=0.36, period=1e-3, margin=8.0).stiffness == pytest.approx(design.stiffness / 8.0)


def test_a_given_stiffness_is_kept_and_critically_damped() -> None:
    design = design_model_c(mass=2.0, period=1e-3, stiffness=1e5)
    assert (design.stiffness, design.damping) == (1e5, pytest.approx(2.0 * 447.2135955))
    assert design.warning == "" and design.delay == 0


def test_good_choice_gives_no_warning() -> None:
    assert evaluate_model_c(mass=2.0, stiffness=1e5, damping=900.0, period=1e-3).warning == ""


@pytest.mark.parametrize(
    ("ratio", "delay", "parts"),
    [
        (0.4, 0, ["oscillates before it rests", "0 ticks of delay", "1.6 times the limit 1/4", "0.583 times 0.686"]),
        (1.0, 0, ["is unstable", "stiffness 2e+06 N/m", "4 times the limit 1/4", "1.46 times 0.686"]),
        (0.2, 3, ["is unstable", "3 ticks of delay", "a mass of 2 kg", "T = 0.001 s"]),
    ],
)
def test_a_warning_is_one_line_with_the_numbers(ratio: float, delay: int, parts: list[str]) -> None:
    found = evaluate_model_c(**critical(ratio), delay=delay)
    assert "\n" not in found.warning
    for part in [*parts, f"spectral radius {found.spectral_radius:.4f}"]:
        assert part in found.warning


# Errors

GOOD: dict[str, Any] = {"mass": 1.0, "stiffness": 1e4, "damping": 100.0, "period": 1e-3}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, value) for name in GOOD for value in (-1.0, math.nan, math.inf)),
        ("mass", 0.0),
        ("stiffness", 0.0),
        ("period", 0.0),
        ("delay", -1),
        ("delay", 0.5),
        ("delay", math.nan),
        ("delay", math.inf),
    ],
)
def test_a_number_out_of_its_range_is_named(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=rf"^{name}: expected .*got {value!r}"):
        evaluate_model_c(**{**GOOD, name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [("mass", 0.0), ("period", math.nan), ("stiffness", 0.0), ("margin", 0.5), ("margin", math.nan)],
)
def test_a_design_names_the_number_that_it_cannot_use(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=rf"^{name}: expected .*got {value!r}"):
        design_model_c(**{"mass": 1.0, "period": 1e-3, name: value})


def test_no_damping_at_all_is_evaluated() -> None:
    found = evaluate_model_c(mass=1.0, stiffness=1e4, damping=0.0, period=1e-3)
    assert not found.is_monotone
    assert found.spectral_radius == pytest.approx(1.0)  # symplectic Euler keeps the energy of a spring


def test_a_model_is_held_against_the_conditions_that_concern_it() -> None:
    law = CoulombLaw(4.0)
    stiff = ModelC(law, stiffness=1e6, damping=2000.0, period=1e-3)
    assert model_warning(stiff) == ""  # whatever it holds is unknown
    assert "is unstable" in model_warning(WithMass(stiff, mass=1.0))
    assert "is unstable" in model_warning(stiff, load_mass=1.0)
    soft = design_model_c(mass=1.0, period=1e-3, margin=100.0)  # 2 K T = 5 N s/m of lag is small against B = 100
    good = ModelC(law, stiffness=soft.stiffness, damping=soft.damping, period=1e-3)
    assert model_warning(WithMass(good, mass=1.0)) == ""
    edge = design_model_c(mass=1.0, period=1e-3, margin=1.0)  # the limit itself: one more tick is too much
    limit = ModelC(law, stiffness=edge.stiffness, damping=edge.damping, period=1e-3)
    assert model_warning(WithMass(limit, mass=1.0)) == ""
    assert "1 ticks of delay" in model_warning(limit, load_mass=1.0)


def test_an_approximated_law_is_held_against_the_accuracy_condition() -> None:
    steep = StribeckLaw(4.0, static_force=5.0, stribeck_velocity=0.05)  # falls by up to 17.2 N s/m

    def warning(law: FrictionLaw, damping: float) -> str:
        return model_warning(ModelC(law, stiffness=6000.0, damping=damping, period=1e-3, dimension=2))

    assert warning(steep, 47.3) == ""
    assert "Z max|g'| = 0.322" in warning(steep.approximated(), 47.3)
    assert "Z max|g'| = 0.11" in warning(steep.approximated(), 150.0)  # the limit is 0.1
    assert warning(steep.approximated(), 185.0) == ""
    assert "anisotropic" in warning(AnisotropicLaw(np.diag([4.0, 1.0]), exact=False), 10.0)
    assert warning(AnisotropicLaw(np.diag([4.0, 4.0]), exact=False), 10.0) == ""
