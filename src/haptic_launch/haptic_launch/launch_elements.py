"""The elements of a YAML launch file, parsed and checked but not evaluated (see `launch_file`)."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from haptic_files import FileError, describe_yaml_error, load_yaml, once_while_unchanged, read_text

from .launch_parameters import ParameterType, ParameterValue, parse_parameter_value
from .launch_substitutions import Call, LaunchFileError, Template, located, parse_template, unescape

__all__ = [
    "Argument",
    "ArgumentElement",
    "Element",
    "ExecutableElement",
    "GroupElement",
    "IncludeElement",
    "LetElement",
    "NamespaceElement",
    "NodeElement",
    "Parameters",
    "ProcessAttributes",
    "SetEnvironmentElement",
    "load_elements",
]


@dataclass(frozen=True)
class Argument:
    """An argument of a launch file.

    Attributes:
        name: name, as in `name:=value`.
        default: text of the default, with its substitutions; None if the argument is required.
        description: description; empty if the file has none.
        choices: allowed values; None if any value is allowed.
        conditional: whether the argument depends on an `if` or `unless`.
    """

    name: str
    default: str | None
    description: str
    choices: tuple[str, ...] | None
    conditional: bool = False


@dataclass(frozen=True)
class Element:
    """Base of the elements: position in the file and condition (`negated`: unless)."""

    where: str
    condition: Template | None
    negated: bool


Pairs = tuple[tuple[Template, Template], ...]


@dataclass(frozen=True)
class ArgumentElement(Element):
    """`arg`."""

    argument: Argument
    default: Template | None


@dataclass(frozen=True)
class LetElement(Element):
    """`let`."""

    name: Template
    value: Template


@dataclass(frozen=True)
class SetEnvironmentElement(Element):
    """`set_env`."""

    name: Template
    value: Template


@dataclass(frozen=True)
class GroupElement(Element):
    """`group`."""

    scoped: bool
    children: tuple[Element, ...]


@dataclass(frozen=True)
class IncludeElement(Element):
    """`include`."""

    file: Template
    arguments: Pairs


@dataclass(frozen=True)
class NamespaceElement(Element):
    """`push_ros_namespace`."""

    namespace: Template


@dataclass(frozen=True)
class ProcessAttributes:
    """Attributes of both `node` and `executable`."""

    name: Template | None
    output: Template | None
    environment: Pairs
    shuts_down: bool
    respawn: Template | None
    respawn_delay: float


@dataclass(frozen=True)
class ExecutableElement(Element):
    """`executable`."""

    process: ProcessAttributes
    command: tuple[Template, ...]


@dataclass(frozen=True)
class Parameters:
    """One `param`: a file, or a name with a value or with nested parameters."""

    where: str
    name: Template = ()
    file: Template | None = None
    value: ParameterValue | None = None
    nested: tuple[Parameters, ...] = ()


@dataclass(frozen=True)
class NodeElement(Element):
    """`node`."""

    process: ProcessAttributes
    package: Template | None
    executable: Template
    namespace: Template | None
    arguments: tuple[Template, ...]
    parameters: tuple[Parameters, ...]
    remappings: Pairs


class _Mapping(dict[Any, Any]):
    """A YAML mapping with its line in the file."""

    line = 0


def _construct_lined_mapping(loader: Any, node: yaml.MappingNode) -> Any:
    """Constructs a mapping with its line."""
    mapping = _Mapping()
    mapping.line = node.start_mark.line + 1
    yield mapping
    mapping.update(loader.construct_mapping(node))


class _FastLoader(yaml.CSafeLoader):
    """CSafeLoader with lines."""


class _ExactLoader(yaml.SafeLoader):
    """SafeLoader with lines."""


for _loader in (_FastLoader, _ExactLoader):
    _loader.add_constructor("tag:yaml.org,2002:map", _construct_lined_mapping)


@once_while_unchanged
def load_elements(path: Path) -> tuple[Element, ...]:
    """Reads a launch file: `launch:` with a list of elements; a file that has not changed is not read again."""
    with located(str(path)):
        if path.suffix not in (".yaml", ".yml"):
            raise LaunchFileError("only YAML launch files (.yaml, .yml) are understood")
        try:
            text = read_text(path)
        except FileError as error:
            raise LaunchFileError(str(error).removeprefix(f"{path}: ")) from None
        try:
            tree = load_yaml(text, _FastLoader, _ExactLoader)
        except (yaml.YAMLError, ValueError, RecursionError) as error:  # such as the date 2020-13-45
            raise LaunchFileError(describe_yaml_error(error, text)) from None
        if not isinstance(tree, dict) or list(tree) != ["launch"]:
            raise LaunchFileError("a launch file is one mapping with the single key 'launch'")
        return _parse_children(tree["launch"], str(path), "launch")


def _parse_children(children: object, path: str, parent: str) -> tuple[Element, ...]:
    if not isinstance(children, list):
        raise LaunchFileError(f"'{parent}' has to hold a list of elements")
    elements = []
    for child in children:
        if not isinstance(child, _Mapping) or len(child) != 1:
            raise LaunchFileError(f"each element in '{parent}' is a mapping with one key, its kind; got {child!r}")
        ((kind, body),) = child.items()
        label = f" '{body['name']}'" if isinstance(body, dict) and isinstance(body.get("name"), str) else ""
        with located(f"{path}:{child.line}: {kind}{label}"):
            if kind not in _PARSERS:
                raise LaunchFileError(f"unknown element '{kind}'; understood: {', '.join(_PARSERS)}")
            elements.append(_parse_element(kind, body, path, f"{path}:{child.line}: {kind}{label}"))
    return tuple(elements)


def _parse_element(kind: str, body: object, path: str, where: str) -> Element:
    if kind == "group" and isinstance(body, list):
        body = {"children": body}
    reader = _Reader(kind, body, where, path)
    element = _PARSERS[kind](reader)
    reader.close()
    return element


class _Reader:
    """Reads the attributes of one mapping; raises for wrong attributes, and in `close` for unknown ones."""

    def __init__(self, kind: str, body: object, where: str, path: str) -> None:
        if not isinstance(body, dict):
            raise LaunchFileError(f"'{kind}' has to be a mapping of attributes, not {body!r}")
        self.kind, self.where, self.path = kind, where, path
        self._body = body
        self._understood: set[str] = set()

    def raw(self, name: str, default: object = None) -> object:
        self._understood.add(name)
        return self._body.get(name, default)

    def has(self, name: str) -> bool:
        return name in self._body

    def text(self, name: str) -> str | None:
        """Returns a text attribute; as in ROS 2, numbers and booleans have to be quoted to be text."""
        value = self.raw(name)
        if name in self._body and not isinstance(value, str):
            if value is None:
                raise LaunchFileError(f"attribute '{name}' is empty")
            raise LaunchFileError(f"attribute '{name}' has to be text, not {value!r}; put it in quotes")
        return value if isinstance(value, str) else None

    def required_text(self, name: str) -> str:
        value = self.text(name)
        if value is None:
            raise LaunchFileError(f"'{self.kind}' needs the attribute '{name}'")
        return value

    def template(self, name: str) -> Template | None:
        value = self.text(name)
        return None if value is None else self._parse(name, value)

    def required_template(self, name: str) -> Template:
        return self._parse(name, self.required_text(name))

    def _parse(self, name: str, value: str) -> Template:
        try:
            return parse_template(value)
        except LaunchFileError as error:
            raise LaunchFileError(f"attribute '{name}': {error.message}") from None

    def flag(self, name: str, default: bool) -> bool:
        value = self.raw(name, default)
        if not isinstance(value, bool):
            raise LaunchFileError(f"attribute '{name}' has to be true or false without quotes, not {value!r}")
        return value

    def entries(self, name: str) -> list[_Reader]:
        """Returns readers for an attribute that is a list of mappings; an empty list if it is absent."""
        value = self.raw(name, [])
        if not isinstance(value, list) or (name in self._body and not value):
            raise LaunchFileError(f"attribute '{name}' has to be a list of mappings, and not empty")
        return [_Reader(name, entry, self.where, self.path) for entry in value]

    def pairs(self, name: str, first: str, second: str) -> Pairs:
        pairs = []
        for entry in self.entries(name):
            pairs.append((entry.required_template(first), entry.required_template(second)))
            entry.close()
        return tuple(pairs)

    def base(self) -> tuple[str, Template | None, bool]:
        """Returns the fields of `Element`."""
        condition, unless = self.template("if"), self.template("unless")
        if condition is not None and unless is not None:
            raise LaunchFileError("'if' and 'unless' exclude each other")
        return self.where, condition if unless is None else unless, unless is not None

    def process(self) -> ProcessAttributes:
        on_exit = self.text("on_exit")
        if on_exit not in (None, "shutdown"):
            raise LaunchFileError(f"on_exit is '{on_exit}'; understood: shutdown")
        environment = self.pairs("env", "name", "value")
        name, output = self.template("name"), self.template("output")
        respawn, delay = self.template("respawn"), self.raw("respawn_delay", 0.0)
        if not isinstance(delay, float) or not delay >= 0.0:
            raise LaunchFileError(f"attribute 'respawn_delay' has to be a number like 1.0, not below 0, not {delay!r}")
        return ProcessAttributes(name, output, environment, on_exit is not None, respawn, delay)

    def close(self) -> None:
        unknown = [str(key) for key in self._body if key not in self._understood]
        if unknown:
            names = ", ".join(f"'{name}'" for name in unknown)
            known = ", ".join(sorted(self._understood))
            raise LaunchFileError(f"'{self.kind}' has unknown attributes {names}; understood: {known}")


def _parse_argument(reader: _Reader) -> Element:
    name = unescape(reader.required_text("name"))
    default = reader.text("default")
    description = unescape(reader.text("description") or "")
    choices = []
    for entry in reader.entries("choice"):
        choices.append(unescape(entry.required_text("value")))
        entry.close()
    argument = Argument(name, default, description, tuple(choices) or None)
    return ArgumentElement(*reader.base(), argument, reader.template("default"))


def _parse_let(reader: _Reader) -> Element:
    return LetElement(*reader.base(), reader.required_template("name"), reader.required_template("value"))


def _parse_set_environment(reader: _Reader) -> Element:
    name, value = reader.required_template("name"), reader.required_template("value")
    return SetEnvironmentElement(*reader.base(), name, value)


def _parse_group(reader: _Reader) -> Element:
    children = reader.raw("children")
    base = reader.base()
    return GroupElement(*base, reader.flag("scoped", True), _parse_children(children, reader.path, "group"))


def _parse_include(reader: _Reader) -> Element:
    return IncludeElement(*reader.base(), reader.required_template("file"), reader.pairs("arg", "name", "value"))


def _parse_namespace(reader: _Reader) -> Element:
    return NamespaceElement(*reader.base(), reader.required_template("namespace"))


def _parse_executable(reader: _Reader) -> Element:
    command = _split_command(reader.required_template("cmd"))
    return ExecutableElement(*reader.base(), reader.process(), command)


def _parse_node(reader: _Reader) -> Element:
    arguments = reader.template("args")
    return NodeElement(
        *reader.base(),
        process=reader.process(),
        package=reader.template("pkg"),
        executable=reader.required_template("exec"),
        namespace=reader.template("namespace"),
        arguments=() if arguments is None else _split_command(arguments),
        parameters=tuple(_parse_parameters(entry) for entry in reader.entries("param")),
        remappings=reader.pairs("remap", "from", "to"),
    )


def _parse_parameters(reader: _Reader, nested: bool = False) -> Parameters:
    if reader.has("from") and not nested:
        if reader.has("name"):
            raise LaunchFileError("a 'param' has either 'from' (a file) or 'name'")
        result = Parameters(reader.where, file=reader.required_template("from"))
        reader.close()
        return result
    name = reader.required_text("name")
    where = f"{reader.where}, param '{name}'"
    with located(where):
        kind = ParameterType.parse(reader.raw("type", "yaml"))
        children = tuple(_parse_parameters(entry, nested=True) for entry in reader.entries("param"))
        if reader.has("value") == bool(children) or (children and reader.has("type")):
            raise LaunchFileError("a 'param' has either 'value' (and 'type') or nested 'param'")
        raw = reader.raw("value")
        value = None if children else parse_parameter_value(raw, kind)
        result = Parameters(where, reader.required_template("name"), None, value, children)
        if not nested:
            reader.raw("from")
        reader.close()
    return result


def _split_command(template: Template) -> tuple[Template, ...]:
    """Splits a command line at the spaces of its literal text, with the quoting rules of a shell.

    The value of a substitution stays in one argument, together with the adjacent text. As in ROS 2,
    blank text at the beginning makes an empty argument.
    """
    arguments: list[list[str | Call]] = []
    current: list[str | Call] = []
    for piece in template:
        if isinstance(piece, Call):
            current.append(piece)
            continue
        try:
            words = shlex.split(piece)
        except ValueError as error:
            raise LaunchFileError(f"cannot split {piece!r} into arguments: {error}") from None
        if not words or (piece[0].isspace() and current):
            arguments.append(current)
            current = []
        for index, word in enumerate(words):
            if index:
                arguments.append(current)
                current = []
            current.append(word)
        if words and piece[-1].isspace():
            arguments.append(current)
            current = []
    if current:
        arguments.append(current)
    return tuple(tuple(argument) for argument in arguments)


_PARSERS: dict[str, Callable[[_Reader], Element]] = {
    "arg": _parse_argument,
    "let": _parse_let,
    "group": _parse_group,
    "node": _parse_node,
    "executable": _parse_executable,
    "include": _parse_include,
    "push_ros_namespace": _parse_namespace,
    "push-ros-namespace": _parse_namespace,
    "set_env": _parse_set_environment,
}
