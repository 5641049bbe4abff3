"""What the libraries answer to recorded device states, computed in a fresh process like a node's.

In a process that has run many other tests, and compiled much of the code itself, last bits have been seen to differ.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np


def in_a_fresh_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a function of this module."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def wall_efforts(parameters: dict[str, Any], position: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """Efforts (n, 6) of the walls that the parameters of `wall_node` describe, at joint states (n, 6)."""
    from tau_wall_control import WallRenderer

    walls = WallRenderer.from_parameters(parameters)
    return np.array([walls.step(q, v).torque for q, v in zip(position, velocity, strict=True)])


def contact_answers(parameters: dict[str, Any], poses: np.ndarray, twists: np.ndarray) -> dict[str, np.ndarray]:
    """Wrenches (n, 6) and bodies (n, ...) of the world that the parameters of `contact_node` describe."""
    from convex_contact import ContactRenderer
    from convex_contact.node import worlds_folder

    renderer = ContactRenderer.from_parameters(parameters, worlds_folder())
    answers: dict[str, list[np.ndarray]] = {"wrench": []}
    for pose, twist in zip(poses, twists, strict=True):
        answer = renderer.step(pose, twist)
        answers["wrench"].append(answer.wrench)
        bodies = answer.bodies
        for name in ("position", "orientation", "velocity", "angular_velocity"):
            answers.setdefault(name, []).append(getattr(bodies, name).ravel().copy())
    return {name: np.array(values) for name, values in answers.items()}
