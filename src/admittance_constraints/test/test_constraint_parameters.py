"""Every parameter of the constraint node acts, and refusals name the parameter; ROS need not be started."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from constraint_inputs import LIFTED, MECHANISM, OTHER, OWN, SHORT, SPECS, START, hand
from node_parameters import other_values, without_effect
from scipy.spatial.transform import Rotation

from admittance_constraints import ReferenceGenerator
from admittance_constraints.display import factory
from admittance_constraints.display.approach import ToolMotion
from admittance_constraints.display.feedback import pose_difference
from admittance_constraints.renderer import ConstraintRenderer
from haptic_core.errors import ParameterError
from haptic_core.parameters import check_all
from haptic_msgs.msg import ContactArray, FrictionState

pytestmark = pytest.mark.usefixtures("interpreted")

#: changes of the defaults that a parameter needs to act
CONTEXT: dict[str, dict[str, Any]] = {
    "velocity_projection": {"integrator": "algorithm1"},  # symmetric or orthogonal is the same for rk4
    "largest_correction": {"largest_correction": 0.002},
    "largest_turn_correction": {"largest_turn_correction": 0.01},
    "largest_lead": {"largest_lead": 8e-4},
    "largest_turn_lead": {"largest_turn_lead": 2e-3},
}
#: results of other nodes at the tick before: a contact of the bodies 0 and 1
CONTACTS = ContactArray(
    period=1e-3,
    body_a=[0],
    body_b=[1],
    position=[0.05, 0.0, 0.0],
    normal=[0.0, 0.0, 1.0],
    normal_impulse=[1e-4],
    tangential_impulse=[3e-4, 1e-4, 0.0],
)
FRICTION = FrictionState(force=[0.1, -0.2, 0.0])


def base_values(name: str = "", **change: Any) -> dict[str, Any]:
    """Gives the defaults, with the changes that a parameter needs to act."""
    return check_all(SPECS, {**SHORT, **CONTEXT.get(name, {}), **change})


def renderer_of(parameters: dict[str, Any]) -> ConstraintRenderer:
    """Makes the renderer as the node makes it."""
    return ConstraintRenderer.from_parameters(parameters)


def step(renderer: ConstraintRenderer, tool: np.ndarray, wrench: np.ndarray) -> ToolMotion:
    """Steps with the contacts and the friction of the tick before."""
    return renderer.step(tool, wrench, contacts=[CONTACTS], frictions=[FRICTION])


def rendered(parameters: dict[str, Any], ticks: int = 70) -> Iterator[tuple[list[float], str]]:
    """Gives the answers to a tool that starts off the mechanism and follows with a lag, and the states as texts."""
    renderer, period = renderer_of(parameters), parameters["period"]
    tool, velocity = LIFTED.copy(), np.zeros(6)
    for k in range(ticks):
        motion = step(renderer, tool, hand(k))
        state = [part.tolist() if isinstance(part, np.ndarray) else part for part in renderer.state[1:]]
        reference = renderer.state.motion
        parts = (reference.pose, reference.twist, reference.acceleration) if reference else ()
        state += [part.tolist() for part in parts]
        yield [renderer.commands_pose, *motion.pose, *motion.twist, *motion.acceleration], repr(state)
        velocity += 0.2 * (motion.twist - velocity)
        if renderer.commands_pose:
            velocity += 20.0 * pose_difference(motion.pose, tool)
        tool[:3] += period * velocity[:3]
        tool[3:] = (Rotation.from_rotvec(period * velocity[3:]) * Rotation.from_quat(tool[3:])).as_quat()


@functools.cache
def rendered_with(*changes: tuple[str, Any]) -> list[tuple[list[float], str]]:
    """Gives the result of changes of the defaults; each is computed once."""
    return list(rendered(base_values(**dict(changes))))


@pytest.mark.slow
@pytest.mark.covering(9)
@pytest.mark.parametrize("name", [name for name in SPECS if name != "display_rate"])
def test_changing_the_parameter_changes_what_is_commanded(name: str) -> None:
    values = base_values(name)
    usual = rendered_with(*CONTEXT.get(name, {}).items())
    reaches_reference = not ("gain" in name or "correction" in name or name in ("derivative_cutoff", "feedback"))
    for value in other_values(SPECS[name], values[name], OTHER):
        answer_differs = state_differs = False
        for (answer, state), (usual_answer, usual_state) in zip(
            rendered(check_all(SPECS, {**values, name: value})), usual, strict=False
        ):
            answer_differs |= answer != usual_answer
            state_differs |= state != usual_state
            if answer_differs and state_differs:
                break
        assert answer_differs, without_effect(name, value)
        assert state_differs or not reaches_reference, f"{name} = {value!r} does not reach the reference"


@pytest.mark.slow
def test_without_friction_the_default_integrator_is_rk4() -> None:
    values = base_values()
    assert list(rendered(values)) == list(rendered({**values, "integrator": "rk4"}))
    values["orientation"] = "quaternion"
    assert list(rendered(values)) == list(rendered({**values, "integrator": "rk4"}))
    values["friction_force"] = 0.1
    assert list(rendered(values)) == list(rendered({**values, "integrator": "algorithm1"}))


@pytest.mark.parametrize("entries", [["mass=0.5", " radius = 0.04 "], ["inertia=[0.001, 0.002, 0.003]"], [""]])
def test_entries_reach_the_mechanism(entries: list[str]) -> None:
    mechanism: Any = renderer_of(base_values(mechanism_parameters=entries)).controller.generator.mechanism
    found = (mechanism.mass, mechanism.radius, mechanism.principal_inertia)
    assert found == {
        "m": (0.5, 0.04, (0.0025,) * 3), "i": (0.25, 0.03, (0.001, 0.002, 0.003)), "": (0.25, 0.03, (0.0025,) * 3)
    }[entries[0][:1]]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", OWN["mechanism"].description.partition(": ")[2].partition(", or one")[0].split(", "))
def test_every_mechanism_that_the_description_names_can_be_rendered(name: str) -> None:
    answers = np.array([answer for answer, _ in rendered(base_values(mechanism=name), ticks=30)])
    assert np.isfinite(answers).all() and answers[:, 8:].any()


def test_the_step_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factory, "ReferenceGenerator", ReferenceGenerator)
    generator: Any = renderer_of(base_values(mechanism="Pendulum")).controller.generator
    assert generator.is_compiled


def test_inputs_act_beside_the_hand() -> None:
    """The hand has released the tool: the sum of both acts, without deadband, at the position of the last reference."""
    renderer = renderer_of(base_values(mechanism="PointOnParaboloid", contact_body=1, force_deadband=5.0))
    for _ in range(2):  # before the first reference the inputs do not act
        step(renderer, np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]), np.zeros(6))
    reference = renderer.reference
    assert reference is not None
    # (contact along x and y, normal part to the plane) - friction, of 0.5 kg over a period
    np.testing.assert_allclose(reference.q_acceleration, [(0.3 - 0.1) / 0.5, (0.1 + 0.2) / 0.5, 0.0], rtol=1e-12)
    assert reference.multipliers[0] == pytest.approx(-0.1, rel=1e-12)


def test_an_input_that_cannot_be_used_is_refused() -> None:
    renderer = renderer_of(base_values())
    step(renderer, START, np.zeros(6))
    with pytest.raises(ValueError, match=r"friction force: expected shape \(3,\), got \(1,\)"):
        renderer.step(START, np.zeros(6), contacts=[], frictions=[FrictionState(force=[1.0])])


def test_world_orientation_that_is_no_rotation_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^world_orientation: expected a quaternion of length 1"):
        renderer_of(base_values(world_orientation=[0.0, 0.0, 0.0, 0.5]))


# --- refusals --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (["mass=0"], MECHANISM + r"mass: expected more than 0, got 0\.0$"),
        (["mass=heavy"], MECHANISM + "mass: expected a number, got 'heavy'$"),
        (["mass=[1, 2]"], MECHANISM + r"mass: expected a number, got \[1, 2\]$"),
        (["mass=.nan"], MECHANISM + "mass: expected a finite number, got nan$"),
        (["inertia=5"], MECHANISM + r"inertia: expected shape \(3,\), got \(\)$"),
        (["inertia={a: 1}"], MECHANISM + r"inertia: expected 3 numbers, got \{'a': 1\}$"),
        (["colour=red"], MECHANISM + "mechanism RollingDisk: .* 'colour'; it takes mass, inertia, .*$"),
        (["name=red"], MECHANISM + "mechanism RollingDisk: .* 'name'; it takes mass, inertia, .*$"),
        (["self=1"], MECHANISM + "mechanism RollingDisk: .* 'self'; it takes mass, inertia, .*$"),
        (["mass"], "parameter mechanism_parameters: entry 'mass': expected name=value$"),
        (["mass=[1"], r"parameter mechanism_parameters: entry 'mass=\[1': the value is not YAML$"),
        (["mass=2020-13-45"], "parameter mechanism_parameters: entry 'mass=2020-13-45': the value is not YAML$"),
        (["mass=1", "mass=2"], "parameter mechanism_parameters: entry 'mass=2': mass is given twice$"),
    ],
)
def test_entries_that_cannot_be_used_are_refused_in_one_line(entries: list[str], message: str) -> None:
    with pytest.raises(ValueError, match="^" + message) as caught:
        renderer_of(base_values(mechanism_parameters=entries))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "entry", "message"),
    [
        ("Wheel", "", "mechanism Wheel: expected one of DiskOnSphere, "),
        ("/no/file.py", "", r"mechanism /no/file\.py: expected one of .*; one of your own is an entry point of group "),
        ("no_module:Disk", "", "mechanism no_module:Disk: expected one of DiskOnSphere, .* group haptic_mechanisms$"),
        ("os:system", "", "mechanism os:system: expected one of "),
        ("TwoLinkOnCircle", "base=[-0.36, 0.0]", r"phi\^-1 does not exist at z = "),
        ("TwoLinkOnCircle", "base=[-0.2505, 0.0]", r"it cannot start: phi\^-1 does not exist at z = "),
        ("FourBar", "ground=0.5", ""),
        ("PointOnSurface", "surface=1", "surface: expected a function of the position, got 1$"),
    ],
)
def test_a_mechanism_that_cannot_be_made_is_refused_in_one_line(name: str, entry: str, message: str) -> None:
    with pytest.raises(ValueError, match="^" + MECHANISM + message) as caught:
        renderer_of(base_values(mechanism=name, mechanism_parameters=[entry]))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero$"),
        ("d.forward([nowhere])", "NameError: name 'nowhere' is not defined$"),
        ("raise RuntimeError('one line\\nand another')", "RuntimeError: one line and another$"),
        ("q, v = d.coordinates(1); d.forward(q)", "kinetic_energy"),
    ],
)
def test_own_mechanism_is_an_entry_point_and_one_that_fails_is_refused_in_one_line(
    body: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    module = f"mine_{tmp_path.name}"
    (tmp_path / f"{module}.py").write_text(
        "from admittance_constraints import Mechanism\n"
        f"class Mine(Mechanism):\n    def define(self, d):\n        {body}\n"
    )
    with pytest.raises(ValueError, match="one of your own is an entry point of group haptic_mechanisms") as caught:
        renderer_of(base_values(mechanism=f"{module}:Mine"))
    assert "\n" not in str(caught.value)
    info = tmp_path / "users_own-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: users-own\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[haptic_mechanisms]\nmine = {module}:Mine\n")
    with pytest.raises(ValueError, match="^" + MECHANISM + ".*" + message) as caught:
        renderer_of(base_values(mechanism="mine"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mechanism": "Pendulum", "orientation": "quaternion"}, "orientation: only a rigid body "),
        (
            {"integrator": "rk4", "friction_force": 1.0},
            "friction_force, friction_torque: expected integrator algorithm1 or symplectic_euler with it, got rk4$",
        ),
        ({"frame_position": [0.0, 1.0]}, r"frame_position: expected shape \(3,\), got \(2,\)$"),
        ({"frame_orientation": [0.0, 1.0]}, r"frame_orientation: expected shape \(4,\), got \(2,\)$"),
        (
            {"frame_orientation": [0, 0, 0.6, 0.6]},
            "frame_orientation: expected a quaternion of length 1, got",
        ),
        ({"tool_orientation": [0, 0, 0, 0]}, "tool_orientation: expected a quaternion of length 1, got length 0$"),
    ],
)
def test_contradiction_is_refused_by_the_name_of_the_parameter(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="^" + message) as caught:
        renderer_of(base_values(**change))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("largest_lead", 0.0, r"^parameter largest_lead: expected from 0\.0001 to 10 \[m\], got 0\.0$"),
        ("frame_orientation", [0.0, 0.0, 2.0, 0.0], r"^parameter frame_orientation: expected entries from -1 to 1"),
        ("mechanism", "", r"^parameter mechanism: expected not empty, got ''$"),
        ("feedback", "both", r"^parameter feedback: expected one of node, device, got 'both'$"),
        ("proportional_gain", float("nan"), r"^parameter proportional_gain: expected finite \[1/s\^2\], got nan$"),
    ],
)
def test_values_out_of_their_bounds_are_refused_by_name(name: str, value: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        check_all(SPECS, {name: value})


def test_the_parameters_of_the_reference_are_those_that_its_generator_is_made_from() -> None:
    asked = set()

    class Asked(dict[str, Any]):
        def __getitem__(self, name: str) -> Any:
            asked.add(name)
            return super().__getitem__(name)

    factory._generator(Asked(base_values(friction_force=1.0)), {})
    assert asked | {"mechanism_parameters"} == set(factory.REFERENCE_PARAMETERS)
