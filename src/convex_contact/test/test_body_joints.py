"""Joints between bodies against closed forms: pendulums, a slope, a loop of bars, gears."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from convex_contact import Simulator, World, WorldError

G = 9.81
PERIOD = 1e-3


def bar(world: World, name: str, start: tuple[float, float], end: tuple[float, float], mass: float = 1.0) -> float:
    """Adds a thin bar in the plane of x and z between two points (m), and returns its length."""
    a, b = np.array([start[0], 0.0, start[1]]), np.array([end[0], 0.0, end[1]])
    length = float(np.linalg.norm(b - a))
    angle = -math.atan2(b[2] - a[2], b[0] - a[0])  # about y, from x
    turn = (0.0, math.sin(angle / 2), 0.0, math.cos(angle / 2))
    inertia = (1e-6, mass * length**2 / 12, mass * length**2 / 12)
    world.add_body(name, mass=mass, inertia=inertia, center=(0, 0, 0), position=(a + b) / 2, orientation=turn)
    return length


def energy(simulator: Simulator, mass: float, inertia: float) -> float:
    _, _, velocity, omega = simulator.body_states()
    z = simulator.body_states()[0][:, 2]
    return float((0.5 * mass * (velocity**2).sum(1) + 0.5 * inertia * (omega**2).sum(1) + mass * G * z).sum())


@pytest.mark.slow
def test_a_bar_on_a_hinge_is_a_physical_pendulum() -> None:
    """Angular frequency sqrt(3 g/(2 l)) of small swings; the implicit step adds errors of the order of dt."""
    world = World()
    length = bar(world, "bar", (0.0, 0.0), (0.05, -1.0))
    world.add_joint("pivot", "hinge", None, "bar", point=(0, 0, 0), axis=(0, 1, 0))
    simulator = Simulator(world, period=PERIOD)
    crossings, before = [], simulator.state("bar").position[0]
    while len(crossings) < 3:
        simulator.step()
        now = simulator.state("bar").position[0]
        if before > 0.0 >= now or before < 0.0 <= now:
            crossings.append(simulator.time)
        before = now
    expected = 2.0 * math.pi / math.sqrt(3.0 * G / (2.0 * length))
    assert crossings[2] - crossings[0] == pytest.approx(expected, abs=4.0 * PERIOD)
    assert np.linalg.norm(simulator.state("bar").position) == pytest.approx(length / 2, rel=1e-4)
    assert abs(simulator.state("bar").position[1]) < 1e-9


@pytest.mark.parametrize("kind", ["hinge", "ball"])
def test_a_double_pendulum_falls_like_the_closed_form(kind: str) -> None:
    """Two hanging bars, horizontal and at rest: the equations of motion of Lagrange give the first accelerations."""
    world = World()
    bar(world, "one", (0.0, 0.0), (1.0, 0.0))
    bar(world, "two", (1.0, 0.0), (2.0, 0.0))
    axis: dict[str, Any] = {"axis": (0, 1, 0)} if kind == "hinge" else {}
    world.add_joint("upper", kind, None, "one", point=(0, 0, 0), **axis)
    world.add_joint("lower", kind, "one", "two", point=(1, 0, 0), **axis)
    simulator = Simulator(world, period=1e-4)
    simulator.step(10)
    # with m = l = 1: (1/3 + 1) w1' + 1/2 w2' = 3/2 g and 1/2 w1' + 1/3 w2' = 1/2 g
    expected = np.linalg.solve([[4 / 3, 1 / 2], [1 / 2, 1 / 3]], [1.5 * G, 0.5 * G])
    found = np.array([simulator.state(name).angular_velocity[1] for name in ("one", "two")]) / simulator.time
    np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_body_on_a_slide_moves_down_a_slope_without_rotation() -> None:
    world, slope = World(), math.radians(30.0)
    along = (math.cos(slope), 0.0, -math.sin(slope))
    world.add_box("box", mass=2.0, size=(0.1, 0.1, 0.1), position=(0.3, 0.2, 0.1))  # its centre is beside the joint
    world.add_joint("rail", "slide", None, "box", point=(0, 0, 0), axis=along)
    simulator = Simulator(world, period=PERIOD)
    simulator.step(500)
    position, velocity = simulator.body_joint("rail")
    assert velocity == pytest.approx(G * math.sin(slope) * 0.5, rel=1e-9)
    assert position == pytest.approx(0.5 * G * math.sin(slope) * 0.5 * (0.5 + PERIOD), rel=1e-6)
    state = simulator.state("box")
    np.testing.assert_allclose(state.position, np.array([0.3, 0.2, 0.1]) + position * np.array(along), atol=1e-6)
    np.testing.assert_allclose(state.orientation, [0, 0, 0, 1], atol=1e-6)


def test_a_distance_is_kept_and_carries_the_weight_of_a_conical_pendulum() -> None:
    """A point mass on a rod of length l turns at an angle to the vertical: w^2 = g/(l cos angle)."""
    world, angle, length = World(), math.radians(40.0), 0.5
    omega = math.sqrt(G / (length * math.cos(angle)))
    start = np.array([length * math.sin(angle), 0.0, -length * math.cos(angle)])
    velocity = (0.0, omega * start[0], 0.0)
    world.add_sphere("ball", mass=0.3, radius=0.01, position=start, velocity=velocity)
    world.add_joint("rod", "distance", None, "ball", point=(0, 0, 0), point_b=start)
    simulator = Simulator(world, period=PERIOD)
    simulator.step(round(2.0 * math.pi / omega / PERIOD))
    assert simulator.body_joint("rod").position == pytest.approx(length, rel=1e-4)
    # a step of first order turns the velocity by w dt late: the height falls by some 1e-3 of the length in a turn
    np.testing.assert_allclose(simulator.state("ball").position, start, atol=0.02)


def test_a_distance_pulls_to_its_length() -> None:
    world = World(gravity=(0, 0, 0))
    for name, x in (("a", 0.0), ("b", 1.0)):
        world.add_sphere(name, mass=1.0, radius=0.1, position=(x, 0, 0))
    world.add_joint("rod", "distance", "a", "b", point=(0, 0, 0), point_b=(1, 0, 0), length=0.5, relaxation_time=0.02)
    simulator = Simulator(world, period=PERIOD)
    simulator.step(300)
    assert simulator.body_joint("rod").position == pytest.approx(0.5, abs=1e-5)
    np.testing.assert_allclose(simulator.state("a").position, [0.25, 0, 0], atol=1e-5)


@pytest.mark.parametrize("kind", ["ball", "hinge", "slide", "weld", "distance"])
def test_free_bodies_keep_their_momentum(kind: str) -> None:
    world = World(gravity=(0, 0, 0))
    world.add_box("a", mass=1.0, size=(0.2, 0.3, 0.1), velocity=(0.3, 0.1, 0), angular_velocity=(1, 2, -1))
    world.add_box("b", mass=2.0, size=(0.1, 0.3, 0.2), position=(0.5, 0, 0), angular_velocity=(0, -1, 2))
    values: dict[str, Any] = {"axis": (1, 1, 0)} if kind in ("hinge", "slide") else {}
    if kind == "distance":
        values = {"point_b": (0.4, 0.1, 0)}
    world.add_joint("joint", kind, "a", "b", point=(0.2, 0, 0), **values)
    simulator = Simulator(world, period=PERIOD)
    simulator.step(200)
    _, _, velocity, _ = simulator.body_states()
    # the solver ends with a residual of 1e-5 of the momenta
    np.testing.assert_allclose(velocity.T @ [1.0, 2.0], [0.3, 0.1, 0.0], atol=1e-4)


def test_a_weld_makes_one_body_of_two() -> None:
    """Two halves of a bar, welded, and turned: the rate of the whole bar."""
    world = World(gravity=(0, 0, 0))
    for name, x in (("a", -0.5), ("b", 0.5)):
        world.add_body(name, mass=1.0, inertia=1.0 / 12, center=(0, 0, 0), position=(x, 0, 0))
    world.add_joint("weld", "weld", "a", "b", point=(0, 0, 0))
    simulator = Simulator(world, period=PERIOD)
    simulator.apply_wrench("a", torque=(0, 0, 1.0))
    simulator.step(100)
    rates = [simulator.state(name).angular_velocity[2] for name in ("a", "b")]
    assert rates == pytest.approx([0.1 / (2.0 / 12 + 2 * 0.25)] * 2, rel=1e-3)


@pytest.mark.slow
def test_a_loop_of_four_bars_closes() -> None:
    """A crank, a coupler and a rocker on the ground: the rocker's angle is that of the geometry."""
    pivots, crank, coupler, rocker = (0.0, 1.2), 0.3, 1.0, 0.8

    def geometry(angle: float) -> tuple[np.ndarray, np.ndarray]:
        tip = crank * np.array([math.cos(angle), math.sin(angle)])
        way = np.array([pivots[1], 0.0]) - tip
        distance = float(np.linalg.norm(way))
        along = (coupler**2 - rocker**2 + distance**2) / (2.0 * distance)
        across = math.sqrt(coupler**2 - along**2)
        unit = way / distance
        return tip, tip + along * unit + across * np.array([-unit[1], unit[0]])

    tip, knee = geometry(0.5)
    world = World(gravity=(0, 0, 0))
    bar(world, "crank", (0, 0), tuple(tip))
    bar(world, "coupler", tuple(tip), tuple(knee))
    bar(world, "rocker", (pivots[1], 0), tuple(knee))
    places = {"crank": (0, 0), "rocker": (pivots[1], 0)}
    for name, (x, z) in places.items():
        world.add_joint(name, "hinge", None, name, point=(x, 0, z), axis=(0, -1, 0))
    world.add_joint("tip", "hinge", "crank", "coupler", point=(tip[0], 0, tip[1]), axis=(0, -1, 0))
    world.add_joint("knee", "hinge", "coupler", "rocker", point=(knee[0], 0, knee[1]), axis=(0, -1, 0))
    simulator = Simulator(world, period=PERIOD)
    simulator.apply_wrench("crank", torque=(0, -0.5, 0))
    start = math.atan2(knee[1], knee[0] - pivots[1])
    turned = 0.0
    for _ in range(20):
        simulator.step(50)
        angle = simulator.body_joint("crank").position
        _, expected = geometry(0.5 + angle)
        rocked = math.atan2(expected[1], expected[0] - pivots[1]) - start
        assert simulator.body_joint("rocker").position == pytest.approx(rocked, abs=1e-3)
        turned = max(turned, abs(angle))
    assert turned > 1.0


@pytest.mark.slow
@pytest.mark.parametrize("internal", [False, True])
def test_gears_turn_by_their_teeth_and_add_their_inertias(internal: bool) -> None:
    """Over many turns: w1' = torque/(I1 + I2 (n1/n2)^2), and the phase does not drift."""
    world, teeth, inertias, torque = World(gravity=(0, 0, 0)), (12, 30), (0.02, 0.3), 3.0
    for name, x, inertia in (("pinion", 0.0, inertias[0]), ("wheel", 0.5, inertias[1])):
        world.add_body(name, mass=1.0, inertia=inertia, center=(0, 0, 0), position=(x, 0, 0))
        world.add_joint(name, "hinge", None, name, point=(x, 0, 0), axis=(0, 0, 1))
    world.add_gear("pinion", "wheel", teeth=teeth, internal=internal)
    simulator = Simulator(world, period=PERIOD)
    simulator.apply_wrench("pinion", torque=(0, 0, torque))
    turned = 0.0
    for _ in range(2000):
        simulator.step()
        turned += simulator.state("pinion").angular_velocity[2] * PERIOD
    rates = [simulator.body_joint(name).velocity for name in ("pinion", "wheel")]
    ratio = teeth[0] / teeth[1]
    assert turned > 10 * 2.0 * math.pi
    assert rates[0] == pytest.approx(torque / (inertias[0] + inertias[1] * ratio**2) * simulator.time, rel=1e-3)
    assert rates[1] == pytest.approx((1.0 if internal else -1.0) * ratio * rates[0], rel=1e-4)
    angles = [simulator.body_joint(name).position for name in ("pinion", "wheel")]
    phase = teeth[0] * angles[0] + (-1.0 if internal else 1.0) * teeth[1] * angles[1]
    assert math.remainder(phase, 2.0 * math.pi) == pytest.approx(0.0, abs=0.05)


def test_joined_bodies_pass_through_each_other_unless_they_may_collide() -> None:
    for collide, expected in ((False, 0), (True, 1)):
        world = World()
        for name, x in (("a", 0.0), ("b", 0.15)):
            world.add_sphere(name, mass=1.0, radius=0.1, position=(x, 0, 0))
        world.add_joint("weld", "weld", "a", "b", point=(0, 0, 0), collide=collide)
        simulator = Simulator(world, period=PERIOD)
        simulator.step()
        assert len(simulator.contacts.impulse) == expected


@pytest.mark.slow
def test_deflection_of_a_soft_joint_is_load_over_stiffness() -> None:
    world = World()
    world.add_sphere("ball", mass=1.0, radius=0.1)
    world.add_joint("spring", "ball", None, "ball", point=(0, 0, 0), stiffness=1e3, relaxation_time=0.1, near_rigid=0.0)
    simulator = Simulator(world, period=PERIOD)
    simulator.step(3000)
    assert simulator.state("ball").position[2] == pytest.approx(-G / 1e3, rel=1e-4)


def test_a_restored_simulation_goes_on_as_before() -> None:
    world = World()
    bar(world, "bar", (0.0, 0.0), (1.0, 0.0))
    world.add_joint("pivot", "hinge", None, "bar", point=(0, 0, 0), axis=(0, 1, 0))
    simulator = Simulator(world, period=PERIOD)
    simulator.step(50)
    saved = simulator.state()
    simulator.step(50)
    first = simulator.body_states()
    simulator.restore(saved)
    simulator.step(50)
    assert all(np.array_equal(a, b) for a, b in zip(first, simulator.body_states(), strict=True))
    simulator.reset()
    assert simulator.body_joint("pivot") == (0.0, 0.0)


def two_spheres() -> World:
    world = World()
    for name, x in (("a", 0.0), ("b", 1.0)):
        world.add_sphere(name, mass=1.0, radius=0.1, position=(x, 0, 0))
    world.add_box("floor", size=(1, 1, 1), fixed=True)
    world.add_joint("hinge", "hinge", "a", "b", point=(0, 0, 0), axis=(0, 0, 1))
    world.add_joint("ball", "ball", "a", "b", point=(0, 0, 0))
    return world


@pytest.mark.parametrize(
    ("given", "values", "message"),
    [
        (("hinge", "ball", "a", "b"), {}, "name: 'hinge' is empty or taken"),
        (("j", "screw", "a", "b"), {}, "j: kind: expected one of ball, hinge, slide, weld, distance, got 'screw'"),
        (("j", "ball", "a", "a"), {}, "j: b: expected another body, got the same one"),
        (("j", "ball", None, "floor"), {}, "j: b: expected a body that can move, on one side at least"),
        (("j", "hinge", "a", "b"), {}, "j: axis: expected one for a hinge"),
        (("j", "ball", "a", "b"), {"axis": (0, 0, 1)}, "j: axis: expected none for a ball"),
        (("j", "slide", "a", "b"), {"axis": (0, 0, 0)}, "j: axis: expected a vector that is not zero"),
        (("j", "distance", "a", "b"), {}, "j: point_b: expected one for a distance"),
        (("j", "weld", "a", "b"), {"point_b": (0, 0, 0)}, "j: point_b: expected none for a weld"),
        (("j", "weld", "a", "b"), {"length": 1.0}, "j: length: expected none for a weld"),
        (("j", "ball", "a", "b"), {"stiffness": 0.0}, "j: stiffness: "),
        (("j", "ball", "a", "b"), {"near_rigid": -1.0}, "j: near_rigid: "),
        (("j", "ball", "a", "b"), {"relaxation_time": math.nan}, "j: relaxation_time: "),
        (("j", "ball", "a", "b"), {"point": (0, 0)}, "j: point: "),
        (("j", "distance", "a", "b"), {"point_b": (1, 0, 0), "length": 0.0}, "j: length: "),
    ],
)
def test_a_wrong_joint_is_refused_and_nothing_is_added(
    given: tuple[Any, ...], values: dict[str, Any], message: str
) -> None:
    world = two_spheres()
    before = list(world.controllers), set(world.disabled)
    with pytest.raises(WorldError) as refused:
        world.add_joint(*given, **{"point": (0, 0, 0), **values})
    assert str(refused.value).startswith(message)
    assert (world.controllers, world.disabled) == before


@pytest.mark.parametrize(
    ("first", "second", "teeth", "message"),
    [
        ("ball", "hinge", (1, 2), "first: expected one of the hinges (hinge), got 'ball'"),
        ("hinge", "none", (1, 2), "second: expected one of the hinges (hinge), got 'none'"),
        ("hinge", "hinge", (1, 2), "second: expected another hinge, got 'hinge' again"),
    ],
)
def test_a_wrong_gear_is_refused(first: str, second: str, teeth: tuple[int, int], message: str) -> None:
    with pytest.raises(WorldError) as refused:
        two_spheres().add_gear(first, second, teeth=teeth)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize("teeth", [(0, 1), (1.5, 2), (1, 20_000), (1,)])
def test_wrong_numbers_of_teeth_are_refused(teeth: Any) -> None:
    world = two_spheres()
    world.add_joint("other", "hinge", "a", "b", point=(0, 0, 0), axis=(0, 0, 1))
    with pytest.raises(WorldError, match="teeth: expected two whole numbers from 1 to 10000"):
        world.add_gear("hinge", "other", teeth=teeth)


def test_only_a_joint_with_a_coordinate_can_be_read() -> None:
    with pytest.raises(WorldError, match="body_joint: expected one of hinge, got 'ball'"):
        Simulator(two_spheres(), period=PERIOD).body_joint("ball")
