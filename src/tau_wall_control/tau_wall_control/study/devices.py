"""The paper's findings on random devices of the kind: what holds for all, for most, for the stand-in alone.

The stand-in's geometry, masses, torques and weights were chosen so that it shows what the paper says. A finding that
other devices of the same build do not share says nothing about the paper's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tau_wall_control.device.parameters import TauParameters
from tau_wall_control.device.tau_device import TauDevice
from tau_wall_control.device.workspace import singular_values, static_load
from tau_wall_control.errors import TauError
from tau_wall_control.simulation.monte_carlo import FIGURES, Design, Pushes, places
from tau_wall_control.study.settings import Answer, Finding, Grid, Results, StudySettings, Task, nine_points

#: Range of the factors on lengths and places, masses and inertias, rotors, torques, friction, and weights
LENGTH, MASS, ROTOR, TORQUE, FRICTION, WEIGHT = 0.15, 2.0, 2.0, 1.5, 3.0, 2.0
#: A plausible device holds the push at all nine points with this share of its torque, at this condition number
USED, CONDITION = 0.95, 20.0
#: Draws until a plausible device is found
_MOST_DRAWS = 1000
#: Relative change that counts as one [-]: of penetration, and of the stiffness along x
LESS, SAME_ALONG_X = 0.001, 0.1
SCHEMES = ("sopc", "mopc")


@dataclass(frozen=True)
class Drawn:
    """A random device, and what its controllers do at the nine points.

    Attributes:
        parameters: of the stand-in that is varied.
        seed: of the draw; 0 is the stand-in itself.
        force: of the push [N].
    """

    parameters: TauParameters
    seed: int
    force: float

    def run(self) -> dict[str, np.ndarray]:
        """Returns figures (2, 9, FIGURES) of SOPC and MOPC, the same with twice the torque, and the number of draws."""
        parameters, draws = draw_device(self.parameters, self.seed, self.force)
        strong = scaled_torque(parameters, 2.0)
        points = places(nine_points(TauDevice(parameters)))
        duration = parameters.disturbance.duration

        def figures(p: TauParameters) -> np.ndarray:
            pushes = [Pushes(p, Design(scheme), points, self.force, duration) for scheme in SCHEMES]
            return np.array([push.run()["figures"][:, 0] for push in pushes])

        return {"figures": figures(parameters), "strong": figures(strong), "draws": np.array([draws])}


def draw_device(stand_in: TauParameters, seed: int, force: float) -> tuple[TauParameters, int]:
    """Returns a random plausible device, and how many draws it took; seed 0 is the stand-in.

    All lengths and places of a chain vary by up to `LENGTH` each, masses with their inertias, rotors, torques, friction
    and the controllers' weights by factors between 1/x and x. A draw is plausible if all nine points are reached, far
    from singular ones, and the push is held there with `USED` of the torque.

    Raises:
        TauError: No draw was plausible.
    """
    if seed == 0:
        return stand_in, 0
    random = np.random.default_rng((20261125, seed))
    for draws in range(1, _MOST_DRAWS + 1):
        candidate = _varied(stand_in, random)
        if _is_plausible(candidate, force):
            return candidate, draws
    raise TauError(f"devices: no plausible device in {_MOST_DRAWS} draws")


def scaled_torque(parameters: TauParameters, factor: float) -> TauParameters:
    """Returns the device with stronger motors."""
    document = parameters.model_dump(mode="json")
    for name in ("peak_torque_motor", "peak_torque_joint", "continuous_torque_joint"):
        document["actuators"][name] *= factor
    return TauParameters.model_validate(document)


def _varied(stand_in: TauParameters, random: np.random.Generator) -> TauParameters:
    def factor(spread: float) -> float:
        return float(np.exp(random.uniform(-1.0, 1.0) * np.log(spread)))

    document: dict[str, Any] = stand_in.model_dump(mode="json")
    sides = [_varied_chain(document["chains"]["chain_1"], random, factor)]
    document["chains"]["chain_1"] = sides[0]
    mirrored = {**sides[0], **{n: [-sides[0][n][0], *sides[0][n][1:]] for n in ("base_origin", "platform_point")}}
    document["chains"]["chain_2"] = mirrored  # the devices of the kind are symmetric
    document["chains"]["chain_3"] = _varied_chain(document["chains"]["chain_3"], random, factor)
    mass = factor(MASS)
    document["platform"]["mass"] *= mass
    document["platform"]["inertia_about_com"] = [mass * x for x in document["platform"]["inertia_about_com"]]
    document["actuators"]["rotor_inertia"] *= factor(ROTOR)
    for name in document["friction"]:
        document["friction"][name] *= factor(FRICTION)
    for name in ("weight_angle", "weight_rate", "weight_integral", "weight_torque"):
        document["control"][name] *= factor(WEIGHT)
    return scaled_torque(TauParameters.model_validate(document), factor(TORQUE))


def _varied_chain(chain: dict[str, Any], random: np.random.Generator, factor: Any) -> dict[str, Any]:
    def stretched(value: Any) -> Any:
        if isinstance(value, list):
            return [stretched(x) for x in value]
        return value * (1.0 + random.uniform(-LENGTH, LENGTH))

    varied = {
        **chain,
        **{n: stretched(chain[n]) for n in ("base_origin", "platform_point", "link_1_length", "link_2_length")},
    }
    for link in ("link_1", "link_2"):
        mass, length = factor(MASS), varied[f"{link}_length"] / chain[f"{link}_length"]
        own = chain[link]
        varied[link] = {
            "mass": mass * own["mass"],
            "com": length * own["com"],
            "inertia_axial": mass * own["inertia_axial"],
            "inertia_transverse": mass * length**2 * own["inertia_transverse"],
        }
    return varied


def _is_plausible(parameters: TauParameters, force: float) -> bool:
    device = TauDevice(parameters)
    try:
        for point in nine_points(device).reshape(-1, 3):
            values = singular_values(device, point)
            if not (values[0] < CONDITION * values[-1] and static_load(device, point, force) < USED):
                return False
    except TauError:
        return False
    return True


def tasks(settings: StudySettings) -> dict[str, Task]:
    """Returns the stand-in and random devices."""
    count = 3 if settings.quick else settings.devices
    parameters, force = settings.tau.parameters, settings.push
    return {f"device-{seed}": Drawn(parameters, seed, force) for seed in range(count + 1)}


def properties(figures: np.ndarray, strong: np.ndarray) -> dict[str, float]:
    """Returns the numbers behind the findings, from figures (2, 9, FIGURES); rows of the wall from the highest y."""
    depth = figures[..., FIGURES.index("max_penetration")].reshape(2, 3, 3)
    stiff = figures[..., FIGURES.index("stiffness")].reshape(2, 3, 3)
    strongly = strong[..., FIGURES.index("stiffness")].reshape(2, 3, 3)
    ratio = (depth[1] / depth[0] - 1.0).ravel()[np.arange(9) != 4]
    row = stiff.mean(axis=2)
    along_x = (stiff.max(axis=2) - stiff.min(axis=2)) / row
    return {
        "gain": float(1.0 - depth[1].mean() / depth[0].mean()),
        "worst_edge": float(-ratio.max()),
        "downwards": float((1.0 - row[:, 1:] / row[:, :-1]).min()),
        "along_x": float(along_x.max()),
        "twice_the_torque": float((strongly.min(axis=(1, 2)) / stiff.min(axis=(1, 2)) - 1.0).max()),
        "largest_torque": float(figures[..., FIGURES.index("peak_torque")].max()),
    }


def answer(settings: StudySettings, results: Results) -> Answer:
    """Counts for how many random devices each finding holds."""
    found = [properties(result["figures"], result["strong"]) for result in results.values()]
    stand_in, drawn = found[0], found[1:]
    draws = [int(result["draws"][0]) for result in list(results.values())[1:]]
    n = len(drawn)
    answer = Answer({"stand_in": stand_in, "devices": drawn, "draws": draws})
    claims: tuple[tuple[str, str, Callable[[float], bool]], ...] = (
        ("MOPC penetrates less on average", "gain", lambda x: x > LESS),
        (f"MOPC penetrates less at every edge point ({100 * LESS:g} % counts)", "worst_edge", lambda x: x > LESS),
        ("the wall is softer in every row below", "downwards", lambda x: x > 0.0),
        (
            f"the stiffness changes with x by less than {100 * SAME_ALONG_X:g} % in a row",
            "along_x",
            lambda x: x < SAME_ALONG_X,
        ),
        (
            "motors at their limits make the softest point soft: twice the torque stiffens it by more than 1 %",
            "twice_the_torque",
            lambda x: x > 0.01,
        ),
    )
    for text, key, holds in claims:
        values = np.array([device[key] for device in drawn])
        count = sum(map(holds, values.tolist()))
        answer.findings.append(
            Finding(
                f"{text}: in all random devices",
                f"in {count} of {n}; stand-in {100 * stand_in[key]:.2f} %, random devices {100 * values.min():.2f} to "
                f"{100 * values.max():.2f} %, half of them within {100 * np.percentile(values, 25):.2f} to "
                f"{100 * np.percentile(values, 75):.2f} %",
                count == n,
            )
        )
    header = ("device", *(key.replace("_", " ") for key in stand_in))
    rows = [
        ("stand-in" if i == 0 else str(i), *(f"{100 * value:.2f} %" for value in device.values()))
        for i, device in enumerate(found)
    ]
    answer.tables.append(Grid("The stand-in and random devices", header, rows))
    answer.figures["devices"] = (
        partial(_figure, stand_in, drawn),
        f"{n} random devices (grey) beside the stand-in (blue): gain of MOPC on average and at its worst edge point, "
        "fall of the stiffness from row to row, largest change along x, and what twice the torque adds to the lowest "
        "stiffness.",
    )
    return answer


def _figure(stand_in: dict[str, float], drawn: list[dict[str, float]]) -> Figure:
    figure = Figure(figsize=(11.0, 3.4), layout="constrained")
    keys = ("gain", "worst_edge", "downwards", "along_x", "twice_the_torque")
    for axes, key in zip(figure.subplots(1, len(keys)), keys, strict=True):
        values = 100.0 * np.array([device[key] for device in drawn])
        axes.plot(np.arange(1, len(values) + 1), np.sort(values), ".", color="0.5")
        axes.axhline(100.0 * stand_in[key], color="C0")
        axes.axhline(0.0, color="0.8", lw=0.6, zorder=0)
        axes.set(title=key.replace("_", " "), xlabel="random device, sorted", ylabel="[%]")
    return figure
