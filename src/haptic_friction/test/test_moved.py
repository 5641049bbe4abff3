"""Old paths and names of modules give what is at the new ones, with a warning."""

from __future__ import annotations

import importlib
import sys

import pytest

from haptic_friction import load, partners
from haptic_friction._moved import MOVED


@pytest.mark.parametrize("name", MOVED)
def test_old_path_of_a_module_gives_the_new_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = f"haptic_friction.{name}", f"haptic_friction.{MOVED[name]}"
    monkeypatch.delitem(sys.modules, old, raising=False)
    with pytest.warns(DeprecationWarning, match=f"^{old} has moved; use {new}$"):
        module = importlib.import_module(old)
    assert module is importlib.import_module(new)


def test_old_name_gives_the_new_one() -> None:
    with pytest.warns(
        DeprecationWarning,
        match=r"press has moved; use haptic_friction\.load\.total_normal_force$",
    ):
        assert load.press is load.total_normal_force
    with pytest.warns(
        DeprecationWarning,
        match=r"share_of_tool has moved; use haptic_friction\.partners\.tool_force_factor$",
    ):
        assert partners.share_of_tool is partners.tool_force_factor
    with pytest.raises(AttributeError, match=r"module 'haptic_friction\.load' has no attribute 'nothing'"):
        load.nothing  # noqa: B018
