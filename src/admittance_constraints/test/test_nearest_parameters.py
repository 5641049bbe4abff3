"""The point of a mechanism next to a pose of the tool: found back on the mechanism, stationary beside it."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from admittance_constraints import (
    DiskOnSphere,
    DiskOnSphereAsPrinted,
    FourBar,
    KnifeEdge,
    Mechanism,
    Pendulum,
    PointOnParaboloid,
    PointOnSurface,
    RollingDisk,
    SingularConfigurationError,
    TwoLinkOnCircle,
    mechanisms,
)

MECHANISMS: dict[str, Mechanism] = {
    "RollingDisk": RollingDisk(),
    "DiskOnSphere": DiskOnSphere(center=(0.03, -0.02, 0.01)),
    "DiskOnSphereAsPrinted": DiskOnSphereAsPrinted(),
    "TwoLinkOnCircle": TwoLinkOnCircle(),
    "Pendulum": Pendulum(),
    "PointOnParaboloid": PointOnParaboloid(curvature=(3.0, -5.0)),
    "PointOnSurface": PointOnSurface(),
    "KnifeEdge": KnifeEdge(),
    "FourBar": FourBar(),
}
IDENTITY = np.array([0.0, 0.0, 0.0, 1.0])


def configurations(m: Mechanism, count: int) -> list[np.ndarray]:
    """Coordinates q that the constraints allow, all over the mechanism."""
    random, found = np.random.default_rng(0), []
    while len(found) < count:
        if m.has_parametrisation:
            z = random.uniform(-np.pi, np.pi, m.parameter_dimension)
            z[:2] *= 0.05 if isinstance(m, RollingDisk) else 1.0
            found.append(m.configuration(z))
            continue
        spread = 0.1 if isinstance(m, PointOnSurface) else np.pi
        try:
            found.append(m.project_position(random.uniform(-spread, spread, m.dimension)))
        except SingularConfigurationError:
            continue
    return found


def pose_error(m: Mechanism, q: np.ndarray, p: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """[position; 0.1 m times rotation vector] from a pose to the tool at q, by SciPy."""
    turn = Rotation.from_quat(m.orientation(q)) * Rotation.from_quat(Q).inv()
    return np.concatenate([m.forward(q)[:3] - p, 0.1 * turn.as_rotvec()])


def test_all_ready_mechanisms_are_here() -> None:
    assert set(MECHANISMS) == set(mechanisms.__all__)


@pytest.mark.covering(4)
@pytest.mark.parametrize("name", MECHANISMS)
def test_a_pose_of_the_mechanism_is_found_back(name: str) -> None:
    """Perhaps by other angles: some name one pose twice."""
    m = MECHANISMS[name]
    for q in configurations(m, 20):
        p, Q = m.forward(q)[:3], m.orientation(q)
        found = m.configuration(m.nearest_parameters(p, Q))
        # Gauss-Newton converges quadratically where no error is left: the step below 1e-8 is followed by rounding
        assert np.abs(pose_error(m, found, p, Q)).max() < 1e-12


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("spin", [0.0, 1.0, -2.5])
def test_the_poles_are_found_though_the_angles_are_singular_there(spin: float, sign: float) -> None:
    m = DiskOnSphere()
    turn = Rotation.from_euler("x", 0.0 if sign > 0 else np.pi) * Rotation.from_euler("z", spin)
    q = m.configuration(m.nearest_parameters([0.0, 0.0, sign * 0.05], turn.as_quat()))
    assert np.abs(pose_error(m, q, np.array([0, 0, sign * 0.05]), turn.as_quat())).max() < 1e-12


@pytest.mark.slow
@pytest.mark.covering(2)
@pytest.mark.parametrize("name", [name for name, m in MECHANISMS.items() if m.has_parametrisation])
def test_beside_the_mechanism_no_neighbour_is_nearer(
    name: str, derivative: Callable[[Callable[[np.ndarray], np.ndarray], np.ndarray], np.ndarray]
) -> None:
    """The error is perpendicular to the tangents dpsi/dz, which are central differences here."""
    m, random = MECHANISMS[name], np.random.default_rng(1)
    for k in range(4):
        p, turn = random.uniform(-0.15, 0.15, 3), Rotation.random(random_state=k)
        z = m.nearest_parameters(p, turn.as_quat())

        def error(z: np.ndarray, p: np.ndarray = p, turn: Rotation = turn) -> np.ndarray:
            x = m.parametric(z)
            R = Rotation.from_euler("ZXZ", x[[3, 5, 4]])
            return np.concatenate([x[:3] - p, 0.1 * (R * turn.inv()).as_rotvec()])

        e, tangents = error(z), derivative(error, z)
        sizes = np.linalg.norm(tangents, axis=0) * np.linalg.norm(e)
        # the search ends when a step wins less than 1e-8 of the square: the root of that, and rounding of it
        assert np.abs(tangents.T @ e / sizes).max() < 1e-3
        assert e @ e > 1e-6


@pytest.mark.slow
@pytest.mark.covering(1)
@pytest.mark.parametrize("name", [name for name, m in MECHANISMS.items() if m.has_parametrisation])
def test_beside_the_mechanism_none_of_300_points_is_nearer(name: str) -> None:
    m, random = MECHANISMS[name], np.random.default_rng(2)
    for k in range(2):
        p, Q = random.uniform(-0.15, 0.15, 3), Rotation.random(random_state=k).as_quat()
        q = m.configuration(m.nearest_parameters(p, Q))
        least = np.linalg.norm(pose_error(m, q, p, Q))
        others = random.uniform(-np.pi, np.pi, (300, m.parameter_dimension))
        if isinstance(m, RollingDisk):
            others[:, :2] = p[:2]  # the plane is the same everywhere
        assert least <= min(np.linalg.norm(pose_error(m, m.configuration(z), p, Q)) for z in others) + 1e-9


def test_nearest_point_is_not_the_farthest_stationary_point() -> None:
    """It is stationary, too, and these searches begin there."""
    assert np.cos(Pendulum().nearest_parameters([0, 0, 0.3], IDENTITY)[0]) == pytest.approx(-1.0, abs=1e-7)
    assert np.cos(TwoLinkOnCircle().nearest_parameters([-0.1, 0, 0], IDENTITY)[0]) == pytest.approx(-1.0, abs=1e-7)


def test_closed_forms() -> None:
    p = np.array([0.02, 0.03, -0.07])
    # a tool without orientation: the direction of the pose, seen from the pivot or the centre
    assert Pendulum().nearest_parameters(p, IDENTITY)[0] == pytest.approx(np.arctan2(0.02, 0.07), abs=1e-4)
    assert TwoLinkOnCircle().nearest_parameters(p, IDENTITY)[0] == pytest.approx(np.arctan2(0.03, 0.02), abs=1e-4)
    heading = Rotation.from_euler("z", 0.4)
    np.testing.assert_allclose(KnifeEdge().nearest_parameters(p, heading.as_quat()), [0.02, 0.03, 0.4], atol=1e-9)
    # the upright disk that differs from a tilted one by the tilt alone
    tilted = Rotation.from_euler("ZXZ", [0.4, np.pi / 2 + 0.1, 0.3])
    m = RollingDisk()
    x = m.parametric(m.nearest_parameters(p, tilted.as_quat()))
    np.testing.assert_allclose(x[:3], [0.02, 0.03, 0.03], atol=1e-9)
    upright = Rotation.from_euler("ZXZ", [0.4, np.pi / 2, 0.3])
    assert (Rotation.from_euler("ZXZ", x[[3, 5, 4]]).inv() * upright).magnitude() < 1e-4
    # normal to the sphere, and a disk that is already tangent there
    sphere = DiskOnSphere(center=(0.0, 0.0, 0.1))
    out = Rotation.from_euler("ZXZ", [0.4, 1.2, 0.2])
    place = np.array([0.0, 0.0, 0.1]) + 0.09 * out.apply([0, 0, 1])
    np.testing.assert_allclose(sphere.nearest_parameters(place, out.as_quat()), [0.4, 0.2, 1.2], atol=1e-9)


@pytest.mark.slow
@pytest.mark.covering(1)
@pytest.mark.parametrize("name", ["PointOnSurface", "FourBar", "KnifeEdge"])
def test_a_mechanism_without_psi_ends_on_its_constraints(name: str) -> None:
    """Among the poses are such whose own place cannot be projected: the axis and the core of the torus."""
    m, random = MECHANISMS[name], np.random.default_rng(3)
    places = [*random.uniform(-0.2, 0.2, (6, 3)), np.zeros(3), [0.08, 0, 0], [0, 0, 0.03], [0.13, 0, 0], [1.0, 2.0, 0]]
    for k, place in enumerate(places):
        z = m.nearest_parameters(place, Rotation.random(random_state=k).as_quat())
        np.testing.assert_array_equal(m.configuration(z), z)
        assert not m.holonomic_count or np.abs(m.holonomic_residual(z)).max() < 1e-12
        # a linkage near its stretched place is turned a few times, by 50 steps of a radian at most, not a million times
        assert np.abs(z).max() < 60.0


def test_next_to_a_surface_its_normal_is_followed() -> None:
    """A point mass: the projection of least kinetic energy is that of least distance, to the distance squared."""
    m = PointOnSurface()
    around, along = 0.7, 1.1
    radial = np.array([np.cos(around), np.sin(around), 0.0])
    normal = np.cos(along) * radial + [0.0, 0.0, np.sin(along)]
    foot = 0.08 * radial + 0.03 * normal
    for distance in (1e-3, -1e-3):
        np.testing.assert_allclose(m.nearest_parameters(foot + distance * normal, IDENTITY), foot, atol=1e-6)


class TwoSheets(PointOnSurface):
    """The planes x3 = 0.1 and x3 = -0.1, between which the gradient vanishes."""

    def __init__(self) -> None:
        super().__init__(lambda p: p[2] ** 2 - 0.01, near=(0.0, 0.0, 0.1))


class Nowhere(PointOnSurface):
    """A surface that ends: its square root is not a number for x1 > 0.2."""

    def __init__(self) -> None:
        super().__init__(lambda p: p[2] - ca.sqrt(0.2 - p[0]), near=(0.0, 0.0, 0.45))


def test_search_with_a_vanishing_gradient_starts_elsewhere() -> None:
    z = TwoSheets().nearest_parameters([0.0, 0.0, 0.0], IDENTITY)
    assert abs(z[2]) == pytest.approx(0.1, abs=1e-12)
    z = Nowhere().nearest_parameters([0.5, 0.0, 0.0], IDENTITY)
    assert z[2] == pytest.approx(np.sqrt(0.2 - z[0]), abs=1e-12)


@pytest.mark.parametrize(
    ("m", "q"), [(PointOnSurface(), [0, 0, 0]), (PointOnSurface(), [0.08, 0, 0]), (TwoSheets(), [0.1, 0.1, 0])]
)
def test_a_point_that_cannot_be_projected_is_refused(m: Mechanism, q: list[float]) -> None:
    """On the axis the gradient has no direction, on the torus' core and between the sheets it vanishes."""
    with pytest.raises(SingularConfigurationError, match="the holonomic constraints have no solution near"):
        m.project_position(q)


def test_of_equally_near_points_the_same_is_found_again() -> None:
    m = TwoLinkOnCircle()
    found = [m.nearest_parameters([0.0, 0.0, 0.3], IDENTITY) for _ in range(2)]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize(
    ("position", "orientation", "message"),
    [
        ([0.0, 0.0], IDENTITY, r"position: expected shape \(3,\), got \(2,\)"),
        ([0.0, 0.0, np.nan], IDENTITY, "position: expected finite numbers"),
        ([0.0, 0.0, 0.0], [0.0, 0.0, 1.0], r"orientation: expected shape \(4,\), got \(3,\)"),
    ],
)
def test_bad_poses_are_refused(position: list[float], orientation: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RollingDisk().nearest_parameters(position, orientation)
