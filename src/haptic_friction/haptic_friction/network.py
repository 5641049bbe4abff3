"""Small networks of bodies, springs and frictional contacts (Kikuuwe et al., section IV-A, Figs. 9 to 11).

Bodies move along one line or in a plane; each has a mass and may be tied to the wall by a spring. A
contact is an impedance element (model C, B, ...) between two bodies or a body and the base, whose velocity
is given. `ContactNetwork` alternates between both. Every period, with the forces of the period before as in (60),

    v_i <- v_i + T/M_i (sum of contact forces on i - K_i x_i),   x_i <- x_i + T v_i,

then every element takes the new velocity of its first partner relative to its second. `ImplicitNetwork` solves bodies
and elements of model C together, without delay. While all contacts stick both networks are linear, see `stuck_map`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from haptic_friction.laws import checked
from haptic_friction.models.batch import Batch
from haptic_friction.models.model import ImpedanceModel
from haptic_friction.models.model_c import ModelC
from haptic_friction.network_kernels import MOST_SWEEPS, NetworkBodies, run_implicit_network
from haptic_math.quantities import float_array

#: number of the partner that moves with the given velocity
BASE = -1


@dataclass(frozen=True)
class Body:
    """A body: mass M [kg], and stiffness of its spring to the wall [N/m].

    Examples:
        >>> from haptic_friction import Body
        >>> Body(mass=0.5, stiffness=100.0)
        Body(mass=0.5, stiffness=100.0)
    """

    mass: float
    stiffness: float = 0.0


@dataclass(frozen=True)
class Contact:
    """A contact; its element takes the velocity of `first` minus that of `second` (numbers of bodies, or BASE).

    Examples:
        >>> from haptic_friction import BASE, Contact, CoulombLaw, ModelC
        >>> element = ModelC(CoulombLaw(2.0), stiffness=1e4, damping=20.0, period=1e-3)
        >>> contact = Contact(0, BASE, element)  # body 0 on the base
        >>> contact.first, contact.second
        (0, -1)
    """

    first: int
    second: int
    element: ImpedanceModel


class NetworkRun(NamedTuple):
    """Motion and forces of a network over n periods.

    Attributes:
        position, velocity: of the bodies (n, bodies, dimension) [m], [m/s].
        force: of the contacts (n, contacts, dimension) [N]: on `first` acts -force, on `second` +force.
        displacement: elastic displacements of the contacts (n, contacts, dimension) [m].
        sticking: flags of the contacts (n, contacts).

    Examples:
        >>> from haptic_friction import BASE, Body, Contact, ContactNetwork, CoulombLaw, ModelC
        >>> element = ModelC(CoulombLaw(2.0), stiffness=1e4, damping=20.0, period=1e-3)
        >>> run = ContactNetwork([Body(mass=1.0)], [Contact(0, BASE, element)]).simulate([[1.0]] * 100)  # base slides
        >>> run.force.shape, run.velocity[-1].round(2).tolist()  # 2 N on 1 kg for 0.1 s
        ((100, 1, 1), [[0.2]])
    """

    position: np.ndarray
    velocity: np.ndarray
    force: np.ndarray
    displacement: np.ndarray
    sticking: np.ndarray

    def __repr__(self) -> str:
        (n, bodies, dimension), contacts = self.position.shape, self.force.shape[1]
        return f"NetworkRun(periods: {n}, bodies: {bodies}, contacts: {contacts}, dimension: {dimension})"


class _Network:
    """Bodies with frictional contacts on a moving base.

    Args:
        bodies: at least one.
        contacts: at least one; elements of one kind, dimension and period, see `Batch`.

    Attributes:
        elements: elements of the contacts as a batch.
        position, velocity: of the bodies [m], [m/s], shape (bodies, dimension).
        force: of the contacts [N], shape (contacts, dimension): on `first` acts -force, on `second` +force.
        relative_velocity: of the contacts [m/s], shape (contacts, dimension).

    Raises:
        ValueError: a number is out of its range, or a contact names a body that is not there.
    """

    def __init__(self, bodies: Sequence[Body], contacts: Sequence[Contact]) -> None:
        if not bodies or not contacts:
            raise ValueError(f"bodies, contacts: expected one or more each, got {len(bodies)} and {len(contacts)}")
        for name, kind, given in (("bodies", Body, bodies), ("contacts", Contact, contacts)):
            wrong = [entry for entry in given if not isinstance(entry, kind)]
            if wrong:
                raise ValueError(f"{name}: expected entries of class {kind.__name__}, got {wrong[0]!r}")
        mass = [checked(f"mass of body {i}", body.mass, "kg", positive=True) for i, body in enumerate(bodies)]
        spring = [checked(f"stiffness of body {i}", body.stiffness, "N/m") for i, body in enumerate(bodies)]
        for index, contact in enumerate(contacts):
            if not isinstance(contact.element, ImpedanceModel):
                got = type(contact.element).__name__
                raise ValueError(f"contact {index}: expected an impedance model (velocity in, force out), got {got}")
            partners = (contact.first, contact.second)
            if not all(isinstance(partner, (int, np.integer)) for partner in partners):
                raise ValueError(f"contact {index}: expected numbers of bodies, or BASE, got {partners}")
            if contact.first == contact.second or not all(BASE <= partner < len(bodies) for partner in partners):
                raise ValueError(
                    f"contact {index}: expected two of BASE and bodies 0 to {len(bodies) - 1}, got {partners}"
                )
        self._contacts = list(contacts)
        self.elements = Batch([contact.element for contact in contacts])
        self.period, self.dimension = contacts[0].element.period, self.elements.dimension
        self._mass, self._stiffness = np.array(mass)[:, None], np.array(spring)[:, None]
        # rows: contacts; columns: bodies and the base; +1 for the first partner, -1 for the second
        self._incidence = np.zeros((len(contacts), len(bodies) + 1))
        for index, contact in enumerate(contacts):
            self._incidence[index, contact.first] = 1.0
            self._incidence[index, contact.second] = -1.0
        self.reset()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(bodies: {len(self._mass)}; contacts: {self.elements!r})"

    def reset(self) -> None:
        """Sets all bodies at rest and all contacts relaxed."""
        n = len(self._mass)
        self.position, self.velocity = np.zeros((n, self.dimension)), np.zeros((n, self.dimension))
        self.force = np.zeros((len(self.elements), self.dimension))
        self.relative_velocity = np.zeros_like(self.force)
        self.elements.states[:] = 0.0
        self.elements.sticking[:] = True
        self.elements.dissipated_energy[:] = 0.0

    def _base_velocity(self, given: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
        u = float_array("base_velocity", given, shape)
        if u.shape != shape or not np.isfinite(u).all():
            wanted = str(shape[0]) if len(shape) == 1 else f"shape {shape}, "
            raise ValueError(f"base_velocity: expected {wanted} finite numbers [m/s], got {given!r}")
        return u

    def _run(self, base_velocity: ArrayLike) -> tuple[np.ndarray, NetworkRun]:
        """Checks velocities of the base (n, dimension), and allocates a run."""
        given = float_array("base_velocity", base_velocity, f"(n, {self.dimension})")
        u = np.ascontiguousarray(self._base_velocity(given, (len(np.atleast_1d(given)), self.dimension)))
        n, m, bodies = len(u), len(self.elements), len(self._mass)
        x, v, f, e = (np.empty((n, rows, self.dimension)) for rows in (bodies, bodies, m, m))
        return u, NetworkRun(x, v, f, e, np.empty((n, m), dtype=bool))

    def _elastic(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns K [N/m] and B [N s/m] of the contacts' elements as diagonal matrices."""
        elements = [contact.element for contact in self._contacts]
        for index, element in enumerate(elements):
            if not isinstance(element, ModelC):
                raise ValueError(f"contact {index}: expected model C, got {type(element).__name__}")
            if isinstance(element.stiffness, np.ndarray) or isinstance(element.damping, np.ndarray):
                raise ValueError(f"contact {index}: expected numbers as stiffness and damping, got a matrix")
        values = np.array([(element.stiffness, element.damping) for element in elements])  # type: ignore[attr-defined]
        return np.diag(values[:, 0]), np.diag(values[:, 1])


class ContactNetwork(_Network):
    """A network whose bodies move under the forces of the period before, see the module and `_Network`.

    Args:
        bodies: at least one.
        contacts: at least one; elements of one kind, dimension and period, see `Batch`.
        implicit_springs: evaluate the springs at the end of the period, not at its start:
            v_i <- (M_i v_i + T (sum of contact forces - K_i x_i)) / (M_i + T^2 K_i).
        delay: further periods of delay of the contact forces on the bodies.

    Examples:
        >>> import numpy as np
        >>> from haptic_friction import BASE, Body, Contact, ContactNetwork, CoulombLaw, ModelC
        >>> element = ModelC(CoulombLaw(2.0), stiffness=1e3, damping=10.0, period=1e-3)
        >>> network = ContactNetwork([Body(mass=1.0)], [Contact(0, BASE, element)])
        >>> run = network.simulate(np.full((3000, 1), 0.1))  # the base takes the block along
        >>> run.velocity[-1].round(3).tolist(), run.sticking[-1].tolist()
        ([[0.1]], [True])
    """

    def __init__(
        self,
        bodies: Sequence[Body],
        contacts: Sequence[Contact],
        *,
        implicit_springs: bool = False,
        delay: int = 0,
    ) -> None:
        if delay < 0 or delay != int(delay):
            raise ValueError(f"delay: expected a whole number of periods, not negative, got {delay!r}")
        self._implicit, self._delay = implicit_springs, int(delay)
        super().__init__(bodies, contacts)

    def reset(self) -> None:
        """Sets all bodies at rest and all contacts relaxed."""
        super().reset()
        self._late = [np.zeros_like(self.force)] * self._delay
        mass = self._mass + self.period**2 * self._stiffness if self._implicit else self._mass
        self._gain = self.period / mass

    def step(self, base_velocity: ArrayLike) -> np.ndarray:
        """Advances one period.

        Args:
            base_velocity: u [m/s], shape (dimension,).

        Returns:
            Contact forces [N], shape (contacts, dimension).

        Raises:
            ValueError: wrong shape, or a number that is not finite; nothing is changed.
        """
        u = self._base_velocity(base_velocity, (self.dimension,))
        self._late.append(self.force)
        position = self.position + self.period * self.velocity if self._implicit else self.position
        pull = -self._incidence[:, :-1].T @ self._late.pop(0) - self._stiffness * position
        self.velocity += self._gain * pull
        self.position += self.period * self.velocity
        self.relative_velocity = self._incidence @ np.vstack([self.velocity, u])
        self.force = self.elements.step(self.relative_velocity)
        return self.force

    def simulate(self, base_velocity: ArrayLike) -> NetworkRun:
        """Advances over velocities of the base (n, dimension) [m/s]; nothing is changed if it raises ValueError."""
        base, run = self._run(base_velocity)
        for k, u in enumerate(base):
            self.step(u)
            state = (self.position, self.velocity, self.force, self.elements.row("displacement"))
            for column, values in zip(run, (*state, self.elements.sticking), strict=True):
                column[k] = values
        return run

    def stuck_map(self) -> np.ndarray:
        """Builds the map of (x, v, delayed contact forces) over one period while all contacts of model C stick, u = 0.

        The elastic displacements are e = C x. With one body on the base the map has the eigenvalues of (63)
        and, for each period of delay, one more.

        Raises:
            ValueError: a contact is not of model C.
        """
        K, B = self._elastic()
        C, n, m = self._incidence[:, :-1], len(self._mass), len(self._contacts)
        size = 2 * n + self._delay * m
        x, v = np.eye(size)[:n], np.eye(size)[n : 2 * n]
        force = np.eye(size)[2 * n : 2 * n + m] if self._delay else K @ C @ x + B @ C @ v
        pull = -C.T @ force - self._stiffness * (x + self.period * v if self._implicit else x)
        velocity = v + self._gain * pull
        position = x + self.period * velocity
        waiting = [np.eye(size)[2 * n + m :], K @ C @ x + B @ C @ v] if self._delay else []
        return np.vstack([position, velocity, *waiting])


class ImplicitNetwork(_Network):
    """A network of elements of model C that steps bodies and elements together implicitly, without delay.

    With T the period, C the incidence of the contacts and f their forces at the end of the step,

        M v' = M v - T K (x + T v') - T C^T f,      x' = x + T v',
        f_j = Phi_Zj(w_j + K_j e_j Z_j),            Z_j = 1/(B_j + T K_j)        (38a), (38b) with w = C (v', u).

    With v'(f) = a - W C^T f, W = T/(M + T^2 K), D = C W C^T, the force of contact j for given other forces is

        f_j = Phi_(Zj + Djj)(q_j),   q_j = w_j(a, u) + K_j e_j Z_j - sum over l /= j of D_jl f_l,

    since f in Phi(q - (Z + D_jj) f). Sweeps over the contacts converge: for a law that does not fall they minimise a
    strictly convex function coordinate by coordinate. For any M, K, B and T, the work of the base in a step is at least
    the growth of kinetic and elastic energy.

    Args:
        bodies: at least one.
        contacts: at least one, of model C.

    Raises:
        ValueError: as for `ContactNetwork`, or Phi_Z does not exist for a contact's Z + D_jj (15).

    Examples:
        >>> import numpy as np
        >>> from haptic_friction import BASE, Body, Contact, CoulombLaw, ImplicitNetwork, ModelC
        >>> element = ModelC(CoulombLaw(2.0), stiffness=1e6, damping=10.0, period=1e-3)
        >>> network = ImplicitNetwork([Body(mass=0.01)], [Contact(0, BASE, element)])
        >>> network.simulate(np.full((100, 1), 0.1)).velocity[-1].round(3).tolist()
        [[0.1]]
    """

    def __init__(self, bodies: Sequence[Body], contacts: Sequence[Contact]) -> None:
        super().__init__(bodies, contacts)
        self._elastic()
        C, self._inverse = self._incidence[:, :-1], 1.0 / (self._mass + self.period**2 * self._stiffness)
        self._mobility = self.period * C @ (self._inverse * C.T)
        for index, contact in enumerate(contacts):
            element: ModelC = contact.element  # type: ignore[assignment]
            element.law.check_existence(element.Z + self._mobility[index, index])

    def step(self, base_velocity: ArrayLike) -> np.ndarray:
        """Advances one period, see `ContactNetwork.step`."""
        return self.simulate(self._base_velocity(base_velocity, (self.dimension,))[None]).force[0]

    def simulate(self, base_velocity: ArrayLike) -> NetworkRun:
        """Advances over velocities of the base (n, dimension) [m/s].

        Raises:
            ValueError: wrong shape, or a number that is not finite; nothing is changed.
            RuntimeError: the sweeps of a step did not converge.
        """
        u, run = self._run(base_velocity)
        batch = self.elements
        failed = run_implicit_network(
            *batch._arguments, self._bodies(), u, batch.states, batch.sticking, batch.dissipated_energy, run,
            batch._zero,
        )  # fmt: skip
        if failed >= 0:
            raise RuntimeError(f"step {failed}: the contact forces did not converge in {MOST_SWEEPS} sweeps")
        if len(u):
            self.force = run.force[-1].copy()
            self.relative_velocity = self._incidence @ np.vstack([self.velocity, u[-1]])
        return run

    def _bodies(self) -> NetworkBodies:
        return NetworkBodies(
            self._incidence, self._mobility, self._mass[:, 0], self._stiffness[:, 0], self._inverse[:, 0],
            self.position, self.velocity,
        )  # fmt: skip

    def stuck_map(self) -> np.ndarray:
        """Builds the map of (x, v) over one period while all contacts stick, u = 0, see `ContactNetwork.stuck_map`."""
        K, B = self._elastic()
        C, T, n = self._incidence[:, :-1], self.period, len(self._mass)
        x, v = np.eye(2 * n)[:n], np.eye(2 * n)[n:]
        mass, pull = np.diag(self._mass[:, 0]), np.diag(self._stiffness[:, 0]) + C.T @ K @ C
        velocity = np.linalg.solve(mass + T * C.T @ B @ C + T * T * pull, mass @ v - T * pull @ x)
        return np.vstack([x + T * velocity, velocity])
