"""Text with substitutions in ROS 2 launch files: `$(var mode)`, `$(equals $(var a) 'x y')`.

The grammar is that of ROS 2's launch front ends (Jazzy):

* `\\x` stands for `x`; `\\$(` is a literal `$(`.
* A substitution is `$(name argument argument)` with exactly one space before each argument. An argument
  may be a quoted text ('...' or "...", may hold spaces and parentheses) and may contain substitutions.
  Inside a quoted argument, the arguments of a nested substitution cannot be quoted again.
* Outside of a substitution, quotes are ordinary characters.

`eval`, `command` and the other substitutions of ROS 2 are not supported: the suite's launch files do not
need them. A launch file that needs them is refused with a clear message.
"""

from __future__ import annotations

import dataclasses
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import NoReturn

import yaml

from haptic_files.fast_yaml import load_yaml

__all__ = [
    "Call",
    "Context",
    "LaunchFileError",
    "Template",
    "evaluate",
    "evaluate_condition",
    "find_executable",
    "find_package_prefix",
    "find_package_share",
    "located",
    "parse_template",
    "unescape",
    "variables_in",
]


class LaunchFileError(Exception):
    """A launch file or its arguments are not valid; `str()` is one line.

    Attributes:
        message: description of the mistake.
        where: file, line and element; None until they are known.
        included: places of the elements `include` that led to the file, from the inner to the outer one.
    """

    def __init__(self, message: str, where: str | None = None) -> None:
        super().__init__(message)
        self.message = re.sub(r"\s*\n\s*", " ", message)
        self.where = where
        self.included: list[str] = []

    def __str__(self) -> str:
        own = f"{self.where}: " if self.where else ""
        places = dict.fromkeys(self.included)  # files that include each other name each place once
        return f"{own}{self.message}" + "".join(f"; included in {place}" for place in places)


@contextmanager
def located(where: str) -> Iterator[None]:
    """Adds file, line and element to a `LaunchFileError` that has none."""
    try:
        yield
    except LaunchFileError as error:
        if error.where is None:
            error.where = where
        raise


@contextmanager
def included_by(where: str) -> Iterator[None]:
    """Adds the place of an `include` to a `LaunchFileError` in its file, which may need a value that was not set."""
    try:
        yield
    except LaunchFileError as error:
        error.included.append(where)
        raise


@dataclass(frozen=True)
class Call:
    """One substitution before its evaluation."""

    name: str
    arguments: tuple[Template, ...]


Template = tuple[str | Call, ...]
"""A parsed text: a sequence of literal pieces and substitutions; empty for the quoted argument ''."""


def find_package_prefix(package: str, environment: Mapping[str, str] | None = None) -> str:
    """Returns the first prefix of AMENT_PREFIX_PATH whose resource index lists the package."""
    environment = os.environ if environment is None else environment
    prefixes = [prefix for prefix in environment.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix]
    if not prefixes:
        raise LaunchFileError(f"package '{package}' cannot be found: AMENT_PREFIX_PATH is not set")
    for prefix in prefixes:
        if os.path.isfile(os.path.join(prefix, "share", "ament_index", "resource_index", "packages", package)):
            return prefix
    raise LaunchFileError(f"package '{package}' not found in {', '.join(prefixes)} (AMENT_PREFIX_PATH)")


def find_package_share(package: str, environment: Mapping[str, str] | None = None) -> str:
    """Returns the share directory of a package, as `$(find-pkg-share package)` does."""
    return str(Path(find_package_prefix(package, environment)) / "share" / package)


def find_executable(package: str, executable: str, environment: Mapping[str, str] | None = None) -> str:
    """Returns `<prefix>/lib/<package>/<executable>` of the first prefix in AMENT_PREFIX_PATH with the package.

    A console script of the package may be in `<prefix>/bin` instead, where pip installs it.
    """
    prefix = Path(find_package_prefix(package, environment))
    directory = prefix / "lib" / package
    if _is_executable(directory / executable):
        return str(directory / executable)
    scripts = entry_points(group="console_scripts", name=executable)
    if any(script.module.partition(".")[0] == package for script in scripts):
        directory = prefix / "bin"
        if _is_executable(directory / executable):
            return str(directory / executable)
    raise LaunchFileError(f"package '{package}' has no executable '{executable}' in {directory}")


def _is_executable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


@dataclass
class Context:
    """Data for substitutions while a launch file is evaluated.

    Attributes:
        configurations: launch configurations, that is arguments and `let` values.
        environment: environment variables for `$(env ...)`.
        directory: directory for `$(dirname)`.
        find_package_share: function for `$(find-pkg-share ...)`.
    """

    configurations: dict[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    directory: str = "."
    find_package_share: Callable[[str], str] = find_package_share


def unescape(text: str) -> str:
    """Resolves backslash escapes: the character after a backslash stands for itself."""
    return re.sub(r"\\(.)", lambda match: match.group(1), text)


def variables_in(part: object) -> set[str]:
    """Returns the names of the launch arguments that a template, an element, or a sequence of these reads."""
    if isinstance(part, Call):
        names = {"".join(map(str, part.arguments[0]))} if part.name == "var" else set()
        return names.union(*map(variables_in, part.arguments))
    if isinstance(part, (tuple, list)):
        return set().union(*map(variables_in, part))
    if dataclasses.is_dataclass(part):
        return set().union(*(variables_in(getattr(part, entry.name)) for entry in dataclasses.fields(part)))
    return set()


def parse_template(text: str) -> Template:
    """Parses a text with substitutions; refuses an unknown substitution and a wrong number of arguments."""
    return _Parser(text).template(None)


class _Parser:
    """Recursive-descent parser of one text; `quote` is the quotation mark around the current position, if any."""

    _IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    def template(self, quote: str | None) -> Template:
        """Reads pieces up to the closing quote, or to the end of the text if there is no quote."""
        pieces: list[str | Call] = []
        while (next_ := self._peek()) != (quote or "") or (quote is not None and self._escaped()):
            if next_ == "":
                self._fail(f"the quotation mark {quote} is not closed")
            pieces.append(self._call(quote) if self._at_call() else self._literal(quote or ""))
        return tuple(pieces) if pieces or quote else ("",)

    def _call(self, quote: str | None) -> Call:
        self._position += len("$(")
        match = self._IDENTIFIER.match(self._text, self._position)
        if match is None:
            self._fail("expected the name of a substitution after $(")
        self._position = match.end()
        arguments: list[Template] = []
        while (next_ := self._peek()) != ")":
            if next_ == "":
                self._fail(f"$({match.group()} is not closed with )")
            if next_ != " ":
                self._fail(f"expected one space or ) in $({match.group()}")
            self._position += 1
            arguments.append(self._argument(quote))
        self._position += 1
        return _checked_call(match.group(), tuple(arguments))

    def _argument(self, quote: str | None) -> Template:
        mark = self._peek()
        if quote is None and mark in ("'", '"'):
            self._position += 1
            pieces = self.template(mark)
            self._position += 1
            return pieces
        found: list[str | Call] = []
        ends = " ()" + (quote or "'\"")
        while (next_ := self._peek()) and (next_ not in ends or (next_ != " " and self._escaped())):
            found.append(self._call(quote) if self._at_call() else self._literal(ends))
        if not found:
            self._fail("expected an argument (exactly one space stands between the arguments)")
        return tuple(found)

    def _literal(self, ends: str) -> str:
        start = self._position
        while (next_ := self._peek()) and not self._at_call():
            if next_ in ends and (next_ == " " or not self._escaped()):
                break
            self._position += 1
        return unescape(self._text[start : self._position])

    def _peek(self) -> str:
        return self._text[self._position : self._position + 1]

    def _escaped(self) -> bool:
        return self._position > 0 and self._text[self._position - 1] == "\\"

    def _at_call(self) -> bool:
        return self._text.startswith("$(", self._position) and not self._escaped()

    def _fail(self, reason: str) -> NoReturn:
        raise LaunchFileError(f"cannot read {self._text!r} at column {self._position + 1}: {reason}")


def evaluate(template: Template, context: Context) -> str:
    """Returns the text with every substitution replaced by its value."""
    pieces = (piece if isinstance(piece, str) else _perform(piece, context) for piece in template)
    return "".join(pieces)


def evaluate_condition(template: Template, context: Context) -> bool:
    """Evaluates an `if` or `unless`: true, 1, false or 0, in upper or lower case, with spaces around it."""
    text = evaluate(template, context)
    value = {"true": True, "1": True, "false": False, "0": False}.get(text.strip().lower())
    if value is None:
        raise LaunchFileError(f"a condition has to be true, 1, false or 0, not '{text}'")
    return value


def _perform(call: Call, context: Context) -> str:
    return _SUBSTITUTIONS[call.name].perform(call.arguments, context)


def _var(arguments: Sequence[Template], context: Context) -> str:
    name = evaluate(arguments[0], context)
    if name in context.configurations:
        return context.configurations[name]
    if len(arguments) == 2:
        return evaluate(arguments[1], context)
    known = ", ".join(sorted(context.configurations)) or "none"
    raise LaunchFileError(f"$(var {name}): no argument or let of that name so far; known here: {known}")


def _env(arguments: Sequence[Template], context: Context) -> str:
    name = evaluate(arguments[0], context)
    default = evaluate(arguments[1], context) if len(arguments) == 2 else None
    value = context.environment.get(name, default)
    if value is None:
        raise LaunchFileError(f"$(env {name}): the environment variable is not set and no default is given")
    return value


def _equals(arguments: Sequence[Template], context: Context) -> str:
    """Compares two values as booleans (true, false, 1, 0) if both are, as numbers if both are, otherwise as text."""
    left, right = (evaluate(argument, context) for argument in arguments)
    booleans = {"true": True, "1": True, "false": False, "0": False}
    if left.lower() in booleans and right.lower() in booleans:
        return _word(booleans[left.lower()] == booleans[right.lower()])
    try:
        return _word(math.isclose(float(left), float(right)))
    except ValueError:
        return _word(left == right)


def _boolean(name: str, argument: Template, context: Context) -> bool:
    """Evaluates the operand of not, and, or: a YAML boolean (also yes and on), 1 or 0."""
    text = evaluate(argument, context)
    try:
        value = load_yaml({"1": "true", "0": "false"}.get(text, text))
    except yaml.YAMLError:
        value = None
    if not isinstance(value, bool):
        raise LaunchFileError(f"$({name} ...): '{text}' is neither true nor false")
    return value


def _word(value: bool) -> str:
    return "true" if value else "false"


@dataclass(frozen=True)
class _Substitution:
    usage: str
    counts: tuple[int, ...]
    perform: Callable[[Sequence[Template], Context], str]


def _not(arguments: Sequence[Template], context: Context) -> str:
    return _word(not _boolean("not", arguments[0], context))


def _and(arguments: Sequence[Template], context: Context) -> str:
    left, right = (_boolean("and", argument, context) for argument in arguments)
    return _word(left and right)


def _or(arguments: Sequence[Template], context: Context) -> str:
    left, right = (_boolean("or", argument, context) for argument in arguments)
    return _word(left or right)


def _share(arguments: Sequence[Template], context: Context) -> str:
    return context.find_package_share(evaluate(arguments[0], context))


_SUBSTITUTIONS: dict[str, _Substitution] = {
    "var": _Substitution("$(var NAME [DEFAULT])", (1, 2), _var),
    "env": _Substitution("$(env NAME [DEFAULT])", (1, 2), _env),
    "find-pkg-share": _Substitution("$(find-pkg-share PACKAGE)", (1,), _share),
    "dirname": _Substitution("$(dirname)", (0,), lambda _, context: context.directory),
    "equals": _Substitution("$(equals A B)", (2,), _equals),
    "not": _Substitution("$(not A)", (1,), _not),
    "and": _Substitution("$(and A B)", (2,), _and),
    "or": _Substitution("$(or A B)", (2,), _or),
}


def _checked_call(name: str, arguments: tuple[Template, ...]) -> Call:
    substitution = _SUBSTITUTIONS.get(name)
    if substitution is None:
        usages = ", ".join(entry.usage for entry in _SUBSTITUTIONS.values())
        raise LaunchFileError(f"unknown substitution $({name} ...); understood: {usages}")
    if len(arguments) not in substitution.counts:
        raise LaunchFileError(f"$({name} ...) has {len(arguments)} arguments; usage: {substitution.usage}")
    if name == "equals" and () in arguments:
        # ROS 2 launch compares the word "[]" here (Jazzy), which no author means.
        raise LaunchFileError("$(equals ...) with '' never equals an empty text in ROS 2; compare with a word")
    return Call(name, arguments)
