"""The experiments of the admittance display as a user runs them: real processes, real DDS, bags, reports, markers."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from machine_speed import limit
from rich.console import Console
from ros_domain import claim_domain
from scipy.spatial.transform import Rotation
from started_runs import finished_run, metrics_of, run_command

from admittance_constraints import ConstraintRenderer
from haptic_bags.bags import Bag
from haptic_core.commands import ACCELERATION, MOTION, VELOCITY
from haptic_experiments.kit.display import DisplayRun
from haptic_experiments.report import write_report

T = 1e-3
NAMES = ("rolling_disk", "disk_on_sphere", "two_link_circle")
ROOT = Path(__file__).parents[1]
#: of the fields of ConstrainedReference, those that the controller's reference has under the same name
NUMBERS = (
    "z",
    "z_velocity",
    "q",
    "q_velocity",
    "q_acceleration",
    "multipliers",
    "kinetic_energy",
    "constraint_residual",
)

#: a viewer: takes some messages of markers and prints them
VIEWER = """
import json, sys

import rclpy
from haptic_core.qos import display_qos
from visualization_msgs.msg import MarkerArray

MESSAGES = 40


def described(marker):
    p, q = marker.pose.position, marker.pose.orientation
    return {
        "ns": marker.ns, "frame": marker.header.frame_id, "type": marker.type,
        "stamp": marker.header.stamp.sec + 1e-9 * marker.header.stamp.nanosec,
        "pose": [p.x, p.y, p.z, q.x, q.y, q.z, q.w], "scale": [marker.scale.x, marker.scale.y, marker.scale.z],
        "points": [[point.x, point.y, point.z] for point in marker.points],
    }


rclpy.init()
node, seen = rclpy.create_node("viewer"), []
node.create_subscription(MarkerArray, "/cobotic_hand_controller/constraints/markers", seen.append, display_qos())
print("watching", flush=True)
while len(seen) < MESSAGES:
    rclpy.spin_once(node, timeout_sec=0.1)
print(json.dumps([[described(marker) for marker in message.markers] for message in seen]))
"""


@dataclass
class Finished:
    """A run that has ended, and what a viewer saw of it."""

    directory: Path
    markers: list[list[dict[str, Any]]]

    @property
    def metrics(self) -> dict[str, Any]:
        return metrics_of(self.directory)


def started(folder: Path, name: str, environment: dict[str, str]) -> subprocess.Popen[str]:
    """A run in a working directory of its own, its output in output.txt."""
    with (folder / "output.txt").open("w") as output:
        streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": output, "text": True}
        return subprocess.Popen(run_command(name), cwd=folder, env=environment, **streams)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Finished]]:
    """The three experiments, whole, side by side; each on a domain of its own, with a viewer."""
    folders = {name: tmp_path_factory.mktemp(name) for name in NAMES}
    processes: list[subprocess.Popen[str]] = []
    try:
        for name in NAMES:
            environment = {**os.environ, "ROS_DOMAIN_ID": str(claim_domain())}
            command = [sys.executable, "-c", VIEWER]
            viewer = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
            processes.append(viewer)
            assert viewer.stdout is not None and viewer.stdout.readline() == "watching\n"
            processes.append(started(folders[name], name, environment))
        found = {}
        for name, viewer, run in zip(NAMES, processes[0::2], processes[1::2], strict=True):
            assert run.wait(limit(900.0)) == 0, (folders[name] / "output.txt").read_text()
            seen, _ = viewer.communicate(timeout=limit(200.0))
            (directory,) = (folders[name] / "runs").iterdir()
            found[name] = Finished(directory, json.loads(seen))
        yield found
    finally:
        for process in processes:
            if process.poll() is None:
                process.terminate()
                process.wait(limit(60.0))


@pytest.fixture(scope="module")
def bags(finished: dict[str, Finished]) -> dict[str, Bag]:
    return {name: Bag(run.directory / "bag") for name, run in finished.items()}


def columns(bag: Bag, topic: str) -> dict[str, Any]:
    return bag.topics[f"/cobotic_hand_controller/{topic}"]


# ---- whole runs -----------------------------------------------------------------------------------


@pytest.mark.experiment
@pytest.mark.parametrize("name", NAMES)
def test_a_run_leaves_its_files_and_every_tick(name: str, finished: dict[str, Finished], bags: dict[str, Bag]) -> None:
    directory, bag = finished[name].directory, bags[name]
    assert {path.name for path in directory.iterdir()} == {
        "bag",
        "metrics.json",
        "figure.png",
        "report.html",
        "run.yaml",
    }
    assert (directory / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert "data:image/png;base64," in (directory / "report.html").read_text()
    ticks = np.arange(round(bag.started("device")["phases"][-1]["end"] / T))
    for topic in ("device_state", "simulation_state", "device_command", "constraints/state"):
        np.testing.assert_array_equal(columns(bag, topic)["tick"], ticks, err_msg=topic)
    assert set(columns(bag, "device_command")["mode"]) == {MOTION}  # no step was refused
    assert set(columns(bag, "device_state")["status"]) == {0}


@pytest.mark.experiment
@pytest.mark.parametrize(("name", "claims"), [("rolling_disk", 5), ("disk_on_sphere", 3), ("two_link_circle", 5)])
def test_every_claim_is_shown(name: str, claims: int, finished: dict[str, Finished]) -> None:
    found = finished[name].metrics["claims"]
    assert len(found) == claims and all(claim["shown"] is True for claim in found), found


@pytest.mark.experiment
def test_the_numbers_are_those_of_the_measured_state(finished: dict[str, Finished], bags: dict[str, Bag]) -> None:
    disk, sphere, linkage = (finished[name].metrics["runs"]["bag"] for name in NAMES)
    for name, numbers in zip(NAMES, (disk, sphere, linkage), strict=True):
        assert numbers["led_ticks"] == 0 and numbers["ticks"] == len(columns(bags[name], "device_state")["tick"]) - 1
        assert numbers["holonomic_residual"] < 1e-15  # rounding of lengths below 0.1 m
        assert 0.0 < numbers["tracking_error"]["rms"] < 1e-4  # a stalled servo leaves 1e-3
    height = columns(bags["rolling_disk"], "device_state")["tool_pose"][1:, 2]  # the plane is at -0.03 m
    assert disk["height"]["largest"] == pytest.approx(np.abs(height).max(), abs=1e-15)
    assert disk["push"]["force"] > 19.0 and disk["lean"]["force"] > 19.0
    assert sphere["push"] < -19.0 and sphere["pull"] > 19.0
    place = columns(bags["disk_on_sphere"], "device_state")["tool_pose"][1:, :3] + [0.0, 0.0, 0.05]
    radial = np.linalg.norm(place, axis=1) - 0.05
    assert sphere["radial"]["rms"] == pytest.approx(np.sqrt(np.mean(radial**2)), rel=1e-9)
    end = columns(bags["two_link_circle"], "device_state")["tool_pose"][1:, :2]
    assert linkage["radial"]["largest"] == pytest.approx(np.abs(np.hypot(*end.T) - 0.05).max(), rel=1e-9)
    assert linkage["released"]["reversals"] >= 2 and linkage["released"]["force"] < 0.2  # the sensor's noise


@pytest.mark.experiment
def test_the_energy_of_fig_12_falls_in_the_recorded_reference_itself(bags: dict[str, Bag]) -> None:
    bag = bags["two_link_circle"]
    energy = columns(bag, "constraints/state")["kinetic_energy"]
    touched = columns(bag, "simulation_state")["operator_wrench"].any(axis=1)
    released = int(np.flatnonzero(touched)[-1]) + 2  # what was due when the hand had let go
    assert len(energy) - released > 5000 and energy[released] > 0.02
    assert np.diff(energy[released:]).max() < 0.0
    speed = np.linalg.norm(columns(bag, "constraints/state")["twist"][released:, :2], axis=1)
    assert np.max(speed - np.minimum.accumulate(speed)) > 0.05


def check_against_the_library(bag: Bag) -> None:
    """Commands and references are, bit for bit, what the library makes of the recorded device states."""
    parameters = bag.parameters("constraints")
    renderer = ConstraintRenderer.from_parameters(parameters)
    device, commands, state = (columns(bag, topic) for topic in ("device_state", "device_command", "constraints/state"))
    made: dict[str, list[Any]] = {}

    def keep(name: str, value: Any) -> None:
        made.setdefault(name, []).append(value)

    for pose, wrench in zip(device["tool_pose"], device["tool_wrench"], strict=True):
        command = renderer.step(pose, wrench)
        rendered = renderer.state
        for name in ("pose", "twist", "acceleration"):
            keep(f"tool_{name}", getattr(command, name))
            keep(name, getattr(rendered.motion, name))
        for name in NUMBERS:
            keep(name, getattr(rendered, name))
    for name, values in made.items():
        recorded = commands[name] if name.startswith("tool_") else state[name]
        np.testing.assert_array_equal(recorded, np.array(values), err_msg=name)
    assert set(commands["motion_fields"]) == {VELOCITY | ACCELERATION}
    assert np.abs(state["twist"]).max() > 0.05


@pytest.mark.experiment
@pytest.mark.parametrize("name", NAMES)
def test_commands_and_references_are_the_library_s_bit_for_bit(name: str, bags: dict[str, Bag]) -> None:
    check_against_the_library(bags[name])


@pytest.mark.experiment
@pytest.mark.parametrize("name", NAMES)
def test_the_report_is_rebuilt_from_bag_and_run_file(name: str, finished: dict[str, Finished], tmp_path: Path) -> None:
    for part in ("bag", "run.yaml"):
        os.symlink(finished[name].directory / part, tmp_path / part)
    write_report(tmp_path, Console(file=io.StringIO()))
    for file in ("metrics.json", "figure.png", "report.html"):
        assert (tmp_path / file).read_bytes() == (finished[name].directory / file).read_bytes(), file


# ---- markers --------------------------------------------------------------------------------------


def shapes(run: Finished) -> list[dict[str, dict[str, Any]]]:
    """The markers of each message by name, checked for what holds for all; points are in the device's base frame."""
    found = []
    for message in run.markers:
        named = {}
        for marker in message:
            node, name = marker["ns"].split("/")
            pose = np.array(marker["pose"])
            assert node == "constraints" and marker["frame"] == "cobotic_hand_controller_base"
            assert np.isfinite(pose).all() and np.linalg.norm(pose[3:]) == pytest.approx(1.0)
            points = np.array(marker["points"]).reshape(-1, 3)
            points = Rotation.from_quat(pose[3:]).apply(points) + pose[:3] if len(points) else points
            assert np.isfinite(points).all()
            named[name] = {**marker, "pose": pose, "points": points}
        assert len(named) == len(message) and len({marker["stamp"] for marker in message}) == 1
        found.append(named)
    stamps = [next(iter(named.values()))["stamp"] for named in found]
    # 30 Hz in ticks; what waits for a viewer that is held up is dropped but for the newest ten
    steps = np.diff(stamps) / 0.033
    np.testing.assert_allclose(steps, np.maximum(np.round(steps), 1.0), atol=1e-6)
    assert np.round(steps).min() == 1.0
    return found


def reference_of(bag: Bag, marker: dict[str, Any]) -> np.ndarray:
    """Pose (7,) of the reference at the tick of a marker."""
    return columns(bag, "constraints/state")["pose"][round(marker["stamp"] / T)]


@pytest.mark.experiment
def test_the_disk_and_its_track_are_drawn_where_they_are(finished: dict[str, Finished], bags: dict[str, Bag]) -> None:
    found = shapes(finished["rolling_disk"])
    for named in found:
        assert set(named) == {"disk", "spoke", "tyre track"}
        disk, track = named["disk"], named["tyre track"]["points"]
        pose = reference_of(bags["rolling_disk"], disk)
        np.testing.assert_allclose(disk["pose"][:3], pose[:3], atol=1e-12)
        # the disk's axis is the tool's -y
        axis = Rotation.from_quat(disk["pose"][3:]).apply([0.0, 0.0, 1.0])
        np.testing.assert_allclose(axis, Rotation.from_quat(pose[3:]).apply([0.0, -1.0, 0.0]), atol=1e-9)
        np.testing.assert_allclose(disk["scale"][:2], 0.06, atol=1e-12)
        np.testing.assert_allclose(track[:, 2], -0.03, atol=1e-12)
        np.testing.assert_allclose(track[-1, :2], pose[:2], atol=6e-4)  # a new point every 0.5 mm
    assert len(found[-1]["tyre track"]["points"]) > len(found[0]["tyre track"]["points"])


@pytest.mark.experiment
def test_the_sphere_and_the_disk_on_it_are_drawn(finished: dict[str, Finished], bags: dict[str, Bag]) -> None:
    for named in shapes(finished["disk_on_sphere"]):
        assert set(named) == {"sphere", "disk", "heading", "path"}
        np.testing.assert_allclose(named["sphere"]["pose"][:3], [0.0, 0.0, -0.05], atol=1e-12)
        np.testing.assert_allclose(named["sphere"]["scale"], 0.1, atol=1e-12)
        pose = reference_of(bags["disk_on_sphere"], named["disk"])
        np.testing.assert_allclose(named["disk"]["pose"][:3], pose[:3], atol=1e-9)
        start, end = named["heading"]["points"]
        np.testing.assert_allclose(start, pose[:3], atol=1e-9)
        assert abs((end - start) @ (pose[:3] - named["sphere"]["pose"][:3])) < 1e-9  # tangent
        np.testing.assert_allclose(named["path"]["points"][-1], pose[:3], atol=6e-4)


@pytest.mark.experiment
def test_the_linkage_and_its_circle_are_drawn(finished: dict[str, Finished], bags: dict[str, Bag]) -> None:
    for named in shapes(finished["two_link_circle"]):
        assert set(named) == {"circle", "links", "base", "elbow", "end point"}
        base, elbow, end = named["links"]["points"]
        np.testing.assert_allclose(base, [-0.21, 0.0, 0.0], atol=1e-12)
        np.testing.assert_allclose(end, reference_of(bags["two_link_circle"], named["links"])[:3], atol=1e-9)
        np.testing.assert_allclose([np.linalg.norm(elbow - base), np.linalg.norm(end - elbow)], 0.15, atol=1e-12)
        for name, joint in (("base", base), ("elbow", elbow), ("end point", end)):
            np.testing.assert_allclose(named[name]["pose"][:3], joint, atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(named["circle"]["points"], axis=1), 0.05, atol=1e-12)


# ---- other runs -----------------------------------------------------------------------------------


def test_a_mechanism_of_one_s_own_from_the_documentation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.syspath_prepend(tmp_path)
    page = (ROOT / "docs" / "constraints.md").read_text()
    (text,) = re.findall(r'```python\n("""A bead on a helical wire.*?)```', page, flags=re.DOTALL)
    (tmp_path / "bead.py").write_text(text)
    info = tmp_path / "my_beads-1.0.dist-info"  # what pip install makes of a package with this entry point
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-beads\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[haptic_mechanisms]\nbead = bead:BeadOnHelix\n")
    words = ("two_link_circle", "mechanism:=bead", "mechanism_parameters:=['radius=0.04']")
    directory = finished_run(tmp_path, *words, "motion:=steering", "duration:=1.5")
    bag, metrics = Bag(directory / "bag"), metrics_of(directory)
    check_against_the_library(bag)
    # led to the wire for a second, then on it
    numbers = metrics["runs"]["bag"]
    assert (numbers["led_ticks"], numbers["stopped_ticks"], numbers["ticks"]) == (1000, 0, 499)
    assert [claim["shown"] for claim in metrics["claims"]] == [True] and numbers["tracking_error"]["largest"] < 1e-3
    pose = columns(bag, "constraints/state")["pose"]
    np.testing.assert_allclose(np.hypot(pose[1000:, 0], pose[1000:, 1]), 0.04, atol=1e-12)
    angle = np.unwrap(np.arctan2(pose[1000:, 1], pose[1000:, 0]))
    np.testing.assert_allclose(pose[1000:, 2], 0.1 / (2.0 * np.pi) * angle, atol=1e-12)
    away = columns(bag, "device_state")["tool_pose"][0, :3] - pose[1000, :3]
    assert np.linalg.norm(away) > 0.01


@pytest.mark.realtime
def test_in_realtime_the_reference_is_where_the_tool_is(tmp_path: Path) -> None:
    loop = ("mode:=realtime", "period:=0.02", "watchdog_periods:=500")  # a slow machine with other work keeps it
    directory = finished_run(tmp_path, "two_link_circle", *loop, "duration:=6.0", "seed:=3")
    bag = Bag(directory / "bag")
    assert bag.custom["mode"] == "realtime" and (directory / "figure.png").exists()
    np.testing.assert_array_equal(columns(bag, "device_state")["tick"], np.arange(300))
    tool = DisplayRun.from_bag(bag)
    assert len(tool.time) > 100
    # at 0.3 m/s; 0.2 mm in lockstep
    assert np.median(tool.tracking_error) < 1e-3 and np.ptp(tool.measured.position[:, 0]) > 0.05
    residual = np.hypot(tool.reference.position[:, 0], tool.reference.position[:, 1]) - 0.05
    assert np.abs(residual).max() < 1e-15


@pytest.mark.experiment
def test_option_that_a_mechanism_does_not_have_is_refused_in_one_line(tmp_path: Path) -> None:
    command = run_command("two_link_circle", "orientation:=quaternion", "record:=false")
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=limit(200.0))
    assert run.returncode == 1
    lines = [line for line in (run.stdout + run.stderr).splitlines() if "refused" in line]
    assert len(lines) == 1 and "orientation: only a rigid body" in lines[0]
