"""Command-line options of the benchmarks: a mistake is one line and a hint, with exit code 2, as of ./haptics."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import NoReturn


class Parser(argparse.ArgumentParser):
    """Parser that reports a mistake without the usage, which `--help` prints."""

    def error(self, message: str) -> NoReturn:
        name = Path(sys.argv[0]).stem.removeprefix("bench_")
        print(f"error: {' '.join(message.split())}\n  hint: ./haptics bench {name} --help", file=sys.stderr)
        sys.exit(2)


def positive(text: str) -> int:
    """Parses a count, at least one."""
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a whole number, got {text!r}") from None
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected 1 or more, got {value}")
    return value
