"""Checks that a definition is complete and consistent; every error names the constraint or part.

Identities are not decided symbolically but at a few configurations around the nominal one, chosen by a fixed random
sequence. Mechanisms are made of analytic functions: an identity that holds there to rounding holds everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from admittance_constraints.errors import MechanismError, SingularConfigurationError
from admittance_constraints.model import symbolic
from admittance_constraints.model.definition import Definition
from admittance_constraints.model.system import System

if TYPE_CHECKING:
    from admittance_constraints.model.mechanism import Mechanism

_SAMPLES = 5
#: relative size below which a derived number counts as rounding: some hundred operations of 1e-16 each
_ROUNDING = 1e-10
#: relative singular value below which directions count as dependent; a mechanism this close cannot be rendered
_DEPENDENT = 1e-9


def nominal_q(d: Definition) -> np.ndarray:
    """Gives the stated nominal q, or a generic one."""
    return 0.3 + 0.1 * np.arange(d.q.numel()) if d.nominal_q is None else d.nominal_q


def nominal_z(d: Definition) -> np.ndarray:
    """Gives the stated nominal z, or zero."""
    return np.zeros(d.z.numel()) if d.nominal_z is None else d.nominal_z


def check_definition(d: Definition) -> None:
    """Raises MechanismError if a part is missing, or depends on symbols that it must not contain."""
    if not d.q.numel():
        raise MechanismError("coordinates: none declared; call coordinates(count) or rigid_body(...)")
    if d.energy is None:
        raise MechanismError("kinetic_energy: none stated; call kinetic_energy(...), rigid_body(...) or a linkage")
    if d.phi is None:
        raise MechanismError("forward: x = phi(q) is not stated; call forward(...)")
    if d.psi is None and d.z.numel():
        raise MechanismError("parametrisation: parameters are declared, psi(z) is not stated")
    if d.psi is not None and not d.z.numel():
        raise MechanismError("parametrisation: stated without parameters(count)")
    task = [d.x, ca.vec(d.rotation)]
    rates = [d.xdot, d.angular_velocity]
    _depends_only("forward", d.phi, d, [d.q], "q")
    if d.psi is not None:
        _depends_only("parametrisation", d.psi, d, [d.z], "z")
    if d.inverse_map is not None:
        _depends_only("inverse", d.inverse_map, d, [d.x], "x")
        if d.inverse_map.numel() != d.q.numel():
            raise MechanismError(f"inverse: expected {d.q.numel()} rows, got {d.inverse_map.numel()}")
    _depends_only("kinetic_energy", d.energy, d, [d.q, d.qdot, *task, *rates], "q, qdot, xdot, angular_velocity")
    _depends_only("potential", d.potential_energy, d, [d.q, *task], "q, x, position, rotation")
    for name, force in (("damping_force", d.damping), ("applied_force", d.applied)):
        _depends_only(name, force, d, [d.q, d.qdot, *task, *rates], "q, qdot, x, xdot")
        if force.numel() not in (1, d.q.numel()) or (force.numel() == 1 != d.q.numel() and not force.is_zero()):
            raise MechanismError(f"{name}: expected {d.q.numel()} rows, got {force.numel()}")
    for name, expression in d.holonomic_constraints:
        _depends_only(f"constraint {name}", expression, d, [*task, d.q], "x, position, rotation, q")
    for name, expression in d.nonholonomic_constraints:
        allowed = [*task, *rates, d.q, d.qdot]
        _depends_only(f"constraint {name}", expression, d, allowed, "x, xdot, rotation, angular_velocity, q, qdot")
        velocity = ca.vertcat(*rates, d.qdot)
        slope = ca.jacobian(expression, velocity)
        if ca.depends_on(slope, velocity) or not _vanishes(expression - ca.mtimes(slope, velocity)):
            raise MechanismError(f"constraint {name}: expected an expression linear in the velocities (eq. (9))")


def nonzero_constraints(d: Definition, system: System) -> set[str]:
    """Gives the names of the constraints whose row of A is not zero for every q.

    Raises:
        MechanismError: a constraint that does not depend on q is violated.
    """
    values = _parameter_values(d)
    A = ca.Function("A", [system.q, system.parameters], [system.constraint_matrix, system.holonomic])
    largest = np.zeros(len(system.names))
    for q in _around(nominal_q(d)):
        rows, H = (np.asarray(part.full()) for part in A(q, values))
        largest = np.fmax(largest, np.abs(rows).max(axis=1, initial=0.0))
        for i, value in enumerate(H.ravel()):
            if np.abs(rows[i]).max() < _ROUNDING and abs(value) > 1e-9:
                raise MechanismError(
                    f"constraint {system.names[i]}: q does not influence it, and it is off by {value:.3g}"
                )
    return {name for name, size in zip(system.names, largest, strict=True) if not size < _ROUNDING}


def check_mechanism(mechanism: Mechanism) -> None:
    """Raises MechanismError where ranks, dimensions, psi, phi^-1 and the energy contradict each other."""
    d = mechanism.definition
    _check_energy(mechanism)
    if d.psi is not None:
        _check_parametrisation(mechanism)
    for q in _configurations(mechanism):
        M = mechanism.inertia(q)
        if not np.isfinite(M).all() or np.linalg.eigvalsh(M).min() <= 0.0:
            raise MechanismError(f"kinetic_energy: the inertia is not positive definite at q = {_short(q)}")
        if _rank(mechanism.task_jacobian(q)) < mechanism.dimension:
            raise MechanismError(
                f"forward: dphi/dq has dependent columns at q = {_short(q)}; the force on the tool does not "
                "determine f_q, eq. (2)"
            )
        _check_rows(mechanism, q)


# --- parts -----------------------------------------------------------------------------------------------------


def _check_energy(mechanism: Mechanism) -> None:
    s = mechanism.system
    if ca.depends_on(s.inertia, s.qdot):
        raise MechanismError("kinetic_energy: expected a quadratic form in the velocities (eq. (5))")
    remainder = s.kinetic_energy - ca.dot(s.qdot, ca.mtimes(s.inertia, s.qdot)) / 2
    if not _vanishes(remainder, mechanism.parameter_vector, s.parameters):
        raise MechanismError("kinetic_energy: expected a quadratic form in the velocities (eq. (5))")


def _check_parametrisation(mechanism: Mechanism) -> None:
    d = mechanism.definition
    assert d.psi is not None
    nz, b = mechanism.parameter_dimension, mechanism.holonomic_count
    if nz != mechanism.dimension - b:
        raise MechanismError(
            f"parametrisation: expected n - b = {mechanism.dimension} - {b} parameters for the holonomic constraints "
            f"{', '.join(mechanism.constraint_names[:b]) or '(none)'}, got {nz}"
        )
    for z in _around(nominal_z(d)):
        for name, value in zip(mechanism.constraint_names, _psi_residual(mechanism, z), strict=False):
            if not abs(value) <= 1e-9:
                raise MechanismError(f"constraint {name}: psi(z) violates it by {value:.3g} at z = {_short(z)}")
        if _rank(mechanism.parametric_jacobian(z)) < nz:
            raise MechanismError(f"parametrisation: dpsi/dz has dependent columns at z = {_short(z)}")


def _psi_residual(mechanism: Mechanism, z: np.ndarray) -> np.ndarray:
    """Evaluates H' at x = psi(z), shape (b,); constraints that also contain q at q = phi^-1(psi(z))."""
    d = mechanism.definition
    x, R = mechanism.parametric(z), symbolic.rotation_from_angles(d.x[3:])
    residuals = []
    for name, expression in d.holonomic_constraints:
        if name not in mechanism.constraint_names:
            continue
        of_x = ca.substitute([expression], [ca.vec(d.rotation), d.q], [ca.vec(R), d.x if d.is_rigid_body else d.q])[0]
        q = mechanism.configuration(z) if ca.depends_on(of_x, d.q) else np.zeros(mechanism.dimension)
        H = ca.Function("H", [d.x, d.q, mechanism.system.parameters], [of_x])
        residuals.append(float(H(x, q, _parameter_values(d))))
    return np.array(residuals)


def _check_rows(mechanism: Mechanism, q: np.ndarray) -> None:
    A = mechanism.constraint_matrix(q)
    if len(A) > mechanism.dimension:
        raise MechanismError(f"constraints: {len(A)} constraints on {mechanism.dimension} coordinates")
    for i in range(len(A)):
        if _rank(A[: i + 1]) < i + 1:
            earlier = ", ".join(mechanism.constraint_names[:i]) or "none"
            raise MechanismError(
                f"constraint {mechanism.constraint_names[i]}: depends on the constraints before it ({earlier}) "
                f"at q = {_short(q)}; leave it out"
            )


def _configurations(mechanism: Mechanism) -> list[np.ndarray]:
    """Gives some configurations on the submanifold."""
    d = mechanism.definition
    found: list[np.ndarray] = []
    if mechanism.has_parametrisation:
        for z in _around(nominal_z(d)):
            try:
                found.append(mechanism.configuration(z))
            except SingularConfigurationError:
                continue
        if not found:
            centre = nominal_z(d)
            mechanism.configuration(centre)  # raises its own error, or is the only configuration
            raise SingularConfigurationError(f"phi(q) = psi(z) has no solution for any z tried around {_short(centre)}")
        return found
    for q in _around(nominal_q(d)):
        try:
            found.append(mechanism.project_position(q))
        except (SingularConfigurationError, np.linalg.LinAlgError):
            continue
    if not found:
        names = ", ".join(mechanism.constraint_names[: mechanism.holonomic_count])
        raise MechanismError(f"constraints {names}: no configuration found; state one by nominal(q=...)")
    return found


def _around(centre: np.ndarray) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [centre + random.uniform(-0.25, 0.25, size=len(centre)) for _ in range(_SAMPLES)]


def _parameter_values(d: Definition) -> np.ndarray:
    return np.array(list(d.parameter_values.values()), dtype=float)


def _rank(matrix: np.ndarray) -> int:
    """Computes the rank with rows or columns scaled to one length, so that units do not count."""
    axis = 1 if matrix.shape[0] <= matrix.shape[1] else 0
    lengths = np.linalg.norm(matrix, axis=axis, keepdims=True)
    singular = np.linalg.svd(matrix / np.where(lengths > 0.0, lengths, 1.0), compute_uv=False)
    return int((singular > _DEPENDENT).sum())


def _vanishes(expression: ca.SX, values: np.ndarray | None = None, parameters: ca.SX | None = None) -> bool:
    """Returns whether an expression is zero at random arguments, relative to the size of these."""
    symbols = ca.symvar(expression)
    random = np.random.default_rng(1)
    known = {} if parameters is None else {parameters[i].element_hash(): i for i in range(parameters.numel())}
    evaluate = ca.Function("value", [ca.vertcat(ca.SX(0, 1), *symbols)], [expression])
    for _ in range(_SAMPLES):
        point = random.uniform(0.5, 1.5, size=len(symbols))
        for j, symbol in enumerate(symbols):
            if values is not None and symbol.element_hash() in known:
                point[j] = values[known[symbol.element_hash()]]
        value = np.asarray(evaluate(point).full())
        if not np.abs(value).max(initial=0.0) <= _ROUNDING * max(1.0, float(np.abs(point).max(initial=0.0)) ** 2):
            return False
    return True


def _depends_only(part: str, expression: ca.SX, d: Definition, allowed: Sequence[ca.SX], words: str) -> None:
    known = {symbol.element_hash() for group in allowed for symbol in ca.symvar(group)}
    known |= {symbol.element_hash() for symbol in d.parameter_symbols}
    strangers = [str(symbol) for symbol in ca.symvar(ca.SX(expression)) if symbol.element_hash() not in known]
    if strangers:
        raise MechanismError(f"{part}: expected an expression in {words}; it contains {', '.join(strangers)}")


def _short(vector: np.ndarray) -> str:
    return np.array2string(vector, precision=3, separator=", ")
