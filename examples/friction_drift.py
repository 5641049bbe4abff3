"""Under a small vibrating force a body drifts with LuGre's model and stays with model C.

The force stays below the breakaway force, so nothing should slide. LuGre's bristle creeps at each cycle; the implicit
model C is exactly elastic inside the friction force.
"""

import matplotlib.pyplot as plt
import numpy as np

from haptic_friction import CoulombLaw, LuGreModel, ModelC, WithMass

T, MASS = 1e-3, 1.0  # s, kg
law, stiffness = CoulombLaw(1.0), 1e4  # N, N/m
models = {
    "model C": ModelC(law, stiffness=stiffness, damping=50.0, period=T),
    "LuGre": LuGreModel(law, bristle_stiffness=stiffness, bristle_damping=50.0, period=T),
}
time = T * np.arange(5000)
push = 0.5 + 0.4 * np.sin(2.0 * np.pi * 5.0 * time)  # N, never above 0.9

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
moved = {}
for name, model in models.items():
    velocity = np.array([WithMass(model, mass=MASS).simulate(push[:, None])]).ravel()
    position = T * np.cumsum(velocity)
    moved[name] = position[-1] - position[1000]
    axes.plot(time, 1e3 * position, label=name)
print({name: f"{1e3 * value:.4f} mm in 4 s" for name, value in moved.items()})
assert abs(moved["model C"]) < 0.02 * abs(moved["LuGre"])

axes.set(xlabel="time [s]", ylabel="displacement [mm]", title="Drift under a force below the breakaway force")
axes.legend()
figure.savefig("friction_drift.png")
