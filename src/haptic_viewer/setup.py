"""Installs haptic_viewer as an ament_python package."""

from setuptools import find_packages, setup

package = "haptic_viewer"

setup(
    name=package,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    package_data={package: ["py.typed", "*.yaml"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{package}"]),
        (f"share/{package}", ["package.xml"]),
    ],
    zip_safe=True,
    install_requires=["coal", "numpy", "pin", "rich", "trimesh", "viser", "websockets", "zstandard"],
    maintainer="Haptic suite maintainers",
    maintainer_email="haptic-suite@example.org",
    description="The browser page of a running experiment, and its state in a terminal.",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            "viewer = haptic_viewer.node:main",
        ],
    },
)
