"""Measures of friction on a manipulator: signals of a run, straight motion, curves, rests, joints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from admittance_runs import F, M, T, bag_of, coulomb, drifting, five_bar, ideal_run, turned

from haptic_core.commands import POSITION, VELOCITY
from haptic_core.commands import Motion as Command
from haptic_core.errors import HapticError
from haptic_devices.five_bar import FiveBar, FiveBarParameters, friction_analysis
from haptic_devices.five_bar.force_analysis import curve, straight
from haptic_experiments.experiments.friction_admittance import analyse, manipulator
from haptic_experiments.experiments.friction_admittance.manipulator import Motion, Run


def phase_of(run: Run, name: str) -> slice:
    (phase,) = [phase for phase in run.phases if phase["name"] == name]
    return run.part(phase["start"], phase["end"])


# ---- signals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "delay", "lag"), [("lockstep", 0, 0), ("lockstep", 2, 2), ("realtime", 0, 1)])
def test_the_target_is_the_command_that_the_servo_follows_at_that_tick(mode: str, delay: int, lag: int) -> None:
    missed = (0, 700, 701)
    found = Run.from_bag(bag_of(ideal_run(), delay=delay, mode=mode, missed=missed))
    ticks = np.round(found.time / T).astype(int)
    np.testing.assert_array_equal(ticks, np.setdiff1d(np.arange(len(ideal_run().time)), missed))
    row = {tick: place for place, tick in enumerate(ticks)}
    for tick in (1, 2, 3, 500, 4000):
        first = tick - lag < 1  # there is no command yet: the servo holds
        expected = ideal_run().measured[ticks[0]] if first else ideal_run().target[tick - lag]
        np.testing.assert_array_equal(found.target[row[tick]], expected, err_msg=str(tick))
        velocity = 0.0 if first else ideal_run().target_velocity[tick - lag]
        np.testing.assert_array_equal(found.target_velocity[row[tick]], velocity)
    held = ideal_run().target[699] if lag else ideal_run().target[702]  # the last command that came
    np.testing.assert_array_equal(found.target[row[702]], held)


def test_run_contains_the_data_of_the_bag() -> None:
    found = Run.from_bag(bag_of(ideal_run()))
    for name in ("measured", "position", "velocity", "force", "intention", "target", "joints", "sticking"):
        np.testing.assert_array_equal(getattr(found, name), getattr(ideal_run(), name), err_msg=name)
    assert found.period == T and found.phases == ideal_run().phases


def test_a_bag_of_one_tick_is_refused_in_one_line() -> None:
    bag = bag_of(ideal_run(), missed=tuple(range(1, len(ideal_run().time))))
    with pytest.raises(HapticError, match=r"^runs/x/bag: too short for a report \(1 ticks that all topics have\)$"):
        analyse({"bag": bag})


def test_smoothing_keeps_slow_signals_in_place_and_takes_fast_ones() -> None:
    time = T * np.arange(4000)
    slow, fast = np.sin(2 * np.pi * 2.0 * time), np.sin(2 * np.pi * 100.0 * time)
    found = manipulator.smooth(np.column_stack((slow, fast)), T)[1000:3000]
    # both passes of a Butterworth filter of order 4: 1/(1 + (f/20 Hz)^8)
    np.testing.assert_allclose(found[:, 0], slow[1000:3000], atol=1e-6)
    assert np.abs(found[:, 1]).max() < 1e-5
    np.testing.assert_array_equal(manipulator.smooth(found, 0.1), found)
    np.testing.assert_array_equal(manipulator.smooth(found[:10], T), found[:10])


# ---- measures -------------------------------------------------------------------------------------


def test_straight_motion_of_the_ideal_run() -> None:
    found = straight(Motion.of(ideal_run()), M, coulomb())
    assert found.samples > 1500  # of 2900 in a-b, b-c, c-d
    assert found.median_angle < 1e-3
    # what the filter makes of the corner of F v/|v| where the tool starts and stops, 0.1 s away
    assert found.mean_friction == pytest.approx(F, rel=2e-3)
    assert found.residual_rms < 0.03


@pytest.mark.parametrize("angle", [0.1, -0.3])
def test_the_angle_of_straight_motion_is_that_between_force_and_velocity(angle: float) -> None:
    found = straight(Motion.of(replace(ideal_run(), force=turned(ideal_run().force, angle))), M, coulomb())
    assert found.median_angle == pytest.approx(abs(angle), abs=1e-3)
    assert found.p95_angle == pytest.approx(abs(angle), abs=0.01)


def test_a_heavier_mass_than_rendered_is_left_as_residual() -> None:
    motion = Motion.of(ideal_run())
    acceleration = np.sqrt(np.mean(np.sum(motion.acceleration[motion.straight] ** 2, axis=1)))
    found = straight(motion, M + 1.0, coulomb())
    assert found.residual_rms == pytest.approx(acceleration, rel=0.02)


def test_the_curve_s_force_is_slanted_by_the_centrifugal_force() -> None:
    found = curve(Motion.of(ideal_run()), M)
    assert found.inward_share == 1.0 and found.samples > 1000
    assert found.mean_inward == pytest.approx(found.mean_expected, rel=0.01)
    part = phase_of(ideal_run(), "d-e")
    speed = np.linalg.norm(ideal_run().velocity[part], axis=1)
    assert found.largest_expected == pytest.approx(M * speed.max() ** 2 / 0.06, rel=0.05)  # the filter rounds it
    assert np.tan(found.median_slant) == pytest.approx(np.median(M * speed**2 / 0.06) / F, rel=0.2)
    outside = curve(Motion.of(replace(ideal_run(), force=F * Motion.of(ideal_run()).along)), M)
    assert abs(outside.mean_inward) < 0.05


def test_the_measures_of_a_mirrored_run_are_the_same() -> None:
    flip = np.array([-1.0, 1.0])
    names = ("position", "velocity", "force", "intention", "target", "target_velocity", "measured")
    mirrored = replace(ideal_run(), **{name: flip * getattr(ideal_run(), name) for name in names})
    found, expected = (curve(Motion.of(run), M) for run in (mirrored, ideal_run()))
    assert vars(found) == pytest.approx(vars(expected))


def test_letters_without_straight_parts_have_no_straight_motion() -> None:
    curved = replace(ideal_run(), phases=[p for p in ideal_run().phases if p["name"] == "d-e"])
    assert straight(Motion.of(curved), M, coulomb()) is None
    resting = replace(ideal_run(), phases=[p for p in ideal_run().phases if p["kind"] == "rest"])
    assert curve(Motion.of(resting), M) is None


@pytest.mark.parametrize("drift", [0.0, 1e-6, -3e-5])
def test_the_drift_of_a_rest_is_not_the_way_that_the_spring_gives(drift: float) -> None:
    (rest,) = manipulator.rests(drifting(drift, compliance=5e-6), M)  # the other one is too short
    assert rest.name == "c" and rest.length == pytest.approx(1.8, abs=2 * T)
    assert rest.drift == pytest.approx(abs(drift), rel=1e-3, abs=1e-13)
    assert rest.travel > 1e-5  # 3 N on the spring
    assert rest.largest_force < 1.7 * 2.5 and rest.largest_target_speed == 0.0 and rest.target_travel == 0.0


# ---- joints ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("compensation", ["none", "model_c", "parallel"])
@pytest.mark.parametrize("delay", [0, 1])
def test_friction_and_compensation_are_those_of_the_simulated_device(compensation: str, delay: int) -> None:
    numbers = {**five_bar().parameters.model_dump(), "compensation": compensation, "encoder_resolution": 0.0}
    device = FiveBar(FiveBarParameters(**numbers))
    device.configure(T)
    device.activate()
    under_way: list[Command | None] = [None] * delay
    rows: dict[str, list[np.ndarray]] = {"joints": [], "friction": [], "compensation": []}
    time = T * np.arange(400)
    rate = np.array([20.0, 13.0])  # rad/s
    reference, velocity = 0.02 * (1.0 - np.cos(np.outer(time, rate))), 0.02 * rate * np.sin(np.outer(time, rate))
    for k in range(len(time)):
        rows["joints"].append(device.truth().position.copy())
        rows["friction"].append(device.friction_torque.copy())
        rows["compensation"].append(device.compensation_torque.copy())
        pose, twist = np.array([*reference[k], 0, 0, 0, 0, 1.0]), np.array([*velocity[k], 0, 0, 0, 0])
        under_way.append(Command(POSITION | VELOCITY, pose, twist, np.zeros(6)))
        device.follow(under_way.pop(0))
    signals = {name: np.array(values) for name, values in rows.items()}
    still = np.zeros_like(reference)
    names = ("measured", "position", "velocity", "force", "intention")
    made = {**dict.fromkeys(names, still), "target": reference, "target_velocity": velocity}
    made |= {"joints": signals["joints"], "sticking": np.zeros(400, dtype=bool)}
    run = Run.from_bag(bag_of(Run(T, time, **made, phases=[]), delay=delay))
    # in a bag the mean velocity of each tick is known, not that of its ten steps; a reversal of 17 N m takes some ticks
    np.testing.assert_allclose(manipulator.friction_torque(device, run), signals["friction"], atol=0.5)
    assert np.abs(signals["friction"]).max() > 8.0
    found = manipulator.compensation_torque(device, run)
    np.testing.assert_allclose(found, signals["compensation"], atol=1e-9)
    assert found.any() == (compensation != "none")


def test_the_force_that_overcomes_joint_torques_does_their_work() -> None:
    random = np.random.default_rng(1)
    q = np.array(five_bar().geometry.home) + random.uniform(-0.4, 0.4, (20, 2))
    torque, rates = random.normal(0.0, 10.0, (20, 2)), random.normal(0.0, 1.0, (20, 2))
    force = friction_analysis.tool_forces(five_bar(), q, torque)
    velocity = np.einsum("nij,nj->ni", friction_analysis.tool_jacobians(five_bar(), q), rates)
    np.testing.assert_allclose(np.sum(force * velocity, axis=1), np.sum(torque * rates, axis=1), rtol=1e-9)


def test_joint_friction_alone_is_not_isotropic() -> None:
    # at home the arms stand at a right angle, at 45 and 135 degrees: along y both joints turn at the same rate
    home, force = np.array(five_bar().geometry.home), five_bar().parameters.friction_coulomb / 0.3
    found = friction_analysis.coulomb_forces(five_bar(), home, np.radians([90.0, 60.0, 44.0, 46.0]))
    np.testing.assert_allclose(found[0], [0.0, np.sqrt(2.0) * force], atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), np.sqrt(2.0) * force)
    np.testing.assert_allclose(found[1], found[3], rtol=1e-9)  # the same signs, the same force
    assert found[2] @ found[3] == pytest.approx(0.0, abs=1e-9)  # one joint turns round in between


def test_the_ideal_run_s_force_is_isotropic() -> None:
    found = manipulator.isotropy(ideal_run(), Motion.of(ideal_run()), five_bar(), M, coulomb())
    assert len(found.sectors) >= 9 and found.largest_deviation < 0.15  # corners of F v/|v| at start and stop
    low, high = found.joint_friction.along
    assert 20.0 < low < 30.0 < 45.0 < high
    assert abs(found.joint_friction.share) < 1e-3


def test_a_force_of_one_direction_and_a_share_of_the_joints_friction_are_found() -> None:
    motion = Motion.of(ideal_run())
    more = np.where((motion.along[:, :1] > 0.9), 1.1, 1.0) * ideal_run().force
    found = manipulator.isotropy(ideal_run(), Motion.of(replace(ideal_run(), force=more)), five_bar(), M, coulomb())
    assert found.largest_deviation == pytest.approx(0.6, abs=0.15)
    felt = friction_analysis.tool_forces(
        five_bar(), ideal_run().joints, manipulator.friction_torque(five_bar(), ideal_run())
    )
    with_share = replace(ideal_run(), force=ideal_run().force + 0.05 * felt)
    found = manipulator.isotropy(ideal_run(), Motion.of(with_share), five_bar(), M, coulomb())
    assert found.joint_friction.share == pytest.approx(0.05, abs=1e-3)


def test_residual_friction_and_tracking_error_count_while_the_hand_leads() -> None:
    leads = ideal_run().during("slide")
    target = ideal_run().target + np.where(leads[:, None], [3e-4, 4e-4], 1.0)
    friction = np.where(leads[:, None], [3.0, 1.0], 50.0)
    found = manipulator.compensated(replace(ideal_run(), target=target), friction, np.where(leads[:, None], 1.0, 0.0))
    assert found.tracking_rms == pytest.approx(5e-4) == found.largest_tracking_error
    assert found.friction_rms == pytest.approx(np.sqrt(5.0)) and found.residual_rms == pytest.approx(np.sqrt(2.0))
    assert found.largest_residual == pytest.approx(2.0)


def test_shaking_is_what_lies_above_30_hz_while_sliding() -> None:
    quiet = manipulator.shaking(ideal_run(), Motion.of(ideal_run()))
    shaken = ideal_run().velocity + 0.01 * np.sqrt(2.0) * np.outer(
        np.sin(2 * np.pi * 70.0 * ideal_run().time), [0.6, 0.8]
    )
    found = manipulator.shaking(replace(ideal_run(), velocity=shaken), Motion.of(ideal_run()))
    assert quiet is not None and quiet < 1e-3 and found == pytest.approx(0.01, rel=0.02)
