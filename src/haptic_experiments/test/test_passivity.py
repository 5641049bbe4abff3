"""The energy at the ports in bags and reports."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rich.console import Console

from haptic_bags import recorder, replay
from haptic_bags.bags import Bag
from haptic_bags.recorder import Recorder
from haptic_core.qos import tick_publisher_qos
from haptic_experiments import report
from haptic_experiments.kit.passivity import balance
from haptic_experiments.report import write_report
from haptic_launch.experiments import load_experiment
from haptic_launch.launch_file import load_launch_file
from haptic_msgs.msg import DeviceState, PassivityState

# ---- recording --------------------------------------------------------------------------------------------


def test_every_node_with_a_state_and_the_device_may_have_a_balance() -> None:
    assert load_experiment("tau_rough_wall").passivity_topics == [
        "/tau/device/passivity",
        "/tau/wall/passivity",
        "/tau/friction/passivity",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("ticks", [[], [0, 1, 2], [1, 2], [0, 2]])
def test_a_balance_is_recorded_when_there_is_one_and_without_gaps(
    ticks: list[int],
    context: Context,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(recorder, "_SILENCE", 0.1)
    node = Recorder(context=context, parameter_overrides=[Parameter("output", value=str(tmp_path / "bag"))])
    other = Node("device", context=context, namespace="joystick")
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    qos = tick_publisher_qos("lockstep")
    states = other.create_publisher(DeviceState, "device_state", qos)
    port = other.create_publisher(PassivityState, "device/passivity", qos)
    try:
        node.start()
        while not (states.get_subscription_count() and port.get_subscription_count()):
            executor.spin_once(timeout_sec=0.1)
        for tick in range(3):
            states.publish(DeviceState(tick=tick))
            if tick in ticks:
                port.publish(PassivityState(tick=tick, port="device", energy=-1e-3 * tick))
        monkeypatch.setattr(recorder, "stop_requested", lambda: node._messages == 3 + len(ticks))
        node.spin(executor)
    finally:
        for made in (node, other):
            made.destroy_node()
    bag, missing = Bag(tmp_path / "bag"), sorted({0, 1} - set(ticks)) if ticks else []
    assert ("/joystick/device/passivity" in bag.topics) == bool(ticks)
    if ticks:
        np.testing.assert_array_equal(bag.topics["/joystick/device/passivity"]["energy"], -1e-3 * np.array(ticks))
    output = capfd.readouterr().err
    assert [f"/joystick/device/passivity lacks ticks {tick}" in output for tick in missing] == [True] * len(missing)
    assert "passivity lacks" in output or not missing
    assert "passivity lacks" not in output or missing


@pytest.mark.parametrize("name", ["tau_wall", "friction_impedance"])
def test_a_replay_takes_passivity_and_the_recorded_delay(name: str) -> None:
    reachable = replay.reachable_arguments(load_launch_file(load_experiment(name).launch_file))
    assert "passivity" in reachable and "command_delay_ticks" not in reachable


# ---- reports ----------------------------------------------------------------------------------------------


def ports(**energies: list[float]) -> dict[str, dict[str, Any]]:
    """Topics of ports with these energies [J], one a millisecond; the first one is damped at its second sample."""
    topics = {}
    for place, (port, energy) in enumerate(energies.items()):
        damping = np.zeros(len(energy))
        damping[1] = 3.0 * (place == 0)
        topics[f"/joystick/{port}/passivity"] = {
            "port": [port] * len(energy),
            "stamp": 1e-3 * np.arange(len(energy)),
            "energy": np.array(energy),
            "power": np.diff(energy, prepend=0.0) / 1e-3,
            "dissipated_energy": np.cumsum(damping) * 1e-6,
            "injected_damping": damping,
        }
    return topics


def bag_with(topics: dict[str, Any]) -> Bag:
    bag = Bag.__new__(Bag)
    bag.topics = topics
    return bag


def test_numbers_and_line_of_a_run_are_those_of_its_ports() -> None:
    found = balance({"bag": bag_with(ports(friction=[0.0, -2e-3, 1e-3], device=[0.0, 1e-3, -1e-3]))})
    assert found is not None
    assert found.metrics["bag"]["friction"] == {
        "final_energy_J": 1e-3,
        "lowest_energy_J": -2e-3,
        "largest_power_given_W": 2.0,
        "dissipated_by_controller_J": 3e-6,
        "largest_injected_damping": 3.0,
        "ticks_with_damping": 1,
    }
    assert found.metrics["bag"]["device"]["ticks_with_damping"] == 0
    assert found.line == "passivity: 2 ports observed; lowest energy -2 mJ, at friction of bag"
    assert [row[:4] for row in found.table.rows] == [("bag", "friction", "1", "-2"), ("bag", "device", "-1", "-1")]
    above, below = found.figure.axes
    assert [line.get_label() for line in above.get_lines()[:2]] == ["friction", "device"]
    np.testing.assert_allclose(above.get_lines()[0].get_ydata(), [0.0, -2.0, 1.0])
    np.testing.assert_allclose(below.get_lines()[0].get_ydata(), [0.0, 3.0, 0.0])


def test_bags_have_columns_of_their_own() -> None:
    one, other = ports(wall=[0.0, -1e-3]), ports(wall=[0.0, -3e-3])
    found = balance({"bag": bag_with(one), "bag_delayed": bag_with(other)})
    assert found is not None and found.line.endswith("lowest energy -3 mJ, at wall of bag_delayed")
    assert [axes.get_title() for axes in found.figure.axes[:2]] == ["bag", "bag_delayed"]


def test_without_balances_there_is_no_report() -> None:
    assert balance({"bag": bag_with({"/joystick/device_state": {"tick": np.arange(3)}})}) is None


@pytest.mark.slow
@pytest.mark.parametrize("observed", [True, False])
def test_a_report_has_a_line_a_table_and_a_figure_of_the_energies_only_where_they_were_observed(
    observed: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    signals: Callable[..., Any],
    bag_of: Callable[..., Bag],
) -> None:
    def read(path: Path) -> Bag:
        bag = bag_of(signals(2.0))
        bag.path = path
        if observed:
            bag.topics |= ports(friction=[0.0, -2e-3, 1e-3])
        return bag

    monkeypatch.setattr(report, "Bag", read)
    (tmp_path / "bag").mkdir()
    (tmp_path / "bag/metadata.yaml").touch()
    text = StringIO()
    write_report(tmp_path, Console(file=text, width=200))
    metrics = json.loads((tmp_path / "metrics.json").read_text())
    page = (tmp_path / "report.html").read_text()
    assert ("passivity" in metrics) == (tmp_path / "passivity.png").exists() == observed
    assert page.count("data:image/png;base64,") == 1 + observed
    assert ("Energy at the ports" in page) == ("passivity: 1 ports observed" in text.getvalue()) == observed
