"""The virtual coupling: statics, its implicit law, passivity."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from convex_contact import Simulator, World, WorldError

K, B, KR, BR, DT, MASS, INERTIA = 400.0, 6.0, 2.0, 0.05, 1e-3, 0.5, 2e-3


def tool(**body: object) -> Simulator:
    w = World((0.0, 0.0, 0.0))
    w.add_box("tool", mass=MASS, size=(0.1, 0.1, 0.1), inertia=INERTIA, **body)
    return Simulator(w, period=DT)


GAINS = {"stiffness": K, "damping": B, "rotational_stiffness": KR, "rotational_damping": BR}


def test_each_step_obeys_its_law() -> None:
    """Semi-implicit Euler of m a = k (x_d - x) + b (v_d - v), both at the end of the step, in every direction."""
    sim = tool()
    coupling = sim.couple("tool", **GAINS)
    velocity, x, v = np.array([0.1, -0.2, 0.3]), np.zeros(3), np.zeros(3)
    for k in range(1, 300):
        target = np.array([0.05, 0.0, 0.0]) + velocity * k * DT
        coupling.target(target, velocity=velocity)
        sim.step()
        v = (v + DT / MASS * (K * (target - x) + B * velocity)) / (1 + DT * B / MASS + DT**2 * K / MASS)
        x = x + DT * v
        np.testing.assert_allclose(sim.state("tool").position, x, atol=1e-14)
        np.testing.assert_allclose(coupling.force, K * (target - x) + B * (velocity - v), atol=1e-11)
        np.testing.assert_allclose(coupling.torque, 0.0, atol=1e-13)


def test_turning_obeys_the_same_law() -> None:
    sim = tool()
    coupling = sim.couple("tool", **GAINS)
    axis, q, w = np.array([2.0, -1.0, 2.0]) / 3.0, 0.0, 0.0
    coupling.target((0, 0, 0), (*(math.sin(0.4) * axis), math.cos(0.4)))  # 0.8 rad
    for _ in range(300):
        sim.step()
        w = (w + DT / INERTIA * KR * (0.8 - q)) / (1 + DT * BR / INERTIA + DT**2 * KR / INERTIA)
        q += DT * w
        np.testing.assert_allclose(sim.dynamics.arrays.v[3:], w * axis, atol=1e-10)
        np.testing.assert_allclose(coupling.torque, (KR * (0.8 - q) - BR * w) * axis, atol=1e-10)


def test_the_frame_is_pulled_not_the_centre_of_mass() -> None:
    sim = tool(center=(0.03, 0.0, 0.0))
    coupling = sim.couple("tool", **GAINS)
    coupling.target((0.02, 0.01, 0.0), (0.0, 0.0, math.sin(0.3), math.cos(0.3)))
    sim.step(5000)
    state = sim.state("tool")
    np.testing.assert_allclose(state.position, [0.02, 0.01, 0.0], atol=1e-6)
    np.testing.assert_allclose(state.orientation, [0.0, 0.0, math.sin(0.3), math.cos(0.3)], atol=1e-6)


@pytest.mark.parametrize(("body", "stiffness"), [("tool", 1e6), ("tool", 10.0)])
def test_a_wall_is_felt_with_the_springs_in_series(body: str, stiffness: float) -> None:
    w = World((0.0, 0.0, 0.0))
    w.add_half_space("wall", normal=(-1, 0, 0), point=(0.05, 0, 0))
    w.add_sphere(body, mass=MASS, radius=0.05)
    w.set_pair("wall", body, stiffness=1e4, dissipation=10.0, friction=0.0)
    sim = Simulator(w, period=DT)
    coupling = sim.couple(body, stiffness=stiffness, damping=20.0)
    coupling.target((0.01, 0, 0))
    sim.step(4000)
    expected = 0.01 / (1 / stiffness + 1 / 1e4)
    np.testing.assert_allclose(coupling.force, [expected, 0, 0], rtol=1e-6, atol=1e-9)
    assert sim.contacts.impulse[0, 2] / DT == pytest.approx(expected, rel=1e-6)


def test_a_link_of_an_arm_is_pulled() -> None:
    w = World((0.0, 0.0, 0.0))
    w.add_urdf("arm", Path(__file__).with_name("data") / "arm.urdf")
    sim = Simulator(w, period=DT, joint_limits=False)
    link = w.trees[0].bodies[-1]
    start = sim.state(link).position
    coupling = sim.couple(link, stiffness=2000.0, damping=30.0)
    away = np.cross(start, [0.0, 0.0, 1.0])
    target = start + 0.02 * (away / np.linalg.norm(away) if np.linalg.norm(away) > 1e-6 else np.array([1.0, 0, 0]))
    before = np.linalg.norm(sim.state(link).position - target)
    coupling.target(target)
    sim.step(3000)
    assert np.linalg.norm(sim.state(link).position - target) < 0.5 * before


def test_energy_of_a_sampled_port_and_its_bound() -> None:
    """A mass under the held force, sampled once a period, gains energy unless damped as `device_damping` says."""
    stiffness, mass = 5000.0, 0.2

    def energies(damping: float) -> np.ndarray:
        sim = tool()
        coupling = sim.couple("tool", stiffness=stiffness, damping=0.0)
        x, v = 0.01, 0.0
        result = []
        for _ in range(3000):
            coupling.target((x, 0, 0))
            sim.step()
            force = -coupling.force[0]
            decay = math.exp(-damping * DT / mass) if damping else 1.0  # exact motion under a held force
            if damping:
                end = force / damping
                x += end * DT + (v - end) * mass / damping * (1 - decay)
                v = end + (v - end) * decay
            else:
                x += v * DT + 0.5 * force / mass * DT**2
                v += force / mass * DT
            result.append(0.5 * mass * v * v + 0.5 * MASS * sim.state("tool").velocity[0] ** 2)
        return np.array(result)

    bound = tool().couple("tool", stiffness=stiffness, damping=1.0).device_damping(DT)
    assert bound == pytest.approx(stiffness * DT / 2 + 1.0)
    bound -= 1.0
    passive, active = energies(bound), energies(0.0)
    assert passive[-300:].max() < 1e-3 * passive.max()
    assert active[-300:].max() > 1.2 * active[:300].max()


def test_gains_and_reset() -> None:
    for name in GAINS:
        moved = []
        for gains in (GAINS, GAINS | {name: 0.5 * GAINS[name]}):
            sim = tool()
            sim.couple("tool", **gains).target((0.1, 0, 0), (0, 0, 0.1, 1.0), (0.5, 0, 0), (0, 0, 1.0))
            sim.step(20)
            moved.append(sim.dynamics.arrays.q)
        assert np.abs(moved[0] - moved[1]).max() > 1e-6
    sim = tool()
    coupling = sim.couple("tool", **GAINS)
    coupling.target((0.1, 0, 0))
    sim.step(10)
    assert np.linalg.norm(coupling.force) > 1.0
    sim.reset()
    sim.step()
    np.testing.assert_allclose(coupling.force, 0.0, atol=1e-12)


def test_bad_input() -> None:
    sim = tool()
    with pytest.raises(ValueError, match="stiffness: expected 0 or more, got -1"):
        sim.couple("tool", stiffness=-1.0, damping=0.0)
    with pytest.raises(WorldError, match="hand: no such body"):
        sim.couple("hand", stiffness=1.0, damping=0.0)
    sim.world.add_half_space("wall")
    with pytest.raises(WorldError, match="wall: a coupling pulls a free body or a link, not a fixed one"):
        sim.couple("wall", stiffness=1.0, damping=0.0)
    assert not sim.couplings
    coupling = sim.couple("tool", **GAINS)
    with pytest.raises(ValueError, match="orientation: expected a quaternion"):
        coupling.target((1, 0, 0), (0, 0, 0, 0))
    with pytest.raises(ValueError, match=r"position: expected shape \(3,\)"):
        coupling.target((1, 0))
    sim.step()
    np.testing.assert_allclose(coupling.force, 0.0, atol=1e-12)  # the target stayed


# springs of bodies to where the world places them


def test_a_body_on_its_spring_swings_as_its_closed_form() -> None:
    """x'' + 2 d w x' + w^2 x = 0 about its place; implicit Euler damps by T w^2/2 besides."""
    place, start, w, d = np.array([0.3, -0.1, 0.2]), 0.4, 20.0, 0.1
    t = 0.5
    root = w * math.sqrt(1.0 - d * d)
    expected = start / root * math.exp(-d * w * t) * math.sin(root * t)
    errors = []
    for period in (1e-3, 5e-4):
        world = World((0.0, 0.0, 0.0))
        world.add_box(
            "bob", mass=MASS, size=(0.1, 0.1, 0.1), position=place, velocity=(0.0, start, 0.0),
            spring_stiffness=MASS * w * w, spring_damping=2.0 * d * w * MASS,
        )  # fmt: skip
        sim = Simulator(world, period=period)
        sim.step(round(t / period))
        away = sim.state("bob").position - place
        assert away[0] == away[2] == 0.0 and not sim.state("bob").angular_velocity.any()
        errors.append(abs(away[1] - expected))
        sim.reset()
        sim.step(round(t / period))
        np.testing.assert_array_equal(sim.state("bob").position - place, away)
    assert errors[0] < 0.15 * abs(expected) and errors[0] / errors[1] == pytest.approx(2.0, rel=0.1)


def test_each_step_of_a_spring_is_implicit() -> None:
    """Under a force that acts from outside, beside another coupling: M v' = M v + T (f - k x' - b v')."""
    world = World((0.0, 0.0, 0.0))
    world.add_box("bob", mass=MASS, size=(0.1, 0.1, 0.1), spring_stiffness=300.0, spring_damping=4.0)
    world.add_box("free", mass=MASS, size=(0.1, 0.1, 0.1), position=(0.0, 0.0, 5.0))
    sim = Simulator(world, period=DT)
    sim.couple("bob", stiffness=100.0, damping=1.0).target((0.01, 0.0, 0.0))
    sim.apply_wrench("bob", (0.7, 0.0, 0.0))
    x = v = 0.0
    for _ in range(200):
        sim.step()
        v = (MASS * v + DT * (0.7 - 300.0 * x + 100.0 * (0.01 - x))) / (MASS + DT * 5.0 + DT * DT * 400.0)
        x += DT * v
        assert sim.state("bob").position[0] == pytest.approx(x, abs=1e-15)
    np.testing.assert_array_equal(sim.state("free").position, [0.0, 0.0, 5.0])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"spring_stiffness": -1.0}, "tool: spring_stiffness: expected a number not below 0, got -1.0"),
        ({"spring_stiffness": math.nan}, "tool: spring_stiffness: expected a number not below 0, got nan"),
        ({"spring_damping": math.inf}, "tool: spring_damping: expected a number not below 0, got inf"),
        ({"spring_damping": 1.0, "prescribed": True}, "tool: spring_damping: a spring pulls a free body, not a pre"),
    ],
)
def test_springs_that_cannot_be_are_refused(body: dict[str, float], message: str) -> None:
    with pytest.raises(WorldError, match=message):
        tool(**body)
