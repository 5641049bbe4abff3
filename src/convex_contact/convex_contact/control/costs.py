"""Protocols of discrete systems on manifolds and of costs of their motions, and a quadratic cost, for `ilqr`."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from convex_contact.problem import checks


class System(Protocol):
    """A discrete system with states x (m,); changes dx (n,) are vectors of the tangent space."""

    @property
    def tangent(self) -> int:
        """Dimension n of the tangent space."""
        ...

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        ...

    def step(self, k: int, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Returns x_(k+1) = f_k(x, u); a ConvergenceError rejects the inputs."""
        ...

    def linearize(self, states: np.ndarray, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns A (N, n, n) and B (N, n, inputs) along a motion of N + 1 states."""
        ...

    def difference(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Returns the change (n,) that leads from x to y."""
        ...


class Cost(Protocol):
    """Cost of a motion. Its Hessians must be positive semidefinite, that of u positive definite."""

    def running(self, k: int, x: np.ndarray, u: np.ndarray) -> float:
        """Returns the running cost l_k."""
        ...

    def final(self, x: np.ndarray) -> float:
        """Returns the final cost l_N."""
        ...

    def running_expansion(self, k: int, x: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, ...]:
        """Returns l_x (n,), l_u (inputs,), l_xx (n, n), l_ux (inputs, n), l_uu (inputs, inputs)."""
        ...

    def final_expansion(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns l_x (n,) and l_xx (n, n) of the final cost."""
        ...


class Manifold(Protocol):
    """Differences of states that :class:`QuadraticCost` needs of a system."""

    @property
    def tangent(self) -> int: ...

    @property
    def inputs(self) -> int: ...

    def difference(self, x: np.ndarray, y: np.ndarray) -> np.ndarray: ...

    def difference_jacobian(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Returns the derivative (n, n) of `difference` by a change of y."""
        ...


class QuadraticCost:
    """l = 1/2 e^T Q e + 1/2 (u - u_r)^T R (u - u_r) and l_N = 1/2 e^T Q_N e, e the change that leads from x_r to x.

    The period is not a factor of the cost.

    Args:
        system: gives n, the number of inputs, and differences of states.
        reference: x_r.
        state: Q, symmetric (n, n) or its diagonal (n,), not negative.
        input: R, symmetric (inputs, inputs) or its diagonal, positive.
        final: Q_N, like Q.
        input_reference: u_r (inputs,), or one for each step (N, inputs); default: zeros.

    Raises:
        ValueError: wrong shape, or a weight of the wrong sign.

    Examples:
        >>> from importlib.resources import files
        >>> import numpy as np
        >>> from convex_contact import ActuatedWorld, QuadraticCost, World
        >>> world = World()
        >>> _ = world.add_urdf("motor", files("convex_contact") / "data/shaft.urdf", armature=1.0)
        >>> system = ActuatedWorld(world, period=0.01)  # a state is angle and velocity, here (0, 0)
        >>> cost = QuadraticCost(system, [1.0, 0.0], state=[4.0, 0.0], input=[2.0], final=[6.0, 0.0])
        >>> cost.running(0, system.start, np.array([1.0])), cost.final(system.start)  # (4 + 2)/2 and 6/2
        (3.0, 3.0)
    """

    def __init__(
        self,
        system: Manifold,
        reference: ArrayLike,
        *,
        state: ArrayLike,
        input: ArrayLike,
        final: ArrayLike,
        input_reference: ArrayLike | None = None,
    ) -> None:
        n, m = system.tangent, system.inputs
        self.system = system
        self.reference = state_of("reference", reference, system)
        self.Q, self.Q_final = weights("state", state, n), weights("final", final, n)
        self.R = weights("input", input, m)
        if not np.linalg.eigvalsh(self.R)[0] > 0.0:
            raise ValueError("input: expected positive weights: each input must cost something")
        given = np.zeros(m) if input_reference is None else checks.float_array("input_reference", input_reference, (m,))
        if given.ndim == 2:
            self.input_reference = checks.array("input_reference", given, (len(given), m))
        else:
            self.input_reference = checks.array("input_reference", given, (m,))

    def _input_error(self, k: int, u: np.ndarray) -> np.ndarray:
        if self.input_reference.ndim == 1:
            return u - self.input_reference
        if k >= len(self.input_reference):
            raise ValueError(f"input_reference: expected a row for each step, got {len(self.input_reference)} rows")
        return np.asarray(u - self.input_reference[k])

    def running(self, k: int, x: np.ndarray, u: np.ndarray) -> float:
        """Returns the running cost l_k."""
        e, r = self.system.difference(self.reference, x), self._input_error(k, u)
        return 0.5 * float(e @ self.Q @ e + r @ self.R @ r)

    def final(self, x: np.ndarray) -> float:
        """Returns the final cost l_N."""
        e = self.system.difference(self.reference, x)
        return 0.5 * float(e @ self.Q_final @ e)

    def running_expansion(self, k: int, x: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, ...]:
        """Returns l_x, l_u, l_xx without the curvature of the manifold, l_ux = 0, and l_uu."""
        l_x, l_xx = self._expansion(x, self.Q)
        return l_x, self.R @ self._input_error(k, u), l_xx, np.zeros((len(self.R), len(self.Q))), self.R

    def final_expansion(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns l_x and l_xx of the final cost, without the curvature of the manifold."""
        return self._expansion(x, self.Q_final)

    def _expansion(self, x: np.ndarray, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        e, D = self.system.difference(self.reference, x), self.system.difference_jacobian(self.reference, x)
        return D.T @ (Q @ e), D.T @ Q @ D


def state_of(name: str, value: ArrayLike, system: System | Manifold) -> np.ndarray:
    """Returns a state of a system as an array of its own; raises ValueError with the name if it is none."""
    x = checks.float_array(name, value, "(m,)").copy()
    if x.ndim != 1 or not np.isfinite(x).all():
        raise ValueError(f"{name}: expected a state of finite numbers, got {value!r}")
    try:
        system.difference(x, x)
    except ValueError as error:
        raise ValueError(f"{name}: expected a state of the system, got another ({error})") from None
    return x


def weights(name: str, value: ArrayLike, n: int) -> np.ndarray:
    """Returns a positive semidefinite matrix (n, n) from itself or its diagonal.

    Raises:
        ValueError: the value is no such matrix; the message begins with the name.
    """
    if np.ndim(value) == 1:
        value = np.diag(checks.array(name, value, (n,)))
    matrix = checks.array(name, value, (n, n))
    if not np.allclose(matrix, matrix.T, rtol=1e-12, atol=0.0):
        raise ValueError(f"{name}: expected a symmetric matrix")
    least = float(np.linalg.eigvalsh(matrix)[0])
    if least < -1e-12 * np.abs(matrix).max():
        raise ValueError(f"{name}: expected no negative weights, got {least:g}")
    return matrix
