"""Installs haptic_bringup as an ament_python package."""

from pathlib import Path

from setuptools import find_packages, setup

package = "haptic_bringup"


def tree(folder):
    """Data files of a folder of the repository (a symbolic link here), with their places below share/."""
    files = sorted(path for path in Path(folder).rglob("*") if path.is_file() and path.suffix != ".md")
    return [(f"share/{package}/{path.parent}", [str(path)]) for path in files]


def by_kind():
    """Places below config/ without the experiment: nodes find worlds there by name, launch files of users the rest."""
    kinds = ("plotjuggler", "ros2_control", "rviz", "scripts", "worlds")
    files = {kind: sorted(Path("config").glob(f"*/{kind}/*")) for kind in kinds}
    files["rviz"] += sorted(Path("config").glob("*/*.rviz"))
    return [(f"share/{package}/config/{kind}", [str(path)]) for kind in kinds for path in files[kind]]


setup(
    name=package,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    package_data={package: ["py.typed"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{package}"]),
        (f"share/{package}", ["package.xml"]),
        *tree("launch"),
        *tree("config"),
        *by_kind(),
    ],
    zip_safe=True,
    install_requires=["packaging", "rich", "typer"],
    maintainer="Haptic suite maintainers",
    maintainer_email="haptic-suite@example.org",
    description="The command line, with the launch files and the configuration of the experiments.",
    license="Apache-2.0",
    entry_points={
        "haptic_experiments": ["haptic_bringup = haptic_experiments.experiments"],
        "console_scripts": [
            "haptics = haptic_bringup.__main__:main",
            "recorder = haptic_bags.recorder:main",
            "player = haptic_bags.player:main",
            "viewer = haptic_viewer.node:main",
        ],
    },
)
