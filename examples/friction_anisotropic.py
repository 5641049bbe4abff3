"""On a grooved surface the friction force is not opposite to the velocity: an anisotropic law S v/|v|.

The force is larger across the grooves (y) than along them (x), so it turns away from the direction of motion.
"""

import matplotlib.pyplot as plt
import numpy as np

from haptic_friction import AnisotropicLaw, ModelC

ALONG, ACROSS = 1.0, 3.0  # N
model = ModelC(AnisotropicLaw(np.diag([ALONG, ACROSS])), stiffness=4000.0, damping=10.0, period=1e-3, dimension=2)
angles = np.linspace(0.0, 2.0 * np.pi, 73)
forces = []
for angle in angles:
    model.reset()
    forces.append(model.simulate(np.tile([0.1 * np.cos(angle), 0.1 * np.sin(angle)], (400, 1)))[-1])
forces = np.array(forces)
expected = np.stack([ALONG * np.cos(angles), ACROSS * np.sin(angles)], axis=1)
print(f"largest difference from S v/|v|: {np.abs(forces - expected).max():.2e} N")
np.testing.assert_allclose(forces, expected, atol=1e-6)

figure, axes = plt.subplots(figsize=(4, 5), layout="constrained")
axes.plot(forces[:, 0], forces[:, 1])
axes.quiver(
    *forces[::6].T, np.cos(angles[::6]), np.sin(angles[::6]), angles="xy", scale_units="xy", scale=1.5, width=6e-3
)
axes.set(xlabel="force along the grooves [N]", ylabel="force across [N]", title="Arrows: directions of motion")
axes.set(xlim=(-2, 2), ylim=(-4, 4), aspect="equal")
figure.savefig("friction_anisotropic.png")
