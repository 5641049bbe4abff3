"""The life of a node's process: signals, executor, start, orderly end, exit code."""

from __future__ import annotations

import faulthandler
import gc
import inspect
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

import rclpy
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.experimental import EventsExecutor
from rclpy.signals import SignalHandlerOptions

from haptic_core.errors import HapticError

_stop = False

#: executors that rclpy offers for one thread; `./haptics bench loop` compares them
EXECUTORS: dict[str, Callable[[], Executor]] = {"events": EventsExecutor, "single_threaded": SingleThreadedExecutor}

#: SCHED_FIFO priority of the nodes of a realtime loop: above everything ordinary, below the kernel's threads
REALTIME_PRIORITY = 20

#: time that the middleware has to let go of a node that has done its work [s]
END_TIMEOUT = 5.0

#: what the nodes ask of Fast DDS, if the environment does not say
FAST_DDS_PROFILES = Path(__file__).with_name("fastdds.xml")

#: longest wait in the executor, so that a signal is seen soon [s]
SPIN_TIMEOUT = 0.05


def stop_requested() -> bool:
    """SIGINT or SIGTERM came."""
    return _stop


def _request_stop(number: int, frame: FrameType | None) -> None:
    global _stop
    _stop = True


def make_executor() -> Executor:
    """The executor of a node's process; the environment's HAPTICS_EXECUTOR chooses another."""
    name = os.environ.get("HAPTICS_EXECUTOR", "events")
    if name not in EXECUTORS:
        raise HapticError(f"HAPTICS_EXECUTOR: expected one of {', '.join(EXECUTORS)}, got {name!r}")
    return EXECUTORS[name]()


def raise_priority() -> bool:
    """Puts all threads of this process under SCHED_FIFO; False where the user may not (see `ulimit -r`)."""
    try:
        for thread in os.listdir("/proc/self/task"):
            os.sched_setscheduler(int(thread), os.SCHED_FIFO, os.sched_param(REALTIME_PRIORITY))
    except OSError:
        return False
    return True


def prepare_logging() -> None:
    """Looks once at where this code stands, as rclpy's logger does for every message.

    The first time Python's inspect searches all modules, 40 to 80 ms; a message within a tick must not wait for that.
    """
    inspect.getframeinfo(inspect.currentframe())  # type: ignore[arg-type]


def limit_the_end() -> None:
    """From now on the process has `END_TIMEOUT`: then it says where it stands, and SIGALRM ends it.

    For a node that has done its work. Fast DDS has been seen, once in thousands of times, not to return from giving its
    participant back.
    """
    faulthandler.dump_traceback_later(0.9 * END_TIMEOUT)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, END_TIMEOUT)


def spin(node: object, executor: Executor) -> None:
    """Serves callbacks until the node has finished or a stop is requested."""
    while not (_stop or node.finished):  # type: ignore[attr-defined]
        executor.spin_once(timeout_sec=SPIN_TIMEOUT)


def main(make_node: Callable[[], object]) -> NoReturn:
    """Entry point of a node's executable: runs it and ends the process.

    The node is deactivated and destroyed and DDS is shut down by then. The interpreter's own end is left out:
    static destructors of the DDS library have been seen to hang there after everything was done.
    """
    code = run(make_node)
    gc.unfreeze()
    gc.collect()  # the lifecycle's state machine is the last to hold the DDS participant and its shared memory
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def run(make_node: Callable[[], object], arguments: Sequence[str] | None = None) -> int:
    """Runs one node as a process.

    The node may bring its own `spin(executor)`. After the loop it is deactivated, so that a device is
    safe and nothing published is lost, also after Ctrl-C. An error of the suite ends the process with
    one line; any other exception is a defect and keeps its traceback.

    Returns:
        Exit code: the node's, or 1 if it could not be made or started.
    """
    signal.signal(signal.SIGINT, _request_stop)
    signal.signal(signal.SIGTERM, _request_stop)
    os.environ.setdefault("FASTRTPS_DEFAULT_PROFILES_FILE", str(FAST_DDS_PROFILES))
    rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = make_node()
    except (HapticError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        rclpy.try_shutdown()
        return 1
    executor = None
    try:
        executor = make_executor()
        executor.add_node(node)
        prepare_logging()
        node.start()  # type: ignore[attr-defined]
        gc.collect()
        gc.freeze()
        if hasattr(node, "spin"):
            node.spin(executor)
        else:
            spin(node, executor)
        return int(node.exit_code)  # type: ignore[attr-defined]
    except HapticError as error:
        if not _stop:
            print(f"error: {error}", file=sys.stderr, flush=True)
            return 1
        return 0
    except ExternalShutdownException:
        return 0
    finally:
        if getattr(node, "active", False):
            node.trigger_deactivate()  # type: ignore[attr-defined]
        if not getattr(node, "exit_code", 1):
            limit_the_end()
        if executor is not None:
            executor.shutdown()
        node.destroy_node()  # type: ignore[attr-defined]
        rclpy.try_shutdown()
