"""Results of an identification: parameters with intervals, and the law and model made of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from haptic_friction import laws
from haptic_friction.classical.bristles import LuGreModel
from haptic_friction.laws import CoulombLaw, FrictionLaw
from haptic_friction.models.batch import ParallelElements
from haptic_friction.models.model_c import ModelC

#: parameters of each law: names of the constructor's arguments, in its order, with their units
LAWS: dict[str, dict[str, str]] = {
    "coulomb": {"force": "N"},
    "viscous_coulomb": {"force": "N", "viscosity": "N s/m"},
    "stribeck": {"kinetic_force": "N", "static_force": "N", "stribeck_velocity": "m/s", "viscosity": "N s/m"},
}
_CLASSES = {"coulomb": "CoulombLaw", "viscous_coulomb": "ViscousCoulombLaw", "stribeck": "StribeckLaw"}
CONTACT = {"stiffness": "N/m", "damping": "N s/m"}
BRISTLE = {"bristle_stiffness": "N/m", "bristle_damping": "N s/m"}
#: prefixes of the names of parameters that were identified for each direction
DIRECTIONS = ("forward_", "backward_")


@dataclass(frozen=True)
class Estimate:
    """One parameter with its 95 % confidence interval.

    Attributes:
        value: least-squares estimate.
        low: lower end of the interval; 0 where a parameter cannot be negative.
        high: upper end.
        unit: of all three.

    Examples:
        >>> from haptic_friction import Estimate
        >>> Estimate(value=2.0, low=1.9, high=2.1, unit="N").high
        2.1
    """

    value: float
    low: float
    high: float
    unit: str

    def contains(self, value: float) -> bool:
        """Returns whether the interval contains a value."""
        return self.low <= value <= self.high

    def digits(self) -> tuple[str, str, str]:
        """Formats value, low and high with two digits of the interval's half width."""
        half = 0.5 * (self.high - self.low)
        digits = min(9, max(0, 1 - math.floor(math.log10(half)))) if half > 0.0 else 9
        value, low, high = (f"{number:.{digits}f}" for number in (self.value, self.low, self.high))
        return value, low, high

    def __str__(self) -> str:
        value, low, high = self.digits()
        return f"{value} [{low}, {high}] {self.unit}"


@dataclass(frozen=True)
class Identification:
    """Friction parameters that were identified from a record.

    Attributes:
        law: requested law, "coulomb", "viscous_coulomb" or "stribeck"; for LuGre the law of steady sliding.
        estimates: parameters that the record determines, by the names of the arguments of the law and of `ModelC` or
            `LuGreModel`. With `per_direction` the parameters of the law are there twice, with the prefixes "forward_"
            and "backward_". Elements in parallel have "stiffness_1", "force_1", ... in the order in which they begin
            to slide.
        residual_rms: RMS of the residual force [N], over samples and components.
        samples: number of samples of the fit.
        not_identified: reasons by the names of the other parameters.
        period: T of the record [s]; None for a law.
        dimension: number of components of the signals.
        per_direction: true if the law has its own parameters for each direction along the line.
        elements: number of elements in parallel; 0 for one law.

    Examples:
        >>> import numpy as np
        >>> from haptic_friction import Identification, identify_law
        >>> velocity = np.linspace(0.01, 1.0, 400)[:, None]
        >>> found: Identification = identify_law(velocity, 2.0 + 3.0 * velocity, law="viscous_coulomb")
        >>> {name: round(estimate.value, 6) for name, estimate in found.estimates.items()}
        {'force': 2.0, 'viscosity': 3.0}
    """

    law: str
    estimates: Mapping[str, Estimate]
    residual_rms: float
    samples: int
    not_identified: Mapping[str, str] = field(default_factory=dict)
    period: float | None = None
    dimension: int = 1
    per_direction: bool = False
    elements: int = 0

    def friction_law(self) -> FrictionLaw:
        """Makes the identified law Phi; with `per_direction` an `AsymmetricLaw`.

        Raises:
            ValueError: a parameter of the law was not identified.
        """
        prefixes = DIRECTIONS if self.per_direction else ("",)
        return combined([law_of(self.law, self._values(prefixed(p, LAWS[self.law]))) for p in prefixes])

    def model_c(self) -> ModelC:
        """Makes the identified model C, with the period of the record.

        Raises:
            ValueError: a parameter was not identified, or only a law was identified.
        """
        if self.period is None:
            raise ValueError("period: only a law was identified; model C comes from identify_model_c")
        contact = dict(zip(CONTACT, self._values(CONTACT), strict=True))
        return ModelC(self.friction_law(), period=self.period, dimension=self.dimension, **contact)

    def lugre_model(self) -> LuGreModel:
        """Makes the identified LuGre model, with the period of the record.

        Raises:
            ValueError: a parameter was not identified.
        """
        values = self._values((*BRISTLE, *LAWS[self.law]))
        return lugre_of(self.law, values[2:], values[:2], period=self.period or 0.0, dimension=self.dimension)

    def parallel_elements(self) -> ParallelElements:
        """Makes the identified elements in parallel, with the period of the record.

        Raises:
            ValueError: a parameter was not identified, or the identification is not one of elements in parallel.
        """
        if self.elements == 0:
            raise ValueError("elements: expected an identification of elements in parallel, got one of a law")
        values = self._values(element_units(self.elements))
        return elements_of(values[::2], values[1::2], period=self.period or 0.0, dimension=self.dimension)

    def _values(self, names: Iterable[str]) -> list[float]:
        for name in names:
            if name not in self.estimates:
                raise ValueError(f"{name}: not identified ({self.not_identified.get(name, 'no such parameter')})")
        return [self.estimates[name].value for name in names]


def check_law(law: str) -> None:
    """Raises ValueError for a law that is not in `LAWS`."""
    if law not in LAWS:
        raise ValueError(f"law: expected one of {', '.join(LAWS)}, got {law!r}")


def law_of(law: str, values: ArrayLike) -> FrictionLaw:
    """Makes a law by its name in `LAWS`, with the values of its parameters in their order."""
    first, *others = (float(value) for value in np.asarray(values))
    made: FrictionLaw = getattr(laws, _CLASSES[law])(first, **dict(zip(list(LAWS[law])[1:], others, strict=True)))
    return made


def lugre_of(law: str, values: ArrayLike, bristle: ArrayLike, *, period: float, dimension: int) -> LuGreModel:
    """Makes the LuGre model whose steady sliding force is a law of `LAWS`, with the viscosity of the law as s2.

    Args:
        law: name of the law.
        values: parameters of the law in their order.
        bristle: s0 [N/m] and s1 [N s/m].
        period: T [s].
        dimension: number of components.
    """
    named = dict(zip(LAWS[law], (float(value) for value in np.asarray(values)), strict=True))
    viscosity = named.pop("viscosity", 0.0)
    dry = laws.StribeckLaw(named.pop("kinetic_force"), **named) if law == "stribeck" else CoulombLaw(named["force"])
    s0, s1 = (float(value) for value in np.asarray(bristle))
    return LuGreModel(
        dry, bristle_stiffness=s0, bristle_damping=s1, viscosity=viscosity, period=period, dimension=dimension
    )


def element_units(count: int) -> dict[str, str]:
    """Returns the units of the parameters of elements in parallel by name: "stiffness_1", "force_1", ..."""
    pairs = (((f"stiffness_{j}", "N/m"), (f"force_{j}", "N")) for j in range(1, count + 1))
    return dict(entry for pair in pairs for entry in pair)


def elements_of(stiffness: ArrayLike, force: ArrayLike, *, period: float, dimension: int) -> ParallelElements:
    """Makes undamped elements of model C in parallel from stiffnesses [N/m] and break-away forces [N], (m,) each."""
    pairs = zip(np.asarray(stiffness).tolist(), np.asarray(force).tolist(), strict=True)
    return ParallelElements(
        [ModelC(CoulombLaw(F), stiffness=K, damping=0.0, period=period, dimension=dimension) for K, F in pairs]
    )


def combined(parts: Sequence[FrictionLaw]) -> FrictionLaw:
    """Combines a forward and a backward part to an asymmetric law; returns a single part unchanged."""
    return parts[0] if len(parts) == 1 else laws.AsymmetricLaw(*parts)


def prefixed(prefix: str, names: Iterable[str]) -> list[str]:
    """Returns the names with a prefix."""
    return [prefix + name for name in names]
