"""The lightest tool that pushes a body quietly although the contact force reaches its reference a tick late."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from admittance_constraints import PointOnParaboloid, ReferenceGenerator
from admittance_constraints.display.external import lightest_tool
from convex_contact import Material, Simulator, World
from haptic_experiments.kit.signals import bisected_decades

#: body of the study [kg], contact stiffnesses [N/m], and relative width of the bisection's result
BODY_MASS, STIFFNESSES, NEAR = 0.15, (5e4, 1e6, 1e8), 0.03


@dataclass(frozen=True)
class SplitLimit:
    """The lightest tool at a contact."""

    stiffness: float  #: stiffness of the contact [N/m]
    closed_form: float  #: lightest tool by the closed form [kg]
    split: float  #: lightest tool as measured [kg]
    implicit_varies: float  #: relative error of the force of one implicit step with a hundredth of that tool


def pressed(mass: float, stiffness: float, *, implicit: bool, period: float) -> float:
    """Simulates a push of a free body; returns the relative error of the contact force at its end.

    Args:
        mass: mass of the tool [kg].
        stiffness: stiffness of the contact [N/m]; no dissipation.
        implicit: whether the tool is a free body of the world; else it follows a reference with the force a tick late.
        period: T [s].
    """
    force = 2.0
    surface = Material(stiffness=2.0 * stiffness, dissipation=0.0, relaxation_time=0.0, friction=0.0)
    due = force * BODY_MASS / (mass + BODY_MASS)
    world, body = World(gravity=(0.0, 0.0, 0.0)), {"radius": 0.01, "material": surface}
    world.add_sphere("tool", **body, **({"mass": mass} if implicit else {"prescribed": True}))  # type: ignore[arg-type]
    world.add_sphere("body", **body, mass=BODY_MASS, position=(0.02 - due / stiffness, 0.0, 0.0))  # type: ignore[arg-type]
    simulator = Simulator(world, period=period, relative_tolerance=1e-12)
    generator = ReferenceGenerator(PointOnParaboloid(mass=mass), period=period, integrator="symplectic_euler")
    felt, found = 1.000001 * due, []
    for _ in range(250):
        if implicit:
            simulator.apply_wrench("tool", (force, 0.0, 0.0))
        else:
            r = generator.step(wrench=[force - felt, 0.0, 0.0, 0.0, 0.0, 0.0])
            simulator.dynamics.prescribe("tool", r.twist)
        simulator.step()
        felt = float(simulator.contacts.impulse[:, 2].sum()) / period
        found.append(felt)
    return float(np.abs(np.array(found[-20:]) - due).max()) / due


def lightest(stiffness: float, period: float, *, implicit: bool = False) -> float:
    """Finds the lightest tool [kg] that pushes the body quietly, within a few percent, by bisection of decades."""
    steps = math.ceil(math.log2(4.0 / (math.log10(1.0 + NEAR) / 2.0)))
    return bisected_decades(
        lambda mass: pressed(mass, stiffness, implicit=implicit, period=period) < 1e-3, 0.0, -4.0, steps
    )


def limits(period: float) -> list[SplitLimit]:
    """Finds the lightest tool for some contact stiffnesses, by simulation and by the closed form."""
    rows = []
    for k in STIFFNESSES:
        due = lightest_tool(k, 0.0, period, BODY_MASS)
        implicit = pressed(0.01 * due, k, implicit=True, period=period)
        rows.append(SplitLimit(k, due, lightest(k, period), implicit))
    return rows
