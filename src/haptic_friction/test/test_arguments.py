"""Wrong arguments are refused in one line that names the argument; objects are printed in one line."""

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest

from haptic_friction import (
    BASE,
    AnisotropicLaw,
    AsymmetricLaw,
    Batch,
    Body,
    Contact,
    ContactNetwork,
    CoulombLaw,
    FrictionRenderer,
    FunctionLaw,
    ModelA,
    ModelC,
    ParallelElements,
    Signals,
    StribeckLaw,
    TableLaw,
    TorsionalElement,
    ViscousCoulombLaw,
    WithCompliance,
    WithMass,
    identify_loading_curve,
    identify_model_c,
    read_signals,
)
from haptic_friction.settings import FrictionSettings

LAW = CoulombLaw(2.0)


def model_c(dimension: int = 1, stiffness: object = 1e4) -> ModelC:
    return ModelC(LAW, stiffness=stiffness, damping=20.0, period=1e-3, dimension=dimension)


def network() -> ContactNetwork:
    return ContactNetwork([Body(mass=1.0)], [Contact(0, BASE, model_c())])


def puck() -> TorsionalElement:
    return TorsionalElement("c", LAW, radius=0.1, stiffness=(1e4, 1.0), damping=(0.0, 0.0), period=1e-3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: model_c().step("a"), "velocity: expected numbers of shape (1,), got 'a'"),
        (lambda: model_c().step([1j]), "velocity: expected numbers of shape (1,), got [1j]"),
        (lambda: model_c().simulate([[1], [1, 2]]), "velocity: expected numbers of shape (n, 1), got [[1], [1, 2]]"),
        (lambda: model_c().restore(None), "state: expected an earlier value of `state`, got None"),
        (lambda: LAW.force("x"), "velocity: expected numbers of shape (dimension,) or (n, dimension), got 'x'"),
        (lambda: TableLaw("points.csv", [1.0]), "speed: expected numbers of shape (n,), got 'points.csv'"),
        (
            lambda: model_c(2, np.eye(3)),
            "stiffness: expected a symmetric, positive definite matrix [N/m] of shape (2, 2), "
            "got [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]",
        ),
        (lambda: FunctionLaw("4", "0"), "magnitude: expected a function of the speed [m/s], got '4'"),
        (lambda: Batch(LAW, count=2), "models: expected one model and a count from 1, or a sequence of models, got "),
        (lambda: Batch([1, 2]), "models: expected one model and a count from 1, or a sequence of models, got [1, 2]"),
        (
            lambda: Batch(model_c(), count=2.5),
            "models: expected one model and a count from 1, or a sequence of models, got ",
        ),
        (lambda: Batch(model_c(), count=2).step("a"), "velocity: expected numbers of shape (2, 1), got 'a'"),
        (lambda: ParallelElements([1]), "elements: expected impedance models (velocity in, force out), got [1]"),
        (lambda: ParallelElements([model_c()]).step("a"), "velocity: expected numbers of shape (1,), got 'a'"),
        (lambda: ParallelElements([model_c()]).restore(None), "state: expected an earlier value of `state`, got None"),
        (
            lambda: ParallelElements.from_loading_curve("x", [1.0], period=1e-3),
            "displacement: expected numbers of shape (n,), got 'x'",
        ),
        (lambda: puck().step("a"), "velocity: expected numbers of shape (3,), got 'a'"),
        (lambda: puck().simulate("a"), "velocity: expected numbers of shape (n, 3), got 'a'"),
        (lambda: WithMass(LAW, mass=1.0), "model: expected an impedance model that is not coupled, got CoulombLaw(2)"),
        (
            lambda: ContactNetwork([1.0], [Contact(0, BASE, model_c())]),
            "bodies: expected entries of class Body, got 1.0",
        ),
        (
            lambda: ContactNetwork([Body(mass=1.0)], [(0, BASE)]),
            "contacts: expected entries of class Contact, got (0, -1)",
        ),
        (lambda: network().step("a"), "base_velocity: expected numbers of shape (1,), got 'a'"),
        (lambda: network().simulate("a"), "base_velocity: expected numbers of shape (n, 1), got 'a'"),
        (
            lambda: identify_model_c("rec.csv", [1.0], period=1e-3),
            "velocity: expected numbers of shape (n_samples, dimension), got 'rec.csv'",
        ),
        (
            lambda: identify_loading_curve("x", [1.0], period=1e-3),
            "displacement: expected numbers of shape (n_samples,), got 'x'",
        ),
        (
            lambda: ContactNetwork([Body(mass=1.0)], [Contact(0.0, BASE, model_c())]),
            "contact 0: expected numbers of bodies, or BASE, got (0.0, -1)",
        ),
        (
            lambda: FrictionRenderer(LAW, FrictionSettings(axes=(0,))),
            "model, settings: expected a model and FrictionSettings, got CoulombLaw(2) and FrictionSettings(",
        ),
        (
            lambda: FrictionRenderer(model_c(2), FrictionSettings(axes="xy")),
            "axes: expected different numbers of 0, 1, 2, got 'xy'",
        ),
        (
            lambda: FrictionRenderer(model_c(2), FrictionSettings(axes=(0, 0))),
            "axes: expected different numbers of 0, 1, 2, got (0, 0)",
        ),
        (
            lambda: FrictionRenderer(model_c(2), FrictionSettings(axes=(0, 1))).step(velocity=(0.0, 1.0)),
            "velocity: expected three numbers, got (0.0, 1.0)",
        ),
        (
            lambda: FrictionRenderer.from_parameters({"inputs": []}),
            "parameter axes: expected a value, got none",
        ),
        (
            lambda: read_signals(None, velocity="v", force="f", time="t"),
            "path: expected the path of a CSV file, got None",
        ),
    ],
)
def test_wrong_argument_is_named_in_one_line(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError) as error:
        call()
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_elements_that_do_not_fit_are_shown() -> None:
    with pytest.raises(ValueError, match=r"got ModelC\(CoulombLaw\(2\), .* and ModelA\(CoulombLaw\(2\), mass=1,"):
        Batch([model_c(), ModelA(LAW, mass=1.0, period=1e-3)])


@pytest.mark.parametrize("name", ["law", "stiffness", "damping", "period", "dimension"])
def test_parameters_of_a_model_are_fixed(name: str) -> None:
    model = model_c()
    before = getattr(model, name)
    with pytest.raises(AttributeError, match=rf"^{name}: fixed when a ModelC is made; expected a new ModelC\("):
        setattr(model, name, 5.0)
    assert getattr(model, name) is before


def test_parameters_of_a_law_are_fixed() -> None:
    law = CoulombLaw(2.0)
    with pytest.raises(AttributeError, match=r"^force: fixed when a CoulombLaw is made"):
        law.force = 5.0  # type: ignore[method-assign, assignment]
    assert law.force([1.0]).tolist() == [2.0]


class Counting(ModelC):
    """A model of a user with a number of its own, which changes."""

    def __init__(self, *arguments: object, count: int, **others: object) -> None:
        super().__init__(*arguments, **others)  # type: ignore[arg-type]
        self.count = count

    def step(self, value: object) -> np.ndarray:
        self.count += 1
        return super().step(value)  # type: ignore[arg-type]


def test_a_subclass_has_the_fixed_parameters_of_its_base_and_attributes_of_its_own() -> None:
    model = Counting(LAW, count=4, stiffness=1e4, damping=20.0, period=1e-3)
    model.step([0.01])
    assert model.count == 5
    assert repr(model) == "Counting(CoulombLaw(2), stiffness=10000, damping=20, period=0.001, dimension=1)"
    with pytest.raises(AttributeError, match=r"^stiffness: fixed when a Counting is made"):
        model.stiffness = 1.0


def test_copies_of_a_model_step_alike() -> None:
    model = model_c()
    model.step([0.01])
    copies = [copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    expected = model.step([0.01]).tolist()
    assert [other.step([0.01]).tolist() for other in copies] == [expected, expected]


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (LAW, "CoulombLaw(2)"),
        (ViscousCoulombLaw(2.0, viscosity=0.5), "ViscousCoulombLaw(2, viscosity=0.5)"),
        (
            StribeckLaw(2.0, static_force=3.0, stribeck_velocity=0.1),
            "StribeckLaw(2, static_force=3, stribeck_velocity=0.1)",
        ),
        (TableLaw([0.0, 0.1], [1.0, 2.0]), "TableLaw(2 points, 0 to 0.1 m/s, 1 to 2 N)"),
        (AnisotropicLaw([[4.0, 0.0], [0.0, 1.0]]), "AnisotropicLaw([[4.0, 0.0], [0.0, 1.0]])"),
        (AsymmetricLaw(LAW, CoulombLaw(1.0)), "AsymmetricLaw(CoulombLaw(2), CoulombLaw(1))"),
        (LAW.approximated(), "CoulombLaw(2).approximated()"),
        (model_c(), "ModelC(CoulombLaw(2), stiffness=10000, damping=20, period=0.001, dimension=1)"),
        (
            WithCompliance(ModelA(LAW, mass=1.0, period=1e-3), stiffness=1e3, damping=1.0),
            "WithCompliance(ModelA(CoulombLaw(2), mass=1, period=0.001, dimension=1), stiffness=1000, damping=1)",
        ),
        (Batch(ModelA(LAW, mass=1.0, period=1e-3), count=3), "Batch of 3 elements, the first ModelA(CoulombLaw(2), "),
        (ParallelElements([model_c()]), "ParallelElements: Batch of 1 elements, the first ModelC("),
        (puck(), "TorsionalElement(radius=0.1 m, in scaled coordinates ModelC("),
        (network(), "ContactNetwork(bodies: 1; contacts: Batch of 1 elements, "),
        (network().simulate(np.zeros((5, 1))), "NetworkRun(periods: 5, bodies: 1, contacts: 1, dimension: 1)"),
        (Signals(np.zeros((90, 1)), np.zeros((90, 1)), 1e-3), "Signals(90 samples, dimension 1, period=0.001)"),
        (FrictionRenderer(model_c(), FrictionSettings(axes=(0,))), "FrictionRenderer(ModelC(CoulombLaw(2), "),
    ],
)
def test_objects_are_printed_in_one_line(made: object, text: str) -> None:
    assert repr(made).startswith(text)
    assert "\n" not in repr(made)
