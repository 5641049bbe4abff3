"""One contact problem without a world: the impulse of a pushed mass in three schemes, and its gradient.

A mass of 1 kg rests on a plane and is pushed; the solution sticks or slides. The Lagged scheme keeps Coulomb's cone;
SAP's convex cone lets a sliding mass rise a little.
"""

import matplotlib.pyplot as plt
import numpy as np

from convex_contact import ContactProblem, solve

DT, FRICTION = 1e-3, 0.5


def problem(push: float) -> ContactProblem:
    """Makes the problem of the mass at rest under gravity and a push [N]; rows of the contact t1, t2, n."""
    return ContactProblem(
        A=np.eye(3), v_star=[push * DT, 0.0, -9.81 * DT], J=np.eye(3), phi0=[-9.81e-5], v_n0=[0.0], period=DT,
        stiffness=1e5, dissipation=10.0, relaxation_time=1e-4, friction=FRICTION, stiction_tolerance=1e-6,
    )  # fmt: skip


pushes = np.linspace(0.0, 10.0, 41)
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for scheme in ("lagged", "similar", "sap"):
    force = np.array([-solve(problem(push), scheme).impulse[0, 0] / DT for push in pushes])
    axes.plot(pushes, force, label=scheme)
    if scheme == "lagged":
        np.testing.assert_allclose(force, np.minimum(pushes, FRICTION * 9.81), rtol=0.01, atol=1e-3)
solution = solve(problem(8.0), "lagged")
print("sliding: impulse", solution.impulse, "N s; dv/dmu", solution.gradient("friction")[:, 0], "m/s")
assert abs(solution.gradient("friction")[0, 0] + 9.81 * DT) < 1e-2 * 9.81 * DT  # v_x = (F - mu m g) dt/m

axes.set(xlabel="push [N]", ylabel="friction force [N]", title="A pushed mass, one step")
axes.legend()
figure.savefig("contact_solve_one_step.png")
