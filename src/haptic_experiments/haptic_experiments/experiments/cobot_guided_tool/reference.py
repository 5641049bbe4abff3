"""The constraint node of `cobot_guided_tool` with its tool in one convex problem with the world that it pushes.

This is the reference of the nodes, which step in turn; see `convex_contact.scenes.guided_tool`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from admittance_constraints import PointOnParaboloid
from convex_contact.haptics.rendering import make_rendering
from convex_contact.node import worlds_folder
from convex_contact.scenes.guided_tool import GuidedWorld, SurfaceFriction
from haptic_core.errors import HapticError
from haptic_core.parameters import entry_values
from haptic_experiments.graph_steps import ConstraintStep
from haptic_experiments.kit.display import mechanism_of
from haptic_files.moved_modules import renamed

__getattr__ = renamed(__name__, {"GuidedState": "convex_contact.scenes.guided_tool:GuidedState"})


class RunAwayError(HapticError):
    """The display cannot follow the reference."""


class GuidedReference(GuidedWorld):
    """Replaces the `ReferenceGenerator` of an `AdmittanceController`."""

    @property
    def state(self) -> None:
        """None, since the state cannot be restored; a reference that would wait for the display is refused."""
        return None

    def restore(self, state: None) -> None:
        raise RunAwayError("the implicit step cannot be taken back: the display does not follow the reference")


class GuidedStep(ConstraintStep):
    """`constraint_node` whose reference is the tool of a `GuidedReference`; its state has contact, friction and bodies.

    Args:
        values: parameters of the constraint node.
        contact, friction: parameters of both nodes.

    Raises:
        HapticError: The mechanism is no `PointOnParaboloid`.
    """

    def __init__(self, values: Mapping[str, Any], *, contact: Mapping[str, Any], friction: Mapping[str, Any]) -> None:
        super().__init__(values)
        mechanism = mechanism_of(dict(values))
        if not isinstance(mechanism, PointOnParaboloid):
            raise HapticError(f"no implicit step for the mechanism {values['mechanism']}, only for PointOnParaboloid")
        tool = contact["proxy"]
        entries = entry_values(contact["world_parameters"])
        entries |= {f"bodies.{tool}.prescribed": False, f"bodies.{tool}.mass": mechanism.mass}
        simulator = make_rendering({**contact, "proxy": ""}, entries, worlds_folder()).simulator
        law = SurfaceFriction(friction["friction_coefficient"], friction["stiffness"], friction["damping"])
        self.world = GuidedReference(simulator, tool, mechanism, values["world_position"], law)
        self.renderer.controller.generator = self.world

    def row(self) -> dict[str, Any]:
        now = self.world.now
        return {
            "position": now.x[:3],
            "velocity": now.twist[:3],
            "surface": now.multipliers[0],
            "contact": now.contact,
            "friction": now.friction,
            "bodies": self.world.simulator.body_states()[0],
            "slides": not now.sticks,
        }
