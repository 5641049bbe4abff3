"""Values for the tests that each parameter of a node acts, and a user's friction laws to be named by parameters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from haptic_core.parameters import ParameterSpec

LAWS = """from haptic_friction import FunctionLaw
def one(): return FunctionLaw(lambda s: 3.0 + s, lambda s: 1.0)
def other(): return FunctionLaw(lambda s: 4.0 + s, lambda s: 1.0)
"""


def other_values(spec: ParameterSpec, value: Any, others: Mapping[str, list[Any]]) -> list[Any]:
    """Returns values that differ from the given one and are allowed: those of `others`, choices, or twice and half.

    Raises:
        ValueError: twice the value is no other one, as that of 0.
    """
    if spec.name in others:
        return others[spec.name]
    if "one_of<>" in spec.validation:
        return [choice for choice in spec.validation["one_of<>"][0] if choice != value]
    if value * 2 == value:
        raise ValueError(f"{spec.name}: expected other values than {value!r} in OTHER of these tests")
    return [value * 2, value / 2]


def without_effect(name: str, value: Any) -> str:
    """Returns what to say of a parameter that changes nothing."""
    return f"{name} = {value!r} has no effect; CONTEXT of these tests gives the other parameters with which it acts"


def install_user_laws(
    monkeypatch: pytest.MonkeyPatch, folder: Path, module: str, functions: str = "", names: tuple[str, ...] = ()
) -> None:
    """Writes what stands for a user's laws: a module with entry points `one`, `other` and `names`, and two tables."""
    monkeypatch.syspath_prepend(str(folder))
    (folder / f"{module}.py").write_text(LAWS + functions)
    info = folder / "users_own-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: users-own\nVersion: 1.0\n")
    lines = "".join(f"{name} = {module}:{name}\n" for name in ("one", "other", *names))
    (info / "entry_points.txt").write_text(f"[haptic_laws]\n{lines}")
    (folder / "one.csv").write_text("speed,force\n0,4\n0.1,3\n")
    (folder / "other.csv").write_text("speed,force\n0,4\n0.05,3\n0.1,3.5\n")


def user_laws(
    folder: Path, module: str, which: str = "one", prefixes: tuple[str, ...] = ("", "backward_")
) -> dict[str, str]:
    """The parameters that name the user's laws, once with each prefix."""
    laws = {"law_file": str(folder / f"{which}.csv"), "law_function": f"{module}:{which}"}
    return {prefix + name: law for prefix in prefixes for name, law in laws.items()}


def other_user_laws(folder: Path, module: str) -> dict[str, list[str]]:
    """For `other_values`, the user's laws with the name `other`."""
    return {name: [law] for name, law in user_laws(folder, module, "other").items()}
