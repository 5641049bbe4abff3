"""A device for ros2_control: URDF with the `<ros2_control>` element, and the controller's parameters. No ROS import.

The geometry is that of the device's robot description. `config/shared/ros2_control` has the files of the suite's
devices: `python -m haptic_devices.control.description DIRECTORY` writes them again; a test compares them.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import yaml

from haptic_core.messages import event_texts
from haptic_devices.control.hosted import interface_names, parse_parameters
from haptic_devices.device import Device
from haptic_devices.factories import find_device

#: plugin by kind of hardware
PLUGINS = {"ros2_control": "haptic_hardware/PythonDevice", "mock": "mock_components/GenericSystem"}
CONTROLLER = "haptic_hardware/DeviceController"
#: update rate in the files of the suite's devices [1/s]
UPDATE_RATE = 1000
DEVICES = ("joystick", "five_bar", "cobotic_hand_controller", "tau")

_XACRO = "http://www.ros.org/wiki/xacro"
_SENSORS = ("_force_torque", "_truth")


def control_element(device: Device, name: str) -> tuple[ElementTree.Element, ElementTree.Element]:
    """Makes the `<ros2_control>` element; returns it and its `<hardware>` element, which is still empty.

    Args:
        device: configured device, or a real device that is still closed; mock hardware starts at its present positions.
        name: name of the hardware and prefix of the interfaces that do not belong to a joint.
    """
    root = ElementTree.Element("ros2_control", name=name, type="system")
    head = ElementTree.SubElement(root, "hardware")
    components: dict[str, ElementTree.Element] = {}
    limits = {joint.name: joint for joint in device.joints}
    states, commands = interface_names(device, name)
    start = _start(device, states)
    for kind, names in (("command_interface", commands), ("state_interface", states)):
        for whole in names:
            component, interface = whole.split("/")
            is_joint = component in limits or component in device.passive_joints
            if component not in components:
                tag = "joint" if is_joint else "sensor" if component.endswith(_SENSORS) else "gpio"
                components[component] = ElementTree.SubElement(root, tag, name=component)
            element = ElementTree.SubElement(components[component], kind, name=interface)
            if kind == "command_interface" and is_joint:
                _limit(element, limits[component], interface)
            elif kind == "state_interface" and (start[whole] or not is_joint):
                ElementTree.SubElement(element, "param", name="initial_value").text = repr(start[whole])
    return root, head


def _choose(head: ElementTree.Element, hardware: str, parameters: Mapping[str, str]) -> None:
    """Fills a `<hardware>` element, or the `<xacro:if>` inside it; mock hardware has no parameters."""
    ElementTree.SubElement(head, "plugin").text = PLUGINS[hardware]
    for key, text in parameters.items() if hardware == "ros2_control" else ():
        ElementTree.SubElement(head, "param", name=key).text = text


def _start(device: Device, names: Sequence[str]) -> dict[str, float]:
    """Returns the value of each state of a device at rest at its present position."""
    truth = device.truth()
    arrays = [device.read().values, [] if truth is None else truth.values, *device.passive_state(), np.zeros(3)]
    found = dict(zip(names, np.concatenate(arrays).round(9).tolist(), strict=True))
    return {name: value if "position" in name or "orientation" in name else 0.0 for name, value in found.items()}


def _limit(element: ElementTree.Element, joint: Any, interface: str) -> None:
    bounds = {
        "position": (joint.lower, joint.upper),
        "velocity": (-joint.velocity_limit, joint.velocity_limit),
        "effort": (-joint.effort_limit, joint.effort_limit),
    }[interface]
    for key, bound in zip(("min", "max"), bounds, strict=True):
        ElementTree.SubElement(element, "param", name=key).text = repr(float(bound))


def control_urdf(device: Device, name: str, hardware: str, parameters: Mapping[str, str]) -> str:
    """Makes the device's robot description with the `<ros2_control>` element.

    Args:
        device: configured device, or a real device that is still closed.
        name: name of the hardware.
        hardware: "ros2_control" (the Python device) or "mock" (mock_components/GenericSystem).
        parameters: parameters of the device node, as texts.
    """
    robot = ElementTree.fromstring(device.robot_description() or f'<robot name="{name}"><link name="base"/></robot>')
    element, head = control_element(device, name)
    _choose(head, hardware, parameters)
    robot.append(element)
    ElementTree.indent(robot)
    return ElementTree.tostring(robot, encoding="unicode")


def controller_parameters(device: Device, name: str) -> dict[str, Any]:
    """Returns the parameters of the controller `haptic_hardware/DeviceController` for a device."""
    return {
        "hardware": name,
        "kind": device.kind,
        "joints": [joint.name for joint in device.joints],
        "passive_joints": [*device.passive_joints] or [""],
        "base_frame": device.base_frame,
        "tool_frame": device.tool_frame,
        "has_force_sensor": device.has_force_sensor,
        "simulated": device.truth() is not None,
    }


def description_detail(device: Device, parameters: Mapping[str, Any]) -> list[str]:
    """Lists the data about the device that the controller publishes when it becomes active, as path=value, for reports.

    A hosted device has no handle for its hand: it has neither the topic nor the service.
    """
    described = {**device.description(), "handle_axes": 0}
    detail = {"parameters": dict(parameters), "simulated": device.truth() is not None, **described}
    return [f"{path}={text}" for path, text in event_texts(detail).items()]


def xacro_text(device: Device, name: str) -> str:
    """Returns the text of `<name>.urdf.xacro`, which includes the geometry and has both kinds of hardware.

    Its arguments are description (a file with the device's robot description), hardware, device_file and
    device_parameters.
    """
    ElementTree.register_namespace("xacro", _XACRO)
    robot = ElementTree.Element("robot", name=name)
    for key, default in (("description", ""), ("hardware", "ros2_control"), ("device_file", ""),
                         ("device_parameters", "['']")):  # fmt: skip
        ElementTree.SubElement(robot, f"{{{_XACRO}}}arg", name=key, default=default)
    ElementTree.SubElement(robot, f"{{{_XACRO}}}include", filename="$(arg description)")
    parameters = {"device": name, **{key: f"$(arg {key})" for key in ("device_file", "device_parameters")}}
    element, head = control_element(device, name)
    robot.append(element)
    for hardware in PLUGINS:
        choice = ElementTree.SubElement(head, f"{{{_XACRO}}}if", value=f"${{'$(arg hardware)' == '{hardware}'}}")
        _choose(choice, hardware, parameters)
    ElementTree.indent(robot)
    return (
        f"<!-- Written by haptic_devices.control.description. -->\n{ElementTree.tostring(robot, encoding='unicode')}\n"
    )


class _Dumper(yaml.SafeDumper):
    """YAML dumper that quotes texts that ROS reads as a boolean and PyYAML does not, such as the joint y."""


_Dumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"' if text in "yYnN" else None),
)


def parameter_text(document: Mapping[str, Any]) -> str:
    """Returns the text of a parameter file for ROS."""
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=120, default_flow_style=None)


def controllers_text(device: Device, name: str, source: str) -> str:
    """Returns the text of `<name>_controllers.yaml`: controller manager at 1 kHz, and controller with one source."""
    controller = {**controller_parameters(device, name), "sources": [source]}
    document = {
        f"/{name}/controller_manager": {
            "ros__parameters": {"update_rate": UPDATE_RATE, "device": {"type": CONTROLLER}},
        },
        f"/{name}/device": {"ros__parameters": controller},
    }
    return f"# Written by haptic_devices.control.description.\n{parameter_text(document)}"


#: rendering node of the suite's experiments with each device
SOURCES = {"joystick": "friction", "five_bar": "friction", "cobotic_hand_controller": "constraints", "tau": "wall"}


def files(name: str) -> dict[str, str]:
    """Returns the texts of the files of one of the suite's devices, by file name."""
    device = find_device(name)(parse_parameters({"device": name, "held": "false"}))
    device.configure(1.0 / UPDATE_RATE)
    return {
        f"{name}.urdf.xacro": xacro_text(device, name),
        f"{name}_controllers.yaml": controllers_text(device, name, SOURCES[name]),
    }


def main() -> None:
    """Writes the files of all devices, or one device's robot description to standard output."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("directory", type=Path, nargs="?", help="folder for the files for ros2_control")
    parser.add_argument("--describe", choices=DEVICES, help="write this device's robot description to standard output")
    options = parser.parse_args()
    if options.describe:
        device = find_device(options.describe)(parse_parameters({"device": options.describe, "held": "false"}))
        print(device.robot_description())
    for name in DEVICES if options.directory else ():
        for file, text in files(name).items():
            (options.directory / file).write_text(text)


if __name__ == "__main__":
    main()
