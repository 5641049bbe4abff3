"""Motions of a simulated hand in the plane: target path, extra force and grip over time, as a table.

A plan consists of phases. In a *slide* phase the hand follows a path with its full stiffness. In a
*rest* phase its stiffness is zero, and it exerts a force that fluctuates but stays below the
friction force, as in region b of Fig. 20 (Kikuuwe et al.).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy

from haptic_core.errors import ParameterError
from haptic_math.profiles import quintic
from haptic_math.quantities import finite_array, first_entry

if TYPE_CHECKING:
    from typing import Self

STROKES_FILE = Path(__file__).parents[1] / "data" / "pen_strokes.npz"

#: columns of MotionPlan.table
COLUMNS = ("x", "y", "vx", "vy", "fx", "fy", "grip")
POSITION, VELOCITY, FORCE, GRIP = slice(0, 2), slice(2, 4), slice(4, 6), 6

#: error of a grip of 0 or 1 that counts as rounding
_ROUNDING = 1e-9

#: largest width of a word, to which longer words are scaled down [m]
_WORD_WIDTH = 0.14
#: distance between two letters of full size [m]
_LETTER_PITCH = 0.045


@dataclass(frozen=True)
class Phase:
    """A named part of a plan; times in s.

    kind is "slide", "move" (between strokes) or "rest", in plans with six degrees of freedom also "push" (an extra
    wrench acts) or "release" (the hand releases the tool).
    """

    name: str
    kind: str
    start: float
    end: float


@dataclass(frozen=True)
class Plan:
    """The intended motion of a hand, sampled every `period`.

    Attributes:
        period: sampling period of the table [s].
        table: one row per period.
        phases: named parts, in order, without gaps.

    Raises:
        ParameterError: the period is not above 0, or the table has no rows, another number of columns, numbers that are
            not finite, or a grip that is not from 0 to 1.
    """

    period: float
    table: np.ndarray
    phases: tuple[Phase, ...]

    #: number of columns of the table, and the column of the grip
    column_count: ClassVar[int]
    grip_column: ClassVar[int]

    def __post_init__(self) -> None:
        if not 0.0 < self.period < np.inf:
            raise ParameterError(f"period: expected above 0 and finite [s], got {self.period}")
        rows = np.shape(self.table)[0] if np.ndim(self.table) else 0
        if not rows:
            raise ParameterError(f"table: expected one row or more, got shape {np.shape(self.table)}")
        # compiled code reads the table without checks
        table = finite_array("table", self.table, (rows, self.column_count), copy=False, error=ParameterError)
        grip = table[:, self.grip_column]
        wrong = ~((grip > -_ROUNDING) & (grip < 1.0 + _ROUNDING))
        if wrong.any():
            raise ParameterError(f"table: grip: expected numbers from 0 to 1, got {first_entry(wrong, grip)}")
        object.__setattr__(self, "table", table)

    @property
    def duration(self) -> float:
        """Length of the plan [s]."""
        return len(self.table) * self.period

    def part(self, first: str = "", last: str = "") -> Self:
        """Returns the phases from one to another, both included, as a plan that starts at time 0.

        Args:
            first, last: names of the phases; empty: the plan's ends.

        Raises:
            ValueError: there is no such phase, or the last one comes before the first.
        """
        names = [phase.name for phase in self.phases]
        for argument, name in (("first", first), ("last", last)):
            if name and name not in names:
                raise ValueError(f"{argument}: expected one of {', '.join(names)}, got {name!r}")
        i, j = names.index(first) if first else 0, names.index(last) if last else len(names) - 1
        if j < i:
            raise ValueError(f"last: expected {first} or a phase after it, got {last!r}")
        start, end = (round(time / self.period) for time in (self.phases[i].start, self.phases[j].end))
        offset = start * self.period
        phases = tuple(
            replace(phase, start=phase.start - offset, end=phase.end - offset) for phase in self.phases[i : j + 1]
        )
        return replace(self, table=np.ascontiguousarray(self.table[start:end]), phases=phases)


@dataclass(frozen=True)
class MotionPlan(Plan):
    """A planar plan.

    Attributes:
        table: shape (n, 7), columns `COLUMNS`: target [m], velocity of the target [m/s], extra force [N], and
            grip, the fraction (0 to 1) of the hand's stiffness that acts.
    """

    column_count, grip_column = len(COLUMNS), GRIP


class PhaseBuilder:
    """Base of the builders: collects the rows and phases of a plan.

    Args:
        period: sampling period [s].
    """

    def __init__(self, period: float) -> None:
        self.period = period
        self._blocks: list[np.ndarray] = []
        self._phases: list[Phase] = []
        self._samples = 0

    def _append(self, name: str, kind: str, block: np.ndarray) -> None:
        start = self._samples * self.period
        self._samples += len(block)
        end = self._samples * self.period
        if self._phases and self._phases[-1].name == name:
            self._phases[-1] = Phase(name, kind, self._phases[-1].start, end)
        else:
            self._phases.append(Phase(name, kind, start, end))
        self._blocks.append(block)

    def _times(self, duration: float) -> np.ndarray:
        return np.arange(1, max(1, round(duration / self.period)) + 1) * self.period


class PlanBuilder(PhaseBuilder):
    """Builds a planar plan phase by phase, continuous in position and velocity.

    Args:
        period: sampling period [s].
        start: first target (2,) [m].
        velocity: velocity at the start (2,) [m/s]; default zero.
    """

    def __init__(self, period: float, start: np.ndarray, velocity: np.ndarray | None = None) -> None:
        super().__init__(period)
        self._position = np.array(start, dtype=float)
        self._velocity = np.zeros(2) if velocity is None else np.array(velocity, dtype=float)

    def path(self, name: str, kind: str, position: np.ndarray, velocity: np.ndarray) -> None:
        """Appends a sampled path: positions (n, 2) [m] and velocities (n, 2) [m/s]."""
        block = np.zeros((len(position), len(COLUMNS)))
        block[:, POSITION], block[:, VELOCITY], block[:, GRIP] = position, velocity, 1.0
        self._append(name, kind, block)
        self._position, self._velocity = position[-1], velocity[-1]

    def move(self, name: str, kind: str, target: np.ndarray, velocity: np.ndarray, duration: float) -> None:
        """Appends a quintic to a target (2,) [m] and velocity (2,) [m/s], with zero acceleration at both ends."""
        t = self._times(duration)
        wanted, end = np.asarray(target, dtype=float), np.asarray(velocity, dtype=float)
        position, speed = quintic(self._position, self._velocity, wanted, end, t)
        self.path(name, kind, position, speed)

    def rest(self, name: str, duration: float, direction: float, force: float) -> None:
        """Appends a phase in which the stiffness goes to zero and the hand exerts a fluctuating force.

        Args:
            name: name of the phase.
            duration: duration [s], of which up to 0.3 s are the transition.
            direction: direction of the force from the x axis [rad].
            force: mean force [N]; it varies between 0.3 and 1.7 times the mean, at 1.5 Hz and 4 Hz.
        """
        t = self._times(duration)
        fade = np.clip(t / min(0.3, duration), 0.0, 1.0)
        smooth = fade * fade * (3.0 - 2.0 * fade)
        fluctuation = 1.0 + 0.5 * np.sin(2 * np.pi * 1.5 * t) + 0.2 * np.sin(2 * np.pi * 4.0 * t)
        block = np.zeros((len(t), len(COLUMNS)))
        block[:, POSITION] = self._position
        block[:, FORCE] = (smooth * fluctuation * force)[:, None] * [np.cos(direction), np.sin(direction)]
        block[:, GRIP] = 1.0 - smooth
        self._append(name, "rest", block)
        self._velocity = np.zeros(2)

    def build(self) -> MotionPlan:
        """Returns the finished plan."""
        return MotionPlan(self.period, np.concatenate(self._blocks), tuple(self._phases))


def paper_plan(period: float, *, rest_duration: float = 4.0, rest_force: float = 1.6) -> MotionPlan:
    """Builds the motion of Figs. 19 and 20: straight to b, rest, back to c, curve to d, straight to e, rest."""
    builder = PlanBuilder(period, np.array([-0.03, -0.01]))
    still = np.zeros(2)
    builder.move("a-b", "slide", np.array([0.03, -0.01]), still, 1.2)
    builder.rest("b", rest_duration, direction=0.6, force=rest_force)
    builder.move("b-c", "slide", np.array([-0.03, 0.0]), still, 1.2)
    samples = round(2.0 / period)
    s = np.arange(1, samples + 1) / samples
    # not `smooth_step`, whose order of operations changes the velocity by 1e-13 m/s from recorded runs
    angle = np.pi * (1.0 - 1.5 * (s**3 * (10.0 - 15.0 * s + 6.0 * s**2)))
    centre, radius = np.array([0.0, 0.0]), 0.03
    position = centre + radius * np.column_stack((np.cos(angle), np.sin(angle)))
    velocity = np.gradient(position, period, axis=0)
    builder.path("c-d", "slide", position, velocity)
    builder.move("d-e", "slide", np.array([0.02, -0.03]), still, 0.8)
    builder.rest("e", rest_duration / 2, direction=-2.0, force=rest_force)
    return builder.build()


#: points a to d; centre and radius of the curve [m], and speed at its start [m/s]
_A, _B, _C, _D = np.array([[-0.08, -0.08], [0.08, -0.08], [0.08, 0.07], [-0.04, 0.07]])
_CURVE_CENTRE, _CURVE_RADIUS, _CURVE_SPEED = np.array([-0.04, 0.01]), 0.06, 0.25


def paper_admittance_plan(period: float, *, rest_duration: float = 4.0, rest_force: float = 1.6) -> MotionPlan:
    """Builds the motion of Figs. 16 and 17: straight to b and c, rest, straight to d, curve to e, rest.

    It fills 0.18 m x 0.15 m, the workspace of the manipulator. The paper gives no sizes. The hand passes d at
    0.25 m/s, so that the centrifugal force of 2 kg on the curve is a third of 6 N.
    """
    builder = PlanBuilder(period, _A)
    still = np.zeros(2)
    builder.move("a-b", "slide", _B, still, 1.0)
    builder.move("b-c", "slide", _C, still, 1.0)
    builder.rest("c", rest_duration, direction=0.6, force=rest_force)
    builder.move("c-d", "slide", _D, np.array([-_CURVE_SPEED, 0.0]), 0.9)
    # the angle [rad] replaces x
    rotation = PlanBuilder(period, np.array([0.5 * np.pi, 0.0]), np.array([_CURVE_SPEED / _CURVE_RADIUS, 0.0]))
    rotation.move("d-e", "slide", np.array([2.0 * np.pi, 0.0]), still, 1.5)
    turned = rotation.build().table
    angle, rate = turned[:, POSITION][:, 0], turned[:, VELOCITY][:, 0]
    outward = np.column_stack((np.cos(angle), np.sin(angle)))
    along = np.column_stack((-outward[:, 1], outward[:, 0]))
    position, velocity = _CURVE_CENTRE + _CURVE_RADIUS * outward, _CURVE_RADIUS * rate[:, None] * along
    builder.path("d-e", "slide", position, velocity)
    builder.rest("e", rest_duration / 2, direction=-2.0, force=rest_force)
    return builder.build()


#: strokes along x of the motion to_and_fro: end [m] and duration [s]; the last one is a rest
_TO_AND_FRO = ((0.06, 1.5), (-0.06, 3.0), (0.06, 3.0), (-0.06, 1.5), (0.06, 1.5), (-0.06, 0.8), (0.0, 0.8), (0.0, 1.0))


def to_and_fro_plan(period: float) -> MotionPlan:
    """Builds straight strokes along x, 0.12 m long, slow ones (0.04 m/s on average) and faster ones, then a stop."""
    builder = PlanBuilder(period, np.zeros(2))
    for number, (end, duration) in enumerate(_TO_AND_FRO, start=1):
        builder.move(f"stroke {number}", "slide", np.array([end, 0.0]), np.zeros(2), duration)
    return builder.build()


#: phases of the motion peg: name, target from the middle of the workspace [m], duration [s]
_PEG = (
    ("grip", (-0.06, -0.045), 1.2),
    ("lift", (-0.06, 0.04), 1.2),
    ("carry", (0.06, 0.04), 1.6),
    ("wait", (0.06, 0.04), 0.5),
    ("lower", (0.06, -0.043), 1.6),
    ("release", (0.06, -0.043), 1.2),
    ("leave", (0.06, 0.03), 0.8),
)


def peg_plan(period: float) -> MotionPlan:
    """Builds a motion up, sideways by 0.12 m and down again, with rests at both ends, which moves a peg to a holder."""
    builder = PlanBuilder(period, np.array(_PEG[0][1]))
    for name, target, duration in _PEG:
        builder.move(name, "slide", np.array(target), np.zeros(2), duration)
    return builder.build()


@cache
def _strokes() -> tuple[list[np.ndarray], list[str]]:
    """Loads all recorded strokes as centred positions (n, 2) [m] at 200 Hz, and their letters."""
    with np.load(STROKES_FILE) as data:
        # columns: pen force, x, y; with another order of x and y the strokes are no letters
        step = data["samples"][:, 1:3].astype(float) * float(data["metres_per_unit"])
        start, letters = data["start"], [str(letter) for letter in data["letter"]]
    paths = [np.cumsum(step[a:b], axis=0) for a, b in pairwise(start)]
    return [path - (path.min(axis=0) + path.max(axis=0)) / 2 for path in paths], letters


#: sampling time of the recorded strokes [s]
STROKE_STEP = 0.005


def letter_indices(text: str) -> list[int]:
    """Finds the first recorded stroke of each letter of a text; a repeated letter uses the next recording.

    Raises:
        ParameterError: a letter was not recorded.
    """
    letters = _strokes()[1]
    available = sorted(set(letters))
    used: dict[str, int] = {}
    indices = []
    for written in text:
        letter = written.upper()
        if letter not in available:
            raise ParameterError(
                f"letters: {written!r} was not recorded, expected letters of {''.join(available).lower()}"
            )
        recordings = [i for i, name in enumerate(letters) if name == letter]
        indices.append(recordings[used.get(letter, 0) % len(recordings)])
        used[letter] = used.get(letter, 0) + 1
    if not indices:
        raise ParameterError("letters: expected one letter or more, got ''")
    return indices


def stroke_plan(
    period: float, indices: list[int], *, rest_duration: float = 2.0, rest_force: float = 1.6
) -> MotionPlan:
    """Builds a plan of recorded pen strokes side by side, each followed by a rest.

    Args:
        period: sampling period [s].
        indices: numbers of the strokes, 0 to 99.
        rest_duration: length of each rest [s]; the last one is twice as long.
        rest_force: mean force of the hand during a rest [N].

    Raises:
        ParameterError: an index does not exist.
    """
    paths, letters = _strokes()
    for index in indices:
        if not 0 <= index < len(paths):
            raise ParameterError(f"strokes: expected numbers from 0 to {len(paths) - 1}, got {index}")
    if not indices:
        raise ParameterError("strokes: expected one number or more, got none")
    scale = min(1.0, _WORD_WIDTH / (_LETTER_PITCH * len(indices)))
    builder: PlanBuilder | None = None
    for slot, index in enumerate(indices):
        name = f"{letters[index].lower()}{slot + 1}"
        offset = np.array([(slot - (len(indices) - 1) / 2) * _LETTER_PITCH * scale, 0.0])
        position, velocity = _resampled(paths[index] * scale + offset, period)
        if builder is None:
            builder = PlanBuilder(period, position[0] - 0.05 * velocity[0])
            builder.move(name, "slide", position[0], velocity[0], 0.1)
        else:
            builder.move(f"to {name}", "move", position[0], velocity[0], 0.6)
        builder.path(name, "slide", position[1:], velocity[1:])
        builder.move(name, "slide", position[-1] + 0.05 * velocity[-1], np.zeros(2), 0.1)
        last = slot == len(indices) - 1
        builder.rest(f"rest {slot + 1}", rest_duration * (2 if last else 1), 0.9 + 2.4 * slot, rest_force)
    assert builder is not None
    return builder.build()


def _resampled(path: np.ndarray, period: float) -> tuple[np.ndarray, np.ndarray]:
    """Resamples a path at 200 Hz to position and velocity at the control period, by a cubic spline."""
    spline = scipy.interpolate.CubicSpline(np.arange(len(path)) * STROKE_STEP, path)
    times = np.arange(0.0, (len(path) - 1) * STROKE_STEP + period / 2, period)
    return spline(times), spline(times, 1)


def make_plan(
    motion: str,
    period: float,
    *,
    letters: str,
    strokes: list[int],
    rest_duration: float,
    rest_force: float,
) -> MotionPlan:
    """Makes the plan of one of `PLANAR_MOTIONS` with the arguments of a run."""
    given = {"letters": letters, "strokes": strokes, "rest_duration": rest_duration, "rest_force": rest_force}
    return PLANAR_MOTIONS[motion]({"period": period, **given})


def _with_rests(plan: Callable[..., MotionPlan], given: Mapping[str, Any], **options: Any) -> MotionPlan:
    rests = {name: given[name] for name in ("rest_duration", "rest_force")}
    return plan(given["period"], **{**rests, **options})


#: motions in the plane by name, as functions of the parameters of the device's node
PLANAR_MOTIONS: dict[str, Callable[[Mapping[str, Any]], MotionPlan]] = {
    "paper": lambda given: _with_rests(paper_plan, given, rest_duration=2 * given["rest_duration"]),
    "paper_admittance": lambda given: _with_rests(
        paper_admittance_plan, given, rest_duration=2 * given["rest_duration"]
    ),
    "to_and_fro": lambda given: to_and_fro_plan(given["period"]),
    "letters": lambda given: _with_rests(stroke_plan, given, indices=letter_indices(given["letters"])),
    "strokes": lambda given: _with_rests(stroke_plan, given, indices=list(given["strokes"])),
    "peg": lambda given: peg_plan(given["period"]),
}
