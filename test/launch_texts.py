"""Texts of launch files, and what the processes of their evaluation hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from haptic_launch.launch_file import ProcessSpec

Launch = Callable[..., list[ProcessSpec]]


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(f"  {line}\n" for line in text.strip("\n").splitlines())
    path.write_text(f"launch:\n{lines}" if lines else "launch: []\n")
    return path


def say(text: str) -> str:
    return f"- executable: {{cmd: {yaml.safe_dump(text, default_style=chr(34), width=1000).strip()}}}\n"


def said(processes: list[ProcessSpec]) -> list[str]:
    return [" ".join(process.command) for process in processes]


def parameters(process: ProcessSpec) -> list[dict[str, Any]]:
    """The contents of the parameter files of a node, in order."""
    files = [b for a, b in zip(process.command, process.command[1:], strict=False) if a == "--params-file"]
    return [yaml.safe_load(Path(file).read_text()) for file in files]


ARGUMENTS = """
- arg: {name: text, default: x y}
- arg: {name: number, default: "3"}
- arg: {name: "on", default: "true"}
- arg: {name: empty, default: ""}
"""
