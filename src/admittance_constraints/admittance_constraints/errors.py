"""Errors that callers distinguish; every other refusal of an argument is a plain ValueError."""


class ConstraintError(Exception):
    """Base of the errors of this package."""


class MechanismError(ConstraintError, ValueError):
    """A mechanism's definition contradicts itself or is not complete; the message names the part."""


class SingularConfigurationError(ConstraintError, ArithmeticError):
    """The equations have no unique solution in the present configuration; the message names the equations."""
