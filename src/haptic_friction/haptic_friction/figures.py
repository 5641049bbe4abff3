"""Figures 1, 3, 5 and 8 of Kikuuwe et al.: conventional friction, the four models, Phi_Z, and model A.

The figures are drawn with the library's own models and laws. Each function returns a matplotlib figure.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d import Axes3D

from haptic_friction.classical.thresholds import KarnoppModel, QuinnModel, RegularizedCoulombModel
from haptic_friction.laws import CoulombLaw, FrictionLaw
from haptic_friction.models.model_a import ModelA

_POINTS = 121


def force_surface(model: str, velocity: np.ndarray, force: np.ndarray, *, limit: float, threshold: float) -> np.ndarray:
    """Computes the friction force f [N] of a mass over its velocity before the step and the external force.

    Args:
        model: "coulomb", eqs. (1), (2); "karnopp", (3); "quinn", (4); "viscous", (5), which does not depend on h; or
            "A", (27), whose velocity is v*, the velocity after a step without friction.
        velocity: v [m/s], shape (n,).
        force: external force h [N], shape (m,); for "A" v* contains its effect.
        limit: F [N].
        threshold: eps [m/s] of (3) to (5); for "A" Z F with Z = T/M, where the static part ends.

    Returns:
        f [N], shape (m, n).

    Raises:
        ValueError: the model is unknown, or a number is out of its range.
    """
    law, v, h = CoulombLaw(limit), np.asarray(velocity, dtype=float), np.asarray(force, dtype=float)
    if model == "coulomb":
        at_rest = np.clip(h, -limit, limit)
        return np.where(v == 0.0, at_rest[:, None], limit * np.sign(v))
    if model == "viscous":
        one = RegularizedCoulombModel(law, velocity_threshold=threshold, period=1.0)
        return np.tile([one.step([x])[0] for x in v], (len(h), 1))
    if model == "A":
        f = law.projected(v[:, None], threshold / limit)[:, 0]
        return np.tile(f, (len(h), 1))
    kinds = {"karnopp": KarnoppModel, "quinn": QuinnModel}
    if model not in kinds:
        raise ValueError(f"model: expected one of coulomb, karnopp, quinn, viscous, A, got {model!r}")
    mass = kinds[model](law, mass=1.0, velocity_threshold=threshold, period=1e-9)
    result = np.empty((len(h), len(v)))
    for i, pull in enumerate(h):
        for j, speed in enumerate(v):
            mass.reset(velocity=[speed])
            mass.step([pull])
            result[i, j] = mass.friction_force[0]
    return result


def _draw_surface(axes: Axes3D, model: str, title: str, limit: float, threshold: float) -> None:
    v, h = np.linspace(-3.0 * threshold, 3.0 * threshold, _POINTS), np.linspace(-2.0 * limit, 2.0 * limit, _POINTS)
    f = force_surface(model, v, h, limit=limit, threshold=threshold)
    axes.plot_surface(
        *np.meshgrid(v / threshold, h / limit), f / limit, cmap="viridis", alpha=0.8, rcount=40, ccount=60
    )
    rest = force_surface(model, np.zeros(1), h, limit=limit, threshold=threshold)[:, 0]
    axes.plot(np.zeros_like(h), h / limit, rest / limit, color="black", linewidth=2.5)
    axes.set(title=title, xlabel="v / ε", ylabel="h / F", zlabel="f / F")


def figure_1(*, limit: float = 1.0, threshold: float = 0.01) -> Figure:
    """Draws Fig. 1: friction force over velocity and external force of four conventional models; black: at v = 0.

    Args:
        limit: F [N].
        threshold: eps [m/s].
    """
    figure = Figure(figsize=(11.0, 9.0), layout="constrained")
    panels = (
        ("coulomb", "(a) Coulomb, (1), (2)"),
        ("karnopp", "(b) Karnopp, (3)"),
        ("quinn", "(c) Quinn, (4)"),
        ("viscous", "(d) viscous below ε, (5)"),
    )
    for k, (model, title) in enumerate(panels, 1):
        axes = figure.add_subplot(2, 2, k, projection="3d")
        assert isinstance(axes, Axes3D)
        _draw_surface(axes, model, title, limit, threshold)
    return figure


def figure_8(*, limit: float = 1.0, mass: float = 1.0, period: float = 1e-3) -> Figure:
    """Draws Fig. 8: friction force of model A with Coulomb's law, eq. (27), over v* = v + T h/M, and over v and h.

    Args:
        limit: F [N].
        mass: M [kg].
        period: T [s].
    """
    edge = period * limit / mass
    figure = Figure(figsize=(11.0, 4.5), layout="constrained")
    flat, solid = figure.add_subplot(1, 2, 1), figure.add_subplot(1, 2, 2, projection="3d")
    assert isinstance(solid, Axes3D)
    v_star = np.linspace(-3.0 * edge, 3.0 * edge, 6 * _POINTS)
    f = force_surface("A", v_star, np.zeros(1), limit=limit, threshold=edge)[0]
    flat.plot(v_star / edge, f / limit, "k-")
    flat.set(xlabel="v* M / (T F)", ylabel="f / F", title="model A over v*")
    flat.grid(alpha=0.3)
    v, h = np.linspace(-2.0 * edge, 2.0 * edge, _POINTS), np.linspace(-2.0 * limit, 2.0 * limit, _POINTS)
    model = ModelA(CoulombLaw(limit), mass=mass, period=period)
    surface = np.array([[_friction_of(model, speed, pull) for speed in v] for pull in h])
    grid = np.meshgrid(v / edge, h / limit)
    solid.plot_surface(*grid, surface / limit, cmap="viridis", alpha=0.8, rcount=40, ccount=60)
    solid.plot(np.zeros_like(h), h / limit, np.clip(h, -limit, limit) / limit, color="black", linewidth=2.5)
    solid.set(xlabel="v M / (T F)", ylabel="h / F", zlabel="f / F", title="over v and h; black: v = 0")
    return figure


def _friction_of(model: ModelA, velocity: float, force: float) -> float:
    model.reset(velocity=[velocity])
    model.step([force])
    return float(model.friction_force[0])


def figure_5(law: FrictionLaw, *, Z: float, x: float, span: float | None = None) -> Figure:
    """Draws Fig. 5: Phi and Phi_Z of a law along a line, and the solution y = Phi_Z(x) of y = Phi(x - Z y).

    Args:
        law: Phi, of one dimension.
        Z: inverse impedance [m/(N s)], above 0.
        x: argument x_0 of the solution [m/s].
        span: largest argument of the axes [m/s]; if not given, the larger of 1.5 |x| and 3 Z g(0).

    Raises:
        ValueError: Phi_Z does not exist for Z.
    """
    y = float(law.projected([x], Z)[0])
    reach = span if span is not None else 1.5 * max(abs(x), 2.0 * Z * law.breakaway_force)
    v = np.linspace(-reach, reach, 2 * 1000 + 1)
    figure = Figure(figsize=(7.0, 5.0), layout="constrained")
    axes = figure.add_subplot()
    for part in (v < 0.0, v > 0.0):
        axes.plot(v[part], law.force(v[part][:, None])[:, 0], color="tab:blue", label="Φ" if part[-1] else None)
    ends = [float(law.force([sign * 1e-12 * reach])[0]) for sign in (-1.0, 1.0)]
    axes.plot([0.0, 0.0], ends, color="tab:blue")
    axes.plot(v, law.projected(v[:, None], Z)[:, 0], color="tab:red", label="Φ_Z")
    axes.plot([x, x - Z * y], [y, y], "k:", linewidth=1.2)
    axes.plot([x, x - Z * y], [0.0, y], "k--", linewidth=0.8, label="slope -1/Z")
    axes.plot([x], [y], "o", color="tab:red")
    axes.plot([x - Z * y], [y], "o", color="tab:blue")
    axes.annotate("x₀", (x, 0.0), textcoords="offset points", xytext=(4, -12))
    axes.annotate("(x₀ - Z y₀, y₀)", (x - Z * y, y), textcoords="offset points", xytext=(6, 8))
    axes.axhline(0.0, color="0.8", linewidth=0.6, zorder=0)
    axes.set(xlabel="x [m/s]", ylabel="force [N]")
    axes.legend()
    return figure


#: parts of each model from left to right, its input and output, and its equation
_MODELS = {
    "A: rigid admittance, (26)": (("mass",), "h in,", "v out"),
    "B: impedance with mass, (36)": (("mass", "spring"), "u in,", "h out"),
    "C: massless impedance, (38)": (("spring",), "u in,", "f out"),
    "D: compliant admittance, (45)": (("spring", "mass"), "h in,", "u out"),
}


def figure_3() -> Figure:
    """Draws Fig. 3: the parts of the four models, the contact on the left, mass, spring and damper, and the port."""
    figure = Figure(figsize=(10.0, 5.0), layout="constrained")
    for axes, (title, (parts, given, answer)) in zip(figure.subplots(2, 2).ravel(), _MODELS.items(), strict=True):
        axes.plot([0.0, 1.0], [0.0, 0.0], color="black", linewidth=2.0)
        for k in range(6):
            axes.plot([0.2 * k, 0.2 * k - 0.12], [0.0, -0.18], color="black", linewidth=0.8)
        right = 1.0
        if parts[0] != "mass":  # the contact yields before anything is moved
            axes.plot([0.3, 0.7], [0.1, 0.1], color="0.4", linewidth=5.0, solid_capstyle="butt")
            axes.text(0.5, 0.25, "Φ", ha="center")
            right = 0.7
        for part in parts:
            right = _draw_part(axes, part, right, on_surface=part == parts[0])
        axes.annotate("", (right + 0.6, 0.3), (right, 0.3), arrowprops={"arrowstyle": "-|>"})
        axes.text(right + 0.1, 0.55, f"{given} {answer}")
        axes.set(title=title, xlim=(-0.2, 4.6), ylim=(-0.4, 1.2))
        axes.set_aspect("equal")
        axes.axis("off")
    return figure


def _draw_part(axes: Axes, part: str, start: float, *, on_surface: bool) -> float:
    """Draws a mass, or a spring and damper side by side; returns the x coordinate of its right end."""
    if part == "mass":
        left = 0.1 if on_surface else start
        axes.add_patch(_box(left, 0.05, 0.9, 0.55))
        axes.text(left + 0.45, 0.3, "M, Φ" if on_surface else "M", ha="center", va="center")
        return left + 0.9
    x = np.linspace(start, start + 1.2, 60)
    axes.plot(x, 0.45 + 0.08 * np.sin(12.0 * np.pi * (x - start) / 1.2), color="black", linewidth=1.0)
    axes.plot([start, start + 0.5], [0.15, 0.15], color="black", linewidth=1.0)
    axes.plot([start + 0.75, start + 0.5, start + 0.5, start + 0.75], [0.22, 0.22, 0.08, 0.08], color="black", lw=1.0)
    axes.plot([start + 0.6, start + 1.2], [0.15, 0.15], color="black", linewidth=1.0)
    for end in (start, start + 1.2):
        axes.plot([end, end], [0.15, 0.45], color="black", linewidth=1.0)
    axes.text(start + 0.6, 0.62, "K", ha="center")
    axes.text(start + 0.6, -0.12, "B", ha="center")
    return start + 1.2


def _box(x: float, y: float, width: float, height: float):  # type: ignore[no-untyped-def]
    from matplotlib.patches import Rectangle

    return Rectangle((x, y), width, height, facecolor="0.85", edgecolor="black")
