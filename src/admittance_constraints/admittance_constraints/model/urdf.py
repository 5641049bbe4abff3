"""Mechanisms from URDF files: Pinocchio reads joints and inertias, CasADi derives the equations of motion.

Each link has the energy m |v_c|^2/2 + omega^T J omega/2 at its centre of mass. A loop of the mechanism is opened in the
file, and closed by a holonomic constraint: two frames keep the same position, p_a(q) = p_b(q).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from admittance_constraints.checks import finite_number, finite_vector
from admittance_constraints.errors import MechanismError
from admittance_constraints.model import symbolic
from admittance_constraints.model.definition import TASK, Definition
from admittance_constraints.model.mechanism import Mechanism
from haptic_files import FileError, read_text


class UrdfMechanism(Mechanism):
    """Links with revolute, continuous and prismatic joints, with closed loops. It needs the package pin.

    q = z = joint displacements in the order of `joint_names` [rad], [m]. The tool is a frame of the file, the base the
    file's root. Every joint must move the tool, eq. (2): open a loop so that the tool stands at the end of the chain.

    Args:
        urdf: path of a URDF file, or its text.
        tool: name of the tool's link or of another frame.
        loops: pairs of frames that coincide.
        loop_axes: constrained components of the positions of the pairs, base frame; "xy" for a planar loop in x and y,
            whose third component would be a dependent constraint.
        orientation: true if the tool's angles are part of x; its z axis must then not be parallel to that of the base.
        gravity: gravity acceleration [m/s^2], base frame (3,).
        damping: damping of every joint [N m s/rad], [N s/m].
        near: joint displacements at which the search for a closed configuration starts (n,); zero if not given.

    Attributes:
        joint_names: names of the moving joints, in the order of q.

    Raises:
        MechanismError: the file cannot be read, has no moving joint, more than six, or a joint of another kind, or
            a frame is unknown; the message names it.

    Examples:
        >>> from admittance_constraints import UrdfMechanism
        >>> text = '''<robot name="slider"><link name="rail"/><link name="carriage"><inertial><mass value="2.0"/>
        ... <inertia ixx="1.0" iyy="1.0" izz="1.0" ixy="0.0" ixz="0.0" iyz="0.0"/></inertial></link>
        ... <joint name="slide" type="prismatic"><parent link="rail"/><child link="carriage"/><axis xyz="1 0 0"/>
        ... <limit lower="-1.0" upper="1.0" effort="1.0" velocity="1.0"/></joint></robot>'''
        >>> UrdfMechanism(text, tool="carriage").inertia([0.1]).tolist()
        [[2.0]]
    """

    def __init__(
        self,
        urdf: Path | str,
        *,
        tool: str,
        loops: Sequence[tuple[str, str]] = (),
        loop_axes: str = "xyz",
        orientation: bool = False,
        gravity: Sequence[float] = (0.0, 0.0, 0.0),
        damping: float = 0.0,
        near: ArrayLike | None = None,
    ) -> None:
        if not loop_axes or not set(loop_axes) <= set("xyz") or len(set(loop_axes)) < len(loop_axes):
            raise MechanismError(f"loop_axes: expected different letters of xyz, got {loop_axes!r}")
        self._model = read_urdf(urdf)
        self.joint_names = tuple(self._model.names)[1:]
        self._frames = {frame.name: frame for frame in self._model.frames}
        for name in (tool, *(name for pair in loops for name in pair)):
            if name not in self._frames:
                raise MechanismError(f"frame {name}: expected one of {', '.join(sorted(self._frames))}")
        self.tool, self.loops, self.loop_axes = tool, tuple(loops), loop_axes
        self.has_orientation = orientation
        self.field = finite_vector("gravity", gravity, 3).copy()
        self.joint_damping = finite_number("damping", damping, minimum=0.0)
        count = len(self.joint_names)
        self.near = np.zeros(count) if near is None else finite_vector("near", near, count).copy()
        super().__init__()

    def define(self, d: Definition) -> None:
        q, qdot = d.coordinates(len(self.joint_names))
        poses = [(ca.SX.zeros(3), ca.SX.eye(3))]
        rates = [ca.SX.zeros(3)]  # angular velocity of each link in its own frame
        for i in range(1, self._model.njoints):
            parent, placement = self._model.parents[i], self._model.jointPlacements[i]
            linear, axis = (ca.SX(part) for part in np.split(joint_axis(self._model, i), 2))
            K = symbolic.skew(axis)
            rotation = ca.SX.eye(3) + ca.sin(q[i - 1]) * K + (1 - ca.cos(q[i - 1])) * ca.mtimes(K, K)
            R = ca.mtimes(poses[parent][1], ca.SX(placement.rotation))
            position = poses[parent][0] + ca.mtimes(poses[parent][1], ca.SX(placement.translation))
            position = position + ca.mtimes(R, linear) * q[i - 1]
            before = ca.mtimes(ca.SX(placement.rotation).T, rates[parent])
            poses.append((position, ca.mtimes(R, rotation)))
            rates.append(ca.mtimes(rotation.T, before + axis * qdot[i - 1]))
            body = self._model.inertias[i]
            center = position + ca.mtimes(poses[i][1], ca.SX(body.lever))
            spin = ca.dot(rates[i], ca.mtimes(ca.SX(body.inertia), rates[i]))
            d.kinetic_energy(body.mass * ca.sumsqr(symbolic.along(center, q, qdot)) / 2 + spin / 2)
            if self.field.any():
                d.gravity(body.mass, center, self.field.tolist())

        def position_of(name: str) -> ca.SX:
            frame = self._frames[name]
            p, R = poses[frame.parentJoint]
            return p + ca.mtimes(R, ca.SX(frame.placement.translation))

        frame = self._frames[self.tool]
        R = ca.mtimes(poses[frame.parentJoint][1], ca.SX(frame.placement.rotation))
        angles = symbolic.angles_from_rotation(R) if self.has_orientation else ca.SX.zeros(3)
        d.forward(ca.vertcat(position_of(self.tool), angles))
        for a, b in self.loops:
            gap = position_of(a) - position_of(b)
            for letter in self.loop_axes:
                d.holonomic(f"{a} on {b}, {letter}", gap["xyz".index(letter)])
        if self.joint_damping:
            d.damping_force(d.parameter("damping", self.joint_damping) * qdot)
        d.nominal(q=self.near)


def read_urdf(urdf: Path | str) -> Any:
    """Returns Pinocchio's model of a URDF file or text, whose joints have one degree of freedom each.

    Raises:
        MechanismError: as for `UrdfMechanism`.
    """
    try:
        import pinocchio as pin
    except ImportError:
        raise MechanismError("urdf: expected the package pin; pip install admittance_constraints[urdf]") from None

    if not isinstance(urdf, (str, Path)):
        raise MechanismError(f"urdf: expected the path of a file or its text, got {urdf!r}")
    is_text = isinstance(urdf, str) and "<" in urdf
    try:
        model = pin.buildModelFromXML(urdf if is_text else read_text(urdf))
    except FileError as error:
        raise MechanismError(f"urdf: {error}") from None
    except (ValueError, RuntimeError) as error:
        what = "the text" if is_text else str(urdf)
        raise MechanismError(f"urdf: {what} cannot be read: {str(error).splitlines()[0]}") from None
    for i in range(1, model.njoints):
        if model.joints[i].nv != 1:
            raise MechanismError(f"joint {model.names[i]}: expected revolute, continuous, prismatic or fixed")
    if not 1 <= model.njoints - 1 <= TASK:
        raise MechanismError(f"urdf: expected 1 to {TASK} joints that move, got {model.njoints - 1}")
    return model


def joint_axis(model: Any, i: int) -> np.ndarray:
    """Returns the twist (6,) [linear; angular] of a joint of Pinocchio's model per unit of its rate, in its frame."""
    import pinocchio as pin

    jacobian = np.asarray(pin.computeJointJacobian(model, model.createData(), pin.neutral(model), i))
    return jacobian.reshape(6, model.nv)[:, model.joints[i].idx_v]  # pin gives (6,) for one joint
