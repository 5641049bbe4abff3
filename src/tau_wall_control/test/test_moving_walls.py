"""Walls that move, turn and belong to free bodies: Galilean invariance, momentum, stability, no jerk."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from haptic_friction import CoulombLaw
from tau_wall_control import MovingPlanes, Plane, TauDevice, WallRenderer, WallState

T = 1e-3
X, Y, Z = np.eye(3)


class Moving:
    """Walls that `play` can step: the planes come from a function of the tick and the tool's place.

    Each body behind the planes is a point mass that the pushes accelerate `late` ticks later; `position` and `velocity`
    (3,) are its own.
    """

    def __init__(
        self,
        renderer: WallRenderer,
        planes: Callable[[Moving, np.ndarray], MovingPlanes],
        *,
        mass: float = np.inf,
        late: int = 0,
        velocity: Any = (0.0, 0.0, 0.0),
    ) -> None:
        self.renderer, self._planes, self._mass = renderer, planes, mass
        self._line = deque([np.zeros(3)] * late)
        self.tick, self.position, self.velocity = -1, np.zeros(3), np.array(velocity, dtype=float)
        self.positions: list[np.ndarray] = []
        self.velocities: list[np.ndarray] = []

    def reset(self, theta: np.ndarray) -> None:
        self.renderer.reset(theta)
        self._pose = self.renderer.device.forward_kinematics(theta)

    def step(self, theta: np.ndarray, rate: np.ndarray) -> WallState:
        self.tick += 1
        self._pose = self.renderer.device.forward_kinematics(theta, self._pose, tolerance=1e-11)
        planes = self._planes(self, self._pose[0])
        state = self.renderer.step(theta, rate, planes)
        self.positions.append(self.position)
        self.velocities.append(self.velocity)
        self._line.append(-state.push @ np.asarray(planes.normal))
        self.velocity = self.velocity + T * self._line.popleft() / self._mass
        self.position = self.position + T * self.velocity
        return state


def flat(told: float | None = None) -> Callable[[Moving, np.ndarray], MovingPlanes]:
    """The plane z = 0 of the body, with a stated inverse mass if not the true one."""

    def planes(body: Moving, p: np.ndarray) -> MovingPlanes:
        return MovingPlanes([7], [body.position], [Z], [body.velocity], [1.0 / body._mass if told is None else told])

    return planes


def press(force: float, viscosity: float = 2.0) -> Callable[..., np.ndarray]:
    return lambda t, p, v: np.array([0.0, 0.0, -force]) - viscosity * v


def tool_mass(device: TauDevice, state: WallState) -> float:
    """Apparent mass along z; the wrist is soft, so the tool is free to turn."""
    return 1.0 / float(np.linalg.inv(device.dynamics(state.position, state.rotation).mass_matrix)[2, 2])


def free_acceleration(device: TauDevice, state: WallState, force: np.ndarray) -> float:
    """Along z, if the hand's force acted on the tool and no wall: the device's joints rub."""
    pose = (state.position, state.rotation)
    torque = device.gravity_torque_at(*pose)
    return float(device.acceleration(*pose, state.twist, torque, np.concatenate([force, np.zeros(3)]))[0][2])


# ---- motion -------------------------------------------------------------------------------------------


@pytest.mark.covering(2)
@pytest.mark.parametrize("scheme", ["mopc", "scheduled", "stiff"])
def test_planes_that_stand_still_are_the_fixed_ones(design: Any, play: Any, render: Any, scheme: str) -> None:
    """Apart from rounding: the first distance is summed in another order."""
    set_, given = (Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)), Plane((-0.01, 0.0, 0.0), (1.0, 0.0, 0.2))), []
    for renderer in (
        render(design(scheme), set_, friction=CoulombLaw(0.3)),
        Moving(
            WallRenderer(design(scheme), None, friction=CoulombLaw(0.3)),
            lambda body, p: MovingPlanes([3, 1], [w.point for w in set_], [w.normal for w in set_]),
        ),
    ):
        given.append(play(renderer, (-0.0098, 0, 1e-4), lambda t, p, v: np.array([-2.0, 1.0, -6.0]) - 2 * v, 0.15))
    fixed, moving = given
    assert (fixed.walls[-1].push > 1.0).all()
    assert_allclose(moving.torque, fixed.torque, rtol=0.0, atol=1e-9)


@pytest.mark.covering(2)
@pytest.mark.parametrize(("scheme", "delay"), [("scheduled", 0), ("stiff", 0), ("stiff", 1), ("predictive", 1)])
def test_only_relative_motion_counts(device: TauDevice, design: Any, scheme: str, delay: int) -> None:
    """The tool led to a wall at 2 mm/s, or the wall to the tool: pushes differ as the gains do over 0.1 mm, 2e-3."""
    c = design(scheme, **({"delay": delay} if scheme != "scheduled" else {}))
    pushes = []
    for tool, wall in ((-2e-3, 0.0), (0.0, 2e-3), (-3e-3, -1e-3)):
        r = WallRenderer(c, None)
        r.reset(device.inverse_kinematics((0.0, 0.0, 2.1e-5)))
        rows = []
        for k in range(40):
            p = np.array([0.0, 0.0, 2.1e-5 + tool * k * T])
            rate = device.dynamics(p).actuated_map @ np.array([0.0, 0.0, tool, 0.0, 0.0, 0.0])
            planes = MovingPlanes([1], [wall * k * T * Z], [Z], [wall * Z])
            rows.append(r.step(device.inverse_kinematics(p), rate, planes).push[0])
        pushes.append(np.array(rows))
    assert pushes[0].max() > 1.0
    for other in pushes[1:]:
        assert_allclose(other, pushes[0], rtol=2e-3, atol=2e-3 * pushes[0].max())


@pytest.mark.parametrize(("scheme", "delay"), [("scheduled", 0), ("stiff", 1)])
def test_a_wall_at_constant_speed_is_followed_like_one_at_rest(
    device: TauDevice, design: Any, play: Any, scheme: str, delay: int
) -> None:
    """60 mm/s under 6 N. Gains and masses vary by a few percent over the 12 mm, and so does the depth."""
    depths, pushes = [], []
    for speed in (0.0, 0.06):
        r = WallRenderer(design(scheme), None)
        body = Moving(r, flat(0.0), velocity=speed * Z)

        def hand(t: float, p: np.ndarray, v: np.ndarray, speed: float = speed) -> np.ndarray:
            return np.array([0.0, 0.0, -6.0]) - 2.0 * (v - speed * Z)

        log = play(body, (0.0, 0.0, 1e-4), hand, 0.2, delay=delay, velocity=speed * Z)
        depths.append(max(w.penetration[0] for w in log.walls))
        pushes.append(log.push)
        assert log.walls[-1].penetration[0] == pytest.approx(0.0, abs=2e-5)
        assert log.push[-1] == pytest.approx(6.0, abs=0.2)  # the device's joints rub
    assert depths[1] == pytest.approx(depths[0], rel=0.1)
    assert np.abs(pushes[1] - pushes[0]).max() < 0.05 * pushes[0].max()


def test_speed_along_itself_does_not_move_a_plane(device: TauDevice, design: Any) -> None:
    theta, torques = device.inverse_kinematics((0.0, 0.0, -1e-4)), []
    for u in (0.0, 0.3):
        r = WallRenderer(design("stiff"), None)
        r.reset(theta)
        torques.append([r.step(theta, np.zeros(6), MovingPlanes([1], [[0, 0, 0]], [Z], [u * X])).torque for _ in "abc"])
    assert_array_equal(*torques)


def test_friction_is_against_the_surface(design: Any, play: Any) -> None:
    """A belt drags the tool that is held: mu N along its motion, 1.8 N.

    Where the tool goes along, there is at the most what the device's joints need for 0.1 m/s (0.2 N).
    """
    for tool, force, near in ((0.0, 0.3 * 6.0, 0.06), (0.1, 0.0, 0.2)):
        r = WallRenderer(design("stiff"), None, friction=CoulombLaw(0.3))

        def belt(body: Moving, p: np.ndarray) -> MovingPlanes:
            return MovingPlanes([1], [[0, 0, 0]], [Z], [0.1 * X])

        def hand(t: float, p: np.ndarray, v: np.ndarray, tool: float = tool) -> np.ndarray:
            return np.array([0.0, 0.0, -6.0]) - 200.0 * (v - tool * X) * [1.0, 1.0, 0.0]

        log = play(Moving(r, belt), (0, 0, -1e-6), hand, 0.15, velocity=tool * X)
        assert_allclose(log.walls[-1].friction, force * X, atol=near)


# ---- a tangent plane that turns -------------------------------------------------------------------------

RADIUS = 0.01


def ball(body: Moving, p: np.ndarray) -> MovingPlanes:
    """The tangent plane of a sphere about (0, 0, -RADIUS), nearest to the tool."""
    n = (p + RADIUS * Z) / np.linalg.norm(p + RADIUS * Z)
    return MovingPlanes([1], [RADIUS * (n - Z)], [n])


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "delay"), [("scheduled", 0), ("stiff", 0), ("stiff", 1)])
def test_sliding_over_a_sphere_has_no_jerk(design: Any, play: Any, wall: Plane, scheme: str, delay: int) -> None:
    """Pressed with 5 N, led across a sphere of 10 mm at 20 mm/s, which turns the plane by 50 degrees.

    From tick to tick torques change as on a fixed wall, and by the turning: 5 N times 2 rad/s times 1 ms times the
    longest lever of a joint (0.1 m). A plane whose memory is lost jumps by a hundred times that.
    """
    c = design(scheme, **({"delay": delay} if scheme == "stiff" else {}))

    def led(x: float, t: float, p: np.ndarray, v: np.ndarray, down: np.ndarray) -> np.ndarray:
        return 5.0 * down + 400.0 * np.array([x - p[0], -p[1], 0.0]) + 6.0 * (0.02 * X - v)

    def over(t: float, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        down = -(p + RADIUS * Z) / np.linalg.norm(p + RADIUS * Z)
        return led(-0.004 + 0.02 * t, t, p, v, down)

    start = np.array([-0.004, 0.0, np.sqrt(RADIUS**2 - 0.004**2) - RADIUS])
    sphere = play(Moving(WallRenderer(c, None), ball), start, over, 0.4, velocity=0.02 * X, delay=delay)
    plane = play(
        WallRenderer(c, (wall,)),
        (-0.004, 0.0, 0.0),
        lambda t, p, v: led(-0.004 + 0.02 * t, t, p, v, -Z),
        0.4,
        velocity=0.02 * X,
        delay=delay,
    )
    assert sphere.position[-1, 0] > 0.003
    assert sphere.contact[100:].all()
    depth = RADIUS - np.linalg.norm(sphere.position + RADIUS * Z, axis=1)
    assert np.abs(depth[100:]).max() < 5e-5
    steps = [np.abs(np.diff(log.torque[100:], axis=0)).max() for log in (sphere, plane)]
    assert steps[0] < steps[1] + 5.0 * 2.0 * T * 0.1
    assert np.abs(np.diff(sphere.push[100:])).max() < 0.05


def test_a_plane_that_turns_keeps_its_contact(device: TauDevice, design: Any) -> None:
    """The same tick, another normal: with its memory the push turns with the plane; as a new plane it begins anew."""
    theta = device.inverse_kinematics((0.0, 0.0, -5e-5))
    turned = np.array([0.02, 0.0, 1.0]) / np.hypot(1.0, 0.02)
    pushes = {}
    for key in (1, 2):
        r = WallRenderer(design("scheduled"), None)
        r.reset(theta)
        for _ in range(50):
            before = r.step(theta, np.zeros(6), MovingPlanes([1], [[0, 0, 0]], [Z]))
        pushes[key] = r.step(theta, np.zeros(6), MovingPlanes([key], [[0, 0, 0]], [turned])).push[0]
    assert pushes[1] == pytest.approx(before.push[0], rel=0.03)
    assert pushes[2] < 0.7 * before.push[0]  # without the integral


# ---- bodies that give way -------------------------------------------------------------------------------

LOOPS = [("stiff", 0, 0), ("stiff", 1, 1), ("predictive", 0, 1), ("predictive", 1, 1)]


@pytest.mark.covering
@pytest.mark.parametrize(("scheme", "delay", "late"), LOOPS)
@pytest.mark.parametrize("mass", [0.05, 0.25, 1.0, 10.0, 100.0])
def test_pushed_body_conserves_momentum(
    device: TauDevice, design: Any, play: Any, scheme: str, delay: int, late: int, mass: float
) -> None:
    """6 N push tool and body together, no chatter, hardly any depth.

    With a_0 what the tool alone would do, f/m = -(a_0 + f/M) = -a. The wrist's torque is left out, and what is left of
    the settling: 7 % of the push, 0.5 mm/s.
    """
    body = Moving(WallRenderer(design(scheme, delay=1), None), flat(), mass=mass, late=late)
    log = play(body, (0.0, 0.0, 1e-4), press(6.0), 0.065, delay=delay)
    end = slice(45, None)
    assert log.contact[end].all()
    assert max(w.penetration[0] for w in log.walls) < 3.5e-4
    assert np.abs(np.diff(log.push[end])).max() < 0.1
    state, force = log.walls[55], press(6.0)(0.0, log.position[55], log.velocity[55])
    free = free_acceleration(device, state, force)
    expected = -free / (1.0 + mass / tool_mass(device, state)) * mass
    assert log.push[55] == pytest.approx(expected, rel=0.07)
    changed = (log.velocity[60, 2] - log.velocity[50, 2], body.velocities[60][2] - body.velocities[50][2])
    assert changed[0] == pytest.approx(changed[1], rel=0.02, abs=5e-4)


def test_without_the_body_s_mass_a_light_one_chatters(design: Any, play: Any) -> None:
    """The loop gain is too high by 1 + w M, six times for 50 g: the wall kicks it away."""
    kept = {}
    for told in (None, 0.0):
        body = Moving(WallRenderer(design("stiff", delay=1), None), flat(told), mass=0.05, late=1)
        log = play(body, (0.0, 0.0, 1e-4), press(6.0), 0.065, delay=1)
        kept[told] = log.contact[45:].all()
    assert kept == {None: True, 0.0: False}


@pytest.mark.covering
@pytest.mark.parametrize(("scheme", "delay", "late"), LOOPS)
@pytest.mark.parametrize("mass", [0.05, 0.25, 1.0, 100.0])
def test_a_body_that_others_hold_is_held_stably(
    design: Any, play: Any, scheme: str, delay: int, late: int, mass: float
) -> None:
    """Stated to be free, it does not move: the gain is too low by 1 + w M, until the filter knows of what holds it."""
    body = Moving(WallRenderer(design(scheme, delay=1), None), flat(1.0 / mass), late=late)
    log = play(body, (0.0, 0.0, 1e-4), press(6.0), 0.8, delay=delay)
    assert log.contact[300:].all()
    assert log.push[700:] == pytest.approx(6.0, abs=0.05)
    assert np.abs(np.diff(log.push[700:])).max() < 0.02
    depth = np.array([w.penetration[0] for w in log.walls])
    assert np.abs(depth[700:]).max() < 2e-5
    assert depth.max() < 4e-4 * (1.0 + 0.5 / mass)


def test_a_blow_gives_the_body_its_momentum(device: TauDevice, design: Any, play: Any) -> None:
    """A tool at 0.1 m/s meets a body of its own mass that rests, without a push: what one loses the other has.

    The wall is damped: they part with less than half the speed. The device's joints take 7 % in that time; 1 % is left
    for what they take within a tick.
    """
    mass = 1.0 / float(np.linalg.inv(device.dynamics(np.zeros(3)).mass_matrix)[2, 2])
    body = Moving(WallRenderer(design("stiff", delay=1), None), flat(), mass=mass)
    log = play(body, (0.0, 0.0, 1e-4), press(0.0, 0.0), 0.03, velocity=-0.1 * Z)
    ended = int(np.flatnonzero(log.push)[-1]) + 2
    rubbed = sum(tool_mass(device, w) * free_acceleration(device, w, np.zeros(3)) for w in log.walls[:ended]) * T
    lost = tool_mass(device, log.walls[ended]) * log.velocity[ended, 2] + mass * 0.1 - rubbed
    assert -mass * body.velocities[ended][2] == pytest.approx(lost, rel=0.01)
    assert 0.0 <= log.velocity[ended, 2] - body.velocities[ended][2] < 0.05


@pytest.mark.parametrize("mass", [0.1, 1.0])
def test_two_planes_of_one_body_move_together(device: TauDevice, design: Any, play: Any, mass: float) -> None:
    """The tool in a groove of 60 degrees of a free body, pushed down: both move as one mass.

    The pushes need the body's whole matrix W: with two bodies of their own the loop along the normals is another.
    """
    normals = np.array([[np.sqrt(0.75), 0.0, 0.5], [-np.sqrt(0.75), 0.0, 0.5]])

    def groove(body: Moving, p: np.ndarray) -> MovingPlanes:
        both = np.broadcast_to
        return MovingPlanes(
            [4, 9], both(body.position, (2, 3)), normals, both(body.velocity, (2, 3)), [1 / mass] * 2, [2, 2]
        )

    body = Moving(WallRenderer(design("stiff", delay=1), None), groove, mass=mass, late=1)
    log = play(body, (0.0, 0.0, 1e-4), press(6.0), 0.065, delay=1)
    end = slice(45, None)
    assert all(w.in_contact.all() and (w.push > 0.1 * mass).all() for w in log.walls[end])
    assert max(w.penetration.max() for w in log.walls) < 3.5e-4
    assert np.abs(np.diff([w.push for w in log.walls[end]], axis=0)).max() < 0.1
    state, force = log.walls[55], press(6.0)(0.0, log.position[55], log.velocity[55])
    expected = -free_acceleration(device, state, force) / (1.0 + mass / tool_mass(device, state)) * mass
    assert 0.5 * sum(state.push) == pytest.approx(expected, rel=0.07)


def test_planes_of_one_body_couple_by_their_angle(device: TauDevice, design: Any) -> None:
    """(S^T M_x^-1 S + W) f = a, with the body's translation alone: W = S^T S / m."""
    normals = np.array([[np.sqrt(0.75), 0.0, 0.5], [-np.sqrt(0.75), 0.0, 0.5]])
    p = np.array([0.0, 0.0, -1e-4])
    theta = device.inverse_kinematics(p)

    def pushes(inverse_mass: float, body: Any) -> np.ndarray:
        r = WallRenderer(design("scheduled"), None)
        r.reset(theta)
        return r.step(
            theta, np.zeros(6), MovingPlanes([1, 2], np.zeros((2, 3)), normals, None, [inverse_mass] * 2, body)
        ).push

    S = np.vstack([normals.T, np.zeros((3, 2))])
    A = S.T @ np.linalg.solve(device.dynamics(p).mass_matrix, S)
    wanted = A @ pushes(0.0, None)
    w = 4.0
    assert_allclose((A + w * normals @ normals.T) @ pushes(w, [5, 5]), wanted, rtol=1e-6)
    assert_allclose((A + w * np.eye(2)) @ pushes(w, [5, 6]), wanted, rtol=1e-6)
    assert_allclose(pushes(w, None), pushes(w, [5, 6]), rtol=1e-12)
