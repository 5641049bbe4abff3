"""Where packages keep what takes long to make."""

from __future__ import annotations

from pathlib import Path

import pytest

from haptic_files import cache_folder


def test_the_user_cache_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOME_PACKAGE_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder("some_package") == tmp_path / "some_package"
    assert (tmp_path / "some_package").stat().st_mode & 0o077 == 0  # no other user writes it


def test_a_variable_names_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_PACKAGE_CACHE_DIR", str(tmp_path / "own"))
    assert cache_folder("some_package") == tmp_path / "own"


def test_folder_is_temporary_if_neither_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("SOME_PACKAGE_CACHE_DIR", str(tmp_path / "file" / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    found = cache_folder("some_package")
    assert found.is_dir() and found == cache_folder("some_package")
