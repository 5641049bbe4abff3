"""Functions of time that drive trees and prescribe the motion of bodies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from convex_contact.model.arrays import WorldArrays
from convex_contact.model.world import Body, World, vector


def twist_of(body: Body, time: float) -> np.ndarray:
    """Returns the twist [linear; angular] (6,) of a body with a motion at a time [s].

    Raises:
        WorldError: the motion gave something else than six finite numbers.
    """
    assert body.motion is not None
    return vector(body.motion(time), 6, f"{body.name}: motion")


class FunctionsOfTime:
    """Drives of trees and motions of prescribed bodies, as the world has them in each step.

    Args:
        world: the world.
        arrays: its arrays.
        prescribed: numbers of the prescribed bodies.
    """

    def __init__(self, world: World, arrays: WorldArrays, prescribed: Sequence[int]) -> None:
        self._world, self._arrays, self._prescribed = world, arrays, prescribed
        self._driven: set[int] = set()  # trees with forces of a drive

    def __bool__(self) -> bool:
        """Returns whether there are such functions, or a tree was driven until now."""
        for tree in self._world.trees:
            if tree.drive is not None:
                return True
        for number in self._prescribed:
            if self._world.bodies[number].motion is not None:
                return True
        return bool(self._driven)

    def note_forces(self) -> None:
        """Notes which trees have forces of a drive, after the arrays were set."""
        a = self._arrays
        ends = zip(a.tree_v[:-1], a.tree_v[1:], strict=True)
        self._driven = {number for number, (i, j) in enumerate(ends) if a.drive_effort[i:j].any()}

    def evaluate(self, time: float, period: float) -> None:
        """Writes the twists of motions at the end of a step, and the forces of drives at its start.

        Args:
            time: start of the step [s].
            period: its length [s].

        Raises:
            WorldError: a function gave something else than so many finite numbers.
        """
        a = self._arrays
        for number in self._prescribed:
            if self._world.bodies[number].motion is not None:
                a.body_twist[number] = twist_of(self._world.bodies[number], time + period)
        for number, tree in enumerate(self._world.trees):
            forces = a.drive_effort[a.tree_v[number] : a.tree_v[number + 1]]
            if tree.drive is not None:
                forces[:] = vector(tree.drive(time), len(forces), f"{tree.name}: drive")
                self._driven.add(number)
            elif number in self._driven:
                forces[:] = 0.0
                self._driven.discard(number)
