"""Batches of elements, and elements in parallel: bits, closed forms of Iwan and Masing, many elements, errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from haptic_friction import (
    AnisotropicLaw,
    Batch,
    CoulombLaw,
    DahlModel,
    FrictionModel,
    ImpedanceModel,
    ModelA,
    ModelB,
    ModelC,
    ModelD,
    ParallelElements,
    StribeckLaw,
    TableLaw,
    ViscousCoulombLaw,
    WithCompliance,
    WithMass,
)
from haptic_friction.classical.thresholds import RegularizedCoulombModel

T = 1e-3
Make = Callable[[float, int], FrictionModel]

#: models with all parameters depending on a scale, and on the dimension
MODELS: dict[str, Make] = {
    "A": lambda s, n: ModelA(CoulombLaw(4.0 * s), mass=2.0 / s, period=T, dimension=n),
    "B": lambda s, n: ModelB(CoulombLaw(4.0 * s), mass=0.1 / s, stiffness=6e3 * s, damping=10.0, period=T, dimension=n),
    "C": lambda s, n: ModelC(CoulombLaw(4.0 * s), stiffness=6e3 * s, damping=10.0 / s, period=T, dimension=n),
    "D": lambda s, n: ModelD(CoulombLaw(4.0 * s), mass=2.0 / s, stiffness=6e3 * s, damping=10.0, period=T, dimension=n),
    "C of a viscous law": lambda s, n: ModelC(
        ViscousCoulombLaw(4.0 * s, viscosity=3.0 * s), stiffness=6e3, damping=0.0, period=T, dimension=n
    ),
    "C of Stribeck's law": lambda s, n: ModelC(
        StribeckLaw(4.0 * s, static_force=5.0 * s, stribeck_velocity=0.1),
        stiffness=6e3,
        damping=50.0,
        period=T,
        dimension=n,
    ),
    "C of a table": lambda s, n: ModelC(
        TableLaw([0.0, 0.1, 0.2], [4.0 * s, 3.0 * s, 3.5]), stiffness=6e3, damping=50.0, period=T, dimension=n
    ),
    "C with a mass": lambda s, n: WithMass(
        ModelC(CoulombLaw(4.0 * s), stiffness=6e3 * s, damping=10.0, period=T, dimension=n), mass=1.0 / s
    ),
    "A with a spring": lambda s, n: WithCompliance(
        ModelA(CoulombLaw(4.0 * s), mass=2.0 / s, period=T, dimension=n), stiffness=6e3 * s, damping=50.0
    ),
}
SCALES = (1.0, 0.5, 2.0, 3.0)


def inputs_of(model: FrictionModel, motion: Callable[..., np.ndarray], seed: int, steps: int = 300) -> np.ndarray:
    """Velocities that slide, turn, rest and stick, or forces of which half are above the friction force."""
    scale = 1.0 if model.kind == "impedance" else 40.0
    return scale * motion(steps, model.dimension, seed)


# Batches


@pytest.mark.parametrize("dimension", [1, 2])
@pytest.mark.parametrize("name", MODELS)
def test_a_batch_equals_independent_elements_bit_for_bit(
    name: str, dimension: int, motion: Callable[..., np.ndarray]
) -> None:
    alone = [MODELS[name](scale, dimension) for scale in SCALES]
    batch = Batch([MODELS[name](scale, dimension) for scale in SCALES])
    inputs = np.stack([inputs_of(model, motion, seed) for seed, model in enumerate(alone)])
    for part in (slice(120, 300), slice(0, 120)):  # the state goes over from one call to the next
        outputs = batch.simulate(inputs[:, part])
        for place, model in enumerate(alone):
            np.testing.assert_array_equal(outputs[place], model.simulate(inputs[place, part]))
    for place, model in enumerate(alone):
        for row, value in model.state.items():
            np.testing.assert_array_equal(batch.row(row)[place], value, err_msg=row)
        assert (batch.sticking[place], batch.dissipated_energy[place]) == (model.sticking, model.dissipated_energy)
    assert len({row.tobytes() for row in outputs}) == len(SCALES)  # they do differ


def test_steps_are_the_simulation_bit_for_bit(motion: Callable[..., np.ndarray]) -> None:
    stepped, simulated = (Batch([MODELS["C"](scale, 2) for scale in SCALES]) for _ in range(2))
    inputs = np.stack([motion(200, 2, seed) for seed in range(len(SCALES))])
    expected = simulated.simulate(inputs)
    for k in range(200):
        np.testing.assert_array_equal(stepped.step(inputs[:, k]), expected[:, k])
    np.testing.assert_array_equal(stepped.states, simulated.states)


def test_copies_of_one_model_start_from_its_state(motion: Callable[..., np.ndarray]) -> None:
    model = MODELS["C"](1.0, 1)
    model.simulate(motion(100, 1))
    batch = Batch(model, count=3)
    assert len(batch) == 3 and (batch.row("displacement") == model.displacement).all()
    assert (batch.sticking == model.sticking).all() and not batch.dissipated_energy.any()
    inputs = motion(50, 1, 7)
    outputs = batch.simulate(np.stack([inputs, inputs, -inputs]))
    np.testing.assert_array_equal(outputs[0], model.simulate(inputs))
    np.testing.assert_array_equal(outputs[0], outputs[1])
    assert (outputs[2] != outputs[0]).any()


def test_a_batch_leaves_its_models_alone(motion: Callable[..., np.ndarray]) -> None:
    models = [MODELS["C"](scale, 1) for scale in SCALES]
    Batch(models).simulate(np.stack([motion(50, 1, seed) for seed in range(len(SCALES))]))
    assert not any(model.displacement.any() or model.force.any() for model in models)


@pytest.mark.slow
def test_100_000_elements_with_parameters_of_their_own() -> None:
    count, steps = 100_000, 20
    random = np.random.default_rng(3)
    forces, stiffnesses = random.uniform(1.0, 10.0, count), random.uniform(1e3, 1e5, count)
    batch = Batch(
        [ModelC(CoulombLaw(F), stiffness=K, damping=0.0, period=T) for F, K in zip(forces, stiffnesses, strict=True)]
    )
    velocity = random.uniform(-0.3, 0.3, (count, steps))
    outputs = batch.simulate(velocity[:, :, None])[:, :, 0]
    # (38) with B = 0 and Coulomb's law: the spring's force, cut at F
    force = np.zeros(count)
    for k in range(steps):
        force = np.clip(force + stiffnesses * T * velocity[:, k], -forces, forces)
        np.testing.assert_allclose(outputs[:, k], force, rtol=1e-9, atol=1e-12)
    assert 0.1 < batch.sticking.mean() < 0.9


def test_an_empty_input_is_no_step() -> None:
    batch = Batch(MODELS["C"](1.0, 2), count=3)
    assert batch.simulate(np.empty((3, 0, 2))).shape == (3, 0, 2)
    assert not batch.states.any()


# Errors of batches


@pytest.mark.parametrize(
    ("models", "count", "message"),
    [
        ([], None, "expected one model and a count from 1, or a sequence of models"),
        ([MODELS["C"](1.0, 1), MODELS["C"](1.0, 1)], 2, "expected one model and a count"),
        (MODELS["C"](1.0, 1), 0, "expected one model and a count"),
        ([MODELS["C"](1.0, 1), MODELS["A"](1.0, 1)], None, r"expected elements of one model.*ModelC.*ModelA"),
        ([MODELS["C"](1.0, 1), MODELS["C"](1.0, 2)], None, "expected elements of one model, kind of law, dimension"),
        ([MODELS["C"](1.0, 1), MODELS["C of Stribeck's law"](1.0, 1)], None, "expected elements of one model, kind"),
        (
            [MODELS["C"](1.0, 1), ModelC(CoulombLaw(4.0), stiffness=6e3, damping=10.0, period=2e-3)],
            None,
            "dimension and period",
        ),
        (
            [
                ModelC(TableLaw(np.linspace(0.0, 1.0, n), np.full(n, 4.0)), stiffness=6e3, damping=0.0, period=T)
                for n in (2, 3)
            ],
            None,
            "expected elements of one model, kind of law",
        ),
        ([MODELS["C with a mass"](1.0, 1), MODELS["C"](1.0, 1)], None, "expected elements of one model"),
    ],
)
def test_elements_that_cannot_share_a_loop_are_refused(
    models: FrictionModel | Sequence[FrictionModel], count: int | None, message: str
) -> None:
    with pytest.raises(ValueError, match=rf"^models: .*{message}"):
        Batch(models, count)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (np.zeros((2, 5, 2)), r"^velocity: expected shape \(3, n, 2\), got \(2, 5, 2\)"),
        (np.zeros((3, 5, 1)), r"^velocity: expected shape \(3, n, 2\), got \(3, 5, 1\)"),
        (np.zeros((3, 2)), r"^velocity: expected shape \(3, n, 2\), got \(3, 2\)"),
        (np.full((3, 5, 2), np.nan), "^velocity: expected finite numbers"),
        (np.where(np.arange(30).reshape(3, 5, 2) == 29, np.inf, 0.1), "^velocity: expected finite numbers"),
    ],
)
def test_bad_input_leaves_the_states_untouched(inputs: np.ndarray, message: str) -> None:
    batch = Batch([MODELS["C"](scale, 2) for scale in SCALES[:3]])
    batch.simulate(np.full((3, 10, 2), 0.1))
    before = (batch.states.copy(), batch.sticking.copy(), batch.dissipated_energy.copy())
    with pytest.raises(ValueError, match=message):
        batch.simulate(inputs)
    for now, then in zip((batch.states, batch.sticking, batch.dissipated_energy), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_a_step_of_a_wrong_shape_is_refused() -> None:
    batch = Batch(MODELS["A"](1.0, 2), count=3)
    for values in (np.zeros(2), np.zeros((3, 1)), np.zeros((2, 2)), np.zeros((3, 1, 2))):
        with pytest.raises(ValueError, match=r"^force: expected shape"):
            batch.step(values)
    assert not batch.states.any()


def test_a_row_that_is_not_there_is_an_error() -> None:
    with pytest.raises(
        ValueError, match=r"^row: expected one of velocity, force, displacement, sliding_velocity, got 'flux'"
    ):
        Batch(MODELS["C"](1.0, 1), count=2).row("flux")


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


def test_what_is_read_is_a_copy() -> None:
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


def test_a_batch_of_differently_coupled_models_is_refused() -> None:
    law = CoulombLaw(1.0)
    spring = ModelC(law, stiffness=1e3, damping=1.0, period=1e-3)
    bristle = DahlModel(law, bristle_stiffness=1e3, period=1e-3)
    with pytest.raises(ValueError, match=r"models: expected elements of one model"):
        Batch([WithMass(spring, mass=1.0), WithMass(bristle, mass=1.0)])
