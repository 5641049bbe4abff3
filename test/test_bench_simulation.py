"""The simulation benchmark: its closed forms, its measures on exact motions, and a short run of each scene here."""

from __future__ import annotations

import importlib
import math
import sys
from argparse import Namespace
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
#: of each family: a small size, the share of its length, and the largest values of its errors
SHORT: dict[str, tuple[int, float, dict[str, float]]] = {
    # v_s = 0.1 mm/s, and the solver's tolerance of 1e-5 of momenta of a few kg m/s, in a hundred steps
    "rolling": (1, 0.05, {"box [m/s]": 1e-3, "balls [m/s]": 1e-3}),
    "pulled": (3, 0.1, {"velocity [m/s]": 3e-3, "rotation [m/s]": 3e-3}),
    # the first impact is after 0.45 s; the accuracy is 0.1 mm
    "bouncing": (1, 0.25, {"restitution": 0.1, "energy": 0.2}),
    "restitution": (1, 0.4, {"restitution": 0.1, "energy": 0.2}),
    "666": (8, 0.5, {"largest [m]": 1e-3}),
    "elastic666": (8, 0.2, {"largest": 0.1}),
    "quadrupeds": (1, 0.5, {"slip [m]": 1e-3, "largest [m]": 1e-3}),
    # first order in the step
    "chains": (3, 0.5, {"momentum": 0.01, "rise": 1e-3, "largest [m]": 1e-3}),
    "trees": (3, 0.8, {"momentum": 0.01, "rise": 1e-3, "largest [m]": 1e-3}),
    "towers": (1, 0.1, {"sideways [m]": 1e-9, "height [m]": 1e-9}),
    "hulls": (3, 0.3, {"largest [m]": 1e-3}),
}


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    """The benchmark's modules, by the last word of their names."""
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    names = ("scenes", "settings", "measures", "trees")
    found = {name: importlib.import_module(f"simulation_{name}") for name in names}
    return {**found, "bench": importlib.import_module("bench_simulation")}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(SHORT))
def test_a_short_run_of_a_scene_has_small_errors(modules: dict[str, ModuleType], name: str) -> None:
    size, share, largest = SHORT[name]
    row = modules["bench"].measure("ours", name, size, 0, share, math.inf)
    assert not row.failure and row.steps > 0
    for column, bound in largest.items():
        assert abs(row.errors[column]) < bound, (column, row.errors)
    assert row.errors.get("stands", "yes") == "yes"


def test_all_families_are_tried(modules: dict[str, ModuleType]) -> None:
    assert set(SHORT) == set(modules["settings"].FAMILIES)


def exact_motion(modules: dict[str, ModuleType], scene: Any, velocity: Any, spin: Any) -> Any:
    """A motion with given velocities (n, 3) per second and angular velocities (n, 3) per second, m/s^2, rad/s^2."""
    observations = []
    for time in np.linspace(0.0, 1.0, 11):
        place = np.array([body.position for body in scene.items]) + 0.5 * time**2 * velocity
        turn = np.tile([0.0, 0.0, 0.0, 1.0], (len(place), 1))
        observations.append(modules["measures"].Observation(time, place, turn, time * velocity, time * spin))
    return modules["measures"].Motion(scene, observations)


def test_exact_motions_have_no_errors(modules: dict[str, ModuleType]) -> None:
    scenes, measures = modules["scenes"], modules["measures"]
    scene = scenes.pulled(4)
    force = np.array([body.force[0] for body in scene.items])
    slides = force > 3.5 * 0.4 * 9.81
    linear, angular = np.zeros((4, 3)), np.zeros((4, 3))
    linear[:, 0] = np.where(slides, force - 0.4 * 9.81, 5.0 / 7.0 * force)
    angular[:, 1] = np.where(slides, 2.5 * 0.4 * 9.81, 5.0 / 7.0 * force) / 0.1
    assert max(measures.pulled_errors(exact_motion(modules, scene, linear, angular), 0.0).values()) < 1e-14
    scene = scenes.rolling(25)
    # of Newton's law with friction 2/7 m a of each ball: 10 a = 150 - 0.4 35 g - 25 2/7 a
    a = (150.0 - 0.4 * 35.0 * 9.81) / (10.0 + 50.0 / 7.0)
    motion = exact_motion(modules, scene, a * np.outer([1.0] + [2.0 / 7.0] * 25, scenes.DIRECTION), np.zeros((26, 3)))
    assert max(measures.rolling_errors(motion, 0.0).values()) < 1e-14


def test_restitution_of_both_laws_is_the_wanted_one(modules: dict[str, ModuleType]) -> None:
    """Gravity during an impact, g pi sqrt(m/k) = 0.1 m/s of 4.4, changes the coefficient by its share of the loss."""
    settings, measures = modules["settings"], modules["measures"]
    speed = math.sqrt(2.0 * 9.81)
    assert measures.restitution(speed, 10.0, 1e6, 0.0, 0.0) == pytest.approx(1.0, abs=1e-8)
    dissipation, ratio = settings.dissipation_of(0.8, speed), settings.damping_ratio_of(0.8)
    assert measures.restitution(speed, 10.0, 1e6, dissipation, 0.0) == pytest.approx(0.8, abs=5e-3)
    assert measures.restitution(speed, 10.0, 1e6, 0.0, ratio) == pytest.approx(0.8, abs=5e-3)


def test_a_ball_that_stays_on_the_ground_has_lost_all(modules: dict[str, ModuleType]) -> None:
    scene = modules["scenes"].bouncing(1)
    make, observations = modules["measures"].Observation, []
    for height in (1.0, 0.5, *[-1e-4] * 20):
        place, zero = np.array([[0.0, 0.0, 0.1 + height]]), np.zeros((1, 3))
        speed = np.array([[0.0, 0.0, -math.sqrt(2.0 * 9.81 * (1.0 - height)) if height > 0.0 else 0.0]])
        observations.append(make(0.01 * len(observations), place, np.array([[0.0, 0.0, 0.0, 1.0]]), speed, zero))
    errors = modules["measures"].bouncing_errors(modules["measures"].Motion(scene, observations), 0.0)
    assert errors == {"restitution": 1.0, "energy": 1.0}


def test_trees_are_written_with_all_joints_and_start_above_the_floor(modules: dict[str, ModuleType]) -> None:
    trees = modules["trees"]
    for tree, joints in ((trees.chain(10), 10), (trees.binary_tree(31), 31), (*trees.quadrupeds(1), 12)):
        root = ElementTree.fromstring(tree.urdf())
        assert len(root.findall("joint")) == joints and len(root.findall("link")) == joints + 1
        heights = [
            tree.position[2] + position[2] + rotation[2] @ point - link.radius
            for link, (rotation, position) in zip(tree.links, tree.frames(), strict=True)
            for point in link.spheres
        ]
        lowest = 0.0 if tree.stiffness else trees.HEIGHT
        assert min(heights) == pytest.approx(lowest, abs=1e-12)


def test_a_hull_has_its_mass_on_its_axes(modules: dict[str, ModuleType]) -> None:
    """A cube's corners, turned: mass of the cube and equal moments m s^2/6."""
    corners = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1).T
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    points, mass, principal = modules["scenes"].principal_hull(corners @ turn)
    side = 2.0 * 0.06 / math.sqrt(3.0)
    assert mass == pytest.approx(1000.0 * side**3, rel=1e-12)
    np.testing.assert_allclose(principal, mass * side**2 / 6.0, rtol=1e-12)
    np.testing.assert_allclose(points.mean(axis=0), 0.0, atol=1e-15)


@pytest.mark.slow
def test_tables_have_a_cell_for_each_column(modules: dict[str, ModuleType]) -> None:
    bench = modules["bench"]
    arguments = Namespace(share=0.05, quick=False, sizes=[1, 2], repeats=1, limit=math.inf)
    with ThreadPoolExecutor(1) as pool:
        (results,) = bench.runs({"ours": pool}, ["chains"], arguments)
    head, body = bench.cells(results)
    assert len(body) == 2 * len(results.family.settings["ours"])
    assert {len(line) for line in body} == {len(head)} and head[-1] == "growth"
    bench.shown(results)
    for relative, columns in ((False, len(head)), (True, len(head) - len(bench.ABSOLUTE))):
        table = [line for line in bench.markdown(results, relative).splitlines() if line.startswith("|")]
        assert {line.count("|") for line in table} == {columns + 1}
