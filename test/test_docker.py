"""docker/ names what the repository has. The image itself is not built here."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from haptic_core.environment import REALTIME_PRIORITY
from haptic_core.parameters import load_parameter_specs

ROOT = Path(__file__).parents[1]
DOCKERFILE = (ROOT / "docker" / "Dockerfile").read_text()
COMPOSE = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
PAGE = (ROOT / "docs" / "docker.md").read_text()
WORKSPACE = re.findall(r"^WORKDIR (.*)$", DOCKERFILE, re.MULTILINE)[0]
STAGES = re.findall(r"^FROM (\S+) AS (\w+)$", DOCKERFILE, re.MULTILINE)
PACKAGES = {path.parent.name for path in (ROOT / "src").glob("*/package.xml")}


def experiments() -> set[str]:
    return {path.parent.name for path in (ROOT / "config").glob("*/experiment.yaml")}


def check_command(command: list[str]) -> None:
    """Whether a container can run this: the experiment, launch file or executable exists, and has the parameters."""
    if command[:2] == ["./haptics", "run"]:
        assert command[2] in experiments()
    elif command[:2] == ["ros2", "launch"]:
        assert command[2] in PACKAGES and (ROOT / "launch" / command[3]).exists()
    elif command[:2] == ["ros2", "run"]:
        package, executable = command[2:4]
        assert f'{executable} = "{package}.' in (ROOT / "src" / package / "pyproject.toml").read_text()
        known = set(load_parameter_specs(ROOT / "src" / package / package / f"{executable}.yaml"))
        known |= set(load_parameter_specs(ROOT / "src" / "haptic_core" / "haptic_core" / "rendering_node.yaml"))
        for flag, value in itertools.pairwise(command):
            assert flag != "-p" or value.split(":=")[0] in known, value
    else:
        assert command[0] == "rviz2"


def test_the_images_have_every_ros_package_that_the_suite_depends_on() -> None:
    """RViz is in an image of its own; setup installs what comes from PyPI."""
    installed = set(re.findall(r" (ros-jazzy-[a-z0-9-]+)", DOCKERFILE))
    needed = set()
    for manifest in (ROOT / "src").glob("*/package.xml"):
        for element in ElementTree.parse(manifest).getroot():
            name = element.text or ""
            if not element.tag.endswith("depend") or name in PACKAGES or name.startswith("python3-"):
                continue
            if name.endswith("-pip") or name in ("coal", "pinocchio"):
                continue
            if name.endswith("-dev"):  # a key of the distribution's own
                assert re.search(rf"^ +{re.escape(name)} \\$", DOCKERFILE, re.MULTILINE), name
            else:
                needed.add(f"ros-jazzy-{name.replace('_', '-')}")
    assert needed and needed <= installed, needed - installed


def test_image_installs_the_packages_that_setup_needs() -> None:
    for package in ("python3-venv", "python3-dev", "g++"):
        assert re.search(rf"^ +{re.escape(package)} \\$", DOCKERFILE, re.MULTILINE), package


def test_stages_build_on_each_other_and_run_as_a_user() -> None:
    assert STAGES == [("ros:jazzy", "suite"), ("suite", "rviz")]
    for stage in DOCKERFILE.split("\nFROM ")[1:]:
        assert re.findall(r"^USER (.*)$", stage, re.MULTILINE)[-1] == "${UID}"


def test_entry_point_and_command_of_the_image() -> None:
    entry = re.findall(r'^ENTRYPOINT \["(.*)"\]$', DOCKERFILE, re.MULTILINE)[0]
    script = ROOT / entry.removeprefix(f"{WORKSPACE}/")
    assert os.access(script, os.X_OK)
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0
    assert f"source {WORKSPACE}/.haptics/system/environment.sh" in script.read_text()
    for text in re.findall(r"^CMD (.*)$", DOCKERFILE, re.MULTILINE):
        check_command(yaml.safe_load(text))


def test_the_build_gets_all_that_setup_reads() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    for needed in ("haptics", "src", "launch", "config", "requirements", "docker", "pyproject.toml"):
        assert (ROOT / needed).exists() and needed not in ignored and f"**/{needed}" not in ignored


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_builds_a_stage_and_runs_what_there_is(name: str) -> None:
    service = SERVICES[name]
    build = service["build"]
    assert (ROOT / "docker" / build["context"]).resolve() == ROOT
    assert (ROOT / build["dockerfile"]).exists() and build["target"] in [stage for _, stage in STAGES]
    assert set(build["args"]) == set(re.findall(r"^ARG (\w+)", DOCKERFILE, re.MULTILINE))
    check_command(service["command"])
    assert service["network_mode"] == service["ipc"] == "host"


@pytest.mark.parametrize("name", SERVICES)
def test_service_may_use_the_priority_of_a_realtime_node(name: str) -> None:
    limits = SERVICES[name]["ulimits"]
    assert limits["rtprio"] >= REALTIME_PRIORITY and limits["memlock"] == -1


def test_volumes_lie_where_the_suite_writes() -> None:
    mounted = dict(reversed(volume.split(":")) for volume in SERVICES["experiment"]["volumes"])
    assert mounted.pop(f"{WORKSPACE}/runs") == "../runs"
    script = (ROOT / "tools" / "setup" / "environment.sh.in").read_text()
    for place, volume in mounted.items():
        assert volume in COMPOSE["volumes"] and place == f"{WORKSPACE}/.haptics/system/{volume}"
        assert f"$HAPTICS_ACTIVE/{volume}" in script  # environment.sh puts the cache there
        assert f".haptics/system/{volume}" in DOCKERFILE  # made by the user, so that the volume is the user's


def test_only_the_profile_for_two_machines_leaves_the_machine() -> None:
    for name, service in SERVICES.items():
        away = service.get("profiles") == ["two-machines"]
        expected = "SUBNET" if away else "LOCALHOST"
        assert service["environment"]["ROS_AUTOMATIC_DISCOVERY_RANGE"] == expected, name


def test_the_commands_of_the_page_name_services_profiles_and_experiments() -> None:
    lines = re.findall(r"^docker compose -f (\S+) (.*?)(?: +#.*)?$", PAGE, re.MULTILINE)
    assert len(lines) >= 8
    for file, rest in lines:
        assert (ROOT / file).exists()
        words = rest.split()
        profiles = [words.pop(words.index("--profile") + 1)] if "--profile" in words else []
        words = [word for word in words if not word.startswith("--")]
        action, names, command = words[0], words[1:], []
        if action == "run":
            names, command = words[1:2], words[2:]
        for name in names:
            assert SERVICES[name].get("profiles", []) in ([], profiles), rest
        if command:
            check_command(command)
