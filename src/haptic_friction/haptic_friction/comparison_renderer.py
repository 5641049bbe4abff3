"""The computation of the comparison node, without ROS: several models side by side on one input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from haptic_friction.factory import make_model, parameters_of
from haptic_friction.models.model import AdmittanceModel
from haptic_friction.renderer import FrictionOutput
from haptic_friction.settings import Model


class ComparisonRenderer:
    """Models side by side on one input along one axis; their forces do not act on the tool.

    Args:
        models: models of dimension 1.
        axis: number of the axis.
        impedance: true if the models take the tool's velocity, false if they take the force of the user.
        initial_velocity: start velocity of admittances [m/s].
    """

    def __init__(
        self,
        models: Sequence[Model],
        *,
        axis: int = 0,
        impedance: bool = False,
        initial_velocity: float = 0.0,
    ) -> None:
        self.models, self._axis, self._impedance = list(models), axis, impedance
        self._initial_velocity, self._value = initial_velocity, np.zeros(1)
        self.reset()

    @classmethod
    def from_parameters(cls, values: Mapping[str, Any], *, compiled: bool = True) -> ComparisonRenderer:
        """Makes the renderer that the parameters of the comparison node describe; ValueError names a bad one.

        Args:
            values: values by name of the parameter.
            compiled: true compiles the loops before the first step; false only checks the parameters.
        """
        own = [parameters_of(values, index) for index in range(len(values["models"]))]
        models = [make_model(parameters, dimension=1, compiled=compiled) for parameters in own]
        return cls(
            models,
            axis="xyz".index(values["axis"]),
            impedance=values["rendering"] == "impedance",
            initial_velocity=values["initial_velocity"],
        )

    def reset(self) -> None:
        """Starts again without displacement; admittances start with their initial velocity."""
        for model in self.models:
            if isinstance(model, AdmittanceModel):
                model.reset(velocity=[self._initial_velocity])
            else:
                model.reset()

    def step(
        self,
        *,
        velocity: Sequence[float] | np.ndarray | None = None,
        force: Sequence[float] | np.ndarray | None = None,
    ) -> None:
        """Advances one period: velocity of the tool [m/s] or force of the user [N], shape (3,)."""
        given = velocity if self._impedance else force
        if given is None:
            raise ValueError(f"{'velocity' if self._impedance else 'force'}: expected three numbers, got None")
        self._value[0] = given[self._axis]
        for model in self.models:
            model.step(self._value)

    @property
    def state(self) -> FrictionOutput:
        """State after the last step, one entry per model; for parallel elements the first displacement."""
        models = self.models
        return FrictionOutput(
            np.array([model.velocity[0] for model in models]),
            np.array([model.force[0] if self._impedance else model.friction_force[0] for model in models]),
            np.array([model.displacement[0] for model in models]),
            [model.sticking for model in models],
            sum(model.dissipated_energy for model in models),
        )
