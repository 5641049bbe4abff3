"""285 real tosses of a cube: how far this suite's, Drake's and MuJoCo's simulations are from the recording.

Of the tosses, 95 (a seeded permutation) are for identification, the other 190 are simulated here, each from its first
sample. Errors are means over samples, then tosses, with 95 % bootstrap intervals; differences are paired by toss. The
parameters stand in cube_toss_parameters.yaml; --identify finds them again, with as many trajectory evaluations for
every engine.

"contact": stiffness, damping, friction and the board's height are identified, the cube is as published with the
recording. "body": also the moment of inertia, the centre of mass and the corners' radius; gravity and the cube's size
have the recording's scale, measured in free flight.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cube_toss_gradient
import cube_toss_ours
import numpy as np
import peers
import yaml
from cube_toss_cases import (
    BODY,
    BODY_START,
    SCALE,
    SEARCHED,
    Model,
    Scene,
    Start,
    fitted,
    identify,
    interval,
    recorded,
    score,
    split,
)
from options import Parser, positive
from rich.console import Console
from rich.table import Table

from convex_contact.scenes.tosses import Toss

PARAMETERS = Path(__file__).with_name("cube_toss_parameters.yaml")
#: where Gauss & Newton starts
GUESS = {"stiffness": 2e4, "dissipation": 0.5, "relaxation_time": 1e-3, "friction": 0.2, "height": 0.0}


def engines(names: Sequence[str], console: Console) -> list[Model]:
    """All models of this suite and of the engines that can be had."""
    models = cube_toss_ours.models()
    for name in names:
        try:
            peers.add(name)
        except peers.PeerError as error:
            console.print(f"{name}: {error}")
            continue
        models += __import__(f"cube_toss_{name}").models()
    return models


def scenes(stored: dict[str, Any]) -> dict[str, Scene]:
    """The settings of all engines, by table."""
    body = stored["scene"]
    return {"contact": Scene(), "body": Scene(np.array(body["gravity"]), body["half_width"])}


def equipped(model: Model, table: str, substeps: int) -> Model:
    """The model with the parameters of a table."""
    bounds = model.bounds | BODY if table == "body" else model.bounds
    return dataclasses.replace(model, bounds=bounds, substeps=substeps)


def search(
    model: Model, table: str, scene: Scene, tosses: Sequence[Toss], evaluations: int, start: dict[str, float] | None
) -> dict[str, float]:
    """Identifies a model; with gradients first if it has any."""
    used, point = 0, None
    if model.name.startswith("ours") and set(model.bounds) - set(BODY) <= set(cube_toss_gradient.COLUMNS):
        begin = GUESS | BODY_START if table == "body" else GUESS
        found, used = cube_toss_gradient.gauss_newton(
            model, {name: begin[name] for name in model.bounds}, scene, tosses, min(60, evaluations // 2)
        )
        point = model.point(found)
    elif start is not None:
        point = model.point(start | BODY_START)
    u, _ = identify(
        lambda u: score(model.errors(model.parameters(u), scene, tosses)),
        len(model.bounds),
        evaluations - used,
        None if point is None else np.clip(point, 0.02, 0.98),
    )
    return model.parameters(u)


def identified(models: Sequence[Model], stored: dict[str, Any], evaluations: int, console: Console) -> dict[str, Any]:
    """The file's content with new parameters."""
    training, _ = split()
    few, rest = training[:SEARCHED], training[SEARCHED:]
    entries = []
    for table, scene in scenes(stored).items():
        for old in stored["models"]:
            for model in (m for m in models if m.name == old["model"] and old["table"] == table):
                made = equipped(model, table, old["substeps"])
                before = time.process_time()
                same = [e["parameters"] for e in entries if e["model"] == model.name]
                x = search(made, table, scene, few, evaluations, same[0] if same else None)
                errors = {name: made.errors(x, scene, part) for name, part in (("few", few), ("rest", rest))}
                numbers = {f"{name}_score": round(score(part), 4) for name, part in errors.items()}
                cpu = round(time.process_time() - before, 1)
                entry = {"table": table, "model": model.name, "substeps": made.substeps, "parameters": x}
                entries.append(entry | numbers | {"evaluations": evaluations, "cpu_time": cpu})
                console.print(f"{table}, {model.name}: {numbers}, {cpu} s")
    return stored | {"models": entries}


def report(
    models: Sequence[Model], stored: dict[str, Any], tosses: Sequence[Toss], starts: str, console: Console
) -> dict[tuple[str, str], np.ndarray]:
    """Prints both tables; returns the errors (n, 2) by table and model."""
    found: dict[tuple[str, str], np.ndarray] = {}
    for table, scene in scenes(stored).items():
        out = Table(
            "model", "steps per sample", "position [% of width]", "rotation [deg]", "median", "CPU [s]",
            title=f"{table}: {len(tosses)} tosses, {starts} starts",
        )  # fmt: skip
        for entry in (e for e in stored["models"] if e["table"] == table):
            for model in (m for m in models if m.name == entry["model"]):
                made, x = equipped(model, table, entry["substeps"]), entry["parameters"]
                center = np.array([0.0, 0.0, stored["scene"]["center"]])

                def begin(toss: Toss, center: np.ndarray = center) -> Start:
                    body = scenes(stored)["body"]
                    return recorded(toss) if starts == "recorded" else fitted(toss, body, center)

                before = time.process_time()
                errors = made.errors(x, scene, tosses, begin)
                cpu = time.process_time() - before
                found[table, model.name] = errors
                low, high = interval(errors)
                mean, middle = errors.mean(axis=0), np.median(errors, axis=0)
                out.add_row(
                    model.name,
                    str(made.substeps),
                    f"{100 * mean[0]:.2f} ({100 * low[0]:.2f} .. {100 * high[0]:.2f})",
                    f"{mean[1]:.2f} ({low[1]:.2f} .. {high[1]:.2f})",
                    f"{100 * middle[0]:.1f}, {middle[1]:.1f}",
                    f"{cpu:.1f}",
                )
        console.print(out)
        ours = stored["chosen"][table]
        pairs = Table("less", "position [% of width]", "rotation [deg]", title=f"{table}: {ours} less the other")
        for (where, name), errors in found.items():
            if where == table and name != ours and (table, ours) in found:
                difference = found[table, ours] - errors
                low, high = interval(difference)
                mean = difference.mean(axis=0)
                pairs.add_row(
                    name,
                    f"{100 * mean[0]:+.2f} ({100 * low[0]:+.2f} .. {100 * high[0]:+.2f})",
                    f"{mean[1]:+.2f} ({low[1]:+.2f} .. {high[1]:+.2f})",
                )
        console.print(pairs)
    return found


def main() -> None:
    options = Parser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--tosses", type=positive, default=190, help="of those not used for identification")
    options.add_argument("--peers", nargs="*", default=["drake", "mujoco"])
    options.add_argument("--starts", choices=["recorded", "fitted"], nargs="+", default=["recorded", "fitted"])
    options.add_argument("--identify", type=positive, metavar="EVALUATIONS", help="find the parameters again")
    options.add_argument("--save", type=Path, help="where to write what was found, and the errors of each toss (.npz)")
    chosen = options.parse_args()
    console = Console()
    stored = yaml.safe_load(PARAMETERS.read_text())
    models = engines(chosen.peers, console)
    if chosen.identify:
        stored = identified(models, stored, chosen.identify, console)
        if chosen.save:
            chosen.save.with_suffix(".yaml").write_text(yaml.safe_dump(stored, sort_keys=False))
    _, test = split()
    for starts in chosen.starts:
        found = report(models, stored, test[: chosen.tosses], starts, console)
        if chosen.save:
            np.savez(
                chosen.save.with_suffix(f".{starts}.npz"),
                **{f"{table}: {name}": errors for (table, name), errors in found.items()},
            )
    console.print(f"objective: position/{SCALE[0]} and rotation/{SCALE[1]:.0f} deg, averaged, recorded starts")


if __name__ == "__main__":
    main()
