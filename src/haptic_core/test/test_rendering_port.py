"""Passivity of rendering nodes: their messages' energy, the damper in commands, off, two nodes, resets, bad input."""

from __future__ import annotations

import math
import time
from array import array
from pathlib import Path
from typing import Any

import pytest
from machine_speed import limit
from rclpy.context import Context
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.node import Node
from std_srvs.srv import Trigger

from haptic_core.commands import EFFORT, MOTION, NONE, WRENCH
from haptic_core.errors import ParameterError
from haptic_core.messages import detail_of
from haptic_core.parameters import check_all, load_parameter_specs
from haptic_core.qos import recorder_qos, tick_qos
from haptic_core.rendering_port import RenderingPort
from haptic_math.passivity import LEVER
from haptic_msgs.msg import DeviceCommand, DeviceState, FrictionState, PassivityState

T = 1e-3
SPECS = load_parameter_specs(Path(__file__).parents[1] / "haptic_core" / "rendering_node.yaml")


def port(commanded: int, /, **given: Any) -> RenderingPort:
    values = {"passivity": "control", "passivity_largest_damping": 5.0, "passivity_largest_force": 9.0}
    return RenderingPort("node", commanded, check_all(SPECS, {**values, **given}))


def at(x: float, speed: float = 0.0, **fields: Any) -> DeviceState:
    """A device with one joint, and its tool along x, both at x."""
    state = DeviceState(period=T, joint_position=[x], joint_velocity=[speed], joint_effort=[0.0], **fields)
    state.tool_pose.position.x = x
    state.tool_twist.linear.x = speed
    return state


def wanting(mode: int, force: float) -> DeviceCommand:
    command = DeviceCommand(mode=mode, joint_effort=[force])
    command.tool_wrench.force.x = force
    return command


def told(command: DeviceCommand) -> float:
    return command.joint_effort[0] if command.mode == EFFORT else command.tool_wrench.force.x


def step(its: RenderingPort, state: DeviceState, mode: int, force: float) -> tuple[float, PassivityState]:
    """One tick of a node that commands a force; what it then commands, and the balance."""
    command = wanting(mode, force)
    its.arrive(state, command)
    its.hold(state, command)
    return told(command), its.message


# ---- the port ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [EFFORT, WRENCH])
def test_energy_is_that_of_the_held_force_and_the_damper_closes_the_balance(mode: int) -> None:
    its = port(mode)
    assert step(its, at(0.0, 0.1), mode, 1.0)[0] == 1.0
    force, balance = step(its, at(1e-6, 0.1), mode, 0.0)
    assert balance.energy == -1e-6 and balance.power == pytest.approx(-1e-3)
    assert balance.injected_damping == pytest.approx(0.1) and force == pytest.approx(-0.01)
    _, balance = step(its, at(1e-6 + 0.1 * T, 0.1), mode, 0.0)
    assert balance.energy == pytest.approx(0.0, abs=1e-18) and balance.dissipated_energy == pytest.approx(1e-6)
    assert (balance.port, balance.injected_damping) == ("node", pytest.approx(0.0, abs=1e-12))


def test_joints_are_counted_each_and_may_become_more() -> None:
    its = port(EFFORT, passivity="observe")

    def tick(places: list[float], efforts: list[float]) -> float:
        state = DeviceState(period=T, joint_position=places, joint_velocity=[0.0] * len(places))
        command = DeviceCommand(mode=EFFORT, joint_effort=efforts)
        its.arrive(state, command)
        its.hold(state, command)
        return float(its.message.energy)

    assert tick([0.0, 0.0], [1.0, -2.0]) == 0.0
    assert tick([0.3, 0.2], [0.0, 0.0]) == pytest.approx(-0.3 + 0.4)
    assert tick([0.0, 0.0, 0.0], [1.0, 1.0, 1.0]) == 0.0  # another device: it begins anew


def test_torques_are_counted_and_rotation_is_damped() -> None:
    its = port(WRENCH)
    state, command = at(0.0), wanting(WRENCH, 0.0)
    state.tool_twist.angular.z = 2.0
    command.tool_wrench.torque.z = 0.5
    its.arrive(state, command)
    its.hold(state, command)
    angle = 1e-3
    state.tool_pose.orientation.z, state.tool_pose.orientation.w = math.sin(angle / 2), math.cos(angle / 2)
    its.arrive(state, command)
    its.hold(state, command)
    assert its.message.energy == pytest.approx(-0.5 * angle, rel=1e-6)
    assert command.tool_wrench.torque.z == pytest.approx(0.5 - 5.0 * LEVER**2 * 2.0)


def test_the_damper_is_taken_off_before_the_node_fills_its_command_again() -> None:
    """A node may fill but a part of the command that it keeps."""
    its, command = port(WRENCH), wanting(WRENCH, 1.0)
    for x in (0.0, 1e-6):
        state = at(x, 0.1)
        its.arrive(state, command)
        its.hold(state, command)
    assert command.tool_wrench.force.x == pytest.approx(0.99)
    its.arrive(at(1e-6, 0.1), command)
    assert command.tool_wrench.force.x == 1.0


def test_a_mode_motion_node_sees_a_damped_force_and_others_the_true_one() -> None:
    its, command = port(MOTION), DeviceCommand(mode=MOTION)

    def tick(x: float) -> tuple[DeviceState, DeviceState]:
        state = at(x, 0.1, has_force_sensor=True)
        state.tool_wrench.force.x, state.tool_wrench.force.y = -1.0, 0.5
        seen = its.arrive(state, command)
        its.hold(state, command)
        return state, seen

    state, seen = tick(0.0)
    assert seen is state
    state, seen = tick(1e-6)
    assert its.message.energy == pytest.approx(-1e-6) and its.message.injected_damping == pytest.approx(0.1)
    assert (seen.tool_wrench.force.x, seen.tool_wrench.force.y) == (pytest.approx(-1.01), 0.5)
    assert (state.tool_wrench.force.x, seen.tool_twist, seen.has_force_sensor) == (-1.0, state.tool_twist, True)
    assert command == DeviceCommand(mode=MOTION)


@pytest.mark.parametrize("mode", [EFFORT, WRENCH])
def test_a_device_that_does_not_act_takes_and_gives_nothing(mode: int) -> None:
    """In the safe state, and where the node commands nothing."""
    its = port(mode)
    step(its, at(0.0, 0.1, status=DeviceState.STATUS_SAFE_STOP), mode, 1.0)
    force, balance = step(its, at(1e-3, 0.1), mode, 1.0)
    assert (force, balance.energy, balance.injected_damping) == (1.0, 0.0, 0.0)
    step(its, at(1e-3, 0.1), NONE, 1.0)
    assert step(its, at(2e-3, 0.1), mode, 1.0)[1].energy == 0.0


@pytest.mark.parametrize(
    ("name", "value", "energy", "damping"),
    [
        ("passivity_initial_energy", 1e-3, -1e-4, 0.0),
        ("passivity_device_damping", 4.0, -1e-4 + 4.0 * 1e-8 / T, 5.0),
        ("passivity_largest_damping", 2.0, -1e-4, 2.0),
        ("passivity_largest_force", 0.1, -1e-4, 1.0),
        ("passivity_delay", 1, 0.0, 0.0),
        ("mode", "realtime", 0.0, 0.0),
        ("period", 0.1, -1e-4, 0.1),
        ("passivity", "observe", -1e-4, 0.0),
    ],
)
def test_each_parameter_acts(name: str, value: Any, energy: float, damping: float) -> None:
    def balance(**given: Any) -> tuple[float, float]:
        its = port(WRENCH, **given)
        step(its, at(0.0, 0.1), WRENCH, 1.0)
        _, message = step(its, at(1e-4, 0.1), WRENCH, 1.0)
        return message.energy, message.injected_damping

    assert balance() == (-1e-4, 5.0)
    assert balance(**{name: value}) == (pytest.approx(energy), pytest.approx(damping))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("passivity", "on"),
        ("passivity", False),  # what YAML makes of off without quotes
        ("passivity_initial_energy", -1.0),
        ("passivity_device_damping", 1e9),
        ("passivity_largest_damping", math.nan),
        ("passivity_largest_force", -0.1),
        ("passivity_delay", -1),
    ],
)
def test_a_parameter_out_of_its_range_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(ParameterError, match=f"^parameter {name}: expected"):
        check_all(SPECS, {name: value})


# ---- the node ---------------------------------------------------------------------------------------------


class Balances:
    """Collects the messages that the node of a bench publishes about the energy of its port."""

    def __init__(self, bench: Any) -> None:
        self.bench, self.messages = bench, []
        node: Node = bench.device
        name = f"{bench.node.get_name()}/passivity"
        self.heard = node.create_subscription(PassivityState, name, self.messages.append, tick_qos("lockstep"))

    def run(self, places: list[float], *, bad: int = -1, push: float = 0.0) -> list[DeviceCommand]:
        """One tick at each place, at a speed of 0.1 m/s and with a user's force; no number for the speed at `bad`."""
        commands = []
        for tick, x in enumerate(places):
            state = at(x, 0.1 if tick != bad else math.nan)
            state.tick, state.tool_wrench.force.x = tick, push
            self.bench.states.publish(state)
            commands.append(self.bench.until(lambda k=tick: [c for c in self.bench.commands if c.tick == k])[0])
        return commands


WAY = [1e-6 * k * k for k in range(12)]


def test_off_is_the_default_and_nothing_is_published_and_observing_changes_no_bit(make: Any) -> None:
    streams = []
    for given in ({}, {"passivity": "observe"}):
        bench = make(**given)
        balances = Balances(bench)
        bench.start()
        if given:
            bench.until(balances.heard.get_publisher_count)
        streams.append(balances.run(WAY))
        assert balances.heard.get_publisher_count() == len(given)
        if given:
            bench.until(lambda heard=balances.messages: len(heard) == len(WAY))
    assert streams[0] == streams[1]  # of numbers, exactly


def test_the_node_publishes_the_energy_of_its_commands_each_tick(make: Any) -> None:
    bench = make(passivity="observe", damping=3.0)
    balances = Balances(bench)
    bench.start()
    bench.until(balances.heard.get_publisher_count)
    balances.run(WAY)
    bench.until(lambda: len(balances.messages) == len(WAY))
    assert [message.tick for message in balances.messages] == list(range(len(WAY)))
    # the damper commands -3 * 0.1 N all the way
    for message, x in zip(balances.messages, WAY, strict=True):
        assert message.energy == pytest.approx(0.3 * x) and message.injected_damping == 0.0
    assert {message.port for message in balances.messages} == {"damper"}


def active(bench: Any) -> Any:
    """A node that pushes along: a damper of -40 N s/m."""
    bench.start()
    bench.node.damping = -40.0
    return bench


def test_control_damps_within_its_bounds_which_are_fixed(make: Any) -> None:
    bench = active(make(passivity="control", passivity_largest_damping=3.0))
    balances = Balances(bench)
    bench.until(balances.heard.get_publisher_count)
    forces = [command.tool_wrench.force.x for command in balances.run(WAY)]
    assert forces[0] == 4.0 and forces[1] < 4.0  # 4 N did 4 uJ of work on the first way
    assert forces[-1] == pytest.approx(4.0 - 3.0 * 0.1)
    numbers = ("initial_energy", "device_damping", "largest_damping", "largest_force")
    for name in (*(f"passivity_{number}" for number in numbers), "passivity"):
        refused = bench.set(**{name: "off" if name == "passivity" else 1.5})
        assert not refused.successful and name in refused.reason


def test_a_reset_forgets_the_energy_and_bad_input_adds_none(make: Any) -> None:
    bench = active(make(passivity="observe"))
    balances = Balances(bench)
    bench.until(balances.heard.get_publisher_count)
    commands = balances.run([*WAY, WAY[-1] + 1e-3], bad=5)
    assert [command.mode for command in commands[4:7]] == [WRENCH, NONE, WRENCH]
    bench.until(lambda: len(balances.messages) == len(WAY) + 1)
    energies = [message.energy for message in balances.messages]
    # tick 5 had no place; nothing was commanded until tick 6
    assert energies[6] == energies[5] == energies[4] == pytest.approx(-4.0 * WAY[4])
    assert energies[-1] == pytest.approx(-4.0 * (WAY[4] + WAY[-1] - WAY[6] + 1e-3))
    assert all(math.isfinite(energy) for energy in energies)
    assert bench.call(Trigger, "reset", Trigger.Request()).success
    state = at(0.0, 0.1)
    state.tick = len(energies)
    bench.states.publish(state)
    assert bench.until(lambda: balances.messages[len(energies) :])[0].energy == 0.0


def test_two_nodes_have_balances_of_their_own(make: Any) -> None:
    gives, takes = active(make(passivity="control")), make(passivity="control").start()
    energies = []
    for bench in (gives, takes):
        balances = Balances(bench)
        bench.until(balances.heard.get_publisher_count)
        balances.run(WAY)
        bench.until(lambda heard=balances.messages: len(heard) == len(WAY))
        energies.append([message.energy for message in balances.messages])
        damped = [message.injected_damping > 0.0 for message in balances.messages]
        assert any(damped) == (bench is gives)
    assert min(energies[0]) < 0.0 < max(energies[1]) and min(energies[1]) == 0.0


def test_a_recorded_node_waits_until_its_balance_is_recorded_too(make: Any, context: Context) -> None:
    bench = make(passivity="observe", recorded=True, activation_timeout=limit(20.0))  # only a defect lets it pass
    node = bench.node
    recorder = Node("recorder", context=context, namespace=node.get_namespace())
    try:
        for kind, topic in ((DeviceCommand, "device_command"), (FrictionState, f"{node.get_name()}/state")):
            recorder.create_subscription(kind, topic, lambda _: None, recorder_qos())
        assert node.trigger_configure() == TransitionCallbackReturn.SUCCESS
        assert node.trigger_activate() == TransitionCallbackReturn.SUCCESS
        topic = f"{node.get_namespace()}/{node.get_name()}/passivity"
        bench.until(lambda: [s for s in bench.diagnostics if s.message == f"waiting for recorder of {topic}"])
        time.sleep(0.2)
        bench.executor.spin_once(timeout_sec=0.1)
        assert node.waiting_for == f"recorder of {topic}" and not [
            event for event in bench.events if event.kind == "state"
        ]
        recorder.create_subscription(PassivityState, f"{node.get_name()}/passivity", lambda _: None, recorder_qos())
        assert detail_of(bench.event("state"))["state"] == "active" and node.waiting_for == ""
    finally:
        recorder.destroy_node()


def test_motion_node_gets_the_user_s_force_minus_the_damper_s(make: Any, damper_type: Any) -> None:
    class Led(damper_type):  # type: ignore[misc]
        command_mode = "MOTION"

        def render(self, device: DeviceState) -> None:
            self.command.motion_fields = DeviceCommand.FIELD_VELOCITY
            self.command.tool_twist.linear.x = device.tool_wrench.force.x / 10.0

    speeds = []
    for control in ("observe", "control"):
        bench = make(Led, passivity=control)
        balances = Balances(bench)
        bench.start()
        bench.until(balances.heard.get_publisher_count)
        speeds.append([command.tool_twist.linear.x for command in balances.run(WAY, push=-2.0)])
    assert speeds[0] == [-0.2] * len(WAY)
    assert speeds[1][0] == -0.2 and speeds[1][-1] == pytest.approx((-2.0 - 1.0 * 0.1) / 10.0)


def test_a_node_that_commands_nothing_has_no_port(make: Any, damper_type: Any) -> None:
    class Silent(damper_type):  # type: ignore[misc]
        command_mode = "NONE"

    bench = make(Silent, passivity="control")
    balances = Balances(bench)
    bench.start()
    assert [command.mode for command in balances.run(WAY[:3])] == [NONE] * 3
    assert not balances.heard.get_publisher_count()


def test_joint_efforts_of_a_command_may_be_a_kept_array() -> None:
    its, command = port(EFFORT), DeviceCommand(mode=EFFORT, joint_effort=array("d", [1.0]))
    kept = command.joint_effort
    for x in (0.0, 1e-6):
        its.arrive(at(x, 0.1), command)
        its.hold(at(x, 0.1), command)
    assert kept is command.joint_effort and kept[0] == pytest.approx(0.99)
