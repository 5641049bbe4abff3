"""The computation of the network node, without ROS: bodies and contacts on a base that the tool moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from haptic_friction.factory import make_network
from haptic_friction.network import BASE, ContactNetwork
from haptic_friction.renderer import FrictionOutput


class NetworkRenderer:
    """A network of bodies and frictional contacts whose base moves with the tool along one axis.

    Args:
        network: network of dimension 1.
        on_base: factor of each contact's force f on the base: -1, 0 or 1, shape (contacts,).
        axis: number of the axis.
    """

    def __init__(self, network: ContactNetwork, *, on_base: ArrayLike, axis: int = 0) -> None:
        self.network, self._axis, self._on_base = network, axis, np.asarray(on_base, dtype=float)

    @classmethod
    def from_parameters(cls, values: Mapping[str, Any]) -> NetworkRenderer:
        """Makes the renderer that the parameters of the network node describe; ValueError names a bad one."""
        partners = zip(values["contact_first"], values["contact_second"], strict=False)
        on_base = -np.array([float(first == BASE) - float(second == BASE) for first, second in partners])
        return cls(make_network(values), on_base=on_base, axis="xyz".index(values["axis"]))

    def reset(self) -> None:
        """Sets all bodies at rest and all contacts relaxed."""
        self.network.reset()

    def step(self, *, velocity: Sequence[float] | np.ndarray) -> np.ndarray:
        """Advances one period with the velocity of the tool (3,) [m/s]; returns the force on the tool (3,) [N]."""
        force = self.network.step([velocity[self._axis]])
        answer = np.zeros(3)
        answer[self._axis] = float(self._on_base @ force[:, 0])
        return answer

    @property
    def state(self) -> FrictionOutput:
        """State after the last step, one entry per contact; velocities are relative."""
        network, elements = self.network, self.network.elements
        return FrictionOutput(
            network.relative_velocity[:, 0].copy(),
            network.force[:, 0].copy(),
            elements.row("displacement")[:, 0].copy(),
            elements.sticking.tolist(),
            float(elements.dissipated_energy.sum()),
        )
