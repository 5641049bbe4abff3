"""The base of the friction models: input checks, stepping, compiled simulation, coupling.

A model is a law, a row of constants and a compiled loop over a state of named rows (its `kernel`, see
`haptic_friction.models.kernel`). An *impedance* takes the velocity u of its free end and returns a force; an
*admittance* takes a force h and returns a velocity. `WithMass` and `WithCompliance` convert one into the other as in
Fig. 12 of Kikuuwe et al., with the output of the coupled element in the step before.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from haptic_friction.laws import (
    LARGEST,
    FrictionLaw,
    checked,
    checked_law,
    constructor_parameters,
    fixed_attribute,
)
from haptic_math.quantities import float_array


class FrictionModel(ABC):
    """A friction element with a law, a period and a state.

    Args:
        law: friction law Phi.
        period: T [s], above 0.
        dimension: number of components n of velocity, displacement and force.
        constants: arguments of the kernel after T and the coupling.

    Attributes:
        kind: "impedance" (velocity in, force out) or "admittance" (force in, velocity out).
        rows: names of the state's rows; the first two are always velocity and force of the port.
        sticking: true if the contact stuck in the last step.
        dissipated_energy: work of the friction force on the sliding velocity since the reset [J]; for a model without
            a sliding velocity, work of the force at the port.
        load: factor of the law, see `set_load`.

    Raises:
        ValueError: a parameter is out of its range; the message names it.
        AttributeError: a parameter is assigned to later; the parameters are fixed when a model is made.

    Examples:
        >>> from haptic_friction import CoulombLaw, FrictionModel, ModelA
        >>> model: FrictionModel = ModelA(CoulombLaw(2.0), mass=1.0, period=1e-3)
        >>> model.kind, model.input_name
        ('admittance', 'force')
        >>> saved = model.state
        >>> model.step([3.0]).round(6).tolist()  # (3 N - 2 N)/1 kg for 1 ms
        [0.001]
        >>> model.restore(saved)
        >>> model.velocity.tolist()
        [0.0]
    """

    kind: ClassVar[str]
    rows: tuple[str, ...]
    kernel: Callable[..., None]

    def __init__(self, law: FrictionLaw, period: float, dimension: int, constants: ArrayLike) -> None:
        if not 1 <= dimension < math.inf or dimension != int(dimension):
            raise ValueError(f"dimension: expected a whole number from 1, got {dimension}")
        checked_law(law).check_dimension(int(dimension))
        self.law = law
        self.period = checked("period", period, "s", positive=True)
        self.dimension = int(dimension)
        self.constants = np.concatenate(([self.period, 0.0, 0.0], np.asarray(constants, dtype=float)))
        n = self.dimension
        self._zero = (0.0,) * n
        self._state = np.zeros((1, len(self.rows), n))
        elastic = ("displacement", "stretch")
        self._elastic_rows = [(name, row) for row, name in enumerate(self.rows) if name.endswith(elastic)]
        self._input, self._output = np.zeros((1, 1, n)), np.zeros((1, 1, n))
        self._sticking, self._energy = np.ones(1, dtype=bool), np.zeros(1)
        self._arguments = (law.kernel_code, law.coefficients[None].copy(), self.constants[None])
        self.load = 1.0

    def __setattr__(self, name: str, value: object) -> None:
        if name in self.__dict__ and name in constructor_parameters(type(self)):
            raise fixed_attribute(self, name)
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        given = [(name, getattr(self, name, None)) for name in constructor_parameters(type(self))]
        return f"{type(self).__name__}({', '.join(_shown(name, value) for name, value in given if value is not None)})"

    def set_load(self, load: float) -> None:
        """Scales the law from the next step on: Phi' = load Phi, e.g. of a law Phi per newton of normal force.

        The state stays. A load below 1e-9 counts as 1e-9, because a law without force has no direction.

        Args:
            load: not negative.

        Raises:
            ValueError: the load is negative or not finite, the law cannot be scaled (`FunctionLaw`), or it is so steep
                that Phi'_Z does not exist (15); nothing is changed.
        """
        factor, forces = max(checked("load", load, "-"), 1e-9), self.law.forces
        if forces is None:
            raise ValueError(f"law: expected one that a load can scale, got {type(self.law).__name__}")
        projecting = getattr(self, "model", self)  # of `WithMass`, `WithCompliance`
        if hasattr(projecting, "Z"):
            self.law.check_existence(factor * projecting.Z)
        np.multiply(self.law.coefficients, factor, out=self._arguments[1][0], where=forces)
        self.load = factor

    @property
    def input_name(self) -> str:
        """Name of the input of `step`: "velocity" [m/s] or "force" [N]."""
        return "velocity" if self.kind == "impedance" else "force"

    def step(self, value: ArrayLike) -> np.ndarray:
        """Advances one period.

        Args:
            value: velocity u [m/s] of an impedance, force h [N] of an admittance, shape (dimension,).

        Returns:
            Force [N] of an impedance in the direction of u (-f acts on the body that moves with u), velocity [m/s] of
            an admittance, shape (dimension,).

        Raises:
            ValueError: wrong shape, or a number that is not finite; the state is unchanged.
        """
        self._input[0, 0] = self._vector(self.input_name, value)
        self.kernel(*self._arguments, self._input, self._state, self._output, self._sticking, self._energy, self._zero)
        return self._output[0, 0].copy()

    def simulate(self, inputs: ArrayLike) -> np.ndarray:
        """Advances over an array of inputs in one compiled loop.

        Args:
            inputs: of `step`, shape (n, dimension).

        Returns:
            Outputs, the same numbers as n calls of `step`, shape (n, dimension).

        Raises:
            ValueError: wrong shape, or a number that is not finite; the state is unchanged.
        """
        given = float_array(self.input_name, inputs, f"(n, {self.dimension})")
        values = np.require(given, requirements=["C", "W"])  # compiled for writeable arrays only
        if values.ndim != 2 or values.shape[1] != self.dimension:
            raise ValueError(f"{self.input_name}: expected shape (n, {self.dimension}), got {values.shape}")
        if not (np.abs(values) < LARGEST).all():
            raise ValueError(f"{self.input_name}: expected finite numbers below {LARGEST:g}, got some that are not")
        outputs = np.empty_like(values)
        if len(values):
            self.kernel(
                *self._arguments, values[None], self._state, outputs[None], self._sticking, self._energy, self._zero
            )
        return outputs

    @property
    def state(self) -> dict[str, np.ndarray]:
        """Rows of the state by name, on which the next step depends, shape (dimension,) each, copies."""
        return dict(zip(self.rows, self._state[0].copy(), strict=True))

    @property
    def elastic_state(self) -> dict[str, np.ndarray]:
        """Rows of the state that are elastic displacements [m], by name, shape (dimension,) each, copies."""
        return {name: self._state[0, row].copy() for name, row in self._elastic_rows}

    @property
    def elastic_stiffness(self) -> dict[str, float | np.ndarray]:
        """Stiffness [N/m] of the spring of each row of `elastic_state`, by name; 1 for a model without a spring."""
        return dict.fromkeys((name for name, _ in self._elastic_rows), getattr(self, "stiffness", 1.0))

    def restore(self, state: Mapping[str, ArrayLike]) -> None:
        """Sets the state to an earlier value of `state`; flags and energy stay.

        Raises:
            ValueError: a name that the model does not have, or a value that cannot be used; nothing is changed.
        """
        if not isinstance(state, Mapping):
            raise ValueError(f"state: expected an earlier value of `state`, got {state!r}")
        unknown = [name for name in state if name not in self.rows]
        if unknown:
            raise ValueError(f"{min(unknown)}: expected one of {', '.join(self.rows)}")
        values = {name: self._vector(name, value) for name, value in state.items()}
        for name, value in values.items():
            self._state[0, self.rows.index(name)] = value

    def clear(self) -> None:
        """Sets the state to zero; flags and energy stay."""
        self._state[:] = 0.0

    @abstractmethod
    def reset(self) -> None:
        """Starts again; the `reset` of each model takes the initial state."""

    def _restart(self, **state: ArrayLike | None) -> None:
        """Sets the given rows, all other rows and the energy to zero, and the flag of sticking to true."""
        before = self._state.copy()
        self._state[:] = 0.0
        try:
            self.restore({name: value for name, value in state.items() if value is not None})
        except ValueError:
            self._state[:] = before
            raise
        self._sticking[0] = True
        self._energy[0] = 0.0

    @property
    def sticking(self) -> bool:
        """True if the contact stuck in the last step, and after a reset."""
        return bool(self._sticking[0])

    @property
    def dissipated_energy(self) -> float:
        """Work of the friction force since the reset [J], see the class."""
        return float(self._energy[0])

    @dissipated_energy.setter
    def dissipated_energy(self, value: float) -> None:
        self._energy[0] = value

    def _row(self, name: str) -> np.ndarray:
        return self._state[0, self.rows.index(name)].copy()

    @property
    def velocity(self) -> np.ndarray:
        """Velocity of the port in the last step [m/s], shape (dimension,), a copy; of the mass for `WithCompliance`."""
        return self._state[0, 0].copy()

    @property
    def force(self) -> np.ndarray:
        """Force at the port in the last step [N], shape (dimension,), a copy; equal to f for a model without mass."""
        return self._state[0, 1].copy()

    @property
    def friction_force(self) -> np.ndarray:
        """Friction force f of the last step [N], shape (dimension,), a copy."""
        return self._row("friction_force" if "friction_force" in self.rows else "force")

    @property
    def displacement(self) -> np.ndarray:
        """Elastic displacement e [m], shape (dimension,), a copy; zero for a rigid model."""
        return self._row("displacement") if "displacement" in self.rows else np.zeros(self.dimension)

    @property
    def sliding_velocity(self) -> np.ndarray:
        """Velocity at the contact in the last step [m/s], exactly zero while sticking, a copy."""
        return self._row("sliding_velocity" if "sliding_velocity" in self.rows else "velocity")

    def _vector(self, name: str, value: ArrayLike) -> np.ndarray:
        vector = float_array(name, value, (self.dimension,))
        if vector.shape != (self.dimension,):
            raise ValueError(f"{name}: expected shape ({self.dimension},), got {vector.shape}")
        if not sum(map(abs, vector.tolist())) < LARGEST:  # also true for NaN
            raise ValueError(f"{name}: expected finite numbers below {LARGEST:g}, got {vector}")
        return vector


class ImpedanceModel(FrictionModel):
    """A model that takes the velocity u of its free end and returns a force.

    Examples:
        >>> from haptic_friction import CoulombLaw, ImpedanceModel, ModelC
        >>> isinstance(ModelC(CoulombLaw(2.0), stiffness=1e4, damping=0.0, period=1e-3), ImpedanceModel)
        True
    """

    kind = "impedance"


class AdmittanceModel(FrictionModel):
    """A model that takes a force h and returns a velocity.

    Examples:
        >>> from haptic_friction import AdmittanceModel, CoulombLaw, ModelA
        >>> isinstance(ModelA(CoulombLaw(2.0), mass=1.0, period=1e-3), AdmittanceModel)
        True
    """

    kind = "admittance"

    @abstractmethod
    def reset(self, *, velocity: ArrayLike | None = None) -> None:
        """Starts again from a velocity [m/s], shape (dimension,); zero if not given."""


def _check_part(model: FrictionModel, kind: str) -> None:
    """Refuses to couple a model of the other kind, or one that is coupled already: a kernel has one coupling only."""
    if not isinstance(model, FrictionModel) or model.kind != kind or model.constants[1:3].any():
        raise ValueError(f"model: expected an {kind} model that is not coupled, got {model!r}")


def _shown(name: str, value: object) -> str:
    """Returns an argument of a constructor as `repr` shows it."""
    if isinstance(value, (FrictionLaw, FrictionModel)):
        return repr(value)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return f"{name}={value:g}" if type(value) is float else f"{name}={value!r}"


class WithMass(AdmittanceModel):
    """An impedance model pulled through a mass: u_k = u_(k-1) + T/M (h_k - f_(k-1)), eq. (60).

    `WithMass(ModelC(...), mass=)` is the alternative to model D in Fig. 12(b). The mass takes the force of the step
    before, so the model is unstable for a high stiffness or a long period, see `haptic_friction.design`.

    Args:
        model: the impedance; its parameters are copied, its state is not.
        mass: M [kg], above 0.

    Examples:
        >>> import numpy as np
        >>> from haptic_friction import CoulombLaw, ModelC, WithMass
        >>> element = ModelC(CoulombLaw(2.0), stiffness=1e3, damping=10.0, period=1e-3)
        >>> model = WithMass(element, mass=1.0)
        >>> bool(abs(model.simulate(np.full((3000, 1), 1.5))[-1, 0]) < 1e-6)  # held by friction
        True
    """

    def __init__(self, model: ImpedanceModel, *, mass: float) -> None:
        _check_part(model, "impedance")
        self.model = model
        self.mass = checked("mass", mass, "kg", positive=True)
        self.rows, self.kernel = model.rows, model.kernel
        super().__init__(model.law, model.period, model.dimension, model.constants[3:])
        self.constants[1] = model.period / self.mass

    @property
    def elastic_stiffness(self) -> dict[str, float | np.ndarray]:
        """Stiffness [N/m] of the coupled model, see `FrictionModel.elastic_stiffness`."""
        return self.model.elastic_stiffness

    def reset(self, *, velocity: ArrayLike | None = None, **state: ArrayLike) -> None:
        """Starts again from a velocity u [m/s] and rows of the state by name: force [N], ...; zero if not given."""
        self._restart(velocity=velocity, **state)


class WithCompliance(ImpedanceModel):
    """An admittance model pulled through a spring and damper: the alternative to model B in Fig. 12(a).

    The model takes h_k = K e_k + B (u_k - v_(k-1)) with the elongation e_k = e_(k-1) + T (u_k - v_(k-1)).

    Args:
        model: the admittance; its parameters are copied, its state is not.
        stiffness: K [N/m], not negative.
        damping: B [N s/m], not negative; K and B are not both zero.

    Examples:
        >>> import numpy as np
        >>> from haptic_friction import CoulombLaw, ModelA, WithCompliance
        >>> model = WithCompliance(ModelA(CoulombLaw(2.0), mass=0.1, period=1e-3), stiffness=1e3, damping=5.0)
        >>> model.simulate(np.full((3000, 1), 0.1))[-1].round(4).tolist()
        [2.0]
    """

    def __init__(self, model: AdmittanceModel, *, stiffness: float, damping: float) -> None:
        _check_part(model, "admittance")
        self.model = model
        self.stiffness = checked("stiffness", stiffness, "N/m")
        self.damping = checked("damping", damping, "N s/m")
        if self.stiffness == 0.0 and self.damping == 0.0:
            raise ValueError("stiffness, damping: expected one above 0, got 0 for both")
        self.rows, self.kernel = model.rows, model.kernel
        super().__init__(model.law, model.period, model.dimension, model.constants[3:])
        self.constants[1:3] = self.stiffness, self.damping

    @property
    def elastic_stiffness(self) -> dict[str, float | np.ndarray]:
        """Stiffness [N/m] of the coupled model, and of the compliance for the row `stretch`."""
        return {**self.model.elastic_stiffness, "stretch": self.stiffness}

    @property
    def displacement(self) -> np.ndarray:
        """Elongation of the compliance [m], shape (dimension,), a copy."""
        return self._row("stretch")

    def reset(self, **state: ArrayLike) -> None:
        """Starts again from rows of the state by name: velocity v [m/s], stretch [m], ...; zero if not given."""
        self._restart(**state)
