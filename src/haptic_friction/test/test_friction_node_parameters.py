"""Every parameter of the friction node's YAML acts: changing it changes what the node renders.

The parameters are read from the file, so that one added later without effect fails here.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import haptic_friction
from haptic_core import rendering_node
from haptic_core.parameters import ParameterSpec, check_all, load_parameter_specs
from haptic_friction.node import FrictionNode, make_law, make_model
from haptic_msgs.msg import DeviceCommand, DeviceState, FrictionState

OWN = load_parameter_specs(FrictionNode.parameter_file)
#: of the parameters that all rendering nodes have, the one that the model needs
PERIOD = {"period": load_parameter_specs(rendering_node._BASE_FILE)["period"]}
SPECS = {**OWN, **PERIOD}
#: refused when they change, because there is one choice only; see the test of `model`
SINGLE = [name for name, spec in OWN.items() if len(spec.validation.get("one_of<>", [[0, 0]])[0]) == 1]

#: velocity (m/s) along x, y, z that sticks, slides and turns, shape (200, 3)
MOTION = 0.1 * np.sin(0.05 * np.arange(200)[:, None] + np.arange(3))


def base_values() -> dict[str, Any]:
    """The defaults, with the last choice of each list, and no number zero: nothing is switched off."""
    values = {}
    for name, spec in SPECS.items():
        choices = spec.validation.get("one_of<>", [[spec.default]])[0]
        values[name] = choices[-1] if choices[-1] != 0 else 2.0
    return check_all(SPECS, values)


def other_values(spec: ParameterSpec, value: Any) -> list[Any]:
    """Values that differ from the given one and are allowed."""
    if "one_of<>" in spec.validation:
        return [choice for choice in spec.validation["one_of<>"][0] if choice != value]
    if "subset_of<>" in spec.validation:
        everything = spec.validation["subset_of<>"][0]
        return [everything, everything[:1], everything[-2:], value[::-1]]
    if spec.type == "bool":
        return [not value]
    return [value * 2, value / 2]


def rendered(parameters: dict[str, Any]) -> tuple[list[list[float]], str]:
    """What the node answers to the motion: wrench forces (N) and its state messages.

    The node's own methods run on a plain object in the node's place; ROS need not be started.
    """
    node: Any = SimpleNamespace(model=None, parameters=parameters, command=DeviceCommand(), state=FrictionState())
    FrictionNode.install(node, make_model(parameters))
    device = DeviceState(period=parameters["period"])
    wrenches, states = [], []
    for velocity in MOTION.tolist():
        linear = device.tool_twist.linear
        linear.x, linear.y, linear.z = velocity
        FrictionNode.render(node, device)
        FrictionNode.fill_state(node)
        force = node.command.tool_wrench.force
        wrenches.append([force.x, force.y, force.z])
        states.append(repr(node.state))
    return wrenches, "\n".join(states)


@pytest.mark.parametrize("name", [name for name in SPECS if name not in SINGLE])
def test_changing_the_parameter_changes_what_is_rendered(name: str) -> None:
    values = base_values()
    wrenches, states = rendered(values)
    for value in other_values(SPECS[name], values[name]):
        changed_wrenches, changed_states = rendered(check_all(SPECS, {**values, name: value}))
        assert changed_states != states, f"{name} = {value!r} has no effect"
        # reversing the axes only reorders the state: the force on the tool is the same, and must be
        assert (changed_wrenches != wrenches) == (name != "axes" or set(value) != set(values[name]))


@pytest.mark.parametrize("name", [name for name in SPECS if name not in SINGLE])
def test_the_law_and_the_model_take_the_parameter(name: str) -> None:
    """Each parameter is somewhere in the library objects; none is left to the node but the axes' names."""
    values = base_values()

    def numbers(parameters: dict[str, Any]) -> list[Any]:
        model, law = make_model(parameters), make_law(parameters)
        assert type(model.law) is type(law)
        np.testing.assert_array_equal(model.law.coefficients, law.coefficients)
        steps = MOTION[:, : model.dimension]
        return model.simulate(steps).tolist()

    changed = [
        numbers({**values, name: value})
        for value in other_values(SPECS[name], values[name])
        if name != "axes" or len(value) != len(values[name])
    ]
    assert changed and numbers(values) not in changed


def test_the_choices_of_model_are_the_models_that_can_be_made() -> None:
    assert SINGLE == ["model"]
    choices = OWN["model"].validation["one_of<>"][0]
    library = [name.removeprefix("Model") for name in haptic_friction.__all__ if name.startswith("Model")]
    assert sorted(choices) == sorted(library)
    for choice in choices:
        model = make_model({**base_values(), "model": choice})
        assert type(model).__name__ == f"Model{choice}"


def test_viscosity_acts_with_the_law_that_has_it_only() -> None:
    coulomb = {**base_values(), "law": "coulomb"}
    assert rendered(coulomb) == rendered({**coulomb, "viscosity": 5.0})
    assert type(make_law(coulomb)) is haptic_friction.CoulombLaw
    assert type(make_law({**coulomb, "law": "viscous_coulomb"})) is haptic_friction.ViscousCoulombLaw


@pytest.mark.parametrize("axes", [["x"], ["z"], ["x", "z"], ["z", "x"], ["y", "z", "x"]])
def test_the_force_opposes_the_motion_along_the_axes_and_is_zero_along_the_others(axes: list[str]) -> None:
    values = {**base_values(), "axes": axes}
    wrenches = np.array(rendered(values)[0])
    indices = ["xyz".index(axis) for axis in axes]
    expected = np.zeros((len(MOTION), 3))
    expected[:, indices] = -make_model(values).simulate(MOTION[:, indices])
    np.testing.assert_array_equal(wrenches, expected)


def test_a_model_is_made_ready_but_at_its_start() -> None:
    model = make_model(base_values())
    assert model.sticking and model.dissipated_energy == 0.0
    np.testing.assert_array_equal(model.displacement, np.zeros(model.dimension))


def test_changing_the_stiffness_keeps_the_springs_force() -> None:
    values = base_values()
    node: Any = SimpleNamespace(model=None, parameters=values, state=FrictionState())
    FrictionNode.install(node, make_model(values))
    node.model.simulate(np.full((100, 2), 0.05))
    before = node.model
    FrictionNode.install(node, make_model({**values, "stiffness": 2 * values["stiffness"]}))
    assert node.model.stiffness == 2 * before.stiffness
    np.testing.assert_array_equal(node.model.displacement, before.displacement / 2)
    assert node.model.dissipated_energy == before.dissipated_energy > 0.0
