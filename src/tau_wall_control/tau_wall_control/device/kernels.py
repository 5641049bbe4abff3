"""The compiled equations of the mechanism under one name: `kernels.assemble`, `kernels.forward_kinematics`, ...

`arrays` has the records that they take, `kinematics` and `dynamics` the equations of docs/tau.md.
"""

from tau_wall_control.device.arrays import CHAIN, FK_DIVERGED, OK, PLATFORM, SINGULAR, UNREACHABLE, pack
from tau_wall_control.device.dynamics import assemble, integrate, task_acceleration
from tau_wall_control.device.kinematics import (
    FK_ITERATIONS,
    FK_TOLERANCE,
    SMALLEST_REACH,
    actuated,
    actuated_map,
    chain_angles,
    chain_maps,
    forward_kinematics,
    rotate,
    rotation_of,
)
from tau_wall_control.device.linear_algebra import cholesky_solve, gauss_solve

__all__ = [
    "CHAIN",
    "FK_DIVERGED",
    "FK_ITERATIONS",
    "FK_TOLERANCE",
    "OK",
    "PLATFORM",
    "SINGULAR",
    "SMALLEST_REACH",
    "UNREACHABLE",
    "actuated",
    "actuated_map",
    "assemble",
    "chain_angles",
    "chain_maps",
    "cholesky_solve",
    "forward_kinematics",
    "gauss_solve",
    "integrate",
    "pack",
    "rotate",
    "rotation_of",
    "task_acceleration",
]
