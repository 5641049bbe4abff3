"""Installs haptic_math as an ament_python package."""

from setuptools import find_packages, setup

package = "haptic_math"

setup(
    name=package,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    package_data={package: ["py.typed"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{package}"]),
        (f"share/{package}", ["package.xml"]),
    ],
    install_requires=["numpy"],
    zip_safe=True,
    maintainer="Haptic suite maintainers",
    maintainer_email="haptic-suite@example.org",
    description="Quaternions and rotations, checks of quantities, smooth profiles: NumPy only.",
    license="Apache-2.0",
    entry_points={},
)
