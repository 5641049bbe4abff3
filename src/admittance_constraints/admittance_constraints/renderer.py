"""The constraint renderer: the computation of a tick of `constraint_node`, NumPy in and out, without ROS."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from admittance_constraints.display.approach import ToolMotion
from admittance_constraints.display.controller import AdmittanceController
from admittance_constraints.display.external import ContactForces, ExternalForces, FrictionForce
from admittance_constraints.display.factory import REFERENCE_PARAMETERS, make_controller, make_external
from admittance_constraints.generation.reference_generator import Reference
from admittance_constraints.model.drawing import Canvas
from haptic_files import ParameterValues, parse_entries


class ConstraintState(NamedTuple):
    """State of a renderer between two ticks, as the node publishes it.

    The vectors and numbers are zero until the mechanism has moved for the first time.

    Attributes:
        motion: of the reference, without the correction of the feedback, base frame; None before the first tick.
        z: parameters of the submanifold, shape (nz,).
        z_velocity: their rates, shape (nz,).
        q: coordinates of the mechanism, shape (n,).
        q_velocity: their rates, shape (n,).
        q_acceleration: their second derivatives at the beginning of the step, shape (n,); (13).
        multipliers: constraint forces lambda at the beginning of the step, shape (m,); (11).
        kinetic_energy: of the mechanism [J].
        constraint_residual: largest |H'| of the holonomic constraints, in their units.
        friction_converged: false if the forces of two friction elements did not converge in the last step.

    Examples:
        >>> from admittance_constraints import AdmittanceController, ConstraintRenderer, Pendulum, ReferenceGenerator
        >>> generator = ReferenceGenerator(Pendulum(mass=0.5, length=0.2), period=1e-3)
        >>> renderer = ConstraintRenderer(AdmittanceController(generator, approach_time=0.0))
        >>> _ = renderer.step([0.0, 0.0, -0.2, 0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
        >>> renderer.state.q_acceleration.round(3).tolist()  # F/(m l)
        [10.0]
    """

    motion: ToolMotion | None
    z: np.ndarray
    z_velocity: np.ndarray
    q: np.ndarray
    q_velocity: np.ndarray
    q_acceleration: np.ndarray
    multipliers: np.ndarray
    kinetic_energy: float
    constraint_residual: float
    friction_converged: bool = True


#: names of the vectors of `ConstraintState`, which are also names of fields of `Reference`
VECTORS = ("z", "z_velocity", "q", "q_velocity", "q_acceleration", "multipliers")


class ConstraintRenderer:
    """Renders a constrained mechanism on an admittance display.

    `step` is called once per control period. Between two steps the renderer can be reset, and its parameters can
    change: `with_parameters` makes another renderer and leaves this one as it is; `take_over` then continues from the
    state of this one. `change_parameters` does both.

    Args:
        controller: with generator, placement and feedback.
        external: forces of a simulated world on the tool; without them `step` accepts neither contacts nor frictions.
        values: parameters from which both were made, by name.

    Attributes:
        controller: see the argument.

    Examples:
        >>> import numpy as np
        >>> from admittance_constraints import AdmittanceController, ConstraintRenderer, Pendulum, ReferenceGenerator
        >>> generator = ReferenceGenerator(Pendulum(length=0.2), period=1e-3)
        >>> renderer = ConstraintRenderer(AdmittanceController(generator, approach_time=0.0))
        >>> pose = np.array([0.0, 0.0, -0.2, 0.0, 0.0, 0.0, 1.0])
        >>> for _ in range(50):  # a display that follows exactly; the hand pulls to the side and downwards
        ...     pose = renderer.step(pose, [1.0, 1.0, -1.0, 0.0, 0.0, 0.0]).pose
        >>> round(float(np.linalg.norm(pose[:3])), 6), float(pose[1])  # the tool stays on the circle
        (0.2, 0.0)
    """

    def __init__(
        self,
        controller: AdmittanceController,
        external: ExternalForces | None = None,
        values: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(controller, AdmittanceController):
            raise ValueError(f"controller: expected an AdmittanceController, got {controller!r}")
        self.controller = controller
        self._external = external
        self._values = None if values is None else dict(values)
        m = controller.generator.mechanism
        sizes = (*[m.parameter_dimension] * 2, *[m.dimension] * 3, len(m.constraint_names))
        self._zeros = {name: np.zeros(size) for name, size in zip(VECTORS, sizes, strict=True)}
        for vector in self._zeros.values():
            vector.setflags(write=False)

    def __repr__(self) -> str:
        return f"ConstraintRenderer({self.controller!r})"

    @classmethod
    def from_parameters(cls, values: Mapping[str, Any]) -> ConstraintRenderer:
        """Makes a renderer from the parameters of constraint_node.yaml, and `period` [s]; others are ignored.

        Raises:
            ValueError: a parameter is missing or refused; the message names it.
        """
        return cls._made(ParameterValues(values), None)

    def with_parameters(self, values: Mapping[str, Any]) -> ConstraintRenderer:
        """Makes a renderer with other parameters, at its start. This one does not change.

        Both use one reference generator unless one of `REFERENCE_PARAMETERS` differs, since to derive and compile
        a generator takes longer than the watchdog of a device. From then on step only one of the two.

        Raises:
            ValueError: a parameter is refused; the message names it.
        """
        return self._made(values, self)

    @classmethod
    def _made(cls, values: Mapping[str, Any], old: ConstraintRenderer | None) -> ConstraintRenderer:
        given = values["mechanism_parameters"]
        try:
            entries = parse_entries(given)
        except ValueError as error:
            raise ValueError(f"parameter mechanism_parameters: {error}") from None
        external = make_external(values)
        generator = None
        if old is not None and old._values is not None:
            before = old._values
            if all(values[name] == before[name] for name in REFERENCE_PARAMETERS):
                generator = old.controller.generator
        arguments = {name: value for name, (value, _) in entries.items()}
        return cls(make_controller(values, arguments, generator), external, values)

    def take_over(self, old: ConstraintRenderer) -> None:
        """Continues from the state of another renderer, or starts anew where the tool would jump."""
        self.controller.take_over(old.controller)

    def change_parameters(self, values: Mapping[str, Any]) -> None:
        """Changes all parameters at once; the motion goes on as in `take_over`.

        Raises:
            ValueError: a parameter is refused; the message names it, and nothing has changed.
        """
        changed = self.with_parameters(values)
        changed.take_over(self)
        self.__dict__.update(changed.__dict__)

    def reset(self) -> None:
        """Forgets the motion: the reference starts anew at the next step, next to where the tool is then."""
        self.controller.restart()

    # --- a tick ---------------------------------------------------------------------------------------------

    def step(
        self,
        pose: ArrayLike,
        wrench: ArrayLike,
        *,
        contacts: Iterable[ContactForces] | None = None,
        frictions: Iterable[FrictionForce] | None = None,
        follows: bool = True,
    ) -> ToolMotion:
        """Computes the commanded motion for one tick of the display.

        Args:
            pose: measured pose of the tool, base frame, shape (7,): position [m] and quaternion (x, y, z, w).
            wrench: measured [force; moment] of the user on the tool at the tool point, base frame [N; N m], shape (6,).
            contacts: contacts of a simulated world from the tick before; None if none are connected. They have no
                effect before the first motion, because they belong to no reference.
            frictions: friction forces from the tick before, with the same rules.
            follows: false while the display does not follow commands, see `AdmittanceController.step`.

        Returns:
            Motion to command: pose, twist and acceleration of the tool. The correction of the feedback is in
            twist and acceleration; the pose is commanded only if `commands_pose`.

        Raises:
            ValueError: an argument cannot be used; nothing has changed.
            SingularConfigurationError: the mechanism has no unique motion here; the reference has not moved.
        """
        external, motion = None, self.controller.motion
        if motion is not None and not (contacts is None and frictions is None):
            if self._external is None:
                raise ValueError("contacts, frictions: expected none, since the renderer has no external forces")
            # they were found with the reference of the tick before
            external = self._external.wrench(contacts or (), frictions or (), motion.pose[:3])
        return self.controller.step(pose, wrench, external=external, follows=follows)

    @property
    def commands_pose(self) -> bool:
        """True if the display closes the loop on the pose; otherwise it follows twist and acceleration only."""
        return self.controller.feedback is None

    @property
    def reference(self) -> Reference | None:
        """Last step of the reference generator; None before the first."""
        return self.controller.reference

    @property
    def sizes(self) -> dict[str, int]:
        """Length of each vector of the state, by name."""
        return {name: vector.size for name, vector in self._zeros.items()}

    @property
    def state(self) -> ConstraintState:
        """State after the last step. Its arrays do not change later."""
        r, motion = self.controller.reference, self.controller.motion
        if r is None:
            return ConstraintState(
                motion, **self._zeros, kinetic_energy=0.0, constraint_residual=0.0, friction_converged=True
            )
        return ConstraintState(
            motion,
            r.z,
            r.z_velocity,
            r.q,
            r.q_velocity,
            r.q_acceleration,
            r.multipliers,
            r.kinetic_energy,
            r.holonomic_residual,
            r.friction_converged,
        )

    def draw(self, canvas: Canvas) -> None:
        """Draws the mechanism at its reference, in its spatial frame; nothing before the first step."""
        if self.controller.reference is not None:
            self.controller.generator.mechanism.draw(canvas, self.controller.reference.q)
