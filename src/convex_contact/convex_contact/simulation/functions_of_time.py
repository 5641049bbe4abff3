"""Functions of time that drive trees and prescribe the motion of bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from convex_contact.simulation.dynamics import WorldDynamics


class FunctionsOfTime:
    """Drives of trees and motions of prescribed bodies, as the world has them in each step.

    Args:
        d: world in motion.
    """

    def __init__(self, d: WorldDynamics) -> None:
        self._d = d
        self._driven: set[int] = set()  # trees with forces of a drive

    def __bool__(self) -> bool:
        """Returns whether there are such functions, or a tree was driven until now."""
        d = self._d
        for tree in d.world.trees:
            if tree.drive is not None:
                return True
        for number in d.prescribed:
            if d.world.bodies[number].motion is not None:
                return True
        return bool(self._driven)

    def note_forces(self) -> None:
        """Notes which trees have forces of a drive, after the arrays were set."""
        a = self._d.arrays
        ends = zip(a.tree_v[:-1], a.tree_v[1:], strict=True)
        self._driven = {number for number, (i, j) in enumerate(ends) if a.drive_effort[i:j].any()}

    def evaluate(self) -> None:
        """Writes the twists of motions at the end of the coming step, and the forces of drives at its start."""
        d, a = self._d, self._d.arrays
        for number in d.prescribed:
            motion = d.world.bodies[number].motion
            if motion is not None:
                a.body_twist[number] = motion(d.time + d.period)
        for number, tree in enumerate(d.world.trees):
            forces = a.drive_effort[a.tree_v[number] : a.tree_v[number + 1]]
            if tree.drive is not None:
                forces[:] = tree.drive(d.time)
                self._driven.add(number)
            elif number in self._driven:
                forces[:] = 0.0
                self._driven.discard(number)
