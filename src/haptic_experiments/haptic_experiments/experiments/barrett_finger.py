"""Report of a finger whose gears let go of a blocked joint: section XII-C of Castro et al., Fig. 24, run by run."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from convex_contact.scenes.barrett_finger import LINK_RATIO, WORM_RATIO, Finger, meshing_frequencies
from convex_contact.scenes.gear_spectrum import harmonic_bins, harmonic_power, spectrum
from haptic_bags.bags import Bag
from haptic_experiments.kit.contact import ContactRun, curve, runs_by_variant
from haptic_experiments.kit.figures import Curve, Panel, mark, panels
from haptic_experiments.kit.results import MERGED, OPTIONAL, Claims, Report, key
from haptic_experiments.kit.signals import largest

SCENE = "convex_contact.barrett_finger:barrett_finger"
SETTLING = 0.03  #: after the reversal, until the gears run evenly [s]
#: a run that locks turns the motor slower than this fraction of another approximation's speed at the same step [-]
LOCKED = 0.9
#: fewest ticks of driving from which ratios and spectra are computed
_DRIVEN = 100
_SHORT = "the run does not drive long enough"


@dataclass(frozen=True)
class Driving:
    """Numbers while the finger closes evenly."""

    ratio_worm: float  #: rotations of the motor per rotation of the worm
    ratio_link: float  #: rotations of the motor per rotation of the link
    motor_speed: float  #: mean speed of the motor [rad/s]
    torque: float = field(metadata=key("driving_torque_Nm"))  #: mean torque of the wheel on the worm [N m]
    ripple: float = field(metadata=key("driving_ripple_Nm"))  #: standard deviation of that torque [N m]
    ripple_at_meshing: float  #: fraction of the power of the gear's torque at multiples of the meshing frequency


@dataclass(frozen=True)
class NotDriving:
    """Ratios of a run that does not drive long enough."""

    ratio_worm: None = None
    ratio_link: None = None


@dataclass(frozen=True)
class Afterwards:
    """Numbers after the breakaway."""

    #: largest torque of wheel and clutch together on the worm [N m]
    residual_torque: float = field(metadata=key("residual_torque_Nm"))
    held_force: float = field(metadata=key("held_force_N"))  #: mean force of the obstacle on the link [N]
    drift: float = field(metadata=key("drift_rad"))  #: rotation of the link [rad]
    distal_turned: float = field(metadata=key("distal_turned_rad"))  #: rotation of the distal joint [rad]


@dataclass(frozen=True)
class Numbers:
    """Numbers of one run; torques on the proximal worm."""

    step: float = field(metadata=key("step_s"))  #: time step [s]
    mean_contacts: float  #: mean number of contacts of a step
    mean_iterations: float  #: mean number of Newton iterations of a step
    #: largest torque of the wheel during the loading [N m]
    loading_torque: float = field(metadata=key("loading_torque_Nm"))
    held_torque: float = field(metadata=key("held_torque_Nm"))  #: torque of the wheel before the reversal [N m]
    press: float = field(metadata=key("press_N"))  #: force of the gear on the washer then [N]
    driving: Driving | NotDriving = field(metadata=MERGED)  #: while the finger closes
    #: time of the first contact with the obstacle [s]; None: never
    blocked: float | None = field(metadata=key("blocked_s"))
    disengaged: float | None = field(metadata=key("disengaged_s"))  #: time of the breakaway [s]; None: never
    #: largest torque of the wheel between them [N m]; None without
    breakaway_torque: float | None = field(metadata={**key("breakaway_torque_Nm"), **OPTIONAL})
    afterwards: Afterwards | None = field(metadata=MERGED)  #: after the breakaway; None where the run ends too early


@dataclass(frozen=True)
class FingerRun:
    """The signals of one run, n ticks; torques are on the proximal worm's shaft about its axis, but for `gear`."""

    run: ContactRun  #: the recorded run
    scene: Finger  #: numbers of its world
    motor: np.ndarray  #: angle (n,) [rad]
    worm: np.ndarray  #: angle (n,) [rad]
    link: np.ndarray  #: angle (n,) [rad]
    distal: np.ndarray  #: angle of the distal link on the proximal one (n,) [rad]
    wheel: np.ndarray  #: torque by contact with the proximal wheel (n,) [N m]
    clutch: np.ndarray  #: torque by contact with the proximal gear (n,) [N m]
    gear: np.ndarray  #: torque of the pinion on the proximal gear (n,) [N m]
    press: np.ndarray  #: force of the gear on the washer (n,) [N]
    obstacle: np.ndarray  #: force of the obstacle on the link (n,) [N]

    @classmethod
    def of(cls, run: ContactRun) -> FingerRun:
        """Computes the signals of a run.

        Raises:
            HapticError: the run is of another world.
        """
        scene = run.scene(SCENE, Finger)
        worm, gear, link = (run.body(name) for name in ("proximal/worm", "proximal/gear", "finger/proximal"))
        clutch_torque, clutch_force = _wrench(run, gear, worm)
        distal = _angle(run, run.body("finger/distal"), 1)
        return cls(
            run=run,
            scene=scene,
            motor=_angle(run, run.body("motor/shaft"), 2),
            worm=_angle(run, worm, 2),
            link=_angle(run, link, 1),
            distal=distal - _angle(run, link, 1),
            wheel=_wrench(run, link, worm)[0][:, 2],
            clutch=clutch_torque[:, 2],
            gear=_wrench(run, run.body("motor/shaft"), gear)[0][:, 2],
            press=-clutch_force[:, 2],
            obstacle=np.linalg.norm(run.force_on(run.body("obstacle"), link), axis=1),
        )

    @property
    def time(self) -> np.ndarray:
        """(n,) [s]."""
        return self.run.time

    @property
    def blocked(self) -> int | None:
        """The first tick at which the link touches the obstacle; None: never."""
        touching = np.flatnonzero(self.obstacle > 0.0)
        return int(touching[0]) if len(touching) else None

    @property
    def disengaged(self) -> int | None:
        """The first tick after that at which the gear does not press the washer; None: never."""
        start = self.blocked
        if start is None:
            return None
        free = np.flatnonzero(self.press[start:] <= 0.0)
        return int(start + free[0]) if len(free) else None

    @property
    def driving(self) -> slice:
        """Ticks in which the finger closes evenly."""
        first = int(np.searchsorted(self.time, self.scene.loading_time + SETTLING))
        last = self.blocked if self.blocked is not None else len(self.time)
        return slice(min(first, last), last)


def _angle(run: ContactRun, body: int, axis: int) -> np.ndarray:
    """Computes the continuous angle of a body about an axis of the world (n,) [rad]."""
    quaternion = run.orientation[:, body]
    return np.unwrap(2.0 * np.arctan2(quaternion[:, axis], quaternion[:, 3]))


def _wrench(run: ContactRun, a: int, b: int) -> tuple[np.ndarray, np.ndarray]:
    """Computes moment about the origin of b, and force, of a's contacts on b (n, 3) [N m], [N]."""
    moment, force = np.zeros((len(run.tick), 3)), np.zeros((len(run.tick), 3))
    for k, (contacts, chosen, sign) in enumerate(run.pairs(a, b)):
        f = sign * contacts.force[chosen]
        moment[k] = np.cross(contacts.position[chosen] - run.position[k, b], f).sum(axis=0)
        force[k] = f.sum(axis=0)
    return moment, force


def meshing(run: FingerRun) -> dict[str, float]:
    """Computes the meshing frequencies of the proximal drive from the motor's mean speed while driving [Hz]."""
    here = run.driving
    if here.stop - here.start < _DRIVEN:
        return {}
    turns = abs(run.motor[here][-1] - run.motor[here][0]) / math.tau / (run.time[here][-1] - run.time[here][0])
    return meshing_frequencies(turns)


def measure(run: FingerRun) -> Numbers:
    """Measures one run."""
    time, blocked, free = run.time, run.blocked, run.disengaged
    loading = time <= run.scene.loading_time + 1e-9
    broken = blocked is not None and free is not None
    return Numbers(
        step=run.run.step,
        mean_contacts=float(run.run.contact_count[1:].mean()),
        mean_iterations=float(run.run.iterations[1:].mean()),
        loading_torque=float((-run.wheel[loading]).max(initial=0.0)),
        held_torque=float(-run.wheel[loading][-1]),
        press=float(run.press[loading][-1]),
        driving=_driving(run),
        blocked=None if blocked is None else float(time[blocked]),
        disengaged=None if free is None else float(time[free]),
        breakaway_torque=float(run.wheel[blocked:free].max()) if broken else None,
        afterwards=None if free is None else _afterwards(run, free),
    )


def _driving(run: FingerRun) -> Driving | NotDriving:
    here = run.driving
    if here.stop - here.start < _DRIVEN:
        return NotDriving()
    motor, worm, link, time = (float(x[here][-1] - x[here][0]) for x in (run.motor, run.worm, run.link, run.time))
    return Driving(
        ratio_worm=-motor / worm,
        ratio_link=motor / link,
        motor_speed=motor / time,
        torque=float(run.wheel[here].mean()),
        ripple=float(run.wheel[here].std()),
        ripple_at_meshing=harmonic_power(run.gear[here], run.run.period, meshing(run)["pinion"]),
    )


def _afterwards(run: FingerRun, free: int) -> Afterwards | None:
    later = slice(free + 10, None)
    if len(run.time[later]) <= 10:
        return None
    return Afterwards(
        residual_torque=largest(run.wheel[later] + run.clutch[later]),
        held_force=float(run.obstacle[later].mean()),
        drift=float(run.link[-1] - run.link[later][0]),
        distal_turned=float(run.distal[-1] - run.distal[free]),
    )


def analyse(bags: dict[str, Bag]) -> Report:
    """Computes metrics, claims and figure of one or more bags of the experiment."""
    runs = {name: FingerRun.of(run) for name, run in runs_by_variant(bags).items()}
    numbers = {name: measure(run) for name, run in runs.items()}
    first = next((name for name in runs if runs[name].run.approximation != "similar"), next(iter(runs)))
    run, e, claims = runs[first], numbers[first], Claims()
    _claim_loading(claims, run, e)
    _claim_driving(claims, run, e)
    _claim_breakaway(claims, run, e)
    _claim_similar(claims, runs, numbers)
    words = [
        f"{name} {e.mean_contacts:.0f} contacts, {e.mean_iterations:.1f} iterations, {1e3 * e.step:g} ms"
        for name, e in numbers.items()
    ]
    claims.say("About 1100 contacts per step, at steps of 0.5 ms.", "; ".join(words))
    return Report({"runs": numbers}, claims, lambda: _figure(runs, first), _CAPTION, {"contact": run.run.parameters})


def _claim_loading(claims: Claims, run: FingerRun, e: Numbers) -> None:
    limit = WORM_RATIO * run.scene.loading_effort
    expected = run.scene.clutch_force(e.loading_torque)
    met = abs(e.held_torque / limit - 1.0) < 0.02 and abs(e.press / expected - 1.0) < 0.05
    claims.say(
        "Loading: the proximal gear winds down on the washer until the motor reaches its effort limit.",
        f"{1e2 * e.held_torque:.3f} N cm on the worm before the reversal, {WORM_RATIO:g} times the limit is "
        f"{1e2 * limit:.3f} (within 2 %); at most {1e2 * e.loading_torque:.3f} while the rotor is stopped; the "
        f"gear presses with {e.press:.2f} N, T/(p/2 pi + mu r) is {expected:.2f} N (within 5 %)",
        met if run.time[-1] > run.scene.loading_time else None,
    )


def _claim_driving(claims: Claims, run: FingerRun, e: Numbers) -> None:
    hammering = (
        "The torques hammer as loads pass from tooth to tooth: the FFT has harmonics at the meshing frequencies."
    )
    found, driving = meshing(run), e.driving
    if isinstance(driving, NotDriving):
        claims.say("Driving: gear and clutch are engaged.", unless=_SHORT)
        claims.say(hammering, unless=_SHORT)
        return
    # both teeth of a pair may be anywhere in their backlash at either end
    play = run.scene.pinion_play / abs(np.ptp(run.motor[run.driving]))
    claims.say(
        "Driving: gear and clutch are engaged, the worm and the link turn at the ratios of the teeth.",
        f"{driving.ratio_worm:.4f} ({WORM_RATIO:g}) and {driving.ratio_link:.2f} ({LINK_RATIO:g}) rotations of the "
        f"motor; backlash explains a fraction of {play:.4f} (limit; of the link twice this)",
        abs(driving.ratio_worm / WORM_RATIO - 1.0) < play and abs(driving.ratio_link / LINK_RATIO - 1.0) < 2.0 * play,
    )
    noise = harmonic_bins(len(run.gear[run.driving]))
    claims.say(
        hammering,
        f"worm {found['worm']:.1f} Hz, pinion {found['pinion']:.1f} Hz; {100 * driving.ripple_at_meshing:.0f} % of the "
        f"power of the gear's torque lies at multiples of the pinion's, {100 * noise:.0f} % of the frequencies do "
        f"(limit twice this); ripple of the wheel's torque {1e2 * driving.ripple:.4f} N cm rms, mean "
        f"{1e2 * driving.torque:.3f}",
        driving.ripple_at_meshing > 2.0 * noise,
    )


def _claim_breakaway(claims: Claims, run: FingerRun, e: Numbers) -> None:
    text = (
        "Breakaway: the blocked clutch's torque grows to about the largest of loading; then the gear slips, unwinds "
        "and leaves the washer."
    )
    then = "Then no net torque is on the worm; stiction holds it, the link stays, the distal joint goes on."
    torque, too_short = e.breakaway_torque, "not long enough after the breakaway"
    if torque is None:
        claims.say(text, "the clutch does not disengage in this run", None if e.blocked is None else False)
        claims.say(then, unless=too_short)
        return
    expected = run.scene.breakaway_torque(e.press)
    claims.say(
        text,
        f"blocked at {e.blocked:.4f} s, largest torque {1e2 * torque:.3f} N cm "
        f"(F (mu r - p/2 pi) = {1e2 * expected:.3f}, within 5 %; loading reached "
        f"{1e2 * e.loading_torque:.3f}, which it exceeds in the paper), free at {e.disengaged:.4f} s",
        abs(torque / expected - 1.0) < 0.05,
    )
    if after := claims.reached(then, e.afterwards, unless=too_short):
        claims.say(
            then,
            f"at most {1e2 * after.residual_torque:.4f} N cm on the worm (limit 5 % of the breakaway); the obstacle "
            f"still bears {after.held_force:.2f} N, the link moves by {1e6 * after.drift:.1f} urad (limit 1000), the "
            f"distal joint by {after.distal_turned:.3f} rad (more than that)",
            after.residual_torque < 0.05 * torque
            and abs(after.drift) < 1e-3 < after.distal_turned
            and after.held_force > 0.0,
        )


def _claim_similar(claims: Claims, runs: dict[str, FingerRun], numbers: dict[str, Numbers]) -> None:
    similar = [name for name, run in runs.items() if run.run.approximation == "similar"]
    driven = {name: (e.step, e.driving) for name, e in numbers.items() if isinstance(e.driving, Driving)}
    words = [
        f"{name} at {1e3 * step:g} ms: the motor turns at "
        f"{100 * e.motor_speed / runs[name].scene.motor_speed:.0f} % of its speed, wheel's torque "
        f"{1e2 * e.torque:.3f} N cm, ripple {1e2 * e.ripple:.3f}"
        for name, (step, e) in driven.items()
    ]
    locked = []
    for name in set(similar) & driven.keys():
        own, e = driven[name]
        others = [f.motor_speed for other, (step, f) in driven.items() if other not in similar and step == own]
        if others:
            locked.append(e.motor_speed < LOCKED * min(others))
    claims.say(
        "With Similar the wheel's teeth lock spuriously as they glide in the worm's thread.",
        "; ".join(words) + (f" (locked: below {100 * LOCKED:g} % of the others)" if words else ""),
        all(locked) if locked else None,
        unless="" if similar else "no run with similar",
    )


_CAPTION = (
    "Torques on the proximal worm by contact with wheel and clutch (Fig. 24), angles, speed of the motor, and the "
    "spectrum of the proximal gear's torque while driving, with multiples of the pinion's meshing frequency (dashed)."
)


def _figure(runs: dict[str, FingerRun], first: str) -> Figure:
    run = runs[first]
    torque = [
        Curve(run.time, 1e2 * run.wheel, "wheel", {"color": "tab:purple", "linewidth": 0.9}),
        Curve(run.time, 1e2 * run.clutch, "clutch", {"color": "tab:pink", "linewidth": 0.9}),
        Curve(run.time, 1e2 * (run.wheel + run.clutch), "sum", {"color": "black", "linewidth": 0.5}),
    ]
    angle = [
        Curve(run.time, run.link, "proximal link", {"color": "tab:purple", "linewidth": 1.5}),
        Curve(run.time, run.distal, "distal link on it", {"color": "tab:orange", "linewidth": 1.5}),
        Curve(run.time, run.motor / LINK_RATIO, "motor/125", {"color": "black", "linewidth": 0.7}),
    ]
    speed, power = [], []
    for name, other in runs.items():
        line = {"linewidth": 0.8} | ({"color": "tab:cyan"} if name.endswith("half_millisecond") else {})
        kind = other.run.approximation
        speed.append(curve(name, kind, other.time[1:], np.diff(other.motor) / other.run.period, **line))
        if meshing(other):
            frequency, amplitude = spectrum(other.gear[other.driving], other.run.period)
            power.append(curve(name, kind, frequency[1:], np.maximum(1e2 * amplitude[1:], 1e-6), **line))
    harmonics = [k * meshing(run)["pinion"] for k in range(1, 5)] if meshing(run) else []
    events = [run.scene.loading_time, *(run.time[k] for k in (run.blocked, run.disengaged) if k is not None)]
    marked = partial(mark, x=events, color="gray")
    return panels(
        [
            Panel("torque on the proximal worm (N cm)", torque, title=first.replace("_", " "), extra=marked),
            Panel("angle (rad)", angle, extra=marked),
        ],
        [
            Panel("speed of the motor (rad/s)", speed, extra=marked),
            Panel("amplitude of the gear's torque (N cm)", power, "frequency (Hz)", {"yscale": "log"},
                  extra=partial(mark, x=harmonics, linestyle="--")),
        ],
        size=(13, 9),
    )  # fmt: skip
