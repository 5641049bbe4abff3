"""Figures 1, 3, 5 and 8, and the errors (47) and (49) of the closed-form approximation."""

from __future__ import annotations

import io

import numpy as np
import pytest

from haptic_friction import AsymmetricLaw, CoulombLaw, FrictionLaw, StribeckLaw, TableLaw, ViscousCoulombLaw, figures

F, EPS = 2.0, 0.01
V = np.array([-0.05, -0.011, -0.009, -0.001, 0.0, 0.001, 0.009, 0.011, 0.05])
H = np.array([-5.0, -2.0, -0.5, 0.0, 0.5, 2.0, 5.0])


def surface(model: str) -> np.ndarray:
    return figures.force_surface(model, V, H, limit=F, threshold=EPS)


def test_the_surfaces_are_the_equations_of_the_paper() -> None:
    h, v = np.broadcast_arrays(H[:, None], V)
    held = np.clip(h, -F, F)
    np.testing.assert_allclose(surface("coulomb"), np.where(v == 0.0, held, F * np.sign(v)))  # (1), (2)
    np.testing.assert_allclose(surface("karnopp"), np.where(np.abs(v) > EPS, F * np.sign(v), held))  # (3)
    q = v + EPS * np.clip(h / F, -1.0, 1.0)  # (4b)
    np.testing.assert_allclose(surface("quinn"), F * np.clip(q / EPS, -1.0, 1.0), rtol=1e-12, atol=1e-12)  # (4a)
    np.testing.assert_allclose(surface("viscous"), F * np.clip(v / EPS, -1.0, 1.0), rtol=1e-12)  # (5)
    np.testing.assert_allclose(surface("A"), F * np.clip(v / EPS, -1.0, 1.0), rtol=1e-12)  # (27), eps = T F/M
    with pytest.raises(ValueError, match="model: expected one of coulomb"):
        surface("dahl")


@pytest.mark.slow
@pytest.mark.parametrize(
    "figure",
    [
        figures.figure_1,
        figures.figure_3,
        figures.figure_8,
        lambda: figures.figure_5(StribeckLaw(1.0, static_force=2.0, stribeck_velocity=0.2), Z=0.05, x=0.3),
        lambda: figures.figure_5(AsymmetricLaw(CoulombLaw(1.0), CoulombLaw(3.0)), Z=0.1, x=-0.5),
    ],
)
def test_every_figure_is_drawn(figure: object) -> None:
    made = figure()  # type: ignore[operator]
    file = io.BytesIO()
    made.savefig(file, dpi=40)
    assert len(file.getvalue()) > 5000 and made.axes


LAWS: dict[str, FrictionLaw] = {
    "viscous": ViscousCoulombLaw(2.0, viscosity=3.0),
    "stribeck": StribeckLaw(1.0, static_force=1.5, stribeck_velocity=0.3, viscosity=0.5),
    "table": TableLaw([0.0, 0.5, 2.0], [2.0, 1.5, 3.0]),
}


@pytest.mark.parametrize("name", LAWS)
def test_47_is_the_error_of_the_approximation_to_first_order_in_z(name: str) -> None:
    law, off = LAWS[name], []
    for Z in (0.02, 0.01, 0.005):
        error, estimate = law.approximation_error(0.4, Z)
        exact = law.projected([0.4], Z)[0]
        assert error == pytest.approx(abs(law.force([0.4])[0] - exact), rel=1e-9)
        off.append(abs(error - estimate))
    # the rest is O(Z^2), a quarter for half of Z; on a straight piece of g both are the same
    assert off[2] < 0.3 * off[1] + 1e-14 and off[1] < 0.3 * off[0] + 1e-14


@pytest.mark.parametrize("name", ["viscous", "table"])
def test_49_is_the_error_of_the_static_force_to_first_order_in_z(name: str) -> None:
    law, off = LAWS[name], []
    for Z in (0.02, 0.01, 0.005):
        error, estimate = law.static_force_error(Z)
        # the approximated law sticks up to x0: found from outside by whether it does
        x0 = Z * (law.magnitude(0.0) + (error if law.slope(0.0) > 0.0 else -error))
        assert law.magnitude(x0) == pytest.approx(x0 / Z, rel=1e-9)
        near = law.approximated()
        assert near.projected([x0 * (1.0 - 1e-6)], Z)[0] == pytest.approx(x0 * (1.0 - 1e-6) / Z, rel=1e-12)
        off.append(abs(error - estimate))
    assert off[2] < 0.3 * off[1] + 1e-14 and off[1] < 0.3 * off[0] + 1e-14
    assert CoulombLaw(2.0).static_force_error(0.1) == (0.0, 0.0)


def test_49_has_no_answer_where_the_law_rises_faster_than_the_line() -> None:
    with pytest.raises(ValueError, match=r"Z: expected one for which x = Z g\(x\) has a solution, got 1"):
        ViscousCoulombLaw(1.0, viscosity=2.0).static_force_error(1.0)
