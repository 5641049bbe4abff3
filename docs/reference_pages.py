"""Reference pages of the documentation site: a page per package from its `__init__`, filled from the docstrings.

The names are those of `__all__`, under the first line of the module that defines them.
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: the packages with a reference page, in the order of the navigation
PACKAGES = ("haptic_friction", "admittance_constraints", "convex_contact", "tau_wall_control", "haptic_bags")


def page(package: str) -> str:
    """Makes the text of a package's page in Markdown; mkdocstrings inserts the docstrings."""
    source = ROOT / "src" / package / package
    tree = ast.parse((source / "__init__.py").read_text(encoding="utf-8"))
    public = _public_names(tree)
    summary = str(ast.get_docstring(tree))
    parts = [f"# {package}\n\n{summary}\n"]
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [alias.asname or alias.name for alias in node.names]
            shown = [name for name in names if name in public]
            if shown:
                parts.append(f"## {_title(node.module)}\n")
                parts += [f"::: {package}.{name}\n" for name in shown]
    return "\n".join(parts)


def _public_names(tree: ast.Module) -> set[str]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and [getattr(t, "id", "") for t in node.targets] == ["__all__"]:
            return set(ast.literal_eval(node.value))
    return set()


def _title(module: str) -> str:
    """Returns the first line of a module's docstring up to a colon or semicolon, without its full stop."""
    source = (ROOT / "src" / module.partition(".")[0]).joinpath(*module.split("."))
    path = source / "__init__.py" if source.is_dir() else source.with_suffix(".py")
    first = str(ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))).splitlines()[0]
    return first.partition(": ")[0].partition("; ")[0].rstrip(".")
