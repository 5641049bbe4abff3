"""Folder of a package's cache."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path


def cache_folder(package: str) -> Path:
    """Returns the folder of a package's cache; makes it if it is missing, readable by the user only.

    The folder is `$<PACKAGE>_CACHE_DIR`, or else `$XDG_CACHE_HOME/<package>` (`~/.cache`). If the user cannot write
    to it, it is a temporary folder of this process.

    Args:
        package: name of the package.
    """
    named = os.environ.get(f"{package.upper()}_CACHE_DIR")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    path = Path(named) if named else Path(base) / package
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.access(path, os.W_OK):
            return path
    except OSError:
        pass
    return _temporary_folder(package)


@cache
def _temporary_folder(package: str) -> Path:
    return Path(tempfile.mkdtemp(prefix=f"{package}_"))
