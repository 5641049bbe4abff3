"""Friction, stiffness and damping of a contact from a record of velocity and force, with 95 % intervals.

The record is made here with known numbers, noise and an encoder's resolution; with one of your own, read two columns.
"""

import matplotlib.pyplot as plt
import numpy as np

from haptic_friction import ModelC, ViscousCoulombLaw, identify_model_c

T, RESOLUTION = 1e-3, 1e-4  # s, m/s
random = np.random.default_rng(1)
time = T * np.arange(8000)
velocity = 0.1 * np.sin(2.0 * np.pi * 1.5 * time) * np.sin(2.0 * np.pi * 0.2 * time)
truth = {"friction_force": 2.0, "viscosity": 4.0, "stiffness": 6000.0, "damping": 10.0}
law = ViscousCoulombLaw(truth["friction_force"], viscosity=truth["viscosity"])
model = ModelC(law, stiffness=truth["stiffness"], damping=truth["damping"], period=T)
force = model.simulate(velocity[:, None])[:, 0] + random.normal(0.0, 0.01, len(time))

found = identify_model_c(velocity, force, period=T, law="viscous_coulomb")
for name, estimate in found.estimates.items():
    print(f"{name}: {estimate.value:.4g} [{estimate.low:.4g}, {estimate.high:.4g}]")
for name, value in truth.items():
    if name in found.estimates:
        assert abs(found.estimates[name].value - value) < 0.05 * value

again = found.model_c().simulate(velocity[:, None])[:, 0]
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.plot(velocity, force, ".", markersize=1, label="record")
axes.plot(velocity, again, linewidth=0.8, label="identified")
axes.set(xlabel="velocity [m/s]", ylabel="force [N]", title="Identified friction")
axes.legend()
figure.savefig("friction_identify_from_data.png")
