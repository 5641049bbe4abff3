"""State of a simulator, to restore it later."""

from __future__ import annotations

from copy import copy
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from convex_contact.model.body_joints import StartedJoint
from convex_contact.model.motors import motor_laws
from convex_contact.solver.borrowed import copy_fields
from convex_contact.solver.workspace import new_workspace

if TYPE_CHECKING:
    from convex_contact.simulation.simulator import Simulator


class StepNumbers:
    """State from a simulator's last step, without the world's arrays, the contacts and the solver's workspace.

    Steps replace the list of rows, and do not write into it.

    Args:
        simulator: source of the numbers.
    """

    def __init__(self, simulator: Simulator) -> None:
        self._time, self._period = simulator.dynamics.time, simulator.dynamics.period
        self._flags, self._own = (simulator._own_count, simulator._solved), simulator._own
        self._rows, self._between = simulator._joint_rows.copies(), simulator._body_rows.copies()
        self._pulling = list(simulator.couplings)
        self._couplings = [coupling.copies() for coupling in (*simulator.springs, *self._pulling)]

    def give_back(self, simulator: Simulator) -> None:
        """Restores the simulator; couplings that were made since are dropped."""
        simulator.dynamics.time = self._time
        simulator.dynamics.period = self._period  # the workspace also has it
        simulator._own_count, simulator._solved = self._flags
        simulator._own = self._own
        simulator._joint_rows.restore(self._rows)
        simulator._body_rows.restore(self._between)
        simulator.couplings[:] = self._pulling
        for coupling, values in zip((*simulator.springs, *self._pulling), self._couplings, strict=True):
            coupling.restore(values)


class NotCopied:
    """Base of what belongs to one simulation: compiled records point to its arrays, so it is not copied or pickled."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            f"{type(self).__name__}: expected a World to be copied or pickled, got an object of one simulation; "
            f"make another Simulator of it"
        )


class SimulatorState(NotCopied):
    """State of a simulator. After :meth:`give_back` the simulator repeats all that follows, to the last bit.

    It holds positions, velocities, time, applied forces, targets, the contacts and impulses of the last step and the
    solver's memory, but no state of the user's functions. With an accuracy it has the length of the coming step, too.

    Args:
        simulator: source of the state.

    Attributes:
        time: of the state [s].

    Examples:
        >>> from convex_contact import Simulator, World
        >>> world = World()
        >>> ball = world.add_sphere("ball", mass=1.0, radius=0.1)
        >>> simulator = Simulator(world, period=2e-3)
        >>> start = simulator.state()
        >>> simulator.step(10)
        >>> simulator.restore(start)
        >>> simulator.state(ball).position.tolist()
        [0.0, 0.0, 0.0]
    """

    def __init__(self, simulator: Simulator) -> None:
        d = simulator.dynamics
        self._owner, self._numbers = simulator, StepNumbers(simulator)
        self.time = d.time
        self._arrays, self._contacts, self._previous = d.arrays.copies(), d.contacts.copies(), d.previous.copies()
        self._workspace = new_workspace()
        copy_fields(self._workspace, simulator._workspace)
        self._laws = [copy(law) for law in _laws(simulator)]
        self._efforts = [joint.effort.copy() for joint in _body_joints(simulator)]
        self._control = None if simulator.control is None else simulator.control.copies()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(time={self.time:g} s)"

    def give_back(self, simulator: Simulator) -> None:
        """Restores the simulator; couplings that were made since are dropped.

        Raises:
            ValueError: the state is that of another simulator.
        """
        if simulator is not self._owner:
            raise ValueError("state: expected one of this simulator, got that of another one")
        d = simulator.dynamics
        d.arrays.restore(self._arrays)
        d.functions.note_forces()
        d.contacts.restore(self._contacts)
        d.previous.restore(self._previous)
        copy_fields(simulator._workspace, self._workspace)
        for law, saved in zip(_laws(simulator), self._laws, strict=True):
            for field in fields(law):
                if getattr(law, field.name) is not getattr(saved, field.name):
                    setattr(law, field.name, getattr(saved, field.name))
        for joint, effort in zip(_body_joints(simulator), self._efforts, strict=True):
            joint.effort[:] = effort
        self._numbers.give_back(simulator)
        if simulator.control is not None and self._control is not None:
            simulator.control.restore(self._control)


def _laws(simulator: Simulator) -> list[Any]:
    """Returns the laws of joints, and those of motors that act by rows of their own."""
    return [*simulator.joint_laws, *motor_laws(simulator._controllers)]


def _body_joints(simulator: Simulator) -> list[StartedJoint]:
    return [each for each in simulator._controllers if isinstance(each, StartedJoint)]
