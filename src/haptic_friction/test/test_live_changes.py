"""Live changes of the friction force, as the node makes them between ticks: no change is felt as a step."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from haptic_core.change_ramp import ChangeRamp
from haptic_core.commands import WRENCH
from haptic_core.parameters import check_all, load_parameter_specs
from haptic_friction import CoulombLaw, DahlModel, FrictionModel, ModelD, ParallelElements, WithCompliance
from haptic_friction import renderer as module
from haptic_friction.renderer import FrictionRenderer, take_over
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


def spring_force(model: FrictionModel, name: str, stiffness: float) -> np.ndarray:
    return stiffness * model.elastic_state[name]


@pytest.mark.parametrize("rendering", ["impedance", "admittance"])
@pytest.mark.parametrize(
    "name", ["B", "C", "D", "dahl", "lugre", "elastoplastic", "reset_integrator", "hayward_armstrong"]
)
def test_changing_the_stiffness_keeps_the_force_of_the_spring(name: str, rendering: str) -> None:
    """From 1000 N/m to 4000 N/m while the elastic displacement is not zero."""
    change = {"model": name, "rendering": rendering, "stiffness": 1000.0, "damping": 1.0}
    values = {**check_all(SPECS, change), "period": PERIOD, "inputs": []}
    renderer = FrictionRenderer.from_parameters(values)
    before = renderer.model
    assert isinstance(before, FrictionModel)
    before.simulate(np.full((20, 2), 0.05 if rendering == "impedance" else 2.0))
    renderer.change_parameters({**values, "stiffness": 4000.0})
    after = renderer.model
    assert isinstance(after, FrictionModel) and any(e.any() for e in before.elastic_state.values())
    for row in before.elastic_state:
        np.testing.assert_allclose(
            spring_force(after, row, 4000.0), spring_force(before, row, 1000.0), rtol=1e-14, atol=0.0
        )


def test_each_spring_of_a_coupled_model_keeps_its_force() -> None:
    """Model D with a spring of its own behind a compliance: only the first of the two stiffnesses changes."""

    def model(stiffness: float) -> WithCompliance:
        element = ModelD(CoulombLaw(2.0), mass=0.5, stiffness=stiffness, damping=1.0, period=PERIOD, dimension=3)
        return WithCompliance(element, stiffness=3000.0, damping=5.0)

    old, new = model(1000.0), model(4000.0)
    old.simulate(np.full((20, 3), 0.05))
    take_over(old, new)
    np.testing.assert_array_equal(new.state["displacement"], old.state["displacement"] / 4.0)
    np.testing.assert_array_equal(new.state["stretch"], old.state["stretch"])
    assert old.state["displacement"].all() and old.state["stretch"].all()


def test_parallel_bristles_keep_the_forces_of_their_springs() -> None:
    old, new = (
        ParallelElements([DahlModel(CoulombLaw(2.0), bristle_stiffness=K, period=PERIOD) for K in stiffness])
        for stiffness in ((1000.0, 500.0), (4000.0, 1000.0))
    )
    old.simulate(np.full((20, 1), 0.05))
    take_over(old, new)
    expected = old.state["displacement"] / [[4.0], [2.0]]
    np.testing.assert_array_equal(new.state["displacement"], expected)
