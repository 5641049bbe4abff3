"""Model C as an object: parameters, reset, copies, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from haptic_friction import ModelC, ViscousCoulombLaw

Motion = Callable[..., np.ndarray]

PAPER: dict[str, float] = {"stiffness": 6000.0, "damping": 10.0, "period": 1e-3}
LAW = ViscousCoulombLaw(4.0, viscosity=5.0)


def observe(model: ModelC) -> tuple[Any, ...]:
    """The whole state of a model as comparable values."""
    arrays = (model.displacement, model.friction_force, model.sliding_velocity)
    return (*(tuple(array.tolist()) for array in arrays), model.sticking, model.dissipated_energy)


@pytest.mark.parametrize("change", ["force", "viscosity", "stiffness", "damping", "period"])
def test_each_parameter_changes_the_result(change: str, motion: Motion) -> None:
    values = {"force": 4.0, "viscosity": 5.0, **PAPER}
    velocities = motion(100, 1)

    def forces(force: float, viscosity: float, **constants: float) -> np.ndarray:
        return ModelC(ViscousCoulombLaw(force, viscosity=viscosity), **constants).simulate(velocities)

    changed = forces(**{**values, change: 1.1 * values[change]})
    assert np.abs(changed - forces(**values)).max() > 1e-3


def test_reset_starts_again_from_zero_or_from_a_displacement(motion: Motion) -> None:
    fresh, used = (ModelC(LAW, dimension=2, **PAPER) for _ in range(2))
    velocities = motion(200, 2)
    for start in (None, [1e-4, -3e-4]):
        used.simulate(velocities[::-1])
        for model in (fresh, used):
            model.reset(displacement=start)
        np.testing.assert_array_equal(used.displacement, [0.0, 0.0] if start is None else start)
        assert observe(used) == observe(fresh)
        np.testing.assert_array_equal(used.simulate(velocities), fresh.simulate(velocities))
        assert observe(used) == observe(fresh)


def test_what_it_returns_is_not_its_state() -> None:
    model = ModelC(LAW, **PAPER)
    start, force = np.array([1e-4]), model.step([0.1])
    model.reset(displacement=start)
    before = observe(model)
    for array in (start, force, model.displacement, model.friction_force, model.sliding_velocity):
        array += 1.0
    assert observe(model) == before


@pytest.mark.parametrize(
    ("name", "unit", "bad"),
    [
        ("stiffness", "N/m", [0.0, -1.0, np.nan, np.inf]),
        ("damping", "N s/m", [-1.0, np.nan, np.inf]),
        ("period", "s", [0.0, -1e-3, np.nan, np.inf]),
        ("dimension", "", [0, -1]),
    ],
)
def test_parameters_out_of_range_are_refused_by_name(name: str, unit: str, bad: list[float]) -> None:
    for value in bad:
        with pytest.raises(ValueError) as caught:
            ModelC(LAW, **{**PAPER, name: value})
        assert str(caught.value).startswith(f"{name}: expected ") and str(caught.value).endswith(f"got {value!r}")
        assert unit in str(caught.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda model: model.step([0.1]), r"^velocity: expected shape \(2,\), got \(1,\)"),
        (lambda model: model.step([[0.1, 0.2]]), r"^velocity: expected shape \(2,\), got \(1, 2\)"),
        (lambda model: model.step([0.1, np.nan]), "^velocity: expected finite numbers"),
        (lambda model: model.step([-np.inf, np.inf]), "^velocity: expected finite numbers"),
        (lambda model: model.simulate([0.1, 0.2]), r"^velocities: expected shape \(n, 2\), got \(2,\)"),
        (lambda model: model.simulate([[0.1], [0.2]]), r"^velocities: expected shape \(n, 2\), got \(2, 1\)"),
        (lambda model: model.simulate([[0.1, 0.2], [0.1, np.inf]]), "^velocities: expected finite numbers"),
        (lambda model: model.reset(displacement=[0.0] * 3), r"^displacement: expected shape \(2,\), got \(3,\)"),
        (lambda model: model.reset(displacement=[0.0, np.nan]), "^displacement: expected finite numbers"),
    ],
)
def test_bad_input_is_refused_by_name_and_leaves_the_state(
    call: Callable[[ModelC], Any], message: str, motion: Motion
) -> None:
    model = ModelC(LAW, dimension=2, **PAPER)
    model.simulate(motion(50, 2))
    before = observe(model)
    with pytest.raises(ValueError, match=message):
        call(model)
    assert observe(model) == before


def test_simulating_nothing_changes_nothing(motion: Motion) -> None:
    model = ModelC(LAW, dimension=2, **PAPER)
    model.simulate(motion(50, 2))
    before = observe(model)
    assert model.simulate(np.empty((0, 2))).shape == (0, 2)
    assert observe(model) == before
