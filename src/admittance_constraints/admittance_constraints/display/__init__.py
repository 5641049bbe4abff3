"""From the reference to the motion of a display: start, feedback, limits, and forces of a simulated world."""
