"""The arrays of articulated trees for `tree_kernels`, from Pinocchio's models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

from convex_contact.model.tree_kernels import CONTINUOUS, FREE_FLYER, PRISMATIC, REVOLUTE, SPHERICAL

_KINDS = {
    "JointModelRX": REVOLUTE, "JointModelRY": REVOLUTE, "JointModelRZ": REVOLUTE,
    "JointModelRevoluteUnaligned": REVOLUTE, "JointModelPX": PRISMATIC, "JointModelPY": PRISMATIC,
    "JointModelPZ": PRISMATIC, "JointModelPrismaticUnaligned": PRISMATIC, "JointModelRUBX": CONTINUOUS,
    "JointModelRUBY": CONTINUOUS, "JointModelRUBZ": CONTINUOUS, "JointModelRevoluteUnboundedUnaligned": CONTINUOUS,
    "JointModelFreeFlyer": FREE_FLYER, "JointModelSpherical": SPHERICAL,
}  # fmt: skip


#: largest number of velocities of a tree; Pinocchio's data take 32 bytes times its third power, here 2 GB
MAX_VELOCITIES = 400


def has_kernels(model: pin.Model) -> bool:
    """Returns whether the kernels support all joints of a tree."""
    return all(joint.shortname() in _KINDS for joint in list(model.joints)[1:])


def joint_arrays(model: pin.Model) -> dict[str, np.ndarray]:
    """Returns the constant arrays of a tree's joints and velocities; numbers in them count within the tree."""
    data = model.createData()
    joints, nv = list(model.joints)[1:], model.nv
    neutral = pin.neutral(model)
    axes, dof_joint, dof_parent = np.zeros((len(joints), 3)), np.zeros(nv, np.int64), np.full(nv, -1, np.int64)
    for i, joint in enumerate(joints):
        if joint.nv == 1:
            column = pin.computeJointJacobian(model, data, neutral, i + 1).reshape(6, -1)[:, joint.idx_v]
            axes[i] = column[:3] if _KINDS[joint.shortname()] == PRISMATIC else column[3:]
        above = model.parents[i + 1]
        last = -1 if above == 0 else model.joints[above].idx_v + model.joints[above].nv - 1
        for k in range(joint.nv):
            dof_joint[joint.idx_v + k] = i
            dof_parent[joint.idx_v + k] = last if k == 0 else joint.idx_v + k - 1
    inertias = [model.inertias[i + 1] for i in range(len(joints))]
    placements = [model.jointPlacements[i + 1] for i in range(len(joints))]
    return {
        "joint_kind": np.array([_KINDS[joint.shortname()] for joint in joints], np.int64),
        "joint_parent": np.array([model.parents[i + 1] - 1 for i in range(len(joints))], np.int64),
        "joint_q": np.array([joint.idx_q for joint in joints], np.int64),
        "joint_v": np.array([joint.idx_v for joint in joints], np.int64),
        "joint_placement": np.array([[*p.rotation.ravel(), *p.translation] for p in placements]).reshape(-1, 12),
        "joint_axis": axes,
        "joint_inertia": np.array([[y.mass, *y.lever, *y.inertia.ravel()] for y in inertias]).reshape(-1, 13),
        "dof_joint": dof_joint,
        "dof_parent": dof_parent,
    }


def runs(parent: np.ndarray) -> np.ndarray:
    """Returns for each velocity the first of the run of successive velocities that ends with it and lies on its path.

    Args:
        parent: velocity before each on the path from the root; -1: none.
    """
    first = np.arange(len(parent), dtype=np.int64)
    for k, before in enumerate(parent):
        if before == k - 1 and before >= 0:
            first[k] = first[k - 1]
    return first


def depths(parent: np.ndarray) -> np.ndarray:
    """Returns the number of velocities on the path of each velocity."""
    depth = np.ones(len(parent), dtype=np.int64)
    for k, before in enumerate(parent):
        if before >= 0:
            depth[k] += depth[before]
    return depth


def is_sparse(parent: np.ndarray) -> bool:
    """Returns whether at least half of the entries of A are zero, where the sparse method is faster (measured)."""
    return 2 * int(depths(parent).sum()) <= len(parent) * (len(parent) + 1) // 2


def tree_table(
    trees: list[Any], tree_q: np.ndarray, tree_v: np.ndarray, first_body: np.ndarray
) -> dict[str, np.ndarray]:
    """Returns the arrays of all trees with kernels, by name.

    Args:
        trees: articulated trees of the world.
        tree_q: first coordinate of each.
        tree_v: first velocity of each.
        first_body: body of the first link of each; those of the other links follow.
    """
    nv = int(tree_v[-1])
    parts: dict[str, list[np.ndarray]] = {}
    starts, bodies, branched = [0], [], np.zeros(len(trees), np.int64)
    dofs = {name: np.zeros(nv) for name in ("dof_damping", "dof_stiffness", "dof_armature")}
    rest, dof_joint, dof_parent = np.zeros((nv, 2)), np.zeros(nv, np.int64), np.full(nv, -1, np.int64)
    for t, tree in enumerate(trees):
        if tree.has_kernels:
            own, j, k = joint_arrays(tree.model), starts[-1], int(tree_v[t])
            part = slice(k, k + tree.model.nv)
            dof_joint[part] = own.pop("dof_joint") + j
            above = own.pop("dof_parent")
            branched[t] = is_sparse(above)
            dof_parent[part] = np.where(above < 0, -1, above + k)
            own["joint_parent"] = np.where(own["joint_parent"] < 0, -1, own["joint_parent"] + j)
            own["joint_q"], own["joint_v"] = own["joint_q"] + tree_q[t], own["joint_v"] + k
            for name, values in own.items():
                parts.setdefault(name, []).append(values)
            dofs["dof_damping"][part], dofs["dof_stiffness"][part] = tree.damping, tree.stiffness
            dofs["dof_armature"][part] = tree.armature
            for joint in list(tree.model.joints)[1:]:
                if joint.nv == 1:
                    rest[k + joint.idx_v, : joint.nq] = tree.rest[joint.idx_q : joint.idx_q + joint.nq]
            bodies += list(range(int(first_body[t]), int(first_body[t]) + len(own["joint_kind"])))
        starts.append(len(bodies))
    empty: dict[str, tuple[Any, Any]] = {
        "joint_kind": (0, np.int64), "joint_parent": (0, np.int64), "joint_q": (0, np.int64), "joint_v": (0, np.int64),
        "joint_placement": ((0, 12), float), "joint_axis": ((0, 3), float), "joint_inertia": ((0, 13), float),
    }  # fmt: skip
    joints = len(bodies)
    widest = max([6, *(tree.model.nv for tree in trees if tree.has_kernels)])
    return {
        **{name: np.concatenate(parts[name]) if parts else np.zeros(*kind) for name, kind in empty.items()},
        **dofs,
        "joint_start": np.array(starts, np.int64),
        "joint_body": np.array(bodies, np.int64),
        "joint_world_axis": np.zeros((joints, 3)),
        "joint_velocity": np.zeros((joints, 6)),
        "joint_twist": np.zeros((joints, 6)),
        "joint_acceleration": np.zeros((joints, 6)),
        "joint_force": np.zeros((joints, 6)),
        "joint_composite": np.zeros((joints, 10)),
        "dof_rest": rest,
        "dof_joint": dof_joint,
        "dof_parent": dof_parent,
        "dof_run": runs(dof_parent),
        "dof_depth": depths(dof_parent),
        "tree_branched": branched,
        "dof_axis": np.zeros((nv, 6)),
        "dof_bias": np.zeros(nv),
        "drive_effort": np.zeros(nv),
        "tree_factor": np.zeros((widest, widest)),
        "tree_origin": np.zeros((len(trees), 3)),
    }
