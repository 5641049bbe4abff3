"""Friction under a load: the scaled law is the law of the scaled force; the sources of the load differ."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest

from haptic_friction import (
    CoulombLaw,
    KarnoppModel,
    ModelA,
    ModelB,
    ModelC,
    ModelD,
    StribeckLaw,
    ViscousCoulombLaw,
    WithCompliance,
    WithMass,
)
from haptic_friction.laws import AnisotropicLaw, FrictionLaw, FunctionLaw, TableLaw
from haptic_friction.load import (
    FrictionInputError,
    constraint_normal_force,
    contacts_of_body,
    mean_surface_velocity,
    total_normal_force,
)
from haptic_friction.models.model import FrictionModel

T = 1e-3
SPEEDS, FORCES = [0.0, 0.05, 0.2], [3.0, 1.5, 2.0]


def laws(n: float) -> dict[str, FrictionLaw]:
    """Laws whose forces are n times those of laws(1)."""
    S = np.array([[4.0, 1.0], [1.0, 2.0]])
    return {
        "coulomb": CoulombLaw(2.0 * n),
        "viscous": ViscousCoulombLaw(2.0 * n, viscosity=3.0 * n),
        "stribeck": StribeckLaw(2.0 * n, static_force=3.0 * n, stribeck_velocity=0.1, viscosity=0.5 * n),
        "table": TableLaw(SPEEDS, n * np.array(FORCES)),
        "anisotropic": AnisotropicLaw(n * S, viscosity=0.2 * n * S),
        "approximated": StribeckLaw(2.0 * n, static_force=3.0 * n, stribeck_velocity=0.1).approximated(),
    }


def models(law: FrictionLaw) -> list[FrictionModel]:
    return [
        ModelA(law, mass=0.5, period=T, dimension=2),
        ModelB(law, mass=0.2, stiffness=3000.0, damping=400.0, period=T, dimension=2),
        ModelC(law, stiffness=3000.0, damping=400.0, period=T, dimension=2),
        ModelD(law, mass=0.5, stiffness=3000.0, damping=400.0, period=T, dimension=2),
    ]


@pytest.mark.parametrize("name", laws(1.0))
def test_a_loaded_law_is_the_law_of_the_larger_force(name: str, motion: Callable[..., np.ndarray]) -> None:
    """Load 1.7 against a law of 1.7 times the forces: the same numbers but for rounding of the factor."""
    u = motion(300, 2)
    small = laws(1.0)[name]
    for loaded, unloaded, larger in zip(models(small), models(small), models(laws(1.7)[name]), strict=True):
        loaded.set_load(1.7)
        inputs = u if loaded.kind == "impedance" else 40.0 * u
        got, expected = loaded.simulate(inputs), larger.simulate(inputs)
        scale = np.abs(expected).max()
        assert np.abs(expected - unloaded.simulate(inputs)).max() > 1e-3 * scale  # the load changes the result
        np.testing.assert_allclose(got, expected, atol=1e-12 * scale)


@pytest.mark.slow
def test_the_static_set_of_karnopp_s_model_is_scaled_with_an_anisotropic_law() -> None:
    for load, sticks in ((1.0, False), (3.0, True)):
        model = KarnoppModel(
            AnisotropicLaw(np.diag([4.0, 2.0])), mass=1.0, velocity_threshold=1e-3, period=T, dimension=2
        )
        model.set_load(load)
        model.step([6.0, 3.0])  # sqrt(1.5^2 + 1.5^2) = 2.1 times the static set of load 1
        assert model.sticking is sticks
        ratio = np.hypot(6.0 / 4.0, 3.0 / 2.0)
        expected = np.array([6.0, 3.0]) if sticks else load * np.array([6.0, 3.0]) / ratio
        np.testing.assert_allclose(model.friction_force, expected, rtol=1e-12)


def test_no_load_no_force() -> None:
    for law in laws(1.0).values():
        model = ModelC(law, stiffness=3000.0, damping=400.0, period=T, dimension=2)
        model.set_load(0.0)
        assert np.abs(model.simulate(np.full((5, 2), 0.3))).max() < 1e-8  # some newtons times the smallest load


def test_a_load_leaves_other_models_of_the_law_alone() -> None:
    law = CoulombLaw(2.0)
    one, two = (ModelC(law, stiffness=3000.0, damping=400.0, period=T) for _ in range(2))
    one.set_load(5.0)
    assert one.simulate([[1.0]] * 50)[-1] == pytest.approx(10.0)
    assert two.simulate([[1.0]] * 50)[-1] == pytest.approx(2.0)


@pytest.mark.parametrize("load", [-1.0, np.nan, np.inf])
def test_wrong_loads_are_refused(load: float) -> None:
    model = ModelC(CoulombLaw(2.0), stiffness=3000.0, damping=400.0, period=T)
    with pytest.raises(ValueError, match="load: expected a finite number, not negative"):
        model.set_load(load)
    assert model.load == 1.0


def test_a_load_that_makes_the_law_too_steep_is_refused() -> None:
    """(15) asks g' > -1/Z; the steepest fall grows with the load."""
    law = StribeckLaw(1.0, static_force=2.0, stribeck_velocity=0.05)
    model = ModelC(law, stiffness=3000.0, damping=400.0, period=T)
    most = -1.0 / (law.slope_range[0] * model.Z)
    model.set_load(0.99 * most)
    with pytest.raises(ValueError, match="Phi_Z does not exist"):
        model.set_load(1.01 * most)
    assert model.load == pytest.approx(0.99 * most)


def test_a_load_that_makes_the_law_too_steep_is_refused_by_coupled_models() -> None:
    """The coupled model has Phi_Z with Z of the model inside."""
    law = StribeckLaw(1.0, static_force=2.0, stribeck_velocity=0.01)
    inside = ModelC(law, stiffness=1e4, damping=100.0, period=T)
    mass = ModelA(law, mass=0.2, period=T)
    for model, Z in (
        (WithMass(inside, mass=1.0), inside.Z),
        (WithCompliance(mass, stiffness=1e3, damping=5.0), mass.Z),
    ):
        most = -1.0 / (law.slope_range[0] * Z)
        model.set_load(0.99 * most)
        with pytest.raises(ValueError, match="Phi_Z does not exist"):
            model.set_load(max(1.01 * most, 100.0))
        assert model.load == pytest.approx(0.99 * most)


def test_a_function_cannot_be_scaled() -> None:
    model = ModelC(FunctionLaw(lambda s: 1.0 + s, lambda s: 1.0), stiffness=3000.0, damping=400.0, period=T)
    with pytest.raises(ValueError, match="law: expected one that a load can scale, got FunctionLaw"):
        model.set_load(2.0)


def test_vectors_become_tangential_to_surfaces_that_press() -> None:
    v, e = np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.0, 1.0])
    normals = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    assert total_normal_force(normals, np.array([2.0, 3.0, 0.0]), v, e) == 5.0  # the third does not push
    np.testing.assert_array_equal(v, [0.0, 2.0, 0.0])
    np.testing.assert_array_equal(e, [0.0, 0.0, 0.0])


def test_mean_surface_velocity_is_weighted_by_normal_force() -> None:
    velocities = np.array([[0.3, 0.0, 0.0], [0.0, 0.6, 0.0], [9.0, 9.0, 9.0]])
    np.testing.assert_allclose(
        mean_surface_velocity(np.array([2.0, 1.0, 0.0]), velocities), [0.2, 0.2, 0.0], rtol=1e-15
    )
    np.testing.assert_array_equal(mean_surface_velocity(np.zeros(3), velocities), np.zeros(3))
    np.testing.assert_array_equal(mean_surface_velocity(np.array([2.0]), np.zeros((0, 3))), np.zeros(3))


def test_contacts_of_a_body_point_to_it() -> None:
    """On either side of a contact; those of others do not count; impulses become forces."""
    contacts = SimpleNamespace(
        body_a=[1, 4, 2],
        body_b=[4, 3, 3],
        normal=[0, 0, 1, 0, 1, 0, 1, 0, 0],
        normal_impulse=[2e-3, 4e-3, 9.0],
        slip_velocity=[0.1, 0, 0, 0, 0, 0.3, 1, 1, 1],
        period=1e-3,
    )
    normals, forces, slips = contacts_of_body(contacts, 4)
    np.testing.assert_array_equal(normals, [[0, 0, 1], [0, -1, 0]])
    np.testing.assert_allclose(forces, [2.0, 4.0])
    np.testing.assert_array_equal(slips, [[0.1, 0, 0], [0, 0, -0.3]])
    assert contacts_of_body(contacts, 7)[1].size == 0


def test_the_load_of_a_surface_is_the_size_of_its_multiplier() -> None:
    assert constraint_normal_force([3.0, -20.0], 1) == 20.0 and constraint_normal_force([3.0, -20.0], 0) == 3.0


@pytest.mark.parametrize(
    ("multipliers", "message"),
    [
        ([1.0], "load_constraint: expected below 1, got 1"),
        ([], "load_constraint: expected below 0, got 1"),
        ([1.0, np.nan], "multiplier 1: expected a finite number, got nan"),
    ],
)
def test_a_multiplier_that_is_not_there_or_no_number_is_refused(multipliers: list[float], message: str) -> None:
    with pytest.raises(FrictionInputError, match=message):
        constraint_normal_force(multipliers, 1)
