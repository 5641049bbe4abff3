"""Mechanisms from URDF: against Pinocchio's own algorithms, the suite's two-link arm and its four-bar linkage."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from admittance_constraints import FourBar, MechanismError, TwoLinkOnCircle, UrdfMechanism, solve_accelerations

pin = pytest.importorskip("pinocchio")


def link(name: str, mass: float, length: float) -> str:
    """A uniform bar along x [kg], [m]; a frame is no body, with mass 0."""
    if mass == 0.0:
        return f'<link name="{name}"/>'
    J = mass * length**2 / 12.0
    return (
        f'<link name="{name}"><inertial><origin xyz="{length / 2} 0 0"/><mass value="{mass}"/>'
        f'<inertia ixx="1e-6" iyy="{J}" izz="{J}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )


def joint(name: str, kind: str, parent: str, child: str, origin: str, axis: str = "0 0 1", rpy: str = "0 0 0") -> str:
    limit = '<limit lower="-3" upper="3" effort="1" velocity="1"/>' if kind in ("revolute", "prismatic") else ""
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{origin}" rpy="{rpy}"/><axis xyz="{axis}"/>{limit}</joint>'
    )


def robot(*parts: str) -> str:
    return f'<robot name="test">{"".join(parts)}</robot>'


TWO_LINKS = robot(
    link("world", 0.0, 0.0), link("upper", 2.0, 0.15), link("lower", 2.0, 0.15), link("tip", 0.0, 0.0),
    joint("shoulder", "revolute", "world", "upper", "-0.21 0 0"),
    joint("elbow", "revolute", "upper", "lower", "0.15 0 0"),
    joint("end", "fixed", "lower", "tip", "0.15 0 0"),
)  # fmt: skip
SPATIAL = robot(
    link("world", 0.0, 0.0), link("a", 1.0, 0.3), link("b", 0.7, 0.2), link("c", 0.4, 0.1), link("d", 0.3, 0.2),
    joint("turn", "continuous", "world", "a", "0.1 0 0.2", "0.6 0 0.8", "0.2 -0.3 0.4"),
    joint("slide", "prismatic", "a", "b", "0.3 0.05 0", "0 0.6 0.8", "0.5 0.1 0"),
    joint("bend", "revolute", "b", "c", "0.2 0 0.1", "0 1 0"),
    joint("twist", "revolute", "c", "d", "0.1 0 0", "1 0 0", "0.3 0.7 0"),
)  # fmt: skip


def test_two_links_are_those_of_the_suite() -> None:
    ours, linkage = UrdfMechanism(TWO_LINKS, tool="tip", near=[0.4, 0.9]), TwoLinkOnCircle()
    assert ours.joint_names == ("shoulder", "elbow")
    for q, qdot in (([0.3, 0.8], [1.0, -2.0]), ([-1.0, 2.0], [0.5, 3.0])):
        assert ours.inertia(q) == pytest.approx(linkage.inertia(q), rel=1e-9)
        assert ours.coriolis_force(q, qdot) == pytest.approx(linkage.coriolis_force(q, qdot), rel=1e-9)
        assert ours.forward(q)[:3] == pytest.approx(linkage.forward(q)[:3], abs=1e-12)


def test_spatial_chain_satisfies_lagranges_equations_of_pinocchio() -> None:
    gravity = (1.0, -2.0, -9.0)
    mechanism = UrdfMechanism(SPATIAL, tool="d", orientation=True, gravity=gravity)
    model = pin.buildModelFromXML(SPATIAL)
    model.gravity.linear = np.array(gravity)
    data, random = model.createData(), np.random.default_rng(3)
    order = [list(model.names).index(name) - 1 for name in mechanism.joint_names]
    assert order == list(range(4))
    for _ in range(3):
        q, v, tau = random.uniform(-1.0, 1.0, (3, 4))
        full = np.concatenate(
            [[math.cos(q[i]), math.sin(q[i])] if model.joints[i + 1].nq == 2 else [q[i]] for i in range(4)]
        )
        expected = pin.aba(model, data, full, v, tau)
        acceleration, _ = solve_accelerations(mechanism, q, v, tau + mechanism.passive_force(q, v))
        assert acceleration == pytest.approx(expected, rel=1e-9)
        pin.framesForwardKinematics(model, data, full)
        assert mechanism.forward(q)[:3] == pytest.approx(data.oMf[model.getFrameId("d")].translation, abs=1e-12)


def test_loop_of_four_bars_is_the_four_bar_linkage() -> None:
    bars = FourBar()
    a, b, c = bars.lengths
    text = robot(
        link("ground", 0.0, 0.0), link("pivot", 0.0, 0.0), link("joint", 0.0, 0.0), link("tip", 0.0, 0.0),
        link("crank", 2.0 * a, a), link("coupler", 2.0 * b, b), link("rocker", 2.0 * c, c),
        joint("drive", "revolute", "ground", "crank", "0 0 0"),
        joint("pin", "revolute", "crank", "coupler", f"{a} 0 0"),
        joint("swing", "revolute", "coupler", "rocker", f"{b} 0 0"),
        joint("tool", "fixed", "rocker", "joint", "0 0 0", rpy=f"{math.pi / 2} 0 0"),
        joint("rocker_end", "fixed", "rocker", "tip", f"{c} 0 0"),
        joint("second_pivot", "fixed", "ground", "pivot", f"{bars.ground} 0 0"),
    )  # fmt: skip
    mechanism = UrdfMechanism(
        text, tool="joint", loops=[("tip", "pivot")], loop_axes="xy", orientation=True, near=[1.0, -0.6, -1.9]
    )
    closed = bars.project_position([1.0, -0.6])
    x, y = [bars.ground, 0.0] - bars.forward(closed)[:2]  # along the rocker, from the coupler to its pivot
    q = [*closed, math.atan2(y, x) - closed.sum()]
    assert np.abs(mechanism.holonomic_residual(q)).max() < 1e-12
    force = [0.7, -1.3, 0.0, 0.0, 0.0, 0.0]  # on the coupler's end
    free = bars.project_velocity(closed, [1.0, 0.0])
    u, v = bars.task_jacobian(closed)[:2] @ free  # of the coupler's end; the rocker turns with (y u - x v)/c^2
    qdot = [*free, (y * u - x * v) / c**2 - free.sum()]
    assert np.abs(mechanism.constraint_matrix(q) @ qdot).max() < 1e-12
    ours, _ = solve_accelerations(mechanism, q, qdot, mechanism.generalised_force(force, q))
    theirs, _ = solve_accelerations(bars, closed, free, bars.generalised_force(force, closed))
    assert ours[:2] == pytest.approx(theirs, rel=1e-9)


def test_damping_acts_and_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(TWO_LINKS)
    mechanism = UrdfMechanism(path, tool="tip", damping=0.2, near=[0.4, 0.9])
    assert mechanism.passive_force([0.4, 0.9], [1.0, -2.0]) == pytest.approx([-0.2, 0.4])


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (TWO_LINKS, {"tool": "hand"}, "frame hand: expected one of .*tip"),
        (TWO_LINKS, {"tool": "tip", "loops": [("tip", "nail")]}, "frame nail: expected one of"),
        (TWO_LINKS, {"tool": "tip", "loop_axes": "xw"}, "loop_axes: expected different letters of xyz, got 'xw'"),
        ("<robot", {"tool": "tip"}, "urdf: the text cannot be read"),
        ("missing.urdf", {"tool": "tip"}, "urdf: missing.urdf: cannot be read"),
        (robot(link("world", 0.0, 0.0)), {"tool": "world"}, "urdf: expected 1 to 6 joints that move, got 0"),
        (
            robot(link("world", 0.0, 0.0), link("a", 1.0, 0.1), joint("free", "floating", "world", "a", "0 0 0")),
            {"tool": "a"},
            "joint free: expected revolute, continuous, prismatic or fixed",
        ),
    ],
)
def test_unusable_urdf_or_option_is_refused(text: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(MechanismError, match=message):
        UrdfMechanism(text, **options)  # type: ignore[arg-type]
