"""./haptics export: a file, what it lacks, and one line for each mistake."""

from __future__ import annotations

from pathlib import Path

import pandas
import pytest
from replay_bags import a_run, write_bag

from haptic_bringup.cli import main

DEVICE = "/joystick/device_state"


@pytest.fixture
def bag(tmp_path: Path) -> Path:
    return write_bag(tmp_path / "run" / "bag", a_run(answered=range(4)), experiment="friction_impedance")


def export(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    """Runs the command; returns its exit code."""
    monkeypatch.setattr("sys.argv", ["haptics", "export", *map(str, words)])
    with pytest.raises(SystemExit) as caught:
        main()
    return int(caught.value.code or 0)


def test_run_becomes_a_file_and_what_it_lacks_is_reported(
    bag: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.parquet"
    file.write_text("old")
    assert export(monkeypatch, bag.parent, file) == 0
    frame = pandas.read_parquet(file)
    assert frame.index.tolist() == [0, 1, 2, 3]
    assert frame[f"{DEVICE}.joint_position[0]"].tolist() == [0.1 * k for k in range(4)]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"wrote {file}"
    assert f"  without {DEVICE}: 1 of 5 messages, at ticks that not all topics have" in lines
    assert f"  without {DEVICE}.joint_velocity: empty in every message" in lines
    assert "  without /joystick/tick_event: at some ticks only" in lines


def test_topics_can_be_chosen(bag: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert export(monkeypatch, bag, tmp_path / "one.csv", "--topic", DEVICE) == 0
    assert len(pandas.read_csv(tmp_path / "one.csv")) == 5
    words = ("--topic", DEVICE, "--topic", "/joystick/device_command")
    assert export(monkeypatch, bag, tmp_path / "two.csv", *words) == 0
    assert len(pandas.read_csv(tmp_path / "two.csv")) == 4


@pytest.mark.parametrize(
    ("run", "file", "words", "message"),
    [
        ("bag", "x.xls", (), "x.xls: expected a file that ends in .csv, .parquet, .mat"),
        ("bag", "x.csv", ("--topic", "/a"), f"no topic /a, expected one of: /joystick/tick_event, {DEVICE}, "),
        ("bag", "nowhere/x.csv", (), "nowhere/x.csv: cannot be written: No such file or directory"),
        ("nowhere", "x.csv", (), "nowhere: no such bag"),
    ],
)
def test_mistakes_are_one_line_and_a_hint(
    bag: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    run: str,
    file: str,
    words: tuple[str, ...],
    message: str,
) -> None:
    folder = bag.parent
    assert export(monkeypatch, folder / run, folder / file, *words) == 1
    lines = capsys.readouterr().err.splitlines()
    assert (
        len(lines) == 2 and lines[0].startswith("error: ") and message in lines[0] and lines[1].startswith("  hint: ")
    )
    assert sorted(path.name for path in folder.iterdir()) == ["bag"]


def test_suffix_is_refused_before_the_bag_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export(monkeypatch, tmp_path / "nowhere", tmp_path / "x.xls") == 1
    assert capsys.readouterr().err.startswith(f"error: {tmp_path / 'x.xls'}: expected a file that ends in .csv, ")


@pytest.mark.parametrize("words", [("-h",), ("run", "-h"), ("export", "-h"), ("bench", "--help"), ("test", "--help")])
def test_help_has_a_short_option(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["haptics", *words])
    with pytest.raises(SystemExit) as caught:
        main()
    assert (caught.value.code or 0) == 0 and "Usage: ./haptics" in capsys.readouterr().out


def test_short_option_of_a_benchmark_goes_to_the_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[list[str]] = []
    monkeypatch.setattr("subprocess.call", lambda command, **_: called.append(command) or 0)
    monkeypatch.setenv("HAPTICS_ROOT", str(Path(__file__).parents[3]))
    for words in (["bench", "loop", "-h"], ["test", "-h"]):
        monkeypatch.setattr("sys.argv", ["haptics", *words])
        with pytest.raises(SystemExit):
            main()
    assert [command[-1] for command in called] == ["-h", "-h"]
