"""Alters places of the code one at a time and runs the tests of their package: what no test sees is printed.

    ./haptics exec python tools/mutation/mutants.py choose 60 src/haptic_friction/haptic_friction > places.jsonl
    ./haptics exec python tools/mutation/mutants.py try places.jsonl tools/mutation/tried.jsonl

Run it in a clone of its own: the files are altered in place and put back. `choose` takes at most one place of each
function, at random, and none that only draws. `tried.jsonl` keeps what was tried, so that a run can go on later and
survivors are not lost; docs/mutation.md says of each survivor which test it has become, or why it cannot matter.

A kernel is compiled again with all modules that import it: Numba does not see that a function that it compiled in has
changed.
"""

from __future__ import annotations

import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src"
#: functions and files that only draw or describe
DRAWS = re.compile(r"figure|draw|plot|_maps|_surfaces|caption|axes|panel|__repr__|moved|old_paths|view/|/data/", re.I)
#: time after which a test run counts as one that hangs [s]
LIMIT = 3600

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
    """A place of a file and what it is altered to.

    Attributes:
        file: Below the root.
        function: Name of the function, with those around it.
        line: In the file.
        start: First byte in the file.
        old, new: Texts.
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
        """Adds a token between two operands, if it is the only one there."""
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
        """Does not look inside."""

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


def choose(count: int, folders: list[str], seed: int = 1) -> list[Place]:
    """Places at random, at most one of each function."""
    found = []
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            file = str(path.relative_to(ROOT))
            finder = _Finder(file, path.read_text(encoding="utf-8"))
            finder.visit(ast.parse(finder.bytes))
            found += [place for place in finder.places if not DRAWS.search(f"{file} {place.function}")]
    random.Random(seed).shuffle(found)
    once = {(place.file, place.function): place for place in found}
    return list(once.values())[:count]


def tests_of(place: Place) -> list[str]:
    """Test files of the package, those that speak of the module or the function first."""
    path = ROOT / place.file
    words = [path.stem, *(name for name in place.function.split(".") if len(name) > 4)]
    files = (SOURCES / path.relative_to(SOURCES).parts[0] / "test").glob("test_*.py")

    def rank(file: Path) -> tuple[int, str]:
        text = file.read_text(encoding="utf-8")
        return -sum(word.lstrip("_") in text for word in words) - 2 * (path.stem in file.stem), str(file)

    return [str(file) for file in sorted(files, key=rank)]


def dependents(file: str) -> Iterator[str]:
    """Names of the modules' files that import a file, or what imports it, and its own."""
    names = {str(path): path.stem for path in SOURCES.rglob("*.py") if "/test/" not in str(path)}
    texts = {path: Path(path).read_text(encoding="utf-8") for path in names}
    reached, fresh = set[str](), {str(ROOT / file)}
    while fresh:
        reached |= fresh
        stems = "|".join({re.escape(names[path]) for path in fresh})
        pattern = re.compile(rf"^\s*(from|import)\b.*\b({stems})\b", re.M)
        fresh = {path for path, text in texts.items() if path not in reached and pattern.search(text)}
    yield from {names[path] for path in reached}


def fate(place: Place) -> str:
    """Runs the tests with the place altered: "seen", "survived" or "hangs"."""
    path, environment = ROOT / place.file, dict(os.environ)
    before, stat = path.read_bytes(), path.stat()
    end = place.start + len(place.old.encode())
    assert before[place.start : end].decode() == place.old, f"{place.file} is not what the place was chosen from"
    base = Path(environment["NUMBA_CACHE_DIR"])
    cache = base.with_name(f"altered_{os.getpid()}")
    if b"njit" in before and base.exists():
        shutil.copytree(base, cache, copy_function=os.link)
        for name in dependents(place.file):
            for kept in cache.rglob(f"{name}.*.nb*"):
                kept.unlink()
        environment["NUMBA_CACHE_DIR"] = str(cache)
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests_of(place)]
    try:
        path.write_bytes(before[: place.start] + place.new.encode() + before[end:])
        code = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, timeout=LIMIT).returncode
    except subprocess.TimeoutExpired:
        return "hangs"
    finally:
        path.write_bytes(before)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # the kernels' cache goes by it
        shutil.rmtree(cache, ignore_errors=True)
    return "survived" if code == 0 else "seen"


def main(words: list[str]) -> None:
    """Chooses places, or tries those of a file."""
    if words[0] == "choose":
        for place in choose(int(words[1]), words[2:]):
            print(json.dumps(asdict(place)))
        return
    places, kept = (Path(word) for word in words[1:])
    tried = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    done = {(one["file"], one["function"], one["old"], one["new"]) for one in tried}
    for line in places.read_text().splitlines():
        place = Place(**json.loads(line))
        if (place.file, place.function, place.old, place.new) in done:
            continue
        found = fate(place)
        print(f"{found}: {place.file}:{place.line} {place.function}: {place.old} -> {place.new}", flush=True)
        with kept.open("a") as file:
            file.write(json.dumps({**asdict(place), "fate": found}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
