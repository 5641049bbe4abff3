"""Stiff walls by position control on a 6-DOF TAU-type parallel haptic device (Wang, Feng, Andersson)."""

from tau_wall_control.controller import WallController
from tau_wall_control.design import design_wall_controller
from tau_wall_control.device import TauDevice
from tau_wall_control.simulation import simulate_push
