"""Errors of the simulation benchmark, from what bodies did, by the same formulas for all engines.

References are exact: velocities of balls that roll or slide under a constant force, coefficients of restitution of a
contact law, energy and angular momentum where nothing dissipates, rest where a body ought to stand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
from contact_scenes import GRAVITY
from scipy.integrate import solve_ivp
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation
from simulation_scenes import BALL, BOX, DIRECTION, PULL, SIDE, SLIDING, Scene

from convex_contact import Simulator

Errors = dict[str, float | str]
#: penetrations are those of as many observations at the end
LATE = 20
#: bodies are in free flight while they are farther from the floor than this, m
FREE = 5e-3
#: observations after which a ball that has not left the ground rests there
REST = 10


@dataclass(frozen=True)
class Observation:
    """Bodies and links (n) at one time, in the order of `Scene.names`.

    Attributes:
        time: s.
        position: of their frames (n, 3), m.
        orientation: quaternions (x, y, z, w) (n, 4).
        velocity: of the origins of their frames (n, 3), m/s, world.
        angular_velocity: world (n, 3), rad/s.
    """

    time: float
    position: np.ndarray
    orientation: np.ndarray
    velocity: np.ndarray
    angular_velocity: np.ndarray


class Motion:
    """Observations of a scene, as arrays over time.

    Args:
        scene: the scene.
        observations: in the order of time, the first at the start.

    Attributes:
        time: (t,), s.
        position, orientation, velocity, angular_velocity: as of an observation, with the time first.
        rotation: (t, n, 3, 3).
        center, center_velocity: of mass (t, n, 3), m, m/s.
    """

    def __init__(self, scene: Scene, observations: list[Observation]) -> None:
        self.scene = scene
        self.time = np.array([o.time for o in observations])
        self.position, self.orientation, self.velocity, self.angular_velocity = (
            np.array([getattr(o, name) for o in observations])
            for name in ("position", "orientation", "velocity", "angular_velocity")
        )
        t, n = self.position.shape[:2]
        self.rotation = Rotation.from_quat(self.orientation.reshape(-1, 4)).as_matrix().reshape(t, n, 3, 3)
        arm = np.einsum("tnij,nj->tni", self.rotation, scene.centers)
        self.center = self.position + arm
        self.center_velocity = self.velocity + np.cross(self.angular_velocity, arm)

    def spin(self) -> np.ndarray:
        """Angular momenta about the own centres of mass (t, n, 3), kg m^2/s."""
        local = np.einsum("tnji,tnj->tni", self.rotation, self.angular_velocity)
        return np.asarray(np.einsum("tnij,tnj->tni", self.rotation, self.scene.moments * local))

    def energy(self) -> np.ndarray:
        """Kinetic energy plus that of the height above the floor (t,), J."""
        linear = 0.5 * np.einsum("n,tni->t", self.scene.mass, self.center_velocity**2)
        angular = 0.5 * np.einsum("tni,tni->t", self.spin(), self.angular_velocity)
        return np.asarray(linear + angular + GRAVITY * self.center[:, :, 2] @ self.scene.mass)

    def angular_momentum(self) -> np.ndarray:
        """About the common centre of mass (t, 3), kg m^2/s."""
        mass = self.scene.mass
        mean = np.einsum("n,tni->ti", mass, self.center) / mass.sum()
        orbit = np.cross(self.center - mean[:, None], self.center_velocity)
        return np.asarray(np.einsum("n,tni->ti", mass, orbit) + self.spin().sum(axis=1))


# --- geometry --------------------------------------------------------------------------------------------------


def ball_gaps(scene: Scene, position: np.ndarray) -> np.ndarray:
    """Signed distances (m,) of balls (n, 3) of one radius to the floor and, where below 1 mm, to each other, m."""
    radius = float(scene.items[0].half[0])
    pairs = cKDTree(position).query_pairs(2.0 * radius + 1e-3, output_type="ndarray")
    apart = np.linalg.norm(position[pairs[:, 0]] - position[pairs[:, 1]], axis=1) - 2.0 * radius
    return np.concatenate([position[:, 2] - radius, apart])


def link_gaps(scene: Scene, motion: Motion, k: int) -> np.ndarray:
    """Signed distances (m,) of the trees' spheres to the floor at an observation, m."""
    gaps, number = [], 0
    for tree in scene.trees:
        for link in tree.links:
            heights = motion.position[k, number, 2] + link.spheres @ motion.rotation[k, number, 2]
            gaps.append(heights - link.radius)
            number += 1
    return np.concatenate(gaps)


def tower_gaps(motion: Motion, k: int) -> np.ndarray:
    """Signed distances (m,) of the lower corners of a tower's boxes to the faces below them at an observation, m."""
    half = motion.scene.items[0].half
    lower = half * [[x, y, -1.0] for x in (-1.0, 1.0) for y in (-1.0, 1.0)]
    position, rotation = motion.position[k], motion.rotation[k]
    corners = position[:, None] + np.einsum("nij,cj->nci", rotation, lower)
    gaps = [corners[0, :, 2]]
    for i in range(1, len(corners)):
        local = (corners[i] - position[i - 1]) @ rotation[i - 1]
        gap = local[:, 2] - half[2]
        # a box that has left the one below is not on its face
        gaps.append(gap[(np.abs(local[:, :2]) < 1.5 * half[:2]).all(axis=1) & (gap > -half[2])])
    return np.concatenate(gaps)


def depths(motion: Motion) -> np.ndarray:
    """Penetrations (m,) of the last observations, m; those of hulls by the geometry of this suite."""
    scene, found = motion.scene, []
    last = range(max(1, len(motion.time) - LATE), len(motion.time))
    if scene.trees:
        found = [link_gaps(scene, motion, k) for k in last]
    elif {body.shape for body in scene.items} == {"box"}:
        found = [tower_gaps(motion, k) for k in last]
    elif {body.shape for body in scene.items} == {"sphere"}:
        found = [ball_gaps(scene, motion.position[k]) for k in last]
    else:
        simulator = Simulator(scene.world(), period=1e-3)
        for k in last:
            for i, name in enumerate(scene.names):
                zero = np.zeros(3)
                pose = {"position": motion.position[k, i], "orientation": motion.orientation[k, i]}
                simulator.set_state(name, **pose, velocity=zero, angular_velocity=zero)
            simulator.step()  # its contacts are those of the state at its start
            found.append(simulator.contacts.signed_distance)
    gaps = np.concatenate(found)
    return np.asarray(-gaps[gaps < 0.0])


def penetration(motion: Motion) -> Errors:
    """Median and largest of the last observations."""
    depth = depths(motion)
    median, largest = (float(np.median(depth)), float(depth.max())) if len(depth) else (0.0, 0.0)
    return {"penetration [m]": median, "largest [m]": largest}


# --- errors of the families ------------------------------------------------------------------------------------


def rolling_errors(motion: Motion, damping_ratio: float) -> Errors:
    """Root mean square over time of the errors of velocity.

    The box of mass M slides under the force F, with n balls of mass m: a = (F - mu (M + n m) g)/(M + 2/7 n m), and a
    ball that rolls on it has 2/7 a.
    """
    balls = len(motion.scene.items) - 1
    slide = SLIDING * (BOX + balls * BALL) * GRAVITY
    acceleration = (PULL - slide) / (BOX + 2.0 / 7.0 * balls * BALL)
    exact = acceleration * motion.time[:, None] * DIRECTION
    box = motion.velocity[:, 0] - exact
    ball = motion.velocity[:, 1:] - 2.0 / 7.0 * exact[:, None]
    return {
        "box [m/s]": math.sqrt((box**2).sum(axis=1).mean()),
        "balls [m/s]": math.sqrt((ball**2).sum(axis=2).mean()),
    }


def pulled_errors(motion: Motion, damping_ratio: float) -> Errors:
    """Root mean square over time and balls of the errors of velocity and of R times the angular velocity.

    A ball that the force F pulls at its centre rolls with v = 5/7 F/m t up to F = 3.5 mu m g; beyond, v = (F/m - mu g)
    t and R omega = 5/2 mu g t.
    """
    grip = motion.scene.contact.friction * GRAVITY
    pull = np.array([body.force[0] / body.mass for body in motion.scene.items])
    slides = pull > 3.5 * grip
    radius = motion.scene.items[0].half[0]
    speed = motion.time[:, None] * np.where(slides, pull - grip, 5.0 / 7.0 * pull)
    spin = motion.time[:, None] * np.where(slides, 2.5 * grip, 5.0 / 7.0 * pull)
    exact = np.stack([speed, 0.0 * speed, 0.0 * speed], axis=2)
    turn = np.stack([0.0 * spin, spin, 0.0 * spin], axis=2)
    linear = ((motion.velocity - exact) ** 2).sum(axis=2)
    angular = ((radius * motion.angular_velocity - turn) ** 2).sum(axis=2)
    return {"velocity [m/s]": math.sqrt(linear.mean()), "rotation [m/s]": math.sqrt(angular.mean())}


@cache
def restitution(speed: float, mass: float, stiffness: float, dissipation: float, damping_ratio: float) -> float:
    """Coefficient of restitution of a ball that hits the ground, by integration of its equation of motion to 1e-10.

    Args:
        speed: at the impact, m/s.
        mass: kg.
        stiffness: k, N/m.
        dissipation: d of Hunt and Crossley's law, s/m.
        damping_ratio: of a linear damper beside the spring, -; the force does not pull.
    """
    damper = 2.0 * damping_ratio * math.sqrt(stiffness * mass)

    def force(z: float, v: float) -> float:
        return max(0.0, -stiffness * z * (1.0 - dissipation * v) - damper * v) if z < 0.0 else 0.0

    def out(t: float, y: np.ndarray) -> float:
        return float(y[0]) if t > 0.0 else -1.0

    out.terminal, out.direction = True, 1.0  # type: ignore[attr-defined]
    end = solve_ivp(
        lambda t, y: (y[1], force(y[0], y[1]) / mass - GRAVITY), (0.0, 1.0), (0.0, -speed), events=out, rtol=1e-10,
        atol=1e-13, max_step=0.01 * math.pi * math.sqrt(mass / stiffness),
    )  # fmt: skip
    return float(end.y[1, -1]) / speed


def bouncing_errors(motion: Motion, damping_ratio: float) -> Errors:
    """Largest error of a coefficient of restitution, and of the energy after the last bounce, relative.

    Coefficients follow from the energies of free flight before and after each bounce, and are compared with those of
    the contact law at the same speed of impact; the energy with that of a ball which bounced by this law alone. Both
    are nan before the first bounce.
    """
    body, contact = motion.scene.items[0], motion.scene.contact
    law = body.mass, contact.stiffness, 0.0 if damping_ratio else contact.dissipation, damping_ratio
    ideal = (lambda speed: 1.0) if not any(law[2:]) else lambda speed: restitution(round(speed, 6), *law)
    height = motion.position[:, :, 2] - body.half[0]
    energy = 0.5 * motion.velocity[:, :, 2] ** 2 + GRAVITY * height
    worst, error = math.nan, math.nan  # as long as there is no bounce
    for z, v, e in zip(height.T, motion.velocity[:, :, 2].T, energy.T, strict=True):
        exact, last = float(e[0]), float(e[0])
        flying = np.flatnonzero(z > 0.0)
        for i, j in pairwise(flying):
            if v[i] < 0.0 < v[j]:  # a bounce
                last = float(e[j])
                worst = np.fmax(worst, abs(math.sqrt(last / e[i]) - ideal(math.sqrt(2.0 * e[i]))))
                exact *= ideal(math.sqrt(2.0 * exact)) ** 2
        if len(z) - flying[-1] > REST:  # it stays on the ground
            worst, last = np.fmax(worst, ideal(math.sqrt(2.0 * e[flying[-1]]))), 0.0
        if last != float(e[0]):
            error = np.fmax(error, abs(last / exact - 1.0))
    return {"restitution": float(worst), "energy": float(error)}


def grid_errors(motion: Motion, damping_ratio: float) -> Errors:
    """Penetrations alone."""
    return penetration(motion)


def elastic_errors(motion: Motion, damping_ratio: float) -> Errors:
    """Energy at the end and largest error of it on the way, springs included, relative to that of the fall."""
    scene, radius = motion.scene, float(motion.scene.items[0].half[0])
    stored = [
        0.5 * scene.contact.stiffness * (np.minimum(ball_gaps(scene, position), 0.0) ** 2).sum()
        for position in motion.position
    ]
    energy = motion.energy() + np.array(stored) - GRAVITY * radius * scene.mass.sum()
    change = energy / energy[0] - 1.0
    return {"energy": float(change[-1]), "largest": float(np.abs(change).max())}


def standing_errors(motion: Motion, damping_ratio: float) -> Errors:
    """Largest slip of a foot in the second half, from the velocity of its lowest point, and penetrations."""
    scene, number, slips = motion.scene, 0, []
    half = slice(len(motion.time) // 2, None)
    for tree in scene.trees:
        for link in tree.links:
            for point in link.spheres:
                arm = motion.rotation[half, number] @ point - [0.0, 0.0, link.radius]
                speed = motion.velocity[half, number] + np.cross(motion.angular_velocity[half, number], arm)
                way = np.trapezoid(speed[:, :2], motion.time[half], axis=0)
                slips.append(float(np.linalg.norm(way)))
            number += 1
    return {"slip [m]": max(slips), **penetration(motion)}


def falling_errors(motion: Motion, damping_ratio: float) -> Errors:
    """Largest error of the angular momentum before the first contact, largest rise of the energy, and penetrations.

    The momentum is relative to that of the start, the rise of the energy above an earlier one, which no force here can
    make, to the energy of the start above the floor.
    """
    lowest = np.array([link_gaps(motion.scene, motion, k).min() for k in range(len(motion.time))])
    landed = np.flatnonzero(lowest < FREE)
    free = slice(0, max(2, int(landed[0])) if len(landed) else len(lowest))
    energy, momentum = motion.energy(), motion.angular_momentum()[free]
    turning = np.linalg.norm(momentum - momentum[0], axis=1).max() / np.linalg.norm(momentum[0])
    rise = (energy - np.minimum.accumulate(energy)).max() / energy[0]
    return {"momentum": float(turning), "rise": float(rise), **penetration(motion)}


def tower_errors(motion: Motion, damping_ratio: float) -> Errors:
    """Errors of a tower: it stands, largest displacements from rest sideways and downwards [m], penetrations [m]."""
    way = motion.position - motion.position[0]
    stands = np.abs(way).max() < 0.5 * SIDE
    sideways, height = np.linalg.norm(way[-1, :, :2], axis=1).max(), np.abs(way[-1, :, 2]).max()
    return {
        "stands": "yes" if stands else "no",
        "sideways [m]": float(sideways),
        "height [m]": float(height),
        **penetration(motion),
    }


def hull_errors(motion: Motion, damping_ratio: float) -> Errors:
    """Penetrations, and the median speed at the end."""
    return {**penetration(motion), "speed [m/s]": float(np.median(np.linalg.norm(motion.velocity[-1], axis=1)))}
