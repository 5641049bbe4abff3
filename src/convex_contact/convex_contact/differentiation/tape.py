"""Tape of a rollout: the derivatives of its steps, and changes of the quantities that the steps depend on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from convex_contact.differentiation import step_derivatives
from convex_contact.differentiation.joint_derivatives import NearRigidRow

if TYPE_CHECKING:
    from convex_contact.differentiation.parameters import RolloutParameters

#: matrices are dense up to this number of velocities
DENSE = 120


@dataclass
class ContactTape:
    """Derivatives of the m active contacts of a step; arrays of `differentiate_contacts`."""

    tree: np.ndarray
    pair: np.ndarray
    fixed: np.ndarray  # the body that no tree moves, -1 if none
    columns: np.ndarray  # velocities of the slots (m, 2d); 0, with columns of zeros, for none
    J: np.ndarray
    R_fixed: np.ndarray
    theta: np.ndarray
    by_norm: np.ndarray
    by_mass: np.ndarray
    past: np.ndarray
    previous: np.ndarray  # index in the tape of the previous step, -1 if it is new
    memory_q: np.ndarray
    memory_v: np.ndarray
    memory_end: np.ndarray
    memory_past: np.ndarray
    memory_theta: np.ndarray
    memory_fixed: np.ndarray

    def __len__(self) -> int:
        return len(self.pair)


@dataclass
class BodyRowTape:
    """Derivatives of m rows of joints between S bodies each, with a slot of d velocities per tree.

    By the mass matrices w = J A^-1 J^T changes by -sum_S U : dA, and the residual by -slope dw.
    """

    tree: np.ndarray  # -1 if none (m, S)
    columns: np.ndarray  # velocities of the slots (m, S d); 0, with zeros, for none
    body: np.ndarray  # those that no tree moves, others 0 (m, S)
    R_fixed: np.ndarray  # residual by the tangents of these bodies (m, S d, S, 6)
    slope: np.ndarray  # (m, S d)
    U: np.ndarray  # (m, S, d, d)

    def add_change(self, fixed: np.ndarray, changed: np.ndarray | None, side: np.ndarray) -> None:
        """Adds the derivative of the residual (nv, n) by tangents of `body` (m, S, 6, n) and by A (nt, d, d, n)."""
        out = np.einsum("misx,msxn->min", self.R_fixed, fixed)
        if changed is not None:
            by_w = np.einsum("msab,msabn->mn", self.U, changed[self.tree])
            out += self.slope[:, :, None] * by_w[:, None]
        np.add.at(side, self.columns, out)

    def add_gradient(self, adjoint: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """Adds the gradient by A to `mass` (nt, d, d); returns the gradient by tangents of `body` (m, S, 6)."""
        at = adjoint[self.columns]
        by_w = (at * self.slope).sum(axis=1)
        np.add.at(mass, np.maximum(self.tree, 0), -by_w[:, None, None, None] * self.U)
        return -np.einsum("misx,mi->msx", self.R_fixed, at)


@dataclass
class StepTape:
    """Derivatives of one step: matrices (nv, nv), dense or sparse, and data for derivatives by parameters."""

    R_q: Any
    R_v: Any
    E: Any
    K: Any
    solve: Callable[[np.ndarray], np.ndarray]
    contacts: ContactTape
    change: np.ndarray  # v - v0 (nv,)
    v0: np.ndarray  # (nv,)
    rotation: np.ndarray  # of free bodies (nt, 3, 3)
    trees: dict[int, TreeTape] = field(default_factory=dict)
    prescribed_rotation: dict[int, np.ndarray] = field(default_factory=dict)  # by body, since the start
    near_rigid: list[NearRigidRow] = field(default_factory=list)
    body_rows: list[BodyRowTape] = field(default_factory=list)

    @property
    def with_mass(self) -> bool:
        """True if an impulse of the step depends on the mass matrices."""
        return bool(self.contacts.by_mass.size or self.near_rigid or self.body_rows)


@dataclass
class TreeTape:
    """Derivatives of an articulated tree: residual by gravity (nv, 3), residual and mass matrix by link parameters."""

    gravity: np.ndarray
    links: np.ndarray  # of the residual (nv, p)
    mass: np.ndarray | None  # of the mass matrix (nv, nv, p)


@dataclass
class Changes:
    """Changes of a step's quantities, n directions in the last axis; or gradients by them, without that axis."""

    q: np.ndarray
    v: np.ndarray
    gravity: np.ndarray
    mass: np.ndarray
    inertia: np.ndarray
    surface: np.ndarray
    tangential: np.ndarray
    fixed: np.ndarray
    links: dict[int, np.ndarray]
    actuation: np.ndarray | None = None

    @staticmethod
    def zeros(r: RolloutParameters, n: int) -> Changes:
        nt = len(r._arrays.tree_kind)
        return Changes(
            q=np.zeros((r.nv, n)),
            v=np.zeros((r.nv, n)),
            gravity=np.zeros((3, n)),
            mass=np.zeros((nt, n)),
            inertia=np.zeros((nt, 3, 3, n)),
            surface=np.zeros((len(r._pairs), 4, n)),
            tangential=np.zeros((2, n)),
            fixed=np.zeros((len(r.world.bodies), 6, n)),
            links={t: np.zeros((10 * len(tree.model.link_joints), n)) for t, tree in enumerate(r.world.trees)},
        )

    def squeezed(self) -> Changes:
        """Returns the changes of a single direction without the last axis."""
        names = ("q", "v", "gravity", "mass", "inertia", "surface", "tangential", "fixed")
        links = {t: x[..., 0] for t, x in self.links.items()}
        return Changes(**{name: getattr(self, name)[..., 0] for name in names}, links=links)

    @property
    def any_mass(self) -> bool:
        return bool(self.mass.any())

    @property
    def any_inertia(self) -> bool:
        return bool(self.inertia.any())

    @property
    def any_link(self) -> bool:
        return any(x.any() for x in self.links.values())


def assemble(
    tree_v: np.ndarray, blocks: np.ndarray, couplings: Sequence[tuple[np.ndarray, np.ndarray]], nv: int
) -> Any:
    """Assembles a matrix (nv, nv), dense or sparse.

    Args:
        tree_v: first velocity of each tree (nt + 1,).
        blocks: of the trees (nt, d, d).
        couplings: of contacts or rows the trees (m, s), -1: none, and the blocks (m, s d, s d).
        nv: number of velocities.
    """
    if nv <= DENSE:
        out = np.zeros((nv, nv))
        step_derivatives.add_blocks(tree_v, blocks, out)
        for trees, coupled in couplings:
            step_derivatives.add_contact_blocks(tree_v, trees, coupled, 1.0, out)
        return out
    width = blocks.shape[1]
    sizes = np.diff(tree_v)
    inside = np.arange(width)
    index = np.where(inside < sizes[:, None], tree_v[:-1, None] + inside, -1)
    values, first, second = [blocks.ravel()], [], []
    first.append(np.repeat(index, width, axis=1).ravel())
    second.append(np.tile(index, (1, width)).ravel())
    for trees, coupled in couplings:
        if not len(trees):
            continue
        every = np.where((trees >= 0)[:, :, None], index[trees], -1).reshape(len(trees), -1)
        values.append(coupled.ravel())
        first.append(np.repeat(every, every.shape[1], axis=1).ravel())
        second.append(np.tile(every, (1, every.shape[1])).ravel())
    x, i, j = np.concatenate(values), np.concatenate(first), np.concatenate(second)
    kept = (i >= 0) & (j >= 0)
    return scipy.sparse.csc_array(scipy.sparse.coo_array((x[kept], (i[kept], j[kept])), shape=(nv, nv)))


def solver_of(H: Any) -> Callable[[np.ndarray], np.ndarray]:
    """Factorises H; returns a function that computes H^-1 b for right-hand sides b (nv,) or (nv, n)."""
    if isinstance(H, np.ndarray):
        factor, info = scipy.linalg.lapack.dpotrf(H, lower=1)
        if info:
            raise np.linalg.LinAlgError(f"H is not positive definite (leading minor {info})")
        return lambda b: scipy.linalg.lapack.dpotrs(factor, b, lower=1)[0]
    return scipy.sparse.linalg.splu(H).solve
