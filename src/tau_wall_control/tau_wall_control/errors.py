"""Errors of the package; all are a ValueError."""

from __future__ import annotations


class TauError(ValueError):
    """A request that the device or a controller cannot meet; one line."""


class UnreachableError(TauError):
    """A pose that no configuration of the chains reaches.

    Attributes:
        chain: number of the first chain that does not reach, 1 to 3.
    """

    def __init__(self, message: str, chain: int) -> None:
        super().__init__(message)
        self.chain = chain

    def __reduce__(self) -> tuple[type[UnreachableError], tuple[str, int]]:
        return UnreachableError, (str(self), self.chain)


class SingularError(TauError):
    """A pose in which the chains or the platform cannot control a direction."""


class ForwardKinematicsError(TauError):
    """Joint angles for which Newton's method finds no pose from its guess."""


class PlanesError(TauError):
    """Planes of one step that cannot be used; nothing has changed."""


class SafeStopError(TauError):
    """The walls have stopped; no torque may be commanded until they are reset."""


class ControllerFileError(TauError):
    """A controller file that cannot be read or does not fit the device."""
