"""The same mechanism by Pinocchio, from the generated URDF: redundant coordinates, loops closed by multipliers.

An independent test of `kernels`: 9 chain angles and a free platform, 15 velocities, 9 constraints. With M and the
nonlinear effects by Pinocchio, and the closure Jacobian K of the three points,

    [M, K^T; K, 0] [a; -lambda] = [S^T tau + J^T W - nle - friction; -Kdot v].
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from tau_wall_control.device.rotations import quaternion_from_rotation
from tau_wall_control.device.tau_device import TauDevice
from tau_wall_control.device.urdf import urdf

_ALIGNED = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED


class PinocchioModel:
    """The device as a Pinocchio model.

    Args:
        device: the device.

    Attributes:
        model, data: Pinocchio's, of the tree without closures; armature and gravity are set.
    """

    def __init__(self, device: TauDevice) -> None:
        self.device = device
        self.model = pin.buildModelFromXML(urdf(device))
        self.model.gravity.linear = np.array(device.parameters.frame.gravity)
        f, actuators = device.parameters.friction, device.parameters.actuators
        self._joints = np.empty((3, 3), dtype=int)  # index of each chain angle among the velocities
        self._places = np.empty((3, 3), dtype=int)  # and among the configuration
        armature, self._viscous = np.zeros(self.model.nv), np.zeros(self.model.nv)
        self._coulomb = np.zeros(self.model.nv)
        for i in range(3):
            for k, name in enumerate(("yaw", "pitch", "elbow")):
                joint = self.model.joints[self.model.getJointId(f"{name}_{i + 1}")]
                self._joints[i, k], self._places[i, k] = joint.idx_v, joint.idx_q
                self._viscous[joint.idx_v] = f.viscous_elbow if k == 2 else f.viscous_actuated
                if k < 2:
                    armature[joint.idx_v] = actuators.capstan_ratio**2 * actuators.rotor_inertia
                    self._coulomb[joint.idx_v] = f.coulomb_actuated
        self.model.armature = armature
        self._smoothing = f.coulomb_smoothing_speed
        floating = self.model.joints[self.model.getJointId("platform")]
        self._platform = slice(floating.idx_v, floating.idx_v + 6)
        self._platform_place = slice(floating.idx_q, floating.idx_q + 7)
        self._frame = self.model.getFrameId("platform", pin.FrameType.BODY)
        self._wrists = [self.model.getFrameId(f"wrist_{i}", pin.FrameType.BODY) for i in (1, 2, 3)]
        self._attachments = [self.model.getFrameId(f"attachment_{i}", pin.FrameType.BODY) for i in (1, 2, 3)]
        self.data = self.model.createData()

    def configuration(self, position: ArrayLike, rotation: np.ndarray | None = None) -> np.ndarray:
        """Returns q (nq,) of a pose."""
        R = np.eye(3) if rotation is None else np.asarray(rotation, dtype=float)
        q = pin.neutral(self.model)
        q[self._places] = self.device.chain_angles(position, R)
        q[self._platform_place] = [*np.asarray(position, dtype=float), *quaternion_from_rotation(R)]
        return q

    def velocity(self, position: ArrayLike, rotation: np.ndarray | None, twist: ArrayLike) -> np.ndarray:
        """Returns v (15,) of a pose and a twist in world axes; solves the closure's rate, not `kernels`."""
        R = np.eye(3) if rotation is None else np.asarray(rotation, dtype=float)
        V = np.asarray(twist, dtype=float)
        v = np.zeros(self.model.nv)
        v[self._platform] = np.concatenate([R.T @ V[:3], R.T @ V[3:]])
        K = self.closure_jacobian(self.configuration(position, R))
        chains = self._joints.reshape(9)
        v[chains] = np.linalg.solve(K[:, chains], -K @ v)
        return v

    def closure_jacobian(self, q: np.ndarray) -> np.ndarray:
        """Returns K (9, 15): velocity of each wrist less that of its platform point, world axes."""
        pin.computeJointJacobians(self.model, self.data, q)
        pin.updateFramePlacements(self.model, self.data)
        rows = [
            pin.getFrameJacobian(self.model, self.data, wrist, _ALIGNED)[:3]
            - pin.getFrameJacobian(self.model, self.data, attachment, _ALIGNED)[:3]
            for wrist, attachment in zip(self._wrists, self._attachments, strict=True)
        ]
        return np.vstack(rows)

    def closure_error(self, position: ArrayLike, rotation: np.ndarray | None = None) -> float:
        """Returns the largest distance of a wrist from its platform point [m]."""
        pin.framesForwardKinematics(self.model, self.data, self.configuration(position, rotation))
        gaps = [
            np.linalg.norm(self.data.oMf[a].translation - self.data.oMf[b].translation)
            for a, b in zip(self._wrists, self._attachments, strict=True)
        ]
        return float(max(gaps))

    def acceleration(
        self,
        position: ArrayLike,
        rotation: np.ndarray | None,
        twist: ArrayLike,
        torque: ArrayLike,
        wrench: ArrayLike,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns Vdot (6,) and thetaddot (6,), as `TauDevice.acceleration`, from the KKT system."""
        model, data = self.model, self.data
        q, v = self.configuration(position, rotation), self.velocity(position, rotation, twist)
        K = self.closure_jacobian(q)
        pin.forwardKinematics(model, data, q, v, np.zeros(model.nv))
        pin.updateFramePlacements(model, data)
        drift = np.concatenate(
            [
                pin.getFrameClassicalAcceleration(model, data, a, _ALIGNED).linear
                - pin.getFrameClassicalAcceleration(model, data, b, _ALIGNED).linear
                for a, b in zip(self._wrists, self._attachments, strict=True)
            ]
        )
        own = np.array(pin.getFrameClassicalAcceleration(model, data, self._frame, _ALIGNED).vector)
        J = pin.computeFrameJacobian(model, data, q, self._frame, _ALIGNED)
        M = pin.crba(model, data, q)
        M = np.triu(M) + np.triu(M, 1).T
        force = J.T @ np.asarray(wrench, dtype=float) - pin.nonLinearEffects(model, data, q, v)
        force -= self._viscous * v + self._coulomb * np.tanh(v / self._smoothing)
        actuated = self._joints[:, :2].reshape(6)
        force[actuated] += np.asarray(torque, dtype=float)
        n = model.nv
        system = np.zeros((n + 9, n + 9))
        system[:n, :n], system[:n, n:], system[n:, :n] = M, K.T, K
        solution = np.linalg.solve(system, np.concatenate([force, -drift]))
        a = solution[:n]
        return J @ a + own, a[actuated]
