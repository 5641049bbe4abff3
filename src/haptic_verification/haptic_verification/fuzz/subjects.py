"""Nodes under test for `messages`, started in this process without other nodes.

A `CapturedTopics` replaces the transport of their tick topics; their timers, services and parameters are unchanged.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from diagnostic_msgs.msg import KeyValue
from geometry_msgs.msg import PoseStamped
from rclpy.context import Context
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.logging import LoggingSeverity
from rclpy.parameter import Parameter
from std_msgs.msg import String

from admittance_constraints.node import ConstraintNode
from convex_contact.node import ContactNode
from haptic_bags.recorder import Recorder
from haptic_core.commands import MODE_NAMES
from haptic_core.errors import HapticError
from haptic_core.events import make_event
from haptic_core.rendering_node import RenderingNode
from haptic_devices.hands.operator import HandHeldDevice
from haptic_devices.node.device_node import DeviceNode
from haptic_files.entries import node_and_kind
from haptic_friction.comparison_node import ComparisonNode
from haptic_friction.network_node import NetworkNode
from haptic_friction.node import FrictionNode
from haptic_msgs.msg import (
    BodyStates,
    ConstrainedReference,
    ContactArray,
    ContactPlanes,
    DeviceCommand,
    DeviceState,
    FrictionState,
    TickEvent,
    WallState,
)
from haptic_verification.fuzz.captured_topics import CapturedTopics
from haptic_verification.fuzz.messages import REFUSED, Port, Subject, is_finite
from haptic_viewer.node import Viewer
from tau_wall_control import TauDevice
from tau_wall_control.node import WallNode

PERIOD = 1e-3
_NAMESPACE = "/fuzz"
_DISK = ["mass=1.0", "inertia=[0.003, 0.006, 0.003]", "radius=0.1"]

#: rendering nodes by name: class and parameters
RENDERING: dict[str, tuple[type[RenderingNode], dict[str, Any]]] = {
    "friction": (FrictionNode, {}),
    "friction, admittance": (FrictionNode, {"rendering": "admittance", "model": "A"}),
    "friction, on walls": (FrictionNode, {"inputs": ["wall"]}),
    "friction, on contacts": (FrictionNode, {"inputs": ["contact:contacts"], "load_body": 1}),
    "friction, between bodies": (FrictionNode, {"inputs": ["contact:bodies"], "first": -1, "second": 1}),
    "friction, on a reference": (FrictionNode, {"inputs": ["constraints"]}),
    "comparison": (ComparisonNode, {}),
    "network": (NetworkNode, {}),
    "constraint": (ConstraintNode, {"mechanism_parameters": _DISK}),
    "constraint, with inputs": (
        ConstraintNode,
        {
            "mechanism_parameters": _DISK,
            "inputs": ["contact:contacts", "friction"],
            "delayed_inputs": ["contact:contacts", "friction"],
            "contact_body": 1,
        },
    ),
    "contact": (ContactNode, {}),
    "contact, with inputs": (
        ContactNode,
        {
            "world": "tau_touch_world",
            "touch_radius": 0.004,
            "inputs": ["wall", "friction"],
            "delayed_inputs": ["wall", "friction"],
        },
    ),
    "wall": (WallNode, {"scheme": "sopc"}),
    "wall, on planes": (WallNode, {"scheme": "sopc", "inputs": ["contact:planes"]}),
}
#: device nodes by name: parameters
DEVICES: dict[str, dict[str, Any]] = {
    "device, joystick": {"device": "joystick"},
    "device, five_bar": {"device": "five_bar"},
    "device, cobotic_hand_controller": {"device": "cobotic_hand_controller", "motion": "steering"},
    "device, tau": {"device": "tau", "motion": "wall_push"},
    "device, scripted": {"device": "scripted"},
}


def make_node(kind: Any, context: Context, parameters: Mapping[str, Any], **options: Any) -> Any:
    """Creates a node in this process that logs nothing; `options` are arguments of its class."""
    overrides = [Parameter(name, value=value) for name, value in parameters.items()]
    node = kind(context=context, parameter_overrides=overrides, namespace=_NAMESPACE, **options)
    node.get_logger().set_level(LoggingSeverity.FATAL)
    return node


def started_node(kind: Any, context: Context, parameters: Mapping[str, Any], topics: CapturedTopics) -> Any:
    """Creates a node, and configures and activates it.

    Raises:
        HapticError: The node cannot be configured or activated.
    """
    node = make_node(kind, context, parameters, transport=topics)
    if (node.trigger_configure(), node.trigger_activate()) != (TransitionCallbackReturn.SUCCESS,) * 2:
        raise HapticError(f"{kind.__name__}: not started")
    return node


def _callback(node: Any, topic: str) -> Callable[[Any], None]:
    """Returns the callback of a topic that is not published in every tick."""
    name = f"{_NAMESPACE}/{topic}"
    found: Callable[[Any], None] = next(taken.callback for taken in node.subscriptions if taken.topic_name == name)
    return found


def _captured_topics(output: list[tuple[str, Any]], leave_out: frozenset[str] = frozenset()) -> CapturedTopics:
    """Makes a transport that appends to `output`: the topic, and tick and mode, or False if a number is not finite."""

    def take(topic: str, message: Any) -> None:
        fine = is_finite(message, leave_out | _unused(message))
        output.append((topic, (message.tick, getattr(message, "mode", None)) if fine else False))

    return CapturedTopics(take)


def _unused(message: Any) -> frozenset[str]:
    """Returns the fields of a command that its mode does not use; empty for other messages."""
    if not isinstance(message, DeviceCommand):
        return frozenset()
    numbers = {name for name, kind in message.get_fields_and_field_types().items() if kind != "string"}
    used = {1: {"joint_effort"}, 2: {"tool_wrench"}, 3: numbers - {"joint_effort", "tool_wrench"}}
    return frozenset(numbers - used.get(message.mode, set()))


# ---- good messages ----------------------------------------------------------------------


def device_state(tick: int, joints: int, position: np.ndarray | None = None) -> DeviceState:
    """Creates the state of a device that moves slowly."""
    state = DeviceState(tick=tick, period=PERIOD)
    at = np.zeros(joints) if position is None else position
    state.joint_position, state.joint_velocity, state.joint_effort = at.tolist(), [0.01] * joints, [0.0] * joints
    state.tool_pose.position.x, state.tool_twist.linear.x, state.tool_wrench.force.x = 1e-3 * (tick % 5), 0.01, 0.5
    return state


def _wall_state(tick: int) -> WallState:
    return WallState(
        tick=tick,
        point=[0.0, 0.0, 0.0],
        normal=[0.0, 0.0, 1.0],
        velocity=[0.0, 0.0, 0.0],
        penetration=[1e-4],
        push=[2.0],
        in_contact=[True],
        effort=[0.0] * 6,
        saturation=[0.0] * 6,
    )


def _friction_state(tick: int) -> FrictionState:
    zeros = [0.0, 0.0, 0.0]
    return FrictionState(tick=tick, velocity=zeros, force=[0.1, 0.0, 0.0], elastic_displacement=zeros, sticking=[True])


def _contact_array(tick: int) -> ContactArray:
    zeros = [0.0, 0.0, 0.0]
    return ContactArray(
        tick=tick,
        period=PERIOD,
        body_a=[0],
        body_b=[1],
        position=zeros,
        normal=[0.0, 0.0, 1.0],
        signed_distance=[-1e-4],
        normal_impulse=[1e-3],
        tangential_impulse=zeros,
        slip_velocity=zeros,
        sticking=[True],
    )


def _body_states(tick: int) -> BodyStates:
    zeros = [0.0] * 6
    return BodyStates(
        tick=tick, position=zeros, orientation=[0.0, 0.0, 0.0, 1.0] * 2, velocity=zeros, angular_velocity=zeros
    )


def _reference(tick: int) -> ConstrainedReference:
    zeros = [0.0] * 4
    return ConstrainedReference(
        tick=tick, z=zeros, z_velocity=zeros, q=zeros, q_velocity=zeros, q_acceleration=zeros, multipliers=[1.0, 2.0]
    )


def _planes(tick: int) -> ContactPlanes:
    return ContactPlanes(
        tick=tick,
        key=[7],
        body=[0],
        point=[0.0, 0.0, -0.01],
        normal=[0.0, 0.0, 1.0],
        signed_distance=[0.01],
        velocity=[0.0, 0.0, 0.0],
        inverse_mass=[0.0],
    )


_INPUTS: dict[str, Callable[[int], Any]] = {
    "wall": _wall_state,
    "friction": _friction_state,
    "contacts": _contact_array,
    "bodies": _body_states,
    "constraints": _reference,
    "planes": _planes,
}


# ---- nodes ----------------------------------------------------------------------------------------


def rendering_node(name: str, context: Context) -> Subject:
    """Starts the node `name` of RENDERING, active as after its device has matched it."""
    kind, parameters = RENDERING[name]
    output: list[tuple[str, Any]] = []
    topics = _captured_topics(output, frozenset({"cost", "condition_number"}))
    node = started_node(kind, context, parameters, topics)
    joints, position = 2, None
    if kind is WallNode:
        joints, position = 6, np.asarray(TauDevice.default().inverse_kinematics(np.zeros(3), np.eye(3)))
    checked = REFUSED | {"wrong length", "huge array"}

    def source(entry: str) -> Callable[[int], Any]:
        make, late = _INPUTS[node_and_kind(entry)[1]], entry in parameters.get("delayed_inputs", ())
        return lambda tick: make(max(tick - late, 0))

    ports = [
        Port(
            entry,
            source(entry),
            topics.input_of(node, entry),
            checked=frozenset({"not finite", "extreme", "no bytes"}),  # ticks may be ahead, some arrays are unused
        )
        for entry in parameters.get("inputs", ())
    ]
    take = topics.callbacks["device_state"]
    ports.append(Port("device_state", lambda tick: device_state(tick, joints, position), take, checked=checked))
    mode = node.command_mode

    def answered(tick: int) -> bool:
        if getattr(getattr(node, "walls", None), "stopped", ""):
            node.reset()  # the service that ends a safe stop
        commands = [what for topic, what in output if topic.endswith("device_command")]
        return len(commands) > 0 and commands[-1][1] == MODE_NAMES.index(mode)

    return Subject(name, ports, lambda: node.next_tick, node.rejections.counts, output, answered, node.destroy_node)


def device_node(name: str, context: Context) -> Subject:
    """Starts the node `name` of DEVICES in lockstep with two sources; it has published its first tick."""
    output: list[tuple[str, Any]] = []
    topics = _captured_topics(output)
    parameters = {**DEVICES[name], "sources": ["one", "other"], "duration": 1e6}
    node = started_node(DeviceNode, context, parameters, topics)
    node.begin()
    joints = len(node.device.joints)
    last = [node.tick]
    if isinstance(node.device, HandHeldDevice):
        node.device.hold_handle(True)

    def make(source: str, first: bool) -> Callable[[int], DeviceCommand]:
        def command(tick: int) -> DeviceCommand:
            message = DeviceCommand(tick=tick, source=source)
            if node.device.kind == "admittance":
                message.mode = 3 if first else 0
                message.motion_fields = 7
                pose, tool = message.tool_pose, node.device.read().tool_pose
                p, q = pose.position, pose.orientation
                p.x, p.y, p.z, q.x, q.y, q.z, q.w = tool.tolist()
            else:
                message.mode = 1 if first else 2
                message.joint_effort = [0.001] * joints if first else []
                message.tool_wrench.force.x = 0.01
            return message

        return command

    def answered(tick: int) -> bool:
        moved, last[0] = node.tick > last[0], node.tick
        return moved

    def fine() -> bool:
        truth = node.device.truth()
        return truth is None or bool(np.isfinite(truth.values).all())

    def take(data: Any) -> None:
        topics.callbacks["device_command"](data)
        node.advance_if_due()
        if not fine():
            output.append(("simulation_state", False))

    checked = frozenset({"duplicate", "late", "far tick", "wrong source", "no bytes"})
    ports = [Port(source, make(source, source == "one"), take, checked=checked) for source in ("one", "other")]
    ports += [
        event_port(_callback(node, "tick_event"), "one"),
        Port("operator_handle", _handle, _callback(node, "operator_handle"), False, frozenset()),
    ]
    return Subject(name, ports, lambda: node.tick, node.rejections.counts, output, answered, node.destroy_node)


#: wrong contents of an event: paths and texts
_VALUES: tuple[dict[str, str], ...] = (
    *({"": ""}, {"": "null"}, {"/": "7"}, {"a": "1", "a/b": "2"}, {"parameters/": "{"}, {"state": "NaN"}, {}),
    *({"state": "3"}, {"state": "active"}, {"parameters": "5"}, {"state": "[" * 9999}, {"state": "{", "~2": "~"}),
    {"state": "active", "mode": "4", "parameters": "{}"},
    {"state": "active", "mode": "WRENCH", "parameters/inputs": "3"},
    {"state": "active", "mode": "WRENCH", "parameters/inputs": "[1, null]"},
    {"state": "active", "parameters/sources": "3", "parameters/period": "x", "parameters/mode": "[]"},
    {"state": "active", "parameters": '{"sources": [4], "period": 0.001, "mode": "lockstep"}'},
    {"state": "active", "up_axis": "q", "parameters": '{"sources": [], "period": 0.001, "mode": "lockstep"}'},
    {"state": "inactive", "ticks": "many"},
)
_EVENTS = ("state", "parameter", "pause", "hold", "reset", "")


def _event(source: str, tick: int) -> TickEvent:
    values = [KeyValue(key=key, value=value) for key, value in _VALUES[tick % len(_VALUES)].items()]
    return TickEvent(tick=tick, source=source, kind=_EVENTS[tick % 6], values=values)


def event_port(take: Callable[[TickEvent], Any], source: str) -> Port:
    """Makes the port of the topic tick_event; rclpy discards bytes that are no message."""
    return Port("tick_event", lambda tick: _event(source, tick), take, False, frozenset())


def _handle(tick: int) -> PoseStamped:
    message = PoseStamped()
    message.pose.position.x = 1e-3 * (tick % 7)
    return message


def recorder(name: str, context: Context) -> Subject:
    """Starts the recorder of an experiment with several nodes; its bag is deleted at the end."""
    folder = tempfile.TemporaryDirectory(prefix="haptics-fuzz-")
    node = make_node(Recorder, context, {"experiment": "tau_touch_world", "output": f"{folder.name}/bag"})
    if node.trigger_configure() != TransitionCallbackReturn.SUCCESS:
        raise HapticError(f"{name}: not configured")
    by_type = {type(make(0)).__name__: make for make in _INPUTS.values()}
    by_type |= {"DeviceState": lambda tick: device_state(tick, 6), "TickEvent": lambda tick: _event("device", tick)}
    taken = [0]

    def port(subscription: Any) -> Port | None:
        make = by_type.get(subscription.msg_type.__name__)
        if make is None:
            return None
        topic = subscription.topic_name.removeprefix(_NAMESPACE)  # as the experiment and the bag name it
        return Port(topic, make, subscription.callback, checked=frozenset({"no bytes"}))

    def close() -> None:
        node.close()
        node.destroy_node()
        folder.cleanup()

    def answered(tick: int) -> bool:
        taken[0] += 1
        return bool(node.diagnostic_values()["messages"] >= taken[0])

    ports = [made for made in map(port, node.subscriptions) if made is not None]
    return Subject(name, ports, lambda: taken[0], node.rejections.counts, [], answered, close)


def viewer(name: str, context: Context) -> Subject:
    """Starts the node of the page, with ports for all messages that a page shows."""
    node = make_node(Viewer, context, {"port": 0})
    node.start()
    ticks = [0]
    take_event = _callback(node, "tick_event")
    detail = {"parameters": {"sources": ["one"], "period": PERIOD, "mode": "lockstep"}}
    take_event(make_event("device", "state", detail))
    ticks = [0]

    def shown(kind: str, make: Callable[[int], Any]) -> Port:
        topic = f"{_NAMESPACE}/device_state" if kind == "DeviceState" else kind
        return Port(kind, make, partial(node.show, topic, f"haptic_msgs/msg/{kind}"), False, frozenset())

    ports = [
        event_port(take_event, "device"),
        Port("robot_description", _description, _callback(node, "robot_description"), False, frozenset()),
        shown("DeviceState", lambda tick: device_state(tick, 2)),
        *(shown(type(make(0)).__name__, make) for name, make in _INPUTS.items() if name != "planes"),
    ]

    def answered(tick: int) -> bool:
        ticks[0] += 1
        return True

    def close() -> None:
        node.close()
        node.destroy_node()

    return Subject(name, ports, lambda: ticks[0], node.rejections.counts, [], answered, close)


def _description(tick: int) -> String:
    texts = ("", "<robot", "<robot/>", '<robot name="a"/>', '<robot name="a"><link name="b"/></robot>', "x" * 1000)
    return String(data=texts[tick % len(texts)])


def make_subject(name: str, context: Context) -> Subject:
    """Starts a node by its name in SUBJECTS."""
    own = {"recorder": recorder, "page": viewer}
    made = own.get(name) or (rendering_node if name in RENDERING else device_node)
    return made(name, context)


SUBJECTS: tuple[str, ...] = (*RENDERING, *DEVICES, "recorder", "page")
