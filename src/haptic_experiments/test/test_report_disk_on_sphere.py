"""The report of disk_on_sphere: its measures and claims on motions with known answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from haptic_bags.bags import Bag
from haptic_devices.motions.spatial import POSITION, QUATERNION, TWIST, make_spatial_plan
from haptic_experiments.experiments import disk_on_sphere
from haptic_experiments.experiments.disk_on_sphere import analyse, deviation, measure, normal_force
from haptic_experiments.kit.display import DisplayRun
from haptic_experiments.report import Claim

#: period (s), radius of the sphere (m), the meridian's angle and how far it is followed on both sides (rad)
T, R, MERIDIAN, LEAN = 1e-3, 0.05, 0.7, 0.8
TIME = T * np.arange(2000)
#: angle from the pole, negative beyond it
TILT = LEAN * np.cos(np.pi * TIME / TIME[-1])
PHASES = [
    {"name": "pressed", "kind": "push", "start": 0.2, "end": 0.8},
    {"name": "pull", "kind": "push", "start": 1.2, "end": 1.8},
]
PRESSED, PULLED = (TIME > 0.2) & (TIME < 0.8), (TIME > 1.2) & (TIME < 1.8)
RADIAL, TANGENT, POLE = range(3)

Coordinates = tuple[np.ndarray, np.ndarray]


def normal(tilt: np.ndarray) -> np.ndarray:
    return np.column_stack((np.sin(MERIDIAN) * np.sin(tilt), -np.cos(MERIDIAN) * np.sin(tilt), np.cos(tilt)))


def slide(
    radial: float | np.ndarray = 0.0,
    lean: float = 0.0,
    tilt: np.ndarray = TILT,
    center: tuple[float, ...] = (0.0, 0.0, 0.0),
    radius: float = R,
) -> Coordinates:
    """Coordinates of a disk that goes along a meridian and spins.

    Args:
        radial: of its centre above the sphere [m].
        lean: of its axis from the normal [rad].
        tilt: of the normal from the vertical [rad].
        center: of the sphere [m].
        radius: of the sphere [m].
    """
    x, xdot = np.zeros((len(tilt), 6)), np.zeros((len(tilt), 6))
    distance = radius + np.broadcast_to(radial, len(tilt))
    x[:, :3] = center + distance[:, None] * normal(tilt)
    x[:, 3], x[:, 4], x[:, 5] = MERIDIAN, 2.0 * T * np.arange(len(tilt)), tilt + lean
    xdot[:] = np.gradient(x, T, axis=0)
    return x, xdot


def force(pressed: float = 20.0, pulled: float = 20.0, across: float = 4.0) -> np.ndarray:
    """Wrenches (n, 6): inwards and outwards along the normal, and along the meridian all the time."""
    wrench = np.zeros((len(TIME), 6))
    wrench[:, :3] = (pulled * PULLED - pressed * PRESSED)[:, None] * normal(TILT)
    wrench[:, :3] += across * normal(TILT + np.pi / 2)
    return wrench


@pytest.fixture
def bag_of(display_bag: Callable[..., Bag]) -> Callable[..., Bag]:
    def make(measured: Coordinates | None = None, **arguments: Any) -> Bag:
        known = {"wrench": force(), "phases": PHASES, "orientation": "quaternion", **arguments}
        return display_bag("DiskOnSphere", measured or slide(), **known)

    return make


@pytest.fixture
def judged(bag_of: Callable[..., Bag], monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Claim]]:
    """The claims alone; the figure takes longer than all else."""
    monkeypatch.setattr(disk_on_sphere, "_figure", lambda run: Figure())

    def claims(*arguments: Any, **named: Any) -> list[Claim]:
        return analyse({"bag": bag_of(*arguments, **named)}).claims

    return claims


# ---- Fig. 11 --------------------------------------------------------------------------------------


def test_the_signals_of_a_disk_that_leaves_the_sphere_and_leans(bag_of: Callable[..., Bag]) -> None:
    high = 1e-4 * np.sin(5.0 * TIME)
    run = DisplayRun.from_bag(bag_of(slide(high, lean=0.02), true=slide()))
    found = deviation(run, run.measured)
    np.testing.assert_allclose(found.radial, high[1:], atol=1e-16)
    np.testing.assert_allclose(found.tangency, 0.02, atol=1e-14)
    np.testing.assert_allclose(found.tilt, np.abs(TILT[1:]), atol=1e-15)
    np.testing.assert_allclose(normal_force(run), (20.0 * PULLED - 20.0 * PRESSED)[1:], atol=1e-12)
    true = deviation(run, run.true)
    np.testing.assert_allclose(true.radial, 0.0, atol=1e-16)
    assert true.tangency.max() < 1e-14


def test_the_sphere_is_the_mechanism_s(bag_of: Callable[..., Bag]) -> None:
    place = (0.02, -0.01, 0.04)
    bag = bag_of(
        slide(3e-5, center=place, radius=0.08),
        mechanism_parameters=["sphere_radius=0.08", f"center={list(place)}"],
    )
    run = DisplayRun.from_bag(bag)
    found = deviation(run, run.measured)
    np.testing.assert_allclose(found.radial, 3e-5, atol=1e-16)
    np.testing.assert_allclose(normal_force(run), (20.0 * PULLED - 20.0 * PRESSED)[1:], atol=1e-12)


@pytest.mark.parametrize("lean", [0.0, 1e-9, 0.5, np.pi / 2, 3.0, np.pi])
def test_the_tangency_error_is_exact_at_every_angle(lean: float, bag_of: Callable[..., Bag]) -> None:
    run = DisplayRun.from_bag(bag_of(slide(lean=lean)))
    np.testing.assert_allclose(deviation(run, run.measured).tangency, lean, atol=1e-14)


def test_the_radial_error_is_taken_apart_by_the_force(bag_of: Callable[..., Bag]) -> None:
    high = np.where(PRESSED, -7e-5, np.where(PULLED, 5e-5, 2e-5))
    numbers = measure(DisplayRun.from_bag(bag_of(slide(high), true=slide(0.5 * high, lean=1e-3))))
    # 599 ticks of each push
    assert numbers.radial_under_force.rms == pytest.approx(np.sqrt((7e-5**2 + 5e-5**2) / 2))
    assert numbers.radial_under_force.largest == pytest.approx(7e-5)
    assert numbers.radial_without_force.rms == pytest.approx(2e-5)
    assert (numbers.push, numbers.pull) == pytest.approx((-20.0, 20.0))
    assert numbers.true_radial.largest == pytest.approx(3.5e-5)
    assert numbers.true_tangent.rms == pytest.approx(1e-3) and numbers.tangent.largest < 1e-14


def test_forces_between_are_neither(bag_of: Callable[..., Bag]) -> None:
    numbers = measure(DisplayRun.from_bag(bag_of(wrench=force(pressed=14.9, pulled=1.6))))
    assert numbers.radial_under_force is None and numbers.radial_without_force is not None
    always = np.zeros((len(TIME), 6))
    always[:, :3] = -2.0 * normal(TILT)
    assert measure(DisplayRun.from_bag(bag_of(wrench=always))).radial_without_force is None


# ---- the pole -------------------------------------------------------------------------------------


@pytest.mark.parametrize("nearest", [0.0, 0.004, 0.3])
def test_passing_the_pole_is_the_nearest_between_two_places_far_from_it(
    nearest: float, bag_of: Callable[..., Bag]
) -> None:
    start = np.linspace(0.0, LEAN, 300)  # from the pole, which is no passing
    numbers = measure(DisplayRun.from_bag(bag_of(slide(tilt=start), wrench=None)))
    assert numbers.passed_pole_within > 0.5  # it stays down
    assert measure(DisplayRun.from_bag(bag_of(slide(tilt=0.4 * start), wrench=None))).passed_pole_within is None
    tilt = np.concatenate((start, nearest + np.abs(TILT[300:])))
    numbers = measure(DisplayRun.from_bag(bag_of(slide(tilt=tilt))))
    # the pole is between two samples of 1.3 mrad
    assert numbers.passed_pole_within == pytest.approx(nearest, abs=1e-3)
    assert numbers.largest_tilt == pytest.approx(LEAN + nearest, abs=1e-6)


# ---- claims ---------------------------------------------------------------------------------------


def test_the_ideal_disk_shows_every_claim(judged: Callable[..., list[Claim]]) -> None:
    claims = judged()
    assert [claim.shown for claim in claims] == [True] * 3
    assert "limit 10 counts of 10 µm" in claims[RADIAL].measured and "limit 5 kN/m" in claims[RADIAL].measured
    assert "limit half a degree" in claims[TANGENT].measured


@pytest.mark.parametrize("share", [0.9, 1.1])
def test_the_limits_are_those_that_the_claims_state(share: float, judged: Callable[..., list[Claim]]) -> None:
    assert judged(slide(share * 1e-4))[RADIAL].shown is (share < 1.0)  # RMS within 10 counts
    once = np.zeros(len(TIME))
    once[500] = share * 15.0 / 5e3  # 15 N within 5 kN/m
    assert judged(slide(once))[RADIAL].shown is (share < 1.0)
    once[500], once[1000] = 0.0, 15.0 / 5e3  # without force
    assert judged(slide(once))[RADIAL].shown is True
    assert judged(slide(lean=share * 0.0087))[TANGENT].shown is (share < 1.0)


@pytest.mark.parametrize(("pressed", "pulled", "shown"), [(20.0, 0.0, True), (0.0, 20.0, True), (14.0, 14.0, None)])
def test_the_radial_claim_needs_a_large_force(
    pressed: float, pulled: float, shown: bool | None, judged: Callable[..., list[Claim]]
) -> None:
    claim = judged(wrench=force(pressed, pulled))[RADIAL]
    assert claim.shown is shown and "-0.0" not in claim.measured
    if shown:
        assert f"{pressed:.1f} N inwards, {pulled:.1f} N outwards" in claim.measured


def test_the_pole_s_claim(judged: Callable[..., list[Claim]]) -> None:
    assert judged()[POLE].shown is True
    assert judged(refused=1)[POLE].shown is False
    assert judged(orientation="euler")[POLE].shown is None
    out = slide(tilt=np.linspace(0.0, LEAN, len(TIME)))
    assert judged(out)[POLE].shown is None
    beside = np.where(TILT > 0.0, np.maximum(TILT, 0.011), np.minimum(TILT, -0.011))
    assert judged(slide(tilt=beside))[POLE].shown is None
    near = np.where(TILT > 0.0, np.maximum(TILT, 0.009), np.minimum(TILT, -0.009))
    assert judged(slide(tilt=near))[POLE].shown is True


@pytest.mark.parametrize("rows", [3, 400, 1150])
def test_a_run_that_ends_early_does_not_reach_the_rest(rows: int, bag_of: Callable[..., Bag]) -> None:
    short = tuple(part[:rows] for part in slide())
    report = analyse({"bag": bag_of(short, wrench=force()[:rows])})
    reached = True if rows > 200 else None
    assert [claim.shown for claim in report.claims] == [reached, True, None]
    json.dumps(report.metrics, allow_nan=False)
    report.figure.canvas.draw()


def test_the_report_has_the_figures_panels_and_a_run_for_each_bag(bag_of: Callable[..., Bag]) -> None:
    report = analyse({"bag": bag_of(slide(3e-5)), "bag_b": bag_of(phases=None)})
    titles = [axes.get_title() for axes in report.figure.axes]
    assert [title[:2] for title in titles[1:4]] == ["A:", "B:", "C:"] and "Fig. 10" in titles[0]
    (line,) = report.figure.axes[1].get_lines()
    np.testing.assert_allclose(line.get_ydata(), 30.0)  # µm
    assert len(report.figure.axes[1].patches) == 2 and set(report.metrics["runs"]) == {"bag", "bag_b"}
    json.dumps(report.metrics, allow_nan=False)
    report.figure.canvas.draw()


def test_the_suite_s_own_plan_is_a_motion_of_the_disk(display_bag: Callable[..., Bag]) -> None:
    plan = make_spatial_plan("sphere_tour", T)
    n = len(plan.table)
    still = (np.tile([0.0, 0.0, R, 0.0, 0.0, 0.0], (n, 1)), np.zeros((n, 6)))
    phases = [phase.__dict__ for phase in plan.phases]
    bag = display_bag("DiskOnSphere", still, phases=phases, frame_position=[0.0, 0.0, -R])
    pose, twist = np.hstack((plan.table[:, POSITION], plan.table[:, QUATERNION])), plan.table[:, TWIST]
    for topic in ("device_state", "simulation_state"):
        bag.topics[f"/cobotic_hand_controller/{topic}"].update(tool_pose=pose, tool_twist=twist)
    numbers = measure(DisplayRun.from_bag(bag))
    assert numbers.radial.largest < 1e-15 and numbers.tangent.largest < 1e-12
    assert numbers.passed_pole_within < 0.01 < 1.0 < numbers.largest_tilt
