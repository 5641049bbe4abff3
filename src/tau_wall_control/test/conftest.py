"""What the tests of the TAU device and its walls share."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tau_wall_control import Plane, TauDevice, WallController, WallRenderer, WallState, design_wall_controller
from tau_wall_control.device.parameters import TauParameters
from tau_wall_control.device.rotations import rotation_from_angles
from tau_wall_control.walls import factory

DATA = Path(__file__).with_name("data")


@pytest.fixture(scope="session")
def device() -> TauDevice:
    return TauDevice.default()


@pytest.fixture(scope="session")
def reference() -> dict[str, Any]:
    return json.loads((DATA / "tau_reference.json").read_text())


@pytest.fixture(scope="session")
def design(device: TauDevice) -> Callable[..., WallController]:
    """design_wall_controller for the stand-in, each design made once."""
    made: dict[str, WallController] = {}

    def make(scheme: str, **options: Any) -> WallController:
        key = f"{scheme} {sorted(options.items())}"
        if key not in made:
            made[key] = design_wall_controller(device, scheme, **options)
        return made[key]

    return make


@dataclass
class Poses:
    """Random states of the workspace, orientations within 20 degrees."""

    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def pose(self) -> tuple[np.ndarray, np.ndarray]:
        return self.random.uniform(-0.025, 0.025, 3), rotation_from_angles(self.random.uniform(-0.35, 0.35, 3))

    def state(self) -> tuple[np.ndarray, ...]:
        """Position, rotation, twist, torque, wrench."""
        twist = self.random.normal(size=6) * [0.3, 0.3, 0.3, 5.0, 5.0, 5.0]
        wrench = self.random.normal(size=6) * [10.0, 10.0, 10.0, 0.1, 0.1, 0.1]
        return *self.pose(), twist, self.random.normal(size=6) * 0.5, wrench


@pytest.fixture
def poses() -> Poses:
    return Poses()


@dataclass
class Log:
    """Rows of a run with walls: time, true position and velocity, what the walls said, acting torque."""

    time: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    walls: list[WallState]
    torque: np.ndarray

    def depth(self, plane: Plane) -> np.ndarray:
        return (np.array(plane.point) - self.position) @ np.array(plane.normal)

    @property
    def push(self) -> np.ndarray:
        return np.array([w.push.sum() for w in self.walls])

    @property
    def contact(self) -> np.ndarray:
        return np.array([w.in_contact.any() for w in self.walls])


Hand = Callable[[float, np.ndarray, np.ndarray], Sequence[float] | np.ndarray]


@pytest.fixture
def play(device: TauDevice) -> Callable[..., Log]:
    """A hand's force(t, position, velocity) on the tool against walls; its wrist holds the orientation softly."""

    def run(
        renderer: Any,
        start: Sequence[float],
        hand: Hand,
        duration: float,
        *,
        velocity: Sequence[float] = (0.0, 0.0, 0.0),
        delay: int = 0,
    ) -> Log:
        state = device.state(start, None, [*velocity, 0.0, 0.0, 0.0])
        renderer.reset(state.joints()[0])
        line = [device.gravity_torque_at(start)] * delay
        rows: list[tuple[Any, ...]] = []
        for k in range(round(duration / 1e-3)):
            walls = renderer.step(*state.joints())
            line.append(walls.torque)
            torque = line.pop(0)
            R, w = state.rotation, state.twist[3:]
            turn = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
            force = np.asarray(hand(k * 1e-3, state.position.copy(), state.twist[:3].copy()), dtype=float)
            rows.append((k * 1e-3, state.position.copy(), state.twist[:3].copy(), walls, torque))
            state.step(torque, np.concatenate([force, -1.0 * turn - 0.02 * w]), 1e-3)
        t, p, v, w, u = zip(*rows, strict=True)
        return Log(np.array(t), np.array(p), np.array(v), list(w), np.array(u))

    return run


@pytest.fixture
def wall() -> Plane:
    """The paper's: through the centre, parallel to the xy plane, the user on the side of +z."""
    return Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))


@pytest.fixture
def render(wall: Plane) -> Callable[..., WallRenderer]:
    def make(controller: WallController, planes: Sequence[Plane] = (), **options: Any) -> WallRenderer:
        return WallRenderer(controller, planes or (wall,), **options)

    return make


@pytest.fixture
def designs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes each design of the node's parameters once; the controllers are copies."""

    def design(device: TauDevice, scheme: str, **options: Any) -> WallController:
        c = _designed(device.parameters, scheme, tuple(options.items()))
        return WallController(device, options=c.options, scheme=scheme, table=c.table.copy(), design_time=c.design_time)

    monkeypatch.setattr(factory, "design_wall_controller", design)


@lru_cache
def _designed(parameters: TauParameters, scheme: str, options: tuple[tuple[str, Any], ...]) -> WallController:
    return design_wall_controller(TauDevice(parameters), scheme, **dict(options))
