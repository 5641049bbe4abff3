"""Laws whose force differs between the two directions along a line."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import brentq

from haptic_friction import (
    AnisotropicLaw,
    AsymmetricLaw,
    Batch,
    CoulombLaw,
    DahlModel,
    ExplicitCoulombModel,
    FrictionLaw,
    FrictionModel,
    FunctionLaw,
    KarnoppModel,
    LuGreModel,
    ModelA,
    ModelB,
    ModelC,
    ModelD,
    QuinnModel,
    RegularizedCoulombModel,
    StribeckLaw,
    TableLaw,
    ViscousCoulombLaw,
    identify_law,
    identify_model_c,
)

T = 1e-3
PARTS: dict[str, Callable[[], FrictionLaw]] = {
    "coulomb": lambda: CoulombLaw(2.0),
    "viscous": lambda: ViscousCoulombLaw(1.5, viscosity=3.0),
    "stribeck": lambda: StribeckLaw(1.0, static_force=3.0, stribeck_velocity=0.2, viscosity=0.5),
    "table": lambda: TableLaw([0.0, 0.05, 0.3], [2.5, 2.0, 4.0]),
    "function": lambda: FunctionLaw(lambda s: 2.0 + math.tanh(3.0 * s), lambda s: 3.0 / math.cosh(3.0 * s) ** 2),
    "none": lambda: CoulombLaw(0.0),
}
PAIRS = [(a, b) for a in PARTS for b in PARTS if a != b]
MODELS: dict[str, Callable[[FrictionLaw], FrictionModel]] = {
    "A": lambda law: ModelA(law, mass=0.5, period=T),
    "B": lambda law: ModelB(law, mass=0.5, stiffness=2e3, damping=20.0, period=T),
    "C": lambda law: ModelC(law, stiffness=2e3, damping=20.0, period=T),
    "D": lambda law: ModelD(law, mass=0.5, stiffness=2e3, damping=20.0, period=T),
}


def law_of(forward: str, backward: str) -> AsymmetricLaw:
    return AsymmetricLaw(PARTS[forward](), PARTS[backward]())


def inputs(model: FrictionModel) -> np.ndarray:
    """Strokes in both directions that end in rest."""
    time = T * np.arange(1500)
    signal = np.sin(2.0 * np.pi * 1.5 * time) * (time < 1.2)
    return (0.3 if model.kind == "impedance" else 8.0) * signal[:, None]


# --- the law ---


@pytest.mark.slow
@pytest.mark.parametrize(("forward", "backward"), PAIRS)
def test_the_force_is_that_of_the_law_of_the_direction(forward: str, backward: str) -> None:
    law, parts = law_of(forward, backward), (PARTS[forward](), PARTS[backward]())
    speeds = np.array([1e-9, 0.01, 0.05, 0.2, 1.0])[:, None]
    np.testing.assert_array_equal(law.force(speeds), parts[0].force(speeds))
    np.testing.assert_array_equal(law.force(-speeds), parts[1].force(-speeds))
    assert law.force([0.0])[0] == 0.0
    assert law.magnitude(0.1) == parts[0].magnitude(0.1) and law.magnitude(-0.1) == parts[1].magnitude(0.1)
    assert law.slope(0.1) == parts[0].slope(0.1) and law.slope(-0.1) == parts[1].slope(0.1)


@pytest.mark.slow
@pytest.mark.parametrize("Z", [1e-3, 0.05])
@pytest.mark.parametrize(("forward", "backward"), PAIRS)
def test_phi_z_solves_its_equation_as_a_bracketing_root_finder_does(forward: str, backward: str, Z: float) -> None:
    law = law_of(forward, backward)
    for x in np.concatenate((-np.geomspace(1e-4, 1.0, 15), [0.0], np.geomspace(1e-4, 1.0, 15))):
        y = float(law.projected([x], Z)[0])
        low, high = -law.backward.magnitude(0.0), law.forward.magnitude(0.0)  # the static set
        if Z * low <= x <= Z * high:
            assert y == pytest.approx(x / Z, rel=1e-14, abs=1e-300)
            continue
        part, sign = (law.forward, 1.0) if x > 0.0 else (law.backward, -1.0)
        v = brentq(lambda s: s + Z * part.magnitude(s) - abs(x), 0.0, abs(x), xtol=1e-15, rtol=1e-15)  # noqa: B023
        assert y == pytest.approx(sign * part.magnitude(v), rel=1e-10)  # 1e-15 of |x| over Z times y


def test_two_equal_parts_are_the_symmetric_law_to_the_last_bit() -> None:
    x = np.random.default_rng(0).normal(size=(500, 1))
    for make in PARTS.values():
        both = AsymmetricLaw(make(), make())
        np.testing.assert_array_equal(both.projected(x, 0.05), make().projected(x, 0.05))
        np.testing.assert_array_equal(both.approximated().projected(x, 0.05), make().approximated().projected(x, 0.05))


def test_the_velocity_that_results_never_falls_with_the_argument() -> None:
    law, x, Z = law_of("stribeck", "table"), np.linspace(-1.0, 1.0, 4001)[:, None], 0.05
    velocity = (x - Z * law.projected(x, Z))[:, 0]
    assert (np.diff(velocity) >= -1e-15).all()
    stuck = velocity == 0.0  # from -Z g-(0) to Z g+(0)
    assert x[stuck].min() == pytest.approx(-Z * 2.5, abs=6e-4) and x[stuck].max() == pytest.approx(Z * 3.0, abs=6e-4)


def test_a_part_so_steep_that_phi_z_does_not_exist_is_refused_in_either_direction() -> None:
    steep = StribeckLaw(1.0, static_force=3.0, stribeck_velocity=1e-3)
    for law in (AsymmetricLaw(steep, CoulombLaw(1.0)), AsymmetricLaw(CoulombLaw(1.0), steep)):
        with pytest.raises(ValueError, match=r"Phi_Z does not exist \(eq. \(15\)\)"):
            ModelC(law, stiffness=10.0, damping=0.0, period=T)
        ModelC(law.approximated(), stiffness=10.0, damping=0.0, period=T)
        with pytest.raises(ValueError, match="Phi_Z does not exist"):
            law.projected([0.1], 0.1)


def test_more_than_a_line_and_parts_that_are_not_isotropic_are_refused() -> None:
    law = law_of("coulomb", "viscous")
    for refused in (lambda: law.force([1.0, 0.0]), lambda: ModelA(law, mass=1.0, period=T, dimension=2)):
        with pytest.raises(ValueError, match="acts in 1 dimension, got 2"):
            refused()
    for part in (law, AnisotropicLaw(np.eye(1))):
        with pytest.raises(ValueError, match="backward: expected an isotropic law"):
            AsymmetricLaw(CoulombLaw(1.0), part)


# --- the models ---


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("forward", "backward"), [("coulomb", "viscous"), ("stribeck", "table"), ("function", "none")])
def test_the_mirrored_law_answers_the_mirrored_input_with_the_mirrored_output(
    name: str, forward: str, backward: str
) -> None:
    law = law_of(forward, backward)
    one, other = MODELS[name](law), MODELS[name](law.reversed())
    np.testing.assert_array_equal(one.simulate(inputs(one)), -other.simulate(-inputs(other)))
    assert one.dissipated_energy == other.dissipated_energy > 0.0


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_equal_parts_give_the_motion_of_the_symmetric_law_to_the_last_bit(name: str) -> None:
    for make in PARTS.values():
        one, other = MODELS[name](AsymmetricLaw(make(), make())), MODELS[name](make())
        np.testing.assert_array_equal(one.simulate(inputs(one)), other.simulate(inputs(other)))


@pytest.mark.parametrize("name", ["B", "C"])
def test_steady_sliding_gives_the_force_of_the_direction(name: str) -> None:
    law = law_of("viscous", "coulomb")
    for velocity, force in ((0.1, 1.5 + 3.0 * 0.1), (-0.1, -2.0)):
        model = MODELS[name](law)
        f = model.simulate(np.full((3000, 1), velocity))[-1, 0]
        assert f == pytest.approx(force, rel=1e-9)


@pytest.mark.parametrize("name", ["A", "D"])
def test_a_mass_holds_up_to_the_static_force_of_the_direction(name: str) -> None:
    law = law_of("coulomb", "none")  # 2 N forwards, a ratchet: nothing backwards
    for force, slides in ((1.9, False), (2.1, True), (-0.1, True)):
        model = MODELS[name](law)
        model.simulate(np.full((1000, 1), force))
        assert model.sticking is not slides
    accelerated = MODELS[name](law)
    accelerated.simulate(np.full((1000, 1), -1.0))
    assert accelerated.velocity[0] == pytest.approx(-2.0, rel=0.01)  # 1 N for 1 s on 0.5 kg, but for the spring


def test_each_element_of_a_batch_has_its_own_parts() -> None:
    laws = [AsymmetricLaw(CoulombLaw(a), ViscousCoulombLaw(b, viscosity=1.0)) for a, b in ((1.0, 2.0), (3.0, 0.5))]
    batch = Batch([ModelC(law, stiffness=2e3, damping=20.0, period=T) for law in laws])
    singles = [ModelC(law, stiffness=2e3, damping=20.0, period=T) for law in laws]
    u = inputs(singles[0])
    together = batch.simulate(np.stack([u, u]))
    for k, model in enumerate(singles):
        np.testing.assert_array_equal(together[k], model.simulate(u))


def test_a_load_scales_both_parts() -> None:
    law = AsymmetricLaw(CoulombLaw(1.0), StribeckLaw(0.5, static_force=1.0, stribeck_velocity=0.1))
    loaded, scaled = (
        MODELS["C"](law),
        MODELS["C"](AsymmetricLaw(CoulombLaw(4.0), StribeckLaw(2.0, static_force=4.0, stribeck_velocity=0.1))),
    )
    loaded.set_load(4.0)
    np.testing.assert_array_equal(loaded.simulate(inputs(loaded)), scaled.simulate(inputs(scaled)))
    with pytest.raises(ValueError, match="expected one that a load can scale"):
        MODELS["C"](law_of("coulomb", "function")).set_load(2.0)


@pytest.mark.slow
def test_classical_models_take_the_part_of_the_direction_or_refuse() -> None:
    law = law_of("coulomb", "none")
    explicit = ExplicitCoulombModel(law, period=T)
    assert explicit.step([0.1])[0] == 2.0 and explicit.step([-0.1])[0] == 0.0
    regularized = RegularizedCoulombModel(law, velocity_threshold=0.1, period=T)
    assert regularized.step([0.05])[0] == pytest.approx(1.0) and regularized.step([-0.05])[0] == 0.0
    for force, slides in ((1.9, False), (2.1, True), (-0.1, True)):
        karnopp = KarnoppModel(law, mass=1.0, velocity_threshold=1e-4, period=T)
        karnopp.step([force])
        assert karnopp.sticking is not slides
    for make in (
        lambda: QuinnModel(law, mass=1.0, velocity_threshold=1e-3, period=T),
        lambda: DahlModel(law, bristle_stiffness=1e3, period=T),
        lambda: LuGreModel(law, bristle_stiffness=1e3, bristle_damping=1.0, period=T),
    ):
        with pytest.raises(ValueError, match="expected an isotropic law, got an asymmetric one"):
            make()


# --- identification ---


def test_a_law_is_identified_in_each_direction() -> None:
    random = np.random.default_rng(3)
    velocity = random.uniform(0.05, 0.5, (4000, 1)) * random.choice([-1.0, 1.0], (4000, 1))
    law = AsymmetricLaw(ViscousCoulombLaw(2.0, viscosity=1.0), ViscousCoulombLaw(3.0, viscosity=4.0))
    found = identify_law(velocity, law.force(velocity) + 0.05 * random.normal(size=(4000, 1)), per_direction=True)
    known = {"forward_force": 2.0, "forward_viscosity": 1.0, "backward_force": 3.0, "backward_viscosity": 4.0}
    assert found.estimates.keys() == known.keys() and not found.not_identified
    for name, value in known.items():
        assert found.estimates[name].value == pytest.approx(value, rel=0.02)
    assert found.residual_rms == pytest.approx(0.05, rel=0.05) and found.samples == 4000
    identified = found.friction_law()
    assert isinstance(identified, AsymmetricLaw)
    assert identified.force([-0.3])[0] == pytest.approx(-4.2, rel=0.02)
    symmetric = identify_law(velocity, law.force(velocity))
    assert symmetric.residual_rms > 0.2  # what one law for both directions cannot say


def test_a_direction_that_never_slides_is_not_identified() -> None:
    velocity = np.random.default_rng(4).uniform(0.05, 0.5, (500, 1))
    found = identify_law(velocity, 2.0 + velocity, per_direction=True)
    assert set(found.estimates) == {"forward_force", "forward_viscosity"}
    assert found.not_identified["backward_force"] == "0 samples slide backward (expected 50 or more)"
    with pytest.raises(ValueError, match="backward_force: not identified"):
        found.friction_law()
    with pytest.raises(ValueError, match="per_direction: expected signals of dimension 1"):
        identify_law(np.ones((100, 2)), np.ones((100, 2)), per_direction=True)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["coulomb", "viscous_coulomb", "stribeck"])
def test_model_c_is_identified_with_a_law_for_each_direction(kind: str) -> None:
    forward, backward = {
        "coulomb": (CoulombLaw(2.0), CoulombLaw(4.0)),
        "viscous_coulomb": (ViscousCoulombLaw(2.0, viscosity=1.0), ViscousCoulombLaw(4.0, viscosity=3.0)),
        "stribeck": (
            StribeckLaw(2.0, static_force=3.0, stribeck_velocity=0.1, viscosity=1.0),
            StribeckLaw(3.0, static_force=3.5, stribeck_velocity=0.2, viscosity=0.5),
        ),
    }[kind]
    model = ModelC(AsymmetricLaw(forward, backward), stiffness=3e3, damping=15.0, period=T)
    time = T * np.arange(8000)
    u = (0.4 * np.sin(2.0 * np.pi * 0.5 * time) * (0.3 + 0.7 * np.sin(2.0 * np.pi * 0.125 * time) ** 2))[:, None]
    found = identify_model_c(u, model.simulate(u), period=T, law=kind, per_direction=True)
    assert found.estimates["stiffness"].value == pytest.approx(3e3, rel=1e-3)
    assert found.estimates["damping"].value == pytest.approx(15.0, rel=1e-2)
    for prefix, part in (("forward_", forward), ("backward_", backward)):
        names = ("static_force", "kinetic_force", "stribeck_velocity") if kind == "stribeck" else ("force",)
        for name, value in zip(names, part.coefficients, strict=False):
            assert found.estimates[prefix + name].value == pytest.approx(value, rel=1e-3)
    replayed = found.model_c()
    replayed.reset(displacement=[0.0])
    np.testing.assert_allclose(replayed.simulate(u), model_again(forward, backward, u), atol=1e-4)


def model_again(forward: FrictionLaw, backward: FrictionLaw, u: np.ndarray) -> np.ndarray:
    return ModelC(AsymmetricLaw(forward, backward), stiffness=3e3, damping=15.0, period=T).simulate(u)


@pytest.mark.parametrize("swapped", [False, True])
def test_slopes_range_over_both_directions(swapped: bool) -> None:
    """Identification and design take the bounds of g' from here."""
    laws = (
        ViscousCoulombLaw(2.0, viscosity=3.0),
        StribeckLaw(1.0, static_force=2.0, stribeck_velocity=0.1, viscosity=9.0),
    )
    one, two = laws[::-1] if swapped else laws
    expected = (min(law.slope_range[0] for law in laws), max(law.slope_range[1] for law in laws))
    assert AsymmetricLaw(one, two).slope_range == expected
    assert expected[0] < 3.0 < expected[1]  # the viscosity of the first lies between


def test_at_rest_the_magnitude_is_that_of_the_forward_direction() -> None:
    law = AsymmetricLaw(CoulombLaw(2.0), CoulombLaw(3.0))
    assert (law.magnitude(0.0), law.magnitude(-1e-300)) == (2.0, 3.0)
