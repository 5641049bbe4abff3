"""A world in motion: one step after the other."""
