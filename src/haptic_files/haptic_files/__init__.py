"""Reads the files that a user or a parameter names, and writes small ones.

The suite opens such files only in `read_bytes`, which reads regular files of at most `MAX_SIZE` bytes and never blocks.
`read_text`, `read_yaml`, `read_archive` and `check_file` build on it; `haptic_files.schema` describes errors of a
pydantic model. No error quotes a text of a file, since nodes publish their errors to the whole ROS domain: it has the
location, the expectation and the kind of the value found. No ROS import.
"""

from typing import Any

from haptic_files.cache_folder import cache_folder
from haptic_files.entries import ParameterValues, parse_entries, with_entries
from haptic_files.fast_yaml import load_yaml
from haptic_files.listing import listed, nearest
from haptic_files.reading import (
    MAX_SIZE,
    FileError,
    check_file,
    kind_of,
    once_while_unchanged,
    read_archive,
    read_bytes,
    read_text,
)
from haptic_files.writing import naming_file, write_text
from haptic_files.yaml_documents import YamlDocument, describe_yaml_error, parse_yaml, read_yaml

__all__ = [
    "MAX_SIZE",
    "FileError",
    "ParameterValues",
    "YamlDocument",
    "cache_folder",
    "check_file",
    "describe_yaml_error",
    "kind_of",
    "listed",
    "load_yaml",
    "naming_file",
    "nearest",
    "once_while_unchanged",
    "parse_entries",
    "parse_yaml",
    "read_archive",
    "read_bytes",
    "read_text",
    "read_yaml",
    "with_entries",
    "write_text",
]


def __getattr__(name: str) -> Any:
    from haptic_files.moved_modules import version

    if name == "__version__":
        return version(__name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
