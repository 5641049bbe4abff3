"""The mechanism's numbers as records with named fields, and the codes of kernels that can fail.

`pack` makes three arrays from the parameters: the chains, the base's axes and the platform. All kernels take them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tau_wall_control.device.parameters import TauParameters

#: codes of kernels that can fail; UNREACHABLE + i and SINGULAR + i for chain i = 0, 1, 2
OK, UNREACHABLE, SINGULAR = 0, 1, 4
FK_DIVERGED = 7

#: one chain; masses in kg, lengths in m, inertias in kg m^2
CHAIN = np.dtype(
    [
        ("base_origin", np.float64, 3),  # A_i, world axes
        ("platform_point", np.float64, 3),  # b_i, platform axes
        ("length_1", np.float64),
        ("length_2", np.float64),
        ("elbow_sign", np.float64),  # s_i, 1 or -1
        ("carriage_inertia", np.float64),  # about the yaw axis
        ("mass_1", np.float64),
        ("com_1", np.float64),  # from the proximal joint along the link
        ("axial_inertia_1", np.float64),
        ("transverse_inertia_1", np.float64),  # about the centre of mass
        ("mass_2", np.float64),
        ("com_2", np.float64),
        ("axial_inertia_2", np.float64),
        ("transverse_inertia_2", np.float64),
        ("rotor_inertia", np.float64),  # at the joint
        ("viscous", np.float64),  # of yaw and pitch [N m s/rad]
        ("viscous_elbow", np.float64),  # [N m s/rad]
        ("coulomb", np.float64),  # of yaw and pitch [N m]
        ("smoothing_speed", np.float64),  # of the Coulomb friction [rad/s]
        ("gravity", np.float64, 3),  # in the chain's axes [m/s^2]
    ]
)

#: the platform; principal inertias about its centre of mass
PLATFORM = np.dtype(
    [
        ("mass", np.float64),
        ("com", np.float64, 3),  # from the TCP, platform axes
        ("inertia", np.float64, 3),
        ("gravity", np.float64, 3),  # world axes [m/s^2]
    ]
)


def chain_of(code: int) -> int:
    """Returns the number, 1 to 3, of the chain that a code UNREACHABLE + i or SINGULAR + i names."""
    return (code - UNREACHABLE) % 3 + 1


class MechanismArrays(NamedTuple):
    """Arrays of a mechanism for the kernels.

    Attributes:
        chains: records of the type CHAIN, (3,).
        base: R_B, chain axes to world axes (3, 3).
        platform: a record of the type PLATFORM, (1,).
    """

    chains: np.ndarray
    base: np.ndarray
    platform: np.ndarray


def pack(parameters: TauParameters) -> MechanismArrays:
    """Returns the kernels' arrays of a mechanism."""
    R_B = parameters.chains.base_axes.rotation
    gravity = np.array(parameters.frame.gravity)
    actuators, friction = parameters.actuators, parameters.friction
    rotor = actuators.capstan_ratio**2 * actuators.rotor_inertia
    chains, platform = np.zeros(3, CHAIN), np.zeros(1, PLATFORM)
    for chain, c in zip(chains, parameters.chains.all, strict=True):
        chain["base_origin"], chain["platform_point"] = c.base_origin, c.platform_point
        chain["length_1"], chain["length_2"], chain["elbow_sign"] = c.link_1_length, c.link_2_length, c.elbow_sign
        chain["carriage_inertia"], chain["rotor_inertia"] = c.carriage_inertia_yaw, rotor
        for number, link in enumerate((c.link_1, c.link_2), 1):
            chain[f"mass_{number}"], chain[f"com_{number}"] = link.mass, link.com
            chain[f"axial_inertia_{number}"] = link.inertia_axial
            chain[f"transverse_inertia_{number}"] = link.inertia_transverse
        chain["viscous"], chain["viscous_elbow"] = friction.viscous_actuated, friction.viscous_elbow
        chain["coulomb"], chain["smoothing_speed"] = friction.coulomb_actuated, friction.coulomb_smoothing_speed
        chain["gravity"] = R_B.T @ gravity
    p = parameters.platform
    platform["mass"], platform["com"], platform["inertia"] = p.mass, p.com, p.inertia_about_com
    platform["gravity"] = gravity
    return MechanismArrays(chains, np.ascontiguousarray(R_B), platform)
