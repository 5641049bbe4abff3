"""Verdicts just inside and just beyond their limits, on numbers that are given and not measured."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from altered_numbers import altered

from haptic_experiments.experiments import (
    friction_hysteresis,
    friction_model_b,
    friction_two_contacts,
    sliding_rod,
    tau_angled_wall,
)
from haptic_experiments.experiments.dental_probe.probing import distances
from haptic_experiments.kit.results import Claims
from haptic_friction.reference.hysteresis import ColumnLoops, MeasuredLoop


def verdicts(judge: Callable[..., Any], *arguments: Any) -> list[bool | None]:
    """The verdicts that a function adds to the claims, or returns."""
    claims = Claims()
    return [claim.shown for claim in judge(claims, *arguments) or claims]


# ---- hysteresis -----------------------------------------------------------------------------------------------------


def column(energy: float) -> ColumnLoops:
    """Makes a loop of 1 mm that takes an energy [J], below a sliding displacement of 2 mm and a force of 4 N."""
    loop = MeasuredLoop(0.0, 1.0, 1e-3, 0.0, 0.01, minor=False, simple=True, energy=energy, closed_form_energy=1e-3,
                        closure=0.0)  # fmt: skip
    return ColumnLoops(4.0, 2e-3, 5e-4, 0.0, 0.0, [loop])


@pytest.mark.parametrize(
    ("many", "single", "expected"),
    [(4.1e-6, 3.9e-12, True), (3.9e-6, 3.9e-12, False), (4.1e-6, 4.1e-12, False), (4.1e-6, -4.1e-12, False)],
)
def test_energy_below_the_sliding_displacement_tells_many_elements_from_one(
    many: float, single: float, expected: bool
) -> None:
    """The limits are 1e-3 and 1e-9 of force times displacement."""
    assert friction_hysteresis._assess_presliding(column(many), column(single))[1] is expected


@pytest.mark.parametrize(
    ("deviation", "roughness", "expected"), [(0.99, 9.9, True), (1.01, 9.9, False), (0.99, 10.1, False)]
)
def test_model_b_neither_leaves_the_continuous_motion_nor_vibrates(
    deviation: float, roughness: float, expected: bool
) -> None:
    element: Any = SimpleNamespace(ratio=0.5, words="B")
    case = friction_model_b.Ramp(element, 10.0, deviation, 1.0, roughness, None)
    assert verdicts(friction_model_b._claim_original, [case]) == [expected]


# ---- the rod --------------------------------------------------------------------------------------------------------


def test_sticking_is_extrapolated_to_the_paper_s_step_in_milliseconds() -> None:
    """The times of the impacts have an error of ten times the step."""
    steps = (sliding_rod.FINE, 2.0 * sliding_rod.FINE)
    fine, coarse = ({"lagged": SimpleNamespace(sticking_time=2e-4 + 10.0 * step)} for step in steps)
    found = sliding_rod.sticking_times(fine, coarse)["lagged"]  # type: ignore[arg-type]
    assert found == pytest.approx(0.2 + 1e4 * sliding_rod.PAPER_STEP, rel=1e-9)


# ---- two contacts ---------------------------------------------------------------------------------------------------

CONTACT = friction_two_contacts.ContactNumbers([2, 1], [0.1, 0.2, 0.1], [0.1, 0.2, 0.1], 0.5, 0.5, 1e-3, 0.0, 0.0)
CHAIN = friction_two_contacts.Numbers(1e-3, 7001, 0.0, 0.0, friction_two_contacts.Steady(3, CONTACT, CONTACT))


@pytest.mark.parametrize(
    ("place", "path", "inside", "outside"),
    [
        (0, ["stick_phases_per_period"], [1, 1], [2, 0]),
        (1, ["position_difference_rms"], 2.9e-5, 3.1e-5),
        (1, ["stick_share"], 0.519, 0.521),
        (1, ["rigid_stick_share"], 0.519, 0.521),
        (1, ["stick_phase_lengths"], [0.1, 0.1, 0.1], [0.1, 0.2]),
    ],
)
@pytest.mark.parametrize("contact", ["contact_1", "contact_2"])
def test_a_claim_on_two_contacts_fails_just_beyond_its_limit(
    place: int, path: list[Any], inside: Any, outside: Any, contact: str
) -> None:
    def shown(value: Any) -> list[bool | None]:
        numbers = altered(CHAIN, ["steady", contact, *path], value)
        return verdicts(lambda claims: friction_two_contacts._claims(numbers))

    assert shown(inside) == [True, True, True]
    assert [k for k, one in enumerate(shown(outside)) if not one] == [place]


# ---- walls ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("friction", "contact", "expected"),
    [(0.349, 0.991, True), (0.351, 0.991, False), (0.251, 0.991, True), (0.249, 0.991, False), (0.3, 0.989, False)],
)
def test_a_slide_has_the_friction_that_was_asked_for_in_contact(
    friction: float, contact: float, expected: bool
) -> None:
    run: Any = SimpleNamespace(name="bag", parameters={"friction_coefficient": 0.3})
    sound = tau_angled_wall.Slide("row", 0.04, 2e-5, 1.0, 0.3)
    slide = tau_angled_wall.Slide("row", 0.04, 2e-5, contact, friction)
    assert verdicts(tau_angled_wall.slide_claim, run, [sound, slide]) == [expected]
    free = tau_angled_wall.Slide("row", 0.04, np.nan, 0.0, np.nan)
    assert verdicts(tau_angled_wall.slide_claim, run, [free]) == [None]


def test_distance_from_a_tooth_is_that_of_its_nearest_plane() -> None:
    """Far from all planes the distance is infinite."""
    geometry: Any = SimpleNamespace(planes=lambda p: SimpleNamespace(signed_distance=p[p < 1.0]))
    found = distances(geometry, np.array([[0.3, -0.1, 0.2], [5.0, 5.0, 0.4], [5.0, 5.0, 5.0]]))
    assert found.tolist() == [-0.1, 0.4, np.inf]
