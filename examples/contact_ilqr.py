"""iLQR through contact: inputs of an arm's motors that bring it to a posture with little effort.

Nothing is said about contact; the derivatives are those of the simulator's steps.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import convex_contact
from convex_contact import World
from convex_contact.control.actuated_world import ActuatedWorld
from convex_contact.control.ilqr import QuadraticCost, optimize

PERIOD, STEPS, START = 0.02, 40, (0.0, -0.4, 1.9)  # s, -, rad
GOAL = np.array([0.8, -0.2, 1.5])  # rad
world = World()
world.add_half_space("floor")
world.add_urdf(
    "arm", Path(convex_contact.__file__).parent / "data" / "pushing_arm.urdf", position=(0, 0, 0.25), q=START
)
system = ActuatedWorld(world, period=PERIOD)
goal = np.concatenate([GOAL, np.zeros(3)])
hold = system.holding(system.start)  # efforts that carry the arm
cost = QuadraticCost(
    system, goal, state=np.full(6, 1e-2), input=np.full(3, 1e-3), final=[1e3] * 3 + [10.0] * 3, input_reference=hold
)
found = optimize(system, cost, system.start, np.tile(hold, (STEPS, 1)), lower=-20.0, upper=20.0)

print(f"cost {found.costs[0]:.2f} -> {found.cost:.4f} in {len(found.iterations)} iterations: {found.reason}")
print("posture at the end:", np.round(found.states[-1, :3], 3))
assert found.converged and (np.diff(found.costs) <= 0.0).all()
assert np.abs(found.states[-1, :3] - GOAL).max() < 0.05

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
left.plot(PERIOD * np.arange(STEPS + 1), found.states[:, :3], label=["turn", "shoulder", "elbow"])
left.set(xlabel="time [s]", ylabel="angle [rad]")
left.legend()
right.plot(PERIOD * np.arange(STEPS), found.inputs)
right.set(xlabel="time [s]", ylabel="effort [N m]")
figure.suptitle("A motion found by iLQR")
figure.savefig("contact_ilqr.png")
