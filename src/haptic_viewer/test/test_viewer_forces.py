"""Forces, friction cones, patches and penetrations on the page."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from haptic_msgs.msg import ContactArray, WallState
from haptic_viewer.forces import FrictionRatios, Loads, WorldFrame, cones, depths, patches

PERIOD = 2e-3
TURN = (0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5))  # a quarter turn about z


def contacts(points: Any, normal: Any, normal_force: Any, tangential: Any) -> ContactArray:
    n = len(points)
    return ContactArray(
        period=PERIOD,
        body_a=[0] * n,
        body_b=[1] * n,
        position=np.ravel(points).astype(float).tolist(),
        normal=np.ravel([normal] * n).astype(float).tolist(),
        normal_impulse=(PERIOD * np.asarray(normal_force, dtype=float)).tolist(),
        tangential_impulse=(PERIOD * np.ravel(tangential).astype(float)).tolist(),
    )


UP = (0.0, 0.0, 1.0)
SQUARE = [(1.0, 1.0, 0.0), (-1.0, 1.0, 0.0), (1.0, -1.0, 0.0), (-1.0, -1.0, 0.0)]


def test_arrows_are_forces_in_the_base_frame_at_the_contact() -> None:
    message = contacts([(0.2, 0.0, 0.0)], UP, [5.0], [(3.0, 0.0, 0.0)])
    frame = WorldFrame.of({"frame_position": [0.0, 0.0, 0.1], "frame_orientation": list(TURN), "scale": 2.0})
    normal, tangential = Loads.of(message, frame).arrows(0.01)
    at = [0.0, 0.1, 0.1]  # turned to y, halved, lifted
    np.testing.assert_allclose(normal, [[at, [0.0, 0.1, 0.15]]], atol=1e-12)
    np.testing.assert_allclose(tangential, [[at, [0.0, 0.13, 0.1]]], atol=1e-12)


def test_contacts_without_a_force_have_no_arrow() -> None:
    message = contacts(SQUARE[:3], UP, [0.0, 1.0, 0.01], np.zeros((3, 3)))
    normal, tangential = Loads.of(message, WorldFrame()).arrows(0.01)
    assert len(normal) == 1 and len(tangential) == 0


def test_the_ratio_of_a_pair_that_slides_is_its_coefficient_and_is_kept() -> None:
    ratios = FrictionRatios()
    slides = Loads.of(contacts(SQUARE[:1], UP, [10.0], [(4.0, 0.0, 0.0)]), WorldFrame())
    sticks = Loads.of(contacts(SQUARE[:1], UP, [10.0], [(1.0, 0.0, 0.0)]), WorldFrame())
    assert ratios.of(sticks) == pytest.approx([0.1])
    assert ratios.of(slides) == pytest.approx([0.4])
    assert ratios.of(sticks) == pytest.approx([0.4])


def test_a_cone_holds_the_forces_that_stick() -> None:
    loads = Loads.of(contacts([(0.0, 0.0, 0.5)], UP, [10.0], [(4.0, 0.0, 0.0)]), WorldFrame())
    corners = cones(loads, np.array([0.4]), 0.01).reshape(-1, 3)
    apex, rim = corners[::3], np.concatenate([corners[1::3], corners[2::3]])
    np.testing.assert_allclose(apex, np.broadcast_to([0.0, 0.0, 0.5], apex.shape))
    np.testing.assert_allclose(rim[:, 2], 0.6)  # 10 N above
    np.testing.assert_allclose(np.hypot(rim[:, 0], rim[:, 1]), 0.04)  # 0.4 of it aside


def test_the_patch_of_a_pair_is_the_polygon_of_its_contacts() -> None:
    loads = Loads.of(contacts(SQUARE, UP, [1.0] * 4, np.zeros((4, 3))), WorldFrame())
    triangles = patches(loads)
    area = 0.5 * np.linalg.norm(np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]), axis=1)
    assert area.sum() == pytest.approx(4.0)
    few = patches(Loads.of(contacts(SQUARE[:2], UP, [1.0] * 2, np.zeros((2, 3))), WorldFrame()))
    assert 0.0 < np.abs(few[..., 2]).max() + np.ptp(few[..., 0]) < 2.1  # a small disc at each
    assert patches(Loads.of(contacts([], UP, [], []), WorldFrame())).shape == (0, 3, 3)


def test_penetrations_are_drawn_as_many_times_as_asked_for() -> None:
    message = WallState(normal=[*UP, 1.0, 0.0, 0.0], penetration=[1e-4, 0.0])
    (line,) = depths(message, np.array([0.0, 0.0, -1e-4]), 100.0)
    np.testing.assert_allclose(line, [[0.0, 0.0, 0.0], [0.0, 0.0, -0.01]], atol=1e-12)


@pytest.mark.parametrize("given", [{"frame_position": [0.0]}, {"frame_position": ["x", 0.0, 0.0]}, {"scale": "a"}])
def test_a_frame_that_is_none_is_an_error(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        WorldFrame.of(given)
