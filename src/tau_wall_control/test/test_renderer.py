"""What the wall node computes in a tick, without the node: parameters, changes between ticks, the published state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import wall_cases
from numpy.testing import assert_array_equal

from tau_wall_control import HoldingWall, MovingPlanes, Plane, TauDevice, TauError, WallRenderer

STILL = np.zeros(6)


def values(inputs: tuple[str, ...] = (), **change: Any) -> dict[str, Any]:
    return {**wall_cases.values(scheme="sopc", **change), "inputs": list(inputs)}


@pytest.fixture
def inside(device: TauDevice) -> np.ndarray:
    return device.inverse_kinematics((0.0, 0.0, -1e-4))


def test_parameters_are_changed_whole_or_not_at_all(inside: np.ndarray) -> None:
    one, other = (WallRenderer.from_parameters(values()) for _ in range(2))
    for renderer in (one, other):
        renderer.step(inside, STILL)
    with pytest.raises(TauError, match="wall_normals: expected 6 numbers"):
        one.with_parameters(values(wall_points=[0.0] * 6))
    with pytest.raises(TauError, match="wall 1: normal: expected a direction"):
        one.set_walls([0.0] * 3, [0.0] * 3)
    assert_array_equal(one.step(inside, STILL).torque, other.step(inside, STILL).torque)


def test_walls_that_are_set_keep_the_contact_of_those_that_stay(inside: np.ndarray) -> None:
    renderer, twin = (WallRenderer.from_parameters(values()) for _ in range(2))
    for r in (renderer, twin):
        r.step(inside, STILL)
    renderer.set_walls([0.0, 0.0, 0.0, 0.0, -0.5, 0.0], [0.0, 0.0, 1.0, 0.0, 1.0, 0.0])
    changed = twin.with_parameters(
        values(wall_points=[0.0] * 4 + [-0.5, 0.0], wall_normals=[0.0, 0.0, 1.0, 0.0, 1.0, 0.0])
    )
    a, b = renderer.step(inside, STILL), changed.step(inside, STILL)
    assert_array_equal(a.torque, b.torque)
    assert a.in_contact.tolist() == [True, False]
    assert changed.controller is twin.controller


def test_a_change_of_parameters_does_not_restart_a_pose_that_is_held(device: TauDevice) -> None:
    """The home pose is behind the wall: steps there would begin a contact of their own."""
    theta = device.inverse_kinematics((0.005, 0.005, 9e-4))
    held = values(contact="holding", wall_points=[0.0, 0.0, 1e-3])
    one, other = (WallRenderer.from_parameters(held) for _ in range(2))
    for renderer in (one, other):
        for _ in range(20):
            renderer.step(theta, STILL)
    changed = one.with_parameters({**held, "release_gap": 2e-4})
    assert_array_equal(changed.step(theta, STILL).torque, other.step(theta, STILL).torque)


def test_the_report_has_what_the_node_publishes(device: TauDevice, inside: np.ndarray) -> None:
    renderer = WallRenderer.from_parameters(values())
    before = renderer.report()
    assert (before.operating_point, before.rendered_stiffness, before.in_contact.tolist()) == (-1, 0.0, [False])
    assert before.point.tolist() == [[0.0, 0.0, 0.0]] and before.normal.tolist() == [[0.0, 0.0, 1.0]]
    state = renderer.step(inside, STILL)
    report = renderer.report()
    assert_array_equal(report.effort, state.torque)
    assert_array_equal(report.saturation, np.abs(state.torque) / device.peak_torque)
    assert report.penetration[0] == state.penetration[0] and report.push[0] == state.push[0]
    assert report.rendered_stiffness == state.push[0] / state.penetration[0]
    commanded = renderer.report(0.5 * state.torque)
    assert_array_equal(commanded.saturation, 0.5 * report.saturation)


def test_planes_of_an_input_are_reported_on_their_surfaces(device: TauDevice, inside: np.ndarray) -> None:
    renderer = WallRenderer.from_parameters(values(inputs=("contact:planes",)))
    assert renderer.moving and len(renderer.report().point) == 0
    p, normal = device.forward_kinematics(inside)[0], np.array([[0.0, 0.0, 1.0]])
    planes = MovingPlanes.at_distances(
        p,
        key=np.array([7]),
        surface_point=np.array([[0.0, 0.0, -1e-3]]),
        signed_distance=np.array([-1e-4]),
        normal=normal,
        velocity=np.array([[0.01, 0.0, 0.0]]),
        inverse_mass=np.zeros(1),
        body=np.zeros(1),
    )
    assert np.asarray(planes.point)[0] @ normal[0] == pytest.approx(0.0, abs=1e-9)
    state, report = renderer.step(inside, STILL, planes), renderer.report()
    assert state.penetration[0] == pytest.approx(1e-4, abs=1e-9)
    assert report.point.tolist() == [[0.0, 0.0, -1e-3]] and report.velocity.tolist() == [[0.01, 0.0, 0.0]]


def test_a_device_in_its_safe_state_gets_no_torque_and_a_new_start(inside: np.ndarray) -> None:
    renderer = WallRenderer.from_parameters(values())
    first = renderer.step(inside, STILL)
    idle = renderer.step(inside, STILL, obeys=False)
    assert not idle.torque.any() and idle.operating_point == -1 and idle.in_contact.tolist() == [False]
    assert renderer.state is None and renderer.report().operating_point == -1
    assert_array_equal(renderer.step(inside, STILL).torque, first.torque)


def test_without_safe_stops_an_error_concerns_one_step(design: Any, wall: Plane, inside: np.ndarray) -> None:
    for renderer in (WallRenderer(design("sopc"), (wall,)), WallRenderer.around(HoldingWall(design("sopc"), wall))):
        with pytest.raises(TauError):
            renderer.step(np.full(6, np.nan), STILL)
        assert not renderer.stopped
        assert renderer.step(inside, STILL).in_contact.tolist() == [True]


def test_old_names_of_walls_with_safe_stops_work_and_warn(inside: np.ndarray) -> None:
    from tau_wall_control.walls import factory
    from tau_wall_control.walls.guard import GuardedWalls

    with pytest.warns(DeprecationWarning, match="make_walls has moved"):
        make_walls = factory.make_walls
    with pytest.warns(DeprecationWarning, match="use WallRenderer"):
        old = make_walls(values())
    new = WallRenderer.from_parameters(values())
    assert isinstance(old, GuardedWalls)
    assert_array_equal(old.step(inside, STILL), new.step(inside, STILL).torque)
    assert old.stiffness == new.rendered_stiffness and old.planes == new.planes and not old.stopped
    old.restart()
    assert old.state is None and old.count == new.device.tool_resolution
