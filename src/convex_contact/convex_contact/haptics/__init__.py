"""A world in the loop of a haptic device, without ROS."""
