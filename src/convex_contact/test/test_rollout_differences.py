"""Gradients of a world's motion against central differences of simulated motions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rollout_scenes import ARM, SOFT, SOFTER, SPRINGS, Scene, apart, arm, ball, boxes, check, cube
from scipy.spatial.transform import Rotation

from convex_contact import (
    FunctionLaw,
    HertzLaw,
    JointFriction,
    NormalLaw,
    Simulator,
    TendonActuator,
    TendonLimit,
    World,
    rollout,
)
from convex_contact.problem.approximations import APPROXIMATIONS


@pytest.mark.slow
@pytest.mark.covering(3)
def test_ball(approximation: str) -> None:
    r = check(Scene(ball, 40, approximation=approximation))
    assert sum(len(step.contacts) for step in r._tape) > 10


@pytest.mark.slow
@pytest.mark.covering(3)
@pytest.mark.parametrize("motion", ["tumbling", "sliding", "sticking"])
def test_cube(approximation: str, motion: str) -> None:
    build = {
        "tumbling": cube(),
        "sliding": cube((1.2, -0.4, 0.0), (0, 0, 1.0), 0.0595, (0.0, 0.0, 0.3)),
        "sticking": cube((0.0, 0.0, 0.0), (0, 0, 0), 0.0595, (-0.049958, 0.0, 0.0)),
    }[motion]
    check(Scene(build, 50, approximation=approximation))


@pytest.mark.slow
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


@pytest.mark.slow
def test_boxes_through_coal() -> None:
    # the geometry's differences have about eight digits
    r = check(Scene(boxes, 12), tolerance=1e-5)
    assert max(len(step.contacts) for step in r._tape) >= 6


@pytest.mark.slow
@pytest.mark.covering(1)
@pytest.mark.parametrize("name", list(APPROXIMATIONS))
def test_arm_touches_a_ball(name: str) -> None:
    r = check(Scene(arm(), 12, approximation=name), skip="dissipation(arm/lower)")
    assert any(len(step.contacts) for step in r._tape)


@pytest.mark.slow
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


@pytest.mark.slow
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
    assert any(step.near_rigid for step in r._tape)


def motor(**values: float) -> Callable[[World], None]:
    """A PD controller of the elbow."""
    gains = {"proportional_gain": 20.0, "derivative_gain": 0.5, "target_position": -1.0, "target_velocity": 0.3}
    return lambda world: world.actuate_joint("arm", "elbow", **gains | {"effort_limit": np.inf} | values)


def winch(**values: Any) -> Callable[[World], None]:
    terms = (("elbow", 0.3), ("slide", 1.0))
    return lambda world: world.joint_laws.append(TendonActuator(0, "winch", terms, **values))


#: laws of the arm's joints, steps, and whether an impulse depends on the mass matrix
JOINT_LAWS: dict[str, tuple[Callable[[World], object], int, bool]] = {
    "motor": (motor(velocity_limit=np.inf), 12, False),
    "motor at its effort limit": (motor(velocity_limit=np.inf, effort_limit=0.5), 12, False),
    "motor below its velocity limit": (motor(velocity_limit=20.0), 12, False),
    "motor beyond its velocity limit": (motor(velocity_limit=4.0, effort_limit=50.0), 12, True),
    "motor that turns too fast backwards": (motor(velocity_limit=4.0, effort_limit=50.0), 12, True),
    "friction that slips": (lambda world: world.joint_laws.append(JointFriction(0, "elbow", 0.4)), 12, False),
    "friction that holds": (lambda world: world.joint_laws.append(JointFriction(0, "elbow", 1e4)), 2, True),
    "coupler": (lambda world: world.couple_joints("arm", "slide", "elbow", ratio=0.2, offset=0.3), 2, True),
    "motion": (lambda world: world.move_joint("arm", "elbow", lambda time: -0.5 + 6.0 * time), 2, True),
    "winch with a spring": (winch(gain=(2.0, -30.0, -0.4), bias=(1.0, -20.0, -0.2), control=0.7), 12, False),
    "winch that rises with its length": (winch(bias=(1.0, 15.0, -0.8), force_range=(-50.0, 50.0)), 12, False),
    "winch without damping": (winch(control=3.0), 12, False),
    "end of a tendon": (lambda world: world.joint_laws.append(TendonLimit(0, (("slide", 2.0),), 0.5, 1.0)), 2, True),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", JOINT_LAWS)
def test_joint_laws(name: str) -> None:
    """Laws near the rigid limit are all but linear, so that wide differences resolve what the mass matrix does."""
    add, steps, rigid = JOINT_LAWS[name]
    speed = -6.0 if "backwards" in name else 6.0

    def build() -> World:
        world = World()
        world.add_urdf("arm", ARM, q=(1, 0, -0.5, 0.2), v=(4.0, speed, -0.7), self_collision=False)
        add(world)
        return world

    wide: dict[str, float] = {"tolerance": 1e-7, "h": 1e-3, "least": 0.1} if steps == 2 else {}
    r = check(Scene(build, steps), moves=5, **wide)
    assert rigid == any(step.near_rigid for step in r._tape)
    without = Scene(lambda: _without_laws(build()), steps).rollout()
    there = {"initial_velocity": np.array([0.2, 1.0, -0.3]), "initial_position": np.array([0.1, 0.3, 0.2])}
    change = np.abs(r.tangent(there)[-1] - without.tangent(there)[-1]).max()
    assert change > 1e-3


@pytest.mark.slow
def test_wrenches_on_links() -> None:
    """On two links, at centres of mass beside their frames' origins, one of them new in each step."""

    def build() -> World:
        world = World()
        world.add_urdf("arm", ARM, q=(0.8, 0.6, -0.5, 0.2), v=(4.0, 6.0, -0.7), self_collision=False)
        return world

    scene = Scene(build, 12, lambda simulator: simulator.apply_wrench("arm/hand", (30, 10, -20), (0.3, 0.2, -0.5)))
    scene.before = lambda i, simulator: simulator.apply_wrench("arm/lower", (3.0 * i, -5.0, 8.0), (0.1, 0.4 * i, 0.2))
    check(scene, moves=5)
    model = build().trees[0].model
    assert all(np.linalg.norm(model.center(i)) > 5e-3 for i in (1, 2))  # of the lower link and of the hand


def _without_laws(world: World) -> World:
    world.joint_laws.clear()
    return world


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["hertz", pytest.param("own", marks=pytest.mark.slow)])
def test_normal_laws(kind: str) -> None:
    law: NormalLaw = HertzLaw() if kind == "hertz" else FunctionLaw(_force, _derivatives, _antiderivative)

    def build() -> World:
        world = ball()
        world.set_pair("floor", "ball", stiffness=8e4 if isinstance(law, HertzLaw) else 1e6)
        return world

    for name in ("lagged", "similar"):
        check(Scene(build, 40, normal_law=law, approximation=name))
