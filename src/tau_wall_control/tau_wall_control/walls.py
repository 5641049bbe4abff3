"""Unilateral walls: planes of any place and orientation, several at once (docs/tau.md, "Walls").

A plane acts along its normal only, from contact until the tool is pulled away; along it the tool is free, or is
held back by friction. The 6-DOF gains of the controller become gains along the planes in contact: with the columns of
S (6, c) the normals, x the signed distances, v their rates,

    a_i = -k_p x_i - k_v v_i + k_i xi_i - d^_i,   k = s_i^T M_x^-1 G^T K G s_i   as the 6-DOF law would accelerate it
    f = (S^T M_x^-1 S)^-1 a >= 0        the pushes of the planes, which leave the other directions alone
    tau = tau_g + G^-T (S f - friction)

so the closed loop along every normal is the one that was designed, wherever the planes stand. f is never negative: a
wall does not pull. Contact begins where x < 0 and ends where nothing is left to push (f = 0) outside.

Planes may move and belong to bodies that give way: u the velocity of a surface, W the accelerations of the bodies per
newton of push,

    v_i = n_i . (V - u_i),   (S^T M_x^-1 S + W) f = a,   W_ij = sqrt(w_i w_j) n_i . n_j on one body, else 0

with w_i the inverse mass of a body along n_i: the relative motion is the designed one whatever a body's mass. Between
two planes of one body W is that of its translation. What else accelerates a surface (DRIVEN, a part of d^) is seen from
u: a body that cannot give way because others hold it answers -W f, and the wall is soft until that is known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from haptic_friction.laws import FrictionLaw
from haptic_friction.laws.projection import project
from tau_wall_control import kernels, laws
from tau_wall_control.checks import vector
from tau_wall_control.controller import SHARING_ACROSS, SHARING_ALONG, WallController, select
from tau_wall_control.device import Pose
from tau_wall_control.errors import PlanesError, TauError
from tau_wall_control.wall_filter import GAINS, wall_filter

#: planes at once, and planes that push at once
MOST_PLANES, MOST_CONTACTS = 32, 6

# memory of a plane
CONTACT, PUSH, INTEGRAL, X, RATE, DISTURBANCE, AGE, SEEN, PAST = 0, 1, 2, 3, 4, 5, 6, 7, 8
# of one that moves: past accelerations W f of its surface away from the tool, its velocity, the change of that which is
# expected, the acceleration towards the tool that others give it, and whether the plane is new
GIVEN = PAST + laws.LONGEST_DELAY
SURFACE = GIVEN + laws.LONGEST_DELAY
EXPECTED, DRIVEN, FRESH, PLANE = SURFACE + 3, SURFACE + 4, SURFACE + 5, SURFACE + 6
# a plane: point, normal, velocity (3 each), inverse mass, body
POINT, NORMAL, VELOCITY, INVERSE_MASS, BODY, COLUMNS = 0, 3, 6, 9, 10, 11
#: time in which DRIVEN follows: slower than the loop, or a light body that others hold makes it unstable [s]
DRIVEN_TIME = 0.1
# settings
GAP, TANGENT_STIFFNESS, TANGENT_DAMPING = 0, 1, 2


@dataclass(frozen=True)
class Plane:
    """An infinite plane.

    Attributes:
        point: on it (3,) [m].
        normal: towards the free side (3,); made a unit vector.
    """

    point: tuple[float, float, float]
    normal: tuple[float, float, float]

    def __post_init__(self) -> None:
        point, normal = vector("point", self.point, (3,)), vector("normal", self.normal, (3,))
        length = float(np.linalg.norm(normal))
        if length < 1e-9:
            raise TauError(f"normal: expected a direction, got {self.normal}")
        object.__setattr__(self, "point", tuple(float(x) for x in point))
        object.__setattr__(self, "normal", tuple(float(x) for x in normal / length))


class MovingPlanes(NamedTuple):
    """Planes of one sample, at most 32. Memory goes by key: a plane keeps its contact while it moves and turns.

    Attributes:
        key: (w,) whole numbers that tell the planes apart.
        point: (w, 3) on each plane [m].
        normal: (w, 3) unit vectors towards the free side.
        velocity: (w, 3) of the surface at that point [m/s]; at rest if not given.
        inverse_mass: (w,) of the body behind it along the normal [1/kg]; 0, if not given, is a body that is led.
        body: (w,) whole numbers: which planes belong to one body; each to its own if not given.
    """

    key: ArrayLike
    point: ArrayLike
    normal: ArrayLike
    velocity: ArrayLike | None = None
    inverse_mass: ArrayLike | None = None
    body: ArrayLike | None = None


def box(low: ArrayLike, high: ArrayLike) -> tuple[Plane, ...]:
    """The six walls of a box with the tool inside, from two opposite corners [m]."""
    a, b = vector("low", low, (3,)), vector("high", high, (3,))
    if not (a < b).all():
        raise TauError(f"box: expected low below high in every axis, got {a.tolist()} and {b.tolist()}")
    axes = np.eye(3)
    return tuple(Plane(tuple(corner), tuple(sign * axis)) for corner, sign in ((a, 1.0), (b, -1.0)) for axis in axes)


@njit(cache=True, error_model="numpy")
def _pushes(
    count: int, inverse_mass: np.ndarray, wanted: np.ndarray, f: np.ndarray, A: np.ndarray, b: np.ndarray
) -> None:
    """Solves inverse_mass f = wanted with f >= 0: planes that would have to pull are taken out, worst first."""
    out = np.zeros(count, dtype=np.bool_)
    for _ in range(count + 1):
        trace = 0.0
        for i in range(count):
            trace += inverse_mass[i, i]
        for i in range(count):
            b[i] = 0.0 if out[i] else wanted[i]
            for j in range(count):
                A[i, j] = 0.0 if out[i] or out[j] else inverse_mass[i, j]
            A[i, i] = 1.0 if out[i] else A[i, i] + 1e-9 * trace  # parallel planes share their push
        kernels.cholesky_solve(A[:count, :count], b[:count])
        worst, lowest = -1, 0.0
        for i in range(count):
            if not out[i] and b[i] < lowest:
                worst, lowest = i, b[i]
        if worst < 0:
            break
        out[worst] = True
    for i in range(count):
        f[i] = 0.0 if out[i] else b[i]


@njit(cache=True, error_model="numpy")
def _observe(filter_gains: np.ndarray, plane: np.ndarray, x: float) -> None:
    """Corrects a plane's filter [distance, rate, disturbing acceleration] by the measured distance."""
    innovation = x - plane[X]
    k = 0
    age = int(plane[AGE])
    if filter_gains[0, 4] > 0.0:
        if age == 0 and innovation * innovation * filter_gains[0, 3] > filter_gains[0, 4]:
            age = 1
        if 0 < age <= laws.JUMP_GAINS:
            k = age
        if age > 0:
            age = age + 1 if age < laws.JUMP_REST else 0
        plane[AGE] = age
    for j in range(3):
        plane[X + j] += filter_gains[k, j] * innovation


@njit(cache=True, error_model="numpy")
def _yielding(planes: np.ndarray, i: int, j: int) -> float:
    """W_ij: acceleration of plane i away from the tool per newton of push of plane j [1/kg]."""
    if i == j:
        return planes[i, INVERSE_MASS]
    both = planes[i, INVERSE_MASS] * planes[j, INVERSE_MASS]
    if both == 0.0 or planes[i, BODY] != planes[j, BODY]:
        return 0.0
    cosine = 0.0
    for k in range(3):
        cosine += planes[i, NORMAL + k] * planes[j, NORMAL + k]
    return math.sqrt(both) * cosine


@njit(cache=True, error_model="numpy")
def _recall(
    keys: np.ndarray, known: np.ndarray, planes: np.ndarray, old: np.ndarray, memory: np.ndarray
) -> tuple[int, int]:
    """Gives each plane its memory by key, new ones a fresh one; returns what is wrong (0: nothing) and with which."""
    for i in range(keys.shape[0]):
        total, length = 0.0, 0.0
        for k in range(BODY):
            total += planes[i, k]
        for k in range(3):
            length += planes[i, NORMAL + k] * planes[i, NORMAL + k]
        if not math.isfinite(total):
            return 1, i
        if abs(length - 1.0) > 1e-6:
            return 2, i
        if planes[i, INVERSE_MASS] < 0.0:
            return 3, i
        for j in range(i):
            if keys[i] == keys[j]:
                return 4, i
        memory[i] = 0.0
        memory[i, FRESH] = 1.0
        for j in range(known.shape[0]):
            if keys[i] == known[j]:
                memory[i] = old[j]
    return 0, 0


@njit(cache=True, error_model="numpy")
def _flatten(normal: np.ndarray, x: np.ndarray) -> None:
    """Takes the part along a normal out of a vector (3,)."""
    along = normal[0] * x[0] + normal[1] * x[1] + normal[2] * x[2]
    for k in range(3):
        x[k] -= along * normal[k]


@njit(cache=True, error_model="numpy")
def rub(
    code: int,
    coefficients: np.ndarray,
    settings: np.ndarray,
    period: float,
    pressing: float,
    v: np.ndarray,
    e: np.ndarray,
    force: np.ndarray,
) -> None:
    """Friction on the tool (3,) by model C, eq. (38) of Kikuuwe et al., for a push [N] that scales the law.

    With Phi' = N Phi, Phi'_Z(x) = N Phi_NZ(x).

    Args:
        code, coefficients: of the law, per newton of push.
        settings: of the renderer.
        period: T [s].
        pressing: N [N], above 0.
        v: tangential velocity (3,) [m/s].
        e: elastic displacement (3,) [m]; carried on.
        force: result [N].
    """
    K, B = settings[TANGENT_STIFFNESS], settings[TANGENT_DAMPING]
    Z = 1.0 / (B + period * K)
    trial = (v[0] + K * Z * e[0], v[1] + K * Z * e[1], v[2] + K * Z * e[2])
    unit, sticking = project(code, coefficients, 0, trial, Z * pressing)
    for k in range(3):
        force[k] = -pressing * unit[k]
        e[k] = e[k] + period * v[k] if sticking else Z * (B * e[k] - period * force[k])


@njit(cache=True, error_model="numpy")
def render(
    chains: np.ndarray,
    base: np.ndarray,
    platform: np.ndarray,
    mode: int,
    delay: int,
    period: float,
    peak: float,
    table: np.ndarray,
    points: np.ndarray,
    edges: np.ndarray,
    interpolated: bool,
    exact_gravity: bool,
    filter_gains: np.ndarray,
    settings: np.ndarray,
    friction_code: int,
    friction: np.ndarray,
    planes: np.ndarray,
    p: np.ndarray,
    R: np.ndarray,
    theta: np.ndarray,
    rate: np.ndarray,
    memory: np.ndarray,
    elastic: np.ndarray,
    torque: np.ndarray,
    out: np.ndarray,
) -> int:
    """One sample. `p`, `R` are the pose of the sample before and become the present one; `planes` (w, COLUMNS),
    `memory` (w, PLANE); `elastic` (3,) is friction's; `out` (12,) becomes operating point, saturated, the
    friction's force (3,), the twist (6,). Returns a code of `kernels`."""
    code, _ = kernels.forward_kinematics(chains, base, theta, p, R, 1e-11)
    if code != kernels.OK:
        return code
    q, H, bias, M = np.empty((3, 3)), np.empty((3, 3, 6)), np.empty((3, 3)), np.empty((6, 6))
    n, g, G, still = np.empty(6), np.empty(6), np.empty((6, 6)), np.zeros(6)
    code = kernels.assemble(chains, base, platform, p, R, still, q, H, M, n, g, bias)
    if code != kernels.OK:
        return code
    kernels.actuated_map(H, G)
    factor, V, J = G.copy(), np.empty((6, 1)), np.eye(6)
    if not kernels.gauss_solve(factor, J):
        return kernels.FK_DIVERGED
    for i in range(6):
        V[i, 0] = 0.0
        for j in range(6):
            V[i, 0] += J[i, j] * rate[j]
        out[5 + i] = V[i, 0]
    row = np.empty(114)
    out[0] = select(table, points, edges, interpolated, p, row)

    # distances, and which planes are in contact
    count = planes.shape[0]
    contact = np.empty(MOST_CONTACTS, dtype=np.int64)
    contacts = 0
    for w in range(count):
        distance = 0.0
        for k in range(3):
            distance += planes[w, NORMAL + k] * (p[k] - planes[w, k])
        plane = memory[w]
        plane[SEEN] = distance
        if plane[FRESH] != 0.0:
            plane[X], plane[FRESH] = distance, 0.0
            for k in range(3):
                plane[RATE] += planes[w, NORMAL + k] * (V[k, 0] - planes[w, VELOCITY + k])
        else:  # what the surface did is known
            change = -plane[EXPECTED]
            for k in range(3):
                change += planes[w, NORMAL + k] * (planes[w, VELOCITY + k] - plane[SURFACE + k])
            plane[X] -= period * change
            plane[RATE] -= change
            plane[DRIVEN] -= change / max(DRIVEN_TIME, period)
        plane[SURFACE : SURFACE + 3] = planes[w, VELOCITY:INVERSE_MASS]
        if mode & laws.OBSERVER:
            _observe(filter_gains, plane, distance)
        if plane[CONTACT] == 0.0 and distance < 0.0:
            plane[CONTACT], plane[INTEGRAL], plane[PUSH] = 1.0, 0.0, 0.0
        if plane[CONTACT] != 0.0 and contacts < MOST_CONTACTS:
            contact[contacts] = w
            contacts += 1
    gravity_exact = exact_gravity or contacts == 0
    wrench = np.zeros(6)
    for j in range(6):
        torque[j] = 0.0 if gravity_exact else row[j]
        if gravity_exact:
            wrench[j] = g[j]

    c = contacts
    push = np.zeros(MOST_CONTACTS)
    MS = np.zeros((6, MOST_CONTACTS))
    MF = M.copy()
    if c > 0:
        # M_x^-1 S, and the 6-DOF gains along the planes
        b = np.empty(6)
        for i in range(c):
            MF[:] = M
            for k in range(6):
                b[k] = planes[contact[i], NORMAL + k] if k < 3 else 0.0
            kernels.cholesky_solve(MF, b)
            MS[:, i] = b
        inverse_mass, wanted = np.zeros((MOST_CONTACTS, MOST_CONTACTS)), np.zeros(MOST_CONTACTS)
        GMS, GS = np.zeros((6, MOST_CONTACTS)), np.zeros((6, MOST_CONTACTS))
        for i in range(c):
            for j in range(6):
                for k in range(6):
                    GMS[j, i] += G[j, k] * MS[k, i]
                for k in range(3):
                    GS[j, i] += G[j, k] * planes[contact[i], NORMAL + k]
            for j in range(c):
                for k in range(3):
                    inverse_mass[j, i] += planes[contact[j], NORMAL + k] * MS[k, i]
                inverse_mass[j, i] += _yielding(planes, contact[j], contact[i])
        for i in range(c):
            plane = memory[contact[i]]
            kp, kv, ki = 0.0, 0.0, 0.0
            for a in range(6):
                for e in range(6):
                    product = GMS[a, i] * GS[e, i]
                    kp += product * row[6 + 6 * a + e]
                    kv += product * row[42 + 6 * a + e]
                    ki += product * row[78 + 6 * a + e]
            x, v = plane[SEEN], 0.0
            for k in range(3):
                v += planes[contact[i], NORMAL + k] * (V[k, 0] - planes[contact[i], VELOCITY + k])
            if mode & laws.OBSERVER:
                d = plane[DISTURBANCE] + plane[DRIVEN]
                if mode & laws.ESTIMATED:
                    x, v = plane[X], plane[RATE]
                for m in range(delay):
                    acceleration = plane[PAST + m] + plane[GIVEN + m] + d
                    x += period * v + 0.5 * period * period * acceleration
                    v += period * acceleration
                wanted[i] = -d
            else:
                wanted[i] = ki * plane[INTEGRAL]
            wanted[i] -= kp * x + kv * v
        _pushes(c, inverse_mass, wanted, push, np.empty((MOST_CONTACTS, MOST_CONTACTS)), np.empty(MOST_CONTACTS))
        pressing, tangent, carried = 0.0, np.empty(3), np.zeros(3)
        for i in range(c):
            plane = memory[contact[i]]
            plane[PUSH] = push[i]
            pressing += push[i]
            for k in range(3):
                wrench[k] += push[i] * planes[contact[i], NORMAL + k]
                carried[k] += push[i] * planes[contact[i], VELOCITY + k]
        # friction along the planes, model C on the tangential velocity against them, their mean by push; its force is
        # that of 1 N times the push
        if friction_code >= 0 and pressing > 0.0:
            for k in range(3):
                tangent[k] = V[k, 0] - carried[k] / pressing
            for i in range(c):
                if push[i] > 0.0:
                    _flatten(planes[contact[i], NORMAL:], tangent)
                    _flatten(planes[contact[i], NORMAL:], elastic)
            rub(friction_code, friction, settings, period, pressing, tangent, elastic, out[2:5])
            for k in range(3):
                wrench[k] += out[2 + k]
        else:
            for k in range(3):
                elastic[k], out[2 + k] = 0.0, 0.0
    else:
        for k in range(3):
            elastic[k], out[2 + k] = 0.0, 0.0

    # torques within the limits
    saturated = False
    for j in range(6):
        for k in range(6):
            torque[j] += J[k, j] * wrench[k]
        saturated = saturated or abs(torque[j]) > peak
    out[1] = 1.0 if saturated else 0.0
    if saturated:
        W, weight, limited = np.zeros((6, 6)), np.zeros((6, 6)), np.empty(6)
        for k in range(6):
            W[k, k] = SHARING_ACROSS if k < 3 else SHARING_ALONG
        for i in range(c):
            if push[i] > 0.0:
                for a in range(3):
                    for e in range(3):
                        outer = planes[contact[i], NORMAL + a] * planes[contact[i], NORMAL + e]
                        W[a, e] += (SHARING_ALONG - SHARING_ACROSS) * outer
        for a in range(6):
            for e in range(6):
                for k in range(6):
                    for m in range(6):
                        weight[a, e] += G[a, k] * W[k, m] * G[e, m]
        sharing = exact_gravity or (mode & laws.SHARING) != 0
        if sharing:
            laws.share(weight, torque, peak, limited)
        for j in range(6):
            torque[j] = min(max(limited[j] if sharing else torque[j], -peak), peak)

    # integrals and filters go on with what will act; contact ends outside, where nothing is left to push
    response = np.empty(6)
    for k in range(6):
        response[k] = -g[k]
        for j in range(6):
            response[k] += G[j, k] * torque[j]
    MF[:] = M
    kernels.cholesky_solve(MF, response)
    for w in range(count):
        plane = memory[w]
        acceleration = 0.0
        for k in range(3):
            acceleration += planes[w, NORMAL + k] * response[k]
        given = 0.0
        if planes[w, INVERSE_MASS] > 0.0:
            for i in range(c):
                given += _yielding(planes, w, contact[i]) * push[i]
        if mode & laws.OBSERVER:
            acting = acceleration
            if delay > 0:
                acting, giving = plane[PAST], plane[GIVEN]
                for m in range(delay - 1):
                    plane[PAST + m] = plane[PAST + m + 1]
                    plane[GIVEN + m] = plane[GIVEN + m + 1]
                plane[PAST + delay - 1], plane[GIVEN + delay - 1] = acceleration, given
                given = giving
            given += plane[DRIVEN]
            plane[EXPECTED] = -period * given
            acting += plane[DISTURBANCE] + given
            plane[X] += period * plane[RATE] + 0.5 * period * period * acting
            plane[RATE] += period * acting
        if plane[CONTACT] != 0.0:
            if not (saturated and plane[SEEN] < 0.0):
                plane[INTEGRAL] -= period * plane[SEEN]
            if plane[SEEN] > settings[GAP] or (plane[SEEN] > 0.0 and plane[PUSH] <= 0.0):
                plane[CONTACT], plane[INTEGRAL], plane[PUSH] = 0.0, 0.0, 0.0
    return kernels.OK


class WallState(NamedTuple):
    """What a step of the walls rendered.

    Attributes:
        torque: joint torques to command (6,) [N m].
        position, rotation: the tool's pose.
        twist: the tool's (6,) [m/s, rad/s].
        in_contact: (w,) per plane.
        penetration: (w,) depth inside each plane, negative outside [m].
        push: (w,) of each plane along its normal, as wanted [N].
        friction: force along the planes (3,) [N].
        operating_point: index of the subspace in use.
        saturated: whether torque limits acted.
    """

    torque: np.ndarray
    position: np.ndarray
    rotation: np.ndarray
    twist: np.ndarray
    in_contact: np.ndarray
    penetration: np.ndarray
    push: np.ndarray
    friction: np.ndarray
    operating_point: int
    saturated: bool

    @property
    def stiffness(self) -> np.ndarray:
        """(w,) push over depth [N/m]; 0 without contact, infinite where the plane is held without depth."""
        depth = np.maximum(self.penetration, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.in_contact & (self.push > 0.0), self.push / depth, 0.0)


class WallRenderer:
    """Unilateral walls on the device: joint angles in, joint torques out.

    Without contact the torques hold the device's own weight and nothing else.

    Args:
        controller: its gains; any scheme. `predictive` is rendered like `stiff`.
        planes: the walls; None: they come with each step, as `MovingPlanes`.
        friction: law along the planes whose force is that per newton of push: CoulombLaw(0.3) is a coefficient of
            0.3. Free if not given.
        friction_stiffness, friction_damping: of the friction's compliance [N/m], [N s/m].
        release_gap: contact also ends this far outside [m].

    Attributes:
        saturated_steps: for how many steps in a row torque limits have acted.

    Raises:
        TauError: no plane or more than 32, or a number out of range.
    """

    def __init__(
        self,
        controller: WallController,
        planes: Sequence[Plane] | None,
        *,
        friction: FrictionLaw | None = None,
        friction_stiffness: float = 2000.0,
        friction_damping: float = 8.0,
        release_gap: float = 1e-4,
    ) -> None:
        self.controller, self.device = controller, controller.device
        for name, value in (("friction_stiffness", friction_stiffness), ("release_gap", release_gap)):
            if not 0.0 < value < math.inf:
                raise TauError(f"{name}: expected a number above 0, got {value}")
        if not 0.0 <= friction_damping < math.inf:
            raise TauError(f"friction_damping: expected 0 or more, got {friction_damping}")
        self._settings = np.array([release_gap, friction_stiffness, friction_damping])
        self._code, self._coefficients = -1, np.zeros((1, 2))
        if friction is not None:
            friction.check_dimension(3)
            self._code, self._coefficients = friction.code, friction.coefficients[None].copy()
        self._filter = np.zeros((laws.JUMP_GAINS + 1, GAINS))
        if controller.mode & laws.OBSERVER:
            self._filter = wall_filter(controller)
        self._pose: Pose = (np.zeros(3), np.eye(3))
        self._elastic, self._torque, self._out = np.zeros(3), np.zeros(6), np.zeros(12)
        self.saturated_steps = 0
        c, o = controller, controller.options
        self._constants = (
            *self.device.arrays,
            *(c.mode, c.delay, c.period, self.device.peak_torque),
            *(c.table, c.points, c.edges, o.interpolated, o.exact_gravity),
            *(self._filter, self._settings, self._code, self._coefficients),
        )
        self.planes: tuple[Plane, ...] = ()
        self.moving = planes is None
        if planes is None:
            self._room, self._count = np.zeros((MOST_PLANES, COLUMNS)), 0
            self._keys, self._known = np.zeros(MOST_PLANES, dtype=np.int64), np.zeros(MOST_PLANES, dtype=np.int64)
            self._memories, self._spare = np.zeros((MOST_PLANES, PLANE)), np.zeros((MOST_PLANES, PLANE))
            self._planes, self._memory = self._room[:0], self._memories[:0]
        else:
            self.set_planes(planes)

    def set_planes(self, planes: Sequence[Plane]) -> None:
        """Replaces the walls; a plane that stays as it was keeps its contact."""
        if self.moving:
            raise TauError("planes: expected none to be set, these walls come with each step")
        if not 1 <= len(planes) <= MOST_PLANES:
            raise TauError(f"planes: expected 1 to {MOST_PLANES}, got {len(planes)}")
        old = dict(zip(self.planes, getattr(self, "_memory", ()), strict=True))
        self.planes = tuple(planes)
        self._planes = np.zeros((len(planes), COLUMNS))
        self._planes[:, :VELOCITY] = [[*w.point, *w.normal] for w in planes]
        self._memory = np.zeros((len(planes), PLANE))
        for i, plane in enumerate(self.planes):
            if plane in old:
                self._memory[i] = old[plane]
            else:
                self._start(i, np.zeros(6))

    def take_over(self, old: WallRenderer) -> None:
        """Goes on from where other walls on the same device stand; a plane that both have keeps its contact."""
        if old.moving != self.moving:
            raise TauError("take_over: expected walls that move both times, or neither")
        self._pose, self._elastic[:], self.saturated_steps = old._pose, old._elastic, old.saturated_steps
        if self.moving:
            self._keys, self._memories, self._count = old._keys.copy(), old._memories.copy(), old._count
            return
        wanted = self.planes
        self.planes, self._memory = old.planes, old._memory
        self.set_planes(wanted)

    def _start(self, i: int, twist: np.ndarray) -> None:
        """A plane's filter starts from the present pose, without contact."""
        self._memory[i] = 0.0
        normal = self._planes[i, NORMAL:VELOCITY]
        self._memory[i, X] = normal @ (self._pose[0] - self._planes[i, :NORMAL])
        self._memory[i, RATE] = normal @ twist[:3]

    def reset(self, theta: ArrayLike, guess: Pose | None = None) -> None:
        """Starts at rest at joint angles (6,), without contact; guess is a pose near it.

        Raises:
            ForwardKinematicsError: no pose belongs to the angles.
        """
        self._pose = self.device.forward_kinematics(theta, guess)
        for i in range(len(self.planes)):
            self._start(i, np.zeros(6))
        self._count = 0  # of planes that move, all are new
        self._elastic[:] = 0.0
        self.saturated_steps = 0

    def _move(self, planes: MovingPlanes) -> None:
        """Takes the planes of a sample; each has the memory of its key, a new one starts without contact."""
        keys = np.asarray(planes.key)
        if keys.ndim != 1 or (keys.size and keys.dtype.kind not in "iu"):
            raise PlanesError(f"key: expected a row of whole numbers, got {planes.key!r}")
        w, body = len(keys), keys if planes.body is None else planes.body
        if w > MOST_PLANES:
            raise PlanesError(f"planes: expected {MOST_PLANES} at the most, got {w}")
        rows = self._room[:w]
        rows[:, VELOCITY:BODY] = 0.0
        for name, values, place, shape in (
            ("point", planes.point, slice(POINT, NORMAL), (w, 3)),
            ("normal", planes.normal, slice(NORMAL, VELOCITY), (w, 3)),
            ("velocity", planes.velocity, slice(VELOCITY, INVERSE_MASS), (w, 3)),
            ("inverse_mass", planes.inverse_mass, INVERSE_MASS, (w,)),
            ("body", body, BODY, (w,)),
        ):
            if values is not None:
                array = np.asarray(values, dtype=float)
                if array.shape != shape:
                    raise PlanesError(f"{name}: expected shape {shape} for {w} planes, got {array.shape}")
                rows[:, place] = array
        self._known[:w] = keys
        wrong, i = _recall(self._known[:w], self._keys[: self._count], rows, self._memories, self._spare)
        if wrong:
            row = rows[i].tolist()
            raise PlanesError(
                {
                    1: f"planes: expected finite numbers, got {row} for key {keys[i]}",
                    2: f"normal: expected unit vectors, got {row[NORMAL:VELOCITY]} for key {keys[i]}",
                    3: f"inverse_mass: expected 0 or more, got {row[INVERSE_MASS]} for key {keys[i]}",
                    4: f"key: expected each key once, got {keys[i]} again",
                }[wrong]
            )
        self._keys, self._known = self._known, self._keys
        self._memories, self._spare = self._spare, self._memories
        self._count, self._planes, self._memory = w, rows, self._memories[:w]

    def step(self, theta: ArrayLike, rate: ArrayLike, planes: MovingPlanes | None = None) -> WallState:
        """One sample: joint angles (6,) [rad] and rates (6,) [rad/s] in, torques out.

        Args:
            theta, rate: of the joints.
            planes: where the walls are now, for those that come with each step.

        Raises:
            ForwardKinematicsError, UnreachableError, SingularError: the angles belong to no pose near the last one.
            TauError: a number is not finite.
            PlanesError: planes that cannot be used.
        """
        angles, rates = vector("theta", theta, (6,)), vector("rate", rate, (6,))
        if (planes is None) == self.moving:
            expected = "the planes of each step" if self.moving else "none beside those that are set"
            raise TauError(f"planes: expected {expected}, got {planes}")
        if planes is not None:
            self._move(planes)
        p, R = self._pose[0].copy(), self._pose[1].copy()
        code = render(
            *self._constants, self._planes, p, R, angles, rates, self._memory, self._elastic, self._torque, self._out
        )
        self.device.raise_for(code, p, R)
        self._pose = (p, R)
        saturated = bool(self._out[1])
        self.saturated_steps = self.saturated_steps + 1 if saturated else 0
        return WallState(
            torque=self._torque.copy(),
            position=p,
            rotation=R,
            twist=self._out[5:11].copy(),
            in_contact=self._memory[:, CONTACT] != 0.0,
            penetration=-self._memory[:, SEEN],
            push=self._memory[:, PUSH].copy(),
            friction=self._out[2:5].copy(),
            operating_point=int(self._out[0]),
            saturated=saturated,
        )
