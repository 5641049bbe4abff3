"""One time step of a mechanism as a function of state and force, in either chart, with all its outputs."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from admittance_constraints.dynamics.chart import FORCE, NEWTON_STEPS, Chart, function
from admittance_constraints.dynamics.integrators import RULES, Rule, Start
from admittance_constraints.model import symbolic
from admittance_constraints.model.definition import TASK
from admittance_constraints.model.mechanism import Mechanism


@dataclass(frozen=True)
class Layout:
    """Positions of the fields in a vector."""

    slices: dict[str, slice]
    size: int

    @staticmethod
    def of(**sizes: int) -> Layout:
        """Puts fields of the given sizes one after another."""
        slices, start = {}, 0
        for name, size in sizes.items():
            slices[name] = slice(start, start + size)
            start += size
        return Layout(slices, start)


@dataclass(frozen=True)
class StepFunction:
    """A step as a CasADi function with the layouts of its state and result."""

    function: ca.Function
    state: Layout
    result: Layout


def step_function(
    mechanism: Mechanism, *, integrator: str, projection: str, about_pose: bool, hold: str, with_response: bool
) -> StepFunction:
    """Makes the function (state, force at the start, force at the end, (period, parameters)) -> (state, result).

    Args:
        mechanism: rendered mechanism.
        integrator: name in `integrators.RULES`.
        projection: see `Chart`.
        about_pose: see `Chart`.
        hold: see `Chart`.
        with_response: see `Chart`.
    """
    if about_pose and projection == "symmetric":
        projection = "orthogonal"  # about a rotating body, the middle of the step is no better than its end
    c = Chart(mechanism, projection=projection, about_pose=about_pose, hold=hold, with_response=with_response)
    return _step_about_pose(c, RULES[integrator]) if about_pose else _step_in_coordinates(c, RULES[integrator])


def _response(c: Chart, z: ca.MX, q: ca.MX, p: ca.MX, pose: ca.MX) -> tuple[ca.MX, ca.MX]:
    """Gives mobility and twist per zdot, row by row; empty without friction."""
    if not c.with_response:
        return ca.MX(0, 1), ca.MX(0, 1)
    mobility, per_zdot = c.response(z, q, p, pose)
    return ca.vec(mobility.T), ca.vec(per_zdot.T)


def _result_layout(c: Chart, nz: int) -> Layout:
    n, m, free = c.n, c.m, TASK * c.nz if c.with_response else 0
    return Layout.of(
        z=nz, z_velocity=nz, z_acceleration=nz, q=n, q_velocity=n, q_acceleration=n, multipliers=m,
        x=TASK, x_velocity=TASK, x_acceleration=TASK, orientation=4, twist=TASK, twist_rate=TASK,
        holonomic_residual=1, velocity_residual=1, kinetic_energy=1, potential_energy=1,
        mobility=free, twist_per_z_velocity=free, healths=4, health=1, checksum=1,
    )  # fmt: skip


def _step_in_coordinates(c: Chart, rule: Rule) -> StepFunction:
    states = Layout.of(z=c.nz, z_velocity=c.nz, q=c.n, q_velocity=c.n)
    state, f0, f1 = (ca.MX.sym(name, size) for name, size in (("state", states.size), ("f0", FORCE), ("f1", FORCE)))
    p, pose = ca.MX.sym("p", c.p.numel()), ca.MX(0, 1)
    z, zdot, q, qdot = (state[part] for part in states.slices.values())
    predicted = rule(c, Start(z, zdot, q, qdot, f0, f1, p, pose))
    qddot, multipliers, xddot, zddot, twist_rate, healths, _ = predicted.first
    z, zdot, q, qdot, health = c.state_after(predicted, q, p, pose)
    x, xdot, orientation, twist, *scalars = c.output(z, zdot, q, qdot, p, pose)
    mobility, per_zdot = _response(c, state[states.slices["z"]], state[states.slices["q"]], p, pose)
    new = ca.vertcat(z, zdot, q, qdot)
    healths = ca.vertcat(healths, health)
    checksum = ca.sum1(new) + ca.sum1(qddot) + ca.sum1(multipliers) + ca.sum1(healths)
    parts = [
        z, zdot, zddot, q, qdot, qddot, multipliers, x, xdot, xddot, orientation, twist, twist_rate, *scalars,
        mobility, per_zdot, healths, ca.mmin(healths), checksum,
    ]  # fmt: skip
    result = ca.vertcat(*parts)
    layout = _result_layout(c, c.nz)
    return StepFunction(_dense_function([state, f0, f1, p], [new, result]), states, layout)


def _step_about_pose(c: Chart, rule: Rule) -> StepFunction:
    """Makes the step in coordinates about the present pose, which are zero at the start of every step."""
    nz = c.mechanism.parameter_dimension
    states = Layout.of(pose=7, twist=TASK, x=TASK, z=nz)
    state, f0, f1 = (ca.MX.sym(name, size) for name, size in (("state", states.size), ("f0", FORCE), ("f1", FORCE)))
    p = ca.MX.sym("p", c.p.numel())
    pose, rates, x, z = (state[part] for part in states.slices.values())
    zero = ca.MX.zeros(TASK)
    predicted = rule(c, Start(zero, rates, zero, rates, f0, f1, p, pose))
    uddot, multipliers, _, _, twist_rate, healths, _ = predicted.first
    _, _, u, udot, health = c.state_after(predicted, zero, p, pose)
    new_pose, new_rates = _recentre(c)(u, udot, pose)
    _, _, orientation, twist, *scalars = c.output(zero, new_rates, zero, new_rates, p, new_pose)
    mobility, per_zdot = _response(c, zero, zero, p, pose)
    angles = _angles()
    new_x, new_xdot, _ = angles(new_pose, new_rates, ca.MX.zeros(TASK), x)
    _, _, xddot = angles(pose, rates, uddot, x)
    new_z, new_zdot, _ = _parameters(c)(z, new_x, new_xdot, ca.MX.zeros(TASK), p)
    _, _, zddot = _parameters(c)(z, x, angles(pose, rates, uddot, x)[1], xddot, p)
    new = ca.vertcat(new_pose, new_rates, new_x, new_z)
    healths = ca.vertcat(healths, health)
    checksum = ca.sum1(new_pose) + ca.sum1(new_rates) + ca.sum1(uddot) + ca.sum1(multipliers) + ca.sum1(healths)
    parts = [
        new_z, new_zdot, zddot, new_x, new_xdot, xddot, multipliers, new_x, new_xdot, xddot, orientation, twist,
        twist_rate, *scalars, mobility, per_zdot, healths, ca.mmin(healths), checksum,
    ]  # fmt: skip
    layout = _result_layout(c, nz)
    return StepFunction(_dense_function([state, f0, f1, p], [new, ca.vertcat(*parts)]), states, layout)


def _dense_function(arguments: list[ca.MX], results: list[ca.MX]) -> ca.Function:
    """Makes a function whose arrays have every entry, also those that are zero for all arguments."""
    return ca.Function("constrained_step", arguments, [ca.densify(result) for result in results])


def _recentre(c: Chart) -> ca.Function:
    """Makes (u, u', pose) -> the pose at u, and u' about that pose: [velocity; angular velocity in the body]."""
    s = c.system
    u, udot, pose = s.q, s.qdot, s.pose
    Q = symbolic.quaternion_product(pose[3:], symbolic.cayley_quaternion(u[3:]))
    new = ca.vertcat(pose[:3] + u[:3], Q / ca.sqrt(ca.sumsqr(Q)))
    rates = ca.vertcat(udot[:3], ca.mtimes(symbolic.cayley_body_rates(u[3:]), udot[3:]))
    return function("recentre", [u, udot, pose], [new, rates], ["pose", "rates"])


def _angles() -> ca.Function:
    """Makes (pose, [v; omega], rates of these, previous x) -> x, xdot, xddot in the paper's angles, unwrapped.

    At sin q6 = 0, where the angles have no rates, the rate of q4 is given as zero.
    """
    pose, rates, accelerations, old = (
        ca.SX.sym(name, size) for name, size in (("pose", 7), ("rates", TASK), ("accelerations", TASK), ("old", TASK))
    )
    first = symbolic.angles_from_rotation(symbolic.rotation_from_quaternion(pose[3:]))
    second = first + ca.vertcat(ca.pi, ca.pi, -2 * first[2])  # other angles of the same rotation
    nearest = []
    for candidate in (first, second):
        revolutions = ca.floor((old[3:] - candidate) / (2 * ca.pi) + 0.5)
        nearest.append(candidate + 2 * ca.pi * revolutions)
    distances = [ca.sumsqr(candidate - old[3:]) for candidate in nearest]
    angles = ca.if_else(distances[1] < distances[0], nearest[1], nearest[0])
    s5, c5, s6, c6 = ca.sin(angles[1]), ca.cos(angles[1]), ca.sin(angles[2]), ca.cos(angles[2])
    regular = ca.fabs(s6) > 1e-9
    divisor = ca.if_else(regular, s6, 1)

    def solve(w: ca.SX) -> ca.SX:
        rate4 = ca.if_else(regular, (s5 * w[0] + c5 * w[1]) / divisor, 0)
        return ca.vertcat(rate4, w[2] - c6 * rate4, c5 * w[0] - s5 * w[1])

    velocity = solve(rates[3:])
    a, da = ca.SX.sym("a", 3), ca.SX.sym("da", 3)
    bias = ca.substitute([symbolic.along(ca.mtimes(symbolic.body_rates(a), da), a, da)], [a, da], [angles, velocity])[0]
    acceleration = solve(accelerations[3:] - bias)
    return function(
        "angles",
        [pose, rates, accelerations, old],
        [ca.vertcat(pose[:3], angles), ca.vertcat(rates[:3], velocity), ca.vertcat(accelerations[:3], acceleration)],
        ["x", "xdot", "xddot"],
    )


def _parameters(c: Chart) -> ca.Function:
    """Makes (previous z, x, xdot, xddot, p) -> z, zdot, zddot with psi(z) = x; without psi, z = x."""
    x, xdot, xddot = (ca.SX.sym(name, TASK) for name in ("x", "xdot", "xddot"))
    z, zdot, psi = c.mechanism.parametric_symbols
    if not c.mechanism.has_parametrisation:
        return function("parameters", [ca.SX.sym("z", TASK), x, xdot, xddot, c.p], [x, xdot, xddot], ["z", "v", "a"])
    J = ca.jacobian(psi, z)
    step, _ = symbolic.least_squares(J, x - psi)
    newton = function("newton_z", [z, x, c.p], [z + step], ["z"])
    velocity, _ = symbolic.least_squares(J, xdot)
    bias = symbolic.along(ca.mtimes(J, zdot), z, zdot)
    acceleration, _ = symbolic.least_squares(J, xddot - ca.substitute([bias], [zdot], [velocity])[0])
    rates = function("rates_z", [z, xdot, xddot, c.p], [velocity, acceleration], ["v", "a"])
    old, mx, mv, ma = ca.MX.sym("z", z.numel()), *(ca.MX.sym(name, TASK) for name in ("x", "v", "a"))
    p = ca.MX.sym("p", c.p.numel())
    new = old
    for _ in range(NEWTON_STEPS):
        new = newton(new, mx, p)
    return function("parameters", [old, mx, mv, ma, p], [new, *rates(new, mv, ma, p)], ["z", "v", "a"])
