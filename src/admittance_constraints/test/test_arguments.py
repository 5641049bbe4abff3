"""Wrong arguments and definitions are refused in one line that names the part; objects are printed in one line."""

import math
from collections.abc import Callable
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from admittance_constraints import (
    AdmittanceController,
    ConstraintRenderer,
    Definition,
    ExternalForces,
    FreeDirectionFriction,
    KnifeEdge,
    Mechanism,
    MechanismError,
    Pendulum,
    PIDFeedback,
    PointOnSurface,
    ReferenceGenerator,
    RollingDisk,
    Stop,
    StoppedGenerator,
    UrdfMechanism,
    add_serial_linkage,
    load_mechanism,
    solve_accelerations,
)
from haptic_friction import CoulombLaw

State = Callable[[Definition, ca.SX, ca.SX], object]


def made(state: State, *, complete: bool = True) -> Mechanism:
    """Makes a point mass with what `state` adds to its definition."""

    class Own(Mechanism):
        def define(self, d: Definition) -> None:
            q, qdot = d.coordinates(3) if complete else (ca.SX(), ca.SX())
            if complete:
                d.forward(q)
                d.inverse(d.x[:3])
                d.kinetic_energy(0.2 * ca.sumsqr(qdot) / 2)
            state(d, q, qdot)

    return Own()


def generator(**options: object) -> ReferenceGenerator:
    return ReferenceGenerator(Pendulum(), compiled=False, **options)


POSE, WRENCH = [0.0, 0.0, -0.2, 0.0, 0.0, 0.0, 1.0], [0.0] * 6


def controlled(pose: object, wrench: object) -> object:
    return AdmittanceController(generator(), approach_time=0.0).step(pose, wrench)


class Incomplete(Mechanism):
    """A constructor that forgets the one of `Mechanism`."""

    def __init__(self) -> None:
        self.mass = 1.0

    def define(self, d: Definition) -> None:
        raise AssertionError("expected no call")


NAN = "expected an expression, got NaN; functions are CasADi's (ca.sin, not math.sin)"
TEXT = "expected an expression in CasADi's symbols, got 'x'"


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (lambda d, q, qdot: d.holonomic("bow", math.sin(d.x[0])), f"constraint bow: {NAN}"),
        (lambda d, q, qdot: d.nonholonomic("bow", math.sin(q[0]) * d.xdot[0]), f"constraint bow: {NAN}"),
        (lambda d, q, qdot: d.potential(math.cos(q[0])), f"potential: {NAN}"),
        (lambda d, q, qdot: d.kinetic_energy(math.nan * qdot[0] ** 2), f"kinetic_energy: {NAN}"),
        (lambda d, q, qdot: d.damping_force([math.nan, 0.0, 0.0]), f"damping_force: {NAN}"),
        (lambda d, q, qdot: d.holonomic("bow", "x"), f"constraint bow: {TEXT}"),
        (lambda d, q, qdot: d.potential("x"), f"potential: {TEXT}"),
        (lambda d, q, qdot: d.potential(q), "potential: expected one expression, got 3"),
        (lambda d, q, qdot: d.kinetic_energy([1.0, 2.0]), "kinetic_energy: expected one expression, got 2"),
        (lambda d, q, qdot: d.damping_force(-1.0), "damping_force: expected 3 rows, got 1"),
        (lambda d, q, qdot: d.parameters(1.5), "parameters: expected a whole number from 1, got 1.5"),
        (lambda d, q, qdot: (d.parameters(2), d.parametrisation("x")), f"parametrisation: {TEXT}"),
    ],
)
def test_a_wrong_part_of_a_definition_is_named(state: State, message: str) -> None:
    with pytest.raises(MechanismError) as error:
        made(state)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (lambda d, q, qdot: d.coordinates("3"), "coordinates: expected 1 to 6 (dim(q) <= dim(x), eq. (2)), got '3'"),
        (lambda d, q, qdot: d.coordinates(3.0), "coordinates: expected 1 to 6 (dim(q) <= dim(x), eq. (2)), got 3.0"),
        (
            lambda d, q, qdot: d.rigid_body(1.0, 1.0),
            "inertia: expected (Jxx, Jyy, Jzz) or a (3, 3) matrix, got 1 numbers",
        ),
        (lambda d, q, qdot: d.rigid_body("x", (1.0, 1.0, 1.0)), f"mass: {TEXT}"),
        (
            lambda d, q, qdot: add_serial_linkage(d, [1]),
            "links: expected links such as Link.bar(0.3, mass=1.0), got 1",
        ),
    ],
)
def test_wrong_coordinates_are_named(state: State, message: str) -> None:
    with pytest.raises(MechanismError) as error:
        made(state, complete=False)
    assert str(error.value) == message


@pytest.mark.parametrize("inertia", [(1.0, 2.0, 3.0), np.diag([1.0, 2.0, 3.0]), ((1, 0, 0), (0, 2, 0), (0, 0, 3))])
def test_inertia_of_a_rigid_body_is_given_in_any_form(inertia: object) -> None:
    mechanism = made(lambda d, q, qdot: d.rigid_body(1.0, inertia), complete=False)
    Q = [0.0, 0.0, 0.0, 0.0, 0.0, math.pi / 2]  # R = Rx(pi/2): x5' turns about the body's z, x6' about x
    assert np.allclose(mechanism.inertia(Q).diagonal()[4:], [3.0, 1.0], rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: ReferenceGenerator(Incomplete()),
            "mechanism: expected Incomplete.__init__ to call super().__init__()",
        ),
        (
            lambda: solve_accelerations("RollingDisk", [0.0], [0.0], [0.0]),
            "mechanism: expected a mechanism such as RollingDisk(), got 'RollingDisk'",
        ),
        (
            lambda: generator(friction=1.0),
            "friction: expected FreeDirectionFriction(translation=...) or None, got 1.0",
        ),
        (lambda: generator().restore(None), "state: expected an earlier value of `state`, got None"),
        (lambda: generator().step([math.nan] * 6), "task_force: expected finite numbers, got nan at [0]"),
        (
            lambda: StoppedGenerator(Pendulum(), []),
            "generator: expected a ReferenceGenerator, got Pendulum(",
        ),
        (
            lambda: StoppedGenerator(generator(integrator="symplectic_euler"), [1]),
            "stops: expected a list of stops such as Stop.plane(...), got [1]",
        ),
        (lambda: AdmittanceController(Pendulum()), "generator: expected a ReferenceGenerator, got Pendulum("),
        (lambda: AdmittanceController(generator(), feedback=5), "feedback: expected a PIDFeedback or None, got 5"),
        (lambda: ConstraintRenderer(generator()), "controller: expected an AdmittanceController, got Ref"),
        (
            lambda: ConstraintRenderer.from_parameters({"mechanism": "Pendulum"}),
            "parameter mechanism_parameters: expected a value, got none",
        ),
        (
            lambda: PIDFeedback(proportional=-1.0, derivative=1.0),
            "proportional: expected gains of 0 or more, got -1.0",
        ),
        (
            lambda: PIDFeedback(proportional="a", derivative=1.0),
            "proportional: expected numbers of shape (), (6,) or (6, 6), got 'a'",
        ),
        (lambda: controlled([0.0] * 6, WRENCH), "pose: expected shape (7,), got (6,)"),
        (lambda: controlled([0.0] * 7, WRENCH), "orientation of the pose: expected a quaternion of length 1, got "),
        (lambda: controlled([math.nan] * 7, WRENCH), "pose: expected finite numbers, got nan at [0]"),
        (lambda: controlled(POSE, [0.0] * 3), "wrench: expected shape (6,), got (3,)"),
        (lambda: controlled(POSE, "a"), "wrench: expected 6 numbers, got 'a'"),
        (
            lambda: Pendulum().nearest_parameters([0.0] * 3, [0.0] * 4),
            "orientation: expected a quaternion of length 1, got length 0",
        ),
        (
            lambda: generator().simulate(np.zeros((4, 6)), every=2.5),
            "every: expected 1 or more, a whole number, got 2.5",
        ),
        (
            lambda: StoppedGenerator(
                generator(integrator="symplectic_euler"), [Stop("wall", lambda x: 1.0, lambda x: np.ones(3))]
            ),
            "gradient of stop wall: expected shape (6,), got (3,)",
        ),
        (lambda: ExternalForces("tool"), "body: expected the number of a body, got 'tool'"),
        (lambda: KnifeEdge(slope=20.0), "slope: expected -pi/2 to pi/2 [rad], got 20"),
        (lambda: PointOnSurface(5), "surface: expected a function of the position, got 5"),
        (lambda: load_mechanism(None), "mechanism: expected a name or the path of a file, got None"),
        (
            lambda: UrdfMechanism(None, tool="tip"),
            "urdf: expected the path of a file or its text, got None",
        ),
        (
            lambda: UrdfMechanism("nofile.urdf", tool="tip"),
            "urdf: nofile.urdf: cannot be read: No such file or directory",
        ),
    ],
)
def test_wrong_argument_is_named_in_one_line(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError) as error:
        call()
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_line_of_an_error_in_a_file_with_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own.py").write_text("import math\n\nmath.sqrt(-1.0)\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MechanismError, match=r"^mechanism file own\.py: line 3: ValueError$"):
        load_mechanism("own.py")


def test_a_file_is_also_given_as_a_path(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text("from admittance_constraints import Pendulum\n\n\nclass Own(Pendulum):\n    pass\n")
    assert type(load_mechanism(path)).__name__ == "Own"


def test_a_class_without_a_definition_is_named(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text("from admittance_constraints import Mechanism\n\n\nclass Own(Mechanism):\n    pass\n")
    with pytest.raises(MechanismError, match=r"own\.py: class Own has no method define\(self, d\)$"):
        load_mechanism(path)


def test_parameters_of_a_mechanism_are_fixed() -> None:
    disk = RollingDisk(mass=0.5)
    with pytest.raises(AttributeError, match=r"^mass: fixed when a RollingDisk is made; expected a new RollingDisk$"):
        disk.mass = 5.0
    assert disk.mass == disk.inertia([0.0, 0.0, 0.03, 0.0, 0.0, 1.5])[0, 0] == 0.5


def test_period_of_a_generator_is_fixed() -> None:
    g = generator(period=1e-3)
    with pytest.raises(AttributeError):
        g.period = 1.0  # type: ignore[misc]
    g.step([0.0] * 6)
    assert g.time == 1e-3


def test_objects_are_printed_in_one_line() -> None:
    g = generator(integrator="symplectic_euler")
    controller = AdmittanceController(g, feedback=PIDFeedback(proportional=10.0, derivative=1.0))
    stopped = StoppedGenerator(g, [Stop.plane("wall", point=(-1.0, 0.0, 0.0), normal=(1.0, 0.0, 0.0))])
    texts = {
        "Pendulum(mass=0.5; length=0.2; gravity=9.81; damping=0; constraints: none)": g.mechanism,
        "ReferenceGenerator(Pendulum(": g,
        "GeneratorState(steps=0, vector of 4 numbers)": g.state,
        "Reference(x=[": g.step([0.0] * 6),
        "Trajectory(5 steps, z of shape (5, 1), q of shape (5, 1))": g.simulate(np.zeros((5, 6))),
        "StoppedGenerator(ReferenceGenerator(Pendulum(": stopped,
        "AdmittanceController(ReferenceGenerator(Pendulum(": controller,
        "ConstraintRenderer(AdmittanceController(": ConstraintRenderer(controller),
        "ToolMotion(pose=[0.0, 0.0, -0.2, 0.0, 0.0, 0.0, 1.0], twist=[": controlled(POSE, WRENCH),
        "DisplayTransform(position=[0.0, 0.0, 0.0], orientation=[": controller.placement,
        "FreeDirectionFriction(translation=CoulombLaw(1), rotation=None)": FreeDirectionFriction(
            translation=CoulombLaw(1.0)
        ),
        "PIDFeedback(diagonals of K_p [10., 10., 10., 10., 10., 10.], ": controller.feedback,
    }
    for text, printed in texts.items():
        assert repr(printed).startswith(text)
        assert "\n" not in repr(printed)


def test_a_refused_step_leaves_the_controller_as_it_was() -> None:
    """The first step starts the reference next to the tool: not under a wrench that cannot be used."""
    controller = AdmittanceController(generator(), approach_time=0.0)
    with pytest.raises(ValueError, match=r"^wrench: expected finite numbers, got nan at \[0\]$"):
        controller.step(POSE, [math.nan] * 6)
    assert controller.motion is None
    assert controller.reference is None
