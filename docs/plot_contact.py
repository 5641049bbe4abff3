"""Draws the figures of docs/contact.md for sections VIII and IX: ./haptics exec python docs/plot_contact.py

Conditioning at impacts (VIII): G_t = d|gamma_t|/d|v_t| at rest and the condition number of the Hessian for a ball that
lands. Barriers (IX): force laws of an interior-point method and of incremental potential contact beside springs.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq

from convex_contact import ContactProblem, solve

IMAGES = Path(__file__).with_name("images")
MASS, RADIUS, GRAVITY, FRICTION, STIFFNESS, PERIOD = 0.5, 0.025, 9.81, 0.5, 1e7, 2e-3
STICTION_TOLERANCE, SIGMA = 1e-4, 1e-3
COLORS = {"sap": "tab:orange", "lagged": "tab:blue", "lagged_regularized": "tab:green", "similar": "tab:red"}


def landing(speed: float, approximation: str) -> tuple[float, float]:
    """Solves the first full step of a ball's impact; returns normal impulse [N s] and condition of the Hessian."""
    inertia = 0.4 * MASS * RADIUS**2
    jacobian = np.zeros((3, 6))
    jacobian[:, :3] = np.eye(3)
    jacobian[0, 4], jacobian[1, 3] = -RADIUS, RADIUS
    overlap = min(PERIOD * speed, MASS * GRAVITY / STIFFNESS + speed * np.sqrt(MASS / STIFFNESS))
    solution = solve(
        ContactProblem(
            A=np.diag([MASS] * 3 + [inertia] * 3),
            v_star=[0.0, 0.0, -speed - PERIOD * GRAVITY, 0.0, 0.0, 0.0],
            J=jacobian,
            phi0=[-overlap],
            v_n0=[-speed],
            period=PERIOD,
            stiffness=STIFFNESS,
            dissipation=0.0,
            relaxation_time=0.0,
            friction=FRICTION,
            stiction_tolerance=STICTION_TOLERANCE,
            sigma=SIGMA,
        ),
        approximation,
    )
    return float(solution.impulse[0, 2]), solution.condition_number


def draw_conditioning() -> None:
    """Draws the figure for section VIII."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    w = np.sqrt(2.0 * 3.5**2 + 1.0) / (3.0 * MASS)  # |J A^-1 J^T|_F / 3 of a ball: 3.5/m twice along the plane, 1/m
    impulse = np.geomspace(1e-6, 10.0, 200)
    slope = FRICTION * impulse / STICTION_TOLERANCE
    left.loglog(impulse, np.full_like(impulse, 1.0 / (SIGMA * w)), color=COLORS["sap"], label="sap: 1/(sigma w)")
    left.loglog(impulse, slope, color=COLORS["lagged"], label="lagged, similar: mu gamma_n / v_s")
    limited = np.minimum(slope, 1.0 / (SIGMA * w))
    left.loglog(impulse, limited, ":", lw=3, color=COLORS["lagged_regularized"], label="regularised, (26)")
    for period in (1e-5, 1e-3, 1e-2):
        left.axvline(MASS * GRAVITY * period, color="0.8", zorder=0)
        left.text(
            MASS * GRAVITY * period, 1.2e-2, f" weight, {1e3 * period:g} ms", rotation=90, color="0.4", va="bottom"
        )
    left.axvline(MASS, color="0.6", zorder=0)
    left.text(MASS, 1.2e-2, " impact at 1 m/s", rotation=90, color="0.4", va="bottom")
    left.set(xlabel="normal impulse (N s)", ylabel="G_t at rest (kg)", ylim=(1e-2, 1e5))
    left.legend()
    speeds = np.geomspace(1e-3, 10.0, 25)
    for approximation, color in COLORS.items():
        right.loglog(speeds, [landing(s, approximation)[1] for s in speeds], color=color, label=approximation)
    right.set(xlabel="speed of the impact (m/s)", ylabel="condition number of the Hessian")
    right.legend()
    figure.savefig(IMAGES / "contact_conditioning.png", dpi=110)
    plt.close(figure)


def barrier(phi: np.ndarray | float, kappa: float) -> np.ndarray | float:
    """Computes the force of the logarithmic barrier, (27)."""
    return kappa / phi


def incremental_potential(phi: np.ndarray, kappa: float, thickness: float) -> np.ndarray:
    """Computes the force of incremental potential contact, section IX-B, in 0 < phi <= thickness."""
    left = np.maximum(thickness - phi, 0.0)
    return kappa * left * (left / phi - 2.0 * np.log(np.minimum(phi, thickness) / thickness))


def draw_barriers() -> None:
    """Draws the figure for section IX."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    thickness, kappa = 1e-4, 1e5
    phi = np.linspace(-2e-5, 2e-4, 2000)
    free = phi > 1e-9
    left.plot(1e3 * phi, 1e6 * np.maximum(-phi, 0.0), color="tab:blue", label="spring, k = 1e6 N/m")
    for energy, color in ((1e-4, "tab:green"), (1e-5, "tab:orange")):
        left.plot(1e3 * phi[free], barrier(phi[free], energy), color=color, label=f"log barrier (27), {energy:g} J")
    ipc = incremental_potential(phi[free], kappa, thickness)
    left.plot(1e3 * phi[free], ipc, color="tab:red", label="incremental potential, 1e5 N/m, d^ = 0.1 mm")
    near = 3.0 * kappa * np.maximum(thickness - phi, 0.0) ** 2 / thickness
    left.plot(1e3 * phi, near, ":", color="tab:red", label="its quadratic spring near d^")
    left.axhline(MASS * GRAVITY, color="0.7", zorder=0)
    left.text(0.13, MASS * GRAVITY, "weight of 0.5 kg", color="0.4", va="bottom")
    left.set(xlabel="signed distance (mm)", ylabel="normal force (N)", ylim=(0.0, 20.0), xlim=(-0.02, 0.2))
    left.legend(fontsize=8)
    weights = np.geomspace(0.1, 1000.0, 60)
    right.loglog(weights, np.full_like(weights, 1e6), color="tab:blue", label="spring, k = 1e6 N/m")
    for energy, color in ((1e-4, "tab:green"), (1e-5, "tab:orange")):
        right.loglog(weights, weights**2 / energy, color=color, label=f"log barrier, {energy:g} J")
    stiffness = []
    for weight in weights:
        gap = brentq(lambda x, f=weight: incremental_potential(x, kappa, thickness) - f, 1e-12, thickness)
        step = 1e-6 * gap
        change = incremental_potential(gap + step, kappa, thickness) - incremental_potential(
            gap - step, kappa, thickness
        )
        stiffness.append(-change / (2.0 * step))
    right.loglog(weights, stiffness, color="tab:red", label="incremental potential")
    right.set(xlabel="load (N)", ylabel="stiffness where it carries the load (N/m)")
    right.legend(fontsize=8)
    figure.savefig(IMAGES / "contact_barriers.png", dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    draw_conditioning()
    draw_barriers()
