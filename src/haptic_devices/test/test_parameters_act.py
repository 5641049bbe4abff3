"""Every parameter of the simulation changes its result, and what cannot be used is refused in one clear line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from haptic_core.commands import EFFORT
from haptic_core.errors import ParameterError
from haptic_core.parameters import check_all, load_parameter_specs
from haptic_devices import factories
from haptic_devices.device import Device, DeviceParameters, load_parameters
from haptic_devices.joystick import DEFAULT_FILE, JoystickParameters
from haptic_devices.loop import TickLoop
from haptic_devices.operator import HandParameters
from haptic_msgs.msg import DeviceCommand

SPECS = load_parameter_specs(Path(factories.__file__).with_name("device_node.yaml"))
MODELS = {JoystickParameters: (DEFAULT_FILE, "device_file"), HandParameters: (factories.HAND_FILE, "hand_file")}
FIELDS = [(model, name) for model in MODELS for name in model.model_fields]


def simulate(device: Device, period: float, ticks: int = 1200) -> bytes:
    """Readings and truth under efforts that slide, hit the stop, saturate and at last run too fast."""
    device.configure(period)
    device.activate()
    loop = TickLoop(device, ["test"])
    command = DeviceCommand(source="test", mode=EFFORT)
    rows = []
    for tick in range(ticks):
        command.tick = tick
        level = 0.4 if tick < 300 else -20.0
        command.joint_effort = [level, level] if tick >= 150 else [0.0, 0.0]
        loop.offer(command)
        reading = loop.advance()
        rows.append(np.concatenate((reading.values, device.truth().values, [loop.status])))
    return np.array(rows).tobytes()


def joystick(**values: Any) -> Device:
    return factories.joystick(check_all(SPECS, values))


def changed(model: type[DeviceParameters], field: str, folder: Path) -> dict[str, str]:
    """The node parameter that names a copy of the model's file with one number 10 % smaller."""
    default, parameter = MODELS[model]
    numbers = yaml.safe_load(default.read_text())
    numbers[field] *= 0.9
    file = folder / default.name
    file.write_text(yaml.safe_dump(numbers))
    return {parameter: str(file)}


@pytest.fixture(scope="module")
def reference() -> dict[bool, bytes]:
    return {held: simulate(joystick(held=held), 1e-3) for held in (True, False)}


@pytest.mark.parametrize(("model", "field"), FIELDS, ids=lambda value: getattr(value, "__name__", value))
def test_every_number_of_the_joystick_and_the_hand_changes_the_result(reference, tmp_path, model, field):
    held = model is HandParameters
    assert simulate(joystick(held=held, **changed(model, field, tmp_path)), 1e-3) != reference[held]


def test_the_reference_repeats_so_that_a_difference_means_something(reference):
    assert {held: simulate(joystick(held=held), 1e-3) for held in (True, False)} == reference


#: another value of each parameter of the node that the simulation takes; what it is compared with
PHYSICS: dict[str, tuple[Any, dict[str, Any]]] = {
    "period": (0.0005, {}),
    "held": (False, {}),
    "motion": ("paper", {}),
    "letters": ("a", {}),
    "strokes": ([1], {"motion": "strokes"}),
    "rest_duration": (0.5, {"motion": "strokes", "strokes": [0, 1]}),
    "rest_force": (1.0, {"motion": "strokes"}),
    "seed": (1, {}),
}
#: the other parameters of the node, and who tests that they act
ELSEWHERE = {
    "device": "the device node", "mode": "the device node", "duration": "the device node",
    "sources": "the device node", "recorded": "the device node", "display_rate": "the device node",
    "autostart": "the device node", "answer_timeout": "the device node", "activation_timeout": "the device node",
    "device_file": "every field above", "hand_file": "every field above",
    "command_delay_ticks": "test_loop", "watchdog_periods": "test_loop",
}  # fmt: skip


def test_every_parameter_of_the_device_node_is_tested_here_or_named_as_tested_elsewhere():
    assert sorted([*PHYSICS, *ELSEWHERE]) == sorted(SPECS)


@pytest.mark.parametrize("name", PHYSICS)
def test_every_physical_parameter_of_the_node_changes_the_result(name):
    value, others = PHYSICS[name]
    assert value != check_all(SPECS, others)[name]
    results = []
    for values in (others, {**others, name: value}):
        device = joystick(**values)
        period = check_all(SPECS, values)["period"]
        # long enough for the first stroke, a short rest and the way to the next stroke
        results.append(simulate(device, period, ticks=1800))
    assert results[0] != results[1]


def test_the_rest_s_length_changes_the_length_of_the_run():
    ends = [joystick(motion="strokes", rest_duration=duration).end_time for duration in (2.0, 3.0)]
    assert ends[1] - ends[0] == pytest.approx(2.0)  # the only rest is the last one: twice as long


# ---- refusals -------------------------------------------------------------------------------------


def write(folder: Path, model: type[DeviceParameters], **numbers: Any) -> Path:
    file = folder / "numbers.yaml"
    file.write_text(yaml.safe_dump({**yaml.safe_load(MODELS[model][0].read_text()), **numbers}))
    return file


def bounds(model: type[DeviceParameters], field: str) -> list[float]:
    """One value below the lower and one above the upper bound of a field, from its declaration."""
    lower, upper = (
        next(
            getattr(rule, name) for rule in model.model_fields[field].metadata for name in names if hasattr(rule, name)
        )
        for names in (("ge", "gt"), ("le", "lt"))
    )
    return [lower - 1e-3, upper + 1e-3]


@pytest.mark.parametrize("side", [0, 1], ids=["below", "above"])
@pytest.mark.parametrize(("model", "field"), FIELDS, ids=lambda value: getattr(value, "__name__", value))
def test_a_number_out_of_its_bounds_is_refused_by_file_field_and_value(tmp_path, model, field, side):
    value = bounds(model, field)[side]
    file = write(tmp_path, model, **{field: value})
    with pytest.raises(ParameterError) as error:
        load_parameters(model, file)
    message = str(error.value)
    assert message.startswith(f"{file}: {field}: input should be ") and message.endswith(f"got {value!r}")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "heavy", None, [1.0]])
@pytest.mark.parametrize("model", MODELS)
def test_what_is_not_a_finite_number_is_refused_by_field(tmp_path, model, value):
    field = next(iter(model.model_fields))
    with pytest.raises(ParameterError, match=rf"numbers\.yaml: {field}: input should be a .*number"):
        load_parameters(model, write(tmp_path, model, **{field: value}))


@pytest.mark.parametrize("model", MODELS)
def test_an_unknown_key_is_refused_by_name(tmp_path, model):
    with pytest.raises(ParameterError, match=r"numbers\.yaml: colour: extra inputs are not permitted, got 'red'"):
        load_parameters(model, write(tmp_path, model, colour="red"))


@pytest.mark.parametrize(("model", "field"), FIELDS, ids=lambda value: getattr(value, "__name__", value))
def test_a_missing_number_is_refused_by_name(tmp_path, model, field):
    numbers = yaml.safe_load(MODELS[model][0].read_text())
    del numbers[field]
    file = tmp_path / "numbers.yaml"
    file.write_text(yaml.safe_dump(numbers))
    with pytest.raises(ParameterError, match=rf"numbers\.yaml: {field}: field required$"):
        load_parameters(model, file)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"length: [1\n", "not YAML"),
        (b"\xff\xfe\x00", "not YAML"),
        (b"- 1\n", "expected a mapping of parameter names to values"),
        (b"", "expected a mapping of parameter names to values"),
        (DEFAULT_FILE.read_bytes() + b"\n1: 2\n", "1: keys should be strings"),
    ],
)
def test_a_file_without_parameters_is_refused_in_one_line(tmp_path, content, message):
    file = tmp_path / "numbers.yaml"
    file.write_bytes(content)
    with pytest.raises(ParameterError) as error:
        load_parameters(JoystickParameters, file)
    assert str(error.value).startswith(f"{file}: ") and message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_file_is_refused_by_name(tmp_path):
    with pytest.raises(ParameterError, match=r"absent\.yaml: cannot be read: No such file or directory"):
        joystick(device_file=str(tmp_path / "absent.yaml"))
