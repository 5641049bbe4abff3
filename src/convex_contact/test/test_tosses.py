"""The recorded tosses: what the file says of itself, the physics in it, and known answers of the errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from convex_contact.scenes.toss import recorded_motion
from convex_contact.scenes.tosses import (
    HALF_WIDTH,
    PERIOD,
    RECORDING,
    Toss,
    load_tosses,
    mean_errors,
    position_errors,
    rotation_errors,
)


@pytest.fixture(scope="module")
def tosses() -> list[Toss]:
    return load_tosses()


def test_recording_is_complete(tosses: list[Toss]) -> None:
    assert len(tosses) == 285
    assert sum(toss.samples for toss in tosses) == 29521
    assert len({toss.number for toss in tosses}) == 285
    assert min(toss.samples for toss in tosses) == 80
    for toss in tosses:
        assert toss.orientation.shape == (toss.samples, 4)
        assert toss.time[-1] == pytest.approx((toss.samples - 1) / 148)


def test_velocities_are_backward_differences(tosses: list[Toss]) -> None:
    """In the board's axes, both: the mean over the interval before the sample, not after it."""
    before, after, spin_before, spin_body = [], [], [], []
    for toss in tosses[:20]:
        slope = np.diff(toss.position, axis=0) / PERIOD
        turns = Rotation.from_quat(toss.orientation)
        rate = (turns[1:] * turns[:-1].inv()).as_rotvec() / PERIOD
        before.append(np.abs(slope - toss.velocity[1:]).mean())
        after.append(np.abs(slope - toss.velocity[:-1]).mean())
        spin_before.append(np.abs(rate - toss.angular_velocity[1:]).mean())
        spin_body.append(np.abs(rate - turns[1:].inv().apply(toss.angular_velocity[1:])).mean())
    # the differences of the recorded positions have the recording's noise, some 0.05 mm per 6.8 ms
    assert np.mean(before) < 0.01 < np.mean(after)
    assert np.mean(spin_before) < 0.1 < np.mean(spin_body)


def test_the_recorded_motion_leads_from_sample_to_sample(tosses: list[Toss]) -> None:
    toss = tosses[3]
    twist = np.array([recorded_motion(toss)(time) for time in toss.time + 0.5 * PERIOD])
    np.testing.assert_allclose(toss.position[:-1] + PERIOD * twist[:-1, :3], toss.position[1:], atol=1e-12)
    turned = Rotation.from_rotvec(PERIOD * twist[:-1, 3:]) * Rotation.from_quat(toss.orientation[:-1])
    assert (turned * Rotation.from_quat(toss.orientation[1:]).inv()).magnitude().max() < 1e-7
    assert not twist[-1].any()


def test_cube_ends_at_rest_on_a_face(tosses: list[Toss]) -> None:
    for toss in tosses:
        down = np.abs(Rotation.from_quat(toss.orientation[-1]).as_matrix()[2])
        assert down.max() > np.cos(np.radians(3.0))  # a degree of calibration, and not all have settled
        assert np.linalg.norm(toss.velocity[-1]) < 0.02  # it stands; noise of differences
        assert toss.position[-1, 2] == pytest.approx(HALF_WIDTH, abs=2.5e-3)  # calibration of the board's height


def turned(toss: Toss, vector: np.ndarray) -> np.ndarray:
    return np.asarray((Rotation.from_rotvec(vector) * Rotation.from_quat(toss.orientation[1:])).as_quat())


def test_errors_of_the_recording_are_zero(tosses: list[Toss]) -> None:
    toss = tosses[3]
    assert mean_errors(toss.position[1:], toss.orientation[1:], toss) == (0.0, 0.0)
    assert rotation_errors(-toss.orientation[1:], toss).max() == 0.0  # the same rotations


@pytest.mark.parametrize("angle", [1e-7, 0.3, np.pi / 2, 3.0, np.pi - 1e-6])
def test_rotation_error_is_the_angle(tosses: list[Toss], angle: float) -> None:
    toss = tosses[3]
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    # rounding of a quaternion, 1e-16, is 4e-16 rad; near pi the derivative of arcsin is sqrt(2)
    np.testing.assert_allclose(rotation_errors(turned(toss, angle * axis), toss), angle, rtol=1e-7, atol=1e-14)


def test_beyond_half_a_turn_the_other_way_is_shorter(tosses: list[Toss]) -> None:
    toss = tosses[3]
    np.testing.assert_allclose(rotation_errors(turned(toss, np.array([0, 0, 4.0])), toss), 2 * np.pi - 4.0)


def test_position_error_is_in_widths(tosses: list[Toss]) -> None:
    toss = tosses[3]
    shift = np.array([0.03, -0.04, 0.12])  # 0.13 m
    errors = position_errors(toss.position[1:] + shift, toss)
    np.testing.assert_allclose(errors, 0.13 / 0.1048, rtol=1e-12)


def test_means_are_over_the_samples(tosses: list[Toss]) -> None:
    toss = tosses[3]
    n = toss.samples - 1
    position, orientation = toss.position[1:].copy(), toss.orientation[1:].copy()
    position[: n // 2, 0] += 0.1048
    orientation[-1] = turned(toss, np.array([0.5, 0.0, 0.0]))[-1]
    assert mean_errors(position, orientation, toss) == pytest.approx((n // 2 / n, np.degrees(0.5) / n))


def written(tmp_path: Path, **changes: np.ndarray | None) -> Path:
    with np.load(RECORDING) as data:
        arrays = {name: data[name] for name in data} | changes
    path = tmp_path / "tosses.npz"
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    return path


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"start": None}, "start: missing"),
        ({"samples": np.zeros((29521, 12))}, "samples: expected shape"),
        ({"samples": np.full((29521, 13), np.nan)}, "samples: expected finite"),
        ({"time_step": np.float64(0.01)}, "time_step: expected"),
        ({"start": np.arange(10)}, "start: expected increasing"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, changes: dict[str, np.ndarray | None], message: str) -> None:
    with pytest.raises(ValueError, match=rf"^tosses\.npz: {message}"):
        load_tosses(written(tmp_path, **changes))
