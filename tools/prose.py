"""Checks the prose of the suite: docstrings, comments, errors, descriptions of parameters and arguments, and pages.

    ./haptics exec python tools/prose.py [PATH ...]

Rules for every text: a sentence has at most 35 words; standard terms replace private words (`PRIVATE`); the description
of an argument or attribute does not begin with a word of `FRAGMENTS`, which leaves it without a subject, and begins
with a small letter unless that is a name or a symbol.
Rule for YAML: the description of an argument of a launch file or of a parameter is a noun phrase that names the
quantity, or an imperative that says what `true` does; it does not begin with a word of `FRAGMENTS` or with "whether".
Rules for the code that users read (`READ`): the docstring of a function begins with its verb; that of a class or
property, and the comment `#: ...` of a field or constant, not with a word of `FRAGMENTS`; no name of a
class or function, and no public name of a field, argument, attribute or constant, has a word of `PRIVATE_NAMES`, except
`KEPT_NAMES` and old names, which warn. Local variables are not checked.
The check prints `file:line: rule: text` for each finding and ends with 1 if there are any.
"""

from __future__ import annotations

import ast
import functools
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
LONGEST = 35
#: private word or phrase (a regular expression), and the standard term
PRIVATE = {
    "by decree": "prescribed",
    "somebody": "user, node, or a passive sentence",
    "nobody(?:'s)?": "no user, no node, released",
    "whoever": "user, node",
    "told": "reported, published, distinguished",
    "things?": "body, object, value",
}
#: first words of a description that has no subject
FRAGMENTS = {"what", "who", "whose", "how", "where", "which", "likewise", "theirs"}
#: words that begin with a capital letter wherever they stand; words with another capital or a digit do, too
CAPITAL = {
    "Cartesian", "Castro", "Chromium", "Cholesky", "Coulomb", "Dahl", "Dask", "Delassus", "Docker", "Drake", "English",
    "Euler", "False", "Fast", "Faulring", "Fc", "Fig", "Fourier", "Fs", "Gauss", "Hertz", "Hessian", "Hunt", "Hz",
    "Jacobian", "Jacobians", "Kalman", "Karnopp", "Kelvin", "Kikuuwe", "Lagged", "Lagrange", "Linux", "Lyapunov",
    "Markdown", "Newton", "None", "Numba", "Nyquist", "Pa", "Phi", "Pinocchio", "Poisson", "Python", "Similar",
    "Stribeck", "Table", "True", "Ts", "Unix", "Wang", "Young",
}  # fmt: skip
#: words of a name (separated by underscores), and the standard term
PRIVATE_NAMES = {
    "bear": "carry a force, project",
    "bend": "curvature",
    "borne": "projected",
    "carried": "transport_elastic_displacement",
    "deaf": "unsubscribed",
    "decree": "prescribed",
    "heard": "received",
    "judge": "check, compare, assess",
    "nobody": "released",
    "rub": "tangential_friction",
    "rubbing": "tangential_friction",
    "somebody": "user",
    "stretch": "elongation",
    "thing": "body, object",
    "told": "reported",
    "travel": "displacement, path",
    "way": "displacement, path",
    "yielded": "update_elastic_displacement",
}
#: names that keep a word of `PRIVATE_NAMES`
KEPT_NAMES = {
    *("travel", "target_travel", "measured_travel"),  # keys of recorded metrics.json
    "stretch",  # row of `FrictionModel.state`, which programs read and write
}
#: folders with code that users read; tests and benchmarks are not among them
READ = re.compile(r"(?:src|docs|examples|tools)/(?!.*\btest/)")
#: a verb in the third person at the head of a docstring: "Returns the ...", but not "Rows of ..." or "Mass, ..."
_VERB = re.compile(r"(?:Is|Has|[A-Z][\w-]*(?<![siu])s)(?= (?!of\b)| or |, )(?!, (?!and|or))")
#: plural nouns at the head of a docstring, which `_VERB` alone would accept
_NOUNS = re.compile(
    r"(?:Angles|Arguments|Arrays|Axes|Blocks|Cases|Cliques|Columns|Components|Constants|Contacts|Coordinates|"
    r"Corners|Couplers|Derivatives|Distances|Durations|Efforts|Elbows|Elements|Energies|Entries|Errors|"
    r"Estimates|Events|Fields|Flags|Forces|Frequencies|Functions|Heights|Impacts|Indices|Inputs|Its|Jacobians|"
    r"Joints|Keypoints|Kinds|Letters|Lines|Margins|Medians|Messages|Metrics|Motions|Namespaces|Nodes|Pairs|"
    r"Paragraphs|Parameters|Parts|Paths|Percentiles|Phases|Planes|Plays|Points|Poses|Positions|Powers|"
    r"Quaternions|Rates|Results|Rows|Samples|Simulators|Slopes|Sources|Speeds|Springs|States|Stations|"
    r"Statistics|Stiffnesses|Tables|Tangents|This|Times|Topics|Torques|Trends|Triangles|Units|Values|"
    r"Velocities|Verdicts|Vertices|Words)\b"
)

#: values of old names, which warn
_OLD_NAME = re.compile(r"RenamedMember|_former_name|InitVar")
_PRIVATE = re.compile(rf"\b(?:{'|'.join(PRIVATE)})\b", re.IGNORECASE)
_FIELD = re.compile(r"^ +\*{0,2}(\w[\w, ]*): (\w+)")
_SECTION = re.compile(r"^ *(?:Args|Attributes):$")
_YAML = re.compile(r'(?:description|summary|title): ("(?:[^"\\]|\\.)*"|[^{}\n]+)')
#: ends of paragraphs: empty lines, entries of lists, fields, headings, columns of tables, indented formulas
_BREAKS = re.compile(r"\n\s*\n|\n\s*(?:[-*]|\d+\.) |\n *[\w*, ]+: |\n(?=#)|(?<=\S) {2,}(?=\S)")


class Text(NamedTuple):
    """A piece of prose."""

    line: int  #: its first line in the file
    text: str
    fields: bool = False  #: whether it is a docstring with a field per line
    describes: bool = False  #: whether it is the comment `#: ...` of a field or constant, or a description in YAML


def python_texts(source: str) -> Iterator[Text]:
    """Finds the docstrings, comments and error texts of a module."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in _nodes(source):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False):
            yield Text(node.body[0].lineno, ast.get_docstring(node, clean=False) or "", fields=True)
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            for part in ast.walk(node.exc):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield Text(part.lineno, part.value)
    yield from _comments(source)


@functools.lru_cache(maxsize=1)  # the checks of a module follow each other
def _nodes(source: str) -> list[ast.AST]:
    """Parses a module; returns all nodes of its syntax tree."""
    return list(ast.walk(ast.parse(source)))


@functools.lru_cache(maxsize=1)
def _comments(source: str) -> list[Text]:
    """Finds the comments of a module: blocks of lines, and those beside code."""
    found: list[Text] = []
    block: list[str] = []
    last, ended, describes = -1, False, False
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            beside_code = bool(token.line[: token.start[1]].strip())
            if (token.start[0] != last + 1 or beside_code or ended) and block:
                found.append(Text(last - len(block) + 1, "\n".join(block), describes=describes))
                block = []
            if not block:
                describes = token.string.startswith("#:")
            block.append(token.string.lstrip("#: "))
            last, ended = token.start[0], beside_code
    if block:
        found.append(Text(last - len(block) + 1, "\n".join(block), describes=describes))
    return found


def page_texts(source: str) -> Iterator[Text]:
    """Finds the paragraphs and table cells of a page; code and formulas are left out."""
    source = re.sub(r"```.*?```|^ {4}.*?$", lambda found: "\n" * found[0].count("\n"), source, flags=re.DOTALL | re.M)
    for number, line in enumerate(source.splitlines(), 1):
        if line.startswith("|"):
            yield from (Text(number, cell) for cell in line.split("|"))
    yield Text(1, re.sub(r"^\|.*$", "", source, flags=re.MULTILINE))


def texts(path: Path) -> Iterator[Text]:
    """Finds the prose of a file, by its kind."""
    source = path.read_text()
    if path.suffix == ".py":
        yield from python_texts(source)
    elif path.suffix == ".md":
        yield from page_texts(source)
    else:
        for found in _YAML.finditer(source):
            line = source.count("\n", 0, found.start()) + 1
            yield Text(line, found[1].strip('"'), describes=found[0].startswith("description"))


def findings(text: Text) -> Iterator[tuple[int, str]]:
    """Finds lines of a text that break a rule, with a description each."""
    plain = re.sub(r"^ *(?:>>>|\.\.\.) .*$", "", text.text, flags=re.MULTILINE)  # examples are code
    plain = re.sub(r"`[^`\n]*`|\]\([^)]*\)", lambda found: "X" * len(found[0]), plain).replace(".**", ".  ")
    for found in _PRIVATE.finditer(plain):
        yield text.line + plain.count("\n", 0, found.start()), f"private word: {found[0]}"
    start = 0
    for gap in [*_BREAKS.finditer(plain), None]:
        end = gap.start() if gap else len(plain)
        paragraph = plain[start:end]
        for sentence in re.finditer(r"[^.!?:;]+(?:[.!?:;](?!\s)[^.!?:;]*)*", paragraph):
            words = re.findall(r"[^\W\d_][\w'-]+", sentence[0])
            if len(words) > LONGEST:
                line = text.line + plain.count("\n", 0, start + sentence.start())
                yield line, f"sentence of {len(words)} words: {' '.join(words[:6])} ..."
        start = gap.end() if gap else end
    inside = False
    for number, line in enumerate(text.text.splitlines() if text.fields else (), text.line):
        if re.fullmatch(r" *\w+:", line) or not line.strip():
            inside = _SECTION.match(line) is not None
        elif inside and (field := _FIELD.match(line)):
            if field[2].lower() in FRAGMENTS:
                yield number, f"field without subject: {field[0].strip()} ..."
            if re.fullmatch("[A-Z][a-z]+", field[2]) and field[2] not in CAPITAL:
                yield number, f"field with a capital letter: {field[0].strip()} ..."


def findings_of_description(text: Text) -> Iterator[tuple[int, str]]:
    """Finds a description of an argument or parameter in YAML that has no subject."""
    first = re.match(r"\w+", text.text)
    if text.describes and first and first[0].lower() in FRAGMENTS | {"whether"}:
        yield text.line, f"description without subject: {text.text[:40]} ..."


def findings_of_code(source: str) -> Iterator[tuple[int, str]]:
    """Finds docstrings without a verb or subject, fields and constants without subject, and private names."""
    for text in _comments(source):
        first = text.text.split(maxsplit=1)[0] if text.describes and text.text else ""
        if first.lower() in FRAGMENTS:
            yield text.line, f"field or constant without subject: {text.text.splitlines()[0][:40]} ..."
    for node in _nodes(source):
        for line, name in _names(node):
            for word in PRIVATE_NAMES.keys() & set(name.lower().split("_")):
                yield line, f"private word in the name {name}: {word}, standard: {PRIVATE_NAMES[word]}"
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        docstring = ast.get_docstring(node) or ""
        first = docstring.split(maxsplit=1)[0] if docstring else ""
        function = not isinstance(node, ast.ClassDef)
        if function and not any("property" in ast.unparse(decorator) for decorator in node.decorator_list):
            if docstring and (_NOUNS.match(docstring) or not _VERB.match(docstring)):
                yield node.body[0].lineno, f"docstring of {node.name} does not begin with its verb: {docstring[:40]!r}"
        elif first.lower() in FRAGMENTS:
            yield node.body[0].lineno, f"docstring of {node.name} without subject: {docstring[:40]!r}"


def _names(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Finds the names that a node defines: its own, and the public ones of its arguments, fields and constants."""
    found: list[tuple[int, str]] = []
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield node.lineno, node.name
    if isinstance(node, ast.arg):
        found.append((node.lineno, node.arg))
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        found.append((node.lineno, node.attr))
    elif isinstance(node, ast.ClassDef | ast.Module):
        for line in node.body:
            if isinstance(line, ast.Assign | ast.AnnAssign) and not _OLD_NAME.search(ast.unparse(line)):
                stored = (part for part in ast.walk(line) if isinstance(part, ast.Name))
                found += [(line.lineno, name.id) for name in stored if isinstance(name.ctx, ast.Store)]
    yield from ((line, name) for line, name in found if not name.startswith("_") and name not in KEPT_NAMES)


def main(paths: list[str]) -> int:
    """Prints the findings of the given files, or of all files of the suite."""
    listed = subprocess.run(["git", "ls-files", *paths], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    count = 0
    for name in listed.splitlines():
        if name.endswith((".py", ".md", ".yaml")) and "LICENSE" not in name and (ROOT / name).exists():
            found = [finding for text in texts(ROOT / name) for finding in findings(text)]
            if name.endswith(".yaml"):
                found += [finding for text in texts(ROOT / name) for finding in findings_of_description(text)]
            if name.endswith(".py") and READ.match(name):
                found += findings_of_code((ROOT / name).read_text())
            for line, finding in sorted(found):
                print(f"{name}:{line}: {finding}")
            count += len(found)
    return count > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
