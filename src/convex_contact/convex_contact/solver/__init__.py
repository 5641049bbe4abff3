"""Newton's method on the block-sparse problem, compiled."""

from convex_contact._moved import names_of_module

__getattr__ = names_of_module(__name__)
