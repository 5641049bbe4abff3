"""What holds of all four models: their equations as printed, symmetry, scaling, contraction, sticking."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group

from haptic_friction import (
    AnisotropicLaw,
    CoulombLaw,
    FrictionLaw,
    FrictionModel,
    ModelA,
    ModelB,
    ModelC,
    ModelD,
    StribeckLaw,
    TableLaw,
    ViscousCoulombLaw,
    WithCompliance,
    WithMass,
)

EPS = np.finfo(float).eps
Motion = Callable[..., np.ndarray]

properties = settings(max_examples=60)
LAWS: dict[str, FrictionLaw] = {
    "coulomb": CoulombLaw(4.0),
    "viscous": ViscousCoulombLaw(4.0, viscosity=5.0),
    "stribeck": StribeckLaw(3.0, static_force=5.0, stribeck_velocity=0.05, viscosity=2.0),
    "table": TableLaw([0.0, 0.02, 0.1, 1.0], [5.0, 4.0, 3.0, 6.0]),
}
#: M [kg], K [N/m], B [N s/m], T [s]: they stick and slide under `inputs`
CONSTANTS = {"mass": 0.5, "stiffness": 6000.0, "damping": 60.0, "period": 1e-3}


def build(
    kind: str, law: FrictionLaw, *, mass: float, stiffness: float, damping: float, period: float, dimension: int
) -> FrictionModel:
    spring, rest = {"stiffness": stiffness, "damping": damping}, {"period": period, "dimension": dimension}
    if kind == "A":
        return ModelA(law, mass=mass, **rest)
    if kind == "B":
        return ModelB(law, mass=mass, **spring, **rest)
    if kind == "C":
        return ModelC(law, **spring, **rest)
    if kind == "D":
        return ModelD(law, mass=mass, **spring, **rest)
    if kind == "mass and C":
        return WithMass(ModelC(law, **spring, **rest), mass=mass)
    if kind == "mass and B":
        return WithMass(ModelB(law, mass=0.3 * mass, **spring, **rest), mass=mass)
    if kind == "compliance and A":
        return WithCompliance(ModelA(law, mass=mass, **rest), **spring)
    return WithCompliance(ModelD(law, mass=mass, **spring, **rest), stiffness=0.5 * stiffness, damping=0.5 * damping)


MODELS = ["A", "B", "C", "D"]
ALL = [*MODELS, "mass and B", "mass and C", "compliance and A", "compliance and D"]


def inputs(model: FrictionModel, motion: Motion, steps: int, dimension: int) -> np.ndarray:
    """Velocities of 0.2 m/s, or forces of 10 N."""
    return motion(steps, dimension, seed=dimension) * (50.0 if model.kind == "admittance" else 1.0)


# The equations as they are printed


def printed(kind: str, law: FrictionLaw, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(26), (36), (38), (45), Fig. 12(a) and (60) as they stand, from rest: outputs and friction forces."""
    mass, K, B, T = CONSTANTS.values()
    M = 0.3 * mass if kind == "mass and B" else mass
    C, Zc = M + T * B + T * T * K, 1.0 / (B + T * K)
    A = (T * T * K + T * B + M) / (M * (B + T * K))  # (44)
    zero = np.zeros(inputs.shape[1])
    u = u_1 = e = e_1 = e_2 = v = f = h = stretch = zero
    outputs, forces = [], []
    for x in inputs:
        if kind == "A":
            v_star = v + T * x / M  # (26a)
            f = law.projected(v_star, T / M)  # (26b)
            output = v = v_star - T * f / M  # (26c)
        elif kind in ("B", "mass and B"):
            u = x if kind == "B" else u + T / mass * (x - h)  # (60)
            v_star = u + T * K / C * e_1 - M / C * (u - u_1 + (e_1 - e_2) / T)  # (36a)
            f = law.projected(v_star, T / C)  # (36b)
            e = e_1 + T * u - T * (v_star - T * f / C)  # (36c)
            h = K * e + B * (e - e_1) / T  # (36d)
            output = h if kind == "B" else u
            u_1, e_2, e_1 = u, e_1, e
        elif kind in ("C", "mass and C"):
            u = x if kind == "C" else u + T / M * (x - f)  # (60)
            f = law.projected(u + K * e * Zc, Zc)  # (38a), (38b)
            e = (B * e + T * f) * Zc  # (38c)
            output = f if kind == "C" else u
        elif kind in ("D", "compliance and D"):
            stretch = stretch + T * (x - u)
            h = x if kind == "D" else 0.5 * (K * stretch + B * (x - u))
            v_star = u + T * h / M + K * e * Zc  # (45a)
            f = law.projected(v_star, A)  # (45b)
            e = (B * e + T * f) * Zc  # (45c)
            u = u + T * (h - f) / M  # (45d)
            output = u if kind == "D" else h
        else:
            stretch = stretch + T * (x - v)
            output = K * stretch + B * (x - v)
            v_star = v + T * output / M
            f = law.projected(v_star, T / M)
            v = v_star - T * f / M
        outputs.append(output)
        forces.append(f)
    return np.array(outputs), np.array(forces)


@pytest.mark.covering
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_a_motion_that_sticks_and_slides_follows_the_printed_equations(
    kind: str, law: FrictionLaw, dimension: int, motion: Motion
) -> None:
    model = build(kind, law, dimension=dimension, **CONSTANTS)
    values = inputs(model, motion, 600, dimension)
    outputs, forces = printed(kind, law, values)
    stuck = 0
    # M/(T^2 K) = 83 enlarges the rounding of (e_1 - e_2)/T, and a falling g that of the sliding speed
    tolerance = 1e-10
    for x, output, force in zip(values, outputs, forces, strict=True):
        np.testing.assert_allclose(model.step(x), output, rtol=0, atol=tolerance * np.abs(outputs).max())
        np.testing.assert_allclose(model.friction_force, force, rtol=0, atol=tolerance * np.abs(forces).max())
        stuck += model.sticking
        assert not (model.sticking and model.sliding_velocity.any())
    assert 30 < stuck < 570


# Sticking


parameters = st.fixed_dictionaries(
    {
        "mass": st.floats(1e-3, 1e3),
        "stiffness": st.floats(1.0, 1e8),
        "damping": st.one_of(st.just(0.0), st.floats(1e-2, 1e3)),
        "period": st.floats(1e-5, 1e-1),
    }
)


@properties
@given(parameters, st.integers(1, 3), st.integers(0, 999), st.sampled_from(MODELS))
def test_sticking_means_exactly_zero_velocity_and_a_force_within_g_of_zero(
    constants: dict[str, float], dimension: int, seed: int, kind: str
) -> None:
    """(26c) and (38c) literally leave 1e-16 m/s in a quarter of the static steps, and creep."""
    random = np.random.default_rng(seed)
    for law in (LAWS["coulomb"], LAWS["viscous"]):
        model = build(kind, law, dimension=dimension, **constants)
        # inputs whose v* is about the static limit Z F
        gain = {"A": model.Z, "B": constants["period"] / constants["mass"], "C": 1.0, "D": model.Z}[kind]
        scale = law.breakaway_force * model.Z / gain
        for _ in range(40):
            model.step(random.normal(scale=0.5 * scale, size=dimension))
            if model.sticking:
                np.testing.assert_array_equal(model.sliding_velocity, np.zeros(dimension))
                assert np.linalg.norm(model.friction_force) <= law.breakaway_force * (1 + 8 * EPS)
            else:
                # f is parallel to the sliding velocity, and opposes the contact
                v, f = model.sliding_velocity, model.friction_force
                assert (
                    f @ v >= (1 - 1e-9) * np.linalg.norm(f) * np.linalg.norm(v) - 1e-9 * law.breakaway_force * model.Z
                )


@pytest.mark.covering
@pytest.mark.parametrize("law", [LAWS["coulomb"], LAWS["viscous"], LAWS["stribeck"]])
@pytest.mark.parametrize("kind", MODELS)
def test_the_force_is_continuous_where_sticking_ends(kind: str, law: FrictionLaw) -> None:
    """df/dinput <= gain/Z while it sticks, and g'/(1 + Z g') times the gain while it slides."""
    model = build(kind, law, dimension=1, **CONSTANTS)
    Z, M, T = model.Z, CONSTANTS["mass"], CONSTANTS["period"]
    gain = {"A": T / M, "B": 1.0 - M * Z / T, "C": 1.0, "D": T / M}[kind]
    slope = max(1.0, Z * max(abs(g) for g in law.slope_range) / (1.0 + Z * law.slope_range[0])) * gain / Z
    values = np.linspace(0.9, 1.1, 2001) * law.breakaway_force * Z / gain
    force, static = [], []
    for value in values:
        model.restore({name: [0.0] for name in model.rows})
        model.step([value])
        force.append(model.friction_force[0])
        static.append(model.sticking)
    assert static[0] and not static[-1] and np.count_nonzero(np.diff(static)) == 1
    assert np.abs(np.diff(force)).max() <= slope * (values[1] - values[0]) * (1 + 1e-9)


# Symmetry


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("mirrored", [False, True])
def test_turning_or_mirroring_the_input_does_so_to_the_output(
    kind: str, dimension: int, mirrored: bool, motion: Motion
) -> None:
    turn = ortho_group.rvs(dimension, random_state=5)
    turn[0] *= np.sign(np.linalg.det(turn)) * (-1.0 if mirrored else 1.0)
    original, turned = (build(kind, LAWS["viscous"], dimension=dimension, **CONSTANTS) for _ in range(2))
    values = inputs(original, motion, 600, dimension)
    outputs = original.simulate(values)
    # rounding adds up, a few eps a step, and M/(T^2 K) = 83 enlarges that of (36a)
    np.testing.assert_allclose(
        turned.simulate(values @ turn.T), outputs @ turn.T, rtol=0, atol=1e-11 * np.abs(outputs).max()
    )
    assert turned.dissipated_energy == pytest.approx(original.dissipated_energy, rel=1e-10)


@pytest.mark.slow
def test_five_dimensions_are_no_other_than_three(motion: Motion) -> None:
    turn = ortho_group.rvs(5, random_state=1)
    model, turned = (build("C", LAWS["stribeck"], dimension=n, **CONSTANTS) for n in (3, 5))
    values = motion(600, 3)
    embedded = np.pad(values, ((0, 0), (0, 2))) @ turn.T
    expected = np.pad(model.simulate(values), ((0, 0), (0, 2))) @ turn.T
    np.testing.assert_allclose(
        turned.simulate(embedded), expected, rtol=0, atol=1e-11 * np.abs(expected).max()
    )  # as above


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_motion_along_one_axis_is_the_one_dimensional_model(kind: str, law: FrictionLaw, motion: Motion) -> None:
    alone, embedded = (build(kind, law, dimension=n, **CONSTANTS) for n in (1, 3))
    values = inputs(alone, motion, 600, 1)
    expected = alone.simulate(values)
    found = embedded.simulate(np.pad(values, ((0, 0), (1, 1))))
    np.testing.assert_allclose(found[:, [1]], expected, rtol=0, atol=1e-10 * np.abs(expected).max())  # as the printed
    np.testing.assert_array_equal(found[:, [0, 2]], 0.0)


@pytest.mark.parametrize("kind", ALL)
def test_the_opposite_input_gives_the_opposite_output_bit_for_bit(kind: str, motion: Motion) -> None:
    for law in LAWS.values():
        one, other = (build(kind, law, dimension=2, **CONSTANTS) for _ in range(2))
        values = inputs(one, motion, 300, 2)
        np.testing.assert_array_equal(other.simulate(-values), -one.simulate(values))


# Units


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize(
    ("time", "force", "mass"), [(4.0, 1.0, 1.0), (1.0, 8.0, 1.0), (1.0, 1.0, 0.25), (0.5, 16.0, 2.0)]
)
def test_other_units_of_time_force_and_mass_give_the_same_numbers_bit_for_bit(
    kind: str, time: float, force: float, mass: float, motion: Motion
) -> None:
    """Factors that are powers of two change no rounding; velocity has the unit F T/M, stiffness M/T^2, damping M/T."""
    speed = force * time / mass
    units = {"mass": mass, "stiffness": mass / time**2, "damping": mass / time, "period": time}
    constants = {name: value * units[name] for name, value in CONSTANTS.items()}
    tensors = np.diag([3.0, 1.0]), np.diag([2.0, 4.0])
    viscous = mass / time
    pairs: list[tuple[FrictionLaw, FrictionLaw]] = [
        (LAWS["coulomb"], CoulombLaw(4.0 * force)),
        (LAWS["viscous"], ViscousCoulombLaw(4.0 * force, viscosity=5.0 * viscous)),
        (
            LAWS["stribeck"],
            StribeckLaw(3.0 * force, static_force=5.0 * force, stribeck_velocity=0.05 * speed, viscosity=2.0 * viscous),
        ),
        (
            LAWS["table"],
            TableLaw(speed * np.array([0.0, 0.02, 0.1, 1.0]), force * np.array([5.0, 4.0, 3.0, 6.0])),
        ),
        (
            AnisotropicLaw(tensors[0], viscosity=tensors[1]),
            AnisotropicLaw(force * tensors[0], viscosity=viscous * tensors[1]),
        ),
    ]
    for law, scaled in pairs:
        one, other = build(kind, law, dimension=2, **CONSTANTS), build(kind, scaled, dimension=2, **constants)
        values = inputs(one, motion, 300, 2)
        into, out = (force, speed) if one.kind == "admittance" else (speed, force)
        np.testing.assert_array_equal(other.simulate(into * values), out * one.simulate(values))
        assert other.dissipated_energy == force * speed * time * one.dissipated_energy


# Contraction: what a law that does not fall makes of two pasts


@properties
@given(parameters, st.integers(1, 3), st.integers(0, 999), st.sampled_from(MODELS))
def test_two_motions_under_the_same_input_never_part(
    constants: dict[str, float], dimension: int, seed: int, kind: str
) -> None:
    """M |v - v'|^2 + K |e - e'|^2 never grows, whatever T is: implicit Euler of a monotone law is a contraction."""
    random = np.random.default_rng(seed)
    M, K, T = constants["mass"], constants["stiffness"], constants["period"]
    law = LAWS["viscous"]
    one, other = (build(kind, law, dimension=dimension, **constants) for _ in range(2))
    F = law.breakaway_force

    def vector(scale: float) -> np.ndarray:
        return random.normal(scale=scale, size=dimension)

    start = {"velocity": vector(T * F / M), "displacement": vector(F / K)}
    if kind == "B":
        # from rest: the velocity that the element had is u - (e - e_before)/T = 0
        start = {"velocity": np.zeros(dimension), "displacement": start["displacement"]}
        start["previous_displacement"] = start["displacement"]
    other.restore({name: value for name, value in start.items() if name in other.rows})

    def distance() -> float:
        states = one.state, other.state
        moving = "sliding_velocity" if kind == "B" else "velocity"
        gap_v = np.zeros(dimension) if kind == "C" else states[0][moving] - states[1][moving]
        gap_e = states[0]["displacement"] - states[1]["displacement"] if kind != "A" else np.zeros(dimension)
        return float(np.sqrt(M * gap_v @ gap_v + K * gap_e @ gap_e))

    before = first = distance()
    # rounding of a step, in the unit of the distance: of velocities and displacements of the size they have
    for _ in range(30):
        value = vector(F if one.kind == "admittance" else F * (T / M + 1.0 / (T * K)))
        for model in (one, other):
            model.step(value)
        now = distance()
        size = max(float(np.abs(row).max()) for row in (*one.state.values(), *other.state.values()))
        v = max(float(np.abs(model.state["velocity"]).max()) for model in (one, other))
        e = max(float(np.abs(model.displacement).max()) for model in (one, other))
        rounding = (
            64 * EPS * (np.sqrt(M) * (v + e / T) + np.sqrt(K) * (e + T * v) + np.sqrt(M) * size * min(T / M, 1.0))
        )
        assert now <= before + rounding
        before = now
    assert before < first or before == 0.0


# Many elements in one call


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("shared", [False, True])
def test_a_kernel_runs_many_elements_as_it_runs_each(kind: str, shared: bool, motion: Motion) -> None:
    """Each with its own law and constants, or all with one row of them."""
    forces, factors = (4.0, 4.0, 4.0) if shared else (4.0, 2.0, 6.0), (1.0, 1.0, 1.0) if shared else (1.0, 0.5, 2.0)
    models = [
        build(
            kind,
            ViscousCoulombLaw(force, viscosity=factor),
            dimension=2,
            **{name: value * (factor if name != "period" else 1.0) for name, value in CONSTANTS.items()},
        )
        for force, factor in zip(forces, factors, strict=True)
    ]
    values = np.stack([inputs(models[0], motion, 200, 2) * size for size in (1.0, -0.5, 0.8)])
    outputs, states = np.empty_like(values), np.zeros((3, len(models[0].rows), 2))
    sticking, energies = np.ones(3, dtype=bool), np.full(3, 7.0)
    rows = models[:1] if shared else models
    coefficients = np.array([model.law.coefficients for model in rows])
    constants = np.array([model.constants for model in rows])
    kernel: Any = models[0].kernel
    kernel(models[0].law.code, coefficients, constants, values, states, outputs, sticking, energies, (0.0, 0.0))
    for m, model in enumerate(models):
        np.testing.assert_array_equal(outputs[m], model.simulate(values[m]))
        np.testing.assert_array_equal(states[m], list(model.state.values()))
        assert sticking[m] == model.sticking
        assert energies[m] == 7.0 + model.dissipated_energy
