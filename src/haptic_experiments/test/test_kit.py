"""Claims, common ticks and panels, of which every report is made."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from haptic_bags.ticks import Ticks
from haptic_core.errors import HapticError
from haptic_experiments.kit.figures import Curve, Panel, panels
from haptic_experiments.kit.phases import PhasedRun
from haptic_experiments.kit.results import HIDDEN, MERGED, OPTIONAL, Claims, Report, key, plain
from haptic_experiments.kit.signals import Counts, Percentiles, Spread, path_length, worst


@dataclass(frozen=True)
class Part:
    inside: float
    start: float = field(default=0.5, metadata=key("from"))


@dataclass(frozen=True)
class Numbers:
    part: Part
    merged: Part | None = field(metadata=MERGED)
    optional: float | None = field(metadata=OPTIONAL)
    missing: float | None = None
    drawn: float = field(default=3.0, metadata=HIDDEN)


def test_numbers_become_what_metrics_json_has() -> None:
    whole = Numbers(part=Part(1.0), merged=Part(2.0), optional=4.0)
    part = {"inside": 1.0, "from": 0.5}
    assert plain(whole) == {"part": part, "inside": 2.0, "from": 0.5, "optional": 4.0, "missing": None}
    assert plain(Numbers(part=Part(1.0), merged=None, optional=None)) == {"part": part, "missing": None}


def test_arrays_and_numbers_of_numpy_become_those_of_python() -> None:
    pair = namedtuple("pair", "one other")
    values = [np.arange(2), np.float64(0.5), np.bool_(True), (np.int32(3), float("nan")), pair(np.inf, "word")]
    found = plain({"values": values})
    assert found == {"values": [[0, 1], 0.5, True, [3, None], {"one": None, "other": "word"}]}
    assert [type(x) for x in (found["values"][0][1], found["values"][2])] == [int, bool]


def test_a_report_converts_its_numbers_once() -> None:
    report = Report({"runs": {"bag": Part(np.float64(1.0))}}, [], Figure, "")
    assert report.metrics == {"runs": {"bag": {"inside": 1.0, "from": 0.5}}}
    report.metrics["safety"] = 1
    assert "safety" in report.metrics


def test_measures_of_signals() -> None:
    values = np.array([-4.0, 0.0, 3.0])
    assert Spread.of(values).largest == 4.0 and Spread.of(values).rms == pytest.approx(np.sqrt(25.0 / 3.0))
    assert Counts.of(np.array([9, 1, 2]), first=1) == Counts(mean=1.5, largest=9)
    assert Percentiles.of(np.arange(101.0)) == Percentiles(p50=50.0, p99=99.0)
    assert path_length(np.array([[[0.0, 0.0]], [[3.0, 4.0]], [[0.0, 0.0]]])) == pytest.approx([10.0])
    assert worst([None, Part(1.0), Part(-2.0)], lambda part: part.inside) == Part(-2.0)
    assert worst([None], lambda part: 0.0) is None


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.9, True), (1.0, False), (1.1, False), (float("nan"), False), (float("inf"), False), (None, None)],
)
def test_below_judges_by_the_limit_that_it_states(value: float | None, shown: bool | None) -> None:
    claims = Claims()
    claims.below("The depth is small.", value, 1.0, "mm", about="depth")
    assert claims[0].shown is shown
    assert value is None or ("below 1 mm" in claims[0].measured and claims[0].measured.startswith("depth "))


@pytest.mark.parametrize(("value", "shown"), [(0.9, False), (1.0, True), (float("nan"), False), (None, None)])
def test_at_least_judges_by_the_limit_that_it_states(value: float | None, shown: bool | None) -> None:
    claims = Claims()
    claims.at_least("The wall is stiff.", value, 1.0, "kN/m")
    assert claims[0].shown is shown
    assert value is None or claims[0].measured == f"{value:.4g} kN/m (at least 1 kN/m)"


@pytest.mark.parametrize(
    ("value", "shown"), [(2.0, True), (2.11, True), (2.13, False), (1.87, False), (float("nan"), False)]
)
def test_near_judges_by_the_sum_of_both_differences(value: float, shown: bool) -> None:
    claims = Claims()
    claims.near("The mass is found.", value, 2.0, "kg", absolute=0.02, relative=0.05)
    assert claims[0].shown is shown and "expected 2 kg, within 0.12 kg" in claims[0].measured


def test_claim_of_identity_allows_no_difference() -> None:
    claims = Claims()
    claims.identical("Nodes and graph agree.", {"motion [m]": 0.0, "force [N]": 0.0})
    claims.identical("Nodes and graph agree.", {"motion [m]": 0.0, "force [N]": 5e-324})
    claims.identical("Nodes and graph agree.", {"motion [m]": float("nan")})
    assert [claim.shown for claim in claims] == [True, False, False]


def test_each_needs_the_condition_in_every_case() -> None:
    claims = Claims()
    claims.each("Pushes are small.", [("1 mm", True), ("2 mm", True)], " (limit 3 mm)")
    claims.each("Pushes are small.", [("1 mm", True), ("4 mm", False)], between=", ")
    claims.each("Pushes are small.", [], unless="no push")
    assert [claim.measured for claim in claims] == ["1 mm; 2 mm (limit 3 mm)", "1 mm, 4 mm", "no push"]
    assert [claim.shown for claim in claims] == [True, False, None]


def test_a_level_line_spans_the_axis_and_is_empty_without_one() -> None:
    line = Curve.level(np.array([1.0, 2.0, 5.0]), 3.0, "limit", color="k")
    assert line.x.tolist() == [1.0, 5.0] and line.y.tolist() == [3.0, 3.0]
    assert line.label == "limit" and line.style == {"color": "k"}
    assert len(Curve.level(np.zeros(0), 3.0).y) == 0


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("tau_rough_wall", "Rubbing", "WallFrictionRun"),
        ("touch", "given_way", "moved_bodies"),
        ("touch_clutter", "judge_coupling", "claim_coupling"),
        ("touch_clutter", "judge_depth", "claim_depth"),
    ],
)
def test_old_names_lead_to_the_new_ones_and_warn(module: str, old: str, new: str) -> None:
    found = import_module(f"haptic_experiments.experiments.{module}")
    with pytest.warns(DeprecationWarning, match=new):
        assert getattr(found, old) is getattr(found, new)


def test_claim_with_a_reason_has_no_verdict() -> None:
    claims = Claims()
    claims.say("It holds.", "number", True, unless="ticks were missed")
    claims.below("It holds.", 0.5, 1.0, unless="no rest")
    assert [(claim.measured, claim.shown) for claim in claims] == [("ticks were missed", None), ("no rest", None)]


def table(ticks: list[int], **columns: object) -> dict[str, object]:
    return {"tick": np.array(ticks, dtype=np.uint64), **columns}


def test_common_ticks_take_the_right_rows_of_every_topic() -> None:
    force = [np.ones(n) for n in (1, 2, 3)]  # of varying length
    topics = {
        "device_state": table([0, 1, 2, 3, 5], period=np.full(5, 1e-3), place=np.arange(5.0)),
        "wall/state": table([1, 3, 4], force=force),
    }
    ticks = Ticks.align(Path("bag"), topics)
    assert ticks.tick.tolist() == [1, 3] and ticks.period == 1e-3
    np.testing.assert_array_equal(ticks.time, [1e-3, 3e-3])
    assert ticks["device_state"]["place"].tolist() == [1.0, 3.0]
    assert [len(row) for row in ticks["wall/state"]["force"]] == [1, 2]


def test_an_answer_that_acts_later_and_messages_that_do_not_count() -> None:
    topics = {"device_state": table([0, 1, 2, 3], place=np.arange(4.0)), "state": table([0, 1, 2], due=np.arange(3.0))}
    ticks = Ticks.align(Path("bag"), topics, shift={"state": 1}, keep={"device_state": np.arange(4) != 2})
    assert ticks.tick.tolist() == [1, 3]
    assert ticks["device_state"]["place"].tolist() == [1.0, 3.0] and ticks["state"]["due"].tolist() == [0.0, 2.0]


def test_too_few_common_ticks_are_one_clear_error() -> None:
    topics = {"device_state": table([0, 1]), "state": table([1, 2])}
    with pytest.raises(HapticError, match=r"^runs/bag: too short for a report \(1 ticks that all topics have\)$"):
        Ticks.align(Path("runs/bag"), topics)


def test_panels_draw_every_curve_and_shade_the_phases_within_the_run() -> None:
    phases = [{"name": kind, "kind": kind, "start": s, "end": s + 2.0} for kind, s in (("push", 0.5), ("tap", 2.0))]
    run = PhasedRun(period=0.1, time=np.linspace(0.0, 1.0, 11), phases=phases)
    curves = [Curve(run.time, run.time**k, f"order {k}") for k in (1, 2)]
    first = Panel("distance (mm)", curves, settings={"ylim": (0.0, 2.0)}, shaded=run)
    figure = panels(first, [Panel("force (N)", curves[:1]), Panel("effort (N m)", [])], size=(8, 6))
    assert isinstance(figure, Figure) and len(figure.axes) == 3
    wide, left, right = figure.axes
    assert [len(axes.lines) for axes in (wide, left, right)] == [2, 1, 0]
    assert wide.get_ylabel() == "distance (mm)" and wide.get_xlabel() == "time (s)" and wide.get_ylim() == (0.0, 2.0)
    assert len(wide.patches) == 1 and wide.patches[0].get_extents().width > 0.0
    assert wide.get_legend() is not None and right.get_legend() is None


def test_several_numbers_have_limits_of_their_own() -> None:
    claims = Claims()
    claims.all_below("Both are small.", {"depth [µm]": (29.0, 100.0), "force [N]": (0.5, 1.0)}, about="at rest:")
    claims.all_below("Both are small.", {"depth [µm]": (29.0, 100.0), "force [N]": (1.0, 1.0)})
    claims.all_below("Nothing is known.", {})
    claims.all_below("Nothing can be known.", {"depth [µm]": (29.0, 100.0)}, unless="it did not rest")
    claims.all_near("All are alike.", {"fast": 0.299, "slow": 0.301}, 0.3, relative=0.01)
    claims.all_near("All are alike.", {"fast": 0.299, "slow": 0.31}, 0.3, absolute=0.01)
    claims.all_near("All are alike.", {}, 0.3, absolute=0.01)
    assert [claim.shown for claim in claims] == [True, False, None, None, True, False, None]
    assert claims[0].measured == "at rest: depth [µm] 29 (below 100); force [N] 0.5 (below 1)"
    assert claims[3].measured == "it did not rest"
    assert claims[4].measured == "fast 0.299, slow 0.301 (expected 0.3, within 0.003)"


def test_a_claim_about_nothing_is_not_shown() -> None:
    claims = Claims()
    claims.identical("the same", {})
    claims.each("every case", [])
    assert [claim.verdict for claim in claims] == ["not reached in this run"] * 2


def test_a_tolerance_includes_its_end() -> None:
    claims = Claims()
    claims.near("one", 1.0, 1.0)
    claims.all_near("all", {"first": 1.0}, 1.0)
    assert [claim.shown for claim in claims] == [True, True]


def test_a_finding_stays_a_finding_when_claims_are_set_aside() -> None:
    claims = Claims()
    claims.below("small", 1.0, 2.0)
    claims.note("found", "3")
    claims.set_aside("another model")
    assert [claim.verdict for claim in claims] == ["not reached in this run", "a finding, not judged"]
