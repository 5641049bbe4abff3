"""A friction law of your own: any g(s) with its slope, here Tustin's exponential fall with speed.

The models refuse a law that falls too fast for their period: condition (15) of Kikuuwe et al., g'(s) > -1/Z.
"""

import math

import matplotlib.pyplot as plt
import numpy as np

from haptic_friction import FunctionLaw, ModelA, ModelC

KINETIC, STATIC, SPEED, T = 4.0, 6.0, 0.2, 1e-3  # N, N, m/s, s
law = FunctionLaw(
    lambda s: KINETIC + (STATIC - KINETIC) * math.exp(-s / SPEED),
    lambda s: -(STATIC - KINETIC) / SPEED * math.exp(-s / SPEED),
)
model = ModelC(law, stiffness=3000.0, damping=20.0, period=T)
speeds = np.linspace(0.01, 1.0, 60)
steady = []
for speed in speeds:  # slide for 0.3 s at each speed: the spring's deflection has settled
    model.reset()
    steady.append(model.simulate(np.full((300, 1), speed))[-1, 0])
expected = [law.magnitude(speed) for speed in speeds]
print(f"steady force against g(s): largest difference {np.abs(np.subtract(steady, expected)).max():.2e} N")
np.testing.assert_allclose(steady, expected, rtol=1e-6)

try:
    ModelA(law, mass=1e-4, period=T)  # Z = T/m = 10 m/(N s), and g' = -10 N s/m at rest
    raise AssertionError("expected a refusal")
except ValueError as error:
    print("refused:", error)

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.plot(speeds, expected, label="g(s)")
axes.plot(speeds, steady, ".", label="model C, steady sliding")
axes.set(xlabel="speed [m/s]", ylabel="force [N]", title="A law of one's own")
axes.legend()
figure.savefig("friction_own_law.png")
