"""Motions of a user's own as the argument `motion` of experiments."""

from __future__ import annotations

from pathlib import Path

import pytest

from haptic_bringup.runner import prepare_run
from haptic_core.errors import HapticError

COLUMNS = {"friction_impedance": 2, "touch_clutter": 2, "rolling_disk": 3, "tau_wall": 3, "cobot_guided_tool": 3}


@pytest.mark.parametrize("name", COLUMNS)
def test_every_device_follows_a_csv_file(tmp_path: Path, name: str) -> None:
    file, channels = tmp_path / "stroke.csv", [f"position_{k}" for k in range(COLUMNS[name])]
    rows = [["time", *channels], *([f"{0.1 * k}", *["0.0"] * len(channels)] for k in range(5))]
    file.write_text("\n".join(",".join(row) for row in rows))
    assert prepare_run(name, (f"motion:={file}",)).arguments["motion"] == str(file)
    with pytest.raises(HapticError, match=r"^argument motion: expected one of .* got 'mine'$"):
        prepare_run(name, ("motion:=mine",))
