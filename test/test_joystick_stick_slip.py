"""The scene joystick_stick_slip: two friction nodes and a contact node as one network, against the library."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from started_runs import finished_run, metrics_of

from convex_contact.haptics import rendering
from convex_contact.node import worlds_folder
from haptic_bags.bags import Bag
from haptic_core.commands import NONE, WRENCH
from haptic_devices.device import Reading
from haptic_experiments import graph
from haptic_experiments.experiments import joystick_stick_slip as report
from haptic_experiments.experiments.joystick_stick_slip.slabs import QUIET, Scene, bisected, energy
from haptic_experiments.graph_steps import ContactStep
from haptic_experiments.kit.node_graph import latencies
from haptic_friction import Body, ContactNetwork, ImplicitNetwork
from haptic_friction.reference.networks import restlessness, stuck_radius
from haptic_launch.experiments import load_experiment

T = 1e-3
#: the tool's way along x: strokes that make both contacts stick and slide
STROKES = 0.3 * np.sin(6.0 * T * np.arange(1500))


# renderers of the launch file, tick by tick


def played(base: np.ndarray, **change: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions of the slabs (n, 2), forces (n, 2), wrench on the tool (n,) at a velocity of the tool.

    Args:
        base: velocity of the tool along x [m/s], shape (n,).
        change: parameters of the contact node that differ from the launch file's.
    """
    nodes = graph.build("joystick_stick_slip")
    nodes.steps["contact"] = ContactStep({**nodes.steps["contact"].values, **change})
    contact, lower, upper = (nodes.steps[name] for name in ("contact", "lower", "upper"))
    nodes.loop.device.activate()
    nodes.loop.restart(0)
    reading, home = Reading(2), np.array([0.168, 0.182])
    rows: list[tuple[np.ndarray, np.ndarray, float]] = []
    for u in base:
        reading.tool_twist[0] = u
        nodes.advance(reading)
        place = contact.row()["position"].reshape(2, 3)
        np.testing.assert_array_equal(place[:, 1:], np.column_stack([np.zeros(2), home]))  # along x alone
        force = np.array([step.row()["force"][0] for step in (lower, upper)])
        rows.append((place[:, 0].copy(), force, lower.command.tool_wrench.force.x))
        nodes.loop.advance()
    x, f, w = (np.array(column) for column in zip(*rows, strict=True))
    return x, f, w


def network(kind: Any = ContactNetwork, **options: Any) -> Any:
    """The library's, of the launch file's numbers."""
    return scene(T).network(kind, **options)


def scene(period: float) -> Scene:
    bodies = [Body(1.0, 100.0), Body(1.0, 200.0)]
    return Scene(period, bodies, [(6000.0, 10.0), (3e4, 300.0)], np.array([5.0, 2.5]))


def test_the_three_nodes_step_as_the_library_s_network() -> None:
    """The same sums, but in another order: rounding, which the marginal stability of a sliding slab does not grow."""
    x, f, w = played(STROKES)
    library, places, forces = network(), [], []
    for u in STROKES:
        forces.append(library.step([u])[:, 0])
        places.append(library.position[:, 0].copy())
    np.testing.assert_allclose(x, places, rtol=0, atol=1e-14)
    np.testing.assert_allclose(f, forces, rtol=0, atol=1e-10)  # B/T of 3e5 N/m on 1e-16 m
    np.testing.assert_array_equal(w, -f[:, 0])
    assert (np.abs(f).max(axis=0) >= [5.0, 2.5]).all()
    explicit = network(implicit_springs=False)
    for u in STROKES:
        explicit.step([u])
    assert np.abs(explicit.position[:, 0] - x[-1]).max() > 1e-7  # the springs' share is seen


@pytest.mark.parametrize(
    "change",
    [
        {"friction_bodies": ["lower.second=slab_1", "upper.first=slab_1"]},
        {"world_parameters": ["bodies.slab_1.mass=1.2"]},
        {"world_parameters": ["bodies.slab_2.spring_stiffness=300.0"]},
    ],
    ids=["nothing on slab 2", "mass", "spring"],
)
def test_another_world_is_another_motion(change: dict[str, Any]) -> None:
    base = STROKES[:400]
    assert np.abs(played(base, **change)[0] - played(base)[0]).max() > 1e-5


def test_a_device_that_is_stopped_leaves_the_slabs_to_their_springs() -> None:
    contact = graph.build("joystick_stick_slip").steps["contact"]
    inputs = {"friction": {"lower": np.array([5.0, 0.0, 0.0]), "upper": None}}
    for k in range(20):
        contact.answer(k, Reading(2), False, inputs)
    assert not contact.row()["velocity"].any()


# the report's numbers


def test_the_balance_of_energy_is_of_first_order() -> None:
    """Work of a held force on a tool that goes linearly within a period: what stays open falls with the period."""
    opens = []
    for finer in (1, 2, 4):
        period = T / finer
        base = 0.3 * np.sin(6.0 * period * np.arange(1500 * finer))
        tool = np.concatenate([[0.0], period * np.cumsum(base)[:-1]])
        found = energy(scene(period).played(base, tool), scene(period))
        assert found.rubbed > 0.5 * found.work > 0.0
        opens.append(abs(found.open))
    assert opens[0] < 0.02 and opens[0] > 1.6 * opens[1] > 2.5 * opens[2]


def test_transitions_and_bisection() -> None:
    flags = np.zeros((100, 2), dtype=bool)
    flags[10:40, 0] = flags[50:53, 0] = flags[:, 1] = True
    run: Any = SimpleNamespace(sticking=flags)
    assert report.transitions(run, T) == [report.Transitions(1, 4), report.Transitions(1, 0)]
    assert bisected(lambda x: x > 0.3, 10.0, 1e-3, 30) == pytest.approx(0.3, rel=1e-6)
    assert bisected(lambda x: x < 70.0, 0.1, 1e3, 30) == pytest.approx(70.0, rel=1e-6)
    assert bisected(lambda x: True, 10.0, 1e-3) == 1e-3
    assert np.isnan(bisected(lambda x: False, 10.0, 1e-3))


def test_a_chattering_force_is_restless() -> None:
    limits = np.array([5.0, 2.5])
    ramp = np.linspace(0.0, 1.0, 1000)[:, None] * limits
    assert restlessness(ramp, limits) == pytest.approx(1.0 / 999.0)
    assert restlessness(ramp + np.resize([0.0, 0.5], 1000)[:, None], limits) == pytest.approx(0.2, rel=0.01)


def test_the_implicit_network_is_quiet_where_the_split_one_is_not() -> None:
    """A fifth of the slabs' mass: below the limit of the map, 0.318 of it."""
    split, implicit = network(lighter=0.2), network(ImplicitNetwork, lighter=0.2)
    assert stuck_radius(split) > 1.0 > stuck_radius(implicit)
    forces = np.array([split.step([u])[:, 0] for u in STROKES])
    quiet = implicit.simulate(STROKES[:, None]).force[:, :, 0]
    limits = np.array([5.0, 2.5])
    assert restlessness(forces, limits) > 5 * QUIET and restlessness(quiet, limits) < QUIET


def test_the_library_s_network_has_the_numbers_of_the_launch_file() -> None:
    steps = graph.build("joystick_stick_slip").steps
    names = ("friction_force", "stiffness", "damping")
    assert [steps["lower"].values[name] for name in names] == [5.0, 6000.0, 10.0]
    assert [steps["upper"].values[name] for name in names] == [2.5, 3e4, 300.0]
    folder = worlds_folder()
    assert folder is not None and rendering.open_world("stick_slip", {}, folder).bodies[1].spring_stiffness == 200.0


# as a user runs it


@pytest.mark.experiment
def test_a_run_shows_its_claims_and_has_every_command(tmp_path: Path) -> None:
    """The first strokes."""
    words = ("joystick_stick_slip", "command_delay_ticks:=0")
    whole = finished_run(tmp_path, *words, "duration:=9.5")
    found = metrics_of(whole)
    assert [claim["shown"] for claim in found["claims"]] == [True] * 8, found["claims"]
    numbers = found["runs"]["bag"]
    assert numbers["missed"] == 0.0 and numbers["ticks"] == 9500
    one = Bag(whole / "bag")
    commands = one.topics["/joystick/device_command"]
    for source, mode in (("contact", NONE), ("lower", WRENCH), ("upper", NONE)):
        mine = np.array(commands["source"]) == source
        np.testing.assert_array_equal(commands["tick"][mine], np.arange(9500))
        assert set(commands["mode"][mine]) == {mode}
    # declared and run graph agree
    graph = load_experiment("joystick_stick_slip").graph
    assert {(edge.source, edge.target) for edge in graph} >= latencies(one).keys()
    taken = {(edge.source, edge.target) for edge in graph if edge.target != "device"}
    assert taken <= latencies(one).keys()
