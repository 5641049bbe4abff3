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
    assert patient.take(2 + PATIENCE) == {"wall": None}
    assert patient.old == 2
    patient.offer("wall", 2 + PATIENCE, "w again")
    assert patient.take(3 + PATIENCE) == {"wall": "w again"}


def test_a_cycle_of_nodes_goes_on_after_a_gap() -> None:
    """Bodies move by the friction of the tick before, friction takes the bodies' velocity of the same tick."""
    bodies, friction = TickInputs(["friction"], ["friction"], patient=True), TickInputs(["bodies"])

    def tick(k: int) -> None:
        assert not bodies.missing(k)
        bodies.take(k)
        friction.offer("bodies", k, f"b{k}")
        assert not friction.missing(k)
        friction.take(k)
        bodies.offer("friction", k, f"f{k}")

    for k in (0, 1, 2 + PATIENCE, 50, 51):  # both were held up between these
        tick(k)
    assert bodies.old == 2
    assert bodies.take(52) == {"friction": "f51"}


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


def test_tick_0_is_a_new_start_whatever_comes_first() -> None:
    """Of a device that has started anew; one node may hear of it later than the node it takes from."""
    inputs = TickInputs(["wall", "contacts"], ["contacts"])
    for tick in (6, 7):
        inputs.offer("wall", tick, "old")
        inputs.offer("contacts", tick, "old")
    inputs.offer("wall", 0, "w0")  # before the device's own tick 0
    inputs.begin()
    assert inputs.missing(0) == []
    assert inputs.take(0) == {"wall": "w0", "contacts": None}
    inputs.offer("wall", 1, "w1")
    assert inputs.missing(1) == ["contacts"]
    assert inputs.missing(8) == ["wall", "contacts"]  # not the old one of tick 7
    inputs.offer("contacts", 0, "c0")
    assert inputs.take(1) == {"wall": "w1", "contacts": "c0"}


def test_tick_0_twice_is_no_new_start() -> None:
    inputs = TickInputs(["wall"])
    inputs.offer("wall", 0, "w0")
    with pytest.raises(InputError, match="expected a tick above 0, got 0"):
        inputs.offer("wall", 0, "again")
    inputs.begin()
    assert inputs.take(0) == {"wall": "w0"}


@pytest.mark.parametrize("patient", [False, True])
def test_a_message_from_far_ahead_does_not_shut_the_next_ones_out(patient: bool) -> None:
    inputs = TickInputs(["wall"], patient=patient)
    for tick in range(3):
        assert inputs.expect(tick) == []
        inputs.offer("wall", tick, f"w{tick}")
        inputs.take(tick)
    inputs.offer("wall", 2**63, "junk")
    inputs.offer("wall", 3, "w3")
    assert inputs.expect(3) == [f"wall: expected a tick near 2, got {2**63}"]
    assert inputs.take(3) == {"wall": "w3"}
    inputs.offer("wall", 70_000, "junk")
    assert inputs.expect(4) == ["wall: expected a tick near 4, got 70000"]
    inputs.offer("wall", 4, "w4")
    assert inputs.take(4) == {"wall": "w4"}


def test_names_are_checked() -> None:
    with pytest.raises(ParameterError, match=r"delayed_inputs: expected some of \['wall'\], got 'walls'"):
        TickInputs(["wall"], ["walls"])
    with pytest.raises(ParameterError, match="expected each name once"):
        TickInputs(["wall", "wall"])
