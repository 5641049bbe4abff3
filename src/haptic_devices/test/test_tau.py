"""The simulated TAU device: the library's mechanism behind encoders, motors and end stops, held by a hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from numpy.testing import assert_allclose

from haptic_core.errors import ParameterError
from haptic_core.parameters import check_all, load_parameter_specs
from haptic_devices import factories, tau
from haptic_devices.device import DeviceError
from haptic_devices.hands.spatial_hand import SpatialHandParameters
from haptic_devices.motions.spatial import FORCE, GRIP, POSITION, QUATERNION, TWIST, WRENCH
from haptic_devices.motions.wall import TAP_SPEED, WALL_MOTIONS, make_wall_plan
from haptic_devices.tau import Tau, TauDriverParameters
from haptic_devices.tau.apparent_inertia import apparent_inertia
from tau_wall_control import TauDevice
from tau_wall_control.device.rotations import rotation_from_quaternion

T = 1e-3
SPECS = load_parameter_specs(Path(factories.__file__).with_name("device_node.yaml"))
QUIET = ["tremor_force=0", "tremor_torque=0"]


def make(**values: Any) -> Tau:
    """The device of some parameters of the node, ready to run."""
    device = factories.tau(check_all(SPECS, {"device": "tau", "motion": "wall_push", **values}))
    device.configure(T)
    return device


def alone(*entries: str) -> Tau:
    return make(held=False, device_parameters=list(entries))


def weight(device: Tau) -> np.ndarray:
    """Efforts that hold the weight at the true pose."""
    pose = device.truth().tool_pose
    return device.mechanism.gravity_torque_at(pose[:3], rotation_from_quaternion(pose[3:]))


# ---- mechanism ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("substeps", "closeness"), [(1, 1e-9), (4, 1e-3)])
def test_released_device_moves_as_the_library_s_mechanism(substeps: int, closeness: float) -> None:
    """Random efforts about the weight's: in the same steps to rounding, in finer ones to the steps' error."""
    device, random = alone(), np.random.default_rng(0)
    assert device._substeps == 1
    state = device.mechanism.state((0.0, 0.0, 0.0))
    for _ in range(60):
        effort = weight(device) + 0.2 * random.standard_normal(6)
        device.write(effort)
        state.step(effort, np.zeros(6), T, substeps=substeps)
    truth = device.truth()
    theta, rate = state.joints()
    for found, expected in (
        (truth.tool_pose[:3], state.position),
        (truth.tool_twist, state.twist),
        (
            truth.position - device.mechanism.inverse_kinematics((0, 0, 0)),
            theta - device.mechanism.inverse_kinematics((0, 0, 0)),
        ),
        (truth.velocity, rate),
    ):
        assert_allclose(found, expected, atol=closeness * np.abs(expected).max())
    assert np.linalg.norm(state.position) > 1e-3  # it has moved


def test_without_friction_it_falls_with_its_energy() -> None:
    device = alone(*(f"friction.{name}=0" for name in ("viscous_actuated", "viscous_elbow", "coulomb_actuated")))
    total = []
    for _ in range(50):
        device.write(np.zeros(6))
        pose, twist = device.truth().tool_pose, device.truth().tool_twist
        total.append(device.mechanism.energy(pose[:3], rotation_from_quaternion(pose[3:]), twist))
    energies = np.array(total)
    assert energies[-1, 0] > 0.01  # it falls
    assert np.ptp(energies.sum(axis=1)) < 1e-6 * energies[-1, 0]  # RK4 at 1 ms


def test_friction_stops_a_slow_tool_and_a_frictionless_one_goes_on() -> None:
    speeds = []
    for entries in ((), ("friction.coulomb_actuated=0", "friction.viscous_actuated=0", "friction.viscous_elbow=0")):
        device = alone(*entries)
        device._state[9] = 0.02
        for _ in range(100):
            device.write(weight(device))
        speeds.append(abs(device.truth().tool_twist[2]))
    assert speeds[0] < 0.002 and speeds[1] > 0.015


def test_efforts_end_at_the_motors_peak_and_at_a_safe_stop() -> None:
    device = alone()
    device.write(np.array([5.0, -5.0, 0.3, 0.0, 0.0, 0.0]))
    peak = device.mechanism.peak_torque
    assert_allclose(device.truth().effort, [peak, -peak, 0.3, 0.0, 0.0, 0.0])
    assert_allclose(device.read().effort, device.truth().effort)
    assert all(joint.effort_limit == peak for joint in device.joints)
    for stop in (device.safe_stop, device.deactivate):
        device.activate()
        stop()
        device.write(np.ones(6))
        assert not device.truth().effort.any()


def test_without_power_it_falls_into_its_stops_and_rests_there() -> None:
    device = alone()
    for _ in range(3000):
        device.write(np.zeros(6))
    p, twist, numbers = device.truth().tool_pose[:3], device.truth().tool_twist, device.parameters
    assert np.abs(twist).max() < 1e-3
    assert p[1] < -numbers.range_translation
    # what the stop gives way: less than the weight, 10 N, over its stiffness
    assert np.abs(p).max() < numbers.range_translation + 10.0 / numbers.stop_stiffness
    turn = 2.0 * np.linalg.norm(device.truth().tool_pose[3:6])
    assert turn < numbers.range_rotation + 1.0 / numbers.stop_rotational_stiffness


def test_a_tool_that_leaves_the_workspace_is_a_fault() -> None:
    device = alone("stop_stiffness=0", "stop_damping=0", "stop_rotational_stiffness=0", "stop_rotational_damping=0")
    with pytest.raises(DeviceError, match=r"^the tool has left the workspace: .* position \["):
        for _ in range(3000):
            device.write(np.zeros(6))


def translational(matrix: np.ndarray) -> np.ndarray:
    """Inertia (3, 3) that a force meets if the rotation is free, of an inertia (6, 6)."""
    inertia, coupling, rotational = matrix[:3, :3], matrix[:3, 3:], matrix[3:, 3:]
    return np.asarray(inertia - coupling @ np.linalg.solve(rotational, coupling.T))


@pytest.mark.parametrize("period", [1e-9, T])
def test_slope_of_friction_adds_to_the_inertia_of_the_mechanism(period: float) -> None:
    device, pose, step = alone("friction.viscous_elbow=0"), np.array([0.01, -0.005, 0.008, 0.0, 0.0, 0.0, 1.0]), 1e-6
    mechanism = device.mechanism
    ahead, behind = (
        np.array([mechanism.dynamics(pose[:3], None, row).velocity_force for row in sign * step * np.eye(6)])
        for sign in (1.0, -1.0)
    )
    slope = (ahead - behind).T / (2.0 * step)  # without the centrifugal forces, which are even in the velocity
    expected = translational(mechanism.dynamics(pose[:3]).mass_matrix + 0.5 * period * slope)
    # the joints have 1e-6/0.05 m, 4e-4 of the smoothing speed; tanh differs from its argument by a third of its square
    assert_allclose(apparent_inertia(device, pose, np.zeros(6), 1.0, period), expected, rtol=1e-6, atol=1e-7)


def test_coulomb_friction_adds_no_apparent_inertia_to_a_fast_tool() -> None:
    device, pose = alone(), np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    # 40 smoothing speeds of each joint: the slope of tanh is 4 exp(-80)
    fast = np.linalg.solve(device.mechanism.dynamics(pose[:3]).actuated_map, np.full(6, 2.0))
    viscous = apparent_inertia(alone("friction.coulomb_actuated=0"), pose, np.zeros(6), 0.0, T)
    assert_allclose(apparent_inertia(device, pose, fast, 0.0, T), viscous, rtol=1e-12)
    assert np.linalg.eigvalsh(apparent_inertia(device, pose, np.zeros(6), 0.0, T) - viscous).min() > 0.0


def test_hand_adds_its_inertia_and_half_the_period_times_its_damping() -> None:
    frictionless = [f"friction.{name}_actuated=0" for name in ("viscous", "coulomb")]
    device, pose = make(device_parameters=frictionless), np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    assert device.hand is not None
    p, M = device.hand.parameters, device.mechanism.dynamics(pose[:3]).mass_matrix
    hand = np.diag(np.repeat([p.mass + 0.5 * T * p.damping, p.rotational_inertia + 0.5 * T * p.rotational_damping], 3))
    for grip in (0.0, 0.5, 1.0):
        found = apparent_inertia(device, pose, np.zeros(6), grip, T)
        assert_allclose(found, translational(M + grip * hand), rtol=1e-9, atol=1e-12)


# ---- sensors --------------------------------------------------------------------------------------


def test_angles_are_counted_and_rates_are_filtered_differences() -> None:
    device = alone()
    count, gain = device.mechanism.parameters.encoders.joint_resolution, 1.0 - np.exp(-2000.0 * T)
    rate, before = np.zeros(6), device.read().position.copy()
    for k in range(40):
        device.write(weight(device) + 0.1 * np.sin(0.3 * k))
        reading, truth = device.read(), device.truth()
        assert_allclose(reading.position / count, np.round(truth.position / count), atol=1e-6)
        rate += gain * ((reading.position - before) / T - rate)
        assert_allclose(reading.velocity, rate, rtol=1e-3, atol=1e-12)  # the cutoff is given in Hz, with four digits
        before = reading.position.copy()
    assert np.abs(rate).max() > 0.05


def test_the_measured_tool_is_that_of_the_measured_joints() -> None:
    device = make()
    for _ in range(900):
        device.write(weight(device))
    reading = device.read()
    p, R = device.mechanism.forward_kinematics(reading.position, device.mechanism.home)
    J = device.mechanism.jacobian(reading.position)
    assert_allclose(reading.tool_pose[:3], p, atol=1e-12)
    assert_allclose(rotation_from_quaternion(reading.tool_pose[3:]), R, atol=1e-12)
    assert_allclose(device.jacobian(), J, atol=1e-9)
    assert_allclose(reading.tool_twist, J @ reading.velocity, atol=1e-12)
    assert not device.has_force_sensor and not reading.tool_wrench.any()
    # half a count in every joint moves the tool by less than this
    assert np.linalg.norm(p - device.truth().tool_pose[:3]) < 0.5 * 3.84e-5 * np.abs(J[:3]).sum()


# ---- hand -----------------------------------------------------------------------------------------


def test_an_unpowered_tool_hangs_in_the_hand() -> None:
    """At rest the hand carries what the mechanism weighs at that pose, by its springs."""
    device = make(hand_parameters=QUIET)
    start = device.hand.table[0, POSITION].copy()
    device.hand.table[:, POSITION], device.hand.table[:, TWIST] = start, 0.0
    device.hand.table[:, WRENCH] = 0.0
    device.hand.table[:, GRIP] = 1.0
    for _ in range(1500):
        device.write(np.zeros(6))
    truth = device.truth()
    d = device.mechanism.dynamics(truth.tool_pose[:3], rotation_from_quaternion(truth.tool_pose[3:]))
    assert np.abs(truth.tool_twist).max() < 1e-4
    assert_allclose(truth.tool_wrench, d.gravity_force, atol=1e-3)  # 1e-4 of the weight, creeping on smooth friction
    assert_allclose(400.0 * (start - truth.tool_pose[:3]), d.gravity_force[:3], atol=1e-3)


def test_the_hand_s_mass_moves_with_the_tool() -> None:
    """A push from rest accelerates tool and hand by force over both masses, at once."""
    for mass in (0.0, 0.2):
        device = make(
            hand_parameters=[
                *QUIET,
                f"mass={mass}",
                "stiffness=0",
                "damping=0",
                "rotational_stiffness=0",
                "rotational_damping=0",
                "rotational_inertia=0",
            ],
            device_parameters=["friction.viscous_actuated=0", "friction.coulomb_actuated=0"],
        )
        device.hand.table[:, WRENCH] = 0.0
        device.hand.table[:, FORCE][:, 2] = -2.0
        M = device.mechanism.dynamics(device.truth().tool_pose[:3]).mass_matrix + np.diag([mass] * 3 + [0.0] * 3)
        expected = np.linalg.solve(M, [0.0, 0.0, -2.0, 0.0, 0.0, 0.0])
        device.write(weight(device))
        assert_allclose(device.truth().tool_twist, T * expected, atol=2e-5)  # 1 ms of motion turns it a little
        felt = -2.0 - mass * device.truth().tool_twist[2] / T
        assert device.truth().tool_wrench[2] == pytest.approx(felt, abs=1e-9)


def test_a_hand_that_has_let_go_is_not_felt() -> None:
    device = make()
    (phase,) = (phase for phase in device.hand.plan.phases if phase.name == "let go")
    device._period_number = round(phase.start / T)
    for _ in range(round((phase.end - phase.start) / T)):
        device.write(weight(device))
        assert not device.truth().tool_wrench.any()
    device.write(weight(device))
    device.write(weight(device))
    assert device.truth().tool_wrench.any()


@pytest.mark.parametrize("motion", WALL_MOTIONS)
def test_plans_are_continuous_and_stay_in_the_workspace(motion: str) -> None:
    plan = make_wall_plan(motion, T)
    table = plan.table
    assert_allclose(np.linalg.norm(table[:, QUATERNION], axis=1), 1.0)
    assert np.abs(table[:, POSITION]).max() < 0.025
    # no faster than a tap, and a phase begins where the last one ended
    step = np.linalg.norm(np.diff(table[:, POSITION], axis=0), axis=1)
    assert step.max() < 1.05 * TAP_SPEED * T
    velocity = np.gradient(table[:, POSITION], T, axis=0)
    inner = np.ones(len(table), dtype=bool)
    for phase in plan.phases:
        inner[max(0, round(phase.start / T) - 2) : round(phase.start / T) + 2] = False
    inner[-2:] = False
    assert_allclose(velocity[inner], table[inner][:, TWIST.start : TWIST.start + 3], atol=5e-3)
    assert ((table[:, GRIP] >= 0.0) & (table[:, GRIP] <= 1.0)).all()
    assert plan.phases[0].start == 0.0 and plan.duration == pytest.approx(plan.phases[-1].end)
    if motion not in ("corner", "rough_wall", "touch_world"):
        assert {phase.kind for phase in plan.phases} >= {"tap", "release", "move"}


@pytest.mark.slow
def test_a_tap_reaches_its_speed_when_the_fingers_open() -> None:
    device = make(motion="wall_push", hand_parameters=QUIET)
    (phase,) = (phase for phase in device.hand.plan.phases if phase.name == "tap")
    for _ in range(round(phase.end / T)):
        device.write(weight(device))
    assert -device.truth().tool_twist[2] == pytest.approx(TAP_SPEED, rel=0.05)


# ---- numbers --------------------------------------------------------------------------------------


def play(device: Tau) -> Iterator[bytes]:
    """Each tick of a run: held, pushed, let go, out of both stops, and saturated."""
    for k in range(2600):
        effort = weight(device) + (0.0 if k < 2000 else 1.5 * (1.0 if k % 200 < 100 else -1.0))
        device.write(np.asarray(effort))
        yield np.concatenate([device.read().values, device.truth().values]).tobytes()


def differs(rows: Iterable[bytes], others: Iterable[bytes]) -> bool:
    """Returns whether two runs differ; they are simulated up to the first difference."""
    return any(row != other for row, other in zip_longest(rows, others))


@pytest.fixture(scope="module")
def reference() -> list[bytes]:
    return list(play(make()))


MECHANICAL = ("platform.mass=0.15", "friction.coulomb_actuated=0.01", "encoders.joint_resolution=1.0e-4",
              "actuators.rotor_inertia=3.0e-6", "frame.gravity=[0.0, -9.7, 0.0]")  # fmt: skip
DRIVER = [f"{name}={0.9 * value}" for name, value in yaml.safe_load(tau.DEFAULT_FILE.read_text()).items()]
HAND = [f"{name}={0.9 * value}" for name, value in yaml.safe_load(factories.FINGERS_FILE.read_text()).items()]


def test_the_reference_repeats(reference: list[bytes]) -> None:
    assert list(play(make())) == reference


@pytest.mark.parametrize("entry", [*MECHANICAL, *(e for e in DRIVER if e.startswith("velocity_cutoff"))])
def test_every_number_of_the_device_acts(reference: list[bytes], entry: str) -> None:
    assert differs(play(make(device_parameters=[entry])), reference)


#: stops that the run comes to
NARROW = {"range_translation": 0.012, "range_rotation": 0.02}


@pytest.fixture(scope="module")
def narrow_reference() -> list[bytes]:
    return list(play(make(device_parameters=[f"{name}={value}" for name, value in NARROW.items()])))


@pytest.mark.slow
@pytest.mark.covering(3)
@pytest.mark.parametrize("entry", [e for e in DRIVER if e.startswith(("range", "stop"))])
def test_every_number_of_the_stops_acts(narrow_reference: list[bytes], entry: str) -> None:
    name, _, value = entry.partition("=")
    numbers = {**NARROW, name: 0.9 * NARROW[name] if name in NARROW else float(value)}
    assert differs(play(make(device_parameters=[f"{n}={v}" for n, v in numbers.items()])), narrow_reference)


@pytest.mark.parametrize("entry", HAND)
def test_every_number_of_the_hand_acts(reference: list[bytes], entry: str) -> None:
    assert differs(play(make(hand_parameters=[entry])), reference)


@pytest.mark.parametrize("values", [{"seed": 1}, {"motion": "corner"}, {"held": False}])
def test_every_hand_parameter_of_the_node_changes_the_motion(reference: list[bytes], values: dict[str, Any]) -> None:
    assert differs(play(make(**values)), reference)


def test_the_safety_layer_s_limits_are_those_of_the_files() -> None:
    limits = alone("velocity_limit=7", "effort_rate_limit=300", "workspace=0.03").limits()
    assert {*limits.velocity} == {7.0} and {*limits.effort_rate} == {300.0}
    assert limits.workspace == ((-0.03,) * 3, (0.03,) * 3)
    assert {*limits.effort} == {alone().mechanism.peak_torque}


def test_numbers_are_declared_with_the_files() -> None:
    assert len(DRIVER) == len(TauDriverParameters.model_fields)
    assert len(HAND) == len(SpatialHandParameters.model_fields)


def test_a_mechanism_of_one_s_own(tmp_path: Path) -> None:
    document = TauDevice.default().parameters.model_dump(mode="json")
    document["platform"]["mass"] = 0.2
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump(document))
    assert make(device_file=str(file)).mechanism.parameters.platform.mass == 0.2
    entries = ["platform.mass=0.3", "velocity_limit=9"]
    device = make(device_file=str(file), device_parameters=entries)
    assert (device.mechanism.parameters.platform.mass, device.parameters.velocity_limit) == (0.3, 9.0)
    assert device.description()["mechanism"]["platform"]["mass"] == 0.3


SUBJECT = "parameters device_file, device_parameters: "


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"device_parameters": ["platform.mass=-1"]}, SUBJECT + r".*platform\.mass: .*greater than 0.*, got -1"),
        ({"device_parameters": ["platform.colour=1"]}, SUBJECT + r"entry 'platform\.colour=1': expected section\.name"),
        ({"device_parameters": ["colour=red"]}, SUBJECT + "entry 'colour=red': extra inputs are not permitted"),
        ({"device_parameters": ["velocity_cutoff=0"]}, SUBJECT + "entry 'velocity_cutoff=0': .*greater than 0"),
        ({"device_parameters": ["velocity_cutoff"]}, SUBJECT + "entry 'velocity_cutoff': expected name=value"),
        ({"device_file": "/no/file.yaml"}, SUBJECT + r"/no/file\.yaml: cannot be read"),
        ({"motion": "letters"}, "parameter motion: expected one of wall_push, wall_tour, .* got 'letters'"),
        ({"hand_parameters": ["mass=-1"]}, "parameter hand_parameters: entry 'mass=-1': "),
    ],
)
def test_unusable_parameters_are_refused_in_one_line(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match="^" + message) as caught:
        make(**values)
    assert "\n" not in str(caught.value)


def test_a_period_that_is_too_long_or_another_than_the_plan_s_is_refused() -> None:
    device = factories.tau(check_all(SPECS, {"device": "tau", "motion": "wall_push"}))
    with pytest.raises(ValueError, match=r"^period: the hand's plan has 0\.001 s, got 0\.002 s$"):
        device.configure(2e-3)
    with pytest.raises(ValueError, match=r"^period: expected .* s or less, so that 50 steps follow friction"):
        alone_of = factories.tau(check_all(SPECS, {"device": "tau", "held": False}))
        alone_of.configure(0.1)


def test_a_place_out_of_reach_is_refused() -> None:
    device = factories.tau(check_all(SPECS, {"device": "tau", "motion": "wall_push"}))
    device.hand.table[0, 0] = 0.3
    with pytest.raises(ValueError, match=r"^the hand's plan starts out of reach: .* chain "):
        device.configure(T)
