"""Constraints that act in one direction: a mass on a rope that goes slack, falls, and is stopped by rope and wall.

A stop pushes the tool away and never pulls; a rope pulls and never pushes. What closes takes the approaching velocity.
"""

import casadi as ca
import matplotlib.pyplot as plt
import numpy as np

from admittance_constraints import Definition, Mechanism, ReferenceGenerator, Stop, StoppedGenerator

MASS, GRAVITY, LENGTH, T = 0.5, 9.81, 0.3, 1e-3  # kg, m/s^2, m, s


class Particle(Mechanism):
    """A free point mass under gravity."""

    def define(self, d: Definition) -> None:
        q, qdot = d.coordinates(3)
        d.forward(q)
        d.inverse(d.x[:3])
        d.kinetic_energy(MASS * ca.sumsqr(qdot) / 2)
        d.potential(MASS * GRAVITY * q[2])


speed = np.sqrt(3.5 * GRAVITY * LENGTH)  # at the bottom: too slow for a full circle
generator = ReferenceGenerator(
    Particle(),
    period=T,
    z=[0.0, 0.0, -LENGTH],
    z_velocity=[speed, 0.0, 0.0],
    integrator="symplectic_euler",
    compiled=False,  # a short run does not pay for the compilation
)
rope = Stop.rope("rope", anchor=(0.0, 0.0, 0.0), length=LENGTH)
wall = Stop.plane("wall", point=(-0.06, 0.0, 0.0), normal=(1.0, 0.0, 0.0))
stopped = StoppedGenerator(generator, [rope, wall])
results = [stopped.step() for _ in range(1100)]
path = np.array([result.reference.x[:3] for result in results])
force = np.array([result.force for result in results])
slack = int(np.argmax(force[1:, 0] == 0.0)) + 1
angle = np.arctan2(path[slack, 0], -path[slack, 2])
expected = np.arccos((2.0 * GRAVITY * LENGTH - speed**2) / (3.0 * GRAVITY * LENGTH))  # tension 0
print(f"the rope goes slack at {np.degrees(angle):.1f} degrees, expected {np.degrees(expected):.1f}")
assert abs(angle - expected) < 0.03
assert min(result.gap.min() for result in results) > -1e-12  # no rope is longer, no wall is passed
assert force.min() >= 0.0 and (force.max(axis=0) > 10.0).all()  # neither pushes the wrong way, both act

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained", width_ratios=(1, 1.4))
left.plot(path[:, 0], path[:, 2])
left.plot(path[slack, 0], path[slack, 2], "ko")
left.annotate("slack from here", path[slack, [0, 2]], (-8, -3), textcoords="offset points", ha="right")
left.add_patch(plt.Circle((0.0, 0.0), LENGTH, fill=False, color="0.6", linestyle=":"))
left.axvline(-0.06, color="0.6")
left.set(xlabel="x [m]", ylabel="z [m]", title="Path of the mass", aspect="equal")
right.plot(T * np.arange(len(force)), force, label=["rope", "wall"])
right.set(ylim=(-1, 30), xlabel="time [s]", ylabel="force [N]", title="Forces; impacts are cut off")
right.legend()
figure.savefig("constraints_stop.png")
