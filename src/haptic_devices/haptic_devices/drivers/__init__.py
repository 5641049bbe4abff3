"""Drivers of devices that can be bought; each is an entry point of group `haptic_devices`."""
