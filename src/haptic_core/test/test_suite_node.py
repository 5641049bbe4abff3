"""Nodes on a live graph: parameters, lifecycle, reset."""

from __future__ import annotations

import inspect
import linecache
import math
import os
import signal
import subprocess
import sys
from typing import Any

import pytest
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message
from rosgraph_msgs.msg import Clock
from std_srvs.srv import Trigger

from haptic_core import process, rendering_node, suite_node
from haptic_core.commands import WRENCH
from haptic_core.errors import ParameterError
from haptic_core.messages import detail_of
from haptic_core.qos import clock_qos, tick_qos
from haptic_core.start import waiting
from haptic_msgs.msg import DeviceCommand, DeviceState

SUCCESS = TransitionCallbackReturn.SUCCESS

# ---- parameters -----------------------------------------------------------------------------------


def test_overrides_of_declared_parameters_are_taken_in_their_type(make):
    node = make(damping=3).node
    assert node.parameters["damping"] == 3.0
    assert node.get_parameter("damping").type_ == Parameter.Type.DOUBLE


def test_an_override_of_an_unknown_parameter_is_refused_by_name(make):
    with pytest.raises(ParameterError, match=r"parameter dampnig: unknown, expected one of .*damping"):
        make(dampnig=3.0)


def test_an_override_out_of_bounds_is_refused_by_name_bound_and_unit(make):
    with pytest.raises(ParameterError, match=r"parameter damping: expected from 0 to 100 \[N s/m\], got -1.0"):
        make(damping=-1.0)


def test_a_parameter_of_two_files_is_refused_by_name(make, damper_type, monkeypatch, tmp_path):
    file = tmp_path / "twice.yaml"
    file.write_text(damper_type.parameter_file.read_text().replace("mass:", "period:"))
    monkeypatch.setattr(damper_type, "parameter_file", file)
    with pytest.raises(ParameterError, match=r"twice\.yaml: period: declared by another file"):
        make()


def test_accepted_changes_act_at_the_next_tick_and_are_published_with_it(make):
    bench = make(change_time=0.0).start()
    assert bench.answer(0, velocity=1.0).tool_wrench.force.x == -2.0
    assert bench.set(damping=5.0, mass=2.0).successful
    event = bench.event("parameter")
    assert (event.source, event.tick, detail_of(event)) == ("damper", 1, {"damping": 5.0, "mass": 2.0})
    assert bench.answer(1, velocity=1.0).tool_wrench.force.x == -5.0


def test_a_change_leads_the_force_to_its_new_value_within_the_change_time(make):
    bench = make(change_time=0.004).start()
    bench.answer(0, velocity=1.0)
    assert bench.set(damping=10.0).successful
    forces = [bench.answer(tick, velocity=1.0).tool_wrench.force.x for tick in range(1, 6)]
    share = [x * x * (3.0 - 2.0 * x) for x in (0.25, 0.5, 0.75, 1.0, 1.0)]
    assert forces == [-2.0 - 8.0 * s for s in share]
    assert bench.set(damping=2.0).successful
    assert bench.answer(6, velocity=1.0).tool_wrench.force.x == -10.0 + 8.0 * share[0]
    assert bench.set(activation_timeout=7.0, damping=2.0).successful  # nothing that acts changes: the ramp goes on
    assert bench.answer(7, velocity=1.0).tool_wrench.force.x == -10.0 + 8.0 * share[1]


def test_a_reset_ends_the_ramp_of_a_change(make):
    bench = make(change_time=0.004).start()
    bench.answer(0, velocity=1.0)
    assert bench.set(damping=10.0).successful
    bench.node.restart()
    assert bench.answer(1, velocity=1.0).tool_wrench.force.x == -10.0


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"mass": 3.0, "damping": -1.0}, "parameter damping: expected from 0 to 100 [N s/m], got -1.0"),
        ({"mass": 3.0, "damping": math.nan}, "parameter damping: expected finite [N s/m], got nan"),
        ({"mass": 0.5, "damping": 40.0}, "damping: too much for the mass"),
        ({"damping": 5.0, "period": 0.002}, "read-only parameter: period"),
        ({"damping": 5.0, "mass": "heavy"}, "Wrong parameter type"),
        ({"damping": 5.0, "mass": None}, ""),  # would undeclare it
        ({"damping": 5.0, "dampnig": 1.0}, ""),  # rclpy's own refusal names nothing
    ],
)
def test_a_refused_change_changes_nothing_at_all(make, values, reason):
    bench = make().start()
    before = dict(bench.node.parameters)
    result = bench.set(**values)
    assert not result.successful and reason in result.reason
    assert bench.node.parameters == before
    assert bench.node.get_parameter("damping").value == 2.0
    assert bench.answer(0, velocity=1.0).tool_wrench.force.x == -2.0


def test_a_change_between_configure_and_activate_acts(make):
    bench = make()
    assert bench.node.trigger_configure() == SUCCESS
    assert bench.set(damping=7.0).successful
    assert bench.node.damping == 7.0
    assert not bench.set(mass=0.1).successful  # build refuses


# ---- lifecycle ------------------------------------------------------------------------------------


def test_a_node_goes_through_its_lifecycle_twice_and_starts_from_tick_zero_again(make):
    bench = make()
    for _ in range(2):
        bench.start()
        assert [bench.answer(tick, velocity=1.0).mode for tick in (0, 1)] == [WRENCH, WRENCH]
        bench.commands.clear()
        assert (bench.node.trigger_deactivate(), bench.node.trigger_cleanup()) == (SUCCESS, SUCCESS)
        bench.until(lambda: not bench.states.get_subscription_count())


def test_an_inactive_node_does_not_answer(make):
    bench = make()
    taken, take = [], bench.node._on_device_state
    bench.node._on_device_state = lambda data: (take(data), taken.append(deserialize_message(data, DeviceState).tick))
    bench.start().answer(0)
    assert bench.node.trigger_deactivate() == SUCCESS
    bench.publish(1)
    bench.until(lambda: taken == [0, 1])
    assert bench.node.trigger_activate() == SUCCESS
    bench.answer(2)
    assert [command.tick for command in bench.commands] == [0, 2]


def test_activation_announces_mode_and_parameters(make):
    detail = detail_of(make().start().event("state"))
    assert (detail["state"], detail["mode"], detail["parameters"]["damping"]) == ("active", "WRENCH", 2.0)


def test_a_refused_configuration_leaves_the_node_unconfigured_until_it_is_corrected(make):
    node = make(damping=40.0, mass=0.5).node
    assert node.trigger_configure() != SUCCESS and not node.configured
    assert node.set_parameters([Parameter("mass", value=1.0)])[0].successful
    assert node.trigger_configure() == SUCCESS and node.damping == 40.0


def test_an_error_in_the_code_of_a_configuration_is_logged_with_its_place(make, monkeypatch, capfd):
    node = make().node
    monkeypatch.setattr(node, "build", lambda parameters: parameters["inertia"])
    assert node.trigger_configure() != SUCCESS and not node.configured
    told = capfd.readouterr().err
    assert "configure failed:" in told and "KeyError: 'inertia'" in told and "test_suite_node.py" in told


def without_device(bench: Any) -> Any:
    bench.device.destroy_subscription(next(s for s in bench.device.subscriptions if s.topic_name.endswith("command")))
    return bench


def test_without_a_device_a_node_ends_in_time(make, capfd):
    bench = without_device(make(activation_timeout=0.1))
    bench.node.start()
    bench.until(lambda: bench.node.finished)
    assert bench.node.exit_code == 1
    line = f"waited 0.1 s for the subscribers; still missing: a device on {bench.node.get_namespace()}/device_command"
    assert line in capfd.readouterr().err


def test_without_a_device_a_node_of_a_manager_becomes_inactive_in_time(make):
    bench = without_device(make(activation_timeout=0.1, autostart=False))
    assert (bench.node.trigger_configure(), bench.node.trigger_activate()) == (SUCCESS, SUCCESS)
    bench.until(lambda: not bench.node.active)
    assert not bench.node.finished and bench.node.waiting_for == ""
    assert bench.node.trigger_activate() == SUCCESS


def test_a_node_that_waits_for_its_device_answers_calls_of_its_lifecycle(make):
    """Activation does not block: the transition is answered, then the state; the diagnostics name what is missing."""
    bench = without_device(make())
    for transition in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
        request = ChangeState.Request(transition=Transition(id=transition))
        assert bench.call(ChangeState, "change_state", request).success
    assert bench.call(GetState, "get_state", GetState.Request()).current_state.label == "active"
    missing = f"waiting for a device on {bench.node.get_namespace()}/device_command"
    told = bench.until(lambda: [status for status in bench.diagnostics if status.message == missing])
    assert told[0].level == DiagnosticStatus.WARN
    assert not [event for event in bench.events if event.kind == "state"]
    request = ChangeState.Request(transition=Transition(id=Transition.TRANSITION_DEACTIVATE))
    assert bench.call(ChangeState, "change_state", request).success
    assert not bench.node.active and bench.node.waiting_for == ""


def test_a_tick_that_comes_before_the_announcement_is_answered_after_it(make):
    bench = without_device(make())
    assert (bench.node.trigger_configure(), bench.node.trigger_activate()) == (SUCCESS, SUCCESS)
    bench.until(bench.states.get_subscription_count)
    bench.publish(0, velocity=1.0)
    bench.until(lambda: bench.node._waiting is not None)
    subscribe = bench.device.create_subscription
    subscribe(DeviceCommand, "device_command", bench.commands.append, tick_qos("lockstep"))
    assert bench.until(lambda: bench.commands)[0].tool_wrench.force.x == -2.0
    assert bench.event("state").tick == 0


def test_a_long_wait_is_logged_once(make, monkeypatch, capfd):
    monkeypatch.setattr(waiting, "PATIENCE", 0.0)
    bench = without_device(make(activation_timeout=0.3))
    bench.node.start()
    bench.until(lambda: bench.node.finished)
    missing = f"a device on {bench.node.get_namespace()}/device_command"
    line = f"waiting for the subscribers; still missing: {missing} (the first time code is compiled)"
    assert capfd.readouterr().err.count(line) == 1


def test_autostart_false_leaves_the_lifecycle_to_a_manager(make):
    node = make(autostart=False).node
    node.start()
    assert not node.configured


def entities(node: Any) -> tuple[int, int]:
    """Numbers of publishers and subscriptions."""
    return len(list(node.publishers)), len(list(node.subscriptions))


def test_a_refused_configure_leaves_nothing_behind(make):
    node = make(inputs=["nonsense"]).node
    before = entities(node)
    assert node.trigger_configure() == TransitionCallbackReturn.FAILURE
    assert entities(node) == before


@pytest.mark.parametrize("step", ["activate", "deactivate"])
def test_after_a_defect_in_a_transition_the_node_can_be_configured_anew(make, monkeypatch, step):
    """It kept its publishers and subscriptions, so that each message counted twice."""
    node = without_device(make()).node
    before = entities(node)
    assert node.trigger_configure() == SUCCESS
    configured = entities(node)
    with monkeypatch.context() as patch:
        patch.setattr(type(node), step, lambda self: 1 // 0)
        if step == "deactivate":
            assert node.trigger_activate() == SUCCESS
        assert getattr(node, f"trigger_{step}")() == TransitionCallbackReturn.ERROR
    assert (node.configured, node.active, entities(node)) == (False, False, before)
    assert (node.trigger_configure(), entities(node)) == (SUCCESS, configured)
    assert node.trigger_activate() == SUCCESS


# ---- requests that rclpy does not expect ----------------------------------------------------------


@pytest.mark.parametrize("transition", [Transition(id=3), Transition(id=200), Transition(label="fly")])
def test_a_transition_that_the_state_does_not_have_is_refused(make, transition):
    """The request ended the process."""
    bench = make().start()
    assert not bench.call(ChangeState, "change_state", ChangeState.Request(transition=transition)).success
    assert bench.answer(0, velocity=1.0).tool_wrench.force.x == -2.0


def test_a_time_before_0_is_ignored(make):
    """One message on /clock ended every process of a lockstep run."""
    bench = make().start()
    clocks = bench.device.create_publisher(Clock, "/clock", clock_qos())
    bench.until(clocks.get_subscription_count)
    clocks.publish(Clock(clock=Time(sec=-1)))
    clocks.publish(Clock(clock=Time(sec=3)))
    bench.until(lambda: bench.node.get_clock().now().nanoseconds == 3_000_000_000)


def test_parameters_of_an_unknown_type_are_refused_together(make):
    """The request ended the process."""
    bench = make().start()
    damping, mass = (Parameter(name, value=5.0).to_parameter_msg() for name in ("damping", "mass"))
    mass.value.type = 77
    answer = bench.call(SetParameters, "set_parameters", SetParameters.Request(parameters=[damping, mass]))
    assert [(one.successful, one.reason) for one in answer.results] == [(False, "parameter mass: unknown type 77")] * 2
    request = SetParametersAtomically.Request(parameters=[damping, mass])
    assert not bench.call(SetParametersAtomically, "set_parameters_atomically", request).result.successful
    assert bench.answer(0, velocity=1.0).tool_wrench.force.x == -2.0


# ---- reset ----------------------------------------------------------------------------------------


def test_reset_answers_and_publishes_the_tick_before_which_it_acted(make):
    bench = make().start()
    for tick in range(3):
        bench.answer(tick)
    response = bench.call(Trigger, "reset", Trigger.Request())
    assert (response.success, response.message) == (True, "damper: reset before tick 3")
    event = bench.event("reset")
    assert (event.source, event.tick) == ("damper", 3)
    assert (event.header.stamp.sec, event.header.stamp.nanosec) == (0, 3_000_000)  # tick x period
    assert bench.node.state.dissipated_energy == 0.0


def test_reset_of_a_node_that_is_not_active_is_refused(make):
    response = make().call(Trigger, "reset", Trigger.Request())
    assert (response.success, response.message) == (False, "damper: not active, nothing to reset")


# ---- logging --------------------------------------------------------------------------------------


def test_the_search_for_a_message_s_caller_is_done_before_the_loop(monkeypatch):
    """rclpy's logger looks up each caller through Python's inspect, which searches all modules the first time."""
    monkeypatch.setattr(inspect, "modulesbyfile", {})
    monkeypatch.setattr(inspect, "_filesbymodname", {})
    process.prepare_logging([])
    assert inspect.modulesbyfile[process.__file__] == "haptic_core.process"


def test_the_files_that_a_node_s_messages_come_from_are_read_before_the_loop(make, monkeypatch):
    monkeypatch.setattr(linecache, "cache", {})
    node = make().node
    process.prepare_logging([node])
    assert {inspect.getsourcefile(type(node)), rendering_node.__file__, suite_node.__file__} <= set(linecache.cache)


# ---- the end --------------------------------------------------------------------------------------

HANGING = """
import signal, sys, time
from rclpy.node import Node
from haptic_core import process

class Hanging(Node):
    finished, exit_code = True, int(sys.argv[1])
    def start(self): pass
    def destroy_node(self):
        left, _ = signal.getitimer(signal.ITIMER_REAL)
        print("destroying", 0.0 < left <= process.END_TIMEOUT, flush=True)
        if left:  # as if it had passed
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            time.sleep(3600.0)
        super().destroy_node()

process.END_TIMEOUT = 3600.0
process.main(lambda: Hanging("hanging"))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("code", "limited", "end"), [(0, True, -signal.SIGALRM), (1, False, 1)])
def test_a_node_that_has_done_its_work_cannot_hang(code: int, limited: bool, end: int):
    """One that failed ends as it can: its exit code must not be lost."""
    environment = {**os.environ, "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    done = subprocess.run([sys.executable, "-c", HANGING, str(code)], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (end, f"destroying {limited}\n"), done.stderr
    assert ("in destroy_node" in done.stderr) == limited


SEVERAL = """
from rclpy.node import Node
from haptic_core import process

class Said(Node):
    finished, exit_code, active = False, 0, False
    def start(self): print("start", self.get_name(), flush=True)
    def destroy_node(self):
        print("destroy", self.get_name(), flush=True)
        super().destroy_node()

class Failing(Said):
    def start(self):
        super().start()
        self.finished, self.exit_code = True, 3

process.main(lambda: [Said("one"), Failing("two"), Said("three")])
"""


def test_one_of_several_nodes_that_finishes_ends_the_process():
    environment = {**os.environ, "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    done = subprocess.run([sys.executable, "-c", SEVERAL], env=environment, capture_output=True, text=True)
    said = [f"start {name}" for name in ("one", "two", "three")] + [
        f"destroy {name}" for name in ("three", "two", "one")
    ]
    assert (done.returncode, done.stdout.splitlines()) == (3, said), done.stderr
