"""friction_impedance as a user runs it: real processes, real DDS, a bag, a report."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from mcap.reader import make_reader
from rosbags.highlevel import AnyReader
from started_runs import HAPTICS, finish, finished_run, metrics_of, recorded_run

from haptic_bags.bags import Bag

pytestmark = pytest.mark.experiment


def raw_messages(bag: Path, topic: str) -> list[bytes]:
    with AnyReader([bag]) as reader:
        connections = [connection for connection in reader.connections if connection.topic == topic]
        return [data for _, _, data in reader.messages(connections)]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a complete run of 3 s with both variants."""
    return finished_run(tmp_path_factory.mktemp("finished"), "friction_impedance", "duration:=3.0")


@pytest.fixture(scope="module")
def bags(finished: Path) -> dict[str, Bag]:
    return {name: Bag(finished / name) for name in ("bag", "bag_one_tick_delay")}


def test_a_run_writes_bags_metrics_figure_report_and_run_file(finished: Path) -> None:
    names = {path.name for path in finished.iterdir()}
    assert names == {"bag", "bag_one_tick_delay", "metrics.json", "figure.png", "report.html", "run.yaml"}
    assert (finished / "figure.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["bag", "bag_one_tick_delay"])
def test_the_bag_holds_every_tick_of_every_topic(bags: dict[str, Bag], name: str) -> None:
    bag = bags[name]
    for topic in ("device_state", "simulation_state", "device_command", "friction/state"):
        ticks = bag.topics[f"/joystick/{topic}"]["tick"]
        np.testing.assert_array_equal(ticks, np.arange(3000), err_msg=topic)
    assert bag.parameters("friction")["stiffness"] == 6000.0
    assert bag.parameters("device")["command_delay_ticks"] == (0 if name == "bag" else 1)


def test_the_bag_opens_with_mcap_and_carries_the_message_definitions(finished: Path) -> None:
    with (finished / "bag" / "bag.mcap").open("rb") as file:
        summary = make_reader(file).get_summary()
    assert summary is not None and summary.statistics is not None
    schemas = {schema.name: schema for schema in summary.schemas.values()}
    assert {"haptic_msgs/msg/DeviceState", "haptic_msgs/msg/DeviceCommand"} <= set(schemas)
    assert all(schema.encoding == "ros2msg" and schema.data for schema in schemas.values())
    assert b"float64[] joint_position" in schemas["haptic_msgs/msg/DeviceState"].data
    assert summary.statistics.message_count >= 4 * 3000


def test_stamps_are_tick_times_period_in_lockstep(bags: dict[str, Bag]) -> None:
    state = bags["bag"].topics["/joystick/device_state"]
    np.testing.assert_allclose(state["stamp"], state["tick"] * 1e-3, rtol=0, atol=1e-12)  # ns resolution


def test_the_command_is_the_friction_force_on_the_tip(bags: dict[str, Bag]) -> None:
    bag = bags["bag"]
    force = bag.topics["/joystick/friction/state"]["force"]
    wrench = bag.topics["/joystick/device_command"]["tool_wrench"]
    np.testing.assert_array_equal(wrench[:, 0:2], -force)


def test_one_tick_of_delay_delays_the_effort_by_one_tick(bags: dict[str, Bag]) -> None:
    for name, delay in (("bag", 1), ("bag_one_tick_delay", 2)):
        bag = bags[name]
        applied = np.linalg.norm(bag.topics["/joystick/simulation_state"]["applied_effort"], axis=1)
        wrench = np.linalg.norm(bag.topics["/joystick/device_command"]["tool_wrench"], axis=1)
        # the command that answers tick k acts from tick k + delay - 1 on and is seen in the state one tick later
        first_command, first_effort = np.flatnonzero(wrench)[0], np.flatnonzero(applied)[0]
        assert first_effort - first_command == delay, name


def test_report_contains_the_claims_of_the_paper(finished: Path) -> None:
    claims = metrics_of(finished)["claims"]
    assert len(claims) == 9  # opposition; drift, chatter and two identifications, each with and without delay
    assert all(claim["shown"] for claim in claims), claims
    page = (finished / "report.html").read_text()
    assert "data:image/png;base64," in page and "expected_resistance" in page


def test_the_report_is_rebuilt_from_the_bags_alone(finished: Path, tmp_path: Path) -> None:
    for name in ("bag", "bag_one_tick_delay"):
        shutil.copytree(finished / name, tmp_path / name)
    finish(tmp_path, [*HAPTICS, "report", str(tmp_path)])
    assert (tmp_path / "metrics.json").read_text() == (finished / "metrics.json").read_text()


def test_another_seed_gives_another_run(finished: Path, tmp_path: Path) -> None:
    """With the same one it is the same bit for bit, also under load: test_determinism_study.py."""
    bag = recorded_run(tmp_path, "friction_impedance", "duration:=0.2", "command_delay_ticks:=0", "seed:=1")
    topic = "/joystick/device_state"
    again, before = raw_messages(bag, topic), raw_messages(finished / "bag", topic)
    assert len(again) == 200 and again != before[:200]
