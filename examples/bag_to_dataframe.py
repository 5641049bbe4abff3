"""A recorded run as a pandas DataFrame, an xarray Dataset and a Parquet file, each in one line.

The bag is one of half a second, made here by the nodes of an experiment; with one of your own, only `read` is needed:
`haptic_bags.read("runs/<time>-friction_impedance/bag")`.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
import pandas

import haptic_bags
from haptic_launch.experiments import load_experiment
from haptic_launch.runner import launch

folder = TemporaryDirectory()
bag = Path(folder.name, "bag")
assert launch(load_experiment("friction_impedance").launch_file, {"duration": "0.5", "output": str(bag)}) == 0

run = haptic_bags.read(bag)
print("topics:", *run.topics)
force = run["/joystick/friction/state"]["force"]  # array (messages, 2)
frame = run.data_frame()  # a row per tick, a column per component
data = run.dataset()
run.write(bag.with_suffix(".parquet"))  # or .csv, .mat; on the command line: ./haptics export RUN FILE

print(frame.filter(like="friction/state").describe().T[["min", "max"]])
print("not in the table:", frame.attrs["left_out"])
x, velocity = "/joystick/friction/state.force[0]", "/joystick/friction/state.velocity[0]"
again = pandas.read_parquet(bag.with_suffix(".parquet"))
assert again.equals(frame) and again.attrs["units"][x] == "N"
assert np.array_equal(frame[x], force[frame.index, 0])  # no tick is missing, so tick k is message k
assert np.array_equal(data["/joystick/friction/state.force"][:, 0], frame[x])
folder.cleanup()

figure, axes = plt.subplots(2, figsize=(6, 4), layout="constrained")
frame.plot(y=[x, velocity], subplots=True, ax=axes, title="Columns of a run")
for ax, name in zip(axes, (x, velocity), strict=True):
    ax.set_ylabel(f"[{frame.attrs['units'][name]}]")
figure.savefig("bag_to_dataframe.png")
