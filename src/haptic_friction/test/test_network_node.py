"""The network node says what its network does, to the last bit, and each of its parameters acts."""

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
from haptic_friction import BASE, Body, Contact, ContactNetwork, ModelC, StribeckLaw
from haptic_friction.factory import LAWS
from haptic_friction.network_node import NetworkNode
from haptic_msgs.msg import DeviceCommand, DeviceState, FrictionState

OWN = load_parameter_specs(NetworkNode.parameter_file)
PERIOD = {"period": load_parameter_specs(rendering_node._BASE_FILE)["period"]}
SPECS = {**OWN, **PERIOD}

#: velocity of the tool along x, y, z (m/s) that sticks, slides and turns, shape (1500, 3)
MOTION = 0.5 * np.sin(0.005 * np.arange(1500)[:, None] + np.arange(3))

#: what the defaults must be changed to for a parameter to act
CONTEXT: dict[str, dict[str, Any]] = {
    "law": {"viscosity": 1.0},
    "viscosity": {"law": "viscous_coulomb"},
    "static_force": {"law": "stribeck"},
    "stribeck_velocity": {"law": "stribeck"},
    "projection": {"law": "stribeck"},
    "law_file": {"law": "table"},
    "law_function": {"law": "function"},
    "mass": {"model": "B"},
}
#: other values where twice and half the value are none
OTHER: dict[str, list[Any]] = {
    "viscosity": [3.0],
    "body_mass": [[2.0, 1.0], [1.0, 2.0]],
    "body_stiffness": [[50.0, 200.0], [100.0, 0.0]],
    "contact_first": [[-1, -1], [1, 0]],
    "contact_second": [[1, 1], [0, -1]],
    "friction_force": [[4.0, 2.5], [5.0, 3.0]],
    "static_force": [[6.0, 3.75], [7.5, 3.0]],
}


@pytest.fixture(autouse=True)
def laws_can_be_imported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`law_function` names an entry point; this file and what installs it stand for a user's."""
    install_user_laws(monkeypatch, tmp_path, "network_laws")


def base_values(tmp_path: Path, **change: Any) -> dict[str, Any]:
    """The defaults with the user's laws at hand."""
    return check_all(SPECS, {**user_laws(tmp_path, "network_laws", prefixes=("",)), **change})


def made(parameters: dict[str, Any]) -> Any:
    """A plain object in the node's place, on which the node's own methods run; ROS need not be started."""
    node: Any = SimpleNamespace(parameters=parameters, state=FrictionState(), command=DeviceCommand())
    NetworkNode.install(node, NetworkNode.build(node, parameters))
    return node


def rendered(node: Any, motion: np.ndarray = MOTION) -> dict[str, np.ndarray]:
    """What the node's command and state say of the motion, one row a tick."""
    device = DeviceState(period=node.parameters["period"])
    rows: dict[str, list[Any]] = {}
    for velocity in motion.tolist():
        linear = device.tool_twist.linear
        linear.x, linear.y, linear.z = velocity
        NetworkNode.render(node, device)
        NetworkNode.fill_state(node)
        for name in ("velocity", "force", "elastic_displacement", "sticking", "dissipated_energy"):
            rows.setdefault(name, []).append(np.array(getattr(node.state, name)))
        force = node.command.tool_wrench.force
        rows.setdefault("wrench", []).append([force.x, force.y, force.z])
    return {name: np.array(values) for name, values in rows.items()}


def differences(*parameters: dict[str, Any]) -> set[str]:
    """Which of force and wrench differ in two nodes; they render no further than until both do."""
    one, other = (made(check_all(SPECS, values)) for values in parameters)
    found: set[str] = set()
    for part in np.split(MOTION, 30):
        a, b = rendered(one, part), rendered(other, part)
        found |= {name for name in ("force", "wrench") if a[name].tolist() != b[name].tolist()}
        if len(found) == 2:
            break
    return found


@pytest.mark.covering(9)
@pytest.mark.parametrize("name", SPECS)
def test_changing_the_parameter_changes_state_and_wrench(name: str, tmp_path: Path) -> None:
    values = base_values(tmp_path, **CONTEXT.get(name, {}))
    others = OTHER | other_user_laws(tmp_path, "network_laws")
    for value in other_values(SPECS[name], values[name], others):
        differing = differences(values, {**values, name: value})
        assert "force" in differing, without_effect(name, value)
        assert "wrench" in differing, f"{name} = {value!r} has no effect on the tool"


def test_every_law_along_a_line_can_be_chosen() -> None:
    assert set(OWN["law"].validation["one_of<>"][0]) == set(LAWS) - {"anisotropic"}


def library_network() -> ContactNetwork:
    laws = [StribeckLaw(F, static_force=Fs, stribeck_velocity=0.1, viscosity=0.5) for F, Fs in ((4.0, 6.0), (2.0, 3.0))]
    elements = [ModelC(law, stiffness=2e4, damping=250.0, period=1e-3) for law in laws]
    bodies = [Body(1.5, 80.0), Body(0.5, 150.0)]
    return ContactNetwork(bodies, [Contact(BASE, 0, elements[0]), Contact(1, 0, elements[1])])


def test_state_and_wrench_are_the_library_s_to_the_last_bit() -> None:
    values = check_all(
        SPECS,
        {
            "law": "stribeck",
            "friction_force": [4.0, 2.0],
            "static_force": [6.0, 3.0],
            "stribeck_velocity": 0.1,
            "viscosity": 0.5,
            "stiffness": 2e4,
            "damping": 250.0,
            "body_mass": [1.5, 0.5],
            "body_stiffness": [80.0, 150.0],
            "contact_first": [-1, 1],
            "contact_second": [0, 0],
            "axis": "z",
        },
    )
    table = rendered(made(values))
    network = library_network()
    for tick, u in enumerate(MOTION[:, 2]):
        force = network.step([u])[:, 0]
        np.testing.assert_array_equal(table["force"][tick], force)
        np.testing.assert_array_equal(table["velocity"][tick], network.relative_velocity[:, 0])
        np.testing.assert_array_equal(table["elastic_displacement"][tick], network.elements.row("displacement")[:, 0])
        np.testing.assert_array_equal(table["sticking"][tick], network.elements.sticking)
        assert table["dissipated_energy"][tick] == network.elements.dissipated_energy.sum()
        assert table["wrench"][tick].tolist() == [0.0, 0.0, -force[0]]
    assert table["sticking"].any(axis=0).all() and not table["sticking"].all(axis=0).any()


def test_the_tool_feels_all_contacts_with_the_base_against_their_direction() -> None:
    """As first partner it feels -f, as second +f, and nothing of contacts between bodies."""
    contacts = {"contact_first": [-1, 1, 0], "contact_second": [0, -1, 1]}
    three = {"friction_force": [5.0, 2.5, 1.0], "static_force": [5.0, 2.5, 1.0]}
    table = rendered(made(check_all(SPECS, {**contacts, **three})))
    np.testing.assert_array_equal(table["wrench"][:, 0], -table["force"][:, 0] + table["force"][:, 1])
    assert table["force"][:, 2].any() and not table["wrench"][:, 1:].any()


@pytest.mark.parametrize("model", OWN["model"].validation["one_of<>"][0])
def test_every_model_drags_the_bodies(model: str) -> None:
    values = check_all(SPECS, {"model": model})
    node = made(values)
    table = rendered(node)
    assert node.state.model == model
    assert np.isfinite(table["force"]).all() and table["force"].any(axis=0).all()
    # the first tick's command is of a network at rest: compiling has left nothing
    np.testing.assert_array_equal(rendered(made(values), 0.0 * MOTION[:5])["force"], np.zeros((5, 2)))


def test_a_reset_starts_again() -> None:
    node = made(check_all(SPECS, {}))
    first = rendered(node)
    NetworkNode.reset(node)
    again = rendered(node)
    for name in first:
        np.testing.assert_array_equal(first[name], again[name], err_msg=name)


@pytest.mark.parametrize(
    ("name", "value", "count"),
    [
        ("body_stiffness", [1.0], 2),
        ("contact_second", [0, 1, 1], 2),
        ("friction_force", [1.0], 2),
        ("static_force", [1.0, 1.0, 1.0], 2),
    ],
)
def test_a_list_of_another_length_is_named(name: str, value: list[Any], count: int) -> None:
    with pytest.raises(ValueError, match=rf"^parameter {name}: expected {count} entries, got {len(value)}$"):
        made(check_all(SPECS, {name: value}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"contact_first": [-1, 7]}, r"^contact 1: expected two of BASE and bodies 0 to 1, got \(7, 1\)"),
        ({"contact_first": [-1, 1]}, r"^contact 1: expected two of BASE and bodies"),
        ({"law": "stribeck", "static_force": [1.0, 3.75]}, r"^static_force: expected"),
        ({"law": "table", "law_file": "none.csv"}, r"^law_file: none\.csv: "),
        ({"law": "function", "law_function": "nowhere:law"}, r"^law_function: expected an .*'nowhere:law'"),
    ],
)
def test_impossible_network_is_refused_in_one_line(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        made(check_all(SPECS, change))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "A"}, r"^parameter model: expected one of B, C"),
        ({"body_mass": []}, r"^parameter body_mass: expected .*not empty \[kg\], got \[\]"),
        ({"body_mass": [0.0]}, r"^parameter body_mass: expected entries from 0\.001"),
        ({"contact_first": [-2, 0]}, r"^parameter contact_first: expected entries from -1"),
    ],
)
def test_a_value_that_cannot_be_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        check_all(SPECS, change)
