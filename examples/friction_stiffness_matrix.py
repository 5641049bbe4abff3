"""An oblique spring before a contact: with a stiffness matrix the force is oblique to the motion until it slides.

A brush or a tilted probe is stiff along one axis and soft across it. The pull is along x. The force first points
along K x, and along the velocity when the contact slides steadily.
"""

import matplotlib.pyplot as plt
import numpy as np

from haptic_friction import CoulombLaw, ModelC

T, FORCE = 1e-3, 2.0  # s, N
angle = np.radians(40.0)
axes = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
stiffness = axes @ np.diag([8000.0, 1000.0]) @ axes.T  # N/m, stiff at 40 degrees from x
stiffness = 0.5 * (stiffness + stiffness.T)
model = ModelC(CoulombLaw(FORCE), stiffness=stiffness, damping=5.0, period=T, dimension=2)

velocity = np.tile([0.01, 0.0], (2000, 1))  # m/s
force, sticking = np.empty_like(velocity), np.empty(len(velocity), dtype=bool)
for k, u in enumerate(velocity):
    force[k], sticking[k] = model.step(u), model.sticking
displacement = T * np.cumsum(velocity, axis=0)
turned = np.degrees(np.arctan2(force[:, 1], force[:, 0]))
print(f"direction of the force: {turned[5]:.1f} deg while it sticks, {turned[-1]:.2f} deg in the end")
stuck = slice(0, np.argmin(sticking))
np.testing.assert_allclose(force[stuck], displacement[stuck] @ stiffness + 5.0 * velocity[stuck], rtol=1e-12)
np.testing.assert_allclose(force[-1], [FORCE, 0.0], atol=1e-3)

figure, (left, right) = plt.subplots(1, 2, figsize=(7, 3), layout="constrained")
left.plot(1e3 * displacement[:, 0], force, label=["along x", "along y"])
left.set(xlabel="displacement along x [mm]", ylabel="force [N]", title="Pulled along x")
left.legend()
circle = np.linspace(0.0, 2.0 * np.pi, 100)
right.plot(FORCE * np.cos(circle), FORCE * np.sin(circle), "0.7", label="sliding")
right.plot(*force.T, label="path of the force")
right.set(xlabel="along x [N]", ylabel="along y [N]", aspect="equal", title="Force")
right.legend(loc="lower left")
figure.savefig("friction_stiffness_matrix.png")
