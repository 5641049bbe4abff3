"""The paths that modules had before they were sorted into folders lead to the same modules and warn."""

from __future__ import annotations

from importlib import import_module

import pytest

import tau_wall_control
from tau_wall_control._moved import MOVED


@pytest.mark.parametrize("name", sorted(MOVED))
def test_old_path_leads_to_the_same_module_and_warns(name: str) -> None:
    old, new = f"tau_wall_control.{name}", f"tau_wall_control.{MOVED[name]}"
    _forget(old)
    with pytest.warns(DeprecationWarning, match=f"{old} has moved; use {new}"):
        module = import_module(old)
    assert module is import_module(new)
    assert getattr(tau_wall_control, name) is module


def _forget(module: str) -> None:
    import sys

    sys.modules.pop(module, None)
    vars(tau_wall_control).pop(module.rpartition(".")[2], None)


def test_folders_of_an_old_module_s_name_have_its_public_names() -> None:
    from tau_wall_control.device import JOINT_NAMES, Pose, TaskDynamics, TauDevice, TauState
    from tau_wall_control.simulation import push_signal, run_push, stiffest_push
    from tau_wall_control.walls import MovingPlanes, Plane, WallRenderer, WallState, box

    assert all((JOINT_NAMES, Pose, TaskDynamics, TauDevice, TauState, push_signal, run_push, stiffest_push))
    assert all((MovingPlanes, Plane, WallRenderer, WallState, box))


def test_unknown_names_are_still_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'no_such_module'"):
        _ = tau_wall_control.no_such_module
