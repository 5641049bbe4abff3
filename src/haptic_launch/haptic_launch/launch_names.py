"""Names and namespaces of nodes by the rules of ROS 2."""

from __future__ import annotations

import re

from .launch_substitutions import LaunchFileError


def join_namespace(base: str | None, namespace: str | None) -> str | None:
    """Joins a relative namespace to that of the group, and makes it absolute; None if neither is given."""
    joined = base if namespace is None else namespace
    if joined is None:
        return None
    if base and namespace is not None and not namespace.startswith("/"):
        joined = f"{base.rstrip('/')}/{namespace}"
    joined = joined.rstrip("/")
    return joined if joined.startswith("/") else f"/{joined}"


def valid_namespace(namespace: str) -> str:
    """Checks each part of a namespace by the rules of ROS 2."""
    for token in namespace.split("/")[1:] if namespace != "/" else []:
        valid_name(token, f"namespace '{namespace}'")
    return namespace


def valid_name(name: str, what: str | None = None) -> str:
    """Checks a name (or a part of a namespace) by the rules of ROS 2."""
    if not name.isascii() or not name.isidentifier() or len(name) > 255:
        raise LaunchFileError(
            f"{what or f'node name {name!r}'} is not valid: letters, digits and _ only, no digit first"
        )
    return name


#: side of a remapping: name of a topic, a service, `__node` or `__ns`, with `node:` or a scheme before it
_REMAPPED = re.compile(r"(?:\w+:)?(?:ros(?:topic|service)://)?~?[\w/{}]+", re.ASCII)


def valid_topic(name: str) -> str:
    """Checks one side of a remapping by the rules of ROS 2."""
    if not _REMAPPED.fullmatch(name):
        raise LaunchFileError(
            f"remapped name {name!r} is not valid: letters, digits, _ and / only, after ~ or rostopic://"
        )
    return name
