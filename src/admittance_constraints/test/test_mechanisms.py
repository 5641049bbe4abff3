"""The examples against closed forms and independent integrations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipk

from admittance_constraints import (
    DiskOnSphere,
    FourBar,
    KnifeEdge,
    Mechanism,
    Pendulum,
    PointOnParaboloid,
    PointOnSurface,
    ReferenceGenerator,
    RollingDisk,
    TwoLinkOnCircle,
    solve_accelerations,
)

PERIOD = 1e-3


@pytest.mark.parametrize("integrator", ["midpoint", "rk4"])
def test_period_of_the_pendulum(integrator: str) -> None:
    pendulum = Pendulum(mass=0.5, length=0.2)
    g = ReferenceGenerator(pendulum, integrator=integrator, z=[1.0])
    z = g.simulate(np.zeros((10_000, 6))).z[:, 0]
    i = np.flatnonzero((z[:-1] < 0.0) & (z[1:] >= 0.0))
    crossings = PERIOD * (i + 1 - z[i] / (z[i + 1] - z[i]))
    expected = 4.0 * np.sqrt(0.2 / 9.81) * ellipk(np.sin(0.5) ** 2)
    # linear interpolation at the crossing: (T omega)^3 / 6 / omega is 1e-8 s; the midpoint rule adds a relative
    # (T omega)^2/12
    assert np.diff(crossings).mean() == pytest.approx(expected, abs=1e-8 if integrator == "rk4" else 4e-6)


def test_pendulum_damping_takes_the_energy_of_the_closed_form() -> None:
    """Small swings decay as exp(-damping t / (2 m l^2))."""
    pendulum = Pendulum(mass=0.5, length=0.2, damping=0.01)
    g = ReferenceGenerator(pendulum, integrator="rk4", z=[1e-4])
    rows = g.simulate(np.zeros((5000, 6)))
    energy = rows.kinetic_energy + rows.potential_energy + 0.5 * 9.81 * 0.2
    rate = np.log(energy[0] / energy[-1]) / (4999 * PERIOD)
    # averaged over the swings; what is left of the last one is 1/(2 omega t)
    assert rate == pytest.approx(0.01 / (0.5 * 0.2**2), rel=0.02)


def test_skate_moves_on_a_circle() -> None:
    skate = KnifeEdge()
    g = ReferenceGenerator(
        skate, integrator="rk4", z=[0, 0, 0.2], z_velocity=[0.3 * np.cos(0.2), 0.3 * np.sin(0.2), 1.5]
    )
    t = PERIOD * np.arange(1, 4001)
    rows = g.simulate(np.zeros((4000, 6)))
    x = 0.3 / 1.5 * (np.sin(0.2 + 1.5 * t) - np.sin(0.2))
    y = -0.3 / 1.5 * (np.cos(0.2 + 1.5 * t) - np.cos(0.2))
    np.testing.assert_allclose(rows.z, np.stack([x, y, 0.2 + 1.5 * t], 1), atol=1e-12)
    np.testing.assert_allclose(rows.multipliers[:, 0], skate.mass * 0.3 * 1.5, rtol=1e-10)


def test_skate_on_a_slope_moves_on_a_cycloid() -> None:
    """Started at rest with a spin it drifts sideways and comes back up; speed along the edge g' / w sin(w t)."""
    skate = KnifeEdge(slope=0.1)
    w, a = 2.0, 9.81 * np.sin(0.1)
    g = ReferenceGenerator(skate, integrator="rk4", z=[0, 0, -np.pi / 2], z_velocity=[0, 0, w])
    t = PERIOD * np.arange(1, 6001)
    rows = g.simulate(np.zeros((6000, 6)))
    x = a / (2 * w**2) * (w * t - np.sin(w * t) * np.cos(w * t))
    y = -a / (2 * w**2) * np.sin(w * t) ** 2
    np.testing.assert_allclose(rows.z[:, :2], np.stack([x, y], 1), atol=1e-11)


def test_free_point_on_a_sphere_moves_on_a_great_circle() -> None:
    radius, speed = 0.1, 0.5
    m = PointOnSurface(lambda p: ca.sumsqr(p) - radius**2, near=(radius, 0.0, 0.0))
    direction = np.array([0.0, 0.6, 0.8])
    g = ReferenceGenerator(m, integrator="rk4", z=[radius, 0, 0], z_velocity=speed * direction)
    rows = g.simulate(np.zeros((5000, 6)))
    angle = speed / radius * PERIOD * np.arange(1, 5001)
    circle = radius * (np.cos(angle)[:, None] * [1.0, 0.0, 0.0] + np.sin(angle)[:, None] * direction)
    np.testing.assert_allclose(rows.z, circle, atol=1e-10)
    assert rows.holonomic_residual.max() < 1e-17 and rows.velocity_residual.max() < 1e-16
    # lambda grad h = -m v^2/r n with grad h = 2 r n
    np.testing.assert_allclose(rows.multipliers[:, 0], -m.mass * speed**2 / (2 * radius**2), rtol=1e-9)


def test_symmetric_projection_on_a_surface_costs_no_energy() -> None:
    m = PointOnSurface()  # a torus
    q = m.project_position(m.near)
    start = {"z": q, "z_velocity": m.project_velocity(q, np.array([0.0, 0.3, 0.3]))}
    drift = {}
    for projection in ("symmetric", "orthogonal"):
        g = ReferenceGenerator(m, integrator="algorithm1", velocity_projection=projection, **start)
        energy = g.simulate(np.zeros((10_000, 6))).kinetic_energy
        drift[projection] = np.abs(energy / energy[0] - 1.0).max()
    assert drift["symmetric"] < 1e-4 < 0.1 < drift["orthogonal"]


def test_projection_and_parametrisation_are_one_mechanism() -> None:
    """The 2R without its psi, kept on the circle by projection, moves as the one with it."""

    class WithoutPsi(TwoLinkOnCircle):
        def define(self, d: Any) -> None:
            super().define(d)
            d.psi, d.z = None, ca.SX(0, 1)
            d.nominal(q=[-0.7, 1.4])

    arm, bare = TwoLinkOnCircle(joint_damping=0.01), WithoutPsi(joint_damping=0.01)
    assert bare.parameter_dimension == 2 and not bare.has_parametrisation
    a = ReferenceGenerator(arm, integrator="rk4", z=[0.3], z_velocity=[2.0])
    state = a.state.vector
    b = ReferenceGenerator(bare, integrator="rk4", z=state[2:4], z_velocity=state[4:6])
    force = np.tile([0.2, -0.1, 0, 0, 0, 0], (2000, 1))
    left, right = a.simulate(force), b.simulate(force)
    # both of order 4, with different constants
    np.testing.assert_allclose(left.q, right.q, atol=1e-9)
    np.testing.assert_allclose(left.multipliers, right.multipliers, atol=1e-6)
    assert right.holonomic_residual.max() < 1e-16


def test_without_a_stated_inverse_the_configuration_is_searched() -> None:
    """phi^-1 by Newton's method from the nominal point, or from a given one, which decides the elbow."""

    class WithoutInverse(TwoLinkOnCircle):
        def define(self, d: Any) -> None:
            super().define(d)
            d.inverse_map = None
            d.nominal(q=[-0.7, 1.4])

    bare, force = WithoutInverse(), np.tile([0.2, -0.1, 0, 0, 0, 0], (300, 1))
    for elbow, q in ((1, None), (-1, [0.7, -1.4])):
        a = ReferenceGenerator(TwoLinkOnCircle(elbow=elbow), z=[0.3], compiled=False).simulate(force)
        b = ReferenceGenerator(bare, z=[0.3], q=q, compiled=False).simulate(force)
        np.testing.assert_allclose(b.q, a.q, atol=1e-13)  # the start differs by rounding


def test_a_dropped_constraint_changes_nothing() -> None:
    class InThePlane(TwoLinkOnCircle):
        def define(self, d: Any) -> None:
            super().define(d)
            d.holonomic("in the plane", d.x[2])

    m, force = InThePlane(), np.tile([0.2, -0.1, 5.0, 0, 0, 0], (100, 1))
    assert m.dropped_constraints == ("in the plane",)
    a, b = (ReferenceGenerator(k, z=[0.3], compiled=False).simulate(force) for k in (m, TwoLinkOnCircle()))
    np.testing.assert_array_equal(a.q, b.q)
    assert a.multipliers.shape == (100, 1)


@pytest.mark.slow
def test_four_bar_against_its_reduced_equation() -> None:
    """The crank angle alone, with the loop closed by geometry: J(a) a'' + J'(a) a'^2 / 2 = 0, J from the energy."""
    m = FourBar()
    q = m.project_position([1.0, -0.6])

    def closed(angle: float, guess: float) -> float:
        """Coupler angle for a crank angle, by Newton's method on the rocker's length."""
        b = guess
        for _ in range(50):
            H, A = m.holonomic_residual([angle, b])[0], m.constraint_matrix([angle, b])[0]
            b -= H / A[1]
        return float(b)

    def reduced(angle: float, guess: float) -> float:
        b = closed(angle, guess)
        A = m.constraint_matrix([angle, b])[0]
        v = np.array([1.0, -A[0] / A[1]])
        return float(v @ m.inertia([angle, b]) @ v)

    guess = [float(q[1])]

    def motion(t: float, y: np.ndarray) -> list[float]:
        h = 1e-5
        slope = (reduced(y[0] + h, guess[0]) - reduced(y[0] - h, guess[0])) / (2 * h)
        guess[0] = closed(y[0], guess[0])
        return [y[1], -slope * y[1] ** 2 / (2 * reduced(y[0], guess[0]))]

    A = m.constraint_matrix(q)[0]
    g = ReferenceGenerator(m, integrator="rk4", z=q, z_velocity=[4.0, -4.0 * A[0] / A[1]])
    rows = g.simulate(np.zeros((200, 6)))
    solution = solve_ivp(motion, (0.0, 0.2), [q[0], 4.0], rtol=1e-8, atol=1e-10, t_eval=[0.2])
    assert rows.q[-1, 0] == pytest.approx(solution.y[0, -1], abs=1e-7)  # central differences: 1e-9 of J per second
    assert rows.holonomic_residual.max() < 1e-15
    energy = rows.kinetic_energy
    assert energy.max() / energy.min() - 1.0 < 1e-9


def test_energy_of_the_four_bar_is_that_of_three_bars() -> None:
    """A uniform bar between moving points a, b has m (va^2 + va vb + vb^2) / 6."""
    m = FourBar()
    q = m.project_position([1.0, -0.6])
    A = m.constraint_matrix(q)[0]
    qdot = np.array([3.0, -3.0 * A[0] / A[1]])
    crank = m.lengths[0] * qdot[0] * np.array([-np.sin(q[0]), np.cos(q[0])])
    end = crank + m.lengths[1] * qdot.sum() * np.array([-np.sin(q.sum()), np.cos(q.sum())])
    ends = [(np.zeros(2), crank), (crank, end), (end, np.zeros(2))]
    masses = m.density * np.array(m.lengths)
    energy = sum(mass * (a @ a + a @ b + b @ b) / 6 for mass, (a, b) in zip(masses, ends, strict=True))
    assert m.kinetic_energy(q, qdot) == pytest.approx(float(energy), rel=1e-12)


def test_the_rockers_multiplier_is_its_force() -> None:
    """A still four-bar under a force on the coupler's end along the rocker: the rocker takes it all."""
    m = FourBar(damping=0.0)
    q = m.project_position([1.0, -0.6])
    along = m.forward(q)[:2] - [m.ground, 0.0]
    along /= np.linalg.norm(along)
    _, multipliers = solve_accelerations(m, q, np.zeros(2), m.generalised_force([*(3.0 * along), 0, 0, 0, 0], q))
    assert multipliers[0] == pytest.approx(-3.0, rel=1e-12)


@pytest.mark.slow
@pytest.mark.covering(3)
@pytest.mark.parametrize(
    ("kind", "arguments", "changes"),
    [
        (RollingDisk, {}, {"mass": 0.4, "radius": 0.04, "translational_damping": 1.0, "rotational_damping": 0.1}),
        (RollingDisk, {}, {"inertia": (0.003, 0.0025, 0.0025)}),
        (DiskOnSphere, {}, {"mass": 0.4, "sphere_radius": 0.06, "center": (0.1, 0.0, 0.0)}),
        (DiskOnSphere, {}, {"translational_damping": 1.0, "rotational_damping": 0.1}),
        (TwoLinkOnCircle, {}, {"link_mass": 1.0, "link_length": 0.16, "base": (-0.2, 0.0), "circle_radius": 0.04}),
        (TwoLinkOnCircle, {}, {"joint_damping": 0.01, "elbow": -1}),
        (Pendulum, {}, {"mass": 1.0, "length": 0.3, "gravity": 1.6, "damping": 0.1}),
        (PointOnSurface, {}, {"mass": 1.0, "damping": 0.1, "gravity": 9.81, "near": (0.0, 0.1, 0.02)}),
        (KnifeEdge, {"slope": 0.1}, {"mass": 1.0, "inertia": 0.01, "slope": 0.2, "gravity": 1.6}),
        (FourBar, {}, {"lengths": (0.04, 0.12, 0.10), "ground": 0.14, "density": 1.0, "damping": 0.01}),
    ],
)
def test_each_parameter_acts(kind: type[Mechanism], arguments: dict[str, Any], changes: dict[str, Any]) -> None:
    def end(**options: Any) -> np.ndarray:
        g = ReferenceGenerator(kind(**options), integrator="rk4", compiled=False, **start(kind))
        rows = g.simulate(wrenches=np.tile([0.3, 0.2, 0.1, 0.0, 0.01, 0.02], (20, 1)))
        return np.concatenate([rows.q[-1], rows.q_velocity[-1]])

    plain = end(**arguments)
    for name, value in changes.items():
        assert np.abs(end(**{**arguments, name: value}) - plain).max() > 1e-10, name


def start(kind: type[Mechanism]) -> dict[str, Any]:
    return {"z": [0.4, 0.2, 1.2], "z_velocity": [0.5, 1.0, 0.3]} if kind is DiskOnSphere else {}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RollingDisk(mass=0.0), "mass: expected more than 0, got 0.0"),
        (lambda: RollingDisk(inertia=(1.0, 2.0)), r"inertia: expected shape \(3,\), got \(2,\)"),
        (lambda: RollingDisk(inertia=(1.0, -2.0, 1.0)), r"inertia\[1\]: expected more than 0, got -2.0"),
        (lambda: RollingDisk(radius=float("nan")), "radius: expected a finite number"),
        (lambda: DiskOnSphere(rotational_damping=-1.0), "rotational_damping: expected 0 or more, got -1.0"),
        (lambda: DiskOnSphere(center=(0.0, 0.0)), "center: expected shape"),
        (lambda: TwoLinkOnCircle(elbow=0), "elbow: expected 1 or -1, got 0"),
        (lambda: TwoLinkOnCircle(link_length="long"), "link_length: expected a number, got 'long'"),
    ],
)
def test_bad_parameters_are_refused_by_name(make: Callable[[], Mechanism], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_the_papers_damping() -> None:
    assert (RollingDisk.paper().translational_damping, RollingDisk.paper().rotational_damping) == (1.0, 0.1)
    assert (DiskOnSphere.paper().translational_damping, DiskOnSphere.paper().rotational_damping) == (1.0, 0.1)
    assert TwoLinkOnCircle.paper().joint_damping == 0.01


def test_a_point_slides_down_a_paraboloid_with_the_period_of_a_small_swing() -> None:
    """In the valley of curvature c it swings with omega^2 = g c, and by (c A)^2/4 slower as the amplitude A grows."""
    c, A = 4.0, 0.01
    m = PointOnParaboloid(mass=0.3, curvature=(0.0, c), gravity=9.81)
    g = ReferenceGenerator(m, integrator="rk4", z=[0.02, A])
    rows = g.simulate(np.zeros((5000, 6)))
    y = rows.z[:, 1]
    i = np.flatnonzero((y[:-1] < 0.0) & (y[1:] >= 0.0))
    period = PERIOD * np.diff(i + 1 - y[i] / (y[i + 1] - y[i])).mean()
    assert period == pytest.approx(2 * np.pi / np.sqrt(9.81 * c), rel=(c * A) ** 2 / 2)
    energy = rows.kinetic_energy + rows.potential_energy
    assert np.ptp(energy) < 1e-9 * np.ptp(rows.potential_energy)
    np.testing.assert_allclose(rows.x[:, 2], c * y**2 / 2, atol=1e-16)
    assert (rows.z[:, 0] == 0.02).all()


def test_the_multiplier_of_a_paraboloid_is_the_force_along_its_normal() -> None:
    """At rest under a wrench whose part along the surface is taken off, and at speed: n . (m a - f)."""
    m = PointOnParaboloid(mass=0.3, curvature=(3.0, -5.0))
    z, v = np.array([0.04, -0.07]), np.array([0.2, 0.3])
    normal = np.array([-3.0 * z[0], 5.0 * z[1], 1.0])
    normal /= np.linalg.norm(normal)
    g = ReferenceGenerator(m, z=z)
    assert g.step(wrench=[*(-8.0 * normal), 0, 0, 0]).multipliers[0] == pytest.approx(8.0, rel=1e-12)
    g.reset(z=z, z_velocity=v)
    # the height's second derivative is c1 v1^2 + c2 v2^2 along a straight way seen from above
    due = 0.3 * normal[2] * (3.0 * v[0] ** 2 - 5.0 * v[1] ** 2)
    assert g.step(wrench=np.zeros(6)).multipliers[0] == pytest.approx(due, rel=1e-12)
