"""Records of the compiled step of the walls."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tau_wall_control.control.laws import LONGEST_DELAY

#: largest number of planes, and of planes in contact, in one sample
MOST_PLANES, MOST_CONTACTS = 32, 6

#: a plane of one sample
PLANE = np.dtype(
    [
        ("point", np.float64, 3),  # [m]
        ("normal", np.float64, 3),  # unit vector towards the free side
        ("velocity", np.float64, 3),  # of the surface [m/s]
        ("inverse_mass", np.float64),  # of the body behind it along the normal [1/kg]
        ("body", np.float64),  # number of that body
    ]
)

#: memory of a plane from sample to sample
PLANE_MEMORY = np.dtype(
    [
        ("distance", np.float64),  # measured in the last sample, negative inside [m]
        ("push", np.float64),  # its normal force [N]
        ("integral", np.float64),  # xi of -distance over the contact [m s]
        # its filter
        ("filtered_distance", np.float64),  # [m]
        ("filtered_rate", np.float64),  # [m/s]
        ("disturbance", np.float64),  # estimated acceleration beyond the model [m/s^2]
        ("age", np.int64),  # samples since a jump of the disturbance; 0 without
        ("past", np.float64, LONGEST_DELAY),  # accelerations by commands that do not act yet [m/s^2]
        # of one that moves
        ("past_surface", np.float64, LONGEST_DELAY),  # accelerations W f of its surface away from the tool [m/s^2]
        ("surface_velocity", np.float64, 3),  # of the last sample [m/s]
        ("expected_change", np.float64),  # of the surface's velocity along the normal in this period [m/s]
        ("driven", np.float64),  # acceleration of its surface towards the tool by other forces [m/s^2]
        ("in_contact", np.bool_),
        ("is_new", np.bool_),  # its filter starts with the next sample
    ],
    align=True,
)

#: settings of the step
SETTINGS = np.dtype(
    [
        ("mode", np.int64),  # flags of `laws`
        ("delay", np.int64),  # known delay of a command [samples]
        ("period", np.float64),  # T [s]
        ("peak", np.float64),  # limit of each joint torque [N m]
        ("release_gap", np.float64),  # distance at which contact ends at the latest [m]
        ("friction_stiffness", np.float64),  # [N/m]
        ("friction_damping", np.float64),  # [N s/m]
        ("friction_code", np.int64),  # of the law; -1 without friction
        ("interpolated", np.bool_),  # gains interpolated between operating points
        ("exact_gravity", np.bool_),  # tau_g of the pose, not of the operating point
    ],
    align=True,
)

#: result of a step
SAMPLE = np.dtype(
    [
        ("torque", np.float64, 6),  # to command [N m]
        ("twist", np.float64, 6),  # of the tool [m/s, rad/s]
        ("friction", np.float64, 3),  # force along the planes [N]
        ("elastic_displacement", np.float64, 3),  # of the friction, kept between samples [m]
        ("operating_point", np.int64),  # index of the subspace
        ("saturated", np.bool_),  # torque limits acted
    ],
    align=True,
)


class WallLaw(NamedTuple):
    """Settings and gains of the step; they are constant.

    Attributes:
        settings: record of the type SETTINGS, (1,).
        table: gains of the operating points (points^3, m).
        points: operating points along each axis [m].
        edges: edges of the subspaces along each axis [m].
        filter_gains: gains of the planes' filters, see `wall_filter`.
        friction: coefficients of the friction law per newton of normal force.
    """

    settings: np.ndarray
    table: np.ndarray
    points: np.ndarray
    edges: np.ndarray
    filter_gains: np.ndarray
    friction: np.ndarray
