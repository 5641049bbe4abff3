"""Many independent elements at once, and elements in parallel (Iwan; generalised Maxwell slip).

The elements of a batch share the model's compiled loop and the kind of law; force, stiffness and all
other numbers may differ between elements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from haptic_friction.laws import LARGEST, CoulombLaw, checked
from haptic_friction.models.model import FrictionModel, ImpedanceModel
from haptic_friction.models.model_c import ModelC
from haptic_math.quantities import float_array


class Batch:
    """Independent elements of one kind of model, stepped together.

    Args:
        models: the elements; the batch copies their parameters and their present state.
        count: number of copies of a single model, which share one row of parameters.

    Attributes:
        states: (m, rows, dimension), the rows named by `rows`.
        sticking: flags of the contacts that stuck in the last step, shape (m,).
        dissipated_energy: work of each friction force since the start [J], shape (m,).

    Raises:
        ValueError: the elements differ in model, kind of law, dimension or period.

    Examples:
        >>> from haptic_friction import Batch, CoulombLaw, ModelC
        >>> batch = Batch(ModelC(CoulombLaw(2.0), stiffness=1e4, damping=0.0, period=1e-3), count=3)
        >>> batch.step([[0.01], [0.1], [1.0]]).round(6).tolist()
        [[0.1], [1.0], [2.0]]
    """

    def __init__(self, models: FrictionModel | Sequence[FrictionModel], count: int | None = None) -> None:
        elements = [models] if isinstance(models, FrictionModel) else list(models) if np.iterable(models) else []
        are_models = bool(elements) and all(isinstance(element, FrictionModel) for element in elements)
        is_count = len(elements) == 1 and isinstance(count, (int, np.integer)) and count > 0
        if not are_models or not (count is None or is_count):
            raise ValueError(
                "models: expected one model and a count from 1, or a sequence of models, "
                f"got {models!r} and count {count!r}"
            )
        first = elements[0]
        for element in elements:
            if _signature(element) != _signature(first):
                raise ValueError(
                    "models: expected elements of one model, kind of law, dimension and period, "
                    f"got {first!r} and {element!r}"
                )
        self.rows, self.kernel, self.dimension = first.rows, first.kernel, first.dimension
        self.input_name = first.input_name
        m = count or len(elements)
        self.states = np.concatenate([element._state for element in elements])
        if count is not None:
            self.states = np.repeat(self.states, m, axis=0)
        self.sticking = np.resize(np.concatenate([element._sticking for element in elements]), m)
        self.dissipated_energy = np.zeros(m)
        self._models = elements  # keep alive the compiled functions at the addresses in the coefficients
        self._arguments = (
            first.law.kernel_code,
            np.stack([element.law.coefficients for element in elements]),
            np.stack([element.constants for element in elements]),
        )
        self._zero = (0.0,) * self.dimension

    def __repr__(self) -> str:
        return f"Batch of {len(self)} elements, the first {self._models[0]!r}"

    def __len__(self) -> int:
        return len(self.states)

    def row(self, name: str) -> np.ndarray:
        """Returns one quantity of all elements, e.g. "displacement" [m], as a view of shape (m, dimension)."""
        if name not in self.rows:
            raise ValueError(f"row: expected one of {', '.join(self.rows)}, got {name!r}")
        return self.states[:, self.rows.index(name)]

    def simulate(self, inputs: ArrayLike) -> np.ndarray:
        """Advances every element over its own inputs.

        Args:
            inputs: of the model's `step`, shape (m, n, dimension).

        Returns:
            Outputs of the model's `step`, shape (m, n, dimension).

        Raises:
            ValueError: wrong shape, or a number that is not finite; the states are unchanged.
        """
        given = float_array(self.input_name, inputs, f"({len(self)}, n, {self.dimension})")
        values = np.require(given, requirements=["C", "W"])  # else the kernel is compiled anew
        if values.ndim != 3 or values.shape[0] != len(self) or values.shape[2] != self.dimension:
            raise ValueError(
                f"{self.input_name}: expected shape ({len(self)}, n, {self.dimension}), got {values.shape}"
            )
        if not (np.abs(values) < LARGEST).all():
            raise ValueError(f"{self.input_name}: expected finite numbers below {LARGEST:g}, got some that are not")
        outputs = np.empty_like(values)
        if values.shape[1]:
            self.kernel(
                *self._arguments, values, self.states, outputs, self.sticking, self.dissipated_energy, self._zero
            )
        return outputs

    def step(self, values: ArrayLike) -> np.ndarray:
        """Advances every element one period; shape (m, dimension) in and out, see `simulate`."""
        inputs = float_array(self.input_name, values, (len(self), self.dimension))
        if inputs.ndim != 2:
            raise ValueError(f"{self.input_name}: expected shape ({len(self)}, {self.dimension}), got {inputs.shape}")
        return self.simulate(inputs[:, None])[:, 0]


def _signature(model: FrictionModel) -> tuple[object, ...]:
    law = (model.law.code, len(model.law.coefficients))
    return type(model).__name__, model.kernel.__name__, len(model.constants), *law, model.dimension, model.period


class ParallelElements:
    """Impedance elements that share the velocity of their free end; their forces add.

    A few elements of model C with different breakaway forces and stiffnesses have a presliding hysteresis, which a
    single element lacks (Iwan 1966; future work of Kikuuwe et al., section VI).

    Args:
        elements: models C or B (any impedance) of one kind, see `Batch`.

    Attributes:
        batch: the elements.
        elastic_stiffness: stiffness [N/m] of the elements, shape (m,), by name of the elastic row of the state.

    Examples:
        >>> import numpy as np
        >>> from haptic_friction import ParallelElements
        >>> elements = ParallelElements.from_loading_curve([1e-3, 3e-3], [1.0, 2.0], period=1e-3)
        >>> elements.simulate(np.full((10, 1), 1.0))[-1].round(6).tolist()  # all slide
        [2.0]
    """

    kind = "impedance"

    def __init__(self, elements: Sequence[ImpedanceModel]) -> None:
        if not np.iterable(elements) or any(getattr(element, "kind", "") != "impedance" for element in elements):
            raise ValueError(f"elements: expected impedance models (velocity in, force out), got {elements!r}")
        self.batch = Batch(elements)
        self.dimension, self.period = self.batch.dimension, elements[0].period
        self.input_name = "velocity"
        self.law = elements[0].law
        stiffness = [element.elastic_stiffness for element in elements]
        self.elastic_stiffness = {name: np.array([K[name] for K in stiffness]) for name in stiffness[0]}
        self._force, self._velocity = np.zeros(self.dimension), np.zeros(self.dimension)

    def __repr__(self) -> str:
        return f"ParallelElements: {self.batch!r}"

    @classmethod
    def from_loading_curve(
        cls, displacement: ArrayLike, force: ArrayLike, *, damping_time: float = 0.0, period: float, dimension: int = 1
    ) -> ParallelElements:
        """Makes elements of model C with Coulomb's law whose first loading follows a measured curve.

        Between two points the slope of the curve is the sum of the stiffnesses of the elements that still
        stick: element j has K_j = (slope before point j) - (slope after it) and slips from point j on, so
        F_j = K_j e_j. Unloading then follows Masing's rule, the curve doubled.

        Args:
            displacement: e_j [m], shape (n,), rising, above 0; the curve starts at (0, 0).
            force: force at these displacements [N], shape (n,), rising, concave.
            damping_time: B/K of every element [s], not negative.
            period: T [s].
            dimension: number of components.

        Raises:
            ValueError: the curve is not rising and concave from the origin.
        """
        points = [
            float_array(name, values, "(n,)") for name, values in (("displacement", displacement), ("force", force))
        ]
        if (
            points[0].ndim != 1
            or points[0].shape != points[1].shape
            or not len(points[0])
            or not np.isfinite(points).all()
        ):
            raise ValueError(
                f"displacement, force: expected one or more finite points each, got {points[0]} and {points[1]}"
            )
        x, f = (np.concatenate(([0.0], values)) for values in points)
        if not (np.diff(x) > 0.0).all():
            raise ValueError(f"displacement: expected rising values above 0 [m], got {x[1:]}")
        slope = np.append(np.diff(f) / np.diff(x), 0.0)
        stiffness = -np.diff(slope)
        if not (stiffness > 0.0).all():
            raise ValueError(f"force: expected a rising, strictly concave curve from (0, 0) [N], got {f[1:]}")
        ratio = checked("damping_time", damping_time, "s")
        return cls(
            [
                ModelC(CoulombLaw(K * e), stiffness=K, damping=ratio * K, period=period, dimension=dimension)
                for K, e in zip(stiffness.tolist(), x[1:].tolist(), strict=True)
            ]
        )

    def reset(self) -> None:
        """Starts again with all elements relaxed."""
        self.batch.states[:] = 0.0
        self.batch.sticking[:] = True
        self.batch.dissipated_energy[:] = 0.0
        self._force[:] = 0.0
        self._velocity[:] = 0.0

    def step(self, velocity: ArrayLike) -> np.ndarray:
        """Advances one period with the velocity u [m/s], shape (dimension,); returns the sum of the forces [N]."""
        u = float_array("velocity", velocity, (self.dimension,))
        if u.shape != (self.dimension,):
            raise ValueError(f"velocity: expected shape ({self.dimension},), got {u.shape}")
        return self.simulate(u[None])[0]

    def simulate(self, velocities: ArrayLike) -> np.ndarray:
        """Advances over velocities u [m/s], shape (n, dimension); returns forces [N] of the same shape."""
        u = float_array("velocity", velocities, f"(n, {self.dimension})")
        if u.ndim != 2 or u.shape[1] != self.dimension:
            raise ValueError(f"velocity: expected shape (n, {self.dimension}), got {u.shape}")
        forces = self.batch.simulate(np.broadcast_to(u, (len(self.batch), *u.shape))).sum(axis=0)
        if len(u):
            self._force, self._velocity = forces[-1].copy(), u[-1].copy()
        return forces

    @property
    def state(self) -> dict[str, np.ndarray]:
        """Rows of the state by name, on which the next step depends, shape (m, dimension) each, copies."""
        return {name: self.batch.row(name).copy() for name in self.batch.rows}

    def restore(self, state: Mapping[str, ArrayLike]) -> None:
        """Sets the state to an earlier value of `state`; flags and energy stay.

        Raises:
            ValueError: an unknown name, a wrong shape, or a number that is not finite; nothing is changed.
        """
        if not isinstance(state, Mapping):
            raise ValueError(f"state: expected an earlier value of `state`, got {state!r}")
        values = {}
        for name, value in state.items():
            array = float_array(name, value, self.batch.row(name).shape)
            if array.shape != self.batch.row(name).shape or not np.isfinite(array).all():
                raise ValueError(f"{name}: expected finite numbers, shape {self.batch.row(name).shape}, got {value!r}")
            values[name] = array
        for name, array in values.items():
            self.batch.row(name)[:] = array

    @property
    def velocity(self) -> np.ndarray:
        """Velocity of the shared free end in the last step [m/s], shape (dimension,), a copy."""
        return self._velocity.copy()

    @property
    def force(self) -> np.ndarray:
        """Sum of the forces of the last step [N], shape (dimension,), a copy."""
        return self._force.copy()

    @property
    def friction_force(self) -> np.ndarray:
        """The same as `force`."""
        return self._force.copy()

    @property
    def displacement(self) -> np.ndarray:
        """Elastic displacements e [m] of all elements one after the other, shape (m dimension,), a copy.

        For an admittance behind a compliance, e is the elongation of the compliance; zero for rigid elements.
        """
        for name in ("stretch", "displacement"):
            if name in self.batch.rows:
                return self.batch.row(name).ravel().copy()
        return np.zeros(len(self.batch) * self.dimension)

    @property
    def sliding_velocity(self) -> np.ndarray:
        """Velocity of the shared free end where all elements slide, else zero [m/s], shape (dimension,)."""
        return np.zeros(self.dimension) if self.sticking else self._velocity.copy()

    @property
    def sticking(self) -> bool:
        """True if at least one element sticks, so that the contact does not slide as a whole."""
        return bool(self.batch.sticking.any())

    @property
    def dissipated_energy(self) -> float:
        """Work of the friction forces of all elements since the reset [J]."""
        return float(self.batch.dissipated_energy.sum())
