"""Compiled kinematics and dynamics of trees against Pinocchio's, on random trees of all kinds of joints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from convex_contact import Simulator, World
from convex_contact.simulation.dynamics import WorldDynamics, body_speeds

PERIOD = 2e-3


def random_urdf(rng: np.random.Generator, joints: int, kinds: tuple[str, ...]) -> str:
    """A tree with random placements, axes, masses and inertias."""

    def numbers(values: Any) -> str:
        return " ".join(f"{value:.17g}" for value in values)

    parts = []
    for i in range(joints + 1):
        basis = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        inertia = basis @ np.diag(rng.uniform(1.0, 1.5, 3) * 1e-2) @ basis.T
        entries = dict(zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), inertia[np.triu_indices(3)], strict=True))
        words = " ".join(f'{name}="{value:.17g}"' for name, value in entries.items())
        parts.append(
            f'<link name="link{i}"><inertial><origin xyz="{numbers(rng.normal(size=3) * 0.1)}"/>'
            f'<mass value="{rng.uniform(0.2, 2.0):.17g}"/><inertia {words}/></inertial></link>'
        )
    for i in range(joints):
        kind = kinds[i % len(kinds)]
        axis = np.eye(3)[i % 3] if i % 2 else basis[0]
        limit = "" if kind == "continuous" else '<limit lower="-9" upper="9" effort="1" velocity="1"/>'
        origin = f'xyz="{numbers(rng.normal(size=3) * 0.3)}" rpy="{numbers(rng.uniform(-3, 3, 3))}"'
        parts.append(
            f'<joint name="joint{i}" type="{kind}"><parent link="link{rng.integers(0, i + 1)}"/>'
            f'<child link="link{i + 1}"/><origin {origin}/><axis xyz="{numbers(axis)}"/>{limit}</joint>'
        )
    return f'<robot name="random">{"".join(parts)}</robot>'


def random_mjcf(rng: np.random.Generator, joints: int, floating: bool) -> str:
    """Two trees of ball joints and hinges with random placements, masses and inertias."""

    def numbers(values: Any) -> str:
        return " ".join(f"{value:.17g}" for value in values)

    def body(name: str, i: int) -> str:
        kind = f'type="ball" damping="{rng.uniform()}"' if i % 2 else f'axis="{numbers(rng.normal(size=3))}"'
        joint = f'<joint name="{name}{i}" {kind} pos="{numbers(rng.normal(size=3))}" armature="{rng.uniform(0, 0.1)}"/>'
        mass = f'mass="{rng.uniform(0.2, 2.0)}" diaginertia="{numbers(rng.uniform(1.0, 1.5, 3) * 1e-2)}"'
        own = joint if i else '<freejoint name="' + name + '"/>' if floating else ""
        return (
            f'<body name="{name}{i}" pos="{numbers(rng.normal(size=3))}" quat="{numbers(rng.normal(size=4))}">{own}'
            f'<inertial pos="{numbers(rng.normal(size=3))}" quat="{numbers(rng.normal(size=4))}" {mass}/>'
            f"{''.join(body(name, child) for child in children[i])}</body>"
        )

    trees = []
    for name, count in (("a", joints), ("b", 3)):
        children: list[list[int]] = [[] for _ in range(count + 1)]
        for i in range(count):
            children[rng.integers(0, i + 1)].append(i + 1)
        trees.append(body(name, 0))
    gravity = f'<option gravity="{numbers(rng.normal(size=3))}"/>'
    return f"<mujoco>{gravity}<worldbody>{''.join(trees)}</worldbody></mujoco>"


def random_dynamics(folder: Path, seed: int, floating: bool, kinds: tuple[str, ...]) -> WorldDynamics:
    """Two trees in a world, at random places, with springs, damping and rotors, in a random state."""
    rng = np.random.default_rng(seed)
    world = World(gravity=rng.normal(size=3) * 5.0)
    if "ball" in kinds:
        (folder / "trees.xml").write_text(random_mjcf(rng, 7, floating))
        world = World.load(folder / "trees.xml")
    for number, joints in enumerate((7, 3) if "ball" not in kinds else ()):
        path = folder / f"robot{number}.urdf"
        path.write_text(random_urdf(rng, joints, kinds))
        world.add_urdf(
            f"robot{number}", path, floating=floating, position=rng.normal(size=3), orientation=rng.normal(size=4),
            armature=rng.uniform(0, 0.1, joints), damping=rng.uniform(0, 1, joints),
            stiffness=rng.uniform(0, 50, joints) * (rng.random(joints) < 0.7),
        )  # fmt: skip
    d = WorldDynamics(world, period=PERIOD)
    for number, tree in enumerate(world.trees):
        i, j = d.arrays.tree_q[number], d.arrays.tree_q[number + 1]
        d.arrays.q[i:j] = pin.integrate(tree.model.model, tree.q, rng.uniform(-1.5, 1.5, tree.model.model.nv))
    d.arrays.v[:] = rng.normal(size=d.nv)
    d.arrays.effort[:] = rng.normal(size=d.nv)
    return d


KINDS = [
    ("revolute",),
    ("prismatic", "revolute"),
    ("continuous", "prismatic", "revolute"),
    ("continuous",),
    ("ball", "revolute"),
]


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_step_is_prepared_as_by_pinocchio(tmp_path: Path, seed: int, kinds: tuple[str, ...], floating: bool) -> None:
    d = random_dynamics(tmp_path, seed, floating, kinds)
    assert d.compiled
    a = d.arrays
    d.prepare()
    for number, tree in enumerate(d.world.trees):
        i, j, k, m = a.tree_q[number], a.tree_q[number + 1], a.tree_v[number], a.tree_v[number + 1]
        n = m - k
        model = tree.model
        block, free = np.empty((n, n)), np.empty(n)
        model.prepare(a.q[i:j], a.v[k:m], a.effort[k:m], PERIOD, block, free)
        np.testing.assert_allclose(a.A[number, :n, :n], block, rtol=0, atol=1e-12 * np.abs(block).max())
        np.testing.assert_allclose(a.v_star[k:m], free, rtol=0, atol=1e-11 * np.abs(free).max())
        numbers = np.array(tree.bodies)
        poses, twists = np.empty((len(numbers), 12)), np.empty((len(numbers), 6))
        jacobians = np.zeros((len(numbers), 6, a.A.shape[1]))
        model.write_links(a.q[i:j], a.v[k:m], poses, twists, jacobians)
        np.testing.assert_allclose(a.body_pose[numbers], poses, rtol=0, atol=1e-13)
        np.testing.assert_allclose(a.body_twist[numbers], twists, rtol=0, atol=1e-12 * np.abs(twists).max())
        np.testing.assert_allclose(a.link_jacobian[a.body_link[numbers]], jacobians, rtol=0, atol=1e-13)


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("kinds", KINDS)
def test_speeds_of_links_are_those_of_their_jacobians(tmp_path: Path, kinds: tuple[str, ...], floating: bool) -> None:
    d = random_dynamics(tmp_path, 0, floating, kinds)
    a = d.arrays
    d.prepare()
    v, speeds = np.random.default_rng(1).normal(size=d.nv), np.zeros(len(a.body_tree))
    body_speeds(a.record, v, speeds)
    for number, tree in enumerate(d.world.trees):
        k, m = a.tree_v[number], a.tree_v[number + 1]
        twists = a.link_jacobian[a.body_link[list(tree.bodies)], :, : m - k] @ v[k:m]
        linear, angular = np.linalg.norm(twists[:, :3], axis=1), np.linalg.norm(twists[:, 3:], axis=1)
        expected = linear + angular * (a.body_radius[list(tree.bodies)] + 0.5 * d.threshold)
        np.testing.assert_allclose(speeds[list(tree.bodies)], expected, rtol=1e-12)


@pytest.mark.parametrize("kinds", [KINDS[2], KINDS[4]])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e3])
def test_coordinates_move_as_pinocchio_integrates(tmp_path: Path, scale: float, kinds: tuple[str, ...]) -> None:
    d = random_dynamics(tmp_path, 3, True, kinds)
    a = d.arrays
    a.v[:] *= scale
    start = a.q.copy()
    d.advance(a.v.copy())
    for number, tree in enumerate(d.world.trees):
        i, j, k, m = a.tree_q[number], a.tree_q[number + 1], a.tree_v[number], a.tree_v[number + 1]
        expected = pin.integrate(tree.model.model, start[i:j], PERIOD * a.v[k:m])
        apart = pin.difference(tree.model.model, expected, pin.normalize(tree.model.model, a.q[i:j]))
        np.testing.assert_allclose(apart, 0.0, rtol=0, atol=1e-11 * max(1.0, scale))


def test_a_step_makes_directions_as_long_as_they_should_be(tmp_path: Path) -> None:
    """Of continuous joints and of free flyers, half a turn from their start: rounding never adds up."""
    d = random_dynamics(tmp_path, 3, True, KINDS[2])
    a = d.arrays
    for number in range(len(d.world.trees)):
        i = a.tree_q[number]
        a.q[i + 3 : i + 7] = 0.0, 0.0, 1.0 + 1e-6, 0.0
    for _ in range(3):
        d.advance(0.01 * a.v)
    for number, tree in enumerate(d.world.trees):
        q = a.q[a.tree_q[number] : a.tree_q[number + 1]]
        np.testing.assert_allclose(q, pin.normalize(tree.model.model, q), rtol=0, atol=1e-14)


def test_digits_do_not_depend_on_the_place_in_the_world(tmp_path: Path) -> None:
    """A tree a kilometre away has the mass matrix of one at the origin, but for rounding of its links' positions."""
    blocks = []
    for place in (0.0, 1000.0):
        rng = np.random.default_rng(5)
        path = tmp_path / "robot.urdf"
        path.write_text(random_urdf(rng, 6, KINDS[0]))
        world = World()
        world.add_urdf("robot", path, floating=True, position=(place, 0.0, 0.0))
        d = WorldDynamics(world, period=PERIOD)
        d.prepare()
        blocks.append(d.arrays.A[0].copy())
    np.testing.assert_allclose(blocks[0], blocks[1], rtol=0, atol=1e-11 * np.abs(blocks[0]).max())


def test_energy_of_free_fall_without_forces_is_kept_to_first_order(tmp_path: Path) -> None:
    """A floating tree without weight: the change of its energy in 0.2 s halves with the period."""
    changes = []
    for period in (2e-3, 1e-3):
        rng = np.random.default_rng(7)
        path = tmp_path / "robot.urdf"
        path.write_text(random_urdf(rng, 5, KINDS[0]))
        world = World(gravity=(0.0, 0.0, 0.0))
        world.add_urdf("robot", path, floating=True, v=rng.normal(size=11))
        simulator = Simulator(world, period=period, joint_limits=False)
        model = world.trees[0].model.model
        data = model.createData()

        def energy(simulator: Simulator = simulator, model: Any = model, data: Any = data) -> float:
            a = simulator.dynamics.arrays
            return float(pin.computeKineticEnergy(model, data, a.q, a.v))

        start = energy()
        simulator.step(round(0.2 / period))
        changes.append(energy() / start - 1.0)
    assert abs(changes[0]) < 0.05 and changes[0] / changes[1] == pytest.approx(2.0, rel=0.15)


@pytest.mark.parametrize("kind", ["ball", "free"])
def test_a_spring_at_a_joint_of_several_velocities_is_that_of_pinocchio(tmp_path: Path, kind: str) -> None:
    (tmp_path / "sprung.xml").write_text(
        f'<mujoco><worldbody><body><joint type="{kind}" stiffness="30" name="joint"/>'
        '<inertial pos="0.1 0 0" mass="1" diaginertia="0.01 0.02 0.03"/></body></worldbody></mujoco>'
    )
    d = WorldDynamics(World.load(tmp_path / "sprung.xml"), period=PERIOD)
    a, model = d.arrays, d.world.trees[0].model
    a.q[:] = pin.integrate(model.model, a.q, np.linspace(0.2, 0.7, d.nv))
    d.prepare()
    elongation = pin.difference(model.model, model.rest, a.q)
    force = -30.0 * elongation - pin.nonLinearEffects(model.model, model.data, a.q, a.v)
    expected = PERIOD * np.linalg.solve(model.mass_matrix(a.q) + 30.0 * PERIOD**2 * np.eye(d.nv), force)
    np.testing.assert_allclose(a.v_star, expected, rtol=1e-9)
