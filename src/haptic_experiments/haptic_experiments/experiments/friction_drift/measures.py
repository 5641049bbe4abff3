"""Numbers of the runs of `friction_drift`: motion of each model at rest under a load, or as it slides to rest."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from haptic_experiments.kit.comparison import ScriptedRun
from haptic_experiments.kit.results import MERGED
from haptic_experiments.kit.signals import largest
from haptic_friction.factory import make_model, parameters_of
from haptic_friction.reference.drift import Drift, Load, Stop, load_flips

#: repetitions of the timed run; the fastest counts
_TIMED = 3
_NAMES = {
    "A": "model A",
    "B": "model B",
    "C": "model C + mass",
    "D": "model D",
    "karnopp": "Karnopp",
    "quinn": "Quinn",
    "regularized_coulomb": "regularised",
    "explicit_coulomb": "explicit Coulomb",
    "dahl": "Dahl",
    "lugre": "LuGre",
    "elastoplastic": "elastoplastic",
    "reset_integrator": "reset integrator",
    "hayward_armstrong": "Hayward-Armstrong",
}
#: parameters that distinguish columns of one model, with symbol, unit and its size
_DISTINCTIONS = {
    "velocity_threshold": ("ε", "mm/s", 1e-3),
    "stiffness": ("K", "kN/m", 1e3),
    "damping": ("B", "N s/m", 1.0),
    "mass": ("M", "kg", 1.0),
}
_WITH_THRESHOLD = ("karnopp", "quinn", "regularized_coulomb")


@dataclass(frozen=True)
class ModelNumbers:
    """Parameters and motion of a column."""

    model: str  #: name of the model
    velocity_threshold: float  #: epsilon [m/s]
    stiffness: float  #: K [N/m]
    damping: float  #: B [N s/m]
    mass: float  #: M [kg]
    motion: Any = field(metadata=MERGED)  #: Drift or Stop, by the kind of the run


@dataclass(frozen=True)
class Slid:
    """Start of a mass that slides to rest."""

    initial_velocity: float  #: start velocity [m/s]
    should_rest: bool  #: whether it should be at rest in the second half of the run


@dataclass(frozen=True)
class Loaded:
    """Load on a mass at rest."""

    load_duration: float  #: length of the load [s]
    unloaded: bool  #: whether the run goes on after the load
    load_sign_flips_per_second: float  #: changes of the load's sign [1/s]
    impulse: float  #: sum of the load over time [N s]; the creep of the regularised model is epsilon/F times that


@dataclass(frozen=True)
class RunNumbers:
    """Numbers of one run."""

    kind: str  #: "stop" or "drift"
    mode: str  #: mode of the loop
    ticks: int  #: number of ticks
    period: float  #: T [s]
    friction_force: float  #: F [N]
    largest_load: float  #: largest load [N]
    load_below_friction_force: bool  #: whether that is below F
    about: Any = field(metadata=MERGED)  #: start of a stop, or load of a drift
    models: dict[str, ModelNumbers]  #: numbers of the columns, by name

    @property
    def is_long_enough(self) -> bool:
        """The load is taken away, or the mass should rest."""
        return bool(self.about.should_rest if self.kind == "stop" else self.about.unloaded)


def labels(run: ScriptedRun) -> list[str]:
    """Names each column: by its model, and by the parameters that differ between columns of the same model."""
    found = []
    for column, model in enumerate(run.models):
        others = [c for c, other in enumerate(run.models) if other == model and c != column]
        parts = [_NAMES.get(model, model)]
        for name, (symbol, unit, size) in _DISTINCTIONS.items():
            if name == "velocity_threshold" and model not in _WITH_THRESHOLD:
                continue
            value = run.number(name, column)
            # the usual choice of damping follows from the stiffness, which is in the label
            known = name == "damping" and len(parts) > 1
            if not known and any(run.number(name, other) != value for other in others):
                parts.append(f"{symbol} = {value / size:g} {unit}")
        label = ", ".join(parts)
        found.append(label if label not in found else f"{label} ({column})")
    return found


def position(run: ScriptedRun) -> np.ndarray:
    """Integrates the velocities to positions x (n, columns) [m]; over missed ticks the velocity is held."""
    return np.cumsum(run.velocity * (run.period * np.diff(run.tick, prepend=run.tick[0] - 1))[:, None], axis=0)


def costs(run: ScriptedRun) -> dict[str, float]:
    """Measures the time of one step [ns] of each model's compiled loop over the recorded input, on this machine.

    A model whose law is in a file or module that no longer exists is left out.
    """
    force, measured = run.input_force[:, None], {}
    for column, label in enumerate(labels(run)):
        try:
            model = make_model(parameters_of(run.parameters, column), dimension=1)
        except ValueError:
            continue
        times = []
        for _ in range(_TIMED):
            model.reset()
            start = time.perf_counter()
            model.simulate(force)
            times.append(time.perf_counter() - start)
        measured[label] = 1e9 * min(times) / len(force)
    return measured


def measure(run: ScriptedRun) -> RunNumbers:
    """Measures one run."""
    x, load, start, F = position(run), run.input_force, run.number("initial_velocity"), run.number("friction_force")
    about: Slid | Loaded
    if start:
        # the slowest way to rest is with the pull along the motion
        margin = F - largest(load)
        heaviest = max(run.number("mass", column) for column in range(len(run.models)))
        rests = margin > 0.0 and heaviest * abs(start) / margin < 0.5 * run.period * len(x)
        about = Slid(start, bool(rests))
    else:
        ends = Load.of(load)
        about = Loaded(
            load_duration=ends.end * run.period,
            unloaded=bool(ends.zero < len(x)),
            load_sign_flips_per_second=load_flips(load, run.period),
            impulse=float(run.period * load.sum()),
        )

    def motion(c: int) -> Drift | Stop:
        if start:
            return Stop.of(x[:, c], run.velocity[:, c])
        return Drift.of(x[:, c], run.velocity[:, c], run.force[:, c], load, run.period)

    models = {}
    for c, name in enumerate(labels(run)):
        own = {parameter: run.number(parameter, c) for parameter in _DISTINCTIONS}
        models[name] = ModelNumbers(model=run.models[c], motion=motion(c), **own)
    return RunNumbers(
        kind="stop" if start else "drift",
        mode=run.device["mode"],
        ticks=len(run.tick),
        period=run.period,
        friction_force=F,
        largest_load=largest(load),
        load_below_friction_force=bool(largest(load) < F),
        about=about,
        models=models,
    )
