"""Models A to D with matrices K, B, M: their equations, an independent solution, rotations, energy, exact sticking."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.spatial.transform import Rotation

from haptic_friction import (
    AnisotropicLaw,
    Batch,
    Contact,
    CoulombLaw,
    FrictionLaw,
    FrictionModel,
    ImplicitNetwork,
    ModelA,
    ModelB,
    ModelC,
    ModelD,
    StribeckLaw,
    TableLaw,
    ViscousCoulombLaw,
    WithCompliance,
    WithMass,
)
from haptic_friction.design import model_warning
from haptic_friction.network import BASE, Body

T = 1e-3
LAWS: dict[str, FrictionLaw] = {
    "coulomb": CoulombLaw(2.0),
    "viscous": ViscousCoulombLaw(2.0, viscosity=3.0),
    "stribeck": StribeckLaw(2.0, static_force=2.5, stribeck_velocity=0.5, viscosity=0.2),
    "table": TableLaw([0.0, 0.1, 0.5, 2.0], [2.5, 2.0, 2.1, 4.0]),
}


def spd(n: int, low: float, high: float, seed: int) -> np.ndarray:
    """A symmetric matrix with eigenvalues from low to high and random axes."""
    Q = Rotation.random(rng=seed).as_matrix()[:n, :n] if n == 3 else Rotation.from_euler("z", seed).as_matrix()[:2, :2]
    A = Q @ np.diag(np.geomspace(low, high, n)) @ Q.T
    return np.asarray(0.5 * (A + A.T))


def matrices(n: int) -> dict[str, np.ndarray]:
    return {"mass": spd(n, 0.2, 2.0, 1), "stiffness": spd(n, 3e3, 3e4, 2), "damping": spd(n, 8.0, 50.0, 3)}


def make(letter: str, law: FrictionLaw, n: int, **changes: Any) -> FrictionModel:
    kind: Any = {"A": ModelA, "B": ModelB, "C": ModelC, "D": ModelD}[letter]
    used = {"A": ["mass"], "C": ["stiffness", "damping"]}.get(letter, ["mass", "stiffness", "damping"])
    values: dict[str, Any] = (matrices(n) if n > 1 else {}) | changes
    return kind(law, period=T, dimension=n, **{name: values[name] for name in used})  # type: ignore[no-any-return]


def inputs(letter: str, motion: Callable[..., np.ndarray], steps: int, n: int) -> np.ndarray:
    """Velocities or forces that slide in the first half and stick in the second."""
    size = np.where(np.arange(steps) < steps // 2, 1.0, 0.2)[:, None]
    return size * motion(steps, n) * (1.0 if letter in "BC" else 20.0)


# The equation f = Phi(x - Z f)


@pytest.mark.parametrize("n", [2, 3])
def test_coulomb_friction_is_the_solution_of_a_convex_problem(n: int) -> None:
    """f minimises f.Z f/2 - x.f over |f| <= F: there x - Z f is along f, or zero inside."""
    random, Z = np.random.default_rng(1), spd(n, 0.01, 0.2, 4)
    for x in random.normal(0.0, 0.4, (20, n)):
        found = minimize(
            lambda f, x=x: 0.5 * f @ Z @ f - x @ f,
            np.zeros(n),
            jac=lambda f, x=x: Z @ f - x,
            constraints={"type": "ineq", "fun": lambda f: 4.0 - f @ f, "jac": lambda f: -2.0 * f},
            options={"ftol": 1e-15, "maxiter": 300},
            method="SLSQP",
        )
        np.testing.assert_allclose(LAWS["coulomb"].projected(x, Z), found.x, atol=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("n", [2, 3])
def test_sliding_force_is_that_of_a_bisection(law: FrictionLaw, n: int) -> None:
    """x = s n + Z g(s) n with |n| = 1, solved for the speed s without axes of Z."""
    random, Z = np.random.default_rng(2), spd(n, 0.001, 0.03, 5)
    for x in random.normal(0.0, 1.0, (30, n)) * np.geomspace(0.02, 3.0, 30)[:, None]:
        force = law.projected(x, Z)
        if np.linalg.norm(np.linalg.solve(Z, x)) <= law.breakaway_force:
            np.testing.assert_allclose(force, np.linalg.solve(Z, x), rtol=1e-12)
            continue

        def direction(s: float, x: np.ndarray = x) -> np.ndarray:
            return np.asarray(np.linalg.solve(s * np.eye(n) + law.magnitude(s) * Z, x))

        s = brentq(lambda s: np.linalg.norm(direction(s)) - 1.0, 1e-15, np.linalg.norm(x) * 1.001, xtol=1e-16)
        np.testing.assert_allclose(force, law.magnitude(s) * direction(s), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(law.force(x - Z @ force), force, rtol=1e-9)


def test_rows_of_arguments_and_a_multiple_of_the_identity() -> None:
    x = np.random.default_rng(3).normal(0.0, 0.3, (50, 3))
    for law in LAWS.values():
        np.testing.assert_allclose(law.projected(x, 0.05 * np.eye(3)), law.projected(x, 0.05), rtol=1e-12)
        np.testing.assert_array_equal(law.projected(x, 0.05 * np.eye(3))[7], law.projected(x[7], 0.05 * np.eye(3)))


def test_existence_depends_on_the_largest_eigenvalue() -> None:
    law = StribeckLaw(1.0, static_force=2.0, stribeck_velocity=0.1)
    fall = -law.slope_range[0]
    law.check_existence(np.diag([1e-3, 0.99 / fall]))
    with pytest.raises(ValueError, match=r"^law: its steepest fall g' = .* so Phi_Z does not exist"):
        law.check_existence(np.diag([1e-3, 1.01 / fall]))
    # above it two solutions: along the axis of that eigenvalue s + z g(s) falls somewhere
    z, s = 2.0 / fall, np.linspace(0.0, 0.3, 1000)
    assert (np.diff([value + z * law.magnitude(value) for value in s]) < 0.0).any()


# The equations of the models


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("letter", ["A", "B", "C", "D"])
@pytest.mark.covering
def test_each_step_obeys_the_implicit_euler_equations(
    letter: str, n: int, law: FrictionLaw, motion: Callable[..., np.ndarray]
) -> None:
    model, values = make(letter, law, n), matrices(n)
    M, K, B = values["mass"], values["stiffness"], values["damping"]
    v_1, u_1, e_1 = np.zeros(n), np.zeros(n), np.zeros(n)
    stuck = 0
    for x in inputs(letter, motion, 400, n):
        out = model.step(x)
        f, v, e = model.friction_force, model.sliding_velocity, model.displacement
        tolerance = {"rtol": 0.0, "atol": 1e-9}
        if letter == "A":
            v = out
            np.testing.assert_allclose(M @ (v - v_1) / T, x - f, **tolerance)
        else:
            u = out if letter == "D" else x
            np.testing.assert_allclose((e - e_1) / T, u - v, **tolerance)
            spring = K @ e + B @ (u - v)
            if letter == "B":
                np.testing.assert_allclose(out, spring, **tolerance)
                np.testing.assert_allclose(M @ (v - v_1) / T, spring - f, rtol=0.0, atol=1e-7)
            else:
                np.testing.assert_allclose(f, spring, **tolerance)
            if letter == "D":
                np.testing.assert_allclose(M @ (u - u_1) / T, x - f, **tolerance)
            u_1 = u
        if model.sticking:
            stuck += 1
            assert not v.any() and np.linalg.norm(f) <= law.breakaway_force * (1.0 + 1e-12)
        else:
            np.testing.assert_allclose(f, law.force(v), rtol=1e-8)
        v_1, e_1 = v, e
    assert 20 < stuck < 380


@pytest.mark.parametrize("letter", ["A", "B", "C", "D"])
def test_a_rotated_model_gives_the_rotated_output(letter: str, motion: Callable[..., np.ndarray]) -> None:
    x, R = inputs(letter, motion, 400, 3), Rotation.random(rng=9).as_matrix()
    turned = {name: R @ value @ R.T for name, value in matrices(3).items()}
    turned = {name: 0.5 * (value + value.T) for name, value in turned.items()}
    first, second = make(letter, LAWS["stribeck"], 3), make(letter, LAWS["stribeck"], 3, **turned)
    np.testing.assert_allclose(second.simulate(x @ R.T), first.simulate(x) @ R.T, rtol=0.0, atol=1e-9)
    assert second.dissipated_energy == pytest.approx(first.dissipated_energy, rel=1e-9)


@pytest.mark.parametrize("letter", ["A", "B", "C", "D"])
def test_a_diagonal_matrix_is_a_number_for_each_axis(letter: str, motion: Callable[..., np.ndarray]) -> None:
    values = {"mass": [0.5, 2.0], "stiffness": [4e3, 2e4], "damping": [5.0, 60.0]}
    model = make(letter, LAWS["stribeck"], 2, **{name: np.diag(value) for name, value in values.items()})
    for axis in (0, 1):
        alone = make(letter, LAWS["stribeck"], 1, **{name: value[axis] for name, value in values.items()})
        x = inputs(letter, motion, 400, 1)
        model.reset()
        result = model.simulate(x * np.eye(2)[axis])
        np.testing.assert_allclose(result[:, [axis]], alone.simulate(x), rtol=0.0, atol=1e-11)
        assert not result[:, 1 - axis].any()


@pytest.mark.parametrize("letter", ["A", "B", "C", "D"])
def test_a_multiple_of_the_identity_is_a_number(letter: str, motion: Callable[..., np.ndarray]) -> None:
    values: dict[str, Any] = {"mass": 0.5, "stiffness": 1e4, "damping": 20.0}
    x = inputs(letter, motion, 400, 3)
    number = make(letter, LAWS["coulomb"], 3, **values)
    matrix = make(letter, LAWS["coulomb"], 3, **{name: value * np.eye(3) for name, value in values.items()})
    np.testing.assert_allclose(matrix.simulate(x), number.simulate(x), rtol=0.0, atol=1e-11)
    one = {name: np.array([[value]]) for name, value in values.items()}
    line = inputs(letter, motion, 200, 1)
    alone = make(letter, LAWS["coulomb"], 1, **values)
    np.testing.assert_array_equal(make(letter, LAWS["coulomb"], 1, **one).simulate(line), alone.simulate(line))


# Energy and sticking


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_the_energy_of_model_c_is_stored_or_lost(law: FrictionLaw, motion: Callable[..., np.ndarray]) -> None:
    """T f.u = change of e.K e/2 + T f.v + de.B de/T + de.K de/2, the last the loss of implicit Euler."""
    model, values = make("C", law, 3), matrices(3)
    K, B = values["stiffness"], values["damping"]
    e_1, stored = np.zeros(3), 0.0
    for u in motion(600, 3):
        f = model.step(u)
        de, v = model.displacement - e_1, model.sliding_velocity
        e_1 = model.displacement
        change = 0.5 * e_1 @ K @ e_1 - stored
        stored += change
        lost = T * f @ v + de @ B @ de / T + 0.5 * de @ K @ de
        assert lost >= 0.0
        assert T * f @ u == pytest.approx(change + lost, abs=1e-14)
    assert model.dissipated_energy > 0.0


@pytest.mark.parametrize("letter", ["A", "B", "C", "D"])
def test_a_sticking_model_does_not_drift(letter: str) -> None:
    phase = 0.3 * np.arange(20_000)[:, None] + np.array([0.0, 1.0])
    x = 0.5 * np.sin(phase) if letter in "AD" else 1e-2 * np.cos(phase)
    model = make(letter, LAWS["coulomb"], 2)
    if letter in "BC":
        model = make(letter, CoulombLaw(50.0), 2)
    position = np.zeros(2)
    for k in range(0, len(x), 5000):
        out = model.simulate(x[k : k + 5000])
        assert model.sticking and not model.sliding_velocity.any()
        position += T * (out if letter in "AD" else x[k : k + 5000]).sum(axis=0)
    if letter == "A":
        assert not position.any()
    else:
        np.testing.assert_allclose(model.displacement, position, rtol=0.0, atol=1e-15)


# Use and refusals


def test_loads_batches_couplings_and_states_work(motion: Callable[..., np.ndarray]) -> None:
    x = motion(200, 2)
    loaded, strong = make("C", LAWS["stribeck"], 2), make("C", LAWS["coulomb"], 2)
    strong.set_load(2.0)
    np.testing.assert_array_equal(strong.simulate(x), make("C", CoulombLaw(4.0), 2).simulate(x))
    with pytest.raises(ValueError, match="so Phi_Z does not exist"):
        loaded.set_load(1e6)
    batch = Batch([make("C", LAWS["coulomb"], 2), make("C", CoulombLaw(1.0), 2, damping=np.eye(2))])
    forces = batch.simulate(np.stack([x, x]))
    np.testing.assert_array_equal(forces[0], make("C", LAWS["coulomb"], 2).simulate(x))
    with pytest.raises(ValueError, match=r"^models: expected elements of one model"):
        Batch([make("C", LAWS["coulomb"], 2), make("C", LAWS["coulomb"], 2, stiffness=1.0, damping=1.0)])
    element: Any = make("C", LAWS["coulomb"], 2)
    held = WithMass(element, mass=1.0).simulate(np.full((3000, 2), 0.9))
    assert np.abs(held[-1]).max() < 1e-6
    rigid: Any = make("A", LAWS["coulomb"], 2)
    pulled = WithCompliance(rigid, stiffness=1e3, damping=20.0).simulate(np.full((3000, 2), 0.1))
    np.testing.assert_allclose(pulled[-1], np.full(2, np.sqrt(2.0)), rtol=1e-6)
    assert model_warning(WithMass(element, mass=1e-9)) == ""
    before = loaded.state
    first = loaded.simulate(x)
    loaded.restore(before)
    np.testing.assert_array_equal(loaded.simulate(x), first)


@pytest.mark.parametrize(
    "changes, message",
    [
        (
            {"stiffness": np.zeros((2, 2))},
            "stiffness: expected a symmetric, positive definite matrix [N/m] of shape (2",
        ),
        ({"stiffness": [[1.0, 2.0], [0.0, 1.0]]}, "stiffness: expected a symmetric, positive definite matrix"),
        ({"stiffness": np.eye(3)}, "stiffness: expected a symmetric, positive definite matrix [N/m] of shape (2, 2)"),
        ({"damping": np.diag([1.0, -1.0])}, "damping: expected a symmetric, positive semidefinite matrix [N s/m]"),
        ({"mass": np.diag([1.0, np.nan])}, "mass: expected a symmetric, positive"),
        ({"mass": -1.0}, "mass: expected a finite number"),
    ],
)
@pytest.mark.parametrize("letter", ["B", "D"])
def test_matrices_are_checked_by_name(letter: str, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        make(letter, LAWS["coulomb"], 2, **changes)
    assert str(caught.value).startswith(message)


def test_laws_and_networks_that_need_numbers_refuse_matrices() -> None:
    for law in (AnisotropicLaw(np.diag([1.0, 2.0])), LAWS["stribeck"].approximated()):
        with pytest.raises(ValueError, match=r"^law: expected an isotropic law with an exact Phi_Z for matrices"):
            make("C", law, 2)
    element: Any = make("C", LAWS["coulomb"], 2)
    with pytest.raises(ValueError, match=r"^contact 0: expected numbers as stiffness and damping, got a matrix"):
        ImplicitNetwork([Body(mass=1.0)], [Contact(0, BASE, element)])
    with pytest.raises(ValueError, match=r"^Z: expected a symmetric, positive definite matrix"):
        LAWS["coulomb"].projected([1.0, 2.0], [[1.0, 2.0], [2.0, 1.0]])
