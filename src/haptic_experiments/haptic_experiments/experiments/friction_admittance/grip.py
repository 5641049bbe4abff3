"""Stability of a held grip that renders a mass: the linear loop and the simulated device, for friction_admittance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from haptic_devices.device import load_parameters
from haptic_devices.factories import HAND_FILE
from haptic_devices.five_bar import FiveBar
from haptic_devices.five_bar.stability import Stability, grip_stability, spectral_radius_map
from haptic_devices.hands.operator import HandParameters
from haptic_experiments.kit.results import Claims

_PAPER_MASS = 2.0  #: smallest mass of the paper, "about 2 kg" [kg]
_FIRM = 4.0  #: a firm grasp, in hands of hand.yaml: four times their stiffness, damping and mass
_SHAKING = 8e-3  #: speed of a shaking grip, a tenth of the motion of `oscillation`, 80 mm/s [m/s]


class GripSettings(NamedTuple):
    """Numbers of a run on which the stability depends."""

    period: float  #: T [s]
    delay: int  #: delay of the commands [ticks]
    friction_force: float  #: rendered friction force F [N]
    mass: float  #: rendered mass M [kg]


def usual_hand() -> HandParameters:
    """Loads the hand of hand.yaml."""
    return load_parameters(HandParameters, HAND_FILE)


def stability(device: FiveBar | None, held: HandParameters | None, settings: GripSettings) -> Stability | None:
    """Finds the smallest mass of the linear loop, and simulates the device; None without a device or a hand."""
    if device is None or held is None:
        return None
    own: dict[str, Any] = {
        "period": settings.period,
        "delay": settings.delay,
        "friction_force": settings.friction_force,
    }
    masses = (_PAPER_MASS * np.array([0.5, 1.0, 2.0])).tolist()
    return grip_stability(device, usual_hand(), (1.0, _FIRM), masses, **own)


def claim_mass(claims: Claims, found: Stability | None, measured: Sequence[float | None]) -> None:
    """Adds the finding about the smallest mass, which the assumed elasticity of the gears makes.

    Args:
        claims: claims of the report.
        found: result of `stability`.
        measured: RMS velocity above 30 Hz of the runs [m/s].
    """
    text = "With a mass of less than about 2 kg the grip tends to oscillate, especially in a firm grasp."
    if found is None:
        claims.say(text, unless="no hand, or a device that is not known")
        return
    normal, firm = found.smallest_mass["1"], found.smallest_mass[f"{_FIRM:g}"]
    shaking = {(firmness, mass): value for firmness, mass, value in found.shaking}
    masses = sorted({mass for _, mass in shaking})

    def words(firmness: float) -> str:
        values = [(mass, shaking[firmness, mass]) for mass in masses]
        return ", ".join(
            f"{mass:g} kg: {1e3 * value:.1f} mm/s" if np.isfinite(value) else f"{mass:g} kg: too fast, stopped"
            for mass, value in values
        )

    present = [value for value in measured if value is not None]
    own = f"; these runs: at most {1e3 * max(present):.1f} mm/s above 30 Hz" if present else ""
    claims.note(
        text,
        "assumption: the gears have an elasticity, typical but not the paper's, that was put in to have a smallest "
        f"mass near {_PAPER_MASS:g} kg; with rigid gears it is far below (docs/devices.md). Then the smallest stable "
        f"mass (linear loop) is {normal[0]:.2f} kg in the hand's normal grasp, {firm[0]:.2f} kg in one {_FIRM:g} times "
        f"as firm; with one tick of delay {normal[1]:.2f} and {firm[1]:.2f} kg. Shaking of the simulated grip led at "
        f"80 mm/s, delay {found.delay}, normal grasp: {words(1.0)}; firm: {words(_FIRM)}{own}",
    )


def draw_map(
    axes: Axes, device: FiveBar | None, held: HandParameters | None, settings: GripSettings, found: Stability | None
) -> None:
    """Draws where the linear loop is unstable, over rendered mass and stiffness of the grasp.

    Args:
        axes: axes of the map.
        device: simulated device.
        held: hand of the run.
        settings: numbers of the run.
        found: result of `stability`.
    """
    axes.set(xlabel="stiffness of the grasp (N/m)", ylabel="rendered mass M (kg)", title="when the grip oscillates")
    if found is None or device is None or held is None:
        axes.text(0.5, 0.5, "no hand, or a device\nthat is not known", ha="center", transform=axes.transAxes)
        return
    hand, masses, firmness = usual_hand(), np.geomspace(0.25, 8.0, 41), np.geomspace(0.25, 8.0, 13)
    stiffness = hand.stiffness * firmness
    for delay, style in ((0, "--"), (1, "-")):
        radii = spectral_radius_map(device, hand, masses, firmness, period=settings.period, delay=delay)
        if delay == min(found.delay, 1):
            axes.contourf(stiffness, masses, radii, levels=[1.0, np.inf], colors=["tab:red"], alpha=0.12)
        axes.contour(stiffness, masses, radii, levels=[1.0], colors="black", linestyles=style, linewidths=1.2)
    shakes: dict[str, Any] = {"color": "tab:red", "marker": "x", "mew": 2}
    quiet: dict[str, Any] = {"color": "tab:green", "marker": "o", "mew": 2, "fillstyle": "none"}
    for grip, mass, value in found.shaking:
        axes.plot(hand.stiffness * grip, mass, ms=9, **(shakes if value > _SHAKING else quiet))
    axes.plot(held.stiffness, settings.mass, "*", color="tab:blue", ms=9)
    axes.set(xscale="log", yscale="log", xlim=(stiffness[0], stiffness[-1]), ylim=(masses[0], masses[-1]))
    ticks = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
    axes.set_yticks(ticks, [f"{n:g}" for n in ticks])
    axes.set_xticks([hand.stiffness * n for n in ticks], [f"{hand.stiffness * n:g}" for n in ticks])
    axes.minorticks_off()
    entries = [
        Line2D([], [], color="black", linestyle="--", label="limit, no delay"),
        Line2D([], [], color="black", label="limit, one tick of delay"),
        Line2D([], [], linestyle="", label="simulated: shakes", **shakes),
        Line2D([], [], linestyle="", label="simulated: quiet", **quiet),
        Line2D([], [], color="tab:blue", marker="*", linestyle="", label="this run"),
    ]
    axes.legend(handles=entries, loc="lower right", fontsize=9)
