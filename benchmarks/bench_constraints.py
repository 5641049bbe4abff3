"""Constrained mechanisms: time of a reference generator's step, and what each integrator leaves of energy.

The step is timed call by call, as a node calls it: force in, all of the reference out. The simulation's time per
step is that of the compiled loop.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from admittance_constraints import FreeDirectionFriction, Mechanism, ReferenceGenerator, load_mechanism
from haptic_friction import CoulombLaw

INTEGRATORS = ("algorithm1", "symplectic_euler", "midpoint", "rk4")
START: dict[str, dict[str, Any]] = {
    "RollingDisk": {"z": [0.0, 0.0, 0.3, 0.0], "z_velocity": [0.115, 0.035, 1.5, -4.0]},
    "DiskOnSphere": {"z": [0.4, 0.2, 1.2], "z_velocity": [0.5, 1.0, 0.3]},
    "TwoLinkOnCircle": {"z": [0.0], "z_velocity": [4.0]},
    "Pendulum": {"z": [1.0]},
    "PointOnSurface": {},
    "KnifeEdge": {"z_velocity": [0.3, 0.0, 1.5]},
    "FourBar": {},
}


def generator(name: str, mechanism: Mechanism, **options: Any) -> ReferenceGenerator:
    """A generator at the mechanism's start, its velocity consistent with the constraints."""
    g = ReferenceGenerator(mechanism, **{"z": START[name].get("z")}, **options)
    velocity = START[name].get("z_velocity")
    if velocity is not None and name == "RollingDisk":
        heading, roll = START[name]["z"][2], velocity[3]
        velocity = [
            -mechanism.radius * roll * np.cos(heading),
            -mechanism.radius * roll * np.sin(heading),
            *velocity[2:],
        ]  # type: ignore[attr-defined]
    g.reset(z=START[name].get("z"), z_velocity=velocity)
    return g


def step_times(g: ReferenceGenerator, steps: int) -> np.ndarray:
    """Time of each step [us] under a small force that varies; the state goes back before it wanders off."""
    start = g.state
    forces = 0.01 * np.sin(0.1 * np.arange(1000))[:, None] * [1.0, 0.5, -1.0, 0.01, 0.02, 0.01]
    times = np.empty(steps)
    for k in range(steps):
        if k % 1000 == 0:
            g.restore(start)
        before = time.perf_counter_ns()
        g.step(wrench=forces[k % 1000])
        times[k] = time.perf_counter_ns() - before
    g.restore(start)
    return times / 1e3


def speed(steps: int) -> Table:
    table = Table("mechanism", "options", "p50 [us]", "p99 [us]", "loop [us/step]", title="one step")
    cases: list[tuple[str, Mapping[str, Any]]] = [(name, {}) for name in START]
    cases += [("RollingDisk", {"integrator": rule}) for rule in INTEGRATORS[2:]]
    cases += [("RollingDisk", {"compiled": False})]
    cases += [("DiskOnSphere", {"orientation": "quaternion", "integrator": rule}) for rule in ("algorithm1", "rk4")]
    cases += [("DiskOnSphere", {"friction": FreeDirectionFriction(translation=CoulombLaw(0.1))})]
    for name, options in cases:
        g = generator(name, load_mechanism(name), **options)
        times = step_times(g, steps)
        loop = float("nan")
        if "friction" not in options:
            rows = np.zeros((1000, 6))
            before = time.perf_counter()
            for _ in range(10):
                start = g.state
                g.simulate(wrenches=rows, every=1000)
                g.restore(start)
            loop = (time.perf_counter() - before) / 10_000 * 1e6
        words = ", ".join(f"{key}={'on' if key == 'friction' else value}" for key, value in options.items())
        p50, p99 = np.percentile(times, [50, 99])
        table.add_row(name, words, f"{p50:.1f}", f"{p99:.1f}", f"{loop:.2f}")
    return table


def energy(seconds: float) -> Table:
    table = Table("mechanism", *INTEGRATORS, title=f"largest relative change of energy in {seconds:g} s of free motion")
    for name in ("RollingDisk", "DiskOnSphere", "TwoLinkOnCircle", "Pendulum"):
        row = []
        for rule in INTEGRATORS:
            arguments = {"inertia": (0.0015, 0.0025, 0.004)} if "Disk" in name else {}
            g = generator(name, load_mechanism(name, **arguments), integrator=rule)
            rows = g.simulate(wrenches=np.zeros((round(seconds / g.period), 6)))
            total = rows.kinetic_energy + rows.potential_energy
            if name == "Pendulum":
                total = total + 0.5 * 9.81 * 0.2  # from its lowest point
            row.append(f"{np.abs(total / total[0] - 1.0).max():.1e}")
        table.add_row(name, *row)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20_000, help="timed steps per case")
    parser.add_argument("--seconds", type=float, default=10.0, help="duration of the free motions")
    arguments = parser.parse_args()
    console = Console()
    console.print(speed(arguments.steps))
    console.print(energy(arguments.seconds))


if __name__ == "__main__":
    main()
