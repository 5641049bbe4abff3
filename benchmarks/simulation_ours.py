"""The scenes of the simulation benchmark in this suite."""

from __future__ import annotations

import numpy as np
from simulation_measures import Observation
from simulation_scenes import Scene
from simulation_settings import Setting

from convex_contact import Simulator

TITLE = "this suite"


class Simulation:
    """A scene in this suite.

    Args:
        scene: scene to build.
        setting: options: those of `Simulator`.
    """

    def __init__(self, scene: Scene, setting: Setting) -> None:
        world = scene.world()
        self._steps = 0
        self.simulator = Simulator(world, period=setting.period, accuracy=setting.accuracy, **setting.options)
        self._chosen = np.array([world.number(name) for name in scene.names])
        for k, body in enumerate(scene.items):
            if body.force.any():
                self.simulator.apply_wrench(f"item {k}", body.force)
        for tree in scene.trees:
            for link in tree.moved:
                joint = self.simulator.joint(f"{tree.name}/{link.joint}")
                joint.position, joint.velocity = link.angle, link.speed

    def step(self) -> None:
        """Makes one step."""
        self._steps += 1
        self.simulator.step()

    def advance(self, duration: float) -> None:
        """Makes steps that choose their lengths, for a duration (s)."""
        self.simulator.advance(duration)

    @property
    def steps(self) -> int:
        """Steps since the start."""
        control = self.simulator.control
        return self._steps if control is None else control.statistics.accepted

    def observe(self) -> Observation:
        """The bodies now."""
        columns = (column[self._chosen] for column in self.simulator.body_states())
        return Observation(self.simulator.time, *columns)
