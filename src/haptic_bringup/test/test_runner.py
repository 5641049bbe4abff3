"""The runner: arguments, variants, and what a run leaves behind."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from haptic_bringup import runner
from haptic_core.errors import HapticError
from haptic_experiments import report
from haptic_launch import runner as launch_runner
from haptic_launch.experiments import Experiment, Home, load_experiment
from haptic_launch.launch_file import LaunchDescription, load_launch_file


@pytest.fixture(scope="module")
def description() -> LaunchDescription:
    return load_launch_file(load_experiment("friction_impedance").launch_file)


# Arguments and variants


def test_arguments_are_name_and_value() -> None:
    assert launch_runner.parse_arguments([]) == {}
    assert launch_runner.parse_arguments(["a:=1", "b:=x y", "c:=d:=e", "a:=2"]) == {"a": "2", "b": "x y", "c": "d:=e"}


@pytest.mark.parametrize("word", ["duration", "duration=3", ":=3", "--help", ""])
def test_other_words_are_refused(word: str) -> None:
    with pytest.raises(launch_runner.UsageError) as caught:
        launch_runner.parse_arguments(["mode:=lockstep", word])
    assert str(caught.value) == f"argument {word!r}: expected name:=value"


def test_effective_arguments_are_the_defaults_and_what_was_given(description: LaunchDescription) -> None:
    defaults = launch_runner.effective_arguments(description, {})
    assert set(defaults) == {argument.name for argument in description.arguments}
    assert defaults["friction_force"] == "4.0" and defaults["output"] == ""
    for given in ({"seed": "7"}, {"strokes": "[0, 3]"}, {"letters": "[ab"}):
        assert launch_runner.effective_arguments(description, given) == {**defaults, **given}


def test_a_default_follows_the_argument_that_it_names(description: LaunchDescription) -> None:
    arguments = launch_runner.effective_arguments(description, {"friction_force": "1e-1"})
    assert (arguments["friction_force"], arguments["backward_friction_force"]) == ("1e-1", "1e-1")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"stifness": "1"}, r"^argument 'stifness' is unknown, expected one of: .*\bstiffness\b"),
        ({"mode": "fast"}, r"^argument mode: expected one of lockstep, realtime, got 'fast'$"),
        ({"friction_force": "abc"}, r"^argument friction_force: expected a number, got 'abc'$"),
        ({"period": "1 ms"}, r"^argument period: expected a number, got '1 ms'$"),
        ({"strokes": "[1, 2.5]"}, r"^argument strokes: expected a value, or a list of values of one type, got"),
        ({"strokes": "[1"}, r"^argument strokes: expected a value, or a list of values of one type, got '\[1'$"),
    ],
)
def test_unknown_arguments_and_wrong_values_are_usage_errors(
    given: dict[str, str], message: str, description: LaunchDescription
) -> None:
    with pytest.raises(launch_runner.UsageError, match=message):
        launch_runner.effective_arguments(description, given)


def test_the_hint_after_an_unknown_argument_leads_to_the_parameters_of_nodes(description: LaunchDescription) -> None:
    with pytest.raises(launch_runner.UsageError) as caught:
        launch_runner.effective_arguments(description, {"change_time": "0.1"})  # of every rendering node
    assert "params_file:= sets any parameter of a node" in caught.value.hint


def experiment_with(variants: dict[str, dict[str, str]]) -> Experiment:
    return load_experiment("friction_impedance").model_copy(update={"variants": variants})


VARIANTS = {"zero": {"delay": "0"}, "one": {"delay": "1", "seed": "3"}}


def test_all_variants_run_in_lockstep() -> None:
    arguments = {"mode": "lockstep", "delay": "0"}
    assert launch_runner.chosen_variants(experiment_with(VARIANTS), arguments, {}) == VARIANTS
    assert launch_runner.chosen_variants(experiment_with(VARIANTS), arguments, {"duration": "1"}) == VARIANTS


@pytest.mark.parametrize(
    ("variants", "mode", "given"),
    [
        ({}, "lockstep", {}),
        (VARIANTS, "realtime", {"mode": "realtime"}),
        (VARIANTS, "lockstep", {"delay": "0"}),
        (VARIANTS, "lockstep", {"seed": "5"}),
        (VARIANTS, "lockstep", {"output": "bag"}),  # two bags cannot have one place
    ],
)
def test_otherwise_there_is_one_run(variants: dict[str, Any], mode: str, given: dict[str, str]) -> None:
    assert launch_runner.chosen_variants(experiment_with(variants), {"mode": mode, **given}, given) == {"run": {}}


# A run


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, list[Any]]:
    """Runs in an empty directory without processes: arguments of each launch, exit codes to give, reports."""
    calls: dict[str, list[Any]] = {"arguments": [], "directories": [], "codes": [], "reports": []}

    def launch(path: Path, arguments: dict[str, str], directory: Path | None) -> int:
        calls["arguments"].append(dict(arguments))
        calls["directories"].append(directory and directory.absolute())
        return calls["codes"].pop(0) if calls["codes"] else 0

    monkeypatch.setattr(runner, "launch", launch)
    monkeypatch.setattr(report, "write_report", lambda directory, console: calls["reports"].append(directory))
    monkeypatch.chdir(tmp_path)
    return calls


def run(*words: str) -> int:
    return runner.run_experiment("friction_impedance", words, Console(file=StringIO()))


def test_a_run_has_one_bag_a_variant_a_run_file_and_a_report(launched: dict[str, list[Any]], tmp_path: Path) -> None:
    assert run("seed:=5") == 0
    (directory,) = (tmp_path / "runs").iterdir()
    assert launched["arguments"] == [
        {"seed": "5", "command_delay_ticks": "0", "output": str(directory / "bag")},
        {"seed": "5", "command_delay_ticks": "1", "output": str(directory / "bag_one_tick_delay")},
    ]
    assert [path.absolute() for path in launched["reports"]] == [directory]
    assert launched["directories"] == [directory, directory]  # of the nodes' flight records
    document = yaml.safe_load((directory / "run.yaml").read_text())
    assert document["experiment"] == "friction_impedance" and document["exit_code"] == 0
    assert document["seed"] == document["arguments"]["seed"] == "5"
    assert document["arguments"]["friction_force"] == "4.0"
    assert list(document["variants"]) == ["no_delay", "one_tick_delay"]
    assert document["versions"]["numpy"]


def test_a_failed_variant_ends_the_run_without_a_report(launched: dict[str, list[Any]], tmp_path: Path) -> None:
    launched["codes"] = [1]
    assert run() == 1
    (directory,) = (tmp_path / "runs").iterdir()
    assert len(launched["arguments"]) == 1 and launched["reports"] == []
    assert yaml.safe_load((directory / "run.yaml").read_text())["exit_code"] == 1


def test_a_cache_of_kernels_that_cannot_be_written_does_not_end_a_run(
    launched: dict[str, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/proc/nowhere")
    assert run("seed:=5") == 0 and len(launched["reports"]) == 1


@pytest.mark.parametrize("words", [["record:=false"], ["output:=here"]])
def test_without_a_bag_of_its_own_a_run_makes_no_directory(launched: dict[str, list[Any]], words: list[str]) -> None:
    assert run("command_delay_ticks:=0", *words) == 0
    assert len(launched["arguments"]) == 1 and launched["reports"] == []
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("word", ["mode:=fast", "friction_force:=abc"])
def test_wrong_argument_is_refused_before_anything_starts(launched: dict[str, list[Any]], word: str) -> None:
    with pytest.raises(launch_runner.UsageError):
        run(word)
    assert launched["arguments"] == [] and list(Path().iterdir()) == []


def test_output_without_a_recorder_is_refused(launched: dict[str, list[Any]]) -> None:
    with pytest.raises(launch_runner.UsageError, match="argument output: here is not written"):
        run("record:=false", "output:=here")
    assert launched["arguments"] == []


def test_two_runs_in_one_second_get_two_directories(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    directories = [launch_runner.new_run_directory("x") for _ in range(4)]
    assert len(set(directories)) == 4 and all(path.is_dir() for path in directories)


def test_unknown_experiment_is_refused_before_anything_starts(launched: dict[str, list[Any]]) -> None:
    with pytest.raises(HapticError, match=r"^experiment 'friction_impedence' is unknown, expected one of: "):
        runner.run_experiment("friction_impedence", [], Console(file=StringIO()))
    assert launched["arguments"] == [] and list(Path().iterdir()) == []


def own_experiment(monkeypatch: pytest.MonkeyPatch, folder: Path, recorded: str, reports: str) -> None:
    """Installs an experiment `slow_slide` with a recorder of the experiment `recorded`, and with these reports."""
    (folder / "launch").mkdir()
    (folder / "launch" / "slow_slide.launch.yaml").write_text(f"""launch:
- arg: {{name: record, default: "true"}}
- arg: {{name: output, default: ""}}
- node: {{pkg: haptic_bags, exec: recorder, name: recorder, param: [{recorded}]}}
""")
    own = Experiment(name="slow_slide", home=Home("lab", folder, reports), title="Slide", paper="none", summary="Slow.")
    monkeypatch.setattr(runner, "load_experiment", {"slow_slide": own}.__getitem__)


@pytest.mark.parametrize(
    ("recorded", "reports", "message"),
    [
        (
            "{name: mode, value: lockstep}",
            "haptic_experiments",
            "has a recorder of the experiment friction_impedance; ",
        ),
        ("{name: experiment, value: tau_wall}", "haptic_experiments", "has a recorder of the experiment tau_wall; "),
        ("{name: experiment, value: slow_slide}", "haptic_experiments", "the module haptic_experiments.slow_slide of "),
        ("{name: experiment, value: slow_slide}", "my_lab", "the module my_lab.slow_slide of its report is not "),
    ],
)
def test_an_experiment_is_not_run_without_its_own_recorder_and_report(
    launched: dict[str, list[Any]], monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory,
    recorded: str, reports: str, message: str,
) -> None:  # fmt: skip
    own_experiment(monkeypatch, tmp_path_factory.mktemp("share"), recorded, reports)
    with pytest.raises(HapticError, match=f"^experiment slow_slide: .*{message}"):
        runner.run_experiment("slow_slide", [], Console(file=StringIO()))
    assert launched["arguments"] == [] and list(Path().iterdir()) == []
