"""C++ and Python use the same depths of their QoS profiles."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from haptic_core import qos

PACKAGE = Path(__file__).parents[1]
HEADER = PACKAGE / "include" / "haptic_hardware" / "qos.hpp"
DEPTHS = dict(re.findall(r"constexpr std::size_t (\w+) = (\d+);", HEADER.read_text()))


@pytest.mark.parametrize("name", ["DEPTH", "KEPT_TICKS", "EVENT_DEPTH"])
def test_a_depth_is_the_same_in_both_languages(name: str) -> None:
    assert int(DEPTHS[name.lower()]) == getattr(qos, name)


def test_no_depth_stands_elsewhere() -> None:
    sources = [path.read_text() for path in (*PACKAGE.glob("src/*.cpp"), *PACKAGE.glob("include/*/*.hpp"))]
    assert len(DEPTHS) == 3 and sources
    assert [text for source in sources for text in re.findall(r"QoS\(\s*\d+.*\)", source)] == []
