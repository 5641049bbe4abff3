"""The convex problem of one step: laws of contact and rows of constraints, as formulas."""

from convex_contact._moved import names_of_module

__getattr__ = names_of_module(__name__)
