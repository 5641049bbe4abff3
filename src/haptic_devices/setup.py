"""Installs haptic_devices as an ament_python package."""

from setuptools import find_packages, setup

package = "haptic_devices"

setup(
    name=package,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    package_data={package: ["py.typed", "*.yaml", "*/*.yaml", "data/*"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{package}"]),
        (f"share/{package}", ["package.xml"]),
    ],
    zip_safe=True,
    install_requires=["numba", "numpy", "pydantic", "pyyaml", "scipy"],
    maintainer="Haptic suite maintainers",
    maintainer_email="haptic-suite@example.org",
    description="Device models, the simulated operator and the device node.",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            "control_node = haptic_devices.control.node:main",
            "device_node = haptic_devices.node.device_node:main",
            "mock_control_node = haptic_devices.control.node:main_mock",
            "state_publisher = haptic_devices.node.state_publisher:main",
        ],
        "haptic_devices": [
            "cobotic_hand_controller = haptic_devices.factories:cobotic_hand_controller",
            "five_bar = haptic_devices.factories:five_bar",
            "joystick = haptic_devices.factories:joystick",
            "scripted = haptic_devices.factories:scripted",
            "tau = haptic_devices.factories:tau",
        ],
    },
)
