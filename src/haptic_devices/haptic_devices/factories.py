"""Factories that make a device from a node's parameters: the entry points of group haptic_devices.

Each factory imports its device, so that a process does not load the libraries of other devices.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from haptic_core.errors import EntryError, ParameterError
from haptic_devices.device import Device, DeviceParameters, load_parameters
from haptic_files.plugins import installed_plugins, load_plugin

if TYPE_CHECKING:
    from haptic_devices.cobotic import CoboticHandController
    from haptic_devices.five_bar import FiveBar
    from haptic_devices.hands.operator import SimulatedHand
    from haptic_devices.hands.spatial_hand import SpatialHand
    from haptic_devices.joystick import Joystick
    from haptic_devices.motions.planar import MotionPlan
    from haptic_devices.motions.spatial import SpatialPlan
    from haptic_devices.scripted import ScriptedDevice
    from haptic_devices.tau import Tau

ENTRY_POINTS = "haptic_devices"

#: parameters of the device's node
NODE_PARAMETER_FILE = Path(__file__).with_name("device_node.yaml")

_HANDS = Path(__file__).parent / "hands"
HAND_FILE = _HANDS / "hand.yaml"
SPATIAL_HAND_FILE = _HANDS / "spatial_hand.yaml"
FINGERS_FILE = _HANDS / "fingers.yaml"

Model = TypeVar("Model", bound=DeviceParameters)


def find_device(name: str) -> Callable[[dict[str, Any]], Device]:
    """Returns the factory of an installed device.

    Raises:
        ParameterError: there is no such device, with the known names; or its module cannot be loaded.
    """
    installed = installed_plugins(ENTRY_POINTS)
    if name not in installed:
        raise ParameterError(f"parameter device: expected one of {', '.join(installed)}, got {name!r}")
    return load_plugin(installed[name], ParameterError, f"parameter device: {name}")  # type: ignore[no-any-return]


def _plan(parameters: dict[str, Any]) -> MotionPlan:
    """Makes the planar plan that the parameters choose."""
    from haptic_devices.motions.choice import choose_plan, motions_of

    own = motions_of("PLANAR_MOTIONS")
    plan: MotionPlan = choose_plan(parameters, list(own), lambda: own[parameters["motion"]](parameters), spatial=False)
    return plan


def spatial_hand(
    parameters: dict[str, Any], default: Path, motions: tuple[str, ...], make: Callable[[str, float], SpatialPlan]
) -> SpatialHand | None:
    """Makes the hand with six degrees of freedom that holds the tool; None if `held` is false.

    Args:
        parameters: parameters of the device's node.
        default: file of the hand's parameters if `hand_file` is empty.
        motions: names of the motions for the device.
        make: function that makes the plan of a motion for a period [s].

    Raises:
        ParameterError, ValueError: hand or motion is refused.
    """
    from haptic_devices.hands.spatial_hand import SpatialHand, SpatialHandParameters
    from haptic_devices.motions.choice import choose_plan

    if not parameters["held"]:
        return None
    motion, period = parameters["motion"], parameters["period"]
    plan = choose_plan(parameters, motions, lambda: make(motion, period), spatial=True)
    impedance = load_numbers(SpatialHandParameters, parameters, "hand", default)
    return SpatialHand(impedance, plan, parameters["seed"])


def _hand_of_motions(parameters: dict[str, Any], default: Path, table: str) -> SpatialHand | None:
    """Makes the hand that moves by the motions of a table of `motions.choice.motions_of`; see `spatial_hand`."""
    from haptic_devices.motions.choice import motions_of

    own = motions_of(table)
    return spatial_hand(parameters, default, tuple(own), lambda motion, _: own[motion](parameters))


def _file(parameters: dict[str, Any], name: str) -> Path | None:
    return Path(parameters[name]) if parameters[name] else None


def load_numbers(model: type[Model], parameters: dict[str, Any], subject: str, default: Path) -> Model:
    """Loads the numbers of the file `<subject>_file`, replaced by the entries of `<subject>_parameters`.

    Args:
        model: model of the numbers.
        parameters: parameters of the device's node.
        subject: "device" or "hand".
        default: file if `<subject>_file` is empty.

    Raises:
        ParameterError: the file or an entry is refused.
    """
    entries = parameters[f"{subject}_parameters"]
    try:
        return load_parameters(model, _file(parameters, f"{subject}_file") or default, entries)
    except EntryError as error:
        raise ParameterError(f"parameter {subject}_parameters: {error}") from None


def planar_hand(parameters: dict[str, Any]) -> SimulatedHand | None:
    """Makes the hand that holds the tool of a planar device; None if `held` is false.

    Args:
        parameters: parameters of the device's node.

    Raises:
        ParameterError, ValueError: hand or motion is refused.
    """
    from haptic_devices.hands.operator import HandParameters, SimulatedHand

    if not parameters["held"]:
        return None
    impedance = load_numbers(HandParameters, parameters, "hand", HAND_FILE)
    return SimulatedHand(impedance, _plan(parameters), parameters["seed"])


def joystick(parameters: dict[str, Any]) -> Joystick:
    """Makes the simulated joystick, held by the simulated hand unless `held` is false."""
    from haptic_devices.joystick import DEFAULT_FILE, Joystick, JoystickParameters

    hand = planar_hand(parameters)
    return Joystick(load_numbers(JoystickParameters, parameters, "device", DEFAULT_FILE), hand)


def five_bar(parameters: dict[str, Any]) -> FiveBar:
    """Makes the simulated parallel-link manipulator, held by the simulated hand unless `held` is false."""
    from haptic_devices.five_bar import DEFAULT_FILE, FiveBar, FiveBarParameters

    hand = planar_hand(parameters)
    numbers = load_numbers(FiveBarParameters, parameters, "device", DEFAULT_FILE)
    return FiveBar(numbers, hand, parameters["seed"])


def cobotic_hand_controller(parameters: dict[str, Any]) -> CoboticHandController:
    """Makes the simulated 6-DOF admittance display, held by the simulated hand unless `held` is false."""
    from haptic_devices.cobotic import DEFAULT_FILE, CoboticHandController, CoboticHandControllerParameters

    hand = _hand_of_motions(parameters, SPATIAL_HAND_FILE, "SPATIAL_MOTIONS")
    numbers = load_numbers(CoboticHandControllerParameters, parameters, "device", DEFAULT_FILE)
    return CoboticHandController(numbers, hand, parameters["seed"])


def tau(parameters: dict[str, Any]) -> Tau:
    """Makes the simulated TAU device of the mechanism `device_file`, held by the hand unless `held` is false."""
    from haptic_devices.tau import Tau

    hand = _hand_of_motions(parameters, FINGERS_FILE, "WALL_MOTIONS")
    try:
        return Tau.from_file(_file(parameters, "device_file"), hand, parameters["device_parameters"])
    except ParameterError as error:
        raise ParameterError(f"parameters device_file, device_parameters: {error}") from None


def scripted(parameters: dict[str, Any]) -> ScriptedDevice:
    """Makes a device that plays the CSV or YAML file `device_file`, or the chosen motion if there is no file."""
    from haptic_devices.scripted import Script, ScriptedDevice, load_script

    if any(parameters.get("device_parameters", ())):
        raise ParameterError("parameter device_parameters: expected none, a script has no numbers to replace")
    file = _file(parameters, "device_file")
    return ScriptedDevice(load_script(file) if file else Script.from_plan(_plan(parameters)))
