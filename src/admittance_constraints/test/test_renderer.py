"""The constraint renderer without ROS: its answers, its state, reset and changes of parameters."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from admittance_constraints import AdmittanceController, ConstraintRenderer, ReferenceGenerator, RollingDisk
from admittance_constraints.node import ConstraintNode
from admittance_constraints.renderer import VECTORS
from haptic_core.parameters import check_all, load_parameter_specs

SPECS = load_parameter_specs(ConstraintNode.parameter_file)
#: pose of the tool on the rolling disk's plane, the disk upright
START = np.array([0.01, 0.02, 0.03, np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)])
pytestmark = pytest.mark.usefixtures("interpreted")


def values(**change: Any) -> dict[str, Any]:
    """Gives the node's parameters with their defaults, and the control period."""
    return {**check_all(SPECS, {"approach_time": 0.0, **change}), "period": 1e-3}


def hand(k: int) -> np.ndarray:
    """Gives a wrench of the user at tick k [N; N m]."""
    return np.sin(0.03 * k * np.arange(1, 7) + np.arange(6)) * [2.0, 2.0, 2.0, 0.02, 0.02, 0.02]


def contacts(force: float) -> Any:
    """Makes one contact that presses body 1 along z [N]."""
    normal, zeros = [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]
    return SimpleNamespace(
        period=1e-3,
        body_a=[0],
        body_b=[1],
        position=[0.05, 0.0, 0.0],
        normal=normal,
        normal_impulse=[1e-3 * force],
        tangential_impulse=zeros,
    )


def assert_same_motion(one: Any, other: Any) -> None:
    for name in ("pose", "twist", "acceleration"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def test_answer_and_state_are_those_of_the_controller() -> None:
    renderer, twin = (ConstraintRenderer.from_parameters(values()) for _ in range(2))
    assert renderer.state.motion is None and not renderer.commands_pose
    assert renderer.sizes == {"z": 4, "z_velocity": 4, "multipliers": 4} | dict.fromkeys(
        ("q", "q_velocity", "q_acceleration"), 6
    )
    for k in range(30):
        motion = renderer.step(START.tolist(), hand(k).tolist())
        assert_same_motion(motion, twin.controller.step(START, hand(k)))
        state, reference = renderer.state, twin.reference
        assert_same_motion(state.motion, twin.controller.motion)
        assert reference is not None
        for name in VECTORS:
            np.testing.assert_array_equal(getattr(state, name), getattr(reference, name), err_msg=name)
        assert (state.kinetic_energy, state.constraint_residual) == (
            reference.kinetic_energy,
            reference.holonomic_residual,
        )
    assert state.kinetic_energy > 0.0


def test_state_is_zero_until_the_mechanism_has_moved() -> None:
    renderer = ConstraintRenderer.from_parameters(values(approach_time=0.01))
    renderer.step(START + np.eye(7)[2] * 0.01, np.zeros(6))
    state = renderer.state
    assert state.motion is not None and renderer.reference is None
    for name, size in renderer.sizes.items():
        np.testing.assert_array_equal(getattr(state, name), np.zeros(size), err_msg=name)
    assert state.kinetic_energy == state.constraint_residual == 0.0


def test_contacts_and_friction_act_from_the_second_tick_on() -> None:
    p = values(mechanism="PointOnParaboloid", contact_body=1, force_deadband=5.0)
    renderer, alone = (ConstraintRenderer.from_parameters(p) for _ in range(2))
    pose, rest = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]), np.zeros(6)
    friction: Any = SimpleNamespace(force=[0.1, -0.2, 0.0])
    first = renderer.step(pose, rest, contacts=[contacts(3.0)], frictions=[friction])
    assert_same_motion(first, alone.step(pose, rest))
    renderer.step(pose, rest, contacts=[contacts(3.0)], frictions=[friction])
    reference = renderer.reference
    assert reference is not None
    # the guide bears the contact; the friction accelerates 0.5 kg along it, without deadband
    np.testing.assert_allclose(reference.q_acceleration, [-0.1 / 0.5, 0.2 / 0.5, 0.0], rtol=1e-12)
    assert reference.multipliers[0] == pytest.approx(-3.0, rel=1e-12)


def test_friction_that_cannot_be_used_changes_nothing() -> None:
    renderer, twin = (ConstraintRenderer.from_parameters(values()) for _ in range(2))
    for k in range(10):
        assert_same_motion(renderer.step(START, hand(k)), twin.step(START, hand(k)))
        bad: Any = SimpleNamespace(force=[1.0])
        with pytest.raises(ValueError, match=r"^friction force: expected shape \(3,\), got \(1,\)$"):
            renderer.step(START, hand(k), frictions=[bad])


def test_renderer_of_a_controller_alone_takes_no_contacts() -> None:
    generator = ReferenceGenerator(RollingDisk(), compiled=False)
    renderer = ConstraintRenderer(AdmittanceController(generator))
    assert renderer.commands_pose
    renderer.step(START, hand(0))
    with pytest.raises(ValueError, match=r"^contacts, frictions: expected none"):
        renderer.step(START, hand(1), contacts=[contacts(1.0)])


def test_reset_starts_anew_at_the_tool() -> None:
    renderer = ConstraintRenderer.from_parameters(values())
    answers = [renderer.step(START, hand(k)) for k in range(20)]
    renderer.reset()
    assert renderer.reference is None and renderer.state.motion is None
    for k, answer in enumerate(answers):
        assert_same_motion(renderer.step(START, hand(k)), answer)


def test_parameters_change_whole_or_not_at_all() -> None:
    renderer, twin = (ConstraintRenderer.from_parameters(values()) for _ in range(2))
    for k in range(20):
        assert_same_motion(renderer.step(START, hand(k)), twin.step(START, hand(k)))
    with pytest.raises(ValueError, match=r"mass: expected more than 0"):
        renderer.change_parameters(values(force_deadband=1.0, mechanism_parameters=["mass=-1"]))
    for k in range(20, 30):
        assert_same_motion(renderer.step(START, hand(k)), twin.step(START, hand(k)))
    generator = renderer.controller.generator
    before = renderer.state.motion
    renderer.change_parameters(values(force_deadband=1.0, largest_lead=0.05))
    assert renderer.controller.generator is generator  # its parameters are the same
    assert_same_motion(renderer.state.motion, before)
    differs = False
    for k in range(30, 50):
        differs |= bool(np.any(renderer.step(START, hand(k)).twist != twin.step(START, hand(k)).twist))
    assert differs
    renderer.change_parameters(values(mechanism_parameters=["mass=1.0"]))
    assert renderer.controller.generator is not generator
    assert renderer.controller.generator.mechanism.parameters["mass"] == 1.0
