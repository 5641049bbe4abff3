"""Errors with a meaning of their own; everything else that is wrong with an argument is a ValueError."""


class MechanismError(ValueError):
    """A mechanism's definition contradicts itself or lacks something; the message names the part."""


class SingularConfigurationError(ArithmeticError):
    """The equations have no unique solution in the present configuration; the message names which."""
