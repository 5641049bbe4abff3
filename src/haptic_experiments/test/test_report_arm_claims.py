"""The verdicts on arm_pushes_ball: each fails just beyond its limit, and with motions that are altered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from convex_contact.scenes.pushing_arm import HAND, STEPS, Touch
from haptic_experiments.experiments import arm_pushes_ball
from haptic_experiments.experiments.arm_pushes_ball import analyse
from haptic_experiments.kit.results import AFTER_DATA, Claim

START, TARGET = np.array([0.36, 0.0, 0.05]), np.array([0.55, 0.12])
PUSH = Touch((HAND, "ball"), 6, 8, 9.5, 0.0)
ARRIVES, PLAYS, FOUND, LOWERS = (
    "The arm moves the ball to the target",
    "The node plays the optimised inputs",
    "Contacts are found",
    "The optimisation lowers the cost",
)


def path(arrives: float = 1.0) -> np.ndarray:
    """A ball that goes a fraction of the line to the target."""
    end = np.array([*TARGET, START[2]])
    return START + arrives * np.linspace(0.0, 1.0, STEPS + 1)[:, None] * (end - START)


@dataclass
class Case:
    """What the report computes and reads."""

    optimised: np.ndarray = field(default_factory=path)
    played: np.ndarray = field(default_factory=path)
    costs: Sequence[float] = (50.0, 20.0, 1.3)
    touches: Sequence[Touch] = (PUSH,)

    def claims(self, monkeypatch: pytest.MonkeyPatch) -> list[Claim]:
        """The claims of the report."""
        problem = SimpleNamespace(
            system=None, target=TARGET, limit=20.0, ball_path=lambda states: (states, np.gradient(states, axis=0))
        )
        solved = SimpleNamespace(
            states=self.optimised,
            inputs=np.full((STEPS, 3), 9.0),
            costs=np.array(self.costs),
            iterations=self.costs[1:],
            converged=True,
            reason="cost",
        )
        run: Any = SimpleNamespace(
            tick=np.arange(len(self.played)), position=self.played[:, None], body=lambda name: 0, parameters={}
        )
        monkeypatch.setattr(arm_pushes_ball, "runs_of", lambda bags: {"lagged": run})
        monkeypatch.setattr(arm_pushes_ball, "problem_of", lambda run: (problem, solved))
        monkeypatch.setattr(arm_pushes_ball, "touches", lambda system, solved: self.touches)
        return analyse({}).claims


def failed(case: Case, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Texts of the claims that are not shown."""
    claims = case.claims(monkeypatch)
    assert len(claims) == 5 and all(claim.shown is not None for claim in claims if claim.judged)
    return [claim.text for claim in claims if claim.shown is False]


def test_all_is_shown_with_good_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    claims = Case().claims(monkeypatch)
    assert [claim.shown for claim in claims] == [True] * 4 + [None]
    assert AFTER_DATA in claims[3].measured and claims[4].measured.startswith("9.000 N m")


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (Case(path(0.951), path(0.951)), []),
        (Case(path(0.949), path(0.949)), [ARRIVES]),
        (Case(path(0.0), path(0.0)), [ARRIVES]),
        (Case(played=path() + 0.99e-6), []),
        (Case(played=path() + 1.01e-6), [PLAYS]),
        (Case(played=path(0.0)), [PLAYS]),
        (Case(touches=()), [FOUND]),
        (Case(touches=(Touch((HAND, "floor"), 6, 8, 9.5, 0.0),)), [FOUND]),
        (Case(costs=(50.0, 20.0, 4.9)), []),
        (Case(costs=(50.0, 20.0, 5.1)), [LOWERS]),
        (Case(costs=(50.0, 1.0, 60.0)), [LOWERS]),
    ],
)
def test_a_claim_fails_with_an_altered_motion(case: Case, words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    found = failed(case, monkeypatch)
    assert len(found) == len(words)
    assert all(text.startswith(start) for text, start in zip(found, words, strict=True))


def test_ticks_that_are_missing_leave_the_played_motion_unjudged(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(played=path())
    claims = case.claims(monkeypatch)
    assert claims[1].shown is True
    run = arm_pushes_ball.runs_of({})["lagged"]
    run.tick[5:] += 1
    assert analyse({}).claims[1].shown is None
