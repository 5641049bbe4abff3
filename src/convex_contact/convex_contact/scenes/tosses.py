"""Recorded tosses of a cube on a board, and the errors of a simulation of them.

The recording (`data/cube_tosses.npz`, its licence beside it) has 285 tosses at 148 Hz. A simulation starts from the
state of a toss's first sample; its errors at the samples after it are averaged over the samples, and over tosses.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

RECORDING = Path(__file__).parents[1] / "data" / "cube_tosses.npz"

#: values of the cube, as published with the recording: kg; kg m^2, any axis; m
MASS, INERTIA, HALF_WIDTH = 0.37, 8.1e-4, 0.0524
#: time between samples [s]
PERIOD = 1.0 / 148.0


@dataclass(frozen=True)
class Toss:
    """One toss; n samples, the first at time 0. Board's frame: z up, the board near z = 0.

    Attributes:
        number: in the original set.
        position: of the cube's centre (n, 3) [m].
        orientation: quaternion (x, y, z, w), body to board (n, 4).
        velocity: (n, 3) [m/s]. As recorded: the mean over the interval *before* the sample, (p_k - p_(k-1))/PERIOD.
        angular_velocity: in the board's axes (n, 3) [rad/s]; a mean over the same interval.
    """

    number: int
    position: np.ndarray
    orientation: np.ndarray
    velocity: np.ndarray
    angular_velocity: np.ndarray

    @property
    def samples(self) -> int:
        """Number of samples n."""
        return len(self.position)

    @property
    def time(self) -> np.ndarray:
        """Times of the samples (n,) [s]."""
        return PERIOD * np.arange(self.samples)


def cube_edges(position: np.ndarray, orientation: np.ndarray) -> np.ndarray:
    """Computes the ends of the cube's edges (12, 2, 3) [m] from its centre (3,) [m] and quaternion (x, y, z, w)."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
    edges = [(i, j) for i in range(8) for j in range(i) if np.abs(corners[i] - corners[j]).sum() == 2.0]
    placed = position + Rotation.from_quat(orientation).apply(HALF_WIDTH * corners)
    return np.asarray(placed[np.array(edges)])


def load_tosses(path: Path = RECORDING) -> list[Toss]:
    """Loads all tosses of a recording, in its order.

    Raises:
        ValueError: the file is no such recording; the message names the array.
    """
    with np.load(path) as data:
        for name, shape in (("samples", (None, 13)), ("start", (None,)), ("toss", (None,)), ("time_step", ())):
            if name not in data:
                raise ValueError(f"{path.name}: {name}: missing")
            if len(data[name].shape) != len(shape) or any(
                n is not None and n != m for n, m in zip(shape, data[name].shape, strict=True)
            ):
                raise ValueError(f"{path.name}: {name}: expected shape {shape}, got {data[name].shape}")
        samples, start, numbers = data["samples"].astype(np.float64), data["start"], data["toss"]
        period = float(data["time_step"])
    if abs(period - PERIOD) > 1e-9:
        raise ValueError(f"{path.name}: time_step: expected {PERIOD:.9f} s, got {period:.9f}")
    if not np.isfinite(samples).all():
        raise ValueError(f"{path.name}: samples: expected finite numbers")
    if len(start) != len(numbers) + 1 or start[0] != 0 or start[-1] != len(samples) or (np.diff(start) < 2).any():
        raise ValueError(f"{path.name}: start: expected increasing indices from 0 to {len(samples)}")
    rotations = Rotation.from_quat(samples[:, [4, 5, 6, 3]])
    orientation, spin = rotations.as_quat(), rotations.apply(samples[:, 10:])
    return [
        Toss(int(number), samples[a:b, :3], orientation[a:b], samples[a:b, 7:10], spin[a:b])
        for number, a, b in zip(numbers, start[:-1], start[1:], strict=True)
    ]


def position_errors(position: np.ndarray, toss: Toss) -> np.ndarray:
    """Returns distances of the centres over the cube's width, for samples 1 to n - 1 (n - 1,).

    Args:
        position: simulated, at samples 1 to n - 1 (n - 1, 3) [m].
        toss: recorded.
    """
    return np.linalg.norm(position - toss.position[1:], axis=1) / (2.0 * HALF_WIDTH)


def rotation_errors(orientation: np.ndarray, toss: Toss) -> np.ndarray:
    """Returns angles from the recorded to the simulated orientations (n - 1,) [rad], 0 to pi.

    Args:
        orientation: simulated, quaternions (x, y, z, w) at samples 1 to n - 1 (n - 1, 4).
        toss: recorded.
    """
    p, q = orientation, toss.orientation[1:]
    near = np.where(np.einsum("ij,ij->i", p, q) < 0.0, -1.0, 1.0)[:, None] * q  # q and -q are the same rotation
    return 4.0 * np.arcsin(0.5 * np.linalg.norm(p - near, axis=1))  # accurate for small angles, unlike arccos


def mean_errors(position: np.ndarray, orientation: np.ndarray, toss: Toss) -> tuple[float, float]:
    """Returns a toss's mean position error (fraction of the cube's width) and mean rotation error [degrees]."""
    return float(position_errors(position, toss).mean()), float(np.degrees(rotation_errors(orientation, toss)).mean())
