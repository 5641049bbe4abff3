"""Derivatives of the steps of a motion with contact, as trajectory optimisation needs them in each iteration.

The arm that moves a ball (`pushing_arm`): 50 steps of 10 ms, 9 velocities, 3 inputs, along the motion of the first
guess and of the solution: this suite's derivatives, central differences of its steps, MuJoCo's mjd_transitionFD along
its own motion with the same inputs, and Drake's automatic differentiation along this suite's motion. Least processor
time of some repetitions.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import peers
from options import Parser, positive
from rich.console import Console
from rich.table import Table

from convex_contact.control.actuated_world import ActuatedWorld, DifferencedWorld
from convex_contact.control.ilqr import simulate
from convex_contact.scenes.pushing_arm import PERIOD, push, pushing_world


def least(function: Any, repetitions: int) -> float:
    """Least processor time of a call [s]."""
    spent = []
    for _ in range(repetitions):
        before = time.process_time()
        function()
        spent.append(time.process_time() - before)
    return min(spent)


def agreement(drake: Any, motion: tuple[np.ndarray, np.ndarray]) -> str:
    """Compares our dv/d(v, u) of the steps from a motion's states with Drake's, at Drake's v_s, 0.1 mm/s."""
    states, inputs = motion
    system = ActuatedWorld(pushing_world(), period=PERIOD, stiction_tolerance=1e-4)
    theirs, worst = drake.linearization(states, inputs, 1)[1], []
    for x, u, other in zip(states[:-1], inputs, theirs, strict=True):
        A, B = system.linearize(x[None], u[None])
        n = A.shape[1] // 2
        ours = np.hstack([A[0, n:, n:], B[0, n:]])
        worst.append(float(np.abs(ours - other).max() / np.abs(ours).max()))
    return (
        f"ours and Drake's dv/d(v, u) differ by {np.median(worst):.1e} of the largest entry (median of the steps), at "
        f"most {max(worst):.1e}, with the same v_s"
    )


def main() -> None:
    options = Parser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--repetitions", type=positive, default=5)
    options.add_argument(
        "--iterations", type=positive, default=20, help="of the optimisation that gives the second motion"
    )
    options.add_argument("--peers", nargs="*", default=["mujoco", "drake"], choices=["mujoco", "drake"])
    chosen = options.parse_args()
    console = Console()
    problem = push()
    system = problem.system
    differences = DifferencedWorld(system.world, period=PERIOD, stiction_tolerance=1e-2)
    guess = simulate(system, problem.cost, system.start, problem.guess)[0], problem.guess
    found = problem.solve(max_iterations=chosen.iterations)
    table = Table("derivatives", "first guess [ms]", "solution [ms]", title=f"{len(problem.guess)} steps")
    motions = (guess, (found.states, found.inputs))
    rows: dict[str, list[float]] = {
        "ours": [least(lambda m=m: system.linearize(*m), chosen.repetitions) for m in motions],
        "central differences of our steps": [least(lambda m=m: differences.linearize(*m), 2) for m in motions],
        "the steps alone": [
            least(lambda m=m: simulate(system, problem.cost, system.start, m[1]), chosen.repetitions) for m in motions
        ],
    }
    words = []
    for peer in chosen.peers:
        try:
            peers.add(peer)
        except peers.PeerError as error:
            console.print(f"{peer}: {error}")
            continue
        if peer == "mujoco":
            import trajectory_mujoco

            name = f"MuJoCo {trajectory_mujoco.VERSION}, mjd_transitionFD, centred"
            rows[name] = [trajectory_mujoco.linearization_time(m[1], chosen.repetitions) for m in motions]
        else:
            import trajectory_drake

            push_drake = trajectory_drake.DrakePush()
            name = f"Drake {trajectory_drake.VERSION}, automatic differentiation"
            rows[name] = [push_drake.linearization(*m, chosen.repetitions)[0] for m in motions]
            words.append(agreement(push_drake, motions[1]))
    for name, seconds in rows.items():
        table.add_row(name, *(f"{1e3 * s:.2f}" for s in seconds))
    console.print(table)
    pairs = zip(system.linearize(*guess), differences.linearize(*guess), strict=True)
    apart = max(float(np.abs(a - b).max() / np.abs(a).max()) for a, b in pairs)
    for line in words:
        console.print(line)
    console.print(f"ours and differences differ by at most {apart:.1e} of the largest entry, along the first guess")


if __name__ == "__main__":
    main()
