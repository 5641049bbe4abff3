"""Elements in parallel: closed forms of Iwan and Masing, state, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from batch_cases import MODELS, SCALES, Make, T

from haptic_friction import AnisotropicLaw, CoulombLaw, ImpedanceModel, ModelC, ParallelElements
from haptic_friction.classical.thresholds import RegularizedCoulombModel

# Elements in parallel

#: a first-loading curve: displacements [m] and forces [N]
CURVE = np.array([5e-5, 1e-4, 2e-4, 4e-4, 8e-4]), np.array([1.2, 2.0, 3.0, 3.7, 4.0])


def loading(x: np.ndarray) -> np.ndarray:
    """L(x), odd."""
    return np.sign(x) * np.interp(np.abs(x), [0.0, *CURVE[0]], [0.0, *CURVE[1]])


def curved(damping_time: float = 0.0, dimension: int = 1) -> ParallelElements:
    return ParallelElements.from_loading_curve(*CURVE, damping_time=damping_time, period=T, dimension=dimension)


def moved(elements: ParallelElements, start: float, end: float, steps: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Displacement and force on a straight way."""
    x = np.linspace(start, end, steps + 1)
    return x[1:], elements.simulate(np.diff(x)[:, None] / T)[:, 0]


def test_the_forces_of_the_elements_add(motion: Callable[..., np.ndarray]) -> None:
    def elements() -> list[ImpedanceModel]:
        return [
            ModelC(CoulombLaw(F), stiffness=K, damping=B, period=T, dimension=2)
            for F, K, B in ((1.0, 1e3, 0.0), (2.0, 8e3, 5.0), (0.5, 4e4, 20.0))
        ]

    parallel, alone, velocities = ParallelElements(elements()), elements(), motion(300, 2)
    total = np.sum([model.simulate(velocities) for model in alone], axis=0)
    np.testing.assert_allclose(parallel.simulate(velocities[:200]), total[:200], rtol=0, atol=1e-14 * 3.5)
    for velocity, expected in zip(velocities[200:], total[200:], strict=True):
        np.testing.assert_allclose(parallel.step(velocity), expected, rtol=0, atol=1e-14 * 3.5)
    np.testing.assert_array_equal(parallel.velocity, velocities[-1])
    np.testing.assert_allclose(parallel.force, total[-1], atol=1e-13)
    np.testing.assert_array_equal(parallel.force, parallel.friction_force)
    np.testing.assert_array_equal(parallel.displacement, np.concatenate([model.displacement for model in alone]))
    assert parallel.sticking == any(model.sticking for model in alone)
    assert parallel.dissipated_energy == pytest.approx(sum(model.dissipated_energy for model in alone), rel=1e-14)


def test_first_loading_follows_the_curve_and_then_slides() -> None:
    for sign in (1.0, -1.0):
        elements = curved()
        x, force = moved(elements, 0.0, sign * 1.2e-3, 1200)
        np.testing.assert_allclose(force, loading(x), rtol=0, atol=1e-12)
        assert not elements.sticking and elements.sliding_velocity[0] == elements.velocity[0] != 0.0


def test_the_elements_of_a_curve_are_its_losses_of_slope() -> None:
    elements = curved(damping_time=2e-3)
    slopes = np.diff([0.0, *CURVE[1]]) / np.diff([0.0, *CURVE[0]])
    stiffness = -np.diff([*slopes, 0.0])
    expected = [
        ModelC(CoulombLaw(K * e), stiffness=K, damping=2e-3 * K, period=T)
        for K, e in zip(stiffness, CURVE[0], strict=True)
    ]
    x = np.random.default_rng(5).uniform(-0.5, 0.5, (200, 1))
    total = np.sum([model.simulate(x) for model in expected], axis=0)
    np.testing.assert_allclose(elements.simulate(x), total, rtol=0, atol=1e-12)
    assert (stiffness * CURVE[0]).sum() == pytest.approx(CURVE[1][-1])


@pytest.mark.parametrize("amplitude", [3e-5, 1.5e-4, 3e-4, 1e-3])
def test_masings_rule_a_loop_is_the_curve_doubled(amplitude: float) -> None:
    elements = curved()
    moved(elements, 0.0, amplitude)
    for start in (amplitude, -amplitude, amplitude):
        anchor = elements.force[0]
        x, force = moved(elements, start, -start)
        np.testing.assert_allclose(force, anchor - 2.0 * loading((start - x) / 2.0), rtol=0, atol=1e-12)
        assert force[-1] == pytest.approx(-anchor, abs=1e-12)


@pytest.mark.parametrize("amplitude", [3e-5, 1.5e-4, 3e-4, 1e-3])
def test_a_cycle_takes_the_energy_of_the_elements_that_slip(amplitude: float) -> None:
    elements = curved()
    moved(elements, 0.0, amplitude, 2000)
    before, work = elements.dissipated_energy, 0.0
    force = elements.force[0]
    for start in (amplitude, -amplitude):
        x, forces = moved(elements, start, -start, 4000)
        ends = np.concatenate(([force], forces))
        work += float(np.sum(0.5 * (ends[1:] + ends[:-1]) * np.diff(np.concatenate(([start], x)))))
        force = forces[-1]
    slopes = np.diff([0.0, *CURVE[1]]) / np.diff([0.0, *CURVE[0]])
    stiffness = -np.diff([*slopes, 0.0])
    closed_form = float((4.0 * stiffness * CURVE[0] * np.maximum(amplitude - CURVE[0], 0.0)).sum())
    # an element's last step before it slips takes up to K dx^2 of each of its kinks; dx is 1/2000 of the amplitude
    assert work == pytest.approx(closed_form, rel=1e-3, abs=1e-15)
    assert elements.dissipated_energy - before == pytest.approx(closed_form, rel=1e-3, abs=1e-15)


def test_a_minor_loop_closes_and_is_forgotten() -> None:
    interrupted, straight = curved(), curved()
    for elements in (interrupted, straight):
        moved(elements, 0.0, 1e-3)
        moved(elements, 1e-3, -1e-3)
        moved(elements, -1e-3, 3e-4)
    before = interrupted.displacement
    moved(interrupted, 3e-4, -2e-4)
    moved(interrupted, -2e-4, 3e-4)
    np.testing.assert_allclose(interrupted.displacement, before, rtol=0, atol=1e-16)
    assert interrupted.dissipated_energy > straight.dissipated_energy
    np.testing.assert_allclose(moved(interrupted, 3e-4, 1e-3)[1], moved(straight, 3e-4, 1e-3)[1], rtol=0, atol=1e-12)


def test_without_damping_the_rate_does_not_matter_and_with_it_it_does() -> None:
    for damping_time, differs in ((0.0, False), (5e-3, True)):
        slow, fast = curved(damping_time), curved(damping_time)
        forces = [
            np.concatenate(
                [moved(elements, a, b, steps)[1][steps // 10 - 1 :: steps // 10] for a, b in ((0, 1e-3), (1e-3, 0))]
            )
            for elements, steps in ((slow, 2000), (fast, 200))
        ]
        assert (np.abs(forces[0] - forces[1]).max() > 0.01) == differs


def test_in_the_plane_a_straight_way_is_that_of_one_dimension() -> None:
    plane, line, direction = curved(dimension=2), curved(), np.array([0.6, 0.8])
    for a, b in ((0.0, 9e-4), (9e-4, -3e-4), (-3e-4, 5e-4)):
        velocity = np.diff(np.linspace(a, b, 201))[:, None] / T
        # the length of a vector rounds, so elements may slip by 1e-16 of their displacement more
        expected = line.simulate(velocity) * direction
        np.testing.assert_allclose(plane.simulate(velocity * direction), expected, rtol=0, atol=1e-11)
    assert plane.displacement.shape == (10,)


def test_reset_starts_the_same_run_again(motion: Callable[..., np.ndarray]) -> None:
    elements, velocities = curved(1e-3), 0.1 * motion(200, 1)
    first = elements.simulate(velocities)
    elements.reset()
    assert elements.sticking and elements.dissipated_energy == 0.0
    assert not elements.force.any() and not elements.velocity.any() and not elements.displacement.any()
    np.testing.assert_array_equal(elements.simulate(velocities), first)


def test_properties_are_copies() -> None:
    elements = curved()
    elements.step([0.1])
    for name in ("velocity", "force", "friction_force", "displacement"):
        getattr(elements, name)[:] = 7.0
        assert (getattr(elements, name) != 7.0).all(), name


@pytest.mark.parametrize(
    "make",
    [
        MODELS["B"],
        MODELS["A with a spring"],
        lambda s, n: RegularizedCoulombModel(CoulombLaw(s), velocity_threshold=0.01, period=T),
    ],
    ids=["B", "A with a spring", "regularised"],
)
def test_elements_may_be_of_any_impedance_model(make: Make, motion: Callable[..., np.ndarray]) -> None:
    models, alone = ([make(scale, 1) for scale in SCALES] for _ in range(2))
    elements, velocities = ParallelElements(models), motion(100, 1)  # type: ignore[arg-type]
    total = np.sum([model.simulate(velocities) for model in alone], axis=0)
    np.testing.assert_allclose(elements.simulate(velocities), total, rtol=1e-12)
    np.testing.assert_array_equal(elements.displacement, np.concatenate([model.displacement for model in alone]))


def test_an_anisotropic_law_acts_in_each_element(motion: Callable[..., np.ndarray]) -> None:
    def element(scale: float) -> ModelC:
        law = AnisotropicLaw(scale * np.array([[4.0, 1.0], [1.0, 2.0]]))
        return ModelC(law, stiffness=6e3, damping=1.0, period=T, dimension=2)

    elements, velocities = ParallelElements([element(scale) for scale in SCALES]), motion(200, 2)
    total = np.sum([element(scale).simulate(velocities) for scale in SCALES], axis=0)
    np.testing.assert_allclose(elements.simulate(velocities), total, rtol=0, atol=1e-12)


def test_the_state_of_parallel_elements_can_be_taken_and_given_back() -> None:
    parallel = ParallelElements.from_loading_curve([1e-3, 2e-3], [2.0, 3.0], damping_time=1e-3, period=1e-3)
    motion = 0.5 * np.sin(0.1 * np.arange(60))[:, None]
    parallel.simulate(motion[:20])
    state = parallel.state
    first = parallel.simulate(motion[20:])
    parallel.restore(state)
    np.testing.assert_array_equal(parallel.simulate(motion[20:]), first)
    before = parallel.state
    for bad in (
        {"displacement": np.zeros((1, 1))},
        {"displacement": np.full((2, 1), np.nan)},
        {"bend": np.zeros((2, 1))},
    ):
        with pytest.raises(ValueError, match=r"displacement|bend"):
            parallel.restore({"force": np.ones((2, 1)), **bad})
    for name, value in parallel.state.items():
        np.testing.assert_array_equal(value, before[name])


# Errors of parallel elements


@pytest.mark.parametrize("velocity", [np.zeros((5, 2)), np.zeros(5), np.full((5, 1), np.nan), np.zeros((2, 5, 1))])
def test_bad_velocities_leave_the_elements_untouched(velocity: np.ndarray) -> None:
    elements, untouched = curved(), curved()
    for model in (elements, untouched):
        moved(model, 0.0, 3e-4)
    with pytest.raises(ValueError, match=r"^velocity: expected "):
        elements.simulate(velocity)
    for name in ("velocity", "force", "displacement"):
        np.testing.assert_array_equal(getattr(elements, name), getattr(untouched, name))
    assert elements.dissipated_energy == untouched.dissipated_energy


@pytest.mark.parametrize("velocity", [[0.1, 0.1], 0.1, [], [np.inf]])
def test_a_bad_velocity_of_a_step_is_refused(velocity: Any) -> None:
    elements = curved()
    with pytest.raises(ValueError, match=r"^velocity: expected "):
        elements.step(velocity)
    assert not elements.displacement.any()


def test_admittances_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^elements: expected impedance models \(velocity in, force out\)"):
        ParallelElements([MODELS["A"](1.0, 1)])  # type: ignore[list-item]
    with pytest.raises(ValueError, match=r"^models: expected"):
        ParallelElements([])


@pytest.mark.parametrize(
    ("displacement", "force", "message"),
    [
        ([], [], "^displacement, force: expected one or more finite points each"),
        ([1e-4, 2e-4], [1.0], "^displacement, force: "),
        ([[1e-4, 2e-4]], [[1.0, 1.5]], "^displacement, force: "),
        (1e-4, 1.0, "^displacement, force: "),
        ([1e-4, np.nan], [1.0, 2.0], "^displacement, force: "),
        ([1e-4, 2e-4], [1.0, np.inf], "^displacement, force: "),
        ([0.0, 1e-4], [0.0, 1.0], "^displacement: expected rising values above 0"),
        ([2e-4, 1e-4], [1.0, 2.0], "^displacement: expected rising values above 0"),
        ([1e-4, 2e-4], [1.0, 2.0], "^force: expected a rising, strictly concave curve"),
        ([1e-4, 2e-4], [1.0, 3.0], "^force: "),
        ([1e-4, 2e-4], [1.0, 0.9], "^force: "),
        ([1e-4], [-1.0], "^force: "),
    ],
)
def test_a_curve_that_elements_cannot_follow_is_refused(displacement: Any, force: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ParallelElements.from_loading_curve(displacement, force, period=T)


@pytest.mark.parametrize("damping_time", [-1.0, np.nan, np.inf])
def test_a_bad_damping_time_is_named(damping_time: float) -> None:
    with pytest.raises(ValueError, match=r"^damping_time: expected a finite number, not negative \[s\]"):
        ParallelElements.from_loading_curve(*CURVE, damping_time=damping_time, period=T)
