"""Forces of other nodes on the virtual tool: their sum, and the stability limit of a tick of delay."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from admittance_constraints import (
    SPLIT_LIMIT,
    AdmittanceController,
    ExternalForces,
    PointOnParaboloid,
    ReferenceGenerator,
    contact_wrench,
    split_number,
)
from admittance_constraints.display.external import lightest_tool
from haptic_friction import CoulombLaw, ModelC

T = 1e-3
HOME = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


def contacts(**change: Any) -> Any:
    """Gives contacts: body 4 is B of the first, A of the second, and not in the third."""
    fields = {
        "body_a": [1, 4, 2],
        "body_b": [4, 3, 3],
        "position": [0.1, 0, 0, 0, 0.2, 0, 9, 9, 9],
        "normal": [0, 0, 1, 0, 1, 0, 1, 0, 0],
        "normal_impulse": [2e-3, 4e-3, 9.0],
        "tangential_impulse": [1e-3, 0, 0, 0, 0, 3e-3, 1, 1, 1],
        "period": 1e-3,
    }
    return SimpleNamespace(**{**fields, **change})


def test_the_wrench_of_a_body_s_contacts() -> None:
    force = {4: ([1, 0, 2], [0, -4, -3]), 3: ([0, 4, 3],)}
    point = np.array([0.1, 0.0, 0.0])
    moments = np.cross([0, 0, 0], force[4][0]) + np.cross([-0.1, 0.2, 0], force[4][1])
    np.testing.assert_allclose(contact_wrench(contacts(), 4, point), [1, -4, -1, *moments], atol=1e-15)
    np.testing.assert_array_equal(contact_wrench(contacts(), 7, point), np.zeros(6))
    arrays = SimpleNamespace(**{name: np.array(values) for name, values in vars(contacts()).items()})
    for name in ("position", "normal", "tangential_impulse"):
        setattr(arrays, name, getattr(arrays, name).reshape(-1, 3))
    np.testing.assert_array_equal(contact_wrench(arrays, 4, point), contact_wrench(contacts(), 4, point))
    # impulses are those of a period
    np.testing.assert_allclose(contact_wrench(contacts(period=2e-3), 4, point)[:3], [0.5, -2, -0.5], atol=1e-15)


def test_rotated_world_and_frictions_add_up_at_the_tool_point() -> None:
    turn, origin, point = Rotation.from_rotvec([0.3, -0.5, 0.2]), np.array([0.4, 0.1, -0.2]), np.array([0.2, 0.0, 0.1])
    forces = ExternalForces(4, origin, turn.as_quat())
    plain = contact_wrench(contacts(), 4, turn.inv().apply(point - origin))
    expected = np.concatenate([turn.apply(plain[:3]), turn.apply(plain[3:])])
    np.testing.assert_allclose(forces.wrench([contacts()], [], point), expected, atol=1e-14)
    rubbing = [SimpleNamespace(force=[1.0, 2.0, 3.0]), SimpleNamespace(force=[0.5, 0.0, 0.0])]
    expected[:3] -= [1.5, 2.0, 3.0]
    np.testing.assert_allclose(forces.wrench([contacts()], rubbing, point), expected, atol=1e-14)


def test_messages_that_cannot_be_used_are_refused() -> None:
    forces = ExternalForces(4)
    with pytest.raises(ValueError, match=r"friction force: expected shape \(3,\), got \(2,\)"):
        forces.wrench([], [SimpleNamespace(force=[1.0, 2.0])], np.zeros(3))
    with pytest.raises(ValueError, match="external wrench: expected finite numbers"):
        forces.wrench([contacts(normal_impulse=[np.nan, 0.0, 0.0])], [], np.zeros(3))
    with pytest.raises(ValueError, match="orientation: expected a quaternion of length 1"):
        ExternalForces(4, orientation=(0.0, 0.0, 0.0, 0.5))


# --- on the controller ------------------------------------------------------------------------------------------


def controller(**options: Any) -> AdmittanceController:
    return AdmittanceController(ReferenceGenerator(PointOnParaboloid(mass=0.5), period=T, compiled=False), **options)


def test_external_force_moves_the_tool_like_the_hands_force_without_deadband() -> None:
    force = np.array([0.3, -0.2, 0.0, 0.0, 0.0, 0.0])
    by_hand, by_others, without = controller(), controller(force_deadband=1.0), controller(force_deadband=1.0)
    for _ in range(5):
        one, other = by_hand.step(HOME, force), by_others.step(HOME, np.zeros(6), external=force)
        np.testing.assert_array_equal(one.pose, other.pose)
        np.testing.assert_array_equal(one.twist, other.twist)
        still = without.step(HOME, force)
    assert one.pose[0] > 0.0 and not still.twist.any()


def test_external_force_does_not_act_during_the_approach_and_acts_at_once_after_it() -> None:
    force, lifted = np.array([1.0, 0, 0, 0, 0, 0]), HOME + 0.01 * np.eye(7)[2]
    c = controller(approach_time=0.005)
    for _ in range(5):
        motion = c.step(lifted, force, external=force)
        assert motion.twist[0] == 0.0
    # the hand's force comes in slowly, from zero
    assert c.step(HOME, force, external=force).twist[0] == pytest.approx(T / 0.5, rel=1e-12)


def test_multiplier_of_a_surface_is_the_normal_force() -> None:
    c = controller()
    c.step(HOME, np.array([0.0, 0, -5.0, 0, 0, 0]), external=np.array([0.0, 0, -2.0, 0, 0, 0]))
    assert c.reference is not None
    assert c.reference.multipliers[0] == pytest.approx(7.0, rel=1e-12)
    assert c.reference.holonomic_residual == 0.0


# --- the limit of the split -------------------------------------------------------------------------------------


@pytest.mark.covering(40)
@pytest.mark.parametrize("seed", range(200))
def test_limit_of_the_mass_is_where_a_root_leaves_the_unit_circle(seed: int) -> None:
    """The characteristic polynomial of the module's text, its roots by NumPy, over decades of all numbers."""
    m, M, k, d = 10.0 ** np.random.default_rng(seed).uniform([-2, -2, 3, 0], [1, 1, 7, 4])
    h_m, h_M, e = k * T**2 / m, k * T**2 / M, d / (k * T)
    roots = np.roots([1 + h_M * (1 + e), h_m * (1 + e) - h_M * e - 2, 1 - h_m * e])
    assert (np.abs(roots).max() < 1.0) == (split_number(m, k, d, T, M) < SPLIT_LIMIT)


def coupled(m: float, M: float, k: float, d: float, steps: int) -> np.ndarray:
    """Stretch of the contact from step to step: the equations of the module's text, solved as they stand."""
    x, v, s, u, p = 1e-6, 0.0, 0.0, 0.0, 0.0
    rows = []
    for _ in range(steps):
        v -= T * p / m
        x += T * v
        # p = k (x - s - T u') + d (v - u'),  u' = u + T p/M
        p = (k * (x - s - T * u) + d * (v - u)) / (1 + (k * T + d) * T / M)
        u += T * p / M
        s += T * u
        rows.append(x - s)
    return np.array(rows)


@pytest.mark.parametrize(
    ("m", "M", "k", "d"), [(0.2, 0.5, 1e5, 0.0), (0.1, 0.3, 1e4, 100.0), (0.5, math.inf, 5e4, 9.0)]
)
def test_the_loop_itself_has_that_limit(m: float, M: float, k: float, d: float) -> None:
    factor = SPLIT_LIMIT / split_number(m, k, d, T, M)  # both k and d times it stand at the limit
    for share, grows in ((0.97, False), (1.03, True)):
        stretch = np.abs(coupled(m, M, share * factor * k, share * factor * d, 3000))
        assert (stretch[-10:].max() > stretch[:10].max()) == grows


@pytest.mark.parametrize(("stiffness", "damping"), [(1e5, 20.0), (2e3, 300.0)])
def test_sticking_friction_limits_the_mass_like_a_fixed_body(stiffness: float, damping: float) -> None:
    """Model C on the generator's tool, its force a tick late."""
    for share, grows in ((0.95, False), (1.05, True)):
        m = split_number(1.0, stiffness, damping, T) / (share * SPLIT_LIMIT)
        g = ReferenceGenerator(
            PointOnParaboloid(mass=m), period=T, integrator="symplectic_euler", z_velocity=[1e-6, 0.0], compiled=False
        )
        element = ModelC(CoulombLaw(1e3), stiffness=stiffness, damping=damping, period=T, dimension=3)
        force, speeds = np.zeros(6), []
        for _ in range(60):
            velocity = g.step(wrench=force).twist[:3]
            force[:3] = -element.step(velocity)
            speeds.append(abs(velocity[0]))
        assert element.sticking and (max(speeds[-10:]) > max(speeds[:10])) == grows


def test_a_tool_that_is_heavier_than_the_body_has_no_limit() -> None:
    assert split_number(0.5, 1e12, 1e9, T, 0.4) < 0.0 == split_number(0.5, 1e12, 0.0, T, 0.5)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"mass": 0.0}, "mass: expected more than 0"),
        ({"stiffness": -1.0}, "stiffness: expected"),
        ({"damping": math.nan}, "damping: expected a finite number"),
        ({"period": 0.0}, "period: expected more than 0"),
        ({"body_mass": 0.0}, "body_mass: expected a number above 0, got 0.0"),
        ({"body_mass": math.nan}, "body_mass: expected a number above 0, got nan"),
    ],
)
def test_wrong_numbers_are_refused(numbers: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        split_number(**{"mass": 1.0, "stiffness": 1e4, "damping": 0.0, "period": T, **numbers})


@pytest.mark.parametrize(("stiffness", "damping", "body"), [(5e4, 0.0, 0.15), (1e6, 30.0, math.inf)])
def test_lightest_tool_is_at_the_limit_of_the_split(stiffness: float, damping: float, body: float) -> None:
    mass = lightest_tool(stiffness, damping, T, body)
    assert split_number(mass, stiffness, damping, T, body) == pytest.approx(SPLIT_LIMIT, rel=1e-12)
