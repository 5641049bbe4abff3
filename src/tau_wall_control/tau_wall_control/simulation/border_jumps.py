"""Jumps of efforts and force at the borders between operating points while the tool slides along the walls."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tau_wall_control.simulation.recorded_contacts import WallMotion

#: number of averaged ticks before and after a tick, which cuts the effect of the encoders' counts to a third
WINDOW = 4
#: time after the beginning of a slide in which the force steps without a border [s]
SETTLING = 0.1


@dataclass(frozen=True)
class Borders:
    """Jumps at the borders of the operating points, and elsewhere, in the slides; means, NaN without any.

    Attributes:
        operating_points: operating points of the slides in contact.
        crossed: number of borders crossed.
        effort_at: mean jump of a joint's effort at the borders [N m].
        effort_elsewhere: mean jump of a joint's effort elsewhere [N m].
        largest_effort_at: largest jump of a joint's effort at the borders [N m].
        force_at: mean jump of the walls' force at the borders [N].
        force_elsewhere: mean jump of the walls' force elsewhere [N].
        largest_force_at: largest jump of the walls' force at the borders [N].
    """

    operating_points: list[int]
    crossed: int
    effort_at: float
    effort_elsewhere: float
    largest_effort_at: float
    force_at: float
    force_elsewhere: float
    largest_force_at: float


def jumps(run: WallMotion, slides: Sequence[slice], period: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Measures the change of effort and force about each tick of the slides.

    Args:
        run: signals of the run.
        slides: ticks of each slide.
        period: T [s].

    Returns:
        Ticks' indices (m,), flags of a change of the operating point (m,), and the jumps (m, 2): the largest change of
        a joint's effort [N m] and the change of the walls' force on the tool [N], each the mean of the next `WINDOW`
        ticks less that of the last.
    """
    ticks, at, sizes = [], [], []
    for part in slides:
        change = np.flatnonzero(np.diff(run.operating_point[part])) + 1 + part.start
        for k in range(part.start + round(SETTLING / period), part.stop - WINDOW):
            here = bool((change == k).any())
            if not run.in_contact[k - WINDOW : k + WINDOW].any(axis=1).all():
                continue
            if not here and len(change) and np.abs(change - k).min() <= 3 * WINDOW:
                continue
            row = []
            for signal in (run.effort, run.wrench):
                step = signal[k : k + WINDOW].mean(axis=0) - signal[k - WINDOW : k].mean(axis=0)
                row.append(float(np.abs(step).max() if signal is run.effort else np.linalg.norm(step)))
            ticks.append(k)
            at.append(here)
            sizes.append(row)
    return np.array(ticks, dtype=int), np.array(at, dtype=bool), np.reshape(sizes, (-1, 2))


def borders(run: WallMotion, slides: Sequence[slice], period: float) -> Borders:
    """Measures the jumps of `jumps` at the borders and elsewhere."""
    ticks, at, sizes = jumps(run, slides, period)
    points = np.unique(run.operating_point[ticks]) if len(ticks) else np.empty(0, dtype=int)
    none = [math.nan, math.nan]
    mean, elsewhere = (sizes[flags].mean(axis=0).tolist() if flags.any() else none for flags in (at, ~at))
    largest = sizes[at].max(axis=0).tolist() if at.any() else none
    effort, force = zip(mean, elsewhere, largest, strict=True)
    return Borders(points.tolist(), int(at.sum()), *effort, *force)
