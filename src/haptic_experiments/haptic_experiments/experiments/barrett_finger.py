"""Report of a finger whose gears let go of a blocked joint: section XII-C of Castro et al., Fig. 24, run by run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from convex_contact.scenes.barrett_finger import PINION_TEETH, PROXIMAL_TEETH, WHEEL_TEETH, Finger
from haptic_bags.bags import Bag
from haptic_experiments.kit.contact import ContactRun, style
from haptic_experiments.report import Claim, Report

SCENE = "convex_contact.barrett_finger:barrett_finger"
#: turns of the motor per turn of the proximal worm, and of the proximal link
WORM_RATIO, LINK_RATIO = PROXIMAL_TEETH / PINION_TEETH, PROXIMAL_TEETH / PINION_TEETH * WHEEL_TEETH
#: after the reversal, until the gears run evenly [s]
SETTLING = 0.03
#: a run that locks turns the motor slower than this share of another approximation's speed at the same step [-]
LOCKED = 0.9


@dataclass(frozen=True)
class FingerRun:
    """The signals of one run, n ticks; torques are on the proximal worm's shaft about its axis, but for `gear`.

    Attributes:
        run: all of it; scene: its numbers.
        motor, worm, link, distal: angles (n,) [rad]; `distal` is that of the distal link on the proximal one.
        wheel, clutch: torques by contact with the proximal wheel and the proximal gear (n,) [N m].
        gear: torque of the pinion on the proximal gear (n,) [N m].
        press: force of the gear on the washer (n,) [N].
        obstacle: force of the obstacle on the link (n,) [N].
    """

    run: ContactRun
    scene: Finger
    motor: np.ndarray
    worm: np.ndarray
    link: np.ndarray
    distal: np.ndarray
    wheel: np.ndarray
    clutch: np.ndarray
    gear: np.ndarray
    press: np.ndarray
    obstacle: np.ndarray

    @classmethod
    def of(cls, run: ContactRun) -> FingerRun:
        """The signals of a run.

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
    """Of a body about an axis of the world, from 0 on (n,) [rad]."""
    quaternion = run.orientation[:, body]
    return np.unwrap(2.0 * np.arctan2(quaternion[:, axis], quaternion[:, 3]))


def _wrench(run: ContactRun, a: int, b: int) -> tuple[np.ndarray, np.ndarray]:
    """Moment about the origin of b, and force, of a's contacts on b (n, 3) [N m], [N]."""
    moment, force = np.zeros((len(run.tick), 3)), np.zeros((len(run.tick), 3))
    for k, (contacts, chosen, sign) in enumerate(run.pairs(a, b)):
        f = sign * contacts.force[chosen]
        moment[k] = np.cross(contacts.position[chosen] - run.position[k, b], f).sum(axis=0)
        force[k] = f.sum(axis=0)
    return moment, force


def spectrum(values: np.ndarray, period: float) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies [Hz] and amplitudes of evenly spaced values without their straight line, with Hann's window."""
    time = np.arange(len(values))
    rest = values - np.polyval(np.polyfit(time, values, 1), time)
    window = np.hanning(len(values))
    return np.fft.rfftfreq(len(values), period), 2.0 * np.abs(np.fft.rfft(window * rest)) / window.sum()


def meshing(run: FingerRun) -> dict[str, float]:
    """Frequencies at which teeth of the proximal drive meet, from the motor's mean speed while driving [Hz]."""
    here = run.driving
    if here.stop - here.start < 100:
        return {}
    turns = abs(run.motor[here][-1] - run.motor[here][0]) / math.tau / (run.time[here][-1] - run.time[here][0])
    return {"worm": turns / WORM_RATIO, "pinion": turns * PINION_TEETH}


def measure(run: FingerRun) -> dict[str, Any]:
    """Numbers of one run."""
    scene, time, here = run.scene, run.time, run.driving
    loading = time <= scene.loading_time + 1e-9
    numbers: dict[str, Any] = {
        "step_s": run.run.step,
        "mean_contacts": float(run.run.contact_count[1:].mean()),
        "mean_iterations": float(run.run.iterations[1:].mean()),
        "loading_torque_Nm": float((-run.wheel[loading]).max(initial=0.0)),
        "held_torque_Nm": float(-run.wheel[loading][-1]),
        "press_N": float(run.press[loading][-1]),
        "ratio_worm": None,
        "ratio_link": None,
    }
    if here.stop - here.start >= 100:
        turned = run.motor[here][-1] - run.motor[here][0]
        numbers["ratio_worm"] = float(-turned / (run.worm[here][-1] - run.worm[here][0]))
        numbers["ratio_link"] = float(turned / (run.link[here][-1] - run.link[here][0]))
        numbers["motor_speed"] = float(turned / (time[here][-1] - time[here][0]))
        numbers["driving_torque_Nm"] = float(run.wheel[here].mean())
        numbers["driving_ripple_Nm"] = float(run.wheel[here].std())
        numbers["ripple_at_meshing"] = meshing_share(run)
    blocked, free = run.blocked, run.disengaged
    numbers["blocked_s"] = None if blocked is None else float(time[blocked])
    numbers["disengaged_s"] = None if free is None else float(time[free])
    if blocked is not None and free is not None:
        numbers["breakaway_torque_Nm"] = float(run.wheel[blocked:free].max())
        later = slice(free + 10, None)
        if len(time[later]) > 10:
            numbers["residual_torque_Nm"] = float(np.abs(run.wheel[later] + run.clutch[later]).max())
            numbers["held_force_N"] = float(run.obstacle[later].mean())
            numbers["drift_rad"] = float(run.link[-1] - run.link[later][0])
            numbers["distal_turned_rad"] = float(run.distal[-1] - run.distal[free])
    return numbers


def meshing_share(run: FingerRun) -> float:
    """Share of the spectrum's power of the gear's torque that lies at multiples of the meshing frequencies [-].

    Within 1.5 bins of each; multiples above half the sampling rate are folded back.
    """
    frequency, amplitude = spectrum(run.gear[run.driving], run.run.period)
    marked = np.zeros(len(frequency), dtype=bool)
    width = 1.5 * frequency[1]
    rate = 1.0 / run.run.period
    for k in range(1, 11):
        f = k * meshing(run)["pinion"] % rate
        marked |= np.abs(frequency - min(f, rate - f)) <= width
    return float((amplitude[marked] ** 2).sum() / (amplitude**2).sum())


def marked_share(run: FingerRun) -> float:
    """Share of all frequencies that :func:`meshing_share` counts: what noise without peaks would have [-]."""
    frequency = spectrum(run.gear[run.driving], run.run.period)[0]
    return float(min(1.0, 10 * 3.0 / len(frequency)))


def analyse(bags: dict[str, Bag]) -> Report:
    """Metrics, claims and figure of one or more bags of the experiment."""
    runs = {name.removeprefix("bag_"): FingerRun.of(ContactRun.from_bag(bag)) for name, bag in bags.items()}
    runs = {run.run.approximation if name == "bag" else name: run for name, run in runs.items()}
    numbers = {name: measure(run) for name, run in runs.items()}
    first = next((name for name in runs if runs[name].run.approximation != "similar"), next(iter(runs)))
    run, e = runs[first], numbers[first]
    claims = [
        _loading_claim(run, e),
        _ratio_claim(run, e),
        _hammering_claim(run, e),
        _breakaway_claim(run, e),
        _hold_claim(e),
        _similar_claim(runs, numbers),
        _size_claim(numbers),
    ]
    return Report({"runs": numbers}, claims, lambda: _figure(runs, first), _CAPTION, {"contact": run.run.parameters})


def _loading_claim(run: FingerRun, e: dict[str, Any]) -> Claim:
    limit = WORM_RATIO * run.scene.loading_effort
    expected = run.scene.clutch_force(e["loading_torque_Nm"])
    reached = run.time[-1] > run.scene.loading_time
    return Claim(
        "Loading: the proximal gear winds down on the washer until the motor reaches its effort limit.",
        f"{1e2 * e['held_torque_Nm']:.3f} N cm on the worm before the reversal, {WORM_RATIO:g} times the limit is "
        f"{1e2 * limit:.3f}; at most {1e2 * e['loading_torque_Nm']:.3f} while the rotor is stopped; the gear presses "
        f"with {e['press_N']:.2f} N, T/(p/2 pi + mu r) is {expected:.2f} N",
        bool(abs(e["held_torque_Nm"] / limit - 1.0) < 0.02 and abs(e["press_N"] / expected - 1.0) < 0.05)
        if reached
        else None,
    )


def _ratio_claim(run: FingerRun, e: dict[str, Any]) -> Claim:
    if e["ratio_link"] is None:
        return Claim("Driving: gear and clutch are engaged.", "the run does not drive long enough", None)
    # both teeth of a pair may be anywhere in their backlash at either end
    play = 2.0 * run.scene.backlash / (0.5e-3 * PINION_TEETH / 2) / abs(np.ptp(run.motor[run.driving]))
    return Claim(
        "Driving: gear and clutch are engaged, the worm and the link turn at the ratios of the teeth.",
        f"{e['ratio_worm']:.4f} ({WORM_RATIO:g}) and {e['ratio_link']:.2f} ({LINK_RATIO:g}) turns of the motor; "
        f"backlash explains a share of {play:.4f}",
        bool(abs(e["ratio_worm"] / WORM_RATIO - 1.0) < play and abs(e["ratio_link"] / LINK_RATIO - 1.0) < 2.0 * play),
    )


def _hammering_claim(run: FingerRun, e: dict[str, Any]) -> Claim:
    text = "The torques hammer as loads pass from tooth to tooth: the FFT has harmonics at the meshing frequencies."
    found = meshing(run)
    if not found:
        return Claim(text, "the run does not drive long enough", None)
    noise = marked_share(run)
    return Claim(
        text,
        f"worm {found['worm']:.1f} Hz, pinion {found['pinion']:.1f} Hz; {100 * e['ripple_at_meshing']:.0f} % of the "
        f"power of the gear's torque lies at multiples of the pinion's, {100 * noise:.0f} % of the frequencies do; "
        f"ripple of the wheel's torque {1e2 * e['driving_ripple_Nm']:.4f} N cm rms, "
        f"mean {1e2 * e['driving_torque_Nm']:.3f}",
        bool(e["ripple_at_meshing"] > 2.0 * noise),
    )


def _breakaway_claim(run: FingerRun, e: dict[str, Any]) -> Claim:
    text = (
        "Breakaway: the blocked clutch's torque grows until it exceeds the limit that loading reached; then the gear "
        "slips, unwinds and leaves the washer."
    )
    if e["disengaged_s"] is None:
        return Claim(text, "the clutch does not disengage in this run", None if e["blocked_s"] is None else False)
    expected = run.scene.breakaway_torque(e["press_N"])
    return Claim(
        text,
        f"blocked at {e['blocked_s']:.4f} s, largest torque {1e2 * e['breakaway_torque_Nm']:.3f} N cm "
        f"(F (mu r - p/2 pi) = {1e2 * expected:.3f}; loading reached {1e2 * e['loading_torque_Nm']:.3f}), free at "
        f"{e['disengaged_s']:.4f} s",
        bool(abs(e["breakaway_torque_Nm"] / expected - 1.0) < 0.05),
    )


def _hold_claim(e: dict[str, Any]) -> Claim:
    text = "Then no net torque is on the worm; stiction holds it, the link stays, the distal joint goes on."
    if "drift_rad" not in e:
        return Claim(text, "not long enough after the breakaway", None)
    return Claim(
        text,
        f"at most {1e2 * e['residual_torque_Nm']:.4f} N cm on the worm; the obstacle still bears "
        f"{e['held_force_N']:.2f} N, the link moves by {1e6 * e['drift_rad']:.1f} urad, "
        f"the distal joint by {e['distal_turned_rad']:.3f} rad",
        bool(
            e["residual_torque_Nm"] < 0.05 * e["breakaway_torque_Nm"]
            and abs(e["drift_rad"]) < 1e-3
            and e["held_force_N"] > 0.0
        ),
    )


def _similar_claim(runs: dict[str, FingerRun], numbers: dict[str, dict[str, Any]]) -> Claim:
    text = "With Similar the wheel's teeth lock spuriously as they glide in the worm's thread."
    similar = [name for name, run in runs.items() if run.run.approximation == "similar"]
    if not similar:
        return Claim(text, "no run with similar", None)
    words, locked = [], []
    for name, e in numbers.items():
        if e["ratio_link"] is None:
            continue
        words.append(
            f"{name} at {1e3 * e['step_s']:g} ms: the motor turns at "
            f"{100 * e['motor_speed'] / runs[name].scene.motor_speed:.0f} % of its speed, wheel's torque "
            f"{1e2 * e['driving_torque_Nm']:.3f} N cm, ripple {1e2 * e['driving_ripple_Nm']:.3f}"
        )
        beside = [f["motor_speed"] for other, f in numbers.items()
                  if other not in similar and f["step_s"] == e["step_s"] and f["ratio_link"] is not None]  # fmt: skip
        if name in similar and beside:
            locked.append(e["motor_speed"] < LOCKED * min(beside))
    return Claim(text, "; ".join(words), all(locked) if locked else None)


def _size_claim(numbers: dict[str, dict[str, Any]]) -> Claim:
    words = "; ".join(
        f"{name} {e['mean_contacts']:.0f} contacts, {e['mean_iterations']:.1f} iterations, {1e3 * e['step_s']:g} ms"
        for name, e in numbers.items()
    )
    return Claim("About 1100 contacts per step, at steps of 0.5 ms.", words, None)


_CAPTION = (
    "Torques on the proximal worm by contact with wheel and clutch (Fig. 24), angles, speed of the motor, and the "
    "spectrum of the proximal gear's torque while driving, with multiples of the pinion's meshing frequency (dashed)."
)


def _figure(runs: dict[str, FingerRun], first: str) -> Figure:
    figure = Figure(figsize=(13, 9), layout="constrained")
    torque, angle, speed, power = figure.subplots(2, 2).ravel()
    run = runs[first]
    torque.plot(run.time, 1e2 * run.wheel, label="wheel", color="tab:purple", lw=0.9)
    torque.plot(run.time, 1e2 * run.clutch, label="clutch", color="tab:pink", lw=0.9)
    torque.plot(run.time, 1e2 * (run.wheel + run.clutch), label="sum", color="black", lw=0.5)
    torque.set(ylabel="torque on the proximal worm (N cm)", xlabel="time (s)", title=first.replace("_", " "))
    angle.plot(run.time, run.link, label="proximal link", color="tab:purple")
    angle.plot(run.time, run.distal, label="distal link on it", color="tab:orange")
    angle.plot(run.time, run.motor / LINK_RATIO, label="motor/125", color="black", lw=0.7)
    angle.set(ylabel="angle (rad)", xlabel="time (s)")
    for name, other in runs.items():
        line = {**style(other.run.approximation), "label": name.replace("_", " "), "linewidth": 0.8}
        if name.endswith("half_millisecond"):
            line |= {"color": "tab:cyan"}
        speed.plot(other.time[1:], np.diff(other.motor) / other.run.period, **line)
        if meshing(other):
            _draw_spectrum(power, other, line)
    speed.set(ylabel="speed of the motor (rad/s)", xlabel="time (s)")
    power.set(xlabel="frequency (Hz)", ylabel="amplitude of the gear's torque (N cm)", yscale="log")
    if meshing(run):
        for k in range(1, 5):
            power.axvline(k * meshing(run)["pinion"], color="black", ls="--", lw=0.6)
    for axis in (torque, angle, speed, power):
        if axis.get_legend_handles_labels()[0]:
            axis.legend(fontsize=8)
    for axis in (torque, angle, speed):
        axis.axvline(run.scene.loading_time, color="gray", lw=0.6)
        for tick in (run.blocked, run.disengaged):
            if tick is not None:
                axis.axvline(run.time[tick], color="gray", lw=0.6)
    return figure


def _draw_spectrum(axis: Axes, run: FingerRun, line: dict[str, Any]) -> None:
    frequency, amplitude = spectrum(run.gear[run.driving], run.run.period)
    axis.plot(frequency[1:], np.maximum(1e2 * amplitude[1:], 1e-6), **line)
