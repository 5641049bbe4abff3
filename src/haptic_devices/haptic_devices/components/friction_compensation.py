"""Feedforward of joint friction from the desired joint velocity, by elements of model C.

For the servo, the friction of a geared joint is a disturbance that changes its sign with the velocity. The
compensator adds the friction that a model predicts for the desired velocity, before an error arises:

    "model_c"   one model C (38) per joint: Coulomb and viscous friction in series with one spring
    "parallel"  n equal models C in parallel, element i of which slips after s (i/n)^2: presliding hysteresis
                (Kikuuwe et al., section VI, proposes this)

The single element slips after s/3, the mean of s x^2 over many elements.
"""

from __future__ import annotations

import numpy as np

from haptic_friction import ModelC, ParallelElements, ViscousCoulombLaw


class FrictionCompensation:
    """Compensation torques of the joints of a device.

    Args:
        kind: "none", "model_c" or "parallel".
        joints: number of joints.
        coulomb: predicted Coulomb friction of each joint [N m].
        viscous: predicted viscous friction [N m s/rad].
        displacement: angle s after which all elements slip [rad].
        elements: number n of elements of "parallel".
        period: control period T [s].

    Raises:
        ValueError: the kind is another one.
    """

    def __init__(
        self,
        kind: str,
        joints: int,
        *,
        coulomb: float,
        viscous: float,
        displacement: float,
        elements: int,
        period: float,
    ) -> None:
        if kind not in ("none", "model_c", "parallel"):
            raise ValueError(f"kind: expected none, model_c or parallel, got {kind!r}")
        self._torque = np.zeros(joints)
        count = elements if kind == "parallel" else 1

        def element(slip: float) -> ModelC:
            law = ViscousCoulombLaw(coulomb / count, viscosity=viscous / count)
            return ModelC(law, stiffness=coulomb / count / slip, damping=0.0, period=period)

        def joint() -> ModelC | ParallelElements:
            if kind == "model_c":
                return element(displacement / 3.0)
            return ParallelElements([element(displacement * (i / count) ** 2) for i in range(1, count + 1)])

        self._joints = [] if kind == "none" else [joint() for _ in range(joints)]

    def reset(self) -> None:
        """Resets the deflections of all springs to zero."""
        for joint in self._joints:
            joint.reset()

    def step(self, desired_velocity: np.ndarray) -> np.ndarray:
        """Computes torques (joints,) [N m] for desired velocities (joints,) [rad/s]; the returned array is reused."""
        for i, joint in enumerate(self._joints):
            self._torque[i] = joint.step(desired_velocity[i : i + 1])[0]
        return self._torque
