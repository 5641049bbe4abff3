"""Functions of the suite that read files of a user, for `files`."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rclpy.serialization import serialize_message
from rosbags.rosbag2 import StoragePlugin, Writer

import haptic_devices
import tau_wall_control
from convex_contact.model.world import World
from convex_contact.model.world_source import open_world
from convex_contact.problem.errors import ConvergenceError
from convex_contact.simulation.simulator import Simulator
from haptic_bags.bags import Bag, typestore
from haptic_bags.recording import Recording
from haptic_core.errors import HapticError
from haptic_core.events import make_event
from haptic_core.parameters import check_all, load_parameter_specs
from haptic_devices.cobotic import CoboticHandController, CoboticHandControllerParameters
from haptic_devices.device import DeviceParameters, load_parameters
from haptic_devices.five_bar import FiveBar, FiveBarParameters
from haptic_devices.hands.operator import HandParameters
from haptic_devices.hands.spatial_hand import SpatialHandParameters
from haptic_devices.joystick import Joystick, JoystickParameters
from haptic_devices.scripted import ScriptedDevice, load_script
from haptic_friction.factory import read_table
from haptic_launch.experiments import read_experiment, share
from haptic_launch.launch_file import LaunchFileError, load_launch_file
from haptic_msgs.msg import DeviceCommand
from haptic_verification.fuzz.files import Reader
from haptic_verification.fuzz.subjects import device_state
from tau_wall_control import TauDevice, WallController, design_wall_controller

_TABLE = "speed,force\n0.0,4.0\n0.1,4.5\n0.5,5.0\n1.0,6.0\n"
_SCRIPT = "time,position_0,velocity_0,force_0\n0.0,0.0,0.1,1.0\n0.1,0.01,0.1,1.0\n0.2,0.02,0.1,1.0\n"
URDF = """<?xml version="1.0"?>
<robot name="arm">
  <link name="base"/>
  <link name="upper">
    <inertial><origin xyz="0 0 0.1"/><mass value="1.0"/>
      <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 0 0.1"/><geometry><box size="0.1 0.1 0.2"/></geometry></collision>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><origin xyz="0 0 0.3"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="10" velocity="3"/><dynamics damping="0.1"/>
  </joint>
</robot>
"""


def _run(device: Any) -> None:
    """Runs three periods of a device; raises ArithmeticError if a reading is not finite."""
    device.configure(1e-3)
    device.activate()
    for _ in range(3):
        reading = device.read()
        if not np.isfinite(reading.values).all():
            raise ArithmeticError(f"{type(device).__name__}: a reading is not finite")
        if device.kind == "admittance":
            device.follow(None)
        else:
            device.write(np.zeros(len(device.joints)))
    device.deactivate()


def _device_file(model: type[DeviceParameters], make: Callable[[Any], Any] | None, path: Path) -> None:
    numbers = load_parameters(model, path)
    if make is not None:
        _run(make(numbers))


def _world(path: Path) -> None:
    _step_world(open_world(str(path), {}))


def _world_entries(path: Path) -> None:
    """Opens a world with entries that replace numbers of its file."""
    open_world(str(path), {"bodies.ball.mass": 2.0, "materials.steel.friction": 0.5})


def _urdf(path: Path) -> None:
    world = World()
    world.add_urdf("arm", path)
    _step_world(world)


def _step_world(world: World) -> None:
    """Runs a step of a world with fewer than 60 bodies; a solver may find no solution."""
    if len(world.bodies) < 60:
        with suppress(ConvergenceError):
            Simulator(world, period=1e-3).step()


def _launch(path: Path) -> None:
    if not (path.parent / "include").exists():
        shutil.copytree(share() / "launch" / "include", path.parent / "include")
    description = load_launch_file(path)
    description.arguments  # noqa: B018
    description.evaluate({}, find_executable=lambda package, name: f"/{package}/{name}")


def _specs(path: Path) -> None:
    check_all(load_parameter_specs(path), {})


def readers(folder: Path) -> Iterator[Reader]:
    """Yields all readers except those of bags; writes good files that the suite does not include to the folder."""
    devices, config = Path(haptic_devices.__file__).parent, share() / "config"
    own = (HapticError, LaunchFileError, ValueError)
    for name, model, make in (
        ("joystick", JoystickParameters, Joystick),
        ("five_bar", FiveBarParameters, FiveBar),
        ("cobotic_hand_controller", CoboticHandControllerParameters, CoboticHandController),
        ("hand", HandParameters, None),
        ("spatial_hand", SpatialHandParameters, None),
    ):
        yield Reader(f"device {name}", next(devices.glob(f"*/{name}.yaml")), partial(_device_file, model, make), own)
    tau = Path(tau_wall_control.__file__).with_name("tau.yaml")
    yield Reader("device tau", tau, lambda path: TauDevice.from_file(path), own)
    yield Reader("parameter file", devices / "device_node.yaml", _specs, own)
    yield Reader("world", config / "worlds" / "tau_touch_world.yaml", _world, own)
    yield Reader("world with entries", config / "worlds" / "tau_touch_world.yaml", _world_entries, own)
    yield Reader("script", config / "scripts" / "friction_hysteresis.yaml", _script, own)
    yield Reader("experiment", config / "tau_touch_world" / "experiment.yaml", read_experiment, own)
    yield Reader("launch file", share() / "launch" / "tau_touch_world.launch.yaml", _launch, own)
    for name, text, suffix, read in (
        ("law table", _TABLE, ".csv", lambda path: read_table(str(path))),
        ("script table", _SCRIPT, ".csv", _script),
        ("URDF", URDF, ".urdf", _urdf),
    ):
        path = folder / f"good_{name.replace(' ', '_')}{suffix}"
        path.write_text(text)
        yield Reader(name, path, read, own)
    gains = folder / "good_gains.npz"
    device = TauDevice.default()
    design_wall_controller(device, scheme="sopc").save(gains)
    yield Reader("gains", gains, lambda path: WallController.load(path, device), own, text=False)


def _script(path: Path) -> None:
    _run(ScriptedDevice(load_script(path)))


def small_bag(path: Path, ticks: int = 5) -> Path:
    """Writes a bag of a few ticks with answers, in the layout of the recorder, and returns its path."""
    writer = Writer(path, version=9, storage_plugin=StoragePlugin.MCAP)
    writer.set_custom_data("experiment", "friction_impedance")
    writer.set_custom_data("mode", "lockstep")
    event = {"state": "active", "mode": "WRENCH", "parameters": {"sources": ["friction"]}}
    with writer:
        for topic, make, count in (
            ("device_state", lambda tick: device_state(tick, 2), ticks),
            ("device_command", lambda tick: DeviceCommand(tick=tick, source="friction", mode=2), ticks),
            ("tick_event", lambda _: make_event("device", "state", event), 1),
        ):
            name = f"haptic_msgs/msg/{type(make(0)).__name__}"
            connection = writer.add_connection(f"/joystick/{topic}", name, typestore=typestore())
            for tick in range(count):
                writer.write(connection, tick * 1_000_000, _unpadded(name, serialize_message(make(tick))))
    return path


def _unpadded(name: str, data: bytes) -> bytes:
    """Removes the padding at the end of a serialised message, as in messages from DDS."""
    definition = typestore().get_msgdef(name)
    _, length = definition.deserialize_cdr_le(data[4:], 0, definition.cls, typestore())
    return bytes(data[: 4 + length])


def bag_readers(bag: Path) -> Iterator[Reader]:
    """Yields the readers of a bag, for each of its two files."""
    for name, read in (("report", Bag), ("replay", Recording.read)):
        for file in sorted(path for path in bag.iterdir() if path.is_file()):
            label, tried = f"bag, {name}, {file.suffix}", partial(_in_bag, bag, file.name, read)
            yield Reader(label, file, tried, (HapticError,), text=False, named=False)


def _in_bag(bag: Path, name: str, read: Callable[[Path], Any], path: Path) -> None:
    copy = path.parent / "bag"
    shutil.copytree(bag, copy)
    (copy / name).unlink()
    if path.exists():
        shutil.move(path, copy / name)
    read(copy)


def all_readers(folder: Path) -> dict[str, Reader]:
    """Returns all readers by name; writes good files that the suite does not include to the folder."""
    made = [*readers(folder), *bag_readers(small_bag(folder / "good_bag"))]
    return {reader.name: reader for reader in made}
