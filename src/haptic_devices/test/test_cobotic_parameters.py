"""Every number of the six-degree-of-freedom display and hand acts; what cannot be used is refused in one clear line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from haptic_core.commands import MOTION
from haptic_core.errors import ParameterError
from haptic_core.parameters import check_all, load_parameter_specs
from haptic_devices import factories
from haptic_devices.cobotic import DEFAULT_FILE, CoboticHandController, CoboticHandControllerParameters
from haptic_devices.device import DeviceParameters, load_parameters
from haptic_devices.hands.spatial_hand import SpatialHandParameters
from haptic_devices.loop import TickLoop
from haptic_devices.motions.planar import PLANAR_MOTIONS
from haptic_devices.motions.spatial import SPATIAL_MOTIONS
from haptic_msgs.msg import DeviceCommand

SPECS = load_parameter_specs(Path(factories.__file__).with_name("device_node.yaml"))
MODELS: dict[type[DeviceParameters], tuple[Path, str]] = {
    CoboticHandControllerParameters: (DEFAULT_FILE, "device_file"),
    SpatialHandParameters: (factories.SPATIAL_HAND_FILE, "hand_file"),
}
FIELDS = [(model, name) for model in MODELS for name in model.model_fields]
NUMBERS = [(model, name) for model, name in FIELDS if name != "compensation"]
#: 0.9 of it would be the same, or not small enough for a run's forces of some newtons
OTHERS = {"end_effector_center_x": 0.01, "end_effector_center_y": 0.01, "force_range": 1.0, "torque_range": 0.05}


def cobotic(**values: Any) -> CoboticHandController:
    chosen = {"device": "cobotic_hand_controller", "motion": "parallel_parking", **values}
    return factories.cobotic_hand_controller(check_all(SPECS, chosen))


def command_of(tick: int, rotations: bool) -> DeviceCommand:
    """A smooth motion of all joints, slowly against all stops, then slides or gimbal too fast to the other side."""
    command = DeviceCommand(source="test", tick=tick, mode=MOTION, motion_fields=7)
    if tick < 210:
        phase, shape = 0.03 * tick, np.array([0.01, 0.02, 0.01, 0.05, 0.1, 0.1])
        command.joint_position = (shape * np.sin(phase)).tolist()
        command.joint_velocity = (30.0 * shape * np.cos(phase)).tolist()
        command.tool_acceleration.linear.x = float(-900.0 * shape[0] * np.sin(phase))
        return command
    command.motion_fields = 1
    way = min((tick - 210) / 600, 1.0) * np.array([0.16, 0.16, 0.16, 2.7, 1.35, 5.1])
    if tick >= 850:
        way[slice(3, 6) if rotations else slice(0, 3)] *= -1.0
    command.joint_position = way.tolist()
    return command


def simulate(device: CoboticHandController, period: float = 1e-3, rotations: bool = False) -> Iterator[bytes]:
    """Readings and truth of each tick under the commands of `command_of`."""
    device.configure(period)
    device.activate()
    loop = TickLoop(device, ["test"])
    for tick in range(980):
        loop.offer(command_of(tick, rotations))
        reading = loop.advance()
        yield np.concatenate((reading.values, device.truth().values, [loop.status])).tobytes()


def differs(rows: Iterable[bytes], others: Iterable[bytes]) -> bool:
    """Returns true if two runs differ; simulates them only up to the first difference."""
    return any(row != other for row, other in zip_longest(rows, others))


@pytest.fixture(scope="module")
def reference() -> dict[bool, list[bytes]]:
    return {rotations: list(simulate(cobotic(), rotations=rotations)) for rotations in (False, True)}


@pytest.mark.slow
@pytest.mark.covering(14)
@pytest.mark.parametrize(("model", "field"), NUMBERS, ids=lambda value: getattr(value, "__name__", value))
def test_every_number_of_the_display_and_the_hand_changes_the_result(reference, tmp_path, model, field):
    default, parameter = MODELS[model]
    numbers = yaml.safe_load(default.read_text())
    numbers[field] = OTHERS.get(field, 0.9 * numbers[field])
    file = tmp_path / default.name
    file.write_text(yaml.safe_dump(numbers))
    rotations = field == "rate_limit"
    assert differs(simulate(cobotic(**{parameter: str(file)}), rotations=rotations), reference[rotations])


def test_each_kind_of_compensation_gives_another_result(reference):
    kinds = ("none", "weight", "full")
    results = [list(simulate(cobotic(device_parameters=[f"compensation={kind}"]))) for kind in kinds]
    assert len(set(map(tuple, results))) == 3 and results[2] == reference[False]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("period", 0.0005),
        ("held", False),
        ("motion", "sphere_tour"),
        ("device_parameters", ["friction_translation=5"]),
        ("hand_parameters", ["stiffness=300", "damping=10"]),
        ("seed", 1),
    ],
)
def test_every_parameter_of_the_node_that_concerns_the_display_changes_the_result(reference, name, value):
    changed = simulate(cobotic(**{name: value}), value if name == "period" else 1e-3)
    assert differs(changed, reference[False])


def test_the_reference_repeats_so_that_a_difference_means_something(reference):
    assert list(simulate(cobotic())) == reference[False]


def test_the_motion_chooses_the_plan_and_its_length():
    lengths = [cobotic(motion=name).end_time for name in SPATIAL_MOTIONS]
    assert lengths == pytest.approx([15.3, 10.2, 13.7, 15.3, 10.8])
    assert cobotic(held=False).end_time == float("inf")


# ---- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("motion", PLANAR_MOTIONS)
def test_a_planar_motion_is_refused_with_those_that_fit(motion):
    with pytest.raises(ParameterError) as error:
        cobotic(motion=motion)
    expected = (
        "parallel_parking, steering, sphere_tour, guided_push, push_and_release for device cobotic_hand_controller"
    )
    assert str(error.value) == f"parameter motion: expected one of {expected}, got {motion!r}"


@pytest.mark.parametrize("device", ["joystick", "five_bar", "scripted"])
@pytest.mark.parametrize("motion", SPATIAL_MOTIONS)
def test_a_spatial_motion_is_refused_by_the_planar_devices(device, motion):
    with pytest.raises(ParameterError) as error:
        getattr(factories, device)(check_all(SPECS, {"device": device, "motion": motion}))
    expected = f"paper, paper_admittance, to_and_fro, letters, strokes, peg for device {device}"
    assert str(error.value) == f"parameter motion: expected one of {expected}, got {motion!r}"


def test_motion_has_no_effect_on_a_released_tool():
    for motion in ("letters", "steering"):
        assert cobotic(motion=motion, held=False).hand is None
        assert factories.joystick(check_all(SPECS, {"motion": motion, "held": False})).hand is None


def bounds(model: type[DeviceParameters], field: str) -> list[float]:
    """One value below the lower and one above the upper bound of a field, from its declaration."""
    metadata = model.model_fields[field].metadata
    lower, upper = (
        next(getattr(rule, name) for rule in metadata for name in names if hasattr(rule, name))
        for names in (("ge", "gt"), ("le", "lt"))
    )
    return [lower - 1e-3, upper + 1e-3]


@pytest.mark.parametrize("side", [0, 1], ids=["below", "above"])
@pytest.mark.parametrize(("model", "field"), NUMBERS, ids=lambda value: getattr(value, "__name__", value))
def test_a_number_out_of_its_bounds_is_refused_by_field_and_value(model, field, side):
    value = bounds(model, field)[side]
    with pytest.raises(ParameterError) as error:
        load_parameters(model, MODELS[model][0], [f"{field}={value!r}"])
    message = str(error.value)
    assert message.startswith(f"entry '{field}={value!r}': input should be ") and message.endswith(f"got {value!r}")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "heavy", None, [1.0]])
@pytest.mark.parametrize(("model", "field"), NUMBERS[:1] + NUMBERS[-1:])
def test_error_names_the_field_that_is_not_a_finite_number(tmp_path, model, field, value):
    file = tmp_path / "numbers.yaml"
    file.write_text(yaml.safe_dump({**yaml.safe_load(MODELS[model][0].read_text()), field: value}))
    with pytest.raises(ParameterError, match=rf"numbers\.yaml: line \d+: {field}: input should be a .*number"):
        load_parameters(model, file)


@pytest.mark.covering(14)
@pytest.mark.parametrize(("model", "field"), FIELDS, ids=lambda value: getattr(value, "__name__", value))
def test_a_missing_number_is_refused_by_name(tmp_path, model, field):
    numbers = yaml.safe_load(MODELS[model][0].read_text())
    del numbers[field]
    file = tmp_path / "numbers.yaml"
    file.write_text(yaml.safe_dump(numbers))
    with pytest.raises(ParameterError, match=rf"numbers\.yaml: line 1: {field}: field required$"):
        load_parameters(model, file)


@pytest.mark.parametrize(
    ("name", "entries", "message"),
    [
        ("device_parameters", ["colour=red"], "entry 'colour=red': extra inputs are not permitted, got 'red'"),
        ("device_parameters", ["range_tilt=1.5"], "entry 'range_tilt=1.5': input should be less than or equal to 1.4"),
        ("device_parameters", ["compensation=some"], "entry 'compensation=some': input should be 'full', 'weight' or"),
        ("hand_parameters", ["mass=-1"], "entry 'mass=-1': input should be greater than or equal to 0, got -1"),
        ("hand_parameters", ["expected_resistance=4"], "entry 'expected_resistance=4': extra inputs are not permitted"),
    ],
)
def test_an_entry_that_cannot_be_used_is_refused_by_parameter_entry_and_value(name, entries, message):
    with pytest.raises(ParameterError) as error:
        cobotic(**{name: entries})
    assert str(error.value).startswith(f"parameter {name}: {message}")
    assert "\n" not in str(error.value)


def test_numbers_that_do_not_go_together_are_refused_in_one_line():
    with pytest.raises(ValueError, match=r"^end_effector_mass and the hand's mass: expected half of inertia_transl"):
        cobotic(hand_parameters=["mass=5"], device_parameters=["end_effector_mass=1"])
    with pytest.raises(ValueError, match=r"^tremor_high: expected 8 Hz or more, got 7"):
        cobotic(hand_parameters=["tremor_high=7"])
