"""Interface of a rollout: sparse and dense matrices, derivatives by name, states, refused arguments."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rollout_scenes import SCALES, SOFT, SOFTER, Scene, arm, cube

from convex_contact import Simulator, World, rollout
from convex_contact.differentiation import rollouts
from convex_contact.differentiation.rollouts import SURFACE, combination_derivative

CART = """<robot name="cart"><link name="base"/><link name="body"><inertial><mass value="1"/>
<inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="plane" type="planar"><parent link="base"/><child link="body"/><axis xyz="0 0 1"/></joint></robot>"""


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
    with pytest.raises(ValueError, match=r"parameters: expected a list of names or directions, got 'gravity'"):
        r.jacobian("gravity")
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


def test_motors_of_ball_and_planar_joints_of_trees_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "cart.urdf"
    path.write_text(CART)
    world = World()
    world.add_urdf("cart", path)
    world.actuate_joint("cart", "plane", proportional_gain=10.0)
    with pytest.raises(ValueError, match=r"^cart: plane: expected no motor of a ball or planar joint of a tree; its"):
        rollout(Simulator(world, period=1e-3), 1)


def test_arguments_of_another_kind_are_refused() -> None:
    world = World()
    world.add_sphere("ball", radius=0.05, mass=0.4)
    simulator = Simulator(world, period=1e-3)
    r = rollout(simulator, np.int64(2))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^simulator: expected a Simulator, got World"):
        rollout(world, 1)  # type: ignore[arg-type]
    for steps in (True, -1, 1.5, "x"):
        with pytest.raises(ValueError, match=r"^steps: expected a whole number, not negative, got "):
            rollout(simulator, steps)  # type: ignore[arg-type]
    for number in ("a", 1.5, True):
        with pytest.raises(ValueError, match=r"^cotangents: expected numbers of steps, got "):
            r.pullback({number: np.zeros(12)})  # type: ignore[dict-item]
    for parameters in (None, {"gravity": [0, 0, 1]}):
        with pytest.raises(ValueError, match=r"^parameters: expected a list of names or directions, got "):
            r.jacobian(parameters)  # type: ignore[arg-type]
    for change in (None, "gravity"):
        with pytest.raises(ValueError, match=r"^parameters: expected changes by name of the parameter, got "):
            r.tangent(change)  # type: ignore[arg-type]
