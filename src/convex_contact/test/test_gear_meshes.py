"""Teeth made from numbers: closed forms of their shape, and that gears of them turn, drive and hold as gears do."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

import convex_contact
from convex_contact import PressureField, RigidSurface, Simulator, World
from convex_contact.model.joints import StepFunction
from convex_contact.scenes.barrett_finger import ACROSS
from convex_contact.scenes.gear_meshes import SpurGear, Worm, attach_mesh, ring

DATA = Path(convex_contact.__file__).parent / "data"
PINION = SpurGear(8, 0.5e-3, math.radians(25.0), 3e-3, shift=0.3, addendum=0.9, backlash=30e-6)
WHEEL = SpurGear(20, 0.5e-3, math.radians(25.0), 2e-3, shift=-0.3)
WORM = Worm(0.5e-3, math.radians(20.0), 2.5e-3, turns=3.0, backlash=30e-6, slices=48)
WORM_WHEEL = SpurGear(
    24, 0.5e-3, math.radians(20.0), 1.5e-3, helix_angle=WORM.lead_angle, phase=math.pi + math.pi / 24, slices=3
)
E = 5e8


def volume(mesh: PressureField | RigidSurface) -> float:
    if isinstance(mesh, PressureField):
        corner = mesh.vertices[mesh.tetrahedra]
        return float(np.linalg.det(corner[:, 1:] - corner[:, :1]).sum() / 6.0)
    a, b, c = np.moveaxis(mesh.vertices[mesh.triangles], 1, 0)
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


def section(gear: SpurGear, low: float) -> float:
    """Area of a tooth above a radius, m^2."""
    return float(quad(lambda r: 2.0 * r * gear.half_angle(r), low, gear.tip_radius)[0])


@pytest.mark.parametrize("modulus", [math.inf, E])
@pytest.mark.parametrize("gear", [PINION, replace(WHEEL, flank=20), replace(WHEEL, helix_angle=0.2, phase=0.3)])
def test_teeth_fill_the_area_between_involutes(gear: SpurGear, modulus: float) -> None:
    mesh = gear.mesh(modulus)  # the meshes themselves refuse what is open, flat or inside out
    radius = np.hypot(*mesh.vertices[:, :2].T)
    assert radius.max() == pytest.approx(gear.tip_radius, rel=1e-12)
    assert np.abs(mesh.vertices[:, 2]).max() == pytest.approx(0.5 * gear.width)
    # above the root circle; what reaches into the wheel below it is a polygon
    bottom, root = 0.5 * gear.root_radius, gear.root_radius
    foot = gear.half_angle(root)
    deep = min(foot, 0.9 * math.pi / gear.teeth)
    below = (bottom * math.sin(deep) + root * math.sin(foot)) * (root * math.cos(foot) - bottom * math.cos(deep))
    below += root**2 * (foot - math.sin(foot) * math.cos(foot))  # between the root circle and its chord
    # a chord for the arc at the tip, straight edges for involutes: below a percent
    assert volume(mesh) == pytest.approx(gear.teeth * gear.width * (section(gear, root) + below), rel=0.01)


def test_flanks_lie_on_the_involute() -> None:
    mesh = WHEEL.mesh()
    points = mesh.vertices[np.hypot(*mesh.vertices[:, :2].T) > WHEEL.base_radius + 1e-9]
    radius, angle = np.hypot(points[:, 0], points[:, 1]), np.arctan2(points[:, 1], points[:, 0])
    pitch = math.tau / WHEEL.teeth
    off_axis = np.abs((angle + 0.5 * pitch) % pitch - 0.5 * pitch)
    on_flank = off_axis > 1e-9  # the ends have points in the middle of the teeth, too
    assert on_flank.sum() == 20 * 2 * 2 * WHEEL.flank  # two flanks, two ends, without the base circle
    np.testing.assert_allclose(off_axis[on_flank], [WHEEL.half_angle(r) for r in radius[on_flank]], atol=1e-12)
    # the involute's own equation: the line of action is r_b long times the roll angle
    assert WHEEL.half_angle(WHEEL.pitch_radius) == pytest.approx(
        (0.5 * math.pi - 2.0 * 0.3 * math.tan(WHEEL.pressure_angle)) / 20
    )


@pytest.mark.parametrize("modulus", [math.inf, E])
@pytest.mark.parametrize("starts", [1, 2])
def test_the_thread_is_a_rack_wound_round_a_shaft(starts: int, modulus: float) -> None:
    worm = replace(WORM, starts=starts, turns=4.0, slices=96)
    mesh = worm.mesh(modulus)
    root = worm.pitch_radius - worm.dedendum * worm.module
    area = quad(lambda r: 2.0 * worm.half_width(max(r, root)) * r, root - 0.5 * worm.module, worm.tip_radius)[0]
    assert volume(mesh) == pytest.approx(
        starts * area * math.tau * worm.turns / starts, rel=2e-3
    )  # chords of 96 per turn
    assert math.tan(worm.lead_angle) == pytest.approx(starts * 0.1)
    on_tip = mesh.vertices[np.hypot(*mesh.vertices[:, :2].T) > worm.tip_radius * (1 - 1e-9)]
    turned = np.arctan2(on_tip[:, 1], on_tip[:, 0])
    off = (on_tip[:, 2] - worm.lead * turned / math.tau + 0.5 * math.pi * worm.module) % (math.pi * worm.module)
    np.testing.assert_allclose(np.abs(off - 0.5 * math.pi * worm.module), worm.half_width(worm.tip_radius), atol=1e-12)


@pytest.mark.parametrize("mesh", [PINION.mesh(E), WORM.mesh(E), WORM_WHEEL.mesh(E)])
def test_pressure_rises_from_a_flank_with_the_modulus(mesh: PressureField) -> None:
    """E/H per depth; towards tip and root the outline's other sides are nearer."""
    half = 0.25 * math.pi * 0.5e-3
    steepest = np.linalg.norm(mesh.gradient, axis=1)
    assert np.median(steepest) == pytest.approx(E / half, rel=0.25)
    assert 0.5 * E < mesh.pressure.max() < 2.0 * E


@pytest.mark.parametrize(("width", "ramp"), [(3e-3, 0.25e-3), (0.8e-3, 0.2e-3)])
def test_the_pressure_of_a_tooth_rises_over_half_a_module_at_its_ends(width: float, ramp: float) -> None:
    """At most over a quarter of the width."""
    heights = np.abs(replace(PINION, width=width).mesh(E).vertices[:, 2])
    ends = np.isclose(heights, 0.5 * width)
    assert ends.any() and not ends.all()
    np.testing.assert_allclose(heights[~ends], 0.5 * width - ramp, rtol=1e-12)


def test_a_ring_has_its_polygons_volume() -> None:
    made = ring(2e-3, 3e-3, -1e-3, 1e-3, around=24)
    polygon = 12.0 * math.sin(math.tau / 24)
    assert volume(made) == pytest.approx(polygon * (9e-6 - 4e-6) * 2e-3)


# --- gears in motion -----------------------------------------------------------------------------------------


def shafts(gear: SpurGear = WHEEL, pinion: SpurGear = PINION, inertia: float = 1e-6) -> World:
    """A pinion at the origin, and a gear beside it in a direction that fits no tooth."""
    world = World((0.0, 0.0, 0.0))
    direction = 0.7
    distance = pinion.pitch_radius + gear.pitch_radius
    world.add_urdf("motor", DATA / "shaft.urdf", armature=1e-8)
    at = (distance * math.cos(direction), distance * math.sin(direction), 0.0)
    world.add_urdf("driven", DATA / "shaft.urdf", position=at, armature=inertia)
    attach_mesh(world, "motor/shaft", pinion.mesh(E))
    attach_mesh(world, "driven/shaft", replace(gear, phase=pinion.conjugate_phase(gear, direction)).mesh())
    world.set_pair("motor/shaft", "driven/shaft", friction=0.0, dissipation=5.0)
    return world


def touches(sim: Simulator, *angles: float) -> bool:
    a = sim.dynamics.arrays
    a.q[:], a.v[:] = angles, 0.0
    sim.step()
    return bool(len(sim.contacts.area))


def test_spur_gears_have_their_backlash_at_every_phase_and_do_not_overlap() -> None:
    """In the middle of their play nothing touches; a turn by half the backlash brings a flank to each side."""
    sim = Simulator(shafts(), period=1e-9)
    half = 0.5 * PINION.backlash / WHEEL.pitch_radius
    ratio = PINION.teeth / WHEEL.teeth
    for angle in np.linspace(0.0, 2.0, 9):
        assert not touches(sim, angle, -ratio * angle)
        for side in (-1.0, 1.0):
            assert not touches(sim, angle, -ratio * angle + side * 0.9 * half)
            assert touches(sim, angle, -ratio * angle + side * 1.3 * half)  # chords lie below the involute


@pytest.mark.covering(1)
@pytest.mark.parametrize("approximation", ["lagged", "sap", "similar"])
def test_gear_ratio_kinematics(approximation: str) -> None:
    """The driven gear turns at the ratio of the teeth, but for the backlash, and bears the torque that loads it."""
    world = shafts()
    world.move_joint("motor", "turn", lambda t: 40.0 * t)
    world.actuate_joint("driven", "turn", proportional_gain=0.0, derivative_gain=1e-3)  # a brake of 16 mN m
    sim = Simulator(world, period=5e-4, approximation=approximation)
    sim.step(40)
    start, torques = sim.dynamics.arrays.q.copy(), []
    for _ in range(120):
        sim.step()
        report = sim.contacts
        force = np.einsum("nk,nki->ni", report.impulse, report.frame)
        lever = report.position - sim.state("driven/shaft").position
        sign = np.where(report.body[:, 1] == sim.world.number("driven/shaft"), 1.0, -1.0)
        torques.append((sign * np.cross(lever, force)[:, 2]).sum() / sim.period)
    turned = sim.dynamics.arrays.q - start
    ratio = PINION.teeth / WHEEL.teeth
    assert turned[0] == pytest.approx(2.4, rel=1e-6)
    assert turned[1] == pytest.approx(-ratio * turned[0], abs=PINION.backlash / WHEEL.pitch_radius)
    assert np.mean(torques) == pytest.approx(-1e-3 * ratio * 40.0, rel=0.02)


def worm_drive(friction: float, worm: Worm = WORM, wheel: SpurGear = WORM_WHEEL) -> World:
    """A worm along z and a wheel beside it that turns about y."""
    world = World((0.0, 0.0, 0.0))
    world.add_urdf("worm", DATA / "shaft.urdf", armature=1e-8)
    center = (worm.pitch_radius + wheel.pitch_radius, 0.0, 0.0)
    world.add_urdf("wheel", DATA / "shaft.urdf", position=center, orientation=ACROSS, armature=1e-6)
    attach_mesh(world, "worm/shaft", worm.mesh(E))
    attach_mesh(world, "wheel/shaft", wheel.mesh())
    world.set_pair("worm/shaft", "wheel/shaft", friction=friction, dissipation=5.0)
    return world


def torque_ratio(friction: float) -> float:
    """Torque on the worm over that of the wheel that it drives, r (mu + cos a tan l)/(R (cos a - mu tan l)).

    Of the forces at the pitch point of flanks with the lead angle l and the normal pressure angle a,
    tan a = tan(a of the axial section) cos l.
    """
    lead = WORM.lead_angle
    normal = math.cos(math.atan(math.tan(WORM.pressure_angle) * math.cos(lead)))
    share = (friction + normal * math.tan(lead)) / (normal - friction * math.tan(lead))
    return WORM.pitch_radius / WORM_WHEEL.pitch_radius * share


@pytest.mark.slow
@pytest.mark.parametrize("friction", [0.0, 0.105])
def test_a_worm_drives_its_wheel_at_its_ratio_with_the_torque_of_its_friction(friction: float) -> None:
    world = worm_drive(friction)
    speed, brake = 60.0, 2e-2
    world.actuate_joint("worm", "turn", proportional_gain=0.0, derivative_gain=1.0, target_velocity=-speed)
    world.actuate_joint("wheel", "turn", proportional_gain=0.0, derivative_gain=brake)
    sim = Simulator(world, period=5e-4)
    sim.step(100)
    start, torques = sim.dynamics.arrays.q.copy(), []
    for _ in range(300):
        sim.step()
        torques.append(speed + sim.dynamics.arrays.v[0])  # over its gain of 1 N m s/rad
    turned = sim.dynamics.arrays.q - start
    # the last digit is the play that the load does not take up
    assert turned[1] == pytest.approx(-turned[0] / WORM_WHEEL.teeth, abs=WORM.backlash / WORM_WHEEL.pitch_radius)
    load = brake * speed / WORM_WHEEL.teeth
    # what a face takes up when it comes into contact is lost to the implicit step: like friction of 0.01
    assert torque_ratio(friction) * 0.99 < np.mean(torques) / load < torque_ratio(friction + 0.015)


@pytest.mark.slow
@pytest.mark.parametrize(("share", "holds"), [(0.85, False), (1.05, True)])
def test_a_worm_holds_its_wheel_if_its_friction_exceeds_its_lead(share: float, holds: bool) -> None:
    """The friction cone's closed form: mu > cos(normal pressure angle) tan(lead angle), 0.94 tan(lead angle) here."""
    sim = Simulator(worm_drive(share * math.tan(WORM.lead_angle)), period=5e-4)
    sim.set_effort(sim.world.trees.index(next(t for t in sim.world.trees if t.name == "wheel")), [0.02])
    sim.step(100)
    start = sim.dynamics.arrays.q.copy()
    sim.step(100)
    turned = abs(sim.dynamics.arrays.q[0] - start[0])
    creep = 1e-4 / WORM.pitch_radius * 0.05  # v_s over the pitch radius for 50 ms, times p/sqrt(1 - p^2) < 3
    assert turned < 3.0 * creep if holds else turned > 100.0 * creep


@pytest.mark.slow
def test_every_number_of_a_gear_acts_and_wrong_ones_are_refused() -> None:
    helical = replace(WHEEL, helix_angle=0.1)
    changed: dict[str, Any] = {
        "teeth": 21, "module": 0.6e-3, "pressure_angle": 0.4, "width": 3e-3, "shift": 0.1, "addendum": 0.9,
        "dedendum": 1.3, "backlash": 1e-5, "helix_angle": 0.2, "phase": 0.1, "flank": 6, "slices": 9,
        "pitch_radius": 3e-3, "turns": 4.0, "starts": 2,
    }  # fmt: skip
    for gear in (helical, WORM):
        before = gear.mesh().vertices
        for field in fields(gear):
            after = replace(gear, **{field.name: changed[field.name]}).mesh().vertices
            assert after.shape != before.shape or not np.allclose(after, before, atol=1e-12, rtol=0), field.name
    for gear, wrong in (
        (WHEEL, {"teeth": 4}), (WHEEL, {"teeth": 8.5}), (WHEEL, {"module": 0.0}), (WHEEL, {"width": -1.0}),
        (WHEEL, {"backlash": 1e-3}), (WHEEL, {"pressure_angle": 1.0}), (WHEEL, {"helix_angle": 1.0}),
        (WHEEL, {"flank": 1}), (WHEEL, {"slices": 0}), (PINION, {"addendum": 1.5}), (WORM, {"turns": 0.0}),
        (WORM, {"starts": 0}), (WORM, {"slices": 4}), (WORM, {"addendum": 3.0}), (WORM, {"pitch_radius": 5e-4}),
        (WORM, {"dedendum": -1.0}),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"^{next(iter(wrong))}: "):
            replace(gear, **wrong)
    with pytest.raises(ValueError, match=r"^modulus: "):
        PINION.mesh(0.0)
    with pytest.raises(ValueError, match=r"^inner, outer, low, high: "):
        ring(2.0, 1.0, 0.0, 1.0)


def test_a_motor_changes_its_targets_at_steps_in_time() -> None:
    world = World((0.0, 0.0, 0.0))
    world.add_urdf("motor", DATA / "shaft.urdf", armature=1e-6)
    speed, limit = StepFunction((0.1,), (-50.0, 20.0)), StepFunction((0.05, 0.1), (1e-3, 2e-3, 4e-3))
    world.actuate_joint(
        "motor", "turn", proportional_gain=0.0, derivative_gain=10.0, target_velocity=speed, effort_limit=limit
    )
    sim = Simulator(world, period=1e-3)
    inertia = 1e-6 + 1e-9
    v = [0.0]
    for _ in range(120):
        sim.step()
        v.append(sim.dynamics.arrays.v[0])
    rate = np.diff(v) * inertia / 1e-3
    np.testing.assert_allclose(rate[:49], -1e-3, rtol=1e-6)  # saturated
    at_speed = np.flatnonzero(np.isclose(v, -50.0, rtol=1e-4))
    assert len(at_speed) and at_speed[0] <= 51
    np.testing.assert_allclose(rate[101:105], 4e-3, rtol=1e-6)
    assert v[-1] == pytest.approx(20.0, rel=1e-3)
    assert "actuators" not in world.to_yaml()  # functions are left out of world files
    for times, values in (((0.1,), (1.0,)), ((0.2, 0.1), (1.0, 2.0, 3.0)), ((0.1,), (1.0, math.nan))):
        with pytest.raises(ValueError, match="values"):
            StepFunction(times, values)
    world.joint_laws[0].effort_limit = lambda t: -1.0  # type: ignore[union-attr]
    with pytest.raises(ValueError, match=r"^effort_limit: "):
        Simulator(world, period=1e-3).step()
