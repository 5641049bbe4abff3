"""Facts of an MJCF file as MuJoCo and as the suite have them: mass matrix, poses, Jacobians, motion.

Both are in MuJoCo's order of velocities. The velocity of a free joint is [linear, world; angular, body]. The facts of
MuJoCo of the texts of `mjcf_cases` are in a file, which this module writes where MuJoCo is installed:

    PYTHONPATH=test python test/mjcf_comparison.py
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from convex_contact import Simulator, World

#: numbers by their names, and by body
Facts = dict[str, Any]
#: facts of MuJoCo by case
STORED = Path(__file__).parents[1] / "src" / "convex_contact" / "test" / "data" / "mjcf_mujoco.json"
SIZES = {"hinge": 1, "slide": 1, "ball": 3, "free": 6}


def mujoco_facts(path: Path, *, duration: float = 0.0, period: float = 1e-3, stiff: bool = False) -> Facts:
    """The facts of MuJoCo, in the first keyframe of the file.

    Args:
        path: of the file.
        duration: of the motion, s.
        period: of the steps of the motion, s.
        stiff: use the implicit method instead of that of Runge and Kutta.
    """
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    mass = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, mass)
    names = [model.body(i).name or f"body_{i}" for i in range(1, model.nbody)]
    kinds = ("free", "ball", "slide", "hinge")
    facts: Facts = {
        "mass": mass,
        "joints": [(model.joint(i).name or f"joint_{i}", kinds[int(model.jnt_type[i])]) for i in range(model.njnt)],
        "bodies": _poses(model, data, names),
        "jacobians": {},
        "total_mass": float(model.body_mass[1:].sum()),
    }
    for i, name in enumerate(names, start=1):
        linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        mujoco.mj_jacBody(model, data, linear, angular, i)
        facts["jacobians"][name] = np.concatenate([linear, angular])
    model.opt.timestep = period
    methods = mujoco.mjtIntegrator
    model.opt.integrator = methods.mjINT_IMPLICITFAST if stiff else methods.mjINT_RK4
    for _ in range(round(duration / period)):
        mujoco.mj_step(model, data)
    assert not any(warning.number for warning in data.warning), "MuJoCo's motion is not stable"
    mujoco.mj_forward(model, data)
    facts["moved"] = _poses(model, data, names)
    return facts


def _poses(model: Any, data: Any, names: list[str]) -> dict[str, np.ndarray]:
    """Position and rotation matrix (12,) of bodies."""
    return {name: np.concatenate([data.xpos[i], data.xmat[i]]) for i, name in enumerate(names, start=1)}


def suite_facts(world: World, joints: list[tuple[str, str]], *, duration: float = 0.0, period: float = 1e-4) -> Facts:
    """The facts of the suite, of the bodies that it has.

    Args:
        world: of the same file.
        joints: names and kinds, as of :func:`mujoco_facts`.
        duration: of the motion, s; the positions are extrapolated from two step lengths.
        period: of its steps, s.
    """
    simulator = Simulator(world, period=period)
    d = simulator.dynamics
    d.prepare()
    nv = sum(SIZES[kind] for _, kind in joints)
    change = np.zeros((d.nv, nv))  # our velocities from MuJoCo's
    column = 0
    for name, kind in joints:
        _write_change(change, column, name, kind, simulator)
        column += SIZES[kind]
    mass = change.T @ _mass(simulator) @ change
    facts: Facts = {
        "mass": mass,
        "bodies": _states(simulator),
        "jacobians": {body.name: simulator.jacobian(body.name) @ change for body in world.bodies},
        "total_mass": _total(world),
    }
    if duration:
        moved = []
        for steps in (1, 2):
            simulator = Simulator(world, period=period / steps, relative_tolerance=1e-12)
            simulator.step(round(duration / period) * steps)
            moved.append(_states(simulator))
        facts["moved"] = {name: 2.0 * moved[1][name] - moved[0][name] for name in moved[0]}
    return facts


def _write_change(change: np.ndarray, column: int, name: str, kind: str, simulator: Simulator) -> None:
    """Writes the columns of a joint."""
    world, a = simulator.world, simulator.dynamics.arrays
    for number, tree in enumerate(world.trees):
        model = tree.model.model
        if not model.existJointName(name):
            continue
        joint = model.joints[model.getJointId(name)]
        row, place = int(a.tree_v[number]) + joint.idx_v, int(a.tree_q[number]) + joint.idx_q
        if kind == "free" and joint.nv == 3:  # after three slides
            change[row - 3 : row + 3, column : column + 6] = np.eye(6)
            return
        size = joint.nv
        change[row : row + size, column : column + size] = np.eye(size)
        if kind == "free":
            x, y, z, w = a.q[place + 3 : place + 7]
            change[row : row + 3, column : column + 3] = pin.Quaternion(w, x, y, z).matrix().T
        return
    free = [i for i, body in enumerate(world.bodies) if body.kind == "free"]
    assert kind == "free", name
    taken = (change[int(a.tree_v[a.body_tree[i]])].any() for i in free)
    number = next(i for i, used in zip(free, taken, strict=True) if not used)  # in the order of the file
    row, R = int(a.tree_v[a.body_tree[number]]), a.body_pose[number][:9].reshape(3, 3)
    change[row : row + 3, column : column + 3] = np.eye(3)
    change[row : row + 3, column + 3 : column + 6] = -pin.skew(R @ world.bodies[number].center) @ R
    change[row + 3 : row + 6, column + 3 : column + 6] = R


def _mass(simulator: Simulator) -> np.ndarray:
    """The mass matrix without implicit springs and dampers."""
    a, trees = simulator.dynamics.arrays, simulator.world.trees
    mass = np.zeros((simulator.dynamics.nv, simulator.dynamics.nv))
    for t in range(len(a.tree_kind)):
        i, j = a.tree_v[t], a.tree_v[t + 1]
        mass[i:j, i:j] = a.A[t, : j - i, : j - i]
        if t < len(trees):
            mass[i:j, i:j] = trees[t].model.mass_matrix(a.q[a.tree_q[t] : a.tree_q[t + 1]])
    return mass


def _states(simulator: Simulator) -> dict[str, np.ndarray]:
    found = {}
    for body in simulator.world.bodies:
        state = simulator.state(body.name)
        x, y, z, w = state.orientation
        found[body.name] = np.concatenate([state.position, pin.Quaternion(w, x, y, z).matrix().ravel()])
    return found


def _total(world: World) -> float:
    links = sum(inertia.mass for tree in world.trees for inertia in tree.model.model.inertias)
    return float(links + sum(body.mass for body in world.bodies))


def differences(ours: Facts, theirs: Facts) -> dict[str, float]:
    """Largest differences: of the mass matrix relative to its largest entry, of poses and Jacobians [m, -]."""
    scale = max(float(np.abs(theirs["mass"]).max(initial=0.0)), 1e-300)
    found = {"mass": float(np.abs(np.array(theirs["mass"]) - ours["mass"]).max(initial=0.0)) / scale}
    for part in ("bodies", "jacobians", "moved"):
        shared = ours.get(part, {}).keys() & theirs[part].keys()
        found[part] = max((float(np.abs(ours[part][n] - np.array(theirs[part][n])).max()) for n in shared), default=0.0)
    return found


def _rounded(value: Any) -> Any:
    """The same with plain lists, and numbers of twelve digits."""
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [_rounded(each) for each in value]
    return value if isinstance(value, str) else float(f"{value:.12g}")


def write_stored() -> None:
    """Writes the facts of MuJoCo of all cases."""
    from mjcf_cases import CASES, DURATION

    facts = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (text, _) in CASES.items():
            path = Path(folder, f"{name}.xml")
            path.write_text(text, encoding="utf-8")
            facts[name] = _rounded(mujoco_facts(path, duration=DURATION, period=1e-4))
    STORED.write_text(json.dumps(facts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_stored()
