"""Worlds of the papers and of the experiments."""

from haptic_files.moved_modules import names_of_moved_module

__getattr__ = names_of_moved_module(__name__, "convex_contact.scenes.one_body")
