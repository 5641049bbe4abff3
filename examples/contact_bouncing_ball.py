"""A ball bounces: implicit steps of fixed length lose energy, steps with controlled error do not.

`accuracy=` replaces `period=`: the simulator chooses its steps, short ones only within the impacts.
"""

import matplotlib.pyplot as plt
import numpy as np

from convex_contact import Material, Simulator, World

HEIGHT, RADIUS, MASS = 0.3, 0.05, 0.1  # m, m, kg


def heights(**options: float | bool) -> np.ndarray:
    """Simulates the ball for 2 s; returns its height [m] at each millisecond."""
    elastic = Material(stiffness=1e5, dissipation=0.0, relaxation_time=0.0, friction=0.0)
    world = World()
    world.add_half_space("floor", material=elastic)
    world.add_sphere("ball", mass=MASS, radius=RADIUS, position=(0, 0, RADIUS + HEIGHT), material=elastic)
    simulator = Simulator(world, **options)
    result = []
    for _ in range(2000):
        simulator.advance(1e-3)
        result.append(simulator.state("ball").position[2] - RADIUS)
    return np.array(result)


runs = {
    "period of 1 ms": heights(period=1e-3),
    "accuracy 1e-7": heights(accuracy=1e-7, second_order=True),
}
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for name, height in runs.items():
    last = height[1300:].max()
    print(f"{name}: the ball still rises to {last:.4f} m of {HEIGHT} m")
    axes.plot(1e-3 * np.arange(2000), height, label=name)
assert runs["accuracy 1e-7"][1300:].max() > 0.99 * HEIGHT
assert runs["period of 1 ms"][1300:].max() < 0.9 * HEIGHT

axes.set(xlabel="time [s]", ylabel="height [m]", title="A bouncing ball without dissipation")
axes.legend()
figure.savefig("contact_bouncing_ball.png")
