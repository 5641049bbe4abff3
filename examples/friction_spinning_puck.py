"""A puck that spins slides farther than one that does not, and stops sliding and spinning at the same time.

Sliding and spinning share one friction element, model A of Kikuuwe et al. with a force and a torque. Coulomb's law
gives v/v0 = (w/w0)^(I/(m r^2)), where r is the largest torque of the puck's friction over its largest force.
"""

import matplotlib.pyplot as plt
import numpy as np

from haptic_friction import CoulombLaw, TorsionalElement, patch_radius

T, MASS, RADIUS, FRICTION = 1e-4, 0.2, 0.06, 0.3  # s, kg, m, N
inertia, r = 0.5 * MASS * RADIUS**2, patch_radius("uniform", RADIUS)
time = T * np.arange(1, 12001)

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
distances = []
for spin in (0.0, 15.0):  # rad/s
    puck = TorsionalElement("a", CoulombLaw(FRICTION), radius=r, period=T, mass=(MASS, inertia))
    puck.reset(velocity=(0.8, 0.0, spin))
    speed, _, rate = puck.simulate(np.zeros((len(time), 3))).T
    distances.append(T * speed.sum())
    axes.plot(time, speed, label=f"spins with {spin:g} rad/s at the start")
print(f"distance without spin {distances[0]:.4f} m, with spin {distances[1]:.4f} m")
assert abs(distances[0] - 0.8**2 * MASS / (2 * FRICTION)) < 1e-3  # v0^2 m/(2 F), to the first order of the step
moving = speed > 0.02
expected = 0.8 * (rate[moving] / 15.0) ** (inertia / (MASS * r**2))
assert np.abs(speed[moving] - expected).max() < 1e-3
assert speed[-1] == rate[-1] == 0.0

axes.plot(time[moving], expected, "k:", label="from the rate of spin, closed form")
axes.set(xlabel="time [s]", ylabel="speed [m/s]", title="Spin weakens the friction of sliding")
axes.legend()
figure.savefig("friction_spinning_puck.png")
