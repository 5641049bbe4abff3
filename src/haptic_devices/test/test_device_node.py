"""The device node on a live graph: motions from a source to the device, and numbers of the device from parameters."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.time import Time
from rosgraph_msgs.msg import Clock
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from haptic_core.commands import CommandConflictError
from haptic_core.errors import HapticError
from haptic_core.events import make_event
from haptic_core.qos import EVENT_DEPTH, display_qos, latched_qos, tick_qos
from haptic_devices.device import TRANSLATIONS
from haptic_devices.loop import OK
from haptic_devices.node.device_node import DeviceNode
from haptic_msgs.msg import DeviceCommand, DeviceState, PassivityState, SimulationState, TickEvent

SPEED = 0.05
FORCE, MOMENT = 1.5, 0.02
DISPLAYS = {
    "/clock": Clock,
    "joint_states": JointState,
    "rendered_wrench": WrenchStamped,
    "measured_wrench": WrenchStamped,
}
_namespaces = (f"/test_device_{os.getpid()}_{number}" for number in itertools.count())


class Leader(Node):
    """A source that leads the tool along x at a constant speed, and keeps what the device says."""

    def __init__(self, context: Context, namespace: str, mode: str, name: str = "leader") -> None:
        super().__init__(name, context=context, namespace=namespace)
        self.states: list[DeviceState] = []
        self.truths: list[SimulationState] = []
        self.balances: list[PassivityState] = []
        self._commands = self.create_publisher(DeviceCommand, "device_command", tick_qos("lockstep"))
        events = self.create_publisher(TickEvent, "tick_event", latched_qos(EVENT_DEPTH))
        events.publish(make_event(name, "state", {"state": "active", "mode": mode}))
        self._events = events
        self.create_subscription(DeviceState, "device_state", self._answer, tick_qos("lockstep"))
        self.create_subscription(SimulationState, "simulation_state", self.truths.append, tick_qos("lockstep"))
        self.create_subscription(PassivityState, "device/passivity", self.balances.append, tick_qos("lockstep"))
        self._mode = getattr(DeviceCommand, mode)
        self.shown: dict[str, list[Any]] = {}
        self._pause: tuple[DeviceNode, int, float] | None = None

    def pause(self, node: DeviceNode, tick: int, duration: float) -> None:
        """Deactivates the device when this tick comes and activates it again, at once or later [s]."""
        self._pause = node, tick, duration

    def _interrupt(self, node: DeviceNode, duration: float) -> None:
        assert node.trigger_deactivate() == TransitionCallbackReturn.SUCCESS
        self._pause = None
        if duration:
            self._timer = self.create_timer(duration, lambda: (self._timer.cancel(), node.trigger_activate()))
        else:
            node.trigger_activate()

    def watch(self) -> None:
        """Receives what the device shows, too."""
        for name, kind in DISPLAYS.items():
            self.create_subscription(kind, name, self.shown.setdefault(name, []).append, display_qos())

    def watch_description(self) -> None:
        keep = self.shown.setdefault("robot_description", []).append
        self.create_subscription(String, "robot_description", keep, latched_qos())

    def _answer(self, state: DeviceState) -> None:
        self.states.append(state)
        command = DeviceCommand(source=self.get_name(), tick=state.tick, mode=self._mode, motion_fields=3)
        command.tool_wrench.force.x, command.tool_wrench.torque.z = FORCE, MOMENT
        command.tool_pose.position.x = SPEED * state.period * (state.tick + 1)
        command.tool_twist.linear.x = SPEED
        self._commands.publish(command)
        if self._pause is not None and state.tick == self._pause[1]:
            self._interrupt(self._pause[0], self._pause[2])


def _add_rival(executor: SingleThreadedExecutor, node: DeviceNode, kind: str) -> Callable[[], None]:
    """Another device with the same topics: "killed", which is soon forgotten, or "speaking"; returns how to end it."""
    rival = Node("device", context=node.context, namespace=node.get_namespace())
    states = rival.create_publisher(DeviceState, "device_state", tick_qos("lockstep"))
    acts = {"killed": lambda: rival.destroy_publisher(states), "speaking": lambda: states.publish(DeviceState(tick=7))}
    rival.create_timer(0.3, acts[kind])
    executor.add_node(rival)
    while node.count_publishers("device_state") < 1:
        executor.spin_once(timeout_sec=0.1)
    return rival.destroy_node


@pytest.fixture
def run(context: Context) -> Iterator[Callable[..., tuple[DeviceNode, Leader]]]:
    made: list[Any] = []

    def start(
        *others: str,
        mode: str = "MOTION",
        shown: tuple[str, ...] = (),
        pause: tuple[int, float] | None = None,
        loop: str = "lockstep",
        rival: str = "",
        **parameters: Any,
    ) -> tuple[DeviceNode, Leader]:
        namespace = next(_namespaces)
        values = {"held": False, "duration": 0.2, "sources": ["leader", *others], "mode": loop, **parameters}
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        node = DeviceNode(context=context, namespace=namespace, parameter_overrides=overrides)
        sources = [Leader(context, namespace, mode, name) for name in ("leader", *others)]
        executor = SingleThreadedExecutor(context=context)
        made.extend([executor.shutdown, node.destroy_node, *(source.destroy_node for source in sources)])
        for each in (node, *sources):
            executor.add_node(each)
        if rival:
            made.append(_add_rival(executor, node, rival))
        if shown:
            sources[0].watch()
        if pause is not None:
            sources[0].pause(node, *pause)
        node.start()
        while any(not node.count_subscribers(name) for name in shown):
            executor.spin_once(timeout_sec=1.0)
        node.spin(executor)
        assert node.trigger_deactivate() == TransitionCallbackReturn.SUCCESS
        while len(sources[0].states) < node.tick + 1:  # the last state may still be on its way
            executor.spin_once(timeout_sec=1.0)
        return node, sources[0]

    yield start
    for end in made:
        end()


def test_a_device_waits_until_one_that_was_killed_is_forgotten(run):
    node, leader = run(device="joystick", mode="WRENCH", rival="killed")
    assert [state.tick for state in leader.states] == list(range(200)) and node.rejections.counts == {}


def test_a_device_does_not_start_beside_one_that_speaks(run):
    with pytest.raises(HapticError, match=r"another device already publishes /test_.*/device_state in this ROS domain"):
        run(device="joystick", mode="WRENCH", rival="speaking")


def test_a_motion_command_moves_the_five_bar(run):
    node, leader = run(device="five_bar")
    assert [state.tick for state in leader.states] == list(range(200))
    last, first = leader.states[-1], leader.states[0]
    assert first.header.frame_id == "five_bar_base" and first.has_force_sensor
    # the command of tick 198 asked for 199 periods' way; the servo, not yet settled, is within half a millimetre
    assert last.tool_pose.position.x == pytest.approx(SPEED * 0.199, abs=5e-4)
    assert last.tool_twist.linear.x == pytest.approx(SPEED, rel=0.2)
    assert last.joint_effort[0] * last.joint_effort[1] > 0.0 and node.rejections.counts == {}


@pytest.mark.slow
def test_a_delay_of_the_commands_delays_the_motion(run):
    ways = [run(device="five_bar", command_delay_ticks=delay)[1].states[-1].tool_pose.position.x for delay in (0, 40)]
    assert ways[0] - ways[1] == pytest.approx(40e-3 * SPEED, abs=5e-4)


def test_the_parameters_of_the_device_are_chosen_by_the_node_s(run):
    results = []
    for entries in ([""], ["compensation=parallel"], ["effort_limit=5.0", "friction_coulomb=20", "friction_static=20"]):
        node, leader = run(device="five_bar", device_parameters=entries)
        results.append((node.device.parameters, leader.states[-1]))
    assert [parameters.compensation for parameters, _ in results] == ["none", "parallel", "none"]
    assert results[2][0].effort_limit == 5.0
    assert abs(results[2][1].tool_pose.position.x) < 1e-3  # too weak to move
    assert results[0][1] != results[1][1]


def test_an_impedance_device_refuses_a_source_of_motion(run):
    with pytest.raises(CommandConflictError, match="source leader: an impedance device takes EFFORT or WRENCH"):
        run(device="joystick")


@pytest.mark.slow
def test_two_sources_of_motion_are_refused_by_an_admittance_device_and_taken_by_a_script(run):
    with pytest.raises(CommandConflictError, match="sources leader, second: at most one may command MOTION"):
        run("second", device="five_bar")
    node, leader = run("second", device="scripted")
    assert len(leader.states) == 200 and node.rejections.counts == {}


# Its lifecycle


@pytest.mark.slow
@pytest.mark.parametrize("loop", ["lockstep", pytest.param("realtime", marks=pytest.mark.realtime)])
@pytest.mark.parametrize("duration", [0.0, 0.03])  # also so short that the loop does not see it
def test_a_paused_device_stands_still_and_goes_on_with_the_next_tick(run, monkeypatch, loop, duration):
    monkeypatch.setattr("haptic_devices.node.device_node.prepare_realtime", list)  # this process is pytest
    pace = (
        {"period": 0.005, "duration": 1.0, "watchdog_periods": 10000} if loop == "realtime" else {}
    )  # all is answered
    leader = run(device="joystick", mode="WRENCH", pause=(80, duration), loop=loop, **pace)[1]
    ticks = [state.tick for state in leader.states]
    assert ticks == list(range(200))
    assert {state.status for state in leader.states} == {OK}
    position = np.array([state.joint_position for state in leader.states])
    began = 81 + int(np.argmax((position[81:] == position[0]).all(axis=1)))  # a simulated device starts anew
    assert (position[began] == position[0]).all()
    assert began == 81 or loop == "realtime"  # which does not wait for who pauses it
    assert np.linalg.norm(position[began - 1] - position[0]) > 0.01
    assert np.linalg.norm(position[-1] - position[0]) > 0.01  # and obeys again


def test_a_device_that_waits_for_its_sources_answers_calls_of_its_lifecycle(context):
    overrides = [Parameter("sources", value=["absent"]), Parameter("held", value=False)]
    node = DeviceNode(context=context, namespace=next(_namespaces), parameter_overrides=overrides)
    user = Node("user", context=context, namespace=node.get_namespace())
    executor = SingleThreadedExecutor(context=context)
    diagnostics: list[DiagnosticStatus] = []
    user.create_subscription(DiagnosticArray, "/diagnostics", lambda m: diagnostics.extend(m.status), display_qos())
    replies: list[Any] = []
    state, change = (
        user.create_client(k, f"device/{n}") for k, n in ((GetState, "get_state"), (ChangeState, "change_state"))
    )

    def end(future: Any) -> None:
        replies.append(future.result())
        node.finished = True

    def deactivate(future: Any) -> None:
        replies.append(future.result())
        request = ChangeState.Request(transition=Transition(id=Transition.TRANSITION_DEACTIVATE))
        change.call_async(request).add_done_callback(end)

    def once_reported() -> None:
        told = any(status.message == "waiting for source absent" for status in diagnostics)
        if told and state.service_is_ready() and change.service_is_ready():
            timer.cancel()
            state.call_async(GetState.Request()).add_done_callback(deactivate)

    try:
        for each in (node, user):
            executor.add_node(each)
        node.start()
        timer = user.create_timer(0.05, once_reported)
        node.spin(executor)
        assert replies[0].current_state.label == "active" and replies[1].success
        assert not node.active and node.tick == -1
    finally:
        executor.shutdown()
        node.destroy_node()
        user.destroy_node()


def test_a_device_gives_up_when_its_sources_do_not_come(context):
    overrides = [Parameter("sources", value=["absent"]), Parameter("activation_timeout", value=0.1)]
    node = DeviceNode(context=context, namespace=next(_namespaces), parameter_overrides=overrides)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    try:
        node.start()
        with pytest.raises(HapticError, match=r"waited 0\.1 s for all sources; still missing: source absent"):
            node.spin(executor)
    finally:
        executor.shutdown()
        node.destroy_node()


# What it shows


def axes(state: DeviceState) -> Rotation:
    q = state.tool_pose.orientation
    return Rotation.from_quat([q.x, q.y, q.z, q.w])


def vector(v: Any) -> np.ndarray:
    return np.array([v.x, v.y, v.z])


@pytest.mark.slow
def test_an_admittance_device_shows_all_joints_of_its_description_and_what_it_measures(run):
    _, leader = run(device="five_bar", shown=tuple(DISPLAYS), held=True, motion="paper_admittance")
    states = {state.tick: state for state in leader.states}
    assert len(leader.shown["joint_states"]) == 10  # 50 Hz
    for ticks, joints in zip(range(0, 200, 20), leader.shown["joint_states"], strict=True):
        state = states[ticks]
        assert joints.header == state.header
        assert joints.name == ["upper_arm", "forearm", "elbow", "coupling_rod"]
        for shown, measured in ((joints.position, state.joint_position), (joints.velocity, state.joint_velocity)):
            turn = measured[1] - measured[0]
            assert list(shown) == [*measured, turn, -turn]
        assert list(joints.effort) == [*state.joint_effort, 0.0, 0.0]
    forces = []
    for ticks, wrench in zip(range(0, 200, 20), leader.shown["measured_wrench"], strict=True):
        state = states[ticks]
        assert wrench.header.stamp == state.header.stamp and wrench.header.frame_id == "five_bar_tool"
        for found, expected in (
            (wrench.wrench.force, state.tool_wrench.force),
            (wrench.wrench.torque, state.tool_wrench.torque),
        ):
            np.testing.assert_allclose(axes(state).apply(vector(found)), vector(expected), atol=1e-12)
        forces.append(np.linalg.norm(vector(wrench.wrench.force)))
    assert max(forces) > 0.05  # the hand pulls


@pytest.mark.slow
def test_an_impedance_device_shows_the_wrench_that_it_renders_in_the_tool_s_axes(run):
    node, leader = run(device="joystick", mode="WRENCH", shown=("joint_states", "rendered_wrench"))
    assert [joints.name for joints in leader.shown["joint_states"]] == [["roll", "pitch"]] * 10
    assert leader.shown["measured_wrench"] == [] and node.count_publishers("measured_wrench") == 0
    states = {(state.header.stamp.sec, state.header.stamp.nanosec): state for state in leader.states}
    for wrench in leader.shown["rendered_wrench"][1:]:  # at tick 0 nothing has been commanded
        state = states[wrench.header.stamp.sec, wrench.header.stamp.nanosec]
        assert wrench.header.frame_id == "joystick_tool"
        np.testing.assert_allclose(axes(state).apply(vector(wrench.wrench.force)), [FORCE, 0.0, 0.0], atol=1e-12)
        np.testing.assert_allclose(axes(state).apply(vector(wrench.wrench.torque)), [0.0, 0.0, MOMENT], atol=1e-12)
    assert abs(axes(state).as_rotvec()[1]) > 0.1  # the axes have turned


@pytest.mark.slow
def test_lockstep_publishes_the_time_of_its_ticks_and_the_nodes_follow_it(run):
    node, leader = run(device="joystick", mode="WRENCH", shown=tuple(DISPLAYS), display_rate=100.0)
    times = [Time.from_msg(message.clock).nanoseconds for message in leader.shown["/clock"]]
    assert times == [10_000_000 * number for number in range(20)]
    shown = [Time.from_msg(message.header.stamp).nanoseconds for message in leader.shown["joint_states"]]
    assert shown == times
    assert node.get_parameter("use_sim_time").value
    assert node.get_clock().now().nanoseconds in times[1:]


@pytest.mark.parametrize("mode", ["lockstep", "realtime"])
def test_only_lockstep_has_a_clock_of_its_own(context, mode):
    overrides = [Parameter(name, value=value) for name, value in {"mode": mode, "held": False}.items()]
    node = DeviceNode(context=context, namespace=next(_namespaces), parameter_overrides=overrides)
    assert node.trigger_configure() == TransitionCallbackReturn.SUCCESS
    own = dict(node.get_publisher_names_and_types_by_node(node.get_name(), node.get_namespace()))
    assert ("/clock" in own) == node.get_parameter("use_sim_time").value == (mode == "lockstep")
    node.destroy_node()


@pytest.mark.slow
def test_a_script_shows_its_wrench_in_its_base(run):
    _, leader = run(device="scripted", shown=tuple(DISPLAYS))
    (frame,) = {wrench.header.frame_id for wrench in leader.shown["measured_wrench"]}
    assert frame == "script_base" and leader.shown["joint_states"][-1].name == list(TRANSLATIONS)


def test_the_description_is_there_for_whoever_comes_late(context):
    made = []
    for device in ("joystick", "scripted"):
        overrides = [Parameter(name, value=value) for name, value in {"device": device, "held": False}.items()]
        node = DeviceNode(context=context, namespace=next(_namespaces), parameter_overrides=overrides)
        node.trigger_configure()
        made.append(node)
    described, script = made
    late = Leader(context, described.get_namespace(), "WRENCH")
    late.watch_description()
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(late)
    try:
        for _ in range(30):
            if not late.shown["robot_description"]:
                executor.spin_once(timeout_sec=1.0)
        (description,) = late.shown["robot_description"]
        assert description.data == described.device.robot_description()
        assert script.count_publishers("robot_description") == 0
        described.trigger_cleanup()
        assert described.count_publishers("robot_description") == 0
    finally:
        executor.shutdown()
        for node in (*made, late):
            node.destroy_node()


# ---- the energy at the actuators --------------------------------------------------------------------------

#: a joystick that loses nothing, of equal rings, before its stop, measured as it is
FREE = ["friction_coulomb=0", "friction_viscous=0", "encoder_resolution=0"]


def test_the_energy_that_the_actuators_gave_is_the_stick_s_kinetic_energy(run: Callable[..., Any]) -> None:
    node, leader = run(
        mode="WRENCH",
        device="joystick",
        device_parameters=FREE,
        passivity="observe",
        duration=0.05,
        shown=("device/passivity",),
    )
    inertia = 0.0035 + 0.0045  # outer ring and stick: q2 stays at 0
    assert [balance.tick for balance in leader.balances] == list(range(node.tick + 1))
    for balance, truth in zip(leader.balances, leader.truths, strict=True):
        kinetic = 0.5 * inertia * truth.joint_velocity[0] ** 2
        # first order in the substep of 0.1 ms: 1/500 of the 50 ms in the end, all of it in the first period
        assert -balance.energy == pytest.approx(kinetic, rel=0.01, abs=1e-5)
        assert (balance.injected_damping, balance.dissipated_energy, balance.port) == (0.0, 0.0, "device")
    assert -leader.balances[-1].energy > 1e-3
    last, before = leader.balances[-1], leader.balances[-2]
    assert last.power == pytest.approx((last.energy - before.energy) / 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("device", "mode"), [("cobotic_hand_controller", "MOTION"), ("joystick", "WRENCH")])
def test_the_balance_is_that_of_the_states_and_a_pause_begins_it_anew(
    device: str, mode: str, run: Callable[..., Any]
) -> None:
    _, leader = run(
        mode=mode, device=device, passivity="control", duration=0.06, shown=("device/passivity",), pause=(30, 0.0)
    )
    energy, last = 0.0, leader.states[0]
    for state, balance in zip(leader.states, leader.balances, strict=True):
        moved = np.subtract(state.joint_position, last.joint_position)
        energy = 0.0 if state.tick in (0, 31) else energy - float(np.dot(state.joint_effort, moved))
        assert balance.energy == pytest.approx(energy, rel=1e-9, abs=1e-15)
        last = state
    assert energy != 0.0


@pytest.mark.slow
def test_off_is_the_default_and_observing_changes_no_bit(run: Callable[..., Any]) -> None:
    (plain, first), (observed, second) = (
        run(mode="WRENCH", duration=0.05, **given) for given in ({}, {"passivity": "observe"})
    )
    assert not plain.count_publishers("device/passivity") and observed.count_publishers("device/passivity") == 1
    assert first.states == second.states and first.balances == []
