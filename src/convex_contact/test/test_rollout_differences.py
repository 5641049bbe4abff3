"""Gradients of a world's motion against central differences of simulated motions, closed forms, and each other."""

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

from convex_contact import (
    FunctionLaw,
    HertzLaw,
    Material,
    NormalLaw,
    Placement,
    Rollout,
    Simulator,
    World,
    rollout,
)
from convex_contact.differentiation import rollouts
from convex_contact.differentiation.rollouts import SURFACE, combination_derivative
from convex_contact.model.bodies import FREE
from convex_contact.problem.approximations import APPROXIMATIONS

ARM = Path(__file__).parent / "data" / "arm.urdf"
GRAVITY = np.array([0.0, 0.0, -9.81])
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
        steps: How many.
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
                body.placement = Placement(p, o)
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
        scene: What moves.
        tolerance: Relative error; a central difference has the errors h^2 x''' / 6 and eps |x| / h.
        h: Step.
        least: Size of a sensitivity below which its error is taken absolutely: rounding, 1e-13 over h.
        skip: Kinds of parameters that are left out.
        moves: How many parameters must change the motion.
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


# --- scenes -------------------------------------------------------------------------------------------------------


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


# --- against differences ------------------------------------------------------------------------------------------


@pytest.mark.covering(3)
def test_ball(approximation: str) -> None:
    r = check(Scene(ball, 40, approximation=approximation))
    assert sum(len(step.contacts) for step in r._tape) > 10


@pytest.mark.covering(3)
@pytest.mark.parametrize("motion", ["tumbling", "sliding", "sticking"])
def test_cube(approximation: str, motion: str) -> None:
    build = {
        "tumbling": cube(),
        "sliding": cube((1.2, -0.4, 0.0), (0, 0, 1.0), 0.0595, (0.0, 0.0, 0.3)),
        "sticking": cube((0.0, 0.0, 0.0), (0, 0, 0), 0.0595, (-0.049958, 0.0, 0.0)),
    }[motion]
    check(Scene(build, 50, approximation=approximation))


@pytest.mark.covering(1)
def test_two_balls_and_a_rolling_cylinder(approximation: str) -> None:
    def build() -> World:
        world = ball()
        world.add_sphere(
            "other", radius=0.03, mass=0.2, material=SOFT, position=(0.07, 0.03, 0.05), velocity=(-0.5, 0, 0)
        )
        world.add_cylinder(
            "roller", radius=0.04, length=0.1, mass=0.3, material=SOFT, position=(0, 0.2, 0.0395), velocity=(0.3, 0, 0),
            orientation=Rotation.from_rotvec((1.5, 0, 0)).as_quat(), angular_velocity=(0, 5, 0),
        )  # fmt: skip
        world.set_pair("ball", "other", friction=0.5, stiffness=3e3)
        return world

    r = check(Scene(build, 20, approximation=approximation))
    assert ("stiffness(ball, other)" in r.names) and np.any(r.pullback({-1: np.ones(36)})["stiffness(ball, other)"])


@pytest.mark.slow
def test_sphere_on_box_cylinder_and_capsule() -> None:
    def build() -> World:
        world = World()
        world.add_box("box", size=(0.1, 0.1, 0.1), fixed=True, material=SOFT, position=(0.0, 0.0, 0.0))
        world.add_cylinder("cylinder", radius=0.05, length=0.1, fixed=True, material=SOFT, position=(0.3, 0.0, 0.0))
        world.add_capsule(
            "capsule", radius=0.05, length=0.1, mass=0.5, material=SOFTER, position=(0.6, 0.0, 0.0),
            angular_velocity=(1, 0, 0),
        )  # fmt: skip
        at = {"face": (0.01, 0.02, 0.0695), "edge": (-0.06, 0.01, 0.0665), "rim": (0.3 + 0.06, 0.0, 0.0665),
              "side": (0.3, 0.0695, 0.01), "end": (0.61, 0.0, 0.1192), "corner": (0.06, -0.06, 0.06)}  # fmt: skip
        for name, place in at.items():
            world.add_sphere(name, radius=0.02, mass=0.1, material=SOFT, position=place, velocity=(0.1, -0.2, -0.15))
        return world

    check(Scene(build, 12))


def test_boxes_through_coal() -> None:
    # the geometry's differences have about eight digits
    r = check(Scene(boxes, 12), tolerance=1e-5)
    assert max(len(step.contacts) for step in r._tape) >= 6


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", list(APPROXIMATIONS))
def test_arm_touches_a_ball(name: str) -> None:
    r = check(Scene(arm(), 12, approximation=name), skip="dissipation(arm/lower)")
    assert any(len(step.contacts) for step in r._tape)


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", ["lagged", "sap"])
def test_floating_arm_on_the_ground(name: str) -> None:
    def build() -> World:
        world = World()
        world.add_half_space("floor", material=SOFT, normal=(0.1, -0.05, 1.0))
        world.add_urdf(
            "arm", ARM, material=SOFTER, floating=True, self_collision=False,
            position=(0, 0, 0.097), q=(0, 0, 0.097, 0, 0, 0, 1, 1, 0, 0.3, 0.1),
            v=(0.2, 0.1, -0.2, 1, 0.5, 2, 0.5, 1, 0.2),
        )  # fmt: skip
        return world

    r = check(Scene(build, 15, approximation=name))
    assert any(len(step.contacts) > 1 for step in r._tape)


@pytest.mark.parametrize("joint", ["elbow", "slide"])
def test_joint_limits(joint: str) -> None:
    """A limit's near-rigid compliance depends on the mass matrix: 3e-4 of the change that the stop makes, or less.

    A stiff stop is all but linear, so that wide differences resolve that.
    """
    q, v = ((1, 0, -1.999, 0.3), (4.0, -6.0, 2.0)) if joint == "elbow" else ((1, 0, 0.2, 0.021), (0.5, 0.4, -2.0))

    def build() -> World:
        world = World()
        world.add_urdf("arm", ARM, q=q, v=v, self_collision=False)
        return world

    r = check(Scene(build, 2), moves=5, tolerance=1e-8, h=1e-3, least=0.1)
    assert any(step.limits for step in r._tape)


def test_elastic_displacement_is_carried() -> None:
    """A box pushed by a force below the yield force, on springs of their own, on a turning plate."""

    def build() -> World:
        world = World()
        world.add_box(
            "plate", size=(0.5, 0.5, 0.1), prescribed=True, material=SOFT, position=(0, 0, -0.05),
            velocity=(0.02, 0.01, 0.0), angular_velocity=(0.05, 0.2, 1.0),
        )  # fmt: skip
        world.add_sphere("ball", radius=0.05, mass=0.4, material=SOFTER, position=(0.05, 0.02, 0.0494))
        return world

    scene = Scene(build, 60, approximation="lagged_elastoplastic", **SPRINGS)
    scene.before = lambda i, simulator: simulator.apply_wrench("ball", (0.4, -0.2, 0.0), (0.001, 0.002, 0.01))
    r = check(scene)
    assert all((step.contacts.previous >= 0).all() for step in r._tape[1:])
    start = r.jacobian(["tangential_stiffness", "tangential_damping"])
    assert (np.abs(start[-1]).max(axis=0) > 1e-9).all()


@pytest.mark.slow
def test_elastic_displacement_of_patches_and_of_an_arm_is_carried() -> None:
    held = Scene(cube((0.0, 0, 0), (0, 0, 0), 0.0595, (-0.049958, 0.0, 0.0)), 30, approximation="lagged_elastoplastic")
    held.before = lambda i, simulator: simulator.apply_wrench("cube", (0.3, 0, 0), (0, 0, 0.002))
    check(held)
    check(Scene(arm(), 12, approximation="lagged_elastoplastic", **SPRINGS))


def test_rollout_continues_an_earlier_motion() -> None:
    """The elastic displacements that a simulator brings along are part of its state."""
    scene = Scene(cube((0.3, 0, 0), (0, 0, 0), 0.0595, (-0.049958, 0.0, 0.0)), 10, approximation="lagged_elastoplastic")
    first = scene.simulator()
    first.step(20)
    r = rollout(first, 10)
    t = r.tangent({"gravity": [0.0, 0.0, 1.0]})[-1]
    ends = []
    for s in (-1.0, 1.0):
        simulator = scene.simulator()
        simulator.step(20)
        simulator.dynamics.arrays.gravity[2] += 1e-5 * s
        simulator.step(10)
        ends.append((simulator.dynamics.arrays.q.copy(), simulator.dynamics.arrays.v.copy()))
    found = np.concatenate([apart(first, ends[0][0], ends[1][0]), ends[1][1] - ends[0][1]]) / 2e-5
    assert np.linalg.norm(t - found) < 1e-6 * np.linalg.norm(found)


def test_belt_and_turning_table() -> None:
    def build() -> World:
        world = World()
        world.add_half_space(
            "belt", material=SOFT, motion=lambda time: (0.4, 0.1 * np.cos(20 * time), 0.05, 0.3, 0.2, 1.0)
        )
        world.add_box(
            "cube", size=(0.1, 0.1, 0.1), mass=0.4, material=SOFTER, position=(0.05, 0, 0.0497), center=(0, 0, 0)
        )
        return world

    for name in ("lagged", "similar"):
        check(Scene(build, 40, approximation=name))


@pytest.mark.covering
@pytest.mark.parametrize("coupled", ["cube", "arm"])
@pytest.mark.parametrize("name", ["lagged", "sap"])
def test_coupling(coupled: str, name: str) -> None:
    def start(simulator: Simulator) -> None:
        body = 1 if simulator.world.bodies[1].kind == "free" else "arm/hand"
        coupling = simulator.couple(
            body, stiffness=300.0, damping=4.0, rotational_stiffness=0.5, rotational_damping=0.01
        )
        state = simulator.state(body)
        coupling.target(
            state.position + np.array([0.02, 0.01, -0.01]),
            (Rotation.from_rotvec((0.3, -0.5, 0.2)) * Rotation.from_quat(state.orientation)).as_quat(),
            (0.1, 0.0, -0.2), (0.0, 1.0, 0.5),
        )  # fmt: skip

    build = {"cube": cube((0.5, 0.1, -0.3), (1, 2, 3), 0.064, (0.1, 0.05, 0.1)), "arm": arm()}[coupled]
    check(Scene(build, 12, start, approximation=name))


def test_springs() -> None:
    def build() -> World:
        world = cube((0.5, 0.1, -0.3), (1, 2, 3), 0.064, (0.1, 0.05, 0.1))()
        body = world.bodies[1]
        body.spring_stiffness, body.spring_damping = 400.0, 3.0
        return world

    free = Scene(cube((0.5, 0.1, -0.3), (1, 2, 3), 0.064, (0.1, 0.05, 0.1)), 12)
    velocity = {"initial_velocity": np.eye(6)[0]}
    found = check(Scene(build, 12)).tangent(velocity)[-1]
    assert np.abs(found - free.rollout().tangent(velocity)[-1]).max() > 1e-2


def test_linear_rotation() -> None:
    """The paper's q0 + dt N(q0) v: fast spin, long steps."""
    scene = Scene(cube(spin=(15, -10, 20)), 15, period=1e-2, linear_rotation=True)
    check(scene)
    exact = Scene(cube(spin=(15, -10, 20)), 15, period=1e-2)
    d = {"initial_velocity": np.eye(6)[3]}
    assert np.abs(scene.rollout().tangent(d)[-1] - exact.rollout().tangent(d)[-1]).max() > 1e-4


def _force(phi: float, v: float, k: float, d: float) -> float:
    return k * phi * phi * (1.0 - d * v) if phi < 0.0 and d * v < 1.0 else 0.0


def _derivatives(phi: float, v: float, k: float, d: float) -> tuple[float, float]:
    return (2.0 * k * phi * (1.0 - d * v), -k * phi * phi * d) if phi < 0.0 and d * v < 1.0 else (0.0, 0.0)


def _antiderivative(v: float, phi0: float, dt: float, k: float, d: float) -> float:
    x = min(v, -phi0 / dt)
    if d > 0.0:
        x = min(x, 1.0 / d)
    u, c = phi0 + dt * x, 1.0 + d * phi0 / dt
    return k / dt * (c * u**3 / 3.0 - d / dt * u**4 / 4.0)


@pytest.mark.parametrize("kind", ["hertz", pytest.param("own", marks=pytest.mark.slow)])
def test_normal_laws(kind: str) -> None:
    law: NormalLaw = HertzLaw() if kind == "hertz" else FunctionLaw(_force, _derivatives, _antiderivative)

    def build() -> World:
        world = ball()
        world.set_pair("floor", "ball", stiffness=8e4 if isinstance(law, HertzLaw) else 1e6)
        return world

    for name in ("lagged", "similar"):
        check(Scene(build, 40, normal_law=law, approximation=name))


# --- closed forms -------------------------------------------------------------------------------------------------


def test_free_flight() -> None:
    """Symplectic Euler: x_n = x_0 + n dt v_0 + n (n + 1)/2 dt^2 (g + f/m), v_n = v_0 + n dt (g + f/m)."""
    world = World()
    world.add_sphere("ball", radius=0.05, mass=0.5, position=(0, 0, 1), velocity=(1, 0, 2), angular_velocity=(0, 0, 7))
    simulator = Simulator(world, period=1e-2)
    simulator.apply_wrench("ball", (0, 2.0, 0))
    n, dt = 30, 1e-2
    r = rollout(simulator, n)
    J = r.jacobian(["initial_position", "initial_velocity", "gravity", "mass(ball)"])[-1]
    expected = np.zeros((6, J.shape[1]))
    expected[:3, :3] = expected[3:, 6:9] = np.eye(3)
    expected[:3, 6:9] = n * dt * np.eye(3)
    expected[:3, 12:15], expected[3:, 12:15] = n * (n + 1) / 2 * dt**2 * np.eye(3), n * dt * np.eye(3)
    expected[1, 15], expected[4, 15] = -n * (n + 1) / 2 * dt**2 * 2.0 / 0.5**2, -n * dt * 2.0 / 0.5**2
    assert J[[0, 1, 2, 6, 7, 8]] == pytest.approx(expected, abs=1e-12)
    # a turn of the start about the spin's axis stays, one across it is carried round by the spin
    turn = Rotation.from_rotvec([0, 0, 7 * n * dt]).as_matrix()
    assert J[3:6, 3:6] == pytest.approx(turn, abs=1e-12)
    # a force in step i acts for the steps that are left
    pushed = r.pullback({-1: np.eye(12)[0]})["actuation"][:, 0]
    assert pushed == pytest.approx(dt * dt / 0.5 * np.arange(n, 0, -1), rel=1e-12)


def test_stopping_distance() -> None:
    """A block stops after d = v^2/(2 mu g): d' = -d/mu; and d by v is v/(mu g), by g -d/g.

    Symplectic Euler adds a relative dt mu g/v = 0.2 %, the soft norm a stop that takes some v_s/(mu g) = 0.3 ms
    longer; creep ends with the step. One per cent.
    """
    mu, speed, g = 0.4, 1.0, 9.81
    world = World()
    world.add_half_space("floor")
    world.add_box("block", size=(0.1, 0.1, 0.02), mass=1.0, position=(0, 0, 0.01), velocity=(speed, 0, 0))
    world.set_pair("floor", "block", friction=mu, stiffness=1e6)
    simulator = Simulator(world, period=1e-3, polish=True, stiction_tolerance=1e-3)
    simulator.set_state("block", position=(0, 0, 0.01 - g / 4e6))
    r = rollout(simulator, 300)
    distance = r.q[-1, 0]
    assert distance == pytest.approx(speed**2 / (2 * mu * g), rel=1e-2)
    assert np.abs(r.v[-1]).max() < 1e-3
    J = r.jacobian(
        ["friction(floor, block)", {"initial_velocity": np.eye(6)[0]}, {"gravity": [0, 0, -1]}, "mass(block)"]
    )
    assert J[-1, 0, 0] == pytest.approx(-distance / mu, rel=1e-2)
    assert J[-1, 0, 1] == pytest.approx(speed / (mu * g), rel=1e-2)
    assert J[-1, 0, 2] == pytest.approx(-distance / g, rel=1e-2)
    assert abs(J[-1, 0, 3]) < 1e-2 * distance  # the mass does not matter


def test_lifted_board_lifts_what_rests_on_it() -> None:
    """Position of a fixed body: a cube in free fall and rest keeps its motion if board and cube rise together."""
    r = Scene(cube(), 60).rollout()
    together = {"position(board)": [0.0, 0.0, 1.0], "initial_position": [0, 0, 1.0, 0, 0, 0]}
    t = r.tangent(together)
    assert t[-1] == pytest.approx([0, 0, 1.0, *np.zeros(9)], abs=1e-9)
    sideways = {"position(board)": [1.0, 0.3, 0.0 - 0.05 * 0.3]}  # along the plane nothing happens
    assert np.abs(r.tangent(sideways)[-1]).max() < 1e-9


# --- structure ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lagged_regularized", "lagged_elastoplastic"])
def test_sparse_matrices_give_the_same(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Large worlds keep sparse matrices; a small one must not notice."""
    scene = Scene(arm(), 10, approximation=name)
    dense = scene.rollout()
    monkeypatch.setattr(rollouts, "DENSE", 0)
    sparse = scene.rollout()
    cotangents = np.random.default_rng(0).normal(size=(11, 2 * dense.nv))
    one, two = dense.pullback(cotangents), sparse.pullback(cotangents)
    for key in dense.names:
        # relative to the largest, since a factor's rounding depends on its order
        assert two[key] == pytest.approx(one[key], rel=1e-9, abs=1e-9 * np.abs(one[key]).max()), key
    d = {"gravity": [1.0, 2.0, 3.0]}
    assert sparse.tangent(d) == pytest.approx(dense.tangent(d), rel=1e-9, abs=1e-9)


def test_many_bodies() -> None:
    """Above DENSE velocities; bodies that never meet do not feel each other's parameters."""

    def build() -> World:
        world = World()
        world.add_half_space("floor", material=SOFT)
        for i in range(22):
            world.add_sphere(
                f"ball{i}", radius=0.05, mass=0.4, material=SOFTER, position=(0.099 * i if i < 3 else i, 0, 0.0495),
                velocity=(0.2 * (-1) ** i, 0, 0),
            )  # fmt: skip
        return world

    scene = Scene(build, 10)
    r = scene.rollout()
    assert r.nv > rollouts.DENSE
    d = np.asarray(SCALES["initial_velocity"] * np.random.default_rng(2).normal(size=r.nv))
    found = scene.difference("initial_velocity", d, 1e-5)
    assert r.tangent({"initial_velocity": d})[-1] == pytest.approx(found, rel=1e-6, abs=1e-6)
    t = r.tangent({"mass(ball1)": 1.0})[-1].reshape(2, 22, 6)
    assert np.abs(t[:, :3]).max() > 1e-6 and not t[:, 3:].any()


def test_jacobian_and_tangent_and_names() -> None:
    r = Scene(cube(), 50).rollout()
    J = r.jacobian(["friction(cube, board)", "gravity", {"position(board)": [0, 0, 2.0], "mass(cube)": 1.0}])
    assert J.shape == (51, 12, 5)
    assert J[:, :, 0] == pytest.approx(r.tangent({"friction(board, cube)": 1.0}), abs=1e-13)
    assert J[:, :, 2] == pytest.approx(r.tangent({"gravity": [0, 1, 0]}), abs=1e-13)
    assert J[:, :, 4] == pytest.approx(
        2 * r.tangent({"position(board)": [0, 0, 1.0]}) + r.tangent({"mass(cube)": 1.0}), abs=1e-11
    )
    g = r.pullback({50: np.ones(12), 10: np.ones(12), -1: np.ones(12)})
    assert float(g["friction(cube, board)"]) == pytest.approx(float((J[10] + 2 * J[50]).sum(axis=0)[0]), rel=1e-10)
    assert g["friction(cube, board)"] == g["friction(board, cube)"]
    assert list(g) == r.names
    assert r.slices("cube") == (slice(0, 7), slice(0, 6))
    # materials act through the combined law
    combined = {k: float(g[f"{k}(board, cube)"]) for k in SURFACE}
    for own, other, body in ((SOFTER, SOFT, "cube"), (SOFT, SOFTER, "board")):
        for k in SURFACE:
            expected = combination_derivative(own, other, k) @ list(combined.values())
            assert float(g[f"{k}({body})"]) == pytest.approx(expected, rel=1e-12)


def test_rollout_moves_as_the_simulator_does() -> None:
    scene = Scene(cube(), 50)
    simulator = scene.simulator()
    r = rollout(simulator, 50)
    q, v = scene.end({})
    assert (r.q[-1] == q).all() and (r.v[-1] == v).all() and simulator.time == r.time[-1]
    assert r.steps == 50 and r.q.shape == (51, 7) and r.time[1] == pytest.approx(2e-3)
    forces = np.zeros((50, 6))
    forces[:, 0] = 0.5
    pushed = rollout(scene.simulator(), 50, actuation=forces)
    assert pushed.q[-1, 0] == scene.end({"actuation": forces})[0][0] != q[0]
    empty = rollout(scene.simulator(), 0)
    assert empty.tangent({"initial_velocity": np.ones(6)})[0] == pytest.approx([0.0] * 6 + [1.0] * 6)
    assert empty.pullback({0: np.arange(12.0)})["initial_velocity"] == pytest.approx(np.arange(6.0, 12.0))


def test_refusals() -> None:
    scene = Scene(cube(), 3)
    r = scene.rollout()
    for name in (
        "frition(cube)", "mass(board)", "position(cube)", "friction(cube, cube)", "gravity(cube)", "mass(nobody)",
        "tangential_stiffness", "link_parameters(arm)", "mass", 3,
    ):  # fmt: skip
        with pytest.raises(ValueError, match="parameters: there is no"):
            r.tangent({name: 1.0})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match=r"position\(board\): expected shape \(3,\)"):
        r.tangent({"position(board)": 1.0})
    with pytest.raises(ValueError, match="gravity: expected"):
        r.tangent({"gravity": [0, 0, np.nan]})
    with pytest.raises(ValueError, match=r"cotangents: expected shape \(4, 12\)"):
        r.pullback(np.zeros((3, 12)))
    with pytest.raises(ValueError, match="cotangents: expected steps from 0 to 3, got 4"):
        r.pullback({4: np.zeros(12)})
    with pytest.raises(KeyError):
        r.pullback({3: np.zeros(12)})["friction(cube, moon)"]
    with pytest.raises(ValueError, match="steps"):
        rollout(scene.simulator(), -1)
    with pytest.raises(ValueError, match="actuation: expected shape"):
        rollout(scene.simulator(), 3, actuation=np.zeros((3, 5)))
    simulator = scene.simulator()
    simulator.constraints.append(lambda dynamics: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(ValueError, match="constraints"):
        rollout(simulator, 1)
    with pytest.raises(ValueError, match="free body"):
        r.slices("board")
