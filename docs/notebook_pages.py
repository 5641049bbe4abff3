"""Pages of the documentation site from the notebooks of examples/: executed, with figures, and equations as MathML.

A notebook whose check fails stops the build. Nothing is loaded from another host: browsers show MathML by themselves.
"""

from __future__ import annotations

import re
import tempfile
from functools import cache
from pathlib import Path

import nbformat
from latex2mathml.converter import convert
from nbclient import NotebookClient
from nbconvert import MarkdownExporter
from traitlets.config import Config

#: longest time of a cell, and of the kernel's start [s]; exceeded only by a defect
_PATIENCE = 3600
#: $...$ or $$...$$
EQUATION = re.compile(r"\$\$(?P<block>.+?)\$\$|\$(?P<inline>[^$]+?)\$", re.DOTALL)


def equations(markdown: str) -> str:
    """Replaces $...$ and $$...$$ in a text by MathML."""

    def mathml(found: re.Match[str]) -> str:
        inline = found["block"] is None
        return convert(found["inline" if inline else "block"].strip(), display="inline" if inline else "block")

    return EQUATION.sub(mathml, markdown)


def executed(path: Path) -> nbformat.NotebookNode:
    """Runs all cells of a notebook and returns it.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell failed.
    """
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:  # the kernel is reached by sockets there, not by open ports
        settings = Config({"KernelManager": {"transport": "ipc", "ip": f"{folder}/kernel"}})
        NotebookClient(
            notebook, timeout=_PATIENCE, startup_timeout=_PATIENCE, kernel_name="python3", config=settings
        ).execute()
    return notebook


@cache
def page(path: Path, written: float) -> tuple[str, dict[str, bytes]]:
    """Makes the text of a notebook's page in Markdown, and its pictures by file name.

    Args:
        path: path of the notebook.
        written: time of the last change of the file [s]; a changed notebook is executed again.
    """
    notebook = executed(path)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = equations(cell.source)
        else:
            cell.source = cell.source.removeprefix("%matplotlib inline\n")
    resources = {"unique_key": path.stem, "output_files_dir": "."}
    text, resources = MarkdownExporter().from_notebook_node(notebook, resources=resources)
    return text, {name.removeprefix("./"): data for name, data in resources["outputs"].items()}
