"""Walls with friction in one implicit step: the reference of the wall and friction nodes, which step in turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from haptic_bags.bags import Bag
from haptic_devices.device import DeviceError
from haptic_experiments import graph
from haptic_experiments.graph import Graph
from haptic_experiments.graph_steps import FrictionStep, Step, WallStep
from haptic_experiments.kit.composed import variation
from haptic_experiments.kit.results import AFTER_DATA, Claims
from haptic_experiments.kit.signals import bisected_decades
from haptic_friction.factory import make_law
from tau_wall_control import TauError, WallRenderer
from tau_wall_control.control.controller import WallController
from tau_wall_control.walls.planes import planes_from_lists

#: largest variation of the friction from tick to tick at rest, by the encoders' counts through its damping [N]
CHATTER = 0.1
#: stable stiffness of the run over that of the implicit step, and of both over the friction's own stiffness
STIFFNESS, MARGIN = 0.8, 10.0


class WallFrictionStep(WallStep):
    """`wall_node` and `friction_node` as one renderer.

    Args:
        values: parameters of the wall node.
        friction: parameters of the friction node.
        controller: controller of the walls.
    """

    def __init__(self, values: Mapping[str, Any], *, friction: Mapping[str, Any], controller: WallController) -> None:
        Step.__init__(self, values)
        per_newton = friction["friction_coefficient"] / friction["friction_force"]
        scaled = {name: per_newton * friction[name] for name in ("friction_force", "static_force", "viscosity")}
        moving = any(entry for entry in values["inputs"])
        self.renderer = WallRenderer(
            controller,
            None if moving else planes_from_lists(values["wall_points"], values["wall_normals"]),
            friction=make_law({**friction, **scaled}),
            friction_stiffness=friction["stiffness"],
            friction_damping=friction["damping"],
            release_gap=values["release_gap"],
        )
        self._tick = 0

    def topic(self, name: str) -> dict[str, Any]:
        """Returns the friction of the walls as a friction node would publish it, for the name "friction"."""
        if name != "friction":
            return super().topic(name)
        state = self.renderer.state
        return {"force": np.zeros(3) if state is None else -state.friction, "sticking": [False]}


def dissipated(force: np.ndarray, velocity: np.ndarray, period: float) -> float:
    """Sums the energy that a friction takes from the tool [J].

    Args:
        force: friction in the direction of sliding, shape (n, 3) [N].
        velocity: velocity of the tool in each tick, shape (n, 3) [m/s].
        period: T [s].
    """
    energy = 0.0
    for one, other in zip(force, velocity, strict=True):
        energy += period * float(one @ other)
    return energy


class WallFriction:
    """Device, hand, walls and friction of a recorded run.

    Args:
        bag: bag of the run.
        sources: rendering nodes beside wall and friction.
    """

    def __init__(self, bag: Bag, *sources: str) -> None:
        self._nodes, self._sources = graph.nodes_of(bag), sources
        self._friction = next(graph.checked(node) for node in self._nodes if node.name == "friction")
        self.split = graph.of_nodes(self._nodes)
        self.controller: WallController = self.split.steps["wall"].renderer.controller
        self.implicit = self._implicit()

    def _implicit(self, **changes: Any) -> Graph:
        friction = {**self._friction, **changes}
        made = partial(WallFrictionStep, friction=friction, controller=self.controller)
        return graph.of_nodes(self._nodes, only=(*self._sources, "wall"), steps={"wall": made})

    def stable_stiffness(self, part: np.ndarray, *, implicit: bool, steps: int = 5) -> float:
        """Finds the largest stiffness of the friction at which it does not chatter [N/m], as in `stiffest`.

        Args:
            part: flags of the ticks (n,) that count, from the first one of the run on.
            implicit: walls and friction are one step.
            steps: number of steps of the bisection.
        """
        split = graph.of_nodes(self._nodes, steps={"wall": partial(WallStep, controller=self.controller)})
        part = part[: np.max(np.flatnonzero(part), initial=0) + 1]
        topic = "wall/friction" if implicit else "friction/state"

        def is_quiet(stiffness: float) -> bool:
            made = split
            if implicit:
                made = self._implicit(stiffness=stiffness)
            else:
                made.replace("friction", FrictionStep({**self._friction, "stiffness": stiffness}))
            done = made.run(len(part), topics=(topic,), raise_on_stop=True)
            return variation(done.ticks(topic)[topic]["force"], part) < CHATTER

        return stiffest(is_quiet, steps)


def stability_claim(
    claims: Claims, name: str, split: float, implicit: float, stiffness: float, where: str = ""
) -> None:
    """Adds the claim that walls and friction in turn are as stable as in one implicit step, far from the limit.

    Args:
        claims: claims of the report.
        name: name of the run.
        split, implicit: largest stable stiffness of the friction in turn, and in one implicit step [N/m].
        stiffness: stiffness of the friction in the run [N/m].
        where: words before the numbers.
    """
    claims.say(
        f"Splitting costs no stability: the friction is quiet at {MARGIN:g} times its stiffness ({name}).",
        f"{where}quiet up to a friction stiffness of {1e-3 * split:.0f} kN/m (limit {MARGIN:g} times "
        f"{1e-3 * stiffness:g} kN/m, {AFTER_DATA}); in one implicit step up to {1e-3 * implicit:.0f} kN/m (limit "
        f"{STIFFNESS:g} times that)",
        split > STIFFNESS * implicit and split >= MARGIN * stiffness,
    )


def stiffest(is_quiet: Callable[[float], bool], steps: int) -> float:
    """Finds the largest stiffness of a friction that stays quiet [N/m], by bisection between 1 and 1000 kN/m.

    Args:
        is_quiet: function that checks a stiffness [N/m]; an error of the device counts as not quiet.
        steps: number of steps of the bisection.
    """

    def holds(stiffness: float) -> bool:
        try:
            return is_quiet(stiffness)
        except (TauError, DeviceError):  # thrown out of the workspace
            return False

    return bisected_decades(holds, 3.0, 6.0, steps)
