"""Installs tau_wall_control as an ament_python package."""

from setuptools import find_packages, setup

package = "tau_wall_control"

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
    install_requires=["control", "matplotlib", "numba", "numpy", "pin", "pydantic", "pyyaml", "scipy"],
    maintainer="Haptic suite maintainers",
    maintainer_email="haptic-suite@example.org",
    description="Stiff walls by position control on a 6-DOF parallel haptic device (Wang et al.).",
    license="Apache-2.0",
    entry_points={"console_scripts": ["wall_node = tau_wall_control.node:main"]},
)
