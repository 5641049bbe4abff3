"""Launch files in ROS 2's YAML format, without ROS 2's launch: `load_launch_file(path).evaluate({...})`.

If `ros2 launch` is installed, it runs the suite's launch files. Otherwise this module converts the same file
to the list of processes that `ros2 launch` would start (Jazzy; same commands, parameters, remappings,
namespaces, order). It supports the elements that the suite uses and refuses all others:

* `arg` (name, default, description, choice), `let`, `group` (scoped), `node` (pkg, exec, name, namespace,
  output, args, param, remap, env, on_exit, respawn, respawn_delay), `executable` (cmd, name, output, env,
  on_exit, respawn, respawn_delay), `include` (file, arg), `push_ros_namespace` (namespace); `if` or `unless` on
  each.
* the substitutions of `launch_substitutions`, the parameter types of `launch_parameters`.

Rules of ROS 2 that may surprise, and that this module follows:

* Attributes are text: `default: 5` and `if: true` are errors, `default: "5"` is right. The exception is
  `value` of a param, whose type matters.
* A `group` is a scope unless it has `scoped: false`. An `include` is not a scope: its arguments and `let`
  values stay visible after it, and `$(dirname)` is the included file's directory from then on. A `group`
  around it restores the values, but not `$(dirname)`.
* `set_env` (name, value) acts on `$(env ...)` and on the processes after it, to the end of the group around it.
* An included file's required arguments have to be given by the `include` itself.
* Each inline `param` is passed as a parameter file. Its key is the node's full name if the file gives the
  node a name and a namespace, `/**` otherwise; a full name takes precedence over `/**` in any order.
* `args` and `cmd` are split at spaces; the value of a substitution is never split.

The module is stricter than ROS 2. It refuses arguments that no file declares, repeated attributes, a missing
parameter file, and launch settings (`emulate_tty` and so on) as names of values. `output` is checked and
otherwise ignored: the runner shows all output. `respawn` restarts a process that failed, not one that ended
with 0.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from .launch_arguments import check_known, describe_missing, missing_argument
from .launch_elements import (
    Argument,
    ArgumentElement,
    Element,
    ExecutableElement,
    GroupElement,
    IncludeElement,
    LetElement,
    NamespaceElement,
    NodeElement,
    Parameters,
    ProcessAttributes,
    SetEnvironmentElement,
    load_elements,
)
from .launch_names import join_namespace, valid_name, valid_namespace, valid_topic
from .launch_parameters import ParameterValue, Scalar, checked_file, write_parameters
from .launch_substitutions import (
    Context,
    LaunchFileError,
    Template,
    evaluate,
    evaluate_condition,
    find_executable,
    find_package_share,
    included_by,
    located,
    parse_template,
    variables_in,
)
from .processes import ProcessSpec

__all__ = [
    "Argument",
    "LaunchDescription",
    "LaunchFileError",
    "ProcessSpec",
    "find_executable",
    "find_package_share",
    "load_launch_file",
]

_MAXIMUM_DEPTH = 20
_OUTPUTS = ("screen", "log", "both", "own_log", "full")
_SETTINGS = (
    "launch-prefix",
    "launch-prefix-filter",
    "emulate_tty",
    "sigterm_timeout",
    "sigkill_timeout",
    "global_params",
    "ros_remaps",
)


@dataclass(frozen=True)
class LaunchDescription:
    """A parsed launch file."""

    path: Path
    elements: Sequence[Element]

    @property
    def arguments(self) -> list[Argument]:
        """Arguments that a user can give, as `ros2 launch --show-args` lists them.

        They are those of this file, also in groups, and of included files; the first of two with the same
        name is listed. Included files whose path needs an argument are left out. Unlike with `--show-args`,
        a path that starts with `$(dirname)` is found.
        """
        found: dict[str, Argument] = {}
        self._collect(found, set(), Context({}, os.environ, "", find_package_share))
        return list(found.values())

    @property
    def expanded(self) -> list[Element]:
        """Elements, with each `include` replaced by a group with the elements of its file.

        An `include` whose path needs an argument, or whose file cannot be read, is kept.
        """
        context = Context({}, os.environ, str(_absolute(self.path).parent), find_package_share)
        return _expand(self.elements, context, (os.path.realpath(self.path),))

    def parameters_of(self, argument: str) -> list[ParameterValue]:
        """Returns the values of node parameters, also in included files, that are exactly `$(var argument)`."""
        template = parse_template(f"$(var {argument})")
        return [value for value in _parameter_values(self.expanded) if value.value == template]

    def evaluate(
        self,
        arguments: Mapping[str, str] | None = None,
        *,
        find_package_share: Callable[[str], str] | None = None,
        find_executable: Callable[[str, str], str] | None = None,
        environment: Mapping[str, str] | None = None,
        parameter_directory: Path | None = None,
        given: Collection[str] | None = None,
    ) -> list[ProcessSpec]:
        """Returns the processes that the file starts with these arguments, in order.

        Args:
            arguments: values by name, as text, like `name:=value` on the command line.
            find_package_share: function that finds the share directory of a package; default: by
                AMENT_PREFIX_PATH.
            find_executable: function that finds the path of a package's executable; default: by
                AMENT_PREFIX_PATH.
            environment: environment for `$(env ...)` and for the processes; default: that of this process.
            parameter_directory: directory of the files with inline parameters; default: a temporary
                directory that is removed when this Python process ends.
            given: names of the arguments that the user gave (`ProcessSpec.given_parameters`); None: all of them.

        Raises:
            LaunchFileError: an argument is unknown or missing, a value is not among the choices, or an
                element of the file cannot be evaluated.
        """
        variables = dict(os.environ if environment is None else environment)
        share = find_package_share or (lambda package: _find_share(package, variables))
        executable = find_executable or (lambda package, name: _find_executable(package, name, variables))
        values = dict(arguments or {})
        context = Context(values.copy(), variables, str(_absolute(self.path).parent), share)
        known: dict[str, Argument] = {}
        origins = {name: name for name in (values if given is None else given)}
        evaluation = _Evaluation(context, executable, parameter_directory, known, origins)
        with located(str(self.path)):
            if self._collect(known, evaluation.collected, replace(context, configurations={})):
                check_known(values, known)
            if (missing := missing_argument(self.elements, values)) is not None:
                raise LaunchFileError(describe_missing(missing))
            evaluation.visit(self.elements)
            check_known(values, known)
        return _unique_names(evaluation.processes)

    def _collect(
        self, found: dict[str, Argument], collected: set[str], context: Context, conditional: bool = False
    ) -> bool:
        """Adds the arguments to `found`; returns whether every included file could be read.

        A file whose path is in `collected` is left out: its arguments are in `found`.
        """
        path = os.path.realpath(self.path)
        if path in collected:
            return True
        collected.add(path)
        inside = replace(context, directory=str(_absolute(self.path).parent))
        return _collect(self.elements, inside, found, collected, conditional)


# The parameters of `evaluate` hide these names.
_find_share, _find_executable = find_package_share, find_executable


def load_launch_file(path: str | os.PathLike[str]) -> LaunchDescription:
    """Parses a YAML launch file; refuses unsupported elements before any process starts.

    Raises:
        LaunchFileError: the file is refused; the message names file, line and element.
    """
    return LaunchDescription(Path(path), load_elements(Path(path)))


def _parameter_values(elements: Sequence[Element]) -> Iterator[ParameterValue]:
    for element in elements:
        if isinstance(element, GroupElement):
            yield from _parameter_values(element.children)
        elif isinstance(element, NodeElement):
            yield from (entry.value for entry in element.parameters if entry.value is not None)


def _expand(elements: Sequence[Element], context: Context, chain: tuple[str, ...]) -> list[Element]:
    expanded: list[Element] = []
    for element in elements:
        if isinstance(element, GroupElement):
            element = replace(element, children=tuple(_expand(element.children, context, chain)))
        elif isinstance(element, IncludeElement):
            included = _included(element, context)
            if included is not None and (path := os.path.realpath(included.path)) not in chain:
                inner = replace(context, directory=str(_absolute(included.path).parent))
                given = [LetElement(element.where, None, False, name, value) for name, value in element.arguments]
                children = tuple(given + _expand(included.elements, inner, (*chain, path)))
                element = GroupElement(element.where, element.condition, element.negated, False, children)
        expanded.append(element)
    return expanded


def _included(element: IncludeElement, context: Context) -> LaunchDescription | None:
    """Reads the file of an `include`; None if its path needs an argument, or it cannot be read."""
    try:
        return load_launch_file(evaluate(element.file, context))
    except LaunchFileError:
        return None


def _absolute(path: str | Path) -> Path:
    """Makes a path absolute and removes `..`, without following links."""
    return Path(os.path.normpath(Path(path).absolute()))


def _collect(
    elements: Sequence[Element], context: Context, found: dict[str, Argument], collected: set[str], conditional: bool
) -> bool:
    complete = True
    for element in elements:
        optional = conditional or element.condition is not None
        if isinstance(element, ArgumentElement):
            found.setdefault(element.argument.name, replace(element.argument, conditional=optional))
        elif isinstance(element, GroupElement):
            complete &= _collect(element.children, context, found, collected, optional)
        elif isinstance(element, IncludeElement):
            included = _included(element, context)
            complete &= included is not None and included._collect(found, collected, context, optional)
    return complete


def _unique_names(processes: Sequence[ProcessSpec]) -> list[ProcessSpec]:
    """Makes the names of processes unique: by namespace, and if that is not enough by number."""
    names = [process.name for process in processes]
    full = [
        (process.fully_qualified_name or name).lstrip("/") if names.count(name) > 1 else name
        for process, name in zip(processes, names, strict=True)
    ]
    unique = [
        f"{name}-{full[: index + 1].count(name)}" if full.count(name) > 1 else name for index, name in enumerate(full)
    ]
    return [replace(process, name=name) for process, name in zip(processes, unique, strict=True)]


_Evaluated = dict[str, Scalar | list[Scalar]]


@dataclass
class _Evaluation:
    """One pass over a launch file and the files it includes.

    Attributes:
        given: argument of the user that determines an argument or value, by its name.
        collected: paths of the files whose arguments are in `known`.
    """

    context: Context
    find_executable: Callable[[str, str], str]
    parameter_directory: Path | None
    known: dict[str, Argument]
    given: dict[str, str]
    processes: list[ProcessSpec] = field(default_factory=list)
    collected: set[str] = field(default_factory=set)
    depth: int = 0

    def visit(self, elements: Sequence[Element]) -> None:
        for element in elements:
            with located(element.where):
                if element.condition is None or (
                    evaluate_condition(element.condition, self.context) != element.negated
                ):
                    self._execute(element)

    def _execute(self, element: Element) -> None:
        if isinstance(element, ArgumentElement):
            self._declare(element)
        elif isinstance(element, LetElement):
            self._set(element.name, element.value)
        elif isinstance(element, SetEnvironmentElement):
            self._set_environment(self._text(element.name), self._text(element.value))
        elif isinstance(element, GroupElement):
            self._group(element)
        elif isinstance(element, IncludeElement):
            self._include(element)
        elif isinstance(element, NamespaceElement):
            base = self.context.configurations.get("ros_namespace")
            namespace = join_namespace(base, self._text(element.namespace)) or "/"
            self.context.configurations["ros_namespace"] = valid_namespace(namespace)
        elif isinstance(element, NodeElement):
            self._node(element)
        elif isinstance(element, ExecutableElement):
            command = [self._text(argument) for argument in element.command]
            if not command[0]:
                raise LaunchFileError("attribute 'cmd' is empty")
            own = element.process.name
            name = Path(command[0]).name if own is None else self._text(own)
            self._add(element.process, element.where, name, command)

    def _text(self, template: Template) -> str:
        return evaluate(template, self.context)

    def _set(self, name_template: Template, value: Template) -> None:
        name = self._text(name_template)
        if name in _SETTINGS:
            raise LaunchFileError(f"'{name}' is a setting of ros2 launch that this runner does not know")
        self.context.configurations[name] = self._text(value)
        self._trace(name, value)

    def _trace(self, name: str, value: Template) -> None:
        """Stores the argument of the user that determines a value, if there is one."""
        origin = self._origin(value)
        if origin is not None:
            self.given[name] = origin

    def _origin(self, value: object) -> str | None:
        """Returns the argument of the user that determines a value; the first one of several, by variable name."""
        return next((self.given[name] for name in sorted(variables_in(value)) if name in self.given), None)

    def _declare(self, element: ArgumentElement) -> None:
        argument, values = element.argument, self.context.configurations
        if argument.name not in values:
            if element.default is None:
                raise LaunchFileError(describe_missing(argument))
            values[argument.name] = self._text(element.default)
            self._trace(argument.name, element.default)
        value = values[argument.name]
        if argument.choices is not None and value not in argument.choices:
            choices = ", ".join(argument.choices)
            raise LaunchFileError(f"argument '{argument.name}' is '{value}' but has to be one of: {choices}")

    def _set_environment(self, name: str, value: str) -> None:
        if not name or "=" in name or "\0" in name:
            raise LaunchFileError(f"attribute 'name' has to be the name of an environment variable, not {name!r}")
        self.context.environment = {**self.context.environment, name: value}

    def _group(self, element: GroupElement) -> None:
        configurations, environment = self.context.configurations.copy(), self.context.environment
        self.visit(element.children)
        if element.scoped:
            self.context.configurations, self.context.environment = configurations, environment

    def _include(self, element: IncludeElement) -> None:
        path = _absolute(self._text(element.file))
        if self.depth >= _MAXIMUM_DEPTH:
            raise LaunchFileError(f"more than {_MAXIMUM_DEPTH} files include each other; the last is {path}")
        description = load_launch_file(path)
        self.context.directory = str(path.parent)
        missing = missing_argument(description.elements, [self._text(name) for name, _ in element.arguments])
        if missing is not None:
            raise LaunchFileError(f"{path} requires the argument '{missing.name}'; the include has to give it")
        for name, value in element.arguments:
            self._set(name, value)
        description._collect(self.known, self.collected, replace(self.context, configurations={}))
        self.depth += 1
        with included_by(element.where):
            self.visit(description.elements)
        self.depth -= 1

    def _node(self, element: NodeElement) -> None:
        """Builds a node's command line; the order of its parts is that of `ros2 launch`."""
        executable = self._text(element.executable)
        if element.package is not None:
            executable = self.find_executable(self._text(element.package), executable)
        name = None if element.process.name is None else valid_name(self._text(element.process.name))
        own = None if element.namespace is None else self._text(element.namespace)
        namespace = join_namespace(self.context.configurations.get("ros_namespace"), own)
        command = [executable, *(self._text(argument) for argument in element.arguments), "--ros-args"]
        if name is not None:
            command += ["-r", f"__node:={name}"]
        if namespace is not None:
            command += ["-r", f"__ns:={valid_namespace(namespace)}"]
        full_name = None if name is None else (namespace or "").rstrip("/") + "/" + name
        given: dict[str, str] = {}
        for entry in element.parameters:
            with located(entry.where):
                key = full_name if namespace is not None else None
                command += ["--params-file", self._parameter_file(entry, key or "/**", given)]
        for source, target in element.remappings:
            command += ["-r", f"{valid_topic(self._text(source))}:={valid_topic(self._text(target))}"]
        self._add(element.process, element.where, name or Path(executable).name, command, full_name, given)

    def _parameter_file(self, entry: Parameters, key: str, given: dict[str, str]) -> str:
        if entry.file is not None:
            return checked_file(self._text(entry.file))
        parameters: _Evaluated = {}
        self._flatten(entry, "", parameters, given)
        if self.parameter_directory is None:
            self.parameter_directory = Path(tempfile.mkdtemp(prefix="haptic_launch_"))
            atexit.register(shutil.rmtree, self.parameter_directory, ignore_errors=True)
        return write_parameters({key: parameters}, self.parameter_directory)

    def _flatten(self, entry: Parameters, prefix: str, result: _Evaluated, given: dict[str, str]) -> None:
        """Evaluates nested parameters to names with dots; adds the arguments that determine them to `given`."""
        name = prefix + self._text(entry.name)
        if isinstance(entry.value, ParameterValue):
            result[name] = entry.value.evaluate(self.context)
            if (origin := self._origin(entry.value.value)) is not None:
                given[name] = origin
        for nested in entry.nested:
            with located(nested.where):
                self._flatten(nested, name + ".", result, given)

    def _add(
        self,
        process: ProcessAttributes,
        where: str,
        name: str,
        command: list[str],
        full_name: str | None = None,
        given: Mapping[str, str] | None = None,
    ) -> None:
        output = "screen" if process.output is None else self._text(process.output)
        if output not in _OUTPUTS:
            raise LaunchFileError(f"output is '{output}' but has to be one of: {', '.join(_OUTPUTS)}")
        environment = dict(self.context.environment)
        for variable, value in process.environment:
            environment[self._text(variable)] = self._text(value)
        again = process.respawn is not None and evaluate_condition(process.respawn, self.context)
        respawn_delay = process.respawn_delay if again else None
        self.processes.append(
            ProcessSpec(name, command, environment, process.shuts_down, where, full_name, respawn_delay, given or {})
        )
