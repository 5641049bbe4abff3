"""A first world: a box slides over the ground and stops after v^2/(2 mu g)."""

import matplotlib.pyplot as plt
import numpy as np

from convex_contact import Material, Simulator, World

SPEED, FRICTION = 1.0, 0.4  # m/s, -
world = World()
surface = Material(stiffness=1e6, friction=FRICTION)
world.add_half_space("ground", material=surface)
world.add_box("box", mass=1.0, size=(0.2, 0.2, 0.1), position=(0, 0, 0.05), velocity=(SPEED, 0, 0), material=surface)
simulator = Simulator(world, period=1e-3)

position = [0.0]
for _ in range(500):
    simulator.step()
    position.append(simulator.state("box").position[0])
expected = SPEED**2 / (2.0 * FRICTION * 9.81)
print(f"the box stops after {position[-1]:.4f} m, expected {expected:.4f} m")
assert abs(position[-1] - expected) < 0.01 * expected  # the step of 1 ms costs half a step of the speed: 0.5 mm
force = simulator.contact_wrench("box")[2]
print(f"the ground carries {force:.3f} N")
assert abs(force - 9.81) < 1e-3

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.plot(1e-3 * np.arange(501), position)
axes.axhline(expected, color="0.6", linestyle=":", label="v\u00b2/(2 mu g)")
axes.set(xlabel="time [s]", ylabel="position [m]", title="A sliding box")
axes.legend()
figure.savefig("contact_first_world.png")
