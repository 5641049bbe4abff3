"""The coupler of a four-bar linkage as a haptic constraint: pushed by a force, it stays on its curve.

The closed loop is a holonomic constraint; the multipliers are the forces in it.
"""

import matplotlib.pyplot as plt
import numpy as np

from admittance_constraints import FourBar, ReferenceGenerator

T = 1e-3
generator = ReferenceGenerator(FourBar(damping=1e-3), period=T, integrator="rk4")
references = []
for k in range(3000):  # a force that turns once in 1.5 s drags the coupler round
    angle = 2.0 * np.pi * k * T / 1.5
    references.append(generator.step(wrench=[0.3 * np.cos(angle), 0.3 * np.sin(angle), 0.0, 0.0, 0.0, 0.0]))
path = np.array([r.x[:2] for r in references])
residual = max(float(np.abs(r.holonomic_residual).max()) for r in references)
print(f"the tool moved {np.ptp(path, axis=0).max():.3f} m; the loop is closed to {residual:.1e} m")
assert np.ptp(path, axis=0).max() > 0.02
assert residual < 1e-12

figure, axes = plt.subplots(figsize=(5, 4), layout="constrained")
axes.plot(*path.T)
axes.set(xlabel="x [m]", ylabel="y [m]", title="Path of a four-bar linkage's tool")
axes.set_aspect("equal")
figure.savefig("constraints_four_bar.png")
