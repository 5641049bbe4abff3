"""The report of friction_admittance: its claims on signals with known answers."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from admittance_runs import F, M, T, bag_of, drifting, five_bar, ideal_run, turned

from haptic_bags.bags import Bag
from haptic_devices.five_bar import friction_analysis
from haptic_experiments.experiments import friction_admittance
from haptic_experiments.experiments.friction_admittance import _claim_curve, analyse, manipulator
from haptic_experiments.experiments.friction_admittance.case import Case
from haptic_experiments.experiments.friction_admittance.grip import Stability
from haptic_experiments.experiments.friction_admittance.manipulator import Motion
from haptic_experiments.kit.results import Claims

#: places of the claims in the report of one bag
STRAIGHT, CURVE, REST, ISOTROPY, ANNIHILATION, MASS, MODEL_C, PARALLEL = range(8)
#: what the stability part of the metrics says in tests of other parts
STABILITY = Stability(
    smallest_mass={"1": [1.2, 1.2], "4": [2.1, 2.3]},
    shaking=[(1.0, 1.0, 0.1), (1.0, 2.0, 0.0), (4.0, 1.0, 0.1), (4.0, 2.0, 0.1)],
    delay=0,
)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves out the stability map, which has tests of its own in haptic_devices."""
    monkeypatch.setattr(friction_admittance, "stability", lambda *arguments: STABILITY)
    monkeypatch.setattr(friction_admittance, "draw_map", lambda *arguments: None)


def judged(*bags: Bag) -> list[bool | None]:
    names = ("bag", *(f"bag_{n}" for n in range(1, len(bags))))
    return [claim.shown for claim in analyse(dict(zip(names, bags, strict=True))).claims]


def changed(**signals: np.ndarray) -> Bag:
    return bag_of(replace(ideal_run(), **signals))


@pytest.mark.usefixtures("quick")
def test_the_ideal_run_shows_every_claim_that_it_reaches() -> None:
    assert judged(bag_of(ideal_run())) == [True] * 5 + [None] * 3  # the smallest mass is a finding


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_each_claim_fails_where_it_does_not_hold() -> None:
    motion = Motion.of(ideal_run())
    slides = ideal_run().during("slide")[:, None]
    felt = friction_analysis.tool_forces(
        five_bar(), ideal_run().joints, manipulator.friction_torque(five_bar(), ideal_run())
    )
    cases = {
        # inertia alone turns the force in the first
        STRAIGHT: [
            bag_of(ideal_run(wobble=1.5e-3)),
            changed(force=turned(ideal_run().force, 0.2)),
            changed(force=ideal_run().force * np.where(slides, 1.1, 1.0)),
        ],
        CURVE: [
            changed(force=np.where(slides, F * motion.along, ideal_run().force)),
            changed(force=ideal_run().force + 0.2 * M * motion.normal[:, None] * motion.inside),
        ],
        REST: [changed(target_velocity=ideal_run().target_velocity + 1e-12)],
        ISOTROPY: [changed(force=np.where(motion.along[:, :1] > 0.9, 1.2, 1.0) * ideal_run().force)],
        ANNIHILATION: [changed(force=ideal_run().force + np.where(slides, 0.02, 0.0) * felt)],
    }
    for place, bags in cases.items():
        for bag in bags:
            assert judged(bag)[place] is False, place


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("share", [0.9, 1.1])
def test_a_drift_of_one_encoder_count_is_the_limit(share: float) -> None:
    count = 6.283e-6 * 0.3
    assert judged(bag_of(drifting(share * count)))[REST] is (share < 1.0)


@pytest.mark.usefixtures("quick")
def test_a_rest_above_the_friction_does_not_reach_the_claim() -> None:
    rests = ideal_run().during("rest")[:, None]
    strong = np.where(rests, 2.0, 1.0) * ideal_run().force
    assert judged(changed(force=strong))[REST] is None
    # the Stribeck law holds until its static force
    assert judged(bag_of(replace(ideal_run(), force=strong), law="stribeck", static_force=9.0))[REST] is True


def test_the_smallest_mass_is_a_finding_whatever_the_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(friction_admittance, "draw_map", lambda *arguments: None)
    changes: list[dict[str, Any]] = [{}, {"smallest_mass": {"1": [1.2, 1.2], "4": [0.9, 2.3]}}]
    for change in changes:
        monkeypatch.setattr(friction_admittance, "stability", lambda *arguments, c=change: replace(STABILITY, **c))
        claim = analyse({"bag": bag_of(ideal_run())}).claims[MASS]
        assert claim.shown is None and not claim.judged and claim.verdict == "a finding, not judged"
        assert "assumption: the gears have an elasticity" in claim.measured
        assert f"{replace(STABILITY, **change).smallest_mass['4'][0]:.2f} kg in one 4 times as firm" in claim.measured


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_compensation_is_judged_against_the_run_without_at_the_same_delay() -> None:
    late = replace(ideal_run(), target=ideal_run().target + 1e-4)
    bare, parallel = bag_of(late, delay=1), bag_of(ideal_run(), delay=1, compensation="parallel")
    verdicts = judged(bare, parallel, bag_of(ideal_run()))[-2:]
    assert verdicts == [None, True]
    assert judged(bag_of(late), parallel)[-2:] == [None, None]  # another delay
    assert judged(bag_of(ideal_run(), delay=1), bag_of(late, delay=1, compensation="model_c"))[-2:] == [False, None]


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "friction", [{"model": "D"}, {"model": "lugre"}, {"law": "table"}, {"friction_force": 0.0}], ids=str
)
def test_other_models_and_no_friction_have_numbers_and_a_figure_but_no_verdict(friction: dict[str, Any]) -> None:
    report = analyse({"bag": bag_of(ideal_run(), **friction)})
    verdicts = [claim.shown for claim in report.claims]
    assert [verdicts[place] for place in (STRAIGHT, CURVE, REST, ISOTROPY, ANNIHILATION)] == [None] * 5
    assert "M v²/R" in report.claims[CURVE].measured and report.figure.axes


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("duration", [0.002, 0.4, 2.3])
def test_a_run_that_is_cut_has_a_figure_and_claims_that_are_not_reached(duration: float) -> None:
    n = round(duration / T)
    signals = {name: value[:n] for name, value in vars(ideal_run()).items() if isinstance(value, np.ndarray)}
    report = analyse({"bag": bag_of(replace(ideal_run(), **signals))})
    assert report.claims[REST].shown is None and report.claims[CURVE].shown is None
    json.dumps(report.metrics, allow_nan=False)
    report.figure.canvas.draw()


@pytest.mark.slow
def test_the_map_is_that_of_the_suite_s_hand_whoever_holds_the_grip() -> None:
    bag = bag_of(ideal_run())
    bag.events[0].detail["hand"].update(stiffness=2000.0, damping=60.0, mass=0.8)  # four times that would be refused
    report = analyse({"bag": bag})
    assert report.metrics["stability"]["smallest_mass"]["4"][0] == pytest.approx(2.12, abs=0.03)
    (star,) = [line for axes in report.figure.axes for line in axes.get_lines() if line.get_marker() == "*"]
    assert star.get_xydata()[0] == pytest.approx([2000.0, M])


def test_without_a_hand_or_with_an_unknown_device_there_is_no_map() -> None:
    case = Case.of(bag_of(ideal_run(), held=False))
    assert friction_admittance.stability(case.device, case.hand, case.settings) is None
    report = analyse({"bag": bag_of(ideal_run(), device={"length": 1.0})})
    assert [report.claims[place].shown for place in (REST, ISOTROPY, ANNIHILATION, MASS)] == [None] * 4
    assert report.claims[STRAIGHT].shown is True
    report.figure.canvas.draw()


@pytest.mark.slow
def test_the_report_with_its_map() -> None:
    bags = {"bag": bag_of(ideal_run()), "bag_delayed": bag_of(ideal_run(), delay=1)}
    report = analyse(bags)
    assert len(report.claims) == 9 and not report.claims[6].judged
    found = report.metrics["stability"]
    # the table in five_bar.yaml
    assert found["smallest_mass"]["1"] == pytest.approx([1.16, 1.20], abs=0.02)
    assert found["smallest_mass"]["4"] == pytest.approx([2.12, 2.30], abs=0.03)
    assert report.metrics["encoder_count_at_tool"] == pytest.approx(6.283e-6 * 0.3)
    json.dumps(report.metrics, allow_nan=False)
    letters = {note.get_text() for axes in report.figure.axes for note in axes.texts}
    assert {"a", "b", "c", "d", "e"} <= letters
    report.figure.canvas.draw()


@pytest.mark.parametrize(("share", "shown"), [(0.95, True), (0.9499, False)])
def test_the_curve_needs_at_least_95_percent_of_its_samples(share: float, shown: bool) -> None:
    curve = SimpleNamespace(mean_inward=1.0, mean_expected=1.0, median_slant=0.1, inward_share=share)
    curve.largest_inward = curve.largest_expected = curve.difference_rms = 1.0
    claims = Claims()
    _claim_curve(claims, cast("Any", [SimpleNamespace(curve=curve)]))
    assert claims[0].shown is shown and "(at least 95 %)" in claims[0].measured
