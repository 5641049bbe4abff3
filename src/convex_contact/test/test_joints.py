"""Joints that are moved, driven and geared: closed forms, and the same problem by the constraints' own classes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from convex_contact import (
    CouplerConstraint,
    JointActuator,
    JointLimit,
    PDActuator,
    PrescribedMotion,
    Simulator,
    Sinusoid,
    World,
    WorldError,
)
from convex_contact.model.world_file import parse_world
from convex_contact.scenes.grasp import GRIPPER

DT = 1e-3


def gripper(q: Any = (0.0, 0.0, 0.02, 0.02), **options: Any) -> World:
    w = World()
    w.add_urdf("gripper", GRIPPER, q=q, self_collision=False, **options)
    return w


def stepped(w: World, period: float, steps: int, **options: Any) -> Simulator:
    sim = Simulator(w, period=period, **options)
    sim.step(steps)
    return sim


def test_rows_are_those_of_the_constraints() -> None:
    """A world's joint laws and limits make the rows of the classes that say the same for one problem."""
    w = gripper(q=(0.03, 0.01, 0.001, 0.039), v=(0.1, -0.2, -0.3, 0.4))
    path = Sinusoid(0.03, 2.0, 0.4, 0.01)
    gains = {"proportional_gain": 300.0, "derivative_gain": 7.0, "effort_limit": 5.0, "target_position": 0.01}
    w.move_joint("gripper", "slide_x", path)
    w.actuate_joint("gripper", "left", target_velocity=0.2, feedforward=0.5, velocity_limit=math.inf, **gains)
    w.couple_joints("gripper", "right", "left", ratio=-2.0, offset=0.03)
    sim = stepped(w, DT, 1)
    unit = np.eye(4)
    x, _, left, right = 0.03, 0.01, 0.001, 0.039
    expected = [
        PrescribedMotion(unit[0], x - path(0.0), (path(DT) - path(0.0)) / DT),
        PDActuator(unit[2], left, target_velocity=0.2, feedforward=0.5, **gains),
        CouplerConstraint(4, 3, 2, right, left, ratio=-2.0, offset=0.03),
        JointLimit(4, 1, 0.01, lower=-1.0, upper=1.0),
        JointLimit(4, 2, left, lower=0.0, upper=0.04),
        JointLimit(4, 3, right, lower=0.0, upper=0.04),
    ]
    found = sim.solution.problem.constraints
    assert len(found) == len(expected)
    for one, two in zip(found, expected, strict=True):
        for name, value in vars(one.rows(4, DT)).items():
            np.testing.assert_allclose(value, getattr(two.rows(4, DT), name), rtol=1e-12, atol=1e-15, err_msg=name)


@pytest.mark.parametrize("period", [1e-2, 2e-4])
def test_a_moved_joint_is_on_its_circle_at_the_end_of_every_step(period: float) -> None:
    """Position by the secants, but for the near-rigid spring; velocity half a step late: first order."""
    r, f = 0.03, 1.5
    omega = math.tau * f
    w = gripper(q=(r, 0.0, 0.02, 0.02), v=(0.0, r * omega, 0.0, 0.0))
    w.move_joint("gripper", "slide_x", Sinusoid(r, f, 0.5 * math.pi))
    w.move_joint("gripper", "slide_y", Sinusoid(r, f))
    w.couple_joints("gripper", "right", "left")  # else the fingers stay behind
    sim = Simulator(w, period=period)
    for _ in range(20):
        sim.step()
        hand, t = sim.state("gripper/hand"), sim.time
        on = r * np.array([math.cos(omega * t), math.sin(omega * t)])
        # the spring's stretch is 2 dt R m a dt, with R = beta^2/(4 pi^2 m): 5e-4 dt^2 a; a little more for the fingers
        np.testing.assert_allclose(hand.position[:2], on, atol=1e-3 * period**2 * r * omega**2)
        speed = r * omega * np.array([-math.sin(omega * t), math.cos(omega * t)])
        np.testing.assert_allclose(hand.velocity[:2], speed, atol=0.55 * period * r * omega**2)


def test_prescribed_motion_ignores_forces_and_limits() -> None:
    w = gripper()
    w.move_joint("gripper", "left", lambda t: 0.02 - 0.5 * t)  # through its limit, 0
    sim = Simulator(w, period=DT)
    sim.set_effort(0, (0.0, 0.0, 30.0, 0.0))
    sim.step(100)
    assert sim.dynamics.arrays.q[2] == pytest.approx(-0.03, abs=1e-5)


def test_the_effort_limit_of_an_actuator_saturates() -> None:
    """Far from its target a finger of mass m accelerates by limit/m; near it the PD law holds."""
    w = gripper(armature=(0.0, 0.0, 0.185, 0.0))
    w.move_joint("gripper", "slide_x", lambda t: 0.0)
    w.move_joint("gripper", "slide_y", lambda t: 0.0)
    w.actuate_joint(
        "gripper", "left", proportional_gain=4e3, derivative_gain=50.0, target_position=-1.0, effort_limit=2.0
    )
    sim = stepped(w, DT, 10)
    m, n = 0.2, 10
    # a symplectic Euler fall by the limit; the hand gives way by 1e-4 of it at the most
    assert sim.dynamics.arrays.q[2] - 0.02 == pytest.approx(-2.0 / m * DT**2 * n * (n + 1) / 2, rel=1e-3)
    law = sim.joint_laws[2]
    assert isinstance(law, JointActuator)
    law.effort_limit = 1.0
    v = sim.dynamics.arrays.v[2]
    sim.step()
    assert sim.dynamics.arrays.v[2] - v == pytest.approx(-1.0 / m * DT, rel=1e-3)
    law.effort_limit, law.target_position, law.feedforward = math.inf, 0.015, 8.0
    sim.step(400)  # rests where kp (q_d - q) + u = 0
    assert sim.dynamics.arrays.q[2] == pytest.approx(0.015 + 8.0 / 4e3, abs=1e-7)
    sim.reset()
    assert sim.joint_laws[2].effort_limit == 2.0  # type: ignore[union-attr]


def test_a_coupler_gears_two_joints() -> None:
    """Reduced to one coordinate: (m + ratio^2 m) a = effort, q_right = ratio q_left + offset."""
    w = gripper(q=(0.0, 0.0, 0.01, 0.03))
    w.move_joint("gripper", "slide_x", lambda t: 0.0)
    w.move_joint("gripper", "slide_y", lambda t: 0.0)
    w.couple_joints("gripper", "right", "left", ratio=2.0, offset=0.01)
    sim = Simulator(w, period=1e-4)
    sim.set_effort(0, (0.0, 0.0, 0.1, 0.0))
    n = 100
    sim.step(n)
    q = sim.dynamics.arrays.q
    travel = 0.1 / (0.015 * 5.0) * 1e-8 * n * (n + 1) / 2
    assert q[2] - 0.01 == pytest.approx(travel, rel=1e-3)
    assert q[3] == pytest.approx(2.0 * q[2] + 0.01, abs=1e-8)


def test_a_world_file_has_motions_actuators_and_couplers() -> None:
    text = f"""
trees:
  - name: gripper
    urdf: {GRIPPER}
    q: [0.03, 0, 0.02, 0.02]
    motions:
      - {{joint: slide_x, amplitude: 0.03, frequency: 1.5, phase: 1.5707963267948966}}
    actuators:
      - {{joint: left, proportional_gain: 100, target_position: 0.01, effort_limit: 3}}
    couplers:
      - {{joint: right, other: left}}
"""
    w = parse_world(text)
    by_hand = gripper(q=(0.03, 0, 0.02, 0.02))
    by_hand.move_joint(0, "slide_x", Sinusoid(0.03, 1.5, math.pi / 2))
    by_hand.actuate_joint(0, "left", proportional_gain=100.0, target_position=0.01, effort_limit=3.0)
    by_hand.couple_joints(0, "right", "left")
    assert w.joint_laws == by_hand.joint_laws
    again = parse_world(w.to_yaml(), folder=Path("/nowhere"))
    assert again.joint_laws == w.joint_laws
    np.testing.assert_array_equal(*(stepped(each, DT, 5).dynamics.arrays.q for each in (w, again)))
    with pytest.raises(WorldError, match=r"^w: trees.0: \*: joint: expected one of .*, got '\*'$"):
        parse_world(text.replace("joint: left,", "joint: thumb,"), name="w")


def test_error_names_the_wrong_argument() -> None:
    w = gripper()
    w.move_joint("gripper", "slide_x", Sinusoid(0.0, 1.0))
    gains = {"proportional_gain": 1.0}
    for call, message in (
        (lambda: w.move_joint("arm", "x", abs), r"^arm: no such tree; there are: gripper$"),
        (
            lambda: w.move_joint("gripper", "z", abs),
            r"^gripper: joint: expected one of the joints of one coordinate \(slide_x, slide_y.*got 'z'$",
        ),
        (lambda: w.move_joint("gripper", "slide_x", abs), r"^gripper: slide_x: expected one motion, got a second$"),
        (lambda: w.actuate_joint(0, "left", proportional_gain=-1.0), r"left: proportional_gain: expected 0 or more"),
        (lambda: w.actuate_joint(0, "left", proportional_gain=0.0), r"left: .*at least one above 0"),
        (
            lambda: w.actuate_joint(0, "left", stiffness=1.0),
            r"left: stiffness: expected one of tree, joint, proportional",
        ),
        (lambda: w.actuate_joint(0, "left", effort_limit=0.0, **gains), r"left: effort_limit: expected a number above"),
        (lambda: w.actuate_joint(0, "left", target_position=math.nan, **gains), r"target_position: expected a finite"),
        (lambda: w.couple_joints(0, "left", "left"), r"other: expected .* another joint"),
        (lambda: w.couple_joints(0, "left", "right", ratio=0.0), r"ratio, other: expected a number other than 0"),
        (lambda: Sinusoid(math.inf, 1.0), r"^amplitude: expected a finite number"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
