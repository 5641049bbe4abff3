"""The command line of the haptic suite."""

from haptic_bringup import moved

moved.install()
