"""Devices under ros2_control: their description, and a device inside a program of another language."""
