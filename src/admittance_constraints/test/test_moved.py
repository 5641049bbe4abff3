"""Modules that have moved into folders can still be imported from their old paths."""

from __future__ import annotations

import importlib
import sys

import pytest

import admittance_constraints
from admittance_constraints._moved import MOVED

PACKAGE = "admittance_constraints"


@pytest.mark.parametrize("name", MOVED)
def test_old_path_gives_the_moved_module_and_warns(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, f"{PACKAGE}.{name}", raising=False)
    with pytest.warns(DeprecationWarning, match=f"^{PACKAGE}.{name} has moved; use {PACKAGE}.{MOVED[name]}$") as caught:
        module = importlib.import_module(f"{PACKAGE}.{name}")
    assert module is importlib.import_module(f"{PACKAGE}.{MOVED[name]}")
    assert len(caught) == 1


def test_moved_module_is_an_attribute_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(admittance_constraints, "kernels", raising=False)
    with pytest.warns(DeprecationWarning, match="kernels has moved") as caught:
        from admittance_constraints import kernels
    assert kernels.__name__ == "admittance_constraints.dynamics.kernels"
    assert [warning.filename for warning in caught] == [__file__]


def test_unknown_module_is_an_import_error() -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(f"{PACKAGE}.no_such_module")
    with pytest.raises(AttributeError, match="module 'admittance_constraints' has no attribute 'no_such_module'"):
        admittance_constraints.no_such_module  # noqa: B018
