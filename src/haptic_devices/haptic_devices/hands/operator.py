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
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numba import njit
from pydantic import Field

from haptic_devices.device import Device, DeviceError, DeviceParameters, Reading, Truth, load_parameters
from haptic_devices.hands.handle import Handle
from haptic_devices.motions.planar import COLUMNS, MotionPlan, Plan

if TYPE_CHECKING:
    from typing import Self

_TREMOR_COMPONENTS = 12
#: speed at which the expected resistance is half applied [m/s]
_ANTICIPATION_SPEED = 0.01


class HandParameters(DeviceParameters):
    """Arm impedance at the tool and tremor."""

    mass: float = Field(ge=0.0, le=5.0, description="mass of the hand that moves with the tip [kg]")
    stiffness: float = Field(ge=0.0, le=5000.0, description="stiffness K_h towards the target [N/m]")
    damping: float = Field(ge=0.0, le=200.0, description="damping B_h towards the target's velocity [N s/m]")
    expected_resistance: float = Field(ge=0.0, le=50.0, description="resistance F_a that the hand expects [N]")
    tremor_force: float = Field(ge=0.0, le=5.0, description="RMS of the tremor force, both axes together [N]")
    tremor_low: float = Field(gt=0.0, le=50.0, description="lowest tremor frequency [Hz]")
    tremor_high: float = Field(gt=0.0, le=50.0, description="highest tremor frequency [Hz]")


@njit(cache=True)
def muscle_force(
    target: np.ndarray, tremor: np.ndarray, time: float, impedance: np.ndarray, motion: np.ndarray, force: np.ndarray
) -> None:
    """Writes the muscles' force (2,) [N] on the tip.

    Args:
        target: one row of a plan's table.
        tremor: rows (amplitude x, amplitude y, angular frequency, phase x, phase y).
        time: time since the start [s].
        impedance: (K_h, B_h, F_a).
        motion: position and velocity of the tip: x, y, vx, vy.
        force: result.
    """
    speed = np.sqrt(target[2] ** 2 + target[3] ** 2) + _ANTICIPATION_SPEED
    for i in range(2):
        force[i] = (
            target[6] * impedance[0] * (target[i] - motion[i])
            + impedance[1] * (target[2 + i] - motion[2 + i])
            + target[4 + i]
            + impedance[2] * target[2 + i] / speed
        )
        for n in range(tremor.shape[0]):
            force[i] += tremor[n, i] * np.sin(tremor[n, 2] * time + tremor[n, 3 + i])


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
        table: table of the plan, one row a period.
        stiffness: stiffness towards the target, of translation [N/m] and of rotation [N m/rad]; 0: none.
    """

    parameters: DeviceParameters
    plan: Plan
    table: np.ndarray
    stiffness: tuple[float, float]


class SimulatedHand(Hand):
    """A planar hand: plan, impedance and tremor as arrays for a device's compiled integration.

    Args:
        parameters: arm impedance and tremor.
        plan: intended motion.
        seed: seed of the tremor.

    Attributes:
        table: table of the plan, shape (n, 7).
        tremor: rows of the tremor, shape (12, 5), see `muscle_force`.
        impedance: constants of the impedance, shape (3,), see `muscle_force`.
    """

    parameters: HandParameters

    def __init__(self, parameters: HandParameters, plan: MotionPlan, seed: int) -> None:
        self.parameters = parameters
        self.plan = plan
        self.table = np.ascontiguousarray(plan.table)
        self.impedance = np.array([parameters.stiffness, parameters.damping, parameters.expected_resistance])
        self.stiffness = (parameters.stiffness, 0.0)
        low, high = parameters.tremor_low, parameters.tremor_high
        self.tremor = make_tremor([parameters.tremor_force], 2, low, high, np.random.default_rng(seed))


class HandHeldDevice(Device):
    """A simulated device whose tool a simulated hand may hold.

    A device calls `_follow_plan` in `activate`, and `_lead` at the beginning of `write` or `follow`. In period k its
    hand follows row k of `_table`. This is the hand's `table`, or that of the handle while a user leads the hand.

    Attributes:
        parameters: parameters of the device.
        hand: simulated hand that holds the tool; None: the tool is released.
    """

    parameters: DeviceParameters
    hand: Hand | None
    _table: np.ndarray
    _period_number: int
    _handle: Handle | None = None

    def hold_handle(self, held: bool) -> np.ndarray:
        """Starts to lead the hand by a handle, from its present target, or stops: then the target stays at its pose.

        Returns:
            Target of the hand, pose (7,).

        Raises:
            DeviceError: there is no hand.
        """
        truth, hand = self.truth(), self.hand
        if hand is None or truth is None:
            raise DeviceError("the tool is released, so there is no hand to lead")
        if held:
            row = self._table[min(self._period_number, len(self._table) - 1)]
            self._handle = Handle(row, truth.operator_target, truth.tool_pose, hand.stiffness)
            self._table = self._handle.table
        elif self._handle is not None:
            self._handle.release()
        return self._handle.pose if self._handle is not None else truth.operator_target

    def move_handle(self, pose: np.ndarray) -> None:
        """Sets the wanted pose (7,) of a held handle from the next period on; a planar device uses x and y."""
        if self._handle is not None:
            self._handle.move(pose)

    def _follow_plan(self) -> None:
        """Makes the hand follow its plan again; called when the device starts."""
        if self._handle is not None and self.hand is not None:
            self._handle, self._table = None, self.hand.table

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
