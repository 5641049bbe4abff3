"""Installs haptic_core as an ament_python package."""

from setuptools import find_packages, setup

package = "haptic_core"

setup(
    name=package,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    package_data={package: ["py.typed", "*.yaml", "*.xml"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{package}"]),
        (f"share/{package}", ["package.xml"]),
    ],
    zip_safe=True,
    install_requires=["numpy", "pyyaml", "scipy"],
    maintainer="Haptic suite maintainers",
    maintainer_email="haptic-suite@example.org",
    description="What every node of the haptic suite shares.",
    license="Apache-2.0",
    entry_points={"console_scripts": ["composed_nodes = haptic_core.composition:main"]},
)
