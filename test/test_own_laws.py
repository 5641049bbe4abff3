"""A friction law of the user's own, given on the command line: a table of measured points, a function of a module."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from started_runs import recorded_run

from haptic_bags.bags import Bag
from haptic_friction import BASE, Body, Contact, ContactNetwork, FunctionLaw, ModelC, TableLaw

pytestmark = pytest.mark.experiment

MODULE = """
import math

from haptic_friction import FunctionLaw


def tustin() -> FunctionLaw:
    return FunctionLaw(lambda s: 4.0 + 2.0 * math.exp(-s / 0.2), lambda s: -10.0 * math.exp(-s / 0.2))
"""


def test_a_table_in_the_working_directory_is_the_law_of_both_contacts(tmp_path: Path) -> None:
    (tmp_path / "points.csv").write_text("speed,force\n0,3\n0.05,2\n0.2,2.5\n")
    words = ("law:=table", "law_file:=points.csv", "duration:=0.5")
    bag = Bag(recorded_run(tmp_path, "friction_two_contacts", *words))
    law = TableLaw([0.0, 0.05, 0.2], [3.0, 2.0, 2.5])
    elements = [ModelC(law, stiffness=3e4, damping=300.0, period=1e-3) for _ in range(2)]
    network = ContactNetwork(
        [Body(1.0, 100.0), Body(1.0, 200.0)], [Contact(BASE, 0, elements[0]), Contact(0, 1, elements[1])]
    )
    force = bag.topics["/script/network/state"]["force"]
    expected = [network.step(twist[:1])[:, 0] for twist in bag.topics["/script/device_state"]["tool_twist"]]
    assert len(force) == 500 and 2.0 < np.abs(force[:, 0]).max() <= 3.0
    np.testing.assert_array_equal(force, expected)


def test_a_function_that_a_package_installs_is_the_law(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", ".", prepend=":")
    (tmp_path / "my_module.py").write_text(MODULE)
    info = tmp_path / "my_laws-1.0.dist-info"  # what pip install makes of a package with this entry point
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-laws\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[haptic_laws]\ntustin = my_module:tustin\n")
    words = ("law:=function", "law_function:=tustin", "duration:=0.3", "command_delay_ticks:=0")
    bag = Bag(recorded_run(tmp_path, "friction_impedance", *words))
    law = FunctionLaw(lambda s: 4.0 + 2.0 * math.exp(-s / 0.2), lambda s: -10.0 * math.exp(-s / 0.2))
    model = ModelC(law, stiffness=6000.0, damping=10.0, period=1e-3, dimension=2)
    force = bag.topics["/joystick/friction/state"]["force"]
    velocity = bag.topics["/joystick/device_state"]["tool_twist"][:, :2]
    assert len(force) == 300 and 4.0 < np.linalg.norm(force, axis=1).max() <= 6.0
    np.testing.assert_array_equal(force, model.simulate(velocity))
