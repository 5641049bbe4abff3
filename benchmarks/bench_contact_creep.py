"""Creep: how fast a box of 1 kg moves that friction ought to hold, pulled with 20, 50 and 95 % of the static limit.

After a second of settling; creep: mean speed from then on, slip: the way since the start, settling included.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np
import peers
from contact_scenes import Scene, block
from options import Parser
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from convex_contact import Simulator

PULLS = (0.2, 0.5, 0.95)
SETTLING = 1.0  # [s]
TITLES = {"drake": "Drake", "mujoco": "MuJoCo"}
APPROXIMATIONS = ("lagged_elastoplastic", "lagged", "lagged_regularized", "similar", "sap")


class Ours:
    """A scene in this suite."""

    def __init__(self, scene: Scene, period: float, approximation: str) -> None:
        self.simulator = Simulator(scene.world(), period=period, approximation=approximation)
        self._first, self._scene, self._period = len(scene.planes), scene, period
        for k, item in enumerate(scene.items):
            if item.force.any():
                self.simulator.apply_wrench(self._first + k, item.force)

    def step(self) -> None:
        self.simulator.step()

    def poses(self) -> np.ndarray:
        """Position and quaternion (x, y, z, w) of the items (n, 7)."""
        return np.hstack(self.simulator.body_states()[:2])[self._first :]

    def _velocities(self) -> np.ndarray:
        """[linear; angular] of the items (n, 6)."""
        return np.hstack(self.simulator.body_states()[2:])[self._first :]

    def residual(self) -> float:
        """Returns the residual of one further step."""
        centre, before = self.poses()[:, :3], self._velocities()
        self.step()
        impulse, report = np.zeros((len(centre), 6)), self.simulator.contacts
        force = np.einsum("nk,nki->ni", report.impulse, report.frame)
        for side, sign in enumerate((-1.0, 1.0)):
            item = report.body[:, side] - self._first
            moves = item >= 0
            arm = report.position[moves] - centre[item[moves]]
            np.add.at(impulse, item[moves], sign * np.hstack([force[moves], np.cross(arm, force[moves])]))
        return self._scene.residual(before, self._velocities(), impulse, self._period)

    def counts(self) -> tuple[float, float]:
        """Contacts that took part, and Newton steps of the last step."""
        statistics = self.simulator.statistics
        return statistics.active_contacts, statistics.iterations


def ours(names: Sequence[str]) -> list[tuple[str, Callable[[Scene, float], Ours]]]:
    """Words and a maker of each approximation."""
    return [(name, lambda scene, period, name=name: Ours(scene, period, name)) for name in names]


def slip(make: Callable[[Scene, float], Any], pull: float, period: float, seconds: float) -> tuple[float, float]:
    """Way in the first second and after it, m."""
    simulation = make(block(pull), period)
    places = [simulation.poses()[0, :2]]
    for duration in (SETTLING, seconds):
        for _ in range(round(duration / period)):
            simulation.step()
        places.append(simulation.poses()[0, :2])
    settling, creeping = np.linalg.norm(np.diff(places, axis=0), axis=1)
    return float(settling), float(creeping)


def available(names: Sequence[str], console: Console) -> list[ModuleType]:
    """The engines that are there, or can be had; a line for each other."""
    found = []
    for name in names:
        try:
            peers.add(name)
            found.append(importlib.import_module(f"contact_{name}"))
        except (peers.PeerError, ImportError, OSError) as error:
            console.print(f"{TITLES[name]} is left out: {error}", soft_wrap=True, markup=False)
    return found


def creep(engines: Sequence[ModuleType], seconds: float, period: float) -> Table:
    """The table; `seconds` after settling for ours, a tenth of it for the others, whose creep is steady."""
    made = Table(title=escape(f"creep of a held box, T = {1e3 * period:g} ms"))
    for name in ("engine", "model", "seconds", *(f"{100 * pull:g} % [um/s]" for pull in PULLS)):
        made.add_column(escape(name))
    for pull in PULLS:
        made.add_column(escape(f"slip at {100 * pull:g} % [m]"))
    rows = [("this suite", words, make, seconds) for words, make in ours(APPROXIMATIONS)]
    for engine in engines:
        name = TITLES[engine.__name__.removeprefix("contact_")]
        rows += [(name, words, make, 0.1 * seconds) for words, make in engine.creep_models()]
    for name, words, make, duration in rows:
        ways = [slip(make, pull, period, duration) for pull in PULLS]
        speeds = [f"{1e6 * after / duration:.3g}" for _, after in ways]
        made.add_row(name, words, f"{duration:g}", *speeds, *(f"{before + after:.2g}" for before, after in ways))
    return made


def main() -> None:
    parser = Parser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="after settling; a tenth for the other engines")
    parser.add_argument("--period", type=float, default=1e-2)
    parser.add_argument("--peers", nargs="*", default=list(TITLES), choices=TITLES, help="engines beside ours")
    arguments = parser.parse_args()
    console = Console()
    if not console.is_terminal:
        console = Console(width=150)
    engines = available(arguments.peers, console)
    console.print(creep(engines, arguments.seconds, arguments.period))


if __name__ == "__main__":
    main()
