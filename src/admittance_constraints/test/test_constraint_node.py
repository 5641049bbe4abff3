"""The constraint node's answers, changes and refusals on a live graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from constraint_inputs import BASE, LIFTED, MECHANISM, OTHER, OWN, SHORT, START, UPRIGHT, hand, twist_array
from node_bench import FAILURE, SUCCESS, NodeBench, made_benches
from rclpy.context import Context
from scipy.spatial.transform import Rotation
from std_srvs.srv import Trigger
from visualization_msgs.msg import Marker

from admittance_constraints.display import factory
from admittance_constraints.display.approach import ToolMotion
from admittance_constraints.display.controller import AdmittanceController
from admittance_constraints.display.feedback import pose_difference
from admittance_constraints.node import ConstraintNode
from admittance_constraints.renderer import ConstraintRenderer
from haptic_core.commands import MOTION, NONE
from haptic_core.errors import ParameterError
from haptic_core.messages import pose_array, set_pose, set_wrench
from haptic_core.parameters import check_all
from haptic_msgs.msg import (
    ConstrainedReference,
    DeviceCommand,
    DeviceState,
)

pytestmark = pytest.mark.usefixtures("interpreted")

# --- on a live graph --------------------------------------------------------------------------------------------


class Bench(NodeBench):
    """The constraint node; `references` are its states so far."""

    def __init__(self, context: Context, **parameters: Any) -> None:
        values = {**SHORT, **parameters}
        super().__init__(context, ConstraintNode, values)
        self.values = check_all({**OWN, **BASE}, values)
        self.references: list[ConstrainedReference] = self.subscribe(ConstrainedReference, "constraints/state")

    def answer(
        self, tool: np.ndarray = START, wrench: np.ndarray | None = None, status: int = DeviceState.STATUS_OK
    ) -> tuple[DeviceCommand, ConstrainedReference]:
        """Publishes the next tick and gives command and state of it."""
        self.tick += 1
        state = DeviceState(tick=self.tick, period=self.values["period"], status=status)
        state.header.frame_id = "display_base"
        set_pose(state.tool_pose, np.asarray(tool, dtype=float))
        set_wrench(state.tool_wrench, np.zeros(6) if wrench is None else wrench)
        self.states.publish(state)
        return self.last(self.commands), self.last(self.references)

    def twin(self, **change: Any) -> AdmittanceController:
        """Makes a controller beside the node from the same parameters."""
        return ConstraintRenderer.from_parameters({**self.values, **change}).controller


@pytest.fixture
def make(context: Context) -> Iterator[Callable[..., Bench]]:
    yield from made_benches(lambda **parameters: Bench(context, **parameters))


def assert_commands(command: DeviceCommand, motion: ToolMotion) -> None:
    """Asserts that the command is that motion, to the last bit."""
    np.testing.assert_array_equal(pose_array(command.tool_pose), motion.pose)
    np.testing.assert_array_equal(twist_array(command.tool_twist), motion.twist)
    np.testing.assert_array_equal(twist_array(command.tool_acceleration), motion.acceleration)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("feedback", "fields"),
    [
        ("node", DeviceCommand.FIELD_VELOCITY | DeviceCommand.FIELD_ACCELERATION),
        ("device", DeviceCommand.FIELD_POSITION | DeviceCommand.FIELD_VELOCITY | DeviceCommand.FIELD_ACCELERATION),
    ],
)
def test_command_and_state_of_the_node_are_those_of_its_controller(
    make: Callable[..., Bench], feedback: str, fields: int
) -> None:
    bench = make(feedback=feedback, frame_position=[0.0, 0.0, 0.01]).start()
    twin = bench.twin()
    for k in range(60):
        command, state = bench.answer(LIFTED, hand(k))
        motion = twin.step(LIFTED, hand(k))
        assert (command.mode, command.motion_fields, command.source) == (MOTION, fields, "constraints")
        assert command.header.frame_id == state.header.frame_id == "display_base"
        assert_commands(command, motion)
        # the state is the reference, without the correction
        assert twin.motion is not None
        np.testing.assert_array_equal(pose_array(state.pose), twin.motion.pose)
        np.testing.assert_array_equal(twist_array(state.twist), twin.motion.twist)
        np.testing.assert_array_equal(twist_array(state.acceleration), twin.motion.acceleration)
        reference = twin.reference
        for name in ("z", "z_velocity", "q", "q_velocity", "q_acceleration", "multipliers"):
            sizes = {"z": 4, "z_velocity": 4, "multipliers": 4}
            expected = np.zeros(sizes.get(name, 6)) if reference is None else getattr(reference, name)
            np.testing.assert_array_equal(getattr(state, name), expected, err_msg=name)
        if reference is not None:
            assert state.kinetic_energy == reference.kinetic_energy
            assert state.constraint_residual == reference.holonomic_residual
    assert twin.reference is not None and twin.reference.kinetic_energy > 0.0
    assert bench.node.rejections.counts == {}


def test_friction_that_does_not_converge_is_counted_and_the_tick_is_answered(
    make: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = make(friction_force=0.05, friction_torque=0.0005).start()
    for k in range(3):
        bench.answer(START, hand(k))
    friction = bench.node.renderer.controller.generator.friction
    solve = friction.solve
    with monkeypatch.context() as patch:
        patch.setattr(friction, "solve", lambda *given: replace(solve(*given), converged=False))
        assert all(bench.answer(START, hand(k))[0].mode == MOTION for k in range(3, 5))
    assert not bench.node.renderer.state.friction_converged
    bench.answer(START, hand(5))
    assert bench.node.renderer.state.friction_converged
    assert bench.node.rejections.counts == {"friction not converged": 2}


def test_change_of_parameters_causes_no_jump(make: Callable[..., Bench]) -> None:
    """Mass, damping, friction, gains, deadband and bounds change in motion; position and velocity stay."""
    bench = make().start()
    tool, before = START.copy(), None
    changes: dict[int, dict[str, Any]] = {
        40: {"mechanism_parameters": ["mass=1.0", "translational_damping=0.5"]},
        60: {"friction_force": 0.05, "friction_torque": 0.0005},
        80: {"friction_force": 0.0, "force_deadband": 0.3, "proportional_gain": 900.0, "largest_lead": 0.03},
    }
    for k in range(100):
        if k in changes:
            result = bench.set(**changes[k])
            assert result.successful, result.reason
        command, _ = bench.answer(tool, hand(k))
        assert command.mode == MOTION
        motion = bench.node.renderer.controller.motion  # type: ignore[union-attr]
        assert motion is not None
        if before is not None:
            # accelerations are below 30 m/s^2 and 30 rad/s^2
            moved = pose_difference(motion.pose, before.pose)
            np.testing.assert_allclose(moved, 1e-3 * before.twist, atol=30 * 1e-6 / 2)
            np.testing.assert_allclose(motion.twist, before.twist, atol=30 * 1e-3)
        before, tool = motion, motion.pose
    assert np.abs(before.twist).max() > 0.02
    kinds = [event.kind for event in bench.events]
    assert kinds.count("parameter") == len(changes)


def test_a_change_that_is_refused_changes_nothing(make: Callable[..., Bench]) -> None:
    """One bad value among good ones; the answers do not change."""
    bench = make().start()
    twin = bench.twin()
    refusals = [
        ({"mechanism_parameters": ["mass=-1"]}, MECHANISM + "mass: expected more than 0"),
        ({"largest_lead": -1.0}, "parameter largest_lead: expected from 0.0001 to 10"),
        ({"mechanism_parameters": ["mass=[1"]}, "parameter mechanism_parameters: entry 'mass=[1'"),
        ({"frame_position": [0.1, 0.0, 0.0]}, "frame_position"),
    ]
    for k in range(50):
        if k % 10 == 5 and refusals:
            change, reason = refusals.pop(0)
            renderer = bench.node.renderer
            result = bench.set(force_deadband=1.0, **change)
            assert not result.successful and reason in result.reason and "\n" not in result.reason
            assert bench.node.renderer is renderer
            assert bench.node.get_parameter("force_deadband").value == 0.0
        assert_commands(bench.answer(START, hand(k))[0], twin.step(START, hand(k)))
    assert not refusals


def test_generator_is_derived_anew_only_for_parameters_of_the_reference(make: Callable[..., Bench]) -> None:
    """A derivation takes longer than the watchdog of a realtime device waits."""
    bench = make(change_time=0.0).start()
    twin = bench.twin()
    for k in range(60):
        if k == 30:
            before = bench.node.renderer.controller  # type: ignore[union-attr]
            assert before is not None
            change = {"force_deadband": 0.4, "integral_gain": 0.0, "largest_correction": 0.01}
            assert bench.set(**change).successful
            after = bench.node.renderer.controller  # type: ignore[union-attr]
            assert after is not None and after is not before and after.generator is before.generator
            changed = bench.twin(**change)
            changed.take_over(twin)
            twin = changed
        assert_commands(bench.answer(START, hand(k))[0], twin.step(START, hand(k)))
    for name in factory.REFERENCE_PARAMETERS:
        if not OWN.get(name, BASE.get(name)).read_only:  # type: ignore[union-attr]
            assert bench.set(**{name: OTHER[name][0]}).successful
            assert bench.node.renderer.controller.generator is not before.generator  # type: ignore[union-attr]
            before = bench.node.renderer.controller  # type: ignore[union-attr]


def test_tool_approaches_the_mechanism_of_new_dimensions(make: Callable[..., Bench]) -> None:
    bench = make(approach_time=0.03).start()
    for k in range(5):
        bench.answer(START, hand(k))
    assert bench.set(mechanism_parameters=["radius=0.05"]).successful
    tool = START
    for _ in range(32):
        command, state = bench.answer(tool)
        step = pose_array(command.tool_pose)[:3] - tool[:3]
        assert np.linalg.norm(step) < 15 / 8 * 0.02 / 0.03 * 1e-3 * 1.001
        tool = pose_array(command.tool_pose)
    np.testing.assert_allclose(tool[:3], [START[0], START[1], 0.05], atol=1e-12)
    assert state.q[2] == 0.05


def test_a_nested_parameter_is_an_entry_of_its_list_at_the_start_and_when_it_is_set(make: Callable[..., Bench]) -> None:
    bench = make(**{"mechanism_parameters": ["mass=1.0"], "mechanism_values.radius": 0.05}).start()
    assert bench.node.parameters["mechanism_parameters"] == ["mass=1.0", "radius=0.05"]
    assert bench.node.get_parameter("mechanism_values.radius").value == 0.05
    assert not bench.set(**{"mechanism_values.radius": -1.0}).successful
    assert bench.set(**{"mechanism_values.radius": 0.06}).successful
    assert bench.node.parameters["mechanism_parameters"] == ["mass=1.0", "radius=0.06"]
    with pytest.raises(ParameterError, match=r"parameter mechanism_value\.radius: unknown"):
        make(**{"mechanism_value.radius": 0.05})


def test_a_reset_starts_anew_next_to_the_tool(make: Callable[..., Bench]) -> None:
    bench = make().start()
    tool = START
    for k in range(60):
        tool = pose_array(bench.answer(tool, hand(k))[0].tool_pose)
    assert bench.references[-1].kinetic_energy > 0.0
    answer = bench.call(Trigger, "reset", Trigger.Request())
    assert answer.success
    twin = bench.twin()
    command, state = bench.answer(LIFTED, hand(3))
    assert_commands(command, twin.step(LIFTED, hand(3)))
    # the tool approaches the start: the state has nothing of the motion before
    for name in ("z", "z_velocity", "q_acceleration", "multipliers"):
        np.testing.assert_array_equal(getattr(state, name), 0.0)
    assert state.kinetic_energy == 0.0
    # the beginning of the approach: 10 s^3 of 6 mm and 0.06 rad at s = 1/20
    np.testing.assert_allclose(pose_array(state.pose), LIFTED, atol=10 / 20**3 * 0.06)
    for k in range(40):
        assert_commands(bench.answer(LIFTED, hand(k))[0], twin.step(LIFTED, hand(k)))


def test_singular_configuration_is_answered_with_none_and_counted(make: Callable[..., Bench]) -> None:
    """Angles at the sphere's pole: the display holds; elsewhere the reference starts."""
    bench = make(mechanism="DiskOnSphere").start()
    pole = np.array([0.0, 0.0, 0.05, 0.0, 0.0, 0.0, 1.0])
    assert [bench.answer(pole, hand(k))[0].mode for k in range(3)] == [NONE] * 3
    assert bench.node.rejections.counts == {"singular": 3}
    assert bench.call(Trigger, "reset", Trigger.Request()).success
    side = np.array([0.0, -0.05, 0.0, *UPRIGHT.as_quat()])
    assert [bench.answer(side, hand(k))[0].mode for k in range(3)] == [MOTION] * 3
    assert bench.node.rejections.counts == {"singular": 3}


def test_an_input_that_the_renderer_refuses_is_answered_with_none_and_counted(
    make: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = make().start()
    bench.answer(START, hand(0))

    def refuse(*_: Any, **__: Any) -> None:
        raise ValueError("friction force: expected shape (3,), got (1,)")

    monkeypatch.setattr(bench.node.renderer, "step", refuse)
    assert bench.answer(START, hand(1))[0].mode == NONE
    assert bench.node.rejections.counts == {"unusable input": 1}


def test_tool_on_the_axis_of_a_surface_approaches_it(make: Callable[..., Bench]) -> None:
    """At the torus' centre, a display's home, the gradient of the surface is not a number."""
    bench = make(mechanism="PointOnSurface").start()
    tool = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    for _ in range(22):
        command, state = bench.answer(tool)
        assert command.mode == MOTION
        tool = pose_array(command.tool_pose)
    assert (np.hypot(*tool[:2]) - 0.08) ** 2 + tool[2] ** 2 == pytest.approx(0.03**2, abs=1e-12)
    assert abs(state.constraint_residual) < 1e-12


@pytest.mark.parametrize("status", [DeviceState.STATUS_SAFE_STOP, DeviceState.STATUS_FAULT])
def test_reference_rests_while_the_device_is_not_ok(make: Callable[..., Bench], status: int) -> None:
    bench = make().start()
    tool = START
    for k in range(40):
        tool = pose_array(bench.answer(tool, hand(k))[0].tool_pose)
    assert bench.references[-1].kinetic_energy > 0.0
    for k in range(5):
        command, state = bench.answer(tool, hand(k), status)
        assert command.mode == MOTION
        np.testing.assert_array_equal(pose_array(command.tool_pose), tool)
        np.testing.assert_array_equal(twist_array(command.tool_twist), 0.0)
        assert state.kinetic_energy == 0.0 and not np.any(state.z_velocity)
    command, state = bench.answer(tool, np.array([5.0, 5.0, 0, 0, 0, 0.1]))
    np.testing.assert_allclose(pose_difference(pose_array(state.pose), tool), 0.0, atol=1e-4)
    assert twist_array(state.twist).any()


def test_a_state_that_is_not_finite_moves_nothing(make: Callable[..., Bench]) -> None:
    bench = make().start()
    twin = bench.twin()
    bench.answer(START, hand(0))
    twin.step(START, hand(0))
    assert bench.answer(START, np.full(6, np.nan))[0].mode == NONE
    assert bench.answer(np.full(7, np.inf), hand(0))[0].mode == NONE
    assert bench.node.rejections.counts == {"not finite": 2}
    assert_commands(bench.answer(START, hand(1))[0], twin.step(START, hand(1)))


def test_the_markers_are_drawn_at_their_rate_in_the_devices_frame(make: Callable[..., Bench]) -> None:
    bench = make(display_rate=100.0, frame_position=[0.0, 0.0, 0.01], frame_orientation=[0.0, 0.0, 0.7071, 0.7071])
    bench.start().watch()
    tool = START + np.eye(7)[2] * 0.01
    for k in range(81):
        command, state = bench.answer(tool, hand(k))
        tool = pose_array(command.tool_pose)
    # every 10 ticks, and not while there is no reference yet
    bench.until(lambda: len(bench.markers) >= 9)
    assert len(bench.markers) == 9
    shapes = {marker.ns: marker for marker in bench.markers[-1].markers}
    assert set(shapes) == {"constraints/disk", "constraints/spoke", "constraints/tyre track"}
    assert {marker.header.frame_id for marker in shapes.values()} == {"display_base"}
    disk = shapes["constraints/disk"]
    assert disk.type == Marker.CYLINDER and disk.scale.x == 0.06
    # the disk's axis in the device's frame is that of the tool; where it is, the tool is
    np.testing.assert_allclose(pose_array(disk.pose)[:3], pose_array(state.pose)[:3], atol=1e-15)
    turn = Rotation.from_quat(pose_array(state.pose)[3:])
    assert (Rotation.from_quat(pose_array(disk.pose)[3:]).inv() * turn).magnitude() < 1e-12
    assert len(shapes["constraints/tyre track"].points) > 1


def test_after_a_reset_the_trail_begins_anew(make: Callable[..., Bench]) -> None:
    bench = make(display_rate=1000.0).start()
    bench.watch()
    tool = START
    for k in range(60):
        tool = pose_array(bench.answer(tool, hand(k))[0].tool_pose)

    def trail() -> list[Any]:
        (marker,) = [m for m in bench.markers[-1].markers if m.ns == "constraints/tyre track"]
        return marker.points

    bench.until(lambda: len(bench.markers) >= 60)
    assert len(trail()) > 1
    bench.call(Trigger, "reset", Trigger.Request())
    bench.answer(START)
    bench.until(lambda: len(bench.markers) >= 61)
    assert len(trail()) == 1


def test_nothing_is_drawn_without_a_subscriber(make: Callable[..., Bench]) -> None:
    bench = make(display_rate=1000.0).start()
    for k in range(5):
        bench.answer(START, hand(k))
    assert bench.node._canvas is None


def test_the_node_can_be_cleaned_up_and_configured_again(make: Callable[..., Bench]) -> None:
    bench = make().start()
    for k in range(30):
        bench.answer(LIFTED, hand(k))
    node = bench.node
    assert (node.trigger_deactivate(), node.trigger_cleanup()) == (SUCCESS, SUCCESS)
    assert node.renderer is None
    assert bench.set(force_deadband=0.5).successful  # there is nothing to build yet
    bench.tick = -1
    bench.commands.clear()
    bench.references.clear()
    bench.start()
    twin = bench.twin(force_deadband=0.5)
    for k in range(30):
        assert_commands(bench.answer(LIFTED, hand(k))[0], twin.step(LIFTED, hand(k)))


def test_node_that_cannot_be_configured_logs_the_reason_in_one_line(
    make: Callable[..., Bench], capfd: pytest.CaptureFixture[str]
) -> None:
    bench = make(mechanism="TwoLinkOnCircle", mechanism_parameters=["base=[-0.36, 0.0]"])
    assert bench.node.trigger_configure() == FAILURE
    lines = [line for line in capfd.readouterr().err.splitlines() if "configure refused" in line]
    assert len(lines) == 1 and "parameters mechanism, mechanism_parameters: " in lines[0]
    assert bench.set(mechanism_parameters=[""]).successful
    bench.start()
    tool = np.array([0.05, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    assert bench.answer(tool)[0].mode == MOTION
