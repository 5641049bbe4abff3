"""What a rollout keeps of its steps, and changes of parameters in the form that these take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from convex_contact.differentiation import step_derivatives
from convex_contact.differentiation.joint_derivatives import NearRigidRow

if TYPE_CHECKING:
    from convex_contact.differentiation.parameters import RolloutParameters

#: up to this many velocities matrices are dense
DENSE = 120


@dataclass
class ContactTape:
    """Derivatives of the m contacts of a step that may have an impulse; arrays of `differentiate_contacts`."""

    tree: np.ndarray
    pair: np.ndarray
    fixed: np.ndarray  # the body that no tree moves, -1 if none
    columns: np.ndarray  # the slots' velocities (m, 2d); 0, with columns of zeros, where there is none
    J: np.ndarray
    R_fixed: np.ndarray
    theta: np.ndarray
    mobility: np.ndarray
    by_mass: np.ndarray
    past: np.ndarray
    previous: np.ndarray  # place in the list of the step before, -1 if it is new
    memory_q: np.ndarray
    memory_v: np.ndarray
    memory_end: np.ndarray
    memory_past: np.ndarray
    memory_theta: np.ndarray
    memory_fixed: np.ndarray

    def __len__(self) -> int:
        return len(self.pair)


@dataclass
class StepTape:
    """Derivatives of one step: matrices (nv, nv), dense or sparse, and what the parameters need."""

    R_q: Any
    R_v: Any
    E: Any
    K: Any
    solve: Callable[[np.ndarray], np.ndarray]
    contacts: ContactTape
    change: np.ndarray  # v - v0 (nv,)
    spin: np.ndarray  # v0 (nv,)
    rotation: np.ndarray  # of free bodies (nt, 3, 3)
    trees: dict[int, TreeTape] = field(default_factory=dict)
    turned: dict[int, np.ndarray] = field(default_factory=dict)  # rotation of a prescribed body since the start
    near_rigid: list[NearRigidRow] = field(default_factory=list)


@dataclass
class TreeTape:
    """Of an articulated tree: residual by gravity (nv, 3) and link parameters (nv, p), mass matrix by these."""

    gravity: np.ndarray
    links: np.ndarray
    mass: np.ndarray | None  # (nv, nv, p)


@dataclass
class Changes:
    """Changes of the primitives, n directions in the last axis; or gradients by them, without that axis."""

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
    tree_v: np.ndarray, blocks: np.ndarray, trees: np.ndarray, contact_blocks: np.ndarray | None, nv: int
) -> Any:
    """A matrix (nv, nv) from its trees' and contacts' blocks, dense or sparse."""
    if nv <= DENSE:
        out = np.zeros((nv, nv))
        step_derivatives.add_blocks(tree_v, blocks, out)
        if contact_blocks is not None:
            step_derivatives.add_contact_blocks(tree_v, trees, contact_blocks, 1.0, out)
        return out
    width = blocks.shape[1]
    sizes = np.diff(tree_v)
    inside = np.arange(width)
    index = np.where(inside < sizes[:, None], tree_v[:-1, None] + inside, -1)
    values, first, second = [blocks.ravel()], [], []
    first.append(np.repeat(index, width, axis=1).ravel())
    second.append(np.tile(index, (1, width)).ravel())
    if contact_blocks is not None and len(contact_blocks):
        both = np.where((trees >= 0)[:, :, None], index[trees], -1).reshape(len(trees), -1)
        values.append(contact_blocks.ravel())
        first.append(np.repeat(both, 2 * width, axis=1).ravel())
        second.append(np.tile(both, (1, 2 * width)).ravel())
    x, i, j = np.concatenate(values), np.concatenate(first), np.concatenate(second)
    kept = (i >= 0) & (j >= 0)
    return scipy.sparse.csc_array(scipy.sparse.coo_array((x[kept], (i[kept], j[kept])), shape=(nv, nv)))


def solver_of(H: Any) -> Callable[[np.ndarray], np.ndarray]:
    """H^-1 for right-hand sides (nv,) or (nv, n)."""
    if isinstance(H, np.ndarray):
        factor, info = scipy.linalg.lapack.dpotrf(H, lower=1)
        if info:
            raise np.linalg.LinAlgError(f"H is not positive definite (leading minor {info})")
        return lambda b: scipy.linalg.lapack.dpotrs(factor, b, lower=1)[0]
    return scipy.sparse.linalg.splu(H).solve
