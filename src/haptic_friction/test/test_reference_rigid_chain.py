"""The rigid limit of two bodies in a row, against an independent computation and closed forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from haptic_friction.reference.rigid_chain import momentum_residual, rigid_chain, rising_periods

TRUTH = np.load(Path(__file__).parent / "data/fig11_rigid_truth.npz")


def test_the_rigid_limit_is_that_of_an_independent_computation() -> None:
    """At 0.2 ms; the truth has 0.05 ms. Both err by a few steps of a body's velocity, up to 0.5 m/s."""
    period = 2e-4
    u = 0.5 * np.sin(5.0 * period * np.arange(1, 50001))
    position, force, _ = rigid_chain(u, period=period, mass=(1.0, 1.0), stiffness=(100.0, 200.0), force=(5.0, 2.5))
    for place in (0, 1):
        expected = TRUTH[f"x{place + 1}"]
        np.testing.assert_allclose(position[4::5, place], expected, rtol=0, atol=4 * period * 0.5)
        difference = force[4::5, place] - TRUTH[f"f{place + 1}"]
        assert np.mean(np.abs(difference) > 0.1) < 0.01  # but where it jumps a step earlier or later


def test_a_rigid_body_on_a_belt_sticks_until_its_spring_pulls_with_the_friction_force() -> None:
    """Then it swings around F/K with the belt's velocity as its largest: x = F/K + u/w sin w t."""
    u, F, K, T = 0.1, 2.0, 50.0, 1e-4
    position, force, sticking = rigid_chain(
        np.full(20000, u), period=T, mass=(1.0, 1.0), stiffness=(K, 0.0), force=(F, 0.0)
    )
    omega = K**0.5
    caught = np.arcsin(u * omega / F) / omega  # from rest, M x'' = F - K x, to the belt's velocity
    start = F / K * (1.0 - np.cos(omega * caught))
    release = caught + (F / K - start) / u
    t = T * np.arange(1, 20001)
    expected = np.select(
        [t < caught, t < release],
        [F / K * (1.0 - np.cos(omega * t)), start + u * (t - caught)],
        F / K + u / omega * np.sin(omega * (t - release)),
    )
    turn = t < release + 2.0 * np.pi / omega
    np.testing.assert_allclose(position[turn, 0], expected[turn], rtol=0, atol=10 * T * u)
    assert sticking[(t > caught + 2 * T) & (t < release - 2 * T), 0].all()
    assert not sticking[(t > release + 2 * T) & turn, 0][:-20].any()
    assert np.abs(force[:, 0]).max() <= F * (1 + 1e-12) and not force[:, 1].any()


def test_two_bodies_that_stick_move_with_the_base() -> None:
    u = 0.01 * np.sin(np.arange(300) * 0.02)
    position, force, sticking = rigid_chain(u, period=1e-3, mass=(1.0, 2.0), stiffness=(1.0, 1.0), force=(9.0, 8.0))
    assert sticking.all()
    np.testing.assert_allclose(position, 1e-3 * np.cumsum(u)[:, None] * [1.0, 1.0], rtol=0, atol=1e-12)
    acceleration = np.diff(np.concatenate(([0.0], u))) / 1e-3
    np.testing.assert_allclose(force[:, 1], 2.0 * acceleration + position[:, 1], rtol=0, atol=1e-8)
    np.testing.assert_allclose(force[:, 0] - force[:, 1], acceleration + position[:, 0], rtol=0, atol=1e-8)


def test_momentum_residual_is_the_error_over_the_largest_force() -> None:
    """Forces of 3 - 1 - 10 x 0.1 = 1 N on body 1 and of 1 - 20 x 0.2 = -3 N on body 2."""
    position, force = np.array([[0.1, 0.2], [9.0, 9.0]]), np.array([[3.0, 1.0], [9.0, 9.0]])  # the last is not used
    chain = {"mass": np.array([2.0, 4.0]), "spring": np.array([10.0, 20.0]), "period": 0.5}
    velocity = np.array([[1.0, 1.0], [1.0 + 0.5 * 1.0 / 2.0, 1.0 - 0.5 * 3.0 / 4.0]])
    assert momentum_residual(velocity, position, force, **chain) == pytest.approx(0.0, abs=1e-15)
    velocity[1, 0] += 0.3  # 2 kg x 0.3 m/s/0.5 s = 1.2 N
    assert momentum_residual(velocity, position, force, **chain) == pytest.approx(1.2 / 3.0)
    assert momentum_residual(velocity[:1], position[:1], force[:1], **chain) == 0.0


def test_rising_periods_begin_at_the_last_value_that_is_not_positive() -> None:
    assert rising_periods(np.array([-1.0, 0.0, 1.0, -1.0, 2.0, 3.0, -1.0, 0.0, 0.0, 1.0])) == [(1, 3), (3, 8)]
    sine = np.sin(2.0 * np.pi * (np.arange(35) / 10.0 - 0.05))
    assert rising_periods(sine) == [(0, 10), (10, 20), (20, 30)]
    assert rising_periods(np.array([1.0, -1.0, 1.0])) == []
