"""Imports run downwards only: from each package to those below it, and in no circle of modules."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1] / "src"
#: from bottom to top; packages of one level do not know of each other
LEVELS = (
    {"haptic_msgs", "haptic_files", "haptic_math"},
    {"haptic_core"},
    {"haptic_friction"},  # its laws are used by the other three families
    {"admittance_constraints", "convex_contact", "tau_wall_control"},
    {"haptic_devices"},
    {"haptic_launch"},
    {"haptic_bags"},
    {"haptic_experiments", "haptic_viewer"},
    {"haptic_verification"},
    {"haptic_bringup"},
)
LEVEL = {package: level for level, packages in enumerate(LEVELS) for package in packages}
LIBRARIES = {*LEVELS[2], *LEVELS[3]}
PACKAGES = sorted(path.parent.name for path in SOURCES.glob("*/setup.cfg"))


def modules(package: str) -> dict[str, Path]:
    """The modules of a package by their full names."""
    folder = SOURCES / package / package
    found = {}
    for path in sorted(folder.rglob("*.py")):
        parts = [package, *path.relative_to(folder).with_suffix("").parts]
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = {name: path for package in PACKAGES for name, path in modules(package).items()}


#: modules of which a method calls a function of a module that imports them, as World.load calls a loader of worlds
CONVENIENT = {"convex_contact.model.world"}


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def statements(tree: ast.AST, *, everywhere: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    """The import statements of a module; not those for type checkers, those in functions only `everywhere`."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        elif not is_for_types(node) and (everywhere or not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))):
            yield from statements(node, everywhere=everywhere)


def imported(name: str, *, everywhere: bool = True) -> set[str]:
    """Full names of the modules of the suite that a module imports."""
    path, found = MODULES[name], set()
    parents = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in statements(ast.parse(path.read_text()), everywhere=everywhere):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
            continue
        above = parents[: len(parents) - node.level + 1] if node.level else []
        base = ".".join([*above, *([node.module] if node.module else [])])
        inner = {f"{base}.{alias.name}" for alias in node.names}
        found |= {one if one in MODULES else base for one in inner}
    return {module for module in found if module.partition(".")[0] in LEVEL}


def test_every_package_has_its_level() -> None:
    assert LEVEL.keys() - {"haptic_msgs"} == set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_only_what_is_below_it(package: str) -> None:
    upwards = {
        f"{module} imports {other}"
        for module in MODULES
        if module.partition(".")[0] == package
        for other in imported(module)
        if other.partition(".")[0] != package and LEVEL[other.partition(".")[0]] >= LEVEL[package]
    }
    assert upwards == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_modules_import_each_other_in_no_circle(package: str) -> None:
    own = {module for module in MODULES if module.partition(".")[0] == package}
    graph = {module: imported(module) & own - {module} for module in own}
    graph |= {module: imported(module, everywhere=False) & own - {module} for module in CONVENIENT & own}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_a_module_of_the_report_kit_serves_several_experiments() -> None:
    """What one experiment alone uses lies in the package of that experiment."""
    package = "haptic_experiments"
    users: dict[str, set[str]] = {}
    for name in (name for name in MODULES if name.startswith(f"{package}.")):
        reached, fresh = set[str](), {name}
        while fresh:
            reached |= fresh
            fresh = {one for module in fresh for one in imported(module) if one.startswith(f"{package}.kit.")} - reached
        parts = name.split(".")
        for module in reached if parts[1] != "kit" else ():
            users.setdefault(module, set()).add(".".join(parts[:3]))
    kit = {name for name in MODULES if name.startswith(f"{package}.kit.")}
    alone = {name: users.get(name, set()) for name in kit if len(users.get(name, set())) < 2}
    assert {name for name in alone if alone[name] != {f"{package}.report"}} == set()


def is_node(module: str) -> bool:
    return module.rpartition(".")[2].endswith("node")


@pytest.mark.slow
def test_libraries_know_neither_ros_nor_the_packages_above_them() -> None:
    """But for their nodes, whose modules are named after them."""
    above = {"rclpy", "haptic_core", "haptic_msgs"}
    found = set()
    for module in MODULES:
        if module.partition(".")[0] in LIBRARIES and not is_node(module):
            for node in statements(ast.parse(MODULES[module].read_text()), everywhere=True):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
                if above & {name.partition(".")[0] for name in names}:
                    found.add(module)
    assert found == set()
