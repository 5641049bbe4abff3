"""Combination of materials."""

from __future__ import annotations

import math

import numpy as np
import pytest

from convex_contact import Material, PairLaw, World, WorldDynamics, WorldError

A = Material(stiffness=3e6, dissipation=8.0, relaxation_time=2e-3, friction=0.3)
B = Material(stiffness=1e6, dissipation=4.0, relaxation_time=1e-3, friction=0.6)


def test_springs_act_in_series_and_the_softer_surface_dissipates_most() -> None:
    c = A.combined(B)
    assert c.stiffness == pytest.approx(0.75e6, rel=1e-15)
    assert c.dissipation == pytest.approx((1e6 * 8 + 3e6 * 4) / 4e6, rel=1e-15)
    assert c.relaxation_time == pytest.approx(3e-3, rel=1e-15)
    assert c.friction == pytest.approx(2 * 0.3 * 0.6 / 0.9, rel=1e-15)


def test_combination_is_symmetric() -> None:
    one, two = A.combined(B), B.combined(A)
    for name, value in vars(one).items():
        assert getattr(two, name) == (value if value is None else pytest.approx(value, rel=1e-15))


def test_a_rigid_surface_leaves_the_others_spring() -> None:
    rigid = Material(stiffness=math.inf, dissipation=99.0, relaxation_time=0.0, friction=0.6)
    c = rigid.combined(A)
    assert (c.stiffness, c.dissipation, c.relaxation_time) == (3e6, 8.0, 2e-3)
    nearly = Material(stiffness=1e300, dissipation=99.0, relaxation_time=0.0, friction=0.6).combined(A)
    assert nearly.dissipation == pytest.approx(c.dissipation)
    with pytest.raises(ValueError, match="stiffness: two rigid surfaces"):
        rigid.combined(rigid)


def test_without_friction_on_one_side_there_is_none() -> None:
    assert Material(friction=0.0).combined(B).friction == 0.0
    assert Material(friction=0.0).combined(Material(friction=0.0)).friction == 0.0


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("stiffness", 0.0, "stiffness: expected positive, got 0.0"),
        ("stiffness", math.nan, "stiffness: expected positive, got nan"),
        ("dissipation", -1.0, "dissipation: expected finite and not negative, got -1.0"),
        ("relaxation_time", math.inf, "relaxation_time: expected finite and not negative, got inf"),
        ("friction", -0.1, "friction: expected finite and not negative, got -0.1"),
    ],
)
def test_impossible_values_are_refused_by_name(field: str, value: float, expected: str) -> None:
    with pytest.raises(ValueError) as caught:
        Material(**{field: value})
    assert str(caught.value) == expected
    with pytest.raises(ValueError, match=f"^{field}: expected"):
        PairLaw(**{field: value})


def touching(*, pair: dict[str, float] | None = None) -> WorldDynamics:
    w = World()
    w.add_half_space("ground", material=A)
    w.add_sphere("ball", mass=1.0, radius=0.1, position=(0, 0, 0.1), material=B)
    w.add_sphere("other", mass=1.0, radius=0.1, position=(0, 1, 0.1), material=B)
    if pair:
        w.set_pair("ball", "ground", **pair)
    d = WorldDynamics(w, period=1e-3, speculative=False)
    d.prepare()
    d.collect()
    return d


def test_contacts_have_the_combined_values() -> None:
    c = touching().contacts
    law = A.combined(B)
    for name in ("stiffness", "dissipation", "relaxation_time", "friction"):
        np.testing.assert_array_equal(getattr(c, name)[:2], getattr(law, name))


def test_a_pair_law_replaces_what_it_names_in_its_pair_alone() -> None:
    c = touching(pair={"friction": 0.123, "stiffness": 5e5}).contacts
    law = A.combined(B)
    np.testing.assert_array_equal(c.friction[:2], [0.123, law.friction])
    np.testing.assert_array_equal(c.stiffness[:2], [5e5, law.stiffness])
    np.testing.assert_array_equal(c.dissipation[:2], [law.dissipation, law.dissipation])


def test_rigid_surfaces_that_can_meet_are_refused_and_a_pair_law_helps() -> None:
    w = World()
    rigid = Material(stiffness=math.inf)
    w.add_half_space("ground", material=rigid)
    w.add_half_space("wall", normal=(1, 0, 0), material=rigid)  # never meets the ground
    w.add_sphere("ball", mass=1.0, radius=0.1, material=rigid)
    with pytest.raises(WorldError, match=r"ground and ball: stiffness: two rigid surfaces"):
        WorldDynamics(w, period=1e-3)
    w.set_pair("ball", "ground", stiffness=1e6)
    w.set_pair("ball", "wall", stiffness=1e6)
    WorldDynamics(w, period=1e-3)
