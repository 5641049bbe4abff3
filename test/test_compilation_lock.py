"""When two processes need the same kernel at the same time, one of them compiles it, and the other reads it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

MODULE = """
from numba import njit


@njit(cache=True)
def inner(x):
    return x + 1


@njit(cache=True)
def outer(x):
    return inner(x) + inner(3)
"""

PROCESS = """
import sys
from compilation_lock import compile_in_one_process

compile_in_one_process()
import kernels

print("ready", flush=True)
sys.stdin.readline()
assert kernels.outer(3.0) == 8.0
print(sum(sum(f.stats.cache_misses.values()) for f in (kernels.outer, kernels.inner)))
"""


def test_one_process_compiles_and_the_other_reads_the_cache(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(MODULE)
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen([sys.executable, "-c", PROCESS], env=environment, **pipes) for _ in range(2)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:  # both are imported, so that they begin at the same time
        process.stdin.write("go\n")
        process.stdin.flush()
    misses = [int(process.communicate()[0]) for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    # outer, and inner for a float and an integer: each compiled once, in either process
    assert sum(misses) == 3, misses
