"""Fig. 3 of the paper: the workspace, the wall, the operating points and the query points on the wall."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
from matplotlib.figure import Figure

from tau_wall_control.control.design import design_options, operating_points
from tau_wall_control.device.tau_device import TauDevice


def figure_3(device: TauDevice, query: np.ndarray) -> Figure:
    """Draws the device's workspace (blue), wall (green), the operating points of MOPC (red) and the query points.

    Args:
        device: gives workspace, wall and operating points.
        query: query points on the wall, shape (rows, columns, 3), in the world frame [m].
    """
    half, z = 1e3 * device.parameters.workspace.cube_edge / 2.0, 1e3 * device.parameters.wall.plane_z
    figure = Figure(figsize=(6.5, 5.5), layout="constrained")
    axes = figure.add_subplot(projection="3d")

    # The vertical axis of the drawing is the world's y; z points towards the user.
    for a, b in combinations(product((-half, half), repeat=3), 2):
        if np.count_nonzero(np.subtract(a, b)) == 1:  # an edge of the cube
            axes.plot(*np.transpose([a, b])[[0, 2, 1]], color="C0", label="_edge" if axes.lines else "workspace")
    corners = np.array([[-half, half], [-half, half]])
    axes.plot_surface(corners, np.full((2, 2), z), corners.T, color="C2", alpha=0.35, label="wall")
    points = 1e3 * np.array(operating_points(design_options(device, "mopc")))
    axes.scatter(*points.T[[0, 2, 1]], color="C3", s=30, label=f"{len(points)} operating points", depthshade=False)
    marks = 1e3 * query.reshape(-1, 3)
    axes.scatter(*marks.T[[0, 2, 1]], color="k", s=5, label=f"{len(marks)} query points", depthshade=False)

    axes.set(xlabel="x [mm]", ylabel="z [mm]", zlabel="y [mm]", box_aspect=(1, 1, 1))
    axes.view_init(elev=20.0, azim=-60.0)
    axes.legend(loc="upper left", fontsize=8)
    return figure
