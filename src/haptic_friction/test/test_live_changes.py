"""Live changes of the friction force, as the node makes them between ticks: no change is felt as a step."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

from haptic_core.change_ramp import ChangeRamp
from haptic_core.commands import WRENCH
from haptic_core.parameters import check_all, load_parameter_specs
from haptic_friction import renderer as module
from haptic_friction.renderer import FrictionRenderer
from haptic_msgs.msg import DeviceCommand

PERIOD, CHANGES, LARGEST = 1e-3, 40, 20.0
SPECS = load_parameter_specs(Path(module.__file__).with_name("friction_node.yaml"))


def largest_step(change_time: float) -> float:
    """Largest change of the force on a sliding tool from one tick to the next, while its friction changes [N]."""
    values = {**check_all(SPECS, {"friction_force": 1.0}), "period": PERIOD, "inputs": []}
    friction = FrictionRenderer.from_parameters(values)
    ramp, command = ChangeRamp(WRENCH, period=PERIOD, change_time=change_time), DeviceCommand(mode=WRENCH)
    rng, forces = random.Random(5), []
    due = {100 + 60 * k + rng.randrange(-30, 30) for k in range(CHANGES)}  # some before the last blend is over
    for tick in range(100 + 60 * CHANGES + 200):
        if tick in due:
            ramp.start(command)
            friction.change_parameters({**values, "friction_force": rng.uniform(0.1, LARGEST)})
        ramp.restore(command)
        command.tool_wrench.force.x = float(friction.step(velocity=(0.1, 0.0, 0.0)).force[0])
        ramp.apply(command)
        forces.append(command.tool_wrench.force.x)
    assert min(forces) < -0.5 * LARGEST
    return float(np.abs(np.diff(forces[100:])).max())


def test_forty_live_changes_of_the_friction_force_move_the_effort_in_bounded_steps() -> None:
    assert largest_step(0.1) <= 1.5 * PERIOD / 0.1 * LARGEST


def test_without_the_blend_a_change_is_a_step() -> None:
    assert largest_step(0.0) > 10 * 1.5 * PERIOD / 0.1 * LARGEST
