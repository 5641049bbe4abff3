"""A gripper holds a box by friction: it slips when the fingers press with less than m g/(2 mu).

The gripper is a URDF text: a slide upwards with two fingers, driven by motors.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from convex_contact import Material, Simulator, World

INERTIAL = '<inertial><mass value="0.2"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>'
LINK = '<link name="{}">' + INERTIAL + '<collision><geometry><box size="0.02 0.04 0.04"/></geometry></collision></link>'
JOINT = """<joint name="{0}" type="prismatic"><parent link="{1}"/><child link="{0}_link"/><origin xyz="{2} 0 0"/>
<axis xyz="{3}"/><limit lower="-0.5" upper="0.5" effort="100" velocity="10"/></joint>"""
URDF = f"""<robot name="gripper"><link name="base"/><link name="lift_link">{INERTIAL}</link>{LINK.format("left_link")}
{LINK.format("right_link")}{JOINT.format("lift", "base", 0.0, "0 0 1")}
{JOINT.format("left", "lift_link", -0.062, "1 0 0")}{JOINT.format("right", "lift_link", 0.062, "-1 0 0")}</robot>"""
MASS, FRICTION = 0.5, 0.6  # kg, -


def rise(squeeze: float) -> float:
    """Simulates the gripper, which rises by 0.1 m in 1 s with a finger force [N]; returns the rise of the box [m]."""
    surface = Material(stiffness=1e5, friction=FRICTION)
    world = World()
    world.add_half_space("floor", material=surface)
    world.add_box("box", mass=MASS, size=(0.1, 0.04, 0.06), position=(0, 0, 0.03), material=surface)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "gripper.urdf"
        file.write_text(URDF)
        world.add_urdf("gripper", file, position=(0, 0, 0.03), friction=FRICTION)
    world.actuate_joint("gripper", "lift", proportional_gain=1e4, derivative_gain=200.0)
    simulator = Simulator(world, period=2e-3)
    for k in range(700):
        for finger in ("left", "right"):
            simulator.joint(finger).effort = squeeze
        simulator.joint("lift").target = 0.1 * min(max(2e-3 * k - 0.2, 0.0), 1.0)
        simulator.step()
    return float(simulator.state("box").position[2] - 0.03)


needed = MASS * 9.81 / (2.0 * FRICTION)
forces = needed * np.array([0.5, 0.8, 0.95, 1.3, 2.0, 3.0])
heights = np.array([rise(force) for force in forces])
for force, height in zip(forces, heights, strict=True):
    print(f"{force:.2f} N: the box rises by {1e3 * height:.1f} mm")
assert (heights[forces < needed] < 0.02).all() and (heights[forces > needed] > 0.095).all()

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.plot(forces, 1e3 * heights, "o-")
axes.axvline(needed, color="0.6", linestyle=":", label="m g/(2 mu)")
axes.set(xlabel="force of the fingers [N]", ylabel="height of the box [mm]", title="Holding by friction")
axes.legend()
figure.savefig("contact_gripper.png")
