"""Arguments of an identification: recorded orientations, gaps, names, pairs with further values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from convex_contact import Material, Simulator, World, trajectory
from convex_contact.differentiation.identification import Trial, identify

FRICTION = "friction(floor, box)"


def sliding() -> World:
    """A box that slides and turns on a floor of an unknown friction."""
    material = Material(stiffness=1e4, dissipation=2.0, friction=0.5)
    world = World()
    world.add_half_space("floor", material=material)
    world.add_box(
        "box", mass=1.0, size=(0.1, 0.1, 0.1), position=(0.0, 0.0, 0.0498), velocity=(0.4, 0.0, 0.0),
        angular_velocity=(0.0, 0.0, 2.0), material=material,
    )  # fmt: skip
    return world


def recorded(friction: float = 0.3, steps: int = 20) -> dict[str, Any]:
    """Positions and orientations of the box with a friction."""
    world = sliding()
    world.set_pair("floor", "box", friction=friction)
    motion = trajectory(Simulator(world, period=2e-3, polish=True), steps)
    return {"position": motion.position[:, 1], "orientation": motion.orientation[:, 1]}


def trial(**values: Any) -> Trial:
    return Trial(**{"world": sliding, "body": "box", "period": 2e-3} | recorded() | values)


@pytest.mark.slow
@pytest.mark.parametrize("length", [1.0, 3.0])
def test_orientations_may_have_any_length_and_gaps(length: float) -> None:
    orientation = length * recorded()["orientation"]
    orientation[7] = np.nan
    found = identify([trial(orientation=orientation)], {FRICTION: 0.45})
    assert found.values[FRICTION] == pytest.approx(0.3, rel=1e-6)  # the recording has no noise


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"orientation": np.zeros((21, 4))}, r"orientation: expected a quaternion"),
        ({"position": np.full((21, 3), np.nan), "orientation": None}, "position: expected a recorded pose of box, got"),
        ({"position": 3.0}, r"position: expected shape \(steps \+ 1, 3\) with a step or more"),
    ],
)
def test_recordings_without_poses_are_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said}"):
        identify([trial(**changes)], {FRICTION: 0.45})


def test_a_parameter_is_named_once() -> None:
    both = {FRICTION: 0.3, "friction(box, floor)": 0.2}
    with pytest.raises(ValueError, match=r"^start: expected each parameter once, got 'friction\(floor, box\)' and"):
        identify([trial()], both)
    with pytest.raises(ValueError, match=r"^start: expected at least one parameter with its first guess, got \["):
        identify([trial()], [FRICTION])  # type: ignore[arg-type]
    for wrong in (trial(), "abc"):
        with pytest.raises(ValueError, match=r"^trials: expected a list of Trial, got "):
            identify(wrong, {FRICTION: 0.3})  # type: ignore[arg-type]


def test_other_values_of_a_pair_are_kept() -> None:
    """Friction that has no derivatives is refused, not dropped."""

    def world() -> World:
        made = sliding()
        made.set_pair("floor", "box", torsional_friction=0.01)
        return made

    with pytest.raises(ValueError, match=r"^world: expected one coefficient of friction"):
        identify([trial(world=world)], {FRICTION: 0.45})
