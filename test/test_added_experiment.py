"""An experiment of another package: five new files and the documented `setup.py`; nothing of the suite is edited."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from machine_speed import limit
from started_runs import HAPTICS

pytestmark = pytest.mark.experiment

#: files of the experiment toy_slide; the fifth is this test
EXPERIMENT = {
    "launch/toy_slide.launch.yaml": """\
launch:
- arg: {name: mode, default: lockstep, description: "loop mode"}
- arg: {name: record, default: "true", description: "write a bag"}
- arg: {name: output, default: "", description: "directory of the bag"}
- arg: {name: duration, default: "0.3", description: "length of the run [s]"}
- arg: {name: friction_force, default: "4.0", description: "kinetic friction force [N]"}
- node:
    if: $(var record)
    pkg: haptic_bags
    exec: recorder
    name: recorder
    param:
    - {name: experiment, value: toy_slide}
    - {name: mode, value: $(var mode)}
    - {name: output, value: $(var output), type: str}
- node:
    pkg: haptic_friction
    exec: friction_node
    name: friction
    namespace: joystick
    param:
    - {name: mode, value: $(var mode)}
    - {name: recorded, value: $(var record)}
    - {name: friction_force, value: $(var friction_force), type: float}
- node:
    pkg: haptic_devices
    exec: device_node
    name: device
    namespace: joystick
    on_exit: shutdown
    param:
    - {name: sources, value: [friction]}
    - {name: mode, value: $(var mode)}
    - {name: recorded, value: $(var record)}
    - {name: duration, value: $(var duration), type: float}
    - {name: motion, value: to_and_fro}
""",
    "config/toy_slide/experiment.yaml": """\
title: A joystick that slides to and fro
paper: none
summary: The friction never exceeds its kinetic force.
variants:
  weak: {friction_force: "1.0"}
  strong: {friction_force: "4.0"}
""",
    "config/toy_slide/page.md": "# A joystick that slides to and fro\n",
    "my_lab/experiments/toy_slide.py": '''\
"""The largest friction of each variant."""

import numpy as np
from matplotlib.figure import Figure

from haptic_experiments.report import Claim, Report


def analyse(bags):
    """Largest force [N] by bag."""
    forces = {name: bag.topics["/joystick/friction/state"]["force"] for name, bag in bags.items()}
    limits = {name: bag.parameters("friction")["friction_force"] for name, bag in bags.items()}
    largest = {name: float(np.linalg.norm(force, axis=1).max()) for name, force in forces.items()}
    held = all(largest[name] <= limits[name] * (1 + 1e-9) for name in bags)
    claim = Claim("the friction is at most F", str(largest), held)
    return Report({"largest": largest, "limits": limits}, [claim], Figure, "Nothing is drawn.")
''',
}
PAGE = Path(__file__).parents[1] / "docs" / "experiments.md"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The prefix in which the package is installed."""
    source, prefix = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("lab")
    (setup,) = re.findall(r"```python\n(from pathlib.*?)```", PAGE.read_text(), re.DOTALL)
    empty = dict.fromkeys(("my_lab/__init__.py", "my_lab/experiments/__init__.py", "resource/my_lab"), "")
    for name, text in (EXPERIMENT | empty | {"setup.py": setup}).items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text)
    pip = [sys.executable, "-m", "pip", "install", "--no-index", "--no-build-isolation", "--prefix", prefix, source]
    done = subprocess.run(pip, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return prefix


def haptics(lab: Path, *words: str) -> str:
    """Output of the command line where the package is installed, too."""
    own = {
        "AMENT_PREFIX_PATH": os.pathsep.join([str(lab), os.environ["AMENT_PREFIX_PATH"]]),
        "PYTHONPATH": os.pathsep.join(
            [sysconfig.get_path("purelib", vars={"base": str(lab)}), os.environ.get("PYTHONPATH", "")]
        ),
    }
    done = subprocess.run(
        [*HAPTICS, *words], cwd=lab, env={**os.environ, **own}, capture_output=True, text=True, timeout=limit(300.0)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def run(lab: Path) -> Path:
    """The directory of a finished run."""
    haptics(lab, "run", "toy_slide")
    (directory,) = (lab / "runs").iterdir()
    return directory


def test_it_is_listed_with_its_arguments(lab: Path) -> None:
    assert "toy_slide" in haptics(lab, "list")
    assert "friction_force" in haptics(lab, "run", "toy_slide", "--show-args")


def test_it_runs_and_its_report_is_written(run: Path) -> None:
    document = json.loads((run / "metrics.json").read_text())
    assert document["experiment"] == "toy_slide" and document["claims"][0]["shown"]
    assert document["limits"] == {"bag": 1.0, "bag_strong": 4.0}
    assert document["largest"]["bag"] == pytest.approx(1.0) and document["largest"]["bag_strong"] > 1.0
    assert (run / "report.html").exists() and (run / "figure.png").exists()


def test_its_bags_are_replayed_and_reported_again(lab: Path, run: Path) -> None:
    before = (run / "metrics.json").read_bytes()
    haptics(lab, "report", str(run))
    assert (run / "metrics.json").read_bytes() == before
    haptics(lab, "replay", str(run / "bag"))
    (replayed,) = (lab / "runs").glob("*-replay-toy_slide")
    claims = json.loads((replayed / "metrics.json").read_text())["claims"]
    assert [claim["shown"] for claim in claims] == [True] * len(claims)
