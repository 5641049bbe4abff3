"""Small files on a full disk: the error names the file."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from haptic_files import naming_file, write_text


def test_full_disk_names_the_file(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.symlink_to("/dev/full")
    with pytest.raises(OSError) as raised:
        write_text(file, "experiment: touch\n")
    assert (raised.value.errno, raised.value.filename) == (errno.ENOSPC, str(file))


def test_error_that_names_another_file_keeps_it(tmp_path: Path) -> None:
    missing = tmp_path / "missing" / "file"
    with pytest.raises(FileNotFoundError) as raised, naming_file(tmp_path / "figure.png"):
        missing.read_text()
    assert raised.value.filename == str(missing)
