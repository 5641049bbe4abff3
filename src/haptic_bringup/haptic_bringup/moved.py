"""Old import paths: imports a former module of haptic_bringup from the package that has it now, with a warning."""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType
from typing import Any

_OLD = __name__.partition(".")[0]

#: new paths of modules; a module below one of them has the same name below the new path
MOVED = {
    "launch_file": "haptic_launch.launch_file",
    "launch_elements": "haptic_launch.launch_elements",
    "launch_parameters": "haptic_launch.launch_parameters",
    "launch_substitutions": "haptic_launch.launch_substitutions",
    "processes": "haptic_launch.processes",
    "process_guard": "haptic_launch.process_guard",
    "ros_launch": "haptic_launch.ros_launch",
    "experiments": "haptic_launch.experiments",
    "bags": "haptic_bags.bags",
    "bag_columns": "haptic_bags.bag_columns",
    "bag_comparison": "haptic_bags.bag_comparison",
    "bag_writer": "haptic_bags.bag_writer",
    "recording": "haptic_bags.recording",
    "recorder": "haptic_bags.recorder",
    "repair": "haptic_bags.repair",
    "player": "haptic_bags.player",
    "report": "haptic_experiments.report",
    "replay_report": "haptic_experiments.replay_report",
    "identification": "haptic_experiments.identification",
    "study": "haptic_experiments.study",
    "graph": "haptic_experiments.kit.node_graph",
    "reports.comparison": "haptic_experiments.kit.comparison",
    "reports.contact": "haptic_experiments.kit.contact",
    "reports.display": "haptic_experiments.kit.display",
    "reports.guided_world": "haptic_experiments.experiments.cobot_guided_tool.reference",
    "reports.manipulator": "haptic_experiments.experiments.friction_admittance.manipulator",
    "reports.passivity": "haptic_experiments.kit.passivity",
    "reports.phases": "haptic_experiments.kit.phases",
    "reports.tau": "haptic_experiments.kit.tau",
    "reports.touch_process": "haptic_experiments.experiments.tau_touch_world.references",
    "reports": "haptic_experiments.experiments",
    "studies.determinism": "haptic_verification.studies.determinism",
    "studies.faults": "haptic_verification.studies.faults",
    "studies.files": "haptic_verification.studies.files",
    "studies.live_parameters": "haptic_verification.studies.live_parameters",
    "studies.messages": "haptic_verification.studies.messages",
    "studies.passivity": "haptic_verification.studies.passivity",
    "studies.realtime": "haptic_verification.studies.realtime",
    "studies.soak": "haptic_verification.studies.soak",
    "studies": "haptic_experiments.studies",
    "faults": "haptic_verification.faults",
    "fuzz": "haptic_verification.fuzz",
    "viewer": "haptic_viewer",
    "live": "haptic_viewer.live",
}


def new_path(old: str) -> str | None:
    """Returns the new path of a former module of haptic_bringup, given its full old name; None if it had none."""
    head, tail = old.removeprefix(f"{_OLD}."), ""
    while head and head not in MOVED:
        head, _, last = head.rpartition(".")
        tail = f".{last}{tail}"
    return MOVED[head] + tail if head else None


def _warn(old: str, new: str) -> None:
    warnings.warn(f"{old} has moved to {new}", DeprecationWarning, stacklevel=3)


def _is_divided(old: str) -> bool:
    """Returns whether the modules of a package moved to several packages; then the old name is an empty package."""
    return any(f"{_OLD}.{name}".startswith(f"{old}.") for name in MOVED)


def _inner(package: str, name: str) -> ModuleType:
    try:
        return import_module(f"{package}.{name}")
    except ModuleNotFoundError:
        raise AttributeError(f"module {package!r} has no attribute {name!r}") from None


class _MovedModules(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Finder and loader that import a moved module under its old name."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        if not fullname.startswith(f"{_OLD}."):
            return None
        new = new_path(fullname)
        found = None if new is None else importlib.util.find_spec(new)
        if found is None:
            return None
        inner = found.submodule_search_locations is not None
        return ModuleSpec(fullname, self, origin=found.origin, is_package=inner)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        new = str(new_path(spec.name))
        _warn(spec.name, new)
        if _is_divided(spec.name):
            return None
        module = import_module(new)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        name = module.__spec__.name if module.__spec__ else ""
        if _is_divided(name):
            module.__getattr__ = lambda inner: _inner(name, inner)  # type: ignore[method-assign]
        elif module.__spec__ is not None:  # the import system has set that of the old name
            module.__spec__ = module.__spec__.loader_state

    def get_code(self, fullname: str) -> CodeType | None:
        """Returns the code of a moved module, for `python -m`."""
        new = str(new_path(fullname))
        _warn(fullname, new)
        found = importlib.util.find_spec(new)
        loader = None if found is None else found.loader
        return loader.get_code(new) if isinstance(loader, importlib.abc.InspectLoader) else None

    def get_source(self, fullname: str) -> str | None:
        return None


def install() -> None:
    """Installs the finder of old import paths before all other finders, which can also find the modules' files."""
    sys.meta_path.insert(0, _MovedModules())
