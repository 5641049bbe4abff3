"""Parameters that name files: no node of the domain changes them in a configured node, and none learns of a file."""

from __future__ import annotations

import itertools
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.node import Node
from rclpy.parameter import Parameter

from convex_contact.node import ContactNode
from haptic_bags.player import Player
from haptic_bags.recorder import Recorder
from haptic_core.parameters import ParameterSpec, load_parameter_specs
from haptic_core.suite_node import SuiteNode
from haptic_devices.node.device_node import DeviceNode
from haptic_friction.comparison_node import ComparisonNode
from haptic_friction.network_node import NetworkNode
from haptic_friction.node import FrictionNode
from haptic_verification.fuzz.readers import small_bag
from tau_wall_control.node import WallNode

ROOT = Path(__file__).parents[3]
CANARY = "canary_7310457"
#: what names a file in a parameter's name or description
NAMES_A_FILE = re.compile(r"file|path|folder|director|\bbag\b|\bCSV\b|\bYAML\b", re.IGNORECASE)
#: parameters that only speak of files
NO_FILES = {
    "device_parameters": "numbers that replace those of a file",
    "hand_parameters": "numbers that replace those of a file",
    "mechanism_parameters": "numbers of a mechanism, in YAML",
    "scheme": "without effect beside controller_file",
    "per_axis": "a number",
    "thermal_limit": "a switch",
}
#: nodes by parameter file, with the parameters that a test needs: without files of their own, and quick to configure
NODES: dict[str, tuple[type[SuiteNode], dict[str, Any]]] = {
    "friction_node": (FrictionNode, {}),
    "comparison_node": (ComparisonNode, {}),
    "network_node": (NetworkNode, {}),
    "contact_node": (ContactNode, {}),
    "device_node": (DeviceNode, {"motion": "to_and_fro"}),
    "wall_node": (WallNode, {"scheme": "sopc"}),
    "recorder": (Recorder, {"output": "BAG"}),
    "player": (Player, {"bag": "PLAYED"}),
}


def parameter_files() -> dict[str, Path]:
    """All files that declare parameters, by name; the others hold the numbers of devices."""
    found = sorted((ROOT / "src").glob("*/*/*.yaml"))
    return {path.stem: path for path in found if "default_value:" in path.read_text()}


def file_parameters(name: str) -> dict[str, ParameterSpec]:
    """Of a node, but for `params_file`, which all have and which only acts at the start (test_parameter_files)."""
    specs = load_parameter_specs(parameter_files()[name])
    return {key: spec for key, spec in specs.items() if spec.file and key != "params_file"}


FILE_PARAMETERS = [(node, name) for node in NODES for name in file_parameters(node)]


# ---- declarations ---------------------------------------------------------------------------------


def test_every_parameter_that_names_a_file_is_declared_as_such() -> None:
    spoken_of = set()
    for path in parameter_files().values():
        for name, spec in load_parameter_specs(path).items():
            if spec.file or not NAMES_A_FILE.search(f"{name.replace('_', ' ')} {spec.description}"):
                continue
            assert name in NO_FILES, f"{path.name}: {name}: names a file, or belongs into NO_FILES"
            spoken_of.add(name)
    assert spoken_of == set(NO_FILES)


def test_every_node_with_such_a_parameter_is_tested() -> None:
    assert {name for name in parameter_files() if file_parameters(name)} == set(NODES)


# ---- nodes on a live graph ------------------------------------------------------------------------

#: files that are opened, while a test looks
_opened: list[str] | None = None


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if _opened is not None and event in ("open", "os.listdir", "os.scandir") and isinstance(arguments[0], (str, Path)):
        _opened.append(str(arguments[0]))


sys.addaudithook(_note)


class Bench:
    """A node and a client of its parameter services."""

    _namespaces = (f"/files_{os.getpid()}_{number}" for number in itertools.count())

    def __init__(self, context: Context, name: str, folder: Path) -> None:
        kind, values = NODES[name]
        made = {"BAG": str(folder / "recorded"), "PLAYED": str(folder / "played")}
        if "PLAYED" in values.values():
            small_bag(folder / "played")
        overrides = [Parameter(key, value=made.get(value, value)) for key, value in values.items()]
        options = {"context": context, "namespace": next(self._namespaces)}
        self.node: Any = kind(parameter_overrides=overrides, **options)
        self.client = Node("client", **options)
        self.executor = SingleThreadedExecutor(context=context)
        self.executor.add_node(self.node)
        self.executor.add_node(self.client)
        names = {SetParameters: "set_parameters", SetParametersAtomically: "set_parameters_atomically"}
        self.services = {
            kind: self.client.create_client(kind, f"{self.node.get_name()}/{service}")
            for kind, service in names.items()
        }

    def configure(self) -> bool:
        return bool(self.node.trigger_configure() == TransitionCallbackReturn.SUCCESS)

    def set(self, service: type, **values: Any) -> list[Any]:
        """Results of a call of a parameter service."""
        client = self.services[service]
        assert client.wait_for_service(60.0)
        parameters = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        future = client.call_async(service.Request(parameters=parameters))
        self.executor.spin_until_future_complete(future, 60.0)
        answer = future.result()
        return list(answer.results) if service is SetParameters else [answer.result]

    def close(self) -> None:
        self.executor.shutdown()
        self.node.destroy_node()
        self.client.destroy_node()


@pytest.fixture(scope="module")
def bench(context: Context, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Bench]]:
    made: dict[str, Bench] = {}

    def get(name: str) -> Bench:
        if name not in made:
            made[name] = Bench(context, name, tmp_path_factory.mktemp(name))
        return made[name]

    yield get
    for one in made.values():
        one.close()


def files(folder: Path) -> dict[str, Path]:
    """Files that a refusal must not tell from each other."""
    there, fifo = folder / "there.yaml", folder / "fifo.yaml"
    if not there.exists():
        there.write_text(f"{CANARY}: 1\n")
        os.mkfifo(fifo)
    return {"there": there, "missing": folder / "missing.yaml", "fifo": fifo, "directory": folder}


def shaped(spec: ParameterSpec, value: str) -> Any:
    return [f"a={value}"] if spec.type.endswith("_array") else value


@pytest.mark.parametrize(("node", "name"), FILE_PARAMETERS)
def test_a_file_cannot_be_chosen_once_the_node_is_configured(
    node: str, name: str, bench: Callable[[str], Bench], tmp_path: Path
) -> None:
    """Every file is refused in the same words, whole, and none is opened."""
    global _opened
    one = bench(node)
    assert one.node.configured or one.configure()
    spec = file_parameters(node)[name]
    before = dict(one.node.parameters)
    reasons: set[str] = set()
    tried = files(tmp_path)
    for service in (SetParameters, SetParametersAtomically):
        for path in tried.values():
            _opened = []
            results = one.set(service, **{name: shaped(spec, str(path))})
            opened, _opened = _opened, None
            assert not results[0].successful
            assert not [entry for entry in opened if str(tmp_path) in entry]
            reasons.add(results[0].reason)
    assert len(reasons) == 1, reasons
    reason = reasons.pop()
    assert name in reason and "\n" not in reason and CANARY not in reason and str(tmp_path) not in reason
    assert one.node.parameters == before and one.node.configured
    assert list(np.atleast_1d(one.node.get_parameter(name).value)) == list(np.atleast_1d(before[name]))


def test_a_change_of_a_file_takes_nothing_else_with_it(bench: Callable[[str], Bench]) -> None:
    one = bench("friction_node")
    assert one.node.configured or one.configure()
    stiffness, model = one.node.parameters["stiffness"], one.node.model
    (result,) = one.set(SetParametersAtomically, stiffness=2 * stiffness, law_file="/etc/passwd")
    expected = "law_file: is fixed once the node is configured; clean the node up before it is set"
    assert (result.successful, result.reason) == (False, expected)
    assert one.node.parameters["stiffness"] == one.node.get_parameter("stiffness").value == stiffness
    assert one.node.model is model
    (result,) = one.set(SetParametersAtomically, stiffness=2 * stiffness, law_file="")  # as it is
    assert result.successful and one.node.parameters["stiffness"] == 2 * stiffness


def test_a_file_may_be_chosen_before_configuration_and_after_cleanup(
    context: Context, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    one = Bench(context, "friction_node", tmp_path)
    table, foreign = tmp_path / "table.csv", tmp_path / "foreign"
    table.write_text("speed,force\n0,4\n1,3\n")
    foreign.write_text(f"{CANARY}:x:0:0:\n")
    try:
        for _ in range(2):
            (result,) = one.set(SetParametersAtomically, law="table", law_file=str(foreign))
            assert result.successful and not one.configure()
            (result,) = one.set(SetParameters, law_file=str(table))
            assert result.successful and one.configure()
            (result,) = one.set(SetParameters, law_file=str(foreign))
            assert not result.successful and one.node.parameters["law_file"] == str(table)
            assert one.node.trigger_cleanup() == TransitionCallbackReturn.SUCCESS
    finally:
        one.close()
    log = capfd.readouterr().err
    assert log.count("line 1: expected the header speed,force, got a text of") == 2
    assert CANARY not in log


def test_a_file_that_has_changed_since_is_not_quoted_by_the_refusal_of_another_parameter(
    context: Context, tmp_path: Path
) -> None:
    one = Bench(context, "friction_node", tmp_path)
    table = tmp_path / "table.csv"
    table.write_text("speed,force\n0,4\n1,3\n")
    try:
        assert one.set(SetParametersAtomically, law="table", law_file=str(table))[0].successful and one.configure()
        for content in (CANARY, f"speed,force\n0,4\n1,{CANARY}\n", "speed,force\n0,4\n1,-7310457\n"):
            table.write_text(content)
            (result,) = one.set(SetParametersAtomically, stiffness=7000.0)
            assert not result.successful and "law_file: " in result.reason
            assert CANARY not in result.reason and "7310457" not in result.reason
    finally:
        one.close()


def contents() -> dict[str, bytes]:
    """Files of which no word may come back."""
    good = b"speed,force\n0,4\n1,3\n"
    return {
        "accounts": f"{CANARY}:x:0:0:{CANARY}:/root:/bin/bash\n".encode(),
        "key": f"{CANARY}: 1\n".encode(),
        "no YAML": f"a: [{CANARY}\nb: c\n".encode(),
        "tag": f"a: !{CANARY} x\n".encode(),
        "alias": f"a: *{CANARY}\n".encode(),
        "list": f"[{CANARY}]\n".encode(),
        "encoding": f"{CANARY}\xff".encode("latin-1"),
        "world": f"bodies: [{{name: {CANARY}, mass: {CANARY}, shape: {{type: {CANARY}}}}}]\n".encode(),
        "mechanism": f"frame: {{gravity: {CANARY}, {CANARY}: 1}}\n".encode(),
        "numbers": f"inertia: {CANARY}\nstiffness: {CANARY}\nmass: {CANARY}\n".encode(),
        "table": good.replace(b"1,3", CANARY.encode()),
        "script": f"time,{CANARY}\n0,1\n".encode(),
        "values": f"time,force_0\n0,{CANARY}\n".encode(),
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("node", "name", "values", "suffix"),
    [
        ("friction_node", "law_file", {"law": "table"}, ".csv"),
        ("comparison_node", "law_file", {"law": "table"}, ".csv"),
        ("network_node", "law_file", {"law": "table"}, ".csv"),
        ("contact_node", "world", {}, ".yaml"),
        *(
            ("device_node", "device_file", {"device": device, "held": False}, ".yaml")
            for device in ("joystick", "five_bar", "cobotic_hand_controller", "tau", "scripted")
        ),
        ("device_node", "device_file", {"device": "scripted"}, ".csv"),
        ("device_node", "hand_file", {}, ".yaml"),
        ("device_node", "motion", {}, ".csv"),
        ("wall_node", "device_file", {}, ".yaml"),
        ("wall_node", "controller_file", {}, ".npz"),
    ],
)
def test_a_node_that_is_not_configured_quotes_nothing_of_the_file(
    node: str, name: str, values: dict[str, Any], suffix: str, context: Context, tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    one = Bench(context, node, tmp_path)
    one.node.parameters.update(values)
    path = tmp_path / f"file{suffix}"
    try:
        for label, content in contents().items():
            path.write_bytes(content)
            one.node.parameters[name] = str(path)
            assert not one.configure(), label
            log = capfd.readouterr().err
            assert "configure refused: " in log and (path.name in log or name in log), label
            assert CANARY not in log, label
        path.unlink()
        os.mkfifo(path)
        assert not one.configure()
        assert "expected a regular file, got a FIFO" in capfd.readouterr().err
    finally:
        one.close()


def test_a_player_quotes_nothing_of_what_is_no_bag(
    context: Context, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    one = Bench(context, "player", tmp_path)
    bag = tmp_path / "played"
    try:
        for content in contents().values():
            (bag / "metadata.yaml").write_bytes(content)
            assert not one.configure()
            log = capfd.readouterr().err
            assert "not a readable bag" in log and CANARY not in log
        (bag / "metadata.yaml").unlink()
        os.mkfifo(bag / "metadata.yaml")
        assert not one.configure()
        assert "expected a regular file, got a FIFO" in capfd.readouterr().err
    finally:
        one.close()


@pytest.mark.parametrize("entry", [f"{CANARY}.x=1", "bodies.x.mass=1"])
def test_an_entry_for_a_world_quotes_nothing_of_its_file(
    entry: str, context: Context, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    one = Bench(context, "contact_node", tmp_path)
    path = tmp_path / "secret.yaml"
    path.write_text("secret_key: hidden\nbodies: {secret_name: 1}\n")
    one.node.parameters.update(world=str(path), world_parameters=[entry])
    try:
        assert not one.configure()
        log = capfd.readouterr().err
        assert "configure refused: entry" in log and not re.search("secret_key|hidden|secret_name", log)
    finally:
        one.close()
