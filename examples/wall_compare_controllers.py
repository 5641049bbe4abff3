"""LQI, H-infinity and a spring with a passivity controller at one operating point: stiffness, and noise of the torques.

A step of 13 N pushes the tool into the wall; noise is that of the encoders' counts while the push is held.
"""

import matplotlib.pyplot as plt

from tau_wall_control import (
    HInfinityController,
    PassiveController,
    TauDevice,
    design_wall_controller,
    simulate_push,
)
from tau_wall_control.simulation.z_width import spring_damper_controller, torque_activity

device = TauDevice.default()
spring = spring_damper_controller(device, stiffness=10e3, damping=0.0)  # N/m, N s/m
walls = {
    "LQI": design_wall_controller(device, "sopc"),
    "H-infinity": HInfinityController(device, position=(0.0, 0.0, 0.0)),
    "spring": PassiveController(device, spring, control=False),  # observes only
    "spring, passive": PassiveController(device, spring),
}
pushes, noise, energy = {}, {}, {}
for name, wall in walls.items():
    counts = simulate_push(device, wall, point=(0.0, 0.0, 0.0), duration=1.4, quantized=True)
    pushes[name] = push = simulate_push(device, wall, point=(0.0, 0.0, 0.0), duration=1.4)
    noise[name] = torque_activity(counts, seconds=0.15)
    line = f"{1e3 * push.max_penetration:6.2f} mm, {push.stiffness / 1e3:5.1f} kN/m, {1e3 * noise[name]:5.0f} mN m"
    if isinstance(wall, PassiveController):
        energy[name] = wall.lowest_energy
        line += f", lowest energy {1e3 * energy[name]:.2f} mJ"
    print(f"{name:16s} {line}")
assert pushes["H-infinity"].stiffness > 1.2 * pushes["LQI"].stiffness  # at about the same noise
assert noise["H-infinity"] < 1.5 * noise["LQI"]
assert energy["spring"] < -50e-3 and energy["spring, passive"] > -0.5e-3  # J
assert pushes["spring, passive"].max_penetration < 0.5 * pushes["spring"].max_penetration

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained", width_ratios=(1.5, 1))
for name, push in pushes.items():
    left.plot(1e3 * (push.time - 1.0), -1e3 * push.deviation, label=name)
    right.loglog(1e3 * noise[name], push.stiffness / 1e3, "o", markersize=8)
left.set(
    xlim=(-10, 200), ylim=(-3, 9), xlabel="time after the step [ms]", ylabel="penetration [mm]", title="A push of 13 N"
)
left.legend(fontsize="small")
right.set(
    xlim=(10, 2000),
    xlabel="noise of the torques [mN m]",
    ylabel="stiffness [kN/m]",
    title="Stiff and quiet: above, left",
)
figure.savefig("wall_compare_controllers.png")
