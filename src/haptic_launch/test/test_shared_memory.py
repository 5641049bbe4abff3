"""Segments of Fast DDS that a killed process has left."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest
from small_processes import run, spec

from haptic_launch import processes
from haptic_launch.shared_memory import remove_abandoned

LONG_AGO = (1e9, 1e9)


def segment(folder: Path, name: str, *, young: bool = False, prefix: str = "fastrtps") -> Path:
    for path in (folder / f"{prefix}_{name}", folder / f"{prefix}_{name}_el"):
        path.write_bytes(b"x")
        if not young:
            os.utime(path, LONG_AGO)
    return folder / f"{prefix}_{name}"


@pytest.mark.parametrize("prefix", ["fastrtps", "fastdds"])
def test_only_unused_shared_memory_is_removed(prefix: str, tmp_path: Path) -> None:
    left = segment(tmp_path, "0123456789abcdef", prefix=prefix)
    held, port = (segment(tmp_path, name, prefix=prefix) for name in ("held", "port7411"))
    young = segment(tmp_path, "y", young=True, prefix=prefix)
    (tmp_path / "other_el").write_bytes(b"")
    with (tmp_path / f"{prefix}_held_el").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert remove_abandoned(tmp_path) == [left.name]
    assert not left.exists() and not Path(f"{left}_el").exists()
    assert all(path.exists() and Path(f"{path}_el").exists() for path in (held, port, young))
    assert (tmp_path / "other_el").exists()


def test_a_link_to_another_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"kept")
    os.utime(tmp_path / "target", LONG_AGO)
    (tmp_path / "fastrtps_1_el").symlink_to(tmp_path / "target")
    assert remove_abandoned(tmp_path) == []
    assert (tmp_path / "target").read_bytes() == b"kept"


@pytest.mark.parametrize(("program", "swept"), [("import os; os.kill(os.getpid(), 9)", 1), ("raise SystemExit(1)", 0)])
def test_a_run_looks_for_it_when_a_process_was_killed(
    program: str, swept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[None] = []
    monkeypatch.setattr(processes, "remove_abandoned", lambda: calls.append(None))
    run([spec("node", program)])
    assert len(calls) == swept
