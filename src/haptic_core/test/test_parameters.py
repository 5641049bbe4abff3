"""The parameter grammar: what is accepted, what is refused, and that a refusal says why."""

from __future__ import annotations

import math
from array import array
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from haptic_core.errors import ParameterError
from haptic_core.parameters import _RULES, ParameterSpec, check_all, fold_nested, load_parameter_specs

SOURCES = Path(__file__).resolve().parents[2]


def parameter_files() -> list[Path]:
    """All YAML files beside the packages' modules with one top-level key: the others hold a device's numbers."""
    files = sorted(file for file in SOURCES.glob("*/*/*.yaml") if file.parent.name == file.parent.parent.name)
    return [file for file in files if len(yaml.safe_load(file.read_text())) == 1]


def spec(kind: str, default: Any, **validation: list[Any]) -> ParameterSpec:
    rules = {f"{name}<>": arguments for name, arguments in validation.items()}
    return ParameterSpec("gain", kind, default, "A gain [N/m]", "N/m", validation=rules)


REFUSED = [
    ("double", {"bounds": [1.0, 2.0]}, 2.5, "from 1 to 2"),
    ("double", {"bounds": [1.0, 2.0]}, 0.5, "from 1 to 2"),
    ("double", {"gt": [1.0]}, 1.0, "above 1"),
    ("int", {"gt_eq": [1]}, 0, "1 or more"),
    ("double", {"lt": [1.0]}, 1.0, "below 1"),
    ("int", {"lt_eq": [1]}, 2, "1 or less"),
    ("string", {"one_of": [["a", "b"]]}, "c", "one of a, b"),
    ("string_array", {"unique": []}, ["x", "x"], "without repetition"),
    ("string_array", {"not_empty": []}, [], "not empty"),
    ("string", {"not_empty": []}, "", "not empty"),
    ("double_array", {"element_bounds": [0.0, 1.0]}, [0.5, 1.5], "entries from 0 to 1"),
    ("double_array", {"element_bounds": [0.0, 1.0]}, [-0.5, 0.5], "entries from 0 to 1"),
    ("int_array", {"size_lt": [2]}, [1, 2], "fewer than 2 entries"),
    ("double", {}, True, "double"),
    ("int", {}, True, "int"),
    ("int", {}, 1.0, "int"),
    ("bool", {}, 1, "bool"),
    ("double", {}, "1.0", "double"),
    ("double", {}, None, "double"),
    ("string", {}, 1, "string"),
    ("double", {}, math.nan, "finite"),
    ("double", {}, math.inf, "finite"),
    ("double", {}, -math.inf, "finite"),
    ("double_array", {}, [0.0, math.nan], "finite"),
    ("double_array", {}, 1.0, "a list"),
    ("int_array", {}, [1, True], "int_array"),
    ("string_array", {}, "xy", "a list"),
    ("string_array", {}, "[x, y", "a list"),
    ("string_array", {}, "[[[[", "a list"),
]


@pytest.mark.parametrize(("kind", "validation", "value", "expected"), REFUSED)
def test_a_refusal_names_the_parameter_what_was_expected_and_what_came(kind, validation, value, expected):
    with pytest.raises(ParameterError) as error:
        spec(kind, None, **validation).check(value)
    assert str(error.value) == f"parameter gain: expected {expected} [N/m], got {value!r}"


@pytest.mark.parametrize(
    ("value", "got"), [(["x", "z"], "'z' in ['x', 'z']"), (["w", "x", "z"], "'w', 'z' in ['w', 'x', 'z']")]
)
def test_a_refused_list_of_choices_names_the_wrong_entries(value, got):
    with pytest.raises(ParameterError) as error:
        spec("string_array", [], subset_of=[["x", "y"]]).check(value)
    assert str(error.value) == f"parameter gain: expected taken from x, y [N/m], got {got}"


def test_every_validator_is_refused_once_above():
    assert {f"{name}<>" for _, validation, _, _ in REFUSED for name in validation} | {"subset_of<>"} == set(_RULES)


def test_an_integer_passes_as_a_double_and_becomes_one():
    assert type(spec("double", 0.0, bounds=[0.0, 2.0]).check(1)) is float
    assert [type(entry) for entry in spec("double_array", []).check([1, 2.0])] == [float, float]


def test_an_array_of_a_ros_parameter_becomes_a_list():
    assert spec("int_array", []).check(array("q", [3, 4])) == [3, 4]


@pytest.mark.parametrize(("text", "expected"), [("[x, y]", ["x", "y"]), ("['']", [""]), ('["n"]', ["n"])])
def test_a_text_in_brackets_is_a_list_of_texts(text, expected):
    assert spec("string_array", ["x"]).check(text) == expected


@given(st.floats(allow_nan=False), st.floats(-5.0, 5.0), st.floats(0.0, 5.0))
def test_bounds_accept_exactly_the_closed_finite_interval(value, lower, width):
    checked = spec("double", lower, bounds=[lower, lower + width])
    if lower <= value <= lower + width:
        assert checked.check(value) == value
    else:
        with pytest.raises(ParameterError, match="parameter gain: expected"):
            checked.check(value)


def test_constraints_are_the_validators_in_words():
    assert spec("string_array", [], unique=[], not_empty=[]).constraints == "without repetition and not empty"


GOOD = {"type": "double", "default_value": 1.0, "description": "A gain [N/m]"}

BAD_FILES = [
    ({**GOOD, "defualt": 1.0}, "unknown key defualt"),
    ({**GOOD, "validation": {"within<>": [0, 1]}}, "unknown validator within<>"),
    ({**GOOD, "description": "A gain"}, "must end with the unit in brackets"),
    ({**GOOD, "description": "A gain []"}, "must end with the unit in brackets"),
    ({**GOOD, "type": "float"}, "unknown type float"),
    ({**GOOD, "validation": {"gt<>": [1.0]}}, "expected above 1 [N/m], got 1.0"),
    ({**GOOD, "default_value": "1"}, "expected double [N/m], got '1'"),
    *[({key: GOOD[key] for key in GOOD if key != missing}, f"{missing} is missing") for missing in GOOD],
    (3.0, "expected a mapping"),
]


@pytest.mark.parametrize(("entry", "message"), BAD_FILES)
def test_a_file_outside_the_grammar_is_refused_by_parameter_and_reason(tmp_path, entry, message):
    file = tmp_path / "node.yaml"
    file.write_text(yaml.safe_dump({"node": {"gain": entry}}))
    with pytest.raises(ParameterError) as error:
        load_parameter_specs(file)
    assert "gain" in str(error.value) and message in str(error.value)


@pytest.mark.parametrize("text", ["", "a: {}\nb: {}\n", "- a\n", "a: [\n", "a: 3\n"])
def test_a_file_without_one_parameter_set_is_refused_by_name(tmp_path, text):
    file = tmp_path / "node.yaml"
    file.write_text(text)
    with pytest.raises(ParameterError, match=r"node\.yaml: "):
        load_parameter_specs(file)


@pytest.fixture
def specs(tmp_path: Path) -> dict[str, ParameterSpec]:
    file = tmp_path / "node.yaml"
    label = {"type": "string", "default_value": "a", "description": "A label", "read_only": True}
    file.write_text(yaml.safe_dump({"node": {"gain": {**GOOD, "validation": {"lt<>": [5.0]}}, "label": label}}))
    return load_parameter_specs(file)


def test_a_file_gives_every_part_of_a_spec(specs):
    gain, label = specs["gain"], specs["label"]
    assert (gain.type, gain.default, gain.unit, gain.read_only, gain.constraints) == (
        "double", 1.0, "N/m", False, "below 5"
    )  # fmt: skip
    assert (label.type, label.default, label.unit, label.read_only) == ("string", "a", "", True)


def test_an_unknown_parameter_is_refused_with_the_names_that_exist(specs):
    with pytest.raises(ParameterError, match=r"^parameter gian: unknown, expected one of gain, label$"):
        check_all(specs, {"gian": 2.0})


def test_check_all_adds_the_defaults(specs):
    assert check_all(specs, {"gain": 2}) == {"gain": 2.0, "label": "a"}


def test_nested_parameters_replace_entries_of_their_list_in_their_order():
    entries = ParameterSpec("device_parameters", "string_array", ["c=1"], "Entries", "", nested="device_values")
    specs = {entries.name: entries}
    given = {f"device_values.{name}": k for k, name in enumerate("zyxwvu")}
    assert fold_nested(specs, given, {entries.name: ["z=9", "a=8"]}) == {
        entries.name: ["a=8", "z=0", "y=1", "x=2", "w=3", "v=4", "u=5"]
    }
    assert check_all(specs, {"device_values.c": 2}) == {entries.name: ["c=2"]}
    with pytest.raises(ParameterError, match=r"^parameter device_parameters: expected a list, got 5$"):
        check_all(specs, {"device_values.c": 2, entries.name: 5})


def test_check_all_is_whole_or_nothing(specs):
    given_values = {"label": "b", "gain": 6.0}
    with pytest.raises(ParameterError, match=r"gain: expected below 5 \[N/m\], got 6.0"):
        check_all(specs, given_values)
    assert given_values == {"label": "b", "gain": 6.0}
    assert check_all(specs, {}) == {"gain": 1.0, "label": "a"}


def test_the_parameter_files_of_the_suite_are_found():
    names = {file.name for file in parameter_files()}
    assert {"rendering_node.yaml", "friction_node.yaml", "device_node.yaml", "recorder.yaml"} <= names


@pytest.mark.parametrize("file", parameter_files(), ids=lambda file: file.name)
def test_defaults_satisfy_their_own_validation_and_every_number_has_a_unit(file):
    specs = load_parameter_specs(file)
    assert check_all(specs, {}) == {name: spec.default for name, spec in specs.items()}
    for name, each in specs.items():
        is_number = each.type.removesuffix("_array") in ("double", "int")
        assert bool(each.unit.strip()) == is_number, name
        assert each.description.removesuffix(f"[{each.unit}]").strip(), name


@pytest.mark.parametrize("file", parameter_files(), ids=lambda file: file.name)
def test_every_single_number_is_bounded(file):
    numbers = [spec for spec in load_parameter_specs(file).values() if spec.type in ("double", "int")]
    assert [spec.name for spec in numbers if not spec.validation] == []
