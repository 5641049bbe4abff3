"""Designing the stiff wall of the TAU device, and its penetration under a push of 13 N at nine points.

The wall is an LQI position controller with one operating point or 27 (Wang et al.).
"""

import matplotlib.pyplot as plt
import numpy as np

from tau_wall_control import TauDevice, design_wall_controller, simulate_push

device = TauDevice.default()
points = [(x, y, 0.0) for y in (0.025, 0.0, -0.025) for x in (-0.025, 0.0, 0.025)]  # m
depth = {}
for scheme in ("sopc", "mopc"):
    controller = design_wall_controller(device, scheme)
    pushes = [simulate_push(device, controller, point=point, force=13.0) for point in points]
    depth[scheme] = 1e3 * np.array([push.max_penetration for push in pushes])
    print(f"{scheme}: penetration {depth[scheme].min():.2f} to {depth[scheme].max():.2f} mm")
    assert all(np.isfinite(push.stiffness) and push.stiffness > 5e3 for push in pushes)
assert depth["mopc"].mean() < depth["sopc"].mean()  # more operating points, less penetration on average

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for shift, (scheme, values) in zip((-0.2, 0.2), depth.items(), strict=True):
    axes.bar(np.arange(9) + shift, values, width=0.4, label=scheme)
axes.set_xticks(np.arange(9), [f"{1e3 * x:g}, {1e3 * y:g}" for x, y, _ in points])
axes.set(xlabel="point x, y [mm]", ylabel="penetration [mm]", title="A push of 13 N against the wall")
axes.legend()
figure.savefig("wall_design_and_penetration.png")
