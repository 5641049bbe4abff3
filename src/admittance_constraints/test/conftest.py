"""Fixtures of the tests of constrained mechanisms."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from admittance_constraints import (
    DiskOnSphere,
    DiskOnSphereAsPrinted,
    Mechanism,
    ReferenceGenerator,
    RollingDisk,
    TwoLinkOnCircle,
)
from admittance_constraints.display import factory
from admittance_constraints.dynamics import kernels

DATA = Path(__file__).with_name("data")

MakeMechanism = Callable[..., Mechanism]


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keeps machine code of these tests in the suite's environment, by content, or else apart from the user's."""
    with pytest.MonkeyPatch.context() as patch:
        if "ADMITTANCE_CONSTRAINTS_CACHE_DIR" not in os.environ:
            patch.setenv("ADMITTANCE_CONSTRAINTS_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def derived_once() -> Iterator[None]:
    """Derives each mechanism of the node, and each step of a mechanism, once: they have no state."""
    made: dict[str, Mechanism] = {}
    make = factory.installed_mechanism

    def installed(name: str, /, **arguments: Any) -> Mechanism:
        key = f"{name} {sorted(arguments.items())}"
        if key not in made:
            made[key] = make(name, **arguments)
        return made[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "step_function", functools.cache(kernels.step_function))
        patch.setattr(factory, "installed_mechanism", installed)
        yield


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the steps of nodes and renderers run in CasADi's virtual machine, without a compiler."""
    monkeypatch.setattr(factory, "ReferenceGenerator", functools.partial(ReferenceGenerator, compiled=False))


@pytest.fixture(scope="session")
def data() -> Callable[[str], Any]:
    """Gives a file of reference data by name."""

    def load(name: str) -> Any:
        path = DATA / name
        return np.load(path) if path.suffix == ".npz" else json.loads(path.read_text())

    return load


@pytest.fixture(scope="session")
def make_mechanism() -> MakeMechanism:
    """Makes the mechanism of a reference case; further arguments go to the class."""
    known: dict[str, Mechanism] = {}

    def make(case: dict[str, Any], **arguments: Any) -> Mechanism:
        key = f"{case['scenario']} {case['params']} {case.get('elbow')} {sorted(arguments.items())}"
        if key not in known:
            known[key] = derive(case, **arguments)
        return known[key]

    def derive(case: dict[str, Any], **arguments: Any) -> Mechanism:
        p, scenario = case["params"], case["scenario"]
        if scenario == "rolling_disk":
            return RollingDisk(mass=p[0], inertia=p[1:4], radius=p[4], **arguments)
        if scenario == "two_r":
            elbow = case.get("elbow") or 1
            return TwoLinkOnCircle(
                link_mass=p[0], link_length=p[1], base=p[2:4], circle_radius=p[4], elbow=elbow, **arguments
            )
        kind = {"disk_on_sphere_corrected": DiskOnSphere, "disk_on_sphere_printed": DiskOnSphereAsPrinted}[scenario]
        return kind(mass=p[0], inertia=p[1:4], sphere_radius=p[4], center=p[5:8], **arguments)

    return make


@pytest.fixture(scope="session")
def derivative() -> Callable[[Callable[[np.ndarray], np.ndarray], np.ndarray], np.ndarray]:
    """Computes a Jacobian by central differences of step 1e-5, accurate to 1e-9 for functions of order one."""

    def differentiate(function: Callable[[np.ndarray], np.ndarray], point: np.ndarray) -> np.ndarray:
        h = 1e-5
        steps = h * np.eye(len(point))
        return np.stack(
            [(np.asarray(function(point + s)) - np.asarray(function(point - s))) / (2 * h) for s in steps], -1
        )

    return differentiate
