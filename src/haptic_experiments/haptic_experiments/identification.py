"""Identification of friction from a bag: `./haptics exec python -m haptic_experiments.identification RUN`.

Two velocities can be taken. The measured one, `velocity` of FrictionState, is the input of the friction element: the
tool's velocity in DeviceState along the element's axes. The true one is the tool's velocity in SimulationState: with
it, encoder and velocity filter count as a part of the contact.
"""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from haptic_bags.bags import Bag
from haptic_core.errors import HapticError
from haptic_friction.identification import LAWS, Identification, identify_model_c

#: names of the friction node's parameters where they differ from those of the laws
_NODE_NAMES = {"force": "friction_force", "kinetic_force": "friction_force"}


class Velocity(str, Enum):
    """Velocity of the identification."""

    measured = "measured"
    true = "true"


class Law(str, Enum):
    """Friction law that is identified."""

    coulomb = "coulomb"
    viscous_coulomb = "viscous_coulomb"
    stribeck = "stribeck"


def friction_signals(
    bag: Bag, *, velocity: str = "measured", prefix: str = "/joystick"
) -> tuple[np.ndarray, np.ndarray, float]:
    """Reads velocity and friction force of a bag, over its longest sequence of contiguous ticks.

    Args:
        bag: bag with FrictionState on `prefix`/friction/state; for the true velocity also SimulationState.
        velocity: "measured" or "true".
        prefix: namespace of device and friction node.

    Returns:
        velocity [m/s] and force f [N], shape (n, dimension), along the element's axes, f in the direction of sliding;
        and the period T [s].

    Raises:
        HapticError: the bag lacks a topic, the friction node's axes, or two ticks.
    """
    state = f"{prefix}/device_state"
    if state not in bag.topics:
        raise HapticError(f"{bag.path}: nothing recorded on {state}")
    topics = ["friction/state", *(["simulation_state"] if velocity == "true" else [])]
    common = bag.ticks(prefix, *topics, least=0)
    ticks, force = common.tick, common["friction/state"]["force"]
    if velocity == "true":
        axes = bag.parameters("friction").get("axes", [])
        if not axes:
            raise HapticError(f"{bag.path}: the friction node's parameter axes is not in the bag")
        speed = common["simulation_state"]["tool_twist"][:, ["xyz".index(axis) for axis in axes]]
    else:
        speed = common["friction/state"]["velocity"]
    if len(ticks) < 2:
        raise HapticError(f"{bag.path}: expected two ticks or more, got {len(ticks)}")
    edges = np.concatenate(([0], np.flatnonzero(np.diff(ticks) != 1) + 1, [len(ticks)]))
    longest = int(np.argmax(np.diff(edges)))
    part = slice(edges[longest], edges[longest + 1])
    return np.asarray(speed)[part], np.asarray(force)[part], float(bag.topics[state]["period"][0])


def known_parameters(bag: Bag) -> dict[str, float]:
    """Returns the rendered parameters under the names of an identification; none if they changed during the run."""
    parameters = bag.parameters("friction")
    if any(event.source == "friction" and event.kind == "parameter" for event in bag.events):
        return {}
    names = (*LAWS.get(parameters.get("law", "coulomb"), ()), "stiffness", "damping")
    values = {name: parameters.get(name, parameters.get(_NODE_NAMES.get(name, name))) for name in names}
    return {name: float(value) for name, value in values.items() if value is not None}


def identify_bag(bag: Bag, *, velocity: str = "measured", law: str | None = None) -> Identification:
    """Identifies model C from a bag.

    Args:
        bag: bag of a run with a friction node that renders model C.
        velocity: "measured" or "true".
        law: "coulomb", "viscous_coulomb" or "stribeck"; None: the one that the friction node rendered.

    Raises:
        HapticError: the bag does not have what is needed, or nothing can be identified from it.
    """
    parameters = bag.parameters("friction")
    if parameters.get("model", "C") != "C":
        raise HapticError(f"{bag.path}: only model C is identified, the bag has model {parameters['model']}")
    rendered = parameters.get("law", "coulomb")
    known = [each.value for each in Law]
    if law is None and rendered not in known:
        raise HapticError(f"identification knows the laws {', '.join(known)}; this run has the law {rendered}")
    signals, force, period = friction_signals(bag, velocity=velocity)
    try:
        return identify_model_c(signals, force, period=period, law=law or rendered)
    except ValueError as error:
        raise HapticError(f"{bag.path}: {error}") from None


def table_of(found: Identification, known: dict[str, float], title: str) -> Table:
    """Makes the table of estimates, intervals and rendered values; then the parameters without estimate, and why."""
    table = Table("parameter", "estimate", "95 % interval", "unit", "rendered", title=title, title_justify="left")
    for name, estimate in found.estimates.items():
        value, low, high = estimate.digits()
        rendered = f"{known[name]:g}" if name in known else ""
        table.add_row(name, value, f"{low} to {high}", estimate.unit, rendered)
    for name, reason in found.not_identified.items():
        table.add_row(name, "not identified", reason, "", f"{known[name]:g}" if name in known else "")
    return table


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def identify(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="runs/<time>-<name>, or a bag")],
    velocity: Annotated[Velocity, typer.Option(help="input of the element, or what the tool really did")] = (
        Velocity.measured
    ),
    law: Annotated[Law | None, typer.Option(help="friction law; the rendered one if not given")] = None,
) -> None:
    """Identifies friction law, stiffness and damping of model C from the bags of a run."""
    from haptic_experiments.report import bags_of  # only here: it loads the plotting

    console = Console()
    for name, path in bags_of(run).items():
        bag = Bag(path)
        found = identify_bag(bag, velocity=velocity.value, law=law.value if law else None)
        title = (
            f"{name}: model C, law {found.law}, from the {velocity.value} velocity; {found.samples} samples, "
            f"{found.residual_rms:.2g} N RMS left"
        )
        console.print(table_of(found, known_parameters(bag), title))


def main() -> None:
    """Runs the command; the suite's errors become one line and exit code 1."""
    try:
        app(standalone_mode=True)
    except HapticError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
