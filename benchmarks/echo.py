"""One side of a bare rclpy echo with the loop's messages: python echo.py client|server EXECUTOR TICKS."""

from __future__ import annotations

import sys
import time

import rclpy
from rclpy.executors import Executor, MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.experimental import EventsExecutor
from rclpy.signals import SignalHandlerOptions

from haptic_core.qos import tick_qos
from haptic_msgs.msg import DeviceCommand, DeviceState

EXECUTORS: dict[str, type[Executor]] = {
    "events": EventsExecutor,
    "single_threaded": SingleThreadedExecutor,
    "multi_threaded": MultiThreadedExecutor,
}
LONGEST_WAIT = 20.0  #: of one side for the other [s]


def main(role: str, executor_name: str, ticks: int) -> None:
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)  # SIGINT ends the process: the benchmark was killed
    node = rclpy.create_node(f"echo_{role}")
    state, command = DeviceState(), DeviceCommand(source="friction")
    state.header.frame_id = command.header.frame_id = "joystick_base"
    state.joint_position, state.joint_velocity, state.joint_effort = [0.0] * 2, [0.0] * 2, [0.0] * 2
    done: list[bool] = []

    def answer(message: DeviceState) -> None:
        command.tick = message.tick
        publisher.publish(command)
        if message.tick == ticks:
            done.append(True)

    def ask(message: DeviceCommand) -> None:
        if message.tick == ticks:
            done.append(True)
            return
        state.tick = message.tick + 1
        publisher.publish(state)

    qos = tick_qos("lockstep")
    if role == "server":
        publisher = node.create_publisher(DeviceCommand, "echo_command", qos)
        subscription = node.create_subscription(DeviceState, "echo_state", answer, qos)
    else:
        publisher = node.create_publisher(DeviceState, "echo_state", qos)
        subscription = node.create_subscription(DeviceCommand, "echo_command", ask, qos)
    executor = EXECUTORS[executor_name]()
    executor.add_node(node)
    limit = time.monotonic() + LONGEST_WAIT
    while not (publisher.get_subscription_count() and subscription.get_publisher_count()):
        if time.monotonic() > limit:
            raise SystemExit(f"echo {role}: expected the other side within {LONGEST_WAIT:g} s, got none")
        time.sleep(0.01)
    start = time.perf_counter()
    if role == "client":
        publisher.publish(state)
    while not done:
        executor.spin_once(timeout_sec=1.0)
    if role == "client":
        print(f"{ticks / (time.perf_counter() - start):.1f} ticks/s", flush=True)
    publisher.wait_for_all_acked()
    node.destroy_node()
    rclpy.shutdown()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
