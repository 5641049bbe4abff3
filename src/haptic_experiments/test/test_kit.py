"""Claims, common ticks and panels, of which every report is made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from haptic_bags.ticks import Ticks
from haptic_core.errors import HapticError
from haptic_experiments.kit.figures import Curve, Panel, panels
from haptic_experiments.kit.phases import PhasedRun
from haptic_experiments.kit.results import Claims


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


def test_identical_bears_no_difference_at_all() -> None:
    claims = Claims()
    claims.identical("Nodes and graph agree.", {"motion [m]": 0.0, "force [N]": 0.0})
    claims.identical("Nodes and graph agree.", {"motion [m]": 0.0, "force [N]": 5e-324})
    claims.identical("Nodes and graph agree.", {"motion [m]": float("nan")})
    assert [claim.shown for claim in claims] == [True, False, False]


def test_a_reason_leaves_a_claim_unjudged_whatever_was_measured() -> None:
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
    run = PhasedRun()
    run.time, run.period = np.linspace(0.0, 1.0, 11), 0.1
    run.phases = [{"name": kind, "kind": kind, "start": s, "end": s + 2.0} for kind, s in (("push", 0.5), ("tap", 2.0))]
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
