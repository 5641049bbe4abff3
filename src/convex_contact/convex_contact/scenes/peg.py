"""A teleoperated arm with deformable fingers that puts a peg into a holder (Castro et al., section XII-E, Fig. 26).

The arm has seven joints (`data/seven_joint_arm.urdf`), its hand points along x and grips along y, so that the fingers
wrap around the upright peg in the horizontal plane. The free body "target" is the tool of the operator: a device's
coupling pulls it, the arm's joints follow it by differential inverse kinematics, and a tether between target and
hand lets the operator feel the forces on the hand.

From the paper: the fingers' material, their number of vertices, and the step. Chosen here: all other numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from scipy.spatial.transform import Rotation

from convex_contact.control.differential_ik import DifferentialIK, pose_error, reach, tool_jacobian
from convex_contact.model.body_rows import frame_of
from convex_contact.model.corotational import Elasticity
from convex_contact.model.materials import Material
from convex_contact.model.shapes import Box
from convex_contact.model.world import Geometry, Pose, World
from convex_contact.model.world_source import scene_world
from convex_contact.problem import checks
from convex_contact.problem.constraints import Constraint, GivenRows, Rows, controller_row
from convex_contact.problem.row_law import spring_compliance
from convex_contact.scenes.finray import FinRay
from convex_contact.simulation.dynamics import WorldDynamics

ARM = Path(__file__).parents[1] / "data" / "seven_joint_arm.urdf"
GRAVITY = 9.81
#: position of the arm's base, m
BASE = (-0.62, 0.0, -0.6)
#: from the hand's frame along its z to the fingers' base, and to the middle between their gripping walls, m
FINGER_BASE, TOOL = 0.06, 0.11
#: the hand's axes in the world: it points along x and grips along y
HAND = np.array([[0.0, 0.0, 1.0], [0.0, -1.0, 0.0], [1.0, 0.0, 0.0]])
#: range along the fingers in which their vertices can touch, m; every second station of the mesh can
GRIP = (0.032, 0.068)
#: gains of the joints' controllers: N m/rad, N m s/rad
PROPORTIONAL_GAIN, DERIVATIVE_GAIN = 4000.0, 200.0
#: gains of the gripper's controller: N/m, N s/m
GRIPPER_GAIN, GRIPPER_DAMPING = 2000.0, 50.0
#: inertia of the gripper's motor reflected to each finger, kg
ROTOR = 0.2


@dataclass(frozen=True)
class Peg:
    """Parameters of the scene.

    Attributes:
        modulus: of the fingers [Pa].
        poisson_ratio: of the fingers.
        damping: of the fingers [s].
        radius: of the peg [m].
        length: of the peg [m].
        mass: of the peg [kg].
        clearance: between peg and holder, on all sides [m].
        holder: its position along y [m]; the peg starts at 0.
        opening: distance of each finger's gripping wall from the middle of the open gripper [m].
        effort_limit: of the motor that closes both fingers [N].
        stiffness: combined, of contact [N/m].
        friction: combined.
        tether: stiffness between target and hand [N/m]; 0: the operator feels no force.
        cells: of the fingers' mesh, along the walls before, between and after the ribs.
        layers: of the fingers' mesh, across the width.
    """

    modulus: float = 2.5e6
    poisson_ratio: float = 0.49
    damping: float = 0.01
    radius: float = 0.012
    length: float = 0.12
    mass: float = 0.1
    clearance: float = 0.006
    holder: float = 0.12
    opening: float = 0.022
    effort_limit: float = 8.0
    stiffness: float = 1e4
    friction: float = 0.7
    tether: float = 200.0
    cells: int = FinRay.cells
    layers: int = FinRay.layers

    def __post_init__(self) -> None:
        for name in ("modulus", "radius", "length", "mass", "clearance", "effort_limit", "stiffness"):
            checks.number(name, getattr(self, name), above=0.0)
        for name in ("poisson_ratio", "damping", "friction", "tether"):
            checks.number(name, getattr(self, name), minimum=0.0)
        checks.number("holder", self.holder)
        _ = self.finger
        if not self.radius < self.opening <= 0.05:
            raise ValueError(f"opening: expected more than the peg's radius, up to 0.05 m, got {self.opening!r}")
        if abs(self.holder) < 2.0 * self.opening + self.radius:
            raise ValueError(f"holder: expected it beyond the open gripper, got {self.holder!r}")
        if not self.length >= 0.1:
            raise ValueError(f"length: expected 0.1 m or more, a hand above the holder, got {self.length!r}")

    @property
    def finger(self) -> FinRay:
        """Shape and mesh of both fingers."""
        return FinRay(cells=self.cells, layers=self.layers)

    @property
    def grasp_height(self) -> float:
        """Height of the tool above the table when it grips the standing peg [m]."""
        return 0.75 * self.length

    @property
    def holder_height(self) -> float:
        """Height of the holder's rim [m]."""
        return 0.45 * self.length

    def inserted(self, peg: np.ndarray) -> bool:
        """Returns whether a peg with its centre at (3,) [m] is in the holder, at least half of the full depth."""
        within = abs(peg[0]) < 2.0 * self.clearance and abs(peg[1] - self.holder) < 2.0 * self.clearance
        return bool(within and peg[2] - 0.5 * self.length < 0.5 * self.holder_height)

    def wall_displacement(
        self, finger: str, names: Sequence[str], position: np.ndarray, orientation: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Computes the deformation of a finger's gripping wall in n states of the world.

        Args:
            finger: "left" or "right".
            names: of the b bodies.
            position: of the bodies (n, b, 3) [m].
            orientation: of the bodies, quaternions x, y, z, w (n, b, 4).

        Returns:
            Stations along the finger at rest (m,) [m], and displacements towards the other finger (n, m) [m]: means
            across the width, in the axes of the finger's mount.
        """
        numbers = [i for i, name in enumerate(names) if name.startswith(f"{finger}/") and name[-1].isdigit()]
        rest = self.finger.mesh()[0].vertices[[int(names[i].split("/")[1]) for i in numbers]]
        mount = list(names).index(f"{finger}/mount")
        rotation, origin = Rotation.from_quat(orientation[:, mount]), position[:, mount]
        local = np.stack([rotation.apply(position[:, i] - origin, inverse=True) for i in numbers], axis=1)
        stations, which = np.unique(rest[:, 0].round(6), return_inverse=True)
        moved = rest[None, :, 1] - local[:, :, 1]
        return stations, np.stack([moved[:, which == k].mean(axis=1) for k in range(len(stations))], axis=1)

    def world(self) -> World:
        """Makes the scene; the peg is the body "peg", the fingers the trees "left" and "right"."""
        world = World((0.0, 0.0, -GRAVITY))
        surface = Material(stiffness=2.0 * self.stiffness, dissipation=5.0, friction=self.friction)
        world.add_half_space("table", material=surface)
        start = pin.SE3(HAND, np.array([0.0, 0.0, self.grasp_height]))
        q = self._posture(start)
        arm = world.add_urdf("arm", ARM, q=q, position=BASE, armature=[0.1] * 7 + [ROTOR] * 2, self_collision=False)
        elasticity = Elasticity(self.modulus, self.poisson_ratio, 1000.0, self.damping)
        mesh, front, base = self.finger.mesh()
        outline = self.finger.outline()
        along = mesh.vertices[front, 0]
        stations = np.unique(along[(along > GRIP[0]) & (along < GRIP[1])])[::2]
        contact = front[np.isin(along, stations)]
        for name, side in (("left", 1.0), ("right", -1.0)):
            rotation = HAND @ np.array([[0.0, 0.0, -side], [0.0, side, 0.0], [1.0, 0.0, 0.0]])
            place = start.translation + HAND @ np.array([0.0, side * self.opening, FINGER_BASE - TOOL])
            world.add_deformable(
                name, mesh, elasticity=elasticity, contact=contact, attached=base, drawn=outline, material=surface,
                position=place, orientation=pin.Quaternion(rotation).coeffs(),
            )  # fmt: skip
            world.weld(f"arm/finger_{name}", f"{name}/mount")
        world.couple_joints(arm, "right", "left")
        world.add_cylinder(
            "peg", radius=self.radius, length=self.length, mass=self.mass, material=surface,
            position=(0.0, 0.0, 0.5 * self.length - self.mass * GRAVITY / (4.0 * self.stiffness)),
        )  # fmt: skip
        half, wall, height = self.radius + self.clearance, 0.008, self.holder_height
        sides = []
        for x, y in ((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)):
            size = (wall, 2.0 * (half + wall), height) if x else (2.0 * half, wall, height)
            at = np.array([x * (half + 0.5 * wall), y * (half + 0.5 * wall), 0.5 * height])
            sides.append(Geometry(Box(size), Pose(at), surface))
        world.add_body("holder", geometries=sides, fixed=True, position=(0.0, self.holder, 0.0))
        world.add_body(
            "target", mass=0.05, inertia=1e-4, center=(0.0, 0.0, 0.0), position=start.translation,
            orientation=pin.Quaternion(HAND).coeffs(),
        )  # fmt: skip
        world.controllers.append(Teleoperation(self, arm))
        return world

    def _posture(self, start: pin.SE3) -> np.ndarray:
        model = pin.buildModelFromUrdf(str(ARM))
        joint = model.getJointId("joint_7")
        q = np.zeros(model.nq)
        q[:7] = (0.0, -0.2, 0.0, -2.0, 0.0, 3.3, 0.0)
        q[7:] = self.opening
        base = pin.SE3(np.eye(3), np.array(BASE))
        return reach(model, q, joint, _TOOL, base.inverse() * start, moving=slice(0, 7))


#: pose of the tool on the last joint
_TOOL = pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.107 + TOOL]))


def caging(stations: np.ndarray, displacement: np.ndarray) -> np.ndarray:
    """Computes the displacement of a wall's ends relative to its middle (n,) [m]; above 0 it closes around an object.

    Args:
        stations: along the finger (m,) [m].
        displacement: towards the other finger (n, m) [m].
    """
    middle = np.argmin(np.abs(stations - stations.mean()))
    return np.asarray(0.5 * (displacement[:, 0] + displacement[:, -1]) - displacement[:, middle])


@dataclass(frozen=True)
class Teleoperation:
    """Joint controllers that follow the target, the gripper's motor, and the tether.

    The gripper needs no button. Open, it closes when the hand has been at rest for `DWELL` with the peg between its
    fingers; closed, it opens when the hand has been at rest for that time with the peg in the holder.

    Attributes:
        scene: its parameters.
        arm: number of the arm's tree.
    """

    scene: Peg
    arm: int

    def start(self, d: WorldDynamics) -> Callable[[WorldDynamics], Constraint]:
        """Returns a function that makes the rows of each step, see :class:`~convex_contact.model.joints.Controller`."""
        return _Follower(self.scene, self.arm, d)


#: time of rest before the gripper acts, s, and largest speed of a hand at rest, m/s
DWELL, STILL = 0.25, 0.01


class _Follower:
    """State of a teleoperated arm: its commanded posture and its gripper."""

    def __init__(self, scene: Peg, arm: int, d: WorldDynamics) -> None:
        self._scene, self._method = scene, DifferentialIK()
        world = d.world
        self._arm, self._first_v = arm, d.columns(tree=arm).start
        self._model = world.trees[arm].model.model
        self._data = self._model.createData()
        self._joint = self._model.getJointId("joint_7")
        self._target, self._peg = world.number("target"), world.number("peg")
        self._hand = world.number("arm/link_7")
        self._commanded = d.coordinates(arm)[:9]
        self._rest = self._commanded[:7].copy()
        self._effort = self._model.effortLimit[:7].copy()
        self.closed, self._still = False, 0.0
        rows = 8 + (3 if scene.tether else 0)
        self._jacobian = np.zeros((rows, d.nv))
        self._jacobian[np.arange(8), self._first_v + np.arange(8)] = 1.0
        j = d.columns(body=self._target).start
        for k in range(3 if scene.tether else 0):
            self._jacobian[8 + k, j + k] = 1.0

    def __call__(self, d: WorldDynamics) -> Constraint:
        dt, s = d.period, self._scene
        q = d.coordinates(self._arm)[:9]
        target = pin.SE3(*frame_of(d, self._target)[:2])
        command = self._commanded
        frame, J = tool_jacobian(self._model, self._data, command, self._joint, _TOOL)
        low, high = self._model.lowerPositionLimit[:7], self._model.upperPositionLimit[:7]
        rate = self._method.velocity(command[:7], J[:, :7], pose_error(frame, target), low, high, self._rest, dt)
        command[:7] += dt * rate
        load = pin.computeGeneralizedGravity(self._model, self._data, q)
        numbers = [
            controller_row(
                dt, q[i], PROPORTIONAL_GAIN, DERIVATIVE_GAIN, command[i], rate[i], load[i], self._effort[i]
            )
            for i in range(7)
        ]  # fmt: skip
        frame, J = tool_jacobian(self._model, self._data, q, self._joint, _TOOL)
        speed = J @ d.velocities(self._arm)[:9]
        self._grip(d, frame, float(np.linalg.norm(speed[:3])))
        opening = 0.0 if self.closed else s.opening
        numbers.append(controller_row(dt, q[7], GRIPPER_GAIN, GRIPPER_DAMPING, opening, 0.0, 0.0, s.effort_limit))
        if s.tether:
            self._jacobian[8:, self._first_v : self._first_v + 9] = -J[:3]
            dt_plus_tau = dt + 0.05  # damped: relaxation of 50 ms
            R = spring_compliance(dt, s.tether, dt_plus_tau)
            for k in range(3):
                error = target.translation[k] - frame.translation[k]
                numbers.append((0.0, -error / dt_plus_tau, R, 0.0, -math.inf, math.inf))
        return GivenRows(Rows(self._jacobian, *np.array(numbers).T))

    def _grip(self, d: WorldDynamics, hand: pin.SE3, speed: float) -> None:
        self._still = self._still + d.period if speed < STILL else 0.0
        if self._still < DWELL:
            return
        s, peg = self._scene, frame_of(d, self._peg)[1]
        offset = hand.actInv(peg)
        if not self.closed:
            between = abs(offset[1]) < s.opening and abs(offset[2]) < 0.02 and abs(offset[0]) < 0.5 * s.length
            if between and abs(peg[1] - s.holder) > s.clearance:
                self.closed, self._still = True, 0.0
        elif s.inserted(peg):
            self.closed, self._still = False, 0.0


def deformable_peg(**numbers: Any) -> World:
    """Makes the scene with other numbers than those of :class:`Peg`.

    Raises:
        WorldError: there is no such number, or it is impossible.
    """
    return scene_world(Peg, "scene", numbers)
