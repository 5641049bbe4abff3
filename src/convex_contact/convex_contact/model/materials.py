"""Contact materials and the rule that combines two of them."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, replace


@dataclass(frozen=True, kw_only=True)
class Material:
    """What a surface contributes to a contact's law.

    Attributes:
        stiffness: k, N/m per contact point; infinite for a surface that is rigid beside all others.
        dissipation: d of Hunt and Crossley, s/m (normal laws of Lagged and Similar).
        relaxation_time: tau_d, s (linear dissipation of SAP).
        friction: Coefficient mu.

    Raises:
        ValueError: A value is negative or not a number, or the stiffness is zero.
    """

    stiffness: float = 1e7
    dissipation: float = 10.0
    relaxation_time: float = 1e-4
    friction: float = 0.5

    def __post_init__(self) -> None:
        check_surface(asdict(self))

    def combined(self, other: Material) -> Material:
        """The law of a contact between two surfaces; symmetric.

        The stiffnesses act in series, k = kA kB / (kA + kB); the dissipation is weighted by the other's
        compliance, d = (kB dA + kA dB) / (kA + kB), so that the softer surface's counts most; relaxation times
        add; the friction is the harmonic mean 2 muA muB / (muA + muB).
        """
        a, b = self, other
        if math.isinf(a.stiffness) and math.isinf(b.stiffness):
            raise ValueError("stiffness: two rigid surfaces meet; one of them needs a finite stiffness")
        if math.isinf(a.stiffness) or math.isinf(b.stiffness):
            soft = b if math.isinf(a.stiffness) else a
            stiffness, dissipation = soft.stiffness, soft.dissipation
        else:
            share = a.stiffness / (a.stiffness + b.stiffness)
            stiffness = share * b.stiffness
            dissipation = (1 - share) * a.dissipation + share * b.dissipation
        frictions = a.friction + b.friction
        return Material(
            stiffness=stiffness,
            dissipation=dissipation,
            relaxation_time=a.relaxation_time + b.relaxation_time,
            friction=2 * a.friction * b.friction / frictions if frictions > 0 else 0.0,
        )


@dataclass(frozen=True, kw_only=True)
class PairLaw:
    """Combined values that are set for a pair of bodies; None leaves the rule's value."""

    stiffness: float | None = None
    dissipation: float | None = None
    relaxation_time: float | None = None
    friction: float | None = None

    def __post_init__(self) -> None:
        given = {name: value for name, value in asdict(self).items() if value is not None}
        check_surface(given)
        if math.isinf(given.get("stiffness", 0.0)):
            raise ValueError("stiffness: a pair's must be finite")

    def applied(self, rule: Material) -> Material:
        """The combined values with these in their place."""
        return replace(rule, **{k: v for k, v in asdict(self).items() if v is not None})


def check_surface(values: dict[str, float]) -> None:
    """Refuses values that no law can use; the message names the field.

    Raises:
        ValueError: As said.
    """
    known = [field.name for field in fields(Material)]
    for name, value in values.items():
        if name not in known:
            raise ValueError(f"{name}: a material has {', '.join(known)}")
        low_ok = value > 0 if name == "stiffness" else value >= 0
        high_ok = name == "stiffness" or value < math.inf
        if not (low_ok and high_ok):  # also refuses nan
            expected = "positive" if name == "stiffness" else "finite and not negative"
            raise ValueError(f"{name}: expected {expected}, got {value}")
