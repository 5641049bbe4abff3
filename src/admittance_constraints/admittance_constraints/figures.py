"""Figure 3 of Faulring et al.: the spaces of a mechanism whose end is bound to a circle, drawn from the library."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from admittance_constraints.mechanisms import TwoLinkOnCircle


def figure_3(mechanism: TwoLinkOnCircle | None = None, *, z: float = 0.8, points: int = 121) -> Figure:
    """Draws Fig. 3: a chain of two rotations (T^2) whose end moves on a circle (S^1) of the task space.

    The left axes have the configuration space Q with the submanifold q = phi^-1(psi(z)). The right axes have the task
    space X with x = psi(z), and the chain at one z; the arrows there are dq/dz and dx/dz.

    Args:
        mechanism: chain on a circle; default: `TwoLinkOnCircle()`.
        z: parameter at which the chain is drawn [rad].
        points: number of points of the curves.
    """
    m = TwoLinkOnCircle() if mechanism is None else mechanism
    around = np.linspace(0.0, 2.0 * np.pi, points)
    x = np.array([m.parametric([s])[:2] for s in around])
    # each start value keeps the elbow around the circle
    q = [m.configuration([around[0]])]
    for s in around[1:]:
        q.append(m.configuration([s], q[-1]))
    angles = np.unwrap(np.array(q), axis=0)
    here = m.configuration([z])
    x_z = m.parametric_jacobian([z])[:2, 0]
    q_z = np.linalg.lstsq(m.task_jacobian(here)[:2], x_z, rcond=None)[0]
    figure = Figure(figsize=(11.0, 5.0), layout="constrained")
    space, task = figure.subplots(1, 2)
    space.plot(angles[:, 0], angles[:, 1], color="tab:green", label="Z: φ⁻¹(ψ(z))")
    k = int(np.argmin(np.abs(around - z % (2.0 * np.pi))))
    shown = here + 2.0 * np.pi * np.round((angles[k] - here) / (2.0 * np.pi))
    space.annotate("", shown + 0.5 * q_z, shown, arrowprops={"arrowstyle": "-|>"})
    space.plot(*shown, "o", color="black", label=f"z = {z:g}")
    space.set(xlabel="q₁ [rad]", ylabel="q₂ [rad]", title="Q: configuration space T²")
    end, base = m.parametric([z])[:2], np.array(m.base)
    elbow = base + m.link_length * np.array([np.cos(here[0]), np.sin(here[0])])
    task.plot(*(1e3 * x.T), color="tab:green", label="Z: ψ(z), the circle")
    task.plot(*(1e3 * np.array([base, elbow, end]).T), "o-", color="tab:blue", label="chain, φ(q)")
    task.annotate("", 1e3 * (end + 0.5 * x_z), 1e3 * end, arrowprops={"arrowstyle": "-|>"})
    task.set(xlabel="x₁ [mm]", ylabel="x₂ [mm]", title="X: task space, two of its six coordinates", aspect="equal")
    for axes in (space, task):
        axes.legend()
    return figure
