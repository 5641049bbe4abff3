"""friction_drift as a user runs it, with a shorter load: every model's bits, the claims, the report again."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from rich.console import Console
from started_runs import finished_run, metrics_of

from haptic_bags.bags import Bag
from haptic_experiments.report import write_report
from haptic_friction.factory import make_model, parameters_of

pytestmark = pytest.mark.experiment

#: the experiment's load with a rise of 2 s
SCRIPT = {
    "duration": 2.6,
    "force_0": [
        {"ramp": 1.5, "end": 2.0},
        {"sine": {"amplitude": 1.8, "frequency": 30.0}, "end": 2.0},
        {"from": 3.0, "to": 0.0, "start": 2.0, "end": 2.3},
    ],
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a run with both variants: the mass starts at rest, and sliding."""
    folder = tmp_path_factory.mktemp("drift")
    script = folder / "load.yaml"
    script.write_text(yaml.safe_dump(SCRIPT))
    return finished_run(folder, "friction_drift", f"script:={script}")


@pytest.fixture(scope="module")
def metrics(finished: Path) -> dict[str, Any]:
    return metrics_of(finished)


def test_each_column_is_the_library_s_model_bit_for_bit(finished: Path) -> None:
    for name, start in (("bag", 0.0), ("bag_stop", 0.7)):
        bag = Bag(finished / name)
        state, parameters = bag.topics["/script/comparison/state"], bag.parameters("comparison")
        force = bag.topics["/script/device_state"]["tool_wrench"][:, 0:1]
        np.testing.assert_array_equal(state["tick"], np.arange(2601))
        assert set(bag.topics["/script/device_command"]["mode"]) == {0}  # NONE: it commands nothing
        for column, kind in enumerate(parameters["models"]):
            model = make_model(parameters_of(parameters, column), dimension=1)
            model.reset(velocity=[start])
            np.testing.assert_array_equal(state["velocity"][:, column], model.simulate(force)[:, 0], err_msg=kind)


def test_the_load_is_the_script_s(finished: Path) -> None:
    force = Bag(finished / "bag").topics["/script/device_state"]["tool_wrench"][:, 0]
    time = 1e-3 * np.arange(2601)
    loaded = 1.5 * time + 1.8 * np.sin(2.0 * np.pi * 30.0 * time)
    np.testing.assert_allclose(force[:2000], loaded[:2000], rtol=0, atol=1e-12)
    assert not force[2300:].any()


def test_the_paper_s_models_stay_and_the_earlier_ones_drift(metrics: dict[str, Any]) -> None:
    found = metrics["runs"]["bag"]["models"]
    for name in ("model A", "model D", "model C + mass", "Karnopp, ε = 1 mm/s", "reset integrator"):
        assert abs(found[name]["residual_displacement"]) < 1e-9 and not found[name]["chatters"], name
    # a creep of eps h/F over the load's impulse
    impulse = 0.5 * 3.0 * 2.0 + 0.5 * 3.0 * 0.3
    creep = found["regularised, ε = 10 mm/s"]["residual_displacement"]
    assert creep == pytest.approx(0.01 / 6.0 * impulse, rel=0.01)
    for name in ("Quinn, ε = 1 mm/s", "regularised, ε = 1 mm/s", "explicit Coulomb"):
        assert found[name]["chatters"], name
    for name in ("Dahl, K = 100 kN/m", "LuGre, K = 100 kN/m"):
        assert found[name]["residual_displacement"] > 1e-4, name
    assert found["model A"]["exact_zero_velocity_share"] == 1.0


def test_a_stopped_karnopp_keeps_a_velocity_below_its_threshold(metrics: dict[str, Any]) -> None:
    found = metrics["runs"]["bag_stop"]["models"]
    assert 1e-3 < found["Karnopp, ε = 10 mm/s"]["largest_speed"] <= 1e-2
    assert found["Karnopp, ε = 1 mm/s"]["largest_speed"] <= 1e-3
    assert found["model A"]["largest_speed"] == 0.0


def test_every_claim_is_shown_but_that_of_the_elastoplastic_model(finished: Path, metrics: dict[str, Any]) -> None:
    """The load passes 0.7 F, up to which the elastoplastic model is elastic: it drifts by the limit of all models."""
    assert len(metrics["claims"]) == 10
    refuted = [claim["claim"] for claim in metrics["claims"] if not claim["shown"]]
    assert refuted == ["Later models (here the elastoplastic one) remove the drift of LuGre's (II-B)."]
    assert (finished / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert "machine of this report" in (finished / "report.html").read_text()


def test_the_report_again_has_the_same_numbers(finished: Path, tmp_path: Path) -> None:
    before = (finished / "metrics.json").read_text()
    for name in ("bag", "bag_stop"):
        (tmp_path / name).symlink_to(finished / name)
    write_report(tmp_path, Console(file=io.StringIO()))
    assert (tmp_path / "metrics.json").read_text() == before
