"""Names of before `WallRenderer` had safe stops; they work as they did and warn."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from tau_wall_control.control.controller import WallController
from tau_wall_control.errors import SafeStopError
from tau_wall_control.walls.holding import HoldingWall
from tau_wall_control.walls.planes import MovingPlanes
from tau_wall_control.walls.renderer import WallRenderer
from tau_wall_control.walls.sliding import SlidingWalls

__all__ = ["GuardedWalls", "SafeStopError", "make_walls"]


class GuardedWalls:
    """A `WallRenderer` with safe stops whose step returns the torques alone; use `WallRenderer`."""

    def __init__(
        self, renderer: WallRenderer | SlidingWalls | HoldingWall, *, longest_saturation: int, stacklevel: int = 2
    ) -> None:
        warnings.warn("GuardedWalls is deprecated; use WallRenderer", DeprecationWarning, stacklevel=stacklevel)
        self.renderer = renderer._walls if isinstance(renderer, WallRenderer) else renderer
        self._guarded = WallRenderer.around(self.renderer, longest_saturation=longest_saturation)
        self._guarded._compile()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._guarded, {"restart": "reset", "stiffness": "rendered_stiffness"}.get(name, name))

    @property
    def count(self) -> float:
        """`TauDevice.tool_resolution`."""
        return self._guarded.device.tool_resolution

    def take_over(self, old: GuardedWalls) -> None:
        """As `WallRenderer.take_over`."""
        self._guarded.take_over(old._guarded)

    def step(
        self, theta: np.ndarray, rate: np.ndarray, *, obeys: bool = True, planes: MovingPlanes | None = None
    ) -> np.ndarray:
        """Returns the torques of `WallRenderer.step`."""
        return self._guarded.step(theta, rate, planes, obeys=obeys).torque


def make_walls(p: Mapping[str, Any], controller: WallController | None = None, *, moving: bool = False) -> GuardedWalls:
    """Returns the walls of the node's parameters; use `WallRenderer.from_parameters`."""
    made = WallRenderer.from_parameters(p, controller=controller, moving=moving)
    assert made._longest is not None
    return GuardedWalls(made, longest_saturation=made._longest, stacklevel=3)
