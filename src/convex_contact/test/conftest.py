"""What the tests of the contact solver share."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from convex_contact import (
    APPROXIMATIONS,
    Constraint,
    ContactProblem,
    CouplerConstraint,
    HolonomicConstraint,
    JointLimit,
    PDActuator,
)

RandomProblem = Callable[..., ContactProblem]


def _definite(random: np.random.Generator, n: int, condition: float) -> np.ndarray:
    turn, _ = np.linalg.qr(random.normal(size=(n, n)))
    return np.asarray((turn * np.exp(random.uniform(0.0, np.log(condition), n))) @ turn.T)


def _constraints(random: np.random.Generator, nv: int) -> list[Constraint]:
    i, j = random.choice(nv, 2, replace=False) if nv > 1 else (0, 0)
    kinds: list[Constraint] = [
        JointLimit(nv, int(i), 0.01 * random.normal(), lower=0.0, upper=1.0),
        PDActuator(np.eye(nv)[i], 0.1, proportional_gain=100.0, derivative_gain=3.0, effort_limit=2.0),
        HolonomicConstraint(random.normal(size=(2, nv)) * (np.arange(nv) < 3), [1e-3, 2e-3]),
    ]
    if i != j:
        kinds.append(CouplerConstraint(nv, int(i), int(j), 0.01, 0.02, ratio=0.5))
    return [kinds[k] for k in random.choice(len(kinds), 2, replace=False)]


@pytest.fixture(scope="session")
def random_problem() -> RandomProblem:
    """Makes problems of a few cliques with contacts between two of them or one and the world."""

    def make(
        random: np.random.Generator,
        *,
        sizes: tuple[int, ...] = (6,),
        cliques: int | None = None,
        contacts: int | None = None,
        tensor: bool | None = None,
        constraints: bool = True,
        stiffest: float = 1e7,
    ) -> ContactProblem:
        n = cliques or int(random.integers(1, 6))
        nc = int(random.integers(0, 9)) if contacts is None else contacts
        size = random.choice(sizes, n)
        start = np.concatenate([[0], np.cumsum(size)])
        nv = int(start[-1])
        A = np.zeros((nv, nv))
        for c in range(n):
            A[start[c] : start[c + 1], start[c] : start[c + 1]] = 10.0 ** random.uniform(-1, 1) * _definite(
                random, size[c], 20.0
            )
        J = np.zeros((3 * nc, nv))
        for i in range(nc):
            a = int(random.integers(n))
            J[3 * i : 3 * i + 3, start[a] : start[a + 1]] = random.normal(size=(3, size[a]))
            if n > 1 and random.random() < 0.6:
                b = (a + int(random.integers(1, n))) % n
                J[3 * i : 3 * i + 3, start[b] : start[b + 1]] = random.normal(size=(3, size[b]))
        period = float(np.exp(random.uniform(np.log(1e-4), np.log(2e-2))))
        v0 = random.normal(size=nv)
        k = np.exp(random.uniform(np.log(1e3), np.log(stiffest), nc))
        touching = random.random(nc) < 0.8
        phi0 = np.where(touching, -10.0 * np.exp(random.normal(size=nc)) / k, random.random(nc) * period)
        if random.random() < 0.3 if tensor is None else tensor:
            friction = np.array([0.3 * _definite(random, 2, 4.0) for _ in range(nc)]).reshape(nc, 2, 2)
        else:
            friction = random.uniform(0.1, 1.5, nc)
        return ContactProblem(
            A=A,
            v_star=v0 + 10.0 * period * random.normal(size=nv),
            J=J,
            phi0=phi0,
            v_n0=J[2::3] @ v0,
            period=period,
            stiffness=k,
            dissipation=random.uniform(0.0, 0.3, nc),
            relaxation_time=random.uniform(0.0, 1e-3, nc),
            friction=friction,
            bias=0.1 * random.normal(size=(nc, 3)) * (random.random() < 0.5),
            constraints=_constraints(random, nv) if constraints and nv > 3 and random.random() < 0.5 else (),
            near_rigid=float(random.random() < 0.3),
            tangential_damping=random.uniform(0.1, 10.0, nc),
            elastic_displacement=random.normal(size=(nc, 2)) / k[:, None],
        )

    return make


@pytest.fixture(params=list(APPROXIMATIONS))
def approximation(request: pytest.FixtureRequest) -> str:
    """Each approximation in turn."""
    return str(request.param)


@pytest.fixture(scope="session")
def script() -> Callable[[str], ModuleType]:
    """A script of the folder benchmarks as a module."""

    def load(name: str) -> ModuleType:
        path = Path(__file__).parents[3] / "benchmarks" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # Numba's cache finds compiled functions by it
        spec.loader.exec_module(module)
        return module

    return load
