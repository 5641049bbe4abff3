"""Inertia from link parameters against the paper's closed form and against physics."""

from __future__ import annotations

import numpy as np
import pytest

from admittance_constraints import Definition, Link, Mechanism, MechanismError, TwoLinkOnCircle, add_serial_linkage


class Chain(Mechanism):
    def __init__(self, links: list[Link], gravity: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> None:
        self.links, self.field = links, gravity
        super().__init__()

    def define(self, d: Definition) -> None:
        end = add_serial_linkage(d, self.links, gravity=self.field).ends[-1]
        d.forward(end)
        d.nominal(q=[0.4, 0.9, -0.5][: len(self.links)])


def test_two_uniform_bars_are_equation_33() -> None:
    q, qdot = np.array([0.4, -1.2]), np.array([0.7, 1.9])
    chain, paper = Chain([Link.bar(0.15, mass=2.0)] * 2), TwoLinkOnCircle(base=(0.0, 0.0))
    np.testing.assert_allclose(chain.inertia(q), paper.inertia(q), atol=1e-16)
    np.testing.assert_allclose(chain.coriolis_force(q, qdot), paper.coriolis_force(q, qdot), atol=1e-15)
    np.testing.assert_allclose(chain.forward(q)[:2], paper.forward(q)[:2], atol=1e-16)


def test_a_spatial_chain_has_the_energy_of_its_parts() -> None:
    """Three joints about different axes: T from positions of many points of each bar."""
    axes = [(0, 0, 1), (0, 1, 0), (0, 1, 0)]
    links = [Link.bar(0.1 + 0.05 * i, mass=0.5 + i, axis=axis) for i, axis in enumerate(axes)]
    chain = Chain(links)
    q, qdot = np.array([0.4, 0.9, -0.5]), np.array([1.0, -2.0, 3.0])

    def points(angles: np.ndarray) -> np.ndarray:
        position, R, found = np.zeros(3), np.eye(3), []
        # two point masses at +-1/sqrt(12) of the length have a thin bar's mass, centre and inertia
        for link, angle in zip(links, angles, strict=True):
            K = np.array(
                [[0, -link.axis[2], link.axis[1]], [link.axis[2], 0, -link.axis[0]], [-link.axis[1], link.axis[0], 0]]
            )
            R = R @ (np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K)
            for sign in (-1.0, 1.0):
                found.append(position + R @ (link.tip * (0.5 + sign / np.sqrt(12.0))))
            position = position + R @ link.tip
        return np.array(found)

    h = 1e-6
    velocities = (points(q + h * qdot) - points(q - h * qdot)) / (2 * h)
    masses = np.repeat([link.mass / 2 for link in links], 2)
    assert chain.kinetic_energy(q, qdot) == pytest.approx(float(masses @ (velocities**2).sum(axis=1)) / 2, rel=1e-8)


def test_gravity_of_a_chain_is_the_height_of_its_centres() -> None:
    chain = Chain([Link.bar(0.2, mass=1.5)], gravity=(0.0, -9.81, 0.0))
    assert chain.potential_energy([0.7]) == pytest.approx(1.5 * 9.81 * 0.1 * np.sin(0.7), rel=1e-14)
    assert chain.passive_force([0.7], [0.0])[0] == pytest.approx(-1.5 * 9.81 * 0.1 * np.cos(0.7), rel=1e-14)


def test_bad_links_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="length: expected more than 0, got -1"):
        Link.bar(-1.0, mass=1.0)
    with pytest.raises(ValueError, match="axis: expected a direction, got zero"):
        Link.bar(1.0, mass=1.0, axis=(0, 0, 0))
    with pytest.raises(ValueError, match=r"inertia: expected shape \(3, 3\)"):
        Link.of(mass=1.0, center=(0, 0, 0), inertia=(1.0, 2.0), tip=(1, 0, 0))
    with pytest.raises(MechanismError, match="links: expected one or more"):
        Chain([])
