"""./haptics run EXPERIMENT --show-args: units and defaults as the launch file gives them."""

from __future__ import annotations

import pytest

from haptic_bringup.cli import console, main


def test_brackets_of_units_and_defaults_are_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    console.cache_clear()
    monkeypatch.setattr("sys.argv", ["haptics", "run", "friction_impedance", "--show-args"])
    with pytest.raises(SystemExit):
        main()
    rows = {row.split("│")[1].strip(): row for row in capsys.readouterr().out.splitlines() if row.count("│") == 4}
    console.cache_clear()
    assert "[m/s]" in rows["stribeck_velocity"] and "[kg]" in rows["mass"] and "[s]" in rows["period"]
    assert "[x, y]" in rows["axes"]


def test_names_of_arguments_are_whole_on_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    console.cache_clear()
    monkeypatch.setattr("sys.argv", ["haptics", "run", "friction_impedance", "--show-args"])
    with pytest.raises(SystemExit):
        main()
    text = capsys.readouterr().out
    console.cache_clear()
    assert "backward_stribeck_velocity" in text and "…" not in text
