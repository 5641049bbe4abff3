"""Parts of rclpy that it does not publish. Only this module of the suite reaches into them."""

from __future__ import annotations

from rclpy.impl.implementation_singleton import rclpy_implementation

#: what rclpy raises where rcl refuses: a full history of a keep-all writer, missing keys of SROS 2
RCLError: type[Exception] = rclpy_implementation.RCLError
