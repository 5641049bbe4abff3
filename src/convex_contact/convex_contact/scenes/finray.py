"""Mesh of a FinRay finger: two walls that meet at the tip, and ribs between them that make it wrap around an object.

The finger lies in the plane of x (from the base to the tip) and y; the gripping wall faces -y, and z runs across its
width. Ribs are one cell thick, walls a few, and the profile's nodes repeat across the width; each cell is divided
into six tetrahedra about its diagonal.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from convex_contact.model.corotational import TetrahedralMesh
from convex_contact.problem import checks


@dataclass(frozen=True)
class FinRay:
    """Dimensions and mesh parameters of a finger.

    Attributes:
        length: from the base to the tip [m].
        depth: of the base, from the gripping wall to the back [m].
        width: [m].
        thickness: of the walls [m].
        rib_thickness: [m].
        ribs: number of ribs.
        cells: along the walls before, between and after the ribs.
        through: cells across the thickness of a wall.
        layers: cells across the width.
    """

    length: float = 0.09
    depth: float = 0.03
    width: float = 0.02
    thickness: float = 0.003
    rib_thickness: float = 0.002
    ribs: int = 7
    cells: int = 5
    through: int = 1
    layers: int = 4

    def __post_init__(self) -> None:
        for name in ("length", "depth", "width", "thickness", "rib_thickness"):
            checks.number(name, getattr(self, name), above=0.0)
        for name in ("ribs", "cells", "through", "layers"):
            value = checks.number(name, getattr(self, name), minimum=1.0)
            if not value.is_integer():
                raise ValueError(f"{name}: expected a whole number, got {value!r}")
            object.__setattr__(self, name, int(value))
        if not self.thickness * (self.ribs + 4) < self.depth * 2.0:
            raise ValueError(f"thickness: expected walls that leave room between them, got {self.thickness!r}")

    def outline(self) -> np.ndarray:
        """Returns triangles (k, 3) of the mesh's vertices that outline it: both sides, and bands across the width."""
        _, cells = self._profile()
        used, number = np.unique(np.array(cells), return_inverse=True)
        low = np.arange(len(used)) * (self.layers + 1)
        corner = number.reshape(-1, 4)
        triangles = []
        edges: dict[tuple[int, int], tuple[int, int]] = {}
        for a, b, c, d in corner.tolist():
            triangles += [(low[a], low[c], low[b]), (low[a], low[d], low[c])]
            high = low + self.layers
            triangles += [(high[a], high[b], high[c]), (high[a], high[c], high[d])]
            for i, j in ((a, b), (b, c), (c, d), (d, a)):
                if edges.pop((j, i), None) is None:
                    edges[i, j] = (i, j)
        for i, j in edges:
            a, b = low[i], low[j]
            triangles += [(a, b, b + self.layers), (a, b + self.layers, a + self.layers)]
        return np.array(triangles)

    def mesh(self) -> tuple[TetrahedralMesh, np.ndarray, np.ndarray]:
        """Returns the mesh, the vertices of the gripping face between base and tip, and those of the base."""
        nodes, cells = self._profile()
        n, across = len(nodes), self.layers + 1
        z = np.linspace(-0.5 * self.width, 0.5 * self.width, across)
        vertices = np.concatenate([np.repeat(nodes, across, axis=0), np.tile(z, n)[:, None]], axis=1)
        tetrahedra = []
        for a, b, c, d in cells:
            for k in range(self.layers):
                low, high = [p * across + k for p in (a, b, c, d)], [p * across + k + 1 for p in (a, b, c, d)]
                corner = {
                    (0, 0, 0): low[0], (1, 0, 0): low[1], (1, 1, 0): low[2], (0, 1, 0): low[3],
                    (0, 0, 1): high[0], (1, 0, 1): high[1], (1, 1, 1): high[2], (0, 1, 1): high[3],
                }  # fmt: skip
                for axes in itertools.permutations(range(3)):
                    at, four = [0, 0, 0], [corner[0, 0, 0]]
                    for axis in axes:
                        at[axis] = 1
                        four.append(corner[at[0], at[1], at[2]])
                    tetrahedra.append(four)
        t = np.array(tetrahedra)
        x = vertices[t]
        volume = np.einsum("ij,ij->i", np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), x[:, 3] - x[:, 0])
        t[volume < 0.0] = t[volume < 0.0][:, [0, 2, 1, 3]]
        used, t = np.unique(t, return_inverse=True)
        vertices, t = vertices[used], t.reshape(-1, 4)
        column = used // across
        front = (np.abs(vertices[:, 1]) < 1e-9) & (vertices[:, 0] > 1e-9)
        base = vertices[:, 0] < 1e-9
        _, groups = np.unique(column, return_inverse=True)
        return TetrahedralMesh(vertices, t, groups), np.flatnonzero(front), np.flatnonzero(base)

    def _profile(self) -> tuple[np.ndarray, list[tuple[int, int, int, int]]]:
        """Returns nodes (n, 2) and cells, their corners in order.

        Stations run along both walls; a rib joins the inner sides of two cells that face each other.
        """
        L, D, t = self.length, self.depth, self.thickness
        pieces = self.ribs + 1
        # stations: the feet of each rib are a separate cell
        stations, feet = [0.0], []
        pitch = L / pieces
        for rib in range(1, pieces):
            foot = rib * pitch - 0.5 * self.rib_thickness
            stations += np.linspace(stations[-1], foot, self.cells + 1)[1:].tolist()
            feet.append(len(stations) - 1)
            stations.append(rib * pitch + 0.5 * self.rib_thickness)
        stations += np.linspace(stations[-1], L, self.cells + 1)[1:].tolist()
        s = np.array(stations)
        m = len(s)
        # the back runs from (0, D) to the tip, where both walls are one
        tip = 2.0 * t
        outer = D + (tip - D) * s / L
        fractions = np.linspace(0.0, 1.0, self.through + 1)
        rows = [x * t + 0.0 * s for x in fractions] + [outer - (1.0 - x) * t for x in fractions]
        nodes = np.concatenate([np.column_stack([s, row]) for row in rows]).tolist()
        front, back = self.through * m, (self.through + 1) * m  # where the inner sides' nodes begin
        merged = {back + m - 1: front + m - 1}  # at the last station they coincide
        cells = []
        for i in range(m - 1):
            for low in (*range(self.through), *range(self.through + 1, 2 * self.through + 1)):
                a, b = low * m + i, (low + 1) * m + i
                cells.append((a, a + 1, b + 1, b))
        for foot in feet:
            gap = nodes[back + foot][1] - nodes[front + foot][1]
            parts = max(1, round(gap / (0.75 * pitch)))
            left, right = [front + foot], [front + foot + 1]
            for k in range(1, parts):
                for side, chain in ((foot, left), (foot + 1, right)):
                    a, b = np.array(nodes[front + side]), np.array(nodes[back + side])
                    nodes.append((a + k / parts * (b - a)).tolist())
                    chain.append(len(nodes) - 1)
            left.append(back + foot)
            right.append(back + foot + 1)
            for k in range(parts):
                cells.append((left[k], right[k], right[k + 1], left[k + 1]))
        return np.array(nodes), [tuple(merged.get(p, p) for p in cell) for cell in cells]  # type: ignore[misc]
