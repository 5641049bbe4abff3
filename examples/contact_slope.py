"""On a slope a box sticks while tan(angle) < mu, and slides with g (sin - mu cos) above it.

The slope is made by turning gravity. In the regularised scheme a sticking box creeps, below the stiction tolerance.
"""

import matplotlib.pyplot as plt
import numpy as np

from convex_contact import Material, Simulator, World

FRICTION, DURATION = 0.5, 0.5  # -, s
angles, speeds = np.radians(np.arange(5.0, 50.0, 5.0)), []
for angle in angles:
    world = World(gravity=(9.81 * np.sin(angle), 0.0, -9.81 * np.cos(angle)))
    surface = Material(stiffness=1e6, friction=FRICTION)
    world.add_half_space("slope", material=surface)
    world.add_box("box", mass=1.0, size=(0.2, 0.2, 0.05), position=(0, 0, 0.025), material=surface)
    simulator = Simulator(world, period=2e-3, stiction_tolerance=1e-4)
    simulator.step(round(DURATION / 2e-3))
    speeds.append(simulator.state("box").velocity[0])
expected = DURATION * 9.81 * np.maximum(np.sin(angles) - FRICTION * np.cos(angles), 0.0)
for angle, speed, value in zip(np.degrees(angles), speeds, expected, strict=True):
    print(f"{angle:4.0f} degrees: {speed:.5f} m/s, expected {value:.5f} m/s")
np.testing.assert_allclose(speeds, expected, atol=0.01 * expected.max())

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.plot(np.degrees(angles), expected, label="Coulomb")
axes.plot(np.degrees(angles), speeds, "o", label="simulated")
axes.axvline(np.degrees(np.arctan(FRICTION)), color="0.6", linestyle=":")
axes.set(xlabel="angle of the slope [degrees]", ylabel=f"speed after {DURATION} s [m/s]", title="A box on a slope")
axes.legend()
figure.savefig("contact_slope.png")
