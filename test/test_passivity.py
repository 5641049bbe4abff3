"""Passivity of whole runs: observing changes nothing, and the device's energy is the sum of its sources'."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from started_runs import recorded_run

from haptic_bags.bags import Bag
from haptic_launch.experiments import load_experiment

pytestmark = pytest.mark.experiment


def balances(bag: Bag) -> dict[str, np.ndarray]:
    """Energy of each port [J]."""
    return {
        content["port"][0]: np.asarray(content["energy"])
        for topic, content in bag.topics.items()
        if topic.endswith("/passivity")
    }


def test_observing_changes_no_bit_of_a_run_and_off_records_nothing(tmp_path: Path) -> None:
    words = ("friction_impedance", "duration:=0.5", "command_delay_ticks:=1")
    plain = Bag(recorded_run(tmp_path / "plain", *words))
    observed = Bag(recorded_run(tmp_path / "observed", *words, "passivity:=observe"))
    experiment = load_experiment("friction_impedance")
    assert sorted(plain.topics) == sorted(experiment.recorded.every_tick)
    assert sorted(observed.topics) == sorted([*plain.topics, *experiment.passivity_topics])
    for topic, content in plain.topics.items():
        for name, values in content.items():
            np.testing.assert_array_equal(values, observed.topics[topic][name], err_msg=f"{topic} {name}")
    for topic in experiment.passivity_topics:
        np.testing.assert_array_equal(observed.topics[topic]["tick"], np.arange(500))
    energies = balances(observed)
    # the wrench at the tool against efforts and ways of the joints: the Jacobian of a period's start for all of it
    assert np.abs(energies["friction"] - energies["device"]).max() < 1e-3 * energies["device"].max()
    assert energies["device"].max() > 0.1


def test_the_device_s_energy_is_the_sum_of_its_sources_also_with_delay(tmp_path: Path) -> None:
    """A node that commands efforts and one that commands a wrench; the mechanism turns a wrench into efforts."""
    words = ("tau_rough_wall", "passivity:=observe", "duration:=2.0", "command_delay_ticks:=1")
    bag = Bag(recorded_run(tmp_path, *words))
    energies = balances(bag)
    device = energies.pop("device")
    assert sorted(energies) == ["friction", "wall"] and len(device) == 2000
    largest = max(np.abs(energy).max() for energy in energies.values())
    # within a period the Jacobian is that of its start, and the tool's place is solved to the tolerance of kinematics
    assert largest > 1e-3 and np.abs(sum(energies.values()) - device).max() < 1e-3 * largest
