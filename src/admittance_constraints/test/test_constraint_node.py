"""The constraint node: its parameters, which all act, and its answers on a live graph.

Steps run in CasADi's virtual machine here, but for one test: that the node's are compiled.
"""

from __future__ import annotations

import functools
import itertools
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from machine_speed import limit
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.node import Node
from rclpy.parameter import Parameter
from scipy.spatial.transform import Rotation
from std_srvs.srv import Trigger
from visualization_msgs.msg import Marker, MarkerArray

from admittance_constraints import ReferenceGenerator
from admittance_constraints.display import factory
from admittance_constraints.display.approach import ToolMotion
from admittance_constraints.display.controller import AdmittanceController
from admittance_constraints.display.feedback import pose_difference
from admittance_constraints.node import ConstraintNode
from admittance_constraints.renderer import ConstraintRenderer
from haptic_core import rendering_node
from haptic_core.commands import MOTION, NONE
from haptic_core.errors import InputError, ParameterError
from haptic_core.messages import pose_array, set_pose, set_wrench
from haptic_core.parameters import ParameterSpec, check_all, load_parameter_specs
from haptic_core.qos import EVENT_DEPTH, display_qos, latched_qos, tick_qos
from haptic_msgs.msg import (
    ConstrainedReference,
    ContactArray,
    DeviceCommand,
    DeviceState,
    FrictionState,
    TickEvent,
)

OWN = load_parameter_specs(ConstraintNode.parameter_file)
BASE = load_parameter_specs(rendering_node._BASE_FILE)
#: of the parameters that all rendering nodes have, the one that the reference needs
SPECS = {**OWN, "period": BASE["period"]}

UPRIGHT = Rotation.from_euler("x", 90, degrees=True)
#: on the rolling disk's plane
START = np.array([0.01, 0.02, 0.03, *UPRIGHT.as_quat()])
#: 6 mm above it, and leaning a little
LIFTED = np.array([0.01, 0.02, 0.036, *(Rotation.from_rotvec([0.02, 0.05, 0.0]) * UPRIGHT).as_quat()])


@pytest.fixture(autouse=True)
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factory, "ReferenceGenerator", functools.partial(ReferenceGenerator, compiled=False))


def hand(k: int) -> np.ndarray:
    """A wrench of the user [N; N m]."""
    return np.sin(0.03 * k * np.arange(1, 7) + np.arange(6)) * [2.0, 2.0, 2.0, 0.02, 0.02, 0.02]


def twist_array(twist: Any) -> np.ndarray:
    a, b = twist.linear, twist.angular
    return np.array((a.x, a.y, a.z, b.x, b.y, b.z))


# --- every parameter acts ---------------------------------------------------------------------------------------

#: what all runs need: a way to the start that ends within them
SHORT = {"approach_time": 0.02}
#: what the defaults must be changed to for a parameter to act
CONTEXT: dict[str, dict[str, Any]] = {
    "velocity_projection": {"integrator": "algorithm1"},  # symmetric or orthogonal is the same for rk4
    "largest_correction": {"largest_correction": 0.002},
    "largest_turn_correction": {"largest_turn_correction": 0.01},
    "largest_lead": {"largest_lead": 8e-4},
    "largest_turn_lead": {"largest_turn_lead": 2e-3},
}
#: other values where twice and half the value are none
OTHER: dict[str, list[Any]] = {
    "mechanism": [
        "DiskOnSphere",
        "TwoLinkOnCircle",
        "Pendulum",
        "PointOnSurface",
        "PointOnParaboloid",
        "KnifeEdge",
        "FourBar",
    ],
    "mechanism_parameters": [["mass=0.5"], ["", "inertia=[0.001, 0.002, 0.003]"]],
    "frame_position": [[0.01, 0.0, 0.0], [0.0, 0.0, -0.01]],
    "frame_orientation": [[0.0, 0.0, 0.6, 0.8], [0.1, 0.0, 0.0, 0.995]],
    "tool_orientation": [[0.0, 0.6, 0.0, 0.8]],
    "integrator": ["algorithm1"],
    "friction_force": [0.2, 1.0],
    "friction_torque": [0.002, 0.01],
    "force_deadband": [0.2, 1.0],
    "moment_deadband": [0.002, 0.01],
    "contact_body": [1, 2],
    "world_position": [[0.1, 0.0, 0.0]],
    "world_orientation": [[0.0, 0.0, 0.6, 0.8]],
}
#: what other nodes have found at the tick before: a contact of the bodies 0 and 1
CONTACTS = ContactArray(
    period=1e-3,
    body_a=[0],
    body_b=[1],
    position=[0.05, 0.0, 0.0],
    normal=[0.0, 0.0, 1.0],
    normal_impulse=[1e-4],
    tangential_impulse=[3e-4, 1e-4, 0.0],
)
RUBBING = FrictionState(force=[0.1, -0.2, 0.0])


def base_values(name: str = "", **change: Any) -> dict[str, Any]:
    """The defaults, in the context in which a parameter acts."""
    return check_all(SPECS, {**SHORT, **CONTEXT.get(name, {}), **change})


def other_values(spec: ParameterSpec, value: Any) -> list[Any]:
    if spec.name in OTHER:
        return OTHER[spec.name]
    if "one_of<>" in spec.validation:
        return [choice for choice in spec.validation["one_of<>"][0] if choice != value]
    return [value * 2, value / 2]


def bare(parameters: dict[str, Any]) -> Any:
    """A plain object in the node's place, on which the node's own methods run; ROS need not be started."""
    silent = SimpleNamespace(get_subscription_count=lambda: 0)
    node: Any = SimpleNamespace(
        renderer=None, parameters=parameters, command=DeviceCommand(), state=ConstrainedReference(), tick=0
    )
    node._markers, node._display_ticks, node._canvas = silent, 1, None
    node.inputs = {"world:contacts": CONTACTS, "friction": RUBBING, "other:friction": None}
    ConstraintNode.install(node, ConstraintNode.build(node, parameters))
    return node


def rendered(parameters: dict[str, Any], ticks: int = 70) -> Iterator[tuple[list[float], str]]:
    """The node's answers to a tool that starts off the mechanism and follows with a lag, and its states, by tick."""
    node = bare(parameters)
    device, tool, velocity = DeviceState(period=parameters["period"]), LIFTED.copy(), np.zeros(6)
    for k in range(ticks):
        set_pose(device.tool_pose, tool)
        set_wrench(device.tool_wrench, hand(k))
        ConstraintNode.render(node, device)
        ConstraintNode.fill_state(node)
        command = node.command
        pose, twist = pose_array(command.tool_pose), twist_array(command.tool_twist)
        yield [command.motion_fields, *pose, *twist, *twist_array(command.tool_acceleration)], repr(node.state)
        velocity += 0.2 * (twist - velocity)
        if command.motion_fields & DeviceCommand.POSITION:
            velocity += 20.0 * pose_difference(pose, tool)
        tool[:3] += device.period * velocity[:3]
        tool[3:] = (Rotation.from_rotvec(device.period * velocity[3:]) * Rotation.from_quat(tool[3:])).as_quat()


@functools.cache
def rendered_with(*changes: tuple[str, Any]) -> list[tuple[list[float], str]]:
    """The result of changes of the defaults; each is computed once."""
    return list(rendered(base_values(**dict(changes))))


@pytest.mark.covering(9)
@pytest.mark.parametrize("name", [name for name in SPECS if name != "display_rate"])
def test_changing_the_parameter_changes_what_is_commanded(name: str) -> None:
    values = base_values(name)
    usual = rendered_with(*CONTEXT.get(name, {}).items())
    reaches_reference = not ("gain" in name or "correction" in name or name in ("derivative_cutoff", "feedback"))
    for value in other_values(SPECS[name], values[name]):
        answer_differs = state_differs = False
        for (answer, state), (usual_answer, usual_state) in zip(
            rendered(check_all(SPECS, {**values, name: value})), usual, strict=False
        ):
            answer_differs |= answer != usual_answer
            state_differs |= state != usual_state
            if answer_differs and state_differs:
                break
        assert answer_differs, f"{name} = {value!r} has no effect"
        assert state_differs or not reaches_reference, f"{name} = {value!r} does not reach the reference"


def test_without_friction_the_default_integrator_is_rk4() -> None:
    values = base_values()
    assert list(rendered(values)) == list(rendered({**values, "integrator": "rk4"}))
    values["orientation"] = "quaternion"
    assert list(rendered(values)) == list(rendered({**values, "integrator": "rk4"}))
    values["friction_force"] = 0.1
    assert list(rendered(values)) == list(rendered({**values, "integrator": "algorithm1"}))


@pytest.mark.parametrize("entries", [["mass=0.5", " radius = 0.04 "], ["inertia=[0.001, 0.002, 0.003]"], [""]])
def test_entries_reach_the_mechanism(entries: list[str]) -> None:
    mechanism: Any = bare(base_values(mechanism_parameters=entries)).renderer.controller.generator.mechanism
    found = (mechanism.mass, mechanism.radius, mechanism.principal_inertia)
    assert found == {
        "m": (0.5, 0.04, (0.0025,) * 3), "i": (0.25, 0.03, (0.001, 0.002, 0.003)), "": (0.25, 0.03, (0.0025,) * 3)
    }[entries[0][:1]]  # fmt: skip


@pytest.mark.parametrize("name", OWN["mechanism"].description.partition(": ")[2].partition(", or one")[0].split(", "))
def test_every_mechanism_that_the_description_names_can_be_rendered(name: str) -> None:
    answers = np.array([answer for answer, _ in rendered(base_values(mechanism=name), ticks=30)])
    assert np.isfinite(answers).all() and answers[:, 8:].any()


def test_the_nodes_step_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factory, "ReferenceGenerator", ReferenceGenerator)
    node = bare(base_values(mechanism="Pendulum"))
    assert node.renderer.controller.generator.is_compiled


def test_what_the_inputs_bring_acts_beside_the_hand() -> None:
    """At the tool of a hand that lets go: the sum of both, less no deadband, at the place of the last reference."""
    node = bare(base_values(mechanism="PointOnParaboloid", contact_body=1, force_deadband=5.0))
    device = DeviceState(period=1e-3)
    device.tool_pose.orientation.w = 1.0
    for _ in range(2):  # nothing has come of a reference before the first
        ConstraintNode.render(node, device)
    reference = node.renderer.reference
    # (contact along x and y, normal part to the plane) - friction, of 0.5 kg over a period
    np.testing.assert_allclose(reference.q_acceleration, [(0.3 - 0.1) / 0.5, (0.1 + 0.2) / 0.5, 0.0], rtol=1e-12)
    assert reference.multipliers[0] == pytest.approx(-0.1, rel=1e-12)


def test_an_input_that_cannot_be_used_is_an_input_error() -> None:
    node = bare(base_values())
    device = DeviceState(period=1e-3)
    set_pose(device.tool_pose, START)
    ConstraintNode.render(node, device)
    node.inputs = {"friction": FrictionState(force=[1.0])}
    with pytest.raises(InputError, match=r"friction force: expected shape \(3,\), got \(1,\)"):
        ConstraintNode.render(node, device)


def test_a_world_that_is_turned_by_no_rotation_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^world_orientation: expected a quaternion of length 1"):
        bare(base_values(world_orientation=[0.0, 0.0, 0.0, 0.5]))


# --- what is refused --------------------------------------------------------------------------------------------


#: how a refusal of the mechanism begins
MECHANISM = "parameters mechanism, mechanism_parameters: "


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (["mass=0"], MECHANISM + r"mass: expected more than 0, got 0\.0$"),
        (["mass=heavy"], MECHANISM + "mass: expected a number, got 'heavy'$"),
        (["mass=[1, 2]"], MECHANISM + r"mass: expected a number, got \[1, 2\]$"),
        (["mass=.nan"], MECHANISM + "mass: expected a finite number, got nan$"),
        (["inertia=5"], MECHANISM + r"inertia: expected shape \(3,\), got \(1,\)$"),
        (["inertia={a: 1}"], MECHANISM + r"inertia: expected 3 numbers, got \{'a': 1\}$"),
        (["colour=red"], MECHANISM + "mechanism RollingDisk: .* 'colour'$"),
        (["name=red"], MECHANISM + "mechanism RollingDisk: .* 'name'$"),
        (["self=1"], MECHANISM + "mechanism RollingDisk: .* 'self'$"),
        (["mass"], "parameter mechanism_parameters: entry 'mass': expected name=value$"),
        (["mass=[1"], r"parameter mechanism_parameters: entry 'mass=\[1': the value is not YAML$"),
        (["mass=2020-13-45"], "parameter mechanism_parameters: entry 'mass=2020-13-45': the value is not YAML$"),
        (["mass=1", "mass=2"], "parameter mechanism_parameters: entry 'mass=2': mass is given twice$"),
    ],
)
def test_entries_that_cannot_be_used_are_refused_in_one_line(entries: list[str], message: str) -> None:
    with pytest.raises(ValueError, match="^" + message) as caught:
        bare(base_values(mechanism_parameters=entries))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "entry", "message"),
    [
        ("Wheel", "", "mechanism Wheel: expected one of DiskOnSphere, "),
        ("/no/file.py", "", r"mechanism /no/file\.py: expected one of .*; one of your own is an entry point of group "),
        ("no_module:Disk", "", "mechanism no_module:Disk: expected one of DiskOnSphere, .* group haptic_mechanisms$"),
        ("os:system", "", "mechanism os:system: expected one of "),
        ("TwoLinkOnCircle", "base=[-0.36, 0.0]", r"phi\^-1 does not exist at z = "),
        ("TwoLinkOnCircle", "base=[-0.2505, 0.0]", r"it cannot start: phi\^-1 does not exist at z = "),
        ("FourBar", "ground=0.5", ""),
        ("PointOnSurface", "surface=1", "TypeError: 'int' object is not callable$"),
    ],
)
def test_a_mechanism_that_cannot_be_made_is_refused_in_one_line(name: str, entry: str, message: str) -> None:
    with pytest.raises(ValueError, match="^" + MECHANISM + message) as caught:
        bare(base_values(mechanism=name, mechanism_parameters=[entry]))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero$"),
        ("d.forward([nowhere])", "NameError: name 'nowhere' is not defined$"),
        ("raise RuntimeError('one line\\nand another')", "RuntimeError: one line and another$"),
        ("q, v = d.coordinates(1); d.forward(q)", "kinetic_energy"),
    ],
)
def test_a_mechanism_of_ones_own_is_an_entry_point_and_one_that_fails_is_refused_in_one_line(
    body: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    module = f"mine_{tmp_path.name}"
    (tmp_path / f"{module}.py").write_text(
        "from admittance_constraints import Mechanism\n"
        f"class Mine(Mechanism):\n    def define(self, d):\n        {body}\n"
    )
    with pytest.raises(ValueError, match="one of your own is an entry point of group haptic_mechanisms") as caught:
        bare(base_values(mechanism=f"{module}:Mine"))
    assert "\n" not in str(caught.value)
    info = tmp_path / "users_own-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: users-own\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[haptic_mechanisms]\nmine = {module}:Mine\n")
    with pytest.raises(ValueError, match="^" + MECHANISM + ".*" + message) as caught:
        bare(base_values(mechanism="mine"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mechanism": "Pendulum", "orientation": "quaternion"}, "orientation: only a rigid body "),
        (
            {"integrator": "rk4", "friction_force": 1.0},
            "friction_force, friction_torque: expected integrator algorithm1 or symplectic_euler with it, got rk4$",
        ),
        ({"frame_position": [0.0, 1.0]}, r"frame_position: expected shape \(3,\), got \(2,\)$"),
        ({"frame_orientation": [0.0, 1.0]}, r"frame_orientation: expected shape \(4,\), got \(2,\)$"),
        (
            {"frame_orientation": [0, 0, 0.6, 0.6]},
            "frame_orientation: expected a quaternion of length 1, got",
        ),
        ({"tool_orientation": [0, 0, 0, 0]}, "tool_orientation: expected a quaternion of length 1, got length 0$"),
    ],
)
def test_what_does_not_fit_together_is_refused_by_the_parameters_name(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="^" + message) as caught:
        bare(base_values(**change))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("largest_lead", 0.0, r"^parameter largest_lead: expected from 0\.0001 to 10 \[m\], got 0\.0$"),
        ("frame_orientation", [0.0, 0.0, 2.0, 0.0], r"^parameter frame_orientation: expected entries from -1 to 1"),
        ("mechanism", "", r"^parameter mechanism: expected not empty, got ''$"),
        ("feedback", "both", r"^parameter feedback: expected one of node, device, got 'both'$"),
        ("proportional_gain", float("nan"), r"^parameter proportional_gain: expected finite \[1/s\^2\], got nan$"),
    ],
)
def test_values_out_of_their_bounds_are_refused_by_name(name: str, value: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        check_all(SPECS, {name: value})


# --- on a live graph --------------------------------------------------------------------------------------------

SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE
_namespaces = (f"/test_constraints_{os.getpid()}_{number}" for number in itertools.count())


class Bench:
    """The node and a display's side of its topics, served by one executor."""

    def __init__(self, context: Context, **parameters: Any) -> None:
        options = {"context": context, "namespace": next(_namespaces)}
        values = {**SHORT, **parameters}
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        self.values = check_all({**OWN, **BASE}, values)
        self.node = ConstraintNode(parameter_overrides=overrides, **options)
        self.device = Node("device", **options)
        self.states = self.device.create_publisher(DeviceState, "device_state", tick_qos("lockstep"))
        self.commands: list[DeviceCommand] = []
        self.references: list[ConstrainedReference] = []
        self.events: list[TickEvent] = []
        self.markers: list[MarkerArray] = []
        subscribe = self.device.create_subscription
        subscribe(DeviceCommand, "device_command", self.commands.append, tick_qos("lockstep"))
        subscribe(ConstrainedReference, "constraints/state", self.references.append, tick_qos("lockstep"))
        subscribe(TickEvent, "tick_event", self.events.append, latched_qos(EVENT_DEPTH))
        self.executor = SingleThreadedExecutor(context=context)
        for node in (self.node, self.device):
            self.executor.add_node(node)
        self.tick = -1

    def until(self, condition: Callable[[], Any]) -> Any:
        end = time.monotonic() + limit(120.0)
        while not (result := condition()):
            assert time.monotonic() < end, "the awaited condition did not come"
            self.executor.spin_once(timeout_sec=0.1)
        return result

    def start(self) -> Bench:
        assert (self.node.trigger_configure(), self.node.trigger_activate()) == (SUCCESS, SUCCESS)
        self.until(self.states.get_subscription_count)
        return self

    def watch(self) -> None:
        """Looks at the markers from now on."""
        self.device.create_subscription(MarkerArray, "markers", self.markers.append, display_qos())
        self.until(lambda: self.node._markers.get_subscription_count())

    def answer(
        self, tool: np.ndarray = START, wrench: np.ndarray | None = None, status: int = DeviceState.STATUS_OK
    ) -> tuple[DeviceCommand, ConstrainedReference]:
        """Command and state of the next tick."""
        self.tick += 1
        state = DeviceState(tick=self.tick, period=self.values["period"], status=status)
        state.header.frame_id = "display_base"
        set_pose(state.tool_pose, np.asarray(tool, dtype=float))
        set_wrench(state.tool_wrench, np.zeros(6) if wrench is None else wrench)
        self.states.publish(state)
        found = []
        for messages in (self.commands, self.references):
            self.until(lambda messages=messages: messages and messages[-1].tick == self.tick)
            found.append(messages[-1])
        return found[0], found[1]

    def call(self, kind: type, name: str, request: Any) -> Any:
        client = self.device.create_client(kind, f"constraints/{name}")
        self.until(client.service_is_ready)
        future = client.call_async(request)
        self.until(future.done)
        return future.result()

    def set(self, **values: Any) -> SetParametersResult:
        parameters = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        request = SetParametersAtomically.Request(parameters=parameters)
        return self.call(SetParametersAtomically, "set_parameters_atomically", request).result

    def twin(self, **change: Any) -> AdmittanceController:
        """A controller made beside the node from the same parameters."""
        return ConstraintRenderer.from_parameters({**self.values, **change}).controller


@pytest.fixture
def make(context: Context) -> Iterator[Callable[..., Bench]]:
    benches: list[Bench] = []

    def made(**parameters: Any) -> Bench:
        benches.append(Bench(context, **parameters))
        return benches[-1]

    yield made
    for bench in benches:
        bench.executor.shutdown()
        bench.node.destroy_node()
        bench.device.destroy_node()


def says(command: DeviceCommand, motion: ToolMotion) -> None:
    """The command is that motion, to the last bit."""
    np.testing.assert_array_equal(pose_array(command.tool_pose), motion.pose)
    np.testing.assert_array_equal(twist_array(command.tool_twist), motion.twist)
    np.testing.assert_array_equal(twist_array(command.tool_acceleration), motion.acceleration)


@pytest.mark.parametrize(
    ("feedback", "fields"),
    [
        ("node", DeviceCommand.VELOCITY | DeviceCommand.ACCELERATION),
        ("device", DeviceCommand.POSITION | DeviceCommand.VELOCITY | DeviceCommand.ACCELERATION),
    ],
)
def test_the_node_says_what_its_controller_says(make: Callable[..., Bench], feedback: str, fields: int) -> None:
    bench = make(feedback=feedback, frame_position=[0.0, 0.0, 0.01]).start()
    twin = bench.twin()
    for k in range(60):
        command, state = bench.answer(LIFTED, hand(k))
        motion = twin.step(LIFTED, hand(k))
        assert (command.mode, command.motion_fields, command.source) == (MOTION, fields, "constraints")
        assert command.header.frame_id == state.header.frame_id == "display_base"
        says(command, motion)
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


def test_a_change_of_parameters_goes_on_without_a_jump(make: Callable[..., Bench]) -> None:
    """Mass, damping, friction, gains, deadband and bounds change under way; the reference keeps place and velocity."""
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
    """One bad value among good ones; the answers go on as if nobody had asked."""
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
        says(bench.answer(START, hand(k))[0], twin.step(START, hand(k)))
    assert not refusals


def test_the_parameters_of_the_reference_are_those_that_its_generator_is_made_from() -> None:
    asked = set()

    class Asked(dict[str, Any]):
        def __getitem__(self, name: str) -> Any:
            asked.add(name)
            return super().__getitem__(name)

    factory._generator(Asked(base_values(friction_force=1.0)), {})
    assert asked | {"mechanism_parameters"} == set(factory.REFERENCE_PARAMETERS)


def test_only_what_makes_another_reference_derives_it_anew(make: Callable[..., Bench]) -> None:
    """That takes longer than the watchdog of a realtime device."""
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
        says(bench.answer(START, hand(k))[0], twin.step(START, hand(k)))
    for name in factory.REFERENCE_PARAMETERS:
        if not OWN.get(name, BASE.get(name)).read_only:  # type: ignore[union-attr]
            assert bench.set(**{name: OTHER[name][0]}).successful
            assert bench.node.renderer.controller.generator is not before.generator  # type: ignore[union-attr]
            before = bench.node.renderer.controller  # type: ignore[union-attr]


def test_new_dimensions_lead_the_tool_there(make: Callable[..., Bench]) -> None:
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
    says(command, twin.step(LIFTED, hand(3)))
    # it is led to the start: nothing of the motion before is left in the state
    for name in ("z", "z_velocity", "q_acceleration", "multipliers"):
        np.testing.assert_array_equal(getattr(state, name), 0.0)
    assert state.kinetic_energy == 0.0
    # the beginning of the way: 10 s^3 of 6 mm and 0.06 rad at s = 1/20
    np.testing.assert_allclose(pose_array(state.pose), LIFTED, atol=10 / 20**3 * 0.06)
    for k in range(40):
        says(bench.answer(LIFTED, hand(k))[0], twin.step(LIFTED, hand(k)))


def test_a_singular_place_is_answered_with_none_and_counted(make: Callable[..., Bench]) -> None:
    """Angles at the sphere's pole: the display holds; elsewhere the reference starts."""
    bench = make(mechanism="DiskOnSphere").start()
    pole = np.array([0.0, 0.0, 0.05, 0.0, 0.0, 0.0, 1.0])
    assert [bench.answer(pole, hand(k))[0].mode for k in range(3)] == [NONE] * 3
    assert bench.node.rejections.counts == {"singular": 3}
    assert bench.call(Trigger, "reset", Trigger.Request()).success
    side = np.array([0.0, -0.05, 0.0, *UPRIGHT.as_quat()])
    assert [bench.answer(side, hand(k))[0].mode for k in range(3)] == [MOTION] * 3
    assert bench.node.rejections.counts == {"singular": 3}


def test_a_tool_on_the_axis_of_a_surface_is_led_to_it(make: Callable[..., Bench]) -> None:
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
def test_while_the_device_is_not_ok_the_reference_stands(make: Callable[..., Bench], status: int) -> None:
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
    says(bench.answer(START, hand(1))[0], twin.step(START, hand(1)))


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


def test_without_somebody_who_looks_nothing_is_drawn(make: Callable[..., Bench]) -> None:
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
        says(bench.answer(LIFTED, hand(k))[0], twin.step(LIFTED, hand(k)))


def test_a_node_that_cannot_be_configured_says_why_in_one_line(
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
