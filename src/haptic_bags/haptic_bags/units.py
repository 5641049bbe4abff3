"""Units of the columns of a bag, from the comments of haptic_msgs."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

_FIELD = re.compile(r"(?P<type>\S+) +(?P<name>\w+) *# *(?P<units>\[[^]]*\](?:(?:,| or) \[[^]]*\])*)")


@cache
def units_of(kind: str) -> dict[str, tuple[str, ...]]:
    """Finds the units of a message's fields.

    Args:
        kind: message type, as haptic_msgs/msg/DeviceState.

    Returns:
        Unit of each component by field, as "m/s", "rad or m" or "-"; a single entry holds for all components. A field
        whose comment names no unit is absent, as are all fields of a package that installs no comments.
    """
    package, _, name = kind.split("/")
    try:
        path = Path(get_package_share_directory(package)) / "with_comments" / f"{name}.msg"
    except PackageNotFoundError:
        return {"stamp": ("s",)}
    units: dict[str, tuple[str, ...]] = {"stamp": ("s",)}
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
        found = _FIELD.match(line)
        if found is None:
            continue
        first, *second = re.sub(r"[][]", "", found["units"]).split(", ")
        if found["type"] == "geometry_msgs/Pose":
            units[found["name"]] = (first,) * 3 + ("-",) * 4
        else:  # of a twist, an acceleration or a wrench the linear part comes first
            units[found["name"]] = (first,) * 3 + (second[0],) * 3 if second else (first,)
    return units


def unit_of(kind: str, leaf: str) -> str:
    """Returns the unit of a field of `haptic_bags.bag_comparison.leaves`, as "N" of tool_wrench.force; "" for none."""
    if leaf == "header.stamp":
        return "ns"
    name, _, part = leaf.partition(".")
    units = units_of(kind).get(name, ("",))
    return units[-1 if part in ("torque", "angular", "orientation") else 0]
