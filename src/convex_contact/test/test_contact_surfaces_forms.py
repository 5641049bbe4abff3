"""Closed forms of the world of contact surfaces."""

from __future__ import annotations

import pytest

from convex_contact import Box, Cylinder, Geometry, Hydroelastic, Material, Pose, Sphere, World, WorldError
from convex_contact.scenes import closed_forms
from convex_contact.scenes.contact_surfaces import closed_forms_of, touching_heights


def world(ball: Hydroelastic | None) -> World:
    made, surface, soft = World(), Material(friction=0.5), Hydroelastic(modulus=1e5, resolution=0.01)
    made.add_half_space("floor", material=surface)
    for name, shape, height, field in (
        ("ball", Sphere(0.05), 0.05, ball),
        ("block", Box((0.1, 0.1, 0.1)), 0.05, soft),
        ("disk", Cylinder(0.04, 0.02), 0.01, soft),
        ("pad", Box((0.2, 0.2, 0.04)), 0.02, soft),
        ("lid", Box((0.1, 0.1, 0.02)), 0.05, soft),
    ):
        geometry = Geometry(shape, Pose(), surface, hydroelastic=field)
        made.add_body(
            name,
            geometries=[geometry],
            mass=0.5,
            inertia=(1e-3,) * 3,
            center=(0.0, 0.0, 0.0),
            position=(0.0, 0.0, height),
        )
    return made


def test_closed_forms_take_the_numbers_of_the_world() -> None:
    made = world(Hydroelastic(modulus=2e5, resolution=0.01))
    found, weight = closed_forms_of(made), 0.5 * 9.81
    assert closed_forms.pressure_force_of_sphere(2e5, 0.05, found.ball_depth) == pytest.approx(weight)
    # p = E over half the thickness: 1e7 of the lid, 5e6 of the pad; both deform in series
    own = found.lid_depth / 3.0
    assert closed_forms.pressure_force_of_box(1e7, 0.05, 0.05, own) == pytest.approx(weight)
    assert found.sliding == pytest.approx(0.5 * 9.81) and found.spinning == pytest.approx(4 * 0.5 * 9.81 / (3 * 0.04))
    assert found.polyhedron == pytest.approx(0.01**2 / (6 * 0.05))
    assert touching_heights(made) == pytest.approx({"ball": 0.05, "lid": 0.05})


def test_a_rigid_ball_has_none() -> None:
    with pytest.raises(WorldError, match=r"^ball: expected a body with a modulus and a resolution$"):
        closed_forms_of(world(None))
