"""Computation of the wall node in a tick, without ROS: joint angles in, joint torques and the published state out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from haptic_files import ParameterValues
from haptic_files.moved_modules import renamed
from haptic_friction.laws import FrictionLaw
from tau_wall_control.checks import whole_number
from tau_wall_control.control.controller import WallController
from tau_wall_control.device.tau_device import Pose, TauDevice
from tau_wall_control.device.thermal import ThermalLimit
from tau_wall_control.errors import PlanesError, SafeStopError, TauError
from tau_wall_control.walls.factory import make_controller, make_device, planes_of, walls_of
from tau_wall_control.walls.holding import HoldingWall
from tau_wall_control.walls.planes import MovingPlanes, Plane, planes_from_lists, rows_of
from tau_wall_control.walls.sliding import SlidingWalls
from tau_wall_control.walls.wall_state import WallState


class WallReport(NamedTuple):
    """Published state of a tick of the wall node (`haptic_msgs/WallState`), in the device's base frame.

    Attributes:
        point: point on each wall (w, 3) [m]; for moving walls on the surfaces.
        normal: outward unit normal of each wall (w, 3).
        velocity: velocity of each wall's surface (w, 3) [m/s].
        penetration: depth of the tool behind each wall (w,) [m], not negative.
        push: normal force of each wall on the tool (w,) [N], not negative.
        in_contact: contact flag of each wall (w,).
        operating_point: index of the subspace in use; -1 if nothing was rendered.
        effort: commanded torques (6,) [N m].
        saturation: fraction of each motor's limit (6,), 1 at the limit.
        thermal_load: thermal load of each motor (6,), 1 at the temperature of its continuous torque.
        rendered_stiffness: see `WallRenderer.rendered_stiffness` [N/m].

    Examples:
        >>> import numpy as np
        >>> from tau_wall_control import Plane, TauDevice, WallRenderer, design_wall_controller
        >>> device = TauDevice.default()
        >>> controller = design_wall_controller(device, scheme="stiff")
        >>> walls = WallRenderer(controller, [Plane(point=(0.0, 0.0, 0.0), normal=(0.0, 0.0, 1.0))])
        >>> _ = walls.step(device.inverse_kinematics((0.0, 0.0, 1e-3)), [0.0] * 6)  # 1 mm outside
        >>> report = walls.report()
        >>> report.penetration.tolist(), report.push.tolist(), report.rendered_stiffness
        ([0.0], [0.0], 0.0)
        >>> bool(np.allclose(report.effort, device.gravity_torque_at((0.0, 0.0, 1e-3))))  # no more than its own weight
        True
    """

    point: np.ndarray
    normal: np.ndarray
    velocity: np.ndarray
    penetration: np.ndarray
    push: np.ndarray
    in_contact: np.ndarray
    operating_point: int
    effort: np.ndarray
    saturation: np.ndarray
    rendered_stiffness: float
    thermal_load: np.ndarray


class WallRenderer:
    """Walls on the device: joint angles in, joint torques out.

    Without contact the torques compensate the weight of the device only. `step` computes the torques of a tick,
    `report` returns its published state. The first step after a reset starts at rest at the tool, without contact.

    With `longest_saturation` the renderer stops safely at joint angles without a pose, in a singular pose, and after
    too long a saturation. It renders no torque until `reset`.

    Args:
        controller: controller of any scheme, which gives the gains. `predictive` is rendered like `stiff`.
        planes: walls; None if they come with each step, as `MovingPlanes`.
        friction: law along the planes for a normal force of 1 N: CoulombLaw(0.3) is a coefficient of 0.3. None: no
            friction.
        friction_stiffness: stiffness of the friction's compliance [N/m].
        friction_damping: damping of the friction's compliance [N s/m].
        release_gap: distance outside a wall at which its contact ends at the latest [m].
        longest_saturation: largest number of consecutive steps with active torque limits. None: no safe stops; an error
            in one step does not affect the next.
        thermal_limit: true if the heat of the motors limits the torques, see `ThermalLimit`.

    Attributes:
        thermal: thermal loads of the motors, also without a limit; a reset does not change them.
        state: rendered state of the last step; None before the first one, in the safe state of the device, and after a
            safe stop.
        stopped: reason of the safe stop; empty without one.

    Raises:
        TauError: no plane or more than 32, or a number out of range.

    Examples:
        >>> from tau_wall_control import Plane, TauDevice, WallRenderer, design_wall_controller
        >>> device = TauDevice.default()
        >>> controller = design_wall_controller(device, scheme="stiff")
        >>> walls = WallRenderer(controller, [Plane(point=(0.0, 0.0, 0.0), normal=(0.0, 0.0, 1.0))])
        >>> state = walls.step(device.inverse_kinematics((0.0, 0.0, -1e-4)), [0.0] * 6)  # 0.1 mm inside
        >>> state.in_contact.tolist(), (1e3 * state.penetration).round(3).tolist()
        ([True], [0.1])
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
        longest_saturation: int | None = None,
        thermal_limit: bool = True,
    ) -> None:
        walls = SlidingWalls(
            controller,
            planes,
            friction=friction,
            friction_stiffness=friction_stiffness,
            friction_damping=friction_damping,
            release_gap=release_gap,
        )
        self._begin(walls, longest_saturation, thermal_limit)

    @classmethod
    def around(
        cls, walls: SlidingWalls | HoldingWall, *, longest_saturation: int | None = None, thermal_limit: bool = True
    ) -> WallRenderer:
        """Returns a renderer of existing walls."""
        renderer = cls.__new__(cls)
        renderer._begin(walls, longest_saturation, thermal_limit)
        return renderer

    @classmethod
    def from_parameters(
        cls, values: Mapping[str, Any], *, controller: WallController | None = None, moving: bool | None = None
    ) -> WallRenderer:
        """Returns the renderer that parameters of the wall node describe, with a compiled step.

        Args:
            values: parameters by name, as in wall_node.yaml, and the `period` [s] and `inputs` of every rendering node.
            controller: controller to use instead of one from the parameters.
            moving: true if the walls come with each step; default: true if `inputs` has an entry of the kind planes.

        Raises:
            TauError: a parameter is missing or refused; the message names it.
        """
        values = ParameterValues(values)
        planes = planes_of(values, moving)
        used = controller is not None
        if controller is None:
            controller = make_controller(values, make_device(values))
        walls = walls_of(values, controller, planes)
        renderer = cls.around(
            walls,
            longest_saturation=round(values["longest_saturation"] / values["period"]),
            thermal_limit=values["thermal_limit"],
        )
        if not (used and isinstance(walls, HoldingWall)):  # the steps of a HoldingWall restart a controller in use
            renderer._compile()
        return renderer

    def __repr__(self) -> str:
        return f"WallRenderer(controller {self.controller.scheme!r}, planes {self.planes or 'of each step'!r})"

    def _begin(
        self, walls: SlidingWalls | HoldingWall, longest_saturation: int | None, thermal_limit: bool = True
    ) -> None:
        if longest_saturation is not None:
            whole_number("longest_saturation", longest_saturation, "steps")
        self._walls, self._longest = walls, longest_saturation
        self.thermal, self._thermal_limit = ThermalLimit(walls.device, walls.controller.period), thermal_limit
        self._resolution: float | None = None
        self._rows: MovingPlanes | None = None
        self.reset()

    def _compile(self) -> None:
        """Makes two steps at home, the second in contact, to compile all functions before the first tick."""
        home, planes = self.device.home, None
        if self.moving:
            zero, up = np.zeros(1), np.array([[0.0, 0.0, 1.0]])
            planes = MovingPlanes.at_distances(
                home[0], key=np.zeros(1, dtype=np.int64), signed_distance=zero - 1e-4, normal=up, velocity=0.0 * up,
                inverse_mass=zero, body=zero,
            )  # fmt: skip
        theta = self.device.inverse_kinematics(*home)
        for _ in range(2):
            self.step(theta, np.zeros(6), planes)
        self._rows = None
        self.thermal.load[:] = 0.0
        self.reset()

    # --- rendered walls ---------------------------------------------------------------------------------------

    @property
    def controller(self) -> WallController:
        """Controller with its gains."""
        return self._walls.controller

    @property
    def device(self) -> TauDevice:
        """Device model of the controller."""
        return self._walls.device

    @property
    def moving(self) -> bool:
        """True if the walls come with each step."""
        return isinstance(self._walls, SlidingWalls) and self._walls.moving

    @property
    def planes(self) -> tuple[Plane, ...]:
        """Walls that are set; none if they come with each step."""
        return self._walls.planes if isinstance(self._walls, SlidingWalls) else (self._walls.plane,)

    @property
    def saturated_steps(self) -> int:
        """Number of consecutive steps with active torque limits."""
        return self._walls.saturated_steps

    # --- changes between ticks --------------------------------------------------------------------------------

    def reset(self, theta: ArrayLike | None = None, guess: Pose | None = None) -> None:
        """Discards the state and ends a safe stop.

        Args:
            theta: joint angles (6,) [rad] of the start; None: those of the next step.
            guess: pose near the start; home if not given.

        Raises:
            ForwardKinematicsError: there is no pose with these angles.
        """
        self.state: WallState | None = None
        self.stopped, self._started = "", False
        if theta is not None:
            self._walls.reset(theta, guess)
            self._started = True

    def set_planes(self, planes: Sequence[Plane]) -> None:
        """Replaces the walls; an unchanged plane keeps its contact.

        Raises:
            TauError: no plane or more than 32, or walls that cannot be set; nothing has changed.
        """
        if isinstance(self._walls, HoldingWall):
            raise TauError("planes: expected none to be set, the wall of contact holding stays")
        self._walls.set_planes(planes)

    def set_walls(self, points: ArrayLike, normals: ArrayLike) -> None:
        """Replaces the walls by flat lists of points [m] and normals, as the node's service ~/set_walls does.

        Raises:
            TauError: the lists are refused; nothing has changed.
        """
        self.set_planes(planes_from_lists(points, normals))

    def take_over(self, old: WallRenderer) -> None:
        """Takes the state of a renderer with the same controller; a plane that both have keeps its contact.

        Raises:
            TauError: the walls are of another kind; nothing has changed.
        """
        self._walls.take_over(old._walls)  # type: ignore[arg-type]  # it refuses another kind of contact
        self.state, self.stopped, self._started = None, old.stopped, old._started
        self._rows = old._rows
        self.thermal.load[:] = old.thermal.load

    def with_parameters(self, values: Mapping[str, Any]) -> WallRenderer:
        """Returns a renderer with other parameters that continues from the state of this one, with its controller.

        Raises:
            TauError: a parameter is refused; this renderer has not changed.
        """
        renderer = type(self).from_parameters(values, controller=self.controller, moving=self.moving)
        renderer.take_over(self)
        return renderer

    # --- a tick -----------------------------------------------------------------------------------------------

    def step(
        self, theta: ArrayLike, rate: ArrayLike, planes: MovingPlanes | None = None, *, obeys: bool = True
    ) -> WallState:
        """Renders one sample.

        Args:
            theta: joint angles (6,) [rad].
            rate: joint velocities (6,) [rad/s].
            planes: walls of this sample, if walls come with each step.
            obeys: false while the device is in its safe state: no torque, and a new start afterwards.

        Raises:
            PlanesError: the planes cannot be used; the next step may succeed.
            SafeStopError: the renderer has stopped safely; raised by every step until `reset`.
            ForwardKinematicsError, UnreachableError, SingularError: without safe stops: there is no pose with these
                angles near the last one.
            TauError: without safe stops: a number is not finite.
        """
        if self.stopped:
            self.thermal.advance(np.zeros(6))
            raise SafeStopError(self.stopped)
        self._rows = planes
        if not obeys:
            self.thermal.advance(np.zeros(6))
            self.reset()
            return self._nothing()
        if self._thermal_limit:
            self._walls.torque_limit = self.thermal.limit
        try:
            if not self._started:
                self._walls.reset(theta)
                self._started = True
            rendered = self._walls.step(theta, rate, *(() if planes is None else (planes,)))  # type: ignore[call-arg]
        except PlanesError:
            self.state = None
            raise
        except TauError as error:
            if self._longest is None:
                raise
            self._stop(str(error))
        if self._longest is not None and self.saturated_steps > self._longest:
            period, hot = self.controller.period, self._walls.torque_limit < self.device.peak_torque
            self._stop(
                f"the torque limits have acted for {self.saturated_steps * period:g} s, expected "
                f"{self._longest * period:g} s at the most: the push is more than the motors can hold"
                + (f" for good, {100 * float(self.thermal.load.max()):.0f} % of their heat is used" if hot else "")
            )
        self.thermal.advance(rendered.torque)
        self.state = rendered
        return rendered

    def _stop(self, reason: str) -> None:
        self.stopped, self.state = reason, None
        raise SafeStopError(reason)

    def _nothing(self) -> WallState:
        """Returns the state of a tick in which nothing is rendered, at the pose of the last step."""
        w = len(self._points_and_normals()[0])
        p, R = self._walls.pose
        zero, none = np.zeros(6), np.zeros(w)
        return WallState(zero, p, R, zero, np.zeros(w, dtype=bool), none, none, np.zeros(3), -1, saturated=False)

    @property
    def rendered_stiffness(self) -> float:
        """Normal force over penetration of the wall with the largest normal force [N/m]; 0 without contact.

        The penetration is at least one count of the encoders.
        """
        if self.state is None or not len(self.state.push):
            return 0.0
        deepest = int(np.argmax(self.state.push))
        if not self.state.in_contact[deepest]:
            return 0.0
        if self._resolution is None:
            self._resolution = self.device.tool_resolution
        return float(self.state.push[deepest] / max(self.state.penetration[deepest], self._resolution))

    def _points_and_normals(self) -> tuple[np.ndarray, np.ndarray]:
        rows = self._rows
        if rows is None:
            return rows_of(self.planes)
        point = rows.point if rows.surface_point is None else rows.surface_point
        return np.asarray(point, dtype=float).reshape(-1, 3), np.asarray(rows.normal, dtype=float).reshape(-1, 3)

    def report(self, effort: np.ndarray | None = None) -> WallReport:
        """Returns the state of the last step that the node publishes.

        Args:
            effort: commanded torques (6,) [N m]; default: the torques of the step.
        """
        (point, normal), velocity = self._points_and_normals(), None if self._rows is None else self._rows.velocity
        state = self.state
        if effort is None:
            effort = np.zeros(6) if state is None else state.torque
        none = np.zeros(len(point))
        return WallReport(
            point=point,
            normal=normal,
            velocity=np.zeros(point.shape) if velocity is None else np.asarray(velocity, dtype=float),
            penetration=none if state is None else np.maximum(state.penetration, 0.0),
            push=none if state is None else state.push,
            in_contact=np.zeros(len(point), dtype=bool) if state is None else state.in_contact,
            operating_point=-1 if state is None else state.operating_point,
            effort=effort,
            saturation=np.abs(effort) / self.device.peak_torque,
            rendered_stiffness=self.rendered_stiffness,
            thermal_load=self.thermal.load.copy(),
        )


__getattr__ = renamed(__name__, {"takes_planes": "tau_wall_control.walls.factory:takes_planes"})
