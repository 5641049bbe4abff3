"""`python -m haptic_bringup`: the command line, or exit code 97 when the environment is broken."""

from __future__ import annotations

import sys

#: tells the script `haptics` to repair the environment and try again
BROKEN_ENVIRONMENT = 97


def main() -> None:
    """Starts the command line."""
    try:
        from haptic_bringup.cli import main as command_line
    except ImportError as error:
        print(f"error: the environment is broken: {error}", file=sys.stderr)
        sys.exit(BROKEN_ENVIRONMENT)
    command_line()


if __name__ == "__main__":
    main()
