"""Passivity in the time domain: the energy at a port, and the damping that keeps the port passive. No ROS.

A force F_k (on the device) is held for one period while the port moves by dx. The energy that the rendering has
absorbed is, whatever the motion between the samples, exactly (Ryu, Kim and Hannaford 2004)

    E_(k+1) = E_k - F_k . dx + b |dx|^2 / T,                                                          (observer)

The last term is the least energy that a physical damper b of the device dissipates in any motion by dx within T; b = 0
leaves it out. It counts only in periods with a force, so that free motion accumulates no credit. With the energy E_0
at the start the port is passive as long as E_k + E_0 >= 0. If the sum is negative, a damper dissipates the deficit
in the next period (Hannaford and Ryu 2002), within bounds:

    F_k <- F_k - a_k v_k,     a_k = min(-(E_k + E_0) / (T |v_k|^2), a_max, F_max / |v_k|).            (controller)

An admittance device is held by the user's force f on it, which is measured and not held: E grows by
(f_k + f_(k+1))/2 . dx. The controller subtracts a_k v_k from the force that the rendering receives: the rendered
mechanism gets a damper, and keeps its constraints.

**The sampled wall.** A spring K and damper B (of the rate by differences), sampled and held, give in a motion of
frequency omega at most (K T/2 - B cos(omega T)) v^2. A device with physical damping b is passive with them, for every
user, if and only if (Colgate and Schenkel 1997)

    b > K T/2 + |B|,        and without damper K < 2 b / T.

Vectors are sequences of n numbers: joints (N m and rad, or N and m), or a tool's [linear; angular], where |v|^2 is
|v|^2 + LEVER^2 |w|^2.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul, sub

#: lever at which a damper of a tool's translation damps its rotation, too: half of a hand's breadth [m]
LEVER = 0.05
#: squares of a tool's speeds, [linear; angular], in |v|^2
TOOL_WEIGHTS = (1.0, 1.0, 1.0, LEVER**2, LEVER**2, LEVER**2)


def largest_passive_stiffness(damping: float, period: float, virtual_damping: float = 0.0) -> float:
    """The stiffest sampled wall K that a device with physical damping b makes passive [N/m]; 0 if none is.

    Args:
        damping: b [N s/m].
        period: T [s].
        virtual_damping: B of the wall [N s/m].
    """
    return max(0.0, 2.0 * (damping - abs(virtual_damping)) / period)


def tool_motion(start: Sequence[float], end: Sequence[float]) -> tuple[float, ...]:
    """From one pose to another: translation [m] and small rotation [rad], (6,), in the base frame.

    The rotation is 2 sin(angle/2) about its axis; poses are x, y, z and unit quaternion x, y, z, w.
    """
    x, y, z, qx, qy, qz, qw = start
    u, v, w, px, py, pz, pw = end
    turn = 2.0 if pw * qw + px * qx + py * qy + pz * qz >= 0.0 else -2.0  # both signs are the same orientation
    return (
        u - x, v - y, w - z,
        turn * (px * qw - pw * qx - py * qz + pz * qy),
        turn * (py * qw - pw * qy - pz * qx + px * qz),
        turn * (pz * qw - pw * qz - px * qy + py * qx),
    )  # fmt: skip


@dataclass(frozen=True)
class PassivityRule:
    """Limits of a port's energy and of its controller.

    Attributes:
        period: T [s].
        control: the controller acts; False: it only observes.
        initial_energy: E_0 that the rendering has at the start [J].
        device_damping: b, physical damping of the device that counts [N s/m] or [N m s/rad].
        largest_damping: a_max [N s/m] or [N m s/rad]; 2 m/T would reverse the velocity of a mass m.
        largest_force: F_max, bound of the damper's force [N] or [N m].
        anticipate: the controller of an impedance port also dissipates what the force of the present period generates
            if the velocity stays: E_k - T F_k . v_k in place of E_k, the sum of Hannaford and Ryu.

    Raises:
        ValueError: a number is out of its range; names it.
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
        weights: of the squares in |v|^2, (n,).

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
        """Sets energy, dissipation and damping to zero; no force is held."""
        self.energy = self.power = self.dissipated = self.damping = 0.0

    def absorb(self, force: Sequence[float], moved: Sequence[float]) -> None:
        """One period passed, in which a force (n,) acted on the device and the port moved by (n,)."""
        self._add(-sum(map(mul, force, moved)))

    def _add(self, work: float) -> None:
        if not math.isfinite(work):
            return  # the safety layer stops a device whose readings are not finite
        self.power = work / self.rule.period
        self.energy += work

    def _damper(self, velocity: Sequence[float], coming: float = 0.0) -> Sequence[float] | None:
        """The damper's force against the motion (n,) for the present period; None: none is needed.

        Args:
            velocity: of the port (n,).
            coming: energy that the port is expected to absorb in the present period [J].
        """
        rule, self.damping = self.rule, 0.0
        deficit = -(self.energy + rule.initial_energy + coming)
        if deficit <= 0.0 or not rule.control:
            return None
        weighted = tuple(map(mul, self.weights, velocity))
        square = sum(map(mul, weighted, velocity))
        if square <= 0.0:
            return None  # at rest nothing can be damped
        self.damping = a = min(
            deficit / (rule.period * square), rule.largest_damping, rule.largest_force / math.sqrt(square)
        )
        return [a * speed for speed in weighted]


class ImpedancePort(Port):
    """Port of a rendering that answers motion with forces, which are held.

    Args:
        rule, weights: as of `Port`.
        delay: periods from a force's sample to when it acts.
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
        """The port has moved by (n,) since the last sample."""
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
        """The force to hold from this sample on.

        Args:
            force: that the rendering wants on the device (n,).
            velocity: of the port (n,).

        Returns:
            The force with the damper (n,), the same object if there is none.
        """
        if self._credit and any(force):
            self._take_credit()  # of the period in which the port came to where there is a force
        coming = -self.rule.period * sum(map(mul, force, velocity)) if self.rule.anticipate else 0.0
        damper = self._damper(velocity, coming)
        held = force if damper is None else list(map(sub, force, damper))
        self._coming.append((held, self._nothing if damper is None else damper))
        self._acting = self._coming.popleft()
        return held


class AdmittancePort(Port):
    """Port of a rendering that answers the user's force with motion."""

    def restart(self) -> None:
        super().restart()
        self._last: Sequence[float] | None = None
        self._taken: Sequence[float] = self._nothing

    def arrive(self, moved: Sequence[float], force: Sequence[float]) -> None:
        """The port has moved by (n,) since the last sample; the user's force on it is now (n,)."""
        if self._last is not None:
            self._add(0.5 * (sum(map(mul, self._last, moved)) + sum(map(mul, force, moved))))
        self.dissipated += sum(map(mul, self._taken, moved))
        self._last = force

    def told(self, force: Sequence[float], velocity: Sequence[float]) -> Sequence[float]:
        """The user's force (n,) that the rendering receives: the force (n,) less the damper's at a velocity (n,)."""
        damper = self._damper(velocity)
        self._taken = self._nothing if damper is None else damper
        return force if damper is None else list(map(sub, force, damper))
