"""Models as objects: stepping, state, reset, and refused input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from model_cases import EPS, LAWS, MODELS, STRIBECK, Make, Motion, every_model, observe, values

from haptic_friction import AdmittanceModel, AnisotropicLaw, FrictionLaw, ImpedanceModel

# step and simulate


@pytest.mark.covering
@every_model
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_simulate_gives_the_numbers_of_step_bit_for_bit(
    make: Make, law: FrictionLaw, dimension: int, motion: Motion
) -> None:
    if isinstance(law, AnisotropicLaw):
        dimension = law.dimension
    stepped, simulated = make(law, dimension), make(law, dimension)
    inputs = values(stepped, motion, 400)
    outputs = np.array([stepped.step(x) for x in inputs])
    halves = [simulated.simulate(part) for part in (inputs[:177], inputs[177:])]
    np.testing.assert_array_equal(np.concatenate(halves), outputs)
    # the energy is summed in another order
    assert observe(simulated)[:-1] == observe(stepped)[:-1]
    assert simulated.dissipated_energy == pytest.approx(stepped.dissipated_energy, rel=400 * EPS)


@every_model
def test_simulating_nothing_changes_nothing(make: Make, motion: Motion) -> None:
    model = make()
    model.simulate(values(model, motion, 50))
    before = observe(model)
    assert model.simulate(np.empty((0, 2))).shape == (0, 2)
    assert observe(model) == before


@every_model
def test_any_array_like_is_taken_and_left_as_it_is(make: Make, motion: Motion) -> None:
    inputs = np.round(values(make(), motion, 60) * 50.0)  # whole numbers
    expected = make().simulate(inputs)
    wide = np.zeros((60, 4))
    wide[:, ::2] = inputs
    read_only = inputs.copy()
    read_only.flags.writeable = False
    forms: dict[str, Any] = {
        "list": inputs.tolist(),
        "whole": inputs.astype(int),
        "single": inputs.astype(np.float32),
        "strided": wide[:, ::2],
        "fortran": np.asfortranarray(inputs),
        "backwards": inputs[::-1].copy()[::-1],
        "read only": read_only,
    }
    for name, form in forms.items():
        copy = np.array(form)
        np.testing.assert_array_equal(make().simulate(form), expected, err_msg=name)
        stepped = make()
        np.testing.assert_array_equal([stepped.step(row) for row in form], expected, err_msg=name)
        np.testing.assert_array_equal(form, copy, err_msg=name)


@every_model
def test_arguments_and_results_share_no_memory_with_the_state(make: Make, motion: Motion) -> None:
    model = make()
    inputs = values(model, motion, 30)
    outputs = model.simulate(inputs)
    value = inputs[0].copy()
    output, kept = model.step(value), model.state
    before, restored = observe(model), {name: row.copy() for name, row in kept.items()}
    model.restore(restored)
    taken = (model.displacement, model.friction_force, model.sliding_velocity, *model.state.values())
    for array in (inputs, outputs, value, output, *kept.values(), *restored.values(), *taken):
        array += 1.0
    assert observe(model) == before


def test_the_outputs_of_two_steps_are_two_arrays() -> None:
    model = MODELS["C"]()
    first = model.step([0.1, 0.0])
    kept = first.copy()
    assert not np.array_equal(model.step([-0.1, 0.2]), first)
    np.testing.assert_array_equal(first, kept)


def test_kinds_and_what_they_take() -> None:
    for name in ("A", "D", "mass and B", "mass and C"):
        assert isinstance(MODELS[name](), AdmittanceModel) and MODELS[name]().input_name == "force"
    for name in ("B", "C", "compliance and A", "compliance and D"):
        assert isinstance(MODELS[name](), ImpedanceModel) and MODELS[name]().input_name == "velocity"


# State


@every_model
def test_a_restored_state_reproduces_the_future_bit_for_bit(make: Make, motion: Motion) -> None:
    model = make(STRIBECK)
    inputs = values(model, motion, 400)
    for split in (1, 130, 230):  # sliding, and sticking
        model.simulate(inputs[:split])
        state = model.state
        expected = model.simulate(inputs[split:])
        other = make(STRIBECK)
        other.simulate(inputs[::-3])
        for again in (model, other):
            again.restore(state)
            np.testing.assert_array_equal(again.simulate(inputs[split:]), expected)
        model.reset()


@every_model
def test_clear_sets_the_state_to_zero_and_keeps_energy_and_flag(make: Make, motion: Motion) -> None:
    model = make()
    model.simulate(values(model, motion, 40))
    before, energy, sticking, elastic = model.state, model.dissipated_energy, model.sticking, model.elastic_state
    assert list(elastic) == [name for name in model.rows if name.endswith(("displacement", "stretch"))]
    for name, row in elastic.items():
        np.testing.assert_array_equal(row, before[name])
    model.clear()
    assert not any(row.any() for row in model.state.values())
    assert (model.dissipated_energy, model.sticking) == (energy, sticking)


@every_model
def test_the_rows_have_the_names_that_the_properties_show(make: Make, motion: Motion) -> None:
    model = make()
    inputs = values(model, motion, 40)
    inputs[-1] = [0.3, -0.2]
    output = model.simulate(inputs)[-1]
    assert list(model.state) == list(model.rows)
    assert model.rows[:2] == ("velocity", "force")
    np.testing.assert_array_equal(model.state["force" if model.kind == "impedance" else "velocity"], output)
    if not hasattr(model, "model"):  # the port of a coupled model is inside
        taken = model.state["velocity" if model.kind == "impedance" else "force"]
        np.testing.assert_array_equal(taken, inputs[-1])
    if "sliding_velocity" in model.rows:
        np.testing.assert_array_equal(model.sliding_velocity, model.state["sliding_velocity"])
    assert model.friction_force.any()


def test_the_displacement_is_the_springs_and_that_of_a_rigid_model_zero(motion: Motion) -> None:
    for name, row in {"B": "displacement", "C": "displacement", "D": "displacement"}.items():
        model = MODELS[name]()
        model.simulate(values(model, motion, 40))
        np.testing.assert_array_equal(model.displacement, model.state[row])
        assert model.displacement.any()
    a, soft = MODELS["A"](), MODELS["compliance and D"]()
    for model in (a, soft):
        model.simulate(values(model, motion, 40))
    np.testing.assert_array_equal(a.displacement, [0.0, 0.0])
    # its own compliance; that of model D in it stays in the state
    np.testing.assert_array_equal(soft.displacement, soft.state["stretch"])
    assert np.abs(soft.state["stretch"] - soft.state["displacement"]).max() > 1e-6


@every_model
def test_restore_refuses_unknown_names_and_bad_values_and_changes_nothing(make: Make, motion: Motion) -> None:
    model = make()
    model.simulate(values(model, motion, 50))
    before = observe(model)
    bad: list[tuple[dict[str, Any], str]] = [
        ({"velocity": [1.0, 2.0], "speed": [1.0, 2.0]}, "^speed: expected one of velocity, force, "),
        ({"velocity": [1.0, 2.0], "force": [1.0]}, r"^force: expected shape \(2,\), got \(1,\)"),
        ({"velocity": [1.0, 2.0], "force": [np.nan, 0.0]}, "^force: expected finite numbers"),
    ]
    for state, message in bad:
        with pytest.raises(ValueError, match=message):
            model.restore(state)
        assert observe(model) == before


@every_model
def test_a_new_model_rests_and_sticks(make: Make) -> None:
    model = make()
    assert model.sticking and model.dissipated_energy == 0.0
    assert all(not row.any() for row in model.state.values())
    assert model.dimension == 2 and model.period == 1e-3


# Reset

RESETS: dict[str, list[str]] = {
    "A": ["velocity"],
    "B": ["velocity", "displacement", "previous_displacement"],
    "C": ["displacement"],
    "D": ["velocity", "displacement"],
    "mass and C": ["velocity", "displacement", "force"],
    "compliance and A": ["velocity", "stretch"],
}


@pytest.mark.parametrize("name", RESETS)
def test_reset_starts_again_from_zero_or_from_what_is_given(name: str, motion: Motion) -> None:
    fresh, used = MODELS[name](), MODELS[name]()
    inputs = values(fresh, motion, 200)
    starts: list[dict[str, Any]] = [{}]
    starts += [{row: [1e-4 * (k + 1), -3e-4]} for k, row in enumerate(RESETS[name])]
    starts.append({row: [1e-4 * (k + 1), 2e-4] for k, row in enumerate(RESETS[name])})
    outcomes = []
    for start in starts:
        used.simulate(inputs[::-1])
        for model in (fresh, used):
            model.reset(**start)
        for row in used.rows:
            np.testing.assert_array_equal(used.state[row], start.get(row, [0.0, 0.0]))
        assert used.sticking and used.dissipated_energy == 0.0
        assert observe(used) == observe(fresh)
        outcomes.append(used.simulate(inputs))
        np.testing.assert_array_equal(outcomes[-1], fresh.simulate(inputs))
        assert observe(used) == observe(fresh)
    for k, outcome in enumerate(outcomes[1:], start=1):
        assert not np.array_equal(outcome, outcomes[0]), starts[k]  # what is given acts


@pytest.mark.parametrize("name", RESETS)
def test_reset_refuses_bad_values_and_changes_nothing(name: str, motion: Motion) -> None:
    model = MODELS[name]()
    model.simulate(values(model, motion, 50))
    before = observe(model)
    for row in RESETS[name]:
        for value, message in (
            ([0.0] * 3, rf"^{row}: expected shape \(2,\), got \(3,\)"),
            (0.0, rf"^{row}: expected shape \(2,\), got \(\)"),
            ([0.0, np.inf], f"^{row}: expected finite numbers"),
        ):
            with pytest.raises(ValueError, match=message):
                model.reset(**{row: value})
            assert observe(model) == before


@pytest.mark.parametrize("name", ["mass and C", "compliance and A"])
def test_a_coupled_model_refuses_to_reset_a_row_that_it_does_not_have(name: str, motion: Motion) -> None:
    model = MODELS[name]()
    model.simulate(values(model, motion, 50))
    before = observe(model)
    with pytest.raises(ValueError, match=r"^speed: expected one of velocity, force"):
        model.reset(speed=[1.0, 2.0])
    assert observe(model) == before


# Input that is refused


@every_model
def test_bad_input_is_refused_by_name_and_leaves_the_state(make: Make, motion: Motion) -> None:
    model = make()
    model.simulate(values(model, motion, 50))
    before, name = observe(model), model.input_name
    assert name == ("velocity" if model.kind == "impedance" else "force")
    bad: list[tuple[Callable[[Any], Any], Any, str]] = [
        (model.step, [0.1], rf"^{name}: expected shape \(2,\), got \(1,\)"),
        (model.step, 0.1, rf"^{name}: expected shape \(2,\), got \(\)"),
        (model.step, [[0.1, 0.2]], rf"^{name}: expected shape \(2,\), got \(1, 2\)"),
        (model.step, [0.1, np.nan], f"^{name}: expected finite numbers"),
        (model.step, [-np.inf, np.inf], f"^{name}: expected finite numbers"),
        (model.simulate, [0.1, 0.2], rf"^{name}: expected shape \(n, 2\), got \(2,\)"),
        (model.simulate, [[0.1], [0.2]], rf"^{name}: expected shape \(n, 2\), got \(2, 1\)"),
        (model.simulate, [[[0.1, 0.2]]], rf"^{name}: expected shape \(n, 2\), got \(1, 1, 2\)"),
        (model.simulate, [[0.1, 0.2], [0.1, np.inf]], f"^{name}: expected finite numbers"),
        (model.simulate, [[0.1, 0.2], [np.nan, 0.0]], f"^{name}: expected finite numbers"),
    ]
    for call, value, message in bad:
        with pytest.raises(ValueError, match=message):
            call(value)
        assert observe(model) == before


@pytest.mark.parametrize("size", [1e160, -1e308])
@pytest.mark.parametrize("name", MODELS)
def test_inputs_whose_square_could_overflow_are_refused_alike(name: str, size: float) -> None:
    model = MODELS[name]()
    model.step([0.3, -0.2])
    before = model.state
    huge = np.array([0.1, size])
    for call, value in ((model.step, huge), (model.simulate, np.array([[0.1, 0.1], huge]))):
        with pytest.raises(ValueError, match=rf"{model.input_name}: expected finite numbers below 1e\+100"):
            call(value)
    for row, value in model.state.items():
        np.testing.assert_array_equal(value, before[row])
