"""MuJoCo's file format MJCF, as worlds.

`document` reads a file with its includes and checks it against `vocabulary`; `defaults`, `shortcuts` and `settings`
resolve the attributes that elements inherit; `bodies` with `joints`, `geoms`, `meshes` and `inertia` is the tree of the
file; `trees`, `contacts`, `tendons`, `actuators`, `equalities` and `keyframes` make a world of it, in the order of
`load`.
"""

from convex_contact.model.mjcf.load import MjcfWarning, load_mjcf

__all__ = ["MjcfWarning", "load_mjcf"]
