"""One operating point or many: the stiffness that the wall's design has at each place of the workspace.

The gains of the scheduled controllers follow the device's changing inertia.
"""

import matplotlib.pyplot as plt
import numpy as np

from tau_wall_control import TauDevice, design_wall_controller

device = TauDevice.default()
single, scheduled = (design_wall_controller(device, scheme) for scheme in ("sopc", "scheduled"))
heights = np.linspace(-0.025, 0.025, 11)
gains = {
    name: [np.linalg.norm(controller.gains((0.0, 0.0, z))[0]) for z in heights]
    for name, controller in (("one point", single), (f"{len(scheduled.points) ** 3} points, interpolated", scheduled))
}
for name, values in gains.items():
    print(f"{name}: norm of the gains {min(values):.1f} to {max(values):.1f}")
assert np.ptp(gains["one point"]) == 0.0
assert np.ptp(list(gains.values())[1]) > 0.0
assert scheduled.memory_bytes > 20 * single.memory_bytes

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for name, values in gains.items():
    axes.plot(1e3 * heights, values, "o-", label=name)
axes.set(xlabel="height in the workspace [mm]", ylabel="norm of the gains [-]", title="Gains of the wall's controller")
axes.legend()
figure.savefig("wall_operating_points.png")
