"""H-infinity and passivity controllers: closed form, norm of the closed loop, limiting case, energy at the joints."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import control
import numpy as np
import pytest
from numpy.typing import ArrayLike

from tau_wall_control import (
    HInfinityController,
    PassiveController,
    TauDevice,
    TauError,
    WallController,
    h_infinity,
    simulate_push,
)
from tau_wall_control.simulation.z_width import spring_damper_controller

HOME = (0.0, 0.0, 0.0)


class Uncompiled:
    """A wall controller seen as any other controller."""

    def __init__(self, controller: WallController) -> None:
        self.controller, self.period, self.normal = controller, controller.period, controller.normal

    def start(self, position: ArrayLike, rotation: ArrayLike | None = None) -> None:
        self.controller.start(position, rotation)

    def step(self, theta: ArrayLike, rate: ArrayLike) -> np.ndarray:
        return self.controller.step(theta, rate)


@pytest.mark.parametrize("a", [-3.0, -1.0, 0.0, 0.5, 4.0])
def test_smallest_bound_of_a_first_order_plant(a: float) -> None:
    # xdot = a x + w_1 + u: X = Y, and rho(X Y) = gamma^2 at X = gamma, 2 a gamma + 2 - gamma^2 = 0
    design = h_infinity([[a]], [[1.0]], [[1.0]], [[1.0]], [[1.0]])
    assert design.smallest_gamma == pytest.approx(a + math.sqrt(a**2 + 2.0), rel=2e-4)
    assert design.gamma == pytest.approx(1.05 * design.smallest_gamma)


def closed_loop_norm(controller: HInfinityController) -> tuple[float, float]:
    """Largest gain from [w_1; w_2] to z over frequencies, and the largest real part of the closed loop's poles."""
    p, k = controller.plant, controller.design
    A = np.block([[p.A, p.B_2 @ k.C], [k.B @ p.C_2, k.A]])
    B = np.block([[p.B_1, np.zeros((18, 6))], [np.zeros((18, 6)), k.B]])
    C = np.block([[p.C_1, np.zeros((18, 18))], [np.zeros((6, 18)), k.C]])
    gains = [
        np.linalg.norm(C @ np.linalg.solve(1j * w * np.eye(36) - A, B), 2) for w in [0.0, *np.geomspace(0.1, 1e5, 120)]
    ]
    return max(gains), float(np.linalg.eigvals(A).real.max())


@pytest.mark.parametrize("noise", [4e-5, 1e-4])
def test_norm_of_the_closed_loop_is_just_below_its_bound(device: TauDevice, noise: float) -> None:
    controller = HInfinityController(device, noise=noise)
    norm, slowest = closed_loop_norm(controller)
    assert slowest < 0.0
    assert 0.97 * controller.design.gamma < norm < controller.design.gamma


def test_large_bound_gives_lqr_and_kalman_filter(device: TauDevice) -> None:
    controller = HInfinityController(device, margin=1e4)
    p, design = controller.plant, controller.design
    K, _, _ = control.lqr(p.A, p.B_2, p.C_1.T @ p.C_1, np.eye(6), method="scipy")
    L, _, _ = control.lqe(p.A, p.B_1, p.C_2, np.eye(6), np.eye(6), method="scipy")
    assert pytest.approx(-K, rel=1e-5, abs=1e-5 * np.abs(K).max()) == design.C
    assert pytest.approx(L, rel=1e-5, abs=1e-5 * np.abs(L).max()) == design.B


def test_the_sampled_controller_is_the_continuous_one_at_low_frequencies(device: TauDevice) -> None:
    controller = HInfinityController(device)
    k, s = controller.design, 2j * math.pi * 5.0
    z = np.exp(s * controller.period)
    continuous = k.C @ np.linalg.solve(s * np.eye(18) - k.A, k.B)
    sampled = controller._C @ np.linalg.solve(z * np.eye(18) - controller._A, controller._B) + controller._D
    assert np.linalg.norm(sampled - continuous) < 1e-3 * np.linalg.norm(continuous)


@pytest.mark.parametrize("options", [{"noise": 3e-5}, {"disturbance": 1.0}])
def test_a_design_that_the_samples_make_unstable_is_refused(device: TauDevice, options: dict[str, float]) -> None:
    with pytest.raises(TauError, match=r"^disturbance, noise: expected a design whose loop is stable at 1000 Hz, got"):
        HInfinityController(device, **options)


def stiffness(device: TauDevice, **options: Any) -> float:
    controller = HInfinityController(device, **options)
    return simulate_push(device, controller, point=HOME, force=8.0, duration=1.1).stiffness


@pytest.mark.slow
def test_parameters_of_the_h_infinity_controller_act(device: TauDevice) -> None:
    reference = stiffness(device)
    assert stiffness(device, noise=5e-5) > 1.2 * reference  # better sensors
    assert stiffness(device, disturbance=0.6) > 1.2 * reference  # stronger pushes
    assert stiffness(device, margin=2.0) < 0.95 * reference
    assert stiffness(device, leak=20.0) != pytest.approx(reference, rel=1e-3)


def test_h_infinity_wall_is_stiffer_than_lqi_at_the_same_weights(
    device: TauDevice, design: Callable[..., WallController]
) -> None:
    pushes = [simulate_push(device, c, point=HOME, duration=1.1) for c in (HInfinityController(device), design("sopc"))]
    assert pushes[0].stiffness > 1.2 * pushes[1].stiffness


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"margin": 1.0}, "margin: expected a number above 1, got 1.0"),
        ({"noise": 0.0}, "noise: expected a number above 0, got 0.0"),
        ({"disturbance": -1.0}, "disturbance: expected a number above 0, got -1.0"),
        ({"leak": math.nan}, "leak: expected a number above 0, got nan"),
        ({"normal": (0.0, 0.0)}, "normal: expected finite numbers of shape"),
        ({"normal": (0.0, 0.0, 0.0)}, "normal: expected a direction"),
    ],
)
def test_refused_arguments_are_named(device: TauDevice, options: dict[str, Any], text: str) -> None:
    with pytest.raises(TauError) as error:
        HInfinityController(device, **options)
    assert text in str(error.value)


def test_plants_without_a_controller_are_refused() -> None:
    with pytest.raises(TauError, match=r"B_2 can stabilise and C_2 can observe"):
        h_infinity([[1.0]], [[1.0]], [[0.0]], [[1.0]], [[1.0]])
    with pytest.raises(TauError, match=r"^C_2: expected finite numbers of shape \(1, 2\)"):
        h_infinity(np.eye(2), np.eye(2), np.eye(2), np.eye(2), [[1.0]])


@pytest.mark.parametrize("options", [{}, {"quantized": True, "delay": 1, "noise": 1.0}])
def test_push_of_any_controller_is_that_of_the_compiled_loop(
    device: TauDevice, design: Callable[..., WallController], options: dict[str, Any]
) -> None:
    wall = design("sopc")
    a, b = (simulate_push(device, c, point=(0.01, 0.0, 0.0), duration=1.1, **options) for c in (wall, Uncompiled(wall)))
    assert b.position == pytest.approx(a.position, abs=1e-9)
    assert b.torque == pytest.approx(a.torque, abs=1e-6)


def test_push_through_the_wall_ends_with_a_code(device: TauDevice) -> None:
    class Slack(Uncompiled):
        def step(self, theta: ArrayLike, rate: ArrayLike) -> np.ndarray:
            return np.zeros(6)

    wall = Slack(spring_damper_controller(device, stiffness=1.0, damping=0.0))
    result = simulate_push(device, wall, point=HOME, duration=2.0)
    assert result.code != 0 and math.isinf(result.max_penetration) and result.stiffness == 0.0


def passive(device: TauDevice, damping: float = 0.0, **options: Any) -> tuple[PassiveController, np.ndarray]:
    """A wall of 10 kN/m under a step of 13 N, and the tool's deviation [m]."""
    wall = spring_damper_controller(device, stiffness=10e3, damping=damping)
    controller = PassiveController(device, wall, **options)
    return controller, simulate_push(device, controller, point=HOME, duration=1.3).deviation


def test_energy_stays_at_zero_with_the_damper_and_falls_without(device: TauDevice) -> None:
    # the spring stores F^2/(2 K) = 8.5 mJ; the prediction of one period's motion is not exact
    active, far = passive(device, control=False)
    held, near = passive(device)
    assert active.lowest_energy < -50e-3
    assert held.lowest_energy > -0.5e-3
    assert np.abs(near).max() < 0.5 * np.abs(far).max()


def test_damper_leaves_a_passive_wall_alone(device: TauDevice) -> None:
    (observed, a), (controlled, b) = (passive(device, 20.0, control=on) for on in (False, True))
    assert observed.lowest_energy > -1e-12 and controlled.lowest_energy > -1e-12  # rounding at rest
    assert b == pytest.approx(a, abs=1e-12)


@pytest.mark.slow
def test_largest_damping_and_delay_act(device: TauDevice) -> None:
    weak, _ = passive(device, largest_damping=5.0)
    strong, _ = passive(device)
    late, _ = passive(device, delay=1)
    assert weak.lowest_energy < 10.0 * strong.lowest_energy
    assert late.lowest_energy != strong.lowest_energy
    with pytest.raises(TauError, match="largest_damping: expected 0 or more"):
        passive(device, largest_damping=-1.0)
    with pytest.raises(TauError, match="delay: expected 0 or more"):
        passive(device, delay=-1)
