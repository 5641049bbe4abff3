"""The comparison node says what its models say, to the last bit, and each of its parameters acts."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from node_parameters import install_user_laws, other_user_laws, other_values, user_laws, without_effect

from haptic_core import rendering_node
from haptic_core.errors import ParameterError
from haptic_core.parameters import check_all, load_parameter_specs
from haptic_friction import CoulombLaw, ModelA, ModelB, ModelC, ModelD, WithCompliance, WithMass
from haptic_friction.comparison_node import ComparisonNode
from haptic_friction.factory import LAWS, MODELS, make_model, parameters_of
from haptic_friction.models.model import FrictionModel
from haptic_msgs.msg import DeviceState, FrictionState

OWN = load_parameter_specs(ComparisonNode.parameter_file)
PERIOD = {"period": load_parameter_specs(rendering_node._BASE_FILE)["period"]}
SPECS = {**OWN, **PERIOD}

#: velocity (m/s) and force (N) along x, y, z that stick, slide and turn, shape (200, 3)
MOTION = 0.05 * np.sin(0.05 * np.arange(200)[:, None] + np.arange(3))
FORCE = 300.0 * MOTION

#: what the defaults must be changed to for a parameter to act
CONTEXT: dict[str, dict[str, Any]] = {
    "rendering": {"models": ["C"]},
    "models": {"models": ["A", "C"]},
    "stiffness": {"models": ["D"]},
    "damping": {"models": ["D"]},
    "viscosity": {"law": "viscous_coulomb"},
    "static_force": {"law": "stribeck", "static_force": 9.0},
    "stribeck_velocity": {"law": "stribeck"},
    "projection": {"law": "stribeck"},
    "law": {"viscosity": 1.0},
    "law_file": {"law": "table"},
    "law_function": {"law": "function"},
    "velocity_threshold": {"models": ["karnopp"]},
    "loading_displacement": {"rendering": "impedance", "models": ["parallel"]},
    "loading_force": {"rendering": "impedance", "models": ["parallel"]},
    "backward_law": {"backward_viscosity": 1.0, "backward_friction_force": 3.0},
    "backward_friction_force": {"backward_law": "coulomb"},
    "backward_viscosity": {"backward_law": "viscous_coulomb"},
    "backward_static_force": {"backward_law": "stribeck"},
    "backward_stribeck_velocity": {"backward_law": "stribeck"},
    "backward_law_file": {"backward_law": "table"},
    "backward_law_function": {"backward_law": "function"},
}
#: other values where twice and half the value are none
OTHER: dict[str, list[Any]] = {
    "models": [["A"], ["C", "A"], ["A", "C", "A"]],
    "static_force": [7.0],
    "viscosity": [3.0],
    "initial_velocity": [0.1, -0.1],
    "mass": [[1.0], [4.0]],
    "stiffness": [[5e4], [2e5]],
    "damping": [[200.0], [900.0]],
    "velocity_threshold": [[0.02]],
    "loading_displacement": [[2e-5, 4e-5, 2e-4]],
    "loading_force": [[3.0, 4.9, 6.0]],
    "backward_static_force": [7.0],
    "backward_viscosity": [3.0],
}


@pytest.fixture(autouse=True)
def laws_can_be_imported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`law_function` names an entry point; this file and what installs it stand for a user's."""
    install_user_laws(monkeypatch, tmp_path, "comparison_laws")


def base_values(tmp_path: Path, name: str = "", **change: Any) -> dict[str, Any]:
    """The defaults, in the context in which a parameter acts."""
    return check_all(SPECS, {**user_laws(tmp_path, "comparison_laws"), **CONTEXT.get(name, {}), **change})


def made(parameters: dict[str, Any]) -> Any:
    """A plain object in the node's place, on which the node's own methods run; ROS need not be started."""
    node: Any = SimpleNamespace(parameters=parameters, state=FrictionState())
    ComparisonNode.install(node, ComparisonNode.build(node, parameters))
    return node


def rendered(node: Any) -> dict[str, np.ndarray]:
    """What the node's state says of the motion and force, one row a tick."""
    device = DeviceState(period=node.parameters["period"])
    rows: dict[str, list[Any]] = {}
    for velocity, force in zip(MOTION.tolist(), FORCE.tolist(), strict=True):
        linear, pull = device.tool_twist.linear, device.tool_wrench.force
        linear.x, linear.y, linear.z = velocity
        pull.x, pull.y, pull.z = force
        ComparisonNode.render(node, device)
        ComparisonNode.fill_state(node)
        for name in ("velocity", "force", "elastic_displacement", "sticking", "dissipated_energy"):
            rows.setdefault(name, []).append(np.array(getattr(node.state, name)))
    return {name: np.array(values) for name, values in rows.items()}


def states(parameters: dict[str, Any]) -> dict[str, list[Any]]:
    return {name: table.tolist() for name, table in rendered(made(parameters)).items()}


@pytest.mark.slow
@pytest.mark.covering(9)
@pytest.mark.parametrize("name", SPECS)
def test_changing_the_parameter_changes_the_state(name: str, tmp_path: Path) -> None:
    values = base_values(tmp_path, name)
    before = states(values)
    others = OTHER | other_user_laws(tmp_path, "comparison_laws")
    for value in other_values(SPECS[name], values[name], others):
        assert states(check_all(SPECS, {**values, name: value})) != before, without_effect(name, value)


def test_every_model_and_every_law_along_a_line_can_be_chosen() -> None:
    assert set(OWN["models"].validation["subset_of<>"][0]) == set(MODELS)
    assert set(OWN["law"].validation["one_of<>"][0]) == set(LAWS) - {"anisotropic"}


@pytest.mark.parametrize("rendering", ["impedance", "admittance"])
@pytest.mark.parametrize("name", MODELS)
def test_every_model_runs_beside_another_one(name: str, rendering: str, tmp_path: Path) -> None:
    """The first column is that model alone, the second model C alone, to the last bit."""
    values = base_values(tmp_path, rendering=rendering)
    if name == "parallel" and rendering == "admittance":
        with pytest.raises(ValueError, match=r"^model: parallel elements"):
            made({**values, "models": [name]})
        return
    together = rendered(made({**values, "models": [name, "C"]}))
    for column, alone in enumerate((name, "C")):
        single = rendered(made({**values, "models": [alone]}))
        for quantity in ("velocity", "force", "elastic_displacement", "sticking"):
            np.testing.assert_array_equal(together[quantity][:, column], single[quantity][:, 0], err_msg=quantity)


def library(rendering: str) -> list[FrictionModel]:
    """Models A to D of the library as the node must make them from `test_the_state...`'s parameters."""
    law, T = CoulombLaw(6.0), 1e-3
    a, c = ModelA(law, mass=2.0, period=T), ModelC(law, stiffness=1e5, damping=300.0, period=T)
    b = ModelB(law, mass=1.0, stiffness=2e5, damping=400.0, period=T)
    d = ModelD(law, mass=3.0, stiffness=3e5, damping=500.0, period=T)
    if rendering == "impedance":
        return [WithCompliance(a, stiffness=1e4, damping=200.0), b, c, WithCompliance(d, stiffness=3e5, damping=500.0)]
    return [a, WithMass(b, mass=1.0), WithMass(c, mass=4.0), d]


@pytest.mark.parametrize("rendering", ["impedance", "admittance"])
def test_the_state_is_the_library_s_to_the_last_bit(rendering: str, tmp_path: Path) -> None:
    values = base_values(
        tmp_path,
        rendering=rendering,
        models=["A", "B", "C", "D"],
        mass=[2.0, 1.0, 4.0, 3.0],
        stiffness=[1e4, 2e5, 1e5, 3e5],
        damping=[200.0, 400.0, 300.0, 500.0],
        axis="y",
        initial_velocity=0.02,
    )
    table = rendered(made(values))
    for column, model in enumerate(library(rendering)):
        if rendering == "admittance":
            model.reset(velocity=[0.02])
        for tick, given in enumerate((MOTION if rendering == "impedance" else FORCE)[:, 1]):
            output = model.step([given])
            shown = table["force" if rendering == "impedance" else "velocity"][tick, column]
            assert shown == output[0]
            assert table["velocity"][tick, column] == model.velocity[0]
            force = model.force if rendering == "impedance" else model.friction_force
            assert table["force"][tick, column] == force[0]
            assert table["elastic_displacement"][tick, column] == model.displacement[0]
            assert table["sticking"][tick, column] == model.sticking
    assert table["sticking"].any() and not table["sticking"].all()


def test_the_energies_are_added_and_the_models_named_in_order(tmp_path: Path) -> None:
    values = base_values(tmp_path, models=["A", "C"])
    together = rendered(made(values))["dissipated_energy"]
    alone = [rendered(made({**values, "models": [name]}))["dissipated_energy"] for name in ("A", "C")]
    np.testing.assert_array_equal(together, alone[0] + alone[1])
    assert made(values).state.model == "A,C"


def test_a_reset_starts_again(tmp_path: Path) -> None:
    node = made(base_values(tmp_path, models=["A", "C", "D"], initial_velocity=0.3))
    first = rendered(node)
    node.renderer.reset()
    again = rendered(node)
    for name in first:
        np.testing.assert_array_equal(first[name], again[name], err_msg=name)


@pytest.mark.parametrize("name", ["mass", "stiffness", "damping", "velocity_threshold"])
def test_one_number_holds_for_all_models(name: str, tmp_path: Path) -> None:
    values = base_values(tmp_path, models=["karnopp", "C", "D"])
    number = values[name][0] * 2
    assert states({**values, name: [number]}) == states({**values, name: [number] * 3})


@pytest.mark.parametrize("name", ["mass", "stiffness", "damping", "velocity_threshold"])
def test_a_list_of_another_length_is_named(name: str, tmp_path: Path) -> None:
    values = base_values(tmp_path, models=["A", "C", "D"])
    with pytest.raises(ValueError, match=rf"^parameter {name}: expected 1 or 3 entries, as models has, got 2$"):
        made({**values, name: values[name] * 2})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"models": []}, r"^parameter models: expected .*not empty, got \[\]"),
        ({"models": ["A", "E"]}, r"^parameter models: expected taken from A, B, C, D.*, got 'E' in \['A', 'E'\]$"),
        ({"mass": [1.0, 0.0]}, r"^parameter mass: expected entries from 0\.001 to 1000.* \[kg\], got"),
        ({"stiffness": 1.0}, r"^parameter stiffness: expected a list \[N/m\], got 1\.0"),
        ({"rendering": "both"}, r"^parameter rendering: expected one of impedance, admittance, got 'both'"),
    ],
)
def test_a_value_that_cannot_be_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        check_all(SPECS, change)


def test_numbers_that_the_library_refuses_are_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^static_force: expected"):
        made(base_values(tmp_path, law="stribeck", static_force=1.0))
    with pytest.raises(ValueError, match=r"^law_file: "):
        made(base_values(tmp_path, law="table", law_file="none.csv"))


def test_a_law_for_elements_in_parallel_alone_is_refused_and_one_for_a_model_beside_them_is_not(tmp_path: Path) -> None:
    values = base_values(tmp_path, rendering="impedance", law="stribeck")
    with pytest.raises(ValueError, match=r"^law: expected coulomb for model parallel, .*, got 'stribeck'$"):
        made({**values, "models": ["parallel", "parallel"]})
    assert len(made({**values, "models": ["parallel", "C"]}).renderer.models) == 2


def test_the_parameters_of_one_model_make_it(tmp_path: Path) -> None:
    values = base_values(tmp_path, models=["A", "D"], mass=[1.0, 5.0])
    model = make_model(parameters_of(values, 1), dimension=1)
    assert type(model) is ModelD and model.mass == 5.0


def test_the_node_commands_nothing() -> None:
    assert ComparisonNode.command_mode == "NONE"
