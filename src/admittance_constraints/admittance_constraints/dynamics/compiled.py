"""CasADi functions as machine code: generated C, compiled once by the system's compiler and cached by content.

The file name is the SHA-256 of source, compiler and options, in `$ADMITTANCE_CONSTRAINTS_CACHE_DIR` or the user's cache
(:func:`~haptic_files.cache_folder`). Without a compiler the same function runs in CasADi's virtual machine: the numbers
agree to rounding, and a step takes longer.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
import os
import shutil
import subprocess
import tempfile
import warnings
from pathlib import Path

import casadi as ca
import numpy as np

from admittance_constraints.errors import ConstraintError
from haptic_files import cache_folder

#: -ffp-contract=off: the same numbers on processors with and without fused multiply-add
_OPTIONS = ("-O1", "-fPIC", "-shared", "-Wl,-Bsymbolic", "-ffp-contract=off", "-w")

_DRIVER = """
/* Runs the step over rows of inputs; returns the number of good steps. state is in and out. */
long long constrained_simulate(long long n, const double** arg, double** res, long long* iw, double* w,
                   double* state, const double* start, const double* end, double* results, long long every) {{
  long long k, i;
  for (k = 0; k < n; ++k) {{
    arg[0] = state; arg[1] = start + {inputs} * k; arg[2] = end + {inputs} * k;
    if (constrained_step(arg, res, iw, w, 0)) break;
    if (!(res[1][{checksum}] - res[1][{checksum}] == 0.0) || !(res[1][{health}] > {threshold})) break;
    for (i = 0; i < {states}; ++i) state[i] = res[0][i];
    if ((k + 1) % every == 0) {{
      for (i = 0; i < {outputs}; ++i) results[i] = res[1][i];
      results += {outputs};
    }}
  }}
  return k;
}}
"""


class NoCompilerError(ConstraintError, RuntimeError):
    """No C compiler is found, or it failed."""


def build_library(source: str) -> Path:
    """Compiles a C source to a shared library, or finds it in the cache; returns its path.

    Raises:
        NoCompilerError: no compiler is found, or it failed; the message has the first line of its output.
    """
    compiler = os.environ.get("CC", "").split() or [name for name in ("cc", "gcc", "clang") if shutil.which(name)][:1]
    if not compiler or shutil.which(compiler[0]) is None:
        raise NoCompilerError("no C compiler found (cc, gcc, clang, or the variable CC)")
    key = hashlib.sha256("\0".join([*compiler, *_OPTIONS, os.uname().machine, source]).encode()).hexdigest()
    directory = cache_folder("admittance_constraints")
    library = directory / f"{key}.so"
    if library.exists():
        return library
    with tempfile.TemporaryDirectory(dir=directory) as work:  # other processes may compile the same now
        path, made = Path(work) / "step.c", Path(work) / "step.so"
        path.write_text(source)
        command = [*compiler, *_OPTIONS, "-o", str(made), str(path), "-lm"]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True)
        except (OSError, subprocess.CalledProcessError) as error:
            output = getattr(error, "stderr", None) or str(error)
            raise NoCompilerError(f"{compiler[0]} failed: {output.strip().splitlines()[0]}") from None
        made.replace(library)
    return library


class Step:
    """A step function (state, start input, end input, parameters) -> (new state, result) with fixed buffers.

    Args:
        function: the CasADi function; all four inputs and both outputs dense columns.
        checksum, health: indices of the result; after a good step the first is finite, the second above `threshold`.
        threshold: smallest health of a good step.
        compiled: false runs in CasADi's virtual machine.

    Attributes:
        state, start, end, parameters: input buffers; the caller writes them before `run`.
        new_state, result: output buffers, overwritten by `run`.
        is_compiled: true if machine code runs.
    """

    def __init__(self, function: ca.Function, *, checksum: int, health: int, threshold: float, compiled: bool) -> None:
        self.function = function
        self.checksum, self.health, self.threshold = checksum, health, threshold
        self.state, self.start, self.end, self.parameters = (np.zeros(function.numel_in(i)) for i in range(4))
        self.new_state, self.result = (np.zeros(function.numel_out(i)) for i in range(2))
        self.is_compiled = False
        if compiled:
            try:
                self._load(build_library(self._source()))
                self.is_compiled = True
            except (NoCompilerError, OSError) as error:
                warnings.warn(f"{error}; steps run in CasADi's virtual machine, which is slower", stacklevel=3)
        if not self.is_compiled:
            self._use_virtual_machine()

    def run(self) -> None:
        """Evaluates the function on the buffers."""
        self._run()

    def simulate(self, state: np.ndarray, start: np.ndarray, end: np.ndarray, every: int) -> tuple[int, np.ndarray]:
        """Runs over rows of inputs and advances `state` in place, up to the first bad step.

        Returns:
            Number of good steps, and the results of each `every`-th step.
        """
        n = len(start)
        results = np.empty((n // every, len(self.result)))
        if self.is_compiled:
            good = self._library.constrained_simulate(
                n, self._arg, self._res, self._iw, self._w, _address(state), _address(start), _address(end),
                _address(results), every,
            )  # fmt: skip
            self._arg[0], self._arg[1], self._arg[2] = (
                self.state.ctypes.data,
                self.start.ctypes.data,
                self.end.ctypes.data,
            )
            return int(good), results
        for k in range(n):
            self.state[:], self.start[:], self.end[:] = state, start[k], end[k]
            self.run()
            if not self.is_good():
                return k, results
            state[:] = self.new_state
            if (k + 1) % every == 0:
                results[(k + 1) // every - 1] = self.result
        return n, results

    def is_good(self) -> bool:
        """Returns whether the last `run` has given finite numbers, from equations that are not singular."""
        return math.isfinite(self.result[self.checksum]) and bool(self.result[self.health] > self.threshold)

    def _source(self) -> str:
        generator = ca.CodeGenerator("step.c", {"with_header": False, "casadi_int": "long long int"})
        generator.add(self.function)
        driver = _DRIVER.format(
            inputs=len(self.start), checksum=self.checksum, health=self.health, threshold=repr(self.threshold),
            states=len(self.state), outputs=len(self.result),
        )  # fmt: skip
        return str(generator.dump()) + driver

    def _load(self, path: Path) -> None:
        library = ctypes.CDLL(str(path))
        pointers = ctypes.POINTER(ctypes.c_void_p)
        integers, reals = ctypes.POINTER(ctypes.c_longlong), ctypes.POINTER(ctypes.c_double)
        library.constrained_step.argtypes = [pointers, pointers, integers, reals, ctypes.c_int]
        library.constrained_step.restype = ctypes.c_int
        library.constrained_simulate.argtypes = [
            ctypes.c_longlong, pointers, pointers, integers, reals, *[ctypes.c_void_p] * 4, ctypes.c_longlong
        ]  # fmt: skip
        library.constrained_simulate.restype = ctypes.c_longlong
        f = self.function
        inputs = (self.state, self.start, self.end, self.parameters)
        self._arg = (ctypes.c_void_p * max(f.sz_arg(), 4))(*[a.ctypes.data for a in inputs])
        self._res = (ctypes.c_void_p * max(f.sz_res(), 2))(self.new_state.ctypes.data, self.result.ctypes.data)
        self._iw = (ctypes.c_longlong * max(f.sz_iw(), 1))()
        self._w = (ctypes.c_double * max(f.sz_w(), 1))()
        self._library = library
        call, arg, res, iw, w = library.constrained_step, self._arg, self._res, self._iw, self._w

        def run() -> None:
            call(arg, res, iw, w, 0)

        self._run = run

    def _use_virtual_machine(self) -> None:
        self._buffer, self._run = self.function.buffer()
        for i, array in enumerate((self.state, self.start, self.end, self.parameters)):
            self._buffer.set_arg(i, array.data)
        for i, array in enumerate((self.new_state, self.result)):
            self._buffer.set_res(i, array.data)


def _address(array: np.ndarray) -> int:
    assert array.flags.c_contiguous and array.dtype == float
    return int(array.ctypes.data)
