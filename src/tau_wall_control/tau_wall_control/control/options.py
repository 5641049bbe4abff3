"""Schemes of wall control and their options.

sopc        LQI of the paper at one operating point, the centre
mopc        the same at 27 points; the gains of the subspace that the contact is in
scheduled   the same gains interpolated trilinearly, exact gravity: no jump while sliding
observer    LQR with a disturbance observer, weights along the wall's normal, torque sharing at saturation,
            interpolated
stiff       observer whose model knows one sample of delay and whose filter adapts to jumps of the push
predictive  the same with the torque limits as constraints over a horizon instead of torque sharing
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haptic_math.quantities import finite_number
from tau_wall_control.checks import vector
from tau_wall_control.control import laws
from tau_wall_control.errors import TauError


@dataclass(frozen=True)
class DesignOptions:
    """Options of a scheme.

    Attributes:
        interpolated: true interpolates the gains between operating points; false takes those of the contact's subspace.
        exact_gravity: true if tau0 is the gravity torque of the contact pose, false for that of the operating point.
        observer: true for LQR without integral and a Kalman filter for an input torque, false for LQI.
        normal_weight: w of W = diag(1, 1, w, Lc^2, Lc^2, Lc^2) for a wall along z; None: equal weights of the joints.
        normal: normal of the wall, world axes.
        sharing: true for torque sharing when a joint saturates.
        estimated: true for feedback of the filter's state instead of the measured one.
        constrained: true for torque limits as constraints over a horizon; requires observer and estimated.
        jump_threshold: innovation nu^T S^-1 nu, 6 on average, that indicates a jump of the push; 0 for never.
        jump: standard deviation of such a jump in each joint [N m].
        disturbance_rate: random walk of the input torque, variance rate^2 Ts per sample [N m/sqrt(s)].
        weight_angle, weight_rate, weight_torque: Q = 1/weight^2 [rad], [rad/s] and R [N m]; None for the device file's.
        delay: known delay of a command [samples].
        feedforward: true if a moving reference (`WallController.follow`) adds the torques of its inverse dynamics.
        points: operating points along each axis [m]; the device file's if empty.

    Examples:
        >>> from tau_wall_control import DesignOptions
        >>> DesignOptions(normal_weight=4.0).normal
        (0.0, 0.0, 1.0)
    """

    interpolated: bool = True
    exact_gravity: bool = True
    observer: bool = False
    normal_weight: float | None = None
    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)
    sharing: bool = False
    estimated: bool = False
    constrained: bool = False
    jump_threshold: float = 0.0
    jump: float = 1.0
    disturbance_rate: float = 0.1
    weight_rate: float | None = None
    weight_angle: float | None = None
    weight_torque: float | None = None
    delay: int = 0
    feedforward: bool = False
    points: tuple[float, ...] = ()

    def check(self) -> None:
        """Raises TauError for inconsistent options."""
        if not isinstance(self.delay, (int, np.integer)) or not 0 <= self.delay <= laws.LONGEST_DELAY:
            raise TauError(f"delay: expected 0 to {laws.LONGEST_DELAY} samples, got {self.delay}")
        if self.delay and not self.observer:
            raise TauError("delay: a known delay needs the scheme stiff or predictive")
        if self.constrained and not (self.observer and self.estimated):
            raise TauError("constrained: needs observer and estimated")
        if self.jump_threshold and not self.observer:
            raise TauError("jump_threshold: needs observer")
        if not np.linalg.norm(vector("normal", self.normal, (3,))) > 0.0:
            raise TauError(f"normal: expected a direction, got {self.normal}")
        for name in ("normal_weight", "weight_rate", "weight_angle", "weight_torque", "jump", "disturbance_rate"):
            if getattr(self, name) is not None:
                finite_number(name, getattr(self, name), above=0.0, error=TauError)
        finite_number("jump_threshold", self.jump_threshold, minimum=0.0, error=TauError)
        points = vector("points", self.points, (np.size(self.points),))
        if (np.diff(points) <= 0.0).any():
            raise TauError(f"points: expected rising numbers, got {self.points}")

    @property
    def mode(self) -> int:
        """Flags of `laws`."""
        flags = (
            (laws.INTEGRAL, not self.observer),
            (laws.OBSERVER, self.observer),
            (laws.SHARING, self.sharing),
            (laws.ESTIMATED, self.estimated),
            (laws.CONSTRAINED, self.constrained),
            (laws.JUMPS, self.jump_threshold > 0.0),
        )
        return sum(flag for flag, on in flags if on)


SCHEMES: dict[str, DesignOptions] = {
    "sopc": DesignOptions(interpolated=False, exact_gravity=False, points=(0.0,)),
    "mopc": DesignOptions(interpolated=False, exact_gravity=False),
    "scheduled": DesignOptions(),
    "observer": DesignOptions(observer=True, normal_weight=10.0, sharing=True),
    "stiff": DesignOptions(
        observer=True,
        normal_weight=10.0,
        sharing=True,
        jump_threshold=60.0,
        disturbance_rate=0.3,
        weight_angle=0.007,
        weight_rate=5.0,
        delay=1,
    ),
    "predictive": DesignOptions(
        observer=True,
        normal_weight=10.0,
        estimated=True,
        constrained=True,
        jump_threshold=60.0,
        disturbance_rate=0.3,
        weight_rate=3.0,
        delay=1,
    ),
}
