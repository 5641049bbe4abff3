"""Unilateral walls that let the tool slide and leave: state, and one compiled step (docs/tau.md, "Walls")."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from haptic_friction.laws import FrictionLaw
from haptic_math.quantities import finite_number, float_array, one_line
from tau_wall_control.checks import instance, vector
from tau_wall_control.control import laws
from tau_wall_control.control.controller import WallController
from tau_wall_control.device.tau_device import Pose
from tau_wall_control.errors import PlanesError, TauError
from tau_wall_control.walls import contact_kernels
from tau_wall_control.walls.planes import MovingPlanes, Plane
from tau_wall_control.walls.records import MOST_PLANES, PLANE, PLANE_MEMORY, SAMPLE, SETTINGS, WallLaw
from tau_wall_control.walls.step import render
from tau_wall_control.walls.wall_filter import GAINS, wall_filter
from tau_wall_control.walls.wall_state import WallState


class SlidingWalls:
    """Unilateral walls on the device: joint angles in, joint torques out.

    Without contact the torques compensate the weight of the device only.

    Args:
        controller: controller of any scheme, which gives the gains. `predictive` is rendered like `stiff`.
        planes: walls; None if they come with each step, as `MovingPlanes`.
        friction: law along the planes for a normal force of 1 N: CoulombLaw(0.3) is a coefficient of 0.3. None: no
            friction.
        friction_stiffness, friction_damping: compliance of the friction [N/m], [N s/m].
        release_gap: distance outside a wall at which its contact ends at the latest [m].

    Attributes:
        saturated_steps: number of consecutive steps with active torque limits.

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
        self.controller = instance("controller", controller, WallController, "design_wall_controller(device)")
        self.device = controller.device
        for name, value in (("friction_stiffness", friction_stiffness), ("release_gap", release_gap)):
            finite_number(name, value, above=0.0, expected="a number above 0", error=TauError)
        finite_number("friction_damping", friction_damping, minimum=0.0, expected="0 or more", error=TauError)
        law = _law_of(controller, friction, friction_stiffness, friction_damping, release_gap)
        self._constants, self._settings = (tuple(self.device.arrays), tuple(law)), law.settings
        self._pose: Pose = (np.zeros(3), np.eye(3))
        self._sample = np.zeros(1, SAMPLE)
        self._torque, self._twist, self._friction, self._elastic = (
            self._sample[name][0] for name in ("torque", "twist", "friction", "elastic_displacement")
        )
        self.saturated_steps = 0
        self.planes: tuple[Plane, ...] = ()
        self.moving = planes is None
        if planes is None:
            self._room, self._count = np.zeros(MOST_PLANES, PLANE), 0
            self._keys, self._known = np.zeros(MOST_PLANES, dtype=np.int64), np.zeros(MOST_PLANES, dtype=np.int64)
            self._memories, self._spare = np.zeros(MOST_PLANES, PLANE_MEMORY), np.zeros(MOST_PLANES, PLANE_MEMORY)
            self._planes, self._memory = self._room[:0], self._memories[:0]
        else:
            self.set_planes(planes)

    @property
    def torque_limit(self) -> float:
        """Largest torque of each joint [N m], the peak torque or less."""
        return float(self._settings["peak"][0])

    @torque_limit.setter
    def torque_limit(self, limit: float) -> None:
        self._settings["peak"] = limit

    @property
    def pose(self) -> Pose:
        """Position (3,) [m] and rotation (3, 3) of the tool in the last step."""
        return self._pose

    def set_planes(self, planes: Sequence[Plane]) -> None:
        """Replaces the walls; an unchanged plane keeps its contact.

        Raises:
            TauError: no plane or more than 32, or the walls come with each step.
        """
        if self.moving:
            raise TauError("planes: expected none to be set, these walls come with each step")
        if isinstance(planes, Plane):
            raise TauError(f"planes: expected a list of planes, got {planes}")
        for plane in planes:
            instance("planes", plane, Plane, "Plane(point=(0, 0, 0), normal=(0, 0, 1))")
        if not 1 <= len(planes) <= MOST_PLANES:
            raise TauError(f"planes: expected 1 to {MOST_PLANES}, got {len(planes)}")
        old = dict(zip(self.planes, getattr(self, "_memory", ()), strict=True))
        self.planes = tuple(planes)
        self._planes = np.zeros(len(planes), PLANE)
        self._planes["point"] = [plane.point for plane in planes]
        self._planes["normal"] = [plane.normal for plane in planes]
        self._memory = np.zeros(len(planes), PLANE_MEMORY)
        for i, plane in enumerate(self.planes):
            if plane in old:
                self._memory[i] = old[plane]
            else:
                self._start(i)

    def take_over(self, old: SlidingWalls) -> None:
        """Takes the state of other walls on the same device; a plane that both have keeps its contact."""
        instance("take_over", old, SlidingWalls)
        if old.moving != self.moving:
            raise TauError("take_over: expected walls that move both times, or neither")
        self._pose, self._elastic[:], self.saturated_steps = old._pose, old._elastic, old.saturated_steps
        if self.moving:
            self._keys, self._memories, self._count = old._keys.copy(), old._memories.copy(), old._count
            return
        wanted = self.planes
        self.planes, self._memory = old.planes, old._memory
        self.set_planes(wanted)

    def _start(self, i: int) -> None:
        """Starts a plane's filter at rest at the present pose, without contact."""
        self._memory[i : i + 1] = np.zeros(1, PLANE_MEMORY)
        self._memory["filtered_distance"][i] = self._planes["normal"][i] @ (self._pose[0] - self._planes["point"][i])

    def reset(self, theta: ArrayLike, guess: Pose | None = None) -> None:
        """Starts at rest at joint angles (6,), without contact; `guess` is a pose near the start.

        Raises:
            ForwardKinematicsError: there is no pose with these angles.
        """
        self._pose = self.device.forward_kinematics(theta, guess)
        for i in range(len(self.planes)):
            self._start(i)
        self._count = 0  # all moving planes are new
        self._elastic[:] = 0.0
        self.saturated_steps = 0

    def _move(self, planes: MovingPlanes) -> None:
        """Takes the planes of a sample; a plane has the memory of its key, a new plane starts without contact."""
        if not isinstance(planes, MovingPlanes):
            raise PlanesError(f"planes: expected MovingPlanes, got {one_line(planes)}")
        keys = np.asarray(planes.key)
        if keys.ndim != 1 or (keys.size and keys.dtype.kind not in "iu"):
            raise PlanesError(f"key: expected a row of whole numbers, got {planes.key!r}")
        w, body = len(keys), keys if planes.body is None else planes.body
        if w > MOST_PLANES:
            raise PlanesError(f"planes: expected {MOST_PLANES} at the most, got {w}")
        rows = self._room[:w]
        contact_kernels.write_planes(
            rows,
            _rows("point", planes.point, (w, 3)),
            _rows("normal", planes.normal, (w, 3)),
            _rows("velocity", planes.velocity, (w, 3)),
            _rows("inverse_mass", planes.inverse_mass, (w,)),
            _rows("body", body, (w,)),
        )
        self._known[:w] = keys
        wrong, i = contact_kernels.recall(self._known[:w], self._keys[: self._count], rows, self._memories, self._spare)
        if wrong:
            raise PlanesError(_refusal(wrong, rows[i], keys[i]))
        self._keys, self._known = self._known, self._keys
        self._memories, self._spare = self._spare, self._memories
        self._count, self._planes, self._memory = w, rows, self._memories[:w]

    def step(self, theta: ArrayLike, rate: ArrayLike, planes: MovingPlanes | None = None) -> WallState:
        """Renders one sample.

        Args:
            theta, rate: joint angles and velocities (6,) [rad], [rad/s].
            planes: walls of this sample, if walls come with each step.

        Raises:
            ForwardKinematicsError, UnreachableError, SingularError: there is no pose with these angles near the last
                one.
            TauError: a number is not finite.
            PlanesError: the planes cannot be used.
        """
        angles, rates = vector("theta", theta, (6,)), vector("rate", rate, (6,))
        if (planes is None) == self.moving:
            expected = "the planes of each step" if self.moving else "none beside those that are set"
            raise TauError(f"planes: expected {expected}, got {planes}")
        if planes is not None:
            self._move(planes)
        p, R = self._pose[0].copy(), self._pose[1].copy()
        code = render(*self._constants, self._planes, self._memory, p, R, angles, rates, self._sample)
        self.device.raise_for(code, p, R)
        self._pose = (p, R)
        saturated = bool(self._sample["saturated"][0])
        self.saturated_steps = self.saturated_steps + 1 if saturated else 0
        return WallState(
            torque=self._torque.copy(),
            position=p,
            rotation=R,
            twist=self._twist.copy(),
            in_contact=self._memory["in_contact"].copy(),
            penetration=-self._memory["distance"],
            push=self._memory["push"].copy(),
            friction=self._friction.copy(),
            operating_point=int(self._sample["operating_point"][0]),
            saturated=saturated,
        )


def _rows(name: str, values: ArrayLike | None, shape: tuple[int, ...]) -> np.ndarray:
    """Returns a field of planes as an array; zeros if it is not given.

    Raises:
        PlanesError: the array has another shape, or is none of numbers.
    """
    if values is None:
        return np.zeros(shape)
    array = np.require(float_array(name, values, shape, error=PlanesError), requirements="C")
    if array.shape != shape:
        raise PlanesError(f"{name}: expected shape {shape} for {shape[0]} planes, got {array.shape}")
    return array


def _law_of(
    controller: WallController, friction: FrictionLaw | None, stiffness: float, damping: float, release_gap: float
) -> WallLaw:
    """Returns settings and gains of the compiled step."""
    code, coefficients = -1, np.zeros((1, 2))
    if friction is not None:
        instance("friction", friction, FrictionLaw, "CoulombLaw(0.3)").check_dimension(3)
        code, coefficients = friction.code, friction.coefficients[None].copy()
    c = controller
    values = {
        "mode": c.mode,
        "delay": c.delay,
        "period": c.period,
        "peak": c.device.peak_torque,
        "release_gap": release_gap,
        "friction_stiffness": stiffness,
        "friction_damping": damping,
        "friction_code": code,
        "interpolated": c.options.interpolated,
        "exact_gravity": c.options.exact_gravity,
    }
    settings = np.array([tuple(values[name] for name in SETTINGS.names or ())], SETTINGS)
    observed = wall_filter(c) if c.mode & laws.OBSERVER else np.zeros((laws.JUMP_GAINS + 1, GAINS))
    return WallLaw(settings, c.table, c.points, c.edges, observed, coefficients)


def _refusal(wrong: int, row: np.void, key: int) -> str:
    """Returns the error text for a refusal of `contact_kernels.recall`."""
    numbers = [*row["point"].tolist(), *row["normal"].tolist(), *row["velocity"].tolist()]
    return {
        contact_kernels.NOT_FINITE: f"planes: expected finite numbers, got "
        f"{[*numbers, float(row['inverse_mass']), float(row['body'])]} for key {key}",
        contact_kernels.NOT_A_UNIT_VECTOR: f"normal: expected unit vectors, got {row['normal'].tolist()} for key {key}",
        contact_kernels.NEGATIVE_MASS: f"inverse_mass: expected 0 or more, got {float(row['inverse_mass'])} for key "
        f"{key}",
        contact_kernels.KEY_AGAIN: f"key: expected each key once, got {key} again",
    }[wrong]
