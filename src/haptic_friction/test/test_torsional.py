"""A patch that slides and spins: its limits, closed forms, and the exact limit surface of a round patch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import root

from haptic_friction import (
    CoulombLaw,
    FrictionLaw,
    ModelC,
    StribeckLaw,
    TorsionalElement,
    ViscousCoulombLaw,
    patch_radius,
)

T, FORCE, RADIUS = 1e-3, 2.0, 0.05
COEFFICIENTS: dict[str, dict[str, Any]] = {
    "a": {"mass": (1.5, 2e-3)},
    "b": {"mass": (1.5, 2e-3), "stiffness": (8e3, 30.0), "damping": (4.0, 0.01)},
    "c": {"stiffness": (8e3, 30.0), "damping": (4.0, 0.01)},
    "d": {"mass": (1.5, 2e-3), "stiffness": (8e3, 30.0), "damping": (4.0, 0.01)},
}


def element(model: str = "c", law: FrictionLaw | None = None, **values: Any) -> TorsionalElement:
    given = {"radius": RADIUS, "period": T, **COEFFICIENTS[model]} | values
    return TorsionalElement(model, law or CoulombLaw(FORCE), **given)


def test_sliding_alone_and_spinning_alone_are_the_plain_model() -> None:
    """The rotation of model C is model C of a torque r Phi(r omega)."""
    random = np.random.default_rng(1)
    motion = random.normal(size=(300, 3)) * (0.02, 0.02, 0.5)
    plain = ModelC(CoulombLaw(FORCE), stiffness=8e3, damping=4.0, period=T, dimension=2)
    sliding = motion * (1, 1, 0)
    np.testing.assert_allclose(element().simulate(sliding)[:, :2], plain.simulate(sliding[:, :2]), atol=1e-12)
    torque = ModelC(CoulombLaw(FORCE * RADIUS), stiffness=30.0, damping=0.01, period=T)
    spinning = motion * (0, 0, 1)
    expected = torque.simulate(spinning[:, 2:])
    np.testing.assert_allclose(element().simulate(spinning)[:, 2:], expected, atol=1e-12)
    rotation = element(translations=0)
    np.testing.assert_allclose(rotation.simulate(spinning[:, 2:]), expected, atol=1e-12)


@pytest.mark.parametrize("law", [CoulombLaw(FORCE), ViscousCoulombLaw(FORCE, viscosity=3.0)])
def test_a_step_of_model_a_solves_the_coupled_implicit_equation(law: FrictionLaw) -> None:
    """M (v - v0)/T = F - S Phi(S v) by a solver without scaled coordinates; the mass matrix is full."""
    M = np.array([[1.5, 0.1, 0.01], [0.1, 1.4, 0.0], [0.01, 0.0, 2e-3]])
    v, push, S = np.array([0.3, -0.1, 8.0]), np.array([1.0, 0.5, 0.02]), np.diag([1.0, 1.0, RADIUS])
    one = element("a", law, mass=M)
    one.reset(velocity=v)

    def residual(w: np.ndarray) -> np.ndarray:
        return M @ (w - v) / T - push + S @ law.force(S @ w)

    expected = root(residual, v, tol=1e-14).x
    np.testing.assert_allclose(one.step(push), expected, rtol=1e-10)


def test_a_puck_stops_sliding_and_spinning_at_once() -> None:
    """For m v' = -F v/|S v| and I w' = -F r^2 w/|S v|, v/v0 = (w/w0)^(I/(m r^2)) at all times."""
    mass, inertia, r = 0.2, 0.5 * 0.2 * 0.06**2, patch_radius("uniform", 0.06)
    start = np.array([0.8, 0.0, 15.0])
    puck = element("a", CoulombLaw(0.3), mass=(mass, inertia), radius=r, period=1e-4)
    puck.reset(velocity=start)
    motion = puck.simulate(np.zeros((20000, 3)))
    v, w = motion[:, 0], motion[:, 2]
    moving = v > 0.02 * start[0]
    assert moving.sum() > 5000 and not motion[-1].any()
    # implicit Euler of first order: some (T F/(m v))^1 at the smallest speed counted
    np.testing.assert_allclose(v[moving] / start[0], (w[moving] / start[2]) ** (inertia / (mass * r**2)), rtol=5e-3)
    alone = element("a", CoulombLaw(0.3), mass=(mass, inertia), radius=r, period=1e-4)
    alone.reset(velocity=start * (1, 1, 0))
    way = [run[:, 0].sum() for run in (motion, alone.simulate(np.zeros((20000, 3))))]
    assert way[0] > 1.2 * way[1]  # spin lets it slide farther


def test_the_ellipsoid_is_near_the_limit_surface_of_a_round_patch() -> None:
    """Coulomb's law on each part of a uniform patch, integrated.

    Limits chosen after the data: the exact points lie within 8 % of the ellipsoid, and the forces of the same motion
    differ by less than 15 % of the largest.
    """
    patch, radius = 0.03, patch_radius("uniform", 0.03)
    rho = (np.arange(400) + 0.5) / 400 * patch
    phi = (np.arange(400) + 0.5) / 400 * 2.0 * math.pi
    x, y = rho[:, None] * np.cos(phi), rho[:, None] * np.sin(phi)
    weight = np.broadcast_to(rho[:, None], x.shape) / (rho.sum() * len(phi))
    worst, off = 0.0, 0.0
    for ratio in np.concatenate([[0.0], np.logspace(-2, 2, 30)]):  # r omega over v
        omega, v = ratio / radius, 1.0
        vx, vy = v - omega * y, omega * x
        speed = np.hypot(vx, vy)
        exact = np.array([(weight * vx / speed).sum(), (weight * (x * vy - y * vx) / speed).sum() / radius])
        patch_of = element("c", CoulombLaw(1.0), radius=radius, stiffness=(1e9, 1e6), damping=(0.0, 0.0))
        for _ in range(3):
            found = patch_of.step([v, 0.0, omega])
        worst = max(worst, float(np.abs(found[[0, 2]] / (1.0, radius) - exact).max()))
        off = max(off, abs(float(np.linalg.norm(exact)) - 1.0))
    assert 0.01 < off < 0.08
    assert worst < 0.15


@pytest.mark.parametrize("model", ["a", "b", "c", "d"])
def test_friction_never_gives_energy_and_stays_in_the_ellipsoid(model: str) -> None:
    random = np.random.default_rng(2)
    scale = (0.05, 0.05, 1.0) if model in "bc" else (3.0, 3.0, 0.1)
    one, energy, stuck = element(model), 0.0, 0
    for _ in range(400):
        one.step(random.normal(size=3) * scale)
        f = one.friction_force / (1.0, 1.0, RADIUS)
        assert np.linalg.norm(f) <= FORCE * (1 + 1e-12)
        assert one.dissipated_energy >= energy
        energy, stuck = one.dissipated_energy, stuck + one.sticking
    assert energy > 0.0 and 0 < stuck < 400


def test_each_number_acts() -> None:
    motion = np.random.default_rng(3).normal(size=(50, 3)) * (0.2, 0.2, 5.0)
    base = element().simulate(motion)
    for change in ({"radius": 0.06}, {"period": 2e-3}, {"stiffness": (9e3, 30.0)}, {"stiffness": (8e3, 40.0)},
                   {"damping": (5.0, 0.01)}, {"damping": (4.0, 0.02)}):  # fmt: skip
        assert np.abs(element(**change).simulate(motion) - base).max() > 1e-4
    assert (
        np.abs(element(law=StribeckLaw(2.0, static_force=3.0, stribeck_velocity=0.1)).simulate(motion) - base).max()
        > 0.1
    )


def test_a_restored_element_goes_on_as_before() -> None:
    motion, one = np.random.default_rng(4).normal(size=(40, 3)) * (0.02, 0.02, 0.5), element("b")
    one.simulate(motion[:20])
    saved = one.state
    first = one.simulate(motion[20:])
    one.restore(saved)
    np.testing.assert_array_equal(one.simulate(motion[20:]), first)
    one.reset(displacement=(1e-5, 0.0, 2e-3))
    np.testing.assert_allclose(one.displacement, (1e-5, 0.0, 2e-3))


@pytest.mark.parametrize(("pressure", "exponent"), [("uniform", 0.0), ("hertz", 0.5)])
def test_the_radius_of_a_patch_is_its_torque_over_its_force(pressure: str, exponent: float) -> None:
    rho = (np.arange(100_000) + 0.5) / 100_000
    weight = (1.0 - rho**2) ** exponent * rho
    assert patch_radius(pressure, 0.2) == pytest.approx(0.2 * (weight * rho).sum() / weight.sum(), rel=1e-4)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"model": "e"}, "model: expected one of a, b, c, d, got 'e'"),
        ({"translations": 3}, "translations: expected 0, 1 or 2, got 3"),
        ({"radius": 0.0}, "radius: "),
        ({"mass": (1.0, 1.0)}, "mass: expected none for model C"),
        ({"stiffness": (1.0, 2.0, 3.0)}, "stiffness: expected two numbers or a matrix (3, 3), got shape (3,)"),
        ({"stiffness": (1.0, -2.0)}, "stiffness: "),
        ({"damping": np.diag([1.0, 1.0, -1.0])}, "damping: "),
    ],
)
def test_wrong_values_are_refused(values: dict[str, Any], message: str) -> None:
    given = {"model": "c", "radius": RADIUS, "period": T, **COEFFICIENTS["c"]} | values
    with pytest.raises(ValueError) as refused:
        TorsionalElement(given.pop("model"), CoulombLaw(FORCE), **given)
    assert str(refused.value).startswith(message)


def test_missing_coefficients_and_wrong_inputs_are_refused() -> None:
    with pytest.raises(ValueError, match="stiffness: expected one for model C"):
        TorsionalElement("c", CoulombLaw(FORCE), radius=RADIUS, period=T, damping=(0.0, 0.0))
    with pytest.raises(ValueError, match=r"velocity: expected shape \(3,\), got \(2,\)"):
        element().step([0.0, 0.0])
    with pytest.raises(ValueError, match="pressure: expected one of uniform, hertz, rim, got 'flat'"):
        patch_radius("flat", 1.0)
