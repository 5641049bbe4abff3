"""YAML documents with the lines of their fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from haptic_files.fast_yaml import DocumentError, load_yaml, root_and_value
from haptic_files.reading import FileError, read_text

#: cause by exception; PyYAML's own texts quote the document
_CAUSES: tuple[tuple[type[Exception], str], ...] = (
    (yaml.reader.ReaderError, "a character that YAML does not allow"),
    (yaml.scanner.ScannerError, "expected a YAML token (check quotes, colons and special characters)"),
    (yaml.parser.ParserError, "expected a YAML structure (check indentation, brackets and commas)"),
    (yaml.composer.ComposerError, "expected one document, whose aliases have anchors"),
    (
        yaml.constructor.ConstructorError,
        "a tag, key or value that cannot be constructed, such as an impossible date or an integer of over 4300 digits",
    ),
    (RecursionError, "nested too deeply"),
)


class _Loader(yaml.SafeLoader):
    """SafeLoader that reports the line of a value that cannot be constructed."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)  # type: ignore[no-untyped-call]
        except (yaml.YAMLError, RecursionError):
            raise
        except Exception:  # PyYAML raises ValueError, AttributeError and others for malformed scalars
            raise yaml.constructor.ConstructorError(None, None, None, node.start_mark) from None


@dataclass(frozen=True)
class YamlDocument:
    """A YAML document.

    Attributes:
        name: name of the document in errors.
        value: value of the document, as `yaml.safe_load` returns it.
        root: node of the document; None if it is empty.
    """

    name: str
    value: Any
    root: yaml.Node | None

    def line(self, location: Sequence[str | int]) -> int:
        """Finds the line, from 1, of the innermost field of a location that the document has."""
        node, mark = self.root, self.root.start_mark if self.root is not None else None
        for step in location:
            if isinstance(node, yaml.MappingNode):
                found = next(((key, value) for key, value in node.value if key.value == str(step)), None)
                if found is None:
                    break
                mark, node = found[0].start_mark, found[1]
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
                node = node.value[step]
                mark = node.start_mark
        return mark.line + 1 if mark is not None else 1


def read_yaml(path: str | Path) -> YamlDocument:
    """Reads a YAML file.

    Raises:
        FileError: as for `read_text`, or as for `parse_yaml`; the message has line and column.
    """
    return parse_yaml(read_text(path), str(path))


def parse_yaml(text: str, name: str) -> YamlDocument:
    """Reads a YAML text.

    Args:
        text: text of the document.
        name: name of the document in errors.

    Raises:
        FileError: the text is not YAML, or is refused; the message has line and column.
    """
    try:
        root, value = load_yaml(text, yaml.CSafeLoader, _Loader, root_and_value)
    except (yaml.YAMLError, RecursionError) as error:
        raise FileError(f"{name}: {describe_yaml_error(error, text)}") from None
    return YamlDocument(name, value, root)


def describe_yaml_error(error: Exception, text: str) -> str:
    """Describes a YAML error by line, column and cause, without the quotes of the text in PyYAML's message."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark is not None else ""
    if isinstance(error, yaml.reader.ReaderError):
        where = f"line {text.count(chr(10), 0, error.position) + 1}: "
    if isinstance(error, DocumentError):
        return f"{where}{error.problem}"
    cause = next((cause for kind, cause in _CAUSES if isinstance(error, kind)), "a value that cannot be constructed")
    return f"not YAML: {where}{cause}"
