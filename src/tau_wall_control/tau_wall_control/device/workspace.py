"""Singularity and workspace analysis, with plots (matplotlib)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from tau_wall_control.device.rotations import rotation_from_angles
from tau_wall_control.device.tau_device import TauDevice
from tau_wall_control.errors import SingularError, UnreachableError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHAIN_COLOURS = ("#1f77b4", "#d62728", "#2ca02c")


def singular_values(
    device: TauDevice, position: ArrayLike, rotation: ArrayLike | None = None, length: float | None = None
) -> np.ndarray:
    """Returns the singular values (6,) of J with its angular rows times a length [m/rad], falling.

    Args:
        device: the device.
        position, rotation: the pose.
        length: the device file's characteristic length if not given [m].

    Raises:
        UnreachableError, SingularError: there is no Jacobian.
    """
    J = device.jacobian_at(position, rotation).copy()
    J[3:] *= device.parameters.workspace.characteristic_length if length is None else length
    return np.linalg.svd(J, compute_uv=False)


def serial_margins(device: TauDevice, position: ArrayLike, rotation: ArrayLike | None = None) -> np.ndarray:
    """Returns (3, 2): distance of each wrist from its yaw axis [m], |sin q3|; 0 in a serial singularity."""
    points, q = device.points(position, rotation), device.chain_angles(position, rotation)
    local = (points[:, 2] - points[:, 0]) @ device.arrays[1]
    return np.column_stack([np.hypot(local[:, 0], local[:, 1]), np.abs(np.sin(q[:, 2]))])


def link_clearance(device: TauDevice, position: ArrayLike, rotation: ArrayLike | None = None) -> float:
    """Returns the smallest distance between centre lines of links of different chains [m]."""
    points = device.points(position, rotation)
    links = [(i, points[i, k], points[i, k + 1]) for i in range(3) for k in range(2)]
    return min(_segment_distance(a, b, c, d) for (i, a, b), (j, c, d) in product(links, links) if i < j)


def _segment_distance(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> float:
    """Returns the distance of the segments a-b and c-d."""
    u, v, w = b - a, d - c, a - c
    uu, uv, vv, uw, vw = u @ u, u @ v, v @ v, u @ w, v @ w
    denominator = uu * vv - uv * uv
    s = np.clip((uv * vw - vv * uw) / denominator, 0.0, 1.0) if denominator > 1e-15 else 0.0
    t = np.clip((uv * s + vw) / vv, 0.0, 1.0)
    s = np.clip((uv * t - uw) / uu, 0.0, 1.0)
    return float(np.linalg.norm(w + s * u - t * v))


@dataclass(frozen=True)
class WorkspaceReport:
    """Extremes over a set of poses.

    Attributes:
        poses: (n, 6) x, y, z, a, b, c.
        reachable: (n,).
        condition: (n,) of the length-normalised J; NaN out of reach.
        singular_values: (n, 6) [m/rad].
        clearance: smallest distance between links of different chains [m].
    """

    poses: np.ndarray
    reachable: np.ndarray
    condition: np.ndarray
    singular_values: np.ndarray
    clearance: float

    @property
    def condition_range(self) -> tuple[float, float]:
        """Smallest and largest condition number."""
        return float(np.nanmin(self.condition)), float(np.nanmax(self.condition))

    @property
    def singular_range(self) -> tuple[float, float]:
        """Smallest and largest singular value [m/rad]."""
        return float(np.nanmin(self.singular_values)), float(np.nanmax(self.singular_values))


def cube_poses(device: TauDevice, per_axis: int = 9) -> np.ndarray:
    """Returns poses (per_axis^3, 6): the cube's grid at zero orientation."""
    half = device.parameters.workspace.cube_edge / 2.0
    axis = np.linspace(-half, half, per_axis)
    return np.array([(x, y, z, 0.0, 0.0, 0.0) for x, y, z in product(axis, axis, axis)])


def turned_poses(device: TauDevice, per_axis: int = 9, position: ArrayLike = (0.0, 0.0, 0.0)) -> np.ndarray:
    """Returns poses (per_axis^3, 6): all orientations of the required range at a position."""
    reach = device.parameters.workspace.orientation_range
    axis = np.linspace(-reach, reach, per_axis)
    return np.array([(*np.asarray(position, dtype=float), *angles) for angles in product(axis, axis, axis)])


def analyse(device: TauDevice, poses: Iterable[ArrayLike], *, clearance: bool = False) -> WorkspaceReport:
    """Returns the conditioning over poses [x, y, z, a, b, c], and the clearance on request."""
    rows = np.array([np.asarray(pose, dtype=float) for pose in poses])
    values = np.full((len(rows), 6), np.nan)
    smallest = np.inf if clearance else np.nan
    for i, pose in enumerate(rows):
        R = rotation_from_angles(pose[3:])
        try:
            values[i] = singular_values(device, pose[:3], R)
        except (UnreachableError, SingularError):
            continue
        if clearance:
            smallest = min(smallest, link_clearance(device, pose[:3], R))
    condition = values[:, 0] / values[:, -1]
    return WorkspaceReport(rows, ~np.isnan(values[:, 0]), condition, values, float(smallest))


def bounding_box(device: TauDevice, poses: Iterable[ArrayLike]) -> np.ndarray:
    """Returns the edges (3,) of the box around shoulders, elbows and platform points over poses [m]."""
    points = np.concatenate(
        [device.points(p[:3], rotation_from_angles(p[3:])).reshape(9, 3) for p in map(np.asarray, poses)]
    )
    return points.max(axis=0) - points.min(axis=0)


def static_load(device: TauDevice, point: ArrayLike, force: float, normal: ArrayLike = (0.0, 0.0, 1.0)) -> float:
    """Returns the torque of the worst joint over its limit that holds a push into a wall and the device's weight."""
    n = np.concatenate([np.asarray(normal, dtype=float) / np.linalg.norm(normal), np.zeros(3)])
    d = device.dynamics(point)
    torque = np.linalg.solve(d.actuated_map.T, d.gravity_force + force * n)
    return float(np.abs(torque).max()) / device.peak_torque


def apparent_masses(device: TauDevice, position: ArrayLike, rotation: ArrayLike | None = None) -> np.ndarray:
    """Returns (4,) [kg]: eigenvalues of the translational apparent mass at the TCP, rising, and the one along z."""
    compliance = np.linalg.inv(device.dynamics(position, rotation).mass_matrix)[:3, :3]
    return np.array([*np.linalg.eigvalsh(np.linalg.inv(compliance)), 1.0 / compliance[2, 2]])


def plot_workspace(device: TauDevice, per_axis: int = 15, z: float = 0.0, extent: float | None = None) -> Figure:
    """Plots conditioning and smallest singular value over a section of constant z, with the cube's outline."""
    from matplotlib.figure import Figure

    half = device.parameters.workspace.cube_edge / 2.0
    reach = 2.0 * half if extent is None else extent
    axis = np.linspace(-reach, reach, per_axis)
    report = analyse(device, [(x, y, z, 0.0, 0.0, 0.0) for y in axis for x in axis])
    figure = Figure(figsize=(10.0, 4.2), layout="constrained")
    maps = (
        ("condition number of the normalised Jacobian", np.clip(report.condition, 1.0, 20.0)),
        ("smallest singular value [m/rad]", report.singular_values[:, -1]),
    )
    for axes, (title, numbers) in zip(figure.subplots(1, 2), maps, strict=True):
        image = axes.pcolormesh(1e3 * axis, 1e3 * axis, numbers.reshape(per_axis, per_axis), shading="nearest")
        corner = 1e3 * half * np.array([-1, 1, 1, -1, -1])
        axes.plot(corner, 1e3 * half * np.array([-1, -1, 1, 1, -1]), "w", lw=1.5)
        axes.set(title=title, xlabel="x [mm]", ylabel="y [mm]", aspect="equal")
        figure.colorbar(image, ax=axes)
    figure.suptitle(f"stand-in device, z = {1e3 * z:g} mm; white: out of reach, frame: workspace")
    return figure


def plot_mechanism(
    device: TauDevice, position: ArrayLike = (0.0, 0.0, 0.0), rotation: ArrayLike | None = None
) -> Figure:
    """Plots the links at a pose in three views."""
    from matplotlib.figure import Figure

    points = device.points(position, rotation)
    figure = Figure(figsize=(11.0, 3.8), layout="constrained")
    views = (("front", 0, 1), ("side", 2, 1), ("top", 0, 2))
    names = "xyz"
    half = device.parameters.workspace.cube_edge / 2.0
    for axes, (title, a, b) in zip(figure.subplots(1, 3), views, strict=True):
        axes.add_patch(_square(half))
        for i, chain in enumerate(points):
            axes.plot(1e3 * chain[:, a], 1e3 * chain[:, b], "o-", color=CHAIN_COLOURS[i], label=f"chain {i + 1}")
        ring = points[[0, 1, 2, 0], 2]
        axes.plot(1e3 * ring[:, a], 1e3 * ring[:, b], "k-", lw=2.0)
        axes.set(title=title, xlabel=f"{names[a]} [mm]", ylabel=f"{names[b]} [mm]", aspect="equal")
    axes.legend(fontsize=8)
    return figure


def _square(half: float):  # type: ignore[no-untyped-def]
    from matplotlib.patches import Rectangle

    edge = 2e3 * half
    return Rectangle((-1e3 * half, -1e3 * half), edge, edge, fill=False, ls=":", ec="0.5")
