"""Limits of a joint's position and speed that are left out of a step act when it reaches them within it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from convex_contact import Simulator, World
from convex_contact.simulation.joint_rows import JointRows

DOOR = """
<robot name="door">
  <link name="frame"/>
  <link name="leaf">
    <inertial><origin xyz="0.2 0 0"/><mass value="1"/>
      <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0.3 0 0"/><geometry><sphere radius="0.05"/></geometry></collision>
  </link>
  <joint name="hinge" type="revolute">
    <parent link="frame"/><child link="leaf"/><axis xyz="0 0 1"/>
    <limit lower="-0.1" upper="0.1" effort="1" velocity="1"/>
  </joint>
</robot>
"""


#: rows of the motor's controller, and of the limits of its speed and of the joint
ROWS = {False: (0, 0, 2), True: (1, 2, 2)}


def struck_door(folder: Path, motor: bool) -> Simulator:
    """A door at rest that a heavy fast ball strikes in the first steps, so that it passes its limits in one of them."""
    path = folder / "door.urdf"
    path.write_text(DOOR)
    world = World(gravity=(0.0, 0.0, 0.0))
    world.add_urdf("door", path)
    if motor:
        world.actuate_joint("door", "hinge", proportional_gain=1.0, derivative_gain=0.1)
    world.add_sphere("ball", mass=5.0, radius=0.05, position=(0.3, -0.12, 0.0), velocity=(0.0, 10.0, 0.0))
    return Simulator(world, period=5e-3, polish=True)


def coordinates(simulator: Simulator, steps: int, constraint: Any) -> np.ndarray:
    """Coordinates after each step; with a constraint the rows of joints are made by `JointRows.flat`."""
    simulator.constraints.append(constraint)
    found = []
    for _ in range(steps):
        simulator.step()
        found.append(simulator.dynamics.arrays.q.copy())
    return np.array(found)


@pytest.mark.parametrize("motor", [False, True])
def test_a_limit_out_of_reach_acts_when_it_is_reached_within_a_step(
    motor: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, constraint_without_rows: Any
) -> None:
    original, loaded = JointRows.flat, []

    def noted(self: JointRows, d: Any, *, everything: bool = False) -> Any:
        rows = original(self, d, everything=everything)
        loaded.append((everything, len(rows.a)))
        return rows

    def whole(self: JointRows, d: Any, *, everything: bool = False) -> Any:
        return original(self, d, everything=True)

    monkeypatch.setattr(JointRows, "flat", noted)
    lean = coordinates(struck_door(tmp_path, motor), 20, constraint_without_rows)
    assert (False, ROWS[motor][0]) in loaded and (True, sum(ROWS[motor])) in loaded  # left out, and called back
    monkeypatch.setattr(JointRows, "flat", whole)
    full = coordinates(struck_door(tmp_path, motor), 20, constraint_without_rows)
    np.testing.assert_allclose(lean, full, rtol=0, atol=1e-9)
    assert 0.05 < lean[:, 0].max() < 0.2  # it is stopped near the limit


@pytest.mark.parametrize("motor", [False, True])
def test_no_row_is_loaded_for_limits_of_a_joint_at_rest(motor: bool, tmp_path: Path) -> None:
    simulator = struck_door(tmp_path, motor)
    simulator.dynamics.prepare()
    controller, *limits = ROWS[motor]
    rows = simulator._joint_rows.flat(simulator.dynamics)
    assert len(rows.a) == controller and len(simulator._joint_rows.idle) == sum(limits)
    assert len(simulator._joint_rows.flat(simulator.dynamics, everything=True).a) == controller + sum(limits)
