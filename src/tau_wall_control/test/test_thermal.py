"""The motors' heat: closed forms of the load, the limit, and what it does to a push that is held."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from haptic_core.parameters import check_all, load_parameter_specs
from tau_wall_control import Plane, SafeStopError, TauDevice, TauError, WallRenderer
from tau_wall_control.device.thermal import KNEE, ThermalLimit
from tau_wall_control.node import WallNode
from tau_wall_control.simulation import push as push_module
from tau_wall_control.simulation.push import continuous_push, continuous_torque_fraction, push_direction, simulate_push
from tau_wall_control.walls.holding import HoldingWall

PERIOD = 1e-3


@pytest.fixture(scope="module")
def quick() -> TauDevice:
    """The stand-in with motors that are hot after half a second."""
    return TauDevice.default().with_parameters("actuators.thermal_time_constant=0.2")


@pytest.mark.parametrize("share", [0.3, 0.9, 1.5])
def test_a_constant_torque_heats_exponentially(device: TauDevice, share: float) -> None:
    thermal, tau = ThermalLimit(device, PERIOD), device.parameters.actuators.thermal_time_constant
    torque = share * device.continuous_torque * np.array([1.0, -1.0, 0.5, 0.0, 0.0, 0.0])
    for k in range(1, 5001):
        thermal.advance(torque)
        if k % 1000 == 0:
            expected = np.array([1.0, 1.0, 0.25, 0.0, 0.0, 0.0]) * share**2 * -math.expm1(-k * PERIOD / tau)
            np.testing.assert_allclose(thermal.load, expected, rtol=1e-10)
    for _ in range(2000):
        thermal.advance(np.zeros(6))
    np.testing.assert_allclose(thermal.load, expected * math.exp(-2000 * PERIOD / tau), rtol=1e-10)


def test_the_limit_is_the_peak_to_the_knee_and_falls_without_a_jump_to_the_continuous_torque(
    device: TauDevice,
) -> None:
    thermal = ThermalLimit(device, PERIOD)
    loads = np.linspace(0.0, 1.2, 1201)
    limits = []
    for load in loads:
        thermal.load[:] = [load, 0.0, 0.5 * load, 0.0, 0.0, 0.0]
        limits.append(thermal.limit)
    limits = np.array(limits)
    assert (limits[loads <= KNEE] == device.peak_torque).all()
    assert limits[loads >= 1.0] == pytest.approx(device.continuous_torque, rel=1e-12)
    falls = np.diff(limits)
    assert (falls <= 0.0).all() and falls.min() > -0.01 * device.peak_torque


def test_thermal_load_stays_below_one_under_any_torque(quick: TauDevice) -> None:
    thermal, wanted = ThermalLimit(quick, PERIOD), np.random.default_rng(0)
    for _ in range(20_000):
        torque = np.clip(wanted.uniform(-2.0, 2.0, 6) * quick.peak_torque, -thermal.limit, thermal.limit)
        thermal.advance(torque)
        # within one period the load may pass 1 by what that period's torque adds at the most
        assert thermal.load.max() < 1.0 + 1e-9
    assert thermal.load.max() > 0.9


def test_the_torque_that_a_push_takes_is_the_static_one_of_the_simulation(device: TauDevice) -> None:
    from tau_wall_control import design_wall_controller

    point, force = (0.01, -0.015, 0.0), 9.0
    run = simulate_push(device, design_wall_controller(device, "stiff"), point=point, force=force)
    share = np.abs(run.torque[-200:].mean(axis=0)) / device.continuous_torque
    # what dry friction holds of the push, 0.005 N m a joint, is missing in the torque
    np.testing.assert_allclose(
        share, continuous_torque_fraction(device, point, force), atol=0.006 / device.continuous_torque
    )


def test_force_that_is_held_permanently_takes_the_continuous_torque(device: TauDevice) -> None:
    h = device.parameters.workspace.cube_edge / 2.0
    shares, good = [], []
    for x in (-h, 0.0, h):
        for y in (-h, 0.0, h):
            good.append(continuous_push(device, (x, y, 0.0)))
            shares.append(continuous_torque_fraction(device, (x, y, 0.0), 13.0).max())
            assert continuous_torque_fraction(device, (x, y, 0.0), good[-1]).max() == pytest.approx(1.0, rel=1e-9)
    assert (round(100 * min(shares)), round(100 * max(shares))) == (130, 163)
    assert (round(min(good), 1), round(max(good), 1)) == (7.5, 9.2)


@pytest.mark.parametrize("limited", [True, False])
def test_a_push_beyond_the_continuous_torque_ends_in_a_safe_stop_unless_the_limit_is_off(
    quick: TauDevice, limited: bool
) -> None:
    values = {
        "scheme": "scheduled",
        "device_parameters": ["actuators.thermal_time_constant=0.2"],
        "longest_saturation": 0.1,
        "thermal_limit": limited,
    }
    specs = load_parameter_specs(WallNode.parameter_file)
    renderer = WallRenderer.from_parameters(check_all(specs, values) | {"period": PERIOD, "inputs": [""]})
    # the integral raises the torque at a held depth of 0.3 mm; 2 s are ten time constants
    theta = quick.inverse_kinematics((0.0, 0.0, -3e-4))
    stopped, torques = False, []
    for _ in range(2000):
        try:
            torques.append(np.abs(renderer.step(theta, np.zeros(6)).torque).max())
        except SafeStopError as stop:
            stopped = True
            assert not limited or "of their heat is used" in str(stop)
            break
    hot = renderer.report().thermal_load.max()
    if limited:
        assert stopped and hot < 1.0 + 1e-9
        assert torques[-1] < 0.75 * max(torques)  # the limit had fallen from the peak
    else:
        assert max(torques) == pytest.approx(quick.peak_torque)
    load = renderer.thermal.load.copy()
    renderer.reset()  # a reset does not cool the motors
    np.testing.assert_array_equal(renderer.thermal.load, load)


def test_the_paper_s_wall_is_limited_too(quick: TauDevice, design: Any) -> None:
    from tau_wall_control import design_wall_controller

    renderer = WallRenderer.around(HoldingWall(design_wall_controller(quick, "scheduled"), Plane((0, 0, 0), (0, 0, 1))))
    renderer.reset(quick.inverse_kinematics((0.0, 0.0, 1e-6)))
    theta = quick.inverse_kinematics((0.0, 0.0, -3e-4))
    largest = [np.abs(renderer.step(theta, np.zeros(6)).torque).max() for _ in range(2000)]
    assert max(largest) > quick.continuous_torque * 1.3
    assert largest[-1] == pytest.approx(quick.continuous_torque, rel=0.02)
    assert renderer.thermal.load.max() < 1.0 + 1e-9


def test_the_direction_of_the_push_turns_with_the_wall(device: TauDevice) -> None:
    slanted = device.with_parameters(f"disturbance.direction=[{math.sin(0.3)!r}, 0.0, {-math.cos(0.3)!r}]")
    for normal in ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, -0.6, 0.8), (0.0, 0.0, -1.0)):
        np.testing.assert_array_equal(push_direction(device, normal), -np.array(normal))
        direction = push_direction(slanted, normal)
        assert np.linalg.norm(direction) == pytest.approx(1.0, abs=1e-12)
        assert direction @ np.array(normal) == pytest.approx(-math.cos(0.3), abs=1e-12)


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        (["actuators.continuous_torque_joint=1.2"], "expected continuous_torque_joint of peak_torque_joint or less"),
        (["actuators.thermal_time_constant=0"], "actuators.thermal_time_constant: input should be greater than 0"),
        (["disturbance.direction=[0, 0, 1]"], "disturbance.direction: expected a unit vector with a negative z"),
        (["disturbance.direction=[0, 1, -1]"], "disturbance.direction: expected a unit vector"),
    ],
)
def test_refused_by_name(entries: list[str], words: str) -> None:
    from tau_wall_control import load_parameters

    with pytest.raises(TauError) as caught:
        load_parameters(overrides=entries)
    assert words in str(caught.value)


def test_counts_that_do_not_fit_the_resolution_are_refused(tmp_path: Any) -> None:
    from tau_wall_control.device.parameters import DEFAULT_FILE, load_parameters

    file = tmp_path / "device.yaml"
    text = DEFAULT_FILE.read_text()
    for counts, fits in ((16384, True), (8192, False)):
        file.write_text(text.replace("encoders:", f"encoders:\n  counts_per_motor_revolution: {counts}", 1))
        if fits:
            assert load_parameters(file).encoders.joint_resolution == pytest.approx(2 * math.pi / 163840)
        else:
            with pytest.raises(TauError, match=r"expected joint_resolution = 2 pi/\(counts_per_motor_revolution x"):
                load_parameters(file)


def test_the_old_name_of_the_torque_fraction_warns() -> None:
    with pytest.warns(DeprecationWarning, match="continuous_torque_fraction"):
        assert push_module.continuous_share is continuous_torque_fraction
