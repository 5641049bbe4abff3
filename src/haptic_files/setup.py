"""Installs a package of the suite, with the metadata of pyproject.toml and package.xml; the same file in each."""

from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

from setuptools import find_packages, setup
from setuptools.config.pyprojecttoml import load_file

manifest = ElementTree.parse("package.xml").getroot()
name, version = manifest.findtext("name"), manifest.findtext("version")
suite = load_file("pyproject.toml")["tool"]["haptic_suite"]


def sibling(package):
    """Requires a package of the suite: from the folder beside this one, or, where there is none, the same version."""
    folder = Path(__file__).resolve().parents[1] / package
    return f"{package} @ {folder.as_uri()}" if folder.is_dir() else f"{package}=={version}"


with TemporaryDirectory() as build:  # a folder that is kept would bring files of older versions into a wheel
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
        ],
        options={"build": {"build_base": build}},
    )
