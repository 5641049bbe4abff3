"""The Monte-Carlo study in small, delays, and the properties of the stand-in."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tau_wall_control import TauDevice, TauError, design_wall_controller, simulate_push
from tau_wall_control.monte_carlo import (
    FIGURES,
    StudyPlan,
    characteristics,
    chunks,
    compare,
    query_points,
    run_chunk,
    run_study,
)
from tau_wall_control.workspace import (
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
from tau_wall_control.z_width import (
    closed_loop,
    largest_gain,
    rendered_stiffness,
    spectral_radius,
    spring_damper_controller,
    spring_damper_limit,
    torque_activity,
)


@pytest.fixture(scope="module")
def study(device: TauDevice, design: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    plan = StudyPlan.from_device(device, rows=2, columns=2, runs=3, duration=1.1)
    work = chunks(device, {"sopc": design("sopc"), "mopc": design("mopc")}, plan)
    folder = tmp_path_factory.mktemp("study")
    return plan, work, folder, run_study(work, folder, workers=1)


def test_plan(device: TauDevice) -> None:
    plan = StudyPlan.from_device(device)
    assert (plan.rows, plan.columns, plan.runs) == (11, 11, 20)
    points = query_points(device, plan)
    assert_allclose(points[0, 0], [-0.025, -0.025, 0.0])
    assert_allclose(points[0, 1] - points[0, 0], [0.005, 0.0, 0.0], atol=1e-15)
    with pytest.raises(TauError, match="plan: expected at least 1"):
        chunks(device, {}, StudyPlan(runs=0))


def test_study_is_what_single_runs_are(device: TauDevice, design: Any, study: Any) -> None:
    _, _, _, results = study
    assert results["mopc"].shape == (2, 2, 3, len(FIGURES))
    run = simulate_push(
        device, design("mopc"), point=(0.025, -0.025, 0.0), noise=1.0, duration=1.1, seed=(0, 0, 1, 2, 1)
    )
    assert results["mopc"][0, 1, 2, 0] == run.stiffness
    assert len(np.unique(results["mopc"][..., 0])) == 12  # every run has noise of its own


def test_study_goes_on(study: Any) -> None:
    """What is stored is not computed again; what is missing is."""
    _, work, folder, results = study
    files = sorted(folder.iterdir())
    assert len(files) == len(work) == 4
    before = {f: f.stat().st_mtime_ns for f in files}
    files[1].unlink()
    seen: list[tuple[int, int]] = []
    again = run_study(work, folder, mapper=map, progress=lambda *n: seen.append(n))
    assert seen == [(3, 4), (4, 4)]
    assert all(np.array_equal(again[name], results[name]) for name in results)
    assert all(f.stat().st_mtime_ns == before[f] for f in files if f != files[1])


def test_another_plan_is_other_work(device: TauDevice, design: Any, study: Any) -> None:
    plan, work, _, _ = study
    keys = {c.key for c in work}
    other = chunks(device, {"sopc": design("sopc"), "mopc": design("mopc")}, StudyPlan(**{**vars(plan), "noise": 0.5}))
    heavier = chunks(
        device.with_parameters("platform.mass=0.13"), {"sopc": design("sopc"), "mopc": design("mopc")}, plan
    )
    assert not keys & {c.key for c in [*other, *heavier]}
    assert len(keys) == len(work)


def test_chunks_travel(study: Any) -> None:
    import pickle

    _, work, _, results = study
    assert np.array_equal(run_chunk(pickle.loads(pickle.dumps(work[3]))), results["mopc"][1])


def test_comparison_is_welchs(study: Any) -> None:
    from scipy.stats import ttest_ind

    random = np.random.default_rng(0)
    a = random.normal(10.0, 1.0, (3, 4, 20, len(FIGURES)))
    b = random.normal(10.5, 3.0, (3, 4, 20, len(FIGURES)))
    b[0, 0] = a[0, 0] = 7.0
    result = compare(a, b)
    assert result.p_value[1, 2] == pytest.approx(ttest_ind(a[1, 2, :, 0], b[1, 2, :, 0], equal_var=False).pvalue)
    assert result.p_value[0, 0] == 1.0
    assert (result.both == (result.significant & result.second_higher)).all()
    assert not (result.both & result.first_better).any()
    numbers = characteristics(study[3]["mopc"])
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


def test_plots(device: TauDevice, tmp_path: Path) -> None:
    for name, figure in (("w", plot_workspace(device, per_axis=5)), ("m", plot_mechanism(device))):
        figure.savefig(tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000
