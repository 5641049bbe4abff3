"""Many worlds at once on all cores: the stopping distance over speed and friction."""

import matplotlib.pyplot as plt
import numpy as np

from convex_contact import Batch, Material, Simulator, World

speeds, frictions = np.linspace(0.2, 1.0, 5), (0.2, 0.4, 0.8)  # m/s, -


def simulator(friction: float, speed: float) -> Simulator:
    """Makes a simulator of a box that slides on a floor, with friction [-] and initial speed [m/s]."""
    surface = Material(stiffness=1e6, friction=friction)
    world = World()
    world.add_half_space("floor", material=surface)
    world.add_box(
        "box", mass=1.0, size=(0.2, 0.2, 0.1), position=(0, 0, 0.05), velocity=(speed, 0, 0), material=surface
    )
    return Simulator(world, period=1e-3)


batch = Batch([simulator(friction, speed) for friction in frictions for speed in speeds])
batch.step(600)
distance = np.array([one.state("box").position[0] for one in batch]).reshape(len(frictions), len(speeds))
expected = speeds**2 / (2.0 * np.array(frictions)[:, None] * 9.81)
print(f"largest error of the stopping distance: {1e3 * np.abs(distance - expected).max():.2f} mm")
assert np.abs(distance - expected).max() < 1e-3  # a step of 1 ms at 1 m/s

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for friction, row, line in zip(frictions, distance, expected, strict=True):
    axes.plot(speeds, row, "o", label=f"mu = {friction}")
    axes.plot(speeds, line, color="0.6", linewidth=0.8)
axes.set(xlabel="speed [m/s]", ylabel="stopping distance [m]", title="15 worlds in one batch; lines: v\u00b2/(2 mu g)")
axes.legend()
figure.savefig("contact_batch.png")
