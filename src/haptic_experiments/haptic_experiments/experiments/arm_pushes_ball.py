"""Report of the arm that moves a ball to a target by optimised inputs: section XII-D and Fig. 25 of Castro et al."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from convex_contact.control.ilqr import Trajectory
from convex_contact.scenes.pushing_arm import BALL_RADIUS, HAND, HAND_RADIUS, PERIOD, Push, Touch, push, touches
from haptic_bags.bags import Bag
from haptic_core.errors import HapticError
from haptic_core.parameters import entry_values
from haptic_experiments.kit.contact import ContactRun, runs_of
from haptic_experiments.kit.figures import Curve, Panel, panels
from haptic_experiments.kit.results import AFTER_DATA, Claims, Report

ARRIVED = 0.05  #: distance of an arrived ball from the target, at most, as a fraction of its path [-]
LOWERED = 0.1  #: fraction of the first guess's cost below which an optimisation ends [-]
PLAYED = 1e-6  #: largest distance of the node's motion from the optimised one, by its solver's tolerance [m]


@dataclass(frozen=True)
class Numbers:
    """Numbers of the run."""

    approximation: str  #: name of the variant, the contact model's approximation
    iterations: int  #: number of iterations of the optimisation
    converged: bool  #: whether the optimisation ended by its tolerance
    reason: str  #: reason why the optimisation ended
    costs: np.ndarray  #: cost of the first guess and after each iteration (k,)
    distance_from_target: float  #: distance of the optimised ball from the target at the end [m]
    speed_at_the_end: float  #: speed of the optimised ball at the end [m/s]
    #: largest distance of the node's ball from the optimised motion [m]; None if the run has not every tick
    played_apart: float | None
    largest_effort: float  #: largest effort of a joint [N m]
    touches: Sequence[Touch]  #: contacts of the optimised motion, in their order


def problem_of(run: ContactRun) -> tuple[Push, Trajectory]:
    """Solves the problem of a run's node again.

    Raises:
        HapticError: The run's world is another one, or its steps are not those that were optimised.
    """
    if run.parameters["world"] != "convex_contact.pushing_arm:arm_pushes_ball":
        raise HapticError(f"the report needs the world of arm_pushes_ball, the run has {run.parameters['world']}")
    if abs(run.step - PERIOD) > 1e-12:
        raise HapticError(f"the report needs steps of {PERIOD:g} s, which were optimised; the run has {run.step:g} s")
    numbers: dict[str, Any] = entry_values(run.parameters["world_parameters"])
    iterations, tolerance = int(numbers.pop("max_iterations", 100)), float(numbers.pop("tolerance", 1e-3))
    problem = push(**numbers)
    return problem, problem.solve(max_iterations=iterations, tolerance=tolerance)


def in_words(found: Sequence[Touch]) -> str:
    """Describes a contact sequence."""
    names = {HAND: "hand"}
    return "; ".join(
        f"{' and '.join(names.get(body, body) for body in touch.bodies)} {1e3 * PERIOD * touch.first:.0f} to "
        f"{1e3 * PERIOD * (touch.last + 1):.0f} ms, up to {touch.force:.1f} N, {100 * touch.sticking:.0f} % sticking"
        for touch in found
    )


def optimisation_claims(
    problem: Push, costs: np.ndarray, states: np.ndarray, inputs: np.ndarray, found: Sequence[Touch]
) -> Claims:
    """Makes the claims about any solution: costs (k,), states (n, s) and inputs (n, joints) [N m]."""
    path, speed = problem.ball_path(states)
    start, left = (float(np.linalg.norm(problem.target - path[k, :2])) for k in (0, -1))
    effort = float(np.abs(inputs).max())
    claims = Claims()
    claims.say(
        "The arm moves the ball to the target position (Fig. 25).",
        f"{1e3 * left:.2f} mm from it (limit {100 * ARRIVED:g} %) after {1e3 * start:.0f} mm, at "
        f"{np.linalg.norm(speed[-1]):.3f} m/s",
        left < ARRIVED * start,
    )
    pushes = any(set(touch.bodies) == {HAND, "ball"} for touch in found)
    claims.say("Contacts are found, not given.", in_words(found) or "none", pushes)
    claims.say(
        "The optimisation lowers the cost to less than a tenth.",
        f"from {costs[0]:.4g} to {costs[-1]:.4g} in {len(costs) - 1} iterations (limit {AFTER_DATA})",
        bool(costs[-1] < LOWERED * costs[0]) if len(costs) > 1 else None,
    )
    claims.note(
        "The largest effort of a joint.", f"{effort:.3f} N m; the optimiser keeps it within {problem.limit:g} N m"
    )
    return claims


def analyse(bags: dict[str, Bag]) -> Report:
    """Makes the report of one or more bags of the experiment."""
    name, run = next(iter(runs_of(bags).items()))
    problem, solved = problem_of(run)
    found = touches(problem.system, solved)
    path, speed = problem.ball_path(solved.states)
    played = run.position[:, run.body("ball")]
    n = min(len(played), len(path), int(run.tick[-1]) + 1)
    whole = bool((run.tick[:n] == np.arange(n)).all())
    apart = float(np.abs(played[:n] - path[:n]).max()) if whole else None
    claims = optimisation_claims(problem, solved.costs, solved.states, solved.inputs, found)
    text = "The node plays the optimised inputs: its ball moves as in the optimisation."
    claims.below(text, apart, PLAYED, "m", about=f"largest distance over {n - 1} ticks")
    claims.insert(1, claims.pop())
    numbers = Numbers(
        approximation=name,
        iterations=len(solved.iterations),
        converged=solved.converged,
        reason=solved.reason,
        costs=solved.costs,
        distance_from_target=float(np.linalg.norm(problem.target - path[-1, :2])),
        speed_at_the_end=float(np.linalg.norm(speed[-1])),
        played_apart=apart,
        largest_effort=float(np.abs(solved.inputs).max()),
        touches=found,
    )

    def figure() -> Figure:
        drawn = draw(problem, solved.costs, solved.states, solved.inputs, found)
        drawn.axes[0].plot(*played[:, :2].T, "k.", markersize=3, label="ball, played by the node")
        drawn.axes[0].legend(fontsize=8)
        return drawn

    return Report(numbers, claims, figure, CAPTION, {"contact": run.parameters})


CAPTION = (
    "Above: paths of ball and hand from above and from the side, with ball and arm at five instants; the target "
    "is red. Below: cost over iterations; efforts of the joints, and, shaded, when the hand presses on the ball."
)


def draw(
    problem: Push, costs: np.ndarray, states: np.ndarray, inputs: np.ndarray, found: Sequence[Touch],
    others: Mapping[str, np.ndarray] | None = None,
) -> Figure:  # fmt: skip
    """Draws the motion, the cost over iterations, beside it `others` by name, and the efforts."""
    iterations = [Curve(np.arange(len(costs)), costs, "the library's derivatives", {"marker": "o", "markersize": 4})]
    for name, values in (others or {}).items():
        crosses = {"linestyle": "--", "marker": "x", "markersize": 5}
        iterations.append(Curve(np.arange(len(values)), values, name, crosses))
    step, names = {"drawstyle": "steps-post", "linewidth": 1.5}, problem.system.joints
    time = PERIOD * np.arange(len(inputs))
    efforts = [Curve(time, values, name, step) for name, values in zip(names, inputs.T, strict=True)]

    def shade(axes: Axes) -> None:
        for touch in found:
            if set(touch.bodies) == {HAND, "ball"}:
                start, end = PERIOD * touch.first, PERIOD * (touch.last + 1)
                axes.axvspan(start, end, color="tab:orange", alpha=0.2, linewidth=0)

    def view(y: int, title: str) -> Panel:
        drawing = partial(_draw_motion, problem=problem, states=states, plane=[0, y])
        return Panel(f"{'xyz'[y]} (m)", [], "x (m)", title=title, extra=drawing)

    return panels(
        [view(1, "from above"), view(2, "from the side")],
        [
            Panel("", iterations, "iteration", {"yscale": "log"}, title="cost"),
            Panel("N m", efforts, title="efforts", extra=shade),
        ],
        size=(13, 9),
    )


def _draw_motion(axes: Axes, problem: Push, states: np.ndarray, plane: list[int]) -> None:
    """Draws the paths of ball and hand in a plane of two coordinates, five instants, and the target."""
    path, points = problem.ball_path(states)[0], problem.arm_points(states)
    target = np.array((*problem.target, path[0, 2]))[plane]
    axes.plot(*path[:, plane].T, color="tab:blue", label="ball")
    axes.plot(*points[:, 2, plane].T, color="tab:orange", label="hand")
    angle = np.linspace(0.0, 2.0 * np.pi, 49)

    def circle(center: np.ndarray, radius: float, color: str, alpha: float) -> None:
        x, y = center[0] + radius * np.cos(angle), center[1] + radius * np.sin(angle)
        axes.plot(x, y, color=color, alpha=alpha, linewidth=1.2)

    for k in np.linspace(0, len(states) - 1, 5).astype(int):
        alpha = 0.15 + 0.6 * k / (len(states) - 1)
        circle(path[k, plane], BALL_RADIUS, "tab:blue", alpha)
        circle(points[k, 2, plane], HAND_RADIUS, "tab:orange", alpha)
        axes.plot(*points[k][:, plane].T, color="gray", linewidth=1.0, alpha=alpha)
    circle(target, BALL_RADIUS, "red", 0.9)
    axes.set_aspect("equal")
    if plane[1] == 2:
        axes.axhline(0.0, color="black", linewidth=0.8)
