"""The page of a recorded run: the messages of a moment, the curves, the playhead, two runs beside each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recorded_gui import Gui
from replay_bags import FRICTION_STATE, event, wire, write_bag

from haptic_bags.bags import BagError
from haptic_bags.recording import DEVICE_COMMAND, DEVICE_STATE, SIMULATION_STATE
from haptic_core.errors import InputError
from haptic_core.parameters import load_parameter_specs
from haptic_launch.runner import UsageError
from haptic_msgs.msg import BodyStates, Scene, WallState
from haptic_viewer.curves import Curves
from haptic_viewer.page import open_page
from haptic_viewer.playback import Playback, Playhead, RunsDifferError
from haptic_viewer.plots import SIGNALS
from haptic_viewer.recorded_bodies import RecordedBodies
from haptic_viewer.recorded_run import RecordedRun
from haptic_viewer.recorded_walls import RecordedWalls
from haptic_viewer.run_curves import RunCharts, short_names

TICKS, SCENE, BODIES = 50, "haptic_msgs/msg/Scene", "haptic_msgs/msg/BodyStates"


def recorded(folder: Path, name: str, *, speed: float = 1.0, frame: str = "joystick_base", ticks: int = TICKS) -> Path:
    """A run in which the tool moves along x at a speed [m/s] and friction is 2 N, rendered as a wrench by two nodes."""
    parameters = {"device": "none", "sources": ["friction", "lower"], "period": 0.001}
    run = [
        event(0, "friction", "state", state="active", mode="WRENCH", parameters={"axes": ["along", "across"]}),
        event(0, "device", "state", state="active", base_frame=frame, up_axis="z", parameters=parameters),
    ]
    for k in range(ticks):
        tool = {"tool_pose__position__x": 1e-3 * k * speed, "tool_pose__orientation__w": 1.0, "has_force_sensor": True}
        run.append(("/joystick/device_state", DEVICE_STATE, k, wire(DEVICE_STATE, k, period=0.001, **tool)))
        force = {"operator_wrench__force__x": 0.1 * k}
        run.append(("/joystick/simulation_state", SIMULATION_STATE, k, wire(SIMULATION_STATE, k, **force)))
        friction = wire(FRICTION_STATE, k, force=np.array([2.0, 0.0]), elastic_displacement=np.array([1e-4, 0.0]))
        run.append(("/joystick/friction/state", FRICTION_STATE, k, friction))
        for source, part in (("friction", -2.0), ("lower", 0.5)):
            command = wire(DEVICE_COMMAND, k, source=source, mode=2, tool_wrench__force__x=part)
            run.append(("/joystick/device_command", DEVICE_COMMAND, k, command))
    return write_bag(folder / name / "bag", run, experiment="friction_impedance", mode="lockstep").parent


def test_a_moment_has_the_newest_messages_and_the_sum_of_the_commanded_wrenches(tmp_path: Path) -> None:
    run = RecordedRun(recorded(tmp_path, "first"))
    assert (run.name, run.prefix, run.start, run.end) == ("first", "/joystick/", 0.0, pytest.approx(0.049))
    messages = run.at(0.0203)
    assert next(iter(messages)) == "/joystick/device_state"  # what the others refer to
    assert messages["/joystick/device_state"].tick == 20
    assert messages["/joystick/simulation_state"].operator_wrench.force.x == pytest.approx(2.0)
    assert messages["/joystick/rendered_wrench"].wrench.force.x == -1.5
    assert messages["/joystick/rendered_wrench"].header.frame_id == "joystick_base"
    assert "/joystick/joint_states" not in messages  # a device that is not installed is not drawn
    assert run.at(1.0)["/joystick/device_state"].tick == TICKS - 1
    assert run.at(-1.0) == {}


def test_a_signal_has_no_values_outside_the_run(tmp_path: Path) -> None:
    run = RecordedRun(recorded(tmp_path, "first"))
    (tool,) = SIGNALS[DEVICE_STATE]
    table = run.signal("/joystick/device_state", tool, np.array([0.0, 0.04, 0.06]))
    np.testing.assert_allclose(table[:, 0], [0.0, 40.0, np.nan])
    assert len(run.path(np.array([0.0, 0.04, 0.06]))) == 2


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda folder: folder / "none", "no such bag"),
        (lambda folder: folder, "not a readable bag"),
        (lambda folder: write_bag(folder / "bag", [("/a", FRICTION_STATE, 0, wire(FRICTION_STATE, 0))]), "no run of"),
    ],
)
def test_directory_without_a_run_is_one_error_with_its_path(tmp_path: Path, make: Any, said: str) -> None:
    with pytest.raises(BagError, match=said) as caught:
        RecordedRun(make(tmp_path))
    assert str(tmp_path) in str(caught.value) and caught.value.hint


def test_the_playhead_plays_at_its_speed_stops_at_the_end_and_begins_anew() -> None:
    now = [10.0]
    playhead = Playhead(0.0, 4.0, lambda: now[0])
    now[0] = 11.0
    assert playhead.moment == 0.0
    playhead.toggle()
    now[0] = 12.0
    assert playhead.moment == 1.0
    playhead.set_speed(0.5)
    now[0] = 13.0
    assert playhead.moment == 1.5
    playhead.go_to(3.0)
    now[0] = 14.0
    assert playhead.moment == 3.5 and playhead.plays
    now[0] = 20.0
    assert playhead.moment == 4.0 and not playhead.plays
    playhead.toggle()
    assert playhead.moment == 0.0 and playhead.plays
    playhead.go_to(9.0)
    assert playhead.moment == 4.0


class Charts(Gui):
    """Keeps charts by their title."""

    def add_uplot(self, data: Any, series: Any, title: str, **options: Any) -> Any:
        self.made[title] = made = type("Chart", (), {"data": data, "labels": [one["label"] for one in series]})()
        made.strokes = [one.get("stroke") for one in series]
        return made


@pytest.mark.slow
def test_charts_of_two_runs_have_one_time_axis_and_curves_named_after_the_runs(tmp_path: Path) -> None:
    runs = [
        RecordedRun(recorded(tmp_path, "20260101-120000-slide")),
        RecordedRun(recorded(tmp_path, "20260101-130000-slide", speed=2.0, ticks=2 * TICKS)),
    ]
    assert short_names(runs) == ["120000", "130000"]
    gui = Charts()
    charts = RunCharts(gui, Gui(), runs, Curves())  # type: ignore[arg-type]
    tool = gui.made["position of the tool [mm]"]
    assert tool.labels == ["t [s]", *(f"{axis}, {run}" for run in ("120000", "130000") for axis in "xyz"), "moment"]
    assert len(set(tool.strokes[1:])) == 7
    charts.show(0.02)
    times, first, second, line = (tool.data[n] for n in (0, 1, 4, 7))
    assert times[-1] == pytest.approx(0.099) and np.all(np.diff(times) >= 0.0)
    np.testing.assert_allclose(first[times < 0.049], 1e3 * times[times < 0.049], atol=1.1)  # one tick is 1 mm
    assert np.isnan(first[times > 0.051]).all()
    np.testing.assert_allclose(second, 2e3 * times, atol=2.1)
    np.testing.assert_array_equal(times[np.isfinite(line)], [0.02, 0.02])
    assert np.nanmin(line) < 0.0 and np.nanmax(line) > 198.0


def test_a_run_with_another_base_frame_is_not_shown_beside(tmp_path: Path) -> None:
    runs = [RecordedRun(recorded(tmp_path, name, frame=f"{name}_base")) for name in ("tau", "joystick")]
    server = open_page("127.0.0.1", 0, "")
    try:
        with pytest.raises(RunsDifferError, match="joystick: expected the base frame tau_base of tau"):
            Playback(server, runs)
    finally:
        server.stop()


def test_the_page_shows_a_moment_with_both_tools_and_names_what_it_cannot_show(tmp_path: Path) -> None:
    runs = [RecordedRun(recorded(tmp_path, "first")), RecordedRun(recorded(tmp_path, "second", speed=2.0))]
    server = open_page("127.0.0.1", 0, "")
    try:
        playback = Playback(server, runs)
        playback.playhead.go_to(0.04)
        playback.frame()
        balls = [path._ball.sent("position") for path in playback._paths]
        np.testing.assert_allclose(balls, [[0.04, 0.0, 0.0], [0.08, 0.0, 0.0]], atol=1e-9)
        np.testing.assert_allclose(playback._picture.tool[:3], [0.04, 0.0, 0.0])
        assert playback._picture.felt == 1.5 and not playback._errors
        playback._guarded("a topic", lambda: 1 / 0)
        assert playback._errors == {"a topic": "not shown: a topic: division by zero"}
    finally:
        server.stop()


def test_recorded_bodies_stand_in_the_base_frame_at_the_scale_of_their_node() -> None:
    scene = Scene(name=["ball", "table"], shape=[Scene.SHAPE_SPHERE, Scene.SHAPE_HALF_SPACE], mass=[0.1, 0.0])
    scene.size = [0.04, 0.0, 0.0, 0.0, 0.0, 0.0]
    bodies = RecordedBodies(scene, "base", "contact", {"scale": 2.0, "frame_position": [0.0, 0.0, 0.1]})
    states = BodyStates(position=[0.2, 0.0, 0.04, 0.0, 0.0, 0.0], orientation=[0.0, 0.0, 0.0, 1.0] * 2)
    ball, table = bodies.markers(states).markers
    p = ball.pose.position
    assert (ball.header.frame_id, ball.ns, ball.scale.x) == ("base", "contact/ball", pytest.approx(0.04))
    assert (p.x, p.y, p.z) == pytest.approx((0.1, 0.0, 0.12))
    assert table.pose.position.z + 0.5 * table.scale.z == pytest.approx(0.1) and table.scale.x > 0.02
    with pytest.raises(InputError, match="expected 2 poses, got 1"):
        bodies.markers(BodyStates(position=[0.0] * 3, orientation=[0.0] * 4))


def test_recorded_walls_are_plates_at_their_planes_and_small_where_they_touch_a_surface() -> None:
    state = WallState(in_contact=[True, False], point=[0.0, 0.0, 0.01, 0.0, 0.02, 0.0])
    state.normal = [0.0, 0.0, 1.0, 0.0, 1.0, 0.0]
    touched, other = RecordedWalls("base", "wall", {}).markers(state).markers
    assert (touched.header.frame_id, touched.ns, other.ns) == ("base", "wall/wall 1", "wall/wall 2")
    assert touched.pose.position.z + 0.5 * touched.scale.z == pytest.approx(0.01)
    assert touched.color != other.color
    tangent, _ = RecordedWalls("base", "wall", {"inputs": ["touch:planes"]}).markers(state).markers
    assert tangent.scale.x < touched.scale.x
    with pytest.raises(InputError, match="expected 6 numbers of points and of normals, got 6 and 3"):
        RecordedWalls("base", "wall", {}).markers(WallState(in_contact=[True, True], point=[0.0] * 6, normal=[1.0] * 3))
    assert not RecordedWalls("base", "wall", {}).markers(WallState()).markers


def test_a_recorded_parallel_device_has_the_angles_of_all_its_joints(tmp_path: Path) -> None:
    specs = load_parameter_specs(Path(__file__).parents[2] / "haptic_devices/haptic_devices/device_node.yaml")
    parameters = {name: spec.default for name, spec in specs.items()} | {"device": "five_bar", "sources": []}
    parameters |= {"motion": "paper_admittance"}
    state = wire(DEVICE_STATE, 0, period=0.001, joint_position=np.array([0.3, 1.5]), tool_pose__orientation__w=1.0)
    device = event(0, "device", "state", state="active", base_frame="five_bar_base", parameters=parameters)
    run = [device, ("/joystick/device_state", DEVICE_STATE, 0, state)]
    run.append(("/joystick/device_command", DEVICE_COMMAND, 0, wire(DEVICE_COMMAND, 0, source="friction")))
    bag = write_bag(tmp_path / "bag", run, experiment="friction_admittance", mode="lockstep")
    joints = RecordedRun(bag).at(0.0)["/joystick/joint_states"]
    angles = dict(zip(joints.name, joints.position, strict=True))
    assert angles == pytest.approx({"upper_arm": 0.3, "forearm": 1.5, "elbow": 1.2, "coupling_rod": -1.2})


def test_the_command_line_refuses_an_experiment_beside_a_bag() -> None:
    from haptic_bringup.cli import view_recorded

    with pytest.raises(UsageError, match="expected no experiment beside it, got 'tau_wall'"):
        view_recorded(["tau_wall"], Path("run"), None)
    with pytest.raises(UsageError, match="--beside: expected --bag"):
        view_recorded([], None, Path("run"))
