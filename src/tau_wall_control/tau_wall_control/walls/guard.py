"""Walls as a loop needs them: they begin where the tool is, and stop for good where they cannot go on. No ROS."""

from __future__ import annotations

import numpy as np

from tau_wall_control.errors import PlanesError, TauError
from tau_wall_control.walls.holding import HoldingWall
from tau_wall_control.walls.walls import MovingPlanes, Plane, WallRenderer, WallState


class SafeStopError(TauError):
    """No torque may be commanded any more until `GuardedWalls.restart`."""


class GuardedWalls:
    """Steps walls, and stops safely at a pose without solution or after too long a saturation.

    Args:
        renderer: the walls.
        longest_saturation: steps in a row in which torque limits may act.

    Attributes:
        state: what the last step rendered; None before the first one, while the device does not obey, once stopped.
        stopped: why the walls have stopped; empty while they have not.
        count: what one count of an encoder moves the tool by at the most in the centre [m].
    """

    def __init__(self, renderer: WallRenderer | HoldingWall, *, longest_saturation: int) -> None:
        self.renderer, self._longest = renderer, longest_saturation
        device = renderer.device
        resolution = device.parameters.encoders.joint_resolution
        self.count = resolution * float(np.linalg.norm(device.jacobian_at(device.home[0])[:3], 2))
        self.restart()
        self._compile()

    def _compile(self) -> None:
        """Two steps at home, the second in contact, so that the first tick finds everything compiled."""
        home = self.renderer.device.home
        theta, planes = self.renderer.device.inverse_kinematics(*home), None
        if self.moving:
            planes = MovingPlanes([0], [home[0] + [0.0, 0.0, 1e-4]], [[0.0, 0.0, 1.0]])
        for _ in range(2):
            self.step(theta, np.zeros(6), planes=planes)
        self.restart()

    @property
    def moving(self) -> bool:
        """Whether the walls come with each step."""
        return isinstance(self.renderer, WallRenderer) and self.renderer.moving

    @property
    def planes(self) -> tuple[Plane, ...]:
        """The walls that are set."""
        return self.renderer.planes if isinstance(self.renderer, WallRenderer) else (self.renderer.plane,)

    def restart(self) -> None:
        """Forgets everything: the next step begins at rest, without contact, where the tool then is."""
        self.state: WallState | None = None
        self.stopped = ""
        self._started = False

    def take_over(self, old: GuardedWalls) -> None:
        """Goes on from where others on the same controller stand."""
        self.state, self.stopped, self._started = None, old.stopped, old._started
        self.renderer.take_over(old.renderer)  # type: ignore[arg-type]  # `contact` never changes

    def step(
        self, theta: np.ndarray, rate: np.ndarray, *, obeys: bool = True, planes: MovingPlanes | None = None
    ) -> np.ndarray:
        """Torques (6,) [N m] for joint angles [rad] and rates [rad/s].

        Args:
            theta: (6,).
            rate: (6,).
            obeys: False while the device is in its safe state: no torque, and a new start afterwards.
            planes: where the walls are now, for those that come with each step.

        Raises:
            PlanesError: planes that cannot be used; the next step may be one again.
            SafeStopError: the angles belong to no pose near the last one, to a singular one, or the torque limits have
                acted for too long; at every step from then on.
        """
        if self.stopped:
            raise SafeStopError(self.stopped)
        if not obeys:
            self.restart()
            return np.zeros(6)
        try:
            if not self._started:
                self.renderer.reset(theta)
                self._started = True
            self.state = self.renderer.step(theta, rate, *(() if planes is None else (planes,)))  # type: ignore[call-arg]
        except PlanesError:
            self.state = None
            raise
        except TauError as error:
            self._stop(str(error))
        if self.renderer.saturated_steps > self._longest:
            period = self.renderer.controller.period
            self._stop(
                f"the torque limits have acted for {self.renderer.saturated_steps * period:g} s, expected "
                f"{self._longest * period:g} s at the most: the push is more than the motors can hold"
            )
        assert self.state is not None
        return self.state.torque

    def _stop(self, reason: str) -> None:
        self.stopped, self.state = reason, None
        raise SafeStopError(reason)

    @property
    def stiffness(self) -> float:
        """Push over depth of the wall that is pushed most [N/m], the depth at least one count; 0 without contact."""
        if self.state is None or not len(self.state.push):
            return 0.0
        deepest = int(np.argmax(self.state.push))
        if not self.state.in_contact[deepest]:
            return 0.0
        return float(self.state.push[deepest] / max(self.state.penetration[deepest], self.count))
