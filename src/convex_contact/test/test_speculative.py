"""Leaving out contacts that do nothing changes nothing: against the paper's rule, with a plain dense solver."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from convex_contact import Material, World, WorldDynamics
from convex_contact.simulation.dynamics import OWN_SPEED, body_speeds

SURFACE = Material(stiffness=2e6, dissipation=5.0, relaxation_time=1e-4, friction=0.8)


def shower(seed: int, speed: float) -> World:
    """Spheres and boxes that fall onto the ground and onto each other."""
    rng = np.random.default_rng(seed)
    w = World()
    w.add_half_space("ground", material=SURFACE)
    for i in range(8):
        options: dict[str, Any] = {
            "mass": 0.5,
            "position": [0.12 * (i % 2), 0.12 * (i // 2 % 2), 0.06 + 0.13 * (i // 4)] + rng.normal(size=3) * 5e-3,
            "orientation": rng.normal(size=4) * [0.02, 0.02, 0.02, 1] + [0, 0, 0, 1],
            "velocity": speed * rng.normal(size=3) + [0, 0, -speed],
            "angular_velocity": 5 * speed * rng.normal(size=3),
            "material": SURFACE,
        }
        if i % 2:
            w.add_sphere(f"b{i}", radius=0.05, **options)
        else:
            w.add_box(f"b{i}", size=(0.1, 0.1, 0.1), **options)
    return w


def solved(d: WorldDynamics, helpers: Any) -> tuple[np.ndarray, int]:
    """The solution of a step, and how often the contacts had to be collected."""
    d.prepare()
    d.collect()
    rounds = 1
    velocity = helpers.lagged_solution(d)
    while not d.covers(velocity):
        d.collect(again=True)
        velocity = helpers.lagged_solution(d)
        rounds += 1
    return velocity, rounds


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "speed"), [(0, 0.1), (1, 1.0), (2, 3.0)])
def test_solutions_are_those_of_all_pairs_below_the_threshold(helpers: Any, seed: int, speed: float) -> None:
    w = shower(seed, speed)
    full = WorldDynamics(w, period=2e-3, speculative=False)
    lean = WorldDynamics(w, period=2e-3)
    saved = 0
    for _ in range(6):
        lean.arrays.q[:], lean.arrays.v[:] = full.arrays.q, full.arrays.v
        expected, _ = solved(full, helpers)
        velocity, _ = solved(lean, helpers)
        np.testing.assert_allclose(velocity, expected, atol=1e-10 * max(1.0, speed))
        saved += int(full.contacts.count[0] - lean.contacts.count[0])
        full.advance(expected)
        lean.advance(velocity)
    assert saved > 0


def bullet() -> World:
    """A fast, heavy ball close behind a light one at rest, which it throws at a third."""
    w = World(gravity=(0, 0, 0))
    radius = 0.05
    for name, x, mass, speed in (("bullet", 0.0, 10.0, 20.0), ("light", 0.101, 0.01, 0.0), ("third", 0.22, 1.0, 0.0)):
        w.add_sphere(name, mass=mass, radius=radius, position=(x, 0, 0), velocity=(speed, 0, 0), material=SURFACE)
    return w


def test_a_margin_that_was_too_small_is_noticed_and_grows(helpers: Any) -> None:
    w = bullet()
    lean, full = WorldDynamics(w, period=1e-3), WorldDynamics(w, period=1e-3, speculative=False)
    lean.arrays.body_margin[:] = 1e-4
    lean.prepare()
    lean.contacts, lean.previous = lean.previous, lean.contacts
    lean.collect(again=True)  # with these margins
    assert lean.contacts.count[0] == 0
    velocity, rounds = lean.arrays.v_star.copy(), 0
    while not lean.covers(velocity):
        lean.collect(again=True)
        velocity = helpers.lagged_solution(lean)
        rounds += 1
    assert rounds >= 1
    expected, _ = solved(full, helpers)
    np.testing.assert_allclose(velocity, expected, atol=1e-9)
    assert lean.contacts.count[0] > 0


def test_every_contact_left_out_has_no_force_at_the_solution(helpers: Any) -> None:
    """For all approximations: phi0 + h (v_n - mu |v_t|) > 0 of what only the full rule has."""
    for approximation in ("lagged", "similar", "sap"):
        w = shower(3, 1.0)
        full, lean = WorldDynamics(w, period=2e-3, speculative=False), WorldDynamics(w, period=2e-3)
        velocity, _ = solved(full, helpers)
        lean.prepare()
        lean.collect(approximation)
        while not lean.covers(velocity, approximation):
            lean.collect(approximation, again=True)
        kept = {
            (*lean.contacts.geometry[k].tolist(), int(lean.contacts.feature[k]), *lean.contacts.point[k].round(9))
            for k in range(lean.contacts.count[0])
        }
        p, c = full.dense(), full.contacts
        v_c = (p["J"] @ velocity).reshape(-1, 3) + p["bias"]
        left = 0
        for k in range(c.count[0]):
            if (*c.geometry[k].tolist(), int(c.feature[k]), *c.point[k].round(9)) in kept:
                continue
            left += 1
            h = 2e-3 + (c.relaxation_time[k] if approximation == "sap" else 0.0)
            slip = 0.0 if approximation == "lagged" else c.friction[k] * np.linalg.norm(v_c[k, :2])
            assert c.phi0[k] > 0 and c.phi0[k] + h * (v_c[k, 2] - slip) > 0
        assert left > 0


def test_steeper_friction_and_longer_relaxation_look_farther() -> None:
    d = WorldDynamics(shower(0, 1.0), period=2e-3)
    assert d.contact_horizon("lagged") == d.contact_horizon("lagged_elastoplastic") == 2e-3
    assert (
        d.contact_horizon("similar")
        == d.contact_horizon("similar_regularized")
        == pytest.approx(2e-3 * np.sqrt(1 + 0.8**2))
    )
    assert d.contact_horizon("sap") == pytest.approx((2e-3 + 2e-4) * np.sqrt(1 + 0.8**2))


def test_speeds_bound_those_of_all_points() -> None:
    d = WorldDynamics(shower(1, 1.0), period=2e-3, speculative=False)
    d.prepare()
    c = d.collect()
    rng = np.random.default_rng(0)
    for _ in range(5):
        v = rng.normal(size=d.nv)
        bounds = np.zeros(len(d.arrays.body_tree))
        body_speeds(d.arrays.record, v, bounds)
        v_c = np.linalg.norm((d.dense()["J"] @ v).reshape(-1, 3), axis=1)
        assert (v_c <= bounds[c.body[: c.count[0]]].sum(axis=1)).all()


def test_a_body_is_covered_as_far_as_its_margin_reaches() -> None:
    d = WorldDynamics(bullet(), period=1e-3)
    d.prepare()
    d.collect()
    d.arrays.body_margin[:] = 1e-3 * np.array([20.0, 0.0, 0.0]) * 1.001
    assert d.covers(d.arrays.v)
    d.arrays.body_margin[0] *= 0.998
    assert not d.covers(d.arrays.v)
    np.testing.assert_allclose(d.arrays.body_margin[0], OWN_SPEED * 1e-3 * 20.0)  # grown
    assert d.covers(d.arrays.v)


def test_a_turning_half_space_is_looked_at_as_a_whole() -> None:
    w = World()
    w.add_half_space("drum", motion=lambda t: (0, 0, 0, 0, 0, 1.0))
    w.add_sphere("ball", mass=1.0, radius=0.05, position=(0, 0, 0.14))
    d = WorldDynamics(w, period=1e-3)
    d.prepare()
    assert d.collect().count[0] == 1
    assert d.covers(d.arrays.v_star)
