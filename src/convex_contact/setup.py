"""Installs convex_contact as an ament_python package."""

from setuptools import find_packages, setup

package = "convex_contact"

setup(
    name=package,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    package_data={package: ["py.typed", "data/*", "*.yaml"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{package}"]),
        (f"share/{package}", ["package.xml"]),
    ],
    zip_safe=True,
    maintainer="Haptic suite maintainers",
    maintainer_email="haptic-suite@example.org",
    description="Convex contact: SAP, Lagged, regularised Lagged and Similar (Castro et al.).",
    license="Apache-2.0",
    entry_points={"console_scripts": ["contact_node = convex_contact.node:main"]},
)
