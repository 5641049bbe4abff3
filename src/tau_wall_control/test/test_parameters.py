"""Every number of the YAML file: refused by name when it is wrong, and acting when it is right."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from pydantic import ValidationError

from tau_wall_control import TauDevice, TauError, design_wall_controller, load_parameters
from tau_wall_control.device.parameters import DEFAULT_FILE, TauParameters
from tau_wall_control.device.thermal import ThermalLimit
from tau_wall_control.device.workspace import cube_poses, singular_values, turned_poses
from tau_wall_control.simulation.monte_carlo import Design
from tau_wall_control.simulation.push import push_direction, push_signal
from tau_wall_control.study.settings import StudySettings, nine_points


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("platform.mass=-1", "platform.mass: input should be greater than 0, got -1"),
        ("chains.chain_2.link_1_length=.nan", "chains.chain_2.link_1_length"),
        ("chains.chain_1.elbow_sign=2", "chains.chain_1.elbow_sign: expected 1 or -1, got 2"),
        ("chains.base_axes.x_local=[0, 0, 2]", "chains.base_axes: expected three unit vectors"),
        ("actuators.peak_torque_joint=2.0", "actuators: expected peak_torque_joint = capstan_ratio x"),
        ("control.operating_points_per_axis=[0.02, 0.0]", "control.operating_points_per_axis: expected rising"),
        ("friction.coulomb_smoothing_speed=0", "friction.coulomb_smoothing_speed"),
        (
            "control.subspace_half_width=1.1",
            "control.subspace_half_width: input should be less than or equal to 1, got 1.1",
        ),
    ],
)
def test_refused_by_name(entry: str, words: str) -> None:
    with pytest.raises(TauError) as caught:
        load_parameters(overrides=(entry,))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files(tmp_path: Path) -> None:
    with pytest.raises(TauError, match=r"nothing\.yaml: cannot be read"):
        TauDevice.from_file(tmp_path / "nothing.yaml")
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [")
    with pytest.raises(TauError, match="not YAML"):
        TauDevice.from_file(broken)
    document = yaml.safe_load(DEFAULT_FILE.read_text())
    del document["platform"]["mass"]
    broken.write_text(yaml.safe_dump(document))
    with pytest.raises(TauError, match=r"platform\.mass: field required"):
        TauDevice.from_file(broken)
    with pytest.raises(TauError, match=r"entry 'platform\.weight=1'"):
        load_parameters(overrides=("platform.weight=1",))


def _response(device: TauDevice) -> np.ndarray:
    """Numbers that depend on kinematics, weight, inertia and friction."""
    p, V = np.array([0.01, -0.005, 0.004]), np.array([0.1, -0.2, 0.15, 1.0, -2.0, 1.5])
    theta = device.inverse_kinematics(p)
    return np.concatenate([theta, *device.acceleration(p, None, V, np.full(6, 0.1)), device.gravity_torque_at(p)])


# Every number of the file


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Paths of all numbers below a value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, (*path, index))
    elif isinstance(value, (int, float)):
        yield path


STAND_IN = yaml.safe_load(DEFAULT_FILE.read_text())
NUMBERS = list(leaves(STAND_IN))
#: numbers that others fix: a single one of them is refused, and all of them together act
FIXED = {
    ("actuators", "capstan_ratio"): {("actuators", "peak_torque_joint"): 1.21},
    ("actuators", "peak_torque_motor"): {("actuators", "peak_torque_joint"): 1.21},
    ("actuators", "peak_torque_joint"): {("actuators", "peak_torque_motor"): 0.121},
}
#: numbers of a direction or a sign: another one alone is no direction, or no sign
REFUSED = {"base_axes", "elbow_sign", "direction"}


def replaced(*changes: tuple[tuple[str | int, ...], Any]) -> dict[str, Any]:
    """The stand-in's numbers with some replaced."""
    document = copy.deepcopy(STAND_IN)
    for path, value in changes:
        target = document
        for key in path[:-1]:
            target = target[key]
        target[path[-1]] = value
    return document


def probe(parameters: TauParameters, section: str) -> np.ndarray:
    """Numbers that depend on a section of the file, as the library computes them."""
    device, settings = TauDevice(parameters), StudySettings()
    settings.__dict__["tau"] = device  # what the property would read from a file
    if section == "control":
        c = design_wall_controller(device, "mopc")
        return np.concatenate([c.table.ravel(), c.points.ravel(), np.ravel(c.edges), [c.period]])
    if section == "encoders":
        return design_wall_controller(device, "observer", per_axis=1).table.ravel()
    if section in ("disturbance", "wall"):
        pushes = settings.pushes(Design("sopc"), np.zeros((1, 3)))
        signal = push_signal(device, force=settings.push, duration=pushes.duration, noise=settings.deviation)
        grid, points = np.array(settings.grid, dtype=float), nine_points(device).ravel()
        direction = push_direction(device, (0.0, 0.0, 1.0))
        return np.concatenate([[len(signal)], signal, grid, points, [settings.significance], direction])
    thermal = ThermalLimit(device, 1e-3)
    thermal.advance(np.full(6, 0.5))
    limits = [device.peak_torque, device.continuous_torque, *thermal.load]
    poses = [cube_poses(device, 2)[0], turned_poses(device, 2)[0]]
    shapes = np.concatenate([np.ravel(part) for pose in poses for part in pose])
    return np.concatenate([_response(device), limits, shapes, singular_values(device, np.zeros(3))])


@cache
def reference_probe(section: str) -> np.ndarray:
    return probe(load_parameters(), section)


@pytest.mark.slow
@pytest.mark.parametrize("path", NUMBERS, ids=lambda path: ".".join(map(str, path)))
def test_every_number_of_the_file_acts_or_is_refused(path: tuple[str | int, ...]) -> None:
    value: Any = STAND_IN
    for key in path:
        value = value[key]
    other = value + 1 if isinstance(value, int) and not isinstance(value, bool) else 1.1 * value if value else 1e-3
    changes = [(path, other), *FIXED.get(path, {}).items()]
    document = replaced(*changes)
    if REFUSED & set(map(str, path)):
        with pytest.raises(ValidationError):
            TauParameters.model_validate(document)
        return
    if path in FIXED:
        with pytest.raises(ValidationError, match="peak_torque_joint = capstan_ratio x peak_torque_motor"):
            TauParameters.model_validate(replaced(changes[0]))
    before, after = reference_probe(str(path[0])), probe(TauParameters.model_validate(document), str(path[0]))
    assert before.shape != after.shape or np.abs(after - before).max() > 1e-12


def test_numbers_of_directions_and_signs_act_together(device: TauDevice) -> None:
    turned = {"x_local": [0, 1, 0], "y_local": [0, 0, 1], "z_local": [1, 0, 0]}
    for changes in (
        [(("disturbance", "direction"), [0.6, 0.0, -0.8])],
        [(("chains", "base_axes", name), axis) for name, axis in turned.items()],
        [(("chains", chain, "elbow_sign"), 1) for chain in ("chain_1", "chain_2", "chain_3")],
    ):
        section = str(changes[0][0][0])
        parameters = TauParameters.model_validate(replaced(*changes))
        try:
            after = probe(parameters, section)
        except TauError:  # another assembly may not reach the centre: that is an effect, too
            continue
        assert np.abs(after - reference_probe(section)).max() > 1e-6


def test_words_do_not_change_the_fingerprint(device: TauDevice) -> None:
    assert TauDevice(load_parameters(overrides=("frame.axes=other words",))).fingerprint == device.fingerprint
