"""Contact materials and the rule that combines two of them."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

from convex_contact.problem import checks

#: fields that must be positive; all others must not be negative
_POSITIVE = ("stiffness", "stribeck_velocity")
#: fields of a material that may be None
_OPTIONAL = ("static_friction", "friction_across")


@dataclass(frozen=True, kw_only=True)
class Material:
    """Contact parameters of a surface.

    Attributes:
        stiffness: k [N/m] per contact point; infinite for a surface that is rigid compared with all others.
        dissipation: d of Hunt and Crossley [s/m] (normal laws of Lagged and Similar).
        relaxation_time: tau_d [s] (linear dissipation of SAP).
        friction: coefficient mu; of sliding if `static_friction` is given, along `friction_direction` if that is given.
        static_friction: coefficient at rest, not below `friction`; None: as `friction`.
        stribeck_velocity: slip speed at which the coefficient's excess over `friction` has fallen to about a third
            [m/s].
        friction_across: coefficient across `friction_direction`; None: as `friction`.
        friction_direction: direction of grooves in the body's frame (3,), of any length; with `friction_across`.
        torsional_friction: largest torque about the normal per normal force [m]; 0: none.

    Raises:
        ValueError: A value is negative or not a number, the stiffness is zero, or two values do not go together.

    Examples:
        >>> from convex_contact import Material
        >>> Material(stiffness=1e5, friction=0.8).friction
        0.8
    """

    stiffness: float = 1e7
    dissipation: float = 10.0
    relaxation_time: float = 1e-4
    friction: float = 0.5
    static_friction: float | None = None
    stribeck_velocity: float = 1e-2
    friction_across: float | None = None
    friction_direction: tuple[float, float, float] | None = None
    torsional_friction: float = 0.0

    def __post_init__(self) -> None:
        given = {name: value for name, value in asdict(self).items() if name != "friction_direction"}
        for name, value in given.items():
            if value is None and name not in _OPTIONAL:
                raise ValueError(f"{name}: expected a number, got None")
        for name, number in check_surface(given).items():
            object.__setattr__(self, name, number)
        if self.static_friction is not None and self.static_friction < self.friction:
            raise ValueError(
                f"static_friction: expected at least friction = {self.friction}, got {self.static_friction}"
            )
        if (self.friction_across is None) != (self.friction_direction is None):
            raise ValueError("friction_across: expected together with friction_direction, got one of them alone")
        if self.friction_direction is not None:
            if self.static_friction is not None:
                raise ValueError("static_friction: expected none beside friction_across")
            object.__setattr__(self, "friction_direction", _unit("friction_direction", self.friction_direction))

    @property
    def rest_friction(self) -> float:
        """The coefficient at rest."""
        return self.friction if self.static_friction is None else self.static_friction

    @property
    def principal_friction(self) -> tuple[float, float]:
        """The coefficients of sliding along and across `friction_direction`."""
        return self.friction, self.friction if self.friction_across is None else self.friction_across

    def combined(self, other: Material) -> Material:
        """Combines two surfaces to the law of their contact; symmetric, without the directions of friction.

        * The stiffnesses act in series, k = kA kB / (kA + kB).
        * The dissipation is weighted by the other's compliance, d = (kB dA + kA dB) / (kA + kB), so that the softer
          surface's counts most.
        * Relaxation times add.
        * Friction is the harmonic mean 2 muA muB / (muA + muB); so are friction at rest and torsional friction.
        * The Stribeck velocity is the larger one of the surfaces whose coefficient falls.
        """
        a, b = self, other
        if math.isinf(a.stiffness) and math.isinf(b.stiffness):
            raise ValueError("stiffness: two rigid surfaces meet; one of them needs a finite stiffness")
        if math.isinf(a.stiffness) or math.isinf(b.stiffness):
            soft = b if math.isinf(a.stiffness) else a
            stiffness, dissipation = soft.stiffness, soft.dissipation
        else:
            fraction = a.stiffness / (a.stiffness + b.stiffness)
            stiffness = fraction * b.stiffness
            dissipation = (1 - fraction) * a.dissipation + fraction * b.dissipation
        falling = [m.stribeck_velocity for m in (a, b) if m.rest_friction > m.friction]
        return Material(
            stiffness=stiffness,
            dissipation=dissipation,
            relaxation_time=a.relaxation_time + b.relaxation_time,
            friction=harmonic_mean(a.friction, b.friction),
            static_friction=harmonic_mean(a.rest_friction, b.rest_friction) if falling else None,
            stribeck_velocity=max(falling, default=Material.stribeck_velocity),
            torsional_friction=harmonic_mean(a.torsional_friction, b.torsional_friction),
        )


@dataclass(frozen=True, kw_only=True)
class PairLaw:
    """Combined values that are set for a pair of bodies; None keeps the value of the rule.

    A set `friction` has no direction; its value at rest is `static_friction`, or itself.

    Examples:
        >>> from convex_contact import World
        >>> world = World()
        >>> ground, box = world.add_half_space("ground"), world.add_box("box", mass=1.0, size=(0.1, 0.1, 0.1))
        >>> world.set_pair("box", "ground", friction=0.3)  # the stiffness stays that of the materials
        >>> world.pair_laws[ground, box].friction, world.pair_laws[ground, box].stiffness
        (0.3, None)
    """

    stiffness: float | None = None
    dissipation: float | None = None
    relaxation_time: float | None = None
    friction: float | None = None
    static_friction: float | None = None
    stribeck_velocity: float | None = None
    torsional_friction: float | None = None

    def __post_init__(self) -> None:
        for name, number in check_surface(asdict(self)).items():
            object.__setattr__(self, name, number)
        if self.stiffness == math.inf:
            raise ValueError("stiffness: a pair's must be finite")
        if self.static_friction is not None and self.friction is None:
            raise ValueError("static_friction: expected together with friction")

    def applied(self, rule: Material) -> Material:
        """Replaces values of a combined material by those that are set here."""
        if self.friction is not None:
            rule = replace(rule, friction=self.friction, static_friction=self.static_friction)
        return replace(rule, **{name: value for name, value in asdict(self).items() if value is not None})


def harmonic_mean(a: float, b: float) -> float:
    """Returns 2 a b/(a + b) of two numbers that are not negative; 0 if one of them is 0."""
    return 2 * a * b / (a + b) if a + b > 0 else 0.0


def check_surface(values: dict[str, Any]) -> dict[str, float]:
    """Returns values of a material as numbers, without those that are None.

    Raises:
        ValueError: no contact law can use a value; the message names the field.
    """
    numbers, known = {}, [name for name in Material.__dataclass_fields__ if name != "friction_direction"]
    for name, value in values.items():
        if name not in known:
            raise ValueError(f"{name}: a material has {', '.join(known)}")
        if value is None:
            continue
        expected = "positive" if name in _POSITIVE else "finite and not negative"
        if name == "stiffness":
            numbers[name] = checks.positive(name, value, expected=expected)
        elif name in _POSITIVE:
            numbers[name] = checks.number(name, value, above=0.0, expected=expected)
        else:
            numbers[name] = checks.number(name, value, minimum=0.0, expected=expected)
    return numbers


def _unit(name: str, direction: Any) -> tuple[float, float, float]:
    """Returns the direction with length 1."""
    try:
        x, y, z = map(float, direction)
        length = math.hypot(x, y, z)
    except (TypeError, ValueError):
        length = math.nan
    if not 0.0 < length < math.inf:
        raise ValueError(f"{name}: expected three finite numbers that are not all zero, got {direction!r}")
    return x / length, y / length, z / length
