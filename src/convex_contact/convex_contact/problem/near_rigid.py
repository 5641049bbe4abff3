"""The near-rigid limit of compliances (Castro, Permenter, Han 2022, section V)."""

from __future__ import annotations

import math
from typing import Any

from convex_contact.problem.elementwise import elementwise


@elementwise
def near_rigid_compliance(beta: Any, w: Any) -> Any:
    """Returns R = beta^2 w/(4 pi^2) [1/kg], the compliance of a spring whose natural period on the mass 1/w is beta dt.

    Args:
        beta: natural periods per step; 0: no limit. A number or an array.
        w: diagonal estimate of the Delassus operator [1/kg].
    """
    return beta * beta * w / (4.0 * math.pi * math.pi)
