"""A study for the tests, in a module that worker processes can import."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from pydantic import BaseModel, ConfigDict, Field

from haptic_experiments.report import Claim
from haptic_experiments.study import ResultTable, Study, StudyReport


class Settings(BaseModel):
    """Arguments."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    count: int = Field(default=4, ge=1, le=100, description="of tasks")
    scale: float = Field(default=1.0, gt=0.0, description="of the numbers [m]")
    names: tuple[str, ...] = Field(default=("a", "b"), description="are not used")
    axis: tuple[float, float] | None = Field(default=None, description="two numbers")
    file: str = Field(default="", description="a file")


@dataclass(frozen=True)
class Draw:
    """Random numbers of a seed; leaves a trace of having run, and fails or waits while a file is there."""

    seed: int
    scale: float

    def run(self) -> dict[str, np.ndarray]:
        """The numbers, and the process that drew them."""
        if Path(f"fail{self.seed}").exists():
            raise ValueError("cannot be drawn\nsecond line")
        if Path("wait").exists() and self.seed >= 2:
            time.sleep(600.0)
        Path(f"drawn{self.seed}-{time.monotonic_ns()}").touch()
        return {"x": self.scale * np.random.default_rng(self.seed).normal(size=3), "process": np.array(os.getpid())}


def tasks(settings: Settings) -> dict[str, Draw]:
    """One draw for each seed."""
    if settings.file == "missing":
        raise ValueError("missing: cannot be read")
    return {f"draw{k}": Draw(k, settings.scale) for k in range(settings.count)}


def report(settings: Settings, results: Any, directory: Path) -> StudyReport:
    """Sums."""
    figure = Figure()
    figure.subplots().plot([r["x"][0] for r in results.values()])
    total = float(sum(r["x"].sum() for r in results.values()))
    bounded: Any = np.abs(total) < np.float64(1e6)  # NumPy's own truth, as comparisons of its numbers give
    return StudyReport(
        {"sum": total, "count": np.int64(len(results)), "never": float("inf"), "deep": [{"none": float("nan")}]},
        [Claim("it adds up [m]", f"{total:.3f}", bounded)],
        {"sums": (figure, "The sums.")},
        [ResultTable("Sums [mm]", ("k", "x [mm]"), [(k, f"{r['x'][0]:.3f}") for k, r in results.items()])],
        {"drawing": 0.5},
    )


STUDY = Study("Tiny", "nobody", "Adds random numbers.", Settings, tasks, report)
