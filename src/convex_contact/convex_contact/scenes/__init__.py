"""Worlds of the papers and of the experiments."""

from convex_contact._moved import names_of_module

__getattr__ = names_of_module(__name__)
