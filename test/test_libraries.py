"""The four libraries are used without ROS: installed from wheels, and with the packages of the nodes out of reach."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import zipfile
from importlib import import_module
from pathlib import Path

import pytest
from library_examples import LIBRARIES
from machine_speed import limit

ROOT = Path(__file__).parents[1]
PACKAGES = sorted(path.parent.name for path in ROOT.glob("src/*/setup.cfg"))
EXAMPLES = ROOT / "test" / "library_examples.py"

#: base of the errors of each library
BASES = {
    "admittance_constraints": "ConstraintError",
    "convex_contact": "ContactError",
    "haptic_friction": "FrictionError",
    "tau_wall_control": "TauError",
}

#: a process in which the packages of the nodes cannot be imported
WITHOUT_ROS = """
import runpy, sys
from importlib.abc import MetaPathFinder
class Blocked(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in ("rclpy", "haptic_core", "haptic_msgs", "haptic_devices", "ament_index_python"):
            raise ModuleNotFoundError(f"blocked: {name}", name=name)
sys.meta_path.insert(0, Blocked())
runpy.run_path(sys.argv[1], run_name="__main__")
"""

#: builds all packages in one process: `python -c BUILD ROOT TARGET PACKAGE ...`; prints what the checkout requires
BUILD = """
import functools, importlib.metadata, io, json, os, pathlib, sys, tarfile
importlib.metadata.entry_points = functools.cache(importlib.metadata.entry_points)  # read anew for each command
from setuptools import build_meta
root, target, *packages = sys.argv[1:]
required = {}
for package in packages:
    os.chdir(pathlib.Path(root, "src", package))
    metadata = pathlib.Path(target, "metadata", package)
    metadata.mkdir(parents=True)
    found = metadata / build_meta.prepare_metadata_for_build_wheel(str(metadata)) / "METADATA"
    required[package] = [line for line in found.read_text().splitlines() if line.startswith("Requires-Dist: haptic_")]
    name = build_meta.build_sdist(target)
    tarfile.open(pathlib.Path(target, name)).extractall(pathlib.Path(target, "sources"))
    os.chdir(pathlib.Path(target, "sources", name.removesuffix(".tar.gz")))
    build_meta.build_wheel(target)
print(json.dumps(required), file=sys.__stderr__)
"""


@pytest.mark.slow
def test_public_names_and_first_lines_need_no_ros() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_ROS, EXAMPLES], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(LIBRARIES)


@pytest.mark.parametrize("library", LIBRARIES)
def test_public_names_are_complete_and_sorted(library: str) -> None:
    """What the package imports from its own modules is public, and nothing else."""
    package = import_module(library)
    assert len(set(package.__all__)) == len(package.__all__)
    tree = ast.parse(Path(package.__file__ or "").read_text())
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module]
    own = [node for node in imports if node.module.startswith(f"{library}.") and "._" not in node.module]
    assert {alias.name for node in own for alias in node.names} == set(package.__all__)


@pytest.mark.slow
@pytest.mark.parametrize("library", LIBRARIES)
def test_errors_of_a_library_have_one_base(library: str) -> None:
    base = getattr(import_module(library), BASES[library])
    folder = ROOT / "src" / library / library
    found = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and node.name.endswith("Error") and "node" not in path.stem:
                module = ".".join([library, *path.relative_to(folder).with_suffix("").parts])
                found.add(getattr(import_module(module), node.name))
    assert base in found and all(issubclass(error, base) for error in found)


@pytest.mark.parametrize("library", ["admittance_constraints", "convex_contact"])
def test_old_names_warn_and_give_the_new_ones(library: str) -> None:
    package = import_module(library)
    for old, new in import_module(f"{library}._moved").RENAMED.items():
        with pytest.warns(DeprecationWarning, match=f"^{library}.{old} has moved; use {new.replace(':', '.')}$"):
            assert getattr(package, old) is getattr(package, new.partition(":")[2])


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_name_that_is_not_there_is_an_error(library: str) -> None:
    with pytest.raises(AttributeError, match=f"module '{library}' has no attribute 'nothing'"):
        import_module(library).nothing  # noqa: B018


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[str]]]:
    """Folder of a wheel of each package, made of its source distribution; what the checkout requires of the suite."""
    folder = tmp_path_factory.mktemp("wheels")
    command = [sys.executable, "-I", "-c", BUILD, ROOT, folder, *PACKAGES]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stderr.splitlines()[-1])


def version() -> str:
    return re.findall(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[0]


@pytest.mark.slow
def test_wheel_has_the_modules_the_data_and_the_version(built: tuple[Path, dict[str, list[str]]]) -> None:
    for package in PACKAGES:
        (path,) = built[0].glob(f"{package}-*.whl")
        assert path.name == f"{package}-{version()}-py3-none-any.whl"
        names = set(zipfile.ZipFile(path).namelist())
        folder = ROOT / "src" / package
        wanted = {str(file.relative_to(folder)) for file in folder.glob(f"{package}/**/*") if file.is_file()}
        assert {name for name in wanted if "__pycache__" not in name} - names == set(), package
        assert not [name for name in names if "/test/" in name or name.startswith("test")], package


@pytest.mark.slow
def test_checkout_requires_folders_and_wheel_requires_versions(built: tuple[Path, dict[str, list[str]]]) -> None:
    folder, required = built
    for package in PACKAGES:
        for line in required[package]:
            assert re.fullmatch(r"Requires-Dist: (\w+) @ file://.*/src/\1", line), line
        (path,) = folder.glob(f"{package}-*.whl")
        metadata = zipfile.ZipFile(path).read(f"{package}-{version()}.dist-info/METADATA").decode()
        assert " @ " not in metadata
        for line in re.findall(r"^Requires-Dist: haptic_.*$", metadata, re.MULTILINE):
            assert line.endswith(f"=={version()}"), line


@pytest.mark.slow
def test_wheels_run_in_an_environment_with_what_they_require(
    built: tuple[Path, dict[str, list[str]]], tmp_path: Path
) -> None:
    """The other packages come from the registry in the versions of the lock; the library for boxes is compiled."""
    uv = Path(sys.prefix, "bin", "uv")
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "HAPTICS"))
    }
    for command in (
        ["venv", "--quiet", "--python", sys.executable, tmp_path / "env"],
        [
            *("pip", "install", "--quiet", "--python", tmp_path / "env", "--find-links", built[0]),
            *(
                "--constraints",
                ROOT / "requirements/suite.lock",
                "--build-constraints",
                ROOT / "requirements/suite.lock",
            ),
            *(*LIBRARIES, ROOT / "src" / "convex_contact_native"),
        ],
    ):
        done = subprocess.run([uv, *command], env=kept, capture_output=True, text=True, timeout=limit(300.0))
        assert done.returncode == 0, done.stderr
    python = tmp_path / "env" / "bin" / "python"
    found = "from convex_contact.model.native import _library; print(_library._name)"
    done = subprocess.run([python, "-I", "-c", found], env={"PATH": os.defpath}, capture_output=True, text=True)
    assert done.stdout.startswith(f"{tmp_path}/env/lib/"), done.stderr
    done = subprocess.run([python, "-I", EXAMPLES], env={"PATH": os.defpath}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    expected = [f"{library} {version()} {next(tmp_path.glob('env/lib/python3*'))}" for library in LIBRARIES]
    assert all(line.startswith(start) for line, start in zip(done.stdout.splitlines(), expected, strict=True))
