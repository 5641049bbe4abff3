"""The report of rolling_disk: its measures and claims on motions with known answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from admittance_constraints import RollingDisk
from haptic_bags.bags import Bag
from haptic_devices.motions.spatial import POSITION, QUATERNION, TWIST, make_spatial_plan
from haptic_experiments.experiments import rolling_disk
from haptic_experiments.experiments.rolling_disk import analyse, measure
from haptic_experiments.kit.display import DisplayRun, ToolPath
from haptic_experiments.report import Claim

#: period (s), radius (m), speed (m/s) and angle of the heading (rad) while parking
T, R, V, TURN = 1e-3, 0.03, 0.05, 0.3
PHASES = [
    {"name": "start", "kind": "rest", "start": 0.0, "end": 0.1},
    {"name": "forward 1", "kind": "slide", "start": 0.1, "end": 1.1},
    {"name": "back 1", "kind": "slide", "start": 1.1, "end": 2.1},
    {"name": "push sideways", "kind": "push", "start": 2.1, "end": 2.6},
    {"name": "push down", "kind": "push", "start": 2.6, "end": 3.1},
    {"name": "rest", "kind": "rest", "start": 3.1, "end": 3.5},
]
TIME = T * np.arange(3500)
FORWARD, BACK, ACROSS, DOWN = ((phase["start"] - T / 2 < TIME) & (phase["end"] - T / 2 > TIME) for phase in PHASES[1:5])
HEIGHT, UPRIGHT, ROLLING, PARKING, RIGID = range(5)

Coordinates = tuple[np.ndarray, np.ndarray]


def disk(
    sideways: float | np.ndarray = 0.0, height: float | np.ndarray = 0.0, tilt: float = 0.0, rolled: float = 1.0
) -> Coordinates:
    """Coordinates x and rates of a disk that goes forward at a heading of TURN and back at -TURN, then stands.

    Args:
        sideways: velocity along its axis, to the right of its heading [m/s].
        height: of its centre above the radius [m].
        tilt: of x6 from pi/2 [rad].
        rolled: r_d w over v.
    """
    n = len(TIME)
    x, xdot = np.zeros((n, 6)), np.zeros((n, 6))
    heading, speed = np.where(BACK, -TURN, TURN), V * (FORWARD * 1.0 - BACK * 1.0)
    slip = np.broadcast_to(sideways, n)
    xdot[:, 0] = speed * np.cos(heading) + slip * np.sin(heading)
    xdot[:, 1] = speed * np.sin(heading) - slip * np.cos(heading)
    xdot[:, 4] = -rolled * speed / R
    x[:, [0, 1, 4]] = T * np.cumsum(xdot, axis=0)[:, [0, 1, 4]]
    x[:, 2], x[:, 3], x[:, 5] = R + height, heading, np.pi / 2 + tilt
    return x, xdot


def push_of(force: float = 20.0, down: float = 20.0, others: float = 3.0) -> np.ndarray:
    """Wrenches (n, 6): along the axis in the one push, from above in the other, and forces that are not asked for."""
    wrench = np.zeros((len(TIME), 6))
    wrench[ACROSS, 0], wrench[ACROSS, 1] = -force * np.sin(TURN), force * np.cos(TURN)
    wrench[ACROSS | DOWN, 0] += others * np.cos(TURN)
    wrench[ACROSS | DOWN, 1] += others * np.sin(TURN)
    wrench[DOWN, 2] = -down
    return wrench


def given_way(distance: float) -> np.ndarray:
    """Coordinates that say: distance [m] to the left in the one push, down in the other; half-way through."""
    moved = np.zeros((len(TIME), 6))
    late = (TIME > 2.35) & ACROSS
    moved[late, 0], moved[late, 1] = -distance * np.sin(TURN), distance * np.cos(TURN)
    moved[(TIME > 2.85) & DOWN, 2] = -distance
    return moved


@pytest.fixture
def bag_of(display_bag: Callable[..., Bag]) -> Callable[..., Bag]:
    """Makes the bag of a disk; the reference is the disk without an error unless it is given."""

    def make(measured: Coordinates | None = None, end: float = 3.5, **arguments: Any) -> Bag:
        n = round(end / T)
        arguments = {"wrench": push_of(), "phases": PHASES, "reference": disk(), **arguments}
        arguments.setdefault("true", disk() if measured is None else measured)
        for name in ("reference", "true"):
            arguments[name] = tuple(part[:n] for part in arguments[name])
        arguments["wrench"] = arguments["wrench"][:n]
        return display_bag("RollingDisk", tuple(part[:n] for part in measured or disk()), **arguments)

    return make


@pytest.fixture
def judged(bag_of: Callable[..., Bag], monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Claim]]:
    """The claims alone; the figure takes longer than all else."""
    monkeypatch.setattr(rolling_disk, "_figure", lambda run: Figure())

    def claims(*arguments: Any, **named: Any) -> list[Claim]:
        return analyse({"bag": bag_of(*arguments, **named)}).claims

    return claims


def path_of(bag: Bag) -> ToolPath:
    return DisplayRun.from_bag(bag).measured


# ---- Fig. 9 ---------------------------------------------------------------------------------------


def random_motion() -> Coordinates:
    random = np.random.default_rng(2)
    x, xdot = random.uniform(-1.0, 1.0, (60, 6)), random.normal(size=(60, 6))
    x[:, 5] = np.pi / 2 + random.uniform(-0.4, 0.4, 60)
    return x, xdot


def test_the_twist_of_the_bag_is_that_of_the_mechanism(display_bag: Callable[..., Bag]) -> None:
    x, xdot = random_motion()
    path, mechanism = path_of(display_bag("RollingDisk", (x, xdot))), RollingDisk()
    for row in range(10):
        twist = np.concatenate((path.velocity[row], path.angular_velocity[row]))
        np.testing.assert_allclose(twist, mechanism.twist(x[row + 1], xdot[row + 1]), atol=1e-14)


@pytest.mark.parametrize("rolled", [1.0, 0.97, 1.1, 0.0, -1.0])
def test_the_rolling_error_is_in_percent_of_the_speed(rolled: float, bag_of: Callable[..., Bag]) -> None:
    numbers = measure(DisplayRun.from_bag(bag_of(disk(rolled=rolled), true=disk(rolled=1.02))))
    expected = 100.0 * abs(1.0 - rolled) * V / (V + 1e-3)
    assert numbers.rolling.rolling_error_median == pytest.approx(expected, abs=1e-9)
    assert numbers.rolling.rolling_error_p95 == pytest.approx(expected, abs=1e-9)
    assert numbers.rolling.true_rolling_error_median == pytest.approx(2.0 * V / (V + 1e-3))


def test_the_rolling_error_does_not_see_a_slip_sideways_but_the_report_does(bag_of: Callable[..., Bag]) -> None:
    numbers = measure(DisplayRun.from_bag(bag_of(disk(sideways=-0.02), true=disk(sideways=0.01))))
    assert numbers.rolling.rolling_error_median == pytest.approx(0.0, abs=1e-9)
    assert numbers.sideways.rms == pytest.approx(0.02) and numbers.true_sideways.rms == pytest.approx(0.01)
    assert numbers.rolling.sideways_error_median == pytest.approx(100.0 * 0.02 / (V + 1e-3))
    assert numbers.reference_sideways < 1e-16 and numbers.reference_rolling < 1e-16


def test_the_reference_s_errors_are_its_own(bag_of: Callable[..., Bag]) -> None:
    numbers = measure(DisplayRun.from_bag(bag_of(reference=disk(sideways=1e-4, rolled=0.9))))
    assert numbers.reference_sideways == pytest.approx(1e-4)
    assert numbers.reference_rolling == pytest.approx(0.1 * V)
    assert numbers.rolling.rolling_error_median == pytest.approx(0.0, abs=1e-9)


def test_height_and_upright_are_of_the_measured_state(bag_of: Callable[..., Bag]) -> None:
    tilted = disk(height=2e-5, tilt=-3e-4)
    numbers = measure(DisplayRun.from_bag(bag_of(tilted, true=disk(height=-5e-6, tilt=1e-4))))
    assert numbers.height.rms == pytest.approx(2e-5) == numbers.height.largest
    assert numbers.upright.rms == pytest.approx(3e-4) == numbers.upright.p99
    assert numbers.true_height.largest == pytest.approx(5e-6)
    assert numbers.true_upright.largest == pytest.approx(1e-4)


def test_the_radius_is_the_mechanism_s(display_bag: Callable[..., Bag]) -> None:
    bag = display_bag("RollingDisk", disk(), phases=PHASES, mechanism_parameters=["radius=0.04"])
    numbers = measure(DisplayRun.from_bag(bag))
    assert numbers.height.rms == pytest.approx(0.01)
    assert numbers.rolling.rolling_error_median == pytest.approx(100.0 * V / 3.0 / (V + 1e-3))


# ---- Fig. 8, pushes -------------------------------------------------------------------------------


def test_parking_shifts_by_what_the_two_ways_add_up_to(bag_of: Callable[..., Bag]) -> None:
    parking = measure(DisplayRun.from_bag(bag_of())).parking
    # from the first sample of the one way to the last of the other; one sample of 0.05 mm is not rolled
    sample = 1.001 * V * T
    assert parking.across == pytest.approx(2.0 * V * np.sin(TURN) * np.cos(TURN), abs=sample)
    assert parking.along == pytest.approx(2.0 * V * np.sin(TURN) ** 2, abs=sample)
    assert parking.rolled == pytest.approx(2.0 * V, abs=2 * sample) and parking.slipped < 1e-15


def test_slips_to_and_fro_do_not_cancel(bag_of: Callable[..., Bag]) -> None:
    slipping = disk(sideways=0.004 * (FORWARD * 1.0 - BACK * 1.0))
    parking = measure(DisplayRun.from_bag(bag_of(slipping))).parking
    assert parking.slipped == pytest.approx(0.004, rel=2e-3)


def test_a_push_counts_force_and_way_along_its_direction(bag_of: Callable[..., Bag]) -> None:
    x, xdot = disk()
    moved, rolled = given_way(4e-5), np.where(ACROSS[:, None], 1e-3 * np.array([np.cos(TURN), np.sin(TURN)]), 0.0)
    x = x + moved
    x[:, :2] += rolled * (TIME > 2.3)[:, None]  # the disk may roll while it is pushed
    numbers = measure(DisplayRun.from_bag(bag_of((x, xdot), true=(disk()[0] + given_way(3e-5), xdot))))
    push, lean = numbers.push, numbers.lean
    assert (push.force, push.moved, push.truly_moved) == pytest.approx((20.0, 4e-5, 3e-5))
    assert (lean.force, lean.moved, lean.truly_moved) == pytest.approx((20.0, 4e-5, 3e-5))
    assert lean.height_rms == pytest.approx(4e-5 * np.sqrt(0.5), rel=3e-3)  # half of 500 ticks


# ---- claims ---------------------------------------------------------------------------------------


def test_the_ideal_disk_shows_every_claim(judged: Callable[..., list[Claim]]) -> None:
    claims = judged()
    assert [claim.shown for claim in claims] == [True] * 5
    assert (
        "under 20.0 N from above RMS" in claims[HEIGHT].measured
        and "limit 10 counts of 10 µm" in claims[HEIGHT].measured
    )
    assert "limit 5 kN/m" in claims[RIGID].measured and "from above" in claims[RIGID].measured


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.9, 1.1])
def test_the_limits_are_those_that_the_claims_state(share: float, judged: Callable[..., list[Claim]]) -> None:
    x, xdot = disk()
    cases: dict[int, list[Coordinates]] = {
        HEIGHT: [disk(height=share * 1e-4), disk(height=share * 1e-4 * DOWN)],
        UPRIGHT: [disk(tilt=share * 1e-3)],
        ROLLING: [disk(rolled=1.0 - share * 0.05 * (V + 1e-3) / V), disk(sideways=share * 0.05 * (V + 1e-3))],
        PARKING: [disk(sideways=share * 0.1 * 2.0 * V * np.sin(TURN) * np.cos(TURN) * (TIME < 1.1))],
        RIGID: [(x + given_way(share * 20.0 / 5e3), xdot)],
    }
    for place, motions in cases.items():
        for motion in motions:
            claims = judged(motion)
            assert claims[place].shown is (share < 1.0), claims[place]


def test_neither_the_measured_nor_the_true_disk_may_leave_the_constraint(judged: Callable[..., list[Claim]]) -> None:
    x, xdot = disk()
    assert judged(disk(), true=(x + given_way(5e-3), xdot))[RIGID].shown is False
    assert judged((x + given_way(5e-3), xdot), true=disk())[RIGID].shown is False
    only_down = x.copy()
    only_down[:, 2] += given_way(5e-3)[:, 2]
    assert judged((only_down, xdot))[RIGID].shown is False


def test_a_disk_that_goes_further_along_than_across_does_not_park(judged: Callable[..., list[Claim]]) -> None:
    x, xdot = disk()
    x[BACK, 0] += 0.1
    assert judged((x, xdot))[PARKING].shown is False


def test_a_sliding_sideways_does_not_pass_as_parking(judged: Callable[..., list[Claim]]) -> None:
    claims = judged(disk(sideways=-0.03 * (FORWARD | BACK)))
    assert claims[PARKING].shown is False and claims[ROLLING].shown is False


@pytest.mark.parametrize(
    ("end", "reached"),
    [(0.003, [1, 1, 0, 0, 0]), (0.9, [1, 1, 1, 0, 0]), (2.3, [1, 1, 1, 1, 0]), (2.8, [1, 1, 1, 1, 1])],
)
def test_a_run_that_ends_early_does_not_reach_the_rest(
    end: float, reached: list[int], bag_of: Callable[..., Bag]
) -> None:
    report = analyse({"bag": bag_of(end=end)})
    assert [claim.shown for claim in report.claims] == [True if flag else None for flag in reached]
    if end < 3.0:
        assert "nothing presses on the disk" in report.claims[HEIGHT].measured
    json.dumps(report.metrics, allow_nan=False)
    report.figure.canvas.draw()


def test_without_phases_only_the_errors_are_judged(judged: Callable[..., list[Claim]]) -> None:
    assert [claim.shown for claim in judged(phases=None)] == [True, True, True, None, None]


def test_the_push_down_alone_is_judged(judged: Callable[..., list[Claim]]) -> None:
    assert judged(phases=PHASES[4:])[RIGID].shown is True
    x, xdot = disk()
    assert judged((x + given_way(5e-3), xdot), phases=PHASES[4:])[RIGID].shown is False


def test_the_report_has_the_figures_panels_and_a_run_for_each_bag(bag_of: Callable[..., Bag]) -> None:
    report = analyse({"bag": bag_of(disk(height=2e-5)), "bag_b": bag_of()})
    titles = [axes.get_title() for axes in report.figure.axes]
    assert [title[:2] for title in titles[1:5]] == ["A:", "B:", "C:", "D:"] and "Fig. 8" in titles[0]
    (line,) = report.figure.axes[1].get_lines()
    np.testing.assert_allclose(line.get_ydata(), 20.0)  # µm
    assert set(report.metrics["runs"]) == {"bag", "bag_b"}
    assert len(report.figure.axes[1].patches) == 2  # both pushes are shaded
    json.dumps(report.metrics, allow_nan=False)
    report.figure.canvas.draw()


def test_the_suite_s_own_plans_are_motions_of_the_disk(display_bag: Callable[..., Bag]) -> None:
    for name, parks in (("parallel_parking", True), ("steering", False)):
        plan = make_spatial_plan(name, T)
        n = len(plan.table)
        still = (np.tile([0.0, 0.0, R, 0.0, 0.0, np.pi / 2], (n, 1)), np.zeros((n, 6)))
        place = {"frame_position": [0.0, 0.0, -R], "tool_orientation": [np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)]}
        phases = [phase.__dict__ for phase in plan.phases]
        bag = display_bag("RollingDisk", still, phases=phases, **place)
        pose, twist = np.hstack((plan.table[:, POSITION], plan.table[:, QUATERNION])), plan.table[:, TWIST]
        for topic in ("device_state", "simulation_state"):
            bag.topics[f"/cobotic_hand_controller/{topic}"].update(tool_pose=pose, tool_twist=twist)
        numbers = measure(DisplayRun.from_bag(bag))
        assert numbers.height.largest < 1e-15 and numbers.upright.largest < 1e-12
        assert numbers.rolling.rolling_error_p95 < 1e-9 and numbers.sideways.largest < 1e-15
        assert (numbers.parking is not None) == parks
