"""`ContactRenderer`: the computation of a contact node in a tick, with NumPy arrays in and out.

    renderer = ContactRenderer.from_parameters(values)         # the parameters of contact_node.yaml
    answer = renderer.step(pose, twist)
    answer.wrench                                              # on the tool
    answer.bodies.position, answer.contacts.signed_distance    # published by the node

At the start of a tick the other nodes' forces of the last tick act on the bodies (`friction`, `walls`). The world then
moves by one period with the tool in it (:class:`~convex_contact.haptics.rendering.ContactRendering`). At the end the
renderer finds the planes near the tool for the nodes that render them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from convex_contact.haptics.rendering import ContactRendering, CouplingNumbers, make_rendering
from convex_contact.haptics.tool_planes import Planes
from convex_contact.model.world import World, WorldError
from convex_contact.problem.errors import ContactError, ConvergenceError
from convex_contact.simulation.body_table import BodyTable
from convex_contact.simulation.reports import world_axes_arrays
from convex_contact.simulation.simulator import Simulator
from haptic_files import parse_entries

#: ticks for which planes are kept; walls that react to older ones are rejected
KEPT_PLANES = 7
#: end of a friction element -> sign of the friction force f on the body there
_ENDS = {"first": -1.0, "second": 1.0}


class WallPush(NamedTuple):
    """Normal forces of another renderer on the tool, at planes that this renderer found.

    Attributes:
        name: of the renderer, for messages.
        tick: in which the planes were found.
        push: normal force of each plane on the tool (w,) [N].
    """

    name: str
    tick: int
    push: np.ndarray


class RendererSettings(NamedTuple):
    """Settings of a renderer that can change between two ticks.

    Attributes:
        coupling: stiffness, damping and limits of the virtual coupling.
        condition_interval: ticks between two computations of cost and condition number; 0: never.
    """

    coupling: CouplingNumbers
    condition_interval: int


class ContactRows(NamedTuple):
    """Contacts of the last step of a tick, m of them, in the world frame.

    Attributes:
        body_a, body_b: numbers of the bodies (m,).
        position: of the contact point (m, 3) [m].
        normal: from a to b (m, 3).
        signed_distance: negative where the bodies overlap (m,) [m].
        normal_impulse: on b along the normal (m,) [N s].
        tangential_impulse: on b (m, 3) [N s].
        slip_velocity: of b against a (m, 3) [m/s].
        sticking: (m,).
        period: of the step [s].
    """

    body_a: np.ndarray
    body_b: np.ndarray
    position: np.ndarray
    normal: np.ndarray
    signed_distance: np.ndarray
    normal_impulse: np.ndarray
    tangential_impulse: np.ndarray
    slip_velocity: np.ndarray
    sticking: np.ndarray
    period: float


class SolverRow(NamedTuple):
    """Statistics of the last step of a tick.

    Attributes:
        iterations, contacts: Newton steps and contacts of the problem; 0 before the first step.
        residual: scaled as in the solver's convergence test.
        cost, condition_number: of the problem at the solution; NaN in ticks in which they are not computed.
    """

    iterations: int
    contacts: int
    residual: float
    cost: float
    condition_number: float


class InputMismatchError(ContactError, ValueError):
    """A force of another renderer has a wrong number of components."""


class WorldState:
    """State of a renderer's world. The properties are computed when they are read, before the next tick."""

    def __init__(self, renderer: ContactRenderer, tick: int) -> None:
        self._renderer, self._tick = renderer, tick

    @property
    def bodies(self) -> BodyTable:
        """Positions, orientations and velocities of all bodies in the world frame; the renderer's own table."""
        return self._renderer.rendering.bodies.read()

    @cached_property
    def contacts(self) -> ContactRows:
        """Contacts of the tick's last step."""
        simulator = self._renderer.simulator
        return ContactRows._make((*simulator.contacts_in_world_axes, simulator.period))

    @cached_property
    def statistics(self) -> SolverRow:
        """Statistics of the tick's last step."""
        simulator, interval = self._renderer.simulator, self._renderer.settings.condition_interval
        if not simulator.time > 0.0:
            return SolverRow(0, 0, 0.0, math.nan, math.nan)
        done, cost, condition_number = simulator.statistics, math.nan, math.nan
        if interval and self._tick % interval == 0:
            solution = simulator.solution
            cost, condition_number = float(solution.cost), float(solution.condition_number)
        return SolverRow(int(done.iterations), int(done.contacts), float(done.residual), cost, condition_number)


class ContactAnswer(WorldState):
    """Result of a tick.

    Attributes:
        wrench: on the tool (6,), force [N] and torque [N m], in the device's base frame, at the tool.
        rejected: a sentence for each input that was not used.
    """

    def __init__(self, renderer: ContactRenderer, tick: int, wrench: np.ndarray, rejected: tuple[str, ...]) -> None:
        super().__init__(renderer, tick)
        self.wrench, self.rejected = wrench, rejected

    @cached_property
    def planes(self) -> Planes:
        """Planes near the tool, in the device's base frame and measures; walls may react to them in later ticks.

        Raises:
            WorldError: the renderer has no `touch_radius`.
        """
        return self._renderer._find_planes(self._tick)


class ContactRenderer:
    """Renders a world of bodies in contact, tick by tick.

    Args:
        rendering: the world in the loop.
        settings: values that can change between ticks.
        friction_ends: number of the body and sign of the friction force on it, for both ends of the elements of
            friction renderers, by their name; the force of another renderer acts on the touched body.

    Attributes:
        rendering, settings: as given.

    Examples:
        >>> from importlib.resources import files
        >>> import yaml
        >>> from convex_contact import ContactRenderer
        >>> parameters = yaml.safe_load((files("convex_contact") / "contact_node.yaml").read_text())["contact_node"]
        >>> values = {name: parameter["default_value"] for name, parameter in parameters.items()}
        >>> values["world"] = "convex_contact.scenes.one_body:falling_sphere"
        >>> renderer = ContactRenderer.from_parameters({**values, "period": 1e-3})
        >>> answer = renderer.step([0.0, 0.0, 0.2, 0.0, 0.0, 0.0, 1.0], [0.0] * 6)
        >>> answer.wrench.shape
        (6,)
    """

    def __init__(
        self,
        rendering: ContactRendering,
        settings: RendererSettings,
        friction_ends: Mapping[str, Sequence[tuple[int, float]]] | None = None,
    ) -> None:
        self.rendering, self.settings = rendering, settings
        self._friction_ends = friction_ends or {}
        self._known_planes: dict[int, Planes] = {}
        self._position = np.zeros(3)

    @classmethod
    def from_parameters(
        cls, values: Mapping[str, Any], folder: Path | None = None, *, compiled: bool = True
    ) -> ContactRenderer:
        """Builds the renderer that the parameters of contact_node.yaml and `period` describe.

        Args:
            values: by name of the parameter.
            folder: of the worlds that are known by name.
            compiled: the code is compiled and the first step tried; False: parameters are only checked.

        Raises:
            ValueError: a parameter is refused, or the world's first step cannot be solved; the message names it.
        """
        try:
            entries = parse_entries(values["world_parameters"])
        except ValueError as error:
            raise ValueError(f"parameter world_parameters: {error}") from None
        try:
            arguments = {name: value for name, (value, _) in entries.items()}
            rendering = make_rendering(values, arguments, folder, compiled=compiled)
        except ConvergenceError as error:
            raise ValueError(f"world {values['world']}: {error}") from None
        ends = friction_ends(values["friction_bodies"], rendering.simulator.world)
        return cls(rendering, cls.settings_of(values), ends)

    @staticmethod
    def settings_of(values: Mapping[str, Any]) -> RendererSettings:
        """Takes the settings from the parameters of contact_node.yaml."""
        return RendererSettings(CouplingNumbers.of(values), values["condition_interval"])

    @property
    def simulator(self) -> Simulator:
        """The world in motion."""
        return self.rendering.simulator

    @property
    def is_coupled(self) -> bool:
        """The coupling acts on the tool; otherwise every wrench is zero."""
        return self.rendering.is_coupled

    def change(self, settings: RendererSettings) -> None:
        """Replaces the settings between two ticks; the world keeps its state.

        Raises:
            ValueError: a number is wrong; nothing has changed.
        """
        self.rendering.retune(settings.coupling)
        self.settings = settings

    def warning(self) -> str:
        """Returns why the coupling is not passive with the device's damping; empty if it is or if that is unknown."""
        return self.rendering.warning()

    def reset(self) -> None:
        """Puts the world back to its description; the next tick is the first."""
        self.rendering.reset()
        self._known_planes.clear()

    def step(
        self,
        pose: np.ndarray,
        twist: np.ndarray,
        *,
        tick: int = 0,
        follows: bool = True,
        reference: tuple[np.ndarray, np.ndarray] | None = None,
        friction: Mapping[str, np.ndarray] | None = None,
        walls: Sequence[WallPush] = (),
    ) -> ContactAnswer:
        """Makes one tick.

        Args:
            pose: of the tool (7,), position [m] and quaternion x, y, z, w, in the device's base frame.
            twist: of the tool (6,) [m/s], [rad/s], in the same frame.
            tick: number, for `walls` and `condition_interval`.
            follows: False while the device does not obey: the world moves on, the wrench is zero, no input acts.
            reference: pose (7,) and twist (6,) that a prescribed proxy reaches, in place of the tool's.
            friction: forces (n,), n <= 3, on the tool [N], in the device's base frame, by name of the renderer.
            walls: normal forces at planes of earlier ticks.

        Raises:
            InputMismatchError: a friction force has more than three components; the tick is not made.
            ConvergenceError: a step could not be solved.
        """
        rejected: list[str] = []
        self.rendering.release()
        if follows:
            rejected = self._react(friction or {}, walls)
        self._position = pose[:3].copy()
        moved, arrives = ((pose, twist), False) if reference is None else (reference, True)
        wrench = self.rendering.step(*moved, follows=follows, arrives=arrives)
        return ContactAnswer(self, tick, wrench, tuple(rejected))

    def observe(self, tick: int = 0) -> WorldState:
        """Returns the world after the last tick; the number of the tick is for `condition_interval`."""
        return WorldState(self, tick)

    def _react(self, friction: Mapping[str, np.ndarray], walls: Sequence[WallPush]) -> list[str]:
        """Applies the reactions of the other renderers' forces to the bodies; returns why inputs were rejected."""
        rendering, tangential, rejected = self.rendering, np.zeros(3), []
        for name, components in friction.items():
            if len(components) > 3:
                raise InputMismatchError(f"{name}: force: expected at most 3 numbers, got {len(components)}")
            force = np.zeros(3)
            force[: len(components)] = components
            ends = self._friction_ends.get(name)
            if ends is None:
                tangential -= force
                continue
            for body, sign in ends:
                rendering.pull(body, sign * force)
        for name, tick, push in walls:
            planes = self._known_planes.get(tick)
            if planes is None or len(planes.key) != len(push):
                known = "none" if planes is None else str(len(planes.key))
                rejected.append(f"{name}: normal forces at tick {tick}: expected {known}, got {len(push)}")
            else:
                rendering.react(planes, push, tangential)
        return rejected

    def _find_planes(self, tick: int) -> Planes:
        self._known_planes[tick] = planes = self.rendering.planes(self._position)
        while len(self._known_planes) > KEPT_PLANES:
            del self._known_planes[min(self._known_planes)]
        return planes


def friction_ends(entries: Sequence[str], world: World) -> dict[str, list[tuple[int, float]]]:
    """Returns the bodies between which the elements of friction renderers lie, by name of the renderer.

    Args:
        entries: ``name.first=body`` or ``name.second=body`` with a free body.
        world: of the bodies.

    Returns:
        Number of each body, and the sign of the friction force on it.

    Raises:
        ValueError: an entry has another form, or names no free body.
    """
    found: dict[str, list[tuple[int, float]]] = {}
    try:
        for name, (body, entry) in parse_entries(entries).items():
            renderer, _, end = name.partition(".")
            number = world.number(str(body))
            if end not in _ENDS or world.bodies[number].kind != "free":
                raise WorldError(f"entry {entry!r}: expected node.first=body or node.second=body with a free body")
            found.setdefault(renderer, []).append((number, _ENDS[end]))
    except ValueError as error:
        raise ValueError(f"parameter friction_bodies: {error}") from None
    return found


def contact_rows(report: Any, period: float) -> ContactRows:
    """Converts the simulator's report of a step of a period [s]: impulses in world axes."""
    arrays = world_axes_arrays(
        report.body, report.position, report.frame, report.signed_distance, report.impulse, report.slip_velocity,
        report.sticking,
    )  # fmt: skip
    return ContactRows._make((*arrays, period))
