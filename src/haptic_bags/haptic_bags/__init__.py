"""Bags: recording, reading as arrays, comparison, repair and replay.

`read(path)` gives a run as arrays, data frames, datasets and files of tables.
"""

from haptic_bags.bags import Bag, BagError, Event
from haptic_bags.tables import Run, read

__all__ = ["Bag", "BagError", "Event", "Run", "read"]
