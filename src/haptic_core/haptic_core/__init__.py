"""What every node of the suite shares: tick protocol, parameters, QoS, conversions, statistics.

Modules without ROS: `commands`, `parameters`, `statistics`, `ticks`, `messages` (works on message
objects, imports none). Modules with ROS: `qos`, `matching`, `cdr` (fast decoding), `suite_node`,
`rendering_node`, `process`.
"""
