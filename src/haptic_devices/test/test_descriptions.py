"""The devices' robot descriptions: Pinocchio's kinematics and inertia of them against the devices' own equations."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin
import pytest
import yaml
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from haptic_core.parameters import check_all, load_parameter_specs
from haptic_devices import cobotic as cobotic_hand_controller
from haptic_devices import factories, five_bar, joystick
from haptic_devices.device import Device
from tau_wall_control.device.rotations import rotation_from_quaternion, rotation_from_vector

SPECS = load_parameter_specs(Path(factories.__file__).with_name("device_node.yaml"))
PERIOD = 1e-3
#: numbers that are not the suite's, so that nothing rests on them
OTHER = {
    "joystick": ["length=0.2", "inertia_stick=0.01", "range=0.5"],
    "five_bar": ["length_upper_arm=0.25", "length_forearm=0.35", "length_crank=0.12", "home_upper_arm=0.5",
                 "home_forearm=2.2", "mass_coupling_rod=1.1", "mass_forearm=2.0"],
    "cobotic_hand_controller": ["range_translation=0.1", "range_yaw=1.0", "end_effector_mass=0.3",
                                "end_effector_center_x=0.02", "end_effector_inertia_y=3.0e-5"],
    "tau": ["chains.chain_1.link_1_length=0.11", "platform.mass=0.2"],
}  # fmt: skip
each_device = pytest.mark.parametrize("name", OTHER)
both_numbers = pytest.mark.parametrize("other", [False, True], ids=["the suite's numbers", "other numbers"])


def make(name: str, other: bool = False) -> Any:
    entries = OTHER[name] if other else []
    parameters = check_all(SPECS, {"device": name, "held": False, "device_parameters": [*entries, ""]})
    return getattr(factories, name)(parameters)


def place(device: Device, random: np.random.Generator) -> None:
    """Brings the device's reading to random joint positions within the limits, and random velocities."""
    reading = device.read()
    if device.base_frame == "tau_base":
        p, R = random.uniform(-0.02, 0.02, 3), rotation_from_vector(random.uniform(-0.2, 0.2, 3))
        device._measured.position[:], device._measured.rotation[:] = p, R
        reading.tool_pose[:3], reading.tool_pose[3:] = p, Rotation.from_matrix(R).as_quat()
        reading.tool_twist[:] = random.uniform(-0.5, 0.5, 6)
        reading.position[:] = device.mechanism.inverse_kinematics(p, R)
        reading.velocity[:] = np.linalg.solve(device.mechanism.jacobian(reading.position, (p, R)), reading.tool_twist)
        return
    lower, upper = (np.array([getattr(joint, side) for joint in device.joints]) for side in ("lower", "upper"))
    reading.position[:] = random.uniform(lower, upper)
    reading.velocity[:] = random.uniform(-1.0, 1.0, len(lower))
    if device.base_frame == "joystick_base":
        joystick.tip_state(
            device.parameters.length, reading.position, reading.velocity, reading.tool_pose, reading.tool_twist
        )
    elif device.base_frame == "five_bar_base":
        five_bar.forward(device.geometry, reading.position, reading.velocity, reading.tool_pose, reading.tool_twist)
    else:
        cobotic_hand_controller.forward(reading.position, reading.velocity, reading.tool_pose, reading.tool_twist)


class Model:
    """A description as Pinocchio reads it, at what the device would publish as its joint states."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.model = pin.buildModelFromXML(device.robot_description())
        self.data = self.model.createData()
        self.names = [*(joint.name for joint in device.joints), *device.passive_joints]
        assert sorted(self.model.names[1:]) == sorted(self.names)  # all joints are published, and no others
        self.base = self.model.getBodyId(device.base_frame)
        self.places = [self.model.joints[self.model.getJointId(name)].idx_q for name in self.names]

    def frame(self, name: str) -> int:
        index = self.model.getFrameId(name, pin.FrameType.BODY)
        assert index < self.model.nframes, name
        return index

    def update(self) -> None:
        reading, (passive, passive_rates) = self.device.read(), self.device.passive_state()
        self.q, self.v = np.empty(self.model.nq), np.empty(self.model.nv)
        recorded = self.device.passive_positions(reading.position, reading.tool_pose)
        assert_allclose(recorded, passive, rtol=0.0, atol=1e-12)
        self.q[self.places] = [*reading.position, *passive]
        self.v[self.places] = [*reading.velocity, *passive_rates]
        pin.forwardKinematics(self.model, self.data, self.q, self.v)
        pin.updateFramePlacements(self.model, self.data)

    def mass_matrix(self) -> np.ndarray:
        """In the order of `names`."""
        M = pin.crba(self.model, self.data, self.q)
        M = np.triu(M) + np.triu(M, 1).T
        return M[np.ix_(self.places, self.places)]


@each_device
@both_numbers
def test_the_tool_is_where_the_device_has_it_and_moves_as_it_does(name: str, other: bool) -> None:
    device = make(name, other)
    device.configure(PERIOD)
    model, random = Model(device), np.random.default_rng(0)
    tool = model.frame(device.tool_frame)
    for _ in range(50):
        place(device, random)
        model.update()
        base = model.data.oMf[model.base]
        found, reading = base.actInv(model.data.oMf[tool]), device.read()
        assert_allclose(found.translation, reading.tool_pose[:3], rtol=0.0, atol=1e-9)
        assert_allclose(found.rotation, rotation_from_quaternion(reading.tool_pose[3:7]), rtol=0.0, atol=1e-9)
        twist = pin.getFrameVelocity(model.model, model.data, tool, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        assert_allclose(base.rotation.T @ twist.linear, reading.tool_twist[:3], rtol=0.0, atol=1e-9)
        assert_allclose(base.rotation.T @ twist.angular, reading.tool_twist[3:], rtol=0.0, atol=1e-9)


LOOPS = {
    "five_bar": [("five_bar_forearm_end", "five_bar_coupling_rod_end")],
    "tau": [(f"tau_wrist_{i}", f"tau_attachment_{i}") for i in (1, 2, 3)],
}


@pytest.mark.parametrize("name", LOOPS)
@both_numbers
def test_loops_close_and_stay_closed(name: str, other: bool) -> None:
    device = make(name, other)
    device.configure(PERIOD)
    model, random = Model(device), np.random.default_rng(1)
    for _ in range(50):
        place(device, random)
        model.update()
        for pair in LOOPS[name]:
            a, b = (model.frame(end) for end in pair)
            assert_allclose(model.data.oMf[a].translation, model.data.oMf[b].translation, rtol=0.0, atol=1e-9)
            rates = [
                pin.getFrameVelocity(model.model, model.data, end, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED).linear
                for end in (a, b)
            ]
            assert_allclose(rates[0], rates[1], rtol=0.0, atol=1e-9)


@each_device
@both_numbers
def test_root_names_and_limits_are_the_device_s(name: str, other: bool) -> None:
    device = make(name, other)
    device.configure(PERIOD)
    model = Model(device)
    names = [frame.name for frame in model.model.frames if frame.type == pin.FrameType.BODY]
    assert names[0] == ("tau_base_link" if name == "tau" else device.base_frame)
    assert device.tool_frame.startswith(f"{name}_") and all(each.startswith(f"{name}_") for each in names)
    model.update()
    up = np.eye(3)["xyz".index(device.up_axis)]
    assert_allclose(model.data.oMf[model.base].rotation @ up, [0.0, 0.0, 1.0], atol=1e-12)  # REP 103
    axes = [yaml.safe_load(each) for each in model.names]
    assert axes == model.names  # YAML reads y as true
    for joint, at in zip(device.joints, model.places, strict=False):
        i = model.model.joints[model.model.getJointId(joint.name)].idx_v
        assert model.model.effortLimit[i] == joint.effort_limit
        if name != "tau":  # its file is the mechanism's alone; the driver's limits are the suite's
            assert model.model.velocityLimit[i] == joint.velocity_limit
        assert (model.model.lowerPositionLimit[at], model.model.upperPositionLimit[at]) == (joint.lower, joint.upper)


@both_numbers
def test_the_joystick_s_inertia_is_that_of_its_equations_but_for_what_the_joints_carry(other: bool) -> None:
    device = make("joystick", other)
    device.configure(PERIOD)
    model, random, p = Model(device), np.random.default_rng(2), device.parameters
    for _ in range(20):
        place(device, random)
        model.update()
        expected = np.diag([p.inertia_stick * math.cos(device.read().position[1]) ** 2, p.inertia_stick])
        assert_allclose(model.mass_matrix(), expected, rtol=0.0, atol=1e-9)


@both_numbers
def test_the_five_bar_s_inertia_is_that_of_its_equations(other: bool) -> None:
    device = make("five_bar", other)
    device.configure(PERIOD)
    model, random, p = Model(device), np.random.default_rng(3), device.parameters
    m11, m22, h = five_bar.inertia_constants(p, p.mass_tool + p.mass_grip)
    all_of_two = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])
    for _ in range(20):
        place(device, random)
        model.update()
        coupling = h * math.cos(device.read().position[0] - device.read().position[1])
        found = all_of_two.T @ model.mass_matrix() @ all_of_two
        assert_allclose(found, [[m11, coupling], [coupling, m22]], rtol=0.0, atol=1e-9)


def test_crank_and_coupling_rod_have_their_mass_between_their_ends() -> None:
    device = make("five_bar")
    device.configure(PERIOD)
    model = Model(device).model
    for name, end in (("forearm", model.jointPlacements[model.getJointId("coupling_rod")].translation),
                      ("coupling_rod", [device.parameters.length_upper_arm, 0.0, 0.0])):  # fmt: skip
        assert_allclose(model.inertias[model.getJointId(name)].lever, np.asarray(end) / 2.0, rtol=0.0, atol=1e-12)


@both_numbers
def test_the_display_s_end_effector_has_its_inertia(other: bool) -> None:
    device = make("cobotic_hand_controller", other)
    device.configure(PERIOD)
    model, random, p = Model(device), np.random.default_rng(4), device.parameters
    center = np.array([p.end_effector_center_x, p.end_effector_center_y, p.end_effector_center_z])
    moments = np.array([p.end_effector_inertia_x, p.end_effector_inertia_y, p.end_effector_inertia_z])
    body = cobotic_hand_controller.EndEffector(p.end_effector_mass, center, moments)
    for _ in range(20):
        place(device, random)
        model.update()
        # its weight and inertia at rest joint accelerations, by the module's own Newton and Euler
        reading, rate, matrix, wrench = device.read(), np.zeros(6), np.empty((3, 3)), np.empty(6)
        cobotic_hand_controller.rotation(reading.position, matrix)
        cobotic_hand_controller.bias(reading.position, reading.velocity, rate[3:])
        cobotic_hand_controller.own_wrench(
            matrix, body, reading.tool_twist[3:], rate, cobotic_hand_controller.GRAVITY, wrench
        )
        J = np.empty((6, 6))
        cobotic_hand_controller.tool_jacobian(reading.position, J)
        model.model.gravity.linear = np.array([0.0, 0.0, -cobotic_hand_controller.GRAVITY])
        expected = pin.nonLinearEffects(model.model, model.data, model.q, model.v)[model.places]
        assert_allclose(-J.T @ wrench, expected, rtol=0.0, atol=1e-9)


@each_device
def test_every_moving_part_is_drawn_with_sizes_that_can_be(name: str) -> None:
    device = make(name)
    root = ElementTree.fromstring(device.robot_description())
    drawn = {link.get("name") for link in root.iter("link") if link.find("visual") is not None}
    for joint in device.joints[:3]:  # the TAU's carriages have no size
        (child,) = (j.find("child").get("link") for j in root.iter("joint") if j.get("name") == joint.name)
        assert child in drawn or child.startswith("tau_carriage")
    assert {device.base_frame, device.tool_frame} <= drawn
    sizes = [float(size) for shape in root.iter("geometry") for size in shape[0].attrib.values()]
    assert sizes and all(0.0 < size < 1.0 for size in sizes)


def test_a_script_has_no_description() -> None:
    device = factories.scripted(check_all(SPECS, {"device": "scripted", "device_parameters": [""]}))
    assert device.robot_description() == "" and device.tool_frame == "" and device.passive_state().shape == (2, 0)


def test_a_part_without_mass_has_no_inertia() -> None:
    parameters = check_all(SPECS, {"device": "joystick", "held": False, "device_parameters": ["inertia_stick=0.0"]})
    assert "<inertial>" not in factories.joystick(parameters).robot_description()
