"""Recordings that are altered on purpose, and what they make of a report's claims."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from haptic_bags.bags import Bag, Event
from haptic_core.errors import HapticError
from haptic_experiments.kit.results import Claims
from haptic_verification import altered
from haptic_verification.altered import (
    ALTERATIONS,
    alteration,
    alterations,
    check_claims,
    nodes_of,
    with_columns,
    with_parameters,
)
from haptic_verification.studies.claims import ClaimsSettings, report, tasks


def bag_of(**columns: Any) -> Bag:
    """A bag in memory with one topic, and a node that said its parameters."""
    bag = Bag.__new__(Bag)
    bag.topics = {"/arm/state": {"tick": np.arange(40), "stamp": np.arange(40.0), **columns}}
    bag.events = [
        Event(0, "wall", "state", {"state": "active", "parameters": {"stiffness": 4.0, "mode": "x", "gains": [1.0]}})
    ]
    return bag


def analyse(bags: dict[str, Bag]) -> SimpleNamespace:
    """Claims of every kind: one that a column decides, a parameter, two variants together, none, a failed one."""
    first = bags["bag"]
    force = first.topics["/arm/state"]["force"]
    if force.max() > 100.0:
        raise ValueError("too much")
    claims = Claims()
    claims.below("The force is small.", float(force.max()), 2.95, "N")
    claims.near("The stiffness is right.", first.events[0].detail["parameters"]["stiffness"], 4.0, relative=0.05)
    claims.identical(
        "The variants agree.", {"force": float(np.abs(force - bags["b"].topics["/arm/state"]["force"]).max())}
    )
    claims.say("A square is positive.", "1", bool((force**2 >= 0.0).all()))
    claims.say("This fails already.", "0", shown=False)
    claims.say("This is not reached.", unless="no motion")
    return SimpleNamespace(claims=claims)


def test_each_claim_has_the_mildest_alteration_that_fails_it() -> None:
    force = np.linspace(1.0, 2.9, 40)
    bags = {"bag": bag_of(force=force), "b": bag_of(force=force)}
    words = [checked.failed_by for checked in check_claims(analyse, bags)]
    assert words == [
        "force of arm/state with noise of 10 % of its range",
        "parameters of wall half as large",
        "force of arm/state 1 % larger in bag alone",
        "",
        "the recording itself",
        "",
    ]


def test_only_the_given_alterations_are_made() -> None:
    force = np.linspace(1.0, 2.9, 40)
    bags = {"bag": bag_of(force=force), "b": bag_of(force=force)}
    only = ("force of arm/state ten times as large", "stiffness of wall half as large")
    words = [checked.failed_by for checked in check_claims(analyse, bags, only=only)]
    assert words == [only[0], only[1], "", "", "the recording itself", ""]


def test_one_parameter_or_one_entry_of_a_parameter_is_altered() -> None:
    bag = bag_of(force=np.ones(40))
    bag.events[0].detail["parameters"]["world"] = ["mass=0.5", "radius=0.1"]
    found = {}
    for name in ("stiffness", "gains", "mass"):
        found[name] = alteration({"bag": bag}, f"{name} of wall half as large")["bag"].parameters("wall")
    plain = {"stiffness": 4.0, "mode": "x", "gains": [1.0], "world": ["mass=0.5", "radius=0.1"]}
    assert found["stiffness"] == {**plain, "stiffness": 2.0} and found["gains"] == {**plain, "gains": [0.5]}
    assert found["mass"] == {**plain, "world": ["radius=0.1", "mass=0.25"]} and bag.parameters("wall") == plain


def test_a_given_alteration_alters_all_variants() -> None:
    flags = np.array([True, False] * 20)
    made = alteration({name: bag_of(sticks=flags) for name in ("bag", "b")}, "sticks of arm/state inverted")
    for bag in made.values():
        np.testing.assert_array_equal(bag.topics["/arm/state"]["sticks"], ~flags)


@pytest.mark.parametrize(
    "words",
    [
        "force of arm/state twice as large",
        "speed of arm/state half as large",
        "mode of wall half as large",
        "",
        "x of y",
    ],
)
def test_an_alteration_that_there_is_none_of_is_refused(words: str) -> None:
    with pytest.raises(HapticError, match=f"alteration '{words}': expected a column and its topic"):
        alteration({"bag": bag_of(force=np.ones(40))}, words)


def test_claims_can_be_left_out() -> None:
    bags = {"bag": bag_of(force=np.linspace(1.0, 2.9, 40)), "b": bag_of(force=np.linspace(1.0, 2.9, 40))}
    words = [checked.failed_by for checked in check_claims(analyse, bags, without=("stiffness", "force is"))]
    assert words == ["", "", "force of arm/state 1 % larger in bag alone", "", "the recording itself", ""]


def test_an_alteration_leaves_all_else_as_it_was() -> None:
    bag = bag_of(force=np.ones((40, 3)), sticks=np.zeros(40, bool), names=["a"] * 40, contacts=[np.ones(2)] * 40)
    before = {name: np.copy(values) for name, values in bag.topics["/arm/state"].items()}
    columns = [("/arm/state", name) for name in ("force", "sticks", "contacts")]
    seen = [words for words, _ in alterations({"bag": bag}, columns)]
    assert len(seen) == len(set(seen)) == len(ALTERATIONS) * 4 + 2 and nodes_of(bag) == ["wall"]
    assert "sticks of arm/state inverted" in seen
    (event,) = with_parameters(bag, "wall", lambda values: 3.0 * values).events
    assert event.detail["parameters"] == {"stiffness": 12.0, "mode": "x", "gains": [3.0]}
    assert with_parameters(bag, "device", np.negative).events == bag.events
    for name, values in before.items():
        np.testing.assert_array_equal(bag.topics["/arm/state"][name], values)
    assert bag.events[0].detail["parameters"] == {"stiffness": 4.0, "mode": "x", "gains": [1.0]}
    assert with_columns(bag, "/arm/state", ["sticks"], lambda values: values).topics["/arm/state"]["sticks"].all()
    doubled = with_columns(bag, "/arm/state", ["contacts"], lambda values: 2.0 * values).topics["/arm/state"][
        "contacts"
    ]
    assert all((row == 2.0).all() for row in doubled) and with_columns(bag, "/else", ["force"], np.negative) is bag


def test_truth_values_are_inverted_and_held() -> None:
    """In a column, and in the array of each message."""
    flags = np.array([True, False] * 20)
    bag = bag_of(sticks=flags, contacts=[np.array([True, False])] * 40)
    columns = [("/arm/state", name) for name in ("sticks", "contacts")]
    altered_by = {
        words: made["bag"].topics["/arm/state"]
        for words, made in alterations({"bag": bag}, columns)
        if words.startswith(("sticks", "contacts"))
    }
    assert len(altered_by) == 4
    np.testing.assert_array_equal(altered_by["sticks of arm/state inverted"]["sticks"], ~flags)
    assert altered_by["sticks of arm/state held at its first value"]["sticks"].all()
    assert all(row.tolist() == [False, True] for row in altered_by["contacts of arm/state inverted"]["contacts"])
    assert all(row.all() for row in altered_by["contacts of arm/state held at its first value"]["contacts"])


def test_the_recordings_of_two_variants_are_exchanged_last() -> None:
    bags = {"one": bag_of(force=np.ones(40)), "two": bag_of(force=np.zeros(40))}
    words, exchanged = list(alterations(bags, []))[-1]
    assert words == "the recordings of one and two exchanged"
    assert exchanged["one"].topics is bags["two"].topics and exchanged["two"].topics is bags["one"].topics


@pytest.mark.parametrize("change", ALTERATIONS.values(), ids=ALTERATIONS)
def test_each_alteration_changes_a_column_and_keeps_its_shape(change: Callable[[np.ndarray], np.ndarray]) -> None:
    values = np.linspace(1.0, 2.0, 60).reshape(20, 3)
    changed = change(values)
    assert changed.shape == values.shape and not np.array_equal(changed, values)
    assert change(values[:1]).shape == (1, 3)


def test_a_report_that_refuses_an_alteration_has_not_failed_a_claim() -> None:
    force = np.full(40, 2.0)
    bags = {"bag": bag_of(force=force), "b": bag_of(force=force)}
    large = with_columns(bags["bag"], "/arm/state", ["force"], lambda values: 1000.0 * values)
    assert altered._failed(analyse, {**bags, "bag": large}, analyse(bags).claims) == set()


def test_the_study_names_the_claims_that_nothing_fails(tmp_path: Path) -> None:
    rows = [("It slides.", "shown", "state: force 1 % larger"), ("It is.", "shown", ""), ("It may.", "not reached", "")]
    made = report(ClaimsSettings(runs=(tmp_path,)), {"one": {"claims": np.array(rows)}}, tmp_path)
    assert made.metrics["never_failed"] == ["one: It is."] and not made.claims[0].shown
    assert "1 of 2 claims" in made.claims[0].measured and "1 are not judged" in made.claims[0].measured


def test_the_study_refuses_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no run and no bag"):
        tasks(ClaimsSettings(runs=(tmp_path,)))


def test_the_older_names_still_work() -> None:
    for old, new in {"judge": "check_claims", "Judged": "CheckedClaim"}.items():
        with pytest.warns(DeprecationWarning, match=new):
            assert getattr(altered, old) is getattr(altered, new)
