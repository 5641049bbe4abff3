"""Suggestions for the users of an experiment, and the figure to compare with."""

from __future__ import annotations

import os
from pathlib import Path

import viser

from haptic_launch.experiments import Experiment
from haptic_viewer.text import PlainText, Strong, add_picture

#: largest file size of the figure [bytes]
_LARGEST = 700_000


def figure_of(name: str) -> Path | None:
    """Returns the path of an experiment's figure in the checkout of the suite; None: there is none."""
    root = os.environ.get("HAPTICS_ROOT")
    path = Path(root, "docs", "images", f"{name}.png") if root else None
    return path if path is not None and path.is_file() and path.stat().st_size <= _LARGEST else None


class LearningPanel:
    """Folder with the suggestions and the figure of an experiment.

    Args:
        gui: GUI of the page.
        experiment: metadata of the experiment.
    """

    def __init__(self, gui: viser.GuiApi, experiment: Experiment) -> None:
        with gui.add_folder("Try this"):
            PlainText(gui, Strong(experiment.title))
            for number, hint in enumerate(experiment.to_try, 1):
                PlainText(gui, Strong(f"{number}. "), hint)
            with gui.add_folder("About it", expand_by_default=False):
                PlainText(gui, experiment.summary)
                PlainText(gui, Strong("Counterpart of: "), experiment.paper)
                figure = figure_of(experiment.name)
                if figure is not None:
                    add_picture(gui, figure.read_bytes(), "png")
