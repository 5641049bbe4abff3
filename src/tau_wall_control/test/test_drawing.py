"""The drawing of the device and its walls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tau_wall_control import (
    Plane,
    TauDevice,
    WallRenderer,
    design_wall_controller,
)
from tau_wall_control.walls.drawing import FORCE, HIDDEN, TOUCHED, WALL, draw
from tau_wall_control.walls.planes import MovingPlanes


class Sheet:
    """A canvas that keeps what is drawn."""

    def __init__(self) -> None:
        self.shapes: dict[str, tuple[Any, ...]] = {}

    def __getattr__(self, kind: str) -> Callable[..., None]:
        def keep(name: str, *shape: Any) -> None:
            assert len(shape[-1]) == 4
            self.shapes[name] = (kind, *shape)

        return keep


def test_the_drawing_has_links_of_their_length_and_walls_where_they_are() -> None:
    device = TauDevice.default()
    planes = (Plane((0.0, 0.0, 0.0), (0.0, 0.6, 0.8)), Plane((0.0, -0.02, 0.0), (0.0, 1.0, 0.0)))
    renderer = WallRenderer(design_wall_controller(device, "scheduled"), planes)
    p = np.array([0.004, 0.0, -1e-3])
    renderer.reset(device.inverse_kinematics((0.004, 0.0, 1e-3)))
    state = renderer.step(device.inverse_kinematics(p), np.zeros(6))
    sheet = Sheet()
    draw(sheet, device, planes, state)
    shapes = sheet.shapes
    for i, chain in enumerate(device.parameters.chains.all, 1):
        shoulder, elbow, wrist = shapes[f"chain {i}"][1]
        assert_allclose(shoulder, chain.base_origin)
        assert np.linalg.norm(elbow - shoulder) == pytest.approx(chain.link_1_length)
        assert np.linalg.norm(wrist - elbow) == pytest.approx(chain.link_2_length)
        assert_allclose(wrist, p + np.array(chain.platform_point), atol=1e-9)
    for i, plane in enumerate(planes, 1):
        kind, centre, (x, y, z, w), size, colour = shapes[f"wall {i}"]
        third = [2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)]
        assert kind == "box"
        assert_allclose(third, plane.normal, atol=1e-12)
        assert (np.array(plane.point) - centre) @ np.array(plane.normal) == pytest.approx(0.5 * size[2])
        assert colour == (TOUCHED if i == 1 else WALL)
    _, contact, _, colour = shapes["contact 1"]
    assert (contact - np.array(planes[0].point)) @ np.array(planes[0].normal) == pytest.approx(0.0, abs=1e-12)
    assert colour == FORCE and shapes["contact 2"][-1] == shapes["force 2"][-1] == shapes["friction"][-1] == HIDDEN
    _, start, end, *_ = shapes["force 1"]
    assert_allclose(end - start, 2e-3 * state.push[0] * np.array(planes[0].normal), atol=1e-12)
    assert state.push[0] > 0.1


def test_tangent_planes_are_small_and_touch_at_their_points() -> None:
    device = TauDevice.default()
    renderer = WallRenderer(design_wall_controller(device, "scheduled"), None)
    theta = device.inverse_kinematics((0.0, 0.0, -1e-4))
    renderer.reset(theta)
    state = renderer.step(theta, np.zeros(6), MovingPlanes([1], [[0, 0, 0]], [[0, 0, 1]]))
    sheet = Sheet()
    draw(sheet, device, [Plane((0.0, 0.0, -1e-3), (0.0, 0.0, 1.0))], state, tangent=True)
    assert sheet.shapes["wall 1"][3][:2] == (0.01, 0.01)
    assert_allclose(sheet.shapes["contact 1"][1], [0.0, 0.0, -1e-3], atol=1e-15)
