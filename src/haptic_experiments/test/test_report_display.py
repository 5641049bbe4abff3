"""What the reports of the constrained mechanisms share: rows, frames, delays, and mechanisms of one's own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from admittance_constraints import (
    AdmittanceController,
    DisplayTransform,
    ReferenceGenerator,
    RollingDisk,
    load_mechanism,
)
from admittance_constraints.display.feedback import PIDFeedback
from haptic_bags.bags import Bag, Event
from haptic_core.errors import HapticError
from haptic_experiments.experiments import disk_on_sphere, rolling_disk, two_link_circle
from haptic_experiments.kit import display
from haptic_experiments.kit.display import DisplayRun
from haptic_experiments.kit.signals import Spread

#: period (s) and number of ticks
T, N = 1e-3, 400
STATE = "/cobotic_hand_controller/constraints/state"

Coordinates = tuple[np.ndarray, np.ndarray]


def motion(offset: float = 0.0) -> Coordinates:
    """All six coordinates move at constant rates, none through a singular place; x1 shifted by an offset [m]."""
    rate = np.array([0.05, -0.02, 0.03, 0.8, -0.5, 0.3])
    x = np.array([0.01, 0.02, -0.03, 0.4, 0.1, 1.2]) + T * np.arange(N)[:, None] * rate
    x[:, 0] += offset
    return x, np.tile(rate, (N, 1))


def random_place() -> dict[str, Any]:
    random = np.random.default_rng(7)
    frame, tool = Rotation.random(2, random_state=3).as_quat()
    return {
        "frame_position": random.uniform(-0.1, 0.1, 3).tolist(),
        "frame_orientation": frame.tolist(),
        "tool_orientation": tool.tolist(),
    }


# ---- frames ---------------------------------------------------------------------------------------


def test_recorded_display_motion_becomes_the_motion_of_the_virtual_tool(display_bag: Callable[..., Bag]) -> None:
    measured, true, reference = motion(), motion(1e-3), motion(2e-3)
    wrench = np.random.default_rng(0).normal(size=(N, 6))
    bag = display_bag("RollingDisk", measured, true=true, reference=reference, wrench=wrench, **random_place())
    run = DisplayRun.from_bag(bag)
    np.testing.assert_array_equal(run.time, T * np.arange(1, N))  # nothing was due at tick 0
    for path, (x, xdot) in ((run.measured, measured), (run.true, true), (run.reference, reference)):
        np.testing.assert_allclose(path.position, x[1:, :3], atol=1e-15)
        turn = Rotation.from_euler("ZXZ", x[1:, [3, 5, 4]])
        assert np.abs((turn.inv() * path.rotation).magnitude()).max() < 1e-15
        np.testing.assert_allclose(path.velocity, xdot[1:, :3], atol=1e-15)
        # angular velocity against the difference of the orientation over two periods: its square is 2e-6 of it
        change = (turn[2:] * turn[:-2].inv()).as_rotvec() / (2.0 * T)
        np.testing.assert_allclose(path.angular_velocity[1:-1], change, atol=1e-6)
    np.testing.assert_allclose(run.wrench, wrench[1:], atol=1e-14)
    np.testing.assert_allclose(run.tracking_error, 2e-3, rtol=1e-12)


def test_the_frames_are_those_of_the_controller(display_bag: Callable[..., Bag]) -> None:
    place = random_place()
    bag = display_bag("RollingDisk", motion(), wrench=np.ones((N, 6)), **place)
    run = DisplayRun.from_bag(bag)
    placement = DisplayTransform(*(place[name] for name in ("frame_position", "frame_orientation", "tool_orientation")))
    device = bag.topics["/cobotic_hand_controller/device_state"]
    for row in (0, 150, N - 2):
        position, quaternion = placement.inside(device["tool_pose"][row + 1])
        np.testing.assert_allclose(run.measured.position[row], position, atol=1e-15)
        assert abs(quaternion @ run.measured.rotation[row].as_quat()) == pytest.approx(1.0, abs=1e-15)
        np.testing.assert_allclose(run.wrench[row], placement.wrench(device["tool_wrench"][row + 1]), atol=1e-14)
        twist = np.concatenate((run.measured.velocity[row], run.measured.angular_velocity[row]))
        np.testing.assert_allclose(placement.vector(twist), device["tool_twist"][row + 1], atol=1e-15)


def test_the_turning_error_is_the_angle_between_the_orientations(display_bag: Callable[..., Bag]) -> None:
    x, xdot = motion()
    turned = x + np.array([0.0, 0.0, 0.0, 0.0, 0.25, 0.0])  # about the tool's own axis
    run = DisplayRun.from_bag(display_bag("RollingDisk", (turned, xdot), reference=(x, xdot), **random_place()))
    np.testing.assert_allclose(run.turning_error, 0.25, rtol=1e-12)
    np.testing.assert_allclose(run.tracking_error, 0.0, atol=1e-15)


# ---- which reference a tick is compared with ------------------------------------------------------


def rendered(feedback: str, delay: int) -> tuple[dict[str, np.ndarray], float]:
    """Loop of controller and an ideal display that is where the motion commanded `delay` + 1 ticks before takes it.

    Returns:
        What the bag has of device and reference, and the largest correction that the feedback made.
    """
    node = feedback == "node"
    gains = {"proportional": 1875.0, "integral": 15625.0, "derivative": 75.0}
    generator = ReferenceGenerator(RollingDisk(), period=T)
    controller = AdmittanceController(generator, feedback=PIDFeedback(period=T, **gains) if node else None)
    start = np.array([0.0, 0.0, 0.03, np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)])  # upright, heading along x
    wrench, poses, motions, correction = np.array([0.5, 0.1, 0.0, 0.0, 0.0, 0.01]), [], [], 0.0
    for k in range(N):
        due = motions[k - 1 - delay].pose if k > delay else start
        poses.append(due.copy())
        command = controller.step(due, wrench)
        assert controller.motion is not None
        motions.append(controller.motion)
        correction = max(correction, float(np.abs(command.twist - controller.motion.twist).max()))
    return {"measured": np.array(poses), "pose": np.array([m.pose for m in motions])}, correction


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mechanisms of files stand for those of installed packages, from which alone a report takes them."""
    monkeypatch.setattr(display, "installed_mechanism", load_mechanism)


@pytest.mark.parametrize(("feedback", "delay"), [("node", 0), ("device", 0), ("device", 3)])
def test_display_that_follows_its_command_has_no_error(
    feedback: str, delay: int, display_bag: Callable[..., Bag]
) -> None:
    loop, correction = rendered(feedback, delay)
    assert correction < 1e-12  # the controller finds no error either
    bag = display_bag("RollingDisk", motion(), feedback=feedback, delay=delay)
    bag.topics["/cobotic_hand_controller/device_state"]["tool_pose"] = loop["measured"]
    bag.topics[STATE]["pose"] = loop["pose"]
    run = DisplayRun.from_bag(bag)
    assert run.tracking_error.max() < 1e-15 and run.turning_error.max() < 1e-15
    assert np.ptp(run.measured.position[:, 0]) > 1e-3 and len(run.time) == N - 1 - delay


@pytest.mark.parametrize(
    ("mode", "feedback", "delay", "lag"),
    [
        ("lockstep", "node", 0, 1),
        ("realtime", "node", 0, 1),
        ("lockstep", "node", 4, 1),  # the node's feedback knows nothing of the delay, and works against it
        ("lockstep", "device", 4, 5),
        ("realtime", "device", 2, 3),
    ],
)
def test_the_reference_of_a_tick_is_what_was_due_then(
    mode: str, feedback: str, delay: int, lag: int, display_bag: Callable[..., Bag]
) -> None:
    bag = display_bag("RollingDisk", motion(), mode=mode, feedback=feedback, delay=delay)
    pose = bag.topics[STATE]["pose"]
    pose[:, 0] = np.arange(N)
    run = DisplayRun.from_bag(bag)
    ticks = np.round(run.time / T)
    assert ticks[0] == lag and ticks[-1] == N - 1
    np.testing.assert_array_equal(run.reference.position[:, 0], ticks - lag)


def test_ticks_that_a_topic_misses_are_left_out(display_bag: Callable[..., Bag]) -> None:
    bag = display_bag("RollingDisk", motion(), missed=(5, 6, 200), mode="realtime")
    truth = bag.topics["/cobotic_hand_controller/simulation_state"]
    for name in list(truth):
        truth[name] = np.delete(truth[name], [0, 50], axis=0)
    run = DisplayRun.from_bag(bag)
    ticks = np.round(run.time / T).astype(int)
    np.testing.assert_array_equal(ticks, np.setdiff1d(np.arange(1, N), (6, 7, 201, 50)))
    for path in (run.measured, run.true, run.reference):
        np.testing.assert_allclose(path.position, motion()[0][ticks, :3], atol=1e-15)
    np.testing.assert_allclose(run.state["q"], motion()[0][ticks])


def test_the_way_to_the_mechanism_is_not_a_motion_of_it(display_bag: Callable[..., Bag]) -> None:
    run = DisplayRun.from_bag(display_bag("RollingDisk", motion(), led=100, refused=7))
    assert run.time[0] == pytest.approx(101 * T) and run.tracking_error.max() < 1e-15
    numbers = run.common_numbers()
    assert (numbers.ticks, numbers.led_ticks, numbers.refused_ticks) == (N - 101, 100, 7)


def test_the_way_back_after_a_stop_is_not_either(display_bag: Callable[..., Bag]) -> None:
    bag = display_bag("RollingDisk", motion())
    state = bag.topics[STATE]
    state["q_velocity"][50:80] = 0.0  # at rest, but the tool is moved
    state["pose"][50:80, 2] += 0.1
    state["q_velocity"][90:95] = state["twist"][90:95] = 0.0  # waits: that is the mechanism's motion
    run = DisplayRun.from_bag(bag)
    np.testing.assert_array_equal(np.round(run.time / T), np.setdiff1d(np.arange(1, N), np.arange(51, 81)))
    assert run.tracking_error.max() < 1e-15


def test_safe_state_is_left_out_and_reported(display_bag: Callable[..., Bag]) -> None:
    phases = [{"name": "push sideways", "kind": "push", "start": 0.2, "end": 0.38}]
    bag = display_bag("RollingDisk", motion(), stopped=slice(300, None), led=100, phases=phases)
    run = DisplayRun.from_bag(bag)
    np.testing.assert_array_equal(np.round(run.time / T), np.arange(101, 300))
    assert run.common_numbers().stopped_ticks == N - 300
    assert run.left_out == " Left out: 100 ticks on the way to the mechanism and 100 ticks in the safe state."
    report = rolling_disk.analyse({"bag": bag})
    assert report.caption.endswith(run.left_out)
    assert report.claims[-1].shown is None  # the push is not to its end
    assert DisplayRun.from_bag(display_bag("RollingDisk", motion())).left_out == ""


def test_bags_without_a_motion_are_refused_in_one_line(display_bag: Callable[..., Bag]) -> None:
    with pytest.raises(HapticError, match=r"^runs/x/bag: no report: the mechanism did not start; [^\n]*$"):
        DisplayRun.from_bag(display_bag("RollingDisk", motion(), led=N))
    short = tuple(part[:2] for part in motion())
    with pytest.raises(HapticError, match=r"^runs/x/bag: too short for a report \(1 ticks that all topics have\)$"):
        DisplayRun.from_bag(display_bag("RollingDisk", short))


def test_phases_name_the_ticks(display_bag: Callable[..., Bag]) -> None:
    phases = [
        {"name": "push sideways", "kind": "push", "start": 0.1, "end": 0.2},
        {"name": "pull", "kind": "push", "start": 0.3, "end": 5.0},
    ]
    run = DisplayRun.from_bag(display_bag("RollingDisk", motion(), phases=phases))
    ticks = np.round(run.time / T).astype(int)
    np.testing.assert_array_equal(ticks[run.during("push")], [*range(100, 200), *range(300, N)])
    np.testing.assert_array_equal(ticks[run.named("push", "x")], np.arange(100, 200))
    assert not run.during("release").any() and not run.named("sideways").any()
    untold = DisplayRun.from_bag(display_bag("RollingDisk", motion()))
    assert untold.phases == [] and not untold.during("push").any()


def test_the_hand_acts_where_its_wrench_is_not_zero(display_bag: Callable[..., Bag]) -> None:
    acts = np.arange(N) % 3 == 0
    run = DisplayRun.from_bag(display_bag("RollingDisk", motion(), touched=acts))
    np.testing.assert_array_equal(run.touched, acts[1:])


def test_spread_is_rms_quantile_and_largest() -> None:
    values = np.concatenate((np.full(990, -3.0), np.full(10, 5.0)))
    found = Spread.of(values)
    assert found.rms == pytest.approx(np.sqrt(0.99 * 9.0 + 0.01 * 25.0))
    assert found.p99 == pytest.approx(3.0, abs=0.1) and found.largest == 5.0


# ---- mechanisms -----------------------------------------------------------------------------------

BEAD = """
import casadi as ca
from admittance_constraints import Definition, Mechanism

class Bead(Mechanism):
    def __init__(self, *, radius=0.05):
        self.radius = radius
        super().__init__()

    def define(self, d: Definition) -> None:
        r = d.parameter("radius", self.radius)
        q, qdot = d.coordinates(2)
        d.forward(q)
        d.inverse(d.x[:2])
        d.kinetic_energy(0.2 * ca.sumsqr(qdot) / 2)
        d.holonomic("on the circle", (d.x[0] ** 2 + d.x[1] ** 2 - r**2) / (2 * r))
        z = d.parameters(1)
        d.parametrisation([r * ca.cos(z), r * ca.sin(z)])
"""


@pytest.fixture
def bead(tmp_path: Path) -> str:
    path = tmp_path / "bead.py"
    path.write_text(BEAD)
    return str(path)


def round_a_circle() -> tuple[Coordinates, dict[str, np.ndarray]]:
    x, xdot, angle = np.zeros((N, 6)), np.zeros((N, 6)), 3.0 * T * np.arange(N)
    x[:, 0], x[:, 1] = 0.04 * np.cos(angle), 0.04 * np.sin(angle)
    xdot[:, 0], xdot[:, 1] = -0.12 * np.sin(angle), 0.12 * np.cos(angle)
    numbers = {"q": x[:, :2], "q_velocity": xdot[:, :2], "kinetic_energy": np.full(N, 0.1 * 0.12**2)}
    return (x, xdot), numbers


@pytest.mark.parametrize("module", [rolling_disk, disk_on_sphere, two_link_circle])
@pytest.mark.parametrize(("residual", "shown"), [(0.0, True), (9e-13, True), (1.1e-12, False)])
def test_another_mechanism_gets_the_general_report(
    module: Any, residual: float, shown: bool, bead: str, display_bag: Callable[..., Bag]
) -> None:
    (x, xdot), numbers = round_a_circle()
    numbers["constraint_residual"] = np.where(np.arange(N) == 300, -residual, 0.0)
    node = {"mechanism_parameters": ["radius=0.04"], "numbers": numbers}
    beside = (x + np.array([3e-4, 0.0, -4e-4, 0.0, 0.0, 2e-3]), xdot)
    bag = display_bag(bead, beside, reference=(x, xdot), stopped=slice(350, None), refused=3, **node)
    report = module.analyse({"bag": bag})
    assert [claim.shown for claim in report.claims] == [None]  # the safe state leaves too little to judge
    whole = module.analyse({"bag": display_bag(bead, beside, reference=(x, xdot), **node)})
    assert [claim.shown for claim in whole.claims] == [shown]
    assert "at most 0.5 mm and 2 mrad from it; 3 steps refused. Left out: 50 ticks in" in report.claims[0].measured
    found = report.metrics["runs"]["bag"]
    assert found["tracking_error"]["rms"] == pytest.approx(5e-4) and found["holonomic_residual"] == residual
    assert report.parameters["constraints"]["mechanism"] == bead
    json.dumps(report.metrics, allow_nan=False)
    report.figure.canvas.draw()
    assert len(report.figure.axes) == 3


def test_a_mechanism_beside_the_paper_s_makes_the_report_general(display_bag: Callable[..., Bag]) -> None:
    bags = {"bag": display_bag("RollingDisk", motion()), "bag_b": display_bag("DiskOnSphereAsPrinted", motion())}
    assert len(rolling_disk.analyse(bags).claims) == 2
    printed = display_bag("DiskOnSphereAsPrinted", motion())  # is not tangent: Fig. 11B does not apply
    assert len(disk_on_sphere.analyse({"bag": printed}).claims) == 1


def test_parameters_of_the_mechanism_reach_the_report(display_bag: Callable[..., Bag]) -> None:
    bag = display_bag("RollingDisk", motion(), mechanism_parameters=["radius=0.05", "", "mass=0.3"])
    found = DisplayRun.from_bag(bag).mechanism
    assert isinstance(found, RollingDisk) and (found.radius, found.mass) == (0.05, 0.3)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda path: path.unlink(), "mechanism file .*bead.py: cannot be read: No such file"),
        (lambda path: path.write_text("import nothing_like_it"), "line 1: ModuleNotFoundError"),
        (lambda path: path.write_text("x = (1,\n  2"), "line [12]: SyntaxError"),
        (lambda path: path.write_text("raise ValueError('one\\ntwo')"), "line 1: ValueError"),
        (lambda path: path.write_text(BEAD.replace("*, radius=0.05", "").replace("radius\n", "0.05\n")), "unexpected"),
        (lambda path: path.write_text(BEAD.replace("(2 * r))", "(2 * r) + 1e-3)")), "on the circle"),
    ],
    ids=["gone", "import", "syntax", "two lines", "argument", "contradiction"],
)
def test_mechanism_that_no_longer_exists_is_reported_in_one_line(
    spoil: Callable[[Path], Any], words: str, bead: str, display_bag: Callable[..., Bag]
) -> None:
    reference, numbers = round_a_circle()
    bag = display_bag(bead, reference, numbers=numbers, mechanism_parameters=["radius=0.04"])
    assert DisplayRun.from_bag(bag).mechanism.dimension == 2
    spoil(Path(bead))
    with pytest.raises(HapticError, match=f"^the run's mechanism cannot be made for the report: .*{words}") as caught:
        display.mechanism_of(bag.parameters("constraints"))
    assert "\n" not in str(caught.value)


def test_claims_are_not_judged_when_parameters_changed_during_the_run(display_bag: Callable[..., Bag]) -> None:
    bag = display_bag("RollingDisk", motion())
    assert len(rolling_disk.analyse({"bag": bag}).claims) > 1
    bag.events.append(Event(7, "constraints", "parameter", {"force_deadband": 0.2}))
    (claim,) = rolling_disk.analyse({"bag": bag}).claims
    assert claim.measured.endswith("Changed during the run: force_deadband.")
