"""The convex problem of one step: laws of contact and rows of constraints, as formulas."""

from haptic_files.moved_modules import names_of_moved_module

__getattr__ = names_of_moved_module(__name__, "convex_contact.problem.problem")
