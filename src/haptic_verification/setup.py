"""Installs haptic_verification as an ament_python package."""

from setuptools import find_packages, setup

package = "haptic_verification"

setup(
    name=package,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    package_data={package: ["py.typed", "fuzz/*.yaml"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{package}"]),
        (f"share/{package}", ["package.xml"]),
    ],
    zip_safe=True,
    install_requires=["matplotlib", "numpy", "pydantic", "pyyaml", "rosbags", "scipy"],
    maintainer="Haptic suite maintainers",
    maintainer_email="haptic-suite@example.org",
    description="Studies of the whole suite: faults, bad inputs, long runs, clocks, determinism.",
    license="Apache-2.0",
    entry_points={
        "haptic_studies": ["suite = haptic_verification.studies"],
    },
)
