"""Presliding friction from a record: LuGre's six parameters, and elements in parallel for the same force.

The record is the LuGre differential equation with noise. Elements in parallel (Maxwell slip) describe its presliding
part by a few stiffnesses and break-away forces; they lack the fall of friction with speed.
"""

import matplotlib.pyplot as plt
import numpy as np

from haptic_friction import LuGreModel, StribeckLaw, identify_lugre, identify_parallel_elements

T = 1e-3  # s
time = T * np.arange(4000)
velocity = 0.03 * np.sin(2.0 * np.pi * 2.3 * time) * np.sin(2.0 * np.pi * 0.3 * time)
truth = {
    "kinetic_force": 4.0,
    "static_force": 5.0,
    "stribeck_velocity": 0.01,
    "viscosity": 5.0,
    "bristle_stiffness": 2e4,
    "bristle_damping": 60.0,
}
law = StribeckLaw(4.0, static_force=5.0, stribeck_velocity=0.01)
fine = np.interp(np.arange(0.0, time[-1], T / 100), time, velocity)  # small steps: the differential equation
plant = LuGreModel(law, bristle_stiffness=2e4, bristle_damping=60.0, viscosity=5.0, period=T / 100)
force = plant.simulate(fine[:, None])[::100, 0]
force += np.random.default_rng(1).normal(0.0, 0.03, len(force))
velocity = velocity[: len(force)]

lugre = identify_lugre(velocity, force, period=T)
for name, estimate in lugre.estimates.items():
    print(f"{name}: {estimate}, true {truth[name]:g}")
    assert abs(estimate.value - truth[name]) < 0.05 * truth[name]
elements = identify_parallel_elements(velocity, force, period=T, elements=3)
print(f"residual: LuGre {lugre.residual_rms:.3f} N, three elements {elements.residual_rms:.3f} N")
assert lugre.residual_rms < 0.04 < elements.residual_rms < 0.6

displacement = 1e3 * T * np.cumsum(velocity)
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
axes.plot(displacement, force, ".", markersize=1, color="0.6", label="record")
for name, model in {"LuGre": lugre.lugre_model(), "three elements": elements.parallel_elements()}.items():
    axes.plot(displacement, model.simulate(velocity[:, None]), linewidth=0.8, label=name)
axes.set(xlabel="displacement [mm]", ylabel="force [N]", title="Identified presliding friction")
axes.legend()
figure.savefig("friction_identify_presliding.png")
