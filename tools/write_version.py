"""Writes the version of CITATION.cff into every package.xml, from which the builds read it; --check only compares.

A release sets `version` in CITATION.cff and runs this file. `__version__` of a package comes from its metadata.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
_VERSION = re.compile(r"(?<=<version>).*(?=</version>)")


def main(check: bool) -> int:
    """Writes the files, or prints those that differ; returns 1 if there are any."""
    (version,) = re.findall(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    different = 0
    for path in sorted(ROOT.glob("src/*/package.xml")):
        text = path.read_text()
        wanted = _VERSION.sub(version, text, count=1)
        if check and wanted != text:
            print(f"{path.relative_to(ROOT)}: expected version {version}")
            different = 1
        elif wanted != text:
            path.write_text(wanted)
    return different


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv))
