"""A driver of one's own: a device of one degree of freedom behind the suite's interface, in the suite's loop.

Here the device is simulated: a handle of 0.1 kg at a spring of the hand. The loop adds limits, a watchdog and the safe
stop to any driver; the friction renderer answers each reading.
"""

import matplotlib.pyplot as plt
import numpy as np

from haptic_devices import Device, Joint, Reading
from haptic_friction import CoulombLaw, ModelC

T, MASS, HAND = 1e-3, 0.1, 60.0  # s, kg, N/m


class Slider(Device):
    """A slide along x that a hand moves to and fro."""

    kind, base_frame = "impedance", "slider_base"
    joints = (Joint("slide", 10.0, 5.0, -0.2, 0.2, "prismatic"),)

    def configure(self, period: float) -> None:
        self._reading, self._time = Reading(1), 0.0

    def activate(self) -> None:
        """Nothing to switch on."""

    def read(self) -> Reading:
        r = self._reading
        r.tool_pose[0], r.tool_twist[0] = r.position[0], r.velocity[0]
        return r

    def write(self, effort: np.ndarray) -> None:
        r = self._reading
        self._time += T
        wanted = 0.05 * np.sin(2.0 * np.pi * self._time)
        force = HAND * (wanted - r.position[0]) - 2.0 * r.velocity[0] + effort[0]
        r.velocity[0] += T * force / MASS
        r.position[0] += T * r.velocity[0]
        r.effort[:] = effort

    def jacobian(self) -> np.ndarray:
        return np.eye(6, 1)

    def safe_stop(self) -> None:
        self._reading.effort[:] = 0.0

    def deactivate(self) -> None:
        self.safe_stop()


device, friction = Slider(), ModelC(CoulombLaw(1.0), stiffness=1500.0, damping=5.0, period=T)
device.configure(T)
device.activate()
record = []
for _ in range(2000):
    reading = device.read()
    force = -friction.step([reading.velocity[0]])[0]  # the tool feels the opposite of the sliding force
    record.append((reading.position[0], reading.velocity[0], force))
    device.write(np.clip([force], -device.joints[0].effort_limit, device.joints[0].effort_limit))
device.deactivate()
position, velocity, force = np.array(record[500:]).T
fast = np.abs(velocity) > 0.1
print(f"friction while it slides: {np.abs(force[fast]).mean():.4f} N")
assert np.allclose(np.abs(force[fast]), 1.0, atol=1e-9) and (force[fast] * velocity[fast] < 0.0).all()

figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
axes.plot(1e3 * position, force)
axes.set(xlabel="position [mm]", ylabel="force on the hand [N]", title="Friction on a device of one's own")
figure.savefig("device_own_driver.png")
