"""Priority, memory, core and shared memory of a node's process."""

from __future__ import annotations

import os
import resource
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from std_msgs.msg import Empty

from haptic_core import process
from haptic_core.dds import FAST_DDS_PROFILES, PROFILES_VARIABLE, dds_environment
from haptic_core.errors import HapticError
from haptic_core.qos import latched_qos


def test_cores_are_asked_to_stay_awake_while_the_loop_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = tmp_path / "cpu_dma_latency"
    request.touch()
    monkeypatch.setattr(process, "LATENCY_REQUEST", request)
    with process.awake_cores() as asked:
        assert asked and struct.unpack("i", request.read_bytes()) == (0,)
        held = {path.resolve() for path in Path("/proc/self/fd").iterdir() if path.exists()}
        assert request in held
    assert request not in {path.resolve() for path in Path("/proc/self/fd").iterdir() if path.exists()}


def test_process_without_the_right_to_request_latency_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "LATENCY_REQUEST", tmp_path / "none")
    with process.awake_cores() as asked:
        assert not asked


@pytest.mark.parametrize(("text", "asked"), [(None, 20), ("35", 35), ("0", None)])
def test_the_environment_chooses_the_priority(text: str | None, asked: int | None, monkeypatch) -> None:
    taken = []
    monkeypatch.setattr(os, "sched_setscheduler", lambda thread, policy, p: taken.append((policy, p.sched_priority)))
    monkeypatch.delenv("HAPTICS_PRIORITY", raising=False)
    if text is not None:
        monkeypatch.setenv("HAPTICS_PRIORITY", text)
    assert process.raise_priority()
    assert set(taken) == ({(os.SCHED_FIFO, asked)} if asked else set())


def test_memory_is_locked_or_the_failure_is_reported() -> None:
    """In a process of its own: what is locked stays so."""
    program = (
        "from pathlib import Path; from haptic_core import process; said = process.prepare_realtime();"
        "print('ulimit -l' in str(said), 'VmLck:\\t       0 kB' in Path('/proc/self/status').read_text())"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    refused, nothing = ran.stdout.split()
    assert refused == nothing


def test_with_a_limit_nothing_is_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else memory would be refused in the middle of a run."""

    def refuse(*_: object) -> None:
        raise ValueError("not allowed to raise maximum limit")

    (tmp_path / "status").write_text("CapPrm:\t000001ffffffffff\nCapEff:\t0000000000000000\n")
    monkeypatch.setattr(resource, "setrlimit", refuse)
    monkeypatch.setattr(process, "STATUS", tmp_path / "status")
    assert not process.lock_memory()
    assert "VmLck:\t       0 kB" in Path("/proc/self/status").read_text()


class Second:
    """A core of which a thread takes the given time, and pauses on request."""

    def __init__(self) -> None:
        self.now, self.used, self.pauses = 0.0, 0.0, list[float]()

    def tick(self, wall: float, busy: float) -> None:
        self.now, self.used = self.now + wall, self.used + busy

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.pauses.append(seconds)


@pytest.mark.parametrize(("busy", "pauses"), [(0.5e-3, False), (0.91e-3, False), (0.96e-3, True), (1e-3, True)])
def test_realtime_loop_leaves_the_kernel_its_fraction_of_the_core(busy: float, pauses: bool) -> None:
    """Linux holds up a thread for the rest of a second of which it had 95 %; the loop's own pauses are much shorter."""
    second = Second()
    throttle = process.RealtimeThrottle(lambda: second.now, lambda: second.used, second.sleep)
    for _ in range(3200):
        second.tick(1e-3, busy)
        throttle.throttle()
    assert bool(second.pauses) == pauses
    assert second.used / second.now <= 0.92 + 1e-12
    assert all(0.0 < pause < 5e-3 for pause in second.pauses)
    if pauses:  # no longer than is needed
        assert second.used / second.now > 0.92 - 1e-9


def test_dds_sender_threads_keep_their_ordinary_priority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a thread that ends meanwhile is no obstacle; one that may not be raised is reported."""
    for number, name in {10: "device_node", 11: "dds.shm.7410", 12: "dds.asyn.0.0"}.items():
        (tmp_path / f"{number}").mkdir()
        (tmp_path / f"{number}" / "comm").write_text(name + "\n")
    (tmp_path / "13").mkdir()  # it has ended
    monkeypatch.setattr(process, "THREADS", tmp_path)
    monkeypatch.delenv("HAPTICS_PRIORITY", raising=False)
    taken: list[int] = []
    monkeypatch.setattr(os, "sched_setscheduler", lambda thread, policy, p: taken.append(thread))
    assert process.raise_priority() and sorted(taken) == [10, 11]

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    assert not process.raise_priority()


@pytest.mark.parametrize("text", ["-1", "100", "high"])
def test_invalid_priority_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAPTICS_PRIORITY", text)
    with pytest.raises(HapticError, match=rf"HAPTICS_PRIORITY: expected 0 to 99, got '{text}'"):
        process.raise_priority()


TALKING = """
from pathlib import Path
from rclpy.node import Node
from std_msgs.msg import Empty
from haptic_core import process
from haptic_core.qos import latched_qos

class Talking(Node):
    finished, exit_code, active = False, 0, False

    def start(self):
        self.publisher = self.create_publisher(Empty, "said", latched_qos())
        self.publisher.publish(Empty())
        print("shared memory", "/dev/shm/fast" in Path("/proc/self/maps").read_text())
        sockets = {path.readlink().name for path in Path("/proc/self/fd").iterdir() if path.is_symlink()}
        rows = [row.split() for row in Path("/proc/net/udp").read_text().splitlines()[1:]]
        own = {row[1].partition(":")[0] for row in rows if f"socket:[{row[9]}]" in sockets}
        print("addresses", *sorted(own), flush=True)

process.main(lambda: Talking("talking"))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "shared", "addresses"), [("lockstep", True, None), ("realtime", False, "0100007F")])
def test_process_without_shared_memory_reaches_one_with_it(
    mode: str, shared: bool, addresses: str | None, context
) -> None:
    """The reader has the discovery range LOCALHOST and the transports of it; realtime listens on loopback alone."""
    environment = {**os.environ, "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    environment[PROFILES_VARIABLE] = str(FAST_DDS_PROFILES)
    reader = rclpy.create_node("reader", context=context)
    heard: list[Empty] = []
    reader.create_subscription(Empty, "said", heard.append, latched_qos())
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(reader)
    command = [sys.executable, "-c", TALKING, "--ros-args", "-p", f"mode:={mode}"]
    environment = dds_environment(command, environment)
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as talking:
        end = time.monotonic() + 60.0
        while not heard:
            assert time.monotonic() < end and talking.poll() is None
            executor.spin_once(timeout_sec=0.1)
        talking.terminate()
        said = talking.stdout.read().splitlines() if talking.stdout else []
    executor.shutdown()
    reader.destroy_node()
    assert said[0] == f"shared memory {shared}"
    assert addresses is None or said[1] == f"addresses {addresses}"
