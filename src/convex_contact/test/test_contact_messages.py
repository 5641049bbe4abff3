"""Messages and drawings of the contact node, made without a graph: scene, contacts, arrows."""

from __future__ import annotations

from typing import Any

import numpy as np
from contact_inputs import base_values

from convex_contact import World
from convex_contact.haptics.rendering import ContactRendering, make_rendering
from convex_contact.model.world_source import open_world
from convex_contact.node import fill_contacts, scene_message, worlds_folder
from haptic_core.messages import view
from haptic_msgs.msg import ContactArray, Scene


def test_the_scene_describes_each_body(world: str) -> None:
    scene = scene_message(open_world(world))
    assert list(scene.name) == ["floor", "finger", "box", "ball", "can", "pill", "pair", "belt"]
    kinds = [
        Scene.SHAPE_HALF_SPACE,
        Scene.SHAPE_SPHERE,
        Scene.SHAPE_BOX,
        Scene.SHAPE_SPHERE,
        Scene.SHAPE_CYLINDER,
        Scene.SHAPE_CAPSULE,
        Scene.SHAPE_BOX,
        Scene.SHAPE_BOX,
    ]
    assert list(scene.shape) == kinds
    sizes = np.array(scene.size).reshape(-1, 3)
    np.testing.assert_allclose(
        sizes[[1, 2, 4, 5]], [[0.01, 0, 0], [0.02, 0.02, 0.02], [0.01, 0.03, 0], [0.01, 0.02, 0]], rtol=1e-15
    )
    np.testing.assert_allclose(sizes[6], [0.06, 0.02, 0.03], rtol=1e-15)  # the box about both shapes
    np.testing.assert_allclose(scene.mass, [0, 0.05, 0.1, 0.1, 0.1, 0.1, 0.2, 0])
    assert list(scene.mesh) == [""] * 8


def test_a_half_space_that_is_turned_is_a_half_space() -> None:
    scene = scene_message(open_world("clutter_spheres", folder=worlds_folder()))
    assert list(scene.shape[:5]) == [Scene.SHAPE_HALF_SPACE] * 5 and list(scene.shape[5:]) == [Scene.SHAPE_SPHERE] * 40


def test_contacts_in_world_axes_are_those_of_the_report(world: str) -> None:
    simulator = make_rendering(base_values(world, proxy=""), {}).simulator
    assert [len(rows) for rows in simulator.contacts_in_world_axes] == [0] * 9  # before the first step
    simulator.step(300)
    a, b, point, normal, distance, push, tangential, slip, sticking = simulator.contacts_in_world_axes
    report = simulator.contacts
    assert len(a) > 4 and a.dtype == b.dtype == np.uint32
    np.testing.assert_array_equal(np.column_stack([a, b]), report.body)
    for rows, expected in ((point, report.position), (normal, report.frame[:, 2]), (slip, report.slip_velocity)):
        np.testing.assert_array_equal(rows, expected)
    for rows, expected in (
        (distance, report.signed_distance),
        (push, report.impulse[:, 2]),
        (sticking, report.sticking),
    ):
        np.testing.assert_array_equal(rows, expected)
    whole = np.einsum("nk,nki->ni", report.impulse, report.frame)
    np.testing.assert_allclose(tangential + push[:, None] * normal, whole, atol=1e-15)


def test_contacts_bear_the_weight_in_the_message(world: str) -> None:
    """At rest the impulses of the floor on the can add up to m g T, along the normal, on the second body."""
    rendering = make_rendering(base_values(world, proxy="", relative_tolerance=1e-10), {})
    for _ in range(2000):
        rendering.step(np.array([0, 0, 0, 0, 0, 0, 1.0]), np.zeros(6))
    message = ContactArray()
    fill_contacts(message, rendering.simulator.contacts, 1e-3)
    n = len(message.body_a)
    assert (
        len(message.sticking) == n
        and [len(view(getattr(message, name))) for name in ("position", "normal")] == [3 * n] * 2
    )
    impulse = np.zeros(3)
    for i in range(n):
        a, b = message.body_a[i], message.body_b[i]
        if {a, b} == {0, 4}:
            whole = (
                message.normal_impulse[i] * view(message.normal)[3 * i :][:3]
                + view(message.tangential_impulse)[3 * i :][:3]
            )
            impulse += whole if b == 4 else -whole
            assert abs(view(message.normal)[3 * i :][:3] @ view(message.tangential_impulse)[3 * i :][:3]) < 1e-18
    # the can rests; the solver's relative tolerance, and what is left of the fall by its penetration
    np.testing.assert_allclose(impulse, [0.0, 0.0, 0.1 * 9.81 * 1e-3], atol=1e-8)
    assert message.period == 1e-3


def test_contacts_are_drawn_under_load_and_forces_at_the_given_length(world: str) -> None:
    from convex_contact.view.drawing import WorldDrawing

    class Sheet:
        def loads(self, *values: Any) -> None:
            self.points, self.arrows = values[:2]

        def __getattr__(self, kind: str) -> Any:
            return lambda *values: None

    falling = World()
    falling.add_half_space("floor")
    falling.add_sphere("ball", mass=1.0, radius=0.1, position=(0, 0, 0.0999), velocity=(0, 0, 0.05))
    falling.set_pair("floor", "ball", stiffness=1e4)
    values = base_values(world, proxy="")
    rendering = make_rendering(values, {})
    assert rendering.simulator.contacts.position.shape == (0, 3)
    made = ContactRendering(falling, period=1e-3, place=rendering.place, numbers=rendering.numbers)
    drawings = [(WorldDrawing(made, force_length=length), Sheet()) for length in (0.01, 0.0)]
    seen = []
    for _ in range(5):  # gravity brings it back later
        made.step(np.array([0, 0, 0, 0, 0, 0, 1.0]), np.zeros(6))
        made.bodies.read()
        for drawing, sheet in drawings:
            drawing.draw(sheet)
        (_, drawn), (_, bare) = drawings
        assert len(drawn.points) == len(drawn.arrows) == len(bare.points)
        assert (drawn.arrows @ [0, 0, 1] > 0.0).all() and not bare.arrows.any()
        seen.append(len(drawn.points))
    assert 1 in seen and seen[-1] == 0
