"""Installs haptic_bringup as an ament_python package."""

from pathlib import Path

from setuptools import find_packages, setup

package = "haptic_bringup"


def tree(folder):
    """Data files of a folder of the repository (a symbolic link here), with their places below share/."""
    files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
    return [(f"share/{package}/{path.parent}", [str(path)]) for path in files]


setup(
    name=package,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    package_data={package: ["py.typed", "*.yaml", "reports/*.html", "fuzz/*.yaml"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{package}"]),
        (f"share/{package}", ["package.xml"]),
        *tree("launch"),
        *tree("config"),
    ],
    zip_safe=True,
    install_requires=[
        "coal",
        "distributed",
        "jinja2",
        "matplotlib",
        "mcap",
        "numpy",
        "pin",
        "pydantic",
        "pyyaml",
        "rich",
        "rosbags",
        "scipy",
        "trimesh",
        "typer",
        "viser",
        "websockets",
        "zstandard",
    ],
    maintainer="Haptic suite maintainers",
    maintainer_email="haptic-suite@example.org",
    description="Command line, experiment runner, recorder and reports.",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            "haptics = haptic_bringup.__main__:main",
            "recorder = haptic_bringup.recorder:main",
            "player = haptic_bringup.player:main",
            "viewer = haptic_bringup.viewer.node:main",
        ],
    },
)
