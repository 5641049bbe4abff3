"""Installs haptic_bags as an ament_python package."""

from setuptools import find_packages, setup

package = "haptic_bags"

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
    install_requires=["mcap", "numpy", "pyyaml", "rich", "rosbags"],
    maintainer="Haptic suite maintainers",
    maintainer_email="haptic-suite@example.org",
    description="Bags: recording, reading as arrays, comparison, repair and replay.",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            "recorder = haptic_bags.recorder:main",
            "player = haptic_bags.player:main",
        ],
    },
)
