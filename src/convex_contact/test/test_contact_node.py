"""The contact node: its parameters, which all act, and its answers on a live graph."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from node_bench import FAILURE, SUCCESS, NodeBench, made_benches
from node_parameters import other_values
from rclpy.context import Context
from scipy.spatial.transform import Rotation
from std_srvs.srv import Trigger
from visualization_msgs.msg import Marker

from convex_contact import ConvergenceError, World
from convex_contact.haptics.rendering import ContactRendering, make_rendering
from convex_contact.model.world_source import open_world
from convex_contact.node import ContactNode, fill_contacts, scene_message, worlds_folder
from haptic_core import rendering_node
from haptic_core.commands import NONE, WRENCH
from haptic_core.errors import ParameterError
from haptic_core.messages import set_pose, set_twist, view, wrench_array
from haptic_core.parameters import check_all, load_parameter_specs
from haptic_core.qos import latched_qos, tick_qos
from haptic_core.transport.interface import RosTopics
from haptic_msgs.msg import (
    BodyStates,
    ConstrainedReference,
    ContactArray,
    ContactPlanes,
    DeviceCommand,
    DeviceState,
    FrictionState,
    Scene,
    SolverStatistics,
    WallState,
)

OWN = load_parameter_specs(ContactNode.parameter_file)
BASE = load_parameter_specs(rendering_node._BASE_FILE)
SPECS = {**OWN, "period": BASE["period"]}

#: a finger among boxes and balls on a floor, one of them sliding and spinning, and a belt
TEXT = """
materials:
  wood: {stiffness: 4.0e+4, dissipation: 2.0, relaxation_time: 1.0e-3, friction: 0.5}
bodies:
- {name: floor, shape: {type: half_space}, material: wood, fixed: true}
- {name: finger, shape: {type: sphere, radius: 0.01}, mass: 0.05, material: wood, position: [0, 0, 0.0102]}
- {name: box, shape: {type: box, size: [0.02, 0.02, 0.02]}, mass: 0.1, material: wood, position: [0.0215, 0, 0.01],
   velocity: [-0.1, 0.05, 0], angular_velocity: [0, 0, 3]}
- {name: ball, shape: {type: sphere, radius: 0.01}, mass: 0.1, material: wood, position: [0, 0.05, 0.0105],
   angular_velocity: [20, 10, 5], velocity: [0.3, 0, 0]}
- {name: can, shape: {type: cylinder, radius: 0.01, length: 0.03}, mass: 0.1, material: wood,
   position: [0, -0.05, 0.015]}
- {name: pill, shape: {type: capsule, radius: 0.01, length: 0.02}, mass: 0.1, material: wood, position: [0.1, 0, 0.03]}
- name: pair
  mass: 0.2
  material: wood
  position: [0.1, 0.1, 0.02]
  shapes:
  - {type: sphere, radius: 0.01, position: [0.02, 0, 0]}
  - {type: box, size: [0.01, 0.02, 0.03], position: [-0.02, 0, 0]}
- {name: belt, shape: {type: box, size: [0.1, 0.1, 0.02]}, material: wood, position: [0.3, 0, 0.01], prescribed: true}
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("worlds") / "table.yaml"
    file.write_text(TEXT)
    return str(file)


def wall_state(push: list[float]) -> WallState:
    """Planes that push; nothing but that matters here."""
    rows = {name: [0.0] * 3 * len(push) for name in ("point", "normal", "velocity")}
    return WallState(push=push, penetration=[0.0] * len(push), in_contact=[True] * len(push), **rows)


def tool(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Pose and twist of the tool: it pushes the box, turns and comes near the floor."""
    t = 1e-3 * k
    turn = Rotation.from_rotvec([0.5 * np.sin(20 * t), 0.3 * t, 2.0 * t])
    position = [0.03 * np.sin(12 * t), 0.01 * t, 0.0102 - 0.004 * np.sin(15 * t)]
    velocity = [0.36 * np.cos(12 * t), 0.01, -0.06 * np.cos(15 * t)]
    return np.concatenate([position, turn.as_quat()]), np.concatenate([velocity, [0.0, 0.3, 2.0]])


# --- every parameter acts ---------------------------------------------------------------------------------------

#: what all runs have, so that a way to the start ends within them
SHORT = {"approach_time": 0.01, "proxy": "finger"}
#: what the defaults must be changed to for a parameter to act
CONTEXT: dict[str, dict[str, Any]] = {
    "sigma": {"approximation": "sap"},
    "near_rigid": {"approximation": "sap", "near_rigid": 1.0, "world_parameters": ["materials.wood.stiffness=1e9"]},
    "tangential_stiffness": {"approximation": "lagged_elastoplastic", "tangential_stiffness": 100.0},
    "tangential_damping": {"approximation": "lagged_elastoplastic", "tangential_damping": 10.0},
    "max_force": {"max_force": 0.4},
    "max_torque": {"max_torque": 1e-4, "coupled_rotation": True},
    "coupling_rotational_stiffness": {"coupled_rotation": True},
    "coupling_rotational_damping": {"coupled_rotation": True},
    "relative_tolerance": {"relative_tolerance": 1e-3},
    "linear_rotation": {},
}
#: other values where twice and half the value are none
OTHER: dict[str, list[Any]] = {
    "world_parameters": [["bodies.box.mass=0.2"], ["", "materials.wood.friction=0.9"]],
    "proxy": ["", "ball", "belt"],
    "substeps": [2, 5],
    "speculative": [False],
    "linear_rotation": [True],
    "coupled_rotation": [True],
    "near_rigid": [0.0, 4.0],
    "relative_tolerance": [1e-12],
    "stiction_tolerance": [1e-2, 1e-6],
    "frame_position": [[0.001, 0.0, 0.0], [0.0, 0.0, -0.001]],
    "frame_orientation": [[0.0, 0.0, 0.6, 0.8]],
    "held_axes": [["z"], ["x", "z"]],
    "threshold": [2e-5],
}
#: these change what is published or shown, or end the run, and have a test of their own
APART = {"touch_radius", "touch_reach", "friction_bodies"}  # what other nodes take and do
APART |= {"display_rate", "force_length", "device_damping", "max_iterations", "condition_interval", "world"}


def base_values(world: str, name: str = "", **change: Any) -> dict[str, Any]:
    """The defaults, in the context in which a parameter acts."""
    return check_all(SPECS, {"world": world, **SHORT, **CONTEXT.get(name, {}), **change})


def bare(parameters: dict[str, Any]) -> Any:
    """A plain object in the node's place, on which the node's own methods run; ROS need not be started."""
    silent = SimpleNamespace(get_subscription_count=lambda: 0, topic_name="silent")
    node: Any = SimpleNamespace(
        renderer=None, parameters=parameters, command=DeviceCommand(), state=BodyStates(), tick=0, warnings=[]
    )
    node.get_logger = lambda: SimpleNamespace(warning=node.warnings.append, info=lambda text: None)
    node._contacts = node._statistics = node._markers = silent
    node._display_ticks, node.inputs, node.transport = 1, {}, RosTopics()
    node.step_time = SimpleNamespace(add=lambda duration: None)
    ContactNode.install(node, ContactNode.build(node, parameters))
    return node


def rendered(parameters: dict[str, Any], ticks: int = 60) -> list[Any]:
    """Everything that the node answers and tells."""
    node = bare(parameters)
    device, told = DeviceState(period=parameters["period"]), []
    for k in range(ticks):
        pose, twist = tool(k)
        set_pose(device.tool_pose, pose)
        set_twist(device.tool_twist, twist)
        ContactNode.render(node, device)
        ContactNode.fill_state(node)
        simulator = node.renderer.simulator
        told.append((wrench_array(node.command.tool_wrench).tolist(), repr(node.state)))
        told.append((simulator.contacts.position.shape, simulator.approximation))
    return told


@pytest.mark.covering(9)
@pytest.mark.parametrize("name", [name for name in SPECS if name not in APART])
def test_changing_the_parameter_changes_what_is_told(name: str, world: str) -> None:
    values = base_values(world, name)
    before = rendered(values)
    for value in other_values(SPECS[name], values[name], OTHER):
        assert rendered(check_all(SPECS, {**values, name: value})) != before, f"{name} = {value!r} has no effect"


def test_another_world_by_path_by_name_and_from_a_function(world: str) -> None:
    for source, bodies in ((world, 8), ("touch_clutter", 16), ("convex_contact.scenes:falling_sphere", 2)):
        rendering = bare(base_values(source, proxy="")).renderer
        assert len(rendering.simulator.world.bodies) == bodies


def test_too_few_iterations_end_the_run(world: str) -> None:
    with pytest.raises(ParameterError, match=r"^world .*table\.yaml: .*Newton iterations.* t = 0 s"):
        rendered(base_values(world, max_iterations=1, relative_tolerance=1e-13))


def test_a_device_that_damps_too_little_is_warned_of(world: str) -> None:
    assert bare(base_values(world, device_damping=2.3)).warnings == []
    (warning,) = bare(base_values(world, device_damping=2.2)).warnings
    assert "need a device damping of 2.25 N s/m" in warning and "device_damping is 2.2 N s/m" in warning


@pytest.mark.slow
def test_the_suite_s_worlds_can_be_simulated() -> None:
    folder = worlds_folder()
    assert folder is not None
    names = sorted(path.stem for path in folder.glob("*.yaml"))
    assert {"clutter_mixed", "clutter_spheres", "touch_clutter"} <= set(names)
    for name in names:
        values = check_all(SPECS, {"world": name})
        rendering = make_rendering(values, {}, folder)
        for _ in range(3):
            rendering.step(np.array([0, 0, 0, 0, 0, 0, 1.0]), np.zeros(6))
        assert rendering.simulator.time == pytest.approx(2e-3)


# --- what is refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"proxy": "thumb"},
            r"^world .*: thumb: no such body; the bodies that can move are: finger, box, ball, can, pill, pair, belt$",
        ),
        ({"proxy": "floor"}, r"^world .*: floor: expected a body that can move, got a fixed one$"),
        ({"world": "nowhere"}, r"^nowhere: no such world; expected a path, module:function, or one of clutter_mixed, "),
        (
            {"world_parameters": ["bodies.cube.mass=1"]},
            r"^entry bodies\.cube\.mass: .* has no 'cube', it is a list of 8$",
        ),
        ({"world_parameters": ["mass"]}, r"^parameter world_parameters: entry 'mass': expected name=value$"),
        ({"frame_orientation": [0.0, 0.0, 0.6, 0.6]}, r"^frame_orientation: expected a quaternion of length 1"),
        ({"approximation": "sap", "normal_law": "hertz"}, r"^normal_law: expected None with sap"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(change: dict[str, Any], message: str, world: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        bare(check_all(SPECS, {"world": world, **SHORT, **change}))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("approximation", "exact", r"^parameter approximation: expected one of sap, "),
        ("coupling_stiffness", -1.0, r"^parameter coupling_stiffness: expected from 0 to 1e\+07 \[N/m\], got -1\.0$"),
        ("held_axes", ["w"], r"^parameter held_axes: "),
        ("scale", float("nan"), r"^parameter scale: expected finite \[-\], got nan$"),
        ("substeps", 0, r"^parameter substeps: expected from 1 to 1000"),
    ],
)
def test_values_out_of_their_bounds_are_refused_by_name(name: str, value: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        check_all(SPECS, {name: value})


# --- messages ---------------------------------------------------------------------------------------------------


def test_the_scene_describes_each_body(world: str) -> None:
    scene = scene_message(open_world(world))
    assert list(scene.names) == ["floor", "finger", "box", "ball", "can", "pill", "pair", "belt"]
    kinds = [
        Scene.HALF_SPACE,
        Scene.SPHERE,
        Scene.BOX,
        Scene.SPHERE,
        Scene.CYLINDER,
        Scene.CAPSULE,
        Scene.BOX,
        Scene.BOX,
    ]
    assert list(scene.shapes) == kinds
    sizes = np.array(scene.sizes).reshape(-1, 3)
    np.testing.assert_allclose(
        sizes[[1, 2, 4, 5]], [[0.01, 0, 0], [0.02, 0.02, 0.02], [0.01, 0.03, 0], [0.01, 0.02, 0]], rtol=1e-15
    )
    np.testing.assert_allclose(sizes[6], [0.06, 0.02, 0.03], rtol=1e-15)  # the box about both shapes
    np.testing.assert_allclose(scene.masses, [0, 0.05, 0.1, 0.1, 0.1, 0.1, 0.2, 0])
    assert list(scene.meshes) == [""] * 8


def test_a_half_space_that_is_turned_is_a_half_space() -> None:
    scene = scene_message(open_world("clutter_spheres", folder=worlds_folder()))
    assert list(scene.shapes[:5]) == [Scene.HALF_SPACE] * 5 and list(scene.shapes[5:]) == [Scene.SPHERE] * 40


def test_contacts_bear_the_weight_in_the_message(world: str) -> None:
    """At rest the impulses of the floor on the can add up to m g T, along the normal, on the second body."""
    rendering = make_rendering(base_values(world, proxy="", relative_tolerance=1e-10), {})
    for _ in range(2000):
        rendering.step(np.array([0, 0, 0, 0, 0, 0, 1.0]), np.zeros(6))
    message = ContactArray()
    fill_contacts(message, rendering.simulator.contacts, 1e-3)
    n = len(message.body_a)
    assert (
        len(message.sticking) == n
        and [len(view(getattr(message, name))) for name in ("position", "normal")] == [3 * n] * 2
    )
    impulse = np.zeros(3)
    for i in range(n):
        a, b = message.body_a[i], message.body_b[i]
        if {a, b} == {0, 4}:
            whole = (
                message.normal_impulse[i] * view(message.normal)[3 * i :][:3]
                + view(message.tangential_impulse)[3 * i :][:3]
            )
            impulse += whole if b == 4 else -whole
            assert abs(view(message.normal)[3 * i :][:3] @ view(message.tangential_impulse)[3 * i :][:3]) < 1e-18
    # the can rests; the solver's relative tolerance, and what is left of the fall by its penetration
    np.testing.assert_allclose(impulse, [0.0, 0.0, 0.1 * 9.81 * 1e-3], atol=1e-8)
    assert message.period == 1e-3


# --- on a live graph --------------------------------------------------------------------------------------------


class Bench(NodeBench):
    """The contact node; `seen` are its messages so far by topic."""

    def __init__(self, context: Context, **parameters: Any) -> None:
        super().__init__(context, ContactNode, parameters)
        self.values = check_all({**OWN, **BASE}, parameters)
        self.seen: dict[str, list[Any]] = {
            "device_command": self.commands,
            "contact/state": self.subscribe(BodyStates, "contact/state"),
            "contact/contacts": self.subscribe(ContactArray, "contact/contacts"),
            "contact/statistics": self.subscribe(SolverStatistics, "contact/statistics"),
            "tick_event": self.events,
            "scene": self.subscribe(Scene, "scene", latched_qos()),
        }
        self.others: dict[str, Any] = {}

    def other(self, name: str, message: Any) -> None:
        """Another node's state of this tick."""
        if name not in self.others:
            self.others[name] = self.device.create_publisher(type(message), f"{name}/state", tick_qos("lockstep"))
            self.until(self.others[name].get_subscription_count)
        message.tick = self.tick
        self.others[name].publish(message)

    def answer(self, k: int, status: int = DeviceState.STATUS_OK) -> dict[str, Any]:
        """All that is published of the next tick, the tool being where it is at tick k."""
        self.tick += 1
        state = DeviceState(tick=self.tick, period=self.values["period"], status=status)
        state.header.frame_id = "base"
        pose, twist = tool(k)
        set_pose(state.tool_pose, pose)
        set_twist(state.tool_twist, twist)
        self.states.publish(state)
        topics = ("device_command", "contact/state", "contact/contacts", "contact/statistics")
        return {name: self.last(self.seen[name]) for name in topics}

    def twin(self) -> ContactRendering:
        """A rendering made beside the node from the same parameters."""
        return make_rendering(self.values, {}, worlds_folder())


@pytest.fixture
def make(context: Context, world: str) -> Iterator[Callable[..., Bench]]:
    yield from made_benches(lambda **parameters: Bench(context, **{"world": world, **SHORT, **parameters}))


def test_the_node_says_what_the_library_says(make: Callable[..., Bench]) -> None:
    """Command, bodies, contacts and statistics of each tick, to the last bit."""
    bench = make(substeps=2, condition_interval=5).start()
    twin, expected = bench.twin(), ContactArray()
    touched = 0
    for k in range(40):
        told = bench.answer(k)
        wrench = twin.step(*tool(k))
        command, state, contacts, solver = told.values()
        assert (command.mode, command.source, command.header.frame_id) == (WRENCH, "contact", "base")
        np.testing.assert_array_equal(wrench_array(command.tool_wrench), wrench)
        bodies = twin.bodies.read()
        for name in ("position", "orientation", "velocity", "angular_velocity"):
            np.testing.assert_array_equal(view(getattr(state, name)), getattr(bodies, name).ravel(), err_msg=name)
        fill_contacts(expected, twin.simulator.contacts, 0.5e-3)
        for name in ContactArray.get_fields_and_field_types():
            if name not in ("header", "tick"):
                assert getattr(contacts, name) == getattr(expected, name), name
        assert state.header.frame_id == contacts.header.frame_id == "world"
        assert solver.approximation == "lagged"
        asked = k > 0 and k % 5 == 0
        assert math.isnan(solver.condition_number) != asked and math.isnan(solver.cost) != asked
        if k:
            done = twin.simulator.statistics
            assert (solver.iterations, solver.contacts) == (done.iterations, done.contacts)
            assert solver.residual == done.residual and solver.solve_time > 0.0
        else:
            assert (solver.iterations, solver.contacts) == (0, 0) and not len(contacts.body_a)
        if asked:
            solution = twin.simulator.solution
            assert (solver.cost, solver.condition_number) == (solution.cost, solution.condition_number)
        touched += any({a, b} == {1, 2} for a, b in zip(contacts.body_a, contacts.body_b, strict=True))
    assert touched and np.abs(wrench).max() > 0.1
    assert bench.node.rejections.counts == {}
    (scene,) = bench.seen["scene"]
    assert list(scene.names)[1] == "finger" and scene.header.frame_id == "world"


def test_without_a_proxy_the_mode_is_none_and_the_world_moves(make: Callable[..., Bench]) -> None:
    bench = make(proxy="").start()
    first = bench.answer(0)
    for k in range(1, 10):
        told = bench.answer(k)
    assert first["device_command"].mode == told["device_command"].mode == NONE
    assert view(told["contact/state"].position)[9] != view(first["contact/state"].position)[9]


def test_while_the_device_is_in_its_safe_state_nothing_is_felt(make: Callable[..., Bench]) -> None:
    bench = make().start()
    for k in range(30):
        felt = bench.answer(k)
    assert wrench_array(felt["device_command"].tool_wrench).any()
    for k in range(30, 33):
        told = bench.answer(k, status=DeviceState.STATUS_SAFE_STOP)
        assert told["device_command"].mode == WRENCH and not wrench_array(told["device_command"].tool_wrench).any()


def test_planes_are_told_and_what_was_done_to_the_tool_acts_on_their_bodies(make: Callable[..., Bench]) -> None:
    """To the last bit as the library does it; a push that fits no planes is counted and does nothing."""
    inputs = ["wall", "rub:friction", "between:friction"]
    touching = {"proxy": "", "touch_radius": 0.005, "touch_reach": 0.02}
    ends = ["between.first=ball", "between.second=can"]
    heard = {"consumers": ["device:planes"]}  # active only once the planes are heard
    bench = make(inputs=inputs, delayed_inputs=inputs, friction_bodies=ends, **touching, **heard)
    bench.device.create_subscription(
        ContactPlanes, "contact/planes", bench.seen.setdefault("planes", []).append, tick_qos("lockstep")
    )
    bench.start()
    twin, last = bench.twin(), None
    for k in range(40):
        told = bench.answer(k)
        if last is not None:
            twin.release()
            for body, sign in ((4, 1.0), (3, -1.0)):
                twin.pull(body, sign * np.array([0.3, 0.0, 0.0]))
            if k != 21:
                twin.react(last, 2.0 + np.arange(len(last.key)), -np.array([0.5, -0.2, 0.1]))
        twin.step(*tool(k))
        bodies = twin.bodies.read()
        np.testing.assert_array_equal(view(told["contact/state"].velocity), bodies.velocity.ravel())
        last = twin.planes(tool(k)[0][:3])
        bench.until(lambda: bench.seen["planes"] and bench.seen["planes"][-1].tick == bench.tick)
        message = bench.seen["planes"][-1]
        assert list(message.key) == last.key.tolist() and list(message.body) == last.body.tolist()
        for name in ("point", "normal", "signed_distance", "velocity", "inverse_mass"):
            np.testing.assert_array_equal(view(getattr(message, name)), getattr(last, name).ravel(), err_msg=name)
        assert message.header.frame_id == "base"
        push = [1.0] * 7 if k == 20 else [2.0 + i for i in range(len(last.key))]
        for name, state in (
            ("wall", wall_state(push)),
            ("rub", FrictionState(force=[0.5, -0.2, 0.1])),
            ("between", FrictionState(force=[0.3])),
        ):
            bench.other(name, state)
    assert bench.node.rejections.counts == {"unknown planes": 1}
    assert last is not None and len(last.key) >= 2


def test_a_change_of_the_coupling_acts_at_the_next_tick_and_a_bad_one_changes_nothing(
    make: Callable[..., Bench],
) -> None:
    bench = make(change_time=0.0).start()
    twin = bench.twin()
    for k in range(30):
        if k == 20:
            refused = bench.set(coupling_stiffness=900.0, max_force=-1.0)
            assert not refused.successful and refused.reason.startswith("parameter max_force: expected")
            assert not bench.set(approximation="sap").successful  # the world is made at configure
        if k == 25:
            assert bench.set(coupling_stiffness=900.0, max_force=0.3).successful
            numbers = {**vars(twin.numbers), "stiffness": 900.0, "max_force": 0.3}
            twin.retune(type(twin.numbers)(**numbers))
        told = bench.answer(k)
        np.testing.assert_array_equal(wrench_array(told["device_command"].tool_wrench), twin.step(*tool(k)))
    kinds = [event.kind for event in bench.seen["tick_event"]]
    assert kinds.count("parameter") == 1


def test_a_reset_brings_the_world_back(make: Callable[..., Bench]) -> None:
    bench = make().start()
    before = [bench.answer(k) for k in range(15)]
    assert bench.call(Trigger, "reset", Trigger.Request()).success
    for k in range(15):
        told = bench.answer(k)
        assert told["contact/state"].position == before[k]["contact/state"].position
        assert told["device_command"].tool_wrench == before[k]["device_command"].tool_wrench


def test_a_step_that_cannot_be_solved_ends_the_node_with_one_error_and_no_force(
    make: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = make().start()
    for k in range(15):
        bench.answer(k)

    def fails(count: int = 1) -> None:
        raise ConvergenceError(
            "no convergence in the step from t = 0.014 s",
            velocity=np.zeros(3),
            iterations=200,
            residual=1.0,
            tolerance=1e-5,
        )

    assert bench.node.renderer is not None
    monkeypatch.setattr(bench.node.renderer.simulator, "step", fails)
    told = bench.answer(15)
    assert told["device_command"].mode == NONE
    assert bench.node.finished and bench.node.exit_code == 1
    assert bench.node.rejections.counts == {"no solution": 1}


def test_a_prescribed_proxy_follows_the_reference_of_the_same_tick(make: Callable[..., Bench]) -> None:
    bench = make(inputs=["constraints"], proxy="belt").start()
    twin = bench.twin()
    for k in range(10):
        pose, twist = tool(2 * k)
        reference = ConstrainedReference(tick=k)
        set_pose(reference.pose, pose)
        bench.tick += 1
        bench.other("constraints", reference)
        bench.tick -= 1
        told = bench.answer(k)  # the device's own tool is elsewhere
        assert told["device_command"].mode == NONE
        twin.step(pose, twist, arrives=True)
        np.testing.assert_array_equal(view(told["contact/state"].position), twin.bodies.read().position.ravel())
    np.testing.assert_allclose(view(told["contact/state"].position)[21:24], pose[:3], atol=1e-15)


@pytest.mark.parametrize("entry", ["upper=box", "upper.first=floor", "upper.middle=box", "upper.first=nobody", "box"])
def test_friction_acts_on_the_ends_of_its_element_at_free_bodies_only(entry: str, world: str) -> None:
    with pytest.raises(ParameterError, match=r"^parameter friction_bodies: "):
        bare(base_values(world, friction_bodies=[entry]))


def test_a_consumer_of_an_unknown_topic_is_refused(make: Callable[..., Bench]) -> None:
    bench = make(consumers=["wall:plane"])
    assert bench.node.trigger_configure() == SUCCESS
    with pytest.raises(ParameterError, match="expected topics of state, contacts, planes, as node:topic, got 'plane'"):
        bench.node.activate()


def test_a_missing_body_is_refused_at_configure(make: Callable[..., Bench], capfd: pytest.CaptureFixture[str]) -> None:
    bench = make(proxy="thumb")
    assert bench.node.trigger_configure() == FAILURE
    lines = [line for line in capfd.readouterr().err.splitlines() if "refused" in line]
    assert len(lines) == 1 and "thumb: no such body; the bodies that can move are: finger" in lines[0]


def test_it_can_be_cleaned_up_and_started_again(make: Callable[..., Bench]) -> None:
    bench = make().start()
    bench.answer(0)
    assert (bench.node.trigger_deactivate(), bench.node.trigger_cleanup()) == (SUCCESS, SUCCESS)
    assert bench.node.renderer is None
    bench.start()
    bench.tick = -1
    assert not wrench_array(bench.answer(0)["device_command"].tool_wrench).any()


def test_the_markers_show_bodies_contacts_and_the_coupling(make: Callable[..., Bench]) -> None:
    bench = make(display_rate=500.0, force_length=0.02, frame_position=[0.001, 0.0, 0.0], scale=2.0).start()
    bench.watch()
    for k in range(21):
        told = bench.answer(k)
    bench.until(lambda: len(bench.markers) == 11)  # every second tick
    found = {marker.ns.partition("/")[2]: marker for marker in bench.markers[-1].markers}
    assert {"floor", "finger", "box", "pair 0", "pair 1", "pill", "pill end -0.5", "pill end +0.5"} <= found.keys()
    assert {marker.header.frame_id for marker in found.values()} == {"base"}
    ball = found["ball"]
    assert ball.type == Marker.SPHERE and ball.scale.x == pytest.approx(0.02 / 2.0)
    place = view(told["contact/state"].position)[9:12] / 2.0 + [0.001, 0.0, 0.0]
    np.testing.assert_allclose([getattr(ball.pose.position, axis) for axis in "xyz"], place, rtol=1e-12)
    contacts = told["contact/contacts"]
    start, end = (np.array([p.x, p.y, p.z]) for p in found["contact force 0"].points)
    force = (
        view(contacts.normal_impulse)[:, None] * view(contacts.normal).reshape(-1, 3)
        + view(contacts.tangential_impulse).reshape(-1, 3)
    ) / contacts.period
    bearing = np.linalg.norm(force, axis=1) > 0.0  # Lagged may bear friction alone for a step
    shown = [name for name, m in found.items() if name.startswith("contact force") and m.color.a > 0.0]
    assert len(shown) == bearing.sum() > 2
    longest = max(force, key=lambda f: float(np.linalg.norm(f)))
    np.testing.assert_allclose(end - start, 0.02 / 2.0 * longest, rtol=1e-9, atol=1e-12)
    assert "coupling" in found and "felt force" in found


def test_contacts_that_are_over_are_hidden_and_arrows_can_be_left_out(world: str) -> None:
    from convex_contact.view.drawing import WorldDrawing

    class Sheet:
        def __init__(self) -> None:
            self.alpha: dict[str, float] = {}

        def __getattr__(self, kind: str) -> Any:
            return lambda name, *values: self.alpha.__setitem__(name, values[-1][3])

    falling = World()
    falling.add_half_space("floor")
    falling.add_sphere("ball", mass=1.0, radius=0.1, position=(0, 0, 0.0999), velocity=(0, 0, 0.05))
    falling.set_pair("floor", "ball", stiffness=1e4)
    values = base_values(world, proxy="")
    rendering = make_rendering(values, {})
    assert rendering.simulator.contacts.position.shape == (0, 3)
    made = ContactRendering(falling, period=1e-3, place=rendering.place, numbers=rendering.numbers)
    drawings = [(WorldDrawing(made, force_length=length), Sheet()) for length in (0.01, 0.0)]
    seen = []
    for _ in range(5):  # gravity brings it back later
        made.step(np.array([0, 0, 0, 0, 0, 0, 1.0]), np.zeros(6))
        made.bodies.read()
        for drawing, sheet in drawings:
            drawing.draw(sheet)
        seen.append(drawings[0][1].alpha.get("contact 0"))
    assert 1.0 in seen and seen[-1] == 0.0 and drawings[0][1].alpha["contact force 0"] == 0.0
    assert not any("force" in name for name in drawings[1][1].alpha)
