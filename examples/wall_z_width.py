"""Z-width: the stiffest spring-damper wall that is stable, against the delay of the loop.

Each sample of delay costs stiffness. The limit is that of the linear sampled loop, with the best damping.
"""

import matplotlib.pyplot as plt

from tau_wall_control import TauDevice
from tau_wall_control.simulation.z_width import spring_damper_limit

device = TauDevice.default()
delays = (0, 1, 2, 3, 4)
limits = [spring_damper_limit(device, (0.0, 0.0, 0.0), delay=delay, velocity_pole=2000.0) for delay in delays]
for delay, limit in zip(delays, limits, strict=True):
    print(f"{delay} samples: {limit.stiffness / 1e3:.2f} kN/m with a damping of {limit.damping:.1f} N s/m")
stiffness = [limit.stiffness for limit in limits]
assert min(stiffness) > 0.0 and stiffness == sorted(stiffness, reverse=True)

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.semilogy(delays, [value / 1e3 for value in stiffness], "o-")
axes.set(xlabel="delay [samples]", ylabel="largest stiffness [kN/m]", title="A spring-damper wall")
figure.savefig("wall_z_width.png")
