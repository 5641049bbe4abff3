"""Forces of a mass with friction that a hand moves in the plane, on straight parts of its path and in curves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haptic_devices.five_bar.motion_analysis import PathMotion


@dataclass(frozen=True)
class SlidingMotion(PathMotion):
    """Force and motion below a frequency, without phase shift; n ticks.

    Attributes:
        force: measured force h of the hand [N], shape (n, 2).
        sliding: flags of the ticks at which the tool slides while the hand leads, shape (n,).
        straight: flags of those at which it slides straight on, shape (n,).
        curved: flags of those at which it slides round a curve, shape (n,).
    """

    force: np.ndarray
    sliding: np.ndarray
    straight: np.ndarray
    curved: np.ndarray

    def residual(self, mass: float, resistance: np.ndarray) -> np.ndarray:
        """Computes h - f v/|v| - M a (n, 2) [N], of a mass [kg] against a resistance f (n,) [N]."""
        return self.force - resistance[:, None] * self.along - mass * self.acceleration


@dataclass(frozen=True)
class Straight:
    """Straight motions: direction of the measured force, and what M a and friction leave of it.

    Attributes:
        samples: number of samples.
        median_angle: median of the angle between measured force and velocity [rad].
        p95_angle: 95th percentile of that angle [rad].
        mean_force: mean of the measured force [N].
        mean_friction: mean of |h - M a| [N].
        residual_rms: RMS of h - F v/|v| - M a [N].
    """

    samples: int
    median_angle: float
    p95_angle: float
    mean_force: float
    mean_friction: float
    residual_rms: float


@dataclass(frozen=True)
class Curved:
    """Curves: the force's component towards the inside against M v^2/R.

    Attributes:
        samples: number of samples.
        median_slant: angle of the force to the motion, towards the inside [rad].
        inward_share: fraction of the samples with a force towards the inside.
        mean_inward: mean force towards the inside [N].
        mean_expected: mean of M v^2/R [N].
        largest_inward: largest force towards the inside [N].
        largest_expected: largest M v^2/R [N].
        difference_rms: RMS of the difference between that force and M v^2/R [N].
    """

    samples: int
    median_slant: float
    inward_share: float
    mean_inward: float
    mean_expected: float
    largest_inward: float
    largest_expected: float
    difference_rms: float


def rms_length(values: np.ndarray) -> float:
    """Computes the root of the mean square length of rows (n, k), or of numbers (n,)."""
    return float(np.sqrt(np.mean(np.sum(values.reshape(len(values), -1) ** 2, axis=1))))


def straight(motion: SlidingMotion, mass: float, resistance: np.ndarray) -> Straight | None:
    """Measures the straight motions of a mass [kg] against a resistance (n,) [N]; None if there are none."""
    chosen = motion.straight
    if not chosen.any():
        return None
    force, along = motion.force[chosen], motion.along[chosen]
    across = along[:, 0] * force[:, 1] - along[:, 1] * force[:, 0]
    angle = np.abs(np.arctan2(across, np.sum(along * force, axis=1)))
    friction = force - mass * motion.acceleration[chosen]
    return Straight(
        samples=int(chosen.sum()),
        median_angle=float(np.median(angle)),
        p95_angle=float(np.percentile(angle, 95)),
        mean_force=float(np.linalg.norm(force, axis=1).mean()),
        mean_friction=float(np.linalg.norm(friction, axis=1).mean()),
        residual_rms=rms_length(motion.residual(mass, resistance)[chosen]),
    )


def curve(motion: SlidingMotion, mass: float) -> Curved | None:
    """Measures the curves of a mass [kg]; None if there are none."""
    chosen = motion.curved
    if not chosen.any():
        return None
    force = motion.force[chosen]
    inward = np.sum(force * motion.inside[chosen], axis=1)
    expected = mass * motion.normal[chosen]
    slant = np.arctan2(inward, np.sum(force * motion.along[chosen], axis=1))
    return Curved(
        samples=int(chosen.sum()),
        median_slant=float(np.median(slant)),
        inward_share=float(np.mean(inward > 0.0)),
        mean_inward=float(inward.mean()),
        mean_expected=float(expected.mean()),
        largest_inward=float(inward.max()),
        largest_expected=float(expected.max()),
        difference_rms=rms_length(inward - expected),
    )
