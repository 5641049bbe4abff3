"""Masing's rules: the hysteresis of elastoplastic elements in parallel (section VI of Kikuuwe et al., Iwan [31]).

An element with stiffness K that slips at F is elastoplastic; elements in parallel have a first-loading curve f = L(x),
piecewise linear and concave. Masing's rules give the force after it from L alone. After a reversal at (x_r, f_r) the
force follows the doubled curve, f = f_r +- 2 L(|x - x_r|/2), until the displacement returns to the reversal before.
There the inner loop closes and the force continues on the earlier branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

#: fraction of the largest displacement within which two turning points count as the same
_SAME = 1e-6


@dataclass(frozen=True)
class LoadingCurve:
    """First-loading curve of elements of model C in parallel, and their damping.

    Attributes:
        displacement: displacements of the curve's points, rising from above 0 [m], shape (n,).
        force: forces at the points, rising and concave [N], shape (n,); the force is constant beyond the last point.
        damping_time: B/K of every element [s].
    """

    displacement: np.ndarray
    force: np.ndarray
    damping_time: float

    def at(self, displacement: np.ndarray) -> np.ndarray:
        """Interpolates L(x) [N] for x >= 0."""
        return np.interp(displacement, [0.0, *self.displacement], [0.0, *self.force])

    @property
    def elements(self) -> tuple[np.ndarray, np.ndarray]:
        """Stiffness [N/m] and breakaway force [N] of the elements: the curve's loss of slope at each point."""
        slopes = np.diff([0.0, *self.force]) / np.diff([0.0, *self.displacement])
        stiffness = -np.diff([*slopes, 0.0])
        return stiffness, stiffness * self.displacement

    def energy(self, amplitude: float, speed: float) -> float:
        """Computes the work [J] of a closed loop between displacements 2 `amplitude` [m] apart at constant speed [m/s].

        Without damping the loss of each element that slips is 4 F (X - F/K), with X the amplitude. With damping the
        force of a sticking element is larger by B u, so it slips at a displacement of (2 F - B u)/K from the reversal,
        and its loss is 4 F X - (2 F - B u)^2/K. The loss of an element that does not slip is 4 X B u.
        """
        stiffness, breakaway = self.elements
        viscous = stiffness * self.damping_time * speed
        elastic = np.maximum(2.0 * breakaway - viscous, 0.0)
        slips = 2.0 * amplitude * stiffness > elastic
        loss = np.where(slips, 4.0 * breakaway * amplitude - elastic**2 / stiffness, 4.0 * amplitude * viscous)
        return float(loss.sum())


@dataclass(frozen=True)
class Loop:
    """A closed displacement loop.

    Attributes:
        start: index of the reversal that opens the loop.
        turn: index of the reversal within the loop.
        end: index of the last sample before the displacement passes that of `start` again.
        simple: True if the loop contains no smaller loop.
    """

    start: int
    turn: int
    end: int
    simple: bool


def turning_points(x: np.ndarray) -> list[int]:
    """Finds the indices at which a displacement (n,) from zero reverses its direction, and the last index."""
    direction = np.sign(np.diff(x, prepend=0.0))
    moving = np.flatnonzero(direction)
    turns = moving[:-1][np.diff(direction[moving]) != 0.0]
    return [*turns.tolist(), len(x) - 1]


def masing(x: np.ndarray, curve: LoadingCurve) -> tuple[np.ndarray, list[Loop]]:
    """Computes the force of undamped elements by Masing's rules.

    Args:
        x: displacement from zero [m], shape (n,).
        curve: first-loading curve of the elements.

    Returns:
        Force [N], shape (n,), and the loops that the displacement closes.
    """
    force, tolerance = np.empty_like(x), _SAME * float(np.abs(x).max(initial=0.0))
    loops: list[Loop] = []
    reversals: list[int] = []  # of loops that are not closed

    def close(end: int) -> None:
        start, reversal = reversals[-2:]
        inner = any(start <= loop.start and loop.end <= end for loop in loops)
        loops.append(Loop(start, reversal, end, not inner))
        del reversals[-2:]

    begin = 0
    for end in turning_points(x):
        direction = np.sign(x[end] - (x[begin - 1] if begin else 0.0))
        while begin <= end:
            anchor = reversals[-1] if reversals else None
            if anchor is None:
                part = slice(begin, end + 1)
                force[part] = np.sign(x[part]) * curve.at(np.abs(x[part]))
                break
            limit = x[reversals[-2]] if len(reversals) > 1 else -x[anchor]
            beyond = np.flatnonzero(direction * (x[begin : end + 1] - limit) > tolerance)
            part = slice(begin, begin + int(beyond[0]) if len(beyond) else end + 1)
            distance = np.maximum(direction * (x[part] - x[anchor]), 0.0)
            force[part] = force[anchor] + direction * 2.0 * curve.at(0.5 * distance)
            begin = part.stop
            if len(reversals) > 1 and (len(beyond) or abs(x[end] - limit) <= tolerance):
                close(begin - 1)
            elif len(beyond):
                reversals.clear()
        begin = end + 1
        reversals.append(end)
    return force, loops


@dataclass(frozen=True)
class MeasuredLoop:
    """Energy and closure of a closed loop.

    Attributes:
        start, end: times of the first and the last sample [s].
        amplitude: half of the range of the displacement [m].
        centre: middle of that range [m].
        speed: mean speed [m/s].
        minor: True if the middle is not at zero.
        simple: True if the loop contains no smaller loop.
        energy: area of the loop [J].
        closed_form_energy: energy by `LoadingCurve.energy` [J]; None unless the loop is simple and the speed constant.
        closure: force at the return to the displacement of the start, minus the force at the start [N].
    """

    start: float
    end: float
    amplitude: float
    centre: float
    speed: float
    minor: bool
    simple: bool
    energy: float
    closed_form_energy: float | None
    closure: float


def measured_loops(
    x: np.ndarray, force: np.ndarray, curve: LoadingCurve, time: np.ndarray, period: float
) -> list[MeasuredLoop]:
    """Measures each loop that a displacement closes.

    Args:
        x: displacement from zero [m], shape (n,).
        force: force [N], shape (n,).
        curve: first-loading curve of the elements.
        time: times of the samples [s], shape (n,).
        period: T [s].
    """
    measured = []
    for loop in masing(x, curve)[1]:
        part = slice(loop.start, loop.end + 1)
        amplitude = 0.5 * float(abs(x[loop.turn] - x[loop.start]))
        speed = 4.0 * amplitude / ((loop.end - loop.start) * period)
        after = slice(loop.end, min(loop.end + 2, len(x)))
        order = np.argsort(x[after])
        back = float(np.interp(x[loop.start], x[after][order], force[after][order]))
        steps = np.abs(np.diff(x[part])) / period
        steady = loop.simple and bool(np.abs(steps - speed).max() < 0.1 * speed)
        measured.append(
            MeasuredLoop(
                start=float(time[loop.start]),
                end=float(time[loop.end]),
                amplitude=amplitude,
                centre=0.5 * float(x[loop.turn] + x[loop.start]),
                speed=speed,
                minor=bool(abs(x[loop.start] + x[loop.turn]) > 0.1 * amplitude),
                simple=loop.simple,
                energy=float(np.trapezoid(force[part], x[part])),
                closed_form_energy=curve.energy(amplitude, speed) if steady else None,
                closure=back - float(force[loop.start]),
            )
        )
    return measured


@dataclass(frozen=True)
class ColumnLoops:
    """Loops of elements in parallel beside their first-loading curve.

    Attributes:
        sliding_force: force at which all elements slide [N].
        sliding_displacement: displacement of the first loading at which they do [m].
        first_slip_displacement: displacement of the first loading at which the first of them does [m].
        damping_time: B/K of every element [s].
        deviation_from_masing: largest difference of the force from Masing's rules [N].
        loops: closed loops.
    """

    sliding_force: float
    sliding_displacement: float
    first_slip_displacement: float
    damping_time: float
    deviation_from_masing: float
    loops: Sequence[MeasuredLoop]

    @classmethod
    def of(cls, x: np.ndarray, force: np.ndarray, curve: LoadingCurve, time: np.ndarray, period: float) -> ColumnLoops:
        """Measures a run; the arguments are those of `measured_loops`."""
        return cls(
            sliding_force=float(curve.force[-1]),
            sliding_displacement=float(curve.displacement[-1]),
            first_slip_displacement=float(curve.displacement[0]),
            damping_time=curve.damping_time,
            deviation_from_masing=float(np.abs(force - masing(x, curve)[0]).max(initial=0.0)),
            loops=measured_loops(x, force, curve, time, period),
        )

    @property
    def sticking(self) -> list[MeasuredLoop]:
        """Simple loops that begin and end with an element that sticks."""
        return [loop for loop in self.loops if loop.simple and loop.amplitude < 0.999 * self.sliding_displacement]

    @property
    def widest(self) -> list[MeasuredLoop]:
        """Simple loops of the largest amplitude, by their speed."""
        simple = [loop for loop in self.loops if loop.simple and not loop.minor]
        size = max((loop.amplitude for loop in simple), default=0.0)
        return sorted((loop for loop in simple if loop.amplitude > 0.999 * size), key=lambda loop: loop.speed)
