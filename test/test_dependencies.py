"""package.xml and pyproject.toml of every package name what its modules import, and nothing else."""

from __future__ import annotations

import ast
import itertools
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest
from packaging.requirements import Requirement
from setuptools.config.pyprojecttoml import load_file

PACKAGES = {path.parent.name: path.parent for path in sorted(Path(__file__).parents[1].glob("src/*/package.xml"))}
#: packages of Python modules, which have a setup.cfg; the others have none that are imported from outside
PYTHON_PACKAGES = [name for name, folder in PACKAGES.items() if (folder / "setup.cfg").exists()]


#: packages for use without ROS, too
LIBRARIES = {"admittance_constraints", "convex_contact", "haptic_friction", "tau_wall_control"}


class Source(NamedTuple):
    """Where a module comes from: key of rosdep, empty where rosdep has none, and name on PyPI."""

    rosdep: str
    pypi: str


#: modules that are not of ROS packages; a ROS package has the name of its module, and is not on PyPI
MODULES = {
    "casadi": Source("casadi-pip", "casadi"),
    "coal": Source("coal", "coal"),
    "coacd": Source("", "coacd"),
    "distributed": Source("", "distributed"),
    "imageio": Source("python3-imageio", "imageio"),
    "jinja2": Source("python3-jinja2", "jinja2"),
    "llvmlite": Source("python3-numba", "numba"),  # numba brings the only version that fits
    "matplotlib": Source("python3-matplotlib", "matplotlib"),
    "mcap": Source("", "mcap"),
    "mpl_toolkits": Source("python3-matplotlib", "matplotlib"),
    "numba": Source("python3-numba", "numba"),
    "numpy": Source("python3-numpy", "numpy"),
    "packaging": Source("python3-packaging", "packaging"),
    "pandas": Source("python3-pandas", "pandas"),
    "pinocchio": Source("pinocchio", "pin"),
    "pyarrow": Source("", "pyarrow"),
    "pydantic": Source("python3-pydantic", "pydantic"),
    "pydantic_core": Source("python3-pydantic", "pydantic"),
    "rich": Source("python3-rich", "rich"),
    "rosbags": Source("python3-rosbags-pip", "rosbags"),
    "scipy": Source("python3-scipy", "scipy"),
    "trimesh": Source("python3-trimesh-pip", "trimesh"),
    "typer": Source("python3-typer", "typer"),
    "viser": Source("", "viser"),
    "websockets": Source("python3-websockets", "websockets"),
    "xarray": Source("", "xarray"),
    "yaml": Source("python3-yaml", "pyyaml"),
    "zstandard": Source("", "zstandard"),
}
#: ROS packages that the suite imports
ROS = {
    *("ament_index_python", "builtin_interfaces", "diagnostic_msgs", "geometry_msgs", "launch", "lifecycle_msgs"),
    *(
        "rcl_interfaces",
        "rclpy",
        "rosgraph_msgs",
        "rosidl_parser",
        "sensor_msgs",
        "std_msgs",
        "std_srvs",
        "visualization_msgs",
    ),
}
#: what a package needs and no module of it imports
NOT_IMPORTED = {
    "convex_contact": {"convex_contact_native"},  # library that is loaded by ctypes
    "haptic_bringup": {
        *("haptic_bags", "haptic_viewer"),  # executables that launch files of users find under haptic_bringup, too
        "launch_ros",  # actions of the launch files under `ros2 launch`
        "robot_state_publisher",  # program that `rviz:=true` starts
        "rviz2",  # program that `rviz:=true` starts
    },
    "haptic_devices": {"robot_state_publisher"},  # program that state_publisher starts
}
#: what is imported only where it is installed: `./haptics run` needs none of it
OPTIONAL = {"launch"}  # by ros_launch.py, which only `ros2 launch` starts


@cache
def imported(package: str, *, nodes: bool = True) -> set[str]:
    """Top-level modules that a package imports anywhere, functions included; not Python's own, and not itself.

    Args:
        package: its name.
        nodes: whether the modules of nodes count.
    """
    found = set()
    for path in (PACKAGES[package] / package).rglob("*.py"):
        if not nodes and is_node(path):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                found.add(node.module.partition(".")[0])
    return found - sys.stdlib_module_names - {package}


def manifest(package: str) -> ElementTree.Element:
    parser = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))
    return ElementTree.parse(PACKAGES[package] / "package.xml", parser).getroot()


def in_manifest(package: str) -> list[str]:
    tags = ("depend", "exec_depend")
    return [entry.text or "" for entry in manifest(package) if entry.tag in tags]


def pyproject(package: str) -> dict[str, Any]:
    """What pyproject.toml says."""
    found: dict[str, Any] = load_file(PACKAGES[package] / "pyproject.toml")
    return found


def bounds(package: str) -> dict[str, str]:
    """Requirement by name of a distribution on PyPI, those of extras included."""
    table = pyproject(package)
    extras = table["project"].get("optional-dependencies", {}).values()
    required = [*table["tool"]["haptic_suite"]["dependencies"], *itertools.chain.from_iterable(extras)]
    return {Requirement(text).name: text for text in required}


def is_node(path: Path) -> bool:
    return path.stem.endswith("node")


@pytest.mark.slow
@pytest.mark.parametrize("package", PYTHON_PACKAGES)
def test_every_import_is_known(package: str) -> None:
    assert imported(package) <= MODULES.keys() | ROS | PACKAGES.keys()


@pytest.mark.parametrize("package", PYTHON_PACKAGES)
def test_package_xml_names_what_is_imported(package: str) -> None:
    modules = imported(package)
    keys = {MODULES[module].rosdep if module in MODULES else module for module in modules} - {""}
    assert sorted(in_manifest(package)) == sorted(keys | NOT_IMPORTED.get(package, set()))


@pytest.mark.parametrize("package", PYTHON_PACKAGES)
def test_dependency_without_a_rosdep_key_stands_in_a_comment(package: str) -> None:
    comments = " ".join(entry.text or "" for entry in manifest(package) if entry.tag is ElementTree.Comment)
    without_key = {MODULES[m].pypi for m in imported(package) if m in MODULES and not MODULES[m].rosdep}
    assert all(name in comments for name in without_key)


@pytest.mark.parametrize("package", PYTHON_PACKAGES)
def test_pyproject_requires_what_is_imported_from_pypi(package: str) -> None:
    names = {MODULES[module].pypi for module in imported(package) if module in MODULES}
    assert sorted(bounds(package)) == sorted(names)


@pytest.mark.parametrize("package", PYTHON_PACKAGES)
def test_every_requirement_has_a_lower_bound_that_setup_meets(package: str) -> None:
    locked = {line.partition("==")[0]: re.split(r"[ =]+", line)[1] for line in sorted(pins("suite"))}
    for name, text in bounds(package).items():
        (bound,) = Requirement(text).specifier
        assert bound.operator == ">=" and bound.contains(locked[name]), text


@pytest.mark.slow
@pytest.mark.parametrize("package", PYTHON_PACKAGES)
def test_pyproject_names_the_packages_of_the_suite_that_are_imported(package: str) -> None:
    """Those that only a node of a library imports come with ROS."""
    modules = imported(package, nodes=package not in LIBRARIES) & set(PYTHON_PACKAGES)
    assert pyproject(package)["tool"]["haptic_suite"].get("siblings", []) == sorted(modules)


def test_every_setup_py_is_the_same() -> None:
    """That of haptic_bringup also installs the launch and config files."""
    texts = {(PACKAGES[name] / "setup.py").read_text() for name in PYTHON_PACKAGES if name != "haptic_bringup"}
    assert len(texts) == 1


def test_setup_installs_every_pypi_dependency() -> None:
    installed = {line.partition("==")[0].lower() for line in pins("suite")}
    assert {source.pypi for source in MODULES.values()} <= installed


def test_the_first_setup_installs_a_part_of_the_same_versions() -> None:
    assert pins("core") < pins("suite")


def pins(lock: str) -> set[str]:
    """The lines of a lock file that pin a version."""
    text = (Path(__file__).parents[1] / "requirements" / f"{lock}.lock").read_text()
    return {line for line in text.splitlines() if "==" in line and not line.startswith(("#", " "))}


@pytest.mark.slow
def test_optional_modules_are_imported_by_files_that_only_they_start() -> None:
    for package in PYTHON_PACKAGES:
        for path in (PACKAGES[package] / package).rglob("*.py"):
            tree = ast.parse(path.read_text())
            modules = {node.module for node in tree.body if isinstance(node, ast.ImportFrom) and node.module}
            if {module.partition(".")[0] for module in modules} & OPTIONAL:
                assert path.name == "ros_launch.py"
