"""Bodies and contacts in one implicit step: its equations, its limits, energy; stability of the split network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from haptic_friction import (
    BASE,
    AnisotropicLaw,
    Body,
    Contact,
    ContactNetwork,
    CoulombLaw,
    FrictionLaw,
    ImplicitNetwork,
    ModelB,
    ModelC,
    ModelD,
    StribeckLaw,
    ViscousCoulombLaw,
    mobility_limit,
)
from haptic_friction.design import sticking_matrix

DATA = Path(__file__).with_name("data")
T, K, B = 1e-3, 3e4, 300.0
LIMITS = (5.0, 2.5)


def chain(
    kind: Any = ImplicitNetwork,
    *,
    masses: Sequence[float] = (1.0, 1.0),
    springs: Sequence[float] = (100.0, 200.0),
    period: float = T,
    laws: Sequence[FrictionLaw] = (CoulombLaw(LIMITS[0]), CoulombLaw(LIMITS[1])),
    stiffness: float = K,
    damping: float = B,
    dimension: int = 1,
    **options: Any,
) -> Any:
    """The paper's Fig. 10."""
    elements = [ModelC(law, stiffness=stiffness, damping=damping, period=period, dimension=dimension) for law in laws]
    return kind(
        [Body(*numbers) for numbers in zip(masses, springs, strict=True)],
        [Contact(BASE, 0, elements[0]), Contact(0, 1, elements[1])],
        **options,
    )


def base_velocity(duration: float, period: float = T) -> np.ndarray:
    """u = 0.5 sin(5 t) m/s at t = T, 2 T, ..., shape (n, 1)."""
    return 0.5 * np.sin(5.0 * period * np.arange(1, round(duration / period) + 1))[:, None]


# the equations


LAWS: dict[str, Callable[[float], FrictionLaw]] = {
    "coulomb": CoulombLaw,
    "viscous": lambda F: ViscousCoulombLaw(F, viscosity=2.0),
    "stribeck": lambda F: StribeckLaw(F, static_force=1.5 * F, stribeck_velocity=0.1),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_each_step_obeys_its_equations(name: str) -> None:
    """Momentum with the forces at the end of the step, and each element's law at the velocity that it slides with."""
    laws = [LAWS[name](F) for F in LIMITS]
    network, u = chain(laws=laws, damping=400.0), base_velocity(2.0)
    x, v, f, e, sticking = (values[..., 0] if values.ndim == 3 else values for values in network.simulate(u))
    before = [np.vstack([np.zeros(2), values[:-1]]) for values in (x, v, e)]
    springs = np.array([100.0, 200.0])
    pull = np.column_stack([f[:, 0] - f[:, 1], f[:, 1]]) - springs * x
    np.testing.assert_allclose((v - before[1]) / T, pull, atol=1e-9)  # rounding of v over T, 1e-16/1e-3 times 10 or so
    np.testing.assert_allclose(x, before[0] + T * v, atol=1e-16)
    relative = np.column_stack([u[:, 0] - v[:, 0], v[:, 0] - v[:, 1]])
    rate = (e - before[2]) / T
    np.testing.assert_allclose(f, K * e + 400.0 * rate, atol=1e-7)  # rounding of e: 1e-19 m, over T, times 400
    slide = relative - rate
    assert sticking.any(axis=0).all() and not sticking.all(axis=0).any()
    assert np.abs(slide[sticking]).max() < 1e-12
    for contact, law in enumerate(laws):
        free = ~sticking[:, contact]
        rubbed = T * float(f[free, contact] @ slide[free, contact])
        assert network.elements.dissipated_energy[contact] == pytest.approx(rubbed, rel=1e-9)
        expected = [law.force([w])[0] for w in slide[free, contact]]
        np.testing.assert_allclose(f[free, contact], expected, atol=1e-7)
        assert (np.abs(f[~free, contact]) <= law.breakaway_force * (1 + 1e-12)).all()


def test_contacts_that_are_too_stiff_for_the_sweeps_are_refused() -> None:
    """Two contacts on one light body: the sweeps converge by (m/(m + Z))^2 each, with m = T/M and Z = 1/(B + T K)."""
    stiff = [ModelC(CoulombLaw(5.0), stiffness=1e9, damping=0.0, period=T) for _ in range(2)]
    network = ImplicitNetwork([Body(1e-3)], [Contact(BASE, 0, element) for element in stiff])
    with pytest.raises(RuntimeError, match=r"^step 0: the contact forces did not converge in 2000 sweeps$"):
        network.simulate([[1e-6]])


def test_one_contact_on_one_body_is_model_d() -> None:
    """A mass on a resting base, pulled by its spring: model D under the force of that spring, in the same step."""
    network = ImplicitNetwork(
        [Body(2.0)], [Contact(0, BASE, ModelC(CoulombLaw(3.0), stiffness=K, damping=B, period=T))]
    )
    model = ModelD(CoulombLaw(3.0), mass=2.0, stiffness=K, damping=B, period=T)
    network.velocity[0] = 0.4
    model.reset(velocity=[0.4])
    for _ in range(400):
        network.step([0.0])
        (expected,) = model.step([0.0])
        assert network.velocity[0, 0] == pytest.approx(expected, abs=1e-14)
    assert network.elements.sticking.all()


@pytest.mark.slow
def test_shorter_periods_tend_to_one_motion_as_the_split_network_does() -> None:
    """Both are of first order; their limits are one: the distance halves with the period."""
    apart = []
    for n in (1, 2, 4, 8):
        u = base_velocity(2.0, T / n)
        split = chain(ContactNetwork, period=T / n)
        x = []
        for velocity in u:
            split.step(velocity)
            x.append(split.position[:, 0].copy())
        implicit = chain(period=T / n).simulate(u).position[:, :, 0]
        apart.append(np.sqrt(np.mean((np.array(x) - implicit) ** 2)))
    ratios = np.array(apart[:-1]) / apart[1:]
    assert apart[0] < 1e-3 and (ratios > 1.5).all(), (apart, ratios)


def test_rigid_contacts_are_the_limit_of_stiff_ones() -> None:
    """The independent solution with rigid contacts: a hundred times as stiff, the period is left, in first order."""
    truth = np.load(DATA / "fig11_rigid_truth.npz")
    expected = np.column_stack((truth["x1"], truth["x2"]))
    stiff, errors = {"stiffness": 100.0 * K, "damping": 100.0 * B}, []
    for n in (1, 2, 4):
        x = chain(period=T / n, **stiff).simulate(base_velocity(10.0, T / n)).position[n - 1 :: n, :, 0]
        errors.append(np.sqrt(np.mean((x - expected) ** 2, axis=0)))
    assert (errors[0] < 0.025 * np.abs(expected).max(axis=0)).all(), errors
    ratios = np.array(errors[:-1]) / errors[1:]
    assert ((ratios > 1.6) & (ratios < 2.4)).all(), ratios
    radii = [
        np.abs(np.linalg.eigvals(chain(kind, **stiff).stuck_map())).max() for kind in (ContactNetwork, ImplicitNetwork)
    ]
    assert radii[0] > 1.0 > radii[1]  # the split network cannot hold them


@pytest.mark.slow
def test_a_network_in_the_plane_does_not_depend_on_the_axes() -> None:
    angle, time = 0.7, T * np.arange(2000)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    u = np.column_stack((0.5 * np.sin(5.0 * time), 0.3 * np.cos(3.0 * time)))
    one, other = chain(dimension=2).simulate(u), chain(dimension=2).simulate(u @ turn.T)
    np.testing.assert_allclose(other.position, one.position @ turn.T, rtol=0, atol=1e-12)
    line = chain().simulate(u[:, :1])
    along = chain(dimension=2).simulate(np.column_stack((0.0 * u[:, 0], u[:, 0])))
    np.testing.assert_allclose(along.force[:, :, 1], line.force[:, :, 0], rtol=0, atol=1e-11)


@pytest.mark.slow
def test_an_anisotropic_law_takes_the_force_along_its_axes() -> None:
    law = AnisotropicLaw(np.array([[4.0, 0.0], [0.0, 2.0]]))
    network = ImplicitNetwork(
        [Body(1.0)], [Contact(BASE, 0, ModelC(law, stiffness=K, damping=B, period=T, dimension=2))]
    )
    run = network.simulate(np.tile([0.0, 5.0], (100, 1)))
    np.testing.assert_allclose(run.force[-1, 0], [0.0, 2.0], atol=1e-9)


def test_steps_are_the_simulation_and_reset_starts_again() -> None:
    network, u = chain(), base_velocity(0.5)
    whole = network.simulate(u)
    network.reset()
    for k, velocity in enumerate(u):
        np.testing.assert_array_equal(network.step(velocity), whole.force[k])
        np.testing.assert_array_equal(network.position, whole.position[k])
    np.testing.assert_array_equal(network.force, whole.force[-1])
    assert network.relative_velocity[0, 0] == u[-1, 0] - network.velocity[0, 0]


# energy


@pytest.mark.parametrize("mass", [1e-3, 1.0], ids=["light", "the paper's"])
@pytest.mark.parametrize("period", [1e-2, 1e-3])
def test_no_step_gives_more_energy_than_it_takes(mass: float, period: float) -> None:
    """Work of the base less what is stored never falls, for masses far below what the split network bears."""
    network = chain(masses=(mass, mass), period=period)
    u = base_velocity(3.0, period)
    run = network.simulate(u)
    stored = 0.5 * (
        mass * (run.velocity**2).sum(axis=(1, 2))
        + (run.position[:, :, 0] ** 2 @ np.array([100.0, 200.0]))
        + K * (run.displacement**2).sum(axis=(1, 2))
    )
    lost = period * u[:, 0] * run.force[:, 0, 0] - np.diff(stored, prepend=0.0)
    assert lost.min() > -1e-15  # rounding of 0.1 J
    dissipated = float(network.elements.dissipated_energy.sum())
    rates = np.diff(run.displacement, axis=0, prepend=0.0) / period
    assert 0.0 < dissipated + period * B * float((rates**2).sum()) <= lost.sum() + 1e-12


# stability


def test_the_stuck_map_of_one_body_is_the_papers() -> None:
    for delay in (0, 1, 2):
        network = ContactNetwork(
            [Body(0.3)], [Contact(BASE, 0, ModelC(CoulombLaw(1.0), stiffness=K, damping=B, period=T))], delay=delay
        )
        found = np.linalg.eigvals(network.stuck_map())
        expected = np.linalg.eigvals(sticking_matrix(mass=0.3, stiffness=K, damping=B, period=T, delay=delay))
        np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(expected), atol=1e-9)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (ContactNetwork, {}),
        (ContactNetwork, {"delay": 1}),
        (ContactNetwork, {"implicit_springs": True}),
        (ImplicitNetwork, {}),
    ],
)
def test_the_stuck_map_is_what_the_network_does_while_it_sticks(kind: Any, options: dict[str, Any]) -> None:
    network = chain(kind, laws=(CoulombLaw(1e6), CoulombLaw(1e6)), masses=(1.0, 2.0), **options)
    network.velocity[:, 0] = [0.01, -0.02]
    network.step([0.0])  # the forces now are those of the velocity
    state = np.concatenate([network.position[:, 0], network.velocity[:, 0], np.zeros(2 * options.get("delay", 0))])
    matrix = network.stuck_map()
    for _ in range(50):
        network.step([0.0])
        state = matrix @ state
        np.testing.assert_allclose(network.position[:, 0], state[:2], atol=1e-15)
        np.testing.assert_allclose(network.velocity[:, 0], state[2:4], atol=1e-13)


def growth(network: Any, steps: int = 3000) -> float:
    """Of the velocity that is left, over that at the start, with contacts that never slide."""
    network.velocity[:, 0] = [1e-6, -2e-6]
    for _ in range(steps):
        network.step([0.0])
    return float(np.abs(network.velocity).max() / 2e-6)


@pytest.mark.slow
@pytest.mark.covering
@pytest.mark.parametrize("delay", [0, 1])
@pytest.mark.parametrize(("stiffness", "damping"), [(3e4, 300.0), (6000.0, 40.0)])
def test_the_split_network_is_stable_up_to_the_closed_form(delay: int, stiffness: float, damping: float) -> None:
    """Two equal masses in a row on the base have 2.618/M; two per cent on either side the rest grows or decays."""
    limit = mobility_limit(stiffness=stiffness, damping=damping, period=T, delay=delay)
    lightest = 0.5 * (3.0 + np.sqrt(5.0)) / limit
    sticky = (CoulombLaw(1e9), CoulombLaw(1e9))
    for factor, grows in ((1.02, False), (0.98, True)):
        masses = (factor * lightest,) * 2
        options: dict[str, Any] = {"springs": (0.0, 0.0), "laws": sticky, "stiffness": stiffness, "damping": damping}
        split = chain(ContactNetwork, masses=masses, delay=delay, **options)
        radius = np.abs(np.linalg.eigvals(split.stuck_map()))
        radius = radius[np.abs(radius - 1.0) > 1e-9]  # 1: where the contacts rest
        assert (radius.max() > 1.0) == grows
        assert (growth(split) > 1.0) == grows
        assert growth(chain(masses=masses, **options)) < 1.0
    assert growth(chain(masses=(1e-3 * lightest,) * 2, **options)) < 1.0  # the implicit one bears any mass


def test_the_limits_are_those_of_jurys_criterion() -> None:
    for delay in (0, 1):
        for damping in (31.0, 100.0, 1000.0):
            mass = 1.0 / mobility_limit(stiffness=K, damping=damping, period=T, delay=delay)
            radii = [
                np.abs(np.linalg.eigvals(sticking_matrix(mass=m, stiffness=K, damping=damping, period=T, delay=delay)))
                for m in (1.001 * mass, 0.999 * mass)
            ]
            assert radii[0].max() < 1.0 < radii[1].max(), (delay, damping)
    assert mobility_limit(stiffness=K, damping=29.0, period=T, delay=1) == 0.0  # B < T K
    assert mobility_limit(stiffness=K, damping=0.0, period=T) == pytest.approx(4.0 / (T * T * K))
    with pytest.raises(ValueError, match="delay: expected 0 or 1 periods, got 2"):
        mobility_limit(stiffness=K, damping=B, period=T, delay=2)
    with pytest.raises(ValueError, match="stiffness: expected a finite number above 0"):
        mobility_limit(stiffness=0.0, damping=B, period=T)


# forms and errors


def test_implicit_springs_and_delay_do_what_they_say() -> None:
    """Each step by hand, with the forces of one or two steps before."""
    for delay in (0, 1):
        network = chain(ContactNetwork, implicit_springs=True, delay=delay, springs=(1e4, 2e4))
        x, v, late = np.zeros(2), np.zeros(2), [np.zeros(2)] * (delay + 1)
        springs = np.array([1e4, 2e4])
        for u in base_velocity(0.3):
            f = late.pop(0)
            v = (v + T * (np.array([f[0] - f[1], f[1]]) - springs * x)) / (1.0 + T * T * springs)
            x = x + T * v
            late.append(network.step(u)[:, 0].copy())
            np.testing.assert_allclose(network.position[:, 0], x, atol=1e-15)
            np.testing.assert_allclose(network.velocity[:, 0], v, atol=1e-13)


def test_network_with_another_model_than_c_is_refused() -> None:
    asperity = ModelB(CoulombLaw(1.0), mass=0.01, stiffness=K, damping=B, period=T)
    with pytest.raises(ValueError, match=r"^contact 0: expected model C, got ModelB$"):
        ImplicitNetwork([Body(1.0)], [Contact(BASE, 0, asperity)])
    with pytest.raises(ValueError, match=r"^contact 0: expected model C, got ModelB$"):
        ContactNetwork([Body(1.0)], [Contact(BASE, 0, asperity)]).stuck_map()
    with pytest.raises(ValueError, match=r"^delay: expected a whole number of periods, not negative, got -1$"):
        chain(ContactNetwork, delay=-1)


def test_a_law_that_falls_too_steeply_for_the_mass_is_refused() -> None:
    """Alone the element could follow it, with B + T K = 330 N s/m; 10 g on it give way."""
    law = StribeckLaw(1.0, static_force=3.0, stribeck_velocity=0.01)
    ModelC(law, stiffness=K, damping=B, period=T)
    with pytest.raises(ValueError, match="Phi_Z does not exist"):
        chain(laws=(law, law), masses=(0.01, 0.01))


@pytest.mark.parametrize("velocity", [[[np.nan]], [[0.0, 0.0]], [0.0], 0.0], ids=str)
def test_unusable_base_velocities_change_nothing(velocity: Any) -> None:
    network = chain()
    with pytest.raises(ValueError, match=r"^base_velocity: expected shape "):
        network.simulate(velocity)
    assert not network.position.any()
    assert network.simulate(np.zeros((0, 1))).force.shape == (0, 2, 1)
