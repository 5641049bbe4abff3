"""Compiled bookkeeping of planes: memory by key, distances, filters, beginning and end of contact."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from haptic_math.array_assignment import assign
from tau_wall_control.control import laws
from tau_wall_control.walls.records import MOST_CONTACTS
from tau_wall_control.walls.wall_filter import INVERSE_VARIANCE, THRESHOLD

#: time constant of `driven` [s], slower than the loop: a light body held by other contacts would make it unstable
DRIVEN_TIME = 0.1

#: reasons of `recall` to refuse a plane
FINE, NOT_FINITE, NOT_A_UNIT_VECTOR, NEGATIVE_MASS, KEY_AGAIN = 0, 1, 2, 3, 4


@njit(cache=True, error_model="numpy")
def forget(memory: Any) -> None:
    """Clears the memory of a plane; its filter starts with the next sample."""
    memory.distance, memory.push, memory.integral = 0.0, 0.0, 0.0
    memory.filtered_distance, memory.filtered_rate, memory.disturbance, memory.age = 0.0, 0.0, 0.0, 0
    memory.past[:], memory.past_surface[:], memory.surface_velocity[:] = 0.0, 0.0, 0.0
    memory.expected_change, memory.driven = 0.0, 0.0
    memory.in_contact, memory.is_new = False, True


@njit(cache=True, error_model="numpy")
def write_planes(
    planes: np.ndarray,
    point: np.ndarray,
    normal: np.ndarray,
    velocity: np.ndarray,
    inverse_mass: np.ndarray,
    body: np.ndarray,
) -> None:
    """Writes the fields (w, 3) and (w,) of planes to records of the type PLANE (w,)."""
    for i in range(planes.shape[0]):
        plane = planes[i]
        plane.inverse_mass, plane.body = inverse_mass[i], body[i]
        for k in range(3):
            plane.point[k], plane.normal[k], plane.velocity[k] = point[i, k], normal[i, k], velocity[i, k]


@njit(cache=True, error_model="numpy")
def check_plane(plane: Any) -> int:
    """Checks the numbers of a plane; returns `FINE` or the reason of the refusal."""
    total, length = plane.inverse_mass, 0.0
    for k in range(3):
        total += plane.point[k] + plane.normal[k] + plane.velocity[k]
        length += plane.normal[k] * plane.normal[k]
    if not math.isfinite(total):
        return NOT_FINITE
    if abs(length - 1.0) > 1e-6:
        return NOT_A_UNIT_VECTOR
    return NEGATIVE_MASS if plane.inverse_mass < 0.0 else FINE


@njit(cache=True, error_model="numpy")
def recall(
    keys: np.ndarray, known: np.ndarray, planes: np.ndarray, old: np.ndarray, memory: np.ndarray
) -> tuple[int, int]:
    """Gives each plane the memory of its key, or an empty one; returns reason and index of a refused plane."""
    for i in range(keys.shape[0]):
        wrong = check_plane(planes[i])
        if wrong != FINE:
            return wrong, i
        for j in range(i):
            if keys[i] == keys[j]:
                return KEY_AGAIN, i
        forget(memory[i])
        for j in range(known.shape[0]):
            if keys[i] == known[j]:
                memory[i] = old[j]
    return FINE, 0


@njit(cache=True, error_model="numpy", forceinline=True)
def start_filter(plane: Any, memory: Any, twist: np.ndarray) -> None:
    """Starts the filter of a new plane with its distance and rate."""
    memory.filtered_distance, memory.is_new = memory.distance, False
    for k in range(3):
        memory.filtered_rate += plane.normal[k] * (twist[k] - plane.velocity[k])


@njit(cache=True, error_model="numpy", forceinline=True)
def follow_surface(plane: Any, memory: Any, period: float) -> None:
    """Updates the filter by the unexpected change of the surface's velocity since the last sample."""
    change = -memory.expected_change
    for k in range(3):
        change += plane.normal[k] * (plane.velocity[k] - memory.surface_velocity[k])
    memory.filtered_distance -= period * change
    memory.filtered_rate -= change
    memory.driven -= change / max(DRIVEN_TIME, period)


@njit(cache=True, error_model="numpy", forceinline=True)
def correct_filter(filter_gains: np.ndarray, memory: Any) -> None:
    """Corrects a plane's filter [distance, rate, disturbance] by the measured distance.

    After an improbable innovation come the gains of a filter that knows that the disturbance has just jumped.
    """
    innovation = memory.distance - memory.filtered_distance
    k = 0
    age = memory.age
    threshold = filter_gains[0, THRESHOLD]
    if threshold > 0.0:
        if age == 0 and innovation * innovation * filter_gains[0, INVERSE_VARIANCE] > threshold:
            age = 1
        if 0 < age <= laws.JUMP_GAINS:
            k = age
        if age > 0:
            age = age + 1 if age < laws.JUMP_REST else 0
        memory.age = age
    memory.filtered_distance += filter_gains[k, 0] * innovation
    memory.filtered_rate += filter_gains[k, 1] * innovation
    memory.disturbance += filter_gains[k, 2] * innovation


@njit(cache=True, error_model="numpy", forceinline=True)
def find_contacts(
    settings: Any,
    filter_gains: np.ndarray,
    planes: np.ndarray,
    memories: np.ndarray,
    p: np.ndarray,
    twist: np.ndarray,
    contacts: np.ndarray,
) -> int:
    """Measures the planes' distances, corrects their filters and begins contacts; returns the number of contacts.

    Args:
        settings: record of the type SETTINGS.
        filter_gains: see `wall_filter`.
        planes, memories: records of the types PLANE and PLANE_MEMORY (w,).
        p: position of the tool (3,) [m].
        twist: twist of the tool (6,) [m/s, rad/s].
        contacts: result, indices of the planes in contact, (MOST_CONTACTS,).
    """
    count = 0
    for w in range(planes.shape[0]):
        plane, memory = planes[w], memories[w]
        distance = 0.0
        for k in range(3):
            distance += plane.normal[k] * (p[k] - plane.point[k])
        memory.distance = distance
        if memory.is_new:
            start_filter(plane, memory, twist)
        else:
            follow_surface(plane, memory, settings.period)
        assign(memory.surface_velocity, plane.velocity)
        if settings.mode & laws.OBSERVER:
            correct_filter(filter_gains, memory)
        if not memory.in_contact and distance < 0.0:
            memory.in_contact, memory.integral, memory.push = True, 0.0, 0.0
        if memory.in_contact and count < MOST_CONTACTS:
            contacts[count] = w
            count += 1
    return count


@njit(cache=True, error_model="numpy", forceinline=True)
def predict_filter(memory: Any, settings: Any, acceleration: float, surface_acceleration: float) -> None:
    """Predicts a plane's filter for the next sample.

    Args:
        memory: memory of the plane.
        settings: record of the type SETTINGS.
        acceleration: acceleration of the tool along the normal by the command of this sample [m/s^2].
        surface_acceleration: acceleration of the surface away from the tool by the normal forces of this sample
            [m/s^2].
    """
    period, delay = settings.period, settings.delay
    acting, given = acceleration, surface_acceleration
    if delay > 0:
        acting, given = memory.past[0], memory.past_surface[0]
        for m in range(delay - 1):
            memory.past[m] = memory.past[m + 1]
            memory.past_surface[m] = memory.past_surface[m + 1]
        memory.past[delay - 1], memory.past_surface[delay - 1] = acceleration, surface_acceleration
    given += memory.driven
    memory.expected_change = -period * given
    acting += memory.disturbance + given
    memory.filtered_distance += period * memory.filtered_rate + 0.5 * period * period * acting
    memory.filtered_rate += period * acting


@njit(cache=True, error_model="numpy", forceinline=True)
def end_contact(memory: Any, settings: Any, saturated: bool) -> None:
    """Updates the integral, and ends a contact outside the wall without normal force or beyond the release gap."""
    if not memory.in_contact:
        return
    if not (saturated and memory.distance < 0.0):
        memory.integral -= settings.period * memory.distance
    if memory.distance > settings.release_gap or (memory.distance > 0.0 and memory.push <= 0.0):
        memory.in_contact, memory.integral, memory.push = False, 0.0, 0.0
