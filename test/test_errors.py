"""Everything a user can get wrong on the command line: one clear line each, the right exit code, no traceback."""

from __future__ import annotations

import math
import pickle
import re
import subprocess
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from machine_speed import limit
from started_runs import HAPTICS, wait_until

from convex_contact import BatchError, ConvergenceError
from haptic_core.errors import InputError, ParameterError, shortened
from haptic_core.parameters import check_all, load_parameter_specs
from tau_wall_control import UnreachableError

ARGS = "see ./haptics run EXPERIMENT --show-args"


def haptics(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    options = {"capture_output": True, "text": True, "stdin": subprocess.DEVNULL}
    return subprocess.run([*HAPTICS, *words], cwd=folder, timeout=limit(200.0), **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "message", "advice"),
    [
        (("run", "nonsense"), 2, "experiment 'nonsense' is unknown, expected one of: arm_", "see ./haptics list"),
        (("run", "friction_impedance", "stifness:=1.0"), 2, "argument 'stifness' is unknown, expected one of: ", ARGS),
        (
            ("run", "friction_impedance", "mode:=fast"),
            2,
            "argument mode: expected one of lockstep, realtime, got 'fast'",
            ARGS,
        ),
        (
            ("run", "friction_impedance", "friction_force:=abc"),
            2,
            "argument friction_force: expected a number, got 'abc'",
            ARGS,
        ),
        (("run", "friction_impedance", "mode=lockstep"), 2, "argument 'mode=lockstep': expected name:=value", ARGS),
        (("report", "nowhere"), 1, "nowhere: no run and no bag", ""),
        (
            ("bench", "nonsense"),
            2,
            "benchmark 'nonsense' is unknown, expected one of: applications, batch, constraints",
            "docs/benchmarks.md",
        ),
    ],
)
def test_a_mistake_on_the_command_line_is_one_line_and_a_hint(
    tmp_path: Path, words: tuple[str, ...], code: int, message: str, advice: str
) -> None:
    done = haptics(tmp_path, *words)
    assert done.returncode == code
    error, hint = done.stderr.strip().splitlines()
    assert error.startswith(f"error: {message}")
    assert hint.startswith(f"  hint: {advice}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("node", "name", "value", "expected"),
    [
        ("haptic_friction.friction_node", "stiffness", -1.0, "expected from 1 to 1e+15 [N/m], got -1.0"),
        ("haptic_friction.friction_node", "friction_force", math.nan, "expected finite [N], got nan"),
        ("haptic_devices.device_node", "seed", -3, "expected from 0 to 2.14748e+09 [-], got -3"),
        ("haptic_devices.device_node", "seed", 1.5, "expected int [-], got 1.5"),
    ],
)
def test_a_value_that_a_node_cannot_use_is_named(node: str, name: str, value: float, expected: str) -> None:
    package, file = node.split(".")
    specs = load_parameter_specs(resources.files(package) / f"{file}.yaml")
    with pytest.raises(ParameterError, match=rf"^parameter {name}: {re.escape(expected)}$"):
        check_all({name: specs[name]}, {name: value})


@pytest.mark.experiment
def test_a_second_device_in_the_same_domain_is_refused(start) -> None:
    first = start("command_delay_ticks:=0", "pace:=0.1", "duration:=1000.0")
    wait_until(first.is_running)
    second = start("command_delay_ticks:=0", "record:=false")
    assert second.finish() == 1
    assert "another device already publishes /joystick/device_state" in second.text


@pytest.mark.parametrize(
    "error",
    [
        ConvergenceError("it stands", velocity=np.array([1.0, 2.0]), iterations=3, residual=0.1, tolerance=1e-5),
        BatchError(4, ValueError("no such body")),
        UnreachableError("out of reach", 2),
        InputError("tick", "tick 3: expected 4"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_of_another_process_arrives_whole(error: Exception) -> None:
    arrived = pickle.loads(pickle.dumps(error))
    assert type(arrived) is type(error) and str(arrived) == str(error)
    assert repr(vars(arrived)) == repr(vars(error))


class CountedEntry:
    """An entry that counts how often its repr is made."""

    made = 0

    def __repr__(self) -> str:
        CountedEntry.made += 1
        return "entry"


def test_error_makes_no_more_of_a_value_s_repr_than_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CountedEntry, "made", 0)
    bomb: list[Any] = [CountedEntry()] * 10
    for _ in range(8):  # 1e9 entries, as a few aliases of YAML give
        bomb = [bomb] * 10
    assert shortened(bomb).startswith("[[[[[[[[[entry, entry, ") and len(shortened(bomb)) == 203
    assert 0 < CountedEntry.made < 100
    itself: list[Any] = []
    itself.append(itself)
    assert shortened(itself) == "[" * 200 + "..."


@pytest.mark.parametrize(
    "value",
    [
        1,
        -2.5,
        True,
        None,
        "a'b",
        b"x",
        [],
        (),
        {},
        [1, "a"],
        (1,),
        (1, 2),
        {"a": [1, {"b": ()}], 2: None},
        "x" * 300,
        {3},
    ],
)
def test_shortened_value_is_its_repr_up_to_the_length(value: object) -> None:
    text = repr(value)
    assert shortened(value) == (text if len(text) <= 200 else f"{text[:200]}...")


def test_integer_that_python_refuses_to_print_is_described() -> None:
    assert shortened([10**5000]) == "[an integer of 16610 bits]"
