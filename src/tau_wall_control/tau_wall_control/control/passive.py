"""Time-domain passivity controller around a controller that holds a pose (docs/tau.md, "Comparators").

The observer sums the energy that the wall has taken at the joints. Where the sum falls below zero, a damper takes what
the wall has generated in the next period (Hannaford and Ryu, "Time-domain passivity control of haptic interfaces", IEEE
Transactions on Robotics and Automation 18, 2002). Both are `haptic_math.passivity`:

    E_k+1 = E_k - (tau_k - tau_g)^T (theta_k+1 - theta_k),     tau_k <- tau_k - a_k M thetadot_k,
    a_k = min(-E_k/(T thetadot_k^T M thetadot_k), a_max)  where E_k < 0, else 0.

The damper is proportional to the joints' mass matrix M, so that it slows all directions alike: a = 1/T stops the
device within a period, and a = 2/T would reverse its velocity.
"""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from haptic_math.passivity import ImpedancePort, PassivityRule
from tau_wall_control.checks import instance, pose_controller, vector, whole_number
from tau_wall_control.control.linearisation import linearise
from tau_wall_control.device.tau_device import TauDevice
from tau_wall_control.errors import TauError

if TYPE_CHECKING:
    from tau_wall_control.simulation.push import PoseController

#: bound of the damper in coordinates of unit mass; the motors' limits act before it
LARGEST_FORCE = 1e6


class PassiveController:
    """Keeps the wall of another controller passive at the joints.

    Args:
        device: device of the controller's design.
        controller: the controller, such as `z_width.spring_damper_controller`.
        control: the damper acts; False: the energy is only observed.
        delay: samples that the torques act late.
        largest_damping: a_max [1/s]; 1/T if not given.

    Attributes:
        port: observer and damper of the present contact, `haptic_math.passivity.ImpedancePort`.
        lowest_energy: lowest energy E_k since the start of the contact, at most 0 [J].

    Raises:
        TauError: largest_damping or delay is below 0, or largest_damping is not finite.

    Examples:
        >>> from tau_wall_control import PassiveController, TauDevice, design_wall_controller, simulate_push
        >>> device = TauDevice.default()
        >>> wall = PassiveController(device, design_wall_controller(device, scheme="sopc"))
        >>> _ = simulate_push(device, wall, point=(0.0, 0.0, 0.0), force=0.0, duration=0.1)
        >>> abs(wall.lowest_energy) < 1e-6  # at rest nothing is exchanged
        True
    """

    def __init__(
        self,
        device: TauDevice,
        controller: PoseController,
        *,
        control: bool = True,
        delay: int = 0,
        largest_damping: float | None = None,
    ) -> None:
        if largest_damping is not None and not 0.0 <= largest_damping < math.inf:
            raise TauError(f"largest_damping: expected 0 or more [1/s], got {largest_damping}")
        delay = whole_number("delay", delay, "samples")
        self.device = instance("device", device, TauDevice, "TauDevice.default()")
        self.controller = pose_controller(controller)
        self._before: np.ndarray | None = None
        self.normal, self.period = controller.normal, controller.period
        bound = 1.0 / self.period if largest_damping is None else largest_damping
        rule = PassivityRule(
            self.period, control=control, largest_damping=bound, largest_force=LARGEST_FORCE, anticipate=delay == 0
        )
        self.port = ImpedancePort(rule, (1.0,) * 6, delay)
        self._delay = delay

    def __repr__(self) -> str:
        return f"PassiveController({self.controller!r})"

    def start(self, position: ArrayLike, rotation: ArrayLike | None = None) -> None:
        """Takes a pose as the reference and starts with no energy.

        Args:
            position: of the contact pose (3,) [m].
            rotation: of the contact pose (3, 3); identity if not given.

        Raises:
            UnreachableError, SingularError: the pose cannot be held.
        """
        self.controller.start(position, rotation)
        self.port.restart()
        self.lowest_energy = 0.0
        # coordinates y = root^T theta have the mass matrix I
        self._root = np.linalg.cholesky(np.linalg.inv(linearise(self.device, position, rotation).B2))
        self._gravity = self.device.gravity_torque_at(position, rotation)
        self._before = self.device.inverse_kinematics(position, rotation)
        self._clipped = deque([np.zeros(6)] * (self._delay + 1))

    def step(self, theta: ArrayLike, rate: ArrayLike) -> np.ndarray:
        """Returns joint torques (6,) within the limits [N m] for angles [rad] and rates [rad/s] of this sample, (6,).

        Raises:
            TauError: wrong shape, a number that is not finite, or no contact pose yet (`start`).
        """
        if self._before is None:
            raise TauError("step: expected start(position) before it, which takes the contact pose")
        angles, rate = vector("theta", theta, (6,)), vector("rate", rate, (6,))
        moved = (angles - self._before) @ self._root
        self.port.arrive(moved.tolist())
        self.port.absorb(self._clipped.popleft().tolist(), moved.tolist())  # what the motors' limits took off
        self._before, self.lowest_energy = angles, min(self.lowest_energy, self.port.energy)
        wanted = np.linalg.solve(self._root, self.controller.step(theta, rate) - self._gravity)
        speeds = np.asarray(rate, dtype=float) @ self._root
        held = np.array(self.port.hold(wanted.tolist(), speeds.tolist()), dtype=float)
        torque = self._gravity + self._root @ held
        result = self.device.saturated(torque)
        self._clipped.append(np.linalg.solve(self._root, result - torque))
        return result
