"""Old paths of modules."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [("local_topics", "transport.local_topics", "LocalTopics"), ("matching", "start.matching", "RECORDER")],
)
def test_an_old_path_is_the_module_at_the_new_one(old: str, new: str, name: str) -> None:
    sys.modules.pop(f"haptic_core.{old}", None)
    with pytest.warns(DeprecationWarning, match=rf"haptic_core\.{old} has moved; use haptic_core\.{new}"):
        module = import_module(f"haptic_core.{old}")
    assert module is import_module(f"haptic_core.{new}") and hasattr(module, name)


def test_a_path_that_never_was_is_still_missing() -> None:
    with pytest.raises(ModuleNotFoundError):
        import_module("haptic_core.nowhere")


def test_passivity_is_in_the_mathematics_that_libraries_share() -> None:
    with pytest.warns(DeprecationWarning, match=r"haptic_core\.passivity\.Port has moved; use haptic_math\.passivity"):
        from haptic_core.passivity import Port
    assert Port.__module__ == "haptic_math.passivity"


def test_old_name_of_the_observer_check_warns() -> None:
    from haptic_core import sampled_wall

    with pytest.warns(DeprecationWarning, match=r"sampled_wall\.says_passive has moved; use .*is_observed_passive"):
        assert sampled_wall.says_passive is sampled_wall.is_observed_passive
