"""Unilateral walls: contact, release, no pull, no jump, any orientation, several planes, friction along them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from haptic_friction import CoulombLaw
from tau_wall_control import HoldingWall, Plane, SingularError, TauDevice, TauError, WallRenderer, box
from tau_wall_control.simulation.limits import tap_bound
from tau_wall_control.simulation.push import stiffest_push

SCHEMES = ("sopc", "mopc", "scheduled", "observer", "stiff", "predictive")
#: schemes that hold their own weight exactly
EXACT = ("scheduled", "observer", "stiff", "predictive")


@pytest.mark.parametrize("scheme", EXACT)
def test_free_space_is_free(design: Any, play: Any, render: Any, scheme: str) -> None:
    """Outside the wall torques hold the weight: the tool rests, and moves by inertia only."""
    log = play(render(design(scheme)), (0.0, 0.0, 0.01), lambda t, p, v: (0, 0, 0), 0.1)
    assert np.abs(log.position - log.position[0]).max() < 1e-9
    assert not log.contact.any()
    assert (log.push == 0.0).all()


@pytest.mark.covering(6)
@pytest.mark.parametrize(
    ("scheme", "delay"),
    [(s, k) for s in SCHEMES for k in (0, 1) if (s, k) != ("observer", 1)],  # it knows no delay, and bears none surely
)
def test_pressed_held_and_pulled_away(
    design: Any, play: Any, render: Any, wall: Plane, scheme: str, delay: int
) -> None:
    """A hand presses with 8 N, then pulls with 0.2 N: the wall holds, never pulls, and lets go within 20 ms."""

    def hand(t: float, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.array([0.0, 0.0, -8.0 if t < 0.25 else 0.2]) - 1.0 * v

    log = play(render(design(scheme)), (0.005, -0.01, -1e-6), hand, 0.4, delay=delay)
    assert log.depth(wall).max() < 1e-3
    assert np.abs(log.depth(wall)[200:250]).max() < 3e-5  # integral or observer: no depth in the end
    assert log.push[200:250] == pytest.approx(8.0, abs=0.3)
    assert (log.push >= 0.0).all()
    assert log.contact[240]
    assert not log.contact[270:].any()
    pulled = log.position[270:, 2]
    assert (np.diff(pulled) > 0.0).all()
    assert pulled[-1] > 2e-3


@pytest.mark.parametrize("scheme", EXACT)
def test_contact_at_rest_is_bumpless(device: TauDevice, design: Any, render: Any, scheme: str) -> None:
    """The torque when contact begins is that just before it, up to the depth and the speed of the touch."""
    r = render(design(scheme))
    rate = np.zeros(6)
    r.reset(device.inverse_kinematics((0.01, 0.0, 1e-9)))
    before = r.step(device.inverse_kinematics((0.01, 0.0, 1e-9)), rate)
    touching = r.step(device.inverse_kinematics((0.01, 0.0, -1e-9)), rate)
    assert touching.in_contact.all() and not before.in_contact.any()
    assert np.abs(touching.torque - before.torque).max() < 1e-3


@pytest.mark.parametrize("scheme", ("scheduled", "stiff"))
def test_touch_force_is_proportional_to_speed(
    device: TauDevice, design: Any, play: Any, render: Any, scheme: str
) -> None:
    first = []
    for speed in (0.005, 0.01):
        log = play(render(design(scheme)), (0.0, 0.0, 1e-6), lambda t, p, v: (0, 0, 0), 0.02, velocity=(0, 0, -speed))
        first.append(log.push[log.contact][0])
    assert first[1] == pytest.approx(2.0 * first[0], rel=0.25)
    assert first[0] < 2.0


def test_release_does_not_kick(design: Any, play: Any, render: Any, wall: Plane) -> None:
    """The hand vanishes from a steady push of 10 N: what the tool takes along is what 10 N give in 2 ms."""
    for scheme, delay in (("scheduled", 0), ("stiff", 0), ("stiff", 1)):
        log = play(
            render(design(scheme)), (0, 0, -1e-6), lambda t, p, v: (0, 0, -10.0 if t < 0.2 else 0.0), 0.3, delay=delay
        )
        assert log.velocity[200:, 2].max() < 10.0 / 0.25 * (0.002 + 1e-3 * delay)
        assert not log.contact[-1]


@pytest.mark.parametrize("scheme", EXACT)
def test_a_tap_stops_where_the_motors_can_stop_it(
    device: TauDevice, design: Any, play: Any, render: Any, wall: Plane, scheme: str
) -> None:
    """0.5 m/s: no more than 1.2 m v^2/(2 F_max) deep, at several places."""
    for point in ((0.0, 0.0), (0.02, -0.02), (-0.02, 0.015)):
        log = play(render(design(scheme)), (*point, 2e-3), lambda t, p, v: (0, 0, 0), 0.06, velocity=(0, 0, -0.5))
        assert log.depth(wall).max() < 1.2 * tap_bound(device, (*point, 0.0), 0.5)
        assert np.abs(log.torque).max() <= device.peak_torque
        assert log.velocity[-1, 2] < 0.5  # it comes back slower than it went


ANGLES = [(1, 0, 1), (0, 1, 1), (0, 1, 0), (0, -1, 0), (-1, 0.3, 0.2)]


@pytest.mark.covering
@pytest.mark.parametrize("normal", ANGLES, ids=str)
@pytest.mark.parametrize(("scheme", "delay"), [("scheduled", 0), ("stiff", 1)])
def test_any_orientation(
    design: Any, play: Any, render: Any, normal: tuple[float, ...], scheme: str, delay: int
) -> None:
    plane = Plane((0.003, -0.002, 0.001), normal)
    n, start = np.array(plane.normal), np.array(plane.point) - 1e-6 * np.array(plane.normal)

    def hand(t: float, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        return -6.0 * n - 3.0 * (v - n * (n @ v))

    log = play(render(design(scheme), (plane,)), start, hand, 0.3, delay=delay)
    assert log.depth(plane).max() < 1.2e-3
    assert np.abs(log.depth(plane)[250:]).max() < 2e-5
    assert log.push[250:] == pytest.approx(6.0, abs=0.2)
    assert log.contact.all()


@pytest.mark.parametrize("scheme", EXACT)
def test_along_the_wall_the_tool_is_free(design: Any, play: Any, render: Any, wall: Plane, scheme: str) -> None:
    """Dragged along a wall without friction it moves as it does in the air, across all subspaces."""

    def hand(press: float) -> Any:
        return lambda t, p, v: np.array([0.8 - 6.0 * v[0], -6.0 * v[1], -press])

    pressed = play(render(design(scheme)), (-0.02, 0.0, -1e-6), hand(5.0), 0.3)
    free = play(render(design(scheme)), (-0.02, 0.0, 0.0), hand(0.0), 0.3)
    assert pressed.contact.all()
    assert pressed.position[-1, 0] > 0.0
    assert pressed.position[-1, 0] == pytest.approx(free.position[-1, 0], abs=2e-3)
    assert len({w.operating_point for w in pressed.walls}) >= 2


def test_sliding_jumps_with_switched_gains_only(design: Any, play: Any, render: Any) -> None:
    steps = {}
    for scheme in ("mopc", "scheduled", "stiff"):
        log = play(
            render(design(scheme)), (-0.02, -0.02, -1e-6), lambda t, p, v: (0.8 - 6 * v[0], 0.8 - 6 * v[1], -5.0), 0.35
        )
        steps[scheme] = np.abs(np.diff(log.torque[100:], axis=0)).max()
    assert steps["mopc"] > 0.03
    assert steps["scheduled"] < 2e-3
    assert steps["stiff"] < 2e-3


def test_friction_sticks_and_slides(design: Any, play: Any, render: Any) -> None:
    """Coefficient 0.3, push 6 N: 1 N along the wall is held for good, 3 N are not."""

    def drag(along: float) -> Any:
        return lambda t, p, v: (along - 2 * v[0], -2 * v[1], -6.0)

    c = design("stiff")
    for along, slides in ((1.0, False), (3.0, True)):
        log = play(render(c, friction=CoulombLaw(0.3)), (0, 0, -1e-6), drag(along), 0.2)
        force = log.walls[-1].friction
        if slides:
            assert log.velocity[-1, 0] > 0.05
            assert_allclose(force, [-1.8, 0, 0], atol=0.05)
        else:
            assert abs(log.velocity[-1, 0]) < 1e-4
            assert log.position[-1, 0] == pytest.approx(along / 2000.0, rel=0.05)  # of the friction's compliance
            assert_allclose(force[0], -1.0, atol=0.05)


@pytest.mark.parametrize("delay", [0, 1])
def test_corner(design: Any, play: Any, render: Any, delay: int) -> None:
    """Three walls at right angles: pressed into the corner, each answers its part; let go of two, the third stays."""
    planes = tuple(Plane((0, 0, 0), tuple(axis)) for axis in np.eye(3))

    def hand(t: float, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        return (np.array([-3.0, -2.0, -5.0]) if t < 0.2 else np.array([0.3, 0.3, -5.0])) - 1.0 * v

    log = play(render(design("stiff"), planes), (1e-4, 1e-4, 1e-4), hand, 0.4, delay=delay)
    assert_allclose(log.walls[199].push, [3.0, 2.0, 5.0], atol=0.2)
    assert max(log.depth(p).max() for p in planes) < 1e-3
    assert (log.walls[-1].in_contact == [False, False, True]).all()
    assert all((w.push >= 0.0).all() for w in log.walls)


def test_parallel_and_oblique_planes(design: Any, play: Any, render: Any) -> None:
    """The same plane twice, or eight times, shares its push; a wedge of two planes answers with both."""
    for times in (2, 8):
        same = (Plane((0, 0, 0), (0, 0, 1)),) * times
        log = play(render(design("stiff"), same), (0, 0, -1e-6), lambda t, p, v: (-v[0], -v[1], -5.0), 0.2)
        assert log.walls[-1].push.sum() == pytest.approx(5.0, abs=0.2)
    wedge = (Plane((0, 0, 0), (1, 0, 1)), Plane((0, 0, 0), (-1, 0, 1)))
    log = play(render(design("stiff"), wedge), (0, 0, 1e-4), lambda t, p, v: np.array([0, 0, -6.0]) - v, 0.2)
    assert_allclose(log.walls[-1].push, 6.0 / np.sqrt(2.0), atol=0.2)


@pytest.mark.parametrize("tilt", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("flipped", [False, True])
def test_friction_in_an_oblique_groove_acts_along_its_bottom(
    design: Any, play: Any, render: Any, tilt: float, flipped: bool
) -> None:
    """Pressed into the groove of two planes at an angle and dragged: no part of the friction is along a normal."""
    normals = [(tilt, 0.0, 1.0), (-0.2, 0.0, 1.0)]
    groove = tuple(Plane((0, 0, 0), normal) for normal in (normals[::-1] if flipped else normals))

    def hand(t: float, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.array([-0.5, 3.0, -6.0]) - 20.0 * v

    log = play(render(design("stiff"), groove, friction=CoulombLaw(0.2)), (0, 0, -1e-6), hand, 0.15)
    both = [w for w in log.walls if (w.push > 0.0).all()]
    assert len(both) > 50
    for state in both:
        assert max(abs(np.array(plane.normal) @ state.friction) for plane in groove) < 1e-12 * state.push.sum()
    assert both[-1].friction[1] < 0.0
    assert -both[-1].friction[1] == pytest.approx(0.2 * both[-1].push.sum(), rel=1e-6)  # it slides


def test_box_from_inside(design: Any, play: Any, render: Any) -> None:
    planes = box((-0.01, -0.01, -0.01), (0.01, 0.01, 0.01))
    assert len(planes) == 6

    def hand(t: float, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        return 3.0 * np.array([np.sin(17 * t), np.sin(23 * t + 1), np.cos(29 * t)]) - 8.0 * v

    log = play(render(design("stiff"), planes), (0.0, 0.0, 0.0), hand, 0.6)
    assert np.abs(log.position).max() < 0.0125
    assert {i for w in log.walls for i in np.flatnonzero(w.in_contact)} == set(range(6))


def test_walls_move_and_contact_stays(device: TauDevice, design: Any, wall: Plane) -> None:
    r = WallRenderer(design("scheduled"), (wall,))
    theta = device.inverse_kinematics((0.0, 0.0, -1e-4))
    r.reset(theta)
    held = r.step(theta, np.zeros(6)).push[0]
    r.set_planes((wall, Plane((0, 0, 0), (1, 0, 0))))
    state = r.step(theta, np.zeros(6))
    assert state.push[0] == pytest.approx(held, rel=0.05)
    assert state.in_contact.tolist() == [True, False]


def test_the_push_is_the_torque(device: TauDevice, design: Any, wall: Plane) -> None:
    """J^-T (tau - tau_g) is the push along the normal and nothing else."""
    for normal in ((0, 0, 1), (1, 2, 3)):
        plane = Plane((0, 0, 0), normal)
        p = np.array([0.004, -0.006, 0.0]) - 1e-4 * np.array(plane.normal)
        p -= (p @ plane.normal + 1e-4) * np.array(plane.normal)
        r = WallRenderer(design("scheduled"), (plane,))
        theta = device.inverse_kinematics(p)
        r.reset(theta)
        state = r.step(theta, np.zeros(6))
        assert state.penetration[0] == pytest.approx(1e-4, rel=1e-6)
        wrench = device.dynamics(p).actuated_map.T @ (state.torque - device.gravity_torque_at(p))
        assert_allclose(wrench, [*(state.push[0] * np.array(plane.normal)), 0, 0, 0], atol=1e-9)
        assert state.stiffness[0] == pytest.approx(state.push[0] / 1e-4)
        assert_allclose(state.position, p, atol=1e-11)


@pytest.mark.parametrize("scheme", ["mopc", "stiff"])
def test_the_papers_wall(design: Any, play: Any, wall: Plane, scheme: str) -> None:
    """Holds the whole pose while pressed, and lets go."""

    def hand(t: float, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.array([1.0 if t < 0.25 else 0.0, 0.0, -8.0 if t < 0.25 else 0.5]) - 1.0 * v

    r = HoldingWall(design(scheme), wall)
    log = play(r, (0.005, -0.01, 1e-6), hand, 0.4)
    assert np.abs(log.position[200:250] - log.position[200]).max() < 5e-5
    assert abs(log.position[249, 0] - log.position[1, 0]) < 5e-4  # 1 N along the wall does not move it
    assert log.depth(wall).max() < 1.5e-3
    assert not log.contact[-1]
    assert log.position[-1, 2] > 2e-3


def test_a_tool_that_is_deep_at_once_is_pushed_out_to_the_surface(device: TauDevice, design: Any, wall: Plane) -> None:
    """Contact begins at the surface, whatever the depth of the first sample: the force is that of the depth."""
    pushes = []
    for depth in (1e-4, 2e-4):
        r = HoldingWall(design("scheduled"), wall)
        theta = device.inverse_kinematics((0.0, 0.0, -depth))
        r.reset(theta)
        state = r.step(theta, np.zeros(6))
        assert state.in_contact[0] and not state.saturated and state.penetration[0] == pytest.approx(depth, rel=1e-6)
        pushes.append(state.push[0])
    assert pushes[0] > 0.1 and pushes[1] == pytest.approx(2.0 * pushes[0], rel=0.02)  # turns with the linkage


def test_saturation_is_counted(device: TauDevice, design: Any, render: Any) -> None:
    r = render(design("stiff"))
    r.reset(device.inverse_kinematics((0, 0, -0.003)))
    for k in range(4):
        state = r.step(device.inverse_kinematics((0, 0, -0.003)), np.zeros(6))
        assert state.saturated
        assert np.abs(state.torque).max() <= device.peak_torque
        assert r.saturated_steps == k + 1


def test_refusals(device: TauDevice, design: Any, wall: Plane) -> None:
    c = design("stiff")
    with pytest.raises(TauError, match="planes: expected 1 to 32, got 0"):
        WallRenderer(c, ())
    with pytest.raises(TauError, match="normal: expected a direction"):
        Plane((0, 0, 0), (0, 0, 0))
    with pytest.raises(TauError, match="box: expected low below high"):
        box((0, 0, 0), (1, 0, 1))
    with pytest.raises(TauError, match="release_gap: expected a number above 0"):
        WallRenderer(c, (wall,), release_gap=0.0)
    r = WallRenderer(c, (wall,))
    r.reset(device.inverse_kinematics((0, 0, 0)))
    with pytest.raises(TauError, match="theta: expected finite numbers"):
        r.step([np.nan] * 6, np.zeros(6))
    with pytest.raises((TauError, SingularError)):
        r.step([2.0, -1.0, 2.5, 0.5, -2.0, -1.5], np.zeros(6))


def test_strongest_push(device: TauDevice) -> None:
    """At the limit of one joint, not of none and not of two sides."""
    force = stiffest_push(device, (0.0, -0.02, 0.0))
    d = device.dynamics((0.0, -0.02, 0.0))
    torque = np.linalg.solve(d.actuated_map.T, d.gravity_force + np.array([0, 0, force, 0, 0, 0]))
    assert np.abs(torque).max() == pytest.approx(device.peak_torque, rel=1e-9)


def test_the_bound_of_a_tap_is_its_energy_over_the_largest_push() -> None:
    """m v^2/2 at the plane: twice the speed goes four times as deep."""
    device = TauDevice.default()
    mass = 1.0 / np.linalg.inv(device.dynamics(np.zeros(3)).mass_matrix)[2, 2]
    for speed in (0.25, 0.5):
        bound = tap_bound(device, np.zeros(3), speed)
        assert bound * stiffest_push(device, np.zeros(3), [0.0, 0.0, 1.0]) == pytest.approx(0.5 * mass * speed**2)
