"""Writers of tables: CSV, Parquet and MAT. A file is written under a temporary name and renamed when it is complete."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from haptic_bags.bags import BagError

if TYPE_CHECKING:
    import pandas

#: longest name of a variable or field in MATLAB [characters]
_LONGEST_NAME = 63
_KEYWORD = re.compile(
    "break|case|catch|classdef|continue|else|elseif|end|for|function|global|if|otherwise|parfor|persistent|return|spmd"
    "|switch|try|while"
)


@contextmanager
def required(purpose: str) -> Iterator[None]:
    """Converts a failed import inside the context to an error that names the missing package.

    Args:
        purpose: subject of the error, as "a MAT file".

    Raises:
        BagError: An import inside the context finds no module.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        raise BagError(f"{purpose} needs the package {package}", f"pip install {package}, or ./haptics setup") from None


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Yields a temporary path beside a file; its content replaces the file at the end, unless an error is raised.

    Raises:
        BagError: The file cannot be written.
    """
    part = path.with_name(f".{path.name}.part")
    try:
        part.touch()
        yield part
        part.replace(path)
    except OSError as error:
        problem = error.strerror or type(error).__name__
        raise BagError(
            f"{path}: cannot be written: {problem}", "check the folder, its permissions and the free space"
        ) from None
    finally:
        with suppress(OSError):  # renamed, or never created
            part.unlink()


def write_csv(frame: pandas.DataFrame, path: Path) -> None:
    """Writes a data frame as CSV; numbers have the digits that reproduce them, lists are JSON."""
    ragged = [name for name in frame if frame[name].dtype == object and not isinstance(frame[name].iloc[0], str)]
    texts = {name: [json.dumps(np.asarray(cell).tolist()) for cell in frame[name]] for name in ragged}
    frame.assign(**texts).to_csv(path, na_rep="nan", lineterminator="\n")


def write_parquet(frame: pandas.DataFrame, path: Path) -> None:
    """Writes a data frame as Parquet; lists stay lists, `attrs` are kept."""
    with required("a Parquet file"):
        import pyarrow  # noqa: F401
    frame.to_parquet(path, engine="pyarrow")


def write_mat(
    topics: Mapping[str, Mapping[str, Any]], units: Mapping[str, Mapping[str, tuple[str, ...]]], path: Path
) -> None:
    """Writes a MAT file (version 5): a struct for each topic, and the structs `topics` and `units`.

    Args:
        topics: columns by topic.
        units: units of the components by topic and field; a single one holds for all.
        path: path of the file.
    """
    with required("a MAT file"):
        from scipy.io import savemat
    names = identifiers(["topics", "units", *topics])
    content: dict[str, Any] = {"topics": {names[topic]: topic for topic in topics}, "units": {}}
    for topic, columns in topics.items():
        fields = identifiers(columns)
        content[names[topic]] = {fields[name]: _matlab(values) for name, values in columns.items()}
        content["units"][names[topic]] = {
            fields[name]: found[0] if len(found) == 1 else np.array(found, dtype=object)
            for name, found in units[topic].items()
            if name in fields
        }
    savemat(path, content, appendmat=False, long_field_names=True, oned_as="column")


def identifiers(names: Iterable[str]) -> dict[str, str]:
    """Chooses a unique MATLAB identifier for each name: /joystick/friction/state becomes joystick_friction_state."""
    chosen: dict[str, str] = {}
    for name in names:
        word = re.sub(r"\W", "_", name, flags=re.ASCII).lstrip("_")[:_LONGEST_NAME]
        if not word[:1].isalpha() or _KEYWORD.fullmatch(word):
            word = f"x_{word}"[:_LONGEST_NAME]
        base = word
        number = 2
        while word in chosen.values():
            word = f"{base[: _LONGEST_NAME - 1 - len(str(number))]}_{number}"
            number += 1
        chosen[name] = word
    return chosen


def _matlab(values: Any) -> Any:
    """Converts a column for MATLAB: numbers to (n, k), texts and lists of unequal length to cells (n, 1)."""
    if isinstance(values, np.ndarray) and values.dtype.kind != "U":
        return values
    if isinstance(values, np.ndarray):
        return values.astype(object)
    cells = np.empty((len(values), 1), dtype=object)
    for cell, value in zip(cells, values, strict=True):
        cell[0] = np.array(value, dtype=object) if isinstance(value, list) else value
    return cells
