"""The traceback of an interrupted start is not shown, any other is."""

from __future__ import annotations

from haptic_launch.processes import InterruptFilter

TRACE = ["Traceback (most recent call last):", '  File "a.py", line 1', "    import numpy"]


def test_the_traceback_of_an_interrupt_is_dropped_also_across_calls() -> None:
    kept = InterruptFilter()
    assert kept.keep(["before", *TRACE[:2]]) == ["before"]
    assert kept.keep([TRACE[2], "KeyboardInterrupt"], last=True) == []


def test_an_import_s_error_about_the_interrupt_is_dropped_with_it() -> None:
    chain = ["", "During handling of the above exception, another exception occurred:", "", *TRACE, "ImportError: no"]
    assert InterruptFilter().keep([*TRACE, "KeyboardInterrupt", *chain], last=True) == []


def test_an_interrupt_within_an_extension_module_has_no_traceback_of_its_own() -> None:
    chain = [
        "KeyboardInterrupt",
        "",
        "The above exception was the direct cause of the following exception:",
        "",
        *TRACE,
    ]
    assert InterruptFilter().keep(["before", *chain, "ImportError: initialization failed"], last=True) == ["before"]


def test_any_other_traceback_is_shown_whole_and_in_order() -> None:
    lines = [*TRACE, "ValueError: no", "after"]
    assert InterruptFilter().keep(lines, last=True) == lines


def test_a_traceback_that_is_cut_off_is_shown_at_the_end() -> None:
    assert InterruptFilter().keep(TRACE, last=True) == TRACE


def test_an_interrupted_start_of_the_interpreter_is_recognised_and_not_shown() -> None:
    kept = InterruptFilter()
    lines = ["before", "Fatal Python error: init_import_site: Failed to import the site module", "KeyError: 'x'"]
    assert kept.keep(lines, last=True) == ["before"]
    assert kept.start_interrupted
