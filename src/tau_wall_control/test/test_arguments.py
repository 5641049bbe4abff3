"""Wrong arguments are refused in one line that names the argument; objects are printed in one line."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tau_wall_control import (
    ControllerFileError,
    HInfinityController,
    HoldingWall,
    MovingPlanes,
    PassiveController,
    Plane,
    PushSimulation,
    TauDevice,
    TauError,
    TauState,
    WallController,
    WallRenderer,
    design_wall_controller,
    linearise,
    penetration_bound,
    simulate_push,
)

DEVICE = TauDevice.default()
CONTROLLER = design_wall_controller(DEVICE, "sopc")
PLANE = Plane(point=(0.0, 0.0, 0.0), normal=(0.0, 0.0, 1.0))
HOME = DEVICE.inverse_kinematics((0.0, 0.0, 0.0))
A_DEVICE = "expected a TauDevice such as TauDevice.default(), got 'tau'"


def push(**options: object) -> object:
    return simulate_push(DEVICE, CONTROLLER, **{"point": (0.0, 0.0, 0.0), "duration": 0.1, **options})


def renderer(**options: object) -> WallRenderer:
    return WallRenderer(CONTROLLER, [PLANE], **options)


def started() -> WallController:
    controller = design_wall_controller(DEVICE, "sopc")
    controller.start((0.0, 0.0, 0.0))
    return controller


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: TauDevice({}), "parameters: expected a TauParameters such as load_parameters(), got {}"),
        (lambda: TauState("tau", (0.0, 0.0, 0.0)), f"device: {A_DEVICE}"),
        (lambda: design_wall_controller("tau"), f"device: {A_DEVICE}"),
        (lambda: linearise("tau", (0.0, 0.0, 0.0)), f"device: {A_DEVICE}"),
        (lambda: simulate_push("tau", CONTROLLER, point=(0.0, 0.0, 0.0)), f"device: {A_DEVICE}"),
        (lambda: push(plant="tau"), f"plant: {A_DEVICE}"),
        (lambda: PassiveController("tau", CONTROLLER), f"device: {A_DEVICE}"),
        (lambda: WallController.load("c.npz", "tau"), f"device: {A_DEVICE}"),
        (
            lambda: simulate_push(DEVICE, "sopc", point=(0.0, 0.0, 0.0)),
            "controller: expected one with period, normal, start, step, got 'sopc'",
        ),
        (lambda: push(force=math.nan), "force: expected a finite number, not negative [N], got nan"),
        (lambda: push(force=-13.0), "force: expected a finite number, not negative [N], got -13.0"),
        (lambda: push(noise=-1.0), "noise: expected a finite number, not negative [N], got -1.0"),
        (lambda: push(duration=0.0), "duration: expected a number above 0 [s], got 0.0"),
        (lambda: push(signal=[1.0, math.nan]), "force: expected finite numbers of shape (2,), got [1.0, nan]"),
        (lambda: push(signal=[]), "force: expected one value or more, got none"),
        (lambda: push(delay=1e-3), "delay: expected 0 or more samples, a whole number, got 0.001"),
        (
            lambda: penetration_bound(DEVICE, (0.0, 0.0, 0.0), delay=0.5),
            "delay: expected 0 or more samples, a whole number, got 0.5",
        ),
        (
            lambda: PassiveController(DEVICE, CONTROLLER, delay=0.5),
            "delay: expected 0 or more samples, a whole number, got 0.5",
        ),
        (lambda: design_wall_controller(DEVICE, "stiff", delay=1.5), "delay: expected 0 to 8 samples, got 1.5"),
        (
            lambda: design_wall_controller(DEVICE, "sopc", weight=1.0),
            "option 'weight': expected one of interpolated, exact_gravity, observer, normal_weight, normal, ",
        ),
        (
            lambda: DEVICE.inverse_kinematics((0.0, 0.0, 0.0), -np.eye(3)),
            "rotation: expected an orthogonal matrix of shape (3, 3) and determinant 1",
        ),
        (
            lambda: DEVICE.inverse_kinematics((0.0, 0.0, 0.0), np.eye(2)),
            "rotation: expected finite numbers of shape (3, 3), got array([[1., 0.], [0., 1.]])",
        ),
        (
            lambda: DEVICE.forward_kinematics(HOME, guess=(0.0, 0.0, 0.0)),
            "guess: expected a pose (position, rotation), got (0.0, 0.0, 0.0)",
        ),
        (
            lambda: TauState(DEVICE, (0.0, 0.0, 0.0)).step(np.zeros(6), np.zeros(6), math.nan),
            "period: expected a finite number [s], got nan",
        ),
        (
            lambda: TauState(DEVICE, (0.0, 0.0, 0.0)).step(np.zeros(6), np.zeros(6), 1.0),
            "the motion from position [0.0, 0.0, 0.0] m leaves the reach of chain 1 within 1 s",
        ),
        (
            lambda: design_wall_controller(DEVICE, "sopc").step(HOME, np.zeros(6)),
            "step: expected start(position) before it, which takes the contact pose",
        ),
        (lambda: started().step(HOME[:5], np.zeros(6)), "theta: expected finite numbers of shape (6,), got array("),
        (lambda: started().step(HOME, [math.nan] * 6), "rate: expected finite numbers of shape (6,), got [nan"),
        (
            lambda: WallRenderer(CONTROLLER, [((0, 0, 0), (0, 0, 1))]),
            "planes: expected a Plane such as Plane(point=(0, 0, 0), normal=(0, 0, 1)), got ((0, 0, 0), (0, 0, 1))",
        ),
        (
            lambda: WallRenderer(DEVICE, [PLANE]),
            "controller: expected a WallController such as design_wall_controller(device), got TauDevice(",
        ),
        (
            lambda: WallRenderer(CONTROLLER, [PLANE], friction=0.3),
            "friction: expected a FrictionLaw such as CoulombLaw(0.3), got 0.3",
        ),
        (
            lambda: HoldingWall(DEVICE, PLANE),
            "controller: expected a WallController such as design_wall_controller(device), got TauDevice(",
        ),
        (lambda: HoldingWall(CONTROLLER, [PLANE]), "plane: expected a Plane such as Plane(point=(0, 0, 0), "),
        (
            lambda: HoldingWall(CONTROLLER, PLANE, release_gap=math.nan),
            "release_gap: expected a number above 0, got nan",
        ),
        (lambda: HoldingWall(CONTROLLER, PLANE, release_gap=-1.0), "release_gap: expected a number above 0, got -1.0"),
        (lambda: renderer(release_gap="a"), "release_gap: expected a number above 0, got 'a'"),
        (lambda: renderer(friction_damping=-1.0), "friction_damping: expected 0 or more, got -1.0"),
        (
            lambda: renderer(longest_saturation=0.5),
            "longest_saturation: expected 0 or more steps, a whole number, got ",
        ),
        (
            lambda: renderer().set_walls([0.0] * 3, "z"),
            "wall_points, wall_normals: expected lists of numbers, got [0.0",
        ),
        (
            lambda: WallRenderer.around(HoldingWall(CONTROLLER, PLANE)).take_over(renderer()),
            "take_over: expected a HoldingWall, got <",
        ),
        (
            lambda: WallRenderer(CONTROLLER, None).step(HOME, [0.0] * 6, [PLANE]),
            "planes: expected MovingPlanes, got [Plane(",
        ),
        (
            lambda: WallRenderer(CONTROLLER, None).step(
                HOME, [0.0] * 6, MovingPlanes([0], [[0.0, 0.0, 0.0]], [[0.0, 0.0, 1.0]], velocity="fast")
            ),
            "velocity: expected numbers of shape (1, 3), got 'fast'",
        ),
        (
            lambda: DEVICE.with_parameters("platform.mass=x"),
            "platform.mass: input should be a valid number, unable to ",
        ),
        (lambda: DEVICE.with_parameters("platform.mass=-1"), "platform.mass: input should be greater than 0, got -1"),
        (lambda: DEVICE.with_parameters(5), "entry 5: expected section.name=value with a name of the device's file"),
        (lambda: TauDevice.from_file(5), "path: expected the path of a YAML file, got 5"),
        (lambda: design_wall_controller(DEVICE, "mopc", per_axis=2.5), "per_axis: expected 1 or more, a whole number"),
        (
            lambda: design_wall_controller(DEVICE, "mopc", points=0.0),
            "points: expected finite numbers of shape (1,), got",
        ),
        (
            lambda: design_wall_controller(DEVICE, "sopc", normal=5),
            "normal: expected finite numbers of shape (3,), got 5",
        ),
        (
            lambda: design_wall_controller(DEVICE, "sopc", weight_torque=-1.0),
            "weight_torque: expected more than 0, got -1",
        ),
        (lambda: design_wall_controller(DEVICE, "sopc", weight_rate="a"), "weight_rate: expected a number, got 'a'"),
        (lambda: push(direction=(0.0, 0.0, -5.0)), "direction: expected a unit vector, got [0.0, 0.0, -5.0]"),
        (lambda: penetration_bound(DEVICE, (0.0, 0.0, 0.0), force=-1.0), "force: expected 0 or more, got -1.0"),
        (
            lambda: penetration_bound(DEVICE, (0.0, 0.0, 0.0), normal=(0.0, 0.0, 0.0)),
            "steps, normal: expected 2 or more and a direction, got 60 and [0.0, 0.0, 0.0]",
        ),
        (
            lambda: HInfinityController(DEVICE).step(HOME, np.zeros(6)),
            "step: expected start(position) before it, which takes the contact pose",
        ),
        (lambda: HInfinityController(DEVICE, noise="a"), "noise: expected a number above 0, got 'a'"),
        (
            lambda: PassiveController(DEVICE, CONTROLLER).step(HOME, np.zeros(6)),
            "step: expected start(position) before it, which takes the contact pose",
        ),
        (
            lambda: PassiveController(DEVICE, "sopc"),
            "controller: expected one with period, normal, start, step, got 'sopc'",
        ),
        (lambda: WallRenderer.from_parameters({}), "parameter wall_points: expected a value, got none"),
    ],
)
def test_wrong_argument_is_named_in_one_line(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError) as error:
        call()
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_a_controller_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(ControllerFileError, match=r"no_folder/c\.npz: cannot be written: No such file or directory$"):
        CONTROLLER.save(tmp_path / "no_folder" / "c.npz")


def test_a_refused_step_leaves_the_controller_as_it_was() -> None:
    controller, other = started(), started()
    with pytest.raises(TauError):
        controller.step(HOME + math.nan, np.zeros(6))
    angles = HOME + 1e-4
    for _ in range(2):
        assert controller.step(angles, np.zeros(6)).tolist() == other.step(angles, np.zeros(6)).tolist()


def test_a_refused_step_leaves_the_estimates_as_they_were() -> None:
    controller, other = HInfinityController(DEVICE), HInfinityController(DEVICE)
    for each in (controller, other):
        each.start((0.0, 0.0, 0.0))
    with pytest.raises(TauError):
        controller.step(HOME + math.nan, np.zeros(6))
    angles = HOME + 1e-4
    for _ in range(2):
        assert controller.step(angles, np.zeros(6)).tolist() == other.step(angles, np.zeros(6)).tolist()


def test_objects_are_printed_in_one_line() -> None:
    walls = WallRenderer(CONTROLLER, [PLANE])
    texts = {
        "TauDevice(peak_torque=1.1, fingerprint='": DEVICE,
        "TauState(position=[0.0, 0.0, 0.002], quaternion=[0.0, 0.0, 0.0, 1.0], twist=[": DEVICE.state((0.0, 0.0, 2e-3)),
        "LinearModel(position=[0.0, 0.0, 0.0], theta=[": linearise(DEVICE, (0.0, 0.0, 0.0)),
        "PushSimulation(point=[0.0, 0.0, 0.0], delay=0, controller ": PushSimulation(
            DEVICE, CONTROLLER, point=(0.0, 0.0, 0.0)
        ),
        "HInfinityController(gamma=": HInfinityController(DEVICE),
        "PassiveController(WallController('sopc', ": PassiveController(DEVICE, CONTROLLER),
        "PushResult(100 samples, max_penetration=": push(),
        "WallRenderer(controller 'sopc', planes (Plane(point=(0.0, 0.0, 0.0), normal=": walls,
        "WallRenderer(controller 'sopc', planes 'of each step')": WallRenderer(CONTROLLER, None),
        "WallState(torque=[": walls.step(HOME, [0.0] * 6),
        "HoldingWall(Plane(point=(0.0, 0.0, 0.0), normal=(0.0, 0.0, 1.0)), controller 'sopc')": HoldingWall(
            CONTROLLER, PLANE
        ),
    }
    for text, printed in texts.items():
        assert repr(printed).startswith(text)
        assert "\n" not in repr(printed)
