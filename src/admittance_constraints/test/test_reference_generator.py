"""The generator as an object: the compiled step against its readable double, state, inputs, options."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from admittance_constraints import (
    DiskOnSphere,
    KnifeEdge,
    Mechanism,
    Pendulum,
    PointOnSurface,
    ReferenceGenerator,
    RollingDisk,
    SingularConfigurationError,
    TwoLinkOnCircle,
)
from admittance_constraints.generation.algorithm1 import algorithm1_start, algorithm1_step, project_velocity_of
from admittance_constraints.generation.friction import FreeDirectionFriction
from haptic_friction import CoulombLaw

START: dict[str, tuple[Mechanism, dict[str, Any]]] = {
    "rolling_disk": (
        RollingDisk(inertia=(0.0015, 0.0025, 0.004), translational_damping=0.3, rotational_damping=0.01),
        {"z": [0.0, 0.1, 0.3, 0.2], "z_velocity": [0.0573201893, 0.0177312124, 0.5, -2.0]},
    ),
    "disk_on_sphere": (
        DiskOnSphere(inertia=(0.0015, 0.0025, 0.004), center=(0.1, -0.05, 0.2), rotational_damping=0.01),
        {"z": [0.4, 0.2, 1.2], "z_velocity": [0.5, 1.0, 0.3]},
    ),
    "two_link": (TwoLinkOnCircle(joint_damping=0.01), {"z": [0.4], "z_velocity": [2.0]}),
    "two_link_other_elbow": (TwoLinkOnCircle(elbow=-1), {"z": [-1.0], "z_velocity": [1.0]}),
}
FIELDS = (
    "z", "z_velocity", "z_acceleration", "q", "q_velocity", "q_acceleration", "multipliers", "x", "x_velocity",
    "x_acceleration", "orientation", "twist", "twist_rate",
)  # fmt: skip


def forces(steps: int, seed: int = 0) -> np.ndarray:
    """Forces [N] and moments [N m] of a hand, shape (steps, 6)."""
    random = np.random.default_rng(seed)
    t = 1e-3 * np.arange(steps)[:, None]
    slow = np.sin(2 * np.pi * random.uniform(0.5, 3.0, 6) * t + random.uniform(0, 6, 6))
    return slow * [0.5, 0.5, 0.5, 0.004, 0.004, 0.004]


def everything(r: Any) -> np.ndarray:
    return np.concatenate([np.ravel(getattr(r, field)) for field in FIELDS])


@pytest.mark.slow
@pytest.mark.covering
@pytest.mark.parametrize("projection", ["symmetric", "orthogonal", "off"])
@pytest.mark.parametrize("name", list(START))
def test_compiled_steps_are_the_readable_ones(name: str, projection: str) -> None:
    m, start = START[name]
    g = ReferenceGenerator(m, integrator="algorithm1", velocity_projection=projection, **start)
    state = algorithm1_start(m, start["z"], start["z_velocity"])
    if projection != "off":
        qdot = m.project_velocity(state.q, state.q_velocity)
        zdot = np.linalg.pinv(m.parametric_jacobian(state.z)) @ m.task_jacobian(state.q) @ qdot
        state = replace(state, z_velocity=zdot, q_velocity=qdot)
    for force in forces(100):
        r, s = g.step(force), algorithm1_step(m, state, force, g.period)
        if projection != "off":
            s = project_velocity_of(s, m, state, force, g.period, symmetric=projection == "symmetric")
        # a hundred steps of rounding, amplified by accelerations of up to 1e3
        for field in ("z", "z_velocity", "q", "q_velocity", "x", "x_velocity"):
            np.testing.assert_allclose(getattr(r, field), getattr(s, field), atol=1e-12, err_msg=field)
        for field in ("q_acceleration", "x_acceleration", "z_acceleration"):
            expected = getattr(s, field)
            atol = 1e-11 * max(1.0, np.abs(expected).max())
            np.testing.assert_allclose(getattr(r, field), expected, atol=atol, err_msg=field)
        np.testing.assert_allclose(r.multipliers, s.multipliers, atol=1e-11)
        np.testing.assert_allclose(r.twist, m.twist(s.q, s.q_velocity), atol=1e-12)
        assert r.kinetic_energy == pytest.approx(m.kinetic_energy(s.q, s.q_velocity), rel=1e-10)
        state = s


def test_without_a_word_it_integrates_by_rk4_and_with_friction_by_the_rule_of_the_paper() -> None:
    """A linkage on a circle of 5 cm in free motion for ten seconds, against a quarter of the period."""
    m = TwoLinkOnCircle(circle_radius=0.05)
    spread = {}
    for integrator in (None, "rk4", "algorithm1"):
        g = ReferenceGenerator(m, integrator=integrator, z=[0.0], z_velocity=[4.0])
        fine = ReferenceGenerator(m, integrator="rk4", period=2.5e-4, z=[0.0], z_velocity=[4.0])
        rows, truth = g.simulate(np.zeros((10_000, 6))), fine.simulate(np.zeros((40_000, 6)), every=4)
        spread[integrator] = np.linalg.norm(rows.x[:, :3] - truth.x[:, :3], axis=1).max()
    assert spread[None] == spread["rk4"] < 1e-7 < 1e-2 < spread["algorithm1"]
    friction = FreeDirectionFriction(translation=CoulombLaw(1.0))
    assert ReferenceGenerator(m, friction=friction, z=[0.0], compiled=False).integrator == "algorithm1"


def test_x_agrees_with_the_orientation() -> None:
    m, start = START["disk_on_sphere"]
    g = ReferenceGenerator(m, **start, compiled=False)
    for force in forces(5):
        r = g.step(force)
        np.testing.assert_allclose(np.abs(r.orientation @ m.orientation(r.q)), 1.0, atol=1e-14)


@pytest.mark.parametrize("integrator", ["algorithm1", "symplectic_euler", "midpoint", "rk4"])
def test_machine_code_and_virtual_machine_agree(integrator: str) -> None:
    m, start = START["two_link"]
    compiled, plain = (
        ReferenceGenerator(m, integrator=integrator, compiled=compiled, **start) for compiled in (True, False)
    )
    assert compiled.is_compiled and not plain.is_compiled
    for force in forces(50):
        np.testing.assert_allclose(
            everything(compiled.step(force)), everything(plain.step(force)), rtol=1e-11, atol=1e-11
        )


@pytest.mark.covering
@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("hold", ["zero", "linear"])
def test_simulate_gives_the_numbers_of_step(compiled: bool, hold: str) -> None:
    m, start = START["disk_on_sphere"]
    one, many, sparse = (
        ReferenceGenerator(m, integrator="rk4", force_hold=hold, compiled=compiled, **start) for _ in range(3)
    )
    inputs = forces(30)
    rows = np.array([everything(one.step(force)) for force in inputs])
    first, second = many.simulate(inputs[:13]), many.simulate(inputs[13:])
    for field in FIELDS:
        stacked = np.vstack([getattr(first, field), getattr(second, field)])
        kept = sparse.simulate(inputs, every=10) if field == "z" else None
        if kept is not None:
            np.testing.assert_array_equal(kept.z, stacked[9::10])
            assert len(kept) == 3
        width = stacked.shape[1]
        start_column = sum(getattr(first, f).shape[1] for f in FIELDS[: FIELDS.index(field)])
        np.testing.assert_array_equal(stacked, rows[:, start_column : start_column + width])
    assert one.steps == many.steps == 30
    np.testing.assert_array_equal(one.state.vector, many.state.vector)


@pytest.mark.parametrize("orientation", ["euler", "quaternion"])
def test_restore_repeats_to_the_last_bit(orientation: str) -> None:
    m, start = START["disk_on_sphere"]
    g = ReferenceGenerator(m, force_hold="linear", integrator="rk4", orientation=orientation, compiled=False, **start)
    for force in forces(10):
        g.step(wrench=force)
    saved = g.state
    first = [everything(g.step(wrench=force)) for force in forces(10, seed=1)]
    assert g.steps == 20 and g.time == pytest.approx(0.02)
    g.restore(saved)
    assert g.steps == 10
    np.testing.assert_array_equal([everything(g.step(wrench=force)) for force in forces(10, seed=1)], first)
    g.restore(saved)  # the saved state was not touched
    np.testing.assert_array_equal([everything(g.step(wrench=force)) for force in forces(10, seed=1)], first)


def test_reset_is_a_fresh_start() -> None:
    m, start = START["rolling_disk"]
    g, fresh = (ReferenceGenerator(m, force_hold="linear", integrator="rk4", compiled=False, **start) for _ in range(2))
    for force in forces(10):
        g.step(force)
    g.reset(**start)
    assert g.steps == 0
    for force in forces(10):
        np.testing.assert_array_equal(everything(g.step(force)), everything(fresh.step(force)))


def test_results_do_not_change_later() -> None:
    m, start = START["two_link"]
    g = ReferenceGenerator(m, compiled=False, **start)
    r = g.step(forces(1)[0])
    before = everything(r)
    r.z[:] = 7.0  # the caller's own copy
    g.step(forces(1)[0])
    assert everything(r)[1:].tolist() == before[1:].tolist() and g.state.vector[0] < 7.0


@pytest.mark.parametrize("integrator", ["algorithm1", "symplectic_euler"])
def test_a_wrench_is_the_task_force_that_the_mechanism_maps(integrator: str) -> None:
    m, start = START["disk_on_sphere"]
    by_wrench, by_force = (ReferenceGenerator(m, integrator=integrator, compiled=False, **start) for _ in range(2))
    for wrench in forces(20):
        q = by_force.state.vector[6:12]
        a, b = by_wrench.step(wrench=wrench), by_force.step(m.task_force(wrench, q))
        np.testing.assert_allclose(everything(a), everything(b), rtol=1e-11, atol=1e-11)


def test_task_force_and_wrench_add() -> None:
    m, start = START["disk_on_sphere"]
    both, wrench_only = (ReferenceGenerator(m, integrator="algorithm1", compiled=False, **start) for _ in range(2))
    f, w = forces(2)
    q = m.configuration(start["z"])
    total = m.task_force(w, q) + f
    a, b = both.step(f, wrench=w), wrench_only.step(total)
    np.testing.assert_allclose(everything(a), everything(b), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("period", (1e-3, 2e-3)),
        ("integrator", ("algorithm1", "symplectic_euler", "midpoint", "rk4")),
        ("velocity_projection", ("symmetric", "orthogonal", "off")),
        ("orientation", ("euler", "quaternion")),
        ("force_hold", ("zero", "linear")),
    ],
)
def test_each_option_acts(option: str, values: tuple[Any, ...]) -> None:
    m, start = START["rolling_disk"]
    ends = []
    integrator = "rk4" if option == "force_hold" else "algorithm1"
    for value in values:
        options: dict[str, Any] = {"integrator": integrator, "compiled": False, **start, option: value}
        g = ReferenceGenerator(m, **options)
        for wrench in forces(30):
            r = g.step(wrench=wrench)
        ends.append(r.z)
    for i, a in enumerate(ends):
        for b in ends[:i]:
            assert np.abs(a - b).max() > 1e-13


def test_linear_hold_of_a_ramp_is_exact_to_the_integrator() -> None:
    """A force c t moves a free mass by c t^3 / (6 m), except in the first period, where the ramp is not known yet."""
    m = PointOnSurface(lambda p: p[2], near=(0.0, 0.0, 0.0), mass=0.5)
    g = ReferenceGenerator(m, integrator="rk4", force_hold="linear", compiled=False)
    for k in range(1000):
        r = g.step([2.0 * k * 1e-3, 0.0, 0.0, 0.0, 0.0, 0.0])
    c, mass, T, t = 2.0, 0.5, 1e-3, 1.0
    missed = c * T**3 / (6 * mass) + c * T**2 / (2 * mass) * (t - T)
    assert r.z[0] == pytest.approx(c * t**3 / (6 * mass) - missed, rel=1e-12)


def test_an_inconsistent_start_is_projected_with_a_warning_or_kept() -> None:
    m = RollingDisk()
    with pytest.warns(UserWarning, match="z_velocity: constraint rolling along x is violated by 1"):
        g = ReferenceGenerator(m, z=[0, 0, 0, 0], z_velocity=[1.0, 0, 0, 0], compiled=False)
    nearest = m.project_velocity(m.configuration([0, 0, 0, 0]), [1.0, 0, 0, 0, 0, 0])[[0, 1, 3, 4]]
    np.testing.assert_allclose(g.state.vector[4:8], nearest, atol=1e-15)
    r = g.step(np.zeros(6))
    assert r.velocity_residual < 1e-16 and 0.0 < r.z_velocity[0] < 1.0
    with pytest.warns(UserWarning, match="the velocity is kept"):
        g = ReferenceGenerator(m, z=[0, 0, 0, 0], z_velocity=[1.0, 0, 0, 0], velocity_projection=False, compiled=False)
    assert g.step(np.zeros(6)).velocity_residual == pytest.approx(1.0)


def test_nominal_start() -> None:
    g = ReferenceGenerator(PointOnSurface(), compiled=False)
    assert g.step(np.zeros(6)).holonomic_residual < 1e-17
    assert ReferenceGenerator(RollingDisk(), compiled=False).step(np.zeros(6)).z.tolist() == [0, 0, 0, 0]


BAD_INPUTS = [
    ({"task_force": np.zeros(5)}, r"task_force: expected shape \(6,\), got \(5,\)"),
    ({"task_force": [0, 0, np.nan, 0, 0, 0]}, "task_force: expected finite numbers"),
    ({"wrench": [np.inf, 0, 0, 0, 0, 0]}, "wrench: expected finite numbers"),
    ({"wrench": "a"}, "wrench: expected 6 numbers"),
    ({}, "task_force: expected task_force, wrench or both"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD_INPUTS)
def test_bad_input_is_refused_by_name_and_leaves_the_state(arguments: dict[str, Any], message: str) -> None:
    m, start = START["two_link"]
    g = ReferenceGenerator(m, compiled=False, **start)
    g.step(forces(1)[0])
    before = g.state
    with pytest.raises(ValueError, match=message):
        g.step(**arguments)
    assert g.state.vector.tolist() == before.vector.tolist() and g.steps == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"task_forces": np.zeros((3, 5))}, r"task_forces: expected shape \(3, 6\), got \(3, 5\)"),
        ({"wrenches": np.full((3, 6), np.nan)}, "wrenches: expected finite numbers"),
        ({"wrenches": np.zeros((3, 6)), "every": 0}, "every: expected 1 or more, a whole number, got 0"),
        ({"wrenches": np.zeros(6)}, r"wrenches: expected shape \(6, 6\), got \(6,\)"),
        ({"wrenches": np.zeros((3, 6)), "task_forces": np.zeros((2, 6))}, r"wrenches: expected shape \(2, 6\)"),
        ({"wrenches": "a"}, "wrenches: expected numbers of shape"),
        ({}, "task_forces: expected"),
    ],
)
def test_bad_rows_are_refused_by_name(arguments: dict[str, Any], message: str) -> None:
    m, start = START["two_link"]
    g = ReferenceGenerator(m, compiled=False, **start)
    with pytest.raises(ValueError, match=message):
        g.simulate(**arguments)
    assert g.steps == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"period": 0.0}, "period: expected more than 0, got 0.0"),
        ({"z": [0.0, 0.0]}, r"z: expected shape \(1,\), got \(2,\)"),
        ({"z_velocity": [np.nan]}, "z_velocity: expected finite numbers"),
        (
            {"integrator": "euler"},
            "integrator: expected one of algorithm1, symplectic_euler, midpoint, rk4, got 'euler'",
        ),
        ({"orientation": "matrix"}, "orientation: expected one of euler, quaternion"),
        ({"force_hold": "cubic"}, "force_hold: expected one of zero, linear"),
        (
            {"velocity_projection": "none"},
            "velocity_projection: expected one of symmetric, orthogonal, off, got 'none'",
        ),
        ({"orientation": "quaternion"}, "orientation: only a rigid body"),
    ],
)
def test_bad_arguments_are_refused_by_name(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ReferenceGenerator(TwoLinkOnCircle(), compiled=False, **arguments)


@pytest.mark.parametrize("mechanism", [TwoLinkOnCircle, "two_link"])
def test_something_else_than_a_mechanism_is_refused(mechanism: Any) -> None:
    with pytest.raises(ValueError, match=r"^mechanism: expected a mechanism such as RollingDisk\(\), got "):
        ReferenceGenerator(mechanism)


def test_midpoint_needs_a_parametrisation_where_there_are_holonomic_constraints() -> None:
    with pytest.raises(ValueError, match="integrator: midpoint needs"):
        ReferenceGenerator(PointOnSurface(), integrator="midpoint", compiled=False)
    ReferenceGenerator(KnifeEdge(), integrator="midpoint", compiled=False)
    ReferenceGenerator(Pendulum(), integrator="midpoint", compiled=False)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_singular_configuration_is_named_and_leaves_the_state(compiled: bool) -> None:
    """Along a meridian of the sphere to the pole, where the angles are singular: step 501 starts there."""
    start: dict[str, Any] = {"z": [0.5, 0.0, 0.5], "z_velocity": [0.0, 0.0, -1.0], "compiled": compiled}
    with pytest.raises(SingularConfigurationError, match="not finite in step 499 of 1000"):  # within the step
        ReferenceGenerator(DiskOnSphere(), integrator="rk4", **start).simulate(np.zeros((1000, 6)))
    g = ReferenceGenerator(DiskOnSphere(), integrator="algorithm1", **start)
    before = g.state
    with pytest.raises(SingularConfigurationError, match="in step 500 of 1000; the state is unchanged"):
        g.simulate(np.zeros((1000, 6)))
    assert g.state.vector.tolist() == before.vector.tolist() and g.steps == 0
    with pytest.raises(SingularConfigurationError, match=r"inertia M is singular .*orientation='quaternion'"):
        for _ in range(1000):
            g.step(np.zeros(6))
    stuck = g.state
    assert stuck.steps == 500
    with pytest.raises(SingularConfigurationError):
        g.step(np.zeros(6))
    assert g.state.vector.tolist() == stuck.vector.tolist() and g.steps == stuck.steps


@pytest.mark.parametrize("compiled", [True, False])
def test_a_step_too_large_for_the_submanifold_is_refused(compiled: bool) -> None:
    """A hundred metres per second on a torus of a few centimetres: the next point of the surface is not found."""
    m = PointOnSurface()
    q = m.project_position(m.near)
    velocity = m.project_velocity(q, np.array([0.0, 30.0, 100.0]))
    g = ReferenceGenerator(m, integrator="algorithm1", z=q, z_velocity=velocity, compiled=compiled)
    with pytest.raises(SingularConfigurationError, match="configuration after the step is not found"):
        g.step(np.zeros(6))
    assert g.steps == 0


def test_an_implicit_rule_that_does_not_converge_is_refused() -> None:
    """The fixed-point iteration needs T^2 g / (4 l) below 1; here it is 3."""
    g = ReferenceGenerator(Pendulum(length=0.2), period=0.5, integrator="midpoint", z=[1.0], compiled=False)
    with pytest.raises(SingularConfigurationError, match="the step is too large"):
        g.step(np.zeros(6))


def test_starting_where_the_armassdoes_not_reach_is_refused() -> None:
    arm = TwoLinkOnCircle(base=(0.25, 0.0), circle_radius=0.06)
    with pytest.raises(SingularConfigurationError, match="cannot reach"):
        ReferenceGenerator(arm, z=[np.pi], compiled=False)
