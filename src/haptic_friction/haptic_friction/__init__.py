"""Friction rendering by implicit Euler integration (Kikuuwe, Takesue, Sano, Mochiyama, Fujimoto).

Laws are in `laws`, one model a module (`model_c`), compiled loops in `kernels`; `node` is the only
module that knows ROS.
"""

from haptic_friction.laws import CoulombLaw, FrictionLaw, ViscousCoulombLaw
from haptic_friction.model_c import ModelC

__all__ = ["CoulombLaw", "FrictionLaw", "ModelC", "ViscousCoulombLaw"]
