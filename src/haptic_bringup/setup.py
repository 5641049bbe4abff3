"""Installs haptic_bringup as every package is installed (see haptic_friction), and the launch and config files."""

from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

from setuptools import find_packages, setup
from setuptools.config.pyprojecttoml import load_file

manifest = ElementTree.parse("package.xml").getroot()
name, version = manifest.findtext("name"), manifest.findtext("version")
suite = load_file("pyproject.toml")["tool"]["haptic_suite"]


def sibling(package):
    """Requires a package of the suite: from the folder beside this one, or the same version if there is no folder."""
    folder = Path(__file__).resolve().parents[1] / package
    return f"{package} @ {folder.as_uri()}" if folder.is_dir() else f"{package}=={version}"


def tree(folder):
    """Returns the data files of a folder, with their directories below share/."""
    files = sorted(path for path in Path(folder).rglob("*") if path.is_file() and path.suffix != ".md")
    return [(f"share/{name}/{path.parent}", [str(path)]) for path in files]


def by_kind():
    """Lists files below config/<kind>, where nodes find worlds by name, and launch files of users the other files."""
    kinds = ("plotjuggler", "ros2_control", "rviz", "scripts", "worlds")
    files = {kind: sorted(Path("config").glob(f"*/{kind}/*")) for kind in kinds}
    files["rviz"] += sorted(Path("config").glob("*/*.rviz"))
    return [(f"share/{name}/config/{kind}", [str(path)]) for kind in kinds for path in files[kind]]


with TemporaryDirectory() as build:  # a permanent folder would add files of older versions to a wheel
    setup(
        version=version,
        description=manifest.findtext("description"),
        license=manifest.findtext("license"),
        maintainer=manifest.findtext("maintainer"),
        maintainer_email=manifest.find("maintainer").get("email"),
        python_requires=">=3.10",  # in pyproject.toml it would become an object, which colcon cannot read
        install_requires=[*suite["dependencies"], *map(sibling, suite.get("siblings", []))],
        packages=find_packages(include=[name, f"{name}.*"]),
        data_files=[
            ("share/ament_index/resource_index/packages", [f"resource/{name}"]),
            (f"share/{name}", ["package.xml", "pyproject.toml", "README.md"]),
            *tree("launch"),
            *tree("config"),
            *by_kind(),
        ],
        options={"build": {"build_base": build}},
    )
