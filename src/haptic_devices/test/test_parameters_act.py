"""Every parameter of the simulation changes its result, and what cannot be used is refused in one clear line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from haptic_core.commands import EFFORT, MOTION
from haptic_core.errors import ParameterError
from haptic_core.parameters import check_all, load_parameter_specs
from haptic_devices import factories
from haptic_devices import five_bar as five_bar_module
from haptic_devices.device import Device, DeviceParameters, load_parameters
from haptic_devices.five_bar import FiveBarParameters
from haptic_devices.hands.operator import HandParameters
from haptic_devices.joystick import DEFAULT_FILE, JoystickParameters
from haptic_devices.loop import TickLoop
from haptic_msgs.msg import DeviceCommand

SPECS = load_parameter_specs(Path(factories.__file__).with_name("device_node.yaml"))
MODELS = {
    JoystickParameters: (DEFAULT_FILE, "device_file"),
    HandParameters: (factories.HAND_FILE, "hand_file"),
    FiveBarParameters: (five_bar_module.DEFAULT_FILE, "device_file"),
}
FIELDS = [(model, name) for model in MODELS for name in model.model_fields]
NUMBERS = [(model, name) for model, name in FIELDS if name != "compensation"]


def command_of(tick: int, kind: str) -> DeviceCommand:
    """Slides, then hits the stop, saturates and at last runs too fast; efforts or motions."""
    command = DeviceCommand(source="test", tick=tick)
    if kind == "impedance":
        level = 0.4 if tick < 300 else -20.0
        command.mode, command.joint_effort = EFFORT, [level, level] if tick >= 150 else [0.0, 0.0]
        return command
    command.mode, command.motion_fields = MOTION, 7
    if tick < 500:
        phase = 0.02 * tick
        command.tool_pose.position.x, command.tool_twist.linear.x = 0.02 * np.sin(phase), 0.4 * np.cos(phase)
        command.tool_acceleration.linear.x = -8.0 * np.sin(phase)
    else:  # slowly out of reach, then at once to the other side
        command.tool_pose.position.x = min(0.0005 * (tick - 500), 0.2) if tick < 1000 else -0.3
    return command


def simulate(device: Device, period: float, ticks: int = 1200) -> Iterator[bytes]:
    """Readings and truth of each tick under the commands of `command_of`."""
    device.configure(period)
    device.activate()
    loop = TickLoop(device, ["test"])
    for tick in range(ticks):
        loop.offer(command_of(tick, device.kind))
        reading = loop.advance()
        yield np.concatenate((reading.values, device.truth().values, [loop.status])).tobytes()


def differs(rows: Iterable[bytes], others: Iterable[bytes]) -> bool:
    """Whether two runs differ; they are simulated no further than to the first difference."""
    return any(row != other for row, other in zip_longest(rows, others))


def joystick(**values: Any) -> Device:
    return factories.joystick(check_all(SPECS, values))


#: with it, all numbers of the friction compensation act
FIVE_BAR = ("compensation=parallel",)


def five_bar(**values: Any) -> Device:
    return factories.five_bar(check_all(SPECS, {"device_parameters": list(FIVE_BAR), **values}))


def changed(model: type[DeviceParameters], field: str, folder: Path) -> dict[str, str]:
    """The node parameter that names a copy of the model's file with one number smaller."""
    default, parameter = MODELS[model]
    numbers = yaml.safe_load(default.read_text())
    factor = {"force_range": 0.01, "workspace": 0.5}.get(
        field, 0.9
    )  # the run's forces are some newtons, its ways 0.08 m
    numbers[field] = type(numbers[field])(factor * numbers[field])
    file = folder / default.name
    file.write_text(yaml.safe_dump(numbers))
    return {parameter: str(file)}


CASES = {"joystick": (joystick, {"held": False}), "hand": (joystick, {}), "five_bar": (five_bar, {})}
CASE_OF = {JoystickParameters: "joystick", HandParameters: "hand", FiveBarParameters: "five_bar"}


@pytest.fixture(scope="module")
def reference() -> dict[str, list[bytes]]:
    return {name: list(simulate(make(**values), 1e-3)) for name, (make, values) in CASES.items()}


@pytest.mark.slow
@pytest.mark.covering(20)
@pytest.mark.parametrize(("model", "field"), NUMBERS, ids=lambda value: getattr(value, "__name__", value))
def test_every_number_of_the_devices_and_the_hand_changes_the_result(reference, tmp_path, model, field):
    make, values = CASES[CASE_OF[model]]
    changed_device = make(**values, **changed(model, field, tmp_path))
    assert differs(simulate(changed_device, 1e-3), reference[CASE_OF[model]])


def test_each_kind_of_compensation_gives_another_result(reference):
    results = [
        list(simulate(five_bar(device_parameters=[f"compensation={kind}"]), 1e-3))
        for kind in ("none", "model_c", "parallel")
    ]
    assert len(set(map(tuple, results))) == 3 and results[2] == reference["five_bar"]


def test_the_reference_repeats_so_that_a_difference_means_something(reference):
    assert {name: list(simulate(make(**values), 1e-3)) for name, (make, values) in CASES.items()} == reference


#: another value of each parameter of the node that the simulation takes; what it is compared with
PHYSICS: dict[str, tuple[Any, dict[str, Any]]] = {
    "period": (0.0005, {}),
    "held": (False, {}),
    "motion": ("paper", {}),
    "letters": ("a", {}),
    "strokes": ([1], {"motion": "strokes"}),
    "rest_duration": (0.5, {"motion": "strokes", "strokes": [0, 1]}),
    "rest_force": (1.0, {"motion": "strokes"}),
    "device_parameters": (["friction_coulomb=0.01"], {}),
    "hand_parameters": (["stiffness=400", "damping=12"], {}),
    "seed": (1, {}),
}
#: the other parameters of the node, and who tests that they act
ELSEWHERE = {
    "device": "the device node", "mode": "the device node", "duration": "the device node",
    "sources": "the device node", "recorded": "the device node", "display_rate": "the device node",
    "autostart": "the device node", "answer_timeout": "the device node", "activation_timeout": "the device node",
    "device_file": "every field above", "hand_file": "every field above",
    "command_delay_ticks": "test_loop", "watchdog_periods": "test_loop", "pace": "test_person",
    "passivity": "test_device_node", "params_file": "test_parameter_files",
    "engagement_time": "test_device_node_safety", "held_axis": "test_inverse3",
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
    assert differs(*results)


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


@pytest.mark.covering(20)
@pytest.mark.parametrize("side", [0, 1], ids=["below", "above"])
@pytest.mark.parametrize(("model", "field"), NUMBERS, ids=lambda value: getattr(value, "__name__", value))
def test_a_number_out_of_its_bounds_is_refused_by_file_line_and_field(tmp_path, model, field, side):
    value = bounds(model, field)[side]
    file = write(tmp_path, model, **{field: value})
    with pytest.raises(ParameterError) as error:
        load_parameters(model, file)
    message = str(error.value)
    line = next(i for i, text in enumerate(file.read_text().splitlines(), 1) if text.startswith(f"{field}:"))
    assert message.startswith(f"{file}: line {line}: {field}: input should be ")
    assert message.endswith("got a number") and repr(value) not in message


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "heavy", None, [1.0]])
@pytest.mark.parametrize("model", MODELS)
def test_error_names_the_field_that_is_not_a_finite_number(tmp_path, model, value):
    field = next(iter(model.model_fields))
    with pytest.raises(ParameterError, match=rf"numbers\.yaml: line \d+: {field}: input should be a .*number"):
        load_parameters(model, write(tmp_path, model, **{field: value}))


@pytest.mark.parametrize("model", MODELS)
def test_an_unknown_key_is_refused_by_line(tmp_path, model):
    with pytest.raises(ParameterError, match=r"numbers\.yaml: line \d+: unknown field$"):
        load_parameters(model, write(tmp_path, model, colour="red"))


@pytest.mark.covering(20)
@pytest.mark.parametrize(("model", "field"), FIELDS, ids=lambda value: getattr(value, "__name__", value))
def test_a_missing_number_is_refused_by_name(tmp_path, model, field):
    numbers = yaml.safe_load(MODELS[model][0].read_text())
    del numbers[field]
    file = tmp_path / "numbers.yaml"
    file.write_text(yaml.safe_dump(numbers))
    with pytest.raises(ParameterError, match=rf"numbers\.yaml: line 1: {field}: field required$"):
        load_parameters(model, file)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"length: [1\n", "not YAML"),
        (b"\xff\xfe\x00", "not UTF-8 text: line 1"),
        (b"- 1\n", "expected a mapping of parameter names to values"),
        (b"", "expected a mapping of parameter names to values"),
        (DEFAULT_FILE.read_bytes() + b"\n1: 2\n", "expected a mapping of parameter names to values"),
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


# ---- entries that replace numbers of a file -------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_an_entry_gives_what_the_same_number_in_a_file_gives(tmp_path, model):
    make, values = CASES[CASE_OF[model]]
    default, parameter = MODELS[model]
    field = next(iter(model.model_fields))
    number = 0.9 * yaml.safe_load(default.read_text())[field]
    others = FIVE_BAR if model is FiveBarParameters else ()
    entries = {parameter.replace("file", "parameters"): [*others, f" {field} = {number!r}"]}
    by_file = simulate(make(**values, **changed(model, field, tmp_path)), 1e-3, 300)
    assert not differs(simulate(make(**values, **entries), 1e-3, 300), by_file)


@pytest.mark.parametrize("text", ["1e-3", "0.001", "1.0e-3", " .001 "])
def test_a_number_may_be_written_in_any_usual_way(text):
    numbers = load_parameters(FiveBarParameters, five_bar_module.DEFAULT_FILE, [f"friction_displacement={text}"])
    assert numbers.friction_displacement == 1e-3


def test_entries_replace_values_of_the_file(tmp_path):
    file = write(tmp_path, JoystickParameters, length=0.2, range=0.7)
    device = joystick(device_file=str(file), device_parameters=["length=0.1"])
    assert (device.parameters.length, device.parameters.range) == (0.1, 0.7)


def test_empty_entry_is_ignored():
    assert five_bar(device_parameters=["", " "]).parameters == five_bar(device_parameters=[]).parameters


@pytest.mark.parametrize("make", [joystick, five_bar])
@pytest.mark.parametrize(
    ("name", "entries", "message"),
    [
        ("device_parameters", ["colour=red"], "entry 'colour=red': extra inputs are not permitted, got 'red'"),
        ("device_parameters", ["range=2"], "entry 'range=2': input should be less than"),
        ("device_parameters", ["range=-1"], "entry 'range=-1': input should be greater than 0, got -1"),
        ("device_parameters", ["range=wide"], "entry 'range=wide': input should be a valid number"),
        ("device_parameters", ["range=.nan"], "entry 'range=.nan': input should be a finite number, got nan"),
        ("device_parameters", ["range=[1"], "entry 'range=[1': the value is not YAML"),
        ("device_parameters", ["range"], "entry 'range': expected name=value"),
        ("device_parameters", ["range="], "entry 'range=': expected name=value"),
        ("device_parameters", ["=1"], "entry '=1': expected name=value"),
        ("device_parameters", ["range=0.3", "range=0.4"], "entry 'range=0.4': range is given twice"),
        ("hand_parameters", ["mass=-1"], "entry 'mass=-1': input should be greater than or equal to 0, got -1"),
        ("hand_parameters", ["grip=1"], "entry 'grip=1': extra inputs are not permitted, got 1"),
    ],
)
def test_an_entry_that_cannot_be_used_is_refused_by_parameter_entry_and_value(make, name, entries, message):
    with pytest.raises(ParameterError) as error:
        make(**{name: entries})
    assert str(error.value).startswith(f"parameter {name}: {message}")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("value", ["model_d", "None", "1"])
def test_an_unknown_compensation_is_refused_with_those_that_there_are(value):
    with pytest.raises(ParameterError, match=rf"entry 'compensation={value}': .*'none', 'model_c' or 'parallel', got"):
        five_bar(device_parameters=[f"compensation={value}"])


def test_a_script_has_no_numbers_to_replace():
    factories.scripted(check_all(SPECS, {"device_parameters": [""]}))
    with pytest.raises(ParameterError, match=r"^parameter device_parameters: expected none, a script has no numbers"):
        factories.scripted(check_all(SPECS, {"device_parameters": ["length=1"]}))
