"""Time of the geometry of one step: poses, A and v*, pairs, contact points and Jacobians, without the solver.

Piles of spheres, or of spheres and boxes in alternation, of 0.1 m within four walls. They are laid down by a crude
scheme (bodies sink, and contacts that overlap push them apart), which gives piles as dense as a simulation does;
their speeds are random, about 0.1 m/s, so that margins are not trivially small.

Rules: "all pairs" has every pair with phi < 0.1 m in the problem, as the paper; "enough" leaves out contacts that
provably do nothing in this step.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np
from options import Parser, positive
from rich.console import Console
from rich.table import Table

from convex_contact import Material, World, WorldDynamics

COUNTS = (10, 40, 160, 400)
SIZE, PERIOD, PER_LAYER_AREA = 0.1, 2e-3, 0.04
SURFACE = Material(stiffness=2e7, dissipation=10.0, relaxation_time=5e-5, friction=1.0)


def pile(kind: str, count: int, seed: int = 0) -> World:
    """Objects in columns of ten over a floor, as they are before they fall."""
    rng = np.random.default_rng(seed)
    world = World()
    columns = max(1, count // 10)
    wide = math.ceil(math.sqrt(columns))
    half = np.array([0.2 * wide, 0.2 * math.ceil(columns / wide)])
    world.add_half_space("floor", material=SURFACE)
    for axis in range(2):
        for sign in (-1, 1):
            normal = np.zeros(3)
            normal[axis] = -sign
            name = f"wall {'xy'[axis]}{'+' if sign > 0 else '-'}"
            world.add_half_space(name, point=-normal * half[axis], normal=normal, material=SURFACE)
    for i in range(count):
        column, layer = divmod(i, 10)
        row, place = divmod(column, wide)
        position = [0.4 * place + 0.2 - half[0], 0.4 * row + 0.2 - half[1], 0.075 + 0.15 * layer]
        position += rng.normal(size=3) * [1e-2, 1e-2, 0]
        options = {"position": position, "orientation": rng.normal(size=4), "material": SURFACE}
        if kind == "spheres" or i % 2:
            world.add_sphere(f"object {i}", mass=0.5236, radius=SIZE / 2, **options)
        else:
            world.add_box(f"object {i}", mass=1.0, size=(SIZE, SIZE, SIZE), **options)
    return world


def settle(dynamics: WorldDynamics, rounds: int = 600) -> None:
    """Lets the bodies sink by half a millimetre a round and pushes overlaps apart."""
    free = [number for number, body in enumerate(dynamics.world.bodies) if body.kind == "free"]
    row, n, rest = {number: k for k, number in enumerate(free)}, len(free), np.zeros(dynamics.nv)
    for _ in range(rounds):
        dynamics.set_state(velocities=rest)
        dynamics.prepare()
        centers = dynamics.coordinates().reshape(n, 7)[:, :3]
        c = dynamics.collect()
        shift, turn, share = np.zeros((n, 3)), np.zeros((n, 3)), np.zeros(n)
        for k in np.flatnonzero(c.phi0[: c.count[0]] < 1e-4):
            push = (1e-4 - c.phi0[k]) * c.frame[k, 2]
            for body, sign in zip(c.body[k], (-1.0, 1.0), strict=True):
                if int(body) in row:
                    tree = row[int(body)]
                    part = sign * push * (1.0 if c.tree[k, 1] < 0 else 0.5)
                    lever = c.point[k] - centers[tree]
                    shift[tree] += part
                    turn[tree] += np.cross(lever, part) / (lever @ lever + SIZE**2 / 6)
                    share[tree] += 1
        many = np.maximum(1.0, share)[:, None]
        step = np.hstack([1.2 * shift / many, 0.6 * turn / many]) / PERIOD
        step[share == 0, 2] -= 5e-4 / PERIOD
        step[:, 2] -= 1e-4 / PERIOD
        dynamics.advance(step.ravel())
    dynamics.set_state(velocities=rest)


def measured(world: World, q: np.ndarray, speculative: bool, rounds: int) -> tuple[float, float, int, int]:
    """Median microseconds of prepare and of collect, contacts, and pairs."""
    dynamics = WorldDynamics(world, period=PERIOD, speculative=speculative)
    rng = np.random.default_rng(1)
    dynamics.set_state(q, 0.1 * rng.normal(size=dynamics.nv))
    times = np.zeros((rounds, 2))
    for i in range(rounds):
        start = time.perf_counter_ns()
        dynamics.prepare()
        middle = time.perf_counter_ns()
        dynamics.collect()
        times[i] = middle - start, time.perf_counter_ns() - middle
    prepare, collect = np.median(times, axis=0) / 1e3
    return prepare, collect, int(dynamics.contacts.count[0]), dynamics.pair_count


def main() -> None:
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", type=positive, nargs="+", default=COUNTS)
    parser.add_argument("--rounds", type=positive, default=500)
    arguments = parser.parse_args()
    table = Table("objects", "rule", "pairs", "contacts", "prepare (us)", "collect (us)", "together (us)")
    for kind in ("spheres", "mixed"):
        for count in arguments.counts:
            world = pile(kind, count)
            laid = WorldDynamics(world, period=PERIOD)
            settle(laid)
            for rule, speculative in (("all pairs", False), ("enough", True)):
                prepare, collect, contacts, pairs = measured(world, laid.coordinates(), speculative, arguments.rounds)
                row = (f"{count} {kind}", rule, str(pairs), str(contacts))
                table.add_row(*row, f"{prepare:.1f}", f"{collect:.1f}", f"{prepare + collect:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
