"""Report of the arm that moves a ball to a target by optimised inputs: section XII-D and Fig. 25 of Castro et al."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pinocchio as pin
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from convex_contact.control.ilqr import Trajectory
from convex_contact.scenes.pushing_arm import (
    BALL_RADIUS,
    HAND,
    HAND_PLACE,
    HAND_RADIUS,
    PERIOD,
    SHOULDER,
    Push,
    Touch,
    push,
    touches,
)
from haptic_bags.bags import Bag
from haptic_core.errors import HapticError
from haptic_core.parameters import parse_entries
from haptic_experiments.kit.contact import ContactRun, by_approximation
from haptic_experiments.report import Claim, Report

#: the ball has arrived when it is nearer to the target than this share of its way [-]
ARRIVED = 0.05
#: the node's motion is the optimised one, but for what its solver's tolerance leaves [m]
PLAYED = 1e-6


def problem_of(run: ContactRun) -> tuple[Push, Trajectory]:
    """The problem that a run's node has solved, solved again.

    Raises:
        HapticError: the run's world is another one, or its steps are not those that were optimised.
    """
    if run.parameters["world"] != "convex_contact.pushing_arm:arm_pushes_ball":
        raise HapticError(f"the report needs the world of arm_pushes_ball, the run has {run.parameters['world']}")
    if abs(run.step - PERIOD) > 1e-12:
        raise HapticError(f"the report needs steps of {PERIOD:g} s, which were optimised; the run has {run.step:g} s")
    numbers: dict[str, Any] = {
        name: value for name, (value, _) in parse_entries(run.parameters["world_parameters"]).items()
    }
    iterations, tolerance = int(numbers.pop("max_iterations", 100)), float(numbers.pop("tolerance", 1e-3))
    problem = push(**numbers)
    return problem, problem.solve(max_iterations=iterations, tolerance=tolerance)


def ball_path(problem: Push, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Position and velocity of the ball's centre in states (n, 3) [m], [m/s]."""
    path, speed = [], []
    for x in states:
        problem.system.place(x)
        state = problem.system.simulator.state("ball")
        path.append(state.position)
        speed.append(state.velocity)
    return np.array(path), np.array(speed)


def arm_points(problem: Push, states: np.ndarray) -> np.ndarray:
    """Shoulder, elbow and hand in states (n, 3, 3) [m]."""
    out = []
    for x in states:
        problem.system.place(x)
        state = problem.system.simulator.state(HAND)
        turn = pin.Quaternion(state.orientation).matrix()
        out.append([(0.0, 0.0, SHOULDER), state.position, state.position + turn @ HAND_PLACE])
    return np.array(out)


def in_words(found: Sequence[Touch]) -> str:
    """A contact sequence."""
    names = {HAND: "hand"}
    return "; ".join(
        f"{' and '.join(names.get(body, body) for body in touch.bodies)} {1e3 * PERIOD * touch.first:.0f} to "
        f"{1e3 * PERIOD * (touch.last + 1):.0f} ms, up to {touch.force:.1f} N, {100 * touch.sticking:.0f} % sticking"
        for touch in found
    )


def optimisation_claims(
    problem: Push, costs: np.ndarray, states: np.ndarray, inputs: np.ndarray, found: Sequence[Touch]
) -> list[Claim]:
    """What is claimed of any solution."""
    path, speed = ball_path(problem, states)
    way = float(np.linalg.norm(problem.target - path[0, :2]))
    left = float(np.linalg.norm(problem.target - path[-1, :2]))
    pushes = [touch for touch in found if set(touch.bodies) == {HAND, "ball"}]
    return [
        Claim(
            "The arm moves the ball to the target position (Fig. 25).",
            f"{1e3 * left:.2f} mm from it after {1e3 * way:.0f} mm of way, at {np.linalg.norm(speed[-1]):.3f} m/s",
            left < ARRIVED * way,
        ),
        Claim(
            "Contacts are found, not given.",
            in_words(found) or "none",
            bool(pushes),
        ),
        Claim(
            "Each iteration lowers the cost.",
            f"from {costs[0]:.4g} to {costs[-1]:.4g} in {len(costs) - 1} iterations",
            bool((np.diff(costs) < 0.0).all()) if len(costs) > 1 else None,
        ),
        Claim(
            "The efforts keep their limits.",
            f"{np.abs(inputs).max():.3f} N m of {problem.limit:g} N m",
            bool(np.abs(inputs).max() <= problem.limit),
        ),
    ]


def analyse(bags: dict[str, Bag]) -> Report:
    """Metrics, claims and figure of one or more bags of the experiment."""
    runs = by_approximation({name: ContactRun.from_bag(bag) for name, bag in bags.items()})
    name, run = next(iter(runs.items()))
    problem, solved = problem_of(run)
    found = touches(problem.system, solved)
    path, speed = ball_path(problem, solved.states)
    played = run.position[:, run.body("ball")]
    n = min(len(played), len(path), int(run.tick[-1]) + 1)
    apart = float(np.abs(played[:n] - path[:n]).max()) if (run.tick[:n] == np.arange(n)).all() else np.nan
    claims = optimisation_claims(problem, solved.costs, solved.states, solved.inputs, found)
    claims.insert(
        1,
        Claim(
            "The node plays the optimised inputs: its ball moves as in the optimisation.",
            f"at most {apart:.1e} m apart over {n - 1} ticks",
            None if np.isnan(apart) else apart < PLAYED,
        ),
    )
    metrics = {
        "approximation": name,
        "iterations": len(solved.iterations),
        "converged": solved.converged,
        "reason": solved.reason,
        "costs": solved.costs.tolist(),
        "distance_from_target": float(np.linalg.norm(problem.target - path[-1, :2])),
        "speed_at_the_end": float(np.linalg.norm(speed[-1])),
        "played_apart": None if np.isnan(apart) else apart,
        "largest_effort": float(np.abs(solved.inputs).max()),
        "touches": [vars(touch) | {"bodies": list(touch.bodies)} for touch in found],
    }

    def figure() -> Figure:
        drawn = draw(problem, solved.costs, solved.states, solved.inputs, found)
        drawn.axes[0].plot(*played[:, :2].T, "k.", markersize=3, label="ball, played by the node")
        drawn.axes[0].legend(fontsize=8)
        return drawn

    return Report(metrics, claims, figure, CAPTION, {"contact": run.parameters})


CAPTION = (
    "Above: paths of ball and hand from above and from the side, with ball and arm at five instants; the target "
    "is red. Below: cost over iterations; efforts of the joints, and, shaded, when the hand presses on the ball."
)


def draw(
    problem: Push, costs: np.ndarray, states: np.ndarray, inputs: np.ndarray, found: Sequence[Touch],
    others: Mapping[str, np.ndarray] | None = None,
) -> Figure:  # fmt: skip
    """Keypoints, cost, efforts; `others` are costs by name, drawn beside."""
    figure = Figure(figsize=(13, 9), layout="constrained")
    above, side, cost, effort = (figure.add_subplot(2, 2, i + 1) for i in range(4))
    path, _ = ball_path(problem, states)
    points = arm_points(problem, states)
    target = (*problem.target, path[0, 2])
    for axes, (i, j), title in ((above, (0, 1), "from above"), (side, (0, 2), "from the side")):
        axes.plot(path[:, i], path[:, j], color="tab:blue", label="ball")
        axes.plot(points[:, 2, i], points[:, 2, j], color="tab:orange", label="hand")
        for k in np.linspace(0, len(states) - 1, 5).astype(int):
            shade = 0.15 + 0.6 * k / (len(states) - 1)
            _circle(axes, path[k, [i, j]], BALL_RADIUS, "tab:blue", shade)
            _circle(axes, points[k, 2, [i, j]], HAND_RADIUS, "tab:orange", shade)
            axes.plot(points[k, :, i], points[k, :, j], color="gray", linewidth=1.0, alpha=shade)
        _circle(axes, np.array([target[i], target[j]]), BALL_RADIUS, "red", 0.9)
        axes.set(title=title, xlabel="x (m)", ylabel=f"{'xyz'[j]} (m)")
        axes.set_aspect("equal")
    side.axhline(0.0, color="black", linewidth=0.8)
    cost.semilogy(costs, "o-", markersize=4, label="the library's derivatives")
    for name, values in (others or {}).items():
        cost.semilogy(values, "x--", markersize=5, label=name)
    cost.set(title="cost", xlabel="iteration")
    cost.legend(fontsize=8)
    time = PERIOD * np.arange(len(inputs))
    for name, values in zip(problem.system.joints, inputs.T, strict=True):
        effort.step(time, values, where="post", label=name)
    for touch in found:
        if set(touch.bodies) == {HAND, "ball"}:
            effort.axvspan(PERIOD * touch.first, PERIOD * (touch.last + 1), color="tab:orange", alpha=0.2, linewidth=0)
    effort.set(title="efforts", xlabel="time (s)", ylabel="N m")
    effort.legend(fontsize=8)
    return figure


def _circle(axes: Axes, center: np.ndarray, radius: float, color: str, alpha: float) -> None:
    turn = np.linspace(0.0, 2.0 * np.pi, 49)
    axes.plot(
        center[0] + radius * np.cos(turn), center[1] + radius * np.sin(turn), color=color, alpha=alpha, linewidth=1.2
    )
