"""Speed of the tick loop: friction_impedance in lockstep beside a bare rclpy echo, and realtime quality.

The echo exchanges the same two messages between two processes and does nothing else. Each round runs all
cases in turn; the ratios are taken within a round, so that a machine whose speed drifts does not bend them.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from options import Parser, positive
from rich.console import Console
from rich.table import Table

from haptic_launch.experiments import load_experiment
from haptic_launch.launch_file import load_launch_file
from haptic_launch.process_guard import start_command
from haptic_launch.processes import run_processes

HERE = Path(__file__).parent
DOMAIN = {"ROS_DOMAIN_ID": "88", "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}


def echo(executor: str, ticks: int) -> float:
    """Ticks per second of the bare echo."""
    environment = {**os.environ, **DOMAIN}
    server_command, client_command = (
        start_command([sys.executable, str(HERE / "echo.py"), role, executor, str(ticks)])
        for role in ("server", "client")
    )
    with subprocess.Popen(server_command, env=environment) as server:
        client = subprocess.run(client_command, env=environment, capture_output=True, text=True, check=True)
        server.wait()
    return float(client.stdout.split()[0])


def experiment(arguments: Mapping[str, str], executor: str = "events") -> str:
    """Runs friction_impedance; returns the device's closing line."""
    lines: list[str] = []
    environment = {**os.environ, **DOMAIN, "HAPTICS_EXECUTOR": executor}
    path = load_experiment("friction_impedance").launch_file
    specs = load_launch_file(path).evaluate(arguments, environment=environment)
    with Path(os.devnull).open("w") as nowhere:
        code = run_processes(specs, output=nowhere, on_line=lambda name, line: lines.append(line))
    closing = [line for line in lines if "ticks/s" in line]
    if code or not closing:
        raise SystemExit("\n".join(lines))
    return closing[0].split("]: ")[-1]


def rate(closing: str) -> float:
    """Ticks per second in the device's closing line."""
    match = re.search(r"\((\d+) ticks/s\)", closing)
    assert match is not None
    return float(match[1])


def lockstep(rounds: int, ticks: int, executors: list[str], folder: Path, console: Console) -> None:
    """Prints the table of throughputs and ratios."""
    cases: dict[str, list[float]] = {}

    def add(name: str, value: float) -> None:
        cases.setdefault(name, []).append(value)
        console.print(f"  {name}: {value:.0f} ticks/s", highlight=False)

    duration = f"{ticks * 1e-3:.3f}"
    for number in range(rounds):
        console.print(f"round {number + 1} of {rounds}", highlight=False)
        for executor in executors:
            add(f"echo, {executor}", echo(executor, ticks))
            add(f"loop, {executor}", rate(experiment({"record": "false", "duration": duration}, executor)))
        bag = folder / f"bag_{number}"
        add("loop with recorder, events", rate(experiment({"output": str(bag), "duration": duration})))
    if "single_threaded" in executors:
        add("echo, multi_threaded", echo("multi_threaded", 100))
    table = Table("case", "ticks/s (median)", "ratio to the echo with that executor (median; min to max)")
    for name, values in cases.items():
        other = cases.get(f"echo, {name.split(', ')[1]}", [])
        ratios = [a / b for a, b in zip(values, other, strict=False)]
        text = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        table.add_row(name, f"{statistics.median(values):.0f}", "" if name.startswith("echo") else text)
    console.print(table)


def main() -> None:
    parser = Parser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ticks", type=positive, default=5000)
    parser.add_argument("--executors", nargs="+", default=["events", "single_threaded"])
    parser.add_argument("--realtime", type=float, default=60.0, help="length of the realtime run [s], 0: none")
    options = parser.parse_args()
    console = Console()
    with tempfile.TemporaryDirectory() as folder:
        if options.rounds:
            lockstep(options.rounds, options.ticks, options.executors, Path(folder), console)
        if options.realtime:
            console.print(f"realtime at 1 kHz for {options.realtime:g} s", highlight=False)
            arguments = {"mode": "realtime", "record": "false", "duration": str(options.realtime)}
            closing = experiment(arguments)
            console.print(closing, highlight=False)
            found = re.search(r"(\d+) ticks in .* missed (\d+)", closing)
            assert found is not None
            console.print(f"missed: {100 * int(found[2]) / int(found[1]):.3f} %", highlight=False)


if __name__ == "__main__":
    main()
