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
    install_requires=["coal", "numba", "numpy", "pin", "pydantic", "pyyaml", "scipy"],
    maintainer="Haptic suite maintainers",
    maintainer_email="haptic-suite@example.org",
    description="Convex contact: SAP, Lagged, regularised Lagged and Similar (Castro et al.).",
    license="Apache-2.0",
    entry_points={
        "console_scripts": ["contact_node = convex_contact.node:main"],
        "haptic_worlds": [
            "arm_pushes_ball = convex_contact.pushing_arm:arm_pushes_ball",
            "barrett_finger = convex_contact.barrett_finger:barrett_finger",
            "conveyor_belt = convex_contact.scenes:conveyor_belt",
            "deformable_peg = convex_contact.peg_scene:deformable_peg",
            "falling_sphere = convex_contact.scenes:falling_sphere",
            "grasp = convex_contact.grasp_scene:grasp",
            "molar = convex_contact.tooth:molar",
            "sliding_rod = convex_contact.scenes:sliding_rod",
            "toss_beside_simulation = convex_contact.toss_scene:toss_beside_simulation",
        ],
    },
)
