"""A friction node between two partners: whose velocities it takes, on whom its force acts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from haptic_core import rendering_node
from haptic_core.errors import InputError, ParameterError
from haptic_core.parameters import check_all, load_parameter_specs
from haptic_core.rendering_node import RenderingNode
from haptic_friction import CoulombLaw, ModelC
from haptic_friction.node import FrictionNode
from haptic_friction.partners import TOOL, relative_velocity, tool_force_factor
from haptic_msgs.msg import BodyStates, DeviceCommand, DeviceState, FrictionState, WallState

SPECS = {
    **load_parameter_specs(FrictionNode.parameter_file),
    **{name: load_parameter_specs(rendering_node._BASE_FILE)[name] for name in ("period", "inputs")},
}
ELEMENT = {"law": "coulomb", "friction_force": 2.0, "stiffness": 3e4, "damping": 300.0, "axes": ["y"]}
T = 1e-3


def node_of(**change: Any) -> Any:
    """A plain object on which the node's own methods run."""
    parameters = check_all(SPECS, {**ELEMENT, "inputs": ["contact:bodies"], **change})
    node: Any = SimpleNamespace(
        renderer=None, parameters=parameters, command=DeviceCommand(), state=FrictionState(), warning=lambda: ""
    )
    node._given = lambda: FrictionNode._given(node)
    FrictionNode.install(node, FrictionNode.build(node, parameters))
    return node


def motions(ticks: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Velocities of the tool (n, 3) and of three bodies (n, 3, 3) [m/s] that stick and slide."""
    phase = 0.05 * np.arange(ticks)[:, None]
    return 0.05 * np.sin(phase + np.arange(3)), 0.03 * np.sin(0.7 * phase[..., None] + np.arange(9).reshape(3, 3))


def rendered(node: Any, tool: np.ndarray, bodies: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Wrench on the tool and force of the state (3,) [N]."""
    device = DeviceState(period=T)
    twist = device.tool_twist.linear
    twist.x, twist.y, twist.z = tool.tolist()
    node.inputs = {"contact:bodies": None if bodies is None else BodyStates(velocity=bodies.ravel().tolist())}
    FrictionNode.render(node, device)
    FrictionNode.fill_state(node)
    f = node.command.tool_wrench.force
    return np.array([f.x, f.y, f.z]), np.array(node.state.force)


@pytest.mark.parametrize(
    ("first", "second", "share"), [(TOOL, 1, -1.0), (2, TOOL, 1.0), (0, 2, 0.0)], ids=["tool", "on the tool", "bodies"]
)
def test_the_element_takes_the_difference_and_its_force_acts_on_both(first: int, second: int, share: float) -> None:
    node, element = node_of(first=first, second=second), ModelC(CoulombLaw(2.0), stiffness=3e4, damping=300.0, period=T)
    for tool, bodies in zip(*motions(), strict=True):
        of = {TOOL: tool, **dict(enumerate(bodies))}
        (expected,) = element.step([of[first][1] - of[second][1]])
        wrench, force = rendered(node, tool, bodies)
        # the node's element is the library's, so the bits are; along x and z there is nothing
        np.testing.assert_array_equal(force, [0.0, expected, 0.0])
        np.testing.assert_array_equal(wrench, [0.0, share * expected, 0.0])
        assert node.state.velocity[1] == of[first][1] - of[second][1]
    assert element.dissipated_energy > 0.0
    assert node.state.dissipated_energy == element.dissipated_energy


def test_at_the_first_tick_of_a_delayed_input_all_bodies_rest() -> None:
    node = node_of(first=TOOL, second=2)
    (expected,) = ModelC(CoulombLaw(2.0), stiffness=3e4, damping=300.0, period=T).step([0.002])
    np.testing.assert_array_equal(rendered(node, np.array([0.0, 0.002, 0.0]), None)[1], [0.0, expected, 0.0])


def test_a_body_that_is_not_there_or_has_no_number_is_refused_and_changes_nothing() -> None:
    node = node_of(first=TOOL, second=3)
    with pytest.raises(InputError, match=r"^first, second: expected numbers below 3, got \(-1, 3\)$"):
        rendered(node, np.ones(3), np.zeros((3, 3)))
    with pytest.raises(
        InputError, match=r"^velocity of bodies \(-1, 3\): expected finite numbers, got \[nan nan nan\]"
    ):
        rendered(node, np.ones(3), np.full((4, 3), np.nan))
    assert not node.renderer.model.displacement.any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"first": 1, "second": 1}, "parameters first, second: expected two, got 1 twice"),
        ({"rendering": "admittance", "model": "A"}, "parameter rendering: expected impedance with an input of kind"),
    ],
)
def test_model_that_cannot_act_between_partners_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=f"^{message}"):
        node_of(**change)


def test_partners_alone() -> None:
    bodies = np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 5.0]])
    np.testing.assert_array_equal(relative_velocity(TOOL, 1, np.ones(3), bodies), [1.0, 0.0, -4.0])
    np.testing.assert_array_equal(relative_velocity(1, 0, np.ones(3), bodies), [-1.0, -1.0, 2.0])
    assert [tool_force_factor(partners) for partners in ((TOOL, 0), (0, TOOL), (0, 1))] == [-1.0, 1.0, 0.0]


@pytest.mark.parametrize(("first", "mode"), [(TOOL, "WRENCH"), (1, "NONE")])
def test_between_two_bodies_the_device_gets_no_force(first: int, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RenderingNode, "configure", lambda self: None)
    node: Any = FrictionNode.__new__(FrictionNode)
    node.parameters = check_all(SPECS, {**ELEMENT, "inputs": ["contact:bodies"], "first": first, "second": 0})
    FrictionNode.configure(node)
    assert node.command_mode == mode


def test_with_a_load_the_law_is_scaled_along_the_surface() -> None:
    """A wall that pushes along z with 5 N, and the body of a world that moves: F = mu N against the difference."""
    node = node_of(
        inputs=["contact:bodies", "wall"], first=TOOL, second=0, friction_coefficient=0.4, friction_force=1.0
    )
    for _ in range(100):
        device = DeviceState(period=T)
        device.tool_twist.linear.x, device.tool_twist.linear.z = 0.1, 0.3
        node.inputs = {
            "contact:bodies": BodyStates(velocity=[-0.1, 0.0, 0.0]),
            "wall": WallState(normal=[0.0, 0.0, 1.0], push=[5.0]),
        }
        FrictionNode.render(node, device)
    f = node.command.tool_wrench.force
    np.testing.assert_allclose([f.x, f.y, f.z], [-2.0, 0.0, 0.0], atol=1e-12)  # slides along x at 0.2 m/s
