"""What importing the package and its old module paths loads."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

MOVED = {
    "cobotic_hand_controller": ("cobotic", "CoboticHandController"),
    "control_description": ("control.description", "control_urdf"),
    "control_node": ("control.node", "ControlNode"),
    "encoder": ("components.encoder", "sample"),
    "five_bar_stability": ("five_bar.stability", "loop_matrix"),
    "force_sensor": ("components.force_sensor", "report"),
    "friction_compensation": ("components.friction_compensation", "FrictionCompensation"),
    "handle": ("hands.handle", "Handle"),
    "hosted": ("control.hosted", "HostedDevice"),
    "joint_friction": ("components.joint_friction", "step"),
    "motion": ("motions.planar", "make_plan"),
    "operator": ("hands.operator", "SimulatedHand"),
    "spatial_hand": ("hands.spatial_hand", "SpatialHand"),
    "spatial_motion": ("motions.spatial", "make_spatial_plan"),
    "state_publisher": ("node.state_publisher", "publisher_command"),
    "urdf": ("components.urdf", "Robot"),
    "wall_motion": ("motions.wall", "make_wall_plan"),
}


@pytest.mark.parametrize("old", MOVED)
def test_an_old_path_is_the_module_at_the_new_one(old: str) -> None:
    new, name = MOVED[old]
    sys.modules.pop(f"haptic_devices.{old}", None)
    with pytest.warns(DeprecationWarning, match=rf"haptic_devices\.{old} has moved; use haptic_devices\.{new}"):
        module = import_module(f"haptic_devices.{old}")
    assert module is import_module(f"haptic_devices.{new}") and hasattr(module, name)


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("", ("Device", "DeviceError", "FiveBar", "Joint", "Joystick", "Reading", "Script", "ScriptedDevice", "Truth")),
        (".five_bar", ("FiveBar", "FiveBarParameters", "DEFAULT_FILE", "SUBSTEPS", "aim", "forward", "servo", "stop")),
        (".joystick", ("Joystick", "JoystickParameters", "DEFAULT_FILE", "tip_state", "pass_period")),
        (".tau", ("Tau", "TauDriverParameters", "DEFAULT_FILE", "stop_wrench", "integrate")),
        (".node", ("DeviceNode", "main")),
    ],
)
def test_names_of_packages_that_were_modules_are_there(module: str, names: tuple[str, ...]) -> None:
    package = import_module(f"haptic_devices{module}")
    assert all(hasattr(package, name) for name in names)
    with pytest.raises(AttributeError):
        package.nothing_of_that_name  # noqa: B018


def test_an_old_path_runs_as_a_script(tmp_path) -> None:
    command = [sys.executable, "-W", "ignore", "-m", "haptic_devices.control_description", "--help"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "usage" in done.stdout, done.stderr


LOADED = """
import sys
from haptic_core.parameters import check_all, load_parameter_specs
from haptic_devices.factories import NODE_PARAMETER_FILE, find_device
import haptic_devices.node.device_node
values = check_all(load_parameter_specs(NODE_PARAMETER_FILE), {"device": sys.argv[1], "held": False})
find_device(sys.argv[1])(values)
print(*sys.modules)
"""
DEVICES = {"joystick", "five_bar", "cobotic_hand_controller", "tau", "scripted"}
FOLDERS = {"cobotic_hand_controller": "cobotic"}
LIBRARIES = {"tau_wall_control": {"tau"}, "haptic_friction": {"five_bar", "tau"}, "pinocchio": set(), "rosbags": set()}


@pytest.mark.slow
@pytest.mark.parametrize("device", ["joystick", pytest.param("tau", marks=pytest.mark.slow)])
def test_a_device_node_loads_no_other_device_nor_its_libraries(device: str) -> None:
    done = subprocess.run([sys.executable, "-c", LOADED, device], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    for other in DEVICES - {device}:
        assert f"haptic_devices.{FOLDERS.get(other, other)}" not in loaded
    for library, users in LIBRARIES.items():
        assert library not in loaded or device in users
