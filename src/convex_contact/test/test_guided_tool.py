"""A guided tool in one convex problem: a plane carries the normal force, and friction holds up to its cone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from convex_contact import Material, Simulator, World
from convex_contact.scenes.guided_tool import GuidedWorld, SurfaceFriction

T, MU, NORMAL = 1e-3, 0.5, 8.0


@dataclass
class Plane:
    """The plane z = 0 as a guide."""

    mass: float = 0.5
    curvature: tuple[float, ...] = (0.0, 0.0)
    damping: float = 0.0

    def parametric(self, z: np.ndarray) -> np.ndarray:
        return np.array([*z, 0.0])

    def holonomic_residual(self, q: np.ndarray) -> np.ndarray:
        return np.array([q[2]])


def pushed(force: float, steps: int = 600) -> tuple[np.ndarray, GuidedWorld]:
    """Speeds along x under a force along x and a normal force, and the world."""
    world = World()
    world.add_sphere("tool", radius=0.01, mass=0.5, material=Material(stiffness=1e5, dissipation=0.0, friction=0.0))
    simulator = Simulator(world, period=T, relative_tolerance=1e-10)
    guided = GuidedWorld(simulator, "tool", Plane(), np.zeros(3), SurfaceFriction(MU, 2000.0, 60.0))
    guided.reset(z=np.zeros(2))
    steps_of = [guided.step(wrench=[force, 0.0, -NORMAL, 0.0, 0.0, 0.0]).twist[0] for _ in range(steps)]
    return np.array(steps_of), guided


def test_friction_below_its_cone_holds_the_tool() -> None:
    speed, guided = pushed(0.8 * MU * NORMAL)
    assert abs(speed[-1]) < 1e-3 * speed.max() and guided.now.sticks
    assert guided.now.friction[0] == pytest.approx(-0.8 * MU * NORMAL, rel=1e-3)
    assert guided.now.x[0] == pytest.approx(0.8 * MU * NORMAL / 2000.0, rel=1e-2)


def test_sliding_tool_accelerates_with_the_force_beyond_its_cone() -> None:
    speed, guided = pushed(1.5 * MU * NORMAL)
    assert not guided.now.sticks
    assert guided.now.multipliers[0] == pytest.approx(NORMAL, rel=1e-3)
    assert np.diff(speed)[-1] / T == pytest.approx(0.5 * MU * NORMAL / 0.5, rel=1e-3)
