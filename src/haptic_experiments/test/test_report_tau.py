"""What the reports of walls on the TAU device measure and claim, on motions with known answers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from haptic_bags.bags import Bag, Event
from haptic_experiments.experiments.tau_angled_wall import slides
from haptic_experiments.experiments.tau_corner import together_claim
from haptic_experiments.experiments.tau_wall_tour import border_claim, borders, crossing_claim
from haptic_experiments.kit import tau
from haptic_experiments.kit.results import Claims
from haptic_experiments.kit.wall_run import WallRun, pushes, releases, taps, wall_numbers
from tau_wall_control import TauDevice
from tau_wall_control.device.parameters import load_parameters
from tau_wall_control.simulation.limits import tap_bound

T = 1e-3
PARAMETERS = {"scheme": "predictive", "controller_file": "", "per_axis": 0, "wall_normals": [0.0, 0.0, 1.0]}
Z = np.array([[0.0, 0.0, 1.0]])


def shown(judge: Callable[..., None], *arguments: Any) -> bool | None:
    """The verdict that a function adds to the claims."""
    claims = Claims()
    judge(claims, *arguments)
    (claim,) = claims
    return claim.shown


@functools.cache
def mechanism() -> TauDevice:
    return TauDevice(load_parameters())


def effort_for(wrench: np.ndarray, position: np.ndarray) -> np.ndarray:
    """Joint efforts (6,) that exert a force (3,) on the tool beyond the mechanism's weight, G^T tau = tau_g + f."""
    d = mechanism().dynamics(position)
    return np.linalg.solve(d.actuated_map.T, d.gravity_force + np.concatenate([wrench, np.zeros(3)]))


def made(position: np.ndarray, phases: list[dict[str, Any]], *, force: Any = None, normals: Any = Z,
         contact: Any = None, **other: Any) -> WallRun:  # fmt: skip
    """A run in which walls through the origin exert forces (n, 3) on the tool, and the hand the opposite."""
    n, normals = len(position), np.asarray(normals, dtype=float)
    force = np.zeros((n, 3)) if force is None else np.asarray(force, dtype=float)
    pose = np.hstack([position, np.tile([0.0, 0.0, 0.0, 1.0], (n, 1))])
    inside = -(position @ normals.T) > 0.0
    known: dict[str, Any] = {
        "period": T,
        "time": T * np.arange(n),
        "position": position,
        "velocity": np.gradient(position, T, axis=0),
        "measured": pose,
        "hand": -force,
        "effort": np.array([effort_for(f, p) for f, p in zip(force, position, strict=True)]),
        "saturation": np.zeros((n, 6)),
        "points": np.zeros_like(normals),
        "normals": normals,
        "in_contact": inside if contact is None else contact,
        "operating_point": np.full(n, 13),
        "device": mechanism(),
        "phases": phases,
        "parameters": PARAMETERS,
    }
    return WallRun(**{**known, **other})


def height(z: np.ndarray) -> np.ndarray:
    return np.column_stack([np.zeros((len(z), 2)), z])


# ---- pushes -----------------------------------------------------------------------------------------


def pushed(deepest: float = 2e-4, left: float = 1e-5, ripple: float = 0.0) -> WallRun:
    """A push with 5 N for 0.2 s: the tool goes in by `deepest`, back to `left`; the force has a ripple [N]."""
    n, k = 400, np.arange(400)
    z = np.where((k >= 100) & (k < 300), -left, 1e-3)
    z[105] = -deepest
    force = np.zeros((n, 3))
    force[100:300, 2] = 5.0 + ripple * np.where(k[100:300] % 2, 1.0, -1.0)
    return made(height(z), [{"name": "step 5 N", "kind": "push", "start": 0.1, "end": 0.3}], force=force)


def test_a_push_is_its_force_over_the_deepest_penetration() -> None:
    (push,) = pushes(pushed())
    assert push.force == pytest.approx(5.0, rel=1e-12)
    assert push.penetration == pytest.approx(2e-4, rel=1e-12)
    assert push.stiffness == pytest.approx(25e3, rel=1e-12)
    assert push.static == pytest.approx(1e-5, rel=1e-12)
    assert push.restless == pytest.approx(0.0, abs=1e-9)  # of the solution for the efforts
    assert push.rmse == pytest.approx(np.sqrt((199 * 1e-5**2 + 2e-4**2) / 200), rel=1e-12)
    assert (push.contact, push.saturated, push.sideways) == (1.0, 0.0, 0.0)


def test_the_force_is_the_walls_without_the_weight() -> None:
    run = pushed(ripple=0.3)
    np.testing.assert_allclose(run.force[:, 0], -run.hand[:, 2], atol=1e-9)
    assert pushes(run)[0].restless == pytest.approx(0.3, rel=1e-3)  # of a square wave


@pytest.mark.parametrize(
    ("run", "rests", "stiff"),
    [
        (pushed(), True, True),
        (pushed(ripple=1.1), False, True),  # limit 1 N
        (pushed(ripple=0.9), True, True),
        (pushed(left=6e-5), False, True),  # limit five counts, 55 um
        (pushed(deepest=2.6e-4), True, False),  # 19.2 kN/m
    ],
)
def test_claims_on_a_push(run: WallRun, rests: bool, stiff: bool) -> None:
    n = wall_numbers(run)
    assert shown(tau.rest_claim, run, n) is rests
    assert shown(tau.stiffness_claim, run, n, 20e3) is stiff


def test_a_ramp_is_no_push_at_rest_and_a_push_that_was_cut_off_is_none() -> None:
    ramp = replace(pushed(), phases=[{"name": "ramp", "kind": "push", "start": 0.1, "end": 0.3}])
    (push,) = pushes(ramp)
    assert np.isnan([push.stiffness, push.static, push.restless]).all()
    cut = replace(pushed(), phases=[{"name": "step", "kind": "push", "start": 0.1, "end": 0.5}])
    assert pushes(cut) == []
    n = wall_numbers(cut)
    assert shown(tau.rest_claim, cut, n) is None and shown(tau.stiffness_claim, cut, n, 1.0) is None


def test_saturated_ticks_are_counted() -> None:
    run = pushed()
    run.saturation[100:150, 3] = 1.0
    assert pushes(run)[0].saturated == 0.25
    assert wall_numbers(run).saturated == pytest.approx(50 / 400)


# ---- taps and releases ------------------------------------------------------------------------------


def tapped(depth: float, speed: float = 0.5, **other: Any) -> WallRun:
    """The tool comes with a speed [m/s], is stopped at a depth [m] and goes back."""
    incoming = speed * T * np.arange(40, 0, -1) - 0.5 * speed * T
    inside = -depth * np.sin(np.linspace(0.0, np.pi, 31))[1:]
    away = np.linspace(1e-4, 0.02, 60)
    z = np.concatenate([incoming, inside, away])
    velocity = np.gradient(height(z), T, axis=0)
    velocity[:40, 2] = -speed
    phases = [{"name": "tap, let go", "kind": "release", "start": 0.03, "end": 0.12}]
    return made(height(z), phases, **{"velocity": velocity, **other})


def test_a_tap_is_measured_against_the_energy_bound() -> None:
    (tap,) = taps(tapped(1e-3))
    assert tap.speed == 0.5
    assert tap.penetration == pytest.approx(1e-3, rel=2e-3)  # between two samples of the sine
    bound = tap_bound(mechanism(), np.zeros(3), 0.5)
    assert tap.energy_bound == pytest.approx(bound, rel=0.01)  # at the place of the impact, 0.3 mm away
    assert tap.allowed == pytest.approx(1.2 * tap.energy_bound, rel=1e-12)
    assert tap.late == 0.0


@pytest.mark.parametrize(("share", "holds"), [(1.15, True), (1.25, False)])
def test_the_claim_on_taps(share: float, holds: bool) -> None:
    bound = taps(tapped(1e-3))[0].energy_bound
    run = tapped(share * bound)
    assert shown(tau.tap_claim, run, wall_numbers(run)) is holds


def test_delay_and_realtime_are_reported_beside_the_bound() -> None:
    late = [taps(tapped(1e-3, **other))[0].late for other in ({"delay": 2}, {"mode": "realtime"})]
    np.testing.assert_allclose(late, [2.0 * T * 0.5, T * 0.5], rtol=1e-12)


def released(after: float, pull: float = 0.0) -> WallRun:
    """The hand opens at 0.1 s; contact lasts for a time [s] more, and the wall pulls with a force [N] once."""
    k = np.arange(300)
    z = np.where(k < 100 + round(after / T), -1e-4, 1e-3 + 1e-5 * (k - 100.0))
    force = np.zeros((300, 3))
    force[101, 2] = -pull
    phases = [{"name": "let go", "kind": "release", "start": 0.1, "end": 0.25}]
    return made(height(z), phases, force=force)


@pytest.mark.parametrize(
    ("after", "pull", "holds"), [(0.02, 0.0, True), (0.06, 0.0, False), (0.02, 0.1, False), (0.02, 0.04, True)]
)
def test_the_claim_on_releases(after: float, pull: float, holds: bool) -> None:
    run = released(after, pull)
    (release,) = releases(run)
    assert release.contact_ends == pytest.approx(after, abs=1e-12)
    assert release.pull == pytest.approx(pull, abs=1e-9)
    assert shown(tau.release_claim, run, wall_numbers(run)) is holds


def test_claims_about_events_that_did_not_occur_have_no_verdict() -> None:
    run = made(height(np.full(50, 1e-3)), [{"name": "let go", "kind": "release", "start": 0.02, "end": 0.04}])
    n = wall_numbers(run)
    claims = Claims()
    tau.tap_claim(claims, run, n)
    tau.release_claim(claims, run, n)
    together_claim(claims, run)
    border_claim(claims, run, borders(run))
    assert [claim.shown for claim in claims] == [None] * 4


# ---- the node's time --------------------------------------------------------------------------------


@pytest.mark.parametrize(("p99", "holds"), [(140e-6, True), (160e-6, False)])
def test_the_claim_on_the_control_step(p99: float, holds: bool) -> None:
    timing = {"control_step_p50": 40e-6, "control_step_p99": p99, "processor_time_p99": 90e-6}
    assert shown(tau.time_claim, {"bag": replace(pushed(), timing=timing)}) is holds
    assert shown(tau.time_claim, {"bag": pushed()}) is None


# ---- several walls, and the tour --------------------------------------------------------------------


@pytest.mark.parametrize(("error", "holds"), [(0.0, True), (0.3, True), (0.5, False)])
def test_each_wall_of_a_corner_carries_its_part(error: float, holds: bool) -> None:
    position = np.full((300, 3), -1e-5)
    force = np.tile([2.0, 3.0, 4.0], (300, 1))
    phases = [{"name": "the corner", "kind": "push", "start": 0.05, "end": 0.25}]
    run = made(position, phases, force=force, normals=np.eye(3))
    assert shown(together_claim, replace(run, hand=run.hand + np.array([0.0, error, 0.0]))) is holds


def test_a_push_that_no_wall_bears_is_no_corner() -> None:
    force = np.tile([2.0, 3.0, 4.0], (300, 1))
    phases = [{"name": "the corner", "kind": "push", "start": 0.05, "end": 0.25}]
    outside = made(np.full((300, 3), 1e-3), phases, force=force, normals=np.eye(3))
    assert shown(together_claim, outside) is False


def toured(jump: float, scheme: str = "mopc") -> WallRun:
    """Slides through nine subspaces; a joint's effort jumps by so much [N m] at their borders, and drifts elsewhere."""
    n = 2000
    point = np.minimum(np.arange(n) // 200, 8)
    position = np.column_stack([np.linspace(-0.02, 0.02, n), np.zeros(n), np.full(n, -1e-5)])
    run = made(position[:1].repeat(n, axis=0), [{"name": "row", "kind": "slide", "start": 0.0, "end": 1.9}])
    effort = np.zeros((n, 6))
    effort[:, 2] = jump * point + 1e-4 * np.arange(n)
    velocity = np.gradient(position, T, axis=0)
    return replace(run, position=position, velocity=velocity, operating_point=point, effort=effort,
                   in_contact=np.ones((n, 1), dtype=bool), parameters={**PARAMETERS, "scheme": scheme})  # fmt: skip


def test_jumps_at_the_borders_are_distinguished_from_the_drift() -> None:
    found = borders(toured(0.05))
    assert (found.operating_points, found.crossed) == (list(range(9)), 8)
    assert found.effort_elsewhere == pytest.approx(4e-4, rel=1e-9)  # four samples of drift
    assert found.effort_at == pytest.approx(0.05 + 4e-4, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheme", "jump", "holds"), [("mopc", 0.05, True), ("mopc", 5e-4, False), ("scheduled", 0.05, False),
                                  ("scheduled", 1e-4, True)]
)  # fmt: skip
def test_switched_gains_jump_and_interpolated_ones_do_not(scheme: str, jump: float, holds: bool) -> None:
    run = toured(jump, scheme)
    assert shown(border_claim, run, borders(run)) is holds
    assert shown(crossing_claim, run, borders(run)) is True


@pytest.mark.parametrize("mu", [0.0, 0.3])
def test_a_slide_has_its_way_its_depth_and_its_friction(mu: float) -> None:
    position = np.column_stack([np.linspace(-0.02, 0.02, 1000), np.zeros(1000), np.full(1000, -2e-5)])
    force = np.tile([-4.0 * mu, 0.0, 4.0], (1000, 1))
    phases = [{"name": "row", "kind": "slide", "start": 0.1, "end": 0.9}]
    (row,) = slides(made(position, phases, force=force))
    assert row.displacement == pytest.approx(0.04 * 799 / 999, rel=1e-12)
    assert row.penetration == pytest.approx(2e-5, rel=1e-12)
    assert row.contact == 1.0
    assert row.friction == pytest.approx(mu, abs=1e-9)


# ---- a bag ------------------------------------------------------------------------------------------


def test_a_run_ends_where_the_walls_change() -> None:
    n, zeros = 10, np.zeros((10, 6))
    point = np.zeros((n, 3))
    point[6:] = 1e-3
    pose = np.tile([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], (n, 1))
    state = {"tool_pose": pose, "tool_twist": zeros, "operator_wrench": zeros}
    wall = {"point": point, "normal": Z.repeat(n, axis=0), "effort": zeros, "saturation": zeros}
    wall |= {"in_contact": np.zeros((n, 1), dtype=bool), "operating_point": np.zeros(n)}
    topics = {
        "device_state": {**state, "period": np.full(n, T), "status": np.zeros(n)},
        "simulation_state": state,
        "device_command": {"mode": np.ones(n)},
        "wall/state": wall,
    }
    bag = Bag.__new__(Bag)
    bag.path, bag.custom = Path("bag"), {}
    bag.topics = {f"/tau/{name}": {"tick": np.arange(n), **columns} for name, columns in topics.items()}
    values = {"device_file": "", "device_parameters": [""], "period": T}
    started = {"device": {"command_delay_ticks": 1}, "wall": {**PARAMETERS, **values}}
    bag.events = [Event(0, name, "state", {"state": "active", "parameters": p}) for name, p in started.items()]
    run = WallRun.from_bag(bag)
    assert (len(run.time), run.changed, run.delay) == (6, True, 1) and run.left_out
    bag.topics["/tau/wall/state"]["point"] = np.zeros((n, 3))
    run = WallRun.from_bag(bag)
    assert (len(run.time), run.changed, run.left_out) == (n, False, "")
