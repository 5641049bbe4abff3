"""The renderer of the wall node's parameters: all of them act, what is refused, and its safe stops."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from node_parameters import other_values, without_effect
from numpy.testing import assert_allclose, assert_array_equal
from wall_cases import OWN, SPECS, guarded, values, way

from haptic_friction import CoulombLaw
from tau_wall_control import (
    Plane,
    SingularError,
    TauDevice,
    TauError,
    WallRenderer,
    design_wall_controller,
)
from tau_wall_control.device.parameters import DEFAULT_FILE
from tau_wall_control.errors import PlanesError, SafeStopError
from tau_wall_control.walls.planes import MovingPlanes

pytestmark = pytest.mark.usefixtures("designs")


@lru_cache
def rendered_with(*changes: tuple[str, Any]) -> list[Any]:
    """The result of changes of the defaults; each is computed once."""
    return rendered(values(**dict(changes)))


def rendered(p: dict[str, Any]) -> list[Any]:
    walls, rows = WallRenderer.from_parameters(p), []
    for theta, rate in way(TauDevice.default()):
        state = walls.step(theta, rate)
        rows.append([*state.torque, *state.in_contact, walls.rendered_stiffness, state.operating_point])
    return rows


# ---- every parameter acts ---------------------------------------------------------------------------

#: what the defaults must be changed to for a parameter to act
CONTEXT: dict[str, dict[str, Any]] = {
    "friction_stiffness": {"friction_coefficient": 0.3},
    "friction_damping": {"friction_coefficient": 0.3},
    "per_axis": {"scheme": "scheduled"},
    "design_normal": {"scheme": "observer"},
}
#: other values where twice the value is none
OTHER: dict[str, list[Any]] = {
    "scheme": ["mopc"],
    "device_parameters": [["platform.mass=0.2"]],
    "per_axis": [2],
    "known_delay": [0],
    "design_normal": [[1.0, 0.0, 0.0]],
    "contact": ["holding"],
    "wall_points": [[0.0, 0.0, 1e-5]],
    "wall_normals": [[0.0, 0.6, 0.8]],
    "friction_coefficient": [0.2],
}
#: tested below: files, and what has nothing to do with the torques
ELSEWHERE = {"controller_file", "device_file", "longest_saturation", "display_rate", "release_gap", "thermal_limit"}


@pytest.mark.slow
@pytest.mark.covering(6)
@pytest.mark.parametrize("name", sorted(SPECS.keys() - ELSEWHERE))
def test_changing_the_parameter_changes_what_is_commanded(name: str) -> None:
    context = CONTEXT.get(name, {})
    value = other_values(SPECS[name], SPECS[name].default, OTHER)[0]
    changes = rendered_with(*context.items()) != rendered(values(**{**context, name: value}))
    assert changes, without_effect(name, value)


@pytest.mark.parametrize("scheme", OWN["scheme"].validation["one_of<>"][0])
def test_every_scheme_holds_the_weight_away_from_the_wall(scheme: str) -> None:
    device = TauDevice.default()
    walls = WallRenderer.from_parameters(values(scheme=scheme))
    theta = device.inverse_kinematics((0.005, 0.0, 0.01))
    assert_allclose(walls.step(theta, np.zeros(6)).torque, device.gravity_torque_at((0.005, 0.0, 0.01)), atol=1e-9)
    assert walls.rendered_stiffness == 0.0


def test_files_of_mechanism_and_controller(tmp_path: Path) -> None:
    stand_in = TauDevice.default()
    file = tmp_path / "gains.npz"
    controller = design_wall_controller(stand_in, "scheduled")
    controller.save(file)
    assert rendered(values(controller_file=str(file))) == rendered(values(scheme="scheduled"))
    text = DEFAULT_FILE.read_text()
    mine = tmp_path / "mine.yaml"
    mine.write_text(text.replace("mass: 0.120", "mass: 0.200"))
    heavy = values(device_file=str(mine))
    assert rendered(heavy) == rendered(values(device_parameters=["platform.mass=0.2"]))
    with pytest.raises(TauError, match=r"^parameter controller_file: .*for another device .*; design it again"):
        WallRenderer.from_parameters({**heavy, "controller_file": str(file)})
    with pytest.raises(TauError, match=r"^parameter controller_file: .*another sample time than 0\.002 s; design it"):
        WallRenderer.from_parameters(values(controller_file=str(file), period=0.002))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"wall_points": []}, "wall_points: expected three numbers a wall, got 0$"),
        ({"wall_normals": [1.0, 0.0]}, "wall_normals: expected three numbers a wall, got 2$"),
        ({"wall_points": [0.0] * 6}, "wall_normals: expected 6 numbers, as many as the other list, got 3$"),
        ({"wall_normals": [0.0, 0.0, 0.0]}, "wall_points, wall_normals: wall 1: normal: expected a direction, got "),
        ({"wall_points": [0.0] * 99, "wall_normals": [0.0, 0.0, 1.0] * 33}, "planes: expected 1 to 32, got 33$"),
        (
            {"contact": "holding", "wall_points": [0.0] * 6, "wall_normals": [0.0, 0.0, 1.0] * 2},
            "wall_points: expected one wall for contact holding, got 2$",
        ),
        ({"design_normal": [0.0, 0.0, 0.0]}, "parameters scheme, per_axis, .*: normal: expected a direction"),
        ({"device_file": "/no/file.yaml"}, r"parameters device_file, device_parameters: /no/file\.yaml: cannot be "),
        ({"device_parameters": ["platform.mass=-1"]}, r"parameters device_file, .*platform\.mass: .*greater than 0"),
        ({"device_parameters": ["chains.chain_1.link_1_length=0.05"]}, r"parameters scheme, .*chain 1"),
        ({"controller_file": "/no/gains.npz"}, r"parameter controller_file: /no/gains\.npz: cannot be read"),
    ],
)
def test_unusable_parameters_are_refused_in_one_line(change: dict[str, Any], message: str) -> None:
    with pytest.raises(TauError, match="^" + message) as caught:
        WallRenderer.from_parameters(values(**change))
    assert "\n" not in str(caught.value)


def test_friction_and_walls_are_the_library_s() -> None:
    device = TauDevice.default()
    controller = design_wall_controller(device, "stiff")
    planes = (Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)), Plane((0.0, -0.01, 0.0), (0.0, 1.0, 0.0)))
    renderer = WallRenderer(controller, planes, friction=CoulombLaw(0.3), friction_stiffness=500.0, release_gap=2e-4)
    walls = WallRenderer.from_parameters(
        values(
            scheme="stiff",
            wall_points=[0.0, 0.0, 0.0, 0.0, -0.01, 0.0],
            wall_normals=[0.0, 0.0, 1.0, 0.0, 1.0, 0.0],
            friction_coefficient=0.3,
            friction_stiffness=500.0,
            release_gap=2e-4,
        )
    )
    steps = way(device)
    renderer.reset(steps[0][0])
    for theta, rate in steps:
        assert_array_equal(walls.step(theta, rate).torque, renderer.step(theta, rate).torque)


# ---- the guard --------------------------------------------------------------------------------------


def test_angles_without_a_pose_stop_for_good_until_a_restart() -> None:
    device, walls = TauDevice.default(), guarded()
    theta = device.inverse_kinematics((0.0, 0.0, 0.01))
    held = walls.step(theta, np.zeros(6)).torque
    reason = r"out of reach of chain \d|^no pose found"
    with pytest.raises(SafeStopError, match=reason):
        walls.step(theta + np.array([1.5, -1.2, 1.5, 1.2, -1.0, 1.0]), np.zeros(6))
    for _ in range(2):  # good angles do not bring it back
        with pytest.raises(SafeStopError, match=reason):
            walls.step(theta, np.zeros(6))
    assert walls.state is None and walls.rendered_stiffness == 0.0
    walls.reset()
    assert_array_equal(walls.step(theta, np.zeros(6)).torque, held)


def test_a_singular_pose_stops_with_the_library_s_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def step(theta: np.ndarray, rate: np.ndarray) -> None:
        raise SingularError("chain 2 is singular at position [0, 0, 0] m: stretched, or on its axis")

    walls = guarded()
    monkeypatch.setattr(walls._walls, "step", step)
    with pytest.raises(SafeStopError, match=r"^chain 2 is singular at "):
        walls.step(TauDevice.default().inverse_kinematics((0.0, 0.0, 0.0)), np.zeros(6))
    assert walls.stopped


def test_contact_ends_at_the_release_gap() -> None:
    """Held inside, the integral pushes on when the tool is outside; the gap ends that."""
    device = TauDevice.default()
    inside, outside = (device.inverse_kinematics((0.0, 0.0, z)) for z in (-2e-4, 5e-5))
    for gap, contact in ((1e-4, True), (2e-5, False)):
        walls = guarded(scheme="scheduled", release_gap=gap)
        for _ in range(100):
            walls.step(inside, np.zeros(6))
        walls.step(outside, np.zeros(6))
        assert walls.state is not None and walls.state.in_contact[0] == contact


def test_saturation_may_last_as_long_as_the_parameter() -> None:
    device = TauDevice.default()
    deep, rate = device.inverse_kinematics((0.0, 0.0, -0.01)), np.zeros(6)
    for longest in (0.02, 0.05):
        walls, count = guarded(longest_saturation=longest), 0
        with pytest.raises(SafeStopError, match=rf"^the torque limits have acted for .* s, expected {longest:g} s at "):
            while count < 1000:
                torque = walls.step(deep, rate).torque
                assert np.abs(torque).max() <= device.peak_torque
                count += 1
        assert count == round(longest / 1e-3)


def test_planes_that_cannot_be_used_stop_nothing() -> None:
    device, walls = TauDevice.default(), guarded(moving=True)
    theta = device.inverse_kinematics((0.0, 0.0, -1e-4))
    good, bad = (MovingPlanes([1], [[0, 0, 0]], [[0.0, 0.0, z]]) for z in (1.0, 2.0))
    walls.step(theta, np.zeros(6), planes=good)
    with pytest.raises(PlanesError, match="unit vectors"):
        walls.step(theta, np.zeros(6), planes=bad)
    assert walls.state is None and not walls.stopped
    walls.step(theta, np.zeros(6), planes=good)
    assert walls.state is not None and walls.state.in_contact.all() and walls.rendered_stiffness > 0.0
    walls.step(theta, np.zeros(6), planes=MovingPlanes([], np.zeros((0, 3)), np.zeros((0, 3))))
    assert walls.rendered_stiffness == 0.0
    with pytest.raises(TauError, match="contact: expected sliding for walls that move, got 'holding'"):
        guarded(moving=True, contact="holding")


def test_while_the_device_does_not_obey_nothing_is_commanded_and_nothing_winds_up() -> None:
    device, walls = TauDevice.default(), guarded()
    inside = device.inverse_kinematics((0.0, 0.0, -1e-4))
    first = [walls.step(inside, np.zeros(6)).torque for _ in range(5)]
    for _ in range(100):
        assert not walls.step(inside, np.zeros(6), obeys=False).torque.any()
    assert_array_equal([walls.step(inside, np.zeros(6)).torque for _ in range(5)], first)


def test_stiffness_is_push_over_depth_of_at_least_a_count() -> None:
    device, walls = TauDevice.default(), guarded(scheme="scheduled")
    walls.step(device.inverse_kinematics((0.0, 0.0, 1e-4)), np.zeros(6))
    walls.step(device.inverse_kinematics((0.0, 0.0, -2e-4)), np.zeros(6))
    assert walls.state is not None
    assert walls.rendered_stiffness == pytest.approx(walls.state.push[0] / 2e-4, rel=1e-6)
    walls.step(device.inverse_kinematics((0.0, 0.0, -1e-9)), np.zeros(6))
    assert walls.rendered_stiffness == pytest.approx(walls.state.push[0] / walls.device.tool_resolution, rel=1e-6)
    assert 5e-6 < walls.device.tool_resolution < 1.5e-5  # docs/tau.md: 11 µm at the worst pose
