"""Fixed transforms between the mechanism's spatial frame and the display's base frame, and between their tools."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from admittance_constraints import rotations
from admittance_constraints.checks import finite_vector
from admittance_constraints.display import motion_kernels
from haptic_files.moved_modules import renamed
from haptic_math.quantities import quaternion_length

_CONJUGATE = np.array([-1.0, -1.0, -1.0, 1.0])


class DisplayTransform:
    """Transforms between the display's base frame and the mechanism's spatial frame.

    Args:
        position: origin of the spatial frame [m], base frame, shape (3,).
        orientation: orientation of the spatial frame, spatial to base, quaternion (x, y, z, w); it is normalised.
        tool_orientation: orientation of the virtual tool's body frame, body to display's tool, quaternion
            (x, y, z, w); it is normalised. Both tool frames have the same origin.

    Attributes:
        position: see the argument.
        rotation: rotation matrix of the spatial frame, spatial to base, shape (3, 3).

    Raises:
        ValueError: wrong shape, or the length of a quaternion differs from 1 by more than rounding to two digits.

    Examples:
        >>> import numpy as np
        >>> from admittance_constraints import DisplayTransform
        >>> transform = DisplayTransform(position=(0.1, 0.0, 0.0))
        >>> position, _ = transform.inside(np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]))
        >>> position.tolist()
        [0.0, 0.0, 0.0]
    """

    def __init__(
        self,
        position: ArrayLike = (0.0, 0.0, 0.0),
        orientation: ArrayLike = (0.0, 0.0, 0.0, 1.0),
        tool_orientation: ArrayLike = (0.0, 0.0, 0.0, 1.0),
    ) -> None:
        self.position = finite_vector("position", position, 3).copy()
        self._orientation = _unit("orientation", orientation)
        self.rotation = rotations.rotation_from_quaternion(self._orientation)
        self._tool = _unit("tool_orientation", tool_orientation)
        self._inverse, self._tool_inverse = self._orientation * _CONJUGATE, self._tool * _CONJUGATE
        self._compile()

    def __repr__(self) -> str:
        position, orientation, tool = (part.tolist() for part in (self.position, self._orientation, self._tool))
        return f"DisplayTransform(position={position}, orientation={orientation}, tool_orientation={tool})"

    def _compile(self) -> None:
        """Compiles the kernels of a tick, or loads them, so that no tick waits for them."""
        self.outside(self.position, self._orientation)
        self.vector(np.zeros(6))
        self.wrench(np.zeros(6))
        self.position_inside(self.position)

    def wrench(self, wrench: np.ndarray) -> np.ndarray:
        """Expresses a wrench [force; moment] of the base frame in the spatial frame, shape (6,)."""
        expressed = np.empty(6)
        motion_kernels.write_in_space(self.rotation, np.ascontiguousarray(wrench, dtype=float), expressed)
        return expressed

    def vector(self, vector: np.ndarray) -> np.ndarray:
        """Expresses a twist, its rate or a wrench of the spatial frame in the base frame, shape (6,)."""
        expressed = np.empty(6)
        motion_kernels.write_in_base(self.rotation, np.ascontiguousarray(vector, dtype=float), expressed)
        return expressed

    def position_inside(self, position: np.ndarray) -> np.ndarray:
        """Returns a position of the base frame in the spatial frame, shape (3,) [m]."""
        inside = np.empty(3)
        motion_kernels.write_position_inside(self.rotation, self.position, position, inside)
        return inside

    def inside(self, pose: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns position and quaternion of the virtual tool, spatial frame, for a pose (7,) of the display's tool."""
        Q = rotations.quaternion_product(rotations.quaternion_product(self._inverse, pose[3:]), self._tool)
        return self.position_inside(pose[:3]), Q

    def outside(self, position: np.ndarray, orientation: np.ndarray) -> np.ndarray:
        """Returns the pose (7,) of the display's tool, base frame, for position and quaternion of the virtual tool."""
        pose = np.empty(7)
        p, Q = np.ascontiguousarray(position, dtype=float), np.ascontiguousarray(orientation, dtype=float)
        frame = (self.position, self.rotation, self._orientation, self._tool_inverse)
        motion_kernels.write_outside(*frame, p, Q, pose)
        return pose


def _unit(name: str, quaternion: ArrayLike) -> np.ndarray:
    Q = finite_vector(name, quaternion, 4)
    return Q / quaternion_length(name, Q, unit=True)


__getattr__ = renamed(__name__, {"Placement": "DisplayTransform"})
