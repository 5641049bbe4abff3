"""How the nodes of the suite exchange the messages of a tick: ROS topics, or copies within one process."""
