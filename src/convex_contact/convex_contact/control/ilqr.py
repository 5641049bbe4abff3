"""Iterative LQR: inputs of a discrete system on a manifold that minimise a cost, with box limits.

    minimise   sum_k l_k(x_k, u_k) + l_N(x_N),    x_(k+1) = f_k(x_k, u_k),    lower <= u_k <= upper

An iteration linearises the steps along the present motion, dx_(k+1) = A_k dx_k + B_k du_k, and solves the
remaining quadratic problem backward in time (Li and Todorov, ICINCO 2004). It then follows the law
u = u_k + a d_k + K_k dx_k with the largest a of 1, 1/2, 1/4 ... that lowers the cost by a fraction of the prediction
of the quadratic problem.
It factorises Q_uu + mu I, where mu grows after a failure or a short step and falls after a long one (Tassa, Erez
and Todorov, IROS 2012). Each step's quadratic problem is solved within the limits, and the inputs that are tried are
clipped to them (Tassa, Mansard and Todorov, ICRA 2014): K_k has rows of zeros where an input is at its limit.

The Hessians leave out second derivatives of the steps: they are those of the cost alone (Gauss-Newton). No step
is differentiated twice, and convergence is quadratic only where the cost at the optimum is small.

The system defines its states; a change of a state is a vector of its tangent space (n,), which for a world is that of
`rollouts`: [dq; dv]. Contacts are part of the step; the method knows no contacts and needs no contact sequence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from convex_contact.control.costs import Cost, System, state_of
from convex_contact.control.costs import Manifold as Manifold
from convex_contact.control.costs import QuadraticCost as QuadraticCost
from convex_contact.control.costs import weights as weights
from convex_contact.problem import checks
from convex_contact.problem.errors import ConvergenceError

#: least fraction of the predicted decrease that a step must bring
SUFFICIENT = 1e-4


#: the line search tries 1, 1/2 ... 2^-(HALVINGS - 1)
HALVINGS = 12


#: iterations over which the decrease of the cost is assessed
PATIENCE = 3


#: mu over the mean weight of an input: first value after 0, least value above 0, largest value; factor of a change
FIRST_MU, LEAST_MU, LARGEST_MU, MU_FACTOR = 1.0, 1e-6, 1e10, 5.0


#: d (N, inputs), K (N, inputs, n), slope and curve of `_backward`
_Plan = tuple[np.ndarray, np.ndarray, float, float]


@dataclass(frozen=True)
class Iteration:
    """Record of one iteration.

    Attributes:
        cost: after the iteration.
        expected: decrease that the quadratic problem predicts for the accepted step.
        step: accepted a; 0: none was accepted.
        regularization: mu.
        gradient: largest entry of the cost's gradient by the inputs, before the iteration; entries that push an input
            against its limit do not count.
    """

    cost: float
    expected: float
    step: float
    regularization: float
    gradient: float


@dataclass
class Trajectory:
    """Result of :func:`optimize`.

    Attributes:
        states: (N + 1, m).
        inputs: (N, inputs), within the limits.
        gains: K (N, inputs, n) of u = u_k + K_k dx: a local feedback law about the motion, of the last backward pass.
        cost: of the motion.
        gradient: largest entry of the cost's gradient along the motion, as in :class:`Iteration`.
        converged: one of the criteria is met.
        reason: the criterion, or the cause of an early end.
        start_cost: of the inputs that were given.
        iterations: one record per iteration.

    Examples:
        >>> import numpy as np
        >>> from importlib.resources import files
        >>> from convex_contact import ActuatedWorld, QuadraticCost, World, optimize
        >>> world = World()
        >>> _ = world.add_urdf("motor", files("convex_contact") / "data/shaft.urdf", armature=1.0)
        >>> system = ActuatedWorld(world, period=0.1)
        >>> cost = QuadraticCost(system, [1.0, 0.0], state=[0.0, 0.0], input=[1e-4], final=[1.0, 1.0])
        >>> found = optimize(system, cost, system.start, np.zeros((10, 1)))
        >>> found.start_cost, found.cost < 0.01, found.states.shape  # the angle was 1 rad from the goal
        (0.5, True, (11, 2))
    """

    states: np.ndarray
    inputs: np.ndarray
    gains: np.ndarray
    cost: float
    gradient: float
    converged: bool
    reason: str
    start_cost: float
    iterations: list[Iteration] = field(default_factory=list)

    @property
    def costs(self) -> np.ndarray:
        """Costs at the start and after each iteration (iterations + 1,)."""
        return np.array([self.start_cost, *(i.cost for i in self.iterations)])


def simulate(system: System, cost: Cost, start: np.ndarray, inputs: np.ndarray) -> tuple[np.ndarray, float]:
    """Returns the states (N + 1, m) of a motion and its cost."""
    states, total = [start], 0.0
    for k, u in enumerate(inputs):
        total += cost.running(k, states[-1], u)
        states.append(system.step(k, states[-1], u))
    return np.array(states), total + cost.final(states[-1])


def cost_gradient(system: System, cost: Cost, states: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """Returns the total derivative (N, inputs) of a motion's cost by its inputs, by the adjoint method."""
    A, B = system.linearize(states, inputs)
    return _gradient(A, B, *_expansions(cost, states, inputs))


# Longer than others by its arguments and their documentation.
def optimize(
    system: System,
    cost: Cost,
    start: ArrayLike,
    inputs: ArrayLike,
    *,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    max_iterations: int = 100,
    tolerance: float = 1e-6,
    gradient_tolerance: float = 1e-8,
    regularization: float = 0.0,
    report: Callable[[int, Iteration], None] | None = None,
) -> Trajectory:
    """Iterates until the cost's gradient vanishes, or no iteration lowers the cost any more.

    Args:
        system: steps and their derivatives.
        cost: to minimise.
        start: initial state (m,).
        inputs: first guess (N, inputs); clipped to the limits.
        lower: limits of the inputs (inputs,), or a number for all; default: none.
        upper: limits of the inputs, in the form of `lower`.
        max_iterations: largest number of backward passes.
        tolerance: converged when three iterations together lower the cost by no more than this fraction of it.
        gradient_tolerance: converged when the gradient's largest entry (see :class:`Iteration`) is at most this.
        regularization: mu at the start.
        report: called after each iteration with its number and record.

    Raises:
        ValueError: wrong shape, limits that exclude each other, or a number out of its range.
        ConvergenceError: a step of the first guess has no solution.

    Examples:
        >>> import numpy as np
        >>> from importlib.resources import files
        >>> from convex_contact import ActuatedWorld, QuadraticCost, World, optimize
        >>> world = World()
        >>> _ = world.add_urdf("motor", files("convex_contact") / "data/shaft.urdf", armature=1.0)
        >>> system = ActuatedWorld(world, period=0.1)
        >>> cost = QuadraticCost(system, [1.0, 0.0], state=[0.0, 0.0], input=[1e-6], final=[1.0, 1.0])
        >>> found = optimize(system, cost, system.start, np.zeros((10, 1)))
        >>> found.states[-1].round(2).tolist()  # at rest at 1 rad
        [1.0, 0.0]
        >>> float(found.inputs.sum().round(2))  # the accelerating inputs balance the braking ones
        0.0
    """
    first, u, low, high = _checked(system, start, inputs, lower, upper)
    if not checks.is_whole(max_iterations) or max_iterations < 1:
        raise ValueError(f"max_iterations: expected a whole number from 1 on, got {max_iterations!r}")
    tolerance = checks.number("tolerance", tolerance, minimum=0.0)
    gradient_tolerance = checks.number("gradient_tolerance", gradient_tolerance, minimum=0.0)
    mu = checks.number("regularization", regularization, minimum=0.0)
    x, total = simulate(system, cost, first, u)
    gains = np.zeros((len(u), system.inputs, system.tangent))
    done = Trajectory(x, u, gains, total, np.inf, False, "max_iterations", total)
    for number in range(max_iterations):
        A, B = system.linearize(x, u)
        expansions = _expansions(cost, x, u)
        done.gradient = _projected(_gradient(A, B, *expansions), u, low, high)
        scale = _scale(expansions[4])
        found = None
        while found is None:
            plan = _backward(A, B, expansions, u, low, high, mu)
            if plan is not None:
                done.gains = plan[1]
                if done.gradient <= gradient_tolerance:
                    done.converged, done.reason = True, "gradient"
                    return done
                found = _improved(system, cost, x, u, plan, low, high, total)
            if found is None:
                mu = max(FIRST_MU * scale, mu * MU_FACTOR)
                if mu > LARGEST_MU * scale:
                    done.reason = "no input near the present ones has a lower cost"
                    return done
        (x, u, total), step, expected = found
        done.states, done.inputs, done.cost = x, u, total
        done.iterations.append(Iteration(total, expected, step, mu, done.gradient))
        if report is not None:
            report(number, done.iterations[-1])
        earlier = done.costs[:-PATIENCE]
        if len(earlier) and earlier[-1] - total <= tolerance * abs(total):
            done.converged, done.reason = True, "cost"
            break
        mu = _next_mu(mu, step, scale)
    done.gradient = _projected(cost_gradient(system, cost, x, u), u, low, high)
    return done


def _checked(
    system: System, start: ArrayLike, inputs: ArrayLike, lower: ArrayLike | None, upper: ArrayLike | None
) -> tuple[np.ndarray, ...]:
    """Returns start, inputs within their limits, and the limits, for :func:`optimize`; raises its ValueErrors."""
    m = system.inputs
    if np.ndim(inputs) != 2 or not len(np.asarray(inputs)):
        raise ValueError(f"inputs: expected shape (steps, {m}), got {np.shape(inputs)}")
    u = checks.array("inputs", inputs, (len(np.asarray(inputs)), m))
    low, high = _limit("lower", lower, m, -np.inf), _limit("upper", upper, m, np.inf)
    if (low > high).any():
        raise ValueError(f"lower: expected no more than upper, {high}, got {low}")
    if (low == np.inf).any() or (high == -np.inf).any():
        raise ValueError(f"lower, upper: expected limits that finite inputs can keep, got {low} and {high}")
    first = state_of("start", start, system)
    return first, np.clip(u, low, high), low, high


def _next_mu(mu: float, step: float, scale: float) -> float:
    """Returns the regularization for the next iteration: less after a long step, more after a short one."""
    if step >= 0.5:
        return mu / MU_FACTOR if mu > LEAST_MU * scale else 0.0
    return max(FIRST_MU * scale, mu * MU_FACTOR) if step < 0.25 else mu


def _improved(
    system: System, cost: Cost, x: np.ndarray, u: np.ndarray, plan: _Plan, low: np.ndarray, high: np.ndarray,
    total: float,
) -> tuple[tuple[np.ndarray, np.ndarray, float], float, float] | None:  # fmt: skip
    """Searches the largest step along a plan that lowers the cost enough.

    Returns:
        The motion, the step, and the predicted decrease; None: no step is good enough.
    """
    d, gains, slope, curve = plan
    for halving in range(HALVINGS):
        a = 0.5**halving
        expected = -(a * slope + 0.5 * a * a * curve)
        found = _forward(system, cost, x, u, a * d, gains, low, high)
        if found is not None and total - found[2] >= SUFFICIENT * expected > 0.0:
            return found, a, expected
    return None


def _limit(name: str, value: ArrayLike | None, m: int, default: float) -> np.ndarray:
    if value is None:
        return np.full(m, default)
    try:
        array = np.array(np.broadcast_to(np.asarray(value, dtype=float), (m,)))
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected a number or shape ({m},), got {value!r}") from None
    if np.isnan(array).any():
        raise ValueError(f"{name}: expected numbers, got {value!r}")
    return array


def _scale(l_uu: np.ndarray) -> float:
    """Returns the mean weight of an input, the unit of mu."""
    return float(np.trace(l_uu, axis1=1, axis2=2).mean() / l_uu.shape[1])


def _projected(gradient: np.ndarray, u: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    """Returns the largest absolute entry of the gradient, without entries that push an input against its limit."""
    held = ((u <= low) & (gradient > 0.0)) | ((u >= high) & (gradient < 0.0))
    return float(np.abs(np.where(held, 0.0, gradient)).max())


def _expansions(cost: Cost, states: np.ndarray, inputs: np.ndarray) -> tuple[np.ndarray, ...]:
    """Returns l_x (N + 1, n), l_u (N, inputs), l_xx (N + 1, n, n), l_ux, l_uu; the last l_x and l_xx belong to l_N."""
    each = [cost.running_expansion(k, x, u) for k, (x, u) in enumerate(zip(states[:-1], inputs, strict=True))]
    last_x, last_xx = cost.final_expansion(states[-1])
    l_x, l_u, l_xx, l_ux, l_uu = (np.array(part) for part in zip(*each, strict=True))
    return np.concatenate([l_x, last_x[None]]), l_u, np.concatenate([l_xx, last_xx[None]]), l_ux, l_uu


def _gradient(A: np.ndarray, B: np.ndarray, l_x: np.ndarray, l_u: np.ndarray, *_: Any) -> np.ndarray:
    out, costate = np.empty_like(l_u), l_x[-1]
    for k in range(len(A) - 1, -1, -1):
        out[k] = l_u[k] + B[k].T @ costate
        costate = l_x[k] + A[k].T @ costate
    return out


def _backward(
    A: np.ndarray,
    B: np.ndarray,
    expansions: Sequence[np.ndarray],
    u: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    mu: float,
) -> _Plan | None:
    """Solves the quadratic problem backward in time.

    Returns:
        d (N, inputs), K (N, inputs, n), and slope and curve of the cost's change a slope + a^2 curve/2.
        None: Q_uu + mu I is indefinite.
    """
    l_x, l_u, l_xx, l_ux, l_uu = expansions
    N, n, m = B.shape
    d, K = np.zeros((N, m)), np.zeros((N, m, n))
    V_x, V_xx = l_x[N], l_xx[N]
    slope = curve = 0.0
    for k in range(N - 1, -1, -1):
        Q_x, Q_u = l_x[k] + A[k].T @ V_x, l_u[k] + B[k].T @ V_x
        VA, VB = V_xx @ A[k], V_xx @ B[k]
        Q_xx, Q_ux, Q_uu = l_xx[k] + A[k].T @ VA, l_ux[k] + B[k].T @ VA, l_uu[k] + B[k].T @ VB
        solved = box_minimum(Q_uu + mu * np.eye(m), Q_u, low - u[k], high - u[k])
        if solved is None:
            return None
        d[k], free = solved
        if free.any():
            H = (Q_uu + mu * np.eye(m))[np.ix_(free, free)]
            K[k, free] = -scipy.linalg.solve(H, Q_ux[free], assume_a="pos")
        slope += float(d[k] @ Q_u)
        curve += float(d[k] @ Q_uu @ d[k])
        V_x = Q_x + K[k].T @ (Q_uu @ d[k] + Q_u) + Q_ux.T @ d[k]
        V_xx = Q_xx + K[k].T @ Q_uu @ K[k] + K[k].T @ Q_ux + Q_ux.T @ K[k]
        V_xx = 0.5 * (V_xx + V_xx.T)
    return d, K, slope, curve


def box_minimum(
    H: np.ndarray, g: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Minimises 1/2 d^T H d + g^T d within low <= d <= high by projected Newton steps.

    Returns:
        d (m,), and the mask (m,) of free entries, which no limit stops. None: H is not positive definite.
    """
    try:
        factor = scipy.linalg.cho_factor(H)
    except np.linalg.LinAlgError:
        return None
    d = -scipy.linalg.cho_solve(factor, g)
    if ((d > low) & (d < high)).all():
        return d, np.ones(len(d), dtype=bool)
    d = np.clip(d, low, high)
    for _ in range(100):
        gradient = H @ d + g
        held = ((d <= low) & (gradient > 0.0)) | ((d >= high) & (gradient < 0.0))
        free = ~held
        if not free.any():
            break
        target = d.copy()
        target[free] -= np.linalg.solve(H[np.ix_(free, free)], gradient[free])
        value = 0.5 * d @ H @ d + g @ d
        step, better = 1.0, False
        while step > 1e-10 and not better:
            trial = np.clip(d + step * (target - d), low, high)
            better = 0.5 * trial @ H @ trial + g @ trial < value - 1e-14 * abs(value)
            step *= 0.5
        if not better:
            break
        d = trial
    gradient = H @ d + g
    return d, ~(((d <= low) & (gradient > 0.0)) | ((d >= high) & (gradient < 0.0)))


def _forward(
    system: System, cost: Cost, x: np.ndarray, u: np.ndarray, d: np.ndarray, K: np.ndarray, low: np.ndarray,
    high: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, float] | None:  # fmt: skip
    """Returns states, inputs and cost of the law u + d + K dx; None: a step has no solution or the cost overflows."""
    states, inputs, total = [x[0]], np.empty_like(u), 0.0
    try:
        for k in range(len(u)):
            inputs[k] = np.clip(u[k] + d[k] + K[k] @ system.difference(x[k], states[k]), low, high)
            total += cost.running(k, states[k], inputs[k])
            if not np.isfinite(total):
                return None
            states.append(system.step(k, states[k], inputs[k]))
        total += cost.final(states[-1])
    except ConvergenceError:
        return None
    return (np.array(states), inputs, total) if np.isfinite(total) else None
