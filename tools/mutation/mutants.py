"""Alters places of the code one at a time, runs the tests of their package, and prints the alterations that survive.

    ./haptics exec python tools/mutation/mutants.py choose 60 src/haptic_friction/haptic_friction > places.jsonl
    ./haptics exec python tools/mutation/mutants.py try places.jsonl tools/mutation/tried.jsonl

Run the script in a separate clone: it alters files in place and restores them. `choose` takes at most one place of each
function, at random, and none in functions that only draw. `claims 60` takes only functions of the reports that contain
claims, and the limits of their files. `tried.jsonl` keeps each alteration and the test that failed first, so that a run
can be continued and survivors are not lost. docs/mutation.md has for each survivor the test that was added, or the
reason why the alteration has no effect.

The test files nearest to the place run, in this order: those that name its function or class, those that have the
module's name, those that import it. Each run is a fork of one process that has loaded the package; it loads the
altered module again with all modules that import it. Their kernels are compiled again, because Numba does not detect a
change of a function that it compiled into another. That takes minutes in the contact simulator. With
NUMBA_DISABLE_JIT=1 the kernels run in plain Python, and a test that also fails there without alteration is left out. A
place whose tests used up their processor time is kept as survived "within the limit".
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import interpreted
import numba
import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src"
#: functions and files that only draw or describe
DRAWS = re.compile(
    r"figure|draw|plot|_curves|_marks|_maps|_surfaces|caption|axes|panel|__repr__|moved|old_paths|view/|/data/", re.I
)
#: processor time after which no further test of a place runs, and time after which one test counts as hanging [s]
LIMIT, HANGS = 60, 240
#: test files that run
NEAREST = 6
#: file of the tried alterations, and seed of the choice
KEPT, SEED = Path(__file__).with_name("tried.jsonl"), 2
REPORTS = "src/haptic_experiments/haptic_experiments"
#: tests that fail in plain Python
left_out: set[str] = set()
#: tests that run
DEFAULT_TIER = "not experiment and not fuzz and not realtime and not study and not slow"
#: text of a function of a report that contains claims
CLAIMS = re.compile("claim|verdict", re.I)
_OPERATORS: dict[type, tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
    ast.FloorDiv: ("//", "/"),
}
_COMPARISONS: dict[type, tuple[str, tuple[str, ...]]] = {
    ast.Lt: ("<", ("<=", ">")),
    ast.LtE: ("<=", ("<", ">")),
    ast.Gt: (">", (">=", "<")),
    ast.GtE: (">=", (">", "<")),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
}
_FUNCTIONS = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "sin": "cos", "cos": "sin"}


@dataclass(frozen=True)
class Place:
    """A place of a file and its alteration.

    Attributes:
        file: path below the root.
        function: name of the function, with the enclosing functions and classes.
        line: line in the file.
        start: first byte in the file.
        old, new: texts before and after the alteration.
    """

    file: str
    function: str
    line: int
    start: int
    old: str
    new: str


class _Finder(ast.NodeVisitor):
    """Collects signs, factors, operators and limits; leaves out indices, messages, annotations and imports."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.bytes = file, text.encode()
        self.places: list[Place] = []
        self._around: list[str] = []
        lengths = [len(line.encode()) for line in text.splitlines(keepends=True)]
        self._starts = [sum(lengths[:k]) for k in range(len(lengths))]

    def _add(self, node: ast.AST, start: int, end: int, new: str) -> None:
        line = int(getattr(node, "lineno", 0))
        old = self.bytes[start:end].decode()
        self.places.append(Place(self.file, ".".join(self._around), line, start, old, new))

    def _span(self, node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        start = self._starts[node.lineno - 1] + node.col_offset
        return start, self._starts[node.end_lineno - 1] + node.end_col_offset

    def _between(self, node: ast.AST, left: ast.expr, right: ast.expr, old: str, new: tuple[str, ...]) -> None:
        """Adds a token between two operands, if it occurs there once."""
        start, end = self._span(left)[1], self._span(right)[0]
        text = self.bytes[start:end].decode()
        if text.count(old) == 1 and "#" not in text:
            first = start + len(text[: text.index(old)].encode())
            for word in new:
                self._add(node, first, first + len(old), word)

    def _enter(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self._around.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self._around.pop()

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _enter  # noqa: N815

    def _leave_out(self, node: ast.AST) -> None:
        """Skips the node and its children."""

    visit_Raise = visit_Assert = visit_JoinedStr = visit_Import = visit_ImportFrom = _leave_out  # noqa: N815

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit(node.value)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        text = any(isinstance(side, ast.Constant) and isinstance(side.value, str) for side in (node.left, node.right))
        if type(node.op) in _OPERATORS and not text:
            old, new = _OPERATORS[type(node.op)]
            self._between(node, node.left, node.right, old, (new,))
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        self._between(node, node.values[0], node.values[1], old, (new,))
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        start, _ = self._span(node)
        if isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
            self._add(node, start, start + 1, "+")
        if isinstance(node.op, ast.Not):
            self._add(node, start, start + 3, "   ")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, kind, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
            if type(kind) in _COMPARISONS:
                old, new = _COMPARISONS[type(kind)]
                self._between(node, left, right, old, new)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, float) and node.value:
            self._add(node, *self._span(node), repr(2.0 * node.value))

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in _FUNCTIONS:
            end = self._span(node.func)[1]
            self._add(node, end - len(name), end, _FUNCTIONS[name])
        self.generic_visit(node)


def _finder(file: str) -> _Finder:
    finder = _Finder(file, (ROOT / file).read_text(encoding="utf-8"))
    finder.visit(ast.parse(finder.bytes))
    return finder


def _claim_functions(file: str) -> set[str]:
    """Finds the names of a file's functions that contain claims; the empty name stands for the limits of the file."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    found = {node.name for node in functions if CLAIMS.search(ast.unparse(node))}
    return {*found, ""} if found else found


def choose(
    count: int, folders: list[str], done: set[tuple[str, str]], seed: int, *, claims: bool = False
) -> list[Place]:
    """Chooses places at random, at most one of each function, and none of the functions `done`."""
    found = []
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            file = str(path.relative_to(ROOT))
            claiming = _claim_functions(file)
            for place in _finder(file).places:
                wanted = not claims or place.function.rpartition(".")[2] in claiming
                if wanted and not DRAWS.search(f"{file} {place.function}"):
                    found.append(place)
    random.Random(seed).shuffle(found)
    once = {(place.file, place.function): place for place in found if (place.file, place.function) not in done}
    return list(once.values())[:count]


def _importing(stems: set[str]) -> re.Pattern[str]:
    """Makes a pattern of imports of modules, also with names in brackets over several lines."""
    return re.compile(rf"^\s*(from|import)\b[^(\n]*(\([^)]*)?\b({'|'.join(map(re.escape, stems))})\b", re.M)


def _name(path: Path) -> str:
    """Returns the name by which a module is imported: that of its file, or of its folder if it is a package."""
    return path.parent.name if path.stem == "__init__" else path.stem


def _nearness(place: Place, test: Path, importing: re.Pattern[str]) -> float:
    """Computes a score of a test file for a place: it names the function, has the module's name, or imports it."""
    text, stem = test.read_text(encoding="utf-8"), _name(Path(place.file)).strip("_")
    words = [word.strip("_") for word in place.function.split(".") if len(word) > 3 and word != "__init__"]
    named = sum(bool(re.search(rf"\b_?{re.escape(word)}\b", text)) for word in words)
    alike = stem in test.stem or test.stem.removeprefix("test_") in stem
    imports = bool(_importing({stem}).search(text))
    return 3.0 * named + 2.0 * alike + 2.0 * imports + 0.5 * bool(importing.search(text))


def tests_of(place: Place) -> list[str]:
    """Returns the test files of the package nearest to a place; for a report only those that import it."""
    importing = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in set(dependents(place.file))))
    files = sorted((SOURCES / Path(place.file).parts[1] / "test").glob("test_*.py"))
    ranked = sorted(files, key=lambda test: -_nearness(place, test, importing))
    if place.file.startswith(REPORTS):
        imported = _importing({_name(Path(place.file))})
        ranked = [test for test in ranked if imported.search(test.read_text(encoding="utf-8"))] or ranked
    return [str(test) for test in ranked[:NEAREST]]


def dependents(file: str) -> Iterator[str]:
    """Yields the names of the modules that import a file, directly or not, and its own name."""
    names = {str(path): _name(path) for path in SOURCES.rglob("*.py") if "/test/" not in str(path)}
    texts = {path: Path(path).read_text(encoding="utf-8") for path in names}
    reached, fresh = set[str](), {str(ROOT / file)}
    while fresh:
        reached |= fresh
        pattern = _importing({names[path] for path in fresh})
        fresh = {path for path, text in texts.items() if path not in reached and pattern.search(text)}
    yield from {names[path] for path in reached}


def _load(package: str) -> None:
    """Loads the modules of a package, so that the runs need not load them."""
    for path in sorted((SOURCES / package / package).rglob("*.py")):
        name = ".".join(path.relative_to(SOURCES / package).with_suffix("").parts).removesuffix(".__init__")
        try:
            importlib.import_module(name)
        except ImportError as error:
            print(f"not loaded before the runs: {name}: {error}", file=sys.stderr)


def _forget(names: set[str]) -> None:
    """Removes modules from `sys.modules`, so that they are loaded again."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        if file.startswith(str(SOURCES)) and Path(file).stem in names:
            del sys.modules[name]
            package, _, short = name.rpartition(".")
            vars(sys.modules.get(package, module)).pop(short, None)


def _spent(process: int) -> float:
    """Returns the processor time of a process [s]."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _run(files: list[str], changed: set[str], cache: str, output: IO[str]) -> int | None:
    """Runs test files in a fork that loads the `changed` modules again; returns its exit code, None after `LIMIT`."""
    child = os.fork()
    if not child:
        code = 1
        try:
            os.setpgid(0, 0)
            os.chdir(ROOT)
            os.environ["NUMBA_CACHE_DIR"] = numba.config.CACHE_DIR = cache
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            _forget(changed)
            options = ["-x", "-q", f"--timeout={HANGS}", "-p", "no:cacheprovider", "-m", DEFAULT_TIER]
            code = int(pytest.main([*options, *(f"--deselect={test}" for test in left_out), *files]))
        finally:
            os._exit(code)
    while _spent(child) < LIMIT:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def fate(place: Place) -> tuple[str, str]:
    """Runs the tests with the place altered; returns "seen", "survived" or "hangs", and the test that failed."""
    path, changed = ROOT / place.file, set(dependents(place.file))
    before, stat = path.read_bytes(), path.stat()
    end = place.start + len(place.old.encode())
    if before[place.start : end].decode() != place.old:
        raise SystemExit(f"{place.file} is not what the place was chosen from; choose anew")
    base = Path(os.environ["NUMBA_CACHE_DIR"])
    compiled = b"njit" in before and base.exists() and not numba.config.DISABLE_JIT
    cache = base.with_name(f"altered_{os.getpid()}") if compiled else base
    if compiled:
        shutil.copytree(base, cache, copy_function=os.link)
        for kept in [kept for name in changed for kept in cache.rglob(f"{name}.*.nb*")]:
            kept.unlink()
    altered = before[: place.start] + place.new.encode() + before[end:]
    try:
        while True:
            path.write_bytes(altered)
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 10**9 * (place.start + 1)))  # bytecode goes by it
            found, test = _tried(tests_of(place), changed, str(cache))
            if found != "seen" or not numba.config.DISABLE_JIT or "::" not in test or test in left_out:
                return found, test.rpartition("/test/")[2][:120]
            path.write_bytes(before)
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
            if _tried([test], changed, str(cache))[0] == "survived":
                return found, test.rpartition("/test/")[2][:120]
            left_out.add(test)
    finally:
        path.write_bytes(before)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # the kernels' cache goes by it
        if compiled:
            shutil.rmtree(cache, ignore_errors=True)


def _tried(files: list[str], changed: set[str], cache: str) -> tuple[str, str]:
    """Runs test files; returns "seen", "survived" or "hangs", and the test that failed."""
    with tempfile.TemporaryFile("a+", encoding="utf-8", errors="replace") as output:
        code = _run(files, changed, cache, output)
        output.seek(0)
        text = output.read()
    if code is None:
        return "survived", "within the limit"
    if code in (0, 5):
        return "survived", ""
    failed = re.search(r"^(?:FAILED|ERROR) (\S*/.+?)(?: - .*)?$", text, re.M)
    return "hangs" if "Timeout (>" in text else "seen", failed.group(1) if failed else ""


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def main(words: list[str]) -> None:
    """Chooses places, or tries the places of a file."""
    if words[0] in ("choose", "claims"):
        done = {(one["file"], one["function"]) for one in _lines(KEPT)}
        claims = words[0] == "claims"
        folders = words[2:] or [f"{REPORTS}/{folder}" for folder in ("experiments", "kit", "studies")]
        for place in choose(int(words[1]), folders, done, SEED, claims=claims):
            print(json.dumps(asdict(place)))
        return
    if numba.config.DISABLE_JIT:
        interpreted.install()
    places, kept = (Path(word) for word in words[1:])
    done = {(one["file"], one["function"], one["old"], one["new"], one["start"]) for one in _lines(kept)}
    for line in _lines(places):
        place = Place(**line)
        if (place.file, place.function, place.old, place.new, place.start) in done:
            continue
        _load(Path(place.file).parts[1])
        start = time.monotonic()
        found, by = fate(place)
        words = f"{place.file}:{place.line} {place.function}: {place.old} -> {place.new}"
        print(f"{found} after {time.monotonic() - start:.0f} s: {words} [{by}]", flush=True)
        with kept.open("a") as file:
            file.write(json.dumps({**asdict(place), "fate": found, "by": by}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
