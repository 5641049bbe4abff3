"""A pendulum as a constrained particle: period and energy of the rk4 integrator against the closed form.

The reference generator of Faulring et al. removes the wrench that the rod takes and integrates along the circle.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import ellipk

from admittance_constraints import Pendulum, ReferenceGenerator

T, LENGTH, START = 1e-3, 0.2, 1.0  # s, m, rad
generator = ReferenceGenerator(Pendulum(mass=0.5, length=LENGTH), period=T, z=[START], integrator="rk4")
references = [generator.step(wrench=np.zeros(6)) for _ in range(4000)]
angle = np.array([r.z[0] for r in references])
energy = np.array([r.kinetic_energy + r.potential_energy for r in references])

exact = 4.0 * np.sqrt(LENGTH / 9.81) * ellipk(np.sin(START / 2.0) ** 2)
falls = np.flatnonzero((angle[:-1] > 0.0) & (angle[1:] <= 0.0))
crossing = falls + angle[falls] / (angle[falls] - angle[falls + 1])
period = T * np.diff(crossing).mean()
drift = np.ptp(energy)
print(f"period {period:.7f} s, exact {exact:.7f} s; energy changes by {drift:.1e} J")
assert abs(period - exact) < 1e-5 * exact
assert drift < 1e-6

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.plot(T * np.arange(1, 4001), angle)
axes.set(xlabel="time [s]", ylabel="angle [rad]", title="A pendulum")
figure.savefig("constraints_pendulum.png")
