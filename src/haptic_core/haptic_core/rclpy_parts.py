"""Private parts of rclpy that the suite uses. Only this module accesses them."""

from __future__ import annotations

from rclpy.impl import rcutils_logger
from rclpy.impl.implementation_singleton import rclpy_implementation

#: raised by rclpy for errors of rcl, such as a full history of a keep-all writer or missing keys of SROS 2
RCLError: type[Exception] = rclpy_implementation.RCLError

#: source file of rclpy's logger
LOGGER_FILE: str = rcutils_logger.__file__
