"""A parameter that is changed while a node is active moves nothing by itself; the long version is a study."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from rclpy.context import Context

from haptic_verification.fuzz.changes import AFTER, SETTLED, SITUATIONS, Stage, changes, make_stage

TICKS = SETTLED + AFTER
#: a force, a motion and a device, which the tests without --all are about
SAMPLE = ("friction, presliding", "friction, Karnopp", "device")


@pytest.fixture
def stage(context: Context) -> Iterator[Callable[..., Stage]]:
    made: list[Stage] = []

    def make(name: str, change_time: float | None = None) -> Stage:
        made.append(make_stage(name, context, change_time))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name if name in SAMPLE else pytest.param(name, marks=pytest.mark.slow) for name in SITUATIONS]
)
def test_no_change_of_a_parameter_makes_a_step(name: str, context: Context) -> None:
    tried = list(changes(name, context, quick=True))
    assert tried and all("\n" not in change.refused for change in tried)
    acts = any(max(change.extra.values(), default=0.0) > 0.0 for change in tried)
    assert acts == (name != "device")  # its clock's pace moves nothing
    assert [change for change in tried if not change.is_bumpless] == []


@pytest.mark.slow
def test_every_parameter_that_may_be_changed_is_changed_somewhere(context: Context) -> None:
    seen: dict[str, set[str]] = {}
    all_of: dict[str, set[str]] = {}
    for name, situation in SITUATIONS.items():
        one = make_stage(name, context)
        kind = situation.node.__name__
        all_of[kind] = {name for name, spec in one.node.specs.items() if not (spec.read_only or spec.file)}
        seen.setdefault(kind, set()).update(spec.name for spec in one.changeable())
        one.close()
    assert {kind: all_of[kind] - names for kind, names in seen.items()} == {kind: set() for kind in seen}


def test_the_command_reaches_what_the_new_value_gives_within_the_change_time(stage: Callable[..., Stage]) -> None:
    ramped, at_once = (stage("friction", time).play(TICKS, "friction_force", 3.0) for time in (None, 0.0))
    assert isinstance(ramped, np.ndarray) and isinstance(at_once, np.ndarray)
    np.testing.assert_array_equal(ramped[:SETTLED], at_once[:SETTLED])
    np.testing.assert_array_equal(ramped[SETTLED + 99 :], at_once[SETTLED + 99 :])
    change = at_once[SETTLED] - ramped[SETTLED - 1]
    assert np.abs(change).max() > 1.0
    # tick 1 of 100, and the middle
    np.testing.assert_allclose(ramped[SETTLED] - ramped[SETTLED - 1], (3 - 0.02) * 1e-4 * change, atol=1e-12)
    np.testing.assert_allclose(ramped[SETTLED + 49], 0.5 * (ramped[SETTLED - 1] + at_once[SETTLED + 49]), atol=1e-12)


@pytest.mark.parametrize(("name", "parameter", "value"), [("friction", "load_mass", 5.0)])
def test_change_of_a_parameter_without_force_changes_no_bit(
    stage: Callable[..., Stage], name: str, parameter: str, value: float
) -> None:
    one = stage(name)
    np.testing.assert_array_equal(one.play(TICKS, parameter, value), one.play(TICKS))
