"""Descriptions of the errors of a pydantic model in a YAML document."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import BaseModel, ValidationError

from haptic_files.reading import kind_of
from haptic_files.yaml_documents import YamlDocument

#: errors with a text of the suite's own models
_OWN = ("value_error", "assertion_error")
#: errors about a field that a model, or a dataclass, does not have
_UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")


def describe_refusal(error: ValidationError, model: type[BaseModel], document: YamlDocument) -> str:
    """Describes the first error by line, field, expectation and kind of the value found.

    A field is named only if the model has it, because the name of an unknown field is content of the file. An unknown
    field comes before a missing one beside it, because the line of a misspelt name is the one to change.

    Args:
        error: error of the model.
        model: model that refused the document.
        document: refused document.
    """
    errors = error.errors()
    first, more = errors[0], len(errors) - 1
    if first["type"] == "missing":
        beside = first["loc"][:-1]
        first = next((e for e in errors if e["type"] in _UNKNOWN and e["loc"][:-1] == beside), first)
    known = _known_fields(model)
    location, shown = _location(first["loc"], document.value, missing=first["type"] == "missing")
    field = ".".join(str(step) if isinstance(step, int) or step in known else "*" for step in shown)
    kind = first["type"]
    if kind in _UNKNOWN:
        text, got = "unknown field", ""
        field = ".".join(field.split(".")[:-1])
    else:
        text = first["msg"].removeprefix("Value error, ")
        if kind == "union_tag_invalid":  # its text quotes the tag
            text = f"Input should be of one of the types {first['ctx']['expected_tags']}"
        text = text[:1].lower() + text[1:]
        has_value = kind != "missing" and kind not in _OWN
        got = f", got {kind_of(first['input'])}" if has_value else ""
    place = f"line {document.line(location)}: {field + ': ' if field else ''}"
    return f"{document.name}: {place}{text}{got}{f' (and {more} more)' if more else ''}"


def withhold(message: str, texts: Iterable[str]) -> str:
    """Replaces texts of a document in an error message by an asterisk.

    A text of one or two characters is replaced in quotes and before a colon only, because elsewhere it may be a word.
    """
    for text in sorted(filter(None, set(texts)), key=len, reverse=True):
        word = re.escape(text)
        pattern = rf"(?<!\w){word}(?!\w)" if len(text) > 2 else rf"(?<=['\"]){word}(?=['\"])|(?<!\w){word}(?=[:/])"
        message = re.sub(pattern, "*", message)
    return message


def texts_of(value: Any, model: type[BaseModel]) -> set[str]:
    """Collects all texts of a document, keys included, that do not occur in the model's schema."""
    schema = _schema_text(model)
    return {text for text in _texts(value) if json.dumps(text) not in schema}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, (list, tuple)):
        for entry in value:
            yield from _texts(entry)
    elif isinstance(value, str):
        yield value


def _location(steps: tuple[str | int, ...], value: Any, missing: bool) -> tuple[list[str | int], list[str | int]]:
    """Selects the steps of a location that lead through the document; also returns them with a missing field.

    The other steps are names of alternatives within the model, such as the tag of a union.
    """
    found: list[str | int] = []
    for step in steps:
        has_field = isinstance(value, dict) and step in value
        if has_field or (isinstance(value, (list, tuple)) and isinstance(step, int) and step < len(value)):
            value = value[step]
            found.append(step)
    return found, [*found, steps[-1]] if missing and steps else found


@functools.cache  # the schema of a world file takes 20 ms
def _known_fields(model: type[BaseModel]) -> set[str]:
    """Returns the names of all fields of a model and of the models within it."""
    return _field_names(model.model_json_schema())


@functools.cache
def _schema_text(model: type[BaseModel]) -> str:
    """Returns the JSON schema of a model as text."""
    return json.dumps(model.model_json_schema())


def _field_names(schema: Any) -> set[str]:
    """Collects the names of all fields of a JSON schema."""
    if isinstance(schema, list):
        return set().union(*map(_field_names, schema))
    if not isinstance(schema, dict):
        return set()
    names = set(schema["properties"]) if isinstance(schema.get("properties"), dict) else set()
    return names.union(*map(_field_names, schema.values()))
