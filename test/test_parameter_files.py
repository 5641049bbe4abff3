"""Runs with a ROS parameter file, such as the output of `ros2 param dump`, by processes as a user starts them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from machine_speed import limit
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient
from started_runs import HAPTICS, Run, assert_same_bits, finish, finished_run, recorded_run, wait_until

from haptic_bags.bags import Bag
from haptic_experiments import graph

#: parameters that rclpy declares itself
ROS_OWN = {"use_sim_time", "start_type_description_service"}


@pytest.fixture
def observer() -> Iterator[Node]:
    context = Context()
    context.init()
    node = Node("observer", context=context)
    yield node
    node.destroy_node()
    context.shutdown()


def dump(observer: Node, name: str) -> str:
    """What `ros2 param dump NAME` prints of a living node: sorted, nested where names have dots, in block style."""
    executor = SingleThreadedExecutor(context=observer.context)
    client = AsyncParameterClient(observer, name)

    def answer(future: Any) -> Any:
        executor.spin_until_future_complete(future, timeout_sec=limit(60.0))
        return future.result()

    executor.add_node(observer)
    assert client.wait_for_services(limit(60.0))
    names = sorted(answer(client.list_parameters()).result.names)
    tree: dict[str, Any] = {}
    for full, value in zip(names, answer(client.get_parameters(names)).values, strict=True):
        branch, parts = tree, full.split(".")
        for part in parts[:-1]:
            branch = branch.setdefault(part, {})
        python = parameter_value_to_python(value)
        branch[parts[-1]] = python.tolist() if hasattr(python, "tolist") else python
    executor.shutdown()
    assert tree.keys() >= ROS_OWN
    return yaml.dump({name: {"ros__parameters": tree}}, default_flow_style=False)


def forces(bag: Path) -> np.ndarray:
    return np.array(Bag(bag).topics["/joystick/friction/state"]["force"])


@pytest.mark.experiment
def test_dumped_parameters_give_the_same_run(tmp_path: Path, observer: Node) -> None:
    """The dump of a run with other numbers than the launch file's, without these arguments; to the last bit."""
    arguments = ["friction_force:=2.0", "stiffness:=5000.0", "seed:=3"]
    first = Run(tmp_path, *arguments, "duration:=1.0", "pace:=0.5")
    wait_until(first.is_running)
    dumped = tmp_path / "dump.yaml"
    dumped.write_text("".join(dump(observer, f"/joystick/{name}") for name in ("friction", "device")))
    assert first.finish() == 0
    bag = recorded_run(tmp_path / "again", "friction_impedance", f"params_file:={dumped}")
    assert_same_bits(first.directory / "bag", bag, 1000)
    other = recorded_run(tmp_path / "other", "friction_impedance", f"params_file:={dumped}", "friction_force:=4.0")
    assert np.any(forces(other) != forces(bag))  # the argument goes before the file


@pytest.mark.experiment
def test_a_replay_has_the_parameters_of_the_recorded_file(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "my.yaml").write_text("/**: {ros__parameters: {friction_force: 2.0}}")
    run = finished_run(tmp_path / "run2", "friction_impedance", "duration:=0.5", "params_file:=../run/my.yaml")
    (tmp_path / "run" / "my.yaml").unlink()  # the run has its own copy
    reference = graph.run("friction_impedance", {"duration": "0.5", "friction_force": "2.0"})
    np.testing.assert_array_equal(forces(run / "bag"), reference.columns["friction"]["force"])
    folder = tmp_path / "replay"
    finish(folder, [*HAPTICS, "replay", str(run / "bag_one_tick_delay")])
    (same,) = (folder / "runs").iterdir()
    np.testing.assert_array_equal(forces(same / "bag"), forces(run / "bag_one_tick_delay"))
    finish(folder, [*HAPTICS, "replay", str(same), "friction_force:=1.0"])
    (changed,) = set((folder / "runs").iterdir()) - {same}
    assert np.any(forces(changed / "bag") != forces(same / "bag"))


@pytest.mark.experiment
def test_a_node_of_a_shared_process_takes_its_values(tmp_path: Path) -> None:
    """And a node of a process of its own."""
    file = tmp_path / "my.yaml"
    file.write_text("/tau/friction: {ros__parameters: {friction_coefficient: 0.1}}")
    run = ["tau_rough_wall", "duration:=0.1"]
    argument = recorded_run(tmp_path / "argument", *run, "friction_coefficient:=0.1")
    for layout in ("processes", "composed"):
        with_file = recorded_run(tmp_path / layout, *run, f"layout:={layout}", f"params_file:={file}")
        assert Bag(with_file).parameters("friction")["friction_coefficient"] == 0.1
        assert_same_bits(argument, with_file, 100)


@pytest.mark.slow
def test_a_file_that_does_not_fit_is_refused_in_one_line_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "my.yaml").write_text("/joystick/friction: {ros__parameters: {friction_forc: 2.0}}")
    for file, message in (
        ("my.yaml", "parameter friction_forc: unknown; did you mean friction_force?"),
        ("no.yaml", ""),
    ):
        command = [*HAPTICS, "run", "friction_impedance", f"params_file:={file}"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=limit(120.0))
        assert done.returncode == 2 and not (tmp_path / "runs").exists()
        error, hint = done.stderr.splitlines()
        assert error.startswith(f"error: argument params_file: {tmp_path / file}: ") and message in error
        assert "docs/parameters.md" in hint
