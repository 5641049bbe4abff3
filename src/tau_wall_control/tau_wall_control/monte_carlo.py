"""The paper's comparison: query points on the wall x runs x controllers, with Welch's t-test (Figs. 4 to 6, Table 2).

The work is cut into chunks, one row of query points of one controller each, whose results are files: a study that is
interrupted goes on where it was. Chunks do not depend on each other, so any map over processes or machines will do;
seeds are (row, column, run, controller), so results do not depend on how the work is cut.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from tau_wall_control.controller import WallController
from tau_wall_control.device import TauDevice
from tau_wall_control.errors import TauError
from tau_wall_control.parameters import TauParameters
from tau_wall_control.simulation import PushSimulation, push_signal

FIGURES = ("stiffness", "max_penetration", "rmse", "initial_deviation", "lateral", "peak_torque")


@dataclass(frozen=True)
class StudyPlan:
    """What is simulated.

    Attributes:
        rows, columns: query points along y and x, over the workspace.
        runs: per point and controller.
        force, noise, duration: of the push [N], [N], [s].
        quantized, delay: of the loop.
        seed: added to every seed.
    """

    rows: int = 11
    columns: int = 11
    runs: int = 20
    force: float = 13.0
    noise: float = 1.0
    duration: float = 2.0
    quantized: bool = False
    delay: int = 0
    seed: int = 0

    @classmethod
    def from_device(cls, device: TauDevice, **changes: Any) -> StudyPlan:
        """The plan of the device's file."""
        p = device.parameters
        numbers: dict[str, Any] = {
            "rows": p.wall.query_grid[0],
            "columns": p.wall.query_grid[1],
            "runs": p.wall.runs_per_point,
            "force": p.disturbance.step_force,
            "noise": p.disturbance.noise_std,
            "duration": p.disturbance.duration,
        }
        return cls(**{**numbers, **changes})


@dataclass(frozen=True)
class Chunk:
    """One row of query points of one controller: picklable, self-contained.

    Attributes:
        name: of the controller.
        number: of the controller, part of the seed.
        row: of the query points.
        plan, parameters, controller: what `run_chunk` needs; the last is how `WallController` is made.
    """

    name: str
    number: int
    row: int
    plan: StudyPlan
    parameters: TauParameters = field(repr=False)
    controller: dict[str, Any] = field(repr=False)

    @property
    def key(self) -> str:
        """Identifies the chunk with everything that its result depends on."""
        facts = {
            "plan": asdict(self.plan),
            "row": self.row,
            "number": self.number,
            "device": TauDevice(self.parameters).fingerprint,
            "signal": self.parameters.model_dump(mode="json", include={"disturbance", "wall", "control"}),
            "options": asdict(self.controller["options"]),
            "table": hashlib.sha256(self.controller["table"].tobytes()).hexdigest(),
        }
        digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12]
        return f"{self.name}-row{self.row:03d}-{digest}"


def query_points(device: TauDevice, plan: StudyPlan) -> np.ndarray:
    """(rows, columns, 3) [m]: rows from the lowest y, columns from the lowest x, on the wall of the device's file."""
    half, z = device.parameters.workspace.cube_edge / 2.0, device.parameters.wall.plane_z
    ys = np.linspace(-half, half, plan.rows) if plan.rows > 1 else np.zeros(1)
    xs = np.linspace(-half, half, plan.columns) if plan.columns > 1 else np.zeros(1)
    return np.array([[(x, y, z) for x in xs] for y in ys])


def chunks(device: TauDevice, controllers: Mapping[str, WallController], plan: StudyPlan) -> list[Chunk]:
    """The work, row by row; the controllers of a row stand together."""
    if min(plan.rows, plan.columns) < 1 or plan.runs < 1:
        raise TauError(f"plan: expected at least 1 row, column and run, got {plan}")
    made = {
        name: {"options": c.options, "scheme": c.scheme, "table": c.table, "design_time": c.design_time}
        for name, c in controllers.items()
    }
    return [
        Chunk(name, number, row, plan, device.parameters, made[name])
        for row in range(plan.rows)
        for number, name in enumerate(controllers)
    ]


def run_chunk(chunk: Chunk) -> np.ndarray:
    """(columns, runs, figures) in the order of FIGURES."""
    device = TauDevice(chunk.parameters)
    controller = WallController(device, **chunk.controller)
    plan = chunk.plan
    start = device.parameters.disturbance.step_time
    result = np.empty((plan.columns, plan.runs, len(FIGURES)))
    for column, point in enumerate(query_points(device, plan)[chunk.row]):
        simulation = PushSimulation(device, controller, point=point, quantized=plan.quantized, delay=plan.delay)
        for run in range(plan.runs):
            seed = (plan.seed, chunk.row, column, run, chunk.number)
            signal = push_signal(device, force=plan.force, duration=plan.duration, noise=plan.noise, seed=seed)
            outcome = simulation.run(signal, step_time=start, nominal=plan.force)
            result[column, run] = [getattr(outcome, name) for name in FIGURES]
    return result


def _stored(folder: Path, chunk: Chunk) -> Path:
    return folder / f"{chunk.key}.npy"


def run_study(
    work: Sequence[Chunk],
    folder: Path | str,
    *,
    workers: int | None = None,
    mapper: Callable[[Callable[[Chunk], np.ndarray], Sequence[Chunk]], Iterable[np.ndarray]] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, np.ndarray]:
    """Runs what is not in the folder yet.

    Args:
        work: from `chunks`.
        folder: where results are kept; made if missing.
        workers: processes; 1 runs in this one, None takes all cores.
        mapper: another map over the chunks that are left, such as a Dask client's `lambda f, w: client.gather(
            client.map(f, w))`; results in order.
        progress: called with chunks done and chunks in all.

    Returns:
        (rows, columns, runs, figures) by controller.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    left = [chunk for chunk in work if not _stored(folder, chunk).is_file()]
    done = len(work) - len(left)
    if progress is not None:
        progress(done, len(work))

    def keep(chunk: Chunk, result: np.ndarray) -> None:
        nonlocal done
        path = _stored(folder, chunk)
        partial = path.with_suffix(".part")
        with partial.open("wb") as file:
            np.save(file, result)
        partial.replace(path)
        done += 1
        if progress is not None:
            progress(done, len(work))

    if mapper is not None:
        for chunk, result in zip(left, mapper(run_chunk, left), strict=True):
            keep(chunk, result)
    elif workers == 1 or len(left) < 2:
        for chunk in left:
            keep(chunk, run_chunk(chunk))
    else:
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            futures = {pool.submit(run_chunk, chunk): chunk for chunk in left}
            try:
                for future in as_completed(futures):
                    keep(futures[future], future.result())
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    results: dict[str, np.ndarray] = {}
    for chunk in work:
        rows = results.setdefault(
            chunk.name, np.full((chunk.plan.rows, chunk.plan.columns, chunk.plan.runs, len(FIGURES)), np.nan)
        )
        rows[chunk.row] = np.load(_stored(folder, chunk), allow_pickle=False)
    return results


@dataclass(frozen=True)
class Comparison:
    """Two controllers over the query points; arrays (rows, columns), row 0 is the lowest.

    Attributes:
        mean_first, mean_second: stiffness [N/m].
        p_value: of Welch's t-test, two-sided.
        significant: p_value below the level.
        second_higher: mean_second above mean_first.
        both: significant and higher, Fig. 5's third map.
        first_better: significant and lower.
    """

    mean_first: np.ndarray
    mean_second: np.ndarray
    p_value: np.ndarray
    significant: np.ndarray
    second_higher: np.ndarray
    both: np.ndarray
    first_better: np.ndarray


def compare(first: np.ndarray, second: np.ndarray, significance: float = 0.05) -> Comparison:
    """Welch's t-test on the stiffness at every point, from results of `run_study`.

    Points where runs do not differ at all (no noise) have the p-value 1 if the two are equal, and 0 otherwise.
    """
    a, b = first[..., FIGURES.index("stiffness")], second[..., FIGURES.index("stiffness")]
    mean_a, mean_b = a.mean(axis=-1), b.mean(axis=-1)
    varied = (a.std(axis=-1) > 0.0) | (b.std(axis=-1) > 0.0)
    p_value = np.where(mean_a == mean_b, 1.0, 0.0)
    if a.shape[-1] > 1 and varied.any():
        p_value[varied] = stats.ttest_ind(a[varied], b[varied], axis=-1, equal_var=False).pvalue
    significant, higher = p_value < significance, mean_b > mean_a
    return Comparison(
        mean_a, mean_b, p_value, significant, higher, significant & higher, significant & (mean_b < mean_a)
    )


def characteristics(result: np.ndarray) -> dict[str, float]:
    """Table 2's kind: smallest, largest, mean and standard deviation of the mean stiffness surface [N/m], and more."""
    surface = result[..., FIGURES.index("stiffness")].mean(axis=-1)
    row_means = surface.mean(axis=1)
    return {
        "stiffness_min": float(surface.min()),
        "stiffness_max": float(surface.max()),
        "stiffness_mean": float(surface.mean()),
        "stiffness_std": float(surface.std()),
        "stiffness_lowest_run": float(result[..., 0].min()),
        "row_mean_lowest": float(row_means[0]),
        "row_mean_highest": float(row_means[-1]),
        "variation_with_x": float(((surface.max(axis=1) - surface.min(axis=1)) / row_means).max()),
        "penetration_mean": float(result[..., FIGURES.index("max_penetration")].mean()),
        "rmse_mean": float(result[..., FIGURES.index("rmse")].mean()),
        "initial_deviation_max": float(result[..., FIGURES.index("initial_deviation")].max()),
        "lateral_max": float(result[..., FIGURES.index("lateral")].max()),
    }
