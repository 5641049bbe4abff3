"""Launch files in ROS 2's YAML format, their processes, and experiments; without ROS."""
