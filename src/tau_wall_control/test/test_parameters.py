"""Every number of the YAML file: refused by name when it is wrong, and acting when it is right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from tau_wall_control import TauDevice, TauError, load_parameters
from tau_wall_control.device.parameters import DEFAULT_FILE


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


ACTING = [
    f"chains.chain_{i}.{name}"
    for i in (1, 2, 3)
    for name in (
        "link_1_length",
        "link_2_length",
        "carriage_inertia_yaw",
        *(f"link_{k}.{x}" for k in (1, 2) for x in ("mass", "com", "inertia_axial", "inertia_transverse")),
    )
]
ACTING += ["platform.mass", "actuators.rotor_inertia"]
ACTING += [
    f"friction.{x}" for x in ("viscous_actuated", "viscous_elbow", "coulomb_actuated", "coulomb_smoothing_speed")
]


@pytest.mark.parametrize("name", ACTING)
def test_every_number_acts(device: TauDevice, name: str) -> None:
    value: Any = device.parameters.model_dump()
    for part in name.split("."):
        value = value[part]
    changed = device.with_parameters(f"{name}={1.1 * value!r}")
    assert np.abs(_response(changed) - _response(device)).max() > 1e-9
    assert changed.fingerprint != device.fingerprint


def test_words_do_not_change_the_fingerprint(device: TauDevice) -> None:
    assert TauDevice(load_parameters(overrides=("frame.axes=other words",))).fingerprint == device.fingerprint
