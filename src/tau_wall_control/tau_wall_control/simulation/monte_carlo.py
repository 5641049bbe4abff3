"""Many simulated pushes: tasks of the study, Welch's t-test, characteristics of a wall (Figs. 4, 5, Table 2).

A `Pushes` is self-contained and small (controllers are designed in its process), so any map over processes or machines
can run them. Seeds are (seed, row, column, run, controller), so results do not depend on the distribution of the work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy

from tau_wall_control.control.controller import WallController
from tau_wall_control.control.design import design_wall_controller
from tau_wall_control.device.parameters import TauParameters
from tau_wall_control.device.tau_device import TauDevice
from tau_wall_control.simulation.push import VELOCITY_POLE, PushSimulation, push_signal
from tau_wall_control.simulation.z_width import torque_activity

FIGURES = ("stiffness", "max_penetration", "rmse", "initial_deviation", "lateral", "peak_torque", "activity")


@dataclass(frozen=True)
class Design:
    """Description of a controller's design.

    Attributes:
        scheme, per_axis: see `design_wall_controller`.
        options: names and values of the others.
    """

    scheme: str
    per_axis: int | None = None
    options: tuple[tuple[str, Any], ...] = ()

    def controller(self, parameters: TauParameters) -> WallController:
        """Returns the controller; each is designed once in a process."""
        return _designed(parameters, self)


@lru_cache(maxsize=64)
def _designed(parameters: TauParameters, design: Design) -> WallController:
    return design_wall_controller(
        TauDevice(parameters), design.scheme, per_axis=design.per_axis, **dict(design.options)
    )


@dataclass(frozen=True)
class Pushes:
    """Pushes of one controller at some points.

    Attributes:
        parameters: parameters of the device.
        controller: controller, or its design.
        points: contact points [m].
        force, shape, noise, duration: of the push, see `push_signal` [N], [-], [N], [s].
        runs: number of runs at each point.
        seed, number: parts of the seed of a run's noise, (*seed, index of the point, run, number).
        quantized, delay, velocity_pole: of the loop, see `PushSimulation`.
        trace: true if the result contains the deviation of the first run.
    """

    parameters: TauParameters
    controller: Design | WallController
    points: tuple[tuple[float, float, float], ...]
    force: float
    duration: float
    shape: str = "step"
    noise: float = 0.0
    runs: int = 1
    seed: tuple[int, ...] = (0, 0)
    number: int = 0
    quantized: bool = False
    delay: int = 0
    velocity_pole: float = VELOCITY_POLE
    trace: bool = False

    def run(self) -> dict[str, np.ndarray]:
        """Returns `figures` (points, runs, FIGURES), and `deviation` (points, n) [m] if `trace` is set.

        Raises:
            TauError: a point cannot be held, or an option is refused.
        """
        device = TauDevice(self.parameters)
        controller = self.controller
        if isinstance(controller, Design):
            controller = controller.controller(self.parameters)
        start = self.parameters.disturbance.step_time
        figures, traces = np.empty((len(self.points), self.runs, len(FIGURES))), []
        for i, point in enumerate(self.points):
            simulation = PushSimulation(
                device,
                controller,
                point=point,
                quantized=self.quantized,
                delay=self.delay,
                velocity_pole=self.velocity_pole,
            )
            for run in range(self.runs):
                signal = push_signal(
                    device,
                    force=self.force,
                    duration=self.duration,
                    shape=self.shape,
                    noise=self.noise,
                    seed=(*self.seed, i, run, self.number),
                )
                outcome = simulation.run(signal, step_time=start, nominal=self.force)
                figures[i, run] = [*(getattr(outcome, name) for name in FIGURES[:-1]), torque_activity(outcome)]
                if self.trace and run == 0:
                    traces.append(outcome.deviation)
        return {"figures": figures, **({"deviation": np.array(traces)} if self.trace else {})}


def query_points(device: TauDevice, rows: int, columns: int) -> np.ndarray:
    """Returns points (rows, columns, 3) [m] on the wall of the device's file, from the lowest y and the lowest x."""
    half, z = device.parameters.workspace.cube_edge / 2.0, device.parameters.wall.plane_z
    ys = np.linspace(-half, half, rows) if rows > 1 else np.zeros(1)
    xs = np.linspace(-half, half, columns) if columns > 1 else np.zeros(1)
    return np.array([[(x, y, z) for x in xs] for y in ys])


def places(points: np.ndarray | Sequence[Sequence[float]]) -> tuple[tuple[float, float, float], ...]:
    """Returns the rows of an array (..., 3) as `Pushes.points`."""
    return tuple((float(x), float(y), float(z)) for x, y, z in np.asarray(points).reshape(-1, 3))


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
        holm: significant among all points together: the chance of one false point is the level (Holm).
        expected_false: significant with at most the level as expected share of false points (Benjamini, Hochberg).
        difference: (mean_second - mean_first)/mean_first [-].
        interval: half the 95 % interval of `difference` [-].
        effect: difference over the pooled standard deviation of single runs (Cohen's d) [-].
    """

    mean_first: np.ndarray
    mean_second: np.ndarray
    p_value: np.ndarray
    significant: np.ndarray
    second_higher: np.ndarray
    both: np.ndarray
    first_better: np.ndarray
    holm: np.ndarray
    expected_false: np.ndarray
    difference: np.ndarray
    interval: np.ndarray
    effect: np.ndarray


def holm_adjusted(p_value: np.ndarray) -> np.ndarray:
    """Returns p-values adjusted for all tests of an array together, by Holm's step-down method."""
    flat = p_value.ravel()
    order = np.argsort(flat, kind="stable")
    adjusted = np.empty_like(flat)
    adjusted[order] = np.minimum(np.maximum.accumulate(flat[order] * np.arange(len(flat), 0, -1)), 1.0)
    return np.asarray(adjusted.reshape(p_value.shape))


def compare(first: np.ndarray, second: np.ndarray, significance: float = 0.05) -> Comparison:
    """Makes Welch's t-test on the stiffness at every point, (..., runs, FIGURES) both.

    Points where runs do not differ at all (no noise) have the p-value 1 if the two are equal, and 0 otherwise.
    """
    a, b = first[..., FIGURES.index("stiffness")], second[..., FIGURES.index("stiffness")]
    mean_a, mean_b = a.mean(axis=-1), b.mean(axis=-1)
    varied = (a.std(axis=-1) > 0.0) | (b.std(axis=-1) > 0.0)
    p_value = np.where(mean_a == mean_b, 1.0, 0.0)
    if a.shape[-1] > 1 and varied.any():
        p_value[varied] = scipy.stats.ttest_ind(a[varied], b[varied], axis=-1, equal_var=False).pvalue
    significant, higher = p_value < significance, mean_b > mean_a
    runs = a.shape[-1]
    variance = (a.var(axis=-1, ddof=1), b.var(axis=-1, ddof=1)) if runs > 1 else (np.zeros_like(mean_a),) * 2
    error = np.sqrt((variance[0] + variance[1]) / runs)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Welch's degrees of freedom
        freedom = np.where(error > 0.0, error**4 * runs**2 * (runs - 1) / (variance[0] ** 2 + variance[1] ** 2), np.inf)
        half = np.where(error > 0.0, scipy.special.stdtrit(freedom, 0.975) * error, 0.0)
        effect = np.where(error > 0.0, (mean_b - mean_a) / np.sqrt(0.5 * (variance[0] + variance[1])), 0.0)
    return Comparison(
        mean_first=mean_a,
        mean_second=mean_b,
        p_value=p_value,
        significant=significant,
        second_higher=higher,
        both=significant & higher,
        first_better=significant & (mean_b < mean_a),
        holm=holm_adjusted(p_value) < significance,
        expected_false=scipy.stats.false_discovery_control(p_value.ravel()).reshape(p_value.shape) < significance,
        difference=mean_b / mean_a - 1.0,
        interval=half / mean_a,
        effect=effect,
    )


def characteristics(result: np.ndarray) -> dict[str, float]:
    """Returns numbers as in Table 2, of all simulations, and of the surface of each point's mean stiffness [N/m]."""
    every = result[..., FIGURES.index("stiffness")]
    surface = every.mean(axis=-1)
    row_means = surface.mean(axis=1)
    return {
        "all_min": float(every.min()),
        "all_max": float(every.max()),
        "all_mean": float(every.mean()),
        "all_std": float(every.std()),
        "stiffness_min": float(surface.min()),
        "stiffness_max": float(surface.max()),
        "stiffness_mean": float(surface.mean()),
        "stiffness_std": float(surface.std()),
        "row_mean_lowest": float(row_means[0]),
        "row_mean_highest": float(row_means[-1]),
        "variation_with_x": float(((surface.max(axis=1) - surface.min(axis=1)) / row_means).max()),
        "penetration_mean": float(result[..., FIGURES.index("max_penetration")].mean()),
        "rmse_mean": float(result[..., FIGURES.index("rmse")].mean()),
        "initial_deviation_max": float(result[..., FIGURES.index("initial_deviation")].max()),
        "lateral_max": float(result[..., FIGURES.index("lateral")].max()),
    }
