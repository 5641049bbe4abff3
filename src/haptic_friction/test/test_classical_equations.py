"""The classical models in space against their equations in readable form."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from classical_cases import ADMITTANCES, ALL, ANISOTROPIC, EPS, SOFT, THRESHOLD, F, M, Motion, T, inputs_of

from haptic_friction.classical.thresholds import ExplicitCoulombModel, KarnoppModel, RegularizedCoulombModel


def unit(x: np.ndarray) -> np.ndarray:
    return x / (np.linalg.norm(x) or 1.0)


def phi(x: np.ndarray, D: float = 3.0) -> np.ndarray:
    return (F + D * np.linalg.norm(x)) * unit(x)


def read_karnopp(v: np.ndarray, h: np.ndarray, zero: bool, D: float) -> np.ndarray:
    if np.linalg.norm(v) > THRESHOLD["velocity_threshold"]:
        f = phi(v, D)
    elif np.linalg.norm(h) > F:
        f = F * unit(h)
    else:
        f = h
        v = np.zeros(3) if zero else v
    return v + T / M * (h - f)


def read_quinn(v: np.ndarray, h: np.ndarray) -> np.ndarray:
    eps = THRESHOLD["velocity_threshold"]
    q = v + eps * (unit(h) if np.linalg.norm(h) > F else h / F)
    return v + T / M * (h - (F * unit(q) if np.linalg.norm(q) > eps else F * q / eps))


def read_regularized(u: np.ndarray) -> np.ndarray:
    eps, speed = THRESHOLD["velocity_threshold"], np.linalg.norm(u)
    return phi(u) if speed > eps else speed / eps * phi(eps * unit(u))


def read_bristle(
    u: np.ndarray, z: np.ndarray, g: float, *, s1: float = 0.0, s2: float = 0.0, c: float = -1.0, explicit: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    s0, speed, bend = SOFT["bristle_stiffness"], np.linalg.norm(u), np.linalg.norm(z)
    alpha = 1.0
    if c >= 0.0:
        zmax, zba = g / s0, c * g / s0
        blend = math.sin(math.pi * (bend - (zmax + zba) / 2) / (zmax - zba))
        alpha = 0.0 if bend <= zba or u @ z <= 0.0 else 1.0 if bend >= zmax else (1.0 + blend) / 2
    rate = alpha * s0 * speed / g
    new = z + T * (u - rate * z) if explicit else (z + T * u) / (1.0 + T * rate)
    return s0 * new + s1 * (new - z) / T + s2 * u, new


def read_spring(u: np.ndarray, z: np.ndarray, *, a: float, s1: float, p: float) -> tuple[np.ndarray, np.ndarray]:
    s0 = SOFT["bristle_stiffness"]
    limit, z = F / s0, z + T * u
    if np.linalg.norm(z) >= limit * (1 - 1e-14):  # at rest z stays on the limit
        return F * unit(z), limit * unit(z)
    if p > 0.0:
        z = z - np.linalg.norm(T * u) * (np.linalg.norm(z) / limit) ** p * z / limit
    return s0 * (1.0 + a) * z + s1 * u, z


def falling(u: np.ndarray) -> float:
    return F + 0.5 * F * math.exp(-((np.linalg.norm(u) / 1e-3) ** 2))


READABLE: dict[str, Callable[..., Any]] = {
    "karnopp": lambda v, h: read_karnopp(v, h, False, 3.0),
    "karnopp_zero": lambda v, h: read_karnopp(v, h, True, 0.0),
    "quinn": read_quinn,
    "regularized": read_regularized,
    "explicit_coulomb": phi,
    "dahl": lambda u, z: read_bristle(u, z, F),
    "dahl_explicit": lambda u, z: read_bristle(u, z, F, explicit=True),
    "lugre": lambda u, z: read_bristle(u, z, falling(u), s1=20.0, s2=3.0),
    "lugre_explicit": lambda u, z: read_bristle(u, z, falling(u), s1=20.0, explicit=True),
    "elastoplastic": lambda u, z: read_bristle(u, z, F + 3.0 * float(np.linalg.norm(u)), s1=20.0, s2=3.0, c=0.7),
    "reset_integrator": lambda u, z: read_spring(u, z, a=0.3, s1=20.0, p=0.0),
    "hayward_armstrong": lambda u, z: read_spring(u, z, a=0.0, s1=0.0, p=0.0),
    "hayward_armstrong_creep": lambda u, z: read_spring(u, z, a=0.0, s1=0.0, p=2.0),
}


@pytest.mark.parametrize("name", ALL)
def test_a_motion_in_space_agrees_with_the_readable_form(name: str, motion: Motion) -> None:
    inputs = inputs_of(name, motion, 600, 3)
    found = ALL[name](dimension=3).simulate(inputs)
    state, expected = np.zeros(3), []
    for value in inputs:
        if name in ADMITTANCES:
            state = READABLE[name](state, value)
            expected.append(state)
        elif name in ("regularized", "explicit_coulomb"):
            expected.append(READABLE[name](value))
        else:
            output, state = READABLE[name](value, state)
            expected.append(output)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1000 * EPS * np.abs(expected).max())


def test_karnopp_in_an_anisotropic_static_set() -> None:
    S = np.array([[6.0, 1.0, 0.0], [1.0, 4.0, 0.5], [0.0, 0.5, 3.0]])
    h = np.array([1.0, 2.0, -1.5])
    load = float(np.linalg.norm(np.linalg.solve(S, h)))
    model = KarnoppModel(ANISOTROPIC, mass=M, dimension=3, **THRESHOLD)
    for factor, inside in ((0.99 / load, True), (1.01 / load, False)):
        model.reset()
        model.step(factor * h)
        assert model.sticking is inside
        # h itself, or the end of the ellipsoid |S^-1 f| <= 1 in its direction
        np.testing.assert_allclose(model.friction_force, h * (factor if inside else 1.0 / load), rtol=10 * EPS)
    model.reset(velocity=[0.0, 0.2, 0.0])
    model.step(h)
    np.testing.assert_allclose(model.friction_force, S[:, 1], rtol=10 * EPS)
    assert not model.sticking


def test_regularised_and_explicit_friction_of_an_anisotropic_law() -> None:
    S = np.array([[6.0, 1.0, 0.0], [1.0, 4.0, 0.5], [0.0, 0.5, 3.0]])
    regularized = RegularizedCoulombModel(ANISOTROPIC, dimension=3, **THRESHOLD)
    explicit = ExplicitCoulombModel(ANISOTROPIC, period=T, dimension=3)
    for u in np.array([[0.02, -0.01, 0.03], [0.2, -0.1, 0.3]]):
        full = S @ unit(u)
        np.testing.assert_allclose(explicit.step(u), full, rtol=10 * EPS)
        share = min(1.0, float(np.linalg.norm(u)) / THRESHOLD["velocity_threshold"])
        np.testing.assert_allclose(regularized.step(u), share * full, rtol=10 * EPS)
    np.testing.assert_array_equal(regularized.step(np.zeros(3)), np.zeros(3))
    np.testing.assert_array_equal(explicit.step(np.zeros(3)), np.zeros(3))
    assert explicit.sticking and regularized.sticking
