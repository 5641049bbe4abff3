"""Derivatives of one contact: gap, point and normal, impulse, combined materials."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from convex_contact import (
    HertzLaw,
    LinearLaw,
    Material,
    NormalLaw,
)
from convex_contact.differentiation import step_derivatives
from convex_contact.differentiation.body_derivatives import rotation_step
from convex_contact.differentiation.geometry_derivatives import _distance_hessian, contact_derivatives
from convex_contact.differentiation.rollouts import SURFACE, combination_derivative
from convex_contact.model.shapes import BOX, CAPSULE, CYLINDER
from convex_contact.problem.approximations import APPROXIMATIONS, ContactParameters
from convex_contact.problem.contact_kernels import ContactLaw, Regularisation

# --- geometry -----------------------------------------------------------------------------------------------------

#: errors of normals (and points, per 0.1 m) against differences of the query; Coal's normals of cylinders jump
GEOMETRY = {
    ("sphere", "sphere"): 1e-6, ("sphere", "box"): 1e-5, ("sphere", "cylinder"): 1e-5, ("sphere", "capsule"): 1e-5,
    ("half_space", "sphere"): 1e-8, ("half_space", "box"): 1e-8, ("half_space", "cylinder"): 1e-8,
    ("half_space", "capsule"): 1e-8, ("half_space", "hull"): 1e-8, ("box", "box"): 1e-6, ("hull", "hull"): 1e-5,
    ("box", "hull"): 1e-6, ("sphere", "hull"): 1e-4, ("capsule", "capsule"): 1e-2, ("box", "capsule"): 2e-2,
}  # fmt: skip


MIRRORED = [pytest.param((b, a), marks=pytest.mark.slow, id=f"{b}-{a}") for a, b in GEOMETRY if a != b]


@pytest.mark.slow
@pytest.mark.parametrize("names", [*(pytest.param(names, id="-".join(names)) for names in GEOMETRY), *MIRRORED])
def test_gap_point_and_normal(helpers: Any, names: tuple[str, str]) -> None:
    """Closed forms and differences of the query, by moving the bodies; the gap is that of the relative velocity."""
    random = np.random.default_rng(3)
    tolerance = GEOMETRY.get(names, GEOMETRY.get((names[1], names[0]), 0.0))
    shapes = [helpers.shape_of(name) for name in names]
    compared, h = 0, 1e-5
    for _ in range(4):
        turns = [Rotation.random(random_state=random) for _ in range(2)]
        p = 0.02 * random.normal(size=3)
        way = random.normal(size=3)
        places = [p, p + random.uniform(0.06, 0.13) * way / np.linalg.norm(way)]

        def query(column: int = 0, change: float = 0.0, places: Any = places, turns: Any = turns) -> Any:
            poses = [(turns[i].as_matrix(), places[i]) for i in range(2)]
            side, axis = divmod(column, 6)
            rotation, position = poses[side]
            step = change * np.eye(3)[axis % 3]
            poses[side] = (
                (rotation, position + step)
                if axis < 3
                else ((Rotation.from_rotvec(step) * turns[side]).as_matrix(), position)
            )
            return helpers.two_bodies(shapes[0], poses[0], shapes[1], poses[1])

        dynamics = query()
        n = int(dynamics.contacts.count[0])
        D = contact_derivatives(dynamics)
        for column in range(12):
            ends = [query(column, s * h).contacts for s in (-1.0, 1.0)]
            if any(int(end.count[0]) != n for end in ends):
                continue  # a corner appears or goes
            gap, point, normal = (
                (x[:n] - y[:n]) / (2 * h)
                for x, y in ((ends[1].phi0, ends[0].phi0), (ends[1].point, ends[0].point),
                             (ends[1].frame[:, 2], ends[0].frame[:, 2]))
            )  # fmt: skip
            assert np.abs(D[:, 0, column] - gap).max(initial=0.0) < max(1e-7, 0.01 * tolerance)
            assert np.abs(D[:, 1:4, column] - point).max(initial=0.0) < max(1e-7, 0.1 * tolerance)
            assert np.abs(D[:, 4:, column] - normal).max(initial=0.0) < tolerance
            compared += n
    assert compared > 12


@pytest.mark.parametrize("kind", [BOX, CYLINDER, CAPSULE])
def test_second_derivative_of_the_distance(kind: int) -> None:
    """Against differences of the distance of a point outside, which is h^-2 times rounding and h^2 from them."""
    random, size, h = np.random.default_rng(4), np.array([0.3, 0.2, 0.5]), 1e-3

    def distance(p: np.ndarray) -> float:
        if kind == BOX:
            return float(np.linalg.norm(np.maximum(np.abs(p) - size, 0.0)))
        rho = np.hypot(p[0], p[1])
        if kind == CAPSULE:
            return float(np.hypot(rho, p[2] - np.clip(p[2], -size[1], size[1])) - size[0])
        return float(np.hypot(max(rho - size[0], 0.0), max(abs(p[2]) - size[1], 0.0)))

    H, D = np.empty((3, 3)), h * np.eye(3)
    for _ in range(20):
        p = random.choice([-1.0, 1.0], 3) * (size + random.uniform(0.5, 1.0, 3))
        p[random.integers(3)] *= random.choice([1.0, 0.1])
        _distance_hessian(kind, size, p[0], p[1], p[2], H)
        for i in range(3):
            for j in range(3):
                ends = [a * b * distance(p + a * D[i] + b * D[j]) for a in (-1, 1) for b in (-1, 1)]
                assert H[i, j] == pytest.approx(sum(ends) / (4.0 * h * h), abs=1e-4)


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("size", [1e-4, 0.7])
def test_derivatives_of_a_rotation_in_a_step(linear: bool, size: float) -> None:
    """Exact steps rotate by |r|, those of the paper's quaternions by 2 atan(|r|/2)."""

    def turned(r: np.ndarray) -> Rotation:
        length = float(np.linalg.norm(r))
        return Rotation.from_rotvec((2.0 * np.arctan(0.5 * length) if linear else length) / length * r)

    r, h = size * np.array([0.6, -0.64, 0.48]), 1e-3 * size
    turn, jacobian = np.empty((3, 3)), np.empty((3, 3))
    rotation_step(*r, linear, turn, jacobian)
    np.testing.assert_allclose(turn, turned(r).as_matrix(), atol=1e-14)
    for k, step in enumerate(h * np.eye(3)):
        change = (turned(r + step) * turned(r - step).inv()).as_rotvec()
        np.testing.assert_allclose(jacobian[:, k], change / (2.0 * h), atol=1e-6)


# --- partial derivatives of one contact ---------------------------------------------------------------------------


def test_partial_derivatives(approximation: str) -> None:
    """The compiled partial derivatives against the complex step through the readable potentials."""
    random = np.random.default_rng(8)
    chosen = APPROXIMATIONS[approximation]
    names = ("phi0", "v_n0", "delassus", "stiffness", "dissipation", "relaxation_time", "friction")
    columns = [getattr(step_derivatives, n) for n in ("PHI", "V_N0", "DELASSUS_NORM", *(s.upper() for s in SURFACE))]
    law: NormalLaw
    seen = set()
    for trial in range(200):
        law = HertzLaw() if trial % 3 == 0 and approximation != "sap" else LinearLaw()
        one = {
            "phi0": -10.0 ** random.uniform(-5, -3), "v_n0": 0.2 * random.normal(), "delassus": random.uniform(1, 4),
            "stiffness": 10.0 ** random.uniform(3, 5), "dissipation": random.uniform(0, 1),
            "relaxation_time": random.uniform(0, 1e-3), "friction": random.uniform(0.1, 1),
            "tangential_stiffness": 10.0 ** random.uniform(3, 5), "tangential_damping": random.uniform(0.1, 10),
        }  # fmt: skip
        e = 1e-5 * random.normal(size=2)
        numbers = (1e-3, 1e-3, 10.0 ** random.uniform(-3, 0), float(random.random() < 0.5) * 3.0)
        v = np.array([*(10.0 ** random.uniform(-4, 0) * random.normal(size=2)), 0.1 * random.normal()])
        p = ContactParameters(
            period=numbers[0], law=law, stiction_tolerance=numbers[1], sigma=numbers[2], near_rigid=numbers[3],
            elastic_displacement=e[None], **{k: np.array([x]) for k, x in one.items()},
        )  # fmt: skip
        gamma, out = np.zeros(3), np.zeros((3, step_derivatives.PARTIALS))
        step_derivatives.partial_derivatives(
            ContactLaw(chosen.code, law.code, law.addresses, numbers[0]),
            Regularisation(*numbers[1:]),
            one["delassus"],
            p.table[0],
            v,
            gamma,
            out,
        )
        expected = chosen.impulse(p, v[None])[0]
        assert gamma == pytest.approx(expected, rel=1e-12, abs=1e-15)
        tiny = 1e-100

        def by(changed: ContactParameters, velocity: np.ndarray) -> np.ndarray:
            return np.asarray(np.imag(chosen.impulse(changed, velocity[None])[0]) / 1e-100)

        wanted = np.zeros_like(out)
        for i in range(3):
            wanted[:, i] = by(p, v + 1j * tiny * np.eye(3)[i])
        for name, column in zip(names, columns, strict=True):
            wanted[:, column] = by(p.with_values(**{name: getattr(p, name) + 1j * tiny}), v)
        for i in range(2):
            moved = p.with_values(elastic_displacement=p.elastic_displacement + 1j * tiny * np.eye(2)[i])
            wanted[:, step_derivatives.ELASTIC + i] = by(moved, v)
        for name, column in (
            ("tangential_stiffness", step_derivatives.K_T),
            ("tangential_damping", step_derivatives.B_T),
        ):
            wanted[:, column] = by(p.with_values(**{name: getattr(p, name) + 1j * tiny}), v)
        scale = np.abs(wanted).max(axis=0) + 1e-12
        assert (np.abs(out - wanted) <= 1e-9 * scale).all(), (trial, np.abs(out - wanted) / scale)
        seen.add((bool(gamma[2] > 0), bool(np.hypot(*gamma[:2]) > 0)))
    assert (True, True) in seen


@pytest.mark.parametrize("stiffnesses", [(2e3, 5e3), (np.inf, 5e3), (2e3, np.inf)])
def test_combination(stiffnesses: tuple[float, float]) -> None:
    a = Material(stiffness=stiffnesses[0], dissipation=0.3, relaxation_time=1e-3, friction=0.4)
    b = Material(stiffness=stiffnesses[1], dissipation=0.8, relaxation_time=3e-3, friction=0.7)
    for name in SURFACE:
        h = 1e-5 * getattr(a, name)
        if not np.isfinite(h):
            assert not combination_derivative(a, b, name).any()
            continue
        laws = [dataclasses.replace(a, **{name: getattr(a, name) + s * h}).combined(b) for s in (-1.0, 1.0)]
        found = [(getattr(laws[1], k) - getattr(laws[0], k)) / (2 * h) for k in SURFACE]
        # central differences: about eight digits of numbers up to 5e3 over h = 0.02
        assert combination_derivative(a, b, name) == pytest.approx(found, rel=1e-8, abs=1e-8)
