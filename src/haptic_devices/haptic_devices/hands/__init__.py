"""Simulated hands that hold a tool, and the devices that they may hold."""
