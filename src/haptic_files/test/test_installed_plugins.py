"""Entry points of installed packages: found by name or value, and loaded with an error in one line."""

from pathlib import Path

import pytest

from haptic_files.plugins import find_plugin, installed_plugins, load_plugin, load_plugins

GROUP = "haptic_test_plugins"


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "faulty_lab.py").write_text("raise RuntimeError('no\\nlicence')\n")
    info = tmp_path / "lab-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lab\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\nroot = math:sqrt\nfaulty = faulty_lab:make\n")
    monkeypatch.syspath_prepend(str(tmp_path))


def test_plugins_are_sorted_by_name() -> None:
    assert list(installed_plugins(GROUP)) == ["faulty", "root"]


@pytest.mark.parametrize("name", ["root", "math:sqrt"])
def test_plugin_is_found_by_name_and_by_value(name: str) -> None:
    point = find_plugin(GROUP, name)
    assert point is not None and load_plugin(point, ValueError)(4.0) == 2.0


def test_unknown_plugin_is_not_found() -> None:
    assert find_plugin(GROUP, "square") is None


@pytest.mark.parametrize(("field", "prefix"), [("", ""), ("parameter motion: faulty", "parameter motion: faulty: ")])
def test_plugin_that_cannot_be_imported_is_refused_in_one_line(field: str, prefix: str) -> None:
    with pytest.raises(LookupError) as refused:
        load_plugin(installed_plugins(GROUP)["faulty"], LookupError, field)
    assert refused.value.args == (f"{prefix}faulty_lab:make cannot be loaded: RuntimeError: no licence",)


def test_plugins_of_a_group_are_loaded_and_one_that_fails_is_its_error() -> None:
    loaded = load_plugins(GROUP, LookupError)
    assert list(loaded) == ["faulty", "root"] and loaded["root"](4.0) == 2.0
    assert str(loaded["faulty"].args[0]).startswith("faulty_lab:make cannot be loaded: ")
