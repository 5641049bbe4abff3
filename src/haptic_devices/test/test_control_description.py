"""The description of a device for ros2_control, against the device."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import xacro
import yaml
from diagnostic_msgs.msg import KeyValue
from rclpy.node import Node

from haptic_core.errors import ParameterError
from haptic_core.messages import detail_of
from haptic_devices.control import description as control_description
from haptic_devices.control import node as control_node
from haptic_devices.control.description import DEVICES, PLUGINS, control_urdf, files
from haptic_devices.control.hosted import interface_names, parse_parameters
from haptic_devices.device import Device
from haptic_devices.factories import find_device
from haptic_msgs.msg import TickEvent

FILES = Path(__file__).parents[3] / "config" / "shared" / "ros2_control"
each_device = pytest.mark.parametrize("name", DEVICES)


def make(name: str, **texts: str) -> Device:
    device = find_device(name)(parse_parameters({"device": name, "held": "false", **texts}))
    device.configure(1e-3)
    return device


def canonical(text: str) -> str:
    return ElementTree.canonicalize(text, strip_text=True)


@pytest.mark.slow
@each_device
def test_the_files_are_what_the_devices_say(name: str) -> None:
    for file, text in files(name).items():
        assert (FILES / file).read_text() == text, (
            "python -m haptic_devices.control.description config/shared/ros2_control"
        )
    assert {file for device in DEVICES for file in files(device)} == {path.name for path in FILES.iterdir()}


@each_device
@pytest.mark.parametrize("hardware", PLUGINS)
def test_xacro_makes_the_same_urdf_as_the_control_node(name: str, hardware: str, tmp_path: Path) -> None:
    device = make(name)
    description = tmp_path / "description.urdf"
    description.write_text(device.robot_description())
    arguments = {
        "description": str(description),
        "hardware": hardware,
        "device_file": "f",
        "device_parameters": "[a=1]",
    }
    found = xacro.process_file(str(FILES / f"{name}.urdf.xacro"), mappings=arguments).toxml()
    parameters = {"device": name, "device_file": "f", "device_parameters": "[a=1]"}
    assert canonical(found) == canonical(control_urdf(device, name, hardware, parameters))


@each_device
def test_every_interface_is_there_once_and_joints_have_their_limits(name: str) -> None:
    device = make(name)
    root = ElementTree.fromstring(control_urdf(device, name, "ros2_control", {}))
    element = root.find("ros2_control")
    assert element is not None
    states, commands = interface_names(device, name)
    components = [part for part in element if part.tag != "hardware"]
    for tag, names in (("state_interface", states), ("command_interface", commands)):
        found = [f"{part.get('name')}/{entry.get('name')}" for part in components for entry in part.findall(tag)]
        assert sorted(found) == sorted(names) and len(set(names)) == len(names)
    joints = {joint.name: joint for joint in device.joints}
    in_urdf = {joint.get("name"): joint.find("limit") for joint in root.findall("joint")}
    for part in components:
        joint = joints.get(part.get("name", ""))
        is_joint = joint is not None or part.get("name") in device.passive_joints
        assert part.tag == "joint" if is_joint else part.tag in ("gpio", "sensor")
        if is_joint:
            assert part.get("name") in in_urdf
        for entry in part.findall("command_interface") if joint else ():
            limits = {param.get("name"): float(param.text or "") for param in entry.findall("param")}
            low, high = {"position": (joint.lower, joint.upper), "effort": (-joint.effort_limit, joint.effort_limit),
                         "velocity": (-joint.velocity_limit, joint.velocity_limit)}[entry.get("name", "")]  # fmt: skip
            assert limits == {"min": low, "max": high}


@each_device
def test_mock_hardware_starts_at_rest_where_the_device_is(name: str) -> None:
    device = make(name)
    element = ElementTree.fromstring(control_urdf(device, name, "mock", {"device": name}))
    assert element.find("ros2_control/hardware/plugin").text == "mock_components/GenericSystem"  # type: ignore[union-attr]
    assert element.find("ros2_control/hardware/param") is None
    initial = {}
    for part in element.find("ros2_control"):  # type: ignore[union-attr]
        for state in part.findall("state_interface"):
            value = state.find("param")
            assert part.tag == "joint" or value is not None  # mock hardware has NaN there otherwise
            initial[f"{part.get('name')}/{state.get('name')}"] = float(value.text or "") if value is not None else 0.0
    expected = dict.fromkeys(initial, 0.0)
    reading, passive = device.read(), device.passive_state()[0]
    expected |= {f"{joint.name}/position": x for joint, x in zip(device.joints, reading.position, strict=True)}
    expected |= {f"{joint}/position": x for joint, x in zip(device.passive_joints, passive, strict=True)}
    truth = device.truth()
    expected |= {
        f"{name}_truth/{joint.name}.position": x for joint, x in zip(device.joints, truth.position, strict=True)
    }
    places = [*(f"position.{axis}" for axis in "xyz"), *(f"orientation.{axis}" for axis in "xyzw")]
    for component, pose in (("tool/", reading.tool_pose), ("truth/", truth.tool_pose),
                            ("truth/target.", truth.operator_target)):  # fmt: skip
        expected |= {f"{name}_{component}{place}": x for place, x in zip(places, pose, strict=True)}
    assert initial == pytest.approx(expected, rel=0.0, abs=1e-9)  # the digits in the file


@each_device
def test_controller_gets_the_description_of_the_device(name: str) -> None:
    device = make(name)
    document = yaml.safe_load((FILES / f"{name}_controllers.yaml").read_text())
    manager = document[f"/{name}/controller_manager"]["ros__parameters"]
    controller = document[f"/{name}/device"]["ros__parameters"]
    assert manager == {"update_rate": 1000, "device": {"type": "haptic_hardware/DeviceController"}}
    assert controller["joints"] == [joint.name for joint in device.joints]
    assert [joint for joint in controller["passive_joints"] if joint] == list(device.passive_joints)
    assert (controller["kind"], controller["base_frame"]) == (device.kind, device.base_frame)
    assert (controller["tool_frame"], controller["has_force_sensor"]) == (device.tool_frame, device.has_force_sensor)


@each_device
def test_ros_reads_the_controller_s_parameters_as_they_are_meant(name: str, context: Any) -> None:
    file = FILES / f"{name}_controllers.yaml"
    node = Node(
        "device",
        context=context,
        namespace=f"/{name}",
        cli_args=["--ros-args", "--params-file", str(file)],
        automatically_declare_parameters_from_overrides=True,
    )
    found = {key: parameter.value for key, parameter in node.get_parameters_by_prefix("").items()}
    node.destroy_node()
    expected = yaml.safe_load(file.read_text())[f"/{name}/device"]["ros__parameters"]
    assert {key: found[key] for key in expected} == expected


def test_plugins_are_those_that_the_package_exports() -> None:
    root = ElementTree.parse(Path(__file__).parents[2] / "haptic_hardware" / "haptic_hardware.xml").getroot()
    exported = {element.get("name") for element in root.iter("class")}
    assert exported == {PLUGINS["ros2_control"], control_description.CONTROLLER}


def realtime(**given: Any) -> dict[str, Any]:
    return control_node.check_parameters({"mode": "realtime", **given})


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"mode": "lockstep"}, "parameter mode: expected realtime under ros2_control"),
        ({"command_delay_ticks": 1}, "parameter command_delay_ticks: expected 0 under ros2_control, got 1"),
        ({"period": 0.0007}, "parameter period: expected 1/n s"),
        ({"colour": 1}, "parameter colour: unknown"),
    ],
)
def test_options_that_a_controller_manager_cannot_use_are_refused(given: dict[str, Any], error: str) -> None:
    with pytest.raises(ParameterError, match=error):
        realtime(**given)


def test_urdf_contains_the_parameters_of_the_device_as_texts_that_can_be_read_back() -> None:
    given = {"device": "joystick", "seed": 3, "held": False, "letters": "12", "strokes": [1, 2], "sources": ["a"],
             "device_parameters": ["length=0.2", ""], "device_file": "", "recorded": True, "duration": 2.0}  # fmt: skip
    parameters = realtime(**given)
    texts = control_node.device_texts(parameters, given)
    assert set(texts) == {"device", "period", "seed", "held", "letters", "strokes", "device_parameters"}
    again = parse_parameters(texts)
    assert {name: again[name] for name in texts} == {name: parameters[name] for name in texts}


def test_detail_agrees_with_that_of_the_device_node() -> None:
    device = make("joystick", held="true", motion="letters")
    entries = [text.partition("=") for text in control_description.description_detail(device, {"seed": 3})]
    event = TickEvent(values=[KeyValue(key=path, value=value) for path, _, value in entries])
    said = {"parameters": {"seed": 3}, "simulated": True, **device.description(), "handle_axes": 0}
    assert device.description()["handle_axes"] == 2
    assert detail_of(event) == json.loads(json.dumps(said))
