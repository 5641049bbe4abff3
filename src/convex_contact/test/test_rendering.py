"""The tool in the world: places, the coupling's force and energy, timing and the way to the tool."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from convex_contact import ConvergenceError, Material, World
from convex_contact.haptics.rendering import ContactRendering, CouplingNumbers, ToolTransform
from convex_contact.model.world_source import open_world
from convex_contact.scenes.tosses import PERIOD, load_tosses

T = 1e-3
NUMBERS = CouplingNumbers(500.0, 2.0, 1.0, 0.005, 20.0, 2.0, 0.0)
SOFT = Material(stiffness=2e4, dissipation=1.0, relaxation_time=1e-3, friction=0.5)


def place(**change: Any) -> ToolTransform:
    values = {
        "frame_position": [0.0, 0.0, 0.0],
        "frame_orientation": [0.0, 0.0, 0.0, 1.0],
        "scale": 1.0,
        "held_axes": [""],
        "coupled_rotation": False,
    }
    return ToolTransform.of({**values, **change})


def finger(gravity: float = 0.0, **body: Any) -> World:
    world = World((0.0, 0.0, -gravity))
    world.add_half_space("floor", material=SOFT)
    world.add_sphere("finger", mass=0.1, radius=0.01, material=SOFT, **{"position": (0.0, 0.0, 0.1), **body})
    return world


def rendering(world: World | None = None, **change: Any) -> ContactRendering:
    values = {"period": T, "proxy": "finger", "place": place(), "numbers": NUMBERS}
    return ContactRendering(world or finger(), **{**values, **change})


def pose(position: Any, rotation: Rotation | None = None) -> np.ndarray:
    return np.concatenate([position, (rotation or Rotation.identity()).as_quat()])


START = pose((0.0, 0.0, 0.1))
STILL = np.zeros(6)


# --- the coupling's force


def test_the_first_tick_moves_nothing_and_each_other_one_a_period() -> None:
    r = rendering(substeps=4)
    assert not r.step(START, STILL).any() and r.simulator.time == 0.0
    for _ in range(10):
        r.step(START, STILL)
    # sums of 40 periods of T/4
    assert r.simulator.time == pytest.approx(10 * T, rel=1e-12)
    r.reset()
    assert not r.step(START, STILL).any() and r.simulator.time == 0.0


def test_a_finger_held_against_the_floor_feels_the_two_springs_in_series() -> None:
    """A rest: k_c (h - z) balances the contact's k (r - z), k being half the surfaces'."""
    r = rendering(finger(position=(0.0, 0.0, 0.01)))
    r.step(pose((0.0, 0.0, 0.01)), STILL)
    for _ in range(3000):
        wrench = r.step(pose((0.0, 0.0, 0.0)), STILL)
    k = 1e4
    expected = 0.01 * 500.0 * k / (500.0 + k)
    # the solver's relative tolerance of 1e-5
    assert wrench[2] == pytest.approx(expected, rel=1e-4)
    np.testing.assert_allclose(wrench[[0, 1, 3, 4, 5]], 0.0, atol=1e-9)


def test_a_finger_in_free_space_is_drawn_with_the_implicit_step() -> None:
    """One step by hand: (m + T b + T^2 k) v = T (k dx + b dx/T), F = k (dx - T v) + b (dx/T - v)."""
    r = rendering()
    r.step(START, STILL)
    wrench = r.step(pose((0.001, 0.0, 0.1)), STILL)
    m, k, b, dx = 0.1, 500.0, 2.0, 1e-3
    v = T * (k * dx + b * dx / T) / (m + T * b + T * T * k)
    force = k * (dx - T * v) + b * (dx / T - v)
    # one Newton step of a quadratic problem: rounding
    np.testing.assert_allclose(wrench[:3], [-force, 0.0, 0.0], rtol=1e-9, atol=1e-12)
    assert r.simulator.state("finger").velocity[0] == pytest.approx(v, rel=1e-9)


@pytest.mark.parametrize(("name", "value"), [("stiffness", 800.0), ("damping", 5.0)])
def test_the_coupling_s_numbers_change_the_force(name: str, value: float) -> None:
    def force(numbers: CouplingNumbers) -> float:
        r = rendering(numbers=numbers)
        r.step(START, STILL)
        return float(r.step(pose((0.001, 0.0, 0.1)), STILL)[0])

    assert force(NUMBERS) != force(CouplingNumbers(**{**vars(NUMBERS), name: value}))


@pytest.mark.slow
@pytest.mark.covering
@pytest.mark.parametrize("substeps", [1, 5])
@pytest.mark.parametrize("stiffness", [500.0, 5e4])
def test_the_world_never_gives_the_tool_more_than_it_got(substeps: int, stiffness: float) -> None:
    """The module's proof, for a tool that pokes and scrapes at random; b of the coupling is far below k T/2."""
    numbers = CouplingNumbers(stiffness, 0.01, 1.0, 0.005, 1e9, 1e9, 0.0)
    world = finger(position=(0.0, 0.0, 0.012))  # where the way begins: no energy at the start
    world.add_box("box", mass=0.2, size=(0.02, 0.02, 0.02), material=SOFT, position=(0.03, 0.0, 0.01))
    r = rendering(world, numbers=numbers, substeps=substeps)
    random = np.random.default_rng(3)
    way = np.cumsum(np.cumsum(random.normal(scale=3e-6, size=(3000, 3)), axis=0), axis=0)
    way = 0.02 * np.sin((way - way[0]) / 0.02) + np.array([0.0, 0.0, 0.012])
    r.step(pose(way[0]), STILL)
    energy, worst, largest = 0.0, 0.0, 0.0
    for a, b in pairwise(way):
        wrench = r.step(pose(b), STILL)
        energy -= float(wrench[:3] @ (b - a))
        worst, largest = min(worst, energy), max(largest, energy)
    assert largest > 1e-3  # it has been worked with
    # the solver's tolerance on the momenta, 1e-5, against the energy that went through
    assert worst > -1e-4 * largest


def test_substeps_interpolate_the_target_and_give_the_mean_force() -> None:
    """One tick of n steps is the same as n ticks of a tool that goes the same way in n parts, their force averaged."""
    n = 4
    coarse, fine = rendering(substeps=n), rendering(period=T / n)
    way = np.array([[0.0, 0.0, 0.1], [1e-4, -2e-4, 0.0999], [4e-4, -1e-4, 0.0995]])
    coarse.step(pose(way[0]), STILL)
    fine.step(pose(way[0]), STILL)
    for a, b in pairwise(way):
        parts = [fine.step(pose(a + i / n * (b - a)), STILL) for i in range(1, n + 1)]
        # rounding of the interpolation, times k
        np.testing.assert_allclose(coarse.step(pose(b), STILL), np.mean(parts, axis=0), rtol=1e-9, atol=1e-11)


def test_the_force_is_shortened_to_its_bound_and_keeps_its_direction() -> None:
    numbers = CouplingNumbers(**{**vars(NUMBERS), "max_force": 0.5, "max_torque": 0.01})
    free, bound = (rendering(numbers=x, place=place(coupled_rotation=True)) for x in (NUMBERS, numbers))
    for r in (free, bound):
        r.step(START, STILL)
    turn = Rotation.from_rotvec([0.3, 0.1, -0.2])
    a, b = (r.step(pose((0.02, -0.01, 0.11), turn), STILL) for r in (free, bound))
    assert np.linalg.norm(a[:3]) > 0.5 and np.linalg.norm(a[3:]) > 0.01
    np.testing.assert_allclose(b[:3], 0.5 * a[:3] / np.linalg.norm(a[:3]), rtol=1e-12)
    np.testing.assert_allclose(b[3:], 0.01 * a[3:] / np.linalg.norm(a[3:]), rtol=1e-12)


# --- places


def test_frame_and_scale_place_the_tool_and_conserve_power() -> None:
    turn = Rotation.from_rotvec([0.4, -0.7, 1.1])
    where = place(frame_position=[0.1, -0.2, 0.3], frame_orientation=turn.as_quat().tolist(), scale=2.0)
    r = rendering(place=where)
    at = turn.apply(np.array([0.0, 0.0, 0.05])) + np.array([0.1, -0.2, 0.3])
    step = np.array([1e-4, 2e-4, -1e-4])
    r.step(pose(at), STILL)
    wrench = r.step(pose(at + step), STILL)
    np.testing.assert_allclose(r.target, [0, 0, 0.1] + 2.0 * turn.inv().apply(step), atol=1e-15)
    np.testing.assert_allclose(wrench[:3], -2.0 * turn.apply(r.force), rtol=1e-12)
    assert wrench[:3] @ step == pytest.approx(-r.force @ (2.0 * turn.inv().apply(step)), rel=1e-12)


def test_a_held_axis_keeps_the_proxy_s_height_and_is_not_felt() -> None:
    r = rendering(finger(gravity=9.81), place=place(held_axes=["z"]))
    r.step(pose((0.0, 0.0, 0.5)), STILL)
    for _ in range(2000):
        wrench = r.step(pose((0.0, 0.0, 0.5)), STILL)
    # it hangs in the coupling by m g/k; it settles as exp(-10 t)
    assert r.simulator.state("finger").position[2] == pytest.approx(0.1 - 0.1 * 9.81 / 500.0, abs=1e-6)
    assert r.force[2] == pytest.approx(0.981, rel=1e-4) and wrench[2] == 0.0


def test_proxy_rotates_with_the_tool_if_configured() -> None:
    turn = Rotation.from_rotvec([0.2, -0.1, 0.3])
    free, held = (rendering(place=place(coupled_rotation=c)) for c in (True, False))
    for r in (free, held):
        r.step(START, STILL)
        for _ in range(400):
            wrench = r.step(pose((0.0, 0.0, 0.1), turn), STILL)
        assert not wrench[:3].any() or np.abs(wrench[:3]).max() < 1e-9
    found = Rotation.from_quat(free.simulator.state("finger").orientation)
    # a spring of 1 N m/rad with a damper that is three times critical: settled long ago
    assert (found * turn.inv()).magnitude() < 1e-6
    assert np.linalg.norm(held.simulator.state("finger").orientation[:3]) < 1e-12


def test_the_tool_turns_the_proxy_about_the_world_s_axes() -> None:
    """Seen from a world that is turned itself, and the torque comes back into the device's base."""
    frame = Rotation.from_rotvec([0.4, -0.7, 1.1])
    r = rendering(place=place(coupled_rotation=True, frame_orientation=frame.as_quat().tolist()))
    at = frame.apply([0.0, 0.0, 0.1])
    turn = Rotation.from_rotvec([0.2, -0.1, 0.3])
    r.step(pose(at, frame), STILL)  # as the proxy stands
    wrench = r.step(pose(at, frame * Rotation.from_rotvec([0.01, 0.0, 0.0])), STILL)
    np.testing.assert_allclose(wrench[3:], -frame.apply(r.torque), rtol=1e-12)
    for _ in range(400):
        r.step(pose(at, frame * turn), STILL)
    found = Rotation.from_quat(r.simulator.state("finger").orientation)
    assert (found * turn.inv()).magnitude() < 1e-6


def test_the_torque_is_that_of_the_rotational_spring() -> None:
    """A sphere that a heavy friction-free world does not hold: one implicit step by hand about x."""
    r = rendering(place=place(coupled_rotation=True))
    r.step(START, STILL)
    angle = 0.01
    wrench = r.step(pose((0.0, 0.0, 0.1), Rotation.from_rotvec([angle, 0.0, 0.0])), STILL)
    inertia, k, b = 0.4 * 0.1 * 0.01**2, 1.0, 0.005
    w = T * (k * angle + b * angle / T) / (inertia + T * b + T * T * k)
    expected = -(k * (angle - T * w) + b * (angle / T - w))
    np.testing.assert_allclose(wrench[3:], [expected, 0.0, 0.0], rtol=1e-8, atol=1e-12)


# --- the way to the tool


def test_the_proxy_is_led_to_the_tool_and_the_force_comes_in_as_slowly() -> None:
    r = rendering(approach_time=0.05)
    tool = pose((0.04, 0.0, 0.1))
    r.step(tool, STILL)
    np.testing.assert_array_equal(r.target, [0.0, 0.0, 0.1])
    before, way = r.target[0], []
    for k in range(50):
        wrench = r.step(tool, STILL)
        way.append(r.target[0] - before)
        before = r.target[0]
        if k < 5:
            # 10 s^3 of the force at s = 0.1
            assert np.abs(wrench).max() <= 0.01 * np.abs(r.force).max()
    assert r.target[0] == 0.04 and min(way) >= 0.0
    # a quintic's largest speed is 15/8 of the mean one
    assert max(way) <= 15 / 8 * 0.04 / 50
    assert not np.array_equal(r.step(tool, STILL)[:3], np.zeros(3))


def test_while_the_device_does_not_follow_nothing_is_felt_and_the_target_waits() -> None:
    r = rendering(approach_time=0.02)
    for _ in range(40):
        r.step(START, STILL)
    for _ in range(5):
        assert not r.step(pose((0.03, 0.0, 0.1)), STILL, follows=False).any()
        np.testing.assert_allclose(r.target, [0.0, 0.0, 0.1], atol=1e-15)
    r.step(pose((0.03, 0.0, 0.1)), STILL)
    assert 0.0 < r.target[0] < 1e-3
    for _ in range(19):
        r.step(pose((0.03, 0.0, 0.1)), STILL)
    assert r.target[0] == 0.03


# --- a prescribed proxy, and none


def test_a_prescribed_proxy_takes_the_tool_s_twist_at_the_end_of_the_step() -> None:
    world = World()
    world.add_half_space("belt", material=SOFT, prescribed=True)
    world.add_box("box", mass=0.5, size=(0.1, 0.1, 0.1), material=SOFT, position=(0.0, 0.0, 0.05))
    r = rendering(world, proxy="belt", place=place(held_axes=["y"], scale=3.0))
    assert not r.is_coupled and r.warning() == ""
    speeds = np.array([0.05, 0.1, 0.2, 0.1])
    r.step(START, STILL)
    for v in speeds:
        assert not r.step(START, np.array([v, 1.0, 0.0, 0.0, 0.0, 2.0])).any()
    belt = r.simulator.state("belt")
    np.testing.assert_allclose(belt.position, [3.0 * T * speeds.sum(), 0.0, 0.0], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(belt.velocity, [3.0 * speeds[-1], 0.0, 0.0])
    assert not belt.angular_velocity.any()
    assert r.simulator.state("box").velocity[0] > 0.0  # it is carried along


def test_without_a_proxy_the_world_moves_by_itself() -> None:
    r = rendering(finger(gravity=9.81), proxy="")
    for _ in range(11):
        assert not r.step(pose((9.0, 9.0, 9.0)), STILL).any()
    # symplectic Euler: g T^2 n (n + 1)/2
    assert r.simulator.state("finger").position[2] == pytest.approx(0.1 - 9.81 * T * T * 55, abs=1e-12)


# --- what is published


def test_passivity_condition_is_reported_with_its_numbers() -> None:
    def warning(damping: float, scale: float = 1.0) -> str:
        numbers = CouplingNumbers(**{**vars(NUMBERS), "device_damping": damping})
        return rendering(numbers=numbers, place=place(scale=scale)).warning()

    assert warning(0.0) == ""  # unknown
    assert warning(2.26) == ""  # k T/2 + b = 0.25 + 2
    assert "a device damping of 2.25 N s/m" in warning(2.24) and "device_damping is 2.24 N s/m" in warning(2.24)
    assert "a device damping of 9 N s/m" in warning(2.26, scale=2.0)


def test_other_numbers_of_the_coupling_go_on_from_where_the_world_is() -> None:
    r = rendering()
    for k in range(30):
        r.step(pose((1e-4 * k, 0.0, 0.1)), STILL)
    before = r.simulator.state("finger")
    r.retune(CouplingNumbers(**{**vars(NUMBERS), "stiffness": 1000.0}))
    after = r.simulator.state("finger")
    np.testing.assert_array_equal(before.position, after.position)
    np.testing.assert_array_equal(before.velocity, after.velocity)
    old = r.force.copy()
    wrench = r.step(pose((29e-4, 0.0, 0.1)), STILL)
    assert np.isfinite(wrench).all() and not np.allclose(r.force, old, rtol=0.1)
    with pytest.raises(ValueError, match=r"^stiffness: expected 0 or more, got -1\.0$"):
        r.retune(CouplingNumbers(**{**vars(NUMBERS), "stiffness": -1.0}))
    assert r.numbers.stiffness == 1000.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"proxy": "thumb"}, "^thumb: no such body; the bodies that can move are: "),
        ({"proxy": "floor"}, "^floor: expected a body that can move, got a fixed one$"),
        ({"substeps": 0}, "^substeps: expected 1 or more, got 0.0$"),
        ({"period": 0.0}, "^period: expected more than 0, got 0.0$"),
        ({"approach_time": -1.0}, "^approach_time: expected 0 or more, got -1.0$"),
    ],
)
def test_error_names_the_argument_that_does_not_fit(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rendering(**change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"frame_orientation": [0, 0, 0, 0.5]}, "^frame_orientation: expected a quaternion of length 1"),
        ({"frame_orientation": [0, 0, 1]}, r"^frame_orientation: expected shape \(4,\), got \(3,\)$"),
        ({"frame_position": [0, 1]}, r"^frame_position: expected shape \(3,\), got \(2,\)$"),
        ({"scale": 0.0}, "^scale: expected more than 0, got 0.0$"),
    ],
)
def test_a_place_that_is_none_is_refused_by_name(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        place(**change)


def test_a_step_that_cannot_be_solved_leaves_the_world_before_it() -> None:
    world = finger(gravity=9.81, position=(0.0, 0.0, 0.01), velocity=(1.0, 0.0, -1.0))
    r = rendering(world, max_iterations=1, relative_tolerance=1e-14)
    r.step(START, STILL)
    with pytest.raises(ConvergenceError, match="in the step from t = 0 s"):
        r.step(START, STILL)
    assert r.simulator.time == 0.0
    np.testing.assert_array_equal(r.simulator.state("finger").position, [0.0, 0.0, 0.01])


def test_all_bodies_are_read_as_one_by_one() -> None:
    """Free bodies with and without a centre of mass away from their frame, a link, a belt and a wall."""
    world = finger(gravity=9.81, velocity=(0.3, 0.1, 0.0), angular_velocity=(3.0, 2.0, 1.0))
    world.add_box(
        "lopsided", mass=0.3, size=(0.04, 0.03, 0.02), material=SOFT, position=(0.2, 0.0, 0.2),
        center=(0.01, -0.005, 0.0), inertia=1e-4, angular_velocity=(1.0, -4.0, 2.0), orientation=(0.1, 0.2, 0.3, 0.9),
    )  # fmt: skip
    world.add_half_space("belt", point=(0.0, 0.0, -1.0), material=SOFT, motion=lambda t: (0.1, 0.0, 0.0, 0.0, 0.0, 0.2))
    world.add_urdf("arm", Path(__file__).with_name("data") / "arm.urdf", position=(2.0, 0.0, 1.0), material=SOFT)
    r = rendering(world)
    for _ in range(40):
        r.step(START, STILL)
    table = r.bodies.read()
    states = [r.simulator.state(i) for i in range(len(r.simulator.world.bodies))]
    for name in ("position", "orientation", "velocity", "angular_velocity"):
        values = [getattr(state, name) for state in states]
        # the same formula in another order of operations
        np.testing.assert_allclose(getattr(table, name), values, rtol=1e-12, atol=1e-13, err_msg=name)


def test_the_recording_beside_a_simulated_toss_is_the_recording() -> None:
    """And the cube flies on the parabola that it was tossed on, as long as it is in the air."""
    chosen = load_tosses()[30]
    r = rendering(
        open_world("convex_contact.toss_scene:toss_beside_simulation", {"toss": 30}), proxy="", period=PERIOD / 4
    )
    for k in range(chosen.samples):
        if k:
            r.simulator.step(4)
        shown = r.simulator.state("recording")
        # sums of 4 k rounded steps
        np.testing.assert_allclose(shown.position, chosen.position[k], atol=1e-12)
        turned = Rotation.from_quat(shown.orientation) * Rotation.from_quat(chosen.orientation[k]).inv()
        assert turned.magnitude() < 1e-7
        if k == 4:
            # g T^2 k^2/2 and the noise of 0.3 mm of the capture, against 200 mm of flight in 27 ms
            assert np.linalg.norm(r.simulator.state("cube").position - chosen.position[k]) < 1e-3
