"""Arguments of the study, and the form of its questions and answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from matplotlib.figure import Figure
from pydantic import BaseModel, ConfigDict, Field

from tau_wall_control.control.controller import WallController
from tau_wall_control.control.options import SCHEMES
from tau_wall_control.device.parameters import load_parameters
from tau_wall_control.device.tau_device import TauDevice
from tau_wall_control.errors import TauError
from tau_wall_control.simulation.monte_carlo import Design, Pushes, places

Part = Literal["paper", "devices", "schemes", "walls", "force", "grids", "sensing", "delay"]
PARTS: tuple[Part, ...] = ("paper", "devices", "schemes", "walls", "force", "grids", "sensing", "delay")


class StudySettings(BaseModel):
    """The study's arguments."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    parts: tuple[Part, ...] = Field(default=PARTS, min_length=1, description="the questions")
    device: str = Field(default="", description="YAML file of the device; the stand-in if empty")
    device_parameters: tuple[str, ...] = Field(default=(), description="entries section.name=value in its place")
    controllers: tuple[str, ...] = Field(
        default=("sopc", "mopc", "scheduled", "stiff"),
        min_length=1,
        description="of the parts paper and force: schemes, or files of designed controllers",
    )
    rows: int | None = Field(
        default=None, ge=1, le=201, description="query points along y; default: the device file's, quick: 3"
    )
    columns: int | None = Field(
        default=None, ge=1, le=201, description="query points along x; default: the device file's, quick: 3"
    )
    runs: int | None = Field(
        default=None, ge=2, le=10000, description="with noise, at each point; default: the device file's, quick: 3"
    )
    force: float | None = Field(
        default=None, gt=0.0, le=1000.0, description="of a push [N]; default: the device file's"
    )
    noise: float | None = Field(
        default=None, gt=0.0, le=1000.0, description="standard deviation of the force [N]; default: the device file's"
    )
    devices: int = Field(default=13, ge=1, le=1000, description="random devices of the part devices")
    seed: int = Field(default=0, ge=0, description="of all noise")
    size: Literal["full", "quick"] = Field(default="full", description="quick: a few values of everything")

    @cached_property
    def tau(self) -> TauDevice:
        """The device. Raises TauError for a file that is refused."""
        return TauDevice(load_parameters(self.device or None, self.device_parameters))

    @property
    def quick(self) -> bool:
        """True if the study has few values."""
        return self.size == "quick"

    @property
    def standard(self) -> bool:
        """True for the suite's own device, design and push, for which targets and baseline are known."""
        own = TauDevice.default()
        same = self.tau.fingerprint == own.fingerprint and self.tau.parameters.control == own.parameters.control
        push = own.parameters.disturbance
        return same and (self.push, self.deviation) == (push.step_force, push.noise_std)

    @property
    def push(self) -> float:
        """Height of the step [N]."""
        return self.tau.parameters.disturbance.step_force if self.force is None else self.force

    @property
    def deviation(self) -> float:
        """Standard deviation of the force's noise [N]."""
        return self.tau.parameters.disturbance.noise_std if self.noise is None else self.noise

    @property
    def significance(self) -> float:
        """Level of the tests [-]."""
        return self.tau.parameters.wall.significance

    @property
    def half(self) -> float:
        """Half the edge of the workspace [m]."""
        return self.tau.parameters.workspace.cube_edge / 2.0

    @property
    def middle_points(self) -> np.ndarray:
        """Points of the wall in the middle of the workspace, shape (3, 3) [m]: rows from the highest y."""
        z = self.tau.parameters.wall.plane_z
        return np.array([(0.0, y, z) for y in (self.half, 0.0, -self.half)])

    @property
    def grid(self) -> tuple[int, int, int]:
        """Rows, columns and runs of the Monte-Carlo comparison."""
        w = self.tau.parameters.wall
        own = (3, 3, 3) if self.quick else (*w.query_grid, w.runs_per_point)
        given = (self.rows, self.columns, self.runs)
        return tuple(o if g is None else g for o, g in zip(own, given, strict=True))  # type: ignore[return-value]

    @cached_property
    def designs(self) -> dict[str, Design | WallController]:
        """Controllers by name. Raises TauError for one that is neither a scheme nor a file for the device."""
        made: dict[str, Design | WallController] = {}
        for name in self.controllers:
            path = Path(name)
            if name in SCHEMES:
                made[name] = Design(name)
            elif path.is_file():
                made[path.stem] = WallController.load(path, self.tau)
            else:
                raise TauError(f"controllers: expected one of {', '.join(SCHEMES)}, or a file, got {name!r}")
        return made

    def pushes(self, controller: Design | WallController, points: Any, **changes: Any) -> Pushes:
        """Returns pushes of the study's height and duration at points (..., 3) [m]."""
        p = self.tau.parameters
        numbers: dict[str, Any] = {"parameters": p, "force": self.push, "duration": p.disturbance.duration}
        return Pushes(controller=controller, points=places(points), **{**numbers, **changes})

    def thin(self, values: Any) -> list[Any]:
        """Returns all values, or the first, middle and last of them."""
        values = list(values)
        return values if not self.quick or len(values) < 4 else [values[0], values[len(values) // 2], values[-1]]


def nine_points(device: TauDevice) -> np.ndarray:
    """Returns points (3, 3, 3) [m]: rows from the highest y, as in Fig. 6, columns from the lowest x."""
    h, z = device.parameters.workspace.cube_edge / 2.0, device.parameters.wall.plane_z
    return np.array([[(x, y, z) for x in (-h, 0.0, h)] for y in (h, 0.0, -h)])


class Task(Protocol):
    """A task: its repr contains everything that its result depends on, and it can be sent to other processes."""

    def run(self) -> dict[str, np.ndarray]:
        """Computes the results as arrays by name."""
        ...


Results = dict[str, dict[str, np.ndarray]]


class Finding(NamedTuple):
    """A claim, what was measured, and whether it holds (None: not reached)."""

    text: str
    measured: str
    shown: bool | None


class Grid(NamedTuple):
    """A table for the report."""

    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


@dataclass
class Answer:
    """Answer to a question.

    Attributes:
        metrics: for JSON.
        findings: claims and verdicts.
        figures: functions that draw the figures, with captions, by file name.
        tables: for the report.
        timings: times on this machine [s].
    """

    metrics: dict[str, Any]
    findings: list[Finding] = field(default_factory=list)
    figures: dict[str, tuple[Callable[[], Figure], str]] = field(default_factory=dict)
    tables: list[Grid] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=dict)


class Question(Protocol):
    """A part of the study."""

    def tasks(self, settings: StudySettings) -> dict[str, Task]:
        """Returns the tasks by name."""
        ...

    def answer(self, settings: StudySettings, results: Results) -> Answer:
        """Returns the answer from the results of all tasks."""
        ...
