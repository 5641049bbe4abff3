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
    install_requires=["coal", "numba", "numpy", "pin", "pydantic", "pyyaml", "scipy", "trimesh", "viser"],
    maintainer="Haptic suite maintainers",
    maintainer_email="haptic-suite@example.org",
    description="Convex contact: SAP, Lagged, regularised Lagged and Similar (Castro et al.).",
    license="Apache-2.0",
    entry_points={
        "console_scripts": ["contact_node = convex_contact.node:main"],
        "haptic_worlds": [
            "arm_pushes_ball = convex_contact.scenes.pushing_arm:arm_pushes_ball",
            "barrett_finger = convex_contact.scenes.barrett_finger:barrett_finger",
            "conveyor_belt = convex_contact.scenes.one_body:conveyor_belt",
            "deformable_peg = convex_contact.scenes.peg:deformable_peg",
            "falling_sphere = convex_contact.scenes.one_body:falling_sphere",
            "grasp = convex_contact.scenes.grasp:grasp",
            "molar = convex_contact.scenes.tooth:molar",
            "sliding_rod = convex_contact.scenes.one_body:sliding_rod",
            "toss_beside_simulation = convex_contact.scenes.toss:toss_beside_simulation",
        ],
    },
)
