"""The TAU's tip among bodies, without nodes: what the report of tau_touch_world puts beside a run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from convex_contact import Simulator
from convex_contact.model.world_source import open_world
from convex_contact.node import worlds_folder
from haptic_devices import factories
from haptic_devices.motions.wall import make_wall_plan
from haptic_devices.tau import Tau
from haptic_experiments import graph
from haptic_experiments.experiments.tau_touch_world.margins import Played, lightest
from haptic_experiments.experiments.tau_touch_world.references import (
    Touch,
    TouchScene,
    apparent_inertia,
    free_bodies,
    with_tool,
)
from haptic_experiments.experiments.tau_touch_world.run import chatter, difference, transitions, vibration
from haptic_launch.experiments import load_experiment
from haptic_launch.launch_file import load_launch_file
from haptic_launch.launch_nodes import LaunchedNode, launched_nodes
from haptic_math.spectra import spectrum_without_trend

T = 1e-3


def nodes() -> list[LaunchedNode]:
    """The nodes of the experiment; the hand has no tremor."""
    quiet = {"hand_parameters": "['tremor_force=0.0', 'tremor_torque=0.0']"}
    return launched_nodes(load_launch_file(load_experiment("tau_touch_world").launch_file), quiet)


def device_values() -> dict[str, Any]:
    return graph.checked(next(node for node in nodes() if node.name == "device"))


@pytest.fixture(scope="module")
def pushed() -> tuple[Touch, Touch, Touch]:
    """The box is pushed: as the nodes do it, with reactions a tick later, and implicit."""
    scene = TouchScene(nodes(), first="push the box", last="push the box")
    return scene.split(), scene.split(late=1), scene.implicit()


@pytest.mark.slow
def test_the_box_moves_as_in_one_implicit_step(pushed: tuple[Touch, Touch, Touch]) -> None:
    """Within what 1.5 N dent the reference, and the rendered wall at first: 0.04 mm and some counts of 11 µm."""
    split, _, implicit = pushed
    way = implicit.pose[-1, 0, 0] - implicit.pose[0, 0, 0]
    assert way > 0.01
    np.testing.assert_allclose(split.pose[:, 0, :3], implicit.pose[:, 0, :3], atol=2e-4)
    np.testing.assert_allclose(split.position, implicit.position, atol=3e-4)


@pytest.mark.slow
def test_pushing_a_box_takes_its_weight_s_friction(pushed: tuple[Touch, Touch, Touch]) -> None:
    """F = mu m g + m a: both ways, from the body's own motion."""
    for touch in pushed:
        moving = np.flatnonzero(touch.twist[:, 0, 0] > 0.02)
        first, last = moving[50], moving[-50]
        gained = 0.5 * (touch.twist[last, 0, 0] - touch.twist[first, 0, 0])
        rubbed = 0.3 * 0.5 * 9.81 * (last - first) * T
        pushed_by = -touch.push[first:last, 0].sum() * T
        assert pushed_by == pytest.approx(gained + rubbed, rel=0.01)  # the box leans: a little of it is friction's


@pytest.mark.slow
def test_action_is_reaction_for_the_same_time(pushed: tuple[Touch, Touch, Touch]) -> None:
    split, late, _ = pushed
    assert not split.cut_work.any()
    assert np.abs(late.cut_work).max() > 1e-6
    # a box at rest gives no work; what is late is its velocity's change: F_k - F_(k-1) over its way
    force = (split.push + split.friction)[:, 0]
    assert np.abs(late.cut_work).max() < np.abs(np.diff(force)).sum() * 0.04 * T


@pytest.mark.slow
def test_the_implicit_step_foresees_the_device(pushed: tuple[Touch, Touch, Touch]) -> None:
    """Its works are those of the device's true way; a contact that it foresaw wrongly would do work at rest."""
    implicit = pushed[2]
    assert implicit.normal_work[-1] == pytest.approx(0.0, abs=2e-4)
    assert implicit.friction_work[-1] < 0.0


def test_apparent_inertia_is_what_a_force_meets() -> None:
    """One of two devices has a force for one period more: their velocities differ by its impulse over that."""
    parameters = device_values() | {"motion": "wall_push"}
    one, other = (factories.tau(parameters) for _ in range(2))
    for device in (one, other):
        device.configure(T)
        device.activate()
    weight = one.mechanism.gravity_torque_at(one.truth().tool_pose[:3])
    force = np.array([0.3, -0.2, 0.25])
    expected = apparent_inertia(one, one.truth().tool_pose, one.truth().tool_twist, 1.0, T)
    one.write(weight)
    other.write(weight + other.jacobian().T @ np.concatenate([force, np.zeros(3)]))
    change = (other.truth().tool_twist - one.truth().tool_twist)[:3]
    np.testing.assert_allclose(expected @ change, T * force, rtol=0.02, atol=0.005 * T)  # counts, friction's bend
    free = apparent_inertia(one, one.truth().tool_pose, one.truth().tool_twist, 0.0, T)
    assert (np.linalg.eigvalsh(expected - free) > 0.05).all()  # the hand's 0.1 kg and its damping


def test_a_device_goes_on_from_where_another_stands() -> None:
    parameters = device_values()
    one, other = (factories.tau(parameters) for _ in range(2))
    for device in (one, other):
        device.configure(T)
        device.activate()
    efforts = 0.1 * np.random.default_rng(1).standard_normal((30, 6))
    for effort in efforts[:20]:
        one.write(effort)
    other.take_over(one)
    for effort in efforts[20:]:
        one.write(effort)
        other.write(effort)
    assert one.read().values.tobytes() == other.read().values.tobytes()
    assert one.truth().values.tobytes() == other.truth().values.tobytes()
    assert isinstance(one, Tau)


def test_part_of_a_plan_is_the_plan_s() -> None:
    plan = make_wall_plan("touch_world", T)
    part = plan.part("lean", "drag")
    assert [phase.name for phase in part.phases] == ["lean", "lean back", "drag"]
    start = next(phase.start for phase in plan.phases if phase.name == "lean")
    assert part.phases[0].start == pytest.approx(0.0) and part.duration == pytest.approx(part.phases[-1].end)
    np.testing.assert_array_equal(part.table, plan.table[round(start / T) :][: len(part.table)])
    whole = plan.part()
    np.testing.assert_array_equal(whole.table, plan.table)


def test_nothing_of_the_world_overlaps_and_nothing_moves_by_itself() -> None:
    world = open_world("tau_touch_world", {}, worlds_folder())
    assert [world.bodies[i].name for i in free_bodies(world)] == ["box", "ball"]
    simulator = Simulator(world, period=T)
    before = simulator.body_states()[0].copy()
    simulator.step(500)
    moved = simulator.body_states()[0] - before
    assert np.abs(moved).max() < 1e-5  # the weight's dent: 0.5 kg on four points of 1e6 N/m, the ball's 0.3 N on one
    assert simulator.contacts.signed_distance.min() > -1e-5


def test_the_reference_s_tip_is_stiff_and_has_the_friction() -> None:
    world = open_world("tau_touch_world", {}, worlds_folder())
    tool = with_tool(world, 0.004, 0.25)
    geometries = dict(world.numbered_geometries())
    law = world.law(geometries[tool], geometries[0], tool, 0)
    assert (law.stiffness, law.friction) == (4e4, 0.25)


# ---- metrics --------------------------------------------------------------------------------------


def touch(**fields: Any) -> Touch:
    """Three ticks of nothing, but for some fields."""
    n = len(next(iter(fields.values()))) if fields else 3
    rows = {name: np.zeros((n, 3)) for name in ("position", "velocity", "push", "friction")}
    rows |= {"sticking": np.zeros(n, bool), "pose": np.zeros((n, 2, 7)), "twist": np.zeros((n, 2, 6))}
    rows |= {name: np.zeros(n) for name in ("depth", "normal_work", "friction_work", "cut_work")}
    return Touch(**(rows | fields))


def test_difference_is_the_largest_distance() -> None:
    moved = np.zeros((3, 3))
    moved[1] = [3e-3, 0.0, 4e-3]
    pose = np.zeros((3, 2, 7))
    pose[2, 1] = [0.0, 2e-3, 0.0, 1.0, 1.0, 1.0, 1.0]  # orientations do not count
    found = difference(touch(), touch(position=moved, pose=pose))
    assert vars(found) == pytest.approx({"motion": 5e-3, "bodies": 2e-3, "push": 0.0, "friction": 0.0})
    assert difference(touch(), touch(position=moved), np.array([True, False, True])).motion == 0.0


def test_transitions_leave_out_what_is_short() -> None:
    sticking = np.array([1] * 30 + [0] * 5 + [1] * 30 + [0] * 40, dtype=bool)
    load = np.ones(len(sticking))
    assert transitions(sticking, load, 25) == 1 and transitions(sticking, load, 1) == 3
    load[65:] = 0.0  # no contact is no state
    assert transitions(sticking, load, 25) == 0
    assert transitions(sticking, np.zeros(len(sticking)), 1) == 0


def test_spectrum_gives_amplitudes() -> None:
    """A line of 3 µm at 50 Hz, whole periods, on a trend; Hann's window spreads it over three lines."""
    t = np.arange(1000) * T
    signal = np.zeros((1000, 3))
    signal[:, 0], signal[:, 1] = 3e-6 * np.sin(2 * np.pi * 50 * t) + 1e-3 * t, 1.0
    frequency, amplitude = spectrum_without_trend(signal, T)
    assert frequency[np.argmax(amplitude)] == 50.0
    assert amplitude.max() == pytest.approx(3e-6, rel=0.01)
    signal[:, 2] = 5e-6 * np.sin(2 * np.pi * 10 * t)  # the hand's
    assert vars(vibration(signal, T)) == pytest.approx({"frequency": 50.0, "amplitude": 3e-6}, rel=0.01)


def test_chatter_is_the_change_from_tick_to_tick() -> None:
    friction = np.zeros((100, 3))
    friction[::2, 1] = 0.2
    assert chatter(touch(friction=friction), np.ones(100, bool)) == pytest.approx(0.2, rel=0.01)
    assert chatter(touch(friction=friction), np.zeros(100, bool)) == 0.0


def test_lightest_stops_at_the_first_that_is_lost() -> None:
    kept, lost = (Played(contact, depth=0.0, push_work=0.0, cut_work=0.0) for contact in (1.0, 0.5))
    assert lightest({"0.5": kept, "0.1": kept, "0.03": kept}) == 0.03
    assert lightest({"0.5": kept, "0.1": lost, "0.03": kept}) == 0.5
    assert lightest({"0.5": None, "0.1": kept, "0.03": kept}) == float("inf")


@pytest.mark.slow
def test_a_body_that_is_taken_for_fixed_is_thrown() -> None:
    """30 g pushed by 0.4 kg: the loop's gain is 14 times the designed one."""
    scene = TouchScene(nodes(), first="push the box", last="push the box", entries={"bodies.box.mass": 0.03})
    late = slice(500, 1400)
    known, unknown = (scene.split(yielding=yielding) for yielding in (True, False))
    assert (known.load[late] > 0.0).mean() > 0.95 > 0.5 > (unknown.load[late] > 0.0).mean()
    assert unknown.normal_work[-1] > 10.0 * abs(known.normal_work[-1])
