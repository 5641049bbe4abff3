"""Energy at a port: identities of held springs and dampers, what the controller adds, poses, bad numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from haptic_math.passivity import (
    LEVER,
    TOOL_WEIGHTS,
    AdmittancePort,
    ImpedancePort,
    PassivityRule,
    Port,
    largest_passive_stiffness,
    tool_motion,
)

T = 1e-3


def observed(forces: np.ndarray, positions: np.ndarray, delay: int = 0, **rule: float) -> ImpedancePort:
    """Forces (n, d) given at each of the positions (n + 1, d), the last one aside."""
    port = ImpedancePort(PassivityRule(T, **rule), (1.0,) * positions.shape[1], delay)
    port.arrive((0.0,) * positions.shape[1])
    for force, moved in zip(forces.tolist(), np.diff(positions, axis=0).tolist(), strict=True):
        port.hold(force, (0.0,) * len(force))
        port.arrive(moved)
    return port


def walk(seed: int, d: int, n: int = 200) -> np.ndarray:
    return np.cumsum(np.random.default_rng(seed).standard_normal((n + 1, d)), axis=0) * 1e-3


def test_a_held_constant_force_takes_its_work_whatever_the_way() -> None:
    x, force = walk(1, 3), np.array([1.0, -2.0, 0.5])
    port = observed(np.tile(force, (200, 1)), x)
    assert port.energy == pytest.approx(-force @ (x[-1] - x[0]), abs=1e-15)  # rounding of 200 sums of 1e-3 J
    assert port.power == pytest.approx(-force @ (x[-1] - x[-2]) / T, rel=1e-9)


def test_a_sampled_spring_stores_its_energy_and_gives_half_k_dx_squared_more_each_sample() -> None:
    """-sum F_k (x_(k+1) - x_k) with F_k = -K x_k is K/2 (x_n^2 - x_0^2) - K/2 sum (x_(k+1) - x_k)^2, by algebra."""
    x, K = walk(2, 1), 300.0
    stored = 0.5 * K * ((x[-1] ** 2 - x[0] ** 2).sum() - (np.diff(x, axis=0) ** 2).sum())
    assert observed(-K * x[:-1], x).energy == pytest.approx(stored, rel=1e-12)


def test_a_damper_of_the_mean_velocity_dissipates_b_v_squared() -> None:
    x, B = walk(3, 2), 4.0
    moved = np.diff(x, axis=0)
    assert observed(-B * moved / T, x).energy == pytest.approx(B / T * (moved**2).sum(), rel=1e-12)


def test_a_delayed_force_counts_when_it_acts() -> None:
    x = walk(4, 1)
    forces = np.random.default_rng(5).standard_normal((200, 1))
    for delay in (1, 3):
        expected = -(forces[:-delay] * np.diff(x, axis=0)[delay:]).sum()
        assert observed(forces, x, delay).energy == pytest.approx(expected, rel=1e-9)


def test_the_device_s_damper_counts_only_where_there_is_a_force() -> None:
    """A wall at 1 mm, entered and left: the periods into, in, and out of it."""
    x = np.array([0.0, 0.5, 1.5, 2.0, 0.8, 0.2])[:, None] * 1e-3
    forces = np.where(x > 1e-3, -1.0, 0.0)[:-1]
    port, plain = observed(forces, x, device_damping=2.0), observed(forces, x)
    counted = np.diff(x[:, 0])[1:4]
    assert port.energy - plain.energy == pytest.approx(2.0 / T * (counted**2).sum(), rel=1e-12)


def test_an_array_of_forces_may_be_used_again_for_the_next_ones() -> None:
    forces, moved, user = np.random.default_rng(7).standard_normal((50, 2)), walk(8, 2, 50)[1:].tolist(), np.zeros(2)
    reused, fresh = (AdmittancePort(PassivityRule(T), (1.0, 1.0)) for _ in range(2))
    held, plain = (ImpedancePort(PassivityRule(T), (1.0, 1.0), delay=1) for _ in range(2))
    for force, step in zip(forces, moved, strict=True):
        user[:] = force
        reused.arrive(step, user)
        fresh.arrive(step, force.tolist())
        held.arrive(step)
        plain.arrive(step)
        held.hold(user, (0.0, 0.0))
        plain.hold(force.tolist(), (0.0, 0.0))
    assert reused.energy == fresh.energy != 0.0
    assert held.energy == plain.energy != 0.0


def test_vectors_of_another_length_are_refused() -> None:
    """They were cut to the shortest one."""
    port, user = ImpedancePort(PassivityRule(T), TOOL_WEIGHTS), AdmittancePort(PassivityRule(T), TOOL_WEIGHTS)
    for call in (
        lambda: port.absorb((1.0,) * 3, (0.0,) * 6),
        lambda: port.arrive((0.0,) * 3),
        lambda: port.hold((0.0,) * 6, (0.0,) * 3),
        lambda: user.arrive((0.0,) * 6, (1.0,) * 3),
        lambda: user.damped_force((1.0,) * 3, (0.0,) * 6),
    ):
        with pytest.raises(ValueError, match="expected vectors of 6 numbers, as many as weights, got one of 3"):
            call()


def needed_damping(K: float, B: float, omega: float, samples: int = 2000) -> float:
    """Physical damping that makes up for what a sampled wall gives in a sinusoidal motion [N s/m].

    The port moves evenly between the samples, which of all motions through them costs a damper b least: b dx^2/T each.
    """
    x = np.sin(omega * T * np.arange(-1, samples + 1) + 0.3)[:, None]
    moved = np.diff(x, axis=0)
    return -observed(-K * x[1:-1] - B * moved[:-1] / T, x[1:]).energy / ((moved[1:] ** 2).sum() / T)


@pytest.mark.slow
@pytest.mark.parametrize("K", [500.0, 2000.0])
@pytest.mark.parametrize("B", [0.0, 0.3, -0.3, 2.0])
def test_observer_needs_the_damping_of_the_condition_for_sampled_walls(K: float, B: float) -> None:
    """At each frequency K T/2 - B cos(omega T), the condition of Colgate and Schenkel; at the worst K T/2 + |B|."""
    omegas = 2 * np.pi * np.array([1, 10, 100, 400, 700, 999]) / (2000 * T)  # whole periods in the window
    found = [needed_damping(K, B, omega) for omega in omegas]
    # products of different phases cancel over whole periods, to rounding of 2000 sums
    np.testing.assert_allclose(found, K * T / 2 - B * np.cos(omegas * T), rtol=1e-9)
    worst = max(found)
    assert worst == pytest.approx(K * T / 2 + abs(B), rel=1e-3)  # the grid ends a thousandth before its ends
    for share, passive in ((1.01, True), (0.99, False)):
        assert (largest_passive_stiffness(share * worst, T, B) > K) == passive


def test_a_damping_below_that_of_the_wall_makes_no_stiffness_passive() -> None:
    assert largest_passive_stiffness(0.2, T) == pytest.approx(400.0)
    assert largest_passive_stiffness(0.2, T, 0.3) == largest_passive_stiffness(0.2, T, -0.3) == 0.0


# ---- the controller ---------------------------------------------------------------------------------------


def controlled(weights: Sequence[float] = (1.0,), **rule: float) -> ImpedancePort:
    return ImpedancePort(
        PassivityRule(T, control=True, **{"largest_damping": 5.0, "largest_force": 9.0, **rule}), weights
    )


def test_the_damper_is_as_large_as_the_deficit_and_is_counted() -> None:
    port, v = controlled(), (0.1,)
    assert port.hold((1.0,), v) == (1.0,) and port.damping == 0.0
    port.arrive((1e-6,))  # 1 N did 1 uJ of work
    (held,) = port.hold((0.0,), v)
    assert port.damping == pytest.approx(1e-6 / (T * 0.01)) and held == pytest.approx(-port.damping * 0.1)
    port.arrive((0.1 * T,))  # at the speed that was foretold it takes the deficit, exactly
    assert port.energy == pytest.approx(0.0, abs=1e-20) and port.dissipated == pytest.approx(1e-6)
    assert port.hold((2.0,), (0.0,)) == (2.0,)


def test_at_rest_nothing_can_be_damped() -> None:
    port = controlled()
    port.hold((1.0,), (0.1,))
    port.arrive((1e-6,))
    assert port.hold((2.0,), (0.0,)) == (2.0,) and port.damping == 0.0


@pytest.mark.parametrize(
    ("rule", "speed", "damping"),
    [
        ({"largest_damping": 5.0}, 0.1, 5.0),  # the deficit of 1 mJ asks for 100 N s/m
        ({"largest_force": 0.2}, 0.1, 2.0),
        ({"largest_force": 0.2}, -0.4, 0.5),
        ({"largest_damping": 0.0}, 0.1, 0.0),
    ],
)
def test_damping_and_force_are_bounded(rule: dict[str, float], speed: float, damping: float) -> None:
    port = controlled(**rule)
    port.hold((1.0,), (speed,))
    port.arrive((1e-3,))
    (held,) = port.hold((0.0,), (speed,))
    assert port.damping == pytest.approx(damping) and held == pytest.approx(-damping * speed)


def test_a_tool_is_damped_in_translation_and_rotation_within_the_bound() -> None:
    port = controlled(TOOL_WEIGHTS, largest_force=0.3)
    v = np.array([0.1, 0.0, -0.2, 1.0, 2.0, -3.0])
    port.hold((0.0, 0.0, 0.0, 0.0, 0.0, 1.0), v.tolist())
    port.arrive((0.0, 0.0, 0.0, 0.0, 0.0, 1e-2))
    held = np.array(port.hold((0.0,) * 6, v.tolist()))
    np.testing.assert_allclose(held, -port.damping * np.array([1, 1, 1, *[LEVER**2] * 3]) * v, rtol=1e-12)
    assert np.hypot(np.linalg.norm(held[:3]), np.linalg.norm(held[3:]) / LEVER) == pytest.approx(0.3)


def test_energy_that_was_there_at_the_start_may_be_given() -> None:
    port = controlled(initial_energy=2e-6)
    port.hold((1.0,), (0.1,))
    port.arrive((2e-6,))
    assert port.hold((1.0,), (0.1,)) == (1.0,)
    port.arrive((1e-6,))
    port.hold((0.0,), (0.1,))
    assert port.damping == pytest.approx(1e-6 / (T * 0.01))


def test_an_observer_only_observes_and_a_restart_forgets() -> None:
    port = ImpedancePort(PassivityRule(T), (1.0,))
    port.hold((1.0,), (0.1,))
    port.arrive((1e-3,))
    assert port.hold((1.0,), (0.1,)) == (1.0,) and port.energy == -1e-3
    port.restart()
    port.arrive((1e-3,))
    assert port.energy == port.power == 0.0


# ---- admittance -------------------------------------------------------------------------------------------


def test_the_user_s_work_is_that_of_the_mean_force_and_a_spring_gives_it_back() -> None:
    """The hand pulls a spring of the display out and lets it back: f = K x, the trapezoid is exact."""
    x, K = np.sin(np.linspace(0.0, 2.0 * np.pi, 50)) * 1e-2, 400.0
    port = AdmittancePort(PassivityRule(T), (1.0,))
    energies = []
    for moved, place in zip(np.diff(x, prepend=x[0]).tolist(), x.tolist(), strict=True):
        port.arrive((moved,), (K * place,))
        energies.append(port.energy)
    np.testing.assert_allclose(energies, 0.5 * K * x**2, atol=1e-15)


def test_an_active_admittance_port_damps_the_force() -> None:
    port = AdmittancePort(PassivityRule(T, control=True, largest_damping=5.0, largest_force=9.0), (1.0,))
    port.arrive((0.0,), (-1.0,))
    assert port.damped_force((-1.0,), (0.1,)) == (-1.0,)
    port.arrive((1e-6,), (-1.0,))  # it pushed the hand
    with pytest.warns(DeprecationWarning, match=r"AdmittancePort\.damped_force"):
        (damped,) = port.told((-1.0,), (0.1,))
    assert port.damping == pytest.approx(0.1) and damped == pytest.approx(-1.0 - 0.01)
    with pytest.raises(AttributeError, match="'AdmittancePort' object has no attribute 'nothing'"):
        port.nothing  # noqa: B018
    port.arrive((1e-4,), (-1.0,))
    assert port.dissipated == pytest.approx(1e-6)


# ---- poses and bad numbers --------------------------------------------------------------------------------


def test_the_motion_between_two_poses_is_translation_and_rotation_vector() -> None:
    rng = np.random.default_rng(6)
    for sign in (1.0, -1.0):  # both quaternions of an orientation
        first, turn = Rotation.random(random_state=7), 1e-2 * rng.standard_normal(3)
        start = [*rng.standard_normal(3), *first.as_quat()]
        shift = rng.standard_normal(3)
        end = [*(start[:3] + shift), *(sign * (Rotation.from_rotvec(turn) * first).as_quat())]
        # 2 sin(a/2) instead of the angle a, which is 0.03 rad: a^3/24
        np.testing.assert_allclose(tool_motion(start, end), [*shift, *turn], rtol=0, atol=2e-6)
    assert tool_motion(start, start)[3:] == pytest.approx((0.0,) * 3, abs=1e-16)


def test_energy_stays_finite_with_any_device_state() -> None:
    port = Port(PassivityRule(T), (1.0, 1.0))
    port.absorb((1.0, 1.0), (-1e-3, 0.0))
    for bad in (np.nan, np.inf):
        port.absorb((bad, 1.0), (1e-3, 0.0))
        port.absorb((1.0, 1.0), (0.0, bad))
    assert port.energy == 1e-3


@pytest.mark.parametrize("name", ["initial_energy", "device_damping", "largest_damping", "largest_force"])
@pytest.mark.parametrize("value", [-1.0, np.inf, np.nan])
def test_numbers_out_of_their_range_are_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"^{name}: expected 0 or more"):
        PassivityRule(T, **{name: value})


@pytest.mark.parametrize("period", [0.0, -T, np.nan])
def test_a_period_that_is_none_is_refused(period: float) -> None:
    with pytest.raises(ValueError, match=r"^period: expected above 0"):
        PassivityRule(period)


def test_anticipation_keeps_the_energy_at_zero_while_the_velocity_stays() -> None:
    """A spring pushed out at a constant velocity from a deflection that cost nothing gives K x v T in each period."""
    K, v, lowest = 300.0, -0.1, {}
    for anticipate in (False, True):
        rule = PassivityRule(T, control=True, largest_damping=1e3, largest_force=1e3, anticipate=anticipate)
        port, energies, x = ImpedancePort(rule, (1.0,)), [], 0.01
        for _ in range(50):
            port.hold((-K * x,), (v,))
            port.arrive((v * T,))
            energies.append(port.energy)
            x += v * T
        lowest[anticipate] = min(energies)
    assert lowest[False] == pytest.approx(K * 0.01 * v * T)  # the work of the first period
    assert lowest[True] > -1e-15
