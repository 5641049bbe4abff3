"""The study's questions in small: what they claim is measured, and wrong results are not called right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import colors  # noqa: F401  (what figures need is loaded before the clock of a test runs)

from tau_wall_control import TauDevice, TauError, WallController, simulate_push
from tau_wall_control.device.workspace import static_load
from tau_wall_control.simulation.monte_carlo import FIGURES, Design, characteristics, compare, holm_adjusted
from tau_wall_control.simulation.push import push_signal, stiffest_push
from tau_wall_control.simulation.z_width import spring_damper_limit
from tau_wall_control.study import (
    QUESTIONS,
    Answer,
    Results,
    StudySettings,
    Task,
    answers,
    delay,
    devices,
    grids,
    nine_points,
    paper,
    schemes,
    walls,
)
from tau_wall_control.study.design_wall import FILE, SHARE, DesignSettings
from tau_wall_control.study.design_wall import answer as design_answer
from tau_wall_control.study.design_wall import tasks as design_tasks

SMALL: dict[str, Any] = {"size": "quick", "rows": 2, "columns": 2, "runs": 2, "controllers": ("sopc", "mopc", "stiff")}
#: What the stand-in does not show, in the order of the findings
NOT_SHOWN = {
    "paper": ("penetrates less by 7.9 % on average", "RMSE is smaller by 19 %"),
    "devices": ("less at every edge point", "twice the torque"),
    "force": ("push of 13 N for good",),
}
#: half as long as the paper's push; the baseline is that of the whole one
SHORT = ("disturbance.step_time=0.1", "disturbance.duration=1.0")


@pytest.fixture(scope="module")
def answered() -> Any:
    """Settings, results and answer of a question in small; each is computed once."""
    made: dict[str, tuple[StudySettings, Results, Answer]] = {}
    computed: dict[str, dict[str, np.ndarray]] = {}  # questions have tasks in common

    def result(task: Task) -> dict[str, np.ndarray]:
        if repr(task) not in computed:
            computed[repr(task)] = task.run()
        return computed[repr(task)]

    def ask(part: Any) -> tuple[StudySettings, Results, Answer]:
        if part not in made:
            settings = StudySettings(parts=(part,), device_parameters=() if part == "paper" else SHORT, **SMALL)
            results = {name: result(task) for name, task in QUESTIONS[part].tasks(settings).items()}
            made[part] = settings, results, QUESTIONS[part].answer(settings, results)
        return made[part]

    return ask


def verdict(answer: Answer, words: str) -> bool | None:
    (found,) = [f for f in answer.findings if words in f.text]
    return found.shown


@pytest.mark.study
@pytest.mark.parametrize("part", list(QUESTIONS))
def test_answers_are_whole(answered: Any, part: str, tmp_path: Path) -> None:
    """Each question can be asked alone, and answers with numbers, verdicts and a figure."""
    settings, results, answer = answered(part)
    json.dumps(answer.metrics)
    assert answer.findings and all(f.measured for f in answer.findings)
    wrong = [f.text for f in answer.findings if f.shown is False]
    assert len(wrong) == len(NOT_SHOWN.get(part, ())), wrong
    for text, words in zip(wrong, NOT_SHOWN.get(part, ()), strict=True):
        assert words in text
    for name, (draw, caption) in answer.figures.items():
        draw().savefig(tmp_path / f"{name}.png", dpi=50)
        assert caption.endswith(".") and (tmp_path / f"{name}.png").stat().st_size > 5000
    for table in answer.tables:
        assert all(len(row) == len(table.header) for row in table.rows)
    together = answers(settings, {f"{part}.{name}": r for name, r in results.items()})
    assert together[part].metrics == answer.metrics  # type: ignore[index]


@pytest.mark.study
def test_baseline_passes_and_can_fail(answered: Any) -> None:
    """All numbers of the nine points are within 2 % here; one of them 3 % off is seen."""
    settings, results, answer = answered("paper")
    checks = answer.metrics["baseline"]["checks"]
    assert len(checks) == 26 and all(c["pass"] for c in checks)
    worse = {name: {k: v.copy() for k, v in r.items()} for name, r in results.items()}
    worse["nine-mopc"]["figures"][2, 0, FIGURES.index("max_penetration")] *= 1.03
    failed = paper.answer(settings, worse)
    assert [c["what"] for c in failed.metrics["baseline"]["checks"] if not c["pass"]] == [
        "mopc penetration, x +, y + [mm]"
    ]
    assert verdict(failed, "baseline") is False


def test_another_device_another_control_or_another_push_is_not_the_standard() -> None:
    assert StudySettings().standard
    for changes in ({"force": 9.0}, {"noise": 0.5}):
        assert not StudySettings(**changes).standard
    for changed in ("platform.mass=0.13", "control.weight_rate=7.0"):
        assert not StudySettings(device_parameters=(changed,)).standard


@pytest.mark.study
def test_baseline_is_only_for_the_stand_in() -> None:
    """Another push or another device has none, and is not judged by it."""
    for changes in ({"force": 9.0}, {"device_parameters": ("platform.mass=0.13",)}):
        settings = StudySettings(parts=("paper",), controllers=("sopc", "mopc"), rows=1, columns=1, runs=2, **changes)
        results = {name: task.run() for name, task in paper.tasks(settings).items()}
        answer = paper.answer(settings, results)
        assert "baseline" not in answer.metrics
        assert not [f for f in answer.findings if "baseline" in f.text]


@pytest.mark.study
@pytest.mark.parametrize(
    ("words", "name", "figure", "factor"),
    [
        ("holds still", "nine-sopc", "initial_deviation", 0.0),
        ("penetrates less on average, and at no edge point", "nine-mopc", "max_penetration", 1.1),
        ("smaller mean RMSE", "nine-mopc", "rmse", 1.1),
        ("lowest mean stiffness is higher", "row000-mopc", "stiffness", 0.5),
        ("falls with y", "row000-sopc", "stiffness", 3.0),
        ("hold the wall everywhere", "nine-sopc", "stiffness", 0.0),
    ],
)
def test_pattern_is_not_found_where_it_is_not(answered: Any, words: str, name: str, figure: str, factor: float) -> None:
    settings, results, answer = answered("paper")
    assert verdict(answer, words) is True
    other = {n: {k: v.copy() for k, v in r.items()} for n, r in results.items()}
    other[name]["figures"][..., FIGURES.index(figure)] *= factor
    assert verdict(paper.answer(settings, other), words) is False


@pytest.mark.study
def test_the_centre_is_not_identical_where_it_is_not(answered: Any) -> None:
    settings, results, answer = answered("paper")
    assert verdict(answer, "identical in the centre") is True
    other = {n: {k: v.copy() for k, v in r.items()} for n, r in results.items()}
    other["nine-mopc"]["deviation"][4, -1] += 1e-15
    assert verdict(paper.answer(settings, other), "identical in the centre") is False


@pytest.mark.study
@pytest.mark.parametrize(("stiffer", "shown"), [(0.04, True), (-0.04, False)])
def test_statistics_of_the_wall_are_those_of_the_runs(answered: Any, stiffer: float, shown: bool) -> None:
    """Surfaces that rise by 10 % per row, of which MOPC's is stiffer in the lowest three rows, or softer."""
    _, results, _ = answered("paper")
    options: dict[str, Any] = {**SMALL, "rows": 7, "runs": 10, "controllers": ("sopc", "mopc")}
    random, made = np.random.default_rng(3), {n: r for n, r in results.items() if n.startswith("nine")}
    for row in range(7):
        for name, gain in (("sopc", 0.0), ("mopc", stiffer if row < 3 else 0.0)):
            figures = np.ones((2, 10, len(FIGURES)))
            figures[..., 0] = 1e4 * (1.0 + 0.1 * row) * (1.0 + gain) + 50.0 * random.normal(size=(2, 10))
            made[f"row{row:03d}-{name}"] = {"figures": figures}
    answer = paper.answer(StudySettings(parts=("paper",), **options), made)
    for words in ("varies less", "significantly stiffer at most", "all points are tested together"):
        assert verdict(answer, words) is shown
    assert verdict(answer, "falls with y") is verdict(answer, "does not change with x") is True


@pytest.mark.study
@pytest.mark.parametrize(
    ("words", "figure", "places"),
    [("penetrates less on average", "max_penetration", (1, slice(None))), ("softer in every row", "stiffness", (0, 8))],
)
def test_one_random_device_of_another_kind_is_seen(answered: Any, words: str, figure: str, places: Any) -> None:
    settings, results, answer = answered("devices")
    assert verdict(answer, words) is True
    other = {n: {k: v.copy() for k, v in r.items()} for n, r in results.items()}
    other["device-2"]["figures"][(*places, FIGURES.index(figure))] *= 3.0
    assert verdict(devices.answer(settings, other), words) is False


@pytest.mark.study
def test_few_runs_do_not_judge_statistics(answered: Any) -> None:
    _, _, answer = answered("paper")
    assert verdict(answer, "significantly stiffer") is None
    assert verdict(answer, "does not change with x") is None


@pytest.mark.study
def test_schemes_are_single_pushes(answered: Any, device: TauDevice, design: Any) -> None:
    """Rows of the table against simulations of their own."""
    _, _, answer = answered("schemes")
    rows, short = answer.metrics["schemes"], device.with_parameters(*SHORT)
    for scheme, late in (("mopc", 0), ("stiff", 1)):
        points = [(x, y, 0.0) for y in (0.025, 0.0, -0.025) for x in (-0.025, 0.0, 0.025)]
        runs = [simulate_push(short, design(scheme), point=p, delay=late, duration=1.0) for p in points]
        row = rows[scheme][f"delay_{late}"]
        assert row["penetration_mean"] == pytest.approx(np.mean([r.max_penetration for r in runs]), rel=1e-9)
        assert row["stiffness_min"] == pytest.approx(min(r.stiffness for r in runs), rel=1e-9)
    tap = push_signal(short, force=13.0, duration=0.4, shape="tap")
    soft = [simulate_push(short, design("mopc"), point=p, signal=tap).max_penetration for p in points]
    assert rows["mopc"]["delay_0"]["tap_penetration"] == pytest.approx(max(soft), rel=1e-9)
    assert not rows["stiff, delay=0"]["delay_1"]["settles"] and rows["stiff"]["delay_1"]["settles"]


@pytest.mark.study
def test_no_scheme_passes_the_bound(answered: Any) -> None:
    """Also none that runs without the delay that it was designed for."""
    _, _, answer = answered("schemes")
    for row in answer.metrics["schemes"].values():
        for late in ("delay_0", "delay_1"):
            assert row[late]["stiffness_min"] < np.min(answer.metrics["bound"][late])
    _, _, answer = answered("walls")
    for scheme in walls.SCHEMES:
        for axis in walls.AXES:
            stiffness, bound = (
                answer.metrics["angle"]["stiffness"][scheme][axis],
                answer.metrics["angle"]["bound"][axis],
            )
            assert (np.array(stiffness) < np.array(bound)).all()


@pytest.mark.study
def test_targets_can_be_missed(answered: Any) -> None:
    settings, results, answer = answered("schemes")
    assert verdict(answer, "mean penetration at most") is True
    worse = {**results, "stiff-0-step": results["observer-1-step"]}
    assert verdict(schemes.answer(settings, worse), "mean penetration at most") is False
    worse = {**results, "stiff-1-step": results["observer-1-step"]}
    assert verdict(schemes.answer(settings, worse), "stable with one sample") is False
    assert verdict(schemes.answer(settings, worse), "or the limit") is False


@pytest.mark.study
def test_turned_walls_are_symmetric(answered: Any, device: TauDevice) -> None:
    """The device is its own mirror image in x = 0: turned to the left is turned to the right."""
    _, _, answer = answered("walls")
    assert answer.metrics["angle"]["degrees"] == [-60, 0, 60]
    by = answer.metrics["angle"]["stiffness"]["stiff"]["y"]
    assert by[0] == pytest.approx(by[2], rel=1e-6)
    assert walls.normal_of("x", 90.0) == pytest.approx((0.0, -1.0, 0.0), abs=1e-15)  # faces down
    assert walls.normal_of("y", 90.0) == pytest.approx((1.0, 0.0, 0.0), abs=1e-15)


def test_slide(device: TauDevice) -> None:
    """It goes from corner to corner in contact, through all the subspaces on its way."""
    slide = grids.Slide(device.parameters, Design("mopc")).run()
    start, end = slide["position"][0], slide["position"][-1]
    assert start[:2] == pytest.approx([-0.022, -0.022], abs=1e-9)
    assert end[:2] == pytest.approx([0.022, 0.022], abs=2e-3)
    assert np.abs(slide["position"][250:, 2]).max() < 1e-4  # where contact would end
    assert len(np.unique(slide["switches"])) >= 3
    smooth = grids.Slide(device.parameters, Design("scheduled")).run()
    jumps = [np.abs(np.diff(s["torque"][300:], axis=0)).max() for s in (slide, smooth)]
    assert jumps[0] > 20e-3 > 5e-3 > jumps[1]  # gravity of the operating points differs by up to 64 mN m


def test_classical_wall_of_the_study(device: TauDevice) -> None:
    p = device.parameters
    found = delay.SpringDamper(p, (0.0, 0.0, 0.0), 2, 2000.0, 13.0, 1.5).run()
    edge = spring_damper_limit(device, (0.0, 0.0, 0.0), delay=2, velocity_pole=2000.0)
    assert float(found["stiffness"]) == edge.stiffness and float(found["damping"]) == edge.damping
    K = delay.SHARE * edge.stiffness
    # from F/K, for good, to 2 F/K, a spring without any damping; friction holds a few per cent of the push
    assert 0.5 * K < found["figures"][0] < 1.1 * K
    gain = delay.GainEdge(p, Design("mopc"), (0.0, 0.0, 0.0), 1).run()
    assert gain["gain"] > 1.0 and gain["stiffness"] > 0.0


# Designing


@pytest.mark.covering(1)
@pytest.mark.parametrize("options", [{"scheme": "mopc"}, {"scheme": "stiff", "per_axis": 2, "delay": 2}])
def test_design_is_the_librarys(design: Any, device: TauDevice, options: dict[str, Any], tmp_path: Path) -> None:
    """Cut into lines, the same gains; the file fits the device, and memory and time are reported."""
    settings = DesignSettings(**options, output=str(tmp_path / "mine.npz"))
    work = design_tasks(settings)
    results = {name: task.run() for name, task in reversed(work.items())}
    answer = design_answer(settings, results, tmp_path)
    scheme = options.pop("scheme")
    for path in (tmp_path / FILE, tmp_path / "mine.npz"):
        made = WallController.load(path, device)
        assert np.array_equal(made.table, design(scheme, **options).table)
        assert made.options == design(scheme, **options).options and made.scheme == scheme
    assert answer.metrics["memory_bytes"] == made.table.nbytes
    assert answer.timings["design"] == made.design_time > 0.0
    assert all(f.shown for f in answer.findings) and answer.metrics["stiffness_min"] > 5e3
    assert answer.metrics["operating_points"] == len(made.table)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("per_axis", 1),
        ("delay", 2),
        ("normal", (0.0, 1.0, 1.0)),
        ("normal_weight", 5.0),
        ("weight_angle", 0.01),
        ("weight_rate", 2.0),
        ("weight_torque", 0.9),
        ("disturbance_rate", 0.1),
        ("device_parameters", ("friction.viscous_actuated=0.01",)),
    ],
)
def test_every_design_setting_acts(name: str, value: Any) -> None:
    first = {"per_axis": 2} if name == "per_axis" else {"per_axis": 1}
    plain, other = (design_tasks(DesignSettings(**{**first, **given})) for given in ({}, {name: value}))
    rows = [next(iter(work.values())).run()["rows"] for work in (plain, other)]
    if name == "delay":  # it changes what is done with the gains, not the gains
        plain, other = (next(iter(work.values())).options.delay for work in (plain, other))
        assert (plain, other) == (1, 2)
    else:
        assert rows[0].shape != rows[1].shape or not np.array_equal(*rows)


def test_design_is_refused(tmp_path: Path) -> None:
    for changes, words in (
        ({"scheme": "best"}, "scheme: expected one of"),
        ({"scheme": "mopc", "delay": 1}, "delay: a known delay needs the scheme"),
        ({"output": str(tmp_path / "no" / "c.npz")}, "output: expected a file in a directory that exists"),
        ({"device": str(tmp_path / "no.yaml")}, "cannot be read"),
        ({"normal": (0.0, 0.0, 0.0)}, "normal: expected a direction"),
    ):
        with pytest.raises(TauError, match=words):
            design_tasks(DesignSettings(**changes))


def test_a_push_beyond_the_device_is_made_smaller(tmp_path: Path) -> None:
    settings = DesignSettings(scheme="sopc", per_axis=1, device_parameters=("disturbance.step_force=900.0",))
    results = {name: task.run() for name, task in design_tasks(settings).items()}
    push = design_answer(settings, results, tmp_path).metrics["push"]
    points = nine_points(settings.tau).reshape(9, 3)
    weakest = min(stiffest_push(settings.tau, p, np.array([0.0, 0.0, 1.0])) for p in points)
    assert push == pytest.approx(SHARE * weakest) and push < weakest


def test_p_values_of_many_tests_are_adjusted_together() -> None:
    p = np.array([[0.01, 0.04], [0.03, 0.005]])
    np.testing.assert_allclose(holm_adjusted(p), [[0.03, 0.06], [0.06, 0.02]], rtol=1e-12)  # times 3, 2 (1), 2, 4
    random = np.random.default_rng(5)
    shape = (12, 12, 20, len(FIGURES))
    same, other = random.normal(10.0, 1.0, shape), random.normal(10.0, 1.0, shape)
    false = compare(same, other)
    assert false.significant.sum() > 0  # 5 % of 144 points that do not differ
    assert not false.holm.any() and not false.expected_false.any()
    shifted = compare(same, other + 2.0)
    assert shifted.holm.mean() > 0.9 and (shifted.holm <= shifted.expected_false).all()
    assert (shifted.expected_false <= shifted.significant).all()
    assert shifted.effect.mean() == pytest.approx(2.0, rel=0.1)
    np.testing.assert_allclose(shifted.difference, shifted.mean_second / shifted.mean_first - 1.0)
    # about 95 % of the intervals contain the true difference of 2 over the mean of the first
    covered = np.abs(shifted.difference - 2.0 / shifted.mean_first) < shifted.interval
    assert 0.9 < covered.mean() <= 1.0


def test_table_2_is_of_all_simulations() -> None:
    result = np.zeros((2, 2, 2, len(FIGURES)))
    result[..., 0] = np.arange(8.0).reshape(2, 2, 2)
    numbers = characteristics(result)
    assert (numbers["all_min"], numbers["all_max"], numbers["all_mean"]) == (0.0, 7.0, 3.5)
    assert numbers["all_std"] == pytest.approx(np.std(np.arange(8.0)))
    assert (numbers["stiffness_min"], numbers["stiffness_max"]) == (0.5, 6.5)  # of the mean surface
    assert numbers["variation_with_x"] == pytest.approx(2.0 / 1.5)  # the rows' means are 1.5 and 5.5


@pytest.mark.study
def test_random_devices_are_drawn_again_as_they_were_and_hold_the_push() -> None:
    stand_in = TauDevice.default().parameters
    assert devices.draw_device(stand_in, 0, 13.0) == (stand_in, 0)
    one, other = devices.draw_device(stand_in, 4, 13.0)[0], devices.draw_device(stand_in, 5, 13.0)[0]
    assert one == devices.draw_device(stand_in, 4, 13.0)[0] != other
    a, b = one.chains.chain_1, one.chains.chain_2
    assert a.link_1_length == b.link_1_length and a.base_origin[0] == -b.base_origin[0]  # symmetric
    for parameters in (one, other):
        device = TauDevice(parameters)
        assert max(static_load(device, p, 13.0) for p in nine_points(device).reshape(-1, 3)) < devices.USED
    with pytest.raises(TauError, match="no plausible device"):
        devices.draw_device(stand_in, 1, 1000.0)
