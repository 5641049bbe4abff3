"""Suggestions of the experiments, and the parameters that are shown first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rcl_interfaces.msg import ParameterDescriptor
from recorded_gui import Gui

from haptic_launch.experiments import experiment_names, load_experiment
from haptic_launch.file_parameters import declared_parameters
from haptic_launch.launch_file import load_launch_file
from haptic_launch.launch_nodes import launched_nodes
from haptic_viewer.learning import LearningPanel, figure_of
from haptic_viewer.parameters import ParameterPanel
from haptic_viewer.scenes import has_hand

EXPERIMENTS = [load_experiment(name) for name in experiment_names("haptic_bringup")]
TOUCHED = [experiment for experiment in EXPERIMENTS if has_hand(experiment)]


class Page(Gui):
    """Keeps folders in the order in which they are made, paragraphs, and controls by folder."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = [""]
        self.paragraphs: list[str] = []
        self.controls: list[tuple[str, str]] = []

    def add_folder(self, title: str, **_: Any) -> Any:
        page = self

        class Folder:
            def __enter__(self) -> None:
                page.open.append(title)

            def __exit__(self, *_: object) -> None:
                page.open.pop()

        return Folder()

    def add_html(self, content: str, visible: bool = True) -> Any:
        self.paragraphs.append(content)
        return super().add_html(content, visible)

    def add_slider(self, label: str, *values: Any, **options: Any) -> Any:
        self.controls.append((self.open[-1], label))
        return super().__getattr__("add_slider")(label, *values, **options)


@pytest.mark.parametrize("experiment", TOUCHED, ids=lambda experiment: experiment.name)
def test_every_scene_has_suggestions_and_its_first_parameters_exist(experiment: Any) -> None:
    assert experiment.to_try and experiment.first_parameters
    nodes = {node.name: node.executable for node in launched_nodes(load_launch_file(experiment.launch_file))}
    for full in experiment.first_parameters:
        node, _, name = full.partition(".")
        assert node in nodes, full
        assert name in (declared_parameters(nodes[node]) or ()), full


def test_the_page_has_the_suggestions_the_paper_and_the_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = load_experiment("touch_clutter")
    folder = tmp_path / "docs" / "images"
    folder.mkdir(parents=True)
    (folder / "touch_clutter.png").write_bytes(b"png")
    monkeypatch.setenv("HAPTICS_ROOT", str(tmp_path))
    page = Page()
    LearningPanel(page, experiment)  # type: ignore[arg-type]
    text = "".join(page.paragraphs)
    assert all(hint[:20] in text for hint in experiment.to_try)
    assert "Colgate" in text and "data:image/png;base64" in text
    monkeypatch.delenv("HAPTICS_ROOT")
    assert figure_of("touch_clutter") is None


def test_parameters_that_matter_come_first_and_the_others_are_folded() -> None:
    names = ("mass", "stiffness", "damping")
    descriptors = [ParameterDescriptor(name=name, description=f"{name} [-]") for name in names]
    values = dict.fromkeys(names, 1.0)
    for first, expected in (
        (("damping", "nothing", "mass"), [("node", "damping"), ("node", "mass"), ("more", "stiffness")]),
        ((), [("node", name) for name in names]),
    ):
        page = Page()
        ParameterPanel(page, "node", lambda *_: None, first).show(descriptors, values)  # type: ignore[arg-type]
        assert page.controls == expected
