"""Installs haptic_launch as an ament_python package."""

from setuptools import find_packages, setup

package = "haptic_launch"

setup(
    name=package,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    package_data={package: ["py.typed"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{package}"]),
        (f"share/{package}", ["package.xml"]),
    ],
    zip_safe=True,
    install_requires=["pydantic", "pyyaml"],
    maintainer="Haptic suite maintainers",
    maintainer_email="haptic-suite@example.org",
    description="Launch files in ROS 2's YAML format, their processes, and experiments; without ROS.",
    license="Apache-2.0",
    entry_points={},
)
