"""MJCF files with their includes, checked against the vocabulary.

:func:`read_mjcf` puts included files in place of their `include` elements, and refuses an element or an attribute that
would change the motion and is not simulated. `MjcfDocument.notes` collects the others that are not simulated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from convex_contact.model.mjcf.vocabulary import (
    ATTRIBUTES,
    CHILDREN,
    IGNORED_ATTRIBUTES,
    IGNORED_ELEMENTS,
    NEUTRAL,
    NOTED_ATTRIBUTES,
    NOTED_ELEMENTS,
)
from convex_contact.model.xml_document import Element, XmlError, parse_xml
from haptic_files import FileError, read_bytes

#: largest number of included files
MAX_INCLUDES = 100
#: number of lines of a group of elements that a warning lists
LISTED = 3
_TAG = re.compile(r"[A-Za-z_][\w.-]{0,39}")


@dataclass
class Notes:
    """Parts of a file that are not simulated, in groups.

    Attributes:
        locations: lines of the elements of each group, by a phrase that names their kind.
    """

    locations: dict[str, list[str]] = field(default_factory=dict)

    def add(self, element: Element, part: str = "") -> None:
        """Lists an element, or a part of it."""
        phrase = f"{part} of {element.tag}" if part else element.tag
        self.locations.setdefault(phrase, []).append(element.location)

    def text(self) -> str:
        """Returns all groups in one line; empty without any."""
        groups = []
        for phrase, locations in self.locations.items():
            more = len(locations) - LISTED
            groups.append(f"{phrase} ({', '.join(locations[:LISTED])}{f' and {more} more' if more > 0 else ''})")
        return "; ".join(groups)


@dataclass
class MjcfDocument:
    """The checked elements of an MJCF file.

    Attributes:
        path: of the file.
        sections: elements in all sections of a name (`asset`, `actuator`, ...), in the order of the file; for sections
            without elements (`compiler`, `option`) the sections themselves.
        notes: parts that are not simulated.
    """

    path: Path
    sections: dict[str, list[Element]]
    notes: Notes


def read_mjcf(path: Path) -> MjcfDocument:
    """Reads and checks an MJCF file.

    Raises:
        FileError: the file cannot be read.
        XmlError: it is no MJCF, or has a part that is not supported; the message has the line, but not the file.
    """
    root = parse_xml(read_bytes(path))
    if root.tag != "mujoco":
        raise XmlError(f"line {root.line}: expected an MJCF, whose root is mujoco, got another element")
    _include(root, path, {path.resolve()})
    notes = Notes()
    _check(root, "mujoco", notes)
    document = MjcfDocument(path, {}, notes)
    for section in root.children:
        parts = document.sections.setdefault(section.tag, [])
        if section.tag in ("compiler", "option", "size", "default"):
            parts.append(section)
        else:
            parts += section.children
    worlds = [section for section in root.children if section.tag == "worldbody"]
    document.sections["worldbody"] = worlds
    return document


def _include(element: Element, main: Path, read: set[Path]) -> None:
    """Puts the children of included files in place of the include elements below an element.

    Raises:
        XmlError: A file cannot be read, or is included twice.
    """
    children: list[Element] = []
    for child in element.children:
        if child.tag != "include":
            _include(child, main, read)
            children.append(child)
            continue
        path = _included(child, main)
        if path.resolve() in read or len(read) > MAX_INCLUDES:
            raise child.error("expected a file that is included once, got one that was read before", "file")
        read.add(path.resolve())
        try:
            root = parse_xml(read_bytes(path), path.name)
        except FileError as error:
            raise child.error(f"{error}", "file") from None
        except XmlError as error:
            text = str(error)
            raise XmlError(text if text.startswith(path.name) else f"{path.name}: {text}") from None
        _include(root, main, read)
        children += root.children
    element.children[:] = children


def _included(include: Element, main: Path) -> Path:
    """Returns the path of an include element's file, relative to the main file.

    Raises:
        XmlError: no file is given.
    """
    for name in include.attributes:
        if name != "file":
            raise unsupported(include, name)
    name = include.attributes.get("file", "")
    if not name or not name.isprintable():
        raise include.error("expected the path of an MJCF file, got none", "file")
    return main.parent / name


def unsupported(element: Element, attribute: str) -> XmlError:
    """Returns the error for an attribute that is not in MJCF or not simulated."""
    return element.error(f"attribute {printed(attribute)} is not supported")


def printed(name: str) -> str:
    """Returns the name of an element or an attribute for an error text, if it looks like one."""
    return name if _TAG.fullmatch(name) else "of another name"


def _check(element: Element, kind: str, notes: Notes) -> None:
    """Checks attributes and children of an element, and removes children that are not simulated.

    Args:
        element: the element.
        kind: its key in the vocabulary: its tag, or the tag after that of its section.
        notes: lists the parts that are not simulated.

    Raises:
        XmlError: a part is not supported.
    """
    known, neutral = ATTRIBUTES[kind], NEUTRAL.get(kind, {})
    for name, value in element.attributes.items():
        if name in NOTED_ATTRIBUTES.get(kind, ()):
            notes.add(element, name)
        elif name in neutral:
            _check_neutral(element, name, value, neutral[name])
        elif name not in known and name not in IGNORED_ATTRIBUTES.get(kind, ()):
            raise unsupported(element, name)
    kept: list[Element] = []
    for child in element.children:
        child_kind = CHILDREN.get(kind, {}).get(child.tag)
        if child_kind is not None:
            _check(child, child_kind, notes)
            kept.append(child)
        elif child.tag in NOTED_ELEMENTS:
            notes.add(child)
        elif child.tag not in IGNORED_ELEMENTS:
            raise element.error(f"element {printed(child.tag)} (line {child.line}) is not supported")
    element.children[:] = kept


def _check_neutral(element: Element, name: str, value: str, words: frozenset[str]) -> None:
    """Checks that an attribute has no effect.

    Raises:
        XmlError: the attribute has an effect that is not simulated.
    """
    if value not in words and (words or any(element.numbers(name, len(value.split()) or 1))):
        expected = " or ".join(sorted(words)) or "0"
        raise element.error(f"expected {expected}, got another value, which is not supported", name)


def numbers_up_to(element: Element, attribute: str, most: int, default: str | None = None) -> tuple[float, ...]:
    """Returns the numbers of an attribute that has at least one and at most `most` of them.

    Raises:
        XmlError: there are none or too many, or one is not finite.
    """
    text = element.attributes.get(attribute, default)
    count = 0 if text is None else len(text.split())
    if not 0 < count <= most:
        raise element.error(f"expected 1 to {most} numbers, got {count}", attribute)
    return element.numbers(attribute, count, default)


def choice(element: Element, attribute: str, choices: tuple[str, ...], default: str) -> str:
    """Returns the value of an attribute that is one of some words.

    Raises:
        XmlError: it is another word.
    """
    value = element.attributes.get(attribute, default)
    if value not in choices:
        raise element.error(f"expected one of {', '.join(choices)}, got another word", attribute)
    return value


def flag(element: Element, attribute: str, default: bool) -> bool:
    """Returns the value of an attribute that is true or false."""
    return choice(element, attribute, ("true", "false"), "true" if default else "false") == "true"


def walk(element: Element) -> Iterator[Element]:
    """Yields an element and all elements below it, in the order of the file."""
    yield element
    for child in element.children:
        yield from walk(child)
