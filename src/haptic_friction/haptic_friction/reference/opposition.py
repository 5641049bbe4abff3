"""Direction of the friction force on a sliding tip: it opposes the velocity but for the lag of spring and encoder."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haptic_friction.reference.lag import path_lag, radius_of_curvature, steady_lag

#: speed above which the tip slides [m/s]
SLIDING_SPEED = 0.02


@dataclass(frozen=True)
class Sliding:
    """Angle between force and velocity in all samples in which the tip slides.

    Attributes:
        samples: number of samples.
        median_angle: median of the angle between -f and -v [rad].
        p95_angle: 95th percentile of that angle [rad].
        median_lag: angle that spring and encoder explain [rad].
        within_lag_share: fraction of the samples with less than that.
        within_steady_lag_share: the same with the settled lag of the spring.
        opposing_share: fraction of the samples with an angle below 90 degrees.
        mean_force: mean force [N].
        sign_flips_per_second: changes of sign of the force along the motion [1/s].
    """

    samples: int
    median_angle: float
    p95_angle: float
    median_lag: float
    within_lag_share: float
    within_steady_lag_share: float
    opposing_share: float
    mean_force: float
    sign_flips_per_second: float


def opposition(
    time: np.ndarray,
    position: np.ndarray,
    velocity: np.ndarray,
    force: np.ndarray,
    sticking: np.ndarray,
    period: float,
    *,
    yield_distance: float,
    count: float,
    delay: float,
) -> Sliding | None:
    """Measures the angle between force and velocity; None if the tip does not slide.

    The spring yields by F/K and turns with the path: on a curve of radius R the force lags the velocity by F/(K R),
    once it has settled over a path of some F/K. The encoder adds the angle by which the path turns during the
    measurement's delay, and one count along both axes of an elongation of F/K.

    Args:
        time: times of the ticks [s], shape (n,).
        position: True positions of the tip [m], shape (n, 2).
        velocity: True velocities of the tip [m/s], shape (n, 2).
        force: friction forces f in the direction of sliding [N], shape (n, 2).
        sticking: flags, shape (n,).
        period: T [s].
        yield_distance: F/K [m].
        count: displacement of the tip for one count of the encoder [m].
        delay: delay of the measured velocity [s].
    """
    speed = np.linalg.norm(velocity, axis=1)
    magnitude = np.linalg.norm(force, axis=1)
    sliding = (speed > SLIDING_SPEED) & (magnitude > 0.0) & ~sticking
    if not sliding.any():
        return None
    along = np.sum(force[sliding] * velocity[sliding], axis=1)
    angle = np.arccos(np.clip(along / (speed[sliding] * magnitude[sliding]), -1.0, 1.0))
    radius = radius_of_curvature(velocity, time)[sliding]
    encoder = delay * speed[sliding] / radius + np.sqrt(2.0) * count / yield_distance
    # where the true tip does not slide yet, the elongation may point anywhere
    lag = np.nan_to_num(path_lag(position, velocity, yield_distance)[sliding], nan=np.pi) + encoder
    flips = np.count_nonzero(np.diff(np.sign(along)) != 0.0)
    return Sliding(
        samples=int(sliding.sum()),
        median_angle=float(np.median(angle)),
        p95_angle=float(np.percentile(angle, 95)),
        median_lag=float(np.median(lag)),
        within_lag_share=float(np.mean(angle < lag)),
        within_steady_lag_share=float(np.mean(angle < steady_lag(radius, yield_distance) + encoder)),
        opposing_share=float(np.mean(angle < 0.5 * np.pi)),
        mean_force=float(magnitude[sliding].mean()),
        sign_flips_per_second=float(flips / (sliding.sum() * period)),
    )
