"""Gradients of motions with joints between bodies, gears, welds and motors, against central differences."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rollout_scenes import ARM, SOFT, SOFTER, Scene, apart, check
from scipy.spatial.transform import Rotation

from convex_contact import ActuatedWorld, QuadraticCost, Simulator, World, optimize, rollout
from convex_contact.control.ilqr import cost_gradient, simulate
from convex_contact.differentiation import rollouts
from convex_contact.model.body_joint_kernels import BALL_MOTOR, HINGE_MOTOR
from convex_contact.model.body_rows import frame_of, spring_rows
from convex_contact.problem.contact_kernels import ROW_LOWER, ROW_UPPER
from convex_contact.solver.workspace import inputs, outputs

KINDS = ("ball", "hinge", "slide", "weld", "distance")
#: rows that are 1e3 times stiffer than contacts make rounding of 1e-12; with h = 1e-4 it is 1e-8, as is h^2 x'''/6
NEAR_RIGID: dict[str, Any] = {"h": 1e-4, "tolerance": 1e-6}
CRANK = """<robot name="crank"><link name="base"/><link name="arm"><inertial><origin xyz="0.1 0 0"/><mass value="0.4"/>
<inertia ixx="1e-4" iyy="2e-3" izz="2e-3" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="turn" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint></robot>"""


def pair(kind: str = "hinge", height: float = 1.0, a: str | None = "one", **options: Any) -> World:
    """A box and a ball that tumble on a joint; the floor is at 0."""
    world = World()
    world.add_half_space("floor", material=SOFT, normal=(0.1, 0.05, 1.0))
    place = np.array([0.1, 0.03, height + 0.05])
    if a == "one":
        world.add_box(
            "one", size=(0.1, 0.12, 0.08), mass=0.5, inertia=np.diag([7e-4, 9e-4, 11e-4]), center=(0.01, 0.0, -0.005),
            position=(0.0, 0.0, height + 0.1), orientation=Rotation.from_rotvec((0.3, -0.2, 0.5)).as_quat(),
            velocity=(0.3, 0.1, 0.0), angular_velocity=(1.0, 2.0, -1.0),
        )  # fmt: skip
    world.add_sphere(
        "two", radius=0.05, mass=0.3, material=SOFTER, position=(0.2, 0.05, height), velocity=(-0.1, 0.2, 0.1),
        angular_velocity=(-2.0, 1.0, 1.5),
    )  # fmt: skip
    if kind == "springs":
        world.weld("one", "two", stiffness=2e3, rotational_stiffness=2.0, near_rigid=0.1, point=(0.02, 0.0, 0.01))
        return world
    if kind in ("hinge", "slide"):
        options["axis"] = (1.0, 0.5, -0.3)
    if kind == "distance":
        options["point_b"] = place + np.array([0.08, 0.01, -0.03])
    world.add_joint("joint", kind, a, "two", point=place, **options)
    return world


@pytest.mark.parametrize("kind", [*KINDS, "springs"])
def test_free_bodies(kind: str) -> None:
    check(Scene(lambda: pair(kind), 8), **NEAR_RIGID)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lagged", "similar", "lagged_elastoplastic"])
@pytest.mark.parametrize("kind", [*KINDS, "springs"])
def test_in_contact(kind: str, name: str) -> None:
    """The ball is 2 mm deep in the floor, at the friction's bend of 2 cm/s: differences of 1e-5 as of all contacts."""
    r = check(Scene(lambda: pair(kind, 0.0245), 8, approximation=name), h=1e-5, tolerance=1e-5)
    assert all(len(step.contacts) for step in r._tape)


@pytest.mark.parametrize("kind", KINDS)
def test_at_the_world_and_soft(kind: str) -> None:
    """Without a near-rigid limit, and at the world."""
    options: dict[str, Any] = {"stiffness": 300.0, "relaxation_time": 0.03, "near_rigid": 0.0}
    check(Scene(lambda: pair(kind, a=None, **options), 8), h=1e-4, tolerance=1e-6, moves=4 if kind == "weld" else 5)


MOTOR: dict[str, Any] = {"proportional_gain": 20.0, "derivative_gain": 0.3}
MOTORS: dict[str, tuple[str, dict[str, Any]]] = {
    "hinge": ("hinge", {"target_position": 0.4, "target_velocity": 0.3}),
    "hinge at its effort limit": ("hinge", {"target_position": 3.0, "effort_limit": 0.2}),
    "hinge at its speed limit": ("hinge", {"target_position": 1.4, "effort_limit": 50.0, "velocity_limit": 1.5}),
    "hinge at its other speed limit": ("hinge", {"target_position": -1.4, "effort_limit": 50.0, "velocity_limit": 1.5}),
    "hinge that brakes with all its effort at its speed limit": (
        "hinge",
        {
            "proportional_gain": 0.5,
            "derivative_gain": 0.01,
            "target_position": -0.05,
            "effort_limit": 0.02,
            "velocity_limit": 0.2,
        },
    ),
    "slide": ("slide", {"target_position": 0.05, "feedforward": 0.3}),
    "ball": ("ball", {"target_position": (0.3, 0.1, -0.2, 0.9), "feedforward": (0.1, 0.0, 0.2)}),
    "ball at its speed limit": ("ball", {"target_position": (0.6, 0.1, 0.0, 0.8), "velocity_limit": 1.5}),
}


@pytest.mark.parametrize("name", MOTORS)
def test_motors(name: str) -> None:
    kind, law = MOTORS[name]

    def build() -> World:
        world = pair(kind)
        world.actuate_joint(None, "joint", **MOTOR | law)
        return world

    scene = Scene(build, 8)
    check(scene, **NEAR_RIGID)
    # the limit acts in the last step
    simulator = scene.simulator()
    simulator.step(8)
    rows, arrays = inputs(simulator._workspace).rows, simulator._body_rows.arrays
    limited = arrays.source[: simulator._body_rows.count, 1]
    gamma = outputs(simulator._workspace).row_gamma[: len(limited)]
    if "speed" in name:
        assert gamma[limited >= 0].any()
    if "all its effort" in name:
        assert (gamma == rows.parameters[: len(limited), ROW_UPPER])[limited >= 0].any()
    if "at its" in name:
        of_motor = np.isin(arrays.item[arrays.source[: len(limited), 0], 0], (HINGE_MOTOR, BALL_MOTOR))
        which = np.flatnonzero(of_motor & (limited < 0))
        assert (gamma[which, None] == rows.parameters[which][:, [ROW_LOWER, ROW_UPPER]]).any()


@pytest.mark.parametrize("kind", ["ball", "hinge", "slide", "distance"])
def test_efforts_and_functions_of_time(kind: str) -> None:
    def start(simulator: Simulator) -> None:
        joint = simulator.joint("joint")
        joint.effort = (0.1, 0.02, -0.2) if kind == "ball" else 0.2
        if kind == "ball":
            joint.target = lambda time: Rotation.from_rotvec((0.1, 20.0 * time, 0.3)).as_quat()

    def build() -> World:
        world = pair(kind)
        if kind == "ball":
            world.actuate_joint(None, "joint", **MOTOR)
        return world

    check(Scene(build, 8, start), **NEAR_RIGID)


def geared() -> World:
    """Two wheels on a link of an arm, and a gear that their hinges have."""
    world = World()
    world.add_urdf("arm", ARM, q=(0.995, 0.0998, 0.4, 0.05), v=(0.6, 0.8, -0.3), self_collision=False)
    hand = Simulator(world, period=1e-3).state("arm/lower").position
    for name, y in (("pinion", 0.2), ("wheel", 0.5)):
        place = hand + np.array([0.1, y, 0.0])
        world.add_sphere(name, radius=0.05, mass=0.3, position=place, angular_velocity=(0.2, 1.0, 3.0))
        world.add_joint(
            name, "hinge", "arm/lower", name, point=place + np.array([0.0, 0.0, 0.02]), axis=(0.1, 0.2, 1.0)
        )
    return world


@pytest.mark.slow
@pytest.mark.parametrize("base", ["world", "link"])
def test_gear(base: str) -> None:
    """A row couples two trees at most: wheels of one axis on the world, or a wheel on a link and one on its tree."""

    def build() -> World:
        world = World()
        if base == "link":
            world = geared()
            world.add_joint("other", "hinge", "arm/upper", "arm/lower", point=(0.0, 0.1, 0.2), axis=(0.2, 1.0, 0.1),
                            stiffness=100.0, near_rigid=0.0, relaxation_time=0.05)  # fmt: skip
            world.add_gear("other", "wheel", teeth=(12, 31))
            return world
        for name, x in (("pinion", 0.0), ("wheel", 0.5)):
            world.add_body(name, mass=1.0, inertia=np.diag([0.1, 0.12, 0.15]), center=(0.02, 0, 0.01),
                           position=(x, 0, 0), angular_velocity=(0.2, 0.1, 5))  # fmt: skip
            world.add_joint(name, "hinge", None, name, point=(x, 0, 0), axis=(0.1, 0, 1))
        world.add_gear("pinion", "wheel", teeth=(12, 31))
        return world

    r = check(Scene(build, 8), skip="dissipation", moves=6, **NEAR_RIGID)
    assert any(rows.tree.shape[1] == 4 for rows in r._tape[0].body_rows)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_links(kind: str) -> None:
    """A loop in one tree, and a ball on the hand of a floating arm."""

    def build() -> World:
        world = World()
        world.add_urdf(
            "arm", ARM, floating=True, q=(0, 0, 1, 0, 0, 0, 1, 0.995, 0.0998, 0.4, 0.05), self_collision=False,
            v=(0.1, 0, 0.2, 1, -0.5, 0.3, 0.6, 0.8, -0.3), armature=0.01,
        )  # fmt: skip
        hand = Simulator(world, period=1e-3).state("arm/hand").position
        world.add_sphere(
            "ball", radius=0.05, mass=0.3, position=hand + np.array([0.1, 0.0, 0.05]), velocity=(-0.3, 0.0, 0.2)
        )
        values: dict[str, Any] = {"axis": (1.0, 0.5, -0.3)} if kind in ("hinge", "slide") else {}
        values |= {"point_b": hand + np.array([0.12, 0.01, 0.02])} if kind == "distance" else {}
        world.add_joint("held", kind, "arm/hand", "ball", point=hand + np.array([0.05, 0.02, 0.0]), **values)
        world.add_joint("loop", "distance", "arm/base", "arm/hand", point=(0.1, 0.0, 1.0), point_b=hand)
        return world

    check(Scene(build, 6), moves=7, **NEAR_RIGID)


def test_bodies_that_no_tree_moves() -> None:
    """Joints keep their places on a body whose position or orientation changes after the start."""

    def build() -> World:
        world = World()
        world.add_body("hand", fixed=True, position=(0.1, 0.0, 1.2))
        world.add_sphere("ball", radius=0.05, mass=0.3, position=(0.2, 0.05, 1.0), angular_velocity=(-2.0, 1.0, 1.5))
        world.add_joint("joint", "hinge", "hand", "ball", point=(0.15, 0.03, 1.05), axis=(1.0, 0.5, -0.3))
        world.add_joint("rope", "distance", "hand", "ball", point=(0.12, 0.03, 1.3), point_b=(0.2, 0.08, 1.0))
        return world

    def end(change: np.ndarray) -> tuple[Simulator, np.ndarray, np.ndarray]:
        simulator = Simulator(build(), period=2e-3, polish=True)
        a = simulator.dynamics.arrays
        pose = a.body_pose[simulator.world.number("hand")]
        pose[9:] += change[:3]
        pose[:9] = (Rotation.from_rotvec(change[3:]).as_matrix() @ pose[:9].reshape(3, 3)).ravel()
        simulator.step(8)
        return simulator, a.q.copy(), a.v.copy()

    r = rollout(Simulator(build(), period=2e-3, polish=True), 8)
    random, h = np.random.default_rng(3), 1e-4
    for name, part in (("position(hand)", slice(0, 3)), ("orientation(hand)", slice(3, 6))):
        d = np.zeros(6)
        d[part] = 1e-2 * random.normal(size=3)
        (simulator, q0, v0), (_, q1, v1) = end(-h * d), end(h * d)
        found = np.concatenate([apart(simulator, q0, q1), v1 - v0]) / (2.0 * h)
        t = r.tangent({name: d[part]})
        assert np.linalg.norm(found) > 1e-3
        # rounding of 1e-13 over h
        assert t[-1] == pytest.approx(found, rel=1e-6, abs=1e-8)
        cotangents = random.normal(size=t.shape)
        assert r.pullback(cotangents)[name] @ d[part] == pytest.approx(float((cotangents * t).sum()), rel=1e-9)


def test_sparse_matrices_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(lambda: pair("hinge", 0.0245), 6)
    dense = scene.rollout()
    monkeypatch.setattr(rollouts, "DENSE", 0)
    monkeypatch.setattr("convex_contact.differentiation.tape.DENSE", 0)
    sparse = scene.rollout()
    assert not isinstance(sparse._tape[0].R_q, np.ndarray)
    d = {"initial_position": 1e-2 * np.arange(12.0)}
    # relative to the largest, since a factor's rounding depends on its order
    assert sparse.tangent(d) == pytest.approx(dense.tangent(d), rel=1e-9, abs=1e-9)


class _Controller:
    """Rows of one's own."""

    def start(self, d: Any) -> Callable[..., Any]:
        return lambda d: spring_rows(
            frame_of(d, 0)[2][:3], np.zeros(3), period=d.period, stiffness=1.0, relaxation_time=0.1, near_rigid=0.0
        )


def test_rows_of_ones_own_are_refused() -> None:
    world = pair()
    world.controllers.append(_Controller())
    with pytest.raises(ValueError, match=r"^constraints: expected joints and their .* got _Controller; its rows"):
        rollout(Simulator(world, period=1e-3), 1)


# --- trajectories ----------------------------------------------------------------------------------------------------


def four_bar(folder: Path) -> World:
    """A crank of 0.2 m that is a tree, a coupler of 0.5 m and a rocker of 0.3 m that are bodies, in the plane y = 0."""
    path = folder / "crank.urdf"
    path.write_text(CRANK)
    world = World()
    world.add_urdf("crank", path, armature=1e-3)
    # the crank begins along x, and the coupler and the rocker meet where circles of 0.5 m and 0.3 m about its end and
    # about the rocker's bearing do
    first, bearing = np.array([0.2, 0.0, 0.0]), np.array([0.6, 0.0, 0.0])
    x = (0.5**2 - 0.3**2 + 0.4**2) / 0.8
    meeting = first + np.array([x, 0.0, np.sqrt(0.5**2 - x**2)])
    for name, one, length in (("coupler", first, 0.5), ("rocker", bearing, 0.3)):
        along = (meeting - one) / length
        angle = -np.arctan2(along[2], along[0])
        world.add_body(
            name, mass=0.3, inertia=np.diag([1e-4, 3e-3, 3e-3]), center=(0, 0, 0), position=(one + meeting) / 2,
            orientation=Rotation.from_rotvec((0.0, angle, 0.0)).as_quat(),
        )  # fmt: skip
    for name, a, b, point in (("pin", "crank/arm", "coupler", first), ("bearing", None, "rocker", bearing),
                              ("knee", "coupler", "rocker", meeting)):  # fmt: skip
        world.add_joint(name, "hinge", a, b, point=point, axis=(0.0, 1.0, 0.0))
    return world


def test_linkage_reaches_its_target(tmp_path: Path) -> None:
    """The torque at the crank turns the rocker at the other end of the loop by -0.3 rad, and stops it."""
    system = ActuatedWorld(four_bar(tmp_path), period=0.01)
    angle, speed = (part.start + 4 for part in system.slices("rocker"))
    steps, turn = 30, -0.3
    goal = system.moved(system.start, turn * np.eye(system.tangent)[angle])
    weights = np.zeros(system.tangent)
    weights[angle], weights[speed] = 1e3, 10.0
    cost = QuadraticCost(system, goal, state=np.zeros(system.tangent), input=1e-3 * np.ones(1), final=weights)
    guess = np.zeros((steps, 1))
    d, h = np.random.default_rng(1).normal(size=(steps, 1)), 1e-3
    low, high = (simulate(system, cost, system.start, guess + s * h * d)[1] for s in (-1.0, 1.0))
    gradient = cost_gradient(system, cost, simulate(system, cost, system.start, guess)[0], guess)
    # h^2 x'''/6, and rounding of 1e-13 of the cost over h
    assert float((gradient * d).sum()) == pytest.approx((high - low) / (2.0 * h), rel=1e-6)
    found = optimize(system, cost, system.start, guess)
    assert found.converged
    end = system.difference(system.start, found.states[-1])
    # the torque has a price: without it the final weights would leave nothing
    assert end[angle] == pytest.approx(turn, abs=0.005) and abs(end[speed]) < 0.05
    system.set_state(found.states[-1])
    places = []
    for name, half in (("coupler", 0.25), ("rocker", 0.15)):
        state = system.simulator.state(name)
        places.append(state.position + Rotation.from_quat(state.orientation).apply((half, 0.0, 0.0)))
    # a step moves it by 1 cm, and leaves half of what its curvature opens, (1 cm)^2/(0.3 m)
    assert places[0] == pytest.approx(places[1], abs=5e-4)
