"""A robot from a URDF file: motors at its joints, gravity, and a hand that comes to rest on the floor."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import convex_contact
from convex_contact import Simulator, World

ARM = Path(convex_contact.__file__).parent / "data" / "pushing_arm.urdf"  # any file of your own
world = World()
world.add_half_space("floor")
world.add_urdf("arm", ARM, position=(0.0, 0.0, 0.25), q=(0.0, -0.4, 1.9))
for name in ("turn", "shoulder", "elbow"):
    world.actuate_joint("arm", name, proportional_gain=60.0, derivative_gain=4.0)
simulator = Simulator(world, period=2e-3)
goal = {"turn": 0.8, "shoulder": 0.9, "elbow": 0.6}  # rad; the hand would be below the floor
for name, angle in goal.items():
    simulator.joint(name).target = angle

angles, load = [], []
for _ in range(1000):
    simulator.step()
    angles.append([simulator.joint(name).position for name in goal])
    load.append(simulator.contact_wrench("floor")[2])
print("joints:", {name: round(float(a), 3) for name, a in zip(goal, angles[-1], strict=True)})
print(f"the hand presses on the floor with {-load[-1]:.2f} N")
assert abs(angles[-1][0] - goal["turn"]) < 0.1  # only friction of the hand on the floor hinders this one
assert angles[-1][1] < goal["shoulder"] - 0.02  # the floor does this one
assert -load[-1] > 1.0

figure, (above, below) = plt.subplots(2, 1, figsize=(6, 4), sharex=True, layout="constrained")
time = 2e-3 * np.arange(1, 1001)
above.plot(time, angles, label=list(goal))
above.set(ylabel="angle [rad]", title="An arm from a URDF file")
above.legend()
below.plot(time, -np.array(load))
below.set(xlabel="time [s]", ylabel="force on the floor [N]")
figure.savefig("contact_load_robot.png")
