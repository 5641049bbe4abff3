"""Stiction of lagged_elastoplastic in the simulator: what is held does not creep, wherever the contact goes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from convex_contact import Material, Simulator, World

GRAVITY, FRICTION, HALF = 9.81, 0.5, 0.025
SURFACE = Material(stiffness=2e7, dissipation=10.0, relaxation_time=5e-5, friction=FRICTION)
#: what a body that is held may drift in all after it has settled, m; atoms are 1e-10 m large
HELD = 1e-9


def box_on_plane(*, tilt: float = 0.0) -> World:
    """1 kg, flat on a plane that falls off along +x by an angle (rad)."""
    world = World((GRAVITY * math.sin(tilt), 0.0, -GRAVITY * math.cos(tilt)))
    world.add_half_space("ground", material=SURFACE)
    size = (0.1, 0.1, 2.0 * HALF)
    world.add_box("box", mass=1.0, size=size, position=(0.0, 0.0, HALF), material=SURFACE)
    return world


def place(sim: Simulator) -> np.ndarray:
    return sim.state("box").position


@pytest.mark.slow
@pytest.mark.covering(1)
@pytest.mark.parametrize("share", [0.2, 0.5, 0.95])
def test_ten_minutes_below_the_static_limit(share: float) -> None:
    sim = Simulator(box_on_plane(), period=1e-2, approximation="lagged_elastoplastic")
    sim.apply_wrench("box", force=(share * FRICTION * GRAVITY, 0.0, 0.0))
    sim.step(100)
    start = place(sim)
    sim.step(60_000)
    assert np.abs(place(sim) - start).max() < HELD
    assert sim.contacts.sticking.all()
    # four springs of k_t = 1e7 N/m bear the load
    force = np.einsum("nk,nki->ni", 1e7 * sim.elastic_displacement, sim.contacts.frame[:, :2]).sum(axis=0)
    assert abs(force[0]) == pytest.approx(share * FRICTION * GRAVITY, rel=1e-6) and abs(force[1]) < 1e-6


@pytest.mark.parametrize("share", [0.2, 0.5, 0.95])
def test_the_others_creep_at_the_soft_norms_speed(share: float) -> None:
    """What `lagged` does on the same scene: mu gamma v/sqrt(v^2 + v_s^2) = pull, to 1 % because the points differ."""
    sim = Simulator(box_on_plane(), period=1e-2, approximation="lagged")
    sim.apply_wrench("box", force=(share * FRICTION * GRAVITY, 0.0, 0.0))
    sim.step(100)
    start = place(sim)
    sim.step(100)
    creep = 1e-4 * share / math.sqrt(1.0 - share**2)
    assert place(sim)[0] - start[0] == pytest.approx(creep, rel=1e-2)


@pytest.mark.parametrize("share", [0.5, 0.95])
def test_on_a_slope(share: float) -> None:
    sim = Simulator(box_on_plane(tilt=math.atan(share * FRICTION)), period=1e-2, approximation="lagged_elastoplastic")
    sim.step(100)
    start = place(sim)
    sim.step(6_000)
    assert np.abs(place(sim) - start).max() < HELD


def test_above_the_limit_it_slides() -> None:
    """5 % over the limit: constant acceleration. Settling onto the plane takes some of the first steps."""
    sim = Simulator(box_on_plane(), period=1e-2, approximation="lagged_elastoplastic")
    sim.apply_wrench("box", force=(1.05 * FRICTION * GRAVITY, 0.0, 0.0))
    sim.step(100)
    before = sim.state("box").velocity[0]
    sim.step(100)
    assert sim.state("box").velocity[0] - before == pytest.approx(0.05 * FRICTION * GRAVITY, rel=1e-3)


def carried(motion_of: str, period: float = 5e-3) -> np.ndarray:
    """Places (31, 3) of the box on a prescribed plate, in the plate's frame, every 2 s from 1 s on, m."""
    rate, turn = 2.0 * math.pi * 0.5, 0.5 if motion_of == "turntable" else 0.0

    def motion(time: float) -> tuple[float, ...]:
        speed = 0.0
        if motion_of == "constant velocity":  # reached with a quarter of the acceleration that friction can give
            speed = min(0.25 * FRICTION * GRAVITY * time, 0.1)
        elif motion_of == "to and fro":  # with at most half of it
            speed = 0.5 * FRICTION * GRAVITY / rate * math.sin(rate * time)
        return speed, 0.0, 0.0, 0.0, 0.0, turn

    world = World((0.0, 0.0, -GRAVITY))
    world.add_box("plate", size=(4.0, 4.0, 0.1), position=(0.0, 0.0, -0.05), motion=motion, material=SURFACE)
    world.add_box(
        "box",
        mass=1.0,
        size=(0.1, 0.1, 2.0 * HALF),
        position=(0.3, 0.0, HALF),
        velocity=(0.0, 0.3 * turn, 0.0),
        angular_velocity=(0.0, 0.0, turn),
        material=SURFACE,
    )
    sim = Simulator(world, period=period, approximation="lagged_elastoplastic")
    places = []
    for seconds in (1.0, *[2.0] * 30):  # a full cycle each
        sim.step(round(seconds / period))
        plate = sim.state("plate")
        angle = 2.0 * math.atan2(plate.orientation[2], plate.orientation[3])
        c, s = math.cos(angle), math.sin(angle)
        d = place(sim) - plate.position
        places.append([c * d[0] + s * d[1], -s * d[0] + c * d[1], d[2]])
    return np.array(places)


@pytest.mark.covering(1)
@pytest.mark.parametrize("motion", ["constant velocity", "to and fro"])
def test_carried_by_a_moving_plate(motion: str) -> None:
    places = carried(motion)
    assert np.abs(places - places[0]).max() < HELD


@pytest.mark.slow
def test_on_a_turntable_only_the_integration_drifts() -> None:
    """A step along the tangent lengthens the radius by r (omega dt)^2/2: first order in dt, and no slip of the contact.

    To 2 % of the drift: the radius that the box has after 1 s, and terms of the next order.
    """
    for period in (5e-3, 2.5e-3):
        places = carried("turntable", period)
        radius = np.linalg.norm(places[:, :2], axis=1)
        growth = math.exp(0.5 * 0.5**2 * period * 60.0)
        assert radius[-1] - radius[0] == pytest.approx(radius[0] * (growth - 1.0), rel=0.02)


def test_springs_are_forgotten_when_contact_is_lost() -> None:
    sim = Simulator(box_on_plane(), period=1e-2, approximation="lagged_elastoplastic")
    pull = 0.5 * FRICTION * GRAVITY
    sim.apply_wrench("box", force=(pull, 0.0, 0.0))
    sim.step(100)
    assert np.abs(sim.elastic_displacement).max() > 0.9 * pull / (4.0 * 1e7)
    sim.apply_wrench("box", force=(0.0, 0.0, 2.0 * GRAVITY))
    sim.step(5)
    assert place(sim)[2] > HALF and not sim.elastic_displacement.any()
    sim.apply_wrench("box")
    sim.step(200)
    start = place(sim)
    assert sim.contacts.sticking.all()
    sim.step(1_000)
    assert np.abs(place(sim) - start).max() < HELD
    # nothing pulls now, and nothing is left of the old pull
    assert np.abs(sim.contacts.impulse[:, :2]).max() < 1e-9
