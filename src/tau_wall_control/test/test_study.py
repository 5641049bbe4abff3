"""The Monte-Carlo study in small, delays, and the properties of the stand-in."""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pydantic import ValidationError

from tau_wall_control import TauDevice, TauError, design_wall_controller, simulate_push
from tau_wall_control.device.workspace import (
    analyse,
    apparent_masses,
    bounding_box,
    cube_poses,
    plot_mechanism,
    plot_workspace,
    serial_margins,
    static_load,
    turned_poses,
)
from tau_wall_control.simulation.monte_carlo import FIGURES, Pushes, characteristics, compare, query_points
from tau_wall_control.simulation.z_width import (
    closed_loop,
    largest_gain,
    rendered_stiffness,
    spectral_radius,
    spring_damper_controller,
    spring_damper_limit,
    torque_activity,
)
from tau_wall_control.study import StudySettings, paper, sensing, tasks


@pytest.fixture(scope="module")
def small() -> StudySettings:
    """Two by two points, three runs."""
    return StudySettings(parts=("paper",), controllers=("sopc", "mopc"), rows=2, columns=2, runs=3)


@pytest.fixture(scope="module")
def study(small: StudySettings) -> Any:
    """Noisy pushes of the rows, (rows, columns, runs, FIGURES) by controller."""
    work = paper.tasks(small)
    return {n: np.array([work[f"row{r:03d}-{n}"].run()["figures"] for r in (0, 1)]) for n in ("sopc", "mopc")}


@pytest.mark.parametrize(
    ("size", "count", "kept"),
    [("full", 9, [*range(9)]), ("full", 3, [0, 1, 2]), ("quick", 9, [0, 4, 8]), ("quick", 3, [0, 1, 2])],
)
def test_a_quick_study_takes_the_first_middle_and_last(size: Any, count: int, kept: list[int]) -> None:
    assert StudySettings(size=size).thin(range(count)) == kept


def test_plan(device: TauDevice) -> None:
    settings = StudySettings()
    assert settings.grid == (11, 11, 20)
    points = query_points(device, 11, 11)
    assert_allclose(points[0, 0], [-0.025, -0.025, 0.0])
    assert_allclose(points[0, 1] - points[0, 0], [0.005, 0.0, 0.0], atol=1e-15)
    assert (settings.push, settings.deviation, settings.half) == (13.0, 1.0, 0.025)


@pytest.mark.slow
def test_study_is_what_single_runs_are(device: TauDevice, design: Any, study: Any) -> None:
    assert study["mopc"].shape == (2, 2, 3, len(FIGURES))
    run = simulate_push(device, design("mopc"), point=(0.025, -0.025, 0.0), noise=1.0, seed=(0, 0, 1, 2, 1))
    assert study["mopc"][0, 1, 2, 0] == run.stiffness
    assert study["mopc"][0, 1, 2, -1] == torque_activity(run)
    assert len(np.unique(study["mopc"][..., 0])) == 12  # every run has noise of its own


def test_work_can_be_cut_otherwise(small: StudySettings, study: Any) -> None:
    """Tasks are small, travel, and do not depend on what ran before in the process."""
    task = pickle.loads(pickle.dumps(paper.tasks(small)["row001-mopc"]))
    assert len(pickle.dumps(task)) < 10_000
    assert np.array_equal(task.run()["figures"], study["mopc"][1])


@pytest.mark.covering(3)
@pytest.mark.parametrize(
    "changes",
    [
        {"noise": 0.5},
        {"force": 9.0},
        {"seed": 1},
        {"device_parameters": ("platform.mass=0.13",)},
        {"rows": 3},
        {"runs": 4},
        {"columns": 3},
    ],
)
def test_other_settings_are_other_work(small: StudySettings, study: Any, changes: dict[str, Any]) -> None:
    """Their tasks differ in what they say they depend on, and in what they compute."""
    other = paper.tasks(StudySettings(**{**small.model_dump(), **changes}))
    assert {repr(t) for t in paper.tasks(small).values()} != {repr(t) for t in other.values()}
    got = other["row001-mopc"].run()["figures"]
    assert got.shape != study["mopc"][1].shape or not np.array_equal(got, study["mopc"][1])


def test_a_designed_file_can_be_compared(device: TauDevice, design: Any, tmp_path: Path) -> None:
    """It does what the scheme does that it was designed with."""
    design("mopc").save(tmp_path / "mine.npz")
    names = ("mopc", str(tmp_path / "mine.npz"))
    work = paper.tasks(StudySettings(parts=("paper",), controllers=names, rows=1, columns=1, runs=2))
    one, two = (work[f"nine-{name}"].run()["figures"] for name in ("mopc", "mine"))
    assert np.array_equal(one, two)
    assert "0x" not in repr(work["nine-mine"])


def test_refused_settings(tmp_path: Path) -> None:
    with pytest.raises(TauError, match=r"controllers: expected one of sopc, .* or a file, got 'nobody'"):
        tasks(StudySettings(controllers=("nobody",)))
    with pytest.raises(TauError, match="cannot be read"):
        tasks(StudySettings(device=str(tmp_path / "none.yaml")))
    for wrong in ({"runs": 1}, {"force": 0.0}, {"parts": ()}, {"parts": ("all",)}, {"colour": 1}, {"noise": -1.0}):
        with pytest.raises(ValidationError):
            StudySettings(**wrong)  # type: ignore[arg-type]


def test_comparison_is_welchs(study: Any) -> None:
    from scipy.stats import ttest_ind

    random = np.random.default_rng(0)
    a = random.normal(10.0, 1.0, (3, 4, 20, len(FIGURES)))
    b = random.normal(10.5, 3.0, (3, 4, 20, len(FIGURES)))
    b[0, 0] = a[0, 0] = 7.0
    result = compare(a, b)
    assert result.p_value[1, 2] == pytest.approx(ttest_ind(a[1, 2, :, 0], b[1, 2, :, 0], equal_var=False).pvalue)
    low, high = ttest_ind(b[1, 2, :, 0], a[1, 2, :, 0], equal_var=False).confidence_interval()
    mean = a[1, 2, :, 0].mean()
    assert result.interval[1, 2] == pytest.approx((high - low) / (2.0 * mean))
    assert result.difference[1, 2] == pytest.approx((high + low) / (2.0 * mean))
    assert result.p_value[0, 0] == 1.0 and result.interval[0, 0] == 0.0
    assert (result.both == (result.significant & result.second_higher)).all()
    assert not (result.both & result.first_better).any()
    numbers = characteristics(study["mopc"])
    assert numbers["stiffness_min"] <= numbers["stiffness_mean"] <= numbers["stiffness_max"]
    assert numbers["row_mean_lowest"] < numbers["row_mean_highest"]  # lower y is softer


@pytest.mark.parametrize(("gain", "stable"), [(0.5, 2), (1.0, 1), (2.0, 0)])
def test_delays_that_the_papers_loop_bears(design: Any, gain: float, stable: int) -> None:
    for delay in range(4):
        radius = spectral_radius(closed_loop(design("sopc"), (0, 0, 0), delay=delay, gain=gain))
        assert (radius < 1.0) == (delay <= stable)


@pytest.mark.parametrize("scheme", ["sopc", "observer", "stiff", "predictive"])
def test_closed_loop_is_the_simulated_one(device: TauDevice, design: Any, scheme: str) -> None:
    """The slowest decay of a small push is that of the linear loop's largest eigenvalue."""
    c = design(scheme)
    smooth = device.with_parameters("friction.coulomb_actuated=0")
    delay = c.delay
    signal = np.zeros(400)
    signal[10:20] = 0.02
    run = simulate_push(device, c, point=(0, 0, 0), duration=0.4, signal=signal, delay=delay, plant=smooth)
    assert abs(run.deviation[-1]) < 1e-3 * np.abs(run.deviation).max()
    radius = spectral_radius(closed_loop(c, (0, 0, 0), delay=delay))
    tail = np.abs(run.deviation[60:120])
    assert radius < 1.0
    assert tail[-1] < tail[0]
    eigenvalues = np.linalg.eigvals(closed_loop(c, (0, 0, 0), delay=delay))
    assert eigenvalues.shape == (12 + 6 * delay + (6 if scheme == "sopc" else 18 + 6 * c.delay),)


def test_z_width(device: TauDevice, design: Any) -> None:
    """More delay, less stiffness; with a velocity from counts' differences less again."""
    classical = [spring_damper_limit(device, (0, 0, 0), delay=k).stiffness for k in (0, 1, 2)]
    filtered = [spring_damper_limit(device, (0, 0, 0), delay=k, velocity_pole=2000.0).stiffness for k in (0, 1)]
    assert classical[0] > classical[1] > classical[2]
    assert all(f < c for f, c in zip(filtered, classical, strict=False))
    gains = [largest_gain(design("sopc"), (0, 0, 0), delay=k) for k in (0, 1, 2)]
    assert gains[0] > gains[1] > 1.0 > gains[2]
    at_edge = gains[1]
    radii = [spectral_radius(closed_loop(design("sopc"), (0, 0, 0), delay=1, gain=at_edge * f)) for f in (0.99, 1.01)]
    assert radii[0] < 1.0 < radii[1]
    assert rendered_stiffness(design("stiff"), (0, 0, 0)) > rendered_stiffness(design("sopc"), (0, 0, 0))


def test_classical_wall_simulated(device: TauDevice) -> None:
    """Its static depth is F/K, and it is stable on the nonlinear device where the linear loop says so."""
    c = spring_damper_controller(device, stiffness=10e3, damping=60.0)
    run = simulate_push(device, c, point=(0, 0, 0), delay=1)
    assert run.deviation[-1] == pytest.approx(-13.0 / 10e3, rel=0.1)
    assert torque_activity(run) < 1e-4
    limit = spring_damper_limit(device, (0, 0, 0), delay=2)
    soft, hard = (
        simulate_push(
            device,
            spring_damper_controller(device, stiffness=f * limit.stiffness, damping=f * limit.damping),
            point=(0, 0, 0),
            force=5.0,
            delay=2,
        )
        for f in (0.5, 2.0)
    )
    assert torque_activity(soft) < 0.02 < torque_activity(hard)


def test_finer_grids(device: TauDevice, design: Any) -> None:
    """27 points are enough: 64 change the penetration between points by less than 1 %."""
    fine = design_wall_controller(device, "scheduled", per_axis=4)
    for point in ((0.012, -0.013, 0.0), (-0.006, -0.02, 0.0)):
        a, b = (simulate_push(device, c, point=point) for c in (design("scheduled"), fine))
        assert a.max_penetration == pytest.approx(b.max_penetration, rel=0.01)


def test_workspace_of_the_stand_in(device: TauDevice) -> None:
    cube = analyse(device, cube_poses(device, 5), clearance=True)
    assert cube.reachable.all()
    assert cube.condition_range == pytest.approx((2.61, 4.28), rel=0.01)
    assert cube.singular_range == pytest.approx((0.0458, 0.294), rel=0.01)
    assert cube.clearance > 0.027
    turned = analyse(device, turned_poses(device, 5))
    assert turned.condition_range[1] == pytest.approx(5.65, rel=0.01)
    corners = [pose for c in product((-0.025, 0.025), repeat=3) for pose in turned_poses(device, 3, c)]
    report = analyse(device, corners)
    assert report.reachable.all()
    assert report.condition_range[1] == pytest.approx(19.7, rel=0.01)
    assert_allclose(1e3 * bounding_box(device, cube_poses(device, 3)), [229, 189, 152], atol=0.6)
    loads = [[100 * static_load(device, (x, y, 0), 13.0) for x in (-0.025, 0, 0.025)] for y in (0.025, 0, -0.025)]
    assert_allclose(loads, [[80, 71, 80], [87, 78, 87], [89, 81, 89]], atol=0.6)
    masses = np.array([apparent_masses(device, p) for p in product((-0.025, 0.0, 0.025), repeat=3)])
    assert_allclose([masses[:, :3].min(), masses[:, :3].max()], [0.18, 0.51], atol=0.006)
    assert_allclose([masses[:, 3].min(), masses[:, 3].max()], [0.22, 0.32], atol=0.006)
    assert serial_margins(device, (0, 0, 0)).shape == (3, 2)


def test_out_of_reach_is_left_out(device: TauDevice) -> None:
    report = analyse(device, [(0, 0.4, 0, 0, 0, 0), (0, 0, 0, 0, 0, 0)])
    assert report.reachable.tolist() == [False, True]
    assert np.isnan(report.condition[0])


@pytest.mark.slow
def test_plots(device: TauDevice, tmp_path: Path) -> None:
    for name, figure in (("w", plot_workspace(device, per_axis=5)), ("m", plot_mechanism(device))):
        figure.savefig(tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000


def test_nine_points_are_summarised_by_means_and_extremes() -> None:
    """Of figures 0 to 8 of each kind, on different scales."""
    scales = {name: 10.0**k for k, name in enumerate(FIGURES)}
    found = paper._nine(np.arange(9.0)[:, None] * np.array(list(scales.values())))
    assert found.pop("penetration") == (scales["max_penetration"] * np.arange(9.0).reshape(3, 3)).tolist()
    means = {"penetration_mean": 4.0 * scales["max_penetration"], "rmse_mean": 4.0 * scales["rmse"]}
    largest = {f"{name}_max": 8.0 * scales[name] for name in ("initial_deviation", "lateral")}
    assert found == {**means, **largest, "stiffness_min": 0.0, "peak_torque": 8.0 * scales["peak_torque"]}


@pytest.mark.slow
def test_the_trace_of_pushes_is_the_deviation_of_the_first_run() -> None:
    device = TauDevice.default()
    controller = design_wall_controller(device, scheme="sopc")
    point = tuple(query_points(device, 1, 1)[0, 0].tolist())
    duration = device.parameters.disturbance.step_time + 0.01
    pushes = Pushes(device.parameters, controller, (point,), 13.0, duration, noise=1.0, runs=2, trace=True)
    both, first = pushes.run(), replace(pushes, runs=1).run()
    assert both["figures"].shape == (1, 2, len(FIGURES))
    np.testing.assert_array_equal(both["deviation"], first["deviation"])
    assert len(first["deviation"]) == 1 and np.ptp(first["deviation"]) > 0.0


def test_sensing_takes_the_lowest_stiffness_and_the_largest_noise_of_its_points(
    small: StudySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sensing, "_figure", lambda *arguments: None)
    random = np.random.default_rng(1)
    results = {name: {"figures": random.random((3, 1, len(FIGURES)))} for name in sensing.tasks(small)}
    found = sensing.answer(small, results).metrics
    sizes, poles = sensing._values(small)
    for scheme in sensing.SCHEMES:
        for i, j in product(range(len(sizes)), range(len(poles))):
            figures = results[f"{scheme}-{sizes[i]:g}-{poles[j]:g}"]["figures"]
            assert found["stiffness"][scheme][i][j] == figures[:, 0, FIGURES.index("stiffness")].min()
            assert found["torque_noise"][scheme][i][j] == figures[:, 0, FIGURES.index("activity")].max()
