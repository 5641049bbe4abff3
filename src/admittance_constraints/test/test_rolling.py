"""Long and steady motions of the rolling disk, and energy per integrator."""

from __future__ import annotations

import numpy as np
import pytest

from admittance_constraints import DiskOnSphere, ReferenceGenerator, RollingDisk, TwoLinkOnCircle

PERIOD = 1e-3


def steady_start(disk: RollingDisk, heading: float, steer: float, roll: float) -> dict[str, list[float]]:
    forward = -disk.radius * roll  # (23), (24)
    return {
        "z": [0.1, -0.2, heading, 0.0],
        "z_velocity": [forward * np.cos(heading), forward * np.sin(heading), steer, roll],
    }


@pytest.mark.slow
@pytest.mark.parametrize("integrator", ["algorithm1", "rk4"])
def test_constraints_hold_over_ten_minutes_of_rolling(integrator: str) -> None:
    """600,000 steps under a hand that steers, pushes, leans and presses; in the compiled loop about two seconds."""
    disk = RollingDisk(inertia=(0.0015, 0.0025, 0.004), translational_damping=1.0, rotational_damping=0.01)
    g = ReferenceGenerator(disk, integrator=integrator, **steady_start(disk, 0.3, 0.5, -2.0))
    holonomic = velocity = travelled = 0.0
    for minute in range(10):
        t = 60.0 * minute + PERIOD * np.arange(60_000)
        wrench = np.stack(
            [np.sin(0.7 * t), np.cos(1.1 * t), np.full_like(t, -5.0), np.sin(t), np.cos(t), 0.02 * np.sin(0.3 * t)], 1
        )
        rows = g.simulate(wrenches=wrench)
        holonomic = max(holonomic, rows.holonomic_residual.max())
        velocity = max(velocity, rows.velocity_residual.max())
        travelled += np.abs(rows.twist[:, :3]).sum() * PERIOD
    assert g.steps == 600_000 and travelled > 50.0  # m
    assert holonomic < 1e-12 and velocity < 1e-12


def test_symmetric_projection_keeps_the_energy_of_a_disk_that_steers() -> None:
    """Free rolling with steady steering for a minute: the orthogonal projection gains where the symmetric does not."""
    disk = RollingDisk()
    drift = {}
    for projection in ("symmetric", "orthogonal"):
        start = steady_start(disk, 0.3, 2.0, -5.0)
        g = ReferenceGenerator(disk, integrator="algorithm1", velocity_projection=projection, **start)
        energy = g.simulate(np.zeros((60_000, 6)), every=100).kinetic_energy
        drift[projection] = abs(energy[-1] / energy[0] - 1.0)
    assert drift["symmetric"] < 1e-10 < 1e-3 < drift["orthogonal"]


def test_without_projection_the_rolling_constraint_drifts() -> None:
    disk = RollingDisk()
    start = steady_start(disk, 0.3, 0.5, -2.0)
    g = ReferenceGenerator(disk, integrator="algorithm1", velocity_projection=False, **start)
    assert g.simulate(np.zeros((5000, 6))).velocity_residual.max() > 1e-5


@pytest.mark.parametrize("orientation", ["euler", "quaternion"])
def test_free_rolling_with_steady_steering_is_a_circle(orientation: str) -> None:
    """Equal steering and rolling rates persist: the centre moves on a circle of radius r_d |roll/steer|."""
    disk = RollingDisk(inertia=(0.002, 0.002, 0.004))
    steer, roll, heading = 0.8, -5.0, 0.3
    g = ReferenceGenerator(disk, integrator="rk4", orientation=orientation, **steady_start(disk, heading, steer, roll))
    t = PERIOD * np.arange(1, 5001)
    rows = g.simulate(wrenches=np.zeros((5000, 6)))
    speed = -disk.radius * roll
    np.testing.assert_allclose(rows.z[:, 2], heading + steer * t, atol=1e-11)
    np.testing.assert_allclose(rows.z[:, 3], roll * t, atol=1e-11)  # more than three turns, without a jump
    x = 0.1 + speed / steer * (np.sin(heading + steer * t) - np.sin(heading))
    y = -0.2 - speed / steer * (np.cos(heading + steer * t) - np.cos(heading))
    np.testing.assert_allclose(rows.z[:, :2], np.stack([x, y], 1), atol=1e-11)


def test_the_reaction_to_steady_rolling_is_centripetal() -> None:
    disk = RollingDisk()
    steer, roll = 0.8, -5.0
    r = ReferenceGenerator(disk, compiled=False, **steady_start(disk, 0.0, steer, roll)).step(np.zeros(6))
    # m v steer towards the centre of the circle, along y at heading zero
    assert r.multipliers[3] == pytest.approx(disk.mass * disk.radius * abs(roll) * steer, rel=1e-12)
    assert r.multipliers[2] == pytest.approx(0.0, abs=1e-15)
    assert r.multipliers[0] == pytest.approx(0.0, abs=1e-15)  # no weight is stated


#: relative energy drift of free motion over 10 s at 1 ms: (algorithm1, symplectic_euler, midpoint, rk4), rounded up
ENERGY = {
    "rolling_disk": (5e-3, 5e-3, 1e-6, 1e-12),
    "disk_on_sphere": (5e-3, 1e-2, 1e-6, 1e-11),
    "two_link": (0.1, 0.3, 1e-4, 1e-8),
}


@pytest.mark.slow
@pytest.mark.covering(1)
@pytest.mark.parametrize("name", list(ENERGY))
def test_energy_of_free_motion(name: str) -> None:
    drifts = []
    for integrator in ("algorithm1", "symplectic_euler", "midpoint", "rk4"):
        if name == "rolling_disk":
            disk = RollingDisk(inertia=(0.0015, 0.0025, 0.004))
            g = ReferenceGenerator(disk, integrator=integrator, **steady_start(disk, 0.3, 1.5, 4.0))
        elif name == "disk_on_sphere":
            sphere = DiskOnSphere(inertia=(0.0015, 0.0025, 0.004))
            g = ReferenceGenerator(sphere, integrator=integrator, z=[0.4, 0.2, 1.2], z_velocity=[0.5, 1.0, 0.3])
        else:
            g = ReferenceGenerator(TwoLinkOnCircle(), integrator=integrator, z=[0.0], z_velocity=[4.0])
        m, state = g.mechanism, g.state.vector
        nz, n = m.parameter_dimension, m.dimension
        start = m.kinetic_energy(state[2 * nz : 2 * nz + n], state[2 * nz + n :])
        energy = g.simulate(np.zeros((10_000, 6))).kinetic_energy
        drifts.append(np.abs(energy / start - 1.0).max())
    assert all(drift < bound for drift, bound in zip(drifts, ENERGY[name], strict=True)), drifts
    assert drifts[3] < drifts[2] < min(drifts[:2])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("integrator", "orientation"),
    [
        ("algorithm1", "euler"),
        ("midpoint", "euler"),
        ("rk4", "euler"),
        ("algorithm1", "quaternion"),
        ("rk4", "quaternion"),
    ],
)
def test_force_normal_to_a_constraint_neither_accelerates_nor_brakes(integrator: str, orientation: str) -> None:
    """20 N along the normal of the sphere, given anew each millisecond, while the disk slides along a meridian.

    Held in space over the period they would act as a negative damping of F T/(2 r) = 0.2 N s/m, which on 0.25 kg and
    0.0025 kg m^2 speeds the disk up by 16 % a second.
    """
    disk = DiskOnSphere()
    start = {"z": [0.4, 0.2, 1.5], "z_velocity": [0.0, 0.0, -0.5]}
    g = ReferenceGenerator(disk, integrator=integrator, orientation=orientation, **start)
    x, energy = disk.parametric(start["z"]), []
    for _ in range(1000):
        r = g.step(wrench=[*(-20.0 * x[:3] / disk.sphere_radius), 0.0, 0.0, 0.0])
        x = r.x
        energy.append(r.kinetic_energy)
    # order one about a pose loses (w T)^2/4 of its rate a step, 1e-4 in all
    assert abs(energy[-1] / energy[0] - 1.0) < (
        1e-3 if (integrator, orientation) == ("algorithm1", "quaternion") else 1e-10
    )


def test_the_variational_rule_has_no_secular_drift() -> None:
    """Energy of the free 2R stays within the same band in the first and the last tenth of 60 s."""
    g = ReferenceGenerator(TwoLinkOnCircle(), integrator="midpoint", z=[0.0], z_velocity=[4.0])
    energy = g.simulate(np.zeros((60_000, 6))).kinetic_energy
    first, last = energy[:6000], energy[-6000:]
    assert last.max() == pytest.approx(first.max(), rel=1e-6) and last.min() == pytest.approx(first.min(), rel=1e-6)
