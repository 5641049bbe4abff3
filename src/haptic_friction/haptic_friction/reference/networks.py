"""Energy and stability of networks of elements of model C whose base moves along one line."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from haptic_friction.network import ContactNetwork, ImplicitNetwork


class EnergyBalance(NamedTuple):
    """Balance of a network's energy over a run.

    Attributes:
        work: work of the base on its true path, with its force constant over each period [J].
        stored: kinetic and elastic energy at the end [J].
        rubbed: energy that the contacts dissipated by sliding [J].
        damped: energy that the dampers of the contacts dissipated [J].
        open: work minus the other three energies [J].
        least: smallest work up to any tick [J].
        least_loss: smallest difference of work and stored energy at any tick [J].
    """

    work: float
    stored: float
    rubbed: float
    damped: float
    open: float
    least: float
    least_loss: float


def energy_balance(
    base: np.ndarray,
    base_force: np.ndarray,
    position: np.ndarray,
    velocity: np.ndarray,
    displacement: np.ndarray,
    *,
    mass: np.ndarray,
    spring: np.ndarray,
    stiffness: np.ndarray,
    damping: np.ndarray,
    dissipated: float,
    period: float,
) -> EnergyBalance:
    """Balances the energy of a network.

    Args:
        base: True position of the base [m], shape (n,).
        base_force: force of the base on the network in the period after each tick [N], shape (n,).
        position, velocity: positions [m] and velocities [m/s] of the bodies, shape (n, bodies).
        displacement: elastic displacements of the contacts [m], shape (n, contacts).
        mass, spring: masses [kg] and stiffness of the springs to the wall [N/m], shape (bodies,).
        stiffness, damping: K [N/m] and B [N s/m] of the contacts, shape (contacts,).
        dissipated: energy that the contacts dissipated by sliding [J].
        period: T [s].
    """
    work = np.concatenate([[0.0], np.cumsum(base_force[:-1] * np.diff(base))])
    stored = 0.5 * (velocity**2 @ mass + position**2 @ spring + displacement**2 @ stiffness)
    rates = np.diff(displacement, axis=0, prepend=0.0) / period
    damped = float(period * (rates**2 @ damping).sum())
    left = float(work[-1] - stored[-1] - dissipated - damped)
    least, least_loss = float(work.min()), float((work - stored).min())
    return EnergyBalance(float(work[-1]), float(stored[-1]), dissipated, damped, left, least, least_loss)


def stuck_radius(network: ContactNetwork | ImplicitNetwork) -> float:
    """Computes the spectral radius of the map over one period while all contacts stick; 1 is the limit of stability."""
    return float(np.abs(np.linalg.eigvals(network.stuck_map())).max())


def restlessness(force: np.ndarray, limits: np.ndarray) -> float:
    """Computes the largest RMS change of a contact force from tick to tick, relative to its friction force.

    Args:
        force: forces [N], shape (n, contacts).
        limits: friction forces [N], shape (contacts,).
    """
    changes = (np.diff(force, axis=0) / limits).T
    return max(float(np.sqrt(np.mean(np.square(change)))) for change in changes)
