"""State at the start of a step, so that the step can be reversed. It holds what steps change, and no more.

A :class:`SimulatorState` copies everything, a dozen times the cost of a small step. Here the lists of contacts are
exchanged instead of copied: a third list receives the contacts of the second half of a step, so that the start's list
stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from convex_contact.collision.contacts import empty_contacts
from convex_contact.simulation.simulator_state import StepNumbers
from convex_contact.solver.borrowed import copy_fields
from convex_contact.solver.workspace import new_workspace

if TYPE_CHECKING:
    from convex_contact.simulation.simulator import Simulator

#: arrays of the world that a step changes and the next one reads
_CHANGED = ("q", "v", "body_pose", "body_twist", "counters")


class StepStart:
    """The start of a simulator's coming step.

    Args:
        simulator: that makes the step.
    """

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        self._contacts: Any = None
        self._spare_contacts: list[Any] = []
        self._spare_workspace = new_workspace()
        self.note()

    def note(self) -> None:
        """Sets the start of the step to the present state."""
        sim, d = self._simulator, self._simulator.dynamics
        self._numbers = StepNumbers(sim)
        self._arrays = [getattr(d.arrays, name).copy() for name in _CHANGED]
        self._spare_contacts.append(self._contacts)
        self._contacts, self._workspace = d.contacts, sim._workspace
        self._arrange_contacts()

    def begin(self) -> None:
        """Restores the simulator to the start, with a copy of the solver's memory."""
        self.return_to()
        copy_fields(self._spare_workspace, self._workspace)
        self._simulator._workspace = self._spare_workspace

    def keep(self) -> None:
        """Prepares one more step that does not overwrite the contacts of the start."""
        d = self._simulator.dynamics
        if d.previous is self._contacts:  # the step would overwrite it
            d.previous = self._spare_contacts.pop()

    def accept(self) -> None:
        """Keeps the state that the simulator reached after :meth:`begin`."""
        self._spare_workspace = self._workspace

    def return_to(self) -> None:
        """Restores the simulator to the start and discards what it did since."""
        sim, d = self._simulator, self._simulator.dynamics
        for name, values in zip(_CHANGED, self._arrays, strict=True):
            getattr(d.arrays, name)[:] = values
        self._arrange_contacts()
        sim._workspace = self._workspace
        self._numbers.give_back(sim)

    def _arrange_contacts(self) -> None:
        """Makes the start's list of contacts the newest; keeps two more lists, one of them spare."""
        d = self._simulator.dynamics
        others: list[Any] = []
        for one in (d.contacts, d.previous, *self._spare_contacts):
            if one is not None and one is not self._contacts and one not in others:
                others.append(one)
        while len(others) < 2:
            others.append(empty_contacts(len(self._contacts.phi0), self._contacts.J.shape[3]))
        d.contacts, d.previous, self._spare_contacts = self._contacts, others[0], others[1:2]
