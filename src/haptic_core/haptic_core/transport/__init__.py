"""Transport of the messages of a tick between nodes: ROS topics, or copies within one process."""
