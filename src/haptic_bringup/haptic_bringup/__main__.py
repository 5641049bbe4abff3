"""`python -m haptic_bringup`: the command line."""

from __future__ import annotations

import sys


def main() -> None:
    """Starts the command line; a package that setup installs and that does not import is an error of one line."""
    try:
        from haptic_bringup.cli import main as command_line
    except ImportError as error:
        print(f"error: the environment is broken: {error}\n  hint: ./haptics setup --clean", file=sys.stderr)
        sys.exit(1)
    command_line()


if __name__ == "__main__":
    main()
