"""Batches of elements: equality with single models bit for bit, many elements, errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from batch_cases import MODELS, SCALES, T, inputs_of

from haptic_friction import Batch, CoulombLaw, DahlModel, FrictionModel, ModelC, TableLaw, WithMass

# Batches


@pytest.mark.slow
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


def test_a_batch_of_differently_coupled_models_is_refused() -> None:
    law = CoulombLaw(1.0)
    spring = ModelC(law, stiffness=1e3, damping=1.0, period=1e-3)
    bristle = DahlModel(law, bristle_stiffness=1e3, period=1e-3)
    with pytest.raises(ValueError, match=r"models: expected elements of one model"):
        Batch([WithMass(spring, mass=1.0), WithMass(bristle, mass=1.0)])
