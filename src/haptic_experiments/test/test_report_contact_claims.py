"""The verdicts on single bodies, a gripped rod, a peg, a toss and pushed objects: each fails just beyond its limit."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from altered_numbers import altered
from scipy.spatial.transform import Rotation

from convex_contact.scenes.contact_surfaces import ClosedForms
from convex_contact.scenes.grasp import Grasp
from convex_contact.simulation.convergence import position_errors
from haptic_experiments.experiments import (
    conveyor_belt,
    cube_toss,
    deformable_peg,
    falling_sphere,
    grasp,
    hydroelastic_patch,
    touch_clutter,
)
from haptic_experiments.kit import contact
from haptic_experiments.kit.contact import STYLES, ContactRun, Contacts, Convergence
from haptic_experiments.kit.results import Claim
from haptic_experiments.kit.signals import Counts, Percentiles

Path = Sequence[Any]


def run_of(approximation: str, position: float = 0.0, angle: float = 0.0) -> ContactRun:
    """A run of 0.5 s whose bodies stand at a height [m] and are tilted about x by an angle [deg]."""
    n, names = 501, ["cube", "recording", "gripper/hand"]
    quaternion = Rotation.from_euler("x", angle, degrees=True).as_quat()
    parameters = {"approximation": approximation, "substeps": 1, "world": "", "world_parameters": []}
    parameters["stiction_tolerance"] = 1e-4
    run: Any = SimpleNamespace(
        period=1e-3,
        step=1e-3,
        tick=np.arange(n),
        time=1e-3 * np.arange(n),
        names=names,
        position=np.full((n, 3, 3), position),
        orientation=np.tile(quaternion, (n, 3, 1)),
        approximation=approximation,
        parameters=parameters,
        body=names.index,
        is_of=lambda world, step: True,
        scene=lambda world, kind: SCENES[approximation],
    )
    return run  # type: ignore[no-any-return]


#: of the gripped rod
SCENES = {
    name: Grasp(effort_limit=40.0, circle_radius=0.1, frequency=frequency)
    for name, frequency in (("lagged", 0.75), ("lagged_elastoplastic", 0.7), ("similar", 1.0))
}


def report(monkeypatch: pytest.MonkeyPatch, module: ModuleType, numbers: dict[str, Any]) -> list[Claim]:
    """Claims of a report whose runs have the given numbers."""
    runs = {name: run_of(name) for name in numbers["runs"]}
    by_run = {id(runs[name]): entry for name, entry in numbers["runs"].items()}
    for where in (module, contact):
        for name in ("runs_of", "runs_by_variant"):
            monkeypatch.setattr(where, name, lambda bags: runs, raising=False)
    monkeypatch.setattr(module, "measure", lambda run, *_: by_run[id(run)])
    if "errors" in numbers:
        study = Convergence(numbers["errors"], numbers["orders"])
        monkeypatch.setattr(Convergence, "of", lambda *_, **__: study)
    return list(module.analyse({}).claims)


def failed(monkeypatch: pytest.MonkeyPatch, module: ModuleType, numbers: dict[str, Any]) -> list[str]:
    """Texts of the claims that are not shown."""
    return [claim.text for claim in report(monkeypatch, module, numbers) if claim.shown is False]


def errors_of(expected: dict[float, float], sap: dict[float, float]) -> dict[str, dict[float, float]]:
    """Position errors: those expected of Lagged, larger ones of all others, and other ones of SAP."""
    larger = {period: 1.5 * error for period, error in expected.items()}
    return {name: expected if name == "lagged" else larger for name in STYLES} | {"sap": sap}


# ---- single bodies --------------------------------------------------------------------------------------------------

ROLLING = 5.0 / 7.0 * 2.0
FALLING: dict[str, Any] = {
    "runs": {
        name: falling_sphere.RunNumbers(
            falling_sphere.EXPECTED["first_contact"][name], falling_sphere.EXPECTED["rolling"][name], ROLLING, 5.0
        )
        for name in ("sap", "lagged", "similar")
    },
    "errors": errors_of(falling_sphere.EXPECTED_ERRORS, {4e-4: 1e-3, 2e-3: 1e-3 * 5.0**0.5, 1e-2: 5e-3}),
    "orders": dict.fromkeys(STYLES, 1.0),
}
CONVEYOR: dict[str, Any] = {
    "runs": {
        name: conveyor_belt.RunNumbers(
            conveyor_belt.EXPECTED["gliding"][name],
            conveyor_belt.EXPECTED["largest_gap"][name],
            conveyor_belt.EXPECTED["spike"][name],
            0.7,
            1.0,
        )
        for name in ("sap", "lagged", "similar")
    },
    "errors": errors_of(conveyor_belt.EXPECTED_ERRORS, {2e-3: 2.4e-3, 1e-2: 8.6e-3, 5e-2: 3e-2}),
    "orders": dict.fromkeys(STYLES, 1.0),
}


@pytest.mark.parametrize(
    ("words", "path", "inside", "outside"),
    [
        ("SAP touches before", ["runs", "sap", "first_contact"], 0.066, 0.068),
        ("SAP touches before", ["runs", "lagged", "first_contact"], 0.072, None),
        ("The sphere rolls from", ["runs", "similar", "rolling"], 0.118, 0.120),
        ("With Lagged it rolls", ["runs", "lagged", "rolling_speed"], ROLLING + 9e-4, ROLLING + 1.1e-3),
        ("With Lagged it rolls", ["runs", "lagged", "rolling_speed"], ROLLING - 9e-4, ROLLING - 1.1e-3),
        ("The position error of Lagged", ["errors", "lagged", 2e-3], 1.09 * 5.1e-4, 1.11 * 5.1e-4),
        ("The position error of Lagged", ["errors", "lagged", 1e-2], 0.91 * 2.6e-3, 0.89 * 2.6e-3),
        ("Lagged and Similar converge", ["orders", "lagged"], 1.14, 1.16),
        ("Lagged and Similar converge", ["orders", "similar"], 0.86, 0.84),
        ("Lagged and Similar converge", ["errors", "sap", 2e-3], 1e-3 * 5.0**0.69, 1e-3 * 5.0**0.71),
    ],
)
def test_a_claim_on_the_falling_sphere_fails_just_beyond_its_limit(
    monkeypatch: pytest.MonkeyPatch, words: str, path: Path, inside: Any, outside: Any
) -> None:
    assert failed(monkeypatch, falling_sphere, altered(FALLING, path, inside)) == []
    (text,) = failed(monkeypatch, falling_sphere, altered(FALLING, path, outside))
    assert text.startswith(words)


@pytest.mark.parametrize(("module", "numbers", "named"), [(falling_sphere, FALLING, 2), (conveyor_belt, CONVEYOR, 3)])
def test_claims_that_name_three_approximations_are_not_judged_with_fewer(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, numbers: dict[str, Any], named: int
) -> None:
    alone = {**numbers, "runs": {"lagged": numbers["runs"]["lagged"]}}
    claims = report(monkeypatch, module, alone)
    assert [claim.shown for claim in claims[:named]] == [None] * named
    assert "lagged" in claims[0].measured


def test_the_study_of_the_falling_sphere_has_the_length_of_the_expected_errors() -> None:
    """The error of Lagged at 10 ms; it is 6 % larger over twice the time, and the coarser reference costs 1 %."""
    world = lambda *_: falling_sphere.scene.falling_sphere()  # noqa: E731
    study = {"reference": 1e-4, "periods": (1e-2,), "duration": falling_sphere.DURATION}
    errors = position_errors(world, "ball", approximations=("lagged",), **study)
    assert errors["lagged"][1e-2] == pytest.approx(falling_sphere.EXPECTED_ERRORS[1e-2], rel=0.025)


@pytest.mark.parametrize(
    ("words", "path", "inside", "outside"),
    [
        ("While it slips", ["runs", "sap", "gliding"], 1.0015, 1.0025),
        ("That gap is largest", ["runs", "similar", "largest_gap"], 0.7821, 0.7815),
        ("The normal force jumps", ["runs", "lagged", "spike"], 1.0009, 1.0011),
        ("The position error of Lagged", ["errors", "lagged", 2e-3], 1.029 * 8e-4, 1.031 * 8e-4),
        ("Lagged and Similar converge", ["orders", "similar"], 1.14, 1.16),
        ("Lagged and Similar converge", ["errors", "similar", 2e-3], 8.1e-4, 7.9e-4),
        ("The error of SAP falls less", ["errors", "sap", 2e-3], 1.61e-3, 1.59e-3),
        ("The error of SAP falls less", ["errors", "sap", 1e-2], 4.4e-3, 4.2e-3),
    ],
)
def test_a_claim_on_the_conveyor_belt_fails_just_beyond_its_limit(
    monkeypatch: pytest.MonkeyPatch, words: str, path: Path, inside: Any, outside: Any
) -> None:
    assert failed(monkeypatch, conveyor_belt, altered(CONVEYOR, path, inside)) == []
    (text,) = failed(monkeypatch, conveyor_belt, altered(CONVEYOR, path, outside))
    assert text.startswith(words)


def test_the_gliding_gap_is_compared_with_its_prediction() -> None:
    """A box that glides at the gap of Table I, and at twice that of Similar with Lagged."""
    scene = conveyor_belt.scene
    slip = np.array([0.0, 0.04, 0.1, 0.5, -0.5])
    for approximation, factor, expected in (("sap", 1.0, 1.0), ("similar", 1.0, 1.0), ("lagged", 2.0, 2.0)):
        reach = conveyor_belt.gliding_time(
            "similar" if approximation == "lagged" else approximation, 1e-2, scene.BOX_RELAXATION_TIME
        )
        height = 0.5 * scene.BOX_SIDE + factor * reach * scene.BOX_FRICTION * np.abs(slip)
        velocity, position = np.zeros((5, 2, 3)), np.zeros((5, 2, 3))
        velocity[:, 0, 0], velocity[:, 1, 0], position[:, 1, 2] = 0.3, 0.3 + slip, height
        weight = scene.BOX_MASS * scene.GRAVITY
        force = np.outer([0.0, 1.0, 1.2, 1.0, 1.0], [0.5 * scene.BOX_FRICTION * weight, 0.0, weight])
        run: Any = SimpleNamespace(
            step=1e-2,
            approximation=approximation,
            velocity=velocity,
            position=position,
            body=["belt", "box"].index,
            force_on=lambda a, b, force=force: force,
        )
        numbers = conveyor_belt.measure(run)
        assert numbers.gliding == pytest.approx(expected)
        assert numbers.largest_gap == pytest.approx(1e3 * (height.max() - 0.5 * scene.BOX_SIDE))
        assert (numbers.spike, numbers.largest_slip) == pytest.approx((1.2, 0.5))
        assert numbers.largest_friction == pytest.approx(0.6)


# ---- the gripped rod ------------------------------------------------------------------------------------------------


def rod(frequency: float, **others: Any) -> grasp.Numbers:
    """Of a run that holds the rod; the pendulum's frequency is 1 Hz."""
    held = {"time_to_failure_s": None, "largest_tilt_deg": 0.5, "creep_um_per_s": -100.0, "mean_pad_force": 20.0}
    return grasp.Numbers(**{
        "frequency": frequency, "pendulum_frequency": 1.0, "largest_distance_from_circle_m": 0.0, **held, **others,
    })  # fmt: skip


GRASP: dict[str, Any] = {
    "runs": {
        "lagged": rod(0.75),
        "lagged_elastoplastic": rod(0.7, creep_um_per_s=-0.5),
        "similar": rod(1.0, time_to_failure_s=3.0, largest_tilt_deg=40.0, creep_um_per_s=None),
    }
}
#: the hand's distance from the circle at 0.75 Hz [m]
CIRCLE = 2e-3 * 1e-6 * 0.1 * (2.0 * np.pi * 0.75) ** 2


@pytest.mark.parametrize(
    ("words", "path", "inside", "outside"),
    [
        ("At low frequencies", ["lagged", "largest_tilt_deg"], 1.99, 2.01),
        ("Near its compound", ["similar", "largest_tilt_deg"], 2.01, 1.99),
        ("A held rod creeps", ["lagged_elastoplastic", "creep_um_per_s"], -0.99, -1.01),
        ("A held rod creeps", ["lagged", "creep_um_per_s"], 50.1, 49.9),
        ("A held rod creeps", ["lagged", "creep_um_per_s"], -999.0, -1001.0),
        ("The motor saturates", ["lagged", "mean_pad_force"], 20.19, 20.21),
        ("The motor saturates", ["lagged_elastoplastic", "mean_pad_force"], 19.81, 19.79),
        ("The hand is on its circle", ["lagged", "largest_distance_from_circle_m"], 0.99 * CIRCLE, 1.05 * CIRCLE),
    ],
)
def test_a_claim_on_the_gripped_rod_fails_just_beyond_its_limit(
    monkeypatch: pytest.MonkeyPatch, words: str, path: Path, inside: Any, outside: Any
) -> None:
    assert failed(monkeypatch, grasp, altered(GRASP, ["runs", *path], inside)) == []
    (text,) = failed(monkeypatch, grasp, altered(GRASP, ["runs", *path], outside))
    assert text.startswith(words)


def test_a_rod_that_is_lost_or_held_at_the_other_frequencies_fails_the_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = altered(GRASP, ["runs", "lagged"], rod(0.75, time_to_failure_s=2.0, creep_um_per_s=None))
    assert any(text.startswith("At low") for text in failed(monkeypatch, grasp, lost))
    kept = altered(GRASP, ["runs", "similar"], rod(1.0, largest_tilt_deg=40.0))
    (text,) = failed(monkeypatch, grasp, kept)
    assert text.startswith("Near")
    between = altered(altered(GRASP, ["runs", "lagged"], rod(0.76)), ["runs", "similar"], rod(0.99))
    shown = {claim.text[:6]: claim.shown for claim in report(monkeypatch, grasp, between)}
    assert shown["At low"] is True and shown["Near i"] is None and shown["A held"] is None


# ---- the peg --------------------------------------------------------------------------------------------------------


def test_a_claim_on_the_peg_fails_just_beyond_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    step = deformable_peg.StepTime(0.02, 0.03, 0.0245)
    counts = Counts(74.0, 114)
    sound = deformable_peg.Numbers(
        100, 300, 0.0201, True, 0.0, 1e-3, 10.0, 2.1e-4, 1e-3, counts, counts, counts, step, 1.0
    )
    monkeypatch.setattr(deformable_peg.ContactRun, "from_bag", lambda bag, namespace: run_of("lagged"))

    def judged(numbers: deformable_peg.Numbers) -> list[bool | None]:
        monkeypatch.setattr(deformable_peg, "measure", lambda run, scene: numbers)
        return [claim.shown for claim in deformable_peg.analyse({"bag": None}).claims]  # type: ignore[dict-item]

    assert judged(sound) == [True, True, True, None]
    for path, value, place in (
        (["lift"], 0.0199, 0),
        (["inserted"], False, 0),
        (["caging"], 1.9e-4, 1),
        (["step_time", "mean"], 0.0246, 2),
    ):
        shown = judged(altered(sound, path, value))
        assert shown[place] is False and shown.count(False) == 1


# ---- contact surfaces -----------------------------------------------------------------------------------------------

FORMS = ClosedForms(ball_depth=1e-3, lid_depth=2e-3, polyhedron=1e-4, sliding=4.0, spinning=30.0)


@pytest.mark.parametrize(
    ("words", "key", "inside", "outside"),
    [
        ("The ball rests", "ball_depth", 1.09e-3, 1.11e-3),
        ("The ball rests", "ball_depth", 1.001e-3, 0.999e-3),
        ("A compliant lid", "lid_depth", 2.009e-3, 2.011e-3),
        ("A compliant lid", "lid_depth", 1.991e-3, 1.989e-3),
        ("A sliding block", "sliding", 4.07, 4.09),
        ("A sliding block", "sliding", 3.93, 3.91),
        ("A spinning disk", "spinning", 30.5, 30.7),
        ("A spinning disk", "spinning", 29.5, 29.3),
    ],
)
def test_a_claim_on_contact_surfaces_fails_just_beyond_its_limit(
    monkeypatch: pytest.MonkeyPatch, words: str, key: str, inside: float, outside: float
) -> None:
    monkeypatch.setattr(hydroelastic_patch, "world_of", lambda run: None)
    monkeypatch.setattr(hydroelastic_patch, "closed_forms_of", lambda world: FORMS)
    sound = hydroelastic_patch.RunNumbers(1.05e-3, 2e-3, 4.0, 30.0, 50.0)
    runs = {"runs": {"lagged": sound, "similar": altered(sound, ["spinning"], 20.0)}}
    assert failed(monkeypatch, hydroelastic_patch, altered(runs, ["runs", "lagged", key], inside)) == []
    (text,) = failed(monkeypatch, hydroelastic_patch, altered(runs, ["runs", "lagged", key], outside))
    assert text.startswith(words)


def test_a_deceleration_is_the_slope_before_the_last_quarter_of_the_speed() -> None:
    """Loads settle in the first 0.06 s; at rest nothing is slowed."""
    time = 1e-3 * np.arange(500)
    speed = np.where(time > 0.06, np.maximum(1.0 - 4.0 * time, 0.0), 1.0)
    assert hydroelastic_patch._deceleration(time, speed) == pytest.approx(4.0)
    assert hydroelastic_patch._deceleration(time[:60], speed[:60]) is None


# ---- the toss -------------------------------------------------------------------------------------------------------


def test_a_claim_on_the_toss_fails_just_beyond_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    toss: Any = SimpleNamespace(samples=400, number=3)
    monkeypatch.setattr(cube_toss, "toss_of", lambda run: toss)

    def judged(
        position: float, rotation: float, angle: float, samples: int = 400, height: float = 0.05
    ) -> list[bool | None]:
        toss.samples = samples
        exact = cube_toss.Numbers(3, samples, 0.1, 5.0, 0.1, 5.0, cube_toss.Replay(0.0, 0.0))
        other = altered(exact, ["replay"], cube_toss.Replay(position, rotation))
        runs = {name: run_of(name, height, angle) for name in ("lagged", "sap")}
        monkeypatch.setattr(cube_toss, "runs_of", lambda bags: runs)
        monkeypatch.setattr(cube_toss, "measure", lambda run, toss: exact if run is runs["lagged"] else other)
        return [claim.shown for claim in cube_toss.analyse({}).claims]

    assert judged(9e-7, 9e-7, 4.9) == [True, True, None]
    assert judged(1.1e-6, 0.0, 4.9) == [False, True, None]
    assert judged(0.0, 1.1e-6, 94.9) == [False, True, None]
    assert judged(0.0, 0.0, 5.1) == [True, False, None]
    assert judged(0.0, 0.0, 5.1, samples=300) == [True, None, None]
    centre = cube_toss.HALF_WIDTH
    assert judged(0.0, 0.0, 0.0, height=centre + 4.9e-3) == [True, True, None]
    assert judged(0.0, 0.0, 0.0, height=centre + 5.1e-3) == [True, False, None]  # it flies


def test_forces_between_two_bodies_have_the_sign_of_the_second() -> None:
    one = Contacts(
        np.array([[0, 1], [2, 1]]), *[np.zeros((2, 3))] * 2, np.zeros(2), np.array([[1.0, 0, 2], [5, 5, 5]]),
        np.zeros(2), np.zeros((2, 3)), np.zeros(2, dtype=bool),
    )  # fmt: skip
    run: Any = SimpleNamespace(contacts=[one])
    run.pairs = lambda a, b: ContactRun.pairs(run, a, b)
    assert ContactRun.force_on(run, 0, 1).tolist() == [[1.0, 0.0, 2.0]]
    assert ContactRun.force_on(run, 1, 0).tolist() == [[-1.0, 0.0, -2.0]]


# ---- pushed objects -------------------------------------------------------------------------------------------------

SETTLING = 10 * 0.15 * 9.81 * 1e-4


@pytest.mark.parametrize(
    ("words", "key", "inside", "outside"),
    [
        ("The world with its virtual", "least_energy", -0.99 * SETTLING, -1.01 * SETTLING),
        ("Contact is stable", "fast_share", 0.049, 0.051),
        ("The objects are pushed", "moved", 1, 0),
        ("The objects are pushed", "lowest_object", 1e-6, -1e-6),
        ("Bodies keep", "deepest_contact", 0.99e-3, 1.01e-3),
    ],
)
def test_a_claim_on_pushed_objects_fails_just_beyond_its_limit(
    monkeypatch: pytest.MonkeyPatch, words: str, key: str, inside: float, outside: float
) -> None:
    times = Percentiles(1e-4, 2e-4)
    sound = touch_clutter.Numbers(
        500, 3.0, 1.0, 0.01, {"cup": 0.1}, 1, 10, 0.02, 1e-5, 0.0, 0.01, 0, Counts(2.0, 3), times
    )
    assert judged_push(monkeypatch, altered(sound, [key], inside)) == []
    (text,) = judged_push(monkeypatch, altered(sound, [key], outside))
    assert text.startswith(words)
    saturated = altered(sound, ["saturated_ticks"], 1)
    assert [text[:17] for text in judged_push(monkeypatch, saturated)] == ["Contact is stable"]
    assert judged_push(monkeypatch, saturated, wrench=0.0) == []


def judged_push(monkeypatch: pytest.MonkeyPatch, numbers: touch_clutter.Numbers, wrench: float = 1.0) -> list[str]:
    """Texts of the claims that are not shown."""
    run: Any = SimpleNamespace(parameters={"proxy": "tip"}, wrench=np.full((3, 6), wrench), device={})
    monkeypatch.setattr(touch_clutter.ContactRun, "from_bag", lambda bag, namespace: run)
    monkeypatch.setattr(touch_clutter, "measure", lambda run: numbers)
    claims = touch_clutter.analyse({"bag": None}).claims  # type: ignore[dict-item]
    assert [claim.shown for claim in claims].count(None) <= 2
    return [claim.text for claim in claims if claim.shown is False]


def test_energy_at_the_tool_is_what_it_puts_into_the_world() -> None:
    """A tool that is pushed back by 2 N along x while it goes 1 mm a tick that way."""
    run: Any = SimpleNamespace(wrench=np.tile([-2.0, 0, 0, 0, 0, 0], (4, 1)), tool=np.outer(np.arange(4), [1e-3, 0, 0]))
    assert touch_clutter.port_energy(run) == pytest.approx([0.0, 2e-3, 4e-3, 6e-3])


def test_fast_share_is_the_part_of_the_rms_beyond_the_hand_s_band() -> None:
    time = 1e-3 * np.arange(1000)
    force = np.outer(3.0 * np.sin(2 * np.pi * 5 * time) + 1.0 * np.sin(2 * np.pi * 100 * time) + 7.0, [1.0, 0.0, 0.0])
    assert touch_clutter.fast_share(force, 1e-3) == pytest.approx(1.0 / np.sqrt(10.0))
    assert touch_clutter.fast_share(np.ones((10, 3)), 1e-3) == 0.0
