"""Untrusted XML documents, as elements with the numbers of their lines.

The parser refuses document types, so that no entity expands and no other file is opened. It also refuses documents that
are nested deeper or have more elements than a robot needs. Its errors give the line and the expectation; they do not
quote the file.
"""

from __future__ import annotations

import math
import re
import sys
import warnings
from dataclasses import dataclass, field
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from convex_contact.problem.errors import ContactError
from haptic_files import kind_of

#: deepest nesting of elements; URDF needs 5, its extensions some more
MAX_DEPTH = 100
#: largest number of elements of a document
MAX_ELEMENTS = 200_000
#: longest name of a link or a joint
MAX_NAME = 120
#: largest size of a length, an angle, a mass or a moment of inertia in SI units
LARGEST = 1e9
#: largest finite number
MAX_FLOAT = sys.float_info.max

_PACKAGE = f"{__name__.partition('.')[0]}."
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


class XmlError(ContactError, ValueError):
    """A document is not as expected: one line with the location, without the file's name and texts."""


@dataclass(slots=True)
class Element:
    """An element of a document, without its texts.

    Attributes:
        tag: name with the prefix of its namespace.
        attributes: values by name.
        line: first line, from 1.
        children: elements in this one.
        file: name of the file, if it is not the one that the user named.
    """

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    file: str = ""

    @property
    def location(self) -> str:
        """Line of the element, after its file if that is another one."""
        return f"{self.file}: line {self.line}" if self.file else f"line {self.line}"

    def error(self, message: str, attribute: str = "") -> XmlError:
        """Makes an error at this element, whose tag must be a known one."""
        return XmlError(f"{self.location}: {self.tag}: {f'{attribute}: ' if attribute else ''}{message}")

    def all(self, tag: str) -> list[Element]:
        """Returns the children with a tag."""
        return [child for child in self.children if child.tag == tag]

    def one(self, tag: str) -> Element | None:
        """Returns the child with a tag; None without one.

        Raises:
            XmlError: there are several.
        """
        found = self.all(tag)
        if len(found) > 1:
            raise found[1].error(f"expected one in its {self.tag}, got a second")
        return found[0] if found else None

    def required(self, tag: str) -> Element:
        """Returns the child with a tag.

        Raises:
            XmlError: there is none, or there are several.
        """
        found = self.one(tag)
        if found is None:
            raise self.error(f"expected a {tag}, got none")
        return found

    def name(self, attribute: str = "name") -> str:
        """Returns the value of an attribute that is a name.

        Raises:
            XmlError: the value is missing, empty, longer than `MAX_NAME`, or has characters that are not printable.
        """
        value = self.attributes.get(attribute, "")
        if not 0 < len(value) <= MAX_NAME or not value.isprintable():
            expected = f"expected a name of 1 to {MAX_NAME} printable characters"
            raise self.error(f"{expected}, got {self._kind(attribute)}", attribute)
        return value

    def numbers(
        self, attribute: str, count: int, default: str | None = None, *, minimum: float = -math.inf,
        largest: float = LARGEST,
    ) -> tuple[float, ...]:  # fmt: skip
        """Returns the numbers of an attribute.

        Args:
            attribute: name of the attribute.
            count: count of numbers.
            default: text for a missing attribute; None: it must not be missing.
            minimum: least number.
            largest: largest absolute value.

        Raises:
            XmlError: the attribute is missing, its length differs, or a number is out of its bounds.
        """
        text = self.attributes.get(attribute, default)
        words = [] if text is None else text.split()
        values = tuple(float(word) if _NUMBER.fullmatch(word) else math.nan for word in words)
        if len(values) != count or not all(minimum <= x and abs(x) <= min(largest, MAX_FLOAT) for x in values):
            expected = f"{count} numbers" if count > 1 else "a number"
            bounds = [f"of {minimum:g} or more"] if minimum > -math.inf else []
            bounds += [f"with absolute values up to {largest:g}"] if largest < math.inf else []
            got = f"{values[0]:g}" if len(values) == count == 1 and math.isfinite(values[0]) else self._kind(attribute)
            raise self.error(f"expected {' '.join((expected, *bounds))}, got {got}", attribute)
        return values

    def number(self, attribute: str, default: str | None = None, **bounds: float) -> float:
        """Returns the number of an attribute; see :meth:`numbers`."""
        return self.numbers(attribute, 1, default, **bounds)[0]

    def _kind(self, attribute: str) -> str:
        return kind_of(self.attributes.get(attribute))

    def written(self, *attributes: str, **others: str) -> str:
        """Returns this element as XML with some of its attributes and with others, without its children."""
        given = {name: self.attributes[name] for name in attributes if name in self.attributes} | others
        return f"<{' '.join((self.tag, *(f'{name}={quoteattr(value)}' for name, value in given.items())))}/>"


def parse_xml(content: bytes, file: str = "") -> Element:
    """Returns the root of an XML document.

    Args:
        content: of the file.
        file: name of the file, if it is not the one that the user named.

    Raises:
        XmlError: it is not XML, has a document type, or exceeds `MAX_DEPTH` or `MAX_ELEMENTS`.
    """
    parser = expat.ParserCreate()
    above: list[Element] = [Element("", {}, 0)]
    count = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        line = parser.CurrentLineNumber
        if len(above) > MAX_DEPTH:
            raise XmlError(f"line {line}: expected elements nested {MAX_DEPTH} deep at the most, got more")
        if count > MAX_ELEMENTS:
            raise XmlError(f"line {line}: expected {MAX_ELEMENTS} elements at the most, got more")
        element = Element(tag, attributes, line, file=file)
        above[-1].children.append(element)
        above.append(element)

    def end(tag: str) -> None:
        above.pop()

    def refuse(*_: object) -> None:
        raise XmlError(f"line {parser.CurrentLineNumber}: expected no document type (<!DOCTYPE>), got one")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        where = f"line {error.lineno}, column {error.offset + 1}"
        raise XmlError(f"{where}: not XML: {expat.ErrorString(error.code)}") from None
    except XmlError:
        raise
    except (ValueError, LookupError):
        raise XmlError("not XML: expected an encoding such as UTF-8") from None
    return above[0].children[0]


def warn_user(text: str, category: type[Warning]) -> None:
    """Gives a warning at the line outside this package that has a file read."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
