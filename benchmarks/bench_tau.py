"""The TAU device and its walls: time of a control step, of the dynamics beside Pinocchio's, of a push; design, memory.

Steps are timed call by call, as a node calls them. Dynamics are timed inside compiled loops where there is one: the own
equations in Numba; Pinocchio's forward dynamics of the unclosed tree by `aba` (a lower bound, its loops are open) and
of the closed mechanism by M, nonlinear effects and a KKT system (from Python, so the calls count); MuJoCo's with its
soft closures, in its own loop (`--no-peers` leaves it out; first use installs it).
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import peers
import pinocchio as pin
from numba import njit
from options import Parser, positive
from rich.console import Console
from rich.table import Table

from tau_wall_control import SCHEMES, Plane, TauDevice, WallRenderer, design_wall_controller, simulate_push
from tau_wall_control.device import kernels
from tau_wall_control.device.pinocchio_model import PinocchioModel


@njit
def many_accelerations(
    chains: np.ndarray, base: np.ndarray, platform: np.ndarray, state: np.ndarray, tau: np.ndarray, count: int
) -> float:
    q, H, bias, M, R = np.empty((3, 3)), np.empty((3, 3, 6)), np.empty((3, 3)), np.empty((6, 6)), np.empty((3, 3))
    n, g, Vdot, wrench = np.empty(6), np.empty(6), np.empty(6), np.zeros(6)
    kernels.rotation_of(state[3:7], R)
    total = 0.0
    for k in range(count):
        wrench[0] = 1e-3 * k
        kernels.task_acceleration(
            chains, base, platform, state[:3], R, state[7:], tau, wrench, q, H, M, n, g, bias, Vdot
        )
        total += Vdot[0]
    return total


def microseconds(call: Callable[[], object], count: int, rounds: int = 7) -> float:
    """Median over rounds of the time of one call."""
    times = []
    call()
    for _ in range(rounds):
        before = time.perf_counter()
        for _ in range(count):
            call()
        times.append((time.perf_counter() - before) / count)
    return 1e6 * float(np.median(times))


def dynamics(device: TauDevice, count: int, with_peers: bool) -> Table:
    table = Table("forward dynamics", "per evaluation [us]", title="dynamics")
    state = device.state((0.01, -0.01, 0.005), None, (0.1, -0.2, 0.1, 1.0, -1.0, 2.0))
    tau, wrench = np.full(6, 0.2), np.zeros(6)
    loops = microseconds(lambda: many_accelerations(*device.arrays, state.values, tau, count), 1)
    table.add_row("own, compiled loop", f"{loops / count:.2f}")
    p, R, V = state.position, state.rotation, state.twist
    own = microseconds(lambda: device.acceleration(p, R, V, tau, wrench), count // 20)
    table.add_row("own, from Python (TauDevice.acceleration)", f"{own:.1f}")
    model = PinocchioModel(device)
    q, v, u = model.configuration(p, R), model.velocity(p, R, V), np.zeros(model.model.nv)
    tree = microseconds(lambda: pin.aba(model.model, model.data, q, v, u), count // 20)
    table.add_row("Pinocchio aba, loops open", f"{tree:.1f}")
    closed = microseconds(lambda: model.acceleration(p, R, V, tau, wrench), count // 200)
    table.add_row("Pinocchio KKT with closures", f"{closed:.1f}")
    if with_peers:
        mujoco_rows(table, device, count)

    def period() -> None:
        saved = state.values.copy()
        state.step(tau, wrench, 1e-3)
        state.values[:] = saved

    table.add_row("own, one RK4 period (4 evaluations) from Python", f"{microseconds(period, count // 20):.1f}")
    return table


def mujoco_rows(table: Table, device: TauDevice, count: int) -> None:
    """MuJoCo's evaluations, and how far its acceleration at rest is from the rigid mechanism's."""
    try:
        peers.add("mujoco")
    except peers.PeerError as error:
        table.add_row(f"MuJoCo left out: {error}", "")
        return
    from tau_mujoco import VERSION, MujocoTau

    smooth = device.with_parameters("friction.coulomb_actuated=0")
    (p, R), rest = ((np.array([0.01, -0.01, 0.005]), np.eye(3))), np.zeros(6)
    tau = smooth.gravity_torque_at(p, R) + 0.1
    peer = MujocoTau(smooth, p, R, rest, tau)
    exact = smooth.acceleration(p, R, rest, tau)[0]
    off = float(np.abs(peer.forward() - exact).max() / np.abs(exact).max())
    call = microseconds(peer.forward, count // 20)
    table.add_row(f"MuJoCo {VERSION} mj_forward from Python (soft closures: {off:.1e} off)", f"{call:.1f}")
    steps = min(count, 20)  # so that the tool stays in the workspace
    table.add_row(
        "MuJoCo mj_step, one evaluation, own loop", f"{microseconds(lambda: peer.step(steps), 50) / steps:.1f}"
    )


def step_times(step: Callable[[np.ndarray, np.ndarray], object], device: TauDevice, steps: int) -> np.ndarray:
    """Time of each step [us] for a tool that is pressed 0.2 mm into the wall and moves along it."""
    times = np.empty(steps)
    path = []
    for k in range(400):
        s = 2 * np.pi * k / 400
        state = device.state((0.01 * np.cos(s), 0.01 * np.sin(s), -1e-4 + 1e-4 * np.sin(7 * s)), None, [1e-2] * 6)
        path.append(state.joints())
    for k in range(steps):
        theta, rate = path[k % 400]
        before = time.perf_counter_ns()
        step(theta, rate)
        times[k] = time.perf_counter_ns() - before
    return times / 1e3


def control(device: TauDevice, steps: int) -> tuple[Table, Table]:
    table = Table("scheme", "hold p50 [us]", "p99", "walls p50 [us]", "p99", title="one control step, from Python")
    made = Table(
        "scheme", "points", "design [s]", "memory [kB]", "push of 2 s [ms]", title="design, memory, simulation"
    )
    for scheme in SCHEMES:
        c = design_wall_controller(device, scheme)
        c.start((0.0, 0.0, 0.0))
        c.step(*device.state((0.0, 0.0, 0.0)).joints())
        hold = step_times(c.step, device, steps)
        walls = WallRenderer(c, (Plane((0, 0, 0), (0, 0, 1)), Plane((-0.02, 0, 0), (1, 0, 0))))
        walls.reset(device.inverse_kinematics((0.01, 0.0, 0.0)))
        walls.step(*device.state((0.01, 0.0, 0.0)).joints())
        sliding = step_times(walls.step, device, steps)
        numbers = [f"{x:.1f}" for times in (hold, sliding) for x in np.percentile(times, [50, 99])]
        table.add_row(scheme, *numbers)
        push = 1e-3 * microseconds(lambda c=c: simulate_push(device, c, point=(0, -0.02, 0), delay=1), 1)  # type: ignore[misc]
        made.add_row(scheme, str(len(c.table)), f"{c.design_time:.2f}", f"{c.memory_bytes / 1e3:.0f}", f"{push:.1f}")
    for per_axis in (2, 4, 5):
        c = design_wall_controller(device, "stiff", per_axis=per_axis)
        made.add_row("stiff", str(per_axis**3), f"{c.design_time:.2f}", f"{c.memory_bytes / 1e3:.0f}", "")
    return table, made


def main() -> None:
    parser = Parser(description=__doc__)
    parser.add_argument("--steps", type=positive, default=10_000, help="timed control steps per case")
    parser.add_argument("--evaluations", type=positive, default=20_000, help="timed evaluations of the dynamics")
    parser.add_argument("--no-peers", action="store_true", help="without MuJoCo")
    arguments = parser.parse_args()
    device, console = TauDevice.default(), Console()
    console.print(dynamics(device, arguments.evaluations, not arguments.no_peers))
    for table in control(device, arguments.steps):
        console.print(table)


if __name__ == "__main__":
    main()
