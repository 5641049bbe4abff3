"""The mass of a box from its motion: Newton's search with gradients through the contact.

Two boxes collide on a floor. From the path of the second one the mass of the first is found; the gradient comes from
the same steps as the motion (implicit differentiation), and is compared with a finite difference.
"""

import matplotlib.pyplot as plt
import numpy as np

from convex_contact import Material, Simulator, World, rollout

STEPS, TRUE = 150, 0.7  # -, kg


def run(mass: float) -> tuple[np.ndarray, np.ndarray]:
    """Simulates the path of the second box along x [m], and its derivative by the mass of the first [m/kg]."""
    surface = Material(stiffness=1e5, dissipation=1.0, friction=0.3)
    world = World()
    world.add_half_space("floor", material=surface)
    for name, m, x, v in (("first", mass, 0.0, 1.0), ("second", 0.5, 0.13, 0.0)):
        world.add_box(name, mass=m, size=(0.1,) * 3, position=(x, 0, 0.05), velocity=(v, 0, 0), material=surface)
    simulator = Simulator(world, period=2e-3, polish=True)
    path = [simulator.state("second").position[0]]
    motion = rollout(simulator, STEPS, before=lambda k, s: path.append(s.state("second").position[0]) if k else None)
    path.append(simulator.state("second").position[0])
    along = motion.slices("second")[1].start  # the first of its velocities: x
    return np.array(path), motion.jacobian(["mass(first)"])[:, along, 0]


record, _ = run(TRUE)
mass, guesses = 0.3, [0.3]
for _ in range(6):  # Gauss and Newton
    path, slope = run(mass)
    mass -= float(slope @ (path - record) / (slope @ slope))
    guesses.append(mass)
print("masses:", np.round(guesses, 6))
assert abs(mass - TRUE) < 1e-6

_, slope = run(0.6)
difference = (run(0.6 + 1e-5)[0] - run(0.6 - 1e-5)[0]) / 2e-5
print(f"gradient at the end {slope[-1]:.6f} m/kg, finite difference {difference[-1]:.6f} m/kg")
assert abs(slope[-1] - difference[-1]) < 1e-3 * abs(difference[-1])  # steps in which a contact begins have a kink

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.semilogy(np.abs(np.array(guesses) - TRUE) + 1e-16, "o-")
axes.set(xlabel="iteration", ylabel="error of the mass [kg]", title="A mass from a motion with contact")
figure.savefig("contact_gradients_identify_mass.png")
