"""Energy of the four models: what goes in is stored, dissipated, or lost to implicit Euler, to the last term."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from haptic_friction import CoulombLaw, FrictionLaw, ModelA, ModelB, ModelC, ModelD, StribeckLaw, ViscousCoulombLaw

EPS = np.finfo(float).eps
Motion = Callable[..., np.ndarray]

properties = settings(max_examples=60)
LAWS: list[FrictionLaw] = [
    CoulombLaw(4.0),
    ViscousCoulombLaw(4.0, viscosity=5.0),
    StribeckLaw(3.0, static_force=3.5, stribeck_velocity=0.2, viscosity=1.0),  # falls by 1.1 N s/m, B = 0 bears 6
]
#: the balances are sums of up to 2000 terms, each exact to a few eps of the largest
RELATIVE = 1e-11

masses, periods = st.floats(1e-3, 1e3), st.floats(1e-6, 10.0)


@properties
@given(masses, periods, st.integers(1, 3), st.integers(0, 999))
def test_model_a_never_gains_by_friction_whatever_the_period(M: float, T: float, dimension: int, seed: int) -> None:
    """|v| <= |v*|, and M |v|^2/2 = M |v*|^2/2 - T f.v - T^2 |f|^2/(2 M) exactly."""
    random = np.random.default_rng(seed)
    for law in LAWS[:2]:
        model = ModelA(law, mass=M, period=T, dimension=dimension)
        scale = law.breakaway_force * model.Z
        for size in (0.1, 0.9, 1.1, 3.0, 100.0):
            v, h = random.normal(scale=size * scale, size=dimension), random.normal(scale=size * 4.0, size=dimension)
            model.reset(velocity=v)
            after, f = model.step(h), model.friction_force
            v_star = v + T * h / M
            assert np.linalg.norm(after) <= np.linalg.norm(v_star) * (1 + 4 * EPS)
            assert f @ after >= 0.0
            lost = T * f @ after + T * T * f @ f / (2.0 * M)
            before = 0.5 * M * v_star @ v_star
            # v* is rounded, by eps of v and of T h/M
            rounding = 16 * EPS * M * (float(np.linalg.norm(v)) + T * float(np.linalg.norm(h)) / M) ** 2
            assert abs(0.5 * M * after @ after - (before - lost)) <= rounding


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("T", [1e-3, 0.05])
def test_the_balance_of_model_a(law: FrictionLaw, T: float, motion: Motion) -> None:
    """T h.v = change of M v^2/2 + T f.v + M |v - v_1|^2/2, from (26) times v; the last is implicit Euler's."""
    M, v = 2.0, np.array([0.3, -0.1])
    model = ModelA(law, mass=M, period=T, dimension=2)
    model.reset(velocity=v)
    start, work, friction, numerical = 0.5 * M * v @ v, 0.0, 0.0, []
    for h in 50.0 * motion(2000, 2):
        before, v = v, model.step(h)
        work += T * h @ v
        friction += T * model.friction_force @ v
        numerical.append(0.5 * M * (v - before) @ (v - before))
    assert work == pytest.approx(0.5 * M * v @ v - start + friction + sum(numerical), rel=RELATIVE)
    assert model.dissipated_energy == pytest.approx(friction, rel=2000 * EPS)
    assert min(numerical) >= 0.0 and sum(numerical) > 0.0 and friction > 0.0


@pytest.mark.covering
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    ("M", "K", "B"), [(0.5, 6000.0, 60.0), (0.5, 6000.0, 0.0), (0.01, 1e6, 0.0), (0.0, 6000.0, 10.0)]
)
def test_the_balance_of_model_b(law: FrictionLaw, M: float, K: float, B: float, motion: Motion) -> None:
    """T h.u = change of M v^2/2 + K e^2/2, + T f.v + B |e'|^2 T + M |v - v_1|^2/2 + K |e - e_1|^2/2.

    From h = K e + B e' and M (v - v_1)/T = h - f times e - e_1 and T v, with u = v + e'. The last two terms
    are implicit Euler's; with B = 0 they are all that calms the spring. At M = 0 it is model C's balance.
    """
    T = 1e-3
    model = ModelB(law, mass=M, stiffness=K, damping=B, period=T, dimension=2)
    u, e, e_1 = np.array([0.05, 0.02]), np.array([1e-5, -2e-5]), np.array([2e-5, -1e-5])
    model.reset(velocity=u, displacement=e, previous_displacement=e_1)
    v = u - (e - e_1) / T
    start = 0.5 * M * v @ v + 0.5 * K * e @ e
    work, friction, damper, numerical = 0.0, 0.0, 0.0, []
    for u in motion(2000, 2):
        v_1, e_1 = v, e
        h = model.step(u)
        v, e = model.sliding_velocity, model.displacement
        work += T * h @ u
        friction += T * model.friction_force @ v
        damper += B / T * (e - e_1) @ (e - e_1)
        numerical.append(0.5 * M * (v - v_1) @ (v - v_1) + 0.5 * K * (e - e_1) @ (e - e_1))
    stored = 0.5 * M * v @ v + 0.5 * K * e @ e - start
    assert work == pytest.approx(stored + friction + damper + sum(numerical), rel=1e-9 if K > 1e5 else RELATIVE)
    assert model.dissipated_energy == pytest.approx(friction, rel=2000 * EPS)
    assert min(numerical) >= 0.0 and friction > 0.0
    # what is left of the work after store, friction and damper is never less than nothing: the element is passive
    assert work - stored - friction - damper > 0.0


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("B", [10.0, 0.0])
def test_the_balance_of_model_c(law: FrictionLaw, B: float, motion: Motion) -> None:
    """T f.u = change of K e^2/2 + T f.v + B |e'|^2 T + K |e - e_1|^2/2, from f = K e + B e', u = v + e'."""
    K, T, e = 6000.0, 1e-3, np.array([1e-4, -2e-4])
    model = ModelC(law, stiffness=K, damping=B, period=T, dimension=2)
    model.reset(displacement=e)
    start, work, friction, lost = 0.5 * K * e @ e, 0.0, 0.0, 0.0
    for u in motion(2000, 2):
        e_1 = e
        f = model.step(u)
        e = model.displacement
        work += T * f @ u
        taken = T * f @ model.sliding_velocity
        assert taken >= 0.0 and (taken == 0.0) == model.sticking
        friction += taken
        lost += (B / T + 0.5 * K) * (e - e_1) @ (e - e_1)
    assert work == pytest.approx(0.5 * K * e @ e - start + friction + lost, rel=RELATIVE)
    assert model.dissipated_energy == pytest.approx(friction, rel=2000 * EPS)
    assert friction > 0.0 and lost > 0.0


@pytest.mark.covering
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("K", "B"), [(6000.0, 60.0), (6000.0, 0.0), (1e7, 0.0)])
def test_the_balance_of_model_d(law: FrictionLaw, K: float, B: float, motion: Motion) -> None:
    """T h.u = change of M u^2/2 + K e^2/2, + T f.v + B |e'|^2 T + M |u - u_1|^2/2 + K |e - e_1|^2/2, by (41), (40)."""
    M, T, u, e = 0.5, 1e-3, np.array([0.2, -0.1]), np.array([1e-5, 2e-5])
    model = ModelD(law, mass=M, stiffness=K, damping=B, period=T, dimension=2)
    model.reset(velocity=u, displacement=e)
    start, work, friction, damper, numerical = 0.5 * M * u @ u + 0.5 * K * e @ e, 0.0, 0.0, 0.0, []
    for h in 50.0 * motion(2000, 2):
        u_1, e_1 = u, e
        u, e = model.step(h), model.displacement
        work += T * h @ u
        friction += T * model.friction_force @ model.sliding_velocity
        damper += B / T * (e - e_1) @ (e - e_1)
        numerical.append(0.5 * M * (u - u_1) @ (u - u_1) + 0.5 * K * (e - e_1) @ (e - e_1))
    stored = 0.5 * M * u @ u + 0.5 * K * e @ e - start
    assert work == pytest.approx(stored + friction + damper + sum(numerical), rel=RELATIVE)
    assert model.dissipated_energy == pytest.approx(friction, rel=2000 * EPS)
    assert min(numerical) >= 0.0 and friction > 0.0
    assert work - stored - friction - damper > 0.0


@properties
@given(
    masses, st.floats(1.0, 1e9), st.one_of(st.just(0.0), st.floats(1e-2, 1e4)), st.floats(1e-6, 1.0), st.integers(1, 3)
)
def test_model_d_never_grows_beyond_what_the_input_brings(
    M: float, K: float, B: float, T: float, dimension: int
) -> None:
    """sqrt(M u^2 + K e^2) rises by T |h|/sqrt(M) a step at most, so (45) is stable for any constants."""
    random = np.random.default_rng(0)
    model = ModelD(LAWS[1], mass=M, stiffness=K, damping=B, period=T, dimension=dimension)
    before = 0.0
    for h in random.normal(scale=10.0, size=(50, dimension)):
        u, e = model.step(h), model.displacement
        now = float(np.sqrt(M * u @ u + K * e @ e))
        assert now <= (before + T * float(np.linalg.norm(h)) / np.sqrt(M)) * (1 + 1e-12) + 64 * EPS * 4.0 / np.sqrt(K)
        before = now


def test_the_energy_is_the_same_by_steps_and_by_simulation_and_starts_anew(motion: Motion) -> None:
    stepped, simulated = (ModelC(LAWS[1], stiffness=6000.0, damping=10.0, period=1e-3, dimension=2) for _ in range(2))
    velocities = motion(1000, 2)
    for u in velocities:
        stepped.step(u)
    simulated.simulate(velocities[:300])
    part = simulated.dissipated_energy
    simulated.simulate(velocities[300:])
    assert 0.0 < part < simulated.dissipated_energy
    assert simulated.dissipated_energy == pytest.approx(stepped.dissipated_energy, rel=1000 * EPS)  # in another order
    simulated.dissipated_energy = 2.5
    assert simulated.dissipated_energy == 2.5
    simulated.reset()
    assert simulated.dissipated_energy == 0.0
