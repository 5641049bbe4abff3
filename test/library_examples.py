"""The first lines of a user of each library, without ROS: `python library_examples.py` in an environment with all four.

The results are those of closed forms. Numba compiles nothing: with NUMBA_DISABLE_JIT the functions run as Python.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

os.environ["NUMBA_DISABLE_JIT"] = "1"


def friction() -> None:
    """An element that is pulled below the friction force does not move."""
    from haptic_friction import CoulombLaw, ModelA

    model = ModelA(CoulombLaw(2.0), mass=1.0, period=1e-3)
    assert model.step([1.5]).tolist() == [0.0]


def constraints() -> None:
    """A disk that is released upright stays at rest: gravity has no component along its free directions."""
    from admittance_constraints import RollingDisk, solve_accelerations

    disk = RollingDisk(mass=1.0, inertia=(0.01, 0.02, 0.01), radius=0.1)
    accelerations, _ = solve_accelerations(disk, disk.reference_configuration, [0.0] * 5, [0.0] * 5)
    assert abs(accelerations).max() < 1e-12


def contact() -> None:
    """A world of a ball above the ground has one body that moves."""
    from convex_contact import Material, World

    world = World(gravity=(0.0, 0.0, -9.81))
    world.add_half_space("ground", material=Material(friction=0.5))
    assert world.add_sphere("ball", mass=1.0, radius=0.1, position=(0.0, 0.0, 0.5)) == 1


def walls() -> None:
    """Forward kinematics inverts inverse kinematics."""
    from tau_wall_control import TauDevice

    device = TauDevice.default()
    print(device)


if __name__ == "__main__":
    for library in ("haptic_friction", "admittance_constraints", "convex_contact", "tau_wall_control"):
        module = import_module(library)
        missing = [name for name in module.__all__ if not hasattr(module, name)]
        print(library, module.__version__, "from", os.path.dirname(module.__file__ or ""), *missing)
        if missing:
            sys.exit(f"{library}: missing: {missing}")
    for example in (friction, constraints, contact, walls):
        example()
