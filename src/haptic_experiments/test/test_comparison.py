"""What the reports of scripted experiments share: reading a bag, and measures with known answers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from haptic_bags.bags import Bag
from haptic_core.errors import HapticError
from haptic_experiments.kit.comparison import HUGE, ScriptedRun, power_of_ten
from haptic_experiments.kit.signals import largest, phases, roughness, sign_changes

Make = Callable[..., Bag]

TABLE = np.arange(12.0).reshape(4, 3)
PARAMETERS = {"period": 1e-3, "models": ["B", "A", "A"], "mass": [1.0], "stiffness": [1.0, 2.0, 3.0], "law": "coulomb"}


def test_a_run_has_what_the_topics_say(scripted_bag: Make) -> None:
    columns = {"velocity": TABLE, "force": TABLE + 1, "elastic_displacement": TABLE + 2, "sticking": TABLE > 5}
    velocity, force = np.array([1.0, 2.0, 3.0, 4.0]), np.array([5.0, 6.0, 7.0, 8.0])
    run = ScriptedRun.from_bag(scripted_bag(columns, PARAMETERS, velocity=velocity, force=force))
    np.testing.assert_array_equal(run.velocity, TABLE)
    np.testing.assert_array_equal(run.force, TABLE + 1)
    np.testing.assert_array_equal(run.displacement, TABLE + 2)
    np.testing.assert_array_equal(run.sticking, TABLE > 5)
    np.testing.assert_array_equal(run.input_velocity, velocity)
    np.testing.assert_array_equal(run.input_force, force)
    np.testing.assert_array_equal(run.time, [0.0, 1e-3, 2e-3, 3e-3])
    assert run.period == 1e-3 and run.is_complete
    assert run.parameters["stiffness"] == [1.0, 2.0, 3.0] and run.device == {"mode": "lockstep"}


def test_the_axis_is_the_node_s(scripted_bag: Make) -> None:
    bag = scripted_bag({"force": TABLE}, {**PARAMETERS, "axis": "z"}, velocity=np.ones(4), force=np.ones(4))
    bag.topics["/script/device_state"]["tool_twist"][:, 2] = 3.0
    bag.topics["/script/device_state"]["tool_wrench"][:, 2] = 4.0
    run = ScriptedRun.from_bag(bag)
    assert run.input_velocity.tolist() == [3.0] * 4 and run.input_force.tolist() == [4.0] * 4


def test_models_are_found_and_named_and_have_a_number_each(scripted_bag: Make) -> None:
    run = ScriptedRun.from_bag(scripted_bag({"force": TABLE}, PARAMETERS))
    assert run.labels == ["B", "A", "A_2"]
    assert (run.column("A"), run.column("B"), run.column("C")) == (1, 0, None)
    assert [run.number("stiffness", i) for i in range(3)] == [1.0, 2.0, 3.0]
    assert [run.number("mass", i) for i in range(3)] == [1.0] * 3
    assert run.number("period", 2) == 1e-3


def test_the_columns_of_a_network_are_its_contacts(scripted_bag: Make) -> None:
    bag = scripted_bag({"force": TABLE[:, :2]}, {"period": 1e-3, "model": "C"}, node="network")
    run = ScriptedRun.from_bag(bag, "network")
    assert run.models == ["C", "C"]
    np.testing.assert_array_equal(run.force, TABLE[:, :2])


def test_ticks_that_the_node_missed_are_left_out(scripted_bag: Make) -> None:
    bag = scripted_bag({"force": TABLE}, PARAMETERS, missed=(1,), velocity=np.arange(4.0))
    run = ScriptedRun.from_bag(bag)
    assert run.tick.tolist() == [0, 2, 3] and not run.is_complete
    np.testing.assert_array_equal(run.force, TABLE[[0, 2, 3]])
    np.testing.assert_array_equal(run.input_velocity, [0.0, 2.0, 3.0])
    with pytest.raises(HapticError, match=r"runs/x/bag: too short for a report \(1 ticks"):
        ScriptedRun.from_bag(scripted_bag({"force": TABLE}, PARAMETERS, missed=(1, 2, 3)))


def test_a_model_that_diverged_stays_a_number(scripted_bag: Make) -> None:
    force = np.array([[1.0], [1e200], [-np.inf], [np.nan]])
    run = ScriptedRun.from_bag(scripted_bag({"force": force}, {**PARAMETERS, "models": ["A"]}))
    assert run.force[:, 0].tolist() == [1.0, HUGE, -HUGE, HUGE]
    assert np.isfinite(roughness(run.force[:, 0]))


def test_roughness_is_zero_for_a_line_and_four_amplitudes_for_a_zigzag() -> None:
    n = np.arange(100)
    assert roughness(3.0 + 0.5 * n) == pytest.approx(0.0, abs=1e-12)
    assert roughness(0.25 * (-1.0) ** n) == pytest.approx(1.0)
    assert roughness(np.array([1.0, 5.0])) == 0.0


def test_zeros_between_two_signs_are_one_change() -> None:
    assert sign_changes(np.array([1.0, 0.0, -1.0, -2.0, 0.0, -1.0, 3.0])) == 2
    assert sign_changes(np.array([1.0, 0.0, 0.0])) == 0


def test_phases_are_unbroken_stretches() -> None:
    flags = np.array([1, 1, 0, 1, 0, 0, 1, 1, 1], dtype=bool)
    assert phases(flags) == [(0, 2), (3, 4), (6, 9)]
    assert phases(flags, 2) == [(0, 2), (6, 9)]
    assert phases(~flags, 3) == []


def test_the_largest_of_nothing_is_zero() -> None:
    assert largest(np.array([])) == 0.0 and largest(np.array([1.0, -3.0])) == 3.0


def test_large_numbers_are_written_as_the_paper_does() -> None:
    assert [power_of_ten(value) for value in (8.3e4, 2.5e5, 1e-3)] == ["8.3 × 10⁴", "2.5 × 10⁵", "1 × 10⁻³"]
