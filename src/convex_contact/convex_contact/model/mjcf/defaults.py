"""Default classes: the attributes that an element takes from its class.

All actuators share one set of defaults, as in MuJoCo. Gains, biases and activation dynamics are those of the last
actuator in a class; a special one (`position`, ...) has those of
the nearest class around it whose last actuator is of the same kind. If an element gives only the first numbers of an
attribute, the others come from its class.
"""

from __future__ import annotations

from dataclasses import replace

from convex_contact.model.mjcf.shortcuts import PARAMETERS, general
from convex_contact.model.mjcf.vocabulary import ORIENTATIONS
from convex_contact.model.xml_document import Element

#: name of the class of elements without one
MAIN = "main"
#: kinds that share their defaults, by tag
SHARED = {
    **dict.fromkeys(("general", "motor", "position", "velocity", "intvelocity", "damper"), "actuator"),
    **dict.fromkeys(("fixed", "spatial", "tendon"), "tendon"),
}
#: attributes of which an element may give the first numbers
_PARTIAL = ("size", "friction", "gear", "gainprm", "biasprm", "dynprm", "polycoef")

Attributes = dict[str, str]


class Defaults:
    """The default classes of a file.

    Args:
        sections: default elements of the file.

    Raises:
        XmlError: A class has no name or is defined twice.
    """

    def __init__(self, sections: list[Element]) -> None:
        self._classes: dict[str, dict[str, Attributes]] = {MAIN: {}}
        self._defined: set[str] = set()
        self._outer: dict[str, str] = {}  # class around a class
        self._last_actuator: dict[str, str] = {}  # its tag, by class
        for section in sections:
            self._define(section, None)

    def _define(self, element: Element, parent: str | None) -> None:
        name = element.name("class") if parent is not None or "class" in element.attributes else MAIN
        if parent is not None:
            if name in self._defined or name == MAIN:
                raise element.error("expected a class that is defined once, got one twice", "class")
            self._classes[name] = {kind: dict(given) for kind, given in self._classes[parent].items()}
            self._outer[name] = parent
        elif name != MAIN and MAIN in self._defined and name not in self._defined:
            raise element.error("expected the outer class of the file, which is main, got another one", "class")
        elif name != MAIN:  # another name of the outer class
            self._classes[name] = self._classes[MAIN]
            self._outer[name] = MAIN
        self._defined |= {name, MAIN} if parent is None else {name}
        own = self._classes[name]
        for child in element.children:
            if child.tag != "default":
                kind = kind_of_defaults(child.tag)
                own[kind] = self._made(child, name, kind).attributes
                if kind == "actuator":
                    self._last_actuator[MAIN if parent is None else name] = child.tag
        for child in element.children:
            if child.tag == "default":
                self._define(child, name)

    def resolved(self, element: Element, childclass: str | None = None, kind: str = "") -> Element:
        """Adds the attributes of its class to an element.

        Args:
            element: the element.
            childclass: class from its body, if it names none.
            kind: of its defaults, if that is not its tag.

        Raises:
            XmlError: there is no such class.
        """
        name = element.attributes.get("class", childclass or MAIN)
        if name not in self._classes:
            raise element.error("expected the name of a default class, got that of none", "class")
        return self._made(element, name, kind or kind_of_defaults(element.tag))

    def _made(self, element: Element, name: str, kind: str) -> Element:
        """Adds the attributes of a class to an element; makes an actuator a general one."""
        given = self._classes[name].get(kind, {})
        if kind != "actuator":
            return replace(element, attributes=merged(given, element.attributes))
        if element.tag != "general":
            given = {key: value for key, value in given.items() if key not in PARAMETERS}
            given |= self._parameters(name, element.tag)
        return general(replace(element, attributes=merged(given, element.attributes)))

    def _parameters(self, name: str | None, tag: str) -> Attributes:
        """Returns the parameters of the nearest class whose last actuator has a tag."""
        while name is not None:
            if self._last_actuator.get(name) == tag:
                given = self._classes[name]["actuator"]
                return {key: value for key, value in given.items() if key in PARAMETERS}
            name = self._outer.get(name)
        return {}

    def check(self, element: Element, attribute: str) -> str | None:
        """Returns the class that an attribute names; None without one.

        Raises:
            XmlError: there is no such class.
        """
        name = element.attributes.get(attribute)
        if name is not None and name not in self._classes:
            raise element.error("expected the name of a default class, got that of none", attribute)
        return name


def kind_of_defaults(tag: str) -> str:
    """Returns the kind of the defaults of a tag outside of equality and tendon sections."""
    return SHARED.get(tag, tag)


def merged(given: Attributes, own: Attributes) -> Attributes:
    """Merges the attributes of an element with those of its class; its own take precedence."""
    result = dict(given)
    if ORIENTATIONS & own.keys():
        for name in ORIENTATIONS:
            result.pop(name, None)
    for name, value in own.items():
        before = result.get(name, "").split() if name in _PARTIAL else []
        words = value.split()
        result[name] = " ".join(words + before[len(words) :]) if len(words) < len(before) else value
    return result


def joined(elements: list[Element], tag: str) -> Element:
    """Joins several elements to one; the last element with an attribute sets it; without elements it is empty."""
    attributes: Attributes = {}
    for element in elements:
        attributes |= element.attributes
    line, file = (elements[-1].line, elements[-1].file) if elements else (0, "")
    return Element(tag, attributes, line, file=file)
