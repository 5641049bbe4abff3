"""Old path of `haptic_math.passivity`; access to its names raises a DeprecationWarning."""

from haptic_files.moved_modules import names_of_moved_module

__getattr__ = names_of_moved_module(__name__, "haptic_math.passivity")
