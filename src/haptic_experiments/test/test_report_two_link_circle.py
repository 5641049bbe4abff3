"""The report of two_link_circle: its measures and claims on motions with known answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from admittance_constraints import ReferenceGenerator, TwoLinkOnCircle
from haptic_bags.bags import Bag
from haptic_experiments.experiments import two_link_circle
from haptic_experiments.experiments.two_link_circle import Numbers, analyse, measure, signals_of
from haptic_experiments.kit.display import DisplayRun
from haptic_experiments.report import Claim

#: period (s), radius (m), rate round the circle (rad/s), times of the run (s)
T, RADIUS, RATE = 1e-3, 0.05, 6.0
START_UP, LED, FREE = 0.4, 1.8, 4.0
PHASES = [
    {"name": "push", "kind": "slide", "start": 0.0, "end": LED},
    {"name": "released", "kind": "release", "start": LED, "end": LED + FREE},
]
#: ticks at which the hand is still letting go
LETTING_GO = 50
ENERGY, FIRST, SECOND, LEAD, TRACKING = range(5)
MECHANISM = TwoLinkOnCircle.paper()
MASS, LENGTH = 2.0, 0.15

Coordinates = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Motion:
    """The mechanism, and the force along the circle that moves it."""

    q: np.ndarray
    qdot: np.ndarray
    force: np.ndarray

    @property
    def tool(self) -> Coordinates:
        """Coordinates of the end point, (36), and their rates."""
        x, xdot = np.zeros((len(self.q), 6)), np.zeros((len(self.q), 6))
        x[:, 0] = MECHANISM.base[0]
        for angle, rate in ((self.q[:, 0], self.qdot[:, 0]), (self.q.sum(axis=1), self.qdot.sum(axis=1))):
            along = np.column_stack((np.cos(angle), np.sin(angle)))
            x[:, :2] += LENGTH * along
            xdot[:, :2] += LENGTH * rate[:, None] * along[:, ::-1] * [-1.0, 1.0]
        return x, xdot

    @property
    def energy(self) -> np.ndarray:
        """(33)."""
        c, (a, b) = np.cos(self.q[:, 1]), self.qdot.T
        return MASS * LENGTH**2 / 6.0 * ((5 + 3 * c) * a**2 + (2 + 3 * c) * a * b + b**2)


def simulated() -> Motion:
    """The hand leads the end point round at a constant rate after the start-up, and lets it go; then it is free."""
    time = T * np.arange(round(LED / T))
    rate = RATE * np.minimum(time / START_UP, 1.0)
    z = np.concatenate(([0.0], np.cumsum(T * 0.5 * (rate[1:] + rate[:-1]))))
    q, qdot = np.zeros((len(z), 2)), np.zeros((len(z), 2))
    guess = None
    for k in range(len(z)):
        guess = q[k] = MECHANISM.configuration(z[k : k + 1], guess)
        x, along = MECHANISM.forward(q[k]), np.array([-np.sin(z[k]), np.cos(z[k])])
        assert np.hypot(*x[:2]) == pytest.approx(RADIUS)
        qdot[k] = np.linalg.solve(MECHANISM.task_jacobian(q[k])[:2], RADIUS * rate[k] * along)
    generator = ReferenceGenerator(MECHANISM, period=T, integrator="rk4", z=[z[-1]], z_velocity=[rate[-1]])
    free = generator.simulate(wrenches=np.zeros((round(FREE / T), 6)))
    q, qdot = np.vstack((q, free.q)), np.vstack((qdot, free.q_velocity))
    force = np.zeros(len(q))
    led = Motion(q[: len(z)], qdot[: len(z)], force)
    force[1 : len(z)] = np.diff(led.energy) / T / np.maximum(RADIUS * rate[1:], 1e-3)  # its power is the energy's rate
    return Motion(q, qdot, force)


@pytest.fixture(scope="module")
def ideal() -> Motion:
    return simulated()


@pytest.fixture(scope="module")
def tool(ideal: Motion) -> Coordinates:
    return ideal.tool


@pytest.fixture
def bag_of(display_bag: Callable[..., Bag], ideal: Motion, tool: Coordinates) -> Callable[..., Bag]:
    """Makes the bag of a motion; the display measures what was due unless it is said otherwise."""

    def make(
        motion: Motion | None = None, measured: Coordinates | None = None, end: float = LED + FREE, **arguments: Any
    ) -> Bag:
        n = round(end / T)
        known = motion or ideal
        reference = tool if motion is None else motion.tool
        x = (measured or reference)[0]
        wrench = np.zeros((len(x), 6))
        angle = np.arctan2(x[:, 1], x[:, 0])
        wrench[:, 0], wrench[:, 1] = -np.sin(angle) * known.force, np.cos(angle) * known.force
        numbers = {"q": known.q[:n], "q_velocity": known.qdot[:n], "kinetic_energy": known.energy[:n]}
        touched = np.arange(n) < LED / T + LETTING_GO
        arguments = {"phases": PHASES, "touched": touched, **arguments}
        due = tuple(part[:n] for part in reference)
        return display_bag(
            "TwoLinkOnCircle",
            due if measured is None else tuple(part[:n] for part in measured),
            reference=due,
            wrench=wrench[:n],
            numbers=numbers,
            **arguments,
        )

    return make


@pytest.fixture
def judged(bag_of: Callable[..., Bag], monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Claim]]:
    """The claims alone; the figure takes longer than all else."""
    monkeypatch.setattr(two_link_circle, "_figure", lambda run: Figure())

    def claims(*arguments: Any, **named: Any) -> list[Claim]:
        return analyse({"bag": bag_of(*arguments, **named)}).claims

    return claims


def numbers_of(bag: Bag) -> Numbers:
    return measure(DisplayRun.from_bag(bag))


# ---- Fig. 12 --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_signals_of_the_ideal_run(ideal: Motion, bag_of: Callable[..., Bag]) -> None:
    run = DisplayRun.from_bag(bag_of())
    found = signals_of(run)
    np.testing.assert_allclose(found.total, run.state["kinetic_energy"], rtol=1e-12, atol=1e-18)
    np.testing.assert_allclose(found.measured_total, found.total, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(found.measured_links, found.links, rtol=1e-9, atol=1e-14)
    led = run.time < LED - T / 2
    rate = RATE * np.minimum(run.time / START_UP, 1.0)
    np.testing.assert_allclose(found.speed[led], RADIUS * rate[led], atol=1e-12)
    np.testing.assert_allclose(found.measured_speed, found.speed, atol=1e-15)
    np.testing.assert_allclose(found.force, ideal.force[1:], atol=1e-12)
    assert np.abs(found.error).max() < 1e-15 and np.abs(found.radial).max() < 1e-15


@pytest.mark.parametrize("ahead", [0.0, 4e-4, -3e-3])
@pytest.mark.parametrize("outside", [0.0, -2e-4])
def test_the_error_is_measured_along_the_circle_and_the_distance_from_it(
    ahead: float, outside: float, tool: Coordinates, bag_of: Callable[..., Bag]
) -> None:
    angle = np.arctan2(tool[0][:, 1], tool[0][:, 0]) + ahead / RADIUS
    x, xdot = tool[0].copy(), tool[1].copy()
    x[:, :2] = (RADIUS + outside) * np.column_stack((np.cos(angle), np.sin(angle)))
    xdot[:, :2] = 0.1 * np.column_stack((-np.sin(angle), np.cos(angle)))
    bag = bag_of(measured=(x, xdot))
    found, numbers = signals_of(DisplayRun.from_bag(bag)), numbers_of(bag)
    np.testing.assert_allclose(found.error, ahead, atol=1e-14)  # also where the angle starts anew at pi
    np.testing.assert_allclose(found.radial, outside, atol=1e-15)
    np.testing.assert_allclose(found.measured_speed, 0.1, atol=1e-14)
    led = found.speed[round(START_UP / T) : round(LED / T) - 1]
    np.testing.assert_allclose(led, RADIUS * RATE, rtol=1e-12)
    assert numbers.free_direction.rms == pytest.approx(abs(ahead), abs=1e-14)
    assert numbers.radial.largest == pytest.approx(abs(outside), abs=1e-14)


def test_the_error_is_small_where_the_angles_begin_anew(display_bag: Callable[..., Bag]) -> None:
    both = []
    for ahead in (1e-4, -1e-4):
        angle = np.pi + 2e-3 * (np.arange(500) - 1.0) + ahead  # tick 0 has no reference
        x, xdot = np.zeros((500, 6)), np.zeros((500, 6))
        x[:, 0], x[:, 1] = RADIUS * np.cos(angle), RADIUS * np.sin(angle)
        both.append((x, xdot))
    numbers = {"q": np.ones((500, 2)), "q_velocity": np.ones((500, 2))}
    for (reference, measured), error in ((both, -2e-4 * RADIUS), (both[::-1], 2e-4 * RADIUS)):
        bag = display_bag("TwoLinkOnCircle", measured, reference=reference, numbers=numbers)
        np.testing.assert_allclose(signals_of(DisplayRun.from_bag(bag)).error, error, atol=1e-15)


def test_a_circle_of_another_size(display_bag: Callable[..., Bag]) -> None:
    angle = np.linspace(0.0, 1.0, 500)
    x, xdot = np.zeros((500, 6)), np.zeros((500, 6))
    x[:, 0], x[:, 1] = 0.04 * np.cos(angle), 0.04 * np.sin(angle)
    mechanism = TwoLinkOnCircle(circle_radius=0.04)
    q = np.array([mechanism.configuration([z]) for z in angle])
    numbers = {"q": q, "q_velocity": np.ones_like(q)}
    bag = display_bag("TwoLinkOnCircle", (x, xdot), numbers=numbers, mechanism_parameters=["circle_radius=0.04"])
    found = numbers_of(bag)
    assert found.radial.largest < 1e-15 and found.circle_radius == 0.04


def test_the_lead_counts_after_the_start_up(ideal: Motion, bag_of: Callable[..., Bag]) -> None:
    led = numbers_of(bag_of()).led
    assert led.start == pytest.approx(START_UP, abs=2 * T) and led.to_its_end is True
    assert led.speed == pytest.approx(RADIUS * RATE, rel=1e-3) and led.speed_deviation < 1e-3
    part = slice(round(START_UP / T) + 1, round(LED / T))
    energy, force = ideal.energy[part], ideal.force[part]
    assert (led.energy_low, led.energy_high) == pytest.approx((energy.min(), energy.max()), rel=0.02)
    assert led.pushed == pytest.approx(np.mean(force > 0.5), abs=2e-3)
    assert led.held_back == pytest.approx(np.mean(force < -0.5), abs=2e-3)
    # the energy has as many extrema as the force changes its sign, 1.3 rounds with two maxima each or one
    assert led.turns == np.sum(np.diff(np.sign(force[np.abs(force) > 0.5])) != 0) >= 3


def test_the_release_counts_from_when_the_hand_has_let_go(ideal: Motion, bag_of: Callable[..., Bag]) -> None:
    free = numbers_of(bag_of()).released
    first = round(LED / T) + LETTING_GO
    assert free.start == pytest.approx(first * T) and free.end == pytest.approx(LED + FREE - T)
    assert free.energy == pytest.approx(ideal.energy[first]) and free.spent is False
    assert free.largest_rise == pytest.approx(np.diff(ideal.energy[first:]).max(), abs=1e-15)
    assert free.largest_rise < 0.0
    rate = ideal.qdot[first:, 0]
    places = np.flatnonzero(np.diff(np.sign(rate)))
    assert free.reversals == len(places) > 1
    beside = [max(rate[k] ** 2, rate[k + 1] ** 2) / ideal.energy[first + k + 1] for k in places]
    assert free.first_at_reversal == pytest.approx(2.0 * 0.15**2 / 6.0 * max(beside), rel=1e-9)
    assert free.second_smallest_share == pytest.approx(1.0 - largest_first_share(), abs=2e-3)
    assert free.force == 0.0 and free.speed_rises >= 2 and free.largest_speed_rise > 0.01
    assert free.measured_rise < 1e-15


def largest_first_share() -> float:
    """T1/(T1 + T2) depends on the place only; its largest value round the circle."""
    found = []
    for z in np.linspace(0.0, 2.0 * np.pi, 721):
        q = MECHANISM.configuration([z])
        qdot = np.linalg.solve(MECHANISM.task_jacobian(q)[:2], [-np.sin(z), np.cos(z)])
        found.append(MASS * LENGTH**2 * qdot[0] ** 2 / 6.0 / MECHANISM.kinetic_energy(q, qdot))
    return max(found)


def slowed(ideal: Motion, factor: np.ndarray | float, beginning: float = LED) -> Motion:
    """The rates times a factor after a time."""
    scale = np.where(T * np.arange(len(ideal.q)) >= beginning, factor, 1.0)
    return replace(ideal, qdot=ideal.qdot * scale[:, None])


def test_energies_are_followed_until_a_thousandth_is_left(ideal: Motion, bag_of: Callable[..., Bag]) -> None:
    first = round(LED / T) + LETTING_GO
    decay = np.exp(-np.maximum(T * (np.arange(len(ideal.q)) - first), 0.0) / 0.3)
    free = numbers_of(bag_of(slowed(ideal, decay))).released
    energy = ideal.energy * decay**2
    assert free.spent is True
    assert free.end == pytest.approx(T * (first + np.argmax(energy[first:] < 1e-3 * energy[first]) - 1))


@pytest.mark.parametrize(
    ("rates", "reversals"),
    [([1, 2, -1, -2, 3], 2), ([1, 0, -1], 1), ([1, 0, 0, 2], 0), ([0, 0, 1, 2], 0), ([3, 0, -1, 0, 0, 2], 2), ([0], 0)],
)
def test_a_reversal_is_a_change_of_sign(rates: list[float], reversals: int) -> None:
    places = two_link_circle._changes(np.array(rates, dtype=float))
    assert len(places) == reversals
    for place in places:
        before = [rate for rate in rates[:place] if rate]
        assert rates[place] * before[-1] < 0


# ---- claims ---------------------------------------------------------------------------------------


def test_the_ideal_run_shows_every_claim(judged: Callable[..., list[Claim]]) -> None:
    claims = judged()
    assert [claim.shown for claim in claims] == [True] * 5
    for place, words in {FIRST: "limit 1 %", SECOND: "3/7 = 42.9 %", LEAD: "limit 3", TRACKING: "limit 0.5 mm"}.items():
        assert words in claims[place].measured


def test_an_energy_that_rises_in_one_tick_is_not_monotone(ideal: Motion, judged: Callable[..., list[Claim]]) -> None:
    time = T * np.arange(len(ideal.q))
    claim = judged(slowed(ideal, np.where(time > 4.0, 1.0 + 1e-3, 1.0)))[ENERGY]
    assert claim.shown is False and "it rose by up to" in claim.measured
    # while the hand lets go it may
    assert judged(slowed(ideal, np.where(time < LED + 0.02, 0.9, 1.0)))[ENERGY].shown is True


def test_rise_of_the_measured_energy_is_reported_with_a_verdict(
    ideal: Motion, tool: Coordinates, judged: Callable[..., list[Claim]], bag_of: Callable[..., Bag]
) -> None:
    faster = tool[1].copy()
    faster[4000:4005] *= np.linspace(1.02, 1.2, 5)[:, None]
    free = numbers_of(bag_of(measured=(tool[0], faster))).released
    assert free.measured_rise == pytest.approx(0.44 * ideal.energy[4004], rel=0.02)
    claim = judged(measured=(tool[0], faster))[ENERGY]
    assert claim.shown is False and f"it was at most {1e3 * free.measured_rise:.2g} mJ above before" in claim.measured


def test_a_measured_tool_beyond_the_links_reach_leaves_numbers(tool: Coordinates, bag_of: Callable[..., Bag]) -> None:
    beyond = tool[0].copy()
    beyond[4000:4010, 0] = 0.2
    report = analyse({"bag": bag_of(measured=(beyond, tool[1]))})
    json.dumps(report.metrics, allow_nan=False)
    report.figure.canvas.draw()
    everywhere = (np.tile([0.3, 0.0, 0.0, 0.0, 0.0, 0.0], (len(beyond), 1)), tool[1])
    report = analyse({"bag": bag_of(measured=everywhere)})
    assert report.metrics["runs"]["bag"]["released"]["measured_rise"] is None
    assert "measured" not in report.claims[ENERGY].measured
    json.dumps(report.metrics, allow_nan=False)


def test_a_speed_that_only_falls_does_not_show_the_claim(ideal: Motion, judged: Callable[..., list[Claim]]) -> None:
    time = T * np.arange(len(ideal.q))
    stop = np.exp(-np.maximum(time - LED, 0.0) / 0.02)
    assert judged(slowed(ideal, stop))[ENERGY].shown is False  # the energy is spent, the speed has never risen
    assert judged(end=LED + 0.06)[ENERGY].shown is None  # too early to say


def test_a_first_link_that_jumps_over_zero_does_not_reach_it(ideal: Motion, judged: Callable[..., list[Claim]]) -> None:
    jumps = ideal.qdot.copy()
    part = slice(round(LED / T) + LETTING_GO, None)
    small = np.abs(jumps[part, 0]) < 0.3
    assert small.any()
    jumps[part, 0] = np.where(small, np.copysign(0.3, jumps[part, 0]), jumps[part, 0])
    claims = judged(replace(ideal, qdot=jumps))
    assert claims[FIRST].shown is False and claims[SECOND].shown is True


def test_a_second_link_at_rest_would_be_seen(
    judged: Callable[..., list[Claim]], monkeypatch: pytest.MonkeyPatch
) -> None:
    energies = TwoLinkOnCircle.link_energies
    monkeypatch.setattr(TwoLinkOnCircle, "link_energies", lambda *motion: energies(*motion)[:, ::-1])
    claims = judged()
    assert claims[SECOND].shown is False and claims[FIRST].shown is False


@pytest.mark.parametrize(("follows", "shown"), [(0.8, True), (0.7, False), (0.0, False)])
def test_a_measured_second_link_that_does_not_follow_is_seen(
    follows: float, shown: bool, tool: Coordinates, judged: Callable[..., list[Claim]]
) -> None:
    """Its energy goes with the square of the velocity, of a reference with 0.72 or more of the energy."""
    assert judged(measured=(tool[0], follows * tool[1]))[SECOND].shown is shown


def test_of_two_equal_rods_the_second_has_three_sevenths_or_more() -> None:
    # with r = (q1' + q2')/q1' folded, T1 : T2 = 1/6 : 1/2 - r/2 + r^2/6, least at r = 3/2
    turn, ratio = np.meshgrid(np.linspace(-np.pi, np.pi, 361), np.linspace(-9.0, 9.0, 361))
    q, qdot = np.zeros((turn.size, 2)), np.ones((turn.size, 2))
    q[:, 1], qdot[:, 1] = turn.ravel(), ratio.ravel() - 1.0
    links = MECHANISM.link_energies(q, qdot)
    assert (links[:, 1] / links.sum(axis=1)).min() == pytest.approx(3.0 / 7.0)


def test_the_lead_s_claim_needs_pushes_and_holding_back(ideal: Motion, judged: Callable[..., list[Claim]]) -> None:
    assert judged(replace(ideal, force=np.abs(ideal.force)))[LEAD].shown is False
    assert judged(replace(ideal, force=0.4 * np.sign(ideal.force)))[LEAD].shown is False
    time = T * np.arange(len(ideal.q))
    once = np.where(time < 1.0, 2.0, -2.0)
    assert judged(replace(ideal, force=once))[LEAD].shown is False
    assert judged(replace(ideal, force=once), end=1.5)[LEAD].shown is None
    thrice = 2.0 * np.sign(np.sin(2.0 * np.pi * (time - 0.05) / 0.8))
    assert judged(replace(ideal, force=thrice), end=1.79)[LEAD].shown is True


@pytest.mark.parametrize("share", [0.9, 1.1])
def test_a_hundredth_of_the_radius_is_small(
    share: float, tool: Coordinates, judged: Callable[..., list[Claim]]
) -> None:
    angle = np.arctan2(tool[0][:, 1], tool[0][:, 0]) + share * 1e-2
    x = tool[0].copy()
    x[:, :2] = RADIUS * np.column_stack((np.cos(angle), np.sin(angle)))
    assert judged(measured=(x, tool[1]))[TRACKING].shown is (share < 1.0)


@pytest.mark.parametrize(
    ("end", "reached"),
    [
        (0.003, [None, None, None, None, True]),
        (1.0, [None, None, None, None, True]),
        (LED + 0.03, [None, None, None, True, True]),
        (LED + FREE, [True] * 5),
    ],
)
def test_a_run_that_ends_early_does_not_reach_the_rest(
    end: float, reached: list[bool | None], bag_of: Callable[..., Bag]
) -> None:
    report = analyse({"bag": bag_of(end=end)})
    assert [claim.shown for claim in report.claims] == reached
    json.dumps(report.metrics, allow_nan=False)
    report.figure.canvas.draw()


def test_phases_of_other_plans_are_neither_lead_nor_release(judged: Callable[..., list[Claim]]) -> None:
    assert [claim.shown for claim in judged(phases=None)] == [None] * 4 + [True]
    others = [{"name": "push sideways", "kind": "push", "start": 0.0, "end": 9.0}]
    assert [claim.shown for claim in judged(phases=others)] == [None] * 4 + [True]


def test_mechanism_at_rest_at_the_release_gives_no_verdict(ideal: Motion, judged: Callable[..., list[Claim]]) -> None:
    claims = judged(slowed(ideal, 0.0))
    assert [claim.shown for claim in claims[:3]] == [None] * 3


def test_the_report_has_the_figure_s_panels_and_a_run_for_each_bag(bag_of: Callable[..., Bag]) -> None:
    report = analyse({"bag": bag_of(), "bag_b": bag_of(end=1.0)})
    titles = [axes.get_title()[:2] for axes in report.figure.axes]
    assert titles[:4] == ["A:", "B:", "C:", "D:"] and set(report.metrics["runs"]) == {"bag", "bag_b"}
    lines = {line.get_label(): line for line in report.figure.axes[0].get_lines()}
    total, first, second = (lines[name].get_ydata() for name in ("total", "link 1", "link 2"))
    np.testing.assert_allclose(total, first + second, rtol=1e-12)
    assert all(axes.patches for axes in report.figure.axes[:4])
    json.dumps(report.metrics, allow_nan=False)
    report.figure.canvas.draw()
