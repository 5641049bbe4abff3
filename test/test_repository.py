"""The repository keeps its own rules: style, types, documentation that follows the files."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ["ruff", "check", "."],
        ["ruff", "format", "--check", "."],
        pytest.param(["mypy"], marks=pytest.mark.slow),
        ["tools/prose.py"],
        ["tools/write_version.py", "--check"],
        ["docs/write_parameters.py", "--check"],
        ["docs/write_messages.py", "--check"],
        ["docs/write_results.py", "--check"],
    ],
    ids=" ".join,
)
def test_check_passes(command: list[str]) -> None:
    script = command if command[0].endswith(".py") else ["-m", *command]
    done = subprocess.run([sys.executable, *script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_long_files_and_functions_have_the_reason_at_their_head() -> None:
    """Files have at most 450 lines, functions 70, but for those with a comment "More than" or "Longer than"."""
    without_reason = []
    for path in map(Path, subprocess.check_output(["git", "ls-files", "*.py", "*.md"], cwd=ROOT, text=True).split()):
        lines = (ROOT / path).read_text().splitlines()
        head = "\n".join(lines[:5])
        if len(lines) > 450 and "Written by" not in head and "More than 450 lines" not in head:
            without_reason.append(str(path))
        functions = list(long_functions(ast.parse("\n".join(lines)))) if path.suffix == ".py" else []
        without_reason += [f"{path}:{first}" for first in functions if "# Longer than" not in lines[first - 2]]
    assert without_reason == []


def long_functions(tree: ast.AST) -> Iterator[int]:
    """Yields the first lines, decorators included, of functions with more than 70 lines; not of those inside them."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.end_lineno - node.lineno >= 70:
            yield min([node.lineno, *(one.lineno for one in node.decorator_list)])
        else:
            yield from long_functions(node)


def test_every_link_of_the_documentation_leads_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert target.startswith("http") or (page.parent / target).exists(), f"{page.name}: {target}"


def test_each_package_is_whole_without_the_folders_beside_it() -> None:
    for package in (ROOT / "src").iterdir():
        for path in package.rglob("*"):
            assert not path.is_symlink() or path.resolve().is_relative_to(package), path


def test_every_field_of_every_message_has_a_comment() -> None:
    for path in (ROOT / "src" / "haptic_msgs").glob("*/*.[ms][sr][gv]"):
        for line in path.read_text().splitlines():
            assert not line or line == "---" or "#" in line, f"{path.name}: {line}"


def test_every_message_is_built() -> None:
    listed = (ROOT / "src" / "haptic_msgs" / "CMakeLists.txt").read_text()
    for path in (ROOT / "src" / "haptic_msgs").glob("*/*.[ms][sr][gv]"):
        assert f"{path.parent.name}/{path.name}" in listed


@pytest.mark.slow
def test_compiled_functions_take_all_their_arguments() -> None:
    # a default argument makes Numba search for the right version anew at each call from Python: 0.2 ms instead of 1 us
    from_compiled_code_alone = {"minimum_degree"}
    found = set()
    for path in (ROOT / "src").glob("*/*/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and any("njit" in ast.unparse(d) for d in node.decorator_list):
                found |= {node.name} if node.args.defaults or any(node.args.kw_defaults) else set()
    assert found == from_compiled_code_alone


def test_the_readme_of_a_package_names_its_modules_and_no_other() -> None:
    """A module by its own name or by that of its folder."""
    for readme in (ROOT / "src").glob("*/README.md"):
        package = readme.parent / readme.parent.name
        names = {name.rstrip("/") for name in re.findall(r"`([\w./]+)`", readme.read_text())}
        modules = {path.relative_to(package) for path in package.rglob("*.py") if path.stem != "__init__"}
        for module in modules:
            folders = {str(folder) for folder in module.parents}
            assert names & {module.name, module.stem, str(module), *folders}, f"{readme}: {module}"
        known = {name for module in modules for name in (module.name, str(module))}
        for name in names:
            assert not name.endswith(".py") or name in known or (readme.parent / name).exists(), f"{readme}: {name}"


def test_joints_of_robot_descriptions_have_names_that_yaml_keeps() -> None:
    """REP 103 names axes x, y and z, and YAML 1.1 reads y and n as booleans: a joint is called by what it does."""
    files = [path for folder in ("src", "benchmarks") for path in (ROOT / folder).rglob("*.urdf*")]
    joints = [(path.name, joint.get("name", "")) for path in files for joint in ElementTree.parse(path).iter("joint")]
    assert {"parallel_gripper.urdf", "pusher.urdf", "door.urdf", "tau.urdf.xacro"} <= {file for file, _ in joints}
    assert [(file, name) for file, name in joints if len(name) < 2] == []
