"""States of a workspace and of its islands during `newton.solve_step`."""

from __future__ import annotations

#: status of a workspace after `newton.solve_step`
CONVERGED, ITERATION_LIMIT, NOT_FINITE = range(3)
#: states of an island
DONE, ACTIVE, FAILED = range(3)
#: unit rounding
EPS = 2.0**-52
