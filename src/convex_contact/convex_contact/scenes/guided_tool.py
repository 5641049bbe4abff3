"""A guided tool and the world that it pushes in one convex problem: no force between them is of another step.

The tool is a free body of mass m in the world. One step solves all by implicit Euler together: the contacts of the
tool and of the other bodies, the guiding surface as a rigid constraint (g with its unit normal n), and the locked
orientation. The friction along the surface is model C with stiffness K and damping B,

    f = (clamped to mu N) of K e + (K T + B) v,     e <- (B e + T f)/(B + K T).

As friction has a cone where the problem takes scalar rows, the row along the friction has the bounds +-mu N T; the
one across it has, while it slides, the slope of the turning force, mu N / |w| with w = K e + (K T + B) v. N and the
direction of w are those of the step before, as N is in the world's lagged contacts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from convex_contact.problem import checks
from convex_contact.problem.constraints import Constraint, HolonomicConstraint, Rows
from convex_contact.problem.elastoplastic import update_elastic_displacement
from convex_contact.problem.row_law import row_impulse
from convex_contact.simulation.dynamics import WorldDynamics
from convex_contact.simulation.simulator import Simulator


class Guide(Protocol):
    """A surface z = (c1 x^2 + c2 y^2)/2 that guides a point mass, such as a `PointOnParaboloid`.

    Attributes:
        mass: of the tool [kg].
        curvature: c1, c2 [1/m].
        damping: isotropic damping of the tool's motion [N s/m].
    """

    mass: float
    curvature: tuple[float, ...]
    damping: float

    def parametric(self, z: np.ndarray, /) -> np.ndarray:
        """Returns the point of the surface at x, y [m]; the first three entries count."""

    def holonomic_residual(self, q: np.ndarray, /) -> np.ndarray:
        """Returns the distance of a position (3,) from the surface [m], shape (1,)."""


@dataclass(frozen=True)
class SurfaceFriction:
    """Friction of model C along the surface.

    Attributes:
        coefficient: mu.
        stiffness: K [N/m].
        damping: B [N s/m].
    """

    coefficient: float
    stiffness: float
    damping: float


@dataclass
class GuidedState:
    """Result of a step, with the names of a reference of `admittance_constraints`; at its end, in the base frame.

    Attributes:
        x: position and zeros (6,) [m].
        twist: linear and angular velocity (6,) [m/s], [rad/s].
        twist_rate: its rate (6,) [m/s^2], [rad/s^2].
        multipliers: force of the surface along its normal (1,) [N].
        contact: force of the other bodies on the tool (3,) [N].
        friction: friction on the tool (3,) [N].
        orientation: quaternion (x, y, z, w).
        sticks: whether the friction sticks.
    """

    x: np.ndarray
    twist: np.ndarray
    twist_rate: np.ndarray
    multipliers: np.ndarray
    contact: np.ndarray
    friction: np.ndarray
    orientation: np.ndarray = field(default_factory=lambda: np.array([0.0, 0.0, 0.0, 1.0]))
    sticks: bool = True

    def at_rest(self) -> GuidedState:
        """Returns the state at the same position without motion and forces."""
        six, three = np.zeros(6), np.zeros(3)
        return GuidedState(self.x, six, six, np.zeros(1), three, three)


class GuidedWorld:
    """Moves the tool and the other bodies together, by the force of the user on the tool.

    Args:
        simulator: simulator of the world with the tool as a free body, its centre of mass at its origin.
        tool: name of the body.
        mechanism: the guide; its mass is the tool's.
        origin: origin of the world in the base frame (3,) [m]; its axes are those of the base.
        friction: friction along the surface.
    """

    def __init__(
        self,
        simulator: Simulator,
        tool: str,
        mechanism: Guide,
        origin: np.ndarray,
        friction: SurfaceFriction,
    ) -> None:
        self.simulator, self.mechanism, self.friction = simulator, mechanism, friction
        self.period = simulator.period
        self._body, self._origin = simulator.world.number(tool), np.asarray(origin, dtype=float)
        start = simulator.dynamics.columns(body=self._body).start
        self._linear, self._angular = slice(start, start + 3), slice(start + 3, start + 6)
        self._weight = mechanism.mass * -np.array(simulator.world.gravity)
        self._elongation, self._load = np.zeros(3), 0.0
        simulator.constraints += [self._surface, self._locked, self._tangential]

    # --- as a generator ---------------------------------------------------------------------------------------

    def reset(self, *, z: np.ndarray) -> None:
        """Puts the tool at rest at a point of the surface."""
        self.simulator.reset()
        position = self.mechanism.parametric(z)[:3]
        self.simulator.set_state(self._body, position=position - self._origin)
        self._elongation, self._load = np.zeros(3), 0.0
        zero = np.zeros(3)
        self.now = GuidedState(np.concatenate([position, zero]), np.zeros(6), np.zeros(6), np.zeros(1), zero, zero)

    @property
    def pose(self) -> tuple[np.ndarray, np.ndarray]:
        """Position and orientation of the tool."""
        return self.now.x[:3].copy(), self.now.orientation

    def stop(self) -> None:
        """Takes the tool's velocity away."""
        self.simulator.set_state(self._body, velocity=np.zeros(3), angular_velocity=np.zeros(3))

    def step(self, *, wrench: ArrayLike) -> GuidedState:
        """Makes one period with a wrench of the hand (6,) on the tool; the lock takes its moment."""
        m, T = self.mechanism.mass, self.period
        force = checks.array("wrench", wrench, (6,))[:3] - self.mechanism.damping * self.now.twist[:3]
        before = self.now.twist[:3]
        self.simulator.apply_wrench(self._body, force + self._weight)
        self.simulator.step()
        state = self.simulator.state(self._body)
        v, contact = state.velocity, self._contact_force()
        friction = self._friction_force(v)
        normal = self._normal(state.position + self._origin)
        surface = m * (v - before) / T - force - contact + friction
        self._load = abs(float(surface @ normal))
        self.now = GuidedState(
            np.concatenate([state.position + self._origin, np.zeros(3)]),
            np.concatenate([v, np.zeros(3)]),
            np.concatenate([(v - before) / T, np.zeros(3)]),
            np.array([float(surface @ normal)]),
            contact,
            -friction,
            sticks=self._sticks,
        )
        return self.now

    # --- rows -------------------------------------------------------------------------------------------------

    def _position(self) -> np.ndarray:
        return np.asarray(self.simulator.state(self._body).position + self._origin)

    def _normal(self, position: np.ndarray) -> np.ndarray:
        c1, c2 = self.mechanism.curvature
        normal = np.array([-c1 * position[0], -c2 * position[1], 1.0])
        return normal / np.linalg.norm(normal)

    def _surface(self, d: WorldDynamics) -> Constraint:
        position = self._position()
        gap = self.mechanism.holonomic_residual(position)
        return HolonomicConstraint(_wide(self._normal(position)[None], d.nv, self._linear), gap)

    def _locked(self, d: WorldDynamics) -> Constraint:
        x, y, z, w = self.simulator.state(self._body).orientation
        turned = 2.0 * np.copysign(1.0, w) * np.array([x, y, z])  # small angles
        return HolonomicConstraint(_wide(np.eye(3), d.nv, self._angular), turned)

    def _tangential(self, d: WorldDynamics) -> Constraint:
        p, normal = self.friction, self._normal(self._position())
        slope, bound = p.stiffness * self.period + p.damping, p.coefficient * self._load
        self._elongation -= (normal @ self._elongation) * normal
        v = self.now.twist[:3] - (normal @ self.now.twist[:3]) * normal
        w = p.stiffness * self._elongation + slope * v
        size = float(np.linalg.norm(w))
        along = w if size > 0.0 else np.cross(normal, [0.0, 1.0, 0.0])
        along = along / np.linalg.norm(along)
        rows = np.array([along, np.cross(normal, along)])
        turning = max(1.0, size / bound) if bound > 0.0 else 1.0
        self._rows = _Friction(
            _wide(rows, d.nv, self._linear),
            -(p.stiffness / slope) * (rows @ self._elongation),
            np.array([1.0, turning]) / (self.period * slope),
            self.period * bound,
        )
        return self._rows

    def _friction_force(self, v: np.ndarray) -> np.ndarray:
        """Computes the friction (3,) [N] against the velocity at the step's end, and updates the elongation."""
        T, p, rows = self.period, self.friction, self._rows
        J = rows.jacobian[:, self._linear]
        impulse = row_impulse(J @ v, rows.target, rows.compliance, -rows.bound, rows.bound)
        on_tool = impulse @ J
        self._sticks = bool(abs(impulse[0]) < rows.bound)
        e = update_elastic_displacement(p.stiffness, p.damping, T, self._elongation, on_tool)
        self._elongation = np.asarray(e) if self._load > 0.0 else np.zeros(3)
        return np.asarray(-on_tool / T)

    def _contact_force(self) -> np.ndarray:
        report = self.simulator.contacts
        sign = (report.body[:, 1] == self._body).astype(float) - (report.body[:, 0] == self._body)
        impulse = np.einsum("nk,nki->ni", report.impulse, report.frame)
        return np.asarray(sign @ impulse / self.period)


class _Friction(Constraint):
    """Rows J v of the friction, their targets and compliances, and the bound of the impulse."""

    def __init__(self, jacobian: np.ndarray, target: np.ndarray, compliance: np.ndarray, bound: float) -> None:
        self.jacobian, self.target, self.compliance, self.bound = jacobian, target, compliance, bound

    def rows(self, velocities: int, period: float) -> Rows:
        n = len(self.target)
        most = np.full(n, self.bound)
        return Rows(self.jacobian, np.zeros(n), self.target, self.compliance, np.zeros(n), -most, most)


def _wide(rows: np.ndarray, velocities: int, columns: slice) -> np.ndarray:
    """Places the rows of one body among the velocities of all bodies."""
    J = np.zeros((len(rows), velocities))
    J[:, columns] = rows
    return J
