"""Records what a change of structure must not change, and compares with the record of before.

    ./haptics exec python tools/behaviour/record.py take OUTPUT [EXPERIMENT ...]
    ./haptics exec python tools/behaviour/record.py compare BEFORE AFTER

`before.tar.xz` is the record of before the redesign; both files go when it ends. Launch families and package names of
executables have changed on purpose since then, and metrics of time (latency, step time) differ in every run.
OUTPUT is a folder with one JSON file per part:

==============  =================================================================================================
runs/NAME.json  metrics.json of the experiment in lockstep, and a hash of each topic's messages by tick and source
graphs/NAME     what ROS 2 sees of the running experiment: nodes, topics, types, services, parameters and values
launch/NAME     arguments of the launch file, and the processes that it starts with their parameters
public          names and signatures of the libraries
==============  =================================================================================================
"""

from __future__ import annotations

import array
import hashlib
import importlib
import inspect
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

LIBRARIES = ("haptic_friction", "admittance_constraints", "convex_contact", "tau_wall_control")
ROOT = Path(os.environ["HAPTICS_ROOT"])


# --- runs ------------------------------------------------------------------------------------------------------


def put(digest: Any, value: Any, skip: tuple[str, ...] = ()) -> None:
    """Adds the fields of a message to a hash."""
    if isinstance(value, np.ndarray):
        digest.update(value.tobytes())
    elif isinstance(value, (list, tuple)):
        for entry in value:
            put(digest, entry)
    elif hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            if name not in skip and name != "__msgtype__":
                put(digest, getattr(value, name))
    else:
        digest.update(repr(value).encode())


def streams(bag: Path) -> dict[str, Any]:
    """Per topic of a bag: type, number of messages, hash of their fields in the order of tick and source."""
    from rosbags.highlevel import AnyReader
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    store = get_typestore(Stores.ROS2_JAZZY)
    for path in sorted((ROOT / "src/haptic_msgs/msg").glob("*.msg")):
        store.register(get_types_from_msg(path.read_text(), f"haptic_msgs/msg/{path.stem}"))
    rows: dict[tuple[str, str], list[tuple[int, str, bytes]]] = {}
    with AnyReader([bag], default_typestore=store) as reader:
        for connection, _, data in reader.messages():
            kind = connection.msgtype
            if kind == "haptic_msgs/msg/TickEvent" or kind.startswith("diagnostic_msgs"):
                continue
            message = reader.deserialize(data, kind)
            digest = hashlib.sha256()
            put(digest, message, ("solve_time",))
            key = (int(getattr(message, "tick", 0)), getattr(message, "source", ""), digest.digest())
            rows.setdefault((connection.topic, kind), []).append(key)
    found = {}
    for (topic, kind), keys in sorted(rows.items()):
        total = hashlib.sha256(b"".join(key[2] for key in sorted(keys)))
        found[topic] = {"type": kind, "messages": len(keys), "sha256": total.hexdigest()}
    return found


def run(name: str, folder: Path) -> dict[str, Any]:
    """Runs an experiment with its default arguments."""
    command = [str(ROOT / "haptics"), "run", name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    (directory,) = (folder / "runs").glob(f"*-{name}")
    bags = {path.parent.name: streams(path.parent) for path in sorted(directory.glob("*/metadata.yaml"))}
    metrics = json.loads((directory / "metrics.json").read_text()) if done.returncode == 0 else done.stderr
    shutil.rmtree(directory)
    return {"exit_code": done.returncode, "metrics": metrics, "streams": bags}


# --- graphs ----------------------------------------------------------------------------------------------------


def processes(name: str) -> tuple[list[Any], list[Any]]:
    """The arguments of a launch file and the processes that it starts."""
    launch_file = importlib.import_module(os.environ.get("LAUNCH_FILE_MODULE", "haptic_launch.launch_file"))
    loaded = launch_file.load_launch_file(launch_path(name))
    parameters = Path(tempfile.mkdtemp())
    arguments = [
        {key: plain(getattr(argument, key)) for key in ("name", "default", "description", "choices")}
        for argument in sorted(loaded.arguments, key=lambda argument: argument.name)
    ]
    given: list[Any] = []
    every = {"record": "true", "passivity": "observe", "view": "true", "rviz": "true"}
    known = {argument["name"] for argument in arguments}
    for settings in ({}, {key: value for key, value in every.items() if key in known}):
        specs = loaded.evaluate(settings, find_executable=lambda p, e: f"{p}/{e}", parameter_directory=parameters)
        given.append({"settings": settings, "processes": sorted((described(spec) for spec in specs), key=str)})
    return arguments, given


def launch_path(name: str) -> Path:
    """Where the launch file of an experiment is installed."""
    from ament_index_python.packages import get_package_share_directory

    return Path(get_package_share_directory("haptic_bringup"), "launch", f"{name}.launch.yaml")


def plain(value: Any) -> Any:
    """A value as JSON can hold it."""
    if isinstance(value, (list, tuple, array.array)):
        return [plain(entry) for entry in value]
    text = str(value).replace(str(ROOT), "ROOT")
    return text if isinstance(value, str) else value if isinstance(value, (int, float, bool, type(None))) else text


def described(spec: Any) -> dict[str, Any]:
    """A process with the contents of its parameter files, in any order of the parameters."""
    from haptic_files import read_yaml

    command, parameters = [], {}
    words = list(spec.command)
    for word in words:
        if word.endswith((".yaml", ".yml")) and Path(word).is_file() and word.startswith(tempfile.gettempdir()):
            for node, values in read_yaml(Path(word)).value.items():
                parameters.setdefault(node, {}).update(values["ros__parameters"])
            word = "PARAMETERS"
        if not (word == "PARAMETERS" and command[-1:] == ["--params-file"] and "PARAMETERS" in command):
            command.append(re.sub(re.escape(str(ROOT)), "ROOT", word))
    while command.count("--params-file") > 1:
        command.pop(len(command) - 1 - command[::-1].index("--params-file"))
    return {"command": command, "parameters": parameters, "name": spec.name}


def graph(name: str) -> dict[str, Any]:
    """What ROS 2 sees of a running experiment."""
    import rclpy
    from rcl_interfaces.srv import GetParameters, ListParameters
    from rclpy.parameter import parameter_value_to_python

    expected = sum("--ros-args" in p["command"] for p in processes(name)[1][0]["processes"])
    folder = Path(tempfile.mkdtemp())
    arguments = ["duration:=100.0"] if any(a["name"] == "duration" for a in processes(name)[0]) else []
    modes = ["mode:=realtime"] if any(a["name"] == "mode" for a in processes(name)[0]) else []
    command = [str(ROOT / "haptics"), "run", name, *modes, *arguments]
    rclpy.init()
    observer = rclpy.create_node("observer")
    log = (folder / "log").open("w")
    child = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, start_new_session=True)
    try:
        seen: dict[str, Any] = {}
        steady = time.monotonic()
        while time.monotonic() - steady < 2.0 and child.poll() is None:
            rclpy.spin_once(observer, timeout_sec=0.05)
            now = {}
            for node, space in observer.get_node_names_and_namespaces():
                if node == "observer":
                    continue
                by = (observer.get_publisher_names_and_types_by_node, observer.get_subscriber_names_and_types_by_node)
                by += (observer.get_service_names_and_types_by_node,)
                try:
                    now[f"{space.rstrip('/')}/{node}"] = [sorted(map(list, ask(node, space))) for ask in by]
                except Exception:
                    continue
            if now != seen or len(now) < expected:
                seen, steady = now, time.monotonic()
        found = {}
        for path, (publishers, subscribers, services) in sorted(seen.items()):
            lister = observer.create_client(ListParameters, f"{path}/list_parameters")
            getter = observer.create_client(GetParameters, f"{path}/get_parameters")
            try:
                lister.wait_for_service(60.0)
                future = lister.call_async(ListParameters.Request())
                rclpy.spin_until_future_complete(observer, future, timeout_sec=60.0)
                names = sorted(future.result().result.names)
                future = getter.call_async(GetParameters.Request(names=names))
                rclpy.spin_until_future_complete(observer, future, timeout_sec=60.0)
                answers = map(parameter_value_to_python, future.result().values)
                values = {key: plain(value) for key, value in zip(names, answers, strict=True) if key != "output"}
            except AttributeError:
                values = {"unanswered": True, "exit_code": child.poll()}
            found[path] = {
                "publishers": publishers,
                "subscribers": subscribers,
                "services": services,
                "parameters": values,
            }
        return {"exit_code": child.poll(), "nodes": found}
    finally:
        os.killpg(child.pid, signal.SIGINT)
        child.wait()
        observer.destroy_node()
        rclpy.shutdown()
        shutil.rmtree(folder)


# --- libraries -------------------------------------------------------------------------------------------------


def public() -> dict[str, Any]:
    """Names, signatures and methods of each library."""
    found: dict[str, Any] = {}
    for library in LIBRARIES:
        module = importlib.import_module(library)
        found[library] = {name: signature(getattr(module, name)) for name in sorted(module.__all__)}
    return found


def signature(value: Any) -> Any:
    """The signature of a function, those of a class and its public methods, the type of another value."""

    def of(function: Any) -> str:
        try:
            return re.sub(r" at 0x[0-9a-f]+", "", str(inspect.signature(function)))
        except (TypeError, ValueError):
            return "?"

    if inspect.isclass(value):
        methods = {
            name: of(entry) if callable(entry) else type(entry).__name__
            for name, entry in inspect.getmembers(value)
            if not name.startswith("_")
        }
        return {"class": of(value), "members": methods}
    return of(value) if callable(value) else type(value).__name__


# --- the command -----------------------------------------------------------------------------------------------


def write(path: Path, value: Any) -> None:
    """Writes a part of the record."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n")


def take(output: Path, names: list[str]) -> None:
    """Takes the record of some experiments, all by default, beside what exists."""
    parts = os.environ.get("PARTS", "public,launch,graphs,runs").split(",")
    every = sorted(path.name.split(".")[0] for path in launch_path("x").parent.glob("*.launch.yaml"))
    if "public" in parts:
        write(output / "public.json", public())
    folder = Path(tempfile.mkdtemp())
    for name in names or every:
        print(name, flush=True)
        if "launch" in parts:
            arguments, given = processes(name)
            write(output / "launch" / f"{name}.json", {"arguments": arguments, "evaluations": given})
        if "graphs" in parts:
            write(output / "graphs" / f"{name}.json", graph(name))
        if "runs" in parts:
            write(output / "runs" / f"{name}.json", run(name, folder))


def differences(before: Any, after: Any, path: str = "") -> list[str]:
    """Where two JSON values differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        keys = sorted(before.keys() | after.keys())
        return [d for k in keys for d in differences(before.get(k), after.get(k), f"{path}/{k}")]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [d for i, (a, b) in enumerate(zip(before, after, strict=True)) for d in differences(a, b, f"{path}/{i}")]
    return [] if before == after else [f"{path}: {str(before)[:300]} -> {str(after)[:300]}"]


def compare(before: Path, after: Path) -> int:
    """Compares the parts that both records have."""
    found = 0
    for path in sorted(after.rglob("*.json")):
        other = before / path.relative_to(after)
        values = [json.loads(p.read_text()) if p.exists() else None for p in (other, path)]
        for line in differences(*values, str(path.relative_to(after))):
            found += 1
            print(line)
    print(f"{found} differences")
    return min(found, 1)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["take", output, *names]:
            take(Path(output), names)
        case ["compare", before, after]:
            sys.exit(compare(Path(before), Path(after)))
        case _:
            sys.exit(__doc__)
