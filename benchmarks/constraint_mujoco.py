"""The benchmark's mechanisms in MuJoCo.

Its constraints are soft. They are as stiff here as MuJoCo's own safety limit lets them be (time constant 2 T, impedance
0.9999, the largest), the solver is Newton's with a tolerance of 1e-12.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import mujoco
import numpy as np
from constraint_cases import GRAVITY, INERTIA, ROD, Case, DiskOnSphere, RollingDisk, Rows, TwoLinkOnCircle, rotated

VERSION = mujoco.__version__


class MujocoSimulation:
    """A model of which the coordinates are `q` and `v` at the start.

    Args:
        text: of the MJCF below <mujoco>, without <option>.
        options: of <option>.
        q, v: start.
        natural: natural coordinates of rows of qpos and qvel.
    """

    compiled_loop = True

    def __init__(
        self, text: str, options: dict[str, str], q: np.ndarray, v: np.ndarray, natural: Callable[..., Rows]
    ) -> None:
        words = " ".join(f'{key}="{value}"' for key, value in options.items())
        self.model = mujoco.MjModel.from_xml_string(
            f'<mujoco><compiler angle="radian"/><option tolerance="1e-12" cone="elliptic" {words}/>{text}</mujoco>'
        )
        self.data = mujoco.MjData(self.model)
        self.data.qpos[:], self.data.qvel[:] = q, v
        self.natural = natural

    def step(self) -> None:
        mujoco.mj_step(self.model, self.data)

    def run(self, steps: int) -> None:
        mujoco.mj_step(self.model, self.data, steps)

    def state(self) -> Rows:
        return self.data.qpos.copy(), self.data.qvel.copy()


def models(case: Case) -> list[tuple[str, Callable[[float], MujocoSimulation]]]:
    """Words and a maker of each formulation; the maker takes the period."""
    kinds = {
        "Pendulum": [(pendulum, "hinge")],
        "TwoLinkOnCircle": [(two_link, "tendon equality"), (two_link_and_rod, "connect to a rod")],
        "FourBar": [(four_bar, "connect equality")],
        "DiskOnSphere": [(disk_on_sphere, "connect equality"), (disk_on_ball, "ball joint")],
        "RollingDisk": [(rolling_disk, "friction contact")],
    }
    return [
        (f"{words}, {rule}", lambda period, make=make, rule=rule: make(case, period, rule))
        for make, words in kinds[case.name]
        for rule in ("implicitfast", "RK4")
    ]


def options(period: float, rule: str, gravity: float = 0.0) -> dict[str, str]:
    """Attributes of <option>."""
    return {"timestep": repr(period), "integrator": rule, "gravity": f"0 0 {-gravity!r}"}


def stiff(period: float) -> str:
    """Attributes of a constraint that is as stiff as it may be."""
    return f'solref="{2 * period!r} 1" solimp="0.9999 0.9999 0.001 0.5 2"'


def numbers(values: Iterable[float]) -> str:
    """A vector in XML."""
    return " ".join(repr(float(value)) for value in values)


def as_it_is(q: np.ndarray, v: np.ndarray) -> Rows:
    """The model's coordinates are the natural ones."""
    return q, v


def bar(mass: float, length: float, position: Iterable[float], inner: str) -> str:
    """A thin bar along x behind a hinge about z."""
    J = mass * length**2 / 12
    return (
        f'<body pos="{numbers(position)}"><joint type="hinge" axis="0 0 1"/><inertial pos="{length / 2!r} 0 0" '
        f'mass="{mass!r}" diaginertia="{numbers([1e-3 * J, J, J])}"/>{inner}</body>'  # MuJoCo refuses none about x
    )


def pendulum(case: Case, period: float, rule: str) -> MujocoSimulation:
    m = case.mechanism
    text = (
        f'<worldbody><body><joint type="hinge" axis="0 -1 0"/><inertial pos="0 0 {-m.length!r}" mass="{m.mass!r}" '
        'diaginertia="1e-12 1e-12 1e-12"/></body></worldbody>'
    )
    return MujocoSimulation(text, options(period, rule, m.gravity), case.q, case.v, as_it_is)


def two_links(case: Case) -> str:
    """The bodies, with a site at the end."""
    m = case.mechanism
    outer = bar(m.link_mass, m.link_length, (m.link_length, 0, 0), f'<site name="end" pos="{m.link_length!r} 0 0"/>')
    return bar(m.link_mass, m.link_length, (*m.base, 0), outer)


def two_link(case: Case, period: float, rule: str) -> MujocoSimulation:
    """The circle's radius is a tendon whose length an equality keeps."""
    text = (
        f'<worldbody><site name="centre"/>{two_links(case)}</worldbody>'
        '<tendon><spatial name="radius"><site site="centre"/><site site="end"/></spatial></tendon>'
        f'<equality><tendon tendon1="radius" polycoef="0 0 0 0 0" {stiff(period)}/></equality>'
    )
    made = MujocoSimulation(text, options(period, rule), case.q, case.v, as_it_is)
    difference = case.mechanism.circle_radius - made.model.tendon_length0[0]  # to the length at q = 0
    made.model.eq_data[0, 0] = difference
    return made


def two_link_and_rod(case: TwoLinkOnCircle, period: float, rule: str) -> MujocoSimulation:
    """The circle's radius is a light rod, whose end is connected to the link's."""
    text = (
        f'<worldbody>{two_links(case)}<body><joint type="hinge" axis="0 0 1"/><inertial pos="0 0 0" mass="1e-6" '
        f'diaginertia="{numbers([ROD] * 3)}"/><site name="other" pos="{case.mechanism.circle_radius!r} 0 0"/></body>'
        f'</worldbody><equality><connect site1="end" site2="other" {stiff(period)}/></equality>'
    )
    return MujocoSimulation(text, options(period, rule), *case.with_rod(), case.of_rod)


def four_bar(case: Case, period: float, rule: str) -> MujocoSimulation:
    m = case.mechanism
    crank, coupler, rocker = m.lengths
    outer = bar(m.density * coupler, coupler, (crank, 0, 0), f'<site name="end" pos="{coupler!r} 0 0"/>')
    other = bar(m.density * rocker, rocker, (m.ground, 0, 0), f'<site name="other" pos="{rocker!r} 0 0"/>')
    text = (
        f"<worldbody>{bar(m.density * crank, crank, (0, 0, 0), outer)}{other}</worldbody>"
        f'<equality><connect site1="end" site2="other" {stiff(period)}/></equality>'
    )
    return MujocoSimulation(text, options(period, rule), case.q, case.v, as_it_is)


def disk_on_sphere(case: DiskOnSphere, period: float, rule: str) -> MujocoSimulation:
    """A free body; the point of its axis in the sphere's centre is connected to the world."""
    m = case.mechanism
    text = (
        f'<worldbody><site name="centre" pos="{numbers(m.center)}"/><body><freejoint/><inertial pos="0 0 0" '
        f'mass="{m.mass!r}" diaginertia="{numbers(INERTIA)}"/><site name="below" pos="0 0 {-m.sphere_radius!r}"/>'
        f'</body></worldbody><equality><connect site1="below" site2="centre" {stiff(period)}/></equality>'
    )
    q = np.concatenate([case.q[:3], np.roll(case.q[3:], 1)])  # its quaternions are (w, x, y, z)
    v = np.concatenate([case.v[:3], case.body_twist()[3:]])

    def natural(q: np.ndarray, v: np.ndarray) -> Rows:
        Q = np.roll(q[:, 3:], -1, axis=1)
        return np.column_stack([q[:, :3], Q]), np.column_stack([v[:, :3], rotated(Q, v[:, 3:])])

    return MujocoSimulation(text, options(period, rule), q, v, natural)


def disk_on_ball(case: DiskOnSphere, period: float, rule: str) -> MujocoSimulation:
    """A body on a ball joint in the sphere's centre."""
    m = case.mechanism
    text = (
        f'<worldbody><body pos="{numbers(m.center)}"><joint type="ball"/><inertial pos="0 0 {m.sphere_radius!r}" '
        f'mass="{m.mass!r}" diaginertia="{numbers(INERTIA)}"/></body></worldbody>'
    )

    def natural(q: np.ndarray, v: np.ndarray) -> Rows:
        Q = np.roll(q, -1, axis=1)
        return case.turning(Q, rotated(Q, v))

    q, v = np.roll(case.q[3:], 1), case.body_twist()[3:]
    return MujocoSimulation(text, options(period, rule), q, v, natural)


def rolling_disk(case: RollingDisk, period: float, rule: str) -> MujocoSimulation:
    """Joints keep it upright; its weight presses it on the plane, where friction (coefficient 1) lets it roll.

    The body's frame is turned by 90 degrees about x, so that the joints' axes are x, z, -y in it.
    """
    m, contact = case.mechanism, f'friction="1 0 0" condim="3" {stiff(period)}'
    joints = ("slide", "1 0 0"), ("slide", "0 0 -1"), ("slide", "0 1 0"), ("hinge", "0 1 0"), ("hinge", "0 0 1")
    text = (
        f'<worldbody><geom type="plane" size="1 1 1" {contact}/><body quat="1 1 0 0">'
        + "".join(f'<joint type="{kind}" axis="{axis}"/>' for kind, axis in joints)
        + f'<inertial pos="0 0 0" mass="{m.mass!r}" diaginertia="{numbers(INERTIA)}"/>'
        f'<geom type="sphere" size="{m.radius!r}" {contact}/></body></worldbody>'
    )
    return MujocoSimulation(text, options(period, rule, GRAVITY), *case.joints(), case.of_joints)
