"""Results of the reference generator for one step and many steps, and the state of the generator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from admittance_constraints.model.definition import TASK

#: fields of `Reference` that are zero at rest
_OF_MOTION = (
    *("z_velocity", "z_acceleration", "q_velocity", "q_acceleration", "multipliers", "x_velocity", "x_acceleration"),
    *("twist", "twist_rate", "velocity_residual", "kinetic_energy"),
)


def _field(name: str) -> property:
    return property(lambda self: self._data[..., self._slices[name]])


def _scalar(name: str) -> property:
    return property(lambda self: float(self._data[self._slices[name].start]))


def _column(name: str) -> property:
    return property(lambda self: self._data[:, self._slices[name].start])


class _Fields:
    """Vectors that `Reference` and `Trajectory` have in common, as views of one array."""

    __slots__ = ("_data", "_slices")

    _data: np.ndarray
    _slices: dict[str, slice]

    z = _field("z")
    z_velocity = _field("z_velocity")
    z_acceleration = _field("z_acceleration")
    q = _field("q")
    q_velocity = _field("q_velocity")
    q_acceleration = _field("q_acceleration")
    multipliers = _field("multipliers")
    x = _field("x")
    x_velocity = _field("x_velocity")
    x_acceleration = _field("x_acceleration")
    orientation = _field("orientation")
    twist = _field("twist")
    twist_rate = _field("twist_rate")


class Reference(_Fields):
    """Result of one step. Arrays are views of one copy made in that step and do not change later.

    Positions and velocities are those after the step, accelerations and multipliers those at its beginning, when the
    force was measured, as in Algorithm 1 (lines 8, 12).

    Attributes:
        z, z_velocity, z_acceleration: parameters of the submanifold, shape (nz,); (16).
        q, q_velocity, q_acceleration: coordinates, shape (n,); (13).
        multipliers: lambda, shape (m,), (11), in the order of `mechanism.constraint_names`.
        x, x_velocity, x_acceleration: x_r and its derivatives, shape (6,); x_acceleration is the feedforward (14).
        orientation: quaternion (x, y, z, w) of the tool, base frame.
        twist: [velocity; angular velocity] of the tool, base frame, shape (6,) [m/s; rad/s].
        twist_rate: feedforward of the twist's derivative, shape (6,) [m/s^2; rad/s^2].
        holonomic_residual: largest |H'| of the constraints, in their units.
        velocity_residual: largest |A qdot|.
        kinetic_energy, potential_energy: T, V [J].
        friction_force: [force; moment] of the friction option on the tool, base frame, shape (6,) [N; N m].
        sticking: true if every friction element sticks; false without friction.
        friction_converged: false if the forces of two friction elements did not converge in this step.

    Examples:
        >>> from admittance_constraints import ReferenceGenerator, RollingDisk
        >>> reference = ReferenceGenerator(RollingDisk(), period=1e-3).step([0.0] * 6)
        >>> reference.x.shape, reference.multipliers.shape
        ((6,), (4,))
    """

    __slots__ = ("friction_converged", "friction_force", "sticking")

    def __init__(
        self,
        data: np.ndarray,
        slices: dict[str, slice],
        friction_force: np.ndarray,
        sticking: bool,
        friction_converged: bool = True,
    ) -> None:
        self._data = data
        self._slices = slices
        self.friction_force = friction_force
        self.sticking = sticking
        self.friction_converged = friction_converged

    def __repr__(self) -> str:
        x = np.array2string(self.x, precision=6, separator=", ", max_line_width=200)
        return f"Reference(x={x}, kinetic_energy={self.kinetic_energy:.6g})"

    holonomic_residual = _scalar("holonomic_residual")
    velocity_residual = _scalar("velocity_residual")
    kinetic_energy = _scalar("kinetic_energy")
    potential_energy = _scalar("potential_energy")

    def at_rest(self) -> Reference:
        """Returns the same configuration without velocities, accelerations, constraint forces and friction."""
        data = self._data.copy()
        for name in _OF_MOTION:
            data[self._slices[name]] = 0.0
        return Reference(data, self._slices, np.zeros(TASK), False)


class Trajectory(_Fields):
    """Result of many steps: the fields of `Reference` (without friction) with one row per kept step.

    Examples:
        >>> import numpy as np
        >>> from admittance_constraints import Pendulum, ReferenceGenerator
        >>> trajectory = ReferenceGenerator(Pendulum(), period=1e-3, z=[0.5]).simulate(wrenches=np.zeros((1000, 6)))
        >>> trajectory.z.shape
        (1000, 1)
        >>> bool(np.ptp(trajectory.kinetic_energy + trajectory.potential_energy) < 1e-6)  # no damping: energy stays
        True
    """

    __slots__ = ()

    def __init__(self, data: np.ndarray, slices: dict[str, slice]) -> None:
        self._data = data
        self._slices = slices

    def __len__(self) -> int:
        return len(self._data)

    def __repr__(self) -> str:
        return f"Trajectory({len(self)} steps, z of shape {self.z.shape}, q of shape {self.q.shape})"

    holonomic_residual = _column("holonomic_residual")
    velocity_residual = _column("velocity_residual")
    kinetic_energy = _column("kinetic_energy")
    potential_energy = _column("potential_energy")


@dataclass(frozen=True)
class GeneratorState:
    """State of a `ReferenceGenerator`; `ReferenceGenerator.restore` restores it to the last bit.

    Attributes:
        vector: state of the compiled step.
        force: force of the step before, [f_x; wrench], shape (12,); None before the first step.
        steps: number of steps since the start.

    Examples:
        >>> from admittance_constraints import Pendulum, ReferenceGenerator
        >>> generator = ReferenceGenerator(Pendulum(), period=1e-3, z=[0.5])
        >>> before = generator.state
        >>> first = generator.step([0.0] * 6).q_velocity
        >>> generator.restore(before)
        >>> bool((generator.step([0.0] * 6).q_velocity == first).all())
        True
    """

    vector: np.ndarray
    force: np.ndarray | None
    steps: int

    def __repr__(self) -> str:
        return f"GeneratorState(steps={self.steps}, vector of {len(self.vector)} numbers)"
