"""Fixtures of the tests: random problems, small worlds, Coal's bindings as reference, a plain solver of Lagged."""

from __future__ import annotations

import fcntl
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import coal
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from convex_contact import (
    APPROXIMATIONS,
    Box,
    Capsule,
    Constraint,
    ContactProblem,
    CouplerConstraint,
    Cylinder,
    Geometry,
    HalfSpace,
    HolonomicConstraint,
    Hull,
    JointLimit,
    Material,
    PDActuator,
    Pose,
    Shape,
    Simulator,
    Sphere,
    World,
    WorldDynamics,
    rollout,
)
from convex_contact.problem.constraints import GivenRows, Rows

RandomProblem = Callable[..., ContactProblem]


@pytest.fixture(scope="session", autouse=True)
def kernels() -> None:
    """Compiles steps and their derivatives in the worker that comes first; the others wait, and read the cache."""
    if "PYTEST_XDIST_WORKER" not in os.environ or "NUMBA_CACHE_DIR" not in os.environ:
        return
    cache = Path(os.environ["NUMBA_CACHE_DIR"])
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "convex_contact.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        world = World()
        world.add_half_space("ground")
        world.add_sphere("ball", radius=0.1, mass=1.0, position=(0.0, 0.0, 0.1))
        rollout(Simulator(world, period=1e-3), 2).tangent({"gravity": [0.0, 0.0, 1.0]})


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
def constraint_without_rows() -> Callable[[WorldDynamics], Constraint]:
    """Changes no step of a simulator, but takes it through Python: no step is then one compiled call."""

    def rows(d: WorldDynamics) -> Constraint:
        none = np.zeros(0)
        return GivenRows(Rows(np.zeros((0, d.nv)), none, none, none, none, none, none))

    return rows


@pytest.fixture(scope="session")
def script() -> Callable[[str], ModuleType]:
    """A script of the folder benchmarks as a module."""

    def load(name: str) -> ModuleType:
        path = Path(__file__).parents[3] / "benchmarks" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # Numba's cache finds compiled functions by it
        if str(path.parent) not in sys.path:
            sys.path.append(str(path.parent))  # scripts import each other
        spec.loader.exec_module(module)
        return module

    return load


_SURFACE = Material()
#: a wedge that is not symmetric, its frame not at its middle
WEDGE = np.array([[0, 0, 0], [0.12, 0, 0], [0, 0.08, 0], [0.12, 0.08, 0], [0, 0, 0.05], [0, 0.08, 0.07]])


def shape_of(name: str) -> Shape:
    """One shape of each kind, about 0.1 m large."""
    shapes: dict[str, Callable[[], Shape]] = {
        "sphere": lambda: Sphere(0.05),
        "box": lambda: Box((0.1, 0.08, 0.06)),
        "cylinder": lambda: Cylinder(0.04, 0.1),
        "capsule": lambda: Capsule(0.03, 0.08),
        "hull": lambda: Hull(WEDGE),
        "half_space": HalfSpace,
    }
    return shapes[name]()


def coal_distance(a: Shape, pose_a: tuple[Any, Any], b: Shape, pose_b: tuple[Any, Any]) -> tuple[float, np.ndarray]:
    """Signed distance and normal from a into b by Coal's Python bindings; poses are (rotation, position)."""
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.gjk_tolerance = request.epa_tolerance = 1e-6
    request.enable_signed_distance = True
    frames = [coal.Transform3s(np.asarray(rotation), np.asarray(position)) for rotation, position in (pose_a, pose_b)]
    distance = coal.distance(_coal_shape(a), frames[0], _coal_shape(b), frames[1], request, result)
    return float(distance), np.array(result.normal)


def _coal_shape(shape: Shape) -> Any:
    p = shape.parameters
    if isinstance(shape, Sphere):
        return coal.Sphere(p[0])
    if isinstance(shape, Box):
        return coal.Box(*(2 * p))
    if isinstance(shape, Cylinder):
        return coal.Cylinder(p[0], 2 * p[1])
    if isinstance(shape, Capsule):
        return coal.Capsule(p[0], 2 * p[1])
    if isinstance(shape, HalfSpace):
        return coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)
    raise TypeError(type(shape))


def two_bodies(
    a: Shape, pose_a: tuple[Any, Any], b: Shape, pose_b: tuple[Any, Any], threshold: float = 0.1
) -> WorldDynamics:
    """Two bodies at poses (rotation, position), queried; half spaces are fixed."""
    world = World()
    for name, shape, (rotation, position) in (("a", a, pose_a), ("b", b, pose_b)):
        orientation = Rotation.from_matrix(rotation).as_quat()
        options: dict[str, Any] = {"fixed": True} if isinstance(shape, HalfSpace) else {"mass": 1.0, "inertia": 1e-3}
        if not isinstance(shape, HalfSpace):
            options["center"] = (0, 0, 0)
        world.add_body(
            name,
            geometries=[Geometry(shape, Pose(), _SURFACE)],
            position=position,
            orientation=orientation,
            **options,
        )
    dynamics = WorldDynamics(world, period=1e-3, threshold=threshold, speculative=False)
    dynamics.prepare()
    dynamics.collect()
    return dynamics


def lagged_solution(dynamics: WorldDynamics, stiction_tolerance: float = 1e-4) -> np.ndarray:
    """The velocity that minimises the Lagged cost, by Newton's method with dense matrices."""
    p, dt = dynamics.dense(), dynamics.period
    n = len(p["phi0"])
    A, J = p["A"], p["J"].reshape(n, 3, dynamics.nv)
    k, d, phi0 = p["stiffness"], p["dissipation"], p["phi0"]

    def normal(v_n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Impulse and its derivative."""
        x, damping = np.maximum(0.0, -(phi0 + dt * v_n)), np.maximum(0.0, 1 - d * v_n)
        return dt * k * x * damping, -dt * k * (dt * (x > 0) * damping + d * x * (damping > 0))

    # dt f_n(phi0, v_n0)
    bound = p["friction"] * dt * k * np.maximum(0.0, -phi0) * np.maximum(0.0, 1 - d * p["v_n0"])

    def derivatives(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        v_c = (p["J"] @ v).reshape(n, 3) + p["bias"]
        impulse, slope = normal(v_c[:, 2])
        length = np.sqrt((v_c[:, :2] ** 2).sum(axis=1) + stiction_tolerance**2)
        t = v_c[:, :2] / length[:, None]
        G = np.zeros((n, 3, 3))
        G[:, :2, :2] = (bound / length)[:, None, None] * (np.eye(2) - t[:, :, None] * t[:, None, :])
        G[:, 2, 2] = -slope
        force = np.concatenate([bound[:, None] * t, -impulse[:, None]], axis=1)
        gradient = A @ (v - p["v_star"]) + p["J"].T @ force.ravel()
        return gradient, A + p["J"].T @ (G @ J).reshape(3 * n, -1) if n else A

    v = p["v_star"].copy()
    for _ in range(200):
        gradient, hessian = derivatives(v)
        step = np.linalg.solve(hessian, -gradient)
        if np.abs(step).max() < 1e-12 * (1 + np.abs(v).max()):
            break
        low, high = 0.0, 1.0  # exact line search: the slope along the step grows
        if derivatives(v + step)[0] @ step > 0:
            for _ in range(45):
                middle = 0.5 * (low + high)
                low, high = (low, middle) if derivatives(v + middle * step)[0] @ step > 0 else (middle, high)
        v = v + high * step
    return v


def points(d: WorldDynamics) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points (n, 3), normals (n, 3) and gaps (n,)."""
    n, c = d.contacts.count[0], d.contacts
    return c.point[:n].copy(), c.frame[:n, 2].copy(), c.phi0[:n].copy()


def support(shape: Any, direction: np.ndarray) -> float:
    """Largest component of a shape along a direction of its frame."""
    p = shape.parameters
    if isinstance(shape, Sphere):
        return float(p[0] * np.linalg.norm(direction))
    if isinstance(shape, Box):
        return float(p @ np.abs(direction))
    if isinstance(shape, Cylinder):
        return float(p[0] * np.hypot(*direction[:2]) + p[1] * abs(direction[2]))
    if isinstance(shape, Capsule):
        return float(p[0] * np.linalg.norm(direction) + p[1] * abs(direction[2]))
    return float((shape.vertices @ direction).max())


@pytest.fixture
def helpers() -> Any:
    """The functions of this file."""

    class Helpers:
        pass

    for function in (shape_of, coal_distance, two_bodies, points, support, lagged_solution):
        setattr(Helpers, function.__name__, staticmethod(function))
    return Helpers


#: a finger among boxes and balls on a floor, one of them sliding and spinning, and a belt
_TABLE = """
materials:
  wood: {stiffness: 4.0e+4, dissipation: 2.0, relaxation_time: 1.0e-3, friction: 0.5}
bodies:
- {name: floor, shape: {type: half_space}, material: wood, fixed: true}
- {name: finger, shape: {type: sphere, radius: 0.01}, mass: 0.05, material: wood, position: [0, 0, 0.0102]}
- {name: box, shape: {type: box, size: [0.02, 0.02, 0.02]}, mass: 0.1, material: wood, position: [0.0215, 0, 0.01],
   velocity: [-0.1, 0.05, 0], angular_velocity: [0, 0, 3]}
- {name: ball, shape: {type: sphere, radius: 0.01}, mass: 0.1, material: wood, position: [0, 0.05, 0.0105],
   angular_velocity: [20, 10, 5], velocity: [0.3, 0, 0]}
- {name: can, shape: {type: cylinder, radius: 0.01, length: 0.03}, mass: 0.1, material: wood,
   position: [0, -0.05, 0.015]}
- {name: pill, shape: {type: capsule, radius: 0.01, length: 0.02}, mass: 0.1, material: wood, position: [0.1, 0, 0.03]}
- name: pair
  mass: 0.2
  material: wood
  position: [0.1, 0.1, 0.02]
  shapes:
  - {type: sphere, radius: 0.01, position: [0.02, 0, 0]}
  - {type: box, size: [0.01, 0.02, 0.03], position: [-0.02, 0, 0]}
- {name: belt, shape: {type: box, size: [0.1, 0.1, 0.02]}, material: wood, position: [0.3, 0, 0.01], prescribed: true}
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A world file for the contact node."""
    file = tmp_path_factory.mktemp("worlds") / "table.yaml"
    file.write_text(_TABLE)
    return str(file)
