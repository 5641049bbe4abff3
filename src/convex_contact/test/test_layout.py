"""Folders import downwards only; old paths of modules lead to the modules and warn."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import convex_contact
from convex_contact._moved import MOVED, current_path
from convex_contact.scenes.pushing_arm import Weights

PACKAGE = Path(convex_contact.__file__).resolve().parent
SUITE = PACKAGE.parents[2]
#: the order of README.md; a folder imports from those before it
ORDER = tuple(re.findall(r"^\| `(\w+)` \|", (PACKAGE.parent / "README.md").read_text(), re.M))[-10:]

#: objects whose private parts belong to the library
OWNERS = {"simulator", "sim", "dynamics", "d", "world", "rendering", "batch", "tree", "model"}
#: old names of modules that are names of nothing else now
MODULES = sorted(MOVED.keys() - set(ORDER) - set(convex_contact.__all__))


def imports(tree: ast.AST) -> Iterator[str]:
    """Modules that a file imports, but for annotations only; names of a package count as its modules."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        yield from imports(node)


def test_readme_lists_every_folder() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert len(ORDER) == len(folders) and set(ORDER) == folders


@pytest.mark.slow
def test_folders_import_downwards_only() -> None:
    wrong = []
    for rank, folder in enumerate(ORDER):
        for path in (PACKAGE / folder).rglob("*.py"):
            for module in imports(ast.parse(path.read_text())):
                parts = module.split(".")
                if parts[0] == "convex_contact" and len(parts) > 1:
                    used = parts[1]
                    if used == "node" or (used in ORDER and ORDER.index(used) > rank):
                        wrong.append(f"{folder}/{path.name}: {module}")
    assert not wrong


@pytest.mark.slow
def test_library_does_not_import_ros() -> None:
    forbidden = {"rclpy", "haptic_core", "haptic_devices", "haptic_msgs", "ament_index_python", "std_msgs"}
    for folder in ORDER:
        for path in (PACKAGE / folder).rglob("*.py"):
            assert not forbidden & {module.split(".")[0] for module in imports(ast.parse(path.read_text()))}, path


def reached_into(tree: ast.AST) -> Iterator[str]:
    """Arrays of a world in motion, and private parts of simulations and worlds, that a file uses."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            owner = getattr(node.value, "attr", getattr(node.value, "id", "")).lstrip("_")
            is_private = node.attr.startswith("_") and not node.attr.startswith("__")
            if node.attr == "arrays" or (is_private and owner in OWNERS):
                yield f"line {node.lineno}: {owner}.{node.attr}"


@pytest.mark.slow
def test_scenes_pictures_reports_and_benchmarks_use_the_public_interface() -> None:
    folders = [PACKAGE / "scenes", PACKAGE / "view", SUITE / "src" / "haptic_experiments" / "haptic_experiments"]
    wrong = {}
    for folder in (*folders, SUITE / "benchmarks", SUITE / "examples", SUITE / "docs"):
        for path in folder.rglob("*.py"):
            text = path.read_text()
            if "convex_contact" in text and (found := list(reached_into(ast.parse(text)))):
                wrong[str(path.relative_to(SUITE))] = found
    assert not wrong


def test_use_of_arrays_is_found() -> None:
    text = "a = d.arrays\nself.simulator._law\nself._simulator.dynamics.arrays.q\nself._x\nsimulator.period"
    assert len(list(reached_into(ast.parse(text)))) == 3


@pytest.mark.slow
def test_suite_imports_no_old_path() -> None:
    old = re.compile(rf"^convex_contact\.({'|'.join(MODULES)})$")
    for folder in ("src", "test", "benchmarks", "examples"):
        for path in (SUITE / folder).rglob("*.py"):
            text = path.read_text()
            if "convex_contact" in text:
                assert not [module for module in imports(ast.parse(text)) if old.match(module)], path


@pytest.mark.parametrize("name", MODULES)
def test_old_path_leads_to_the_module(name: str) -> None:
    sys.modules.pop(f"convex_contact.{name}", None)
    convex_contact.__dict__.pop(name, None)
    with pytest.warns(DeprecationWarning, match=re.escape(current_path(f"convex_contact.{name}"))):
        found = importlib.import_module(f"convex_contact.{name}")
    assert found is importlib.import_module(current_path(f"convex_contact.{name}"))


@pytest.mark.parametrize(
    ("old", "name", "new"),
    [
        ("problem", "ContactProblem", "problem.problem"),
        ("solver", "solve", "solver.solver"),
        ("scenes", "falling_sphere", "scenes.one_body"),
    ],
)
def test_folder_serves_the_names_of_the_module_it_replaces(old: str, name: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=re.escape(new)):
        found = getattr(importlib.import_module(f"convex_contact.{old}"), name)
    assert found is getattr(importlib.import_module(f"convex_contact.{new}"), name)


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("problem.contact_kernels", "needs_mobility", "needs_delassus_norm"),
        ("differentiation.impulse_derivatives", "bearing", "find_active_contacts"),
        ("differentiation.step_derivatives", "bearing", "find_active_contacts"),
        ("differentiation.step_derivatives", "MOBILITY", "DELASSUS_NORM"),
        ("haptics.settings", "ToolPlace", "ToolTransform"),
        ("haptics.rendering", "ToolPlace", "ToolTransform"),
    ],
)
def test_old_name_in_a_module_warns_and_gives_the_new_one(module: str, old: str, new: str) -> None:
    found = importlib.import_module(f"convex_contact.{module}")
    with pytest.warns(DeprecationWarning, match=new):
        assert getattr(found, old) is getattr(found, new)


def test_old_path_of_a_module_does_not_replace_the_function_of_its_name() -> None:
    module = importlib.import_module("convex_contact.implicit_terms")
    assert module.implicit_terms is convex_contact.implicit_terms


@pytest.mark.slow
def test_old_paths_work_in_a_new_process() -> None:
    code = (
        "from convex_contact import contact_kernels, newton\n"
        "from convex_contact.scenes import sliding_rod\n"
        "from convex_contact.rendering import ToolTransform\n"
        "import convex_contact.world\n"
        "assert newton is convex_contact.newton is convex_contact.solver.newton\n"
        "assert convex_contact.world.World is convex_contact.World\n"
    )
    done = subprocess.run([sys.executable, "-W", "always", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    warned = set(re.findall(r"<string>:(\d): DeprecationWarning: convex_contact\.([a-z_.]+)", done.stderr))
    expected = {
        ("1", "contact_kernels"), ("1", "newton"), ("2", "scenes.sliding_rod"), ("3", "rendering"), ("4", "world"),
    }  # fmt: skip
    assert warned == expected, done.stderr


def test_the_old_name_of_a_weight_of_the_pushing_arm_warns() -> None:
    with pytest.warns(DeprecationWarning, match="use position"):
        weights = Weights(way=2.0)
    assert weights.position == 2.0
    with pytest.warns(DeprecationWarning, match=r"Weights\.position"):
        assert weights.way == 2.0
    assert Weights().position == 1.0
