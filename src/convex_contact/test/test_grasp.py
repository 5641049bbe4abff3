"""The grasp of section XII-B: grip, holding limit, creep, pendulum, and that its numbers act."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from scipy.linalg import eigh

from convex_contact import Simulator, World, WorldError
from convex_contact.scenes.grasp import GRAVITY, PAD, Grasp, grasp, hold

STILL = Grasp(frequency=0.0)


def pads(sim: Simulator) -> np.ndarray:
    """Normal force of the left and of the right finger on the rod, N."""
    report = sim.contacts
    force = report.impulse[:, 2] / sim.period
    fingers = [sim.world.number(f"gripper/finger_{side}") for side in ("left", "right")]
    return np.array([force[(report.body == finger).any(axis=1)].sum() for finger in fingers])


@pytest.mark.parametrize("period", [1e-2, 2e-4])
def test_each_pad_presses_with_half_the_effort_limit(period: float) -> None:
    """The motor saturates, the coupler halves its effort; the still hand is in equilibrium from the first step on."""
    sim = Simulator(STILL.world(), period=period)
    for _ in range(3):
        sim.step()
        # at 10 ms the coupler gives way by 5 um, which takes a force to get there
        np.testing.assert_allclose(pads(sim), 0.5 * STILL.effort_limit, rtol=0.01)
    sim.step(30)
    np.testing.assert_allclose(pads(sim), 0.5 * STILL.effort_limit, rtol=1e-3)


@pytest.mark.parametrize("approximation", ["lagged", "similar", "lagged_elastoplastic"])
def test_the_grip_holds_mu_times_its_force_and_no_more(approximation: str) -> None:
    """Held at its centre, it stays below mu F; above, it slides with g - mu F/m."""
    middle = replace(STILL, length=0.09, overhang=0.045)
    weight = middle.mass * GRAVITY
    elastic = approximation == "lagged_elastoplastic"
    sag = weight / (18.0 * middle.stiffness)
    for share in (2.1 if elastic else 1.1, 0.9):  # springs that are loaded at once bear twice the weight
        scene = replace(middle, friction=share * weight / middle.effort_limit)
        assert scene.holding_limit == pytest.approx(share * weight)
        drop = -hold(scene, period=1e-3, approximation=approximation, duration=0.1).offset[:, 2]
        if share > 1.0:
            creep = 0.1 * 1e-4 / math.sqrt(share**2 - 1.0)  # v_s p/sqrt(1 - p^2), p = 1/share
            assert drop.max() < 1.02 * (2.0 * sag if elastic else creep)
        else:  # samples every 10 ms, once friction is up
            acceleration = (drop[10] - 2.0 * drop[7] + drop[4]) / 0.03**2
            assert acceleration == pytest.approx((1.0 - share) * GRAVITY, rel=1e-3)


def test_lagged_creeps_with_the_stiction_tolerance_and_elastoplastic_does_not() -> None:
    share = STILL.mass * GRAVITY / STILL.holding_limit
    speed = 1e-4 * share / math.sqrt(1.0 - share**2)
    names = ("lagged", "lagged_elastoplastic")
    tracks = {name: hold(STILL, period=0.01, approximation=name, duration=0.5) for name in names}
    late = {name: track.offset[-1, 2] - track.offset[25, 2] for name, track in tracks.items()}  # over 0.25 s
    assert late["lagged"] == pytest.approx(-0.25 * speed, rel=1e-3)
    assert abs(late["lagged_elastoplastic"]) < 1e-9
    # it hangs on the springs of 18 elements: their sag, up to twice it in the first swing
    sag = STILL.mass * GRAVITY / (18.0 * STILL.stiffness)
    assert -tracks["lagged_elastoplastic"].offset[-1, 2] == pytest.approx(sag, rel=0.01)


def test_the_pendulum_frequency_is_that_of_the_rod_on_a_hinge() -> None:
    """A rod whose grip a stiff spring holds, swinging: half a period between two passages of the vertical."""
    world = World((0.0, 0.0, -GRAVITY))
    about = STILL.mass * (STILL.length**2 + STILL.width**2) / 12.0
    world.add_body(
        "rod",
        mass=STILL.mass,
        inertia=about,
        center=(0.0, 0.0, -STILL.arm),
        spring_stiffness=1e6,
        angular_velocity=(0.0, 0.1, 0.0),
    )
    sim = Simulator(world, period=1e-3)
    assert half_period(sim) == pytest.approx(0.5 / STILL.pendulum_frequency, rel=2e-3)


def test_the_held_rod_swings_as_a_pendulum_on_the_pads_tangential_springs() -> None:
    """Two coordinates, x of the centre and tilt: mass and stiffness of gravity and 18 springs give the frequency."""
    tangential, c = 100.0, STILL.arm
    scene = replace(STILL, friction=5.0)  # never slips
    sim = Simulator(scene.world(), period=1e-3, approximation="lagged_elastoplastic", tangential_stiffness=tangential)
    speed = 0.1
    sim.set_state("rod", velocity=(-speed * c, 0.0, 0.0), angular_velocity=(0.0, speed, 0.0))
    m, about = scene.mass, scene.mass * (scene.length**2 + scene.width**2) / 12.0
    # the grip moves by x + c tilt; r^2 is 2 (2/3) PAD^2 in the mean over the nine elements
    springs, twist = 18.0 * tangential, 18.0 * tangential * 4.0 / 3.0 * PAD**2
    stiffness = np.array([[springs, springs * c], [springs * c, springs * c * c + twist]])
    # the weight, borne by the tangential springs at the grip, pulls the centre back below it
    stiffness += m * GRAVITY * np.array([[0.0, 0.0], [0.0, c]])
    omega = np.sqrt(eigh(stiffness, np.diag([m, about]), eigvals_only=True))
    assert omega[0] > math.tau * scene.pendulum_frequency  # stiffer by the pads' twist
    # the elements' forces act on the levers of the sagging rod, 2.6 mm of 60
    assert half_period(sim) == pytest.approx(math.pi / omega[0], rel=0.03)


def half_period(sim: Simulator) -> float:
    """Between the first two passages of the rod through the vertical after the start, s."""
    times, before = [], 0.0
    while len(times) < 2:
        sim.step()
        x, y, z, w = sim.state("rod").orientation
        tilt = 2.0 * (x * z + y * w)
        if before * tilt < 0.0:
            times.append(sim.time - sim.period * tilt / (tilt - before))
        before = tilt
        assert sim.time < 3.0
    return times[1] - times[0]


def test_it_is_lost_near_the_pendulum_frequency_and_held_below() -> None:
    options: dict[str, Any] = {"period": 0.01, "approximation": "lagged", "duration": 2.5}
    slow, fast = (hold(Grasp(frequency=f), **options) for f in (1.0, 1.8))
    assert slow.time_to_failure == math.inf and slow.tilt.max() < math.radians(1.0)
    assert slow.time[-1] == pytest.approx(2.5) and np.linalg.norm(slow.offset[-1]) < 1e-3
    assert 0.5 < fast.time_to_failure < 2.5 and fast.tilt.max() > math.radians(30.0)
    # what is lost falls freely: 5 cm in 0.1 s, and what it had
    assert fast.offset[-1, 2] < -0.04


OTHER = {
    "frequency": 1.7, "circle_radius": 0.02, "length": 0.14, "width": 0.021, "density": 7000.0, "overhang": 0.02,
    "effort_limit": 15.0, "stiffness": 3e3, "dissipation": 50.0, "relaxation_time": 0.01, "friction": 0.4,
}  # fmt: skip


@pytest.mark.parametrize("name", [field.name for field in fields(Grasp)])
def test_every_number_acts(name: str) -> None:
    approximation = "sap" if name == "relaxation_time" else "lagged"
    ends = []
    for scene in (Grasp(), Grasp(**{name: OTHER[name]})):
        sim = Simulator(scene.world(), period=0.01, approximation=approximation)
        sim.step(5)
        ends.append(sim.dynamics.arrays.v.copy())
    assert np.abs(ends[1] - ends[0]).max() > 1e-6


def test_error_names_the_impossible_number() -> None:
    for numbers, message in (
        ({"speed": 1.0}, r"^speed: no number of the grasp; expected one of frequency, "),
        ({"friction": -1.0}, r"^friction: expected 0 or more"),
        ({"density": 0.0}, r"^density: expected more than 0"),
        ({"overhang": 0.2}, r"^overhang: expected 0.008 to 0.05 m"),
        ({"width": 0.1}, r"^width: expected less than the gripper opens"),
    ):
        with pytest.raises(WorldError, match=message):
            grasp(**numbers)
    assert [body.name for body in grasp(frequency=1.0).bodies][-1] == "rod"


def test_hand_is_on_its_circle_within_the_elongation_of_its_spring() -> None:
    scene = Grasp(frequency=2.0, circle_radius=0.03)
    np.testing.assert_allclose(np.linalg.norm(scene.circle(np.linspace(0.0, 1.0, 9)), axis=1), 0.03, rtol=1e-12)
    np.testing.assert_allclose(scene.circle(np.array([0.125]))[0], [0.0, 0.03], atol=1e-15)
    acceleration = 0.03 * (4.0 * np.pi) ** 2
    assert scene.elongation_limit(1e-2) == pytest.approx(4.0 * 5e-4 * 1e-4 * acceleration, rel=1e-6)
