"""Ends all processes of a runner that is killed. The runner starts the two small programs of this module.

`start RUNNER_PID COMMAND...` prepares its own process and replaces it by COMMAND:

* When the runner dies, the kernel sends this process SIGINT (prctl PR_SET_PDEATHSIG, kept across exec), so
  that a device node can go to its safe state. A separate program makes this setting, because `preexec_fn` of
  subprocess runs Python between fork and exec, which is not safe in a process with threads.
* SIGINT and SIGTERM get their default action. A shell starts background jobs with SIGINT ignored; a node that
  inherited this would not receive the runner's request to stop.
* A realtime priority of the runner is given back. A process chooses its own (`haptic_core.process.raise_priority`);
  with an inherited one, also a process that only waits would come before all ordinary ones.

`guard` reads lines `+PGID` and `-PGID` from its standard input, whose other end only the runner has open. The
input ends when the runner ends. Then the processes of the remaining groups get two seconds to react to SIGINT,
and every group is killed, with the children that nodes started. (The kernel drops the setting of `start` for
programs with set-user-ID or file capabilities: those are only killed.)

The module imports little, because each node's start waits for it.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import time

__all__ = ["guard", "guard_command", "start", "start_command"]

_PR_SET_PDEATHSIG = 1
#: time for the processes to react to SIGINT before they are killed [s]
_GRACE = 2.0


def start_command(command: list[str]) -> list[str]:
    """Returns the command line that runs `command` under `start`, for the calling process as runner."""
    return [*_this_program(), "start", str(os.getpid()), *command]


def guard_command() -> list[str]:
    """Returns the command line of `guard`."""
    return [*_this_program(), "guard"]


def _this_program() -> list[str]:
    return [sys.executable, "-I", "-S", __file__]


def start(runner: int, command: list[str]) -> None:
    """Ties this process to the runner and replaces it by the command; exits with 127 if that fails."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    if os.sched_getscheduler(0) in (os.SCHED_FIFO, os.SCHED_RR):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGINT), 0, 0, 0)
    if os.getppid() != runner:  # the runner died before the line above
        sys.exit(1)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f"cannot start {command[0]}: {error.strerror}", file=sys.stderr)
        sys.exit(127)


def guard() -> None:
    """Waits for the end of the standard input and then ends the remaining groups."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    leaders: dict[int, int] = {}
    for line in sys.stdin:
        group = int(line[1:])
        if line.startswith("+"):
            try:
                leaders[group] = os.pidfd_open(group)
            except OSError:  # already gone
                continue
        elif group in leaders:
            os.close(leaders.pop(group))
    waiting = set(leaders.values())
    deadline = time.monotonic() + _GRACE
    while waiting and (remaining := deadline - time.monotonic()) > 0:
        waiting -= set(select.select(list(waiting), [], [], remaining)[0])
    for group in leaders:
        try:
            os.killpg(group, signal.SIGKILL)
        except OSError:  # the group is empty
            continue


if __name__ == "__main__":
    if sys.argv[1] == "start":
        start(int(sys.argv[2]), sys.argv[3:])
    else:
        guard()
