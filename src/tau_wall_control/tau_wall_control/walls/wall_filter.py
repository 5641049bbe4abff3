"""The disturbance observer along a plane: Kalman filter for [distance; rate; disturbing acceleration]."""

from __future__ import annotations

import numpy as np
import scipy

from tau_wall_control.control import laws
from tau_wall_control.control.controller import WallController
from tau_wall_control.control.design import kalman

#: columns of a row: three gains, inverse variance of the innovation, threshold of a jump
GAINS, INVERSE_VARIANCE, THRESHOLD = 5, 3, 4


def wall_filter(controller: WallController) -> np.ndarray:
    """Returns gains (1 + JUMP_GAINS, GAINS): of the stationary filter, then those after a jump (see `laws.correct`).

    The controller's noise is that of joint torques and encoder counts. The filter uses its component along the normal
    at the centre of the workspace: accelerations by 1/m J, distances by J.
    """
    o, T, device = controller.options, controller.period, controller.device
    d = device.dynamics((0.0, 0.0, 0.0))
    J = np.linalg.inv(d.actuated_map)
    n = np.concatenate([controller.normal, np.zeros(3)])
    scale = float(np.linalg.norm(np.linalg.solve(d.mass_matrix, d.actuated_map.T).T @ n))  # (m/s^2) per N m
    sd = device.parameters.encoders.joint_resolution / np.sqrt(12.0) * float(np.linalg.norm(n @ J))
    F = np.array([[1.0, T, 0.5 * T * T], [0.0, 1.0, T], [0.0, 0.0, 1.0]])
    C, R = np.array([[1.0, 0.0, 0.0]]), np.array([[sd**2]])
    noise = np.diag([0.0, 0.0, (o.disturbance_rate * scale) ** 2 * T])
    L, P = kalman(F, C, noise, R)
    result = np.zeros((laws.JUMP_GAINS + 1, GAINS))
    threshold = 0.0
    if o.jump_threshold > 0.0:  # as rare as that of six numbers
        threshold = float(scipy.special.chdtri(1, scipy.special.chdtrc(6, o.jump_threshold)))
    result[0] = [*L[:, 0], 1.0 / (P[0, 0] + R[0, 0]), threshold]
    jump = np.array([0.5 * T * T, T, 1.0])
    P = P + (o.jump * scale) ** 2 * np.outer(jump, jump)
    for k in range(1, laws.JUMP_GAINS + 1):
        L = P[:, :1] / (P[0, 0] + R[0, 0])
        result[k, :3] = L[:, 0]
        P = P - L @ P[:1]
        P = F @ (0.5 * (P + P.T)) @ F.T + noise
    return result
