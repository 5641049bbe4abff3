"""Parameters of a rollout: their names, shapes, and the quantities of a step that depend on them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from convex_contact.differentiation.tape import Changes, StepTape
from convex_contact.model.arrays import WorldArrays
from convex_contact.model.materials import Material, PairLaw
from convex_contact.model.world import Geometry, World
from convex_contact.problem import checks

#: parameters of surfaces, in the order of their columns
SURFACE = ("stiffness", "dissipation", "relaxation_time", "friction")


Direction = Mapping[str, ArrayLike]


class Gradients(dict[str, np.ndarray]):
    """Gradients by name of the parameter; the two bodies of a pair may be named in either order.

    Examples:
        >>> from convex_contact import Simulator, World, rollout
        >>> world = World()
        >>> _ = world.add_sphere("ball", mass=1.0, radius=0.1)
        >>> motion = rollout(Simulator(world, period=0.01), 100)
        >>> gradients = motion.pullback({-1: [0.0, 0.0, 1.0] + [0.0] * 9})  # of the height after 1 s
        >>> gradients["initial_velocity"].round(6).tolist()
        [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    """

    def __missing__(self, name: str) -> np.ndarray:
        match = re.fullmatch(r"(\w+)\((.*?),\s*(.*)\)", name)
        swapped = f"{match[1]}({match[3]}, {match[2].strip()})" if match else ""
        if swapped in self:
            return self[swapped]
        raise KeyError(name)


def combination_derivative(own: Material, other: Material, name: str) -> np.ndarray:
    """Returns d(k, d, tau_d, mu) (4,) of the combined law (`Material.combined`) by a parameter of `own`."""
    out = np.zeros(4)
    a, b = own.stiffness, other.stiffness
    if name == "relaxation_time":
        out[2] = 1.0
    elif name == "friction":
        total = own.friction + other.friction
        out[3] = 2.0 * (other.friction / total) ** 2 if total > 0.0 else 0.0
    elif np.isinf(a):
        pass  # k and d are those of the other material
    elif np.isinf(b):
        out[0 if name == "stiffness" else 1] = 1.0
    elif name == "stiffness":
        fraction = b / (a + b)
        out[0], out[1] = fraction * fraction, fraction * (other.dissipation - own.dissipation) / (a + b)
    else:
        out[1] = b / (a + b)
    return out


class RolloutParameters:
    """Parameters of a rollout by name, and their effect on its steps; base class of `rollouts.Rollout`."""

    world: World
    _arrays: WorldArrays
    _tape: list[StepTape]
    _tree_v: np.ndarray
    _pairs: dict[tuple[int, int], int]
    _members: list[tuple[int, Geometry]]
    _elastoplastic: bool
    _tangential: bool

    @property
    def steps(self) -> int:
        """Number of steps."""
        return len(self._tape)

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return int(self._tree_v[-1])

    def shape(self, name: str) -> tuple[int, ...]:
        """Returns the shape of a parameter.

        Raises:
            ValueError: the parameter does not exist.
        """
        kind, bodies = self._parse_name(name)
        if kind in ("initial_position", "initial_velocity"):
            return (self.nv,)
        if kind == "gravity" or kind in ("position", "orientation"):
            return (3,)
        if kind == "inertia":
            return (3, 3)
        if kind == "actuation":
            return (self.steps, self.nv)
        if kind == "link_parameters":
            return (len(self.world.trees[bodies[0]].model.link_joints), 10)
        return ()

    @property
    def names(self) -> list[str]:
        """Names of all parameters."""
        names = ["initial_position", "initial_velocity", "gravity", "actuation"]
        if self._elastoplastic:
            names += ["tangential_damping"] + (["tangential_stiffness"] if self._tangential else [])
        for body in self.world.bodies:
            if body.kind == "free":
                names += [f"mass({body.name})", f"inertia({body.name})"]
            elif body.kind in ("fixed", "prescribed"):
                names += [f"position({body.name})", f"orientation({body.name})"]
            if body.geometries:
                names += [f"{kind}({body.name})" for kind in SURFACE]
        names += [f"link_parameters({tree.name})" for tree in self.world.trees]
        touching = {(self._members[a][0], self._members[b][0]) for a, b in self._pairs}
        for one, two in sorted({(min(pair), max(pair)) for pair in touching}):
            pair = f"({self.world.bodies[one].name}, {self.world.bodies[two].name})"
            names += [kind + pair for kind in SURFACE]
        return names

    def _parse_name(self, name: str) -> tuple[str, tuple[int, ...]]:
        """Returns the kind of a parameter and the numbers of its bodies, or of its tree."""
        match = re.fullmatch(r"(\w+)(?:\((.*)\))?", name) if isinstance(name, str) else None
        if match is not None:
            kind, inside = match[1], match[2]
            given = [] if inside is None else [part.strip() for part in inside.split(",")]
            if kind in ("initial_position", "initial_velocity", "gravity", "actuation") and inside is None:
                return kind, ()
            if inside is None and kind == "tangential_damping" and self._elastoplastic:
                return kind, ()
            if inside is None and kind == "tangential_stiffness" and self._elastoplastic and self._tangential:
                return kind, ()
            if kind == "link_parameters" and len(given) == 1:
                for number, tree in enumerate(self.world.trees):
                    if tree.name == given[0]:
                        return kind, (number,)
            names = {body.name: number for number, body in enumerate(self.world.bodies)}
            if given and all(part in names for part in given):
                bodies = tuple(names[part] for part in given)
                kinds = [self.world.bodies[number].kind for number in bodies]
                if kind in SURFACE and (len(bodies) == 1 or (len(bodies) == 2 and bodies[0] != bodies[1])):
                    return kind, bodies
                if kind in ("mass", "inertia") and kinds == ["free"]:
                    return kind, bodies
                if kind in ("position", "orientation") and kinds in (["fixed"], ["prescribed"]):
                    return kind, bodies
        raise ValueError(
            f"parameters: there is no {name!r}; expected a name such as mass(BODY), friction(BODY) or friction(A, B), "
            "position(FIXED BODY), gravity, initial_velocity"
        )

    def _surface_chain(self, kind: str, bodies: tuple[int, ...]) -> np.ndarray:
        """Returns d(k, d, tau_d, mu) of each pair of geometries by one surface parameter (pairs, 4)."""
        column, out = SURFACE.index(kind), np.zeros((len(self._pairs), 4))
        for (a, b), row in self._pairs.items():
            (one, g), (two, h) = self._members[a], self._members[b]
            if len(bodies) == 2:
                out[row, column] = float({one, two} == set(bodies))
                continue
            law = self.world.pair_laws.get((min(one, two), max(one, two)), PairLaw())
            for body, own, other in ((one, g.material, h.material), (two, h.material, g.material)):
                if body == bodies[0]:
                    out[row] += combination_derivative(own, other, kind)
            for i, name in enumerate(SURFACE):
                if getattr(law, name) is not None:
                    out[row, i] = 0.0
        return out

    def _directions(self, directions: Sequence[Direction]) -> Changes:
        """Converts directions of the parameters to changes of the quantities of a step, one column each."""
        n = len(directions)
        d = Changes.zeros(self, n)
        chains: dict[tuple[str, tuple[int, ...]], np.ndarray] = {}
        for column, direction in enumerate(directions):
            if not isinstance(direction, Mapping):
                raise ValueError(f"parameters: expected changes by name of the parameter, got {direction!r}")
            for name, value in direction.items():
                kind, bodies = self._parse_name(name)
                array = checks.array(name, value, self.shape(name))
                if kind == "initial_position":
                    d.q[:, column] += array
                elif kind == "initial_velocity":
                    d.v[:, column] += array
                elif kind == "gravity":
                    d.gravity[:, column] += array
                elif kind == "actuation":
                    if d.actuation is None:
                        d.actuation = np.zeros((self.steps, self.nv, n))
                    d.actuation[:, :, column] += array
                elif kind == "mass":
                    d.mass[self._arrays.body_tree[bodies[0]], column] += array
                elif kind == "inertia":
                    d.inertia[self._arrays.body_tree[bodies[0]], :, :, column] += 0.5 * (array + array.T)
                elif kind in ("position", "orientation"):
                    first = 0 if kind == "position" else 3
                    d.fixed[bodies[0], first : first + 3, column] += array
                elif kind == "link_parameters":
                    d.links[bodies[0]][:, column] += array.ravel()
                elif kind in ("tangential_stiffness", "tangential_damping"):
                    d.tangential[0 if kind == "tangential_stiffness" else 1, column] += float(array)
                else:
                    if (kind, bodies) not in chains:
                        chains[kind, bodies] = self._surface_chain(kind, bodies)
                    d.surface[:, :, column] += float(array) * chains[kind, bodies]
        return d

    def _named(self, g: Changes) -> Gradients:
        """Returns the gradients by the parameters from the gradients by the quantities of a step."""
        out = Gradients()
        for name in self.names:
            kind, bodies = self._parse_name(name)
            if kind in ("initial_position", "initial_velocity"):
                out[name] = g.q if kind == "initial_position" else g.v
            elif kind == "gravity":
                out[name] = g.gravity
            elif kind == "actuation":
                assert g.actuation is not None
                out[name] = g.actuation
            elif kind in ("mass", "inertia"):
                values = g.mass if kind == "mass" else g.inertia
                out[name] = np.asarray(values[self._arrays.body_tree[bodies[0]]])
            elif kind in ("position", "orientation"):
                out[name] = g.fixed[bodies[0], :3] if kind == "position" else g.fixed[bodies[0], 3:]
            elif kind == "link_parameters":
                out[name] = g.links[bodies[0]].reshape(-1, 10)
            elif kind in ("tangential_stiffness", "tangential_damping"):
                out[name] = np.asarray(g.tangential[0 if kind == "tangential_stiffness" else 1])
            else:
                out[name] = np.asarray((self._surface_chain(kind, bodies) * g.surface).sum())
        return out
