"""Scenes of the contact library whose gradients the tests of rollouts check, and that check by differences."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

from convex_contact import Material, Pose, Rollout, Simulator, World, rollout
from convex_contact.differentiation.rollouts import SURFACE
from convex_contact.model.bodies import FREE

ARM = Path(__file__).parents[1] / "src" / "convex_contact" / "test" / "data" / "arm.urdf"
#: a stiction tolerance that differences resolve: theirs is the only scale of velocity below which friction bends
OPTIONS: dict[str, Any] = {"period": 2e-3, "polish": True, "stiction_tolerance": 2e-2}
SOFT, SOFTER = (
    Material(stiffness=8e3, dissipation=0.4, relaxation_time=2e-3, friction=0.4),
    Material(stiffness=5e3, dissipation=0.7, relaxation_time=1e-3, friction=0.6),
)

#: of the elastoplastic approximation
SPRINGS: dict[str, Any] = {"tangential_stiffness": 2e3, "tangential_damping": 20.0}


class Scene:
    """A world with changes of its parameters, simulated.

    Attributes:
        steps: number of steps.
    """

    def __init__(
        self, build: Callable[[], World], steps: int, start: Callable[[Simulator], None] | None = None, **options: Any
    ):
        self.build, self.steps, self.options = build, steps, OPTIONS | {"tangential_damping": 8.0} | options
        self.start = start or (lambda simulator: None)
        self.before: Callable[[int, Simulator], None] | None = None

    def simulator(self, changes: dict[str, np.ndarray] | None = None) -> Simulator:
        """At the start, with parameters changed by name (as `rollout` names them)."""
        world, options, changes = self.build(), dict(self.options), changes or {}
        for name, value in changes.items():
            kind, _, inside = name.rstrip(")").partition("(")
            given = [part.strip() for part in inside.split(",")]
            body = world.bodies[world.number(given[0])] if inside and kind != "link_parameters" else None
            if kind in ("mass", "inertia"):
                assert body is not None
                setattr(body, kind, getattr(body, kind) + value)
            elif kind in SURFACE and len(given) == 1:
                assert body is not None
                for i, geometry in enumerate(body.geometries):
                    changed = dataclasses.replace(
                        geometry.material, **{kind: getattr(geometry.material, kind) + float(value)}
                    )
                    body.geometries[i] = dataclasses.replace(geometry, material=changed)
            elif kind in SURFACE:
                one, two = (world.number(part) for part in given)
                law = world.law(world.bodies[one].geometries[0], world.bodies[two].geometries[0], one, two)
                pair = min(one, two), max(one, two)
                known = {k: getattr(world.pair_laws[pair], k) for k in SURFACE} if pair in world.pair_laws else {}
                world.set_pair(one, two, **known | {kind: getattr(law, kind) + float(value)})
            elif kind in ("position", "orientation"):
                assert body is not None
                p, o = body.placement.position, body.placement.orientation
                if kind == "position":
                    p = p + value
                else:
                    o = (Rotation.from_rotvec(value) * Rotation.from_quat(o)).as_quat()
                body.placement = Pose(p, o)
            elif kind == "gravity":
                world.gravity = world.gravity + value
                for tree in world.trees:
                    tree.model.model.gravity.linear = world.gravity
            elif kind == "link_parameters":
                tree = next(tree for tree in world.trees if tree.name == given[0])
                for joint, change in zip(tree.model.link_joints, value, strict=True):
                    inertia = tree.model.model.inertias[joint].toDynamicParameters() + change
                    tree.model.model.inertias[joint] = pin.Inertia.FromDynamicParameters(inertia)
                tree.model.data = tree.model.model.createData()
            elif kind in ("tangential_stiffness", "tangential_damping"):
                options[kind] = options.get(kind, 0.0) + float(value)
        simulator = Simulator(world, **options)
        self.start(simulator)
        a = simulator.dynamics.arrays
        if "initial_position" in changes:
            move(simulator, a.q, changes["initial_position"])
        a.v += changes.get("initial_velocity", 0.0)
        return simulator

    def end(self, changes: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """q and v after the steps, without `rollout`."""
        simulator = self.simulator(changes)
        a = simulator.dynamics.arrays
        forces = changes.get("actuation")
        for i in range(self.steps):
            if self.before is not None:
                self.before(i, simulator)
            held = a.effort.copy(), a.body_wrench.copy()
            if forces is not None:
                a.effort += forces[i]
                for t in np.flatnonzero(a.tree_kind == FREE):
                    a.body_wrench[a.tree_body[t]] += forces[i, a.tree_v[t] : a.tree_v[t] + 6]
            simulator.step()
            a.effort[:], a.body_wrench[:] = held
        return a.q.copy(), a.v.copy()

    def rollout(self) -> Rollout:
        """With its derivatives."""
        return rollout(self.simulator(), self.steps, before=self.before)

    def difference(self, name: str, direction: np.ndarray, h: float) -> np.ndarray:
        """Central difference of the last state (2 nv,)."""
        (q0, v0), (q1, v1) = (self.end({name: s * h * direction}) for s in (-1.0, 1.0))
        return np.concatenate([apart(self.simulator(), q0, q1), v1 - v0]) / (2.0 * h)


def move(simulator: Simulator, q: np.ndarray, tangent: np.ndarray) -> None:
    """q [+] tangent, in place; free bodies in world axes."""
    a = simulator.dynamics.arrays
    for t, kind in enumerate(a.tree_kind):
        at, to = slice(*a.tree_q[t : t + 2]), tangent[a.tree_v[t] : a.tree_v[t + 1]]
        if kind == FREE:
            turned = Rotation.from_rotvec(to[3:]) * Rotation.from_quat(q[at][3:])
            q[at] = np.concatenate([q[at][:3] + to[:3], turned.as_quat()])
        else:
            q[at] = pin.integrate(simulator.world.trees[t].model.model, q[at], to)


def apart(simulator: Simulator, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
    """The tangent that leads from q0 to q1 (nv,)."""
    a, out = simulator.dynamics.arrays, []
    for t, kind in enumerate(a.tree_kind):
        at = slice(*a.tree_q[t : t + 2])
        x, y = q0[at], q1[at]
        if kind == FREE:
            out += [y[:3] - x[:3], (Rotation.from_quat(y[3:]) * Rotation.from_quat(x[3:]).inv()).as_rotvec()]
        else:
            model = simulator.world.trees[t].model.model
            out.append(pin.difference(model, x, y))
            for joint in list(model.joints)[1:]:
                if joint.nq == 2:  # a continuous joint, whose small angles Pinocchio rounds to 1e-8
                    c, s = x[joint.idx_q : joint.idx_q + 2]
                    turned = np.array([[c, s], [-s, c]]) @ y[joint.idx_q : joint.idx_q + 2]
                    out[-1][joint.idx_v] = np.arctan2(turned[1], turned[0])
    return np.concatenate(out)


#: size of a change of a parameter that changes a motion by about one
SCALES = {
    "initial_position": 1e-2, "initial_velocity": 0.3, "gravity": 1.0, "actuation": 1.0, "mass": 0.1, "inertia": 1e-4,
    "stiffness": 1e3, "dissipation": 0.1, "relaxation_time": 1e-3, "friction": 0.1, "position": 1e-2,
    "orientation": 1e-2, "tangential_stiffness": 1e3, "tangential_damping": 5.0, "link_parameters": 1e-2,
}  # fmt: skip


def direction(random: np.random.Generator, r: Rollout, name: str) -> np.ndarray:
    """A random change of a parameter."""
    kind = name.partition("(")[0]
    d = np.asarray(SCALES[kind] * random.normal(size=r.shape(name)))
    if kind == "inertia":
        d = d + d.T
    if kind == "link_parameters":
        d[:, 1:] *= 0.05  # inertias stay those of bodies
    return d


def check(
    scene: Scene, *, tolerance: float = 1e-6, h: float = 1e-5, least: float = 1e-2, skip: str = "", moves: int = 8
) -> Rollout:
    """All parameters of a scene: forward against differences, adjoint against forward.

    Args:
        scene: scene that moves.
        tolerance: relative error; a central difference has the errors h^2 x''' / 6 and eps |x| / h.
        h: step.
        least: size of a sensitivity below which its error is taken absolutely: rounding, 1e-13 over h.
        skip: kinds of parameters that are left out.
        moves: number of parameters that must change the motion.
    """
    random = np.random.default_rng(5)
    r = scene.rollout()
    moved = 0
    for name in r.names:
        if skip and name.startswith(skip):
            continue
        d = direction(random, r, name)
        t = r.tangent({name: d})
        found = scene.difference(name, d, h)
        size = max(float(np.linalg.norm(found)), least)
        assert np.linalg.norm(t[-1] - found) <= tolerance * size, (name, np.linalg.norm(t[-1] - found) / size)
        moved += bool(np.linalg.norm(found) > 1e-4)
        cotangents = random.normal(size=t.shape)
        g = r.pullback(cotangents)
        # the same sums in another order: rounding, of terms that may cancel
        assert (g[name] * d).sum() == pytest.approx(
            float((cotangents * t).sum()), rel=1e-9, abs=1e-10 * float(np.abs(cotangents * t).sum())
        ), name
    assert moved >= moves  # the scene is no trivial one
    return r


def ball() -> World:
    world = World()
    world.add_half_space("floor", material=SOFT, normal=(0.1, 0.0, 1.0))
    world.add_sphere(
        "ball", radius=0.05, mass=0.4, material=SOFTER, position=(0, 0, 0.055), velocity=(0.8, 0.3, -0.7),
        angular_velocity=(3, -2, 5),
    )  # fmt: skip
    return world


def cube(
    velocity: Any = (0.5, 0.1, -0.3), spin: Any = (1, 2, 3), height: float = 0.09, turn: Any = (0.4, 0.5, 0.1)
) -> Callable[[], World]:
    def build() -> World:
        world = World()
        world.add_half_space("board", material=SOFT, normal=(0.0, 0.05, 1.0))
        world.add_box(
            "cube", size=(0.1, 0.1, 0.12), mass=0.4, inertia=np.diag([7e-4, 8e-4, 9e-4]), center=(0.004, -0.003, 0.002),
            material=SOFTER, position=(0, 0, height), orientation=Rotation.from_rotvec(turn).as_quat(),
            velocity=velocity, angular_velocity=spin,
        )  # fmt: skip
        return world

    return build


def boxes() -> World:
    world = World()
    world.add_box("table", size=(0.4, 0.4, 0.1), fixed=True, material=SOFT, position=(0, 0, -0.05))
    world.add_box(
        "lower", size=(0.12, 0.1, 0.06), mass=0.6, material=SOFTER, position=(0.01, 0.0, 0.0296),
        velocity=(0.2, 0.1, 0), orientation=Rotation.from_rotvec((0.01, -0.012, 0.3)).as_quat(),
    )  # fmt: skip
    world.add_box(
        "upper", size=(0.08, 0.07, 0.05), mass=0.3, material=SOFT, position=(0.02, 0.005, 0.0838),
        orientation=Rotation.from_rotvec((-0.013, 0.01, -0.2)).as_quat(), velocity=(-0.3, 0.15, 0),
    )  # fmt: skip
    return world


def arm(**options: Any) -> Callable[[], World]:
    def build() -> World:
        world = World()
        world.add_urdf(
            "arm", ARM, material=SOFT, q=(0.995, 0.0998, 0.4, 0.05), v=(0.6, 0.8, -0.3), armature=0.01,
            stiffness=(0.5, 0.2, 3.0), self_collision=False, **options,
        )  # fmt: skip
        place = above_hand()
        world.add_sphere("ball", radius=0.05, mass=0.3, material=SOFTER, position=place, velocity=(-0.3, 0.0, 0.2))
        return world

    return build


@cache
def above_hand() -> np.ndarray:
    """A place for the ball of `arm`: 0.5 mm deep in the hand, ahead of its motion."""
    world = World()
    world.add_urdf("arm", ARM, q=(0.995, 0.0998, 0.4, 0.05))
    simulator = Simulator(world, period=1e-3)
    hand = simulator.state("arm/hand").position
    way = np.array([0.3, 0.5, -0.7]) / np.linalg.norm([0.3, 0.5, -0.7])
    return np.asarray(hand + 0.0895 * way)
