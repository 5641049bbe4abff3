"""A mechanism of your own from its equations: a bead on a helical wire.

Two holonomic constraints leave one free direction. Everything else (projections, inertia along the wire, the constraint
forces) follows from these equations by automatic differentiation.
"""

import casadi as ca
import matplotlib.pyplot as plt
import numpy as np

from admittance_constraints import Definition, Mechanism, ReferenceGenerator

RADIUS, PITCH, MASS = 0.05, 0.1, 0.2  # m, m, kg
RISE = PITCH / (2.0 * np.pi)


class BeadOnHelix(Mechanism):
    """Position of a point mass on a wire with a vertical axis."""

    def define(self, d: Definition) -> None:
        q, qdot = d.coordinates(3)
        d.forward(q)  # x = phi(q)
        d.inverse(d.x[:3])
        d.kinetic_energy(MASS * ca.sumsqr(qdot) / 2)
        d.potential(MASS * 9.81 * q[2])
        x = d.x
        d.holonomic("on the cylinder", (x[0] ** 2 + x[1] ** 2 - RADIUS**2) / (2 * RADIUS))
        d.holonomic("on the thread", x[1] * ca.cos(x[2] / RISE) - x[0] * ca.sin(x[2] / RISE))
        z = d.parameters(1)
        d.parametrisation([RADIUS * ca.cos(z), RADIUS * ca.sin(z), RISE * z])  # x = psi(z)


generator = ReferenceGenerator(BeadOnHelix(), period=1e-3, integrator="rk4")
path = np.array([generator.step(wrench=np.zeros(6)).x[:3] for _ in range(500)])
# along the wire gravity acts as on a slope: z'' = -g rise^2/(rise^2 + radius^2)
slope = 9.81 * RISE**2 / (RISE**2 + RADIUS**2)
expected = path[0, 2] - 0.5 * slope * (0.5**2 - 0.001**2)
print(f"height after 0.5 s: {path[-1, 2]:.6f} m, expected {expected:.6f} m")
assert abs(path[-1, 2] - expected) < 1e-9

axes = plt.figure(figsize=(4, 4), layout="constrained").add_subplot(projection="3d")
axes.plot(*path.T)
axes.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]", title="A bead on a helix")
axes.figure.savefig("constraints_own_mechanism.png")
