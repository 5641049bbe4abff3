"""Installs admittance_constraints as an ament_python package."""

from setuptools import find_packages, setup

package = "admittance_constraints"

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
    install_requires=["casadi", "matplotlib", "numpy", "scipy"],
    maintainer="Haptic suite maintainers",
    maintainer_email="haptic-suite@example.org",
    description="Inertia under rigid holonomic and nonholonomic constraints (Faulring et al.).",
    license="Apache-2.0",
    entry_points={"console_scripts": ["constraint_node = admittance_constraints.node:main"]},
)
