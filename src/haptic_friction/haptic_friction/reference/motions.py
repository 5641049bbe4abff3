"""Motions of one mass with Coulomb friction in closed form (Figs. 6, 7, 13 and 14 of Kikuuwe et al.)."""

from __future__ import annotations

import numpy as np
from scipy.linalg import expm


def model_a_motion(
    steps: int, *, period: float, mass: float, force: float, pull: float, start: float
) -> tuple[np.ndarray, np.ndarray]:
    """Computes steps of model A under a constant pull in closed form, the solutions of (12) and (13).

    The velocity falls along a straight line until the step that would pass zero. In that step, friction reduces the
    velocity v* of a step without friction by up to T F/M. After it the velocity stays zero where |pull| is at most F,
    or follows another straight line. Short periods give the continuous motion.

    Args:
        steps: number of steps; entry 0 is step 1.
        period: T [s].
        mass: M [kg].
        force: friction force F [N].
        pull: h [N], against the start velocity.
        start: v_0 [m/s], not zero.

    Returns:
        Velocity v [m/s] and friction force f [N], shape (steps,) each.
    """
    k, gain, direction = np.arange(1, steps + 1), period / mass, np.sign(start)
    v = start + k * gain * (pull - direction * force)
    f = np.full(steps, direction * force)
    crossing = int(np.count_nonzero(direction * v > 0.0))  # first entry that would pass zero
    if crossing < steps:
        free = start + crossing * gain * (pull - direction * force) + gain * pull
        left = np.sign(free) * max(abs(free) - gain * force, 0.0)
        slope = np.sign(pull) * max(abs(pull) - force, 0.0)
        v[crossing:] = left + np.arange(steps - crossing) * gain * slope
        f[crossing] = (free - left) / gain
        f[crossing + 1 :] = pull - slope
    return v, f


def model_d_deviation(
    velocity: np.ndarray, force: np.ndarray, displacement: np.ndarray, pull: np.ndarray, *, period: float, mass: float,
    stiffness: float, damping: float, friction: float, start: float,
) -> float:  # fmt: skip
    """Computes by how much steps of model D with Coulomb friction miss (39), (40) and (41).

    Args:
        velocity, force, displacement, pull: u [m/s], f [N], e [m] and h [N] of steps 1, 2, ..., shape (n,) each.
        period: T [s].
        mass, stiffness, damping: M [kg], K [N/m], B [N s/m].
        friction: F [N].
        start: u_0 [m/s]; e_0 is zero.

    Returns:
        Largest deviation [N]. That of (39) is f - min(max(f + M v/T, -F), F) with the velocity v at the contact: zero
        where v is zero and |f| at most F, or f is F sgn v.
    """
    elongation = np.diff(displacement, prepend=0.0) / period
    law = force - np.clip(force + mass / period * (velocity - elongation), -friction, friction)
    element = force - stiffness * displacement - damping * elongation
    momentum = mass / period * np.diff(velocity, prepend=start) - pull + force
    return float(np.abs((law, element, momentum)).max())


def stop_time(*, mass: float, force: float, pull: float, start: float) -> float:
    """Computes the time to zero velocity of the continuous motion [s], v_0 M/(F sgn v_0 - h); see `model_a_motion`."""
    return start * mass / (np.sign(start) * force - pull)


def free_drift(force: np.ndarray, mass: float, period: float) -> float:
    """Computes the drift [m] of a mass [kg] under forces (n, 2) [N] from rest without friction, by implicit Euler."""
    velocity = np.cumsum(force, axis=0) * period / mass
    return float(np.linalg.norm(velocity.sum(axis=0) * period))


def noise_drift(noise: float, mass: float, period: float, length: float) -> float:
    """Computes the standard deviation [m] over both axes of the drift of a mass without friction under white noise.

    Args:
        noise: standard deviation of the force along each axis [N].
        mass: M [kg].
        period: T [s].
        length: time from rest [s].
    """
    return float(np.sqrt(2.0 / 3.0) * noise / mass * np.sqrt(period * length**3))


def ramp_response(
    time: np.ndarray, *, slope: float, mass: float, stiffness: float, damping: float, force: float
) -> np.ndarray:
    """Computes h = K e + B e' on a mass behind a spring and a damper whose free end moves with u = slope t (Fig. 13).

    The mass rests, e = slope t^2/2, until h reaches F; then it slides,

        e'' = slope - (K e + B e' - F)/M,

    a linear equation whose steps over a constant interval are exact matrix exponentials. From rest, with critical
    damping or more, the mass does not stop again.

    Args:
        time: equally spaced times, rising from 0 [s], shape (n,).
        slope: slope of the input [m/s^2], above 0.
        mass: M [kg].
        stiffness: K [N/m].
        damping: B [N s/m].
        force: friction force F [N].

    Returns:
        Force h of the continuous motion [N], shape (n,).
    """
    h = stiffness * slope * time**2 / 2.0 + damping * slope * time
    # root of K slope t^2/2 + B slope t = F without cancellation
    breakaway = 2.0 * force / (damping * slope + np.sqrt((damping * slope) ** 2 + 2.0 * stiffness * slope * force))
    sliding = np.flatnonzero(time > breakaway)
    if not len(sliding):
        return h
    rate = np.array([[0.0, 1.0], [-stiffness / mass, -damping / mass]])
    rest = np.array([(slope * mass + force) / stiffness, 0.0])
    state = np.array([slope * breakaway**2 / 2.0, slope * breakaway]) - rest
    state = expm(rate * (time[sliding[0]] - breakaway)) @ state
    step = expm(rate * (time[1] - time[0]))
    for k in sliding:
        h[k] = stiffness * (state + rest)[0] + damping * state[1]
        state = step @ state
    return h


def slide_to_rest(
    time: np.ndarray, *, mass: float, stiffness: float, damping: float, force: float, start: float
) -> np.ndarray:
    """Computes the velocity u of a mass on a contact with a spring and a damper, without input force (Fig. 14).

    While the contact slides, u falls with F/M and the spring is loaded, e' = (F - K e)/B. The contact sticks when e'
    reaches u. For F B/(K M u_0) well below 1 the spring is then fully loaded, e = F/K, to exp(-K t/B). From then on
    mass, spring and damper are a free, critically damped oscillator.

    Args:
        time: times [s], shape (n,).
        mass: M [kg].
        stiffness: K [N/m].
        damping: B = 2 sqrt(K M) [N s/m].
        force: friction force F [N].
        start: u_0 [m/s], above 0.

    Returns:
        Velocity u of the continuous motion [m/s], shape (n,).
    """
    stop = start * mass / force
    omega = np.sqrt(stiffness / mass)
    since = np.clip(time - stop, 0.0, None)
    back = -(force / mass) * since * np.exp(-omega * since)
    return np.where(time < stop, start - force / mass * time, back)
