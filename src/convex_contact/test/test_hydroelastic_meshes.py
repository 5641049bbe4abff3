"""Meshes of hydroelastic contact: volumes, pressure fields, refused meshes and shapes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hydroelastic_cases import CELLS, OUTSIDE, PRESSURE, SHAPES, SOFT, TETRAHEDRON, E, R

from convex_contact import Box, Geometry, Hull, Hydroelastic, Material, Pose, PressureField, RigidSurface, Sphere
from convex_contact.model.pressure_fields import mesh_of
from convex_contact.model.shapes import Capsule, Shape


@pytest.mark.parametrize("name", SHAPES)
def test_a_made_mesh_fills_its_shape_and_its_pressure_rises_evenly(name: str) -> None:
    shape = SHAPES[name]
    smallest = min(x for x in shape.parameters if x > 0)
    volumes = []
    for resolution in (0.02, 0.01):
        field = mesh_of(shape, Hydroelastic(E, resolution))
        assert isinstance(field, PressureField)
        corners = field.vertices[field.tetrahedra]
        volumes.append(np.linalg.det(corners[:, 1:] - corners[:, :1]).sum() / 6)
        edges = field.vertices[field.surface]
        # edges lie on the surface as asked for; a quadrilateral's diagonal is longer by sqrt(2)
        assert np.linalg.norm(edges - np.roll(edges, 1, axis=1), axis=2).max() < 1.45 * resolution
        assert set(field.pressure) == {0.0, E}
        steepness = np.linalg.norm(field.gradient, axis=1) * smallest / E
        # a polyhedron's faces lie closer to the middle than the round surface, by less than (edge)^2/(8 R)/R
        assert steepness.min() > 1 - 1e-9 and steepness.max() < 1 + (1.45 * resolution / smallest) ** 2 / 6
        rigid = mesh_of(shape, Hydroelastic(math.inf, resolution))
        assert isinstance(rigid, RigidSurface) and len(rigid.triangles) == len(field.surface)
    missing = 1 - np.array(volumes) / shape.volume()
    if isinstance(shape, Box):
        np.testing.assert_allclose(missing, 0.0, atol=1e-12)
    else:
        assert 0 < missing[1] < missing[0] / 3 and missing[0] < 0.1  # second order


def test_a_hull_has_the_modulus_in_its_middle() -> None:
    points = np.random.default_rng(3).normal(size=(30, 3)) * 0.05
    field = mesh_of(Hull(points), Hydroelastic(2 * E, 0.04))
    assert isinstance(field, PressureField) and (field.pressure > 0).sum() == 1
    np.testing.assert_allclose(field.vertices[field.pressure.argmax()], Hull(points).solid(1.0).center, atol=1e-9)


def test_own_meshes() -> None:
    field = PressureField(TETRAHEDRON, CELLS, PRESSURE)
    np.testing.assert_allclose(field.gradient[1], [E / 0.02, 0.0, 0.0], rtol=1e-12, atol=1e-3)
    assert {tuple(sorted(t)) for t in field.surface} == {tuple(sorted(t)) for t in OUTSIDE}
    RigidSurface(TETRAHEDRON, OUTSIDE)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vertices": TETRAHEDRON[:, :2]}, r"^vertices: expected shape \(n, 3\), got \(5, 2\)$"),
        ({"vertices": np.where(TETRAHEDRON == 0.1, np.nan, TETRAHEDRON)}, "^vertices: expected finite numbers$"),
        ({"tetrahedra": CELLS + 1}, "^tetrahedra: expected numbers of vertices from 0 to 4, got 5$"),
        ({"tetrahedra": CELLS + 0.5}, "^tetrahedra: expected numbers of vertices$"),
        ({"tetrahedra": CELLS[:, [1, 0, 2, 3]]}, "^tetrahedra: expected positive volumes, number 0 is inside out$"),
        ({"tetrahedra": [[0, 1, 2, 2]]}, "^tetrahedra: expected positive volumes, number 0 is flat$"),
        ({"tetrahedra": np.concatenate([CELLS, CELLS[:1]])}, "^tetrahedra: expected two at most at a face, got 3$"),
        ({"pressure": PRESSURE[1:]}, "^pressure: expected one for each of 5 vertices, got 4$"),
        ({"pressure": -PRESSURE}, "^pressure: expected none below 0, got -1000000.0$"),
        ({"pressure": PRESSURE + 1.0}, "^pressure: expected 0 on the surface, got 1.0 at vertex 0$"),
        ({"pressure": 0 * PRESSURE}, "^pressure: expected a positive one at a vertex inside"),
    ],
)  # fmt: skip
def test_bad_fields_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PressureField(**({"vertices": TETRAHEDRON, "tetrahedra": CELLS, "pressure": PRESSURE} | change))


@pytest.mark.parametrize(
    ("triangles", "message"),
    [
        (OUTSIDE[:3], r"^triangles: expected a closed surface, got an open edge \["),
        (OUTSIDE[:, ::-1], "^triangles: expected them counterclockwise seen from outside, got a surface inside out$"),
        (np.vstack([OUTSIDE[:3], OUTSIDE[3:, ::-1]]), "^triangles: expected neighbours turned alike"),
        (np.vstack([OUTSIDE[:3], [[0, 2, 2]]]), "^triangles: expected areas, got none of number 3$"),
        (np.zeros((0, 3)), r"^triangles: expected shape \(n, 3\), got \(0, 3\)$"),
        (OUTSIDE - 1, "^triangles: expected numbers of vertices from 0 to 4"),
    ],
)
def test_bad_surfaces_are_refused(triangles: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RigidSurface(TETRAHEDRON, triangles)


@pytest.mark.parametrize(
    ("shape", "meets", "message"),
    [
        (Sphere(R), lambda: Hydroelastic(0.0, 0.01), "^modulus: expected a positive number of pascals"),
        (Sphere(R), lambda: Hydroelastic(math.nan, 0.01), "^modulus: "),
        (Sphere(R), lambda: Hydroelastic(E, math.inf), "^resolution: expected a positive number of metres, got inf$"),
        (Sphere(R), lambda: Hydroelastic(E, 1e-4), "^resolution: 0.0001 m gives about 2e.07 faces; expected 40000 at"),
        (Box((1, 1, 1)), lambda: Hydroelastic(E, 1e-3), "^resolution: "),
        (Capsule(R, R), lambda: SOFT, "^hydroelastic: expected a sphere, box, cylinder or hull, got a capsule$"),
        (Sphere(R), lambda: PressureField(TETRAHEDRON, CELLS, PRESSURE), "^hydroelastic: expected a mesh inside"),
    ],
)
def test_shapes_without_a_mesh_are_refused(shape: Shape, meets: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Geometry(shape, Pose(), Material(), meets())
