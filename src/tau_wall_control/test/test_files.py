from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tau_wall_control import ControllerFileError, TauDevice, WallController, simulate_push


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["sopc", "stiff", "predictive"])
def test_round_trip(device: TauDevice, design: Any, tmp_path: Path, scheme: str) -> None:
    path = tmp_path / "controller.npz"
    c = design(scheme)
    c.save(path)
    loaded = WallController.load(path, device)
    assert np.array_equal(loaded.table, c.table)
    assert (loaded.options, loaded.scheme, loaded.design_time) == (c.options, c.scheme, c.design_time)
    a, b = (simulate_push(device, x, point=(0.01, 0.003, 0), duration=1.05) for x in (c, loaded))
    assert np.array_equal(a.position, b.position)


def test_another_device_is_refused(device: TauDevice, design: Any, tmp_path: Path) -> None:
    path = tmp_path / "controller.npz"
    design("sopc").save(path)
    other = device.with_parameters("platform.mass=0.121")
    with pytest.raises(ControllerFileError) as caught:
        WallController.load(path, other)
    message = str(caught.value)
    assert "\n" not in message
    assert other.fingerprint in message and "design it again" in message and device.fingerprint not in message
    slower = device.with_parameters("control.sample_time=0.002")
    with pytest.raises(ControllerFileError, match=r"another sample time than 0\.002 s; design it again"):
        WallController.load(path, slower)


def test_file_without_a_controller_is_refused(device: TauDevice, design: Any, tmp_path: Path) -> None:
    path = tmp_path / "controller.npz"
    with pytest.raises(ControllerFileError, match=r"controller\.npz: cannot be read"):
        WallController.load(path, device)
    path.write_text("nothing")
    with pytest.raises(ControllerFileError, match=r"expected a ZIP archive such as \.npz"):
        WallController.load(path, device)
    design("sopc").save(path)
    with np.load(path) as content:
        facts, table = json.loads(str(content["facts"])), content["table"]
    for name, value, words in (
        ("format", 99, "expected format 1, got another one"),
        ("options", {**facts["options"], "points": [0.0, 0.01]}, "expected finite gains of shape"),
        ("options", {"nonsense": 1}, "not a controller file"),
    ):
        np.savez(path, facts=np.array(json.dumps({**facts, name: value})), table=table)
        with pytest.raises(ControllerFileError, match=words):
            WallController.load(path, device)
