"""The finger of section XII-C: its clutch against closed forms, its first contacts, and that its numbers act."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import convex_contact
from convex_contact import Cylinder, Geometry, Hydroelastic, Material, Pose, Simulator, World, WorldError
from convex_contact.model.joints import StepFunction
from convex_contact.scenes.barrett_finger import (
    DISTAL_TEETH,
    PINION_TEETH,
    PROXIMAL_TEETH,
    RING,
    SHAFT_DISTANCE,
    THREAD_LEAD,
    WHEEL_TEETH,
    WORM_RADIUS,
    Finger,
    barrett_finger,
    meshing_frequencies,
)
from convex_contact.scenes.gear_meshes import attach_mesh, ring

DATA = Path(convex_contact.__file__).parent / "data"
FINGER = Finger(slices=16, flank=4)


MODULUS, THICKNESS = 6e6, 0.8e-3


def clutch(friction: float, effort: tuple[float, float]) -> Simulator:
    """Thread, ring and washer alone, the shaft held; a motor winds the gear up, and back from 50 ms on.

    Its torque falls with the speed, so that the gear comes to rest without overshoot. The stiction tolerance is small:
    the gear creeps on as it is wound up, and the washer is stiff.
    """
    speed = 40.0 / friction  # at rest after some 20 ms
    world = World((0.0, 0.0, 0.0))
    world.add_urdf("shaft", DATA / "threaded_shaft.urdf")
    world.move_joint("shaft", "turn", lambda t: 0.0)
    world.couple_joints("shaft", "slide", "wind", ratio=-THREAD_LEAD / math.tau)
    world.actuate_joint(
        "shaft", "wind", proportional_gain=0.0, derivative_gain=effort[0] / speed,
        target_velocity=StepFunction((0.05,), (speed, -speed)), effort_limit=StepFunction((0.05,), effort),
    )  # fmt: skip
    attach_mesh(world, "shaft/gear", ring(*RING, 0.0, 1e-3, around=96))
    washer = Geometry(
        Cylinder(5e-3, THICKNESS), Pose(np.array([0.0, 0.0, -0.5 * THICKNESS - 5e-6])), Material(),
        Hydroelastic(MODULUS, 2.5e-3),
    )  # fmt: skip
    world.bodies[world.number("shaft/worm")].geometries.append(washer)
    world.set_pair("shaft/worm", "shaft/gear", friction=friction, dissipation=5.0)
    return Simulator(world, period=5e-4, stiction_tolerance=1e-6)


def arm(force: float) -> float:
    """Computes the arm of the friction [m] of a ring that sinks in with a force [N]: of its face and its rims' sides.

    The pressure of a depth h is E h/H: a rim of radius r bears pi r p h along its side, and p pi (R^2 - r^2) = F.
    """
    r, R = RING
    depth = force / (math.pi * (R**2 - r**2)) * 0.5 * THICKNESS / MODULUS
    return FINGER.clutch_radius + depth * (R**2 + r**2) / (R**2 - r**2)


def pressing(sim: Simulator) -> float:
    """Computes the force of the gear on the washer [N]."""
    report = sim.contacts
    return float(np.abs((report.impulse[:, 2] * report.frame[:, 2, 2]).sum()) / sim.period)


@pytest.mark.slow
@pytest.mark.parametrize("friction", [pytest.param(0.3, marks=pytest.mark.slow), 1.0])
def test_the_clutch_breaks_away_at_its_closed_form(friction: float) -> None:
    """F = T/(p/2 pi + mu r) when it is wound up with T, and F (mu r - p/2 pi) turns it back."""
    torque, thread = 0.015, THREAD_LEAD / math.tau
    force = brentq(lambda f: f * (thread + friction * arm(f)) - torque, 0.1, 100.0)
    flat = replace(FINGER, clutch_friction=friction)
    assert flat.clutch_force(torque) == pytest.approx(force, rel=0.06)  # without the sides of the rims
    limit = force * (friction * arm(force) - thread)
    assert flat.breakaway_torque(force) == pytest.approx(limit, rel=0.06)
    for share, slips in ((0.96, False), (1.04, True)):
        sim = clutch(friction, (torque, share * limit))
        sim.step(100)
        assert pressing(sim) == pytest.approx(force, rel=0.01)
        wound = sim.dynamics.arrays.q[1]
        sim.step(100)
        turned = wound - sim.dynamics.arrays.q[1]
        assert turned > 0.5 if slips else turned < 1e-3
        assert not slips or pressing(sim) == 0.0  # it unwinds until it is free


def test_the_arm_of_a_ring_is_that_of_its_even_pressure() -> None:
    assert FINGER.clutch_radius == pytest.approx(
        np.mean(np.sqrt(np.linspace(RING[0] ** 2, RING[1] ** 2, 100_001))), rel=1e-6
    )


def test_play_of_the_pinion_is_twice_the_angle_that_backlash_removes_from_a_tooth() -> None:
    pinion = FINGER.pinion
    full, thin = (2.0 * gear.half_angle(pinion.pitch_radius) for gear in (replace(pinion, backlash=0.0), pinion))
    assert FINGER.pinion_play == pytest.approx(2.0 * (full - thin))
    assert replace(FINGER, backlash=0.0).pinion_play == 0.0


def test_the_shafts_are_where_the_gears_meet() -> None:
    x, y = FINGER.motor_position
    assert math.hypot(x, y) == pytest.approx((PINION_TEETH + PROXIMAL_TEETH) * 0.25e-3)
    assert math.hypot(x, y - SHAFT_DISTANCE) == pytest.approx((PINION_TEETH + DISTAL_TEETH) * 0.25e-3)
    assert FINGER.worm_friction == pytest.approx(1.05 * FINGER.worm.module / (2.0 * WORM_RADIUS))
    assert FINGER.wheel.teeth == WHEEL_TEETH


@pytest.mark.slow
def test_it_starts_in_the_middle_of_its_play_and_has_seven_degrees_of_freedom() -> None:
    sim = Simulator(FINGER.world(), period=1e-9)
    sim.step()
    assert not len(sim.contacts.area)
    assert sim.dynamics.nv == 8 and len(sim.world.joint_laws) == 3  # motor; thread and pulley
    # in the paper's step the pinion moves a quarter of a tooth's thickness
    assert FINGER.motor_speed * 5e-4 / (math.pi / PINION_TEETH) == pytest.approx(0.25, rel=0.02)


@pytest.mark.slow
def test_every_number_of_the_finger_acts_and_wrong_ones_are_refused() -> None:
    def seen(scene: Finger) -> list[Any]:
        world = scene.world()
        motor = next(law for law in world.joint_laws if hasattr(law, "derivative_gain"))
        numbers: list[Any] = [motor.derivative_gain]
        for t in (0.0, 0.052, 1.0):
            numbers += [motor.at("target_velocity", t), motor.at("effort_limit", t)]
        numbers += [(law.friction, law.stiffness, law.dissipation) for law in world.pair_laws.values()]
        numbers += [tree.model.damping.tolist() for tree in world.trees]
        for body in world.bodies:
            numbers.append(body.placement.position.tolist())
            for g in body.geometries:
                numbers += [g.placement.position.tolist(), g.modulus, None if g.mesh is None else len(g.mesh.vertices)]
                if g.mesh is not None:
                    numbers.append(float(np.abs(g.mesh.vertices).sum()))
        return numbers

    before = seen(FINGER)
    for field in fields(Finger):
        value = getattr(FINGER, field.name)
        assert seen(replace(FINGER, **{field.name: value * 1.5})) != before, field.name
        with pytest.raises(ValueError, match=f"^{field.name}: "):
            replace(FINGER, **{field.name: -1.0})
    with pytest.raises(WorldError, match=r"^colour: no number of the finger"):
        barrett_finger(colour=1.0)
    with pytest.raises(WorldError, match=r"^backlash: "):
        barrett_finger(backlash=1.0)
    with pytest.raises(WorldError, match=r"^slices: "):
        barrett_finger(slices=4)


def test_meshing_frequencies_count_the_teeth_that_pass() -> None:
    found = meshing_frequencies(3.0)
    assert found == {"worm": pytest.approx(3.0 * PINION_TEETH / PROXIMAL_TEETH), "pinion": 3.0 * PINION_TEETH}
