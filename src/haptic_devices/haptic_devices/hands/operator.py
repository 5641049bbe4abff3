"""The simulated hand: an arm impedance that follows a plan, with physiological tremor.

The hand holds the tool tip firmly, so its mass moves with the tip. Its muscles exert the force

    F = grip K_h (x_d - x) + B_h (v_d - v) + F_plan + F_a v_d/(|v_d| + v_a) + F_tremor

where (x_d, v_d), grip and F_plan come from a `MotionPlan`, and F_a is the resistance that the user
expects while moving. The tremor is a stationary band-limited force: a sum of sinusoids between 8 and
12 Hz whose frequencies and phases are random with a fixed seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numba import njit
from numba.np.unsafe.ndarray import to_fixed_tuple
from pydantic import Field

from haptic_devices.device import Device, DeviceError, DeviceParameters, Reading, Truth, load_parameters
from haptic_devices.hands.handle import Handle
from haptic_devices.motions.planar import COLUMNS, GRIP, MotionPlan, Plan
from haptic_math.borrowed_arrays import borrowed

if TYPE_CHECKING:
    from typing import Self

_TREMOR_COMPONENTS = 12
#: speed at which the expected resistance is half applied [m/s]
_ANTICIPATION_SPEED = 0.01

#: columns of a plan; an index takes compiled code less time than a slice
_X, _Y, _VX, _VY, _FX = (COLUMNS.index(name) for name in ("x", "y", "vx", "vy", "fx"))


class HandParameters(DeviceParameters):
    """Arm impedance at the tool and tremor."""

    mass: float = Field(ge=0.0, le=5.0, description="mass of the hand that moves with the tip [kg]")
    stiffness: float = Field(ge=0.0, le=5000.0, description="stiffness K_h towards the target [N/m]")
    damping: float = Field(ge=0.0, le=200.0, description="damping B_h towards the target's velocity [N s/m]")
    expected_resistance: float = Field(ge=0.0, le=50.0, description="resistance F_a that the hand expects [N]")
    tremor_force: float = Field(ge=0.0, le=5.0, description="RMS of the tremor force, both axes together [N]")
    tremor_low: float = Field(gt=0.0, le=50.0, description="lowest tremor frequency [Hz]")
    tremor_high: float = Field(gt=0.0, le=50.0, description="highest tremor frequency [Hz]")


class HandArrays(NamedTuple):
    """Arrays of a simulated hand for the compiled integration of the device that it holds.

    Attributes:
        table: table of the plan, one row a period: (n, 7) of a `MotionPlan`, (n, 20) of a `SpatialPlan`. It has no
            rows if a planar hand has released the tool, and a grip of 0 if a spatial one has.
        tremor: rows (amplitude of each axis [N], [N m], angular frequency [rad/s], phase of each axis [rad]), (m, 5)
            or (m, 13).
        impedance: K_h [N/m], B_h [N s/m] and F_a [N], (3,), of a planar hand; K [N/m], B [N s/m], K_r [N m/rad] and
            B_r [N m s/rad], (4,), of a spatial hand.
        inertia: inertia that moves with the tool along each axis: mass [kg], (3,), and, of a spatial hand, rotational
            inertia [kg m^2], (6,).
    """

    table: np.ndarray
    tremor: np.ndarray
    impedance: np.ndarray
    inertia: np.ndarray


#: a planar hand that has released the tool
RELEASED = HandArrays(np.zeros((0, len(COLUMNS))), np.zeros((0, 5)), np.zeros(3), np.zeros(3))


@njit(cache=True)
def hand_of(arrays: tuple[np.ndarray, ...]) -> HandArrays:
    """Returns the record of a plain tuple, which Numba takes from Python in half the time; see `borrowed`."""
    table, tremor, impedance, inertia = arrays
    return HandArrays(borrowed(table), borrowed(tremor), borrowed(impedance), borrowed(inertia))


@njit(cache=True)
def planned_row(hand: HandArrays, period: int) -> np.ndarray:
    """Returns the row of a plan for control period number `period`, after the end the last one."""
    return hand.table[min(period, hand.table.shape[0] - 1)]


@njit(cache=True)
def write_planar_target(hand: HandArrays, period: int, target: np.ndarray) -> None:
    """Writes x and y of a planar hand's plan for control period number `period` to a pose (7,); nothing if released."""
    if hand.table.shape[0] > 0:
        row = planned_row(hand, period)
        target[0], target[1] = row[_X], row[_Y]


@njit(cache=True)
def add_tremor(tremor: np.ndarray, time: float, wrench: np.ndarray) -> None:
    """Adds the tremor at a time [s] to the forces [N] and moments [N m] of n axes; `tremor` as in `HandArrays`."""
    n = wrench.size
    for row in range(tremor.shape[0]):
        for i in range(n):
            wrench[i] += tremor[row, i] * np.sin(tremor[row, n] * time + tremor[row, n + 1 + i])


@njit(cache=True)
def muscle_force(
    hand: HandArrays, target: np.ndarray, time: float, pose: np.ndarray, twist: np.ndarray, force: np.ndarray
) -> None:
    """Writes the muscles' force (2,) [N] on the tip.

    Args:
        hand: impedance and tremor.
        target: one row of a plan's table.
        time: time since the start [s].
        pose: pose of the tip, of which x and y are used [m].
        twist: twist of the tip, of which the velocities along x and y are used [m/s].
        force: result.
    """
    stiffness, damping, resistance = to_fixed_tuple(hand.impedance, 3)
    speed = np.sqrt(target[_VX] ** 2 + target[_VY] ** 2) + _ANTICIPATION_SPEED
    for i in range(2):
        force[i] = (
            target[GRIP] * stiffness * (target[_X + i] - pose[i])
            + damping * (target[_VX + i] - twist[i])
            + target[_FX + i]
            + resistance * target[_VX + i] / speed
        )
    add_tremor(hand.tremor, time, force)


def make_tremor(rms: Sequence[float], axes: int, low: float, high: float, random: np.random.Generator) -> np.ndarray:
    """Makes a stationary tremor as rows (amplitude of each axis, angular frequency, phase of each axis).

    Args:
        rms: RMS of each group of axes, all its axes together [N] or [N m].
        axes: number of axes of each group.
        low: lowest frequency [Hz].
        high: highest frequency [Hz].
        random: generator of frequencies and phases.

    Raises:
        ValueError: the highest frequency is below the lowest.
    """
    if high < low:
        raise ValueError(f"tremor_high: expected {low:g} Hz or more, got {high:g}")
    n = axes * len(rms)
    rows = np.zeros((_TREMOR_COMPONENTS, 2 * n + 1))
    # each of axes x 12 sinusoids of amplitude a has mean square a^2/2
    rows[:, :n] = np.repeat(rms, axes) / np.sqrt(_TREMOR_COMPONENTS * axes / 2)
    rows[:, n] = 2 * np.pi * random.uniform(low, high, _TREMOR_COMPONENTS)
    rows[:, n + 1 :] = random.uniform(0.0, 2 * np.pi, (_TREMOR_COMPONENTS, n))
    return rows


class Hand:
    """A hand that may hold a simulated device.

    Attributes:
        parameters: impedance and tremor.
        plan: intended motion.
        arrays: plan, tremor, impedance and inertia for a device's compiled integration.
        stiffness: stiffness towards the target, of translation [N/m] and of rotation [N m/rad]; 0: none.
    """

    parameters: DeviceParameters
    plan: Plan
    arrays: HandArrays
    stiffness: tuple[float, float]

    @property
    def table(self) -> np.ndarray:
        """Table of the plan, one row a period."""
        return self.arrays.table


class SimulatedHand(Hand):
    """A planar hand.

    Args:
        parameters: arm impedance and tremor.
        plan: intended motion.
        seed: seed of the tremor.
    """

    parameters: HandParameters

    def __init__(self, parameters: HandParameters, plan: MotionPlan, seed: int) -> None:
        p = self.parameters = parameters
        self.plan = plan
        self.stiffness = (p.stiffness, 0.0)
        self.arrays = HandArrays(
            np.ascontiguousarray(plan.table),
            make_tremor([p.tremor_force], 2, p.tremor_low, p.tremor_high, np.random.default_rng(seed)),
            np.array([p.stiffness, p.damping, p.expected_resistance]),
            np.full(3, p.mass),
        )


class HandHeldDevice(Device):
    """A simulated device whose tool a simulated hand may hold.

    A device calls `_follow_plan` in `activate`, and `_lead` at the beginning of `write` or `follow`. In period k its
    hand follows row k of the table in `_hand`: that of its plan, or that of the handle while a user leads the hand.

    Attributes:
        parameters: parameters of the device.
        hand: simulated hand that holds the tool; None: the tool is released.
    """

    parameters: DeviceParameters
    hand: Hand | None
    _hand: HandArrays
    _hand_tuple: tuple[np.ndarray, ...]
    _period_number: int
    _handle: Handle | None = None

    def _set_hand(self, arrays: HandArrays) -> None:
        """Sets the hand's arrays, and the plain tuple of them for `hand_of`."""
        self._hand, self._hand_tuple = arrays, tuple(arrays)

    def _check_period(self, period: float, longest: float, followed: str) -> None:
        """Raises ValueError if the hand's plan has another period [s], or if it is above the longest one.

        Args:
            period: control period [s].
            longest: longest period at which the integration is stable [s].
            followed: steps of the integration, and the parts that they follow, in words.
        """
        if self.hand is not None and abs(self.hand.plan.period - period) > 1e-12:
            raise ValueError(f"period: the hand's plan has {self.hand.plan.period:g} s, got {period:g} s")
        if period > longest:
            raise ValueError(f"period: expected {longest:.3g} s or less, so that {followed}, got {period:g} s")

    def hold_handle(self, held: bool) -> np.ndarray:
        """Starts to lead the hand by a handle, from its present target, or stops: then the target stays at its pose.

        Returns:
            Target of the hand, a copy of the pose (7,).

        Raises:
            DeviceError: there is no hand.
        """
        truth, hand = self.truth(), self.hand
        if hand is None or truth is None:
            raise DeviceError("the tool is released, so there is no hand to lead")
        if held:
            row = planned_row(self._hand, self._period_number)
            self._handle = Handle(row, truth.operator_target, truth.tool_pose, hand.stiffness)
            self._set_hand(hand.arrays._replace(table=self._handle.table))
        elif self._handle is not None:
            self._handle.release()
        return (self._handle.pose if self._handle is not None else truth.operator_target).copy()

    def move_handle(self, pose: np.ndarray) -> None:
        """Sets the wanted pose (7,) of a held handle from the next period on; a planar device uses x and y."""
        if self._handle is not None:
            self._handle.move(pose)

    def _follow_plan(self) -> None:
        """Makes the hand follow its plan again; called when the device starts."""
        if self._handle is not None and self.hand is not None:
            self._handle = None
            self._set_hand(self.hand.arrays)

    def _lead(self, period: float) -> None:
        """Moves the hand's target towards the handle; called before each period."""
        if self._handle is not None:
            truth = self.truth()
            assert truth is not None
            self._handle.advance(truth.tool_pose, period)

    def description(self) -> dict[str, Any]:
        hand = self.hand
        return {
            "handle_axes": 0 if hand is None else 2 if hand.table.shape[1] == len(COLUMNS) else 6,
            "device": self.parameters.model_dump(),
            "hand": hand.parameters.model_dump() if hand else None,
            "phases": [phase.__dict__ for phase in hand.plan.phases] if hand else [],
        }

    @property
    def end_time(self) -> float:
        return self.hand.plan.duration if self.hand else float("inf")


class SimulatedAdmittanceDevice(HandHeldDevice):
    """Base of the simulated admittance devices: they hold their position when stopped, and can be switched off.

    Args:
        parameters: parameters of the device.
        hand: simulated hand that holds the tool; None: the tool is released.
        seed: seed of the force sensor's noise.

    Attributes:
        parameters_type, default_file: model of the parameters, and the suite's own file of them.
        target_position: (n,) joint positions that the servo follows [rad] or [m].
    """

    parameters_type: ClassVar[type[DeviceParameters]]
    default_file: ClassVar[Path]
    kind = "admittance"
    has_force_sensor = True
    target_position: np.ndarray
    _reading: Reading
    _truth: Truth
    _jacobian: np.ndarray
    _powered: bool
    _stopped: bool

    def __init__(self, parameters: Any, hand: Any = None, seed: int = 0) -> None:
        self.parameters, self.hand, self.seed = parameters, hand, seed
        self._powered = self._stopped = False

    @classmethod
    def from_file(
        cls, path: Path | None = None, hand: Hand | None = None, seed: int = 0, overrides: tuple[str, ...] = ()
    ) -> Self:
        """Makes the device from a YAML file (default: the suite's own); overrides are "name=value"."""
        return cls(load_parameters(cls.parameters_type, path or cls.default_file, overrides), hand, seed)

    def read(self) -> Reading:
        return self._reading

    def jacobian(self) -> np.ndarray:
        return self._jacobian

    def safe_stop(self) -> None:
        """Holds the joints where they are now."""
        if not self._stopped:
            self.target_position[:] = self._reading.position
        self._stopped = True

    def deactivate(self) -> None:
        """Switches the drives off: the hand feels their inertia and friction."""
        self._powered = False

    def truth(self) -> Truth:
        return self._truth
