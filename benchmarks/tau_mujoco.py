"""The TAU mechanism in MuJoCo: three chains, a free platform, and a connect equality at each spherical joint.

Its constraints are soft; they are as stiff here as MuJoCo's own safety limit lets them be, and the solver is Newton's.
Friction is viscous only (MuJoCo has no tanh friction).
"""

from __future__ import annotations

from collections.abc import Iterable

import mujoco
import numpy as np
from constraint_mujoco import stiff

from tau_wall_control import TauDevice
from tau_wall_control.device.rotations import quaternion_from_rotation

VERSION = mujoco.__version__
#: of a body that has inertia about its joint only: MuJoCo wants some [kg]
NOTHING = 1e-9


def _numbers(values: Iterable[float]) -> str:
    return " ".join(repr(float(v)) for v in values)


def _inertial(mass: float, com: Iterable[float], inertia: Iterable[float]) -> str:
    return f'<inertial pos="{_numbers(com)}" mass="{mass!r}" diaginertia="{_numbers(inertia)}"/>'


def text(device: TauDevice, period: float) -> str:
    """The device as MJCF."""
    p = device.parameters
    armature = p.actuators.capstan_ratio**2 * p.actuators.rotor_inertia
    driven = f'type="hinge" armature="{armature!r}" damping="{p.friction.viscous_actuated!r}"'
    free = f'type="hinge" damping="{p.friction.viscous_elbow!r}"'
    turn = _numbers(np.roll(quaternion_from_rotation(p.chains.base_axes.rotation), 1))  # (w, x, y, z)
    bodies, sites, closures = "", "", ""
    for i, c in enumerate(p.chains.all, start=1):
        one, two = c.link_1, c.link_2
        outer = (
            f'<body pos="{c.link_1_length!r} 0 0"><joint name="elbow_{i}" {free} axis="0 -1 0"/>'
            + _inertial(two.mass, (two.com, 0, 0), (two.inertia_axial, *[two.inertia_transverse] * 2))
            + f'<site name="wrist_{i}" pos="{c.link_2_length!r} 0 0"/></body>'
        )
        inner = (
            f'<body><joint name="pitch_{i}" {driven} axis="0 -1 0"/>'
            + _inertial(one.mass, (one.com, 0, 0), (one.inertia_axial, *[one.inertia_transverse] * 2))
            + f"{outer}</body>"
        )
        bodies += (
            f'<body pos="{_numbers(c.base_origin)}" quat="{turn}"><joint name="yaw_{i}" {driven} axis="0 0 1"/>'
            + _inertial(NOTHING, (0, 0, 0), (max(c.carriage_inertia_yaw, NOTHING),) * 3)
            + f"{inner}</body>"
        )
        sites += f'<site name="point_{i}" pos="{_numbers(c.platform_point)}"/>'
        closures += f'<connect site1="wrist_{i}" site2="point_{i}" {stiff(period)}/>'
    platform = _inertial(p.platform.mass, p.platform.com, p.platform.inertia_about_com)
    options = f'timestep="{period!r}" integrator="Euler" tolerance="1e-12" gravity="{_numbers(p.frame.gravity)}"'
    return (
        f'<mujoco><compiler angle="radian"/><option {options}/><worldbody>{bodies}'
        f"<body><freejoint/>{platform}{sites}</body></worldbody><equality>{closures}</equality></mujoco>"
    )


class MujocoTau:
    """The device at a state, under joint torques held.

    Args:
        device: the TAU device of the comparison.
        position, rotation, twist: state.
        torque: (6,) [N m].
        period: of a step [s].
    """

    def __init__(
        self,
        device: TauDevice,
        position: np.ndarray,
        rotation: np.ndarray,
        twist: np.ndarray,
        torque: np.ndarray,
        period: float = 1e-3,
    ) -> None:
        self.model = mujoco.MjModel.from_xml_string(text(device, period))
        self.data = mujoco.MjData(self.model)
        angles = device.chain_angles(position, rotation)
        rates = np.einsum("ijk,k->ij", device.dynamics(position, rotation).chain_maps, twist)
        for i in range(3):
            for k, name in enumerate(("yaw", "pitch", "elbow")):
                joint = self.model.joint(f"{name}_{i + 1}")
                self.data.qpos[joint.qposadr[0]], self.data.qvel[joint.dofadr[0]] = angles[i, k], rates[i, k]
                if k < 2:
                    self.data.qfrc_applied[joint.dofadr[0]] = torque[2 * i + k]
        self.data.qpos[-7:] = [*position, *np.roll(quaternion_from_rotation(rotation), 1)]
        self.data.qvel[-6:] = [*twist[:3], *(rotation.T @ twist[3:])]

    def forward(self) -> np.ndarray:
        """Vdot (6,) in world axes."""
        mujoco.mj_forward(self.model, self.data)
        a = self.data.qacc[-6:]
        R = np.empty(9)
        mujoco.mju_quat2Mat(R, self.data.qpos[-4:])
        return np.concatenate([a[:3], R.reshape(3, 3) @ a[3:]])

    def step(self, steps: int) -> None:
        """Lets periods pass in MuJoCo's own loop, each with one evaluation of the dynamics, from the same state."""
        before = self.data.qpos.copy(), self.data.qvel.copy()
        mujoco.mj_step(self.model, self.data, steps)
        self.data.qpos[:], self.data.qvel[:] = before
