"""The wall's renderer in a loop of your own: joint angles and rates in, torques out.

A hand pushes a simulated TAU device onto a wall with 5 N and guides it sideways. Replace `plant` by your device's I/O.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.transform import Rotation

from tau_wall_control import Plane, TauDevice, TauState, WallRenderer, design_wall_controller

T, PUSH = 1e-3, 5.0  # s, N
device = TauDevice.default()
controller = design_wall_controller(device, "sopc")
walls = WallRenderer(controller, [Plane(point=(0.0, 0.0, 0.0), normal=(0.0, 0.0, 1.0))])
plant = TauState(device, (0.0, 0.0, 0.002))  # 2 mm above the wall

height, touching = [], []
for _ in range(1500):
    theta, rate = plant.joints()
    state = walls.step(theta, rate)
    velocity, rotation = plant.twist[:3], Rotation.from_matrix(plant.rotation).as_rotvec()
    force = -300.0 * plant.position * [1, 1, 0] - 6.0 * velocity - [0, 0, PUSH]
    moment = -1.0 * rotation - 0.01 * plant.twist[3:]
    plant.step(state.torque, np.concatenate([force, moment]), T)
    height.append(plant.position[2])
    touching.append(bool(state.in_contact[0]))
print(f"contact from {T * touching.index(True):.3f} s; deepest {-1e3 * min(height):.2f} mm")
print(f"at the end {-1e6 * height[-1]:.1f} um deep; the normal force of the wall is {state.push[0]:.2f} N")
assert not touching[0] and touching[-1]
assert abs(height[-1]) < 1e-4  # the integrator brings the tool back to the wall
assert abs(state.push[0] - PUSH) < 0.1

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.plot(T * np.arange(1500), 1e3 * np.array(height))
axes.axhline(0.0, color="0.6", linestyle=":", label="wall")
axes.set(xlabel="time [s]", ylabel="height of the tool [mm]", title="Onto a stiff wall")
axes.legend()
figure.savefig("wall_renderer_loop.png")
