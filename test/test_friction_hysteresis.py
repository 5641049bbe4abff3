"""friction_hysteresis as a user runs it, with shorter loops: bits, claims, numbers."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from started_runs import finished_run, metrics_of

from haptic_bags.bags import Bag
from haptic_friction.factory import make_model, parameters_of

pytestmark = pytest.mark.experiment

#: turning points (mm), and the speed to each (m/s)
WAY = [(0.0, 4e-3), (0.4, 4e-3), (-0.4, 4e-3), (1.0, 4e-3), (-1.0, 4e-3), (0.3, 4e-3), (-0.2, 4e-3), (1.0, 4e-3)]
WAY += [(-1.0, 4e-3), (1.0, 4e-3), (-1.0, 2e-2), (1.0, 2e-2)]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hysteresis")
    terms: list[dict[str, float]] = []
    time = 0.0
    for (a, _), (b, speed) in pairwise(WAY):
        end = round(time + 1e-3 * abs(b - a) / speed, 6)
        terms.append({"constant": speed if b > a else -speed, "start": time, "end": end})
        time = end
    script = folder / "loops.yaml"
    script.write_text(yaml.safe_dump({"duration": time, "velocity_0": terms}))
    return finished_run(folder, "friction_hysteresis", f"script:={script}")


@pytest.fixture(scope="module")
def metrics(finished: Path) -> dict[str, Any]:
    return metrics_of(finished)


def test_each_column_is_the_library_s_model_bit_for_bit(finished: Path) -> None:
    bag = Bag(finished / "bag")
    state, parameters = bag.topics["/script/comparison/state"], bag.parameters("comparison")
    velocity = bag.topics["/script/device_state"]["tool_twist"][:, 0:1]
    np.testing.assert_array_equal(state["tick"], np.arange(len(velocity)))
    assert parameters["models"] == ["parallel", "parallel", "C", "C"]
    for column in range(4):
        model = make_model(parameters_of(parameters, column), dimension=1)
        np.testing.assert_array_equal(state["force"][:, column], model.simulate(velocity)[:, 0])


def test_every_claim_is_shown(finished: Path, metrics: dict[str, Any]) -> None:
    assert len(metrics["claims"]) == 7 and all(claim["shown"] for claim in metrics["claims"]), metrics["claims"]
    assert (finished / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_the_numbers_are_masings_and_iwans(metrics: dict[str, Any]) -> None:
    many = metrics["models"]["parallel elements, B = 0 N s/m"]
    single = metrics["models"]["single model C, B = 0 N s/m"]
    assert many["deviation_from_masing"] < 1e-11 and single["deviation_from_masing"] < 1e-11
    for result in (many, single):
        loops = result["loops"]
        assert [round(1e3 * p["amplitude"], 6) for p in loops] == [0.4, 0.25, 1.0, 1.0, 1.0]
        for p in loops:
            if p["simple"]:  # kinks within a step of 4 to 20 µm
                assert p["energy"] == pytest.approx(p["closed_form_energy"], rel=2e-3, abs=1e-12)
    # 4 sum F_j (X - e_j) with F_j = K_j e_j = 0.4, 0.6, 1.3, 1.1, 0.6 N
    assert many["loops"][0]["energy"] == pytest.approx(4e-3 * (0.4 * 0.35 + 0.6 * 0.3 + 1.3 * 0.2), rel=2e-3)
    assert single["loops"][0]["energy"] == pytest.approx(0.0, abs=1e-15)
    assert single["loops"][-1]["energy"] == pytest.approx(4.0 * 4.0 * 0.5e-3, rel=2e-3)
