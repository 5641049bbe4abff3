"""Phi(v) = S v/|v| + V v with tensors S and V: Phi_Z, its uniqueness, and the approximation (59)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import ortho_group

from haptic_friction import AnisotropicLaw, CoulombLaw, FrictionLaw, ModelA, ModelB, ModelC, ModelD, ViscousCoulombLaw

EPS = np.finfo(float).eps
Motion = Callable[..., np.ndarray]

properties = settings(max_examples=100)
eigenvalues = st.tuples(st.integers(2, 3), st.integers(0, 9999))


def tensors(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """S and V with common axes, and these."""
    random = np.random.default_rng(seed)
    Q = ortho_group.rvs(n, random_state=seed)
    S, V = (Q @ np.diag(random.uniform(*bounds, size=n)) @ Q.T for bounds in ((0.5, 8.0), (0.0, 20.0)))
    return 0.5 * (S + S.T), 0.5 * (V + V.T), Q


@pytest.mark.slow
@properties
@given(eigenvalues, st.floats(1e-3, 1.0), st.floats(0.05, 20.0))
def test_phi_z_solves_the_implicit_equation_and_is_the_only_solution(
    which: tuple[int, int], Z: float, size: float
) -> None:
    """w = x - Z y = s n with |n| = 1 gives (s (1 + Z V) + Z S) n = x; the length of n(s) must pass 1 once, or never."""
    n, (S, V, _) = which[0], tensors(*which)
    x = np.random.default_rng(which[1]).normal(size=n)
    x *= size * Z * 4.0 / np.linalg.norm(x)
    law = AnisotropicLaw(S, viscosity=V)

    def direction(s: float) -> np.ndarray:
        return np.linalg.solve(s * (np.eye(n) + Z * V) + Z * S, x)

    speeds = np.concatenate(([0.0], np.geomspace(1e-12, 2.0, 400) * np.linalg.norm(x)))
    lengths = np.array([np.linalg.norm(direction(s)) for s in speeds])
    assert (np.diff(lengths) < 0.0).all()  # one crossing at most
    y = law.projected(x, Z)
    if lengths[0] <= 1.0:  # x/Z in the ellipsoid of S
        np.testing.assert_array_equal(y, x / Z)
        return
    s = brentq(lambda s: np.linalg.norm(direction(s)) - 1.0, 0.0, speeds[-1], xtol=1e-18, rtol=4 * EPS)
    expected = S @ direction(s) + s * V @ direction(s)
    # the solve is exact to its condition, up to (20 Z + 8)/0.5 or so
    np.testing.assert_allclose(y, expected, rtol=0, atol=2000 * EPS * np.linalg.norm(expected))
    w = x - Z * y
    # y = Phi(w), where the direction of w is as exact as x is large against it
    error = 2000 * EPS * np.linalg.norm(x) * (16.0 / np.linalg.norm(w) + 20.0) + 64 * EPS * np.linalg.norm(y)
    assert np.linalg.norm(law.force(w) - y) <= error


@properties
@given(eigenvalues, st.floats(1e-3, 10.0))
def test_the_static_set_is_the_ellipsoid_of_s(which: tuple[int, int], Z: float) -> None:
    n, (S, V, Q) = which[0], tensors(*which)
    law, coulomb = AnisotropicLaw(S, viscosity=V), AnisotropicLaw(S)
    direction = np.random.default_rng(which[1]).normal(size=n)
    limit = S @ (direction / np.linalg.norm(direction))  # on the ellipsoid's surface
    for tensor_law in (law, coulomb):
        np.testing.assert_array_equal(tensor_law.projected(Z * (0.999 * limit), Z), Z * (0.999 * limit) / Z)
        beyond = Z * (1.001 * limit)
        assert np.linalg.norm(beyond - Z * tensor_law.projected(beyond, Z)) > 1e-8 * np.linalg.norm(beyond)
    assert law.breakaway_force == pytest.approx(np.diag(Q.T @ S @ Q).max(), rel=64 * EPS)
    assert law.slope_range == pytest.approx(
        (np.diag(Q.T @ V @ Q).min(), np.diag(Q.T @ V @ Q).max()), rel=1e-12, abs=1e-12
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "law", [AnisotropicLaw(np.diag([4.0, 2.0])), AnisotropicLaw(np.diag([4.0, 2.0])).approximated()]
)
def test_on_the_surface_of_the_ellipsoid_it_sticks(law: AnisotropicLaw) -> None:
    model = ModelA(law, mass=0.5, period=2.0**-10, dimension=2)  # powers of two: v* is on the surface to the last bit
    for axis, limit in ((0, 4.0), (1, -2.0)):
        force = np.zeros(2)
        force[axis] = limit
        np.testing.assert_array_equal(model.step(force), [0.0, 0.0])
        assert model.sticking
        force[axis] = np.nextafter(limit, 9.0 * limit)
        model.step(force)
        assert not model.sticking
        model.reset()


def test_the_force_is_s_n_plus_v_v() -> None:
    S, V, _ = tensors(3, 1)
    velocity = np.array([0.3, -0.4, 1.2])  # 1.3 m/s
    np.testing.assert_allclose(
        AnisotropicLaw(S, viscosity=V).force(velocity), S @ velocity / 1.3 + V @ velocity, rtol=32 * EPS
    )
    np.testing.assert_array_equal(AnisotropicLaw(S, viscosity=V).force(np.zeros(3)), np.zeros(3))


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("D", [0.0, 3.0])
def test_equal_axes_are_the_isotropic_law(dimension: int, D: float) -> None:
    law, expected = AnisotropicLaw(4.0 * np.eye(dimension), viscosity=D), ViscousCoulombLaw(4.0, viscosity=D)
    for seed in range(50):
        x = np.random.default_rng(seed).normal(size=dimension)
        for Z in (0.01, 0.3, 5.0):
            np.testing.assert_allclose(law.projected(x, Z), expected.projected(x, Z), rtol=64 * EPS)
    assert (law.breakaway_force, *law.slope_range) == pytest.approx((4.0, D, D), rel=4 * EPS)


@pytest.mark.parametrize(("n", "seed"), [(2, 3), (3, 4)])
def test_turned_tensors_give_the_turned_force(n: int, seed: int) -> None:
    S, V, _ = tensors(n, seed)
    turn = ortho_group.rvs(n, random_state=seed + 50)
    law, turned = AnisotropicLaw(S, viscosity=V), AnisotropicLaw(turn @ S @ turn.T, viscosity=turn @ V @ turn.T)
    for x in np.random.default_rng(seed).normal(size=(50, n)):
        for Z in (0.01, 0.3):
            np.testing.assert_allclose(
                turned.projected(turn @ x, Z), turn @ law.projected(x, Z), rtol=0, atol=1000 * EPS * 30.0
            )


@pytest.mark.parametrize(
    ("sigma", "nu"),
    [
        ([1.0, 2.0], [3.0, 1.0]),
        ([1.0, 2.0], [2.0, 1.0]),
        # of unit length, and apart by twice what S/|S| is
        ([1.0, 2.0], [0.2**0.5 + 0.3**0.5, 0.3**0.5 - 0.2**0.5]),
        ([2.0, 2.0, 5.0], [1.0, 4.0, 4.0]),
        ([1.0, 2.0, 3.0], [7.0, 7.0, 7.0]),
    ],
)
def test_axes_are_found_where_sums_of_the_tensors_have_equal_eigenvalues(sigma: list[float], nu: list[float]) -> None:
    """S + V/2, S + V and S/|S| + V/2 of the first three are multiples of the unit tensor: its axes are any."""
    Q = ortho_group.rvs(len(sigma), random_state=2)
    S, V = Q @ np.diag(sigma) @ Q.T, Q @ np.diag(nu) @ Q.T
    aligned, turned = (
        AnisotropicLaw(np.diag(sigma), viscosity=np.diag(nu)),
        AnisotropicLaw(0.5 * (S + S.T), viscosity=0.5 * (V + V.T)),
    )
    for x in np.random.default_rng(0).normal(size=(20, len(sigma))):
        np.testing.assert_allclose(
            turned.projected(Q @ x, 0.1), Q @ aligned.projected(x, 0.1), rtol=0, atol=1000 * EPS * 30.0
        )


def test_a_mirrored_x_gives_the_mirrored_force_along_each_axis() -> None:
    law = AnisotropicLaw(np.diag([1.0, 5.0]), viscosity=np.diag([0.5, 2.0]))
    y = law.projected([0.3, 0.4], 0.02)
    np.testing.assert_array_equal(law.projected([-0.3, 0.4], 0.02), y * [-1.0, 1.0])
    np.testing.assert_array_equal(law.projected([0.3, -0.4], 0.02), y * [1.0, -1.0])


@pytest.mark.parametrize("law", [CoulombLaw(4.0), ViscousCoulombLaw(4.0, viscosity=3.0)])
def test_the_approximation_59_is_57_where_the_law_is_isotropic(law: FrictionLaw) -> None:
    tensor = AnisotropicLaw(4.0 * np.eye(2), viscosity=law.slope_range[0], exact=False)
    for x in np.random.default_rng(0).normal(scale=0.3, size=(100, 2)):
        expected = law.approximated().projected(x, 0.05)
        np.testing.assert_allclose(
            tensor.projected(x, 0.05), expected, rtol=0, atol=16 * EPS * np.linalg.norm(expected)
        )


def test_the_approximation_59_nears_phi_z_in_second_order_of_z() -> None:
    """Phi_Z(x) = Phi(x) - Z Phi'(x) Phi(x) + O(Z^2); without viscosity (59) has that term: Phi' turns only."""
    S = np.array([[3.0, 0.5], [0.5, 1.0]])
    law, x = AnisotropicLaw(S), np.array([0.3, -0.4])
    errors = [np.linalg.norm(law.approximated().projected(x, Z) - law.projected(x, Z)) for Z in (1e-3, 1e-4)]
    plain = [np.linalg.norm(law.force(x) - law.projected(x, Z)) for Z in (1e-3, 1e-4)]
    assert errors[1] < errors[0] < plain[0]
    assert plain[0] / plain[1] == pytest.approx(10.0, rel=0.1)  # first order, the next term is 1 percent


def test_tensors_without_common_axes_are_refused_but_approximated() -> None:
    S, V = np.array([[3.0, 1.0], [1.0, 2.0]]), np.diag([1.0, 5.0])
    with pytest.raises(ValueError, match=r"^viscosity: expected the principal axes of force_tensor .*\|S V - V S\|"):
        AnisotropicLaw(S, viscosity=V)
    law = AnisotropicLaw(S, viscosity=V, exact=False)
    assert law.is_approximated
    # the strongest direction and the extreme viscosities are those of the tensors, in whatever axes
    assert law.breakaway_force == pytest.approx((5.0 + np.sqrt(5.0)) / 2.0, rel=8 * EPS)
    assert law.slope_range == pytest.approx((1.0, 5.0), rel=8 * EPS)
    x, Z = np.array([0.3, -0.4]), 0.02
    force = S @ x / 0.5 + V @ x
    strength = np.linalg.norm(force)
    expected = force + Z * strength / 0.5 * (x * strength / 0.5 - force)  # (59)
    np.testing.assert_allclose(law.projected(x, Z), expected, rtol=32 * EPS)
    np.testing.assert_array_equal(law.projected(0.01 * x, Z), 0.01 * x / Z)


def test_an_anisotropic_law_has_no_g() -> None:
    law = AnisotropicLaw(np.eye(2))
    for call in (law.magnitude, law.slope):
        with pytest.raises(ValueError, match=r"^law: an anisotropic law has no magnitude"):
            call(1.0)


@pytest.mark.parametrize(
    ("S", "V", "message"),
    [
        ([1.0, 2.0], 0.0, "^force_tensor: expected a finite tensor"),
        ([[1.0, 0.0]], 0.0, "^force_tensor: "),
        ([[1.0, np.nan], [np.nan, 1.0]], 0.0, "^force_tensor: expected a finite tensor"),
        ([[1.0, 0.1], [0.0, 1.0]], 0.0, "^force_tensor: expected a symmetric tensor"),
        ([[1.0, 2.0], [2.0, 1.0]], 0.0, "^force_tensor: expected positive eigenvalues"),
        ([[0.0, 0.0], [0.0, 1.0]], 0.0, "^force_tensor: expected positive eigenvalues"),
        (np.eye(2), -1.0, "^viscosity: expected no negative eigenvalue"),
        (np.eye(2), [[1.0, 2.0], [2.0, 1.0]], "^viscosity: expected no negative eigenvalue"),
        (np.eye(2), np.eye(3), r"^viscosity: expected shape \(2, 2\) or a number, got \(3, 3\)"),
        (np.eye(2), np.inf, "^viscosity: "),
    ],
)
def test_bad_tensors_are_refused_by_name(S: np.ndarray, V: np.ndarray, message: str) -> None:
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match=message):  # inf times zero, off the diagonal
        AnisotropicLaw(S, viscosity=V)


def test_the_models_refuse_a_tensor_of_another_dimension() -> None:
    law, spring = AnisotropicLaw(np.diag([1.0, 2.0])), {"stiffness": 1e4, "damping": 10.0}
    for make, values in (
        (ModelA, {"mass": 1.0}),
        (ModelB, {"mass": 1.0, **spring}),
        (ModelC, spring),
        (ModelD, {"mass": 1.0, **spring}),
    ):
        make(law, period=1e-3, dimension=2, **values)
        with pytest.raises(ValueError, match=r"^dimension: expected 2, that of force_tensor, got 3"):
            make(law, period=1e-3, dimension=3, **values)


def test_model_c_slides_along_the_law_and_stays_in_the_ellipsoid(motion: Motion) -> None:
    S = np.array([[3.0, 0.5], [0.5, 1.0]])
    model = ModelC(AnisotropicLaw(S), stiffness=6000.0, damping=10.0, period=1e-3, dimension=2)
    stuck = 0
    for velocity in motion(1000, 2):
        force = model.step(velocity)
        inside = np.linalg.norm(np.linalg.solve(S, force))
        if model.sticking:
            stuck += 1
            assert inside <= 1.0 + 16 * EPS
        else:
            # f = S n with n along the sliding velocity, whose direction is as exact as v* is large against it
            n = model.sliding_velocity / np.linalg.norm(model.sliding_velocity)
            np.testing.assert_allclose(
                S @ n, force, rtol=0, atol=1e-13 / np.linalg.norm(model.sliding_velocity) + 1e-13
            )
    assert 100 < stuck < 900


def test_the_approximation_of_an_anisotropic_law_has_no_accuracy() -> None:
    """(58) speaks of forces along the velocity: at 45 degrees (59) holds twice what S = diag(4, 1) N allows."""
    exact = AnisotropicLaw(np.diag([4.0, 1.0]))
    assert exact.accuracy(0.1) == np.inf
    assert AnisotropicLaw(np.diag([4.0, 4.0]), viscosity=2.0).accuracy(0.1) == pytest.approx(0.2)
    direction, Z = np.array([1.0, 1.0]) / np.sqrt(2.0), 0.1
    limit = 1.0 / np.linalg.norm([direction[0] / 4.0, direction[1]])  # on the ellipsoid of S
    printed = np.linalg.norm(exact.force(direction))  # |y| <= |Phi(y)| along a ray
    assert (limit, printed) == (pytest.approx(1.372, abs=1e-3), pytest.approx(2.915, abs=1e-3))
    between = Z * 2.0 * direction
    assert np.linalg.norm(between - Z * exact.projected(between, Z)) > 0.0
    np.testing.assert_allclose(exact.approximated().projected(between, Z), 2.0 * direction, rtol=1e-15)
