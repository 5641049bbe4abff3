"""`python -m haptic_bringup`: the command line."""

from __future__ import annotations

import gc
import os
import signal
import sys
from pathlib import Path


def main() -> None:
    """Starts the command line; reports a package that cannot be imported as an error of one line.

    Ctrl-C during the imports and during the end of the interpreter ends the process at once, without a traceback. The
    script `haptics` starts this program with SIGINT blocked, so that it does not come before.
    """
    gc.set_threshold(50_000, 10, 10)  # as `collect_rarely` of haptic_files, whose import may be what fails
    interruptible = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not in the background of a shell
    if interruptible:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    try:
        from haptic_bringup.cli import main as command_line
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package and Path(os.environ.get("HAPTICS_ROOT", ""), "src", package, package).is_dir():
            raise  # a mistake in the suite's own code
        print(f"error: the environment is broken: {error}\n  hint: ./haptics setup --clean", file=sys.stderr)
        sys.exit(1)
    if interruptible:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        command_line()
    finally:
        if interruptible:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    main()
