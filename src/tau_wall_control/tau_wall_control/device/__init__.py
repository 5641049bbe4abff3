"""The mechanism: parameters, kinematics, dynamics, descriptions for other tools. See the README of the package."""

from tau_wall_control.device.tau_device import JOINT_NAMES, Pose, TaskDynamics, TauDevice, TauState

__all__ = ["JOINT_NAMES", "Pose", "TaskDynamics", "TauDevice", "TauState"]
