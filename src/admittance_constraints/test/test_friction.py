"""Friction on the free directions: exact stiction, stopping, direction, dissipation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from free_direction_friction import friction_force
from scipy.spatial.transform import Rotation

from admittance_constraints import (
    DiskOnSphere,
    FreeDirectionFriction,
    Mechanism,
    PointOnSurface,
    ReferenceGenerator,
    RollingDisk,
    TwoLinkOnCircle,
)
from admittance_constraints.generation.friction import FrictionSolution
from haptic_friction import AnisotropicLaw, CoulombLaw, StribeckLaw, TableLaw, ViscousCoulombLaw

PERIOD = 1e-3


def plane(mass: float = 0.5) -> PointOnSurface:
    """A point on the plane x3 = 0: two free directions of equal inertia."""
    return PointOnSurface(lambda p: p[2], near=(0.0, 0.0, 0.0), mass=mass)


def generator(m: Mechanism, friction: FreeDirectionFriction, **options: Any) -> ReferenceGenerator:
    return ReferenceGenerator(m, friction=friction, compiled=False, **options)


@pytest.mark.parametrize("integrator", ["algorithm1", "symplectic_euler"])
def test_a_sliding_point_stops_when_and_where_it_should(integrator: str) -> None:
    """v0 = 0.2 m/s, F = 1 N on 0.5 kg: stops after 0.1 s and 0.01 m."""
    friction = FreeDirectionFriction(translation=CoulombLaw(1.0))
    g = generator(plane(), friction, integrator=integrator, z=[0, 0, 0], z_velocity=[0.12, 0.16, 0.0])
    rows = [g.step(np.zeros(6)) for _ in range(200)]
    moving = [k for k, r in enumerate(rows) if r.z_velocity.any()]
    assert moving[-1] in (98, 99)  # at rest after step 100, give or take rounding at the last
    np.testing.assert_allclose(rows[50].friction_force[:3], [-0.6, -0.8, 0.0], atol=1e-12)
    # the trapezoid of line 11 is exact; zdot first gives F T/(2 m) less throughout
    missing = 0.0 if integrator == "algorithm1" else 0.5 * PERIOD * 0.2
    assert np.linalg.norm(rows[-1].z) == pytest.approx(0.01 - missing, abs=2e-9)
    assert rows[-1].sticking and not rows[50].sticking


@pytest.mark.slow
def test_stiction_is_exact_under_tremor() -> None:
    """Forces up to 99.9 % of breakaway: not one bit of the configuration changes."""
    m = DiskOnSphere(inertia=(0.0015, 0.0025, 0.004))
    friction = FreeDirectionFriction(translation=CoulombLaw(1.0), rotation=CoulombLaw(0.05))
    for orientation in ("euler", "quaternion"):
        g = generator(m, friction, orientation=orientation, z=[0.4, 0.2, 1.2])
        before = g.state.vector
        places = set()
        random = np.random.default_rng(0)
        for _ in range(2000):
            direction = random.normal(size=3)
            push = 0.999 * direction / np.linalg.norm(direction)
            r = g.step(wrench=[*push, 0.0, 0.0, 0.01 * random.normal()])
            assert r.sticking and not r.z_velocity.any() and not r.twist.any() and not r.twist_rate.any()
            places.add((*r.z, *r.q, *r.x, *r.orientation))
        assert len(places) == 1
        np.testing.assert_array_equal(g.state.vector, before)


def test_mechanism_that_rests_again_is_output_at_its_configuration() -> None:
    g = generator(plane(), FreeDirectionFriction(translation=CoulombLaw(1.0)), z=[0, 0, 0])
    places = []
    for push in (0.0, 5.0, 0.0):
        for _ in range(200):
            r = g.step(wrench=[push, 0, 0, 0, 0, 0])
        np.testing.assert_array_equal(r.x[:3], r.z)
        places.append(float(r.x[0]))
        for _ in range(1500 if push else 0):
            r = g.step(wrench=np.zeros(6))
    assert places[0] == 0.0 < places[1] < places[2] and not r.z_velocity.any()


@pytest.mark.covering(2)
@pytest.mark.parametrize(("push", "holds"), [(1.03, True), (1.15, True), (1.199, True), (1.201, False), (1.5, False)])
def test_two_friction_elements_stick_together_where_neither_sticks_alone(push: float, holds: bool) -> None:
    """Sliding over the sphere turns the disk: 1 N at the centre and 0.01 N m / 0.05 m = 0.2 N add up, to the last."""
    friction = FreeDirectionFriction(translation=CoulombLaw(1.0), rotation=CoulombLaw(0.01))
    m = DiskOnSphere(sphere_radius=0.05)
    g = generator(m, friction, z=[0.4, 0.2, 1.2])
    tangent = m.parametric_jacobian([0.4, 0.2, 1.2])[:3, 2]
    r = g.step(wrench=[*(push * tangent / np.linalg.norm(tangent)), 0.0, 0.0, 0.0])
    assert r.sticking == holds != bool(r.z_velocity.any())
    assert np.linalg.norm(r.friction_force[:3]) <= 1.0 + 1e-12
    assert np.linalg.norm(r.friction_force[3:]) <= 0.01 + 1e-14


def test_two_elements_that_slide_obey_both_laws_at_once() -> None:
    """Coupled by the inertia, in a plane: components that are zero throughout do not end the iteration early."""
    friction = FreeDirectionFriction(translation=CoulombLaw(1.0), rotation=ViscousCoulombLaw(0.01, viscosity=0.02))
    inertia = np.diag([2.0, 2.0, 2.0, 0.01, 0.01, 0.01])
    inertia[0, 5] = inertia[5, 0] = 0.1  # the centre of mass lies off the tool
    mobility, velocity = np.linalg.inv(inertia), np.array([0.3, 0.1, 0.0, 0.0, 0.0, 2.0])
    wrench = friction.solve(velocity, mobility, np.eye(6), PERIOD, 6).wrench
    after = velocity + PERIOD * mobility @ wrench
    turning = after[3:] / np.linalg.norm(after[3:])
    np.testing.assert_allclose(wrench[:3], -after[:3] / np.linalg.norm(after[:3]), atol=1e-12)
    np.testing.assert_allclose(wrench[3:], -0.01 * turning - 0.02 * after[3:], atol=1e-12)


@pytest.mark.parametrize(("speed", "converges"), [(1.0, True), (0.01, False)])
def test_forces_of_two_strongly_coupled_elements_that_do_not_converge_are_reported(
    speed: float, converges: bool
) -> None:
    """A force on the tool turns the body nearly as it moves it: W is near singular in three directions."""
    friction = FreeDirectionFriction(translation=CoulombLaw(1.0), rotation=ViscousCoulombLaw(0.02, viscosity=0.05))
    inertia = np.diag([2.0, 2.0, 2.0, 0.01, 0.01, 0.01])
    turn = Rotation.from_rotvec([0.5, -0.8, 0.3]).as_matrix()
    inertia[:3, 3:] = turn * np.sqrt(2.0 * 0.01 * (1.0 - np.array([1e-2, 1e-4, 1e-6])))
    inertia[3:, :3] = inertia[:3, 3:].T
    mobility, velocity = np.linalg.inv(inertia), speed * np.array([0.9, 0.3, -0.6, 5.0, -9.0, 4.0])
    found = friction.solve(velocity, mobility, np.eye(6), PERIOD, 6)
    after = velocity + PERIOD * mobility @ found.wrench
    error = np.abs(found.wrench[:3] + after[:3] / np.linalg.norm(after[:3])).max()  # N, of 1 N against the motion
    assert not found.sticking and found.converged == converges
    assert error < 1e-9 if converges else error > 0.1


def test_reference_has_the_convergence_of_its_friction(monkeypatch: pytest.MonkeyPatch) -> None:
    friction = FreeDirectionFriction(translation=CoulombLaw(1.0), rotation=CoulombLaw(0.05))
    g, solve = generator(DiskOnSphere(), friction, z=[0.4, 0.2, 1.2]), friction.solve
    assert g.step(np.zeros(6)).friction_converged
    monkeypatch.setattr(friction, "solve", lambda *given: replace(solve(*given), converged=False))
    r = g.step(np.zeros(6))
    assert not r.friction_converged and r.at_rest().friction_converged


def test_breakaway_force_is_that_of_the_law() -> None:
    for push, moves in ((1.0 - 1e-9, False), (1.0 + 1e-9, True)):
        g = generator(plane(), FreeDirectionFriction(translation=CoulombLaw(1.0)), z=[0, 0, 0])
        r = g.step(wrench=[0.6 * push, 0.8 * push, -100.0, 0, 0, 0])
        assert (not r.sticking) == moves == bool(r.z_velocity.any())
        # static friction balances the push; the constraint bears what is normal to it
        np.testing.assert_allclose(r.friction_force[:3], [-0.6, -0.8, 0.0], atol=2e-9)


def test_no_chatter_at_a_constant_force_above_friction() -> None:
    g = generator(plane(), FreeDirectionFriction(translation=ViscousCoulombLaw(1.0, viscosity=5.0)), z=[0, 0, 0])
    speeds = [np.linalg.norm(g.step(wrench=[1.5, 2.0, 0, 0, 0, 0]).z_velocity) for _ in range(2000)]
    assert np.all(np.diff(speeds) > -1e-15)
    assert speeds[-1] == pytest.approx((2.5 - 1.0) / 5.0, rel=1e-8)  # g(v) = force


def test_unequal_inertia_solves_the_implicit_law() -> None:
    """The 2R without its circle: two free directions of unequal inertia; v = v* - T W f and f = F v/|v|."""
    W = np.array([[4.0, 1.0, 0.0], [1.0, 0.5, 0.0], [0.0, 0.0, 0.0]])
    law = ViscousCoulombLaw(2.0, viscosity=3.0)
    friction = FreeDirectionFriction(translation=law)
    mobility = np.hstack([W, np.zeros((3, 3))])
    twist = np.vstack([np.eye(3), np.zeros((3, 3))])
    for velocity in ([1.0, -0.5, 0.0], [0.02, 0.011, 0.0], [1e-3, 1e-3, 0.0]):
        found: FrictionSolution = friction.solve(np.array(velocity), mobility, twist, 1e-2, 2)
        f = -found.wrench[:3]
        v = velocity - 1e-2 * W @ f
        if found.sticking:
            assert np.linalg.norm(f) <= 2.0 * (1.0 + 1e-15)
            np.testing.assert_allclose(v, 0.0, atol=1e-16)
        else:
            np.testing.assert_allclose(f, law.force(v), atol=1e-11 * float(np.linalg.norm(f)), rtol=0.0)
    assert not friction.solve(np.array([1.0, -0.5, 0.0]), mobility, twist, 1e-2, 2).sticking
    assert friction.solve(np.array([1e-3, 1e-3, 0.0]), mobility, twist, 1e-2, 2).at_rest


def test_equal_and_nearly_equal_inertia_give_one_answer() -> None:
    """The closed form for equal eigenvalues and the search for unequal ones meet."""
    law = ViscousCoulombLaw(2.0, viscosity=3.0)
    friction = FreeDirectionFriction(translation=law)
    twist = np.vstack([np.eye(3), np.zeros((3, 3))])
    answers = []
    for difference in (0.0, 1e-10):
        mobility = np.hstack([np.diag([2.0, 2.0 + difference, 2.0]), np.zeros((3, 3))])
        answers.append(friction.solve(np.array([1.0, 0.3, -0.2]), mobility, twist, 1e-2, 3).wrench)
    np.testing.assert_allclose(answers[0], answers[1], rtol=1e-9)
    np.testing.assert_allclose(-answers[0][:3], law.projected([1.0, 0.3, -0.2], 0.02), rtol=1e-14)


@pytest.mark.slow
def test_disk_that_does_not_roll_still_rotates_about_its_contact() -> None:
    """Friction on translation alone: stuck along the rolling direction, free to steer, and it does not creep."""
    g = generator(RollingDisk(), FreeDirectionFriction(translation=CoulombLaw(1.0)), z=[0, 0, 0.3, 0])
    for k in range(5000):
        r = g.step(wrench=[0.5, 0.3, 0, 0, 0, 0.001 if k < 100 else 0.0])
    assert r.sticking and r.z_velocity[2] == pytest.approx(0.04, rel=1e-9) and r.z[2] > 0.45
    assert np.abs(r.z[[0, 1, 3]]).max() < 1e-15 and r.velocity_residual < 1e-16


@pytest.mark.slow
def test_friction_and_steering_stop_the_disk_for_good() -> None:
    friction = FreeDirectionFriction(translation=CoulombLaw(0.3), rotation=CoulombLaw(0.003))
    m = RollingDisk()
    start = {"z": [0, 0, 0.3, 0], "z_velocity": [0.06 * np.cos(0.3), 0.06 * np.sin(0.3), 1.0, -2.0]}
    g = generator(m, friction, **start)
    energies = []
    for _ in range(3000):
        r = g.step(np.zeros(6))
        energies.append(r.kinetic_energy)
    # energy only falls; 1e-6 relative per step is what line 11 adds while turning
    assert np.all(np.diff(energies) <= 1e-6 * energies[0])
    assert energies[-1] == 0.0 and not r.z_velocity.any() and r.sticking


@pytest.mark.parametrize("kind", [TwoLinkOnCircle, DiskOnSphere])
def test_restore_repeats_friction_to_the_last_bit(kind: type[Mechanism]) -> None:
    z = [0.3] if kind is TwoLinkOnCircle else [0.4, 0.2, 1.2]
    g = generator(kind(), FreeDirectionFriction(translation=CoulombLaw(0.2)), z=z)
    push = np.array([0.5, 0.4, 0.3, 0, 0, 0])
    for _ in range(20):
        g.step(wrench=push)
    saved = g.state
    first = [g.step(wrench=push).z.tolist() for _ in range(20)]
    g.restore(saved)
    assert [g.step(wrench=push).z.tolist() for _ in range(20)] == first


_LAWS = {
    "coulomb": (CoulombLaw(1.0), CoulombLaw(0.05)),
    "viscous": (ViscousCoulombLaw(1.0, viscosity=3.0), CoulombLaw(0.05)),
    "stribeck": (
        StribeckLaw(1.0, static_force=1.2, stribeck_velocity=0.1, viscosity=1.0),
        StribeckLaw(0.05, static_force=0.06, stribeck_velocity=2.0),
    ),
    "table": (TableLaw([0.0, 0.1, 0.5], [1.0, 0.9, 1.5]), TableLaw([0.0, 1.0], [0.05, 0.08])),
}


@pytest.mark.covering
@pytest.mark.parametrize("law", _LAWS)
@pytest.mark.parametrize("acts", [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("freedoms", [1, 2, 3, 6])
def test_the_compiled_equation_is_that_in_numpy(law: str, acts: tuple[bool, bool], freedoms: int) -> None:
    """A rigid body led by a tool beside its centre of mass, in random free directions, from 1 um/s to 1 m/s.

    How two elements that stick share the force is not determined.
    """
    translation, rotation = (one if there else None for one, there in zip(_LAWS[law], acts, strict=True))
    friction = FreeDirectionFriction(translation=translation, rotation=rotation)
    rows = (slice(0, 3), slice(3, 6))
    elements = [(own, one) for own, one in zip(rows, (translation, rotation), strict=True) if one is not None]
    random, seen = np.random.default_rng(freedoms), set()
    for _ in range(30):
        directions = random.normal(size=(6, freedoms)) * np.repeat([1.0, 10.0], 3)[:, None]
        twist = directions.copy()
        twist[:3] += np.cross(directions[3:], random.uniform(-0.2, 0.2, size=3), axis=0)
        inertia = directions.T @ np.diag([0.5, 0.5, 0.5, 1e-3, 2e-3, 3e-3]) @ directions
        mobility = np.linalg.solve(inertia, twist.T)
        velocity = random.normal(size=freedoms) * 10.0 ** random.uniform(-6.0, 0.0)
        found = friction.solve(velocity, mobility, twist, PERIOD, freedoms)
        expected, sticks = friction_force(elements, velocity, mobility, twist, PERIOD)
        seen.add(sticks)
        assert found.sticking == sticks
        if sticks and len(elements) == 2:
            np.testing.assert_allclose(velocity + PERIOD * mobility @ found.wrench, 0.0, atol=1e-12)
            for own, one in elements:
                assert np.linalg.norm(found.wrench[own]) <= one.breakaway_force * (1.0 + 1e-12)
        else:
            np.testing.assert_allclose(-found.wrench, expected, rtol=0.0, atol=1e-10)
    assert seen == {True, False}


def test_a_law_that_falls_too_steeply_is_refused_while_it_slides() -> None:
    law = StribeckLaw(1.0, static_force=3.0, stribeck_velocity=1e-3)
    g = generator(plane(), FreeDirectionFriction(translation=law), z=[0, 0, 0])
    g.step(wrench=[2.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    before = g.state.vector
    with pytest.raises(ValueError, match=r"so Phi_Z does not exist"):
        g.step(wrench=[4.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(g.state.vector, before)


def test_wrong_use_is_refused_by_name() -> None:
    for law in (1.0, AnisotropicLaw(np.diag([1.0, 2.0]))):
        with pytest.raises(ValueError, match=r"^rotation: expected an isotropic law such as CoulombLaw\(1.0\), got"):
            FreeDirectionFriction(rotation=law)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="translation: expected a law"):
        FreeDirectionFriction()
    friction = FreeDirectionFriction(translation=CoulombLaw(1.0))
    with pytest.raises(
        ValueError, match="friction: expected integrator algorithm1 or symplectic_euler with it, got rk4"
    ):
        generator(plane(), friction, integrator="rk4")
    with pytest.raises(ValueError, match="friction: expected none in simulate"):
        generator(plane(), friction, z=[0, 0, 0]).simulate(np.zeros((1, 6)))
