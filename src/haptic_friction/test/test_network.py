"""Networks of bodies and frictional contacts: Fig. 11 against independent solutions, momentum, energy, errors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from haptic_friction import (
    BASE,
    Body,
    Contact,
    ContactNetwork,
    CoulombLaw,
    ModelA,
    ModelB,
    ModelC,
    ParallelElements,
)
from haptic_friction.reference.networks import energy_balance

DATA = Path(__file__).with_name("data")
T = 1e-3


def element(
    force: float = 5.0, stiffness: float = 3e4, damping: float = 300.0, period: float = T, dimension: int = 1
) -> ModelC:
    """The paper's elements of Fig. 11."""
    return ModelC(CoulombLaw(force), stiffness=stiffness, damping=damping, period=period, dimension=dimension)


def two_contacts(scale: int = 1) -> ContactNetwork:
    """The paper's Fig. 10, with stiffness and damping that many times as high and a period that much shorter."""
    contacts = [element(F, 3e4 * scale, 300.0 * scale, T / scale) for F in (5.0, 2.5)]
    return ContactNetwork(
        [Body(1.0, 100.0), Body(1.0, 200.0)], [Contact(BASE, 0, contacts[0]), Contact(0, 1, contacts[1])]
    )


def base_velocity(duration: float, period: float = T) -> np.ndarray:
    """u = 0.5 sin(5 t) m/s at t = T, 2 T, ..."""
    return 0.5 * np.sin(5.0 * period * np.arange(1, round(duration / period) + 1))


def recorded(network: ContactNetwork, velocities: np.ndarray) -> dict[str, np.ndarray]:
    """All that a network shows over a run, one row a step."""
    rows: dict[str, list[Any]] = {name: [] for name in ("x", "v", "f", "e", "static")}
    for u in velocities:
        rows["f"].append(network.step([u])[:, 0])
        rows["x"].append(network.position[:, 0].copy())
        rows["v"].append(network.velocity[:, 0].copy())
        rows["e"].append(network.elements.row("displacement")[:, 0].copy())
        rows["static"].append(network.elements.sticking.copy())
    return {name: np.array(values) for name, values in rows.items()}


# Figure 11


def test_figure_11_is_the_independent_solution_of_the_same_steps() -> None:
    reference = np.load(DATA / "fig11_two_contacts.npz")
    run = recorded(two_contacts(), reference["u"])
    for place in (0, 1):
        np.testing.assert_array_equal(run["static"][:, place], reference[f"static{place + 1}"])
        for name in ("x", "v", "f", "e"):
            expected = reference[f"{name}{place + 1}"]
            # the tolerance that the reference states; rounding over 10 s leaves 1e-13 of it
            tolerance = 1e-9 * np.abs(expected).max()
            np.testing.assert_allclose(run[name][:, place], expected, rtol=0, atol=tolerance, err_msg=name)


def test_a_simulated_run_is_its_steps() -> None:
    u = base_velocity(0.5)
    steps, run = recorded(two_contacts(), u), two_contacts().simulate(u[:, None])
    for name, values in zip(("x", "v", "f", "e"), run, strict=False):
        np.testing.assert_array_equal(values[:, :, 0], steps[name], err_msg=name)
    np.testing.assert_array_equal(run.sticking, steps["static"])
    assert len(two_contacts().simulate(np.empty((0, 1))).force) == 0


def test_figure_11_shows_stick_slip_in_both_contacts() -> None:
    static = recorded(two_contacts(), base_velocity(10.0))["static"]
    changes = np.count_nonzero(np.diff(static.astype(int), axis=0), axis=0)
    assert (static.mean(axis=0) > 0.1).all() and (static.mean(axis=0) < 0.9).all() and (changes > 4).all()


@pytest.mark.slow
def test_stiffer_contacts_and_shorter_periods_tend_to_rigid_contacts() -> None:
    """Contacts yield by F/K and forces act one period late, so the error is of first order in 1/K and T."""
    truth = np.load(DATA / "fig11_rigid_truth.npz")
    expected = np.column_stack((truth["x1"], truth["x2"]))
    errors = []
    for scale in (1, 2, 4):
        positions = recorded(two_contacts(scale), base_velocity(10.0, T / scale))["x"][scale - 1 :: scale]
        errors.append(np.sqrt(np.mean((positions - expected) ** 2, axis=0)))
    # 0.54 mm and 0.32 mm RMS of 73 mm and 25 mm; switching times jump by whole periods, hence not quite a half
    assert (errors[0] < 0.02 * np.abs(expected).max(axis=0)).all()
    ratios = np.array(errors[:-1]) / errors[1:]
    assert ((ratios > 1.6) & (ratios < 2.2)).all(), ratios


# Conservation


def test_contacts_between_bodies_conserve_momentum() -> None:
    mass = np.array([1.0, 2.0, 0.5])
    network = ContactNetwork(
        [Body(m) for m in mass], [Contact(0, 1, element()), Contact(2, 1, element(1.0)), Contact(2, 0, element(0.5))]
    )
    network.velocity[:, 0] = [0.3, -0.1, 0.2]
    momentum = mass @ network.velocity[:, 0]
    for _ in range(500):
        network.step([0.0])
        # the forces on the partners are equal and opposite: what is left is the rounding of 500 sums
        assert mass @ network.velocity[:, 0] == pytest.approx(momentum, abs=1e-13)
    assert network.elements.dissipated_energy.sum() > 0.0
    np.testing.assert_allclose(network.velocity[:, 0], momentum / mass.sum(), atol=1e-6)  # all at one velocity


def test_a_sliding_body_stops_after_its_momentum_over_the_force() -> None:
    """From 1 m/s against 5 N a mass of 1 kg slides for 0.2 s and 0.1 m; F/K = 0.17 mm."""
    network = ContactNetwork([Body(1.0)], [Contact(BASE, 0, element())])
    network.velocity[0] = 1.0
    run = recorded(network, np.zeros(400))
    # the element yields by F/K before it slides and springs back at the end
    assert run["x"][-1, 0] == pytest.approx(0.1, abs=3.0 * 5.0 / 3e4)
    assert np.flatnonzero(~run["static"][:, 0])[-1] * T == pytest.approx(0.2, abs=2e-3)
    np.testing.assert_allclose(run["f"][50:150, 0], -5.0, rtol=1e-12)  # base less body: backwards
    assert np.abs(run["v"][-1, 0]) < 1e-9


def energy_left(period: float) -> tuple[float, float]:
    """Work of the base [J], and what of it kinetic, elastic and dissipated energies do not account for."""
    scale, stiffness, damping = round(T / period), 3e4, 300.0
    contacts = [element(F, stiffness, damping, period) for F in (5.0, 2.5)]
    mass, springs = np.array([1.0, 1.0]), np.array([100.0, 200.0])
    network = ContactNetwork(
        [Body(m, k) for m, k in zip(mass, springs, strict=True)],
        [Contact(BASE, 0, contacts[0]), Contact(0, 1, contacts[1])],
    )
    u = base_velocity(2.0, period)
    run = recorded(network, u)
    assert scale * 2000 == len(u)
    work = period * float(u @ run["f"][:, 0])
    rates = np.diff(run["e"], axis=0, prepend=0.0) / period
    viscous = period * damping * float((rates**2).sum())
    stored = 0.5 * (mass @ run["v"][-1] ** 2 + springs @ run["x"][-1] ** 2 + stiffness * (run["e"][-1] ** 2).sum())
    return work, work - stored - viscous - float(network.elements.dissipated_energy.sum())


@pytest.mark.slow
def test_the_energy_balance_closes_with_the_period() -> None:
    """Elements are implicit and bodies take the force of the step before: the balance is of first order in T."""
    works, rests = zip(*(energy_left(period) for period in (1e-3, 5e-4, 2.5e-4)), strict=True)
    assert abs(rests[0]) < 1e-3 * works[0]
    assert np.array(rests[:-1]) / rests[1:] == pytest.approx(2.0, rel=0.05)


# Forms of networks


def test_a_contact_turned_round_is_the_same_network() -> None:
    forward = ContactNetwork([Body(1.0, 50.0)], [Contact(BASE, 0, element())])
    backward = ContactNetwork([Body(1.0, 50.0)], [Contact(0, BASE, element())])
    for u in base_velocity(1.0):
        np.testing.assert_array_equal(forward.step([u]), -backward.step([u]))
        np.testing.assert_array_equal(forward.position, backward.position)


def test_without_a_contact_to_it_a_body_only_swings_on_its_spring() -> None:
    network = ContactNetwork([Body(1.0, 100.0), Body(2.0)], [Contact(BASE, 1, element())])
    network.position[0] = 0.01
    amplitude = max(abs(recorded(network, base_velocity(2.0))["x"][:, 0]))
    # symplectic Euler keeps the amplitude to T w/2 = 0.5 %
    assert amplitude == pytest.approx(0.01, rel=6e-3)


def test_a_network_in_the_plane_does_not_depend_on_the_axes() -> None:
    def plane() -> ContactNetwork:
        bodies, contacts = [Body(1.0, 100.0), Body(1.0, 200.0)], [element(F, dimension=2) for F in (5.0, 2.5)]
        return ContactNetwork(bodies, [Contact(BASE, 0, contacts[0]), Contact(0, 1, contacts[1])])

    angle = 0.7
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    networks, time = (plane(), plane()), T * np.arange(2000)
    for u in np.column_stack((0.5 * np.sin(5.0 * time), 0.3 * np.cos(3.0 * time))):
        for network, velocity in zip(networks, (u, turn @ u), strict=True):
            network.step(velocity)
    # rounding moves switching by less than a step, so it stays rounding
    np.testing.assert_allclose(networks[1].position, networks[0].position @ turn.T, rtol=0, atol=1e-12)


def test_along_a_line_in_the_plane_it_is_the_network_of_one_dimension() -> None:
    line = two_contacts()
    plane = ContactNetwork(
        [Body(1.0, 100.0), Body(1.0, 200.0)],
        [Contact(BASE, 0, element(5.0, dimension=2)), Contact(0, 1, element(2.5, dimension=2))],
    )
    for u in base_velocity(2.0):
        expected, force = line.step([u]), plane.step([0.0, u])
        np.testing.assert_allclose(force, np.column_stack((0.0 * expected, expected)), rtol=0, atol=1e-11)


def test_elements_may_be_of_another_impedance_model() -> None:
    def inertial(force: float) -> ModelB:
        return ModelB(CoulombLaw(force), mass=0.01, stiffness=3e4, damping=300.0, period=T)

    network = ContactNetwork([Body(1.0, 100.0)], [Contact(BASE, 0, inertial(5.0))])
    force = recorded(network, base_velocity(2.0))["f"]
    assert np.abs(force).max() == pytest.approx(5.0, rel=0.1)  # the asperity's 10 g add M times their acceleration


def test_reset_starts_the_same_run_again() -> None:
    network = two_contacts()
    first = recorded(network, base_velocity(1.0))
    network.reset()
    for name, values in recorded(network, base_velocity(1.0)).items():
        np.testing.assert_array_equal(values, first[name], err_msg=name)


# Errors


@pytest.mark.parametrize("velocity", [[np.nan], [np.inf], [0.0, 0.0], 0.0, []], ids=str)
def test_an_unusable_base_velocity_changes_nothing(velocity: Any) -> None:
    network, untouched = two_contacts(), two_contacts()
    for u in (0.1, 0.2):
        network.step([u])
        untouched.step([u])
    with pytest.raises(ValueError, match=r"^base_velocity: expected 1 finite numbers \[m/s\], got "):
        network.step(velocity)
    np.testing.assert_array_equal(network.step([0.3]), untouched.step([0.3]))
    np.testing.assert_array_equal(network.position, untouched.position)


@pytest.mark.parametrize(
    ("bodies", "partners", "message"),
    [
        ([], [(BASE, 0)], r"^bodies, contacts: expected one or more each, got 0 and 1"),
        ([Body(1.0)], [], r"^bodies, contacts: expected one or more each, got 1 and 0"),
        ([Body(0.0)], [(BASE, 0)], r"^mass of body 0: expected a finite number above 0 \[kg\], got 0\.0"),
        ([Body(1.0), Body(np.nan)], [(BASE, 0)], r"^mass of body 1: "),
        ([Body(1.0, -1.0)], [(BASE, 0)], r"^stiffness of body 0: .* \[N/m\], got -1\.0"),
        ([Body(1.0)], [(BASE, 1)], r"^contact 0: expected two of BASE and bodies 0 to 0, got \(-1, 1\)"),
        ([Body(1.0)], [(BASE, 0), (-2, 0)], r"^contact 1: .* got \(-2, 0\)"),
        ([Body(1.0)], [(0, 0)], r"^contact 0: .* got \(0, 0\)"),
        ([Body(1.0)], [(BASE, BASE)], r"^contact 0: .* got \(-1, -1\)"),
    ],
)
def test_a_network_that_cannot_be_is_refused(
    bodies: Sequence[Body], partners: Sequence[tuple[int, int]], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        ContactNetwork(bodies, [Contact(first, second, element()) for first, second in partners])


def test_elements_of_different_periods_are_refused() -> None:
    with pytest.raises(ValueError, match="expected elements of one model, kind of law, dimension and period"):
        ContactNetwork([Body(1.0)], [Contact(BASE, 0, element()), Contact(BASE, 0, element(period=2e-3))])


@pytest.mark.parametrize(
    "element",
    [ModelA(CoulombLaw(1.0), mass=1.0, period=1e-3), ParallelElements.from_loading_curve([1e-3], [1.0], period=1e-3)],
)
def test_a_contact_takes_impedance_models_only(element: Any) -> None:
    with pytest.raises(ValueError, match=rf"contact 0: expected an impedance model .* got {type(element).__name__}"):
        ContactNetwork([Body(1.0)], [Contact(BASE, 0, element)])


def test_energy_balance_of_a_stretching_contact_is_that_of_its_spring_and_damper() -> None:
    """A contact stretched at a constant rate r: K (r t)^2/2 is stored, B r^2 t is damped, the base pays for both."""
    n, period, rate, stiffness, damping = 200, 1e-3, 0.3, 500.0, 4.0
    displacement = rate * period * np.arange(1, n + 1)[:, None]
    base = displacement[:, 0]
    still = np.zeros((n, 1))
    force = stiffness * (base + 0.5 * rate * period) + damping * rate  # the mean over the period after each tick
    found = energy_balance(
        base, force, position=still, velocity=still, displacement=displacement, mass=np.ones(1), spring=np.ones(1),
        stiffness=np.array([stiffness]), damping=np.array([damping]), dissipated=0.0, period=period,
    )  # fmt: skip
    assert found.stored == pytest.approx(0.5 * stiffness * base[-1] ** 2, rel=1e-12)
    assert found.damped == pytest.approx(damping * rate**2 * n * period, rel=1e-12)
    # the first period is stretched before the base's force is counted
    first = 0.5 * stiffness * (rate * period) ** 2 + damping * rate**2 * period
    assert found.open == pytest.approx(-first, rel=1e-6)
