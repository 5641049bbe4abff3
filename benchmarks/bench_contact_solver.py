"""Contact solver: time per solve of piles of spheres, on one core, the solver alone.

`pile`: n spheres fall into a box of a quarter as many places per layer; `clutter`: columns of ten that collapse on a
wide floor (Castro et al., section XII-A); `chain`: a tower in a tube. Every pair below the threshold is in the
problem, as the paper has it. Times are those of the thread, without what other processes take: the mean over the fall,
mean and median over its last third, and the 99 % quantile.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from numba import njit
from options import Parser, positive
from rich.console import Console
from rich.table import Table

from convex_contact import APPROXIMATIONS
from convex_contact.problem import contact_kernels as ck
from convex_contact.solver import newton, workspace

RADIUS, DENSITY = 0.05, 1000.0
MASS = DENSITY * 4.0 / 3.0 * math.pi * RADIUS**3
INERTIA = 0.4 * MASS * RADIUS**2


@njit(cache=True)
def gap_to_wall(position: np.ndarray, half: np.ndarray, wall: int) -> tuple[float, float, float, float]:
    """Gap of a sphere to a wall of the box, or the floor, and the wall's normal."""
    axis, sign = ((0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0), (2, 1.0))[wall]
    phi = sign * position[axis] + (half[axis] if axis < 2 else 0.0) - RADIUS
    return phi, sign if axis == 0 else 0.0, sign if axis == 1 else 0.0, sign if axis == 2 else 0.0


@njit(cache=True)
def gap_of_spheres(a: np.ndarray, b: np.ndarray, threshold: float) -> tuple[float, float, float, float]:
    """Gap of two spheres, and the normal from b to a; infinite above the threshold."""
    nx, ny, nz = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    square = nx * nx + ny * ny + nz * nz
    if square > (2.0 * RADIUS + threshold) ** 2:
        return math.inf, 0.0, 0.0, 0.0
    distance = math.sqrt(square)
    return distance - 2.0 * RADIUS, nx / distance, ny / distance, nz / distance


@njit(cache=True)
def write_jacobian(J: np.ndarray, o: int, sign: float, nx: float, ny: float, nz: float) -> None:
    """Rows t1, t2, n of one sphere: v + omega x r at r = -sign R n, and t . (omega x r) = omega . (r x t)."""
    # branchless orthonormal basis (Duff et al. 2017)
    s = 1.0 if nz >= 0.0 else -1.0
    q = -1.0 / (s + nz)
    xy = nx * ny * q
    axes = ((1.0 + s * nx * nx * q, s * xy, -s * nx), (xy, s + ny * ny * q, -ny), (nx, ny, nz))
    for row in range(3):
        tx, ty, tz = axes[row]
        J[o + 6 * row + 0] = sign * tx
        J[o + 6 * row + 1] = sign * ty
        J[o + 6 * row + 2] = sign * tz
        if row < 2:
            J[o + 6 * row + 3] = -RADIUS * (ny * tz - nz * ty)
            J[o + 6 * row + 4] = -RADIUS * (nz * tx - nx * tz)
            J[o + 6 * row + 5] = -RADIUS * (nx * ty - ny * tx)
        else:
            J[o + 15] = J[o + 16] = J[o + 17] = 0.0


@njit(cache=True)
def write_contacts(
    w: Any,
    position: np.ndarray,
    v: np.ndarray,
    half: np.ndarray,
    threshold: float,
    stiffness: float,
    dissipation: float,
    relaxation_time: float,
    friction: float,
) -> int:
    """Pairs of spheres and walls within the threshold, all of them: n^2 distances."""
    n, count = len(position), 0
    for i in range(n):
        for k in range(-5, n - i - 1):
            b = i + 1 + k if k >= 0 else -1
            if k < 0:
                phi, nx, ny, nz = gap_to_wall(position[i], half, k + 5)
            else:
                phi, nx, ny, nz = gap_of_spheres(position[i], position[b], threshold)
            if phi > threshold:
                continue
            w.contact_a[count], w.contact_b[count] = i, b
            w.J_start[count] = 36 * count
            vn = 0.0
            for side in range(2 if b >= 0 else 1):
                sign = 1.0 if side == 0 else -1.0
                body = i if side == 0 else b
                write_jacobian(w.J, 36 * count + 18 * side, sign, nx, ny, nz)
                vn += sign * (v[6 * body] * nx + v[6 * body + 1] * ny + v[6 * body + 2] * nz)
            p = w.contact_parameters[count]
            p[:] = 0.0
            p[ck.PHI0], p[ck.V_N0], p[ck.STIFFNESS], p[ck.DISSIPATION] = phi, vn, stiffness, dissipation
            p[ck.RELAXATION_TIME], p[ck.COEFFICIENT], p[ck.M11], p[ck.M22] = relaxation_time, friction, 1.0, 1.0
            p[ck.TANGENTIAL_STIFFNESS] = stiffness
            count += 1
    return count


@njit(cache=True)
def begin(w: Any, n: int, gravity: float) -> None:
    """Structure, masses and free motion of n spheres."""
    for i in range(n):
        w.dof_start[i], w.A_start[i] = 6 * i, 36 * i
        for k in range(36):
            w.A[36 * i + k] = 0.0
        for k in range(6):
            w.A[36 * i + 7 * k] = MASS if k < 3 else INERTIA
            w.v_star[6 * i + k] = w.v[6 * i + k]
        w.v_star[6 * i + 2] -= w.period * gravity
    w.dof_start[n], w.A_start[n] = 6 * n, 36 * n


@njit(cache=True)
def end(w: Any, position: np.ndarray) -> None:
    for i in range(len(position)):
        for k in range(3):
            position[i, k] += w.period * w.v[6 * i + k]


def step(w: Any, position: np.ndarray, half: np.ndarray, threshold: float, stiffness: float) -> int:
    """Makes a whole step."""
    n = len(position)
    begin(w, n, 9.81)
    count = write_contacts(w, position, workspace.inputs(w).structure.v, half, threshold, stiffness, 10.0, 1e-4, 1.0)
    workspace.reserve(w, n, 6 * n, 36 * n, count, 36 * count, 0, 0)
    status = newton.solve_step(w)
    end(w, position)
    return status


def scene(kind: str, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Positions (n, 3) and half sizes of the box."""
    random = np.random.default_rng(seed)
    if kind == "chain":
        half = np.array([0.0502, 0.0502])
        position = np.zeros((n, 3))
        position[:, 2] = RADIUS + 0.101 * np.arange(n)
        position[:, :2] += random.uniform(-1e-4, 1e-4, (n, 2))
        return position, half
    side = max(2, round(math.sqrt(n / 4.0))) if kind == "pile" else max(1, round(math.sqrt(n / 10.0)))
    pitch = 0.106 if kind == "pile" else 0.4
    layers = math.ceil(n / side**2)
    grid = np.array([(x, y, z) for z in range(layers) for x in range(side) for y in range(side)][:n], dtype=float)
    position = np.empty((n, 3))
    position[:, :2] = (grid[:, :2] - (side - 1) / 2.0) * pitch + random.uniform(-1e-3, 1e-3, (n, 2))
    position[:, 2] = 0.075 + (0.106 if kind == "pile" else 0.15) * grid[:, 2]
    return position, np.full(2, side * pitch / 2.0 if kind == "pile" else side * 0.2)


def measure(
    kind: str, n: int, approximation: str, stiffness: float, duration: float, threshold: float
) -> dict[str, float]:
    position, half = scene(kind, n)
    w = workspace.new_workspace()
    dt = 2e-3
    room = 5 * n + n * min(n, 80)
    workspace.reserve(w, n, 6 * n, 36 * n, room, 36 * room, 0, 0)
    v = workspace.inputs(w).structure.v
    a = APPROXIMATIONS[approximation]
    workspace.configure(w, a.code, ck.LINEAR, dt, 1e-4, 1e-3, 0.0, 1e-5, 1e-14, 200, False)
    steps = round(duration / dt)
    times, iterations, factors, candidates = np.empty(steps), np.empty(steps), np.empty(steps), np.empty(steps)
    contacts = 0
    for k in range(steps):
        begin(w, n, 9.81)
        contacts = write_contacts(w, position, v, half, threshold, stiffness, 10.0, 1e-4, 1.0)
        workspace.reserve(w, n, 6 * n, 36 * n, contacts, 36 * contacts, 0, 0)
        start = time.thread_time()
        status = newton.solve_step(w)
        times[k] = time.thread_time() - start
        if status != newton.CONVERGED:
            raise SystemExit(f"{kind} {n}: step {k} did not converge: {workspace.statistics(w)}")
        found = workspace.statistics(w)
        iterations[k], factors[k] = found.iterations, found.factorizations
        candidates[k] = workspace.load_of(w)
        end(w, position)
    third = steps // 3
    return {
        "mean": 1e6 * float(times[1:].mean()),
        "late": 1e6 * float(np.mean(times[-third:])),
        "late_median": 1e6 * float(np.median(times[-third:])),
        "worst": 1e6 * float(np.sort(times)[-max(1, steps // 100)]),
        "iterations": float(iterations.mean()),
        "late_iterations": float(iterations[-third:].mean()),
        "factors": float(factors.mean()),
        "late_factors": float(factors[-third:].mean()),
        "active": float(candidates[-third:].mean()),
        "pairs": contacts,
        "speed": float(np.abs(v[: 6 * n]).max()),
    }


def main() -> None:
    parser = Parser(description=__doc__)
    parser.add_argument("--sizes", type=positive, nargs="+", default=[10, 40, 160, 400])
    parser.add_argument("--kinds", nargs="+", default=["pile", "clutter", "chain"])
    parser.add_argument("--approximation", default="lagged")
    parser.add_argument("--stiffness", type=float, default=1e7)
    parser.add_argument("--duration", type=float, default=3.0)
    parser.add_argument("--threshold", type=float, default=0.1)
    options = parser.parse_args()
    measure("pile", 4, options.approximation, 1e7, 0.1, options.threshold)  # compiles
    columns = ("mean", "late", "late_median", "worst", "iterations", "late_iterations", "factors", "late_factors")
    table = Table(title=f"{options.approximation}, dt = 2 ms, k = {options.stiffness:g} N/m; times in us per solve")
    for name in ("scene", "n", "pairs", "active", *columns, "speed"):
        table.add_column(name, justify="right")
    for kind in options.kinds:
        for n in options.sizes:
            m = measure(kind, n, options.approximation, options.stiffness, options.duration, options.threshold)
            numbers = [f"{m[name]:.1f}" for name in columns]
            table.add_row(kind, str(n), f"{m['pairs']:.0f}", f"{m['active']:.0f}", *numbers, f"{m['speed']:.1e}")
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
