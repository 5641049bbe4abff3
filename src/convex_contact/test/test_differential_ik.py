"""Differential inverse kinematics against bounded least squares of a library, and the arm's reach."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from scipy.optimize import lsq_linear

from convex_contact.control.differential_ik import DifferentialIK, pose_error, reach, tool_jacobian
from convex_contact.scenes.peg import ARM

_TOOL = pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.2]))


@pytest.fixture
def rng() -> np.random.Generator:
    """The same numbers in each test."""
    return np.random.default_rng(7)


@pytest.fixture(scope="module")
def model() -> pin.Model:
    return pin.buildModelFromUrdf(str(ARM))


def test_the_jacobian_of_the_tool_is_its_motion(model: pin.Model, rng: np.random.Generator) -> None:
    data, joint = model.createData(), model.getJointId("joint_7")
    q, v, h = pin.neutral(model) + 0.3 * rng.standard_normal(model.nq), rng.standard_normal(model.nv), 1e-6
    frame, J = tool_jacobian(model, data, q, joint, _TOOL)
    frame = frame.copy()
    later, _ = tool_jacobian(model, data, q + h * v, joint, _TOOL)
    assert pose_error(frame, later) / h == pytest.approx(J @ v, abs=1e-5)


@pytest.mark.parametrize("tight", [False, True])
def test_velocities_are_those_of_bounded_least_squares(rng: np.random.Generator, tight: bool) -> None:
    method = DifferentialIK(horizon=0.1, largest_velocity=0.4 if tight else 1e3)
    J, error = rng.standard_normal((6, 7)), 0.05 * rng.standard_normal(6)
    q, rest = 0.1 * rng.standard_normal(7), np.zeros(7)
    far = np.full(7, 1e6)
    found = method.velocity(q, J, error, -far, far, rest, 0.01)
    weight = np.array([1.0] * 3 + [method.rotation_weight] * 3)
    rows = np.concatenate([weight[:, None] * J, method.damping * np.eye(7), method.posture * np.eye(7)])
    goal = np.concatenate([weight * error / 0.1, np.zeros(7), method.posture * (rest - q) / 0.1])
    bound = method.largest_velocity
    best = lsq_linear(rows, goal, (-bound, bound), method="bvls")
    if not tight:
        assert found == pytest.approx(best.x, abs=1e-8)
        return
    assert np.abs(found).max() <= bound + 1e-15
    # the active set only grows: what it finds may miss the optimum, but not by much
    assert np.linalg.norm(rows @ found - goal) < 1.2 * np.linalg.norm(rows @ best.x - goal)


def test_limits_of_position_are_kept(rng: np.random.Generator) -> None:
    method = DifferentialIK(horizon=0.01, largest_velocity=10.0)
    q, low, high = np.zeros(7), np.full(7, -0.01), np.full(7, 0.01)
    for _ in range(50):
        error, J = 0.1 * rng.standard_normal(6), rng.standard_normal((6, 7))
        q = q + 0.01 * method.velocity(q, J, error, low, high, np.zeros(7), 0.01)
        assert (q >= low - 1e-12).all()
        assert (q <= high + 1e-12).all()


def test_a_pose_is_reached_and_one_out_of_reach_is_refused(model: pin.Model) -> None:
    joint, data = model.getJointId("joint_7"), model.createData()
    q = np.zeros(model.nq)
    q[:7] = (0.2, -0.4, 0.1, -2.0, 0.2, 1.8, 0.3)
    goal = tool_jacobian(model, data, q, joint, _TOOL)[0].copy()
    guess = q.copy()
    guess[:7] += 0.2
    found = reach(model, guess, joint, _TOOL, goal, moving=slice(0, 7))
    assert pose_error(tool_jacobian(model, data, found, joint, _TOOL)[0], goal) == pytest.approx(np.zeros(6), abs=1e-8)
    with pytest.raises(ValueError, match="target: expected one within the joints' limits"):
        reach(
            model, guess, joint, _TOOL, pin.SE3(goal.rotation, np.array([2.0, 0.0, 0.0])), moving=slice(0, 7), steps=60
        )


@pytest.mark.parametrize(
    "change",
    [{"horizon": 0.2}, {"damping": 0.5}, {"posture": 0.5}, {"largest_velocity": 0.05}, {"rotation_weight": 1.0}],
)
def test_every_number_acts(rng: np.random.Generator, change: dict[str, float]) -> None:
    J, error, far = rng.standard_normal((6, 7)), 0.05 * rng.standard_normal(6), np.full(7, 1e6)
    q = 0.1 * rng.standard_normal(7)
    a, b = (DifferentialIK(**c).velocity(q, J, error, -far, far, np.zeros(7), 0.01) for c in ({}, change))
    assert np.abs(a - b).max() > 1e-6


@pytest.mark.parametrize(
    "name, wrong",
    [
        ("q", np.zeros(2)),
        ("jacobian", np.zeros((6, 4))),
        ("error", np.full(6, np.nan)),
        ("error", np.zeros(3)),
        ("lower", np.full(3, 2.0)),
        ("lower", np.full(3, np.nan)),
        ("upper", 1.0),
        ("rest", np.full(3, np.nan)),
        ("period", 0.0),
    ],
)
def test_wrong_arguments_are_refused(name: str, wrong: Any) -> None:
    values: dict[str, Any] = {"q": np.zeros(3), "jacobian": np.eye(6, 3), "error": np.full(6, 0.01), "period": 0.01}
    values |= {"lower": np.full(3, -np.inf), "upper": np.ones(3), "rest": np.zeros(3)}
    assert np.isfinite(DifferentialIK().velocity(**values)).all()
    field = "rest" if name == "q" else name  # q gives the number of joints
    with pytest.raises(ValueError, match=f"^{field}: expected "):
        DifferentialIK().velocity(**values | {name: wrong})
