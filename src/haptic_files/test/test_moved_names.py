"""Names that are in another module now: a folder or a plain module gives them with a warning."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from haptic_files.moved_modules import RenamedMember, names_of_moved_module


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A plain module, without a `__path__`, whose name `stiffness` is in another module now."""
    old, new = ModuleType("old_place"), ModuleType("new_place")
    monkeypatch.setitem(sys.modules, "old_place", old)
    monkeypatch.setitem(sys.modules, "new_place", new)
    setattr(new, "stiffness", 4.0)  # noqa: B010  # ModuleType has no such attribute
    setattr(old, "__getattr__", names_of_moved_module("old_place", "new_place"))  # noqa: B010
    return old


def test_a_plain_module_gives_names_that_are_in_another_one(modules: ModuleType) -> None:
    with pytest.warns(DeprecationWarning, match="new_place.stiffness"):
        assert modules.stiffness == 4.0


@pytest.mark.parametrize("name", ["damping", "__path__", "__wrapped__"])
def test_a_name_that_is_in_neither_is_an_attribute_error(modules: ModuleType, name: str) -> None:
    with pytest.raises(AttributeError, match=name):
        getattr(modules, name)


class Tank:
    level = 0.0

    def fill(self) -> float:
        self.level = 1.0
        return self.level

    top_up = RenamedMember("fill")


def test_the_old_name_of_a_method_calls_the_present_one_with_a_warning() -> None:
    tank = Tank()
    with pytest.warns(DeprecationWarning, match=r"Tank\.top_up has moved; use Tank\.fill"):
        assert tank.top_up() == 1.0
    assert tank.level == 1.0
    with pytest.warns(DeprecationWarning, match=r"Tank\.fill"):
        assert Tank.top_up(tank) == 1.0
