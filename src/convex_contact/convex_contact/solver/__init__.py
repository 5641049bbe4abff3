"""Newton's method on the block-sparse problem, compiled."""

from haptic_files.moved_modules import names_of_moved_module

__getattr__ = names_of_moved_module(__name__, "convex_contact.solver.solver")
