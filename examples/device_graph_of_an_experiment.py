"""An experiment of the suite without ROS nodes: device, hand and renderer step together, and give arrays.

The numbers are those of `./haptics run friction_impedance` to the last bit; any launch argument can be given.
"""

import matplotlib.pyplot as plt
import numpy as np

from haptic_experiments import graph

figure, axes = plt.subplots(figsize=(5, 4), layout="constrained")
for friction_force in (1.0, 3.0):
    run = graph.run("friction_impedance", {"duration": "3.0", "friction_force": f"{friction_force}"})
    force = np.linalg.norm(run.columns["friction"]["force"], axis=1)
    print(f"friction of {friction_force} N: rendered at most {force.max():.4f} N")
    assert abs(force.max() - friction_force) < 1e-9
    axes.plot(*run.columns["device"]["tool_pose"][:, :2].T, label=f"{friction_force} N")
axes.set(xlabel="x [m]", ylabel="y [m]", title="Path of the handle")
axes.set_aspect("equal")
axes.legend()
figure.savefig("device_graph_of_an_experiment.png")
