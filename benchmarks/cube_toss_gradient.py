"""Identification by Gauss & Newton with the library's derivatives of a motion, over the first touch of each toss.

A whole toss is chaotic: a cube that balances on an edge falls to one side or the other. The first AFTER samples after
the first touch are not, so that their errors are a smooth function of the parameters. Residuals of a sample: the error
of the centre over LENGTH, the rotation vector of the error over ANGLE, both over the root of the number of samples;
robust (soft l1) over the tosses. Derivatives with respect to stiffness, damping, friction, the board's height and the
moment of inertia are the library's, forward through the steps; centre of mass and radius take differences.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from cube_toss_cases import Model, Scene, first_touch, recorded
from cube_toss_ours import made_world
from scipy.spatial.transform import Rotation

from convex_contact import Simulator, rollout
from convex_contact.scenes.tosses import PERIOD, Toss

AFTER = 10
LENGTH, ANGLE = 3e-3, np.radians(3.0)
#: steps of the differences, in the unit cube
DIFFERENCE = 1e-2
#: of each parameter: how it is named in the library, and the direction
COLUMNS: dict[str, dict[str, object]] = {
    "stiffness": {"stiffness(cube 0, board)": 1.0},
    "dissipation": {"dissipation(cube 0, board)": 1.0},
    "relaxation_time": {"relaxation_time(cube 0, board)": 1.0},
    "friction": {"friction(cube 0, board)": 1.0},
    "height": {"position(board)": [0.0, 0.0, 1.0]},
    "inertia": {"inertia(cube 0)": np.eye(3)},
}


def touch_residuals(
    model: Model, x: dict[str, float], scene: Scene, toss: Toss, names: Sequence[str] = ()
) -> tuple[np.ndarray, np.ndarray]:
    """Residuals of a toss (m,) and their derivatives (m, n) with respect to parameters that are in COLUMNS."""
    first = first_touch(toss, scene.half_width)
    last = min(toss.samples - 1, first + AFTER)
    world, center = made_world(x, scene, [recorded(toss)], model.substeps)
    options = model.simulate.keywords if hasattr(model.simulate, "keywords") else {}
    simulator = Simulator(
        world,
        period=PERIOD / model.substeps,
        approximation=options["approximation"],
        relative_tolerance=1e-9,
        threshold=0.05,
        polish=True,
    )
    r = rollout(simulator, last * model.substeps)
    rows = slice(first * model.substeps, None, model.substeps)
    q, v = r.slices("cube 0")
    motion = r.q[rows, q]
    turns = Rotation.from_quat(motion[:, 3:7])
    lever = turns.apply(center)
    wrong = (turns * Rotation.from_quat(toss.orientation[first : last + 1]).inv()).as_rotvec()
    weights = np.repeat([1.0 / LENGTH, 1.0 / ANGLE], 3) / np.sqrt(len(motion))
    residuals = np.hstack([motion[:, :3] - lever - toss.position[first : last + 1], wrong]) * weights
    if not names:
        return residuals.ravel(), np.zeros((residuals.size, 0))
    J = r.jacobian([COLUMNS[name] for name in names])[rows, v]
    out = np.empty((len(motion), 6, len(names)))
    out[:, :3] = J[:, :3] + np.cross(lever[:, :, None], J[:, 3:6], axisa=1, axisb=1, axisc=1)
    for k, w in enumerate(wrong):
        out[k, 3:] = inverse_left_jacobian(w) @ J[k, 3:6]
    return residuals.ravel(), (out * weights[:, None]).reshape(residuals.size, -1)


def inverse_left_jacobian(w: np.ndarray) -> np.ndarray:
    """What turns a small rotation, applied last, into the change of the rotation vector w (3, 3)."""
    W = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
    a = float(np.linalg.norm(w))
    c = 1.0 / 12.0 if a < 1e-4 else 1.0 / a**2 - (1.0 + np.cos(a)) / (2.0 * a * np.sin(a))
    return np.eye(3) - 0.5 * W + c * W @ W


def gauss_newton(
    model: Model, start: dict[str, float], scene: Scene, tosses: Sequence[Toss], evaluations: int
) -> tuple[dict[str, float], int]:
    """Minimises the robust sum over tosses from a start, by Levenberg & Marquardt in the unit cube.

    Returns:
        The best parameters, and how many trajectory evaluations were used (one with derivatives counts as one).
    """
    own = [name for name in model.bounds if name in COLUMNS]
    others = [i for i, name in enumerate(model.bounds) if name not in COLUMNS]
    index = [list(model.bounds).index(name) for name in own]
    used, damping, u = 0, 1e-2, np.clip(model.point(start), 0.02, 0.98)

    def evaluate(u: np.ndarray, with_own: bool) -> tuple[list[np.ndarray], list[np.ndarray]]:
        x = model.parameters(u)
        pairs = [touch_residuals(model, x, scene, toss, own if with_own else ()) for toss in tosses]
        return [r for r, _ in pairs], [J for _, J in pairs]

    def cost(residuals: list[np.ndarray]) -> float:
        return float(sum(2.0 * (np.sqrt(1.0 + r @ r) - 1.0) for r in residuals))

    residuals, jacobians = evaluate(u, True)
    used += 1
    while used + len(others) + 1 <= evaluations:
        n = len(model.bounds)
        full = [np.zeros((len(r), n)) for r in residuals]
        x = model.parameters(u)
        for J, part in zip(full, jacobians, strict=True):
            for column, i in enumerate(index):
                low, high, log = model.bounds[own[column]]
                J[:, i] = part[:, column] * (x[own[column]] * np.log(high / low) if log else high - low)
        for i in others:
            step = np.zeros(n)
            step[i] = DIFFERENCE if u[i] < 0.5 else -DIFFERENCE
            moved, _ = evaluate(u + step, False)
            used += 1
            for J, r, m in zip(full, residuals, moved, strict=True):
                J[:, i] = (m - r) / step[i]
        weights = [1.0 / np.sqrt(1.0 + r @ r) for r in residuals]
        H = sum(w * J.T @ J for w, J in zip(weights, full, strict=True))
        g = sum(w * J.T @ r for w, J, r in zip(weights, full, residuals, strict=True))
        before, accepted = cost(residuals), False
        while used < evaluations and not accepted:
            trial = np.clip(u - np.linalg.solve(H + damping * np.diag(np.diag(H) + 1e-9), g), 0.0, 1.0)
            new, new_jacobians = evaluate(trial, True)
            used += 1
            accepted = cost(new) < before
            damping = max(damping / 5.0, 1e-4) if accepted else damping * 5.0
            if damping > 1e4:
                return model.parameters(u), used
        if accepted:
            u, residuals, jacobians = trial, new, new_jacobians
            if before - cost(residuals) < 1e-3 * before:
                break
    return model.parameters(u), used
