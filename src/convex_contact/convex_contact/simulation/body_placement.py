"""Sets pose and twist of a free body or of the root of a tree that floats."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from convex_contact.model.bodies import ArticulatedTree, write_pose
from convex_contact.model.world import Pose, WorldError, vector

if TYPE_CHECKING:
    from convex_contact.simulation.dynamics import WorldDynamics

#: joints of Pinocchio that together move a root whose free joint has a spring or a rotor, last one first
_SPLIT = ("JointModelSpherical", "JointModelPZ", "JointModelPY", "JointModelPX")


def floating_joint(d: WorldDynamics, body: int) -> int | None:
    """Returns the number of Pinocchio's joint that moves a link freely in the world; None if there is none.

    Where a free joint is made of three slides and a ball joint, it is the ball joint.
    """
    described = d.world.bodies[body]
    if described.kind != "link":
        return None
    tree = d.world.trees[described.tree].model
    if not isinstance(tree, ArticulatedTree):
        return None
    model, joint = tree.model, tree.link_joints[described.link]
    if model.joints[joint].shortname() == "JointModelFreeFlyer":
        return joint if model.parents[joint] == 0 else None
    chain = [joint]
    while model.parents[chain[-1]] and len(chain) < len(_SPLIT):
        chain.append(model.parents[chain[-1]])
    names = [model.names[i] for i in chain]
    is_split = names[1:] == [f"{names[0]}/{axis}" for axis in "zyx"] and model.parents[chain[-1]] == 0
    return joint if is_split and tuple(model.joints[i].shortname() for i in chain) == _SPLIT else None


def can_be_placed(d: WorldDynamics, body: int | None) -> bool:
    """Returns whether :func:`set_body_state` takes the body: it is free, or the root of a tree that floats."""
    return body is not None and (d.world.bodies[body].kind == "free" or floating_joint(d, body) is not None)


def set_body_state(
    d: WorldDynamics,
    body: int | str,
    *,
    position: ArrayLike | None = None,
    orientation: ArrayLike | None = None,
    velocity: ArrayLike | None = None,
    angular_velocity: ArrayLike | None = None,
) -> None:
    """Sets the state of a body; see :meth:`~convex_contact.Simulator.set_state`."""
    number = d.world.number(body)
    described = d.world.bodies[number]
    where, joint = described.name, floating_joint(d, number)
    if described.kind == "link" and joint is None:
        raise WorldError(f"{where}: its state cannot be set, it is a link; its joints place it (Simulator.joint)")
    if described.kind not in ("free", "link"):
        raise WorldError(f"{where}: its state cannot be set, it is {described.kind}")
    old = d.state(number)
    p = vector(old.position if position is None else position, 3, f"{where}: position")
    o = vector(old.orientation if orientation is None else orientation, 4, f"{where}: orientation")
    v = vector(old.velocity if velocity is None else velocity, 3, f"{where}: velocity")
    omega = old.angular_velocity if angular_velocity is None else angular_velocity
    omega = vector(omega, 3, f"{where}: angular_velocity")
    if not np.linalg.norm(o) > 1e-9:
        raise WorldError(f"{where}: orientation: expected a quaternion (x, y, z, w) that is not zero, got {o}")
    pose = np.empty(12)
    write_pose(pose, np.concatenate([p, o]))
    rotation = pose[:9].reshape(3, 3)
    lever = rotation @ described.center
    twist = np.concatenate([v + np.cross(omega, lever), omega])
    o /= np.linalg.norm(o)
    if joint is None:
        a, tree = d.arrays, int(d.arrays.body_tree[number])
        a.q[a.tree_q[tree] :][:7] = np.concatenate([p + lever, o])
        a.v[a.tree_v[tree] :][:6] = twist
        return
    moves = position is not None or orientation is not None
    changes_twist = orientation is not None or velocity is not None or angular_velocity is not None
    _set_root(
        d, described.tree, joint,
        position=p + lever if moves else None,
        orientation=None if orientation is None else o,
        twist=twist if changes_twist else None,  # along the axes of the link, which rotate with it
        rotation=rotation,
    )  # fmt: skip


def _set_root(
    d: WorldDynamics, tree: int, number: int, *, position: np.ndarray | None, orientation: np.ndarray | None,
    twist: np.ndarray | None, rotation: np.ndarray,
) -> None:  # fmt: skip
    """Writes coordinates and velocities of a free joint; values that are None do not change.

    Args:
        d: the world in motion.
        tree: number of the tree.
        number: number of the joint, see :func:`floating_joint`.
        position: position of the origin of the link's pose in the world [m], shape (3,).
        orientation: orientation of the link in the world, unit quaternion (x, y, z, w).
        twist: [linear; angular] of that origin in the world, shape (6,).
        rotation: rotation of the link in the world, shape (3, 3).
    """
    a, model = d.arrays, d.world.trees[tree].model.model
    joint, is_split = model.joints[number], model.joints[number].nv == 3
    q, v = int(a.tree_q[tree]) + joint.idx_q, int(a.tree_v[tree]) + joint.idx_v
    first = number - 3 if is_split else number
    base = model.jointPlacements[first]
    if is_split:
        q, v = q - 3, v - 3
    if position is not None:
        a.q[q : q + 3] = base.rotation.T @ (position - base.translation)
    if orientation is not None:
        relative = pin.Quaternion(base.rotation).conjugate() * pin.Quaternion(Pose(orientation=orientation).rotation)
        a.q[q + 3 : q + 7] = orientation if (base.rotation == np.eye(3)).all() else relative.coeffs()
    if twist is not None:
        a.v[v : v + 3] = (base.rotation if is_split else rotation).T @ twist[:3]
        a.v[v + 3 : v + 6] = rotation.T @ twist[3:]
