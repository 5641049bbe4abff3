"""Every experiment: its metadata, its launch file, and that each launch argument reaches a node."""

from __future__ import annotations

import functools
from importlib import import_module, resources
from pathlib import Path
from typing import Any

import pytest
import yaml
from launched_nodes import launched, parameters_of

from haptic_bags.bags import typestore
from haptic_bags.recorder import _message_class
from haptic_core import composition, rendering_node
from haptic_core.errors import HapticError
from haptic_core.parameters import check_all, load_parameter_specs
from haptic_experiments.configuration_checks import check_configuration
from haptic_launch import experiments, runner
from haptic_launch.experiments import experiment_names, load_experiment
from haptic_launch.file_parameters import declared_parameters
from haptic_launch.launch_file import Argument, LaunchDescription, load_launch_file
from haptic_launch.launch_nodes import launched_nodes
from haptic_launch.processes import VIEWERS, ProcessSpec

NAMES = experiment_names("haptic_bringup")
each_experiment = pytest.mark.parametrize("name", NAMES)

#: take the device node's place, and have its parameters
CONTROL_NODES = ("control_node", "mock_control_node")

Nodes = dict[str, dict[str, Any]]


@functools.cache
def description_of(name: str) -> LaunchDescription:
    return load_launch_file(load_experiment(name).launch_file)


@functools.cache
def arguments_of(name: str) -> list[Argument]:
    return description_of(name).arguments


@functools.cache
def has_argument(argument: str) -> list[str]:
    """Experiments that have an argument of this name."""
    return [name for name in NAMES if argument in {entry.name for entry in arguments_of(name)}]


def evaluate(name: str, arguments: dict[str, str] | None = None) -> Nodes:
    """Parameters of each node that an experiment's launch file starts, by `/namespace/name ... /package/executable`."""
    return nodes_of(launched(description_of(name), arguments))


def nodes_of(processes: list[tuple[ProcessSpec, dict[str, Any]]]) -> Nodes:
    found: Nodes = {}
    for spec, parameters in processes:
        full_name = spec.fully_qualified_name or spec.name
        again = "" if spec.respawn_delay is None else f" again after {spec.respawn_delay} s"
        if not spec.command[0].endswith("/composed_nodes"):
            found[f"{full_name}{again} {spec.command[0]}"] = parameters
            continue
        for node, (executable, values) in composition.split(parameters).items():
            found[f"{full_name.rpartition('/')[0]}/{node} in {spec.name}{again} /{executable}"] = values
    return found


def evaluate_files(name: str, folder: Path, arguments: dict[str, str] | None = None) -> Nodes:
    """Likewise, from the parameter files."""
    specs = description_of(name).evaluate(
        arguments,
        find_executable=lambda package, executable: f"/{package}/{executable}",
        parameter_directory=folder,
    )
    files = {str(path): yaml.load(path.read_text(), yaml.CSafeLoader) for path in folder.iterdir()}
    return nodes_of([(spec, parameters_of(spec, files)) for spec in specs])


def check_parameters(processes: Nodes) -> None:
    """Lets each node's own YAML judge its parameters."""
    base = load_parameter_specs(rendering_node._BASE_FILE)
    for process, parameters in processes.items():
        _, package, executable = process.rpartition(" ")[2].split("/")
        if executable in VIEWERS and executable != "viewer":
            assert set(parameters) <= {"use_sim_time"}
            continue
        file = "device_node" if executable in CONTROL_NODES else executable
        specs = load_parameter_specs(Path(str(resources.files(package) / f"{file}.yaml")))
        check_all(specs if "mode" in specs else {**base, **specs}, parameters)


#: values of arguments whose defaults follow another argument, or whose list has no twice the same
OTHER = {
    "axes": "['x']",
    "backward_friction_force": "1.5",
    "backward_static_force": "7.0",
    "backward_stribeck_velocity": "0.3",
}


def other_value(argument: Argument) -> str:
    """A value that is not the argument's default."""
    default = argument.default or ""
    if argument.name in OTHER:
        return OTHER[argument.name]
    if argument.choices:
        return next(choice for choice in argument.choices if choice != default)
    value = yaml.load(default or "''", yaml.CSafeLoader)
    if isinstance(value, list):
        if isinstance(value[0], str):
            return str([value[0], value[0]])
        return str([entry + 1 if isinstance(entry, int) else 0.5 * entry + 0.125 for entry in value])
    return str(2 * value or 1) if isinstance(value, (int, float)) else default + "z"


@each_experiment
def test_the_metadata_name_what_exists(name: str) -> None:
    experiment = load_experiment(name)
    assert experiment.name == name and experiment.title and experiment.summary
    assert callable(import_module(experiment.report).analyse)
    assert experiment.clock in experiment.recorded.every_tick
    for kind in experiment.topics.values():
        assert _message_class(kind).__name__ == kind.rpartition("/")[2]
        assert kind in typestore().types


@each_experiment
def test_the_defaults_start_nodes_with_parameters_that_they_accept(name: str) -> None:
    processes = evaluate(name)
    assert len(processes) >= 2
    check_parameters(processes)


@each_experiment
def test_the_parameter_files_hold_the_parameters(name: str, tmp_path: Path) -> None:
    assert evaluate_files(name, tmp_path) == evaluate(name)


@pytest.mark.parametrize("name", [name for name in NAMES if load_experiment(name).graph])
def test_launch_file_and_metadata_declare_the_same_graph(name: str) -> None:
    """Sources, inputs, delayed inputs and consumers of the nodes are the edges."""
    graph = load_experiment(name).graph
    nodes = {process.partition(" ")[0].rpartition("/")[2]: values for process, values in evaluate(name).items()}

    def names(node: str, parameter: str) -> set[str]:
        return {x.partition(":")[0] for x in nodes[node].get(parameter, []) if x}

    assert names("device", "sources") == {edge.source for edge in graph if edge.target == "device"}
    for node in nodes.keys() & {edge.source for edge in graph} - {"device"}:
        taken = [edge for edge in graph if edge.target == node and edge.source != "device"]
        assert names(node, "inputs") == {edge.source for edge in taken}
        assert names(node, "delayed_inputs") == {edge.source for edge in taken if edge.delayed}
        given = {edge.target for edge in graph if edge.source == node and edge.target != "device"}
        assert names(node, "consumers") == given


@each_experiment
def test_both_layouts_start_the_same_nodes(name: str) -> None:
    processes, composed = (
        {(key.split()[0], key.split()[-1]): values for key, values in evaluate(name, {"layout": layout}).items()}
        for layout in ("processes", "composed")
    )
    layouts = [
        values.pop("layout") for nodes in (processes, composed) for values in nodes.values() if "layout" in values
    ]
    assert processes == composed and layouts == ["processes", "composed"]  # the recorder's


@each_experiment
def test_nodes_share_a_process_in_lockstep_and_several_renderers_in_realtime_too(name: str) -> None:
    assert evaluate(name) == evaluate(name, {"layout": "composed"})
    renderers = {edge.source for edge in load_experiment(name).graph} - {"device"}
    layout = "processes" if len(renderers) <= 1 else "composed"
    assert evaluate(name, {"mode": "realtime"}) == evaluate(name, {"mode": "realtime", "layout": layout})


@pytest.mark.parametrize("name", has_argument("hardware"))
@pytest.mark.parametrize("mode", ["lockstep", "realtime"])
def test_no_node_shares_a_process_with_a_controller_manager(name: str, mode: str) -> None:
    for hardware in ("ros2_control", "mock"):
        alone = evaluate(name, {"mode": mode, "hardware": hardware})
        assert alone == evaluate(name, {"mode": mode, "hardware": hardware, "layout": "processes"})
        assert not any(" in nodes" in process for process in alone)


@pytest.mark.parametrize("name", sorted({*has_argument("law")} & {*has_argument("friction_coefficient")}))
def test_the_falling_law_of_a_wall_is_accepted_with_the_defaults_of_its_parameters(name: str) -> None:
    check_configuration(launched_nodes(description_of(name), {"law": "stribeck"}), ["law"])


@pytest.mark.slow
@each_experiment
def test_each_argument_reaches_a_node_that_accepts_it_and_each_choice(name: str) -> None:
    plain = evaluate(name)
    with_page = evaluate(name, {"view": "true"}) if name in has_argument("view_port") else {}
    for argument in arguments_of(name):
        others = {"view": "true"} if argument.name.startswith("view_") else {}  # without a page these reach no node
        before = with_page if others else plain
        other = other_value(argument)
        assert argument.description, argument.name
        for value in dict.fromkeys((other, *(argument.choices or ()))):
            try:
                changed = evaluate(name, {**others, argument.name: value})
                # the defaults are accepted, see above
                check_parameters({k: values for k, values in changed.items() if others or values != before.get(k)})
            except Exception as error:
                raise AssertionError(f"{argument.name}:={value}: {error}") from error
            assert changed != before or value != other, f"{argument.name}:={other} reaches no node"


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("friction_")])
def test_friction_experiments_offer_every_law_and_model_of_their_node(name: str) -> None:
    (own,) = (node for node in launched_nodes(description_of(name)) if node.executable.startswith("haptic_friction/"))
    specs = declared_parameters(own.executable)
    assert specs is not None
    for argument in arguments_of(name):
        if argument.name in ("law", "backward_law", "projection", "model"):
            known = set(specs[argument.name].validation["one_of<>"][0])
            left_out = {"parallel"} if own.parameters.get("rendering") == "admittance" else set()
            assert known == {*(argument.choices or ()), *(left_out & known)}, argument.name


@pytest.mark.parametrize("text", ["o'neil", '"', "a: b", "1.0", "true", "[1]", "null", "a # b", "~/x y", "\\"])
@pytest.mark.parametrize("argument", ["output", "letters", "device_file", "hand_file"])
def test_texts_reach_the_nodes_as_they_are(argument: str, text: str, tmp_path: Path) -> None:
    processes = evaluate_files("friction_impedance", tmp_path, {argument: text})
    assert [parameters[argument] for parameters in processes.values() if argument in parameters] == [text]


@each_experiment
def test_variants_differ_in_arguments_that_exist(name: str) -> None:
    variants = list(load_experiment(name).variants.values())
    for settings in variants:
        runner.effective_arguments(description_of(name), settings)
    assert all(variants.count(settings) == 1 for settings in variants)


def test_the_names_of_one_package_are_without_those_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    own = experiments.Home("haptic_bringup", Path("share"), "haptic_experiments.experiments")
    homes = {"slow_slide": own._replace(package="absent_lab"), "rolling_disk": own, "clutter": own}
    monkeypatch.setattr(experiments, "_folders", lambda: homes)
    assert experiment_names() == ["clutter", "rolling_disk", "slow_slide"]
    assert experiment_names("haptic_bringup") == ["clutter", "rolling_disk"]


def test_error_of_an_unknown_experiment_lists_the_known_ones() -> None:
    with pytest.raises(HapticError, match=r"^experiment 'friction_impedence' is unknown, .*\bfriction_impedance\b"):
        load_experiment("friction_impedence")
    with pytest.raises(HapticError, match=r"^experiment '\.\./x' is unknown"):
        load_experiment("../x")


def test_unknown_experiment_is_named_also_with_a_package_without_share_directory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reports = {"haptic_bringup": "haptic_experiments.experiments", "absent_lab": "absent_lab.experiments"}
    monkeypatch.setattr(experiments, "_report_packages", lambda: reports)
    with pytest.raises(HapticError, match=r"; no config/\*/experiment\.yaml is installed in .* of absent_lab$"):
        load_experiment("slow_slide")


@pytest.mark.parametrize("text", ["title: only", "- a list", "", "a: [1", "name: twice"])
def test_invalid_metadata_are_refused_in_one_line(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config/broken").mkdir(parents=True)
    (tmp_path / "config/broken/experiment.yaml").write_text(text)
    monkeypatch.setattr(experiments, "_report_packages", lambda: {"haptic_bringup": "haptic_experiments.experiments"})
    monkeypatch.setattr(experiments, "share", lambda *_: tmp_path)
    with pytest.raises(HapticError, match=r"broken/experiment\.yaml: ") as caught:
        load_experiment("broken")
    assert "\n" not in str(caught.value)
