"""Numbers of Newton's method that a user may choose."""

from __future__ import annotations

from dataclasses import dataclass

from convex_contact.problem import checks


@dataclass(frozen=True)
class SolverOptions:
    """When the iteration ends.

    Attributes:
        relative_tolerance: the iteration has converged when the residual ||A (v - v*) - J^T gamma||, scaled by
            diag(A)^(-1/2), is at most absolute_tolerance + relative_tolerance max(||A v||, ||J^T gamma||), likewise
            scaled (section X). 1e-5 is the paper's; forces then have about five digits. Below 1e-12 rounding decides.
        absolute_tolerance: [sqrt(J)]. Matters only where all momenta vanish; 1e-14 is below the rounding of a gram
            at 1 um/s.
        max_iterations: Newton steps, after which the step has failed. Problems of practice need 2 to 20; the first 50
            are without, the rest with softened contacts (`newton`).
        polish: go on from the converged solution while steps still quarter the residual, one or two steps more:
            solutions, and so derivatives, are exact to rounding.
    """

    relative_tolerance: float = 1e-5
    absolute_tolerance: float = 1e-14
    max_iterations: int = 1000
    polish: bool = True

    def __post_init__(self) -> None:
        for name, value in (
            ("relative_tolerance", checks.number("relative_tolerance", self.relative_tolerance, above=0.0)),
            ("absolute_tolerance", checks.number("absolute_tolerance", self.absolute_tolerance, minimum=0.0)),
            ("max_iterations", int(checks.number("max_iterations", self.max_iterations, minimum=0.0))),
            ("polish", bool(self.polish)),
        ):
            object.__setattr__(self, name, value)
