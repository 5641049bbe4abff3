"""The computation of the friction node, without ROS.

The renderer is made from the parameters of the node (`from_parameters`). Its `step` takes the inputs of the node in a
tick and returns the answer; the node publishes its `state`. Vectors are along x, y, z of the device's
base frame. Forces of a state point in the direction of sliding; the opposite force acts on the tool.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from haptic_files import ParameterValues
from haptic_files.moved_modules import renamed
from haptic_friction.design import model_warning
from haptic_friction.factory import make_model
from haptic_friction.load import (
    FrictionInputError,
    constraint_normal_force,
    contacts_of_body,
    mean_surface_velocity,
    scale_law_by_normal_force,
    total_normal_force,
)
from haptic_friction.models.model import AdmittanceModel, FrictionModel
from haptic_friction.partners import relative_velocity, tool_force_factor
from haptic_friction.settings import (
    NORMAL_FORCE_INPUTS,
    FrictionSettings,
    Model,
    Parameters,
    check_inputs,
    friction_axes,
    input_kinds,
)
from haptic_friction.tangential import pressing_basis

#: axes x, y, z of the device's base frame
_ALL_AXES = [0, 1, 2]


class FrictionOutput(NamedTuple):
    """The fields of haptic_msgs/FrictionState that a step determines.

    Attributes:
        velocity: input of the elements [m/s].
        force: friction force in the direction of sliding [N].
        elastic_displacement: e [m].
        sticking: flag of each contact.
        dissipated_energy: work of friction of all contacts since the reset [J].
    """

    velocity: np.ndarray
    force: np.ndarray
    elastic_displacement: np.ndarray
    sticking: list[bool]
    dissipated_energy: float


class Surfaces(NamedTuple):
    """Surfaces that the tool touches.

    Attributes:
        normals: unit normals, shape (m, 3).
        forces: normal force of each surface [N], shape (m,).
        velocities: velocity of each surface [m/s], shape (m, 3), or (0, 3) for surfaces at rest.
    """

    normals: np.ndarray
    forces: np.ndarray
    velocities: np.ndarray = np.zeros((0, 3))


class ReferenceMotion(NamedTuple):
    """Motion of a constrained reference.

    Attributes:
        velocity: velocity of the reference [m/s], shape (3,).
        multipliers: of its constraints [N], shape (m,).
    """

    velocity: ArrayLike
    multipliers: ArrayLike


class Answer(NamedTuple):
    """Answer of a friction renderer to a step.

    Attributes:
        force: force on the tool [N], shape (3,); zero for an admittance.
        position, velocity: commanded for the tool [m], [m/s], shape (3,) each; None for an impedance.
        starts: true if the motion starts at the tool's pose in this step.
    """

    force: np.ndarray
    position: np.ndarray | None = None
    velocity: np.ndarray | None = None
    starts: bool = False


def take_over(old: Model, new: Model) -> None:
    """Copies the state of a model to the one that replaces it, so that a change of parameters causes no motion.

    An elastic displacement is scaled so that the force of its spring stays the same. A model with other rows of the
    state starts from its initial state.
    """
    state, fresh = old.state, new.state
    if {name: value.shape for name, value in state.items()} != {name: value.shape for name, value in fresh.items()}:
        return
    for name, stiffness in old.elastic_stiffness.items():
        ratio = np.divide(stiffness, new.elastic_stiffness[name])
        state[name] *= ratio[:, None] if ratio.ndim else ratio
    new.restore(state)
    if isinstance(old, FrictionModel) and isinstance(new, FrictionModel):
        new.dissipated_energy = old.dissipated_energy


class FrictionRenderer:
    """Friction on a tool: the force -f (impedance), or the motion of the mass (admittance).

    With an input that has a normal force, friction acts along its surfaces: the law is scaled so that its kinetic force
    is mu N. N is the normal force of walls, of the contacts of the tool's body in a simulated world, or of the surface
    of a constrained reference, on which friction then acts. Several such inputs act as one: N is the sum of their
    normal forces, and the model takes the mean of their relative velocities, weighted by normal force. With an input of
    kind bodies, friction acts between two partners, the tool or bodies of a world, and the model takes their relative
    velocity. With an input of any kind the model is an impedance, since inputs give relative velocities and an
    admittance takes a force.

    Args:
        model: friction model with one component per axis.
        settings: use of the model.

    Attributes:
        model: model in use.
        settings: settings in use.

    Examples:
        >>> from haptic_friction import CoulombLaw, FrictionRenderer, ModelC
        >>> from haptic_friction.settings import FrictionSettings
        >>> element = ModelC(CoulombLaw(2.0), stiffness=1e4, damping=0.0, period=1e-3, dimension=2)
        >>> renderer = FrictionRenderer(element, FrictionSettings(axes=(0, 1)))
        >>> float(renderer.step(velocity=(0.0, 1.0, 0.0)).force[1])  # on the tool, against its motion
        -2.0
    """

    def __init__(self, model: Model, settings: FrictionSettings) -> None:
        if not isinstance(model, Model) or not isinstance(settings, FrictionSettings):
            raise ValueError(f"model, settings: expected a model and FrictionSettings, got {model!r} and {settings!r}")
        if len(settings.axes) != model.dimension:
            raise ValueError(f"axes: expected {model.dimension}, as the model's dimension, got {len(settings.axes)}")
        if len({0, 1, 2}.intersection(settings.axes)) < len(settings.axes):
            raise ValueError(f"axes: expected different numbers of 0, 1, 2, got {settings.axes!r}")
        if settings.kinds and model.kind != "impedance":
            raise ValueError(f"model: expected an impedance with inputs {sorted(settings.kinds)}, got an admittance")
        self._install(model, settings)
        self.reset()

    def __repr__(self) -> str:
        return f"FrictionRenderer({self.model!r}, {self.settings!r})"

    @classmethod
    def from_parameters(cls, values: Parameters, *, compiled: bool = True) -> FrictionRenderer:
        """Makes the renderer that the parameters of the friction node describe.

        Args:
            values: values by name of the parameter.
            compiled: true compiles the loop before the first step; false only checks the parameters.

        Raises:
            ValueError: a value is refused; the message names the parameter.
        """
        values = ParameterValues(values)
        model = make_model(values, dimension=len(friction_axes(values)), compiled=compiled)
        check_inputs(values, model)
        if compiled and input_kinds(values) & NORMAL_FORCE_INPUTS:
            pressing_basis(np.zeros((0, 3)), np.zeros(0))
        return cls(model, FrictionSettings.from_parameters(values))

    def _install(self, model: Model, settings: FrictionSettings) -> None:
        self.model, self.settings = model, settings
        self._axes = list(settings.axes)
        self._scaled = bool(settings.kinds & NORMAL_FORCE_INPUTS)
        # with inputs, the state is along x, y, z as those of the inputs are
        self._embedded = bool(settings.kinds) and self._axes != _ALL_AXES

    def change_parameters(self, values: Parameters) -> None:
        """Takes new parameters between two steps, whole or not at all; the state stays, see `take_over`.

        Raises:
            ValueError: a value is refused; nothing is changed.
        """
        self.replace(FrictionRenderer.from_parameters(values))

    def replace(self, other: FrictionRenderer) -> None:
        """Takes model and settings of another renderer, and keeps the state."""
        take_over(self.model, other.model)
        self._install(other.model, other.settings)

    def reset(self) -> None:
        """Starts again without displacement; an admittance starts at the tool with its initial velocity."""
        if isinstance(self.model, AdmittanceModel):
            start = np.zeros(self.model.dimension)
            start[0] = self.settings.initial_velocity
            self.model.reset(velocity=start)
        else:
            self.model.reset()
        self._position: np.ndarray | None = None

    @property
    def warning(self) -> str:
        """The design rule of the paper that model and settings violate; empty if none."""
        return model_warning(self.model, load_mass=self.settings.load_mass)

    def step(
        self,
        *,
        velocity: Sequence[float] | np.ndarray | None = None,
        force: Sequence[float] | np.ndarray | None = None,
        position: ArrayLike | None = None,
        ready: bool = True,
        surfaces: Sequence[Surfaces] = (),
        contacts: Sequence[Any] = (),
        references: Sequence[ReferenceMotion] = (),
        bodies: np.ndarray | None = None,
    ) -> Answer:
        """Advances one period.

        Args:
            velocity: velocity of the tool [m/s], shape (3,); required for an impedance.
            force: force of the user on the tool [N], shape (3,); required for an admittance.
            position: position of the tool [m], shape (3,); required for an admittance.
            ready: true if the device follows commands; if not, the mass of an admittance stops at the tool.
            surfaces: surfaces of walls, for kind "wall".
            contacts: contacts of a world, each with the fields of haptic_msgs/ContactArray, for kind "contacts".
            references: constrained references, for kind "constraints".
            bodies: velocities of the bodies of a world [m/s], shape (n, 3), for kind "bodies"; None: at rest.

        Raises:
            FrictionInputError: an input cannot be used; the model does not step.
        """
        model, impedance = self.model, self.model.kind == "impedance"
        given = velocity if impedance else force
        if given is None or len(given) != 3:
            raise ValueError(f"{model.input_name}: expected three numbers, got {given!r}")
        factor = -1.0
        if self.settings.kinds:
            given = np.array(given, dtype=float)
            if "bodies" in self.settings.kinds:
                given, factor = self._relative_velocity(given, bodies), tool_force_factor(self.settings.partners)
            if self._scaled:
                given = self._scale_law(given, surfaces, contacts, references)
        if self._axes == _ALL_AXES:
            answer = model.step(given)
        else:
            answer = np.zeros(3)
            answer[self._axes] = model.step([given[axis] for axis in self._axes])
        if impedance:
            return Answer(factor * answer)
        return self._move(np.array(position, dtype=float), answer, ready)

    def _relative_velocity(self, tool: np.ndarray, bodies: np.ndarray | None) -> np.ndarray:
        """Computes the velocity of the first partner minus that of the second [m/s], shape (3,)."""
        partners = self.settings.partners
        known = np.zeros((max(partners) + 1, 3)) if bodies is None else bodies
        if max(partners) >= len(known):
            raise FrictionInputError(
                "no such body", f"first, second: expected numbers below {len(known)}, got {partners}"
            )
        velocity = relative_velocity(*partners, tool, known)
        if not np.isfinite(velocity).all():
            raise FrictionInputError(
                "not finite", f"velocity of bodies {partners}: expected finite numbers, got {velocity}"
            )
        return velocity

    def _scale_law(
        self,
        velocity: np.ndarray,
        surfaces: Sequence[Surfaces],
        contacts: Sequence[Any],
        references: Sequence[ReferenceMotion],
    ) -> np.ndarray:
        """Scales the law with the sum of the normal forces.

        Returns:
            Mean of the inputs' relative velocities, weighted by their normal forces [m/s], shape (3,); the velocity
            of a single input as it is, and the given velocity without one.
        """
        model, settings = self.model, self.settings
        assert isinstance(model, FrictionModel)
        elastic = model.elastic_state
        inputs: list[tuple[float, np.ndarray]] = []  # normal force and relative velocity of each
        if surfaces:
            normals, forces, velocities = _joined(surfaces)
            if max(forces.tolist(), default=0.0) > 0.0:
                velocity -= mean_surface_velocity(forces, np.asarray(velocities))
                inputs.append((total_normal_force(normals, forces, velocity, *elastic.values()), velocity))
        for touching in contacts:
            normals, forces, slip = contacts_of_body(touching, settings.load_body)
            pressing = total_normal_force(normals, forces, *elastic.values())
            if pressing > 0.0:
                inputs.append((pressing, forces @ slip / pressing))
        for reference in references:
            pressing = constraint_normal_force(reference.multipliers, settings.load_constraint)
            inputs.append((pressing, np.array(reference.velocity, dtype=float)))
        inputs = [given for given in inputs if given[0] > 0.0] or inputs[-1:]
        scale_law_by_normal_force(
            model,
            sum((force for force, _ in inputs), 0.0),
            friction_coefficient=settings.friction_coefficient,
            friction_force=settings.friction_force,
            state=elastic,
        )
        if len(inputs) > 1:
            return mean_surface_velocity(np.array([force for force, _ in inputs]), np.array([v for _, v in inputs]))
        return inputs[0][1] if inputs else velocity

    def _move(self, tool: np.ndarray, velocity: np.ndarray, ready: bool) -> Answer:
        """Integrates the velocity from the tool's position at the first step after a reset.

        If the tool cannot follow, at a joint stop or in the safe state, the mass stops `largest_lead` ahead of
        the tool. It stops at the tool while the device is not ready.
        """
        if not ready:
            velocity, self._position = self._stop(), None
        starts = self._position is None
        if self._position is None:
            self._position = tool.copy()
        self._position += self.model.period * velocity
        lead, largest = self._position - tool, self.settings.largest_lead
        distance = math.sqrt(float(lead @ lead))
        if 0.0 < largest < distance:
            self._position = tool + lead * (largest / distance)
            velocity = self._stop()
        return Answer(np.zeros(3), self._position.copy(), velocity, starts)

    def _stop(self) -> np.ndarray:
        """Sets the velocity of the mass to zero; returns the zero vector (3,) [m/s]."""
        assert isinstance(self.model, FrictionModel)
        self.model.restore({"velocity": np.zeros(self.model.dimension)})
        return np.zeros(3)

    @property
    def state(self) -> FrictionOutput:
        """State after the last step; vectors along x, y, z with inputs, along the model's axes without inputs."""
        model = self.model
        velocity, force = model.velocity, model.force if model.kind == "impedance" else model.friction_force
        if self._embedded:
            parts, (velocity, force) = (velocity, force), np.zeros((2, 3))
            velocity[self._axes], force[self._axes] = parts
        return FrictionOutput(velocity, force, model.displacement, [model.sticking], model.dissipated_energy)


def _joined(surfaces: Sequence[Surfaces]) -> Surfaces:
    """Joins all surfaces to one set; surfaces without velocities are at rest."""
    if len(surfaces) == 1:
        return surfaces[0]
    moving = [s.velocities if len(s.velocities) else np.zeros((len(s.forces), 3)) for s in surfaces]
    return Surfaces(
        np.concatenate([s.normals for s in surfaces]),
        np.concatenate([s.forces for s in surfaces]),
        np.concatenate(moving),
    )


__getattr__ = renamed(__name__, {"command_mode": "haptic_friction.settings:command_mode"})
