"""Report of the arm with deformable fingers that puts a peg into a holder: section XII-E of Castro et al., Fig. 26."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from convex_contact.scenes.peg import Peg, caging
from haptic_bags.bags import Bag
from haptic_experiments.kit.contact import ContactRun, report_of
from haptic_experiments.kit.figures import Curve, Panel, panels
from haptic_experiments.kit.results import Claims, Report, key
from haptic_experiments.kit.signals import Counts, Percentiles

NAMESPACE = "/joystick"
SCENE = "convex_contact.peg_scene:deformable_peg"
#: mean time of a step in the paper [s], and its largest and mean number of contacts
PAPER_STEP, PAPER_LARGEST, PAPER_MEAN = 24.5e-3, 114, 73.9
LIFTED = 0.02  #: least height of a lifted peg above the table [m]
#: least distance by which the ends of a wall's contact zone lead its middle where it closes round the peg [m]
CAGED = 2e-4
_FINGERS = ("left", "right")


@dataclass(frozen=True)
class StepTime(Percentiles):
    """Time of a step [s]; `mean` is its mean."""

    mean: float


@dataclass(frozen=True)
class Numbers:
    """Numbers of one run."""

    vertices: int  #: vertices of a finger's mesh
    tetrahedra: int  #: tetrahedra of a finger's mesh
    lift: float = field(metadata=key("largest_lift_m"))  #: largest height of the peg's foot above the table [m]
    inserted: bool  #: whether the peg is in the holder at the end
    end_above_table: float = field(metadata=key("end_above_table_m"))  #: height of its foot at the end [m]
    #: horizontal distance of its centre from the holder's at the end [m]
    end_from_holder: float = field(metadata=key("end_from_holder_m"))
    #: mean normal force of a finger while the peg is lifted [N]
    grip_force: float = field(metadata=key("grip_force_N"))
    #: mean distance by which the ends of a wall's contact zone then lead its middle [m]
    caging: float = field(metadata=key("caging_m"))
    #: largest displacement of the gripping wall [m]
    wall_displacement: float = field(metadata=key("largest_way_of_the_wall_m"))
    bearing_contacts: Counts  #: contacts with a normal force; the mean while the peg is lifted
    candidates: Counts  #: contacts
    iterations: Counts  #: Newton iterations
    step_time: StepTime = field(metadata=key("step_time_s"))  #: time of a step [s]
    felt_force: float = field(metadata=key("largest_felt_force_N"))  #: largest force on the device [N]


def peg_force(run: ContactRun, *fingers: str) -> np.ndarray:
    """Sums the normal forces of fingers on the peg (n,) [N]."""
    return run.normal_force_on(run.body("peg"), np.array([name.split("/")[0] in fingers for name in run.names]))


def wall(run: ContactRun, scene: Peg, finger: str) -> tuple[np.ndarray, np.ndarray]:
    """Returns stations (m,) [m] and displacements (n, m) [m] of a finger's gripping wall."""
    return scene.wall_displacement(finger, run.names, run.position, run.orientation)


def measure(run: ContactRun, scene: Peg) -> Numbers:
    """Measures one run."""
    peg = run.position[:, run.body("peg")]
    height = peg[:, 2] - 0.5 * scene.length
    grip = peg_force(run, *_FINGERS)
    bearing = np.array([int((c.normal_force > 0.0).sum()) for c in run.contacts])
    lifted = height > LIFTED
    stations, moved = wall(run, scene, "left")
    closed = caging(stations, moved)
    mesh, end = scene.finger.mesh()[0], peg[-1]
    times = run.solve_time[1:]
    return Numbers(
        vertices=len(mesh.vertices),
        tetrahedra=len(mesh.tetrahedra),
        lift=float(height.max()),
        inserted=scene.inserted(end),
        end_above_table=float(end[2] - 0.5 * scene.length),
        end_from_holder=float(np.hypot(end[0], end[1] - scene.holder)),
        grip_force=float(0.5 * grip[lifted].mean()) if lifted.any() else 0.0,
        caging=float(closed[lifted].mean()) if lifted.any() else 0.0,
        wall_displacement=float(np.abs(moved).max()),
        bearing_contacts=Counts(float(bearing[lifted].mean()) if lifted.any() else 0.0, int(bearing.max())),
        candidates=Counts.of(run.contact_count),
        iterations=Counts.of(run.iterations, first=1),
        step_time=StepTime(**vars(Percentiles.of(times)), mean=float(times.mean())),
        felt_force=float(np.linalg.norm(run.wrench[:, :3], axis=1).max()),
    )


def analyse(bags: dict[str, Bag]) -> Report:
    """Makes the report of one or more bags of the experiment."""
    runs = {name: ContactRun.from_bag(bag, NAMESPACE) for name, bag in bags.items()}
    first = next(iter(runs.values()))

    def measured(run: ContactRun) -> Numbers:
        return measure(run, run.scene(SCENE, Peg))

    return report_of(runs, measured, _claims, lambda: _figure(first, first.scene(SCENE, Peg)), _CAPTION)


def _claims(claims: Claims, numbers: dict[str, Numbers]) -> None:
    entry = next(iter(numbers.values()))
    step, candidates, bearing = entry.step_time, entry.candidates, entry.bearing_contacts
    claims.say(
        "The arm is teleoperated, and places the rigid cylinder into the rigid holder.",
        f"lifted by {1e3 * entry.lift:.0f} mm (more than {1e3 * LIFTED:g} mm); at the end its foot is "
        f"{1e3 * entry.end_above_table:.1f} mm above the table, its centre {1e3 * entry.end_from_holder:.1f} "
        "mm beside the holder's",
        entry.inserted and entry.lift > LIFTED,
    )
    claims.at_least(
        "The fingers bend round what they grip (caging).",
        1e3 * entry.caging,
        1e3 * CAGED,
        "mm",
        about=f"with {entry.grip_force:.1f} N per finger the ends of a wall's contact zone lead its middle by",
    )
    claims.say(
        "The mean time of a step is 24.5 ms, on the authors' computer; fast enough for interactive teleoperation.",
        f"{1e3 * step.mean:.1f} ms (median {1e3 * step.p50:.1f}, p99 {1e3 * step.p99:.1f} ms) for "
        f"{entry.vertices} vertices and {entry.tetrahedra} tetrahedra per finger",
        step.mean <= PAPER_STEP,
    )
    claims.say(
        f"The largest and mean numbers of contact constraints are {PAPER_LARGEST} and {PAPER_MEAN}.",
        f"candidates: {candidates.largest} and {candidates.mean:.1f}; contacts that bear: at most "
        f"{bearing.largest}, {bearing.mean:.1f} while the peg is lifted",
    )


_CAPTION = (
    "Height of the peg's foot and its position along the path to the holder; the gripping walls of both fingers from "
    "above, at rest and with the peg lifted, and the peg's section; normal force of each finger; time of each step."
)


def _figure(run: ContactRun, scene: Peg) -> Figure:
    position = run.position[:, run.body("peg")]
    dotted: dict[str, Any] = {"color": "black", "linewidth": 0.6, "linestyle": ":"}
    holder, paper = (Curve.level(run.time, 1e3 * value, **dotted) for value in (scene.holder, PAPER_STEP))
    wide = {"linewidth": 1.5}
    peg = [
        Curve(run.time, 1e3 * (position[:, 2] - 0.5 * scene.length), "height of the foot", wide),
        Curve(run.time, 1e3 * position[:, 1], "along the path to the holder", wide),
        holder,
    ]
    grip = [Curve(run.time, peg_force(run, finger), finger, wide) for finger in _FINGERS]
    cost = [Curve(run.time[1:], 1e3 * run.solve_time[1:], style={"linewidth": 0.6}), paper]
    cage = partial(_draw_cage, run=run, scene=scene, k=int(np.argmax(position[:, 2])))
    return panels(
        [
            Panel("peg (mm)", peg),
            Panel("across (mm)", [], "along the fingers (mm)", extra=cage),
        ],
        [
            Panel("normal force on the peg (N)", grip),
            Panel("time of a step (ms); dotted: the paper's mean", cost, settings={"yscale": "log"}),
        ],
        size=(13, 9),
    )


def _draw_cage(axes: Axes, run: ContactRun, scene: Peg, k: int) -> None:
    """Draws the walls from above, in the axes of the fingers' mounts."""
    opening = 0.5 * np.linalg.norm(run.position[k, run.body("left/mount")] - run.position[k, run.body("right/mount")])
    for finger, sign in (("left", 1.0), ("right", -1.0)):
        stations, moved = wall(run, scene, finger)
        axes.plot(1e3 * stations, 1e3 * sign * (opening - moved[k]), "-", color="tab:blue")
        axes.plot(1e3 * stations, np.full(len(stations), 1e3 * sign * opening), ":", color="0.6")
    centre = run.position[k, run.body("peg"), 0] - run.position[k, run.body("left/mount"), 0]
    angle = np.linspace(0.0, 2.0 * np.pi, 100)
    axes.plot(1e3 * (centre + scene.radius * np.cos(angle)), 1e3 * scene.radius * np.sin(angle), color="tab:orange")
    axes.set_aspect("equal", adjustable="datalim")
