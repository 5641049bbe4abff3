"""The verdicts on the guided tool that no recording decides alone: each fails with one number altered."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from haptic_experiments.experiments.cobot_guided_tool import RunNumbers, _claims, _study_claims, pushing
from haptic_experiments.experiments.cobot_guided_tool.pushing import Difference, Energies, Tool
from haptic_experiments.experiments.cobot_guided_tool.split_limit import SplitLimit
from haptic_experiments.kit.composed import SplitAndImplicit
from haptic_experiments.kit.results import Claims

NO_DIFFERENCE = Difference(motion=0.0, contact=0.0, friction=0.0, bodies=[0.0], bodies_end=[0.0])
WORK = Energies(contact=-0.3, contact_made=0.001, friction=-0.7, friction_made=0.0)
NUMBERS = RunNumbers(
    latency_p50_p99={},
    step_time=SplitAndImplicit(0.0, 0.0),
    ticks=1000,
    missed_ticks=0,
    residual=0.0,
    surface=(0.0, 20.0),
    largest_contact=10.0,
    coefficient={"pressed": 0.1},
    path_length={"box": 0.1},
    energy=WORK,
    energy_implicit=WORK,
    kinetic_energy=0.1,
    chatter=0.02,
    chatter_implicit=0.01,
    against_split=NO_DIFFERENCE,
    against_implicit=NO_DIFFERENCE,
)
LIMIT = SplitLimit(stiffness=1e4, closed_form=0.1, split=0.1, implicit_varies=1e-9)
TOOLS = [Tool(0.5, 0.1, 0.1), Tool(0.2, 0.9, 0.1)]


def failed(
    monkeypatch: pytest.MonkeyPatch, numbers: RunNumbers = NUMBERS, limit: Any = LIMIT, tools: Any = TOOLS
) -> Any:
    """Texts of the claims that are not shown."""
    monkeypatch.setattr(pushing, "rest", lambda run: np.array([True]))
    parameters = {"friction": {"friction_coefficient": 0.1}, "device": {"command_delay_ticks": 0}}
    run: Any = SimpleNamespace(mode="lockstep", names=["box"])
    bag: Any = SimpleNamespace(parameters=parameters.__getitem__)
    claims = Claims()
    _claims(claims, "bag", run, numbers, bag)
    _study_claims(claims, [limit], tools)
    assert len(list(claims)) == 8 and all(claim.shown is not None for claim in claims)
    return [claim.text for claim in claims if not claim.shown]


def test_all_is_shown_with_good_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert failed(monkeypatch) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"residual": 1.1e-12}, "stays on its guide"),
        ({"coefficient": {"pressed": 0.1 + 1e-9}}, "Sliding friction is 0.1 times"),
        ({"chatter": 0.051}, "does not chatter"),
        ({"energy": replace(WORK, contact_made=0.021)}, "generate no significant energy"),
        (
            {"against_split": replace(NO_DIFFERENCE, motion=1e-15)},
            "The nodes are identical to the single-process reference",
        ),
        ({"against_implicit": replace(NO_DIFFERENCE, motion=1.6e-4)}, "moves tool and bodies along the same paths"),
        (
            {"against_implicit": replace(NO_DIFFERENCE, bodies_end=[2.1e-3])},
            "moves tool and bodies along the same paths",
        ),
    ],
)
def test_a_claim_on_the_run_fails_with_another_number(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], words: str
) -> None:
    (text,) = failed(monkeypatch, replace(NUMBERS, **change))
    assert words in text


def test_a_body_may_end_apart_by_a_share_of_its_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """2 % of 0.1 m."""
    near = replace(NO_DIFFERENCE, bodies_end=[1.9e-3])
    assert failed(monkeypatch, replace(NUMBERS, against_implicit=near)) == []


@pytest.mark.parametrize(
    ("limit", "tools", "words"),
    [
        (replace(LIMIT, split=0.107), TOOLS, "The lightest tool"),
        (replace(LIMIT, implicit_varies=1.1e-3), TOOLS, "The lightest tool"),
        (LIMIT, [Tool(0.19, 0.1, 0.1), TOOLS[1]], "The lightest tool"),
        (LIMIT, [TOOLS[0], Tool(0.2, 0.19, 0.1)], "A lighter tool hammers"),
        (LIMIT, [TOOLS[0], Tool(0.2, None, 0.1)], "A lighter tool hammers"),
    ],
)
def test_a_claim_on_lighter_tools_fails_with_another_number(
    monkeypatch: pytest.MonkeyPatch, limit: SplitLimit, tools: list[Tool], words: str
) -> None:
    (text,) = failed(monkeypatch, limit=limit, tools=tools)
    assert words in text
