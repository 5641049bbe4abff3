"""Model C, eq. (38): what the paper says of it, its energy, its symmetry and its limits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from haptic_friction import CoulombLaw, FrictionLaw, ModelC, ViscousCoulombLaw

Motion = Callable[..., np.ndarray]

EPS = np.finfo(float).eps

#: the paper's experiment: K (N/m), B (N s/m), T (s), F (N)
PAPER: dict[str, float] = {"stiffness": 6000.0, "damping": 10.0, "period": 1e-3}
F = 4.0
LAWS = [CoulombLaw(F), ViscousCoulombLaw(F, viscosity=5.0)]


# Sticking, breaking away, sliding


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("sign", [1, -1])
def test_it_breaks_away_exactly_above_f(law: FrictionLaw, sign: int) -> None:
    # binary fractions: B + T K = 16 and F/K are exact, so the spring's force is F to the last bit
    model = ModelC(law, stiffness=8192.0, damping=8.0, period=2.0**-10)
    model.reset(displacement=[sign * F / 8192.0])
    assert model.step([0.0])[0] == sign * F
    assert model.sticking and model.sliding_velocity[0] == 0.0
    model.reset(displacement=[sign * np.nextafter(F / 8192.0, 1.0)])
    model.step([0.0])
    assert not model.sticking and sign * model.sliding_velocity[0] > 0.0


@pytest.mark.parametrize("law", LAWS)
def test_steady_sliding_bears_g_and_stretches_the_spring_by_it_over_k(law: FrictionLaw) -> None:
    model = ModelC(law, dimension=2, **PAPER)
    velocity = np.array([0.06, -0.08])
    model.simulate(np.tile(velocity, (500, 1)))  # e approaches as (B/(B + T K))^n = 0.625^n at the slowest
    steady = law.force(velocity)
    np.testing.assert_allclose(model.friction_force, steady, rtol=16 * EPS)
    np.testing.assert_allclose(model.displacement, steady / PAPER["stiffness"], rtol=16 * EPS)
    np.testing.assert_allclose(model.sliding_velocity, velocity, rtol=16 * EPS)


@pytest.mark.parametrize("seed", range(5))
def test_it_does_not_creep_under_99_percent_of_f(seed: int) -> None:
    direction = Rotation.random(rng=seed).as_matrix()[0]
    start = 0.99 * F / PAPER["stiffness"] * direction
    model = ModelC(CoulombLaw(F), dimension=3, **PAPER)
    model.reset(displacement=start)
    forces = model.simulate(np.zeros((100_000, 3)))
    np.testing.assert_array_equal(model.displacement, start)
    np.testing.assert_array_equal(forces, np.tile(forces[0], (100_000, 1)))
    np.testing.assert_allclose(forces[0], 0.99 * F * direction, rtol=8 * EPS)
    assert model.dissipated_energy == 0.0


def test_sticking_is_exactly_without_sliding() -> None:
    """(26c) and (38c) literally leave 1e-16 m/s in a part of the static steps, and creep."""
    random = np.random.default_rng(0)
    for _ in range(300):
        model = ModelC(CoulombLaw(F), stiffness=random.uniform(1e2, 1e4), damping=random.uniform(0, 20), period=1e-3)
        start, velocity = random.uniform(-1e-5, 1e-5), random.uniform(-1e-3, 1e-3)
        model.reset(displacement=[start])
        model.step([velocity])
        assert model.sticking and model.sliding_velocity[0] == 0.0
        assert model.displacement[0] == start + 1e-3 * velocity


def test_in_sticking_it_is_a_spring_and_a_damper() -> None:
    model = ModelC(CoulombLaw(F), **PAPER)
    position = 0.0
    for velocity in 0.015 * np.sin(0.05 * np.arange(2000)):
        position += PAPER["period"] * velocity
        force = model.step([velocity])[0]
        assert model.sticking
        assert force == pytest.approx(PAPER["stiffness"] * position + PAPER["damping"] * velocity, abs=1000 * EPS * F)


# Energy


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("law", LAWS)
def test_sliding_only_takes_energy_which_adds_up(law: FrictionLaw, dimension: int, motion: Motion) -> None:
    model = ModelC(law, dimension=dimension, **PAPER)
    taken = []
    for velocity in motion(2000, dimension):
        force = model.step(velocity)
        taken.append(PAPER["period"] * float(force @ model.sliding_velocity))
        assert (taken[-1] == 0.0) == model.sticking
    assert min(taken) >= 0.0 and max(taken) > 0.0
    assert model.dissipated_energy == pytest.approx(sum(taken), rel=2000 * EPS)


@pytest.mark.parametrize("law", LAWS)
def test_the_work_put_in_is_stored_or_dissipated(law: FrictionLaw, motion: Motion) -> None:
    """With f = K e + B e', u - v = e' of implicit Euler, to the last term: it is passive."""
    model = ModelC(law, dimension=2, **PAPER)
    model.reset(displacement=[1e-4, -2e-4])
    K, B, T = PAPER.values()
    work = lost = 0.0
    before = start = model.displacement
    for velocity in motion(2000, 2):
        work += T * float(model.step(velocity) @ velocity)
        change = model.displacement - before
        lost += float(change @ change) * (B / T + K / 2)  # the damper, and the numerical damping of the spring
        before = model.displacement
    stored = K / 2 * float(before @ before - start @ start)
    assert work == pytest.approx(model.dissipated_energy + stored + lost, rel=1e-11)  # 2000 sums of eps each
    assert lost > 0.0


# Symmetry and limits


@pytest.mark.parametrize(
    "rotation", [Rotation.from_euler("z", 50, degrees=True).as_matrix()[:2, :2], Rotation.random(rng=1).as_matrix()]
)
@pytest.mark.parametrize("law", LAWS)
def test_rotating_the_motion_rotates_the_force(law: FrictionLaw, rotation: np.ndarray, motion: Motion) -> None:
    dimension = len(rotation)
    original, rotated = (ModelC(law, dimension=dimension, **PAPER) for _ in range(2))
    velocities = motion(1000, dimension, seed=2)
    forces = original.simulate(velocities)
    found = rotated.simulate(velocities @ rotation.T)
    # rounding adds up while the element sticks, a few eps a step at most
    np.testing.assert_allclose(found, forces @ rotation.T, rtol=0, atol=1000 * EPS * np.abs(forces).max())
    assert rotated.dissipated_energy == pytest.approx(original.dissipated_energy, rel=1e-11)


def test_motion_along_one_axis_is_the_one_dimensional_model(motion: Motion) -> None:
    velocities = motion(1000, 1)
    embedded = np.zeros((1000, 3))
    embedded[:, 1] = velocities[:, 0]
    forces = ModelC(LAWS[1], dimension=3, **PAPER).simulate(embedded)
    expected = ModelC(LAWS[1], dimension=1, **PAPER).simulate(velocities)
    np.testing.assert_allclose(forces[:, [1]], expected, rtol=0, atol=1000 * EPS * np.abs(expected).max())
    np.testing.assert_array_equal(forces[:, [0, 2]], 0.0)


def test_without_damping_it_is_hayward_and_armstrongs_model_without_creep(motion: Motion) -> None:
    stiffness, period = PAPER["stiffness"], PAPER["period"]
    velocities = motion(2000, 1)
    forces = ModelC(CoulombLaw(F), stiffness=stiffness, damping=0.0, period=period).simulate(velocities)[:, 0]
    longest = F / stiffness
    adhesion, expected = 0.0, []
    for position in period * np.cumsum(velocities[:, 0]):
        if abs(position - adhesion) > longest:  # the point of adhesion follows at the longest distance
            adhesion = position - longest * np.sign(position - adhesion)
        expected.append(stiffness * (position - adhesion))
    assert 100 < np.count_nonzero(np.isclose(np.abs(expected), F)) < 1900  # it sticks and slides
    # the position, up to 1 m, is rounded here and not in model C: eps m times K
    np.testing.assert_allclose(forces, expected, rtol=0, atol=10 * EPS * stiffness)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("stiffness", [1e6, 1e8, 1e10])
def test_the_stiff_limit_is_the_law_itself(law: FrictionLaw, stiffness: float) -> None:
    """Without damping v - u = Z (f_before - f), so f = Phi(v) is off Phi(u) by that times Phi's slope."""
    speed, angle = 0.1, np.linspace(0.0, 6.0, 300)
    velocities = speed * np.column_stack((np.cos(angle), np.sin(angle)))
    forces = ModelC(law, stiffness=stiffness, damping=0.0, period=1e-3, dimension=2).simulate(velocities)
    Z, g = 1.0 / (1e-3 * stiffness), float(np.linalg.norm(law.force([speed])))
    slope = 2 * g / speed + 5.0  # largest, of Phi: by turning and by growing
    changes = np.linalg.norm(np.diff(forces, axis=0, prepend=0.0), axis=1)
    errors = np.linalg.norm(forces - [law.force(u) for u in velocities], axis=1)
    assert (errors <= slope * Z * changes + 16 * EPS * g).all()
