"""Every parameter of the friction node's YAML acts: changing it changes what the node renders.

The parameters are read from the file, so that one added later without effect fails here.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from node_parameters import install_user_laws, other_user_laws, other_values, user_laws, without_effect

import haptic_friction
from haptic_core import rendering_node
from haptic_core.errors import ParameterError
from haptic_core.parameters import check_all, load_parameter_specs
from haptic_friction import FrictionLaw
from haptic_friction.factory import BACKWARD, LAWS, MODELS, SYMMETRIC, breakaway_parameter, make_law, make_model
from haptic_friction.models.model import FrictionModel
from haptic_friction.node import FrictionNode
from haptic_friction.renderer import FrictionRenderer
from haptic_msgs.msg import (
    BodyStates,
    ConstrainedReference,
    ContactArray,
    DeviceCommand,
    DeviceState,
    FrictionState,
    WallState,
)

OWN = load_parameter_specs(FrictionNode.parameter_file)
#: of the parameters that all rendering nodes have, those that the model needs
BASE = load_parameter_specs(rendering_node._BASE_FILE)
PERIOD = {name: BASE[name] for name in ("period", "inputs")}
SPECS = {**OWN, **PERIOD}

#: velocity (m/s) or force (N) along x, y, z that sticks, slides and turns, shape (200, 3)
MOTION = 0.1 * np.sin(0.05 * np.arange(200)[:, None] + np.arange(3))
FORCE = 100.0 * MOTION

#: what presses: a wall with 5 N along z, contacts of body 0 with 3 N and of body 1 with 4 N along y
WALL = WallState(normal=[0.0, 0.0, 1.0], push=[5.0])
CONTACTS = ContactArray(
    period=1e-3,
    body_a=[2, 2],
    body_b=[0, 1],
    normal=[0.0, 1.0, 0.0] * 2,
    normal_impulse=[3e-3, 4e-3],
    slip_velocity=[0.1, 0.0, 0.0] * 2,
)
#: velocities of two bodies [m/s]
BODIES = BodyStates(velocity=[0.05, 0.02, 0.0, -0.03, 0.0, 0.01])
REFERENCE = ConstrainedReference(multipliers=[-5.0, 8.0])
REFERENCE.twist.linear.x, REFERENCE.twist.linear.y = 0.3, 0.4

#: what the defaults must be changed to for a parameter to act
CONTEXT: dict[str, dict[str, Any]] = {
    "law": {"viscosity": 1.0, "damping": 400.0},
    "viscosity": {"law": "viscous_coulomb"},
    "static_force": {"law": "stribeck", "damping": 400.0},
    "stribeck_velocity": {"law": "stribeck", "damping": 400.0},
    "projection": {"law": "stribeck", "damping": 400.0},
    "force_tensor": {"law": "anisotropic"},
    "law_file": {"law": "table", "damping": 400.0},
    "law_function": {"law": "function"},
    "mass": {"model": "A", "rendering": "admittance"},
    "velocity_threshold": {"model": "karnopp", "rendering": "admittance"},
    "initial_velocity": {"model": "A", "rendering": "admittance"},
    "largest_lead": {"model": "A", "rendering": "admittance", "largest_lead": 0.004},
    "loading_displacement": {"model": "parallel"},
    "loading_force": {"model": "parallel"},
    "friction_coefficient": {"inputs": ["wall"]},
    "load_body": {"inputs": ["contact:contacts"]},
    "first": {"inputs": ["contact:bodies"]},
    "second": {"inputs": ["contact:bodies"]},
    "load_constraint": {"inputs": ["constraints"]},
    "backward_law": {"axes": ["x"], "damping": 400.0, "backward_viscosity": 1.0, "backward_friction_force": 3.0},
    "backward_friction_force": {"axes": ["x"], "damping": 400.0, "backward_law": "coulomb"},
    "backward_viscosity": {"axes": ["x"], "damping": 400.0, "backward_law": "viscous_coulomb"},
    "backward_static_force": {"axes": ["x"], "damping": 400.0, "backward_law": "stribeck"},
    "backward_stribeck_velocity": {"axes": ["x"], "damping": 400.0, "backward_law": "stribeck"},
    "backward_law_file": {"axes": ["x"], "damping": 400.0, "backward_law": "table"},
    "backward_law_function": {"axes": ["x"], "damping": 400.0, "backward_law": "function"},
}
#: other values where twice the value is none
OTHER: dict[str, list[Any]] = {
    "static_force": [6.0],
    "force_tensor": [[4.0, 1.0, 1.0, 2.0], [2.0, 0.0, 0.0, 4.0]],
    "initial_velocity": [0.1, -0.1],
    "loading_displacement": [[0.0002, 0.001, 0.003]],
    "loading_force": [[3.0, 4.0, 4.5]],
    "viscosity": [3.0],
    "axes": [["x", "y", "z"], ["x"], ["y", "x"]],
    "inputs": [["wall"], ["contact:contacts"], ["wall", "contact:contacts"], ["contact:bodies"], ["constraints"]],
    "first": [1],
    "second": [1],
    "load_body": [1],
    "load_constraint": [1],
    "backward_static_force": [6.0],
    "backward_viscosity": [3.0],
}


@pytest.fixture(autouse=True)
def laws_can_be_imported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`law_function` names an entry point; this file and what installs it stand for a user's."""
    functions = (
        "def no_law(): return 'friction'\n"
        "def division(): return 1 / 0\n"
        "def unknown_name(): return FunctionLaw(lambda s: nowhere * s, lambda s: 1.0)\n"
        "def long(): raise RuntimeError('first line\\nsecond line')\n"
        "def silent(): raise RuntimeError\n"
    )
    names = ("no_law", "division", "unknown_name", "long", "silent")
    install_user_laws(monkeypatch, tmp_path, "users_laws", functions, names)
    (tmp_path / "broken_laws.py").write_text("def one(: pass\n")
    with (tmp_path / "users_own-1.0.dist-info" / "entry_points.txt").open("a") as file:
        file.write("broken = broken_laws:one\n")


def base_values(tmp_path: Path, name: str = "") -> dict[str, Any]:
    """The defaults, in the context in which a parameter acts."""
    return check_all(SPECS, {**user_laws(tmp_path, "users_laws"), **CONTEXT.get(name, {})})


def rendered(parameters: dict[str, Any]) -> tuple[list[list[float]], str]:
    """What the node answers to the motion and force: wrench (N) or position (m), and its state messages.

    The node's own methods run on a plain object in the node's place; ROS need not be started.
    """
    node: Any = SimpleNamespace(
        renderer=None, parameters=parameters, command=DeviceCommand(), state=FrictionState(), warning=lambda: ""
    )
    known = {"wall": WALL, "contact:contacts": CONTACTS, "contact:bodies": BODIES, "constraints": REFERENCE}
    node.inputs = {name: known[name] for name in parameters["inputs"] if name}
    node._given = lambda: FrictionNode._given(node)
    node._command_motion = lambda *arguments: FrictionNode._command_motion(node, *arguments)
    FrictionNode.install(node, FrictionNode.build(node, parameters))
    device = DeviceState(period=parameters["period"])
    answers, states = [], []
    for velocity, force in zip(MOTION.tolist(), FORCE.tolist(), strict=True):
        linear, pull = device.tool_twist.linear, device.tool_wrench.force
        linear.x, linear.y, linear.z = velocity
        pull.x, pull.y, pull.z = force
        FrictionNode.render(node, device)
        FrictionNode.fill_state(node)
        command = node.command
        answer = command.tool_wrench.force if node.renderer.model.kind == "impedance" else command.tool_pose.position
        answers.append([answer.x, answer.y, answer.z])
        states.append(repr(node.state))
    return answers, "\n".join(states)


@pytest.mark.slow
@pytest.mark.covering(9)
@pytest.mark.parametrize("name", [name for name in SPECS if name != "load_mass"])
def test_changing_the_parameter_changes_what_is_rendered(name: str, tmp_path: Path) -> None:
    values = base_values(tmp_path, name)
    answers, states = rendered(values)
    others = OTHER | other_user_laws(tmp_path, "users_laws")
    for value in other_values(SPECS[name], values[name], others):
        changed_answers, changed_states = rendered(check_all(SPECS, {**values, name: value}))
        assert changed_states != states, without_effect(name, value)
        # reversing the axes only reorders the state: what the tool gets is the same, and must be
        assert (changed_answers != answers) == (name != "axes" or set(value) != set(values[name])), value


def test_the_choices_of_law_and_model_are_those_of_the_factory() -> None:
    assert set(OWN["law"].validation["one_of<>"][0]) == set(LAWS)
    assert set(OWN["model"].validation["one_of<>"][0]) == set(MODELS)
    library = {name.removeprefix("Model") for name in haptic_friction.__all__ if name.startswith("Model")}
    assert library - {"CDesign"} <= set(MODELS)


def test_a_backward_law_has_the_parameters_of_every_law_along_a_line() -> None:
    assert {f"backward_{name}" for name in BACKWARD} == {name for name in OWN if name.startswith("backward_")} - {
        "backward_law"
    }
    assert set(OWN["backward_law"].validation["one_of<>"][0]) == {*LAWS, SYMMETRIC} - {"anisotropic"}


@pytest.mark.parametrize("name", LAWS)
def test_the_breakaway_parameter_is_the_largest_static_force(name: str, tmp_path: Path) -> None:
    values = {**base_values(tmp_path), "law": name, "static_force": 6.0}
    if name in ("coulomb", "viscous_coulomb", "stribeck"):
        assert make_law(values).breakaway_force == values[breakaway_parameter(name)]
    else:  # its forces are not among the numbers
        assert breakaway_parameter(name) == "friction_force"


@pytest.mark.parametrize("rendering", ["impedance", "admittance"])
@pytest.mark.parametrize("name", [name for name in MODELS if name != "parallel"])
def test_every_model_can_be_rendered_either_way(name: str, rendering: str, tmp_path: Path) -> None:
    values = {**base_values(tmp_path), "model": name, "rendering": rendering}
    model = make_model(values, dimension=2)
    assert model.kind == rendering
    assert model.dissipated_energy == 0.0 and model.sticking
    answers = np.array(rendered(values)[0])
    assert np.isfinite(answers).all() and (answers[:, :2] != 0.0).any() and (answers[:, 2] == 0.0).all()


def test_parallel_elements_are_refused_as_an_admittance(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"model: parallel elements are rendered as an impedance"):
        make_model({**base_values(tmp_path), "model": "parallel", "rendering": "admittance"}, dimension=2)


def test_friction_on_a_reference_opposes_its_motion_with_mu_times_the_surface_s_force(tmp_path: Path) -> None:
    """Whatever the tool does, and however the surface pushes: the slide has outgrown the stretch after a few ticks."""
    values = {**base_values(tmp_path), "inputs": ["constraints"], "friction_coefficient": 0.2}
    for number, load in ((0, 5.0), (1, 8.0)):
        answers = rendered({**values, "load_constraint": number})[0]
        np.testing.assert_allclose(answers[-1], -0.2 * load * np.array([0.6, 0.8, 0.0]), rtol=1e-12, atol=1e-12)


def test_friction_on_a_reference_is_no_admittance(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"^parameter rendering: expected impedance with inputs \['constraints'\]"):
        rendered({**base_values(tmp_path), "inputs": ["constraints"], "rendering": "admittance"})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"law": "stribeck", "static_force": 1.0}, r"^static_force: expected friction_force = 4 N or more, got 1\.0$"),
        ({"law": "stribeck", "friction_force": -1.0}, r"^friction_force: expected a finite number, not negative \[N\]"),
        ({"friction_force": -1.0}, r"^friction_force: expected a finite number, not negative \[N\], got -1\.0$"),
        (
            {"law": "viscous_coulomb", "friction_force": -1.0},
            r"^friction_force: expected a finite number, not negative",
        ),
        ({"law": "stribeck", "static_force": 9.0, "stribeck_velocity": 0.01}, r"steepest fall g' = -428\.\d+ N s/m"),
        ({"law": "table", "law_file": ""}, r"^law_file: expected the path of a CSV file, got nothing$"),
        ({"law": "table", "law_file": "none.csv"}, r"^law_file: none\.csv: cannot be read: No such file or directory$"),
        ({"law": "table", "law_file": "/"}, r"^law_file: /: cannot be read: expected a regular file, got a directory$"),
        (
            {"law": "function", "law_function": "nowhere:law"},
            r"^law_function: expected an entry point of group haptic_laws \(.*one.*\), got 'nowhere:law'$",
        ),
        ({"law": "function", "law_function": ""}, r"^law_function: expected an entry point .*, got ''$"),
        (
            {"law": "function", "law_function": "users_laws"},
            r"^law_function: expected an entry point .*, got 'users_laws'$",
        ),
        (
            {"law": "function", "law_function": "os:abort"},
            r"^law_function: expected an entry point .*, got 'os:abort'$",
        ),
        ({"law": "function", "law_function": "division"}, r", got ZeroDivisionError: division by zero$"),
        ({"law": "function", "law_function": "users_laws:division"}, r", got ZeroDivisionError: division by zero$"),
        ({"law": "function", "law_function": "users_laws:long"}, r", got RuntimeError: first line$"),
        ({"law": "function", "law_function": "users_laws:silent"}, r", got RuntimeError$"),
        (
            {"law": "function", "law_function": "broken_laws:one"},
            r"^law_function: 'broken_laws:one': .*SyntaxError: .*line 1",
        ),
        (
            {"law": "function", "law_function": "users_laws:unknown_name"},
            r"^law_function: 'users_laws:unknown_name': .* magnitude: cannot be compiled: .*'nowhere'",
        ),
        ({"law": "function", "law_function": "users_laws:no_law"}, r"expected a FrictionLaw, got str"),
        ({"law": "anisotropic", "force_tensor": [1.0, 2.0]}, r"force_tensor: expected n times n numbers.*got 2"),
        ({"law": "anisotropic", "force_tensor": [1.0]}, r"dimension: expected 1, that of force_tensor, got 2"),
        (
            {"model": "parallel", "loading_force": [4.0, 3.0, 5.0]},
            r"^loading_force: expected a rising, strictly concave curve",
        ),
        (
            {"model": "parallel", "loading_displacement": [0.1, 0.1, 0.2]},
            r"^loading_displacement: expected rising values above 0 \[m\]",
        ),
        ({"model": "parallel", "loading_force": [4.0]}, r"^loading_displacement, loading_force: expected"),
        (
            {"model": "parallel", "law": "stribeck"},
            r"^law: expected coulomb for model parallel, whose forces are loading_force, got 'stribeck'$",
        ),
        ({"model": "dahl", "law": "viscous_coulomb", "viscosity": 1.0}, r"law: expected"),
    ],
)
def test_impossible_model_is_refused_in_one_line(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        make_model({**base_values(tmp_path), **change}, dimension=2)
    assert "\n" not in str(caught.value)


def table_law(text: bytes, tmp_path: Path) -> FrictionLaw:
    (tmp_path / "table.csv").write_bytes(text)
    return make_law({**base_values(tmp_path), "law": "table", "law_file": str(tmp_path / "table.csv")})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "expected the header speed,force, got an empty file"),
        (b"\n \n", "expected the header speed,force, got an empty file"),
        (b"force,speed\n0,4\n1,3\n", "line 1: expected the header speed,force, got a text of 11 characters"),
        (b"speed,force\n0,4\n1\n", "line 3: expected two numbers, got 1 field"),
        (b"speed,force\n0,4\n1,2,3\n", "line 3: expected two numbers, got 3 fields"),
        (b"speed,force\n\n0,4\n\n1,abc\n", "line 5: expected two numbers, got other text"),
        (b"speed,force\n0,4\n1,\n", "line 3: expected two numbers, got other text"),
        (b"speed,force\n", "expected two or more points, got 0"),
        (b"speed,force\n1,4\n2,3\n", "line 2: speed: expected rising, finite speeds from 0 [m/s]"),
        (b"speed,force\n0,4\n2,3\n2,3\n", "line 4: speed: expected rising, finite speeds from 0 [m/s]"),
        (b"speed,force\n0,4\ninf,3\n", "line 3: speed: expected rising, finite speeds from 0 [m/s]"),
        (b"speed,force\n0,0\n1,0\n", "line 3: force: expected finite forces above 0 [N]"),
        (b"speed,force\n0,-1\n1,-1\n", "line 2: force: expected finite forces above 0 [N]"),
        (b"\xff\xfes\0p\0", "not UTF-8 text: line 1"),
    ],
)
def test_a_file_that_is_no_table_is_refused_in_one_line_with_the_place(
    text: bytes, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError) as caught:
        table_law(text, tmp_path)
    assert str(caught.value).startswith(f"law_file: {tmp_path / 'table.csv'}: {message}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", [b"\xef\xbb\xbfspeed,force\r\n0,4\r\n0.1,3\r\n", b"\nspeed, force\n\n0, 4\n  \n0.1, 3\n\n"]
)
def test_a_table_may_have_a_byte_order_mark_and_blank_lines(text: bytes, tmp_path: Path) -> None:
    law = table_law(text, tmp_path)
    assert (law.breakaway_force, law.magnitude(0.05), law.magnitude(0.2)) == (4.0, 3.5, 3.0)


def test_an_unknown_choice_names_the_choices() -> None:
    with pytest.raises(ParameterError, match=r"parameter model: expected one of A, B, C, D"):
        check_all(SPECS, {"model": "E"})


@pytest.mark.parametrize("axes", [["x"], ["z"], ["x", "z"], ["z", "x"], ["y", "z", "x"]])
def test_the_force_opposes_the_motion_along_the_axes_and_is_zero_along_the_others(
    axes: list[str], tmp_path: Path
) -> None:
    values = {**base_values(tmp_path), "axes": axes}
    wrenches = np.array(rendered(values)[0])
    indices = ["xyz".index(axis) for axis in axes]
    expected = np.zeros((len(MOTION), 3))
    expected[:, indices] = -make_model(values, dimension=len(axes)).simulate(MOTION[:, indices])
    np.testing.assert_array_equal(wrenches, expected)


def test_an_admittance_commands_the_integral_of_its_velocity(tmp_path: Path) -> None:
    """From the pose that the tool had at the first tick, with the velocity beside it."""
    values = {**base_values(tmp_path), "model": "A", "rendering": "admittance", "initial_velocity": 0.2}
    positions = np.array(rendered(values)[0])
    model = make_model(values, dimension=2)
    model.reset(velocity=[0.2, 0.0])
    expected = np.cumsum(values["period"] * model.simulate(FORCE[:, :2]), axis=0)
    np.testing.assert_array_equal(positions[:, :2], expected)
    np.testing.assert_array_equal(positions[:, 2], 0.0)


def test_a_model_is_made_ready_but_at_its_start(tmp_path: Path) -> None:
    model = make_model(base_values(tmp_path), dimension=2)
    assert model.sticking and model.dissipated_energy == 0.0
    np.testing.assert_array_equal(model.displacement, np.zeros(model.dimension))


@pytest.mark.parametrize("change", [{}, {"model": "B"}, {"model": "D"}])
def test_changing_the_stiffness_keeps_the_springs_force(change: dict[str, Any], tmp_path: Path) -> None:
    values = {**base_values(tmp_path), **change}
    renderer = FrictionRenderer.from_parameters(values)
    before = renderer.model
    assert isinstance(before, FrictionModel)
    before.simulate(np.full((100, 2), 0.05))
    renderer.change_parameters({**values, "stiffness": 2 * values["stiffness"]})
    np.testing.assert_array_equal(renderer.model.velocity, before.velocity)
    if values["rendering"] == before.kind and "displacement" in before.rows:
        np.testing.assert_array_equal(renderer.model.displacement, before.displacement / 2)
    assert renderer.model.dissipated_energy == before.dissipated_energy > 0.0


def test_the_node_warns_when_a_light_tool_would_vibrate(tmp_path: Path) -> None:
    """The limits of section IV-C: with K = 6000 N/m, B = 10 N s/m, T = 1 ms a stuck mass below 6.5 g is unstable."""

    def warning(load_mass: float, model: str = "C") -> str:
        values = {**base_values(tmp_path), "load_mass": load_mass, "model": model}
        node: Any = SimpleNamespace(renderer=FrictionRenderer.from_parameters(values))
        return FrictionNode.warning(node)

    assert warning(0.0) == ""
    assert "is unstable" in warning(0.006)  # 4 M = T^2 K + 2 T B, so M = 6.5 g
    assert "oscillates" in warning(0.36)  # B is below critical damping, 2 sqrt(K M)
    assert warning(0.006, model="A") == ""


def moved(device_state: Any, ticks: int, tmp_path: Path, **change: Any) -> tuple[np.ndarray, Any]:
    """Positions (m) that an admittance commands under 10 N along x, and the node."""
    values = {**base_values(tmp_path), "model": "A", "rendering": "admittance", **change}
    node: Any = SimpleNamespace(
        renderer=None, parameters=values, command=DeviceCommand(), state=FrictionState(), warning=lambda: ""
    )
    node.inputs = {}
    node._given = lambda: FrictionNode._given(node)
    node._command_motion = lambda *arguments: FrictionNode._command_motion(node, *arguments)
    FrictionNode.install(node, FrictionNode.build(node, values))
    device_state.tool_wrench.force.x = 10.0
    positions = []
    for _ in range(ticks):
        FrictionNode.render(node, device_state)
        positions.append(node.command.tool_pose.position.x)
    return np.array(positions), node


def test_an_admittance_waits_for_a_tool_that_cannot_follow(tmp_path: Path) -> None:
    """Under 6 N beyond friction 2 kg would be 1.5 t^2 away: 0.1 m after 0.26 s, then it stands."""
    device = DeviceState(period=1e-3)
    device.tool_pose.position.x = 0.3
    positions, _ = moved(device, 400, tmp_path)
    assert positions.max() == pytest.approx(0.4, abs=1e-12) and positions[-1] > 0.399
    assert (np.diff(positions)[:250] > 0.0).all()
    free, _ = moved(device, 400, tmp_path, largest_lead=0.0)
    assert free[-1] == pytest.approx(0.3 + 1.5 * 0.4**2, rel=0.01)  # implicit Euler is T/t = 1/400 ahead


def test_an_admittance_stands_at_the_tool_while_the_device_is_not_ok(tmp_path: Path) -> None:
    device = DeviceState(period=1e-3, status=DeviceState.STATUS_SAFE_STOP)
    device.tool_pose.position.x = 0.3
    positions, node = moved(device, 50, tmp_path)
    np.testing.assert_array_equal(positions, 0.3)
    np.testing.assert_array_equal(node.renderer.model.velocity, 0.0)
    device.status = DeviceState.STATUS_OK
    FrictionNode.render(node, device)
    assert 0.3 < node.command.tool_pose.position.x < 0.3 + 1e-5


def test_friction_is_against_a_wall_that_moves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tool and wall both faster by u: nothing changes but by rounding."""
    parameters = base_values(tmp_path, "friction_coefficient")
    answers, _ = rendered(parameters)
    u = np.array([0.3, -0.2, 0.1])
    module = sys.modules[__name__]
    monkeypatch.setattr(module, "MOTION", MOTION + u)
    assert not np.allclose(rendered(parameters)[0], answers, rtol=1e-3)
    monkeypatch.setattr(module, "WALL", WallState(normal=WALL.normal, push=WALL.push, velocity=u.tolist()))
    np.testing.assert_allclose(rendered(parameters)[0], answers, rtol=1e-9, atol=1e-12)
