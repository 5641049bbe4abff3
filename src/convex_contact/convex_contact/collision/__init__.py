"""Contacts of a world: pairs, points, frames, and contact surfaces of compliant bodies."""
