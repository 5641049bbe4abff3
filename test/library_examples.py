"""First lines of a user of each library, without ROS: `python library_examples.py` where the four are installed.

The results are closed forms. Nothing of it is compiled by Numba, so it takes two seconds.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

LIBRARIES = ("haptic_friction", "admittance_constraints", "convex_contact", "tau_wall_control")


def friction() -> None:
    """Model C is critically damped for the smallest mass."""
    from haptic_friction import design_model_c

    design = design_model_c(mass=1.0, period=1e-3)
    assert abs(design.damping - 2.0 * design.stiffness**0.5) < 1e-9


def constraints() -> None:
    """A rolling disk at rest without a force stays at rest."""
    from admittance_constraints import RollingDisk, solve_accelerations

    disk = RollingDisk(mass=1.0, inertia=(0.01, 0.02, 0.01), radius=0.1)
    accelerations, _ = solve_accelerations(disk, disk.configuration([0.0] * 4), [0.0] * 6, [0.0] * 6)
    assert abs(accelerations).max() < 1e-12


def contact() -> None:
    """Bodies of a world are numbered in the order in which they come."""
    from convex_contact import Material, World

    world = World(gravity=(0.0, 0.0, -9.81))
    world.add_half_space("ground", material=Material(friction=0.5))
    assert world.add_sphere("ball", mass=1.0, radius=0.1, position=(0.0, 0.0, 0.5)) == 1


def walls() -> None:
    """The device is symmetric about the plane y = 0: the angles of its first two chains are mirrored."""
    from tau_wall_control import TauDevice

    angles = TauDevice.default().inverse_kinematics((0.0, 0.0, 0.01))
    assert abs(angles[0] + angles[2]) < 1e-12 and abs(angles[1] - angles[3]) < 1e-12


def main() -> None:
    """Imports every public name of each library, prints version and folder, and runs the examples."""
    for library in LIBRARIES:
        module = import_module(library)
        for name in module.__all__:
            getattr(module, name)
        print(library, module.__version__, Path(module.__file__ or "").parent)
    for example in (friction, constraints, contact, walls):
        example()
    if found := {"rclpy", "haptic_core", "haptic_msgs"} & sys.modules.keys():
        sys.exit(f"imported: {found}")


if __name__ == "__main__":
    main()
