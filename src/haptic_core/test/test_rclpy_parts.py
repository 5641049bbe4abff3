"""Private parts of rclpy that the suite needs exist, and only `rclpy_parts` uses them."""

from __future__ import annotations

from pathlib import Path

import pytest
import rclpy
from rclpy.context import Context

import haptic_core.rclpy_parts
from haptic_core.rclpy_parts import RCLError

SOURCES = Path(haptic_core.rclpy_parts.__file__).resolve().parents[2]


def test_refusal_by_rcl_is_an_rcl_error() -> None:
    with pytest.raises(RCLError):
        rclpy.init(args=["--ros-args", "-r", "no remapping"], context=Context())


def test_one_module_imports_the_inner_parts_of_rclpy() -> None:
    found = [path.name for path in SOURCES.glob("*/*/**/*.py") if "rclpy.impl" in path.read_text()]
    assert [name for name in found if not name.startswith("test_")] == ["rclpy_parts.py"]
