"""Friction from a CSV file of your own: the columns by their names, then the parameters with 95 % intervals.

The file is made here as a data logger writes it. `read_signals` names the line where a file cannot be used.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from haptic_friction import CoulombLaw, ModelC, identify_model_c, read_signals

T = 1e-3  # s
time = T * np.arange(6000)
speed = 0.08 * np.sin(2.0 * np.pi * time) * np.sin(2.0 * np.pi * 0.25 * time)
truth = {"force": 3.0, "stiffness": 5000.0, "damping": 8.0}
model = ModelC(CoulombLaw(truth["force"]), stiffness=truth["stiffness"], damping=truth["damping"], period=T)
noise = np.random.default_rng(1).normal(0.0, 0.01, len(time))
load = model.simulate(speed[:, None])[:, 0] + noise
file = Path("friction_identify_from_csv.csv")
np.savetxt(file, np.column_stack((time, speed, load)), delimiter=",", header="t [s],v [m/s],f [N]", comments="")

record = read_signals(file, velocity="v [m/s]", force="f [N]", time="t [s]")
found = identify_model_c(record.velocity, record.force, period=record.period, law="coulomb")
for name, estimate in found.estimates.items():
    print(f"{name}: {estimate.value:.4g} [{estimate.low:.4g}, {estimate.high:.4g}] {estimate.unit}")
    assert abs(estimate.value - truth[name]) < 0.05 * truth[name]
assert found.estimates.keys() == truth.keys()
try:
    read_signals(file, velocity="velocity", force="f [N]", period=T)
except ValueError as error:
    print(f"a mistake is one line: {error}")

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.plot(record.velocity, record.force, ".", markersize=1, label="file")
axes.plot(record.velocity, found.model_c().simulate(record.velocity), linewidth=0.8, label="identified")
axes.set(xlabel="velocity [m/s]", ylabel="force [N]", title="Friction identified from a CSV file")
axes.legend()
figure.savefig("friction_identify_from_csv.png")
