"""The report of friction_admittance: its measures and claims on signals with known answers."""

from __future__ import annotations

import functools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from haptic_bags.bags import Bag, Event
from haptic_core.commands import POSITION, VELOCITY
from haptic_core.commands import Motion as Command
from haptic_core.errors import HapticError
from haptic_devices import factories
from haptic_devices.device import load_parameters
from haptic_devices.five_bar import FiveBar, FiveBarParameters, inverse
from haptic_devices.hands.operator import HandParameters
from haptic_devices.motions.planar import paper_admittance_plan
from haptic_experiments.experiments import friction_admittance
from haptic_experiments.experiments.friction_admittance import Case, analyse
from haptic_experiments.kit import manipulator
from haptic_experiments.kit.manipulator import Motion, Run
from haptic_experiments.kit.planar import radius_of_curvature

#: period (s), friction force (N), rendered mass (kg)
T, F, M = 1e-3, 6.0, 2.0
#: as the node starts with
FRICTION = {"model": "A", "law": "coulomb", "projection": "exact", "friction_force": F, "viscosity": 0.0, "mass": M}
FRICTION |= {"static_force": 7.5, "stribeck_velocity": 0.1, "stiffness": 6000.0, "damping": 10.0, "period": T}


@functools.cache
def five_bar() -> FiveBar:
    return FiveBar.from_file()


@functools.cache
def hand() -> HandParameters:
    return load_parameters(HandParameters, factories.HAND_FILE)


@functools.cache
def ideal_run(wobble: float = 0.0) -> Run:
    """The tool goes where the hand wants it, and the hand's force is h = F v/|v| + M a, at rest that of the plan.

    wobble: amplitude of a motion of 5 Hz that the tool adds along y while it goes along x, from a to b [m].
    """
    plan = paper_admittance_plan(T, rest_duration=2.4, rest_force=2.5)
    intention = plan.table[:, 0:2]
    position, velocity = intention.copy(), plan.table[:, 2:4].copy()
    phase = 2.0 * np.pi * 5.0 * T * np.arange(1000)
    position[:1000, 1] += wobble * (1.0 - np.cos(phase))
    velocity[:1000, 1] += wobble * 2.0 * np.pi * 5.0 * np.sin(phase)
    speed = np.linalg.norm(velocity, axis=1)[:, None]
    along = np.divide(velocity, speed, out=np.zeros_like(velocity), where=speed > 0.0)
    force = F * along + M * np.gradient(velocity, T, axis=0) + plan.table[:, 4:6]
    joints, q = np.zeros_like(position), np.zeros(2)
    for k, (x, y) in enumerate(position):
        inverse(five_bar().geometry, x, y, q)
        joints[k] = q
    return Run(
        period=T,
        time=T * np.arange(len(position)),
        measured=position,
        position=position,
        velocity=velocity,
        force=force,
        intention=intention,
        target=position.copy(),
        target_velocity=velocity,
        joints=joints,
        sticking=speed[:, 0] == 0.0,
        phases=[phase.__dict__ for phase in plan.phases],
    )


def coulomb() -> np.ndarray:
    """Friction force of the ideal run at each sample, (n,) [N]."""
    return np.full(len(ideal_run().time), F)


def bag_of(
    run: Run,
    *,
    delay: int = 0,
    mode: str = "lockstep",
    missed: tuple[int, ...] = (),
    compensation: str = "none",
    held: bool = True,
    device: dict[str, Any] | None = None,
    **friction: Any,
) -> Bag:
    """The bag of a run.

    Args:
        run: the signals; the commands are its targets, whatever the delay.
        delay: command_delay_ticks.
        mode: lockstep or realtime.
        missed: ticks without an answer of the friction node.
        compensation: of the servo.
        held: there is a hand.
        device: description of the device by its node; that of five_bar.yaml if not given.
        friction: parameters of the friction node that are not those of the signals.
    """
    bag = Bag.__new__(Bag)
    bag.path, bag.custom = Path("runs/x/bag"), {"experiment": "friction_admittance", "mode": mode}
    ticks = np.arange(len(run.time), dtype=np.uint64)  # the message's type
    kept = np.setdiff1d(np.arange(len(ticks)), missed)

    def padded(values: np.ndarray, columns: int) -> np.ndarray:
        return np.hstack((values, np.zeros((len(values), columns - 2))))

    measured = {"tool_pose": padded(run.measured, 7), "tool_wrench": padded(run.force, 6)}
    truth = {"tool_pose": padded(run.position, 7), "tool_twist": padded(run.velocity, 6)}
    truth |= {"operator_target": padded(run.intention, 7), "joint_position": run.joints}
    command = {"tool_pose": padded(run.target, 7), "tool_twist": padded(run.target_velocity, 6)}
    topics = {
        "device_state": {"tick": ticks, "period": np.full(len(ticks), T), **measured},
        "simulation_state": {"tick": ticks, **truth},
        "device_command": {"tick": ticks[kept], **{name: values[kept] for name, values in command.items()}},
        "friction/state": {"tick": ticks[kept], "sticking": run.sticking[kept, None]},
    }
    bag.topics = {f"/five_bar/{name}": columns for name, columns in topics.items()}
    described = {**five_bar().parameters.model_dump(), "compensation": compensation} if device is None else device
    node = {
        "parameters": {"command_delay_ticks": delay, "mode": mode},
        "device": described,
        "hand": hand().model_dump() if held else None,
        "phases": run.phases,
    }
    bag.events = [
        Event(0, "device", "state", {"state": "active", **node}),
        Event(0, "friction", "state", {"state": "active", "parameters": FRICTION | friction}),
    ]
    return bag


#: places of the claims in the report of one bag
STRAIGHT, CURVE, REST, ISOTROPY, ANNIHILATION, MASS, MODEL_C, PARALLEL = range(8)
#: what the stability part of the metrics says in tests of other parts
STABILITY = {
    "smallest_mass": {"1": [1.2, 1.2], "4": [2.1, 2.3]},
    "shaking": [[1.0, 1.0, 0.1], [1.0, 2.0, 0.0], [4.0, 1.0, 0.1], [4.0, 2.0, 0.1]],
    "delay": 0,
}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves out the stability map, which has tests of its own in haptic_devices."""
    monkeypatch.setattr(friction_admittance, "stability", lambda *arguments: STABILITY)
    monkeypatch.setattr(friction_admittance, "draw_map", lambda *arguments: None)


def judged(*bags: Bag) -> list[bool | None]:
    names = ("bag", *(f"bag_{n}" for n in range(1, len(bags))))
    return [claim.shown for claim in analyse(dict(zip(names, bags, strict=True))).claims]


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


def test_a_run_is_what_the_bag_says() -> None:
    found = Run.from_bag(bag_of(ideal_run()))
    for name in ("measured", "position", "velocity", "force", "intention", "target", "joints", "sticking"):
        np.testing.assert_array_equal(getattr(found, name), getattr(ideal_run(), name), err_msg=name)
    assert found.period == T and found.phases == ideal_run().phases


def test_a_bag_of_one_tick_is_refused_in_one_line() -> None:
    bag = bag_of(ideal_run(), missed=tuple(range(1, len(ideal_run().time))))
    with pytest.raises(HapticError, match=r"^runs/x/bag: too short for a report \(1 ticks that all topics have\)$"):
        analyse({"bag": bag})


def test_the_radius_of_a_path() -> None:
    angle, time = np.linspace(0.0, 3.0, 3001), T * np.arange(3001)
    circle = 0.04 * np.column_stack((np.cos(angle), np.sin(angle)))
    inner = radius_of_curvature(np.gradient(circle, time, axis=0), time)[2:-2]
    np.testing.assert_allclose(inner, 0.04, rtol=1e-6)  # finite differences over 1 mrad: its square
    line = np.outer(angle, [0.5, 0.0])
    assert np.isinf(radius_of_curvature(np.gradient(line, time, axis=0), time)).all()


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


def turned(force: np.ndarray, angle: float) -> np.ndarray:
    cosine, sine = np.cos(angle), np.sin(angle)
    return force @ np.array([[cosine, sine], [-sine, cosine]])


def test_straight_motion_of_the_ideal_run() -> None:
    found = manipulator.straight(Motion.of(ideal_run()), M, coulomb())
    assert found["samples"] > 1500  # of 2900 in a-b, b-c, c-d
    assert found["median_angle"] < 1e-3
    # what the filter makes of the corner of F v/|v| where the tool starts and stops, 0.1 s away
    assert found["mean_friction"] == pytest.approx(F, rel=2e-3)
    assert found["residual_rms"] < 0.03


@pytest.mark.parametrize("angle", [0.1, -0.3])
def test_the_angle_of_straight_motion_is_that_between_force_and_velocity(angle: float) -> None:
    found = manipulator.straight(Motion.of(replace(ideal_run(), force=turned(ideal_run().force, angle))), M, coulomb())
    assert found["median_angle"] == pytest.approx(abs(angle), abs=1e-3)
    assert found["p95_angle"] == pytest.approx(abs(angle), abs=0.01)


def test_a_heavier_mass_than_rendered_is_left_as_residual() -> None:
    motion = Motion.of(ideal_run())
    acceleration = np.sqrt(np.mean(np.sum(motion.acceleration[motion.straight] ** 2, axis=1)))
    found = manipulator.straight(motion, M + 1.0, coulomb())
    assert found["residual_rms"] == pytest.approx(acceleration, rel=0.02)


def test_the_curve_s_force_is_slanted_by_the_centrifugal_force() -> None:
    found = manipulator.curve(Motion.of(ideal_run()), M)
    assert found["inward_share"] == 1.0 and found["samples"] > 1000
    assert found["mean_inward"] == pytest.approx(found["mean_expected"], rel=0.01)
    part = phase_of(ideal_run(), "d-e")
    speed = np.linalg.norm(ideal_run().velocity[part], axis=1)
    assert found["largest_expected"] == pytest.approx(M * speed.max() ** 2 / 0.06, rel=0.05)  # the filter rounds it
    assert np.tan(found["median_slant"]) == pytest.approx(np.median(M * speed**2 / 0.06) / F, rel=0.2)
    outside = manipulator.curve(Motion.of(replace(ideal_run(), force=F * Motion.of(ideal_run()).along)), M)
    assert abs(outside["mean_inward"]) < 0.05


def test_the_measures_of_a_mirrored_run_are_the_same() -> None:
    flip = np.array([-1.0, 1.0])
    names = ("position", "velocity", "force", "intention", "target", "target_velocity", "measured")
    mirrored = replace(ideal_run(), **{name: flip * getattr(ideal_run(), name) for name in names})
    assert manipulator.curve(Motion.of(mirrored), M) == pytest.approx(manipulator.curve(Motion.of(ideal_run()), M))


def test_letters_without_straight_parts_have_no_straight_motion() -> None:
    curved = replace(ideal_run(), phases=[p for p in ideal_run().phases if p["name"] == "d-e"])
    assert manipulator.straight(Motion.of(curved), M, coulomb()) == {}
    resting = replace(ideal_run(), phases=[p for p in ideal_run().phases if p["kind"] == "rest"])
    assert manipulator.curve(Motion.of(resting), M) == {}


def drifting(drift: float, compliance: float = 0.0) -> Run:
    """Creeps along y by a drift [m] in each counted part of a rest, on a spring of a compliance [m/N]."""
    position = ideal_run().position + compliance * ideal_run().force
    for phase in ideal_run().phases:
        if phase["kind"] == "rest":
            part = ideal_run().part(phase["start"], phase["end"])
            time = ideal_run().time[part]
            position[part, 1] += drift * (time - time[0]) / (time[-1] - time[0] - manipulator.SETTLING)
    return replace(ideal_run(), position=position)


@pytest.mark.parametrize("drift", [0.0, 1e-6, -3e-5])
def test_the_drift_of_a_rest_is_not_the_way_that_the_spring_gives(drift: float) -> None:
    (rest,) = manipulator.rests(drifting(drift, compliance=5e-6), M)  # the other one is too short
    assert rest["name"] == "c" and rest["length"] == pytest.approx(1.8, abs=2 * T)
    assert rest["drift"] == pytest.approx(abs(drift), rel=1e-3, abs=1e-13)
    assert rest["travel"] > 1e-5  # 3 N on the spring
    assert rest["largest_force"] < 1.7 * 2.5 and rest["largest_target_speed"] == 0.0 and rest["target_travel"] == 0.0


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
    q = five_bar().geometry[4:6] + random.uniform(-0.4, 0.4, (20, 2))
    torque, rates = random.normal(0.0, 10.0, (20, 2)), random.normal(0.0, 1.0, (20, 2))
    force = manipulator.forces_of_friction(five_bar(), q, torque)
    velocity = np.einsum("nij,nj->ni", manipulator.jacobians(five_bar(), q), rates)
    np.testing.assert_allclose(np.sum(force * velocity, axis=1), np.sum(torque * rates, axis=1), rtol=1e-9)


def test_joint_friction_alone_is_not_isotropic() -> None:
    # at home the arms stand at a right angle, at 45 and 135 degrees: along y both joints turn at the same rate
    home, force = five_bar().geometry[4:6], five_bar().parameters.friction_coulomb / 0.3
    found = manipulator.joint_friction_force(five_bar(), home, np.radians([90.0, 60.0, 44.0, 46.0]))
    np.testing.assert_allclose(found[0], [0.0, np.sqrt(2.0) * force], atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), np.sqrt(2.0) * force)
    np.testing.assert_allclose(found[1], found[3], rtol=1e-9)  # the same signs, the same force
    assert found[2] @ found[3] == pytest.approx(0.0, abs=1e-9)  # one joint turns round in between


def test_the_ideal_run_s_force_is_isotropic() -> None:
    found = manipulator.isotropy(ideal_run(), Motion.of(ideal_run()), five_bar(), M, coulomb())
    assert len(found["sectors"]) >= 9 and found["largest_deviation"] < 0.15  # corners of F v/|v| at start and stop
    low, high = found["joint_friction_along"]
    assert 20.0 < low < 30.0 < 45.0 < high
    assert abs(found["joint_friction_share"]) < 1e-3


def test_a_force_of_one_direction_and_a_share_of_the_joints_friction_are_found() -> None:
    motion = Motion.of(ideal_run())
    more = np.where((motion.along[:, :1] > 0.9), 1.1, 1.0) * ideal_run().force
    found = manipulator.isotropy(ideal_run(), Motion.of(replace(ideal_run(), force=more)), five_bar(), M, coulomb())
    assert found["largest_deviation"] == pytest.approx(0.6, abs=0.15)
    felt = manipulator.forces_of_friction(
        five_bar(), ideal_run().joints, manipulator.friction_torque(five_bar(), ideal_run())
    )
    with_share = replace(ideal_run(), force=ideal_run().force + 0.05 * felt)
    found = manipulator.isotropy(ideal_run(), Motion.of(with_share), five_bar(), M, coulomb())
    assert found["joint_friction_share"] == pytest.approx(0.05, abs=1e-3)


def test_residual_friction_and_tracking_error_count_while_the_hand_leads() -> None:
    leads = ideal_run().during("slide")
    target = ideal_run().target + np.where(leads[:, None], [3e-4, 4e-4], 1.0)
    friction = np.where(leads[:, None], [3.0, 1.0], 50.0)
    found = manipulator.compensated(replace(ideal_run(), target=target), friction, np.where(leads[:, None], 1.0, 0.0))
    assert found["tracking_rms"] == pytest.approx(5e-4) == found["largest_tracking_error"]
    assert found["friction_rms"] == pytest.approx(np.sqrt(5.0)) and found["residual_rms"] == pytest.approx(np.sqrt(2.0))
    assert found["largest_residual"] == pytest.approx(2.0)


def test_shaking_is_what_lies_above_30_hz_while_sliding() -> None:
    quiet = manipulator.shaking(ideal_run(), Motion.of(ideal_run()))
    shaken = ideal_run().velocity + 0.01 * np.sqrt(2.0) * np.outer(
        np.sin(2 * np.pi * 70.0 * ideal_run().time), [0.6, 0.8]
    )
    found = manipulator.shaking(replace(ideal_run(), velocity=shaken), Motion.of(ideal_run()))
    assert quiet is not None and quiet < 1e-3 and found == pytest.approx(0.01, rel=0.02)


# ---- claims ---------------------------------------------------------------------------------------


def changed(**signals: np.ndarray) -> Bag:
    return bag_of(replace(ideal_run(), **signals))


@pytest.mark.usefixtures("quick")
def test_the_ideal_run_shows_every_claim_that_it_reaches() -> None:
    assert judged(bag_of(ideal_run())) == [True] * 5 + [None] * 3  # the smallest mass is a finding


@pytest.mark.usefixtures("quick")
def test_each_claim_fails_where_it_does_not_hold() -> None:
    motion = Motion.of(ideal_run())
    slides = ideal_run().during("slide")[:, None]
    felt = manipulator.forces_of_friction(
        five_bar(), ideal_run().joints, manipulator.friction_torque(five_bar(), ideal_run())
    )
    cases = {
        # inertia alone turns the force in the first
        STRAIGHT: [
            bag_of(ideal_run(wobble=1.5e-3)),
            changed(force=turned(ideal_run().force, 0.2)),
            changed(force=ideal_run().force * np.where(slides, 1.1, 1.0)),
        ],
        CURVE: [
            changed(force=np.where(slides, F * motion.along, ideal_run().force)),
            changed(force=ideal_run().force + 0.2 * M * motion.normal[:, None] * motion.inside),
        ],
        REST: [changed(target_velocity=ideal_run().target_velocity + 1e-12)],
        ISOTROPY: [changed(force=np.where(motion.along[:, :1] > 0.9, 1.2, 1.0) * ideal_run().force)],
        ANNIHILATION: [changed(force=ideal_run().force + np.where(slides, 0.02, 0.0) * felt)],
    }
    for place, bags in cases.items():
        for bag in bags:
            assert judged(bag)[place] is False, place


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("share", [0.9, 1.1])
def test_a_drift_of_one_encoder_count_is_the_limit(share: float) -> None:
    count = 6.283e-6 * 0.3
    assert judged(bag_of(drifting(share * count)))[REST] is (share < 1.0)


@pytest.mark.usefixtures("quick")
def test_a_rest_above_the_friction_does_not_reach_the_claim() -> None:
    rests = ideal_run().during("rest")[:, None]
    strong = np.where(rests, 2.0, 1.0) * ideal_run().force
    assert judged(changed(force=strong))[REST] is None
    # the Stribeck law holds until its static force
    assert judged(bag_of(replace(ideal_run(), force=strong), law="stribeck", static_force=9.0))[REST] is True


def test_the_smallest_mass_is_a_finding_whatever_the_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(friction_admittance, "draw_map", lambda *arguments: None)
    changes: list[dict[str, Any]] = [{}, {"smallest_mass": {"1": [1.2, 1.2], "4": [0.9, 2.3]}}]
    for change in changes:
        monkeypatch.setattr(friction_admittance, "stability", lambda *arguments, c=change: STABILITY | c)
        claim = analyse({"bag": bag_of(ideal_run())}).claims[MASS]
        assert claim.shown is None and not claim.judged and claim.verdict == "a finding, not judged"
        assert "assumption: the gears have an elasticity" in claim.measured
        assert f"{(STABILITY | change)['smallest_mass']['4'][0]:.2f} kg in one 4 times as firm" in claim.measured


@pytest.mark.usefixtures("quick")
def test_compensation_is_judged_against_the_run_without_at_the_same_delay() -> None:
    late = replace(ideal_run(), target=ideal_run().target + 1e-4)
    bare, parallel = bag_of(late, delay=1), bag_of(ideal_run(), delay=1, compensation="parallel")
    verdicts = judged(bare, parallel, bag_of(ideal_run()))[-2:]
    assert verdicts == [None, True]
    assert judged(bag_of(late), parallel)[-2:] == [None, None]  # another delay
    assert judged(bag_of(ideal_run(), delay=1), bag_of(late, delay=1, compensation="model_c"))[-2:] == [False, None]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "friction", [{"model": "D"}, {"model": "lugre"}, {"law": "table"}, {"friction_force": 0.0}], ids=str
)
def test_other_models_and_no_friction_have_numbers_and_a_figure_but_no_verdict(friction: dict[str, Any]) -> None:
    report = analyse({"bag": bag_of(ideal_run(), **friction)})
    verdicts = [claim.shown for claim in report.claims]
    assert [verdicts[place] for place in (STRAIGHT, CURVE, REST, ISOTROPY, ANNIHILATION)] == [None] * 5
    assert "M v²/R" in report.claims[CURVE].measured and report.figure.axes


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("duration", [0.002, 0.4, 2.3])
def test_a_run_that_is_cut_has_a_figure_and_claims_that_are_not_reached(duration: float) -> None:
    n = round(duration / T)
    signals = {name: value[:n] for name, value in vars(ideal_run()).items() if isinstance(value, np.ndarray)}
    report = analyse({"bag": bag_of(replace(ideal_run(), **signals))})
    assert report.claims[REST].shown is None and report.claims[CURVE].shown is None
    json.dumps(report.metrics, allow_nan=False)
    report.figure.canvas.draw()


@pytest.mark.slow
def test_the_map_is_that_of_the_suite_s_hand_whoever_holds_the_grip() -> None:
    bag = bag_of(ideal_run())
    bag.events[0].detail["hand"].update(stiffness=2000.0, damping=60.0, mass=0.8)  # four times that would be refused
    report = analyse({"bag": bag})
    assert report.metrics["stability"]["smallest_mass"]["4"][0] == pytest.approx(2.12, abs=0.03)
    (star,) = [line for axes in report.figure.axes for line in axes.get_lines() if line.get_marker() == "*"]
    assert star.get_xydata()[0] == pytest.approx([2000.0, M])


def test_without_a_hand_or_with_an_unknown_device_there_is_no_map() -> None:
    case = Case.of(bag_of(ideal_run(), held=False))
    assert friction_admittance.stability(case.device, case.hand, case.settings) == {}
    report = analyse({"bag": bag_of(ideal_run(), device={"length": 1.0})})
    assert [report.claims[place].shown for place in (REST, ISOTROPY, ANNIHILATION, MASS)] == [None] * 4
    assert report.claims[STRAIGHT].shown is True
    report.figure.canvas.draw()


@pytest.mark.slow
def test_the_report_with_its_map() -> None:
    bags = {"bag": bag_of(ideal_run()), "bag_delayed": bag_of(ideal_run(), delay=1)}
    report = analyse(bags)
    assert len(report.claims) == 9 and not report.claims[6].judged
    found = report.metrics["stability"]
    # the table in five_bar.yaml
    assert found["smallest_mass"]["1"] == pytest.approx([1.16, 1.20], abs=0.02)
    assert found["smallest_mass"]["4"] == pytest.approx([2.12, 2.30], abs=0.03)
    assert report.metrics["encoder_count_at_tool"] == pytest.approx(6.283e-6 * 0.3)
    json.dumps(report.metrics, allow_nan=False)
    letters = {note.get_text() for axes in report.figure.axes for note in axes.texts}
    assert {"a", "b", "c", "d", "e"} <= letters
    report.figure.canvas.draw()
