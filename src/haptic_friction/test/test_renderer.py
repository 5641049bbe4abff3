"""The renderers without ROS: what they answer, changes of parameters whole or not at all, reset, refusals."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from haptic_core import rendering_node
from haptic_core.parameters import check_all, load_parameter_specs
from haptic_friction import CoulombLaw, ModelA, ModelC
from haptic_friction.comparison_node import ComparisonNode
from haptic_friction.comparison_renderer import ComparisonRenderer
from haptic_friction.load import FrictionInputError
from haptic_friction.network_node import NetworkNode
from haptic_friction.network_renderer import NetworkRenderer
from haptic_friction.node import FrictionNode
from haptic_friction.renderer import FrictionRenderer, FrictionSettings, ReferenceMotion, Surfaces

T = 1e-3
BASE = load_parameter_specs(rendering_node._BASE_FILE)
#: velocity of the tool that sticks, slides and turns (m/s)
MOTION = 0.1 * np.sin(0.05 * np.arange(200)[:, None] + np.arange(3))


def values(node: Any = FrictionNode, **change: Any) -> dict[str, Any]:
    return check_all({**load_parameter_specs(node.parameter_file), **BASE}, change)


def test_force_on_tool_opposes_the_force_of_the_model() -> None:
    renderer = FrictionRenderer.from_parameters(values(axes=["z", "x"], law="coulomb", friction_force=2.0))
    model = ModelC(CoulombLaw(2.0), stiffness=6000.0, damping=10.0, period=T, dimension=2)
    for u in MOTION:
        z, x = model.step(u[[2, 0]])
        np.testing.assert_array_equal(renderer.step(velocity=u).force, [-x, 0.0, -z])
    state = renderer.state
    np.testing.assert_array_equal(state.force, model.force)
    np.testing.assert_array_equal(state.elastic_displacement, model.displacement)
    assert (state.sticking, state.dissipated_energy) == ([model.sticking], model.dissipated_energy)


def test_renderer_of_a_model_and_settings() -> None:
    law = CoulombLaw(2.0)
    one = FrictionRenderer(ModelA(law, mass=1.0, period=T), FrictionSettings(axes=(1,), initial_velocity=0.2))
    answer = one.step(force=[0.0, 1.0, 0.0], position=[1.0, 2.0, 3.0])
    assert answer.starts and answer.position is not None and answer.velocity is not None
    np.testing.assert_allclose(answer.velocity, [0.0, 0.2 - T, 0.0])
    np.testing.assert_allclose(answer.position, [1.0, 2.0 + T * (0.2 - T), 3.0])
    with pytest.raises(ValueError, match="axes: expected 1, as the model's dimension, got 3"):
        FrictionRenderer(ModelA(law, mass=1.0, period=T), FrictionSettings())


@pytest.mark.parametrize(("largest_lead", "ahead"), [(0.004, 0.004), (0.0, 0.2 * 30 * T)])
def test_mass_of_an_admittance_stops_the_largest_lead_ahead_of_a_tool_that_stands(
    largest_lead: float, ahead: float
) -> None:
    """A mass that slides along y at 0.2 m/s without friction; 0 is no limit."""
    settings = FrictionSettings(axes=(1,), initial_velocity=0.2, largest_lead=largest_lead)
    one = FrictionRenderer(ModelA(CoulombLaw(0.0), mass=1.0, period=T), settings)
    answers = [one.step(force=np.zeros(3), position=[1.0, 2.0, 3.0]) for _ in range(30)]
    np.testing.assert_allclose(answers[9].position, [1.0, 2.0 + 0.2 * 10 * T, 3.0])
    np.testing.assert_allclose(answers[-1].position, [1.0, 2.0 + ahead, 3.0])
    np.testing.assert_allclose(answers[-1].velocity, [0.0, 0.0 if largest_lead else 0.2, 0.0])


def test_a_law_that_a_normal_force_scales_needs_a_force() -> None:
    with pytest.raises(ValueError, match=r"^parameter friction_force: expected above 0 with inputs \['wall'\], got 0$"):
        FrictionRenderer.from_parameters(values(inputs=["wall"], law="coulomb", friction_force=0.0))


@pytest.mark.parametrize("kind", ["wall", "contact:contacts", "constraints"])
def test_law_is_scaled_by_the_normal_force(kind: str) -> None:
    """After some sliding along x the force is mu N, whatever says what N is."""
    renderer = FrictionRenderer.from_parameters(values(inputs=[kind], friction_coefficient=0.4, law="coulomb"))
    given = {
        "wall": {"surfaces": [Surfaces(np.array([[0.0, 0.0, 1.0]]), np.array([5.0]))]},
        "constraints": {"references": [ReferenceMotion([0.1, 0.0, 0.0], [-5.0])]},
        "contact:contacts": {"contacts": [CONTACTS]},
    }[kind]
    for _ in range(200):
        answer = renderer.step(velocity=[0.1, 0.0, 0.0], **given)
    np.testing.assert_allclose(answer.force, [-2.0, 0.0, 0.0], rtol=1e-12, atol=1e-12)
    for _ in range(2):
        answer = renderer.step(velocity=[0.1, 0.0, 0.0])  # no normal force, no friction, and nothing is remembered
    assert np.abs(answer.force).max() < 1e-8


class CONTACTS:
    """One contact of body 0, on the side of the half space below it."""

    body_a, body_b, period = (1,), (0,), T
    normal, normal_impulse, slip_velocity = (0.0, 0.0, 1.0), (5.0 * T,), (0.1, 0.0, 0.0)


@pytest.mark.parametrize("kind", ["wall", "world:contacts", "constraints"])
def test_an_admittance_with_a_normal_force_is_refused(kind: str) -> None:
    """The input of an admittance is the user's force; the relative velocity of a surface has no place in it."""
    message = rf"^parameter rendering: expected impedance with inputs \['{kind}'\], got admittance$"
    for model in ("A", "C"):
        with pytest.raises(ValueError, match=message):
            FrictionRenderer.from_parameters(values(inputs=[kind], rendering="admittance", model=model))


def test_a_renderer_with_inputs_takes_no_admittance() -> None:
    settings = FrictionSettings(axes=(0,), kinds=frozenset({"wall"}))
    with pytest.raises(ValueError, match=r"^model: expected an impedance with inputs \['wall'\], got an admittance$"):
        FrictionRenderer(ModelA(CoulombLaw(2.0), mass=1.0, period=T), settings)


def contact(force: float, slip: tuple[float, float, float]) -> Any:
    """One contact of body 0 along z, with its normal force [N] and slip velocity [m/s]."""
    return SimpleNamespace(
        body_a=(1,), body_b=(0,), period=T, normal=(0.0, 0.0, 1.0), normal_impulse=(force * T,), slip_velocity=slip
    )


def test_relative_velocity_is_the_mean_weighted_by_normal_force() -> None:
    """Two walls, two contacts and a reference; walls count as one input, with the mean of their velocities."""
    renderer = FrictionRenderer.from_parameters(values(inputs=["wall", "world:contacts", "constraints"]))
    z = np.array([[0.0, 0.0, 1.0]])
    renderer.step(
        velocity=[0.1, 0.0, 0.5],
        surfaces=[Surfaces(z, np.array([3.0])), Surfaces(z, np.array([1.0]), np.array([[0.04, 0.0, 0.0]]))],
        contacts=[contact(2.0, (0.0, 0.2, 0.0)), contact(0.0, (9.0, 9.0, 0.0)), contact(2.0, (0.3, 0.0, 0.0))],
        references=[ReferenceMotion([0.0, 0.0, 0.1], [-4.0])],
    )
    expected = (4.0 * np.array([0.09, 0.0, 0.0]) + [0.6, 0.4, 0.0] + 4.0 * np.array([0.0, 0.0, 0.1])) / 12.0
    np.testing.assert_allclose(renderer.state.velocity, expected, rtol=1e-14, atol=1e-16)
    assert renderer.model.load == pytest.approx(0.3 * 12.0 / 4.0)


def test_a_light_contact_at_rest_does_not_stop_friction_on_a_wall() -> None:
    """0.1 m/s on a wall with 10 N beside a contact with 1 mN that sticks: mu N = 3 N."""
    renderer = FrictionRenderer.from_parameters(values(inputs=["wall", "world:contacts"]))
    wall = Surfaces(np.array([[0.0, 0.0, 1.0]]), np.array([10.0]))
    for _ in range(200):
        answer = renderer.step(velocity=[0.1, 0.0, 0.0], surfaces=[wall], contacts=[contact(1e-3, (0.0, 0.0, 0.0))])
    np.testing.assert_allclose(answer.force, [-0.3 * 10.001, 0.0, 0.0], rtol=1e-12)


def test_an_input_without_normal_force_leaves_the_bits_of_the_others() -> None:
    one = FrictionRenderer.from_parameters(values(inputs=["wall"]))
    two = FrictionRenderer.from_parameters(values(inputs=["wall", "world:contacts", "constraints"]))
    wall = Surfaces(np.array([[0.0, 0.0, 1.0]]), np.array([7.0]), np.array([[0.03, 0.01, 0.0]]))
    for u in MOTION:
        answer = two.step(
            velocity=u,
            surfaces=[wall],
            contacts=[contact(0.0, (0.3, 0.0, 0.0))],
            references=[ReferenceMotion([9.0, 0.0, 0.0], [0.0])],
        )
        np.testing.assert_array_equal(answer.force, one.step(velocity=u, surfaces=[wall]).force)
        np.testing.assert_array_equal(two.state.velocity, one.state.velocity)


def test_change_of_parameters_is_whole_or_not_at_all() -> None:
    renderer = FrictionRenderer.from_parameters(values())
    for u in MOTION[:50]:
        renderer.step(velocity=u)
    before, model = renderer.state, renderer.model
    with pytest.raises(ValueError, match="static_force"):
        renderer.change_parameters(values(law="stribeck", static_force=1.0))
    assert renderer.model is model
    renderer.change_parameters(values(friction_force=3.0))
    after = renderer.state
    for name in ("velocity", "force", "elastic_displacement", "dissipated_energy"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))
    assert renderer.model.law.breakaway_force == 3.0


@pytest.mark.parametrize("change", [{}, {"rendering": "admittance", "model": "A", "initial_velocity": 0.1}])
def test_reset_starts_again(change: dict[str, Any]) -> None:
    renderer = FrictionRenderer.from_parameters(values(**change))

    def play() -> list[np.ndarray]:
        answers = [renderer.step(velocity=u, force=100.0 * u, position=u) for u in MOTION]
        return [answer.force if answer.position is None else answer.position for answer in answers]

    first = play()
    renderer.reset()
    np.testing.assert_array_equal(play(), first)


def test_input_that_cannot_be_used_changes_nothing() -> None:
    renderer = FrictionRenderer.from_parameters(values(inputs=["constraints"], load_constraint=1))
    for u in MOTION[:20]:
        renderer.step(velocity=u, references=[ReferenceMotion(u, [0.0, 3.0])])
    before = renderer.state
    with pytest.raises(FrictionInputError, match="load_constraint: expected below 1, got 1") as caught:
        renderer.step(velocity=MOTION[0], references=[ReferenceMotion(MOTION[0], [1.0])])
    assert caught.value.kind == "wrong length"
    for one, other in zip(before, renderer.state, strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(ValueError, match="velocity: expected three numbers, got None"):
        renderer.step(force=MOTION[0])


def test_comparison_steps_its_models() -> None:
    renderer = ComparisonRenderer.from_parameters(values(ComparisonNode, models=["A", "D"], axis="y"))
    model = ModelA(CoulombLaw(6.0), mass=2.0, period=T)
    for f in 300.0 * MOTION:
        renderer.step(force=f)
        assert renderer.state.velocity[0] == model.step(f[1:2])[0]
    assert len(renderer.state.sticking) == 2
    with pytest.raises(ValueError, match="force: expected three numbers, got None"):
        renderer.step(velocity=MOTION[0])


def test_network_answers_with_the_forces_on_its_base() -> None:
    renderer = NetworkRenderer.from_parameters(values(NetworkNode, axis="z"))
    for u in MOTION:
        force = renderer.step(velocity=u)
        np.testing.assert_array_equal(force, [0.0, 0.0, -renderer.state.force[0]])
    renderer.reset()
    assert not renderer.state.force.any() and renderer.state.dissipated_energy == 0.0
