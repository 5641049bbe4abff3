"""Old paths of the package's modules, which still lead to the modules and warn.

from convex_contact.newton import solve_step      # DeprecationWarning: ... use convex_contact.solver.newton
from convex_contact.problem import ContactProblem     # a module became the folder of this name: likewise
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_PACKAGE = __name__.rpartition(".")[0]

#: old name of a module -> its path below the package
MOVED = {
    "actuated_world": "control.actuated_world",
    "approximations": "problem.approximations",
    "arrays": "model.arrays",
    "barrett_finger": "scenes.barrett_finger",
    "blocks": "solver.blocks",
    "bodies": "model.bodies",
    "body_table": "simulation.body_table",
    "borrowed": "solver.borrowed",
    "broad_phase": "collision.broad_phase",
    "checks": "problem.checks",
    "compiled_step": "simulation.compiled_step",
    "constraints": "problem.constraints",
    "contact_kernels": "problem.contact_kernels",
    "contact_surface": "collision.contact_surface",
    "contacts": "collision.contacts",
    "corotational": "model.corotational",
    "coupling": "simulation.coupling",
    "deformable": "model.deformable",
    "differential_ik": "control.differential_ik",
    "drawing": "view.drawing",
    "dynamics": "simulation.dynamics",
    "elastoplastic": "problem.elastoplastic",
    "errors": "problem.errors",
    "finray": "scenes.finray",
    "gear_meshes": "scenes.gear_meshes",
    "geometry_derivatives": "differentiation.geometry_derivatives",
    "gradients": "problem.gradients",
    "grasp_scene": "scenes.grasp",
    "identification": "differentiation.identification",
    "ilqr": "control.ilqr",
    "implicit_terms": "problem.implicit_terms",
    "joints": "model.joints",
    "materials": "model.materials",
    "narrow_phase": "collision.narrow_phase",
    "native": "model.native",
    "newton": "solver.newton",
    "normal_laws": "problem.normal_laws",
    "peg_scene": "scenes.peg",
    "pressure_fields": "model.pressure_fields",
    "problem": "problem.problem",
    "pushing_arm": "scenes.pushing_arm",
    "reference": "problem.reference",
    "rendering": "haptics.rendering",
    "rollouts": "differentiation.rollouts",
    "scenes": "scenes.one_body",
    "shapes": "model.shapes",
    "simulator": "simulation.simulator",
    "solution": "solver.solution",
    "solver": "solver.solver",
    "sparse_blocks": "solver.sparse_blocks",
    "step_derivatives": "differentiation.step_derivatives",
    "structure": "solver.structure",
    "tool_planes": "haptics.tool_planes",
    "tooth": "scenes.tooth",
    "toss_scene": "scenes.toss",
    "tosses": "scenes.tosses",
    "urdf": "model.urdf",
    "vector_blocks": "solver.vector_blocks",
    "workspace": "solver.workspace",
    "world": "model.world",
    "world_file": "model.world_file",
    "world_source": "model.world_source",
}


def current_path(module: str) -> str:
    """Returns the present path of a module that is named by an old path, or the name itself."""
    package, _, name = module.rpartition(".")
    return f"{_PACKAGE}.{MOVED[name]}" if package == _PACKAGE and name in MOVED else module


def _warn(old: str, new: str) -> None:
    warnings.warn(f"{old} has moved; use {new}", DeprecationWarning, stacklevel=3)


class _Finder(MetaPathFinder, Loader):
    """Finds modules by their old paths; the module object is the one of the new path."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if current_path(fullname) != fullname else None

    def exec_module(self, module: ModuleType) -> None:
        old = module.__name__
        _warn(old, current_path(old))
        sys.modules[old] = importlib.import_module(current_path(old))


def install() -> None:
    """Makes the old paths importable, after everything else that Python finds.

    A module with the name of a public function (`implicit_terms`) is put in its old place at once: its import would
    replace the function in the package.
    """
    sys.meta_path.append(_Finder())
    for name in MOVED.keys() & vars(sys.modules[_PACKAGE]).keys():
        if not isinstance(vars(sys.modules[_PACKAGE])[name], ModuleType):
            sys.modules[f"{_PACKAGE}.{name}"] = importlib.import_module(f"{_PACKAGE}.{MOVED[name]}")


def module_by_attribute(name: str) -> ModuleType:
    """Serves as `__getattr__` of the package: ``convex_contact.newton``."""
    if name not in MOVED:
        raise AttributeError(f"module {_PACKAGE!r} has no attribute {name!r}")
    old = f"{_PACKAGE}.{name}"
    _warn(old, current_path(old))
    module = importlib.import_module(current_path(old))
    sys.modules[_PACKAGE].__dict__[name] = module
    return module


def names_of_module(folder: str) -> Callable[[str], Any]:
    """Returns a `__getattr__` for a folder that has the name of an old module; it serves the module's names."""
    new = current_path(folder)

    def get(name: str) -> Any:
        if not name.startswith("__") and importlib.util.find_spec(f"{folder}.{name}") is None:
            module = importlib.import_module(new)
            if hasattr(module, name):
                _warn(f"{folder}.{name}", f"{new}.{name}")
                return getattr(module, name)
        raise AttributeError(f"module {folder!r} has no attribute {name!r}")

    return get
