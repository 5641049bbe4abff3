"""Scenes of the gallery: the experiments with a hand that a user of the page can lead."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from haptic_core.errors import HapticError, shortened
from haptic_launch.experiments import Experiment, experiment_names, load_experiment
from haptic_launch.launch_file import LaunchFileError, load_launch_file
from haptic_launch.launch_nodes import launched_nodes

#: device that plays a script and has no hand
_SCRIPT = "scripted"
#: file of the picture, in the folder of the experiment's metadata
_PICTURE = "picture.jpg"
#: experiment in which a file of a user is touched, and allowed suffixes of its name
_FILE_SCENE = "touch"
_SUFFIX = re.compile(r"\.[a-z0-9]{1,5}")


@dataclass(frozen=True)
class GalleryScene:
    """Experiment that a user can touch.

    Attributes:
        name: name of the experiment.
        title: title of the experiment.
        namespace: namespace of its device.
        picture: path of its picture; None without a picture.
    """

    name: str
    title: str
    namespace: str
    picture: Path | None


def scene_of(experiment: Experiment) -> GalleryScene:
    """Returns the scene of an experiment."""
    picture = experiment.home.share / "config" / experiment.name / _PICTURE
    namespace = experiment.clock.rpartition("/")[0]
    return GalleryScene(experiment.name, experiment.title, namespace, picture if picture.exists() else None)


def has_hand(experiment: Experiment) -> bool:
    """Returns whether a simulated hand holds the device of an experiment, according to its launch file."""
    nodes = launched_nodes(load_launch_file(experiment.launch_file))
    devices = [node.parameters for node in nodes if "sources" in node.parameters and "device" in node.parameters]
    return any(device["device"] != _SCRIPT and device.get("held", True) for device in devices)


def touchable_scenes() -> Sequence[GalleryScene]:
    """Returns the scenes that a user can touch, in the order of their names, without experiments that have errors."""
    found = []
    for name in experiment_names():
        try:
            experiment = load_experiment(name)
            if has_hand(experiment):
                found.append(scene_of(experiment))
        except (HapticError, LaunchFileError):
            continue  # `./haptics run` reports the error
    return found


def scene_of_file(name: str, content: bytes, folder: Path) -> list[str]:
    """Returns the experiment and the arguments that show a file of a user.

    Args:
        name: name of the file; its suffix gives its type: a mesh, URDF or MJCF.
        content: content of the file.
        folder: folder for a copy of the file while the experiment runs.

    Raises:
        HapticError: the name has no suffix of letters and digits.
    """
    suffix = Path(name).suffix.lower()
    if not _SUFFIX.fullmatch(suffix):
        raise HapticError(f"{shortened(name, 60)}: expected a file ending in .stl, .obj, .urdf, .xml or the like")
    path = folder / f"file{suffix}"
    path.write_bytes(content)
    return [_FILE_SCENE, f"world:={path}"]
