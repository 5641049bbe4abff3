"""Life of a process of one or several nodes: signals, executor, start, orderly end, exit code."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import inspect
import linecache
import os
import re
import resource
import signal
import struct
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import rclpy
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.experimental import EventsExecutor
from rclpy.signals import SignalHandlerOptions

from haptic_core.environment import EXECUTOR_NAMES, executor_name, realtime_priority
from haptic_core.errors import HapticError
from haptic_core.rclpy_parts import LOGGER_FILE, RCLError
from haptic_files.garbage_collection import collect_rarely
from haptic_files.moved_modules import renamed

_stop = False

#: the nodes of this process
_nodes: Sequence[Any] = ()

#: rclpy's executors with one thread; `./haptics bench loop` compares them
EXECUTORS: dict[str, Callable[[], Executor]] = dict(
    zip(EXECUTOR_NAMES, (EventsExecutor, SingleThreadedExecutor), strict=True)
)

#: directory with an entry for each thread of this process
THREADS = Path("/proc/self/task")

#: first characters of the names of Fast DDS's threads that send messages later
_SENDERS = "dds.asyn"

#: file into which a process writes the largest wake-up latency of idle cores, valid while the file is open
LATENCY_REQUEST = Path("/dev/cpu_dma_latency")

#: largest fraction of a core for the thread of a realtime loop: by default Linux suspends realtime threads for the rest
#: of a second of which they used 95 % (sched_rt_runtime_us); in these 50 ms a device would stop
REALTIME_FRACTION = 0.92

#: ticks between two checks of that fraction
_THROTTLE_TICKS = 32

#: memory to lock: present and future, each page from its first use (MCL_CURRENT, MCL_FUTURE, MCL_ONFAULT)
_LOCKED = 1 | 2 | 4
#: the kernel's report about this process; the capability that removes the limit of locked memory
STATUS, _IPC_LOCK = Path("/proc/self/status"), 1 << 14

#: time in which the middleware must release a node that has finished [s]: 0.1 s on an idle machine, some seconds
#: with ten programs on a core
END_TIMEOUT = 12.0

#: longest wait in the executor, so that a signal is seen soon [s]
SPIN_TIMEOUT = 0.05


def stop_requested() -> bool:
    """Returns whether SIGINT or SIGTERM has arrived, or a node of this process has finished."""
    return _stop or any(node.finished for node in _nodes)


def _request_stop(number: int, frame: FrameType | None) -> None:
    global _stop
    _stop = True


def make_executor() -> Executor:
    """Makes the executor of a node's process, as chosen by the environment variable HAPTICS_EXECUTOR."""
    return EXECUTORS[executor_name(os.environ)]()


def raise_priority() -> bool:
    """Schedules the threads of this process by SCHED_FIFO; returns False if the user may not (see `ulimit -r`).

    The threads of Fast DDS that repeat messages for a full reader keep their priority. Otherwise a recorder of ordinary
    priority that lost its core would get none again while loop and sender both retry without a pause.

    The environment variable HAPTICS_PRIORITY chooses another priority; with 0 nothing changes.

    Raises:
        HapticError: HAPTICS_PRIORITY is no priority.
    """
    priority = realtime_priority(os.environ)
    if not priority:
        return True
    for thread in THREADS.iterdir():
        try:
            if not (thread / "comm").read_text().startswith(_SENDERS):
                os.sched_setscheduler(int(thread.name), os.SCHED_FIFO, os.sched_param(priority))
        except (FileNotFoundError, ProcessLookupError):  # the thread has ended
            continue
        except OSError:
            return False
    return True


class RealtimeThrottle:
    """Keeps the thread of a realtime loop below the fraction `REALTIME_FRACTION` of its core by pauses.

    Args:
        now: steady clock [s].
        used: clock of the thread's processor time [s].
        sleep: function that pauses for a duration [s].
    """

    def __init__(
        self,
        now: Callable[[], float] = time.monotonic,
        used: Callable[[], float] = time.thread_time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._now, self._used, self._sleep = now, used, sleep
        self._begin()

    def _begin(self) -> None:
        self._ticks, self._since, self._before = 0, self._now(), self._used()

    def throttle(self) -> None:
        """Pauses if the fraction is too large; to be called once a tick."""
        self._ticks += 1
        if self._ticks < _THROTTLE_TICKS:
            return
        pause = (self._used() - self._before) / REALTIME_FRACTION - (self._now() - self._since)
        if pause > 0.0:
            self._sleep(pause)
        self._begin()


def lock_memory() -> bool:
    """Locks the present and future memory of this process; returns False if the user may not (see `ulimit -l`).

    Without that, a page of a library that the system has taken back is read from the disk when a tick needs it.
    """
    try:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except (OSError, ValueError):
        capabilities = re.findall(r"^CapEff:\s*(\w+)", STATUS.read_text(), re.MULTILINE)
        if not int(capabilities[0], 16) & _IPC_LOCK:  # a limit would refuse memory in the middle of a run
            return False
    return ctypes.CDLL(None).mlockall(_LOCKED) == 0


def prepare_realtime() -> list[str]:
    """Calls `raise_priority` and `lock_memory`; returns a line for each that is refused.

    Raises:
        HapticError: HAPTICS_PRIORITY is no priority.
    """
    refused = []
    if not raise_priority():
        refused.append("no realtime priority (ulimit -r): other programs can delay ticks")
    if not lock_memory():
        refused.append("no locked memory (ulimit -l): the system may take back pages that a tick then waits for")
    return refused


@contextlib.contextmanager
def awake_cores() -> Iterator[bool]:
    """Keeps idle cores awake within a context, as in tests of realtime kernels; yields False if the user may not.

    Between two ticks a core is idle for some 100 us: long enough to fall asleep, and a core that wakes up is slow.
    """
    try:
        request = os.open(LATENCY_REQUEST, os.O_WRONLY)
    except OSError:
        yield False
        return
    try:
        os.write(request, struct.pack("i", 0))  # [us]
        yield True
    finally:
        os.close(request)


def prepare_logging(nodes: Iterable[object]) -> None:
    """Looks up the caller once, as rclpy's logger does for every message.

    The first look-up searches all modules and takes 40 to 80 ms, too long for a log message within a tick. The first
    message from a file reads that file; this reads those of the nodes' classes and of the logger.
    """
    inspect.getframeinfo(inspect.currentframe())  # type: ignore[arg-type]
    modules = {cls.__module__ for node in nodes for cls in type(node).__mro__}
    for source in {getattr(sys.modules[module], "__file__", None) for module in modules} | {LOGGER_FILE}:
        linecache.getlines(source or "")


def limit_the_end() -> None:
    """Ends the process after `END_TIMEOUT`: SIGALRM prints the stack and terminates it.

    Fast DDS 2.14 does not return from the destruction of its participant if another thread is in a callback of
    discovery then: `set_listener` waits for it with a deadline that overflows, and keeps the mutex that it needs.
    """
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    faulthandler.register(signal.SIGALRM, chain=True)  # in C, wherever the process hangs; then the default action
    signal.setitimer(signal.ITIMER_REAL, END_TIMEOUT)


def spin(executor: Executor) -> None:
    """Serves callbacks until a node has finished or a stop is requested."""
    while not stop_requested():
        executor.spin_once(timeout_sec=SPIN_TIMEOUT)


def main(make: Callable[[], Any]) -> NoReturn:
    """Runs a node's executable and ends the process.

    The process ends when the node is deactivated and destroyed and DDS is shut down. The interpreter's own shutdown is
    skipped, since static destructors of the DDS library can hang in it.
    """
    code = run(make)
    gc.unfreeze()
    gc.collect()  # the lifecycle's state machine still refers to the DDS participant and its shared memory
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def run(make: Callable[[], Any], arguments: Sequence[str] | None = None) -> int:
    """Runs a node as a process, or several on one executor, until one of them has finished.

    One of the nodes may define its own `spin(executor)`. After the loop the nodes are deactivated, the last one first,
    so that a device is safe and no published message is lost, also after Ctrl-C. An error of the suite ends the process
    with one line; any other exception is a defect and keeps its traceback.

    Args:
        make: function that makes the node, or a list of nodes in the order in which they start.
        arguments: command line for rclpy; None: that of this process.

    Returns:
        Largest exit code of the nodes, or 1 if they could not be made or started.
    """
    global _nodes
    signal.signal(signal.SIGINT, _request_stop)
    signal.signal(signal.SIGTERM, _request_stop)
    usual = collect_rarely()  # what imports and compiled kernels leave behind lasts
    try:
        rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
        made = make()
    except (HapticError, ValueError, RCLError) as error:  # RCLError: SROS 2 without usable keys
        gc.set_threshold(*usual)
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr, flush=True)
        rclpy.try_shutdown()
        return 1
    nodes = _nodes = made if isinstance(made, list) else [made]
    executor = None
    try:
        executor = make_executor()
        transport = getattr(nodes[0], "transport", None)  # all nodes of a process share one
        if transport is not None:
            executor = transport.executor(executor)
        for node in nodes:
            executor.add_node(node)
        prepare_logging(nodes)
        for node in nodes:
            node.start()
        gc.collect()
        gc.freeze()
        gc.set_threshold(*usual)
        next((node.spin for node in nodes if hasattr(node, "spin")), spin)(executor)
        return _exit_code(nodes)
    except HapticError as error:
        if not _stop:
            print(f"error: {error}", file=sys.stderr, flush=True)
            return 1
        return 0
    except ExternalShutdownException:
        return 0
    finally:
        gc.set_threshold(*usual)
        for node in reversed(nodes):
            if getattr(node, "active", False):
                node.trigger_deactivate()
        if not _exit_code(nodes):
            limit_the_end()
        if executor is not None:
            executor.shutdown()
        for node in reversed(nodes):
            node.destroy_node()
        rclpy.try_shutdown()
        _nodes = ()  # the DDS participant is destroyed with the last reference to the nodes


def _exit_code(nodes: Sequence[Any]) -> int:
    return max(int(node.exit_code) for node in nodes)


__getattr__ = renamed(__name__, {"REALTIME_SHARE": "REALTIME_FRACTION", "RealtimeShare": "RealtimeThrottle"})
