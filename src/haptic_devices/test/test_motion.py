"""What the simulated hand intends: continuous plans inside the joystick's workspace."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from haptic_core.errors import ParameterError
from haptic_devices.device import load_parameters
from haptic_devices.five_bar import FiveBar, inverse
from haptic_devices.joystick import DEFAULT_FILE, JoystickParameters
from haptic_devices.motions.planar import (
    MotionPlan,
    PlanBuilder,
    letter_indices,
    make_plan,
    paper_admittance_plan,
    paper_plan,
    peg_plan,
    stroke_plan,
    to_and_fro_plan,
)

STROKES = 100
PERIOD = 1e-3
REST_FORCE = 1.6


def word(letters: str, period: float = PERIOD, **options: Any) -> MotionPlan:
    chosen = {"letters": letters, "strokes": [0], "rest_duration": 2.0, "rest_force": REST_FORCE, **options}
    return make_plan("letters", period, **chosen)


PLANS = {
    "paper": paper_plan(PERIOD),
    "paper at 0.5 ms": paper_plan(0.5e-3),
    "to_and_fro": to_and_fro_plan(PERIOD),
    "peg": peg_plan(PERIOD),
    "curve": word("curve"),
    "aab at 0.5 ms": word("aab", 0.5e-3),
    "long word": word("chaosandpeace"),
    **{f"stroke {index}": stroke_plan(PERIOD, [index]) for index in range(STROKES)},
}

#: too large for the joystick
MANIPULATOR = {
    "paper_admittance": paper_admittance_plan(PERIOD),
    "paper_admittance at 0.5 ms": paper_admittance_plan(0.5e-3),
}

every_plan = pytest.mark.parametrize("plan", [*PLANS.values(), *MANIPULATOR.values()], ids=[*PLANS, *MANIPULATOR])


@every_plan
def test_the_velocity_column_is_the_derivative_of_the_position(plan):
    position, velocity = plan.table[:, 0:2], plan.table[:, 2:4]
    mean = (velocity[1:] + velocity[:-1]) / 2
    # trapezoidal rule: T^2/12 of the jerk, which stays below 1000 m/s^3 (a 40 mm letter in half a second)
    assert np.abs(np.diff(position, axis=0) / plan.period - mean).max() < plan.period**2 / 12 * 1000


@every_plan
def test_the_velocity_does_not_jump(plan):
    acceleration = np.diff(plan.table[:, 2:4], axis=0) / plan.period
    assert np.abs(acceleration).max() < 20.0  # of a quick hand [m/s^2]; a jump of 0.1 m/s would give 100


@every_plan
def test_a_plan_starts_and_ends_at_rest(plan):
    # the first row is one period after the start: what a quintic without acceleration has reached by then
    assert np.abs(plan.table[0, 2:4]).max() < 0.01
    assert np.abs(plan.table[-1, 2:4]).max() < 1e-12  # m/s: rounding of a way along a straight line


@every_plan
def test_phases_follow_each_other_without_gaps_and_fill_the_plan(plan):
    times = [time for phase in plan.phases for time in (phase.start, phase.end)]
    assert times[0] == 0.0 and times[-1] == plan.duration == len(plan.table) * plan.period
    assert all(before.end == after.start for before, after in pairwise(plan.phases))
    assert all(phase.start < phase.end for phase in plan.phases)
    assert len({phase.name for phase in plan.phases}) == len(plan.phases)
    assert {phase.kind for phase in plan.phases} <= {"slide", "move", "rest"}


@every_plan
def test_the_hand_pulls_only_at_rest_with_less_than_1_7_times_the_mean(plan):
    force = np.hypot(plan.table[:, 4], plan.table[:, 5])
    kinds = np.empty(len(force), dtype=object)
    for phase in plan.phases:
        kinds[round(phase.start / plan.period) : round(phase.end / plan.period)] = phase.kind
    assert (force[kinds != "rest"] == 0.0).all()
    assert force.max() <= 1.7 * REST_FORCE
    assert (plan.table[kinds != "rest", 6] == 1.0).all()  # grips what it moves
    assert (plan.table[kinds == "rest", 2:4] == 0.0).all()
    holding = any(plan is PLANS[name] for name in ("to_and_fro", "peg"))
    assert (plan.table[:, 6].min() == 0.0) == (not holding)  # and lets go at rest, but for these


@pytest.mark.covering(27)
@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_every_target_lies_inside_the_joystick_s_workspace(plan):
    joystick = load_parameters(JoystickParameters, DEFAULT_FILE)
    x, y = plan.table[:, 0] / joystick.length, plan.table[:, 1] / joystick.length
    pitch = np.arcsin(y)
    roll = np.arcsin(x / np.cos(pitch))
    assert max(np.abs(pitch).max(), np.abs(roll).max()) < joystick.range


@pytest.mark.covering(27)
@pytest.mark.parametrize("plan", [*PLANS.values(), *MANIPULATOR.values()], ids=[*PLANS, *MANIPULATOR])
def test_every_target_lies_inside_the_manipulator_s_workspace(plan):
    device, q = FiveBar.from_file(), np.zeros(2)
    for x, y in plan.table[::10, 0:2]:
        inverse(device.geometry, x, y, q)
        assert np.abs(q - device.geometry.home).max() < 0.8 * device.parameters.range


def test_the_pull_at_rest_swings_about_its_mean_at_the_stated_frequencies():
    builder = PlanBuilder(PERIOD, np.zeros(2))
    builder.rest("rest", 20.3, direction=0.5, force=2.0)
    table = builder.build().table[300:]  # after the transition
    along = table[:, 4] * math.cos(0.5) + table[:, 5] * math.sin(0.5)
    assert np.abs(table[:, 5] * math.cos(0.5) - table[:, 4] * math.sin(0.5)).max() < 1e-14  # roundings of 3 N
    # 20 s hold whole periods of both frequencies: the mean is exact but for roundings
    assert along.mean() == pytest.approx(2.0, rel=1e-12)
    power = np.abs(np.fft.rfft(along - 2.0)) / len(along) * 2
    assert (power[30], power[80]) == pytest.approx((1.0, 0.4), rel=1e-9)  # 1.5 Hz and 4 Hz


def test_the_paper_s_motion_passes_its_lettered_points():
    plan = paper_plan(PERIOD, rest_duration=4.0)
    ends = {phase.name: plan.table[round(phase.end / PERIOD) - 1, 0:2] for phase in plan.phases}
    points = {"a-b": (0.03, -0.01), "b": (0.03, -0.01), "b-c": (-0.03, 0.0), "c-d": (0.0, -0.03), "d-e": (0.02, -0.03)}
    for name, point in points.items():
        assert ends[name] == pytest.approx(point, abs=1e-15), name
    durations = {phase.name: phase.end - phase.start for phase in plan.phases}
    assert (durations["b"], durations["e"]) == pytest.approx((4.0, 2.0))


def test_the_manipulator_s_motion_passes_its_lettered_points_and_goes_round_a_circle():
    plan = make_plan("paper_admittance", PERIOD, letters="a", strokes=[0], rest_duration=1.5, rest_force=2.0)
    rows = {phase.name: plan.table[round(phase.start / PERIOD) : round(phase.end / PERIOD)] for phase in plan.phases}
    ends = {name: part[-1, 0:2] for name, part in rows.items()}
    points = {"a-b": (0.08, -0.08), "b-c": (0.08, 0.07), "c": (0.08, 0.07), "c-d": (-0.04, 0.07), "d-e": (0.02, 0.01)}
    for name, point in points.items():
        assert ends[name] == pytest.approx(point, abs=1e-15), name
    for name in ("a-b", "b-c", "c-d"):  # straight
        assert np.ptp(rows[name][:, 0:2], axis=0).min() < 1e-15
    assert rows["c-d"][-1, 2:4] == pytest.approx([-0.25, 0.0], abs=1e-12)
    outward = rows["d-e"][:, 0:2] - [-0.04, 0.01]
    assert np.linalg.norm(outward, axis=1) == pytest.approx(np.full(len(outward), 0.06))
    turning = outward[:, 0] * rows["d-e"][:, 3] - outward[:, 1] * rows["d-e"][:, 2]
    assert (turning[:-1] > 0.0).all()  # to the left all the way, without a stop
    assert (len(rows["c"]), len(rows["e"])) == (3000, 1500)
    force = np.hypot(*rows["c"][:, 4:6].T)
    assert 1.5 * 2.0 < force.max() <= 1.7 * 2.0


# ---- letters and strokes --------------------------------------------------------------------------


def test_a_repeated_letter_takes_the_next_recording_and_starts_over_after_the_last():
    first = letter_indices("a")[0]
    assert letter_indices("aaaaaa") == [first, first + 1, first + 2, first + 3, first + 4, first]
    assert letter_indices("aba") == [first, letter_indices("b")[0], first + 1]


def test_upper_and_lower_case_are_the_same_letter():
    assert letter_indices("CuRve") == letter_indices("curve")


@pytest.mark.parametrize("text", ["f", "box", "a b", "aé"])
def test_an_unknown_letter_is_refused_with_the_letters_that_exist(text):
    unknown = next(letter for letter in text if letter not in "abcdeghlmnopqrsuvwyz")
    with pytest.raises(ParameterError) as error:
        letter_indices(text)
    expected = f"letters: {unknown!r} was not recorded, expected letters of abcdeghlmnopqrsuvwyz"
    assert str(error.value) == expected


def test_a_text_without_letters_is_refused():
    with pytest.raises(ParameterError, match="letters: expected one letter or more, got ''"):
        letter_indices("")


@pytest.mark.parametrize("index", [-1, 100])
def test_an_unknown_stroke_is_refused_with_the_numbers_that_exist(index):
    with pytest.raises(ParameterError, match=f"strokes: expected numbers from 0 to 99, got {index}"):
        stroke_plan(PERIOD, [0, index])


def test_no_strokes_at_all_are_refused():
    with pytest.raises(ParameterError, match="strokes: expected one number or more, got none"):
        stroke_plan(PERIOD, [])


def test_each_letter_is_a_named_phase_followed_by_a_rest_and_the_last_rest_is_twice_as_long():
    plan = word("ab", rest_duration=1.0)
    assert [(phase.name, phase.kind) for phase in plan.phases] == [
        ("a1", "slide"), ("rest 1", "rest"), ("to b2", "move"), ("b2", "slide"), ("rest 2", "rest")
    ]  # fmt: skip
    rests = [phase.end - phase.start for phase in plan.phases if phase.kind == "rest"]
    assert rests == pytest.approx([1.0, 2.0])


def width(plan: MotionPlan, name: str) -> float:
    phase = next(phase for phase in plan.phases if phase.name == name)
    return float(np.ptp(plan.table[round(phase.start / PERIOD) : round(phase.end / PERIOD), 0]))


def test_a_long_word_is_scaled_to_its_width_and_a_short_one_is_not():
    single, three, twelve = (word("a" * count) for count in (1, 3, 12))
    # pitch 45 mm: three letters fit the width of 140 mm, twelve need the factor 140/(12 x 45)
    assert width(three, "a1") == pytest.approx(width(single, "a1"), abs=1e-6)  # the first sample is cut off
    assert width(twelve, "a1") == pytest.approx(width(single, "a1") * 140 / (12 * 45), rel=1e-3)
    for plan in (three, twelve):
        assert np.ptp(plan.table[:, 0]) < 0.15  # a letter may be wider than its pitch


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.ones((5, 6)), r"table: expected shape \(5, 7\), got \(5, 6\)"),
        (np.ones((5, 20)), r"table: expected shape \(5, 7\), got \(5, 20\)"),
        (np.ones(7), r"table: expected shape \(7, 7\), got \(7,\)"),
        (np.zeros((0, 7)), r"table: expected one row or more, got shape \(0, 7\)"),
        (np.full((2, 7), np.nan), r"table: expected finite numbers, got nan at \[0, 0\]"),
        (np.full((2, 7), 1.5), r"table: grip: expected numbers from 0 to 1, got 1.5 at \[0\]"),
    ],
)
def test_a_table_that_compiled_code_would_read_wrongly_is_refused(table, message):
    with pytest.raises(ParameterError, match=message):
        MotionPlan(PERIOD, table, ())


def test_a_table_of_other_numbers_is_converted():
    given = np.ones((14, 5), dtype=np.int32).T[:, ::2]
    table = MotionPlan(PERIOD, given, ()).table
    assert table.dtype == float and table.flags.c_contiguous and (table == given).all()
    with pytest.raises(ParameterError, match=r"period: expected above 0 and finite \[s\], got 0.0"):
        MotionPlan(0.0, given, ())


def test_a_start_that_the_caller_changes_moves_no_plan():
    start, velocity = np.zeros(2), np.zeros(2)
    builder = PlanBuilder(PERIOD, start, velocity)
    start[0], velocity[0] = 0.06, 1.0
    builder.move("go", "slide", start, np.zeros(2), 1.0)
    assert abs(builder.build().table[0, :4]).max() < 1e-3


def test_phases_that_do_not_exist_or_are_in_another_order_are_refused_by_name():
    plan = PLANS["to_and_fro"]
    with pytest.raises(ValueError, match=r"first: expected one of stroke 1, .*, got 'x'"):
        plan.part("x")
    with pytest.raises(ValueError, match=r"last: expected one of stroke 1, .*, got 'y'"):
        plan.part("stroke 1", "y")
    with pytest.raises(ValueError, match="last: expected stroke 3 or a phase after it, got 'stroke 1'"):
        plan.part("stroke 3", "stroke 1")
