"""The tooth: what a round tip meets on it is what the cones say, and it is symmetric."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from convex_contact.haptics.tool_planes import Planes, ToolPlanes
from convex_contact.model.world import WorldError
from convex_contact.scenes import tooth
from convex_contact.simulation.body_table import BodyTable
from convex_contact.simulation.simulator import Simulator

R = 5e-4
#: a chord of a circle of 32 corners lies so far inside it, at the radius where the tip touches the cone: 8 µm at 1.7 mm
CHORD = 1.7e-3 * (1.0 - np.cos(np.pi / tooth.CORNERS)) * np.tan(tooth.SLOPE)


@pytest.fixture(scope="module")
def near() -> Any:
    world = tooth.molar()
    bodies = BodyTable(Simulator(world, period=1e-3, still=True).dynamics)
    found = ToolPlanes(world, radius=R, reach=3e-3)
    return lambda *p: found.find(bodies, np.array(p))


def test_a_tip_lies_in_the_groove_between_two_flanks_and_in_the_pit_between_four(near: Any) -> None:
    for x, touched in ((-2.2e-3, {0, 2}), (-1e-3, {0, 2}), (0.0, {0, 1, 2, 3}), (1.5e-3, {1, 3}), (3e-3, {1, 3})):
        planes: Planes = near(x, 0.0, float(tooth.groove_height(x, R)))
        close = np.abs(planes.signed_distance) < CHORD
        assert set(planes.key[close].tolist()) == touched
        assert_allclose(planes.normal[close, 2], np.cos(tooth.SLOPE), atol=0.01)
        assert_allclose(planes.normal[close, 1].sum(), 0.0, atol=1e-9)  # mirror images
        assert not planes.inverse_mass.any() and not planes.velocity.any()


def test_apex_is_round_and_at_the_given_position(near: Any) -> None:
    for sign in (-1.0, 1.0):
        planes: Planes = near(sign * tooth.APART_X, tooth.APART_Y, R)
        i = int(np.argmin(planes.signed_distance))
        assert planes.key[i] == (2 if sign < 0.0 else 3)
        assert abs(planes.signed_distance[i]) < 1e-9
        assert_allclose(planes.normal[i], [0.0, 0.0, 1.0], atol=1e-6)


def test_the_planes_turn_without_jumps(near: Any) -> None:
    """Along a line in the groove, 0.1 mm deep: no faster than way over the radius that is left."""
    last, step = None, 2e-6
    for x in np.arange(-2.5e-3, 2.5e-3, step):
        planes: Planes = near(x, 1e-4, float(tooth.groove_height(x, R)) - 5e-5)
        normals = dict(zip(planes.key.tolist(), planes.normal, strict=True))
        for key in normals.keys() & (last or {}).keys():
            turn = np.linalg.norm(normals[key] - last[key])  # type: ignore[index]
            assert turn < 1.05 * step / (R - 2e-4)
        last = normals


def test_nothing_moves_and_without_a_tip_that_is_refused() -> None:
    world = tooth.molar(friction=0.3)
    with pytest.raises(WorldError, match="nothing can move"):
        Simulator(world, period=1e-3)
    sim = Simulator(world, period=1e-3, still=True)
    sim.step()
    assert sim.time == pytest.approx(1e-3)
    assert world.bodies[0].geometries[0].material.friction == 0.3


def test_tap_is_measured_from_the_tick_before_the_touch() -> None:
    n, part = 12, slice(2, 11)
    velocity, force, distance = np.zeros((n, 3)), np.zeros((n, 3)), np.full(n, 1e-3)
    velocity[:, 2] = [9, 9, -0.3, -0.3, -0.2, -0.1, 0.0, 0.05, 0.15, 0.1, 0.1, 9]  # 9: outside the part
    distance[4:9] = -1e-5, -3e-5, -4e-5, -2e-5, -1e-5
    force[6], force[11] = (3.0, 0.0, 4.0), (0.0, 0.0, 99.0)
    found = tooth.measure_tap(velocity, force, distance, part, "cusp 1")
    assert found is not None and found.name == "cusp 1"
    assert (found.speed, found.rebound) == (0.3, 0.15)
    assert (found.peak_force, found.penetration) == (5.0, 4e-5)
    assert found.stiffness == pytest.approx(5.0 / 4e-5)


def test_tip_that_stays_above_the_tooth_makes_no_tap() -> None:
    velocity, force, distance = np.zeros((5, 3)), np.zeros((5, 3)), np.array([-1e-5, 1e-5, 0.0, 1e-5, -1e-5])
    assert tooth.measure_tap(velocity, force, distance, slice(1, 4), "cusp 1") is None


def test_motion_in_the_groove_is_measured_from_its_line() -> None:
    x = np.array([-1.5e-3, -0.5e-3, 0.0, 1.0e-3])
    y, above = np.array([1e-5, -3e-5, 0.0, 2e-5]), np.array([0.0, 1e-5, -4e-5, 2e-5])
    position = np.column_stack((x, y, tooth.groove_height(x, R) + above))
    contact = np.array([[1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 1]], dtype=bool)  # flanks: 0, 1 and 2, 3
    pushes = np.array([[1, 1, 1, 0], [0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], dtype=bool)
    found = tooth.measure_groove(position, np.array([1e-5, 0.0, -6e-5, -2e-5]), contact, pushes, R)
    assert (found.sideways, found.depth, found.planes) == (3e-5, 6e-5, 3)
    assert (found.both_flanks, found.both_push) == (0.5, 0.25)
    assert (found.height, found.length) == pytest.approx((4e-5, 2.5e-3))
