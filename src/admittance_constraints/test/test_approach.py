"""The approach: a motion from pose to pose whose velocities and accelerations are its derivatives."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from admittance_constraints.display.approach import Approach

T, STEPS = 2e-3, 100


def test_velocity_and_acceleration_are_the_derivatives_of_the_poses() -> None:
    turned = Rotation.from_rotvec([0.3, -0.2, 0.5])
    start, end = np.array([0.1, 0.2, 0.3, *turned.as_quat()]), np.array([0.4, 0.1, 0.3, 0.0, 0.0, 0.0, 1.0])
    approach = Approach(start, end, STEPS, T)
    motions = [approach.step() for _ in range(STEPS)]
    assert approach.is_over
    poses = np.array([motion.pose for motion in motions])
    angle = np.array([Rotation.from_quat(pose[3:]).as_rotvec() for pose in poses])  # about one axis
    path = np.column_stack((poses[:, :3], angle))
    velocity = np.array([motion.twist for motion in motions])
    acceleration = np.array([motion.acceleration for motion in motions])
    # central differences are off by T^2/6 times the third derivative, 60 distances per duration^3; second ones by
    # T^2/12 times the fourth, 360 distances per duration^4
    np.testing.assert_allclose(velocity[1:-1], (path[2:] - path[:-2]) / (2.0 * T), atol=60 / 6 * 0.6 * T**2 / 0.2**3)
    np.testing.assert_allclose(acceleration[1:-1], np.diff(path, n=2, axis=0) / T**2, atol=0.1)
    np.testing.assert_allclose(poses[-1], end, atol=1e-15)
    np.testing.assert_allclose(velocity[-1], 0.0, atol=1e-15)
