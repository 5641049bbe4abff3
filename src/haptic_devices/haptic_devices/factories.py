"""From a node's parameters to a device: the entry points of group haptic_devices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from haptic_devices.device import load_parameters
from haptic_devices.joystick import Joystick
from haptic_devices.motion import MotionPlan, make_plan
from haptic_devices.operator import HandParameters, SimulatedHand
from haptic_devices.scripted import Script, ScriptedDevice

HAND_FILE = Path(__file__).with_name("hand.yaml")


def _plan(parameters: dict[str, Any]) -> MotionPlan:
    options = {name: parameters[name] for name in ("letters", "strokes", "rest_duration", "rest_force")}
    return make_plan(parameters["motion"], parameters["period"], **options)


def _file(parameters: dict[str, Any], name: str) -> Path | None:
    return Path(parameters[name]) if parameters[name] else None


def joystick(parameters: dict[str, Any]) -> Joystick:
    """The simulated joystick, held by the simulated hand unless `held` is false."""
    hand = None
    if parameters["held"]:
        impedance = load_parameters(HandParameters, _file(parameters, "hand_file") or HAND_FILE)
        hand = SimulatedHand(impedance, _plan(parameters), parameters["seed"])
    return Joystick.from_file(_file(parameters, "device_file"), hand)


def scripted(parameters: dict[str, Any]) -> ScriptedDevice:
    """Plays the CSV file `device_file`, or the chosen motion where none is given."""
    file = _file(parameters, "device_file")
    return ScriptedDevice(Script.from_csv(file) if file else Script.from_plan(_plan(parameters)))
