"""Passivity in the time domain: the energy at a port, and the damping that keeps the port passive. No ROS.

A force F_k (on the device) is constant over one period while the port moves by dx. For any motion between the samples,
the energy that the rendering has absorbed is exactly (Ryu, Kim and Hannaford 2004)

    E_(k+1) = E_k - F_k . dx + b |dx|^2 / T,                                                          (observer)

The last term is the smallest energy that a physical damper b of the device dissipates in any motion by dx within T. It
counts only in periods with a force, so that free motion accumulates no energy. With the energy E_0 at the start the
port is passive as long as E_k + E_0 >= 0. If the sum is negative, a damper dissipates the deficit in the next period
(Hannaford and Ryu 2002), within bounds:

    F_k <- F_k - a_k v_k,     a_k = min(-(E_k + E_0) / (T |v_k|^2), a_max, F_max / |v_k|).            (controller)

On an admittance device the user exerts a force f, which is measured and not constant over a period: E grows by
(f_k + f_(k+1))/2 . dx. The controller subtracts a_k v_k from the force that the rendering receives: the rendered
mechanism has an additional damper, and keeps its constraints.

**The sampled wall.** A spring K and damper B (on the difference of positions) with sample and hold generate at most
(K T/2 - B cos(omega T)) v^2 in a motion of frequency omega. A device with physical damping b is passive with them, for
every user, if and only if (Colgate and Schenkel 1997)

    b > K T/2 + |B|,        and without damper K < 2 b / T.

Vectors are sequences of n numbers: joints (N m and rad, or N and m), or a tool's [linear; angular], where |v|^2 is
|v|^2 + LEVER^2 |w|^2.
"""

from __future__ import annotations

import math
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import mul, sub

#: lever arm by which the damper of a tool's translation also damps its rotation: half of a hand's breadth [m]
LEVER = 0.05
#: squares of a tool's speeds, [linear; angular], in |v|^2
TOOL_WEIGHTS = (1.0, 1.0, 1.0, LEVER**2, LEVER**2, LEVER**2)


def largest_passive_stiffness(damping: float, period: float, virtual_damping: float = 0.0) -> float:
    """Computes the largest K [N/m] of a sampled wall that is passive with the physical damping b; 0 if none is.

    Args:
        damping: b [N s/m].
        period: T [s].
        virtual_damping: B of the wall [N s/m].
    """
    return max(0.0, 2.0 * (damping - abs(virtual_damping)) / period)


def tool_motion(start: Sequence[float], end: Sequence[float]) -> tuple[float, ...]:
    """Computes the translation [m] and small rotation [rad] from one pose to another, shape (6,), in the base frame.

    The rotation is 2 sin(angle/2) about its axis; poses are x, y, z and unit quaternion x, y, z, w.
    """
    x, y, z, qx, qy, qz, qw = start
    u, v, w, px, py, pz, pw = end
    factor = 2.0 if pw * qw + px * qx + py * qy + pz * qz >= 0.0 else -2.0  # both signs are the same orientation
    return (
        u - x, v - y, w - z,
        factor * (px * qw - pw * qx - py * qz + pz * qy),
        factor * (py * qw - pw * qy - pz * qx + px * qz),
        factor * (pz * qw - pw * qz - px * qy + py * qx),
    )  # fmt: skip


@dataclass(frozen=True)
class PassivityRule:
    """Limits of a port's energy and of its controller.

    Attributes:
        period: T [s].
        control: true if the controller acts, false if the energy is only observed.
        initial_energy: E_0 of the rendering at the start [J].
        device_damping: b, physical damping of the device in the observer [N s/m] or [N m s/rad].
        largest_damping: a_max [N s/m] or [N m s/rad]; 2 m/T would reverse the velocity of a mass m.
        largest_force: F_max, bound of the damper's force [N] or [N m].
        anticipate: true if the controller of an impedance port also dissipates the energy that the present force
            generates at constant velocity: E_k - T F_k . v_k in place of E_k, the sum of Hannaford and Ryu.

    Raises:
        ValueError: a number is out of its range; the message names it.
    """

    period: float
    control: bool = False
    initial_energy: float = 0.0
    device_damping: float = 0.0
    largest_damping: float = 1.0
    largest_force: float = 1.0
    anticipate: bool = False

    def __post_init__(self) -> None:
        if not 0.0 < self.period < math.inf:
            raise ValueError(f"period: expected above 0 [s], got {self.period}")
        for name, unit in (
            ("initial_energy", "J"),
            ("device_damping", "N s/m"),
            ("largest_damping", "N s/m"),
            ("largest_force", "N"),
        ):
            if not 0.0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name}: expected 0 or more [{unit}], got {getattr(self, name)}")


class Port:
    """Energy balance of a port, and the damper that keeps it passive.

    Args:
        rule: limits of the energy and of the damper.
        weights: weights of the squares in |v|^2, shape (n,).

    The methods raise ValueError for vectors of another length than the weights.

    Attributes:
        energy: E_k [J]; below -E_0 the port is active.
        power: mean power absorbed in the last period [W].
        dissipated: energy that the controller's damper has dissipated [J]; part of `energy`.
        damping: a of the present period [N s/m] or [N m s/rad].
    """

    def __init__(self, rule: PassivityRule, weights: Sequence[float]) -> None:
        self.rule, self.weights = rule, tuple(weights)
        self._nothing = (0.0,) * len(self.weights)
        self.restart()

    def restart(self) -> None:
        """Sets energy, dissipation, damping and force to zero."""
        self.energy = self.power = self.dissipated = self.damping = 0.0

    def _check(self, *vectors: Sequence[float]) -> None:
        """Raises ValueError unless each of the vectors has as many numbers as there are weights."""
        n = len(self.weights)
        for vector in vectors:
            if len(vector) != n:
                raise ValueError(f"port: expected vectors of {n} numbers, as many as weights, got one of {len(vector)}")

    def absorb(self, force: Sequence[float], moved: Sequence[float]) -> None:
        """Adds the energy of one period with a constant force (n,) on the device and a displacement (n,)."""
        self._check(force, moved)
        self._add(-sum(map(mul, force, moved)))

    def _add(self, work: float) -> None:
        if not math.isfinite(work):
            return  # the safety layer stops a device whose readings are not finite
        self.power = work / self.rule.period
        self.energy += work

    def _damper(self, velocity: Sequence[float], coming: float = 0.0) -> Sequence[float] | None:
        """Computes the damper's force against the motion (n,) in the present period; None if no damping is needed.

        Args:
            velocity: velocity of the port, shape (n,).
            coming: energy that the port is expected to absorb in the present period [J].
        """
        rule, self.damping = self.rule, 0.0
        deficit = -(self.energy + rule.initial_energy + coming)
        if deficit <= 0.0 or not rule.control:
            return None
        weighted = tuple(map(mul, self.weights, velocity))
        square = sum(map(mul, weighted, velocity))
        if square <= 0.0:
            return None  # a port at rest dissipates no energy
        self.damping = a = min(
            deficit / (rule.period * square), rule.largest_damping, rule.largest_force / math.sqrt(square)
        )
        return [a * speed for speed in weighted]


class ImpedancePort(Port):
    """Port of a rendering that responds to motion with forces, constant over a period.

    Args:
        rule, weights: see `Port`.
        delay: number of periods from the sample of a force to its effect.
    """

    def __init__(self, rule: PassivityRule, weights: Sequence[float], delay: int = 0) -> None:
        self._delay = delay
        super().__init__(rule, weights)

    def restart(self) -> None:
        super().restart()
        idle: tuple[Sequence[float], Sequence[float]] = (self._nothing, self._nothing)
        self._coming, self._acting = deque([idle] * self._delay), idle
        self._credit = 0.0

    def arrive(self, moved: Sequence[float]) -> None:
        """Takes the displacement (n,) of the port since the last sample."""
        force, damper = self._acting
        self.absorb(force, moved)
        self.dissipated += sum(map(mul, damper, moved))
        b = self.rule.device_damping
        self._credit = b * sum(map(mul, map(mul, self.weights, moved), moved)) / self.rule.period if b else 0.0
        if any(force):
            self._take_credit()

    def _take_credit(self) -> None:
        self.energy += self._credit
        self.power += self._credit / self.rule.period
        self._credit = 0.0

    def hold(self, force: Sequence[float], velocity: Sequence[float]) -> Sequence[float]:
        """Returns the force for the period that begins.

        Args:
            force: force of the rendering on the device, shape (n,).
            velocity: velocity of the port, shape (n,).

        Returns:
            Force with the damper, shape (n,); the same object if there is no damper.
        """
        self._check(force, velocity)
        if self._credit and any(force):
            self._take_credit()  # of the period in which the port reached a region with a force
        coming = -self.rule.period * sum(map(mul, force, velocity)) if self.rule.anticipate else 0.0
        damper = self._damper(velocity, coming)
        held = force if damper is None else list(map(sub, force, damper))
        # a copy, since the caller may use its array again for the next force
        self._coming.append((tuple(held), self._nothing if damper is None else damper))
        self._acting = self._coming.popleft()
        return held


class AdmittancePort(Port):
    """Port of a rendering that responds to the user's force with motion."""

    def restart(self) -> None:
        super().restart()
        self._last: Sequence[float] | None = None
        self._taken: Sequence[float] = self._nothing

    def arrive(self, moved: Sequence[float], force: Sequence[float]) -> None:
        """Takes the displacement (n,) since the last sample, and the user's force (n,) on the port at this sample."""
        self._check(moved, force)
        if self._last is not None:
            self._add(0.5 * (sum(map(mul, self._last, moved)) + sum(map(mul, force, moved))))
        self.dissipated += sum(map(mul, self._taken, moved))
        self._last = tuple(force)  # a copy, since the caller may use its array again

    def damped_force(self, force: Sequence[float], velocity: Sequence[float]) -> Sequence[float]:
        """Returns the force (n,) for the rendering: the user's force (n,) minus the damper's at a velocity (n,)."""
        self._check(force, velocity)
        damper = self._damper(velocity)
        self._taken = self._nothing if damper is None else damper
        return force if damper is None else list(map(sub, force, damper))

    def _former_name(self) -> Callable[[Sequence[float], Sequence[float]], Sequence[float]]:
        """Returns `damped_force` under the name that it had before."""
        message = "AdmittancePort.told has been renamed; use AdmittancePort.damped_force"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return self.damped_force

    told = property(_former_name)
