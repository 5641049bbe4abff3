"""Numbers of Newton's method that a user may choose."""

from __future__ import annotations

from dataclasses import dataclass

from convex_contact.problem import checks


@dataclass(frozen=True)
class SolverOptions:
    """Criteria that end the iteration.

    Attributes:
        relative_tolerance: largest residual relative to the momenta. The iteration has converged when
            ||A (v - v*) - J^T gamma|| <= absolute_tolerance + relative_tolerance max(||A v||, ||J^T gamma||), with all
            vectors scaled by diag(A)^(-1/2) (section X). The paper uses 1e-5; forces then have about five digits.
            Below 1e-12 rounding decides.
        absolute_tolerance: largest residual where all momenta vanish [sqrt(J)]; 1e-14 is below the rounding of a gram
            at 1 um/s.
        max_iterations: largest number of Newton steps; if they do not suffice, the step fails. Typical problems need 2
            to 20. Steps beyond 50 use softened contacts (`newton`).
        polish: True: the iteration goes on after convergence while each step quarters the residual, one or two steps
            more. Solutions, and so derivatives, are exact to rounding.
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
