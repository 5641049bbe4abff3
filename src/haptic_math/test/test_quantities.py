"""Checks of arguments: what passes, and the one line of each refusal."""

from __future__ import annotations

import math

import numpy as np
import pytest

from haptic_math.quantities import finite_array, finite_number, quaternion_length


class OwnError(Exception):
    pass


@pytest.mark.parametrize("value, number", [(2, 2.0), ("2.5", 2.5), (np.float32(0.5), 0.5), (True, 1.0)])
def test_numbers_are_converted(value: object, number: float) -> None:
    assert finite_number("mass", value) == number


@pytest.mark.parametrize(
    "value, bounds, message",
    [
        ("x", {}, "mass: expected a number, got 'x'"),
        (None, {}, "mass: expected a number, got None"),
        (math.nan, {}, "mass: expected a finite number, got nan"),
        (-1, {"minimum": 0.0}, "mass: expected 0 or more, got -1.0"),
        (0, {"above": 0.0}, "mass: expected more than 0, got 0.0"),
        (
            0,
            {"above": 0.0, "expected": "a finite number above 0 [kg]"},
            "mass: expected a finite number above 0 [kg], got 0",
        ),
        (math.inf, {"expected": "a finite number [kg]"}, "mass: expected a finite number [kg], got inf"),
    ],
)
def test_a_refused_number_is_named_with_what_was_expected(value: object, bounds: dict, message: str) -> None:
    with pytest.raises(OwnError) as refused:
        finite_number("mass", value, error=OwnError, **bounds)
    assert str(refused.value) == message


def test_arrays_are_copied_only_when_asked() -> None:
    given = np.arange(3.0)
    assert np.shares_memory(finite_array("q", given, (3,), copy=False), given)
    assert not np.shares_memory(finite_array("q", given, (3,)), given)
    assert finite_array("q", np.full(2, 1e308), (2,)).tolist() == [1e308, 1e308]  # whose sum overflows
    assert finite_array("A", np.ones((7, 7), order="F"), (7, 7)).flags.c_contiguous


@pytest.mark.parametrize(
    "value, message",
    [
        ("a", "q: expected 2 numbers, got 'a'"),
        ([1.0], "q: expected shape (2,), got (1,)"),
        ([0.0, math.inf], r"q: expected finite numbers, got inf at [1]"),
    ],
)
def test_a_refused_array_is_named_with_what_was_expected(value: object, message: str) -> None:
    with pytest.raises(OwnError) as refused:
        finite_array("q", value, (2,), error=OwnError)
    assert str(refused.value) == message


def test_a_large_array_names_its_first_entry_that_is_not_finite() -> None:
    value = np.zeros((7, 7))
    value[3, 4] = value[5, 5] = math.nan
    with pytest.raises(ValueError, match=r"at \[3, 4\]$"):
        finite_array("A", value, (7, 7))


@pytest.mark.parametrize("value", ["a", [1.0], [0.0, math.inf]])
def test_a_stated_expectation_is_in_every_refusal_of_an_array(value: object) -> None:
    with pytest.raises(ValueError) as refused:
        finite_array("q", value, (2,), expected="2 finite numbers")
    assert str(refused.value) == f"q: expected 2 finite numbers, got {value!r}"


@pytest.mark.parametrize("length, unit", [(1.0, True), (1.009, True), (0.991, True), (1e-8, False), (7.0, False)])
def test_quaternion_that_is_a_rotation_has_its_length(length: float, unit: bool) -> None:
    assert quaternion_length("orientation", [0.0, 0.6 * length, 0.0, -0.8 * length], unit=unit) == pytest.approx(length)


@pytest.mark.parametrize(
    "quaternion, options, message",
    [
        (
            (0, 0, 0, 1e-10),
            {},
            "q: expected a quaternion (x, y, z, w) that is not zero, got [0.e+00 0.e+00 0.e+00 1.e-10]",
        ),
        ((0, 0, 0, 0), {"unit": True}, "q: expected a quaternion of length 1, got length 0"),
        ((0, 0, 0.6, 0.6), {"unit": True}, "q: expected a quaternion of length 1, got length 0.848528"),
        (
            (0, 0, 0, 1.02),
            {"unit": True, "got": "[..., 1.02]"},
            "q: expected a quaternion of length 1, got [..., 1.02]",
        ),
    ],
)
def test_quaternion_of_another_length_is_refused(quaternion: tuple, options: dict, message: str) -> None:
    with pytest.raises(OwnError) as refused:
        quaternion_length("q", quaternion, error=OwnError, **options)
    assert str(refused.value) == message


@pytest.mark.parametrize("copy", [False, True])
def test_a_number_has_no_axes_whether_or_not_it_is_copied(copy: bool) -> None:
    assert finite_array("x", 2, (), copy=copy) == 2.0
    with pytest.raises(ValueError, match=r"x: expected shape \(1,\), got \(\)"):
        finite_array("x", 2.0, (1,), copy=copy)
    assert finite_array("x", np.ones((3, 4)).T, (4, 3), copy=copy).flags.c_contiguous
