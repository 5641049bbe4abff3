"""Only regular files of limited size are read, none blocks, and no error quotes what a file says."""

from __future__ import annotations

import os
import socket
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from haptic_files import (
    MAX_SIZE,
    FileError,
    check_file,
    kind_of,
    load_yaml,
    once_while_unchanged,
    parse_yaml,
    read_archive,
    read_bytes,
    read_text,
    read_yaml,
)
from haptic_files.schema import describe_refusal, texts_of, withhold

CANARY = "canary_7310457"
READERS: list[Callable[[Path], object]] = [read_bytes, read_text, read_yaml, read_archive, check_file]


def socket_at(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


MADE: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda path: None, "No such file or directory"),
    "directory": (os.mkdir, "expected a regular file, got a directory"),
    "fifo": (os.mkfifo, "expected a regular file, got a FIFO"),
    "socket": (socket_at, "expected a regular file, got a socket"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "expected a regular file, got a character device"),
    "large": (lambda path: (path.touch(), os.truncate(path, MAX_SIZE + 1)), "expected at most 64 MiB"),
    "dangling": (lambda path: path.symlink_to("nowhere"), "No such file or directory"),
}


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("kind", MADE)
def test_other_than_a_regular_file_of_limited_size_is_refused_at_once(
    kind: str, read: Callable[[Path], object], tmp_path: Path
) -> None:
    path = tmp_path / "x"
    make, expected = MADE[kind]
    make(path)
    with pytest.raises(FileError) as caught:
        read(path)
    assert str(caught.value) == f"{path}: cannot be read: {expected}"


def test_a_path_that_no_system_call_takes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"without null characters$"):
        read_bytes("a\0b")
    with pytest.raises(FileError, match=r"File name too long$"):
        read_bytes(tmp_path / ("x" * 5000))


def test_a_regular_file_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "x"
    content = os.urandom(3 * 2**20 + 1)
    path.write_bytes(content)
    assert read_bytes(path) == content
    check_file(path)
    os.truncate(path, MAX_SIZE + 1)
    check_file(path, max_size=float("inf"))


def test_a_file_without_a_size_is_read(tmp_path: Path) -> None:
    """Files of /proc have the size 0."""
    assert read_text("/proc/self/status").startswith("Name:")


def test_text_is_decoded_and_its_line_ends_unified(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\rc\n")
    assert read_text(path, encoding="utf-8-sig") == "a\nb\nc\n"
    path.write_bytes(f"a\n{CANARY}\xff\n".encode("latin-1"))
    with pytest.raises(FileError) as caught:
        read_text(path)
    assert str(caught.value) == f"{path}: not UTF-8 text: line 2"


def test_an_archive_that_unpacks_to_more_than_the_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("table.npy", "w") as entry:
        for _ in range(65):
            entry.write(bytes(2**20))
    assert path.stat().st_size < 2**20
    with pytest.raises(FileError, match=r"expected at most 64 MiB$"):
        read_archive(path)
    path.write_text(CANARY)
    with pytest.raises(FileError, match=r"x\.npz: expected a ZIP archive such as \.npz$"):
        read_archive(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"a: 1\n{CANARY}\n", "line 3, column 1: expected a YAML token"),  # a key without a colon, seen after it
        (f"a: [1, 2\nb: {CANARY}\n", "line 2, column 2: expected a YAML structure"),
        (f"a: *{CANARY}\n", "line 1, column 4: expected one document"),
        (f"a: !{CANARY} 1\n", "line 1, column 4: a tag, key or value that cannot be constructed"),
        (f"a: !!int {CANARY}\n", "line 1, column 4: a tag, key or value that cannot be constructed"),
        (f"a: !!timestamp {CANARY}\n", "line 1, column 4: a tag, key or value that cannot be constructed"),
        ("a:\n  b: 2020-13-45\n", "line 2, column 6: a tag, key or value that cannot be constructed"),
        (f"a: 1\n{CANARY}: \0\n", "line 2: a character that YAML does not allow"),
        (f"? [{CANARY}]\n: 1\n", "line 1, column 3: a tag, key or value"),
        (f"a: @{CANARY}\n", "line 1, column 4: expected a YAML token"),
        ("a: " + "[" * 600, "nested too deeply"),
    ],
)
def test_invalid_yaml_is_located_and_not_quoted(text: str, expected: str) -> None:
    with pytest.raises(FileError) as caught:
        parse_yaml(text, "x.yaml")
    message = str(caught.value)
    assert message.startswith(f"x.yaml: not YAML: {expected}")
    assert CANARY not in message and "\n" not in message


#: 2^20 values by 20 aliases
BOMB = "a0: &a0 [x]\n" + "".join(f"a{i + 1}: &a{i + 1} [*a{i}, *a{i}]\n" for i in range(20))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: &a {b: *a}", "line 1, column 4: expected no alias within the value that it stands for"),
        ("&a [1, [*a]]", "line 1, column 1: expected no alias within the value that it stands for"),
        ("a: &a {<<: *a}", "line 1, column 4: expected no alias within the value that it stands for"),
        (BOMB, "line 20, column 6: expected at most 1000000 values, with the aliases expanded"),
        (BOMB.replace("[*", "{<<: [*").replace("]\n", "]}\n").replace("[x]}", "{x: 1}"), "line 19, column "),
        ("[" * 101 + "]" * 101, "line 1, column 101: expected at most 100 levels"),
        (
            "- &a " + "[" * 60 + "]" * 60 + "\n- " + "[" * 60 + "*a" + "]" * 60,
            "line 1, column 3: expected at most 100 lev",
        ),
        ("a: 1\nb: 2\na: 3", "line 3, column 1: expected each key of a mapping once"),
        ("- {a: 1, 'a': 2}", "line 1, column 10: expected each key of a mapping once"),
    ],
)
def test_a_document_whose_values_cannot_be_used_is_located(text: str, expected: str) -> None:
    with pytest.raises(FileError, match=f"^x.yaml: {expected}"):
        parse_yaml(text, "x.yaml")
    with pytest.raises(yaml.YAMLError):
        load_yaml(text)


def test_aliases_and_merged_keys_are_expanded() -> None:
    text = "a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: [*a, *a]\nd: " + "[" * 99 + "]" * 99
    value = parse_yaml(text, "x").value
    assert value["b"] == {"x": 1, "y": 3} and value["c"] == [{"x": 1, "y": 2}] * 2


def test_document_has_the_line_of_each_field() -> None:
    document = parse_yaml("a: 1\nb:\n  - x\n  - {c: 2,\n     d: 3}\n", "x")
    assert document.value == {"a": 1, "b": ["x", {"c": 2, "d": 3}]}
    lines = [document.line(location) for location in (["a"], ["b", 0], ["b", 1, "d"], ["b", 1, "e"], ["z"], [])]
    assert lines == [1, 3, 5, 4, 1, 1]
    assert parse_yaml("", "x").value is None and parse_yaml("", "x").line(["a"]) == 1


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        *((None, "nothing"), (True, "a truth value"), (1, "a number"), (0.5, "a number")),
        *(("a", "a text of 1 character"), ("", "a text of 0 characters"), ([1, 2], "a list of 2")),
        *(({"a": 1}, "a mapping of 1"), ({1}, "a value of type set")),
    ],
)
def test_kind_of_a_value_does_not_contain_the_value(value: object, kind: str) -> None:
    assert kind_of(value) == kind


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid")
    type: Literal["ball"]
    mass: float


class Other(BaseModel):
    model_config = ConfigDict(extra="forbid")
    type: Literal["box"]


class Whole(BaseModel):
    model_config = ConfigDict(extra="forbid")
    gain: float = Field(default=1.0, gt=0.0)
    parts: list[Part] = []
    named: dict[str, Part] = {}
    either: Part | str = ""

    @field_validator("gain")
    @classmethod
    def _small(cls, value: float) -> float:
        if value > 100.0:
            raise ValueError("expected at most 100")
        return value


class Tagged(BaseModel):
    shape: Part | Other = Field(discriminator="type")


@pytest.mark.parametrize(
    ("model", "text", "expected"),
    [
        (Whole, f"\ngain: {CANARY}", "line 2: gain: input should be a valid number, .* got a text of 14 characters"),
        (Whole, "gain: -7310457", "line 1: gain: input should be greater than 0, got a number$"),
        (Whole, "gain: 7310457", "line 1: gain: expected at most 100$"),
        (Whole, f"gain: 1\n{CANARY}: 2", "line 2: unknown field$"),
        (Whole, f"parts:\n- type: ball\n  mass: 1\n  {CANARY}: 2", "line 4: parts.0: unknown field$"),
        (Whole, "parts:\n- type: ball", r"line 2: parts.0.mass: field required$"),
        (Whole, "parts:\n- type: ball\n  mas: 1", r"line 3: parts.0: unknown field \(and 1 more\)$"),
        (Whole, f"parts: [{{type: ball}}]\n{CANARY}: 1", r"line 1: parts.0.mass: field required \(and 1 more\)$"),
        (Whole, f"named:\n  {CANARY}: {{type: ball}}", r"line 2: named.\*.mass: field required$"),
        (Whole, f"parts: [{{type: {CANARY}, mass: 1}}]", r"line 1: parts.0.type: input should be 'ball', got a text"),
        (Tagged, f"shape: {{type: {CANARY}}}", "line 1: shape: input should be of one of the types 'ball', 'box', got"),
        (Tagged, f"shape: {{type: ball, mass: {CANARY}}}", "line 1: shape.mass: input should be a valid number"),
        (Whole, f"a{CANARY}: 1\nb{CANARY}: 1", r"line 1: unknown field \(and 1 more\)$"),
    ],
)
def test_a_refusal_names_line_and_field_and_quotes_nothing(model: type[BaseModel], text: str, expected: str) -> None:
    import re

    document = parse_yaml(text, "x.yaml")
    with pytest.raises(ValidationError) as caught:
        model.model_validate(document.value)
    message = describe_refusal(caught.value, model, document)
    assert re.match(f"x.yaml: {expected}", message), message
    assert CANARY not in message and "7310457" not in message and "\n" not in message


def test_texts_of_a_document_are_withheld_where_they_are_no_words_of_the_schema() -> None:
    texts = texts_of({"gain": 1, "named": {"arm_1": {"type": "ball"}}, "either": "b"}, Whole)
    assert texts == {"arm_1", "b"}
    assert withhold("arm_1/hand: no 'arm_1' in arm_10; b: a 'b' b", texts) == "*/hand: no '*' in arm_10; *: a '*' b"


def test_a_file_is_read_again_only_when_it_has_changed(tmp_path: Path) -> None:
    path, calls = tmp_path / "file.txt", []

    @once_while_unchanged
    def read(path: Path) -> str:
        calls.append(path)
        return path.read_text()

    path.write_text("one")
    assert (read(path), read(path), len(calls)) == ("one", "one", 1)
    path.write_text("longer")
    assert (read(path), len(calls)) == ("longer", 2)
    path.unlink()
    for _ in range(2):  # an error is not remembered
        with pytest.raises(FileNotFoundError):
            read(path)
