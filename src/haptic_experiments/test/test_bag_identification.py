"""Friction identified from a bag: signals, known answers, the table and the claims of the report."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from haptic_bags.bags import Bag, Event
from haptic_core.errors import HapticError
from haptic_devices.components import encoder
from haptic_experiments import identification
from haptic_experiments.experiments.friction_impedance import analyse
from haptic_experiments.experiments.friction_impedance.joystick import Run, measurement_delay
from haptic_experiments.identification import friction_signals, identify_bag, known_parameters
from haptic_friction import ModelC, ViscousCoulombLaw

Bags = Callable[..., Bag]

#: period (s), friction (N, N s/m), stiffness (N/m), damping (N s/m), encoder count at the tip (m), filter (Hz)
T, F, D, K, B, COUNT, CUTOFF = 1e-3, 4.0, 5.0, 6000.0, 10.0, 7.854e-5 * 0.15, 400.0
KNOWN = {"force": F, "viscosity": D, "stiffness": K, "damping": B}
FRICTION = {"law": "viscous_coulomb", "viscosity": D}
N = 6000


@pytest.fixture(scope="module")
def recorded() -> tuple[Run, np.ndarray]:
    """Strokes and rests with tremor; the element sees the position through encoder and velocity filter."""
    time = T * np.arange(N)
    strokes = 0.15 * np.column_stack((np.sin(2 * np.pi * 1.3 * time), np.sin(2 * np.pi * 2.1 * time + 1.0)))
    hand = np.clip(1.5 * np.sin(2 * np.pi * 0.5 * time + 0.5) + 0.5, 0.0, 1.0)
    tremor = 0.01 * np.column_stack((np.sin(2 * np.pi * 9.0 * time), np.cos(2 * np.pi * 11.0 * time)))
    velocity = hand[:, None] * strokes + tremor
    position = T * (np.cumsum(velocity, axis=0) - 0.5 * velocity)
    constants = encoder.constants(resolution=COUNT, cutoff=CUTOFF, period=T)
    measured, seen = np.zeros((N, 2)), np.zeros((N, 2))
    reported, rate = COUNT * np.round(position[0] / COUNT), velocity[0].copy()
    for k in range(N):
        encoder.sample(position[k], constants, reported, rate)
        measured[k], seen[k] = reported, rate
    model = ModelC(ViscousCoulombLaw(F, viscosity=D), stiffness=K, damping=B, period=T, dimension=2)
    force, displacement, sticking = np.empty((N, 2)), np.empty((N, 2)), np.empty(N, dtype=bool)
    for k in range(N):
        force[k] = model.step(seen[k])
        displacement[k], sticking[k] = model.displacement, model.sticking
    return Run(T, time, [], measured, position, velocity, force, sticking, displacement), seen


@pytest.fixture(autouse=True, scope="module")
def identified_once() -> Iterator[None]:
    """Identifies the same signals once; most tests are about what is made of the result."""
    identify, known = identification.identify_model_c, dict[Any, Any]()

    def once(velocity: np.ndarray, force: np.ndarray, **options: Any) -> Any:
        key = velocity.tobytes(), force.tobytes(), tuple(options.items())
        if key not in known:
            known[key] = identify(velocity, force, **options)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(identification, "identify_model_c", once)
        yield


@pytest.fixture
def bag(recorded: tuple[Run, np.ndarray], bag_of: Bags) -> Bag:
    run, seen = recorded
    return bag_of(run, element_velocity=seen, **FRICTION)


# Signals


def test_the_signals_are_those_of_the_friction_state(recorded: tuple[Run, np.ndarray], bag: Bag) -> None:
    run, seen = recorded
    for velocity, expected in (("measured", seen), ("true", run.velocity)):
        u, f, period = friction_signals(bag, velocity=velocity)
        np.testing.assert_array_equal(u, expected)
        np.testing.assert_array_equal(f, run.force)
        assert period == T


@pytest.mark.parametrize("velocity", ["measured", "true"])
def test_the_longest_stretch_of_contiguous_ticks_is_taken(
    velocity: str, recorded: tuple[Run, np.ndarray], bag_of: Bags
) -> None:
    run, seen = recorded
    bag = bag_of(run, missed=(0, 100, 101, 2500, 5990), mode="realtime", element_velocity=seen)
    u, f, _ = friction_signals(bag, velocity=velocity)
    np.testing.assert_array_equal(f, run.force[2501:5990])
    np.testing.assert_array_equal(u, (seen if velocity == "measured" else run.velocity)[2501:5990])


def test_the_true_velocity_is_taken_along_the_axes_of_the_element(
    recorded: tuple[Run, np.ndarray], bag_of: Bags
) -> None:
    run, _ = recorded
    u, _, _ = friction_signals(bag_of(run, axes=["y", "z"]), velocity="true")
    np.testing.assert_array_equal(u, np.column_stack((run.velocity[:, 1], np.zeros(N))))


def test_the_known_parameters_have_the_names_of_an_identification(bag: Bag) -> None:
    assert known_parameters(bag) == KNOWN
    bag.events.append(Event(5, "friction", "parameter", {"stiffness": 5000.0}))
    assert known_parameters(bag) == {}  # nothing holds for the whole run


# Identification


def test_from_the_measured_velocity_the_nodes_parameters_are_found(bag: Bag) -> None:
    found = identify_bag(bag)
    assert found.law == "viscous_coulomb" and found.period == T and found.dimension == 2
    assert not found.not_identified and found.residual_rms < 1e-9
    for name, value in KNOWN.items():
        assert found.estimates[name].contains(value), name
        assert found.estimates[name].value == pytest.approx(value, rel=1e-5)


def test_from_the_true_velocity_the_delay_is_taken_off_the_damping(bag: Bag) -> None:
    delay = measurement_delay(bag)
    a = 1.0 - math.exp(-2.0 * np.pi * CUTOFF * T)
    assert delay == pytest.approx(T / 2 + (1.0 - a) / a * T)
    found = identify_bag(bag, velocity="true").estimates
    assert not found["damping"].contains(B)
    # one tenth of a period: what the counts leave
    assert found["damping"].value == pytest.approx(B - K * delay, abs=0.1 * K * T)
    for name, known in (("stiffness", K), ("force", F)):  # counts turn the force: 1 % beside the interval
        assert 0.99 * found[name].low <= known <= 1.01 * found[name].high


def test_another_law_can_be_asked_for(bag: Bag) -> None:
    found = identify_bag(bag, law="coulomb")
    assert set(found.estimates) == {"force", "stiffness", "damping"}
    assert found.estimates["force"].value > F + 0.2  # the mean of F + D s


def test_a_law_that_is_not_identified_is_named(recorded: tuple[Run, np.ndarray], bag_of: Bags) -> None:
    bag = bag_of(recorded[0], law="function")
    text = "identification knows the laws coulomb, viscous_coulomb, stribeck; this run has the law function"
    assert refusal(lambda: identify_bag(bag)) == text
    assert identify_bag(bag, law="coulomb").estimates


# Errors


def refusal(action: Callable[[], Any]) -> str:
    with pytest.raises(HapticError) as caught:
        action()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_missing_topic_or_parameter_of_a_bag_is_named_in_one_line(bag: Bag) -> None:
    bag.events.clear()
    text = "runs/x/bag: the friction node's parameter axes is not in the bag"
    assert refusal(lambda: identify_bag(bag, velocity="true")) == text
    del bag.topics["/joystick/simulation_state"]
    text = "runs/x/bag: nothing recorded on /joystick/simulation_state"
    assert refusal(lambda: friction_signals(bag, velocity="true")) == text
    assert friction_signals(bag)[2] == T
    del bag.topics["/joystick/friction/state"]
    assert refusal(lambda: identify_bag(bag)) == "runs/x/bag: nothing recorded on /joystick/friction/state"


def test_a_bag_of_one_tick_or_of_another_model_is_refused(recorded: tuple[Run, np.ndarray], bag_of: Bags) -> None:
    run, _ = recorded
    assert "expected two ticks or more, got 1" in refusal(lambda: friction_signals(bag_of(run, tuple(range(1, N)))))
    text = "runs/x/bag: only model C is identified, the bag has model B"
    assert refusal(lambda: identify_bag(bag_of(run, model="B"))) == text


def test_a_bag_in_which_nothing_slides_is_refused(recorded: tuple[Run, np.ndarray], bag_of: Bags) -> None:
    run, _ = recorded
    resting = bag_of(run, element_velocity=np.zeros((N, 2)))
    assert refusal(lambda: identify_bag(resting)).startswith("runs/x/bag: velocity: nothing slides, 0 samples")


# The command


def command(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["identification", *arguments])
    monkeypatch.setenv("COLUMNS", "160")
    with pytest.raises(SystemExit) as ended:
        identification.main()
    code = ended.value.code
    return code if isinstance(code, int) else 0


@pytest.fixture
def stored(bag: Bag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run directory whose bag is the synthetic one."""
    monkeypatch.setattr(identification, "Bag", lambda path: bag)
    (tmp_path / "bag").mkdir()
    (tmp_path / "bag/metadata.yaml").touch()
    return tmp_path


def test_the_command_prints_estimate_interval_and_unit(
    stored: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(monkeypatch, str(stored)) == 0
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    rows = [row for row in rows if row]
    assert [(row[0], row[3], row[4]) for row in rows] == [
        ("force", "N", "4"),
        ("viscosity", "N s/m", "5"),
        ("stiffness", "N/m", "6000"),
        ("damping", "N s/m", "10"),
    ]
    for row in rows:
        low, high = (float(end) for end in row[2].split(" to "))
        assert low <= float(row[4]) <= high and low <= float(row[1]) <= high


def test_command_names_the_parameters_that_are_not_identified(
    stored: Path, bag: Bag, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    state = bag.topics["/joystick/friction/state"]
    state["velocity"] = np.tile([0.1, 0.0], (N, 1))
    state["force"] = 45.0 * state["velocity"]
    assert command(monkeypatch, str(stored), "--law", "coulomb", "--velocity", "measured") == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "not identified" in line]
    assert [line.split("│")[1].strip() for line in lines] == ["stiffness", "damping"]
    assert all("0 samples stick" in line for line in lines)


def test_the_commands_errors_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(monkeypatch, str(tmp_path)) == 1
    assert capsys.readouterr().err == f"error: {tmp_path}: no run and no bag (no bag*/metadata.yaml in it)\n"
    assert command(monkeypatch, str(tmp_path), "--law", "hysteresis") == 2


# The report


def test_the_report_shows_both_identifications(recorded: tuple[Run, np.ndarray], bag_of: Bags) -> None:
    run, seen = recorded
    bags = {name: bag_of(run, element_velocity=seen, delay=delay, **FRICTION) for name, delay in (("a", 0), ("b", 1))}
    report = analyse(bags)
    claims = report.claims[5:]
    assert [claim.shown for claim in claims] == [True] * 4
    for claim, start in zip(
        claims, 2 * ["identified from the bag: F = "] + 2 * ["identified from the true"], strict=True
    ):
        assert claim.measured.startswith(start)
        assert all(f"{symbol} = " in claim.measured for symbol in "FDKB")
    assert "rendered: 4, 5, 6000, 10" in claims[0].measured
    assert f"B less K times 0.59 ms is {B - K * 0.588e-3:.2f} N s/m" in claims[2].measured
    metrics = report.metrics["runs"]["a"]["identification"]
    assert metrics["measured"]["contained"] == dict.fromkeys(KNOWN, True)
    assert metrics["measured"]["known"] == KNOWN
    assert metrics["true"]["estimates"]["stiffness"]["unit"] == "N/m"


def test_other_answers_than_the_rendered_ones_are_not_shown(recorded: tuple[Run, np.ndarray], bag_of: Bags) -> None:
    run, seen = recorded
    bag = bag_of(run, element_velocity=seen, **FRICTION, damping=12.0)
    assert [claim.shown for claim in analyse({"bag": bag}).claims[3:]] == [False, False]


def test_claims_without_enough_data_are_not_reached(recorded: tuple[Run, np.ndarray], bag_of: Bags) -> None:
    run, seen = recorded
    changed = bag_of(run, element_velocity=seen, **FRICTION)
    changed.events.append(Event(5, "friction", "parameter", {"stiffness": 5000.0}))
    resting = bag_of(run, element_velocity=0.0 * seen, **FRICTION)
    assert [claim.shown for claim in analyse({"bag": changed}).claims[3:]] == [None, None]
    claim = analyse({"bag": resting}).claims[3]
    assert claim.shown is None and "nothing slides" in claim.measured
