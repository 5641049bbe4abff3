"""`python -m haptic_bringup`: the command line; an environment that turns out broken is repaired first."""

from __future__ import annotations

import sys

from haptic_bringup.environment import import_or_repair


def main() -> None:
    """Starts the command line."""
    sys.exit(import_or_repair("haptic_bringup.cli").main())


if __name__ == "__main__":
    main()
