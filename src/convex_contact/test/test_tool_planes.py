"""Planes near the tool: closed forms, the rate of the distance, how much a body yields, and what bodies feel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from convex_contact import Material, Simulator, World, WorldError
from convex_contact.haptics.rendering import ContactRendering, CouplingNumbers, ToolTransform
from convex_contact.haptics.tool_planes import MOST_PLANES, Planes, ToolPlanes
from convex_contact.simulation.body_table import BodyTable

RADIUS, REACH = 0.01, 0.05
EYE = np.array([0.0, 0.0, 0.0, 1.0])


def found_by(world: World, tool: Any, *, radius: float = RADIUS, reach: float = REACH) -> Planes:
    table = BodyTable(Simulator(world, period=1e-3).dynamics).read()
    return ToolPlanes(world, radius=radius, reach=reach).find(table, np.asarray(tool, dtype=float))


def moving() -> World:
    """A turning box off its centre, a rolling ball, a hull and a floor."""
    rng = np.random.default_rng(4)
    turn = Rotation.random(random_state=3)
    w = World()
    w.add_half_space("floor")
    w.add_box(
        "box", mass=0.5, size=(0.06, 0.04, 0.1), center=(0.01, -0.005, 0.02), position=(0.0, 0.0, 0.2),
        orientation=turn.as_quat(), velocity=(0.3, -0.2, 0.1), angular_velocity=(1.0, -2.0, 3.0),
    )  # fmt: skip
    w.add_sphere("ball", mass=0.2, radius=0.03, position=(0.3, 0, 0.2), velocity=(1, 0, 0), angular_velocity=(0, 9, 2))
    w.add_hull(
        "stone", points=0.04 * rng.standard_normal((20, 3)), mass=1.0, position=(0, 0.3, 0.2), velocity=(0, 0.5, 0.2),
        angular_velocity=(2, 0, -1),
    )  # fmt: skip
    return w


PLACES = [(0.0, 0.0, 0.012), (0.05, 0.03, 0.21), (-0.03, 0.0, 0.27), (0.33, 0.02, 0.21), (0.05, 0.28, 0.24)]


def test_planes_of_a_floor_a_box_an_edge_and_a_ball_are_those_of_closed_forms() -> None:
    w = World()
    w.add_half_space("floor")
    w.add_box("box", mass=2.0, size=(0.1, 0.1, 0.1), position=(0.5, 0, 0.05))
    w.add_sphere("ball", mass=0.5, radius=0.05, position=(1.0, 0, 0.05), velocity=(0.2, 0, 0))
    edge, s = 0.006, np.sqrt(0.5)
    cases = [
        ((0.0, 0.0, 0.008), 0, (0, 0, 0), (0, 0, 1), -0.002, (0, 0, 0), 0.0),
        ((0.5, 0.0, 0.113), 1, (0.5, 0, 0.1), (0, 0, 1), 0.003, (0, 0, 0), 0.5),
        # beside the edge along y: the lever to the centre is along the normal, so there is no turning
        ((0.55 + edge, 0.0, 0.1 + edge), 1, (0.55, 0, 0.1), (s, 0, s), edge / s - RADIUS, (0, 0, 0), 0.5),
        ((1.0, 0.06 * s, 0.05 + 0.06 * s), 2, (1.0, 0.05 * s, 0.05 + 0.05 * s), (0, s, s), 0.0, (0.2, 0, 0), 2.0),
    ]
    for tool, body, point, normal, distance, velocity, inverse_mass in cases:
        planes = found_by(w, tool)
        (i,) = np.flatnonzero(planes.body == body)
        np.testing.assert_allclose(planes.point[i], point, atol=1e-15)
        np.testing.assert_allclose(planes.normal[i], normal, atol=1e-15)
        assert planes.signed_distance[i] == pytest.approx(distance, abs=1e-15)
        np.testing.assert_allclose(planes.velocity[i], velocity, atol=1e-15)
        assert planes.inverse_mass[i] == pytest.approx(inverse_mass, rel=1e-13)


@pytest.mark.parametrize("tool", PLACES)
def test_the_point_is_on_the_body_and_the_normal_leads_from_it_to_the_sphere(tool: tuple[float, ...]) -> None:
    planes = found_by(moving(), tool)
    (i,) = range(len(planes.key))
    center = planes.point[i] + (RADIUS + planes.signed_distance[i]) * planes.normal[i]
    np.testing.assert_allclose(center, tool, atol=1e-15)
    assert np.linalg.norm(planes.normal[i]) == pytest.approx(1.0, abs=1e-12)
    # a sphere of no size at the point touches the body
    there = found_by(moving(), planes.point[i] + 1e-6 * planes.normal[i], radius=1e-6)
    assert there.signed_distance[0] == pytest.approx(0.0, abs=1e-9)  # Coal's tolerance is 1e-6 of the hull's size


@pytest.mark.parametrize("tool", PLACES)
def test_the_distance_changes_as_normal_and_velocities_say(tool: tuple[float, ...]) -> None:
    """dx/dt = n . (v_tool - u), against central differences of poses moved along their twists."""
    velocity, h = np.array([0.1, 0.2, -0.3]), 1e-5

    def distance(t: float) -> float:
        w = moving()
        for body in w.bodies:
            body.placement = type(body.placement)(
                body.placement.position + t * body.velocity,
                (
                    Rotation.from_rotvec(t * body.angular_velocity) * Rotation.from_quat(body.placement.orientation)
                ).as_quat(),
            )
        return float(found_by(w, np.array(tool) + t * velocity).signed_distance[0])

    planes = found_by(moving(), tool)
    expected = planes.normal[0] @ (velocity - planes.velocity[0])
    # the curvature of edges and balls, 1/r v^2, gives h^2 of its rate; Coal's distances are good to 1e-10
    assert (distance(h) - distance(-h)) / (2 * h) == pytest.approx(expected, abs=3e-5)


def test_force_on_the_point_accelerates_it_by_the_inverse_mass() -> None:
    """The velocity of the body's point along the normal after one step without gravity and without spin."""
    for tool in PLACES[1:]:
        w = moving()
        w.gravity = np.zeros(3)
        for body in w.bodies:
            body.velocity = body.angular_velocity = np.zeros(3)
        period, force = 1e-6, 2.0
        place = ToolTransform.of(PLACE)
        made = ContactRendering(w, period=period, place=place, numbers=NUMBERS, touch_radius=RADIUS, touch_reach=REACH)
        planes = made.planes(np.array(tool))
        made.react(planes, np.array([force]), np.zeros(3))
        made.simulator.step()
        after = made.planes(np.array(tool))
        yielded = -planes.normal[0] @ after.velocity[0]
        # the point moves by 1e-12 m in the step
        assert yielded == pytest.approx(planes.inverse_mass[0] * force * period, rel=1e-6)


def on_a_floor(push: float, tool: tuple[float, float, float], *, support: bool = True) -> tuple[Planes, float]:
    """A box that rests on a floor without friction or damping: its planes, and its point's speed after one step."""
    w = World()
    smooth = Material(stiffness=2e6, dissipation=0.0, friction=0.0)
    w.add_half_space("floor", material=smooth, point=(0, 0, 0 if support else -1.0))
    if not support:
        w.gravity = np.zeros(3)
    w.add_box("box", mass=0.5, size=(0.06, 0.04, 0.05), material=smooth, position=(0, 0, 0.025 - 1.226e-6))
    made = ContactRendering(
        w, period=1e-3, place=ToolTransform.of(PLACE), numbers=NUMBERS, touch_radius=RADIUS, touch_reach=REACH
    )
    made.simulator.step(2)  # m g/(4 k) deep from the start, so it stays
    planes = made.planes(np.array(tool))
    top = int(np.argmax(planes.normal[:, 2] * planes.body))
    before = planes.normal[top] @ planes.velocity[top]
    made.react(planes, np.where(np.arange(len(planes.key)) == top, push, 0.0), np.zeros(3))
    made.simulator.step()
    after = made.planes(np.array(tool))
    return planes._replace(inverse_mass=planes.inverse_mass[top : top + 1]), before - planes.normal[
        top
    ] @ after.velocity[top]


def test_supported_body_yields_as_in_one_step_of_the_simulation() -> None:
    """Pushed in the middle of its top: w = 1/(m + 4 dt^2 k); off it, as the step's velocity; without a floor 1/m."""
    planes, yielded = on_a_floor(3.0, (0.0, 0.0, 0.062))
    assert planes.inverse_mass[0] == pytest.approx(1.0 / (0.5 + 4 * 1e-6 * 1e6), rel=1e-6)
    assert yielded == pytest.approx(planes.inverse_mass[0] * 3.0 * 1e-3, rel=1e-3)  # k dt (phi + dt v) is linear
    planes, yielded = on_a_floor(0.5, (0.01, 0.008, 0.062))
    assert planes.inverse_mass[0] > 1.05 / 4.5  # it tilts
    assert yielded == pytest.approx(planes.inverse_mass[0] * 0.5 * 1e-3, rel=1e-3)
    planes, _ = on_a_floor(3.0, (0.0, 0.0, 0.062), support=False)
    assert planes.inverse_mass[0] == pytest.approx(2.0, rel=1e-12)


PLACE: dict[str, Any] = {
    "frame_position": [0.0, 0.0, 0.0],
    "frame_orientation": [0.0, 0.0, 0.0, 1.0],
    "scale": 1.0,
    "held_axes": [""],
    "coupled_rotation": False,
}
NUMBERS = CouplingNumbers(500.0, 2.0, 1.0, 0.005, 20.0, 2.0, 0.0)


def momentum(made: ContactRendering) -> tuple[np.ndarray, np.ndarray]:
    """Linear and angular momentum of all free bodies about the world's origin."""
    linear, angular = np.zeros(3), np.zeros(3)
    for number, body in enumerate(made.simulator.world.bodies):
        if body.kind == "free":
            state = made.simulator.state(number)
            R = Rotation.from_quat(state.orientation).as_matrix()
            center = state.position + R @ body.center
            v = state.velocity + np.cross(state.angular_velocity, R @ body.center)
            linear += body.mass * v
            angular += np.cross(center, body.mass * v) + R @ body.inertia @ R.T @ state.angular_velocity
    return linear, angular


def test_bodies_get_the_momentum_that_the_tool_loses() -> None:
    w = moving()
    w.gravity = np.zeros(3)
    made = ContactRendering(
        w, period=1e-5, place=ToolTransform.of(PLACE), numbers=NUMBERS, touch_radius=0.2, touch_reach=0.2
    )
    planes = made.planes(np.array([0.1, 0.1, 0.25]))
    assert {1, 2, 3} <= set(planes.body.tolist())
    push = np.where(planes.inverse_mass > 0.0, [3.0, 5.0, 7.0, 11.0][: len(planes.body)], 0.0)
    rubbing = np.array([1.0, -2.0, 0.5])
    before = momentum(made)
    made.react(planes, push, rubbing)
    made.simulator.step()
    after = momentum(made)
    on_tool = push @ planes.normal + rubbing
    moments = sum(
        np.cross(p, f * n + f / push.sum() * rubbing) for p, n, f in zip(planes.point, planes.normal, push, strict=True)
    )
    # linear exactly; of the moment symplectic Euler makes an error of the order of the period
    np.testing.assert_allclose((after[0] - before[0]) / 1e-5, -on_tool, rtol=1e-7)
    np.testing.assert_allclose((after[1] - before[1]) / 1e-5, -moments, atol=2e-3)
    made.release()
    again = momentum(made)
    made.simulator.step()
    np.testing.assert_allclose(momentum(made)[0], again[0], rtol=1e-12)


def test_frame_and_scale_turn_planes_and_forces_so_that_power_is_kept() -> None:
    turn, origin, scale = Rotation.from_rotvec([0.3, -0.5, 1.0]), np.array([0.1, -0.2, 0.3]), 2.5
    turned = {**PLACE, "frame_position": origin, "frame_orientation": turn.as_quat(), "scale": scale}
    tool = np.array(PLACES[1])
    plain = ContactRendering(
        moving(), period=1e-3, place=ToolTransform.of(PLACE), numbers=NUMBERS, touch_radius=RADIUS, touch_reach=REACH
    )
    other = ContactRendering(
        moving(), period=1e-3, place=ToolTransform.of(turned), numbers=NUMBERS, touch_radius=RADIUS / scale,
        touch_reach=REACH / scale,
    )  # fmt: skip
    a, b = plain.planes(tool), other.planes(origin + turn.apply(tool) / scale)
    np.testing.assert_allclose(b.point, origin + turn.apply(a.point) / scale, atol=1e-14)
    np.testing.assert_allclose(b.normal, turn.apply(a.normal), atol=1e-13)
    np.testing.assert_allclose(b.signed_distance, a.signed_distance / scale, atol=1e-14)
    np.testing.assert_allclose(b.velocity, turn.apply(a.velocity) / scale, atol=1e-13)
    np.testing.assert_allclose(b.inverse_mass, a.inverse_mass / scale**2, rtol=1e-12)
    plain.react(a, np.array([3.0]), np.array([1.0, 0.0, 0.0]))
    other.react(b, np.array([3.0 * scale]), scale * turn.apply([1.0, 0.0, 0.0]))
    np.testing.assert_allclose(
        other.simulator.dynamics.arrays.body_wrench, plain.simulator.dynamics.arrays.body_wrench, atol=1e-12
    )


def test_only_planes_within_reach_are_found_and_keys_stay() -> None:
    w = moving()
    made, table = ToolPlanes(w, radius=RADIUS, reach=0.02), BodyTable(Simulator(w, period=1e-3).dynamics).read()
    assert not len(made.find(table, np.array([0.0, 0.0, 0.0301])).key)
    near = made.find(table, np.array([0.0, 0.0, 0.0299]))
    assert near.body.tolist() == [0]
    keys = [made.find(table, np.array([x, 0.0, 0.0299])).key.tolist() for x in (0.3, 0.4)]
    assert keys == [near.key.tolist()] * 2


def test_nearest_of_many_planes_are_found_also_beyond_the_capacity() -> None:
    w = World()
    for i in range(200):
        w.add_sphere(f"ball {i}", mass=0.1, radius=0.001, position=(0.002 * i, 0.0, 0.02))
    planes = found_by(w, (0.2, 0, 0), radius=0.01, reach=1.0)
    assert planes.body.tolist() == list(range(85, 117)) or planes.body.tolist() == list(range(84, 116))
    assert len(found_by(w, (0.2, 0, 0), radius=0.01, reach=0.02).key) < MOST_PLANES


@pytest.mark.parametrize("name", ["radius", "reach"])
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan])
def test_sizes_are_above_zero(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"^{name}: "):
        ToolPlanes(moving(), **{"radius": RADIUS, "reach": REACH, name: value})


def test_without_a_radius_there_are_no_planes() -> None:
    made = ContactRendering(moving(), period=1e-3, place=ToolTransform.of(PLACE), numbers=NUMBERS)
    with pytest.raises(WorldError, match="touch_radius: expected above 0"):
        made.planes(np.zeros(3))


def test_prescribed_proxy_arrives_at_the_commanded_pose() -> None:
    """With turn and scale, whatever the twist says; at the first tick it is put there."""
    w = World()
    w.add_box("hand", size=(0.1, 0.1, 0.1), prescribed=True, position=(1, 1, 1))
    w.add_sphere("ball", mass=0.1, radius=0.01)
    turn = Rotation.from_rotvec([0.0, 0.0, 0.4])
    values = {**PLACE, "frame_orientation": turn.as_quat(), "scale": 2.0, "coupled_rotation": True}
    made = ContactRendering(w, period=1e-3, substeps=3, proxy="hand", place=ToolTransform.of(values), numbers=NUMBERS)
    for k in range(4):
        spin = Rotation.from_rotvec([0.01 * k, 0.02 * k, 0.5])
        position = np.array([0.1, 0.2, 0.3]) + 1e-3 * k * np.array([1.0, 2.0, k])
        pose = np.concatenate([position, spin.as_quat()])
        assert not made.step(pose, np.full(6, 9.0), arrives=True).any()
        state = made.simulator.state("hand")
        np.testing.assert_allclose(state.position, 2.0 * turn.inv().apply(position), atol=1e-14)
        off = (Rotation.from_quat(state.orientation).inv() * turn.inv() * spin).magnitude()
        assert off == pytest.approx(0.0, abs=1e-7)
        if k:
            assert state.velocity == pytest.approx(2.0 * turn.inv().apply([1.0, 2.0, 2 * k - 1.0]), rel=1e-9)
