"""Report of the rod that a gripper moves round a circle: section XII-B of Castro et al., run by run.

Times to failure over the frequency, and their errors, are the study `grasp`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from matplotlib.figure import Figure
from scipy.spatial.transform import Rotation

from convex_contact.scenes.grasp import LOST, Grasp
from haptic_bags.bags import Bag
from haptic_experiments.kit.contact import ContactRun, curve, report_of, runs_by_variant
from haptic_experiments.kit.figures import Curve, Panel, panels
from haptic_experiments.kit.results import Claims, Report, key

SCENE = "convex_contact.grasp_scene:grasp"
#: fractions of the pendulum frequency up to which the rod must be held, and from which it must be lost [-]
SLOW, FAST = 0.75, 1.0
SECURE = np.radians(2.0)  #: tilt of a rod that is held, at most [rad]
ORDER = 10.0  #: factor within which a speed has the order of another [-]


@dataclass(frozen=True)
class Numbers:
    """Numbers of one run."""

    frequency: float = field(metadata=key("frequency_Hz"))  #: frequency of the circle [Hz]
    #: frequency of the rod as a compound pendulum [Hz]
    pendulum_frequency: float = field(metadata=key("pendulum_frequency_Hz"))
    time_to_failure_s: float | None  #: time at which the rod is lost [s]; None if it is held
    largest_tilt_deg: float  #: largest tilt of the rod while it is held [deg]
    #: speed at which a held rod sinks, over whole turns at the end [um/s]; None if it is lost
    creep_um_per_s: float | None
    #: mean normal force of a pad while the rod is held [N]
    mean_pad_force: float = field(metadata=key("mean_pad_force_N"))
    largest_distance_from_circle_m: float  #: largest distance of the hand from its circle [m]

    @property
    def is_held(self) -> bool:
        """The rod is not lost."""
        return self.time_to_failure_s is None


def offset(run: ContactRun, scene: Grasp) -> np.ndarray:
    """Computes the displacement of the rod's centre in the hand since the start (n, 3) [m]."""
    grip = run.position[:, run.body("gripper/hand")]
    return np.asarray(run.position[:, run.body("rod")] - grip + np.array([0.0, 0.0, scene.arm]))


def tilt(run: ContactRun) -> np.ndarray:
    """Computes the tilt of the rod's axis against the vertical (n,) [rad]."""
    axis = Rotation.from_quat(run.orientation[:, run.body("rod")]).as_matrix()[:, 2, 2]
    return np.asarray(np.arccos(np.clip(axis, -1.0, 1.0)))


def pads(run: ContactRun) -> np.ndarray:
    """Sums the normal forces on the rod (n,) [N]."""
    return run.normal_force_on(run.body("rod"), np.ones(len(run.names), dtype=bool))


def measure(run: ContactRun, scene: Grasp) -> Numbers:
    """Measures one run."""
    force, moved = pads(run), offset(run, scene)
    bearing = np.flatnonzero(force > 0.0)
    last = float(run.time[bearing[-1]]) if len(bearing) else 0.0
    lost = run.time[-1] - last > LOST
    turns = int(0.5 * run.time[-1] * scene.frequency) if scene.frequency else 0
    length = turns / scene.frequency if turns else 0.5 * run.time[-1]
    first = int(np.argmin(np.abs(run.time - (run.time[-1] - length))))
    sunk = moved[first, 2] - moved[-1, 2]
    hand = run.position[:, run.body("gripper/hand"), :2]
    return Numbers(
        frequency=scene.frequency,
        pendulum_frequency=scene.pendulum_frequency,
        time_to_failure_s=last if lost else None,
        largest_tilt_deg=float(np.degrees(tilt(run)[run.time <= last].max(initial=0.0))),
        creep_um_per_s=None if lost else float(1e6 * sunk / (run.time[-1] - run.time[first])),
        mean_pad_force=float(0.5 * force[1:][run.time[1:] <= last].mean()) if last > 0.0 else 0.0,
        largest_distance_from_circle_m=float(np.linalg.norm(hand - scene.circle(run.time), axis=1).max()),
    )


def analyse(bags: dict[str, Bag]) -> Report:
    """Makes the report of one or more bags of the experiment."""
    runs = runs_by_variant(bags)
    scenes = {name: run.scene(SCENE, Grasp) for name, run in runs.items()}

    def claim(claims: Claims, numbers: dict[str, Numbers]) -> None:
        ratios = {name: e.frequency / e.pendulum_frequency for name, e in numbers.items()}
        slow = {name: numbers[name] for name, ratio in ratios.items() if ratio <= SLOW}
        _claim_frequencies(claims, slow, {name: numbers[name] for name, ratio in ratios.items() if ratio >= FAST})
        _claim_creep(claims, runs, slow)
        forces = {n: e.mean_pad_force / (0.5 * scenes[n].effort_limit) for n, e in numbers.items() if e.is_held}
        claims.each(
            "The motor saturates: each pad presses with half its effort limit, in the mean over a run that holds the "
            "rod.",
            [(f"{name} {force:.4f} times that", abs(force - 1.0) < 0.01) for name, force in forces.items()],
            " (1 within 0.01)",
            unless="no run holds the rod",
        )
        limits = {name: scenes[name].elongation_limit(run.step) for name, run in runs.items()}
        far = {name: e.largest_distance_from_circle_m for name, e in numbers.items()}
        claims.say(
            "The hand is on its circle at every tick.",
            f"at most {1e9 * max(far.values()):.0f} nm from it (limits up to {1e9 * max(limits.values()):.0f} nm)",
            all(far[name] <= limits[name] for name in runs),
        )

    def measured(run: ContactRun) -> Numbers:
        return measure(run, run.scene(SCENE, Grasp))

    return report_of(runs, measured, claim, lambda: _figure(runs, scenes), _CAPTION)


def _claim_frequencies(claims: Claims, slow: dict[str, Numbers], fast: dict[str, Numbers]) -> None:
    limit = np.degrees(SECURE)
    claims.each(
        "At low frequencies the rod is secure.",
        [
            (
                f"{name} ({e.frequency:g} Hz) {'held' if e.is_held else 'lost'}, tilt at most "
                f"{e.largest_tilt_deg:.2f} deg",
                e.is_held and np.radians(e.largest_tilt_deg) < SECURE,
            )
            for name, e in slow.items()
        ],
        f" (below {limit:g} deg)",
        unless="no slow run",
    )
    claims.each(
        "Near its compound-pendulum frequency it rocks, slides and falls.",
        [
            (
                f"{name} ({e.frequency:g} Hz, pendulum {e.pendulum_frequency:.2f} Hz) "
                + ("held" if e.is_held else f"lost after {e.time_to_failure_s:.2f} s")
                + f", tilt up to {e.largest_tilt_deg:.0f} deg",
                not e.is_held and np.radians(e.largest_tilt_deg) > SECURE,
            )
            for name, e in fast.items()
        ],
        f" (above {limit:g} deg)",
        unless="no fast run",
    )


def _claim_creep(claims: Claims, runs: dict[str, ContactRun], slow: dict[str, Numbers]) -> None:
    creep = {name: e.creep_um_per_s for name, e in slow.items() if e.creep_um_per_s is not None}
    elastoplastic = [name for name in creep if runs[name].approximation == "lagged_elastoplastic"]
    held = [abs(creep[name]) for name in elastoplastic]
    others = [abs(speed) for name, speed in creep.items() if name not in elastoplastic]
    # the stiction tolerance is not a parameter of SAP [um/s]
    tolerances = {name: 1e6 * runs[name].parameters["stiction_tolerance"] for name in creep}
    regularized = [name for name in creep if name not in elastoplastic and runs[name].approximation != "sap"]
    in_order = all(tolerances[name] / ORDER < abs(creep[name]) < ORDER * tolerances[name] for name in regularized)
    claims.say(
        "A held rod creeps at the order of the stiction tolerance; with elastoplastic stiction it does not "
        "(beyond the paper).",
        "; ".join(f"{name} {speed:.3g} um/s" for name, speed in creep.items())
        + f" (limit 1 % of the others; these within a factor of {ORDER:g} of the tolerance)",
        in_order and max(held) < 0.01 * min(others) if held and others else None,
        unless="" if creep else "no slow run",
    )


_CAPTION = (
    "Path of the rod's centre against the hand until it is lost, its tilt, how far it has sunk or risen, and the sum "
    "of the pads' normal forces over the motor's effort limit. Thin lines: frequencies below the pendulum's."
)


def _figure(runs: dict[str, ContactRun], scenes: dict[str, Grasp]) -> Figure:
    path, angle, sunk, grip = list[Curve](), list[Curve](), list[Curve](), list[Curve]()
    for name, run in runs.items():
        scene, force = scenes[name], pads(run)
        bearing = np.flatnonzero(force > 0.0)
        until = slice(0, int(bearing[-1]) + 1 if len(bearing) else len(run.time))
        thin = {"linewidth": 0.6} if scene.frequency <= SLOW * scene.pendulum_frequency else {}
        time, moved = run.time[until], 1e3 * offset(run, scene)[until]
        for lines, x, y in (
            (path, moved[:, 0], moved[:, 2] - 1e3 * scene.arm),
            (angle, time, np.degrees(tilt(run)[until])),
            (sunk, time, np.maximum(np.abs(moved[:, 2]), 1e-4)),
            (grip, run.time[1:][until], force[1:][until] / scene.effort_limit),
        ):
            lines.append(curve(f"{name}, {scene.frequency:g} Hz", run.approximation, x, y, **thin))
    path.append(Curve(np.zeros(1), np.zeros(1), "grip", {"color": "black", "linestyle": "", "marker": "+"}))

    return panels(
        [
            Panel("height of the rod's centre against the grip (mm)", path, "sideways (mm)",
                  {"aspect": "equal", "adjustable": "datalim"}),
            Panel("tilt (deg)", angle, legend=None),
        ],
        [
            Panel("sunk (mm)", sunk, settings={"yscale": "log"}, legend=None),
            Panel("normal forces over the effort limit", grip, legend=None),
        ],
        size=(13, 9),
    )  # fmt: skip
