"""A simulated 6-DOF admittance display that stands in for the Cobotic Hand Controller, held by a simulated hand.

The paper (Faulring et al.) gives neither the display's linkage nor its dimensions. This is a stand-in: slides x, y, z
carry a gimbal whose axes meet at the tool point, so that with the joint positions (x, y, z, yaw, tilt, roll)

    p = (x, y, z),    R = Rz(yaw) Rx(tilt) Ry(roll),    twist = J q',    J = diag(I, E)
    E = [z | Rz x | Rz Rx y],    det E = -cos(tilt),    singular values 1, sqrt(1 +- sin(tilt))

The origin of the base frame is the tool point at home, where the tool's axes are those of the base, z upwards. The
drives' reflected inertia M dominates, so it is diagonal in the joints and there are no centrifugal forces of the
display. Footnote 5 gives the apparent inertia at a transmission ratio of 1:1 and the backdrive friction F_c of the
translations; how both vary with the steering of the transmissions is not modelled. Each joint moves by

    M v' = u - F_c sgn(v) + (J^T w)_i,    w = hand's wrench + end effector's wrench

with dry friction by the implicit Euler method: the impulse that would stop the joint, cut off at F_c dt, so that it
sticks exactly. What hand and end effector weigh and what their inertia takes acts with the acceleration of the step
before, so the drives' inertia must exceed theirs; it must be twice as large. Stops are inelastic.

A velocity servo in each joint follows the command v_c, a_c that left the driver `servo_latency` before:

    u = M (2 pi f (v_c - v) + (pi f)^2 integral of (v_c - v) dt + a_c)

Both poles are at pi f; a constant force displaces by force / (M (pi f)^2) for good. Once in a period the driver makes
v_c = v_d + g (q_d - T v_d - q_measured), where q_d is the place to be at the end of the period, so that the position
compared is the one wanted at the time of the measurement.

The load cell, between platform and end effector and fixed to the tool frame, reads user and end effector alike. The
driver takes out the end effector's weight and inertia (end of section II-H), with the measured orientation and
twist and the acceleration that the servo follows now, through a filter like the cell's, and reports the user's
wrench in the base frame. Newton and Euler for the end effector (mass m, centre c, inertia J_c, gravity g) are

    force = m (g - a_c),    moment = c x force - J_c alpha - omega x J_c omega
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal

import numpy as np
from numba import njit
from pydantic import Field

from haptic_core.commands import ACCELERATION, POSITION, VELOCITY, Motion
from haptic_devices import encoder, force_sensor
from haptic_devices.device import DeviceParameters, Joint, Reading, Truth, load_parameters
from haptic_devices.operator import SimulatedAdmittanceDevice
from haptic_devices.spatial_hand import SpatialHand, muscle_wrench
from haptic_devices.spatial_motion import GRIP
from haptic_devices.urdf import FRAME, MOVED, STEEL, TOOL, Robot

DEFAULT_FILE = Path(__file__).with_name("cobotic_hand_controller.yaml")

#: integration steps per control period: 0.1 ms at 1 kHz, 1/80 of the servo's time constant
SUBSTEPS = 10
GRAVITY = 9.81

_NAMES = ("x", "y", "z", "yaw", "tilt", "roll")
_YAW, _TILT, _ROLL = 3, 4, 5


class CoboticHandControllerParameters(DeviceParameters):
    """Numbers of the display, its servo and its sensors; see cobotic_hand_controller.yaml for the reasons."""

    range_translation: float = Field(gt=0.0, le=1.0, description="stop of each slide, both ways from home [m]")
    range_yaw: float = Field(gt=0.0, le=10.0, description="stop of the yaw, both ways [rad]")
    range_tilt: float = Field(gt=0.0, le=1.4, description="stop of the tilt, both ways, below pi/2 [rad]")
    range_roll: float = Field(gt=0.0, le=20.0, description="stop of the roll, both ways [rad]")
    inertia_translation: float = Field(ge=0.1, le=100.0, description="apparent inertia of each slide [kg]")
    inertia_rotation: float = Field(ge=0.001, le=1.0, description="of each joint of the gimbal [kg m^2]")
    friction_translation: float = Field(ge=0.0, le=100.0, description="backdrive friction of each slide [N]")
    friction_rotation: float = Field(ge=0.0, le=10.0, description="of each joint of the gimbal [N m]")
    force_limit: float = Field(gt=0.0, le=1e4, description="largest effort of each slide [N]")
    torque_limit: float = Field(gt=0.0, le=1e3, description="of each joint of the gimbal [N m]")
    speed_limit: float = Field(gt=0.0, le=10.0, description="largest speed of each slide [m/s]")
    rate_limit: float = Field(gt=0.0, le=100.0, description="of each joint of the gimbal [rad/s]")
    servo_bandwidth: float = Field(ge=1.0, le=200.0, description="proportional gain over inertia f [Hz]")
    servo_latency: float = Field(ge=0.0, le=0.1, description="from the command until the servo follows it [s]")
    position_gain: float = Field(ge=0.0, le=500.0, description="outer loop's gain on the position's error g [1/s]")
    position_resolution: float = Field(ge=0.0, le=0.01, description="one count of a slide's position [m]")
    angle_resolution: float = Field(ge=0.0, le=0.1, description="one count of a gimbal joint's angle [rad]")
    velocity_cutoff: float = Field(gt=0.0, le=1e5, description="corner frequency of the velocity filter [Hz]")
    end_effector_mass: float = Field(ge=0.0, le=20.0, description="beyond the load cell [kg]")
    end_effector_center_x: float = Field(ge=-0.5, le=0.5, description="its centre from the tool point, tool frame [m]")
    end_effector_center_y: float = Field(ge=-0.5, le=0.5, description="likewise [m]")
    end_effector_center_z: float = Field(ge=-0.5, le=0.5, description="likewise [m]")
    end_effector_inertia_x: float = Field(ge=0.0, le=1.0, description="its principal moments, tool frame [kg m^2]")
    end_effector_inertia_y: float = Field(ge=0.0, le=1.0, description="likewise [kg m^2]")
    end_effector_inertia_z: float = Field(ge=0.0, le=1.0, description="likewise [kg m^2]")
    compensation: Literal["full", "weight", "none"] = Field(
        description="what is taken out of the load cell's wrench: the end effector's weight and inertia, or its weight"
    )
    sensor_cutoff: float = Field(gt=0.0, le=2000.0, description="corner frequency of the load cell's filter [Hz]")
    force_noise: float = Field(ge=0.0, le=10.0, description="RMS noise of each force reading [N]")
    force_resolution: float = Field(ge=0.0, le=10.0, description="one count of force [N]")
    force_range: float = Field(gt=0.0, le=1e5, description="largest force that the load cell reports [N]")
    torque_noise: float = Field(ge=0.0, le=1.0, description="RMS noise of each torque reading [N m]")
    torque_resolution: float = Field(ge=0.0, le=1.0, description="one count of torque [N m]")
    torque_range: float = Field(gt=0.0, le=1e5, description="largest torque that the load cell reports [N m]")


# ---- kinematics -----------------------------------------------------------------------------------


@njit(cache=True)
def rotation(q: np.ndarray, matrix: np.ndarray) -> None:
    """Writes R (3, 3), tool to base, of joint positions (6,)."""
    cy, sy = np.cos(q[3]), np.sin(q[3])
    ct, st = np.cos(q[4]), np.sin(q[4])
    cr, sr = np.cos(q[5]), np.sin(q[5])
    matrix[0, 0], matrix[0, 1], matrix[0, 2] = cy * cr - sy * st * sr, -sy * ct, cy * sr + sy * st * cr
    matrix[1, 0], matrix[1, 1], matrix[1, 2] = sy * cr + cy * st * sr, cy * ct, sy * sr - cy * st * cr
    matrix[2, 0], matrix[2, 1], matrix[2, 2] = -ct * sr, st, ct * cr


@njit(cache=True)
def tool_jacobian(q: np.ndarray, jacobian: np.ndarray) -> None:
    """Writes the tool's Jacobian (6, 6) in the base frame, rows [linear; angular]."""
    cy, sy, ct, st = np.cos(q[3]), np.sin(q[3]), np.cos(q[4]), np.sin(q[4])
    jacobian[:, :] = 0.0
    jacobian[0, 0] = jacobian[1, 1] = jacobian[2, 2] = jacobian[5, 3] = 1.0
    jacobian[3, 4], jacobian[4, 4] = cy, sy
    jacobian[3, 5], jacobian[4, 5], jacobian[5, 5] = -sy * ct, cy * ct, st


@njit(cache=True)
def forward(q: np.ndarray, qd: np.ndarray, pose: np.ndarray, twist: np.ndarray) -> None:
    """Writes the tool's pose (7,), quaternion x, y, z, w, and twist (6,) in the base frame."""
    pose[0:3] = q[0:3]
    twist[0:3] = qd[0:3]
    cy, sy, ct, st = np.cos(q[3]), np.sin(q[3]), np.cos(q[4]), np.sin(q[4])
    twist[3] = cy * qd[4] - sy * ct * qd[5]
    twist[4] = sy * qd[4] + cy * ct * qd[5]
    twist[5] = qd[3] + st * qd[5]
    cy, sy = np.cos(0.5 * q[3]), np.sin(0.5 * q[3])
    ct, st = np.cos(0.5 * q[4]), np.sin(0.5 * q[4])
    cr, sr = np.cos(0.5 * q[5]), np.sin(0.5 * q[5])
    x, y, z, w = cy * st, sy * st, sy * ct, cy * ct
    pose[3], pose[4], pose[5], pose[6] = cr * x - sr * z, cr * y + sr * w, cr * z + sr * x, cr * w - sr * y


@njit(cache=True)
def inverse(pose: np.ndarray, near: np.ndarray, q: np.ndarray) -> None:
    """Writes the joint positions (6,) of a pose (7,): |tilt| <= 90 degrees, yaw and roll of the turn nearest to `near`.

    Args:
        pose: of the tool; the quaternion need not have length one. If its length is zero, or at 90 degrees of tilt
            where yaw and roll are not unique, the yaw (and with a zero quaternion all angles) is that of `near`.
        near: joint positions (6,).
        q: result.
    """
    q[0:3] = pose[0:3]
    x, y, z, w = pose[3], pose[4], pose[5], pose[6]
    square = x * x + y * y + z * z + w * w
    if square == 0.0:
        q[3:6] = near[3:6]
        return
    s = 2.0 / square
    sine = s * (y * z + x * w)
    r20, r22 = s * (x * z - y * w), 1.0 - s * (x * x + y * y)
    cosine = np.sqrt(r20 * r20 + r22 * r22)
    q[4] = np.arctan2(sine, cosine)
    if cosine > 1e-12:
        q[3] = np.arctan2(-s * (x * y - z * w), 1.0 - s * (x * x + z * z))
        q[5] = np.arctan2(-r20, r22)
    else:  # Rz(yaw) Rx(+-90 degrees) Ry(roll) is a rotation by yaw +- roll
        q[3] = near[3]
        both = np.arctan2(s * (x * y + z * w), 1.0 - s * (y * y + z * z))
        q[5] = (both - near[3]) * (1.0 if sine > 0.0 else -1.0)
    for i in (3, 5):
        q[i] += 2.0 * np.pi * np.round((near[i] - q[i]) / (2.0 * np.pi))


@njit(cache=True)
def joint_rates(q: np.ndarray, twist: np.ndarray, rates: np.ndarray) -> None:
    """Writes J^-1 times a twist (6,)."""
    cy, sy, ct, st = np.cos(q[3]), np.sin(q[3]), np.cos(q[4]), np.sin(q[4])
    rates[0:3] = twist[0:3]
    rates[4] = cy * twist[3] + sy * twist[4]
    rates[5] = (-sy * twist[3] + cy * twist[4]) / ct
    rates[3] = twist[5] - st * rates[5]


@njit(cache=True)
def bias(q: np.ndarray, qd: np.ndarray, angular: np.ndarray) -> None:
    """Writes E' (yaw', tilt', roll')^T (3,): the angular acceleration without joint accelerations [rad/s^2]."""
    cy, sy, ct, st = np.cos(q[3]), np.sin(q[3]), np.cos(q[4]), np.sin(q[4])
    yaw, tilt, roll = qd[3], qd[4], qd[5]
    angular[0] = -sy * tilt * yaw - cy * ct * roll * yaw + sy * st * roll * tilt
    angular[1] = cy * tilt * yaw - sy * ct * roll * yaw - cy * st * roll * tilt
    angular[2] = ct * roll * tilt


# ---- driver ---------------------------------------------------------------------------------------


@njit(cache=True)
def aim(
    fields: int,
    motion: np.ndarray,
    by_joints: np.ndarray,
    measured: np.ndarray,
    limits: np.ndarray,
    gain: float,
    period: float,
    target: np.ndarray,
    near: np.ndarray,
    command: np.ndarray,
) -> None:
    """Moves the target on by a commanded motion and makes the servo's command of it.

    Args:
        fields: of the `Motion`; 0 holds the target's position.
        motion: pose (7), twist (6), acceleration (6), joint positions (6), joint velocities (6).
        by_joints: (2,) whether the joint positions and velocities hold instead of pose and twist.
        measured: joint positions (6).
        limits: (6,) stops.
        gain: of the outer loop [1/s].
        period: T [s].
        target: joint positions (6), velocities (6), accelerations (6); updated.
        near: (6,) the positions before the stops cut them off, from which the next turn is counted; updated.
        command: velocities (6) and accelerations (6) for the servo; result.
    """
    q, qd, qdd = target[0:6], target[6:12], target[12:18]
    qd[:] = 0.0
    qdd[:] = 0.0
    if fields & POSITION:
        if by_joints[0]:
            near[:] = motion[19:25]
        else:
            inverse(motion[0:7], near.copy(), near)
        q[:] = near
    elif fields & VELOCITY:
        q[:] = measured
    for i in range(6):
        q[i] = min(max(q[i], -limits[i]), limits[i])
    if fields & VELOCITY:
        if by_joints[1]:
            qd[:] = motion[25:31]
        else:
            joint_rates(q, motion[7:13], qd)
        if fields & ACCELERATION:
            rate = motion[13:19].copy()
            angular = np.empty(3)
            bias(q, qd, angular)
            rate[3:6] -= angular
            joint_rates(q, rate, qdd)
        if not fields & POSITION:
            q += period * qd
            near[:] = q
    for i in range(6):
        if abs(q[i]) >= limits[i]:
            q[i] = math.copysign(limits[i], q[i])
            if q[i] * qd[i] > 0.0:
                qd[i] = qdd[i] = 0.0
    pull = gain if fields & POSITION or not fields & VELOCITY else 0.0
    for i in range(6):
        command[i] = qd[i] + pull * (q[i] - period * qd[i] - measured[i])
        command[6 + i] = qdd[i]


# ---- simulation -----------------------------------------------------------------------------------


@njit(cache=True)
def own_wrench(
    matrix: np.ndarray, body: np.ndarray, omega: np.ndarray, rate: np.ndarray, gravity: float, wrench: np.ndarray
) -> None:
    """Writes the wrench (6,) of the end effector on the platform at the tool point, in the base frame.

    Args:
        matrix: R (3, 3).
        body: mass, centre of mass (3) and principal moments (3) in the tool frame.
        omega: angular velocity (3,).
        rate: of the tool's twist, (6,).
        gravity: along -z [m/s^2].
        wrench: result.
    """
    c = matrix @ body[1:4]
    spin, alpha = matrix.T @ omega, matrix.T @ rate[3:6]
    w = omega
    lever = w[0] * c[0] + w[1] * c[1] + w[2] * c[2]
    square = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    f, turning = wrench[0:3], np.empty(3)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        a = rate[i] + rate[3 + j] * c[k] - rate[3 + k] * c[j] + w[i] * lever - c[i] * square
        f[i] = -body[0] * (a + (gravity if i == 2 else 0.0))
        turning[i] = body[4 + i] * alpha[i] + (body[4 + k] - body[4 + j]) * spin[j] * spin[k]
    turning = matrix @ turning
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        wrench[3 + i] = c[j] * f[k] - c[k] * f[j] - turning[i]


@njit(cache=True)
def to_tool(matrix: np.ndarray, wrench: np.ndarray, result: np.ndarray) -> None:
    """Writes a wrench (6,) of the base frame in the tool frame."""
    for i in range(3):
        result[i] = result[3 + i] = 0.0
        for j in range(3):
            result[i] += matrix[j, i] * wrench[j]
            result[3 + i] += matrix[j, i] * wrench[3 + j]


@njit(cache=True)
def integrate(
    truth: np.ndarray,
    rate: np.ndarray,
    integral: np.ndarray,
    followed: np.ndarray,
    cell: np.ndarray,
    commands: np.ndarray,
    latency: int,
    drive: np.ndarray,
    bandwidth: float,
    powered: bool,
    body: np.ndarray,
    sensor_filter: np.ndarray,
    table: np.ndarray,
    tremor: np.ndarray,
    impedance: np.ndarray,
    hand_inertia: np.ndarray,
    start: int,
    period: float,
) -> None:
    """Lets one control period pass.

    Args:
        truth: values of `Truth`; positions, velocities, efforts and operator wrench are updated.
        rate: (6,) of the tool's twist in the last step; updated.
        integral: (6,) the servo's integral part over the inertia [m/s^2], [rad/s^2]; updated.
        followed: (6,) joint accelerations that the servo was told, mean over the period; result.
        cell: (6, 2) of the load cell's filter, tool frame; updated.
        commands: (n, 12) velocities and accelerations of the last n periods, that of period k in row k modulo n.
        latency: [steps], at most SUBSTEPS (n - 1).
        drive: rows inertia, friction, limit of the effort, stop, (4, 6).
        bandwidth: 2 pi f [rad/s].
        powered: whether the servo acts.
        body: of `own_wrench`.
        sensor_filter: of `force_sensor`.
        table: the hand's plan; empty: nobody holds the tool.
        tremor: of the hand.
        impedance: of the hand.
        hand_inertia: (6,) mass and rotational inertia of each axis.
        start: number of the period.
        period: T [s].
    """
    q, qd, effort, user = truth[0:6], truth[6:12], truth[12:18], truth[31:37]
    dt = period / SUBSTEPS
    pose, twist, after, matrix = np.empty(7), np.empty(6), np.empty(6), np.empty((3, 3))
    hand, own, load, read = np.zeros(6), np.empty(6), np.empty(6), np.empty(6)
    effort[:] = 0.0
    user[:] = 0.0
    followed[:] = 0.0
    held = table.shape[0] > 0
    row = table[min(start, table.shape[0] - 1)] if held else np.zeros(GRIP + 1)
    forward(q, qd, pose, twist)
    for n in range(SUBSTEPS):
        command = commands[(start - (latency + SUBSTEPS - 1 - n) // SUBSTEPS) % commands.shape[0]]
        if held:
            muscle_wrench(row, tremor, start * period + n * dt, impedance, pose, twist, hand)
            for i in range(6):
                hand[i] -= row[GRIP] * hand_inertia[i] * rate[i]
        rotation(q, matrix)
        own_wrench(matrix, body, twist[3:6], rate, GRAVITY, own)
        for i in range(6):
            user[i] += hand[i] / SUBSTEPS
            own[i] += hand[i]
        to_tool(matrix, own, read)
        cy, sy, ct, st = np.cos(q[3]), np.sin(q[3]), np.cos(q[4]), np.sin(q[4])
        load[0:3] = own[0:3]
        load[3] = own[5]
        load[4] = cy * own[3] + sy * own[4]
        load[5] = ct * (-sy * own[3] + cy * own[4]) + st * own[5]
        for i in range(6):
            force_sensor.low_pass(sensor_filter, read[i], cell[i])
            inertia, friction, limit, end = drive[0, i], drive[1, i], drive[2, i], drive[3, i]
            u = 0.0
            if powered:
                error = command[i] - qd[i]
                wanted = inertia * (bandwidth * error + integral[i] + command[6 + i])
                u = min(max(wanted, -limit), limit)
                if u == wanted or error * u < 0.0:
                    integral[i] += dt * 0.25 * bandwidth * bandwidth * error
                followed[i] += command[6 + i] / SUBSTEPS
            effort[i] += u / SUBSTEPS
            speed = qd[i] + dt * (u + load[i]) / inertia
            slowed = abs(speed) - dt * friction / inertia
            qd[i] = math.copysign(slowed, speed) if slowed > 0.0 else 0.0
            q[i] += dt * qd[i]
            if abs(q[i]) >= end:
                q[i] = math.copysign(end, q[i])
                if q[i] * qd[i] > 0.0:  # inelastic
                    qd[i] = 0.0
        forward(q, qd, pose, after)
        for i in range(6):
            rate[i] = (after[i] - twist[i]) / dt
            twist[i] = after[i]


@njit(cache=True)
def observe(
    truth: np.ndarray,
    followed: np.ndarray,
    cell: np.ndarray,
    expected: np.ndarray,
    body: np.ndarray,
    kind: int,
    sensor_filter: np.ndarray,
    sensor: np.ndarray,
    noise: np.ndarray,
    settled: bool,
    reading: np.ndarray,
    jacobian: np.ndarray,
) -> None:
    """Fills the tool's pose and twist of `Truth` and `Reading`, the measured Jacobian, and the user's wrench.

    Args:
        truth: values of `Truth`.
        followed: of `integrate`.
        cell: of `integrate`.
        expected: (6, 2) filter of the end effector's wrench that the driver expects, tool frame; updated.
        body: the end effector as the driver knows it, see `own_wrench`.
        kind: of the compensation: 0 none, 1 weight, 2 weight and inertia.
        sensor_filter: of `force_sensor`, for a step of one period.
        sensor: rows noise, resolution, range, (3, 6).
        noise: (6,) standard normal.
        settled: the device has been at rest: the filter of `expected` starts in its steady state.
        reading: values of `Reading`.
        jacobian: (6, 6) result.
    """
    forward(truth[0:6], truth[6:12], truth[18:25], truth[25:31])
    forward(reading[0:6], reading[6:12], reading[18:25], reading[25:31])
    reading[12:18] = truth[12:18]
    q, qd = reading[0:6], reading[6:12]
    tool_jacobian(q, jacobian)
    matrix, own, model = np.empty((3, 3)), np.zeros(6), np.empty(6)
    rotation(q, matrix)
    if kind == 2:
        rate, angular = jacobian @ followed, np.empty(3)
        bias(q, qd, angular)
        rate[3:6] += angular
        own_wrench(matrix, body, reading[28:31], rate, GRAVITY, own)
    elif kind == 1:
        own_wrench(matrix, body, np.zeros(3), np.zeros(6), GRAVITY, own)
    to_tool(matrix, own, model)
    for i in range(6):
        if settled:
            expected[i, 0], expected[i, 1] = model[i], 0.0
        else:
            force_sensor.low_pass(sensor_filter, model[i], expected[i])
        value = force_sensor.report(cell[i, 0], sensor[0, i] * noise[i], sensor[2, i], sensor[1, i])
        model[i] = value - expected[i, 0]
    reading[31:34] = matrix @ model[0:3]
    reading[34:37] = matrix @ model[3:6]


_KINDS = {"none": 0, "weight": 1, "full": 2}


class CoboticHandController(SimulatedAdmittanceDevice):
    """The simulated display; `hand` None leaves the handle alone.

    Args:
        parameters: numbers of the display.
        hand: who holds the handle.
        seed: of the load cell's noise.

    Attributes:
        target_position: (6,) joint positions that the driver follows [m], [rad].
        target_velocity: (6,) [m/s], [rad/s].
        command: (6,) velocity and (6,) acceleration that the servo got last, not yet delayed.
    """

    parameters: CoboticHandControllerParameters
    hand: SpatialHand | None
    base_frame, tool_frame = "cobotic_hand_controller_base", "cobotic_hand_controller_tool"

    def __init__(
        self, parameters: CoboticHandControllerParameters, hand: SpatialHand | None = None, seed: int = 0
    ) -> None:
        p = self.parameters = parameters
        self.hand = hand
        self.seed = seed
        self._check()
        reach = np.array([p.range_translation] * 3 + [p.range_yaw, p.range_tilt, p.range_roll])
        pairs = (
            (p.inertia_translation, p.inertia_rotation),
            (p.friction_translation, p.friction_rotation),
            (p.force_limit, p.torque_limit),
        )
        self._drive = np.array([*(np.repeat(pair, 3) for pair in pairs), reach])
        self._limits = reach
        self.joints = tuple(
            Joint(
                name,
                effort,
                p.speed_limit if i < 3 else p.rate_limit,
                -end,
                end,
                "prismatic" if i < 3 else "revolute",
            )
            for i, (name, effort, end) in enumerate(zip(_NAMES, self._drive[2].tolist(), reach.tolist(), strict=True))
        )
        center = (p.end_effector_center_x, p.end_effector_center_y, p.end_effector_center_z)
        self._body = np.array([p.end_effector_mass, *center, *self._moments()])
        sensor = (p.force_noise, p.torque_noise, p.force_resolution, p.torque_resolution, p.force_range, p.torque_range)
        self._sensor = np.repeat(sensor, 3).reshape(3, 6)
        self._table: np.ndarray = hand.table if hand else np.zeros((0, GRIP + 1))
        self._tremor: np.ndarray = hand.tremor if hand else np.zeros((0, 13))
        self._impedance: np.ndarray = hand.impedance if hand else np.zeros(4)
        self._hand_inertia: np.ndarray = hand.inertia if hand else np.zeros(6)
        self._reading, self._truth = Reading(6), Truth(6)
        self._jacobian = np.zeros((6, 6))
        self._target, self._near, self.command = np.zeros(18), np.zeros(6), np.zeros(12)
        self.target_position, self.target_velocity = self._target[0:6], self._target[6:12]
        self._motion, self._by_joints = np.zeros(31), np.zeros(2, dtype=np.bool_)
        self._rate, self._integral, self._followed = np.zeros(6), np.zeros(6), np.zeros(6)
        self._cell, self._expected = np.zeros((6, 2)), np.zeros((6, 2))

    def _moments(self) -> tuple[float, float, float]:
        p = self.parameters
        return p.end_effector_inertia_x, p.end_effector_inertia_y, p.end_effector_inertia_z

    def _check(self) -> None:
        """Refuses numbers that are possible each but not together."""
        p, hand = self.parameters, self.hand.parameters if self.hand else None
        moments = self._moments()
        for axis, moment in zip("xyz", moments, strict=True):
            others = sum(moments) - moment
            if moment > others * (1.0 + 1e-12):
                raise ValueError(
                    f"end_effector_inertia_{axis}: expected at most the sum of the other two, {others:g} kg m^2, "
                    f"got {moment:g}"
                )
        # both below one half: the coupling by the last step's acceleration converges, the two shares add up at most
        mass = p.end_effector_mass + (hand.mass if hand else 0.0)
        if mass > p.inertia_translation / 2.0:
            raise ValueError(
                f"end_effector_mass and the hand's mass: expected half of inertia_translation, "
                f"{p.inertia_translation / 2.0:g} kg, or less, got {mass:g} kg"
            )
        lever = p.end_effector_center_x**2 + p.end_effector_center_y**2 + p.end_effector_center_z**2
        inertia = max(moments) + p.end_effector_mass * lever + (hand.rotational_inertia if hand else 0.0)
        most = p.inertia_rotation / (2.0 * (1.0 + math.sin(p.range_tilt)))
        if inertia > most:
            raise ValueError(
                f"end_effector_inertia and the hand's rotational_inertia: expected half of what inertia_rotation is at "
                f"the largest tilt, {most:.3g} kg m^2, or less, got {inertia:.3g} kg m^2"
            )

    @classmethod
    def from_file(
        cls, path: Path | None = None, hand: SpatialHand | None = None, seed: int = 0, overrides: tuple[str, ...] = ()
    ) -> CoboticHandController:
        """The display of a YAML file, the suite's own numbers if none is given; overrides are "name=value"."""
        return cls(load_parameters(CoboticHandControllerParameters, path or DEFAULT_FILE, overrides), hand, seed)

    def _longest_period(self) -> float:
        """Period [s] up to which ten steps follow the servo and the hand's impedance on the drives' inertia."""
        p = self.parameters
        longest = 1.0 / (2.0 * math.pi * p.servo_bandwidth)  # stable up to four times that
        light = (1.0, 1.0 + math.sin(p.range_tilt))
        for i in range(2):
            stiffness, damping = self._impedance[2 * i : 2 * i + 2] * light[i] / self._drive[0, 3 * i]
            if stiffness > 0.0 or damping > 0.0:
                # semi-implicit Euler: stable for w^2 dt^2/2 + c dt < 2, taken with a factor of two in hand
                longest = min(longest, 2.0 / (damping + math.sqrt(damping**2 + 2.0 * stiffness)))
        return SUBSTEPS * longest

    def _servo_radius(self, period: float, latency: int) -> float:
        """Largest modulus of the poles of one joint's sampled loop: velocity servo, latency, outer loop."""
        w, gain, dt = 2.0 * math.pi * self.parameters.servo_bandwidth, self.parameters.position_gain, period / SUBSTEPS
        behind = -(-latency // SUBSTEPS)
        # state: position, velocity, integral part, velocity commands of this and earlier periods
        loop = np.eye(4 + behind)
        loop[3] = 0.0
        loop[3, 0] = -gain
        loop[4:] = np.eye(4 + behind)[3:-1] if behind else loop[4:]
        first = loop.copy()
        step = np.eye(4 + behind)
        for n in range(SUBSTEPS):
            step[:] = np.eye(4 + behind)
            delay = 3 + (latency + SUBSTEPS - 1 - n) // SUBSTEPS
            step[1, 1] -= dt * w
            step[1, 2], step[1, delay] = dt, dt * w
            step[2, 1], step[2, delay] = -dt * w * w / 4.0, dt * w * w / 4.0
            step[0] += dt * step[1]
            first = step @ first
        return float(np.abs(np.linalg.eigvals(first)).max())

    def configure(self, period: float) -> None:
        p = self.parameters
        if self.hand is not None and abs(self.hand.plan.period - period) > 1e-12:
            raise ValueError(f"period: the hand's plan has {self.hand.plan.period:g} s, got {period:g} s")
        longest = self._longest_period()
        if period > longest:
            raise ValueError(
                f"period: expected {longest:.3g} s or less, so that {SUBSTEPS} steps follow the servo and the hand, "
                f"got {period:g} s"
            )
        self._latency = round(p.servo_latency * SUBSTEPS / period)
        if self._servo_radius(period, self._latency) > 1.0 + 1e-9:
            raise ValueError(
                f"position_gain: expected less than {p.position_gain:g} 1/s, with which the loop of servo_bandwidth, "
                f"servo_latency and a period of {period:g} s is unstable"
            )
        self._commands = np.zeros((1 - (-self._latency // SUBSTEPS), 12))
        self._encoders = [
            encoder.constants(resolution=resolution, cutoff=p.velocity_cutoff, period=period)
            for resolution in (p.position_resolution, p.angle_resolution)
        ]
        self._cell_filter = force_sensor.filter_constants(p.sensor_cutoff, period / SUBSTEPS)
        self._driver_filter = force_sensor.filter_constants(p.sensor_cutoff, period)
        self._period = period
        self.activate()
        self.follow(None)  # compiles the integration, or loads what was compiled before

    def activate(self) -> None:
        """Starts at rest, with the tool where the hand's plan starts, and holds."""
        self._follow_plan()
        truth, reading = self._truth, self._reading
        pose = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
        if self.hand is not None:
            pose[:] = self._table[0, 0:7]
        inverse(pose, np.zeros(6), truth.position)
        for joint, place in zip(self.joints, truth.position.tolist(), strict=True):
            if not joint.lower <= place <= joint.upper:
                unit = "m" if joint.kind == "prismatic" else "rad"
                raise ValueError(
                    f"the hand's plan starts out of reach: joint {joint.name} at {place:.3g} {unit}, "
                    f"expected {joint.upper:g} {unit} or less both ways"
                )
        self._random = np.random.default_rng(self.seed)
        for array in (truth.velocity, truth.effort, truth.tool_wrench, reading.velocity, self._target, self.command):
            array[:] = 0.0
        for array in (self._commands, self._rate, self._integral, self._followed, self._cell):
            array[:] = 0.0
        p = self.parameters
        for i in range(6):
            resolution = p.position_resolution if i < 3 else p.angle_resolution
            reading.position[i] = encoder.quantise(truth.position[i], resolution)
        self.target_position[:] = reading.position
        self._near[:] = reading.position
        truth.operator_target[:] = pose
        matrix, own = np.zeros((3, 3)), np.zeros(6)
        rotation(truth.position, matrix)
        own_wrench(matrix, self._body, np.zeros(3), np.zeros(6), GRAVITY, own)
        to_tool(matrix, own, self._cell[:, 0])
        self._period_number = 0
        self._powered, self._stopped = True, False
        self._observe(settled=True)

    def _observe(self, *, settled: bool = False) -> None:
        observe(
            self._truth.values,
            self._followed,
            self._cell,
            self._expected,
            self._body,
            _KINDS[self.parameters.compensation],
            self._driver_filter,
            self._sensor,
            self._random.standard_normal(6),
            settled,
            self._reading.values,
            self._jacobian,
        )

    def follow(self, motion: Motion | None) -> None:
        """Commands the motion of the next period and lets it pass.

        With POSITION the driver's outer loop brings the tool there; VELOCITY alone is followed as a velocity, wherever
        that leads; POSITION alone brakes towards the place. ACCELERATION counts beside VELOCITY, and is fed forward.
        Joint values stand instead of pose and twist. Targets end at the joints' stops. None holds the target's
        position; after VELOCITY alone that is where the tool was measured.
        """
        self._lead(self._period)
        fields = 0
        if motion is not None and not self._stopped:
            fields, wanted = motion.fields, self._motion
            wanted[0:7], wanted[7:13], wanted[13:19] = motion.pose, motion.twist, motion.acceleration
            for i, joints in enumerate((motion.joint_position, motion.joint_velocity)):
                self._by_joints[i] = joints is not None
                if joints is not None:
                    wanted[19 + 6 * i : 25 + 6 * i] = joints
        gain, reading = self.parameters.position_gain, self._reading
        aim(
            fields,
            self._motion,
            self._by_joints,
            reading.position,
            self._limits,
            gain,
            self._period,
            self._target,
            self._near,
            self.command,
        )
        self._commands[self._period_number % len(self._commands)] = self.command
        truth = self._truth
        integrate(
            truth.values,
            self._rate,
            self._integral,
            self._followed,
            self._cell,
            self._commands,
            self._latency,
            self._drive,
            2.0 * math.pi * self.parameters.servo_bandwidth,
            self._powered,
            self._body,
            self._cell_filter,
            self._table,
            self._tremor,
            self._impedance,
            self._hand_inertia,
            self._period_number,
            self._period,
        )
        self._period_number += 1
        if self.hand is not None:
            truth.operator_target[:] = self._table[min(self._period_number, len(self._table) - 1), 0:7]
        for part, constants in zip((slice(0, 3), slice(3, 6)), self._encoders, strict=True):
            encoder.sample(truth.position[part], constants, reading.position[part], reading.velocity[part])
        self._observe()

    def robot_description(self) -> str:
        """Slides x, y, z and a gimbal that carries the end effector, hung up above the tool so that it hides nothing.

        The drives' inertia belongs to the joints and is left out; the end effector's is that of the tool.
        """
        p, prefix = self.parameters, "cobotic_hand_controller"
        reach, robot = p.range_translation, Robot(prefix)
        names = [f"{prefix}_{name}" for name in ("base", *_NAMES[:-1], "tool")]
        center = (p.end_effector_center_x, p.end_effector_center_y, p.end_effector_center_z)
        inertia = (p.end_effector_inertia_x, p.end_effector_inertia_y, p.end_effector_inertia_z)
        base, x, y, z, yaw, tilt = (robot.link(name) for name in names[:-1])
        tool = robot.link(names[-1], p.end_effector_mass, center, inertia)
        for i, (joint, parent, child) in enumerate(zip(self.joints, names[:-1], names[1:], strict=True)):
            robot.joint(joint, parent, child, np.eye(3)[(0, 1, 2, 2, 0, 1)[i]].tolist())
        high, thick = 2.0 * reach, 0.05 * reach
        base.bar((-1.2 * reach, 0.0, high), (1.2 * reach, 0.0, high), thick, FRAME)
        x.bar((0.0, -1.2 * reach, high), (0.0, 1.2 * reach, high), thick, STEEL)
        y.bar((0.0, 0.0, 0.8 * high), (0.0, 0.0, 1.2 * high), 1.5 * thick, STEEL)
        z.bar((0.0, 0.0, 0.3 * reach), (0.0, 0.0, high), thick, MOVED)
        yaw.bar((-0.3 * reach, 0.0, 0.3 * reach), (0.3 * reach, 0.0, 0.3 * reach), thick, MOVED)
        for side in (-0.3 * reach, 0.3 * reach):
            yaw.bar((side, 0.0, 0.0), (side, 0.0, 0.3 * reach), thick, MOVED)
        tilt.bar((-0.3 * reach, 0.0, 0.0), (0.3 * reach, 0.0, 0.0), 0.5 * thick, STEEL)
        tool.bar((0.0, -0.2 * reach, 0.0), (0.0, 0.2 * reach, 0.0), thick, TOOL)
        tool.bar((0.0, 0.0, 0.0), (0.0, 0.0, 0.15 * reach), 0.5 * thick, TOOL)
        return robot.xml()
