"""`ContactRenderer`: the node's tick without ROS."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import convex_contact
from convex_contact import ContactRenderer, WorldError
from convex_contact.haptics.contact_renderer import InputMismatchError, WallPush
from convex_contact.haptics.rendering import make_rendering

WORLD = """
gravity: [0, 0, -9.81]
bodies:
  - {name: floor, shape: {type: half_space}, fixed: true}
  - {name: finger, mass: 0.1, shape: {type: sphere, radius: 0.02}, position: [0, 0, 0.05]}
  - {name: block, mass: 0.5, shape: {type: sphere, radius: 0.03}, position: [0.045, 0, 0.03]}
"""
BODY = ("position", "orientation", "velocity", "angular_velocity")


@pytest.fixture
def values(tmp_path: Path) -> dict[str, Any]:
    """Defaults of the node's parameters, of a world with a finger and a block."""
    (tmp_path / "world.yaml").write_text(WORLD)
    text = Path(convex_contact.__file__).with_name("contact_node.yaml").read_text()
    (specs,) = yaml.safe_load(text).values()
    specs = specs.get("ros__parameters", specs)
    defaults = {name: spec["default_value"] for name, spec in specs.items() if isinstance(spec, dict)}
    return {**defaults, "period": 1e-3, "world": str(tmp_path / "world.yaml"), "proxy": "finger", "approach_time": 0.0}


def tool(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Pose and twist of the tool at a tick: down, and against the block."""
    return np.array([2e-4 * k, 0.0, 0.05 - 2e-4 * k, 0.0, 0.0, 0.0, 1.0]), np.zeros(6)


def test_answers_are_those_of_the_world_in_the_loop(values: dict[str, Any]) -> None:
    renderer = ContactRenderer.from_parameters({**values, "condition_interval": 10})
    twin = make_rendering(values, {})
    felt = 0.0
    for k in range(100):
        answer, expected = renderer.step(*tool(k), tick=k), twin.step(*tool(k))
        np.testing.assert_array_equal(answer.wrench, expected)
        bodies, others = answer.bodies, twin.bodies.read()
        for name in BODY:
            np.testing.assert_array_equal(getattr(bodies, name), getattr(others, name))
        contacts, report = answer.contacts, twin.simulator.contacts
        np.testing.assert_array_equal(contacts.signed_distance, report.signed_distance)
        total = contacts.normal_impulse[:, None] * contacts.normal + contacts.tangential_impulse
        np.testing.assert_allclose(total, np.einsum("nk,nki->ni", report.impulse, report.frame), atol=1e-15)
        assert np.isnan(answer.statistics.cost) == (k == 0 or k % 10 > 0)
        felt = max(felt, float(np.linalg.norm(answer.wrench)))
    assert felt > 1.0


def test_reset_leads_to_the_same_answers(values: dict[str, Any]) -> None:
    renderer = ContactRenderer.from_parameters(values)
    first = [renderer.step(*tool(k)).wrench for k in range(60)]
    renderer.reset()
    np.testing.assert_array_equal([renderer.step(*tool(k)).wrench for k in range(60)], first)


def test_change_acts_from_the_next_tick_on_or_not_at_all(values: dict[str, Any]) -> None:
    renderer = ContactRenderer.from_parameters(values)
    for k in range(20):
        renderer.step(*tool(k))
    before = renderer.settings
    with pytest.raises(ValueError, match="stiffness"):
        renderer.change(renderer.settings_of({**values, "coupling_stiffness": -1.0, "max_force": 1.0}))
    assert renderer.settings == before and renderer.rendering.numbers == before.coupling
    renderer.change(renderer.settings_of({**values, "coupling_stiffness": 0.0, "coupling_damping": 0.0}))
    assert not renderer.step(*tool(20)).wrench.any()


def test_walls_react_to_planes_of_their_tick_and_bodies_feel_it(values: dict[str, Any]) -> None:
    values = {**values, "proxy": "", "touch_radius": 0.005, "touch_reach": 0.05}
    renderer, untouched = ContactRenderer.from_parameters(values), ContactRenderer.from_parameters(values)
    pose, twist = np.array([0.045, 0.0, 0.066, 0.0, 0.0, 0.0, 1.0]), np.zeros(6)
    planes = renderer.step(pose, twist, tick=0).planes
    untouched.step(pose, twist)
    assert set(planes.body.tolist()) == {1, 2}  # the floor is out of reach
    push = np.where(planes.body == 2, 5.0, 0.0)
    answer = renderer.step(pose, twist, tick=1, walls=[WallPush("wall", 0, push)])
    other = untouched.step(pose, twist)
    assert answer.rejected == () and other.rejected == ()
    change = answer.bodies.velocity[2] - other.bodies.velocity[2]
    assert change[2] < 0.0  # pressed into the floor
    late = renderer.step(pose, twist, tick=2, walls=[WallPush("wall", 5, push), WallPush("wall", 0, push[:1])])
    assert len(late.rejected) == 2 and all(text.startswith("wall: ") for text in late.rejected)


def test_friction_acts_on_the_ends_of_its_element(values: dict[str, Any]) -> None:
    values = {**values, "friction_bodies": ["pad.second=block"]}
    renderer, untouched = ContactRenderer.from_parameters(values), ContactRenderer.from_parameters(values)
    for k in range(3):
        pushed = renderer.step(*tool(k), friction={"pad": np.array([0.3])})
        still = untouched.step(*tool(k))
    change = pushed.bodies.velocity[2] - still.bodies.velocity[2]
    assert change[0] > 0.0
    with pytest.raises(InputMismatchError, match="pad: force: expected at most 3 numbers, got 4"):
        renderer.step(*tool(3), friction={"pad": np.zeros(4)})


def test_refusals_name_the_parameter(values: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"^parameter world_parameters: entry 'gravity': expected name=value"):
        ContactRenderer.from_parameters({**values, "world_parameters": ["gravity"]})
    with pytest.raises(ValueError, match=r"^parameter friction_bodies: "):
        ContactRenderer.from_parameters({**values, "friction_bodies": ["pad.first=floor"]})
    with pytest.raises(WorldError, match="touch_radius"):
        _ = ContactRenderer.from_parameters(values).step(*tool(0)).planes
