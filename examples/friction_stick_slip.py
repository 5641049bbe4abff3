"""A mass that is pulled by a spring sticks and slips; below a critical stiffness it never slides steadily.

The mass is model A of Kikuuwe et al. with a Stribeck law, whose force falls with speed. While the mass sticks, the
spring's force grows by K v T a tick until it reaches the static force.
"""

import matplotlib.pyplot as plt
import numpy as np

from haptic_friction import ModelA, StribeckLaw

T, MASS, STIFFNESS, PULL = 1e-3, 1.0, 200.0, 0.02  # s, kg, N/m, m/s
law = StribeckLaw(2.0, static_force=3.0, stribeck_velocity=0.05, viscosity=0.5)
mass = ModelA(law, mass=MASS, period=T)

time = T * np.arange(1, 4001)
position, force, sticking = 0.0, [], []
for t in time:
    force.append(STIFFNESS * (PULL * t - position))
    position += T * mass.step([force[-1]])[0]
    sticking.append(mass.sticking)
force, sticking = np.array(force), np.array(sticking)

slips = np.flatnonzero(sticking[:-1] & ~sticking[1:])
print(f"{len(slips)} slips; the spring's force at their beginning: {force[slips].mean():.3f} N")
assert len(slips) >= 4
assert np.abs(force[slips] - 3.0).max() < 2 * STIFFNESS * PULL * T  # the static force, to two ticks of pulling

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.plot(time, force)
axes.axhline(3.0, color="0.6", linestyle=":", label="static force")
axes.set(xlabel="time [s]", ylabel="force of the spring [N]", title="Stick and slip")
axes.legend()
figure.savefig("friction_stick_slip.png")
