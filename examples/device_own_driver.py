"""A driver of one's own: a simulated handle of 0.1 kg behind the suite's interface, and friction that it feels."""

import matplotlib.pyplot as plt
import numpy as np

from haptic_devices import Device, Joint, Reading
from haptic_friction import CoulombLaw, ModelC

T, MASS, HAND = 1e-3, 0.1, 60.0  # s, kg, N/m


class Slider(Device):
    """A slide along x that a spring of the hand moves to and fro; the suite's loop adds limits and a watchdog."""

    kind, base_frame = "impedance", "slider_base"
    joints = (Joint("slide", 10.0, 5.0, -0.2, 0.2, "prismatic"),)

    def configure(self, period: float) -> None:
        self._reading, self._time = Reading(1), 0.0

    def activate(self) -> None: ...

    def read(self) -> Reading:
        return self._reading

    def write(self, effort: np.ndarray) -> None:
        r = self._reading
        self._time += T
        force = HAND * (0.05 * np.sin(6.283 * self._time) - r.position[0]) - 2.0 * r.velocity[0] + effort[0]
        r.velocity[0] += T * force / MASS
        r.position[0] += T * r.velocity[0]
        r.tool_pose[0], r.tool_twist[0], r.effort[0] = r.position[0], r.velocity[0], effort[0]

    def jacobian(self) -> np.ndarray:
        return np.eye(6, 1)

    def safe_stop(self) -> None:
        self._reading.effort[:] = 0.0

    deactivate = safe_stop


device, friction, record = Slider(), ModelC(CoulombLaw(1.0), stiffness=1500.0, damping=5.0, period=T), []
device.configure(T)
device.activate()
for _ in range(2000):
    reading = device.read()
    force = -friction.step([reading.velocity[0]])[0]  # the tool feels the opposite of the sliding force
    record.append((reading.position[0], reading.velocity[0], force))
    device.write(np.array([force]))
device.deactivate()
position, velocity, force = np.array(record[500:]).T
fast = np.abs(velocity) > 0.1
print(f"sliding faster than 0.1 m/s, the hand feels {np.abs(force[fast]).mean():.3f} N against the motion")
assert np.allclose(force[fast], -np.sign(velocity[fast]), atol=1e-9)

figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
axes.plot(1e3 * position, force)
axes.set(xlabel="position [mm]", ylabel="force on the hand [N]", title="Friction on a device of one's own")
figure.savefig("device_own_driver.png")
