"""No file, however damaged, ends in a traceback or in half a result; the long version is a study."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from convex_contact.model.world_source import open_world
from haptic_bags.bags import Bag
from haptic_bags.recording import Recording
from haptic_core.errors import HapticError, ParameterError
from haptic_core.parameters import load_parameter_specs, parse_entries
from haptic_devices.device import load_parameters
from haptic_devices.joystick import JoystickParameters
from haptic_devices.scripted import load_script
from haptic_experiments.report import write_report
from haptic_launch.experiments import read_experiment
from haptic_launch.launch_file import LaunchFileError, load_launch_file
from haptic_verification.fuzz.files import FoundError, Reader, kinds_of, read_spoilt, tried
from haptic_verification.fuzz.readers import URDF, all_readers, small_bag
from tau_wall_control import TauDevice

NAMES = (
    *("device joystick", "device five_bar", "device cobotic_hand_controller", "device hand", "device spatial_hand"),
    *("device tau", "parameter file", "world", "world with entries", "script", "experiment", "launch file"),
    *("law table", "script table", "URDF", "gains"),
    *("bag, report, .mcap", "bag, report, .yaml", "bag, replay, .mcap", "bag, replay, .yaml"),
)
#: a text of each kind and a bag, which the tests without --all are about
SAMPLE = ("device spatial_hand", "parameter file", "script table", "experiment", "bag, report, .yaml")
#: what YAML's own reader fails at with something else than a YAMLError, or not at all
NO_YAML = {"date": "a: 2020-13-45\n", "deep": "a: " + "[" * 600, "bytes": b"a: \xff\xfe\n", "null byte": "a: \0\n"}
each_no_yaml = pytest.mark.parametrize("content", NO_YAML.values(), ids=NO_YAML.keys())


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Reader]:
    return all_readers(tmp_path_factory.mktemp("good"))


def test_every_reader_is_tried(known: dict[str, Reader]) -> None:
    assert tuple(known) == NAMES


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name if name in SAMPLE else pytest.param(name, marks=pytest.mark.fuzz) for name in NAMES]
)
def test_a_damaged_file_is_refused_in_one_line_or_read(
    name: str, known: dict[str, Reader], tmp_path_factory: pytest.TempPathFactory
) -> None:
    reader = known[name]
    outcomes: set[str] = set()
    if not name.startswith("bag"):
        assert tried(reader, reader.good, "the good one") == "read"

    @settings(max_examples=20)
    @given(st.sampled_from(kinds_of(reader)), st.integers(0, 2**32))
    def holds(kind: str, seed: int) -> None:
        outcomes.add(read_spoilt(reader, kind, seed, tmp_path_factory.mktemp("spoilt")))

    holds()
    assert "refused" in outcomes


#: a text that no file of the suite has
CANARY = "canary_7310457"
#: readers of the files that a parameter of a node names
OF_PARAMETERS = [name for name in NAMES if not name.startswith(("bag", "parameter file", "launch file", "gains"))]


def with_canary(text: str, line: int) -> Iterator[str]:
    """The text with a canary in the place of a line, of its values and of its keys."""
    lines = text.splitlines()
    old = lines[line]
    values = [found.span() for found in re.finditer(r"(?<=[:=,\[\"'>{]) ?[-+\w./]+", old)][:4]
    keys = [found.span() for found in re.finditer(r"\b[A-Za-z_]\w*(?=[:=])", old)][:4]
    for start, end in (*values, *keys, (0, len(old))):
        lines[line] = f"{old[:start]} {CANARY}{old[end:]}" if start else f"{CANARY}{old[end:]}"
        yield "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    "name",
    [name if name in (*SAMPLE, "law table") else pytest.param(name, marks=pytest.mark.fuzz) for name in OF_PARAMETERS],
)
def test_no_reader_quotes_a_text_of_its_file(name: str, known: dict[str, Reader], tmp_path: Path) -> None:
    reader = known[name]
    text = reader.good.read_text()
    lines = [number for number, line in enumerate(text.splitlines()) if line.strip() and line.strip()[0] != "#"]
    path = tmp_path / f"file{''.join(reader.good.suffixes)}"
    refused = 0
    for line in lines[:: max(1, len(lines) // 12)]:
        for changed in with_canary(text, line):
            path.write_text(changed)
            try:
                with np.errstate(all="ignore"):
                    reader.read(path)
            except reader.errors as error:
                refused += 1
                assert CANARY not in str(error), changed
    assert refused


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.slow
@each_no_yaml
def test_invalid_yaml_is_refused_with_the_file_s_name(content: str | bytes, tmp_path: Path) -> None:
    path = write(tmp_path / "mine.launch.yaml", content)
    for read, error in (
        (lambda: load_parameters(JoystickParameters, path), ParameterError),
        (lambda: TauDevice.from_file(path), ValueError),
        (lambda: load_parameter_specs(path), ParameterError),
        (lambda: open_world(str(path)), ValueError),
        (lambda: open_world(str(path), {"bodies.a.mass": 1.0}), ValueError),
        (lambda: read_experiment(path), HapticError),
        (lambda: load_launch_file(path), LaunchFileError),
    ):
        with pytest.raises(error, match=r"mine\.launch\.yaml") as caught:
            read()
        assert "\n" not in str(caught.value)


def test_an_entry_of_no_yaml_is_refused() -> None:
    with pytest.raises(ParameterError, match="the value is not YAML"):
        parse_entries(["a=" + "[" * 600])
    for text in ("[" * 600, "2020-13-45"):
        with pytest.raises(ValueError, match=r"not YAML|YAML"):
            TauDevice.from_file(None, [f"control.sample_time={text}"])


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("{type: 1.5, default_value: 1, description: 'x [-]'}", "type: expected a text, got 1.5"),
        ("{type: int, default_value: 1, description: 7}", "description: expected a text, got 7"),
        ("{type: int, default_value: 1, description: 'x [-]', validation: [1]}", "validation: expected validators"),
        (
            "{type: int, default_value: 1, description: 'x [-]', validation: {'gt<>': 3}}",
            "expected validators with lists",
        ),
        ("{type: int, default_value: 1, description: 'x [-]', validation: {'gt<>': []}}", "validation: "),
        ("{type: int, default_value: 1, description: 'x [-]', validation: {'gt<>': [a]}}", "validation: "),
        ("{type: int, default_value: 1, description: 'x [-]', 1: 2, x: 3}", "unknown key 1"),
        ("{type: int, default_value: a, description: 'x [-]'}", "parameter gain: expected int"),
    ],
)
def test_a_declaration_that_cannot_be_is_refused_with_file_and_name(entry: str, told: str, tmp_path: Path) -> None:
    path = write(tmp_path / "mine.yaml", f"node:\n  gain: {entry}\n")
    with pytest.raises(ParameterError, match=r"^mine\.yaml: .*gain") as caught:
        load_parameter_specs(path)
    assert told in str(caught.value)


def test_a_parameter_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"none\.yaml: cannot be read: No such file"):
        load_parameter_specs(tmp_path / "none.yaml")


def test_long_value_is_shortened_in_the_error(tmp_path: Path) -> None:
    path = write(tmp_path / "long.csv", "time,velocity_0\n0.0," + "9" * 5000 + "x\n")
    with pytest.raises(ParameterError, match="line 2") as caught:
        load_script(path)
    assert len(str(caught.value)) < 500


def test_a_script_of_numbers_that_no_device_has_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "far.csv", "time,velocity_0\n0.0,1e308\n0.1,-1e308\n")
    with pytest.raises(ParameterError, match=r"far\.csv: velocity: expected finite numbers below 1e"):
        load_script(path)


def test_a_shape_that_cannot_be_is_refused_with_the_urdf_s_name(tmp_path: Path) -> None:
    from convex_contact.model.world import World

    path = write(tmp_path / "flat.urdf", URDF.replace('size="0.1 0.1 0.2"', 'size="-1 0.1 0.2"'))
    with pytest.raises(ValueError, match=r"^arm: flat\.urdf: .*size"):
        World().add_urdf("arm", path)


def test_a_urdf_takes_no_text_from_another_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Neither the parser of Pinocchio nor Python's expands an entity of a file."""
    from convex_contact.model.world import World

    write(tmp_path / "secret", "hidden")
    entity = f'<!DOCTYPE robot [<!ENTITY x SYSTEM "file://{tmp_path}/secret">]><robot name="arm">&x;'
    path = write(tmp_path / "x.urdf", URDF.partition("?>")[2].strip().replace('<robot name="arm">', entity))
    world = World()
    try:
        world.add_urdf("arm", path)
    except ValueError as error:
        assert "hidden" not in str(error)
    assert "hidden" not in "".join(capfd.readouterr()) and all("hidden" not in body.name for body in world.bodies)


@pytest.mark.parametrize(
    "tag", ["!!python/object/apply:os.mkdir [TARGET]", "!!python/name:os.system", "!!python/module:os"]
)
def test_no_file_runs_code(tag: str, tmp_path: Path) -> None:
    target = tmp_path / "made"
    code = f"!!python/{tag.replace('TARGET', str(target))}"
    path = write(tmp_path / "mine.launch.yaml", f"launch: {code}\n")
    reads: list[Any] = [
        lambda: load_parameters(JoystickParameters, path),
        lambda: TauDevice.from_file(path),
        lambda: load_parameter_specs(path),
        lambda: open_world(str(path)),
        lambda: read_experiment(path),
        lambda: load_launch_file(path),
        lambda: parse_entries([f"a={code}"]),
    ]
    for read in reads:
        with pytest.raises((HapticError, ValueError, LaunchFileError)):
            read()
    assert not target.exists()


@pytest.mark.slow
@pytest.mark.parametrize("custom", ["7", "[1]", "{experiment: 7}", "{1: x}"])
def test_custom_data_of_a_bag_that_is_no_text_is_refused(custom: str, tmp_path: Path) -> None:
    bag = small_bag(tmp_path / "bag")
    path = bag / "metadata.yaml"
    document = yaml.safe_load(path.read_text())
    document["rosbag2_bagfile_information"]["custom_data"] = yaml.safe_load(custom)
    path.write_text(yaml.safe_dump(document))
    for read in (Bag, Recording.read):
        with pytest.raises(HapticError, match="custom_data: expected texts by name"):
            read(bag)


def test_a_report_of_a_bag_that_it_cannot_use_is_an_error_of_one_line(tmp_path: Path) -> None:
    from rich.console import Console

    small_bag(tmp_path / "bag")
    with pytest.raises(HapticError, match=r"(nothing recorded on|cannot use what was recorded)") as caught:
        write_report(tmp_path, Console())
    assert "\n" not in str(caught.value)


def test_the_readers_errors_are_looked_at(tmp_path: Path) -> None:
    def fails(error: Exception) -> Reader:
        def read(path: Path) -> None:
            raise error

        return Reader("own", tmp_path, read, (ValueError,))

    for error, told in (
        (KeyError("x"), "raised KeyError"),
        (ValueError("a\nb"), "expected one line"),
        (ValueError("wrong"), "expected the file's name"),
    ):
        with pytest.raises(FoundError, match=told):
            tried(fails(error), tmp_path / "file.yaml", "x")
    assert tried(fails(ValueError("file.yaml: wrong")), tmp_path / "file.yaml", "x") == "refused"
