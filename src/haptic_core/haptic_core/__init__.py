"""The parts that all nodes of the suite have in common: ticks, transport, parameters, QoS, safety, passivity.

README.md of the package names each module and those that need no ROS.
"""

from haptic_files.moved_modules import forward_moved_modules

__getattr__ = forward_moved_modules(__name__, {"local_topics": "transport.local_topics", "matching": "start.matching"})
