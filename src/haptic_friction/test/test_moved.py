"""Old paths and names of modules give what is at the new ones, with a warning."""

from __future__ import annotations

import importlib
import sys

import pytest

from haptic_friction import load, moved


@pytest.mark.parametrize("old", moved.MODULES)
def test_old_path_of_a_module_gives_the_new_one(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, old, raising=False)
    with pytest.warns(DeprecationWarning, match=f"^{old} has moved to {moved.MODULES[old]}$"):
        module = importlib.import_module(old)
    assert module is importlib.import_module(moved.MODULES[old])


def test_old_name_gives_the_new_one() -> None:
    with pytest.warns(DeprecationWarning, match=r"^haptic_friction\.load\.press is now total_normal_force$"):
        assert load.press is load.total_normal_force
    with pytest.raises(AttributeError, match=r"module 'haptic_friction\.load' has no attribute 'nothing'"):
        load.nothing  # noqa: B018
