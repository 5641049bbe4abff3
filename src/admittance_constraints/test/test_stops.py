"""Unilateral constraints: a falling mass, a rope that goes slack, two stops at once; no pull, no penetration."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest

from admittance_constraints import (
    Definition,
    Mechanism,
    ReferenceGenerator,
    SingularConfigurationError,
    Stop,
    StoppedGenerator,
    TwoLinkOnCircle,
)

T, MASS, GRAVITY, LENGTH = 1e-3, 0.5, 9.81, 0.3
FLOOR = Stop.plane("floor", point=(0.0, 0.0, 0.0), normal=(0.0, 0.0, 1.0))


class Particle(Mechanism):
    """A free point mass under gravity."""

    def define(self, d: Definition) -> None:
        q, qdot = d.coordinates(3)
        d.forward(q)
        d.inverse(d.x[:3])
        d.kinetic_energy(MASS * ca.sumsqr(qdot) / 2)
        d.potential(MASS * GRAVITY * q[2])


@pytest.fixture(scope="module")
def particle() -> Particle:
    return Particle()


def stopped(mechanism: Mechanism, *stops: Stop, period: float = T, **start: list[float]) -> StoppedGenerator:
    generator = ReferenceGenerator(mechanism, period=period, integrator="symplectic_euler", compiled=False, **start)
    return StoppedGenerator(generator, stops)


def test_falling_mass_lands_without_penetration_and_stays(particle: Particle) -> None:
    generator, height = stopped(particle, FLOOR, z=[0.0, 0.0, 0.2]), 0.2
    results = [generator.step() for _ in range(400)]
    z = np.array([result.reference.z[2] for result in results])
    force = np.array([result.force[0] for result in results])
    landing = int(np.argmax(force > 0.0))
    assert (landing + 1) * T == pytest.approx(math.sqrt(2.0 * height / GRAVITY), abs=2.0 * T)
    assert z.min() >= -1e-13 and abs(z[landing:]).max() < 1e-12
    assert results[-1].reference.z_velocity[2] == pytest.approx(0.0, abs=1e-9)
    # the impulse of the impact is the momentum, afterwards the floor carries the weight
    impulse = T * (force[: landing + 2] - MASS * GRAVITY * (force[: landing + 2] > 0.0)).sum()
    assert impulse == pytest.approx(MASS * math.sqrt(2.0 * GRAVITY * height), rel=5e-3)
    assert force[landing + 2 :] == pytest.approx(MASS * GRAVITY, rel=1e-6)


def test_stop_does_not_pull(particle: Particle) -> None:
    generator = stopped(particle, FLOOR, z=[0.0, 0.0, 0.0])
    held = generator.step([0.0, 0.0, -3.0, 0.0, 0.0, 0.0])
    assert held.force[0] == pytest.approx(MASS * GRAVITY + 3.0, rel=1e-9) and abs(held.gap[0]) < 1e-13
    lifted = generator.step([0.0, 0.0, MASS * GRAVITY + 1.0, 0.0, 0.0, 0.0])
    assert lifted.force[0] == 0.0
    assert lifted.reference.z_velocity[2] == pytest.approx(1.0 / MASS * T, rel=1e-6)


def swing(particle: Particle, speed: float, period: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Angles from straight down [rad], tensions [N] and energies [J] of a mass on a rope, started at the bottom."""
    rope = Stop.rope("rope", anchor=(0.0, 0.0, 0.0), length=LENGTH)
    start = {"z": [0.0, 0.0, -LENGTH], "z_velocity": [speed, 0.0, 0.0]}
    generator, rows = stopped(particle, rope, period=period, **start), []
    for _ in range(round(0.45 / period)):
        result = generator.step()
        x, v = result.reference.z, result.reference.z_velocity
        rows.append((math.atan2(x[0], -x[2]), result.force[0], MASS * (0.5 * v @ v + GRAVITY * (x[2] + LENGTH))))
        assert result.gap[0] >= -1e-12
    angle, tension, energy = np.array(rows).T
    return angle, tension, energy


def test_rope_goes_slack_at_the_angle_of_the_closed_form(particle: Particle) -> None:
    # m v^2/l = -m g cos(angle) with v^2 = speed^2 - 2 g l (1 - cos(angle)): cos(angle) = (2 g l - speed^2)/(3 g l)
    speed = math.sqrt(3.5 * GRAVITY * LENGTH)
    slack = math.acos((2.0 * GRAVITY * LENGTH - speed**2) / (3.0 * GRAVITY * LENGTH))
    errors = []
    for period in (2e-3, 5e-4):
        angle, tension, energy = swing(particle, speed, period)
        free = int(np.argmax(tension[1:] == 0.0)) + 1
        errors.append(abs(angle[free] - slack))
        taut = slice(2, free - 1)
        expected = MASS * (speed**2 / LENGTH - 2.0 * GRAVITY + 3.0 * GRAVITY * np.cos(angle[taut]))
        assert tension[taut] == pytest.approx(expected, abs=30.0 * period * MASS * speed**2 / LENGTH)
        assert tension.min() == 0.0  # a rope does not push
        assert energy[free] == pytest.approx(0.5 * MASS * speed**2, rel=20.0 * period)
    assert errors[1] < 0.02 and errors[1] < 0.6 * errors[0]


def test_two_stops_share_a_force_by_its_components(particle: Particle) -> None:
    wall = Stop.plane("wall", point=(0.0, 0.0, 0.0), normal=(-1.0, 0.0, 1.0))
    generator = stopped(particle, FLOOR, wall, z=[0.0, 0.0, 0.0])
    result = generator.step([4.0, 0.0, -1.0, 0.0, 0.0, 0.0])
    # f_wall/sqrt(2) = 4 N, f_floor + f_wall/sqrt(2) = 1 N + m g
    assert result.force == pytest.approx([1.0 + MASS * GRAVITY - 4.0, 4.0 * math.sqrt(2.0)], rel=1e-9)
    away = generator.step([-4.0, 0.0, -1.0, 0.0, 0.0, 0.0])
    assert away.force == pytest.approx([1.0 + MASS * GRAVITY, 0.0], rel=1e-9)


def test_redundant_stops_share_the_force_alike(particle: Particle) -> None:
    twin = Stop.plane("twin", point=(1.0, 0.0, 0.0), normal=(0.0, 0.0, 3.0))
    result = stopped(particle, FLOOR, twin, z=[0.0, 0.0, 0.0]).step()
    assert result.force == pytest.approx([0.5 * MASS * GRAVITY] * 2, rel=1e-3)


def test_stop_of_a_linkage_takes_all_of_its_speed() -> None:
    linkage = TwoLinkOnCircle()
    wall = Stop.plane("wall", point=(0.0, 0.04, 0.0), normal=(0.0, -1.0, 0.0))
    generator = stopped(linkage, wall, z=[0.0], z_velocity=[4.0])
    results = [generator.step() for _ in range(400)]
    assert min(result.gap[0] for result in results) > -1e-12
    assert results[-1].reference.z[0] == pytest.approx(math.asin(0.04 / 0.05), abs=1e-9)
    assert results[-1].reference.kinetic_energy < 1e-12 < results[0].reference.kinetic_energy


def test_stops_that_do_not_fit_integrator_start_or_mechanism_are_refused(particle: Particle) -> None:
    with pytest.raises(ValueError, match="integrator: expected symplectic_euler with stops, got rk4"):
        StoppedGenerator(ReferenceGenerator(particle, compiled=False), [FLOOR])
    with pytest.raises(ValueError, match=r"stop floor: expected a gap of 0 or more at the start, got -0\.1"):
        stopped(particle, FLOOR, z=[0.0, 0.0, -0.1])
    with pytest.raises(ValueError, match="stops: expected one or more of different names"):
        stopped(particle, FLOOR, FLOOR)
    with pytest.raises(ValueError, match="length: expected"):
        Stop.rope("rope", anchor=(0.0, 0.0, 0.0), length=0.0)
    with pytest.raises(ValueError, match="length of normal: expected"):
        Stop.plane("wall", point=(0.0, 0.0, 0.0), normal=(0.0, 0.0, 0.0))


def test_stop_that_no_force_can_keep_is_an_error_and_leaves_the_state(particle: Particle) -> None:
    closing = Stop("closing", lambda x: x[2] - 0.1, lambda x: np.zeros(6))
    generator = stopped(particle, closing, z=[0.0, 0.0, 0.1])
    before = generator.generator.state.vector.copy()
    with pytest.raises(SingularConfigurationError, match="stop closing: no force on the tool keeps it"):
        generator.step()
    assert np.array_equal(generator.generator.state.vector, before)
