"""Lagged with elastoplastic stiction: no creep, the spring's law, and how e follows its contact."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from convex_contact import ContactProblem, solve, transport_elastic_displacement

GRAVITY, DT = 9.81, 2e-3


def box(pull: float, approximation: str, steps: int, *, damping: float = 0.0) -> tuple[np.ndarray, np.ndarray, float]:
    """Velocities and e of 1 kg on a plane, pulled with `pull` times its weight, mu = 1; and the last friction force."""
    k, position, v, e = 1e6, -GRAVITY / 1e6, np.zeros(3), np.zeros((1, 2))
    velocities, displacements, force = [], [], 0.0
    for _ in range(steps):
        problem = ContactProblem(
            A=np.eye(3),
            v_star=v + DT * np.array([pull * GRAVITY, 0.0, -GRAVITY]),
            J=np.eye(3),
            phi0=[position],
            v_n0=[v[2]],
            period=DT,
            stiffness=k,
            dissipation=10.0,
            relaxation_time=0.0,
            friction=[1.0],
            tangential_stiffness=1e5,
            tangential_damping=damping,
            elastic_displacement=e,
        )
        s = solve(problem, approximation)
        v, e, force = s.velocity, s.elastic_displacement, float(-s.impulse[0, 0] / DT)
        position += DT * v[2]
        velocities.append(v)
        displacements.append(e[0])
    return np.array(velocities), np.array(displacements), force


@pytest.mark.slow
@pytest.mark.covering
@pytest.mark.parametrize("damping", [0.0, 50.0])
@pytest.mark.parametrize("pull", [0.2, 0.5, 0.95])
def test_held_without_creep(pull: float, damping: float) -> None:
    """Below the limit the box comes to rest where k_t e is the load; the others creep for ever."""
    velocities, displacements, force = box(pull, "lagged_elastoplastic", 250, damping=damping)
    assert np.abs(velocities[-1]).max() <= 1e-14
    assert force == pytest.approx(pull * GRAVITY, rel=1e-9)
    assert displacements[-1, 0] == pytest.approx(pull * GRAVITY / 1e5, rel=1e-9)
    creep = box(pull, "lagged", 100)[0][-1, 0]
    # the soft norm: pull = v/sqrt(v^2 + v_s^2)
    assert creep == pytest.approx(1e-4 * pull / np.sqrt(1.0 - pull**2), rel=1e-6)


def test_slides_above_the_limit() -> None:
    velocities, displacements, force = box(1.2, "lagged_elastoplastic", 100)
    assert force == pytest.approx(GRAVITY, rel=1e-9)
    assert velocities[-1, 0] - velocities[-2, 0] == pytest.approx(0.2 * GRAVITY * DT, rel=1e-9)
    assert displacements[-1, 0] == pytest.approx(GRAVITY / 1e5, rel=1e-9)  # the spring stays at its yield


def test_elastic_displacement_obeys_the_spring() -> None:
    """k_t e + b_t (e - e0)/dt = f, implicit Euler of model C."""
    random = np.random.default_rng(51)
    for tensor in (False, True):
        M = random.normal(size=(2, 2))
        friction = [M @ M.T * 0.3 + 0.2 * np.eye(2)] if tensor else [0.7]
        e0 = 1e-4 * random.normal(size=(1, 2))
        problem = ContactProblem(
            A=np.eye(3),
            v_star=0.1 * random.normal(size=3),
            J=np.eye(3),
            phi0=[-1e-4],
            v_n0=[0.0],
            period=DT,
            stiffness=1e5,
            dissipation=1.0,
            relaxation_time=0.0,
            friction=friction,
            tangential_stiffness=3e4,
            tangential_damping=20.0,
            elastic_displacement=e0,
        )
        s = solve(problem, "lagged_elastoplastic")
        stretch = problem.friction[0] @ problem.friction[0] / problem.parameters.mean_square[0] if tensor else np.eye(2)
        force = -s.impulse[0, :2] / DT
        e = s.elastic_displacement[0]
        assert stretch @ (3e4 * e + 20.0 * (e - e0[0]) / DT) == pytest.approx(force, rel=1e-9)
        bound = problem.parameters.lagged_impulse[0] / DT * (1.0 if tensor else 0.7)
        used = np.linalg.norm(np.linalg.solve(problem.friction[0], force) if tensor else force)
        assert used <= bound * (1.0 + 1e-12)


def test_contact_lost() -> None:
    """No normal impulse, no friction: e relaxes by b/(b + dt k)."""
    problem = ContactProblem(
        A=np.eye(3),
        v_star=[0.1, 0.0, 0.5],
        J=np.eye(3),
        phi0=[1e-3],
        v_n0=[0.0],
        period=DT,
        stiffness=1e5,
        dissipation=1.0,
        relaxation_time=0.0,
        friction=[0.7],
        tangential_stiffness=1e4,
        tangential_damping=20.0,
        elastic_displacement=[[1e-4, 0.0]],
    )
    s = solve(problem, "lagged_elastoplastic")
    assert s.velocity.tolist() == [0.1, 0.0, 0.5] and not s.sticking[0]
    assert s.elastic_displacement[0] == pytest.approx([1e-4 * 20.0 / (20.0 + DT * 1e4), 0.0])
    undamped = dataclasses.replace(problem, tangential_damping=0.0)
    assert not solve(undamped, "lagged_elastoplastic").elastic_displacement.any()


def frame(rotation: np.ndarray) -> np.ndarray:
    return np.eye(3) @ rotation.T


def rotation(axis: np.ndarray, angle: float) -> np.ndarray:
    x, y, z = axis / np.linalg.norm(axis)
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.asarray(np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K)


def test_transport() -> None:
    random = np.random.default_rng(52)
    e = random.normal(size=(1, 2))
    old = np.linalg.qr(random.normal(size=(3, 3)))[0][None]
    # a new choice of t1, t2 for the same normal is no motion
    c, s = np.cos(0.7), np.sin(0.7)
    other = np.stack([c * old[0, 0] + s * old[0, 1], -s * old[0, 0] + c * old[0, 1], old[0, 2]])[None]
    assert transport_elastic_displacement(e, old, other)[0] @ other[0, :2] == pytest.approx(e[0] @ old[0, :2])
    # bodies that turn together about any axis, in small steps, carry e with them
    axis, steps, total = random.normal(size=3), 2000, 0.9
    x, now = e, old
    for k in range(steps):
        following = (rotation(axis, (k + 1) * total / steps) @ old[0].T).T[None]
        turn = total / steps * (axis / np.linalg.norm(axis)) @ following[0, 2]
        x, now = transport_elastic_displacement(x, now, following, [turn]), following
    assert x == pytest.approx(e, abs=1e-3)
    assert np.linalg.norm(x) == pytest.approx(np.linalg.norm(e), rel=1e-12)
    # the opposite normal has no smallest rotation; the length stays
    flipped = np.stack([old[0, 0], -old[0, 1], -old[0, 2]])[None]
    assert np.linalg.norm(transport_elastic_displacement(e, old, flipped)) == pytest.approx(np.linalg.norm(e))
    with pytest.raises(ValueError, match="new_frames: expected orthonormal rows"):
        transport_elastic_displacement(e, old, 2.0 * old)
