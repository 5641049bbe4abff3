"""An arm that moves a ball by inputs found through contact: cost of each iteration, contacts found, times."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from convex_contact.control.actuated_world import DifferencedWorld
from convex_contact.control.ilqr import Iteration, Trajectory, cost_gradient, simulate
from convex_contact.scenes.pushing_arm import PERIOD, Push, push, touches
from haptic_experiments.experiments.arm_pushes_ball import CAPTION, draw, in_words, optimisation_claims
from haptic_experiments.kit.results import ResultTable, plain
from haptic_experiments.study import Results, Study, StudyReport

#: directions and step (N m) of the differences that the gradient is compared with, and largest relative error
DIRECTIONS, DIFFERENCE, AGREES = 5, 1e-5, 1e-4


class PushSettings(BaseModel):
    """The study's arguments."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    target_x: float = Field(default=0.55, ge=-1.0, le=1.0, description="where the ball shall be at the end [m]")
    target_y: float = Field(default=0.12, ge=-1.0, le=1.0, description="likewise [m]")
    effort_limit: float = Field(default=20.0, gt=0.0, le=1000.0, description="of each joint [N m]")
    stiffness: float = Field(default=2e3, gt=0.0, le=1e9, description="of all contacts, combined [N/m]")
    friction: float = Field(default=0.5, ge=0.0, le=10.0, description="of all contacts, combined")
    approximation: Literal["sap", "lagged", "lagged_regularized", "similar", "similar_regularized"] = Field(
        default="lagged", description="of contact"
    )
    stiction_tolerance: float = Field(default=1e-2, gt=0.0, le=10.0, description="v_s [m/s]")
    max_iterations: int = Field(default=100, ge=1, le=10000, description="of the optimisation at most")
    tolerance: float = Field(default=1e-3, ge=0.0, le=1.0, description="relative fall of the cost at which it ends")
    differences: bool = Field(default=True, description="also with derivatives by differences")

    def problem(self) -> Push:
        """Makes the problem of these arguments."""
        names = ("target_x", "target_y", "effort_limit", "stiffness", "friction", "approximation", "stiction_tolerance")
        return push(**{name: getattr(self, name) for name in names})


@dataclass(frozen=True)
class Optimisation:
    """One optimisation."""

    settings: PushSettings  #: settings of the study
    differences: bool  #: derivatives are central differences of the same steps

    def run(self) -> dict[str, np.ndarray]:
        """Solves the problem: motion, costs, processor time of each iteration and of a linearisation [s]."""
        problem, settings = self.settings.problem(), self.settings
        if self.differences:
            system = problem.system
            options: dict[str, Any] = {
                "approximation": settings.approximation,
                "stiction_tolerance": settings.stiction_tolerance,
            }
            other = DifferencedWorld(system.world, period=PERIOD, **options)
            problem = Push(other, problem.cost, problem.guess, problem.limit, problem.target)
        system, start = problem.system, problem.system.start
        states, _ = simulate(system, problem.cost, start, problem.guess)
        spent = []
        for _ in range(3):  # the first one may compile
            before = time.process_time()
            system.linearize(states, problem.guess)
            spent.append(time.process_time() - before)
        times = [time.process_time()]

        def note(number: int, iteration: Iteration) -> None:
            times.append(time.process_time())

        found = problem.solve(max_iterations=settings.max_iterations, tolerance=settings.tolerance, report=note)
        errors = np.zeros(0) if self.differences else gradient_errors(problem, problem.guess)
        return {
            "states": found.states,
            "inputs": found.inputs,
            "costs": found.costs,
            "steps": np.array([i.step for i in found.iterations]),
            "regularization": np.array([i.regularization for i in found.iterations]),
            "gradient": np.array([i.gradient for i in found.iterations] + [found.gradient]),
            "converged": np.array(found.converged),
            "iteration_time": np.diff(times),
            "linearization_time": np.array(min(spent)),
            "gradient_errors": errors,
        }


def gradient_errors(problem: Push, inputs: np.ndarray) -> np.ndarray:
    """Computes relative errors of the cost's gradient along random directions, against central differences."""
    system, cost, start = problem.system, problem.cost, problem.system.start
    states, _ = simulate(system, cost, start, inputs)
    gradient, random, out = cost_gradient(system, cost, states, inputs), np.random.default_rng(1), []
    for _ in range(DIRECTIONS):
        d = random.normal(size=inputs.shape)
        high, low = (simulate(system, cost, start, inputs + s * DIFFERENCE * d)[1] for s in (1.0, -1.0))
        slope = (high - low) / (2.0 * DIFFERENCE)
        out.append(abs(float((gradient * d).sum()) - slope) / abs(slope))
    return np.array(out)


def tasks(settings: PushSettings) -> Mapping[str, Optimisation]:
    """Makes the task with derivatives, and the one with differences if the settings have it."""
    chosen = {"derivatives": Optimisation(settings, False)}
    if settings.differences:
        chosen["differences"] = Optimisation(settings, True)
    return chosen


def report(settings: PushSettings, results: Results, directory: Path) -> StudyReport:
    """Makes the report: costs, contacts, times, claims."""
    del directory
    problem, own = settings.problem(), results["derivatives"]
    costs, states, inputs = own["costs"], own["states"], own["inputs"]
    solved = Trajectory(
        states, inputs, np.zeros(0), float(costs[-1]), float(own["gradient"][-1]), bool(own["converged"]), "", costs[0]
    )
    found = touches(problem.system, solved)
    claims = optimisation_claims(problem, costs, states, inputs, found)
    worst = float(own["gradient_errors"].max())
    claims.below(
        "The cost's gradient through contact is that of central differences, at the first guess.",
        worst, AGREES, about=f"largest relative error along {DIRECTIONS} random directions",
    )  # fmt: skip
    timings = {
        "iteration, median": float(np.median(own["iteration_time"])),
        "linearization": float(own["linearization_time"]),
    }
    metrics: dict[str, Any] = {
        "iterations": len(costs) - 1,
        "converged": bool(own["converged"]),
        "costs": costs,
        "largest_gradient": own["gradient"],  # by an effort, before each iteration and at the end [1/(N m)]
        "gradient_error": worst,
        "touches": found,
    }
    others = {}
    if "differences" in results:
        other = results["differences"]
        others["central differences of the steps"] = other["costs"]
        timings["iteration with differences, median"] = float(np.median(other["iteration_time"]))
        timings["linearization with differences"] = float(other["linearization_time"])
        ratio = timings["linearization with differences"] / timings["linearization"]
        metrics["costs_with_differences"] = other["costs"]
        claims.say(
            "The derivatives are cheaper than differences of the same steps, and lead to the same cost.",
            f"{1e3 * timings['linearization']:.0f} ms of processor per linearisation, differences {ratio:.1f} times as "
            f"long; cost {costs[-1]:.6g} after {len(costs) - 1} iterations, with differences {other['costs'][-1]:.6g} "
            f"after {len(other['costs']) - 1} (limit 5 %)",
            ratio > 1.0 and abs(other["costs"][-1] - costs[-1]) < 0.05 * costs[-1],
        )
    columns = zip(costs[1:], own["steps"], own["regularization"], own["gradient"][:-1], strict=True)
    rows = [
        (str(k), f"{cost:.6g}", f"{step:g}", f"{mu:.1e}", f"{gradient:.2e}")
        for k, (cost, step, mu, gradient) in enumerate(columns, start=1)
    ]
    tables = [
        ResultTable("Iterations", ("iteration", "cost after it", "step", "mu", "largest gradient before it"), rows),
        ResultTable("Contacts found", ("",), [(part,) for part in in_words(found).split("; ")]),
    ]
    figure = draw(problem, costs, states, inputs, found, others)
    return StudyReport(plain(metrics), claims, {"arm_pushes_ball": (figure, CAPTION)}, tables, timings)


STUDY = Study(
    title="Trajectory optimisation through contact: an arm moves a ball",
    paper="Castro et al., section XII-D, Fig. 25; Kurtz and Lin 2022",
    summary="iLQR with the derivatives of steps with contact finds efforts with which an arm moves a ball on a "
    "plane to a target in 0.5 s; no contact sequence is given. The same with derivatives by differences.",
    settings=PushSettings,
    tasks=tasks,
    report=report,
    workers=1,
)
