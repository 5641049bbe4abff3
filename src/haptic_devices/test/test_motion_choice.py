"""Motions of other packages and of files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from haptic_core.errors import ParameterError
from haptic_core.parameters import check_all, load_parameter_specs
from haptic_devices import factories, motions
from haptic_devices.motions.choice import motions_of, read_plan

SPECS = load_parameter_specs(factories.NODE_PARAMETER_FILE)
PLANS = """
import numpy as np
from haptic_devices.motions.planar import MotionPlan
from haptic_devices.motions.spatial import SpatialPlan

def shove(parameters):
    return MotionPlan(parameters["period"], np.zeros((5, 7)), ())

def lift(parameters):
    table = np.zeros((6, 20))
    table[:, 6] = 1.0
    return SpatialPlan(parameters["period"], table, ())
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package with two motions."""
    (tmp_path / "lab_motions.py").write_text(PLANS)
    info = tmp_path / "lab_motions-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lab-motions\nVersion: 1.0\n")
    points = "shove = lab_motions:shove\nlift = lab_motions:lift\nthrow = lab_throws:throw\n"
    (info / "entry_points.txt").write_text(f"[haptic_motions]\n{points}")
    monkeypatch.syspath_prepend(str(tmp_path))


def made(device: str, motion: str, **given: Any) -> Any:
    return getattr(factories, device)(check_all(SPECS, {"device": device, "motion": motion, **given}))


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("device", "motion", "rows"),
    [("joystick", "shove", 5), ("five_bar", "shove", 5), ("cobotic_hand_controller", "lift", 6), ("tau", "lift", 6)],
)
def test_a_motion_of_an_installed_package_is_found(device: str, motion: str, rows: int) -> None:
    assert made(device, motion).end_time == pytest.approx(rows * 1e-3)


@pytest.mark.usefixtures("installed")
def test_a_motion_that_does_not_fit_the_device_is_refused() -> None:
    with pytest.raises(ParameterError, match="expected a MotionPlan for device joystick, got a SpatialPlan"):
        made("joystick", "lift")
    with pytest.raises(ParameterError, match="peg, lift, shove, throw for device joystick, got 'push'"):
        made("joystick", "push")


@pytest.mark.usefixtures("installed")
def test_a_motion_whose_module_cannot_be_imported_is_refused() -> None:
    reason = "lab_throws:throw cannot be loaded: ModuleNotFoundError: No module named 'lab_throws'"
    with pytest.raises(ParameterError, match=f"^parameter motion: throw: {reason}$"):
        made("joystick", "throw")


@pytest.mark.parametrize(
    ("table", "kind", "columns", "device"),
    [
        ("PLANAR_MOTIONS", "planar.MotionPlan", 7, "joystick"),
        ("SPATIAL_MOTIONS", "spatial.SpatialPlan", 20, "cobotic_hand_controller"),
        ("WALL_MOTIONS", "spatial.SpatialPlan", 20, "tau"),
    ],
)
def test_a_motion_in_a_new_module_of_the_folder_is_found(
    table: str, kind: str, columns: int, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, _, plan = kind.partition(".")
    (tmp_path / f"new_{device}.py").write_text(
        f"import numpy as np\nfrom haptic_devices.motions.{module} import {plan}\n\n"
        f"def nod(given):\n    table = np.zeros((7, {columns}))\n    table[:, 6] = 1.0\n"
        f"    return {plan}(given['period'], table, ())\n\n{table} = {{'nod': nod}}\n"
    )
    monkeypatch.setattr(motions, "__path__", [*motions.__path__, str(tmp_path)])
    motions_of.cache_clear()
    try:
        assert made(device, "nod").end_time == pytest.approx(7e-3)
    finally:
        motions_of.cache_clear()


@pytest.mark.parametrize("device", ["joystick", "cobotic_hand_controller"])
def test_a_hand_follows_a_csv_file(device: str, tmp_path: Path) -> None:
    file = tmp_path / "stroke.csv"
    rows = [f"{t:g},{0.01 * t**2:g},{2.0 * t:g}" for t in np.linspace(0.0, 1.0, 11)]
    file.write_text("\n".join(["time,position_0,force_1", *rows]))
    hand = made(device, str(file)).hand
    t = np.arange(1001) * 1e-3
    velocity, force = (2, 5) if device == "joystick" else (7, 14)
    assert hand.plan.table.shape[0] == 1001 and (hand.plan.table[:, -1] == 1.0).all()
    np.testing.assert_allclose(hand.plan.table[:, 0], 0.01 * t**2, atol=1e-12)
    np.testing.assert_allclose(hand.plan.table[:, velocity], 0.02 * t, atol=1e-10)
    np.testing.assert_allclose(hand.plan.table[:, force], 2.0 * t, atol=1e-12)


def test_a_file_that_is_none_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"none\.csv"):
        read_plan(tmp_path / "none.csv", 1e-3, spatial=False)
    file = tmp_path / "bad.csv"
    file.write_text("time,position_0\n0,1\n1,x\n")
    with pytest.raises(ParameterError, match=r"bad\.csv: line 3, column 2: expected a number"):
        read_plan(file, 1e-3, spatial=True)
