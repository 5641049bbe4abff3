"""Refused definitions; every error names the constraint or part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

from admittance_constraints import Definition, Mechanism, MechanismError, Pendulum, ReferenceGenerator, RollingDisk


def define(statements: Callable[[Definition], Any]) -> Mechanism:
    class Stated(Mechanism):
        def define(self, d: Definition) -> None:
            statements(d)

    return Stated()


def planar(d: Definition) -> tuple[ca.SX, ca.SX]:
    """Makes a point mass in the plane x3 = 0."""
    q, qdot = d.coordinates(2)
    d.forward(q)
    d.inverse(d.x[:2])
    d.kinetic_energy(ca.sumsqr(qdot) / 2)
    return q, qdot


def circle(d: Definition) -> None:
    planar(d)
    d.holonomic("circle", ca.sumsqr(d.position) - 0.01)


def with_psi(d: Definition, psi: Callable[[ca.SX], Any], count: int = 1) -> None:
    circle(d)
    d.parametrisation(psi(d.parameters(count)))


def velocities(d: Definition, expression: Callable[[Definition], ca.SX]) -> None:
    planar(d)
    d.nonholonomic("slip", expression(d))


BAD: dict[str, tuple[Callable[[Definition], Any], str]] = {
    "no coordinates": (lambda d: None, "coordinates: none declared"),
    "no energy": (lambda d: d.forward(d.coordinates(1)[0]), "kinetic_energy: none stated"),
    "no kinematics": (lambda d: d.kinetic_energy(d.coordinates(1)[1] ** 2), "forward: x = phi"),
    "too many coordinates": (lambda d: d.coordinates(7), r"coordinates: expected 1 to 6 \(dim\(q\) <= dim\(x\)"),
    "coordinates twice": (lambda d: (d.coordinates(1), d.coordinates(1)), "coordinates: declared twice"),
    "too many rows": (lambda d: (planar(d), d.forward(ca.SX.zeros(7))), "forward: expected at most 6 rows, got 7"),
    "psi off the circle": (
        lambda d: with_psi(d, lambda z: [0.1 * ca.cos(z), 0.11 * ca.sin(z)]),
        r"constraint circle: psi\(z\) violates it by .* at z = \[",
    ),
    "psi without a dimension": (
        lambda d: with_psi(d, lambda z: [0.1 * ca.cos(z[0]), 0.1 * ca.sin(z[0])], 2),
        r"parametrisation: expected n - b = 2 - 1 parameters for the holonomic constraints circle, got 2",
    ),
    "psi that does not move": (
        lambda d: with_psi(d, lambda z: [0.1 + 0 * z, ca.SX(0)]),
        "parametrisation: dpsi/dz has dependent columns",
    ),
    "psi without parameters": (lambda d: (planar(d), d.parametrisation([ca.SX(0)])), "stated without parameters"),
    "parameters without psi": (lambda d: (planar(d), d.parameters(1)), r"psi\(z\) is not stated"),
    "psi of q": (
        lambda d: (circle(d), d.parameters(1), d.parametrisation(d.q)),
        "parametrisation: .* contains q_0, q_1",
    ),
    "constraint twice": (
        lambda d: (circle(d), d.holonomic("again", 2 * ca.sumsqr(d.position) - 0.02)),
        r"constraint again: depends on the constraints before it \(circle\)",
    ),
    "one name twice": (lambda d: (circle(d), d.holonomic("circle", d.x[0])), "constraint circle: the name is taken"),
    "constraint that q cannot meet": (
        lambda d: (planar(d), d.holonomic("height", d.x[2] - 0.1)),
        "constraint height: q does not influence it, and it is off by -0.1",
    ),
    "constraint of a stranger": (
        lambda d: (planar(d), d.holonomic("odd", d.x[0] - ca.SX.sym("stranger"))),
        "constraint odd: .* it contains stranger",
    ),
    "constraint of a velocity": (
        lambda d: (planar(d), d.holonomic("odd", d.xdot[0])),
        "constraint odd: expected an expression in x, position, rotation, q; it contains xdot_0",
    ),
    "several expressions": (lambda d: (planar(d), d.holonomic("pair", d.x[:2])), "constraint pair: expected one expr"),
    "constant velocity": (lambda d: velocities(d, lambda d: d.xdot[0] - 1), "constraint slip: expected .* linear"),
    "squared velocity": (lambda d: velocities(d, lambda d: d.xdot[0] ** 2), "constraint slip: expected .* linear"),
    "over-constrained": (
        lambda d: (planar(d), [d.holonomic(f"c{i}", d.x[0] * (i + 1) + d.x[1] ** (i + 1)) for i in range(3)]),
        "3 constraints on 2 coordinates",
    ),
    "no configuration": (
        lambda d: (planar(d), d.holonomic("nowhere", ca.sumsqr(d.position) + 0.01)),
        "constraints nowhere: no configuration found",
    ),
    "linear energy": (
        lambda d: (planar(d), d.kinetic_energy(d.qdot[0])),
        "kinetic_energy: expected a quadratic form",
    ),
    "cubic energy": (lambda d: (planar(d), d.kinetic_energy(d.qdot[0] ** 3)), "kinetic_energy: expected a quadratic"),
    "negative energy": (
        lambda d: (planar(d), d.kinetic_energy(-2 * d.qdot[0] ** 2)),
        "kinetic_energy: the inertia is not positive definite",
    ),
    "redundant coordinates": (
        lambda d: (planar(d), d.forward([d.q[0] + d.q[1]])),
        "forward: dphi/dq has dependent columns",
    ),
    "damping of one": (
        lambda d: (planar(d), d.damping_force(d.qdot[0])),
        "damping_force: expected 2 rows, got 1",
    ),
    "bad inertia": (lambda d: d.rigid_body(1.0, [1.0, 2.0]), r"inertia: expected \(Jxx, Jyy, Jzz\) or a \(3, 3\)"),
}


@pytest.mark.parametrize("name", list(BAD))
def test_contradictions_are_named(name: str) -> None:
    statements, message = BAD[name]
    with pytest.raises(MechanismError, match=message):
        define(statements)


def test_rows_of_zeros_are_dropped() -> None:
    def statements(d: Definition) -> None:
        planar(d)
        d.holonomic("in the plane", d.x[2])
        d.holonomic("circle", ca.sumsqr(d.position) - 0.01)
        d.nonholonomic("no spin", d.xdot[3])

    m = define(statements)
    assert m.dropped_constraints == ("in the plane", "no spin")
    assert m.constraint_names == ("circle",) and m.constraint_matrix([0.1, 0.0]).shape == (1, 2)


def test_good_statements_pass() -> None:
    define(circle)
    define(lambda d: with_psi(d, lambda z: [0.1 * ca.cos(z), 0.1 * ca.sin(z)]))
    define(lambda d: velocities(d, lambda d: d.xdot[0] - d.x[1] * d.xdot[1]))
    define(lambda d: (d.rigid_body(1.0, [[1.0, 0.1, 0.0], [0.1, 1.0, 0.0], [0.0, 0.0, 1.0]]), d.nominal(q=[0.5] * 6)))


def test_methods_refuse_wrong_shapes_by_name() -> None:
    m = RollingDisk()
    for call, message in (
        (lambda: m.inertia(np.zeros(5)), r"q: expected shape \(6,\), got \(5,\)"),
        (lambda: m.coriolis_force(np.zeros(6), np.zeros(5)), r"qdot: expected shape \(6,\), got \(5,\)"),
        (lambda: m.parametric(np.zeros(6)), r"z: expected shape \(4,\), got \(6,\)"),
        (lambda: m.task_force([np.nan] * 6, np.zeros(6)), "wrench: expected finite numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_a_point_off_the_surface_is_refused_by_constraint() -> None:
    with pytest.raises(ValueError, match=r"z: constraint circle is violated by 0\.03"):
        define(circle).configuration([0.2, 0.0])


def test_parameters_reach_the_equations_by_name() -> None:
    assert Pendulum(mass=0.7).parameters["mass"] == 0.7
    with pytest.raises(MechanismError, match="parameter mass: declared twice"):
        define(lambda d: (d.parameter("mass", 1.0), d.parameter("mass", 2.0)))


@pytest.mark.parametrize("name", ["inertia", "forward", "parameters", "constraint_names"])
def test_an_attribute_that_would_hide_one_of_mechanism_s_is_refused(name: str) -> None:
    class Hiding(Pendulum):
        def define(self, d: Definition) -> None:
            super().define(d)

        def __init__(self) -> None:
            setattr(self, name, 1.0)
            super().__init__()

    with pytest.raises(MechanismError, match=f"^attribute {name}: the name belongs to Mechanism"):
        Hiding()


@pytest.mark.parametrize("state", ["holonomic", "nonholonomic"])
def test_a_constraint_may_be_stated_by_a_number_and_is_then_refused_by_name(state: str) -> None:
    with pytest.raises(MechanismError, match="constraint wrong"):
        define(lambda d: (planar(d), getattr(d, state)("wrong", 3.0)))


def test_mechanism_without_freedom_does_not_move() -> None:
    """As many constraints as coordinates: every entry of the compiled step has its place, also those always zero."""

    def both(d: Definition) -> None:
        planar(d)
        d.holonomic("x", d.x[0] - 0.1)
        d.holonomic("y", d.x[1])
        d.nominal(q=[0.1, 0.0])

    generator = ReferenceGenerator(define(both), compiled=False)
    for _ in range(3):
        r = generator.step(wrench=[3.0, -2.0, 0.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(r.x[:2], [0.1, 0.0], atol=1e-15)
    np.testing.assert_allclose(r.multipliers, [-3.0, 2.0], atol=1e-12)
