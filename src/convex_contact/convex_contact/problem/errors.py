"""Errors of the package; a wrong argument is a ValueError."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np


class ContactError(Exception):
    """Base class of the errors of this package."""


class ConvergenceError(ContactError, ArithmeticError):
    """The iteration ended without reaching its criterion; nothing is returned in that case.

    Attributes:
        velocity: the last iterate, shape (nv,).
        iterations: Newton steps made.
        residual: scaled momentum residual of the last iterate, divided by the scale of the momenta.
        tolerance: largest allowed residual.
        reason: cause of the end of the iteration, in words.
    """

    def __init__(
        self, reason: str, *, velocity: np.ndarray, iterations: int, residual: float, tolerance: float
    ) -> None:
        super().__init__(
            f"no convergence after {iterations} Newton iterations: {reason}; "
            f"relative residual {residual:.3g}, expected at most {tolerance:.3g}"
        )
        self.reason, self.velocity, self.iterations = reason, velocity, iterations
        self.residual, self.tolerance = residual, tolerance

    def __reduce__(self) -> tuple[Callable[[], ConvergenceError], tuple[()]]:
        """Returns a callable that builds the error again, for pickling; its arguments are keywords."""
        names = ("velocity", "iterations", "residual", "tolerance")
        return partial(ConvergenceError, self.reason, **{name: getattr(self, name) for name in names}), ()
