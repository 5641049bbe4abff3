"""Potentials: gradient and Hessian by finite differences, convexity, the compiled form, normal laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

from convex_contact import APPROXIMATIONS, FunctionLaw, HertzLaw, LinearLaw, NormalLaw, Simulator, World
from convex_contact.problem import contact_kernels as kernels
from convex_contact.problem.approximations import ContactParameters
from convex_contact.problem.contact_kernels import soft_root
from convex_contact.problem.normal_laws import breaking_velocity


def parameters(random: np.random.Generator, n: int, law: NormalLaw, tensor: bool) -> ContactParameters:
    k = 10.0 ** random.uniform(3, 6, n)
    M = random.normal(size=(n, 2, 2))
    friction = M @ np.swapaxes(M, 1, 2) * 0.3 + 0.1 * np.eye(2) if tensor else random.uniform(0.1, 1.5, n)
    return ContactParameters(
        period=1e-2,
        law=law,
        phi0=random.uniform(-1e-2, 5e-3, n),
        v_n0=random.normal(size=n),
        stiffness=k,
        dissipation=random.uniform(0.0, 2.0, n),
        relaxation_time=random.uniform(0.0, 1e-2, n),
        friction=friction,
        delassus=random.uniform(0.1, 2.0, n),
        stiction_tolerance=0.1,
        sigma=1e-3,
        near_rigid=0.5,
        tangential_stiffness=k,
        tangential_damping=random.uniform(0.0, 10.0, n),
        elastic_displacement=1e-3 * random.normal(size=(n, 2)),
    )


LAWS = {"linear": LinearLaw(), "hertz": HertzLaw()}


@pytest.mark.parametrize("tensor", [False, True], ids=["isotropic", "tensor"])
@pytest.mark.parametrize("law", LAWS)
def test_gradient_and_hessian(approximation: str, law: str, tensor: bool) -> None:
    """dl/dv = -gamma, dgamma/dv = -G, G symmetric and positive semidefinite."""
    a, random = APPROXIMATIONS[approximation], np.random.default_rng(1)
    p = parameters(random, 400, LAWS[law], tensor)
    v = random.normal(size=(400, 3)) * np.array([0.5, 0.5, 1.0])
    h = 1e-6
    gamma, G = a.impulse(p, v), a.hessian(p, v)
    slope, bend = np.empty_like(gamma), np.empty_like(G)
    for i in range(3):
        step = h * np.eye(3)[i]
        slope[:, i] = (a.potential(p, v + step) - a.potential(p, v - step)) / (2 * h)
        bend[:, :, i] = (a.impulse(p, v + step) - a.impulse(p, v - step)) / (2 * h)
    size = np.linalg.norm(gamma, axis=1)
    assert (size > 0.0).sum() > 100
    assert np.abs(slope + gamma).max() <= 1e-6 * (1.0 + np.abs(gamma).max())
    # a kink of the law within the step spoils the difference quotient, not the formula
    wrong = np.abs(bend + G).max(axis=(1, 2)) > 1e-5 * (1.0 + np.abs(G).max(axis=(1, 2)))
    assert wrong.mean() <= 0.01
    assert np.abs(G - np.swapaxes(G, 1, 2)).max() <= 1e-14 * np.abs(G).max()
    assert (np.linalg.eigvalsh(G) >= -1e-12 * np.abs(G).max(axis=(1, 2))[:, None]).all()


def test_convexity_along_lines(approximation: str) -> None:
    """l at the middle of any two velocities is below the mean of l at both."""
    a, random = APPROXIMATIONS[approximation], np.random.default_rng(2)
    p = parameters(random, 1000, LAWS["linear"], tensor=True)
    u, v = random.normal(size=(2, 1000, 3))
    ends, middle = a.potential(p, u) + a.potential(p, v), a.potential(p, 0.5 * (u + v))
    assert (2.0 * middle <= ends + 1e-9 * (1.0 + np.abs(ends))).all()


@pytest.mark.parametrize("tensor", [False, True], ids=["isotropic", "tensor"])
@pytest.mark.parametrize("law", LAWS)
def test_compiled_form(approximation: str, law: str, tensor: bool) -> None:
    a, random, n = APPROXIMATIONS[approximation], np.random.default_rng(3), 300
    p = parameters(random, n, LAWS[law], tensor)
    v = random.normal(size=(n, 3)) * np.array([0.5, 0.5, 1.0])
    v[:20, :2] = 0.0
    row, derived = p.table, np.zeros((n, kernels.DERIVED))
    gamma, G = a.impulse(p, v), a.hessian(p, v)
    own, found = kernels.ContactLaw(a.code, p.law.code, p.law.addresses, p.period), 0
    for i in range(n):
        kernels.prepare(own, kernels.Regularisation(0.1, 1e-3, 0.5), p.delassus[i], row, derived, i)
        both = kernels.impulse_and_hessian(own, derived, i, *v[i])
        size = 1e-300 + np.abs(gamma[i]).max()
        assert np.abs(np.array(both[:3]) - gamma[i]).max() <= 1e-12 * size
        assert np.abs(np.array(kernels.impulse(own, derived, i, *v[i])) - gamma[i]).max() <= 1e-12 * size
        flat = G[i][[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]
        assert np.abs(np.array(both[3:]) - flat).max() <= 1e-11 * (1e-300 + np.abs(G[i]).max())
        idle = not gamma[i].any() and not G[i].any()
        assert kernels.is_idle(own, derived, i, *v[i]) == idle
        certain = kernels.idle_by_velocity(own, row, i, *v[i])
        assert idle or not certain
        found += certain
    assert found > 20


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("phi0", [-2e-3, 1e-3])
@pytest.mark.parametrize("d", [0.0, 5.0])
def test_normal_law(law: str, phi0: float, d: float) -> None:
    """Eqs. (22), (23): derivatives, antiderivative, breaking velocity."""
    f, k, dt = LAWS[law], np.array(1e5), 1e-2
    stop = float(breaking_velocity(np.array(phi0), dt, np.array(d)))
    assert stop == pytest.approx(min(-phi0 / dt, 1.0 / d if d else math.inf))

    def force(v: float) -> float:
        return float(f.force(np.array(phi0 + dt * v), np.array(v), k, np.array(d)))

    assert force(stop + 1e-6) == 0.0 and force(stop - 1e-3) > 0.0
    ends = [float(f.antiderivative(np.array(v), np.array(phi0), dt, k, np.array(d))) for v in (-0.5, 0.4)]
    expected, _ = quad(force, -0.5, 0.4, points=[x for x in (stop, -phi0 / dt) if -0.5 < x < 0.4] or None, epsrel=1e-11)
    assert ends[1] - ends[0] == pytest.approx(expected, rel=1e-9)
    for v in (-0.3, 0.1, 0.3):
        h = 1e-6
        slope = -dt * (force(v + h) - force(v - h)) / (2 * h)
        came = float(f.slope(np.array(v), np.array(phi0), dt, k, np.array(d)))
        assert came == pytest.approx(slope, rel=1e-6, abs=1e-9) and came >= 0.0


def test_linear_antiderivative_is_the_printed_one() -> None:
    """Section VI: N+ vanishes at v = 0."""
    zero = np.array(0.0)
    assert LinearLaw().antiderivative(zero, np.array(-1e-3), 1e-3, np.array(1e5), np.array(3.0)) == 0.0


def test_soft_norm() -> None:
    """Appendix A, also at x = 0."""
    x, eps = np.array([[0.0, 0.0], [3.0, 4.0], [1e-9, 0.0]]), 0.1
    size, root = soft_root(x[:, 0], x[:, 1], eps)
    norm, t = size / (root + eps), x / root[:, None]
    assert norm == pytest.approx([0.0, math.sqrt(25.01) - 0.1, 0.5e-17], rel=1e-12)
    assert (np.linalg.norm(t, axis=1) < 1.0).all()
    assert t[1] == pytest.approx(x[1] / (norm[1] + 0.1))
    # Lagged with mu gamma_n0 = 1 N s has the norm's gradient and Hessian
    law = kernels.ContactLaw(kernels.LAGGED, kernels.LINEAR, np.zeros(4, np.int64), 1.0)
    derived = np.zeros((1, kernels.DERIVED))
    derived[0, [kernels.M11, kernels.M22, kernels.D_ISOTROPIC, kernels.D_EPS, kernels.D_BOUND]] = (
        1.0,
        1.0,
        1.0,
        eps,
        1.0,
    )
    for y, slope in zip(x, t, strict=True):
        found = kernels.impulse_and_hessian(law, derived, 0, *y, 0.0)
        assert found[:2] == pytest.approx(-slope)
    found = kernels.impulse_and_hessian(law, derived, 0, 0.0, 0.0, 0.0)
    assert found[3:6] == pytest.approx((1.0 / eps, 0.0, 1.0 / eps))


def quadratic(phi: float, v: float, k: float, d: float) -> float:
    return k * phi * phi * max(1.0 - d * v, 0.0) if phi < 0.0 else 0.0


def quadratic_derivatives(phi: float, v: float, k: float, d: float) -> tuple[float, float]:
    if phi >= 0.0 or d * v >= 1.0:
        return 0.0, 0.0
    return 2.0 * k * phi * (1.0 - d * v), -k * phi * phi * d


def quadratic_antiderivative(v: float, phi0: float, dt: float, k: float, d: float) -> float:
    x = min(v, -phi0 / dt)
    if d > 0.0:
        x = min(x, 1.0 / d)
    u, c = phi0 + dt * x, 1.0 + d * phi0 / dt
    return k / dt * (c * u**3 / 3.0 - d / dt * u**4 / 4.0)


@pytest.mark.slow
def test_own_law() -> None:
    """A law of one's own is inspected and then acts like one that is built in."""
    law = FunctionLaw(quadratic, quadratic_derivatives, quadratic_antiderivative, stiffness=1e7)
    assert law.addresses.all()
    phi, v, k, d = np.array([-1e-3]), np.array([0.1]), np.array([1e7]), np.array([2.0])
    assert law.force(phi, v, k, d) == pytest.approx(1e7 * 1e-6 * 0.8)
    stretched = law.force(phi + 1e-20j, v, k, d)
    assert np.imag(stretched) / 1e-20 == pytest.approx(law.derivatives(phi, v, k, d)[0])
    by_k, by_d = law.parameter_derivatives(phi, v, k, d)  # f_n = k phi^2 (1 - d v)
    assert by_k == pytest.approx(1e-6 * 0.8, rel=1e-9)
    assert by_d == pytest.approx(-1e7 * 1e-6 * 0.1, rel=1e-9)


@pytest.mark.slow
def test_contacts_without_force_of_an_own_law_are_left_out() -> None:
    """Nothing is certain about an own law beforehand, so its force is asked at the guess and in free motion."""
    law, world = FunctionLaw(quadratic, quadratic_derivatives, quadratic_antiderivative, stiffness=1e7), World()
    for i in range(3):
        world.add_sphere(f"ball{i}", mass=1.0, radius=0.1, position=(0.25 * i, 0.0, 0.0))
    simulator = Simulator(world, period=1e-3, normal_law=law, speculative=False)
    simulator.step()
    assert (simulator.statistics.contacts, simulator.statistics.active_contacts) == (2, 0)


@pytest.mark.slow
def test_wrong_own_laws_are_refused() -> None:
    with pytest.raises(ValueError, match=r"force: expected df/dphi <= 0 .*got"):
        FunctionLaw(lambda phi, v, k, d: k * phi, lambda phi, v, k, d: (k, 0.0), quadratic_antiderivative)
    with pytest.raises(ValueError, match=r"force: expected df/dv <= 0"):
        FunctionLaw(lambda phi, v, k, d: k * v, lambda phi, v, k, d: (0.0, k), quadratic_antiderivative)
    with pytest.raises(ValueError, match=r"derivatives: expected df/dphi = -?[0-9.e+-]+ at phi"):
        FunctionLaw(quadratic, lambda phi, v, k, d: (0.0, 0.0), quadratic_antiderivative)
    with pytest.raises(ValueError, match=r"antiderivative: expected .*by quadrature"):
        FunctionLaw(quadratic, quadratic_derivatives, lambda v, phi0, dt, k, d: 0.0)
    with pytest.raises(ValueError, match="force: expected finite"):
        FunctionLaw(lambda phi, v, k, d: math.inf, quadratic_derivatives, quadratic_antiderivative)
