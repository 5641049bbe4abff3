"""A disk that rolls and steers on a plane: nonholonomic constraints, a closed path, and no side slip.

A constant force and a constant moment act on the disk; its contact point never moves sideways or slips.
"""

import matplotlib.pyplot as plt
import numpy as np

from admittance_constraints import ReferenceGenerator, RollingDisk

T, RADIUS = 1e-3, 0.03  # s, m
disk = RollingDisk(radius=RADIUS)
generator = ReferenceGenerator(disk, period=T, z=[0.0, 0.0, 0.3, 0.0], integrator="rk4")
references = [generator.step(wrench=[0.3, 0.0, 0.0, 0.0, 0.0, 0.002]) for _ in range(3000)]
position = np.array([r.x[:2] for r in references])
heading = np.unwrap([r.x[3] for r in references])
velocity, middle = np.diff(position, axis=0) / T, 0.5 * (heading[1:] + heading[:-1])
aside = velocity[:, 1] * np.cos(middle) - velocity[:, 0] * np.sin(middle)
speed = np.linalg.norm(velocity, axis=1)
print(f"the disk moved by {np.ptp(position, axis=0).max():.3f} m; sideways at most {np.abs(aside).max():.1e} m/s")
assert np.ptp(position, axis=0).max() > 0.05
assert np.abs(aside).max() < 1e-5 * speed.max()  # of differences over 1 ms; a disk that slips is far from it

figure, axes = plt.subplots(figsize=(5, 4), layout="constrained")
axes.plot(*position.T)
axes.set(xlabel="x [m]", ylabel="y [m]", title="Path of a rolling disk")
axes.set_aspect("equal")
figure.savefig("constraints_rolling_disk.png")
