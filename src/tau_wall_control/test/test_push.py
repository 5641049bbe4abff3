"""The paper's test: baselines of the stand-in (within 2 %), what the stiff schemes reach, where the limit lies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tau_wall_control import PushResult, PushSimulation, TauDevice, TauError, simulate_push
from tau_wall_control.simulation.limits import ballistic_bound, penetration_bound
from tau_wall_control.simulation.push import push_signal, stiffest_push
from tau_wall_control.simulation.z_width import torque_activity

#: half of the nine points; the device is its own mirror image in x = 0
HALF = [(x, y, 0.0) for y in (0.025, 0.0, -0.025) for x in (-0.025, 0.0)]


def push_all(device: TauDevice, controller: Any, **options: Any) -> list[PushResult]:
    return [simulate_push(device, controller, point=point, **options) for point in HALF]


def mean(values: list[float]) -> float:
    """Over all nine points."""
    return float(np.average(values, weights=[2, 1] * 3))


def depths(runs: list[PushResult]) -> list[float]:
    return [1e3 * r.max_penetration for r in runs]


BASELINES = {  # penetration [mm] at HALF, mean RMSE [mm]
    "sopc": ([0.795, 0.762, 1.090, 1.010, 1.419, 1.315], 0.140),
    "mopc": ([0.771, 0.764, 1.047, 1.010, 1.345, 1.277], 0.136),
}


@pytest.mark.parametrize("scheme", ["sopc", "mopc", "scheduled"])
def test_paper_controllers(device: TauDevice, design: Any, scheme: str) -> None:
    runs = push_all(device, design(scheme))
    expected, rmse = BASELINES["sopc" if scheme == "sopc" else "mopc"]
    assert depths(runs) == pytest.approx(expected, rel=0.02)
    assert 1e3 * mean([r.rmse for r in runs]) == pytest.approx(rmse, rel=0.02)
    start = 1e3 * max(r.initial_deviation for r in runs)
    assert start == pytest.approx(0.060, rel=0.02) if scheme == "sopc" else start < 1e-6


def test_identical_at_the_centre(device: TauDevice, design: Any) -> None:
    a, b = (simulate_push(device, design(s), point=(0, 0, 0), noise=1.0, seed=3) for s in ("sopc", "mopc"))
    assert np.array_equal(a.position, b.position)


def test_symmetric_in_x(device: TauDevice, design: Any) -> None:
    a, b = (simulate_push(device, design("mopc"), point=(x, -0.025, 0)) for x in (-0.025, 0.025))
    assert a.max_penetration == pytest.approx(b.max_penetration, rel=1e-6)


@pytest.mark.covering(2)
@pytest.mark.parametrize(
    ("scheme", "options", "penetration", "stiffness", "rmse"),
    [
        ("mopc", {"normal_weight": 10.0}, 0.673, 14.99, 0.079),
        ("observer", {"normal_weight": None, "sharing": False}, 0.487, 18.87, 0.040),
        ("observer", {"normal_weight": None}, 0.465, 20.57, 0.035),
        ("observer", {}, 0.372, 25.86, 0.024),
    ],
)
def test_ideas(
    device: TauDevice,
    design: Any,
    scheme: str,
    options: dict[str, Any],
    penetration: float,
    stiffness: float,
    rmse: float,
) -> None:
    runs = push_all(device, design(scheme, **options))
    assert mean(depths(runs)) == pytest.approx(penetration, rel=0.02)
    assert 1e-3 * min(r.stiffness for r in runs) == pytest.approx(stiffness, rel=0.02)
    assert 1e3 * mean([r.rmse for r in runs]) == pytest.approx(rmse, rel=0.02)


def test_interpolation_between_the_points(device: TauDevice, design: Any) -> None:
    """Switched gains leave gravity of another pose; interpolated ones with exact gravity do not move at the start."""
    point = (0.012, -0.018, 0.0)
    switched, smooth = (simulate_push(device, design(s), point=point) for s in ("mopc", "scheduled"))
    assert switched.initial_deviation > 5e-6
    assert smooth.initial_deviation < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("delay", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_stiff(device: TauDevice, design: Any, delay: int) -> None:
    """Stiffer than what was asked for, with and without the delay that its model knows, and never past the bound."""
    runs = push_all(device, design("stiff"), delay=delay)
    least = [penetration_bound(device, point, delay=delay) for point in HALF]
    assert all(r.max_penetration > bound for r, bound in zip(runs, least, strict=True))
    if delay == 0:
        assert mean(depths(runs)) < 0.25
        assert min(r.stiffness for r in runs) > 40e3
        assert 1e3 * mean([r.rmse for r in runs]) < 0.016
    else:
        assert min(r.stiffness for r in runs) > 0.92 * 13.0 / max(least)
    assert max(torque_activity(r) for r in runs) < 1e-3  # it settles


def test_stiff_with_counts_and_noise(device: TauDevice, design: Any) -> None:
    for delay in (0, 1):
        runs = [
            simulate_push(device, design("stiff"), point=p, noise=1.0, quantized=True, delay=delay, seed=s)
            for p in ((0.0, -0.025, 0.0), (0.025, -0.025, 0.0))
            for s in range(3)
        ]
        assert min(r.stiffness for r in runs) > (35e3 if delay == 0 else 22e3)


@pytest.mark.parametrize("delay", [0, 1])
def test_delay_of_n_samples_delays_the_torque_by_n_samples(device: TauDevice, design: Any, delay: int) -> None:
    """The push begins with sample 1000 and is seen by sample 1001, whose torque acts `delay` samples later."""
    run = simulate_push(device, design("scheduled"), point=(0, 0, 0), duration=1.02, delay=delay)
    changed = np.abs(run.torque - device.gravity_torque_at((0, 0, 0))).max(axis=1) > 1e-6
    assert np.flatnonzero(changed)[0] == 1001 + delay
    assert np.flatnonzero(run.deviation < -1e-9)[0] == 1001


@pytest.mark.parametrize("force", [5.0, 9.0])
def test_other_pushes(device: TauDevice, design: Any, force: float) -> None:
    runs = push_all(device, design("stiff"), force=force, delay=1)
    assert min(r.stiffness for r in runs) > 35e3
    ramp = np.concatenate([np.zeros(1000), np.linspace(0.0, force, 200), np.full(300, force)])
    slow = simulate_push(device, design("stiff"), point=(0, -0.02, 0), force=force, delay=1, signal=ramp)
    assert slow.stiffness > 60e3


def test_predictive_control_has_less_lateral_displacement(device: TauDevice, design: Any) -> None:
    """Constraints over a horizon do not make the wall stiffer than torque sharing; the tool stays nearer its line."""
    stiff, planned = (push_all(device, design(s), delay=1) for s in ("stiff", "predictive"))
    assert min(r.stiffness for r in planned) > 25e3
    assert max(r.lateral for r in planned) < 0.5 * max(r.lateral for r in stiff)


@pytest.mark.slow
def test_bound(device: TauDevice) -> None:
    """40 kN/m with one sample of extra delay is out of the motors' reach at the lower edge, for any controller."""
    lowest = (0.0, -0.025, 0.0)
    assert 13.0 / penetration_bound(device, lowest, delay=1) < 28.5e3
    assert 13.0 / penetration_bound(device, lowest, delay=0) > 100e3
    for delay in (0, 1):
        program = penetration_bound(device, lowest, delay=delay, friction_helps=False)
        assert program == pytest.approx(ballistic_bound(device, lowest, delay=delay), rel=0.02)
    assert penetration_bound(device, lowest, force=30.0) == math.inf


@pytest.mark.slow
def test_a_longer_program_finds_no_smaller_bound(device: TauDevice) -> None:
    lowest = (0.0, -0.025, 0.0)
    assert penetration_bound(device, lowest, delay=1, steps=90) == pytest.approx(
        penetration_bound(device, lowest, delay=1, steps=60), rel=1e-3
    )


def test_push_beyond_the_motors_is_reported(device: TauDevice, design: Any) -> None:
    point = (0.0, 0.0, 0.0)
    force = 2.0 * stiffest_push(device, point)
    run = simulate_push(device, design("stiff"), point=point, force=force)
    assert run.code != 0
    assert run.max_penetration == math.inf
    assert run.stiffness == 0.0
    assert np.isnan(run.position[-1]).all()


@pytest.mark.parametrize(
    "normal", [(0.0, 1.0, 1.0), *(pytest.param(n, marks=pytest.mark.slow) for n in ((1.0, 0.0, 1.0), (0.0, -1.0, 0.5)))]
)
def test_angled_wall(device: TauDevice, design: Any, normal: tuple[float, float, float]) -> None:
    """The paper's future work: the design turns with the wall, and stays near what motors can do there."""
    c, point, force = design("stiff", normal=normal), (0.0, -0.01, 0.005), 8.0
    for delay in (0, 1):
        run = simulate_push(device, c, point=point, force=force, delay=delay)
        assert run.max_penetration > penetration_bound(device, point, force=force, delay=delay, normal=normal)
        assert run.stiffness > 25e3
        assert torque_activity(run) < 1e-3


def test_signal(device: TauDevice) -> None:
    a = push_signal(device, force=13.0, duration=2.0, noise=1.0, seed=(1, 2, 3))
    assert a.shape == (2000,)
    assert (a[:1000] == 0.0).all()
    assert a[1000:].mean() == pytest.approx(13.0, abs=0.1)
    assert a[1000:].std() == pytest.approx(1.0, abs=0.1)
    assert np.array_equal(a, push_signal(device, force=13.0, duration=2.0, noise=1.0, seed=(1, 2, 3)))
    assert not np.array_equal(a, push_signal(device, force=13.0, duration=2.0, noise=1.0, seed=(1, 2, 4)))


def test_time_step_is_fine_enough(device: TauDevice, design: Any) -> None:
    """RK4 at 1 ms against 0.125 ms, torques and force held."""
    c = design("mopc")
    ends = []
    for substeps in (1, 8):
        state, lowest = device.state((0.0, 0.0, 0.0)), 0.0
        c.start((0.0, 0.0, 0.0))
        for _ in range(150):
            state.step(c.step(*state.joints()), [0, 0, -13.0, 0, 0, 0], 1e-3, substeps)
            lowest = min(lowest, state.position[2])
        ends.append(lowest)
    assert ends[0] == pytest.approx(ends[1], rel=1e-5)
    compiled = simulate_push(device, c, point=(0, 0, 0), duration=1.15)
    assert -ends[0] == pytest.approx(compiled.max_penetration, rel=1e-3)


def test_refusals(device: TauDevice, design: Any) -> None:
    with pytest.raises(TauError, match="out of reach of chain"):
        simulate_push(device, design("mopc"), point=(0.0, 0.4, 0.0))
    with pytest.raises(TauError, match="delay: expected 0 or more"):
        simulate_push(device, design("mopc"), point=(0, 0, 0), delay=-1)


def test_shapes_of_a_push(device: TauDevice) -> None:
    """A ramp rises in 0.2 s, a tap is half a sine of 10 ms with the impulse 2/pi F t; both begin as the step does."""
    ramp, tap = (push_signal(device, force=8.0, duration=1.5, shape=s) for s in ("ramp", "tap"))
    assert ramp[1000] == 0.0 and ramp[1100] == pytest.approx(4.0) and (ramp[1200:] == 8.0).all()
    assert tap[:1000].max() == 0.0 and tap[1005] == pytest.approx(8.0) and np.abs(tap[1010:]).max() < 1e-12
    assert 1e-3 * tap.sum() == pytest.approx(2.0 / math.pi * 8.0 * 0.01, rel=0.01)
    noisy = push_signal(device, force=8.0, duration=1.5, shape="ramp", noise=0.5, seed=1)
    assert (noisy - ramp)[1000:].std() == pytest.approx(0.5, rel=0.1)
    with pytest.raises(TauError, match="shape: expected step, ramp or tap, got 'saw'"):
        push_signal(device, force=8.0, duration=1.5, shape="saw")


def test_velocity_filter(device: TauDevice, design: Any) -> None:
    """A slower filter lets less of the counts through, and makes the wall softer."""
    runs = [
        PushSimulation(device, design("mopc"), point=(0, 0, 0), quantized=True, velocity_pole=pole).run(
            push_signal(device, force=13.0, duration=2.0), step_time=1.0, nominal=13.0
        )
        for pole in (300.0, 2000.0)
    ]
    assert torque_activity(runs[0]) < 0.6 * torque_activity(runs[1])
    assert runs[0].stiffness < 0.9 * runs[1].stiffness
    with pytest.raises(TauError, match="velocity_pole: expected a number above 0"):
        PushSimulation(device, design("mopc"), point=(0, 0, 0), velocity_pole=0.0)
