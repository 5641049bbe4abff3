"""Controls of parameters on the page: kinds, limits, changes and refusals."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rcl_interfaces.msg import ParameterDescriptor
from recorded_gui import Gui

from haptic_core.parameters import ParameterSpec, limits_in, load_parameter_specs
from haptic_viewer.parameters import ParameterPanel, control_of
from haptic_viewer.services import QueuedValues

SOURCES = Path(__file__).parents[2]
FILES = sorted(path for path in SOURCES.glob("*/*/*_node.yaml"))
SPECS = [(path.stem, spec) for path in FILES for spec in load_parameter_specs(path).values()]
each_spec = pytest.mark.parametrize(("file", "spec"), SPECS, ids=[f"{file}-{spec.name}" for file, spec in SPECS])


def descriptor(spec: ParameterSpec) -> ParameterDescriptor:
    """As `SuiteNode` declares it."""
    return ParameterDescriptor(
        name=spec.name,
        description=spec.description,
        additional_constraints=spec.constraints,
        read_only=spec.read_only,
    )


@each_spec
def test_a_control_takes_what_the_node_takes(file: str, spec: ParameterSpec) -> None:
    control = control_of(descriptor(spec), spec.default)
    assert (
        control.disabled == spec.read_only and spec.description in control.hint and control.hint.startswith(spec.name)
    )
    if spec.unit not in ("", "-"):
        assert control.label.endswith(f"[{spec.unit}]")
    kinds = {
        "bool": {"checkbox"},
        "string": {"text", "choice"},
        "double": {"slider", "number"},
        "int": {"slider", "number"},
    }
    assert control.kind in kinds.get(spec.type, {"text"})
    if control.kind == "choice":
        (listed,) = spec.validation["one_of<>"]
        assert list(control.choices) == listed
    if "bounds<>" in spec.validation and not spec.type.endswith("_array"):
        low, high = spec.validation["bounds<>"]
        assert limits_in(spec.constraints)[:2] == (pytest.approx(low, rel=1e-5), pytest.approx(high, rel=1e-5))
        assert control.low >= low - 1e-5 * abs(low) and control.high <= high + 1e-5 * abs(high)  # six digits
    if control.kind == "slider":
        assert control.low <= spec.default <= control.high and 0.0 < control.step <= (control.high - control.low) / 50
        for value in (control.low, control.high):
            spec.check(int(value) if spec.type == "int" else value)  # nothing that the node refuses


def test_wide_bounds_make_a_slider_round_the_value_and_narrow_ones_a_whole_one() -> None:
    about = ParameterDescriptor(name="gain", description="a gain [N/m]", additional_constraints="from 0 to 1e+07")
    wide = control_of(about, 500.0)
    assert (wide.kind, wide.low, wide.high, wide.step, wide.label) == ("slider", 0.0, 2000.0, 10.0, "gain [N/m]")
    about.additional_constraints = "from -1 to 1"
    narrow = control_of(about, 0.5)
    assert (narrow.kind, narrow.low, narrow.high) == ("slider", -1.0, 1.0)
    about.additional_constraints = "above 0"
    assert control_of(about, 0.0).kind == "number"  # from zero no width follows
    assert control_of(about, 3).step == 1.0


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", (-np.inf, np.inf, ())),
        ("from 1e-07 to 0.01", (1e-7, 0.01, ())),
        ("above 2 and 9 or less", (2.0, 9.0, ())),
        ("3 or more and below 4", (3.0, 4.0, ())),
        ("one of a, b, c and not empty", (-np.inf, np.inf, ("a", "b", "c"))),
        ("entries from 0 to 1", (-np.inf, np.inf, ())),
    ],
)
def test_bounds_and_choices_are_read_from_the_words(words: str, expected: Any) -> None:
    assert limits_in(words) == expected


def change(item: Any, value: Any) -> None:
    """What viser does when a user has changed an input."""
    item.value = value
    with pytest.raises(StopIteration):
        item.changed(SimpleNamespace(client="somebody", target=item)).send(None)


@pytest.fixture
def panel() -> tuple[ParameterPanel, Gui, list[tuple[str, Any]]]:
    gui, changes = Gui(), list[tuple[str, Any]]()
    made = ParameterPanel(gui, "friction", lambda name, value: changes.append((name, value)))  # type: ignore[arg-type]
    folder = SOURCES / "haptic_friction" / "haptic_friction"
    specs = load_parameter_specs(folder / "friction_node.yaml")
    made.show([descriptor(spec) for spec in specs.values()], {name: spec.default for name, spec in specs.items()})
    return made, gui, changes


def test_a_panel_has_a_control_for_every_parameter_and_passes_changes_on(panel: Any) -> None:
    _, gui, changes = panel
    assert len(gui.made) == len(load_parameter_specs(SOURCES / "haptic_friction/haptic_friction/friction_node.yaml"))
    assert gui.made["model"].disabled and gui.made["model"].method == "add_dropdown"
    slider = gui.made["friction force [N]"]
    assert not slider.disabled and (slider.min, slider.max, slider.value) == (0.0, 100.0, 4.0)
    change(slider, 3.0)
    change(gui.made["law"], "stribeck")
    assert changes == [("friction_force", 3.0), ("law", "stribeck")]


def test_value_set_by_the_server_is_no_change_of_a_user(panel: Any) -> None:
    _, gui, changes = panel
    slider = gui.made["friction force [N]"]
    with pytest.raises(StopIteration):
        slider.changed(SimpleNamespace(client=None, target=slider)).send(None)
    assert changes == []


def test_a_refusal_is_shown_and_the_value_that_counts_comes_back(panel: Any) -> None:
    made, gui, _ = panel
    slider = gui.made["friction force [N]"]
    slider.value = 90.0
    made.refuse("friction_force", "static_force: expected 90 or more")
    assert gui.answer.visible and "static_force: expected 90 or more" in gui.answer.content and slider.value == 4.0
    made.take("friction_force", 5.0)
    assert ">friction_force is 5.0 now<" in gui.answer.content and slider.value == 5.0


def test_a_value_beyond_the_slider_that_came_otherwise_widens_it(panel: Any) -> None:
    made, gui, _ = panel
    slider = gui.made["stiffness [N/m]"]
    assert slider.max < 1e6
    made.take("stiffness", 1e6)
    assert slider.value == slider.max == 1e6
    made.take("nothing of this node", 1.0)


@pytest.mark.parametrize("value", ["5.0", "<b>", None, True, [1.0], {}])
def test_a_value_of_another_type_is_not_shown(panel: Any, value: Any) -> None:
    made, gui, _ = panel
    with pytest.raises(ValueError, match=r"parameter friction_force: expected a value such as 4\.0, got "):
        made.take("friction_force", value)
    assert gui.made["friction force [N]"].value == 4.0 and not gui.answer.visible
    made.take("friction_force", 5)
    assert gui.made["friction force [N]"].value == 5


def test_text_becomes_what_the_parameter_is(panel: Any) -> None:
    made, *_ = panel
    assert made.value_of("force_tensor", "[4, 0.5, 0.5, 2]") == [4.0, 0.5, 0.5, 2.0]
    assert made.value_of("law_file", "a.csv") == "a.csv" and made.value_of("stiffness", 3) == 3.0
    for text in ("[4, 0", "4.0", ""):
        with pytest.raises(ValueError, match=r"force_tensor: expected a list such as \[4.0, 0.0, 0.0, 2.0\], got"):
            made.value_of("force_tensor", text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"[{10**400}]", "a number is too large for 64 bits"),
        (f"[{'9' * 5000}]", "expected a list such as"),
        ("[" * 100_000, "expected a list such as"),
    ],
)
def test_list_whose_numbers_no_parameter_holds_is_refused_on_the_page(panel: Any, text: str, reason: str) -> None:
    made, gui, _ = panel
    calls: list[Any] = []
    services = SimpleNamespace(call=lambda *call: calls.append(call))
    queued = QueuedValues(services, {"friction": made}, calls.append)  # type: ignore[arg-type]
    queued.queue("friction", "force_tensor", text)
    queued.send()
    assert not calls and gui.answer.visible
    assert reason in gui.answer.content and len(gui.answer.content) < 1000


def test_integer_beyond_64_bits_is_refused_on_the_page(panel: Any) -> None:
    made, gui, _ = panel
    made._values["force_tensor"] = [1]
    queued = QueuedValues(SimpleNamespace(), {"friction": made}, print)  # type: ignore[arg-type]
    queued.queue("friction", "force_tensor", f"[{2**63}]")
    queued.send()
    assert "a number is too large for 64 bits" in gui.answer.content
