"""Steps of the in-process graph that another package registers: the example of docs/add_node.md."""

from __future__ import annotations

import re
import shutil
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from haptic_core.errors import HapticError
from haptic_experiments import graph, graph_steps

DOCS = Path(__file__).parents[3] / "docs"
LAUNCH = """launch:
- node:
    pkg: haptic_devices
    exec: device_node
    name: device
    namespace: joystick
    param:
    - {name: device, value: joystick}
    - {name: held, value: false}
    - {name: sources, value: [spring]}
    - {name: duration, value: 0.1}
- node:
    pkg: my_lab
    exec: EXECUTABLE
    name: spring
    namespace: joystick
    param:
    - {name: anchor, value: [0.02, 0.0, 0.0]}
    - {name: stiffness, value: 300.0}
"""


@pytest.fixture
def launch_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Launch file of an experiment with the node of an installed package."""
    package = tmp_path / "my_lab"
    package.mkdir()
    (package / "__init__.py").touch()
    for name in ("spring_node.py", "spring_node.yaml"):
        shutil.copy(DOCS / "examples" / name, package)
    page = (DOCS / "add_node.md").read_text()
    (step,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (package / "spring_step.py").write_text(step)
    (entry,) = re.findall(r'\["(my_lab.spring_node = .*)"\]', page)
    info = tmp_path / "my_lab-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-lab\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[haptic_graph_steps]\n{entry}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    path = tmp_path / "spring.launch.yaml"
    path.write_text(LAUNCH.replace("EXECUTABLE", "spring_node"))
    return path


def test_node_of_another_package_runs_in_the_graph(launch_file: Path) -> None:
    run = graph.run(launch_file)
    columns = run.columns
    assert re.fullmatch(r"GraphRun\(100 ticks; device: [\w, ]+; .*spring: energy\b.*\)", repr(run))
    tool, twist = columns["device"]["tool_pose"][:, :3], columns["device"]["tool_twist"][:, :3]
    spring: Any = import_module("my_lab.spring_node").Spring
    alone = spring(np.array([0.02, 0.0, 0.0]), stiffness=300.0, damping=2.0, period=1e-3)
    energy = []
    for position, velocity in zip(tool, twist, strict=True):
        alone.step(position, velocity)
        energy.append(alone.energy)
    np.testing.assert_array_equal(columns["spring"]["energy"], energy)
    assert len(energy) == 100 and tool[-1, 0] > tool[0, 0] + 1e-3  # the device follows the force


def test_launch_file_of_the_page_has_the_same_result_in_both_layouts(launch_file: Path) -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", (DOCS / "add_node.md").read_text(), re.DOTALL)
    launch_file.write_text(text)
    arguments = {"duration": "0.2", "stiffness": "400.0"}
    energies = []
    for layout in ("composed", "processes"):
        run = graph.run(launch_file, {**arguments, "layout": layout})
        energies.append(run.columns["spring"]["energy"])
    assert len(energies[0]) == 200 and energies[0][-1] != 0.0
    np.testing.assert_array_equal(*energies)


def test_node_without_a_step_is_refused(launch_file: Path) -> None:
    launch_file.write_text(LAUNCH.replace("EXECUTABLE", "damper_node"))
    shutil.copy(launch_file.parent / "my_lab" / "spring_node.yaml", launch_file.parent / "my_lab" / "damper_node.yaml")
    expected = (
        r"^my_lab/damper_node: has no step .* entry point my_lab.damper_node of group haptic_graph_steps .*wall_node"
    )
    with pytest.raises(HapticError, match=expected):
        graph.build(launch_file)


def test_rendering_nodes_of_the_suite_are_entry_points() -> None:
    for point in entry_points(group=graph_steps.ENTRY_POINTS):
        assert graph_steps.find_step(point.name.replace(".", "/")) is point.load()
    with pytest.warns(DeprecationWarning, match="STEPS has moved; use haptic_experiments.graph_steps.find_step"):
        assert graph_steps.STEPS["tau_wall_control/wall_node"] is graph_steps.WallStep
