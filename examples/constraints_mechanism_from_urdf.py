"""A mechanism from a URDF file whose loop a constraint closes: a four-bar linkage, released, under its own weight.

The file opens the loop at the second pivot; the constraint keeps both frames together. Pinocchio reads the file.
"""

import matplotlib.pyplot as plt
import numpy as np

from admittance_constraints import ReferenceGenerator, UrdfMechanism

CRANK, COUPLER, ROCKER, GROUND = 0.05, 0.12, 0.10, 0.13  # m


def link(name: str, length: float) -> str:
    """Makes the URDF text of a uniform bar along x of 2 kg/m; of a frame without mass for the length 0 [m]."""
    mass, J = 2.0 * length, 2.0 * length**3 / 12.0
    body = f'<inertial><origin xyz="{length / 2} 0 0"/><mass value="{mass}"/>'
    body += f'<inertia ixx="{J}" iyy="{J}" izz="{J}" ixy="0" ixz="0" iyz="0"/></inertial>'
    return f'<link name="{name}">{body if length else ""}</link>'


def joint(kind: str, parent: str, child: str, x: float, roll: float = 0.0) -> str:
    """Makes the URDF text of a joint about z at x [m] on the parent's x axis."""
    ends = f'<parent link="{parent}"/><child link="{child}"/><origin xyz="{x} 0 0" rpy="{roll} 0 0"/>'
    return f'<joint name="{child}" type="{kind}">{ends}<axis xyz="0 0 1"/></joint>'


lengths = {"ground": 0.0, "crank": CRANK, "coupler": COUPLER, "rocker": ROCKER, "tool": 0.0, "end": 0.0, "pivot": 0.0}
joints = [
    joint("continuous", "ground", "crank", 0.0),
    joint("continuous", "crank", "coupler", CRANK),
    joint("continuous", "coupler", "rocker", COUPLER),
    joint("fixed", "rocker", "tool", 0.0, np.pi / 2),  # rotated, so that its angles are not singular
    joint("fixed", "rocker", "end", ROCKER),
    joint("fixed", "ground", "pivot", GROUND),
]
text = f'<robot name="four_bar">{"".join(link(*item) for item in lengths.items())}{"".join(joints)}</robot>'
options = {"loops": [("end", "pivot")], "loop_axes": "xy", "orientation": True, "gravity": (0.0, -9.81, 0.0)}
mechanism = UrdfMechanism(text, tool="tool", near=[1.0, -0.6, -1.9], **options)
start = mechanism.project_position([1.0, -0.6, -1.9])
generator = ReferenceGenerator(mechanism, z=start, period=1e-3, compiled=False)
results = [generator.step([0.0] * 6) for _ in range(600)]
path = np.array([result.x[:2] for result in results])
energy = np.array([(result.kinetic_energy, result.potential_energy) for result in results])
residual = max(result.holonomic_residual for result in results)
drift = np.ptp(energy.sum(axis=1)) / energy[:, 0].max()
print(f"joints {', '.join(mechanism.joint_names)}; loop open by {residual:.1e} m; energy drifts by {drift:.1e}")
assert residual < 1e-9
assert drift < 1e-5

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
left.plot(*path.T, label="coupler's end")
elbow = CRANK * np.array([np.cos(start[0]), np.sin(start[0])])
left.plot(*np.array([(0.0, 0.0), elbow, path[0], (GROUND, 0.0)]).T, "o-", color="0.6", zorder=0)
left.set(xlabel="x [m]", ylabel="y [m]", title="Path", aspect="equal")
left.legend(fontsize="small")
right.plot(1e-3 * np.arange(len(energy)), energy, label=["kinetic", "potential"])
right.set(xlabel="time [s]", ylabel="energy [J]", title="Energy")
right.legend(fontsize="small")
figure.savefig("constraints_mechanism_from_urdf.png")
