"""Installs haptic_friction as an ament_python package."""

from setuptools import find_packages, setup

package = "haptic_friction"

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
    install_requires=["matplotlib", "numba", "numpy", "scipy"],
    maintainer="Haptic suite maintainers",
    maintainer_email="haptic-suite@example.org",
    description="Friction rendering by implicit Euler models (Kikuuwe et al.).",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            "friction_node = haptic_friction.node:main",
            "comparison_node = haptic_friction.comparison_node:main",
            "network_node = haptic_friction.network_node:main",
        ]
    },
)
