"""`python -m haptic_bringup`: the command line."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> None:
    """Starts the command line; reports a package that cannot be imported as an error of one line."""
    try:
        from haptic_bringup.cli import main as command_line
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package and Path(os.environ.get("HAPTICS_ROOT", ""), "src", package, package).is_dir():
            raise  # a mistake in the suite's own code
        print(f"error: the environment is broken: {error}\n  hint: ./haptics setup --clean", file=sys.stderr)
        sys.exit(1)
    command_line()


if __name__ == "__main__":
    main()
