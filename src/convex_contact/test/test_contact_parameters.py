"""Parameters of the contact node: each one acts, and values that do not fit are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from contact_inputs import SHORT, SPECS, bare, base_values, tool
from node_parameters import other_values, without_effect

from convex_contact.haptics.rendering import make_rendering
from convex_contact.node import ContactNode, worlds_folder
from haptic_core.errors import ParameterError
from haptic_core.messages import set_pose, set_twist, wrench_array
from haptic_core.parameters import check_all
from haptic_msgs.msg import DeviceState

# --- every parameter acts ---------------------------------------------------------------------------------------

#: other values where twice and half the value are none
OTHER: dict[str, list[Any]] = {
    "world_parameters": [["bodies.box.mass=0.2"], ["", "materials.wood.friction=0.9"]],
    "proxy": ["", "ball", "belt"],
    "substeps": [2, 5],
    "speculative": [False],
    "linear_rotation": [True],
    "coupled_rotation": [True],
    "near_rigid": [0.0, 4.0],
    "relative_tolerance": [1e-12],
    "stiction_tolerance": [1e-2, 1e-6],
    "frame_position": [[0.001, 0.0, 0.0], [0.0, 0.0, -0.001]],
    "frame_orientation": [[0.0, 0.0, 0.6, 0.8]],
    "held_axes": [["z"], ["x", "z"]],
    "threshold": [2e-5],
}
#: these change what is published or shown, or end the run, and have a test of their own
APART = {"touch_radius", "touch_reach", "friction_bodies"}  # what other nodes take and do
APART |= {"display_rate", "force_length", "device_damping", "max_iterations", "condition_interval", "world"}


def rendered(parameters: dict[str, Any], ticks: int = 60) -> list[Any]:
    """Everything that the node answers and tells."""
    node = bare(parameters)
    device, told = DeviceState(period=parameters["period"]), []
    for k in range(ticks):
        pose, twist = tool(k)
        set_pose(device.tool_pose, pose)
        set_twist(device.tool_twist, twist)
        ContactNode.render(node, device)
        ContactNode.fill_state(node)
        simulator = node.renderer.simulator
        told.append((wrench_array(node.command.tool_wrench).tolist(), repr(node.state)))
        told.append((simulator.contacts.position.shape, simulator.approximation))
    return told


@pytest.mark.slow
@pytest.mark.covering(9)
@pytest.mark.parametrize("name", [name for name in SPECS if name not in APART])
def test_every_parameter_changes_the_output(name: str, world: str) -> None:
    values = base_values(world, name)
    before = rendered(values)
    for value in other_values(SPECS[name], values[name], OTHER):
        assert rendered(check_all(SPECS, {**values, name: value})) != before, without_effect(name, value)


def test_another_world_by_path_by_name_and_from_a_function(world: str) -> None:
    for source, bodies in ((world, 8), ("touch_clutter", 16), ("convex_contact.scenes:falling_sphere", 2)):
        rendering = bare(base_values(source, proxy="")).renderer
        assert len(rendering.simulator.world.bodies) == bodies


def test_too_few_iterations_end_the_run(world: str) -> None:
    with pytest.raises(ParameterError, match=r"^world .*table\.yaml: .*Newton iterations.* t = 0 s"):
        rendered(base_values(world, max_iterations=1, relative_tolerance=1e-13))


def test_a_device_that_damps_too_little_is_warned_of(world: str) -> None:
    assert bare(base_values(world, device_damping=2.3)).warnings == []
    (warning,) = bare(base_values(world, device_damping=2.2)).warnings
    assert "need a device damping of 2.25 N s/m" in warning and "device_damping is 2.2 N s/m" in warning


@pytest.mark.slow
def test_the_suite_s_worlds_can_be_simulated() -> None:
    folder = worlds_folder()
    assert folder is not None
    names = sorted(path.stem for path in folder.glob("*.yaml"))
    assert {"clutter_mixed", "clutter_spheres", "touch_clutter"} <= set(names)
    for name in names:
        values = check_all(SPECS, {"world": name})
        rendering = make_rendering(values, {}, folder)
        for _ in range(3):
            rendering.step(np.array([0, 0, 0, 0, 0, 0, 1.0]), np.zeros(6))
        assert rendering.simulator.time == pytest.approx(2e-3)


# --- what is refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"proxy": "thumb"},
            r"^world .*: thumb: no such body; the bodies that can move are: finger, box, ball, can, pill, pair, belt$",
        ),
        ({"proxy": "floor"}, r"^world .*: floor: expected a body that can move, got a fixed one$"),
        ({"world": "nowhere"}, r"^nowhere: no such world; expected a path, module:function, or one of clutter_mixed, "),
        (
            {"world_parameters": ["bodies.cube.mass=1"]},
            r"^entry bodies\.cube\.mass: .* has no 'cube', it is a list of 8$",
        ),
        ({"world_parameters": ["mass"]}, r"^parameter world_parameters: entry 'mass': expected name=value$"),
        ({"frame_orientation": [0.0, 0.0, 0.6, 0.6]}, r"^frame_orientation: expected a quaternion of length 1"),
        ({"approximation": "sap", "normal_law": "hertz"}, r"^normal_law: expected None with sap"),
    ],
)
def test_unusable_parameters_are_refused_in_one_line(change: dict[str, Any], message: str, world: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        bare(check_all(SPECS, {"world": world, **SHORT, **change}))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("approximation", "exact", r"^parameter approximation: expected one of sap, "),
        ("coupling_stiffness", -1.0, r"^parameter coupling_stiffness: expected from 0 to 1e\+07 \[N/m\], got -1\.0$"),
        ("held_axes", ["w"], r"^parameter held_axes: "),
        ("scale", float("nan"), r"^parameter scale: expected finite \[-\], got nan$"),
        ("substeps", 0, r"^parameter substeps: expected from 1 to 1000"),
    ],
)
def test_values_out_of_their_bounds_are_refused_by_name(name: str, value: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        check_all(SPECS, {name: value})


@pytest.mark.parametrize("entry", ["upper=box", "upper.first=floor", "upper.middle=box", "upper.first=nobody", "box"])
def test_friction_acts_on_the_ends_of_its_element_at_free_bodies_only(entry: str, world: str) -> None:
    with pytest.raises(ParameterError, match=r"^parameter friction_bodies: "):
        bare(base_values(world, friction_bodies=[entry]))
