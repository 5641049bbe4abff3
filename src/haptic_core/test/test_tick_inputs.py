"""Inputs of a tick: the right message for each, none twice, none too old."""

from __future__ import annotations

import pytest

from haptic_core.errors import InputError, ParameterError
from haptic_core.tick_inputs import PATIENCE, TickInputs


def test_a_tick_waits_for_its_messages_in_any_order() -> None:
    inputs = TickInputs(["wall", "contacts"])
    assert inputs.missing(4) == ["wall", "contacts"]
    inputs.offer("contacts", 4, "c4")
    assert inputs.missing(4) == ["wall"]
    inputs.offer("wall", 4, "w4")
    inputs.offer("wall", 5, "w5")  # the other node is ahead
    assert inputs.missing(4) == []
    assert inputs.take(4) == {"wall": "w4", "contacts": "c4"}
    assert inputs.missing(5) == ["contacts"]


def test_a_delayed_input_is_that_of_the_tick_before() -> None:
    inputs = TickInputs(["wall"], ["wall"])
    assert inputs.missing(7) == []  # the first tick has no past
    assert inputs.take(7) == {"wall": None}
    assert inputs.missing(8) == ["wall"]
    inputs.offer("wall", 7, "w7")
    inputs.offer("wall", 8, "w8")
    assert inputs.take(8) == {"wall": "w7"}
    assert inputs.take(9) == {"wall": "w8"}
    assert inputs.old == 0


def test_old_messages_serve_in_realtime_for_a_while() -> None:
    strict, patient = TickInputs(["wall"], ["wall"]), TickInputs(["wall"], ["wall"], patient=True)
    for inputs in (strict, patient):
        inputs.take(0)
        inputs.offer("wall", 0, "w0")
    assert strict.missing(2) == ["wall"]
    assert patient.take(1 + PATIENCE) == {"wall": "w0"}
    assert patient.old == 1
    assert patient.missing(2 + PATIENCE) == ["wall"]


@pytest.mark.parametrize("tick", [3, 2])
def test_messages_go_forward(tick: int) -> None:
    inputs = TickInputs(["wall"])
    inputs.offer("wall", 3, "w3")
    with pytest.raises(InputError, match=f"wall: expected a tick above 3, got {tick}"):
        inputs.offer("wall", tick, "again")
    assert inputs.take(3) == {"wall": "w3"}


def test_a_new_start_forgets() -> None:
    inputs = TickInputs(["wall"], ["wall"])
    inputs.take(0)
    inputs.offer("wall", 0, "w0")
    inputs.restart()
    assert inputs.take(100) == {"wall": None}


def test_names_are_checked() -> None:
    with pytest.raises(ParameterError, match=r"delayed_inputs: expected some of \['wall'\], got 'walls'"):
        TickInputs(["wall"], ["walls"])
    with pytest.raises(ParameterError, match="expected each name once"):
        TickInputs(["wall", "wall"])
